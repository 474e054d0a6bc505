/* Shrinking: pair steps over the points that matter (Joachims 1999).
 *
 * Once few enough points are active (solver/kc_active_set.h), they are a problem of their own, with
 * a state and a store of their own, in which what the shrunk ones contribute to the gradient is
 * fixed. When it is solved, the gradient of all points is brought up to date with the variables
 * that moved, exactly: points that were left out and violate now are part of the next round, and no
 * solution is accepted but over all points.
 *
 * Blocks (solver/kc_block.h) leave shrunk points alone by themselves: this is for problems whose
 * free variables are too many for blocks. */
#ifndef KC_SHRINK_H
#define KC_SHRINK_H

#include "solver/kc_state.h"

/* As kc_smo_run, of which it is a faster form, where it suits the problem. */
kc_status kc_shrink_run(kc_state *s, int64_t last_step);

/* Rows must not be asked for, nor boxes be infinite, nor a margin be in doubt. */
bool kc_shrink_suits(kc_state *s);

#endif
