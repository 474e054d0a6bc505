/* A Gram matrix is cut into chunks of some rows by a strip of columns, of about the same work each;
 * the cut depends on the kernel and the sizes alone.  For K(x, x), a chunk starts at the diagonal,
 * leaves out what lies below it, and copies the rest to the other side while it is still in the
 * cache; values that are cheaper than that are computed on both sides, where they are the same. */
#include "kernel/kc_gram.h"

#include "base/kc_thread.h"
#include "data/kc_points.h"
#include "simd/kc_ops.h"

/* Rows of a chunk: multiples of the row tile and the panels; the first also of the lane groups. */
#define CHUNK_ROWS ((size_t)96)
#define COSTLY_ROWS ((size_t)48)

/* Multiply-adds of one chunk: about two milliseconds.  Entries so costly that CHUNK_ROWS by
 * MIN_COLS of them are more than MAX_WORK are dealt in smaller chunks, though rows are then
 * gathered more often than is best: a call must not wait long for one of them when it is stopped.
 */
#define CHUNK_WORK ((size_t)32 << 20)
#define MAX_WORK ((size_t)64 << 20)
#define MIN_COLS ((size_t)64)
#define MAX_COLS ((size_t)4096)
#define MIN_COSTLY_COLS ((size_t)16)

/* Mirror images of matrices from this size on are written past the cache. */
#define FAR_BYTES ((size_t)32 << 20)

/* ... and not at all where dense values cost less multiply-adds: computing both sides takes less
 * than reaching the other one. */
#define MIRROR_WORK ((size_t)26)

/* Below this much work, waking a thread costs more than it brings. */
#define PARALLEL_WORK ((size_t)1 << 20)

typedef struct gram_job {
    const kc_plan *plan;
    const kc_packed *x, *z; /* of the plan */
    bool is_symmetric;
    bool is_far; /* too large for any cache */
    size_t chunk_rows, strip_cols, n_strips;
    void *out;
    size_t ld;
    char *workspace; /* of all workers, one after the other */
    size_t workspace_bytes;
    atomic_size_t
        overflow; /* the first entry that is not finite, row by row; or NONE, KC_NO_ENTRY */
} gram_job;

#define NONE SIZE_MAX /* no overflow */

static void choose_chunk(gram_job *job, size_t work)
{
    const size_t cols = CHUNK_WORK / CHUNK_ROWS / work / MIN_COLS * MIN_COLS;

    job->chunk_rows = CHUNK_ROWS * MIN_COLS > MAX_WORK / work ? COSTLY_ROWS : CHUNK_ROWS;
    job->strip_cols = kc_max(MIN_COLS, kc_min(MAX_COLS, cols));
    while (job->strip_cols > MIN_COSTLY_COLS && job->chunk_rows * job->strip_cols > MAX_WORK / work)
        job->strip_cols /= 2;
    job->n_strips = kc_ceil_div(job->z->n, job->strip_cols);
}

/* Some rows and columns of the matrix, to the other side of the diagonal. */
static void mirror(const gram_job *job, size_t row_begin, size_t row_end, size_t begin, size_t end)
{
    const kc_dtype dtype = job->x->dtype;
    const kc_ops *ops = kc_ops_of(dtype);

    if (begin < end)
        (job->is_far ? ops->transpose_far
                     : ops->transpose)(kc_at(job->out, begin * job->ld + row_begin, dtype), job->ld,
                                       kc_at(job->out, row_begin * job->ld + begin, dtype), job->ld,
                                       row_end - row_begin, end - begin);
}

/* What a block of K(x, x) has not computed: beside its own rows, and of those below the diagonal
 * all but what shares a panel with it. */
static void mirror_block(const gram_job *job, const kc_block *block)
{
    const size_t row_end = block->row_begin + block->n_rows;
    const size_t step = kc_panel_width(job->x->dtype);

    mirror(job, block->row_begin, row_end, kc_max(block->col_begin, row_end),
           block->col_begin + block->n_cols);
    for (size_t i = block->row_begin; block->is_upper && i + step < row_end; i += step)
        mirror(job, i, i + step, i + step, row_end);
}

/* Keeps the lowest place of all chunks, whatever the order in which they come. */
static void note_overflow(gram_job *job, const kc_block *block)
{
    const kc_dtype dtype = job->x->dtype;
    const kc_ops *ops = kc_ops_of(dtype);
    size_t found = KC_NO_ENTRY, before = atomic_load(&job->overflow);

    for (size_t i = 0; i < block->n_rows && found == KC_NO_ENTRY; i++)
        for (size_t j = 0; j < block->n_cols && found == KC_NO_ENTRY; j++)
            if (!ops->all_finite(kc_at(block->out, i * block->ld + j, dtype), 1))
                found = (block->row_begin + i) * job->z->n + block->col_begin + j;
    while (found < before && !atomic_compare_exchange_weak(&job->overflow, &before, found))
        ;
}

static void fill_chunk(void *data, size_t chunk, int32_t worker)
{
    gram_job *job = data;
    const size_t row_begin = chunk / job->n_strips * job->chunk_rows;
    const size_t strip_begin = chunk % job->n_strips * job->strip_cols;
    const size_t strip_end = kc_min(strip_begin + job->strip_cols, job->z->n);
    const size_t col_begin = job->is_symmetric ? kc_max(strip_begin, row_begin) : strip_begin;
    kc_block block = {
        .row_begin = row_begin,
        .n_rows = kc_min(job->chunk_rows, job->x->n - row_begin),
        .col_begin = col_begin,
        .n_cols = strip_end - kc_min(col_begin, strip_end),
        .out = kc_at(job->out, row_begin * job->ld + col_begin, job->x->dtype),
        .ld = job->ld,
    };

    if (block.n_cols == 0)
        return;
    /* Where the square on the diagonal is not cut in two, half of it will do. */
    block.is_upper =
        job->is_symmetric && block.row_begin == block.col_begin && block.n_cols >= block.n_rows;
    if (!kc_plan_block(job->plan, &block, job->workspace + (size_t)worker * job->workspace_bytes))
        note_overflow(job, &block);
    if (job->is_symmetric)
        mirror_block(job, &block);
}

kc_status kc_gram_fail(const kc_call *call, const kc_packed *x, const kc_packed *z, size_t place)
{
    const char *type = x->dtype == KC_F64 ? "float64" : "float32";

    if (place == KC_NO_ENTRY)
        return kc_fail(call->err, KC_ERR_RANGE,
                       "kernel of %s and %s: a term overflows %s; scale the data, or lower gamma "
                       "or the degree",
                       x->name, z->name, type);
    return kc_fail(call->err, KC_ERR_RANGE,
                   "kernel of %s row %zu and %s row %zu overflows %s; scale the data, or lower "
                   "gamma or the degree",
                   x->name, place / z->n, z->name, place % z->n, type);
}

static bool is_far(const kc_packed *x, const kc_packed *z)
{
    return z->n * kc_dtype_bytes(x->dtype) >= FAR_BYTES / x->n;
}

static bool is_mirrored(const kc_plan *plan)
{
    const kc_packed *x = plan->x, *z = plan->z;

    return x == z && (!is_far(x, z) || x->storage == KC_CSR || plan->work >= MIRROR_WORK);
}

int64_t kc_gram_values(const kc_plan *plan)
{
    const int64_t n = (int64_t)plan->x->n;

    return is_mirrored(plan) ? n * (n + 1) / 2 : n * (int64_t)plan->z->n;
}

kc_status kc_gram_fill(kc_call *call, const kc_plan *plan, void *out, size_t ld)
{
    const kc_packed *x = plan->x, *z = plan->z;
    gram_job job = {
        .plan = plan,
        .x = x,
        .z = z,
        .is_symmetric = is_mirrored(plan),
        .is_far = is_far(x, z),
        .out = out,
        .ld = ld,
        .workspace_bytes = kc_aligned(kc_plan_workspace(plan, SIZE_MAX)),
        .overflow = NONE,
    };
    const int32_t n_threads = call->n_threads;
    size_t n_chunks, place;
    kc_status status = KC_ERR_NOMEM;

    choose_chunk(&job, plan->work);
    n_chunks = kc_ceil_div(x->n, job.chunk_rows) * job.n_strips;
    if ((double)x->n * (double)z->n * (double)plan->work < (double)PARALLEL_WORK)
        call->n_threads = 1; /* for this work, not for what the call does next */
    job.workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), job.workspace_bytes);
    if (job.workspace != NULL)
        status = kc_parallel_for(call, n_chunks, fill_chunk, &job);
    call->n_threads = n_threads;
    if (job.workspace == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(status);
    place = atomic_load(&job.overflow);
    return place == NONE ? KC_OK : kc_gram_fail(call, x, z, place);
}

/* The place on the diagonal of the first value that is not finite. */
static size_t first_overflow(const kc_packed *x, void *out)
{
    for (size_t i = 0; i < x->n; i++)
        if (!kc_ops_of(x->dtype)->all_finite(kc_at(out, i, x->dtype), 1))
            return i * x->n + i;
    return KC_NO_ENTRY;
}

kc_status kc_gram_diag(kc_call *call, const kc_plan *plan, void *out)
{
    void *workspace = kc_call_take(call, 1, kc_plan_workspace(plan, SIZE_MAX));

    if (workspace == NULL)
        return kc_fail_nomem(call->err);
    return kc_plan_diag(plan, 0, plan->x->n, out, workspace)
               ? KC_OK
               : kc_gram_fail(call, plan->x, plan->x, first_overflow(plan->x, out));
}
