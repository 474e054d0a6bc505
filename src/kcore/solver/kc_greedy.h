/* The solver for problems in which most variables move, each a little, again and again: where no
 * block has room for the free ones, or nearly all points are support vectors.
 *
 * A round takes some of the worst violators of either side, makes pair steps among them alone until
 * a share of their violation is left, and then adds up the rows of those that moved, in one pass
 * over all points which finds the next ones as well.  That takes about as many visits of rows as
 * pair steps over all points do, but a visit costs a fraction of theirs where the matrix is too
 * large for the caches: rows are known before they are read, several are read side by side and each
 * once, several threads share a pass, and the next round is solved meanwhile.  The whole matrix is
 * computed first, if the store has room for it; otherwise rows come through its cache, or are
 * computed in batches. */
#ifndef KC_GREEDY_H
#define KC_GREEDY_H

#include "solver/kc_state.h"

/* Goes on from the state until there is an end: s->stop. */
kc_status kc_greedy_run(kc_state *s);

#endif
