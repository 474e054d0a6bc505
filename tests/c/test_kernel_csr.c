/* kernel/kc_kernel_csr.c: wide sparse points, where columns have places of their own. */
#include "kernel_case.h"

#define WIDE ((size_t)100000)

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

static const ref_node leaves[] = {
    {.op = OP_LINEAR},
    {.op = OP_RBF, .gamma = 0.05},
    {.op = OP_POLYNOMIAL, .gamma = 0.1, .coef0 = 0.5, .degree = 3},
    {.op = OP_SIGMOID, .gamma = 0.1, .coef0 = 0.2},
    {.op = OP_LAPLACIAN, .gamma = 0.02},
    {.op = OP_RATIONAL, .gamma = 3, .coef0 = 0.5},
    {.op = OP_TANIMOTO},
    {.op = OP_HAMMING},
};

/* Rows with about nnz numbers each; the first and the last column are in use, row 1 is empty, and
 * rows 2 and 3 have no column in common. */
static ref_samples make_wide(uint64_t seed, size_t n, size_t d, size_t nnz, kc_dtype dtype)
{
    ref_samples s = ref_random(seed, n, d, (double)nnz / (double)d, dtype);

    s.x[0] = 0.5;
    s.x[d - 1] = -0.25;
    for (size_t t = 0; n > 3 && t < d; t++)
        s.x[(2 + t % 2) * d + t] = 0;
    return s;
}

static void check_wide(size_t n_x, size_t n_z, size_t d, size_t nnz, kc_dtype dtype)
{
    ref_samples x = make_wide(d, n_x, d, nnz, dtype), z = make_wide(d + 1, n_z, d, nnz, dtype);
    ref_view views[4];
    kc_packed dense_x = pack_samples(ctx, &x, REF_DENSE, dtype, &views[0]);
    kc_packed dense_z = pack_samples(ctx, &z, REF_DENSE, dtype, &views[1]);
    kc_packed sparse_x = pack_samples(ctx, &x, REF_CSR, dtype, &views[2]);
    kc_packed sparse_z = pack_samples(ctx, &z, REF_CSR, dtype, &views[3]);

    CHECK((sparse_x.storage == KC_CSR) && (sparse_z.storage == KC_CSR));
    for (size_t l = 0; l < COUNT(leaves); l++) {
        kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
        void *expected = fill_all(kernel, &dense_x, &dense_z);
        void *sparse = fill_all(kernel, &sparse_x, &sparse_z);
        void *mixed = fill_all(kernel, &dense_x, &sparse_z);
        void *other = fill_all(kernel, &sparse_x, &dense_z);

        CHECK(worst_excess(&leaves[l], 1, expected, &x, &z, dtype) <= 1);
        CHECK(is_same(sparse, expected, n_x * n_z, dtype));
        CHECK(is_same(mixed, expected, n_x * n_z, dtype));
        CHECK(is_same(other, expected, n_x * n_z, dtype));
        free(expected);
        free(sparse);
        free(mixed);
        free(other);
        kc_kernel_free(ctx, kernel);
    }
    kc_packed_free(ctx, &dense_x);
    kc_packed_free(ctx, &dense_z);
    kc_packed_free(ctx, &sparse_x);
    kc_packed_free(ctx, &sparse_z);
    for (size_t i = 0; i < 4; i++)
        ref_view_free(&views[i]);
    ref_samples_free(&x);
    ref_samples_free(&z);
}

static void wide_points_have_the_values_of_dense_ones(void)
{
    for (size_t k = 0; k < 2; k++) {
        check_wide(5, 7, WIDE, 60, dtypes[k]);
        check_wide(4, 5, WIDE, 5000, dtypes[k]);
    }
}

/* On both sides of what fits the second-level cache: lanes by column, and lanes by place. */
static void lanes_by_column_and_lanes_by_place_agree(void)
{
    static const size_t features[] = {2047, 2048, 2049, 2300};

    for (size_t k = 0; k < 2; k++)
        for (size_t f = 0; f < COUNT(features); f++)
            check_wide(33, 20, features[f], 25, dtypes[k]);
}

/* More columns of a batch than any row has, up to every column. */
static void places_run_out_with_the_columns(void)
{
    for (size_t k = 0; k < 2; k++) {
        check_wide(32, 3, 3000, 100,
                   dtypes[k]); /* 32 rows, 3200 numbers: all columns may be used */
        check_wide(40, 130, 2600, 3, dtypes[k]); /* more than one batch, more than one strip */
    }
}

static void points_without_a_single_number_are_points(void)
{
    static const int64_t indptr[41] = {0};
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_CSR,
                              .dtype = KC_F64,
                              .n_rows = 40,
                              .n_cols = (int64_t)WIDE,
                              .indptr = indptr,
                              .index_bytes = 8};
    const ref_view view = {.points = points};
    static const double expected[] = {0, 1, 0.125, 0.197375320224904, 1, 1, 1, 1};

    for (size_t k = 0; k < 2; k++) {
        kc_packed p = pack_view(ctx, &view, dtypes[k]);

        CHECK((p.storage == KC_CSR) && p.max_row_nnz == 0);
        for (size_t l = 0; l < COUNT(leaves); l++) {
            kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
            void *out = fill_all(kernel, &p, &p);

            for (size_t i = 0; i < 1600; i++)
                CHECK_NEAR(ref_get(out, i, dtypes[k]), expected[l], 1e-7);
            free(out);
            kc_kernel_free(ctx, kernel);
        }
        kc_packed_free(ctx, &p);
    }
}

/* -0 stored, 0 stored, and products that vanish: which columns are stored must not show. */
static void stored_zeros_change_no_bit(void)
{
    static const int64_t indptr[] = {0, 3, 4}, indices[] = {0, 500, 3000, 0};
    static const int64_t bare_indptr[] = {0, 1, 2}, bare_indices[] = {0, 0};

    for (size_t k = 0; k < 2; k++) {
        const double small = dtypes[k] == KC_F64 ? 1e-170 : 1e-25;
        double values[4], bare_values[2];
        ref_view views[2] = {{.points = {.struct_size = sizeof(kc_points),
                                         .storage = KC_CSR,
                                         .dtype = dtypes[k],
                                         .n_rows = 2,
                                         .n_cols = 4000,
                                         .index_bytes = 8}}};

        views[1] = views[0];
        for (size_t i = 0; i < 4; i++)
            ref_put(values, i, dtypes[k], i == 0 ? small : i == 1 ? -0.0 : i == 2 ? 0.0 : -small);
        ref_put(bare_values, 0, dtypes[k], small);
        ref_put(bare_values, 1, dtypes[k], -small);
        views[0].points.values = values;
        views[0].points.indices = indices;
        views[0].points.indptr = indptr;
        views[0].points.n_values = 4;
        views[1].points.values = bare_values;
        views[1].points.indices = bare_indices;
        views[1].points.indptr = bare_indptr;
        views[1].points.n_values = 2;
        for (size_t l = 0; l < COUNT(leaves); l++) {
            kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
            kc_packed stored = pack_view(ctx, &views[0], dtypes[k]);
            kc_packed bare = pack_view(ctx, &views[1], dtypes[k]);
            void *a = fill_all(kernel, &stored, &stored), *b = fill_all(kernel, &bare, &bare);
            void *c = fill_all(kernel, &stored, &bare), *d = fill_all(kernel, &bare, &stored);

            CHECK(is_same(a, b, 4, dtypes[k]));
            CHECK(is_same(a, c, 4, dtypes[k]) && is_same(a, d, 4, dtypes[k]));
            free(a);
            free(b);
            free(c);
            free(d);
            kc_packed_free(ctx, &stored);
            kc_packed_free(ctx, &bare);
            kc_kernel_free(ctx, kernel);
        }
    }
}

int main(void)
{
    ctx = new_context();
    RUN(wide_points_have_the_values_of_dense_ones);
    RUN(lanes_by_column_and_lanes_by_place_agree);
    RUN(places_run_out_with_the_columns);
    RUN(points_without_a_single_number_are_points);
    RUN(stored_zeros_change_no_bit);
    kc_context_free(ctx);
    return kc_test_end();
}
