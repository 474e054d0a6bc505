/* base/kc_call.h: how a call begins, is asked to stop, and ends. */
#include "base/kc_call.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/kc_alloc.h"
#include "base/kc_clock.h"
#include "base/kc_context.h"
#include "base/kc_cpu.h"
#include "fault.h"
#include "kc_test.h"

static kc_context *make_context(kc_fault *fault)
{
    return kc_fault_context((kc_context_config){.n_threads = 3}, fault);
}

static void end_context(kc_context *ctx, const kc_fault *fault)
{
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(fault));
}

static void a_call_without_a_run_takes_the_defaults(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "gram", NULL) == KC_OK);
    CHECK(call.n_threads == 3);
    CHECK(isinf(call.deadline));
    CHECK(strcmp(call.progress.phase, "gram") == 0);
    CHECK(isnan(call.progress.objective) && isnan(call.progress.violation));
    CHECK(call.progress.n_iter == 0 && call.progress.fraction == 0);
    CHECK(kc_call_poll(&call) == KC_OK && !kc_call_stopped(&call));
    CHECK(kc_call_end(&call, KC_ERR_RANGE) == KC_ERR_RANGE); /* passes on what it is given */
    end_context(ctx, &fault);
}

static void threads_come_from_the_run_then_the_context(void)
{
    static const int32_t asked[] = {0, 1, 7, KC_MAX_THREADS, KC_MAX_THREADS + 1, INT32_MAX};
    static const int32_t given[] = {3, 1, 7, KC_MAX_THREADS, KC_MAX_THREADS, KC_MAX_THREADS};
    kc_fault fault;
    kc_context *ctx = make_context(&fault);

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        kc_run run = {.struct_size = sizeof run, .n_threads = asked[i]};
        kc_call call;

        REQUIRE(kc_call_begin(&call, ctx, &run, "gram", NULL) == KC_OK);
        CHECK(call.n_threads == given[i]);
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    }
    end_context(ctx, &fault);
}

static void expect_refusal(kc_context *ctx, const kc_run *run, const char *text)
{
    kc_error err = {.status = KC_OK};
    kc_call call;
    size_t before = ctx != NULL ? kc_context_memory(ctx).current : 0;

    CHECK(kc_call_begin(&call, ctx, run, "gram", &err) == KC_ERR_ARG);
    CHECK(err.status == KC_ERR_ARG);
    CHECK(strstr(err.text, text) != NULL);
    CHECK(ctx == NULL || kc_context_memory(ctx).current == before);
}

static void nonsense_is_refused_by_name(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_run run = {.struct_size = sizeof run};

    expect_refusal(NULL, &run, "ctx is NULL");
    run.n_threads = -1;
    expect_refusal(ctx, &run, "run.n_threads is -1");
    run.n_threads = 0;
    run.time_limit = NAN;
    expect_refusal(ctx, &run, "run.time_limit is");
    run.time_limit = -1;
    expect_refusal(ctx, &run, "run.time_limit is -1");
    run.time_limit = -INFINITY;
    expect_refusal(ctx, &run, "run.time_limit is -inf");
    run = (kc_run){0};
    expect_refusal(ctx, &run, "run.struct_size is 0, must be sizeof");
    run.struct_size = 7;
    expect_refusal(ctx, &run, "run.struct_size is 7, must be sizeof");
    memset(&run, 0xff, sizeof run); /* never filled in */
    expect_refusal(ctx, &run, "must be sizeof");
    end_context(ctx, &fault);
}

static void an_older_struct_leaves_the_rest_at_zero(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_run run;
    kc_call call;

    /* Up to n_threads, or up to time_limit; what follows is not the library's business. */
    memset(&run, 0xff, sizeof run);
    run.struct_size = offsetof(kc_run, time_limit);
    run.n_threads = 2;
    REQUIRE(kc_call_begin(&call, ctx, &run, "gram", NULL) == KC_OK);
    CHECK(call.n_threads == 2 && isinf(call.deadline));
    CHECK(call.cancel == NULL && call.on_progress == NULL);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);

    run.struct_size = offsetof(kc_run, cancel);
    run.time_limit = 100;
    REQUIRE(kc_call_begin(&call, ctx, &run, "gram", NULL) == KC_OK);
    CHECK_NEAR(call.deadline - call.start, 100, 1e-6);
    CHECK(call.cancel == NULL);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    end_context(ctx, &fault);
}

static void a_newer_struct_is_taken_if_its_new_fields_are_not_used(void)
{
    struct {
        kc_run run;
        int64_t later;
    } newer = {.run = {.struct_size = sizeof newer, .n_threads = 2}};
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &newer.run, "gram", NULL) == KC_OK);
    CHECK(call.n_threads == 2);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    newer.later = 1;
    expect_refusal(ctx, &newer.run, "does not know");
    end_context(ctx, &fault);
}

static void an_infinite_time_limit_is_none(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_run run = {.struct_size = sizeof run, .time_limit = INFINITY};
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &run, "gram", NULL) == KC_OK);
    CHECK(kc_call_poll(&call) == KC_OK);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    end_context(ctx, &fault);
}

static void the_deadline_stops_once_and_for_all(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_run run = {.struct_size = sizeof run, .time_limit = 0.02};
    kc_error err = {.status = KC_OK};
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &run, "gram", &err) == KC_OK);
    while (kc_call_poll(&call) == KC_OK)
        CHECK(kc_clock() - call.start < 1);
    CHECK(kc_clock() - call.start >= 0.02);
    call.deadline = INFINITY;
    CHECK(kc_call_poll(&call) == KC_ERR_TIME && kc_call_stopped(&call));
    call.deadline = call.start + 0.02;
    CHECK(err.status == KC_OK); /* nothing said until asked: */
    CHECK(kc_call_stop_error(&call) == KC_ERR_TIME);
    CHECK(err.status == KC_ERR_TIME && strstr(err.text, "run.time_limit of 0.02 s") != NULL);
    CHECK(kc_call_end(&call, KC_ERR_TIME) == KC_ERR_TIME);
    end_context(ctx, &fault);
}

static int finish(void *data, const kc_progress *progress)
{
    (void)progress;
    ++*(int *)data;
    return KC_FINISH;
}

static void time_that_is_over_may_be_extended_but_not_past_a_cancel(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    int n_asked = 0;
    kc_run run = {.struct_size = sizeof run,
                  .time_limit = 0.001,
                  .on_progress = finish,
                  .progress_data = &n_asked};
    kc_cancel *cancel;
    kc_call call;

    REQUIRE(kc_cancel_create(ctx, &cancel, NULL) == KC_OK);
    run.cancel = cancel;
    for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        REQUIRE(kc_call_begin(&call, ctx, &run, "gram", NULL) == KC_OK);
        while (kc_call_poll(&call) == KC_OK)
            REQUIRE(kc_clock() - call.start < 5);
        kc_call_extend(&call, 60);
        while (n_asked == is_cancelled) /* neither the deadline nor its answer is heard */
            REQUIRE(kc_call_poll(&call) == KC_OK && kc_clock() - call.start < 5);
        CHECK(!kc_call_stopped(&call));
        if (is_cancelled) {
            kc_cancel_set(cancel);
            CHECK(kc_call_poll(&call) == KC_ERR_CANCELLED);
        }
        kc_call_expire(&call);
        CHECK(kc_call_poll(&call) == (is_cancelled ? KC_ERR_CANCELLED : KC_ERR_TIME));
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    }
    kc_cancel_free(ctx, cancel);
    end_context(ctx, &fault);
}

static void *set_token(void *token)
{
    usleep(10000);
    kc_cancel_set(token);
    return NULL;
}

static void the_token_stops_from_another_thread(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_run run = {.struct_size = sizeof run};
    kc_error err = {.status = KC_OK};
    kc_cancel *cancel;
    pthread_t thread;
    kc_call call;

    REQUIRE(kc_cancel_create(ctx, &cancel, NULL) == KC_OK);
    run.cancel = cancel;
    REQUIRE(kc_call_begin(&call, ctx, &run, "gram", &err) == KC_OK);
    CHECK(kc_call_poll(&call) == KC_OK);
    REQUIRE(pthread_create(&thread, NULL, set_token, cancel) == 0);
    while (kc_call_poll(&call) == KC_OK)
        REQUIRE(kc_clock() - call.start < 5);
    pthread_join(thread, NULL);
    CHECK(kc_call_poll(&call) == KC_ERR_CANCELLED);
    kc_cancel_clear(cancel);
    CHECK(kc_call_poll(&call) == KC_ERR_CANCELLED); /* this call is over */
    CHECK(kc_call_stop_error(&call) == KC_ERR_CANCELLED);
    CHECK(strstr(err.text, "cancel token") != NULL);
    CHECK(kc_call_end(&call, KC_ERR_CANCELLED) == KC_ERR_CANCELLED);
    REQUIRE(kc_call_begin(&call, ctx, &run, "gram", &err) == KC_OK);
    CHECK(kc_call_poll(&call) == KC_OK); /* the next one is not */
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_cancel_free(ctx, cancel);
    end_context(ctx, &fault);
}

typedef struct listener {
    int n_asked, answer;
    double first, last, shortest; /* seconds between two questions */
    kc_progress progress;
} listener;

static int listen(void *data, const kc_progress *progress)
{
    listener *l = data;
    double now = kc_clock();

    if (l->n_asked++ > 0)
        l->shortest = fmin(l->shortest, now - l->last);
    else
        l->first = now;
    l->last = now;
    l->progress = *progress;
    return l->answer;
}

static void the_callback_is_asked_every_20_ms_and_told_the_state(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    listener l = {.shortest = 1};
    kc_run run = {.struct_size = sizeof run, .on_progress = listen, .progress_data = &l};
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &run, "fit", NULL) == KC_OK);
    call.progress.n_iter = 17;
    call.progress.objective = -2.5;
    while (l.n_asked < 4 && kc_clock() - call.start < 10)
        CHECK(kc_call_poll(&call) == KC_OK);
    CHECK(l.n_asked == 4);
    CHECK(l.first - call.start >= 0.02 && l.shortest >= 0.0199);
    CHECK(l.progress.n_iter == 17 && l.progress.objective == -2.5);
    CHECK(strcmp(l.progress.phase, "fit") == 0);
    CHECK_NEAR(l.progress.seconds, l.last - call.start, 0.01);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    end_context(ctx, &fault);
}

static void any_other_answer_than_zero_stops(void)
{
    static const int answers[] = {1, -1, 256, INT32_MIN};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        kc_fault fault;
        kc_context *ctx = make_context(&fault);
        listener l = {.answer = answers[i]};
        kc_run run = {.struct_size = sizeof run, .on_progress = listen, .progress_data = &l};
        kc_error err = {.status = KC_OK};
        kc_call call;

        REQUIRE(kc_call_begin(&call, ctx, &run, "fit", &err) == KC_OK);
        while (kc_call_poll(&call) == KC_OK)
            REQUIRE(kc_clock() - call.start < 5);
        usleep(25000);
        CHECK(kc_call_poll(&call) == KC_ERR_CANCELLED);
        CHECK(l.n_asked == 1);
        CHECK(kc_call_stop_error(&call) == KC_ERR_CANCELLED);
        CHECK(strstr(err.text, "progress callback") != NULL);
        CHECK(kc_call_end(&call, KC_ERR_CANCELLED) == KC_ERR_CANCELLED);
        end_context(ctx, &fault);
    }
}

static void *poll_elsewhere(void *data)
{
    kc_call *call = data;

    for (int i = 0; i < 100; i++) {
        CHECK(kc_call_poll(call) == KC_OK);
        usleep(500);
    }
    return NULL;
}

static void on_another_thread_a_poll_asks_nobody(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    listener l = {.answer = 1};
    kc_run run = {
        .struct_size = sizeof run, .time_limit = 1e-6, .on_progress = listen, .progress_data = &l};
    pthread_t thread;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &run, "fit", NULL) == KC_OK);
    REQUIRE(pthread_create(&thread, NULL, poll_elsewhere, &call) == 0);
    pthread_join(thread, NULL);
    CHECK(l.n_asked == 0 && !kc_call_stopped(&call));
    CHECK(kc_call_poll(&call) == KC_ERR_TIME);
    CHECK(kc_call_end(&call, KC_ERR_TIME) == KC_ERR_TIME);
    end_context(ctx, &fault);
}

static void the_arena_of_one_call_serves_the_next(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_call call;

    for (int i = 0; i < 5; i++) {
        kc_fault_arm(&fault, 0, KC_FAULT_ONCE);
        REQUIRE(kc_call_begin(&call, ctx, NULL, "gram", NULL) == KC_OK);
        CHECK(kc_call_take(&call, 1000, 1) != NULL);
        CHECK(kc_call_take(&call, 1 << 20, 1) != NULL);
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
        CHECK(i == 0 || atomic_load(&fault.n_allocs) == 0);
    }
    end_context(ctx, &fault);
}

static void calls_at_the_same_time_have_memory_of_their_own(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_call calls[3];
    char *pieces[3];

    for (int i = 0; i < 3; i++) {
        REQUIRE(kc_call_begin(&calls[i], ctx, NULL, "gram", NULL) == KC_OK);
        pieces[i] = kc_call_take(&calls[i], 1000, 1);
        REQUIRE(pieces[i] != NULL);
        memset(pieces[i], i, 1000);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(pieces[i][0] == i && pieces[i][999] == i);
        CHECK(kc_call_end(&calls[i], KC_OK) == KC_OK);
    }
    CHECK(atomic_load(&fault.n_blocks) == 3); /* the context, and one arena with its block */
    end_context(ctx, &fault);
}

static void the_peak_of_a_call_is_its_own(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    void *before = kc_alloc(ctx, 1, 5000000);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "one", NULL) == KC_OK);
    CHECK(kc_call_take(&call, 1, 1000000) != NULL);
    kc_free(ctx, kc_alloc(ctx, 1, 2000000));
    CHECK(kc_call_peak(&call) >= 3000000 && kc_call_peak(&call) < 3200000);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    /* The arena is still there, but the next call needs less of it. */
    REQUIRE(kc_call_begin(&call, ctx, NULL, "two", NULL) == KC_OK);
    CHECK(kc_call_peak(&call) == 0);
    CHECK(kc_call_take(&call, 1, 3000) != NULL);
    CHECK(kc_call_peak(&call) >= 3000 && kc_call_peak(&call) < 100000);
    /* Calls at the same time count together: the second does not make the first forget. */
    kc_call other;
    kc_free(ctx, kc_alloc(ctx, 1, 2000000));
    REQUIRE(kc_call_begin(&other, ctx, NULL, "three", NULL) == KC_OK);
    CHECK(kc_call_peak(&call) >= 2000000);
    CHECK(kc_call_end(&other, KC_OK) == KC_OK);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_free(ctx, before);
    end_context(ctx, &fault);
}

static void without_memory_a_call_does_not_begin(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    kc_error err = {.status = KC_OK};
    kc_call call;

    kc_fault_arm(&fault, 1, KC_FAULT_ONCE);
    CHECK(kc_call_begin(&call, ctx, NULL, "gram", &err) == KC_ERR_NOMEM);
    CHECK(kc_fault_disarm(&fault));
    CHECK(err.status == KC_ERR_NOMEM);
    REQUIRE(kc_call_begin(&call, ctx, NULL, "gram", &err) == KC_OK);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    end_context(ctx, &fault);
}

static int count_polls(void *data, const kc_progress *progress)
{
    *(int64_t *)data = progress->n_iter;
    return progress->n_iter == 7;
}

static void a_branch_stops_with_the_whole_and_tells_it_how_far_it_is(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(&fault);
    int64_t told = 0;
    kc_run run = {.struct_size = sizeof run, .on_progress = count_polls, .progress_data = &told};
    kc_call call, branch = {0};
    kc_error err = {0};

    kc_call_join(&branch); /* never begun */
    REQUIRE(kc_call_begin(&call, ctx, &run, "solve", NULL) == KC_OK);
    REQUIRE(kc_call_branch(&branch, &call, &err) == KC_OK);
    CHECK(branch.n_threads == 1 && branch.arena != call.arena);
    CHECK(kc_call_take(&branch, 100, 8) != NULL);
    CHECK(kc_call_poll(&branch) == KC_OK);
    branch.progress.n_iter = 7;
    usleep(30000);
    CHECK(kc_call_poll(&branch) == KC_ERR_CANCELLED);
    CHECK(told == 7);
    CHECK(kc_call_stopped(&branch) && kc_call_stopped(&call));
    CHECK(kc_call_stop_error(&branch) == KC_ERR_CANCELLED);
    CHECK(strstr(err.text, "progress callback") != NULL);
    kc_call_join(&branch);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    end_context(ctx, &fault);
}

int main(void)
{
    RUN(a_call_without_a_run_takes_the_defaults);
    RUN(threads_come_from_the_run_then_the_context);
    RUN(nonsense_is_refused_by_name);
    RUN(an_older_struct_leaves_the_rest_at_zero);
    RUN(a_newer_struct_is_taken_if_its_new_fields_are_not_used);
    RUN(an_infinite_time_limit_is_none);
    RUN(the_deadline_stops_once_and_for_all);
    RUN(time_that_is_over_may_be_extended_but_not_past_a_cancel);
    RUN(the_token_stops_from_another_thread);
    RUN(the_callback_is_asked_every_20_ms_and_told_the_state);
    RUN(any_other_answer_than_zero_stops);
    RUN(on_another_thread_a_poll_asks_nobody);
    RUN(the_arena_of_one_call_serves_the_next);
    RUN(calls_at_the_same_time_have_memory_of_their_own);
    RUN(the_peak_of_a_call_is_its_own);
    RUN(without_memory_a_call_does_not_begin);
    RUN(a_branch_stops_with_the_whole_and_tells_it_how_far_it_is);
    return kc_test_end();
}
