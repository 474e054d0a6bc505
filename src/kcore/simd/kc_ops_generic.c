/* Portable: vectors of 16 bytes, which every x86-64 and aarch64 has; two rows of a tile at a time
 * fill the registers.  The reference for the other instruction sets, and the fallback. */
#include <float.h>
#include <math.h>

#define KC_VEC_BYTES 16
#define KC_MR 2
#define KC_TP 1
#include "simd/kc_ops.h"
#include "simd/kc_vec.h"

#define KC_T float
#define KC_SUFFIX f32
#include "simd/kc_ops_body.inc"
#undef KC_T
#undef KC_SUFFIX

#define KC_T double
#define KC_SUFFIX f64
#include "simd/kc_ops_body.inc"

const kc_ops_table kc_ops_generic = {.f32 = kc_table_f32, .f64 = kc_table_f64};
