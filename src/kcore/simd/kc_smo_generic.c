/* The loops of the dual solvers for any machine: two doubles or four floats at a time, in the
 * compiler's vector types, which become the machine's own where it has such. */
#include <math.h>
#include <string.h>

#include "simd/kc_smo_lanes.h"
#include "simd/kc_smo_ops.h"

#define KC_LANE f64
typedef double smo_lane;
typedef int64_t KC_LANED(bits);
#include "simd/kc_smo_generic_lanes.inc"
#undef KC_LANE

#define KC_LANE f32
typedef float smo_lane;
typedef int32_t KC_LANED(bits);
#include "simd/kc_smo_generic_lanes.inc"
#undef KC_LANE

KC_INLINE smo_vec_f64 row_vec_f32(const float *p)
{
    return (smo_vec_f64){(double)p[0], (double)p[1]};
}

KC_INLINE smo_vec_f64 row_vec_f64(const double *p)
{
    return smo_load_f64(p);
}

KC_INLINE smo_vec_f32 row_vec_single(const float *p)
{
    return smo_load_f32(p);
}

KC_INLINE smo_vec_f64 row_part_f32(const float *p, size_t n)
{
    return (smo_vec_f64){n > 0 ? (double)p[0] : 0.0, 0.0};
}

KC_INLINE smo_vec_f64 row_part_f64(const double *p, size_t n)
{
    return (smo_vec_f64){n > 0 ? p[0] : 0.0, 0.0};
}

KC_INLINE smo_vec_f32 row_part_single(const float *p, size_t n)
{
    return (smo_vec_f32){n > 0 ? p[0] : 0.0f, n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, 0.0f};
}

#define KC_SMO_MANY ((size_t)-1) /* products are rounded before they are compared */
#define KC_SMO_TABLE kc_smo_ops_generic
#include "simd/kc_smo_table.inc"
