/* Predictions by vote: every function that a perceptron had on its way counts for the samples that
 * it survived.
 *
 * The functions are not kept but made again from their updates: the value of the next one is that
 * of the last, plus step * (K(x_i, x) + offset).  The points of all updates must stay in the set,
 * and `sample` of an update is a place there. */
#ifndef KC_BALLOTS_H
#define KC_BALLOTS_H

#include "online/kc_active.h"

typedef struct kc_ballots {
    kc_perceptron_update *updates; /* those of one output in the order in which they were made */
    size_t n, capacity;
} kc_ballots;

kc_status kc_ballots_reserve(kc_context *ctx, kc_ballots *ballots, size_t n, kc_error *err);
void kc_ballots_free(kc_context *ctx, kc_ballots *ballots);

/* There is room for it. */
KC_INLINE void kc_ballots_add(kc_ballots *ballots, kc_perceptron_update update)
{
    assert(ballots->n < ballots->capacity);
    ballots->updates[ballots->n++] = update;
}

/* out[i * n_outputs + o]: the votes for output o less those against it; is_joint: those it won
 * against all others. */
kc_status kc_ballots_count(kc_call *call, const kc_active *set, const kc_ballots *ballots,
                           bool is_joint, const kc_points *x, double *out);

#endif
