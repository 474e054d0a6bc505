/* Solves the one problem by the method that suits its size.
 *
 * The choice depends on the number of points, on what a value costs, and on how the first blocks
 * turn out, so that results do not depend on the cache or on the machine. */
#include <math.h>
#include <string.h>

#include "solver/kc_block.h"
#include "solver/kc_dual.h"
#include "solver/kc_greedy.h"
#include "solver/kc_pairs.h"
#include "solver/kc_shrink.h"
#include "solver/kc_smo.h"
#include "solver/kc_watch.h"

/* Steps over all points cost less than blocks up to so many points: more where values are
 * expensive, since the whole matrix is computed by halves and each value once. */
#define PAIRS_POINTS ((size_t)500)
#define PAIRS_POINTS_PER_WORK ((size_t)40)
#define MOST_PAIRS_POINTS ((size_t)3000)
#define PAIRS_POINTS_GIVEN ((size_t)2000)
#define PAIRS_POINTS_PART ((size_t)1000) /* a pair of classes: its values serve other pairs too */

/* A gradient may be off by this share of tol before it is computed anew. */
#define DRIFT_TOL_SHARE 1e-3

/* ... after which there may be more to do, but not for ever. */
#define MOST_TURNS 4

/* Times are foretold from others, which may have been better off. */
#define RESERVE_SHARE 1.25

/* Seconds beyond a time limit that the last gradient may take. */
#define LATE_SECONDS 0.02

int64_t kc_dual_max_iter(const kc_dual *dual)
{
    int64_t per_point = 100 * (int64_t)dual->n_points;

    if (dual->max_iter > 0)
        return dual->max_iter;
    return per_point > 10000000 ? per_point : 10000000;
}

bool kc_dual_suits_matrix(size_t n_points)
{
    return n_points <= PAIRS_POINTS_PART;
}

static bool suits_pairs(const kc_dual *dual, const kc_store *store)
{
    size_t most = PAIRS_POINTS + PAIRS_POINTS_PER_WORK * kc_store_work(store);

    if (dual->method == KC_METHOD_BLOCK)
        return false;
    if (kc_store_is_given(store))
        return dual->n_points <= PAIRS_POINTS_GIVEN;
    if (dual->n_points < kc_store_points(store))
        return kc_dual_suits_matrix(dual->n_points);
    return dual->n_points <= kc_min(most, MOST_PAIRS_POINTS);
}

static kc_status solve_by_pairs(kc_call *call, kc_store *store, const kc_dual *dual,
                                kc_solution *out)
{
    return dual->is_shrinking && kc_shrink_suits(store, dual)
               ? kc_shrink_solve(call, store, dual, out)
               : kc_smo_solve(call, store, dual, out, NULL);
}

/* Blocks, as long as they suit; then greedily, or by pairs, with the whole cache. */
static kc_status solve_by_blocks(kc_call *call, kc_store *store, const kc_dual *dual,
                                 kc_solution *out)
{
    kc_block_end end = KC_BLOCK_TO_BLOCKS;

    KC_TRY(kc_block_solve(call, store, dual, out, dual->method == KC_METHOD_AUTO ? &end : NULL));
    if (end == KC_BLOCK_TO_BLOCKS)
        return KC_OK;
    if (end == KC_BLOCK_TO_GREEDY)
        return kc_greedy_solve(call, store, dual, out);
    kc_dual rest = *dual;
    rest.method = KC_METHOD_PAIRS;
    kc_store_clear(call->ctx, store);
    return solve_by_pairs(call, store, &rest, out);
}

static kc_status solve_by_method(kc_call *call, kc_store *store, const kc_dual *dual,
                                 kc_solution *out)
{
    if (dual->method == KC_METHOD_PAIRS)
        return solve_by_pairs(call, store, dual, out);
    if (dual->method == KC_METHOD_GREEDY)
        return kc_greedy_solve(call, store, dual, out);
    if (suits_pairs(dual, store))
        return kc_smo_solve(call, store, dual, out, NULL);
    return solve_by_blocks(call, store, dual, out);
}

/* ---- Start --------------------------------------------------------------------------------- */

static kc_status take_start(kc_call *call, const kc_dual *dual, kc_solution *out)
{
    const size_t n_vars = (size_t)dual->n_groups * dual->n_points;

    if (dual->start != NULL)
        memcpy(out->beta, dual->start, n_vars * sizeof *out->beta);
    else
        memset(out->beta, 0, n_vars * sizeof *out->beta);
    out->n_iter = out->n_outer = out->n_row_visits = 0;
    out->stop = KC_STOP_TIME;
    return kc_dual_repair(dual, out->beta, call->err);
}

static void leave_uncertified(kc_solution *out)
{
    out->is_certified = false;
    out->primal = out->dual = out->gap = out->violation = NAN;
}

/* There was no time for a step.  Without coefficients the gradient is t, and the certificate costs
 * nothing. */
static void stay_at_start(const kc_dual *dual, kc_solution *out)
{
    bool is_zero = true;

    if (dual->start == NULL)
        kc_dual_start_evenly(dual, out->beta);
    for (size_t p = 0; p < dual->n_points; p++)
        is_zero &= kc_dual_coefficient(dual, out->beta, p) == 0;
    memcpy(out->grad, dual->t, dual->n_points * sizeof *out->grad);
    kc_dual_certify(dual, out);
    out->is_certified = is_zero;
    if (!is_zero) {
        out->intercept[0] = out->intercept[1] = 0;
        leave_uncertified(out);
    }
}

/* ---- End ----------------------------------------------------------------------------------- */

void kc_dual_reserve(kc_call *call, const kc_store *store, const kc_dual *dual, size_t n_support)
{
    const size_t n_points = dual->n_whole > 0 ? dual->n_whole : dual->n_points;

    if (kc_call_is_limited(call))
        kc_call_reserve(call, RESERVE_SHARE * kc_store_apply_seconds(
                                                  store, dual->n_outside + n_support, n_points));
}

size_t kc_dual_count_support(const kc_dual *dual, const double *beta)
{
    size_t count = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        count += kc_dual_coefficient(dual, beta, p) != 0;
    return count;
}

/* The gradient of the solution as it is.  What was reserved for it may be spent, and a little more,
 * should that have been too little: but not so much that the limit means nothing. */
static kc_status refresh(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                         bool *is_fresh)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    double *grad = kc_call_take(call, dual->n_points, sizeof *grad);
    kc_status status;

    if (grad == NULL)
        return kc_fail_nomem(call->err);
    kc_call_extend(call, LATE_SECONDS);
    status = kc_dual_gradient(call, store, dual, out->beta, grad);
    kc_call_expire(call);
    *is_fresh = status == KC_OK;
    if (*is_fresh)
        memcpy(out->grad, grad, dual->n_points * sizeof *grad);
    kc_arena_release(call->arena, point);
    return status == KC_ERR_TIME ? KC_OK : status;
}

/* Makes the sums and the numbers exact.  *is_done: unless rounding of the sums was all that made a
 * solution of it. */
static kc_status finish(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                        bool *is_done)
{
    const double largest_diag = kc_largest_diag(dual, store);
    const double moved = kc_dual_settle(dual, largest_diag, out->beta);
    const bool is_converged = out->stop == KC_STOP_CONVERGED;
    bool is_fresh = is_converged && moved * largest_diag <= DRIFT_TOL_SHARE * dual->tol;

    if (!is_fresh && out->stop != KC_STOP_UNBOUNDED)
        KC_TRY(refresh(call, store, dual, out, &is_fresh));
    kc_dual_certify(dual, out);
    out->is_certified = is_fresh || out->stop == KC_STOP_UNBOUNDED;
    *is_done = !(is_converged && is_fresh && out->violation >= dual->tol);
    if (!out->is_certified) {
        leave_uncertified(out);
        out->stop = is_converged ? KC_STOP_TIME : out->stop;
    }
    return KC_OK;
}

/* From a start whose gradient is known, until there is an end; KC_ERR_TIME where no step was made.
 */
static kc_status run(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    bool is_done = false;

    for (int turn = 0; turn < MOST_TURNS && !is_done; turn++) {
        const kc_status status = solve_by_method(call, store, dual, out);

        if (!kc_stop_of(status, &out->stop))
            KC_TRY(status);
        if (out->stop == KC_STOP_CALLER)
            return KC_OK;
        if (out->stop == KC_STOP_TIME && out->n_iter == 0)
            return KC_ERR_TIME;
        KC_TRY(finish(call, store, dual, out, &is_done));
    }
    if (!is_done)
        out->stop = KC_STOP_STALLED;
    return KC_OK;
}

kc_status kc_dual_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    kc_status status = KC_ERR_TIME;

    assert(dual->n_points == kc_cols_count(&dual->cols) && dual->n_points > 0);
    KC_TRY(take_start(call, dual, out));
    if (store != NULL)
        status = kc_dual_gradient(call, store, dual, out->beta, out->grad);
    if (status == KC_OK)
        status = run(call, store, dual, out);
    kc_call_reserve(call, 0);
    if (status != KC_ERR_TIME)
        return status;
    stay_at_start(dual, out);
    return KC_OK;
}
