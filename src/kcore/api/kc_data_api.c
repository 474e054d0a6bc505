/* What can be said of samples and labels without a kernel: check, run, release. */
#include "data/kc_labels.h"
#include "data/kc_moments.h"
#include "data/kc_points.h"

static kc_status check_samples(const kc_points *x, kc_error *err)
{
    if (x == NULL)
        return kc_fail(err, KC_ERR_ARG, "x is NULL");
    return kc_points_check_form(x, err);
}

kc_status kc_variance(kc_context *ctx, const kc_run *run, const kc_points *x, const double *weights,
                      double *out, kc_error *err)
{
    kc_call call;
    kc_status status;

    KC_TRY(check_samples(x, err));
    KC_TRY(kc_points_check_numbers(x, err));
    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(kc_call_begin(&call, ctx, run, "variance", err));
    status = kc_points_check(&call, x);
    if (status == KC_OK)
        status = kc_points_variance(&call, x, weights, out);
    return kc_call_end(&call, status);
}

kc_status kc_check_finite(kc_context *ctx, const kc_run *run, const kc_points *x, kc_error *err)
{
    kc_call call;
    kc_status status;

    KC_TRY(check_samples(x, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "check", err));
    status = kc_points_check(&call, x);
    for (; status == KC_OK && x != NULL; x = x->next)
        if (x->storage != KC_STRINGS)
            status = kc_points_check_finite(&call, x);
    return kc_call_end(&call, status);
}

static kc_status check_count(int64_t n, const char *what, kc_error *err)
{
    if (n < 1 || n > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "%s is %lld, must be 1 to %d", what, (long long)n,
                       (int)INT32_MAX);
    return KC_OK;
}

kc_status kc_encode_labels(kc_context *ctx, const kc_run *run, const kc_labels *labels,
                           int64_t most, int64_t *first, int32_t *codes, int64_t *n_found,
                           kc_error *err)
{
    kc_call call;

    if (labels == NULL || labels->values == NULL || first == NULL || codes == NULL ||
        n_found == NULL)
        return kc_fail(err, KC_ERR_ARG, "labels, first, codes or n_found is NULL");
    KC_TRY(check_count(labels->n, "labels.n", err));
    KC_TRY(check_count(labels->n_bytes, "labels.n_bytes", err));
    KC_TRY(check_count(most, "most", err));
    KC_TRY(kc_call_begin(&call, ctx, run, "labels", err));
    return kc_call_end(&call, kc_labels_encode(&call, labels, most, first, codes, n_found));
}

kc_status kc_balanced_weights(kc_context *ctx, const kc_run *run, const int32_t *classes, int64_t n,
                              int32_t n_classes, const double *weights, double *out, kc_error *err)
{
    kc_call call;

    if (classes == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", classes == NULL ? "classes" : "out");
    KC_TRY(check_count(n, "n", err));
    KC_TRY(check_count(n_classes, "n_classes", err));
    KC_TRY(kc_call_begin(&call, ctx, run, "labels", err));
    return kc_call_end(&call,
                       kc_labels_balance(&call, classes, (size_t)n, n_classes, weights, out));
}
