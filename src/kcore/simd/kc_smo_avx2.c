/* The loops of the dual solvers with AVX2 and FMA: four doubles at a time. */
#include <immintrin.h>
#include <math.h>

#include "simd/kc_smo_ops.h"

#define KC_V 4
typedef __m256d vec;

KC_INLINE vec vec_load(const double *p)
{
    return _mm256_loadu_pd(p);
}

KC_INLINE void vec_store(double *p, vec a)
{
    _mm256_storeu_pd(p, a);
}

KC_INLINE vec vec_set(double a)
{
    return _mm256_set1_pd(a);
}

KC_INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_pd(a, b);
}

KC_INLINE vec vec_sub(vec a, vec b)
{
    return _mm256_sub_pd(a, b);
}

KC_INLINE vec vec_mul(vec a, vec b)
{
    return _mm256_mul_pd(a, b);
}

KC_INLINE vec vec_div(vec a, vec b)
{
    return _mm256_div_pd(a, b);
}

KC_INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_pd(a, b);
}

KC_INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_pd(a, b);
}

KC_INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_pd(a, b, c);
}

KC_INLINE vec vec_if_positive(vec a, vec b)
{
    return _mm256_blendv_pd(b, a, _mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_GT_OQ));
}

KC_INLINE bool vec_any_above(vec a, vec b)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_GT_OQ)) != 0;
}

KC_INLINE double vec_highest(vec a)
{
    __m128d half = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_max_sd(half, _mm_unpackhi_pd(half, half)));
}

KC_INLINE double vec_lowest(vec a)
{
    __m128d half = _mm_min_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_min_sd(half, _mm_unpackhi_pd(half, half)));
}

KC_INLINE vec row_vec_f32(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

KC_INLINE vec row_vec_f64(const double *p)
{
    return _mm256_loadu_pd(p);
}

/* Lanes below n all ones: a window on ones followed by zeros. */
KC_INLINE __m128i first_lanes(size_t n)
{
    static const int32_t window[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm_loadu_si128((const __m128i *)(const void *)(window + 4 - n));
}

KC_INLINE vec row_part_f32(const float *p, size_t n)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(p, first_lanes(n)));
}

KC_INLINE vec row_part_f64(const double *p, size_t n)
{
    return _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(first_lanes(n)));
}

#define KC_SMO_TABLE kc_smo_ops_avx2
#include "simd/kc_smo_table.inc"
