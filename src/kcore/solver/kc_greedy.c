/* Rounds on the worst few.  See kc_greedy.h; who they are is found by solver/kc_scout.c.
 *
 * The bits do not depend on where rows come from: sums run in the order of the moves.  The solution
 * is whole between two rounds: one that is stopped half-way leaves what was before it. */
#include "solver/kc_greedy.h"

#include <math.h>
#include <string.h>

#include "solver/kc_pairs.h"
#include "solver/kc_scout.h"
#include "solver/kc_watch.h"

/* The worst few are solved to this share of the violation: beyond it, they would undo what others
 * are going to do. */
#define INNER_SHARE 0.7
#define INNER_TOL_SHARE 0.9
#define INNER_STEPS_PER_MEMBER 100

/* Between two polls, passes go over about this many entries of rows. */
#define POLL_ENTRIES ((size_t)1 << 21)
#define ROWS_PER_ROUND 8 /* about */

/* After this many visits per point the gradient is computed anew before a solution is accepted: the
 * rounding of the sums is then gone from it, at a fraction of their cost. */
#define FRESH_PER_POINT 40

enum { MOST = KC_SCOUT_MOST };

/* The problem of the members alone; arrays of kc_pairs. */
typedef struct inner {
    kc_pairs pairs;
    double grad[MOST], diag[MOST];
    double beta[2][MOST], lo[2][MOST], hi[2][MOST], up[2][MOST], low[2][MOST];
    double gram[MOST * MOST]; /* of the type of the rows, MOST to a row */
} inner;

typedef struct solver {
    kc_call *call;
    kc_store *store;
    const kc_dual *dual;
    double *beta;
    kc_scout scout;
    double *next_grad; /* padded */
    const char *gram;  /* NULL: rows are added up by the store */
    size_t ld;

    size_t members[MOST];
    size_t n_members;
    inner inner;

    kc_watch watch;
    int64_t n_steps, n_rounds, n_visits;
    double objective;
    int64_t next_poll;               /* round */
    int64_t next_look, next_stretch; /* visit */
    int64_t fresh_at;                /* visit at which the gradient was computed from the rows */
} solver;

/* ---- Life ---------------------------------------------------------------------------------- */

static void refresh(solver *s, size_t p)
{
    for (int32_t g = 0; g < s->dual->n_groups; g++) {
        size_t v = (size_t)g * s->dual->n_points + p;
        s->scout.up[g][p] = kc_rise(s->dual->epsilon, s->beta[v], s->dual->hi[v]);
        s->scout.low[g][p] = kc_fall(s->dual->epsilon, s->beta[v], s->dual->lo[v]);
    }
}

/* The matrix, if rows of it are runs of the problem's points: through w, sums are others. */
static void find_matrix(solver *s)
{
    const kc_cols *cols = &s->dual->cols;
    const char *gram = kc_store_matrix(s->store, &s->ld);

    if (gram == NULL || cols->n_spans == 2 || kc_store_is_linear(s->store))
        return;
    s->gram = gram + cols->span[0].begin * (s->ld + 1) * kc_dtype_bytes(kc_store_dtype(s->store));
}

static kc_status start(solver *s, const kc_solution *from)
{
    const kc_dual *dual = s->dual;
    const size_t n = dual->n_points;
    const size_t n_padded = kc_round_up(n, KC_SMO_PAD);

    KC_TRY(kc_scout_create(s->call, n, dual->n_groups, kc_store_dtype(s->store), &s->scout));
    s->next_grad = kc_call_take(s->call, n_padded, sizeof *s->next_grad);
    if (s->next_grad == NULL)
        return kc_fail_nomem(s->call->err);
    memset(s->next_grad + n, 0, (n_padded - n) * sizeof *s->next_grad);
    find_matrix(s);
    memcpy(s->scout.grad, from->grad, n * sizeof *s->scout.grad);
    for (size_t p = 0; p < n; p++)
        refresh(s, p);
    for (int32_t g = 0; g < dual->n_groups; g++)
        s->scout.peak[g] =
            kc_smo_ops_chosen()->f64.scan(s->scout.grad, s->scout.up[g], s->scout.low[g], n_padded);
    s->watch = kc_watch_start(dual, s->store);
    s->n_steps = from->n_iter;
    s->objective = kc_dual_objective(dual, s->beta, s->scout.grad);
    return KC_OK;
}

/* ---- A round ------------------------------------------------------------------------------- */

/* Values among the members out of the matrix: all are asked for before the first is read. */
static void pick_values(solver *s)
{
    const size_t bytes = kc_dtype_bytes(kc_store_dtype(s->store));
    const size_t n = s->n_members;
    char *out = (char *)s->inner.gram;

    for (size_t a = 0; a < n; a++)
        for (size_t b = a; b < n; b++)
            __builtin_prefetch(s->gram + (s->members[a] * s->ld + s->members[b]) * bytes);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a; b < n; b++) {
            const char *value = s->gram + (s->members[a] * s->ld + s->members[b]) * bytes;
            memcpy(out + (a * MOST + b) * bytes, value, bytes);
            memcpy(out + (b * MOST + a) * bytes, value, bytes);
        }
}

static kc_status gather_values(solver *s)
{
    int32_t points[MOST];

    if (s->gram != NULL) {
        pick_values(s);
        return KC_OK;
    }
    for (size_t k = 0; k < s->n_members; k++)
        points[k] = (int32_t)kc_cols_point(&s->dual->cols, s->members[k]);
    return kc_store_gather(s->call, s->store, points, s->n_members, points, s->n_members,
                           s->inner.gram, MOST);
}

static void load_inner(solver *s)
{
    const kc_dual *dual = s->dual;
    inner *in = &s->inner;
    const kc_dtype dtype = kc_store_dtype(s->store);
    const size_t bytes = kc_dtype_bytes(dtype);

    in->pairs = (kc_pairs){.n = s->n_members,
                           .n_groups = dual->n_groups,
                           .epsilon = dual->epsilon,
                           .exact_below = KC_EXACT_TOLS * dual->tol,
                           .lanes = KC_F64,
                           .grad = in->grad,
                           .dtype = dtype,
                           .diag = in->diag,
                           .gram = in->gram,
                           .ld = MOST,
                           .n_steps = s->n_steps,
                           .objective = s->objective};
    for (int32_t g = 0; g < dual->n_groups; g++) {
        in->pairs.beta[g] = in->beta[g];
        in->pairs.lo[g] = in->lo[g];
        in->pairs.hi[g] = in->hi[g];
        in->pairs.up[g] = in->up[g];
        in->pairs.low[g] = in->low[g];
    }
    for (size_t k = 0; k < s->n_members; k++) {
        in->grad[k] = s->scout.grad[s->members[k]];
        memcpy((char *)in->diag + k * bytes, (const char *)in->gram + k * (MOST + 1) * bytes,
               bytes);
        for (int32_t g = 0; g < dual->n_groups; g++) {
            size_t v = (size_t)g * dual->n_points + s->members[k];
            in->beta[g][k] = s->beta[v];
            in->lo[g][k] = dual->lo[v];
            in->hi[g][k] = dual->hi[v];
        }
    }
    kc_pairs_start(&in->pairs, in->grad);
}

/* Who of the members has moved. */
static size_t list_moves(solver *s)
{
    const inner *in = &s->inner;
    const size_t row_bytes = s->ld * kc_dtype_bytes(kc_store_dtype(s->store));
    size_t n = 0;

    for (size_t k = 0; k < s->n_members; k++) {
        const size_t p = s->members[k];
        bool has_moved = false;
        kc_move m = {.at = (int32_t)p, .row = s->gram != NULL ? s->gram + p * row_bytes : NULL};
        for (int32_t g = 0; g < s->dual->n_groups; g++) {
            double before = s->beta[(size_t)g * s->dual->n_points + p];
            has_moved |= in->beta[g][k] != before;
            m.delta += in->beta[g][k] - before;
            m.up[g] = in->up[g][k];
            m.low[g] = in->low[g][k];
        }
        s->scout.moves[n] = m;
        n += has_moved;
    }
    return n;
}

/* A row is wanted again while its variable can both rise and fall. */
static bool is_free(const solver *s, const kc_move *m)
{
    bool is_any = false;

    for (int32_t g = 0; g < s->dual->n_groups; g++)
        is_any |= m->up[g] == m->low[g];
    return is_any;
}

/* The gradient after the moves, by the store. */
static kc_status apply_moves(solver *s, size_t n_moves)
{
    int32_t points[MOST];
    double delta[MOST];
    uint8_t keep[MOST];
    kc_moved moved = {.points = points, .delta = delta, .keep = keep, .n = n_moves};

    for (size_t k = 0; k < n_moves; k++) {
        points[k] = (int32_t)kc_cols_point(&s->dual->cols, (size_t)s->scout.moves[k].at);
        delta[k] = s->scout.moves[k].delta;
        keep[k] = (uint8_t)(is_free(s, &s->scout.moves[k]) ? KC_KEEP_HIGH : KC_KEEP_NOT);
    }
    KC_TRY(kc_store_apply(s->call, s->store, &s->dual->cols, &moved, s->scout.grad, s->next_grad));
    double *grad = s->scout.grad;
    s->scout.grad = s->next_grad;
    s->next_grad = grad;
    for (size_t k = 0; k < n_moves; k++)
        for (int32_t g = 0; g < s->dual->n_groups; g++) {
            s->scout.up[g][s->scout.moves[k].at] = s->scout.moves[k].up[g];
            s->scout.low[g][s->scout.moves[k].at] = s->scout.moves[k].low[g];
        }
    return KC_OK;
}

static kc_status run_round(solver *s, double violation, int64_t max_iter, bool *has_moved)
{
    const int64_t left = max_iter - s->n_steps;
    kc_stop stop;

    s->n_members = kc_scout_members(&s->scout, s->members);
    KC_TRY(gather_values(s));
    load_inner(s);
    const int64_t limit = INNER_STEPS_PER_MEMBER * (int64_t)s->n_members;
    KC_TRY(kc_pairs_run(s->call, &s->inner.pairs,
                        fmax(INNER_TOL_SHARE * s->dual->tol, INNER_SHARE * violation),
                        left < limit ? left : limit, &stop));
    const size_t n_moves = list_moves(s);
    *has_moved = n_moves > 0;
    if (s->gram == NULL)
        KC_TRY(apply_moves(s, n_moves));
    for (size_t k = 0; k < s->n_members; k++)
        for (int32_t g = 0; g < s->dual->n_groups; g++)
            s->beta[(size_t)g * s->dual->n_points + s->members[k]] = s->inner.beta[g][k];
    kc_scout_run(&s->scout, s->gram != NULL ? n_moves : 0);
    s->n_steps = s->inner.pairs.n_steps;
    s->objective = s->inner.pairs.objective;
    s->n_visits += (int64_t)n_moves;
    s->n_rounds++;
    return KC_OK;
}

/* ---- The driver ---------------------------------------------------------------------------- */

static double find_violation(const solver *s)
{
    double largest = -HUGE_VAL;

    for (int32_t g = 0; g < s->dual->n_groups; g++) {
        double violation = s->scout.peak[g].max_up - s->scout.peak[g].min_low;
        largest = violation > largest || isnan(violation) ? violation : largest;
    }
    return largest;
}

static bool is_over(solver *s, double violation, int64_t max_iter, kc_stop *stop)
{
    if (violation < s->dual->tol)
        *stop = KC_STOP_CONVERGED;
    else if (!isfinite(violation))
        *stop = KC_STOP_STALLED;
    else if (s->n_steps >= max_iter)
        *stop = KC_STOP_MAX_ITER;
    else
        return false;
    return true;
}

/* Asks the caller, now and then. */
static bool is_stopped(solver *s, double violation, kc_stop *stop)
{
    if (s->n_rounds < s->next_poll)
        return false;
    s->next_poll = s->n_rounds + (int64_t)(POLL_ENTRIES / ROWS_PER_ROUND / s->dual->n_points) + 1;
    s->call->progress.n_iter = s->n_steps;
    s->call->progress.objective = s->objective;
    s->call->progress.violation = violation;
    if (kc_stop_of(kc_call_poll(s->call), stop))
        return true;
    kc_crew_muster(&s->scout.crew);
    return false;
}

/* What kc_watch looks for, once for about n visits. */
static bool is_useless(solver *s, double violation, kc_stop *stop)
{
    if (s->n_visits < s->next_look)
        return false;
    s->next_look = s->n_visits + (int64_t)s->dual->n_points;
    return kc_watch_look(&s->watch, s->beta, s->scout.grad, violation, stop);
}

/* As often: whether all variables have been stretched, so that the violation is another one now. */
static bool has_stretched(solver *s)
{
    if (s->n_visits < s->next_stretch)
        return false;
    s->next_stretch = s->n_visits + (int64_t)s->dual->n_points;
    if (!kc_watch_stretch(&s->watch, s->beta, s->scout.grad))
        return false;
    for (size_t p = 0; p < s->dual->n_points; p++)
        refresh(s, p);
    kc_scout_run(&s->scout, 0);
    return true;
}

/* Rounds until there is an end to them, of whatever kind. */
static kc_status run_rounds(solver *s, int64_t max_iter, kc_stop *stop)
{
    kc_scout_run(&s->scout, 0);
    for (;;) {
        const double violation = find_violation(s);
        bool has_moved = false;
        if (is_over(s, violation, max_iter, stop) || is_stopped(s, violation, stop) ||
            is_useless(s, violation, stop))
            return KC_OK;
        if (has_stretched(s))
            continue;
        kc_status status = run_round(s, violation, max_iter, &has_moved);
        if (kc_stop_of(status, stop))
            return KC_OK;
        KC_TRY(status);
        if (!has_moved) {
            *stop = KC_STOP_STALLED;
            return KC_OK;
        }
    }
}

/* Whether the solution can be taken: its gradient is fresh enough, or is so now. */
static kc_status accept(solver *s, bool *is_fresh)
{
    const int64_t most = FRESH_PER_POINT * (int64_t)s->dual->n_points;

    *is_fresh = s->n_visits - s->fresh_at < most;
    if (*is_fresh)
        return KC_OK;
    KC_TRY(kc_dual_gradient(s->call, s->store, s->dual, s->beta, s->next_grad));
    memcpy(s->scout.grad, s->next_grad, s->dual->n_points * sizeof *s->scout.grad);
    s->fresh_at = s->n_visits;
    return KC_OK;
}

static kc_status run(solver *s, kc_stop *stop)
{
    const int64_t max_iter = kc_dual_max_iter(s->dual);

    for (bool is_fresh = false; !is_fresh;) {
        /* Whoever computes rows wants all threads for that. */
        kc_scout_hire(&s->scout, s->call, s->gram == NULL);
        kc_status status = run_rounds(s, max_iter, stop);
        kc_crew_dismiss(&s->scout.crew);
        KC_TRY(status);
        is_fresh = true;
        if (*stop == KC_STOP_CONVERGED)
            status = accept(s, &is_fresh);
        if (kc_stop_of(status, stop))
            return KC_OK;
        KC_TRY(status);
    }
    return KC_OK;
}

/* The whole matrix, where the store has room for it. */
static kc_status complete(kc_call *call, kc_store *store, const kc_dual *dual)
{
    size_t ld;

    if (kc_store_matrix(store, &ld) != NULL || kc_store_is_linear(store) ||
        dual->n_points < kc_store_points(store))
        return KC_OK;
    kc_store_clear(call->ctx, store);
    return kc_store_complete(call, store);
}

kc_status kc_greedy_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status = complete(call, store, dual);

    if (kc_stop_of(status, &out->stop))
        return KC_OK;
    KC_TRY(status);
    solver *s = kc_call_take(call, 1, sizeof *s);
    if (s == NULL)
        return kc_fail_nomem(call->err);
    *s = (solver){.call = call, .store = store, .dual = dual, .beta = out->beta};
    status = start(s, out);
    if (status == KC_OK)
        status = run(s, &out->stop);
    if (status == KC_OK) {
        memcpy(out->grad, s->scout.grad, dual->n_points * sizeof *out->grad);
        out->n_iter = s->n_steps;
        out->n_outer += s->n_rounds;
        out->n_row_visits += s->n_visits;
    }
    kc_arena_release(call->arena, point);
    return status;
}
