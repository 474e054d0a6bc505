/* Block steps, and greedy ones beside them: audited from the definition, compared with pair steps
 * over all points, and equal to the bit whatever the threads and the cache. */
#include "dual_case.h"
#include "kc_test.h"
#include "solver/kc_choose.h"

static kc_context *ctx;

/* ---- On given matrices --------------------------------------------------------------------- */

static void compare_with_pairs(kc_method method, ref_matrix matrix, kc_dtype dtype, size_t most,
                               int n_rounds)
{
    kc_rng rng = kc_rng_seed(200 + (uint64_t)matrix + 10 * (uint64_t)dtype);
    /* Duplicates that overlap have no unique solution and a slow way to any. */
    double tol = dtype == KC_F32 ? 1e-4 : matrix == REF_DUPLICATES ? 1e-5 : 1e-6;

    for (int round = 0; round < n_rounds; round++)
        for (int form = 0; form < REF_FORMS; form++) {
            size_t n = 2 + kc_rng_below(&rng, most - 1);
            double c = pow(10, 3 * kc_rng_uniform(&rng) - 1);
            ref_problem p = ref_random_problem(&rng, (ref_form)form, matrix, n, c, dtype == KC_F32);
            kc_dual dual = ref_dual(&p, tol);
            dual.seed = (uint64_t)round;
            dual.method = method;
            if (round % 2 == 1)
                dual.start = p.start;
            result block = solve_given(ctx, &p, dual, dtype);
            check_solution(&p, &block, tol);
            dual.method = KC_METHOD_PAIRS;
            result pairs = solve_given(ctx, &p, dual, dtype);
            CHECK_NEAR(block.solution.dual, pairs.solution.dual,
                       tol * (1e-2 + ref_check(&p, &pairs.solution).scale));
            drop(&block);
            drop(&pairs);
            ref_free(&p);
        }
}

static void blocks_and_pairs_find_the_same_optimum(void)
{
    for (kc_method method = KC_METHOD_BLOCKS; method <= KC_METHOD_GREEDY; method++) {
        compare_with_pairs(method, REF_RBF, KC_F64, 60, 20);
        compare_with_pairs(method, REF_RBF, KC_F64, 600, 4);
        compare_with_pairs(method, REF_RBF, KC_F32, 300, 5);
        compare_with_pairs(method, REF_LINEAR, KC_F64, 60, 10);
        compare_with_pairs(method, REF_DUPLICATES, KC_F64, 100, 5);
    }
}

/* ---- On computed rows ---------------------------------------------------------------------- */

static void bits_do_not_depend_on_threads_or_cache(void)
{
    sample classes = make_sample(1500, 20, false, 10);
    sample values = make_sample(1200, 3, true, 10);
    setting set = {.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .method = KC_METHOD_BLOCKS};

    check_equal_bits(ctx, &classes, set);
    set.is_split = true;
    check_equal_bits(ctx, &classes, set);
    set.is_linear = true;
    check_equal_bits(ctx, &classes, set);
    set = (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F64};
    set.method = KC_METHOD_BLOCKS;
    set.epsilon = 0.1;
    check_equal_bits(ctx, &values, set);
    set.method = KC_METHOD_GREEDY;
    check_equal_bits(ctx, &values, set);
    set.is_split = true;
    check_equal_bits(ctx, &values, set);
    set.is_split = false;
    /* Long enough to go on by blocks, with the whole matrix and without. */
    set.method = KC_METHOD_AUTO;
    set.epsilon = 0.01;
    set.is_linear = true;
    check_equal_bits(ctx, &values, set);
    free_sample(&classes);
    free_sample(&values);

    /* Rounded values and Newton steps: few features, large boxes. */
    sample hard = make_sample(1500, 4, false, 1000);
    set =
        (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F64, .method = KC_METHOD_BLOCKS};
    check_equal_bits(ctx, &hard, set);
    free_sample(&hard);
}

static void pair_steps_through_the_cache_give_the_bits_of_the_whole_matrix(void)
{
    sample classes = make_sample(300, 5, false, 10);
    setting base = {.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .method = KC_METHOD_PAIRS};

    check_equal_bits(ctx, &classes, base);
    base.is_split = true;
    base.dtype = KC_F64;
    check_equal_bits(ctx, &classes, base);
    free_sample(&classes);
}

static void blocks_agree_with_pairs_on_computed_rows(void)
{
    sample classes = make_sample(1500, 20, false, 100);
    setting set = {.n_threads = 2, .n_cached_rows = 1000, .dtype = KC_F64};
    kc_store_counters count = {0};

    set.method = KC_METHOD_BLOCKS;
    result block = solve_computed(ctx, &classes, &set, &count);
    CHECK(block.solution.stop == KC_STOP_CONVERGED);
    CHECK(block.solution.violation < 1e-3);
    CHECK(block.solution.n_sets > 1);
    CHECK(count.rows_computed + count.rows_hit == block.solution.n_row_visits);
    CHECK(count.rows_hit > 0);
    set.method = KC_METHOD_PAIRS;
    result pairs = solve_computed(ctx, &classes, &set, &count);
    CHECK_NEAR(block.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
    CHECK_NEAR(block.solution.intercept[0], pairs.solution.intercept[0], 2e-3);
    drop(&block);
    drop(&pairs);
    free_sample(&classes);
}

/* So many features keep all points apart that most variables are free; within the tube, some are
 * not needed, which takes more blocks to tell. */
static void check_crowded(size_t n, size_t d, double epsilon, int64_t n_blocks)
{
    sample values = make_sample(n, d, true, 10);
    setting set = {.n_threads = 2, .n_cached_rows = n, .dtype = KC_F64, .epsilon = epsilon};
    kc_store_counters count = {0};
    result mixed = solve_computed(ctx, &values, &set, &count);

    CHECK(mixed.solution.stop == KC_STOP_CONVERGED && mixed.solution.violation < 1e-3);
    CHECK(mixed.solution.n_sets == n_blocks);
    set.method = KC_METHOD_PAIRS;
    result pairs = solve_computed(ctx, &values, &set, &count);
    CHECK_NEAR(mixed.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
    set = (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .epsilon = epsilon};
    check_equal_bits(ctx, &values, set);
    drop(&mixed);
    drop(&pairs);
    free_sample(&values);
}

static void blocks_that_are_crowded_go_on_by_pairs(void)
{
    const kc_tuning *tuning = &kc_tuning_default;
    CHECK(kc_is_crowded(tuning, 2000, 2100) && !kc_is_crowded(tuning, 1000, 2100));
    CHECK(kc_is_crowded(tuning, 3500, 100000) && !kc_is_crowded(tuning, 2500, 100000));
    check_crowded(2100, 20, 0.01, 1);
    check_crowded(4200, 14, 0.4, 3);
}

/* The same kind of problem, but few enough points. */
static void sets_with_room_for_all_points_are_not_crowded(void)
{
    sample values = make_sample(2100, 10, true, 10);
    setting set = {.n_threads = 2, .n_cached_rows = 2100, .dtype = KC_F64, .epsilon = 0.3};
    kc_store_counters count = {0};
    result all = solve_computed(ctx, &values, &set, &count);

    CHECK(all.solution.stop == KC_STOP_CONVERGED && all.solution.violation < 1e-3);
    CHECK(all.solution.n_sets > 3);
    set.method = KC_METHOD_PAIRS;
    result pairs = solve_computed(ctx, &values, &set, &count);
    CHECK_NEAR(all.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
    drop(&all);
    drop(&pairs);
    free_sample(&values);
}

/* ---- Other ends ---------------------------------------------------------------------------- */

static void indefinite_matrices_end_at_a_stationary_point(void)
{
    kc_rng rng = kc_rng_seed(7);

    for (int round = 0; round < 40; round++) {
        ref_problem p = ref_random_problem(&rng, (ref_form)(round % REF_FORMS), REF_INDEFINITE,
                                           2 + kc_rng_below(&rng, 200), 100, false);
        kc_dual dual = ref_dual(&p, 1e-3);
        dual.method = round % 3 == 0 ? KC_METHOD_GREEDY : KC_METHOD_BLOCKS;
        result r = solve_given(ctx, &p, dual, KC_F64);
        check_solution(&p, &r, 1e-3);
        drop(&r);
        ref_free(&p);
    }
}

/* Tiny values make easy problems, huge ones are as hard as a huge C: those must only end well. */
static void values_of_any_size_are_solved_or_end(void)
{
    static const double scales[] = {1e-100, 1e-20, 1e-8, 1e8, 1e20, 1e100};
    kc_rng rng = kc_rng_seed(12);

    for (int k = 0; k < 6; k++)
        for (int form = 0; form < REF_FORMS; form++)
            for (int method = KC_METHOD_PAIRS; method <= KC_METHOD_GREEDY; method++) {
                ref_problem p = ref_random_problem(&rng, (ref_form)form, REF_RBF, 50, 1, false);
                for (size_t i = 0; i < p.n * p.n; i++)
                    p.k[i] *= scales[k];
                kc_dual dual = ref_dual(&p, 1e-3);
                dual.method = (kc_method)method;
                dual.max_iter = 100000;
                result r = solve_given(ctx, &p, dual, KC_F64);
                ref_audit audit = ref_check(&p, &r.solution);
                CHECK(r.status == KC_OK);
                CHECK(audit.out_of_box == 0 && audit.off_sum < 1e-12);
                CHECK(isfinite(r.solution.intercept[0]) && isfinite(r.solution.dual));
                if (scales[k] < 1) {
                    CHECK(r.solution.stop == KC_STOP_CONVERGED);
                    CHECK(audit.violation < 1e-3);
                }
                drop(&r);
                ref_free(&p);
            }
}

/* Sets have floats for a matrix of doubles.  Those need not do: values beyond their range, in boxes
 * as small as they are large, and a matrix that is singular but for what floats do not tell. */
static void where_rounding_fails_values_are_taken_as_they_are(void)
{
    const double scale = 1e60;
    kc_rng rng = kc_rng_seed(21);

    for (int form = 0; form < 2; form++) {
        ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 400, 100, false);
        if (form == 0)
            for (size_t i = 0; i < p.n * p.n; i++)
                p.k[i] *= scale;
        else
            for (size_t i = 0; i < p.n * p.n; i++)
                p.k[i] = 1 + 1e-7 * p.k[i];
        for (size_t i = 0; i < p.n; i++) {
            p.lo[i] *= form == 0 ? 1 / scale : 1e7;
            p.hi[i] *= form == 0 ? 1 / scale : 1e7;
        }
        kc_dual dual = ref_dual(&p, 1e-3);
        dual.method = KC_METHOD_BLOCKS;
        result r = solve_given(ctx, &p, dual, KC_F64);
        CHECK(r.status == KC_OK && r.solution.stop == KC_STOP_CONVERGED);
        CHECK(ref_check(&p, &r.solution).violation < 1e-3 * (1 + 1e-3));
        drop(&r);
        ref_free(&p);
    }
}

static void max_iter_is_kept_to_the_step(void)
{
    kc_rng rng = kc_rng_seed(13);
    ref_problem p = ref_random_problem(&rng, REF_SVR, REF_RBF, 300, 100, false);
    kc_dual dual = ref_dual(&p, 1e-6);

    dual.max_iter = 123;
    dual.method = KC_METHOD_BLOCKS;
    check_max_iter(ctx, &p, dual);
    dual.method = KC_METHOD_GREEDY;
    check_max_iter(ctx, &p, dual);
    ref_free(&p);
}

typedef struct patience {
    int64_t n_iter; /* until it has heard of so many steps */
    int n_asked;
} patience;

static int lose_patience(void *data, const kc_progress *progress)
{
    patience *p = data;

    p->n_asked++;
    return progress->n_iter >= p->n_iter;
}

/* Wherever it is stopped, what is left is feasible and has its own gradient. */
static void a_stopped_block_leaves_the_solution_before_it(void)
{
    kc_rng rng = kc_rng_seed(14);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 1500, 1e5, false);
    kc_dual dual = ref_dual(&p, 1e-9);
    dual.method = KC_METHOD_BLOCKS;

    for (int64_t n_iter = 1; n_iter < 2000000; n_iter *= 100) {
        patience patient = {.n_iter = n_iter};
        kc_run run = {
            .struct_size = sizeof run, .on_progress = lose_patience, .progress_data = &patient};
        result r = solve_given_in(ctx, &run, &p, dual, KC_F64);

        CHECK(r.solution.stop == KC_STOP_CALLER || r.solution.stop == KC_STOP_CONVERGED);
        check_feasible(&p, &r);
        drop(&r);
    }
    ref_free(&p);
}

static int finish_now(void *data, const kc_progress *progress)
{
    if (progress->n_iter == 0) /* no step yet */
        return KC_GO_ON;
    *(double *)data = progress->objective;
    return KC_FINISH;
}

static void told_to_finish_it_keeps_the_block_it_is_in(void)
{
    kc_rng rng = kc_rng_seed(17);

    for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
        ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 1500, 1e6, dtype == KC_F32);
        kc_dual dual = ref_dual(&p, 1e-12);
        double heard = 0;
        kc_run run = {
            .struct_size = sizeof run, .on_progress = finish_now, .progress_data = &heard};

        dual.method = KC_METHOD_BLOCKS;
        result r = solve_given_in(ctx, &run, &p, dual, dtype);
        CHECK(r.solution.stop == KC_STOP_TIME && r.solution.n_sets > 0);
        CHECK(heard < 0 && r.solution.dual >= -heard * (1 - 1e-9));
        check_feasible(&p, &r);
        drop(&r);
        ref_free(&p);
    }
}

static void a_time_limit_ends_the_fit(void)
{
    kc_rng rng = kc_rng_seed(15);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 1500, 1e6, false);
    kc_dual dual = ref_dual(&p, 1e-12);
    kc_run run = {.struct_size = sizeof run, .time_limit = 0.05};

    dual.method = KC_METHOD_BLOCKS;
    result r = solve_given_in(ctx, &run, &p, dual, KC_F64);
    CHECK(r.status == KC_OK && r.solution.stop == KC_STOP_TIME);
    drop(&r);
    ref_free(&p);
}

/* Labels by a hyperplane with a gap, or flipped near it. */
static void hard_margins_are_found_or_refused(void)
{
    enum { COUNT = 400, DIM = 3 };
    kc_rng rng = kc_rng_seed(16);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_LINEAR, COUNT, 1, false);
    double x[COUNT][DIM];

    for (int is_separable = 0; is_separable < 2; is_separable++) {
        for (size_t i = 0; i < COUNT; i++) {
            for (size_t k = 0; k < DIM; k++)
                x[i][k] = 2 * kc_rng_uniform(&rng) - 1;
            bool is_positive = x[i][0] > 0;
            x[i][0] += (is_separable ? 0.2 : -0.2) * (is_positive ? 1 : -1);
            p.t[i] = is_positive ? 1 : -1;
            p.lo[i] = is_positive ? 0 : -INFINITY;
            p.hi[i] = is_positive ? INFINITY : 0;
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < COUNT; j++)
                p.k[i * COUNT + j] = x[i][0] * x[j][0] + x[i][1] * x[j][1] + x[i][2] * x[j][2];
        for (int method = KC_METHOD_PAIRS; method <= KC_METHOD_GREEDY; method++) {
            kc_dual dual = ref_dual(&p, 1e-4);
            dual.method = (kc_method)method;
            result r = solve_given(ctx, &p, dual, KC_F64);
            CHECK(r.status == KC_OK);
            CHECK(r.solution.stop == (is_separable ? KC_STOP_CONVERGED : KC_STOP_UNBOUNDED));
            if (is_separable) {
                CHECK_NEAR(r.solution.primal, r.solution.dual, 1e-3 * r.solution.dual);
                CHECK(r.solution.gap >= -1e-9);
                /* Half the gap is at least 0.2, and w no longer than needed for that. */
                CHECK(r.solution.dual > 0 && r.solution.dual <= 0.5 / (0.2 * 0.2) + 1e-3);
            }
            drop(&r);
        }
    }
    ref_free(&p);
}

/* Targets by a plane and noise of up to 0.05 on both sides. */
static void hard_tubes_are_found_or_refused(void)
{
    enum { COUNT = 400, DIM = 3 };
    kc_rng rng = kc_rng_seed(17);
    ref_problem p = ref_random_problem(&rng, REF_SVR, REF_LINEAR, COUNT, 1, false);
    double x[COUNT][DIM];

    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < DIM; k++)
            x[i][k] = 2 * kc_rng_uniform(&rng) - 1;
        p.t[i] = x[i][0] - x[i][2] + 0.1 * (kc_rng_uniform(&rng) - 0.5);
        p.lo[i] = -INFINITY;
        p.hi[i] = INFINITY;
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++)
            p.k[i * COUNT + j] = x[i][0] * x[j][0] + x[i][1] * x[j][1] + x[i][2] * x[j][2];
    for (int is_wide = 0; is_wide < 2; is_wide++)
        for (int method = KC_METHOD_PAIRS; method <= KC_METHOD_GREEDY; method++) {
            p.epsilon = is_wide ? 0.06 : 0.02;
            kc_dual dual = ref_dual(&p, 1e-5);
            dual.method = (kc_method)method;
            result r = solve_given(ctx, &p, dual, KC_F64);
            CHECK(r.status == KC_OK);
            CHECK(r.solution.stop == (is_wide ? KC_STOP_CONVERGED : KC_STOP_UNBOUNDED));
            if (is_wide) {
                for (size_t i = 0; i < COUNT; i++)
                    CHECK(fabs(r.solution.grad[i] - r.solution.intercept[0]) < 0.06 + 1e-5);
                CHECK(r.solution.gap >= 0 && r.solution.gap < 1e-3 * r.solution.primal);
                CHECK(r.solution.primal <= 1 + 1e-4); /* that of the plane without noise */
            }
            drop(&r);
        }
    ref_free(&p);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(blocks_and_pairs_find_the_same_optimum);
    RUN(bits_do_not_depend_on_threads_or_cache);
    RUN(pair_steps_through_the_cache_give_the_bits_of_the_whole_matrix);
    RUN(blocks_agree_with_pairs_on_computed_rows);
    RUN(blocks_that_are_crowded_go_on_by_pairs);
    RUN(sets_with_room_for_all_points_are_not_crowded);
    RUN(indefinite_matrices_end_at_a_stationary_point);
    RUN(values_of_any_size_are_solved_or_end);
    RUN(where_rounding_fails_values_are_taken_as_they_are);
    RUN(max_iter_is_kept_to_the_step);
    RUN(a_stopped_block_leaves_the_solution_before_it);
    RUN(told_to_finish_it_keeps_the_block_it_is_in);
    RUN(a_time_limit_ends_the_fit);
    RUN(hard_margins_are_found_or_refused);
    RUN(hard_tubes_are_found_or_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
