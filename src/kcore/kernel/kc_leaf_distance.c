/* Leaves that fall off with a distance. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/kc_leaf.h"

static const kc_setting params[] = {
    {"gamma", "real", 1.0, 0.0, DBL_MAX, 0, "inverse of the distance at which K is 1 / e"},
};

static double minus_gamma(const double *p)
{
    return -p[0];
}

/* -base K by gamma, -gamma K by the distance. */
static void exp_slope(const double *p, int32_t k, kc_dtype dtype, const void *base,
                      const void *value, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);

    memcpy(out, value, n * kc_dtype_bytes(dtype));
    if (k != KC_OF_BASE)
        ops->multiply(out, base, n);
    ops->scale(out, n, k == KC_OF_BASE ? -p[0] : -1.0);
}

const kc_leaf kc_leaf_rbf = {
    .info = {"rbf", "exp(-gamma |x - z|^2)", params, 1},
    .base = &kc_base_sq_dist,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
    .slope = exp_slope,
};

const kc_leaf kc_leaf_laplacian = {
    .info = {"laplacian", "exp(-gamma sum_t |x_t - z_t|)", params, 1},
    .base = &kc_base_l1,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
    .slope = exp_slope,
};

/* ---- Matérn ---------------------------------------------------------------------------------- */

static const kc_setting matern_params[] = {
    {"nu", "real", 1.5, 0.5, 2.5, 0,
     "0.5, 1.5 or 2.5: functions are nu - 1/2 times differentiable"},
    {"length_scale", "real", 1.0, 0.0, DBL_MAX, 1, "what the distance is divided by"},
};

/* Numbers that are mapped together, on the stack. */
#define STRIP ((size_t)256)

/* Beyond this, exp(-s) is 0 in either type: the product with a polynomial must not be infinity
 * times 0. */
#define FAR 2000

/* With s = sqrt(2 nu) r / length_scale, K is exp(-s) times 1, 1 + s or 1 + s + s^2 / 3.  k: squared
 * distances become -s; factors: the polynomial. */
#define DEFINE_MATERN(name, T, root)                                                               \
    static void name(const double *p, T *k, size_t n, T *factors)                                  \
    {                                                                                              \
        const T scale = (T)kc_lower(sqrt(2 * p[0]) / p[1], FLT_MAX);                               \
        const T first = p[0] > 1 ? 1 : 0, second = p[0] > 2 ? (T)1 / 3 : 0;                        \
                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T r = root(k[i]) * scale, s = r < FAR ? r : FAR;                                 \
                                                                                                   \
            factors[i] = 1 + s * (first + s * second);                                             \
            k[i] = -s;                                                                             \
        }                                                                                          \
    }

DEFINE_MATERN(prepare_f32, float, sqrtf)
DEFINE_MATERN(prepare_f64, double, sqrt)

static void map_matern(const double *p, kc_dtype dtype, void *k, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);
    double factors[STRIP]; /* of either type */

    for (size_t i = 0; i < n; i += STRIP) {
        const size_t some = kc_min(STRIP, n - i);
        void *strip = kc_at(k, i, dtype);

        if (dtype == KC_F64)
            prepare_f64(p, strip, some, factors);
        else
            prepare_f32(p, strip, some, (float *)(void *)factors);
        ops->map_exp(strip, some, 1.0);
        ops->multiply(strip, factors, some);
    }
}

/* dK/ds = -s^m exp(-s), times (1 + s) / 3 for the last order, m = 0, 1, 1; s = scale sqrt(base).
 * By the scale of lengths that is times -s / length_scale; by the base, times scale / (2 r), which
 * is scale^2 / (2 s).  k: squared distances become -s; factors: all but exp(-s). */
#define DEFINE_MATERN_SLOPE(name, T, root)                                                         \
    static void name(const double *p, bool is_of_base, T *k, size_t n, T *factors)                 \
    {                                                                                              \
        const T scale = (T)kc_lower(sqrt(2 * p[0]) / p[1], FLT_MAX);                               \
        const T first = is_of_base ? -(scale / 2) * scale : (T)kc_lower(1 / p[1], FLT_MAX);        \
                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T r = root(k[i]) * scale, s = r < FAR ? r : FAR;                                 \
            T factor = is_of_base ? first : first * s * s;                                         \
                                                                                                   \
            if (p[0] < 1)                                                                          \
                factor = s > 0 ? factor / s : 0;                                                   \
            else if (p[0] > 2)                                                                     \
                factor *= (1 + s) / 3;                                                             \
            factors[i] = factor;                                                                   \
            k[i] = -s;                                                                             \
        }                                                                                          \
    }

DEFINE_MATERN_SLOPE(prepare_slope_f32, float, sqrtf)
DEFINE_MATERN_SLOPE(prepare_slope_f64, double, sqrt)

static void matern_slope(const double *p, int32_t k, kc_dtype dtype, const void *base,
                         const void *value, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);
    double factors[STRIP]; /* of either type */

    (void)value;
    memcpy(out, base, n * kc_dtype_bytes(dtype));
    for (size_t i = 0; i < n; i += STRIP) {
        const size_t some = kc_min(STRIP, n - i);
        void *strip = kc_at(out, i, dtype);

        if (dtype == KC_F64)
            prepare_slope_f64(p, k == KC_OF_BASE, strip, some, factors);
        else
            prepare_slope_f32(p, k == KC_OF_BASE, strip, some, (float *)(void *)factors);
        ops->map_exp(strip, some, 1.0);
        ops->multiply(strip, factors, some);
    }
}

static const char *matern_fault(const double *p)
{
    return p[0] == 0.5 || p[0] == 1.5 || p[0] == 2.5 ? NULL : "nu must be 0.5, 1.5 or 2.5";
}

const kc_leaf kc_leaf_matern = {
    .info = {"matern", "Matern of order nu, of |x - z| / length_scale", matern_params, 2},
    .base = &kc_base_sq_dist,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .map = map_matern,
    .slope = matern_slope,
    .choices = 1u << 0, /* nu */
    .fault = matern_fault,
};
