/* The matrix times vectors: several at once have the bits of each alone, and few rows of the result
 * those of all, within rounding. */
#include <string.h>

#include "kc_test.h"
#include "rows_case.h"

#define N_VECTORS 3
#define N_COLS 150

static int32_t columns[N_COLS];
static double vectors[N_VECTORS * N_COLS];

static void fill(uint64_t seed)
{
    kc_rng rng = kc_rng_seed(seed);
    int32_t order[N];

    for (int32_t k = 0; k < N; k++)
        order[k] = k;
    kc_rng_shuffle(&rng, order, N);
    memcpy(columns, order, sizeof columns);
    for (size_t k = 0; k < N_VECTORS * N_COLS; k++)
        vectors[k] = kc_rng_uniform(&rng) - 0.5;
}

static void check_vectors(kc_dtype dtype, const kc_cols *cols, size_t n_slots)
{
    static double grad[N_VECTORS * N], together[N_VECTORS * N], alone[N];
    const kc_moved moved = {.points = columns, .delta = vectors, .n = N_COLS};
    const size_t n = kc_cols_count(cols);
    world w;

    REQUIRE(open_world(&w, NULL, NULL, dtype));
    REQUIRE(open_store(&w, n_slots) == KC_OK);
    for (size_t k = 0; k < N_VECTORS * n; k++)
        grad[k] = 0.01 * (double)k;
    CHECK(kc_store_apply_vectors(&w.call, w.store, cols, &moved, N_VECTORS, grad, together) ==
          KC_OK);
    CHECK(kc_store_count(w.store).rows_computed <= N_COLS);
    for (size_t v = 0; v < N_VECTORS; v++) {
        kc_moved one = moved;

        one.delta = vectors + v * N_COLS;
        CHECK(kc_store_apply(&w.call, w.store, cols, &one, grad + v * n, alone) == KC_OK);
        CHECK(memcmp(alone, together + v * n, n * sizeof *alone) == 0);
    }
    CHECK(kc_store_apply_vectors(&w.call, w.store, cols, &moved, N_VECTORS, grad, grad) == KC_OK);
    CHECK(memcmp(grad, together, N_VECTORS * n * sizeof *grad) == 0);
    close_world(&w);
}

static void several_vectors_have_the_bits_of_each_alone(void)
{
    fill(1);
    for (int is_linear = 0; is_linear < 2; is_linear++) {
        const ref_node before = node;

        if (is_linear)
            node = (ref_node){.op = OP_LINEAR};
        check_vectors(KC_F32, &all, 2);
        check_vectors(KC_F64, &pair, 40);
        check_vectors(KC_F32, &middle, N);
        node = before;
    }
}

static void few_rows_of_a_product_agree_with_all(void)
{
    static double whole[N_VECTORS * N], few[N_VECTORS * 5];
    const int32_t rows[5] = {699, 3, 3, 0, 350};
    const kc_store_sums all_rows = {
        .n_rows = N, .cols = columns, .n_cols = N_COLS, .vectors = vectors, .n_vectors = N_VECTORS};
    kc_store_sums some = all_rows;
    world w;

    fill(2);
    memset(vectors + 10, 0, 20 * sizeof *vectors); /* of one vector only: no column drops out */
    some.rows = rows;
    some.n_rows = 5;
    REQUIRE(open_world(&w, NULL, NULL, KC_F64));
    REQUIRE(open_store(&w, 30) == KC_OK);
    CHECK(kc_store_multiply_by(&w.call, w.store, &all_rows, whole) == KC_OK);
    const int64_t before = kc_store_count(w.store).values_computed;
    CHECK(kc_store_multiply_by(&w.call, w.store, &some, few) == KC_OK);
    CHECK(kc_store_count(w.store).values_computed == before + 5 * N_COLS);
    for (size_t v = 0; v < N_VECTORS; v++)
        for (size_t r = 0; r < 5; r++)
            CHECK_NEAR(few[v * 5 + r], whole[v * N + (size_t)rows[r]], 1e-12);
    close_world(&w);
}

static void columns_that_no_vector_has_are_not_computed(void)
{
    static double out[N];
    kc_store_sums sums = {
        .n_rows = N, .cols = columns, .n_cols = N_COLS, .vectors = vectors, .n_vectors = 1};
    world w;

    fill(3);
    memset(vectors, 0, 100 * sizeof *vectors);
    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(open_store(&w, 2) == KC_OK);
    CHECK(kc_store_multiply_by(&w.call, w.store, &sums, out) == KC_OK);
    CHECK(kc_store_count(w.store).rows_computed == 50);
    memset(vectors, 0, sizeof vectors);
    CHECK(kc_store_multiply_by(&w.call, w.store, &sums, out) == KC_OK);
    for (size_t i = 0; i < N; i++)
        CHECK(out[i] == 0);
    close_world(&w);
}

int main(void)
{
    RUN(several_vectors_have_the_bits_of_each_alone);
    RUN(few_rows_of_a_product_agree_with_all);
    RUN(columns_that_no_vector_has_are_not_computed);
    return kc_test_end();
}
