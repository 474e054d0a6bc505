/* Solves the one problem by the method that suits its size.
 *
 * The choice depends on the number of points, on what a value costs, and on how the first blocks
 * turn out, so that results do not depend on the cache or on the machine. */
#include <string.h>

#include "solver/kc_block.h"
#include "solver/kc_dual.h"
#include "solver/kc_greedy.h"
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

kc_status kc_dual_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    size_t n_vars = (size_t)dual->n_groups * dual->n_points;

    assert(dual->n_points == kc_cols_count(&dual->cols) && dual->n_points > 0);
    if (dual->start != NULL)
        memcpy(out->beta, dual->start, n_vars * sizeof *out->beta);
    else
        memset(out->beta, 0, n_vars * sizeof *out->beta);
    KC_TRY(kc_dual_repair(dual, out->beta, call->err));
    KC_TRY(kc_dual_gradient(call, store, dual, out->beta, out->grad));
    out->n_iter = out->n_outer = out->n_row_visits = 0;
    if (dual->method == KC_METHOD_PAIRS)
        KC_TRY(solve_by_pairs(call, store, dual, out));
    else if (dual->method == KC_METHOD_GREEDY)
        KC_TRY(kc_greedy_solve(call, store, dual, out));
    else if (suits_pairs(dual, store))
        KC_TRY(kc_smo_solve(call, store, dual, out, NULL));
    else
        KC_TRY(solve_by_blocks(call, store, dual, out));
    kc_dual_settle(dual, kc_largest_diag(dual, store), out->beta);
    kc_dual_certify(dual, out);
    return KC_OK;
}
