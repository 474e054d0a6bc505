/* kcore: kernels and their matrices.
 *
 * A kernel is an expression of leaves, made by the functions below and combined by them.  What a
 * function is given is copied: operands may be freed as soon as it returns. */
#ifndef KCORE_KERNELS_H
#define KCORE_KERNELS_H

#include "kcore/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kernels ------------------------------------------------------------------------------ */

/* Immutable once made. */
typedef struct kc_kernel kc_kernel;
KC_API void kc_kernel_free(kc_context *ctx, kc_kernel *kernel);

/* What is known of every Gram matrix of the kernel. */
typedef enum kc_definiteness {
    KC_INDEFINITE = 0,  /* may have negative eigenvalues */
    KC_CONDITIONAL = 1, /* c'Kc >= 0 for coefficients c that sum to zero, whatever the points */
    KC_POSITIVE = 2     /* positive semi-definite for every set of points */
} kc_definiteness;
KC_API kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel);

/* ---- Leaves ------------------------------------------------------------------------------- */

/* One row of the table of leaves. */
typedef struct kc_leaf_info {
    const char *name;         /* "rbf" */
    const char *formula;      /* "exp(-gamma |x - z|^2)" */
    const kc_setting *params; /* n_params of them, in the order of kc_kernel_leaf */
    int32_t n_params;
} kc_leaf_info;

KC_API int32_t kc_leaf_count(void);

/* NULL where there is no such index. */
KC_API const kc_leaf_info *kc_leaf_at(int32_t index);

/* The leaf of that name.  Parameters are given by position; those left out have their defaults. */
KC_API KC_MUST_CHECK kc_status kc_kernel_leaf(kc_context *ctx, const char *name,
                                              const double *params, int32_t n_params,
                                              kc_kernel **out, kc_error *err);

/* One sample, as a function of the caller's gets it.  CSR samples of few columns, or with many
 * values, come as dense ones. */
typedef struct kc_sample {
    int64_t n;              /* entries of values, or bytes */
    const double *values;   /* numbers; NULL for strings */
    const int32_t *columns; /* CSR: those of the values, ascending; NULL: all, in order */
    const char *bytes;      /* strings; else NULL */
    int64_t n_cols;         /* columns that samples have; strings: 0 */
} kc_sample;

/* K(x, z).  A value must depend on its two samples alone, and K(x, z) = K(z, x); called by several
 * threads at once. */
typedef double kc_pair_fn(void *data, const kc_sample *x, const kc_sample *z);

/* out[i * ld + j] = K(x[i], z[j]) for i < n_x, j < n_z, under the same conditions. */
typedef void kc_block_fn(void *data, const kc_sample *x, int64_t n_x, const kc_sample *z,
                         int64_t n_z, double *out, int64_t ld);

/* A function of the caller's as a leaf.  `data` is borrowed: it must live as long as any kernel,
 * model or learner made of this one.  `retain` and `release`, both or neither, let it: kernels call
 * them with `owner` when they are made or copied, and when they are freed, on the thread that does.
 Values are rounded to the type that is computed in; one that
 * is not finite is KC_ERR_RANGE. */
typedef struct kc_kernel_function {
    size_t struct_size; /* sizeof(kc_kernel_function) */
    kc_pair_fn *pair;   /* one of the two, the other NULL */
    kc_block_fn *block;
    void *data;
    kc_definiteness definiteness; /* as the caller knows it */
    double work; /* of a value, in multiply-adds, about; 0: as many as a sample has numbers */
    void *owner;
    void (*retain)(void *owner);
    void (*release)(void *owner);
} kc_kernel_function;
KC_API KC_MUST_CHECK kc_status kc_kernel_from_function(kc_context *ctx,
                                                       const kc_kernel_function *function,
                                                       kc_kernel **out, kc_error *err);

/* 1 where the kernel is such a function, or one stands in it; else 0. */
KC_API int32_t kc_kernel_has_function(const kc_kernel *kernel);

/* ---- Combinations ------------------------------------------------------------------------- */

/* K1 + K2 + ..., K1 * K2 * ...: from the left, n >= 1. */
KC_API KC_MUST_CHECK kc_status kc_kernel_sum(kc_context *ctx, const kc_kernel *const *kernels,
                                             int32_t n, kc_kernel **out, kc_error *err);
KC_API KC_MUST_CHECK kc_status kc_kernel_product(kc_context *ctx, const kc_kernel *const *kernels,
                                                 int32_t n, kc_kernel **out, kc_error *err);

/* factor * K, of any finite factor: indefinite where it is negative. */
KC_API KC_MUST_CHECK kc_status kc_kernel_scaled(kc_context *ctx, const kc_kernel *kernel,
                                                double factor, kc_kernel **out, kc_error *err);

/* K ^ degree, degree in 0 .. 1000 */
KC_API KC_MUST_CHECK kc_status kc_kernel_power(kc_context *ctx, const kc_kernel *kernel,
                                               int32_t degree, kc_kernel **out, kc_error *err);

/* coefs[0] + coefs[1] K + ... + coefs[n - 1] K ^ (n - 1) by Horner's rule, of one value of K: n in
 * 1 .. 1001, coefficients finite; indefinite where one is negative. */
KC_API KC_MUST_CHECK kc_status kc_kernel_series(kc_context *ctx, const kc_kernel *kernel,
                                                const double *coefs, int32_t n, kc_kernel **out,
                                                kc_error *err);

/* exp(K) */
KC_API KC_MUST_CHECK kc_status kc_kernel_exp(kc_context *ctx, const kc_kernel *kernel,
                                             kc_kernel **out, kc_error *err);

/* K(x, z) / sqrt(K(x, x) K(z, z)), and 0 where K(x, x) or K(z, z) is 0; a negative one is
 * KC_ERR_RANGE. */
KC_API KC_MUST_CHECK kc_status kc_kernel_normalized(kc_context *ctx, const kc_kernel *kernel,
                                                    kc_kernel **out, kc_error *err);

/* The next four change what K reads: once for each sample, when it is packed.  Columns of what K
 * itself reads are then those that this gives, so that K.on(A).on(columns) reads A times the
 * columns. Samples of which something overflows are KC_ERR_RANGE, by row. */

/* K of some columns of the samples, in this order, none twice. */
KC_API KC_MUST_CHECK kc_status kc_kernel_on(kc_context *ctx, const kc_kernel *kernel,
                                            const int32_t *columns, int64_t n, kc_kernel **out,
                                            kc_error *err);

/* K of the columns, column t times factors[t]: finite, n of them, as many as there are columns. CSR
 * samples stay sparse. */
KC_API KC_MUST_CHECK kc_status kc_kernel_on_factors(kc_context *ctx, const kc_kernel *kernel,
                                                    const double *factors, int64_t n,
                                                    kc_kernel **out, kc_error *err);

/* K of A x, for A = matrix, n_rows x n_cols numbers row by row, finite, with as many columns as the
 * samples.  Each entry is a chain of fused multiply-adds over the columns, in the type that is
 * computed in: the bits of x.z. */
KC_API KC_MUST_CHECK kc_status kc_kernel_on_map(kc_context *ctx, const kc_kernel *kernel,
                                                const double *matrix, int64_t n_rows,
                                                int64_t n_cols, kc_kernel **out, kc_error *err);

/* K of cos(2 pi x_t / p), sin(2 pi x_t / p) for each column t, side by side.  periods: p > 0 for
 * each column, or n = 1: one for all. */
KC_API KC_MUST_CHECK kc_status kc_kernel_on_period(kc_context *ctx, const kc_kernel *kernel,
                                                   const double *periods, int64_t n,
                                                   kc_kernel **out, kc_error *err);

/* ---- Matrices ----------------------------------------------------------------------------- */

/* out[i * out_ld + j] = K(x_i, z_j), of type out_dtype; out_ld counts elements.  z NULL:
 * K(x_i, x_j), at half the work.  Computed in out_dtype throughout.  On failure, out holds no
 * meaning. */
KC_API KC_MUST_CHECK kc_status kc_gram(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                                       const kc_points *x, const kc_points *z, kc_dtype out_dtype,
                                       void *out, int64_t out_ld, kc_error *err);

/* out[i] = K(x_i, x_i), the same bits as the diagonal of kc_gram. */
KC_API KC_MUST_CHECK kc_status kc_diag(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                                       const kc_points *x, kc_dtype out_dtype, void *out,
                                       kc_error *err);

/* ---- Gradients ---------------------------------------------------------------------------- */

/* A parameter by which a kernel is differentiated: all real ones of its leaves and combinations, in
 * postfix order, but whole numbers and those that take a few values only, as nu of matern; each
 * coefficient of a series is one.  Where factors f_t are the last that a leaf reads its columns by
 * (kc_kernel_on_factors), column t counts f_t^2 fold in x.z and |x - z|^2, |f_t| fold in
 * sum |x - z|: that weight is a parameter of the leaf, behind its own. */
typedef struct kc_kernel_param {
    size_t struct_size; /* sizeof(kc_kernel_param), set by the caller */
    int32_t node;       /* the number of the leaf or combination that it belongs to */
    const char *kernel; /* what that is called: "rbf", "scaled" */
    const char *name;   /* "gamma", "factor"; "coefficients", "column" */
    int64_t entry; /* of the coefficients of a series, of the columns' weights: which; else -1 */
    double value;
} kc_kernel_param;

KC_API int64_t kc_kernel_param_count(const kc_kernel *kernel);
KC_API KC_MUST_CHECK kc_status kc_kernel_param_at(const kc_kernel *kernel, int64_t index,
                                                  kc_kernel_param *out, kc_error *err);

/* out[k] = sum_ij weights_ij dK(x_i, z_j) / d parameter k, for the n_out = kc_kernel_param_count
 * parameters: without a matrix, in the memory of some tiles.  weights: dense, one row for each
 * sample of x and one column for each of z, finite.  z NULL: x, at half the work.  Values are
 * computed in `dtype`, sums are doubles.  A function of the caller's as a leaf has no parameters
 * here. */
KC_API KC_MUST_CHECK kc_status kc_kernel_gradient(kc_context *ctx, const kc_run *run,
                                                  const kc_kernel *kernel, const kc_points *x,
                                                  const kc_points *z, const kc_points *weights,
                                                  kc_dtype dtype, double *out, int64_t n_out,
                                                  kc_error *err);

#ifdef __cplusplus
}
#endif

#endif
