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

const kc_leaf kc_leaf_rbf = {
    .info = {"rbf", "exp(-gamma |x - z|^2)", params, 1},
    .base = &kc_base_sq_dist,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
    .slope = kc_exp_slope,
};

const kc_leaf kc_leaf_laplacian = {
    .info = {"laplacian", "exp(-gamma sum_t |x_t - z_t|)", params, 1},
    .base = &kc_base_l1,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
    .slope = kc_exp_slope,
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

/* With c = 1 / (2 alpha length_scale^2) the base b is s = c b.  dK/ds is -alpha K / (1 + s), so
 * that
 *
 *     by b:             -K / (2 length_scale^2 (1 + s))
 *     by length_scale:  K 2 alpha / length_scale s / (1 + s)
 *     by alpha:         K (s / (1 + s) - log(1 + s)).
 *
 * With v = s / (1 + s) the last factor is v + log(1 - v) = -(v^2 / 2 + v^3 / 3 + ...): where v is
 * small, the sum keeps the digits that the difference would lose. */
#define SMALL_V 0.125
#define N_TERMS 20

static void fill_terms(double *terms)
{
    terms[0] = terms[1] = 0;
    for (int i = 2; i < N_TERMS; i++)
        terms[i] = -1.0 / i;
}

/* log(1 + s) becomes the last factor; v the share s / (1 + s), series the sum.  Where K is 0 the
 * logarithm may be infinite. */
#define DEFINE_ALPHA_SLOPE(name, T)                                                                \
    static void name(T *log, const T *v, const T *series, size_t n)                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            log[i] = v[i] < (T)SMALL_V ? series[i] : v[i] - (log[i] < FAR ? log[i] : FAR);         \
    }

DEFINE_ALPHA_SLOPE(choose_f32, float)
DEFINE_ALPHA_SLOPE(choose_f64, double)

static void alpha_slope(double factor, kc_dtype dtype, const void *base, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);
    double v[STRIP], series[STRIP], terms[N_TERMS]; /* the first two of either type */

    fill_terms(terms);
    for (size_t i = 0; i < n; i += STRIP) {
        const size_t some = kc_min(STRIP, n - i), n_bytes = some * kc_dtype_bytes(dtype);
        const void *from = (const char *)base + i * kc_dtype_bytes(dtype);
        void *strip = kc_at(out, i, dtype);

        memcpy(v, from, n_bytes);
        ops->map_inverse(v, some, factor);
        ops->multiply(v, from, some);
        ops->scale(v, some, factor);
        memcpy(series, v, n_bytes);
        ops->map_series(series, some, terms, N_TERMS);
        memcpy(strip, from, n_bytes);
        ops->map_log1p(strip, some, factor);
        if (dtype == KC_F64)
            choose_f64(strip, v, series, some);
        else
            choose_f32(strip, (float *)(void *)v, (float *)(void *)series, some);
    }
}

static void rational_slope(const double *p, int32_t k, kc_dtype dtype, const void *base,
                           const void *value, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);
    const double factor = kc_lower(0.5 / p[0] / p[0] / p[1], FLT_MAX);

    if (k == 1) {
        alpha_slope(factor, dtype, base, out, n);
        ops->multiply(out, value, n);
        return;
    }
    memcpy(out, base, n * kc_dtype_bytes(dtype));
    ops->map_inverse(out, n, factor);
    if (k == 0) {
        ops->multiply(out, base, n);
        ops->scale(out, n, factor);
    }
    ops->multiply(out, value, n);
    ops->scale(out, n, kc_lower(k == 0 ? 2 * p[1] / p[0] : 0.5 / p[0] / p[0], FLT_MAX));
    if (k == KC_OF_BASE)
        ops->scale(out, n, -1.0);
}

const kc_leaf kc_leaf_rational_quadratic = {
    .info = {"rational_quadratic", "(1 + |x - z|^2 / (2 alpha length_scale^2))^-alpha",
             rational_params, 2},
    .base = &kc_base_sq_dist,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .map = map_rational,
    .slope = rational_slope,
};
