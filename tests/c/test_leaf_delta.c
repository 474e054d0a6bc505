/* The delta kernel of strings, alone and in kernels of tables: values from the definition, and the
 * same bits however they are computed. */
#include "kernel/kc_leaf.h"
#include "kernel_case.h"
#include "table_case.h"

#define N ((size_t)70)

static kc_context *ctx;

static double at(const void *k, size_t i, kc_dtype dtype)
{
    return ref_get(k, i, dtype);
}

static void a_value_is_1_where_strings_are_equal_else_0(void)
{
    kc_kernel *kernel = delta_kernel(ctx);

    for (int dtype = KC_F32; dtype <= KC_F64; dtype++) {
        table_strings x = table_strings_make(1, N), z = table_strings_make(2, N + 9);
        double *k = malloc(N * (N + 9) * sizeof *k), *own = malloc(N * N * sizeof *own);
        double diag[N];
        size_t n_equal = 0;

        CHECK(kc_gram(ctx, NULL, kernel, &x.points, &z.points, (kc_dtype)dtype, k, N + 9, NULL) ==
              KC_OK);
        CHECK(kc_gram(ctx, NULL, kernel, &x.points, NULL, (kc_dtype)dtype, own, N, NULL) == KC_OK);
        CHECK(kc_diag(ctx, NULL, kernel, &x.points, (kc_dtype)dtype, diag, NULL) == KC_OK);
        for (size_t i = 0; i < N; i++) {
            CHECK(at(diag, i, (kc_dtype)dtype) == 1);
            for (size_t j = 0; j < N + 9; j++) {
                const bool are_equal = table_strings_equal(&x, i, &z, j);

                n_equal += are_equal;
                CHECK(at(k, i * (N + 9) + j, (kc_dtype)dtype) == are_equal);
            }
            for (size_t j = 0; j < N; j++)
                CHECK(at(own, i * N + j, (kc_dtype)dtype) == table_strings_equal(&x, i, &x, j));
        }
        CHECK(n_equal > N && n_equal < N * N);
        free(k);
        free(own);
        table_strings_free(&x);
        table_strings_free(&z);
    }
    kc_kernel_free(ctx, kernel);
}

/* A view of strings without a byte may have no bytes to point at. */
static void empty_strings_are_equal_to_each_other_alone(void)
{
    const int64_t nothing[] = {0, 0, 0}, last[] = {0, 0, 1};
    const kc_points empty = {.struct_size = sizeof empty,
                             .storage = KC_STRINGS,
                             .n_rows = 2,
                             .indptr = nothing,
                             .index_bytes = 8};
    kc_points other = empty;
    kc_kernel *kernel = delta_kernel(ctx);
    double k[4];

    other.values = "";
    other.n_values = 1;
    other.indptr = last;
    CHECK(kc_gram(ctx, NULL, kernel, &empty, NULL, KC_F64, k, 2, NULL) == KC_OK);
    CHECK(k[0] == 1 && k[1] == 1 && k[2] == 1 && k[3] == 1);
    CHECK(kc_gram(ctx, NULL, kernel, &empty, &other, KC_F64, k, 2, NULL) == KC_OK);
    CHECK(k[0] == 1 && k[1] == 0 && k[2] == 1 && k[3] == 0);
    kc_kernel_free(ctx, kernel);
}

static void strings_that_differ_behind_a_byte_of_0_are_different(void)
{
    const int64_t indptr[] = {0, 2, 4, 5};
    const kc_points x = {.struct_size = sizeof x,
                         .storage = KC_STRINGS,
                         .n_rows = 3,
                         .values = "\0a\0b\0",
                         .indptr = indptr,
                         .index_bytes = 8,
                         .n_values = 5};
    kc_kernel *kernel = delta_kernel(ctx);
    double k[9];

    CHECK(kc_gram(ctx, NULL, kernel, &x, NULL, KC_F64, k, 3, NULL) == KC_OK);
    for (size_t i = 0; i < 9; i++)
        CHECK(k[i] == (i % 4 == 0));
    kc_kernel_free(ctx, kernel);
}

/* ---- Tables -------------------------------------------------------------------------------- */

/* exp of a distance of three terms, a product and a sum. */
static double bound_of(const table *x, size_t i, const table *z, size_t j, kc_dtype dtype)
{
    const double u = dtype == KC_F64 ? 0x1p-53 : 0x1p-24;
    const double linear = fabs(x->right.x[i * TABLE_RIGHT] * z->right.x[j * TABLE_RIGHT]);

    return 40 * u * (1 + linear);
}

static void a_kernel_of_a_table_has_the_values_of_its_definition(void)
{
    kc_kernel *kernel = table_kernel(ctx);

    for (int k = 0; k < 8; k++) {
        const kc_dtype left = k & 1 ? KC_F32 : KC_F64, right = k & 2 ? KC_F32 : KC_F64;
        const kc_dtype dtype = k & 4 ? KC_F64 : KC_F32;
        double *out = malloc(N * (N + 5) * sizeof *out);
        table x, z;

        table_make(&x, 3, N, KC_F32, KC_F32); /* numbers of either type */
        table_make(&z, 4, N + 5, left, right);
        CHECK(kc_gram(ctx, NULL, kernel, x.parts, z.parts, dtype, out, N + 5, NULL) == KC_OK);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N + 5; j++)
                if (dtype == KC_F64 || (left == KC_F32 && right == KC_F32))
                    CHECK_NEAR(ref_get(out, i * (N + 5) + j, dtype),
                               (double)table_value(&x, i, &z, j), bound_of(&x, i, &z, j, dtype));
        free(out);
        table_free(&x);
        table_free(&z);
    }
    kc_kernel_free(ctx, kernel);
}

static void threads_order_and_batches_do_not_change_a_bit(void)
{
    const size_t n = 400;
    const kc_run three = {.struct_size = sizeof three, .n_threads = 3};
    kc_kernel *kernel = table_kernel(ctx);
    double *k = malloc(n * n * sizeof *k), *other = malloc(n * n * sizeof *other);
    double *diag = malloc(n * sizeof *diag);
    table t, backwards;

    table_make(&t, 5, n, KC_F64, KC_F32);
    table_make(&backwards, 5, n, KC_F64, KC_F32);
    CHECK(kc_gram(ctx, NULL, kernel, t.parts, NULL, KC_F64, k, (int64_t)n, NULL) == KC_OK);
    CHECK(kc_gram(ctx, &three, kernel, t.parts, NULL, KC_F64, other, (int64_t)n, NULL) == KC_OK);
    CHECK(memcmp(k, other, n * n * sizeof *k) == 0);
    CHECK(kc_gram(ctx, &three, kernel, t.parts, backwards.parts, KC_F64, other, (int64_t)n, NULL) ==
          KC_OK);
    CHECK(memcmp(k, other, n * n * sizeof *k) == 0);
    CHECK(kc_diag(ctx, NULL, kernel, t.parts, KC_F64, diag, NULL) == KC_OK);
    for (size_t i = 0; i < n; i++) {
        CHECK(diag[i] == k[i * n + i]);
        for (size_t j = 0; j < i; j++)
            CHECK(k[i * n + j] == k[j * n + i]);
    }
    for (size_t p = 0; p < 3; p++) /* the first 7 rows alone */
        backwards.parts[p].n_rows = 7;
    CHECK(kc_gram(ctx, NULL, kernel, backwards.parts, t.parts, KC_F64, other, (int64_t)n, NULL) ==
          KC_OK);
    CHECK(memcmp(k, other, 7 * n * sizeof *k) == 0);
    free(k);
    free(other);
    free(diag);
    table_free(&t);
    table_free(&backwards);
    kc_kernel_free(ctx, kernel);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static bool is_refused(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                       kc_status status, const char *words)
{
    double out[16];
    kc_error err = {0};
    const bool is_right = kc_gram(ctx, NULL, kernel, x, z, KC_F64, out, 2, &err) == status &&
                          strstr(err.text, words) != NULL;

    if (!is_right)
        printf("    said: %s\n", err.text);
    return is_right;
}

static void a_leaf_is_refused_by_the_column_that_it_cannot_take(void)
{
    const int32_t numbers[] = {3}, both[] = {TABLE_STRINGS, 3}, beyond[] = {6};
    kc_kernel *delta = delta_kernel(ctx), *linear = NULL, *on = NULL;
    table t;

    table_make(&t, 6, 2, KC_F64, KC_F64);
    CHECK(kc_kernel_leaf(ctx, "linear", NULL, 0, &linear, NULL) == KC_OK);
    t.strings.points.name = "Z";
    CHECK(is_refused(delta, &t.views[0].points, NULL, KC_ERR_TYPE,
                     "X holds numbers, the kernel delta takes strings: take a kernel of"));
    CHECK(is_refused(linear, &t.strings.points, NULL, KC_ERR_TYPE,
                     "Z holds strings, the kernel linear takes numbers: take a kernel of strings"));
    CHECK(is_refused(delta, t.parts, NULL, KC_ERR_TYPE, "say on which columns it is"));
    CHECK(is_refused(linear, t.parts, NULL, KC_ERR_TYPE, "say on which columns it is"));
    CHECK(kc_kernel_on(ctx, delta, numbers, 1, &on, NULL) == KC_OK);
    CHECK(is_refused(on, t.parts, NULL, KC_ERR_TYPE, "column 3 of X holds numbers, the kernel "));
    kc_kernel_free(ctx, on);
    CHECK(kc_kernel_on(ctx, linear, both, 2, &on, NULL) == KC_OK);
    CHECK(is_refused(on, t.parts, NULL, KC_ERR_TYPE,
                     "columns 2 and 3 of X together, of which one holds strings"));
    kc_kernel_free(ctx, on);
    CHECK(kc_kernel_on(ctx, linear, beyond, 1, &on, NULL) == KC_OK);
    CHECK(is_refused(on, t.parts, NULL, KC_ERR_SHAPE, "reads column 6, X has 6 columns"));
    kc_kernel_free(ctx, on);
    kc_kernel_free(ctx, delta);
    kc_kernel_free(ctx, linear);
    table_free(&t);
}

static void a_number_that_is_not_finite_is_named_by_its_column_of_the_table(void)
{
    kc_kernel *kernel = table_kernel(ctx);
    table t;

    table_make(&t, 7, 2, KC_F64, KC_F64);
    ref_put((double *)t.views[1].owned[0], TABLE_RIGHT + 1, KC_F64, NAN);
    CHECK(is_refused(kernel, t.parts, NULL, KC_ERR_NONFINITE, "X: row 1, column 4 is NaN"));
    kc_kernel_free(ctx, kernel);
    table_free(&t);
}

int main(void)
{
    ctx = new_context();
    RUN(a_value_is_1_where_strings_are_equal_else_0);
    RUN(empty_strings_are_equal_to_each_other_alone);
    RUN(strings_that_differ_behind_a_byte_of_0_are_different);
    RUN(a_kernel_of_a_table_has_the_values_of_its_definition);
    RUN(threads_order_and_batches_do_not_change_a_bit);
    RUN(a_leaf_is_refused_by_the_column_that_it_cannot_take);
    RUN(a_number_that_is_not_finite_is_named_by_its_column_of_the_table);
    kc_context_free(ctx);
    return kc_test_end();
}
