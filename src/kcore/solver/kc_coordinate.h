/* The solver for problems without a fixed sum: steps on one variable at a time.
 *
 * Nothing ties the variables of such a problem together but the matrix, so that the best step for a
 * variable is known in closed form: to the zero of its gradient, or to the bound or kink before it.
 * A round takes the worst violators and free variables, makes such steps among them on their own
 * matrix, each time for the variable whose step gains most, and then adds up the rows of those that
 * moved. */
#ifndef KC_COORDINATE_H
#define KC_COORDINATE_H

#include "solver/kc_state.h"

/* Goes on from the state, whose problem has boxes only and one layer, until there is an end:
 * s->stop. */
kc_status kc_coordinate_run(kc_state *s);

#endif
