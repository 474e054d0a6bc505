/* Chunks dealt to the caller and the pool through one counter.
 *
 * The caller's thread works like any other, and between its chunks asks whether to stop; when there
 * are no more chunks it waits for the others and goes on asking. */
#include "base/kc_thread.h"

#include <fenv.h>

#include "base/kc_pool.h"

/* How long the caller sleeps between two polls while others finish. */
#define WAIT_SECONDS 0.005

typedef struct job {
    kc_call *call;
    kc_chunk_fn *fn;
    void *data;
    size_t n_chunks;
    fenv_t env; /* the caller's: flushing of denormals must not depend on the thread */
    _Alignas(KC_ALIGN) atomic_size_t next;
} job;

int32_t kc_workers(const kc_call *call, size_t n_chunks)
{
    if (call->is_parallel || n_chunks <= 1)
        return 1;
    return n_chunks < (size_t)call->n_threads ? (int32_t)n_chunks : call->n_threads;
}

static bool take_chunk(job *j, size_t *chunk)
{
    *chunk = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    return *chunk < j->n_chunks;
}

static void run_worker(void *data, int32_t worker)
{
    job *j = data;
    size_t chunk;

    fesetenv(&j->env);
    while (!kc_call_stopped(j->call) && take_chunk(j, &chunk))
        j->fn(j->data, chunk, worker);
}

static void tell_progress(kc_call *call, size_t n_done, size_t n_chunks)
{
    if (call->progress.fraction >= 0)
        call->progress.fraction = (double)n_done / (double)n_chunks;
}

static void run_caller(job *j)
{
    size_t n_done = 0; /* dealt before the caller's own last chunk: nearly all of them are done */
    size_t chunk;

    for (;;) {
        tell_progress(j->call, n_done, j->n_chunks);
        if (kc_call_poll(j->call) != KC_OK || !take_chunk(j, &chunk))
            return;
        j->fn(j->data, chunk, 0);
        n_done = chunk;
    }
}

/* A chunk that polls may have ended early, so that a stop counts even if it came in the last one.
 */
static kc_status finish(kc_call *call)
{
    return kc_call_stopped(call) ? kc_call_stop_error(call) : KC_OK;
}

/* Inside a chunk of the same call: the outer kc_parallel_for will say why it stopped, since several
 * threads may be here at once. */
static kc_status run_nested(kc_call *call, size_t n_chunks, kc_chunk_fn *fn, void *data)
{
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        if (kc_call_poll(call) != KC_OK)
            break;
        fn(data, chunk, 0);
    }
    return (kc_status)atomic_load_explicit(&call->stop, memory_order_relaxed);
}

static kc_status run_alone(kc_call *call, size_t n_chunks, kc_chunk_fn *fn, void *data)
{
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        tell_progress(call, chunk, n_chunks);
        if (kc_call_poll(call) != KC_OK)
            break;
        fn(data, chunk, 0);
    }
    return finish(call);
}

/* False where the call finds itself in a forked child (its callback forked): the threads, and the
 * chunks that they were at, stayed with the parent, and the pool must not be touched. */
static bool run_together(job *j, kc_pool *pool, int32_t n_workers)
{
    unsigned forks = kc_fork_count();

    fegetenv(&j->env);
    j->call->is_parallel = true;
    kc_pool_open(pool, n_workers - 1, run_worker, j);
    run_caller(j);
    if (kc_fork_count() == forks) {
        kc_pool_close(pool);
        while (kc_fork_count() == forks && !kc_pool_wait(pool, WAIT_SECONDS))
            kc_call_poll(j->call);
    }
    j->call->is_parallel = false;
    return kc_fork_count() == forks;
}

kc_status kc_parallel_for(kc_call *call, size_t n_chunks, kc_chunk_fn *fn, void *data)
{
    int32_t n_workers = kc_workers(call, n_chunks);

    if (call->is_parallel)
        return run_nested(call, n_chunks, fn, data);
    if (kc_call_poll(call) != KC_OK) /* before a worker can begin */
        return kc_call_stop_error(call);
    kc_pool *pool = n_workers > 1 ? kc_pool_borrow(call->ctx, n_workers - 1) : NULL;
    if (pool == NULL)
        return run_alone(call, n_chunks, fn, data);

    job j = {.call = call, .fn = fn, .data = data, .n_chunks = n_chunks};
    if (run_together(&j, pool, n_workers))
        kc_pool_return(call->ctx);
    else
        kc_call_stop(call, KC_ERR_CANCELLED, "fork of the process in its progress callback");
    return finish(call);
}

/* ---- Fresh memory ---------------------------------------------------------------------------- */

/* Smaller blocks are found soon enough; one chunk is a huge page or two, or a row. */
#define MIN_TOUCHED ((size_t)8 << 20)
#define TOUCH_CHUNK ((size_t)2 << 20)
#define PAGE ((size_t)4096)

typedef struct touching {
    char *block;
    size_t n_rows, row_bytes, stride;
    size_t chunk_rows;
} touching;

static void touch(volatile char *byte)
{
    *byte = *byte;
}

static void touch_chunk(void *data, size_t chunk, int32_t worker)
{
    const touching *fresh = data;
    const size_t begin = chunk * fresh->chunk_rows;
    const size_t end = kc_min(begin + fresh->chunk_rows, fresh->n_rows);

    (void)worker;
    for (size_t i = begin; i < end; i++) {
        char *row = fresh->block + i * fresh->stride;

        for (size_t at = 0; at < fresh->row_bytes; at += PAGE)
            touch(row + at);
        touch(row + fresh->row_bytes - 1);
    }
}

kc_status kc_touch_rows(kc_call *call, void *block, size_t n_rows, size_t row_bytes, size_t stride)
{
    touching fresh = {block, n_rows, row_bytes, stride, kc_max(1, TOUCH_CHUNK / stride)};

    return row_bytes < kc_ceil_div(MIN_TOUCHED, n_rows)
               ? KC_OK
               : kc_parallel_for(call, kc_ceil_div(n_rows, fresh.chunk_rows), touch_chunk, &fresh);
}

kc_status kc_touch(kc_call *call, void *block, size_t n_bytes)
{
    const size_t n_whole = n_bytes / PAGE;

    return n_whole > 0 ? kc_touch_rows(call, block, n_whole, PAGE, PAGE) : KC_OK;
}
