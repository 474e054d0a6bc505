/* Rows of x in chunks: kernel values with all points, then one walk through the updates for each
 * row. */
#include "function/kc_voted.h"

#include <math.h>

#include "base/kc_thread.h"
#include "data/kc_points.h"

/* Columns of a kernel block, and rows of a chunk: one row tile. */
#define BLOCK_COLS ((size_t)512)
#define CHUNK_ROWS ((size_t)KC_TILE_ROWS)

/* Updates between two polls: well below a millisecond. */
#define POLL_UPDATES ((size_t)1 << 16)

/* ---- One row ------------------------------------------------------------------------------ */

/* The functions' values at one x, since when they have not changed, and the votes so far. */
typedef struct count {
    double *values;
    double *votes;
    int64_t *since;
} count;

static void cast(const kc_voted *f, size_t output, int64_t until, count *c)
{
    size_t best = 0;

    if (!f->is_joint) {
        const double n_survived = (double)until - (double)c->since[output];

        c->votes[output] += c->values[output] > 0 ? n_survived : -n_survived;
        c->since[output] = until;
        return;
    }
    for (size_t o = 1; o < f->n_outputs; o++)
        if (c->values[o] > c->values[best])
            best = o;
    c->votes[best] += (double)until - (double)c->since[0];
    c->since[0] = until;
}

static void follow(const kc_voted *f, const kc_perceptron_update *update, const void *k, count *c)
{
    const double change =
        update->step * (kc_number_at(k, (size_t)update->sample, f->dtype) + f->offset);

    cast(f, (size_t)update->raised, update->at, c);
    c->values[update->raised] += change;
    if (update->lowered >= 0)
        c->values[update->lowered] -= change;
}

/* A call that is stopped meanwhile leaves the row unfinished. */
static void count_row(kc_call *call, const kc_voted *f, const void *k, count *c)
{
    for (size_t o = 0; o < f->n_outputs; o++) {
        c->values[o] = c->votes[o] = 0;
        c->since[o] = 1;
    }
    for (size_t u = 0; u < f->n_updates; u++) {
        if (u % POLL_UPDATES == POLL_UPDATES - 1 && kc_call_poll(call) != KC_OK)
            return;
        follow(f, &f->updates[u], k, c);
    }
    for (size_t o = 0; o < (f->is_joint ? 1 : f->n_outputs); o++)
        cast(f, o, f->n_steps[o] + 1, c);
}

/* ---- All rows ----------------------------------------------------------------------------- */

typedef struct counting {
    kc_call *call;
    const kc_voted *f;
    const kc_points *given; /* the view of x: read where there is no kernel */
    kc_packed x;
    size_t n_rows;
    double *out;
    size_t ld;
    char *workspace;
    size_t workspace_bytes, tile_bytes;
    atomic_bool has_overflowed;
} counting;

static bool fill_tile(counting *job, size_t begin, size_t n_rows, char *tile, void *workspace)
{
    const kc_voted *f = job->f;
    const kc_plan plan = kc_plan_make(f->kernel, &job->x, f->points);
    const size_t bytes = kc_dtype_bytes(f->dtype);
    bool is_finite = true;

    for (size_t j = 0; j < f->n && kc_call_poll(job->call) == KC_OK; j += BLOCK_COLS) {
        const kc_block block = {
            .row_begin = begin,
            .n_rows = n_rows,
            .col_begin = j,
            .n_cols = kc_min(BLOCK_COLS, f->n - j),
            .out = tile + j * bytes,
            .ld = f->n,
        };

        is_finite &= kc_plan_block(&plan, &block, workspace);
    }
    return is_finite;
}

static bool copy_tile(const counting *job, size_t begin, size_t n_rows, char *tile)
{
    const kc_voted *f = job->f;
    bool is_finite = true;

    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < f->n; j++) {
            const size_t column =
                (size_t)job->given->n_cols == f->n_cols ? (size_t)f->columns[j] : j;
            const double value =
                kc_value_at(job->given, kc_dense_at(job->given, begin + i, column));

            is_finite &= isfinite(value) != 0;
            if (f->dtype == KC_F64)
                ((double *)(void *)tile)[i * f->n + j] = value;
            else
                ((float *)(void *)tile)[i * f->n + j] = (float)value;
        }
    return is_finite;
}

/* Of the values and the times of all outputs. */
static size_t outputs_bytes(const kc_voted *f)
{
    return kc_round_up(f->n_outputs * (sizeof(double) + sizeof(int64_t)), KC_ALIGN);
}

static void run_chunk(void *data, size_t chunk, int32_t worker)
{
    counting *job = data;
    const kc_voted *f = job->f;
    const size_t begin = chunk * CHUNK_ROWS;
    const size_t n_rows = kc_min(CHUNK_ROWS, job->n_rows - begin);
    char *tile = job->workspace + (size_t)worker * job->workspace_bytes;
    double *values = (double *)(void *)(tile + job->tile_bytes);
    int64_t *since = (int64_t *)(void *)(values + f->n_outputs);
    char *kernel_space = tile + job->tile_bytes + outputs_bytes(f);

    if (!(f->kernel != NULL ? fill_tile(job, begin, n_rows, tile, kernel_space)
                            : copy_tile(job, begin, n_rows, tile)))
        atomic_store_explicit(&job->has_overflowed, true, memory_order_relaxed);
    for (size_t i = 0; i < n_rows; i++) {
        count c = {values, job->out + (begin + i) * job->ld, since};

        count_row(job->call, f, tile + i * f->n * kc_dtype_bytes(f->dtype), &c);
    }
}

static kc_status count_all(counting *job)
{
    kc_call *call = job->call;
    const kc_voted *f = job->f;
    const size_t n_chunks = kc_ceil_div(job->n_rows, CHUNK_ROWS);
    kc_status status;

    job->tile_bytes = kc_round_up(CHUNK_ROWS * f->n * kc_dtype_bytes(f->dtype), KC_ALIGN);
    job->workspace_bytes = job->tile_bytes + outputs_bytes(f);
    if (f->kernel != NULL && f->n > 0) {
        const kc_plan plan = kc_plan_make(f->kernel, &job->x, f->points);

        job->workspace_bytes += kc_aligned(kc_plan_workspace(&plan, CHUNK_ROWS));
    }
    job->workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), job->workspace_bytes);
    if (job->workspace == NULL)
        return kc_fail_nomem(call->err);
    status = kc_parallel_for(call, n_chunks, run_chunk, job);
    if (status == KC_OK && kc_call_stopped(call))
        status = kc_call_stop_error(call);
    if (status == KC_OK && atomic_load(&job->has_overflowed))
        status =
            kc_fail(call->err, KC_ERR_RANGE, "kernel values between %s and the points kept %s",
                    kc_points_name(job->given), f->kernel != NULL ? "overflow" : "are not finite");
    return status;
}

static kc_status check_columns(const kc_voted *f, const kc_points *x, kc_error *err)
{
    if (f->kernel != NULL)
        return kc_packed_check_alike(f->points, x, err);
    if (x->storage != KC_DENSE || x->next != NULL)
        return kc_fail(err, KC_ERR_TYPE, "%s must be a dense matrix of kernel values",
                       kc_points_name(x));
    if ((size_t)x->n_cols != f->n_cols && (size_t)x->n_cols != f->n)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld columns, the model was fitted to %zu",
                       kc_points_name(x), (long long)x->n_cols, f->n_cols);
    return KC_OK;
}

kc_status kc_voted_count(kc_call *call, const kc_voted *f, const kc_points *x, double *out,
                         size_t ld)
{
    counting job = {.call = call, .f = f, .given = x, .out = out, .ld = ld};
    kc_status status;

    KC_TRY(kc_points_check_form(x, call->err));
    KC_TRY(check_columns(f, x, call->err));
    job.n_rows = (size_t)x->n_rows;
    if (f->kernel != NULL)
        KC_TRY(kc_prepare(call, f->kernel, x, NULL, f->dtype, &job.x));
    status = count_all(&job);
    kc_packed_free(call->ctx, &job.x);
    return status;
}
