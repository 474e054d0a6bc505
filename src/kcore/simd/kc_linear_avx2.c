/* Loops of the linear learners with AVX2 and FMA. */
#define KC_VEC_BYTES 32
#define KC_LINEAR_TABLE kc_linear_avx2
#include "simd/kc_linear_table.inc"
