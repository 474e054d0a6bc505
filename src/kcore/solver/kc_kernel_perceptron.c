/* Rows come from the store, which keeps those there is room for: later passes find most mistakes
 * there.  A row that is missing is computed together with those of the samples that, as things
 * stand, will be the next mistakes of the pass: several rows cost little more than one, since the
 * samples are read once for all of them. */
#include "solver/kc_kernel_perceptron.h"

#include <math.h>
#include <string.h>

#include "base/kc_rng.h"
#include "simd/kc_smo_ops.h"

/* Rows computed at once, and samples looked at to find them. */
#define BATCH ((size_t)12)
#define LOOK_AHEAD ((size_t)4096)

/* Samples between two looks at the clock. */
#define POLL_SAMPLES ((size_t)1 << 16)

typedef struct learner {
    kc_call *call;
    const kc_kernel_problem *problem;
    kc_perceptron_state *state;
    double *values; /* n_outputs x n */
    size_t n;
    int32_t n_outputs;
    kc_cols cols;      /* all samples */
    size_t n_used;     /* samples with a weight that is not zero: others are not there */
    int32_t *used;     /* which they are; NULL: all */
    int32_t *shuffled; /* the used ones in the order of this pass */
    int32_t *order;    /* of this pass; NULL: 0, 1, 2, ... */
    uint8_t *is_asked; /* n: whether the row was computed once */
    double *steps;     /* batch: n_outputs x n, what coefficients move by */
    double *changes;   /* batch: n_outputs x n, what values move by */
    int32_t *moved;    /* batch: n */
    kc_rng rng;
    size_t since_poll;
} learner;

/* ---- Samples ------------------------------------------------------------------------------ */

static kc_status poll(learner *l, size_t n_samples)
{
    l->since_poll += n_samples;
    if (l->since_poll < POLL_SAMPLES)
        return KC_OK;
    l->since_poll = 0;
    return kc_call_poll(l->call);
}

static size_t sample_at(const learner *l, size_t place)
{
    return l->order != NULL ? (size_t)l->order[place] : place;
}

static double weight_of(const learner *l, size_t i)
{
    return l->problem->weights != NULL ? l->problem->weights[i] : 1.0;
}

static double value_of(const learner *l, int32_t output, size_t i)
{
    return l->values[(size_t)output * l->n + i] + l->state->intercepts[output];
}

/* a.y of a sample; its output and the one it is to be told from: -1 with one output. */
typedef struct verdict {
    int32_t own, other;
    double sign; /* of the step of `own` */
    double value;
} verdict;

static verdict judge(const learner *l, size_t i)
{
    verdict v = {.own = 0, .other = -1, .sign = 1.0};

    if (l->n_outputs == 1) {
        v.sign = l->problem->classes[i] == l->state->positive ? 1.0 : -1.0;
        v.value = v.sign * value_of(l, 0, i);
        return v;
    }
    v.own = l->problem->classes[i];
    for (int32_t k = 0; k < l->n_outputs; k++)
        if (k != v.own && (v.other < 0 || value_of(l, k, i) > value_of(l, v.other, i)))
            v.other = k;
    v.value = value_of(l, v.own, i) - value_of(l, v.other, i);
    return v;
}

/* NaN too: then the values have overflowed. */
static bool is_mistake(const learner *l, const verdict *v)
{
    return !(v->value > l->problem->settings->margin);
}

static kc_status count_mistake(const learner *l, int64_t pass, size_t i, const verdict *v)
{
    if (!isfinite(v->value))
        return kc_fail(l->call->err, KC_ERR_RANGE,
                       "pass %lld overflows float64; scale the data or lower eta",
                       (long long)l->state->n_done + 1);
    l->state->mistakes[pass]++;
    l->state->criterion[pass] += weight_of(l, i) * (l->problem->settings->margin - v->value);
    return KC_OK;
}

/* ---- Rows --------------------------------------------------------------------------------- */

/* The row of the sample at `place`; others that will be needed soon are computed with it. */
static kc_status fetch_row(learner *l, size_t place, const void **row)
{
    const size_t most = kc_min(BATCH, kc_store_slots(l->problem->store) / 2);
    const size_t end = kc_min(l->n_used, place + LOOK_AHEAD);
    const void *rows[BATCH];
    int32_t points[BATCH];
    size_t n = 0;

    points[n++] = (int32_t)sample_at(l, place);
    if (!l->is_asked[points[0]])
        for (size_t next = place + 1; next < end && n < most; next++) {
            const size_t i = sample_at(l, next);
            const verdict v = judge(l, i);

            if (!l->is_asked[i] && is_mistake(l, &v))
                points[n++] = (int32_t)i;
        }
    KC_TRY(kc_store_get(l->call, l->problem->store, &l->cols, points, n, rows));
    for (size_t k = 0; k < n; k++)
        l->is_asked[points[k]] = 1;
    *row = rows[0];
    return KC_OK;
}

/* ---- The fixed-increment rule ------------------------------------------------------------- */

/* One output moves by `step` times sample i, whose row is at hand. */
static void move(const learner *l, int32_t output, size_t i, double step, const void *row)
{
    const kc_smo_row_ops *ops = kc_smo_rows(kc_smo_ops_chosen(), kc_store_dtype(l->problem->store));
    kc_perceptron_state *state = l->state;
    double *values = l->values + (size_t)output * l->n;
    const double late = (double)state->n_steps * step, minus = -step;
    const bool has_intercept = l->problem->settings->has_intercept != 0;

    ops->sweep(values, values, &row, &minus, 1, l->n);
    state->weights[(size_t)output * l->n + i] += step;
    if (has_intercept)
        state->intercepts[output] += step;
    if (state->late_weights == NULL)
        return;
    state->late_weights[(size_t)output * l->n + i] += late;
    if (has_intercept)
        state->late_intercepts[output] += late;
}

static void log_update(const learner *l, size_t i, const verdict *v, double step)
{
    if (l->state->log != NULL)
        l->state->log[l->state->n_log++] = (kc_perceptron_update){
            .at = l->state->n_steps,
            .sample = (int32_t)i,
            .raised = v->own,
            .lowered = v->other,
            .step = step,
        };
}

static kc_status single_pass(learner *l, int64_t pass, double eta)
{
    for (size_t place = 0; place < l->n_used; place++) {
        const size_t i = sample_at(l, place);
        const verdict v = judge(l, i);
        const double step = eta * weight_of(l, i) * v.sign;
        const void *row;

        if (is_mistake(l, &v)) {
            KC_TRY(kc_call_poll(l->call));
            KC_TRY(fetch_row(l, place, &row));
            KC_TRY(count_mistake(l, pass, i, &v));
            l->state->n_steps++;
            l->state->n_updates++;
            log_update(l, i, &v, step);
            move(l, v.own, i, step, row);
            if (v.other >= 0)
                move(l, v.other, i, -step, row);
        } else {
            l->state->n_steps++;
            KC_TRY(poll(l, 1));
        }
    }
    return KC_OK;
}

/* ---- The batch rule ----------------------------------------------------------------------- */

/* What each coefficient would move by with eta = 1: y summed over the mistakes. */
static kc_status find_steps(learner *l, int64_t pass)
{
    memset(l->steps, 0, (size_t)l->n_outputs * l->n * sizeof *l->steps);
    for (size_t place = 0; place < l->n_used; place++) {
        const size_t i = sample_at(l, place);
        const verdict v = judge(l, i);

        if (is_mistake(l, &v)) {
            KC_TRY(count_mistake(l, pass, i, &v));
            l->steps[(size_t)v.own * l->n + i] += weight_of(l, i) * v.sign;
            if (v.other >= 0)
                l->steps[(size_t)v.other * l->n + i] -= weight_of(l, i);
        }
        KC_TRY(poll(l, 1));
    }
    return KC_OK;
}

/* K steps of one output, at every sample. */
static kc_status find_changes(learner *l, int32_t output)
{
    const double *steps = l->steps + (size_t)output * l->n;
    double *changes = l->changes + (size_t)output * l->n;
    const kc_arena_point point = kc_arena_mark(l->call->arena);
    double *delta = kc_call_take(l->call, l->n, sizeof *delta);
    kc_moved moved = {.points = l->moved, .delta = delta};
    kc_status status;

    if (delta == NULL)
        return kc_fail_nomem(l->call->err);
    for (size_t i = 0; i < l->n; i++)
        if (steps[i] != 0) {
            l->moved[moved.n] = (int32_t)i;
            delta[moved.n++] = -steps[i];
        }
    memset(changes, 0, l->n * sizeof *changes);
    status = kc_store_apply(l->call, l->problem->store, &l->cols, &moved, changes, changes);
    kc_arena_release(l->call->arena, point);
    return status;
}

static double sum_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* |sum of y|^2 = steps' (K + 1) steps: never negative but for rounding, or kernels that are not
 * definite. */
static double square_of_step(const learner *l)
{
    double square = 0;

    for (size_t o = 0; o < (size_t)l->n_outputs; o++) {
        const double *steps = l->steps + o * l->n, *changes = l->changes + o * l->n;
        const double sum = sum_of(steps, l->n);

        for (size_t i = 0; i < l->n; i++)
            square += steps[i] * changes[i];
        if (l->problem->settings->has_intercept)
            square += sum * sum;
    }
    return fabs(square);
}

static kc_status batch_pass(learner *l, int64_t pass, double eta)
{
    KC_TRY(find_steps(l, pass));
    if (l->state->mistakes[pass] == 0)
        return KC_OK;
    for (int32_t output = 0; output < l->n_outputs; output++)
        KC_TRY(find_changes(l, output));
    for (size_t k = 0; k < (size_t)l->n_outputs * l->n; k++) {
        l->state->weights[k] += eta * l->steps[k];
        l->values[k] += eta * l->changes[k];
    }
    if (l->problem->settings->has_intercept)
        for (size_t o = 0; o < (size_t)l->n_outputs; o++)
            l->state->intercepts[o] += eta * sum_of(l->steps + o * l->n, l->n);
    l->state->n_updates++;
    l->state->is_converged = eta * sqrt(square_of_step(l)) < l->problem->settings->theta;
    return KC_OK;
}

/* ---- Driver ------------------------------------------------------------------------------- */

static kc_status list_used(learner *l)
{
    const double *weights = l->problem->weights;

    l->n_used = l->n;
    for (size_t i = 0; weights != NULL && i < l->n; i++)
        l->n_used -= weights[i] == 0.0;
    if (l->n_used == l->n)
        return KC_OK;
    l->used = kc_call_take(l->call, kc_max(1, l->n_used), sizeof *l->used);
    if (l->used == NULL)
        return kc_fail_nomem(l->call->err);
    for (size_t i = 0, k = 0; i < l->n; i++)
        if (weights[i] != 0.0)
            l->used[k++] = (int32_t)i;
    l->order = l->used;
    return KC_OK;
}

static kc_status prepare(learner *l)
{
    const kc_perceptron_settings *settings = l->problem->settings;
    const size_t n_values = (size_t)l->n_outputs * l->n;
    const bool is_batch = settings->rule == KC_RULE_BATCH;

    KC_TRY(list_used(l));
    l->is_asked = kc_call_take(l->call, l->n, sizeof *l->is_asked);
    if (settings->is_shuffled)
        l->shuffled = kc_call_take(l->call, kc_max(1, l->n_used), sizeof *l->shuffled);
    if (l->is_asked == NULL || (settings->is_shuffled && l->shuffled == NULL))
        return kc_fail_nomem(l->call->err);
    memset(l->is_asked, 0, l->n * sizeof *l->is_asked);
    if (is_batch) {
        l->steps = kc_call_take(l->call, n_values, sizeof *l->steps);
        l->changes = kc_call_take(l->call, n_values, sizeof *l->changes);
        l->moved = kc_call_take(l->call, l->n, sizeof *l->moved);
        if (l->steps == NULL || l->changes == NULL || l->moved == NULL)
            return kc_fail_nomem(l->call->err);
    }
    return KC_OK;
}

/* From scratch for every pass: passes may be made by several calls. */
static void shuffle(learner *l)
{
    for (size_t k = 0; k < l->n_used; k++)
        l->shuffled[k] = l->used != NULL ? l->used[k] : (int32_t)k;
    kc_rng_shuffle(&l->rng, l->shuffled, l->n_used);
    l->order = l->shuffled;
}

static kc_status run_pass(learner *l, int64_t pass)
{
    const double eta = l->problem->settings->eta[pass];

    l->state->mistakes[pass] = 0;
    l->state->criterion[pass] = 0.0;
    if (l->shuffled != NULL)
        shuffle(l);
    KC_TRY(l->problem->settings->rule == KC_RULE_BATCH ? batch_pass(l, pass, eta)
                                                       : single_pass(l, pass, eta));
    l->call->progress.n_iter = pass + 1;
    l->call->progress.objective = l->state->criterion[pass];
    return kc_call_poll(l->call);
}

kc_status kc_kernel_perceptron_solve(kc_call *call, const kc_kernel_problem *problem,
                                     kc_perceptron_state *state, double *values)
{
    const size_t n = kc_store_points(problem->store);
    learner l = {
        .call = call,
        .problem = problem,
        .state = state,
        .values = values,
        .n = n,
        .n_outputs = problem->settings->is_direct ? problem->n_classes : 1,
        .cols = {.span = {{0, n}}, .n_spans = 1},
    };
    const kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status = prepare(&l);

    memcpy(l.rng.state, state->random, sizeof state->random);
    state->is_converged = 0;
    state->n_done = 0;
    state->n_log = 0;
    for (int64_t pass = 0;
         status == KC_OK && pass < problem->settings->n_passes && !state->is_converged; pass++) {
        status = run_pass(&l, pass);
        if (status != KC_OK)
            break;
        state->n_done = pass + 1;
        if (state->mistakes[pass] == 0)
            state->is_converged = 1;
    }
    memcpy(state->random, l.rng.state, sizeof state->random);
    kc_arena_release(call->arena, point);
    if (kc_call_stopped(call)) /* a time limit leaves what there is */
        return kc_call_poll(call) == KC_ERR_TIME ? KC_OK : kc_call_stop_error(call);
    return status;
}
