/* The perceptron rules (docs/perceptron.md) on weight vectors, pass by pass.
 *
 * Augmented coordinates: y = z (1, x), a = (intercept, weights), z = +1 or -1 by the class; a
 * sample is a mistake where a.y <= margin.  With more than two classes and the direct rule, a.y is
 * the value of the sample's class less the largest other one (Kesler's construction). */
#ifndef KC_PERCEPTRON_H
#define KC_PERCEPTRON_H

#include "data/kc_rowwise.h"

/* Settings and classes are checked by the caller. */
typedef struct kc_perceptron_problem {
    const kc_perceptron_settings *settings;
    kc_rowwise *x; /* whose values are checked as they are read, if they were not before */
    const int32_t *classes;
    int32_t n_classes;
    const double *weights; /* may be NULL */
} kc_perceptron_problem;

kc_status kc_perceptron_solve(kc_call *call, const kc_perceptron_problem *problem,
                              kc_perceptron_state *state);

#endif
