/* AVX-512: a panel is one vector; a tile of six rows by two panels keeps twelve sums in the
 * thirty-two registers, and the numbers of exp beside them.  Value for value what AVX2 computes. */
#include <float.h>
#include <math.h>

#define KC_VEC_BYTES 64
#define KC_MR 6
#define KC_TP 2
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

const kc_ops_table kc_ops_avx512 = {.f32 = kc_table_f32, .f64 = kc_table_f64};
