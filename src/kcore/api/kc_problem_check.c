/* Checks of problems on a store.  See kc_problem_check.h. */
#include "api/kc_problem_check.h"

#include <math.h>
#include <string.h>

#include "base/kc_context.h"

/* Largest tolerance and tube, as for the settings of a machine. */
#define MAX_REAL 1e300

/* What sums may differ by, beside the sizes of what is added up. */
#define SUM_ROUNDING 1e-10

kc_status kc_numbers_check(const char *name, const double *values, size_t n, kc_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return kc_fail(err, KC_ERR_NONFINITE, "%s[%zu] is %g, must be finite", name, i,
                           values[i]);
    return KC_OK;
}

/* ---- Samples ------------------------------------------------------------------------------ */

static int64_t find_row(const int64_t *rows, int64_t row)
{
    int64_t at = 0;

    while (rows[at] != row)
        at++;
    return at;
}

kc_status kc_rows_read(kc_call *call, const char *name, const int64_t *rows, int64_t n,
                       size_t n_all, bool is_distinct, int32_t **out)
{
    bool *is_there = is_distinct && rows != NULL ? kc_call_take(call, n_all, 1) : NULL;

    *out = NULL;
    if (rows == NULL)
        return KC_OK;
    *out = kc_call_take(call, (size_t)(n > 0 ? n : 1), sizeof **out);
    if (*out == NULL || (is_distinct && is_there == NULL))
        return kc_fail_nomem(call->err);
    if (is_distinct)
        memset(is_there, 0, n_all);
    for (int64_t k = 0; k < n; k++) {
        if (rows[k] < 0 || (uint64_t)rows[k] >= n_all)
            return kc_fail(call->err, KC_ERR_INDEX, "%s[%lld] is %lld, must be 0 to %zu", name,
                           (long long)k, (long long)rows[k], n_all - 1);
        if (is_distinct && is_there[rows[k]])
            return kc_fail(call->err, KC_ERR_INDEX, "%s[%lld] is %lld, as is %s[%lld]", name,
                           (long long)k, (long long)rows[k], name,
                           (long long)find_row(rows, rows[k]));
        if (is_distinct)
            is_there[rows[k]] = true;
        (*out)[k] = (int32_t)rows[k];
    }
    return KC_OK;
}

/* ---- Single fields ------------------------------------------------------------------------- */

static kc_status check_scalars(const kc_dual_problem *p, size_t n_all, kc_error *err)
{
    if (p->rows != NULL && (p->n < 1 || (uint64_t)p->n > n_all))
        return kc_fail(err, KC_ERR_SHAPE, "problem.n is %lld, must be 1 to %zu: rows are distinct",
                       (long long)p->n, n_all);
    if (!(p->epsilon >= 0 && p->epsilon <= MAX_REAL))
        return kc_fail(err, KC_ERR_ARG, "problem.epsilon is %g, must be from 0 to %g", p->epsilon,
                       MAX_REAL);
    if (!(p->tol > 0 && p->tol <= MAX_REAL))
        return kc_fail(err, KC_ERR_ARG, "problem.tol is %g, must be above 0 and at most %g", p->tol,
                       MAX_REAL);
    if (p->max_iter < 0)
        return kc_fail(err, KC_ERR_ARG, "problem.max_iter is %lld, must be at least 0",
                       (long long)p->max_iter);
    if (p->seed < 0)
        return kc_fail(err, KC_ERR_ARG, "problem.seed is %lld, must be at least 0",
                       (long long)p->seed);
    return KC_OK;
}

static kc_status check_bounds(const kc_dual_problem *p, size_t n, kc_error *err)
{
    if (p->lower == NULL || p->upper == NULL)
        return kc_fail(err, KC_ERR_ARG, "problem.%s is NULL", p->lower == NULL ? "lower" : "upper");
    for (size_t k = 0; k < n; k++) {
        if (!(p->lower[k] < HUGE_VAL))
            return kc_fail(err, KC_ERR_NONFINITE,
                           "problem.lower[%zu] is %g, must be finite or -infinity", k, p->lower[k]);
        if (!(p->upper[k] > -HUGE_VAL))
            return kc_fail(err, KC_ERR_NONFINITE,
                           "problem.upper[%zu] is %g, must be finite or infinity", k, p->upper[k]);
        if (p->lower[k] > p->upper[k])
            return kc_fail(err, KC_ERR_ARG,
                           "problem.lower[%zu] is %g, above problem.upper[%zu], %g", k, p->lower[k],
                           k, p->upper[k]);
    }
    return KC_OK;
}

static kc_status check_start(const kc_dual_problem *p, size_t n, kc_error *err)
{
    if (p->start == NULL)
        return KC_OK;
    KC_TRY(kc_numbers_check("problem.start", p->start, n, err));
    for (size_t k = 0; k < n; k++)
        if (p->start[k] < p->lower[k] || p->start[k] > p->upper[k])
            return kc_fail(err, KC_ERR_ARG,
                           "problem.start[%zu] is %.17g, must be from %.17g to "
                           "%.17g: its bounds",
                           k, p->start[k], p->lower[k], p->upper[k]);
    return KC_OK;
}

/* ---- Groups -------------------------------------------------------------------------------- */

static kc_status check_groups(const kc_dual_problem *p, size_t n, kc_error *err)
{
    if (p->n_groups < 0 || p->n_groups > 2)
        return kc_fail(err, KC_ERR_ARG, "problem.n_groups is %d, must be 0 to 2", (int)p->n_groups);
    if (p->n_groups < 2 && p->group != NULL)
        return kc_fail(err, KC_ERR_ARG, "problem.group is given, but problem.n_groups is %d",
                       (int)p->n_groups);
    if (p->n_groups == 2 && p->group == NULL)
        return kc_fail(err, KC_ERR_ARG, "problem.group is NULL, but problem.n_groups is 2");
    for (size_t k = 0; p->group != NULL && k < n; k++)
        if (p->group[k] < 0 || p->group[k] > 1)
            return kc_fail(err, KC_ERR_ARG, "problem.group[%zu] is %d, must be 0 or 1", k,
                           (int)p->group[k]);
    if (p->n_groups == 0 && p->sums != NULL)
        return kc_fail(err, KC_ERR_ARG, "problem.sums is given, but problem.n_groups is 0");
    if (p->sums != NULL)
        return kc_numbers_check("problem.sums", p->sums, (size_t)p->n_groups, err);
    return KC_OK;
}

/* Whether coefficients of the group within their bounds can have its sum, and whether those of the
 * start do. */
static kc_status check_sum(const kc_dual_problem *p, size_t n, int32_t g, kc_error *err)
{
    const double sum = p->sums != NULL ? p->sums[g] : 0;
    double low = 0, high = 0, total = 0, size = fabs(sum);

    for (size_t k = 0; k < n; k++) {
        if (p->group != NULL && p->group[k] != g)
            continue;
        low += p->lower[k];
        high += p->upper[k];
        total += p->start != NULL ? p->start[k] : 0;
        size += p->start != NULL ? fabs(p->start[k]) : 0;
    }
    if (p->start != NULL && p->sums != NULL && fabs(total - sum) > SUM_ROUNDING * size)
        return kc_fail(err, KC_ERR_ARG,
                       "the entries of problem.start in group %d have the sum %.17g, but "
                       "problem.sums[%d] is %.17g",
                       (int)g, total, (int)g, sum);
    if (p->start == NULL &&
        !(sum >= low - SUM_ROUNDING * fabs(low) && sum <= high + SUM_ROUNDING * fabs(high)))
        return kc_fail(err, KC_ERR_ARG,
                       "the sum of group %d is to be %.17g, but its bounds leave only %.17g to "
                       "%.17g",
                       (int)g, sum, low, high);
    return KC_OK;
}

kc_status kc_problem_read(const kc_dual_problem *from, size_t n_all, kc_dual_problem *out,
                          kc_error *err)
{
    size_t n;

    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "problem is NULL");
    KC_TRY(kc_struct_read(out, sizeof *out, from, "problem", err));
    KC_TRY(check_scalars(out, n_all, err));
    n = out->rows != NULL ? (size_t)out->n : n_all;
    if (out->t != NULL)
        KC_TRY(kc_numbers_check("problem.t", out->t, n, err));
    KC_TRY(check_bounds(out, n, err));
    KC_TRY(check_groups(out, n, err));
    KC_TRY(check_start(out, n, err));
    for (int32_t g = 0; g < out->n_groups; g++)
        KC_TRY(check_sum(out, n, g, err));
    return KC_OK;
}
