/* The caller's own kernel as the store asks it: by samples instead of places, its answers checked.
 */
#ifndef KC_ASKED_H
#define KC_ASKED_H

#include "task/kc_samples.h"

typedef struct kc_asked {
    const kc_svm_data *data; /* kernel_fn and its data */
    const int32_t *order;    /* sample of each place */
} kc_asked;

/* A kc_ask_fn; data is a kc_asked. */
kc_status kc_asked_values(void *data, kc_call *call, const int32_t *rows, size_t n_rows,
                          const int32_t *cols, size_t n_cols, double *out);

#endif
