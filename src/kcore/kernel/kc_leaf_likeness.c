/* Leaves that say how much of two samples is alike. */
#include <float.h>

#include "kernel/kc_leaf.h"

const kc_leaf kc_leaf_tanimoto = {
    .info = {"tanimoto", "x.z / (|x|^2 + |z|^2 - x.z)", NULL, 0},
    .base = &kc_base_tanimoto,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};

/* ---- Hamming ----------------------------------------------------------------------------------
 */

/* One column of strings is a feature, too. */
static const kc_base *base_of(const kc_packed *z)
{
    return z->storage == KC_STRINGS ? &kc_base_same_string : &kc_base_equal;
}

static size_t work(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    return base_of(z)->work(leaf, x, z);
}

static size_t workspace(const kc_packed *x, const kc_packed *z, size_t n_rows)
{
    return base_of(z)->workspace(x, z, n_rows);
}

static bool block(const kc_node *leaf, const kc_block *block, void *workspace)
{
    return base_of(block->z)->block(leaf, block, workspace);
}

static bool diag(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace)
{
    return base_of(x)->diag(leaf, x, row_begin, n_rows, out, workspace);
}

static const kc_base base_category = {
    .name = "the share of equal features",
    .takes = KC_TAKES_NUMBERS | KC_TAKES_STRINGS,
    .is_shared = true,
    .work = work,
    .workspace = workspace,
    .block = block,
    .diag = diag,
};

const kc_leaf kc_leaf_hamming = {
    .info = {"hamming", "the share of the features t with x_t = z_t", NULL, 0},
    .base = &base_category,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};

/* ---- ANOVA ------------------------------------------------------------------------------------
 */

static const kc_setting params[] = {
    {"gamma", "real", 1.0, 0.0, DBL_MAX, 0,
     "inverse of the squared difference at which a factor's "
     "second term is 1 / e"},
};

/* A product of sums of kernels.  It is 2^d for a sample with itself: it may overflow.  Its
 * logarithm has the slope -sum_t (x_t - z_t)^2 e_t / (1 + e_t) by gamma, e_t = exp(-gamma (x_t -
 * z_t)^2). */
const kc_leaf kc_leaf_anova = {
    .info = {"anova", "product over t of 1 + exp(-gamma (x_t - z_t)^2)", params, 1},
    .base = &kc_base_anova,
    .definiteness = kc_always_positive,
    .slope = kc_exp_slope, /* minus that sum, times K */
    .slope_base = &kc_base_anova_slope,
};
