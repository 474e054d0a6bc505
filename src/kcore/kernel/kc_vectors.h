/* The bases of samples that are numbers: x.z, |x - z|^2 and sum |x - z|, dense and sparse.
 *
 * Dense columns meet tiles of rows (kc_vectors_dense.c), sparse columns lanes of rows
 * (kc_vectors_csr.c).  The formula of a leaf is applied to the sums in the registers, or while a
 * strip of them lies in the first-level cache. */
#ifndef KC_VECTORS_H
#define KC_VECTORS_H

#include "kernel/kc_leaf.h"

typedef enum kc_sum { KC_SUM_DOT, KC_SUM_SQ_DIST, KC_SUM_L1 } kc_sum;

/* Dense columns: row tiles against panels, in blocks of at most n_rows. */
size_t kc_dense_workspace(const kc_packed *z, size_t n_rows);
void kc_dense_block(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace);

/* Sparse columns: CSR rows against lanes, which have at most so many places for columns. */
size_t kc_csr_places(const kc_packed *x);
size_t kc_csr_workspace(const kc_packed *x);
void kc_csr_block(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace);

#endif
