/* Samples one after the other, as the linear learners read them: each a run of numbers, or a run of
 * (column, value).
 *
 * Dense rows whose numbers lie side by side and CSR rows with 32-bit columns are borrowed from the
 * view, of whichever type they are; anything else is copied once.  Every value is checked. */
#ifndef KC_ROWWISE_H
#define KC_ROWWISE_H

#include "base/kc_call.h"

typedef struct kc_rowwise {
    kc_dtype dtype;
    bool is_sparse;
    size_t n, d;
    const char *values; /* dense: row 0; CSR: all values */
    int64_t row_bytes;  /* dense: from one row to the next */
    const int64_t *indptr;
    const int32_t *cols;
    double max_sq_norm; /* largest |x|^2 */
    void *owned[1];     /* what kc_rowwise_free releases */
} kc_rowwise;

/* Checks the view and its values; `out` is empty on failure. */
kc_status kc_rowwise_create(kc_call *call, const kc_points *points, kc_rowwise *out);

/* Accepts an empty one. */
void kc_rowwise_free(kc_context *ctx, kc_rowwise *rows);

#endif
