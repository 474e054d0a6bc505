/* The public functions of the linear perceptrons: check, run, release. */
#include <stdio.h>

#include "api/kc_perceptron_check.h"
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "task/kc_linear.h"

static kc_status read_data(const kc_perceptron_data *from, kc_perceptron_data *data, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "data is NULL");
    KC_TRY(kc_struct_read(data, sizeof *data, from, "data", err));
    if (data->x == NULL || data->classes == NULL)
        return kc_fail(err, KC_ERR_ARG, "data.%s is NULL", data->x == NULL ? "x" : "classes");
    if (data->n_classes < 2)
        return kc_fail(err, KC_ERR_ARG, "there are %d classes, must be at least 2",
                       data->n_classes);
    return kc_perceptron_check_labels(data, data->x->n_rows, err);
}

/* The name of an array that is missing, by itself or beside its partner; NULL: none. */
static const char *find_missing_array(const kc_perceptron_state *state)
{
    const struct {
        const char *name;
        const void *array;
        bool is_needed;
    } arrays[] = {
        {"weights", state->weights, true},
        {"intercepts", state->intercepts, true},
        {"mistakes", state->mistakes, true},
        {"criterion", state->criterion, true},
        {"time_weighted", state->time_weighted, state->time_weighted_intercepts != NULL},
        {"time_weighted_intercepts", state->time_weighted_intercepts, state->time_weighted != NULL},
        {"best_weights", state->best_weights, state->best_intercepts != NULL},
        {"best_intercepts", state->best_intercepts, state->best_weights != NULL},
    };

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].is_needed && arrays[i].array == NULL)
            return arrays[i].name;
    return NULL;
}

/* The caller's structs are as large as the first one says. */
static void *state_at(kc_perceptron_state *states, int32_t k)
{
    return (char *)states + (size_t)k * states[0].struct_size;
}

static kc_status check_state(const kc_perceptron_settings *settings, const kc_perceptron_data *data,
                             const kc_perceptron_state *state, int32_t k, kc_error *err)
{
    const int64_t counts[] = {state->n_steps, state->n_updates, state->changed_at, state->best_run};
    const uint64_t *r = state->random;
    const char *missing = find_missing_array(state);

    if (missing != NULL)
        return kc_fail(err, KC_ERR_ARG, "states[%d].%s is NULL", k, missing);
    if (!settings->is_direct && (state->positive < 0 || state->positive >= data->n_classes))
        return kc_fail(err, KC_ERR_ARG, "states[%d]: positive is %d, must be 0 to %d", k,
                       state->positive, data->n_classes - 1);
    if ((r[0] | r[1] | r[2] | r[3]) == 0)
        return kc_fail(err, KC_ERR_ARG, "states[%d]: random is all zeros", k);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        if (counts[c] < 0 || counts[c] > KC_COUNT_MAX)
            return kc_fail(err, KC_ERR_ARG, "states[%d]: a count is %lld, must be 0 to %lld", k,
                           (long long)counts[c], (long long)KC_COUNT_MAX);
    return KC_OK;
}

static kc_status read_states(const kc_perceptron_settings *settings, const kc_perceptron_data *data,
                             kc_perceptron_state *from, int32_t n_states, kc_perceptron_state *out,
                             kc_error *err)
{
    for (int32_t k = 0; k < n_states; k++) {
        char name[32];

        snprintf(name, sizeof name, "states[%d]", k);
        KC_TRY(kc_struct_read(&out[k], sizeof *out, state_at(from, k), name, err));
        if (out[k].struct_size != out[0].struct_size)
            return kc_fail(err, KC_ERR_ARG, "states[%d].struct_size is %zu, that of the first %zu",
                           k, out[k].struct_size, out[0].struct_size);
        KC_TRY(check_state(settings, data, &out[k], k, err));
    }
    return KC_OK;
}

/* Learns on copies of the states, which are written back however it ends. */
static kc_status learn(kc_call *call, const kc_perceptron_settings *settings,
                       const kc_perceptron_data *data, kc_perceptron_state *states,
                       int32_t n_states)
{
    kc_perceptron_state *copies = kc_call_take(call, (size_t)n_states, sizeof *copies);
    kc_status status;

    if (copies == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(read_states(settings, data, states, n_states, copies, call->err));
    status = kc_linear_learn(call, settings, data, copies, (size_t)n_states);
    for (int32_t k = 0; k < n_states; k++)
        kc_struct_write(state_at(states, k), &copies[k], sizeof *copies);
    return status;
}

kc_status kc_perceptron_run(kc_context *ctx, const kc_run *run,
                            const kc_perceptron_settings *settings, const kc_perceptron_data *data,
                            kc_perceptron_state *states, int32_t n_states, kc_error *err)
{
    kc_perceptron_settings how;
    kc_perceptron_data what;
    kc_call call;

    KC_TRY(kc_perceptron_read_settings(settings, &how, err));
    KC_TRY(read_data(data, &what, err));
    if (states == NULL || n_states < 1 || (how.is_direct && n_states > 1))
        return kc_fail(err, KC_ERR_ARG, "there are %d states, must be %s", n_states,
                       how.is_direct ? "1" : "at least 1");
    KC_TRY(kc_call_begin(&call, ctx, run, "perceptron", err));
    return kc_call_end(&call, learn(&call, &how, &what, states, n_states));
}

kc_status kc_linear_decision(kc_context *ctx, const kc_run *run, const kc_points *x,
                             const double *weights, const double *intercepts, int32_t n_outputs,
                             double *out, kc_error *err)
{
    kc_call call;

    if (x == NULL || weights == NULL || intercepts == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL",
                       x == NULL            ? "x"
                       : weights == NULL    ? "weights"
                       : intercepts == NULL ? "intercepts"
                                            : "out");
    if (n_outputs < 1)
        return kc_fail(err, KC_ERR_ARG, "n_outputs is %d, must be at least 1", n_outputs);
    KC_TRY(kc_call_begin(&call, ctx, run, "decision", err));
    return kc_call_end(&call,
                       kc_linear_decide(&call, x, weights, intercepts, (size_t)n_outputs, out));
}

/* Places in x and among the outputs, and times in order: all that memory and counts depend on. */
static kc_status check_updates(const kc_perceptron_history *h, kc_error *err)
{
    const int64_t n_rows = h->n_updates > 0 ? h->x->n_rows : 0;
    int64_t before = 1;

    for (int64_t k = 0; k < h->n_updates; k++) {
        const kc_perceptron_update *u = &h->updates[k];

        if (u->sample < 0 || u->sample >= n_rows || u->raised < 0 || u->raised >= h->n_outputs ||
            u->lowered < -1 || u->lowered >= h->n_outputs)
            return kc_fail(err, KC_ERR_INDEX,
                           "updates[%lld] is of sample %d and outputs %d and %d; there are %lld "
                           "samples and %d outputs",
                           (long long)k, u->sample, u->raised, u->lowered, (long long)n_rows,
                           h->n_outputs);
        if (u->at < before || u->at > h->n_steps)
            return kc_fail(err, KC_ERR_ARG, "updates[%lld].at is %lld, must be %lld to %lld",
                           (long long)k, (long long)u->at, (long long)before,
                           (long long)h->n_steps);
        before = u->at;
    }
    return KC_OK;
}

static kc_status read_history(const kc_perceptron_history *from, kc_perceptron_history *h,
                              kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "history is NULL");
    KC_TRY(kc_struct_read(h, sizeof *h, from, "history", err));
    if (h->n_updates < 0 || h->n_steps < 0 || h->n_outputs < 1)
        return kc_fail(err, KC_ERR_ARG,
                       "history: n_updates is %lld, n_steps %lld and n_outputs %d, must be at "
                       "least 0, 0 and 1",
                       (long long)h->n_updates, (long long)h->n_steps, h->n_outputs);
    if (h->n_updates > 0 && (h->x == NULL || h->updates == NULL))
        return kc_fail(err, KC_ERR_ARG, "history.%s is NULL, there are %lld updates",
                       h->x == NULL ? "x" : "updates", (long long)h->n_updates);
    return check_updates(h, err);
}

kc_status kc_perceptron_votes(kc_context *ctx, const kc_run *run,
                              const kc_perceptron_history *history, const kc_points *x, double *out,
                              int64_t out_ld, kc_error *err)
{
    kc_perceptron_history h;
    kc_call call;

    KC_TRY(read_history(history, &h, err));
    if (x == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", x == NULL ? "x" : "out");
    if (out_ld < h.n_outputs)
        return kc_fail(err, KC_ERR_ARG, "out_ld is %lld, must be at least %d", (long long)out_ld,
                       h.n_outputs);
    KC_TRY(kc_call_begin(&call, ctx, run, "votes", err));
    return kc_call_end(&call, kc_linear_vote(&call, &h, x, out, (size_t)out_ld));
}

kc_status kc_perceptron_measure(kc_context *ctx, const kc_run *run, const kc_perceptron_data *data,
                                int32_t positive, const double *weights, double intercept,
                                kc_perceptron_margin *out, kc_error *err)
{
    kc_perceptron_data what;
    kc_perceptron_margin margin = {0};
    kc_call call;
    kc_status status;

    KC_TRY(read_data(data, &what, err));
    if (weights == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", weights == NULL ? "weights" : "out");
    KC_TRY(kc_struct_check(out, sizeof *out, "out", err));
    KC_TRY(kc_call_begin(&call, ctx, run, "margin", err));
    status = kc_linear_measure(&call, &what, positive, weights, intercept, &margin);
    if (status == KC_OK)
        kc_struct_write(out, &margin, sizeof margin);
    return kc_call_end(&call, status);
}
