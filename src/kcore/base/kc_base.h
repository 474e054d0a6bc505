/* What every file may use: attributes, small helpers, checked sizes. */
#ifndef KC_BASE_H
#define KC_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kcore/kcore.h"

#define KC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define KC_INLINE static inline __attribute__((always_inline))
#define KC_UNUSED __attribute__((unused))

/* Every block from the allocator starts on a cache line; panels and rows rely on it. */
#define KC_ALIGN 64

/* Whether AddressSanitizer watches. */
#if defined(__SANITIZE_ADDRESS__)
#define KC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KC_ASAN 1
#endif
#endif
#ifndef KC_ASAN
#define KC_ASAN 0
#endif

#define KC_CONCAT_(a, b) a##_##b
#define KC_CONCAT(a, b) KC_CONCAT_(a, b)

/* One body, two float types: a file that is compiled for both (*_body.inc) writes KC_T for the type
 * and KC_FN(name) for its functions; the file that includes it defines KC_T and KC_SUFFIX. */
#define KC_FN(name) KC_CONCAT(name, KC_SUFFIX)

KC_INLINE size_t kc_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The higher (lower) of two numbers; b where a is NaN.  fmax and fmin are calls, for the sake of a
 * NaN in b. */
KC_INLINE double kc_higher(double a, double b)
{
    return a > b ? a : b;
}

KC_INLINE double kc_lower(double a, double b)
{
    return a < b ? a : b;
}

/* The higher of two numbers; NaN where one of them is: of figures that may be unknown. */
KC_INLINE double kc_larger(double a, double b)
{
    return a > b || a != a ? a : b;
}

KC_INLINE size_t kc_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Samples, points, steps and updates are counted up to here, and no further: no sum of a few counts
 * overflows, whatever numbers a caller or an image begins with. */
#define KC_COUNT_MAX ((int64_t)1 << 62)

/* *count + n, both in 0 .. KC_COUNT_MAX. */
KC_INLINE void kc_count(int64_t *count, int64_t n)
{
    *count = *count < KC_COUNT_MAX - n ? *count + n : KC_COUNT_MAX;
}

/* The least multiple of `step` that is not below n. */
KC_INLINE size_t kc_round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

KC_INLINE size_t kc_ceil_div(size_t n, size_t step)
{
    return n / step + (n % step != 0);
}

/* *out = a * b; false where the product does not fit. */
KC_INLINE bool kc_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Between two looks at what another thread is to write. */
KC_INLINE void kc_relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

KC_INLINE size_t kc_dtype_bytes(kc_dtype dtype)
{
    return dtype == KC_F64 ? 8 : 4;
}

/* Entry `index` of an array of either type. */
KC_INLINE double kc_number_at(const void *array, size_t index, kc_dtype dtype)
{
    return dtype == KC_F64 ? ((const double *)array)[index] : (double)((const float *)array)[index];
}

#endif
