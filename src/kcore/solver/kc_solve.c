/* Solves the one problem by the method that suits its size.
 *
 * The choice depends on the number of points alone, so that results do not depend on the cache or
 * on the machine. */
#include <string.h>

#include "solver/kc_block.h"
#include "solver/kc_dual.h"
#include "solver/kc_smo.h"

/* Up to here, steps over all points cost less than blocks do. */
#define PAIRS_POINTS 1000

int64_t kc_dual_max_iter(const kc_dual *dual)
{
    int64_t per_point = 100 * (int64_t)dual->n_points;

    if (dual->max_iter > 0)
        return dual->max_iter;
    return per_point > 10000000 ? per_point : 10000000;
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
    bool is_small = dual->method == KC_METHOD_PAIRS ||
                    (dual->method == KC_METHOD_AUTO && dual->n_points <= PAIRS_POINTS);
    KC_TRY(is_small ? kc_smo_solve(call, store, dual, out)
                    : kc_block_solve(call, store, dual, out));
    kc_dual_certify(dual, out);
    return KC_OK;
}
