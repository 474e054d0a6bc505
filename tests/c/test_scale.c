/* nu-SVC, whose solution is divided by a scale: audited from the definition, in units of the
 * decision function. */
#include "solver/kc_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node linear = {.op = OP_LINEAR};
static const ref_node wide = {.op = OP_RBF, .gamma = 0.01};
static const ref_node flat = {.op = OP_RBF, .gamma = 0.0003};
static const ref_node narrow = {.op = OP_RBF, .gamma = 0.5};

static svm_fit fit_case(const svm_case *c, const kc_svm_settings *settings, const ref_node *node)
{
    const kc_svm_data data = svm_data(c);
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(ctx, node, 1, &kernel, NULL) == KC_OK);
    svm_fit fit = svm_fit_make(ctx, NULL, settings, kernel, &data);
    kc_kernel_free(ctx, kernel);
    return fit;
}

static kc_svm_settings nu_settings(double nu)
{
    kc_svm_settings settings = svm_settings(KC_NU_SVC);

    settings.nu = nu;
    settings.precision = KC_PRECISION_F64;
    return settings;
}

/* The r by which coefficients were divided: of those they add up to nu n / 2 for each class. */
static double scale_of(const svm_case *c, const kc_svm_settings *settings, const svm_audit *audit)
{
    return settings->nu * (double)c->n / audit->coef_weight;
}

static svm_case flip_labels(uint64_t seed, size_t n, size_t d, uint64_t one_in)
{
    svm_case c = svm_case_make(seed, n, d, 2);
    kc_rng rng = kc_rng_seed(seed);

    for (size_t i = 0; i < n; i++)
        if (kc_rng_below(&rng, one_in) == 0)
            c.classes[i] = !c.classes[i];
    return c;
}

static void violations_are_those_of_the_decision_function(void)
{
    int n_small = 0, n_solved = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        svm_case c = flip_labels(seed, 40 + 3 * seed, 2 + seed % 5, 10 + seed % 20);
        kc_svm_settings settings = nu_settings(0.15 + 0.01 * (double)(seed % 20));
        const ref_node *node = seed % 2 == 0 ? &flat : &narrow;
        svm_fit fit = fit_case(&c, &settings, node);

        if (fit.status == KC_OK && fit.total.stop == KC_STOP_CONVERGED) {
            const svm_audit audit = svm_fit_audit(ctx, &fit, &c, &settings, node);

            CHECK(fit.total.violation < settings.tol);
            CHECK(audit.violation <= settings.tol + 0x1p-50 * audit.coef_weight);
            CHECK(audit.out_of_box <= 1e-12 && audit.off_sum <= 1e-10);
            n_small += scale_of(&c, &settings, &audit) < 1e-2;
            n_solved++;
        } else {
            CHECK(fit.status == KC_ERR_INFEASIBLE || fit.total.stop == KC_STOP_NO_MARGIN);
        }
        svm_fit_free(ctx, &fit);
        svm_case_free(&c);
    }
    CHECK(n_solved >= 40 && n_small >= 10);
}

/* K times a factor is r times that factor: steps and function stay as they are. */
static void a_factor_of_the_kernel_changes_nothing(void)
{
    const ref_node scaled[] = {narrow, {.op = OP_SCALE, .gamma = 0x1p-20}};
    svm_case c = flip_labels(3, 150, 3, 10);
    const kc_svm_settings settings = nu_settings(0.4);
    const kc_svm_data data = svm_data(&c);
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(ctx, scaled, 2, &kernel, NULL) == KC_OK);
    svm_fit small = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    svm_fit fit = fit_case(&c, &settings, &narrow);
    REQUIRE(fit.status == KC_OK && small.status == KC_OK);
    CHECK(small.total.n_iter == fit.total.n_iter);
    CHECK(small.total.violation == fit.total.violation);
    CHECK(small.intercepts[0] == fit.intercepts[0]);
    CHECK(small.coef[0] == 0x1p20 * fit.coef[0]);
    kc_kernel_free(ctx, kernel);
    svm_fit_free(ctx, &small);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

/* Every point of one class is there for the other one, too. */
static svm_case make_twins(size_t n, size_t d)
{
    svm_case c = svm_case_make(11, 2 * n, d, 2);

    for (size_t i = 0; i < n; i++) {
        memcpy(c.x + (n + i) * d, c.x + i * d, d * sizeof *c.x);
        c.classes[i] = 0;
        c.classes[n + i] = 1;
    }
    return c;
}

static void hulls_that_meet_are_an_error_in_every_precision(void)
{
    for (size_t n = 20; n <= 420; n += 400)
        for (int32_t precision = KC_PRECISION_AUTO; precision <= KC_PRECISION_F64; precision++) {
            svm_case c = make_twins(n, 3);
            kc_svm_settings settings = nu_settings(0.5);

            settings.precision = precision;
            for (int k = 0; k < 2; k++) {
                svm_fit fit = fit_case(&c, &settings, k == 0 ? &linear : &wide);
                CHECK(fit.status == KC_ERR_DEGENERATE);
                CHECK(strstr(fit.err.text, "the margin is zero: for nu = 0.5") != NULL);
                svm_fit_free(ctx, &fit);
            }
            svm_case_free(&c);
        }
}

/* Labels that are noise: hulls that a wide kernel keeps apart by very little, if at all. */
static svm_case make_noise(size_t n)
{
    return flip_labels(5, n, 2, 2);
}

static void a_margin_that_is_not_found_ends_the_fit_soon_with_a_model(void)
{
    svm_case c = make_noise(300);
    kc_svm_settings settings = nu_settings(0.3);
    svm_fit fit = fit_case(&c, &settings, &wide);
    const kc_scale_tuning *tuning = &kc_tuning_default.scale;

    REQUIRE(fit.status == KC_OK);
    const svm_audit audit = svm_fit_audit(ctx, &fit, &c, &settings, &wide);
    CHECK(fit.total.stop == KC_STOP_NO_MARGIN);
    CHECK(fit.total.violation > 0.1); /* more than a tenth of the margin */
    CHECK(audit.violation <= fit.total.violation * (1 + 1e-6));
    CHECK(audit.out_of_box <= 1e-12 && audit.off_sum <= 1e-10);
    CHECK(fit.total.gap >= fit.total.norm * fit.total.norm / 2); /* no proof of a margin */
    CHECK(fit.total.n_iter <= 2 * tuning->steps_min);
    settings.max_iter = 20 * fit.total.n_iter; /* a max_iter that is given lifts the limit */
    svm_fit more = fit_case(&c, &settings, &wide);
    CHECK(more.total.stop != KC_STOP_NO_MARGIN && more.total.n_iter > fit.total.n_iter);
    svm_fit_free(ctx, &more);
    svm_fit_free(ctx, &fit);
    svm_case_free(&c);
}

/* Errors of f32 are beyond the whole of a small margin. */
static void f32_refuses_no_problem_that_f64_solves(void)
{
    svm_case c = flip_labels(9, 900, 3, 60);
    kc_svm_settings settings = nu_settings(0.12);
    svm_fit exact = fit_case(&c, &settings, &wide);

    settings.precision = KC_PRECISION_AUTO;
    svm_fit fit = fit_case(&c, &settings, &wide);
    REQUIRE(exact.status == KC_OK && fit.status == KC_OK);
    CHECK(exact.total.stop == fit.total.stop);
    if (fit.total.stop == KC_STOP_CONVERGED) {
        const svm_audit audit = svm_fit_audit(ctx, &fit, &c, &settings, &wide);
        CHECK(audit.violation <= 1.25 * settings.tol);
    }
    svm_fit_free(ctx, &fit);
    svm_fit_free(ctx, &exact);
    svm_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(violations_are_those_of_the_decision_function);
    RUN(a_factor_of_the_kernel_changes_nothing);
    RUN(hulls_that_meet_are_an_error_in_every_precision);
    RUN(a_margin_that_is_not_found_ends_the_fit_soon_with_a_model);
    RUN(f32_refuses_no_problem_that_f64_solves);
    kc_context_free(ctx);
    return kc_test_end();
}
