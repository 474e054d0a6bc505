/* The bases of samples that are numbers: x.z, distances, and other sums over the features, dense
 * and sparse.
 *
 * Dense columns meet tiles of rows (kc_vectors_dense.c), sparse columns lanes of rows
 * (kc_vectors_csr.c).  The formula of a leaf is applied to the sums in the registers, or while a
 * strip of them lies in the first-level cache. */
#ifndef KC_VECTORS_H
#define KC_VECTORS_H

#include "kernel/kc_leaf.h"

typedef enum kc_sum {
    KC_SUM_DOT,
    KC_SUM_SQ_DIST,
    KC_SUM_L1,
    KC_SUM_MIN,
    KC_SUM_MINMAX,
    KC_SUM_CHI2,
    KC_SUM_TANIMOTO,
    KC_SUM_EQUAL,
    KC_SUM_ANOVA,      /* a product: of the leaf's gamma */
    KC_SUM_ANOVA_SLOPE /* minus the derivative of its logarithm by gamma */
} kc_sum;

/* Whether the sum itself depends on gamma of the leaf. */
KC_INLINE bool kc_sum_has_gamma(kc_sum sum)
{
    return sum == KC_SUM_ANOVA || sum == KC_SUM_ANOVA_SLOPE;
}

/* Up to this many features, sum |x - z| and sum (x - z)^2 / (x + z) are added up feature by
 * feature. Beyond, they are made of the sums of x and of z, and of one over what both samples have:
 * sparse samples have little in common, and a merge of their columns would cost many times more. */
#define KC_DIRECT_SUM_MAX ((size_t)1024)

/* Whether a sum takes what either of two sparse samples has, not only what both have. */
KC_INLINE bool kc_sum_is_of_either(kc_sum sum, size_t d)
{
    return kc_sum_has_gamma(sum) ||
           ((sum == KC_SUM_L1 || sum == KC_SUM_CHI2) && d <= KC_DIRECT_SUM_MAX);
}

/* Whether its values are made with the sums of |x| and |z|. */
KC_INLINE bool kc_sum_has_sums(kc_sum sum, size_t d)
{
    return sum == KC_SUM_MINMAX ||
           ((sum == KC_SUM_L1 || sum == KC_SUM_CHI2) && d > KC_DIRECT_SUM_MAX);
}

KC_INLINE double kc_sum_gamma(kc_sum sum, const kc_node *leaf)
{
    return kc_sum_has_gamma(sum) ? leaf->params[0] : 0;
}

/* Dense columns: row tiles against panels, in blocks of at most n_rows. */
size_t kc_dense_workspace(const kc_packed *z, size_t n_rows);
void kc_dense_block(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace);

/* Sparse columns: CSR rows against lanes, which have at most so many places for columns. */
size_t kc_csr_places(const kc_packed *x);
size_t kc_csr_workspace(const kc_packed *x);
void kc_csr_block(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace);

#endif
