/* The loops of the dual solvers with AVX2 and FMA: four doubles or eight floats at a time. */
#include <immintrin.h>
#include <math.h>

#include "simd/kc_smo_lanes.h"
#include "simd/kc_smo_ops.h"

#define KC_LANE f64
#define KC_MM(name) _mm256_##name##_pd
typedef __m256d vec;
typedef double lane;
enum { KC_V = 4 };
#include "simd/kc_smo_avx2_lanes.inc"
#undef KC_LANE
#undef KC_MM

#define KC_LANE f32
#define KC_MM(name) _mm256_##name##_ps
typedef __m256 vec;
typedef float lane;
enum { KC_V = 8 };
#include "simd/kc_smo_avx2_lanes.inc"
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

/* ---- pick for f32 rows and lanes of doubles: eight gains at a time, in float ----------------
 *
 * Violations are divided by the largest one, so that their squares stay within float. */

typedef struct gain_job {
    const double *grad, *low;
    const float *row, *diag;
    __m256d up_i, scale; /* up_i already scaled */
    __m256 diag_i;
} gain_job;

/* up_i - low-value of four candidates, scaled. */
KC_INLINE __m128 scaled_violations(const gain_job *job, size_t k, __m256d *lowest)
{
    __m256d low_value =
        _mm256_add_pd(_mm256_loadu_pd(job->grad + k), _mm256_loadu_pd(job->low + k));

    *lowest = _mm256_min_pd(*lowest, low_value);
    return _mm256_cvtpd_ps(_mm256_fnmadd_pd(low_value, job->scale, job->up_i));
}

/* The gains of the candidates k .. k + 7, whose row entries are `row`. */
KC_INLINE __m256 eight_gains(const gain_job *job, size_t k, __m256 row, __m256d *lowest)
{
    __m256 b = _mm256_set_m128(scaled_violations(job, k + 4, lowest + 1),
                               scaled_violations(job, k, lowest));
    __m256 a = _mm256_fnmadd_ps(_mm256_set1_ps(2.0f), row,
                                _mm256_add_ps(job->diag_i, _mm256_loadu_ps(job->diag + k)));

    b = _mm256_max_ps(b, _mm256_setzero_ps());
    a = _mm256_max_ps(a, _mm256_set1_ps((float)KC_SMO_TAU));
    return _mm256_div_ps(_mm256_mul_ps(b, b), a);
}

KC_INLINE __m256 eight_entries(const float *row, size_t k, size_t n)
{
    return k + 8 <= n ? row_vec_single(row + k) : row_part_single(row + k, n - k);
}

static size_t find_gain(const gain_job *job, float top, size_t k, size_t n)
{
    __m256d unused[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};

    for (;; k += 8) {
        __m256 gains = eight_gains(job, k, eight_entries(job->row, k, n), unused);
        size_t found = vec_first_equal_f32(gains, _mm256_set1_ps(top));
        if (found < 8)
            return k + found;
    }
}

static kc_second pick_f32(const void *grad, const void *low, const void *row_i, const void *diag,
                          size_t n, double up_i, double reach, double diag_i)
{
    gain_job job = {.grad = grad, .low = low, .row = row_i, .diag = diag};
    __m256 best = _mm256_setzero_ps();
    __m256d lowest[2] = {_mm256_set1_pd(HUGE_VAL), _mm256_set1_pd(HUGE_VAL)};
    size_t best_block = KC_SMO_NONE;

    job.scale = _mm256_set1_pd(1 / reach);
    job.up_i = _mm256_set1_pd(up_i / reach);
    job.diag_i = _mm256_set1_ps((float)diag_i);
    for (size_t begin = 0; begin < n; begin += KC_SMO_BLOCK) {
        size_t end = begin + KC_SMO_BLOCK < n ? begin + KC_SMO_BLOCK : n;
        size_t k = begin;
        __m256 highest = _mm256_setzero_ps();
        for (; k + 8 <= end; k += 8)
            highest =
                _mm256_max_ps(highest, eight_gains(&job, k, _mm256_loadu_ps(job.row + k), lowest));
        if (k < end)
            highest =
                _mm256_max_ps(highest, eight_gains(&job, k, eight_entries(job.row, k, n), lowest));
        if (vec_any_above_f32(highest, best)) {
            best = _mm256_set1_ps(vec_highest_f32(highest));
            best_block = begin;
        }
    }
    kc_second second = {KC_SMO_NONE, vec_lowest_f64(_mm256_min_pd(lowest[0], lowest[1]))};
    if (best_block != KC_SMO_NONE)
        second.at = find_gain(&job, _mm256_cvtss_f32(best), best_block, n);
    return second;
}

#define KC_OWN_PICK_F32
#define KC_SMO_TABLE kc_smo_ops_avx2
#include "simd/kc_smo_table.inc"
