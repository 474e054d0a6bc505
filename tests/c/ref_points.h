/* Samples for tests, and views of them in every form that a view can have.
 *
 *   ref_samples x = ref_random(seed, n, d, density, KC_F32);
 *   ref_view v = ref_view_make(&x, REF_CSR_64, KC_F32);
 *   ... &v.points ...
 *   ref_view_free(&v);
 *   ref_samples_free(&x);
 *
 * All forms of the same samples hold the same numbers, so their kernel values must be the same
 * bits.
 */
#ifndef REF_POINTS_H
#define REF_POINTS_H

#include "kcore/kcore.h"

typedef struct ref_samples {
    size_t n, d;
    double *x; /* [n][d], each a number of the type that they were made for */
} ref_samples;

/* Numbers of about unit size, of which a share `density` is not zero; below 1, row 1 is empty. */
ref_samples ref_random(uint64_t seed, size_t n, size_t d, double density, kc_dtype dtype);
void ref_samples_free(ref_samples *samples);

typedef enum ref_form {
    REF_DENSE,        /* rows one after the other */
    REF_FORTRAN,      /* columns one after the other */
    REF_REVERSED,     /* both strides negative, and wider than need be */
    REF_CSR,          /* 32-bit indices, ascending */
    REF_CSR_64,       /* 64-bit indices */
    REF_CSR_UNSORTED, /* columns in descending order */
    REF_CSR_REPEATED, /* each column twice, half its value each */
    REF_N_FORMS
} ref_form;

const char *ref_form_name(ref_form form);

typedef struct ref_view {
    kc_points points;
    void *owned[3];
} ref_view;

ref_view ref_view_make(const ref_samples *samples, ref_form form, kc_dtype dtype);
void ref_view_free(ref_view *view);

/* Writes no columns and no offsets that there are over those of a CSR view, as another thread might
 * during a call. */
void ref_view_spoil(ref_view *view);

/* Element i of an array of either type. */
static inline double ref_get(const void *array, size_t i, kc_dtype dtype)
{
    return dtype == KC_F64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static inline void ref_put(void *array, size_t i, kc_dtype dtype, double value)
{
    if (dtype == KC_F64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

static inline const char *ref_dtype_name(kc_dtype dtype)
{
    return dtype == KC_F64 ? "f64" : "f32";
}

#endif
