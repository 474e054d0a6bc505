/* Views of the caller's samples (kc_points, kcore.h): checks and row access.
 *
 * A view is only looked at through these functions and data/kc_packed.c; everything above works on
 * packed points. */
#ifndef KC_POINTS_H
#define KC_POINTS_H

#include "base/kc_call.h"

/* Sizes of the structs, how many parts there are, that each has the same rows, its storage and its
 * columns: what must be known before anything else of a view is read.  There may be no rows. */
kc_status kc_points_check_parts(const kc_points *points, kc_error *err);

/* That, and shape, strides, pointers of each part: what takes no time.  The text names the view,
 * the place and the number. */
kc_status kc_points_check_form(const kc_points *points, kc_error *err);

/* That, and the structure of CSR, and string offsets: everything but the values, which are checked
 * while they are packed. */
kc_status kc_points_check(kc_call *call, const kc_points *points);

/* The same for calls that give a result whether there is time for it or not: a time limit does not
 * end it. */
kc_status kc_points_check_late(kc_call *call, const kc_points *points);

/* Where the rows of a CSR view begin and end, and the columns of its values, in arrays of our own.
 * Another thread may write to the caller's arrays at any time: what is read once can be held to its
 * bounds (kc_row_of, kc_column_at); what is read again and again is copied first, and the copy is
 * checked. */
typedef struct kc_structure {
    int64_t *indptr;
    int32_t *cols; /* CSR */
} kc_structure;

/* Checks one part of CSR or strings as kc_points_check does; `out` is empty on failure. */
kc_status kc_structure_copy(kc_call *call, const kc_points *points, kc_structure *out);

/* Accepts an empty one. */
void kc_structure_free(kc_context *ctx, kc_structure *structure);

/* Rows *begin .. *end - 1 of chunk `chunk`, of kc_row_chunks that have about as many entries each,
 * however uneven the rows are: `indptr` says where they are.  Of an indptr that another thread
 * changes meanwhile, any rows there are. */
#define KC_CHUNK_ENTRIES ((size_t)1 << 18)
void kc_row_chunk(const void *indptr, int32_t index_bytes, size_t n_rows, size_t chunk,
                  size_t *begin, size_t *end);

KC_INLINE size_t kc_row_chunks(size_t n_rows, size_t n_entries)
{
    return kc_ceil_div(n_rows + n_entries, KC_CHUNK_ENTRIES);
}

/* Columns of one part, and of all. */
KC_INLINE size_t kc_part_columns(const kc_points *part)
{
    return part->storage == KC_STRINGS ? 1 : (size_t)part->n_cols;
}

size_t kc_points_columns(const kc_points *points);

/* Whether the samples are one part of numbers; the error says what else they are. */
bool kc_points_are_numbers(const kc_points *points);
kc_status kc_points_check_numbers(const kc_points *points, kc_error *err);

/* Whether both have the same parts: as many columns of numbers, or strings. */
kc_status kc_points_check_alike(const kc_points *x, const kc_points *z, kc_error *err);

/* "X", or "points" where the view has no name. */
const char *kc_points_name(const kc_points *points);

/* The error for a value that is NaN or infinite. */
kc_status kc_points_fail_value(const kc_points *points, size_t row, size_t col, double value,
                               kc_error *err);

/* The error for a row whose squares have no usable sum in `dtype`: names the first value that is
 * not finite, else the largest. */
kc_status kc_points_fail_row(const kc_points *points, size_t row, kc_dtype dtype, kc_error *err);

/* A view of the rows `rows` of all parts of a checked view, in memory of the call's arena. */
kc_status kc_points_take(kc_call *call, const kc_points *points, const int32_t *rows, size_t n_rows,
                         kc_points *out);

/* Some columns of samples, none twice, in this order. */
typedef struct kc_column_list {
    const int32_t *list;
    size_t n;
} kc_column_list;

/* Whether the view has these columns, and they can be one part; *storage says of what. */
kc_status kc_points_check_columns(const kc_points *points, const kc_column_list *columns,
                                  kc_storage *storage, kc_error *err);

/* The number of the part that these columns are, all of them in order; SIZE_MAX: none. */
size_t kc_points_whole_part(const kc_points *points, const kc_column_list *columns);

/* A view of some columns of a checked view, in memory of the call's arena: a column of strings
 * alone, columns of one part of numbers, or of several dense ones (kc_points_check_columns). */
kc_status kc_points_select(kc_call *call, const kc_points *points, const kc_column_list *columns,
                           kc_points *out);

/* Entry k of an array of 4- or 8-byte signed integers. */
KC_INLINE int64_t kc_index_at(const void *array, int32_t index_bytes, size_t k)
{
    return index_bytes == 8 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

/* Values *begin .. *end - 1 of a row of a CSR view: values there are, whatever indptr has become
 * since it was checked. */
KC_INLINE void kc_row_of(const kc_points *points, size_t row, size_t *begin, size_t *end)
{
    const size_t most = (size_t)points->n_values; /* a negative offset is larger */

    *begin = kc_min((size_t)kc_index_at(points->indptr, points->index_bytes, row), most);
    *end = kc_min((size_t)kc_index_at(points->indptr, points->index_bytes, row + 1), most);
    *end = kc_max(*begin, *end);
}

/* The column of value k of a CSR view: one there is, likewise. */
KC_INLINE size_t kc_column_at(const kc_points *points, size_t k)
{
    return kc_min((size_t)kc_index_at(points->indices, points->index_bytes, k),
                  (size_t)points->n_cols - 1);
}

/* Where element (row, col) of a dense view lies, and value k of a CSR one. */
KC_INLINE const void *kc_dense_at(const kc_points *points, size_t row, size_t col)
{
    return (const char *)points->values + (int64_t)row * points->row_stride +
           (int64_t)col * points->col_stride;
}

KC_INLINE const void *kc_sparse_at(const kc_points *points, size_t k)
{
    return (const char *)points->values + k * kc_dtype_bytes(points->dtype);
}

/* The number at `p`, of the view's type. */
KC_INLINE double kc_value_at(const kc_points *points, const void *p)
{
    return points->dtype == KC_F64 ? *(const double *)p : (double)*(const float *)p;
}

#endif
