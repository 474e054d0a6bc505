/* Rows come from the store, which keeps those there is room for: later passes find most mistakes
 * there.
 *
 * Several rows cost little more than one, since the samples are read once for all of them.  So
 * where rows are missing, a window of the samples to come is looked at through the small matrix of
 * their own kernel values: that shows which of them are mistakes, one correction after the other.
 * Then the rows of these are computed together, and all values are moved.  A value is moved by the
 * same operations in the same order either way. */
#include "solver/kc_kernel_perceptron.h"

#include <math.h>
#include <string.h>

#include "base/kc_rng.h"
#include "simd/kc_smo_ops.h"

/* Rows computed at once, samples of a window, and mistakes that make one worth its matrix. */
#define MAX_ROWS ((size_t)32)
#define MAX_SAMPLES ((size_t)512)
#define MIN_ROWS 3.0

/* Samples after which those before count half for the rate of missing rows. */
#define MEMORY ((double)1024)

/* Rows of a batch that are applied at once. */
#define PART_ROWS ((size_t)1024)

/* Samples between two looks at the clock. */
#define POLL_SAMPLES ((size_t)1 << 16)

typedef struct learner {
    kc_call *call;
    const kc_kernel_problem *problem;
    kc_perceptron_state *state;
    double *values; /* n_outputs x n */
    size_t n;
    int32_t n_outputs;
    kc_cols cols;               /* all samples */
    size_t n_used;              /* samples with a weight that is not zero: others are not there */
    int32_t *used;              /* which they are; NULL: all */
    int32_t *shuffled;          /* the used ones in the order of this pass */
    int32_t *order;             /* of this pass; NULL: 0, 1, 2, ... */
    uint8_t *is_seen;           /* n: whether the row was computed once */
    double n_looked, n_missing; /* lately: samples, and rows of theirs that had to be computed */
    double *intercepts;         /* of a window: n_outputs */
    double *steps;              /* batch: n_outputs x n, what coefficients move by */
    double *changes;            /* batch: n_outputs x n, what values move by */
    int32_t *moved;             /* batch: n */
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

/* a.y of a sample; the output of its class and the best of the others: -1 with one output. */
typedef struct score {
    int32_t own, other;
    double sign; /* of the step of `own` */
    double value;
} score;

/* The outputs at some samples without their intercepts, those of an output side by side. */
typedef struct outputs {
    const double *values, *intercepts;
    size_t n;
} outputs;

static score score_sample(const learner *l, const outputs *out, size_t at, size_t i)
{
    score s = {.own = 0, .other = -1, .sign = 1.0};
    double own = out->values[at] + out->intercepts[0], other = 0.0;

    if (l->n_outputs == 1) {
        s.sign = l->problem->classes[i] == l->state->positive ? 1.0 : -1.0;
        s.value = s.sign * own;
        return s;
    }
    s.own = l->problem->classes[i];
    for (int32_t k = 0; k < l->n_outputs; k++) {
        const double value = out->values[(size_t)k * out->n + at] + out->intercepts[k];

        if (k == s.own) {
            own = value;
        } else if (s.other < 0 || value > other) {
            s.other = k;
            other = value;
        }
    }
    s.value = own - other;
    return s;
}

/* NaN too: then the values have overflowed. */
static bool is_mistake(const learner *l, const score *s)
{
    return !(s->value > l->problem->settings->margin);
}

static kc_status check_value(const learner *l, const score *s)
{
    if (isfinite(s->value))
        return KC_OK;
    return kc_fail(l->call->err, KC_ERR_RANGE,
                   "pass %lld overflows float64; scale the data or lower eta",
                   (long long)(l->problem->n_before + l->state->n_done + 1));
}

static void count_mistake(const learner *l, int64_t pass, size_t i, const score *s)
{
    l->state->mistakes[pass]++;
    l->state->criterion[pass] += weight_of(l, i) * (l->problem->settings->margin - s->value);
}

/* ---- Corrections -------------------------------------------------------------------------- */

/* A mistake that is to be corrected. */
typedef struct correction {
    score score;
    int32_t sample;
    double step;   /* of `own`; `other` moves the other way */
    int64_t after; /* samples looked at since the correction before it, its own among them */
} correction;

/* Everything of a step of one output but its values. */
static void move_output(const learner *l, int32_t output, int32_t sample, double step)
{
    kc_perceptron_state *state = l->state;
    const double time_weighted = (double)state->n_steps * step;
    const size_t at = (size_t)output * l->n + (size_t)sample;
    const bool has_intercept = l->problem->settings->has_intercept != 0;

    state->weights[at] += step;
    if (has_intercept)
        state->intercepts[output] += step;
    if (state->time_weighted == NULL)
        return;
    state->time_weighted[at] += time_weighted;
    if (has_intercept)
        state->time_weighted_intercepts[output] += time_weighted;
}

static void record_correction(const learner *l, int64_t pass, const correction *c)
{
    const score *s = &c->score;
    kc_perceptron_state *state = l->state;

    state->n_steps += c->after;
    state->n_updates++;
    count_mistake(l, pass, (size_t)c->sample, s);
    if (state->log != NULL)
        state->log[state->n_log++] = (kc_perceptron_update){
            .at = state->n_steps,
            .sample = c->sample,
            .raised = s->own,
            .lowered = s->other,
            .step = c->step,
        };
    move_output(l, s->own, c->sample, c->step);
    if (s->other >= 0)
        move_output(l, s->other, c->sample, -c->step);
}

static kc_sweep_fn *find_sweep(const learner *l)
{
    return kc_smo_sweep(kc_store_dtype(l->problem->store));
}

/* values += the rows of all corrections times their steps, output by output. */
static void move_values(const learner *l, const correction *all, size_t n, const void *const *rows)
{
    for (int32_t output = 0; output < l->n_outputs; output++) {
        double *values = l->values + (size_t)output * l->n;
        const void *own[MAX_ROWS];
        double minus[MAX_ROWS];
        size_t n_own = 0;

        for (size_t k = 0; k < n; k++) {
            const bool is_raised = all[k].score.own == output;

            if (!is_raised && all[k].score.other != output)
                continue;
            own[n_own] = rows[k];
            minus[n_own++] = is_raised ? -all[k].step : all[k].step;
        }
        if (n_own > 0)
            find_sweep(l)(values, values, own, minus, n_own, l->n);
    }
}

/* Whether the row is likely to be kept: it was there, and nothing has been driven out. */
static bool is_at_hand(const learner *l, size_t i)
{
    return l->is_seen[i] && kc_store_count(l->problem->store).rows_evicted == 0;
}

/* Makes the corrections, once their rows are there; up to then nothing has changed. */
static kc_status correct(learner *l, int64_t pass, const correction *all, size_t n)
{
    const void *rows[MAX_ROWS];
    int32_t points[MAX_ROWS];

    for (size_t k = 0; k < n; k++) {
        points[k] = all[k].sample;
        l->n_missing += !is_at_hand(l, (size_t)points[k]);
    }
    KC_TRY(kc_store_get(l->call, l->problem->store, &l->cols, points, n, rows));
    move_values(l, all, n, rows);
    for (size_t k = 0; k < n; k++) {
        record_correction(l, pass, &all[k]);
        l->is_seen[points[k]] = 1;
    }
    return KC_OK;
}

/* ---- Windows ------------------------------------------------------------------------------ */

/* How many samples to look at through their own matrix, so that it costs less than half of the rows
 * it finds; 0: it does not pay. */
static size_t choose_window(const learner *l, size_t place)
{
    const double rate = (l->n_missing + 1) / (l->n_looked + 1);
    const double most = fmin((double)kc_min(MAX_SAMPLES, l->n_used - place),
                             fmin((double)MAX_ROWS / rate, rate * (double)l->n / 2));
    size_t ld;

    if (kc_store_matrix(l->problem->store, &ld) != NULL || rate * most < MIN_ROWS)
        return 0;
    return (size_t)most;
}

/* Samples of a pass that are looked at together. */
typedef struct window {
    size_t n;
    int32_t *points;
    double *values; /* n_outputs x n, as they are after the corrections found so far */
    char *matrix;   /* n x n kernel values */
    correction found[MAX_ROWS];
    size_t n_found;
    size_t n_looked;
} window;

static kc_status open_window(learner *l, size_t place, window *w)
{
    kc_store *store = l->problem->store;
    const size_t n_outputs = (size_t)l->n_outputs;

    w->points = kc_call_take(l->call, w->n, sizeof *w->points);
    w->values = kc_call_take(l->call, n_outputs, w->n * sizeof *w->values);
    w->matrix = kc_call_take(l->call, w->n, w->n * kc_dtype_bytes(kc_store_dtype(store)));
    if (w->points == NULL || w->values == NULL || w->matrix == NULL)
        return kc_fail_nomem(l->call->err);
    for (size_t k = 0; k < w->n; k++) {
        w->points[k] = (int32_t)sample_at(l, place + k);
        for (size_t o = 0; o < n_outputs; o++)
            w->values[o * w->n + k] = l->values[o * l->n + (size_t)w->points[k]];
    }
    memcpy(l->intercepts, l->state->intercepts, n_outputs * sizeof *l->intercepts);
    return kc_store_gather(l->call, store, w->points, w->n, w->points, w->n, w->matrix, w->n);
}

/* One output of the window moves by `step` times the sample at k. */
static void move_window(const learner *l, window *w, int32_t output, size_t k, double step)
{
    const void *row = w->matrix + k * w->n * kc_dtype_bytes(kc_store_dtype(l->problem->store));
    double *values = w->values + (size_t)output * w->n;
    const double minus = -step;

    find_sweep(l)(values, values, &row, &minus, 1, w->n);
    if (l->problem->settings->has_intercept)
        l->intercepts[output] += step;
}

/* The mistakes of the window, each corrected within it. */
static kc_status search_window(learner *l, double eta, window *w)
{
    const size_t most = kc_min(MAX_ROWS, kc_store_slots(l->problem->store));
    const outputs out = {w->values, l->intercepts, w->n};
    size_t last = 0;

    for (size_t k = 0; k < w->n && w->n_found < most; k++) {
        const size_t i = (size_t)w->points[k];
        const score s = score_sample(l, &out, k, i);
        const double step = eta * weight_of(l, i) * s.sign;

        w->n_looked = k + 1;
        if (!is_mistake(l, &s))
            continue;
        KC_TRY(check_value(l, &s));
        w->found[w->n_found++] = (correction){s, w->points[k], step, (int64_t)(k + 1 - last)};
        last = k + 1;
        move_window(l, w, s.own, k, step);
        if (s.other >= 0)
            move_window(l, w, s.other, k, -step);
    }
    return KC_OK;
}

static kc_status run_window(learner *l, int64_t pass, double eta, size_t place, window *w)
{
    KC_TRY(open_window(l, place, w));
    KC_TRY(search_window(l, eta, w));
    KC_TRY(correct(l, pass, w->found, w->n_found));
    for (size_t k = 0; k < w->n_found; k++)
        w->n_looked -= (size_t)w->found[k].after; /* they are counted */
    l->state->n_steps += (int64_t)w->n_looked;
    return KC_OK;
}

/* ---- The fixed-increment rule ------------------------------------------------------------- */

/* A mistake is at `place`; *next: the place from which to go on. */
static kc_status correct_from(learner *l, int64_t pass, double eta, size_t place, const score *s,
                              size_t *next)
{
    const size_t i = sample_at(l, place);
    const correction one = {*s, (int32_t)i, eta * weight_of(l, i) * s->sign, 1};
    const kc_arena_point point = kc_arena_mark(l->call->arena);
    window w = {.n = is_at_hand(l, i) ? 0 : choose_window(l, place)};
    const int64_t n_before = l->state->n_steps;
    kc_status status;

    if (w.n == 0) {
        KC_TRY(check_value(l, s));
        *next = place + 1;
        return correct(l, pass, &one, 1);
    }
    status = run_window(l, pass, eta, place, &w);
    *next = place + (size_t)(l->state->n_steps - n_before);
    kc_arena_release(l->call->arena, point);
    return status;
}

static kc_status single_pass(learner *l, int64_t pass, double eta)
{
    const outputs out = {l->values, l->state->intercepts, l->n};
    size_t place = 0;

    while (place < l->n_used) {
        const score s = score_sample(l, &out, sample_at(l, place), sample_at(l, place));
        size_t next = place + 1;

        if (is_mistake(l, &s)) {
            KC_TRY(kc_call_poll(l->call));
            KC_TRY(correct_from(l, pass, eta, place, &s, &next));
        } else {
            l->state->n_steps++;
            KC_TRY(poll(l, 1));
        }
        l->n_looked += (double)(next - place);
        if (l->n_looked > MEMORY) {
            l->n_looked /= 2;
            l->n_missing /= 2;
        }
        place = next;
    }
    return KC_OK;
}

/* ---- The batch rule ----------------------------------------------------------------------- */

/* What each coefficient would move by with eta = 1: y summed over the mistakes. */
static kc_status find_steps(learner *l, int64_t pass)
{
    const outputs out = {l->values, l->state->intercepts, l->n};

    memset(l->steps, 0, (size_t)l->n_outputs * l->n * sizeof *l->steps);
    for (size_t place = 0; place < l->n_used; place++) {
        const size_t i = sample_at(l, place);
        const score s = score_sample(l, &out, i, i);

        if (is_mistake(l, &s)) {
            KC_TRY(check_value(l, &s));
            count_mistake(l, pass, i, &s);
            l->steps[(size_t)s.own * l->n + i] += weight_of(l, i) * s.sign;
            if (s.other >= 0)
                l->steps[(size_t)s.other * l->n + i] -= weight_of(l, i);
        }
        KC_TRY(poll(l, 1));
    }
    return KC_OK;
}

/* In parts, since room for rows that will be kept is taken before the first of them is computed:
 * a call could not be stopped while that of a whole matrix is.  The linear kernel has no rows. */
static kc_status apply_in_parts(const learner *l, const kc_moved *moved, double *changes)
{
    kc_store *store = l->problem->store;
    const size_t most = kc_store_is_linear(store) ? moved->n : PART_ROWS;

    for (size_t begin = 0; begin < moved->n; begin += most) {
        const kc_moved part = {
            .points = moved->points + begin,
            .delta = moved->delta + begin,
            .n = kc_min(most, moved->n - begin),
        };

        KC_TRY(kc_store_apply(l->call, store, &l->cols, &part, changes, changes));
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
    status = apply_in_parts(l, &moved, changes);
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
    l->is_seen = kc_call_take(l->call, l->n, sizeof *l->is_seen);
    l->intercepts = kc_call_take(l->call, (size_t)l->n_outputs, sizeof *l->intercepts);
    if (settings->is_shuffled)
        l->shuffled = kc_call_take(l->call, kc_max(1, l->n_used), sizeof *l->shuffled);
    if (l->is_seen == NULL || l->intercepts == NULL ||
        (settings->is_shuffled && l->shuffled == NULL))
        return kc_fail_nomem(l->call->err);
    memset(l->is_seen, 0, l->n * sizeof *l->is_seen);
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
    l->call->progress.n_iter = l->problem->n_before + pass + 1;
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
