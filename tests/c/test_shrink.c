/* Shrinking: the solutions of pair steps over all points, audited from the definition, wherever it
 * is stopped, and equal to the bit whatever the threads and the cache. */
#include <string.h>

#include "dual_case.h"
#include "fault.h"
#include "kc_test.h"
#include "solver/kc_active_set.h"
#include "solver/kc_shrink.h"

static kc_context *ctx;

/* ---- Active points --------------------------------------------------------------------------- */

/* The least low-value is -1 (point 0, at its upper bound 1), the largest up-value 1 (point 1, at
 * 0): all violations are between them, and with half their distance on each side between -2 and 2.
 */
static void a_point_is_shrinkable_where_it_cannot_be_of_use_to_any_violation(void)
{
    const double lo[] = {0, 0, 0, 0, 0, 0, 0};
    const double hi[] = {1, 1, 1, 1, 1, 1, 0};
    double beta[] = {1, 0, 0.5, 0, 0, 1, 0};
    const double grad[] = {-1, 1, 0, -1.5, -2.5, 2.5, 0};
    double both[7];
    int32_t positions[7];
    kc_state state = {.dual = {.n_points = 7, .n_layers = 1, .lo = lo, .hi = hi},
                      .tuning = &kc_tuning_default,
                      .beta = beta,
                      .grad = both};

    memcpy(both, grad, sizeof both);
    kc_active_set active = kc_active_set_find(&state, positions);
    CHECK(active.violation == 2);
    CHECK(active.n == 4);
    for (int32_t k = 0; k < 4; k++)
        CHECK(positions[k] == k);
    CHECK(kc_active_set_find(&state, NULL).n == 4);
}

static void few_active_points_are_a_problem_of_their_own(void)
{
    const kc_shrink_tuning *tuning = &kc_tuning_default.shrink;
    const size_t n = 10 * tuning->points_min;
    const size_t few = (size_t)(tuning->active_share * (double)n);

    CHECK(kc_active_set_is_worth_shrinking(tuning, &(kc_active_set){.n = few}, n));
    CHECK(!kc_active_set_is_worth_shrinking(tuning, &(kc_active_set){.n = few + 1}, n));
    CHECK(!kc_active_set_is_worth_shrinking(tuning, &(kc_active_set){.n = 1},
                                            tuning->points_min - 1));
    CHECK(!kc_active_set_is_worth_shrinking(tuning, &(kc_active_set){.n = 0}, n));
}

/* ---- Solutions ----------------------------------------------------------------------------- */

static void compare_with_all_points(ref_matrix matrix, kc_dtype dtype, int n_rounds)
{
    kc_rng rng = kc_rng_seed(300 + (uint64_t)matrix + 10 * (uint64_t)dtype);
    double tol = dtype == KC_F32 || matrix == REF_LINEAR ? 1e-4 : 1e-6;

    for (int round = 0; round < n_rounds; round++)
        for (int form = 0; form < REF_FORMS; form++) {
            size_t n = 100 + kc_rng_below(&rng, 150);
            double c = pow(10, 3 * kc_rng_uniform(&rng) - 1);
            ref_problem p = ref_random_problem(&rng, (ref_form)form, matrix, n, c, dtype == KC_F32);
            kc_dual dual = ref_dual(&p, tol);
            dual.method = KC_METHOD_PAIRS;
            if (round % 2 == 1)
                dual.start = p.start;
            result all = solve_given(ctx, &p, dual, dtype);
            dual.is_shrinking = true;
            result shrunk = solve_given(ctx, &p, dual, dtype);
            check_solution(&p, &shrunk, tol);
            CHECK_NEAR(shrunk.solution.dual, all.solution.dual,
                       tol * (1e-2 + ref_check(&p, &all.solution).scale));
            drop(&all);
            drop(&shrunk);
            ref_free(&p);
        }
}

static void shrinking_finds_the_optimum_of_all_points(void)
{
    compare_with_all_points(REF_RBF, KC_F64, 5);
    compare_with_all_points(REF_RBF, KC_F32, 3);
    compare_with_all_points(REF_LINEAR, KC_F64, 2);
}

static void less_is_done_where_points_are_shrunk(void)
{
    sample classes = make_sample(800, 2, false, 1000);
    setting set = {.n_threads = 2, .n_cached_rows = 40, .dtype = KC_F64};
    kc_store_counters all_count, count;

    set.method = KC_METHOD_PAIRS;
    result all = solve_computed(ctx, &classes, &set, &all_count);
    set.is_shrinking = true;
    result shrunk = solve_computed(ctx, &classes, &set, &count);
    CHECK(shrunk.solution.stop == KC_STOP_CONVERGED && shrunk.solution.violation < 1e-3);
    CHECK_NEAR(shrunk.solution.dual, all.solution.dual, 1e-6 * all.solution.dual);
    /* Too few rows are cached, and most of them are shorter now. */
    CHECK(3 * count.values_computed < 2 * all_count.values_computed);
    drop(&all);
    drop(&shrunk);
    free_sample(&classes);
}

static void bits_do_not_depend_on_threads_or_cache(void)
{
    sample classes = make_sample(400, 4, false, 10);
    sample values = make_sample(300, 3, true, 10);
    setting set = {.n_threads = 1,
                   .n_cached_rows = 2,
                   .dtype = KC_F32,
                   .method = KC_METHOD_PAIRS,
                   .is_shrinking = true};

    check_equal_bits(ctx, &classes, set);
    set.is_split = true;
    check_equal_bits(ctx, &classes, set);
    set.is_linear = true;
    check_equal_bits(ctx, &classes, set);
    set = (setting){.n_threads = 1,
                    .n_cached_rows = 2,
                    .dtype = KC_F64,
                    .epsilon = 0.1,
                    .method = KC_METHOD_PAIRS,
                    .is_shrinking = true};
    check_equal_bits(ctx, &values, set);
    free_sample(&classes);
    free_sample(&values);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

typedef struct patience {
    int64_t n_iter; /* until it has heard of so many steps */
    int answer;
} patience;

static int lose_patience(void *data, const kc_progress *progress)
{
    const patience *p = data;

    return progress->n_iter >= p->n_iter ? p->answer : KC_GO_ON;
}

/* Whether the answer came in time. */
static bool stop_after(const ref_problem *p, kc_dual dual, int64_t n_iter, int answer, double least)
{
    patience patient = {.n_iter = n_iter, .answer = answer};
    kc_run run = {
        .struct_size = sizeof run, .on_progress = lose_patience, .progress_data = &patient};
    result r = solve_given_in(ctx, &run, p, dual, KC_F64);
    const kc_solution *s = &r.solution;
    bool is_stopped = s->stop == (answer == KC_FINISH ? KC_STOP_TIME : KC_STOP_CALLER);

    check_feasible(p, &r);
    CHECK(is_stopped || s->stop == KC_STOP_CONVERGED);
    CHECK(s->stop != KC_STOP_TIME || s->n_iter >= n_iter);
    CHECK(s->dual >= least - 1e-12 * fabs(s->dual));
    drop(&r);
    return is_stopped;
}

/* Told to finish, it keeps what it has found so far, and the gradient is that of all points. */
static void a_fit_that_is_stopped_keeps_what_it_has_and_its_gradient(void)
{
    kc_rng rng = kc_rng_seed(31);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 1500, 1e4, false);
    kc_dual dual = ref_dual(&p, 1e-10);
    int n_finished = 0;

    dual.method = KC_METHOD_PAIRS;
    dual.is_shrinking = true;
    for (int64_t n_iter = 1000; n_iter < 20000; n_iter *= 4) {
        dual.max_iter = n_iter;
        result after = solve_given(ctx, &p, dual, KC_F64);
        dual.max_iter = 0;
        n_finished += stop_after(&p, dual, n_iter, KC_FINISH, after.solution.dual);
        stop_after(&p, dual, n_iter, KC_FINISH - 1, -HUGE_VAL);
        drop(&after);
    }
    CHECK(n_finished > 0);
    ref_free(&p);
}

/* Below what rounding allows, the points that are left stall long before all do. */
static void a_part_that_stalls_does_not_end_the_fit(void)
{
    kc_rng rng = kc_rng_seed(33);
    ref_problem p = ref_random_problem(&rng, REF_SVR, REF_RBF, 100, 1e4, false);
    kc_dual dual = ref_dual(&p, 1e-12);

    dual.method = KC_METHOD_PAIRS;
    dual.is_shrinking = true;
    result r = solve_given(ctx, &p, dual, KC_F64);
    CHECK(r.solution.stop == KC_STOP_STALLED || r.solution.stop == KC_STOP_CONVERGED);
    CHECK(r.solution.violation < 1e-5);
    drop(&r);
    ref_free(&p);
}

static void max_iter_is_kept_to_the_step(void)
{
    kc_rng rng = kc_rng_seed(32);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 400, 100, false);
    kc_dual dual = ref_dual(&p, 1e-9);

    dual.method = KC_METHOD_PAIRS;
    dual.is_shrinking = true;
    for (dual.max_iter = 1; dual.max_iter < 3000; dual.max_iter *= 3)
        check_max_iter(ctx, &p, dual);
    ref_free(&p);
}

static void refused_memory_is_an_error_and_leaves_nothing_behind(void)
{
    sample classes = make_sample(150, 2, false, 100);
    const setting set = {.n_threads = 1,
                         .n_cached_rows = 40,
                         .dtype = KC_F64,
                         .method = KC_METHOD_PAIRS,
                         .is_shrinking = true};
    bool has_failed = true;

    for (size_t n = 1; has_failed; n++) {
        kc_store_counters count;
        kc_fault fault;
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
        REQUIRE(in != NULL);
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        result r = solve_computed(in, &classes, &set, &count);
        has_failed = kc_fault_disarm(&fault);
        CHECK(r.status == KC_OK || (has_failed && r.status == KC_ERR_NOMEM));
        CHECK(has_failed || n > 30); /* stores of parts, and of their parts */
        drop(&r);
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
    }
    free_sample(&classes);
}

static void it_does_not_suit_infinite_boxes(void)
{
    const double lo[] = {0, -1}, hi[] = {INFINITY, 0}, matrix[] = {1, 0, 0, 1};
    double beta[] = {0, 0};
    kc_dual dual = {
        .cols = {.span = {{0, 2}}, .n_spans = 1}, .n_points = 2, .n_layers = 1, .lo = lo, .hi = hi};
    kc_store *store = NULL;
    kc_state state;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "solve", NULL) == KC_OK);
    REQUIRE(kc_store_make_given(&call, KC_F64, matrix, 2, 2, &store) == KC_OK);
    REQUIRE(kc_state_open(&call, store, &dual, &kc_tuning_default, beta, &state) == KC_OK);
    CHECK(!kc_shrink_suits(&state));
    dual.n_points = 1;
    dual.hi = hi + 1;
    dual.lo = lo + 1;
    REQUIRE(kc_state_open(&call, store, &dual, &kc_tuning_default, beta, &state) == KC_OK);
    CHECK(kc_shrink_suits(&state));
    kc_store_free(ctx, store);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_point_is_shrinkable_where_it_cannot_be_of_use_to_any_violation);
    RUN(few_active_points_are_a_problem_of_their_own);
    RUN(shrinking_finds_the_optimum_of_all_points);
    RUN(less_is_done_where_points_are_shrunk);
    RUN(bits_do_not_depend_on_threads_or_cache);
    RUN(a_fit_that_is_stopped_keeps_what_it_has_and_its_gradient);
    RUN(a_part_that_stalls_does_not_end_the_fit);
    RUN(max_iter_is_kept_to_the_step);
    RUN(refused_memory_is_an_error_and_leaves_nothing_behind);
    RUN(it_does_not_suit_infinite_boxes);
    kc_context_free(ctx);
    return kc_test_end();
}
