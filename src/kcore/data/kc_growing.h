/* Packed points with room for more: one at a time is added or replaced, in place.
 *
 * `points` is used wherever packed points are.  Values and norms are copied bit by bit, so that
 * kernel values are those of the points they came from; a point of the other storage is converted.
 * Nothing but kc_growing_reserve allocates. */
#ifndef KC_GROWING_H
#define KC_GROWING_H

#include "data/kc_packed.h"

typedef struct kc_growing {
    kc_packed points;
    size_t capacity;            /* points there is room for */
    size_t nnz_capacity;        /* CSR: values there is room for */
    struct kc_growing *derived; /* those that points.derived shows: always dense */
} kc_growing;

/* No points, and no memory yet. */
KC_INLINE kc_growing kc_growing_none(kc_dtype dtype, bool is_sparse, size_t d)
{
    return (kc_growing){.points = {.dtype = dtype, .is_sparse = is_sparse, .d = d}};
}

/* Points that a kernel reads some columns of, and keeps numbers of: n_derived sets of columns, as
 * many as n_cols says; n_scalars numbers.  For one without points. */
kc_status kc_growing_derive(kc_context *ctx, kc_growing *g, const size_t *n_cols, size_t n_derived,
                            size_t n_scalars, kc_error *err);

/* Room for n points and, in CSR, nnz values in all; grows by half at least.  Untouched on failure.
 */
kc_status kc_growing_reserve(kc_context *ctx, kc_growing *g, size_t n, size_t nnz, kc_error *err);

/* Accepts an empty one. */
void kc_growing_free(kc_context *ctx, kc_growing *g);

/* Values held now, and that a row of other points takes: 0 where g is dense. */
size_t kc_growing_nnz(const kc_growing *g);
size_t kc_growing_row_nnz(const kc_growing *g, const kc_packed *from, size_t row);

/* Point `place` becomes a copy of a row of `from`; place n: one point more. */
void kc_growing_put(kc_growing *g, size_t place, const kc_packed *from, size_t row);

/* Point `place` becomes h from[row] + (1 - h) point; takes kc_growing_row_nnz more values at most.
 */
void kc_growing_mix(kc_growing *g, size_t place, double h, const kc_packed *from, size_t row);

/* ---- As arrays, to be written and read again ------------------------------------------------ */

/* Gets an array of `count` items of `size` bytes each: to copy it, or to fill it. */
typedef void kc_array_fn(void *data, void *array, size_t count, size_t size);

/* Where sparse rows begin, n + 1 offsets, which say how much of the rest there is; then the rest.
 */
void kc_growing_visit_rows(kc_growing *g, kc_array_fn *fn, void *data);
void kc_growing_visit(kc_growing *g, kc_array_fn *fn, void *data);

/* How many bytes that is for n points with nnz values, in double, which cannot overflow. */
double kc_growing_bytes(const kc_growing *g, size_t n, size_t nnz);

/* Whether what was filled in is in order: offsets that ascend to nnz; columns that ascend and
 * exist. */
bool kc_growing_has_rows(const kc_growing *g, size_t nnz);
bool kc_growing_has_columns(kc_growing *g);

/* ---- Views --------------------------------------------------------------------------------- */

/* Dense ones: point 0 becomes a row of a checked view, which may be the caller's CSR.  The error
 * names the value that is not finite or too large. */
kc_status kc_growing_read(kc_growing *g, const kc_points *view, size_t row, kc_error *err);

#endif
