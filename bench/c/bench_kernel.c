/* Blocks of K on packed points, as a solver asks for them: 1, 6 or 96 rows against 4096 columns,
 * through gathering, dispatch and map; and what packing the points costs.
 *
 * The instruction set is the process's own: run it again with KCORE_ISA=generic for the other. */
#include "base/kc_call.h"
#include "data/kc_packed.h"
#include "kc_bench.h"
#include "kernel/kc_plan.h"

#define N ((size_t)4096)
#define MAX_ROWS ((size_t)96)
#define CSR_D ((size_t)123)
#define CSR_ROW_NNZ ((size_t)14)
#define MAX_CASES 96

static bench_case cases[MAX_CASES];
static size_t n_cases;
static kc_context *ctx;
static kc_call call; /* open for the life of the program */

static void must(kc_status status)
{
    if (status != KC_OK) {
        fprintf(stderr, "bench_kernel: status %d\n", (int)status);
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

/* ---- Points ------------------------------------------------------------------------------- */

static kc_points dense_points(size_t d, kc_dtype dtype)
{
    const int64_t bytes = (int64_t)kc_dtype_bytes(dtype);

    return (kc_points){
        .struct_size = sizeof(kc_points),
        .storage = KC_DENSE,
        .dtype = dtype,
        .n_rows = (int64_t)N,
        .n_cols = (int64_t)d,
        .values = bench_numbers(N * d, dtype, -1, 1),
        .row_stride = (int64_t)d * bytes,
        .col_stride = bytes,
    };
}

static kc_points csr_points(kc_dtype dtype)
{
    int64_t *indptr = bench_alloc(N + 1, sizeof *indptr);
    int64_t *indices = bench_alloc(N * CSR_ROW_NNZ, sizeof *indices);
    const size_t stretch = CSR_D / CSR_ROW_NNZ;
    kc_rng rng = kc_rng_seed(3);

    for (size_t k = 0; k < N * CSR_ROW_NNZ; k++)
        indices[k] = (int64_t)(k % CSR_ROW_NNZ * stretch + kc_rng_below(&rng, stretch));
    for (size_t i = 0; i <= N; i++)
        indptr[i] = (int64_t)(i * CSR_ROW_NNZ);
    return (kc_points){
        .struct_size = sizeof(kc_points),
        .storage = KC_CSR,
        .dtype = dtype,
        .n_rows = (int64_t)N,
        .n_cols = (int64_t)CSR_D,
        .values = bench_numbers(N * CSR_ROW_NNZ, dtype, 1, 1),
        .indices = indices,
        .indptr = indptr,
        .index_bytes = 8,
        .n_values = (int64_t)(N * CSR_ROW_NNZ),
    };
}

/* ---- Blocks ------------------------------------------------------------------------------- */

typedef struct block_data {
    kc_plan plan;
    kc_block block;
    void *workspace;
} block_data;

static void run_block(void *data)
{
    const block_data *block = data;

    if (!kc_plan_block(&block->plan, &block->block, block->workspace))
        must(KC_ERR_RANGE);
}

static void add_block(const char *name, const kc_kernel *kernel, const kc_packed *points,
                      size_t n_rows)
{
    bench_case *bench = add_case(points->dtype);
    block_data *data = bench_alloc(1, sizeof *data);
    int32_t *rows = bench_alloc(n_rows, sizeof *rows);
    const double nnz = points->storage == KC_CSR ? (double)CSR_ROW_NNZ : (double)points->d;

    for (size_t i = 0; i < n_rows; i++)
        rows[i] = (int32_t)(i * 37 % N); /* scattered, as working sets are */
    *data = (block_data){
        .plan = kc_plan_make(kernel, points, points),
        .block = {.rows = rows,
                  .n_rows = n_rows,
                  .n_cols = N,
                  .out = bench_alloc(n_rows * N, kc_dtype_bytes(points->dtype)),
                  .ld = N},
    };
    data->workspace = bench_alloc(kc_plan_workspace(&data->plan, n_rows), 1);
    snprintf(bench->name, BENCH_NAME, "%s_%s%zu_rows%zu", name,
             points->storage == KC_CSR ? "csr" : "d", points->d, n_rows);
    bench->run = run_block;
    bench->data = data;
    bench->entries = (double)(n_rows * N);
    bench->flops = 2 * nnz * bench->entries;
}

static kc_kernel *make_rbf(size_t d)
{
    const double gamma = 1 / (double)d;
    kc_kernel *kernel;

    must(kc_kernel_leaf(ctx, "rbf", &gamma, 1, &kernel, NULL));
    return kernel;
}

static kc_kernel *make_cubic(size_t d)
{
    const double params[] = {3, 1 / (double)d, 1};
    kc_kernel *kernel;

    must(kc_kernel_leaf(ctx, "polynomial", params, 3, &kernel, NULL));
    return kernel;
}

/* ---- Packing ------------------------------------------------------------------------------ */

typedef struct pack_data {
    kc_points points;
    kc_dtype dtype;
} pack_data;

static void run_pack(void *data)
{
    const pack_data *pack = data;
    kc_packed packed;

    must(kc_packed_create(&call, &pack->points, pack->dtype, &packed));
    kc_packed_free(ctx, &packed);
}

static void add_pack(const kc_points *points, kc_dtype dtype)
{
    bench_case *bench = add_case(dtype);
    pack_data *data = bench_alloc(1, sizeof *data);

    *data = (pack_data){*points, dtype};
    snprintf(bench->name, BENCH_NAME, "pack_%s%lld_from_%s",
             points->storage == KC_CSR ? "csr" : "d", (long long)points->n_cols,
             bench_dtype_name(points->dtype));
    bench->run = run_pack;
    bench->data = data;
    bench->entries = points->storage == KC_CSR ? (double)points->n_values
                                               : (double)(points->n_rows * points->n_cols);
}

/* ---- The list ----------------------------------------------------------------------------- */

static kc_packed *pack(const kc_points *points, kc_dtype dtype)
{
    kc_packed *packed = bench_alloc(1, sizeof *packed);

    must(kc_packed_create(&call, points, dtype, packed));
    return packed;
}

static void add_all(kc_dtype dtype)
{
    static const size_t dims[] = {4, 20, 200, 784}, batches[] = {1, 6, MAX_ROWS};
    const kc_points sparse = csr_points(dtype);

    for (size_t k = 0; k < 4; k++) {
        const kc_points points = dense_points(dims[k], dtype);
        const kc_packed *packed = pack(&points, dtype);
        const kc_kernel *rbf = make_rbf(dims[k]);

        for (size_t b = 0; b < 3; b++)
            add_block("rbf", rbf, packed, batches[b]);
        add_block("poly3", make_cubic(dims[k]), packed, MAX_ROWS);
        add_pack(&points, dtype);
        if (dtype == KC_F32)
            continue;
        add_pack(&points, KC_F32);
    }
    for (size_t b = 0; b < 3; b++)
        add_block("rbf", make_rbf(CSR_D), pack(&sparse, dtype), batches[b]);
    add_pack(&sparse, dtype);
}

int main(void)
{
    must(kc_context_create(NULL, &ctx, NULL));
    must(kc_call_begin(&call, ctx, NULL, "bench", NULL));
    add_all(KC_F32);
    add_all(KC_F64);
    return bench_run("kernel", cases, n_cases);
}
