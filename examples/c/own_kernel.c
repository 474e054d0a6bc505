/* A kernel of your own in C: a function of two samples, trained with and predicted with by an SVM.
 *
 * The kernel here is exp(-|log x - log z|), summed over the features: ratios count, not
 * differences. fit_predict.c says how to build such a program. */
#include <math.h>
#include <stdio.h>

#include "kcore/kcore.h"

#define N_SAMPLES 200
#define N_FEATURES 3

/* Called by several threads at once; the value depends on the two samples alone. */
static double ratio_kernel(void *data, const kc_sample *x, const kc_sample *z)
{
    const double width = *(const double *)data;
    double sum = 0;

    for (int64_t t = 0; t < x->n; t++)
        sum += exp(-fabs(log(x->values[t]) - log(z->values[t])) / width);
    return sum;
}

/* Samples whose second feature is more, or less, than twice the first. */
static void make_samples(double *x, int32_t *classes)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        double *sample = x + i * N_FEATURES;

        sample[0] = 1 + i % 17;
        sample[1] = 1 + i * 7 % 31;
        sample[2] = 1 + i * 13 % 11;
        classes[i] = sample[1] > 2 * sample[0];
    }
}

static int fail(const char *what, const kc_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

int main(void)
{
    static double x[N_SAMPLES * N_FEATURES];
    static int32_t classes[N_SAMPLES], predicted[N_SAMPLES];
    double width = 0.5;
    const kc_kernel_function function = {
        .struct_size = sizeof function,
        .pair = ratio_kernel,
        .data = &width,
        .definiteness = KC_POSITIVE,
    };
    const kc_points points = {
        .struct_size = sizeof(kc_points),
        .storage = KC_DENSE,
        .dtype = KC_F64,
        .n_rows = N_SAMPLES,
        .n_cols = N_FEATURES,
        .values = x,
        .row_stride = N_FEATURES * sizeof(double),
        .col_stride = sizeof(double),
        .name = "x",
    };
    const kc_svm_data data = {
        .struct_size = sizeof data,
        .x = &points,
        .classes = classes,
        .n_classes = 2,
    };
    kc_svm_settings settings;
    kc_context *ctx = NULL;
    kc_kernel *ratios = NULL, *squared = NULL;
    kc_model *model = NULL;
    kc_error err;
    int n_right = 0;

    make_samples(x, classes);
    kc_svm_settings_init(&settings, sizeof settings);
    settings.C = 100;
    if (kc_context_create(NULL, &ctx, &err) != KC_OK)
        return fail("context", &err);
    if (kc_kernel_from_function(ctx, &function, &ratios, &err) != KC_OK ||
        kc_kernel_power(ctx, ratios, 2, &squared, &err) != KC_OK)
        return fail("kernel", &err);
    if (kc_svm_fit(ctx, NULL, &settings, squared, &data, &model, NULL, NULL, &err) != KC_OK)
        return fail("fit", &err);
    if (kc_function_predict(ctx, NULL, kc_model_function(model), &points, 0, predicted, &err) !=
        KC_OK)
        return fail("predict", &err);
    for (int i = 0; i < N_SAMPLES; i++)
        n_right += predicted[i] == classes[i];
    printf("%d of %d right\n", n_right, N_SAMPLES);
    kc_model_free(ctx, model);
    kc_kernel_free(ctx, ratios);
    kc_kernel_free(ctx, squared);
    kc_context_free(ctx);
    return n_right > N_SAMPLES * 9 / 10 ? 0 : 1;
}
