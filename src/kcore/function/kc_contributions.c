/* Rows of x in chunks; tile by tile of kernel values, each term takes its place in a heap of the
 * largest ones.  The heaps are the caller's arrays: the term that would leave first stands at their
 * beginning, until they are sorted. */
#include "function/kc_contributions.h"

#include <math.h>

#include "base/kc_thread.h"
#include "data/kc_points.h"
#include "function/kc_expansion_impl.h"

/* Rows of a chunk: a multiple of the row tiles of the kernels. */
#define CHUNK_ROWS ((size_t)96)

/* ---- The largest terms ---------------------------------------------------------------------- */

typedef struct heap {
    int64_t *points;
    double *values;
    size_t n, capacity;
} heap;

/* Whether a term comes after entry k of the heap in the result. */
static bool is_after(const heap *h, double value, int64_t point, size_t k)
{
    const double size = fabs(value), other = fabs(h->values[k]);

    return size < other || (size == other && point > h->points[k]);
}

static void put(heap *h, size_t at, double value, int64_t point)
{
    h->values[at] = value;
    h->points[at] = point;
}

/* A term in place of the first entry of a heap of n. */
static void replace_first(heap *h, size_t n, double value, int64_t point)
{
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_after(h, h->values[child + 1], h->points[child + 1], child))
            child++;
        if (is_after(h, value, point, child))
            break;
        put(h, at, h->values[child], h->points[child]);
    }
    put(h, at, value, point);
}

static void add(heap *h, double value, int64_t point)
{
    if (h->n == h->capacity) {
        if (!is_after(h, value, point, 0))
            replace_first(h, h->n, value, point);
        return;
    }
    size_t at = h->n++;

    for (; at > 0 && is_after(h, value, point, (at - 1) / 2); at = (at - 1) / 2)
        put(h, at, h->values[(at - 1) / 2], h->points[(at - 1) / 2]);
    put(h, at, value, point);
}

/* Largest first, and what there is no term for. */
static void finish(heap *h)
{
    for (size_t last = h->n; last-- > 1;) {
        const double value = h->values[last];
        const int64_t point = h->points[last];

        put(h, last, h->values[0], h->points[0]);
        replace_first(h, last, value, point);
    }
    for (size_t k = h->n; k < h->capacity; k++)
        put(h, k, 0, -1);
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

typedef struct search {
    kc_evaluation e;
    size_t n_rows, top;
    int64_t *points;
    double *values;
    char *workspace; /* of all workers, one after the other */
    size_t workspace_bytes, tile_bytes;
    atomic_bool has_overflowed;
} search;

/* Kernel values between rows and a strip of points; true where all are finite. */
static bool fill_tile(const search *job, const kc_block *block, void *workspace)
{
    const kc_evaluation *e = &job->e;
    double *out = block->out;
    bool is_finite = true;

    if (e->f->kernel != NULL)
        return kc_plan_block(&e->plan, block, workspace);
    for (size_t i = 0; i < block->n_rows; i++)
        for (size_t j = 0; j < block->n_cols; j++) {
            const double value = kc_given_value(e, block->row_begin + i, block->col_begin + j);

            out[i * block->ld + j] = value;
            is_finite &= isfinite(value) != 0;
        }
    return is_finite;
}

/* The terms of one row of a tile, of points `begin` on. */
static void add_terms(const search *job, const void *tile, size_t first, size_t begin, size_t end,
                      heap *heaps)
{
    const kc_expansion *f = job->e.f;
    const kc_dtype dtype = f->kernel != NULL ? f->dtype : KC_F64;

    for (size_t s = 0; s < f->n_segments && f->bounds[s] < end; s++)
        for (size_t r = 0; r < f->n_rows; r++) {
            heap *h = &heaps[f->output_of[s * f->n_rows + r]];
            const size_t to = kc_min(end, f->bounds[s + 1]);

            for (size_t p = kc_max(begin, f->bounds[s]); p < to; p++) {
                const double coef = f->coef[r * f->n + p];

                if (coef != 0)
                    add(h, coef * kc_number_at(tile, first + p - begin, dtype), (int64_t)p);
            }
        }
}

static void search_chunk(void *data, size_t chunk, int32_t worker)
{
    search *job = data;
    const kc_expansion *f = job->e.f;
    char *tile = job->workspace + (size_t)worker * job->workspace_bytes;
    heap *heaps = (heap *)(void *)(tile + job->tile_bytes);
    const size_t begin = chunk * CHUNK_ROWS, n_rows = kc_min(CHUNK_ROWS, job->n_rows - begin);
    const size_t n_heaps = n_rows * f->n_outputs;
    void *kernel_workspace = (char *)heaps + kc_aligned(CHUNK_ROWS * f->n_outputs * sizeof *heaps);

    for (size_t k = 0; k < n_heaps; k++) {
        const size_t at = (begin * f->n_outputs + k) * job->top;

        heaps[k] = (heap){job->points + at, job->values + at, 0, job->top};
    }
    for (size_t j = 0; j < f->n && kc_call_poll(job->e.call) == KC_OK; j += KC_STRIP) {
        const kc_block block = {
            .row_begin = begin,
            .n_rows = n_rows,
            .col_begin = j,
            .n_cols = kc_min(KC_STRIP, f->n - j),
            .out = tile,
            .ld = KC_STRIP,
        };

        if (!fill_tile(job, &block, kernel_workspace))
            atomic_store_explicit(&job->has_overflowed, true, memory_order_relaxed);
        for (size_t i = 0; i < n_rows; i++)
            add_terms(job, tile, i * KC_STRIP, j, j + block.n_cols, heaps + i * f->n_outputs);
    }
    for (size_t k = 0; k < n_heaps; k++)
        finish(&heaps[k]);
}

/* ---- All rows ------------------------------------------------------------------------------- */

static kc_status search_all(kc_call *call, search *job)
{
    const kc_expansion *f = job->e.f;
    const size_t n_chunks = kc_ceil_div(job->n_rows, CHUNK_ROWS);

    job->tile_bytes = kc_aligned(CHUNK_ROWS * KC_STRIP * sizeof(double));
    job->workspace_bytes = job->tile_bytes + kc_aligned(CHUNK_ROWS * f->n_outputs * sizeof(heap));
    if (f->kernel != NULL && f->n > 0) {
        job->e.plan = kc_plan_make(f->kernel, &job->e.x, &f->points);
        job->workspace_bytes += kc_aligned(kc_plan_workspace(&job->e.plan, CHUNK_ROWS));
    }
    job->workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), job->workspace_bytes);
    if (job->workspace == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_parallel_for(call, n_chunks, search_chunk, job));
    if (kc_call_stopped(call))
        return kc_call_stop_error(call);
    if (!atomic_load(&job->has_overflowed))
        return KC_OK;
    return f->kernel == NULL ? kc_given_fail(&job->e)
                             : kc_fail(call->err, KC_ERR_RANGE,
                                       "kernel values between %s and the points of the function "
                                       "overflow",
                                       kc_points_name(job->e.given));
}

kc_status kc_contributions_find(kc_call *call, const kc_expansion *f, const kc_points *x,
                                size_t top, int64_t *points, double *values)
{
    search job = {
        .e = {.call = call, .f = f, .given = x}, .top = top, .points = points, .values = values};
    kc_status status;

    KC_TRY(kc_points_check_form(x, call->err));
    job.n_rows = (size_t)x->n_rows;
    if (f->kernel == NULL) {
        KC_TRY(kc_given_check(f, x, &job.e.is_whole, call->err));
        return search_all(call, &job);
    }
    KC_TRY(kc_packed_check_alike(&f->points, x, call->err));
    KC_TRY(kc_prepare(call, f->kernel, x, NULL, f->dtype, &job.e.x));
    status = search_all(call, &job);
    kc_packed_free(call->ctx, &job.e.x);
    return status;
}
