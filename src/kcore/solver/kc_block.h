/* The solver for larger problems: pair steps inside working sets.
 *
 * An outer step chooses some hundred positions (solver/kc_workset.c), solves the problem in their
 * variables alone by pair steps on their own small matrix, and then updates the gradient with the
 * whole rows of those that moved.  Whole rows are thus computed about once per support vector, in
 * batches, and never for positions that only looked promising. */
#ifndef KC_BLOCK_H
#define KC_BLOCK_H

#include "solver/kc_dual.h"

/* Whether a working set has no room for so many free variables: then every block undoes the work of
 * the last, and steps over all points cost less. */
bool kc_block_is_crowded(size_t n_free, size_t n_points);

/* How a problem that was begun by blocks goes on: solver/kc_outlook.h. */
typedef enum kc_block_end {
    KC_BLOCK_TO_BLOCKS = 0, /* they were not given up */
    KC_BLOCK_TO_PAIRS,
    KC_BLOCK_TO_GREEDY,
} kc_block_end;

/* As kc_dual_solve, but goes on from `out`: a feasible beta, its gradient, and the counts, to which
 * max_iter applies; does not certify.  Breaks off, with what it has, where another method will do
 * better; end NULL: never. */
kc_status kc_block_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                         kc_block_end *end);

#endif
