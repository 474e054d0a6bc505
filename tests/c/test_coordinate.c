/* Steps on one variable at a time: solutions of problems of boxes alone hold by the definition. */
#include "solver/kc_coordinate.h"

#include <stdlib.h>
#include <string.h>

#include "dual_case.h"
#include "kc_test.h"

/* From the matrix, in long double, with the gradient of no one else. */
typedef struct audit {
    double violation, primal, dual, off_grad, out_of_box, size;
} audit;

static long double best_in_box(const ref_problem *p, size_t i, long double v)
{
    const long double low = (long double)p->lo[i] * v - (long double)p->epsilon * fabsl(p->lo[i]);
    const long double high = (long double)p->hi[i] * v - (long double)p->epsilon * fabsl(p->hi[i]);
    const long double best = fmaxl(low, high);

    return p->lo[i] < 0 && p->hi[i] > 0 ? fmaxl(best, 0) : best;
}

static audit check_boxes(const ref_problem *p, const kc_solution *s)
{
    audit a = {.violation = -HUGE_VAL};
    long double norm = 0, linear = 0, slack = 0;

    for (size_t i = 0; i < p->n; i++) {
        const double b = s->beta[i];
        long double v = p->t[i];

        for (size_t j = 0; j < p->n; j++)
            v -= (long double)p->k[i * p->n + j] * s->beta[j];
        a.off_grad = fmax(a.off_grad, fabs((double)v - s->grad[i]));
        a.out_of_box = fmax(a.out_of_box, fmax(p->lo[i] - b, b - p->hi[i]));
        if (b < p->hi[i])
            a.violation = fmax(a.violation, (double)v + (b >= 0 ? -p->epsilon : p->epsilon));
        if (b > p->lo[i])
            a.violation = fmax(a.violation, -((double)v + (b > 0 ? -p->epsilon : p->epsilon)));
        norm += (long double)b * ((long double)p->t[i] - v);
        linear += (long double)b * p->t[i] - (long double)p->epsilon * fabs(b);
        slack += best_in_box(p, i, v);
        a.size += fabs(b);
    }
    a.primal = (double)(norm / 2 + slack);
    a.dual = (double)(linear - norm / 2);
    return a;
}

static void check_converged(const ref_problem *p, const result *r, double tol)
{
    const kc_solution *s = &r->solution;
    const audit a = check_boxes(p, s);
    const double noise = 1e-11 * (1 + a.size), wide = noise * (1 + a.size + fabs(a.primal));

    CHECK(r->status == KC_OK && s->stop == KC_STOP_CONVERGED && s->is_certified);
    CHECK(a.out_of_box == 0 && a.off_grad < noise);
    CHECK(a.violation < tol + noise);
    CHECK(s->violation < tol && s->gap >= 0);
    CHECK_NEAR(s->primal, a.primal, wide);
    CHECK_NEAR(s->dual, a.dual, wide);
    CHECK_NEAR(s->gap, a.primal - a.dual, wide);
    CHECK(s->intercept[0] == 0 && s->intercept[1] == 0);
}

static kc_dual box_dual(const ref_problem *p, double tol)
{
    kc_dual dual = ref_dual(p, tol);

    dual.is_box_only = true;
    return dual;
}

static void random_problems_of_every_shape_are_solved(void)
{
    static const ref_form forms[] = {REF_CSVC, REF_SVR, REF_ONECLASS};
    kc_context *ctx = NULL;
    kc_rng rng = kc_rng_seed(71);

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    for (int round = 0; round < 120; round++) {
        const bool is_f32 = round % 2 == 1;
        ref_problem p = ref_random_problem(&rng, forms[round % 3], (ref_matrix)(round % 3),
                                           1 + kc_rng_below(&rng, 80), 2, is_f32);
        const double tol = round % 5 == 0 ? 1e-6 : 1e-3;
        result r = solve_given(ctx, &p, box_dual(&p, tol), is_f32 ? KC_F32 : KC_F64);

        check_converged(&p, &r, tol);
        CHECK(strncmp(r.solution.path, "coordinates ", 12) == 0);
        drop(&r);
        ref_free(&p);
    }
    kc_context_free(ctx);
}

/* More samples than a round has members. */
static void rounds_of_few_come_to_the_same_end(void)
{
    kc_context *ctx = NULL;
    kc_rng rng = kc_rng_seed(72);

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    for (size_t members = 1; members <= 64; members *= 8) {
        kc_tuning tuning = kc_tuning_default;
        ref_problem p = ref_random_problem(&rng, REF_SVR, REF_RBF, 90, 3, false);
        kc_dual dual = box_dual(&p, 1e-5);

        tuning.coordinate.members_max = members;
        dual.tuning = &tuning;
        result r = solve_given(ctx, &p, dual, KC_F64);
        check_converged(&p, &r, 1e-5);
        CHECK(r.solution.n_rounds > 1);
        drop(&r);
        ref_free(&p);
    }
    kc_context_free(ctx);
}

static void an_end_of_steps_leaves_a_certified_solution(void)
{
    kc_context *ctx = NULL;
    kc_rng rng = kc_rng_seed(73);

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 60, 3, false);
    kc_dual dual = box_dual(&p, 1e-8);
    dual.max_iter = 7;
    result r = solve_given(ctx, &p, dual, KC_F64);
    const audit a = check_boxes(&p, &r.solution);
    CHECK(r.status == KC_OK && r.solution.stop == KC_STOP_MAX_ITER && r.solution.n_iter == 7);
    CHECK_NEAR(r.solution.gap, a.primal - a.dual, 1e-9);
    CHECK_NEAR(r.solution.violation, a.violation, 1e-12);
    drop(&r);
    ref_free(&p);
    kc_context_free(ctx);
}

/* 1/2 K b^2 - b with K = 0 and nothing to hold b. */
static void what_falls_for_ever_is_unbounded(void)
{
    double k[4] = {0, 0, 0, 1}, t[2] = {1, 1}, lo[2] = {0, 0}, hi[2] = {HUGE_VAL, HUGE_VAL};
    ref_problem p = {.n = 2, .n_layers = 1, .k = k, .t = t, .lo = lo, .hi = hi};
    kc_context *ctx = NULL;

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    result r = solve_given(ctx, &p, box_dual(&p, 1e-3), KC_F64);
    CHECK(r.status == KC_OK && r.solution.stop == KC_STOP_UNBOUNDED);
    CHECK(isfinite(r.solution.beta[0]) && isfinite(r.solution.beta[1]));
    drop(&r);
    kc_context_free(ctx);
}

/* Negative curvature leads to a bound, and every end is one. */
static void indefinite_matrices_end_at_a_stationary_point(void)
{
    kc_context *ctx = NULL;
    kc_rng rng = kc_rng_seed(74);

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    for (int round = 0; round < 20; round++) {
        ref_problem p = ref_random_problem(&rng, REF_SVR, REF_INDEFINITE, 30, 1, false);
        result r = solve_given(ctx, &p, box_dual(&p, 1e-4), KC_F64);
        const audit a = check_boxes(&p, &r.solution);

        CHECK(r.status == KC_OK && r.solution.stop == KC_STOP_CONVERGED);
        CHECK(a.out_of_box == 0 && a.violation < 1e-4 + 1e-11 * (1 + a.size));
        drop(&r);
        ref_free(&p);
    }
    kc_context_free(ctx);
}

int main(void)
{
    RUN(random_problems_of_every_shape_are_solved);
    RUN(rounds_of_few_come_to_the_same_end);
    RUN(an_end_of_steps_leaves_a_certified_solution);
    RUN(what_falls_for_ever_is_unbounded);
    RUN(indefinite_matrices_end_at_a_stationary_point);
    return kc_test_end();
}
