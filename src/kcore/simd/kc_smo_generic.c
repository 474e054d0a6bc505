/* The loops of the dual solvers for any machine: two doubles at a time, in the compiler's vector
 * types, which become the machine's own where it has such. */
#include <math.h>
#include <string.h>

#include "simd/kc_smo_ops.h"

#define KC_V 2
typedef double vec __attribute__((vector_size(16)));
typedef int64_t mask __attribute__((vector_size(16)));

KC_INLINE vec vec_load(const double *p)
{
    vec a;
    memcpy(&a, p, sizeof a);
    return a;
}

KC_INLINE void vec_store(double *p, vec a)
{
    memcpy(p, &a, sizeof a);
}

KC_INLINE vec vec_set(double a)
{
    return (vec){a, a};
}

KC_INLINE vec vec_add(vec a, vec b)
{
    return a + b;
}

KC_INLINE vec vec_sub(vec a, vec b)
{
    return a - b;
}

KC_INLINE vec vec_mul(vec a, vec b)
{
    return a * b;
}

KC_INLINE vec vec_div(vec a, vec b)
{
    return a / b;
}

/* a where the mask is set, else b. */
KC_INLINE vec vec_select(mask m, vec a, vec b)
{
    return (vec)(((mask)a & m) | ((mask)b & ~m));
}

KC_INLINE vec vec_max(vec a, vec b)
{
    return vec_select(a > b, a, b);
}

KC_INLINE vec vec_min(vec a, vec b)
{
    return vec_select(a < b, a, b);
}

KC_INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return c - a * b;
}

KC_INLINE vec vec_if_positive(vec a, vec b)
{
    return vec_select(a > vec_set(0.0), a, b);
}

KC_INLINE bool vec_any_above(vec a, vec b)
{
    mask m = a > b;
    return (m[0] | m[1]) != 0;
}

KC_INLINE double vec_highest(vec a)
{
    return a[0] > a[1] ? a[0] : a[1];
}

KC_INLINE double vec_lowest(vec a)
{
    return a[0] < a[1] ? a[0] : a[1];
}

KC_INLINE vec row_vec_f32(const float *p)
{
    return (vec){(double)p[0], (double)p[1]};
}

KC_INLINE vec row_vec_f64(const double *p)
{
    return vec_load(p);
}

KC_INLINE vec row_part_f32(const float *p, size_t n)
{
    return (vec){n > 0 ? (double)p[0] : 0.0, 0.0};
}

KC_INLINE vec row_part_f64(const double *p, size_t n)
{
    return (vec){n > 0 ? p[0] : 0.0, 0.0};
}

#define KC_SMO_TABLE kc_smo_ops_generic
#include "simd/kc_smo_table.inc"
