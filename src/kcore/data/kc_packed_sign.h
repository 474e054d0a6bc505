/* Packed samples that must not have negative numbers. */
#ifndef KC_PACKED_SIGN_H
#define KC_PACKED_SIGN_H

#include "data/kc_packed.h"

/* Whether a number is below 0; -0 is not.  *is_stopped: the call was told to end before that was
 * known.  call NULL: there are few. */
bool kc_packed_has_negative(kc_call *call, const kc_packed *x, bool *is_stopped);

typedef struct kc_negative {
    size_t row, col; /* SIZE_MAX: there is none */
    double value;
} kc_negative;

/* The first one, by the caller's rows: sample i is row order[i], or i where order is NULL. */
kc_negative kc_packed_first_negative(const kc_packed *x, const int32_t *order);

#endif
