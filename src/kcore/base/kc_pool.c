/* One round of work at a time, joined by ticket.
 *
 * The gate is one atomic word: the round's number, how many threads it wants, how many have joined.
 * A thread that comes by while fewer have joined than are wanted takes the next number and begins;
 * closing the gate sets the number wanted to zero.  So a round never waits for a thread that
 * sleeps: work that is over before a thread has woken costs nothing but the wake-up, and whichever
 * threads are awake come first.
 *
 * Threads wait for a round by spinning for about 20 us, as rounds of a solver follow each other
 * closely, then asleep on a condition.  A sleeper counts itself before its last look at the gate,
 * and the opener looks at that count after opening (both sequentially consistent): one of the two
 * always sees the other.  The same holds for the caller that waits and the last thread to finish.
 */
#include "base/kc_pool.h"

#include <pthread.h>
#include <signal.h>

#include "base/kc_alloc.h"
#include "base/kc_clock.h"
#include "base/kc_cpu.h"
#include "base/kc_os.h"

#define SPIN_SECONDS 20e-6
#define SPIN_STEPS 32 /* between two looks at the clock */

/* Tiles live on the stack, nothing larger does; sanitizers and thread-local data of the host
 * program need room as well. */
#define STACK_BYTES ((size_t)1 << 20)

/* The gate: round << 16 | wanted << 8 | joined. */
#define JOINED(gate) ((int32_t)((gate) & 0xff))
#define WANTED(gate) ((int32_t)((gate) >> 8 & 0xff))
#define ROUND(gate) ((gate) >> 16)
static_assert(KC_MAX_THREADS - 1 <= 0xff, "a count of the gate has 8 bits");

struct kc_pool {
    unsigned fork_count; /* of the process that the threads live in */
    int32_t n_threads;
    kc_task_fn *task;
    void *data;
    _Alignas(KC_ALIGN) atomic_uint gate;
    _Alignas(KC_ALIGN) atomic_int n_left; /* threads that have finished this round */
    atomic_bool caller_sleeps;
    atomic_bool may_spin;
    atomic_bool quit;
    atomic_int n_sleepers;
    pthread_mutex_t mutex; /* for the two conditions only */
    pthread_cond_t work, done;
    pthread_t threads[KC_MAX_THREADS - 1];
};

static double spin_seconds(kc_pool *pool)
{
    return kc_pool_may_spin(pool) ? SPIN_SECONDS : 0;
}

/* Joins the round at hand unless it is the one seen last: the number to work under, or 0. */
static int32_t join_round(kc_pool *pool, unsigned *seen)
{
    unsigned gate = atomic_load(&pool->gate);

    while (ROUND(gate) != *seen && JOINED(gate) < WANTED(gate)) {
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1)) {
            *seen = ROUND(gate);
            return JOINED(gate) + 1;
        }
    }
    return 0;
}

/* The number to work under in the next round, or 0 at the end of the pool. */
static int32_t await_round(kc_pool *pool, unsigned *seen)
{
    double until = kc_clock() + spin_seconds(pool);
    int32_t worker;

    do {
        for (int i = 0; i < SPIN_STEPS; i++) {
            worker = join_round(pool, seen);
            if (worker > 0)
                return worker;
            kc_relax_cpu();
        }
    } while (kc_clock() < until);

    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->n_sleepers, 1);
    while ((worker = join_round(pool, seen)) == 0 && !atomic_load(&pool->quit))
        pthread_cond_wait(&pool->work, &pool->mutex);
    atomic_fetch_sub(&pool->n_sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
    return worker;
}

static void leave_round(kc_pool *pool)
{
    atomic_fetch_add(&pool->n_left, 1);
    if (atomic_load(&pool->caller_sleeps)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void *run_thread(void *arg)
{
    kc_pool *pool = arg;
    unsigned seen = 0;
    int32_t worker;

    kc_os_name_thread("kcore");
    while ((worker = await_round(pool, &seen)) > 0) {
        pool->task(pool->data, worker);
        leave_round(pool);
    }
    return NULL;
}

/* Signals are for the host program's own threads; faults of the thread itself are left alone, so
 * that a crash is reported as any other. */
static void block_signals(sigset_t *old)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t all;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, old);
}

/* Starts threads until there are n_threads, or as many as the system allows. */
static void start_threads(kc_context *ctx, kc_pool *pool, int32_t n_threads)
{
    pthread_attr_t attr;
    sigset_t old;

    if (pool->n_threads >= n_threads || pthread_attr_init(&attr) != 0)
        return;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES); /* refused: the default, which is larger */
    block_signals(&old);
    /* With more threads than CPUs, one that spins keeps another from its work. */
    atomic_store(&pool->may_spin, n_threads < ctx->n_cpus);
    while (pool->n_threads < n_threads) {
        if (pthread_create(&pool->threads[pool->n_threads], &attr, run_thread, pool) != 0)
            break;
        pool->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

static kc_pool *create_pool(kc_context *ctx)
{
    kc_pool *pool = kc_calloc(ctx, 1, sizeof *pool);

    if (pool == NULL)
        return NULL;
    pool->fork_count = kc_fork_count();
    if (pthread_mutex_init(&pool->mutex, NULL) != 0)
        goto no_mutex;
    if (kc_os_cond_init(&pool->work) != 0)
        goto no_work;
    if (kc_os_cond_init(&pool->done) != 0)
        goto no_done;
    return pool;

no_done:
    pthread_cond_destroy(&pool->work);
no_work:
    pthread_mutex_destroy(&pool->mutex);
no_mutex:
    kc_free(ctx, pool);
    return NULL;
}

kc_pool *kc_pool_borrow(kc_context *ctx, int32_t n_threads)
{
    unsigned forks = kc_fork_count();
    unsigned holder = atomic_load(&ctx->pool_holder);

    assert(n_threads >= 1 && n_threads < KC_MAX_THREADS);
    /* A holder of another count is a thread of the parent process: it will not come back. */
    if (holder == forks || !atomic_compare_exchange_strong(&ctx->pool_holder, &holder, forks))
        return NULL;
    if (ctx->pool != NULL && ctx->pool->fork_count != forks) {
        kc_pool_free(ctx, ctx->pool);
        ctx->pool = NULL;
    }
    if (ctx->pool == NULL)
        ctx->pool = create_pool(ctx);
    if (ctx->pool != NULL)
        start_threads(ctx, ctx->pool, n_threads);
    if (ctx->pool == NULL || ctx->pool->n_threads == 0) {
        kc_pool_return(ctx);
        return NULL;
    }
    return ctx->pool;
}

bool kc_pool_may_spin(kc_pool *pool)
{
    return atomic_load_explicit(&pool->may_spin, memory_order_relaxed);
}

void kc_pool_return(kc_context *ctx)
{
    unsigned forks = kc_fork_count();

    /* Only what this process took: see kc_pool_borrow. */
    atomic_compare_exchange_strong(&ctx->pool_holder, &forks, 0);
}

void kc_pool_open(kc_pool *pool, int32_t n_threads, kc_task_fn *task, void *data)
{
    unsigned wanted = (unsigned)(n_threads < pool->n_threads ? n_threads : pool->n_threads);
    unsigned round = ROUND(atomic_load(&pool->gate)) + 1;

    pool->task = task;
    pool->data = data;
    atomic_store(&pool->n_left, 0);
    atomic_store(&pool->gate, round << 16 | wanted << 8);
    if (atomic_load(&pool->n_sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->mutex);
    if (wanted == (unsigned)pool->n_threads) {
        pthread_cond_broadcast(&pool->work);
    } else {
        for (unsigned i = 0; i < wanted; i++)
            pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void kc_pool_close(kc_pool *pool)
{
    atomic_fetch_and(&pool->gate, ~0xff00u);
}

static bool have_all_left(kc_pool *pool)
{
    return atomic_load(&pool->n_left) == JOINED(atomic_load(&pool->gate));
}

bool kc_pool_wait(kc_pool *pool, double seconds)
{
    double until = kc_clock() + spin_seconds(pool);

    do {
        for (int i = 0; i < SPIN_STEPS; i++) {
            if (have_all_left(pool))
                return true;
            kc_relax_cpu();
        }
    } while (kc_clock() < until);

    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    bool is_done = have_all_left(pool);
    if (!is_done) {
        kc_os_cond_wait(&pool->done, &pool->mutex, seconds);
        is_done = have_all_left(pool);
    }
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->mutex);
    return is_done;
}

void kc_pool_free(kc_context *ctx, kc_pool *pool)
{
    if (pool == NULL)
        return;
    if (pool->fork_count == kc_fork_count()) {
        pthread_mutex_lock(&pool->mutex);
        atomic_store(&pool->quit, true);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
        for (int32_t i = 0; i < pool->n_threads; i++)
            pthread_join(pool->threads[i], NULL);
        pthread_cond_destroy(&pool->done);
        pthread_cond_destroy(&pool->work);
        pthread_mutex_destroy(&pool->mutex);
    }
    /* Else the threads stayed in the parent process, and destroying a condition they wait on would
     * wait for them. */
    kc_free(ctx, pool);
}
