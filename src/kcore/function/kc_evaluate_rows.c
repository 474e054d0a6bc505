/* Decision values without kernel evaluations: from given kernel values, and from the weights of a
 * linear kernel. */
#include <math.h>

#include "data/kc_packed_sums.h"
#include "data/kc_points.h"
#include "function/kc_expansion_impl.h"

/* ---- Given kernel values ------------------------------------------------------------------ */

kc_status kc_given_check(const kc_expansion *f, const kc_points *x, bool *is_whole, kc_error *err)
{
    if (x->storage != KC_DENSE || x->next != NULL)
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

double kc_given_value(const kc_evaluation *e, size_t row, size_t point)
{
    return view_at(e->given, row, column_of(e, point));
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
                k[p - j] = kc_given_value(e, begin + i, p);
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

bool kc_fill_linear(const kc_evaluation *e, size_t begin, size_t n_rows, double *values,
                    void *workspace)
{
    const kc_expansion *f = e->f;

    (void)workspace;
    for (size_t o = 0; o < f->n_outputs; o++)
        kc_packed_weigh(&e->x, f->weights + o * f->n_cols, begin, n_rows, values + o, f->n_outputs);
    return true;
}
