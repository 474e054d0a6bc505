/* Leaves that say how much of two samples is alike. */
#include <float.h>

#include "kernel/kc_leaf.h"

const kc_leaf kc_leaf_tanimoto = {
    .info = {"tanimoto", "x.z / (|x|^2 + |z|^2 - x.z)", NULL, 0},
    .base = &kc_base_tanimoto,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};

const kc_leaf kc_leaf_hamming = {
    .info = {"hamming", "the share of the features t with x_t = z_t", NULL, 0},
    .base = &kc_base_equal,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};

static const kc_setting params[] = {
    {"gamma", "real", 1.0, 0.0, DBL_MAX, 0, "inverse of the squared difference at which a factor's "
                                            "second term is 1 / e"},
};

/* A product of sums of kernels.  It is 2^d for a sample with itself: it may overflow. */
const kc_leaf kc_leaf_anova = {
    .info = {"anova", "product over t of 1 + exp(-gamma (x_t - z_t)^2)", params, 1},
    .base = &kc_base_anova,
    .definiteness = kc_always_positive,
};
