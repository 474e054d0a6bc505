/* What the files of an expansion share: the ways to find its values for some rows. */
#ifndef KC_EXPANSION_IMPL_H
#define KC_EXPANSION_IMPL_H

#include "function/kc_expansion.h"
#include "simd/kc_weigh_ops.h"

/* Points whose kernel values are looked at together. */
#define KC_STRIP ((size_t)256)

/* One evaluation, shared by all chunks of rows. */
typedef struct kc_evaluation {
    kc_call *call;
    const kc_expansion *f;
    kc_packed x;            /* the rows, where there is a kernel */
    kc_plan plan;           /* of the rows with the points, where tiles are filled */
    const kc_points *given; /* ... and where there is none */
    bool is_whole;          /* given: all n_cols columns */
    kc_weigh_fn *weigh;
} kc_evaluation;

/* values[i * n_outputs + o] for the rows from `begin` on, intercepts not yet added; false where a
 * value is not finite. */
typedef bool kc_fill_fn(const kc_evaluation *e, size_t begin, size_t n_rows, double *values,
                        void *workspace);

/* The terms of points begin .. end - 1, given their kernel values, one row of k after the other.
 * sums: n_rows entries of workspace. */
void kc_expansion_add(const kc_evaluation *e, size_t begin, size_t end, const void *k, size_t ld,
                      size_t n_rows, double *sums, double *values);

/* The three ways, and the workspace that each needs for n_rows rows. */
kc_fill_fn kc_fill_tiles, kc_fill_given, kc_fill_linear;
size_t kc_tiles_workspace(const kc_evaluation *e, size_t n_rows);
size_t kc_given_workspace(const kc_evaluation *e);

/* Shape and storage of given kernel values; and the first one that is not finite. */
kc_status kc_given_check(const kc_expansion *f, const kc_points *x, bool *is_whole, kc_error *err);
kc_status kc_given_fail(const kc_evaluation *e);

/* The given kernel value of a row with a point of the expansion. */
double kc_given_value(const kc_evaluation *e, size_t row, size_t point);

#endif
