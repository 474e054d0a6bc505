/* The loops of the solvers, every instruction set, row type and lane type against plain loops, at
 * every tail. */
#include "simd/kc_smo_ops.h"

#include <string.h>

#include "base/kc_isa.h"
#include "base/kc_rng.h"
#include "kc_test.h"

#define MAX_N 460 /* more than pick divides one by one */
#define N_ROWS 20

/* Rows of floats, rows of doubles, rows and lanes of floats. */
enum { F32, F64, SINGLE, N_KINDS };

static const kc_smo_ops *ops;
static kc_rng rng;

/* Padded as the contract asks; rows end exactly at n, filled with NaN beyond.  All numbers are
 * floats, whatever holds them. */
typedef struct data {
    size_t n;
    double grad[MAX_N + KC_SMO_PAD], up[MAX_N + KC_SMO_PAD], low[MAX_N + KC_SMO_PAD];
    float grad32[MAX_N + KC_SMO_PAD], up32[MAX_N + KC_SMO_PAD], low32[MAX_N + KC_SMO_PAD];
    double diag64[MAX_N + KC_SMO_PAD];
    float diag32[MAX_N + KC_SMO_PAD];
    double row64[N_ROWS][MAX_N + KC_SMO_PAD];
    float row32[N_ROWS][MAX_N + KC_SMO_PAD];
    const void *rows[N_KINDS][N_ROWS];
    const void *diag[N_KINDS];
    const void *lanes[N_KINDS][3]; /* grad, up, low */
    double delta[N_ROWS];
} data;

static double draw(void)
{
    return (double)(float)(2 * kc_rng_uniform(&rng) - 1);
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
        d->grad32[k] = (float)d->grad[k];
        d->up32[k] = (float)d->up[k];
        d->low32[k] = (float)d->low[k];
        d->diag32[k] = is_in ? (float)(4 + value()) : 1;
        d->diag64[k] = (double)d->diag32[k];
        for (size_t r = 0; r < N_ROWS; r++) {
            d->row32[r][k] = is_in ? (float)value() : NAN;
            d->row64[r][k] = is_in ? (double)d->row32[r][k] : (double)NAN;
        }
    }
    for (size_t r = 0; r < N_ROWS; r++) {
        d->rows[F32][r] = d->rows[SINGLE][r] = d->row32[r];
        d->rows[F64][r] = d->row64[r];
        d->delta[r] = value();
    }
    d->diag[F32] = d->diag[SINGLE] = d->diag32;
    d->diag[F64] = d->diag64;
    memcpy(d->lanes[F32], (const void *[]){d->grad, d->up, d->low}, sizeof d->lanes[F32]);
    memcpy(d->lanes[F64], d->lanes[F32], sizeof d->lanes[F32]);
    memcpy(d->lanes[SINGLE], (const void *[]){d->grad32, d->up32, d->low32},
           sizeof d->lanes[SINGLE]);
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

static const kc_smo_step_ops *step_ops(int kind)
{
    return kind == F32 ? &ops->f32 : kind == F64 ? &ops->f64 : &ops->single;
}

static kc_peak scan(const data *d, int kind)
{
    return step_ops(kind)->scan(d->lanes[kind][0], d->lanes[kind][1], d->lanes[kind][2], d->n);
}

static kc_second pick(const data *d, int kind, double up_i, double reach, double diag_i)
{
    return step_ops(kind)->pick(d->lanes[kind][0], d->lanes[kind][2], d->rows[kind][0],
                                d->diag[kind], d->n, up_i, reach, diag_i);
}

static void scan_finds_the_first_largest_and_the_least(void)
{
    static data d;

    for (size_t n = 1; n <= MAX_N; n++) {
        make(&d, n, n % 2 ? draw : draw_whole);
        for (int kind = 0; kind < N_KINDS; kind++)
            CHECK(same_peak(scan(&d, kind), plain_peak(&d, d.grad)));
    }
}

static void nothing_to_rise_or_fall_is_infinite(void)
{
    static data d;

    make(&d, 77, draw);
    for (size_t k = 0; k < d.n; k++) {
        d.up[k] = -HUGE_VAL;
        d.low[k] = HUGE_VAL;
        d.up32[k] = -HUGE_VALF;
        d.low32[k] = HUGE_VALF;
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        CHECK(same_peak(scan(&d, kind), (kc_peak){-HUGE_VAL, 0, HUGE_VAL}));
        CHECK(pick(&d, kind, 5, 6, 1).at == KC_SMO_NONE);
    }
}

/* A gradient of lanes, as doubles. */
static void read_lanes(int kind, const void *lanes, size_t n, double *out)
{
    for (size_t k = 0; k < n; k++)
        out[k] = kind == SINGLE ? (double)((const float *)lanes)[k] : ((const double *)lanes)[k];
}

static void move_shifts_the_gradient_and_finds_its_top(void)
{
    static data d;
    double moved[MAX_N + KC_SMO_PAD], shifted[MAX_N + KC_SMO_PAD];
    double after[MAX_N], after_shift[MAX_N];

    for (size_t n = 1; n <= MAX_N; n++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            make(&d, n, n % 2 ? draw : draw_whole);
            const size_t bytes =
                (n + KC_SMO_PAD) * (kind == SINGLE ? sizeof(float) : sizeof(double));
            memcpy(moved, d.lanes[kind][0], bytes);
            memcpy(shifted, d.lanes[kind][0], bytes);
            kc_top top = step_ops(kind)->move(moved, d.rows[kind][0], d.rows[kind][1], 0.5,
                                              d.lanes[kind][1], n);
            step_ops(kind)->shift(shifted, d.rows[kind][0], d.rows[kind][1], 0.5, n);
            read_lanes(kind, moved, n, after);
            read_lanes(kind, shifted, n, after_shift);
            for (size_t k = 0; k < n; k++) {
                double want = d.grad[k] - 0.5 * (d.row64[0][k] - d.row64[1][k]);
                CHECK_NEAR(after[k], want, kind == SINGLE ? 2.4e-7 : 4e-16);
                CHECK(after_shift[k] == after[k]);
            }
            kc_peak peak = plain_peak(&d, after);
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
        for (int kind = 0; kind < N_KINDS; kind++) {
            make(&d, n, n % 2 ? draw : draw_whole);
            double diag_i = n % 3 == 0 ? -4 : 4; /* curvatures that are not positive, too */
            kc_second second = pick(&d, kind, 0.25, 3, diag_i);
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
            if (kind == F64)
                CHECK(j == first);
        }
}

/* Of every KC_SMO_WAYS-th variable, from a first one that need not be 0 on; of equal ones the
 * first.
 */
static void survey_finds_the_worst_of_every_class(void)
{
    static data d;

    for (size_t n = 1; n <= MAX_N; n++) {
        const size_t end = kc_round_up(n, KC_SMO_PAD);
        const size_t begin = n % 3 == 0 ? 0 : end / 2 / KC_SMO_WAYS * KC_SMO_WAYS;
        kc_survey v;
        make(&d, n, n % 2 ? draw : draw_whole);
        ops->survey(d.grad, d.up, d.low, begin, end, &v);
        for (size_t way = 0; way < KC_SMO_WAYS; way++) {
            double max_up = -HUGE_VAL, min_low = HUGE_VAL;
            size_t rises = 0, falls = 0;
            for (size_t k = begin + way; k < n; k += KC_SMO_WAYS) {
                if (d.grad[k] + d.up[k] > max_up) {
                    max_up = d.grad[k] + d.up[k];
                    rises = k;
                }
                if (d.grad[k] + d.low[k] < min_low) {
                    min_low = d.grad[k] + d.low[k];
                    falls = k;
                }
            }
            CHECK(v.max_up[way] == max_up && v.max_up_at[way] == (double)rises);
            CHECK(v.min_low[way] == min_low && v.min_low_at[way] == (double)falls);
        }
    }
}

static kc_sweep_fn *sweep_of(int type)
{
    return type == F32 ? ops->sweep_f32 : ops->sweep_f64;
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
            sweep_of(type)(d.grad, out, d.rows[type], d.delta, n_rows, n);
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
        sweep_of(type)(d.grad, whole, d.rows[type], d.delta, N_ROWS, MAX_N);
        for (size_t row_cut = 0; row_cut <= N_ROWS; row_cut++)
            for (size_t cut = 1; cut < MAX_N; cut += 13) {
                size_t skip = cut * (type == 0 ? 4 : 8);
                const void *right[N_ROWS];
                for (size_t r = 0; r < N_ROWS; r++)
                    right[r] = (const char *)d.rows[type][r] + skip;
                memcpy(parts, d.grad, sizeof parts);
                sweep_of(type)(parts, parts, d.rows[type], d.delta, row_cut, cut);
                sweep_of(type)(parts + cut, parts + cut, right, d.delta, row_cut, MAX_N - cut);
                sweep_of(type)(parts, parts, d.rows[type] + row_cut, d.delta + row_cut,
                               N_ROWS - row_cut, cut);
                sweep_of(type)(parts + cut, parts + cut, right + row_cut, d.delta + row_cut,
                               N_ROWS - row_cut, MAX_N - cut);
                CHECK(memcmp(whole, parts, MAX_N * sizeof *whole) == 0);
            }
    }
}

/* Half of the entries are missing, in the last rows all: dense points are swept as panels, whose
 * rows are features. */
static void sparse_rows_give_the_bits_of_dense_ones(void)
{
    static data d;
    int64_t indptr[MAX_N + 1] = {0};
    static int32_t cols[MAX_N * N_ROWS];
    static float vals32[MAX_N * N_ROWS];
    static double vals64[MAX_N * N_ROWS];
    double dense[MAX_N + KC_SMO_PAD], sparse[MAX_N + KC_SMO_PAD];
    size_t nnz = 0;

    make(&d, MAX_N, draw);
    for (size_t k = 0; k < MAX_N; k++) {
        for (size_t r = 0; r < N_ROWS; r++) {
            if (k + 5 >= MAX_N || kc_rng_below(&rng, 2) == 0) {
                d.row32[r][k] = 0;
                d.row64[r][k] = 0;
                continue;
            }
            cols[nnz] = (int32_t)r;
            vals32[nnz] = d.row32[r][k];
            vals64[nnz++] = d.row64[r][k];
        }
        indptr[k + 1] = (int64_t)nnz;
    }
    ops->sweep_f32(d.grad, dense, d.rows[F32], d.delta, N_ROWS, MAX_N);
    ops->sweep_sparse_f32(d.grad, sparse, indptr, cols, vals32, d.delta, MAX_N);
    CHECK(memcmp(dense, sparse, MAX_N * sizeof *dense) == 0);
    ops->sweep_f64(d.grad, dense, d.rows[F64], d.delta, N_ROWS, MAX_N);
    ops->sweep_sparse_f64(d.grad, sparse, indptr, cols, vals64, d.delta, MAX_N);
    CHECK(memcmp(dense, sparse, MAX_N * sizeof *dense) == 0);
}

static void run_all(const kc_smo_ops *table)
{
    ops = table;
    rng = kc_rng_seed(1);
    RUN(scan_finds_the_first_largest_and_the_least);
    RUN(nothing_to_rise_or_fall_is_infinite);
    RUN(move_shifts_the_gradient_and_finds_its_top);
    RUN(pick_finds_the_largest_gain);
    RUN(survey_finds_the_worst_of_every_class);
    RUN(sweep_adds_rows_in_order);
    RUN(sweep_does_not_depend_on_how_it_is_cut);
    RUN(sparse_rows_give_the_bits_of_dense_ones);
}

int main(void)
{
    for (int isa = 0; isa < KC_N_ISAS; isa++)
        if (kc_isa_is_there((kc_isa)isa))
            run_all(kc_smo_table_of((kc_isa)isa));
    return kc_test_end();
}
