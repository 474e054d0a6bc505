/* A store of kernel rows.  See kc_store.h.
 *
 * Work is cut into strips of STRIP_COLS columns: a strip of the gradient and a panel of rows over
 * it stay in the second-level cache while the rows are computed, added up and, where a slot was
 * granted, copied out.  A row that is not worth a slot is never written to memory at all. */
#include "rows/kc_store.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_thread.h"
#include "kernel/kc_gram.h"
#include "kernel/kc_kernel.h"
#include "rows/kc_lru.h"
#include "simd/kc_smo_ops.h"

#define STRIP_COLS ((size_t)512)

/* A panel row is a little longer than a strip, so that rows do not share cache sets. */
#define PANEL_LD (STRIP_COLS + 16)
#define PANEL_BYTES ((size_t)96 * 1024)

/* Slots are allocated in pieces of about this size, as they are needed. */
#define SLAB_BYTES ((size_t)8 << 20)

/* Multiply-adds of one chunk at the most (some milliseconds), and what exp and the like count. */
#define CHUNK_WORK ((size_t)64 << 20)
#define ENTRY_WORK ((size_t)16)

/* Below this much work, waking a thread costs more than it brings. */
#define PARALLEL_WORK ((size_t)1 << 20)

/* Columns of kernel blocks begin at multiples of this. */
#define COL_STEP ((size_t)16)

struct kc_store {
    const kc_kernel *kernel; /* NULL: given */
    const kc_packed *points;
    const char *given;
    size_t given_ld;
    size_t n;
    kc_dtype dtype;
    size_t value_bytes;
    void *diag;
    size_t entry_work; /* multiply-adds of one kernel value */

    size_t *segments; /* n_segments + 1 bounds */
    size_t n_segments;
    uint8_t *has_segment; /* by slot and segment: whether it is computed */

    kc_lru *lru;
    size_t row_bytes;
    size_t n_slots;
    size_t slots_per_slab;
    char **slabs;
    size_t n_slabs;

    kc_store_counters counters;
};

/* ---- Life ---------------------------------------------------------------------------------- */

void kc_store_free(kc_context *ctx, kc_store *store)
{
    if (store == NULL)
        return;
    for (size_t s = 0; s < store->n_slabs; s++)
        kc_free(ctx, store->slabs[s]);
    kc_free(ctx, store->slabs);
    kc_free(ctx, store->has_segment);
    kc_free(ctx, store->segments);
    kc_free(ctx, store->diag);
    kc_lru_free(ctx, store->lru);
    kc_free(ctx, store);
}

static size_t mean_entry_work(const kc_packed *points)
{
    size_t products =
        points->is_sparse ? (size_t)points->indptr[points->n] / points->n * 4 : points->d;
    return products + ENTRY_WORK;
}

static kc_status take_segments(kc_call *call, kc_store *store, const kc_store_config *config)
{
    size_t n_segments = config->segments != NULL ? config->n_segments : 1;

    store->segments = kc_alloc(call->ctx, n_segments + 1, sizeof *store->segments);
    if (store->segments == NULL)
        return kc_fail_nomem(call->err);
    store->n_segments = n_segments;
    if (config->segments != NULL) {
        memcpy(store->segments, config->segments, (n_segments + 1) * sizeof *store->segments);
    } else {
        store->segments[0] = 0;
        store->segments[1] = store->n;
    }
    assert(store->segments[0] == 0 && store->segments[n_segments] == store->n);
    return KC_OK;
}

static kc_status take_slots(kc_call *call, kc_store *store, size_t cache_bytes)
{
    store->row_bytes = kc_round_up(store->n * store->value_bytes, KC_ALIGN);
    /* Rows that begin at the same place of a page would share cache sets. */
    if (store->row_bytes % 4096 == 0)
        store->row_bytes += KC_ALIGN;
    if (cache_bytes / 2 < store->row_bytes)
        return kc_fail(call->err, KC_ERR_ARG,
                       "a cache of %zu bytes has no room for two rows of %zu points: "
                       "at least %zu bytes are needed",
                       cache_bytes, store->n, 2 * store->row_bytes);
    store->n_slots = kc_min(cache_bytes / store->row_bytes, kc_max(store->n, 2));
    store->slots_per_slab = kc_max(1, kc_min(SLAB_BYTES / store->row_bytes, store->n_slots));
    store->slabs =
        kc_calloc(call->ctx, kc_ceil_div(store->n_slots, store->slots_per_slab), sizeof(char *));
    store->has_segment = kc_calloc(call->ctx, store->n_slots, store->n_segments);
    store->lru = kc_lru_create(call->ctx, store->n, store->n_slots);
    store->counters.bytes_allowed = cache_bytes;
    if (store->slabs == NULL || store->has_segment == NULL || store->lru == NULL)
        return kc_fail_nomem(call->err);
    return KC_OK;
}

static kc_status fill_diag(kc_call *call, kc_store *store)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status = kc_gram_diag(call, store->kernel, store->points, store->diag);

    kc_arena_release(call->arena, point);
    return status;
}

kc_status kc_store_create(kc_call *call, const kc_store_config *config, kc_store **out)
{
    kc_store *store = kc_calloc(call->ctx, 1, sizeof *store);
    kc_status status;

    *out = NULL;
    if (store == NULL)
        return kc_fail_nomem(call->err);
    store->kernel = config->kernel;
    store->points = config->points;
    store->n = config->points->n;
    store->dtype = config->points->dtype;
    store->value_bytes = kc_dtype_bytes(store->dtype);
    store->entry_work = mean_entry_work(config->points);
    status = take_segments(call, store, config);
    if (status == KC_OK)
        status = take_slots(call, store, config->cache_bytes);
    if (status == KC_OK) {
        store->diag = kc_alloc(call->ctx, store->n, store->value_bytes);
        status = store->diag == NULL ? kc_fail_nomem(call->err) : fill_diag(call, store);
    }
    if (status != KC_OK) {
        kc_store_free(call->ctx, store);
        return status;
    }
    *out = store;
    return KC_OK;
}

kc_status kc_store_create_given(kc_call *call, kc_dtype dtype, const void *values, size_t n,
                                size_t ld, kc_store **out)
{
    kc_store *store = kc_calloc(call->ctx, 1, sizeof *store);
    kc_store_config config = {0};
    kc_status status;

    *out = NULL;
    if (store == NULL)
        return kc_fail_nomem(call->err);
    store->given = values;
    store->given_ld = ld;
    store->n = n;
    store->dtype = dtype;
    store->value_bytes = kc_dtype_bytes(dtype);
    store->entry_work = 1;
    store->n_slots = kc_max(n, 2);
    status = take_segments(call, store, &config);
    store->diag = kc_alloc(call->ctx, n, store->value_bytes);
    if (status != KC_OK || store->diag == NULL) {
        kc_store_free(call->ctx, store);
        return kc_fail_nomem(call->err);
    }
    for (size_t i = 0; i < n; i++)
        memcpy((char *)store->diag + i * store->value_bytes,
               store->given + i * (ld + 1) * store->value_bytes, store->value_bytes);
    *out = store;
    return KC_OK;
}

size_t kc_store_points(const kc_store *store)
{
    return store->n;
}

kc_dtype kc_store_dtype(const kc_store *store)
{
    return store->dtype;
}

size_t kc_store_slots(const kc_store *store)
{
    return store->n_slots;
}

size_t kc_store_row_bytes(const kc_store *store)
{
    return store->row_bytes;
}

const void *kc_store_diag(const kc_store *store)
{
    return store->diag;
}

const void *kc_store_matrix(const kc_store *store, size_t *ld)
{
    *ld = store->given_ld;
    return store->given;
}

kc_store_counters kc_store_count(const kc_store *store)
{
    kc_store_counters counters = store->counters;

    counters.bytes_used = store->lru != NULL ? kc_lru_used(store->lru) * store->row_bytes : 0;
    return counters;
}

/* ---- Slots --------------------------------------------------------------------------------- */

static char *slot_at(const kc_store *store, int32_t slot)
{
    size_t s = (size_t)slot;

    return store->slabs[s / store->slots_per_slab] + s % store->slots_per_slab * store->row_bytes;
}

/* Slots are dealt in ascending order, so that at most one slab is missing. */
static bool has_memory(kc_call *call, kc_store *store, int32_t slot)
{
    size_t slab = (size_t)slot / store->slots_per_slab;

    if (slab < store->n_slabs)
        return true;
    assert(slab == store->n_slabs);
    size_t n_slots = kc_min(store->slots_per_slab, store->n_slots - slab * store->slots_per_slab);
    store->slabs[slab] = kc_alloc(call->ctx, n_slots, store->row_bytes);
    if (store->slabs[slab] == NULL)
        return false;
    store->n_slabs++;
    return true;
}

/* Whether the run lies on segment bounds, and which segments it covers. */
static void find_segments(const kc_store *store, const kc_span *span, size_t *first, size_t *last)
{
    *first = 0;
    while (store->segments[*first] < span->begin)
        ++*first;
    *last = *first;
    while (store->segments[*last] < span->end)
        ++*last;
    assert(store->segments[*first] == span->begin && store->segments[*last] == span->end);
}

static bool has_columns(const kc_store *store, int32_t slot, const kc_cols *cols)
{
    const uint8_t *has = store->has_segment + (size_t)slot * store->n_segments;

    for (int32_t s = 0; s < cols->n_spans; s++) {
        size_t first, last;
        find_segments(store, &cols->span[s], &first, &last);
        for (size_t k = first; k < last; k++)
            if (!has[k])
                return false;
    }
    return true;
}

static void set_columns(kc_store *store, int32_t slot, const kc_cols *cols)
{
    uint8_t *has = store->has_segment + (size_t)slot * store->n_segments;

    for (int32_t s = 0; s < cols->n_spans; s++) {
        size_t first, last;
        find_segments(store, &cols->span[s], &first, &last);
        memset(has + first, 1, last - first);
    }
}

/* ---- Batches of rows ----------------------------------------------------------------------- */

/* Where a row of a batch comes from and where it goes. */
typedef struct batch_row {
    int32_t point;
    int32_t slot;     /* KC_LRU_MISS: none */
    bool is_computed; /* now, into the panel; else it is read from the slot or the given matrix */
    bool is_fresh;    /* its slot held nothing of this row before */
    bool is_dropped;  /* after the batch */
    bool is_high;
} batch_row;

typedef struct batch {
    kc_store *store;
    const kc_cols *cols;
    batch_row *rows;
    size_t n;
    int32_t *computed; /* points of the computed rows, in order */
    size_t *n_before;  /* computed rows before row i; n + 1 entries */
    const double *delta;
    const double *grad; /* NULL: fill the slots only */
    double *out;
    size_t begin, end; /* the rows of this pass */
    size_t panel_rows;
    char *workspace;
    size_t workspace_bytes, kernel_bytes, panel_bytes;
    atomic_bool has_overflowed;
} batch;

/* One strip: columns of the store, and the place of the first in the problem. */
typedef struct strip {
    size_t begin, end;
    size_t position;
} strip;

static size_t count_strips(const kc_span *span)
{
    return kc_ceil_div(span->end, STRIP_COLS) - span->begin / STRIP_COLS;
}

static strip find_strip(const kc_cols *cols, size_t chunk)
{
    const kc_span *span = &cols->span[0];
    size_t before = 0;

    if (cols->n_spans == 2 && chunk >= count_strips(span)) {
        chunk -= count_strips(span);
        before = span->end - span->begin;
        span = &cols->span[1];
    }
    size_t begin = (span->begin / STRIP_COLS + chunk) * STRIP_COLS;
    strip s = {kc_max(begin, span->begin), kc_min(begin + STRIP_COLS, span->end), 0};
    s.position = before + s.begin - span->begin;
    return s;
}

/* The computed rows among first .. last - 1, over the strip, into the panel.  Column s->begin is
 * at entry s->begin % COL_STEP of a panel row. */
static void compute_panel(batch *b, const strip *s, size_t first, size_t last, char *panel,
                          void *kernel_space)
{
    size_t skip = s->begin % COL_STEP;
    kc_block block = {
        .x = b->store->points,
        .rows = b->computed + b->n_before[first],
        .n_rows = b->n_before[last] - b->n_before[first],
        .z = b->store->points,
        .col_begin = s->begin - skip,
        .n_cols = s->end - s->begin + skip,
        .out = panel,
        .ld = PANEL_LD,
    };

    if (block.n_rows > 0 && !kc_kernel_block(b->store->kernel, &block, kernel_space))
        atomic_store_explicit(&b->has_overflowed, true, memory_order_relaxed);
}

/* Where row i of the batch has column s->begin. */
static const char *find_row(const batch *b, const strip *s, size_t first, size_t i,
                            const char *panel)
{
    const kc_store *store = b->store;
    const batch_row *row = &b->rows[i];

    if (row->is_computed)
        return panel + ((b->n_before[i] - b->n_before[first]) * PANEL_LD + s->begin % COL_STEP) *
                           store->value_bytes;
    if (store->given != NULL)
        return store->given +
               ((size_t)row->point * store->given_ld + s->begin) * store->value_bytes;
    return slot_at(store, row->slot) + s->begin * store->value_bytes;
}

static void copy_to_slots(const batch *b, const strip *s, size_t first, size_t last,
                          const char *panel)
{
    size_t value_bytes = b->store->value_bytes;

    for (size_t i = first; i < last; i++)
        if (b->rows[i].is_computed && b->rows[i].slot != KC_LRU_MISS)
            memcpy(slot_at(b->store, b->rows[i].slot) + s->begin * value_bytes,
                   find_row(b, s, first, i, panel), (s->end - s->begin) * value_bytes);
}

static void run_strip(void *data, size_t chunk, int32_t worker)
{
    batch *b = data;
    strip s = find_strip(b->cols, chunk);
    char *panel = b->workspace + (size_t)worker * b->workspace_bytes;
    void *kernel_space = panel + b->panel_bytes;
    const kc_smo_row_ops *ops = kc_smo_rows(kc_smo_ops_chosen(), b->store->dtype);
    const double *from = b->begin == 0 ? b->grad : b->out;

    for (size_t first = b->begin; first < b->end; first += b->panel_rows) {
        size_t last = kc_min(first + b->panel_rows, b->end);
        const void *rows[64];
        compute_panel(b, &s, first, last, panel, kernel_space);
        copy_to_slots(b, &s, first, last, panel);
        if (b->grad == NULL)
            continue;
        for (size_t i = first; i < last; i++)
            rows[i - first] = find_row(b, &s, first, i, panel);
        ops->sweep(from + s.position, b->out + s.position, rows, b->delta + first, last - first,
                   s.end - s.begin);
        from = b->out;
    }
}

static size_t count_chunks(const kc_cols *cols)
{
    size_t n = count_strips(&cols->span[0]);

    return cols->n_spans == 2 ? n + count_strips(&cols->span[1]) : n;
}

/* All rows over all strips, in passes of so many rows that a chunk stays within CHUNK_WORK. */
static kc_status run_batch(kc_call *call, batch *b)
{
    const kc_store *store = b->store;
    size_t n_chunks = count_chunks(b->cols);
    size_t n_computed = b->n_before[b->n];
    size_t work = kc_cols_count(b->cols) * (n_computed * store->entry_work + b->n);
    int32_t n_threads = call->n_threads;
    kc_status status = KC_OK;

    b->panel_rows = kc_min(PANEL_BYTES / (PANEL_LD * store->value_bytes), 64);
    b->panel_bytes = store->given == NULL
                         ? kc_round_up(b->panel_rows * PANEL_LD * store->value_bytes, KC_ALIGN)
                         : 0;
    b->kernel_bytes =
        store->given == NULL ? kc_kernel_workspace(store->kernel, store->points, store->points) : 0;
    b->workspace_bytes = kc_round_up(b->panel_bytes + b->kernel_bytes, KC_ALIGN) + KC_ALIGN;
    if (work < PARALLEL_WORK)
        call->n_threads = 1;
    b->workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), b->workspace_bytes);
    if (b->workspace == NULL)
        status = kc_fail_nomem(call->err);
    size_t pass = kc_max(CHUNK_WORK / STRIP_COLS / store->entry_work, b->panel_rows);
    for (b->begin = 0; status == KC_OK && b->begin < b->n; b->begin = b->end) {
        b->end = kc_min(b->begin + pass / b->panel_rows * b->panel_rows, b->n);
        status = kc_parallel_for(call, n_chunks, run_strip, b);
    }
    call->n_threads = n_threads;
    if (status == KC_OK && atomic_load(&b->has_overflowed))
        return kc_fail(call->err, KC_ERR_RANGE,
                       "kernel values overflow: scale the data, or lower gamma or the degree");
    return status;
}

/* ---- The plan of a batch: who has a slot, who gets one --------------------------------------- */

static kc_status plan_start(kc_call *call, kc_store *store, const kc_cols *cols,
                            const int32_t *points, size_t n, batch *b)
{
    *b = (batch){.store = store, .cols = cols, .n = n};
    b->rows = kc_call_take(call, n, sizeof *b->rows);
    b->computed = kc_call_take(call, n, sizeof *b->computed);
    b->n_before = kc_call_take(call, n + 1, sizeof *b->n_before);
    if (b->rows == NULL || b->computed == NULL || b->n_before == NULL) {
        b->rows = NULL;
        return kc_fail_nomem(call->err);
    }
    for (size_t i = 0; i < n; i++)
        b->rows[i] = (batch_row){.point = points[i], .slot = KC_LRU_MISS};
    return KC_OK;
}

/* Holds the slots of rows that are there, so that no row of the batch drives out another. */
static void plan_hits(batch *b)
{
    kc_store *store = b->store;

    for (size_t i = 0; i < b->n; i++) {
        batch_row *row = &b->rows[i];
        if (store->given == NULL) {
            row->slot = kc_lru_hold(store->lru, row->point);
            row->is_computed = row->slot == KC_LRU_MISS || !has_columns(store, row->slot, b->cols);
        }
    }
}

static kc_status plan_slot(kc_call *call, kc_store *store, batch_row *row)
{
    bool evicted;
    int32_t slot = kc_lru_reserve(store->lru, row->point, row->is_high, &evicted);

    store->counters.rows_evicted += evicted;
    if (slot == KC_LRU_MISS)
        return KC_OK;
    row->slot = slot;
    row->is_fresh = true;
    if (!has_memory(call, store, slot))
        return kc_fail_nomem(call->err);
    memset(store->has_segment + (size_t)slot * store->n_segments, 0, store->n_segments);
    return KC_OK;
}

static void plan_order(batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        b->n_before[i] = n;
        if (b->rows[i].is_computed)
            b->computed[n++] = b->rows[i].point;
    }
    b->n_before[b->n] = n;
}

/* Rows become visible only here, when all of them are computed; on failure those without a
 * complete row before lose their slot. */
static void plan_end(batch *b, bool is_done)
{
    kc_store *store = b->store;

    if (b->rows == NULL || store->given != NULL)
        return;
    for (size_t i = 0; i < b->n; i++) {
        batch_row *row = &b->rows[i];
        if (row->slot == KC_LRU_MISS)
            continue;
        if (row->is_dropped || (row->is_fresh && !is_done)) {
            kc_lru_drop(store->lru, row->point);
            continue;
        }
        if (row->is_computed && is_done)
            set_columns(store, row->slot, b->cols);
        kc_lru_publish(store->lru, row->point, row->is_high);
    }
    if (is_done) {
        size_t n_computed = b->n_before[b->n];
        store->counters.rows_computed += (int64_t)n_computed;
        store->counters.rows_hit += (int64_t)(b->n - n_computed);
        store->counters.values_computed += (int64_t)(n_computed * kc_cols_count(b->cols));
    }
}

/* ---- Contract ------------------------------------------------------------------------------ */

static kc_status get_rows(kc_call *call, batch *b)
{
    plan_hits(b);
    for (size_t i = 0; i < b->n; i++)
        if (b->rows[i].is_computed && b->rows[i].slot == KC_LRU_MISS)
            KC_TRY(plan_slot(call, b->store, &b->rows[i]));
    plan_order(b);
    return b->n_before[b->n] > 0 ? run_batch(call, b) : KC_OK;
}

kc_status kc_store_get(kc_call *call, kc_store *store, const kc_cols *cols, const int32_t *points,
                       size_t n_rows, const void **out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    batch b;
    kc_status status = plan_start(call, store, cols, points, n_rows, &b);

    assert(n_rows <= store->n_slots);
    if (status == KC_OK)
        status = get_rows(call, &b);
    for (size_t i = 0; i < n_rows && status == KC_OK; i++)
        out[i] = store->given != NULL
                     ? store->given + (size_t)points[i] * store->given_ld * store->value_bytes
                     : slot_at(store, b.rows[i].slot);
    plan_end(&b, status == KC_OK);
    kc_arena_release(call->arena, point);
    return status;
}

static kc_status apply_rows(kc_call *call, batch *b, const uint8_t *keep)
{
    plan_hits(b);
    for (size_t i = 0; i < b->n && b->store->given == NULL; i++) {
        batch_row *row = &b->rows[i];
        kc_keep worth = keep != NULL ? (kc_keep)keep[i] : KC_KEEP_LOW;
        row->is_high = worth == KC_KEEP_HIGH;
        row->is_dropped = worth == KC_KEEP_NOT;
        if (row->is_computed && row->slot == KC_LRU_MISS && worth != KC_KEEP_NOT)
            KC_TRY(plan_slot(call, b->store, row));
    }
    plan_order(b);
    return run_batch(call, b);
}

kc_status kc_store_apply(kc_call *call, kc_store *store, const kc_cols *cols, const kc_moved *moved,
                         const double *grad, double *out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    batch b;
    kc_status status = plan_start(call, store, cols, moved->points, moved->n, &b);

    b.grad = grad;
    b.out = out;
    b.delta = moved->delta;
    if (moved->n == 0 && out != grad)
        memcpy(out, grad, kc_cols_count(cols) * sizeof *out);
    if (status == KC_OK)
        status = apply_rows(call, &b, moved->keep);
    plan_end(&b, status == KC_OK);
    kc_arena_release(call->arena, point);
    return status;
}

static void copy_given(const kc_store *store, const int32_t *points, size_t n_rows,
                       const int32_t *others, size_t n_cols, char *out, size_t ld)
{
    size_t bytes = store->value_bytes;

    for (size_t i = 0; i < n_rows; i++) {
        const char *row = store->given + (size_t)points[i] * store->given_ld * bytes;
        char *to = out + i * ld * bytes;
        for (size_t j = 0; j < n_cols; j++)
            memcpy(to + j * bytes, row + (size_t)others[j] * bytes, bytes);
    }
}

/* kc_gram_fill lowers the call's threads where there is little work. */
static kc_status fill_gram(kc_call *call, kc_store *store, const kc_packed *x, const kc_packed *z,
                           void *out, size_t ld)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    int32_t n_threads = call->n_threads;
    kc_status status = kc_gram_fill(call, store->kernel, x, z, out, ld);

    call->n_threads = n_threads;
    kc_arena_release(call->arena, point);
    store->counters.values_computed += (int64_t)(x == z ? x->n * (x->n + 1) / 2 : x->n * z->n);
    return status;
}

kc_status kc_store_gather(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                          const int32_t *others, size_t n_cols, void *out, size_t ld)
{
    kc_packed x = {0};
    kc_packed z = {0};
    kc_status status;

    if (n_rows == 0 || n_cols == 0)
        return KC_OK;
    if (store->given != NULL) {
        copy_given(store, points, n_rows, others, n_cols, out, ld);
        return KC_OK;
    }
    bool is_same = points == others && n_rows == n_cols;
    status = kc_packed_take(call, store->points, others, n_cols, &z);
    if (status == KC_OK && !is_same)
        status = kc_packed_take(call, store->points, points, n_rows, &x);
    if (status == KC_OK)
        status = fill_gram(call, store, is_same ? &z : &x, &z, out, ld);
    kc_packed_free(call->ctx, &x);
    kc_packed_free(call->ctx, &z);
    return status;
}

kc_status kc_store_gram(kc_call *call, kc_store *store, const kc_cols *cols, void *out, size_t ld)
{
    size_t n = kc_cols_count(cols);

    if (store->given == NULL && n == store->n)
        return fill_gram(call, store, store->points, store->points, out, ld);

    kc_arena_point point = kc_arena_mark(call->arena);
    int32_t *points = kc_call_take(call, n, sizeof *points);
    kc_status status;
    if (points == NULL) {
        status = kc_fail_nomem(call->err);
    } else {
        for (size_t p = 0; p < n; p++)
            points[p] = (int32_t)kc_cols_point(cols, p);
        status = kc_store_gather(call, store, points, n, points, n, out, ld);
    }
    kc_arena_release(call->arena, point);
    return status;
}
