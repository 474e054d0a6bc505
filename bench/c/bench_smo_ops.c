/* The loops of one pair step (simd/kc_smo_ops.h) at the sizes of a working set and of a small
 * problem, and the same step as plain scalar code with a branch for each bound, which is how
 * solvers without vector loops spend their time.
 *
 * An entry is one variable: a step costs move + pick. */
#include <math.h>

#include "kc_bench.h"
#include "simd/kc_smo_ops.h"

#define SWEEP_ROWS ((size_t)16)
#define MAX_CASES 128

typedef struct smo_data {
    const kc_smo_step_ops *ops;
    kc_sweep_fn *sweep;
    kc_dtype dtype;
    size_t n;
    double *grad, *up, *low;
    float *grad32, *up32, *low32; /* lanes of `single` */
    const void *row[SWEEP_ROWS], *diag;
    double delta[SWEEP_ROWS];
    double sink; /* what a loop returns goes here, so that it is not optimised away */
} smo_data;

static void run_scan(void *data)
{
    smo_data *smo = data;

    smo->sink += smo->ops->scan(smo->grad, smo->up, smo->low, smo->n).max_up;
}

/* A step so small that the gradient stays what it is, whatever the number of runs. */
static void run_move(void *data)
{
    smo_data *smo = data;

    smo->sink += smo->ops->move(smo->grad, smo->row[0], smo->row[1], 1e-15, smo->up, smo->n).max_up;
}

static void run_pick(void *data)
{
    smo_data *smo = data;

    smo->sink +=
        smo->ops->pick(smo->grad, smo->low, smo->row[0], smo->diag, smo->n, 0.9, 1.0, 1.0).min_low;
}

static void run_move_single(void *data)
{
    smo_data *smo = data;

    smo->sink +=
        smo->ops->move(smo->grad32, smo->row[0], smo->row[1], 1e-15, smo->up32, smo->n).max_up;
}

static void run_pick_single(void *data)
{
    smo_data *smo = data;

    smo->sink +=
        smo->ops->pick(smo->grad32, smo->low32, smo->row[0], smo->diag, smo->n, 0.9, 1.0, 1.0)
            .min_low;
}

static void run_sweep(void *data)
{
    smo_data *smo = data;

    smo->sweep(smo->grad, smo->grad, smo->row, smo->delta, SWEEP_ROWS, smo->n);
}

/* Row entries as doubles, whatever their type. */
static double row_at(const smo_data *smo, const void *row, size_t i)
{
    return smo->dtype == KC_F64 ? ((const double *)row)[i] : (double)((const float *)row)[i];
}

static size_t scalar_first(const smo_data *smo)
{
    size_t best = 0;
    double max_up = -HUGE_VAL;

    for (size_t i = 0; i < smo->n; i++)
        if (smo->up[i] == 0 && smo->grad[i] > max_up) {
            max_up = smo->grad[i];
            best = i;
        }
    return best;
}

static size_t scalar_second(const smo_data *smo)
{
    size_t best = 0;
    double most = -HUGE_VAL;

    for (size_t j = 0; j < smo->n; j++) {
        if (smo->low[j] != 0)
            continue;
        const double gain = 0.9 - smo->grad[j];
        if (gain <= 0)
            continue;
        const double curve = 1 + row_at(smo, smo->diag, j) - 2 * row_at(smo, smo->row[0], j);
        const double value = gain * gain / (curve > 0 ? curve : KC_SMO_TAU);
        if (value > most) {
            most = value;
            best = j;
        }
    }
    return best;
}

static void run_scalar(void *data)
{
    smo_data *smo = data;

    smo->sink += (double)(scalar_first(smo) + scalar_second(smo));
    for (size_t k = 0; k < smo->n; k++)
        smo->grad[k] -= 1e-15 * (row_at(smo, smo->row[0], k) - row_at(smo, smo->row[1], k));
}

/* ---- The list ----------------------------------------------------------------------------- */

/* A third of the variables at each bound, a third free. */
static smo_data *make_data(kc_dtype dtype, size_t n)
{
    smo_data *smo = bench_alloc(1, sizeof *smo);
    const size_t padded = kc_round_up(n, KC_SMO_PAD);

    smo->dtype = dtype;
    smo->n = n;
    smo->grad = bench_numbers(padded, KC_F64, -1, 1);
    smo->up = bench_numbers(padded, KC_F64, 0, 3);
    smo->low = bench_alloc(padded, sizeof *smo->low);
    smo->grad32 = bench_numbers(padded, KC_F32, -1, 1);
    smo->up32 = bench_alloc(padded, sizeof *smo->up32);
    smo->low32 = bench_alloc(padded, sizeof *smo->low32);
    for (size_t i = 0; i < padded; i++) {
        const double state = smo->up[i];
        smo->up[i] = state < 1 || i >= n ? -HUGE_VAL : 0;
        smo->low[i] = state > 2 || i >= n ? HUGE_VAL : 0;
        smo->up32[i] = (float)smo->up[i];
        smo->low32[i] = (float)smo->low[i];
    }
    smo->diag = bench_numbers(padded, dtype, 1, 1);
    for (size_t r = 0; r < SWEEP_ROWS; r++) {
        smo->row[r] = bench_numbers(n, dtype, 0, 0.9);
        smo->delta[r] = 1e-15;
    }
    return smo;
}

static void add(bench_case *cases, size_t *n_cases, const char *name, const char *isa,
                const smo_data *smo, void (*run)(void *))
{
    bench_case *bench = &cases[(*n_cases)++];

    bench->data = bench_alloc(1, sizeof *smo);
    memcpy(bench->data, smo, sizeof *smo);
    bench->dtype = bench_dtype_name(smo->dtype);
    bench->isa = isa;
    bench->run = run;
    bench->entries = (double)smo->n * (run == run_sweep ? (double)SWEEP_ROWS : 1);
    snprintf(bench->name, BENCH_NAME, "%s_n%zu", name, smo->n);
}

int main(void)
{
    static const size_t sizes[] = {512, 2048, 8192};
    static bench_case cases[MAX_CASES];
    size_t n_cases = 0;
    bench_isa isas[KC_N_ISAS];
    const size_t n_isas = bench_isas(isas);

    for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            smo_data *smo = make_data(dtype, sizes[k]);
            for (size_t i = 0; i < n_isas; i++) {
                const kc_smo_ops *ops = kc_smo_table_of(isas[i].isa);
                smo->ops = kc_smo_steps(ops, dtype);
                smo->sweep = dtype == KC_F64 ? ops->sweep_f64 : ops->sweep_f32;
                add(cases, &n_cases, "scan", isas[i].name, smo, run_scan);
                add(cases, &n_cases, "move", isas[i].name, smo, run_move);
                add(cases, &n_cases, "pick", isas[i].name, smo, run_pick);
                add(cases, &n_cases, "sweep16", isas[i].name, smo, run_sweep);
                if (dtype == KC_F64)
                    continue;
                smo->ops = &ops->single;
                add(cases, &n_cases, "move_single", isas[i].name, smo, run_move_single);
                add(cases, &n_cases, "pick_single", isas[i].name, smo, run_pick_single);
            }
            add(cases, &n_cases, "step", "scalar", smo, run_scalar);
        }
    return bench_run("smo_ops", cases, n_cases);
}
