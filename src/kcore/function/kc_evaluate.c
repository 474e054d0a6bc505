/* Decision values: rows of x in chunks, cut by counts alone and dealt to threads; within a chunk,
 * strips of points: their kernel values in a tile that stays in the second-level cache, then the
 * coefficients.
 *
 * A value is the sum over strips, in order, of sums over the values of a strip in a fixed order
 * (simd/kc_weigh_ops.h): nothing in it depends on the other rows. */
#include <string.h>

#include "base/kc_thread.h"
#include "data/kc_points.h"
#include "function/kc_expansion_impl.h"

/* Rows of one chunk at the most: a multiple of the row tiles of the kernels. */
#define CHUNK_ROWS ((size_t)96)

/* Multiply-adds of one chunk, about two milliseconds. */
#define CHUNK_WORK ((size_t)32 << 20)

/* Values of all outputs of a chunk, in bytes, at the most (but at least one row). */
#define VALUES_BYTES ((size_t)1 << 20)

/* Below this much work, waking a thread costs more than it brings. */
#define PARALLEL_WORK 2e6

/* Up to this much work, some ten microseconds, and with so much memory, all of it is done on the
 * stack, at once: opening a call and two allocations would cost half as much again. */
#define MAX_STACK_WORK 1e5
#define STACK_BYTES ((size_t)32 * 1024)

/* ---- Coefficients ------------------------------------------------------------------------- */

void kc_expansion_add(const kc_evaluation *e, size_t begin, size_t end, const void *k, size_t ld,
                      size_t n_rows, double *sums, double *values)
{
    const kc_expansion *f = e->f;
    const size_t bytes = f->kernel == NULL ? sizeof(double) : kc_dtype_bytes(f->dtype);

    for (size_t s = 0; s < f->n_segments && f->bounds[s] < end; s++) {
        const size_t from = kc_max(begin, f->bounds[s]);
        const size_t to = kc_min(end, f->bounds[s + 1]);
        const int32_t *output_of = f->output_of + s * f->n_rows;

        for (size_t i = 0; from < to && i < n_rows; i++) {
            const char *row = (const char *)k + (i * ld + from - begin) * bytes;

            e->weigh(row, to - from, f->coef + from, f->n, f->n_rows, sums);
            for (size_t r = 0; r < f->n_rows; r++)
                values[i * f->n_outputs + (size_t)output_of[r]] += sums[r];
        }
    }
}

/* ---- Tiles of kernel values --------------------------------------------------------------- */

static size_t aligned(size_t n_bytes)
{
    return kc_round_up(n_bytes, KC_ALIGN);
}

static size_t tile_bytes(const kc_evaluation *e, size_t n_rows)
{
    return aligned(n_rows * KC_STRIP * kc_dtype_bytes(e->f->dtype));
}

size_t kc_tiles_workspace(const kc_evaluation *e, size_t n_rows)
{
    return tile_bytes(e, n_rows) + aligned(e->f->n_rows * sizeof(double)) +
           kc_plan_workspace(&e->plan, n_rows);
}

/* Few rows have no call: they are done before a stop could matter. */
static bool may_go_on(const kc_evaluation *e)
{
    return e->call == NULL || kc_call_poll(e->call) == KC_OK;
}

bool kc_fill_tiles(const kc_evaluation *e, size_t begin, size_t n_rows, double *values,
                   void *workspace)
{
    const kc_expansion *f = e->f;
    char *tile = workspace;
    double *sums = (double *)(void *)(tile + tile_bytes(e, n_rows));
    char *kernel_workspace = (char *)sums + aligned(f->n_rows * sizeof(double));
    bool is_finite = true;

    for (size_t j = 0; j < f->n && may_go_on(e); j += KC_STRIP) {
        const kc_block block = {
            .row_begin = begin,
            .n_rows = n_rows,
            .col_begin = j,
            .n_cols = kc_min(KC_STRIP, f->n - j),
            .out = tile,
            .ld = KC_STRIP,
        };

        is_finite &= kc_plan_block(&e->plan, &block, kernel_workspace);
        kc_expansion_add(e, j, j + block.n_cols, tile, KC_STRIP, n_rows, sums, values);
    }
    return is_finite;
}

/* ---- Chunks ------------------------------------------------------------------------------- */

typedef struct chunks {
    kc_evaluation *e;
    kc_fill_fn *fill;
    size_t n_rows; /* of x */
    size_t rows_per_chunk;
    char *workspace; /* of all workers, one after the other */
    size_t workspace_bytes;
    kc_values_fn *fn;
    void *data;
    atomic_bool has_overflowed;
} chunks;

static void run_chunk(void *data, size_t chunk, int32_t worker)
{
    chunks *job = data;
    const kc_expansion *f = job->e->f;
    const size_t begin = chunk * job->rows_per_chunk;
    const size_t n_rows = kc_min(job->rows_per_chunk, job->n_rows - begin);
    char *workspace = job->workspace + (size_t)worker * job->workspace_bytes;
    double *values = (double *)(void *)workspace;

    memset(values, 0, n_rows * f->n_outputs * sizeof *values);
    if (f->n > 0 &&
        !job->fill(job->e, begin, n_rows, values,
                   workspace + aligned(job->rows_per_chunk * f->n_outputs * sizeof *values)))
        atomic_store_explicit(&job->has_overflowed, true, memory_order_relaxed);
    for (size_t i = 0; i < n_rows; i++) {
        double *row = values + i * f->n_outputs;

        for (size_t o = 0; o < f->n_outputs; o++)
            row[o] += f->intercepts[o];
        job->fn(job->data, begin + i, row);
    }
}

static size_t choose_rows(const kc_evaluation *e, size_t n_rows)
{
    const double by_work = (double)CHUNK_WORK / (1 + kc_expansion_row_work(e->f));
    const size_t by_values = VALUES_BYTES / sizeof(double) / e->f->n_outputs;
    size_t rows = kc_min(CHUNK_ROWS, n_rows);

    if (by_work < (double)rows)
        rows = (size_t)by_work;
    rows = kc_max(1, kc_min(rows, by_values));
    return rows > KC_TILE_ROWS ? rows / KC_TILE_ROWS * KC_TILE_ROWS : rows;
}

/* Chooses how to fill the chunks, and returns the bytes of workspace that this takes. */
static size_t choose_fill(kc_evaluation *e, chunks *job)
{
    if (e->f->weights != NULL || e->f->n == 0) {
        job->fill = kc_fill_linear;
        return 0;
    }
    e->weigh = kc_weigh_of(e->f->dtype);
    e->plan = kc_plan_make(e->f->kernel, &e->x, &e->f->points);
    job->fill = kc_fill_tiles;
    return kc_tiles_workspace(e, job->rows_per_chunk);
}

static void size_workspace(chunks *job, size_t fill_bytes)
{
    job->workspace_bytes =
        aligned(job->rows_per_chunk * job->e->f->n_outputs * sizeof(double)) + aligned(fill_bytes);
}

static kc_status run_chunks(kc_call *call, chunks *job, size_t fill_bytes)
{
    const size_t n_chunks = kc_ceil_div(job->n_rows, job->rows_per_chunk);
    const int32_t n_threads = call->n_threads;
    kc_status status;

    if ((double)job->n_rows * kc_expansion_row_work(job->e->f) < PARALLEL_WORK)
        call->n_threads = 1;
    size_workspace(job, fill_bytes);
    job->workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), job->workspace_bytes);
    status = job->workspace != NULL ? kc_parallel_for(call, n_chunks, run_chunk, job)
                                    : kc_fail_nomem(call->err);
    call->n_threads = n_threads;
    /* A stop inside the last chunks leaves rows unfinished. */
    return status == KC_OK && kc_call_stopped(call) ? kc_call_stop_error(call) : status;
}

/* ---- The three ways ----------------------------------------------------------------------- */

static kc_status evaluate_given(kc_call *call, kc_evaluation *e, const kc_points *x, chunks *job)
{
    kc_status status;

    KC_TRY(kc_given_check(e->f, x, &e->is_whole, call->err));
    e->given = x;
    e->weigh = kc_weigh_of(KC_F64);
    job->fill = kc_fill_given;
    status = run_chunks(call, job, kc_given_workspace(e));
    return status == KC_OK && atomic_load(&job->has_overflowed) ? kc_given_fail(e) : status;
}

static kc_status evaluate_packed(kc_call *call, kc_evaluation *e, const char *names, chunks *job)
{
    const kc_status status = run_chunks(call, job, choose_fill(e, job));

    if (status == KC_OK && atomic_load(&job->has_overflowed))
        return kc_fail(call->err, KC_ERR_RANGE, "kernel values between %s overflow", names);
    return status;
}

kc_status kc_expansion_evaluate_packed(kc_call *call, const kc_expansion *f, const kc_packed *x,
                                       const char *names, kc_values_fn *fn, void *data)
{
    kc_evaluation e = {.call = call, .f = f, .x = *x}; /* borrowed: not released */
    chunks job = {.e = &e, .n_rows = x->n, .fn = fn, .data = data};

    if (x->n == 0)
        return KC_OK;
    job.rows_per_chunk = choose_rows(&e, job.n_rows);
    return evaluate_packed(call, &e, names, &job);
}

/* Weights are f64 whatever the points were. */
static kc_dtype row_dtype(const kc_expansion *f)
{
    return f->weights != NULL ? KC_F64 : f->dtype;
}

kc_status kc_expansion_evaluate(kc_call *call, const kc_expansion *f, const kc_points *x,
                                kc_values_fn *fn, void *data)
{
    kc_evaluation e = {.call = call, .f = f};
    chunks job = {.e = &e, .fn = fn, .data = data};
    kc_status status;

    KC_TRY(kc_points_check_form(x, call->err));
    job.n_rows = (size_t)x->n_rows;
    job.rows_per_chunk = choose_rows(&e, job.n_rows);
    if (f->kernel == NULL)
        return evaluate_given(call, &e, x, &job);
    KC_TRY(kc_packed_check_alike(&f->points, x, call->err));
    KC_TRY(kc_prepare(call, f->kernel, x, NULL, row_dtype(f), &e.x));
    status = evaluate_packed(call, &e, "X and the support vectors", &job);
    kc_packed_free(call->ctx, &e.x);
    return status;
}

/* ---- Few rows ----------------------------------------------------------------------------- */

bool kc_expansion_evaluate_few(const kc_expansion *f, const kc_points *x, kc_values_fn *fn,
                               void *data)
{
    _Alignas(KC_ALIGN) char memory[STACK_BYTES];
    kc_evaluation e = {.f = f};
    chunks job = {.e = &e, .fn = fn, .data = data};
    size_t used;

    if (f->kernel == NULL || x->n_rows < 1 || x->n_cols < 1 || (size_t)x->n_cols != f->n_cols ||
        !kc_packed_are_numbers(&f->points) ||
        (double)x->n_rows * kc_expansion_row_work(f) > MAX_STACK_WORK ||
        !kc_prepare_few(f->kernel, x, row_dtype(f), memory, sizeof memory, &used, &e.x))
        return false;
    job.n_rows = job.rows_per_chunk = e.x.n;
    size_workspace(&job, choose_fill(&e, &job));
    if (job.workspace_bytes > sizeof memory - used)
        return false;
    job.workspace = memory + used;
    run_chunk(&job, 0, 0);
    return !atomic_load_explicit(&job.has_overflowed, memory_order_relaxed);
}
