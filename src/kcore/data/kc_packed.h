/* Samples in the form the inner loops read: owned, aligned, of the computing type, with norms.
 *
 * Dense points are cut into panels of KC_PANEL_BYTES per feature: panel p holds the samples
 * p*w .. p*w + w-1 (w = 16 for f32, 8 for f64), feature by feature, padded with zeros:
 *
 *     panels[(p*d + t)*w + s] = x[p*w + s][t]
 *
 * CSR points keep their rows, columns sorted and distinct; values that are so already, in the right
 * type, are borrowed from the view.  Points with few features or many nonzeros are packed dense
 * whatever their storage: kernel values do not depend on it (docs/numerics.md). */
#ifndef KC_PACKED_H
#define KC_PACKED_H

#include "base/kc_call.h"
#include "data/kc_points.h"
#include "simd/kc_ops.h"

/* Up to this many features, |x - z|^2 is summed from differences: more exact, and no slower. */
#define KC_DIRECT_DIFF_MAX 64

typedef struct kc_packed {
    const char *name; /* what messages call the points; the caller's: not for use after its call */
    kc_dtype dtype;
    bool is_sparse;
    size_t n, d;
    void *panels;          /* dense */
    const int64_t *indptr; /* CSR: n + 1 entries */
    const int32_t *cols;   /* CSR */
    const void *vals;      /* CSR */
    size_t max_row_nnz;    /* CSR */
    void *sq_norms; /* x.x of every sample, by the same chain as x.z; zeros to a full panel */
    void *owned[4]; /* what kc_packed_free releases, beside what follows */

    /* What a kernel reads of the samples beside themselves (kernel/kc_prepare.h). */
    struct kc_packed **derived; /* n_derived: some of their columns */
    size_t n_derived;
    void *scalars; /* n_scalars x scalar_ld, of the points' type: numbers of each sample */
    size_t n_scalars, scalar_ld;
} kc_packed;

/* Samples per panel. */
KC_INLINE size_t kc_panel_width(kc_dtype dtype)
{
    return KC_PANEL_BYTES / kc_dtype_bytes(dtype);
}

/* Checks the view, packs it in `dtype`, and refuses NaN, infinity and norms that overflow: the text
 * names row, column and value.  `out` is empty on failure. */
kc_status kc_packed_create(kc_call *call, const kc_points *points, kc_dtype dtype, kc_packed *out);

/* Dense points, few of them, without an allocation: `memory` (aligned) is theirs, *used of its
 * n_bytes.  False, and nothing said, where they do not fit or are not to be taken: kc_packed_create
 * knows why. */
bool kc_packed_place(const kc_points *points, kc_dtype dtype, char *memory, size_t n_bytes,
                     size_t *used, kc_packed *out);

/* The same as kc_packed_create in another order: sample i is row order[i] of the view; a
 * permutation. */
kc_status kc_packed_create_ordered(kc_call *call, const kc_points *points, const int32_t *order,
                                   kc_dtype dtype, kc_packed *out);

/* Packs some columns of the view's samples, too, n times: in the order and type of `packed`. */
kc_status kc_packed_derive(kc_call *call, const kc_points *points, const int32_t *order,
                           const kc_column_list *columns, size_t n, kc_packed *packed);

/* What `out`, samples `rows` of `from`, has to have beside them: for kc_packed_take. */
kc_status kc_packed_take_parts(kc_call *call, const kc_packed *from, const int32_t *rows,
                               kc_packed *out);

/* Room for n numbers of each sample. */
kc_status kc_packed_add_scalars(kc_call *call, size_t n, kc_packed *packed);

/* Those of all samples with number s. */
KC_INLINE void *kc_packed_scalars(const kc_packed *packed, size_t s)
{
    return (char *)packed->scalars + s * packed->scalar_ld * kc_dtype_bytes(packed->dtype);
}

/* None of the samples of a checked view, in the form that they would be packed in. */
void kc_packed_none(const kc_points *points, kc_dtype dtype, kc_packed *out);

/* The samples `rows` of `from`, in that order, as packed points of their own (support vectors);
 * empty on failure. */
kc_status kc_packed_take(kc_call *call, const kc_packed *from, const int32_t *rows, size_t n_rows,
                         kc_packed *out);

/* Numbers that a sample has, in the mean and at the most: features, or nonzeros. */
size_t kc_packed_mean_values(const kc_packed *packed);
size_t kc_packed_max_values(const kc_packed *packed);

/* Nonzeros of sparse points in all; 0 where they are dense. */
size_t kc_packed_n_values(const kc_packed *packed);

/* Sparse points as CSR arrays: n + 1 offsets; columns and values as there are. */
void kc_packed_copy_csr(const kc_packed *packed, int64_t *indptr, int32_t *columns, double *values);

/* Sample i as a function of the caller's gets it; `room` for kc_packed_max_values numbers. */
kc_sample kc_packed_sample(const kc_packed *packed, size_t i, double *room);

/* Accepts an empty one. */
void kc_packed_free(kc_context *ctx, kc_packed *packed);

#endif
