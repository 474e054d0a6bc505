/* The life of a store, and its slots.  See kc_store.h.
 *
 * Slots are rows of all points, allocated in slabs as they are dealt; which of their segments are
 * computed is noted, so that one row serves every pair of classes as far as it goes. */
#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_clock.h"
#include "kernel/kc_gram.h"
#include "rows/kc_store_impl.h"

/* Slots are allocated in pieces of about this size, as they are needed. */
#define SLAB_BYTES ((size_t)8 << 20)

/* What a value of the caller's function counts: its cost is not known, but worth a slot. */
#define USER_WORK ((size_t)32)

/* A value that is there, and a multiply-add of one that is not, before any was timed. */
#define READ_SECONDS 0.5e-9
#define WORK_SECONDS 0.02e-9

/* Fewer values than this take too short a time to foretell that of others. */
#define TIMED_VALUES ((size_t)1 << 12)

/* ---- Life ---------------------------------------------------------------------------------- */

static void free_slabs(kc_context *ctx, kc_store *store)
{
    for (size_t s = 0; s < store->n_slabs; s++)
        kc_free(ctx, store->slabs[s]);
    store->n_slabs = 0;
}

void kc_store_clear(kc_context *ctx, kc_store *store)
{
    if (store->lru == NULL || kc_lru_used(store->lru) == 0) /* always so where it is shared */
        return;
    free_slabs(ctx, store);
    kc_lru_clear(store->lru);
}

void kc_store_set_aside(kc_context *ctx, kc_store *store, size_t n_bytes)
{
    /* Rows of a linear kernel are added up without being kept, and others may use the store. */
    if (store->lru == NULL || store->whole != NULL || kc_store_is_linear(store))
        return;
    size_t allowed = store->counters.bytes_allowed;
    size_t left = n_bytes < allowed ? (allowed - n_bytes) / store->row_bytes : 0;
    size_t n_slots = kc_min(kc_max(left, 2), store->n_slots);
    if (kc_lru_used(store->lru) > n_slots)
        kc_store_clear(ctx, store);
    kc_lru_limit(store->lru, n_slots);
}

void kc_store_free(kc_context *ctx, kc_store *store)
{
    if (store == NULL)
        return;
    free_slabs(ctx, store);
    kc_free(ctx, store->slabs);
    kc_free(ctx, store->has_segment);
    kc_free(ctx, store->segments);
    kc_free(ctx, store->diag);
    kc_free(ctx, store->whole);
    kc_lru_free(ctx, store->lru);
    kc_packed_free(ctx, &store->own);
    kc_kernel_free(ctx, store->own_kernel);
    kc_free(ctx, store->own_values);
    kc_free(ctx, store);
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

/* Rows that begin at the same place of a page would share cache sets. */
static size_t find_row_bytes(size_t n, size_t value_bytes)
{
    const size_t bytes = kc_round_up(n * value_bytes, KC_ALIGN);

    return bytes % 4096 == 0 ? bytes + KC_ALIGN : bytes;
}

static kc_status take_slots(kc_call *call, kc_store *store, size_t cache_bytes)
{
    store->row_bytes = find_row_bytes(store->n, store->value_bytes);
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
    kc_status status = store->user_fn != NULL ? kc_store_user_diag(call, store, store->diag)
                                              : kc_gram_diag(call, &store->plan, store->diag);

    kc_arena_release(call->arena, point);
    return status;
}

kc_status kc_store_make(kc_call *call, const kc_store_config *config, kc_store **out)
{
    kc_store *store = kc_calloc(call->ctx, 1, sizeof *store);
    kc_status status;

    *out = NULL;
    if (store == NULL)
        return kc_fail_nomem(call->err);
    store->ctx = call->ctx;
    store->kernel = config->kernel;
    store->points = config->points;
    store->user_fn = config->user_fn;
    store->user_data = config->user_data;
    store->n = config->user_fn != NULL ? config->n_user_points : config->points->n;
    store->dtype = config->user_fn != NULL ? config->user_dtype : config->points->dtype;
    store->value_bytes = kc_dtype_bytes(store->dtype);
    store->entry_work = USER_WORK;
    if (config->user_fn == NULL) {
        store->plan = kc_plan_make(config->kernel, config->points, config->points);
        store->entry_work = store->plan.work;
    }
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

kc_status kc_store_make_given(kc_call *call, kc_dtype dtype, const void *values, size_t n,
                              size_t ld, kc_store **out)
{
    kc_store *store = kc_calloc(call->ctx, 1, sizeof *store);
    kc_store_config config = {0};
    kc_status status;

    *out = NULL;
    if (store == NULL)
        return kc_fail_nomem(call->err);
    store->ctx = call->ctx;
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

kc_status kc_store_complete(kc_call *call, kc_store *store)
{
    kc_cols all = {.span = {{0, store->n}}, .n_spans = 1};
    size_t ld = store->row_bytes / store->value_bytes;
    bool has_room = store->n <= store->n_slots && store->given == NULL && store->user_fn == NULL;

    if (!has_room)
        return KC_OK;
    assert(kc_lru_used(store->lru) == 0);
    store->whole = kc_alloc(call->ctx, store->n, store->row_bytes);
    if (store->whole == NULL)
        return kc_fail_nomem(call->err);
    kc_status status = kc_store_gram(call, store, &all, store->whole, ld);
    if (status != KC_OK) {
        kc_free(call->ctx, store->whole);
        store->whole = NULL;
        return status;
    }
    store->given = store->whole;
    store->given_ld = ld;
    store->value_seconds = 0; /* they are read from now on */
    return KC_OK;
}

/* ---- Stores that outlive a call ------------------------------------------------------------ */

void kc_store_adopt(kc_store *store, kc_kernel *kernel, kc_packed *points, void *values)
{
    store->own_kernel = kernel;
    store->own_values = values;
    if (points == NULL)
        return;
    store->own = *points;
    store->points = &store->own;
    store->plan = kc_plan_make(store->kernel, store->points, store->points);
    *points = (kc_packed){.dtype = store->dtype};
}

kc_status kc_store_begin_use(kc_context *ctx, kc_store *store, kc_error *err)
{
    bool is_used = false;

    if (ctx != NULL && ctx != store->ctx)
        return kc_fail(err, KC_ERR_ARG, "the store belongs to another context");
    if (!atomic_compare_exchange_strong(&store->is_used, &is_used, true))
        return kc_fail(err, KC_ERR_ARG, "the store is in use by another call");
    return KC_OK;
}

void kc_store_end_use(kc_store *store)
{
    atomic_store(&store->is_used, false);
}

/* ---- Parts --------------------------------------------------------------------------------- */

bool kc_store_can_part(const kc_store *store)
{
    return store->user_fn == NULL;
}

static kc_status take_points(kc_call *call, kc_store *whole, const int32_t *points, size_t n,
                             kc_store **out)
{
    kc_packed own;
    kc_store_config config = {
        .kernel = whole->kernel, .points = &own, .cache_bytes = whole->counters.bytes_allowed};

    kc_store_clear(call->ctx, whole);
    KC_TRY(kc_packed_take(call, whole->points, points, n, &own));
    kc_status status = kc_store_make(call, &config, out);
    if (status != KC_OK) {
        kc_packed_free(call->ctx, &own);
        return status;
    }
    kc_store_adopt(*out, NULL, &own, NULL);
    return KC_OK;
}

static kc_status take_matrix(kc_call *call, kc_store *whole, const int32_t *points, size_t n,
                             kc_store **out)
{
    size_t ld = kc_round_up(n, KC_ALIGN / whole->value_bytes);
    char *values = kc_alloc(call->ctx, n, ld * whole->value_bytes);
    double start = kc_clock();
    kc_status status = values != NULL ? kc_store_pick(call, whole, points, n, points, n, values, ld)
                                      : kc_fail_nomem(call->err);

    kc_store_add_time(whole, start);
    if (status == KC_OK)
        status = kc_store_make_given(call, whole->dtype, values, n, ld, out);
    if (status != KC_OK) {
        kc_free(call->ctx, values);
        return status;
    }
    (*out)->whole = values;
    /* As if its rows were computed, so that a choice of methods cannot tell. */
    (*out)->entry_work = whole->entry_work;
    (*out)->row_bytes = find_row_bytes(n, whole->value_bytes);
    return KC_OK;
}

kc_status kc_store_part_make(kc_call *call, kc_store *whole, const int32_t *points, size_t n,
                             kc_store **out)
{
    *out = NULL;
    assert(kc_store_can_part(whole));
    return whole->given != NULL ? take_matrix(call, whole, points, n, out)
                                : take_points(call, whole, points, n, out);
}

void kc_store_part_free(kc_context *ctx, kc_store *whole, kc_store *part)
{
    if (part == NULL)
        return;
    /* Others may use the whole where it is shared: parts have their matrix then, and no rows. */
    if (part->counters.rows_computed > 0) {
        whole->counters.rows_computed += part->counters.rows_computed;
        whole->counters.rows_hit += part->counters.rows_hit;
        whole->counters.rows_evicted += part->counters.rows_evicted;
    }
    whole->values_computed += part->values_computed;
    whole->nanoseconds += part->nanoseconds;
    kc_store_free(ctx, part);
}

/* ---- Questions ----------------------------------------------------------------------------- */

bool kc_store_is_shared(const kc_store *store, size_t n_max, int32_t n_threads)
{
    size_t max_bytes = n_max * n_max * store->value_bytes * (size_t)n_threads;

    /* Through w, unless small problems take their matrix from the cache's bytes. */
    return store->given != NULL ||
           (kc_store_is_linear(store) && max_bytes <= kc_store_whole_bytes(store));
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

size_t kc_store_work(const kc_store *store)
{
    return store->entry_work;
}

bool kc_store_keeps_rows(const kc_store *store)
{
    return store->given == NULL && store->entry_work >= KC_CHEAP_WORK;
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

bool kc_store_is_given(const kc_store *store)
{
    return store->given != NULL && store->whole == NULL;
}

size_t kc_store_whole_bytes(const kc_store *store)
{
    if (store->given != NULL)
        return SIZE_MAX;
    return store->user_fn != NULL ? 0 : store->counters.bytes_allowed;
}

kc_store_counters kc_store_count(const kc_store *store)
{
    kc_store_counters counters = store->counters;

    counters.values_computed = atomic_load(&store->values_computed);
    counters.seconds = 1e-9 * (double)atomic_load(&store->nanoseconds);
    counters.bytes_used = store->lru != NULL ? kc_lru_used(store->lru) * store->row_bytes : 0;
    if (store->whole != NULL)
        counters.bytes_used = store->n * store->row_bytes;
    return counters;
}

void kc_store_add_time(kc_store *store, double start)
{
    store->nanoseconds += (int64_t)(1e9 * (kc_clock() - start));
}

/* Several threads may share a store: the time of any of them will do. */
void kc_store_time_values(kc_store *store, size_t n_values, double start)
{
    if (n_values >= TIMED_VALUES)
        atomic_store_explicit(&store->value_seconds, (kc_clock() - start) / (double)n_values,
                              memory_order_relaxed);
}

double kc_store_apply_seconds(const kc_store *store, size_t n_rows, size_t n_cols)
{
    /* Rows of a linear kernel are added up through w: in one pass, whatever their number. */
    const double n_passes = kc_store_is_linear(store) ? 1 : (double)n_rows;
    const double timed = atomic_load_explicit(&store->value_seconds, memory_order_relaxed);
    const double guess =
        store->given != NULL ? READ_SECONDS : WORK_SECONDS * (double)store->entry_work;

    return n_passes * (double)n_cols * (timed > 0 ? timed : guess);
}

kc_status kc_store_fail_overflow(const kc_call *call)
{
    return kc_fail(call->err, KC_ERR_RANGE,
                   "kernel values overflow: scale the data, or lower gamma or the degree");
}

/* ---- Slots --------------------------------------------------------------------------------- */

char *kc_slot_at(const kc_store *store, int32_t slot)
{
    size_t s = (size_t)slot;

    return store->slabs[s / store->slots_per_slab] + s % store->slots_per_slab * store->row_bytes;
}

/* Slots are dealt in ascending order, so that at most one slab is missing. */
bool kc_slot_take(kc_call *call, kc_store *store, int32_t slot)
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

bool kc_slot_has(const kc_store *store, int32_t slot, const kc_cols *cols)
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

void kc_slot_add(kc_store *store, int32_t slot, const kc_cols *cols)
{
    uint8_t *has = store->has_segment + (size_t)slot * store->n_segments;

    for (int32_t s = 0; s < cols->n_spans; s++) {
        size_t first, last;
        find_segments(store, &cols->span[s], &first, &last);
        memset(has + first, 1, last - first);
    }
}

void kc_slot_clear(kc_store *store, int32_t slot)
{
    memset(store->has_segment + (size_t)slot * store->n_segments, 0, store->n_segments);
}
