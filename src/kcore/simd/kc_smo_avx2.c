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

/* ---- pick for f32 rows: eight gains at a time, in float -------------------------------------
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
    __m256 is_positive = _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GT_OQ);

    b = _mm256_max_ps(b, _mm256_setzero_ps());
    a = _mm256_blendv_ps(_mm256_set1_ps((float)KC_SMO_TAU), a, is_positive);
    return _mm256_div_ps(_mm256_mul_ps(b, b), a);
}

KC_INLINE __m256 eight_entries(const float *row, size_t k, size_t n)
{
    static const int32_t window[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

    if (k + 8 <= n)
        return _mm256_loadu_ps(row + k);
    return _mm256_maskload_ps(
        row + k, _mm256_loadu_si256((const __m256i *)(const void *)(window + 8 - (n - k))));
}

KC_INLINE float highest_of_eight(__m256 a)
{
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
}

static size_t find_gain(const gain_job *job, float top, size_t k, size_t n)
{
    __m256d unused[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};

    for (;; k += 8) {
        __m256 gains = eight_gains(job, k, eight_entries(job->row, k, n), unused);
        int lanes = _mm256_movemask_ps(_mm256_cmp_ps(gains, _mm256_set1_ps(top), _CMP_EQ_OQ));
        if (lanes != 0)
            return k + (size_t)__builtin_ctz((unsigned)lanes);
    }
}

static kc_second pick_f32(const double *grad, const double *low, const void *row_i,
                          const void *diag, size_t n, double up_i, double reach, double diag_i)
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
        if (_mm256_movemask_ps(_mm256_cmp_ps(highest, best, _CMP_GT_OQ)) != 0) {
            best = _mm256_set1_ps(highest_of_eight(highest));
            best_block = begin;
        }
    }
    kc_second second = {KC_SMO_NONE, vec_lowest(_mm256_min_pd(lowest[0], lowest[1]))};
    if (best_block != KC_SMO_NONE)
        second.at = find_gain(&job, _mm256_cvtss_f32(best), best_block, n);
    return second;
}

#define KC_OWN_PICK_F32
#define KC_SMO_TABLE kc_smo_ops_avx2
#include "simd/kc_smo_table.inc"
