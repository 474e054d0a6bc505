/* Budgets where a kernel gives points no length, and samples that cannot be learnt from. */
#include <math.h>

#include "online_case.h"
#include "ref_expr.h"

static kc_context *ctx;

/* K(x, x) <= 0 for some x or all, and K(x, z)^2 > K(x, x) K(z, z) for some pairs. */
static const ref_node indefinite[] = {
    {.op = OP_SIGMOID, .gamma = 0.1, .coef0 = -2},
    {.op = OP_SIGMOID, .gamma = 0.02, .coef0 = -0.5},
    {.op = OP_POLYNOMIAL, .degree = 3, .gamma = 0.05, .coef0 = -1},
};
#define N_KERNELS (sizeof indefinite / sizeof *indefinite)

static double largest_coefficient(const kc_online *online)
{
    const kc_online_info info = online_info(online);
    const size_t n = (size_t)(info.n_points * info.n_outputs);
    double *coef = malloc(kc_max(1, n) * sizeof *coef), intercepts[3], largest = 0;

    CHECK(kc_online_coef(online, KC_READING_LAST, coef, (int64_t)n, intercepts, info.n_outputs,
                         NULL) == KC_OK);
    for (size_t i = 0; i < n; i++)
        largest = isfinite(coef[i]) ? fmax(largest, fabs(coef[i])) : INFINITY;
    free(coef);
    return largest;
}

static kc_online *twin_of(const kc_online *online, const ref_node *node)
{
    const int64_t n_bytes = online_info(online).n_bytes;
    char *bytes = malloc((size_t)n_bytes);
    kc_kernel *kernel = NULL;
    kc_online *twin = NULL;

    CHECK(kc_online_save(online, bytes, n_bytes, NULL) == KC_OK);
    CHECK(ref_kernel_make(ctx, node, 1, &kernel, NULL) == KC_OK);
    CHECK(kc_online_load(ctx, kernel, bytes, n_bytes, &twin, NULL) == KC_OK);
    kc_kernel_free(ctx, kernel);
    free(bytes);
    return twin;
}

static void check_kernel(const ref_node *node, const online_options *options, kc_dtype dtype)
{
    online_case c = online_case_make(150, options->is_sparse ? 140 : 5, 3, dtype);
    kc_online *online = online_make(ctx, &c, options);

    for (size_t i = 0; i < c.n; i++) {
        online_call call = {
            .begin = i, .end = i + 1, .first = -1, .form = options->is_sparse ? REF_CSR : 0};

        CHECK(online_run(ctx, online, &c, &call, false) == KC_OK);
        CHECK(online_info(online).n_points >= 1);
        CHECK(online_info(online).n_points <= options->budget);
    }
    CHECK(online_info(online).n_points == options->budget);
    CHECK(largest_coefficient(online) < 1e6);
    kc_online *twin = twin_of(online, node);
    online_call a = {.first = -1, .n_passes = 3}, b = {.first = -1, .n_passes = 3};
    CHECK(online_run(ctx, online, &c, &a, false) == KC_OK);
    CHECK(online_run(ctx, twin, &c, &b, false) == KC_OK);
    CHECK(online_equal(online, twin));
    kc_online_free(ctx, twin);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

static void kernels_that_are_not_positive_fill_the_budget_and_keep_coefficients_small(void)
{
    for (size_t k = 0; k < N_KERNELS; k++)
        for (int32_t strategy = KC_STRATEGY_OLDEST; strategy <= KC_STRATEGY_MERGE; strategy++)
            for (int form = 0; form < 8; form++) {
                const online_options options = {
                    .kernel = indefinite[k],
                    .strategy = strategy,
                    .budget = 7,
                    .no_intercept = form & 1,
                    .is_sparse = (form & 2) != 0,
                };

                check_kernel(&indefinite[k], &options, form & 4 ? KC_F32 : KC_F64);
            }
}

/* Its number is that of the next one. */
static void a_sample_that_fails_is_not_counted(void)
{
    const online_options options = {
        .kernel = {.op = OP_POLYNOMIAL, .degree = 9, .gamma = 1}, .budget = 5, .strategy = 1};

    for (int form = 0; form <= REF_CSR; form += REF_CSR) {
        online_case c = online_case_make(20, 140, 2, KC_F64);
        kc_online *online = online_make(ctx, &c, &options);
        online_call good = {.end = 10, .first = -1, .form = (ref_form)form};
        online_call bad = {.begin = 10, .end = 11, .first = -1, .form = (ref_form)form};

        CHECK(online_run(ctx, online, &c, &good, false) == KC_OK);
        kc_online *before = twin_of(online, &options.kernel);
        c.samples.x[10 * c.d] = 1e50;
        CHECK(online_run(ctx, online, &c, &bad, false) == KC_ERR_RANGE);
        CHECK(online_info(online).n_seen == 10);
        CHECK(online_equal(online, before));
        kc_online_free(ctx, before);
        kc_online_free(ctx, online);
        online_case_free(&c);
    }
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(kernels_that_are_not_positive_fill_the_budget_and_keep_coefficients_small);
    RUN(a_sample_that_fails_is_not_counted);
    kc_context_free(ctx);
    return kc_test_end();
}
