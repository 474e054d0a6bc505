/* The method for larger problems: pair steps inside working sets (decomposition, as in SVM-light;
 * Joachims 1999).
 *
 * An outer step chooses some hundred positions (solver/kc_workset.c), solves the problem in their
 * variables alone by pair steps on their own small matrix, and then updates the gradient with the
 * whole rows of those that moved.  Whole rows are thus computed about once per support vector, in
 * batches, and never for positions that only looked promising. */
#ifndef KC_BLOCK_H
#define KC_BLOCK_H

#include "solver/kc_choose.h"

/* Goes on from the state until there is an end, s->stop, or, on trial, until kc_choose says that
 * another method will do better: *is_given_up.  Fills *stats with its counts. */
kc_status kc_blocks_run(kc_state *s, bool is_trial, kc_stats *stats, bool *is_given_up);

#endif
