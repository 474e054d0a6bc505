/* Pair steps over all points.  See kc_smo.h; the steps are in solver/kc_pairs.c. */
#include "solver/kc_smo.h"

#include <math.h>
#include <string.h>

#include "solver/kc_active_set.h"
#include "solver/kc_pairs.h"
#include "solver/kc_scale.h"

typedef struct smo {
    kc_state *state;
    kc_pairs pairs;
    char *copies;     /* two rows, where the problem's columns are not in one run */
    int64_t fresh_at; /* the step at which the gradient was computed from the rows */
    kc_stall stall;
} smo;

/* ---- Rows ---------------------------------------------------------------------------------- */

static kc_status fetch(void *data, const size_t *positions, size_t n_rows, const void **out)
{
    const smo *s = data;
    const kc_state *state = s->state;
    const kc_cols *cols = &state->dual.cols;
    size_t bytes = kc_dtype_bytes(s->pairs.dtype);
    size_t n_first = cols->span[0].end - cols->span[0].begin;
    int32_t points[2] = {0};

    for (size_t r = 0; r < n_rows; r++)
        points[r] = (int32_t)kc_cols_point(cols, positions[r]);
    KC_TRY(kc_store_get(state->call, state->store, cols, points, n_rows, out));
    for (size_t r = 0; r < n_rows; r++) {
        const char *row = (const char *)out[r] + cols->span[0].begin * bytes;
        out[r] = row;
        if (cols->n_spans == 2) {
            char *copy = s->copies + r * state->dual.n_points * bytes;
            memcpy(copy, row, n_first * bytes);
            memcpy(copy + n_first * bytes,
                   row + (cols->span[1].begin - cols->span[0].begin) * bytes,
                   (state->dual.n_points - n_first) * bytes);
            out[r] = copy;
        }
    }
    return KC_OK;
}

static void reserve_smo_end(void *data)
{
    const smo *s = data;

    kc_state_reserve(s->state, kc_state_count_support(s->state));
}

/* ---- Life ---------------------------------------------------------------------------------- */

static double find_exact_below(const kc_state *state)
{
    const kc_pairs_tuning *tuning = &state->tuning->pairs;

    return state->dual.n_points < tuning->exact_points ? HUGE_VAL : tuning->exact_tols * state->tol;
}

static kc_pairs describe_pairs(smo *s)
{
    kc_state *state = s->state;
    const kc_dual *dual = &state->dual;
    kc_pairs pairs = {
        .tuning = state->tuning,
        .n = dual->n_points,
        .n_layers = dual->n_layers,
        .epsilon = dual->epsilon,
        .exact_below = find_exact_below(state),
        .lanes = KC_F64,
        .grad = state->grad,
        .dtype = kc_store_dtype(state->store),
        .gram = state->gram,
        .ld = state->ld,
        .fetch = fetch,
        .fetch_data = s,
        .reserve = reserve_smo_end,
        .reserve_data = s,
        .n_steps = state->n_steps,
        .objective = kc_dual_objective(dual, state->beta, state->grad),
    };

    for (int32_t g = 0; g < dual->n_layers; g++) {
        pairs.beta[g] = state->beta + (size_t)g * dual->n_points;
        pairs.lo[g] = dual->lo + (size_t)g * dual->n_points;
        pairs.hi[g] = dual->hi + (size_t)g * dual->n_points;
        pairs.up[g] = state->up[g];
        pairs.low[g] = state->low[g];
    }
    return pairs;
}

static kc_status start_smo(smo *s)
{
    kc_state *state = s->state;
    const kc_cols *cols = &state->dual.cols;
    const size_t n = state->dual.n_points, bytes = kc_dtype_bytes(kc_store_dtype(state->store));
    char *diag = kc_call_take(state->call, kc_round_up(n, KC_SMO_PAD), bytes);

    s->pairs = describe_pairs(s);
    if (state->gram == NULL && cols->n_spans == 2)
        s->copies = kc_call_take(state->call, 2 * n, bytes);
    if (diag == NULL || (state->gram == NULL && cols->n_spans == 2 && s->copies == NULL))
        return kc_fail_nomem(state->call->err);
    for (size_t p = 0; p < n; p++)
        memcpy(diag + p * bytes,
               (const char *)kc_store_diag(state->store) + kc_cols_point(cols, p) * bytes, bytes);
    s->pairs.diag = diag;
    kc_pairs_start(&s->pairs, state->grad);
    return KC_OK;
}

/* ---- Steps with a gradient of floats ------------------------------------------------------- */

static kc_status freshen(smo *s)
{
    KC_TRY(kc_state_freshen(s->state));
    kc_pairs_start(&s->pairs, s->state->grad);
    return KC_OK;
}

/* At most max_steps; then the gradient of where they have come, but at an end of time, after which
 * kc_dual_solve computes it. */
static kc_status run_in_floats(smo *s, double goal, int64_t max_steps)
{
    kc_state *state = s->state;
    kc_arena_point point = kc_arena_mark(state->call->arena);
    size_t n_padded = kc_round_up(s->pairs.n, KC_SMO_PAD);
    size_t n_layers = (size_t)s->pairs.n_layers;
    float *arrays = kc_call_take(state->call, n_padded * (1 + 2 * n_layers), sizeof *arrays);
    kc_pairs pairs = s->pairs;

    if (arrays == NULL)
        return kc_fail_nomem(state->call->err);
    pairs.lanes = KC_F32;
    pairs.grad = arrays;
    for (size_t g = 0; g < n_layers; g++) {
        pairs.up[g] = arrays + n_padded * (1 + 2 * g);
        pairs.low[g] = arrays + n_padded * (2 + 2 * g);
    }
    kc_pairs_start(&pairs, state->grad);
    KC_TRY(kc_pairs_run(state->call, &pairs, goal, max_steps, &state->stop));
    s->pairs.n_steps = pairs.n_steps;
    s->pairs.next_poll = pairs.next_poll;
    s->pairs.objective = pairs.objective;
    kc_arena_release(state->call->arena, point);
    return state->stop == KC_STOP_TIME || state->stop == KC_STOP_CALLER ? KC_OK : freshen(s);
}

static double find_violation(const smo *s)
{
    int32_t g;

    return kc_pairs_violation(&s->pairs, &g);
}

static bool may_use_floats(const smo *s, double goal)
{
    const kc_pairs_tuning *tuning = &s->state->tuning->pairs;

    return s->pairs.n >= tuning->float_points &&
           kc_pairs_suit_floats(tuning, s->pairs.dtype, s->state->grad, s->pairs.n, goal);
}

/* ---- The driver ---------------------------------------------------------------------------- */

/* At most max_steps, or down to a goal on the way, which state->stop does not tell from an end:
 * with floats until those find no more to do, then with doubles. */
static kc_status run_some(smo *s, int64_t max_steps, bool *has_floats)
{
    kc_state *state = s->state;
    const double goal = kc_scale_goal(state, find_violation(s));
    int64_t last = s->pairs.n_steps + max_steps;

    s->pairs.exact_below = find_exact_below(state);
    s->pairs.scale = state->scale;
    *has_floats &= !state->dual.is_scaled || may_use_floats(s, goal);
    if (*has_floats) {
        KC_TRY(run_in_floats(s, goal, max_steps));
        s->fresh_at = s->pairs.n_steps;
        if (state->stop == KC_STOP_TIME || state->stop == KC_STOP_CALLER ||
            state->stop == KC_STOP_MAX_ITER || goal > state->tol)
            return KC_OK;
    }
    *has_floats = false;
    return kc_pairs_run(state->call, &s->pairs, goal, last - s->pairs.n_steps, &state->stop);
}

/* Whether the solution can be taken: its gradient is fresh enough, or is so now. */
static kc_status accept_smo(smo *s, bool *is_fresh)
{
    const int64_t most =
        s->state->tuning->pairs.fresh_steps_per_point * (int64_t)s->state->dual.n_points;

    *is_fresh = s->pairs.n_steps - s->fresh_at < most;
    if (*is_fresh)
        return KC_OK;
    KC_TRY(freshen(s));
    s->fresh_at = s->pairs.n_steps;
    return KC_OK;
}

static bool should_shrink_now(const smo *s)
{
    const kc_active_set active = kc_active_set_find(s->state, NULL);

    return kc_active_set_is_worth_shrinking(&s->state->tuning->shrink, &active,
                                            s->state->dual.n_points);
}

/* Now and then: whether the steps still gain anything. */
static bool is_smo_useless(smo *s)
{
    if (kc_stall_look(&s->stall, s->state, find_violation(s)))
        return true;
    if (kc_state_scale_along_ray(s->state))
        kc_pairs_start(&s->pairs, s->state->grad);
    return false;
}

/* Between two runs: a goal on the way is no end, unless the scale says so. */
static void look_at_scale(smo *s)
{
    kc_state *state = s->state;

    state->n_steps = s->pairs.n_steps;
    if (!state->dual.is_scaled ||
        (state->stop != KC_STOP_CONVERGED && state->stop != KC_STOP_MAX_ITER))
        return;
    if (kc_scale_is_solved(state, find_violation(s)))
        state->stop = KC_STOP_CONVERGED;
    else if (!kc_scale_has_no_end(state))
        state->stop = KC_STOP_MAX_ITER;
}

/* Runs to the end, with a look now and then; accepts only a solution whose gradient is fresh. */
static kc_status run_smo(smo *s, int64_t last_step, bool *may_shrink)
{
    kc_state *state = s->state;
    const int64_t n = (int64_t)state->dual.n_points;
    const int64_t by_n = state->tuning->pairs.look_steps_per_point * n;
    const int64_t least = state->tuning->pairs.look_steps_min;
    const int64_t look = by_n > least ? by_n : least;
    const int64_t stride = may_shrink != NULL ? n : state->dual.is_scaled ? by_n : look;
    int64_t look_at = s->pairs.n_steps + look;
    bool has_floats = state->dual.is_scaled || may_use_floats(s, state->tol);

    kc_scale_is_solved(state, find_violation(s));
    s->stall = kc_stall_start();
    s->fresh_at = s->pairs.n_steps;
    for (;;) {
        const int64_t left = last_step - s->pairs.n_steps;
        bool is_fresh = true;
        kc_status status = run_some(s, left < stride ? left : stride, &has_floats);
        if (status == KC_OK)
            look_at_scale(s);
        if (status == KC_OK && state->stop == KC_STOP_CONVERGED)
            status = accept_smo(s, &is_fresh);
        if (kc_stop_of(status, &state->stop))
            return KC_OK;
        KC_TRY(status);
        if (!is_fresh)
            continue;
        if (state->stop == KC_STOP_MAX_ITER && s->pairs.n_steps >= last_step) /* may be both */
            return kc_pairs_run(state->call, &s->pairs, state->tol, 0, &state->stop);
        if (state->stop != KC_STOP_MAX_ITER)
            return KC_OK;
        if (may_shrink != NULL && should_shrink_now(s)) {
            *may_shrink = true;
            return KC_OK;
        }
        if (s->pairs.n_steps < look_at)
            continue;
        look_at = s->pairs.n_steps + look;
        if (is_smo_useless(s))
            return KC_OK;
    }
}

kc_status kc_smo_run(kc_state *state, int64_t last_step, bool *may_shrink)
{
    smo s = {.state = state};
    kc_status status = kc_state_take_matrix(state);

    if (kc_stop_of(status, &state->stop))
        return KC_OK;
    KC_TRY(status);
    kc_arena_point point = kc_arena_mark(state->call->arena);
    KC_TRY(start_smo(&s));
    const int64_t first_step = state->n_steps;
    KC_TRY(run_smo(&s, last_step, may_shrink));
    state->n_visits += 2 * (s.pairs.n_steps - first_step);
    state->n_steps = s.pairs.n_steps;
    kc_arena_release(state->call->arena, point);
    return KC_OK;
}
