/* The matrix of a working set.  See kc_subgram.h.
 *
 * New values come as a block B of all members against the new ones: its rows are spread into those
 * rows of the matrix that were there, its transpose becomes the new rows.  Both read and write
 * along rows. */
#include "solver/kc_subgram.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_thread.h"
#include "simd/kc_ops.h"

/* Rows of the matrix per chunk of parallel work. */
#define CHUNK_ROWS ((size_t)64)

enum { NO_SLOT = -1 };

kc_status kc_subgram_create(kc_call *call, const kc_store *store, const kc_block_tuning *tuning,
                            const kc_cols *cols, size_t largest, kc_subgram *out)
{
    size_t n = kc_cols_count(cols);

    *out = (kc_subgram){
        .tuning = tuning, .dtype = kc_store_dtype(store), .cols = cols, .largest = largest};
    out->slot_of = kc_call_take(call, n, sizeof *out->slot_of);
    out->is_wanted = kc_call_take(call, n, sizeof *out->is_wanted);
    out->position_of = kc_call_take(call, largest, sizeof *out->position_of);
    if (out->slot_of == NULL || out->is_wanted == NULL || out->position_of == NULL)
        return kc_fail_nomem(call->err);
    for (size_t p = 0; p < n; p++)
        out->slot_of[p] = NO_SLOT;
    memset(out->is_wanted, 0, n * sizeof *out->is_wanted);
    return KC_OK;
}

static void drop_values(kc_context *ctx, kc_store *store, kc_subgram *sub)
{
    kc_free(ctx, sub->values);
    sub->values = NULL;
    sub->capacity = 0;
    kc_store_set_aside(ctx, store, 0);
}

void kc_subgram_free(kc_context *ctx, kc_store *store, kc_subgram *sub)
{
    if (sub->values != NULL)
        drop_values(ctx, store, sub);
}

static char *at(const kc_subgram *sub, size_t row, size_t col)
{
    return (char *)sub->values + (row * sub->ld + col) * kc_dtype_bytes(sub->dtype);
}

/* ---- Slots of the members
 * ------------------------------------------------------------------------ */

static void seat(kc_subgram *sub, int32_t position, size_t slot)
{
    sub->slot_of[position] = (int32_t)slot;
    sub->position_of[slot] = position;
}

static void unseat(kc_subgram *sub, size_t slot)
{
    sub->slot_of[sub->position_of[slot]] = NO_SLOT;
}

/* Row and column of slot `from` become those of slot `to`. */
static void move_slot(kc_subgram *sub, size_t from, size_t to, size_t n_slots)
{
    memcpy(at(sub, to, 0), at(sub, from, 0), n_slots * kc_dtype_bytes(sub->dtype));
    if (sub->dtype == KC_F64)
        for (size_t s = 0; s < n_slots; s++)
            *(double *)at(sub, s, to) = *(const double *)at(sub, s, from);
    else
        for (size_t s = 0; s < n_slots; s++)
            *(float *)at(sub, s, to) = *(const float *)at(sub, s, from);
    unseat(sub, to);
    seat(sub, sub->position_of[from], to);
}

/* Down to `size` slots: wanted members above move to slots of unwanted ones below. */
static void shrink(kc_subgram *sub, size_t size)
{
    size_t n_slots = sub->n_slots;
    size_t to = 0;

    for (size_t from = size; from < n_slots; from++) {
        if (!sub->is_wanted[sub->position_of[from]]) {
            unseat(sub, from);
            continue;
        }
        while (sub->is_wanted[sub->position_of[to]])
            to++;
        move_slot(sub, from, to, n_slots);
    }
    sub->n_slots = kc_min(n_slots, size);
}

/* Seats the positions that have no slot; their slots come out ascending. */
static size_t seat_new(kc_subgram *sub, const int32_t *positions, size_t n, int32_t *new_slots)
{
    size_t n_new = 0;
    size_t slot = 0;

    for (size_t k = 0; k < n; k++) {
        if (sub->slot_of[positions[k]] != NO_SLOT)
            continue;
        while (slot < sub->n_slots && sub->is_wanted[sub->position_of[slot]])
            slot++;
        if (slot < sub->n_slots)
            unseat(sub, slot);
        else
            sub->n_slots++;
        seat(sub, positions[k], slot);
        new_slots[n_new++] = (int32_t)slot++;
    }
    return n_new;
}

static void clear(kc_subgram *sub)
{
    for (size_t s = 0; s < sub->n_slots; s++)
        unseat(sub, s);
    sub->n_slots = 0;
}

void kc_subgram_retype(kc_context *ctx, kc_store *store, kc_subgram *sub, kc_dtype dtype,
                       size_t largest)
{
    clear(sub);
    kc_subgram_free(ctx, store, sub);
    sub->dtype = dtype;
    sub->largest = largest;
}

/* ---- Their values -------------------------------------------------------------------------- */

typedef struct rounding {
    const double *from; /* n_cols values a row */
    float *to;
    size_t n_rows, n_cols, ld;
} rounding;

static void round_chunk(void *data, size_t chunk, int32_t worker)
{
    const rounding *job = data;
    const size_t end = kc_min(job->n_rows, (chunk + 1) * CHUNK_ROWS);

    (void)worker;
    for (size_t i = chunk * CHUNK_ROWS; i < end; i++)
        for (size_t j = 0; j < job->n_cols; j++)
            job->to[i * job->ld + j] = (float)job->from[i * job->n_cols + j];
}

/* As kc_store_gather, in the type of the matrix. */
static kc_status gather(kc_call *call, kc_store *store, const kc_subgram *sub,
                        const int32_t *points, size_t n_rows, const int32_t *others, size_t n_cols,
                        void *out, size_t ld)
{
    if (sub->dtype == kc_store_dtype(store))
        return kc_store_gather(call, store, points, n_rows, others, n_cols, out, ld);

    kc_arena_point point = kc_arena_mark(call->arena);
    double *wide = kc_call_take(call, n_rows * n_cols, sizeof *wide);
    rounding job = {wide, out, n_rows, n_cols, ld};
    kc_status status =
        wide != NULL ? kc_store_gather(call, store, points, n_rows, others, n_cols, wide, n_cols)
                     : kc_fail_nomem(call->err);

    if (status == KC_OK) {
        int32_t n_threads = call->n_threads;
        if (n_rows * n_cols < sub->tuning->matrix_shared_rounding)
            call->n_threads = 1;
        status = kc_parallel_for(call, kc_ceil_div(n_rows, CHUNK_ROWS), round_chunk, &job);
        call->n_threads = n_threads;
    }
    kc_arena_release(call->arena, point);
    return status;
}

typedef struct spreading {
    kc_subgram *sub;
    const int32_t *new_slots;
    size_t n_new;
    const uint8_t *is_new; /* by slot: in this block or another */
    const char *block;     /* n_slots rows of n_new values */
    size_t block_ld;
} spreading;

/* Values of a block row into the columns of the new slots. */
static void spread_row(const spreading *job, size_t row)
{
    const char *from = job->block + row * job->block_ld * kc_dtype_bytes(job->sub->dtype);
    char *to = at(job->sub, row, 0);

    if (job->sub->dtype == KC_F64) {
        for (size_t k = 0; k < job->n_new; k++)
            ((double *)to)[job->new_slots[k]] = ((const double *)from)[k];
    } else {
        for (size_t k = 0; k < job->n_new; k++)
            ((float *)to)[job->new_slots[k]] = ((const float *)from)[k];
    }
}

/* CHUNK_ROWS block rows: into the columns of the new slots, and across into their rows, which are
 * whole then. */
static void spread_chunk(void *data, size_t chunk, int32_t worker)
{
    const spreading *job = data;
    kc_subgram *sub = job->sub;
    size_t begin = chunk * CHUNK_ROWS;
    size_t n_rows = kc_min(CHUNK_ROWS, sub->n_slots - begin);
    size_t bytes = kc_dtype_bytes(sub->dtype);
    double across[16 * CHUNK_ROWS];

    (void)worker;
    for (size_t row = begin; row < begin + n_rows; row++)
        if (!job->is_new[row])
            spread_row(job, row);
    for (size_t k = 0; k < job->n_new; k += 16) {
        size_t n = kc_min(16, job->n_new - k);
        kc_ops_of(sub->dtype)
            ->transpose(across, CHUNK_ROWS, job->block + (begin * job->block_ld + k) * bytes,
                        job->block_ld, n_rows, n);
        for (size_t i = 0; i < n; i++)
            memcpy(at(sub, (size_t)job->new_slots[k + i], begin),
                   (const char *)across + i * CHUNK_ROWS * bytes, n_rows * bytes);
    }
}

static bool is_cheaper_anew(const kc_store *store, const kc_subgram *sub, size_t n, size_t n_new)
{
    size_t work = kc_store_work(store);

    if (sub->dtype != kc_store_dtype(store) &&
        n * n * sizeof(double) > sub->tuning->matrix_wide_bytes)
        return false;

    /* To pick from all over a matrix is what costs; and a caller who computes values is asked for
     * no more than is needed. */
    if (kc_store_picks(store) || kc_store_whole_bytes(store) == 0)
        return n_new == n;
    return n * (work + sub->tuning->matrix_mirror_work) <=
           2 * n_new * (work + sub->tuning->matrix_spread_work);
}

static kc_status fill_new(kc_call *call, kc_store *store, kc_subgram *sub, const int32_t *new_slots,
                          size_t n_new)
{
    size_t n = sub->n_slots;
    size_t bytes = kc_dtype_bytes(sub->dtype);
    spreading job = {.sub = sub};
    int32_t *points = kc_call_take(call, n + n_new, sizeof *points);
    const size_t max_new = sub->tuning->matrix_new_members;
    uint8_t *is_new = kc_call_take(call, n, sizeof *is_new);

    if (points == NULL || is_new == NULL)
        return kc_fail_nomem(call->err);
    for (size_t s = 0; s < n; s++)
        points[s] = (int32_t)kc_cols_point(sub->cols, (size_t)sub->position_of[s]);
    if (is_cheaper_anew(store, sub, n, n_new))
        return gather(call, store, sub, points, n, points, n, sub->values, sub->ld);
    memset(is_new, 0, n * sizeof *is_new);
    for (size_t k = 0; k < n_new; k++) {
        points[n + k] = points[new_slots[k]];
        is_new[new_slots[k]] = 1;
    }
    job.is_new = is_new;
    job.block_ld = kc_round_up(kc_min(n_new, max_new), KC_ALIGN / bytes) + KC_ALIGN / bytes;
    void *block = kc_call_take(call, n, job.block_ld * bytes);
    if (block == NULL)
        return kc_fail_nomem(call->err);
    job.block = block;
    for (size_t k = 0; k < n_new; k += max_new) {
        job.new_slots = new_slots + k;
        job.n_new = kc_min(max_new, n_new - k);
        KC_TRY(gather(call, store, sub, points, n, points + n + k, job.n_new, block, job.block_ld));
        KC_TRY(kc_parallel_for(call, kc_ceil_div(n, CHUNK_ROWS), spread_chunk, &job));
    }
    return KC_OK;
}

/* The values move with their rows, polled on the way. */
static kc_status copy_values(kc_call *call, const kc_subgram *from, kc_subgram *to)
{
    size_t row_bytes = from->n_slots * kc_dtype_bytes(from->dtype);

    for (size_t s = 0; s < from->n_slots; s++) {
        memcpy(at(to, s, 0), at(from, s, 0), row_bytes);
        if (s % CHUNK_ROWS == 0)
            KC_TRY(kc_call_poll(call));
    }
    return KC_OK;
}

/* Room for n slots and some.  Two large matrices at once would be too many: then the values are
 * given up first. */
static kc_status grow(kc_call *call, kc_store *store, kc_subgram *sub, size_t n)
{
    size_t bytes = kc_dtype_bytes(sub->dtype);
    kc_subgram larger = *sub;

    if (n <= sub->capacity)
        return KC_OK;
    const size_t roomy =
        kc_max(n + n / sub->tuning->matrix_spare_divisor, sub->tuning->matrix_first_members);
    larger.capacity = kc_min(roomy, kc_max(sub->largest, n));
    larger.ld = kc_round_up(larger.capacity, KC_ALIGN / bytes) + KC_ALIGN / bytes;
    size_t n_bytes = larger.capacity * larger.ld * bytes;
    if (n_bytes + sub->capacity * sub->ld * bytes > sub->tuning->matrix_bytes_at_once) {
        clear(sub);
        kc_subgram_free(call->ctx, store, sub);
    }
    kc_store_set_aside(call->ctx, store, n_bytes);
    larger.values = kc_alloc(call->ctx, larger.capacity, larger.ld * bytes);
    if (larger.values == NULL)
        return kc_fail_nomem(call->err);
    /* All of it may be written to between two polls. */
    kc_status status = kc_touch(call, larger.values, n_bytes);
    if (status == KC_OK)
        status = copy_values(call, sub, &larger);
    if (status != KC_OK) {
        kc_free(call->ctx, larger.values);
        return status;
    }
    kc_free(call->ctx, sub->values);
    sub->values = larger.values;
    sub->capacity = larger.capacity;
    sub->ld = larger.ld;
    return KC_OK;
}

kc_status kc_subgram_change(kc_call *call, kc_store *store, kc_subgram *sub,
                            const int32_t *positions, size_t n, size_t size)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    int32_t *new_slots = kc_call_take(call, n, sizeof *new_slots);
    kc_status status = new_slots != NULL ? grow(call, store, sub, n) : kc_fail_nomem(call->err);

    assert(n <= size && size <= sub->largest);
    if (status == KC_OK) {
        for (size_t k = 0; k < n; k++)
            sub->is_wanted[positions[k]] = 1;
        shrink(sub, size);
        size_t n_new = seat_new(sub, positions, n, new_slots);
        if (n_new > 0)
            status = fill_new(call, store, sub, new_slots, n_new);
        if (status != KC_OK)
            clear(sub);
        for (size_t k = 0; k < n; k++)
            sub->is_wanted[positions[k]] = 0;
    }
    kc_arena_release(call->arena, point);
    return status;
}
