/* The public functions of the linear perceptrons: check, run, release. */
#include "api/kc_perceptron_check.h"
#include "data/kc_points.h"
#include "task/kc_linear.h"

static kc_status check_data(const kc_perceptron_data *data, kc_error *err)
{
    if (data == NULL)
        return kc_fail(err, KC_ERR_ARG, "data is NULL");
    if (data->struct_size != sizeof *data)
        return kc_fail(err, KC_ERR_ARG, "data: struct_size is %zu, must be %zu", data->struct_size,
                       sizeof *data);
    if (data->x == NULL || data->classes == NULL)
        return kc_fail(err, KC_ERR_ARG, "x or classes is NULL");
    if (data->n_classes < 2)
        return kc_fail(err, KC_ERR_ARG, "there are %d classes, must be at least 2",
                       data->n_classes);
    return kc_perceptron_check_labels(data, data->x->n_rows, err);
}

static bool has_arrays(const kc_perceptron_state *state)
{
    return state->weights != NULL && state->intercepts != NULL && state->mistakes != NULL &&
           state->criterion != NULL &&
           (state->late_weights == NULL) == (state->late_intercepts == NULL) &&
           (state->best_weights == NULL) == (state->best_intercepts == NULL);
}

static kc_status check_states(const kc_perceptron_settings *settings,
                              const kc_perceptron_data *data, const kc_perceptron_state *states,
                              int32_t n_states, kc_error *err)
{
    if (states == NULL || n_states < 1 || (settings->is_direct && n_states > 1))
        return kc_fail(err, KC_ERR_ARG, "there are %d states, must be %s", n_states,
                       settings->is_direct ? "1" : "at least 1");
    for (int32_t k = 0; k < n_states; k++) {
        const uint64_t *r = states[k].random;

        if (states[k].struct_size != sizeof *states)
            return kc_fail(err, KC_ERR_ARG, "states[%d]: struct_size is %zu, must be %zu", k,
                           states[k].struct_size, sizeof *states);
        if (!has_arrays(&states[k]))
            return kc_fail(err, KC_ERR_ARG, "states[%d]: an array is NULL", k);
        if (!settings->is_direct &&
            (states[k].positive < 0 || states[k].positive >= data->n_classes))
            return kc_fail(err, KC_ERR_ARG, "states[%d]: positive is %d, must be 0 to %d", k,
                           states[k].positive, data->n_classes - 1);
        if ((r[0] | r[1] | r[2] | r[3]) == 0)
            return kc_fail(err, KC_ERR_ARG, "states[%d]: random is all zeros", k);
    }
    return KC_OK;
}

kc_status kc_perceptron_run(kc_context *ctx, const kc_run *run,
                            const kc_perceptron_settings *settings, const kc_perceptron_data *data,
                            kc_perceptron_state *states, int32_t n_states, kc_error *err)
{
    kc_call call;

    if (settings == NULL)
        return kc_fail(err, KC_ERR_ARG, "settings is NULL");
    KC_TRY(kc_perceptron_check_settings(settings, err));
    KC_TRY(check_data(data, err));
    KC_TRY(check_states(settings, data, states, n_states, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "perceptron", err));
    return kc_call_end(&call, kc_linear_learn(&call, settings, data, states, (size_t)n_states));
}

kc_status kc_linear_decision(kc_context *ctx, const kc_run *run, const kc_points *x,
                             const double *weights, const double *intercepts, int32_t n_outputs,
                             double *out, kc_error *err)
{
    kc_call call;

    if (x == NULL || weights == NULL || intercepts == NULL || out == NULL || n_outputs < 1)
        return kc_fail(err, KC_ERR_ARG, "x, weights, intercepts or out is NULL, or n_outputs < 1");
    KC_TRY(kc_call_begin(&call, ctx, run, "decision", err));
    return kc_call_end(&call,
                       kc_linear_decide(&call, x, weights, intercepts, (size_t)n_outputs, out));
}

kc_status kc_perceptron_measure(kc_context *ctx, const kc_run *run, const kc_perceptron_data *data,
                                int32_t positive, const double *weights, double intercept,
                                kc_perceptron_margin *out, kc_error *err)
{
    kc_call call;

    KC_TRY(check_data(data, err));
    if (weights == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "weights or out is NULL");
    KC_TRY(kc_call_begin(&call, ctx, run, "margin", err));
    return kc_call_end(&call, kc_linear_measure(&call, data, positive, weights, intercept, out));
}
