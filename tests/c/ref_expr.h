/* Kernel expressions as plain arrays in postfix order: tests write them down, make kernels of them
 * by the constructors of kcore/kernels.h, and compute their values in another way (ref_kernel.h).
 */
#ifndef REF_EXPR_H
#define REF_EXPR_H

#include "kcore/kcore.h"

typedef enum ref_op {
    OP_LINEAR = 1,
    OP_RBF,
    OP_POLYNOMIAL,
    OP_SIGMOID,
    OP_LAPLACIAN,
    OP_MATERN,   /* nu = degree + 1/2, length_scale = gamma */
    OP_RATIONAL, /* length_scale = gamma, alpha = coef0 */
    OP_CHI2,
    OP_ADDITIVE_CHI2,
    OP_INTERSECTION,
    OP_MINMAX,
    OP_TANIMOTO,
    OP_HAMMING,
    OP_ANOVA,
    OP_CONSTANT, /* gamma */
    OP_ADD,
    OP_MUL,
    OP_SCALE, /* gamma */
    OP_POW,   /* degree */
    OP_EXP
} ref_op;

typedef struct ref_node {
    ref_op op;
    int32_t degree;
    double gamma, coef0;
} ref_node;

/* The kernel of an expression that is in order; the error is that of the first node that is
 * refused. */
kc_status ref_kernel_make(kc_context *ctx, const ref_node *nodes, size_t n_nodes, kc_kernel **out,
                          kc_error *err);

#endif
