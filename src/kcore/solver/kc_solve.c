/* Solves the one problem: from a start, by one method after the other, to a certificate. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/kc_block.h"
#include "solver/kc_choose.h"
#include "solver/kc_coordinate.h"
#include "solver/kc_greedy.h"
#include "solver/kc_shrink.h"
#include "solver/kc_smo.h"

int64_t kc_dual_max_iter(const kc_dual *dual)
{
    const kc_finish_tuning *tuning = &kc_tuning_default.finish;
    const int64_t by_points = tuning->max_iter_per_point * (int64_t)dual->n_points;

    if (dual->max_iter > 0)
        return dual->max_iter;
    return by_points > tuning->max_iter_min ? by_points : tuning->max_iter_min;
}

/* ---- Methods ------------------------------------------------------------------------------- */

static size_t count_free(const kc_state *s)
{
    size_t n_free = 0;

    for (int32_t g = 0; g < s->dual.n_layers; g++)
        for (size_t p = 0; p < s->dual.n_points; p++)
            n_free += s->up[g][p] == s->low[g][p];
    return n_free;
}

static bool is_to_shrink(kc_state *s, const kc_choice *how)
{
    return how->method == KC_METHOD_PAIRS && how->may_shrink && s->dual.is_shrinking &&
           kc_shrink_suits(s);
}

/* Over all points, or without settled ones.  On trial they get some steps only. */
static kc_status run_pairs_method(kc_state *s, const kc_choice *how, bool is_shrunk,
                                  kc_stats *stats, bool *is_done)
{
    const int64_t max_iter = kc_dual_max_iter(&s->dual);
    const int64_t trial = s->tuning->choose.trial_steps_per_point * (int64_t)s->dual.n_points;

    if (stats->method == KC_METHOD_BLOCKS) /* the whole cache is for what comes now */
        kc_store_clear(s->call->ctx, s->store);
    if (is_shrunk)
        return kc_shrink_run(s, max_iter);
    KC_TRY(kc_smo_run(s, how->is_trial ? trial : max_iter, NULL));
    *is_done = !(how->is_trial && s->stop == KC_STOP_MAX_ITER);
    *stats = (kc_stats){.method = KC_METHOD_PAIRS};
    if (!*is_done)
        stats->is_crowded = kc_is_crowded(s->tuning, count_free(s), s->dual.n_points);
    return KC_OK;
}

static kc_status run_blocks(kc_state *s, const kc_choice *how, kc_stats *stats, bool *is_done)
{
    bool is_given_up;

    KC_TRY(kc_blocks_run(s, how->is_trial, stats, &is_given_up));
    *is_done = !is_given_up;
    return KC_OK;
}

/* Notes a method that ran; the same one again counts on. */
static void note_stage(kc_state *s, kc_method method, bool is_shrunk, int64_t count)
{
    kc_stage *last = s->n_stages > 0 ? &s->stages[s->n_stages - 1] : NULL;

    if (last != NULL && last->method == method && last->is_shrunk == is_shrunk)
        last->count += count;
    else if (s->n_stages < KC_MAX_STAGES)
        s->stages[s->n_stages++] = (kc_stage){method, is_shrunk, count};
}

/* One method after the other, until one of them has come to an end. */
static kc_status run_methods(kc_state *s)
{
    kc_stats stats = {.method = KC_METHOD_AUTO};
    bool is_done = false;

    while (!is_done) {
        const kc_choice how = kc_choose(s, &stats);
        const int64_t before = s->n_sets + s->n_rounds;
        const bool is_shrunk = is_to_shrink(s, &how);

        is_done = true;
        if (how.method == KC_METHOD_PAIRS)
            KC_TRY(run_pairs_method(s, &how, is_shrunk, &stats, &is_done));
        else if (how.method == KC_METHOD_BLOCKS)
            KC_TRY(run_blocks(s, &how, &stats, &is_done));
        else if (how.method == KC_METHOD_GREEDY)
            KC_TRY(kc_greedy_run(s));
        else
            KC_TRY(kc_coordinate_run(s));
        note_stage(s, how.method, is_shrunk, s->n_sets + s->n_rounds - before);
    }
    return KC_OK;
}

/* ---- Start --------------------------------------------------------------------------------- */

static kc_status take_start(kc_call *call, const kc_dual *dual, kc_solution *out)
{
    const size_t n_vars = (size_t)dual->n_layers * dual->n_points;

    if (dual->start != NULL)
        memcpy(out->beta, dual->start, n_vars * sizeof *out->beta);
    else
        memset(out->beta, 0, n_vars * sizeof *out->beta);
    out->n_iter = out->n_sets = out->n_rounds = out->n_row_visits = 0;
    out->path[0] = 0;
    out->stop = KC_STOP_TIME;
    return kc_dual_repair(dual, out->beta, call->err);
}

static kc_status start_gradient(kc_state *s, const kc_dual *dual)
{
    if (dual->start_grad == NULL)
        return kc_state_freshen(s);
    memcpy(s->grad, dual->start_grad, dual->n_points * sizeof *s->grad);
    return KC_OK;
}

static void leave_uncertified(kc_solution *out)
{
    out->is_certified = false;
    out->primal = out->dual = out->gap = out->violation = NAN;
}

/* There was no time for a step.  Without coefficients the gradient is t, and the certificate costs
 * nothing. */
static void stay_at_start(const kc_dual *dual, kc_solution *out)
{
    bool is_zero = true;

    if (dual->start == NULL)
        kc_dual_start_evenly(dual, out->beta);
    for (size_t p = 0; p < dual->n_points; p++)
        is_zero &= kc_dual_coefficient(dual, out->beta, p) == 0;
    memcpy(out->grad, dual->t, dual->n_points * sizeof *out->grad);
    kc_dual_certify(dual, out);
    out->is_certified = is_zero;
    if (!is_zero) {
        out->intercept[0] = out->intercept[1] = 0;
        leave_uncertified(out);
    }
}

/* ---- End ----------------------------------------------------------------------------------- */

/* The gradient of the solution as it is.  What was reserved for it may be spent, and a little more,
 * should that have been too little: but not so much that the limit means nothing. */
static kc_status refresh_gradient(kc_state *s, bool *is_fresh)
{
    kc_status status;

    kc_call_extend(s->call, s->tuning->finish.late_seconds);
    status = kc_state_freshen(s);
    kc_call_expire(s->call);
    *is_fresh = status == KC_OK;
    return status == KC_ERR_TIME ? KC_OK : status;
}

/* "pairs", "blocks 3, greedy 412 rounds", ... */
static void describe_path(const kc_state *s, char *text, size_t n_bytes)
{
    static const char *const formats[] = {[KC_METHOD_BLOCKS] = "%sblocks %lld",
                                          [KC_METHOD_GREEDY] = "%sgreedy %lld rounds",
                                          [KC_METHOD_COORDINATES] = "%scoordinates %lld rounds"};
    size_t n = 0;

    text[0] = 0;
    if (s->n_stages == 1 && s->stages[0].method == KC_METHOD_PAIRS && !s->stages[0].is_shrunk) {
        memcpy(text, "pairs", sizeof "pairs"); /* a fit of few samples would feel a printf */
        return;
    }
    for (int32_t i = 0; i < s->n_stages && n < n_bytes; i++) {
        const kc_stage *stage = &s->stages[i];
        const char *comma = i > 0 ? ", " : "";

        if (stage->method == KC_METHOD_PAIRS)
            n += (size_t)snprintf(text + n, n_bytes - n, "%s%s", comma,
                                  stage->is_shrunk ? "shrinking pairs" : "pairs");
        else
            n += (size_t)snprintf(text + n, n_bytes - n, formats[stage->method], comma,
                                  (long long)stage->count);
    }
}

static void describe_solution(const kc_state *s, kc_solution *out)
{
    describe_path(s, out->path, sizeof out->path);
    memcpy(out->grad, s->grad, s->dual.n_points * sizeof *out->grad);
    out->stop = s->stop;
    out->n_iter = s->n_steps;
    out->n_sets = s->n_sets;
    out->n_rounds = s->n_rounds;
    out->n_row_visits = s->n_visits;
}

/* Whether coefficients that were `before` have moved by no more than the rounding of a gradient
 * that is computed from them, plainly and in what they do where samples differ in length; and
 * whether those that the gradient was computed from were no larger: their rounding stays in it. */
static bool is_gradient_kept(const kc_state *s, const double *before)
{
    double moved = 0, size = 0, moved_length = 0, length = 0;

    for (size_t p = 0; p < s->dual.n_points; p++) {
        const double b = kc_dual_coefficient(&s->dual, s->beta, p);
        const double apart = fabs(b - before[p]), x = kc_state_length_at(s, p);

        moved += apart;
        size += fabs(b);
        moved_length += apart * x;
        length += fabs(b) * x;
    }
    const double share = s->tuning->finish.drift_ulps * DBL_EPSILON;
    return moved <= share * size && moved_length <= share * length &&
           s->fresh_length <= s->tuning->finish.fresh_length_factor * length;
}

/* Puts variables where they belong; whether the gradient is still theirs. */
static bool settle(kc_state *s)
{
    const double rounding = DBL_EPSILON * s->fresh_size * s->largest_diag;
    double *before = s->next_grad;

    for (size_t p = 0; p < s->dual.n_points; p++)
        before[p] = kc_dual_coefficient(&s->dual, s->beta, p);
    kc_dual_settle(&s->dual, s->tol, s->largest_diag, s->beta);
    return rounding <= s->tuning->finish.drift_tol_share * s->tol && is_gradient_kept(s, before);
}

/* Makes the sums and the numbers exact.  *is_done: unless rounding of the sums was all that made a
 * solution of it. */
static kc_status finish_solution(kc_state *s, const kc_dual *dual, kc_solution *out, bool *is_done)
{
    const bool is_kept = settle(s);
    const bool is_converged = s->stop == KC_STOP_CONVERGED;
    bool is_fresh = is_converged && is_kept;

    if (!is_fresh && s->stop != KC_STOP_UNBOUNDED)
        KC_TRY(refresh_gradient(s, &is_fresh));
    describe_solution(s, out);
    kc_dual_certify(dual, out);
    out->is_certified = is_fresh || s->stop == KC_STOP_UNBOUNDED;
    *is_done = !(is_converged && is_fresh && !kc_dual_is_solved(dual, out));
    if (!out->is_certified) {
        leave_uncertified(out);
        out->stop = is_converged ? KC_STOP_TIME : s->stop;
    }
    return KC_OK;
}

/* ---- The driver ---------------------------------------------------------------------------- */

/* From a start whose gradient is known, until there is an end; KC_ERR_TIME where no step was made.
 */
static kc_status improve(kc_state *s, const kc_dual *dual, kc_solution *out)
{
    bool is_done = false;

    for (int32_t turn = 0; turn < s->tuning->finish.turns_max && !is_done; turn++) {
        const kc_status status = run_methods(s);

        if (!kc_stop_of(status, &s->stop))
            KC_TRY(status);
        if (s->stop == KC_STOP_CALLER) {
            describe_solution(s, out);
            return KC_OK;
        }
        if (s->stop == KC_STOP_TIME && s->n_steps == 0)
            return KC_ERR_TIME;
        KC_TRY(finish_solution(s, dual, out, &is_done));
    }
    if (!is_done)
        out->stop = KC_STOP_STALLED;
    return KC_OK;
}

static kc_status solve_dual(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    const kc_tuning *tuning = dual->tuning != NULL ? dual->tuning : &kc_tuning_default;
    kc_state state;
    kc_status status = kc_state_open(call, store, dual, tuning, out->beta, &state);

    if (status == KC_OK)
        status = start_gradient(&state, dual);
    if (status == KC_OK)
        status = improve(&state, dual, out);
    kc_state_close(&state);
    kc_arena_release(call->arena, point);
    return status;
}

kc_status kc_dual_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    kc_status status = KC_ERR_TIME;

    assert(dual->n_points == kc_cols_count(&dual->cols) && dual->n_points > 0);
    assert(!dual->is_box_only || dual->n_layers == 1); /* one variable at a position */
    KC_TRY(take_start(call, dual, out));
    if (store != NULL)
        status = solve_dual(call, store, dual, out);
    kc_call_reserve(call, 0);
    if (status != KC_ERR_TIME)
        return status;
    stay_at_start(dual, out);
    return KC_OK;
}
