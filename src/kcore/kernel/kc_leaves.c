/* The table of leaves, and what they share.  docs/kernels.md says how to add one. */
#include <string.h>

#include "kernel/kc_leaf.h"

static const kc_leaf *const table[] = {
    &kc_leaf_linear,   &kc_leaf_rbf,           &kc_leaf_polynomial,
    &kc_leaf_sigmoid,  &kc_leaf_laplacian,     &kc_leaf_matern,
    &kc_leaf_constant, &kc_leaf_delta,         &kc_leaf_rational_quadratic,
    &kc_leaf_chi2,     &kc_leaf_additive_chi2, &kc_leaf_histogram_intersection,
    &kc_leaf_minmax,   &kc_leaf_tanimoto,      &kc_leaf_hamming,
    &kc_leaf_anova,
};

int32_t kc_leaf_count(void)
{
    return (int32_t)(sizeof table / sizeof *table);
}

const kc_leaf_info *kc_leaf_at(int32_t index)
{
    return index >= 0 && index < kc_leaf_count() ? &table[index]->info : NULL;
}

kc_definiteness kc_always_positive(const kc_node *leaf)
{
    (void)leaf;
    return KC_POSITIVE;
}

void kc_exp_slope(const double *params, int32_t k, kc_dtype dtype, const void *base,
                  const void *value, void *out, size_t n)
{
    const kc_ops *ops = kc_ops_of(dtype);

    memcpy(out, value, n * kc_dtype_bytes(dtype));
    if (k != KC_OF_BASE)
        ops->multiply(out, base, n);
    ops->scale(out, n, k == KC_OF_BASE ? -params[0] : -1.0);
}

bool kc_leaf_is_smooth(const kc_leaf *leaf, int32_t k)
{
    return strcmp(leaf->info.params[k].type, "real") == 0 && (leaf->choices >> k & 1) == 0;
}

void kc_leaf_map(const kc_node *leaf, kc_dtype dtype, void *k, size_t n)
{
    if (leaf->leaf->exp_factor != NULL)
        kc_ops_of(dtype)->map_exp(k, n, leaf->leaf->exp_factor(leaf->params));
    else if (leaf->leaf->map != NULL)
        leaf->leaf->map(leaf->params, dtype, k, n);
}
