/* What the first block would lead to, before it is applied: told from a sample of all points. Where
 * blocks are to be given up, that one is then all that is lost. */
#ifndef KC_FORESIGHT_H
#define KC_FORESIGHT_H

#include "solver/kc_choose.h"
#include "solver/kc_pairs.h"

/* The first block, solved and not yet applied, of a problem without support vectors. */
typedef struct kc_block_view {
    const kc_pairs *pairs;
    const int32_t *position_of; /* of the members */
    const double *old_coefficient;
    const uint8_t *is_member; /* by position */
} kc_block_view;

/* What would be counted after the block; *is_known: whether it was worth looking. */
kc_status kc_foresee(const kc_state *s, const kc_block_view *view, int64_t n_steps, kc_stats *out,
                     bool *is_known);

#endif
