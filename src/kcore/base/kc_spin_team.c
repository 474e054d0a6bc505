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
#include "base/kc_spin_team.h"

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
static bool await_order(kc_spin_order *order, unsigned number, double patience)
{
    const unsigned last = number > KC_SPIN_ROUNDS ? number - KC_SPIN_ROUNDS : 0;
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
    kc_spin_team *team = data;
    kc_spin_mail *mail = &team->mail[worker];

    fesetenv(&team->env);
    for (unsigned number = 0;;) {
        atomic_store_explicit(&mail->answer, number, memory_order_release);
        kc_spin_order *order = &mail->order[(number + 1) % KC_SPIN_ROUNDS];
        if (!await_order(order, number + 1, team->patience)) {
            atomic_store_explicit(&mail->answer, number | IS_AWAY, memory_order_release);
            return;
        }
        team->fn(team->data, order->words, worker);
        number++;
    }
}

/* ---- Which threads are there --------------------------------------------------------------- */

static void open_pool(kc_spin_team *team)
{
    team->has_gap = false;
    for (int32_t part = 1; part < team->n_parts; part++) {
        kc_spin_mail *mail = &team->mail[part];
        team->n_sent[part] = 0;
        for (size_t k = 0; k < KC_SPIN_ROUNDS; k++)
            atomic_store(&mail->order[k].number, 0);
        atomic_store(&mail->answer, IS_AWAY);
    }
    kc_pool_open(team->pool, team->n_parts - 1, stand_by, team);
}

static void close_pool(kc_spin_team *team)
{
    assert(team->n_begun == team->n_ended);
    for (int32_t part = 1; part < team->n_parts; part++)
        for (size_t k = 0; k < KC_SPIN_ROUNDS; k++)
            atomic_store(&team->mail[part].order[k].number, IS_OVER);
    kc_pool_close(team->pool);
    while (!kc_pool_wait(team->pool, WAIT_SECONDS))
        continue;
}

/* Whether there are threads: not in a forked child, where they stayed with the parent. */
static bool has_threads(const kc_spin_team *team)
{
    return team->pool != NULL && team->fork_count == kc_fork_count();
}

void kc_spin_team_open(kc_spin_team *team, kc_call *call, int32_t n_parts, kc_part_fn *fn,
                       void *data)
{
    team->call = call;
    team->n_parts = kc_workers(call, kc_min((size_t)n_parts, KC_SPIN_MAX_PARTS));
    team->fn = fn;
    team->data = data;
    team->patience = call->ctx->spin_patience;
    team->n_begun = team->n_ended = 0;
    team->has_gap = false;
    team->n_rests = 0;
    team->pool = team->n_parts > 1 ? kc_pool_borrow(call->ctx, team->n_parts - 1) : NULL;
    if (team->pool != NULL && !kc_pool_may_spin(team->pool)) {
        kc_pool_return(call->ctx);
        team->pool = NULL;
    }
    if (team->pool == NULL) {
        team->n_parts = 1;
        return;
    }
    team->fork_count = kc_fork_count();
    fegetenv(&team->env);
    open_pool(team);
}

/* Whether all threads are there, or may be. */
static bool is_complete(const kc_spin_team *team)
{
    bool is_any_gone = team->has_gap;

    for (int32_t part = 1; part < team->n_parts; part++) {
        is_any_gone |= team->n_sent[part] >= MANY_ORDERS;
        for (size_t k = 0; k < KC_SPIN_ROUNDS; k++)
            is_any_gone |= atomic_load(&team->mail[part].order[k].number) == GONE;
    }
    return !is_any_gone;
}

void kc_spin_team_wake(kc_spin_team *team)
{
    if (!has_threads(team) || (team->n_rests > 0 && team->n_rests-- > 1) || is_complete(team))
        return;
    close_pool(team);
    open_pool(team);
}

void kc_spin_team_close(kc_spin_team *team)
{
    if (!has_threads(team))
        return;
    close_pool(team);
    kc_pool_return(team->call->ctx);
    team->pool = NULL;
}

/* ---- Rounds -------------------------------------------------------------------------------- */

/* Returns the order's number. */
static unsigned send_order(kc_spin_team *team, int32_t part, const void *words)
{
    const unsigned number = team->n_sent[part] + 1;
    kc_spin_order *order = &team->mail[part].order[number % KC_SPIN_ROUNDS];

    memcpy(order->words, words, sizeof order->words);
    atomic_store_explicit(&order->number, number, memory_order_release);
    return team->n_sent[part] = number;
}

static bool is_there(const kc_spin_team *team, int32_t part)
{
    return (atomic_load_explicit(&team->mail[part].answer, memory_order_acquire) & IS_AWAY) == 0;
}

/* False where the thread had left before the order of that number came. */
static bool await_answer(kc_spin_team *team, int32_t part, unsigned number)
{
    for (unsigned i = 1;; i++) {
        const unsigned answer =
            atomic_load_explicit(&team->mail[part].answer, memory_order_acquire);
        if ((answer & ~IS_AWAY) >= number)
            return true;
        if ((answer & IS_AWAY) != 0)
            return false;
        kc_relax_cpu();
        if (i % ANSWER_LOOKS == 0) {
            team->n_rests = RESTS;
            kc_os_yield();
        }
    }
}

static void run_part(kc_spin_team *team, kc_spin_round *round, int32_t part)
{
    if (!round->is_done[part])
        team->fn(team->data, round->order, part);
    round->is_done[part] = true;
}

/* Before another thread goes on with a part: the caller does what it has to do of it in the round
 * that is under way. */
static void catch_up(kc_spin_team *team, int32_t part)
{
    kc_spin_round *round = &team->round[team->n_ended % KC_SPIN_ROUNDS];

    if (team->n_begun != team->n_ended && round->number[part] == 0)
        run_part(team, round, part);
}

void kc_spin_team_begin(kc_spin_team *team, const void *order)
{
    kc_spin_round *round = &team->round[team->n_begun % KC_SPIN_ROUNDS];
    const bool is_alone = !has_threads(team) || team->has_gap;

    assert(team->n_begun - team->n_ended < KC_SPIN_ROUNDS);
    *round = (kc_spin_round){.number = {0}};
    memcpy(round->order, order, sizeof round->order);
    for (int32_t part = 1; part < team->n_parts && !is_alone; part++)
        if (is_there(team, part)) {
            catch_up(team, part);
            round->number[part] = send_order(team, part, order);
        }
    team->n_begun++;
}

void kc_spin_team_end(kc_spin_team *team)
{
    kc_spin_round *round = &team->round[team->n_ended % KC_SPIN_ROUNDS];

    assert(team->n_begun != team->n_ended);
    for (int32_t part = 0; part < team->n_parts; part++)
        if (round->number[part] == 0)
            run_part(team, round, part);
    for (int32_t part = 1; part < team->n_parts; part++)
        if (round->number[part] != 0 && !await_answer(team, part, round->number[part])) {
            team->has_gap = true;
            run_part(team, round, part);
        }
    /* A thread that lost its CPU is sent no more orders, until a wake that is not left out. */
    team->has_gap |= team->n_rests > 0;
    team->n_ended++;
}
