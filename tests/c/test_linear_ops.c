/* The loops of the linear learners, every instruction set and type of samples against plain loops,
 * at every length.  Samples, weights and steps are small whole numbers wherever sums are compared:
 * every order of adding gives the same bits then.  Arrays are allocated to size, so that the
 * address sanitizer sees a read beyond the last value. */
#include "simd/kc_linear_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_isa.h"
#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_points.h"

#define MAX_D ((size_t)70)
#define N_ROWS ((size_t)40)

static const kc_linear_table *table;
static kc_rng rng;

static const kc_linear_ops *ops_of(kc_dtype dtype)
{
    return dtype == KC_F64 ? &table->f64 : &table->f32;
}

static double draw_whole(void)
{
    return (double)kc_rng_below(&rng, 17) - 8;
}

static double draw(void)
{
    return 2 * kc_rng_uniform(&rng) - 1;
}

static void *allocate(size_t n, size_t size)
{
    void *block = malloc(n * size + (n == 0));

    if (block == NULL)
        abort();
    return block;
}

static void *draw_values(size_t n, kc_dtype dtype, double (*value)(void))
{
    void *values = allocate(n, kc_dtype_bytes(dtype));

    for (size_t k = 0; k < n; k++)
        ref_put(values, k, dtype, value());
    return values;
}

/* ---- Single rows -------------------------------------------------------------------------- */

static void products_squares_and_sums_are_exact_at_every_length(void)
{
    for (int type = KC_F32; type <= KC_F64; type++)
        for (size_t d = 0; d <= MAX_D; d++) {
            const kc_dtype dtype = (kc_dtype)type;
            const kc_linear_ops *ops = ops_of(dtype);
            void *x = draw_values(d, dtype, draw_whole);
            double *a = draw_values(d, KC_F64, draw_whole);
            const double s = draw_whole(), b = draw_whole();
            double dot = 0, square = 0;

            for (size_t t = 0; t < d; t++) {
                dot += a[t] * ref_get(x, t, dtype);
                square += ref_get(x, t, dtype) * ref_get(x, t, dtype);
            }
            CHECK(ops->dot(a, x, d) == dot);
            CHECK(ops->value(a, b, x, d) == dot + b);
            CHECK(ops->square(x, d) == square);
            double *moved = allocate(d, sizeof *moved);
            memcpy(moved, a, d * sizeof *moved);
            ops->add(moved, s, x, d);
            for (size_t t = 0; t < d; t++)
                CHECK(moved[t] == a[t] + s * ref_get(x, t, dtype));
            free(moved);
            free(a);
            free(x);
        }
}

static void products_of_any_numbers_are_near(void)
{
    for (int type = KC_F32; type <= KC_F64; type++)
        for (size_t d = 1; d <= MAX_D; d++) {
            const kc_dtype dtype = (kc_dtype)type;
            void *x = draw_values(d, dtype, draw);
            double *a = draw_values(d, KC_F64, draw);
            long double dot = 0.25L;

            for (size_t t = 0; t < d; t++)
                dot += (long double)a[t] * (long double)ref_get(x, t, dtype);
            CHECK_NEAR(ops_of(dtype)->value(a, 0.25, x, d), (double)dot,
                       ((double)d + 2) * 0x1p-53 * ((double)d + 1));
            free(a);
            free(x);
        }
}

static int32_t *draw_columns(size_t nnz, size_t d)
{
    int32_t *cols = allocate(nnz, sizeof *cols);

    for (size_t k = 0; k < nnz; k++) /* in any order, some of them repeated */
        cols[k] = (int32_t)kc_rng_below(&rng, d);
    return cols;
}

static void sparse_products_and_sums_are_exact_at_every_length(void)
{
    for (int type = KC_F32; type <= KC_F64; type++)
        for (size_t nnz = 0; nnz <= MAX_D; nnz++) {
            const kc_dtype dtype = (kc_dtype)type;
            const kc_linear_ops *ops = ops_of(dtype);
            int32_t *cols = draw_columns(nnz, MAX_D);
            void *x = draw_values(nnz, dtype, draw_whole);
            double *a = draw_values(MAX_D, KC_F64, draw_whole);
            double want[MAX_D];
            const double s = draw_whole(), b = draw_whole();
            double dot = b;

            memcpy(want, a, sizeof want);
            for (size_t k = 0; k < nnz; k++) {
                dot += a[cols[k]] * ref_get(x, k, dtype);
                want[cols[k]] += s * ref_get(x, k, dtype);
            }
            CHECK(ops->sparse_value(a, b, cols, x, nnz) == dot);
            ops->sparse_add(a, s, cols, x, nnz);
            CHECK(memcmp(a, want, sizeof want) == 0);
            free(a);
            free(x);
            free(cols);
        }
}

static void one_value_that_is_not_one_is_found_at_every_place(void)
{
    const double others[] = {0, -1, 2, NAN, HUGE_VAL, 0.999999};

    for (int type = KC_F32; type <= KC_F64; type++)
        for (size_t n = 0; n <= 150; n++) {
            const kc_dtype dtype = (kc_dtype)type;
            void *x = allocate(n, kc_dtype_bytes(dtype));

            for (size_t k = 0; k < n; k++)
                ref_put(x, k, dtype, 1);
            CHECK(ops_of(dtype)->are_ones(x, n));
            for (size_t k = 0; k < n; k++) {
                ref_put(x, k, dtype, others[k % 6]);
                CHECK(!ops_of(dtype)->are_ones(x, n));
                ref_put(x, k, dtype, 1);
            }
            free(x);
        }
}

/* ---- Many rows ---------------------------------------------------------------------------- */

typedef enum form { DENSE, SPARSE, ONES, N_FORMS } form;

/* N_ROWS samples with classes and an order, and the same as a matrix of doubles. */
typedef struct data {
    kc_linear_samples samples;
    kc_dtype dtype;
    size_t d;
    double *x;  /* N_ROWS x d */
    void *held; /* what samples.values points to */
    int64_t indptr[N_ROWS + 1];
    int32_t *cols;
    int32_t classes[N_ROWS];
    int32_t order[N_ROWS];
    double weights[N_ROWS];
} data;

static void make_dense(data *m, double (*value)(void))
{
    m->held = draw_values(N_ROWS * m->d, m->dtype, value);
    for (size_t k = 0; k < N_ROWS * m->d; k++)
        m->x[k] = ref_get(m->held, k, m->dtype);
    m->samples.values = m->held;
    m->samples.row_bytes = (int64_t)(m->d * kc_dtype_bytes(m->dtype));
}

/* Row i has up to i % 17 values. */
static void make_sparse(data *m, bool are_ones, double (*value)(void))
{
    size_t nnz = 0;

    for (size_t i = 0; i <= N_ROWS; i++) {
        m->indptr[i] = (int64_t)nnz;
        nnz += kc_min(m->d, i % 17);
    }
    nnz = (size_t)m->indptr[N_ROWS];
    m->cols = draw_columns(nnz, m->d);
    m->held = draw_values(nnz, m->dtype, value);
    memset(m->x, 0, N_ROWS * m->d * sizeof *m->x);
    for (size_t i = 0; i < N_ROWS; i++)
        for (int64_t k = m->indptr[i]; k < m->indptr[i + 1]; k++) {
            if (are_ones)
                ref_put(m->held, (size_t)k, m->dtype, 1);
            m->x[i * m->d + (size_t)m->cols[k]] += ref_get(m->held, (size_t)k, m->dtype);
        }
    m->samples.values = are_ones ? NULL : m->held;
    m->samples.indptr = m->indptr;
    m->samples.cols = m->cols;
}

static data *make(form how, kc_dtype dtype, size_t d, bool is_ordered, double (*value)(void))
{
    data *m = allocate(1, sizeof *m);

    *m = (data){.dtype = dtype, .d = d, .x = allocate(N_ROWS * d, sizeof *m->x)};
    if (how == DENSE)
        make_dense(m, value);
    else
        make_sparse(m, how == ONES, value);
    for (size_t i = 0; i < N_ROWS; i++) {
        m->classes[i] = (int32_t)kc_rng_below(&rng, 3);
        m->order[i] = (int32_t)i;
        m->weights[i] = (double)kc_rng_below(&rng, 4) / 2 + 0.5;
    }
    kc_rng_shuffle(&rng, m->order, N_ROWS);
    m->samples.d = d;
    m->samples.classes = m->classes;
    m->samples.positive = 1;
    m->samples.order = is_ordered ? m->order : NULL;
    return m;
}

static void release(data *m)
{
    free(m->x);
    free(m->held);
    free(m->cols);
    free(m);
}

static size_t sample_of(const data *m, size_t place)
{
    return m->samples.order != NULL ? (size_t)m->order[place] : place;
}

static double sign_of(const data *m, size_t i)
{
    return m->classes[i] == 1 ? 1.0 : -1.0;
}

static double plain_value(const data *m, size_t i, const double *a, double b)
{
    for (size_t t = 0; t < m->d; t++)
        b += a[t] * m->x[i * m->d + t];
    return sign_of(m, i) * b;
}

/* Calls a sentence for every form, type, order and a few widths. */
static void for_all_data(double (*value)(void), void (*check)(const data *))
{
    static const size_t widths[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 70};

    for (int how = DENSE; how < N_FORMS; how++)
        for (int type = KC_F32; type <= KC_F64; type++)
            for (size_t w = 0; w < 2 * sizeof widths / sizeof widths[0]; w++) {
                data *m = make((form)how, (kc_dtype)type, widths[w / 2], w % 2 == 1, value);

                check(m);
                release(m);
            }
}

static void check_scan(const data *m)
{
    double *a = draw_values(m->d, KC_F64, draw_whole);
    const double b = draw_whole(), margin = (double)kc_rng_below(&rng, 3) * 20;

    for (size_t begin = 0; begin < N_ROWS; begin++) {
        size_t place = begin;
        double value = -1;

        while (place < N_ROWS && plain_value(m, sample_of(m, place), a, b) > margin)
            place++;
        CHECK(ops_of(m->dtype)->scan(&m->samples, a, b, margin, begin, N_ROWS, &value) == place);
        if (place < N_ROWS)
            CHECK(value == plain_value(m, sample_of(m, place), a, b));
        CHECK(ops_of(m->dtype)->scan(&m->samples, a, b, margin, begin, begin, &value) == begin);
    }
    free(a);
}

static void scan_finds_the_first_mistake(void)
{
    for_all_data(draw_whole, check_scan);
}

/* Predictions and learning agree on which side of the margin a sample lies. */
static void check_bits(const data *m)
{
    double *a = draw_values(m->d, KC_F64, draw);
    const double b = draw();
    const kc_linear_ops *ops = ops_of(m->dtype);

    for (size_t place = 0; place < N_ROWS; place++) {
        const size_t i = sample_of(m, place);
        const size_t first = (size_t)m->indptr[i], bytes = kc_dtype_bytes(m->dtype);
        const char *row = (const char *)m->held;
        double value = 0;
        const double own = m->samples.indptr != NULL
                               ? ops->sparse_value(a, b, m->cols + first, row + first * bytes,
                                                   (size_t)m->indptr[i + 1] - first)
                               : ops->value(a, b, row + i * m->d * bytes, m->d);

        CHECK(ops->scan(&m->samples, a, b, HUGE_VAL, place, place + 1, &value) == place);
        CHECK(value == sign_of(m, i) * own);
    }
    free(a);
}

static void values_are_the_same_bits_in_every_loop(void)
{
    for_all_data(draw, check_bits);
}

/* The fixed-increment rule, word for word. */
static void plain_learn(const data *m, kc_linear_learner *l)
{
    for (size_t place = 0; place < N_ROWS; place++) {
        const size_t i = sample_of(m, place);
        const double value = plain_value(m, i, l->a, l->b);
        const double weight = l->sample_weights != NULL ? m->weights[i] : 1.0;
        const double step = l->eta * weight * sign_of(m, i);
        const int64_t at = l->n_before + (int64_t)place + 1;

        if (value > l->margin)
            continue;
        l->n_mistakes++;
        l->criterion += weight * (l->margin - value);
        for (size_t t = 0; t < m->d; t++) {
            l->a[t] += step * m->x[i * m->d + t];
            if (l->time_weighted_a != NULL)
                l->time_weighted_a[t] += (double)at * step * m->x[i * m->d + t];
        }
        if (l->has_intercept) {
            l->b += step;
            l->time_weighted_b += l->time_weighted_a != NULL ? (double)at * step : 0.0;
        }
        if (l->log != NULL)
            *l->log++ = (kc_perceptron_update){at, (int32_t)i, 0, -1, step};
    }
}

typedef struct outcome {
    kc_linear_learner l;
    double a[MAX_D], late[MAX_D];
    kc_perceptron_update log[N_ROWS];
} outcome;

static void prepare(outcome *o, const data *m, int options)
{
    memset(o, 0, sizeof *o);
    o->l = (kc_linear_learner){
        .margin = options & 1 ? 10 : 0,
        .eta = options & 2 ? 0.25 : 1,
        .sample_weights = options & 4 ? m->weights : NULL,
        .has_intercept = (options & 8) == 0,
        .a = o->a,
        .time_weighted_a = options & 16 ? o->late : NULL,
        .n_before = 1000,
        .log = options & 32 ? o->log : NULL,
    };
}

static void check_learn(const data *m)
{
    for (int options = 0; options < 64; options++) {
        outcome want, got;
        const size_t cut = kc_rng_below(&rng, N_ROWS + 1);

        prepare(&want, m, options);
        plain_learn(m, &want.l);
        prepare(&got, m, options);
        CHECK(ops_of(m->dtype)->learn(&m->samples, &got.l, 0, cut) == cut);
        CHECK(ops_of(m->dtype)->learn(&m->samples, &got.l, cut, N_ROWS) == N_ROWS);
        CHECK(memcmp(got.a, want.a, sizeof want.a) == 0);
        CHECK(memcmp(got.late, want.late, sizeof want.late) == 0);
        CHECK(got.l.b == want.l.b && got.l.time_weighted_b == want.l.time_weighted_b);
        CHECK(got.l.n_mistakes == want.l.n_mistakes && got.l.criterion == want.l.criterion);
        for (int64_t k = 0; k < want.l.n_mistakes; k++)
            CHECK(got.log[k].at == want.log[k].at && got.log[k].sample == want.log[k].sample &&
                  got.log[k].raised == 0 && got.log[k].lowered == (options & 32 ? -1 : 0) &&
                  got.log[k].step == want.log[k].step);
    }
}

static void learn_is_the_fixed_increment_rule(void)
{
    for_all_data(draw_whole, check_learn);
}

static void check_stop(const data *m)
{
    outcome o;

    for (size_t place = 0; place < N_ROWS; place += 7) {
        prepare(&o, m, 0);
        o.l.b = NAN;
        CHECK(ops_of(m->dtype)->learn(&m->samples, &o.l, place, N_ROWS) == place);
        o.l.b = -HUGE_VAL * sign_of(m, sample_of(m, place));
        CHECK(ops_of(m->dtype)->learn(&m->samples, &o.l, place, N_ROWS) == place);
        CHECK(o.l.n_mistakes == 0);
    }
}

static void learn_stops_where_a_value_is_no_number(void)
{
    for_all_data(draw_whole, check_stop);
}

static void run_all(void)
{
    rng = kc_rng_seed(1);
    RUN(products_squares_and_sums_are_exact_at_every_length);
    RUN(products_of_any_numbers_are_near);
    RUN(sparse_products_and_sums_are_exact_at_every_length);
    RUN(one_value_that_is_not_one_is_found_at_every_place);
    RUN(scan_finds_the_first_mistake);
    RUN(values_are_the_same_bits_in_every_loop);
    RUN(learn_is_the_fixed_increment_rule);
    RUN(learn_stops_where_a_value_is_no_number);
}

int main(void)
{
    for (int isa = 0; isa < KC_N_ISAS; isa++)
        if (kc_isa_is_there((kc_isa)isa)) {
            table = kc_linear_table_of((kc_isa)isa);
            run_all();
        }
    return kc_test_end();
}
