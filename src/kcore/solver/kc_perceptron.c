/* Samples are looked at in their order; a weight vector is read once per sample, since a step and
 * the next sample's product are one pass over it. */
#include "solver/kc_perceptron.h"

#include <math.h>
#include <string.h>

#include "base/kc_rng.h"
#include "simd/kc_linear_ops.h"

/* Numbers multiplied between two looks at the clock: below a millisecond. */
#define POLL_VALUES ((size_t)1 << 20)

typedef struct learner {
    kc_call *call;
    const kc_perceptron_problem *problem;
    const kc_linear_ops *ops;
    kc_perceptron_state *state;
    int32_t n_outputs;
    int32_t *order; /* NULL: 0, 1, 2, ... */
    double *values; /* direct: of each output */
    double *sum;    /* batch: n_outputs x (d + 1), the intercept last */
    kc_rng rng;
    size_t since_poll;
    bool is_out_of_time;
} learner;

/* ---- Rows --------------------------------------------------------------------------------- */

static const char *row_values(const kc_rowwise *x, size_t i)
{
    return x->is_sparse ? x->values + (size_t)x->indptr[i] * kc_dtype_bytes(x->dtype)
                        : x->values + (int64_t)i * x->row_bytes;
}

static size_t row_count(const kc_rowwise *x, size_t i)
{
    return x->is_sparse ? (size_t)(x->indptr[i + 1] - x->indptr[i]) : x->d;
}

static double dot_row(const kc_linear_ops *ops, const kc_rowwise *x, const double *a, size_t i)
{
    if (x->is_sparse)
        return ops->sparse_dot(a, x->cols + x->indptr[i], row_values(x, i), row_count(x, i));
    return ops->dot(a, row_values(x, i), x->d);
}

static void add_row(const kc_linear_ops *ops, const kc_rowwise *x, double *a, double s, size_t i)
{
    if (x->is_sparse)
        ops->sparse_add(a, s, x->cols + x->indptr[i], row_values(x, i), row_count(x, i));
    else
        ops->add(a, s, row_values(x, i), x->d);
}

/* a += s x_i, and the new a.x_next. */
static double add_row_dot(const kc_linear_ops *ops, const kc_rowwise *x, double *a, double s,
                          size_t i, size_t next)
{
    if (!x->is_sparse)
        return ops->add_dot(a, s, row_values(x, i), row_values(x, next), x->d);
    add_row(ops, x, a, s, i);
    return dot_row(ops, x, a, next);
}

double kc_rowwise_dot(const kc_rowwise *x, const double *a, size_t i)
{
    return dot_row(kc_linear_ops_of(x->dtype), x, a, i);
}

/* ---- Steps -------------------------------------------------------------------------------- */

/* Whether to go on: a time limit ends the learning with what there is, anything else is an error.
 */
static bool may_go_on(learner *l, size_t n_values)
{
    l->since_poll += n_values;
    if (l->since_poll >= POLL_VALUES) {
        l->since_poll = 0;
        l->is_out_of_time = kc_call_poll(l->call) == KC_ERR_TIME;
    }
    return !kc_call_stopped(l->call);
}

static double weight_of(const learner *l, size_t i)
{
    return l->problem->weights != NULL ? l->problem->weights[i] : 1.0;
}

/* A sample of weight zero is not there. */
static bool is_mistake(const learner *l, size_t i, double value)
{
    return value <= l->problem->settings->margin && weight_of(l, i) > 0.0;
}

/* z: +1 or -1. */
static double sign_of(const learner *l, size_t i)
{
    return l->problem->classes[i] == l->state->positive ? 1.0 : -1.0;
}

static void log_update(const learner *l, size_t i, int32_t raised, int32_t lowered, double step)
{
    if (l->state->log != NULL)
        l->state->log[l->state->n_log++] = (kc_perceptron_update){
            .at = l->state->n_steps,
            .sample = (int32_t)i,
            .raised = raised,
            .lowered = lowered,
            .step = step,
        };
}

/* Everything of a step by `s` on one output but the weights themselves: intercept and means. */
static void step_aside(const learner *l, size_t output, double s, size_t i)
{
    const kc_rowwise *x = l->problem->x;
    kc_perceptron_state *state = l->state;
    const double late = (double)state->n_steps * s;

    if (l->problem->settings->has_intercept)
        state->intercepts[output] += s;
    if (state->late_weights == NULL)
        return;
    add_row(l->ops, x, state->late_weights + output * x->d, late, i);
    if (l->problem->settings->has_intercept)
        state->late_intercepts[output] += late;
}

static void count_mistake(learner *l, int64_t pass, double shortfall)
{
    l->state->mistakes[pass]++;
    l->state->criterion[pass] += shortfall;
}

/* ---- The fixed-increment rule ------------------------------------------------------------- */

static size_t sample_at(const learner *l, size_t place)
{
    return l->order != NULL ? (size_t)l->order[place] : place;
}

/* One cycle over the samples with one weight vector. */
static void single_pass(learner *l, int64_t pass, double eta)
{
    const kc_rowwise *x = l->problem->x;
    const double margin = l->problem->settings->margin;
    kc_perceptron_state *state = l->state;
    double product = dot_row(l->ops, x, state->weights, sample_at(l, 0));

    for (size_t place = 0; place < x->n; place++) {
        const size_t i = sample_at(l, place);
        const size_t next = sample_at(l, place + 1 < x->n ? place + 1 : place);
        const double value = sign_of(l, i) * (product + state->intercepts[0]);

        state->n_steps++;
        if (is_mistake(l, i, value)) {
            const double s = eta * weight_of(l, i) * sign_of(l, i);

            count_mistake(l, pass, margin - value);
            state->n_updates++;
            log_update(l, i, 0, -1, s);
            step_aside(l, 0, s, i);
            product = add_row_dot(l->ops, x, state->weights, s, i, next);
        } else {
            product = dot_row(l->ops, x, state->weights, next);
        }
        if (!may_go_on(l, row_count(x, i)))
            return;
    }
}

/* The values of all outputs, and the largest of those that are not `own`. */
static int32_t best_other(const learner *l, size_t i, int32_t own)
{
    const kc_rowwise *x = l->problem->x;
    int32_t best = -1;

    for (int32_t k = 0; k < l->n_outputs; k++) {
        l->values[k] =
            dot_row(l->ops, x, l->state->weights + (size_t)k * x->d, i) + l->state->intercepts[k];
        if (k != own && (best < 0 || l->values[k] > l->values[best]))
            best = k;
    }
    return best;
}

/* One cycle with a weight vector for each class. */
static void direct_pass(learner *l, int64_t pass, double eta)
{
    const kc_rowwise *x = l->problem->x;
    const double margin = l->problem->settings->margin;
    kc_perceptron_state *state = l->state;

    for (size_t place = 0; place < x->n; place++) {
        const size_t i = sample_at(l, place);
        const int32_t own = l->problem->classes[i];
        const int32_t other = best_other(l, i, own);
        const double value = l->values[own] - l->values[other];

        state->n_steps++;
        if (is_mistake(l, i, value)) {
            const double s = eta * weight_of(l, i);

            count_mistake(l, pass, margin - value);
            state->n_updates++;
            log_update(l, i, own, other, s);
            step_aside(l, (size_t)own, s, i);
            step_aside(l, (size_t)other, -s, i);
            add_row(l->ops, x, state->weights + (size_t)own * x->d, s, i);
            add_row(l->ops, x, state->weights + (size_t)other * x->d, -s, i);
        }
        if (!may_go_on(l, row_count(x, i) * (size_t)l->n_outputs))
            return;
    }
}

/* ---- The batch rule ----------------------------------------------------------------------- */

static void add_to_sum(const learner *l, int32_t output, double s, size_t i)
{
    const kc_rowwise *x = l->problem->x;
    double *sum = l->sum + (size_t)output * (x->d + 1);

    add_row(l->ops, x, sum, s, i);
    if (l->problem->settings->has_intercept)
        sum[x->d] += s;
}

/* The sum of y over the mistakes of a. */
static void sum_mistakes(learner *l, int64_t pass)
{
    const kc_rowwise *x = l->problem->x;
    const double margin = l->problem->settings->margin;

    memset(l->sum, 0, (size_t)l->n_outputs * (x->d + 1) * sizeof *l->sum);
    for (size_t i = 0; i < x->n; i++) {
        const bool is_direct = l->n_outputs > 1;
        const int32_t own = is_direct ? l->problem->classes[i] : 0;
        const int32_t other = is_direct ? best_other(l, i, own) : -1;
        const double value = is_direct ? l->values[own] - l->values[other]
                                       : sign_of(l, i) * (dot_row(l->ops, x, l->state->weights, i) +
                                                          l->state->intercepts[0]);

        if (is_mistake(l, i, value)) {
            count_mistake(l, pass, margin - value);
            add_to_sum(l, own, weight_of(l, i) * (is_direct ? 1.0 : sign_of(l, i)), i);
            if (is_direct)
                add_to_sum(l, other, -weight_of(l, i), i);
        }
        if (!may_go_on(l, row_count(x, i) * (size_t)l->n_outputs))
            return;
    }
}

static void batch_pass(learner *l, int64_t pass, double eta)
{
    const size_t d = l->problem->x->d;
    double square = 0.0;

    sum_mistakes(l, pass);
    if (kc_call_stopped(l->call))
        return;
    for (size_t k = 0; k < (size_t)l->n_outputs * (d + 1); k++)
        square += l->sum[k] * l->sum[k];
    if (eta * sqrt(square) < l->problem->settings->theta) {
        l->state->is_converged = 1;
        return;
    }
    for (size_t output = 0; output < (size_t)l->n_outputs; output++) {
        const double *sum = l->sum + output * (d + 1);

        for (size_t t = 0; t < d; t++)
            l->state->weights[output * d + t] += eta * sum[t];
        l->state->intercepts[output] += eta * sum[d];
    }
    l->state->n_updates++;
}

/* ---- Driver ------------------------------------------------------------------------------- */

static kc_status prepare(learner *l)
{
    const kc_perceptron_settings *settings = l->problem->settings;
    const size_t n = l->problem->x->n, d = l->problem->x->d;

    l->values = kc_call_take(l->call, (size_t)l->n_outputs, sizeof *l->values);
    if (l->values == NULL)
        return kc_fail_nomem(l->call->err);
    if (settings->is_shuffled) {
        l->order = kc_call_take(l->call, n, sizeof *l->order);
        if (l->order == NULL)
            return kc_fail_nomem(l->call->err);
    }
    if (settings->rule == KC_RULE_BATCH) {
        l->sum = kc_call_take(l->call, (size_t)l->n_outputs, (d + 1) * sizeof *l->sum);
        if (l->sum == NULL)
            return kc_fail_nomem(l->call->err);
    }
    return KC_OK;
}

static void run_pass(learner *l, int64_t pass)
{
    const double eta = l->problem->settings->eta[pass];
    const size_t n = l->problem->x->n;

    if (l->order != NULL) { /* from scratch: passes may be made by several calls */
        for (size_t i = 0; i < n; i++)
            l->order[i] = (int32_t)i;
        kc_rng_shuffle(&l->rng, l->order, n);
    }
    if (l->problem->settings->rule == KC_RULE_BATCH)
        batch_pass(l, pass, eta);
    else if (l->n_outputs > 1)
        direct_pass(l, pass, eta);
    else
        single_pass(l, pass, eta);
}

kc_status kc_perceptron_solve(kc_call *call, const kc_perceptron_problem *problem,
                              kc_perceptron_state *state)
{
    learner l = {
        .call = call,
        .problem = problem,
        .ops = kc_linear_ops_of(problem->x->dtype),
        .state = state,
        .n_outputs = problem->settings->is_direct ? problem->n_classes : 1,
    };

    memcpy(l.rng.state, state->random, sizeof state->random);
    state->is_converged = 0;
    state->n_done = 0;
    state->n_log = 0;
    KC_TRY(prepare(&l));
    for (int64_t pass = 0; pass < problem->settings->n_passes && !state->is_converged; pass++) {
        state->mistakes[pass] = 0;
        state->criterion[pass] = 0.0;
        run_pass(&l, pass);
        call->progress.n_iter = pass + 1;
        call->progress.objective = state->criterion[pass];
        if (kc_call_poll(call) == KC_ERR_TIME)
            l.is_out_of_time = true;
        if (kc_call_stopped(call))
            break;
        state->n_done = pass + 1;
        if (state->mistakes[pass] == 0)
            state->is_converged = 1;
    }
    memcpy(state->random, l.rng.state, sizeof state->random);
    return kc_call_stopped(call) && !l.is_out_of_time ? kc_call_stop_error(call) : KC_OK;
}
