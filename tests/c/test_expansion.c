/* Expansions: values against sums in long double, whatever the way they are found. */
#include "function/kc_expansion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_kernel.h"
#include "svm_case.h"

static kc_context *ctx;

static const ref_node linear = {.op = OP_LINEAR};
static const ref_node rbf = {.op = OP_RBF, .gamma = 0.2};

/* Three segments and two rows of coefficients: row r of segment s goes to output (s + 2 r) mod 4.
 */
#define N_ROWS 2
#define N_SEGMENTS 3
#define N_OUTPUTS 4

typedef struct shape {
    size_t bounds[N_SEGMENTS + 1];
    int32_t output_of[N_SEGMENTS * N_ROWS];
    double *coef;
    double intercepts[N_OUTPUTS];
} shape;

static shape make_shape(size_t n, uint64_t seed)
{
    kc_rng rng = kc_rng_seed(seed);
    shape s = {.bounds = {0, n / 5, n / 5 + n / 3, n}};

    s.coef = malloc((n + 1) * N_ROWS * sizeof *s.coef);
    for (size_t k = 0; k < n * N_ROWS; k++)
        s.coef[k] = 2 * kc_rng_uniform(&rng) - 1;
    for (size_t o = 0; o < N_OUTPUTS; o++)
        s.intercepts[o] = kc_rng_uniform(&rng);
    for (int32_t k = 0; k < N_SEGMENTS * N_ROWS; k++)
        s.output_of[k] = (k / N_ROWS + 2 * (k % N_ROWS)) % N_OUTPUTS;
    return s;
}

static void gather(void *data, size_t row, const double *values)
{
    memcpy((double *)data + row * N_OUTPUTS, values, N_OUTPUTS * sizeof *values);
}

/* Makes the expansion over the rows of `points`; false on failure. */
static bool make(const kc_points *points, const ref_node *node, kc_dtype dtype, const shape *s,
                 kc_expansion *out)
{
    const size_t n = s->bounds[N_SEGMENTS];
    kc_call call;
    kc_kernel *kernel = NULL;
    kc_packed all = {.dtype = dtype};
    kc_expansion from = {
        .dtype = dtype,
        .n = n,
        .n_cols = (size_t)points->n_cols,
        .n_outputs = N_OUTPUTS,
        .n_rows = N_ROWS,
        .n_segments = N_SEGMENTS,
        .bounds = s->bounds,
        .output_of = s->output_of,
        .coef = s->coef,
        .intercepts = s->intercepts,
    };
    int32_t *rows = malloc((n + 1) * sizeof *rows);
    kc_status status;

    for (size_t i = 0; i < n; i++)
        rows[i] = (int32_t)i;
    CHECK(ref_kernel_make(ctx, node, 1, &kernel, NULL) == KC_OK);
    from.kernel = kernel;
    CHECK(kc_call_begin(&call, ctx, NULL, "test", NULL) == KC_OK);
    status = kc_packed_create(&call, points, dtype, &all);
    if (status == KC_OK)
        status = kc_packed_take(&call, &all, rows, n, &from.points);
    if (status == KC_OK)
        status = kc_expansion_create(&call, &from, out);
    CHECK(from.points.panels == NULL && from.points.indptr == NULL); /* moved */
    kc_packed_free(ctx, &all);
    kc_kernel_free(ctx, kernel); /* the expansion has its own */
    free(rows);
    return kc_call_end(&call, status) == KC_OK;
}

static kc_status evaluate(const kc_expansion *f, const kc_points *x, int32_t n_threads, double *out)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, &run, "test", NULL) == KC_OK);
    return kc_call_end(&call, kc_expansion_evaluate(&call, f, x, gather, out));
}

static double reference(const svm_case *c, const svm_case *at, size_t i, const shape *s, size_t o,
                        const ref_node *node)
{
    long double sum = s->intercepts[o];

    for (size_t k = 0; k < N_SEGMENTS * N_ROWS; k++) {
        const size_t segment = k / N_ROWS, row = k % N_ROWS;

        if ((size_t)s->output_of[k] != o)
            continue;
        for (size_t p = s->bounds[segment]; p < s->bounds[segment + 1]; p++)
            sum += (long double)s->coef[row * s->bounds[N_SEGMENTS] + p] *
                   ref_kernel(node, 1, c->x + p * c->d, at->x + i * at->d, c->d, KC_F64).value;
    }
    return (double)sum;
}

static void check_values(size_t n, size_t d, const ref_node *node, kc_dtype dtype)
{
    svm_case c = svm_case_make(1, n + 1, d, 2), at = svm_case_make(2, 25, d, 2);
    shape s = make_shape(n, 3);
    double *values = malloc(at.n * N_OUTPUTS * sizeof *values);
    const double u = dtype == KC_F64 ? 0x1p-53 : 0x1p-24;
    kc_expansion f;

    REQUIRE(make(&c.points, node, dtype, &s, &f));
    CHECK(evaluate(&f, &at.points, 1, values) == KC_OK);
    for (size_t i = 0; i < at.n; i++)
        for (size_t o = 0; o < N_OUTPUTS; o++)
            CHECK_NEAR(values[i * N_OUTPUTS + o], reference(&c, &at, i, &s, o, node),
                       200 * u * (double)(n + d));
    kc_expansion_free(ctx, &f);
    free(values);
    free(s.coef);
    svm_case_free(&c);
    svm_case_free(&at);
}

static void values_are_sums_over_the_points_of_an_output(void)
{
    const size_t sizes[] = {1, 7, 40, 300, 700};

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        check_values(sizes[k], 3, &rbf, KC_F64);
        check_values(sizes[k], 3, &rbf, KC_F32);
        check_values(sizes[k], 40, &rbf, KC_F32);
        check_values(sizes[k], 3, &linear, KC_F64);
        check_values(sizes[k], 40, &linear, KC_F32);
    }
}

static void without_points_there_are_intercepts(void)
{
    svm_case c = svm_case_make(1, 5, 3, 2);
    shape s = make_shape(0, 4);
    double values[5 * N_OUTPUTS];
    kc_expansion f;

    REQUIRE(make(&c.points, &rbf, KC_F64, &s, &f));
    CHECK(evaluate(&f, &c.points, 1, values) == KC_OK);
    for (size_t k = 0; k < 5 * N_OUTPUTS; k++)
        CHECK(values[k] == s.intercepts[k % N_OUTPUTS]);
    c.x[4] = (double)NAN; /* is looked at all the same */
    CHECK(evaluate(&f, &c.points, 1, values) == KC_ERR_NONFINITE);
    kc_expansion_free(ctx, &f);
    free(s.coef);
    svm_case_free(&c);
}

/* ---- The same bits ------------------------------------------------------------------------ */

static void check_batches(const ref_node *node, kc_dtype dtype, size_t d)
{
    svm_case c = svm_case_make(5, 600, d, 2), at = svm_case_make(6, 500, d, 2);
    shape s = make_shape(c.n, 7);
    double *all = malloc(at.n * N_OUTPUTS * sizeof *all);
    double *part = malloc(at.n * N_OUTPUTS * sizeof *part);
    kc_expansion f;

    REQUIRE(make(&c.points, node, dtype, &s, &f));
    CHECK(evaluate(&f, &at.points, 1, all) == KC_OK);
    for (int32_t n_threads = 2; n_threads <= 4; n_threads++) {
        memset(part, 0, at.n * N_OUTPUTS * sizeof *part);
        CHECK(evaluate(&f, &at.points, n_threads, part) == KC_OK);
        CHECK(memcmp(all, part, at.n * N_OUTPUTS * sizeof *all) == 0);
    }
    for (size_t begin = 0, step = 1; begin < at.n; begin += step, step = step % 13 + 1) {
        const size_t n = begin + step <= at.n ? step : at.n - begin;
        const kc_points view = svm_view(at.x + begin * d, n, d);

        CHECK(evaluate(&f, &view, 1, part) == KC_OK);
        CHECK(memcmp(all + begin * N_OUTPUTS, part, n * N_OUTPUTS * sizeof *all) == 0);
    }
    kc_expansion_free(ctx, &f);
    free(all);
    free(part);
    free(s.coef);
    svm_case_free(&c);
    svm_case_free(&at);
}

static void values_do_not_depend_on_the_batch_or_on_threads(void)
{
    check_batches(&rbf, KC_F64, 3);
    check_batches(&rbf, KC_F32, 30);
    check_batches(&linear, KC_F32, 30);
}

static void check_few(const ref_node *node, kc_dtype dtype, size_t n, size_t d)
{
    svm_case c = svm_case_make(5, n, d, 2), at = svm_case_make(6, 40, d, 2);
    shape s = make_shape(c.n, 7);
    double all[40 * N_OUTPUTS], few[40 * N_OUTPUTS];
    kc_expansion f;

    REQUIRE(make(&c.points, node, dtype, &s, &f));
    CHECK(evaluate(&f, &at.points, 1, all) == KC_OK);
    for (size_t begin = 0; begin < at.n; begin++)
        for (size_t n_rows = 1; n_rows <= at.n - begin; n_rows++) {
            const kc_points view = svm_view(at.x + begin * d, n_rows, d);

            if (kc_expansion_evaluate_few(&f, &view, gather, few))
                CHECK(memcmp(all + begin * N_OUTPUTS, few, n_rows * N_OUTPUTS * sizeof *all) == 0);
            else
                CHECK(n_rows > 1); /* one is always few, in cases of this size */
        }
    kc_expansion_free(ctx, &f);
    free(s.coef);
    svm_case_free(&c);
    svm_case_free(&at);
}

static void few_rows_have_the_bits_of_many(void)
{
    const ref_node cubic = {.op = OP_POLYNOMIAL, .degree = 3, .gamma = 0.5, .coef0 = 1};
    const ref_node laplacian = {.op = OP_LAPLACIAN, .gamma = 0.3};

    for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
        check_few(&rbf, dtype, 600, 3);
        check_few(&rbf, dtype, 333, 30);
        check_few(&rbf, dtype, 90, 200); /* from norms */
        check_few(&laplacian, dtype, 77, 5);
        check_few(&cubic, dtype, 55, 7);
        check_few(&linear, dtype, 600, 30);
    }
}

static void what_is_not_few_or_not_right_is_left_to_a_call(void)
{
    svm_case c = svm_case_make(8, 400, 5, 2);
    shape s = make_shape(c.n, 7);
    kc_points view = svm_view(c.x, 1, 5);
    double values[N_OUTPUTS];
    kc_expansion f;

    REQUIRE(make(&c.points, &rbf, KC_F64, &s, &f));
    CHECK(kc_expansion_evaluate_few(&f, &view, gather, values));
    view.n_rows = 400;
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    view.n_rows = 0;
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    view = svm_view(c.x, 1, 4);
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    view = svm_view(c.x, 1, 5);
    view.dtype = (kc_dtype)17;
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    view = svm_view(c.x, 1, 5);
    view.storage = KC_CSR;
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    view.storage = KC_DENSE;
    c.x[3] = NAN;
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    c.x[3] = 1e200;
    CHECK(!kc_expansion_evaluate_few(&f, &view, gather, values));
    kc_expansion_free(ctx, &f);
    free(s.coef);
    svm_case_free(&c);
}

/* The rows of a case as CSR; of eleven numbers one is kept. */
typedef struct sparse {
    int32_t *indptr;
    int32_t *indices;
    double *values;
    kc_points points;
} sparse;

static sparse thin_out(svm_case *c)
{
    sparse s = {
        .indptr = calloc(c->n + 1, sizeof(int32_t)),
        .indices = malloc(c->n * c->d * sizeof(int32_t)),
        .values = malloc(c->n * c->d * sizeof(double)),
    };
    int32_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        for (size_t t = 0; t < c->d; t++) {
            if ((i + 7 * t) % 11 != 0) {
                c->x[i * c->d + t] = 0;
                continue;
            }
            s.indices[n] = (int32_t)t;
            s.values[n++] = c->x[i * c->d + t];
        }
        s.indptr[i + 1] = n;
    }
    s.points = (kc_points){.struct_size = sizeof(kc_points),
                           .storage = KC_CSR,
                           .dtype = KC_F64,
                           .n_rows = (int64_t)c->n,
                           .n_cols = (int64_t)c->d,
                           .values = s.values,
                           .indices = s.indices,
                           .indptr = s.indptr,
                           .index_bytes = 4,
                           .n_values = n};
    return s;
}

static void free_sparse(sparse *s)
{
    free(s->indptr);
    free(s->indices);
    free(s->values);
}

static void check_storage(const ref_node *node, kc_dtype dtype)
{
    svm_case c = svm_case_make(8, 200, 80, 2), at = svm_case_make(9, 50, 80, 2);
    sparse thin = thin_out(&c), thin_at = thin_out(&at);
    shape s = make_shape(c.n, 7);
    const kc_points *points[] = {&c.points, &thin.points};
    const kc_points *views[] = {&at.points, &thin_at.points};
    double values[4][50 * N_OUTPUTS];

    for (size_t k = 0; k < 4; k++) {
        kc_expansion f;

        REQUIRE(make(points[k / 2], node, dtype, &s, &f));
        CHECK((f.points.storage == KC_CSR) == (k / 2 == 1));
        CHECK(evaluate(&f, views[k % 2], 1, values[k]) == KC_OK);
        CHECK(memcmp(values[k], values[0], sizeof values[0]) == 0);
        kc_expansion_free(ctx, &f);
    }
    free_sparse(&thin);
    free_sparse(&thin_at);
    free(s.coef);
    svm_case_free(&c);
    svm_case_free(&at);
}

static void dense_and_sparse_points_give_the_same_bits(void)
{
    check_storage(&rbf, KC_F64);
    check_storage(&rbf, KC_F32);
    check_storage(&linear, KC_F64);
}

/* ---- Weights and refusals ----------------------------------------------------------------- */

static void a_linear_expansion_is_a_vector(void)
{
    svm_case c = svm_case_make(8, 40, 5, 2);
    shape s = make_shape(c.n, 7);
    double w[N_OUTPUTS * 5];
    kc_expansion f, other;

    REQUIRE(make(&c.points, &linear, KC_F64, &s, &f));
    REQUIRE(make(&c.points, &rbf, KC_F64, &s, &other));
    CHECK(kc_expansion_is_linear(&f) && !kc_expansion_is_linear(&other));
    CHECK(f.weights != NULL && other.weights == NULL);
    kc_expansion_weights(&f, w);
    for (size_t o = 0; o < N_OUTPUTS; o++)
        for (size_t t = 0; t < 5; t++) {
            svm_case unit = svm_case_make(1, 2, 5, 2);

            memset(unit.x, 0, 5 * sizeof *unit.x);
            unit.x[t] = 1;
            CHECK_NEAR(w[o * 5 + t], reference(&c, &unit, 0, &s, o, &linear) - s.intercepts[o],
                       1e-13);
            svm_case_free(&unit);
        }
    kc_expansion_free(ctx, &f);
    kc_expansion_free(ctx, &other);
    free(s.coef);
    svm_case_free(&c);
}

static void rows_of_another_length_are_refused(void)
{
    svm_case c = svm_case_make(8, 40, 5, 2);
    shape s = make_shape(c.n, 7);
    const kc_points view = svm_view(c.x, 5, 4);
    double values[5 * N_OUTPUTS];
    kc_expansion f;

    REQUIRE(make(&c.points, &rbf, KC_F64, &s, &f));
    CHECK(evaluate(&f, &view, 1, values) == KC_ERR_SHAPE);
    kc_expansion_free(ctx, &f);
    kc_expansion_free(ctx, &f); /* empty by now */
    free(s.coef);
    svm_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(values_are_sums_over_the_points_of_an_output);
    RUN(without_points_there_are_intercepts);
    RUN(values_do_not_depend_on_the_batch_or_on_threads);
    RUN(few_rows_have_the_bits_of_many);
    RUN(what_is_not_few_or_not_right_is_left_to_a_call);
    RUN(dense_and_sparse_points_give_the_same_bits);
    RUN(a_linear_expansion_is_a_vector);
    RUN(rows_of_another_length_are_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
