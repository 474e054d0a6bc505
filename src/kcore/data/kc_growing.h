/* Packed points with room for more: one at a time is added or replaced, in place, in all parts.
 *
 * `points` is used wherever packed points are.  Values and norms are copied bit by bit, so that
 * kernel values are those of the points they came from; a point of the other storage is converted.
 * Nothing but kc_growing_reserve allocates. */
#ifndef KC_GROWING_H
#define KC_GROWING_H

#include "data/kc_packed.h"

typedef struct kc_growing {
    kc_packed points;
    size_t capacity;          /* points there is room for */
    size_t value_capacity;    /* CSR and strings: values there is room for */
    struct kc_growing *parts; /* those that points.parts shows; readings are always dense */
} kc_growing;

/* How many values each part of the view has: nonzeros of CSR, bytes of strings; 0: dense. */
typedef struct kc_value_counts {
    size_t of[KC_MAX_PARTS];
} kc_value_counts;

/* No points, and no memory yet: one part. */
KC_INLINE kc_growing kc_growing_none(kc_dtype dtype, kc_storage storage, size_t d)
{
    return (kc_growing){.points = {.dtype = dtype, .storage = storage, .d = d}};
}

/* No points of a kind: in parts, of the storage and with the columns of `like`, whose rows are not
 * looked at; with readings of them and numbers of each sample, for a kernel. */
kc_status kc_growing_create(kc_context *ctx, kc_dtype dtype, const kc_points *like,
                            const kc_readings *readings, size_t n_scalars, kc_growing *out,
                            kc_error *err);

/* Room for n points and so many values in all, NULL: none; grows by half at least.  Untouched on
 * failure. */
kc_status kc_growing_reserve(kc_context *ctx, kc_growing *g, size_t n,
                             const kc_value_counts *counts, kc_error *err);

/* Accepts an empty one. */
void kc_growing_free(kc_context *ctx, kc_growing *g);

/* Values held now; and what a row of other points would add to counts. */
void kc_growing_count(const kc_growing *g, kc_value_counts *counts);
void kc_growing_count_row(const kc_growing *g, const kc_packed *from, size_t row,
                          kc_value_counts *counts);

/* Point `place` becomes a copy of a row of `from`; place n: one point more. */
void kc_growing_put(kc_growing *g, size_t place, const kc_packed *from, size_t row);

/* Numbers in one part: point `place` becomes h from[row] + (1 - h) point; takes as many values more
 * as the row has at most. */
void kc_growing_mix(kc_growing *g, size_t place, double h, const kc_packed *from, size_t row);

/* ---- As arrays, to be written and read again ------------------------------------------------ */

/* Gets an array of `count` items of `size` bytes each: to copy it, or to fill it. */
typedef void kc_array_fn(void *data, void *array, size_t count, size_t size);

/* Where rows of CSR and strings begin, n + 1 offsets of each part, which say how much of the rest
 * there is; then the rest. */
void kc_growing_visit_rows(kc_growing *g, kc_array_fn *fn, void *data);
void kc_growing_visit(kc_growing *g, kc_array_fn *fn, void *data);

/* How many bytes that is for n points with so many values, in double, which cannot overflow. */
double kc_growing_bytes(const kc_growing *g, size_t n, const kc_value_counts *counts);

/* Whether what was filled in is in order: offsets that ascend to the counts; columns that ascend
 * and exist. */
bool kc_growing_has_rows(const kc_growing *g, const kc_value_counts *counts);
bool kc_growing_has_columns(kc_growing *g);

/* ---- Views --------------------------------------------------------------------------------- */

/* Dense ones: point 0 becomes a row of a checked view of numbers, which may be the caller's CSR.
 * The error names the value that is not finite or too large. */
kc_status kc_growing_read(kc_growing *g, const kc_points *view, size_t row, kc_error *err);

#endif
