/* The caller's own kernel as the store's user_fn: samples in place of places, values checked. */
#ifndef KC_USER_KERNEL_H
#define KC_USER_KERNEL_H

#include "base/kc_call.h"

typedef struct kc_user_kernel {
    kc_kernel_fn *fn;
    void *data;           /* its first argument */
    const int32_t *order; /* sample of each place; NULL: they are the same */
} kc_user_kernel;

/* A kc_user_values_fn; data is a kc_user_kernel. */
kc_status kc_user_kernel_values(void *data, kc_call *call, const int32_t *rows, size_t n_rows,
                                const int32_t *cols, size_t n_cols, double *out);

#endif
