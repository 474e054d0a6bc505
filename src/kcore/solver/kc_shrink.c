/* Rounds of shrinking.  See kc_shrink.h.
 *
 * The solution is whole between two rounds.  Of a round that runs out of time the variables are
 * taken, and the gradient is left as it was: kc_dual_solve computes another. */
#include "solver/kc_shrink.h"

#include <math.h>
#include <string.h>

#include "solver/kc_idle.h"
#include "solver/kc_pairs.h"
#include "solver/kc_smo.h"

/* After so many rounds, or where a part has stalled, all points take part to the end: those left
 * out keep coming back, and whether all have stalled only all can say. */
#define MOST_ROUNDS 6

/* The problem of the points that are not idle. */
typedef struct part {
    kc_store *store;
    kc_dual dual;
    kc_solution solution;
    double *t, *lo, *hi;
    int32_t *points;
} part;

typedef struct shrinking {
    kc_call *call;
    kc_store *store;
    const kc_dual *dual;
    kc_solution *whole; /* between two rounds */
    int32_t *active;    /* positions that are not idle */
    double *next_grad;
    int32_t *moved_points;
    double *moved_delta;
} shrinking;

bool kc_shrink_suits(const kc_store *store, const kc_dual *dual)
{
    for (size_t v = 0; v < (size_t)dual->n_groups * dual->n_points; v++)
        if (isinf(dual->lo[v]) || isinf(dual->hi[v]))
            return false;
    return kc_store_can_part(store);
}

/* ---- The part ------------------------------------------------------------------------------ */

static kc_status take_arrays(shrinking *s, size_t n_active, part *out)
{
    size_t n_vars = (size_t)s->dual->n_groups * n_active;

    out->t = kc_call_take(s->call, n_active, sizeof *out->t);
    out->lo = kc_call_take(s->call, n_vars, sizeof *out->lo);
    out->hi = kc_call_take(s->call, n_vars, sizeof *out->hi);
    out->points = kc_call_take(s->call, n_active, sizeof *out->points);
    out->solution.beta = kc_call_take(s->call, n_vars, sizeof(double));
    out->solution.grad = kc_call_take(s->call, n_active, sizeof(double));
    if (!out->t || !out->lo || !out->hi || !out->points || !out->solution.beta ||
        !out->solution.grad)
        return kc_fail_nomem(s->call->err);
    return KC_OK;
}

/* t less what the idle points contribute to K b, at all positions, into next_grad; *n_outside: how
 * many contribute, with those outside of all points here. */
static kc_status fix_idle(shrinking *s, size_t n_active, size_t *n_outside)
{
    const kc_dual *dual = s->dual;
    kc_moved moved = {.points = s->moved_points, .delta = s->moved_delta};
    size_t next = 0;

    for (size_t p = 0; p < dual->n_points; p++) {
        double b = kc_dual_coefficient(dual, s->whole->beta, p);
        if (next < n_active && (size_t)s->active[next] == p) {
            next++;
        } else if (b != 0) {
            s->moved_points[moved.n] = (int32_t)kc_cols_point(&dual->cols, p);
            s->moved_delta[moved.n++] = b;
        }
    }
    *n_outside = dual->n_outside + moved.n;
    return kc_store_apply(s->call, s->store, &dual->cols, &moved, dual->t, s->next_grad);
}

static kc_status open_part(shrinking *s, size_t n, part *out)
{
    const kc_dual *dual = s->dual;

    *out = (part){.dual = *dual};
    KC_TRY(take_arrays(s, n, out));
    KC_TRY(fix_idle(s, n, &out->dual.n_outside));
    out->dual.n_whole = dual->n_whole > 0 ? dual->n_whole : dual->n_points;
    out->dual.sum[0] = out->dual.sum[1] = 0;
    for (size_t k = 0; k < n; k++) {
        size_t p = (size_t)s->active[k];
        out->points[k] = (int32_t)kc_cols_point(&dual->cols, p);
        out->t[k] = s->next_grad[p];
        out->solution.grad[k] = s->whole->grad[p];
        for (int32_t g = 0; g < dual->n_groups; g++) {
            size_t from = (size_t)g * dual->n_points + p;
            size_t to = (size_t)g * n + k;
            out->lo[to] = dual->lo[from];
            out->hi[to] = dual->hi[from];
            out->solution.beta[to] = s->whole->beta[from];
            out->dual.sum[g] += s->whole->beta[from];
        }
    }
    out->solution.n_iter = s->whole->n_iter;
    out->solution.n_row_visits = s->whole->n_row_visits;
    out->dual.cols = (kc_cols){.span = {{0, n}}, .n_spans = 1};
    out->dual.n_points = n;
    out->dual.t = out->t;
    out->dual.lo = out->lo;
    out->dual.hi = out->hi;
    out->dual.max_iter = kc_dual_max_iter(dual);
    out->dual.offset = kc_dual_objective(dual, s->whole->beta, s->whole->grad) -
                       kc_dual_objective(&out->dual, out->solution.beta, out->solution.grad) +
                       dual->offset;
    return kc_store_part_create(s->call, s->store, out->points, n, &out->store);
}

/* The gradient of all points after the part, into next_grad. */
static kc_status synchronise(shrinking *s, const part *p)
{
    kc_moved moved = {.points = s->moved_points, .delta = s->moved_delta};

    for (size_t k = 0; k < p->dual.n_points; k++) {
        double delta = kc_dual_coefficient(&p->dual, p->solution.beta, k) -
                       kc_dual_coefficient(s->dual, s->whole->beta, (size_t)s->active[k]);
        if (delta != 0) {
            s->moved_points[moved.n] = p->points[k];
            s->moved_delta[moved.n++] = delta;
        }
    }
    return kc_store_apply(s->call, s->store, &s->dual->cols, &moved, s->whole->grad, s->next_grad);
}

/* Takes over what the part found. */
static void close_part(shrinking *s, const part *p)
{
    size_t n = s->dual->n_points;

    for (size_t k = 0; k < p->dual.n_points; k++)
        for (int32_t g = 0; g < s->dual->n_groups; g++)
            s->whole->beta[(size_t)g * n + (size_t)s->active[k]] =
                p->solution.beta[(size_t)g * p->dual.n_points + k];
    s->whole->n_iter = p->solution.n_iter;
    s->whole->n_row_visits = p->solution.n_row_visits;
}

/* ---- Rounds -------------------------------------------------------------------------------- */

static kc_status solve_part(shrinking *s, size_t n_active)
{
    part p;
    kc_status status = open_part(s, n_active, &p);

    if (status == KC_OK)
        status = kc_shrink_solve(s->call, p.store, &p.dual, &p.solution);
    kc_store_part_free(s->call->ctx, s->store, p.store);
    KC_TRY(status);
    s->whole->stop = p.solution.stop;
    if (p.solution.stop == KC_STOP_CALLER)
        return KC_OK;
    status = p.solution.stop == KC_STOP_TIME ? KC_ERR_TIME : synchronise(s, &p);
    if (status == KC_OK)
        memcpy(s->whole->grad, s->next_grad, s->dual->n_points * sizeof *s->next_grad);
    if (status == KC_OK || status == KC_ERR_TIME)
        close_part(s, &p);
    return status;
}

static kc_status run(shrinking *s)
{
    for (int32_t round = 0;; round++) {
        kc_arena_point point = kc_arena_mark(s->call->arena);
        bool is_narrow = false;
        kc_idle idle = kc_idle_find(s->dual, s->whole->beta, s->whole->grad, s->active);
        if (idle.violation < s->dual->tol) {
            s->whole->stop = KC_STOP_CONVERGED;
            return KC_OK;
        }
        if (round < MOST_ROUNDS && kc_idle_is_narrow(&idle, s->dual->n_points)) {
            KC_TRY(solve_part(s, idle.n_active));
            is_narrow = s->whole->stop == KC_STOP_CONVERGED;
            if (s->whole->stop == KC_STOP_STALLED) { /* who was left out may have far to go */
                is_narrow = true;
                round = MOST_ROUNDS;
            }
        } else {
            KC_TRY(kc_smo_solve(s->call, s->store, s->dual, s->whole,
                                round < MOST_ROUNDS ? &is_narrow : NULL));
        }
        kc_arena_release(s->call->arena, point);
        if (!is_narrow)
            return KC_OK;
    }
}

kc_status kc_shrink_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    shrinking s = {.call = call, .store = store, .dual = dual, .whole = out};

    s.next_grad = kc_call_take(call, dual->n_points, sizeof *s.next_grad);
    s.active = kc_call_take(call, dual->n_points, sizeof *s.active);
    s.moved_points = kc_call_take(call, dual->n_points, sizeof *s.moved_points);
    s.moved_delta = kc_call_take(call, dual->n_points, sizeof *s.moved_delta);
    kc_status status = s.next_grad && s.active && s.moved_points && s.moved_delta
                           ? run(&s)
                           : kc_fail_nomem(call->err);
    if (kc_stop_of(status, &out->stop)) /* between two rounds: what there is stays */
        status = KC_OK;
    kc_arena_release(call->arena, point);
    return status;
}
