/* Leaves that are functions of x.z. */
#include <float.h>

#include "kernel/kc_leaf.h"

#define GAMMA {"gamma", "real", 1.0, 0.0, DBL_MAX, 0, "factor of x.z"}
#define COEF0(value) {"coef0", "real", value, -DBL_MAX, DBL_MAX, 0, "added to gamma x.z"}

const kc_leaf kc_leaf_linear = {
    .info = {"linear", "x.z", NULL, 0},
    .base = &kc_base_dot,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};

/* ---- Polynomial ------------------------------------------------------------------------------ */

static const kc_setting polynomial_params[] = {
    {"degree", "int", 3, 0, 1000, 0, "the exponent"},
    GAMMA,
    COEF0(1.0),
};

/* Sums and products of kernels, unless the constant is negative.  By itself a constant counts for
 * nothing where coefficients sum to zero. */
static kc_definiteness of_polynomial(const kc_node *leaf)
{
    if (leaf->params[2] >= 0 || leaf->params[0] == 0)
        return KC_POSITIVE;
    return leaf->params[0] == 1 ? KC_CONDITIONAL : KC_INDEFINITE;
}

static void map_polynomial(const double *p, kc_dtype dtype, void *k, size_t n)
{
    kc_ops_of(dtype)->map_power(k, n, p[1], p[2], (int32_t)p[0]);
}

const kc_leaf kc_leaf_polynomial = {
    .info = {"polynomial", "(gamma x.z + coef0)^degree", polynomial_params, 3},
    .base = &kc_base_dot,
    .definiteness = of_polynomial,
    .map = map_polynomial,
};

/* ---- Sigmoid --------------------------------------------------------------------------------- */

static const kc_setting sigmoid_params[] = {GAMMA, COEF0(0.0)};

static kc_definiteness of_sigmoid(const kc_node *leaf)
{
    (void)leaf;
    return KC_INDEFINITE;
}

static void map_sigmoid(const double *p, kc_dtype dtype, void *k, size_t n)
{
    kc_ops_of(dtype)->map_tanh(k, n, p[0], p[1]);
}

const kc_leaf kc_leaf_sigmoid = {
    .info = {"sigmoid", "tanh(gamma x.z + coef0)", sigmoid_params, 2},
    .base = &kc_base_dot,
    .is_bounded = true,
    .definiteness = of_sigmoid,
    .map = map_sigmoid,
};
