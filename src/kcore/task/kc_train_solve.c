/* All problems of a fit: one after the other, or side by side; in f32 where that does, else once
 * more in f64. */
#include <math.h>
#include <string.h>

#include "base/kc_clock.h"
#include "base/kc_context.h"
#include "data/kc_sort.h"
#include "task/kc_form.h"
#include "task/kc_parallel.h"
#include "task/kc_precision.h"
#include "task/kc_problems.h"
#include "task/kc_refine.h"
#include "task/kc_train_impl.h"

/* Problems are solved side by side from so many samples on, so many before they are added up. */
#define MIN_PARALLEL_POINTS ((size_t)400)
#define PARALLEL_PROBLEMS ((size_t)1024)

/* ---- Problems ----------------------------------------------------------------------------- */

/* What a problem says of its samples, by position. */
static kc_status gather_input(kc_call *call, const kc_training *t, kc_store *store,
                              const kc_problem *problem, kc_form_input *out)
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
        .store = store,
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

/* Ends that f32 values may have led to, and f64 ones need not. */
static bool may_be_rounding(kc_stop stop)
{
    return stop == KC_STOP_STALLED || stop == KC_STOP_NO_MARGIN;
}

/* Whether f32 did for this problem, or does with some f64; if not, all are solved in f64. */
static kc_status audit_precision(kc_call *call, kc_training *t, kc_store *store,
                                 const kc_dual *dual, kc_solution *solution, kc_fit_info *info)
{
    const kc_precision_audit audit = {
        .kernel = t->kernel,
        .x = t->data->x,
        .order = t->samples.order,
        .store = store,
        .dual = dual,
        .beta = solution->beta,
        .n_problems = t->n_problems,
    };
    bool is_mended = true;
    double worst;

    if (!t->is_f32_tried || t->is_f64_needed)
        return KC_OK;
    if (may_be_rounding(solution->stop))
        t->is_f64_needed = true;
    if (solution->stop != KC_STOP_CONVERGED)
        return KC_OK;
    kc_status status = kc_precision_measure(call, &audit, &worst);
    const double scale = kc_dual_scale(dual, solution->beta, solution->grad, solution->intercept);
    if (status == KC_OK && kc_precision_suffices(t->settings->tol * scale, worst))
        return KC_OK;
    if (status == KC_OK)
        status = kc_refine(call, &audit, worst, solution, &is_mended);
    if (status == KC_ERR_TIME) { /* the errors of float32 are then not known */
        solution->stop = KC_STOP_TIME;
        return KC_OK;
    }
    KC_TRY(status);
    if (solution->stop == KC_STOP_CALLER)
        return kc_call_stop_error(call);
    info->n_refined = is_mended;
    if (is_mended)
        t->is_refined = true; /* neither goes back: others may have said so meanwhile */
    else if (solution->stop == KC_STOP_CONVERGED || may_be_rounding(solution->stop))
        t->is_f64_needed = true;
    return KC_OK;
}

/* Builds, solves and reads one problem in the form of its settings. */
static kc_status solve_form(kc_call *call, kc_training *t, const kc_form_input *in,
                            kc_form_output *out)
{
    const kc_form *form = kc_form_of(in->settings->type);
    kc_solution solution = {0};
    kc_dual dual;

    KC_TRY(form->build(call, in, &dual));
    solution.beta = kc_call_take(call, (size_t)dual.n_layers, in->n * sizeof(double));
    solution.grad = kc_call_take(call, in->n, sizeof(double));
    if (solution.beta == NULL || solution.grad == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_dual_solve(call, in->store, &dual, &solution));
    if (solution.stop == KC_STOP_CALLER)
        return kc_call_stop_error(call);
    KC_TRY(audit_precision(call, t, in->store, &dual, &solution, out->info));
    out->is_tentative = t->is_f32_tried;
    KC_TRY(form->read(call, in, &dual, &solution, out));
    if (out->is_refused)
        t->is_f64_needed = true;
    return KC_OK;
}

/* What solvers did for it, of which there may be several: all of it counts. */
static void add_work(kc_fit_info *to, const kc_fit_info *of)
{
    to->n_iter += of->n_iter;
    to->n_sets += of->n_sets;
    to->n_rounds += of->n_rounds;
}

/* nu-SVC whose classes have weights: its solution is that of a C-SVC, and there they belong. */
static kc_status weigh_classes(kc_call *call, kc_training *t, const kc_form_input *in,
                               kc_form_output *out)
{
    const kc_fit_info first = *out->info;
    kc_svm_settings settings = *in->settings;
    kc_form_input weighted = *in;

    settings.type = KC_C_SVC;
    settings.C = out->scale;
    if (first.stop == KC_STOP_NO_MARGIN) /* nor will there be an end to this */
        settings.max_iter = first.n_iter;
    weighted.settings = &settings;
    weighted.start = out->coef;
    KC_TRY(solve_form(call, t, &weighted, out));
    add_work(out->info, &first);
    out->info->violation = kc_larger(out->info->violation, first.violation);
    if (first.stop != KC_STOP_CONVERGED)
        out->info->stop = first.stop;
    return KC_OK;
}

static kc_status solve_problem(kc_call *call, kc_training *t, kc_store *store, size_t index,
                               kc_fit_info *info)
{
    kc_form_output out = {.info = info};
    kc_problem problem;
    kc_form_input in;

    kc_problem_make(&t->samples, t->settings->multiclass, index, &problem);
    KC_TRY(gather_input(call, t, store, &problem, &in));
    out.coef = kc_call_take(call, in.n, sizeof(double));
    if (out.coef == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(solve_form(call, t, &in, &out));
    if (t->settings->type == KC_NU_SVC && in.own_weights != in.weights &&
        info->stop != KC_STOP_TIME && !out.is_refused)
        KC_TRY(weigh_classes(call, t, &in, &out));
    kc_problem_store(&problem, out.coef, t->samples.n, t->coef);
    t->intercepts[index] = out.intercept;
    return KC_OK;
}

/* ---- Reports ------------------------------------------------------------------------------ */

/* Nothing where time was over before there was a store. */
static kc_store_counters count(const kc_store *store)
{
    return store != NULL ? kc_store_count(store) : (kc_store_counters){0};
}

/* What the store did since `before`. */
static void add_counts(kc_fit_info *info, const kc_training *t, kc_store_counters before)
{
    const kc_store_counters now = count(t->store);

    info->dtype = kc_training_dtype(t);
    info->rows_computed = now.rows_computed - before.rows_computed;
    info->rows_hit = now.rows_hit - before.rows_hit;
    info->rows_evicted = now.rows_evicted - before.rows_evicted;
    info->values_computed = now.values_computed - before.values_computed;
    info->seconds_rows = now.seconds - before.seconds;
    info->cache_bytes_allowed = (int64_t)now.bytes_allowed;
    info->cache_bytes_used = (int64_t)now.bytes_used;
}

static void add_closed(kc_fit_info *info, const kc_store_counters *counted)
{
    info->rows_computed += counted->rows_computed;
    info->rows_hit += counted->rows_hit;
    info->rows_evicted += counted->rows_evicted;
    info->values_computed += counted->values_computed;
    info->seconds_rows += counted->seconds;
    info->cache_bytes_used += (int64_t)counted->bytes_used;
}

static void add_to_total(kc_train_info *info, size_t index, const kc_fit_info *one)
{
    kc_fit_info *total = &info->total;

    if (total->stop == KC_STOP_CONVERGED)
        total->stop = one->stop;
    total->primal += one->primal;
    total->dual += one->dual;
    total->gap += one->gap;
    total->violation = kc_larger(total->violation, one->violation);
    total->norm = kc_larger(total->norm, one->norm);
    total->epsilon = one->epsilon;
    add_work(total, one);
    if (total->path[0] == 0)
        memcpy(total->path, one->path, sizeof total->path);
    else if (strcmp(total->path, one->path) != 0)
        memcpy(total->path, "mixed", sizeof "mixed");
    total->n_bounded += one->n_bounded;
    total->n_refined += one->n_refined;
    if (info->each != NULL) {
        char *to = (char *)info->each + index * info->each_bytes;

        memcpy(to, &info->each_bytes, sizeof info->each_bytes);
        kc_struct_write(to, one, sizeof *one);
    }
}

/* ---- One after the other, or side by side -----------------------------------------------------
 */

static bool is_f32_given_up(const kc_training *t)
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
static kc_status solve_alone(kc_call *call, kc_training *t, size_t index)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    const kc_store_counters before = count(t->store);
    const double start = kc_clock();
    kc_fit_info info = {.struct_size = sizeof info};

    KC_TRY(solve_problem(call, t, t->store, index, &info));
    add_counts(&info, t, before);
    info.seconds = info.seconds_solve = kc_clock() - start;
    name_stop(call, &info);
    add_to_total(t->info, index, &info);
    kc_arena_release(call->arena, point);
    return KC_OK;
}

/* Several problems at once: each worker has a store, or all have the same. */
typedef struct side_by_side {
    kc_training *t;
    kc_store **stores;
    size_t n_stores;
} side_by_side;

static kc_status solve_as_member(void *data, kc_call *call, size_t index, int32_t worker,
                                 kc_fit_info *info)
{
    const side_by_side *s = data;
    kc_store *store = s->stores[(size_t)worker % s->n_stores];

    info->dtype = kc_store_dtype(store);
    return solve_problem(call, s->t, store, index, info);
}

static double problem_size(const kc_training *t, size_t index)
{
    kc_problem problem;

    kc_problem_make(&t->samples, t->settings->multiclass, index, &problem);
    return (double)problem.n;
}

/* The largest first: the last ones, which some threads wait for, are small then. */
static kc_status order_problems(kc_call *call, const kc_training *t, size_t begin, size_t n,
                                size_t *order)
{
    kc_entry *entries = kc_call_take(call, n, sizeof *entries);

    if (entries == NULL)
        return kc_fail_nomem(call->err);
    for (size_t k = 0; k < n; k++)
        entries[k] = (kc_entry){.col = -(int64_t)problem_size(t, begin + k), .place = k};
    kc_entries_sort(entries, n);
    for (size_t k = 0; k < n; k++)
        order[k] = entries[k].place;
    return KC_OK;
}

/* Problems begin .. begin + n - 1 side by side.  Those that a stop left out are begun alone, to end
 * at once with what they start from. */
static kc_status solve_together(kc_call *call, side_by_side *s, size_t begin, size_t n)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    kc_training *t = s->t;
    kc_fit_info *infos = kc_call_take(call, n, sizeof *infos);
    bool *is_done = kc_call_take(call, n, sizeof *is_done);
    size_t *order = kc_call_take(call, n, sizeof *order);
    kc_status status;

    if (infos == NULL || is_done == NULL || order == NULL)
        return kc_fail_nomem(call->err);
    memset(is_done, 0, n * sizeof *is_done);
    KC_TRY(order_problems(call, t, begin, n, order));
    status = kc_solve_parallel(call, begin, n, order, solve_as_member, s, infos, is_done);
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

/* Whether problems are solved side by side; *n_stores is how many stores that takes. */
static bool runs_in_parallel(const kc_call *call, const kc_training *t, size_t *n_stores)
{
    const size_t n_threads = (size_t)call->n_threads;

    *n_stores =
        kc_store_is_shared(t->store, kc_training_largest(t), call->n_threads) ? 1 : n_threads;
    return n_threads > 1 && t->samples.n >= MIN_PARALLEL_POINTS && t->n_problems > 2 &&
           !kc_training_has_user_kernel(t) && kc_store_slots(t->store) / *n_stores >= 2;
}

/* What a store has counted is kept beyond its end. */
static void close_store(kc_call *call, kc_training *t, kc_store **store)
{
    if (*store != NULL) {
        const kc_store_counters now = kc_store_count(*store);

        t->counted.rows_computed += now.rows_computed;
        t->counted.rows_hit += now.rows_hit;
        t->counted.rows_evicted += now.rows_evicted;
        t->counted.values_computed += now.values_computed;
        t->counted.seconds += now.seconds;
        t->counted.bytes_used += now.bytes_used;
    }
    kc_store_free(call->ctx, *store);
    *store = NULL;
}

static kc_status solve_rest(kc_call *call, side_by_side *s, size_t first)
{
    const size_t n_problems = s->t->n_problems;
    kc_status status = KC_OK;

    for (size_t index = first; index < n_problems && status == KC_OK; index += PARALLEL_PROBLEMS)
        status = solve_together(call, s, index, kc_min(PARALLEL_PROBLEMS, n_problems - index));
    return status;
}

/* All problems from the first on.  Rows that pairs of classes could share are few: stores of their
 * own, with a share of the cache each, cost no more than one that they would have to wait for. */
static kc_status solve_side_by_side(kc_call *call, kc_training *t, size_t n_stores, size_t first)
{
    side_by_side s = {.t = t, .stores = kc_call_take(call, n_stores, sizeof *s.stores)};
    kc_status status = KC_OK;

    if (s.stores == NULL)
        return kc_fail_nomem(call->err);
    s.stores[s.n_stores++] = t->store;
    if (n_stores > 1) {
        close_store(call, t, &t->store);
        t->counted.bytes_used = 0;      /* the others get them */
        kc_call_extend(call, INFINITY); /* a diagonal each: nothing to be late for */
        for (s.n_stores = 0; s.n_stores < n_stores && status == KC_OK; s.n_stores++)
            status = kc_training_create_store(call, t, n_stores, &s.stores[s.n_stores]);
        kc_call_expire(call);
        t->store = s.stores[0];
    }
    if (status == KC_OK)
        status = solve_rest(call, &s, first);
    for (size_t k = 1; k < s.n_stores; k++)
        close_store(call, t, &s.stores[k]);
    return status;
}

/* Whether the first problem takes as long as all others: work grows like the square of the size. */
static bool is_first_largest(const kc_training *t)
{
    double all = 0;

    for (size_t index = 0; index < t->n_problems; index++)
        all += problem_size(t, index) * problem_size(t, index);
    return 2 * problem_size(t, 0) * problem_size(t, 0) > all;
}

/* A first problem that is most of the work is solved alone, with all threads; where f32 does not do
 * for it, it is not tried for the others.  Else all are solved whatever becomes of one, so that
 * results depend neither on their order nor on the number of threads. */
static kc_status solve_all(kc_call *call, kc_training *t)
{
    const size_t allowed = count(t->store).bytes_allowed;
    size_t n_stores;
    const bool is_parallel = t->store != NULL && runs_in_parallel(call, t, &n_stores);
    const bool is_alone = is_first_largest(t);

    if (is_alone)
        KC_TRY(solve_alone(call, t, 0));
    if (!is_alone || !is_f32_given_up(t)) {
        if (is_parallel)
            KC_TRY(solve_side_by_side(call, t, n_stores, is_alone));
        for (size_t index = is_alone; !is_parallel && index < t->n_problems; index++)
            KC_TRY(solve_alone(call, t, index));
    }
    add_counts(&t->info->total, t, (kc_store_counters){0});
    add_closed(&t->info->total, &t->counted);
    t->info->total.cache_bytes_allowed = (int64_t)allowed;
    return KC_OK;
}

/* ---- Precision ---------------------------------------------------------------------------- */

/* The coefficients found so far, a column for each sample of the caller's. */
static kc_status start_from_coef(kc_call *call, kc_training *t)
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

/* Once more in f64, from the solution in f32; which stays where there is no time for that. */
static kc_status solve_in_f64(kc_call *call, kc_training *t)
{
    const kc_fit_info before = t->info->total;

    if (kc_call_poll(call) == KC_ERR_TIME) {
        t->info->total.stop = KC_STOP_TIME;
        return KC_OK;
    }
    KC_TRY(start_from_coef(call, t));
    KC_TRY(kc_training_reopen(call, t));
    t->is_refined = false;
    t->counted = (kc_store_counters){0};
    t->info->total =
        (kc_fit_info){.struct_size = sizeof before, .seconds_pack = before.seconds_pack};
    KC_TRY(solve_all(call, t));
    add_work(&t->info->total, &before);
    return KC_OK;
}

kc_status kc_training_solve(kc_call *call, kc_training *t)
{
    KC_TRY(solve_all(call, t));
    return is_f32_given_up(t) ? solve_in_f64(call, t) : KC_OK;
}
