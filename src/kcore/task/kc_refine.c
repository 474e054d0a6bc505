/* Iterative refinement.  The gradient t - K b of a solution b is computed once in f64, at the
 * points whose value can matter.  The problem is then solved on, with f32 rows, from that gradient:
 * what they get wrong is only the part of the moves that follow, which are short.
 *
 *     t + (gradient in f64 - gradient in f32)  in place of  t
 *
 * says the same to the solver: it starts from the gradient in f64, and nothing else changes.
 *
 * Support vectors matter, and points so near to the margin that the error of f32 may hide a
 * violation.  A point far beyond it may be off by as much as f32 makes it: it has no coefficient,
 * and no part in the objectives. */
#include "task/kc_refine.h"

#include <string.h>

/* The errors that f32 may have where none was measured, against the worst measured one: a point is
 * measured unless so much would not make it violate, before the problem is solved on and after. */
#define REACH 4.0
#define REACH_AFTER 2.0

/* What a few turns do not mend, more would not. */
#define MAX_TURNS 3

typedef struct refinement {
    const kc_precision_audit *audit;
    const kc_dual *dual; /* the problem, in f64 */
    kc_dual corrected;   /* ... as f32 rows have it */
    kc_solution *solution;
    double *t;       /* of the corrected one */
    double *before;  /* variables, before they moved; then: by how much they did */
    double *exact;   /* the gradient in f64, by place in `looked` */
    int32_t *looked; /* positions */
    size_t n_looked;
    bool *is_looked; /* by position */
} refinement;

static kc_status start_refining(kc_call *call, refinement *r)
{
    const size_t n = r->dual->n_points;

    r->t = kc_call_take(call, n, sizeof *r->t);
    r->before = kc_call_take(call, (size_t)r->dual->n_layers, n * sizeof *r->before);
    r->exact = kc_call_take(call, n, sizeof *r->exact);
    r->looked = kc_call_take(call, n, sizeof *r->looked);
    r->is_looked = kc_call_take(call, n, sizeof *r->is_looked);
    if (r->t == NULL || r->before == NULL || r->exact == NULL || r->looked == NULL ||
        r->is_looked == NULL)
        return kc_fail_nomem(call->err);
    memcpy(r->t, r->dual->t, n * sizeof *r->t);
    memset(r->is_looked, 0, n * sizeof *r->is_looked);
    r->corrected = *r->dual;
    r->corrected.t = r->t;
    r->corrected.start = r->before;
    r->corrected.start_grad = r->exact;
    return KC_OK;
}

/* ---- Which points ------------------------------------------------------------------------- */

/* Whether a variable of the position is used, or could violate if its value changed by `reach`. */
static bool matters(const refinement *r, size_t p, double reach)
{
    const kc_dual *dual = r->dual;

    for (int32_t l = 0; l < dual->n_layers; l++) {
        const size_t v = (size_t)l * dual->n_points + p;
        const double beta = r->solution->beta[v];
        const double value = r->solution->grad[p] - r->solution->intercept[l];

        if (beta != 0 || value + kc_rise(dual->epsilon, beta, dual->hi[v]) > -reach ||
            value + kc_fall(dual->epsilon, beta, dual->lo[v]) < reach)
            return true;
    }
    return false;
}

/* A point that was looked at once stays so.  Returns whether there are new ones. */
static bool find_looked(refinement *r, double reach)
{
    bool has_new = false;

    r->n_looked = 0;
    for (size_t p = 0; p < r->dual->n_points; p++) {
        const bool is_new = !r->is_looked[p] && matters(r, p, reach);

        has_new |= is_new;
        r->is_looked[p] |= is_new;
        if (r->is_looked[p])
            r->looked[r->n_looked++] = (int32_t)p;
    }
    return has_new;
}

/* ---- Their gradient ----------------------------------------------------------------------- */

/* Over a store of them alone. */
static kc_status compute_exact(kc_call *call, refinement *r, kc_store *store)
{
    const size_t n = r->n_looked;
    const kc_cols all = {.span = {{0, n}}, .n_spans = 1};
    int32_t *points = kc_call_take(call, n, sizeof *points);
    double *delta = kc_call_take(call, n, sizeof *delta);
    uint8_t *keep = kc_call_take(call, n, sizeof *keep);
    kc_moved moved = {.points = points, .delta = delta, .keep = keep};

    if (points == NULL || delta == NULL || keep == NULL)
        return kc_fail_nomem(call->err);
    for (size_t k = 0; k < n; k++) {
        const double beta = kc_dual_coefficient(r->dual, r->solution->beta, (size_t)r->looked[k]);

        r->exact[k] = r->dual->t[r->looked[k]];
        if (beta == 0)
            continue;
        points[moved.n] = (int32_t)k;
        delta[moved.n] = beta;
        keep[moved.n++] = KC_KEEP_NOT;
    }
    return kc_store_apply(call, store, &all, &moved, r->exact, r->exact);
}

static kc_status compare_values(kc_call *call, refinement *r)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    int32_t *points = kc_call_take(call, r->n_looked, sizeof *points);
    kc_packed packed = {.dtype = KC_F64};
    kc_store *store = NULL;
    kc_status status;

    if (points == NULL)
        return kc_fail_nomem(call->err);
    for (size_t k = 0; k < r->n_looked; k++)
        points[k] = (int32_t)kc_cols_point(&r->dual->cols, (size_t)r->looked[k]);
    KC_TRY(kc_precision_pack(call, r->audit, points, r->n_looked, &packed));
    const kc_store_config config = {
        .kernel = r->audit->kernel,
        .points = &packed,
        .cache_bytes = 2 * (kc_round_up(r->n_looked * sizeof(double), KC_ALIGN) + KC_ALIGN),
    };
    status = kc_store_make(call, &config, &store);
    if (status == KC_OK)
        status = compute_exact(call, r, store);
    kc_store_free(call->ctx, store);
    kc_packed_free(call->ctx, &packed);
    kc_arena_release(call->arena, point);
    return status;
}

/* The corrected problem, and its gradient where the solution is. */
static void correct_gradient(refinement *r)
{
    const size_t n = r->dual->n_points;
    double *grad = r->solution->grad;

    for (size_t k = 0; k < r->n_looked; k++) {
        const size_t p = (size_t)r->looked[k];

        r->t[p] += r->exact[k] - grad[p];
        grad[p] = r->exact[k];
    }
    memcpy(r->exact, grad, n * sizeof *grad);
}

/* ---- Turns -------------------------------------------------------------------------------- */

/* Solves on; `before` is then by how much variables moved. */
static kc_status solve_on(kc_call *call, refinement *r)
{
    const size_t n_variables = (size_t)r->dual->n_layers * r->dual->n_points;
    kc_solution *solution = r->solution;
    const kc_solution old = *solution;

    memcpy(r->before, solution->beta, n_variables * sizeof *r->before);
    if (r->dual->max_iter > 0)
        r->corrected.max_iter = r->dual->max_iter > old.n_iter ? r->dual->max_iter - old.n_iter : 1;
    KC_TRY(kc_dual_solve(call, r->audit->store, &r->corrected, solution));
    solution->n_iter += old.n_iter;
    solution->n_sets += old.n_sets;
    solution->n_rounds += old.n_rounds;
    solution->n_row_visits += old.n_row_visits;
    memcpy(solution->path, old.path, sizeof old.path);
    if (solution->stop == KC_STOP_TIME && solution->n_iter == old.n_iter) { /* where it was */
        memcpy(solution->grad, r->exact, r->dual->n_points * sizeof *r->exact);
        solution->is_certified = old.is_certified;
    }
    for (size_t v = 0; v < n_variables; v++)
        r->before[v] = solution->beta[v] - r->before[v];
    return KC_OK;
}

/* The tolerance in units of the gradient. */
static double find_tol(const refinement *r)
{
    const kc_solution *solution = r->solution;

    return r->dual->tol *
           kc_dual_scale(r->dual, solution->beta, solution->grad, solution->intercept);
}

/* One turn; *is_done: what f32 values do to the moves leaves the result alone. */
static kc_status turn(kc_call *call, refinement *r, double worst, bool *is_done)
{
    kc_precision_audit audit = *r->audit;
    double left = 0;

    find_looked(r, find_tol(r) + REACH * worst);
    KC_TRY(compare_values(call, r));
    correct_gradient(r);
    KC_TRY(solve_on(call, r));
    if (r->solution->stop != KC_STOP_CONVERGED)
        return KC_OK;
    audit.beta = r->before;
    KC_TRY(kc_precision_measure(call, &audit, &left));
    *is_done = kc_precision_suffices(find_tol(r), left) && !find_looked(r, REACH_AFTER * worst);
    return KC_OK;
}

kc_status kc_refine(kc_call *call, const kc_precision_audit *audit, double worst,
                    kc_solution *solution, bool *is_mended)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    refinement r = {.audit = audit, .dual = audit->dual, .solution = solution};
    kc_status status;

    *is_mended = false;
    if (!kc_precision_is_mendable(find_tol(&r), worst))
        return KC_OK;
    status = start_refining(call, &r);
    for (int i = 0; i < MAX_TURNS && status == KC_OK && !*is_mended; i++) {
        status = turn(call, &r, worst, is_mended);
        if (solution->stop != KC_STOP_CONVERGED)
            break;
    }
    if ((status == KC_OK || status == KC_ERR_TIME) && solution->is_certified)
        kc_dual_certify(audit->dual, solution);
    kc_arena_release(call->arena, point);
    return status;
}
