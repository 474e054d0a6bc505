/* The loops of the solvers, every instruction set and row type against plain loops, at every tail.
 */
#include "simd/kc_smo_ops.h"

#include <string.h>

#include "base/kc_isa.h"
#include "base/kc_rng.h"
#include "kc_test.h"

#define MAX_N 200
#define N_ROWS 20

static const kc_smo_ops *ops;
static kc_rng rng;

/* Padded as the contract asks; rows end exactly at n, filled with NaN beyond. */
typedef struct data {
    size_t n;
    double grad[MAX_N + KC_SMO_PAD], up[MAX_N + KC_SMO_PAD], low[MAX_N + KC_SMO_PAD];
    double diag64[MAX_N + KC_SMO_PAD];
    float diag32[MAX_N + KC_SMO_PAD];
    double row64[N_ROWS][MAX_N + KC_SMO_PAD];
    float row32[N_ROWS][MAX_N + KC_SMO_PAD];
    const void *rows[2][N_ROWS]; /* f32, f64 */
    const void *diag[2];
    double delta[N_ROWS];
} data;

static double draw(void)
{
    return 2 * kc_rng_uniform(&rng) - 1;
}

/* Small whole numbers, so that ties are common and every sum is exact. */
static double draw_whole(void)
{
    return (double)kc_rng_below(&rng, 9) - 4;
}

static void make(data *d, size_t n, double (*value)(void))
{
    d->n = n;
    for (size_t k = 0; k < n + KC_SMO_PAD; k++) {
        bool is_in = k < n;
        uint64_t state = kc_rng_below(&rng, 3);
        d->grad[k] = is_in ? value() : 0;
        d->up[k] = is_in && state != 0 ? 0 : -HUGE_VAL;
        d->low[k] = is_in && state != 1 ? 0 : HUGE_VAL;
        d->diag64[k] = is_in ? 4 + value() : 1;
        d->diag32[k] = (float)d->diag64[k];
        d->diag64[k] = (double)d->diag32[k];
        for (size_t r = 0; r < N_ROWS; r++) {
            d->row32[r][k] = is_in ? (float)value() : NAN;
            d->row64[r][k] = is_in ? (double)d->row32[r][k] : (double)NAN;
        }
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        d->rows[0][r] = d->row32[r];
        d->rows[1][r] = d->row64[r];
        d->delta[r] = value();
    }
    d->diag[0] = d->diag32;
    d->diag[1] = d->diag64;
}

static kc_peak plain_peak(const data *d, const double *grad)
{
    kc_peak peak = {-HUGE_VAL, 0, HUGE_VAL};

    for (size_t k = 0; k < d->n; k++) {
        if (grad[k] + d->up[k] > peak.max_up) {
            peak.max_up = grad[k] + d->up[k];
            peak.at = k;
        }
        peak.min_low = fmin(peak.min_low, grad[k] + d->low[k]);
    }
    return peak;
}

static bool same_peak(kc_peak a, kc_peak b)
{
    return a.max_up == b.max_up && a.at == b.at && a.min_low == b.min_low;
}

static const kc_smo_row_ops *row_ops(int type)
{
    return type == 0 ? &ops->f32 : &ops->f64;
}

static void scan_finds_the_first_largest_and_the_least(void)
{
    static data d;

    for (size_t n = 1; n <= MAX_N; n++) {
        make(&d, n, n % 2 ? draw : draw_whole);
        CHECK(same_peak(ops->scan(d.grad, d.up, d.low, n), plain_peak(&d, d.grad)));
    }
}

static void nothing_to_rise_or_fall_is_infinite(void)
{
    static data d;

    make(&d, 77, draw);
    for (size_t k = 0; k < d.n; k++) {
        d.up[k] = -HUGE_VAL;
        d.low[k] = HUGE_VAL;
    }
    CHECK(same_peak(ops->scan(d.grad, d.up, d.low, d.n), (kc_peak){-HUGE_VAL, 0, HUGE_VAL}));
    CHECK(ops->f32.pick(d.grad, d.low, d.row32[0], d.diag32, d.n, 5, 6, 1).at == KC_SMO_NONE);
    CHECK(ops->f64.pick(d.grad, d.low, d.row64[0], d.diag64, d.n, 5, 6, 1).at == KC_SMO_NONE);
}

static void move_shifts_the_gradient_and_finds_its_top(void)
{
    static data d;
    double moved[MAX_N + KC_SMO_PAD];
    double shifted[MAX_N + KC_SMO_PAD];

    for (size_t n = 1; n <= MAX_N; n++)
        for (int type = 0; type < 2; type++) {
            make(&d, n, n % 2 ? draw : draw_whole);
            memcpy(moved, d.grad, sizeof moved);
            memcpy(shifted, d.grad, sizeof shifted);
            kc_top top = row_ops(type)->move(moved, d.rows[type][0], d.rows[type][1], 0.5, d.up, n);
            row_ops(type)->shift(shifted, d.rows[type][0], d.rows[type][1], 0.5, n);
            for (size_t k = 0; k < n; k++) {
                double want = d.grad[k] - 0.5 * (d.row64[0][k] - d.row64[1][k]);
                CHECK_NEAR(moved[k], want, 4e-16);
                CHECK(shifted[k] == moved[k]);
            }
            kc_peak peak = plain_peak(&d, moved);
            CHECK(top.max_up == peak.max_up && top.at == peak.at);
        }
}

static double plain_gain(const data *d, size_t k, double up_i, double diag_i)
{
    double b = up_i - (d->grad[k] + d->low[k]);
    double a = diag_i + d->diag64[k] - 2 * d->row64[0][k];

    return b > 0 ? b * b / (a > 0 ? a : KC_SMO_TAU) : 0;
}

static void pick_finds_the_largest_gain(void)
{
    static data d;

    for (size_t n = 1; n <= MAX_N; n++)
        for (int type = 0; type < 2; type++) {
            make(&d, n, n % 2 ? draw : draw_whole);
            double diag_i = n % 3 == 0 ? -4 : 4; /* curvatures that are not positive, too */
            kc_second second = row_ops(type)->pick(d.grad, d.low, d.rows[type][0], d.diag[type], n,
                                                   0.25, 3, diag_i);
            size_t j = second.at;
            CHECK(second.min_low == plain_peak(&d, d.grad).min_low);
            double best = 0;
            size_t first = KC_SMO_NONE;
            for (size_t k = 0; k < n; k++)
                if (plain_gain(&d, k, 0.25, diag_i) > best) {
                    best = plain_gain(&d, k, 0.25, diag_i);
                    first = k;
                }
            CHECK((j == KC_SMO_NONE) == (first == KC_SMO_NONE));
            if (j == KC_SMO_NONE)
                continue;
            CHECK(j < n);
            /* Gains of f32 rows may be compared in float. */
            CHECK_NEAR(plain_gain(&d, j, 0.25, diag_i), best, 1e-5 * best);
            if (type == 1)
                CHECK(j == first);
        }
}

static void sweep_adds_rows_in_order(void)
{
    static data d;
    double out[MAX_N + KC_SMO_PAD];

    for (size_t n = 1; n <= MAX_N; n++)
        for (int type = 0; type < 2; type++) {
            size_t n_rows = n % (N_ROWS + 1);
            make(&d, n, n % 2 ? draw : draw_whole);
            out[n] = 123;
            row_ops(type)->sweep(d.grad, out, d.rows[type], d.delta, n_rows, n);
            for (size_t k = 0; k < n; k++) {
                double want = d.grad[k];
                for (size_t r = 0; r < n_rows; r++)
                    want -= d.delta[r] * d.row64[r][k];
                CHECK_NEAR(out[k], want, n % 2 ? 1e-14 : 0);
            }
            CHECK(out[n] == 123);
        }
}

/* Any cut of the rows and of the columns gives the same bits: what the store relies on. */
static void sweep_does_not_depend_on_how_it_is_cut(void)
{
    static data d;
    double whole[MAX_N + KC_SMO_PAD];
    double parts[MAX_N + KC_SMO_PAD];

    for (int type = 0; type < 2; type++) {
        make(&d, MAX_N, draw);
        row_ops(type)->sweep(d.grad, whole, d.rows[type], d.delta, N_ROWS, MAX_N);
        for (size_t row_cut = 0; row_cut <= N_ROWS; row_cut++)
            for (size_t cut = 1; cut < MAX_N; cut += 13) {
                size_t skip = cut * (type == 0 ? 4 : 8);
                const void *right[N_ROWS];
                for (size_t r = 0; r < N_ROWS; r++)
                    right[r] = (const char *)d.rows[type][r] + skip;
                memcpy(parts, d.grad, sizeof parts);
                row_ops(type)->sweep(parts, parts, d.rows[type], d.delta, row_cut, cut);
                row_ops(type)->sweep(parts + cut, parts + cut, right, d.delta, row_cut,
                                     MAX_N - cut);
                row_ops(type)->sweep(parts, parts, d.rows[type] + row_cut, d.delta + row_cut,
                                     N_ROWS - row_cut, cut);
                row_ops(type)->sweep(parts + cut, parts + cut, right + row_cut, d.delta + row_cut,
                                     N_ROWS - row_cut, MAX_N - cut);
                CHECK(memcmp(whole, parts, MAX_N * sizeof *whole) == 0);
            }
    }
}

static void run_all(const kc_smo_ops *table)
{
    ops = table;
    rng = kc_rng_seed(1);
    RUN(scan_finds_the_first_largest_and_the_least);
    RUN(nothing_to_rise_or_fall_is_infinite);
    RUN(move_shifts_the_gradient_and_finds_its_top);
    RUN(pick_finds_the_largest_gain);
    RUN(sweep_adds_rows_in_order);
    RUN(sweep_does_not_depend_on_how_it_is_cut);
}

int main(void)
{
    run_all(&kc_smo_ops_generic);
    if (kc_isa_chosen() == KC_ISA_AVX2)
        run_all(kc_smo_ops_chosen());
    return kc_test_end();
}
