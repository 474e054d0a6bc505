/* The threads of a context: they run one function, together with the thread that asks.
 *
 *   kc_pool *pool = kc_pool_borrow(ctx, 3);       NULL: busy, or no thread to be had
 *   kc_pool_open(pool, 3, task, data);            up to 3 threads begin task(data, 1 .. 3)
 *   task(data, 0);                                the caller does its part
 *   kc_pool_close(pool);                          a thread that has not begun by now does not
 *   while (!kc_pool_wait(pool, 0.01))             the others finish
 *       poll;
 *   kc_pool_return(ctx);
 *
 * Knows nothing of chunks or calls: kc_parallel_for (base/kc_thread.h) deals those. */
#ifndef KC_POOL_H
#define KC_POOL_H

#include "base/kc_context.h"

typedef void kc_task_fn(void *data, int32_t worker);

/* The pool, with up to n_threads threads besides the caller's (at most KC_MAX_THREADS - 1), for the
 * caller alone until kc_pool_return; starts what is missing.  NULL where another call has it, or
 * where not one thread can be started. */
kc_pool *kc_pool_borrow(kc_context *ctx, int32_t n_threads);
void kc_pool_return(kc_context *ctx);

/* Whether its threads may wait without sleeping: there is a CPU for each of them. */
bool kc_pool_may_spin(kc_pool *pool);

void kc_pool_open(kc_pool *pool, int32_t n_threads, kc_task_fn *task, void *data);
void kc_pool_close(kc_pool *pool);

/* Whether all threads that began have finished; waits up to `seconds` (below 1) for it. */
bool kc_pool_wait(kc_pool *pool, double seconds);

/* Ends and joins the threads.  Accepts NULL. */
void kc_pool_free(kc_context *ctx, kc_pool *pool);

#endif
