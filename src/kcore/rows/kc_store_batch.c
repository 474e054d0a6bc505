/* Batches of rows: to have (get), or to add up (apply).  See kc_store.h.
 *
 * Work is cut into strips of columns: a strip of the gradient and a panel of rows over it stay in
 * the second-level cache while the rows are computed, added up and, where a slot was granted,
 * copied out.  A row that is not worth a slot is never written to memory at all. */
#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_thread.h"
#include "rows/kc_store_impl.h"
#include "simd/kc_smo_ops.h"

/* Columns of a strip at the most.  Where values are expensive, strips are wide: laying out the rows
 * for the kernel is done once per strip. */
#define STRIP_COLS ((size_t)512)
#define WIDE_STRIP_COLS ((size_t)2048)
#define WIDE_WORK ((size_t)80)

/* Rows of a panel, rounded up to steps that suit the loops, and its bytes, at the most. */
#define PANEL_ROWS ((size_t)48)
#define MAX_PANEL_ROWS ((size_t)64)
#define PANEL_BYTES ((size_t)216 * 1024)

/* Multiply-adds of one chunk at the most: some milliseconds. */
#define CHUNK_WORK ((size_t)64 << 20)

/* New slots are first touched in the first strip of a pass, and the system finds and clears all of
 * their pages then, which may take it milliseconds for each huge one: so many bytes in one pass. */
#define FRESH_BYTES ((size_t)4 << 20)

/* Columns of kernel blocks begin at multiples of this. */
#define COL_STEP ((size_t)16)

/* What it costs to read an entry of a row and add it up, in multiply-adds. */
#define ADD_WORK ((size_t)8)

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
    int32_t *computed;   /* points of the computed rows, in order */
    kc_packed taken;     /* the same points side by side; empty: they are read where they are */
    size_t *n_before;    /* computed rows before row i; n + 1 entries */
    bool has_fresh;      /* some of them go to slots that held nothing */
    char *user_rows;     /* the computed rows of this pass, where the caller computes; else NULL */
    size_t n_vectors;    /* of coefficients, each with a gradient of its own */
    const double *delta; /* n_vectors * n */
    const double *grad;  /* n_vectors * columns; NULL: fill the slots only */
    double *out;
    size_t begin, end; /* the rows of this pass */
    size_t strip_cols; /* of the store; strips begin at its multiples */
    size_t panel_rows, panel_ld;
    char *workspace;
    size_t workspace_bytes, kernel_bytes, panel_bytes;
    atomic_bool has_overflowed;
} batch;

/* One strip: columns of the store, and the place of the first in the problem. */
typedef struct strip {
    size_t begin, end;
    size_t position;
} strip;

static size_t count_strips(const kc_span *span, size_t strip_cols)
{
    return kc_ceil_div(span->end, strip_cols) - span->begin / strip_cols;
}

static strip find_strip(const batch *b, size_t chunk)
{
    const kc_span *span = &b->cols->span[0];
    size_t before = 0;

    if (b->cols->n_spans == 2 && chunk >= count_strips(span, b->strip_cols)) {
        chunk -= count_strips(span, b->strip_cols);
        before = span->end - span->begin;
        span = &b->cols->span[1];
    }
    size_t begin = (span->begin / b->strip_cols + chunk) * b->strip_cols;
    strip s = {kc_max(begin, span->begin), kc_min(begin + b->strip_cols, span->end), 0};
    s.position = before + s.begin - span->begin;
    return s;
}

/* The computed rows among first .. last - 1, over the strip, into the panel.  Column s->begin is
 * at entry s->begin % COL_STEP of a panel row. */
static void compute_panel(batch *b, const strip *s, size_t first, size_t last, char *panel,
                          void *kernel_space)
{
    size_t skip = s->begin % COL_STEP;
    bool is_taken = b->taken.n > 0;
    kc_plan plan = b->store->plan;
    kc_block block = {
        .rows = is_taken ? NULL : b->computed + b->n_before[first],
        .row_begin = b->n_before[first],
        .n_rows = b->n_before[last] - b->n_before[first],
        .col_begin = s->begin - skip,
        .n_cols = s->end - s->begin + skip,
        .out = panel,
        .ld = b->panel_ld,
    };

    if (b->user_rows != NULL || block.n_rows == 0)
        return;
    plan.x = is_taken ? &b->taken : plan.x;
    if (!kc_plan_block(&plan, &block, kernel_space))
        atomic_store_explicit(&b->has_overflowed, true, memory_order_relaxed);
}

/* Where row i of the batch has column s->begin. */
static const char *find_row(const batch *b, const strip *s, size_t first, size_t i,
                            const char *panel)
{
    const kc_store *store = b->store;
    const batch_row *row = &b->rows[i];

    if (row->is_computed && b->user_rows != NULL)
        return b->user_rows +
               ((b->n_before[i] - b->n_before[b->begin]) * kc_cols_count(b->cols) + s->position) *
                   store->value_bytes;
    if (row->is_computed)
        return panel + ((b->n_before[i] - b->n_before[first]) * b->panel_ld + s->begin % COL_STEP) *
                           store->value_bytes;
    if (store->given != NULL)
        return store->given +
               ((size_t)row->point * store->given_ld + s->begin) * store->value_bytes;
    return kc_slot_at(store, row->slot) + s->begin * store->value_bytes;
}

static void copy_to_slots(const batch *b, const strip *s, size_t first, size_t last,
                          const char *panel)
{
    size_t value_bytes = b->store->value_bytes;

    for (size_t i = first; i < last; i++)
        if (b->rows[i].is_computed && b->rows[i].slot != KC_LRU_MISS)
            memcpy(kc_slot_at(b->store, b->rows[i].slot) + s->begin * value_bytes,
                   find_row(b, s, first, i, panel), (s->end - s->begin) * value_bytes);
}

static void run_strip(void *data, size_t chunk, int32_t worker)
{
    batch *b = data;
    strip s = find_strip(b, chunk);
    char *panel = b->workspace + (size_t)worker * b->workspace_bytes;
    void *kernel_space = panel + b->panel_bytes;
    kc_sweep_fn *sweep = kc_smo_sweep(b->store->dtype);
    const double *from = b->begin == 0 ? b->grad : b->out;

    for (size_t first = b->begin; first < b->end; first += b->panel_rows) {
        size_t last = kc_min(first + b->panel_rows, b->end);
        const void *rows[MAX_PANEL_ROWS];
        compute_panel(b, &s, first, last, panel, kernel_space);
        copy_to_slots(b, &s, first, last, panel);
        if (b->grad == NULL)
            continue;
        for (size_t i = first; i < last; i++)
            rows[i - first] = find_row(b, &s, first, i, panel);
        for (size_t k = 0; k < b->n_vectors; k++) {
            const size_t at = k * kc_cols_count(b->cols) + s.position;
            sweep(from + at, b->out + at, rows, b->delta + k * b->n + first, last - first,
                  s.end - s.begin);
        }
        from = b->out;
    }
}

/* Strips of equal width, as many as the threads share without a rest; the width is of no influence
 * on the sums. */
static size_t plan_strips(const kc_call *call, batch *b)
{
    const kc_cols *cols = b->cols;
    bool is_wide = b->store->entry_work >= WIDE_WORK || b->n_before[b->n] == 0;
    size_t most = is_wide ? WIDE_STRIP_COLS : STRIP_COLS;
    size_t n = cols->span[cols->n_spans - 1].end - cols->span[0].begin;
    size_t step = kc_store_row_step(b->store);
    size_t value_bytes = b->store->value_bytes;
    most = kc_min(most, PANEL_BYTES / (step * value_bytes) - 2 * COL_STEP);
    size_t n_strips = kc_round_up(kc_ceil_div(n, most), (size_t)call->n_threads);

    b->strip_cols = kc_max(kc_round_up(kc_ceil_div(n, n_strips), COL_STEP), 8 * COL_STEP);
    /* Longer than a strip by a cache line, so that rows do not share cache sets. */
    b->panel_ld = b->strip_cols + COL_STEP;
    b->panel_rows = PANEL_BYTES / (b->panel_ld * value_bytes) / step * step;
    b->panel_rows = kc_min(b->panel_rows, kc_round_up(PANEL_ROWS, step));
    assert(b->panel_rows > 0 && b->panel_rows <= MAX_PANEL_ROWS);
    n_strips = count_strips(&cols->span[0], b->strip_cols);
    return cols->n_spans == 2 ? n_strips + count_strips(&cols->span[1], b->strip_cols) : n_strips;
}

static bool take_workspace(kc_call *call, batch *b, size_t n_chunks)
{
    const kc_store *store = b->store;

    if (store->given == NULL && store->user_fn == NULL) {
        b->panel_bytes = kc_round_up(b->panel_rows * b->panel_ld * store->value_bytes, KC_ALIGN);
        b->kernel_bytes = kc_plan_workspace(&store->plan, SIZE_MAX);
    }
    b->workspace_bytes = kc_round_up(b->panel_bytes + b->kernel_bytes, KC_ALIGN) + KC_ALIGN;
    b->workspace = kc_call_take(call, (size_t)kc_workers(call, n_chunks), b->workspace_bytes);
    if (store->user_fn != NULL) {
        size_t n_cols = kc_cols_count(b->cols);
        b->user_rows = kc_call_take(call, kc_min(kc_store_user_max_rows(n_cols), b->n),
                                    n_cols * sizeof(double));
    }
    return b->workspace != NULL && (store->user_fn == NULL || b->user_rows != NULL);
}

/* The rows of this pass, where the caller computes them. */
static kc_status compute_user_rows(kc_call *call, batch *b)
{
    size_t first = b->n_before[b->begin];
    size_t n_rows = b->n_before[b->end] - first;

    if (b->user_rows == NULL || n_rows == 0)
        return KC_OK;
    return kc_store_user_rows(call, b->store, b->cols, b->computed + first, n_rows, b->user_rows);
}

/* Rows of one pass: so many that a chunk stays within CHUNK_WORK. */
static size_t find_pass(const batch *b)
{
    size_t pass = kc_max(CHUNK_WORK / b->strip_cols / b->store->entry_work, b->panel_rows);

    if (b->user_rows != NULL)
        return kc_store_user_max_rows(kc_cols_count(b->cols));
    if (b->has_fresh)
        pass = kc_min(pass, kc_max(FRESH_BYTES / b->store->row_bytes, b->panel_rows));
    return pass / b->panel_rows * b->panel_rows;
}

/* Rows from all over the points cost a cache line per feature each time they are laid out for the
 * kernel; side by side, they share the lines. */
static kc_status take_points(kc_call *call, batch *b, size_t n_chunks)
{
    const kc_store *store = b->store;

    if (store->points == NULL || store->points->storage == KC_CSR || n_chunks <= 1 ||
        b->n_before[b->n] < 2)
        return KC_OK;
    return kc_packed_take(call, store->points, b->computed, b->n_before[b->n], &b->taken);
}

/* All rows over all strips, in passes. */
static kc_status run_batch(kc_call *call, batch *b)
{
    const kc_store *store = b->store;
    size_t work = kc_cols_count(b->cols) * (b->n_before[b->n] * store->entry_work +
                                            ADD_WORK * b->n * kc_max(b->n_vectors, 1));
    int32_t n_threads = call->n_threads;
    kc_status status = KC_OK;

    if (work < KC_PARALLEL_WORK)
        call->n_threads = 1;
    size_t n_chunks = plan_strips(call, b);
    if (!take_workspace(call, b, n_chunks))
        status = kc_fail_nomem(call->err);
    if (status == KC_OK)
        status = take_points(call, b, n_chunks);
    for (b->begin = 0; status == KC_OK && b->begin < b->n; b->begin = b->end) {
        b->end = kc_min(b->begin + find_pass(b), b->n);
        status = compute_user_rows(call, b);
        if (status == KC_OK)
            status = kc_parallel_for(call, n_chunks, run_strip, b);
    }
    kc_packed_free(call->ctx, &b->taken);
    call->n_threads = n_threads;
    return status == KC_OK && atomic_load(&b->has_overflowed) ? kc_store_fail_overflow(call)
                                                              : status;
}

/* ---- The plan of a batch: which rows have a slot, which get one ------------------------------ */

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
            row->is_computed = row->slot == KC_LRU_MISS || !kc_slot_has(store, row->slot, b->cols);
        }
    }
}

/* Drives out rows of a rank up to `rank`, the lowest first. */
static kc_status plan_slot(kc_call *call, kc_store *store, batch_row *row, int32_t rank)
{
    bool evicted;
    int32_t slot = kc_lru_reserve(store->lru, row->point, rank, &evicted);

    store->counters.rows_evicted += evicted;
    if (slot == KC_LRU_MISS)
        return KC_OK;
    row->slot = slot;
    row->is_fresh = true;
    if (!kc_slot_take(call, store, slot))
        return kc_fail_nomem(call->err);
    kc_slot_clear(store, slot);
    return KC_OK;
}

static void plan_order(batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        b->n_before[i] = n;
        b->has_fresh |= b->rows[i].is_fresh;
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
            kc_slot_add(store, row->slot, b->cols);
        kc_lru_publish(store->lru, row->point, row->is_high);
    }
    if (is_done) {
        size_t n_computed = b->n_before[b->n];
        store->counters.rows_computed += (int64_t)n_computed;
        store->counters.rows_hit += (int64_t)(b->n - n_computed);
        store->values_computed += (int64_t)(n_computed * kc_cols_count(b->cols));
    }
}

/* ---- Contract ------------------------------------------------------------------------------ */

static kc_status get_rows(kc_call *call, batch *b)
{
    plan_hits(b);
    for (size_t i = 0; i < b->n; i++)
        if (b->rows[i].is_computed && b->rows[i].slot == KC_LRU_MISS)
            KC_TRY(plan_slot(call, b->store, &b->rows[i], KC_LRU_RANKS - 1)); /* it must have one */
    plan_order(b);
    return b->n_before[b->n] > 0 ? run_batch(call, b) : KC_OK;
}

kc_status kc_store_get(kc_call *call, kc_store *store, const kc_cols *cols, const int32_t *points,
                       size_t n_rows, const void **out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    double start = kc_clock();
    batch b;
    kc_status status = plan_start(call, store, cols, points, n_rows, &b);

    assert(n_rows <= store->n_slots);
    if (status == KC_OK)
        status = get_rows(call, &b);
    for (size_t i = 0; i < n_rows && status == KC_OK; i++)
        out[i] = store->given != NULL
                     ? store->given + (size_t)points[i] * store->given_ld * store->value_bytes
                     : kc_slot_at(store, b.rows[i].slot);
    plan_end(&b, status == KC_OK);
    if (status == KC_OK)
        kc_store_time_values(store, b.n_before[b.n] * kc_cols_count(cols), start);
    kc_arena_release(call->arena, point);
    kc_store_add_time(store, start);
    return status;
}

static kc_status apply_rows(kc_call *call, batch *b, const uint8_t *keep)
{
    plan_hits(b);
    for (size_t i = 0; i < b->n && b->store->given == NULL; i++) {
        batch_row *row = &b->rows[i];
        kc_keep worth = keep != NULL ? (kc_keep)keep[i] : KC_KEEP_LOW;
        if (b->store->entry_work < KC_CHEAP_WORK)
            worth = KC_KEEP_NOT;
        if (b->store->user_fn != NULL && worth == KC_KEEP_NOT)
            worth = KC_KEEP_LOW; /* to compute it again costs more than any slot */
        row->is_high = worth == KC_KEEP_HIGH;
        row->is_dropped = worth == KC_KEEP_NOT;
        if (row->is_computed && row->slot == KC_LRU_MISS && worth != KC_KEEP_NOT)
            KC_TRY(plan_slot(call, b->store, row, row->is_high));
    }
    plan_order(b);
    return run_batch(call, b);
}

static kc_status apply_batch(kc_call *call, kc_store *store, const kc_cols *cols,
                             const kc_moved *moved, size_t n_vectors, const double *grad,
                             double *out)
{
    const double start = kc_clock();
    batch b;
    kc_status status = plan_start(call, store, cols, moved->points, moved->n, &b);

    b.n_vectors = n_vectors;
    b.grad = grad;
    b.out = out;
    b.delta = moved->delta;
    if (status == KC_OK)
        status = apply_rows(call, &b, moved->keep);
    plan_end(&b, status == KC_OK);
    if (status == KC_OK)
        kc_store_time_values(
            store, (store->given != NULL ? b.n : b.n_before[b.n]) * kc_cols_count(cols), start);
    return status;
}

/* Through w, which each vector has its own of. */
static kc_status apply_linear(kc_call *call, kc_store *store, const kc_cols *cols,
                              const kc_moved *moved, size_t n_vectors, const double *grad,
                              double *out)
{
    kc_moved one = *moved;

    for (size_t k = 0; k < n_vectors; k++) {
        const size_t at = k * kc_cols_count(cols);
        kc_arena_point point = kc_arena_mark(call->arena);

        one.delta = moved->delta + k * moved->n;
        KC_TRY(kc_store_apply_linear(call, store, cols, &one, grad + at, out + at));
        kc_arena_release(call->arena, point);
    }
    return KC_OK;
}

kc_status kc_store_apply_vectors(kc_call *call, kc_store *store, const kc_cols *cols,
                                 const kc_moved *moved, size_t n_vectors, const double *grad,
                                 double *out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    double start = kc_clock();
    kc_status status = KC_OK;

    if (moved->n == 0)
        memmove(out, grad, n_vectors * kc_cols_count(cols) * sizeof *out);
    else if (kc_store_is_linear(store))
        status = apply_linear(call, store, cols, moved, n_vectors, grad, out);
    else
        status = apply_batch(call, store, cols, moved, n_vectors, grad, out);
    kc_arena_release(call->arena, point);
    kc_store_add_time(store, start);
    return status;
}

kc_status kc_store_apply(kc_call *call, kc_store *store, const kc_cols *cols, const kc_moved *moved,
                         const double *grad, double *out)
{
    return kc_store_apply_vectors(call, store, cols, moved, 1, grad, out);
}
