/* What becomes of a problem that is solved by blocks, told from the first of them: whether another
 * method will do better.  All of it is counts, so that the choice depends on the problem alone.
 *
 * Blocks are given up where they are crowded, and where they would ask for nearly all rows while
 * few steps are made.  Greedy steps take their place where most points move and are many, pair
 * steps otherwise: those go on without the points that have settled. */
#ifndef KC_OUTLOOK_H
#define KC_OUTLOOK_H

#include "solver/kc_block.h"
#include "solver/kc_pairs.h"

/* How a problem stands after some blocks. */
typedef struct kc_census {
    int64_t n_blocks, n_steps;
    size_t n_slots; /* of the last block */
    size_t n_sv, n_free, n_violators;
    bool is_crowded; /* there are more free variables than a set has room for, or will be */
} kc_census;

kc_block_end kc_outlook_judge(const kc_store *store, const kc_dual *dual, const kc_census *census);

/* The first block, solved and not yet applied, of a problem without support vectors. */
typedef struct kc_block_view {
    const kc_pairs *pairs;
    const int32_t *position_of; /* of the members */
    const double *old_coefficient;
    const uint8_t *is_member; /* by position, as are the next */
    const double *grad;
    const double *up[2], *low[2];
} kc_block_view;

/* The same before the block is applied, from a sample of all points: where it tells that blocks are
 * to be given up, the block was all that is lost.  Looks at larger problems only. */
kc_status kc_outlook_foresee(kc_call *call, kc_store *store, const kc_dual *dual,
                             const kc_block_view *view, int64_t n_steps, kc_block_end *end);

#endif
