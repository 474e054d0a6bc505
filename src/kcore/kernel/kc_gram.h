/* Whole Gram matrices and diagonals, in parallel, from packed points. */
#ifndef KC_GRAM_H
#define KC_GRAM_H

#include "kernel/kc_kernel.h"

/* out[i * ld + j] = K(x_i, z_j); z == x: computed above the diagonal and mirrored, unless values
 * are cheaper than that. */
kc_status kc_gram_fill(kc_call *call, const kc_kernel *kernel, const kc_packed *x,
                       const kc_packed *z, void *out, size_t ld);

/* How many values that computes. */
int64_t kc_gram_values(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z);

/* out[i] = K(x_i, x_i) */
kc_status kc_gram_diag(kc_call *call, const kc_kernel *kernel, const kc_packed *x, void *out);

#endif
