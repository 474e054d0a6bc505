/* Problems on some samples of a store.
 *
 * A problem of many of them is one of all: the variables of the others have boxes without room.
 * Whole rows are computed then, which serve every other problem.  A problem of few has a store of
 * its own, so that no more is computed than it needs.  Which of the two depends on counts alone,
 * and variables are in the order of the store: not on the order of the caller's rows. */
#include "task/kc_dual_problem.h"

#include <math.h>
#include <string.h>

#include "base/kc_clock.h"
#include "solver/kc_dual.h"
#include "task/kc_open_store.h"

/* A problem of at least 1 / this of all samples is one of all. */
#define WHOLE_DIVISOR ((size_t)2)

/* The caller's problem as the solver takes it. */
typedef struct posed {
    const kc_dual_problem *problem;
    size_t n;       /* variables of the caller's */
    int32_t *place; /* n: their positions */
    kc_dual dual;
    double *t, *lo, *hi, *start; /* of the dual; start NULL: none */
    int32_t *points;             /* n: of a store of their own, ascending; NULL: of all */
} posed;

/* ---- Positions ----------------------------------------------------------------------------- */

static bool has_infinite_bound(const kc_dual_problem *p, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (isinf(p->lower[k]) || isinf(p->upper[k]))
            return true;
    return false;
}

/* Certificates of hard margins look at all bounds: others must not be among them. */
static bool is_of_all(const posed *q, size_t n_all)
{
    return q->n == n_all ||
           (q->n >= kc_ceil_div(n_all, WHOLE_DIVISOR) && !has_infinite_bound(q->problem, q->n));
}

/* Ranks of the rows, and the rows by rank. */
static kc_status rank_rows(kc_call *call, posed *q, const int32_t *rows, size_t n_all)
{
    int32_t *rank = kc_call_take(call, n_all, sizeof *rank);
    int32_t next = 0;

    q->points = kc_call_take(call, q->n, sizeof *q->points);
    if (rank == NULL || q->points == NULL)
        return kc_fail_nomem(call->err);
    memset(rank, 0, n_all * sizeof *rank);
    for (size_t k = 0; k < q->n; k++)
        rank[rows[k]] = 1;
    for (size_t i = 0; i < n_all; i++)
        if (rank[i] != 0) {
            q->points[next] = (int32_t)i;
            rank[i] = next++;
        }
    for (size_t k = 0; k < q->n; k++)
        q->place[k] = rank[rows[k]];
    return KC_OK;
}

static kc_status find_places(kc_call *call, posed *q, const int32_t *rows, size_t n_all)
{
    q->place = kc_call_take(call, q->n, sizeof *q->place);
    if (q->place == NULL)
        return kc_fail_nomem(call->err);
    q->dual.n_points = is_of_all(q, n_all) ? n_all : q->n;
    if (q->dual.n_points < n_all)
        KC_TRY(rank_rows(call, q, rows, n_all));
    else
        for (size_t k = 0; k < q->n; k++)
            q->place[k] = rows != NULL ? rows[k] : (int32_t)k;
    q->dual.cols = (kc_cols){.span = {{0, q->dual.n_points}}, .n_spans = 1};
    return KC_OK;
}

/* ---- The dual problem ---------------------------------------------------------------------- */

static kc_status take_arrays(kc_call *call, posed *q)
{
    const size_t n = q->dual.n_points, n_variables = (size_t)q->dual.n_layers * n;

    q->t = kc_call_take(call, n, sizeof *q->t);
    q->lo = kc_call_take(call, n_variables, sizeof *q->lo);
    q->hi = kc_call_take(call, n_variables, sizeof *q->hi);
    if (q->problem->start != NULL)
        q->start = kc_call_take(call, n_variables, sizeof *q->start);
    if (q->t == NULL || q->lo == NULL || q->hi == NULL ||
        (q->problem->start != NULL && q->start == NULL))
        return kc_fail_nomem(call->err);
    memset(q->lo, 0, n_variables * sizeof *q->lo);
    memset(q->hi, 0, n_variables * sizeof *q->hi);
    if (q->start != NULL)
        memset(q->start, 0, n_variables * sizeof *q->start);
    for (size_t p = 0; p < n; p++)
        q->t[p] = 0;
    q->dual.t = q->t;
    q->dual.lo = q->lo;
    q->dual.hi = q->hi;
    q->dual.start = q->start;
    return KC_OK;
}

/* The variable of the dual that is the caller's variable k. */
static size_t variable_of(const posed *q, size_t k)
{
    const size_t layer = q->dual.n_layers == 2 ? (size_t)q->problem->group[k] : 0;

    return layer * q->dual.n_points + (size_t)q->place[k];
}

/* With the rounding of every addition, so that a solution that is a start stays what it was. */
static double sum_of_start(const posed *q, int32_t group)
{
    const kc_dual_problem *p = q->problem;
    double total = 0, lost = 0;

    for (size_t k = 0; k < q->n; k++) {
        const double term = p->group == NULL || p->group[k] == group ? p->start[k] : 0;
        const double next = total + term, added = next - total;

        lost += (total - (next - added)) + (term - added);
        total = next;
    }
    return total + lost;
}

static void fill_arrays(posed *q)
{
    const kc_dual_problem *p = q->problem;

    for (size_t k = 0; k < q->n; k++) {
        const size_t v = variable_of(q, k);

        q->t[q->place[k]] = p->t != NULL ? p->t[k] : 0;
        q->lo[v] = p->lower[k];
        q->hi[v] = p->upper[k];
        if (q->start != NULL)
            q->start[v] = p->start[k];
    }
    for (int32_t g = 0; g < p->n_groups; g++)
        q->dual.sum[g] = p->sums != NULL ? p->sums[g] : p->start != NULL ? sum_of_start(q, g) : 0;
}

static kc_status pose(kc_call *call, const kc_store *store, const kc_dual_problem *p,
                      const int32_t *rows, posed *q)
{
    const size_t n_all = kc_store_points(store);

    *q = (posed){.problem = p, .n = rows != NULL ? (size_t)p->n : n_all};
    q->dual = (kc_dual){
        .n_layers = p->n_groups == 2 ? 2 : 1,
        .is_box_only = p->n_groups == 0,
        .epsilon = p->epsilon,
        .tol = p->tol,
        .max_iter = p->max_iter,
        .seed = (uint64_t)p->seed,
        .is_shrinking = true,
    };
    KC_TRY(find_places(call, q, rows, n_all));
    KC_TRY(take_arrays(call, q));
    fill_arrays(q);
    return KC_OK;
}

/* ---- Solving ------------------------------------------------------------------------------- */

/* Where there is no time for the store of a part, the solution is the start. */
static kc_status solve_on_part(kc_call *call, kc_store *store, posed *q, kc_solution *solution)
{
    kc_store *part = NULL;
    kc_status status = kc_store_part_make(call, store, q->points, q->n, &part);

    if (status == KC_OK || status == KC_ERR_TIME)
        status = kc_dual_solve(call, part, &q->dual, solution);
    kc_store_part_free(call->ctx, store, part);
    return status;
}

static kc_status solve_posed(kc_call *call, kc_store *store, posed *q, kc_solution *solution)
{
    const size_t n = q->dual.n_points;

    solution->beta = kc_call_take(call, (size_t)q->dual.n_layers, n * sizeof *solution->beta);
    solution->grad = kc_call_take(call, n, sizeof *solution->grad);
    if (solution->beta == NULL || solution->grad == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_store_prepare(call, store));
    if (q->points != NULL)
        KC_TRY(solve_on_part(call, store, q, solution));
    else
        KC_TRY(kc_dual_solve(call, store, &q->dual, solution));
    if (solution->stop == KC_STOP_CALLER)
        return kc_call_stop_error(call);
    if (solution->stop == KC_STOP_TIME && call->is_finished)
        solution->stop = KC_STOP_CALLER;
    return KC_OK;
}

static void report(const posed *q, const kc_solution *s, kc_dual_result *result)
{
    for (size_t k = 0; k < q->n; k++) {
        result->beta[k] = s->beta[variable_of(q, k)];
        if (result->gradient != NULL)
            result->gradient[k] = s->is_certified ? s->grad[q->place[k]] : NAN;
    }
    result->stop = s->stop;
    for (int32_t g = 0; g < 2; g++)
        result->multipliers[g] = g < q->problem->n_groups ? s->intercept[g] : 0;
    result->primal = s->primal;
    result->dual = s->dual;
    result->gap = s->gap;
    result->violation = s->is_certified ? kc_larger(s->violation, 0) : NAN;
    result->n_iter = s->n_iter;
    result->n_sets = s->n_sets;
    result->n_rounds = s->n_rounds;
    memcpy(result->path, s->path, sizeof result->path);
}

static void report_counts(kc_dual_result *result, const kc_store *store,
                          const kc_store_counters *before, double start)
{
    const kc_store_counters now = kc_store_count(store);

    result->rows_computed = now.rows_computed - before->rows_computed;
    result->rows_hit = now.rows_hit - before->rows_hit;
    result->rows_evicted = now.rows_evicted - before->rows_evicted;
    result->values_computed = now.values_computed - before->values_computed;
    result->seconds = kc_clock() - start;
}

kc_status kc_dual_problem_solve(kc_call *call, kc_store *store, const kc_dual_problem *problem,
                                const int32_t *rows, kc_dual_result *result)
{
    const double start = kc_clock();
    const kc_store_counters before = kc_store_count(store);
    kc_solution solution = {0};
    posed q;

    KC_TRY(pose(call, store, problem, rows, &q));
    KC_TRY(solve_posed(call, store, &q, &solution));
    report(&q, &solution, result);
    report_counts(result, store, &before, start);
    return KC_OK;
}
