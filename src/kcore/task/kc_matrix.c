/* Copies row by row, or borrows; a value that is not finite is looked for only once one is known
 * to be there. */
#include "task/kc_matrix.h"

#include <math.h>

#include "base/kc_alloc.h"
#include "base/kc_thread.h"
#include "data/kc_points.h"

/* Values of one chunk: about a millisecond of copying. */
#define CHUNK_VALUES ((size_t)1 << 20)

static double view_at(const kc_points *x, int32_t i, int32_t j)
{
    return kc_value_at(x, kc_dense_at(x, (size_t)i, (size_t)j));
}

typedef struct copying {
    const kc_points *x;
    const kc_samples *samples;
    kc_matrix *out;
    size_t rows_per_chunk;
    atomic_bool is_bad;
} copying;

/* False where a value is not finite, or f32 cannot hold it: x - x is then NaN. */
static bool read_row(const copying *job, size_t place)
{
    const kc_samples *samples = job->samples;
    const kc_dtype dtype = job->out->dtype;
    char *to = job->out->owned;
    double sum = 0;

    for (size_t j = 0; j < samples->n; j++) {
        const double value = view_at(job->x, samples->order[place], samples->order[j]);
        const float narrow = (float)value;

        sum += dtype == KC_F64 ? value - value : (double)(narrow - narrow);
        if (to != NULL && dtype == KC_F64)
            ((double *)(void *)to)[place * job->out->ld + j] = value;
        else if (to != NULL)
            ((float *)(void *)to)[place * job->out->ld + j] = narrow;
    }
    return sum == 0;
}

static void run_chunk(void *data, size_t chunk, int32_t worker)
{
    copying *job = data;
    const size_t begin = chunk * job->rows_per_chunk;
    const size_t end = kc_min(begin + job->rows_per_chunk, job->samples->n);

    (void)worker;
    for (size_t i = begin; i < end; i++)
        if (!read_row(job, i))
            atomic_store_explicit(&job->is_bad, true, memory_order_relaxed);
}

/* The first value that is not finite, or that f32 cannot hold. */
static kc_status fail_value(kc_call *call, const copying *job)
{
    const kc_samples *samples = job->samples;

    for (size_t i = 0; i < samples->n; i++)
        for (size_t j = 0; j < samples->n; j++) {
            const int32_t row = samples->order[i], column = samples->order[j];
            const double value = view_at(job->x, row, column);

            if (!isfinite(value))
                return kc_points_fail_value(job->x, (size_t)row, (size_t)column, value, call->err);
            if (job->out->dtype == KC_F32 && !isfinite((float)value))
                return kc_fail(call->err, KC_ERR_RANGE,
                               "%s: row %d, column %d is %g, too large for f32",
                               kc_points_name(job->x), (int)row, (int)column, value);
        }
    return KC_OK;
}

static bool can_borrow(const kc_points *x, const kc_samples *samples, kc_dtype dtype)
{
    const int64_t bytes = (int64_t)kc_dtype_bytes(dtype);

    return samples->is_identity && x->dtype == dtype && x->col_stride == bytes &&
           x->row_stride >= x->n_cols * bytes && x->row_stride % bytes == 0 &&
           (uintptr_t)x->values % (size_t)bytes == 0;
}

static kc_status check_matrix(const kc_points *x, kc_error *err)
{
    if (x->storage != KC_DENSE || x->next != NULL)
        return kc_fail(err, KC_ERR_TYPE, "%s must be a dense matrix of kernel values",
                       kc_points_name(x));
    if (x->n_rows != x->n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "%s is %lld x %lld, a kernel matrix must be square",
                       kc_points_name(x), (long long)x->n_rows, (long long)x->n_cols);
    return KC_OK;
}

kc_status kc_matrix_create(kc_call *call, const kc_points *x, const kc_samples *samples,
                           kc_dtype dtype, kc_matrix *out)
{
    copying job = {.x = x, .samples = samples, .out = out};
    kc_status status;

    *out = (kc_matrix){.dtype = dtype, .ld = samples->n};
    KC_TRY(check_matrix(x, call->err));
    if (can_borrow(x, samples, dtype)) {
        out->values = x->values;
        out->ld = (size_t)x->row_stride / kc_dtype_bytes(dtype);
    } else {
        out->owned = kc_alloc(call->ctx, samples->n, samples->n * kc_dtype_bytes(dtype));
        if (out->owned == NULL)
            return kc_fail_nomem(call->err);
        out->values = out->owned;
    }
    job.rows_per_chunk = kc_max(1, CHUNK_VALUES / samples->n);
    status = kc_parallel_for(call, kc_ceil_div(samples->n, job.rows_per_chunk), run_chunk, &job);
    if (status == KC_OK && atomic_load(&job.is_bad))
        status = fail_value(call, &job);
    if (status != KC_OK)
        kc_matrix_free(call->ctx, out);
    return status;
}

void kc_matrix_free(kc_context *ctx, kc_matrix *matrix)
{
    kc_free(ctx, matrix->owned);
    *matrix = (kc_matrix){.dtype = matrix->dtype};
}
