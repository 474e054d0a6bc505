/* The values of the thresholds.  See kc_tuning.h.
 *
 * Each has its unit, its meaning and, in brackets, what it rests on: a measurement that compared
 * values of this threshold ("compared"), one of the change that brought it ("with"), or a reason.
 * Times are before -> after on two threads, of samples x features, by bench/python/bench_svm.py;
 * the machines are [Z3] EPYC Zen 3 with AVX2, [Z4] EPYC Zen 4 with AVX2, [XE] Xeon Emerald Rapids
 * and [Z5] EPYC Zen 5, both with AVX-512.  Counts do not depend on the machine. */
#include "solver/kc_tuning.h"

const kc_tuning kc_tuning_default = {
    .choose =
        {
            /* samples.  Pair steps over all points cost less than blocks up to so many, plus so
             * many for each multiply-add of a value, but no more than the last: their matrix is
             * computed by halves, and each value once.  [reason] */
            .pairs_points = 500,
            .pairs_points_per_work = 40,
            .pairs_points_max = 3000,
            /* samples.  The limit where the matrix is given, and for one pair of classes, whose
             * values serve other pairs too.  [reason] */
            .pairs_points_given = 2000,
            .pairs_points_part = 1000,
            /* Problems of so many samples that take more pair steps per sample than this go on by
             * blocks: a part of the points is what keeps the others busy.  [reason] */
            .trial_points_min = 400,
            .trial_steps_per_point = 3,
            /* share of all samples that are support vectors or violate.  From here on most rows
             * will be asked for, and half of the matrix takes fewer values.  [with greedy steps,
             * Z5: 10000 x 400 C=1 288 -> 157 ms] */
            .dense_share = 0.85,
            /* share of the last set that became support vectors.  Below, violators need not become
             * any.  [reason] */
            .dense_set_share = 0.8,
            /* blocks after which density is judged, at the most.  [compared, Z3, one set -> two:
             * reuters has 77 % support vectors in the first set, 24 % at the end; 10000 x 400 C=1
             * 1494 -> 909 ms] */
            .dense_blocks_max = 2,
            /* share of the support vectors.  After the first blocks few points count, and only so
             * many free ones tell that no block will have room for them.  [compared, Z5, 0.5 ->
             * 0.95: kin8nm C=10 114 -> 74 ms, abalone 39 -> 31] */
            .all_free_share = 0.95,
            /* multiply-adds of a value.  Dense problems go on greedily from the first on; down to
             * the second where blocks took few steps for each member, since greedy steps read rows
             * with every step, blocks only at their end.  [the first compared, Z3, for the whole
             * matrix; with greedy steps, Z5: 10000 x 400 C=1 288 -> 157 ms, 5000 x 200 C=1 46 ->
             * 32] */
            .greedy_work = 100,
            .greedy_work_min = 40,
            .greedy_steps_per_member = 0.6,
            /* bytes of the matrix that cheap values are worth: blocks would need none.  [Z5: 20000
             * x 40 saves 45 ms of 245, but fresh memory costs a second the first time] */
            .greedy_cheap_bytes = (size_t)4 << 30,
            /* samples from which crowded problems may go on greedily: pair steps run on one thread,
             * and rows are far away.  [with overlapping rounds, Z5] */
            .greedy_far_points = 4096,
            /* samples.  Crowded problems beyond it always do: a float32 matrix of so many takes 4
             * GiB, and without one rows are best visited in batches.  [compared, Z5: 40000 x 40
             * C=10 with a cache of 2000 MB 12.7 -> 6.0 s] */
            .crowd_pairs_points_max = 32768,
            /* ... those below it where so large a share of all samples are support vectors or
             * violate, or where no more than this share of the support vectors are free: pair steps
             * leave out settled points.  [reason] */
            .greedy_crowd_share = 0.75,
            .greedy_free_share = 0.5,
            /* samples.  From so many on, a sample of so many is looked at before the first block is
             * applied.  [reason] */
            .foreseen_points = 4096,
            .sample_points = 256,
        },
    .pairs =
        {
            /* entries of rows between two polls: one or two milliseconds.  [reason] */
            .poll_entries = (size_t)1 << 21,
            /* steps between two polls under a time limit: so many steps may bring as many support
             * vectors, whose rows the last gradient takes.  [reason] */
            .reserve_steps = 64,
            /* shares of the step to the minimum of the line.  A step goes beyond it by so much at
             * the most, and by the second for K_ij / mean(K_ii, K_jj).  [with late blocks, in
             * steps: eeg_eye 19716 -> 15620, cpusmall SVR 58182 -> 51366, 8000 x 20 C=10 56653 ->
             * 36520] */
            .over_max = 0.5,
            .over_per_share = 3.0,
            /* tols.  Violations below are answered by exact steps, which end nearer the solution;
             * as are all of problems with fewer samples than this.  [reason] */
            .exact_tols = 2.0,
            .exact_points = 500,
            /* The gradient is held in float32 where tol is so many units in the last place of its
             * largest entry, since every step may be off by half of one, and that entry is no
             * larger than this, so that squares fit.  [with float steps, Z3, one thread: letter 132
             * -> 113 ms, cpusmall 143 -> 107, eeg_eye 161 -> 149] */
            .float_ulps = 64.0,
            .float_largest = 1e6,
            /* samples from which that saves more than the gradient costs which has to be computed
             * afterwards.  [reason] */
            .float_points = 200,
            /* steps between two looks at what they gain: per sample, and at least.  [reason] */
            .look_steps_per_point = 10,
            .look_steps_min = 10000,
            /* steps per sample after which the gradient is computed anew before a solution is
             * accepted: a hundredth of their cost.  [reason] */
            .fresh_steps_per_point = 20,
        },
    .shrink =
        {
            /* share of the violation.  A point is shrinkable where its values are outside of the
             * interval of all violations by more: both of its ends still move.  [reason] */
            .slack_share = 0.5,
            /* share of the points.  The active ones become a problem of their own where they are no
             * more.  [XE: at 0.75, computing their matrix took longer than it saved] */
            .active_share = 0.5,
            /* samples.  [reason: smaller problems are solved by then] */
            .points_min = 64,
            /* rounds, after which all points take part to the end: those left out keep coming back.
             * [reason] */
            .rounds_max = 6,
        },
    .block =
        {
            /* members of a set: so many per free variable, and some.  Below the number of free
             * variables every block undoes the work of the last.  [reason] */
            .members_per_free = 2.0,
            .members_extra = 128,
            /* ... but no fewer than the first, or a share of all samples where that is less.
             * [compared, Z3, 12 against 6, ratios of time: mushrooms 0.75, skin 0.89, reuters 0.90,
             * ijcnn1 1.11, kin8nm 1.06] */
            .members_min = 1024,
            .members_min_divisor = 12,
            /* ... nor more than this, where free variables leave room and steps do not stall.
             * [reason] */
            .members_max = 2048,
            .members_max_large = 3072,
            .large_points = 50000,
            /* members whose matrix takes 64 MiB: of float32 and of float64.  [with room beyond
             * 2048, Z4: eeg_eye 1276 sets -> 10; memory: d65e8d9] */
            .members_limit = 4096,
            .members_limit_f64 = 2896,
            /* share of a set that free variables may take.  [reason] */
            .free_share = 0.75,
            /* free share of the support vectors up to which violators are drawn at random: where
             * most are free, the most violating ones are what is left to do.  [reason] */
            .random_free_share = 0.3,
            /* sets in a row without room for the free variables, where those are more than this
             * share of the support vectors, end the blocks.  [compared, Z4, 5 sets -> 2: 10000 x
             * 400 C=1 3.80 -> 1.44 s, 3000 x 40 C=10 0.22 -> 0.18] */
            .crowded_sets = 2,
            .crowded_share = 0.5,
            /* violators per free variable, below which no set can be expected to have room again:
             * those free now will stay so.  [reason] */
            .crowded_late_share = 0.1,
            /* sets after which the final number of free variables is extrapolated.  [with float
             * steps, XE: 3000 x 40 C=10 98 -> 35 ms, 5000 x 40 290 -> 105] */
            .foresight_sets = 3,
            /* sets in a row whose violation is not below this share of the least one double the
             * largest set.  [reason] */
            .stalled_sets = 25,
            .stalled_share = 0.95,
            /* Sets of so many members, or that took so many steps for each, have a float32 matrix
             * of float64 rows.  [with it, Z5: eeg_eye 109 -> 60 ms, cpusmall SVR 58 -> 45; with 100
             * times the C 2390 -> 1040] */
            .rounded_members = 1024,
            .rounded_steps_per_member = 4,
            /* relative error of a value that many moves add up: rounding to float32 is off by half
             * of twice this, and goes either way.  [the format] */
            .rounding_share = 0x1p-24,
            /* shares of the violation that a block is solved to; the second where the last block
             * left less than so many times its own tolerance, for then it is the blocks that leave
             * violations.  [the second in row visits: eeg_eye 15199 -> 12275, ijcnn1 5372 -> 3742]
             */
            .inner_share = 0.1,
            .inner_share_late = 0.01,
            .late_tols = 4.0,
            /* ... and no further than this share of tol, nor with more steps for each member.
             * [reason] */
            .inner_tol_share = 0.9,
            .inner_steps_per_member = 100,
            /* members whose matrix is laid out at once; a larger one has room for a share more.
             * [memory: d65e8d9] */
            .matrix_first_members = 1024,
            .matrix_spare_divisor = 4,
            /* bytes of a matrix and of the one before it, while it grows.  [memory, Z3: 8000 x 200
             * C=10 peak 167 -> 93 MiB] */
            .matrix_bytes_at_once = (size_t)64 << 20,
            /* multiply-adds.  Putting a new value into its two places, and mirroring one: where
             * many members are new, half of all values computed anew take less.  [with that rule,
             * XE: covtype 113 -> 100 ms, a9a 54 -> 48, reuters 43 -> 39] */
            .matrix_spread_work = 24,
            .matrix_mirror_work = 8,
            /* new members whose values are computed at a time, and bytes of float64 values that are
             * computed at once to be rounded.  [memory] */
            .matrix_new_members = 256,
            .matrix_wide_bytes = (size_t)36 << 20,
            /* values that one thread rounds before others are awake.  [reason] */
            .matrix_shared_rounding = (size_t)1 << 18,
        },
    .newton =
        {
            /* variables that are solved for.  [reason] */
            .free_min = 8,
            .free_max = 1024,
            /* pair steps of n entries.  A step for m variables costs m^2 (m first + second) / n of
             * them.  [Z5] */
            .factor_cost = 0.03,
            .value_cost = 2.0,
            /* A step is tried when pair steps have cost so many times as much, and are at least so
             * many, in all and per free variable.  [with Newton steps, Z5: 3000 x 4 C=1000 48 -> 24
             * ms, svmguide1 C=10000 31 -> 15, abalone SVR C=1000 341 -> 233; small C unchanged] */
            .patience = 10.0,
            .steps_per_free_min = 4.0,
            .steps_min = 256.0,
            /* shares of the mean diagonal that are added to it: what rounding may have taken.
             * [reason] */
            .ridge_f32 = 2e-6,
            .ridge_f64 = 1e-11,
            /* share of the variables that are stopped at their bounds, above which pair steps have
             * yet to find which are free; and rounds in which fewer are stopped.  [reason] */
            .stopped_share = 0.1,
            .rounds_max = 8,
        },
    .greedy =
        {
            /* entries of rows between two polls, less than a millisecond, at about so many rows a
             * round.  [10000 x 40 C=10: six rows a round] */
            .poll_entries = (size_t)1 << 22,
            .rows_per_round = 8,
            /* visits of rows per sample after which the gradient is computed anew before a solution
             * is accepted: a fraction of their cost.  [reason] */
            .fresh_visits_per_point = 40,
            /* share of the violation that the worst few are solved to: beyond it, they would undo
             * what others are going to do.  Likewise of tol; and their steps.  [reason] */
            .inner_share = 0.7,
            .inner_tol_share = 0.9,
            .inner_steps_per_member = 100,
            /* share of repeated moves that turn back, at which the fewest rows are visited; looked
             * at so often per sample, since what a factor does shows when most have moved again.
             * The factor of the step, and its change for the distance from that share.  [with
             * overlapping rounds, Z5: 10000 x 40 C=10 132 -> 82 ms, C=1 45 -> 38] */
            .turns_share = 0.42,
            .looks_per_point = 4,
            .over_first = 1.2,
            .over_min = 1.0,
            .over_max = 1.5,
            .over_gain = 0.3,
            /* samples of a thread's part of a pass, at the least: half a row of 40 kB takes 1.2 us,
             * a round between two CPUs 0.4.  [Z5] */
            .part_points = 2048,
            /* samples that others go over while the caller chooses the next round, but no more than
             * 2 / divisor of all.  [compared, Z5, 3300 -> 4000: 10000 x 20 C=10 111 -> 108 ms] */
            .think_points = 4000,
            .think_divisor = 5,
        },
    .coordinate =
        {
            /* variables of a round at the most: their matrix stays in the caches.  [reason] */
            .members_max = 1024,
            /* share of them that are the worst violators; the rest is for free variables.
             * [reason] */
            .worst_share = 0.5,
            /* share of the violation that they are solved to: beyond it, others would undo it.
             * Likewise of tol.  [reason] */
            .inner_share = 0.1,
            .inner_tol_share = 0.5,
            .inner_steps_per_member = 100,
            /* entries of rows between two polls, some milliseconds.  [reason] */
            .poll_entries = (size_t)1 << 21,
            /* as for greedy rounds.  [reason] */
            .fresh_visits_per_point = 40,
        },
    .finish =
        {
            /* looks in a row without gain that end a fit as stalled.  [reason] */
            .gainless_looks_max = 3,
            /* A violation of so many roundings of the gradient is noise; an objective that falls by
             * less than the second share is no gain; a violation that is above the third share of
             * the least one is no progress.  [reason] */
            .noise_ulps = 4.0,
            .gain_share = 1e-15,
            .progress_share = 0.99,
            /* factor by which variables are stretched along their ray, at the least.  [reason] */
            .ray_factor_min = 1.01,
            /* share of the largest |x|.  Hulls of two classes that are nearer meet.  [reason] */
            .hulls_meet_share = 1e-7,
            /* share of half the range of targets that a function of norm 1 / |x| covers.  Tubes
             * that need less have no function: |w| can be told no better from its rounding.
             * [reason] */
            .tube_empty_share = 1e-5,
            /* units in the last place of all coefficients together that they may move before the
             * gradient is computed anew, which is off by so much itself; after that there may be
             * more to do, but only so often.  N steps lead away from sums by some sqrt(N) roundings
             * of one coefficient: n support vectors come to it in n^2 steps, beside which their
             * rows cost nothing.  [reason] */
            .drift_ulps = 1.0,
            /* ... or where its own terms were so large, when it was computed last, that they may
             * have rounded away more than this share of tol.  [reason] */
            .drift_tol_share = 1e-3,
            /* ... or so many times as large as they are now: what float32 rounds away of a start is
             * then more than what it rounds away of the solution.  [reason] */
            .fresh_length_factor = 2.0,
            .turns_max = 4,
            /* What times are foretold from may have been better off; and what the last gradient may
             * take beyond a time limit, in seconds.  [blocks were up to two seconds late] */
            .reserve_factor = 1.25,
            .late_seconds = 0.02,
            /* steps that a problem may take unless told otherwise, per sample and at least: the
             * rule of LIBSVM.  [reason] */
            .max_iter_per_point = 100,
            .max_iter_min = 10000000,
        },
    .scale =
        {
            /* share of the violation that is left before the scale is read again.  [reason] */
            .goal_share = 0.1,
            /* roundings of a kernel value that |w|^2 may be off by, per sum of squares of the
             * coefficients.  [reason] */
            .noise_ulps = 4.0,
            /* steps without knowing of a margin: so many times those to the same tolerance without
             * the scale, so many per sample, and at least so many.  [400 random problems: those
             * with a scale above 1e-4 knew after 15 per sample; 38 ended so, of which two would
             * have converged in 30 times the steps] */
            .steps_per_plain = 10,
            .steps_per_point = 20,
            .steps_min = 20000,
        },
};
