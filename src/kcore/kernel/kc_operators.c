/* The operators: what makes a kernel of kernels, and why it is one (Schur's product theorem;
 * Schoenberg's, by which exp of a kernel that is positive on coefficients of sum zero is positive
 * on all). */
#include <string.h>

#include "kernel/kc_leaf.h"

/* As many values are taken as left. */
size_t kc_operand_first(const kc_kernel *kernel, size_t last)
{
    size_t wanted = 1, i = last;

    while (wanted > 0) {
        i--;
        wanted += kernel->nodes[i].leaf != NULL ? 0 : kernel->nodes[i].op->n_operands;
        wanted--;
    }
    return i;
}

/* ---- Definiteness --------------------------------------------------------------------------- */

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

/* ---- Values --------------------------------------------------------------------------------- */

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

/* ---- Slopes --------------------------------------------------------------------------------- */

static void copy(const kc_row_values *row, const void *from, void *out, size_t n)
{
    memcpy(out, from, n * kc_dtype_bytes(row->dtype));
}

static void fill_slope(const kc_ops *ops, const kc_row_values *row, double factor, void *out,
                       size_t n)
{
    copy(row, row->operands[0], out, n);
    ops->map_power(out, n, 0, factor, 1); /* 0 k + factor */
}

static void product_slope(kc_numbers given, const kc_ops *ops, size_t which,
                          const kc_row_values *row, void *factors, size_t n)
{
    (void)given;
    (void)ops;
    copy(row, row->operands[1 - which], factors, n);
}

static void scaled_slope(kc_numbers given, const kc_ops *ops, size_t which,
                         const kc_row_values *row, void *factors, size_t n)
{
    (void)which;
    fill_slope(ops, row, given.values[0], factors, n);
}

static void slope_of_factor(kc_numbers given, const kc_ops *ops, size_t k, const kc_row_values *row,
                            void *out, size_t n)
{
    (void)given;
    (void)ops;
    (void)k;
    copy(row, row->operands[0], out, n);
}

static void power_slope(kc_numbers given, const kc_ops *ops, size_t which, const kc_row_values *row,
                        void *factors, size_t n)
{
    (void)which;
    if (given.values[0] == 0) {
        fill_slope(ops, row, 0, factors, n);
        return;
    }
    copy(row, row->operands[0], factors, n);
    ops->map_power(factors, n, 1.0, 0.0, (int32_t)given.values[0] - 1);
    ops->scale(factors, n, given.values[0]);
}

static void exp_slope(kc_numbers given, const kc_ops *ops, size_t which, const kc_row_values *row,
                      void *factors, size_t n)
{
    (void)given;
    (void)ops;
    (void)which;
    copy(row, row->result, factors, n);
}

/* The series of (i + 1) a_{i + 1}. */
static void series_slope(kc_numbers given, const kc_ops *ops, size_t which,
                         const kc_row_values *row, void *factors, size_t n)
{
    double coefs[KC_MAX_DEGREE + 1];

    (void)which;
    coefs[0] = 0;
    for (size_t i = 1; i < given.n; i++)
        coefs[i - 1] = (double)i * given.values[i];
    copy(row, row->operands[0], factors, n);
    ops->map_series(factors, n, coefs, kc_max(1, given.n - 1));
}

static void slope_of_coefficient(kc_numbers given, const kc_ops *ops, size_t k,
                                 const kc_row_values *row, void *out, size_t n)
{
    (void)given;
    copy(row, row->operands[0], out, n);
    ops->map_power(out, n, 1.0, 0.0, (int32_t)k);
}

const kc_operator kc_operator_sum = {
    .name = "sum", .n_operands = 2, .definiteness = of_sum, .apply = add};
const kc_operator kc_operator_product = {
    .name = "product",
    .n_operands = 2,
    .definiteness = of_product,
    .apply = multiply,
    .slope = product_slope,
};
const kc_operator kc_operator_scaled = {
    .name = "scaled",
    .n_operands = 1,
    .definiteness = of_scaled,
    .apply = scale,
    .slope = scaled_slope,
    .real_param = "factor",
    .param_slope = slope_of_factor,
};
const kc_operator kc_operator_power = {
    .name = "power",
    .n_operands = 1,
    .definiteness = of_power,
    .apply = raise,
    .slope = power_slope,
};
const kc_operator kc_operator_exp = {
    .name = "exp",
    .n_operands = 1,
    .definiteness = of_exp,
    .apply = exponentiate,
    .slope = exp_slope,
};

const kc_operator kc_operator_series = {
    .name = "series",
    .n_operands = 1,
    .definiteness = of_series,
    .apply = add_powers,
    .slope = series_slope,
    .real_param = "coefficients",
    .param_slope = slope_of_coefficient,
};

/* K(x, z) / sqrt(K(x, x) K(z, z)): it needs numbers of the samples (kc_plan.c). */
const kc_operator kc_operator_normalized = {
    .name = "normalized", .n_operands = 1, .definiteness = of_normalized};
