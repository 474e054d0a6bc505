/* The loops of the linear learners (simd/kc_linear_ops.h): a sample that is right costs its product
 * with the weights (scan); one that is a mistake costs the correction, too, which for dense samples
 * is one pass over the weights with the product of the next one (learn).
 *
 * An entry is one sample.  The samples fit the L2 cache. */
#include "kc_bench.h"
#include "simd/kc_linear_ops.h"

#define N ((size_t)256)
#define ROW_NNZ ((size_t)14) /* as in the set a9a */
#define MAX_CASES 64

typedef struct linear_data {
    const kc_linear_ops *ops;
    kc_linear_samples x;
    double *weights;
    double sink; /* what a loop returns goes here, so that it is not optimised away */
} linear_data;

/* No sample is below this margin. */
static void run_scan(void *data)
{
    linear_data *linear = data;
    double value = 0;

    linear->sink +=
        (double)linear->ops->scan(&linear->x, linear->weights, 0.0, -1e300, 0, N, &value);
}

/* All are below this one; steps are so small that the weights stay what they are. */
static void run_learn(void *data)
{
    linear_data *linear = data;
    kc_linear_learner rule = {
        .margin = 1e300, .eta = 1e-30, .has_intercept = true, .a = linear->weights};

    linear->sink += (double)linear->ops->learn(&linear->x, &rule, 0, N);
}

static linear_data *make_data(kc_dtype dtype, size_t d, bool is_sparse, bool are_ones)
{
    linear_data *linear = bench_alloc(1, sizeof *linear);
    const size_t row = is_sparse ? ROW_NNZ : d;
    int32_t *classes = bench_alloc(N, sizeof *classes);

    linear->weights = bench_numbers(d, KC_F64, -1, 1);
    linear->x = (kc_linear_samples){.d = d, .classes = classes, .positive = 1};
    linear->x.row_bytes = (int64_t)(d * (dtype == KC_F64 ? sizeof(double) : sizeof(float)));
    if (!are_ones)
        linear->x.values = bench_numbers(N * row, dtype, -1, 1);
    for (size_t i = 0; i < N; i++)
        classes[i] = (int32_t)(i * 7 / 3 % 2);
    if (is_sparse) {
        int64_t *indptr = bench_alloc(N + 1, sizeof *indptr);
        int32_t *cols = bench_alloc(N * row, sizeof *cols);

        for (size_t i = 0; i <= N; i++)
            indptr[i] = (int64_t)(i * row);
        for (size_t k = 0; k < N * row; k++)
            cols[k] = (int32_t)(k % row * (d / row) + k * 31 % (d / row));
        linear->x.indptr = indptr;
        linear->x.cols = cols;
    }
    return linear;
}

static void add(bench_case *cases, size_t *n_cases, const char *name, const bench_isa *isa,
                kc_dtype dtype, const linear_data *linear)
{
    static void (*const runs[])(void *) = {run_scan, run_learn};
    const size_t row = linear->x.indptr != NULL ? ROW_NNZ : linear->x.d;

    for (int k = 0; k < 2; k++) {
        bench_case *bench = &cases[(*n_cases)++];

        bench->data = bench_alloc(1, sizeof *linear);
        memcpy(bench->data, linear, sizeof *linear);
        bench->dtype = bench_dtype_name(dtype);
        bench->isa = isa->name;
        bench->run = runs[k];
        bench->entries = (double)N;
        bench->flops = (double)(N * row) * 2 * (k + 1);
        snprintf(bench->name, BENCH_NAME, "%s_%s", k == 0 ? "scan" : "learn", name);
    }
}

static const kc_linear_ops *linear_ops_of(const bench_isa *isa, kc_dtype dtype)
{
    const kc_linear_table *table = kc_linear_table_of(isa->isa);

    return dtype == KC_F64 ? &table->f64 : &table->f32;
}

int main(void)
{
    static bench_case cases[MAX_CASES];
    size_t n_cases = 0;
    bench_isa isas[KC_N_ISAS];
    const size_t n_isas = bench_isas(isas);

    for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
        linear_data *dense = make_data(dtype, 100, false, false);
        linear_data *sparse = make_data(dtype, 123, true, false);
        linear_data *ones = make_data(dtype, 123, true, true);

        for (size_t i = 0; i < n_isas; i++) {
            dense->ops = sparse->ops = ones->ops = linear_ops_of(&isas[i], dtype);
            add(cases, &n_cases, "dense_d100", &isas[i], dtype, dense);
            add(cases, &n_cases, "csr_nnz14", &isas[i], dtype, sparse);
            add(cases, &n_cases, "ones_nnz14", &isas[i], dtype, ones);
        }
    }
    return bench_run("linear_ops", cases, n_cases);
}
