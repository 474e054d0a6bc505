/* Pair steps over all points: every solution is audited from the definition, then compared with a
 * slow reference. */
#include <stdlib.h>
#include <string.h>

#include "dual_case.h"
#include "kc_test.h"

static kc_context *ctx;

static kc_dual pose(const ref_problem *p, double tol)
{
    kc_dual dual = ref_dual(p, tol);

    dual.method = KC_METHOD_PAIRS;
    return dual;
}

static void compare_with_reference(ref_matrix matrix, kc_dtype dtype, int n_rounds)
{
    kc_rng rng = kc_rng_seed(100 + (uint64_t)matrix + 10 * (uint64_t)dtype);
    /* Rounding a matrix of low rank to float makes it indefinite, at the size of float's rounding.
     */
    double tol = dtype == KC_F64 ? 1e-7 : 1e-4;

    for (int round = 0; round < n_rounds; round++)
        for (int form = 0; form < REF_FORMS; form++) {
            size_t n = 2 + kc_rng_below(&rng, 40);
            double c = pow(10, 3 * kc_rng_uniform(&rng) - 1);
            ref_problem p = ref_random_problem(&rng, (ref_form)form, matrix, n, c, dtype == KC_F32);
            double *exact = malloc(2 * n * sizeof *exact);
            kc_dual dual = pose(&p, tol);
            if (round % 2 == 1)
                dual.start = p.start;
            result r = solve_given(ctx, &p, dual, dtype);
            CHECK(r.status == KC_OK);
            check_solution(&p, &r, tol);
            ref_solve(&p, 0.1 * tol, exact);
            double best = ref_objective(&p, exact);
            CHECK_NEAR(-r.solution.dual, best, tol * (1e-2 + ref_check(&p, &r.solution).scale));

            free(exact);
            drop(&r);
            ref_free(&p);
        }
}

static void rbf_problems_of_all_forms_reach_the_optimum(void)
{
    compare_with_reference(REF_RBF, KC_F64, 40);
    compare_with_reference(REF_RBF, KC_F32, 20);
}

static void matrices_of_low_rank_reach_the_optimum(void)
{
    compare_with_reference(REF_LINEAR, KC_F64, 8);
    compare_with_reference(REF_LINEAR, KC_F32, 6);
}

static void duplicated_points_reach_the_optimum(void)
{
    compare_with_reference(REF_DUPLICATES, KC_F64, 12);
    compare_with_reference(REF_DUPLICATES, KC_F32, 10);
}

/* No optimum to compare with: the end must be a point where no pair violates. */
static void indefinite_matrices_end_at_a_stationary_point(void)
{
    kc_rng rng = kc_rng_seed(7);

    for (int round = 0; round < 100; round++) {
        ref_form form = (ref_form)(round % REF_FORMS);
        ref_problem p =
            ref_random_problem(&rng, form, REF_INDEFINITE, 2 + kc_rng_below(&rng, 60), 100, false);
        result r = solve_given(ctx, &p, pose(&p, 1e-3), KC_F64);
        CHECK(r.status == KC_OK);
        check_solution(&p, &r, 1e-3);
        drop(&r);
        ref_free(&p);
    }
}

static void a_warm_start_at_the_solution_takes_no_step(void)
{
    kc_rng rng = kc_rng_seed(8);

    for (int form = 0; form < REF_FORMS; form++) {
        ref_problem p = ref_random_problem(&rng, (ref_form)form, REF_RBF, 50, 10, false);
        kc_dual dual = pose(&p, 1e-6);
        result first = solve_given(ctx, &p, dual, KC_F64);
        dual.start = first.solution.beta;
        dual.tol = 1e-5;
        result again = solve_given(ctx, &p, dual, KC_F64);
        CHECK(first.solution.n_iter > 0);
        CHECK(again.solution.n_iter == 0);
        CHECK(memcmp(first.solution.beta, again.solution.beta,
                     (size_t)p.n_layers * p.n * sizeof(double)) == 0);
        drop(&first);
        drop(&again);
        ref_free(&p);
    }
}

/* Regression without a tube, where the primal is a sum of all errors times C: it must be that of
 * the variables as they were handed out, to the rounding of a gradient computed from them. */
static result solve_without_tube(const double *k, const double *t, double c, const double *start)
{
    double lo[] = {-c, -c, -c, -c}, hi[] = {c, c, c, c};
    const size_t n = 4;
    ref_problem p = {.form = REF_SVR, .n = n, .n_layers = 1, .lo = lo, .hi = hi};
    p.k = (double *)k;
    p.t = (double *)t;
    kc_dual dual = pose(&p, 1e-3);
    dual.start = start;
    result r = solve_given(ctx, &p, dual, KC_F64);
    ref_audit audit = ref_check(&p, &r.solution);
    double rounding = 0;

    for (size_t i = 0; i < n; i++) {
        double size = fabs(t[i]);
        for (size_t j = 0; j < n; j++)
            size += fabs(k[i * n + j] * r.solution.beta[j]);
        rounding = fmax(rounding, 4e-16 * (double)n * size);
    }
    CHECK(r.status == KC_OK);
    CHECK(r.solution.stop == KC_STOP_CONVERGED);
    CHECK(audit.off_sum <= 4e-16);
    CHECK(audit.off_grad <= rounding);
    CHECK_NEAR(r.solution.violation, audit.violation, 2 * rounding);
    CHECK_NEAR(r.solution.primal, audit.primal, 2 * (double)n * c * rounding);
    CHECK_NEAR(r.solution.gap, audit.primal - audit.dual, 2 * (double)n * c * rounding);
    return r;
}

static void sums_restored_after_many_steps_are_in_the_certificate(void)
{
    const double x[] = {-0.123, 0.735, 2.084, 0}, t[] = {1.895, 0.394, -2.051, 1.7};
    double k[16];

    for (size_t i = 0; i < 16; i++)
        k[i] = x[i / 4] * x[i % 4];
    result r = solve_without_tube(k, t, 1000, NULL);
    CHECK(r.solution.n_iter > 10000);
    drop(&r);
}

/* Their sum is zero: that of the group says nothing of them. */
static void residues_put_on_zero_are_in_the_certificate(void)
{
    const double k[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};
    const double t[] = {9e-8, -9e-8, 1, -1};
    result r = solve_without_tube(k, t, 1e8, t);

    CHECK(r.solution.n_iter == 0);
    CHECK(r.solution.beta[0] == 0 && r.solution.beta[1] == 0);
    CHECK_NEAR(r.solution.gap, 18, 1e-6);
    drop(&r);
}

/* What is a rounding of the others moves the gradient at a sample that is far from them. */
static void a_sum_restored_at_an_outlier_is_in_the_certificate(void)
{
    const double k[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 3e7};
    const double t[] = {100, -101 + 0x1p-45, 1, 0};
    result r = solve_without_tube(k, t, 1000, t);

    CHECK(r.solution.n_iter == 0);
    CHECK(r.solution.beta[3] == -0x1p-45);
    CHECK(r.solution.gap > 1e-4);
    drop(&r);
}

static void max_iter_ends_the_fit_with_a_feasible_point(void)
{
    kc_rng rng = kc_rng_seed(9);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 60, 100, false);
    kc_dual dual = pose(&p, 1e-6);

    dual.max_iter = 5;
    check_max_iter(ctx, &p, dual);
    ref_free(&p);
}

static void one_point_or_nothing_free_to_move_is_solved_at_once(void)
{
    double k = 2, t = 0, lo = 0, hi = 1;
    ref_problem p = {.form = REF_ONECLASS, .n = 1, .n_layers = 1, .sum = {0.5}};
    float k32 = 2;
    p.k = &k;
    p.k32 = &k32;
    p.t = &t;
    p.lo = &lo;
    p.hi = &hi;
    result r = solve_given(ctx, &p, pose(&p, 1e-3), KC_F64);

    CHECK(r.status == KC_OK);
    CHECK(r.solution.stop == KC_STOP_CONVERGED);
    CHECK(r.solution.beta[0] == 0.5);
    CHECK(r.solution.n_iter == 0);
    CHECK_NEAR(r.solution.intercept[0], -1, 1e-15);
    drop(&r);
}

static void a_tolerance_below_rounding_ends_as_stalled_or_converged(void)
{
    kc_rng rng = kc_rng_seed(10);

    for (int round = 0; round < 20; round++) {
        ref_problem p =
            ref_random_problem(&rng, (ref_form)(round % REF_FORMS), REF_RBF, 40, 1e4, false);
        result r = solve_given(ctx, &p, pose(&p, 1e-300), KC_F64);
        ref_audit audit = ref_check(&p, &r.solution);
        CHECK(r.solution.stop == KC_STOP_STALLED || r.solution.stop == KC_STOP_CONVERGED);
        CHECK(audit.out_of_box == 0);
        CHECK(audit.violation < 1e-7 * (1 + audit.beta_weight));
        drop(&r);
        ref_free(&p);
    }
}

/* Four points on a line, with labels, and boxes without end. */
static result solve_on_line(const double x[4], double y[4], double tol)
{
    double k[16], lo[4], hi[4];
    ref_problem p = {.form = REF_CSVC, .n = 4, .n_layers = 1, .k = k, .t = y, .lo = lo, .hi = hi};

    for (int i = 0; i < 4; i++) {
        lo[i] = y[i] > 0 ? 0 : -INFINITY;
        hi[i] = y[i] > 0 ? INFINITY : 0;
        for (int j = 0; j < 4; j++)
            k[i * 4 + j] = x[i] * x[j];
    }
    return solve_given(ctx, &p, pose(&p, tol), KC_F64);
}

/* 0 and 2, labels -1 and +1, are closest: w = 1, b = -1. */
static void a_hard_margin_is_found_where_one_exists(void)
{
    result r = solve_on_line((double[]){0, 2, -1, 5}, (double[]){-1, 1, -1, 1}, 1e-9);

    CHECK(r.solution.stop == KC_STOP_CONVERGED);
    CHECK_NEAR(r.solution.intercept[0], -1, 1e-9);
    CHECK_NEAR(r.solution.primal, 0.5, 1e-9);
    CHECK_NEAR(r.solution.dual, 0.5, 1e-9);
    CHECK_NEAR(r.solution.gap, 0, 1e-8);
    drop(&r);
}

static void hulls_that_meet_are_said_to_have_no_hard_margin(void)
{
    result r = solve_on_line((double[]){0, 2, 1, 5}, (double[]){-1, 1, 1, -1}, 1e-6);

    CHECK(r.status == KC_OK);
    CHECK(r.solution.stop == KC_STOP_UNBOUNDED);
    CHECK(r.solution.n_iter < 1000000);
    drop(&r);
}

/* Four points on a line, to be within epsilon of their targets. */
static result solve_tube(double y[4], double epsilon)
{
    const double x[4] = {0, 1, 2, 3};
    double k[16], lo[4], hi[4];
    ref_problem p = {.form = REF_SVR,
                     .n = 4,
                     .n_layers = 1,
                     .epsilon = epsilon,
                     .k = k,
                     .t = y,
                     .lo = lo,
                     .hi = hi};

    for (int i = 0; i < 4; i++) {
        lo[i] = -INFINITY;
        hi[i] = INFINITY;
        for (int j = 0; j < 4; j++)
            k[i * 4 + j] = x[i] * x[j];
    }
    return solve_given(ctx, &p, pose(&p, 1e-9), KC_F64);
}

/* The flattest line within 0.1 of 0, 1, 2, 3 rises by 2.8. */
static void a_hard_tube_is_found_where_one_exists(void)
{
    result r = solve_tube((double[]){0, 1, 2, 3}, 0.1);
    const double slope = 2.8 / 3;

    CHECK(r.solution.stop == KC_STOP_CONVERGED);
    CHECK_NEAR(r.solution.intercept[0], 0.1, 1e-8);
    CHECK_NEAR(r.solution.primal, slope * slope / 2, 1e-8);
    CHECK_NEAR(r.solution.dual, r.solution.primal, 1e-8);
    CHECK(r.solution.gap >= 0 && r.solution.gap < 1e-8);
    drop(&r);
}

static void targets_that_no_line_is_near_are_said_to_have_no_hard_tube(void)
{
    for (int i = 0; i < 2; i++) {
        result r = solve_tube((double[]){0, 1, 0, 1}, i == 0 ? 0 : 0.1);

        CHECK(r.status == KC_OK);
        CHECK(r.solution.stop == KC_STOP_UNBOUNDED);
        CHECK(r.solution.n_iter < 1000000);
        drop(&r);
    }
}

/* Stops at the first step it hears of: before that, the call may be asked too. */
static int stop_at_once(void *data, const kc_progress *progress)
{
    int *n_asked = data;

    if (progress->n_iter == 0)
        return 0;
    ++*n_asked;
    CHECK(isfinite(progress->objective) && isfinite(progress->violation));
    return 1;
}

static void the_caller_can_stop_and_keeps_a_feasible_point(void)
{
    kc_rng rng = kc_rng_seed(11);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 800, 1e6, false);
    kc_dual dual = pose(&p, 1e-12);
    int n_asked = 0;
    kc_run run = {
        .struct_size = sizeof run, .on_progress = stop_at_once, .progress_data = &n_asked};
    result r = solve_given_in(ctx, &run, &p, dual, KC_F64);

    CHECK(r.solution.stop == KC_STOP_CALLER);
    CHECK(n_asked == 1);
    check_feasible(&p, &r);
    drop(&r);
    ref_free(&p);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(rbf_problems_of_all_forms_reach_the_optimum);
    RUN(matrices_of_low_rank_reach_the_optimum);
    RUN(duplicated_points_reach_the_optimum);
    RUN(indefinite_matrices_end_at_a_stationary_point);
    RUN(a_warm_start_at_the_solution_takes_no_step);
    RUN(sums_restored_after_many_steps_are_in_the_certificate);
    RUN(residues_put_on_zero_are_in_the_certificate);
    RUN(a_sum_restored_at_an_outlier_is_in_the_certificate);
    RUN(max_iter_ends_the_fit_with_a_feasible_point);
    RUN(one_point_or_nothing_free_to_move_is_solved_at_once);
    RUN(a_tolerance_below_rounding_ends_as_stalled_or_converged);
    RUN(a_hard_margin_is_found_where_one_exists);
    RUN(hulls_that_meet_are_said_to_have_no_hard_margin);
    RUN(a_hard_tube_is_found_where_one_exists);
    RUN(targets_that_no_line_is_near_are_said_to_have_no_hard_tube);
    RUN(the_caller_can_stop_and_keeps_a_feasible_point);
    kc_context_free(ctx);
    return kc_test_end();
}
