/* Problems whose solution is divided by a scale: nu-SVC.
 *
 * A violation of the gradient counts by what it is after the division: tol times the scale is what
 * the gradient is solved to, and the scale is known only as far as the solution is.  So methods go
 * on to a goal on the way, the scale is read again, and so on.
 *
 * Where the two hulls meet, w falls towards zero and the scale with it, so that there is no end to
 * this.  Three things are known at any time, of which the first two are proofs:
 *
 *     the hulls are no further apart than 2 |w| / sum |b|: where that is rounding, they meet
 *     1/2 |w|^2 of the solution is at least 1/2 |w|^2 - gap: where that is positive, there is a
 *         margin, the problem is that of a C-SVC with a finite C, and is solved like one
 *     neither: the function violates by about its own margin, and means nothing yet
 *
 * Of the last kind, steps are counted: beyond some times those that a tolerance of the gradient
 * would have taken, it is not worth it to go on without knowing of a margin. */
#ifndef KC_SCALE_H
#define KC_SCALE_H

#include "solver/kc_state.h"

/* Whether such a violation of the gradient is none.  Reads the scale of the solution, as it stands,
 * and with it tol; problems without a scale keep theirs. */
bool kc_scale_is_solved(kc_state *s, double violation);

/* What to solve down to from such a violation, before the scale is read again: tol, or a share of
 * the violation, of which the scale may be a matter still. */
double kc_scale_goal(const kc_state *s, double violation);

/* Whether the solution is known to have a margin: by the gap, of all points. */
bool kc_scale_has_margin(kc_state *s);

/* Whether the hulls meet, or so many steps have not told whether they do; sets s->stop then. */
bool kc_scale_has_no_end(kc_state *s);

#endif
