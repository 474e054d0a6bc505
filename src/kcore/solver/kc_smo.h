/* Pair steps over all points of a problem: the solver for small problems.
 *
 * The whole matrix lies in the call's arena where the store's budget has room for it (or is the
 * given one); otherwise rows come through the store's cache, two at a time.  Both give the same
 * bits. */
#ifndef KC_SMO_H
#define KC_SMO_H

#include "solver/kc_dual.h"

/* As kc_dual_solve, but goes on from `out`: a feasible beta, its gradient, and the counts, to which
 * max_iter applies; does not certify.  Breaks off, with what it has, where few enough points are
 * left to do (solver/kc_idle.h); is_narrow NULL: never. */
kc_status kc_smo_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                       bool *is_narrow);

#endif
