/* Pair steps over all points of a problem (sequential minimal optimisation): the method for small
 * problems, and for those whose free variables have no room in working sets.
 *
 * The whole matrix lies in the call's arena where the store's budget has room for it (or is the
 * given one); otherwise rows come through the store's cache, two at a time.  Both give the same
 * bits. */
#ifndef KC_SMO_H
#define KC_SMO_H

#include "solver/kc_state.h"

/* Goes on from the state until there is an end: s->stop, which is KC_STOP_MAX_ITER once n_steps is
 * last_step.  may_shrink not NULL: breaks off, and sets it, where few enough points are left to do
 * (solver/kc_active_set.h). */
kc_status kc_smo_run(kc_state *s, int64_t last_step, bool *may_shrink);

#endif
