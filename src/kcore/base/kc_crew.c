/* Rounds by orders and reports.
 *
 * Every part but the caller's has two cache lines: one that the caller writes, with the order and
 * the number of its round, and one that the thread writes, with the report and the number of the
 * round it answers.  Each waits for the other's number to change.
 *
 * A thread that finds no new order for some time leaves, since the caller may be asking its own
 * caller, for as long as that takes: it exchanges the number of the last order for GONE, which
 * fails where a new one has come, and then adds to its report that it has left.  An order that
 * comes too late overwrites GONE; the caller then finds that it was not answered. */
#include "base/kc_crew.h"

#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_os.h"
#include "base/kc_thread.h"

#define SPIN_SECONDS 20e-6
#define SPIN_STEPS 32 /* between two looks at the clock */

/* With the number of a round, in a report: the thread has not come yet, or has left since. */
#define IS_AWAY (1u << 31)

/* In place of that number, in an order: the thread has left, or is about to say so; it is to. */
#define GONE (IS_AWAY + 1)
#define IS_OVER (IS_AWAY + 2)

#define MANY_ROUNDS (IS_AWAY / 2)

/* After so many looks at a report that does not come, the thread must have lost its CPU to others:
 * then the caller is better off alone for a while. */
#define PATIENCE 8192
#define RESTS 4

/* How long the caller sleeps between two looks at whether the others have left. */
#define WAIT_SECONDS 0.005

/* ---- Threads ------------------------------------------------------------------------------- */

/* Waits for another order than that of `round`; false where there will be none. */
static bool await_order(kc_crew_line *order, unsigned *round)
{
    const unsigned last = *round;
    double until = kc_clock() + SPIN_SECONDS;

    for (;;) {
        for (int i = 0; i < SPIN_STEPS; i++) {
            *round = atomic_load_explicit(&order->round, memory_order_acquire);
            if (*round != last)
                return *round != IS_OVER;
            kc_relax_cpu();
        }
        unsigned found = last;
        if (kc_clock() >= until && atomic_compare_exchange_strong(&order->round, &found, GONE))
            return false;
    }
}

static void stand_by(void *data, int32_t worker)
{
    kc_crew *crew = data;
    kc_crew_line *order = &crew->order[worker];
    kc_crew_line *report = &crew->report[worker];
    unsigned round = 0;
    unsigned answered = 0;

    fesetenv(&crew->env);
    atomic_store_explicit(&report->round, answered, memory_order_release);
    while (await_order(order, &round)) {
        crew->fn(crew->data, order->words, worker, report->words);
        answered = round;
        atomic_store_explicit(&report->round, answered, memory_order_release);
    }
    atomic_store_explicit(&report->round, answered | IS_AWAY, memory_order_release);
}

/* ---- The caller ---------------------------------------------------------------------------- */

static void open_pool(kc_crew *crew)
{
    crew->round = 0;
    crew->has_leaver = false;
    for (int32_t part = 1; part < crew->n_parts; part++) {
        atomic_store(&crew->order[part].round, 0);
        atomic_store(&crew->report[part].round, IS_AWAY);
    }
    kc_pool_open(crew->pool, crew->n_parts - 1, stand_by, crew);
}

static void close_pool(kc_crew *crew)
{
    for (int32_t part = 1; part < crew->n_parts; part++)
        atomic_store(&crew->order[part].round, IS_OVER);
    kc_pool_close(crew->pool);
    while (!kc_pool_wait(crew->pool, WAIT_SECONDS))
        continue;
}

/* Whether there are threads: not in a forked child, where they stayed with the parent. */
static bool has_threads(kc_crew *crew)
{
    if (crew->pool != NULL && crew->fork_count != kc_fork_count())
        crew->pool = NULL;
    return crew->pool != NULL;
}

void kc_crew_hire(kc_crew *crew, kc_call *call, int32_t n_parts, kc_part_fn *fn, void *data)
{
    crew->call = call;
    crew->n_parts = kc_workers(call, kc_min((size_t)n_parts, KC_CREW_MOST));
    crew->fn = fn;
    crew->data = data;
    crew->pool = crew->n_parts > 1 ? kc_pool_borrow(call->ctx, crew->n_parts - 1) : NULL;
    if (crew->pool != NULL && !kc_pool_may_spin(crew->pool)) {
        kc_pool_return(call->ctx);
        crew->pool = NULL;
    }
    if (crew->pool == NULL) {
        crew->n_parts = 1;
        return;
    }
    crew->fork_count = kc_fork_count();
    crew->n_rests = 0;
    fegetenv(&crew->env);
    open_pool(crew);
}

void kc_crew_muster(kc_crew *crew)
{
    if (!has_threads(crew) || (crew->n_rests > 0 && crew->n_rests-- > 1))
        return;
    for (int32_t part = 1; part < crew->n_parts; part++)
        crew->has_leaver |= atomic_load(&crew->order[part].round) == GONE;
    if (!crew->has_leaver && crew->round < MANY_ROUNDS)
        return;
    close_pool(crew);
    open_pool(crew);
}

void kc_crew_dismiss(kc_crew *crew)
{
    if (!has_threads(crew))
        return;
    close_pool(crew);
    kc_pool_return(crew->call->ctx);
    crew->pool = NULL;
}

/* Whether the thread of a part is there, and will see the order. */
static bool give_order(kc_crew *crew, int32_t part, const void *words)
{
    kc_crew_line *order = &crew->order[part];
    const unsigned answered = atomic_load_explicit(&crew->report[part].round, memory_order_acquire);

    if (crew->has_leaver || (answered & IS_AWAY) != 0)
        return false;
    memcpy(order->words, words, sizeof order->words);
    atomic_store_explicit(&order->round, crew->round, memory_order_release);
    return true;
}

/* False where the thread had left before the order came. */
static bool await_report(kc_crew *crew, int32_t part)
{
    for (unsigned i = 1;; i++) {
        const unsigned answered =
            atomic_load_explicit(&crew->report[part].round, memory_order_acquire);
        if ((answered & ~IS_AWAY) == crew->round)
            return true;
        if ((answered & IS_AWAY) != 0)
            return false;
        kc_relax_cpu();
        if (i % PATIENCE == 0) {
            crew->n_rests = RESTS;
            kc_os_yield();
        }
    }
}

/* All leave, until the next muster that is not left out. */
static void send_away(kc_crew *crew)
{
    for (int32_t part = 1; part < crew->n_parts; part++)
        atomic_store(&crew->order[part].round, IS_OVER);
    crew->has_leaver = true;
}

static void run_part(kc_crew *crew, const void *order, int32_t part)
{
    crew->fn(crew->data, order, part, crew->report[part].words);
}

void kc_crew_run(kc_crew *crew, const void *order)
{
    bool is_given[KC_CREW_MOST] = {false};

    if (crew->pool == NULL) {
        for (int32_t part = 0; part < crew->n_parts; part++)
            run_part(crew, order, part);
        return;
    }
    crew->round++;
    for (int32_t part = 1; part < crew->n_parts; part++)
        is_given[part] = give_order(crew, part, order);
    for (int32_t part = 0; part < crew->n_parts; part++)
        if (!is_given[part])
            run_part(crew, order, part);
    for (int32_t part = 1; part < crew->n_parts; part++)
        if (is_given[part] && !await_report(crew, part)) {
            crew->has_leaver = true;
            run_part(crew, order, part);
        }
    if (crew->n_rests > 0 && !crew->has_leaver)
        send_away(crew);
}
