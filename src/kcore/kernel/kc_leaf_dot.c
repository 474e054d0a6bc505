/* Leaves that are functions of x.z. */
#include <float.h>
#include <string.h>

#include "kernel/kc_leaf.h"

#define GAMMA {"gamma", "real", 1.0, 0.0, DBL_MAX, 0, "factor of x.z"}
#define COEF0(value) {"coef0", "real", value, -DBL_MAX, DBL_MAX, 0, "added to gamma x.z"}

static void fill(kc_dtype dtype, double value, void *out, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (dtype == KC_F64)
            ((double *)out)[j] = value;
        else
            ((float *)out)[j] = (float)value;
}

/* By a parameter of gamma x.z + coef0, of what is the slope by that: times x.z, 1, gamma. */
static void affine_slope(double gamma, bool is_by_gamma, bool is_of_base, kc_dtype dtype,
                         const void *base, void *out, size_t n)
{
    if (is_by_gamma)
        kc_ops_of(dtype)->multiply(out, base, n);
    else if (is_of_base)
        kc_ops_of(dtype)->scale(out, n, gamma);
}

static void linear_slope(const double *p, int32_t k, kc_dtype dtype, const void *base,
                         const void *value, void *out, size_t n)
{
    (void)p;
    (void)k;
    (void)base;
    (void)value;
    fill(dtype, 1, out, n);
}

const kc_leaf kc_leaf_linear = {
    .info = {"linear", "x.z", NULL, 0},
    .base = &kc_base_dot,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .slope = linear_slope,
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

static void polynomial_slope(const double *p, int32_t k, kc_dtype dtype, const void *base,
                             const void *value, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);

    (void)value;
    if (p[0] == 0) {
        fill(dtype, 0, out, n);
        return;
    }
    memcpy(out, base, n * kc_dtype_bytes(dtype));
    ops->map_power(out, n, p[1], p[2], (int32_t)p[0] - 1);
    ops->scale(out, n, p[0]);
    affine_slope(p[1], k == 1, k == KC_OF_BASE, dtype, base, out, n);
}

const kc_leaf kc_leaf_polynomial = {
    .info = {"polynomial", "(gamma x.z + coef0)^degree", polynomial_params, 3},
    .base = &kc_base_dot,
    .definiteness = of_polynomial,
    .map = map_polynomial,
    .slope = polynomial_slope,
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

/* 1 - tanh(a)^2 is 4 u / (1 + u)^2 with u = exp(-2 |a|), which loses nothing where tanh is 1. */
#define DEFINE_SIGMOID_SLOPE(name, T)                                                              \
    static void name(const kc_ops *ops, T *k, size_t n)                                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            k[i] = k[i] < 0 ? k[i] : -k[i];                                                        \
        ops->map_exp(k, n, 2.0);                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            k[i] = 4 * k[i] / ((1 + k[i]) * (1 + k[i]));                                           \
    }

DEFINE_SIGMOID_SLOPE(fall_off_f32, float)
DEFINE_SIGMOID_SLOPE(fall_off_f64, double)

static void sigmoid_slope(const double *p, int32_t k, kc_dtype dtype, const void *base,
                          const void *value, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);

    (void)value;
    memcpy(out, base, n * kc_dtype_bytes(dtype));
    ops->map_power(out, n, p[0], p[1], 1);
    if (dtype == KC_F64)
        fall_off_f64(ops, out, n);
    else
        fall_off_f32(ops, out, n);
    affine_slope(p[0], k == 0, k == KC_OF_BASE, dtype, base, out, n);
}

const kc_leaf kc_leaf_sigmoid = {
    .info = {"sigmoid", "tanh(gamma x.z + coef0)", sigmoid_params, 2},
    .base = &kc_base_dot,
    .is_bounded = true,
    .definiteness = of_sigmoid,
    .map = map_sigmoid,
    .slope = sigmoid_slope,
};
