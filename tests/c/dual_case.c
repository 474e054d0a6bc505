/* See dual_case.h. */
#include "dual_case.h"
#include "ref_expr.h"

#include <stdlib.h>
#include <string.h>

#include "kc_test.h"

result solve_given_in(kc_context *ctx, const kc_run *run, const ref_problem *p, kc_dual dual,
                      kc_dtype dtype)
{
    result r = {0};
    kc_call call;
    kc_store *store = NULL;

    r.solution.beta = malloc(2 * p->n * sizeof(double));
    r.solution.grad = malloc(p->n * sizeof(double));
    r.status = kc_call_begin(&call, ctx, run, "solve", NULL);
    if (r.status == KC_OK) {
        r.status = kc_store_make_given(&call, dtype, dtype == KC_F64 ? (void *)p->k : p->k32, p->n,
                                       p->n, &store);
        if (r.status == KC_OK)
            r.status = kc_dual_solve(&call, store, &dual, &r.solution);
        kc_store_free(ctx, store);
        r.status = kc_call_end(&call, r.status);
    }
    return r;
}

result solve_given(kc_context *ctx, const ref_problem *p, kc_dual dual, kc_dtype dtype)
{
    return solve_given_in(ctx, NULL, p, dual, dtype);
}

void drop(result *r)
{
    free(r->solution.beta);
    free(r->solution.grad);
}

void check_feasible(const ref_problem *p, const result *r)
{
    ref_audit audit = ref_check(p, &r->solution);

    CHECK(r->status == KC_OK);
    CHECK(audit.out_of_box == 0);
    CHECK(audit.off_sum < 1e-12);
    CHECK(audit.off_grad < 1e-12 * (1 + audit.beta_weight));
}

void check_max_iter(kc_context *ctx, const ref_problem *p, kc_dual dual)
{
    result r = solve_given(ctx, p, dual, KC_F64);

    CHECK(r.solution.stop == KC_STOP_MAX_ITER);
    CHECK(r.solution.n_iter == dual.max_iter);
    CHECK(r.solution.violation > dual.tol && r.solution.gap > 0);
    check_feasible(p, &r);
    drop(&r);
}

void check_solution(const ref_problem *p, const result *r, double tol)
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
    CHECK_NEAR(s->violation, audit.violation, noise);
    CHECK_NEAR(s->primal, audit.primal, 1e-12 * audit.scale + 10 * noise * audit.beta_weight);
    CHECK_NEAR(s->dual, audit.dual, 1e-12 * audit.scale + 10 * noise * audit.beta_weight);
    CHECK_NEAR(s->gap, audit.primal - audit.dual,
               1e-12 * audit.scale + 10 * noise * audit.beta_weight);
    CHECK(s->gap >= 0);
}

sample make_sample(size_t n, size_t d, bool is_regression, double c)
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

void free_sample(sample *s)
{
    free(s->x);
    free(s->t);
    free(s->lo);
    free(s->hi);
}

static kc_dual pose(const sample *s, const setting *set)
{
    kc_dual dual = {
        .cols = {.span = {{0, s->n}}, .n_spans = 1},
        .n_points = s->n,
        .n_layers = 1,
        .epsilon = set->epsilon,
        .t = s->t,
        .lo = s->lo,
        .hi = s->hi,
        .tol = 1e-3,
        .seed = 5,
        .method = set->method,
        .is_shrinking = set->is_shrinking,
        .max_iter = set->max_iter,
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
    kc_status status = kc_store_make(call, &config, &store);

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
    kc_store_free(call->ctx, store);
    free(t);
    free(lo);
    free(hi);
    return status;
}

result solve_computed(kc_context *ctx, const sample *s, const setting *set,
                      kc_store_counters *count)
{
    ref_node node = {.op = set->is_linear ? OP_LINEAR : OP_RBF, .gamma = 0.5};
    kc_points view = {.struct_size = sizeof(kc_points),
                      .storage = KC_DENSE,
                      .dtype = KC_F64,
                      .n_rows = (int64_t)s->n,
                      .n_cols = (int64_t)s->d,
                      .values = s->x,
                      .row_stride = (int64_t)(s->d * 8),
                      .col_stride = 8};
    kc_run run = {.struct_size = sizeof run,
                  .n_threads = set->n_threads,
                  .on_progress = set->on_progress,
                  .progress_data = set->progress_data};
    result r = {0};
    kc_kernel *kernel = NULL;
    kc_packed packed = {0};
    kc_call call;

    r.solution.beta = calloc(s->n, sizeof(double));
    r.solution.grad = calloc(s->n, sizeof(double));
    r.status = kc_call_begin(&call, ctx, &run, "solve", NULL);
    if (r.status == KC_OK) {
        r.status = ref_kernel_make(ctx, &node, 1, &kernel, NULL);
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

bool are_equal(const sample *s, const result *a, const result *b)
{
    return memcmp(a->solution.beta, b->solution.beta, s->n * 8) == 0 &&
           memcmp(a->solution.grad, b->solution.grad, s->n * 8) == 0 &&
           a->solution.n_iter == b->solution.n_iter && a->solution.primal == b->solution.primal &&
           a->solution.intercept[0] == b->solution.intercept[0];
}

void check_equal_bits(kc_context *ctx, const sample *s, setting base)
{
    static const size_t rows[] = {2, 3, 17, 200, 100000};
    kc_store_counters count = {0};
    result first = solve_computed(ctx, s, &base, &count);

    CHECK(first.status == KC_OK);
    CHECK(first.solution.stop == KC_STOP_CONVERGED);
    CHECK((first.solution.n_sets + first.solution.n_rounds > 0) ==
          (base.method != KC_METHOD_PAIRS));
    for (int32_t n_threads = 1; n_threads <= 4; n_threads++) {
        setting set = base;
        set.n_threads = n_threads;
        set.n_cached_rows = rows[n_threads];
        result other = solve_computed(ctx, s, &set, &count);
        CHECK(other.status == KC_OK);
        CHECK(are_equal(s, &first, &other));
        drop(&other);
    }
    drop(&first);
}
