/* Pair steps with Newton steps in between, for problems in which some hundred variables are free
 * and pair steps take long to agree on them: large boxes, few features.
 *
 * A Newton step (an active-set method: Scheinberg 2006) solves for all free variables at once, and
 * for those that want to leave their bounds: K delta = value - mu, sums kept.  A variable that
 * would leave its box is stopped at its bound, and the others are solved for again.  It is taken if
 * it lowers the objective.
 *
 * It is tried when pair steps have cost several times as much as it will, and more rarely where it
 * gains less than they do: so it never takes more than a share of the time.  What it will cost is
 * told from counts, so that results depend on nothing else. */
#ifndef KC_NEWTON_H
#define KC_NEWTON_H

#include "solver/kc_pairs.h"

/* As kc_pairs_run, for pairs with a matrix; a Newton step counts as one.  Fails for lack of memory
 * too. */
kc_status kc_newton_run(kc_call *call, kc_pairs *pairs, double tol, int64_t max_steps,
                        kc_stop *stop);

#endif
