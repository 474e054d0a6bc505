/* Views of the caller's samples (kc_points, kcore.h): checks and row access.
 *
 * A view is only looked at through these functions and data/kc_packed.c; everything above works on
 * packed points. */
#ifndef KC_POINTS_H
#define KC_POINTS_H

#include "base/kc_call.h"

/* Shape, strides, pointers, CSR structure, string offsets: everything but the values, which are
 * checked while they are packed.  The text names the view, the place and the number. */
kc_status kc_points_check(const kc_points *points, kc_error *err);

/* "X", or "points" where the view has no name. */
const char *kc_points_name(const kc_points *points);

/* Entry k of an array of 4- or 8-byte signed integers. */
KC_INLINE int64_t kc_index_at(const void *array, int32_t index_bytes, size_t k)
{
    return index_bytes == 8 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

#endif
