/* The matrix is cut into bands of rows, which are dealt to a fixed number of parts in turn: of
 * K(x, x), where a band begins at the diagonal, all parts then have about as much to do.  A part
 * adds up in its own sums, in the order of its bands; at the end, the parts' sums are added in
 * theirs.
 *
 * What normalizations have divided by is added afterwards: the weights of all K(x_i, x_i) of their
 * operands are known then, and a backward run over the diagonal finds what they add. */
#include "kernel/kc_gradient.h"

#include <math.h>
#include <string.h>

#include "base/kc_thread.h"
#include "data/kc_moments.h"
#include "kernel/kc_gram.h"
#include "kernel/kc_tape.h"

#define MAX_PARTS ((size_t)64)

/* Below this much work, waking a thread costs more than it brings. */
#define PARALLEL_WORK ((size_t)1 << 20)

#define NONE SIZE_MAX

typedef struct gradient_job {
    kc_call *call;
    const kc_tape *tape;
    const kc_packed *x, *z;
    const kc_points *weights;
    bool is_symmetric;
    size_t n_bands, n_parts;
    double *sums;     /* of the parts: n_params each */
    double *row_sums; /* of normalizations: x->n each; a row belongs to one part */
    double *col_sums; /* of the parts: n_scalars x z->n each */
    char *workspace;  /* of all workers, one after the other */
    size_t workspace_bytes;
    size_t tape_bytes; /* of it, a tape's; behind it room for transposed weights */
    atomic_bool has_bad_weights;
    atomic_size_t overflow; /* the first entry that is not finite, row by row; NONE; KC_NO_ENTRY */
} gradient_job;

/* ---- Weights -------------------------------------------------------------------------------- */

/* out[j] = the number `stride` bytes behind the one before it, or added to what is there. */
static void read_weights(const kc_points *g, const char *at, int64_t stride, double *out, size_t n,
                         bool is_added)
{
    if (!is_added && g->dtype == KC_F64 && stride == (int64_t)sizeof(double)) {
        memcpy(out, at, n * sizeof *out);
        return;
    }
    for (size_t j = 0; j < n; j++, at += stride) {
        const double value = kc_value_at(g, at);

        out[j] = is_added ? out[j] + value : value;
    }
}

/* Whether rows of doubles lie in a row each, whole numbers of them apart. */
static bool are_plain(const kc_points *g)
{
    return g->dtype == KC_F64 && g->col_stride == (int64_t)sizeof(double) && g->row_stride > 0 &&
           g->row_stride % (int64_t)sizeof(double) == 0;
}

/* Adds G' to the columns of a tile that lie behind its rows: through a copy, where that can be made
 * without going down the columns one by one. */
static void add_transposed(const gradient_job *job, const kc_tape_tile *tile, size_t first,
                           double *copy)
{
    const kc_points *g = job->weights;
    const size_t n = tile->n_cols - first, ld = job->tape->n_cols;
    const kc_ops *ops = kc_ops_of(KC_F64);
    const void *from = kc_dense_at(g, tile->col_begin + first, tile->row_begin);

    if (are_plain(g))
        ops->transpose(copy, ld, from, (size_t)g->row_stride / sizeof(double), n, tile->n_rows);
    for (size_t r = 0; r < tile->n_rows; r++) {
        double *weights = kc_tape_weights(job->tape, tile, r) + first;

        if (are_plain(g))
            ops->add(weights, copy + r * ld, n);
        else
            read_weights(g, kc_dense_at(g, tile->col_begin + first, tile->row_begin + r),
                         g->row_stride, weights, n, true);
    }
}

/* The rows and columns on the diagonal, with what lies below it: an entry above stands for both. */
static void fold_square(const gradient_job *job, const kc_tape_tile *tile, size_t n)
{
    const kc_points *g = job->weights;

    for (size_t r = 0; r < n; r++) {
        double *weights = kc_tape_weights(job->tape, tile, r);

        memset(weights, 0, r * sizeof *weights);
        if (r + 1 < n)
            read_weights(g, kc_dense_at(g, tile->col_begin + r + 1, tile->row_begin + r),
                         g->row_stride, weights + r + 1, n - r - 1, true);
    }
}

/* Those of a tile.  A symmetric matrix begins at the diagonal of each band; what lies below it is
 * left out, and counted above.  Returns whether they are finite. */
static bool load_weights(const gradient_job *job, const kc_tape_tile *tile, double *copy)
{
    const kc_points *g = job->weights;
    const bool is_square = job->is_symmetric && tile->col_begin == tile->row_begin;
    const size_t n_square = is_square ? kc_min(tile->n_rows, tile->n_cols) : 0;
    bool is_finite = true;

    for (size_t r = 0; r < tile->n_rows; r++)
        read_weights(g, kc_dense_at(g, tile->row_begin + r, tile->col_begin), g->col_stride,
                     kc_tape_weights(job->tape, tile, r), tile->n_cols, false);
    for (size_t r = 0; r < n_square; r++) /* what is left out below counts, too, for this */
        is_finite &= kc_ops_of(KC_F64)->all_finite(kc_tape_weights(job->tape, tile, r), n_square);
    fold_square(job, tile, n_square);
    if (job->is_symmetric && n_square < tile->n_cols)
        add_transposed(job, tile, n_square, copy);
    for (size_t r = 0; r < tile->n_rows; r++)
        is_finite &=
            kc_ops_of(KC_F64)->all_finite(kc_tape_weights(job->tape, tile, r), tile->n_cols);
    return is_finite;
}

/* ---- Bands ---------------------------------------------------------------------------------- */

/* Keeps the lowest place of all tiles, whatever the order in which they come. */
static void note_overflow(gradient_job *job, const kc_tape_tile *tile)
{
    size_t found = KC_NO_ENTRY, before = atomic_load(&job->overflow), row, col;

    if (kc_tape_find_overflow(job->tape, job->tape->plan->kernel->n_nodes, tile, &row, &col))
        found = (tile->row_begin + row) * job->z->n + tile->col_begin + col;
    while (found < before && !atomic_compare_exchange_weak(&job->overflow, &before, found))
        ;
}

static void run_tile(gradient_job *job, const kc_tape_tile *tile, const kc_tape_sums *sums)
{
    const size_t n_nodes = job->tape->plan->kernel->n_nodes;
    char *copy = (char *)tile->workspace + job->tape_bytes;

    if (!load_weights(job, tile, (double *)(void *)copy))
        atomic_store(&job->has_bad_weights, true);
    else if (kc_tape_forward(job->tape, 0, n_nodes, tile, job->call)) {
        kc_tape_backward(job->tape, 0, n_nodes, tile, sums);
    } else if (!kc_call_stopped(job->call)) {
        note_overflow(job, tile);
    }
}

static void run_part(void *data, size_t part, int32_t worker)
{
    gradient_job *job = data;
    const size_t n_scalars = job->tape->plan->kernel->n_scalars, n = job->x->n, m = job->z->n;
    const kc_tape_sums sums = {
        .params = job->sums + part * job->tape->n_params,
        .rows = job->row_sums,
        .cols = job->col_sums + part * n_scalars * m,
        .row_ld = n,
        .col_ld = m,
    };
    kc_tape_tile tile = {.workspace = job->workspace + (size_t)worker * job->workspace_bytes};

    for (size_t band = part; band < job->n_bands; band += job->n_parts) {
        tile.row_begin = band * KC_TAPE_ROWS;
        tile.n_rows = kc_min(KC_TAPE_ROWS, n - tile.row_begin);
        tile.col_begin = job->is_symmetric ? tile.row_begin : 0;
        for (; tile.col_begin < m; tile.col_begin += job->tape->n_cols) {
            if (kc_call_poll(job->call) != KC_OK || atomic_load(&job->has_bad_weights))
                return;
            tile.n_cols = kc_min(job->tape->n_cols, m - tile.col_begin);
            run_tile(job, &tile, &sums);
        }
    }
}

/* ---- The diagonal --------------------------------------------------------------------------- */

/* Adds what the self-values of one side of a normalization's operand add: their weights are
 * -s_i^2 / 2 times the sum of w K over the row, or over the column. */
static kc_status add_diagonal(kc_call *call, const kc_plan *plan, const kc_raw_columns *raw,
                              size_t place, const double *sums_of_samples, double *out)
{
    const kc_kernel *kernel = plan->kernel;
    const size_t first = kc_operand_first(kernel, place), n = plan->x->n;
    const void *scalars = kc_packed_scalars(plan->x, (size_t)kernel->nodes[place].scalar);
    kc_tape_node *nodes = kc_call_take(call, kernel->n_nodes, sizeof *nodes);
    const kc_tape_sums sums = {.params = out};
    kc_tape tape;
    void *workspace;

    if (nodes == NULL)
        return kc_fail_nomem(call->err);
    tape = kc_tape_make(plan, nodes, raw);
    workspace = kc_call_take(call, 1, kc_tape_workspace(&tape));
    if (workspace == NULL)
        return kc_fail_nomem(call->err);
    for (size_t begin = 0; begin < n; begin += tape.n_cols) {
        const kc_tape_tile tile = {
            .is_diag = true,
            .n_rows = 1,
            .col_begin = begin,
            .n_cols = kc_min(tape.n_cols, n - begin),
            .workspace = workspace,
        };
        double *weights = kc_tape_weights(&tape, &tile, 0);

        if (kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
        if (!kc_tape_forward(&tape, first, place, &tile, call))
            return kc_gram_fail(call, plan->x, plan->x, KC_NO_ENTRY);
        for (size_t i = 0; i < tile.n_cols; i++) {
            const double s = kc_number_at(scalars, begin + i, plan->x->dtype);

            weights[i] = -0.5 * s * s * sums_of_samples[begin + i];
        }
        kc_tape_backward(&tape, first, place, &tile, &sums);
    }
    return KC_OK;
}

/* What leaves read of z, on both sides. */
static kc_status raw_of_z(gradient_job *job, kc_raw_columns **out)
{
    const size_t n_nodes = job->tape->plan->kernel->n_nodes;
    const kc_raw_columns *raw = job->tape->raw;

    if (raw == NULL)
        return KC_OK;
    *out = kc_call_take(job->call, n_nodes, sizeof **out);
    if (*out == NULL)
        return kc_fail_nomem(job->call->err);
    for (size_t i = 0; i < n_nodes; i++) {
        (*out)[i] = raw[i];
        (*out)[i].x = raw[i].z;
    }
    return KC_OK;
}

static kc_status add_diagonals(gradient_job *job, double *out)
{
    const kc_plan *plan = job->tape->plan;
    const kc_kernel *kernel = plan->kernel;
    const kc_plan own = kc_plan_make(kernel, job->x, job->x);
    const kc_plan other = kc_plan_make(kernel, job->z, job->z);
    const size_t n_sums = kernel->n_scalars * job->z->n;
    kc_raw_columns *z_raw = NULL;

    KC_TRY(raw_of_z(job, &z_raw));

    for (size_t p = 1; p < job->n_parts; p++)
        for (size_t k = 0; k < n_sums; k++)
            job->col_sums[k] += job->col_sums[p * n_sums + k];
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const size_t s = (size_t)kernel->nodes[i].scalar;

        if (kernel->nodes[i].op != &kc_operator_normalized)
            continue;
        KC_TRY(
            add_diagonal(job->call, &own, job->tape->raw, i, job->row_sums + s * job->x->n, out));
        KC_TRY(add_diagonal(job->call, &other, z_raw, i, job->col_sums + s * job->z->n, out));
    }
    return KC_OK;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static double *take_zeros(kc_call *call, size_t count, size_t size)
{
    size_t n;
    double *zeros = kc_mul_size(count, size, &n) ? kc_call_take(call, n, sizeof *zeros) : NULL;

    if (zeros != NULL)
        memset(zeros, 0, n * sizeof *zeros);
    return zeros;
}

static kc_status take_memory(kc_call *call, gradient_job *job)
{
    const size_t n_scalars = job->tape->plan->kernel->n_scalars;

    job->sums = take_zeros(call, job->n_parts, job->tape->n_params);
    job->row_sums = take_zeros(call, n_scalars, job->x->n);
    job->col_sums = take_zeros(call, job->n_parts * n_scalars, job->z->n);
    job->workspace =
        kc_call_take(call, (size_t)kc_workers(call, job->n_parts), job->workspace_bytes);
    return job->sums != NULL && job->row_sums != NULL && job->col_sums != NULL &&
                   job->workspace != NULL
               ? KC_OK
               : kc_fail_nomem(call->err);
}

static kc_status add_parts(gradient_job *job, double *out)
{
    const size_t n_params = job->tape->n_params, place = atomic_load(&job->overflow);

    if (atomic_load(&job->has_bad_weights)) {
        KC_TRY(kc_points_check_finite(job->call, job->weights));
        return kc_fail(job->call->err, KC_ERR_RANGE, "%s: the sum of two entries overflows",
                       kc_points_name(job->weights));
    }
    if (place != NONE)
        return kc_gram_fail(job->call, job->x, job->z, place);
    memset(out, 0, n_params * sizeof *out);
    for (size_t p = 0; p < job->n_parts; p++)
        for (size_t k = 0; k < n_params; k++)
            out[k] += job->sums[p * n_params + k];
    if (job->tape->plan->kernel->n_scalars > 0)
        KC_TRY(add_diagonals(job, out));
    for (size_t k = 0; k < n_params; k++)
        if (!isfinite(out[k]))
            return kc_fail(job->call->err, KC_ERR_RANGE,
                           "the gradient by parameter %zu of the kernel overflows; scale the data "
                           "or the weights",
                           k);
    return KC_OK;
}

static kc_status run_parts(kc_call *call, gradient_job *job)
{
    const int32_t n_threads = call->n_threads;
    const double work = (double)job->x->n * (double)job->z->n * (double)job->tape->plan->work;
    kc_status status;

    if (work < (double)PARALLEL_WORK)
        call->n_threads = 1; /* for this work, not for what the call does next */
    status = take_memory(call, job);
    if (status == KC_OK)
        status = kc_parallel_for(call, job->n_parts, run_part, job);
    call->n_threads = n_threads;
    if (status == KC_OK && kc_call_stopped(call))
        status = kc_call_stop_error(call);
    return status;
}

kc_status kc_gradient_fill(kc_call *call, const kc_plan *plan, const kc_raw_columns *raw,
                           const kc_points *weights, double *out)
{
    kc_tape_node *nodes = kc_call_take(call, plan->kernel->n_nodes, sizeof *nodes);
    gradient_job job = {.call = call,
                        .x = plan->x,
                        .z = plan->z,
                        .weights = weights,
                        .is_symmetric = plan->x == plan->z,
                        .overflow = NONE};
    kc_tape tape;

    if (nodes == NULL)
        return kc_fail_nomem(call->err);
    tape = kc_tape_make(plan, nodes, raw);
    job.tape = &tape;
    job.n_bands = kc_ceil_div(plan->x->n, KC_TAPE_ROWS);
    job.n_parts = kc_min(MAX_PARTS, job.n_bands);
    job.tape_bytes = kc_tape_workspace(&tape);
    job.workspace_bytes = job.tape_bytes + KC_TAPE_ROWS * tape.n_cols * sizeof(double);
    KC_TRY(run_parts(call, &job));
    return add_parts(&job, out);
}
