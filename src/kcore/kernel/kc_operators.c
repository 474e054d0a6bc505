/* The operators: what makes a kernel of kernels, and why it is one (Schur's product theorem;
 * Schoenberg's, by which exp of a kernel that is positive on coefficients of sum zero is positive
 * on all). */
#include "kernel/kc_leaf.h"

static kc_definiteness of_sum(kc_numbers given, const kc_definiteness *operands)
{
    (void)given;
    return operands[0] < operands[1] ? operands[0] : operands[1];
}

static kc_definiteness of_product(kc_numbers given, const kc_definiteness *operands)
{
    (void)given;
    return operands[0] == KC_POSITIVE && operands[1] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static kc_definiteness of_scaled(kc_numbers given, const kc_definiteness *operands)
{
    if (given.values[0] == 0)
        return KC_POSITIVE;
    return given.values[0] > 0 ? operands[0] : KC_INDEFINITE;
}

/* To the power of 0 any kernel is constant. */
static kc_definiteness of_power(kc_numbers given, const kc_definiteness *operands)
{
    if (given.values[0] <= 1)
        return given.values[0] == 0 ? KC_POSITIVE : operands[0];
    return operands[0] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static kc_definiteness of_exp(kc_numbers given, const kc_definiteness *operands)
{
    (void)given;
    return operands[0] == KC_INDEFINITE ? KC_INDEFINITE : KC_POSITIVE;
}

/* A constant and a multiple are a sum; more needs the powers of the kernel. */
static kc_definiteness of_series(kc_numbers given, const kc_definiteness *operands)
{
    size_t last = 0;

    for (size_t i = 0; i < given.n; i++) {
        if (given.values[i] < 0)
            return KC_INDEFINITE;
        last = given.values[i] > 0 ? i : last;
    }
    if (last <= 1)
        return last == 0 ? KC_POSITIVE : operands[0];
    return operands[0] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static kc_definiteness of_normalized(kc_numbers given, const kc_definiteness *operands)
{
    (void)given;
    return operands[0] == KC_POSITIVE ? KC_POSITIVE : KC_INDEFINITE;
}

static void add(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)given;
    ops->add(k, other, n);
}

static void multiply(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)given;
    ops->multiply(k, other, n);
}

static void scale(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)other;
    ops->scale(k, n, given.values[0]);
}

static void raise(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)other;
    ops->map_power(k, n, 1.0, 0.0, (int32_t)given.values[0]);
}

static void exponentiate(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)given;
    (void)other;
    ops->map_exp(k, n, 1.0);
}

static void add_powers(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n)
{
    (void)other;
    ops->map_series(k, n, given.values, given.n);
}

const kc_operator kc_operator_sum = {"sum", 2, of_sum, add};
const kc_operator kc_operator_product = {"product", 2, of_product, multiply};
const kc_operator kc_operator_scaled = {"scaled", 1, of_scaled, scale};
const kc_operator kc_operator_power = {"power", 1, of_power, raise};
const kc_operator kc_operator_exp = {"exp", 1, of_exp, exponentiate};
const kc_operator kc_operator_series = {"series", 1, of_series, add_powers};

/* K(x, z) / sqrt(K(x, x) K(z, z)): it needs numbers of the samples (kc_plan.c). */
const kc_operator kc_operator_normalized = {
    .name = "normalized", .n_operands = 1, .definiteness = of_normalized};
