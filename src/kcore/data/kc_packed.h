/* Samples in the form the inner loops read: owned, aligned, numbers of the computing type, with
 * norms.
 *
 * Dense points are cut into panels of KC_PANEL_BYTES per feature: panel p holds the samples
 * p*w .. p*w + w-1 (w = 16 for f32, 8 for f64), feature by feature, padded with zeros:
 *
 *     panels[(p*d + t)*w + s] = x[p*w + s][t]
 *
 * CSR points keep their rows, columns sorted and distinct; values that are so already, in the right
 * type, are borrowed from the view.  Points with few features or many nonzeros are packed dense
 * whatever their storage: kernel values do not depend on it (docs/numerics.md).
 *
 * Strings are rows of bytes, borrowed where they stay in order.
 *
 * A set is its first part, and has the other parts of the view and the readings of a kernel beside
 * it: whatever is done to the samples is done to all of them. */
#ifndef KC_PACKED_H
#define KC_PACKED_H

#include "base/kc_call.h"
#include "data/kc_reading.h"
#include "simd/kc_ops.h"

/* Up to this many features, |x - z|^2 is summed from differences: more exact, and no slower. */
#define KC_DIRECT_DIFF_MAX 64

typedef struct kc_packed {
    const char *name; /* what messages call the points; the caller's: not for use after its call */
    kc_dtype dtype;   /* of numbers, and of kernel values */
    kc_storage storage;
    size_t n, d;           /* samples; columns, 1 of strings */
    void *panels;          /* dense */
    const int64_t *indptr; /* CSR and strings: n + 1 entries */
    const int32_t *cols;   /* CSR */
    const void *vals;      /* CSR; the bytes of strings */
    size_t max_row_nnz;    /* CSR; the longest string */
    void *sq_norms; /* numbers: x.x of every sample, by the same chain as x.z; zeros to a full panel
                     */
    void *owned[4]; /* what kc_packed_free releases, beside what follows */

    struct kc_packed **parts; /* n_parts, beside the first one: first those of the view */
    size_t n_parts, n_view_parts;
    int32_t *readings; /* n_readings: the part that is reading r, 0: the first */
    size_t n_readings;

    /* Numbers of each sample that a kernel keeps (kernel/kc_prepare.h). */
    void *scalars; /* n_scalars x scalar_ld, of the points' type */
    size_t n_scalars, scalar_ld;
} kc_packed;

/* Samples per panel. */
KC_INLINE size_t kc_panel_width(kc_dtype dtype)
{
    return KC_PANEL_BYTES / kc_dtype_bytes(dtype);
}

KC_INLINE bool kc_packed_is_dense(const kc_packed *packed)
{
    return packed->storage != KC_CSR && packed->storage != KC_STRINGS; /* empty: 0 */
}

/* Of one of vals. */
KC_INLINE size_t kc_packed_value_bytes(const kc_packed *packed)
{
    return packed->storage == KC_STRINGS ? 1 : kc_dtype_bytes(packed->dtype);
}

/* Part i: 0 is the first. */
KC_INLINE const kc_packed *kc_packed_part(const kc_packed *packed, size_t i)
{
    return i == 0 ? packed : packed->parts[i - 1];
}

/* Columns of all parts of the view; whether it was one part of numbers, or any. */
size_t kc_packed_columns(const kc_packed *packed);
bool kc_packed_are_numbers(const kc_packed *packed);

/* Whether a view has the same parts, of as many columns: the samples of the call can meet these. */
kc_status kc_packed_check_alike(const kc_packed *packed, const kc_points *points, kc_error *err);

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

/* One part more, empty; NULL where there is no memory for it. */
kc_packed *kc_packed_add_part(kc_call *call, kc_packed *packed);

/* Packs the parts of the view behind its first one; for kc_packed_create_ordered. */
kc_status kc_packed_create_parts(kc_call *call, const kc_points *points, const int32_t *order,
                                 kc_packed *out);

/* Adds what readings make of the view, which it can be read by, in the order and type of `packed`.
 * Whole parts are not packed again.  KC_ERR_RANGE names the row of which something overflows. */
kc_status kc_packed_read(kc_call *call, const kc_points *points, const int32_t *order,
                         const kc_readings *readings, kc_packed *packed);

/* The parts and scalars of `out`, samples `rows` of `from`; for kc_packed_take. */
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
kc_status kc_packed_none(kc_call *call, const kc_points *points, kc_dtype dtype, kc_packed *out);

/* The samples `rows` of `from`, in that order, as packed points of their own (support vectors);
 * empty on failure. */
kc_status kc_packed_take(kc_call *call, const kc_packed *from, const int32_t *rows, size_t n_rows,
                         kc_packed *out);

/* What a sample has, in the mean: features, nonzeros or bytes; numbers at the most. */
size_t kc_packed_mean_values(const kc_packed *packed);
size_t kc_packed_max_values(const kc_packed *packed);

/* Nonzeros of sparse points, bytes of strings in all; 0 where they are dense. */
size_t kc_packed_n_values(const kc_packed *packed);

/* String i of a part of strings, and its length. */
KC_INLINE const char *kc_packed_string(const kc_packed *packed, size_t i, size_t *n_bytes)
{
    *n_bytes = (size_t)(packed->indptr[i + 1] - packed->indptr[i]);
    return (const char *)packed->vals + packed->indptr[i];
}

/* Strings as arrays: n + 1 offsets, and the bytes there are. */
void kc_packed_copy_strings(const kc_packed *packed, int64_t *indptr, char *bytes);

/* Sparse points as CSR arrays: n + 1 offsets; columns and values as there are. */
void kc_packed_copy_csr(const kc_packed *packed, int64_t *indptr, int32_t *columns, double *values);

/* Sample i as a function of the caller's gets it; `room` for kc_packed_max_values numbers. */
kc_sample kc_packed_sample(const kc_packed *packed, size_t i, double *room);

/* Accepts an empty one. */
void kc_packed_free(kc_context *ctx, kc_packed *packed);

#endif
