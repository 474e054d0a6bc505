/* The only door to threads.
 *
 * The work is cut into chunks by the caller, by counts alone, so that results cannot depend on the
 * number of threads; chunks are dealt to the caller's thread and to the pool's workers as they come
 * free.  The pool starts its workers at the first use, sleeps when idle (it spins for at most about
 * 20 us), and starts anew in a forked child.  A second caller that finds the pool busy works alone:
 * concurrent calls never wait for each other. */
#ifndef KC_THREAD_H
#define KC_THREAD_H

#include "base/kc_call.h"

/* worker: 0 .. kc_workers() - 1, for the worker's own workspace. */
typedef void kc_chunk_fn(void *data, size_t chunk, int32_t worker);

/* How many workers a kc_parallel_for over n_chunks would use at the most; 1 inside a chunk. */
int32_t kc_workers(const kc_call *call, size_t n_chunks);

/* Runs every chunk once, or stops between chunks: then the error says why.  A chunk should take
 * no longer than a few milliseconds, or poll by itself: that is how soon a stop is seen.
 *
 * Inside a chunk of the same call it runs its own chunks in order, on the thread it is on, as
 * worker 0.  Workers compute under the caller's floating-point environment.  Keeps
 * progress.fraction up to date, unless it is negative, where the function keeps it itself. */
kc_status kc_parallel_for(kc_call *call, size_t n_chunks, kc_chunk_fn *fn, void *data);

/* Lets the system find the pages of a large block now, a few at a time: it may take milliseconds
 * for each huge one, and a loop that meets many of them at once could not be stopped meanwhile.
 * What is there stays. */
kc_status kc_touch(kc_call *call, void *block, size_t n_bytes);

/* The same for rows that are `stride` bytes apart: what lies between them is not touched. */
kc_status kc_touch_rows(kc_call *call, void *block, size_t n_rows, size_t row_bytes, size_t stride);

#endif
