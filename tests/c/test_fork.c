/* base/kc_fork.c, and what stands on it: a forked child goes on with the contexts of its parent. */
#include <string.h>
#include <sys/wait.h>

#include "tally.h"

#if defined(__SANITIZE_ADDRESS__)
static void meet(void *data, size_t chunk, int32_t worker)
{
    atomic_int *n_missing = data;
    double until = kc_clock() + 5;

    (void)chunk;
    (void)worker;
    atomic_fetch_sub(n_missing, 1);
    while (atomic_load(n_missing) > 0 && kc_clock() < until)
        usleep(100);
}
#endif

/* AddressSanitizer holds a lock of its own now and then while a thread starts, and does not see to
 * it in a fork: wait until all three threads are at work.  Elsewhere a fork may come at any time.
 */
static void settle(kc_context *ctx)
{
#if defined(__SANITIZE_ADDRESS__)
    atomic_int n_missing = 3;
    kc_run run = {.struct_size = sizeof run, .n_threads = 3};
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, &run, "meet", NULL) == KC_OK);
    CHECK(kc_parallel_for(&call, 3, meet, &n_missing) == KC_OK);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
#else
    (void)ctx;
#endif
}

/* Runs the function in a forked child: its exit status, or -1 where it hangs or crashes. */
static int run_in_child(int (*work)(void *), void *data)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        alarm(20);
        _exit(work(data));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int count_and_free(void *data)
{
    kc_context *ctx = data;
    int n_wrong = !counts_right(ctx, 3, 1000) + !counts_right(ctx, 2, 1000);
    tally *t = calloc(1, sizeof *t);
    kc_run run = {.struct_size = sizeof run, .n_threads = 3};

    t->seconds = 0.002;
    n_wrong += count_to(ctx, &run, 60, t, NULL) != KC_OK || !ran_each_once(t, 60);
    n_wrong += atomic_load(&t->n_helped) == 0; /* the child has a pool of its own */
    free(t);
    kc_context_free(ctx);
    return n_wrong;
}

static int count_in_a_grandchild_too(void *data)
{
    int n_wrong = !counts_right(data, 3, 1000);

    settle(data);
    n_wrong += run_in_child(count_and_free, data) != 0;
    return n_wrong + count_and_free(data);
}

static void a_forked_child_and_its_child_work_on(void)
{
    kc_context *ctx = make_context(3, NULL);

    CHECK(run_in_child(count_and_free, ctx) == 0); /* before the first use */
    CHECK(counts_right(ctx, 3, 1000));
    settle(ctx);
    for (int i = 0; i < 20; i++)
        CHECK(run_in_child(count_in_a_grandchild_too, ctx) == 0);
    CHECK(counts_right(ctx, 3, 1000)); /* the parent has lost nothing */
    kc_context_free(ctx);
}

static int free_only(void *data)
{
    kc_context_free(data);
    return 0;
}

static void a_forked_child_may_free_a_context_whose_pool_it_never_used(void)
{
    kc_context *ctx = make_context(3, NULL);

    CHECK(counts_right(ctx, 3, 1000));
    settle(ctx);
    CHECK(run_in_child(free_only, ctx) == 0);
    kc_context_free(ctx);
}

static void a_fork_during_another_threads_loop_leaves_both_sides_working(void)
{
    kc_context *ctx = make_context(3, NULL);

    settle(ctx);
    for (int i = 0; i < 5; i++) {
        held_call *held = start_held_call(ctx);

        CHECK(run_in_child(count_and_free, ctx) == 0);
        end_held_call(held);
    }
    kc_context_free(ctx);
}

typedef struct forker {
    kc_context *ctx;
    pid_t child;
    bool has_forked;
} forker;

static int fork_once(void *data, const kc_progress *progress)
{
    forker *f = data;

    (void)progress;
    if (!f->has_forked) {
        f->has_forked = true;
        f->child = fork();
        if (f->child == 0) {
            alarm(20);
            if (!counts_right(f->ctx, 2, 500)) /* a pool of the child, inside the callback */
                _exit(10);
        }
    }
    return 0;
}

static void a_call_whose_callback_forks_ends_with_an_error_in_the_child(void)
{
    kc_context *ctx = make_context(2, NULL);
    forker f = {.ctx = ctx};
    kc_run run = {.struct_size = sizeof run, .on_progress = fork_once, .progress_data = &f};
    tally *t = calloc(1, sizeof *t);
    kc_error err = {.status = KC_OK};
    int child_status = -1;

    settle(ctx);
    t->seconds = 0.002;
    kc_status status = count_to(ctx, &run, 100, t, &err);
    if (f.child == 0) {
        int is_right = status == KC_ERR_CANCELLED && strstr(err.text, "fork") != NULL &&
                       counts_right(ctx, 2, 500);
        kc_context_free(ctx);
        _exit(is_right ? 0 : 1);
    }
    CHECK(f.has_forked && f.child > 0);
    CHECK(status == KC_OK && ran_each_once(t, 100));
    CHECK(waitpid(f.child, &child_status, 0) == f.child && child_status == 0);
    free(t);
    kc_context_free(ctx);
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
    puts("skipped: under ThreadSanitizer, a child of a program with threads can start none");
    return 77;
#endif
    RUN(a_forked_child_and_its_child_work_on);
    RUN(a_forked_child_may_free_a_context_whose_pool_it_never_used);
    RUN(a_fork_during_another_threads_loop_leaves_both_sides_working);
    RUN(a_call_whose_callback_forks_ends_with_an_error_in_the_child);
    return kc_test_end();
}
