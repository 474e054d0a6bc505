/* Fits through the public interface: every model is audited from the definition. */
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node linear = {.op = OP_LINEAR};
static const ref_node rbf = {.op = OP_RBF, .gamma = 0.3};
static const ref_node cubic = {.op = OP_POLYNOMIAL, .degree = 3, .gamma = 0.2, .coef0 = 1};

static kc_kernel *make_kernel(const ref_node *node)
{
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(ctx, node, 1, &kernel, NULL) == KC_OK);
    return kernel;
}

/* Whether the text of an error holds all of these words. */
static int says(const kc_error *err, const char *a, const char *b)
{
    const int is_ok = strstr(err->text, a) != NULL && strstr(err->text, b) != NULL;

    if (!is_ok)
        printf("    \"%s\" does not say \"%s\" and \"%s\"\n", err->text, a, b);
    return is_ok;
}

/* ---- The five formulations ---------------------------------------------------------------- */

static void check_fit(uint64_t seed, kc_svm_type type, const ref_node *node, kc_precision precision)
{
    kc_rng rng = kc_rng_seed(seed);
    svm_case c = svm_case_make(seed, 20 + kc_rng_below(&rng, 100), 1 + kc_rng_below(&rng, 6), 2);
    kc_svm_settings settings = svm_settings(type);
    kc_svm_data data = svm_data(&c);
    kc_kernel *kernel = make_kernel(node);

    settings.C = pow(10, 3 * kc_rng_uniform(&rng) - 2);
    settings.nu = 0.3 + 0.3 * kc_rng_uniform(&rng);
    settings.epsilon = 0.2 * kc_rng_uniform(&rng);
    settings.tol = precision == KC_PRECISION_F64 ? 1e-6 : 1e-3;
    settings.precision = (int32_t)precision;
    for (size_t i = 0; i < c.n && seed % 2 == 1; i++)
        c.weights[i] = 0.5 + kc_rng_uniform(&rng);
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    /* nu-SVC on classes that overlap too much for this nu has no margin, or none that is found, and
     * says so. */
    CHECK(fit.status == KC_OK || (type == KC_NU_SVC && (fit.status == KC_ERR_DEGENERATE ||
                                                        fit.status == KC_ERR_INFEASIBLE)));
    if (fit.status == KC_OK) {
        const svm_audit audit = svm_fit_audit(ctx, &fit, &c, &settings, node);
        const double u = precision == KC_PRECISION_F64 ? 0x1p-53 : 0x1p-24;
        const double noise = 300 * u * (1 + audit.coef_weight); /* of kernel values up to 300 */
        const bool is_solved = fit.total.stop == KC_STOP_CONVERGED;
        const double most = is_solved ? settings.tol : fit.total.violation;

        CHECK(is_solved || (type == KC_NU_SVC && fit.total.stop == KC_STOP_NO_MARGIN));
        CHECK(audit.out_of_box <= 1e-12);
        CHECK(audit.off_sum <= 1e-10);
        CHECK(audit.violation <= most + noise);
        CHECK(audit.off_value <= 300 * u);
        CHECK(fit.total.gap >= -1e-12 * (fabs(fit.total.primal) + fabs(fit.total.dual)));
        CHECK(fit.total.violation <= most);
        CHECK(fit.total.n_support == fit.function.n_points);
        CHECK(fit.total.dtype == (precision == KC_PRECISION_F64 ? KC_F64 : KC_F32));
    }
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

static void every_type_meets_its_optimality_conditions(void)
{
    const ref_node *nodes[] = {&linear, &rbf, &cubic};

    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++)
        for (uint64_t seed = 0; seed < 30; seed++)
            check_fit(seed, (kc_svm_type)type, nodes[seed % 3], KC_PRECISION_F64);
}

static void f32_kernel_values_meet_them_up_to_their_rounding(void)
{
    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++)
        for (uint64_t seed = 0; seed < 10; seed++)
            check_fit(100 + seed, (kc_svm_type)type, &rbf, KC_PRECISION_F32);
}

/* ---- Weights ------------------------------------------------------------------------------ */

/* The case without the samples of weight zero; kept: their old indices. */
static svm_case drop_weightless(const svm_case *c, int32_t *kept)
{
    svm_case out = svm_case_make(0, c->n, c->d, c->n_classes);

    out.n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->weights[i] == 0)
            continue;
        kept[out.n] = (int32_t)i;
        memcpy(out.x + out.n * c->d, c->x + i * c->d, c->d * sizeof *c->x);
        out.classes[out.n] = c->classes[i];
        out.targets[out.n] = c->targets[i];
        out.weights[out.n++] = c->weights[i];
    }
    out.points = svm_view(out.x, out.n, out.d);
    return out;
}

static void a_weight_of_zero_leaves_a_sample_out(void)
{
    kc_kernel *kernel = make_kernel(&rbf);

    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        svm_case c = svm_case_make(5, 60, 3, 2);
        int32_t kept[60];
        kc_svm_settings settings = svm_settings((kc_svm_type)type);

        for (size_t i = 2; i < c.n; i += 3)
            c.weights[i] = 0;
        svm_case fewer = drop_weightless(&c, kept);
        kc_svm_data data = svm_data(&c), fewer_data = svm_data(&fewer);
        svm_fit a = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        svm_fit b = svm_fit_make(ctx, NULL, &settings, kernel, &fewer_data);
        CHECK(a.status == KC_OK && b.status == KC_OK);
        for (int64_t k = 0; b.status == KC_OK && k < b.function.n_points; k++)
            b.support[k] = kept[b.support[k]];
        CHECK(svm_fit_equal(&a, &b));
        svm_fit_free(ctx, &a);
        svm_fit_free(ctx, &b);
        svm_case_free(&c);
        svm_case_free(&fewer);
    }
    kc_kernel_free(ctx, kernel);
}

static void weights_of_classes_are_factors_of_those_of_samples(void)
{
    const double factors[] = {0.5, 3, 1.25};
    svm_case c = svm_case_make(23, 80, 3, 3);
    const kc_svm_settings settings = svm_settings(KC_C_SVC);
    kc_kernel *kernel = NULL;

    REQUIRE(ref_kernel_make(ctx, &rbf, 1, &kernel, NULL) == KC_OK);
    for (size_t i = 0; i < c.n; i++)
        c.weights[i] = 1 + (double)(i % 4);
    kc_svm_data data = svm_data(&c);
    data.class_weights = factors;
    svm_fit a = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    for (size_t i = 0; i < c.n; i++)
        c.weights[i] *= factors[c.classes[i]];
    data.class_weights = NULL;
    svm_fit b = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    CHECK(svm_fit_equal(&a, &b));
    svm_fit_free(ctx, &a);
    svm_fit_free(ctx, &b);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

/* nu stands for a C, and the weights of classes are factors of it. */
static void weights_of_classes_leave_nu_alone(void)
{
    const double factors[] = {100, 1e-3};
    svm_case c = svm_case_make(24, 80, 3, 2);
    kc_svm_settings settings = svm_settings(KC_NU_SVC);
    kc_kernel *kernel = NULL;
    double largest = 0;

    REQUIRE(ref_kernel_make(ctx, &rbf, 1, &kernel, NULL) == KC_OK);
    settings.nu = 0.6;
    settings.tol = 1e-8;
    kc_svm_data data = svm_data(&c);
    svm_fit plain = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    REQUIRE(plain.status == KC_OK && plain.total.n_bounded > 0);
    for (int64_t k = 0; k < plain.function.n_points; k++)
        largest = fmax(largest, fabs(plain.coef[k]));
    data.class_weights = factors;
    svm_fit a = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    settings.type = KC_C_SVC;
    settings.C = largest;
    svm_fit b = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    REQUIRE(a.status == KC_OK && b.status == KC_OK && a.info.type == KC_NU_SVC);
    CHECK(a.total.stop == KC_STOP_CONVERGED && a.total.n_iter >= plain.total.n_iter);
    CHECK_NEAR(a.total.dual, b.total.dual, 1e-6 * b.total.dual);
    CHECK_NEAR(a.intercepts[0], b.intercepts[0], 1e-6);
    svm_fit_free(ctx, &plain);
    svm_fit_free(ctx, &a);
    svm_fit_free(ctx, &b);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

static void a_weight_of_two_is_a_sample_given_twice(void)
{
    kc_kernel *kernel = make_kernel(&rbf);

    for (int32_t type = KC_C_SVC; type <= SVM_LAST_TYPE; type++) {
        svm_case c = svm_case_make(6, 40, 3, 2), twice = svm_case_make(6, 60, 3, 2);
        kc_svm_settings settings = svm_settings((kc_svm_type)type);
        double a_values[40], b_values[40];

        settings.tol = 1e-9;
        for (size_t i = 0; i < 20; i++)
            c.weights[i] = 2;
        memcpy(twice.x, c.x, 120 * sizeof *c.x);
        memcpy(twice.x + 120, c.x, 60 * sizeof *c.x);
        for (size_t i = 0; i < 60; i++) {
            twice.classes[i] = c.classes[i % 40];
            twice.targets[i] = c.targets[i % 40];
        }
        kc_svm_data data = svm_data(&c), twice_data = svm_data(&twice);
        svm_fit a = svm_fit_make(ctx, NULL, &settings, kernel, &data);
        svm_fit b = svm_fit_make(ctx, NULL, &settings, kernel, &twice_data);
        REQUIRE(a.status == KC_OK && b.status == KC_OK);
        CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(a.model), &c.points, KC_PER_OUTPUT,
                                   a_values, 1, NULL) == KC_OK);
        CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(b.model), &c.points, KC_PER_OUTPUT,
                                   b_values, 1, NULL) == KC_OK);
        for (size_t i = 0; i < 40; i++)
            CHECK_NEAR(a_values[i], b_values[i], 1e-5);
        CHECK_NEAR(a.total.dual, b.total.dual, 1e-7 * (1 + fabs(a.total.dual)));
        svm_fit_free(ctx, &a);
        svm_fit_free(ctx, &b);
        svm_case_free(&c);
        svm_case_free(&twice);
    }
    kc_kernel_free(ctx, kernel);
}

/* ---- Classes ------------------------------------------------------------------------------ */

/* A case of two classes: those of `positive` against the others kept. */
static svm_case two_classes(const svm_case *c, int32_t positive, int32_t negative)
{
    svm_case out = svm_case_make(0, c->n, c->d, 2);
    int32_t kept[200];

    for (size_t i = 0; i < c->n; i++) {
        const int32_t k = c->classes[i];

        memcpy(out.x + i * c->d, c->x + i * c->d, c->d * sizeof *c->x);
        out.classes[i] = k == positive;
        out.weights[i] = k == positive || k == negative || negative < 0;
    }
    svm_case fewer = drop_weightless(&out, kept);
    svm_case_free(&out);
    return fewer;
}

static void check_problems(int32_t multiclass, kc_svm_type type)
{
    kc_kernel *kernel = make_kernel(&rbf);
    svm_case c = svm_case_make(8, 120, 3, 4);
    kc_svm_data data = svm_data(&c);
    kc_svm_settings settings = svm_settings(type);
    double values[120 * 6], one[120];

    settings.multiclass = multiclass;
    settings.tol = 1e-8;
    settings.nu = 0.2;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    REQUIRE(fit.status == KC_OK);
    const int64_t n_problems = multiclass == KC_ONE_VS_ONE ? 6 : 4;
    CHECK(fit.function.n_outputs == n_problems);
    CHECK(fit.info.n_coef_rows == (multiclass == KC_ONE_VS_ONE ? 3 : 4));
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(fit.model), &c.points, KC_PER_OUTPUT,
                               values, n_problems, NULL) == KC_OK);
    int64_t index = 0;
    for (int32_t i = 0; i < 4; i++)
        for (int32_t j = multiclass == KC_ONE_VS_ONE ? i + 1 : 3; j < 4; j++, index++) {
            svm_case pair = two_classes(&c, i, multiclass == KC_ONE_VS_ONE ? j : -1);
            kc_svm_data pair_data = svm_data(&pair);
            svm_fit alone = svm_fit_make(ctx, NULL, &settings, kernel, &pair_data);
            CHECK(alone.status == KC_OK);
            CHECK_NEAR(alone.total.dual, fit.problems[index].dual,
                       1e-6 * (1 + fabs(alone.total.dual)));
            CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(alone.model), &c.points,
                                       KC_PER_OUTPUT, one, 1, NULL) == KC_OK);
            for (size_t k = 0; k < c.n; k++)
                CHECK_NEAR(values[k * (size_t)n_problems + (size_t)index], one[k], 1e-4);
            svm_fit_free(ctx, &alone);
            svm_case_free(&pair);
        }
    CHECK(index == n_problems);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

static void a_pair_of_classes_is_fitted_as_if_it_were_alone(void)
{
    check_problems(KC_ONE_VS_ONE, KC_C_SVC);
    check_problems(KC_ONE_VS_ONE, KC_NU_SVC);
}

static void a_class_against_the_rest_is_a_problem_of_two_classes(void)
{
    check_problems(KC_ONE_VS_REST, KC_C_SVC);
}

static void support_vectors_are_sorted_by_class_and_index(void)
{
    kc_kernel *kernel = make_kernel(&rbf);
    svm_case c = svm_case_make(9, 100, 2, 3);
    kc_svm_data data = svm_data(&c);
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    size_t k = 0;

    REQUIRE(fit.status == KC_OK);
    for (int32_t class = 0; class < 3; class ++)
        for (int32_t i = 0; i < fit.counts[class]; i++, k++) {
            CHECK(c.classes[fit.support[k]] == class);
            CHECK(i == 0 || fit.support[k] > fit.support[k - 1]);
        }
    CHECK((int64_t)k == fit.function.n_points);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

/* ---- Problems without a model ------------------------------------------------------------- */

static const double xor_x[] = {0, 0, 1, 1, 0, 1, 1, 0};
static const int32_t xor_classes[] = {0, 0, 1, 1};

static svm_fit fit_xor(const ref_node *node, const kc_svm_settings *settings)
{
    const kc_points points = svm_view(xor_x, 4, 2);
    const kc_svm_data data = {
        .struct_size = sizeof data, .x = &points, .classes = xor_classes, .n_classes = 2};
    kc_kernel *kernel = make_kernel(node);
    svm_fit fit = svm_fit_make(ctx, NULL, settings, kernel, &data);

    kc_kernel_free(ctx, kernel);
    return fit;
}

static void a_hard_margin_separates_or_says_that_it_cannot(void)
{
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    settings.C = HUGE_VAL;
    settings.tol = 1e-8;
    svm_fit no = fit_xor(&linear, &settings), yes = fit_xor(&rbf, &settings);
    const kc_points points = svm_view(xor_x, 4, 2);
    double values[4];

    CHECK(no.status == KC_ERR_NOT_SEPARABLE && no.model == NULL);
    CHECK(says(&no.err, "separated", "C is infinite"));
    REQUIRE(yes.status == KC_OK);
    CHECK(yes.total.dtype == KC_F64);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(yes.model), &points, KC_PER_OUTPUT,
                               values, 1, NULL) == KC_OK);
    for (size_t i = 0; i < 4; i++) /* by symmetry all four lie on the margin */
        CHECK_NEAR(values[i], xor_classes[i] == 1 ? 1 : -1, 1e-7);
    CHECK_NEAR(yes.total.norm * yes.total.norm, yes.total.dual * 2, 1e-6); /* |w|^2 = sum alpha */
    svm_fit_free(ctx, &no);
    svm_fit_free(ctx, &yes);
}

static void a_hard_tube_holds_all_targets_or_is_said_not_to_exist(void)
{
    const kc_points points = svm_view(xor_x, 4, 2);
    const double targets[] = {0, 0, 1, 1};
    const kc_svm_data data = {.struct_size = sizeof data, .x = &points, .targets = targets};
    kc_svm_settings settings = svm_settings(KC_EPS_SVR);
    settings.C = HUGE_VAL;
    settings.tol = 1e-8;
    kc_kernel *kernels[] = {make_kernel(&linear), make_kernel(&rbf)};
    svm_fit no = svm_fit_make(ctx, NULL, &settings, kernels[0], &data);
    svm_fit yes = svm_fit_make(ctx, NULL, &settings, kernels[1], &data);
    double values[4];

    CHECK(no.status == KC_ERR_INFEASIBLE && no.model == NULL);
    CHECK(says(&no.err, "within epsilon = 0.1", "C is infinite"));
    REQUIRE(yes.status == KC_OK);
    CHECK(yes.total.dtype == KC_F64);
    CHECK(yes.total.n_bounded == 0);
    CHECK(yes.total.epsilon >= 0.1 && yes.total.epsilon < 0.1 + 1e-8);
    CHECK_NEAR(yes.total.primal, yes.total.dual, 1e-6);
    CHECK(kc_function_evaluate(ctx, NULL, kc_model_function(yes.model), &points, KC_PER_OUTPUT,
                               values, 1, NULL) == KC_OK);
    for (size_t i = 0; i < 4; i++) /* by symmetry all four lie on the tube */
        CHECK_NEAR(values[i], targets[i] == 1 ? 0.9 : 0.1, 1e-7);
    for (size_t i = 0; i < 2; i++)
        kc_kernel_free(ctx, kernels[i]);
    svm_fit_free(ctx, &no);
    svm_fit_free(ctx, &yes);
}

static void a_hard_margin_is_refused_where_it_makes_no_sense(void)
{
    kc_svm_settings settings = svm_settings(KC_C_SVC);
    settings.C = HUGE_VAL;
    settings.precision = KC_PRECISION_F32;
    svm_fit narrow = fit_xor(&rbf, &settings);

    CHECK(narrow.status == KC_ERR_ARG);
    settings.precision = KC_PRECISION_AUTO;
    settings.type = KC_NU_SVR;
    svm_fit regression = fit_xor(&rbf, &settings);
    CHECK(regression.status == KC_ERR_ARG && says(&regression.err, "C is infinite", "C-SVC"));
    svm_fit_free(ctx, &narrow);
    svm_fit_free(ctx, &regression);
}

static void an_infeasible_nu_is_told_the_range(void)
{
    svm_case c = svm_case_make(3, 40, 2, 2);
    kc_svm_data data = svm_data(&c);
    kc_svm_settings settings = svm_settings(KC_NU_SVC);
    kc_kernel *kernel = make_kernel(&rbf);

    for (size_t i = 0; i < c.n; i++)
        c.classes[i] = i < 4; /* 4 of 40: nu <= 0.2 */
    settings.nu = 0.21;
    svm_fit fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    CHECK(fit.status == KC_ERR_INFEASIBLE && says(&fit.err, "0.21", "at most 0.2"));
    svm_fit_free(ctx, &fit);
    settings.nu = 0.2;
    fit = svm_fit_make(ctx, NULL, &settings, kernel, &data);
    CHECK(fit.status == KC_OK);
    svm_fit_free(ctx, &fit);
    kc_kernel_free(ctx, kernel);
    svm_case_free(&c);
}

static void hulls_that_overlap_have_no_nu_margin(void)
{
    kc_svm_settings settings = svm_settings(KC_NU_SVC);
    svm_fit fit = fit_xor(&linear, &settings);

    CHECK(fit.status == KC_ERR_DEGENERATE && says(&fit.err, "margin", "nu = 0.5"));
    svm_fit_free(ctx, &fit);
}

/* ---- Refused input ------------------------------------------------------------------------ */

typedef struct refused {
    svm_case c;
    kc_svm_data data;
    kc_svm_settings settings;
} refused;

static void make_bad(refused *r, int which)
{
    static const double weightless[] = {1, 0};

    switch (which) {
    case 0:
        r->c.weights[7] = -1;
        break;
    case 1:
        r->c.weights[7] = (double)NAN;
        break;
    case 2:
        r->c.classes[7] = 2;
        break;
    case 3:
        r->data.n_classes = 1;
        break;
    case 4:
        r->c.x[7 * 2] = (double)NAN;
        break;
    case 5:
        r->settings.type = KC_EPS_SVR;
        r->c.targets[7] = HUGE_VAL;
        break;
    case 6:
        r->settings.nu = 1.5;
        break;
    case 7:
        r->data.n_classes = 3; /* no sample has the third */
        break;
    case 8:
        for (size_t i = 0; i < r->c.n; i++)
            r->c.weights[i] = r->c.classes[i] == 0;
        break;
    case 9:
        r->settings.cache_bytes = 10;
        break;
    case 10:
        r->data.class_weights = weightless;
        break;
    default:
        r->settings.C = 0;
    }
}

static void bad_input_is_named(void)
{
    static const struct {
        kc_status status;
        const char *a, *b;
    } wanted[] = {
        {KC_ERR_ARG, "weight", "sample 7"},
        {KC_ERR_NONFINITE, "weight", "sample 7"},
        {KC_ERR_ARG, "class of sample 7", "0 to 1"},
        {KC_ERR_CLASSES, "one class", "two"},
        {KC_ERR_NONFINITE, "X", "row 7"},
        {KC_ERR_NONFINITE, "target", "sample 7"},
        {KC_ERR_ARG, "nu is 1.5", "at most 1"},
        {KC_ERR_CLASSES, "class 2", "no sample"},
        {KC_ERR_CLASSES, "class 1", "no sample"},
        {KC_ERR_ARG, "cache of 10 bytes", "two rows"},
        {KC_ERR_ARG, "weight of class 1", "positive"},
        {KC_ERR_ARG, "C is 0", "above 0"},
    };
    kc_kernel *kernel = make_kernel(&rbf);

    for (int which = 0; which < (int)(sizeof wanted / sizeof wanted[0]); which++) {
        refused r = {.c = svm_case_make(1, 30, 2, 2), .settings = svm_settings(KC_C_SVC)};

        r.data = svm_data(&r.c);
        make_bad(&r, which);
        svm_fit fit = svm_fit_make(ctx, NULL, &r.settings, kernel, &r.data);
        CHECK(fit.status == wanted[which].status);
        CHECK(fit.model == NULL);
        CHECK(says(&fit.err, wanted[which].a, wanted[which].b));
        svm_fit_free(ctx, &fit);
        svm_case_free(&r.c);
    }
    kc_kernel_free(ctx, kernel);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(every_type_meets_its_optimality_conditions);
    RUN(f32_kernel_values_meet_them_up_to_their_rounding);
    RUN(a_weight_of_zero_leaves_a_sample_out);
    RUN(weights_of_classes_are_factors_of_those_of_samples);
    RUN(weights_of_classes_leave_nu_alone);
    RUN(a_weight_of_two_is_a_sample_given_twice);
    RUN(a_pair_of_classes_is_fitted_as_if_it_were_alone);
    RUN(a_class_against_the_rest_is_a_problem_of_two_classes);
    RUN(support_vectors_are_sorted_by_class_and_index);
    RUN(a_hard_margin_separates_or_says_that_it_cannot);
    RUN(a_hard_margin_is_refused_where_it_makes_no_sense);
    RUN(a_hard_tube_holds_all_targets_or_is_said_not_to_exist);
    RUN(an_infeasible_nu_is_told_the_range);
    RUN(hulls_that_overlap_have_no_nu_margin);
    RUN(bad_input_is_named);
    kc_context_free(ctx);
    return kc_test_end();
}
