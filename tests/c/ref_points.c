/* Views by the plainest loops. */
#include "ref_points.h"

#include <stdlib.h>

#include "base/kc_base.h"
#include "base/kc_rng.h"

/* What separates rows in REF_REVERSED beyond the samples themselves. */
#define GAP 3

ref_samples ref_random(uint64_t seed, size_t n, size_t d, double density, kc_dtype dtype)
{
    ref_samples samples = {.n = n, .d = d, .x = malloc(n * d * sizeof *samples.x)};
    kc_rng rng = kc_rng_seed(seed);

    for (size_t k = 0; k < n * d; k++) {
        const double value = 2 * kc_rng_uniform(&rng) + kc_rng_uniform(&rng) - 1.5;
        const bool is_zero = density < 1 && (k / d == 1 || kc_rng_uniform(&rng) >= density);

        samples.x[k] = is_zero ? 0.0 : dtype == KC_F64 ? value : (double)(float)value;
    }
    return samples;
}

void ref_samples_free(ref_samples *samples)
{
    free(samples->x);
    *samples = (ref_samples){0};
}

const char *ref_form_name(ref_form form)
{
    static const char *const names[] = {
        "dense", "Fortran", "reversed", "CSR", "CSR with 64 bits", "unsorted CSR", "repeated CSR"};

    return names[form];
}

static void fill_dense(ref_view *view, const ref_samples *s, kc_dtype dtype)
{
    kc_points *p = &view->points;

    for (size_t i = 0; i < s->n; i++)
        for (size_t t = 0; t < s->d; t++) {
            char *at = (char *)(uintptr_t)p->values + (int64_t)i * p->row_stride +
                       (int64_t)t * p->col_stride;

            ref_put(at, 0, dtype, s->x[i * s->d + t]);
        }
}

static void make_dense(ref_view *view, const ref_samples *s, ref_form form, kc_dtype dtype)
{
    const int64_t bytes = (int64_t)kc_dtype_bytes(dtype), n = (int64_t)s->n, d = (int64_t)s->d;
    const int64_t width = form == REF_REVERSED ? 2 * d + GAP : d;
    char *block = malloc((size_t)(n * width * bytes));
    kc_points *p = &view->points;

    view->owned[0] = block;
    p->storage = KC_DENSE;
    p->values = block;
    p->row_stride = width * bytes;
    p->col_stride = bytes;
    if (form == REF_FORTRAN) {
        p->row_stride = bytes;
        p->col_stride = n * bytes;
    } else if (form == REF_REVERSED) {
        p->values = block + (n * width - 1) * bytes;
        p->row_stride = -width * bytes;
        p->col_stride = -2 * bytes;
    }
    fill_dense(view, s, dtype);
}

static void put_index(void *array, int32_t index_bytes, size_t k, size_t value)
{
    if (index_bytes == 8)
        ((int64_t *)array)[k] = (int64_t)value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

static void make_csr(ref_view *view, const ref_samples *s, ref_form form, kc_dtype dtype)
{
    const size_t copies = form == REF_CSR_REPEATED ? 2 : 1;
    kc_points *p = &view->points;
    size_t nnz = 0, k = 0;

    for (size_t i = 0; i < s->n * s->d; i++)
        nnz += copies * (s->x[i] != 0);
    p->storage = KC_CSR;
    p->index_bytes = form == REF_CSR_64 ? 8 : 4;
    p->n_values = (int64_t)nnz;
    p->values = view->owned[0] = malloc(kc_max(nnz, 1) * kc_dtype_bytes(dtype));
    p->indices = view->owned[1] = malloc(kc_max(nnz, 1) * (size_t)p->index_bytes);
    p->indptr = view->owned[2] = malloc((s->n + 1) * (size_t)p->index_bytes);
    put_index(view->owned[2], p->index_bytes, 0, 0);
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < copies * s->d; j++) {
            const size_t t = form == REF_CSR_UNSORTED ? s->d - 1 - j : j % s->d;
            const double value = s->x[i * s->d + t];

            if (value == 0)
                continue;
            ref_put(view->owned[0], k, dtype, value / (double)copies);
            put_index(view->owned[1], p->index_bytes, k++, t);
        }
        put_index(view->owned[2], p->index_bytes, i + 1, k);
    }
}

ref_view ref_view_make(const ref_samples *samples, ref_form form, kc_dtype dtype)
{
    ref_view view = {.points = {.struct_size = sizeof(kc_points),
                                .dtype = dtype,
                                .n_rows = (int64_t)samples->n,
                                .n_cols = (int64_t)samples->d,
                                .name = "X"}};

    if (form < REF_CSR)
        make_dense(&view, samples, form, dtype);
    else
        make_csr(&view, samples, form, dtype);
    return view;
}

void ref_view_spoil(ref_view *view)
{
    static const int64_t wild[] = {INT32_MAX, -1, INT32_MIN, 1 << 24, -77777};
    const kc_points *p = &view->points;

    for (size_t k = 0; k < (size_t)p->n_values; k++)
        put_index(view->owned[1], p->index_bytes, k, (size_t)wild[k % 5]);
    for (size_t i = 0; i <= (size_t)p->n_rows; i++)
        put_index(view->owned[2], p->index_bytes, i, (size_t)wild[i * 3 % 5]);
}

void ref_view_free(ref_view *view)
{
    for (size_t i = 0; i < sizeof view->owned / sizeof *view->owned; i++)
        free(view->owned[i]);
    *view = (ref_view){.owned = {NULL}};
}
