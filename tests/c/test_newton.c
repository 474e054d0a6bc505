/* solver/kc_newton.h: runs end where pair steps alone would, in fewer steps, and stay feasible with
 * a gradient of their own wherever they are stopped. */
#include "solver/kc_newton.h"

#include <stdlib.h>
#include <string.h>

#include "ref_qp.h"
#include "tally.h"

/* A problem as kc_pairs wants it, at a feasible start. */
typedef struct posed {
    kc_pairs pairs;
    double *arrays;
    double *beta;
} posed;

static posed pose(const ref_problem *p, kc_dtype dtype)
{
    const size_t n = p->n;
    const size_t stride = kc_round_up(n, KC_SMO_PAD);
    const size_t bytes = kc_dtype_bytes(dtype);
    const void *gram = dtype == KC_F64 ? (const void *)p->k : p->k32;
    posed out = {.arrays = calloc(stride * 7, sizeof(double)),
                 .beta = malloc(2 * n * sizeof(double))};
    kc_dual dual = ref_dual(p, 1e-3);
    double *grad = out.arrays;
    double *next = out.arrays;

    memcpy(out.beta, p->start, (size_t)p->n_layers * n * sizeof *out.beta);
    CHECK(kc_dual_repair(&dual, out.beta, NULL) == KC_OK);
    out.pairs = (kc_pairs){.tuning = &kc_tuning_default,
                           .n = n,
                           .n_layers = p->n_layers,
                           .epsilon = p->epsilon,
                           .lanes = KC_F64,
                           .dtype = dtype,
                           .gram = gram,
                           .ld = n};
    out.pairs.grad = next += stride;
    out.pairs.diag = next += stride;
    for (int32_t g = 0; g < p->n_layers; g++) {
        out.pairs.beta[g] = out.beta + (size_t)g * n;
        out.pairs.lo[g] = p->lo + (size_t)g * n;
        out.pairs.hi[g] = p->hi + (size_t)g * n;
        out.pairs.up[g] = next += stride;
        out.pairs.low[g] = next += stride;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)out.pairs.diag + i * bytes, (const char *)gram + i * (n + 1) * bytes, bytes);
        grad[i] = p->t[i];
        for (size_t j = 0; j < n; j++)
            grad[i] -= p->k[i * n + j] * (out.beta[j] + (p->n_layers == 2 ? out.beta[n + j] : 0));
    }
    out.pairs.objective = kc_dual_objective(&dual, out.beta, grad);
    kc_pairs_start(&out.pairs, grad);
    return out;
}

static void put_away(posed *x)
{
    free(x->arrays);
    free(x->beta);
}

/* Boxes and sums are kept, and gradient and objective are those of beta. */
static void check_state(const ref_problem *p, const posed *x)
{
    kc_solution s = {.beta = x->beta, .grad = x->pairs.grad};
    const ref_audit audit = ref_check(p, &s);

    CHECK(audit.out_of_box == 0);
    CHECK(audit.off_sum < 1e-11);
    CHECK(audit.off_grad < 1e-9 * (1 + audit.beta_weight));
    CHECK_NEAR(x->pairs.objective, ref_objective(p, x->beta), 1e-8 * (1 + audit.scale));
}

typedef kc_status run_fn(kc_call *call, kc_pairs *pairs, double tol, int64_t max_steps,
                         kc_stop *stop);

static int64_t run(kc_context *ctx, const kc_run *how, run_fn *fn, posed *x, double tol,
                   int64_t max_steps, kc_stop *stop)
{
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, how, "run", NULL) == KC_OK);
    CHECK(fn(&call, &x->pairs, tol, max_steps, stop) == KC_OK);
    kc_call_end(&call, KC_OK);
    return x->pairs.n_steps;
}

/* Steps of all problems, by pairs alone and with Newton steps. */
typedef struct totals {
    int64_t pairs, newton;
} totals;

static void compare(kc_context *ctx, ref_form form, ref_matrix matrix, kc_dtype dtype, double c,
                    totals *sum)
{
    kc_rng rng = kc_rng_seed(50 + (uint64_t)form);

    for (int round = 0; round < 4; round++) {
        ref_problem p = ref_random_problem(&rng, form, matrix, 150 + kc_rng_below(&rng, 200), c,
                                           dtype == KC_F32);
        posed plain = pose(&p, dtype);
        posed mixed = pose(&p, dtype);
        kc_stop stop;
        sum->pairs += run(ctx, NULL, kc_pairs_run, &plain, 1e-4, INT64_MAX, &stop);
        CHECK(stop == KC_STOP_CONVERGED);
        sum->newton += run(ctx, NULL, kc_newton_run, &mixed, 1e-4, INT64_MAX, &stop);
        CHECK(stop == KC_STOP_CONVERGED);
        check_state(&p, &mixed);
        const double scale = 1 + fabs(plain.pairs.objective);
        CHECK_NEAR(mixed.pairs.objective, plain.pairs.objective, 1e-4 * scale);
        put_away(&plain);
        put_away(&mixed);
        ref_free(&p);
    }
}

static void problems_of_all_forms_end_where_pair_steps_do_and_sooner(void)
{
    kc_context *ctx = make_context(1, NULL);

    for (int form = 0; form < REF_FORMS; form++)
        for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
            totals sum = {0, 0};
            compare(ctx, (ref_form)form, REF_RBF, dtype, 300, &sum);
            CHECK(sum.newton <= sum.pairs);
            if (form == REF_CSVC || form == REF_SVR)
                CHECK((double)sum.newton < 0.8 * (double)sum.pairs);
        }
    kc_context_free(ctx);
}

static void duplicated_points_and_low_rank_do_no_harm(void)
{
    kc_context *ctx = make_context(1, NULL);

    for (ref_matrix matrix = REF_LINEAR; matrix <= REF_DUPLICATES; matrix++) {
        totals sum = {0, 0};
        compare(ctx, REF_CSVC, matrix, KC_F64, 10, &sum);
    }
    kc_context_free(ctx);
}

/* Wherever the steps end, and whether they end at a Newton step or not. */
static void max_steps_are_kept_to_the_step(void)
{
    kc_context *ctx = make_context(1, NULL);
    kc_rng rng = kc_rng_seed(60);
    ref_problem p = ref_random_problem(&rng, REF_SVR, REF_RBF, 250, 1000, false);

    for (int64_t most = 1; most < 20000; most = most * 5 / 3 + 1) {
        posed x = pose(&p, KC_F64);
        kc_stop stop;
        int64_t n_steps = run(ctx, NULL, kc_newton_run, &x, 1e-12, most, &stop);
        CHECK(n_steps == most || stop != KC_STOP_MAX_ITER);
        check_state(&p, &x);
        put_away(&x);
    }
    ref_free(&p);
    kc_context_free(ctx);
}

typedef struct patience {
    int n_asked, most;
} patience;

static int lose_patience(void *data, const kc_progress *progress)
{
    patience *p = data;

    (void)progress;
    return ++p->n_asked >= p->most;
}

static void a_stopped_run_is_whole(void)
{
    kc_context *ctx = make_context(1, NULL);
    kc_rng rng = kc_rng_seed(61);
    ref_problem p = ref_random_problem(&rng, REF_CSVC, REF_RBF, 900, 1e5, false);

    for (int most = 1; most < 8; most++) {
        patience patient = {.most = most};
        kc_run how = {
            .struct_size = sizeof how, .on_progress = lose_patience, .progress_data = &patient};
        posed x = pose(&p, KC_F64);
        kc_stop stop;
        run(ctx, &how, kc_newton_run, &x, 1e-12, INT64_MAX, &stop);
        CHECK(stop == KC_STOP_CALLER || stop == KC_STOP_CONVERGED || stop == KC_STOP_STALLED);
        check_state(&p, &x);
        put_away(&x);
    }
    ref_free(&p);
    kc_context_free(ctx);
}

int main(void)
{
    RUN(problems_of_all_forms_end_where_pair_steps_do_and_sooner);
    RUN(duplicated_points_and_low_rank_do_no_harm);
    RUN(max_steps_are_kept_to_the_step);
    RUN(a_stopped_run_is_whole);
    return kc_test_end();
}
