/* Parts of the matrix: any rows against any columns, and the whole of a problem.  See kc_store.h.
 *
 * Columns are laid out for the kernel once, rows are read where they are. */
#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_thread.h"
#include "kernel/kc_gram.h"
#include "rows/kc_store_impl.h"

/* Rows of one chunk of parallel work, in steps that suit the loops. */
#define CHUNK_ROWS ((size_t)48)

/* What it takes to pick a value out of a large matrix, in multiply-adds: every value has a cache
 * line of its own, from memory. */
#define PICK_WORK ((size_t)300)

bool kc_store_picks(const kc_store *store)
{
    return store->given != NULL && (store->points == NULL || store->entry_work > PICK_WORK);
}

/* Values out of the matrix that is there. */
typedef struct picking {
    const kc_store *store;
    const int32_t *points, *others;
    size_t n_rows, n_cols;
    char *out;
    size_t ld;
} picking;

static void pick_chunk(void *data, size_t chunk, int32_t worker)
{
    const picking *job = data;
    const kc_store *store = job->store;
    size_t bytes = store->value_bytes;
    size_t end = kc_min(job->n_rows, (chunk + 1) * CHUNK_ROWS);

    (void)worker;
    for (size_t i = chunk * CHUNK_ROWS; i < end; i++) {
        const void *row = store->given + (size_t)job->points[i] * store->given_ld * bytes;
        void *to = job->out + i * job->ld * bytes;
        if (store->dtype == KC_F64)
            for (size_t j = 0; j < job->n_cols; j++)
                ((double *)to)[j] = ((const double *)row)[job->others[j]];
        else
            for (size_t j = 0; j < job->n_cols; j++)
                ((float *)to)[j] = ((const float *)row)[job->others[j]];
    }
}

kc_status kc_store_pick(kc_call *call, const kc_store *store, const int32_t *points, size_t n_rows,
                        const int32_t *others, size_t n_cols, void *out, size_t ld)
{
    picking job = {store, points, others, n_rows, n_cols, out, ld};
    int32_t n_threads = call->n_threads;

    if (n_rows * n_cols * PICK_WORK < KC_PARALLEL_WORK)
        call->n_threads = 1;
    kc_status status = kc_parallel_for(call, kc_ceil_div(n_rows, CHUNK_ROWS), pick_chunk, &job);
    call->n_threads = n_threads;
    return status;
}

typedef struct gathering {
    const kc_store *store;
    const int32_t *points;
    size_t n_rows, chunk_rows;
    kc_plan plan; /* of the store's points with the others */
    char *out;
    size_t ld;
    char *workspace;
    size_t workspace_bytes;
    atomic_bool has_overflowed;
} gathering;

static void gather_chunk(void *data, size_t chunk, int32_t worker)
{
    gathering *job = data;
    size_t begin = chunk * job->chunk_rows;
    const kc_block block = {
        .rows = job->points + begin,
        .n_rows = kc_min(job->chunk_rows, job->n_rows - begin),
        .n_cols = job->plan.z->n,
        .out = job->out + begin * job->ld * job->store->value_bytes,
        .ld = job->ld,
    };

    if (!kc_plan_block(&job->plan, &block, job->workspace + (size_t)worker * job->workspace_bytes))
        atomic_store_explicit(&job->has_overflowed, true, memory_order_relaxed);
}

static kc_status run_gathering(kc_call *call, kc_store *store, gathering *job)
{
    size_t n_values = job->n_rows * job->plan.z->n;
    int32_t n_threads = call->n_threads;
    kc_status status = KC_OK;

    job->chunk_rows = kc_round_up(CHUNK_ROWS, kc_store_row_step(store));
    size_t n_chunks = kc_ceil_div(job->n_rows, job->chunk_rows);
    if (n_values * store->entry_work < KC_PARALLEL_WORK)
        call->n_threads = 1;
    job->workspace_bytes = kc_aligned(kc_plan_workspace(&job->plan, SIZE_MAX)) + KC_ALIGN;
    job->workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), job->workspace_bytes);
    if (job->workspace == NULL)
        status = kc_fail_nomem(call->err);
    else
        status = kc_parallel_for(call, n_chunks, gather_chunk, job);
    call->n_threads = n_threads;
    store->values_computed += (int64_t)n_values;
    return status == KC_OK && atomic_load(&job->has_overflowed) ? kc_store_fail_overflow(call)
                                                                : status;
}

/* Half of it is computed, half mirrored, unless values are cheap.  kc_gram_fill lowers the call's
 * threads where there is little work. */
static kc_status fill_gram(kc_call *call, kc_store *store, const kc_packed *points, void *out,
                           size_t ld)
{
    int32_t n_threads = call->n_threads;
    const kc_plan plan = kc_plan_make(store->kernel, points, points);
    kc_status status = kc_gram_fill(call, &plan, out, ld);

    call->n_threads = n_threads;
    store->values_computed += kc_gram_values(&plan);
    return status;
}

static kc_status gather(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                        const int32_t *others, size_t n_cols, void *out, size_t ld)
{
    kc_packed packed = {0};
    gathering job = {.store = store, .points = points, .n_rows = n_rows, .out = out, .ld = ld};

    if (n_rows == 0 || n_cols == 0)
        return KC_OK;
    if (kc_store_picks(store))
        return kc_store_pick(call, store, points, n_rows, others, n_cols, out, ld);
    if (store->user_fn != NULL)
        return kc_store_user_gather(call, store, points, n_rows, others, n_cols, out, ld);
    kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status = kc_packed_take(call, store->points, others, n_cols, &packed);
    job.plan = kc_plan_make(store->kernel, store->points, &packed);
    if (status == KC_OK)
        status = points == others && n_rows == n_cols ? fill_gram(call, store, &packed, out, ld)
                                                      : run_gathering(call, store, &job);
    kc_packed_free(call->ctx, &packed);
    kc_arena_release(call->arena, point);
    return status;
}

kc_status kc_store_gather(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                          const int32_t *others, size_t n_cols, void *out, size_t ld)
{
    double start = kc_clock();
    kc_status status = gather(call, store, points, n_rows, others, n_cols, out, ld);

    if (status == KC_OK && store->given == NULL)
        kc_store_time_values(store, points == others ? n_rows * n_cols / 2 : n_rows * n_cols,
                             start);
    kc_store_add_time(store, start);
    return status;
}

/* The runs of a problem's rows, side by side. */
static void copy_part(const kc_store *store, const kc_cols *cols, char *out, size_t ld)
{
    size_t bytes = store->value_bytes;
    size_t n = kc_cols_count(cols);
    size_t n_first = cols->span[0].end - cols->span[0].begin;

    for (size_t p = 0; p < n; p++) {
        const char *row = store->given + kc_cols_point(cols, p) * store->given_ld * bytes;
        char *to = out + p * ld * bytes;
        memcpy(to, row + cols->span[0].begin * bytes, n_first * bytes);
        if (cols->n_spans == 2)
            memcpy(to + n_first * bytes, row + cols->span[1].begin * bytes, (n - n_first) * bytes);
    }
}

static kc_status fill_part(kc_call *call, kc_store *store, const kc_cols *cols, void *out,
                           size_t ld)
{
    size_t n = kc_cols_count(cols);
    int32_t *points = kc_call_take(call, n, sizeof *points);

    if (points == NULL)
        return kc_fail_nomem(call->err);
    for (size_t p = 0; p < n; p++)
        points[p] = (int32_t)kc_cols_point(cols, p);
    return gather(call, store, points, n, points, n, out, ld);
}

kc_status kc_store_gram(kc_call *call, kc_store *store, const kc_cols *cols, void *out, size_t ld)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    bool is_whole = store->points != NULL && kc_cols_count(cols) == store->n;
    double start = kc_clock();
    size_t n = kc_cols_count(cols);
    kc_status status = kc_touch(call, out, ((n - 1) * ld + n) * store->value_bytes);

    if (status == KC_OK && store->given != NULL)
        copy_part(store, cols, out, ld);
    else if (status == KC_OK)
        status = is_whole ? fill_gram(call, store, store->points, out, ld)
                          : fill_part(call, store, cols, out, ld);
    if (status == KC_OK && store->given == NULL)
        kc_store_time_values(store, n * n / 2, start);
    kc_arena_release(call->arena, point);
    kc_store_add_time(store, start);
    return status;
}
