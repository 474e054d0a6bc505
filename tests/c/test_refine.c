/* Solutions of f32 kernel values that are refined in f64: audited from the definition. */
#include "task/kc_refine.h"

#include <math.h>
#include <stdlib.h>

#include "fault.h"
#include "kc_test.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node wide = {.op = OP_RBF, .gamma = 0.02};

static kc_kernel *make_kernel(kc_context *in)
{
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(in, &wide, 1, &kernel, NULL) == KC_OK);
    return kernel;
}

static svm_fit fit_case(const svm_case *c, const kc_svm_settings *settings)
{
    const kc_svm_data data = svm_data(c);
    kc_kernel *kernel = make_kernel(ctx);
    svm_fit fit = svm_fit_make(ctx, NULL, settings, kernel, &data);

    kc_kernel_free(ctx, kernel);
    return fit;
}

/* Errors of f32 that are some tenths of tol. */
static kc_svm_settings hard_settings(kc_svm_type type)
{
    static const double C[] = {[KC_C_SVC] = 300,
                               [KC_EPS_SVR] = 300,
                               [KC_NU_SVR] = 300,
                               [KC_NU_SVC] = 1,
                               [KC_ONE_CLASS] = 1};
    kc_svm_settings settings = svm_settings(type);

    settings.C = C[type];
    settings.nu = 0.3;
    settings.epsilon = 0.1;
    settings.tol = type == KC_NU_SVC ? 1e-7 : type == KC_ONE_CLASS ? 1e-6 : 1e-3;
    return settings;
}

static void every_form_is_refined_and_passes_an_audit_in_f64(void)
{
    svm_case c = svm_case_make(7, 1500, 4, 2);

    for (kc_svm_type type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        kc_svm_settings settings = hard_settings(type);
        svm_fit fit = fit_case(&c, &settings);

        REQUIRE(fit.status == KC_OK);
        CHECK(fit.total.n_refined == 1 && fit.problems[0].n_refined == 1);
        CHECK(fit.total.stop == KC_STOP_CONVERGED && fit.total.violation < settings.tol);
        CHECK(fit.total.dtype == KC_F32 && fit.function.dtype == KC_F64);
        const svm_audit audit = svm_fit_audit(ctx, &fit, &c, &settings, &wide);
        CHECK(audit.off_value <= 1e-13); /* f64, of samples as they were given */
        CHECK(audit.violation <= 1.125 * settings.tol);
        CHECK(audit.off_sum <= 1e-12 && audit.out_of_box <= 1e-12);
        svm_fit_free(ctx, &fit);
    }
    svm_case_free(&c);
}

/* The certificate is that of the problem in f64: its bounds hold another solution of it. */
static void objectives_of_a_refined_solution_enclose_those_in_f64(void)
{
    svm_case c = svm_case_make(8, 1500, 4, 2);

    for (kc_svm_type type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        kc_svm_settings settings = hard_settings(type);
        svm_fit fit = fit_case(&c, &settings);
        settings.precision = KC_PRECISION_F64;
        settings.tol *= 1e-2;
        svm_fit exact = fit_case(&c, &settings);
        const double rounding = 1e-9 * (fabs(exact.total.primal) + fabs(exact.total.dual));

        REQUIRE(fit.status == KC_OK && exact.status == KC_OK);
        CHECK(fit.total.n_refined == 1 && exact.total.n_refined == 0);
        if (type != KC_NU_SVC) { /* whose scale is a part of the solution */
            CHECK(fit.total.dual <= exact.total.primal + rounding);
            CHECK(exact.total.dual <= fit.total.primal + rounding);
        }
        CHECK_NEAR(fit.total.primal - fit.total.dual, fit.total.gap, rounding);
        svm_fit_free(ctx, &fit);
        svm_fit_free(ctx, &exact);
    }
    svm_case_free(&c);
}

static void a_solution_that_f32_leaves_far_off_is_found_anew(void)
{
    svm_case c = svm_case_make(7, 1500, 4, 2);
    kc_svm_settings settings = hard_settings(KC_C_SVC);

    for (size_t i = 0; i < 1500 * 4; i++) /* f32 keeps three decimals of them */
        c.x[i] += 3e4;
    svm_fit fit = fit_case(&c, &settings);
    REQUIRE(fit.status == KC_OK);
    CHECK(fit.total.n_refined == 0 && fit.total.dtype == KC_F64 && fit.function.dtype == KC_F64);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

static void refused_memory_is_an_error_at_every_step(void)
{
    svm_case c = svm_case_make(7, 700, 4, 2);
    const kc_svm_data data = svm_data(&c);
    kc_svm_settings settings = hard_settings(KC_EPS_SVR);
    svm_fit whole = fit_case(&c, &settings);
    int is_refused = 1;

    CHECK(whole.total.n_refined == 1);
    for (size_t n = 1; is_refused && n < 1000; n++) {
        kc_fault fault;
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
        kc_kernel *kernel = make_kernel(in);

        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        svm_fit fit = svm_fit_make(in, NULL, &settings, kernel, &data);
        is_refused = kc_fault_disarm(&fault);
        CHECK(fit.status == KC_OK ? svm_fit_equal(&fit, &whole)
                                  : fit.status == KC_ERR_NOMEM && fit.model == NULL);
        svm_fit_free(in, &fit);
        kc_kernel_free(in, kernel);
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
    }
    CHECK(!is_refused);
    svm_fit_free(ctx, &whole);
    svm_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(every_form_is_refined_and_passes_an_audit_in_f64);
    RUN(objectives_of_a_refined_solution_enclose_those_in_f64);
    RUN(a_solution_that_f32_leaves_far_off_is_found_anew);
    RUN(refused_memory_is_an_error_at_every_step);
    kc_context_free(ctx);
    return kc_test_end();
}
