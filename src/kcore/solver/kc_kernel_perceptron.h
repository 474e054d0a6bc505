/* The perceptron rules in dual form: a = sum of coef_i y_i over the samples, never written out.
 *
 * What is kept instead is the value of a at every sample, so that a sample that is classified
 * rightly costs one comparison, and a mistake one row of kernel values added to them all.  With the
 * linear kernel the sequence of mistakes is that of solver/kc_perceptron.h. */
#ifndef KC_KERNEL_PERCEPTRON_H
#define KC_KERNEL_PERCEPTRON_H

#include "rows/kc_store.h"

/* Settings and classes are checked by the caller. */
typedef struct kc_kernel_problem {
    const kc_perceptron_settings *settings;
    kc_store *store; /* the samples, as one segment */
    const int32_t *classes;
    int32_t n_classes;
    const double *weights; /* may be NULL */
    int64_t n_before;      /* passes that earlier calls made: for progress and error texts */
} kc_kernel_problem;

/* As kc_perceptron_solve, with coefficients of samples in place of weights of features: `weights`
 * and `time_weighted` of the state are n_outputs x n samples.  values: the same shape, the sum of
 * coef_i K(x_i, x) at every sample; goes in as it belongs to the state, and comes out so. */
kc_status kc_kernel_perceptron_solve(kc_call *call, const kc_kernel_problem *problem,
                                     kc_perceptron_state *state, double *values);

#endif
