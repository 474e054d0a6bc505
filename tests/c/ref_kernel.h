/* What kernels must give: slow, obvious, in long double, each value with how far a computed one may
 * be off.
 *
 * The bounds are those of docs/numerics.md.  They count roundings, u = 2^-24 (f32) or 2^-53 (f64)
 * each, with g(n) = n u / (1 - n u):
 *
 *     x.z, sum min(x, z)  g(d) sum |x_t z_t|, g(d) times itself
 *     sum (x - z)^2       g(d + 2) times itself, up to KC_DIRECT_DIFF_MAX features
 *     |x - z|^2           g(d) (|x|^2 + |z|^2 + 2 sum |x_t z_t|) + u (|x|^2 + |z|^2 + |x - z|^2)
 *                         beyond
 *     sum |x - z|         g(d) times itself, up to DIRECT_SUM_MAX features; beyond, g(d + 2) times
 *                         the sums of |x| and |z|, twice: so for sum (x - z)^2 / (x + z), with
 *                         g(d + 4)
 *     exp                 1 ulp (f32), 2 ulp (f64); the argument's error is passed on
 *     log(1 + s)          2 ulp, the same
 *     tanh                4 ulp, the same
 *     b^m                 g(m) times itself, and what the error of b becomes
 *
 * and one more for every other operation, and for parameters, which are rounded to f32 first. */
#ifndef REF_KERNEL_H
#define REF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "kcore/kcore.h"
#include "ref_expr.h"

typedef struct ref_value {
    long double value;
    long double bound; /* of the absolute error */
} ref_value;

ref_value ref_exact(long double value);

ref_value ref_dot(const double *x, const double *z, size_t d, kc_dtype dtype);
ref_value ref_l1(const double *x, const double *z, size_t d, kc_dtype dtype);
/* |x - z|^2, from differences or from norms. */
ref_value ref_sq_dist(const double *x, const double *z, size_t d, bool is_direct, kc_dtype dtype);

/* What becomes of a value that is in error already; exp(factor v), factor v + term, v^degree. */
ref_value ref_exp(ref_value v, double factor, kc_dtype dtype);
ref_value ref_tanh(ref_value v, kc_dtype dtype);
ref_value ref_affine(ref_value v, double factor, double term, kc_dtype dtype);
ref_value ref_power(ref_value v, int32_t degree, kc_dtype dtype);
ref_value ref_add(ref_value a, ref_value b, kc_dtype dtype);
ref_value ref_multiply(ref_value a, ref_value b, kc_dtype dtype);

/* K(x, z) of a whole expression, which must be a valid one. */
ref_value ref_kernel(const ref_node *nodes, size_t n_nodes, const double *x, const double *z,
                     size_t d, kc_dtype dtype);

/* |computed - exact|, in units of the last place of the exact value. */
double ref_ulps(double computed, long double exact, kc_dtype dtype);

/* |computed - ref.value| / ref.bound: at most 1 where all is well, infinite for NaN. */
double ref_excess(double computed, ref_value ref);

#endif
