/* Learners, samples and calls that the tests of kernel perceptrons share.
 *
 *   online_case c = online_case_make(60, 5, 3, KC_F64);
 *   kc_online *online = online_make(ctx, &c, &(online_options){.kernel = {.op = OP_RBF, ...}});
 *   online_learn(ctx, online, &c, 0, c.n, 1);
 *   ...
 *   kc_online_free(ctx, online);
 *   online_case_free(&c); */
#ifndef ONLINE_CASE_H
#define ONLINE_CASE_H

#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_expr.h"
#include "ref_points.h"

#define ONLINE_PASSES 40

typedef struct online_case {
    size_t n, d;
    int32_t n_classes;
    kc_dtype dtype;
    ref_samples samples; /* small whole numbers: their products are exact in either type */
    int32_t *classes;    /* by the first features, with some noise */
} online_case;

static inline online_case online_case_make(size_t n, size_t d, int32_t n_classes, kc_dtype dtype)
{
    online_case c = {.n = n, .d = d, .n_classes = n_classes, .dtype = dtype};
    kc_rng rng = kc_rng_seed(n * 31 + d);

    c.samples = (ref_samples){n, d, malloc(n * d * sizeof(double))};
    c.classes = malloc(n * sizeof *c.classes);
    for (size_t i = 0; i < n; i++) {
        double *x = c.samples.x + i * d;

        for (size_t t = 0; t < d; t++)
            x[t] = (double)kc_rng_below(&rng, 9) - 4;
        c.classes[i] = (int32_t)(x[0] + x[1 % d] > 1) + (n_classes > 2 && x[0] < -1);
        if (kc_rng_below(&rng, 20) == 0)
            c.classes[i] = (int32_t)kc_rng_below(&rng, (uint64_t)n_classes);
    }
    return c;
}

static inline void online_case_free(online_case *c)
{
    ref_samples_free(&c->samples);
    free(c->classes);
}

typedef struct online_options {
    ref_node kernel; /* op 0: RBF, gamma 1/16 */
    int32_t is_direct, is_averaged, is_voted, is_sparse, is_given;
    int32_t no_intercept;
    int64_t budget;
    int32_t strategy;
} online_options;

static inline kc_status online_create(kc_context *ctx, const online_case *c,
                                      const online_options *o, kc_online **out, kc_error *err)
{
    const ref_node rbf = {.op = OP_RBF, .gamma = 1.0 / 16};
    uint64_t random[64];
    kc_kernel *kernel = NULL;
    kc_online_config config = {
        .struct_size = sizeof config,
        .dtype = c->dtype,
        .n_cols = (int64_t)(o->is_given ? c->n : c->d),
        .is_sparse = o->is_sparse,
        .n_classes = c->n_classes,
        .is_direct = o->is_direct,
        .has_intercept = !o->no_intercept,
        .is_averaged = o->is_averaged,
        .is_voted = o->is_voted,
        .strategy = o->strategy,
        .budget = o->budget,
        .random = random,
    };
    kc_status status = KC_OK;

    for (size_t k = 0; k < 64; k++)
        random[k] = 7 * k + 1;
    if (!o->is_given)
        status = ref_kernel_make(ctx, o->kernel.op != 0 ? &o->kernel : &rbf, 1, &kernel, err);
    if (status != KC_OK)
        return status;
    config.kernel = kernel;
    status = kc_online_create(ctx, &config, out, err);
    kc_kernel_free(ctx, kernel);
    return status;
}

static inline kc_online *online_make(kc_context *ctx, const online_case *c, const online_options *o)
{
    kc_online *online = NULL;
    kc_error err = {0};

    if (online_create(ctx, c, o, &online, &err) != KC_OK)
        printf("    %s\n", err.text);
    CHECK(online != NULL);
    return online;
}

/* One call: what is learnt, how, and what came of it. */
typedef struct online_call {
    size_t begin, end; /* samples; end 0: all */
    int64_t n_rows;    /* that the view says it has; 0: what it has */
    ref_form form;
    int32_t rule; /* 0: single */
    int32_t is_shuffled;
    int64_t n_passes; /* 0: one */
    double margin, theta;
    int64_t first; /* -1: goes on counting */
    int64_t cache_bytes;
    const kc_run *run;
    const double *weights;
    kc_kernel_fn *kernel_fn; /* in place of the samples */
    void *kernel_data;
    int64_t mistakes[ONLINE_PASSES];
    double criterion[ONLINE_PASSES];
    kc_online_report report;
    kc_error err;
} online_call;

static inline kc_status online_run(kc_context *ctx, kc_online *online, const online_case *c,
                                   online_call *call, bool is_fit)
{
    const size_t end = call->end > 0 ? call->end : c->n;
    const ref_samples part = {end - call->begin, c->d, c->samples.x + call->begin * c->d};
    ref_view view = ref_view_make(&part, call->form, c->dtype);
    double eta[ONLINE_PASSES];
    kc_perceptron_settings settings = {
        .struct_size = sizeof settings,
        .rule = call->rule != 0 ? call->rule : KC_RULE_SINGLE,
        .is_shuffled = call->is_shuffled,
        .margin = call->margin,
        .theta = call->theta,
        .n_passes = call->n_passes > 0 ? call->n_passes : 1,
        .eta = eta,
    };
    const kc_perceptron_data data = {
        .struct_size = sizeof data,
        .x = call->kernel_fn == NULL ? &view.points : NULL,
        .classes = c->classes + call->begin,
        .n_classes = c->n_classes,
        .weights = call->weights,
        .kernel_fn = call->kernel_fn,
        .kernel_data = call->kernel_data,
        .n_samples = (int64_t)(end - call->begin),
    };
    kc_status status;

    if (call->n_rows != 0)
        view.points.n_rows = call->n_rows;
    for (int k = 0; k < ONLINE_PASSES; k++)
        eta[k] = 1;
    call->report = (kc_online_report){
        .struct_size = sizeof call->report,
        .mistakes = call->mistakes,
        .criterion = call->criterion,
    };
    status = is_fit ? kc_online_fit(ctx, call->run, online, &settings, &data, call->first,
                                    call->cache_bytes, &call->report, &call->err)
                    : kc_online_learn(ctx, call->run, online, &settings, &data, call->first,
                                      &call->report, &call->err);
    ref_view_free(&view);
    return status;
}

static inline kc_online_info online_info(const kc_online *online)
{
    kc_online_info info = {.struct_size = sizeof info};

    CHECK(kc_online_describe(online, &info, NULL) == KC_OK);
    return info;
}

/* Two learners that hold the same bits. */
static inline bool online_equal(const kc_online *a, const kc_online *b)
{
    const kc_online_info ia = online_info(a), ib = online_info(b);
    char *bytes_a, *bytes_b;
    bool is_equal = ia.n_bytes == ib.n_bytes;

    if (!is_equal)
        return false;
    bytes_a = malloc((size_t)ia.n_bytes);
    bytes_b = malloc((size_t)ib.n_bytes);
    CHECK(kc_online_save(a, bytes_a, ia.n_bytes, NULL) == KC_OK);
    CHECK(kc_online_save(b, bytes_b, ib.n_bytes, NULL) == KC_OK);
    is_equal = memcmp(bytes_a, bytes_b, (size_t)ia.n_bytes) == 0;
    free(bytes_a);
    free(bytes_b);
    return is_equal;
}

/* Decision values at all samples of the case; the caller frees them. */
static inline double *online_values(kc_context *ctx, const kc_online *online, const online_case *c,
                                    kc_reading reading)
{
    ref_view view = ref_view_make(&c->samples, REF_DENSE, c->dtype);
    double *out = malloc(c->n * (size_t)online_info(online).n_outputs * sizeof *out);

    CHECK(kc_online_decision(ctx, NULL, online, &view.points, reading, out, NULL) == KC_OK);
    ref_view_free(&view);
    return out;
}

/* Two learners whose last functions have the same bits at all samples of the case. */
static inline bool online_predict_alike(kc_context *ctx, const kc_online *a, const kc_online *b,
                                        const online_case *c)
{
    const size_t n = c->n * (size_t)online_info(a).n_outputs;
    double *x = online_values(ctx, a, c, KC_READING_LAST);
    double *y = online_values(ctx, b, c, KC_READING_LAST);
    bool is_alike = memcmp(x, y, n * sizeof *x) == 0;

    free(x);
    free(y);
    return is_alike;
}

#endif
