/* K(x, z): a kernel expression evaluated block by block on packed points.
 *
 * A value depends on x, z, the kernel's parameters and the type alone: not on storage, tile, block,
 * thread or neighbours, and K(x, z) = K(z, x) to the bit.  Single leaves write straight into `out`;
 * expressions combine tiles in the workspace. */
#ifndef KC_KERNEL_H
#define KC_KERNEL_H

#include "base/kc_call.h"
#include "data/kc_packed.h"

/* The expression in postfix order: enough to make an equal kernel, or to know a special one. */
const kc_kernel_node *kc_kernel_expression(const kc_kernel *kernel, size_t *n_nodes);

/* Whether the kernel takes such points, and both sides fit together: storage, columns. */
kc_status kc_kernel_check(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                          kc_error *err);

/* Bytes of workspace that one worker needs for blocks of K(x, z), or for those of n_rows rows at
 * the most. */
size_t kc_kernel_workspace(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z);
size_t kc_kernel_workspace_for(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z,
                               size_t n_rows);

/* out[i * ld + j] = K(x[rows[i]], z[col_begin + j]) for i < n_rows, j < n_cols, of the points'
 * type. rows NULL: the samples row_begin, row_begin + 1, ...  col_begin is a multiple of 16.
 * Allocates nothing, does not poll: keep n_rows * n_cols * d within some milliseconds.  Returns
 * false where a value was not finite (an overflowing polynomial, say). */
typedef struct kc_block {
    const kc_packed *x;
    const int32_t *rows;
    size_t row_begin, n_rows;
    const kc_packed *z;
    size_t col_begin, n_cols;
    void *out;
    size_t ld;
    bool is_backward; /* a single row may meet dense columns in this order, for the cache's sake */
    bool is_upper;    /* x == z, rows NULL: values below the diagonal may be left out */
} kc_block;
bool kc_kernel_block(const kc_kernel *kernel, const kc_block *block, void *workspace);

/* out[i] = K(x[i], x[i]) for row_begin <= i < row_begin + n_rows, the same bits as a block's. */
bool kc_kernel_diag(const kc_kernel *kernel, const kc_packed *x, size_t row_begin, size_t n_rows,
                    void *out, void *workspace);

#endif
