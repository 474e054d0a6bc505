/* data/kc_moments.h, through kc_variance and kc_check_finite of the public header. */
#include "data/kc_moments.h"

#include <stdlib.h>
#include <string.h>

#include "kc_test.h"
#include "ref_points.h"

static kc_context *ctx;
static kc_error err;

static kc_status variance(const kc_points *x, const double *weights, int32_t n_threads, double *out)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};

    return kc_variance(ctx, &run, x, weights, out, &err);
}

/* From the definition, in long double. */
static double exact_variance(const ref_samples *s, const double *weights)
{
    long double total = 0, sum = 0, squares = 0;

    for (size_t i = 0; i < s->n; i++)
        total += (weights != NULL ? weights[i] : 1) * (long double)s->d;
    for (size_t i = 0; i < s->n; i++)
        for (size_t t = 0; t < s->d; t++)
            sum += (weights != NULL ? weights[i] : 1) * (long double)s->x[i * s->d + t];
    for (size_t i = 0; i < s->n; i++)
        for (size_t t = 0; t < s->d; t++) {
            const long double off = s->x[i * s->d + t] - sum / total;
            squares += (weights != NULL ? weights[i] : 1) * off * off;
        }
    return (double)(squares / total);
}

static void the_variance_is_that_of_the_definition_in_every_form(void)
{
    const size_t n = 700, d = 301; /* more than one chunk */
    double weights[700];

    for (size_t i = 0; i < n; i++)
        weights[i] = (double)(i % 5) / 3;
    for (int is_weighted = 0; is_weighted < 2; is_weighted++)
        for (int form = REF_DENSE; form < REF_N_FORMS; form++) {
            const kc_dtype dtype = form % 2 ? KC_F64 : KC_F32;
            const double *w = is_weighted ? weights : NULL;
            ref_samples s = ref_random(7, n, d, form < REF_CSR ? 1 : 0.1, dtype);
            ref_view view = ref_view_make(&s, (ref_form)form, dtype);
            double alone, together;

            if (form != REF_CSR_REPEATED) { /* which is read as it stands */
                REQUIRE(variance(&view.points, w, 1, &alone) == KC_OK);
                CHECK_NEAR(alone, exact_variance(&s, w), 1e-13);
                REQUIRE(variance(&view.points, w, 4, &together) == KC_OK);
                CHECK(memcmp(&alone, &together, sizeof alone) == 0);
            }
            ref_view_free(&view);
            ref_samples_free(&s);
        }
}

static void only_the_ratio_of_weights_matters(void)
{
    const double factors[] = {0x1p1000, 0x1p-1000, 0x1p-1060};
    double weights[50], scaled[50], expected, found;
    ref_samples s = ref_random(8, 50, 4, 1, KC_F64);
    ref_view view = ref_view_make(&s, REF_DENSE, KC_F64);

    for (size_t i = 0; i < 50; i++)
        weights[i] = (double)(i % 5) * 4;
    REQUIRE(variance(&view.points, weights, 1, &expected) == KC_OK);
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        for (size_t i = 0; i < 50; i++)
            scaled[i] = weights[i] * factors[k];
        REQUIRE(variance(&view.points, scaled, 1, &found) == KC_OK);
        CHECK(memcmp(&expected, &found, sizeof found) == 0);
    }
    for (size_t i = 0; i < 50; i++)
        scaled[i] = 1e308; /* whose sum is infinite */
    REQUIRE(variance(&view.points, NULL, 1, &expected) == KC_OK);
    REQUIRE(variance(&view.points, scaled, 1, &found) == KC_OK);
    CHECK_NEAR(found, expected, 1e-14);
    ref_view_free(&view);
    ref_samples_free(&s);
}

static void the_order_of_memory_moves_no_bit(void)
{
    ref_samples s = ref_random(3, 90, 77, 1, KC_F64);
    double first = 0;

    for (int form = REF_DENSE; form < REF_CSR; form++) {
        ref_view view = ref_view_make(&s, (ref_form)form, KC_F64);
        double found;

        REQUIRE(variance(&view.points, NULL, 1, &found) == KC_OK);
        CHECK(form == REF_DENSE || memcmp(&found, &first, sizeof found) == 0);
        first = found;
        ref_view_free(&view);
    }
    ref_samples_free(&s);
}

static kc_points one_value(const double *value, int64_t n_rows, int64_t n_cols)
{
    return (kc_points){.struct_size = sizeof(kc_points),
                       .storage = KC_DENSE,
                       .dtype = KC_F64,
                       .n_rows = n_rows,
                       .n_cols = n_cols,
                       .values = value,
                       .name = "X"};
}

/* A view of one number can be of any size: what is too large is refused, what is not is polled. */
static void endless_views_are_refused_or_stopped(void)
{
    const double value = 3;
    const kc_run run = {.struct_size = sizeof run, .time_limit = 0.05};
    kc_points x = one_value(&value, (int64_t)1 << 58, 20);
    double out;

    CHECK(variance(&x, NULL, 0, &out) == KC_ERR_SHAPE);
    CHECK(strcmp(err.text, "X has 288230376151711744 rows, must have at most 2147483647") == 0);
    x = one_value(&value, INT32_MAX, 3000);
    CHECK(kc_variance(ctx, &run, &x, NULL, &out, &err) == KC_ERR_TIME);
    CHECK(kc_check_finite(ctx, &run, &x, &err) == KC_ERR_TIME);
    x = one_value(&value, 2, INT32_MAX);
    CHECK(kc_variance(ctx, &run, &x, NULL, &out, &err) == KC_ERR_TIME);
    CHECK(kc_check_finite(ctx, &run, &x, &err) == KC_ERR_TIME);
}

static void equal_entries_have_no_variance(void)
{
    const double value = 0.75;
    const kc_points x = one_value(&value, 70000, 3); /* more than one band */
    double out = 1;

    CHECK(variance(&x, NULL, 2, &out) == KC_OK && out == 0);
}

static void entries_that_are_not_finite_are_named(void)
{
    for (int form = REF_DENSE; form < REF_CSR_REPEATED; form++) {
        ref_samples s = ref_random(5, 3000, 150, 1, KC_F64);
        double out;

        s.x[2711 * 150 + 149] = NAN;
        s.x[2711 * 150 + 148] = form == REF_CSR_UNSORTED ? 1 : -INFINITY;
        s.x[2950 * 150] = INFINITY;
        ref_view view = ref_view_make(&s, (ref_form)form, KC_F64);
        const char *text = form == REF_CSR_UNSORTED
                               ? "row 2711, column 149 is NaN, must be finite"
                               : "row 2711, column 148 is -infinity, must be finite";

        CHECK(kc_check_finite(ctx, NULL, &view.points, &err) == KC_ERR_NONFINITE);
        CHECK(strstr(err.text, text) != NULL);
        CHECK(variance(&view.points, NULL, 2, &out) == KC_ERR_NONFINITE);
        CHECK(strstr(err.text, text) != NULL);
        ref_view_free(&view);
        ref_samples_free(&s);
    }
}

static void finite_entries_may_overflow_all_the_same(void)
{
    const double values[] = {1e300, -1e300};
    kc_points x = {.struct_size = sizeof(kc_points),
                   .storage = KC_DENSE,
                   .dtype = KC_F64,
                   .n_rows = 2,
                   .n_cols = 1,
                   .values = values,
                   .row_stride = sizeof *values,
                   .col_stride = sizeof *values,
                   .name = "X"};
    double out;

    CHECK(kc_check_finite(ctx, NULL, &x, &err) == KC_OK);
    CHECK(variance(&x, NULL, 1, &out) == KC_ERR_RANGE);
    CHECK(strcmp(err.text, "the variance of X overflows; scale the features") == 0);
}

static void bad_arguments_are_refused(void)
{
    const double value = 1, weights[3] = {1, -2, 0}, zeros[3] = {0, 0, 0};
    kc_points x = one_value(&value, 3, 2);
    double out;

    CHECK(variance(NULL, NULL, 1, &out) == KC_ERR_ARG);
    CHECK(kc_variance(ctx, NULL, &x, NULL, NULL, &err) == KC_ERR_ARG);
    CHECK(variance(&x, weights, 1, &out) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "the weight of sample 1 is -2, must be finite and not negative") == 0);
    CHECK(variance(&x, zeros, 1, &out) == KC_ERR_ARG);
    x.storage = KC_STRINGS;
    CHECK(variance(&x, NULL, 1, &out) == KC_ERR_TYPE);
    CHECK(kc_check_finite(ctx, NULL, &x, &err) == KC_ERR_TYPE);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(the_variance_is_that_of_the_definition_in_every_form);
    RUN(only_the_ratio_of_weights_matters);
    RUN(the_order_of_memory_moves_no_bit);
    RUN(endless_views_are_refused_or_stopped);
    RUN(equal_entries_have_no_variance);
    RUN(entries_that_are_not_finite_are_named);
    RUN(finite_entries_may_overflow_all_the_same);
    RUN(bad_arguments_are_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
