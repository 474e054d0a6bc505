/* The loops of the linear learners: a weight vector of doubles against samples of either type.
 *
 * Weights are doubles whatever the samples are: a perceptron adds many samples to one vector.  A
 * dot product runs over sixteen partial sums, added up in a fixed order, so it depends on its
 * operands alone. */
#ifndef KC_LINEAR_OPS_H
#define KC_LINEAR_OPS_H

#include "base/kc_base.h"

typedef struct kc_linear_ops {
    /* a.x */
    double (*dot)(const double *a, const void *x, size_t d);

    /* x.x */
    double (*square)(const void *x, size_t d);

    /* a += s x */
    void (*add)(double *a, double s, const void *x, size_t d);

    /* a += s x, and the new a.next: the weights are read once. */
    double (*add_dot)(double *a, double s, const void *x, const void *next, size_t d);

    /* The same for a sparse sample of nnz values. */
    double (*sparse_dot)(const double *a, const int32_t *cols, const void *vals, size_t nnz);
    void (*sparse_add)(double *a, double s, const int32_t *cols, const void *vals, size_t nnz);
} kc_linear_ops;

typedef struct kc_linear_table {
    kc_linear_ops f32, f64;
} kc_linear_table;

extern const kc_linear_table kc_linear_generic;
extern const kc_linear_table kc_linear_avx2;

/* The table of the instruction set in use. */
const kc_linear_ops *kc_linear_ops_of(kc_dtype dtype);

#endif
