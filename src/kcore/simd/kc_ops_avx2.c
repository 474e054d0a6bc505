/* AVX2 with FMA: a tile of six rows by two vectors keeps twelve sums in the sixteen registers,
 * enough independent chains to hide the latency of two fused multiply-adds per cycle. */
#include <float.h>
#include <math.h>

#define KC_VEC_BYTES 32
#define KC_MR 6
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

const kc_ops_table kc_ops_avx2 = {.f32 = kc_table_f32, .f64 = kc_table_f64};
