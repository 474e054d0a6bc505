/* Block steps: audited from the definition, compared with pair steps over all points, and equal to
 * the bit whatever the threads and the cache. */
#include <stdlib.h>
#include <string.h>

#include "kc_test.h"
#include "ref_qp.h"
#include "solver/kc_block.h"

static kc_context *ctx;

/* ---- On given matrices --------------------------------------------------------------------- */

typedef struct result {
    kc_status status;
    kc_solution solution;
} result;

static result solve_given(const ref_problem *p, kc_dual dual, kc_dtype dtype)
{
    result r = {0};
    kc_call call;
    kc_store *store = NULL;

    r.solution.beta = malloc(2 * p->n * sizeof(double));
    r.solution.grad = malloc(p->n * sizeof(double));
    r.status = kc_call_begin(&call, ctx, NULL, "solve", NULL);
    if (r.status == KC_OK) {
        r.status = kc_store_create_given(&call, dtype, dtype == KC_F64 ? (void *)p->k : p->k32,
                                         p->n, p->n, &store);
        if (r.status == KC_OK)
            r.status = kc_dual_solve(&call, store, &dual, &r.solution);
        kc_store_free(ctx, store);
        r.status = kc_call_end(&call, r.status);
    }
    return r;
}

static void drop(result *r)
{
    free(r->solution.beta);
    free(r->solution.grad);
}

static void check_solution(const ref_problem *p, const result *r, double tol)
{
    const kc_solution *s = &r->solution;
    ref_audit audit = ref_check(p, s);
    double noise = 1e-11 * (1 + audit.beta_weight);

    CHECK(r->status == KC_OK);
    CHECK(s->stop == KC_STOP_CONVERGED);
    CHECK(audit.out_of_box == 0);
    CHECK(audit.off_sum < 1e-12);
    CHECK(audit.off_grad < noise);
    CHECK(audit.violation < tol + noise);
    CHECK_NEAR(s->primal, audit.primal, 1e-12 * audit.scale + 10 * noise * audit.beta_weight);
    CHECK_NEAR(s->dual, audit.dual, 1e-12 * audit.scale + 10 * noise * audit.beta_weight);
}

static void compare_with_pairs(ref_matrix matrix, kc_dtype dtype, size_t most, int n_rounds)
{
    kc_rng rng = kc_rng_seed(200 + (uint64_t)matrix + 10 * (uint64_t)dtype);
    /* Duplicates that overlap have no unique solution and a slow way to any. */
    double tol = dtype == KC_F32 ? 1e-4 : matrix == REF_DUPLICATES ? 1e-5 : 1e-6;

    for (int round = 0; round < n_rounds; round++)
        for (int form = 0; form < REF_FORMS; form++) {
            size_t n = 2 + kc_rng_below(&rng, most - 1);
            double c = pow(10, 3 * kc_rng_uniform(&rng) - 1);
            ref_problem p = ref_random_problem(&rng, (ref_form)form, matrix, n, c, dtype == KC_F32);
            kc_dual dual = ref_dual(&p, tol);
            dual.seed = (uint64_t)round;
            dual.method = KC_METHOD_BLOCK;
            if (round % 2 == 1)
                dual.start = p.start;
            result block = solve_given(&p, dual, dtype);
            check_solution(&p, &block, tol);
            dual.method = KC_METHOD_PAIRS;
            result pairs = solve_given(&p, dual, dtype);
            CHECK_NEAR(block.solution.dual, pairs.solution.dual,
                       tol * (1e-2 + ref_check(&p, &pairs.solution).scale));
            drop(&block);
            drop(&pairs);
            ref_free(&p);
        }
}

static void blocks_and_pairs_find_the_same_optimum(void)
{
    compare_with_pairs(REF_RBF, KC_F64, 60, 20);
    compare_with_pairs(REF_RBF, KC_F64, 600, 4);
    compare_with_pairs(REF_RBF, KC_F32, 300, 5);
    compare_with_pairs(REF_LINEAR, KC_F64, 60, 10);
    compare_with_pairs(REF_DUPLICATES, KC_F64, 100, 5);
}

/* ---- On computed rows ---------------------------------------------------------------------- */

typedef struct sample {
    size_t n, d;
    double *x, *t, *lo, *hi;
} sample;

/* Two noisy classes sorted by class, or a regression. */
static sample make_sample(size_t n, size_t d, bool is_regression, double c)
{
    kc_rng rng = kc_rng_seed(n * 31 + d);
    sample s = {n, d, malloc(n * d * 8), malloc(n * 8), malloc(n * 8), malloc(n * 8)};

    for (size_t i = 0; i < n; i++) {
        bool is_positive = i >= n / 2;
        for (size_t k = 0; k < d; k++)
            s.x[i * d + k] = 4 * kc_rng_uniform(&rng) - 2 + (k == 0 && is_positive ? 0.8 : 0);
        s.t[i] = is_regression ? sin(3 * s.x[i * d]) + 0.3 * kc_rng_uniform(&rng)
                               : (is_positive ? 1 : -1);
        s.lo[i] = is_regression || !is_positive ? -c : 0;
        s.hi[i] = is_regression || is_positive ? c : 0;
    }
    return s;
}

static void free_sample(sample *s)
{
    free(s->x);
    free(s->t);
    free(s->lo);
    free(s->hi);
}

typedef struct setting {
    int32_t n_threads;
    size_t n_cached_rows;
    kc_dtype dtype;
    double epsilon;
    kc_method method;
    bool is_linear;
    bool is_split; /* two runs: the points between are left out */
} setting;

static kc_dual pose(const sample *s, const setting *set)
{
    kc_dual dual = {
        .cols = {.span = {{0, s->n}}, .n_spans = 1},
        .n_points = s->n,
        .n_groups = 1,
        .epsilon = set->epsilon,
        .t = s->t,
        .lo = s->lo,
        .hi = s->hi,
        .tol = 1e-3,
        .seed = 5,
        .method = set->method,
    };

    if (set->is_split) {
        /* The first and last third: the arrays are taken from the ends of the sample's. */
        size_t third = s->n / 3;
        dual.cols = (kc_cols){.span = {{0, third}, {s->n - third, s->n}}, .n_spans = 2};
        dual.n_points = 2 * third;
    }
    return dual;
}

static kc_status solve_in_store(kc_call *call, const sample *s, const setting *set,
                                const kc_kernel *kernel, const kc_packed *packed, kc_solution *out,
                                kc_store_counters *count)
{
    size_t third = s->n / 3;
    size_t segments[4] = {0, third, s->n - third, s->n};
    size_t row_bytes = kc_round_up(s->n * kc_dtype_bytes(set->dtype), KC_ALIGN);
    kc_store_config config = {.kernel = kernel,
                              .points = packed,
                              .cache_bytes = set->n_cached_rows * (row_bytes + KC_ALIGN),
                              .segments = segments,
                              .n_segments = 3};
    kc_store *store = NULL;
    kc_dual dual = pose(s, set);
    double *t = malloc(s->n * 8), *lo = malloc(s->n * 8), *hi = malloc(s->n * 8);
    kc_status status = kc_store_create(call, &config, &store);

    for (size_t p = 0; p < dual.n_points; p++) {
        size_t point = kc_cols_point(&dual.cols, p);
        t[p] = s->t[point];
        lo[p] = s->lo[point];
        hi[p] = s->hi[point];
    }
    dual.t = t;
    dual.lo = lo;
    dual.hi = hi;
    if (status == KC_OK)
        status = kc_dual_solve(call, store, &dual, out);
    if (status == KC_OK) {
        *count = kc_store_count(store);
        CHECK(count->bytes_used <= config.cache_bytes);
    }
    kc_store_free(ctx, store);
    free(t);
    free(lo);
    free(hi);
    return status;
}

static result solve_computed(const sample *s, const setting *set, kc_store_counters *count)
{
    kc_kernel_node node = {.op = set->is_linear ? KC_LINEAR : KC_RBF, .gamma = 0.5};
    kc_points view = {.storage = KC_DENSE,
                      .dtype = KC_F64,
                      .n_rows = (int64_t)s->n,
                      .n_cols = (int64_t)s->d,
                      .values = s->x,
                      .row_stride = (int64_t)(s->d * 8),
                      .col_stride = 8};
    kc_run run = {.struct_size = sizeof run, .n_threads = set->n_threads};
    result r = {0};
    kc_kernel *kernel = NULL;
    kc_packed packed = {0};
    kc_call call;

    r.solution.beta = calloc(s->n, sizeof(double));
    r.solution.grad = calloc(s->n, sizeof(double));
    r.status = kc_call_begin(&call, ctx, &run, "solve", NULL);
    if (r.status == KC_OK) {
        r.status = kc_kernel_create(ctx, &node, 1, &kernel, NULL);
        if (r.status == KC_OK)
            r.status = kc_packed_create(&call, &view, set->dtype, &packed);
        if (r.status == KC_OK)
            r.status = solve_in_store(&call, s, set, kernel, &packed, &r.solution, count);
        kc_packed_free(ctx, &packed);
        kc_kernel_free(ctx, kernel);
        r.status = kc_call_end(&call, r.status);
    }
    return r;
}

static bool are_equal(const sample *s, const result *a, const result *b)
{
    return memcmp(a->solution.beta, b->solution.beta, s->n * 8) == 0 &&
           memcmp(a->solution.grad, b->solution.grad, s->n * 8) == 0 &&
           a->solution.n_iter == b->solution.n_iter && a->solution.primal == b->solution.primal &&
           a->solution.intercept[0] == b->solution.intercept[0];
}

static void check_equal_bits(const sample *s, setting base)
{
    static const size_t rows[] = {2, 3, 17, 200, 100000};
    kc_store_counters count = {0};
    result first = solve_computed(s, &base, &count);

    CHECK(first.status == KC_OK);
    CHECK(first.solution.stop == KC_STOP_CONVERGED);
    CHECK((first.solution.n_outer > 0) == (base.method != KC_METHOD_PAIRS));
    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        setting set = base;
        set.n_threads = n_threads;
        set.n_cached_rows = rows[n_threads];
        result other = solve_computed(s, &set, &count);
        CHECK(other.status == KC_OK);
        CHECK(are_equal(s, &first, &other));
        drop(&other);
    }
    drop(&first);
}

static void bits_do_not_depend_on_threads_or_cache(void)
{
    sample classes = make_sample(1500, 20, false, 10);
    sample values = make_sample(1200, 3, true, 10);

    check_equal_bits(
        &classes,
        (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .method = KC_METHOD_BLOCK});
    check_equal_bits(&classes, (setting){.n_threads = 1,
                                         .n_cached_rows = 2,
                                         .dtype = KC_F32,
                                         .method = KC_METHOD_BLOCK,
                                         .is_split = true});
    check_equal_bits(&values, (setting){.n_threads = 1,
                                        .n_cached_rows = 2,
                                        .dtype = KC_F64,
                                        .epsilon = 0.1,
                                        .method = KC_METHOD_BLOCK});
    check_equal_bits(&classes, (setting){.n_threads = 1,
                                         .n_cached_rows = 2,
                                         .dtype = KC_F32,
                                         .method = KC_METHOD_BLOCK,
                                         .is_linear = true,
                                         .is_split = true});
    /* Long enough to go on by blocks, with the whole matrix and without. */
    check_equal_bits(&values, (setting){.n_threads = 1,
                                        .n_cached_rows = 2,
                                        .dtype = KC_F64,
                                        .epsilon = 0.01,
                                        .is_linear = true});
    free_sample(&classes);
    free_sample(&values);
}

static void pair_steps_through_the_cache_give_the_bits_of_the_whole_matrix(void)
{
    sample classes = make_sample(300, 5, false, 10);
    setting base = {.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .method = KC_METHOD_PAIRS};

    check_equal_bits(&classes, base);
    base.is_split = true;
    base.dtype = KC_F64;
    check_equal_bits(&classes, base);
    free_sample(&classes);
}

static void blocks_agree_with_pairs_on_computed_rows(void)
{
    sample classes = make_sample(1500, 20, false, 100);
    setting set = {.n_threads = 2, .n_cached_rows = 1000, .dtype = KC_F64};
    kc_store_counters count = {0};

    set.method = KC_METHOD_BLOCK;
    result block = solve_computed(&classes, &set, &count);
    CHECK(block.solution.stop == KC_STOP_CONVERGED);
    CHECK(block.solution.violation < 1e-3);
    CHECK(block.solution.n_outer > 1);
    CHECK(count.rows_computed + count.rows_hit == block.solution.n_row_visits);
    CHECK(count.rows_hit > 0);
    set.method = KC_METHOD_PAIRS;
    result pairs = solve_computed(&classes, &set, &count);
    CHECK_NEAR(block.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
    CHECK_NEAR(block.solution.intercept[0], pairs.solution.intercept[0], 2e-3);
    drop(&block);
    drop(&pairs);
    free_sample(&classes);
}

/* Twenty features keep all points apart, so that nearly every variable is free. */
static void blocks_that_are_crowded_go_on_by_pairs(void)
{
    sample values = make_sample(2100, 20, true, 10);
    setting set = {.n_threads = 2, .n_cached_rows = 2100, .dtype = KC_F64, .epsilon = 0.01};
    kc_store_counters count = {0};

    CHECK(kc_block_is_crowded(2000, 2100) && !kc_block_is_crowded(1000, 2100));
    CHECK(kc_block_is_crowded(3500, 100000) && !kc_block_is_crowded(2500, 100000));
    result mixed = solve_computed(&values, &set, &count);
    CHECK(mixed.solution.stop == KC_STOP_CONVERGED && mixed.solution.violation < 1e-3);
    CHECK(mixed.solution.n_outer > 0 && mixed.solution.n_outer < 15);
    set.method = KC_METHOD_PAIRS;
    result pairs = solve_computed(&values, &set, &count);
    CHECK_NEAR(mixed.solution.dual, pairs.solution.dual, 1e-6 * pairs.solution.dual);
    set = (setting){.n_threads = 1, .n_cached_rows = 2, .dtype = KC_F32, .epsilon = 0.01};
    check_equal_bits(&values, set);
    drop(&mixed);
    drop(&pairs);
    free_sample(&values);
}

/* ---- Other ends ---------------------------------------------------------------------------- */

static void indefinite_matrices_end_at_a_stationary_point(void)
{
    kc_rng rng = kc_rng_seed(7);

    for (int round = 0; round < 40; round++) {
        ref_problem p = ref_random_problem(&rng, (ref_form)(round % REF_FORMS), REF_INDEFINITE,
                                           2 + kc_rng_below(&rng, 200), 100, false);
        kc_dual dual = ref_dual(&p, 1e-3);
        dual.method = KC_METHOD_BLOCK;
        result r = solve_given(&p, dual, KC_F64);
        check_solution(&p, &r, 1e-3);
        drop(&r);
        ref_free(&p);
    }
}

/* Tiny values make easy problems, huge ones are as hard as a huge C: those must only end well. */
static void values_of_any_size_are_solved_or_end(void)
{
    static const double scales[] = {1e-100, 1e-20, 1e-8, 1e8, 1e20, 1e100};
    kc_rng rng = kc_rng_seed(12);

    for (int k = 0; k < 6; k++)
        for (int form = 0; form < REF_FORMS; form++)
            for (int method = KC_METHOD_PAIRS; method <= KC_METHOD_BLOCK; method++) {
                ref_problem p = ref_random_problem(&rng, (ref_form)form, REF_RBF, 50, 1, false);
                for (size_t i = 0; i < p.n * p.n; i++)
                    p.k[i] *= scales[k];
                kc_dual dual = ref_dual(&p, 1e-3);
                dual.method = (kc_method)method;
                dual.max_iter = 100000;
                result r = solve_given(&p, dual, KC_F64);
                ref_audit audit = ref_check(&p, &r.solution);
                CHECK(r.status == KC_OK);
                CHECK(audit.out_of_box == 0 && audit.off_sum < 1e-12);
                CHECK(isfinite(r.solution.intercept[0]) && isfinite(r.solution.dual));
                if (scales[k] < 1) {
                    CHECK(r.solution.stop == KC_STOP_CONVERGED);
                    CHECK(audit.violation < 1e-3);
                }
                drop(&r);
                ref_free(&p);
            }
}

static void max_iter_is_kept_to_the_step(void)
{
    kc_rng rng = kc_rng_seed(13);
    ref_problem p = ref_random_problem(&rng, REF_SVR, REF_RBF, 300, 100, false);
    kc_dual dual = ref_dual(&p, 1e-6);
    dual.method = KC_METHOD_BLOCK;
    dual.max_iter = 123;
    result r = solve_given(&p, dual, KC_F64);
    ref_audit audit = ref_check(&p, &r.solution);

    CHECK(r.solution.stop == KC_STOP_MAX_ITER);
    CHECK(r.solution.n_iter == 123);
    CHECK(audit.out_of_box == 0 && audit.off_sum < 1e-12);
    CHECK(audit.off_grad < 1e-9);
    drop(&r);
    ref_free(&p);
}

typedef struct patience {
    int64_t n_iter; /* until it has heard of so many steps */
    int n_asked;
} patience;

static int lose_patience(void *data, const kc_progress *progress)
{
    patience *p = data;

    p->n_asked++;
    return progress->n_iter >= p->n_iter;
}

/* Wherever it is stopped, what is left is feasible and has its own gradient. */
static void a_stopped_block_leaves_the_solution_before_it(void)
{
    kc_rng rng = kc_rng_seed(14);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 1500, 1e5, false);
    kc_dual dual = ref_dual(&p, 1e-9);
    dual.method = KC_METHOD_BLOCK;

    for (int64_t n_iter = 1; n_iter < 2000000; n_iter *= 100) {
        patience patient = {.n_iter = n_iter};
        kc_run run = {
            .struct_size = sizeof run, .on_progress = lose_patience, .progress_data = &patient};
        kc_solution s = {.beta = malloc(p.n * sizeof(double)),
                         .grad = malloc(p.n * sizeof(double))};
        kc_store *store = NULL;
        kc_call call;
        REQUIRE(kc_call_begin(&call, ctx, &run, "solve", NULL) == KC_OK);
        REQUIRE(kc_store_create_given(&call, KC_F64, p.k, p.n, p.n, &store) == KC_OK);
        CHECK(kc_dual_solve(&call, store, &dual, &s) == KC_OK);
        CHECK(s.stop == KC_STOP_CALLER || s.stop == KC_STOP_CONVERGED);
        ref_audit audit = ref_check(&p, &s);
        CHECK(audit.out_of_box == 0 && audit.off_sum < 1e-12);
        CHECK(audit.off_grad < 1e-12 * (1 + audit.beta_weight));
        kc_store_free(ctx, store);
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
        free(s.beta);
        free(s.grad);
    }
    ref_free(&p);
}

static void a_time_limit_ends_the_fit(void)
{
    kc_rng rng = kc_rng_seed(15);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 1500, 1e6, false);
    kc_dual dual = ref_dual(&p, 1e-12);
    kc_run run = {.struct_size = sizeof run, .time_limit = 0.05};
    kc_solution s = {.beta = malloc(p.n * sizeof(double)), .grad = malloc(p.n * sizeof(double))};
    kc_store *store = NULL;
    kc_call call;

    dual.method = KC_METHOD_BLOCK;
    REQUIRE(kc_call_begin(&call, ctx, &run, "solve", NULL) == KC_OK);
    REQUIRE(kc_store_create_given(&call, KC_F64, p.k, p.n, p.n, &store) == KC_OK);
    CHECK(kc_dual_solve(&call, store, &dual, &s) == KC_OK);
    CHECK(s.stop == KC_STOP_TIME);
    kc_store_free(ctx, store);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    free(s.beta);
    free(s.grad);
    ref_free(&p);
}

/* Labels by a hyperplane with a gap, or flipped near it. */
static void hard_margins_are_found_or_refused(void)
{
    enum { COUNT = 400, DIM = 3 };
    kc_rng rng = kc_rng_seed(16);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_LINEAR, COUNT, 1, false);
    double x[COUNT][DIM];

    for (int is_separable = 0; is_separable < 2; is_separable++) {
        for (size_t i = 0; i < COUNT; i++) {
            for (size_t k = 0; k < DIM; k++)
                x[i][k] = 2 * kc_rng_uniform(&rng) - 1;
            bool is_positive = x[i][0] > 0;
            x[i][0] += (is_separable ? 0.2 : -0.2) * (is_positive ? 1 : -1);
            p.t[i] = is_positive ? 1 : -1;
            p.lo[i] = is_positive ? 0 : -INFINITY;
            p.hi[i] = is_positive ? INFINITY : 0;
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < COUNT; j++)
                p.k[i * COUNT + j] = x[i][0] * x[j][0] + x[i][1] * x[j][1] + x[i][2] * x[j][2];
        for (int method = KC_METHOD_PAIRS; method <= KC_METHOD_BLOCK; method++) {
            kc_dual dual = ref_dual(&p, 1e-4);
            dual.method = (kc_method)method;
            result r = solve_given(&p, dual, KC_F64);
            CHECK(r.status == KC_OK);
            CHECK(r.solution.stop == (is_separable ? KC_STOP_CONVERGED : KC_STOP_UNBOUNDED));
            if (is_separable) {
                CHECK_NEAR(r.solution.primal, r.solution.dual, 1e-3 * r.solution.dual);
                CHECK(r.solution.gap >= -1e-9);
                /* Half the gap is at least 0.2, and w no longer than needed for that. */
                CHECK(r.solution.dual > 0 && r.solution.dual <= 0.5 / (0.2 * 0.2) + 1e-3);
            }
            drop(&r);
        }
    }
    ref_free(&p);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(blocks_and_pairs_find_the_same_optimum);
    RUN(bits_do_not_depend_on_threads_or_cache);
    RUN(pair_steps_through_the_cache_give_the_bits_of_the_whole_matrix);
    RUN(blocks_agree_with_pairs_on_computed_rows);
    RUN(blocks_that_are_crowded_go_on_by_pairs);
    RUN(indefinite_matrices_end_at_a_stationary_point);
    RUN(values_of_any_size_are_solved_or_end);
    RUN(max_iter_is_kept_to_the_step);
    RUN(a_stopped_block_leaves_the_solution_before_it);
    RUN(a_time_limit_ends_the_fit);
    RUN(hard_margins_are_found_or_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
