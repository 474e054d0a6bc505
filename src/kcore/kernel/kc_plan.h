/* A plan: a kernel bound to two sets of points, evaluated block by block.  It knows what a value
 * costs and how much workspace that takes; its users need to know neither points nor kernel.
 *
 * A value depends on x, z, the kernel's parameters and the type alone: not on storage, tile, block,
 * thread or neighbours, and K(x, z) = K(z, x) to the bit. */
#ifndef KC_PLAN_H
#define KC_PLAN_H

#include "data/kc_packed.h"

typedef struct kc_plan {
    const kc_kernel *kernel; /* borrowed, as are the points */
    const kc_packed *x, *z;
    size_t work; /* of one value, in multiply-adds: the one measure of cost */
} kc_plan;

/* Takes no memory and next to no time. */
kc_plan kc_plan_make(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z);

/* Bytes of workspace that one worker needs for blocks of up to n_rows rows. */
size_t kc_plan_workspace(const kc_plan *plan, size_t n_rows);

/* Rows are computed in multiples of this without loss: tiles of dense samples, whole groups of
 * lanes of sparse ones. */
size_t kc_plan_row_step(const kc_plan *plan);

/* out[i * ld + j] = K(x[rows[i]], z[col_begin + j]) for i < n_rows, j < n_cols, of the points'
 * type. rows NULL: the samples row_begin, row_begin + 1, ...  col_begin is a multiple of 16. */
typedef struct kc_block {
    const kc_packed *x, *z; /* those of the plan: kc_plan_block fills them in */
    const int32_t *rows;
    size_t row_begin, n_rows;
    size_t col_begin, n_cols;
    void *out;
    size_t ld;
    bool is_backward; /* a single row may meet dense columns in this order, for the cache's sake */
    bool is_upper;    /* x == z, rows NULL: values below the diagonal may be left out */
} kc_block;

/* Allocates nothing, does not poll: keep n_rows * n_cols * work within some milliseconds.  Returns
 * false where a value was not finite (an overflowing polynomial, say). */
bool kc_plan_block(const kc_plan *plan, const kc_block *block, void *workspace);

/* out[i] = K(x[i], x[i]) for row_begin <= i < row_begin + n_rows, the same bits as a block's. */
bool kc_plan_diag(const kc_plan *plan, size_t row_begin, size_t n_rows, void *out, void *workspace);

/* The same for a part of the expression, nodes first .. last - 1. */
bool kc_plan_diag_of(const kc_plan *plan, size_t first, size_t last, size_t row_begin,
                     size_t n_rows, void *out, void *workspace);

/* A normalization of values that are there, by the number `scalar` of each sample: of a row against
 * the samples from col_begin on, and of samples with themselves. */
void kc_plan_normalize(const kc_plan *plan, size_t scalar, size_t row, size_t col_begin, void *k,
                       size_t n);
void kc_plan_normalize_diag(const kc_plan *plan, size_t scalar, size_t row_begin, void *k,
                            size_t n);

/* The sample that stands at place i of the block. */
KC_INLINE size_t kc_block_row(const kc_block *block, size_t i)
{
    return block->rows != NULL ? (size_t)block->rows[i] : block->row_begin + i;
}

/* Element `index` of an array of that type. */
KC_INLINE void *kc_at(void *array, size_t index, kc_dtype dtype)
{
    return (char *)array + index * kc_dtype_bytes(dtype);
}

/* Parts of a workspace are aligned; it is sized beforehand by the same steps. */
KC_INLINE size_t kc_aligned(size_t n_bytes)
{
    return kc_round_up(n_bytes, KC_ALIGN);
}

#endif
