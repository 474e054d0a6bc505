/* Borrowing where the layout allows it, and one pass that checks every value by its row's norm. */
#include "data/kc_rowwise.h"

#include <math.h>

#include "base/kc_alloc.h"
#include "data/kc_points.h"
#include "simd/kc_linear_ops.h"

/* Rows checked between two looks at the clock. */
#define POLL_VALUES ((size_t)1 << 20)

static kc_status borrow_dense(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    const size_t bytes = kc_dtype_bytes(points->dtype);
    size_t row_bytes;
    char *copy;

    out->values = points->values;
    out->row_bytes = points->row_stride;
    if (points->col_stride == (int64_t)bytes || points->n_cols == 1)
        return KC_OK;
    if (!kc_mul_size(out->d, bytes, &row_bytes))
        return kc_fail_nomem(call->err);
    copy = out->owned[0] = kc_alloc(call->ctx, out->n, row_bytes);
    if (copy == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < out->n; i++)
        for (size_t t = 0; t < out->d; t++) {
            const void *from = kc_dense_at(points, i, t);

            if (points->dtype == KC_F64)
                ((double *)copy)[i * out->d + t] = *(const double *)from;
            else
                ((float *)copy)[i * out->d + t] = *(const float *)from;
        }
    out->values = copy;
    out->row_bytes = (int64_t)row_bytes;
    return KC_OK;
}

static kc_status borrow_sparse(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    const size_t nnz = (size_t)kc_index_at(points->indptr, points->index_bytes, out->n);
    int64_t *indptr;
    int32_t *cols;

    out->is_sparse = true;
    out->values = points->values;
    if (points->index_bytes == 4) {
        indptr = out->owned[0] = kc_alloc(call->ctx, out->n + 1, sizeof *indptr);
        if (indptr == NULL)
            return kc_fail_nomem(call->err);
        for (size_t i = 0; i <= out->n; i++)
            indptr[i] = ((const int32_t *)points->indptr)[i];
        out->indptr = indptr;
        out->cols = points->indices;
        return KC_OK;
    }
    cols = out->owned[0] = kc_alloc(call->ctx, kc_max(1, nnz), sizeof *cols);
    if (cols == NULL)
        return kc_fail_nomem(call->err);
    for (size_t k = 0; k < nnz; k++)
        cols[k] = (int32_t)((const int64_t *)points->indices)[k];
    out->indptr = points->indptr;
    out->cols = cols;
    return KC_OK;
}

static kc_status check_values(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    const kc_linear_ops *ops = kc_linear_ops_of(out->dtype);
    const size_t bytes = kc_dtype_bytes(out->dtype);
    size_t since_poll = 0;

    for (size_t i = 0; i < out->n; i++) {
        const size_t begin = out->is_sparse ? (size_t)out->indptr[i] : 0;
        const size_t n = out->is_sparse ? (size_t)out->indptr[i + 1] - begin : out->d;
        const char *row = out->is_sparse ? out->values + begin * bytes
                                         : out->values + (int64_t)i * out->row_bytes;
        const double norm = ops->square(row, n);

        if (!isfinite(norm))
            return kc_points_fail_row(points, i, out->dtype, call->err);
        out->max_sq_norm = fmax(out->max_sq_norm, norm);
        since_poll += n;
        if (since_poll >= POLL_VALUES) {
            since_poll = 0;
            if (kc_call_poll(call) != KC_OK)
                return kc_call_stop_error(call);
        }
    }
    return KC_OK;
}

kc_status kc_rowwise_create(kc_call *call, const kc_points *points, kc_rowwise *out)
{
    kc_status status;

    *out = (kc_rowwise){.dtype = points->dtype};
    if (points->storage == KC_STRINGS)
        return kc_fail(call->err, KC_ERR_TYPE, "%s holds strings, linear learners take numbers",
                       kc_points_name(points));
    KC_TRY(kc_points_check(points, call->err));
    out->n = (size_t)points->n_rows;
    out->d = (size_t)points->n_cols;
    status = points->storage == KC_CSR ? borrow_sparse(call, points, out)
                                       : borrow_dense(call, points, out);
    if (status == KC_OK)
        status = check_values(call, points, out);
    if (status != KC_OK)
        kc_rowwise_free(call->ctx, out);
    return status;
}

void kc_rowwise_free(kc_context *ctx, kc_rowwise *rows)
{
    for (size_t i = 0; i < sizeof rows->owned / sizeof rows->owned[0]; i++)
        kc_free(ctx, rows->owned[i]);
    *rows = (kc_rowwise){.dtype = rows->dtype};
}
