/* The operators: what makes a kernel of kernels, and why it is one (Schur's product theorem;
 * Schoenberg's, by which exp of a kernel that is positive on coefficients of sum zero is positive
 * on all). */
#include "kernel/kc_leaf.h"

static kc_definiteness of_sum(const double *params, const kc_definiteness *operands)
{
    (void)params;
    return operands[0] < operands[1] ? operands[0] : operands[1];
}

static kc_definiteness of_product(const double *params, const kc_definiteness *operands)
{
    (void)params;
    return operands[0] == KC_POSITIVE && operands[1] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static kc_definiteness of_scaled(const double *params, const kc_definiteness *operands)
{
    if (params[0] == 0)
        return KC_POSITIVE;
    return params[0] > 0 ? operands[0] : KC_INDEFINITE;
}

/* To the power of 0 any kernel is constant. */
static kc_definiteness of_power(const double *params, const kc_definiteness *operands)
{
    if (params[0] <= 1)
        return params[0] == 0 ? KC_POSITIVE : operands[0];
    return operands[0] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static kc_definiteness of_exp(const double *params, const kc_definiteness *operands)
{
    (void)params;
    return operands[0] == KC_INDEFINITE ? KC_INDEFINITE : KC_POSITIVE;
}

static kc_definiteness of_normalized(const double *params, const kc_definiteness *operands)
{
    (void)params;
    return operands[0] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static void add(const double *params, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)params;
    ops->add(k, other, n);
}

static void multiply(const double *params, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)params;
    ops->multiply(k, other, n);
}

static void scale(const double *params, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)other;
    ops->scale(k, n, params[0]);
}

static void raise(const double *params, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)other;
    ops->map_power(k, n, 1.0, 0.0, (int32_t)params[0]);
}

static void exponentiate(const double *params, const kc_ops *ops, void *k, const void *other,
                         size_t n)
{
    (void)params;
    (void)other;
    ops->map_exp(k, n, 1.0);
}

const kc_operator kc_operator_sum = {"sum", 2, of_sum, add};
const kc_operator kc_operator_product = {"product", 2, of_product, multiply};
const kc_operator kc_operator_scaled = {"scaled", 1, of_scaled, scale};
const kc_operator kc_operator_power = {"power", 1, of_power, raise};
const kc_operator kc_operator_exp = {"exp", 1, of_exp, exponentiate};

/* K(x, z) / sqrt(K(x, x) K(z, z)): it needs numbers of the samples (kc_plan.c). */
const kc_operator kc_operator_normalized = {
    .name = "normalized", .n_operands = 1, .definiteness = of_normalized};
