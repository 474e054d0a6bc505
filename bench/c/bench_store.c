/* Rows of the Gram matrix through the store: kept rows, computed rows, and the update of a gradient
 * from either; and the bookkeeping of the cache alone.
 *
 * An entry is one kernel value of a row; for lru_* it is one look-up or one eviction. */
#include "base/kc_call.h"
#include "kc_bench.h"
#include "rows/kc_lru.h"
#include "rows/kc_store.h"

#define N ((size_t)4096)
#define BATCH ((size_t)96)
#define MAX_CASES 64

static bench_case cases[MAX_CASES];
static size_t n_cases;
static kc_context *ctx;
static kc_call call; /* open for the life of the program */

static void must(kc_status status)
{
    if (status != KC_OK) {
        fprintf(stderr, "bench_store: status %d\n", (int)status);
        exit(1);
    }
}

static bench_case *add_case(kc_dtype dtype)
{
    bench_case *bench = &cases[n_cases++];

    if (n_cases > MAX_CASES)
        must(KC_ERR_ARG);
    bench->dtype = bench_dtype_name(dtype);
    bench->isa = kc_isa_name();
    return bench;
}

typedef struct store_data {
    kc_store *store;
    kc_cols cols;
    size_t n_rows, next;
    int32_t points[BATCH];
    const void *rows[BATCH];
    double delta[BATCH];
    uint8_t keep[BATCH];
    double *grad;
} store_data;

static void run_get_kept(void *data)
{
    store_data *job = data;

    must(kc_store_get(&call, job->store, &job->cols, job->points, job->n_rows, job->rows));
}

/* Other points every time, more than there are slots: every row is computed. */
static void run_get_computed(void *data)
{
    store_data *job = data;

    for (size_t i = 0; i < job->n_rows; i++)
        job->points[i] = (int32_t)((job->next + i) % N);
    job->next += job->n_rows;
    run_get_kept(data);
}

static void run_apply(void *data)
{
    store_data *job = data;
    const kc_moved moved = {job->points, job->delta, job->keep, job->n_rows};

    must(kc_store_apply(&call, job->store, &job->cols, &moved, job->grad, job->grad));
}

static store_data *make_data(kc_store *store, size_t n_rows, kc_keep keep)
{
    store_data *job = bench_alloc(1, sizeof *job);

    job->store = store;
    job->cols = (kc_cols){.span = {{0, N}}, .n_spans = 1};
    job->n_rows = n_rows;
    job->grad = bench_numbers(N, KC_F64, -1, 1);
    for (size_t i = 0; i < n_rows; i++) {
        job->points[i] = (int32_t)(i * 37 % N);
        job->delta[i] = 1e-12;
        job->keep[i] = (uint8_t)keep;
    }
    return job;
}

static void add_store(const char *name, kc_dtype dtype, size_t d, store_data *job,
                      void (*run)(void *))
{
    bench_case *bench = add_case(dtype);

    snprintf(bench->name, BENCH_NAME, "%s_d%zu_rows%zu", name, d, job->n_rows);
    bench->run = run;
    bench->data = job;
    bench->entries = (double)(N * job->n_rows);
}

static const kc_packed *pack(size_t d, kc_dtype dtype)
{
    const int64_t bytes = (int64_t)kc_dtype_bytes(dtype);
    const kc_points points = {
        .struct_size = sizeof(kc_points),
        .storage = KC_DENSE,
        .dtype = dtype,
        .n_rows = (int64_t)N,
        .n_cols = (int64_t)d,
        .values = bench_numbers(N * d, dtype, -1, 1),
        .row_stride = (int64_t)d * bytes,
        .col_stride = bytes,
    };
    kc_packed *packed = bench_alloc(1, sizeof *packed);

    must(kc_packed_create(&call, &points, dtype, packed));
    return packed;
}

static kc_store *make_store(const kc_packed *points, const kc_kernel *kernel, size_t n_slots)
{
    const kc_store_config config = {
        .kernel = kernel,
        .points = points,
        .cache_bytes = (N * kc_dtype_bytes(points->dtype) + 4096) * n_slots,
    };
    kc_store *store;

    must(kc_store_make(&call, &config, &store));
    return store;
}

typedef struct store_use {
    const char *name;
    size_t n_slots, n_rows;
    kc_keep keep;
    void (*run)(void *);
} store_use;

/* A store for each, so that none empties another's cache. */
static void add_stores(kc_dtype dtype, size_t d)
{
    static const store_use uses[] = {
        {"get_kept", 2 * BATCH, 2, KC_KEEP_HIGH, run_get_kept},
        {"get_computed", BATCH, 2, KC_KEEP_LOW, run_get_computed},
        {"get_computed", BATCH, BATCH, KC_KEEP_LOW, run_get_computed},
        {"apply_kept", 2 * BATCH, BATCH, KC_KEEP_HIGH, run_apply},
        {"apply_computed", 2 * BATCH, BATCH, KC_KEEP_NOT, run_apply},
    };
    const double gamma = 1 / (double)d;
    const kc_packed *points = pack(d, dtype);
    kc_kernel *kernel;

    must(kc_kernel_leaf(ctx, "rbf", &gamma, 1, &kernel, NULL));
    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
        const store_use *use = &uses[k];
        kc_store *store = make_store(points, kernel, use->n_slots);
        add_store(use->name, dtype, d, make_data(store, use->n_rows, use->keep), use->run);
    }
}

/* ---- Bookkeeping -------------------------------------------------------------------------- */

#define SLOTS ((size_t)512)

typedef struct lru_data {
    kc_lru *lru;
    int32_t key;
} lru_data;

static void run_hit(void *data)
{
    lru_data *job = data;

    job->key = (job->key + 1) % (int32_t)SLOTS;
    kc_lru_hold(job->lru, job->key);
    kc_lru_publish(job->lru, job->key, 0);
}

static void run_evict(void *data)
{
    lru_data *job = data;
    bool evicted;

    job->key = (job->key + 1) % (int32_t)N;
    kc_lru_reserve(job->lru, job->key, 0, &evicted);
    kc_lru_publish(job->lru, job->key, 0);
}

static void add_lru(const char *name, void (*run)(void *))
{
    bench_case *bench = add_case(KC_F32);
    lru_data *job = bench_alloc(1, sizeof *job);
    bool evicted;

    job->lru = kc_lru_create(ctx, N, SLOTS);
    if (job->lru == NULL)
        must(KC_ERR_NOMEM);
    for (int32_t key = 0; key < (int32_t)SLOTS; key++) {
        kc_lru_reserve(job->lru, key, 0, &evicted);
        kc_lru_publish(job->lru, key, 0);
    }
    job->key = (int32_t)SLOTS - 1;
    snprintf(bench->name, BENCH_NAME, "%s", name);
    bench->dtype = "any";
    bench->isa = "any";
    bench->run = run;
    bench->data = job;
    bench->entries = 1;
}

int main(void)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = 1};

    must(kc_context_create(NULL, &ctx, NULL));
    must(kc_call_begin(&call, ctx, &run, "bench", NULL));
    for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
        add_stores(dtype, 20);
        add_stores(dtype, 200);
    }
    add_lru("lru_hit", run_hit);
    add_lru("lru_evict", run_evict);
    return bench_run("store", cases, n_cases);
}
