/* Dense points are summed panel by panel, sparse ones by their nonzeros. */
#include "data/kc_packed_sums.h"

#include <string.h>

#include "simd/kc_smo_ops.h"

/* Where feature 0 of dense point i lies; feature t is t panel widths further. */
static size_t first_of(const kc_packed *x, size_t i)
{
    const size_t width = kc_panel_width(x->dtype);

    return i / width * width * x->d + i % width;
}

/* ---- w ------------------------------------------------------------------------------------- */

static void add_sparse(const kc_packed *x, size_t i, double a, double *w)
{
    for (int64_t k = x->indptr[i]; k < x->indptr[i + 1]; k++)
        w[x->cols[k]] += a * kc_number_at(x->vals, (size_t)k, x->dtype);
}

static void add_dense(const kc_packed *x, size_t i, double a, size_t begin, size_t end, double *w)
{
    const size_t width = kc_panel_width(x->dtype), first = first_of(x, i);

    for (size_t t = begin; t < end; t++)
        w[t] += a * kc_number_at(x->panels, first + t * width, x->dtype);
}

void kc_packed_add(const kc_packed *x, size_t i, double a, double *w)
{
    if (x->storage == KC_CSR)
        add_sparse(x, i, a, w);
    else
        add_dense(x, i, a, 0, x->d, w);
}

void kc_packed_sum_rows(const kc_packed *x, const int32_t *rows, const double *delta, size_t n,
                        size_t begin, size_t end, double *w)
{
    memset(w + begin, 0, (end - begin) * sizeof *w);
    for (size_t i = 0; i < n; i++)
        if (x->storage == KC_CSR)
            add_sparse(x, (size_t)rows[i], delta[i], w);
        else
            add_dense(x, (size_t)rows[i], delta[i], begin, end, w);
}

/* ---- Differences with w.x ------------------------------------------------------------------- */

/* One panel: its features are the rows that the sweep adds up. */
static void subtract_panel(const kc_packed *x, const double *w, size_t begin, size_t end,
                           const double *start, double *out, const void **rows)
{
    const size_t width = kc_panel_width(x->dtype), bytes = kc_dtype_bytes(x->dtype);
    const char *values = (const char *)x->panels + begin / width * width * x->d * bytes;

    for (size_t t = 0; t < x->d; t++)
        rows[t] = values + (t * width + begin % width) * bytes;
    kc_smo_sweep(x->dtype)(start, out, rows, w, x->d, end - begin);
}

void kc_packed_subtract(const kc_packed *x, const double *w, size_t begin, size_t end,
                        const double *start, double *out, const void **rows)
{
    const size_t width = kc_panel_width(x->dtype);
    size_t next;

    if (x->storage == KC_CSR) {
        kc_smo_sweep_sparse(x->dtype)(start, out, x->indptr + begin, x->cols, x->vals, w,
                                      end - begin);
        return;
    }
    for (size_t p = begin; p < end; p = next) {
        next = kc_min((p / width + 1) * width, end);
        subtract_panel(x, w, p, next, start + (p - begin), out + (p - begin), rows);
    }
}

/* ---- w.x ------------------------------------------------------------------------------------ */

/* The samples of an f64 panel, side by side. */
typedef double lanes __attribute__((vector_size(KC_PANEL_BYTES)));

static void weigh_panel(const double *panel, const double *w, size_t d, double *out)
{
    lanes sum = {0};

    for (size_t t = 0; t < d; t++) {
        lanes x;

        memcpy(&x, panel + t * kc_panel_width(KC_F64), sizeof x);
        sum += x * w[t];
    }
    memcpy(out, &sum, sizeof sum);
}

static double weigh_sparse(const kc_packed *x, const double *w, size_t row)
{
    double sum = 0;

    for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++)
        sum += ((const double *)x->vals)[k] * w[x->cols[k]];
    return sum;
}

void kc_packed_weigh(const kc_packed *x, const double *w, size_t begin, size_t n, double *out,
                     size_t ld)
{
    const size_t width = kc_panel_width(KC_F64);

    assert(x->dtype == KC_F64);
    for (size_t i = 0; i < n && x->storage == KC_CSR; i++)
        out[i * ld] = weigh_sparse(x, w, begin + i);
    for (size_t p = begin / width; p * width < begin + n && x->storage != KC_CSR; p++) {
        const size_t from = kc_max(begin, p * width), to = kc_min(begin + n, (p + 1) * width);
        double sums[KC_PANEL_BYTES / sizeof(double)];

        weigh_panel((const double *)x->panels + p * width * x->d, w, x->d, sums);
        for (size_t i = from; i < to; i++)
            out[(i - begin) * ld] = sums[i - p * width];
    }
}
