/* Block steps.  See kc_block.h.
 *
 * The solution is whole between two outer steps: one that is cancelled half-way leaves what was
 * before it.  Of one that runs out of time the variables are taken, so that what its block found is
 * not lost, and the gradient is left as it was: kc_dual_solve computes another. */
#include "solver/kc_block.h"

#include <math.h>
#include <string.h>

#include "solver/kc_block_impl.h"
#include "solver/kc_foresight.h"
#include "solver/kc_scale.h"

/* ---- Life ---------------------------------------------------------------------------------- */

static size_t find_max_size(const kc_block_tuning *tuning, size_t n)
{
    return kc_min(n >= tuning->large_points ? tuning->members_max_large : tuning->members_max, n);
}

bool kc_block_is_too_full(const kc_blocks *s)
{
    return kc_workset_size_for(&s->state->tuning->block, s->set.n_free) > s->size_limit;
}

static kc_status take_block_arrays(kc_blocks *s)
{
    kc_call *call = s->state->call;
    const size_t n_layers = (size_t)s->state->dual.n_layers;
    const size_t limit = kc_min(s->state->tuning->block.members_limit, s->state->dual.n_points);
    const size_t most = kc_round_up(limit, KC_SMO_PAD);

    s->inner = kc_call_take(call, most * (3 + 5 * n_layers), sizeof *s->inner);
    s->old_coefficient = kc_call_take(call, most, sizeof *s->old_coefficient);
    s->moved_points = kc_call_take(call, most, sizeof *s->moved_points);
    s->moved_delta = kc_call_take(call, most, sizeof *s->moved_delta);
    s->moved_keep = kc_call_take(call, most, sizeof *s->moved_keep);
    if (!s->inner || !s->old_coefficient || !s->moved_points || !s->moved_delta || !s->moved_keep)
        return kc_fail_nomem(call->err);
    return KC_OK;
}

static kc_status start_blocks(kc_blocks *s)
{
    kc_state *state = s->state;
    const kc_dual *dual = &state->dual;
    const size_t n = dual->n_points;
    const size_t limit = kc_min(state->tuning->block.members_limit, n);

    s->size_limit = kc_min(kc_block_size_limit(state->tuning, kc_store_dtype(state->store)), n);
    KC_TRY(take_block_arrays(s));
    KC_TRY(kc_workset_create(state->call, &state->tuning->block, n, dual->n_layers, dual->seed,
                             &s->set));
    KC_TRY(kc_subgram_create(state->call, state->store, &state->tuning->block, &dual->cols, limit,
                             &s->sub));
    kc_subgram_retype(state->call->ctx, state->store, &s->sub, s->sub.dtype, s->size_limit);
    kc_state_refresh(state);
    s->front =
        (kc_front){.n = n, .n_layers = dual->n_layers, .n_sv = kc_state_count_support(state)};
    for (int32_t g = 0; g < dual->n_layers; g++) {
        s->front.up[g] = state->up[g];
        s->front.low[g] = state->low[g];
    }
    s->max_size = find_max_size(&state->tuning->block, n);
    s->stall = kc_stall_start();
    s->min_violation = HUGE_VAL;
    s->first_step = state->n_steps;
    s->pairs.n_steps = state->n_steps;
    s->pairs.objective = kc_dual_objective(dual, state->beta, state->grad);
    return KC_OK;
}

/* ---- One outer step, part by part ---------------------------------------------------------- */

/* The peaks of the groups; returns the largest violation. */
static double find_peaks(kc_blocks *s)
{
    const kc_state *state = s->state;
    double violation = -HUGE_VAL;

    s->front.grad = state->grad;
    for (int32_t g = 0; g < state->dual.n_layers; g++) {
        kc_peak *peak = &s->front.peak[g];
        *peak = kc_smo_ops_chosen()->f64.scan(state->grad, state->up[g], state->low[g],
                                              kc_round_up(state->dual.n_points, KC_SMO_PAD));
        double here = peak->max_up - peak->min_low;
        violation = here > violation || isnan(here) ? here : violation;
    }
    return violation;
}

/* Larger sets where violations do not fall any more. */
static void adapt_size(kc_blocks *s, double violation)
{
    const kc_block_tuning *tuning = &s->state->tuning->block;

    if (violation < tuning->stalled_share * s->min_violation) {
        s->min_violation = violation;
        s->n_stalled = 0;
    } else if (++s->n_stalled >= tuning->stalled_sets) {
        s->max_size = kc_min(2 * s->max_size, s->size_limit);
        s->min_violation = violation;
        s->n_stalled = 0;
    }
}

static size_t choose_size(const kc_blocks *s)
{
    const kc_block_tuning *tuning = &s->state->tuning->block;
    const size_t least =
        kc_min(tuning->members_min, s->state->dual.n_points / tuning->members_min_divisor);
    const size_t size =
        (size_t)(tuning->members_per_free * (double)s->set.n_free) + tuning->members_extra;
    const size_t most =
        kc_max(s->max_size, kc_min(kc_workset_size_for(tuning, s->set.n_free), s->size_limit));

    return kc_min(kc_round_up(kc_min(kc_max(size, least), most), 16), most);
}

/* A set of all points undoes no work, and has most of the advantages of smaller ones. */
static bool has_room_for_all(const kc_blocks *s)
{
    return s->state->dual.n_points <=
           (s->has_rounding_failed ? s->size_limit : s->state->tuning->block.members_limit);
}

static bool is_crowded(const kc_blocks *s)
{
    const kc_block_tuning *tuning = &s->state->tuning->block;
    const double n_free = (double)s->set.n_free;

    if (has_room_for_all(s))
        return false;
    if (s->set.n_free > s->size_limit &&
        (double)s->set.n_violators < tuning->crowded_late_share * n_free)
        return true;
    return kc_block_is_too_full(s) && n_free > tuning->crowded_share * (double)s->front.n_sv;
}

/* Every violator less has made so many support vectors more; the free ones keep their share. */
static bool will_free_outgrow_sets(const kc_blocks *s)
{
    const kc_tuning *tuning = s->state->tuning;
    const double n_sv = (double)s->front.n_sv;
    const double n_violators = (double)s->set.n_violators;
    const double n_fewer = (double)s->old_n_violators - n_violators;
    const double n_more = n_sv - (double)s->old_n_sv;
    const double yield = n_fewer <= n_more ? 1 : n_more > 0 ? n_more / n_fewer : 0;
    const double free_share = (double)s->set.n_free / fmax(n_sv, 1);

    return s->n_sets == tuning->block.foresight_sets && !has_room_for_all(s) &&
           free_share > tuning->block.crowded_share &&
           kc_is_crowded(tuning, (size_t)(free_share * (n_sv + yield * n_violators)),
                         s->state->dual.n_points);
}

static bool is_for_another(const kc_state *s, const kc_stats *stats)
{
    return kc_choose(s, stats).method != KC_METHOD_BLOCKS;
}

/* After some blocks. */
static void note_stats(kc_blocks *s)
{
    s->stats = (kc_stats){.method = KC_METHOD_BLOCKS,
                          .n_sets = s->n_sets,
                          .n_steps = s->pairs.n_steps - s->first_step,
                          .n_slots = s->sub.n_slots,
                          .n_support = s->front.n_sv,
                          .n_free = s->set.n_free,
                          .n_violators = s->set.n_violators,
                          .is_crowded = s->n_crowded >= s->state->tuning->block.crowded_sets};
    s->is_given_up = s->is_trial && is_for_another(s->state, &s->stats);
}

/* The same of what the first block would end in, if it were applied. */
static kc_status foresee(kc_blocks *s)
{
    const kc_block_view view = {.pairs = &s->pairs,
                                .position_of = s->sub.position_of,
                                .old_coefficient = s->old_coefficient,
                                .is_member = s->set.is_member};
    bool is_known = false;
    kc_stats then;

    if (!s->is_trial || s->n_sets > 0 || s->front.n_sv > 0)
        return KC_OK;
    kc_status status =
        kc_foresee(s->state, &view, s->pairs.n_steps - s->first_step, &then, &is_known);
    if (status == KC_ERR_TIME) /* the block is still to be kept */
        return KC_OK;
    KC_TRY(status);
    s->is_given_up = is_known && is_for_another(s->state, &then);
    if (s->is_given_up)
        s->stats = then;
    return KC_OK;
}

/* The next working set; returns how many members its matrix should have room for. */
static size_t choose_set(kc_blocks *s, double violation)
{
    kc_workset_look(&s->set, &s->front);
    adapt_size(s, violation);
    const size_t size = choose_size(s);
    kc_workset_choose(&s->set, &s->front, size, s->n_sets == 0);
    s->n_crowded = is_crowded(s) ? s->n_crowded + 1 : 0;
    if (will_free_outgrow_sets(s))
        s->n_crowded = s->state->tuning->block.crowded_sets;
    s->old_n_sv = s->front.n_sv;
    s->old_n_violators = s->set.n_violators;
    return kc_max(size, s->set.n_members);
}

static kc_status run_outer_step(kc_blocks *s, double violation, size_t size, int64_t last_step,
                                bool *has_moved)
{
    const int64_t n_steps = s->pairs.n_steps;
    const double objective = s->pairs.objective;
    bool is_taken = false;

    KC_TRY(kc_block_load(s, violation, size));
    KC_TRY(kc_block_run(s, last_step, has_moved));
    KC_TRY(foresee(s));
    if (*has_moved && !s->is_given_up)
        KC_TRY(kc_block_take(s, objective, &is_taken));
    if (!is_taken) { /* as if it had not been */
        s->pairs.n_steps = n_steps;
        s->pairs.objective = objective;
    }
    *has_moved |=
        !s->is_given_up && kc_block_use_exact_values(s, *has_moved); /* more may be found */
    return KC_OK;
}

/* ---- The driver ---------------------------------------------------------------------------- */

static bool are_blocks_over(kc_blocks *s, double violation, int64_t last_step)
{
    kc_state *state = s->state;

    state->n_steps = s->pairs.n_steps;
    kc_state_tell(state, s->pairs.objective, violation);
    if (kc_scale_is_solved(state, violation))
        state->stop = KC_STOP_CONVERGED;
    else if (!isfinite(violation))
        state->stop = KC_STOP_STALLED;
    else if (s->pairs.n_steps >= last_step)
        state->stop = KC_STOP_MAX_ITER;
    else
        return kc_stop_of(kc_call_poll(state->call), &state->stop) ||
               kc_stall_look(&s->stall, state, violation);
    return true;
}

static kc_status run_blocks(kc_blocks *s)
{
    const int64_t last_step = kc_dual_max_iter(&s->state->dual);

    for (;;) {
        const double violation = find_peaks(s);
        bool has_moved = false;
        if (are_blocks_over(s, violation, last_step))
            return KC_OK;
        const size_t size = choose_set(s, violation);
        note_stats(s);
        if (s->is_given_up)
            return KC_OK;
        kc_status status = run_outer_step(s, violation, size, last_step, &has_moved);
        if (kc_stop_of(status, &s->state->stop))
            return KC_OK;
        KC_TRY(status);
        if (s->is_given_up)
            return KC_OK;
        if (!has_moved) {
            s->state->stop = KC_STOP_STALLED;
            return KC_OK;
        }
        kc_state_scale_along_ray(s->state);
    }
}

kc_status kc_blocks_run(kc_state *state, bool is_trial, kc_stats *stats, bool *is_given_up)
{
    const kc_arena_point point = kc_arena_mark(state->call->arena);
    kc_blocks s = {.state = state, .is_trial = is_trial};
    kc_status status = start_blocks(&s);

    if (status == KC_OK)
        status = run_blocks(&s);
    state->n_steps = s.pairs.n_steps;
    *stats = s.stats;
    *is_given_up = s.is_given_up;
    kc_subgram_free(state->call->ctx, state->store, &s.sub);
    kc_arena_release(state->call->arena, point);
    return status;
}
