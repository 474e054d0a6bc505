/* The matrix of a working set.  See kc_subgram.h.
 *
 * New values come as a block B of all members against the new ones: its rows are spread into the
 * rows of the matrix, its transpose becomes the new rows.  Both read and write along rows. */
#include "solver/kc_subgram.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_thread.h"
#include "simd/kc_ops.h"

/* Rows of the matrix per chunk of parallel work. */
#define CHUNK_ROWS ((size_t)64)

/* Matrices up to this size are laid out at once; larger ones grow. */
#define FIRST_CAPACITY ((size_t)1024)

enum { NO_SLOT = -1 };

kc_status kc_subgram_create(kc_call *call, const kc_store *store, const kc_cols *cols,
                            size_t largest, kc_subgram *out)
{
    size_t n = kc_cols_count(cols);

    *out = (kc_subgram){.dtype = kc_store_dtype(store), .cols = cols, .largest = largest};
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

void kc_subgram_free(kc_context *ctx, kc_subgram *sub)
{
    kc_free(ctx, sub->values);
    sub->values = NULL;
}

static char *at(const kc_subgram *sub, size_t row, size_t col)
{
    return (char *)sub->values + (row * sub->ld + col) * kc_dtype_bytes(sub->dtype);
}

static kc_status grow(kc_call *call, kc_subgram *sub, size_t size)
{
    size_t bytes = kc_dtype_bytes(sub->dtype);
    kc_subgram old = *sub;

    if (size <= sub->capacity)
        return KC_OK;
    sub->capacity = kc_min(kc_max(kc_max(size, FIRST_CAPACITY), sub->capacity * 3 / 2),
                           kc_max(sub->largest, size));
    sub->ld = kc_round_up(sub->capacity, KC_ALIGN / bytes) + KC_ALIGN / bytes;
    sub->values = kc_alloc(call->ctx, sub->capacity, sub->ld * bytes);
    if (sub->values == NULL) {
        *sub = old;
        return kc_fail_nomem(call->err);
    }
    for (size_t s = 0; s < old.n_slots; s++)
        memcpy(at(sub, s, 0), at(&old, s, 0), old.n_slots * bytes);
    kc_free(call->ctx, old.values);
    return KC_OK;
}

/* ---- Who sits where ------------------------------------------------------------------------ */

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

/* ---- Their values -------------------------------------------------------------------------- */

typedef struct spreading {
    kc_subgram *sub;
    const int32_t *new_slots;
    size_t n_new;
    const char *block; /* n_slots rows of n_new values */
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

/* CHUNK_ROWS block rows: into the columns of the new slots, and across into their rows. */
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

static kc_status fill_new(kc_call *call, kc_store *store, kc_subgram *sub, const int32_t *new_slots,
                          size_t n_new)
{
    size_t n = sub->n_slots;
    size_t bytes = kc_dtype_bytes(sub->dtype);
    spreading job = {.sub = sub, .new_slots = new_slots, .n_new = n_new};
    int32_t *points = kc_call_take(call, n + n_new, sizeof *points);

    if (points == NULL)
        return kc_fail_nomem(call->err);
    for (size_t s = 0; s < n; s++)
        points[s] = (int32_t)kc_cols_point(sub->cols, (size_t)sub->position_of[s]);
    if (n_new == n)
        return kc_store_gather(call, store, points, n, points, n, sub->values, sub->ld);
    for (size_t k = 0; k < n_new; k++)
        points[n + k] = points[new_slots[k]];
    job.block_ld = kc_round_up(n_new, KC_ALIGN / bytes) + KC_ALIGN / bytes;
    void *block = kc_call_take(call, n, job.block_ld * bytes);
    if (block == NULL)
        return kc_fail_nomem(call->err);
    job.block = block;
    KC_TRY(kc_store_gather(call, store, points, n, points + n, n_new, block, job.block_ld));
    return kc_parallel_for(call, kc_ceil_div(n, CHUNK_ROWS), spread_chunk, &job);
}

static void clear(kc_subgram *sub)
{
    for (size_t s = 0; s < sub->n_slots; s++)
        unseat(sub, s);
    sub->n_slots = 0;
}

kc_status kc_subgram_change(kc_call *call, kc_store *store, kc_subgram *sub,
                            const int32_t *positions, size_t n, size_t size)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    int32_t *new_slots = kc_call_take(call, n, sizeof *new_slots);
    kc_status status = new_slots != NULL ? grow(call, sub, size) : kc_fail_nomem(call->err);

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
