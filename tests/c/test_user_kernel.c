/* Fits with a kernel that the caller computes: the same models, few questions, errors carried back.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "kc_test.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node rbf = {.op = OP_RBF, .gamma = 0.3};

/* A matrix that is asked for value by value. */
typedef struct oracle {
    const double *k;
    size_t n;
    int64_t n_values, n_questions;
    int64_t n_answers; /* after which it fails */
    int64_t bad_row, bad_col;
    double bad_value;
    pthread_t caller;
} oracle;

static int answer(void *data, const int64_t *rows, int64_t n_rows, const int64_t *cols,
                  int64_t n_cols, double *out)
{
    oracle *o = data;

    CHECK(pthread_equal(o->caller, pthread_self()));
    if (o->n_questions++ >= o->n_answers)
        return 1;
    o->n_values += n_rows * n_cols;
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < n_cols; j++) {
            if (rows[i] < 0 || rows[i] >= (int64_t)o->n || cols[j] < 0 || cols[j] >= (int64_t)o->n)
                return 2;
            out[i * n_cols + j] = rows[i] == o->bad_row && cols[j] == o->bad_col
                                      ? o->bad_value
                                      : o->k[(size_t)rows[i] * o->n + (size_t)cols[j]];
        }
    return 0;
}

/* A case, its matrix and the function that gives it. */
typedef struct world {
    svm_case c;
    double *k;
    kc_kernel *kernel;
    oracle o;
    kc_svm_data data;
} world;

static void open_world(world *w, size_t n, int32_t n_classes)
{
    *w = (world){.c = svm_case_make(21, n, 3, n_classes), .k = malloc(n * n * sizeof *w->k)};
    CHECK(ref_kernel_make(ctx, &rbf, 1, &w->kernel, NULL) == KC_OK);
    CHECK(kc_gram(ctx, NULL, w->kernel, &w->c.points, NULL, KC_F64, w->k, (int64_t)n, NULL) ==
          KC_OK);
    w->o = (oracle){
        .k = w->k, .n = n, .n_answers = INT64_MAX, .bad_row = -1, .caller = pthread_self()};
    w->data = svm_data(&w->c);
    w->data.x = NULL;
    w->data.kernel_fn = answer;
    w->data.kernel_data = &w->o;
    w->data.n_samples = (int64_t)n;
}

static void close_world(world *w)
{
    kc_kernel_free(ctx, w->kernel);
    svm_case_free(&w->c);
    free(w->k);
}

static kc_svm_settings settings_of(int32_t type)
{
    kc_svm_settings settings = svm_settings((kc_svm_type)type);

    settings.nu = 0.2;
    settings.precision = KC_PRECISION_F64;
    return settings;
}

/* ---- The same models ---------------------------------------------------------------------- */

static void check_type(int32_t type, size_t n, int32_t n_classes, size_t n_rows)
{
    kc_svm_settings settings = settings_of(type);
    const kc_run run = {.struct_size = sizeof run, .n_threads = 3};
    world w;

    open_world(&w, n, n_classes);
    settings.cache_bytes = (int64_t)(n_rows * (n * sizeof(double) + 128));
    for (size_t i = 5; i < n; i += 7)
        w.c.weights[i] = i % 2 ? 0 : 1.5;
    const kc_svm_data plain = svm_data(&w.c);
    svm_fit a = svm_fit_make(ctx, &run, &settings, w.kernel, &plain);
    svm_fit b = svm_fit_make(ctx, &run, &settings, NULL, &w.data);
    CHECK(a.status == KC_OK && b.status == KC_OK);
    CHECK(b.function.is_given && b.function.n_cols == (int64_t)n);
    CHECK(b.total.cache_bytes_used <= settings.cache_bytes);
    CHECK(b.total.violation < settings.tol);
    CHECK_NEAR(a.total.dual, b.total.dual, 1e-3 * fabs(a.total.dual));
    CHECK(b.total.values_computed == w.o.n_values);
    svm_fit_free(ctx, &a);
    svm_fit_free(ctx, &b);
    close_world(&w);
}

static void all_types_are_fitted_as_by_the_kernel_itself(void)
{
    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        check_type(type, 120, 2, 120);
        check_type(type, 120, 2, 2);
        check_type(type, 2200, 2, 300);
    }
    check_type(KC_C_SVC, 150, 4, 5);
    check_type(KC_C_SVC, 2500, 3, 100);
}

/* By pairs of rows the steps are the same, whether or not the caller computes them. */
static void small_fits_are_equal_to_the_bit(void)
{
    kc_svm_settings settings = settings_of(KC_C_SVC);
    world w;

    open_world(&w, 200, 3);
    const kc_svm_data plain = svm_data(&w.c);
    svm_fit a = svm_fit_make(ctx, NULL, &settings, w.kernel, &plain);
    for (size_t n_rows = 2; n_rows <= 200; n_rows += 99) {
        settings.cache_bytes = (int64_t)(n_rows * (200 * sizeof(double) + 128));
        svm_fit b = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
        REQUIRE(a.status == KC_OK && b.status == KC_OK);
        REQUIRE(a.function.n_points == b.function.n_points);
        CHECK(memcmp(a.coef, b.coef, 2 * (size_t)a.function.n_points * sizeof *a.coef) == 0);
        CHECK(memcmp(a.intercepts, b.intercepts, 3 * sizeof *a.intercepts) == 0);
        svm_fit_free(ctx, &b);
    }
    svm_fit_free(ctx, &a);
    close_world(&w);
}

static void an_easy_problem_asks_for_a_part_of_the_matrix(void)
{
    static const size_t sizes[] = {400, 3000};

    for (int k = 0; k < 2; k++) {
        const kc_svm_settings settings = settings_of(KC_C_SVC);
        const int64_t n = (int64_t)sizes[k];
        world w;
        open_world(&w, sizes[k], 2);
        svm_fit fit = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
        CHECK(fit.status == KC_OK && fit.total.stop == KC_STOP_CONVERGED);
        CHECK(w.o.n_values < n * n / 2);
        CHECK(fit.total.rows_computed < n / 2);
        svm_fit_free(ctx, &fit);
        close_world(&w);
    }
}

/* ---- What goes wrong ---------------------------------------------------------------------- */

static void a_function_that_fails_ends_the_fit(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    world w;

    open_world(&w, 100, 2);
    for (int64_t n = 0; n < 12; n++) {
        w.o.n_questions = 0;
        w.o.n_answers = n;
        svm_fit fit = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
        CHECK(fit.status == KC_ERR_CALLBACK && fit.model == NULL);
        CHECK(strstr(fit.err.text, "kernel function failed") != NULL);
        CHECK(w.o.n_questions == n + 1); /* and is not asked again */
        svm_fit_free(ctx, &fit);
    }
    close_world(&w);
}

static void values_that_are_not_finite_are_named_by_their_samples(void)
{
    kc_svm_settings settings = settings_of(KC_C_SVC);
    world w;

    open_world(&w, 100, 2);
    w.o.bad_row = w.o.bad_col = 37;
    w.o.bad_value = (double)NAN;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
    CHECK(fit.status == KC_ERR_NONFINITE && strstr(fit.err.text, "samples 37 and 37") != NULL);
    svm_fit_free(ctx, &fit);
    w.o.bad_value = 1e200;
    settings.precision = KC_PRECISION_F32;
    fit = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
    CHECK(fit.status == KC_ERR_RANGE);
    svm_fit_free(ctx, &fit);
    close_world(&w);
}

static void a_function_stands_in_place_of_kernel_and_samples(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    world w;

    open_world(&w, 20, 2);
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, w.kernel, &w.data);
    CHECK(fit.status == KC_ERR_ARG &&
          strstr(fit.err.text, "kernel_fn and kernel are both given") != NULL);
    svm_fit_free(ctx, &fit);
    w.data.x = &w.c.points;
    fit = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
    CHECK(fit.status == KC_ERR_ARG);
    CHECK(strstr(fit.err.text, "kernel_fn and data.x are both given") != NULL);
    svm_fit_free(ctx, &fit);
    w.data.x = NULL;
    w.data.n_samples = 0;
    fit = svm_fit_make(ctx, NULL, &settings, NULL, &w.data);
    CHECK(fit.status == KC_ERR_SHAPE && strstr(fit.err.text, "n_samples is 0") != NULL);
    svm_fit_free(ctx, &fit);
    close_world(&w);
}

static void refused_memory_is_an_error_and_leaves_nothing_behind(void)
{
    const kc_svm_settings settings = settings_of(KC_C_SVC);
    kc_fault fault;
    world w;
    size_t n = 1;

    open_world(&w, 60, 3);
    for (;; n++) {
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 2}, &fault);
        kc_model *model = NULL;
        REQUIRE(in != NULL);
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        kc_status status = kc_svm_fit(in, NULL, &settings, NULL, &w.data, &model, NULL, NULL, NULL);
        const int has_failed = kc_fault_disarm(&fault);
        CHECK(status == KC_OK || (has_failed && status == KC_ERR_NOMEM));
        kc_model_free(in, model);
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
        if (!has_failed)
            break;
    }
    CHECK(n > 8);
    close_world(&w);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(all_types_are_fitted_as_by_the_kernel_itself);
    RUN(small_fits_are_equal_to_the_bit);
    RUN(an_easy_problem_asks_for_a_part_of_the_matrix);
    RUN(a_function_that_fails_ends_the_fit);
    RUN(values_that_are_not_finite_are_named_by_their_samples);
    RUN(a_function_stands_in_place_of_kernel_and_samples);
    RUN(refused_memory_is_an_error_and_leaves_nothing_behind);
    kc_context_free(ctx);
    return kc_test_end();
}
