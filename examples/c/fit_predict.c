/* Fits a classifier to two spirals and predicts, with the C library alone.
 *
 * In the folder of the sources, with meson and ninja installed:
 *
 *     meson setup build/c -Dpython=disabled
 *     ninja -C build/c
 *     lib=build/c/src/kcore
 *     cc -Isrc/kcore/include examples/c/fit_predict.c $lib/libkcore.a $lib/libkc_*.a -lm -pthread
 *     ./a.out */
#include <math.h>
#include <stdio.h>

#include "kcore/kcore.h"

#define N_SAMPLES 400
#define N_CLASSES 2

/* Two arms that wind around each other: no line separates them. */
static void make_spirals(double *x, int32_t *classes)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        const int arm = i % N_CLASSES;
        const double turn = 0.5 + 10.0 * i / N_SAMPLES;

        x[2 * i] = turn * cos(turn + arm * 3.14159265358979);
        x[2 * i + 1] = turn * sin(turn + arm * 3.14159265358979);
        classes[i] = arm;
    }
}

static int fail(const char *what, const kc_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

int main(void)
{
    static double x[2 * N_SAMPLES];
    static int32_t classes[N_SAMPLES], predicted[N_SAMPLES];
    const double gamma = 0.5;
    const kc_points points = {
        .struct_size = sizeof(kc_points),
        .storage = KC_DENSE,
        .dtype = KC_F64,
        .n_rows = N_SAMPLES,
        .n_cols = 2,
        .values = x,
        .row_stride = 2 * sizeof(double),
        .col_stride = sizeof(double),
        .name = "x",
    };
    const kc_svm_data data = {
        .struct_size = sizeof data,
        .x = &points,
        .classes = classes,
        .n_classes = N_CLASSES,
    };
    kc_svm_settings settings;
    kc_fit_info info = {.struct_size = sizeof info};
    kc_context *ctx = NULL;
    kc_kernel *kernel = NULL;
    kc_model *model = NULL;
    kc_error err;
    int n_right = 0;

    make_spirals(x, classes);
    kc_svm_settings_init(&settings, sizeof settings);
    settings.C = 10;
    if (kc_context_create(NULL, &ctx, &err) != KC_OK)
        return fail("context", &err);
    if (kc_kernel_leaf(ctx, "rbf", &gamma, 1, &kernel, &err) != KC_OK)
        return fail("kernel", &err);
    if (kc_svm_fit(ctx, NULL, &settings, kernel, &data, &model, &info, NULL, &err) != KC_OK)
        return fail("fit", &err);
    if (kc_function_predict(ctx, NULL, kc_model_function(model), &points, 0, predicted, &err) !=
        KC_OK)
        return fail("predict", &err);
    for (int i = 0; i < N_SAMPLES; i++)
        n_right += predicted[i] == classes[i];
    printf("%s after %lld steps: gap %.1e, %lld support vectors\n", kc_stop_name(info.stop),
           (long long)info.n_iter, info.gap, (long long)info.n_support);
    printf("%d of %d samples predicted right\n", n_right, N_SAMPLES);
    kc_model_free(ctx, model);
    kc_kernel_free(ctx, kernel);
    kc_context_free(ctx);
    return n_right == N_SAMPLES ? 0 : 1;
}
