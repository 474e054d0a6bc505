/* Adding up rows of the linear kernel: sum of delta_i x_i.x_p = w.x_p with w = sum of delta_i x_i.
 *
 * One pass over the points, whatever the number of rows.  Sums are doubles, in the order of the
 * rows and then of the features. */
#include "base/kc_clock.h"
#include "base/kc_thread.h"
#include "data/kc_packed_sums.h"
#include "rows/kc_store_impl.h"

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

/* The features of one chunk, for dense points. */
static void sum_chunk(void *data, size_t chunk, int32_t worker)
{
    const linear_job *job = data;
    const kc_packed *points = job->store->points;
    const size_t begin = chunk * CHUNK_FEATURES;

    (void)worker;
    kc_packed_sum_rows(points, job->moved->points, job->moved->delta, job->moved->n, begin,
                       kc_min(begin + CHUNK_FEATURES, points->d), job->weights);
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

    kc_packed_subtract(points, job->weights, part.begin, part.end, job->grad + position,
                       job->out + position, job->rows + (size_t)worker * points->d);
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
    if (store->points->storage == KC_CSR)
        kc_packed_sum_rows(store->points, moved->points, moved->delta, moved->n, 0, d, job.weights);
    else
        KC_TRY(kc_parallel_for(call, kc_ceil_div(d, CHUNK_FEATURES), sum_chunk, &job));
    store->values_computed += (int64_t)kc_cols_count(cols);
    KC_TRY(kc_parallel_for(call, n_chunks, apply_chunk, &job));
    kc_store_time_values(store, kc_cols_count(cols), start);
    return KC_OK;
}
