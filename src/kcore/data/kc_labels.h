/* Labels of samples: their numbers, and weights that make classes equal. */
#ifndef KC_LABELS_H
#define KC_LABELS_H

#include "base/kc_call.h"

/* See kc_encode_labels and kc_balanced_weights of the public header; arguments are checked, but not
 * what the arrays hold. */
kc_status kc_labels_encode(kc_call *call, const kc_labels *labels, int64_t most, int64_t *first,
                           int32_t *codes, int64_t *n_found);
kc_status kc_labels_balance(kc_call *call, const int32_t *classes, size_t n, int32_t n_classes,
                            const double *weights, double *out);

#endif
