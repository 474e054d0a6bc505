/* Putting kernels together: what the constructors of kcore/kernels.h share. */
#ifndef KC_BUILD_H
#define KC_BUILD_H

#include "kernel/kc_leaf.h"

/* "ctx is NULL", or `name`, or "out". */
kc_status kc_build_check(const kc_context *ctx, const void *given, const char *name,
                         kc_kernel **out, kc_error *err);

/* Room for so many nodes, and for so many bytes of readings. */
kc_status kc_build_begin(kc_context *ctx, size_t n_nodes, size_t n_bytes, kc_kernel **out,
                         kc_error *err);

/* The number that nodes give the reading: one there is, or a new one, for whose bytes there is
 * room. */
int32_t kc_build_reading(kc_kernel *made, const kc_step_list *reading);

/* The nodes are there: finds what is known of them, and gives the kernel out or frees it. */
kc_status kc_build_finish(kc_context *ctx, kc_kernel *made, kc_kernel **out, kc_error *err);

#endif
