/* The caller's own kernel as the store asks it: by samples instead of places, its answers checked.
 */
#ifndef KC_ASKED_H
#define KC_ASKED_H

#include "base/kc_call.h"

typedef struct kc_asked {
    kc_kernel_fn *fn;
    void *data;           /* its first argument */
    const int32_t *order; /* sample of each place; NULL: they are the same */
} kc_asked;

/* A kc_ask_fn; data is a kc_asked. */
kc_status kc_asked_values(void *data, kc_call *call, const int32_t *rows, size_t n_rows,
                          const int32_t *cols, size_t n_cols, double *out);

#endif
