/* The single rule on one weight vector is one loop of simd/kc_linear_ops.h, in which a correction
 * and the product of the next sample are one pass over the weights.  All else goes from mistake to
 * mistake: while the weights stay as they are, the search for the next one is such a loop, too. */
#include "solver/kc_perceptron.h"

#include <math.h>
#include <string.h>

#include "base/kc_rng.h"

/* Numbers multiplied between two looks at the clock: below a millisecond. */
#define POLL_VALUES ((size_t)1 << 19)

/* Numbers that are checked before they are learnt from: they stay in the second-level cache. */
#define CHECKED_VALUES ((size_t)1 << 15)

/* Vectors that may be rated inside of a pass: with the one at its end and with the pass itself, the
 * samples are looked at two times more at the most. */
#define RATED_OF_PASS ((size_t)8)

typedef struct learner {
    kc_call *call;
    const kc_perceptron_problem *problem;
    kc_perceptron_state *state;
    int32_t n_outputs;
    kc_linear_samples samples; /* as the search reads them */
    size_t n_used;             /* samples with a weight that is not zero: others are not there */
    int32_t *used;             /* which they are; NULL: all */
    int32_t *order;            /* shuffled: the used ones in the order of this pass */
    double *values;            /* direct: of each output */
    double *sum;               /* batch: n_outputs x (d + 1), the intercept last */
    kc_rng rng;
    size_t row_values; /* about as many numbers are multiplied for a sample */
    size_t at_once;    /* samples between two looks at the clock */
    size_t since_poll;
    size_t n_seen;  /* samples of this pass that were looked at, and corrected if need be */
    size_t n_rated; /* vectors that were rated inside of this pass */
    bool is_overflown;
    kc_status status; /* of values that are checked as they are read */
} learner;

/* A sample with a.y <= margin. */
typedef struct mistake {
    size_t sample;
    double value;    /* a.y */
    double sign;     /* of what is added to `raised`: z, or 1 for the direct rule */
    int32_t raised;  /* the output that y is added to */
    int32_t lowered; /* direct: the one that it is taken from; else -1 */
} mistake;

/* ---- The search for mistakes -------------------------------------------------------------- */

/* A time limit ends the learning with what there is, anything else is an error. */
static bool has_ended(const learner *l)
{
    return kc_call_stopped(l->call) || l->is_overflown || l->status != KC_OK;
}

/* Whether a pass is one loop of simd/kc_linear_ops.h. */
static bool is_one_loop(const learner *l)
{
    return l->problem->settings->rule == KC_RULE_SINGLE && l->n_outputs == 1 &&
           l->state->best_weights == NULL;
}

/* Whether this pass came to its end before the learning did. */
static bool is_whole(const learner *l)
{
    return l->n_seen == l->n_used && !l->is_overflown;
}

static void poll_after(learner *l, size_t n_samples)
{
    l->since_poll += n_samples * l->row_values;
    if (l->since_poll >= POLL_VALUES) {
        l->since_poll = 0;
        (void)kc_call_poll(l->call);
    }
}

static double weight_of(const learner *l, size_t i)
{
    return l->problem->weights != NULL ? l->problem->weights[i] : 1.0;
}

static size_t sample_at(const learner *l, size_t place)
{
    return l->samples.order != NULL ? (size_t)l->samples.order[place] : place;
}

static size_t scan_single(const learner *l, const double *weights, const double *intercepts,
                          double margin, size_t begin, size_t end, mistake *found)
{
    const kc_rowwise *x = l->problem->x;
    double value = 0.0;
    const size_t place =
        x->ops->scan(&l->samples, weights, *intercepts, margin, begin, end, &value);

    if (place < end) {
        const size_t i = sample_at(l, place);
        const double sign = l->problem->classes[i] == l->state->positive ? 1.0 : -1.0;

        *found = (mistake){i, value, sign, 0, -1};
    }
    return place;
}

/* The same with a weight vector for each class: the value is that of the sample's own class less
 * the largest other one. */
static size_t scan_direct(const learner *l, const double *weights, const double *intercepts,
                          double margin, size_t begin, size_t end, mistake *found)
{
    const kc_rowwise *x = l->problem->x;

    for (size_t place = begin; place < end; place++) {
        const size_t i = sample_at(l, place);
        const int32_t own = l->problem->classes[i];
        int32_t other = -1;

        for (int32_t k = 0; k < l->n_outputs; k++) {
            l->values[k] = kc_rowwise_value(x, i, weights + (size_t)k * x->d, intercepts[k]);
            if (k != own && (other < 0 || !(l->values[k] <= l->values[other])))
                other = k;
        }
        if (!(l->values[own] - l->values[other] > margin)) {
            *found = (mistake){i, l->values[own] - l->values[other], 1.0, own, other};
            return place;
        }
    }
    return end;
}

/* The place of the first mistake from `from` on; n_used where there is none, or where the learning
 * has ended. */
static size_t find_mistake(learner *l, const double *weights, const double *intercepts,
                           double margin, size_t from, mistake *found)
{
    l->n_seen = from;
    while (from < l->n_used && !has_ended(l)) {
        const size_t end = kc_min(l->n_used, from + l->at_once);
        const size_t place = l->n_outputs > 1
                                 ? scan_direct(l, weights, intercepts, margin, from, end, found)
                                 : scan_single(l, weights, intercepts, margin, from, end, found);

        poll_after(l, place - from + 1);
        l->n_seen = place;
        if (place < end) {
            l->is_overflown = !isfinite(found->value);
            return has_ended(l) ? l->n_used : place;
        }
        from = end;
    }
    return l->n_used;
}

/* ---- The pocket --------------------------------------------------------------------------- */

/* The weight and the number of the samples with a.y <= 0; false where that weight comes to `limit`,
 * or the learning has ended. */
static bool rate(learner *l, const double *weights, const double *intercepts, double limit,
                 double *loss, int64_t *n_mistakes)
{
    mistake m;

    *loss = 0.0;
    *n_mistakes = 0;
    for (size_t place = find_mistake(l, weights, intercepts, 0.0, 0, &m); place < l->n_used;
         place = find_mistake(l, weights, intercepts, 0.0, place + 1, &m)) {
        *loss += weight_of(l, m.sample);
        ++*n_mistakes;
        if (*loss >= limit)
            return false;
    }
    return !has_ended(l);
}

/* What the pocket holds from before is rated on these samples, too. */
static void open_pocket(learner *l)
{
    kc_perceptron_state *state = l->state;
    int64_t n_mistakes;
    double loss;

    if (state->best_weights != NULL && state->has_best &&
        rate(l, state->best_weights, state->best_intercepts, HUGE_VAL, &loss, &n_mistakes)) {
        state->best_loss = loss;
        state->best_mistakes = n_mistakes;
    }
}

/* `run` samples one after the other were right by the vector at hand. */
static void keep_best(learner *l, int64_t run)
{
    const size_t n_outputs = (size_t)l->n_outputs;
    kc_perceptron_state *state = l->state;
    const double limit = state->has_best ? state->best_loss : HUGE_VAL;
    int64_t n_mistakes;
    double loss;

    if (state->best_weights == NULL || has_ended(l) ||
        !rate(l, state->weights, state->intercepts, limit, &loss, &n_mistakes) || !(loss < limit))
        return;
    memcpy(state->best_weights, state->weights,
           n_outputs * l->problem->x->d * sizeof *state->best_weights);
    memcpy(state->best_intercepts, state->intercepts, n_outputs * sizeof *state->best_intercepts);
    state->best_loss = loss;
    state->best_mistakes = n_mistakes;
    state->best_run = run;
    state->has_best = 1;
}

/* Gallant's ratchet: before the vector at hand is corrected for the sample at `place`.  One that
 * was right for long is worth a rating.  Runs are short where mistakes are many, so that the
 * number of ratings is bounded as well, in step with the pass: all ratings would else be made at
 * its beginning. */
static void keep_if_long(learner *l, size_t place, int64_t run)
{
    if (l->state->best_weights == NULL || (l->state->has_best && run < l->state->best_run) ||
        l->n_rated > RATED_OF_PASS * place / l->n_used)
        return;
    l->n_rated++;
    keep_best(l, run);
}

/* ---- The fixed-increment rule ------------------------------------------------------------- */

static void count_mistake(learner *l, int64_t pass, const mistake *m)
{
    l->state->mistakes[pass]++;
    l->state->criterion[pass] +=
        weight_of(l, m->sample) * (l->problem->settings->margin - m->value);
}

/* Where to stop for a look at the clock.  Samples in their order are checked up to there, in
 * shorter runs. */
static size_t next_stop(learner *l, size_t place)
{
    kc_rowwise *x = l->problem->x;
    const bool is_checking = l->order == NULL && x->n_checked < x->n && !x->are_ones;
    const size_t run = is_checking ? kc_max(1, CHECKED_VALUES / l->row_values) : l->at_once;
    const size_t end = kc_min(l->n_used, place + run);

    if (is_checking)
        l->status = kc_rowwise_check(l->call, x, sample_at(l, end - 1) + 1);
    return l->status == KC_OK ? end : place;
}

/* One cycle over the samples with one weight vector, of which only the last is looked at. */
static void single_pass(learner *l, int64_t pass, double eta)
{
    const kc_rowwise *x = l->problem->x;
    kc_perceptron_state *state = l->state;
    kc_linear_learner rule = {
        .margin = l->problem->settings->margin,
        .eta = eta,
        .sample_weights = l->problem->weights,
        .has_intercept = l->problem->settings->has_intercept != 0,
        .a = state->weights,
        .b = state->intercepts[0],
        .time_weighted_a = state->time_weighted,
        .time_weighted_b = state->time_weighted != NULL ? state->time_weighted_intercepts[0] : 0.0,
        .n_before = state->n_steps,
        .log = state->log != NULL ? state->log + state->n_log : NULL,
    };
    size_t place = 0;

    while (place < l->n_used && !has_ended(l)) {
        const size_t end = next_stop(l, place);
        const size_t reached = x->ops->learn(&l->samples, &rule, place, end);

        l->is_overflown = reached < end;
        poll_after(l, reached - place);
        place = reached;
    }
    state->intercepts[0] = rule.b;
    if (state->time_weighted != NULL)
        state->time_weighted_intercepts[0] = rule.time_weighted_b;
    if (state->log != NULL)
        state->n_log = rule.log - state->log;
    l->n_seen = place;
    state->n_steps += (int64_t)place;
    state->n_updates += rule.n_mistakes;
    state->mistakes[pass] = rule.n_mistakes;
    state->criterion[pass] = rule.criterion;
}

/* ---- The same from mistake to mistake: a vector for each class, or with a pocket ----------- */

static void log_update(const learner *l, const mistake *m, double step)
{
    if (l->state->log != NULL)
        l->state->log[l->state->n_log++] = (kc_perceptron_update){
            .at = l->state->n_steps,
            .sample = (int32_t)m->sample,
            .raised = m->raised,
            .lowered = m->lowered,
            .step = step,
        };
}

static void move_output(const learner *l, int32_t output, double step, size_t i)
{
    const kc_rowwise *x = l->problem->x;
    const size_t first = (size_t)output * x->d;
    kc_perceptron_state *state = l->state;
    const double time_weighted = (double)state->n_steps * step;
    const bool has_intercept = l->problem->settings->has_intercept != 0;

    kc_rowwise_add(x, i, step, state->weights + first);
    if (has_intercept)
        state->intercepts[output] += step;
    if (state->time_weighted == NULL)
        return;
    kc_rowwise_add(x, i, time_weighted, state->time_weighted + first);
    if (has_intercept)
        state->time_weighted_intercepts[output] += time_weighted;
}

static void correct(learner *l, int64_t pass, const mistake *m, double eta)
{
    const double step = m->sign * eta * weight_of(l, m->sample);

    l->state->n_updates++;
    l->state->changed_at = l->state->n_steps;
    count_mistake(l, pass, m);
    log_update(l, m, step);
    move_output(l, m->raised, step, m->sample);
    if (m->lowered >= 0)
        move_output(l, m->lowered, -step, m->sample);
}

static void stepwise_pass(learner *l, int64_t pass, double eta)
{
    kc_perceptron_state *state = l->state;
    const double margin = l->problem->settings->margin;
    const int64_t before = state->n_steps;
    mistake m;
    size_t place = find_mistake(l, state->weights, state->intercepts, margin, 0, &m);

    while (place < l->n_used) {
        state->n_steps = before + (int64_t)place;
        keep_if_long(l, place, state->n_steps - state->changed_at);
        state->n_steps++;
        correct(l, pass, &m, eta);
        place = find_mistake(l, state->weights, state->intercepts, margin, place + 1, &m);
    }
    state->n_steps = before + (int64_t)l->n_seen;
}

/* ---- The batch rule ----------------------------------------------------------------------- */

static void add_to_sum(const learner *l, int32_t output, double s, size_t i)
{
    const kc_rowwise *x = l->problem->x;
    double *sum = l->sum + (size_t)output * (x->d + 1);

    kc_rowwise_add(x, i, s, sum);
    if (l->problem->settings->has_intercept)
        sum[x->d] += s;
}

/* The sum of y over the mistakes of a. */
static void sum_mistakes(learner *l, int64_t pass)
{
    const kc_perceptron_state *state = l->state;
    const double margin = l->problem->settings->margin;
    mistake m;
    size_t place = find_mistake(l, state->weights, state->intercepts, margin, 0, &m);

    memset(l->sum, 0, (size_t)l->n_outputs * (l->problem->x->d + 1) * sizeof *l->sum);
    while (place < l->n_used) {
        const double weight = weight_of(l, m.sample);

        count_mistake(l, pass, &m);
        add_to_sum(l, m.raised, weight * m.sign, m.sample);
        if (m.lowered >= 0)
            add_to_sum(l, m.lowered, -weight, m.sample);
        place = find_mistake(l, state->weights, state->intercepts, margin, place + 1, &m);
    }
}

static void batch_pass(learner *l, int64_t pass, double eta)
{
    const size_t d = l->problem->x->d;
    kc_perceptron_state *state = l->state;
    double square = 0.0;

    sum_mistakes(l, pass);
    if (!is_whole(l) || state->mistakes[pass] == 0)
        return;
    for (size_t output = 0; output < (size_t)l->n_outputs; output++) {
        const double *sum = l->sum + output * (d + 1);

        for (size_t t = 0; t < d; t++) {
            state->weights[output * d + t] += eta * sum[t];
            square += sum[t] * sum[t];
        }
        state->intercepts[output] += eta * sum[d];
        square += sum[d] * sum[d];
    }
    state->n_updates++;
    state->is_converged = eta * sqrt(square) < l->problem->settings->theta;
}

/* ---- Driver ------------------------------------------------------------------------------- */

static kc_status list_used(learner *l)
{
    const double *weights = l->problem->weights;
    const size_t n = l->problem->x->n;

    l->n_used = n;
    for (size_t i = 0; weights != NULL && i < n; i++)
        l->n_used -= weights[i] == 0.0;
    if (l->n_used == n)
        return KC_OK;
    l->used = kc_call_take(l->call, kc_max(1, l->n_used), sizeof *l->used);
    if (l->used == NULL)
        return kc_fail_nomem(l->call->err);
    for (size_t i = 0, k = 0; i < n; i++)
        if (weights[i] != 0.0)
            l->used[k++] = (int32_t)i;
    return KC_OK;
}

static kc_status prepare(learner *l)
{
    const kc_perceptron_settings *settings = l->problem->settings;
    const kc_rowwise *x = l->problem->x;
    const size_t n_outputs = (size_t)l->n_outputs;

    KC_TRY(list_used(l));
    l->row_values = (kc_rowwise_mean_count(x) + 8) * n_outputs;
    l->at_once = kc_max(1, POLL_VALUES / l->row_values);
    l->samples = kc_rowwise_samples(x);
    l->samples.classes = l->problem->classes;
    l->samples.positive = l->state->positive;
    l->samples.order = l->used;
    l->values = kc_call_take(l->call, n_outputs, sizeof *l->values);
    if (l->values == NULL)
        return kc_fail_nomem(l->call->err);
    if (settings->is_shuffled) {
        l->order = kc_call_take(l->call, kc_max(1, l->n_used), sizeof *l->order);
        if (l->order == NULL)
            return kc_fail_nomem(l->call->err);
    }
    if (settings->rule == KC_RULE_BATCH) {
        l->sum = kc_call_take(l->call, n_outputs, (x->d + 1) * sizeof *l->sum);
        if (l->sum == NULL)
            return kc_fail_nomem(l->call->err);
    }
    return KC_OK;
}

/* From scratch for every pass: passes may be made by several calls. */
static void shuffle(learner *l)
{
    for (size_t k = 0; k < l->n_used; k++)
        l->order[k] = l->used != NULL ? l->used[k] : (int32_t)k;
    kc_rng_shuffle(&l->rng, l->order, l->n_used);
    l->samples.order = l->order;
}

static void run_pass(learner *l, int64_t pass)
{
    const double eta = l->problem->settings->eta[pass];
    kc_perceptron_state *state = l->state;

    state->mistakes[pass] = 0;
    state->criterion[pass] = 0.0;
    l->n_seen = l->n_rated = 0;
    if (l->order != NULL)
        shuffle(l);
    if (l->problem->settings->rule == KC_RULE_BATCH)
        batch_pass(l, pass, eta);
    else if (is_one_loop(l))
        single_pass(l, pass, eta);
    else
        stepwise_pass(l, pass, eta);
    if (!is_whole(l))
        return;
    state->n_done = pass + 1;
    if (state->mistakes[pass] == 0)
        state->is_converged = 1;
    keep_best(l, state->n_steps - state->changed_at);
    l->call->progress.n_iter = pass + 1;
    l->call->progress.objective = state->criterion[pass];
    (void)kc_call_poll(l->call);
}

static bool are_finite(const double *values, size_t n)
{
    for (size_t k = 0; values != NULL && k < n; k++)
        if (!isfinite(values[k]))
            return false;
    return true;
}

static kc_status check_result(learner *l)
{
    const kc_perceptron_state *state = l->state;
    const size_t n_outputs = (size_t)l->n_outputs, n_weights = n_outputs * l->problem->x->d;

    if (kc_call_poll(l->call) == KC_ERR_CANCELLED)
        return kc_call_stop_error(l->call);
    if (l->is_overflown || !are_finite(state->weights, n_weights) ||
        !are_finite(state->intercepts, n_outputs) || !are_finite(state->time_weighted, n_weights) ||
        !are_finite(state->time_weighted_intercepts, n_outputs))
        return kc_fail(l->call->err, KC_ERR_RANGE,
                       "pass %lld overflows float64; scale the data or lower eta",
                       (long long)state->n_done + (l->is_overflown ? 1 : 0));
    return KC_OK;
}

kc_status kc_perceptron_solve(kc_call *call, const kc_perceptron_problem *problem,
                              kc_perceptron_state *state)
{
    learner l = {
        .call = call,
        .problem = problem,
        .state = state,
        .n_outputs = problem->settings->is_direct ? problem->n_classes : 1,
    };

    memcpy(l.rng.state, state->random, sizeof state->random);
    state->is_converged = 0;
    state->n_done = 0;
    state->n_log = 0;
    KC_TRY(prepare(&l));
    if (!is_one_loop(&l) || l.order != NULL)
        KC_TRY(kc_rowwise_check(call, problem->x, problem->x->n));
    open_pocket(&l);
    for (int64_t pass = 0; pass < problem->settings->n_passes; pass++) {
        run_pass(&l, pass);
        if (state->is_converged || has_ended(&l))
            break;
    }
    memcpy(state->random, l.rng.state, sizeof state->random);
    KC_TRY(l.status);
    KC_TRY(kc_rowwise_check(call, problem->x, problem->x->n)); /* what was not come to */
    return check_result(&l);
}
