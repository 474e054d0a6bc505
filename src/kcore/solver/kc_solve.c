/* Solves the one problem by the method that suits its size.
 *
 * The choice depends on the number of points and on what a value costs alone, so that results do
 * not depend on the cache or on the machine. */
#include <string.h>

#include "solver/kc_block.h"
#include "solver/kc_dual.h"
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

static bool suits_pairs(const kc_dual *dual, const kc_store *store)
{
    size_t most = PAIRS_POINTS + PAIRS_POINTS_PER_WORK * kc_store_work(store);

    if (dual->method != KC_METHOD_AUTO)
        return dual->method == KC_METHOD_PAIRS;
    if (kc_store_is_given(store))
        return dual->n_points <= PAIRS_POINTS_GIVEN;
    if (dual->n_points < kc_store_points(store))
        return dual->n_points <= PAIRS_POINTS_PART;
    return dual->n_points <= kc_min(most, MOST_PAIRS_POINTS);
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
    KC_TRY(suits_pairs(dual, store) ? kc_smo_solve(call, store, dual, out)
                                    : kc_block_solve(call, store, dual, out));
    kc_dual_settle(dual, kc_largest_diag(dual, store), out->beta);
    kc_dual_certify(dual, out);
    return KC_OK;
}
