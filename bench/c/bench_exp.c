/* The maps of simd/kc_ops.h over 4096 numbers: exp and what is made of it, against the C library's
 * exp in a loop.  Maps work in place, so each run copies its input first; the case `copy` is what
 * that costs. */
#include <math.h>

#include "kc_bench.h"

#define N ((size_t)4096)
#define MAX_CASES 64

typedef struct map_data {
    const kc_ops *ops;
    kc_dtype dtype;
    void (*map)(const struct map_data *data);
    void *from, *k;
    void *norms;
} map_data;

static void copy(const map_data *data)
{
    (void)data;
}

static void map_exp(const map_data *data)
{
    data->ops->map_exp(data->k, N, -1);
}

static void map_rbf(const map_data *data)
{
    data->ops->map_rbf(data->k, 1, N, data->norms, data->norms, 0.5);
}

static void map_tanh(const map_data *data)
{
    data->ops->map_tanh(data->k, N, 0.5, 0.1);
}

static void map_power3(const map_data *data)
{
    data->ops->map_power(data->k, N, 0.5, 1, 3);
}

static void libm_exp(const map_data *data)
{
    float *single = data->k;
    double *twofold = data->k;

    for (size_t i = 0; i < N; i++)
        if (data->dtype == KC_F64)
            twofold[i] = exp(-twofold[i]);
        else
            single[i] = expf(-single[i]);
}

static void run_map(void *data)
{
    const map_data *map = data;

    memcpy(map->k, map->from, N * kc_dtype_bytes(map->dtype));
    map->map(map);
}

typedef struct map_entry {
    const char *name;
    void (*map)(const map_data *data);
} map_entry;

static size_t add_cases(bench_case *cases, const bench_isa *isa, kc_dtype dtype)
{
    static const map_entry entries[] = {
        {"copy", copy},         {"map_exp", map_exp},       {"map_rbf", map_rbf},
        {"map_tanh", map_tanh}, {"map_power3", map_power3}, {"libm_exp", libm_exp},
    };
    const size_t n_entries = sizeof entries / sizeof *entries;

    for (size_t e = 0; e < n_entries; e++) {
        map_data *data = bench_alloc(1, sizeof *data);

        *data = (map_data){
            .ops = bench_ops_of(isa, dtype),
            .dtype = dtype,
            .map = entries[e].map,
            .from = bench_numbers(N, dtype, 0, 20),
            .k = bench_alloc(N, kc_dtype_bytes(dtype)),
            .norms = bench_numbers(N, dtype, 10, 30),
        };
        cases[e] = (bench_case){
            .dtype = bench_dtype_name(dtype),
            .isa = isa->name,
            .run = run_map,
            .data = data,
            .entries = (double)N,
        };
        snprintf(cases[e].name, BENCH_NAME, "%s", entries[e].name);
    }
    return n_entries;
}

int main(void)
{
    static bench_case cases[MAX_CASES];
    bench_isa isas[KC_N_ISAS];
    const size_t n_isas = bench_isas(isas);
    size_t n_cases = 0;

    for (size_t i = 0; i < n_isas; i++)
        for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++)
            n_cases += add_cases(cases + n_cases, &isas[i], dtype);
    return bench_run("exp", cases, n_cases);
}
