/* The solver for larger problems: pair steps inside working sets.
 *
 * An outer step chooses some hundred positions (solver/kc_workset.c), solves the problem in their
 * variables alone by pair steps on their own small matrix, and then updates the gradient with the
 * whole rows of those that moved.  Whole rows are thus computed about once per support vector, in
 * batches, and never for positions that only looked promising. */
#ifndef KC_BLOCK_H
#define KC_BLOCK_H

#include "solver/kc_dual.h"

/* Whether a working set with rows of dtype has no room for so many free variables: then every block
 * undoes the work of the last, and greedy ones, or steps over all points, cost less. */
bool kc_block_is_crowded(kc_dtype dtype, size_t n_free, size_t n_points);

/* As kc_dual_solve, but goes on from `out`: a feasible beta, its gradient, and the counts, to which
 * max_iter applies; does not certify.  Breaks off, with what it has, where it finds itself crowded,
 * or that it will ask for nearly all rows of expensive values; is_crowded NULL: never. */
kc_status kc_block_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                         bool *is_crowded);

/* Whether greedy blocks pay where others are crowded: values are expensive, there is nobody to ask.
 */
bool kc_block_suits_greedy(const kc_store *store);

/* The same with small sets of the worst violators, free or not, which are solved to half of their
 * violation: what a crowded block would undo of the last one is then never done.  Takes about as
 * many steps as pair steps over all points, but visits rows in batches; computes the whole matrix
 * first, where the cache has room for it. */
kc_status kc_block_solve_greedily(kc_call *call, kc_store *store, const kc_dual *dual,
                                  kc_solution *out);

#endif
