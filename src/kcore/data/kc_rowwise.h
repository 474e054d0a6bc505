/* Samples one after the other, as the linear learners read them: each a run of numbers, or a run of
 * (column, value).
 *
 * Dense rows whose numbers lie side by side and the values of CSR rows are borrowed from the view,
 * of whichever type they are; anything else is copied once.  Every value is checked, all at
 * once or, by a loop that reads rows in order, just before it uses them: then they come from memory
 * only once. */
#ifndef KC_ROWWISE_H
#define KC_ROWWISE_H

#include "base/kc_call.h"
#include "simd/kc_linear_ops.h"

typedef struct kc_rowwise {
    const kc_linear_ops *ops; /* for their type */
    size_t n, d;
    bool is_sparse;
    bool are_ones;      /* CSR: all values are 1 */
    const char *values; /* dense: row 0; CSR: all values */
    size_t value_bytes;
    int64_t row_bytes; /* dense: from one row to the next */
    const int64_t *indptr;
    const int32_t *cols;
    void *owned[2];          /* what kc_rowwise_free releases */
    const kc_points *points; /* the view, to say what is wrong with it */
    size_t n_checked;        /* rows from the first on */
} kc_rowwise;

/* Checks the view, not its values; `out` is empty on failure. */
kc_status kc_rowwise_open(kc_call *call, const kc_points *points, kc_rowwise *out);

/* Checks the values of the rows before `end`, unless that was done.  A time limit does not end it,
 * for there is nothing to be had from samples that were not looked at. */
kc_status kc_rowwise_check(kc_call *call, kc_rowwise *rows, size_t end);

/* Both, for all rows. */
kc_status kc_rowwise_create(kc_call *call, const kc_points *points, kc_rowwise *out);

/* As the loops read them: without classes and order, which are the caller's. */
kc_linear_samples kc_rowwise_samples(const kc_rowwise *rows);

/* Numbers of a sample, in the mean. */
size_t kc_rowwise_mean_count(const kc_rowwise *rows);

/* Accepts an empty one. */
void kc_rowwise_free(kc_context *ctx, kc_rowwise *rows);

/* The largest |x_i|^2, columns that CSR rows repeat being added up first. */
kc_status kc_rowwise_max_sq_norm(kc_call *call, const kc_rowwise *rows, double *out);

KC_INLINE const char *kc_rowwise_values(const kc_rowwise *x, size_t i)
{
    return x->is_sparse ? x->values + (size_t)x->indptr[i] * x->value_bytes
                        : x->values + (int64_t)i * x->row_bytes;
}

KC_INLINE size_t kc_rowwise_count(const kc_rowwise *x, size_t i)
{
    return x->is_sparse ? (size_t)(x->indptr[i + 1] - x->indptr[i]) : x->d;
}

/* a.x_i + b */
KC_INLINE double kc_rowwise_value(const kc_rowwise *x, size_t i, const double *a, double b)
{
    if (x->is_sparse)
        return x->ops->sparse_value(a, b, x->cols + x->indptr[i], kc_rowwise_values(x, i),
                                    kc_rowwise_count(x, i));
    return x->ops->value(a, b, kc_rowwise_values(x, i), x->d);
}

/* a += s x_i */
KC_INLINE void kc_rowwise_add(const kc_rowwise *x, size_t i, double s, double *a)
{
    if (x->is_sparse)
        x->ops->sparse_add(a, s, x->cols + x->indptr[i], kc_rowwise_values(x, i),
                           kc_rowwise_count(x, i));
    else
        x->ops->add(a, s, kc_rowwise_values(x, i), x->d);
}

#endif
