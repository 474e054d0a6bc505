/* The terms of a value: all of them, sorted, are what the function sums; the first ones are the
 * largest. */
#include "kcore/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_points.h"

enum { N = 700, D = 5, N_ROWS = 130, N_OUTPUTS = 3 }; /* several strips and chunks */

static kc_context *ctx;

typedef struct terms {
    ref_samples points, x;
    kc_function *f;
    double coef[N_OUTPUTS * N], k[N_ROWS * N];
} terms;

/* Some coefficients are 0, and some terms as large as others. */
static terms *make_terms(bool is_given)
{
    terms *t = calloc(1, sizeof *t);
    const double gamma = 0.2;
    kc_rng rng = kc_rng_seed(3);
    int32_t columns[N];
    kc_kernel *kernel = NULL;

    t->points = ref_random(1, N, D, 1, KC_F64);
    t->x = ref_random(2, N_ROWS, D, 1, KC_F64);
    memcpy(t->points.x + 300 * D, t->points.x, D * sizeof(double));
    for (size_t k = 0; k < N_OUTPUTS * N; k++)
        t->coef[k] = k % 5 == 3 ? 0 : 2 * kc_rng_uniform(&rng) - 1;
    for (size_t o = 0; o < N_OUTPUTS; o++)
        t->coef[o * N + 300] = -t->coef[o * N];
    for (int32_t i = 0; i < N; i++)
        columns[i] = N - 1 - i;
    CHECK(kc_kernel_leaf(ctx, "rbf", &gamma, 1, &kernel, NULL) == KC_OK);
    ref_view points = ref_view_make(&t->points, REF_DENSE, KC_F64);
    ref_view x = ref_view_make(&t->x, REF_DENSE, KC_F64);
    CHECK(kc_gram(ctx, NULL, kernel, &x.points, &points.points, KC_F64, t->k, N, NULL) == KC_OK);
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = is_given ? NULL : kernel,
        .x = is_given ? NULL : &points.points,
        .columns = is_given ? columns : NULL,
        .dtype = KC_F64,
        .n_points = N,
        .n_cols = is_given ? N : D,
        .n_outputs = N_OUTPUTS,
        .coef = t->coef,
        .decoder = KC_DECODE_VALUES,
    };
    CHECK(kc_function_create(ctx, NULL, &parts, &t->f, NULL) == KC_OK);
    ref_view_free(&points);
    ref_view_free(&x);
    kc_kernel_free(ctx, kernel);
    return t;
}

static void free_terms(terms *t)
{
    kc_function_free(ctx, t->f);
    ref_samples_free(&t->points);
    ref_samples_free(&t->x);
    free(t);
}

/* Each term is the next one of the row: none that is left comes before it. */
static void check_row(const terms *t, const double *k, size_t o, int64_t top, const int64_t *found,
                      const double *values)
{
    bool is_taken[N] = {false};

    for (int64_t r = 0; r < top; r++) {
        int64_t best = -1;

        for (int64_t i = 0; i < N; i++) {
            const double size = fabs(t->coef[o * N + (size_t)i] * k[i]);

            if (!is_taken[i] && t->coef[o * N + (size_t)i] != 0 &&
                (best < 0 || size > fabs(t->coef[o * N + (size_t)best] * k[best])))
                best = i;
        }
        CHECK(found[r] == best);
        CHECK(values[r] == (best < 0 ? 0 : t->coef[o * N + (size_t)best] * k[best]));
        if (best >= 0)
            is_taken[best] = true;
    }
}

static void check_terms(const terms *t, const kc_points *x, const double *k, int64_t top)
{
    const size_t n = (size_t)N_ROWS * N_OUTPUTS * (size_t)top;
    int64_t *found = malloc(n * sizeof *found);
    double *values = malloc(n * sizeof *values);

    for (int32_t n_threads = 1; n_threads <= 2; n_threads++) {
        const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};

        CHECK(kc_function_contributions(ctx, &run, t->f, x, top, found, values, NULL) == KC_OK);
        for (size_t i = 0; i < N_ROWS; i++)
            for (size_t o = 0; o < N_OUTPUTS; o++) {
                const size_t at = (i * N_OUTPUTS + o) * (size_t)top;

                check_row(t, k + i * N, o, top, found + at, values + at);
            }
    }
    free(found);
    free(values);
}

static void the_largest_terms_come_first(void)
{
    const int64_t tops[] = {1, 2, 7, N, N + 3};
    terms *t = make_terms(false);
    ref_view x = ref_view_make(&t->x, REF_FORTRAN, KC_F64);

    for (size_t k = 0; k < sizeof tops / sizeof tops[0]; k++)
        check_terms(t, &x.points, t->k, tops[k]);
    ref_view_free(&x);
    free_terms(t);
}

static void given_kernel_values_have_terms_too(void)
{
    terms *t = make_terms(true);
    double *turned = malloc(sizeof t->k);
    kc_points x = {
        .struct_size = sizeof x,
        .storage = KC_DENSE,
        .dtype = KC_F64,
        .n_rows = N_ROWS,
        .n_cols = N,
        .values = t->k,
        .row_stride = N * (int64_t)sizeof(double),
        .col_stride = sizeof(double),
    };
    kc_error err;
    int64_t found[N_ROWS * N_OUTPUTS];
    double values[N_ROWS * N_OUTPUTS];

    for (size_t i = 0; i < N_ROWS; i++)
        for (size_t j = 0; j < N; j++)
            turned[i * N + j] = t->k[i * N + N - 1 - j]; /* point j is column N - 1 - j */
    check_terms(t, &x, turned, 4);
    t->k[5 * N + 9] = NAN;
    CHECK(kc_function_contributions(ctx, NULL, t->f, &x, 1, found, values, &err) ==
          KC_ERR_NONFINITE);
    CHECK(strstr(err.text, "row 5, column 9") != NULL);
    free(turned);
    free_terms(t);
}

static void bad_arguments_are_refused(void)
{
    terms *t = make_terms(false);
    ref_view x = ref_view_make(&t->points, REF_DENSE, KC_F64);
    int64_t point;
    double value;
    kc_error err;

    CHECK(kc_function_contributions(ctx, NULL, t->f, &x.points, 0, &point, &value, &err) ==
          KC_ERR_ARG);
    CHECK(strstr(err.text, "top is 0") != NULL);
    CHECK(kc_function_contributions(ctx, NULL, t->f, NULL, 1, &point, &value, &err) == KC_ERR_ARG);
    CHECK(kc_function_contributions(ctx, NULL, t->f, &x.points, 1, NULL, &value, &err) ==
          KC_ERR_ARG);
    x.points.n_cols = D - 1;
    CHECK(kc_function_contributions(ctx, NULL, t->f, &x.points, 1, &point, &value, &err) ==
          KC_ERR_SHAPE);
    ref_view_free(&x);
    free_terms(t);
}

int main(void)
{
    CHECK(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    RUN(the_largest_terms_come_first);
    RUN(given_kernel_values_have_terms_too);
    RUN(bad_arguments_are_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
