/* Kernels as objects: expressions of leaves and operators (kernel/kc_leaf.h), made by the
 * constructors of kcore/kernels.h.  kernel/kc_plan.h evaluates them. */
#ifndef KC_KERNEL_H
#define KC_KERNEL_H

#include "base/kc_base.h"
#include "base/kc_status.h"

struct kc_leaf;

/* An equal kernel. */
kc_status kc_kernel_copy(kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err);

/* Whether they are the same expression: the same nodes, parameters, functions and columns. */
bool kc_kernel_is_equal(const kc_kernel *a, const kc_kernel *b);

/* Whether it is this leaf and nothing else; its parameters, where it is a single leaf. */
bool kc_kernel_is(const kc_kernel *kernel, const struct kc_leaf *leaf);
const double *kc_kernel_params(const kc_kernel *kernel);

/* Whether K(x, z) = x.z; exp(-gamma |x - z|^2). */
bool kc_kernel_is_linear(const kc_kernel *kernel);
bool kc_kernel_is_rbf(const kc_kernel *kernel);

/* Whether the kernel takes points of such parts: their storages and columns; no more of the view is
 * looked at. */
kc_status kc_kernel_check_parts(const kc_kernel *kernel, const kc_points *points, kc_error *err);

/* That, for both sides, and whether they fit together. */
kc_status kc_kernel_check(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                          kc_error *err);

#endif
