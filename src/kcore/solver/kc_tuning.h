/* Every threshold of the dual solvers, by name.
 *
 * Units, meanings, and what each value rests on stand beside the values, in kc_tuning.c.  All of
 * them act on counts and on the problem, never on the clock or on what is cached: other values may
 * cost time or take another path to the solution, but never its exactness. */
#ifndef KC_TUNING_H
#define KC_TUNING_H

#include "base/kc_base.h"

/* Which method solves a problem: solver/kc_choose.c. */
typedef struct kc_choose_tuning {
    size_t pairs_points, pairs_points_per_work, pairs_points_max;
    size_t pairs_points_given, pairs_points_part;
    size_t trial_points_min;
    int64_t trial_steps_per_point;
    double dense_share, dense_set_share;
    int64_t dense_blocks_max;
    double all_free_share;
    size_t greedy_work, greedy_work_min;
    double greedy_steps_per_member;
    size_t greedy_cheap_bytes, greedy_far_points, crowd_pairs_points_max;
    double greedy_crowd_share, greedy_free_share;
    size_t foreseen_points, sample_points;
} kc_choose_tuning;

/* Pair steps, wherever they are made, and over all points. */
typedef struct kc_pairs_tuning {
    size_t poll_entries;
    int64_t reserve_steps;
    double over_max, over_per_share;
    double exact_tols;
    size_t exact_points;
    double float_ulps, float_largest;
    size_t float_points;
    int64_t look_steps_per_point, look_steps_min;
    int64_t fresh_steps_per_point;
} kc_pairs_tuning;

typedef struct kc_shrink_tuning {
    double slack_share, active_share;
    size_t points_min;
    int32_t rounds_max;
} kc_shrink_tuning;

/* Working sets: their size, how far they are solved, and their matrix. */
typedef struct kc_block_tuning {
    double members_per_free;
    size_t members_extra, members_min, members_min_divisor;
    size_t members_max, members_max_large, large_points;
    size_t members_limit, members_limit_f64;
    double free_share, random_free_share;
    int32_t crowded_sets;
    double crowded_share, crowded_late_share;
    int64_t foresight_sets;
    int32_t stalled_sets;
    double stalled_share;
    size_t rounded_members;
    int64_t rounded_steps_per_member;
    double rounding_share;
    double inner_share, inner_share_late, inner_tol_share, late_tols;
    int64_t inner_steps_per_member;
    size_t matrix_first_members, matrix_spare_divisor, matrix_bytes_at_once;
    size_t matrix_spread_work, matrix_mirror_work;
    size_t matrix_new_members, matrix_wide_bytes, matrix_shared_rounding;
} kc_block_tuning;

typedef struct kc_newton_tuning {
    size_t free_min, free_max;
    double factor_cost, value_cost;
    double patience, steps_per_free_min, steps_min;
    double ridge_f32, ridge_f64;
    double stopped_share;
    int rounds_max;
} kc_newton_tuning;

typedef struct kc_greedy_tuning {
    size_t poll_entries, rows_per_round;
    int64_t fresh_visits_per_point;
    double inner_share, inner_tol_share;
    int64_t inner_steps_per_member;
    double turns_share;
    int64_t looks_per_point;
    double over_first, over_min, over_max, over_gain;
    size_t part_points, think_points, think_divisor;
} kc_greedy_tuning;

/* Steps on one variable at a time, where no sum is fixed. */
typedef struct kc_coordinate_tuning {
    size_t members_max;
    double worst_share;
    double inner_share, inner_tol_share;
    int64_t inner_steps_per_member;
    size_t poll_entries;
    int64_t fresh_visits_per_point;
} kc_coordinate_tuning;

/* When steps are of no use any more, and how a solution is finished. */
typedef struct kc_finish_tuning {
    int32_t gainless_looks_max;
    double noise_ulps, gain_share, progress_share, ray_factor_min;
    double hulls_meet_share, tube_empty_share;
    double drift_ulps, drift_tol_share, fresh_length_factor;
    int32_t turns_max;
    double reserve_factor, late_seconds;
    int64_t max_iter_per_point, max_iter_min;
} kc_finish_tuning;

/* Problems whose solution is divided by a scale: solver/kc_scale.c. */
typedef struct kc_scale_tuning {
    double goal_share, noise_ulps;
    int64_t steps_per_plain, steps_per_point, steps_min;
} kc_scale_tuning;

typedef struct kc_tuning {
    kc_choose_tuning choose;
    kc_pairs_tuning pairs;
    kc_shrink_tuning shrink;
    kc_block_tuning block;
    kc_newton_tuning newton;
    kc_greedy_tuning greedy;
    kc_coordinate_tuning coordinate;
    kc_finish_tuning finish;
    kc_scale_tuning scale;
} kc_tuning;

/* What fits use. */
extern const kc_tuning kc_tuning_default;

#endif
