/* The inner loops of simd/kc_ops.h alone: blocks of 96 rows by 512 columns, which stay in the
 * second-level cache, and CSR rows of the density of census data (123 columns, 14 ones). */
#include "kc_bench.h"

#define N_ROWS ((size_t)96)
#define N_COLS ((size_t)512)
#define CSR_D ((size_t)123)
#define CSR_ROW_NNZ ((size_t)14)
#define MAX_CASES 128

static bench_case cases[MAX_CASES];
static size_t n_cases;

static bench_case *add_case(const bench_isa *isa, kc_dtype dtype)
{
    bench_case *bench = &cases[n_cases++];

    if (n_cases > MAX_CASES) {
        fprintf(stderr, "more cases than MAX_CASES\n");
        exit(1);
    }
    bench->isa = isa->name;
    bench->dtype = bench_dtype_name(dtype);
    return bench;
}

/* ---- Dense blocks ------------------------------------------------------------------------- */

typedef struct dense_data {
    void (*loop)(const kc_dense_job *job);
    kc_dense_job job;
} dense_data;

static void run_dense(void *data)
{
    const dense_data *dense = data;

    dense->loop(&dense->job);
}

static kc_dense_job dense_job(size_t d, kc_dtype dtype)
{
    return (kc_dense_job){
        .rows = bench_numbers(N_ROWS * d, dtype, -1, 1),
        .panels = bench_numbers(N_COLS * d, dtype, -1, 1),
        .d = d,
        .n_rows = N_ROWS,
        .n_cols = N_COLS,
        .x_norms = bench_numbers(N_ROWS, dtype, 0, (double)d),
        .z_norms = bench_numbers(N_COLS, dtype, 0, (double)d),
        .gamma = 1 / (double)d,
        .out = bench_alloc(N_ROWS * N_COLS, kc_dtype_bytes(dtype)),
        .ld = N_COLS,
    };
}

/* flops: operations per feature and entry; 0 where they are not multiply-adds. */
static void add_dense(const bench_isa *isa, kc_dtype dtype, const char *name,
                      void (*loop)(const kc_dense_job *), const kc_dense_job *job, double flops)
{
    bench_case *bench = add_case(isa, dtype);
    dense_data *data = bench_alloc(1, sizeof *data);

    *data = (dense_data){loop, *job};
    snprintf(bench->name, BENCH_NAME, "%s_d%zu", name, job->d);
    bench->run = run_dense;
    bench->data = data;
    bench->entries = (double)(N_ROWS * N_COLS);
    bench->flops = flops * (double)job->d * bench->entries;
}

static void add_dense_cases(const bench_isa *isa, kc_dtype dtype)
{
    static const size_t dims[] = {4, 20, 200, 784};
    const kc_ops *ops = bench_ops_of(isa, dtype);

    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        const kc_dense_job job = dense_job(dims[k], dtype);

        add_dense(isa, dtype, "dot_block", ops->dot_block, &job, 2);
        add_dense(isa, dtype, "rbf_block", ops->rbf_block, &job, 2);
        if (dims[k] > 20)
            continue;
        add_dense(isa, dtype, "rbf_diff_block", ops->rbf_diff_block, &job, 3);
        add_dense(isa, dtype, "laplacian_block", ops->laplacian_block, &job, 3);
    }
}

/* ---- Sparse rows, transposition, norms ---------------------------------------------------- */

typedef struct csr_data {
    void (*loop)(const kc_csr_job *job);
    kc_csr_job job;
} csr_data;

static void run_csr(void *data)
{
    const csr_data *csr = data;

    csr->loop(&csr->job);
}

/* Ascending columns, CSR_ROW_NNZ of CSR_D in each row: one out of each stretch. */
static kc_csr_job csr_job(kc_dtype dtype)
{
    int64_t *indptr = bench_alloc(N_COLS + 1, sizeof *indptr);
    int32_t *cols = bench_alloc(N_COLS * CSR_ROW_NNZ, sizeof *cols);
    const size_t width = KC_LANE_BYTES / kc_dtype_bytes(dtype);
    const size_t stretch = CSR_D / CSR_ROW_NNZ;
    kc_rng rng = kc_rng_seed(2);

    for (size_t k = 0; k < N_COLS * CSR_ROW_NNZ; k++)
        cols[k] = (int32_t)(k % CSR_ROW_NNZ * stretch + kc_rng_below(&rng, stretch));
    for (size_t i = 0; i <= N_COLS; i++)
        indptr[i] = (int64_t)(i * CSR_ROW_NNZ);
    return (kc_csr_job){
        .indptr = indptr,
        .cols = cols,
        .vals = bench_numbers(N_COLS * CSR_ROW_NNZ, dtype, 1, 1),
        .n = N_COLS,
        .lanes = bench_numbers(CSR_D * width, dtype, 0, 1),
        .n_lane_cols = CSR_D,
        .out = bench_alloc(N_COLS * width, kc_dtype_bytes(dtype)),
    };
}

static void add_csr_cases(const bench_isa *isa, kc_dtype dtype)
{
    bench_case *bench = add_case(isa, dtype);
    csr_data *data = bench_alloc(1, sizeof *data);

    *data = (csr_data){bench_ops_of(isa, dtype)->csr_dot, csr_job(dtype)};
    snprintf(bench->name, BENCH_NAME, "csr_dot_nnz%zu", CSR_ROW_NNZ);
    bench->run = run_csr;
    bench->data = data;
    bench->entries = (double)(N_COLS * (KC_LANE_BYTES / kc_dtype_bytes(dtype)));
    bench->flops = 2 * (double)CSR_ROW_NNZ * bench->entries;
}

typedef struct plain_data {
    const kc_ops *ops;
    void *from, *to;
} plain_data;

static void run_transpose(void *data)
{
    const plain_data *plain = data;

    plain->ops->transpose(plain->to, N_ROWS, plain->from, N_COLS, N_ROWS, N_COLS);
}

static void run_finite(void *data)
{
    const plain_data *plain = data;
    volatile bool is_finite = plain->ops->all_finite(plain->from, N_ROWS * N_COLS);

    (void)is_finite;
}

static void add_plain_cases(const bench_isa *isa, kc_dtype dtype)
{
    const plain_data plain = {
        .ops = bench_ops_of(isa, dtype),
        .from = bench_numbers(N_ROWS * N_COLS, dtype, -1, 1),
        .to = bench_alloc(N_ROWS * N_COLS, kc_dtype_bytes(dtype)),
    };
    void (*const loops[])(void *) = {run_transpose, run_finite};
    static const char *const names[] = {"transpose", "all_finite"};

    for (size_t k = 0; k < 2; k++) {
        bench_case *bench = add_case(isa, dtype);
        bench->data = bench_alloc(1, sizeof plain);
        memcpy(bench->data, &plain, sizeof plain);
        snprintf(bench->name, BENCH_NAME, "%s", names[k]);
        bench->run = loops[k];
        bench->entries = (double)(N_ROWS * N_COLS);
    }
}

int main(void)
{
    bench_isa isas[KC_N_ISAS];
    const size_t n_isas = bench_isas(isas);

    for (size_t i = 0; i < n_isas; i++)
        for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
            add_dense_cases(&isas[i], dtype);
            add_csr_cases(&isas[i], dtype);
            add_plain_cases(&isas[i], dtype);
        }
    return bench_run("ops", cases, n_cases);
}
