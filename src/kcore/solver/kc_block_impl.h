/* Inside of the block method: solver/kc_block.c has the outer steps, solver/kc_block_inner.c what a
 * block does by itself. */
#ifndef KC_BLOCK_IMPL_H
#define KC_BLOCK_IMPL_H

#include "solver/kc_block.h"
#include "solver/kc_pairs.h"
#include "solver/kc_subgram.h"
#include "solver/kc_workset.h"

typedef struct kc_blocks {
    kc_state *state;
    kc_front front;
    kc_workset set;
    kc_subgram sub;
    size_t max_size, size_limit;
    double moved_length;      /* of the last block's moves */
    bool is_long;             /* it took many steps per member */
    bool has_rounding_failed; /* rounded values have led too far away, or would */
    kc_stall stall;
    double inner_tol;     /* of the last block */
    double min_violation; /* when the set last grew or the violation fell */
    int32_t n_stalled;
    int32_t n_crowded;                /* outer steps in a row */
    size_t old_n_sv, old_n_violators; /* before the last outer step */

    /* Of the working set; padded. */
    kc_pairs pairs;
    double *inner; /* the gradient, then all arrays of pairs */
    double *old_coefficient;
    int32_t *moved_points;
    double *moved_delta;
    uint8_t *moved_keep;

    bool is_trial;      /* hands over where another method will do better */
    bool is_given_up;   /* it has */
    int64_t n_sets;     /* of this run */
    int64_t first_step; /* what the count of steps began with */
    kc_stats stats;
} kc_blocks;

/* The largest set there may be, whose matrix is of this type. */
KC_INLINE size_t kc_block_size_limit(const kc_tuning *tuning, kc_dtype dtype)
{
    return dtype == KC_F64 ? tuning->block.members_limit_f64 : tuning->block.members_limit;
}

/* Whether a set with all free variables would be larger than there may be. */
bool kc_block_is_too_full(const kc_blocks *s);

/* The matrix of the set, which has room for `size` members, of the type that suits it. */
kc_status kc_block_load(kc_blocks *s, double violation, size_t size);

/* Solves the problem of the members alone. */
kc_status kc_block_run(kc_blocks *s, int64_t last_step, bool *has_moved);

/* Brings what the block found into the solution, unless the rows see no gain in it; `objective` is
 * that before it. */
kc_status kc_block_take(kc_blocks *s, double objective, bool *is_taken);

/* After a block that has not moved, or whose rounded values have led too far away: whether the
 * exact values of the rows are to be tried, which are taken from now on. */
bool kc_block_use_exact_values(kc_blocks *s, bool has_moved);

#endif
