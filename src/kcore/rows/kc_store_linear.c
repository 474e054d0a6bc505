/* Adding up rows of the linear kernel: sum of delta_i x_i.x_p = w.x_p with w = sum of delta_i x_i.
 *
 * One pass over the points, whatever the number of rows.  Sums are doubles, in the order of the
 * rows and then of the features. */
#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_thread.h"
#include "rows/kc_store_impl.h"
#include "simd/kc_smo_ops.h"

/* Panels, or sparse points, of one chunk of parallel work; features of one when w is summed. */
#define CHUNK_POINTS ((size_t)512)
#define CHUNK_FEATURES ((size_t)64)

typedef struct linear_job {
    const kc_store *store;
    const kc_cols *cols;
    const kc_moved *moved;
    const double *grad;
    double *out;
    double *weights;   /* d */
    const void **rows; /* d for every worker */
    size_t n_first;    /* chunks of the first run */
} linear_job;

bool kc_store_is_linear(const kc_store *store)
{
    return store->kernel != NULL && kc_kernel_is_linear(store->kernel);
}

static double value_at(const kc_store *store, const void *values, size_t k)
{
    return store->dtype == KC_F64 ? ((const double *)values)[k]
                                  : (double)((const float *)values)[k];
}

/* ---- w ------------------------------------------------------------------------------------- */

/* The features of one chunk, for dense points. */
static void sum_chunk(void *data, size_t chunk, int32_t worker)
{
    const linear_job *job = data;
    const kc_packed *points = job->store->points;
    size_t width = kc_panel_width(points->dtype);
    size_t begin = chunk * CHUNK_FEATURES;
    size_t end = kc_min(begin + CHUNK_FEATURES, points->d);

    (void)worker;
    memset(job->weights + begin, 0, (end - begin) * sizeof *job->weights);
    for (size_t i = 0; i < job->moved->n; i++) {
        size_t p = (size_t)job->moved->points[i];
        size_t first = p / width * width * points->d + p % width;
        for (size_t t = begin; t < end; t++)
            job->weights[t] +=
                job->moved->delta[i] * value_at(job->store, points->panels, first + t * width);
    }
}

static void sum_sparse(const linear_job *job)
{
    const kc_packed *points = job->store->points;

    memset(job->weights, 0, points->d * sizeof *job->weights);
    for (size_t i = 0; i < job->moved->n; i++) {
        size_t p = (size_t)job->moved->points[i];
        for (int64_t k = points->indptr[p]; k < points->indptr[p + 1]; k++)
            job->weights[points->cols[k]] +=
                job->moved->delta[i] * value_at(job->store, points->vals, (size_t)k);
    }
}

/* ---- The gradient -------------------------------------------------------------------------- */

/* One panel: its features are the rows that the sweep adds up. */
static void apply_panel(const linear_job *job, const kc_span *part, size_t position, size_t panel,
                        const void **rows)
{
    const kc_packed *points = job->store->points;
    size_t width = kc_panel_width(points->dtype);
    size_t bytes = kc_dtype_bytes(points->dtype);
    const char *values = (const char *)points->panels + panel * width * points->d * bytes;
    size_t begin = kc_max(panel * width, part->begin);
    size_t end = kc_min((panel + 1) * width, part->end);

    for (size_t t = 0; t < points->d; t++)
        rows[t] = values + (t * width + begin % width) * bytes;
    position += begin - part->begin;
    kc_smo_sweep(points->dtype)(job->grad + position, job->out + position, rows, job->weights,
                                points->d, end - begin);
}

static void apply_sparse(const linear_job *job, const kc_span *part, size_t position)
{
    const kc_packed *points = job->store->points;

    for (size_t p = part->begin; p < part->end; p++) {
        double total = job->grad[position + p - part->begin];
        for (int64_t k = points->indptr[p]; k < points->indptr[p + 1]; k++)
            total -= job->weights[points->cols[k]] * value_at(job->store, points->vals, (size_t)k);
        job->out[position + p - part->begin] = total;
    }
}

static size_t count_chunks(const kc_span *span)
{
    return kc_ceil_div(span->end, CHUNK_POINTS) - span->begin / CHUNK_POINTS;
}

static void apply_chunk(void *data, size_t chunk, int32_t worker)
{
    const linear_job *job = data;
    const kc_packed *points = job->store->points;
    const kc_span *span = &job->cols->span[chunk >= job->n_first];
    size_t before = chunk >= job->n_first ? job->cols->span[0].end - job->cols->span[0].begin : 0;
    size_t index =
        span->begin / CHUNK_POINTS + (chunk >= job->n_first ? chunk - job->n_first : chunk);
    kc_span part = {kc_max(index * CHUNK_POINTS, span->begin),
                    kc_min((index + 1) * CHUNK_POINTS, span->end)};
    size_t position = before + part.begin - span->begin;

    if (points->is_sparse) {
        apply_sparse(job, &part, position);
        return;
    }
    size_t width = kc_panel_width(points->dtype);
    for (size_t panel = part.begin / width; panel * width < part.end; panel++)
        apply_panel(job, &part, position, panel, job->rows + (size_t)worker * points->d);
}

kc_status kc_store_apply_linear(kc_call *call, kc_store *store, const kc_cols *cols,
                                const kc_moved *moved, const double *grad, double *out)
{
    const double start = kc_clock();
    size_t d = store->points->d;
    size_t n_first = count_chunks(&cols->span[0]);
    size_t n_chunks = n_first + (cols->n_spans == 2 ? count_chunks(&cols->span[1]) : 0);
    size_t n_workers = (size_t)kc_workers(call, n_chunks);
    linear_job job = {.store = store,
                      .cols = cols,
                      .moved = moved,
                      .grad = grad,
                      .out = out,
                      .weights = kc_call_take(call, kc_max(d, 1), sizeof(double)),
                      .rows = kc_call_take(call, kc_max(n_workers * d, 1), sizeof(void *)),
                      .n_first = n_first};

    if (job.weights == NULL || job.rows == NULL)
        return kc_fail_nomem(call->err);
    if (store->points->is_sparse)
        sum_sparse(&job);
    else
        KC_TRY(kc_parallel_for(call, kc_ceil_div(d, CHUNK_FEATURES), sum_chunk, &job));
    store->values_computed += (int64_t)kc_cols_count(cols);
    KC_TRY(kc_parallel_for(call, n_chunks, apply_chunk, &job));
    kc_store_time_values(store, kc_cols_count(cols), start);
    return KC_OK;
}
