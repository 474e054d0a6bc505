/* Learning in dual form: every problem is solved over one store of the samples' kernel rows; the
 * samples with a coefficient then join the set.
 *
 * What the set held before stays in it, as the values that the problems start from.  Nothing of the
 * learner changes before all problems are solved and all memory is there. */
#include <math.h>
#include <string.h>

#include "data/kc_points.h"
#include "online/kc_online.h"
#include "solver/kc_kernel_perceptron.h"
#include "task/kc_cache.h"
#include "task/kc_matrix.h"
#include "task/kc_user_kernel.h"

/* Values that a user's kernel computes at once: 4 MB, during which the call cannot be stopped. */
#define USER_BLOCK_VALUES ((size_t)1 << 19)

typedef struct fit {
    kc_call *call;
    kc_online *online;
    const kc_training_input *input;
    kc_online_report *report;
    size_t n, n_outputs;
    int64_t first;
    kc_packed x;
    kc_matrix matrix;           /* without a kernel */
    kc_user_kernel user_kernel; /* ... where the kernel is a function */
    size_t n_started;           /* samples whose values at the start are known */
    kc_store *store;
    int32_t *place_of;                     /* n: where a sample is in the set, -1: nowhere */
    double *values, *coef, *time_weighted; /* n_outputs x n */
    double *intercepts, *time_weighted_intercepts;
    int64_t *n_steps, *mistakes;
    uint64_t *random;
    double *criterion;
    bool *is_solved; /* n_problems */
    int64_t n_updates;
    kc_vote_log log; /* by sample, not by place */
} fit;

/* ---- Where learning starts ----------------------------------------------------------------- */

static void copy_start(void *data, size_t row, const double *values)
{
    const fit *f = data;

    for (size_t o = 0; o < f->n_outputs; o++)
        f->values[o * f->n + f->n_started + row] = values[o] - f->online->set.intercepts[o];
}

/* As from a matrix, whose columns of the points are computed some rows at a time. */
static kc_status find_start_by_function(fit *f, kc_expansion *expansion)
{
    kc_call *call = f->call;
    const size_t n_points = expansion->n;
    const size_t most = kc_min(kc_max(USER_BLOCK_VALUES / n_points, 1), f->n);
    int32_t *places = kc_call_take(call, kc_max(f->n, n_points), sizeof *places);
    double *block = kc_call_take(call, most, n_points * sizeof *block);
    const int32_t *columns = expansion->columns;

    if (places == NULL || block == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < kc_max(f->n, n_points); i++)
        places[i] = (int32_t)i;
    expansion->n_cols = n_points; /* of a block */
    expansion->columns = places;
    for (; f->n_started < f->n; f->n_started += most) {
        const size_t n_rows = kc_min(most, f->n - f->n_started);
        const kc_points values = {
            .struct_size = sizeof(kc_points),
            .storage = KC_DENSE,
            .dtype = KC_F64,
            .n_rows = (int64_t)n_rows,
            .n_cols = (int64_t)n_points,
            .values = block,
            .row_stride = (int64_t)(n_points * sizeof *block),
            .col_stride = sizeof *block,
        };
        const kc_arena_point point = kc_arena_mark(call->arena);

        if (kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
        KC_TRY(kc_user_kernel_values(&f->user_kernel, call, places + f->n_started, n_rows, columns,
                                     n_points, block));
        KC_TRY(kc_expansion_evaluate(call, expansion, &values, copy_start, f));
        kc_arena_release(call->arena, point);
    }
    return KC_OK;
}

static kc_status find_start(fit *f)
{
    const kc_active *set = &f->online->set;
    const size_t bytes = f->n_outputs * f->n * sizeof(double);
    kc_expansion expansion;

    memset(f->values, 0, bytes);
    memset(f->coef, 0, bytes);
    if (f->time_weighted != NULL)
        memset(f->time_weighted, 0, bytes);
    for (size_t i = 0; i < f->n; i++)
        f->place_of[i] = -1;
    for (size_t place = 0; place < set->n; place++) {
        const int64_t i = set->ids[place] - f->first;

        if (set->ids[place] < f->first || i >= (int64_t)f->n)
            continue;
        f->place_of[i] = (int32_t)place;
        for (size_t o = 0; o < f->n_outputs; o++) {
            f->coef[o * f->n + (size_t)i] = set->coef[o * set->capacity + place];
            if (f->time_weighted != NULL)
                f->time_weighted[o * f->n + (size_t)i] =
                    set->time_weighted[o * set->capacity + place];
        }
    }
    if (set->n == 0)
        return KC_OK;
    KC_TRY(kc_active_expansion(f->call, set, false, &expansion));
    return f->user_kernel.fn != NULL
               ? find_start_by_function(f, &expansion)
               : kc_expansion_evaluate(f->call, &expansion, f->input->data->x, copy_start, f);
}

static kc_status take_fit_arrays(fit *f)
{
    kc_call *call = f->call;
    const kc_active *set = &f->online->set;
    const size_t n_passes = (size_t)f->input->settings->n_passes;
    const size_t n_random = 4 * f->online->n_problems;

    f->place_of = kc_call_take(call, f->n, sizeof *f->place_of);
    f->values = kc_call_take(call, f->n_outputs, f->n * sizeof *f->values);
    f->coef = kc_call_take(call, f->n_outputs, f->n * sizeof *f->coef);
    if (set->time_weighted != NULL)
        f->time_weighted = kc_call_take(call, f->n_outputs, f->n * sizeof *f->time_weighted);
    f->intercepts = kc_call_take(call, 2 * f->n_outputs, sizeof *f->intercepts);
    f->n_steps = kc_call_take(call, f->n_outputs, sizeof *f->n_steps);
    f->random = kc_call_take(call, n_random, sizeof *f->random);
    f->mistakes = kc_call_take(call, n_passes, sizeof *f->mistakes);
    f->criterion = kc_call_take(call, n_passes, sizeof *f->criterion);
    f->is_solved = kc_call_take(call, f->online->n_problems, sizeof *f->is_solved);
    if (f->place_of == NULL || f->values == NULL || f->coef == NULL ||
        (set->time_weighted != NULL && f->time_weighted == NULL) || f->intercepts == NULL ||
        f->n_steps == NULL || f->random == NULL || f->mistakes == NULL || f->criterion == NULL ||
        f->is_solved == NULL)
        return kc_fail_nomem(call->err);
    f->time_weighted_intercepts = f->intercepts + f->n_outputs;
    memcpy(f->intercepts, set->intercepts, f->n_outputs * sizeof *f->intercepts);
    memcpy(f->time_weighted_intercepts, set->time_weighted_intercepts,
           f->n_outputs * sizeof *f->intercepts);
    memcpy(f->n_steps, set->n_steps, f->n_outputs * sizeof *f->n_steps);
    memcpy(f->random, f->online->random, n_random * sizeof *f->random);
    memset(f->is_solved, 0, f->online->n_problems * sizeof *f->is_solved);
    return find_start(f);
}

/* ---- Samples ------------------------------------------------------------------------------- */

static kc_status open_matrix(fit *f)
{
    kc_call *call = f->call;
    int32_t *order = kc_call_take(call, f->n, sizeof *order);
    const kc_samples samples = {.n_all = f->n, .n = f->n, .order = order, .is_identity = true};

    if (order == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < f->n; i++)
        order[i] = (int32_t)i;
    KC_TRY(kc_matrix_create(call, f->input->data->x, &samples, f->online->set.dtype, &f->matrix));
    return kc_store_make_given(call, f->matrix.dtype, f->matrix.values, f->n, f->matrix.ld,
                               &f->store);
}

static kc_status open_fit_store(fit *f)
{
    const kc_active *set = &f->online->set;
    kc_store_config config = {.kernel = set->kernel, .points = &f->x};

    if (f->user_kernel.fn != NULL) {
        config = (kc_store_config){
            .user_fn = kc_user_kernel_values,
            .user_data = &f->user_kernel,
            .n_user_points = f->n,
            .user_dtype = set->dtype,
        };
    } else if (set->kernel == NULL) {
        return open_matrix(f);
    } else {
        KC_TRY(kc_prepare(f->call, set->kernel, f->input->data->x, NULL, set->dtype, &f->x));
    }
    config.cache_bytes = kc_cache_bytes(f->call, f->input->cache_bytes, f->n, set->dtype);
    return kc_store_make(f->call, &config, &f->store);
}

/* ---- Problems ------------------------------------------------------------------------------ */

static kc_perceptron_state begin_problem(fit *f, size_t problem)
{
    const size_t at = problem * f->n; /* direct: one problem, all outputs */
    kc_perceptron_state state = {
        .struct_size = sizeof state,
        .positive = kc_online_positive(f->online, problem),
        .weights = f->coef + at,
        .intercepts = f->intercepts + problem,
        .time_weighted = f->time_weighted != NULL ? f->time_weighted + at : NULL,
        .time_weighted_intercepts = f->time_weighted_intercepts + problem,
        .n_steps = f->n_steps[problem],
        .mistakes = f->mistakes,
        .criterion = f->criterion,
    };

    memcpy(state.random, f->random + 4 * problem, sizeof state.random);
    return state;
}

static void end_problem(fit *f, size_t problem, const kc_perceptron_state *state)
{
    const size_t end = f->online->is_direct ? f->n_outputs : problem + 1;

    for (size_t o = problem; o < end; o++)
        f->n_steps[o] = state->n_steps;
    memcpy(f->random + 4 * problem, state->random, sizeof state->random);
    f->n_updates += state->n_updates;
    f->is_solved[problem] = state->is_converged != 0;
}

static void add_passes(fit *f, int64_t before, const kc_perceptron_state *state)
{
    kc_online_report *report = f->report;

    for (int64_t pass = 0; pass < state->n_done; pass++) {
        report->mistakes[before + pass] += state->mistakes[pass];
        report->criterion[before + pass] += state->criterion[pass];
    }
    if (before + state->n_done > report->n_done)
        report->n_done = before + state->n_done;
}

/* Pass by pass, since the updates of all passes together would take too much room. */
static kc_status solve_logged(fit *f, kc_kernel_problem *problem, kc_perceptron_state *state,
                              double *values)
{
    kc_call *call = f->call;
    kc_perceptron_settings one = *problem->settings;
    const int64_t end = problem->n_before + one.n_passes;

    one.n_passes = 1;
    problem->settings = &one;
    state->log = kc_call_take(call, f->n, sizeof *state->log);
    if (state->log == NULL)
        return kc_fail_nomem(call->err);
    for (; problem->n_before < end; problem->n_before++, one.eta++) {
        KC_TRY(kc_kernel_perceptron_solve(call, problem, state, values));
        KC_TRY(kc_vote_log_reserve(call->ctx, &f->log, f->log.n + (size_t)state->n_log, call->err));
        for (int64_t u = 0; u < state->n_log; u++)
            kc_vote_log_add(&f->log, state->log[u]);
        add_passes(f, problem->n_before, state);
        if (state->is_converged || kc_call_stopped(call))
            break;
    }
    return KC_OK;
}

/* Some passes of one problem, after those before. */
static kc_status solve_output(fit *f, size_t index, int64_t n_before, int64_t n_passes)
{
    const kc_perceptron_data *data = f->input->data;
    const size_t n_logged = f->log.n;
    kc_perceptron_settings settings = *f->input->settings;
    kc_perceptron_state state = begin_problem(f, index);
    kc_kernel_problem problem = {
        .settings = &settings,
        .store = f->store,
        .classes = data->classes,
        .n_classes = data->n_classes,
        .weights = data->weights,
        .n_before = n_before,
    };
    double *values = f->values + index * f->n;

    settings.eta += n_before;
    settings.n_passes = n_passes;
    if (f->online->is_voted) {
        KC_TRY(solve_logged(f, &problem, &state, values));
    } else {
        KC_TRY(kc_kernel_perceptron_solve(f->call, &problem, &state, values));
        add_passes(f, n_before, &state);
    }
    if (!f->online->is_direct)
        for (size_t u = n_logged; u < f->log.n; u++)
            f->log.updates[u].raised = (int32_t)index;
    end_problem(f, index, &state);
    return KC_OK;
}

static bool are_solved(const fit *f)
{
    for (size_t index = 0; index < f->online->n_problems; index++)
        if (!f->is_solved[index])
            return false;
    return true;
}

/* Problems run one after the other.  With a deadline they take turns, short ones at first, so that
 * all have had theirs when time is up. */
static kc_status solve_problems(fit *f)
{
    kc_call *call = f->call;
    const int64_t n_passes = f->input->settings->n_passes;
    int64_t at_once = isfinite(call->deadline) && f->online->n_problems > 1 ? 1 : n_passes;

    for (int64_t done = 0; done < n_passes && !are_solved(f) && !kc_call_stopped(call);) {
        const int64_t n = at_once < n_passes - done ? at_once : n_passes - done;

        for (size_t index = 0; index < f->online->n_problems; index++) {
            const kc_arena_point point = kc_arena_mark(call->arena);

            call->progress.fraction = -1;
            if (!f->is_solved[index] && !kc_call_stopped(call))
                KC_TRY(solve_output(f, index, done, n));
            kc_arena_release(call->arena, point);
        }
        done += n;
        at_once *= 2;
    }
    return KC_OK;
}

/* ---- Results ------------------------------------------------------------------------------- */

static bool has_part(const fit *f, size_t i)
{
    for (size_t o = 0; o < f->n_outputs; o++)
        if (f->coef[o * f->n + i] != 0 ||
            (f->time_weighted != NULL && f->time_weighted[o * f->n + i] != 0))
            return true;
    return false;
}

static kc_status reserve_parts(fit *f)
{
    kc_active *set = &f->online->set;
    kc_vote_log *votes = &f->online->votes;
    kc_value_counts counts;
    size_t n = set->n;

    kc_growing_count(&set->points, &counts);
    for (size_t i = 0; i < f->n; i++)
        if (f->place_of[i] < 0 && has_part(f, i)) {
            n++;
            if (set->kernel != NULL)
                kc_growing_count_row(&set->points, &f->x, i, &counts);
        }
    KC_TRY(kc_active_reserve(f->call->ctx, set, n, &counts, f->call->err));
    return kc_vote_log_reserve(f->call->ctx, votes, votes->n + f->log.n, f->call->err);
}

/* From here on nothing can fail. */
static void store_parts(fit *f)
{
    int64_t n_seen = f->first;
    kc_online *online = f->online;
    kc_active *set = &online->set;
    const double *none = f->values; /* steps of zero: the coefficients are assigned */

    memset(f->values, 0, f->n_outputs * sizeof *f->values);
    for (size_t i = 0; i < f->n; i++) {
        if (f->place_of[i] < 0 && has_part(f, i)) {
            const kc_candidate x = {
                .x = &f->x,
                .row = i,
                .id = f->first + (int64_t)i,
                .diag = kc_number_at(kc_store_diag(f->store), i, set->dtype) + set->offset,
                .steps = none,
            };

            f->place_of[i] = (int32_t)set->n;
            kc_active_put(set, set->n, &x);
        }
        if (f->place_of[i] >= 0)
            kc_active_assign(set, (size_t)f->place_of[i], f->coef + i,
                             f->time_weighted != NULL ? f->time_weighted + i : NULL, f->n);
    }
    for (size_t u = 0; u < f->log.n; u++) {
        kc_perceptron_update update = f->log.updates[u];

        update.sample = f->place_of[update.sample];
        kc_vote_log_add(&online->votes, update);
    }
    memcpy(set->intercepts, f->intercepts, f->n_outputs * sizeof *set->intercepts);
    memcpy(set->time_weighted_intercepts, f->time_weighted_intercepts,
           f->n_outputs * sizeof *set->intercepts);
    for (size_t o = 0; o < f->n_outputs; o++)
        set->n_steps[o] = f->n_steps[o] < KC_COUNT_MAX ? f->n_steps[o] : KC_COUNT_MAX;
    memcpy(online->random, f->random, 4 * online->n_problems * sizeof *online->random);
    kc_count(&online->n_updates, f->n_updates);
    kc_count(&n_seen, (int64_t)f->n);
    if (n_seen > online->n_seen)
        online->n_seen = n_seen;
}

/* What the bound of the convergence theorem is made of. */
static void measure(const fit *f)
{
    kc_online_report *report = f->report;
    const kc_perceptron_data *data = f->input->data;
    const double offset = f->online->set.offset;

    report->min_value = report->sq_norm = report->max_diag = NAN;
    if (f->n_outputs > 1 || f->online->set.n > 0)
        return;
    report->min_value = INFINITY;
    report->sq_norm = report->max_diag = 0;
    for (size_t i = 0; i < f->n; i++) {
        const double value = f->values[i] + f->intercepts[0];

        report->sq_norm += f->coef[i] * value;
        report->max_diag =
            fmax(report->max_diag,
                 kc_number_at(kc_store_diag(f->store), i, kc_store_dtype(f->store)) + offset);
        if (data->weights == NULL || data->weights[i] > 0)
            report->min_value = fmin(report->min_value, data->classes[i] == 1 ? value : -value);
    }
}

static void count_rows(const fit *f)
{
    const kc_store_counters counters = kc_store_count(f->store);
    kc_online_report *report = f->report;

    report->rows_computed = counters.rows_computed;
    report->rows_hit = counters.rows_hit;
    report->rows_evicted = counters.rows_evicted;
    report->cache_bytes_allowed = (int64_t)counters.bytes_allowed;
    report->cache_bytes_used = (int64_t)counters.bytes_used;
}

/* ---- Fit ----------------------------------------------------------------------------------- */

static kc_status run_fit(fit *f)
{
    KC_TRY(open_fit_store(f));
    KC_TRY(take_fit_arrays(f));
    KC_TRY(solve_problems(f));
    f->report->is_converged = are_solved(f);
    measure(f);
    count_rows(f);
    f->report->n_updates = f->n_updates;
    KC_TRY(reserve_parts(f));
    store_parts(f);
    return KC_OK;
}

kc_status kc_online_solve(kc_call *call, kc_online *online, const kc_training_input *input,
                          kc_online_report *report)
{
    fit f = {
        .call = call,
        .online = online,
        .input = input,
        .report = report,
        .n_outputs = online->set.n_outputs,
        .first = input->first >= 0 ? input->first : online->n_seen,
        .x = {.dtype = online->set.dtype},
        .matrix = {.dtype = online->set.dtype},
        .user_kernel = {.fn = input->data->kernel_fn, .data = input->data->kernel_data},
    };
    kc_status status;

    KC_TRY(kc_online_check(call, online, input->data));
    if (online->set.kernel == NULL && f.first > 0)
        return kc_fail(call->err, KC_ERR_ARG,
                       "first is %lld: kernel values are those of the samples from 0 on",
                       (long long)f.first);
    f.n = kc_training_input_samples(input);
    online->is_learning = true;
    status = run_fit(&f);
    if (status == KC_ERR_TIME) { /* before there was anything to learn from */
        report->is_converged = 0;
        status = KC_OK;
    }
    online->is_learning = false;
    kc_vote_log_free(call->ctx, &f.log);
    kc_store_free(call->ctx, f.store);
    kc_packed_free(call->ctx, &f.x);
    kc_matrix_free(call->ctx, &f.matrix);
    return status;
}
