/* kernel/kc_gram.c: a Gram matrix stops soon after it is told to, whatever its chunks cost.
 *
 * Other work on the machine may delay any call: where the clock says more, the time that this
 * process had on a CPU counts, and the fastest of several calls. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/kc_clock.h"
#include "guarded.h"
#include "kernel/kc_gram.h"
#include "kernel_case.h"

#define MAX_DELAY (IS_SANITIZED ? 2.0 : 0.050)
#define N_TRIES 4
#define START 0.020 /* seconds of work before the stop */

static kc_context *ctx;

typedef struct moment {
    double wall, cpu;
} moment;

static moment now(void)
{
    struct timespec cpu;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (moment){kc_clock(), (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec};
}

static double seconds_since(moment start, int32_t n_threads)
{
    const moment end = now();

    return fmin(end.wall - start.wall, (end.cpu - start.cpu) / n_threads);
}

/* A matrix that takes far longer than it is given.  Numbers hardly matter: only time counts here.
 */
typedef struct big_gram {
    const char *name;
    size_t n, d;
    size_t nnz; /* per row of z; 0: dense */
    bool is_x_dense;
    kc_dtype dtype;
    ref_op op;
    size_t n_leaves; /* the sum of so many */
} big_gram;

static const big_gram grams[] = {
    {"dense", 3000, 2000, 0, true, KC_F32, OP_RBF, 1},
    {"wide dense", 400, 60000, 0, true, KC_F32, OP_LINEAR, 1},
    {"wide dense f64", 300, 60000, 0, true, KC_F64, OP_LINEAR, 1},
    {"sparse", 4000, 5000, 500, false, KC_F32, OP_RBF, 1},
    {"sparse by l1", 5000, 1000, 10, false, KC_F32, OP_LAPLACIAN, 1},
    {"wide sparse by l1", 6000, 100000, 600, false, KC_F64, OP_LAPLACIAN, 1},
    {"wide dense rows by l1", 1500, 50000, 30, true, KC_F32, OP_LAPLACIAN, 1},
    {"a sum of many", 2000, 50, 0, true, KC_F32, OP_RBF, 300},
};

/* n rows with nnz numbers each, spread over the columns. */
static ref_view make_sparse(const big_gram *g)
{
    const size_t nnz = g->nnz, step = g->d / nnz;
    int32_t *indptr = malloc((g->n + 1) * sizeof *indptr);
    int32_t *indices = malloc(g->n * nnz * sizeof *indices);
    char *values = malloc(g->n * nnz * kc_dtype_bytes(g->dtype));

    for (size_t i = 0; i <= g->n; i++)
        indptr[i] = (int32_t)(i * nnz);
    for (size_t k = 0; k < g->n * nnz; k++) {
        indices[k] = (int32_t)(k % nnz * step + k / nnz % step);
        ref_put(values, k, g->dtype, 0.5);
    }
    return (ref_view){.points = {.struct_size = sizeof(kc_points),
                                 .storage = KC_CSR,
                                 .dtype = g->dtype,
                                 .n_rows = (int64_t)g->n,
                                 .n_cols = (int64_t)g->d,
                                 .values = values,
                                 .indices = indices,
                                 .indptr = indptr,
                                 .index_bytes = 4,
                                 .n_values = (int64_t)(g->n * nnz)},
                      .owned = {values, indices, indptr}};
}

/* The same number everywhere. */
static ref_view make_dense(const big_gram *g)
{
    static const double zero;

    return (ref_view){.points = {.struct_size = sizeof(kc_points),
                                 .storage = KC_DENSE,
                                 .dtype = g->dtype,
                                 .n_rows = (int64_t)g->n,
                                 .n_cols = (int64_t)g->d,
                                 .values = &zero}};
}

static kc_kernel *make_kernel(const big_gram *g)
{
    ref_node nodes[MAX_NODES];
    size_t n = 0;

    for (size_t i = 0; i < g->n_leaves; i++) {
        nodes[n++] = (ref_node){.op = g->op, .gamma = 0.001};
        if (i > 0)
            nodes[n++] = (ref_node){.op = OP_ADD};
    }
    return new_kernel(ctx, nodes, n);
}

typedef struct job {
    kc_kernel *kernel;
    ref_view views[2];
    kc_packed x, z;
    void *out;
} job;

static job make_job(const big_gram *g)
{
    job j = {.kernel = make_kernel(g)};

    j.views[0] = g->is_x_dense ? make_dense(g) : make_sparse(g);
    j.views[1] = g->nnz == 0 ? make_dense(g) : make_sparse(g);
    j.x = pack_view(ctx, &j.views[0], g->dtype);
    j.z = pack_view(ctx, &j.views[1], g->dtype);
    CHECK((j.z.storage == KC_CSR) == (g->nnz > 0));
    j.out = malloc(g->n * g->n * kc_dtype_bytes(g->dtype));
    return j;
}

static void free_job(job *j)
{
    kc_kernel_free(ctx, j->kernel);
    kc_packed_free(ctx, &j->x);
    kc_packed_free(ctx, &j->z);
    ref_view_free(&j->views[0]);
    ref_view_free(&j->views[1]);
    free(j->out);
}

/* Packed points: packing takes its time, too, and polls by itself. */
static kc_status run_job(const job *j, const kc_run *run, kc_error *err)
{
    kc_call call;

    KC_TRY(kc_call_begin(&call, ctx, run, "gram", err));
    const kc_plan plan = kc_plan_make(j->kernel, &j->x, &j->z);
    return kc_call_end(&call, kc_gram_fill(&call, &plan, j->out, j->z.n));
}

/* ---- By a token from another thread ------------------------------------------------------- */

typedef struct canceller {
    kc_cancel *cancel;
    moment set_at;
} canceller;

static void *cancel_soon(void *data)
{
    canceller *c = data;

    usleep((useconds_t)(START * 1e6));
    c->set_at = now();
    kc_cancel_set(c->cancel);
    return NULL;
}

static double cancelled_delay(const job *j, int32_t n_threads)
{
    canceller c = {.cancel = NULL};
    pthread_t thread;
    kc_error err = {0};
    kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
    double delay;

    CHECK(kc_cancel_create(ctx, &c.cancel, NULL) == KC_OK);
    run.cancel = c.cancel;
    CHECK(pthread_create(&thread, NULL, cancel_soon, &c) == 0);
    CHECK(run_job(j, &run, &err) == KC_ERR_CANCELLED);
    pthread_join(thread, NULL);
    delay = seconds_since(c.set_at, n_threads);
    CHECK(strncmp(err.text, "stopped by the cancel token after ", 34) == 0);
    kc_cancel_free(ctx, c.cancel);
    return delay;
}

/* ---- By the clock, and by the callback ---------------------------------------------------- */

static double timed_delay(const job *j, int32_t n_threads)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads, .time_limit = START};
    const moment start = now();
    kc_error err = {0};

    CHECK(run_job(j, &run, &err) == KC_ERR_TIME);
    CHECK(strncmp(err.text, "run.time_limit of 0.02 s reached after ", 39) == 0);
    return seconds_since(start, n_threads) - START;
}

typedef struct watch {
    moment last;
    double longest; /* between two questions */
    int32_t n_threads;
    int n_asked;
} watch;

static int stop_at_the_fourth(void *data, const kc_progress *progress)
{
    watch *w = data;

    CHECK(strcmp(progress->phase, "gram") == 0);
    CHECK(progress->fraction >= 0 && progress->fraction < 1);
    w->longest = fmax(w->longest, seconds_since(w->last, w->n_threads));
    w->last = now();
    return ++w->n_asked == 4;
}

static double asked_delay(const job *j, int32_t n_threads)
{
    watch w = {.last = now(), .n_threads = n_threads};
    const kc_run run = {.struct_size = sizeof run,
                        .n_threads = n_threads,
                        .on_progress = stop_at_the_fourth,
                        .progress_data = &w};

    CHECK(run_job(j, &run, NULL) == KC_ERR_CANCELLED);
    CHECK(w.n_asked == 4);
    return fmax(w.longest, seconds_since(w.last, n_threads));
}

/* ---- Sentences ---------------------------------------------------------------------------- */

static void check_delays(double (*delay)(const job *, int32_t))
{
    for (size_t i = 0; i < COUNT(grams); i++) {
        big_gram g = grams[i];
        job j;

        g.n /= IS_SANITIZED ? 2 : 1; /* which take their own time */
        j = make_job(&g);

        for (int32_t n_threads = 1; n_threads <= 2; n_threads++) {
            double least = INFINITY;

            for (int t = 0; t < N_TRIES && least > MAX_DELAY; t++)
                least = fmin(least, delay(&j, n_threads));
            if (least > MAX_DELAY)
                printf("    %s, %d threads: %.0f ms\n", grams[i].name, (int)n_threads, 1e3 * least);
            CHECK(least <= MAX_DELAY);
        }
        free_job(&j);
    }
}

static void a_cancel_token_stops_it_within_50_ms(void)
{
    check_delays(cancelled_delay);
}

static void a_time_limit_stops_it_within_50_ms(void)
{
    check_delays(timed_delay);
}

static void the_callback_is_asked_every_50_ms(void)
{
    check_delays(asked_delay);
}

static void a_token_that_is_set_stops_it_before_it_begins(void)
{
    const double x = 1;
    double out = -1;
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_DENSE,
                              .dtype = KC_F64,
                              .n_rows = 1,
                              .n_cols = 1,
                              .values = &x};
    kc_kernel *kernel = make_kernel(&grams[0]);
    kc_cancel *cancel = NULL;
    kc_run run = {.struct_size = sizeof run};

    REQUIRE(kc_cancel_create(ctx, &cancel, NULL) == KC_OK);
    run.cancel = cancel;
    kc_cancel_set(cancel);
    CHECK(kc_gram(ctx, &run, kernel, &points, NULL, KC_F64, &out, 1, NULL) == KC_ERR_CANCELLED);
    CHECK(out == -1);
    kc_cancel_clear(cancel);
    CHECK(kc_gram(ctx, &run, kernel, &points, NULL, KC_F64, &out, 1, NULL) == KC_OK);
    CHECK(out == 1);
    kc_cancel_free(ctx, cancel);
    kc_kernel_free(ctx, kernel);
}

/* From the caller's arrays on: the stop may come while points are packed. */
static void nothing_is_kept_by_calls_that_were_stopped(void)
{
    const big_gram *g = &grams[3];
    ref_view x = make_sparse(g), z = make_dense(g);
    kc_kernel *kernel = make_kernel(g);
    float *out = malloc(g->n * g->n * sizeof *out);
    size_t before = 0;

    for (int i = 0; i < 8; i++) {
        const kc_run run = {.struct_size = sizeof run, .time_limit = 0.001 * (1 << i)};

        CHECK(kc_gram(ctx, &run, kernel, &x.points, &z.points, KC_F32, out, (int64_t)g->n, NULL) ==
              KC_ERR_TIME);
        if (i > 0) /* the first may leave an arena for the next */
            CHECK(kc_context_memory(ctx).current <= before + (1 << 20));
        before = kc_context_memory(ctx).current;
    }
    free(out);
    kc_kernel_free(ctx, kernel);
    ref_view_free(&x);
    ref_view_free(&z);
}

int main(void)
{
    ctx = new_context();
    RUN(a_cancel_token_stops_it_within_50_ms);
    RUN(a_time_limit_stops_it_within_50_ms);
    RUN(the_callback_is_asked_every_50_ms);
    RUN(a_token_that_is_set_stops_it_before_it_begins);
    RUN(nothing_is_kept_by_calls_that_were_stopped);
    kc_context_free(ctx);
    return kc_test_end();
}
