/* The loops of the dual solvers with AVX-512: eight doubles or sixteen floats at a time. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "simd/kc_smo_lanes.h"
#include "simd/kc_smo_ops.h"

#define KC_HAS_REDUCE

#define KC_LANE f64
#define KC_MM(name) _mm512_##name##_pd
#define KC_COMPARE(a, b, how) _mm512_cmp_pd_mask(a, b, how)
#define KC_BLEND(a, b, how, x, y) _mm512_mask_blend_pd(KC_COMPARE(a, b, how), y, x)
typedef __m512d smo_vec;
typedef double smo_lane;
enum { KC_SMO_LANES = 8 };
#include "simd/kc_smo_x86_lanes.inc"
#undef KC_LANE
#undef KC_MM
#undef KC_COMPARE
#undef KC_BLEND

#define KC_LANE f32
#define KC_MM(name) _mm512_##name##_ps
#define KC_COMPARE(a, b, how) _mm512_cmp_ps_mask(a, b, how)
#define KC_BLEND(a, b, how, x, y) _mm512_mask_blend_ps(KC_COMPARE(a, b, how), y, x)
typedef __m512 smo_vec;
typedef float smo_lane;
enum { KC_SMO_LANES = 16 };
#include "simd/kc_smo_x86_lanes.inc"
#undef KC_LANE
#undef KC_MM
#undef KC_COMPARE
#undef KC_BLEND

/* A bit for each of the first n lanes. */
KC_INLINE unsigned first_lanes(size_t n)
{
    return (1u << n) - 1;
}

KC_INLINE __m512d row_vec_f32(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

KC_INLINE __m512d row_vec_f64(const double *p)
{
    return _mm512_loadu_pd(p);
}

KC_INLINE __m512 row_vec_single(const float *p)
{
    return _mm512_loadu_ps(p);
}

KC_INLINE __m512d row_part_f32(const float *p, size_t n)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)first_lanes(n), p));
}

KC_INLINE __m512d row_part_f64(const double *p, size_t n)
{
    return _mm512_maskz_loadu_pd((__mmask8)first_lanes(n), p);
}

KC_INLINE __m512 row_part_single(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)first_lanes(n), p);
}

KC_INLINE __m512 smo_narrow(__m512d low, __m512d high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}

#define KC_SMO_MANY ((size_t)384)
#include "simd/kc_smo_pick.inc"

#define KC_OWN_PICK_F32
#define KC_SMO_TABLE kc_smo_ops_avx512
#include "simd/kc_smo_table.inc"
