#include "svm_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_kernel.h"

static double normal(kc_rng *rng)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += kc_rng_uniform(rng);
    return sum;
}

kc_points svm_view(const double *values, size_t n, size_t d)
{
    return (kc_points){
        .struct_size = sizeof(kc_points),
        .storage = KC_DENSE,
        .dtype = KC_F64,
        .n_rows = (int64_t)n,
        .n_cols = (int64_t)d,
        .values = values,
        .row_stride = (int64_t)(d * sizeof *values),
        .col_stride = sizeof *values,
        .name = "X",
    };
}

svm_case svm_case_make(uint64_t seed, size_t n, size_t d, int32_t n_classes)
{
    kc_rng rng = kc_rng_seed(seed);
    svm_case c = {
        .n = n,
        .d = d,
        .n_classes = n_classes,
        .x = malloc(n * d * sizeof(double)),
        .classes = malloc(n * sizeof(int32_t)),
        .targets = malloc(n * sizeof(double)),
        .weights = malloc(n * sizeof(double)),
    };

    for (size_t i = 0; i < n; i++) {
        const int32_t k =
            i < (size_t)n_classes ? (int32_t)i : (int32_t)kc_rng_below(&rng, (uint64_t)n_classes);

        c.classes[i] = k;
        c.weights[i] = 1;
        for (size_t t = 0; t < d; t++)
            c.x[i * d + t] =
                normal(&rng) + 1.5 * cos(2 * (double)k + (double)t); /* the centre of class k */
        c.targets[i] = sin(c.x[i * d]) + 0.1 * normal(&rng);
    }
    c.points = svm_view(c.x, n, d);
    return c;
}

void svm_case_free(svm_case *c)
{
    free(c->x);
    free(c->classes);
    free(c->targets);
    free(c->weights);
}

kc_svm_data svm_data(const svm_case *c)
{
    return (kc_svm_data){
        .struct_size = sizeof(kc_svm_data),
        .n_samples = (int64_t)c->n,
        .x = &c->points,
        .classes = c->classes,
        .n_classes = c->n_classes,
        .targets = c->targets,
        .weights = c->weights,
    };
}

kc_svm_settings svm_settings(kc_svm_type type)
{
    kc_svm_settings settings;

    kc_svm_settings_init(&settings, sizeof settings);
    settings.type = (int32_t)type;
    return settings;
}

/* ---- Fits --------------------------------------------------------------------------------- */

static void read_model(svm_fit *fit)
{
    const kc_function *f = kc_model_function(fit->model);
    kc_model_info *info = &fit->info;

    *info = (kc_model_info){.struct_size = sizeof *info};
    fit->function = (kc_function_info){.struct_size = sizeof fit->function};
    fit->status = kc_model_describe(fit->model, info, &fit->err);
    CHECK(kc_function_describe(f, &fit->function, NULL) == KC_OK);
    const int64_t n_support = fit->function.n_points, n_problems = fit->function.n_outputs;
    fit->support = malloc(((size_t)n_support + 1) * sizeof(int32_t));
    fit->counts = malloc(((size_t)info->n_classes + 1) * sizeof(int32_t));
    fit->coef = malloc(((size_t)(info->n_coef_rows * n_support) + 1) * sizeof(double));
    fit->intercepts = malloc((size_t)n_problems * sizeof(double));
    CHECK(kc_model_support(fit->model, fit->support, n_support, NULL) == KC_OK);
    CHECK(kc_model_class_counts(fit->model, fit->counts, info->n_classes > 0 ? info->n_classes : 1,
                                NULL) == KC_OK);
    CHECK(kc_model_coef(fit->model, fit->coef, info->n_coef_rows * n_support, NULL) == KC_OK);
    CHECK(kc_function_intercepts(f, fit->intercepts, n_problems, NULL) == KC_OK);
}

svm_fit svm_fit_make(kc_context *ctx, const kc_run *run, const kc_svm_settings *settings,
                     const kc_kernel *kernel, const kc_svm_data *data)
{
    const int64_t n_problems = kc_svm_problem_count(settings, data->n_classes);
    svm_fit fit = {.total = {.struct_size = sizeof fit.total}};

    fit.problems = calloc((size_t)n_problems, sizeof *fit.problems);
    fit.status = kc_svm_fit(ctx, run, settings, kernel, data, &fit.model, &fit.total, fit.problems,
                            &fit.err);
    if (fit.status == KC_OK)
        read_model(&fit);
    return fit;
}

void svm_fit_free(kc_context *ctx, svm_fit *fit)
{
    kc_model_free(ctx, fit->model);
    free(fit->problems);
    free(fit->support);
    free(fit->counts);
    free(fit->coef);
    free(fit->intercepts);
}

/* Field by field: a struct has bytes that no field owns. */
static int are_alike(const svm_fit *a, const svm_fit *b)
{
    const kc_model_info *i = &a->info, *j = &b->info;
    const kc_function_info *f = &a->function, *g = &b->function;

    return i->type == j->type && i->multiclass == j->multiclass && i->n_classes == j->n_classes &&
           i->n_coef_rows == j->n_coef_rows && f->dtype == g->dtype && f->is_given == g->is_given &&
           f->is_linear == g->is_linear && f->n_outputs == g->n_outputs &&
           f->n_points == g->n_points && f->n_parts == g->n_parts && f->n_cols == g->n_cols;
}

int svm_fit_equal(const svm_fit *a, const svm_fit *b)
{
    const size_t n = (size_t)a->function.n_points, rows = (size_t)a->info.n_coef_rows;

    if (a->status != KC_OK || b->status != KC_OK || !are_alike(a, b))
        return 0;
    return memcmp(a->support, b->support, n * sizeof *a->support) == 0 &&
           memcmp(a->coef, b->coef, rows * n * sizeof *a->coef) == 0 &&
           memcmp(a->intercepts, b->intercepts,
                  (size_t)a->function.n_outputs * sizeof *a->intercepts) == 0;
}

/* ---- Audit -------------------------------------------------------------------------------- */

/* f(x_i) from the coefficients, in double. */
static double *recompute(const svm_fit *fit, const svm_case *c, const ref_node *node)
{
    double *f = malloc(c->n * sizeof *f);

    for (size_t i = 0; i < c->n; i++) {
        long double sum = fit->intercepts[0];

        for (size_t k = 0; k < (size_t)fit->function.n_points; k++)
            sum += (long double)fit->coef[k] * ref_kernel(node, 1, c->x + i * c->d,
                                                          c->x + (size_t)fit->support[k] * c->d,
                                                          c->d, KC_F64)
                                                   .value;
        f[i] = (double)sum;
    }
    return f;
}

/* The condition on v, the slope along which beta could rise, of a variable in [lo, hi]. */
static double condition(double beta, double lo, double hi, double v)
{
    return fmax(beta < hi ? v : 0, beta > lo ? -v : 0);
}

static double violation_of(const kc_svm_settings *s, const svm_fit *fit, double beta, double bound,
                           double y, double f)
{
    const double epsilon = fit->total.epsilon;

    switch (s->type) {
    case KC_C_SVC:
    case KC_NU_SVC:
        return condition(beta, y > 0 ? 0 : -bound, y > 0 ? bound : 0, y - f);
    case KC_ONE_CLASS:
        return condition(beta, 0, bound, -f);
    default: /* a half above and a half below the tube */
        return fmax(condition(fmax(beta, 0), 0, bound, y - f - epsilon),
                    condition(fmin(beta, 0), -bound, 0, y - f + epsilon));
    }
}

svm_audit svm_fit_audit(kc_context *ctx, const svm_fit *fit, const svm_case *c,
                        const kc_svm_settings *settings, const ref_node *node)
{
    double *f = recompute(fit, c, node), *beta = calloc(c->n, sizeof *beta);
    double *values = malloc(c->n * sizeof *values);
    double plus = 0, minus = 0, weight = 0;
    svm_audit audit = {0};

    for (size_t k = 0; k < (size_t)fit->function.n_points; k++)
        beta[fit->support[k]] = fit->coef[k];
    for (size_t i = 0; i < c->n; i++) {
        plus += fmax(beta[i], 0);
        minus += fmax(-beta[i], 0);
        weight += c->weights[i];
    }
    /* nu-SVC: divided by r, of which the sums tell. */
    const double r = settings->type == KC_NU_SVC ? settings->nu * weight / 2 / plus : 1;
    const double c_of =
        settings->type == KC_NU_SVC || settings->type == KC_ONE_CLASS ? 1 / r : settings->C;

    audit.coef_weight = plus + minus;
    audit.off_sum = settings->type == KC_ONE_CLASS ? fabs(plus - settings->nu * weight) / weight
                                                   : fabs(plus - minus) / (plus + minus + 1e-300);
    if (kc_function_evaluate(ctx, NULL, kc_model_function(fit->model), &c->points, KC_PER_OUTPUT,
                             values, 1, NULL) != KC_OK)
        audit.off_value = INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        const double bound = c_of * c->weights[i];

        if (!(bound > 0))
            continue;
        const double y = settings->type == KC_C_SVC || settings->type == KC_NU_SVC
                             ? (c->classes[i] == 1 ? 1 : -1)
                             : c->targets[i];

        audit.out_of_box = fmax(audit.out_of_box, fabs(beta[i]) / bound - 1);
        audit.violation = fmax(audit.violation,
                               violation_of(settings, fit, beta[i], bound * (1 - 1e-12), y, f[i]));
        audit.off_value = fmax(audit.off_value, fabs(values[i] - f[i]) / (1 + audit.coef_weight));
    }
    free(f);
    free(beta);
    free(values);
    return audit;
}
