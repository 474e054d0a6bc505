/* base/kc_spin_team.h: every part of every round once and in order, whichever thread sleeps, is
 * late or is busy, and whether or not rounds overlap. */
#include "base/kc_spin_team.h"

#include <string.h>

#include "tally.h"

enum { N_PARTS = 3 };

/* Threads wait for orders this long, several times as long as a system lets a thread run before it
 * is another's turn: there is help even where the machine is so busy that all share one CPU. */
#define PATIENCE 0.025
#define SLEEP (2 * PATIENCE) /* a pause in which threads that wait fall asleep */

typedef struct work {
    pthread_t caller;
    atomic_long runs[N_PARTS];
    atomic_int n_helped, n_wrong;
    double found[N_PARTS][KC_SPIN_ROUNDS]; /* by each part, in the last rounds */
    long found_in[N_PARTS][KC_SPIN_ROUNDS];
    bool is_overlapped;                    /* the next round is begun before one is ended */
    double busy_seconds;                   /* that every part takes */
    double caller_seconds, helper_seconds; /* that every 100th round takes more */
} work;

typedef union order {
    struct {
        long round;
        double number;
    };
    char words[KC_SPIN_ORDER_BYTES];
} order;

static void run_part(void *data, const void *words, int32_t part)
{
    work *w = data;
    const order *o = words;
    const bool is_caller = pthread_equal(pthread_self(), w->caller);
    const double seconds = is_caller ? w->caller_seconds : w->helper_seconds;

    if (atomic_fetch_add(&w->runs[part], 1) != o->round - 1)
        atomic_fetch_add(&w->n_wrong, 1); /* not the next one */
    if (w->busy_seconds > 0)
        for (double until = kc_clock() + w->busy_seconds; kc_clock() < until;)
            continue;
    if (!is_caller)
        atomic_fetch_add(&w->n_helped, 1);
    if (part == 0 && !is_caller)
        atomic_fetch_add(&w->n_wrong, 1);
    if (seconds > 0 && o->round % 100 == 50 && (part == 0) == is_caller)
        pause_for(seconds);
    w->found[part][o->round % KC_SPIN_ROUNDS] = o->number / 2;
    w->found_in[part][o->round % KC_SPIN_ROUNDS] = o->round;
}

/* Another thread has run a part, or had a minute to do so. */
static bool had_help(const work *w, double start)
{
    return atomic_load(&w->n_helped) > 0 || kc_clock() > start + 60;
}

static bool is_right(const work *w, int32_t n_parts, long round)
{
    bool is_all = true;

    for (int32_t part = 0; part < n_parts; part++)
        is_all &= w->found_in[part][round % KC_SPIN_ROUNDS] == round &&
                  w->found[part][round % KC_SPIN_ROUNDS] == (double)round + 0.5;
    return is_all;
}

/* Ends the rounds after *ended up to `last`, each of which must have been run by all. */
static bool end_rounds(kc_spin_team *team, const work *w, long *ended, long last)
{
    bool is_all = true;

    while (*ended < last) {
        kc_spin_team_end(team);
        is_all &= is_right(w, team->n_parts, ++*ended);
    }
    return is_all;
}

/* n rounds, and more until there was help, with a wake after every tenth; false where a part was
 * not run once in each. */
static bool runs_each_once(kc_call *call, work *w, int n_rounds, double pause)
{
    kc_spin_team team;
    bool is_all = true;
    double start = kc_clock();
    long ended = 0;

    w->caller = pthread_self();
    kc_spin_team_open(&team, call, N_PARTS, run_part, w);
    for (long round = 1; round <= n_rounds || (team.n_parts > 1 && !had_help(w, start)); round++) {
        order o = {.round = round, .number = 2.0 * (double)round + 1};
        kc_spin_team_begin(&team, &o);
        is_all &= end_rounds(&team, w, &ended, w->is_overlapped ? round - 1 : round);
        if (round % 10 == 0) {
            is_all &= end_rounds(&team, w, &ended, round);
            if (pause > 0 && round % 100 == 0)
                pause_for(pause);
            kc_spin_team_wake(&team);
        }
    }
    while (team.n_ended != team.n_begun)
        kc_spin_team_end(&team);
    kc_spin_team_close(&team);
    for (int32_t part = 0; part < team.n_parts; part++)
        is_all &= atomic_load(&w->runs[part]) == (long)team.n_begun;
    return is_all && atomic_load(&w->n_wrong) == 0;
}

/* As many CPUs as the pool is to believe in, and patient threads. */
static kc_context *make_team_context(void)
{
    kc_context *ctx = make_context(N_PARTS, NULL);

    ctx->n_cpus = N_PARTS;
    ctx->spin_patience = PATIENCE;
    return ctx;
}

static void check_rounds(work *w, int n_rounds, double pause)
{
    kc_context *ctx = make_team_context();
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "rounds", NULL) == KC_OK);
    CHECK(runs_each_once(&call, w, n_rounds, pause));
    CHECK(atomic_load(&w->n_helped) > 0);
    CHECK(atomic_load(&ctx->pool_holder) == 0);
    CHECK(kc_parallel_for(&call, 0, NULL, NULL) == KC_OK);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

static void every_part_runs_once_in_every_round(void)
{
    for (int is_overlapped = 0; is_overlapped < 2; is_overlapped++) {
        work w = {.is_overlapped = is_overlapped};
        check_rounds(&w, 50000, 0);
    }
}

static void who_falls_asleep_is_called_back(void)
{
    for (int is_overlapped = 0; is_overlapped < 2; is_overlapped++) {
        work w = {.is_overlapped = is_overlapped, .busy_seconds = 5e-6};
        check_rounds(&w, 1000, SLEEP);
    }
}

/* A thread that answers and leaves before the caller looks has answered. */
static void a_caller_that_takes_long_loses_no_answer(void)
{
    for (int is_overlapped = 0; is_overlapped < 2; is_overlapped++) {
        work w = {.is_overlapped = is_overlapped, .busy_seconds = 5e-6, .caller_seconds = SLEEP};
        check_rounds(&w, 1000, 0);
    }
}

static void a_thread_that_takes_long_is_waited_for(void)
{
    for (int is_overlapped = 0; is_overlapped < 2; is_overlapped++) {
        work w = {.is_overlapped = is_overlapped, .busy_seconds = 5e-6, .helper_seconds = 0.002};
        check_rounds(&w, 5000, 0);
    }
}

static void where_the_pool_is_busy_the_caller_is_alone(void)
{
    kc_context *ctx = make_team_context();
    held_call *held = start_held_call(ctx);
    work w = {0};
    kc_call call;
    kc_spin_team team;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "rounds", NULL) == KC_OK);
    kc_spin_team_open(&team, &call, N_PARTS, run_part, &w);
    CHECK(team.n_parts == 1);
    kc_spin_team_close(&team);
    CHECK(runs_each_once(&call, &w, 100, 0));
    CHECK(atomic_load(&w.n_helped) == 0 && atomic_load(&w.runs[1]) == 0);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    end_held_call(held);
    kc_context_free(ctx);
}

static void without_a_cpu_for_each_the_caller_is_alone(void)
{
    kc_context *ctx = make_context(N_PARTS, NULL);
    kc_call call;
    kc_spin_team team;
    work w = {0};

    ctx->n_cpus = N_PARTS - 1;
    REQUIRE(kc_call_begin(&call, ctx, NULL, "rounds", NULL) == KC_OK);
    kc_spin_team_open(&team, &call, N_PARTS, run_part, &w);
    CHECK(team.n_parts == 1);
    kc_spin_team_close(&team);
    CHECK(atomic_load(&ctx->pool_holder) == 0);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

static void a_team_is_never_larger_than_requested(void)
{
    kc_context *ctx = make_team_context();
    kc_call call;
    kc_spin_team team;
    work w = {0};

    REQUIRE(kc_call_begin(&call, ctx, NULL, "rounds", NULL) == KC_OK);
    for (int32_t n = 1; n <= 8; n++) {
        kc_spin_team_open(&team, &call, n, run_part, &w);
        CHECK(team.n_parts == (n < N_PARTS ? n : N_PARTS));
        kc_spin_team_close(&team);
    }
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

int main(void)
{
    RUN(every_part_runs_once_in_every_round);
    RUN(who_falls_asleep_is_called_back);
    RUN(a_caller_that_takes_long_loses_no_answer);
    RUN(a_thread_that_takes_long_is_waited_for);
    RUN(where_the_pool_is_busy_the_caller_is_alone);
    RUN(without_a_cpu_for_each_the_caller_is_alone);
    RUN(a_team_is_never_larger_than_requested);
    return kc_test_end();
}
