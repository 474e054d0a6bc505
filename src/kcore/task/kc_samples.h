/* The samples that count: those of positive weight, sorted by class and then by index.  A *place*
 * is a position in that order. */
#ifndef KC_SAMPLES_H
#define KC_SAMPLES_H

#include "base/kc_call.h"

/* All arrays lie in the call's arena. */
typedef struct kc_samples {
    size_t n_all;        /* given */
    size_t n;            /* that count */
    int32_t n_classes;   /* 0 where there are none */
    int32_t *order;      /* n: sample of each place */
    double *weights;     /* n, with those of the classes */
    double *own_weights; /* n, without those; `weights` itself where classes have none */
    double *targets;     /* n, for regression; else NULL */
    size_t *bounds;      /* n_segments + 1 places where classes begin */
    size_t n_segments;   /* max(1, n_classes) */
    bool is_identity;    /* all samples, in their own order */
} kc_samples;

/* Checks classes, targets, weights and start; texts name the sample and the value. */
kc_status kc_samples_sort(kc_call *call, const kc_svm_settings *settings, const kc_svm_data *data,
                          kc_samples *out);

#endif
