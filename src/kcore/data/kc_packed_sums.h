/* Sums over the features of packed points, in double: what the linear kernel makes of coefficients.
 *
 *     w = sum of a_i x_i        w.x_p
 *
 * Each number is a sum in the order of the rows or features: zeros add nothing to it, so that dense
 * and sparse points give the same bits. */
#ifndef KC_PACKED_SUMS_H
#define KC_PACKED_SUMS_H

#include "data/kc_packed.h"

/* w += a x_i */
void kc_packed_add(const kc_packed *x, size_t i, double a, double *w);

/* w[t] = sum over i < n, in order, of delta[i] x[rows[i]][t] for begin <= t < end; of sparse points
 * begin and end are 0 and d. */
void kc_packed_sum_rows(const kc_packed *x, const int32_t *rows, const double *delta, size_t n,
                        size_t begin, size_t end, double *w);

/* out[p] = start[p] - w.x[begin + p] for p < end - begin.  rows: d pointers of workspace. */
void kc_packed_subtract(const kc_packed *x, const double *w, size_t begin, size_t end,
                        const double *start, double *out, const void **rows);

/* out[i * ld] = w.x[begin + i] for i < n; the points are f64. */
void kc_packed_weigh(const kc_packed *x, const double *w, size_t begin, size_t n, double *out,
                     size_t ld);

#endif
