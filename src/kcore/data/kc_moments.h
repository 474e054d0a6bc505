/* What is known of samples before there is a kernel: their variance, and whether they are finite.
 *
 * Both read the caller's values where they are, in parallel, and may be stopped at any time. */
#ifndef KC_MOMENTS_H
#define KC_MOMENTS_H

#include "base/kc_call.h"

/* The variance of all entries, each sample by its weight (NULL: all 1); zeros of CSR samples count.
 * Sums are doubles, of each row and then of the rows in their order: the same bits for any layout
 * and any number of threads.  `points` is checked, and no strings. */
kc_status kc_points_variance(kc_call *call, const kc_points *points, const double *weights,
                             double *out);

/* KC_ERR_NONFINITE, with row and column, where there is a NaN or an infinity; of several the first.
 * `points` is checked, and no strings. */
kc_status kc_points_check_finite(kc_call *call, const kc_points *points);

#endif
