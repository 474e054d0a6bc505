/* Whole Gram matrices and diagonals of a plan, in parallel. */
#ifndef KC_GRAM_H
#define KC_GRAM_H

#include "base/kc_call.h"
#include "kernel/kc_plan.h"

/* out[i * ld + j] = K(x_i, z_j); z == x: computed above the diagonal and mirrored, unless values
 * are cheaper than that. */
kc_status kc_gram_fill(kc_call *call, const kc_plan *plan, void *out, size_t ld);

/* How many values that computes. */
int64_t kc_gram_values(const kc_plan *plan);

/* The error for the entry at place row * z->n + column, or for one inside of the expression that
 * left no trace in the result: KC_NO_ENTRY. */
#define KC_NO_ENTRY (SIZE_MAX - 1)
kc_status kc_gram_fail(const kc_call *call, const kc_packed *x, const kc_packed *z, size_t place);

/* out[i] = K(x_i, x_i) */
kc_status kc_gram_diag(kc_call *call, const kc_plan *plan, void *out);

#endif
