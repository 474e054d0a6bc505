/* The choice of a method.  See kc_choose.h; what it rests on is in kc_tuning.c. */
#include "solver/kc_choose.h"

#include "solver/kc_shrink.h"
#include "solver/kc_workset.h"

/* ---- To begin ------------------------------------------------------------------------------ */

bool kc_dual_suits_matrix(size_t n_points)
{
    return n_points <= kc_tuning_default.choose.pairs_points_part;
}

/* Whether pair steps over all points cost less than blocks. */
static bool suits_pairs(const kc_state *s)
{
    const kc_choose_tuning *tuning = &s->tuning->choose;
    const size_t n = s->dual.n_points;
    const size_t most =
        tuning->pairs_points + tuning->pairs_points_per_work * kc_store_work(s->store);

    if (kc_store_is_given(s->store))
        return n <= tuning->pairs_points_given;
    if (n < kc_store_points(s->store))
        return n <= tuning->pairs_points_part;
    return n <= kc_min(most, tuning->pairs_points_max);
}

/* Whether it may turn out that they do not. */
static bool is_on_trial(const kc_state *s)
{
    const size_t n = s->dual.n_points;

    return n >= s->tuning->choose.trial_points_min &&
           s->tuning->choose.trial_steps_per_point * (int64_t)n < kc_dual_max_iter(&s->dual);
}

static kc_choice begin(const kc_state *s)
{
    if (suits_pairs(s))
        return (kc_choice){.method = KC_METHOD_PAIRS, .is_trial = is_on_trial(s)};
    return (kc_choice){.method = KC_METHOD_BLOCKS, .is_trial = true};
}

/* ---- After some blocks --------------------------------------------------------------------- */

bool kc_is_crowded(const kc_tuning *tuning, size_t n_free, size_t n_points)
{
    return kc_workset_size_for(&tuning->block, n_free) >
           kc_min(tuning->block.members_limit, n_points);
}

/* How many points are support vectors, or would be. */
static double share_of_points(const kc_state *s, const kc_stats *c)
{
    return (double)(c->n_support + c->n_violators) / (double)s->dual.n_points;
}

static bool has_filled_the_set(const kc_state *s, const kc_stats *c)
{
    return (double)c->n_support >= s->tuning->choose.dense_set_share * (double)c->n_slots;
}

/* Nearly all points are support vectors, or will be. */
static bool is_dense(const kc_state *s, const kc_stats *c)
{
    return c->n_sets > 0 && c->n_sets <= s->tuning->choose.dense_blocks_max &&
           has_filled_the_set(s, c) && share_of_points(s, c) >= s->tuning->choose.dense_share;
}

/* All support vectors are free, and they will be too many. */
static bool will_be_crowded(const kc_state *s, const kc_stats *c)
{
    const size_t n = s->dual.n_points;

    return (double)c->n_free > s->tuning->choose.all_free_share * (double)c->n_support &&
           kc_is_crowded(s->tuning, n, n);
}

/* A caller who computes values is asked for no more of them than is needed; and sums through w need
 * no matrix. */
static bool can_be_greedy(const kc_state *s)
{
    return !kc_store_is_linear(s->store) && kc_store_can_part(s->store) &&
           s->dual.n_points == kc_store_points(s->store);
}

/* Whether a dense problem should go on greedily rather than by blocks, cheap as its values are. */
static bool suits_cheap(const kc_state *s, const kc_stats *c)
{
    const kc_choose_tuning *tuning = &s->tuning->choose;
    const double n_members = (double)(c->n_sets * (int64_t)c->n_slots);
    const size_t bytes = s->dual.n_points * kc_store_row_bytes(s->store);

    return can_be_greedy(s) && kc_store_work(s->store) >= tuning->greedy_work_min &&
           (double)c->n_steps <= tuning->greedy_steps_per_member * n_members &&
           bytes <= tuning->greedy_cheap_bytes;
}

/* Whether a crowded one should, rather than by pairs. */
static bool suits_crowd(const kc_state *s, const kc_stats *c)
{
    const kc_choose_tuning *tuning = &s->tuning->choose;
    const size_t n = s->dual.n_points;
    const bool is_full = share_of_points(s, c) >= tuning->greedy_crowd_share ||
                         (double)c->n_free <= tuning->greedy_free_share * (double)c->n_support;

    if (n > tuning->crowd_pairs_points_max && kc_store_can_part(s->store))
        return true;
    return is_full && n >= tuning->greedy_far_points && can_be_greedy(s);
}

static kc_choice go_on_after_blocks(const kc_state *s, const kc_stats *c)
{
    const kc_choice greedy = {.method = KC_METHOD_GREEDY};
    const kc_choice pairs = {.method = KC_METHOD_PAIRS, .may_shrink = true};
    const kc_choice blocks = {.method = KC_METHOD_BLOCKS, .is_trial = true};
    const bool is_full = is_dense(s, c);

    if (is_full && can_be_greedy(s) && kc_store_work(s->store) >= s->tuning->choose.greedy_work)
        return greedy;
    if (c->is_crowded || (is_full && will_be_crowded(s, c)))
        return suits_crowd(s, c) ? greedy : pairs;
    return is_full && suits_cheap(s, c) ? greedy : blocks;
}

bool kc_is_foreseen(const kc_state *s, const kc_stats *stats)
{
    return s->dual.n_points >= s->tuning->choose.foreseen_points && can_be_greedy(s) &&
           kc_store_work(s->store) >= s->tuning->choose.greedy_work_min &&
           has_filled_the_set(s, stats);
}

/* ---- The choice ---------------------------------------------------------------------------- */

kc_choice kc_choose(const kc_state *s, const kc_stats *stats)
{
    if (s->dual.is_box_only) /* all others make steps on pairs, which keep a sum */
        return (kc_choice){.method = KC_METHOD_COORDINATES};
    if (s->dual.method != KC_METHOD_AUTO)
        return (kc_choice){.method = s->dual.method, .may_shrink = true};
    if (stats->method == KC_METHOD_BLOCKS)
        return go_on_after_blocks(s, stats);
    if (stats->method == KC_METHOD_PAIRS) /* their trial has come to no end */
        return (kc_choice){.method = stats->is_crowded ? KC_METHOD_PAIRS : KC_METHOD_BLOCKS};
    return begin(s);
}
