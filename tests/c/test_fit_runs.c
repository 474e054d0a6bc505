/* How fits run: threads, caches, given matrices, starts, limits, stops, refused memory. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node rbf = {.op = OP_RBF, .gamma = 0.3};

static kc_kernel *make_kernel(kc_context *in)
{
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(in, &rbf, 1, &kernel, NULL) == KC_OK);
    return kernel;
}

static svm_fit fit_case(const svm_case *c, const kc_svm_settings *settings, const kc_run *run)
{
    const kc_svm_data data = svm_data(c);
    kc_kernel *kernel = make_kernel(ctx);
    svm_fit fit = svm_fit_make(ctx, run, settings, kernel, &data);

    kc_kernel_free(ctx, kernel);
    return fit;
}

/* ---- The same bits ------------------------------------------------------------------------ */

/* Large enough for blocks of rows and, with 3 classes, for pairs that share them. */
static void check_same_bits(size_t n, kc_svm_type type, int32_t n_classes)
{
    svm_case c = svm_case_make(11, n, 4, n_classes);
    kc_svm_settings settings = svm_settings(type);
    const size_t row_bytes = n * sizeof(double) + 128;
    const size_t rows[] = {2, 3, 17, n / 3, 2 * n};

    settings.nu = 0.2;
    svm_fit plain = fit_case(&c, &settings, NULL);
    CHECK(plain.status == KC_OK);
    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
        svm_fit fit = fit_case(&c, &settings, &run);

        CHECK(svm_fit_equal(&plain, &fit));
        svm_fit_free(ctx, &fit);
    }
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        settings.cache_bytes = (int64_t)(rows[k] * row_bytes);
        svm_fit fit = fit_case(&c, &settings, NULL);

        CHECK(svm_fit_equal(&plain, &fit));
        CHECK(fit.total.cache_bytes_allowed == settings.cache_bytes);
        CHECK(fit.total.cache_bytes_used <= settings.cache_bytes);
        svm_fit_free(ctx, &fit);
    }
    svm_fit_free(ctx, &plain);
    svm_case_free(&c);
}

static void a_model_does_not_depend_on_threads_or_cache(void)
{
    check_same_bits(1300, KC_C_SVC, 2);
    check_same_bits(1500, KC_C_SVC, 3);
    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++)
        check_same_bits(300, (kc_svm_type)type, 2);
}

static void a_given_matrix_is_as_good_as_its_kernel(void)
{
    svm_case c = svm_case_make(12, 90, 3, 3);
    double *k = malloc(90 * 90 * sizeof *k), a_values[90 * 3], b_values[90 * 3];
    kc_kernel *kernel = make_kernel(ctx);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    const kc_points matrix = svm_view(k, 90, 90);
    kc_svm_data data = svm_data(&c), given = svm_data(&c);

    given.x = &matrix;
    CHECK(kc_gram(ctx, NULL, kernel, &c.points, NULL, KC_F64, k, 90, NULL) == KC_OK);
    svm_fit a = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    svm_fit b = svm_fit_make(ctx, NULL, &settings, NULL, &given);
    REQUIRE(a.status == KC_OK && b.status == KC_OK);
    CHECK(b.function.is_given && !a.function.is_given && b.function.n_cols == 90);
    CHECK(a.function.n_points == b.function.n_points);
    CHECK(memcmp(a.support, b.support, (size_t)a.function.n_points * sizeof *a.support) == 0);
    CHECK(memcmp(a.coef, b.coef, 2 * (size_t)a.function.n_points * sizeof *a.coef) == 0);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(a.model), &c.points, KC_PER_OUTPUT,
                               a_values, 3, NULL) == KC_OK);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(b.model), &matrix, KC_PER_OUTPUT,
                               b_values, 3, NULL) == KC_OK);
    CHECK(memcmp(a_values, b_values, sizeof a_values) == 0);
    svm_fit_free(ctx, &a);
    svm_fit_free(ctx, &b);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
    free(k);
}

static void a_matrix_must_be_square_dense_and_finite(void)
{
    double k[12] = {1, 0, 0, 0, 1, (double)NAN, 0, 0, 1, 0, 0, 0};
    svm_case c = svm_case_make(1, 3, 1, 2);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_svm_data data = svm_data(&c);
    kc_points matrix = svm_view(k, 3, 4);

    data.x = &matrix;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, NULL, &data);
    CHECK(fit.status == KC_ERR_SHAPE && strstr(fit.err.text, "3 x 4") != NULL);
    svm_fit_free(ctx, &fit);
    matrix = svm_view(k, 3, 3);
    fit = svm_fit_make(ctx, NULL, &settings, NULL, &data);
    CHECK(fit.status == KC_ERR_NONFINITE && strstr(fit.err.text, "row 1, column 2") != NULL);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

/* ---- Starts ------------------------------------------------------------------------------- */

/* Coefficients of a fit, a column for each sample. */
static double *spread_coef(const svm_fit *fit, size_t n)
{
    const size_t n_rows = (size_t)fit->info.n_coef_rows, n_support = (size_t)fit->function.n_points;
    double *start = calloc(n_rows * n, sizeof *start);

    for (size_t r = 0; r < n_rows; r++)
        for (size_t k = 0; k < n_support; k++)
            start[r * n + (size_t)fit->support[k]] = fit->coef[r * n_support + k];
    return start;
}

static void a_solution_is_a_start_with_nothing_left_to_do(void)
{
    kc_kernel *kernel = make_kernel(ctx);

    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        svm_case c = svm_case_make(13, 150, 3, type == KC_C_SVC ? 4 : 2);
        kc_svm_settings settings = svm_settings((kc_svm_type)type);
        kc_svm_data data = svm_data(&c);

        svm_fit cold = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        REQUIRE(cold.status == KC_OK);
        double *start = spread_coef(&cold, c.n);
        data.start = start;
        svm_fit warm = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        CHECK(warm.status == KC_OK && warm.total.stop == KC_STOP_CONVERGED);
        CHECK(warm.total.n_iter <= cold.total.n_iter / 10);
        CHECK_NEAR(warm.total.dual, cold.total.dual, 1e-3 * (1 + fabs(cold.total.dual)));
        start[3] = (double)NAN;
        svm_fit bad = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        CHECK(bad.status == KC_ERR_NONFINITE && strstr(bad.err.text, "sample 3") != NULL);
        svm_fit_free(ctx, &cold);
        svm_fit_free(ctx, &warm);
        svm_fit_free(ctx, &bad);
        svm_case_free(&c);
        free(start);
    }
    kc_kernel_free(ctx, kernel);
}

static void any_start_leads_to_the_optimum(void)
{
    kc_kernel *kernel = make_kernel(ctx);
    kc_rng rng = kc_rng_seed(1);

    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        svm_case c = svm_case_make(14, 80, 3, 2);
        kc_svm_settings settings = svm_settings((kc_svm_type)type);
        kc_svm_data data = svm_data(&c);
        double start[80];

        settings.tol = 1e-7;
        svm_fit cold = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        for (size_t i = 0; i < 80; i++)
            start[i] = 20 * kc_rng_uniform(&rng) - 10;
        data.start = start;
        svm_fit other = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        REQUIRE(cold.status == KC_OK && other.status == KC_OK);
        CHECK_NEAR(other.total.dual, cold.total.dual, 1e-5 * (1 + fabs(cold.total.dual)));
        svm_fit_free(ctx, &cold);
        svm_fit_free(ctx, &other);
        svm_case_free(&c);
    }
    kc_kernel_free(ctx, kernel);
}

/* ---- Limits and stops --------------------------------------------------------------------- */

/* Classes that say nothing: many steps at a large C and a tolerance out of reach. */
static svm_case make_endless(kc_svm_settings *settings)
{
    svm_case c = svm_case_make(15, 2500, 2, 2);
    kc_rng rng = kc_rng_seed(3);

    for (size_t i = 0; i < c.n; i++)
        c.classes[i] = (int32_t)kc_rng_below(&rng, 2);
    *settings = svm_settings(KC_C_SVC);
    settings->C = 1e7;
    settings->tol = 1e-12;
    settings->max_iter = INT32_MAX;
    return c;
}

#define TIME_LIMIT 2.0

/* Lets the time pass while the solver waits: a slow machine gets no further than a fast one. */
static int wait_for_the_limit(void *data, const kc_progress *progress)
{
    (void)data;
    if (strcmp(progress->phase, "solve") == 0 && progress->seconds < TIME_LIMIT) {
        const double seconds = TIME_LIMIT - progress->seconds;
        const struct timespec rest = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};

        nanosleep(&rest, NULL);
    }
    return 0;
}

static void a_time_limit_leaves_a_usable_model(void)
{
    kc_svm_settings settings;
    svm_case c = make_endless(&settings);
    const kc_run run = {
        .struct_size = sizeof run, .time_limit = TIME_LIMIT, .on_progress = wait_for_the_limit};
    svm_fit fit = fit_case(&c, &settings, &run);
    int32_t *classes = malloc(c.n * sizeof *classes);

    REQUIRE(fit.status == KC_OK);
    CHECK(fit.total.stop == KC_STOP_TIME);
    CHECK(fit.total.gap > 0 && fit.total.violation > settings.tol);
    CHECK(kc_function_predict(ctx, NULL, kc_model_function(fit.model), &c.points, 0, classes,
                              NULL) == KC_OK);
    free(classes);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

/* The first problem uses up the time; the others are left where they start. */
static void a_time_limit_leaves_a_model_of_all_classes(void)
{
    kc_svm_settings settings;
    svm_case c = make_endless(&settings);
    const kc_run run = {
        .struct_size = sizeof run, .time_limit = TIME_LIMIT, .on_progress = wait_for_the_limit};

    c.n_classes = 4;
    for (size_t i = 0; i < c.n; i++)
        c.classes[i] = (int32_t)(i % 4);
    svm_fit fit = fit_case(&c, &settings, &run);
    REQUIRE(fit.status == KC_OK);
    CHECK(fit.total.stop == KC_STOP_TIME);
    for (size_t k = 0; k < 6; k++) {
        CHECK(fit.problems[k].stop == KC_STOP_TIME);
        CHECK(isfinite(fit.intercepts[k]));
    }
    CHECK(fit.problems[5].n_support == 0);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

static int stop_at_once(void *data, const kc_progress *progress)
{
    int *n_calls = data;

    CHECK(strcmp(progress->phase, "solve") == 0 || strcmp(progress->phase, "pack") == 0);
    return ++*n_calls == 2;
}

static void a_stopped_fit_gives_no_model(void)
{
    kc_svm_settings settings;
    svm_case c = make_endless(&settings);
    int n_calls = 0;
    const kc_run run = {
        .struct_size = sizeof run, .on_progress = stop_at_once, .progress_data = &n_calls};
    svm_fit fit = fit_case(&c, &settings, &run);

    CHECK(fit.status == KC_ERR_CANCELLED && fit.model == NULL);
    CHECK(n_calls == 2);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

static int finish_while_solving(void *data, const kc_progress *progress)
{
    int *n_steps = data;

    *n_steps = (int)progress->n_iter;
    return *n_steps > 0 ? KC_FINISH : KC_GO_ON;
}

static void a_finished_fit_gives_the_model_it_has(void)
{
    kc_svm_settings settings;
    svm_case c = make_endless(&settings);
    int n_steps = 0;
    const kc_run run = {
        .struct_size = sizeof run, .on_progress = finish_while_solving, .progress_data = &n_steps};
    svm_fit fit = fit_case(&c, &settings, &run);

    REQUIRE(fit.status == KC_OK);
    CHECK(fit.total.stop == KC_STOP_CALLER && fit.total.n_iter >= n_steps && n_steps > 0);
    CHECK(fit.total.gap > 0 && fit.total.violation > settings.tol);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

static int finish_at_once(void *data, const kc_progress *progress)
{
    (void)data;
    (void)progress;
    return KC_FINISH;
}

/* The start of a nu-SVC has rows to add up: half of 40000 take longer than until the first poll, on
 * any machine.  What is left is the even spread, of which nothing is known. */
static void a_fit_finished_before_its_first_step_spreads_its_sums_evenly(void)
{
    svm_case c = svm_case_make(16, 40000, 12, 2);
    kc_svm_settings settings = svm_settings(KC_NU_SVC);
    const kc_run run = {.struct_size = sizeof run, .n_threads = 1, .on_progress = finish_at_once};

    settings.nu = 0.5;
    svm_fit fit = fit_case(&c, &settings, &run);
    REQUIRE(fit.status == KC_OK && fit.total.n_support == 40000);
    CHECK(fit.total.stop == KC_STOP_CALLER && fit.total.n_iter == 0);
    CHECK(isnan(fit.total.primal) && isnan(fit.total.dual) && isnan(fit.total.gap));
    CHECK(isnan(fit.total.violation) && isnan(fit.total.norm));
    double intercept = -1, *coef = malloc(40000 * sizeof *coef);
    CHECK(kc_function_intercepts(kc_model_function(fit.model), &intercept, 1, NULL) == KC_OK);
    CHECK(kc_model_coef(fit.model, coef, 40000, NULL) == KC_OK);
    CHECK(intercept == 0);
    for (int i = 1; i < 40000; i++)
        CHECK(coef[i] == coef[i - 1] || (coef[i - 1] < 0 && coef[i] > 0));
    free(coef);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

static void a_cancelled_fit_gives_no_model(void)
{
    kc_svm_settings settings;
    svm_case c = make_endless(&settings);
    kc_cancel *cancel = NULL;

    REQUIRE(kc_cancel_create(ctx, &cancel, NULL) == KC_OK);
    kc_cancel_set(cancel);
    const kc_run run = {.struct_size = sizeof run, .cancel = cancel};
    svm_fit fit = fit_case(&c, &settings, &run);
    CHECK(fit.status == KC_ERR_CANCELLED && fit.model == NULL);
    svm_fit_free(ctx, &fit);
    kc_cancel_free(ctx, cancel);
    svm_case_free(&c);
}

static void the_number_of_steps_is_limited(void)
{
    svm_case c = svm_case_make(16, 200, 3, 3);
    kc_svm_settings settings = svm_settings(KC_C_SVC);

    settings.max_iter = 5;
    svm_fit fit = fit_case(&c, &settings, NULL);
    REQUIRE(fit.status == KC_OK);
    CHECK(fit.total.stop == KC_STOP_MAX_ITER);
    for (size_t k = 0; k < 3; k++) {
        CHECK(fit.problems[k].struct_size == sizeof(kc_fit_info));
        CHECK(fit.problems[k].n_iter <= 5 && fit.problems[k].stop == KC_STOP_MAX_ITER);
    }
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

static void the_total_adds_up_the_problems(void)
{
    svm_case c = svm_case_make(17, 200, 3, 4);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    svm_fit fit = fit_case(&c, &settings, NULL);
    double dual = 0, gap = 0, violation = 0;
    int64_t n_iter = 0;

    REQUIRE(fit.status == KC_OK);
    for (size_t k = 0; k < 6; k++) {
        dual += fit.problems[k].dual;
        gap += fit.problems[k].gap;
        violation = fmax(violation, fit.problems[k].violation);
        n_iter += fit.problems[k].n_iter;
        CHECK(fit.problems[k].gap >= 0 && fit.problems[k].n_support > 0);
    }
    CHECK_NEAR(fit.total.dual, dual, 1e-12 * fabs(dual));
    CHECK_NEAR(fit.total.gap, gap, 1e-12 * fabs(dual));
    CHECK(fit.total.violation == violation && fit.total.n_iter == n_iter);
    CHECK(fit.total.values_computed > 0 && fit.total.peak_bytes > 0);
    CHECK(fit.total.seconds >= fit.total.seconds_solve);
    CHECK(fit.total.seconds_rows > 0 && fit.total.seconds_rows <= 64 * fit.total.seconds);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

/* What an earlier call left behind is not this one's. */
static void the_peak_is_that_of_the_call_alone(void)
{
    svm_case small = svm_case_make(31, 100, 3, 2), large = svm_case_make(32, 2000, 3, 2);
    const kc_svm_settings settings = svm_settings(KC_C_SVC);
    int64_t alone = 0;

    for (int round = 0; round < 3; round++) {
        svm_fit fit = fit_case(&small, &settings, NULL);
        if (round == 0)
            alone = fit.total.peak_bytes;
        CHECK(fit.total.peak_bytes > 100 * 100 * 8 && fit.total.peak_bytes < 1000000);
        CHECK_NEAR((double)fit.total.peak_bytes, (double)alone, 100000);
        svm_fit_free(ctx, &fit);
        fit = fit_case(&large, &settings, NULL);
        CHECK(fit.total.peak_bytes > 1500000 && fit.total.peak_bytes < 80000000);
        svm_fit_free(ctx, &fit);
    }
    svm_case_free(&small);
    svm_case_free(&large);
}

/* ---- Refused memory ----------------------------------------------------------------------- */

/* A fit and a prediction, in a context of its own; what there is, is freed. */
static kc_status fit_and_predict(kc_context *in, const svm_case *c, int32_t type, int is_given)
{
    kc_svm_settings settings = svm_settings((kc_svm_type)type);
    kc_svm_data data = svm_data(c);
    kc_kernel *kernel = NULL;
    kc_model *model = NULL;
    double values[60 * 3];
    kc_status status = ref_kernel_make(in, &rbf, 1, &kernel, NULL);

    settings.nu = 0.2;
    if (status == KC_OK)
        status = kc_svm_fit(in, NULL, &settings, is_given ? NULL : kernel, &data, &model, NULL,
                            NULL, NULL);
    if (status == KC_OK)
        status = kc_function_evaluate(in, NULL, kc_model_function(model), &c->points, KC_PER_OUTPUT,
                                      values, 3, NULL);
    kc_model_free(in, model);
    kc_kernel_free(in, kernel);
    return status;
}

static void sweep(const svm_case *c, int32_t type, int is_given, kc_fault_mode mode)
{
    kc_fault fault;
    size_t n = 1;

    for (;; n++) {
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 2}, &fault);
        kc_status status;

        REQUIRE(in != NULL);
        kc_fault_arm(&fault, n, mode);
        status = fit_and_predict(in, c, type, is_given);
        const int has_failed = kc_fault_disarm(&fault);
        /* The store and the arena can do without some of what they ask for. */
        CHECK(status == KC_OK || (has_failed && status == KC_ERR_NOMEM));
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
        if (!has_failed)
            break;
    }
    CHECK(n > 8); /* else nothing was refused at all */
}

static void refused_memory_is_an_error_and_leaves_nothing_behind(void)
{
    svm_case c = svm_case_make(18, 60, 3, 3);
    double *k = malloc(60 * 60 * sizeof *k);
    kc_kernel *kernel = make_kernel(ctx);

    sweep(&c, KC_C_SVC, 0, KC_FAULT_ONCE);
    sweep(&c, KC_NU_SVC, 0, KC_FAULT_ALL);
    sweep(&c, KC_NU_SVR, 0, KC_FAULT_ONCE);
    CHECK(kc_gram(ctx, NULL, kernel, &c.points, NULL, KC_F64, k, 60, NULL) == KC_OK);
    c.points = svm_view(k, 60, 60);
    sweep(&c, KC_C_SVC, 1, KC_FAULT_ONCE);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
    free(k);
}

/* Values of another type are other bits: memory must not choose it. */
static void refused_memory_never_changes_the_type_of_kernel_values(void)
{
    svm_case c = svm_case_make(19, 700, 3, 2);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_svm_data data = svm_data(&c);
    bool is_refused = true;
    size_t n_refused = 0;

    for (size_t n = 1; is_refused; n++) {
        kc_fault fault;
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
        kc_kernel *kernel = make_kernel(in);
        kc_fit_info info = {.struct_size = sizeof info};
        kc_model *model = NULL;

        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        const kc_status status =
            kc_svm_fit(in, NULL, &settings, kernel, &data, &model, &info, NULL, NULL);
        is_refused = kc_fault_disarm(&fault);
        CHECK(status == KC_ERR_NOMEM || (status == KC_OK && info.dtype == KC_F32));
        n_refused += status == KC_ERR_NOMEM;
        kc_model_free(in, model);
        kc_kernel_free(in, kernel);
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
    }
    CHECK(n_refused > 8);
    svm_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_model_does_not_depend_on_threads_or_cache);
    RUN(a_given_matrix_is_as_good_as_its_kernel);
    RUN(a_matrix_must_be_square_dense_and_finite);
    RUN(a_solution_is_a_start_with_nothing_left_to_do);
    RUN(any_start_leads_to_the_optimum);
    RUN(a_time_limit_leaves_a_usable_model);
    RUN(a_time_limit_leaves_a_model_of_all_classes);
    RUN(a_stopped_fit_gives_no_model);
    RUN(a_finished_fit_gives_the_model_it_has);
    RUN(a_fit_finished_before_its_first_step_spreads_its_sums_evenly);
    RUN(a_cancelled_fit_gives_no_model);
    RUN(the_number_of_steps_is_limited);
    RUN(the_total_adds_up_the_problems);
    RUN(the_peak_is_that_of_the_call_alone);
    RUN(refused_memory_is_an_error_and_leaves_nothing_behind);
    RUN(refused_memory_never_changes_the_type_of_kernel_values);
    kc_context_free(ctx);
    return kc_test_end();
}
