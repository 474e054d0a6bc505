/* What the tests of the perceptron share: samples, options, results, and how a rule judges a
 * sample, by plain loops.  Samples, steps and weights are whole numbers or simple fractions, so
 * that every sum is exact in any order. */
#ifndef PERCEPTRON_CASE_H
#define PERCEPTRON_CASE_H

#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"
#include "kcore/kcore.h"
#include "ref_points.h"

#define N ((size_t)40)
#define D ((size_t)5)
#define CLASSES 3
#define PASSES 6
#define SEED 77

static kc_fault fault;
static kc_context *ctx;
static kc_error err;
static kc_rng rng;

/* ---- Samples and options ------------------------------------------------------------------ */

typedef struct options {
    bool is_batch, is_direct, is_shuffled, has_weights, is_averaged, has_no_intercept;
    double margin, theta;
    double eta[PASSES];
} options;

typedef struct sample_set {
    ref_samples x;
    int32_t classes[N];
    double weights[N]; /* some are zero */
} sample_set;

/* A noisy linear rule: mistakes are made in every pass. */
static inline sample_set make_set(void)
{
    sample_set s = {.x = ref_random(1, N, D, 1, KC_F32)};

    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t t = 0; t < D; t++) {
            s.x.x[i * D + t] = (double)kc_rng_below(&rng, 9) - 4;
            sum += s.x.x[i * D + t] * (double)(t + 1);
        }
        s.classes[i] = sum > 6 ? 2 : sum > -6 ? 1 : 0;
        if (kc_rng_below(&rng, 5) == 0)
            s.classes[i] = (int32_t)kc_rng_below(&rng, CLASSES);
        s.weights[i] = (double)kc_rng_below(&rng, 4) / 2;
    }
    return s;
}

static inline options make_options(int k)
{
    options o = {
        .is_batch = (k & 1) != 0,
        .is_direct = (k & 2) != 0,
        .is_shuffled = (k & 4) != 0,
        .has_weights = (k & 8) != 0,
        .is_averaged = (k & 16) != 0 && (k & 1) == 0,
        .has_no_intercept = (k & 32) != 0,
        .margin = k & 64 ? 3 : 0,
        .theta = 1e-6,
    };

    for (int pass = 0; pass < PASSES; pass++)
        o.eta[pass] = k & 128 ? 1.0 / (double)(1 << pass) : 0.5;
    return o;
}

/* ---- What comes out ----------------------------------------------------------------------- */

typedef struct result {
    double weights[CLASSES * D], intercepts[CLASSES];
    double time_weighted[CLASSES * D], time_weighted_intercepts[CLASSES];
    double best_weights[CLASSES * D], best_intercepts[CLASSES];
    int64_t mistakes[PASSES];
    double criterion[PASSES];
    kc_perceptron_update log[N * PASSES];
    kc_perceptron_state state;
} result;

static inline kc_perceptron_state state_of(result *r, const options *o, int32_t positive)
{
    kc_perceptron_state state = {
        .struct_size = sizeof state,
        .positive = positive,
        .weights = r->weights,
        .intercepts = r->intercepts,
        .time_weighted = o->is_averaged ? r->time_weighted : NULL,
        .time_weighted_intercepts = o->is_averaged ? r->time_weighted_intercepts : NULL,
        .mistakes = r->mistakes,
        .criterion = r->criterion,
        .log = r->log,
    };

    memset(r, 0, sizeof *r);
    memcpy(state.random, kc_rng_seed(SEED + (uint64_t)positive).state, sizeof state.random);
    return state;
}

static inline kc_perceptron_settings settings_of(const options *o, int64_t n_passes)
{
    return (kc_perceptron_settings){
        .struct_size = sizeof(kc_perceptron_settings),
        .rule = o->is_batch ? KC_RULE_BATCH : KC_RULE_SINGLE,
        .is_direct = o->is_direct,
        .has_intercept = !o->has_no_intercept,
        .is_shuffled = o->is_shuffled,
        .margin = o->margin,
        .theta = o->theta,
        .n_passes = n_passes,
        .eta = o->eta,
    };
}

static inline kc_perceptron_data data_of(const sample_set *s, const kc_points *x, bool has_weights)
{
    return (kc_perceptron_data){
        .struct_size = sizeof(kc_perceptron_data),
        .x = x,
        .classes = s->classes,
        .n_classes = CLASSES,
        .weights = has_weights ? s->weights : NULL,
    };
}

/* ---- Judging ---------------------------------------------------------------------------- */

typedef struct judgement {
    double value, sign;
    int32_t raised, lowered;
} judgement;

static inline judgement judge(const sample_set *s, const options *o, const result *r,
                              int32_t positive, size_t i)
{
    const int32_t own = s->classes[i];
    double values[CLASSES];
    int32_t other = -1;

    for (int k = 0; k < (o->is_direct ? CLASSES : 1); k++) {
        values[k] = r->intercepts[k];
        for (size_t t = 0; t < D; t++)
            values[k] += r->weights[(size_t)k * D + t] * s->x.x[i * D + t];
        if (k != own && (other < 0 || values[k] > values[other]))
            other = k;
    }
    if (o->is_direct)
        return (judgement){values[own] - values[other], 1, own, other};
    const double sign = own == positive ? 1 : -1;
    return (judgement){sign * values[0], sign, 0, -1};
}

static inline double weight_of(const sample_set *s, const options *o, size_t i)
{
    return o->has_weights ? s->weights[i] : 1;
}

static inline int64_t count_mistakes(const sample_set *s, const options *o, const result *r,
                                     const double *w, const double *b, double *loss)
{
    result at = *r;
    int64_t n = 0;

    memcpy(at.weights, w, sizeof at.weights);
    memcpy(at.intercepts, b, sizeof at.intercepts);
    *loss = 0;
    for (size_t i = 0; i < N; i++)
        if (weight_of(s, o, i) > 0 && judge(s, o, &at, r->state.positive, i).value <= 0) {
            n++;
            *loss += weight_of(s, o, i);
        }
    return n;
}

/* A context whose memory is watched; perceptron_case_end says what the program returns. */
static inline void perceptron_case_begin(void)
{
    kc_context_config config = {.struct_size = sizeof config};

    rng = kc_rng_seed(5);
    kc_fault_init(&fault);
    config.allocator = &fault.allocator;
    if (kc_context_create(&config, &ctx, &err) != KC_OK)
        abort();
}

static inline int perceptron_case_end(void)
{
    kc_context_free(ctx);
    if (!kc_fault_is_clean(&fault))
        printf("memory was lost\n");
    return kc_test_end() || !kc_fault_is_clean(&fault);
}

#endif
