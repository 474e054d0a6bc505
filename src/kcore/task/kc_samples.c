/* Checks of everything that is given by sample, and a counting sort by class. */
#include "task/kc_samples.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "task/kc_form.h"

/* ---- Checks ------------------------------------------------------------------------------- */

static kc_status check_weights(const double *weights, size_t n, kc_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(weights[i] >= 0) || !isfinite(weights[i]))
            return kc_fail(err, isnan(weights[i]) ? KC_ERR_NONFINITE : KC_ERR_ARG,
                           "the weight of sample %zu is %g, must be finite and not negative", i,
                           weights[i]);
    return KC_OK;
}

static kc_status check_class_weights(const double *weights, int32_t n_classes, kc_error *err)
{
    for (int32_t c = 0; c < n_classes; c++)
        if (!(weights[c] > 0) || !isfinite(weights[c]))
            return kc_fail(err, isnan(weights[c]) ? KC_ERR_NONFINITE : KC_ERR_ARG,
                           "the weight of class %d is %g, must be finite and positive", (int)c,
                           weights[c]);
    return KC_OK;
}

static kc_status check_classes(const kc_svm_data *data, size_t n, kc_error *err)
{
    if (data->classes == NULL)
        return kc_fail(err, KC_ERR_ARG, "data.classes is NULL");
    if (data->n_classes < 2)
        return kc_fail(err, KC_ERR_CLASSES, "there is %s, two are needed",
                       data->n_classes == 1 ? "one class" : "no class");
    if ((size_t)data->n_classes > n)
        return kc_fail(err, KC_ERR_CLASSES, "data.n_classes is %d, there are %zu samples",
                       (int)data->n_classes, n);
    for (size_t i = 0; i < n; i++)
        if (data->classes[i] < 0 || data->classes[i] >= data->n_classes)
            return kc_fail(err, KC_ERR_ARG, "the class of sample %zu is %d, must be 0 to %d", i,
                           (int)data->classes[i], (int)data->n_classes - 1);
    if (data->class_weights != NULL)
        return check_class_weights(data->class_weights, data->n_classes, err);
    return KC_OK;
}

static kc_status check_targets(const kc_svm_data *data, size_t n, kc_error *err)
{
    if (data->targets == NULL)
        return kc_fail(err, KC_ERR_ARG, "data.targets is NULL");
    for (size_t i = 0; i < n; i++) {
        const double target = data->targets[i];

        if (!isfinite(target))
            return kc_fail(err, KC_ERR_NONFINITE, "the target of sample %zu is %g", i, target);
        if (target * target > DBL_MAX / 4)
            return kc_fail(
                err, KC_ERR_RANGE,
                "the target of sample %zu is %g: its square overflows; scale the targets", i,
                target);
    }
    return KC_OK;
}

static kc_status check_arrays(const kc_form *form, const kc_svm_data *data, size_t n, kc_error *err)
{
    if (data->weights != NULL)
        KC_TRY(check_weights(data->weights, n, err));
    if (form->has_classes)
        return check_classes(data, n, err);
    return form->has_targets ? check_targets(data, n, err) : KC_OK;
}

/* ---- Order -------------------------------------------------------------------------------- */

static double weight_of(const kc_svm_data *data, size_t i)
{
    return data->weights != NULL ? data->weights[i] : 1;
}

static size_t class_of(const kc_samples *samples, const kc_svm_data *data, size_t i)
{
    return samples->n_classes > 0 ? (size_t)data->classes[i] : 0;
}

/* Every class needs a sample: without one there is nothing to say of it. */
static kc_status count_classes(kc_samples *samples, const kc_svm_data *data, kc_error *err)
{
    memset(samples->bounds, 0, (samples->n_segments + 1) * sizeof *samples->bounds);
    for (size_t i = 0; i < samples->n_all; i++)
        samples->bounds[class_of(samples, data, i) + 1] += weight_of(data, i) > 0;
    for (size_t c = 0; c < samples->n_segments; c++) {
        if (samples->bounds[c + 1] == 0)
            return samples->n_classes > 0
                       ? kc_fail(err, KC_ERR_CLASSES, "class %zu has no sample of positive weight",
                                 c)
                       : kc_fail(err, KC_ERR_ARG, "no sample has a positive weight");
        samples->bounds[c + 1] += samples->bounds[c];
    }
    samples->n = samples->bounds[samples->n_segments];
    return KC_OK;
}

/* Fills the places of each class in the order of the samples; `next` is the first free one. */
static void deal_samples(kc_samples *samples, const kc_svm_data *data, size_t *next)
{
    samples->is_identity = samples->n == samples->n_all;
    memcpy(next, samples->bounds, samples->n_segments * sizeof *next);
    for (size_t i = 0; i < samples->n_all; i++) {
        const double weight = weight_of(data, i);

        if (!(weight > 0))
            continue;
        const size_t c = class_of(samples, data, i), place = next[c]++;

        samples->order[place] = (int32_t)i;
        samples->own_weights[place] = weight;
        if (samples->own_weights != samples->weights)
            samples->weights[place] = data->class_weights[c] * weight;
        samples->is_identity &= place == i;
        if (samples->targets != NULL)
            samples->targets[place] = data->targets[i];
    }
}

kc_status kc_samples_sort(kc_call *call, const kc_svm_settings *settings, const kc_svm_data *data,
                          kc_samples *out)
{
    const kc_form *form = kc_form_of(settings->type);
    const size_t n_all = (size_t)data->n_samples;
    size_t *next;

    KC_TRY(check_arrays(form, data, n_all, call->err));
    *out = (kc_samples){.n_all = n_all, .n_classes = form->has_classes ? data->n_classes : 0};
    out->n_segments = kc_max(1, (size_t)out->n_classes);
    out->bounds = kc_call_take(call, out->n_segments + 1, sizeof *out->bounds);
    next = kc_call_take(call, out->n_segments, sizeof *next);
    if (out->bounds == NULL || next == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(count_classes(out, data, call->err));
    out->order = kc_call_take(call, out->n, sizeof *out->order);
    out->weights = kc_call_take(call, out->n, sizeof *out->weights);
    out->own_weights = out->n_classes > 0 && data->class_weights != NULL
                           ? kc_call_take(call, out->n, sizeof *out->own_weights)
                           : out->weights;
    if (form->has_targets)
        out->targets = kc_call_take(call, out->n, sizeof *out->targets);
    if (out->order == NULL || out->weights == NULL || out->own_weights == NULL ||
        (form->has_targets && out->targets == NULL))
        return kc_fail_nomem(call->err);
    deal_samples(out, data, next);
    return KC_OK;
}
