/* solver/kc_choose.h: how problems go on, told from counts and the table of thresholds.  That the
 * methods find the same is for test_block.c and test_greedy.c. */
#include "solver/kc_choose.h"

#include <stdlib.h>

#include "kc_test.h"
#include "kernel/kc_kernel.h"
#include "ref_expr.h"

static kc_context *ctx;
static const kc_choose_tuning *const tuning = &kc_tuning_default.choose;

/* Multiply-adds beyond the features that a value costs. */
enum { EXTRA_WORK = 16 };

/* What is chosen for a problem of n points whose values cost `work`, or are x.z. */
static kc_method choose(size_t n, size_t work, bool is_linear, const kc_stats *stats)
{
    const size_t d = work > EXTRA_WORK ? work - EXTRA_WORK : 1;
    double *x = calloc(n * d, sizeof *x);
    ref_node node = {.op = is_linear ? OP_LINEAR : OP_RBF, .gamma = 1};
    kc_points view = {.struct_size = sizeof(kc_points),
                      .storage = KC_DENSE,
                      .dtype = KC_F64,
                      .n_rows = (int64_t)n,
                      .n_cols = (int64_t)d,
                      .values = x,
                      .row_stride = (int64_t)(d * sizeof *x),
                      .col_stride = sizeof *x};
    kc_kernel *kernel = NULL;
    kc_packed packed = {0};
    kc_store *store = NULL;
    kc_choice choice = {.method = KC_METHOD_AUTO};
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, NULL, "choose", NULL) == KC_OK);
    CHECK(ref_kernel_make(ctx, &node, 1, &kernel, NULL) == KC_OK);
    CHECK(kc_packed_create(&call, &view, KC_F32, &packed) == KC_OK);
    kc_store_config config = {.kernel = kernel, .points = &packed, .cache_bytes = 1 << 20};
    CHECK(kc_store_make(&call, &config, &store) == KC_OK);
    if (store != NULL) {
        const kc_state state = {
            .store = store, .dual = {.n_points = n, .n_layers = 1}, .tuning = &kc_tuning_default};
        CHECK(work == 1 || is_linear || kc_store_work(store) == work);
        choice = kc_choose(&state, stats);
    }
    kc_store_free(ctx, store);
    kc_packed_free(ctx, &packed);
    kc_kernel_free(ctx, kernel);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    free(x);
    return choice.method;
}

/* ---- To begin ------------------------------------------------------------------------------ */

static void small_problems_begin_with_pairs_and_larger_ones_with_blocks(void)
{
    const kc_stats none = {.method = KC_METHOD_AUTO};
    const size_t work = 20, most = tuning->pairs_points + tuning->pairs_points_per_work * work;

    CHECK(choose(most, work, false, &none) == KC_METHOD_PAIRS);
    CHECK(choose(most + 1, work, false, &none) == KC_METHOD_BLOCKS);
    CHECK(choose(tuning->pairs_points_max + 1, 500, false, &none) == KC_METHOD_BLOCKS);
}

static void pairs_that_take_long_go_on_by_blocks_unless_those_have_no_room(void)
{
    const kc_stats roomy = {.method = KC_METHOD_PAIRS};
    const kc_stats crowded = {.method = KC_METHOD_PAIRS, .is_crowded = true};

    CHECK(choose(600, 40, false, &roomy) == KC_METHOD_BLOCKS);
    CHECK(choose(600, 40, false, &crowded) == KC_METHOD_PAIRS);
}

/* ---- After some blocks --------------------------------------------------------------------- */

enum { SLOTS = 1000 };

/* One block in which nearly all members became support vectors, and nearly all others will. */
static kc_stats dense_stats(size_t n, bool takes_few_steps)
{
    const double steps = tuning->greedy_steps_per_member * (double)SLOTS;
    const size_t n_support = (size_t)(tuning->dense_set_share * (double)SLOTS) + 10;

    return (kc_stats){.method = KC_METHOD_BLOCKS,
                      .n_sets = 1,
                      .n_steps = (int64_t)(takes_few_steps ? steps : steps + 1),
                      .n_slots = SLOTS,
                      .n_support = n_support,
                      .n_free = n_support / 3,
                      .n_violators = (size_t)(tuning->dense_share * (double)n) - n_support + 1};
}

static void dense_problems_go_on_greedily_where_values_are_expensive_or_steps_few(void)
{
    const size_t dear = tuning->greedy_work, cheap = dear - 1, least = tuning->greedy_work_min;
    const kc_stats few = dense_stats(6000, true), many = dense_stats(6000, false);

    CHECK(choose(6000, dear, false, &few) == KC_METHOD_GREEDY);
    CHECK(choose(6000, dear, false, &many) == KC_METHOD_GREEDY);
    CHECK(choose(6000, cheap, false, &few) == KC_METHOD_GREEDY);
    CHECK(choose(6000, cheap, false, &many) == KC_METHOD_BLOCKS);
    CHECK(choose(6000, least, false, &few) == KC_METHOD_GREEDY);
    CHECK(choose(6000, least - 1, false, &few) == KC_METHOD_BLOCKS);
    CHECK(choose(6000, dear, true, &few) == KC_METHOD_BLOCKS); /* sums through w */
}

static void dense_is_told_by_the_first_blocks_alone(void)
{
    kc_stats late = dense_stats(6000, true), thin = late, sparse = late;

    late.n_sets = tuning->dense_blocks_max + 1;
    thin.n_support = (size_t)(tuning->dense_set_share * (double)SLOTS) - 1;
    thin.n_violators += late.n_support - thin.n_support;
    sparse.n_violators -= 2;
    CHECK(choose(6000, tuning->greedy_work, false, &late) == KC_METHOD_BLOCKS);
    CHECK(choose(6000, tuning->greedy_work, false, &thin) == KC_METHOD_BLOCKS);
    CHECK(choose(6000, tuning->greedy_work, false, &sparse) == KC_METHOD_BLOCKS);
}

/* ... but for expensive values. */
static void large_matrices_are_not_made_for_the_sake_of_cheap_values(void)
{
    const size_t n = (size_t)sqrt((double)tuning->greedy_cheap_bytes / 4) + 100;
    const kc_stats few = dense_stats(n, true);

    CHECK(choose(n, tuning->greedy_work_min, false, &few) == KC_METHOD_BLOCKS);
    CHECK(choose(n, tuning->greedy_work, false, &few) == KC_METHOD_GREEDY);
}

/* Of n points, a share of which are support vectors or violate, a share of the former free. */
static kc_stats crowded_stats(size_t n, double share, double free_share)
{
    const size_t n_support = n / 4;

    return (kc_stats){.method = KC_METHOD_BLOCKS,
                      .n_sets = 3,
                      .n_steps = 5000,
                      .n_slots = SLOTS,
                      .n_support = n_support,
                      .n_free = (size_t)(free_share * (double)n_support),
                      .n_violators = (size_t)(share * (double)n) - n_support,
                      .is_crowded = true};
}

static void crowded_problems_go_on_greedily_where_most_points_move_and_are_many(void)
{
    const size_t n = tuning->greedy_far_points;
    const kc_stats full = crowded_stats(n, tuning->greedy_crowd_share + 0.01, 1);
    const kc_stats narrow = crowded_stats(n, tuning->greedy_crowd_share - 0.01, 1);

    CHECK(choose(n, 24, false, &full) == KC_METHOD_GREEDY);
    CHECK(choose(n, 24, false, &narrow) == KC_METHOD_PAIRS);
    CHECK(choose(n - 1, 24, false, &full) == KC_METHOD_PAIRS);
    CHECK(choose(n, 24, true, &full) == KC_METHOD_PAIRS);
}

static void crowded_problems_go_on_greedily_where_few_support_vectors_are_free(void)
{
    const size_t n = tuning->greedy_far_points;
    const kc_stats bound = crowded_stats(n, 0.3, tuning->greedy_free_share);
    const kc_stats free_ones = crowded_stats(n, 0.3, tuning->greedy_free_share + 0.01);

    CHECK(choose(n, 24, false, &bound) == KC_METHOD_GREEDY);
    CHECK(choose(n, 24, false, &free_ones) == KC_METHOD_PAIRS);
}

static void crowded_problems_without_hope_of_a_matrix_go_on_greedily(void)
{
    const size_t n = tuning->crowd_pairs_points_max;
    const kc_stats narrow = crowded_stats(n, 0.3, 1);

    CHECK(choose(n + 1, 18, false, &narrow) == KC_METHOD_GREEDY);
    CHECK(choose(n, 18, false, &narrow) == KC_METHOD_PAIRS);
}

static void a_method_that_was_asked_for_is_kept(void)
{
    const kc_state state = {.dual = {.method = KC_METHOD_GREEDY}, .tuning = &kc_tuning_default};

    CHECK(kc_choose(&state, &(kc_stats){.method = KC_METHOD_AUTO}).method == KC_METHOD_GREEDY);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(small_problems_begin_with_pairs_and_larger_ones_with_blocks);
    RUN(pairs_that_take_long_go_on_by_blocks_unless_those_have_no_room);
    RUN(dense_problems_go_on_greedily_where_values_are_expensive_or_steps_few);
    RUN(dense_is_told_by_the_first_blocks_alone);
    RUN(large_matrices_are_not_made_for_the_sake_of_cheap_values);
    RUN(crowded_problems_go_on_greedily_where_most_points_move_and_are_many);
    RUN(crowded_problems_go_on_greedily_where_few_support_vectors_are_free);
    RUN(crowded_problems_without_hope_of_a_matrix_go_on_greedily);
    RUN(a_method_that_was_asked_for_is_kept);
    kc_context_free(ctx);
    return kc_test_end();
}
