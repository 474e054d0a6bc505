/* AVX2 with FMA: two rows of coefficients keep eight vectors of running sums in registers. */
#define KC_VEC_BYTES 32
#define KC_WEIGH_ROWS 2
#include "simd/kc_vec.h"
#include "simd/kc_weigh_ops.h"

#define KC_T float
#define KC_SUFFIX f32
#include "simd/kc_weigh_body.inc"
#undef KC_T
#undef KC_SUFFIX

#define KC_T double
#define KC_SUFFIX f64
#include "simd/kc_weigh_body.inc"

#include "simd/kc_columns_body.inc"

const kc_weigh_ops kc_weigh_ops_avx2 = {
    .f32 = weigh_f32,
    .f64 = weigh_f64,
    .scale_f32 = scale_weights_f32,
    .scale_f64 = scale_weights_f64,
    .add_f32 = add_weighed_f32,
    .add_f64 = add_weighed_f64,
    .add_squares = add_squares,
    .add_distances = add_distances,
};
