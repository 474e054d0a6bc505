/* Leaves that fall off exponentially with a distance. */
#include <float.h>

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
