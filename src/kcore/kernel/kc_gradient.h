/* The gradient of sum_ij G_ij K(x_i, z_j) by the parameters of a kernel, in parallel and in the
 * memory of some tiles: values are made, used and forgotten. */
#ifndef KC_GRADIENT_H
#define KC_GRADIENT_H

#include "base/kc_call.h"
#include "data/kc_points.h"
#include "kernel/kc_plan.h"
#include "kernel/kc_vectors_slopes.h"

/* out[k] for the numbers k of kc_tape_find_param.  raw: kc_raw_columns_read of both sides. weights:
 * a dense view of numbers, checked, of x->n by z->n; z == x: half of the values are computed.  Sums
 * are doubles, of pieces that depend on the kernel and the sizes alone, in a fixed order. */
kc_status kc_gradient_fill(kc_call *call, const kc_plan *plan, const kc_raw_columns *raw,
                           const kc_points *weights, double *out);

#endif
