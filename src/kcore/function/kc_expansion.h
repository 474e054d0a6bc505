/* The form that every learner ends in: f(x) = sum over points of a_i K(x_i, x) + b, for one or many
 * outputs at once.
 *
 * Coefficients are a matrix of n_rows x n points.  Points come in segments; row r of segment s
 * belongs to output output_of[s * n_rows + r], and to no other.  One segment and output_of = r is
 * the plain case; the pairs of one-vs-one share their points this way without a stored zero:
 *
 *     output o (x) = sum over (s, r) with output_of[s][r] = o, over points i of segment s,
 *                    of coef[r][i] K(x_i, x)  +  intercepts[o]
 *
 * Owns all it holds and never changes once made: any number of threads may evaluate it.  Where
 * there is no kernel, the caller of evaluate gives kernel values instead of points. */
#ifndef KC_EXPANSION_H
#define KC_EXPANSION_H

#include "base/kc_call.h"
#include "data/kc_packed.h"
#include "kernel/kc_kernel.h"
#include "kernel/kc_plan.h"
#include "kernel/kc_prepare.h"

typedef struct kc_expansion {
    const kc_kernel *kernel; /* NULL: kernel values are given */
    kc_dtype dtype;          /* of kernel values */
    kc_packed points;        /* empty without a kernel, and where n is 0 */
    size_t n;
    size_t n_cols;          /* of the points; without a kernel: points that n were chosen from */
    const int32_t *columns; /* without a kernel: which ones, n of them; else NULL */
    size_t n_outputs, n_rows, n_segments;
    const size_t *bounds;     /* n_segments + 1: the first is 0, the last n */
    const int32_t *output_of; /* n_segments * n_rows */
    const double *coef;       /* n_rows * n */
    const double *intercepts; /* n_outputs */
    const double *weights;    /* n_outputs * n_cols, w = sum of a_i x_i: where the kernel is linear
                                 and that is less work; else NULL */
    double row_work;          /* multiply-adds of one row to evaluate; 0: not counted yet */
    void *owned[3];           /* what kc_expansion_free releases, beside the points */
} kc_expansion;

/* An owned copy of `from`, whose arrays and kernel are borrowed; `from->points` is moved: it is
 * empty afterwards, or untouched on failure.  `out` is empty on failure. */
kc_status kc_expansion_create(kc_call *call, kc_expansion *from, kc_expansion *out);

/* Multiply-adds of one row to evaluate. */
double kc_expansion_row_work(const kc_expansion *f);

/* Accepts an empty one. */
void kc_expansion_free(kc_context *ctx, kc_expansion *f);

/* K(x, z) = x.z, and points to sum up. */
bool kc_expansion_is_linear(const kc_expansion *f);

/* w of every output, n_outputs * n_cols; for linear ones only. */
void kc_expansion_weights(const kc_expansion *f, double *w);

/* Gets the n_outputs values at sample `row`; called once for each row, from any thread. */
typedef void kc_values_fn(void *data, size_t row, const double *values);

/* f at every row of x.  Values depend on their own row alone, to the bit: not on the others, on
 * their number or on threads.  Without a kernel, x holds kernel values: n_cols columns, or n. */
kc_status kc_expansion_evaluate(kc_call *call, const kc_expansion *f, const kc_points *x,
                                kc_values_fn *fn, void *data);

/* The same at packed points of the expansion's type that its kernel was prepared for
 * (kernel/kc_prepare.h); with a kernel.  `names` is what an error calls the two sides. */
kc_status kc_expansion_evaluate_packed(kc_call *call, const kc_expansion *f, const kc_packed *x,
                                       const char *names, kc_values_fn *fn, void *data);

/* The same values for few dense rows, at once: without a call, an allocation or a lock.  False
 * where it takes more than some microseconds, or where something is wrong with x or the values:
 * then kc_expansion_evaluate does it, or says what. */
bool kc_expansion_evaluate_few(const kc_expansion *f, const kc_points *x, kc_values_fn *fn,
                               void *data);

#endif
