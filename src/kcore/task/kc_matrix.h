/* A kernel matrix given by the caller, as the store reads it: rows of one type, samples in order.
 */
#ifndef KC_MATRIX_H
#define KC_MATRIX_H

#include "task/kc_samples.h"

typedef struct kc_matrix {
    kc_dtype dtype;
    const void *values;
    size_t ld;
    void *owned; /* what kc_matrix_free releases; NULL: borrowed from the view */
} kc_matrix;

/* Square, dense, finite where samples count.  The caller's memory itself where it can be read as it
 * is; else a copy, sorted as the samples are. */
kc_status kc_matrix_create(kc_call *call, const kc_points *x, const kc_samples *samples,
                           kc_dtype dtype, kc_matrix *out);
void kc_matrix_free(kc_context *ctx, kc_matrix *matrix);

#endif
