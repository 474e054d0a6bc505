/* Beginning, asking and ending.  All that a call needs is in the kc_call of its caller's stack; the
 * context lends it an arena by exchanging a pointer, so that concurrent calls never wait. */
#include "base/kc_call.h"

#include <math.h>

#include "base/kc_clock.h"
#include "base/kc_context.h"
#include "base/kc_cpu.h"

/* The callback costs the caller something (in Python, the interpreter's lock): not more often than
 * this, and well within the 50 ms that the public header promises. */
#define CALLBACK_SECONDS 0.020

/* Seconds: longer ones leave no time at all, and sums of these stay within their type. */
#define LONGEST_RESERVE 1e6

kc_status kc_run_read(kc_run *to, const kc_run *run, kc_error *err)
{
    KC_TRY(kc_struct_read(to, sizeof *to, run, "run", err));
    if (to->n_threads < 0)
        return kc_fail(err, KC_ERR_ARG, "run.n_threads is %d, must be 0 or more",
                       (int)to->n_threads);
    if (!(to->time_limit >= 0)) /* NaN too */
        return kc_fail(err, KC_ERR_ARG, "run.time_limit is %g, must be 0 or more", to->time_limit);
    return KC_OK;
}

kc_status kc_call_begin(kc_call *call, kc_context *ctx, const kc_run *run, const char *phase,
                        kc_error *err)
{
    kc_run r;

    if (ctx == NULL)
        return kc_fail(err, KC_ERR_ARG, "ctx is NULL");
    KC_TRY(kc_run_read(&r, run, err));
    kc_arena *arena = atomic_exchange(&ctx->spare, NULL);
    if (arena == NULL)
        arena = kc_arena_create(ctx);
    if (arena == NULL)
        return kc_fail_nomem(err);

    const size_t held = atomic_load(&ctx->current);
    if (atomic_fetch_add(&ctx->n_calls, 1) == 0)
        atomic_store(&ctx->recent_peak, held);
    int32_t n_threads = r.n_threads != 0 ? r.n_threads : kc_context_threads(ctx);
    double start = kc_clock();
    *call = (kc_call){
        .ctx = ctx,
        .err = err,
        .arena = arena,
        .n_threads = n_threads < KC_MAX_THREADS ? n_threads : KC_MAX_THREADS,
        .start = start,
        .deadline = r.time_limit > 0 ? start + r.time_limit : INFINITY,
        .next_poll = start + CALLBACK_SECONDS,
        .cancel = r.cancel,
        .on_progress = r.on_progress,
        .progress_data = r.progress_data,
        .progress = {.phase = phase, .objective = NAN, .violation = NAN},
        .caller = pthread_self(),
        .held_before = held,
        .arena_before = kc_arena_kept(arena),
    };
    atomic_init(&call->stop, KC_OK);
    return KC_OK;
}

kc_status kc_call_end(kc_call *call, kc_status status)
{
    if (status == KC_ERR_TIME && call->is_finished) {
        status = KC_ERR_CANCELLED;
        if (call->err != NULL)
            call->err->status = status;
    }
    kc_arena_reset(call->arena);
    kc_arena_free(call->ctx, atomic_exchange(&call->ctx->spare, call->arena));
    call->arena = NULL;
    atomic_fetch_sub(&call->ctx->n_calls, 1);
    return status;
}

/* Of an arena that an earlier call made large, only what this one used counts. */
size_t kc_call_peak(const kc_call *call)
{
    const size_t peak = kc_max(atomic_load(&call->ctx->recent_peak), call->held_before);

    return peak - call->held_before + kc_min(call->arena_before, kc_arena_max(call->arena));
}

kc_status kc_call_branch(kc_call *branch, kc_call *whole, kc_error *err)
{
    kc_arena *arena = kc_arena_create(whole->ctx);

    if (arena == NULL)
        return kc_fail_nomem(whole->err);
    *branch = (kc_call){
        .ctx = whole->ctx,
        .err = err,
        .arena = arena,
        .n_threads = 1,
        .start = whole->start,
        .deadline = whole->deadline,
        .progress = whole->progress,
        .caller = whole->caller,
        .is_parallel = true,
        .whole = whole,
    };
    atomic_init(&branch->stop, KC_OK);
    return KC_OK;
}

void kc_call_join(kc_call *branch)
{
    if (branch->whole != NULL)
        kc_call_reserve(branch, 0);
    kc_arena_free(branch->ctx, branch->arena);
    branch->arena = NULL;
}

/* On the caller's thread the whole is asked, and told how far the branch is; an extended branch
 * looks at the clock itself. */
static kc_status poll_branch(kc_call *branch)
{
    kc_call *whole = branch->whole;
    kc_status stop = (kc_status)atomic_load_explicit(&whole->stop, memory_order_acquire);

    if (stop == KC_OK && pthread_equal(branch->caller, pthread_self())) {
        branch->progress.fraction = whole->progress.fraction;
        whole->progress = branch->progress;
        stop = kc_call_poll(whole);
    }
    if (stop == KC_ERR_TIME && branch->is_extended && kc_clock() < branch->extended_until)
        return KC_OK;
    if (stop == KC_OK)
        return KC_OK;
    branch->is_finished = whole->is_finished;
    return kc_call_stop(branch, stop, whole->stopped_by);
}

kc_status kc_call_stop(kc_call *call, kc_status status, const char *by)
{
    call->stopped_by = by;
    atomic_store_explicit(&call->stop, status, memory_order_release); /* after what says why */
    return status;
}

void kc_call_reserve(kc_call *call, double seconds)
{
    kc_call *whole = call->whole != NULL ? call->whole : call;
    const int64_t reserve = (int64_t)(1e9 * fmin(seconds, LONGEST_RESERVE));

    atomic_fetch_add_explicit(&whole->reserves, reserve - call->reserve, memory_order_relaxed);
    call->reserve = reserve;
}

void kc_call_extend(kc_call *call, double more_seconds)
{
    int over = KC_ERR_TIME;

    call->was_over = atomic_compare_exchange_strong(&call->stop, &over, KC_OK);
    call->is_extended = true;
    call->extended_until = fmax(call->deadline, kc_clock()) + more_seconds;
}

void kc_call_expire(kc_call *call)
{
    int running = KC_OK;

    if (call->was_over)
        atomic_compare_exchange_strong(&call->stop, &running, KC_ERR_TIME);
    call->is_extended = call->was_over = false;
}

/* When a poll says that the time is over. */
static double find_end(const kc_call *call)
{
    return call->is_extended
               ? call->extended_until
               : call->deadline -
                     1e-9 * (double)atomic_load_explicit(&call->reserves, memory_order_relaxed);
}

double kc_call_left(const kc_call *call)
{
    return kc_call_is_limited(call)
               ? find_end(call->whole != NULL ? call->whole : call) - kc_clock()
               : HUGE_VAL;
}

kc_status kc_call_poll(kc_call *call)
{
    kc_status stop = (kc_status)atomic_load_explicit(&call->stop, memory_order_relaxed);

    if (stop == KC_OK && call->whole != NULL)
        return poll_branch(call);
    if (stop != KC_OK || !pthread_equal(call->caller, pthread_self()))
        return stop;
    if (call->cancel != NULL && atomic_load_explicit(&call->cancel->is_set, memory_order_relaxed))
        return kc_call_stop(call, KC_ERR_CANCELLED, "cancel token");
    if (call->on_progress == NULL && isinf(call->deadline))
        return KC_OK;

    double now = kc_clock();
    if (now >= find_end(call))
        return kc_call_stop(call, KC_ERR_TIME, "time limit");
    if (call->on_progress == NULL || now < call->next_poll)
        return KC_OK;
    call->progress.seconds = now - call->start;
    const int answer = call->on_progress(call->progress_data, &call->progress);
    if (answer == KC_FINISH && !call->is_extended) {
        call->is_finished = true;
        return kc_call_stop(call, KC_ERR_TIME, "progress callback");
    }
    if (answer != KC_GO_ON && answer != KC_FINISH)
        return kc_call_stop(call, KC_ERR_CANCELLED, "progress callback");
    call->next_poll = kc_clock() + CALLBACK_SECONDS; /* a slow callback leaves room for work */
    return KC_OK;
}

kc_status kc_call_stop_error(kc_call *call)
{
    kc_status stop = (kc_status)atomic_load_explicit(&call->stop, memory_order_relaxed);
    double seconds = kc_clock() - call->start;

    assert(stop != KC_OK);
    if (call->is_finished)
        return kc_fail(call->err, stop,
                       "stopped by the progress callback after %.3g s, before there was a result",
                       seconds);
    if (stop == KC_ERR_TIME)
        return kc_fail(call->err, stop, "run.time_limit of %g s reached after %.3g s",
                       call->deadline - call->start, seconds);
    return kc_fail(call->err, stop, "stopped by the %s after %.3g s", call->stopped_by, seconds);
}
