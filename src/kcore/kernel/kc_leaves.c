/* The table of leaves, and what they share.  docs/kernels.md says how to add one. */
#include <string.h>

#include "kernel/kc_leaf.h"

static const kc_leaf *const table[] = {
    &kc_leaf_linear,    &kc_leaf_rbf,    &kc_leaf_polynomial, &kc_leaf_sigmoid,
    &kc_leaf_laplacian, &kc_leaf_matern, &kc_leaf_constant,   &kc_leaf_delta,
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
