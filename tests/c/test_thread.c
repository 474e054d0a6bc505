/* base/kc_thread.h: every chunk once, on any thread, whatever goes on around. */
#include "base/kc_thread.h"

#include <string.h>

#include "tally.h"

static void every_chunk_runs_exactly_once_with_any_number_of_threads(void)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, 1000, N_MAX};
    kc_fault fault;
    kc_context *ctx = make_context(2, &fault);

    for (int32_t n_threads = 1; n_threads <= 8; n_threads++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            CHECK(counts_right(ctx, n_threads, counts[i]));
    }
    for (int32_t n_threads = 8; n_threads >= 1; n_threads--) /* fewer than the pool has */
        CHECK(counts_right(ctx, n_threads, 1000));
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

static void many_short_loops_in_a_row_lose_nothing(void)
{
    kc_context *ctx = make_context(3, NULL);
    tally *t = calloc(1, sizeof *t);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "count", NULL) == KC_OK);
    t->call = &call;
    t->n_workers = kc_workers(&call, 8);
    for (int round = 1; round <= 70000; round++) { /* past the wrap of the pool's round number */
        if (kc_parallel_for(&call, 8, count_chunk, t) != KC_OK || round % 5000 != 0)
            continue;
        usleep(2000); /* let the workers fall asleep now and then */
        for (size_t i = 0; i < 8; i++)
            CHECK(atomic_load(&t->runs[i]) == round);
    }
    CHECK(atomic_load(&t->n_bad) == 0);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    free(t);
    kc_context_free(ctx);
}

static void the_others_help(void)
{
    kc_context *ctx = make_context(4, NULL);
    tally *t = calloc(1, sizeof *t);

    t->seconds = 0.002;
    CHECK(count_to(ctx, NULL, 60, t, NULL) == KC_OK);
    CHECK(ran_each_once(t, 60));
    CHECK(atomic_load(&t->n_helped) > 0);
    free(t);
    kc_context_free(ctx);
}

static void workers_are_never_more_than_chunks_or_threads(void)
{
    kc_context *ctx = make_context(5, NULL);
    kc_run run = {.struct_size = sizeof run, .n_threads = 100000};
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "count", NULL) == KC_OK);
    CHECK(kc_workers(&call, 0) == 1);
    CHECK(kc_workers(&call, 1) == 1);
    CHECK(kc_workers(&call, 4) == 4);
    CHECK(kc_workers(&call, SIZE_MAX) == 5);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    REQUIRE(kc_call_begin(&call, ctx, &run, "count", NULL) == KC_OK);
    CHECK(kc_workers(&call, SIZE_MAX) == KC_MAX_THREADS);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

/* ---- Several callers at once ---- */

static void *count_repeatedly(void *data)
{
    for (int i = 0; i < 100; i++)
        CHECK(counts_right(data, 1 + i % 4, 200));
    return NULL;
}

static void concurrent_callers_never_disturb_each_other(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(3, &fault);
    pthread_t threads[8];

    for (size_t i = 0; i < 8; i++)
        REQUIRE(pthread_create(&threads[i], NULL, count_repeatedly, ctx) == 0);
    for (size_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

static void a_caller_that_finds_the_pool_busy_works_alone_at_once(void)
{
    kc_context *ctx = make_context(2, NULL);
    held_call *held = start_held_call(ctx);
    tally *t = calloc(1, sizeof *t);

    CHECK(count_to(ctx, NULL, 1000, t, NULL) == KC_OK); /* else it would wait forever */
    CHECK(ran_each_once(t, 1000));
    CHECK(atomic_load(&t->n_helped) == 0);
    end_held_call(held);
    free(t);
    kc_context_free(ctx);
}

/* ---- Nested ---- */

typedef struct nest {
    kc_call *call;
    atomic_int inner[64];
    atomic_int n_bad;
} nest;

static void count_inner(void *data, size_t chunk, int32_t worker)
{
    nest *n = data;

    atomic_fetch_add(&n->inner[chunk], 1);
    if (worker != 0)
        atomic_fetch_add(&n->n_bad, 1);
}

static void run_inner_loop(void *data, size_t chunk, int32_t worker)
{
    nest *n = data;

    (void)chunk;
    (void)worker;
    if (kc_workers(n->call, 64) != 1 || kc_parallel_for(n->call, 64, count_inner, n) != KC_OK)
        atomic_fetch_add(&n->n_bad, 1);
}

static void a_loop_inside_a_chunk_runs_on_its_thread(void)
{
    kc_context *ctx = make_context(4, NULL);
    kc_call call;
    nest n = {.call = &call};

    REQUIRE(kc_call_begin(&call, ctx, NULL, "nest", NULL) == KC_OK);
    CHECK(kc_parallel_for(&call, 100, run_inner_loop, &n) == KC_OK);
    CHECK(kc_workers(&call, 64) == 4); /* and the call is as before */
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    for (size_t i = 0; i < 64; i++)
        CHECK(atomic_load(&n.inner[i]) == 100);
    CHECK(atomic_load(&n.n_bad) == 0);
    kc_context_free(ctx);
}

static void count_in_a_call_of_its_own(void *data, size_t chunk, int32_t worker)
{
    (void)chunk;
    (void)worker;
    CHECK(counts_right(data, 3, 50));
}

static void a_whole_call_inside_a_chunk_works(void)
{
    kc_fault fault;
    kc_context *ctx = make_context(4, &fault);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "nest", NULL) == KC_OK);
    CHECK(kc_parallel_for(&call, 40, count_in_a_call_of_its_own, ctx) == KC_OK);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
}

/* One chunk leaves the pool free for the loop inside it. */
static void run_outer_chunk(void *data, size_t chunk, int32_t worker)
{
    tally *t = data;

    (void)chunk;
    (void)worker;
    t->n_workers = kc_workers(t->call, 60);
    CHECK(kc_parallel_for(t->call, 60, count_chunk, t) == KC_OK);
}

static void a_loop_inside_a_lone_chunk_has_all_threads(void)
{
    kc_context *ctx = make_context(4, NULL);
    tally *t = calloc(1, sizeof *t);
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "nest", NULL) == KC_OK);
    t->call = &call;
    t->seconds = 0.002;
    CHECK(kc_parallel_for(&call, 1, run_outer_chunk, t) == KC_OK);
    CHECK(ran_each_once(t, 60));
    CHECK(t->n_workers == 4);
    CHECK(atomic_load(&t->n_helped) > 0);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    free(t);
    kc_context_free(ctx);
}

/* ---- Stopping ---- */

typedef struct canceller {
    kc_cancel *cancel;
    const tally *t;
    double at;
} canceller;

static void *cancel_later(void *data)
{
    canceller *c = data;

    while (atomic_load(&c->t->runs[0]) == 0)
        usleep(200);
    pause_for(0.03);
    c->at = kc_clock();
    kc_cancel_set(c->cancel);
    return NULL;
}

static void a_token_set_by_another_thread_stops_the_loop_between_chunks(void)
{
    kc_context *ctx = make_context(2, NULL);

    for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
        kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
        tally *t = calloc(1, sizeof *t);
        canceller c = {.t = t};
        kc_error err = {.status = KC_OK};
        pthread_t thread;

        REQUIRE(kc_cancel_create(ctx, &c.cancel, NULL) == KC_OK);
        run.cancel = c.cancel;
        t->seconds = 0.002;
        REQUIRE(pthread_create(&thread, NULL, cancel_later, &c) == 0);
        CHECK(count_to(ctx, &run, N_MAX, t, &err) == KC_ERR_CANCELLED);
        double seconds = kc_clock();
        pthread_join(thread, NULL);
        CHECK(seconds - c.at < 0.5); /* all chunks would take 3 s or more */
        CHECK(err.status == KC_ERR_CANCELLED && strstr(err.text, "cancel token") != NULL);
        CHECK(count_runs(t) > 0 && count_runs(t) < N_MAX);
        for (size_t i = 0; i < N_MAX; i++)
            CHECK(atomic_load(&t->runs[i]) <= 1);
        kc_cancel_free(ctx, c.cancel);
        free(t);
    }
    kc_context_free(ctx);
}

static void a_token_set_before_the_loop_lets_no_chunk_run(void)
{
    kc_context *ctx = make_context(2, NULL);
    kc_cancel *cancel;

    REQUIRE(kc_cancel_create(ctx, &cancel, NULL) == KC_OK);
    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        kc_run run = {.struct_size = sizeof run, .n_threads = n_threads, .cancel = cancel};
        tally *t = calloc(1, sizeof *t);

        for (int i = 0; i < 300; i++) { /* workers still awake from the last loop are quick */
            CHECK(counts_right(ctx, n_threads, 100));
            kc_cancel_set(cancel);
            CHECK(count_to(ctx, &run, 100, t, NULL) == KC_ERR_CANCELLED);
            kc_cancel_clear(cancel);
        }
        CHECK(count_runs(t) == 0);
        CHECK(count_to(ctx, &run, 100, t, NULL) == KC_OK);
        CHECK(ran_each_once(t, 100));
        free(t);
    }
    kc_cancel_free(ctx, cancel);
    kc_context_free(ctx);
}

static void a_deadline_ends_the_loop(void)
{
    kc_context *ctx = make_context(2, NULL);

    for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
        kc_run run = {.struct_size = sizeof run, .n_threads = n_threads, .time_limit = 0.04};
        tally *t = calloc(1, sizeof *t);
        kc_error err = {.status = KC_OK};
        double start = kc_clock();

        t->seconds = 0.002;
        CHECK(count_to(ctx, &run, N_MAX, t, &err) == KC_ERR_TIME);
        CHECK(kc_clock() - start >= 0.04 && kc_clock() - start < 0.5);
        CHECK(strstr(err.text, "time_limit of 0.04 s") != NULL);
        CHECK(count_runs(t) < N_MAX);
        free(t);
    }
    kc_context_free(ctx);
}

typedef struct watcher {
    pthread_t caller;
    int n_asked, stop_at;
    double last, longest; /* seconds between two questions */
    double fraction;
    bool is_bad;
} watcher;

static int watch_progress(void *data, const kc_progress *progress)
{
    watcher *w = data;
    double now = kc_clock();

    w->longest = fmax(w->longest, now - w->last);
    w->last = now;
    if (!pthread_equal(pthread_self(), w->caller) || strcmp(progress->phase, "count") != 0 ||
        !(progress->fraction >= w->fraction && progress->fraction <= 1) || progress->seconds <= 0)
        w->is_bad = true;
    w->fraction = progress->fraction;
    w->n_asked++;
    return w->stop_at != 0 && w->n_asked >= w->stop_at;
}

static void the_callback_comes_often_on_the_callers_thread_with_growing_progress(void)
{
    kc_context *ctx = make_context(2, NULL);

    for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
        watcher w = {.caller = pthread_self(), .last = kc_clock()};
        kc_run run = {.struct_size = sizeof run,
                      .n_threads = n_threads,
                      .on_progress = watch_progress,
                      .progress_data = &w};
        tally *t = calloc(1, sizeof *t);

        t->seconds = 0.002;
        CHECK(count_to(ctx, &run, (size_t)n_threads * 100, t, NULL) == KC_OK);
        CHECK(ran_each_once(t, (size_t)n_threads * 100));
        CHECK(w.n_asked >= 3 && w.n_asked <= 60);
        CHECK(w.longest < 0.25); /* 50 ms are promised; the machine may be busy */
        CHECK(!w.is_bad);
        CHECK(w.fraction > 0.5);
        free(t);
    }
    kc_context_free(ctx);
}

static void a_callback_that_says_stop_is_obeyed(void)
{
    kc_context *ctx = make_context(3, NULL);
    watcher w = {.caller = pthread_self(), .stop_at = 2, .last = kc_clock()};
    kc_run run = {.struct_size = sizeof run, .on_progress = watch_progress, .progress_data = &w};
    tally *t = calloc(1, sizeof *t);
    kc_error err = {.status = KC_OK};

    t->seconds = 0.002;
    CHECK(count_to(ctx, &run, N_MAX, t, &err) == KC_ERR_CANCELLED);
    CHECK(strstr(err.text, "progress callback") != NULL);
    CHECK(w.n_asked == 2); /* and not asked again */
    CHECK(count_runs(t) < N_MAX);
    free(t);
    kc_context_free(ctx);
}

/* The caller's chunk ends when a worker has begun the other, which takes long. */
static void leave_the_caller_waiting(void *data, size_t chunk, int32_t worker)
{
    atomic_bool *has_begun = data;

    (void)chunk;
    if (worker != 0) {
        atomic_store(has_begun, true);
        pause_for(0.15);
    }
    while (!atomic_load(has_begun))
        usleep(100);
}

static void the_caller_is_asked_while_it_waits_for_the_others(void)
{
    kc_context *ctx = make_context(2, NULL);
    watcher w = {.caller = pthread_self(), .last = kc_clock()};
    kc_run run = {.struct_size = sizeof run, .on_progress = watch_progress, .progress_data = &w};
    atomic_bool has_begun = false;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &run, "count", NULL) == KC_OK);
    CHECK(kc_parallel_for(&call, 2, leave_the_caller_waiting, &has_begun) == KC_OK);
    CHECK(w.n_asked >= 3);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

/* The caller's chunk ends when a worker has begun the other, which takes 1 ms. */
static void leave_the_caller_waiting_shortly(void *data, size_t chunk, int32_t worker)
{
    atomic_bool *has_begun = data;

    (void)chunk;
    if (worker != 0) {
        atomic_store(has_begun, true);
        usleep(1000);
    }
    while (!atomic_load(has_begun))
        usleep(50);
}

static void the_last_worker_wakes_the_caller(void)
{
    kc_context *ctx = make_context(2, NULL);
    int n_quick = 0;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "wake", NULL) == KC_OK);
    for (int i = 0; i < 100; i++) {
        atomic_bool has_begun = false;
        double start = kc_clock();

        CHECK(kc_parallel_for(&call, 2, leave_the_caller_waiting_shortly, &has_begun) == KC_OK);
        n_quick += kc_clock() - start < 0.004;
    }
    CHECK(n_quick >= 40); /* where no thread wakes it, it sleeps for 5 ms */
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

static void poll_until_stopped(void *data, size_t chunk, int32_t worker)
{
    kc_call *call = data;
    double until = kc_clock() + 5;

    (void)chunk;
    (void)worker;
    while (kc_call_poll(call) == KC_OK && kc_clock() < until)
        usleep(500);
}

static void a_long_chunk_that_polls_by_itself_is_stopped_on_any_thread(void)
{
    kc_context *ctx = make_context(3, NULL);
    kc_run run = {.struct_size = sizeof run, .time_limit = 0.05};
    double start = kc_clock();
    kc_error err;
    kc_call call;

    for (size_t n_chunks = 1; n_chunks <= 3; n_chunks++) {
        REQUIRE(kc_call_begin(&call, ctx, &run, "long", &err) == KC_OK);
        CHECK(kc_parallel_for(&call, n_chunks, poll_until_stopped, &call) == KC_ERR_TIME);
        CHECK(err.status == KC_ERR_TIME);
        CHECK(kc_call_end(&call, KC_ERR_TIME) == KC_ERR_TIME);
    }
    CHECK(kc_clock() - start < 2);
    kc_context_free(ctx);
}

static void a_fraction_declared_unknown_is_left_alone(void)
{
    kc_context *ctx = make_context(2, NULL);
    tally *t = calloc(1, sizeof *t);
    kc_call call;

    for (int32_t n_threads = 1; n_threads <= 2; n_threads++) {
        kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};

        REQUIRE(kc_call_begin(&call, ctx, &run, "count", NULL) == KC_OK);
        t->call = &call;
        t->n_workers = 2;
        call.progress.fraction = -1;
        CHECK(kc_parallel_for(&call, 10, count_chunk, t) == KC_OK);
        CHECK(call.progress.fraction == -1);
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    }
    free(t);
    kc_context_free(ctx);
}

static void touching_a_block_changes_nothing_and_can_be_stopped(void)
{
    const size_t n_bytes = ((size_t)9 << 20) + 1; /* ends one byte into a page */
    kc_context *ctx = make_context(2, NULL);
    char *block = malloc(n_bytes);
    size_t n_same = 0;
    kc_call call;

    REQUIRE(block != NULL);
    memset(block, 7, n_bytes);
    REQUIRE(kc_call_begin(&call, ctx, NULL, "touch", NULL) == KC_OK);
    CHECK(kc_touch(&call, block, n_bytes) == KC_OK);
    CHECK(kc_touch(&call, block, 100) == KC_OK); /* nothing to do */
    for (size_t k = 0; k < n_bytes; k++)
        n_same += block[k] == 7;
    CHECK(n_same == n_bytes);
    CHECK(kc_touch_rows(&call, block, 900, 10001, 10007) == KC_OK);
    for (size_t k = 0; k < n_bytes; k++)
        n_same += block[k] == 7;
    CHECK(n_same == 2 * n_bytes);
    kc_call_stop(&call, KC_ERR_TIME, "time limit");
    CHECK(kc_touch(&call, block, n_bytes) == KC_ERR_TIME);
    CHECK(kc_call_end(&call, KC_ERR_TIME) == KC_ERR_TIME);
    free(block);
    kc_context_free(ctx);
}

int main(void)
{
    RUN(every_chunk_runs_exactly_once_with_any_number_of_threads);
    RUN(many_short_loops_in_a_row_lose_nothing);
    RUN(the_others_help);
    RUN(workers_are_never_more_than_chunks_or_threads);
    RUN(concurrent_callers_never_disturb_each_other);
    RUN(a_caller_that_finds_the_pool_busy_works_alone_at_once);
    RUN(a_loop_inside_a_chunk_runs_on_its_thread);
    RUN(a_whole_call_inside_a_chunk_works);
    RUN(a_loop_inside_a_lone_chunk_has_all_threads);
    RUN(a_token_set_by_another_thread_stops_the_loop_between_chunks);
    RUN(a_token_set_before_the_loop_lets_no_chunk_run);
    RUN(a_deadline_ends_the_loop);
    RUN(the_callback_comes_often_on_the_callers_thread_with_growing_progress);
    RUN(a_callback_that_says_stop_is_obeyed);
    RUN(the_caller_is_asked_while_it_waits_for_the_others);
    RUN(the_last_worker_wakes_the_caller);
    RUN(a_long_chunk_that_polls_by_itself_is_stopped_on_any_thread);
    RUN(a_fraction_declared_unknown_is_left_alone);
    RUN(touching_a_block_changes_nothing_and_can_be_stopped);
    return kc_test_end();
}
