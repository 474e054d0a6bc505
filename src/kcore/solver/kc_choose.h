/* Which method goes on with a problem, told from the problem and from what the methods that ran
 * have counted.  All of it is counts, so that the choice depends on the problem alone: not on the
 * clock, the cache or the number of threads.
 *
 * Small problems are solved by pair steps over all points, larger ones by working sets ("blocks").
 * Blocks are given up where they have no room for the free variables ("crowded"), and where they
 * would ask for nearly all rows while few steps are made ("dense").  Greedy steps take their place
 * where most points move and are many; pair steps otherwise, which go on without settled points.
 * Where no sum is fixed, one variable moves at a time. */
#ifndef KC_CHOOSE_H
#define KC_CHOOSE_H

#include "solver/kc_state.h"

/* What a method has counted. */
typedef struct kc_stats {
    kc_method method; /* that ran; KC_METHOD_AUTO: none yet */
    int64_t n_sets, n_steps;
    size_t n_slots; /* members of the last working set, and of those before that stayed */
    size_t n_support, n_free, n_violators;
    bool is_crowded; /* there are more free variables than a working set has room for, or will be */
} kc_stats;

typedef struct kc_choice {
    kc_method method;
    bool is_trial; /* it hands over where the choice would be another one */
    bool may_shrink;
} kc_choice;

/* How to go on where the last method has come to no end; with stats of KC_METHOD_AUTO, how to
 * begin. */
kc_choice kc_choose(const kc_state *s, const kc_stats *stats);

/* Whether a working set has no room for so many free variables: then every block undoes the work of
 * the last, and steps over all points cost less. */
bool kc_is_crowded(const kc_tuning *tuning, size_t n_free, size_t n_points);

/* Whether a sample of the points is worth a look before the first block is applied. */
bool kc_is_foreseen(const kc_state *s, const kc_stats *stats);

#endif
