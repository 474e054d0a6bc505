/* The operators: what makes a kernel of kernels, and why it is one (Schur's product theorem;
 * Schoenberg). */
#include "kernel/kc_leaf.h"

static kc_definiteness of_both(const double *params, const kc_definiteness *operands)
{
    (void)params;
    return operands[0] < operands[1] ? operands[0] : operands[1];
}

static kc_definiteness of_first(const double *params, const kc_definiteness *operands)
{
    (void)params;
    return operands[0];
}

/* With the parameter 0 the kernel is constant: 0 times K, or K to the power of 0. */
static kc_definiteness of_first_or_constant(const double *params, const kc_definiteness *operands)
{
    return params[0] == 0 ? KC_POSITIVE : operands[0];
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

const kc_operator kc_operator_sum = {"sum", 2, of_both, add};
const kc_operator kc_operator_product = {"product", 2, of_both, multiply};
const kc_operator kc_operator_scaled = {"scaled", 1, of_first_or_constant, scale};
const kc_operator kc_operator_power = {"power", 1, of_first_or_constant, raise};
const kc_operator kc_operator_exp = {"exp", 1, of_first, exponentiate};

/* K(x, z) / sqrt(K(x, x) K(z, z)): it needs numbers of the samples (kc_plan.c). */
const kc_operator kc_operator_normalized = {
    .name = "normalized", .n_operands = 1, .definiteness = of_first};
