/* A fit, from samples to a model: sort, pack, open one store, solve every problem over it, keep the
 * samples that carry a coefficient. */
#include <math.h>
#include <string.h>

#include "base/kc_clock.h"
#include "task/kc_asked.h"
#include "task/kc_cache.h"
#include "task/kc_form.h"
#include "task/kc_matrix.h"
#include "task/kc_precision.h"
#include "task/kc_problems.h"
#include "task/kc_task.h"
#include "task/kc_team.h"

/* Where there are several problems, the matrix of all samples is computed at once: up to so many
 * samples, since beyond them the pairs of classes look at a small part of it, and where problems
 * are solved side by side or a value is worth so many multiply-adds. */
#define MOST_WHOLE_POINTS ((size_t)16384)
#define LEAST_WHOLE_WORK ((size_t)80)

/* Problems are solved side by side from so many samples on, so many before they are added up. */
#define LEAST_TEAM_POINTS ((size_t)400)
#define TEAM_PROBLEMS ((size_t)1024)

typedef struct training {
    const kc_svm_settings *settings;
    const kc_kernel *kernel; /* NULL: a matrix is given, or the caller is asked */
    const kc_svm_data *data;
    kc_samples samples;
    kc_packed points; /* by place; empty without a kernel */
    kc_matrix matrix; /* where it is given */
    kc_asked asked;   /* where there is a kernel function */
    kc_store *store;
    bool is_f32_tried;         /* kernel values are f32 as long as that does */
    atomic_bool is_f64_needed; /* it did not */
    const double *start;
    double max_diag;
    size_t n_problems, n_coef_rows;
    double *coef; /* n_coef_rows * n */
    double *intercepts;
    kc_train_info *info;
} training;

/* ---- Samples ------------------------------------------------------------------------------ */

/* What the rows are made of, in the order of `order`, in the precision that is asked for or may do.
 */
static kc_status pack_samples(kc_call *call, training *t, const int32_t *order, kc_packed *out)
{
    const kc_points *x = t->data->x;
    kc_error *err = call->err;

    if (t->settings->precision == KC_PRECISION_F32)
        return kc_packed_create_ordered(call, x, order, KC_F32, out);
    t->is_f32_tried = t->settings->precision == KC_PRECISION_AUTO && !t->is_f64_needed &&
                      t->samples.n > KC_PRECISION_SMALL && isfinite(t->settings->C) &&
                      kc_precision_may_do(t->settings, &t->samples);
    if (t->is_f32_tried) {
        /* Values that f32 cannot hold are no error: f64 is tried next, and speaks. */
        call->err = NULL;
        kc_status status = kc_packed_create_ordered(call, x, order, KC_F32, out);
        call->err = err;
        if (status == KC_OK)
            return KC_OK;
    }
    t->is_f32_tried = false;
    return kc_packed_create_ordered(call, x, order, KC_F64, out);
}

/* Packed and sorted by class.  Points in order already may borrow from the caller's arrays; where
 * samples are left out, all are checked first. */
static kc_status take_samples(kc_call *call, training *t)
{
    const kc_samples *samples = &t->samples;
    kc_packed packed = {.dtype = KC_F64};
    kc_status status;

    KC_TRY(kc_kernel_check(t->kernel, t->data->x, t->data->x, call->err));
    if (samples->n == samples->n_all)
        return pack_samples(call, t, samples->is_identity ? NULL : samples->order, &t->points);
    KC_TRY(pack_samples(call, t, NULL, &packed));
    status = kc_packed_take(call, &packed, samples->order, samples->n, &t->points);
    kc_packed_free(call->ctx, &packed);
    return status;
}

static kc_status take_matrix(kc_call *call, training *t)
{
    kc_dtype dtype = t->data->x->dtype;

    if (t->settings->precision != KC_PRECISION_AUTO)
        dtype = t->settings->precision == KC_PRECISION_F32 ? KC_F32 : KC_F64;
    else if (isinf(t->settings->C))
        dtype = KC_F64;
    return kc_matrix_create(call, t->data->x, &t->samples, dtype, &t->matrix);
}

static kc_status check_start(const training *t, kc_error *err)
{
    const double *start = t->data->start;

    for (size_t i = 0; start != NULL && i < t->n_coef_rows * t->samples.n_all; i++)
        if (!isfinite(start[i]))
            return kc_fail(err, KC_ERR_NONFINITE, "start has %g at row %zu, sample %zu", start[i],
                           i / t->samples.n_all, i % t->samples.n_all);
    return KC_OK;
}

/* ---- Store -------------------------------------------------------------------------------- */

static bool is_asked(const training *t)
{
    return t->data->kernel_fn != NULL;
}

static kc_status create_store(kc_call *call, training *t)
{
    const kc_dtype asked_dtype = t->settings->precision == KC_PRECISION_F32 ? KC_F32 : KC_F64;
    const size_t n = t->samples.n;
    kc_store_config config = {.segments = t->samples.bounds, .n_segments = t->samples.n_segments};

    if (is_asked(t)) {
        config.ask = kc_asked_values;
        config.ask_data = &t->asked;
        config.n_asked = n;
        config.asked_dtype = asked_dtype;
    } else if (t->kernel != NULL) {
        config.kernel = t->kernel;
        config.points = &t->points;
    } else {
        return kc_store_create_given(call, t->matrix.dtype, t->matrix.values, n, t->matrix.ld,
                                     &t->store);
    }
    config.cache_bytes = kc_cache_bytes(call, (size_t)t->settings->cache_bytes, n,
                                        is_asked(t) ? asked_dtype : t->points.dtype);
    return kc_store_create(call, &config, &t->store);
}

static kc_status open_store(kc_call *call, training *t)
{
    const size_t n = t->samples.n;

    KC_TRY(create_store(call, t));
    if (t->n_problems > 1 && n <= MOST_WHOLE_POINTS &&
        (call->n_threads > 1 || kc_store_work(t->store) >= LEAST_WHOLE_WORK)) {
        const kc_status status = kc_store_complete(call, t->store);
        if (status != KC_ERR_TIME) /* then problems end at once with what they start from */
            KC_TRY(status);
    }
    for (size_t i = 0; i < n; i++)
        t->max_diag =
            fmax(t->max_diag, kc_number_at(kc_store_diag(t->store), i, kc_store_dtype(t->store)));
    return KC_OK;
}

static kc_status prepare(kc_call *call, training *t)
{
    KC_TRY(kc_samples_sort(call, t->settings, t->data, &t->samples));
    t->n_problems = kc_problem_count(t->settings->multiclass, t->samples.n_classes);
    t->n_coef_rows = kc_coef_rows(t->settings->multiclass, t->samples.n_classes);
    KC_TRY(check_start(t, call->err));
    t->asked = (kc_asked){.data = t->data, .order = t->samples.order};
    if (!is_asked(t))
        KC_TRY(t->kernel != NULL ? take_samples(call, t) : take_matrix(call, t));
    t->coef = kc_call_take(call, t->n_coef_rows, t->samples.n * sizeof *t->coef);
    t->intercepts = kc_call_take(call, t->n_problems, sizeof *t->intercepts);
    if (t->coef == NULL || t->intercepts == NULL)
        return kc_fail_nomem(call->err);
    memset(t->coef, 0, t->n_coef_rows * t->samples.n * sizeof *t->coef);
    return open_store(call, t);
}

/* ---- Problems ----------------------------------------------------------------------------- */

/* What a problem says of its samples, by position. */
static kc_status gather_input(kc_call *call, const training *t, const kc_problem *problem,
                              kc_form_input *out)
{
    double *y = kc_call_take(call, problem->n, sizeof *y);
    double *weights = kc_call_take(call, problem->n, sizeof *weights);
    double *start = t->start != NULL ? kc_call_take(call, problem->n, sizeof *start) : NULL;
    double *own = t->samples.own_weights != t->samples.weights
                      ? kc_call_take(call, problem->n, sizeof *own)
                      : weights;

    if (y == NULL || weights == NULL || own == NULL || (t->start != NULL && start == NULL))
        return kc_fail_nomem(call->err);
    if (t->samples.targets != NULL)
        kc_problem_gather(problem, t->samples.targets, y);
    else
        kc_problem_labels(problem, y);
    kc_problem_gather(problem, t->samples.weights, weights);
    if (own != weights)
        kc_problem_gather(problem, t->samples.own_weights, own);
    if (start != NULL)
        kc_problem_load(problem, t->start, t->samples.n_all, t->samples.order, start);
    *out = (kc_form_input){
        .settings = t->settings,
        .cols = problem->cols,
        .n = problem->n,
        .y = y,
        .weights = weights,
        .own_weights = own,
        .start = start,
        .max_diag = t->max_diag,
        .name = problem->name,
    };
    return KC_OK;
}

/* Whether f32 did for this problem; if not, all are solved in f64. */
static kc_status audit_precision(kc_call *call, training *t, const kc_dual *dual,
                                 const kc_solution *solution)
{
    const kc_precision_audit audit = {
        .kernel = t->kernel,
        .x = t->data->x,
        .order = t->samples.order,
        .store = t->store,
        .dual = dual,
        .beta = solution->beta,
    };
    double worst;

    if (!t->is_f32_tried || t->is_f64_needed || solution->stop != KC_STOP_CONVERGED)
        return KC_OK;
    KC_TRY(kc_precision_measure(call, &audit, &worst));
    t->is_f64_needed = !kc_precision_suffices(t->settings, worst);
    return KC_OK;
}

/* Builds, solves and reads one problem in the form of its settings. */
static kc_status solve_form(kc_call *call, training *t, const kc_form_input *in,
                            kc_form_output *out)
{
    const kc_form *form = kc_form_of(in->settings->type);
    kc_solution solution = {0};
    kc_dual dual;

    KC_TRY(form->build(call, in, &dual));
    solution.beta = kc_call_take(call, (size_t)dual.n_groups, in->n * sizeof(double));
    solution.grad = kc_call_take(call, in->n, sizeof(double));
    if (solution.beta == NULL || solution.grad == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_dual_solve(call, t->store, &dual, &solution));
    if (solution.stop == KC_STOP_CALLER)
        return kc_call_stop_error(call);
    KC_TRY(audit_precision(call, t, &dual, &solution));
    return form->read(call, in, &dual, &solution, out);
}

/* nu-SVC whose classes have weights: its solution is that of a C-SVC, and there they belong. */
static kc_status weigh_classes(kc_call *call, training *t, const kc_form_input *in,
                               kc_form_output *out)
{
    const kc_fit_info first = *out->info;
    kc_svm_settings settings = *in->settings;
    kc_form_input weighted = *in;

    settings.type = KC_C_SVC;
    settings.C = out->scale;
    weighted.settings = &settings;
    weighted.start = out->coef;
    KC_TRY(solve_form(call, t, &weighted, out));
    out->info->n_iter += first.n_iter;
    out->info->n_outer += first.n_outer;
    out->info->violation = fmax(out->info->violation, first.violation);
    if (first.stop != KC_STOP_CONVERGED)
        out->info->stop = first.stop;
    return KC_OK;
}

static kc_status solve_problem(kc_call *call, training *t, size_t index, kc_fit_info *info)
{
    kc_form_output out = {.info = info};
    kc_problem problem;
    kc_form_input in;

    kc_problem_make(&t->samples, t->settings->multiclass, index, &problem);
    KC_TRY(gather_input(call, t, &problem, &in));
    out.coef = kc_call_take(call, in.n, sizeof(double));
    if (out.coef == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(solve_form(call, t, &in, &out));
    if (t->settings->type == KC_NU_SVC && in.own_weights != in.weights)
        KC_TRY(weigh_classes(call, t, &in, &out));
    kc_problem_store(&problem, out.coef, t->samples.n, t->coef);
    t->intercepts[index] = out.intercept;
    return KC_OK;
}

/* ---- Reports ------------------------------------------------------------------------------ */

/* What the store did since `before`. */
static void add_counts(kc_fit_info *info, const kc_store *store, kc_store_counters before)
{
    const kc_store_counters now = kc_store_count(store);

    info->dtype = kc_store_dtype(store);
    info->rows_computed = now.rows_computed - before.rows_computed;
    info->rows_hit = now.rows_hit - before.rows_hit;
    info->rows_evicted = now.rows_evicted - before.rows_evicted;
    info->values_computed = now.values_computed - before.values_computed;
    info->seconds_rows = now.seconds - before.seconds;
    info->cache_bytes_allowed = (int64_t)now.bytes_allowed;
    info->cache_bytes_used = (int64_t)now.bytes_used;
}

static void add_to_total(kc_train_info *info, size_t index, const kc_fit_info *one)
{
    kc_fit_info *total = &info->total;

    if (total->stop == KC_STOP_CONVERGED)
        total->stop = one->stop;
    total->primal += one->primal;
    total->dual += one->dual;
    total->gap += one->gap;
    total->violation = fmax(total->violation, one->violation);
    total->norm = fmax(total->norm, one->norm);
    total->epsilon = one->epsilon;
    total->n_iter += one->n_iter;
    total->n_outer += one->n_outer;
    total->n_bounded += one->n_bounded;
    if (info->each != NULL) {
        char *to = (char *)info->each + index * info->each_bytes;

        memset(to, 0, info->each_bytes);
        memcpy(to, one, kc_min(info->each_bytes, sizeof *one));
        memcpy(to, &info->each_bytes, sizeof info->each_bytes);
    }
}

static bool is_f32_given_up(const training *t)
{
    return t->is_f32_tried && t->is_f64_needed;
}

/* A problem that ended because the caller wanted an end, not because time was over. */
static void name_stop(const kc_call *call, kc_fit_info *info)
{
    if (info->stop == KC_STOP_TIME && call->is_finished)
        info->stop = KC_STOP_CALLER;
}

/* One problem, with all threads. */
static kc_status solve_alone(kc_call *call, training *t, size_t index)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    const kc_store_counters before = kc_store_count(t->store);
    const double start = kc_clock();
    kc_fit_info info = {.struct_size = sizeof info};

    KC_TRY(solve_problem(call, t, index, &info));
    add_counts(&info, t->store, before);
    info.seconds = info.seconds_solve = kc_clock() - start;
    name_stop(call, &info);
    add_to_total(t->info, index, &info);
    kc_arena_release(call->arena, point);
    return KC_OK;
}

static kc_status solve_in_team(void *data, kc_call *call, size_t index, kc_fit_info *info)
{
    training *t = data;

    info->dtype = kc_store_dtype(t->store);
    return solve_problem(call, t, index, info);
}

/* Problems begin .. begin + n - 1 side by side.  Those that a stop left out are begun alone, to end
 * at once with what they start from. */
static kc_status solve_together(kc_call *call, training *t, size_t begin, size_t n)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    kc_fit_info *infos = kc_call_take(call, n, sizeof *infos);
    bool *is_done = kc_call_take(call, n, sizeof *is_done);
    kc_status status;

    if (infos == NULL || is_done == NULL)
        return kc_fail_nomem(call->err);
    memset(is_done, 0, n * sizeof *is_done);
    status = kc_team_solve(call, begin, n, solve_in_team, t, infos, is_done);
    if (status != KC_ERR_TIME)
        KC_TRY(status);
    for (size_t k = 0; k < n; k++) {
        if (!is_done[k]) {
            KC_TRY(solve_alone(call, t, begin + k));
            continue;
        }
        name_stop(call, &infos[k]);
        add_to_total(t->info, begin + k, &infos[k]);
    }
    kc_arena_release(call->arena, point);
    return KC_OK;
}

static size_t largest_problem(const training *t)
{
    const kc_samples *samples = &t->samples;
    size_t largest = 0;

    for (size_t c = 0; c < samples->n_segments; c++)
        largest = kc_max(largest, samples->bounds[c + 1] - samples->bounds[c]);
    return kc_min(kc_is_pairwise(t->settings->multiclass, samples->n_classes) ? 2 * largest
                                                                              : samples->n,
                  samples->n);
}

/* The first problem alone: where f32 does not do for it, it is not tried for the others.  All of
 * those are solved then whatever becomes of one, so that results do not depend on their order. */
static kc_status solve_all(kc_call *call, training *t)
{
    const kc_store_counters none = {0};
    const bool is_team = call->n_threads > 1 && t->samples.n >= LEAST_TEAM_POINTS &&
                         kc_store_is_shared(t->store, largest_problem(t), call->n_threads);
    size_t index = 1;

    KC_TRY(solve_alone(call, t, 0));
    while (index < t->n_problems && !(index == 1 && is_f32_given_up(t))) {
        const size_t n = is_team ? kc_min(TEAM_PROBLEMS, t->n_problems - index) : 1;

        KC_TRY(n > 1 ? solve_together(call, t, index, n) : solve_alone(call, t, index));
        index += n;
    }
    add_counts(&t->info->total, t->store, none);
    return KC_OK;
}

/* ---- Precision ---------------------------------------------------------------------------- */

/* The coefficients found so far, a column for each sample of the caller's. */
static kc_status start_from_coef(kc_call *call, training *t)
{
    const kc_samples *samples = &t->samples;
    double *start = kc_call_take(call, t->n_coef_rows, samples->n_all * sizeof *start);

    if (start == NULL)
        return kc_fail_nomem(call->err);
    memset(start, 0, t->n_coef_rows * samples->n_all * sizeof *start);
    for (size_t r = 0; r < t->n_coef_rows; r++)
        for (size_t place = 0; place < samples->n; place++)
            start[r * samples->n_all + (size_t)samples->order[place]] =
                t->coef[r * samples->n + place];
    t->start = start;
    return KC_OK;
}

/* Once more in f64, from the solution in f32. */
static kc_status solve_in_f64(kc_call *call, training *t)
{
    const kc_fit_info before = t->info->total;

    KC_TRY(start_from_coef(call, t));
    kc_store_free(call->ctx, t->store);
    t->store = NULL;
    kc_packed_free(call->ctx, &t->points);
    KC_TRY(take_samples(call, t));
    KC_TRY(open_store(call, t));
    t->info->total =
        (kc_fit_info){.struct_size = sizeof before, .seconds_pack = before.seconds_pack};
    KC_TRY(solve_all(call, t));
    t->info->total.n_iter += before.n_iter;
    t->info->total.n_outer += before.n_outer;
    return KC_OK;
}

/* Solves all problems in the cheapest precision that their solutions allow. */
static kc_status solve_exactly(kc_call *call, training *t)
{
    KC_TRY(solve_all(call, t));
    return is_f32_given_up(t) ? solve_in_f64(call, t) : KC_OK;
}

/* ---- Model -------------------------------------------------------------------------------- */

/* The samples with a coefficient in some problem; their coefficients side by side. */
typedef struct support {
    int32_t *places;  /* n */
    int32_t *samples; /* n */
    int32_t *counts;  /* n_segments */
    double *coef;     /* n_coef_rows * n */
    size_t n;
} support;

static bool has_coefficient(const training *t, size_t place)
{
    for (size_t r = 0; r < t->n_coef_rows; r++)
        if (t->coef[r * t->samples.n + place] != 0)
            return true;
    return false;
}

static kc_status find_support(kc_call *call, const training *t, support *out)
{
    const kc_samples *samples = &t->samples;

    *out = (support){
        .places = kc_call_take(call, samples->n, sizeof *out->places),
        .samples = kc_call_take(call, samples->n, sizeof *out->samples),
        .counts = kc_call_take(call, samples->n_segments, sizeof *out->counts),
    };
    if (out->places == NULL || out->samples == NULL || out->counts == NULL)
        return kc_fail_nomem(call->err);
    for (size_t c = 0; c < samples->n_segments; c++) {
        const size_t before = out->n;

        for (size_t i = samples->bounds[c]; i < samples->bounds[c + 1]; i++)
            if (has_coefficient(t, i)) {
                out->places[out->n] = (int32_t)i;
                out->samples[out->n++] = samples->order[i];
            }
        out->counts[c] = (int32_t)(out->n - before);
    }
    out->coef = kc_call_take(call, t->n_coef_rows, out->n * sizeof *out->coef);
    if (out->coef == NULL)
        return kc_fail_nomem(call->err);
    for (size_t r = 0; r < t->n_coef_rows; r++)
        for (size_t k = 0; k < out->n; k++)
            out->coef[r * out->n + k] = t->coef[r * samples->n + (size_t)out->places[k]];
    return KC_OK;
}

static kc_status make_model(kc_call *call, const training *t, kc_model **out)
{
    kc_packed points = {.dtype = t->points.dtype};
    support found;
    kc_status status;

    KC_TRY(find_support(call, t, &found));
    if (t->kernel != NULL)
        KC_TRY(kc_packed_take(call, &t->points, found.places, found.n, &points));
    const kc_model_spec spec = {
        .type = t->settings->type,
        .multiclass = t->settings->multiclass,
        .n_classes = t->samples.n_classes,
        .kernel = t->kernel,
        .dtype = kc_store_dtype(t->store),
        .points = t->kernel != NULL ? &points : NULL,
        .n_support = found.n,
        .n_cols = is_asked(t) ? t->samples.n_all : (size_t)t->data->x->n_cols,
        .support = found.samples,
        .class_counts = found.counts,
        .coef = found.coef,
        .intercepts = t->intercepts,
    };
    status = kc_model_make(call, &spec, out);
    kc_packed_free(call->ctx, &points); /* empty where the model has them */
    t->info->total.n_support = (int64_t)found.n;
    return status;
}

/* ---- Fit ---------------------------------------------------------------------------------- */

static kc_status run_phases(kc_call *call, training *t, kc_model **out)
{
    kc_fit_info *total = &t->info->total;
    double start = call->start, now;

    call->progress.phase = "pack";
    KC_TRY(prepare(call, t));
    now = kc_clock();
    total->seconds_pack = now - start;
    start = now;
    call->progress.phase = "solve";
    call->progress.fraction = -1;
    KC_TRY(solve_exactly(call, t));
    now = kc_clock();
    total->seconds_solve = now - start;
    start = now;
    KC_TRY(make_model(call, t, out));
    now = kc_clock();
    total->seconds_model = now - start;
    total->seconds = now - call->start;
    total->peak_bytes = (int64_t)kc_call_peak(call);
    return KC_OK;
}

kc_status kc_train(kc_call *call, const kc_svm_settings *settings, const kc_kernel *kernel,
                   const kc_svm_data *data, kc_model **out, kc_train_info *info)
{
    training t = {
        .settings = settings,
        .kernel = kernel,
        .data = data,
        .start = data->start,
        .points = {.dtype = KC_F64},
        .matrix = {.dtype = KC_F64},
        .info = info,
    };
    kc_status status;

    info->total = (kc_fit_info){.struct_size = sizeof info->total};
    status = run_phases(call, &t, out);
    kc_store_free(call->ctx, t.store);
    kc_packed_free(call->ctx, &t.points);
    kc_matrix_free(call->ctx, &t.matrix);
    return status;
}
