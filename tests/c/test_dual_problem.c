/* Problems on a store: by their definition, against fits, as folds, paths and parts of one store.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "store_case.h"

#define MOST 3000

static kc_context *ctx;

/* A problem and room for all that it names. */
typedef struct posing {
    int64_t rows[MOST];
    double t[MOST], lower[MOST], upper[MOST], start[MOST], sums[2];
    int32_t group[MOST];
    double beta[MOST], gradient[MOST];
    kc_dual_problem p;
    kc_dual_result r;
} posing;

static size_t size_of(const store_case *c, const posing *q)
{
    return q->p.rows != NULL ? (size_t)q->p.n : c->data.n;
}

static size_t sample_of(const posing *q, size_t k)
{
    return q->p.rows != NULL ? (size_t)q->p.rows[k] : k;
}

static void name_arrays(posing *q, double tol)
{
    q->p = (kc_dual_problem){
        .struct_size = sizeof q->p, .t = q->t, .lower = q->lower, .upper = q->upper, .tol = tol};
    q->r = (kc_dual_result){.struct_size = sizeof q->r, .beta = q->beta, .gradient = q->gradient};
}

/* n distinct samples in any order. */
static void draw_rows(posing *q, kc_rng *rng, size_t n_all, size_t n)
{
    for (size_t i = 0; i < n_all; i++)
        q->rows[i] = (int64_t)i;
    for (size_t i = 0; i < n; i++) {
        const size_t j = i + kc_rng_below(rng, n_all - i);
        const int64_t row = q->rows[i];

        q->rows[i] = q->rows[j];
        q->rows[j] = row;
    }
    q->p.rows = q->rows;
    q->p.n = (int64_t)n;
}

/* C-SVC of the samples of the problem. */
static void pose_csvc(const store_case *c, posing *q, double C)
{
    for (size_t k = 0; k < size_of(c, q); k++) {
        const double y = c->data.classes[sample_of(q, k)] == 1 ? 1 : -1;

        q->t[k] = y;
        q->lower[k] = y > 0 ? 0 : -C;
        q->upper[k] = y > 0 ? C : 0;
    }
    q->p.n_groups = 1;
}

static void pose_svr(const store_case *c, posing *q, double C, double epsilon)
{
    for (size_t k = 0; k < size_of(c, q); k++) {
        q->t[k] = c->data.targets[sample_of(q, k)];
        q->lower[k] = -C;
        q->upper[k] = C;
    }
    q->p.epsilon = epsilon;
    q->p.n_groups = 1;
}

static kc_status solve_on(kc_store *store, posing *q, const kc_run *run)
{
    kc_error err = {0};
    const kc_status status = kc_store_solve(ctx, run, store, &q->p, &q->r, &err);

    if (status != KC_OK)
        printf("    %s\n", err.text);
    return status;
}

/* ---- By the definition --------------------------------------------------------------------- */

/* Unequal boxes, t, kinks; groups by a coin, with sums in the middle of what the boxes allow. */
static void pose_random(const store_case *c, posing *q, kc_rng *rng, int32_t n_groups)
{
    const size_t n = size_of(c, q);

    q->p.n_groups = n_groups;
    q->p.epsilon = kc_rng_below(rng, 2) == 0 ? 0 : 0.2;
    q->sums[0] = q->sums[1] = 0;
    for (size_t k = 0; k < n; k++) {
        q->group[k] = (int32_t)kc_rng_below(rng, 2);
        q->t[k] = 4 * kc_rng_uniform(rng) - 2;
        q->lower[k] = -3 * kc_rng_uniform(rng) + (k % 5 == 0 ? 3.5 : 0);
        q->upper[k] = q->lower[k] + (k % 7 == 0 ? 0 : 4 * kc_rng_uniform(rng));
        q->start[k] = q->lower[k] + kc_rng_uniform(rng) * (q->upper[k] - q->lower[k]);
        q->sums[n_groups == 2 ? q->group[k] : 0] += q->start[k];
    }
    q->p.group = n_groups == 2 ? q->group : NULL;
    q->p.sums = n_groups > 0 ? q->sums : NULL;
    if (kc_rng_below(rng, 2) == 0) { /* sums of the start, or a start made to them */
        q->p.start = q->start;
        if (kc_rng_below(rng, 2) == 0)
            q->p.sums = NULL;
    }
}

static void check_random(kc_dtype dtype, double noise)
{
    store_case c = store_case_make(ctx, 70, 4, dtype, 0);
    posing *q = malloc(sizeof *q);
    kc_rng rng = kc_rng_seed(3);

    for (int round = 0; round < 90 && c.store != NULL; round++) {
        const size_t sizes[] = {70, 52, 20, 1, 0};
        const size_t n = sizes[round % 5];

        name_arrays(q, round % 2 == 0 ? 1e-3 : 1e-5);
        if (n > 0)
            draw_rows(q, &rng, 70, n);
        pose_random(&c, q, &rng, round % 3);
        CHECK(solve_on(c.store, q, NULL) == KC_OK);
        store_case_check(&c, &q->p, &q->r, noise);
    }
    free(q);
    store_case_free(&c);
}

static void solutions_hold_by_the_definition(void)
{
    check_random(KC_F64, 1e-12);
    check_random(KC_F32, 1e-6);
}

static void a_large_problem_of_boxes_alone_holds_too(void)
{
    store_case c = store_case_make(ctx, 900, 4, KC_F64, 0);
    posing *q = malloc(sizeof *q);
    kc_rng rng = kc_rng_seed(4);

    REQUIRE(c.store != NULL);
    name_arrays(q, 1e-4);
    pose_random(&c, q, &rng, 0);
    q->p.start = NULL;
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    store_case_check(&c, &q->p, &q->r, 1e-12);
    CHECK(strncmp(q->r.path, "coordinates ", 12) == 0);
    free(q);
    store_case_free(&c);
}

/* ---- Against fits -------------------------------------------------------------------------- */

/* Coefficients of a fit with one problem, one for each sample. */
static void spread_coef(const svm_fit *fit, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0;
    for (int64_t s = 0; s < fit->function.n_points; s++)
        out[fit->support[s]] = fit->coef[s];
}

static void check_fit(const store_case *c, posing *q, const kc_svm_settings *settings, double sign)
{
    const kc_svm_data data = svm_data(&c->data);
    svm_fit fit = svm_fit_make(ctx, NULL, settings, c->kernel, &data);
    double coef[MOST];

    REQUIRE(fit.status == KC_OK);
    CHECK(solve_on(c->store, q, NULL) == KC_OK);
    store_case_check(c, &q->p, &q->r, 1e-12);
    spread_coef(&fit, c->data.n, coef);
    for (size_t i = 0; i < c->data.n; i++)
        CHECK_NEAR(q->beta[i], sign * coef[i], 1e-5);
    CHECK_NEAR(q->r.multipliers[0], sign * fit.intercepts[0], 1e-5);
    CHECK_NEAR(q->r.dual, fit.total.dual, 1e-7 * (1 + fabs(fit.total.dual)));
    CHECK_NEAR(q->r.primal, fit.total.primal, 1e-7 * (1 + fabs(fit.total.primal)));
    svm_fit_free(ctx, &fit);
}

static void fits_are_problems_on_a_store(void)
{
    store_case c = store_case_make(ctx, 120, 3, KC_F64, 0);
    posing *q = malloc(sizeof *q);
    kc_svm_settings settings = svm_settings(KC_C_SVC);

    REQUIRE(c.store != NULL);
    settings.tol = 1e-9;
    settings.C = 2;
    settings.precision = KC_PRECISION_F64;
    name_arrays(q, 1e-9);
    pose_csvc(&c, q, 2);
    check_fit(&c, q, &settings, 1);

    settings.type = KC_EPS_SVR;
    settings.epsilon = 0.1;
    name_arrays(q, 1e-9);
    pose_svr(&c, q, 2, 0.1);
    check_fit(&c, q, &settings, 1);

    settings.type = KC_ONE_CLASS;
    settings.nu = 0.3;
    name_arrays(q, 1e-9);
    for (size_t k = 0; k < 120; k++) {
        q->lower[k] = 0;
        q->upper[k] = 1;
    }
    q->sums[0] = 0.3 * 120;
    q->p.n_groups = 1;
    q->p.sums = q->sums;
    q->p.t = NULL;
    check_fit(&c, q, &settings, 1);
    free(q);
    store_case_free(&c);
}

/* ---- Many problems, one store -------------------------------------------------------------- */

/* Every fifth sample is left out in turn. */
static void folds_are_rows_of_one_store(void)
{
    store_case c = store_case_make(ctx, 200, 30, KC_F64, 0);
    posing *q = malloc(sizeof *q);
    kc_store_info info = {.struct_size = sizeof info};

    REQUIRE(c.store != NULL);
    for (int64_t fold = 0; fold < 5; fold++) {
        name_arrays(q, 1e-6);
        q->p.rows = q->rows;
        for (int64_t i = 0; i < 200; i++)
            if (i % 5 != fold)
                q->rows[q->p.n++] = i;
        pose_csvc(&c, q, 3);
        CHECK(solve_on(c.store, q, NULL) == KC_OK);
        store_case_check(&c, &q->p, &q->r, 1e-12);
        CHECK(fold == 0 || q->r.values_computed == 0); /* all of K is there by then */
    }
    CHECK(kc_store_describe(c.store, &info, NULL) == KC_OK && info.is_complete);
    free(q);
    store_case_free(&c);
}

/* The cache has no room for all rows, so that they are kept one by one. */
static void a_path_of_c_finds_rows_that_were_kept(void)
{
    const size_t n = 2600;
    store_case c = {.ctx = ctx, .data = svm_case_make(5, n, 30, 2)};
    posing *q = malloc(sizeof *q);
    int64_t n_hit = 0, n_warm = 0, n_cold = 0;
    const ref_node node = {.op = OP_RBF, .gamma = 0.02};

    CHECK(ref_kernel_make(ctx, &node, 1, &c.kernel, NULL) == KC_OK);
    c.store = store_case_again(&c, KC_F32, (int64_t)(n * n * 3));
    REQUIRE(c.store != NULL);
    for (double C = 0.5; C < 10; C *= 2) {
        name_arrays(q, 1e-3);
        pose_csvc(&c, q, C);
        if (C > 0.5) {
            memcpy(q->start, q->beta, n * sizeof *q->start);
            q->p.start = q->start;
        }
        CHECK(solve_on(c.store, q, NULL) == KC_OK);
        CHECK(q->r.stop == KC_STOP_CONVERGED && q->r.violation < 1e-3);
        const double warm = q->r.dual, gap = q->r.gap;
        n_hit += C > 0.5 ? q->r.rows_hit : 0;
        n_warm += q->r.n_iter;
        q->p.start = NULL;
        CHECK(solve_on(c.store, q, NULL) == KC_OK);
        CHECK_NEAR(q->r.dual, warm, gap + q->r.gap);
        n_cold += q->r.n_iter;
    }
    CHECK(n_hit > 0);
    CHECK(n_warm < n_cold);
    free(q);
    store_case_free(&c);
}

/* ---- The same bits ------------------------------------------------------------------------- */

static bool are_same(const posing *a, const posing *b, size_t n)
{
    return memcmp(a->beta, b->beta, n * sizeof *a->beta) == 0 &&
           memcmp(a->gradient, b->gradient, n * sizeof *a->gradient) == 0 &&
           a->r.primal == b->r.primal && a->r.dual == b->r.dual && a->r.n_iter == b->r.n_iter &&
           strcmp(a->r.path, b->r.path) == 0 && a->r.multipliers[0] == b->r.multipliers[0];
}

/* On fresh stores, on any number of threads and with room for few rows, some, or all. */
static void check_bits(const store_case *c, const posing *q, kc_dtype dtype)
{
    const size_t n_all = c->data.n;
    const int64_t row = (int64_t)((n_all + 16) * (dtype == KC_F64 ? 8 : 4) + 128);
    const int64_t caches[] = {0, 3 * row, row * (int64_t)n_all / 3, 2 * row * (int64_t)n_all};
    posing *base = malloc(sizeof *base), *other = malloc(sizeof *other);

    for (int32_t k = 0; k < 4; k++) {
        const kc_run run = {.struct_size = sizeof run, .n_threads = 1 + k % 3};
        kc_store *store = store_case_again(c, dtype, caches[k]);
        posing *to = k == 0 ? base : other;

        REQUIRE(store != NULL);
        to->p = q->p;
        to->r = (kc_dual_result){
            .struct_size = sizeof to->r, .beta = to->beta, .gradient = to->gradient};
        for (int again = 0; again < 2; again++) { /* the second time, rows are there */
            CHECK(solve_on(store, to, &run) == KC_OK);
            if (to != base || again == 0)
                CHECK(to == base || are_same(base, to, size_of(c, to)));
        }
        kc_store_free(ctx, store);
    }
    free(base);
    free(other);
}

static void results_do_not_depend_on_threads_caches_or_what_was_kept(void)
{
    store_case c = {.ctx = ctx, .data = svm_case_make(5, 1300, 30, 2)};
    posing *q = malloc(sizeof *q);
    kc_rng rng = kc_rng_seed(9);
    const ref_node node = {.op = OP_RBF, .gamma = 0.02};
    const size_t sizes[] = {0, 1300, 900, 600, 150};

    CHECK(ref_kernel_make(ctx, &node, 1, &c.kernel, NULL) == KC_OK);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        name_arrays(q, 1e-3);
        if (sizes[s] > 0)
            draw_rows(q, &rng, 1300, sizes[s]);
        pose_csvc(&c, q, 20);
        check_bits(&c, q, s % 2 == 0 ? KC_F32 : KC_F64);
        q->p.n_groups = 0;
        check_bits(&c, q, KC_F32);
    }
    free(q);
    store_case_free(&c);
}

static void results_do_not_depend_on_the_order_of_rows(void)
{
    store_case c = store_case_make(ctx, 150, 4, KC_F64, 0);
    posing *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    kc_rng rng = kc_rng_seed(10);
    const size_t sizes[] = {150, 100, 40};

    for (size_t s = 0; s < 3; s++) {
        const size_t n = sizes[s];

        name_arrays(a, 1e-4);
        name_arrays(b, 1e-4);
        draw_rows(a, &rng, 150, n);
        b->p.rows = b->rows;
        b->p.n = a->p.n;
        for (size_t k = 0; k < n; k++)
            b->rows[k] = a->rows[n - 1 - k];
        pose_csvc(&c, a, 5);
        pose_csvc(&c, b, 5);
        CHECK(solve_on(c.store, a, NULL) == KC_OK && solve_on(c.store, b, NULL) == KC_OK);
        for (size_t k = 0; k < n; k++) {
            CHECK(b->beta[k] == a->beta[n - 1 - k]);
            CHECK(b->gradient[k] == a->gradient[n - 1 - k]);
        }
        CHECK(a->r.dual == b->r.dual && a->r.gap == b->r.gap);
    }
    free(a);
    free(b);
    store_case_free(&c);
}

/* ---- Ends --------------------------------------------------------------------------------- */

static void a_solution_is_a_start_that_is_kept(void)
{
    store_case c = store_case_make(ctx, 100, 4, KC_F64, 0);
    posing *q = malloc(sizeof *q);

    REQUIRE(c.store != NULL);
    name_arrays(q, 1e-6);
    pose_csvc(&c, q, 2);
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    memcpy(q->start, q->beta, 100 * sizeof *q->start);
    q->p.start = q->start;
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    CHECK(q->r.n_iter == 0 && memcmp(q->start, q->beta, 100 * sizeof *q->start) == 0);
    q->sums[0] = 0; /* the same, said by the caller */
    q->p.sums = q->sums;
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    CHECK(q->r.n_iter == 0 && memcmp(q->start, q->beta, 100 * sizeof *q->start) == 0);
    q->p.start = q->beta; /* the result may stand where the start did */
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    CHECK(memcmp(q->start, q->beta, 100 * sizeof *q->start) == 0);
    free(q);
    store_case_free(&c);
}

static void a_hard_margin_of_some_rows_is_certified(void)
{
    double x[40] = {0}, t[40], lower[40], upper[40], beta[40], gradient[40];
    int64_t rows[30];
    kc_points points = svm_view(x, 40, 1);
    kc_kernel *kernel = NULL;
    kc_store *store = NULL;
    const ref_node linear = {.op = OP_LINEAR};

    for (int k = 0; k < 40; k++)
        x[k] = (k % 2 == 0 ? 1 : -1) * (1 + 0.1 * k);
    for (int k = 0; k < 30; k++) {
        rows[k] = k;
        t[k] = k % 2 == 0 ? 1 : -1;
        lower[k] = t[k] > 0 ? 0 : -HUGE_VAL;
        upper[k] = t[k] > 0 ? HUGE_VAL : 0;
    }
    kc_dual_problem p = {.struct_size = sizeof p,
                         .rows = rows,
                         .n = 30,
                         .t = t,
                         .lower = lower,
                         .upper = upper,
                         .n_groups = 1,
                         .tol = 1e-6};
    kc_dual_result r = {.struct_size = sizeof r, .beta = beta, .gradient = gradient};
    CHECK(ref_kernel_make(ctx, &linear, 1, &kernel, NULL) == KC_OK);
    REQUIRE(kc_store_create(ctx, NULL, kernel, &points, NULL, &store, NULL) == KC_OK);
    kc_kernel_free(ctx, kernel); /* the store has its own */
    CHECK(kc_store_solve(ctx, NULL, store, &p, &r, NULL) == KC_OK);
    /* The nearest samples are 1 and -1.1: w = 2 / 2.1. */
    CHECK(r.stop == KC_STOP_CONVERGED);
    CHECK_NEAR(r.dual, 0.5 * (2 / 2.1) * (2 / 2.1), 1e-5);
    CHECK(isfinite(r.gap) && r.gap < 1e-4);
    kc_store_free(ctx, store);
}

static void steps_may_be_limited(void)
{
    store_case c = store_case_make(ctx, 100, 4, KC_F64, 0);
    posing *q = malloc(sizeof *q);

    REQUIRE(c.store != NULL);
    name_arrays(q, 1e-9);
    pose_csvc(&c, q, 10);
    q->p.max_iter = 5;
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    const problem_audit a = store_case_audit(&c, &q->p, &q->r);
    CHECK(q->r.stop == KC_STOP_MAX_ITER && q->r.n_iter == 5);
    CHECK(a.out_of_box <= 0 && a.off_sum < 1e-12 && a.off_grad < 1e-11);
    CHECK_NEAR(q->r.gap, a.primal - a.dual, 1e-9);
    free(q);
    store_case_free(&c);
}

/* A matrix that is given stands for samples and kernel. */
static void a_given_matrix_is_a_store(void)
{
    store_case c = store_case_make(ctx, 80, 4, KC_F64, 0);
    double *k = malloc(80 * 80 * sizeof *k);
    const kc_points view = svm_view(k, 80, 80);
    posing *q = malloc(sizeof *q);
    kc_store *given = NULL;
    double beta[80];

    for (size_t i = 0; i < 80 * 80; i++)
        k[i] = (double)c.gram[i];
    REQUIRE(kc_store_create(ctx, NULL, NULL, &view, NULL, &given, NULL) == KC_OK);
    memset(k, 0, 80 * 80 * sizeof *k); /* the store has a copy */
    name_arrays(q, 1e-8);
    pose_csvc(&c, q, 2);
    CHECK(solve_on(c.store, q, NULL) == KC_OK);
    memcpy(beta, q->beta, sizeof beta);
    CHECK(solve_on(given, q, NULL) == KC_OK);
    store_case_check(&c, &q->p, &q->r, 1e-12);
    for (size_t i = 0; i < 80; i++)
        CHECK_NEAR(beta[i], q->beta[i], 1e-5);
    q->p.rows = q->rows;
    q->p.n = 30;
    for (int64_t i = 0; i < 30; i++)
        q->rows[i] = 79 - i;
    pose_csvc(&c, q, 2);
    CHECK(solve_on(given, q, NULL) == KC_OK);
    store_case_check(&c, &q->p, &q->r, 1e-12);
    kc_store_free(ctx, given);
    free(k);
    free(q);
    store_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(solutions_hold_by_the_definition);
    RUN(a_large_problem_of_boxes_alone_holds_too);
    RUN(fits_are_problems_on_a_store);
    RUN(folds_are_rows_of_one_store);
    RUN(a_path_of_c_finds_rows_that_were_kept);
    RUN(results_do_not_depend_on_threads_caches_or_what_was_kept);
    RUN(results_do_not_depend_on_the_order_of_rows);
    RUN(a_solution_is_a_start_that_is_kept);
    RUN(a_hard_margin_of_some_rows_is_certified);
    RUN(steps_may_be_limited);
    RUN(a_given_matrix_is_a_store);
    kc_context_free(ctx);
    return kc_test_end();
}
