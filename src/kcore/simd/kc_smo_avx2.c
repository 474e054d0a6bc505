/* The loops of the dual solvers with AVX2 and FMA: four doubles or eight floats at a time. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "simd/kc_smo_lanes.h"
#include "simd/kc_smo_ops.h"

#define KC_COMPARE(a, b, how) KC_MM(movemask)(KC_MM(cmp)(a, b, how))
#define KC_BLEND(a, b, how, x, y) KC_MM(blendv)(y, x, KC_MM(cmp)(a, b, how))

#define KC_LANE f64
#define KC_MM(name) _mm256_##name##_pd
typedef __m256d smo_vec;
typedef double smo_lane;
enum { KC_SMO_LANES = 4 };
#include "simd/kc_smo_x86_lanes.inc"
#undef KC_LANE
#undef KC_MM

#define KC_LANE f32
#define KC_MM(name) _mm256_##name##_ps
typedef __m256 smo_vec;
typedef float smo_lane;
enum { KC_SMO_LANES = 8 };
#include "simd/kc_smo_x86_lanes.inc"
#undef KC_LANE
#undef KC_MM

/* Lanes below n all ones: a window on ones followed by zeros. */
KC_INLINE __m128i first_of_four(size_t n)
{
    static const int32_t window[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm_loadu_si128((const __m128i *)(const void *)(window + 4 - n));
}

KC_INLINE __m256i first_of_eight(size_t n)
{
    static const int32_t window[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(window + 8 - n));
}

KC_INLINE __m256d row_vec_f32(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

KC_INLINE __m256d row_vec_f64(const double *p)
{
    return _mm256_loadu_pd(p);
}

KC_INLINE __m256 row_vec_single(const float *p)
{
    return _mm256_loadu_ps(p);
}

KC_INLINE __m256d row_part_f32(const float *p, size_t n)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(p, first_of_four(n)));
}

KC_INLINE __m256d row_part_f64(const double *p, size_t n)
{
    return _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(first_of_four(n)));
}

KC_INLINE __m256 row_part_single(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, first_of_eight(n));
}

KC_INLINE __m256 smo_narrow(__m256d low, __m256d high)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

#define KC_SMO_MANY ((size_t)-1) /* one division of floats costs as much as the look */
#include "simd/kc_smo_pick.inc"

#define KC_OWN_PICK_F32
#define KC_SMO_TABLE kc_smo_ops_avx2
#include "simd/kc_smo_table.inc"
