/* Threads that stay awake for many short rounds of work, some microseconds each: kc_parallel_for
 * would take about as long as such a round to begin and to end it.
 *
 *   kc_crew crew;
 *   kc_crew_hire(&crew, call, 4, fn, data);    up to 3 threads come, as soon as they are awake
 *   for (...) {
 *       kc_crew_begin(&crew, &order);          fn(data, &order, part) for every part, once
 *       think of the next order;
 *       kc_crew_end(&crew);                    the caller does its part, and waits for the others
 *       use what the parts have found;
 *       if (some milliseconds are over) {
 *           poll the call;
 *           kc_crew_muster(&crew);             calls back those who fell asleep meanwhile
 *       }
 *   }
 *   kc_crew_dismiss(&crew);
 *
 * A round may be begun while the one before it is under way, so that nobody waits for orders.  Each
 * part does one round after the other, but the others may be in the next one; rounds are ended in
 * their order.
 *
 * A part is always run by the same thread, whose caches then hold what belongs to it, or by the
 * caller where that thread is not there: a round never waits for a thread that sleeps.  A round
 * costs what it takes a cache line to travel from one CPU to another and one to travel back: orders
 * are on them, and answers.  The pool belongs to the crew as long as it is hired: whoever asks for
 * it meanwhile works alone.  There is no crew but the caller where the pool is busy, or has more
 * threads than there are CPUs for. */
#ifndef KC_CREW_H
#define KC_CREW_H

#include <fenv.h>

#include "base/kc_call.h"
#include "base/kc_pool.h"

/* Parts at the most: orders go out one after the other. */
#define KC_CREW_MOST 4

/* What an order may take. */
#define KC_CREW_BYTES 56

/* How many seconds a thread waits for an order: longer than a round takes, since whoever leaves is
 * missed until the next muster.  Contexts have it, for tests on machines where threads share CPUs.
 */
#define KC_CREW_PATIENCE 200e-6

typedef void kc_part_fn(void *data, const void *order, int32_t part);

/* Rounds that may be under way. */
#define KC_CREW_ROUNDS 2

/* What a part's thread and the caller tell each other, each on cache lines of its own: orders, in
 * turn on one line and the other, and the number of the last one that was carried out. */
typedef struct kc_crew_order {
    _Alignas(KC_ALIGN) atomic_uint number;
    _Alignas(8) char words[KC_CREW_BYTES];
} kc_crew_order;

typedef struct kc_crew_mail {
    kc_crew_order order[KC_CREW_ROUNDS];
    _Alignas(KC_ALIGN) atomic_uint answer;
} kc_crew_mail;

/* A round, and who was sent its order. */
typedef struct kc_crew_round {
    _Alignas(8) char order[KC_CREW_BYTES];
    unsigned number[KC_CREW_MOST]; /* of the order to the part's thread; 0: to none */
    bool is_done[KC_CREW_MOST];    /* by the caller */
} kc_crew_round;

/* Lines are those of the caller, those that nobody writes during rounds, and one for each message.
 */
typedef struct kc_crew {
    int32_t n_parts; /* 1: the caller is alone; it may be anyway */

    /* Of the crew itself. */
    kc_call *call;
    kc_pool *pool;                       /* NULL: alone */
    unsigned fork_count;                 /* of the process in which the threads are */
    unsigned n_begun, n_ended;           /* rounds */
    bool has_leaver;                     /* someone who was there is not any more */
    int32_t n_rests;                     /* musters to leave out, since a thread had lost its CPU */
    kc_crew_round round[KC_CREW_ROUNDS]; /* the last ones, in turn */
    unsigned n_sent[KC_CREW_MOST];       /* orders to the part's thread, since the last muster */
    _Alignas(KC_ALIGN) kc_part_fn *fn;
    void *data;
    double patience; /* of threads that wait for an order, in seconds */
    fenv_t env;      /* the caller's */
    kc_crew_mail mail[KC_CREW_MOST];
} kc_crew;

/* n_parts: how many are wanted; the crew may have fewer. */
void kc_crew_hire(kc_crew *crew, kc_call *call, int32_t n_parts, kc_part_fn *fn, void *data);

/* order: KC_CREW_BYTES. */
void kc_crew_begin(kc_crew *crew, const void *order);
void kc_crew_end(kc_crew *crew);

/* Only while no round is under way, as polls of the call. */
void kc_crew_muster(kc_crew *crew);
void kc_crew_dismiss(kc_crew *crew);

#endif
