/* What each point adds to a value of a function: the terms a_i K(x_i, x), largest first. */
#ifndef KC_CONTRIBUTIONS_H
#define KC_CONTRIBUTIONS_H

#include "function/kc_expansion.h"

/* For every row of x and every output, the `top` terms of largest absolute value, in that order,
 * equal ones by their points: points[(row * n_outputs + o) * top + k] and values[...].  Points
 * whose coefficient is 0 have no term; where there are less than `top`, the others are -1 and 0.
 * Without a kernel, x holds kernel values, as for kc_expansion_evaluate. */
kc_status kc_contributions_find(kc_call *call, const kc_expansion *f, const kc_points *x,
                                size_t top, int64_t *points, double *values);

#endif
