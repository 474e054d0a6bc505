/* Portable loops of the linear learners. */
#define KC_VEC_BYTES 16
#define KC_LINEAR_TABLE kc_linear_generic
#include "simd/kc_linear_table.inc"
