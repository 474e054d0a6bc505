/* data/kc_reading.c, data/kc_reading_steps.c, kernel/kc_kernel_on.c: what a leaf reads of a sample
 * is made of its columns once, the same whatever the storage. */
#include "kernel/kc_prepare.h"
#include "kernel_case.h"
#include "reading_case.h"
#include "table_case.h"

#define N ((size_t)37)
#define D ((size_t)100) /* sparse where few values are there */

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};
static const ref_form forms[] = {REF_DENSE, REF_FORTRAN, REF_CSR, REF_CSR_UNSORTED};
static const double periods[] = {0.7, 1, 2.5};

/* ---- Steps joined --------------------------------------------------------------------------- */

/* The reading that `first` before the others of the list makes; of how many steps. */
static size_t join(const readings *first, const readings *then, kc_step_list *out)
{
    static uint64_t room[4096];
    const kc_readings one = readings_list(first), others = readings_list(then);
    const kc_step_list step = kc_reading_at(&one, 0), rest = kc_reading_at(&others, 0);
    size_t n = 0;

    memset(room, 0, sizeof room);
    *out = (kc_step_list){(const kc_step *)(const void *)room, 0};
    CHECK(kc_reading_join(step.steps, &rest, room, &out->n_bytes, NULL) == KC_OK);
    KC_EACH_STEP(s, out)
    n++;
    return n;
}

static void selections_that_follow_each_other_are_one(void)
{
    readings a = {0}, b = {0};
    kc_step_list both;

    readings_add(&a, KC_STEP_SELECT, 0, 4, (const int32_t[]){9, 7, 5, 3});
    readings_add(&b, KC_STEP_SELECT, 0, 2, (const int32_t[]){3, 1});
    CHECK(join(&a, &b, &both) == 1);
    CHECK(both.steps->n_out == 2);
    CHECK(kc_step_columns(both.steps)[0] == 3 && kc_step_columns(both.steps)[1] == 7);
}

static void a_selection_goes_before_factors(void)
{
    readings a = {0}, b = {0};
    kc_step_list both;
    const kc_step *second;

    readings_add(&a, KC_STEP_SCALE, 3, 3, (const double[]){1, 2, 3});
    readings_add(&b, KC_STEP_SELECT, 0, 2, (const int32_t[]){2, 0});
    CHECK(join(&a, &b, &both) == 2);
    second = kc_step_next(both.steps);
    CHECK(both.steps->kind == KC_STEP_SELECT && kc_step_columns(both.steps)[0] == 2);
    CHECK(second->kind == KC_STEP_SCALE && second->n_in == 2 && second->n_out == 2);
    CHECK(kc_step_numbers(second)[0] == 3 && kc_step_numbers(second)[1] == 1);
}

static void a_selection_of_a_map_is_some_rows_of_it(void)
{
    readings a = {0}, b = {0};
    kc_step_list both;

    readings_add(&a, KC_STEP_MAP, 2, 3, (const double[]){1, 2, 3, 4, 5, 6});
    readings_add(&b, KC_STEP_SELECT, 0, 1, (const int32_t[]){2});
    CHECK(join(&a, &b, &both) == 1);
    CHECK(both.steps->n_in == 2 && both.steps->n_out == 1);
    CHECK(kc_step_numbers(both.steps)[0] == 5 && kc_step_numbers(both.steps)[1] == 6);
}

/* ---- Values --------------------------------------------------------------------------------- */

static kc_kernel *leaf(const char *name)
{
    kc_kernel *kernel = NULL;

    CHECK(kc_kernel_leaf(ctx, name, NULL, 0, &kernel, NULL) == KC_OK);
    return kernel;
}

/* The status is known before what was made is read. */
static kc_kernel *replace(kc_kernel *kernel, kc_status status, kc_kernel *const *made)
{
    CHECK(status == KC_OK);
    kc_kernel_free(ctx, kernel);
    return *made;
}

static kc_kernel *on_factors(kc_kernel *kernel, const double *factors, size_t n)
{
    kc_kernel *made = NULL;

    return replace(kernel, kc_kernel_on_factors(ctx, kernel, factors, (int64_t)n, &made, NULL),
                   &made);
}

static kc_kernel *on_map(kc_kernel *kernel, const double *matrix, size_t m, size_t d)
{
    kc_kernel *made = NULL;

    return replace(
        kernel, kc_kernel_on_map(ctx, kernel, matrix, (int64_t)m, (int64_t)d, &made, NULL), &made);
}

static kc_kernel *on_period(kc_kernel *kernel, const double *list, size_t n)
{
    kc_kernel *made = NULL;

    return replace(kernel, kc_kernel_on_period(ctx, kernel, list, (int64_t)n, &made, NULL), &made);
}

static kc_kernel *on(kc_kernel *kernel, const int32_t *columns, size_t n)
{
    kc_kernel *made = NULL;

    return replace(kernel, kc_kernel_on(ctx, kernel, columns, (int64_t)n, &made, NULL), &made);
}

static double some_number(size_t i, size_t t)
{
    return (double)((i * 7 + t * 13) % 11) / 4 - 1;
}

#define M ((size_t)41) /* more rows than lanes, and than tiles */

/* The linear kernel of cosines and sines of three rows of a map of scaled columns. */
static kc_kernel *make_chain(void)
{
    static double factors[D], matrix[M * D];
    kc_kernel *kernel = on_period(leaf("linear"), periods, 3);

    for (size_t t = 0; t < D; t++) {
        factors[t] = 0.25 * (double)(t % 5);
        for (size_t i = 0; i < M; i++)
            matrix[i * D + t] = some_number(i, t);
    }
    kernel = on(kernel, (const int32_t[]){40, 3, 17}, 3);
    return on_factors(on_map(kernel, matrix, M, D), factors, D);
}

static double chain_value(const double *x, const double *z)
{
    static const size_t rows[] = {40, 3, 17};
    double sum = 0;

    for (size_t r = 0; r < 3; r++) {
        double a = 0, b = 0;

        for (size_t t = 0; t < D; t++) {
            a += some_number(rows[r], t) * 0.25 * (double)(t % 5) * x[t];
            b += some_number(rows[r], t) * 0.25 * (double)(t % 5) * z[t];
        }
        sum += cos(2 * M_PI * (a - b) / periods[r]);
    }
    return sum;
}

/* kc_gram of the samples in a form. */
static void *values_of(const kc_kernel *kernel, const ref_samples *x, ref_form form, kc_dtype dtype)
{
    ref_view view = ref_view_make(x, form, dtype);
    void *values = malloc(N * N * sizeof(double));

    kc_error err = {0};
    CHECK(kc_gram(ctx, NULL, kernel, &view.points, NULL, dtype, values, (int64_t)N, &err) == KC_OK);
    if (err.text[0] != 0)
        printf("    said: %s\n", err.text);
    ref_view_free(&view);
    return values;
}

static void a_chain_of_steps_has_the_same_bits_in_every_storage(void)
{
    kc_kernel *kernel = make_chain();

    for (size_t k = 0; k < 2; k++) {
        ref_samples x = ref_random(3, N, D, 0.2, dtypes[k]);
        void *first = values_of(kernel, &x, forms[0], dtypes[k]);

        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                CHECK(fabs(ref_get(first, i * N + j, dtypes[k]) -
                           chain_value(x.x + i * D, x.x + j * D)) <
                      (dtypes[k] == KC_F64 ? 1e-11 : 1e-2));
        for (size_t f = 1; f < COUNT(forms); f++) {
            void *values = values_of(kernel, &x, forms[f], dtypes[k]);

            CHECK(is_same(values, first, N * N, dtypes[k]));
            free(values);
        }
        free(first);
        ref_samples_free(&x);
    }
    kc_kernel_free(ctx, kernel);
}

/* Distances of scaled columns, sparse and dense, are those of columns that the caller scaled. */
static void factors_keep_the_bits_of_scaled_samples(void)
{
    double factors[D];

    for (size_t t = 0; t < D; t++)
        factors[t] = ldexp(1, (int)(t % 5) - 2); /* exact */
    const char *const names[] = {"rbf", "laplacian", "linear"};
    for (size_t n = 0; n < COUNT(names); n++) {
        kc_kernel *plain = leaf(names[n]), *scaled = on_factors(leaf(names[n]), factors, D);
        ref_samples x = ref_random(3, N, D, 0.2, KC_F32), y = ref_random(3, N, D, 0.2, KC_F32);

        for (size_t i = 0; i < N * D; i++)
            y.x[i] *= factors[i % D];
        for (size_t f = 0; f < COUNT(forms); f++) {
            void *expected = values_of(plain, &y, forms[f], KC_F32);
            void *got = values_of(scaled, &x, forms[f], KC_F32);

            CHECK(is_same(got, expected, N * N, KC_F32));
            free(expected);
            free(got);
        }
        ref_samples_free(&x);
        ref_samples_free(&y);
        kc_kernel_free(ctx, plain);
        kc_kernel_free(ctx, scaled);
    }
}

static void angles_are_right_to_the_last_bits(void)
{
    enum { COUNT_X = 4001 };
    static double x[COUNT_X];
    const kc_points view = {.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F64,
                            .n_rows = COUNT_X,
                            .n_cols = 1,
                            .values = x,
                            .row_stride = 8,
                            .col_stride = 8};
    kc_kernel *kernel = on_period(leaf("linear"), (const double[]){1.5}, 1);
    kc_packed packed = {.dtype = KC_F64};
    double worst = 0, room[2];
    kc_call call;

    for (int i = 0; i < COUNT_X; i++)
        x[i] = i < 3000 ? (i - 1500) * 0.00625 : ldexp(1.0 + i / 4096.0, i - 3500);
    CHECK(kc_call_begin(&call, ctx, NULL, "pack", NULL) == KC_OK);
    x[COUNT_X - 1] = 0;
    CHECK(kc_prepare(&call, kernel, &view, NULL, KC_F64, &packed) == KC_OK);
    REQUIRE(packed.n_parts == 1 && packed.parts[0]->d == 2);
    for (size_t i = 0; i < COUNT_X; i++) {
        const long double turn = remainderl(x[i], 1.5L) / 1.5L * 2 * acosl(-1);
        const kc_sample sample = kc_packed_sample(packed.parts[0], i, room);

        worst = fmax(worst, fabs((double)(sample.values[0] - cosl(turn))));
        worst = fmax(worst, fabs((double)(sample.values[1] - sinl(turn))));
    }
    CHECK(worst < 4e-16);
    kc_packed_free(ctx, &packed);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_kernel_free(ctx, kernel);
}

static void equal_readings_share_what_is_packed(void)
{
    const double twice[] = {2, 2, 2};
    const int32_t some[] = {1, 4, 5};
    kc_kernel *a = on(on_factors(leaf("rbf"), twice, 3), some, 3);
    kc_kernel *b = on(on_factors(leaf("linear"), twice, 3), some, 3), *sum = NULL;
    ref_samples x = ref_random(3, N, D, 0.2, KC_F64);
    ref_view view = ref_view_make(&x, REF_CSR, KC_F64);
    kc_packed packed = {.dtype = KC_F64};
    kc_call call;

    REQUIRE(kc_kernel_sum(ctx, (const kc_kernel *const[]){a, b}, 2, &sum, NULL) == KC_OK);
    CHECK(kc_call_begin(&call, ctx, NULL, "pack", NULL) == KC_OK);
    CHECK(kc_prepare(&call, sum, &view.points, NULL, KC_F64, &packed) == KC_OK);
    CHECK(packed.n_parts == 1 && packed.parts[0]->d == 3);
    kc_packed_free(ctx, &packed);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_kernel *const all[] = {a, b, sum};
    for (size_t k = 0; k < COUNT(all); k++)
        kc_kernel_free(ctx, all[k]);
    ref_view_free(&view);
    ref_samples_free(&x);
}

/* ---- Refusals ------------------------------------------------------------------------------- */

static bool says(kc_status status, kc_status expected, const kc_error *err, const char *text)
{
    const bool is_right = status == expected && strcmp(err->text, text) == 0;

    if (!is_right)
        printf("    said: %s\n", err->text);
    return is_right;
}

static void numbers_that_cannot_be_are_refused(void)
{
    kc_kernel *rbf = leaf("rbf"), *three = on_factors(leaf("rbf"), periods, 3), *made = NULL;
    const double bad[] = {1, 2, INFINITY, 0};
    kc_error err = {0};

    CHECK(says(kc_kernel_on_factors(ctx, rbf, bad, 4, &made, &err), KC_ERR_ARG, &err,
               "factors[2] is inf, must be finite"));
    CHECK(says(kc_kernel_on_factors(ctx, rbf, NULL, 4, &made, &err), KC_ERR_ARG, &err,
               "factors is NULL"));
    CHECK(says(kc_kernel_on_map(ctx, rbf, bad, 2, 2, &made, &err), KC_ERR_ARG, &err,
               "matrix: row 1, column 0 is inf, must be finite"));
    CHECK(says(kc_kernel_on_map(ctx, rbf, bad, 0, 2, &made, &err), KC_ERR_ARG, &err,
               "n_rows is 0, must be 1 to 2147483647"));
    CHECK(says(kc_kernel_on_period(ctx, rbf, bad + 3, 1, &made, &err), KC_ERR_ARG, &err,
               "periods[0] is 0, must be finite and > 0"));
    CHECK(says(kc_kernel_on_map(ctx, three, bad, 2, 1, &made, &err), KC_ERR_ARG, &err,
               "the kernel takes 3 columns, 2 are given to it"));
    CHECK(made == NULL);
    kc_kernel_free(ctx, rbf);
    kc_kernel_free(ctx, three);
}

static kc_status gram_of(const kc_kernel *kernel, const kc_points *x, kc_error *err)
{
    float values[N * N];

    return kc_gram(ctx, NULL, kernel, x, NULL, KC_F32, values, (int64_t)x->n_rows, err);
}

static void samples_of_another_width_are_refused(void)
{
    kc_kernel *three = on_factors(leaf("rbf"), periods, 3);
    kc_kernel *map = on_map(leaf("rbf"), periods, 1, 3);
    ref_samples x = ref_random(3, N, 4, 1, KC_F32);
    ref_view view = ref_view_make(&x, REF_DENSE, KC_F32);
    kc_error err = {0};

    view.points.name = "X";
    CHECK(says(gram_of(three, &view.points, &err), KC_ERR_SHAPE, &err,
               "the kernel has factors for 3 columns, it reads 4 of X"));
    CHECK(says(gram_of(map, &view.points, &err), KC_ERR_SHAPE, &err,
               "the kernel has a map of 3 columns, it reads 4 of X"));
    kc_kernel_free(ctx, three);
    kc_kernel_free(ctx, map);
    ref_view_free(&view);
    ref_samples_free(&x);
}

static void strings_are_not_made_into_numbers(void)
{
    kc_kernel *delta = on(on_factors(leaf("delta"), periods, 1), (const int32_t[]){0}, 1);
    kc_kernel *rbf = on(on_factors(leaf("rbf"), periods, 1), (const int32_t[]){TABLE_STRINGS}, 1);
    kc_kernel *whole = on_factors(leaf("rbf"), periods, 3);
    kc_error err = {0};
    table t;

    table_make(&t, 1, N, KC_F32, KC_F32);
    CHECK(says(gram_of(rbf, t.parts, &err), KC_ERR_TYPE, &err,
               "the kernel has factors for columns of numbers, X holds strings"));
    CHECK(says(gram_of(whole, t.parts, &err), KC_ERR_TYPE, &err,
               "the kernel reads all columns of X, which has several parts of numbers or strings: "
               "say on which columns it is"));
    CHECK(says(gram_of(delta, t.parts, &err), KC_ERR_TYPE, &err,
               "the kernel delta takes strings, it reads numbers that are made of X"));
    kc_kernel_free(ctx, delta);
    kc_kernel_free(ctx, rbf);
    kc_kernel_free(ctx, whole);
    table_free(&t);
}

static void what_overflows_is_named_by_row(void)
{
    const float x[] = {1, 2, 3, 1e15f, 4, 5};
    const double large[] = {1e10, 1e10};
    const kc_points view = {.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F32,
                            .n_rows = 3,
                            .n_cols = 2,
                            .values = x,
                            .row_stride = 8,
                            .col_stride = 4,
                            .name = "X"};
    kc_kernel *kernels[] = {on_factors(leaf("rbf"), large, 2), on_map(leaf("rbf"), large, 1, 2)};
    kc_error err = {0};

    for (size_t k = 0; k < 2; k++) {
        CHECK(says(gram_of(kernels[k], &view, &err), KC_ERR_RANGE, &err,
                   "X: row 1: what the kernel makes of its columns overflows float32: scale the "
                   "data or use float64"));
        kc_kernel_free(ctx, kernels[k]);
    }
}

int main(void)
{
    ctx = new_context();
    RUN(selections_that_follow_each_other_are_one);
    RUN(a_selection_goes_before_factors);
    RUN(a_selection_of_a_map_is_some_rows_of_it);
    RUN(a_chain_of_steps_has_the_same_bits_in_every_storage);
    RUN(factors_keep_the_bits_of_scaled_samples);
    RUN(angles_are_right_to_the_last_bits);
    RUN(equal_readings_share_what_is_packed);
    RUN(numbers_that_cannot_be_are_refused);
    RUN(samples_of_another_width_are_refused);
    RUN(strings_are_not_made_into_numbers);
    RUN(what_overflows_is_named_by_row);
    kc_context_free(ctx);
    return kc_test_end();
}
