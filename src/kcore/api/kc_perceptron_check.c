/* See kc_perceptron_check.h. */
#include "api/kc_perceptron_check.h"

#include <math.h>

#include "base/kc_context.h"

kc_status kc_perceptron_read_settings(const kc_perceptron_settings *from,
                                      kc_perceptron_settings *settings, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "settings is NULL");
    KC_TRY(kc_struct_read(settings, sizeof *settings, from, "settings", err));
    if (settings->rule != KC_RULE_SINGLE && settings->rule != KC_RULE_BATCH)
        return kc_fail(err, KC_ERR_ARG, "rule is %d, must be single or batch", settings->rule);
    if (!(settings->margin >= 0.0 && isfinite(settings->margin)))
        return kc_fail(err, KC_ERR_ARG, "margin is %g, must be finite and >= 0", settings->margin);
    if (!(settings->theta >= 0.0))
        return kc_fail(err, KC_ERR_ARG, "theta is %g, must be >= 0", settings->theta);
    if (settings->n_passes < 1 || settings->eta == NULL)
        return kc_fail(err, KC_ERR_ARG, "n_passes is %lld, must be at least 1, with eta for each",
                       (long long)settings->n_passes);
    for (int64_t k = 0; k < settings->n_passes; k++)
        if (!(settings->eta[k] > 0.0 && isfinite(settings->eta[k])))
            return kc_fail(err, KC_ERR_ARG, "eta(%lld) is %g, must be finite and > 0", (long long)k,
                           settings->eta[k]);
    return KC_OK;
}

kc_status kc_perceptron_check_labels(const kc_perceptron_data *data, int64_t n, kc_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (data->classes[i] < 0 || data->classes[i] >= data->n_classes)
            return kc_fail(err, KC_ERR_ARG, "classes[%lld] is %d, must be 0 to %d", (long long)i,
                           data->classes[i], data->n_classes - 1);
        if (data->weights != NULL && !(data->weights[i] >= 0.0 && isfinite(data->weights[i])))
            return kc_fail(err, KC_ERR_ARG, "sample_weight[%lld] is %g, must be finite and >= 0",
                           (long long)i, data->weights[i]);
    }
    return KC_OK;
}
