/* One rounding after the other, as the header counts them. */
#include "ref_kernel.h"

#include <float.h>
#include <math.h>

#include "data/kc_packed.h"

/* The last numbers before exp gives 0, and the most ulps that it may be off. */
#define EXP_MIN_F32 (-87.3L)
#define EXP_MIN_F64 (-708.0L)
#define EXP_ULPS_F32 1
#define EXP_ULPS_F64 2
#define TANH_ULPS 4
#define LOG_ULPS 2

/* kernel/kc_vectors.h */
#define DIRECT_SUM_MAX 1024

static long double unit(kc_dtype dtype)
{
    return dtype == KC_F64 ? 0x1p-53L : 0x1p-24L;
}

/* Of one result below the normal numbers, where half an ulp is no longer u times it. */
static long double tiny(kc_dtype dtype)
{
    return dtype == KC_F64 ? 0x1p-1075L : 0x1p-150L;
}

static long double g(size_t n, kc_dtype dtype)
{
    const long double nu = (long double)n * unit(dtype);

    return nu / (1 - nu);
}

/* A parameter is a double; f64 takes it as it is. */
static long double parameter_unit(kc_dtype dtype)
{
    return dtype == KC_F64 ? 0 : unit(dtype);
}

ref_value ref_exact(long double value)
{
    return (ref_value){value, 0};
}

/* One more rounding of a value that is in error already. */
static ref_value round_once(long double value, long double bound, kc_dtype dtype)
{
    return (ref_value){value, bound + unit(dtype) * (fabsl(value) + bound) + tiny(dtype)};
}

ref_value ref_dot(const double *x, const double *z, size_t d, kc_dtype dtype)
{
    long double sum = 0, size = 0;

    for (size_t t = 0; t < d; t++) {
        sum += (long double)x[t] * z[t];
        size += fabsl((long double)x[t] * z[t]);
    }
    return (ref_value){sum, g(d, dtype) * size + (long double)d * 2 * tiny(dtype)};
}

/* sum |x| + sum |z| */
static long double sum_of_sizes(const double *x, const double *z, size_t d)
{
    long double sum = 0;

    for (size_t t = 0; t < d; t++)
        sum += fabsl((long double)x[t]) + fabsl((long double)z[t]);
    return sum;
}

ref_value ref_l1(const double *x, const double *z, size_t d, kc_dtype dtype)
{
    long double sum = 0;

    for (size_t t = 0; t < d; t++)
        sum += fabsl((long double)x[t] - z[t]);
    if (d > DIRECT_SUM_MAX)
        return (ref_value){sum, 2 * g(d + 2, dtype) * sum_of_sizes(x, z, d)};
    return (ref_value){sum, g(d, dtype) * sum};
}

ref_value ref_sq_dist(const double *x, const double *z, size_t d, bool is_direct, kc_dtype dtype)
{
    const ref_value xx = ref_dot(x, x, d, dtype), zz = ref_dot(z, z, d, dtype);
    long double sum = 0, size = 0;
    ref_value norms;

    for (size_t t = 0; t < d; t++) {
        const long double difference = (long double)x[t] - z[t];

        sum += difference * difference;
        size += fabsl((long double)x[t] * z[t]);
    }
    if (is_direct)
        return (ref_value){sum, g(d + 2, dtype) * sum + (long double)d * 2 * tiny(dtype)};
    norms = round_once(xx.value + zz.value, xx.bound + zz.bound, dtype);
    return round_once(sum, norms.bound + 2 * g(d, dtype) * size, dtype);
}

ref_value ref_exp(ref_value v, double factor, kc_dtype dtype)
{
    const ref_value a = ref_affine(v, factor, 0, dtype);
    const long double least = dtype == KC_F64 ? EXP_MIN_F64 : EXP_MIN_F32;
    const int ulps = dtype == KC_F64 ? EXP_ULPS_F64 : EXP_ULPS_F32;
    const long double moved = expl(a.value + a.bound);
    ref_value y = {expl(a.value), 0};

    y.bound = moved - y.value + 2 * ulps * unit(dtype) * moved;
    if (a.value - a.bound < least)
        y.bound = fmaxl(y.bound, y.value);
    return y;
}

/* The slope of tanh is 1 - tanh^2, largest at the end of the interval that is nearer to 0. */
ref_value ref_tanh(ref_value v, kc_dtype dtype)
{
    const long double inner = tanhl(fmaxl(0, fabsl(v.value) - v.bound));
    ref_value y = {tanhl(v.value), 0};

    y.bound = v.bound * (1 - inner * inner);
    y.bound += 2 * TANH_ULPS * unit(dtype) * (fabsl(y.value) + y.bound) + 8 * tiny(dtype);
    return y;
}

/* Without fused instructions the product is rounded, too. */
ref_value ref_affine(ref_value v, double factor, double term, kc_dtype dtype)
{
    const long double p = parameter_unit(dtype), f = factor, t = term;
    ref_value product = {f * v.value, v.bound};

    if (fabs(factor) != 1)
        product =
            round_once(product.value, fabsl(f) * (v.bound + p * (fabsl(v.value) + v.bound)), dtype);
    if (term == 0)
        return product;
    return round_once(product.value + t, product.bound + p * fabsl(t), dtype);
}

ref_value ref_power(ref_value v, int32_t degree, kc_dtype dtype)
{
    const long double size = powl(fabsl(v.value) + v.bound, degree);
    ref_value y = {1, 0};

    for (int32_t i = 0; i < degree; i++)
        y.value *= v.value;
    if (degree > 0)
        y.bound = size - powl(fabsl(v.value), degree) + g((size_t)degree, dtype) * size +
                  degree * 2 * tiny(dtype);
    return y;
}

ref_value ref_add(ref_value a, ref_value b, kc_dtype dtype)
{
    return round_once(a.value + b.value, a.bound + b.bound, dtype);
}

ref_value ref_multiply(ref_value a, ref_value b, kc_dtype dtype)
{
    return round_once(a.value * b.value,
                      fabsl(a.value) * b.bound + fabsl(b.value) * a.bound + a.bound * b.bound,
                      dtype);
}

/* Steep near 0, where the root of the bound is what is left. */
static ref_value root_of(ref_value v, kc_dtype dtype)
{
    const long double root = sqrtl(v.value), low = sqrtl(fmaxl(0, v.value - v.bound));

    return round_once(root, root - low, dtype);
}

/* 1 + s (first + s second), times exp(-s). */
static ref_value matern_value(const ref_node *leaf, ref_value sq_dist, kc_dtype dtype)
{
    const double scale = sqrt(2 * leaf->degree + 1) / leaf->gamma;
    const ref_value s = ref_affine(root_of(sq_dist, dtype), scale, 0, dtype);
    ref_value factor = {leaf->degree > 1 ? 1.0L / 3 : 0, 0};

    factor.bound = 2 * unit(dtype) * factor.value;
    factor = ref_add(ref_multiply(s, factor, dtype), ref_exact(leaf->degree > 0), dtype);
    factor = ref_add(ref_multiply(s, factor, dtype), ref_exact(1), dtype);
    return ref_multiply(factor, ref_exp(s, -1, dtype), dtype);
}

/* (1 + s)^-alpha */
static ref_value rational_value(const ref_node *leaf, ref_value sq_dist, kc_dtype dtype)
{
    const double factor = 0.5 / leaf->gamma / leaf->gamma / leaf->coef0;
    const ref_value s = ref_affine(sq_dist, factor, 0, dtype);
    const long double least = 1 + fmaxl(0, s.value - s.bound);
    ref_value log = {log1pl(s.value), s.bound / least};

    if (leaf->coef0 == 1)
        return round_once(1 / (1 + s.value), s.bound / least / least + 2 * unit(dtype) / least,
                          dtype);
    log.bound += 2 * LOG_ULPS * unit(dtype) * log.value;
    return ref_exp(log, -leaf->coef0, dtype);
}

/* Below the normal numbers, a term is off by one of them at the most. */
static ref_value chi2_value(const double *x, const double *z, size_t d, kc_dtype dtype)
{
    const long double least = dtype == KC_F64 ? 0x1p-1022L : 0x1p-126L;
    long double sum = 0;

    for (size_t t = 0; t < d; t++) {
        const long double difference = (long double)x[t] - z[t], both = (long double)x[t] + z[t];

        sum += both == 0 ? 0 : difference * difference / both;
    }
    if (d > DIRECT_SUM_MAX)
        return (ref_value){sum,
                           2 * g(d + 4, dtype) * sum_of_sizes(x, z, d) + (long double)d * least};
    return (ref_value){sum, g(d + 4, dtype) * sum + (long double)d * least};
}

static ref_value min_value(const double *x, const double *z, size_t d, kc_dtype dtype)
{
    long double sum = 0;

    for (size_t t = 0; t < d; t++)
        sum += fminl(x[t], z[t]);
    return (ref_value){sum, g(d, dtype) * fabsl(sum)};
}

/* part / total; 1 where the total is 0. */
static ref_value ratio_of(ref_value part, ref_value total, kc_dtype dtype)
{
    const long double value = part.value / total.value;

    if (total.value == 0)
        return ref_exact(1);
    return round_once(
        value, (part.bound + fabsl(value) * total.bound) / (total.value - total.bound), dtype);
}

/* Of a part with what the other one has besides: `both` is their sum. */
static ref_value share_of(ref_value part, ref_value both, kc_dtype dtype)
{
    return ratio_of(part, ref_add(both, (ref_value){-part.value, part.bound}, dtype), dtype);
}

static ref_value hamming_value(const double *x, const double *z, size_t d, kc_dtype dtype)
{
    size_t n = 0;

    for (size_t t = 0; t < d; t++)
        n += x[t] == z[t];
    return round_once((long double)n / (long double)d, 0, dtype);
}

static ref_value anova_value(const ref_node *leaf, const double *x, const double *z, size_t d,
                             kc_dtype dtype)
{
    ref_value product = {1, 0};

    for (size_t t = 0; t < d; t++) {
        const ref_value square = ref_sq_dist(x + t, z + t, 1, true, dtype);
        const ref_value factor = ref_add(ref_exp(square, -leaf->gamma, dtype), ref_exact(1), dtype);

        product = ref_multiply(product, factor, dtype);
    }
    return product;
}

static ref_value leaf_value(const ref_node *leaf, const double *x, const double *z, size_t d,
                            kc_dtype dtype)
{
    const ref_value dot = ref_dot(x, z, d, dtype);

    switch (leaf->op) {
    case OP_RBF:
        return ref_exp(ref_sq_dist(x, z, d, d <= KC_DIRECT_DIFF_MAX, dtype), -leaf->gamma, dtype);
    case OP_MATERN:
        return matern_value(leaf, ref_sq_dist(x, z, d, d <= KC_DIRECT_DIFF_MAX, dtype), dtype);
    case OP_LAPLACIAN:
        return ref_exp(ref_l1(x, z, d, dtype), -leaf->gamma, dtype);
    case OP_POLYNOMIAL:
        return ref_power(ref_affine(dot, leaf->gamma, leaf->coef0, dtype), leaf->degree, dtype);
    case OP_RATIONAL:
        return rational_value(leaf, ref_sq_dist(x, z, d, d <= KC_DIRECT_DIFF_MAX, dtype), dtype);
    case OP_CHI2:
        return ref_exp(chi2_value(x, z, d, dtype), -leaf->gamma, dtype);
    case OP_ADDITIVE_CHI2:
        return ref_affine(chi2_value(x, z, d, dtype), -1, 0, dtype);
    case OP_INTERSECTION:
        return min_value(x, z, d, dtype);
    case OP_MINMAX: {
        const long double both = sum_of_sizes(x, z, d);

        return share_of(min_value(x, z, d, dtype), (ref_value){both, g(d + 1, dtype) * both},
                        dtype);
    }
    case OP_TANIMOTO:
        return share_of(dot, ref_add(ref_dot(x, x, d, dtype), ref_dot(z, z, d, dtype), dtype),
                        dtype);
    case OP_HAMMING:
        return hamming_value(x, z, d, dtype);
    case OP_ANOVA:
        return anova_value(leaf, x, z, d, dtype);
    case OP_CONSTANT:
        return ref_affine(ref_exact(leaf->gamma), 1, 0, dtype);
    case OP_SIGMOID:
        return ref_tanh(ref_affine(dot, leaf->gamma, leaf->coef0, dtype), dtype);
    default:
        return dot;
    }
}

ref_value ref_kernel(const ref_node *nodes, size_t n_nodes, const double *x, const double *z,
                     size_t d, kc_dtype dtype)
{
    ref_value stack[64], *top = stack; /* stack[0] stays empty */

    for (const ref_node *node = nodes; node < nodes + n_nodes; node++) {
        switch (node->op) {
        case OP_ADD:
            top--;
            *top = ref_add(top[0], top[1], dtype);
            break;
        case OP_MUL:
            top--;
            *top = ref_multiply(top[0], top[1], dtype);
            break;
        case OP_SCALE:
            *top = ref_affine(*top, node->gamma, 0, dtype);
            break;
        case OP_POW:
            *top = ref_power(*top, node->degree, dtype);
            break;
        case OP_EXP:
            *top = ref_exp(*top, 1.0, dtype);
            break;
        default:
            *++top = leaf_value(node, x, z, d, dtype);
        }
    }
    return *top;
}

double ref_ulps(double computed, long double exact, kc_dtype dtype)
{
    const int digits = dtype == KC_F64 ? DBL_MANT_DIG : FLT_MANT_DIG;
    const int least = dtype == KC_F64 ? DBL_MIN_EXP : FLT_MIN_EXP;
    int exponent;

    frexpl(exact, &exponent);
    return (double)(fabsl(computed - exact) /
                    ldexpl(1, (exponent > least ? exponent : least) - digits));
}

double ref_excess(double computed, ref_value ref)
{
    const long double off = fabsl(computed - ref.value);

    if (!(off <= (long double)DBL_MAX))
        return INFINITY;
    return off == 0 ? 0 : (double)(off / ref.bound);
}
