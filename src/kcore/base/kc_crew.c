/* Rounds by orders and answers.
 *
 * Every part but the caller's has lines that the caller writes, with an order and its number, and
 * one that the thread writes, with the number of the last order that it has carried out.  Each
 * waits for the other's next number.  Orders are numbered from 1 on, thread by thread; those that
 * follow each other are on different lines, so that one can be written while the other is read.
 *
 * A thread that finds no new order for some time leaves, since the caller may be asking its own
 * caller, for as long as that takes: where the next order would be, it exchanges the number of the
 * last but one for GONE, which fails where a new one has come, and then adds to its answer that it
 * has left.  An order that comes too late overwrites GONE; the caller then finds that it was not
 * answered. */
#include "base/kc_crew.h"

#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_os.h"
#include "base/kc_thread.h"

/* Looks for an order between two looks at the clock. */
#define LOOKS 32

/* With its number, in an answer: the thread has not come yet, or has left since. */
#define IS_AWAY (1u << 31)

/* In place of a number, in an order: the thread has left, or is about to say so; it is to. */
#define GONE (IS_AWAY + 1)
#define IS_OVER (IS_AWAY + 2)

#define MANY_ORDERS (IS_AWAY / 2)

/* After so many looks for an answer that does not come, the thread must have lost its CPU to
 * others: then the caller is better off alone for a while. */
#define ANSWER_LOOKS 8192
#define RESTS 4

/* How long the caller sleeps between two looks at whether the others have left. */
#define WAIT_SECONDS 0.005

/* ---- Threads ------------------------------------------------------------------------------- */

/* Waits for the order of that number; false where there will be none. */
static bool await_order(kc_crew_order *order, unsigned number, double patience)
{
    const unsigned last = number > KC_CREW_ROUNDS ? number - KC_CREW_ROUNDS : 0;
    double until = kc_clock() + patience;

    for (;;) {
        for (int i = 0; i < LOOKS; i++) {
            unsigned here = atomic_load_explicit(&order->number, memory_order_acquire);
            if (here != last)
                return here != IS_OVER;
            kc_relax_cpu();
        }
        unsigned found = last;
        if (kc_clock() >= until && atomic_compare_exchange_strong(&order->number, &found, GONE))
            return false;
    }
}

static void stand_by(void *data, int32_t worker)
{
    kc_crew *crew = data;
    kc_crew_mail *mail = &crew->mail[worker];

    fesetenv(&crew->env);
    for (unsigned number = 0;;) {
        atomic_store_explicit(&mail->answer, number, memory_order_release);
        kc_crew_order *order = &mail->order[(number + 1) % KC_CREW_ROUNDS];
        if (!await_order(order, number + 1, crew->patience)) {
            atomic_store_explicit(&mail->answer, number | IS_AWAY, memory_order_release);
            return;
        }
        crew->fn(crew->data, order->words, worker);
        number++;
    }
}

/* ---- Who is there -------------------------------------------------------------------------- */

static void open_pool(kc_crew *crew)
{
    crew->has_leaver = false;
    for (int32_t part = 1; part < crew->n_parts; part++) {
        kc_crew_mail *mail = &crew->mail[part];
        crew->n_sent[part] = 0;
        for (size_t k = 0; k < KC_CREW_ROUNDS; k++)
            atomic_store(&mail->order[k].number, 0);
        atomic_store(&mail->answer, IS_AWAY);
    }
    kc_pool_open(crew->pool, crew->n_parts - 1, stand_by, crew);
}

static void close_pool(kc_crew *crew)
{
    assert(crew->n_begun == crew->n_ended);
    for (int32_t part = 1; part < crew->n_parts; part++)
        for (size_t k = 0; k < KC_CREW_ROUNDS; k++)
            atomic_store(&crew->mail[part].order[k].number, IS_OVER);
    kc_pool_close(crew->pool);
    while (!kc_pool_wait(crew->pool, WAIT_SECONDS))
        continue;
}

/* Whether there are threads: not in a forked child, where they stayed with the parent. */
static bool has_threads(const kc_crew *crew)
{
    return crew->pool != NULL && crew->fork_count == kc_fork_count();
}

void kc_crew_hire(kc_crew *crew, kc_call *call, int32_t n_parts, kc_part_fn *fn, void *data)
{
    crew->call = call;
    crew->n_parts = kc_workers(call, kc_min((size_t)n_parts, KC_CREW_MOST));
    crew->fn = fn;
    crew->data = data;
    crew->patience = call->ctx->crew_patience;
    crew->n_begun = crew->n_ended = 0;
    crew->has_leaver = false;
    crew->n_rests = 0;
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
    fegetenv(&crew->env);
    open_pool(crew);
}

/* Whether everybody is there, or may be. */
static bool is_complete(const kc_crew *crew)
{
    bool is_any_gone = crew->has_leaver;

    for (int32_t part = 1; part < crew->n_parts; part++) {
        is_any_gone |= crew->n_sent[part] >= MANY_ORDERS;
        for (size_t k = 0; k < KC_CREW_ROUNDS; k++)
            is_any_gone |= atomic_load(&crew->mail[part].order[k].number) == GONE;
    }
    return !is_any_gone;
}

void kc_crew_muster(kc_crew *crew)
{
    if (!has_threads(crew) || (crew->n_rests > 0 && crew->n_rests-- > 1) || is_complete(crew))
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

/* ---- Rounds -------------------------------------------------------------------------------- */

/* Returns the order's number. */
static unsigned send_order(kc_crew *crew, int32_t part, const void *words)
{
    const unsigned number = crew->n_sent[part] + 1;
    kc_crew_order *order = &crew->mail[part].order[number % KC_CREW_ROUNDS];

    memcpy(order->words, words, sizeof order->words);
    atomic_store_explicit(&order->number, number, memory_order_release);
    return crew->n_sent[part] = number;
}

static bool is_there(const kc_crew *crew, int32_t part)
{
    return (atomic_load_explicit(&crew->mail[part].answer, memory_order_acquire) & IS_AWAY) == 0;
}

/* False where the thread had left before the order of that number came. */
static bool await_answer(kc_crew *crew, int32_t part, unsigned number)
{
    for (unsigned i = 1;; i++) {
        const unsigned answer =
            atomic_load_explicit(&crew->mail[part].answer, memory_order_acquire);
        if ((answer & ~IS_AWAY) >= number)
            return true;
        if ((answer & IS_AWAY) != 0)
            return false;
        kc_relax_cpu();
        if (i % ANSWER_LOOKS == 0) {
            crew->n_rests = RESTS;
            kc_os_yield();
        }
    }
}

static void run_part(kc_crew *crew, kc_crew_round *round, int32_t part)
{
    if (!round->is_done[part])
        crew->fn(crew->data, round->order, part);
    round->is_done[part] = true;
}

/* Before someone else goes on with a part: what is left of it to the caller, of the round that is
 * under way. */
static void catch_up(kc_crew *crew, int32_t part)
{
    kc_crew_round *round = &crew->round[crew->n_ended % KC_CREW_ROUNDS];

    if (crew->n_begun != crew->n_ended && round->number[part] == 0)
        run_part(crew, round, part);
}

void kc_crew_begin(kc_crew *crew, const void *order)
{
    kc_crew_round *round = &crew->round[crew->n_begun % KC_CREW_ROUNDS];
    const bool is_alone = !has_threads(crew) || crew->has_leaver;

    assert(crew->n_begun - crew->n_ended < KC_CREW_ROUNDS);
    *round = (kc_crew_round){.number = {0}};
    memcpy(round->order, order, sizeof round->order);
    for (int32_t part = 1; part < crew->n_parts && !is_alone; part++)
        if (is_there(crew, part)) {
            catch_up(crew, part);
            round->number[part] = send_order(crew, part, order);
        }
    crew->n_begun++;
}

void kc_crew_end(kc_crew *crew)
{
    kc_crew_round *round = &crew->round[crew->n_ended % KC_CREW_ROUNDS];

    assert(crew->n_begun != crew->n_ended);
    for (int32_t part = 0; part < crew->n_parts; part++)
        if (round->number[part] == 0)
            run_part(crew, round, part);
    for (int32_t part = 1; part < crew->n_parts; part++)
        if (round->number[part] != 0 && !await_answer(crew, part, round->number[part])) {
            crew->has_leaver = true;
            run_part(crew, round, part);
        }
    /* Who lost its CPU is sent no more orders, until a muster that is not left out. */
    crew->has_leaver |= crew->n_rests > 0;
    crew->n_ended++;
}
