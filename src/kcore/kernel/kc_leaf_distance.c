/* Leaves that fall off with a distance. */
#include <float.h>
#include <math.h>

#include "kernel/kc_leaf.h"

static const kc_setting params[] = {
    {"gamma", "real", 1.0, 0.0, DBL_MAX, 0, "inverse of the distance at which K is 1 / e"},
};

static double minus_gamma(const double *p)
{
    return -p[0];
}

const kc_leaf kc_leaf_rbf = {
    .info = {"rbf", "exp(-gamma |x - z|^2)", params, 1},
    .base = &kc_base_sq_dist,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
};

const kc_leaf kc_leaf_laplacian = {
    .info = {"laplacian", "exp(-gamma sum_t |x_t - z_t|)", params, 1},
    .base = &kc_base_l1,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
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
    .fault = matern_fault,
};

/* ---- Rational quadratic -----------------------------------------------------------------------
 */

static const kc_setting rational_params[] = {
    {"length_scale", "real", 1.0, 0.0, DBL_MAX, 1, "what the distance is divided by"},
    {"alpha", "real", 1.0, 0.0, DBL_MAX, 1, "how fast length scales are mixed: the exponent"},
};

/* (1 + s)^-alpha = exp(-alpha log(1 + s)); alpha = 1, the default, is a division. */
static void map_rational(const double *p, kc_dtype dtype, void *k, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);
    const double factor = 0.5 / p[0] / p[0] / p[1];

    if (p[1] == 1) {
        ops->map_inverse(k, n, factor);
        return;
    }
    ops->map_log1p(k, n, factor);
    ops->map_exp(k, n, -p[1]);
}

const kc_leaf kc_leaf_rational_quadratic = {
    .info = {"rational_quadratic", "(1 + |x - z|^2 / (2 alpha length_scale^2))^-alpha",
             rational_params, 2},
    .base = &kc_base_sq_dist,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .map = map_rational,
};
