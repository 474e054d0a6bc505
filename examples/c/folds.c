/* Choosing C by cross-validation in C: every fold, for every C, is a problem on one store, so that
 * kernel values are computed once.  fit_predict.c says how to build such a program. */
#include <math.h>
#include <stdio.h>

#include "kcore/kcore.h"

#define N_SAMPLES 300
#define N_FEATURES 2
#define N_FOLDS 5

/* Samples inside and outside of a circle, with some noise. */
static void make_samples(double *x, double *y)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        const double a = 2.4 * i, r = 0.2 + 1.6 * (i * 37 % N_SAMPLES) / N_SAMPLES;

        x[2 * i] = r * cos(a);
        x[2 * i + 1] = r * sin(a);
        y[i] = r + 0.15 * sin(12.9 * i) > 1 ? 1 : -1;
    }
}

/* Solves C-SVC without the samples of a fold, and counts how many of those it gets wrong. */
static kc_status try_fold(kc_context *ctx, kc_store *store, const double *y, double C, int fold,
                          int *n_wrong, kc_error *err)
{
    int64_t trained[N_SAMPLES], tested[N_SAMPLES];
    double t[N_SAMPLES], lower[N_SAMPLES], upper[N_SAMPLES], beta[N_SAMPLES], values[N_SAMPLES];
    int n = 0, n_tested = 0;

    for (int i = 0; i < N_SAMPLES; i++) {
        if (i % N_FOLDS == fold) {
            tested[n_tested++] = i;
            continue;
        }
        trained[n] = i;
        t[n] = y[i];
        lower[n] = y[i] > 0 ? 0 : -C;
        upper[n++] = y[i] > 0 ? C : 0;
    }
    const kc_dual_problem problem = {
        .struct_size = sizeof problem,
        .rows = trained,
        .n = n,
        .t = t,
        .lower = lower,
        .upper = upper,
        .n_groups = 1, /* the sum of all coefficients is 0 */
        .tol = 1e-3,
    };
    kc_dual_result result = {.struct_size = sizeof result, .beta = beta};
    const kc_product product = {
        .struct_size = sizeof product,
        .columns = trained,
        .n_columns = n,
        .vectors = beta,
        .n_vectors = 1,
        .rows = tested,
        .n_rows = n_tested,
    };
    kc_status status = kc_store_solve(ctx, NULL, store, &problem, &result, err);

    if (status == KC_OK)
        status = kc_store_multiply(ctx, NULL, store, &product, values, err);
    for (int i = 0; i < n_tested && status == KC_OK; i++)
        *n_wrong += (values[i] + result.multipliers[0]) * y[tested[i]] <= 0;
    return status;
}

static kc_status try_all(kc_context *ctx, kc_store *store, const double *y, kc_error *err)
{
    for (double C = 0.01; C < 1000; C *= 10) {
        int n_wrong = 0;

        for (int fold = 0; fold < N_FOLDS; fold++) {
            const kc_status status = try_fold(ctx, store, y, C, fold, &n_wrong, err);
            if (status != KC_OK)
                return status;
        }
        printf("C = %g: %d of %d wrong\n", C, n_wrong, N_SAMPLES);
    }
    return KC_OK;
}

int main(void)
{
    static double x[N_SAMPLES * N_FEATURES], y[N_SAMPLES];
    const double gamma = 1;
    const kc_points points = {
        .struct_size = sizeof points,
        .storage = KC_DENSE,
        .dtype = KC_F64,
        .n_rows = N_SAMPLES,
        .n_cols = N_FEATURES,
        .values = x,
        .row_stride = N_FEATURES * sizeof(double),
        .col_stride = sizeof(double),
        .name = "x",
    };
    kc_context *ctx = NULL;
    kc_kernel *kernel = NULL;
    kc_store *store = NULL;
    kc_error err;

    make_samples(x, y);
    kc_status status = kc_context_create(NULL, &ctx, &err);
    if (status == KC_OK)
        status = kc_kernel_leaf(ctx, "rbf", &gamma, 1, &kernel, &err);
    if (status == KC_OK)
        status = kc_store_create(ctx, NULL, kernel, &points, NULL, &store, &err);
    if (status == KC_OK)
        status = try_all(ctx, store, y, &err);
    if (status != KC_OK)
        fprintf(stderr, "%s\n", err.text);
    kc_store_free(ctx, store);
    if (ctx != NULL) {
        kc_kernel_free(ctx, kernel);
        kc_context_free(ctx);
    }
    return status != KC_OK;
}
