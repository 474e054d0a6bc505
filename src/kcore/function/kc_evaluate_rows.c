/* Decision values without kernel evaluations: from given kernel values, and from the weights of a
 * linear kernel. */
#include <math.h>
#include <string.h>

#include "data/kc_points.h"
#include "function/kc_expansion_impl.h"

/* ---- Given kernel values ------------------------------------------------------------------ */

kc_status kc_given_check(const kc_expansion *f, const kc_points *x, bool *is_whole, kc_error *err)
{
    if (x->storage != KC_DENSE)
        return kc_fail(err, KC_ERR_TYPE, "%s must be a dense matrix of kernel values",
                       kc_points_name(x));
    *is_whole = (size_t)x->n_cols == f->n_cols;
    if (!*is_whole && (size_t)x->n_cols != f->n)
        return kc_fail(err, KC_ERR_SHAPE,
                       "%s has %lld columns; kernel values with the %zu samples of the fit are "
                       "needed, or with the %zu support vectors",
                       kc_points_name(x), (long long)x->n_cols, f->n_cols, f->n);
    return KC_OK;
}

static double view_at(const kc_points *x, size_t i, size_t j)
{
    return kc_value_at(x, kc_dense_at(x, i, j));
}

static size_t column_of(const kc_evaluation *e, size_t point)
{
    return e->is_whole ? (size_t)e->f->columns[point] : point;
}

size_t kc_given_workspace(const kc_evaluation *e)
{
    return (KC_STRIP + e->f->n_rows) * sizeof(double);
}

bool kc_fill_given(const kc_evaluation *e, size_t begin, size_t n_rows, double *values,
                   void *workspace)
{
    const kc_expansion *f = e->f;
    double *k = workspace;
    bool is_finite = true;

    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < f->n; j += KC_STRIP) {
            const size_t end = kc_min(j + KC_STRIP, f->n);

            for (size_t p = j; p < end; p++) {
                k[p - j] = view_at(e->given, begin + i, column_of(e, p));
                is_finite &= isfinite(k[p - j]) != 0;
            }
            kc_expansion_add(e, j, end, k, KC_STRIP, 1, k + KC_STRIP, values + i * f->n_outputs);
        }
    return is_finite;
}

kc_status kc_given_fail(const kc_evaluation *e)
{
    for (size_t i = 0; i < (size_t)e->given->n_rows; i++)
        for (size_t p = 0; p < e->f->n; p++) {
            const size_t column = column_of(e, p);
            const double value = view_at(e->given, i, column);

            if (!isfinite(value))
                return kc_points_fail_value(e->given, i, column, value, e->call->err);
        }
    return KC_OK;
}

/* ---- Linear kernels ----------------------------------------------------------------------- */

/* The samples of an f64 panel, side by side. */
typedef double lanes __attribute__((vector_size(KC_PANEL_BYTES)));

/* A sum over the features in their order, for every sample on its own: products of zeros add
 * nothing, so dense and sparse rows give the same bits. */
static void weigh_panel(const kc_expansion *f, const double *panel, size_t o, double *out)
{
    const double *w = f->weights + o * f->n_cols;
    lanes sum = {0};

    for (size_t t = 0; t < f->n_cols; t++) {
        lanes x;

        memcpy(&x, panel + t * kc_panel_width(KC_F64), sizeof x);
        sum += x * w[t];
    }
    memcpy(out, &sum, sizeof sum);
}

static double weigh_sparse_row(const kc_expansion *f, const kc_packed *x, size_t row, size_t o)
{
    const double *w = f->weights + o * f->n_cols;
    double sum = 0;

    for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++)
        sum += ((const double *)x->vals)[k] * w[x->cols[k]];
    return sum;
}

bool kc_fill_linear(const kc_evaluation *e, size_t begin, size_t n_rows, double *values,
                    void *workspace)
{
    const kc_expansion *f = e->f;
    const kc_packed *x = &e->x;
    const size_t width = kc_panel_width(KC_F64);

    (void)workspace;
    for (size_t i = 0; i < n_rows && x->is_sparse; i++)
        for (size_t o = 0; o < f->n_outputs; o++)
            values[i * f->n_outputs + o] = weigh_sparse_row(f, x, begin + i, o);
    if (x->is_sparse)
        return true;
    for (size_t p = begin / width; p * width < begin + n_rows; p++)
        for (size_t o = 0; o < f->n_outputs; o++) {
            double out[KC_PANEL_BYTES / sizeof(double)];
            const size_t from = kc_max(begin, p * width);
            const size_t to = kc_min(begin + n_rows, (p + 1) * width);

            weigh_panel(f, (const double *)x->panels + p * width * x->d, o, out);
            for (size_t i = from; i < to; i++)
                values[(i - begin) * f->n_outputs + o] = out[i - p * width];
        }
    return true;
}
