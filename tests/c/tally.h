/* What the tests of threads watch a parallel loop with: which chunks ran, how often, and under
 * which numbers. */
#ifndef TALLY_H
#define TALLY_H

#include <stdlib.h>
#include <unistd.h>

#include "base/kc_clock.h"
#include "base/kc_context.h"
#include "base/kc_cpu.h"
#include "base/kc_thread.h"
#include "fault.h"
#include "kc_test.h"

static inline void pause_for(double seconds)
{
    double until = kc_clock() + seconds;

    while (kc_clock() < until)
        usleep(200);
}

#define N_MAX 5000

typedef struct tally {
    atomic_int runs[N_MAX];            /* how often each chunk ran */
    atomic_int inside[KC_MAX_THREADS]; /* how many threads work under a number right now */
    atomic_int n_bad;                  /* numbers out of range, or used twice at once */
    atomic_int n_helped;               /* chunks not run by the caller */
    int32_t n_workers;
    double seconds;   /* that a chunk takes */
    atomic_bool hold; /* no chunk ends as long as it is set */
    kc_call *call;
} tally;

static inline void count_chunk(void *data, size_t chunk, int32_t worker)
{
    tally *t = data;

    if (chunk >= N_MAX || worker < 0 || worker >= t->n_workers) {
        atomic_fetch_add(&t->n_bad, 1);
        return;
    }
    if (atomic_fetch_add(&t->inside[worker], 1) != 0)
        atomic_fetch_add(&t->n_bad, 1);
    atomic_fetch_add(&t->runs[chunk], 1);
    if (!pthread_equal(pthread_self(), t->call->caller))
        atomic_fetch_add(&t->n_helped, 1);
    if (t->seconds > 0)
        pause_for(t->seconds);
    while (atomic_load(&t->hold))
        usleep(200);
    atomic_fetch_sub(&t->inside[worker], 1);
}

static inline bool ran_each_once(const tally *t, size_t n)
{
    for (size_t i = 0; i < N_MAX; i++) {
        if (atomic_load(&t->runs[i]) != (i < n))
            return false;
    }
    return atomic_load(&t->n_bad) == 0;
}

static inline kc_context *make_context(int32_t n_threads, kc_fault *fault)
{
    return kc_fault_context((kc_context_config){.n_threads = n_threads}, fault);
}

/* One call with one loop over n chunks. */
static inline kc_status count_to(kc_context *ctx, const kc_run *run, size_t n, tally *t,
                                 kc_error *err)
{
    kc_call call;

    KC_TRY(kc_call_begin(&call, ctx, run, "count", err));
    t->call = &call;
    t->n_workers = kc_workers(&call, n);
    return kc_call_end(&call, kc_parallel_for(&call, n, count_chunk, t));
}

static inline bool counts_right(kc_context *ctx, int32_t n_threads, size_t n)
{
    kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
    tally *t = calloc(1, sizeof *t);
    bool is_right = count_to(ctx, &run, n, t, NULL) == KC_OK && ran_each_once(t, n);

    free(t);
    return is_right;
}

static inline size_t count_runs(const tally *t)
{
    size_t n = 0;

    for (size_t i = 0; i < N_MAX; i++)
        n += (size_t)atomic_load(&t->runs[i]);
    return n;
}

/* A loop on another thread that has the pool, and keeps it until it is told to end. */
typedef struct held_call {
    kc_context *ctx;
    tally t;
    kc_status status;
    pthread_t thread;
} held_call;

static inline void *run_held_call(void *data)
{
    held_call *held = data;

    held->status = count_to(held->ctx, NULL, 100, &held->t, NULL);
    return NULL;
}

static inline held_call *start_held_call(kc_context *ctx)
{
    held_call *held = calloc(1, sizeof *held);

    held->ctx = ctx;
    atomic_store(&held->t.hold, true);
    CHECK(pthread_create(&held->thread, NULL, run_held_call, held) == 0);
    while (atomic_load(&held->t.runs[0]) == 0) /* it is inside a chunk */
        usleep(100);
    return held;
}

static inline void end_held_call(held_call *held)
{
    CHECK(atomic_load(&held->ctx->pool_holder) != 0); /* it had the pool to the end */
    atomic_store(&held->t.hold, false);
    pthread_join(held->thread, NULL);
    CHECK(held->status == KC_OK && ran_each_once(&held->t, 100));
    free(held);
}

#endif
