/* Steps on the worst few: the same bits however a pass is cut and wherever rows come from, and
 * which problems take them.  test_block.c audits what they find. */
#include <string.h>

#include "dual_case.h"
#include "kc_test.h"

static kc_context *ctx;

/* As test_block.c has it for caches that are too small: here the matrix is kept, and passes are
 * shared by a team, as many as there are CPUs for. */
static void bits_do_not_depend_on_the_team(void)
{
    sample classes = make_sample(9000, 12, false, 1);
    sample values = make_sample(4500, 6, true, 1);
    setting set = {.n_threads = 1, .dtype = KC_F32, .method = KC_METHOD_GREEDY};
    kc_store_counters count = {0};

    for (int is_regression = 0; is_regression < 2; is_regression++) {
        const sample *s = is_regression ? &values : &classes;
        set.n_cached_rows = s->n;
        set.epsilon = is_regression ? 0.1 : 0;
        set.n_threads = 1;
        result alone = solve_computed(ctx, s, &set, &count);
        CHECK(alone.solution.stop == KC_STOP_CONVERGED && alone.solution.violation < 1e-3);
        CHECK(count.rows_computed == 0); /* all in the matrix */
        for (int32_t n_threads = 2; n_threads <= 5; n_threads++) {
            set.n_threads = n_threads;
            result together = solve_computed(ctx, s, &set, &count);
            CHECK(are_equal(s, &alone, &together));
            drop(&together);
        }
        drop(&alone);
    }
    free_sample(&classes);
    free_sample(&values);
}

/* Labels are noise where there are so many features: nearly all points are support vectors. */
static void half_of_the_matrix_is_computed_where_it_is_kept(void)
{
    sample classes = make_sample(1300, 120, false, 1);
    setting set = {.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .method = KC_METHOD_GREEDY};
    const int64_t n = (int64_t)classes.n;
    kc_store_counters few = {0}, all = {0}, none = {0};
    result by_rows = solve_computed(ctx, &classes, &set, &few);

    set.n_cached_rows = classes.n;
    result by_matrix = solve_computed(ctx, &classes, &set, &all);
    CHECK(by_rows.solution.stop == KC_STOP_CONVERGED && are_equal(&classes, &by_rows, &by_matrix));
    CHECK(few.rows_computed + few.rows_hit == by_rows.solution.n_row_visits);
    CHECK(few.rows_computed > n / 2);
    CHECK(all.rows_computed == 0 && all.values_computed < few.values_computed);
    set.method = KC_METHOD_PAIRS;
    result pairs = solve_computed(ctx, &classes, &set, &none);
    CHECK_NEAR(by_matrix.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
    check_equal_bits(
        ctx, &classes,
        (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .method = KC_METHOD_GREEDY});
    drop(&by_rows);
    drop(&by_matrix);
    drop(&pairs);
    free_sample(&classes);
}

/* More points than pair steps are taken for, and values that are worth it. */
static void blocks_that_will_ask_for_nearly_all_rows_go_on_greedily(void)
{
    sample classes = make_sample(3100, 120, false, 1);
    setting set = {.n_threads = 2, .n_cached_rows = 3100, .dtype = KC_F32};
    const int64_t n = (int64_t)classes.n;
    kc_store_counters count = {0};
    result r = solve_computed(ctx, &classes, &set, &count);

    CHECK(r.solution.stop == KC_STOP_CONVERGED && r.solution.violation < 1e-3);
    CHECK(r.solution.n_rounds > 10 && count.rows_computed > 0 && count.rows_computed < n / 5);
    check_equal_bits(ctx, &classes, (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32});
    drop(&r);
    free_sample(&classes);
}

/* Larger: the first block is not even applied. */
static void a_sample_tells_that_nearly_all_rows_will_be_asked_for(void)
{
    sample classes = make_sample(4200, 120, false, 1);
    setting set = {.n_threads = 2, .n_cached_rows = 4200, .dtype = KC_F32};
    kc_store_counters count = {0};
    result foreseen = solve_computed(ctx, &classes, &set, &count);

    CHECK(foreseen.solution.stop == KC_STOP_CONVERGED && foreseen.solution.violation < 1e-3);
    CHECK(count.rows_computed == 0);
    set.method = KC_METHOD_GREEDY;
    result greedy = solve_computed(ctx, &classes, &set, &count);
    CHECK(are_equal(&classes, &foreseen, &greedy)); /* from the start, as if no block had been */
    CHECK(foreseen.solution.n_iter == greedy.solution.n_iter);
    drop(&foreseen);
    drop(&greedy);
    free_sample(&classes);
}

/* More free variables than blocks have room for: rows that are far away are visited in batches, by
 * all threads; near ones by pair steps. */
static void crowded_blocks_of_many_points_go_on_greedily(void)
{
    for (int is_large = 0; is_large < 2; is_large++) {
        sample values = make_sample(is_large ? 4200 : 3600, 20, true, 10);
        setting set = {.n_threads = 2, .n_cached_rows = values.n, .dtype = KC_F32, .epsilon = 0.01};
        kc_store_counters count = {0};
        result mixed = solve_computed(ctx, &values, &set, &count);
        CHECK(mixed.solution.stop == KC_STOP_CONVERGED && mixed.solution.violation < 1e-3);
        CHECK((mixed.solution.n_rounds > 100) == is_large);
        CHECK(strstr(mixed.solution.path, is_large ? ", greedy " : ", pairs") != NULL);
        set.method = KC_METHOD_PAIRS;
        result pairs = solve_computed(ctx, &values, &set, &count);
        CHECK_NEAR(mixed.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
        drop(&mixed);
        drop(&pairs);
        free_sample(&values);
    }
}

/* Few features: few are support vectors, and blocks do what they are for. */
static void where_few_rows_will_be_asked_for_blocks_go_on(void)
{
    sample classes = make_sample(4200, 2, false, 10);
    setting set = {.n_threads = 2, .n_cached_rows = 4200, .dtype = KC_F32};
    kc_store_counters count = {0};
    result r = solve_computed(ctx, &classes, &set, &count);

    CHECK(r.solution.stop == KC_STOP_CONVERGED && r.solution.violation < 1e-3);
    CHECK(r.solution.n_rounds == 0 && r.solution.n_sets > 0 && r.solution.n_sets < 100);
    CHECK(strncmp(r.solution.path, "blocks ", 7) == 0 && strchr(r.solution.path, ',') == NULL);
    CHECK(count.rows_computed > 0);
    drop(&r);
    free_sample(&classes);
}

/* With hard margins all variables are stretched at once, now and then: what violates is then not
 * what it was. */
static void hard_margins_are_reached(void)
{
    for (size_t n = 20; n <= 400; n += 20) {
        sample classes = make_sample(n, 8, false, HUGE_VAL);
        setting set = {
            .n_threads = 1, .n_cached_rows = n, .dtype = KC_F64, .method = KC_METHOD_GREEDY};
        kc_store_counters count = {0};
        result greedy = solve_computed(ctx, &classes, &set, &count);
        CHECK(greedy.status == KC_OK && greedy.solution.stop == KC_STOP_CONVERGED);
        set.method = KC_METHOD_PAIRS;
        result pairs = solve_computed(ctx, &classes, &set, &count);
        CHECK(pairs.solution.stop == KC_STOP_CONVERGED);
        CHECK_NEAR(greedy.solution.dual, pairs.solution.dual, 1e-3 * pairs.solution.dual);
        drop(&greedy);
        drop(&pairs);
        free_sample(&classes);
    }
}

static int stop_once_begun(void *data, const kc_progress *progress)
{
    *(bool *)data |= progress->n_iter > 0;
    return *(bool *)data ? KC_FINISH : KC_GO_ON;
}

static void a_stopped_round_leaves_the_solution_before_it(void)
{
    sample classes = make_sample(6000, 12, false, 1000);

    for (int has_matrix = 0; has_matrix < 2; has_matrix++) {
        bool has_begun = false;
        setting set = {.n_threads = 2,
                       .n_cached_rows = has_matrix ? classes.n : 100,
                       .dtype = KC_F64,
                       .method = KC_METHOD_GREEDY,
                       .on_progress = stop_once_begun,
                       .progress_data = &has_begun};
        kc_store_counters count = {0};
        result r = solve_computed(ctx, &classes, &set, &count);
        CHECK(has_begun && r.status == KC_OK && r.solution.stop == KC_STOP_TIME);
        CHECK(r.solution.n_iter > 0 && r.solution.violation > 0);
        CHECK(isfinite(r.solution.dual) && r.solution.gap > 0);

        /* The steps that are counted are those that led to it. */
        set.on_progress = NULL;
        set.max_iter = r.solution.n_iter;
        result same = solve_computed(ctx, &classes, &set, &count);
        CHECK(same.solution.stop == KC_STOP_MAX_ITER);
        CHECK(same.solution.n_row_visits == r.solution.n_row_visits);
        CHECK(memcmp(same.solution.beta, r.solution.beta, classes.n * sizeof(double)) == 0);
        drop(&same);
        drop(&r);
    }
    free_sample(&classes);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(bits_do_not_depend_on_the_team);
    RUN(half_of_the_matrix_is_computed_where_it_is_kept);
    RUN(blocks_that_will_ask_for_nearly_all_rows_go_on_greedily);
    RUN(a_sample_tells_that_nearly_all_rows_will_be_asked_for);
    RUN(crowded_blocks_of_many_points_go_on_greedily);
    RUN(where_few_rows_will_be_asked_for_blocks_go_on);
    RUN(hard_margins_are_reached);
    RUN(a_stopped_round_leaves_the_solution_before_it);
    kc_context_free(ctx);
    return kc_test_end();
}
