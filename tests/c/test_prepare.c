/* kernel/kc_prepare.c: samples get the columns and the self-values that a kernel reads of them. */
#include "kernel/kc_prepare.h"

#include "kernel_case.h"

#define N ((size_t)41)
#define D ((size_t)100) /* sparse where few values are there */

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};
static const ref_form forms[] = {REF_DENSE, REF_FORTRAN, REF_CSR, REF_CSR_UNSORTED};
static const int32_t columns[] = {90, 2, 57};

/* RBF on three columns, plus a normalized polynomial of all. */
static kc_kernel *make_mixed(void)
{
    const double gamma = 0.3, cubic[] = {3, 0.2, 1};
    kc_kernel *rbf = NULL, *on = NULL, *power = NULL, *normalized = NULL, *sum = NULL;

    CHECK(kc_kernel_leaf(ctx, "rbf", &gamma, 1, &rbf, NULL) == KC_OK);
    CHECK(kc_kernel_on(ctx, rbf, columns, 3, &on, NULL) == KC_OK);
    CHECK(kc_kernel_leaf(ctx, "polynomial", cubic, 3, &power, NULL) == KC_OK);
    CHECK(kc_kernel_normalized(ctx, power, &normalized, NULL) == KC_OK);
    CHECK(kc_kernel_sum(ctx, (const kc_kernel *const[]){on, normalized}, 2, &sum, NULL) == KC_OK);
    kc_kernel *const parts[] = {rbf, on, power, normalized};
    for (size_t k = 0; k < COUNT(parts); k++)
        kc_kernel_free(ctx, parts[k]);
    return sum;
}

static double mixed_value(const double *x, const double *z)
{
    double distance = 0, xx = 0, zz = 0, xz = 0;

    for (size_t c = 0; c < 3; c++)
        distance += pow(x[columns[c]] - z[columns[c]], 2);
    for (size_t t = 0; t < D; t++) {
        xx += x[t] * x[t];
        zz += z[t] * z[t];
        xz += x[t] * z[t];
    }
    return exp(-0.3 * distance) +
           pow(0.2 * xz + 1, 3) / sqrt(pow(0.2 * xx + 1, 3)) / sqrt(pow(0.2 * zz + 1, 3));
}

static kc_packed prepare(const kc_kernel *kernel, const kc_points *points, kc_dtype dtype)
{
    kc_packed packed = {.dtype = dtype};
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, NULL, "pack", NULL) == KC_OK);
    CHECK(kc_prepare(&call, kernel, points, NULL, dtype, &packed) == KC_OK);
    /* What is packed may borrow from the call: a copy stays. */
    int32_t all[N];
    kc_packed copy = {.dtype = dtype};
    for (size_t i = 0; i < N; i++)
        all[i] = (int32_t)(N - 1 - i);
    CHECK(kc_packed_take(&call, &packed, all, N, &copy) == KC_OK);
    kc_packed_free(ctx, &packed);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    return copy;
}

static void values_are_those_of_the_columns_in_every_storage(void)
{
    kc_kernel *kernel = make_mixed();

    for (size_t k = 0; k < 2; k++) {
        ref_samples x = ref_random(3, N, D, 0.2, dtypes[k]);
        void *first = NULL;

        for (size_t f = 0; f < COUNT(forms); f++) {
            ref_view view = ref_view_make(&x, forms[f], dtypes[k]);
            kc_packed p = prepare(kernel, &view.points, dtypes[k]);
            void *all = fill_all(kernel, &p, &p);

            for (size_t i = 0; i < N && f == 0; i++)
                for (size_t j = 0; j < N; j++)
                    CHECK(fabs(ref_get(all, i * N + j, dtypes[k]) -
                               mixed_value(x.x + (N - 1 - i) * D, x.x + (N - 1 - j) * D)) <
                          (dtypes[k] == KC_F64 ? 1e-13 : 1e-4));
            if (f == 0)
                first = all;
            CHECK(is_same(all, first, N * N, dtypes[k]));
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j < i; j++)
                    CHECK(ref_get(all, i * N + j, dtypes[k]) == ref_get(all, j * N + i, dtypes[k]));
            if (f > 0)
                free(all);
            kc_packed_free(ctx, &p);
            ref_view_free(&view);
        }
        free(first);
        ref_samples_free(&x);
    }
    kc_kernel_free(ctx, kernel);
}

static void the_diagonal_has_the_bits_of_the_matrix(void)
{
    kc_kernel *kernel = make_mixed();

    for (size_t k = 0; k < 2; k++) {
        ref_samples x = ref_random(3, N, D, 0.2, dtypes[k]);
        ref_view view = ref_view_make(&x, REF_CSR, dtypes[k]);
        kc_packed p = prepare(kernel, &view.points, dtypes[k]);
        const kc_plan plan = kc_plan_make(kernel, &p, &p);
        void *all = fill_all(kernel, &p, &p), *workspace = NULL;
        double diag[N]; /* of either type */

        if (posix_memalign(&workspace, KC_ALIGN, kc_plan_workspace(&plan, 1)) != 0)
            abort();
        CHECK(kc_plan_diag(&plan, 0, N, diag, workspace));
        for (size_t i = 0; i < N; i++)
            CHECK(ref_get(diag, i, dtypes[k]) == ref_get(all, i * N + i, dtypes[k]));
        free(workspace);
        free(all);
        kc_packed_free(ctx, &p);
        ref_view_free(&view);
        ref_samples_free(&x);
    }
    kc_kernel_free(ctx, kernel);
}

/* Points that come one by one have the values of those packed at once. */
static void growing_points_have_the_same_parts(void)
{
    kc_kernel *kernel = make_mixed();

    for (size_t sparse = 0; sparse < 2; sparse++) {
        ref_samples x = ref_random(3, N, D, 0.2, KC_F64);
        ref_view view = ref_view_make(&x, REF_CSR, KC_F64);
        kc_packed p = prepare(kernel, &view.points, KC_F64);
        const kc_points like = {.storage = sparse == 1 ? KC_CSR : KC_DENSE, .n_cols = D};
        kc_growing g;
        double *expected = fill_all(kernel, &p, &p), *got;

        CHECK(kc_prepare_growing(ctx, kernel, KC_F64, &like, &g, NULL) == KC_OK);
        for (size_t i = 0; i < N; i++) {
            kc_value_counts counts;

            kc_growing_count(&g, &counts);
            kc_growing_count_row(&g, &p, i, &counts);
            CHECK(kc_growing_reserve(ctx, &g, i + 1, &counts, NULL) == KC_OK);
            kc_growing_put(&g, i, &p, i);
        }
        got = fill_all(kernel, &g.points, &g.points);
        CHECK(is_same(expected, got, N * N, KC_F64));
        free(expected);
        free(got);
        kc_growing_free(ctx, &g);
        kc_packed_free(ctx, &p);
        ref_view_free(&view);
        ref_samples_free(&x);
    }
    kc_kernel_free(ctx, kernel);
}

static void a_negative_self_value_is_refused_by_row(void)
{
    const double params[] = {1, 1, -2};
    double x[] = {1, 1, 2, 0, 0.5, 0.5};
    const kc_points view = {.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F64,
                            .n_rows = 3,
                            .n_cols = 2,
                            .values = x,
                            .row_stride = 16,
                            .col_stride = 8,
                            .name = "X"};
    kc_kernel *power = NULL, *normalized = NULL;
    double out[9];
    kc_error err = {0};

    REQUIRE(kc_kernel_leaf(ctx, "polynomial", params, 3, &power, NULL) == KC_OK);
    REQUIRE(kc_kernel_normalized(ctx, power, &normalized, NULL) == KC_OK);
    CHECK(kc_gram(ctx, NULL, normalized, &view, NULL, KC_F64, out, 3, &err) == KC_ERR_RANGE);
    CHECK(strcmp(err.text, "normalized kernel: K(x, x) of X row 2 is -1.5, must not be negative") ==
          0);
    kc_kernel_free(ctx, power);
    kc_kernel_free(ctx, normalized);
}

/* 1 / K(x, x) is beyond the type: no value is made of it. */
static void self_values_that_are_too_small_overflow(void)
{
    const float x[] = {1e-21f, 2e-21f};
    const kc_points view = {.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F32,
                            .n_rows = 2,
                            .n_cols = 1,
                            .values = x,
                            .row_stride = 4,
                            .col_stride = 4,
                            .name = "X"};
    kc_kernel *linear = NULL, *normalized = NULL;
    float out[4];

    REQUIRE(kc_kernel_leaf(ctx, "linear", NULL, 0, &linear, NULL) == KC_OK);
    REQUIRE(kc_kernel_normalized(ctx, linear, &normalized, NULL) == KC_OK);
    CHECK(kc_gram(ctx, NULL, normalized, &view, NULL, KC_F32, out, 2, NULL) == KC_ERR_RANGE);
    kc_kernel_free(ctx, linear);
    kc_kernel_free(ctx, normalized);
}

/* Wherever samples come from: a learner may have been told of fewer columns than its kernel reads.
 */
static void samples_without_a_column_that_is_read_are_refused(void)
{
    kc_kernel *kernel = make_mixed();
    ref_samples x = ref_random(3, N, 20, 1, KC_F64);
    ref_view view = ref_view_make(&x, REF_DENSE, KC_F64);
    kc_packed packed;
    kc_error err = {0};
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, NULL, "pack", &err) == KC_OK);
    CHECK(kc_call_end(&call, kc_prepare(&call, kernel, &view.points, NULL, KC_F64, &packed)) ==
          KC_ERR_SHAPE);
    CHECK(strcmp(err.text, "the kernel reads column 90, X has 20 columns") == 0);
    CHECK(packed.n == 0 && packed.n_parts == 0);
    kc_packed_free(ctx, &packed);
    ref_view_free(&view);
    ref_samples_free(&x);
    kc_kernel_free(ctx, kernel);
}

static void is_refused(const int32_t *list, int64_t n, const char *text)
{
    kc_kernel *kernel = make_mixed(), *on = NULL;
    kc_error err = {0};

    CHECK(kc_kernel_on(ctx, kernel, list, n, &on, &err) == KC_ERR_ARG && on == NULL);
    CHECK(strcmp(err.text, text) == 0);
    kc_kernel_free(ctx, kernel);
}

static void columns_that_cannot_be_are_refused(void)
{
    is_refused(NULL, 1, "columns is NULL");
    is_refused((const int32_t[]){0}, 0, "n is 0, must be 1 to 2147483647");
    is_refused((const int32_t[]){3, -1}, 2, "columns[1] is -1, must not be negative");
    is_refused((const int32_t[]){3, 1, 3}, 3, "columns has 3 twice");
    is_refused((const int32_t[]){3, 1}, 2, "the kernel reads column 90 of 2 columns");
}

/* As many as there are leaves, here one for each column. */
static void every_leaf_may_read_something_else(void)
{
    const double gamma = 1;
    kc_kernel *rbf = NULL, *parts[D], *sum = NULL;
    ref_samples x = ref_random(3, N, D, 1, KC_F64);
    ref_view view = ref_view_make(&x, REF_DENSE, KC_F64);
    double *values = malloc(N * N * sizeof *values);

    REQUIRE(kc_kernel_leaf(ctx, "rbf", &gamma, 1, &rbf, NULL) == KC_OK);
    for (int32_t k = 0; k < (int32_t)D; k++)
        REQUIRE(kc_kernel_on(ctx, rbf, &k, 1, &parts[k], NULL) == KC_OK);
    REQUIRE(kc_kernel_sum(ctx, (const kc_kernel *const *)parts, (int32_t)D, &sum, NULL) == KC_OK);
    CHECK(kc_gram(ctx, NULL, sum, &view.points, NULL, KC_F64, values, (int64_t)N, NULL) == KC_OK);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double expected = 0;

            for (size_t t = 0; t < D; t++)
                expected += exp(-pow(x.x[i * D + t] - x.x[j * D + t], 2));
            CHECK(fabs(values[i * N + j] - expected) < 1e-12 * (double)D);
        }
    kc_kernel_free(ctx, sum);
    kc_kernel_free(ctx, rbf);
    for (size_t k = 0; k < D; k++)
        kc_kernel_free(ctx, parts[k]);
    free(values);
    ref_view_free(&view);
    ref_samples_free(&x);
}

int main(void)
{
    ctx = new_context();
    RUN(values_are_those_of_the_columns_in_every_storage);
    RUN(the_diagonal_has_the_bits_of_the_matrix);
    RUN(growing_points_have_the_same_parts);
    RUN(a_negative_self_value_is_refused_by_row);
    RUN(self_values_that_are_too_small_overflow);
    RUN(samples_without_a_column_that_is_read_are_refused);
    RUN(columns_that_cannot_be_are_refused);
    RUN(every_leaf_may_read_something_else);
    kc_context_free(ctx);
    return kc_test_end();
}
