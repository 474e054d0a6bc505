/* Samples as a kernel reads them: packed, with what its leaves make of their columns, and with the
 * numbers of each sample that its normalizations need. */
#ifndef KC_PREPARE_H
#define KC_PREPARE_H

#include "data/kc_growing.h"
#include "kernel/kc_kernel.h"

/* kc_packed_create_ordered, and what the kernel reads besides; order NULL: as they stand.
 * KC_ERR_SHAPE where the view lacks a column that the kernel reads; `out` is empty on failure. */
kc_status kc_prepare(kc_call *call, const kc_kernel *kernel, const kc_points *points,
                     const int32_t *order, kc_dtype dtype, kc_packed *out);

/* kc_packed_place, where the kernel reads nothing besides. */
bool kc_prepare_few(const kc_kernel *kernel, const kc_points *points, kc_dtype dtype, char *memory,
                    size_t n_bytes, size_t *used, kc_packed *out);

/* Whether it reads samples as they are, and nothing besides. */
bool kc_kernel_is_plain(const kc_kernel *kernel);

/* Growing points, still none, of parts as those of `like`, which the kernel takes. */
kc_status kc_prepare_growing(kc_context *ctx, const kc_kernel *kernel, kc_dtype dtype,
                             const kc_points *like, kc_growing *out, kc_error *err);

#endif
