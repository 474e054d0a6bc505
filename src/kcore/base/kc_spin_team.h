/* Threads that stay awake for many short rounds of work, some microseconds each: kc_parallel_for
 * would take about as long as such a round to begin and to end it.
 *
 *   kc_spin_team team;
 *   kc_spin_team_open(&team, call, 4, fn, data);   up to 3 threads come, as soon as they are awake
 *   for (...) {
 *       kc_spin_team_begin(&team, &order);         fn(data, &order, part) for every part, once
 *       think of the next order;
 *       kc_spin_team_end(&team);                   the caller does its part, waits for the others
 *       use what the parts have found;
 *       if (some milliseconds are over) {
 *           poll the call;
 *           kc_spin_team_wake(&team);              calls threads back that fell asleep meanwhile
 *       }
 *   }
 *   kc_spin_team_close(&team);
 *
 * A round may be begun while the one before it is under way, so that no thread waits for orders.
 * Each part does one round after the other, but the others may be in the next one; rounds are ended
 * in their order.
 *
 * A part is always run by the same thread, whose caches then hold what belongs to it, or by the
 * caller where that thread is not there: a round never waits for a thread that sleeps.  A round
 * costs what it takes a cache line to travel from one CPU to another and one to travel back: orders
 * are on them, and answers.  The pool belongs to the team while it is open: another call that wants
 * the pool meanwhile works on its own thread.  There is no team but the caller where the pool is
 * busy, or has more threads than there are CPUs for. */
#ifndef KC_SPIN_TEAM_H
#define KC_SPIN_TEAM_H

#include <fenv.h>

#include "base/kc_call.h"
#include "base/kc_pool.h"

/* Parts at the most: orders go out one after the other. */
#define KC_SPIN_MAX_PARTS 4

/* What an order may take. */
#define KC_SPIN_ORDER_BYTES 56

/* How many seconds a thread waits for an order: longer than a round takes, since a thread that
 * leaves comes back at the next wake only.  Contexts have it, for tests on machines where threads
 * share CPUs. */
#define KC_SPIN_PATIENCE 200e-6

typedef void kc_part_fn(void *data, const void *order, int32_t part);

/* Rounds that may be under way. */
#define KC_SPIN_ROUNDS 2

/* What a part's thread and the caller tell each other, each on cache lines of its own: orders, in
 * turn on one line and the other, and the number of the last one that was carried out. */
typedef struct kc_spin_order {
    _Alignas(KC_ALIGN) atomic_uint number;
    _Alignas(8) char words[KC_SPIN_ORDER_BYTES];
} kc_spin_order;

typedef struct kc_spin_mail {
    kc_spin_order order[KC_SPIN_ROUNDS];
    _Alignas(KC_ALIGN) atomic_uint answer;
} kc_spin_mail;

/* A round, and which threads were sent its order. */
typedef struct kc_spin_round {
    _Alignas(8) char order[KC_SPIN_ORDER_BYTES];
    unsigned number[KC_SPIN_MAX_PARTS]; /* of the order to the part's thread; 0: to none */
    bool is_done[KC_SPIN_MAX_PARTS];    /* by the caller */
} kc_spin_round;

/* Cache lines are those of the caller, those that no thread writes during rounds, and one for each
 * message. */
typedef struct kc_spin_team {
    int32_t n_parts; /* 1: the caller is alone; it may be anyway */

    /* Of the team itself. */
    kc_call *call;
    kc_pool *pool;                       /* NULL: alone */
    unsigned fork_count;                 /* of the process in which the threads are */
    unsigned n_begun, n_ended;           /* rounds */
    bool has_gap;                        /* a thread that was there is not any more */
    int32_t n_rests;                     /* wakes to leave out, since a thread had lost its CPU */
    kc_spin_round round[KC_SPIN_ROUNDS]; /* the last ones, in turn */
    unsigned n_sent[KC_SPIN_MAX_PARTS];  /* orders to the part's thread, since the last wake */
    _Alignas(KC_ALIGN) kc_part_fn *fn;
    void *data;
    double patience; /* of threads that wait for an order, in seconds */
    fenv_t env;      /* the caller's */
    kc_spin_mail mail[KC_SPIN_MAX_PARTS];
} kc_spin_team;

/* n_parts: how many are wanted; the team may have fewer. */
void kc_spin_team_open(kc_spin_team *team, kc_call *call, int32_t n_parts, kc_part_fn *fn,
                       void *data);

/* order: KC_SPIN_ORDER_BYTES. */
void kc_spin_team_begin(kc_spin_team *team, const void *order);
void kc_spin_team_end(kc_spin_team *team);

/* Only while no round is under way, as polls of the call. */
void kc_spin_team_wake(kc_spin_team *team);
void kc_spin_team_close(kc_spin_team *team);

#endif
