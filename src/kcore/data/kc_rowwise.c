/* Borrowing where the layout allows it; every value is checked by its row's norm. */
#include "data/kc_rowwise.h"

#include <math.h>

#include "base/kc_alloc.h"
#include "data/kc_points.h"

/* Values looked at between two looks at the clock: below a millisecond. */
#define POLL_VALUES ((size_t)1 << 19)

/* Rows copied together: columns that lie side by side are then read by whole cache lines. */
#define COPY_ROWS ((size_t)16)

/* Whether the call was stopped for another reason than its time limit. */
static bool is_cancelled(kc_call *call, size_t n_values, size_t *since_poll)
{
    *since_poll += n_values;
    if (*since_poll < POLL_VALUES)
        return false;
    *since_poll = 0;
    return kc_call_poll(call) == KC_ERR_CANCELLED;
}

static void copy_rows(const kc_points *points, size_t begin, size_t end, char *copy)
{
    const size_t d = (size_t)points->n_cols;

    for (size_t t = 0; t < d; t++)
        for (size_t i = begin; i < end; i++) {
            const void *from = kc_dense_at(points, i, t);

            if (points->dtype == KC_F64)
                ((double *)copy)[i * d + t] = *(const double *)from;
            else
                ((float *)copy)[i * d + t] = *(const float *)from;
        }
}

static kc_status borrow_dense(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    size_t row_bytes, since_poll = 0;

    out->values = points->values;
    out->row_bytes = points->row_stride;
    if (points->col_stride == (int64_t)out->value_bytes || points->n_cols == 1)
        return KC_OK;
    if (!kc_mul_size(out->d, out->value_bytes, &row_bytes))
        return kc_fail_nomem(call->err);
    out->owned[0] = kc_alloc(call->ctx, out->n, row_bytes);
    if (out->owned[0] == NULL)
        return kc_fail_nomem(call->err);
    for (size_t begin = 0; begin < out->n; begin += COPY_ROWS) {
        copy_rows(points, begin, kc_min(out->n, begin + COPY_ROWS), out->owned[0]);
        if (is_cancelled(call, COPY_ROWS * out->d, &since_poll))
            return kc_call_stop_error(call);
    }
    out->values = out->owned[0];
    out->row_bytes = (int64_t)row_bytes;
    return KC_OK;
}

/* A time limit does not end it: see kc_rowwise_check. */
static kc_status borrow_sparse(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    kc_structure own;
    kc_status status;

    kc_call_extend(call, HUGE_VAL);
    status = kc_structure_copy(call, points, &own);
    kc_call_expire(call);
    KC_TRY(status);
    out->is_sparse = true;
    out->indptr = out->owned[0] = own.indptr;
    out->cols = out->owned[1] = own.cols;
    out->values = points->values;
    out->are_ones = out->ops->are_ones(points->values, (size_t)own.indptr[out->n]);
    return KC_OK;
}

kc_status kc_rowwise_check(kc_call *call, kc_rowwise *rows, size_t end)
{
    size_t since_poll = 0;

    if (rows->are_ones)
        return KC_OK;
    for (; rows->n_checked < end; rows->n_checked++) {
        const size_t i = rows->n_checked, n = kc_rowwise_count(rows, i);

        if (!isfinite(rows->ops->square(kc_rowwise_values(rows, i), n)))
            return kc_points_fail_row(rows->points, i, rows->points->dtype, call->err);
        if (is_cancelled(call, n + 8, &since_poll))
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

kc_status kc_rowwise_open(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    kc_status status;

    *out = (kc_rowwise){0};
    KC_TRY(kc_points_check_numbers(points, call->err));
    KC_TRY(kc_points_check_form(points, call->err));
    out->points = points;
    out->ops = kc_linear_ops_of(points->dtype);
    out->n = (size_t)points->n_rows;
    out->d = (size_t)points->n_cols;
    out->value_bytes = kc_dtype_bytes(points->dtype);
    status = points->storage == KC_CSR ? borrow_sparse(call, points, out)
                                       : borrow_dense(call, points, out);
    if (status != KC_OK)
        kc_rowwise_free(call->ctx, out);
    return status;
}

kc_status kc_rowwise_create(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    kc_status status;

    KC_TRY(kc_rowwise_open(call, points, out));
    status = kc_rowwise_check(call, out, out->n);
    if (status != KC_OK)
        kc_rowwise_free(call->ctx, out);
    return status;
}

kc_linear_samples kc_rowwise_samples(const kc_rowwise *rows)
{
    return (kc_linear_samples){
        .values = rows->are_ones ? NULL : rows->values,
        .row_bytes = rows->row_bytes,
        .d = rows->d,
        .indptr = rows->indptr,
        .cols = rows->cols,
    };
}

size_t kc_rowwise_mean_count(const kc_rowwise *rows)
{
    return rows->is_sparse ? (size_t)rows->indptr[rows->n] / rows->n : rows->d;
}

void kc_rowwise_free(kc_context *ctx, kc_rowwise *rows)
{
    kc_free(ctx, rows->owned[0]);
    kc_free(ctx, rows->owned[1]);
    *rows = (kc_rowwise){0};
}

/* |x_i|^2 by way of a row of zeros: what is added there meets what its column had before. */
static double sparse_sq_norm(const kc_rowwise *rows, size_t i, double *zeros)
{
    double norm;

    kc_rowwise_add(rows, i, 1.0, zeros);
    norm = kc_rowwise_value(rows, i, zeros, 0.0);
    for (int64_t k = rows->indptr[i]; k < rows->indptr[i + 1]; k++)
        zeros[rows->cols[k]] = 0.0;
    return norm;
}

kc_status kc_rowwise_max_sq_norm(kc_call *call, const kc_rowwise *rows, double *out)
{
    double *zeros = NULL;
    size_t since_poll = 0;

    if (rows->is_sparse) {
        zeros = kc_call_take(call, rows->d, sizeof *zeros);
        if (zeros == NULL)
            return kc_fail_nomem(call->err);
        for (size_t t = 0; t < rows->d; t++)
            zeros[t] = 0.0;
    }
    *out = 0.0;
    for (size_t i = 0; i < rows->n; i++) {
        const size_t n = kc_rowwise_count(rows, i);

        *out = fmax(*out, rows->is_sparse ? sparse_sq_norm(rows, i, zeros)
                                          : rows->ops->square(kc_rowwise_values(rows, i), n));
        if (is_cancelled(call, n + 8, &since_poll))
            return kc_call_stop_error(call);
    }
    return KC_OK;
}
