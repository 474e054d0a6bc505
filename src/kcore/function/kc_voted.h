/* Predictions by vote: every function that a perceptron had on its way counts for the samples that
 * it survived.
 *
 * The functions are not kept but made again from their updates: the value of the next one is that
 * of the last, plus step * (K(x_i, x) + offset). */
#ifndef KC_VOTED_H
#define KC_VOTED_H

#include "base/kc_call.h"
#include "data/kc_packed.h"
#include "kernel/kc_kernel.h"
#include "kernel/kc_plan.h"
#include "kernel/kc_prepare.h"

/* All of it borrowed. */
typedef struct kc_voted {
    const kc_kernel *kernel; /* NULL: kernel values are given */
    kc_dtype dtype;          /* of kernel values */
    const kc_packed *points; /* n of them, with a kernel */
    const int64_t *columns;  /* without: n, which columns of the kernel matrix they are */
    size_t n, n_cols;        /* n_cols: of the points; without a kernel: of the kernel matrix */
    double offset;           /* 1 with an intercept, else 0 */
    size_t n_outputs;
    bool is_joint; /* the outputs are rivals; else each is for or against by its sign */
    const kc_perceptron_update *updates; /* those of one output (is_joint: all) in the order in
                                            which they were made; `sample`: one of the points */
    size_t n_updates;
    const int64_t *n_steps; /* n_outputs (is_joint: one): samples looked at */
} kc_voted;

/* out[i * ld + o]: the votes for output o less those against it; is_joint: those it won against all
 * others.  Row by row the same bits. */
kc_status kc_voted_count(kc_call *call, const kc_voted *f, const kc_points *x, double *out,
                         size_t ld);

#endif
