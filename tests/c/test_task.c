/* The steps of a fit before and after the solver: order, problems, precision. */
#include "task/kc_task.h"

#include <stdlib.h>
#include <string.h>

#include "function/kc_model.h"
#include "kc_test.h"
#include "svm_case.h"
#include "task/kc_form.h"
#include "task/kc_matrix.h"
#include "task/kc_precision.h"
#include "task/kc_problems.h"

static kc_context *ctx;
static kc_call call;

static kc_samples sort(const svm_case *c, const kc_svm_settings *settings, kc_status *status)
{
    const kc_svm_data data = svm_data(c);
    kc_samples samples = {0};

    *status = kc_samples_sort(&call, settings, &data, &samples);
    return samples;
}

/* ---- Samples ------------------------------------------------------------------------------ */

static void samples_are_sorted_by_class_and_weightless_ones_left_out(void)
{
    svm_case c = svm_case_make(1, 50, 2, 3);
    const kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_status status;

    for (size_t i = 3; i < 50; i += 5)
        c.weights[i] = 0;
    c.weights[4] = 2.5;
    const kc_samples samples = sort(&c, &settings, &status);
    REQUIRE(status == KC_OK);
    CHECK(samples.n_all == 50 && samples.n == 40 && !samples.is_identity);
    CHECK(samples.n_segments == 3 && samples.bounds[0] == 0 && samples.bounds[3] == 40);
    for (size_t k = 0; k < 3; k++)
        for (size_t p = samples.bounds[k]; p < samples.bounds[k + 1]; p++) {
            const int32_t i = samples.order[p];

            CHECK(c.classes[i] == (int32_t)k && c.weights[i] == samples.weights[p]);
            CHECK(samples.weights[p] > 0);
            CHECK(p == samples.bounds[k] || samples.order[p - 1] < i);
        }
    svm_case_free(&c);
}

static void samples_in_order_are_left_alone(void)
{
    svm_case c = svm_case_make(1, 50, 2, 2);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_status status;

    CHECK(!sort(&c, &settings, &status).is_identity);
    for (size_t i = 0; i < 50; i++)
        c.classes[i] = i >= 20;
    CHECK(sort(&c, &settings, &status).is_identity);
    settings.type = KC_NU_SVR;
    kc_samples samples = sort(&c, &settings, &status);
    CHECK(samples.is_identity && samples.n_classes == 0 && samples.n_segments == 1);
    CHECK(memcmp(samples.targets, c.targets, 50 * sizeof *c.targets) == 0);
    memset(c.weights, 0, 50 * sizeof *c.weights);
    sort(&c, &settings, &status);
    CHECK(status == KC_ERR_ARG);
    svm_case_free(&c);
}

/* ---- Types -------------------------------------------------------------------------------- */

static void a_number_that_is_no_type_has_no_form_and_one_problem(void)
{
    kc_svm_settings settings = svm_settings(KC_C_SVC);

    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++)
        CHECK(kc_form_of(type) != NULL);
    CHECK(kc_form_of(0) == NULL && kc_form_of(-1) == NULL && kc_form_of(SVM_LAST_TYPE + 1) == NULL);
    CHECK(kc_svm_problem_count(&settings, 3) == 3);
    settings.type = SVM_LAST_TYPE + 1;
    CHECK(kc_svm_problem_count(&settings, 3) == 1);
}

/* ---- Problems ----------------------------------------------------------------------------- */

/* Every coefficient of the matrix belongs to exactly one problem. */
static void check_cover(int32_t n_classes, int32_t multiclass)
{
    svm_case c = svm_case_make(2, 60, 2, n_classes > 0 ? n_classes : 2);
    const kc_svm_settings settings = svm_settings(n_classes > 0 ? KC_C_SVC : KC_EPS_SVR);
    const size_t n_rows = kc_coef_rows(multiclass, n_classes);
    kc_status status;
    const kc_samples samples = sort(&c, &settings, &status);
    double *matrix = calloc(n_rows * 60, sizeof *matrix), coef[60], back[60], y[60];
    size_t n_entries = 0;

    REQUIRE(status == KC_OK);
    for (size_t index = 0; index < kc_problem_count(multiclass, n_classes); index++) {
        kc_problem problem;

        kc_problem_make(&samples, multiclass, index, &problem);
        CHECK(problem.n == kc_cols_count(&problem.cols));
        for (size_t p = 0; p < problem.n; p++)
            coef[p] = (double)(index * 1000 + p + 1);
        kc_problem_store(&problem, coef, 60, matrix);
        kc_problem_labels(&problem, y);
        size_t p = 0;
        for (size_t r = 0; r < problem.n_runs; r++)
            for (size_t place = problem.runs[r].begin; place < problem.runs[r].end; place++, p++) {
                CHECK(kc_cols_point(&problem.cols, p) == place);
                CHECK(y[p] == problem.runs[r].y);
            }
        CHECK(p == problem.n);
        n_entries += problem.n;
    }
    /* One-vs-one leaves no entry out; no problem wrote over another. */
    CHECK(n_entries == n_rows * 60);
    for (size_t k = 0; k < n_rows * 60; k++)
        CHECK(matrix[k] > 0);
    for (size_t index = 0; index < kc_problem_count(multiclass, n_classes); index++) {
        int32_t places[60];
        kc_problem problem;

        for (int32_t i = 0; i < 60; i++)
            places[i] = i;
        kc_problem_make(&samples, multiclass, index, &problem);
        kc_problem_load(&problem, matrix, 60, places, back);
        for (size_t p = 0; p < problem.n; p++)
            CHECK(back[p] == (double)(index * 1000 + p + 1));
    }
    free(matrix);
    svm_case_free(&c);
}

static void every_coefficient_belongs_to_one_problem(void)
{
    check_cover(0, KC_ONE_VS_ONE);
    check_cover(2, KC_ONE_VS_ONE);
    check_cover(2, KC_ONE_VS_REST);
    check_cover(3, KC_ONE_VS_ONE);
    check_cover(5, KC_ONE_VS_ONE);
    check_cover(5, KC_ONE_VS_REST);
}

/* ---- Precision ---------------------------------------------------------------------------- */

static kc_dtype dtype_of(const svm_case *c, double C, kc_precision precision)
{
    const ref_node rbf = {.op = OP_RBF, .gamma = 0.5};
    const kc_svm_data data = svm_data(c);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_kernel *kernel = NULL;

    settings.C = C;
    settings.precision = (int32_t)precision;
    settings.max_iter = 10;
    CHECK(ref_kernel_make(ctx, &rbf, 1, &kernel, NULL) == KC_OK);
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    CHECK(fit.status == KC_OK && fit.function.dtype == fit.total.dtype);
    const kc_dtype dtype = fit.function.dtype;
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    return dtype;
}

static void f32_is_chosen_only_where_it_pays_and_does_no_harm(void)
{
    svm_case small = svm_case_make(4, KC_PRECISION_SMALL, 2, 2);
    svm_case large = svm_case_make(4, KC_PRECISION_SMALL + 1, 2, 2);

    CHECK(dtype_of(&small, 1e-4, KC_PRECISION_AUTO) == KC_F64);
    CHECK(dtype_of(&large, 1e-4, KC_PRECISION_AUTO) == KC_F32);
    CHECK(dtype_of(&large, 1e9, KC_PRECISION_AUTO) == KC_F64);
    CHECK(dtype_of(&large, 1e4, KC_PRECISION_F32) == KC_F32);
    CHECK(dtype_of(&large, 1e-4, KC_PRECISION_F64) == KC_F64);
    large.x[5] = 1e30; /* its square is beyond f32 */
    CHECK(dtype_of(&large, 1e-4, KC_PRECISION_AUTO) == KC_F64);
    svm_case_free(&small);
    svm_case_free(&large);
}

/* ---- Matrices ----------------------------------------------------------------------------- */

static void a_matrix_in_order_is_borrowed_and_any_other_copied(void)
{
    svm_case c = svm_case_make(5, 20, 2, 2);
    const kc_svm_settings svr = svm_settings(KC_EPS_SVR), svc = svm_settings(KC_C_SVC);
    double k[20 * 24];
    kc_points view = svm_view(k, 20, 20);
    kc_matrix matrix;
    kc_status status;

    for (size_t i = 0; i < 20 * 24; i++)
        k[i] = (double)i;
    view.row_stride = 24 * sizeof *k;
    kc_samples samples = sort(&c, &svr, &status);
    REQUIRE(kc_matrix_create(&call, &view, &samples, KC_F64, &matrix) == KC_OK);
    CHECK(matrix.values == k && matrix.ld == 24 && matrix.owned == NULL);
    kc_matrix_free(ctx, &matrix);
    samples = sort(&c, &svc, &status);
    for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
        REQUIRE(kc_matrix_create(&call, &view, &samples, dtype, &matrix) == KC_OK);
        CHECK(matrix.owned != NULL);
        for (size_t i = 0; i < 20; i++)
            for (size_t j = 0; j < 20; j++) {
                const double wanted = k[samples.order[i] * 24 + samples.order[j]];

                CHECK((dtype == KC_F64
                           ? ((const double *)matrix.values)[i * matrix.ld + j]
                           : (double)((const float *)matrix.values)[i * matrix.ld + j]) == wanted);
            }
        kc_matrix_free(ctx, &matrix);
    }
    k[24 * 7 + 3] = 1e300;
    CHECK(kc_matrix_create(&call, &view, &samples, KC_F32, &matrix) == KC_ERR_RANGE);
    CHECK(kc_matrix_create(&call, &view, &samples, KC_F64, &matrix) == KC_OK);
    kc_matrix_free(ctx, &matrix);
    svm_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK ||
        kc_call_begin(&call, ctx, NULL, "test", NULL) != KC_OK)
        return 1;
    RUN(samples_are_sorted_by_class_and_weightless_ones_left_out);
    RUN(samples_in_order_are_left_alone);
    RUN(a_number_that_is_no_type_has_no_form_and_one_problem);
    RUN(every_coefficient_belongs_to_one_problem);
    RUN(f32_is_chosen_only_where_it_pays_and_does_no_harm);
    RUN(a_matrix_in_order_is_borrowed_and_any_other_copied);
    const kc_status status = kc_call_end(&call, KC_OK);
    kc_context_free(ctx);
    return kc_test_end() || status != KC_OK;
}
