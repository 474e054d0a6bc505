/* kernel/kc_operators.c: series of powers, and what is known of them.  The values of the other
 * operators: test_kernel_expr.c. */
#include "kernel/kc_kernel.h"
#include "kernel_case.h"

#define N ((size_t)45)
#define D ((size_t)7)

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

static kc_kernel *leaf(const char *name, const double *params, int32_t n)
{
    kc_kernel *kernel = NULL;

    CHECK(kc_kernel_leaf(ctx, name, params, n, &kernel, NULL) == KC_OK);
    return kernel;
}

static kc_kernel *series_of(const kc_kernel *kernel, const double *coefs, int32_t n)
{
    kc_kernel *made = NULL;

    CHECK(kc_kernel_series(ctx, kernel, coefs, n, &made, NULL) == KC_OK);
    return made;
}

/* One step of Horner's rule; the portable loops round the product. */
static double step(double sum, double k, double coef, kc_dtype dtype)
{
    const bool is_fused = strcmp(kc_isa_name(), "generic") != 0;
    const float narrow = (float)sum * (float)k;
    const double wide = sum * k;

    if (dtype == KC_F64)
        return is_fused ? fma(sum, k, coef) : wide + coef;
    return (double)(is_fused ? fmaf((float)sum, (float)k, (float)coef) : narrow + (float)coef);
}

/* The values of `made` are Horner's sums of those of `inner`, to the bit. */
static void check_series(const kc_kernel *made, const kc_kernel *inner, const double *coefs,
                         size_t n_coefs, kc_dtype dtype)
{
    ref_samples s = ref_random(3, N, D, 0.3, dtype);
    ref_view view = ref_view_make(&s, REF_DENSE, dtype);
    void *out = calloc(N * N, sizeof(double)), *values = calloc(N * N, sizeof(double));
    void *diag = calloc(N, sizeof(double));
    bool are_equal = true;

    REQUIRE(kc_gram(ctx, NULL, made, &view.points, NULL, dtype, out, N, NULL) == KC_OK);
    REQUIRE(kc_gram(ctx, NULL, inner, &view.points, NULL, dtype, values, N, NULL) == KC_OK);
    REQUIRE(kc_diag(ctx, NULL, made, &view.points, dtype, diag, NULL) == KC_OK);
    for (size_t i = 0; i < N * N; i++) {
        double sum = coefs[n_coefs - 1]; /* a float, all of them */
        const double k = ref_get(values, i, dtype);

        for (size_t c = n_coefs - 1; c-- > 0;)
            sum = step(sum, k, coefs[c], dtype);
        are_equal &= ref_get(out, i, dtype) == sum;
    }
    for (size_t i = 0; i < N; i++)
        are_equal &= ref_get(diag, i, dtype) == ref_get(out, i * N + i, dtype);
    CHECK(are_equal);
    free(out);
    free(values);
    free(diag);
    ref_view_free(&view);
    ref_samples_free(&s);
}

static void a_series_is_a_sum_of_powers_of_one_value(void)
{
    const double gamma = 0.3, coefs[] = {0.5, -1.25, 0, 2}, one = -3;
    const double constant[] = {4};

    for (size_t d = 0; d < 2; d++) {
        kc_kernel *rbf = leaf("rbf", &gamma, 1), *linear = leaf("linear", NULL, 0), *sum = NULL;
        kc_kernel *made[3], *both = NULL, *twice, *copy = NULL;

        REQUIRE(kc_kernel_sum(ctx, (const kc_kernel *const[]){rbf, linear}, 2, &sum, NULL) ==
                KC_OK);
        made[0] = series_of(sum, coefs, 4);
        made[1] = series_of(linear, &one, 1);
        made[2] = series_of(rbf, constant, 1);
        check_series(made[0], sum, coefs, 4, dtypes[d]);
        check_series(made[1], linear, &one, 1, dtypes[d]);
        /* Each series keeps its own coefficients in company, in one another and in a copy. */
        REQUIRE(kc_kernel_sum(ctx, (const kc_kernel *const[]){made[1], made[0]}, 2, &both, NULL) ==
                KC_OK);
        twice = series_of(both, coefs, 3);
        REQUIRE(kc_kernel_copy(ctx, twice, &copy, NULL) == KC_OK);
        check_series(twice, both, coefs, 3, dtypes[d]);
        check_series(copy, both, coefs, 3, dtypes[d]);
        kc_kernel *const all[] = {rbf, linear, sum, made[0], made[1], made[2], both, twice, copy};
        for (size_t k = 0; k < COUNT(all); k++)
            kc_kernel_free(ctx, all[k]);
    }
}

static void a_series_of_some_columns_keeps_its_coefficients(void)
{
    const double coefs[] = {0, 1, 0.5};
    const int32_t columns[] = {4, 1};
    kc_kernel *linear = leaf("linear", NULL, 0), *series = series_of(linear, coefs, 3);
    kc_kernel *on = NULL, *inner = NULL;

    REQUIRE(kc_kernel_on(ctx, series, columns, 2, &on, NULL) == KC_OK);
    REQUIRE(kc_kernel_on(ctx, linear, columns, 2, &inner, NULL) == KC_OK);
    check_series(on, inner, coefs, 3, KC_F64);
    kc_kernel *const all[] = {linear, series, on, inner};
    for (size_t k = 0; k < COUNT(all); k++)
        kc_kernel_free(ctx, all[k]);
}

static void series_are_as_definite_as_their_powers(void)
{
    const double offset[] = {1, 1, -5}, up[] = {1, 2, 3}, down[] = {1, 2, -3}, affine[] = {1, 2, 0};
    kc_kernel *positive = leaf("linear", NULL, 0);
    kc_kernel *conditional = leaf("polynomial", offset, 3);
    kc_kernel *indefinite = leaf("sigmoid", NULL, 0);
    const struct {
        const kc_kernel *kernel;
        const double *coefs;
        int32_t n;
        kc_definiteness wanted;
    } cases[] = {
        {positive, up, 3, KC_POSITIVE},         {positive, down, 3, KC_INDEFINITE},
        {positive, down, 2, KC_POSITIVE},       {conditional, affine, 3, KC_CONDITIONAL},
        {conditional, up, 3, KC_INDEFINITE},    {conditional, up, 1, KC_POSITIVE},
        {indefinite, affine, 2, KC_INDEFINITE}, {indefinite, up, 1, KC_POSITIVE},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        kc_kernel *made = series_of(cases[i].kernel, cases[i].coefs, cases[i].n);

        CHECK(kc_kernel_definiteness(made) == cases[i].wanted);
        kc_kernel_free(ctx, made);
    }
    kc_kernel_free(ctx, positive);
    kc_kernel_free(ctx, conditional);
    kc_kernel_free(ctx, indefinite);
}

static void coefficients_that_cannot_be_are_refused(void)
{
    const double bad[] = {1, NAN};
    kc_kernel *linear = leaf("linear", NULL, 0), *made = NULL;
    kc_error err = {0};

    CHECK(kc_kernel_series(ctx, linear, bad, 2, &made, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "coefs[1] is nan, must be finite") == 0);
    CHECK(kc_kernel_series(ctx, linear, bad, 0, &made, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "n is 0, must be 1 to 1001") == 0);
    CHECK(kc_kernel_series(ctx, linear, bad, 1002, &made, &err) == KC_ERR_ARG);
    CHECK(kc_kernel_series(ctx, linear, NULL, 1, &made, &err) == KC_ERR_ARG);
    CHECK(kc_kernel_series(ctx, NULL, bad, 1, &made, &err) == KC_ERR_ARG);
    CHECK(made == NULL);
    kc_kernel_free(ctx, linear);
}

static void series_are_equal_where_their_coefficients_are(void)
{
    static const double one[] = {1, 2, 3}, other[] = {1, 2, 4};
    kc_kernel *linear = leaf("linear", NULL, 0);
    kc_kernel *a = series_of(linear, one, 3), *same = series_of(linear, one, 3);
    kc_kernel *b = series_of(linear, other, 3), *shorter = series_of(linear, one, 2);

    CHECK(kc_kernel_is_equal(a, same));
    CHECK(!kc_kernel_is_equal(a, b));
    CHECK(!kc_kernel_is_equal(a, shorter) && !kc_kernel_is_equal(shorter, a));
    kc_kernel_free(ctx, shorter);
    kc_kernel_free(ctx, b);
    kc_kernel_free(ctx, same);
    kc_kernel_free(ctx, a);
    kc_kernel_free(ctx, linear);
}

int main(void)
{
    ctx = new_context();
    RUN(a_series_is_a_sum_of_powers_of_one_value);
    RUN(a_series_of_some_columns_keeps_its_coefficients);
    RUN(series_are_as_definite_as_their_powers);
    RUN(coefficients_that_cannot_be_are_refused);
    RUN(series_are_equal_where_their_coefficients_are);
    kc_context_free(ctx);
    return kc_test_end();
}
