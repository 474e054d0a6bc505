/* base/kc_pool.h: the threads themselves, as the host program sees them. */
#include "base/kc_pool.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <string.h>

#include "tally.h"

static atomic_int n_threads_left = -1; /* -1: any number */

/* The linker sends every call of pthread_create here (--wrap, tests/meson.build), so that a test
 * can say how many threads there may be; the real one is the sanitizer's, where there is one, which
 * keeps a list of them. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    if (atomic_load(&n_threads_left) == 0)
        return EAGAIN;
    if (atomic_load(&n_threads_left) > 0)
        atomic_fetch_sub(&n_threads_left, 1);
    return __real_pthread_create(thread, attr, run, arg);
}

static void the_largest_pool_works(void)
{
    kc_context *ctx = make_context(1, NULL);

    CHECK(counts_right(ctx, KC_MAX_THREADS, N_MAX));
    CHECK(counts_right(ctx, KC_MAX_THREADS, N_MAX));
    kc_context_free(ctx);
}

typedef struct surroundings {
    atomic_int n_wrong, n_rounding, n_helped;
} surroundings;

static void look_around(void *data, size_t chunk, int32_t worker)
{
    surroundings *s = data;
    sigset_t blocked;

    (void)chunk;
    pause_for(0.002);
    if (fegetround() != FE_UPWARD)
        atomic_fetch_add(&s->n_rounding, 1);
    if (worker == 0)
        return;
    atomic_fetch_add(&s->n_helped, 1);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM) ||
        !sigismember(&blocked, SIGALRM) || sigismember(&blocked, SIGSEGV))
        atomic_fetch_add(&s->n_wrong, 1);
#if defined(__linux__)
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (strcmp(name, "kcore") != 0)
        atomic_fetch_add(&s->n_wrong, 1);
#endif
}

static void workers_leave_signals_alone_and_compute_like_the_caller(void)
{
    kc_context *ctx = make_context(3, NULL);
    surroundings s = {0};
    sigset_t before, after;
    kc_call call;

    pthread_sigmask(SIG_BLOCK, NULL, &before);
    CHECK(counts_right(ctx, 3, 100)); /* the pool exists before the rounding is changed */
    REQUIRE(kc_call_begin(&call, ctx, NULL, "look", NULL) == KC_OK);
    fesetround(FE_UPWARD);
    CHECK(kc_parallel_for(&call, 60, look_around, &s) == KC_OK);
    fesetround(FE_TONEAREST);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    CHECK(atomic_load(&s.n_helped) > 0);
    CHECK(atomic_load(&s.n_wrong) == 0);
    CHECK(atomic_load(&s.n_rounding) == 0);
    for (int signal = 1; signal < NSIG; signal++)
        CHECK(sigismember(&before, signal) == sigismember(&after, signal));
    kc_context_free(ctx);
}

static void where_no_thread_can_be_started_the_caller_does_it_all(void)
{
    kc_context *ctx = make_context(8, NULL);
    tally *t = calloc(1, sizeof *t);

    atomic_store(&n_threads_left, 0);
    CHECK(count_to(ctx, NULL, 1000, t, NULL) == KC_OK);
    CHECK(ran_each_once(t, 1000));
    CHECK(atomic_load(&t->n_helped) == 0);
    CHECK(atomic_load(&ctx->pool_holder) == 0); /* given back: */
    atomic_store(&n_threads_left, -1);
    CHECK(counts_right(ctx, 8, 1000));
    CHECK(ctx->pool != NULL);
    free(t);
    kc_context_free(ctx);
}

static void with_fewer_threads_than_asked_for_the_work_goes_on(void)
{
    for (int n = 1; n <= 3; n++) {
        kc_context *ctx = make_context(6, NULL);
        tally *t = calloc(1, sizeof *t);

        atomic_store(&n_threads_left, n);
        t->seconds = 0.001;
        CHECK(count_to(ctx, NULL, 100, t, NULL) == KC_OK);
        CHECK(ran_each_once(t, 100));
        CHECK(atomic_load(&t->n_helped) > 0);
        CHECK(atomic_load(&n_threads_left) == 0);
        atomic_store(&n_threads_left, -1);
        CHECK(counts_right(ctx, 6, 1000)); /* the missing ones are started now */
        free(t);
        kc_context_free(ctx);
    }
}

static void a_failed_allocation_of_the_pool_means_working_alone(void)
{
    kc_fault fault;

    for (size_t n = 1;; n++) {
        kc_context *ctx = make_context(4, &fault);

        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        kc_run run = {.struct_size = sizeof run, .n_threads = 4};
        tally *t = calloc(1, sizeof *t);
        kc_status status = count_to(ctx, &run, 100, t, NULL);
        bool has_failed = kc_fault_disarm(&fault);

        CHECK(status == KC_OK ? ran_each_once(t, 100) : status == KC_ERR_NOMEM);
        CHECK(counts_right(ctx, 4, 100));
        free(t);
        kc_context_free(ctx);
        CHECK(kc_fault_is_clean(&fault));
        if (!has_failed) {
            CHECK(n == 3); /* the arena and the pool */
            break;
        }
    }
}

static void threads_are_joined_when_the_context_is_freed(void)
{
    for (int i = 0; i < 50; i++) {
        kc_context *ctx = make_context(4, NULL);

        CHECK(counts_right(ctx, 4, 20));
        kc_context_free(ctx); /* the workers may still be spinning, or on their way to sleep */
    }
}

typedef struct roll {
    pthread_mutex_t mutex;
    int n_runs;
    bool has_doubles;
    pthread_t threads[3];
} roll;

static void sign_roll(void *data, int32_t worker)
{
    roll *r = data;

    (void)worker;
    pthread_mutex_lock(&r->mutex);
    for (int i = 0; i < r->n_runs; i++)
        r->has_doubles |= pthread_equal(r->threads[i], pthread_self());
    if (r->n_runs < 3)
        r->threads[r->n_runs++] = pthread_self();
    pthread_mutex_unlock(&r->mutex);
}

static void a_thread_takes_part_in_a_round_once(void)
{
    kc_context *ctx = make_context(4, NULL);

    for (int32_t i = 0; i < 30; i++) {
        kc_pool *pool = kc_pool_borrow(ctx, 3);
        roll r = {.mutex = PTHREAD_MUTEX_INITIALIZER};

        REQUIRE(pool != NULL);
        CHECK(kc_pool_borrow(ctx, 3) == NULL);
        kc_pool_open(pool, 1 + i % 3, sign_roll, &r); /* it has three */
        pause_for(0.002);
        kc_pool_close(pool);
        while (!kc_pool_wait(pool, 0.01))
            continue;
        kc_pool_return(ctx);
        CHECK(r.n_runs <= 1 + i % 3);
        CHECK(!r.has_doubles);
    }
    kc_context_free(ctx);
}

int main(void)
{
    RUN(workers_leave_signals_alone_and_compute_like_the_caller); /* first: no mask touched yet */
    RUN(a_thread_takes_part_in_a_round_once);
    RUN(the_largest_pool_works);
    RUN(a_failed_allocation_of_the_pool_means_working_alone);
    RUN(threads_are_joined_when_the_context_is_freed);
    RUN(where_no_thread_can_be_started_the_caller_does_it_all);
    RUN(with_fewer_threads_than_asked_for_the_work_goes_on);
    return kc_test_end();
}
