/* kernel/kc_gram.h and api/kc_gram_api.c: whole matrices, however they are cut and dealt.  How soon
 * they stop: test_gram_stop.c. */
#include "kernel/kc_gram.h"

#include <pthread.h>

#include "kernel_case.h"

static kc_context *ctx;
static kc_error err;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

static const ref_node leaves[] = {
    {.op = OP_LINEAR},
    {.op = OP_RBF, .gamma = 0.05},
    {.op = OP_POLYNOMIAL, .gamma = 0.05, .coef0 = 0.5, .degree = 3},
    {.op = OP_SIGMOID, .gamma = 0.05, .coef0 = 0.1},
    {.op = OP_LAPLACIAN, .gamma = 0.02},
};

/* K(x, z), or K(x, x) where z is NULL, with so many threads; the caller frees it. */
static void *gram(const kc_kernel *kernel, const kc_points *x, const kc_points *z, kc_dtype dtype,
                  int32_t n_threads)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
    const int64_t n_cols = z != NULL ? z->n_rows : x->n_rows;
    void *out = malloc((size_t)(x->n_rows * n_cols) * kc_dtype_bytes(dtype));

    memset(out, 0xff, (size_t)(x->n_rows * n_cols) * kc_dtype_bytes(dtype));
    CHECK(kc_gram(ctx, &run, kernel, x, z, dtype, out, n_cols, &err) == KC_OK);
    return out;
}

/* ---- Values ------------------------------------------------------------------------------- */

static void values_are_within_their_bounds(void)
{
    ref_samples x = ref_random(1, 100, 30, 0.3, KC_F32), z = ref_random(2, 40, 30, 0.3, KC_F32);

    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < COUNT(leaves); l++) {
            ref_view vx = ref_view_make(&x, REF_DENSE, KC_F32);
            ref_view vz = ref_view_make(&z, REF_CSR, KC_F64); /* types may differ from each other */
            kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
            void *out = gram(kernel, &vx.points, &vz.points, dtypes[k], 2);

            CHECK(worst_excess(&leaves[l], 1, out, &x, &z, dtypes[k]) <= 1);
            free(out);
            kc_kernel_free(ctx, kernel);
            ref_view_free(&vx);
            ref_view_free(&vz);
        }
    ref_samples_free(&x);
    ref_samples_free(&z);
}

static void every_form_of_the_samples_gives_the_same_bits(void)
{
    enum { N_X = 101, N_Z = 67, D = 71 };
    ref_samples x = ref_random(3, N_X, D, 0.3, KC_F32), z = ref_random(4, N_Z, D, 0.3, KC_F32);

    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < COUNT(leaves); l++) {
            kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
            void *expected = NULL;

            for (int form = 0; form < 4 * REF_N_FORMS; form++) {
                ref_view vx = ref_view_make(&x, (ref_form)(form % REF_N_FORMS), dtypes[form % 2]);
                ref_view vz =
                    ref_view_make(&z, (ref_form)((form / 4) % REF_N_FORMS), dtypes[form / 2 % 2]);
                void *out = gram(kernel, &vx.points, &vz.points, dtypes[k], 0);

                if (expected == NULL)
                    expected = out;
                CHECK(is_same(out, expected, N_X * N_Z, dtypes[k]));
                if (out != expected)
                    free(out);
                ref_view_free(&vx);
                ref_view_free(&vz);
            }
            free(expected);
            kc_kernel_free(ctx, kernel);
        }
    ref_samples_free(&x);
    ref_samples_free(&z);
}

/* Sizes around the chunks' edges, which narrow with the number of features. */
static void check_symmetric(size_t n, size_t d, ref_form form, kc_dtype dtype)
{
    ref_samples x = ref_random(n, n, d, 0.2, dtype);
    ref_view view = ref_view_make(&x, form, dtype), copy = ref_view_make(&x, form, dtype);

    for (size_t l = 0; l < COUNT(leaves); l++) {
        kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
        void *half = gram(kernel, &view.points, NULL, dtype, 2);
        void *whole = gram(kernel, &view.points, &copy.points, dtype, 2);
        void *same = gram(kernel, &view.points, &view.points, dtype, 1);
        double *diag = malloc(n * sizeof *diag);
        size_t n_other = 0;

        CHECK(is_same(half, whole, n * n, dtype));
        CHECK(is_same(half, same, n * n, dtype));
        CHECK(kc_diag(ctx, NULL, kernel, &view.points, dtype, diag, &err) == KC_OK);
        for (size_t i = 0; i < n; i++) {
            const double value = ref_get(half, i * n + i, dtype);

            n_other += ref_get(diag, i, dtype) != value;
            n_other += leaves[l].gamma > 0 && leaves[l].coef0 == 0 && value != 1;
            for (size_t j = 0; j < i; j++)
                n_other += ref_get(half, i * n + j, dtype) != ref_get(half, j * n + i, dtype);
        }
        CHECK(n_other == 0);
        free(diag);
        free(half);
        free(whole);
        free(same);
        kc_kernel_free(ctx, kernel);
    }
    ref_view_free(&view);
    ref_view_free(&copy);
    ref_samples_free(&x);
}

static void k_of_x_with_itself_is_symmetric_and_one_on_the_diagonal(void)
{
    static const size_t sizes[] = {1, 2, 47, 48, 49, 95, 96, 97, 144, 193, 300};

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < COUNT(sizes); i++) {
            check_symmetric(sizes[i], 3, REF_DENSE, dtypes[k]);
            check_symmetric(sizes[i], 40, REF_CSR, dtypes[k]);
        }
    for (size_t k = 0; k < 2; k++) {
        check_symmetric(130, 5000, REF_DENSE, dtypes[k]);
        check_symmetric(60, 30000, REF_DENSE, dtypes[k]);
        check_symmetric(130, 5000, REF_CSR, dtypes[k]);
    }
}

static void a_value_does_not_depend_on_the_number_of_threads(void)
{
    enum { N_X = 500, N_Z = 450 };

    for (size_t k = 0; k < 2; k++)
        for (int form = REF_DENSE; form <= REF_CSR; form += REF_CSR)
            for (size_t l = 0; l < COUNT(leaves); l++) {
                ref_samples x = ref_random(5, N_X, 70, 0.2, dtypes[k]);
                ref_samples z = ref_random(6, N_Z, 70, 0.2, dtypes[k]);
                ref_view vx = ref_view_make(&x, (ref_form)form, dtypes[k]);
                ref_view vz = ref_view_make(&z, (ref_form)form, dtypes[k]);
                kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
                void *expected = gram(kernel, &vx.points, &vz.points, dtypes[k], 1);

                for (int32_t n_threads = 2; n_threads <= 8; n_threads++) {
                    void *out = gram(kernel, &vx.points, &vz.points, dtypes[k], n_threads);

                    CHECK(is_same(out, expected, N_X * N_Z, dtypes[k]));
                    free(out);
                }
                free(expected);
                kc_kernel_free(ctx, kernel);
                ref_view_free(&vx);
                ref_view_free(&vz);
                ref_samples_free(&x);
                ref_samples_free(&z);
            }
}

/* Rows in another order, and a batch cut in two, move the values and change none. */
static void a_value_does_not_depend_on_its_batch(void)
{
    enum { N = 130, D = 29 };

    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < COUNT(leaves); l++) {
            const int64_t row_bytes = (int64_t)(D * kc_dtype_bytes(dtypes[k]));
            ref_samples x = ref_random(7, N, D, 1.0, dtypes[k]);
            ref_view view = ref_view_make(&x, REF_DENSE, dtypes[k]);
            kc_points turned = view.points, part = view.points;
            kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
            void *all = gram(kernel, &view.points, NULL, dtypes[k], 2), *back, *cut;
            size_t n_other = 0;

            turned.values = (const char *)turned.values + (N - 1) * row_bytes;
            turned.row_stride = -row_bytes;
            back = gram(kernel, &turned, NULL, dtypes[k], 1);
            part.values = (const char *)part.values + 53 * row_bytes;
            part.n_rows = N - 53;
            cut = gram(kernel, &part, &view.points, dtypes[k], 1);
            for (size_t i = 0; i < N * N; i++)
                n_other += ref_get(all, i, dtypes[k]) != ref_get(back, N * N - 1 - i, dtypes[k]);
            for (size_t i = 53 * N; i < N * N; i++)
                n_other += ref_get(all, i, dtypes[k]) != ref_get(cut, i - 53 * N, dtypes[k]);
            CHECK(n_other == 0);
            free(all);
            free(back);
            free(cut);
            kc_kernel_free(ctx, kernel);
            ref_view_free(&view);
            ref_samples_free(&x);
        }
}

static void what_lies_between_the_rows_of_out_is_left_alone(void)
{
    enum { N = 101, LD = N + 5 };
    ref_samples x = ref_random(8, N, 30, 0.2, KC_F32);

    for (int form = REF_DENSE; form <= REF_CSR; form += REF_CSR)
        for (size_t l = 0; l < COUNT(leaves); l++)
            for (size_t k = 0; k < 2; k++) {
                ref_view view = ref_view_make(&x, (ref_form)form, KC_F32);
                kc_kernel *kernel = new_kernel(ctx, &leaves[l], 1);
                double *out = malloc(N * LD * sizeof *out);
                void *expected = gram(kernel, &view.points, NULL, dtypes[k], 1);
                size_t n_other = 0;

                for (size_t i = 0; i < N * LD; i++)
                    ref_put(out, i, dtypes[k], 1234.5);
                CHECK(kc_gram(ctx, NULL, kernel, &view.points, NULL, dtypes[k], out, LD, &err) ==
                      KC_OK);
                for (size_t i = 0; i < N * LD; i++)
                    n_other +=
                        ref_get(out, i, dtypes[k]) !=
                        (i % LD < N ? ref_get(expected, i / LD * N + i % LD, dtypes[k]) : 1234.5);
                CHECK(n_other == 0);
                free(out);
                free(expected);
                kc_kernel_free(ctx, kernel);
                ref_view_free(&view);
            }
    ref_samples_free(&x);
}

/* ---- Several callers at once -------------------------------------------------------------- */

typedef struct caller {
    const kc_kernel *kernel;
    const kc_points *x;
    const void *expected;
    size_t n_other;
} caller;

static void *call_often(void *data)
{
    caller *c = data;
    const size_t n = (size_t)c->x->n_rows;
    float *out = malloc(n * n * sizeof *out);

    for (int i = 0; i < 10; i++) {
        const kc_run run = {.struct_size = sizeof run, .n_threads = 1 + i % 3};

        memset(out, 0xff, n * n * sizeof *out);
        c->n_other +=
            kc_gram(ctx, &run, c->kernel, c->x, NULL, KC_F32, out, (int64_t)n, NULL) != KC_OK ||
            !is_same(out, c->expected, n * n, KC_F32);
    }
    free(out);
    return NULL;
}

static void many_threads_may_use_one_kernel_and_one_context(void)
{
    ref_samples x = ref_random(9, 300, 50, 0.2, KC_F32);
    ref_view views[2] = {ref_view_make(&x, REF_CSR_UNSORTED, KC_F32),
                         ref_view_make(&x, REF_DENSE, KC_F32)};
    kc_kernel *kernel = new_kernel(ctx, &leaves[1], 1);
    void *expected = gram(kernel, &views[0].points, NULL, KC_F32, 1);
    caller callers[8];
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++) {
        callers[i] = (caller){.kernel = kernel, .x = &views[i % 2].points, .expected = expected};
        CHECK(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
    }
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        CHECK(callers[i].n_other == 0);
    }
    free(expected);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&views[0]);
    ref_view_free(&views[1]);
    ref_samples_free(&x);
}

/* ---- Refusals ----------------------------------------------------------------------------- */

typedef struct arguments {
    kc_context *ctx;
    const kc_run *run;
    const kc_kernel *kernel;
    const kc_points *x, *z;
    kc_dtype dtype;
    void *out;
    int64_t ld;
} arguments;

/* kc_gram, and kc_diag where `for_diag` says that it must refuse the same, in these words. */
static bool is_refused(const arguments *a, bool for_diag, kc_status status, const char *text)
{
    kc_error said = {0};
    bool is_right =
        kc_gram(a->ctx, a->run, a->kernel, a->x, a->z, a->dtype, a->out, a->ld, &said) == status &&
        said.status == status && strcmp(said.text, text) == 0;

    if (is_right && for_diag)
        is_right = kc_diag(a->ctx, a->run, a->kernel, a->x, a->dtype, a->out, &said) == status &&
                   strcmp(said.text, text) == 0;
    if (!is_right)
        printf("    said: %s\n", said.text);
    return is_right;
}

static void arguments_are_checked_by_name(void)
{
    const double x[] = {1, 2, 3, 4, 5, 6};
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_DENSE,
                              .dtype = KC_F64,
                              .n_rows = 2,
                              .n_cols = 3,
                              .values = x,
                              .row_stride = 24,
                              .col_stride = 8,
                              .name = "X"};
    kc_points other = points;
    kc_kernel *kernel = new_kernel(ctx, &leaves[0], 1);
    double out[4];
    const arguments good = {ctx, NULL, kernel, &points, NULL, KC_F64, out, 2};
    arguments bad = good;

    bad.ctx = NULL;
    CHECK(is_refused(&bad, true, KC_ERR_ARG, "ctx is NULL"));
    bad = good;
    bad.kernel = NULL;
    CHECK(is_refused(&bad, true, KC_ERR_ARG, "kernel is NULL"));
    bad = good;
    bad.x = NULL;
    CHECK(is_refused(&bad, true, KC_ERR_ARG, "x is NULL"));
    bad = good;
    bad.out = NULL;
    CHECK(is_refused(&bad, true, KC_ERR_ARG, "out is NULL"));
    bad = good;
    bad.dtype = (kc_dtype)0;
    CHECK(is_refused(&bad, true, KC_ERR_TYPE, "out_dtype is 0, must be KC_F32 or KC_F64"));
    bad = good;
    bad.ld = 1;
    CHECK(is_refused(&bad, false, KC_ERR_SHAPE, "out_ld is 1, must be at least 2"));
    bad = good;
    bad.z = &other;
    other.n_cols = 2;
    other.name = NULL;
    CHECK(is_refused(&bad, false, KC_ERR_SHAPE, "X has 3 columns, points has 2"));
    other.storage = KC_STRINGS;
    CHECK(is_refused(
        &bad, false, KC_ERR_TYPE,
        "points holds strings, the kernel linear takes numbers: take a kernel of strings, such as "
        "delta"));
    bad.x = &other;
    bad.z = NULL;
    CHECK(is_refused(
        &bad, true, KC_ERR_TYPE,
        "points holds strings, the kernel linear takes numbers: take a kernel of strings, such as "
        "delta"));
    other = points;
    other.n_rows = 0;
    CHECK(is_refused(&bad, true, KC_ERR_SHAPE, "X has 0 rows, must have at least 1"));
    kc_kernel_free(ctx, kernel);
}

static void a_run_of_another_version_is_read_or_refused(void)
{
    const double x = 1;
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_DENSE,
                              .dtype = KC_F64,
                              .n_rows = 1,
                              .n_cols = 1,
                              .values = &x};
    kc_kernel *kernel = new_kernel(ctx, &leaves[0], 1);
    double out;
    struct {
        kc_run run;
        int64_t later;
    } newer = {.run = {.struct_size = sizeof newer}};
    kc_run run = {.struct_size = offsetof(kc_run, time_limit), .time_limit = NAN};
    const arguments a = {ctx, &run, kernel, &points, NULL, KC_F64, &out, 1};
    arguments b = a;
    char text[200];

    CHECK(kc_gram(ctx, &run, kernel, &points, NULL, KC_F64, &out, 1, NULL) == KC_OK);
    CHECK(kc_gram(ctx, &newer.run, kernel, &points, NULL, KC_F64, &out, 1, NULL) == KC_OK);
    newer.later = 1;
    b.run = &newer.run;
    snprintf(text, sizeof text,
             "run.struct_size is %zu with a field set that this version (%zu) does not know",
             sizeof newer, sizeof run);
    CHECK(is_refused(&b, true, KC_ERR_ARG, text));
    run.struct_size = 0;
    snprintf(text, sizeof text, "run.struct_size is 0, must be sizeof: %zu here", sizeof run);
    CHECK(is_refused(&a, true, KC_ERR_ARG, text));
    run = (kc_run){.struct_size = sizeof run, .n_threads = -1};
    CHECK(is_refused(&a, true, KC_ERR_ARG, "run.n_threads is -1, must be 0 or more"));
    run = (kc_run){.struct_size = sizeof run, .time_limit = -2};
    CHECK(is_refused(&a, true, KC_ERR_ARG, "run.time_limit is -2, must be 0 or more"));
    kc_kernel_free(ctx, kernel);
}

static void values_that_overflow_name_the_first_pair(void)
{
    enum { N = 200 };
    const ref_node poly = {.op = OP_POLYNOMIAL, .gamma = 1, .degree = 4};
    const ref_node hidden[] = {poly, {.op = OP_POW, .degree = 0}};
    kc_kernel *kernel = new_kernel(ctx, &poly, 1), *other = new_kernel(ctx, hidden, 2);
    static float x[N], out[N * N];
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_DENSE,
                              .dtype = KC_F32,
                              .n_rows = N,
                              .n_cols = 1,
                              .values = x,
                              .row_stride = sizeof *x,
                              .name = "X"};
    arguments a = {ctx, NULL, kernel, &points, NULL, KC_F32, out, N};

    for (size_t i = 0; i < N; i++)
        x[i] = i == 120 || i == 150 ? 1e10f : 1.0f;
    CHECK(is_refused(&a, false, KC_ERR_RANGE,
                     "kernel of X row 0 and X row 120 overflows float32; scale the data, or lower "
                     "gamma or the degree"));
    CHECK(kc_diag(ctx, NULL, kernel, &points, KC_F32, out, &err) == KC_ERR_RANGE);
    CHECK(strcmp(err.text, "kernel of X row 120 and X row 120 overflows float32; scale the data, "
                           "or lower gamma or the degree") == 0);
    a.kernel = other;
    CHECK(is_refused(&a, true, KC_ERR_RANGE,
                     "kernel of X and X: a term overflows float32; scale the data, or lower gamma "
                     "or the degree"));
    a.dtype = KC_F64; /* and there it fits */
    CHECK(kc_diag(ctx, NULL, other, &points, KC_F64, out, &err) == KC_OK);
    kc_kernel_free(ctx, kernel);
    kc_kernel_free(ctx, other);
}

int main(void)
{
    ctx = new_context();
    RUN(values_are_within_their_bounds);
    RUN(every_form_of_the_samples_gives_the_same_bits);
    RUN(k_of_x_with_itself_is_symmetric_and_one_on_the_diagonal);
    RUN(a_value_does_not_depend_on_the_number_of_threads);
    RUN(a_value_does_not_depend_on_its_batch);
    RUN(what_lies_between_the_rows_of_out_is_left_alone);
    RUN(many_threads_may_use_one_kernel_and_one_context);
    RUN(arguments_are_checked_by_name);
    RUN(a_run_of_another_version_is_read_or_refused);
    RUN(values_that_overflow_name_the_first_pair);
    kc_context_free(ctx);
    return kc_test_end();
}
