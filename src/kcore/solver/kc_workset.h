/* Which positions a block step works on.
 *
 * First the most violating pair of every group, so that every block step gains; then the free
 * variables, since a block without them undoes what the last one did; then violators, from both
 * sides alike.  While there are many, violators are drawn at random among all: the most violating
 * ones are near-duplicates of each other, and solving for one satisfies the rest. */
#ifndef KC_WORKSET_H
#define KC_WORKSET_H

#include "base/kc_call.h"
#include "base/kc_rng.h"
#include "simd/kc_smo_ops.h"
#include "solver/kc_tuning.h"

/* Where a problem stands; arrays as in simd/kc_smo_ops.h. */
typedef struct kc_front {
    size_t n;
    int32_t n_layers;
    const double *grad;
    const double *up[2], *low[2];
    kc_peak peak[2];
    double mid[2]; /* mean value of the free variables, else the middle of the violation */
    size_t n_sv;   /* positions with a coefficient */
} kc_front;

typedef struct kc_workset {
    int32_t *members; /* distinct */
    size_t n_members;
    size_t n_free;      /* positions with a free variable, all of them */
    size_t n_violators; /* variables that are not free and violate */

    /* Kept between choices. */
    const kc_block_tuning *tuning;
    kc_rng rng;
    uint8_t *is_member;
    int32_t *free; /* n_free positions, ascending */
    int32_t *side[4];
    size_t n_side[4];
    double *keys;
} kc_workset;

/* Memory of the call, for n positions. */
kc_status kc_workset_create(kc_call *call, const kc_block_tuning *tuning, size_t n,
                            int32_t n_layers, uint64_t seed, kc_workset *out);

/* Members of a set in which so many free variables take the share that they may. */
KC_INLINE size_t kc_workset_size_for(const kc_block_tuning *tuning, size_t n_free)
{
    return (size_t)((double)n_free / tuning->free_share) + tuning->members_extra;
}

/* Finds the free variables and sets front->mid from them and the peaks. */
void kc_workset_look(kc_workset *set, kc_front *front);

/* Up to `size` members, by what look has found; is_first: always draw at random. */
void kc_workset_choose(kc_workset *set, const kc_front *front, size_t size, bool is_first);

#endif
