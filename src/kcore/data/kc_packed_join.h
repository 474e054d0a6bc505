/* Packed samples of several sets as one view again, and which of a set are equal. */
#ifndef KC_PACKED_JOIN_H
#define KC_PACKED_JOIN_H

#include "data/kc_packed.h"

/* Whether two sets have the same parts of a view: as many columns of numbers, or strings. */
bool kc_packed_are_alike(const kc_packed *x, const kc_packed *z);

/* A view of the samples of sets that are alike, one set after the other, as doubles (exact,
 * whatever the type) in memory of the call's arena.  A part that is sparse in any of the sets is
 * sparse. */
kc_status kc_packed_join(kc_call *call, const kc_packed *const *sets, size_t n_sets,
                         kc_points *out);

/* Of sample i, in all parts of the view: equal samples have equal numbers, dense or sparse; 0 and
 * -0 are equal.  room: kc_packed_room numbers. */
uint64_t kc_packed_hash(const kc_packed *x, size_t i, double *room);

/* Whether samples i and j are equal.  room: twice as many numbers. */
bool kc_packed_is_same(const kc_packed *x, size_t i, size_t j, double *room);

/* Numbers that the longest sample may have in one of its parts; at least 1. */
size_t kc_packed_room(const kc_packed *x);

#endif
