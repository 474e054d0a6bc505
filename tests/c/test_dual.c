/* The problem itself: feasible starts, and a certificate that holds at any feasible point. */
#include "solver/kc_dual.h"

#include <stdlib.h>
#include <string.h>

#include "kc_test.h"
#include "ref_qp.h"

static void check_feasible(const kc_dual *dual, const double *beta)
{
    for (int32_t g = 0; g < dual->n_layers; g++) {
        double total = 0;
        double size = 0;
        for (size_t p = 0; p < dual->n_points; p++) {
            size_t v = (size_t)g * dual->n_points + p;
            CHECK(beta[v] >= dual->lo[v] && beta[v] <= dual->hi[v]);
            total += beta[v];
            size += fabs(beta[v]);
        }
        CHECK_NEAR(total, dual->sum[g], 1e-13 * (1 + size));
    }
}

static void any_start_is_repaired_to_a_feasible_one(void)
{
    kc_rng rng = kc_rng_seed(1);

    for (int round = 0; round < 200; round++) {
        ref_problem p = ref_random_problem(&rng, (ref_form)(round % REF_FORMS), REF_RBF,
                                           2 + kc_rng_below(&rng, 50), 5, false);
        kc_dual dual = ref_dual(&p, 1e-3);
        CHECK(kc_dual_repair(&dual, p.start, NULL) == KC_OK);
        check_feasible(&dual, p.start);
        ref_free(&p);
    }
}

static void a_feasible_start_is_left_as_it_is(void)
{
    double lo[4] = {0, 0, -1, -1};
    double hi[4] = {1, 1, 0, 0};
    double t[4] = {1, 1, -1, -1};
    double beta[4] = {0.1, 0.3, -0.15, -0.25};
    double copy[4];
    kc_dual dual = {.n_points = 4, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};

    memcpy(copy, beta, sizeof copy);
    CHECK(kc_dual_repair(&dual, beta, NULL) == KC_OK);
    CHECK(memcmp(beta, copy, sizeof copy) == 0);
}

static void from_zeros_the_first_variables_are_filled(void)
{
    double lo[5] = {0};
    double hi[5] = {1, 1, 1, 1, 1};
    double t[5] = {0};
    double beta[5] = {0};
    kc_dual dual = {.n_points = 5, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};

    dual.sum[0] = 2.25;
    CHECK(kc_dual_repair(&dual, beta, NULL) == KC_OK);
    CHECK(beta[0] == 1 && beta[1] == 1 && beta[2] == 0.25 && beta[3] == 0 && beta[4] == 0);
}

static void residues_of_rounding_are_put_on_their_bounds(void)
{
    double lo[7] = {0, 0, 0, -0.3, -0.3, -HUGE_VAL, -2};
    double hi[7] = {0.3, 0.3, 0.3, 0, 0, 0, 2};
    double t[7] = {0};
    double beta[7] = {0.3 - 1e-16, 3e-17, 0.1, -1e-16, -0.3 + 6e-17, -5e-17, 1e-15};
    double before = 0, after = 0;
    kc_dual dual = {.n_points = 7, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};

    for (int p = 0; p < 7; p++)
        before += beta[p];
    dual.sum[0] = before;
    kc_dual_settle(&dual, dual.tol, 1, beta);
    CHECK(beta[0] == hi[0] && beta[1] == 0 && beta[3] == 0 && beta[4] == lo[4] && beta[5] == 0);
    CHECK_NEAR(beta[2], 0.1, 1e-15);
    for (int p = 0; p < 7; p++)
        after += beta[p];
    CHECK_NEAR(before, after, 1e-16);
    /* What is small, but not beside its bounds, stays. */
    double small[7] = {0.3 - 1e-12, 1e-12, 0, -1e-12, 0, -1e-12, 1e-12}, copy[7];
    memcpy(copy, small, sizeof copy);
    dual.sum[0] = small[0] + small[1] + small[3] + small[5] + small[6];
    kc_dual_settle(&dual, dual.tol, 1, small);
    CHECK(memcmp(copy, small, sizeof copy) == 0);
    /* So does what large kernel values make count. */
    double tiny[7] = {1e-16, 0, 0, 0, 0, -1e-16, 0};
    memcpy(copy, tiny, sizeof copy);
    dual.sum[0] = 0;
    kc_dual_settle(&dual, dual.tol, 1e15, tiny);
    CHECK(memcmp(copy, tiny, sizeof copy) == 0);
}

/* Many steps with large coefficients lose parts of a sum to rounding. */
static void sums_are_restored_where_there_is_most_room(void)
{
    double lo[4] = {-4e6, -4e6, -4e6, 0}, hi[4] = {4e6, 4e6, 4e6, 1}, t[4] = {0};
    double beta[4] = {4e6, -3e6, -1e6 + 5e-4, 0.5};
    kc_dual dual = {.n_points = 4, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};

    dual.sum[0] = 0.5;
    kc_dual_settle(&dual, dual.tol, 1, beta);
    CHECK(beta[0] == 4e6 && beta[1] == -3e6 && beta[3] == 0.5);
    CHECK(beta[2] == -1e6);
    kc_dual_settle(&dual, dual.tol, 1, beta);
    CHECK(beta[0] == 4e6 && beta[1] == -3e6 && beta[2] == -1e6 && beta[3] == 0.5);
    /* No variable has room for all of it. */
    double low[3] = {0, 0, 0}, high[3] = {1, 1, 1}, few[3] = {0.75, 0.5, 0.75};
    kc_dual small = {.n_points = 3, .n_layers = 1, .t = t, .lo = low, .hi = high, .tol = 1e-3};
    small.sum[0] = 2.875;
    kc_dual_settle(&small, small.tol, 1, few);
    CHECK(few[0] + few[1] + few[2] == 2.875 && few[0] <= 1 && few[1] <= 1 && few[2] <= 1);
}

static void sums_are_spread_evenly_over_the_boxes(void)
{
    double lo[6] = {0, 0, 0, 0, 0, -2}, hi[6] = {1, 3, 0, 0, 0, 0}, t[3] = {0}, beta[6];
    kc_dual dual = {.n_points = 3, .n_layers = 2, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};

    dual.sum[0] = 1;
    dual.sum[1] = -1;
    kc_dual_start_evenly(&dual, beta);
    CHECK(beta[0] == 0.25 && beta[1] == 0.75 && beta[2] == 0);
    CHECK(beta[3] == 0 && beta[4] == 0 && beta[5] == -1);
    dual.sum[0] = dual.sum[1] = 0;
    lo[1] = -HUGE_VAL;
    hi[0] = HUGE_VAL;
    kc_dual_start_evenly(&dual, beta);
    for (int v = 0; v < 6; v++)
        CHECK(beta[v] == 0);
}

/* A variable at the kink would start to violate with the least residue of others. */
static void variables_at_a_kink_take_no_residue(void)
{
    double lo[3] = {-1, -1, -4}, hi[3] = {1, 1, 4}, t[3] = {0};
    double beta[3] = {1 - 2e-16, -1, 0};
    kc_dual dual = {
        .n_points = 3, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .epsilon = 0.1, .tol = 1e-3};

    kc_dual_settle(&dual, dual.tol, 1, beta);
    CHECK(beta[0] == 1 && beta[1] == -1 && beta[2] == 0);
}

static void a_sum_out_of_reach_is_refused_with_its_numbers(void)
{
    double lo[2] = {0, 0};
    double hi[2] = {1, 1};
    double t[2] = {0};
    double beta[2] = {0};
    kc_error err = {0};
    kc_dual dual = {.n_points = 2, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};

    dual.sum[0] = 2.5;
    CHECK(kc_dual_repair(&dual, beta, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "2.5") != NULL && strstr(err.text, "0.5") != NULL);
}

/* Weak duality: at any feasible point the gap is what primal and dual differ by, and not negative;
 * the primal is that of the textbook, whatever the point. */
static void the_certificate_holds_at_any_feasible_point(void)
{
    kc_rng rng = kc_rng_seed(2);

    for (int round = 0; round < 300; round++) {
        size_t n = 2 + kc_rng_below(&rng, 40);
        ref_problem p =
            ref_random_problem(&rng, (ref_form)(round % REF_FORMS), REF_RBF, n, 3, false);
        kc_dual dual = ref_dual(&p, 1e-3);
        kc_solution s = {.beta = p.start, .grad = malloc(n * sizeof(double))};
        CHECK(kc_dual_repair(&dual, s.beta, NULL) == KC_OK);
        for (size_t i = 0; i < n; i++) {
            s.grad[i] = p.t[i];
            for (size_t j = 0; j < n; j++)
                s.grad[i] -=
                    p.k[i * n + j] * (p.n_layers == 2 ? s.beta[j] + s.beta[n + j] : s.beta[j]);
        }
        kc_dual_certify(&dual, &s);
        ref_audit audit = ref_check(&p, &s);
        double tol = 1e-11 * (1 + audit.scale);
        CHECK_NEAR(s.violation, audit.violation, tol);
        CHECK_NEAR(s.primal, audit.primal, tol);
        CHECK_NEAR(s.dual, audit.dual, tol);
        CHECK_NEAR(s.gap, audit.primal - audit.dual, tol);
        CHECK(s.gap >= 0);
        CHECK_NEAR(-kc_dual_objective(&dual, s.beta, s.grad), audit.dual, tol);
        /* ... and whatever the intercept. */
        s.intercept[0] += 0.25;
        s.intercept[1] += 0.25;
        kc_dual_certify_at(&dual, &s);
        audit = ref_check(&p, &s);
        CHECK_NEAR(s.primal, audit.primal, tol);
        CHECK_NEAR(s.gap, audit.primal - audit.dual, tol);
        free(s.grad);
        ref_free(&p);
    }
}

static void the_intercept_is_the_mean_of_free_variables_or_the_middle(void)
{
    double t[3] = {1, 1, -1};
    double lo[3] = {0, 0, -1};
    double hi[3] = {1, 1, 0};
    double beta[3] = {0.5, 0.5, -1};
    double grad[3] = {0.25, 0.75, 9};
    kc_dual dual = {.n_points = 3, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};
    kc_solution s = {.beta = beta, .grad = grad};

    kc_dual_certify(&dual, &s);
    CHECK(s.intercept[0] == 0.5);
    beta[0] = 1; /* nothing free: points 1 and 2 can rise, 0 can fall */
    beta[1] = 0;
    kc_dual_certify(&dual, &s);
    CHECK(s.intercept[0] == 0.5 * (9 + 0.25));
    CHECK(s.violation == 9 - 0.25);
}

/* Values so huge that their sums are not numbers violate nothing, since nothing compares. */
static void a_gradient_of_no_numbers_is_no_solution(void)
{
    double t[2] = {1, -1};
    double lo[2] = {0, -1};
    double hi[2] = {1, 0};
    double beta[2] = {1, -1};
    double grad[2] = {NAN, NAN};
    kc_dual dual = {.n_points = 2, .n_layers = 1, .t = t, .lo = lo, .hi = hi, .tol = 1e-3};
    kc_solution s = {.beta = beta, .grad = grad, .stop = KC_STOP_CONVERGED};

    kc_dual_certify(&dual, &s);
    CHECK(s.stop == KC_STOP_STALLED && isinf(s.violation) && isinf(s.gap));
}

static void every_stop_has_a_name(void)
{
    for (int a = KC_STOP_CONVERGED; a <= KC_STOP_UNBOUNDED; a++) {
        CHECK(strcmp(kc_stop_name((kc_stop)a), "unknown") != 0);
        for (int b = KC_STOP_CONVERGED; b < a; b++)
            CHECK(strcmp(kc_stop_name((kc_stop)a), kc_stop_name((kc_stop)b)) != 0);
    }
}

/* Coordinate steps on 1/2 b'K b - t'b + epsilon |b|_1 in boxes; what is certified is compared with
 * the definition at the minimum, and at the start, where the gap is the distance. */
static void without_groups_the_certificate_is_that_of_boxes_alone(void)
{
    enum { N = 12 };
    kc_rng rng = kc_rng_seed(12);
    ref_problem p = ref_random_problem(&rng, REF_SVR, REF_RBF, N, 2, false);
    kc_dual dual = ref_dual(&p, 1e-10);
    double beta[N], grad[N], before[N];
    kc_solution s = {.beta = beta, .grad = grad};

    dual.is_box_only = true;
    memcpy(beta, p.start, sizeof beta);
    REQUIRE(kc_dual_repair(&dual, beta, NULL) == KC_OK);
    memcpy(before, beta, sizeof before);
    for (int k = 0; k < N; k++)
        CHECK(beta[k] == fmin(fmax(p.start[k], p.lo[k]), p.hi[k]));
    for (int pass = 0; pass < 2000; pass++)
        for (int k = 0; k < N; k++) {
            double slope = p.t[k];
            for (int j = 0; j < N; j++)
                slope -= j == k ? 0 : p.k[k * N + j] * beta[j];
            const double shrunk = fmax(fabs(slope) - p.epsilon, 0) * (slope > 0 ? 1 : -1);
            beta[k] = fmin(fmax(shrunk / p.k[k * N + k], p.lo[k]), p.hi[k]);
        }
    for (int turn = 0; turn < 2; turn++) {
        for (int k = 0; k < N; k++) {
            grad[k] = p.t[k];
            for (int j = 0; j < N; j++)
                grad[k] -= p.k[k * N + j] * beta[j];
        }
        kc_dual_certify(&dual, &s);
        CHECK(s.intercept[0] == 0);
        CHECK_NEAR(s.gap, s.primal - s.dual, 1e-10 * (1 + fabs(s.dual)));
        if (turn == 0)
            CHECK(s.gap < 1e-9 && s.violation < 1e-9);
        else
            CHECK(s.gap > 1e-3 && s.violation > 1e-3);
        memcpy(beta, before, sizeof beta);
    }
    ref_free(&p);
}

int main(void)
{
    RUN(any_start_is_repaired_to_a_feasible_one);
    RUN(a_feasible_start_is_left_as_it_is);
    RUN(from_zeros_the_first_variables_are_filled);
    RUN(residues_of_rounding_are_put_on_their_bounds);
    RUN(sums_are_restored_where_there_is_most_room);
    RUN(sums_are_spread_evenly_over_the_boxes);
    RUN(variables_at_a_kink_take_no_residue);
    RUN(a_sum_out_of_reach_is_refused_with_its_numbers);
    RUN(the_certificate_holds_at_any_feasible_point);
    RUN(the_intercept_is_the_mean_of_free_variables_or_the_middle);
    RUN(a_gradient_of_no_numbers_is_no_solution);
    RUN(without_groups_the_certificate_is_that_of_boxes_alone);
    RUN(every_stop_has_a_name);
    return kc_test_end();
}
