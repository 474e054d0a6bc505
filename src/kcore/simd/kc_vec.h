/* Vectors of the instruction set that a file is compiled for, by the compiler's vector extension.
 *
 * A file defines KC_VEC_BYTES (16, 32 or 64) before it includes this one.  What the extension
 * cannot say (fused multiply-add, maximum) is an intrinsic where there is one, else plain
 * arithmetic: without fused instructions a product is rounded before it is added, so the last bits
 * differ between instruction sets (docs/numerics.md). */
#ifndef KC_VEC_H
#define KC_VEC_H

#include <string.h>

#include "base/kc_base.h"

#if defined(__AVX512F__) && KC_VEC_BYTES == 64
#include <immintrin.h>
#define KC_VEC_X86 1
#define KC_MM(name) _mm512_##name
typedef __m512 kc_reg_f32;
typedef __m512d kc_reg_f64;
#elif defined(__FMA__) && KC_VEC_BYTES == 32
#include <immintrin.h>
#define KC_VEC_X86 1
#define KC_MM(name) _mm256_##name
typedef __m256 kc_reg_f32;
typedef __m256d kc_reg_f64;
#else
#define KC_VEC_X86 0
#endif

typedef float kc_vec_f32 __attribute__((vector_size(KC_VEC_BYTES)));
typedef double kc_vec_f64 __attribute__((vector_size(KC_VEC_BYTES)));
typedef int32_t kc_bits_f32 __attribute__((vector_size(KC_VEC_BYTES)));
typedef int64_t kc_bits_f64 __attribute__((vector_size(KC_VEC_BYTES)));
typedef uint32_t kc_word_f32 __attribute__((vector_size(KC_VEC_BYTES))); /* adds and shifts wrap */
typedef uint64_t kc_word_f64 __attribute__((vector_size(KC_VEC_BYTES)));

KC_INLINE kc_vec_f32 kc_v_fma_f32(kc_vec_f32 a, kc_vec_f32 b, kc_vec_f32 c)
{
#if KC_VEC_X86
    return (kc_vec_f32)KC_MM(fmadd_ps)((kc_reg_f32)a, (kc_reg_f32)b, (kc_reg_f32)c);
#else
    return a * b + c;
#endif
}

KC_INLINE kc_vec_f64 kc_v_fma_f64(kc_vec_f64 a, kc_vec_f64 b, kc_vec_f64 c)
{
#if KC_VEC_X86
    return (kc_vec_f64)KC_MM(fmadd_pd)((kc_reg_f64)a, (kc_reg_f64)b, (kc_reg_f64)c);
#else
    return a * b + c;
#endif
}

KC_INLINE float kc_s_fma_f32(float a, float b, float c)
{
#if KC_VEC_X86
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

KC_INLINE double kc_s_fma_f64(double a, double b, double c)
{
#if KC_VEC_X86
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

KC_INLINE kc_vec_f32 kc_v_max_f32(kc_vec_f32 a, kc_vec_f32 b)
{
#if KC_VEC_X86
    return (kc_vec_f32)KC_MM(max_ps)((kc_reg_f32)a, (kc_reg_f32)b);
#else
    kc_bits_f32 above = a > b;
    return (kc_vec_f32)(((kc_bits_f32)a & above) | ((kc_bits_f32)b & ~above));
#endif
}

KC_INLINE kc_vec_f64 kc_v_max_f64(kc_vec_f64 a, kc_vec_f64 b)
{
#if KC_VEC_X86
    return (kc_vec_f64)KC_MM(max_pd)((kc_reg_f64)a, (kc_reg_f64)b);
#else
    kc_bits_f64 above = a > b;
    return (kc_vec_f64)(((kc_bits_f64)a & above) | ((kc_bits_f64)b & ~above));
#endif
}

KC_INLINE kc_vec_f32 kc_v_min_f32(kc_vec_f32 a, kc_vec_f32 b)
{
#if KC_VEC_X86
    return (kc_vec_f32)KC_MM(min_ps)((kc_reg_f32)a, (kc_reg_f32)b);
#else
    kc_bits_f32 below = a < b;
    return (kc_vec_f32)(((kc_bits_f32)a & below) | ((kc_bits_f32)b & ~below));
#endif
}

KC_INLINE kc_vec_f64 kc_v_min_f64(kc_vec_f64 a, kc_vec_f64 b)
{
#if KC_VEC_X86
    return (kc_vec_f64)KC_MM(min_pd)((kc_reg_f64)a, (kc_reg_f64)b);
#else
    kc_bits_f64 below = a < b;
    return (kc_vec_f64)(((kc_bits_f64)a & below) | ((kc_bits_f64)b & ~below));
#endif
}

/* Interleaving two vectors: a0 b0 a1 b1 ..., the lower and the upper half. */
#if KC_VEC_BYTES == 64
#define KC_LOWER_f32 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define KC_UPPER_f32 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define KC_LOWER_f64 0, 8, 1, 9, 2, 10, 3, 11
#define KC_UPPER_f64 4, 12, 5, 13, 6, 14, 7, 15
#elif KC_VEC_BYTES == 32
#define KC_LOWER_f32 0, 8, 1, 9, 2, 10, 3, 11
#define KC_UPPER_f32 4, 12, 5, 13, 6, 14, 7, 15
#define KC_LOWER_f64 0, 4, 1, 5
#define KC_UPPER_f64 2, 6, 3, 7
#else
#define KC_LOWER_f32 0, 4, 1, 5
#define KC_UPPER_f32 2, 6, 3, 7
#define KC_LOWER_f64 0, 2
#define KC_UPPER_f64 1, 3
#endif

/* Constants of exp for both types.  With r = x - k ln 2 and |r| <= ln(2) / 2,
 *
 *     exp(r) = 1 + r + r^2 q(r),
 *
 * q being the minimax polynomial for the relative error of exp (3e-9 for f32, 7e-19 for f64).  The
 * last bits of the f32 coefficients were then chosen so that no f32 of the range is off by 1 ulp,
 * with or without fused instructions: tests/c/test_exp.c tries all of them.  ln 2 is cut in two so
 * that k times its upper part is exact.  Adding the shifter 1.5 * 2^23 (2^52) rounds to an integer
 * and leaves it in the low bits. */
#define KC_EXP_DEGREE_f32 4
static const float kc_exp_q_f32[] = {0x1p-1f, 0x1.555496p-3f, 0x1.55589cp-5f, 0x1.1241acp-7f,
                                     0x1.6a2a28p-10f};
#define KC_EXP_DEGREE_f64 10
static const double kc_exp_q_f64[] = {
    0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.555555555554bp-5,  0x1.11111111102d2p-7,
    0x1.6c16c16c1be7cp-10, 0x1.a01a01aaabca7p-13, 0x1.a01a0181b83a9p-16, 0x1.71de0671d88d0p-19,
    0x1.27e53dd7c4bc2p-22, 0x1.af449284ba694p-26, 0x1.1ebd7a0d48460p-29};

#define KC_LN2_HI_f32 0x1.63p-1f
#define KC_LN2_LO_f32 (-0x1.bd0106p-13f)
#define KC_LN2_HI_f64 0x1.62e42fefa38p-1
#define KC_LN2_LO_f64 0x1.ef35793c7673p-45
#define KC_LOG2E_f32 0x1.715476p+0f
#define KC_LOG2E_f64 0x1.71547652b82fep+0
#define KC_SHIFTER_f32 0x1.8p23f
#define KC_SHIFTER_f64 0x1.8p52
#define KC_MANTISSA_f32 23
#define KC_MANTISSA_f64 52

/* exp is exactly 0 below the first and infinite above the second; the first keeps the result a
 * normal number, so that no caller's rounding of subnormals matters. */
#define KC_EXP_MIN_f32 (-87.3f)
#define KC_EXP_MAX_f32 0x1.62e42ep+6f
#define KC_EXP_MIN_f64 (-708.0)
#define KC_EXP_MAX_f64 0x1.62e42fefa39efp+9

/* Constants of log.  With y = 2^k m, m in [sqrt(1/2), sqrt(2)), f = m - 1 and r = f / (2 + f),
 *
 *     log(y) = k ln 2 + f - f^2 / 2 + r (f^2 / 2 + r^2 q(r^2)),
 *
 * since log(1 + f) = 2 atanh(r) and 2 r = f - r f.  q is close to the minimax polynomial for
 * (2 atanh(r) - 2 r) / r^3, with the weight r^2: off by 2^-30 for f32, 2^-57 for f64. */
#define KC_LOG_DEGREE_f32 3
static const float kc_log_q_f32[] = {0x1.555554p-1f, 0x1.999a7ap-2f, 0x1.2438d2p-2f,
                                     0x1.e2f726p-3f};
#define KC_LOG_DEGREE_f64 6
static const double kc_log_q_f64[] = {
    0x1.5555555555592p-1, 0x1.999999997fd6fp-2, 0x1.24924941f5680p-2, 0x1.c71c5205b18e0p-3,
    0x1.74663fb387283p-3, 0x1.39a1a53f9a8e0p-3, 0x1.2f06457d3a6e5p-3};

/* sqrt(1/2); an eighth of the largest number: 1 / (1 + it) is no subnormal number. */
#define KC_SQRT_HALF_f32 0x1.6a09e6p-1f
#define KC_SQRT_HALF_f64 0x1.6a09e667f3bcdp-1
#define KC_FAR_f32 0x1p125f
#define KC_FAR_f64 0x1p1021
#define KC_LEAST_f32 FLT_MIN
#define KC_LEAST_f64 DBL_MIN

#endif
