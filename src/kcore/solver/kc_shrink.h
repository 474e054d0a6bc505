/* Shrinking: pair steps over the points that matter.
 *
 * A point is idle where its variables are at their bounds (or at a kink) and far enough from
 * wanting to leave them: its values lie outside of the interval in which all violations are.  Once
 * enough points are idle, the others are a problem of their own, with a store of their own, in
 * which what the idle ones contribute to the gradient is fixed.  When it is solved, the gradient of
 * all points is brought up to date with the variables that moved, exactly: whoever was left out and
 * violates now is part of the next round, and no solution is accepted but over all points.
 *
 * Blocks (solver/kc_block.h) leave idle points alone by themselves: this is for problems whose free
 * variables are too many for blocks. */
#ifndef KC_SHRINK_H
#define KC_SHRINK_H

#include "solver/kc_dual.h"

/* As kc_smo_solve, of which it is a faster form, where it suits the problem. */
kc_status kc_shrink_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out);

/* Rows must not be asked for, nor boxes be infinite. */
bool kc_shrink_suits(const kc_store *store, const kc_dual *dual);

#endif
