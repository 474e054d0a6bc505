/* What is refused of a problem on a store, and in what words; nothing is written then. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kc_test.h"
#include "store_case.h"

static kc_context *ctx;

static bool says(kc_status found, kc_status wanted, const kc_error *err, const char *words)
{
    const bool is_right =
        found == wanted && err->status == wanted && strstr(err->text, words) != NULL;

    if (!is_right)
        printf("    status %d, \"%s\", wanted %d, \"%s\"\n", (int)found, err->text, (int)wanted,
               words);
    return is_right;
}

/* A problem that is in order, of 4 samples of a store of 10. */
typedef struct small_problem {
    int64_t rows[4];
    double t[4], lower[4], upper[4], start[4], sums[2], beta[4], gradient[4];
    int32_t group[4];
    kc_dual_problem p;
    kc_dual_result r;
    kc_error err;
} small_problem;

static void set_up(small_problem *q)
{
    *q = (small_problem){.rows = {3, 0, 9, 5},
                         .t = {1, -1, 1, -1},
                         .lower = {0, -1, 0, -1},
                         .upper = {1, 0, 1, 0},
                         .start = {0.5, -0.5, 0, 0},
                         .group = {0, 1, 0, 1},
                         .beta = {7, 7, 7, 7},
                         .gradient = {7, 7, 7, 7}};
    q->p = (kc_dual_problem){.struct_size = sizeof q->p,
                             .rows = q->rows,
                             .n = 4,
                             .t = q->t,
                             .lower = q->lower,
                             .upper = q->upper,
                             .n_groups = 1,
                             .tol = 1e-3};
    q->r = (kc_dual_result){
        .struct_size = sizeof q->r, .beta = q->beta, .gradient = q->gradient, .dual = 7};
}

static bool refuses(const store_case *c, small_problem *q, kc_status wanted, const char *words)
{
    const kc_status status = kc_store_solve(ctx, NULL, c->store, &q->p, &q->r, &q->err);
    const bool is_right = says(status, wanted, &q->err, words) && q->beta[0] == 7 &&
                          q->gradient[3] == 7 && q->r.dual == 7;

    set_up(q);
    return is_right;
}

static void problems_with_a_wrong_number_are_refused(void)
{
    store_case c = store_case_make(ctx, 10, 2, KC_F64, 0);
    small_problem q;

    set_up(&q);
    q.p.n = 0;
    CHECK(refuses(&c, &q, KC_ERR_SHAPE, "problem.n is 0, must be 1 to 10"));
    q.p.n = 11;
    CHECK(refuses(&c, &q, KC_ERR_SHAPE, "problem.n is 11, must be 1 to 10"));
    q.rows[2] = -1;
    CHECK(refuses(&c, &q, KC_ERR_INDEX, "problem.rows[2] is -1, must be 0 to 9"));
    q.rows[2] = 10;
    CHECK(refuses(&c, &q, KC_ERR_INDEX, "problem.rows[2] is 10, must be 0 to 9"));
    q.rows[3] = 0;
    CHECK(refuses(&c, &q, KC_ERR_INDEX, "problem.rows[3] is 0, as is problem.rows[1]"));
    q.t[1] = (double)NAN;
    CHECK(refuses(&c, &q, KC_ERR_NONFINITE, "problem.t[1] is"));
    q.p.epsilon = -0.5;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.epsilon is -0.5"));
    q.p.tol = 0;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.tol is 0, must be above 0"));
    q.p.tol = (double)NAN;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.tol is"));
    q.p.max_iter = -1;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.max_iter is -1"));
    q.p.seed = -2;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.seed is -2"));
    q.p.struct_size = 1;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.struct_size"));
    q.r.struct_size = 1;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "result.struct_size"));
    q.r.beta = NULL;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "result.beta is NULL"));
    CHECK(kc_store_solve(ctx, NULL, NULL, &q.p, &q.r, &q.err) == KC_ERR_ARG);
    CHECK(kc_store_solve(ctx, NULL, c.store, NULL, &q.r, &q.err) == KC_ERR_ARG);
    CHECK(kc_store_solve(ctx, NULL, c.store, &q.p, NULL, &q.err) == KC_ERR_ARG);
    CHECK(kc_store_solve(ctx, NULL, c.store, &q.p, &q.r, &q.err) == KC_OK);
    store_case_free(&c);
}

static void problems_without_a_feasible_point_or_start_are_refused(void)
{
    store_case c = store_case_make(ctx, 10, 2, KC_F64, 0);
    small_problem q;

    set_up(&q);
    q.p.lower = NULL;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.lower is NULL"));
    q.p.upper = NULL;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.upper is NULL"));
    q.lower[2] = (double)NAN;
    CHECK(refuses(&c, &q, KC_ERR_NONFINITE, "problem.lower[2] is"));
    q.upper[2] = -HUGE_VAL;
    CHECK(refuses(&c, &q, KC_ERR_NONFINITE, "problem.upper[2] is -inf"));
    q.lower[3] = 0.5;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.lower[3] is 0.5, above problem.upper[3], 0"));
    q.p.n_groups = 3;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.n_groups is 3"));
    q.p.n_groups = 2;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.group is NULL"));
    q.p.group = q.group;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.group is given"));
    q.p.n_groups = 2;
    q.p.group = q.group;
    q.group[1] = 2;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.group[1] is 2"));
    q.p.n_groups = 0;
    q.p.sums = q.sums;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.sums is given"));
    q.p.sums = q.sums;
    q.sums[0] = HUGE_VAL;
    CHECK(refuses(&c, &q, KC_ERR_NONFINITE, "problem.sums[0] is inf"));
    q.p.sums = q.sums;
    q.sums[0] = 2.5;
    CHECK(refuses(&c, &q, KC_ERR_ARG,
                  "the sum of group 0 is to be 2.5, but its bounds leave only -2 to 2"));
    q.p.n_groups = 2;
    q.p.group = q.group;
    q.p.sums = q.sums;
    q.sums[1] = 0.5;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "the sum of group 1 is to be 0.5"));
    q.p.start = q.start;
    q.start[2] = (double)NAN;
    CHECK(refuses(&c, &q, KC_ERR_NONFINITE, "problem.start[2] is"));
    q.p.start = q.start;
    q.start[1] = -1.5;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.start[1] is -1.5, must be from -1 to 0"));
    q.p.start = q.start;
    q.p.sums = q.sums;
    q.sums[0] = 0.25;
    CHECK(refuses(&c, &q, KC_ERR_ARG, "problem.start in group 0 have the sum 0, but"));
    store_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(problems_with_a_wrong_number_are_refused);
    RUN(problems_without_a_feasible_point_or_start_are_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
