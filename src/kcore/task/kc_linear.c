/* One set of samples, read in place, for all problems of a call. */
#include "task/kc_linear.h"

#include <math.h>

#include "base/kc_thread.h"
#include "data/kc_rowwise.h"
#include "function/kc_voted.h"
#include "solver/kc_perceptron.h"

/* Products of one chunk of decision values. */
#define CHUNK_WORK ((size_t)1 << 20)

kc_status kc_linear_learn(kc_call *call, const kc_perceptron_settings *settings,
                          const kc_perceptron_data *data, kc_perceptron_state *states,
                          size_t n_states)
{
    kc_rowwise x;
    kc_status status = kc_rowwise_open(call, data->x, &x);
    const kc_perceptron_problem problem = {
        .settings = settings,
        .x = &x,
        .classes = data->classes,
        .n_classes = data->n_classes,
        .weights = data->weights,
    };

    for (size_t k = 0; status == KC_OK && k < n_states; k++)
        status = kc_perceptron_solve(call, &problem, &states[k]);
    kc_rowwise_free(call->ctx, &x);
    return status;
}

typedef struct decision {
    const kc_rowwise *x;
    const double *weights, *intercepts;
    size_t n_outputs, rows_per_chunk;
    double *out;
} decision;

static void decide_chunk(void *data, size_t chunk, int32_t worker)
{
    const decision *job = data;
    const size_t begin = chunk * job->rows_per_chunk;
    const size_t end = kc_min(begin + job->rows_per_chunk, job->x->n);

    (void)worker;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < job->n_outputs; k++)
            job->out[i * job->n_outputs + k] =
                kc_rowwise_value(job->x, i, job->weights + k * job->x->d, job->intercepts[k]);
}

static kc_status decide_all(kc_call *call, const kc_rowwise *x, const double *weights,
                            const double *intercepts, size_t n_outputs, double *out)
{
    decision job = {
        .x = x,
        .weights = weights,
        .intercepts = intercepts,
        .n_outputs = n_outputs,
        .rows_per_chunk = kc_max(1, CHUNK_WORK / n_outputs / x->d),
        .out = out,
    };

    return kc_parallel_for(call, kc_ceil_div(x->n, job.rows_per_chunk), decide_chunk, &job);
}

kc_status kc_linear_decide(kc_call *call, const kc_points *points, const double *weights,
                           const double *intercepts, size_t n_outputs, double *out)
{
    kc_rowwise x;
    kc_status status = kc_rowwise_create(call, points, &x);

    if (status == KC_OK)
        status = decide_all(call, &x, weights, intercepts, n_outputs, out);
    kc_rowwise_free(call->ctx, &x);
    return status;
}

/* x_i.x is a kernel value like any other: in float64, as the vectors are. */
static kc_status vote_by(kc_call *call, const kc_kernel *kernel, const kc_packed *points,
                         const kc_perceptron_history *history, const kc_points *x, double *out,
                         size_t ld)
{
    const kc_voted f = {
        .kernel = kernel,
        .dtype = KC_F64,
        .points = points,
        .n = points->n,
        .n_cols = (size_t)x->n_cols,
        .offset = history->has_intercept ? 1 : 0,
        .n_outputs = (size_t)history->n_outputs,
        .is_joint = history->n_outputs > 1,
        .updates = history->updates,
        .n_updates = (size_t)history->n_updates,
        .n_steps = &history->n_steps,
    };

    return kc_voted_count(call, &f, x, out, ld);
}

kc_status kc_linear_vote(kc_call *call, const kc_perceptron_history *history, const kc_points *x,
                         double *out, size_t ld)
{
    kc_packed points = {.dtype = KC_F64};
    kc_kernel *kernel = NULL;
    kc_status status = kc_kernel_leaf(call->ctx, "linear", NULL, 0, &kernel, call->err);

    if (status == KC_OK)
        status = kc_kernel_check(kernel, x, history->n_updates > 0 ? history->x : x, call->err);
    if (status == KC_OK)
        status = history->n_updates > 0
                     ? kc_prepare(call, kernel, history->x, NULL, KC_F64, &points)
                     : kc_packed_none(call, x, KC_F64, &points);
    if (status == KC_OK)
        status = vote_by(call, kernel, &points, history, x, out, ld);
    kc_packed_free(call->ctx, &points);
    kc_kernel_free(call->ctx, kernel);
    return status;
}

static void find_min(const kc_perceptron_data *data, int32_t positive, const double *values,
                     kc_perceptron_margin *out)
{
    out->min_value = INFINITY;
    out->n_mistakes = 0;
    for (int64_t i = 0; i < data->x->n_rows; i++) {
        const double value = data->classes[i] == positive ? values[i] : -values[i];

        if (data->weights != NULL && data->weights[i] == 0.0)
            continue;
        if (!(value >= out->min_value))
            out->min_value = value;
        out->n_mistakes += !(value > 0.0);
    }
}

kc_status kc_linear_measure(kc_call *call, const kc_perceptron_data *data, int32_t positive,
                            const double *weights, double intercept, kc_perceptron_margin *out)
{
    kc_rowwise x;
    kc_status status = kc_rowwise_create(call, data->x, &x);
    double *values = NULL;

    if (status == KC_OK && (values = kc_call_take(call, x.n, sizeof *values)) == NULL)
        status = kc_fail_nomem(call->err);
    if (status == KC_OK)
        status = decide_all(call, &x, weights, &intercept, 1, values);
    if (status == KC_OK)
        status = kc_rowwise_max_sq_norm(call, &x, &out->max_sq_norm);
    if (status == KC_OK)
        find_min(data, positive, values, out);
    kc_rowwise_free(call->ctx, &x);
    return status;
}
