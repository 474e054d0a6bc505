/* solver/kc_outlook.h: how problems go on, told from counts.  That the methods find the same is for
 * test_block.c and test_greedy.c. */
#include "solver/kc_outlook.h"

#include <stdlib.h>

#include "kc_test.h"
#include "kernel/kc_kernel.h"

static kc_context *ctx;

/* What is said of a problem of n points with d features each. */
static kc_block_end judge(size_t n, size_t d, kc_kernel_op op, const kc_census *census)
{
    double *x = calloc(n * d, sizeof *x);
    kc_kernel_node node = {.op = op, .gamma = 1};
    kc_points view = {.storage = KC_DENSE,
                      .dtype = KC_F64,
                      .n_rows = (int64_t)n,
                      .n_cols = (int64_t)d,
                      .values = x,
                      .row_stride = (int64_t)(d * sizeof *x),
                      .col_stride = sizeof *x};
    kc_dual dual = {.n_points = n, .n_groups = 1};
    kc_kernel *kernel = NULL;
    kc_packed packed = {0};
    kc_store *store = NULL;
    kc_call call;
    kc_block_end end = KC_BLOCK_TO_BLOCKS;

    CHECK(kc_call_begin(&call, ctx, NULL, "judge", NULL) == KC_OK);
    CHECK(kc_kernel_create(ctx, &node, 1, &kernel, NULL) == KC_OK);
    CHECK(kc_packed_create(&call, &view, KC_F32, &packed) == KC_OK);
    kc_store_config config = {.kernel = kernel, .points = &packed, .cache_bytes = 1 << 20};
    CHECK(kc_store_create(&call, &config, &store) == KC_OK);
    if (store != NULL)
        end = kc_outlook_judge(store, &dual, census);
    kc_store_free(ctx, store);
    kc_packed_free(ctx, &packed);
    kc_kernel_free(ctx, kernel);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    free(x);
    return end;
}

/* After one block in which nearly all became support vectors, and most others will. */
static kc_census dense_census(size_t n, int64_t n_steps)
{
    return (kc_census){.n_blocks = 1,
                       .n_steps = n_steps,
                       .n_slots = 1000,
                       .n_sv = 900,
                       .n_free = 300,
                       .n_violators = n * 9 / 10};
}

static void dense_problems_go_on_greedily_where_values_are_expensive_or_steps_few(void)
{
    kc_census few = dense_census(6000, 500);
    kc_census many = dense_census(6000, 700);

    CHECK(judge(6000, 120, KC_RBF, &few) == KC_BLOCK_TO_GREEDY);
    CHECK(judge(6000, 120, KC_RBF, &many) == KC_BLOCK_TO_GREEDY);
    CHECK(judge(6000, 40, KC_RBF, &few) == KC_BLOCK_TO_GREEDY);
    CHECK(judge(6000, 40, KC_RBF, &many) == KC_BLOCK_TO_BLOCKS);
    CHECK(judge(6000, 8, KC_RBF, &few) == KC_BLOCK_TO_BLOCKS);
    CHECK(judge(6000, 120, KC_LINEAR, &few) == KC_BLOCK_TO_BLOCKS); /* sums through w */
}

static void dense_is_told_by_the_first_blocks_alone(void)
{
    kc_census late = dense_census(6000, 500);
    kc_census thin = dense_census(6000, 500);
    kc_census sparse = dense_census(6000, 500);

    late.n_blocks = 3;
    thin.n_sv = 700; /* of the members */
    sparse.n_violators = 3000;
    CHECK(judge(6000, 120, KC_RBF, &late) == KC_BLOCK_TO_BLOCKS);
    CHECK(judge(6000, 120, KC_RBF, &thin) == KC_BLOCK_TO_BLOCKS);
    CHECK(judge(6000, 120, KC_RBF, &sparse) == KC_BLOCK_TO_BLOCKS);
}

/* A matrix of more than 4 GiB is not made for the sake of cheap values. */
static void large_matrices_are_for_expensive_values(void)
{
    kc_census few = dense_census(34000, 500);

    CHECK(judge(34000, 40, KC_RBF, &few) == KC_BLOCK_TO_BLOCKS);
    CHECK(judge(34000, 120, KC_RBF, &few) == KC_BLOCK_TO_GREEDY);
}

static kc_census crowded_census(size_t n_sv, size_t n_free, size_t n_violators)
{
    return (kc_census){.n_blocks = 3,
                       .n_steps = 5000,
                       .n_slots = 1000,
                       .n_sv = n_sv,
                       .n_free = n_free,
                       .n_violators = n_violators,
                       .is_crowded = true};
}

static void crowded_problems_go_on_greedily_where_most_points_move_and_are_many(void)
{
    kc_census full = crowded_census(1500, 1400, 3500);
    kc_census narrow = crowded_census(1500, 1400, 1500);

    CHECK(judge(6000, 8, KC_RBF, &full) == KC_BLOCK_TO_GREEDY);
    CHECK(judge(6000, 8, KC_RBF, &narrow) == KC_BLOCK_TO_PAIRS);
    CHECK(judge(4000, 8, KC_RBF, &full) == KC_BLOCK_TO_PAIRS);
    CHECK(judge(6000, 8, KC_LINEAR, &full) == KC_BLOCK_TO_PAIRS);
}

static void crowded_problems_go_on_greedily_where_few_support_vectors_are_free(void)
{
    kc_census bound = crowded_census(3000, 1400, 100);
    kc_census free_ones = crowded_census(3000, 1600, 100);

    CHECK(judge(6000, 8, KC_RBF, &bound) == KC_BLOCK_TO_GREEDY);
    CHECK(judge(6000, 8, KC_RBF, &free_ones) == KC_BLOCK_TO_PAIRS);
}

static void crowded_problems_without_hope_of_a_matrix_go_on_greedily(void)
{
    kc_census narrow = crowded_census(9000, 8000, 100);

    CHECK(judge(33000, 2, KC_RBF, &narrow) == KC_BLOCK_TO_GREEDY);
    CHECK(judge(32000, 2, KC_RBF, &narrow) == KC_BLOCK_TO_PAIRS);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(dense_problems_go_on_greedily_where_values_are_expensive_or_steps_few);
    RUN(dense_is_told_by_the_first_blocks_alone);
    RUN(large_matrices_are_for_expensive_values);
    RUN(crowded_problems_go_on_greedily_where_most_points_move_and_are_many);
    RUN(crowded_problems_go_on_greedily_where_few_support_vectors_are_free);
    RUN(crowded_problems_without_hope_of_a_matrix_go_on_greedily);
    kc_context_free(ctx);
    return kc_test_end();
}
