/* solver/kc_state.h: what all methods start from; the ends that are no optimum. */
#include "solver/kc_state.h"

#include <math.h>
#include <string.h>

#include "kc_test.h"
#include "ref_qp.h"

static kc_context *ctx;

/* The state of a random problem at its start, repaired. */
typedef struct opened {
    ref_problem p;
    kc_call call;
    kc_store *store;
    kc_dual dual;
    kc_state state;
} opened;

static void open_problem(opened *o, ref_form form, size_t n, double c)
{
    kc_rng rng = kc_rng_seed(n);

    o->store = NULL;
    o->p = ref_random_problem(&rng, form, REF_RBF, n, c, false);
    o->dual = ref_dual(&o->p, 1e-3);
    REQUIRE(kc_call_begin(&o->call, ctx, NULL, "state", NULL) == KC_OK);
    REQUIRE(kc_store_make_given(&o->call, KC_F64, o->p.k, n, n, &o->store) == KC_OK);
    REQUIRE(kc_dual_repair(&o->dual, o->p.start, NULL) == KC_OK);
    REQUIRE(kc_state_open(&o->call, o->store, &o->dual, &kc_tuning_default, o->p.start,
                          &o->state) == KC_OK);
    REQUIRE(kc_state_freshen(&o->state) == KC_OK);
}

static void close_problem(opened *o)
{
    kc_state_close(&o->state);
    kc_store_free(ctx, o->store);
    CHECK(kc_call_end(&o->call, KC_OK) == KC_OK);
    ref_free(&o->p);
}

static void the_gradient_is_that_of_the_definition(void)
{
    for (int form = 0; form < REF_FORMS; form++) {
        opened o;
        open_problem(&o, (ref_form)form, 37, 5);
        for (size_t p = 0; p < 37; p++) {
            double grad = o.dual.t[p];
            for (size_t q = 0; q < 37; q++)
                grad -= o.p.k[p * 37 + q] * kc_dual_coefficient(&o.dual, o.state.beta, q);
            CHECK_NEAR(o.state.grad[p], grad, 1e-12 * (1 + fabs(grad)) * 37 * 5);
        }
        close_problem(&o);
    }
}

static void padding_is_what_the_loops_expect(void)
{
    opened o;

    open_problem(&o, REF_CSVC, 37, 5);
    kc_state_refresh(&o.state);
    for (size_t p = 37; p < kc_round_up(37, KC_SMO_PAD); p++) {
        CHECK(o.state.grad[p] == 0 && o.state.next_grad[p] == 0);
        CHECK(o.state.up[0][p] == -HUGE_VAL && o.state.low[0][p] == HUGE_VAL);
    }
    for (size_t p = 0; p < 37; p++)
        CHECK((o.state.up[0][p] == -HUGE_VAL) == !(o.state.beta[p] < o.dual.hi[p]));
    close_problem(&o);
}

static void a_given_matrix_is_not_copied(void)
{
    opened o;

    open_problem(&o, REF_SVR, 40, 5);
    REQUIRE(kc_state_take_matrix(&o.state) == KC_OK);
    CHECK(o.state.gram == o.p.k && o.state.ld == 40 && o.state.matrix == NULL);
    close_problem(&o);
}

static void looks_without_gain_are_a_stall(void)
{
    opened o;
    kc_stall stall = kc_stall_start();

    open_problem(&o, REF_CSVC, 40, 5);
    CHECK(!kc_stall_look(&stall, &o.state, 1)); /* the first is a gain on nothing */
    for (int32_t k = 1; k < kc_tuning_default.finish.gainless_looks_max; k++)
        CHECK(!kc_stall_look(&stall, &o.state, 1));
    CHECK(kc_stall_look(&stall, &o.state, 1));
    CHECK(o.state.stop == KC_STOP_STALLED);
    CHECK(!kc_stall_look(&stall, &o.state, 0.5)); /* a smaller violation is a gain */
    close_problem(&o);
}

/* Two points at distance 2 under a linear kernel: the ray through (b, -b) has its minimum at 1/2.
 */
static void scaling_finds_the_minimum_along_the_ray(void)
{
    const double k[] = {1, -1, -1, 1}, t[] = {1, -1}, lo[] = {0, -INFINITY}, hi[] = {INFINITY, 0};
    double beta[] = {0.01, -0.01};
    kc_dual dual = {.cols = {.span = {{0, 2}}, .n_spans = 1},
                    .n_points = 2,
                    .n_layers = 1,
                    .t = t,
                    .lo = lo,
                    .hi = hi,
                    .tol = 1e-3};
    kc_store *store = NULL;
    kc_state state;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "state", NULL) == KC_OK);
    REQUIRE(kc_store_make_given(&call, KC_F64, k, 2, 2, &store) == KC_OK);
    REQUIRE(kc_state_open(&call, store, &dual, &kc_tuning_default, beta, &state) == KC_OK);
    REQUIRE(kc_state_freshen(&state) == KC_OK);
    CHECK(kc_state_scale_along_ray(&state));
    CHECK_NEAR(beta[0], 0.5, 1e-15);
    CHECK_NEAR(beta[1], -0.5, 1e-15);
    CHECK_NEAR(state.grad[0], 0, 1e-15);
    CHECK(!kc_state_scale_along_ray(&state));
    kc_store_free(ctx, store);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(the_gradient_is_that_of_the_definition);
    RUN(padding_is_what_the_loops_expect);
    RUN(a_given_matrix_is_not_copied);
    RUN(looks_without_gain_are_a_stall);
    RUN(scaling_finds_the_minimum_along_the_ray);
    kc_context_free(ctx);
    return kc_test_end();
}
