/* Readings: what a leaf of a kernel reads of a sample, as a chain of steps that make columns of
 * columns.  A reading is a value without pointers: equal ones have equal bytes.
 *
 * Steps compute in the type of the packed samples, each number from its sample alone: they are
 * applied once to each sample, and have the same bits for any storage and any number of threads. */
#ifndef KC_READING_H
#define KC_READING_H

#include "data/kc_points.h"

typedef enum kc_step_kind {
    KC_STEP_SELECT = 1, /* some columns, in this order, none twice: int32_t[n_out] */
    KC_STEP_SCALE = 2,  /* column t times a factor: double[n_out] */
    KC_STEP_MAP = 3,    /* A x: double[n_out][n_in] */
    KC_STEP_PERIOD = 4  /* cos(2 pi x / p), sin(2 pi x / p) of each column, side by side: one period
                           p for all columns, or one for each: double[n_in], or double[1] */
} kc_step_kind;

/* What it needs stands behind it, up to the next step. */
typedef struct kc_step {
    int64_t kind;
    size_t n_in;    /* columns that it takes; 0: any number */
    size_t n_out;   /* columns that it gives; 0: as many as follow from those taken */
    size_t n_bytes; /* with what stands behind it; a multiple of 8 */
} kc_step;

typedef struct kc_step_list {
    const kc_step *steps; /* NULL: none */
    size_t n_bytes;
} kc_step_list;

/* Readings one behind the other: one is some of the bytes. */
typedef struct kc_reading_span {
    size_t first, n_bytes;
} kc_reading_span;

typedef struct kc_readings {
    const char *bytes;
    const kc_reading_span *spans;
    size_t n;
} kc_readings;

KC_INLINE kc_step_list kc_reading_at(const kc_readings *list, size_t r)
{
    return (kc_step_list){(const kc_step *)(const void *)(list->bytes + list->spans[r].first),
                          list->spans[r].n_bytes};
}

/* What a step is made of. */
KC_INLINE const int32_t *kc_step_columns(const kc_step *step)
{
    return (const int32_t *)(const void *)(step + 1);
}

KC_INLINE const double *kc_step_numbers(const kc_step *step)
{
    return (const double *)(const void *)(step + 1);
}

/* Columns that it gives of so many. */
KC_INLINE size_t kc_step_width(const kc_step *step, size_t n_in)
{
    return step->kind == KC_STEP_PERIOD ? 2 * n_in : step->n_out;
}

/* The bytes of a step with n_in and n_out columns, `count` numbers or columns behind it; false
 * where no memory could hold that many. */
bool kc_step_bytes(kc_step_kind kind, size_t count, size_t *out);

/* The reading that lets `first` go before the steps of `then`, in normal form: selections that can
 * be are made one, and come as early as they can.  `out` has room for the bytes of both, zeros;
 * *n_bytes is how many are used. */
kc_status kc_reading_join(const kc_step *first, const kc_step_list *then, void *out,
                          size_t *n_bytes, kc_error *err);

/* Whether the view's samples can be read so; *storage is how, of what the last step gives, and
 * *n_cols how many columns.  A reading without a selection takes samples of one part. */
kc_status kc_reading_check(const kc_step_list *reading, const kc_points *points,
                           kc_storage *storage, size_t *n_cols, kc_error *err);

/* Whether it selects columns first: those. */
bool kc_reading_selects(const kc_step_list *reading, kc_column_list *out);

/* The part of the view that is the reading, which the view can be read by: whole as it is, or by
 * its first step, a selection; SIZE_MAX: none. */
size_t kc_reading_part(const kc_step_list *reading, const kc_points *points);

/* The steps behind the selection that comes first, if there is one. */
kc_step_list kc_reading_rest(const kc_step_list *reading);

KC_INLINE const kc_step *kc_step_next(const kc_step *step)
{
    return (const kc_step *)(const void *)((const char *)step + step->n_bytes);
}

/* Goes through the steps. */
#define KC_EACH_STEP(step, reading)                                                                \
    for (const kc_step *step = (reading)->steps;                                                   \
         step != NULL &&                                                                           \
         (size_t)((const char *)step - (const char *)(reading)->steps) < (reading)->n_bytes;       \
         step = kc_step_next(step))

#endif
