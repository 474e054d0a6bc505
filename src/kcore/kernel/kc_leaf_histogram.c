/* Leaves of samples without negative numbers, as counts and histograms are. */
#include <float.h>

#include "kernel/kc_leaf.h"

/* ---- chi^2 ------------------------------------------------------------------------------------
 */

static const kc_setting params[] = {
    {"gamma", "real", 1.0, 0.0, DBL_MAX, 0, "inverse of the distance at which K is 1 / e"},
};

static double minus_gamma(const double *p)
{
    return -p[0];
}

const kc_leaf kc_leaf_chi2 = {
    .info = {"chi2", "exp(-gamma sum_t (x_t - z_t)^2 / (x_t + z_t))", params, 1},
    .base = &kc_base_chi2,
    .is_bounded = true,
    .definiteness = kc_always_positive,
    .exp_factor = minus_gamma,
    .slope = kc_exp_slope,
};

/* -(x - z)^2 / (x + z) = 4 x z / (x + z) - x - z: a kernel, and a function of either sample. */
static kc_definiteness of_additive(const kc_node *leaf)
{
    (void)leaf;
    return KC_CONDITIONAL;
}

/* 0 stays 0, not -0. */
static void negate(const double *p, kc_dtype dtype, void *k, size_t n)
{
    (void)p;
    for (size_t i = 0; i < n; i++)
        if (dtype == KC_F64)
            ((double *)k)[i] = 0 - ((double *)k)[i];
        else
            ((float *)k)[i] = 0 - ((float *)k)[i];
}

const kc_leaf kc_leaf_additive_chi2 = {
    .info = {"additive_chi2", "-sum_t (x_t - z_t)^2 / (x_t + z_t)", NULL, 0},
    .base = &kc_base_chi2,
    .is_bounded = true,
    .definiteness = of_additive,
    .map = negate,
};

/* ---- Intersections ----------------------------------------------------------------------------
 */

const kc_leaf kc_leaf_histogram_intersection = {
    .info = {"histogram_intersection", "sum_t min(x_t, z_t)", NULL, 0},
    .base = &kc_base_min,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};

const kc_leaf kc_leaf_minmax = {
    .info = {"minmax", "sum_t min(x_t, z_t) / sum_t max(x_t, z_t)", NULL, 0},
    .base = &kc_base_minmax,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};
