/* What the files of this folder share: the expression, and how one leaf fills a block. */
#ifndef KC_KERNEL_IMPL_H
#define KC_KERNEL_IMPL_H

#include "kernel/kc_kernel.h"
#include "simd/kc_ops.h"

struct kc_kernel {
    size_t n_nodes;
    size_t max_depth; /* of the stack that evaluates it */
    kc_definiteness definiteness;
    kc_kernel_node nodes[];
};

KC_INLINE bool kc_is_leaf(int32_t op)
{
    return op < KC_ADD;
}

/* A part of memory given out piece by piece, aligned; sized beforehand by the same steps. */
KC_INLINE size_t kc_aligned(size_t n_bytes)
{
    return kc_round_up(n_bytes, KC_ALIGN);
}

/* Dense columns: row tiles against panels, in blocks of at most n_rows. */
size_t kc_dense_workspace(const kc_packed *x, const kc_packed *z, size_t n_rows);
void kc_dense_leaf(const kc_kernel_node *leaf, const kc_block *block, void *workspace);

/* Sparse columns: CSR rows against lanes, which have at most so many places for columns. */
size_t kc_csr_places(const kc_packed *x);
size_t kc_csr_workspace(const kc_packed *x, const kc_packed *z);
void kc_csr_leaf(const kc_kernel_node *leaf, const kc_block *block, void *workspace);

/* From x.z to the value, for leaves that are functions of x.z alone: linear, polynomial, sigmoid.
 */
void kc_map_leaf(const kc_kernel_node *leaf, const kc_ops *ops, void *k, size_t n);

/* The sample that stands at place i of the block. */
KC_INLINE size_t kc_block_row(const kc_block *block, size_t i)
{
    return block->rows != NULL ? (size_t)block->rows[i] : block->row_begin + i;
}

/* Element (i, j) of an array of the block's type. */
KC_INLINE void *kc_at(void *array, size_t index, kc_dtype dtype)
{
    return (char *)array + index * kc_dtype_bytes(dtype);
}

#endif
