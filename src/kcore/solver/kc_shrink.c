/* Rounds of shrinking.  See kc_shrink.h.
 *
 * Levels: all points, their active ones, the active ones of those, ...  Pair steps run at the last
 * level; when they are done there, it is given up, and the level before goes on. */
#include "solver/kc_shrink.h"

#include <math.h>
#include <string.h>

#include "solver/kc_active_set.h"
#include "solver/kc_scale.h"
#include "solver/kc_smo.h"

typedef struct level {
    kc_state *state;
    kc_state own;        /* of a part */
    struct level *whole; /* which this is a part of; NULL: all points */
    int32_t *points;     /* of a part: by its positions, as points of the whole's store */
    int32_t *active;     /* positions */
    double *next_grad;
    int32_t *moved_points;
    double *moved_delta;
    int32_t round;
    kc_arena_point begin; /* what is taken after it belongs to a round */
} level;

bool kc_shrink_suits(kc_state *s)
{
    return !s->is_hard && kc_store_can_part(s->store) &&
           (!s->dual.is_scaled || kc_scale_has_margin(s));
}

/* Room for the parts of a level. */
static kc_status open_level(level *l)
{
    kc_call *call = l->state->call;
    const size_t n = l->state->dual.n_points;

    l->next_grad = kc_call_take(call, n, sizeof *l->next_grad);
    l->active = kc_call_take(call, n, sizeof *l->active);
    l->moved_points = kc_call_take(call, n, sizeof *l->moved_points);
    l->moved_delta = kc_call_take(call, n, sizeof *l->moved_delta);
    if (!l->next_grad || !l->active || !l->moved_points || !l->moved_delta)
        return kc_fail_nomem(call->err);
    l->begin = kc_arena_mark(call->arena);
    return KC_OK;
}

/* The end of a round. */
static void end_round(level *l)
{
    kc_state_close(l->state);
    kc_arena_release(l->state->call->arena, l->begin);
}

/* ---- To a part ------------------------------------------------------------------------------ */

/* t less what the shrunk points contribute to K b, at all positions, into next_grad; *n_outside:
 * how many contribute, with those outside of all points here. */
static kc_status fix_shrunk(level *l, size_t n_active, size_t *n_outside)
{
    const kc_state *s = l->state;
    kc_moved moved = {.points = l->moved_points, .delta = l->moved_delta};
    size_t next = 0;

    for (size_t p = 0; p < s->dual.n_points; p++) {
        const double b = kc_dual_coefficient(&s->dual, s->beta, p);
        if (next < n_active && (size_t)l->active[next] == p) {
            next++;
        } else if (b != 0) {
            l->moved_points[moved.n] = (int32_t)kc_cols_point(&s->dual.cols, p);
            l->moved_delta[moved.n++] = b;
        }
    }
    *n_outside = s->dual.n_outside + moved.n;
    return kc_store_apply(s->call, s->store, &s->dual.cols, &moved, s->dual.t, l->next_grad);
}

typedef struct arrays {
    double *t, *lo, *hi, *beta, *grad;
} arrays;

static kc_status take_level_arrays(const level *whole, size_t n, level *part, arrays *out)
{
    kc_call *call = whole->state->call;
    const size_t n_vars = (size_t)whole->state->dual.n_layers * n;

    out->t = kc_call_take(call, n, sizeof *out->t);
    out->lo = kc_call_take(call, n_vars, sizeof *out->lo);
    out->hi = kc_call_take(call, n_vars, sizeof *out->hi);
    out->beta = kc_call_take(call, n_vars, sizeof *out->beta);
    out->grad = kc_call_take(call, n, sizeof *out->grad);
    part->points = kc_call_take(call, n, sizeof *part->points);
    if (!out->t || !out->lo || !out->hi || !out->beta || !out->grad || !part->points)
        return kc_fail_nomem(call->err);
    return KC_OK;
}

/* The problem of the active points, as the whole stands. */
static void pose(const level *whole, const level *part, const arrays *a, kc_dual *dual)
{
    const kc_state *s = whole->state;
    const size_t n = dual->n_points;

    dual->sum[0] = dual->sum[1] = 0;
    for (size_t k = 0; k < n; k++) {
        const size_t p = (size_t)whole->active[k];
        part->points[k] = (int32_t)kc_cols_point(&s->dual.cols, p);
        a->t[k] = whole->next_grad[p];
        a->grad[k] = s->grad[p];
        for (int32_t g = 0; g < dual->n_layers; g++) {
            const size_t from = (size_t)g * s->dual.n_points + p, to = (size_t)g * n + k;
            a->lo[to] = s->dual.lo[from];
            a->hi[to] = s->dual.hi[from];
            a->beta[to] = s->beta[from];
            dual->sum[g] += s->beta[from];
        }
    }
    dual->cols = (kc_cols){.span = {{0, n}}, .n_spans = 1};
    dual->t = a->t;
    dual->lo = a->lo;
    dual->hi = a->hi;
    dual->offset = kc_dual_objective(&s->dual, s->beta, s->grad) -
                   kc_dual_objective(dual, a->beta, a->grad) + s->dual.offset;
}

/* A level of n active points; there is no store where it fails. */
static kc_status open_part(level *whole, size_t n, level *part)
{
    const kc_state *s = whole->state;
    kc_dual dual = s->dual;
    kc_store *store = NULL;
    kc_status status;
    arrays a;

    KC_TRY(take_level_arrays(whole, n, part, &a));
    KC_TRY(fix_shrunk(whole, n, &dual.n_outside));
    dual.n_whole = s->dual.n_whole > 0 ? s->dual.n_whole : s->dual.n_points;
    dual.n_points = n;
    pose(whole, part, &a, &dual);
    KC_TRY(kc_store_part_make(s->call, s->store, part->points, n, &store));
    status = kc_state_open(s->call, store, &dual, s->tuning, a.beta, &part->own);
    part->state = &part->own;
    if (status == KC_OK) {
        memcpy(part->own.grad, a.grad, n * sizeof *a.grad);
        part->own.n_steps = s->n_steps;
        part->own.n_visits = s->n_visits;
        part->own.has_margin = s->has_margin;
        status = open_level(part);
    }
    if (status != KC_OK)
        kc_store_part_free(s->call->ctx, s->store, store);
    return status;
}

static kc_status enter(level **now, size_t n_active)
{
    level *whole = *now;
    level *part = kc_call_take(whole->state->call, 1, sizeof *part);

    if (part == NULL)
        return kc_fail_nomem(whole->state->call->err);
    *part = (level){.whole = whole};
    KC_TRY(open_part(whole, n_active, part));
    *now = part;
    return KC_OK;
}

/* ---- And back ------------------------------------------------------------------------------- */

/* The gradient of all points after the part, into next_grad. */
static kc_status synchronise(level *whole, const level *part)
{
    const kc_state *s = whole->state, *of_part = part->state;
    kc_moved moved = {.points = whole->moved_points, .delta = whole->moved_delta};

    for (size_t k = 0; k < of_part->dual.n_points; k++) {
        const double delta = kc_dual_coefficient(&of_part->dual, of_part->beta, k) -
                             kc_dual_coefficient(&s->dual, s->beta, (size_t)whole->active[k]);
        if (delta != 0) {
            whole->moved_points[moved.n] = part->points[k];
            whole->moved_delta[moved.n++] = delta;
        }
    }
    return kc_store_apply(s->call, s->store, &s->dual.cols, &moved, s->grad, whole->next_grad);
}

/* Takes over what the part found. */
static void take_over(level *whole, const level *part)
{
    kc_state *s = whole->state;
    const kc_state *of_part = part->state;

    for (size_t k = 0; k < of_part->dual.n_points; k++)
        for (int32_t g = 0; g < s->dual.n_layers; g++)
            s->beta[(size_t)g * s->dual.n_points + (size_t)whole->active[k]] =
                of_part->beta[(size_t)g * of_part->dual.n_points + k];
    s->n_steps = of_part->n_steps;
    s->n_visits = of_part->n_visits;
}

/* What the part found, and the gradient after it.  Of one that time is over for, the variables are
 * taken all the same: kc_dual_solve computes another gradient. */
static kc_status merge(level *whole, const level *part)
{
    kc_state *s = whole->state;
    kc_status status = KC_ERR_TIME;

    s->stop = part->state->stop;
    if (s->stop == KC_STOP_CALLER)
        return KC_OK;
    if (s->stop != KC_STOP_TIME)
        status = synchronise(whole, part);
    if (status == KC_OK)
        memcpy(s->grad, whole->next_grad, s->dual.n_points * sizeof *s->grad);
    if (status == KC_OK || status == KC_ERR_TIME)
        take_over(whole, part);
    return kc_stop_of(status, &s->stop) ? KC_OK : status;
}

static void close_part(level *part)
{
    kc_state_close(part->state);
    kc_store_part_free(part->state->call->ctx, part->whole->state->store, part->state->store);
}

/* From a level that has come to an end, to one that has more to do; NULL: there is none. */
static kc_status leave(level **now)
{
    for (level *part = *now, *whole; (whole = part->whole) != NULL; part = whole) {
        KC_TRY(merge(whole, part));
        close_part(part);
        end_round(whole);
        *now = whole;
        if (whole->state->stop == KC_STOP_CONVERGED) {
            whole->round++;
            return KC_OK;
        }
        if (whole->state->stop == KC_STOP_STALLED) { /* points left out may have far to go */
            whole->round = INT32_MAX;
            return KC_OK;
        }
    }
    *now = NULL;
    return KC_OK;
}

/* ---- Rounds -------------------------------------------------------------------------------- */

static kc_status advance(level **now, int64_t last_step)
{
    level *l = *now;
    const kc_shrink_tuning *tuning = &l->state->tuning->shrink;
    const kc_active_set active = kc_active_set_find(l->state, l->active);
    const bool has_rounds_left = l->round < tuning->rounds_max;
    bool may_shrink = false;

    if (kc_scale_is_solved(l->state, active.violation)) {
        l->state->stop = KC_STOP_CONVERGED;
        return leave(now);
    }
    if (has_rounds_left &&
        kc_active_set_is_worth_shrinking(tuning, &active, l->state->dual.n_points)) {
        const kc_status status = enter(now, active.n);
        return kc_stop_of(status, &l->state->stop) ? leave(now) : status;
    }
    KC_TRY(kc_smo_run(l->state, last_step, has_rounds_left ? &may_shrink : NULL));
    if (!may_shrink)
        return leave(now);
    end_round(l);
    l->round++;
    return KC_OK;
}

kc_status kc_shrink_run(kc_state *s, int64_t last_step)
{
    const kc_arena_point point = kc_arena_mark(s->call->arena);
    level all = {.state = s};
    level *now = &all;
    kc_status status = open_level(&all);

    while (status == KC_OK && now != NULL)
        status = advance(&now, last_step);
    for (; now != NULL && now->whole != NULL; now = now->whole)
        close_part(now);
    kc_state_close(s);
    kc_arena_release(s->call->arena, point);
    return status;
}
