/* Threads that stay awake for many short rounds of work, some microseconds each: kc_parallel_for
 * would take about as long as such a round to begin and to end it.
 *
 *   kc_crew crew;
 *   kc_crew_hire(&crew, call, 4, fn, data);    up to 3 threads come, as soon as they are awake
 *   for (...) {
 *       kc_crew_run(&crew, &order);            fn(data, &order, part, report) for every part, once
 *       use the report of every part;
 *       if (some milliseconds are over) {
 *           poll the call;
 *           kc_crew_muster(&crew);             calls back those who fell asleep meanwhile
 *       }
 *   }
 *   kc_crew_dismiss(&crew);
 *
 * A part is always run by the same thread, whose caches then hold what belongs to it, or by the
 * caller where that thread is not there: a round never waits for a thread that sleeps.  A round
 * costs what it takes two cache lines to travel from one CPU to another: orders and reports are on
 * them.  The pool belongs to the crew as long as it is hired: whoever asks for it meanwhile works
 * alone.  There is no crew but the caller where the pool is busy, or has more threads than there
 * are CPUs for. */
#ifndef KC_CREW_H
#define KC_CREW_H

#include <fenv.h>

#include "base/kc_call.h"
#include "base/kc_pool.h"

/* Parts at the most: orders go out one after the other. */
#define KC_CREW_MOST 4

/* What an order, and a report, may take. */
#define KC_CREW_BYTES 56

typedef void kc_part_fn(void *data, const void *order, int32_t part, void *report);

/* Words to or from a thread, on a cache line of their own. */
typedef struct kc_crew_line {
    _Alignas(KC_ALIGN) atomic_uint round;
    _Alignas(8) char words[KC_CREW_BYTES];
} kc_crew_line;

/* Lines are those of the caller, those that nobody writes during rounds, and one for each message.
 */
typedef struct kc_crew {
    int32_t n_parts; /* 1: the caller is alone; it may be anyway */

    /* Of the crew itself. */
    kc_call *call;
    kc_pool *pool;       /* NULL: alone */
    unsigned fork_count; /* of the process in which the threads are */
    unsigned round;
    bool has_leaver; /* someone who was there is not any more */
    int32_t n_rests; /* musters to leave out, since a thread had lost its CPU */
    _Alignas(KC_ALIGN) kc_part_fn *fn;
    void *data;
    fenv_t env; /* the caller's */
    kc_crew_line order[KC_CREW_MOST], report[KC_CREW_MOST];
} kc_crew;

/* n_parts: how many are wanted; the crew may have fewer. */
void kc_crew_hire(kc_crew *crew, kc_call *call, int32_t n_parts, kc_part_fn *fn, void *data);

/* order: KC_CREW_BYTES. */
void kc_crew_run(kc_crew *crew, const void *order);
void kc_crew_muster(kc_crew *crew);
void kc_crew_dismiss(kc_crew *crew);

/* What a part has reported in the last round. */
KC_INLINE const void *kc_crew_report(const kc_crew *crew, int32_t part)
{
    return crew->report[part].words;
}

#endif
