/* One public call while it runs: where its memory comes from, how many threads it has, how it is
 * stopped, where its error text goes.  The first argument of everything below api/ that allocates,
 * runs in parallel or can be stopped.
 *
 *   kc_call call;
 *   KC_TRY(kc_call_begin(&call, ctx, run, "gram", err));
 *   kc_status status = work(&call);
 *   return kc_call_end(&call, status); */
#ifndef KC_CALL_H
#define KC_CALL_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/kc_arena.h"
#include "base/kc_base.h"
#include "base/kc_status.h"

typedef struct kc_call {
    kc_context *ctx;
    kc_error *err;
    kc_arena *arena;
    int32_t n_threads; /* >= 1 */
    double start;      /* kc_clock() */
    double deadline;   /* kc_clock(), infinity where there is none */
    double next_poll;  /* kc_clock() from which the caller is asked again */
    const kc_cancel *cancel;
    kc_progress_fn *on_progress;
    void *progress_data;
    kc_progress progress;     /* kept up to date by the work itself */
    atomic_int stop;          /* kc_status: KC_OK, KC_ERR_CANCELLED or KC_ERR_TIME */
    pthread_t caller;         /* the thread that began the call, and alone asks the callback */
    const char *stopped_by;   /* what the error text names */
    bool is_finished;         /* stopped by KC_FINISH: in all else as if the time were over */
    bool is_extended;         /* see kc_call_extend */
    bool was_over;            /* ... the time was over before */
    double extended_until;    /* kc_clock() */
    int64_t reserve;          /* nanoseconds: what this call alone has set aside */
    _Atomic int64_t reserves; /* ... with its branches: the time limit comes so much earlier */
    bool is_parallel;         /* the pool is working for this call: see kc_parallel_for */
    size_t held_before;       /* bytes of the context when the call began */
    size_t arena_before;      /* ... of which were those of its arena */
    struct kc_call *whole;    /* the call that this is a branch of, or NULL */
} kc_call;

/* What the caller wants of a call, checked; all zeros where `run` is NULL. */
kc_status kc_run_read(kc_run *to, const kc_run *run, kc_error *err);

kc_status kc_call_begin(kc_call *call, kc_context *ctx, const kc_run *run, const char *phase,
                        kc_error *err);

/* Gives back the arena and returns `status`; KC_ERR_TIME becomes KC_ERR_CANCELLED where it was the
 * caller who wanted an end. */
kc_status kc_call_end(kc_call *call, kc_status status);

/* The most bytes that the call has held at once, with those of other calls of the same context
 * that ran meanwhile. */
size_t kc_call_peak(const kc_call *call);

/* A part of a call that one worker of a kc_parallel_for runs, chunk after chunk: it has an arena
 * and an error text of its own, works on one thread, and stops when the whole does. */
kc_status kc_call_branch(kc_call *branch, kc_call *whole, kc_error *err);

/* Gives back the arena of a branch; one that was never begun (all zeros) is left alone. */
void kc_call_join(kc_call *branch);

/* Asks the clock, the token and (every 20 ms at most) the callback.  Returns why the call must
 * stop, or KC_OK; once stopped, a call stays so.  Costs about 30 ns where there is nothing to do.
 * On another thread than the caller's it asks nothing and only says whether the call was stopped.
 */
kc_status kc_call_poll(kc_call *call);

/* Stops the call from within, on the caller's thread; `by` is named in the error text. */
kc_status kc_call_stop(kc_call *call, kc_status status, const char *by);

/* Sets so many seconds at the end of the time limit aside, in place of what was set aside before: a
 * poll says KC_ERR_TIME that much earlier.  In a branch, it is of the whole's limit. */
void kc_call_reserve(kc_call *call, double seconds);

/* Before or after KC_ERR_TIME: the time reserved, and so many seconds beyond the limit (or from
 * now, where it has passed), may be spent on what makes a result whole; a cancel stops it all the
 * same (not in a branch, which does not hear of it then).  Then kc_call_expire: the time is over
 * again, if it was. */
void kc_call_extend(kc_call *call, double more_seconds);
void kc_call_expire(kc_call *call);

/* Seconds until the time limit, less what is set aside; infinity where there is none. */
double kc_call_left(const kc_call *call);

/* Whether the call has a time limit at all: else nothing need be set aside. */
KC_INLINE bool kc_call_is_limited(const kc_call *call)
{
    return call->deadline < HUGE_VAL;
}

/* Whether a poll has said stop: for workers, a relaxed load. */
KC_INLINE bool kc_call_stopped(const kc_call *call)
{
    return atomic_load_explicit(&call->stop, memory_order_relaxed) != KC_OK;
}

/* The error for a call that was stopped: fills the text and returns the status. */
kc_status kc_call_stop_error(kc_call *call);

/* Memory of this call, or NULL. */
KC_INLINE void *kc_call_take(kc_call *call, size_t count, size_t size)
{
    return kc_arena_take(call->arena, count, size);
}

#endif
