/* The public functions of stores: K times vectors by its definition and with the same bits always,
 * what is refused and in what words, refused memory, and ends that the caller wants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "fault.h"
#include "kc_test.h"
#include "store_case.h"

static kc_context *ctx;

/* ---- K times vectors ----------------------------------------------------------------------- */

static double *random_vectors(uint64_t seed, size_t n)
{
    kc_rng rng = kc_rng_seed(seed);
    double *out = malloc(n * sizeof *out);

    for (size_t i = 0; i < n; i++)
        out[i] = kc_rng_below(&rng, 4) == 0 ? 0 : 2 * kc_rng_uniform(&rng) - 1;
    return out;
}

static int64_t sample_at(const int64_t *list, int64_t k)
{
    return list != NULL ? list[k] : k;
}

static void check_product(const store_case *c, const kc_product *p, double noise)
{
    double *out = malloc((size_t)(p->n_vectors * p->n_rows + 1) * sizeof *out);
    kc_error err = {0};

    out[p->n_vectors * p->n_rows] = 7;
    if (kc_store_multiply(c->ctx, NULL, c->store, p, out, &err) != KC_OK) {
        printf("    %s\n", err.text);
        CHECK(false);
    }
    CHECK(out[p->n_vectors * p->n_rows] == 7);
    for (int64_t k = 0; k < p->n_vectors; k++)
        for (int64_t r = 0; r < p->n_rows; r++) {
            long double sum = 0, size = 0;

            for (int64_t j = 0; j < p->n_columns; j++) {
                const long double term =
                    (long double)p->vectors[k * p->n_columns + j] *
                    c->gram[sample_at(p->rows, r) * (int64_t)c->data.n + sample_at(p->columns, j)];
                sum += term;
                size += fabsl(term);
            }
            CHECK_NEAR(out[k * p->n_rows + r], (double)sum, noise * (double)size);
        }
    free(out);
}

static void products_are_those_of_the_dense_matrix(void)
{
    const kc_dtype dtypes[] = {KC_F64, KC_F32};
    int64_t rows[90], columns[90];

    for (int64_t i = 0; i < 90; i++) {
        rows[i] = (7 * i + 3) % 90;
        columns[i] = 89 - i;
    }
    rows[1] = rows[0]; /* rows of the result may be twice */
    for (int k = 0; k < 2; k++) {
        store_case c = store_case_make(ctx, 90, 4, dtypes[k], 0);
        double *vectors = random_vectors(1, 3 * 90);
        const int64_t n_rows[] = {90, 40, 5, 1, 0}, n_columns[] = {90, 90, 17, 1, 0};

        for (int a = 0; a < 5; a++)
            for (int b = 0; b < 5; b++) {
                const kc_product p = {.struct_size = sizeof p,
                                      .columns = b == 0 ? NULL : columns,
                                      .n_columns = n_columns[b],
                                      .vectors = vectors,
                                      .n_vectors = 1 + (a + b) % 3,
                                      .rows = a == 0 ? NULL : rows,
                                      .n_rows = n_rows[a]};
                check_product(&c, &p, dtypes[k] == KC_F64 ? 1e-13 : 1e-5);
            }
        free(vectors);
        store_case_free(&c);
    }
}

/* On n_threads, with such a cache; the second product finds rows that the first one kept. */
static void multiply_twice(const store_case *c, int64_t cache_bytes, int32_t n_threads,
                           const kc_product *p, double *out)
{
    const kc_run run = {.struct_size = sizeof run, .n_threads = n_threads};
    const size_t n_bytes = (size_t)(p->n_vectors * p->n_rows) * sizeof *out;
    double *again = malloc(n_bytes);
    kc_store *store = store_case_again(c, KC_F32, cache_bytes);

    REQUIRE(store != NULL);
    CHECK(kc_store_multiply(ctx, &run, store, p, out, NULL) == KC_OK);
    CHECK(kc_store_multiply(ctx, &run, store, p, again, NULL) == KC_OK);
    CHECK(memcmp(out, again, n_bytes) == 0);
    kc_store_free(ctx, store);
    free(again);
}

static void check_product_bits(const ref_node *node, const kc_product *p)
{
    store_case c = {.ctx = ctx, .data = svm_case_make(5, 1500, 40, 2)};
    const size_t n = (size_t)(p->n_vectors * p->n_rows);
    double *base = malloc(n * sizeof *base), *out = malloc(n * sizeof *out);

    CHECK(ref_kernel_make(ctx, node, 1, &c.kernel, NULL) == KC_OK);
    multiply_twice(&c, 0, 1, p, base);
    for (int32_t n_threads = 2; n_threads <= 4; n_threads++) {
        multiply_twice(&c, n_threads * 1500 * 4 * 100, n_threads, p, out);
        CHECK(memcmp(base, out, n * sizeof *out) == 0);
    }
    multiply_twice(&c, 2 * (1500 * 4 + 64), 2, p, out);
    CHECK(memcmp(base, out, n * sizeof *out) == 0);
    free(base);
    free(out);
    store_case_free(&c);
}

static void products_do_not_depend_on_threads_or_caches(void)
{
    const ref_node nodes[] = {{.op = OP_RBF, .gamma = 0.02}, {.op = OP_LINEAR}};
    double *vectors = random_vectors(2, 2 * 1500);
    int64_t rows[700], columns[900];

    for (int64_t i = 0; i < 900; i++)
        columns[i] = (i * 7) % 1500;
    for (int64_t i = 0; i < 700; i++)
        rows[i] = (i * 11) % 1500;
    for (int k = 0; k < 2; k++) {
        const kc_product all = {.struct_size = sizeof all,
                                .n_columns = 1500,
                                .vectors = vectors,
                                .n_vectors = 2,
                                .n_rows = 1500};
        kc_product some = {.struct_size = sizeof some,
                           .columns = columns,
                           .n_columns = 900,
                           .vectors = vectors,
                           .n_vectors = 2,
                           .rows = rows,
                           .n_rows = 700};
        check_product_bits(&nodes[k], &all);
        check_product_bits(&nodes[k], &some);
        some.n_rows = 20;
        check_product_bits(&nodes[k], &some);
    }
    free(vectors);
}

/* A matrix that a problem had computed is as good as its rows. */
static void products_before_and_after_a_problem_are_the_same(void)
{
    store_case c = store_case_make(ctx, 300, 30, KC_F32, 0);
    double *vectors = random_vectors(3, 300), t[300], low[300], high[300], beta[300];
    double before[300], after[300];
    const kc_product p = {.struct_size = sizeof p,
                          .n_columns = 300,
                          .vectors = vectors,
                          .n_vectors = 1,
                          .n_rows = 300};
    const kc_dual_problem problem = {
        .struct_size = sizeof problem, .t = t, .lower = low, .upper = high, .tol = 1e-3};
    kc_dual_result result = {.struct_size = sizeof result, .beta = beta};

    for (int i = 0; i < 300; i++) {
        t[i] = c.data.targets[i];
        low[i] = -1;
        high[i] = 1;
    }
    REQUIRE(c.store != NULL);
    CHECK(kc_store_multiply(ctx, NULL, c.store, &p, before, NULL) == KC_OK);
    CHECK(kc_store_solve(ctx, NULL, c.store, &problem, &result, NULL) == KC_OK);
    CHECK(kc_store_multiply(ctx, NULL, c.store, &p, after, NULL) == KC_OK);
    CHECK(memcmp(before, after, sizeof before) == 0);
    free(vectors);
    store_case_free(&c);
}

static void a_store_says_what_it_is_and_did(void)
{
    store_case c = store_case_make(ctx, 300, 40, KC_F32, 100 * 1300);
    kc_store_info info = {.struct_size = sizeof info};
    double *vectors = random_vectors(3, 300), out[300], diag[300];
    const kc_product p = {.struct_size = sizeof p,
                          .n_columns = 300,
                          .vectors = vectors,
                          .n_vectors = 1,
                          .n_rows = 300};

    REQUIRE(c.store != NULL);
    CHECK(kc_store_describe(c.store, &info, NULL) == KC_OK);
    CHECK(info.dtype == KC_F32 && info.n_rows == 300 && !info.is_complete);
    CHECK(info.cache_bytes_allowed == 100 * 1300 && info.cache_bytes_used == 0);
    CHECK(info.rows_computed == 0 && info.rows_hit == 0);
    for (int k = 0; k < 2; k++)
        CHECK(kc_store_multiply(ctx, NULL, c.store, &p, out, NULL) == KC_OK);
    CHECK(kc_store_describe(c.store, &info, NULL) == KC_OK);
    CHECK(info.rows_hit > 50 && info.rows_computed > 300);
    CHECK(info.cache_bytes_used > 0 && info.cache_bytes_used <= info.cache_bytes_allowed);
    CHECK(info.values_computed > 0 && info.seconds_rows > 0);
    CHECK(kc_store_diagonal(c.store, diag, 300, NULL) == KC_OK);
    for (int i = 0; i < 300; i++)
        CHECK(diag[i] == 1);
    free(vectors);
    store_case_free(&c);
}

/* ---- What is refused ----------------------------------------------------------------------- */

static bool says(kc_status found, kc_status wanted, const kc_error *err, const char *words)
{
    const bool is_right =
        found == wanted && err->status == wanted && strstr(err->text, words) != NULL;

    if (!is_right)
        printf("    status %d, \"%s\", wanted %d, \"%s\"\n", (int)found, err->text, (int)wanted,
               words);
    return is_right;
}

static void what_no_store_is_made_of_is_refused(void)
{
    store_case c = store_case_make(ctx, 10, 2, KC_F64, 0);
    kc_store_settings s = {.struct_size = sizeof s};
    kc_points bad = c.data.points;
    kc_store *store = NULL;
    kc_error err = {0};
    double values[20] = {0};

#define CREATE(ctx_, kernel_, x_) kc_store_create(ctx_, NULL, kernel_, x_, &s, &store, &err)
    CHECK(says(kc_store_create(ctx, NULL, c.kernel, &c.data.points, &s, NULL, &err), KC_ERR_ARG,
               &err, "out is NULL"));
    CHECK(says(CREATE(NULL, c.kernel, &c.data.points), KC_ERR_ARG, &err, "ctx is NULL"));
    CHECK(says(CREATE(ctx, c.kernel, NULL), KC_ERR_ARG, &err, "x is NULL"));
    s.dtype = (kc_dtype)3;
    CHECK(says(CREATE(ctx, c.kernel, &c.data.points), KC_ERR_TYPE, &err, "settings.dtype is 3"));
    s.dtype = KC_F64;
    s.cache_bytes = -1;
    CHECK(says(CREATE(ctx, c.kernel, &c.data.points), KC_ERR_ARG, &err, "cache_bytes is -1"));
    s.cache_bytes = 100;
    CHECK(says(CREATE(ctx, c.kernel, &c.data.points), KC_ERR_ARG, &err, "100 bytes has no room"));
    s.cache_bytes = 0;
    s.struct_size = 3;
    CHECK(says(CREATE(ctx, c.kernel, &c.data.points), KC_ERR_ARG, &err, "settings.struct_size"));
    s.struct_size = sizeof s;
    values[7] = HUGE_VAL;
    bad = svm_view(values, 10, 2);
    CHECK(says(CREATE(ctx, c.kernel, &bad), KC_ERR_NONFINITE, &err, "row 3, column 1"));
    CHECK(says(CREATE(ctx, NULL, &bad), KC_ERR_SHAPE, &err, "10 x 2"));
    bad = svm_view(values, 4, 4);
    CHECK(says(CREATE(ctx, NULL, &bad), KC_ERR_NONFINITE, &err, "row 1, column 3"));
    bad.row_stride = 5;
    CHECK(says(CREATE(ctx, c.kernel, &bad), KC_ERR_ARG, &err, "X"));
    CHECK(store == NULL);
#undef CREATE
    store_case_free(&c);
}

static void what_no_product_is_is_refused(void)
{
    store_case c = store_case_make(ctx, 10, 2, KC_F64, 0);
    double v[20] = {1, 2, 3}, out[20] = {5};
    int64_t list[3] = {4, 5, 6};
    const kc_product good = {.struct_size = sizeof good,
                             .columns = list,
                             .n_columns = 3,
                             .vectors = v,
                             .n_vectors = 1,
                             .rows = list,
                             .n_rows = 3};
    kc_product p = good;
    kc_error err = {0};

#define MULTIPLY() kc_store_multiply(ctx, NULL, c.store, &p, out, &err)
    CHECK(
        says(kc_store_multiply(ctx, NULL, NULL, &p, out, &err), KC_ERR_ARG, &err, "store is NULL"));
    CHECK(says(kc_store_multiply(ctx, NULL, c.store, NULL, out, &err), KC_ERR_ARG, &err,
               "product is NULL"));
    CHECK(says(kc_store_multiply(ctx, NULL, c.store, &p, NULL, &err), KC_ERR_ARG, &err,
               "out is NULL"));
    p.vectors = NULL;
    CHECK(says(MULTIPLY(), KC_ERR_ARG, &err, "product.vectors is NULL"));
    p = good;
    p.n_vectors = 0;
    CHECK(says(MULTIPLY(), KC_ERR_SHAPE, &err, "product.n_vectors is 0"));
    p = good;
    p.n_columns = 11;
    CHECK(says(MULTIPLY(), KC_ERR_SHAPE, &err, "product.n_columns is 11, must be 0 to 10"));
    p.columns = NULL;
    p.n_columns = 9;
    CHECK(says(MULTIPLY(), KC_ERR_SHAPE, &err, "product.n_columns is 9, must be 10"));
    p = good;
    p.n_rows = -1;
    CHECK(says(MULTIPLY(), KC_ERR_SHAPE, &err, "product.n_rows is -1"));
    p.rows = NULL;
    p.n_rows = 3;
    CHECK(says(MULTIPLY(), KC_ERR_SHAPE, &err, "product.n_rows is 3, must be 10"));
    p = good;
    list[1] = 10;
    CHECK(says(MULTIPLY(), KC_ERR_INDEX, &err, "product.columns[1] is 10, must be 0 to 9"));
    p.columns = NULL;
    p.n_columns = 10;
    CHECK(says(MULTIPLY(), KC_ERR_INDEX, &err, "product.rows[1] is 10, must be 0 to 9"));
    p = good;
    list[1] = 6;
    CHECK(says(MULTIPLY(), KC_ERR_INDEX, &err, "columns[2] is 6, as is product.columns[1]"));
    list[1] = 5;
    v[2] = (double)NAN;
    CHECK(says(MULTIPLY(), KC_ERR_NONFINITE, &err, "vector 0, column 2"));
    v[2] = 3;
    p.struct_size = 0;
    CHECK(says(MULTIPLY(), KC_ERR_ARG, &err, "product.struct_size"));
    CHECK(out[0] == 5);
    p = good;
    CHECK(MULTIPLY() == KC_OK); /* nothing of it has hurt the store */
#undef MULTIPLY
    store_case_free(&c);
}

/* ---- One context, one call ----------------------------------------------------------------- */

/* A problem of one sample. */
static kc_status solve_one(kc_context *in, kc_store *store, kc_error *err)
{
    const int64_t row = 3;
    const double t = 1, lower = 0, upper = 1;
    const kc_dual_problem p = {.struct_size = sizeof p,
                               .rows = &row,
                               .n = 1,
                               .t = &t,
                               .lower = &lower,
                               .upper = &upper,
                               .tol = 1e-3};
    double beta;
    kc_dual_result r = {.struct_size = sizeof r, .beta = &beta};

    return kc_store_solve(in, NULL, store, &p, &r, err);
}

typedef struct nested {
    store_case *c;
    kc_status describes, solves;
    int n_asked;
} nested;

static int use_again(void *data, const kc_progress *progress)
{
    nested *n = data;
    kc_store_info info = {.struct_size = sizeof info};

    (void)progress;
    n->describes = kc_store_describe(n->c->store, &info, NULL);
    n->solves = solve_one(ctx, n->c->store, NULL);
    n->n_asked++;
    return KC_CANCEL;
}

/* Too hard to be solved before the callback is asked. */
static kc_status solve_for_long(store_case *c, const kc_run *run, double *beta, kc_dual_result *r)
{
    const size_t n = c->data.n;
    double *numbers = malloc(3 * n * sizeof *numbers);
    kc_dual_problem p = {.struct_size = sizeof p,
                         .t = numbers,
                         .lower = numbers + n,
                         .upper = numbers + 2 * n,
                         .n_groups = 1,
                         .tol = 1e-12};

    for (size_t i = 0; i < n; i++) {
        numbers[i] = sin(12.9898 * (double)i);
        numbers[n + i] = -1e9;
        numbers[2 * n + i] = 1e9;
    }
    *r = (kc_dual_result){.struct_size = sizeof *r, .beta = beta};
    const kc_status status = kc_store_solve(c->ctx, run, c->store, &p, r, NULL);
    free(numbers);
    return status;
}

static store_case make_hard_case(void)
{
    store_case c = {.ctx = ctx, .data = svm_case_make(5, 2500, 2, 2)};
    const ref_node node = {.op = OP_RBF, .gamma = 0.01};

    CHECK(ref_kernel_make(ctx, &node, 1, &c.kernel, NULL) == KC_OK);
    c.store = store_case_again(&c, KC_F64, 0);
    return c;
}

static void one_call_at_a_time_uses_a_store(void)
{
    store_case c = make_hard_case();
    nested n = {.c = &c};
    const kc_run run = {.struct_size = sizeof run, .on_progress = use_again, .progress_data = &n};
    double *beta = malloc(2500 * sizeof *beta);
    kc_dual_result r;

    beta[0] = 7;
    CHECK(solve_for_long(&c, &run, beta, &r) == KC_ERR_CANCELLED);
    CHECK(n.n_asked == 1 && n.describes == KC_ERR_ARG && n.solves == KC_ERR_ARG);
    CHECK(beta[0] == 7); /* and the store works on */
    kc_store_info info = {.struct_size = sizeof info};
    CHECK(kc_store_describe(c.store, &info, NULL) == KC_OK);
    free(beta);
    store_case_free(&c);
}

static void another_context_is_refused(void)
{
    store_case c = store_case_make(ctx, 10, 2, KC_F64, 0);
    kc_context *other = NULL;
    kc_error err = {0};

    REQUIRE(kc_context_create(NULL, &other, NULL) == KC_OK);
    CHECK(solve_one(other, c.store, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "another context") != NULL);
    CHECK(solve_one(ctx, c.store, &err) == KC_OK);
    kc_context_free(other);
    store_case_free(&c);
}

static int finish(void *data, const kc_progress *progress)
{
    (void)data;
    (void)progress;
    return KC_FINISH;
}

static void a_time_limit_leaves_a_feasible_solution(void)
{
    store_case c = make_hard_case();
    const kc_run limited = {.struct_size = sizeof limited, .time_limit = 0.3};
    const kc_run none = {.struct_size = sizeof none, .time_limit = 1e-9};
    const kc_run finished = {.struct_size = sizeof finished, .on_progress = finish};
    double *beta = malloc(2500 * sizeof *beta), sum = 0;
    kc_dual_result r;

    CHECK(solve_for_long(&c, &limited, beta, &r) == KC_OK);
    CHECK(r.stop == KC_STOP_TIME && r.seconds < 2);
    CHECK(!(r.gap < 0));
    for (size_t i = 0; i < 2500; i++)
        sum += beta[i];
    CHECK_NEAR(sum, 0, 1e-3);
    CHECK(solve_for_long(&c, &none, beta, &r) == KC_OK);
    CHECK(r.stop == KC_STOP_TIME && r.n_iter == 0);
    for (size_t i = 0; i < 2500; i++)
        CHECK(beta[i] == 0);
    CHECK(solve_for_long(&c, &finished, beta, &r) == KC_OK);
    CHECK(r.stop == KC_STOP_CALLER);
    free(beta);
    store_case_free(&c);
}

/* ---- Refused memory ------------------------------------------------------------------------ */

/* A store, a product of all and of few, a problem of all, of many and of few. */
static kc_status use_all(kc_context *in, const kc_points *x, bool is_given, double *beta,
                         kc_error *err)
{
    static const ref_node rbf = {.op = OP_RBF, .gamma = 0.2};
    static const int64_t rows[20] = {19, 3,  4,  0,  1,  2,  5,  6,  7,  8,
                                     9,  10, 11, 12, 13, 14, 15, 16, 17, 18};
    double t[20], lower[20], upper[20], vectors[20] = {1, 2, 3}, out[20];
    kc_product product = {.struct_size = sizeof product,
                          .n_columns = 20,
                          .vectors = vectors,
                          .n_vectors = 1,
                          .n_rows = 20};
    kc_dual_problem p = {.struct_size = sizeof p,
                         .t = t,
                         .lower = lower,
                         .upper = upper,
                         .rows = rows,
                         .n_groups = 1,
                         .tol = 1e-4};
    kc_dual_result r = {.struct_size = sizeof r, .beta = beta};
    kc_kernel *kernel = NULL;
    kc_store *store = NULL;
    kc_status status = is_given ? KC_OK : ref_kernel_make(in, &rbf, 1, &kernel, err);

    for (int k = 0; k < 20; k++) {
        t[k] = k % 3 == 0 ? 1 : -1;
        lower[k] = k % 3 == 0 ? 0 : -1;
        upper[k] = k % 3 == 0 ? 1 : 0;
    }
    if (status == KC_OK)
        status = kc_store_create(in, NULL, kernel, x, NULL, &store, err);
    kc_kernel_free(in, kernel);
    if (status == KC_OK)
        status = kc_store_multiply(in, NULL, store, &product, out, err);
    product.rows = rows;
    product.n_rows = 3;
    if (status == KC_OK)
        status = kc_store_multiply(in, NULL, store, &product, out, err);
    for (p.n = 20; p.n > 4 && status == KC_OK; p.n -= 6)
        status = kc_store_solve(in, NULL, store, &p, &r, err);
    kc_store_free(in, store);
    return status;
}

static void every_refused_allocation_is_an_error(void)
{
    svm_case data = svm_case_make(5, 20, 40, 2);
    double k[400], expected[20], beta[20];
    const kc_points matrix = svm_view(k, 20, 20);

    for (int i = 0; i < 400; i++)
        k[i] = exp(-0.1 * abs(i / 20 - i % 20));
    for (int is_given = 0; is_given < 2; is_given++) {
        const kc_points *x = is_given ? &matrix : &data.points;
        kc_fault fault;
        kc_context *in = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
        size_t n = 1;

        CHECK(use_all(in, x, is_given, expected, NULL) == KC_OK);
        for (; n < 1000; n++) {
            kc_error err = {0};

            kc_context_free(in);
            in = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
            kc_fault_arm(&fault, n, KC_FAULT_ALL);
            const kc_status status = use_all(in, x, is_given, beta, &err);
            const bool was_refused = kc_fault_disarm(&fault);
            CHECK(status == KC_OK || (status == KC_ERR_NOMEM && was_refused && err.text[0] != 0));
            CHECK(use_all(in, x, is_given, beta, NULL) == KC_OK);
            CHECK(memcmp(beta, expected, 8 * sizeof *beta) == 0);
            if (!was_refused)
                break;
        }
        CHECK(n > 10);
        kc_context_free(in);
        CHECK(kc_fault_is_clean(&fault));
    }
    svm_case_free(&data);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(products_are_those_of_the_dense_matrix);
    RUN(products_do_not_depend_on_threads_or_caches);
    RUN(products_before_and_after_a_problem_are_the_same);
    RUN(a_store_says_what_it_is_and_did);
    RUN(what_no_store_is_made_of_is_refused);
    RUN(what_no_product_is_is_refused);
    RUN(one_call_at_a_time_uses_a_store);
    RUN(another_context_is_refused);
    RUN(a_time_limit_leaves_a_feasible_solution);
    RUN(every_refused_allocation_is_an_error);
    kc_context_free(ctx);
    return kc_test_end();
}
