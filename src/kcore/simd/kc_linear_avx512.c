/* Loops of the linear learners where there is AVX-512: vectors of 32 bytes, since longer ones were
 * no faster, and sums stay those of AVX2 to the bit. */
#define KC_VEC_BYTES 32
#define KC_LINEAR_TABLE kc_linear_avx512
#include "simd/kc_linear_table.inc"
