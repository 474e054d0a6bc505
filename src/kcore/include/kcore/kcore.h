/* kcore: kernel machines in C.
 *
 * This file includes the whole public interface.  In reading order: kcore/base.h (status and
 * errors, context, calls, samples, labels), kcore/kernels.h, kcore/functions.h
 * (what learners leave behind, and prediction), here support vector machines and their models;
 * kcore/perceptrons.h; kcore/stores.h (kernel rows that outlive a call, and problems on them).
 *
 * Rules that hold everywhere:
 *   - Functions that can fail return kc_status; results come through pointers, and only on success.
 *   - Inputs are borrowed for the duration of the call and never kept.
 *   - The caller that creates an object frees it; freeing NULL is legal.
 *   - Nothing is printed, nothing exits, no signal handler is installed.
 *   - A const object may be used by any number of threads at once.
 *   - Structs begin with struct_size, which the caller sets: fields that an older caller does not
 *     have are as if they were zero, and are not written. */
#ifndef KCORE_KCORE_H
#define KCORE_KCORE_H

#include "kcore/base.h"
#include "kcore/functions.h"
#include "kcore/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Support vector machines: settings ---------------------------------------------------- */

typedef enum kc_svm_type {
    KC_C_SVC = 1,    /* classes; C = infinity: hard margin */
    KC_NU_SVC = 2,   /* classes; nu bounds the fraction of errors from above, of support vectors
                        from below */
    KC_EPS_SVR = 3,  /* targets; errors below epsilon are free; C = infinity: hard tube */
    KC_NU_SVR = 4,   /* targets; epsilon is found from nu */
    KC_ONE_CLASS = 5 /* neither: where the samples are dense */
} kc_svm_type;

typedef enum kc_multiclass {
    KC_ONE_VS_ONE = 1, /* one problem for each pair of classes; votes */
    KC_ONE_VS_REST = 2 /* one problem for each class; the largest decision value */
} kc_multiclass;

/* The type of kernel values in fit and in predict. */
typedef enum kc_precision {
    KC_PRECISION_AUTO = 0, /* f32 where its error cannot move the result by more than tol / 4 and
                              the samples are many enough for it to pay */
    KC_PRECISION_F32 = 1,
    KC_PRECISION_F64 = 2
} kc_precision;

/* Filled by kc_svm_settings_init, then changed field by field. */
typedef struct kc_svm_settings {
    size_t struct_size;
    int32_t type;       /* kc_svm_type */
    int32_t multiclass; /* kc_multiclass */
    int32_t precision;  /* kc_precision */
    int32_t shrinking;  /* 0 or 1 */
    double C, nu, epsilon, tol;
    int64_t cache_bytes; /* of kernel rows; 0: chosen from the memory available */
    int64_t max_iter;    /* pair steps of one problem; 0: max(10^7, 100 n) */
    int64_t seed;
} kc_svm_settings;

KC_API void kc_svm_settings_init(kc_svm_settings *settings, size_t struct_size);

/* The table of settings: defaults are those of kc_svm_settings_init, ranges those that kc_svm_fit
 * checks. */
KC_API int32_t kc_setting_count(void);

/* NULL where there is no such index. */
KC_API const kc_setting *kc_setting_at(int32_t index);

/* ---- Support vector machines: fit --------------------------------------------------------- */

/* A kernel that the caller computes: out[i * n_cols + j] = K(x_a, x_b) of the samples a = rows[i]
 * and b = cols[j].  A value must depend on its two samples alone, and K(x_a, x_b) = K(x_b, x_a).
 * Called on the thread of the call alone; non-zero ends the fit with KC_ERR_CALLBACK. */
typedef int kc_kernel_fn(void *data, const int64_t *rows, int64_t n_rows, const int64_t *cols,
                         int64_t n_cols, double *out);

/* What a model is fitted to; n samples. */
typedef struct kc_svm_data {
    size_t struct_size; /* sizeof(kc_svm_data) */
    const kc_points *x; /* samples; without a kernel, the n x n matrix of K(x_i, x_j); NULL where
                           there is a kernel_fn */
    const int32_t *classes; /* n entries in 0 .. n_classes - 1; for the SVC types */
    int32_t n_classes;
    const double *targets;       /* n entries; for the SVR types */
    const double *weights;       /* n entries >= 0 that multiply C (one-class and nu-SVC: the box);
                                    0: the sample is left out; NULL: all 1 */
    const double *class_weights; /* n_classes entries > 0 that multiply the C of a class; nu-SVC:
                                    that of the C-SVC which nu stands for; NULL: all 1 */
    const double *start; /* coefficients to start from, as kc_model_coef gives them, but a column
                            for each sample; made feasible; NULL: none */
    kc_kernel_fn *kernel_fn; /* in place of a kernel and x: called for values when they are needed;
                                rows are kept as any others; NULL: none */
    void *kernel_data;       /* its first argument */
    int64_t n_samples;       /* n, with kernel_fn; else not read */
    const kc_labels *labels; /* n_classes of them, of any type, for kc_function_labels: copied;
                                NULL: none */
} kc_svm_data;

/* Why a solver ended.  All but the first leave a feasible, usable solution that is not optimal. */
typedef enum kc_stop {
    KC_STOP_CONVERGED = 0, /* violation < tol */
    KC_STOP_MAX_ITER = 1,
    KC_STOP_TIME = 2,      /* the call's time limit */
    KC_STOP_CALLER = 3,    /* the progress callback: KC_FINISH */
    KC_STOP_STALLED = 4,   /* rounding lets no step move or gain any more */
    KC_STOP_UNBOUNDED = 5, /* infinite box, and no hard margin or hard tube exists */
    KC_STOP_NO_MARGIN = 6  /* nu-SVC: steps have not told whether there is a margin */
} kc_stop;

/* "converged", "max_iter", ... */
KC_API const char *kc_stop_name(kc_stop stop);

/* The certificate and the cost of one problem, or of all of them.  In the total: stop is that of
 * the first problem that did not converge; objectives, gap and counts are sums; violation is the
 * largest. */
typedef struct kc_fit_info {
    size_t struct_size; /* sizeof(kc_fit_info), set by the caller */
    kc_stop stop;
    kc_dtype dtype;           /* of the kernel values */
    double primal, dual, gap; /* recomputed at the end; gap = primal - dual; see kc_svm_fit */
    double violation;         /* of the optimality conditions, largest over all variables, in units
                                 of the decision function */
    double norm;              /* |w|: of the decision function in feature space; total: largest */
    double epsilon;           /* of the tube: given, found, or (C = infinity) kept; else 0 */
    int64_t n_iter;           /* pair steps */
    int64_t n_sets;           /* working sets that pair steps were made in */
    int64_t n_rounds;         /* rounds of greedy steps */
    char path[64];     /* the methods that ran: "pairs", "blocks 3, greedy 412 rounds"; in the
                          total "mixed", where problems differ */
    int64_t n_support; /* samples with a coefficient; total: in any problem */
    int64_t n_bounded; /* coefficients at the bound C; total: the sum */
    int64_t rows_computed, rows_hit, rows_evicted; /* kernel rows */
    int64_t values_computed;                       /* kernel values */
    int64_t cache_bytes_allowed, cache_bytes_used;
    int64_t peak_bytes;  /* that this call held, and others at the same time; total only */
    double seconds;      /* total: of the call */
    double seconds_rows; /* of these: computing kernel values, adding rows up; summed over problems
                            that are solved side by side, total only then */
    double seconds_pack, seconds_solve, seconds_model; /* total only */
    int64_t n_refined; /* problems solved with f32 kernel values, then refined with f64 ones; such a
                          model computes its decision values in f64 */
    int64_t n_zero_samples; /* whose K(x, x) is 0 in a normalization: 0 against all; total only */
} kc_fit_info;

/* Immutable once made; owns all it needs for prediction. */
typedef struct kc_model kc_model;

/* How many problems a fit solves: 1, or as many as pairs of classes, or as classes. */
KC_API int64_t kc_svm_problem_count(const kc_svm_settings *settings, int32_t n_classes);

/* Solves the problems and makes a model of the samples with a coefficient.
 *
 * kernel NULL: data->x is the kernel matrix, or there is a data->kernel_fn; the model is then one
 * of given kernel values (kc_function_info.is_given).  info and problems may be NULL; problems has
 * kc_svm_problem_count entries of info->struct_size bytes: with it, info must be given.
 *
 * A fit that does not converge still gives a model: info->stop says so.  So does one that reaches
 * run->time_limit, or that the callback answers with KC_FINISH.  The limit includes the time for
 * the certificate: the solver stops when what is left just covers it.  A problem that was not begun
 * is left at its start: data->start; else zeros, or for nu-SVC and one-class the same share of
 * every weight with an intercept of 0 (n_iter is 0 then; samples that no coefficient stands on may
 * not have been read).  Where there was no time for the certificate, primal, dual, gap, violation
 * and norm are NaN.  A fit that is cancelled gives no model, and KC_ERR_CANCELLED. */
KC_API KC_MUST_CHECK kc_status kc_svm_fit(kc_context *ctx, const kc_run *run,
                                          const kc_svm_settings *settings, const kc_kernel *kernel,
                                          const kc_svm_data *data, kc_model **out,
                                          kc_fit_info *info, kc_fit_info *problems, kc_error *err);

KC_API void kc_model_free(kc_context *ctx, kc_model *model);

/* ---- Models ------------------------------------------------------------------------------- */

/* What only a support vector machine has.  All else, sizes too, is said of its function
 * (kc_function_describe): its points are the n_support support vectors, its outputs the decision
 * values of the n_problems problems.
 *
 * Two classes, or no classes: one problem.  A positive decision value says class 1, or "inside" for
 * one-class.  More classes, one-vs-one: problem of the pair (i, j), i < j, in the order (0, 1),
 * (0, 2), ..., (1, 2), ...; positive says class i.  One-vs-rest: problem k, positive says class k.
 */
typedef struct kc_model_info {
    size_t struct_size;  /* sizeof(kc_model_info), set by the caller */
    int32_t type;        /* kc_svm_type */
    int32_t multiclass;  /* kc_multiclass */
    int32_t n_classes;   /* of the fit: 0 where there were none */
    int64_t n_coef_rows; /* 1; one-vs-one: n_classes - 1; one-vs-rest: n_classes */
} kc_model_info;
KC_API KC_MUST_CHECK kc_status kc_model_describe(const kc_model *model, kc_model_info *out,
                                                 kc_error *err);

/* The decision functions, an output for each problem: borrowed, as long as the model lives.  It has
 * all that predicting takes.  Two classes: a value of 0 says class 1.  One-class: class 1, labelled
 * 1, is inside, class 0, labelled -1, outside, and a value of 0 says outside; labels are int32_t.
 */
KC_API const kc_function *kc_model_function(const kc_model *model);

/* Copies into the caller's arrays, whose lengths are said and must be right.  Support vectors are
 * sorted by class, then by index. */
KC_API KC_MUST_CHECK kc_status kc_model_support(const kc_model *model, int32_t *out, int64_t n,
                                                kc_error *err); /* n_support: sample indices */
KC_API KC_MUST_CHECK kc_status
kc_model_class_counts(const kc_model *model, int32_t *out, int64_t n,
                      kc_error *err); /* max(1, n_classes): support vectors of each */

/* n_coef_rows x n_support.  One-vs-one: for a support vector of class c, row r belongs to the
 * problem of c against the r-th of the other classes. */
KC_API KC_MUST_CHECK kc_status kc_model_coef(const kc_model *model, double *out, int64_t n,
                                             kc_error *err);

/* A model from what the functions above and those of its function gave: the same bits of every
 * decision value. */
typedef struct kc_model_parts {
    size_t struct_size;                  /* sizeof(kc_model_parts) */
    int32_t type, multiclass, n_classes; /* as in kc_model_info */
    kc_dtype dtype;                      /* of kernel values and of the support vectors */
    int64_t n_coef_rows, n_problems;     /* rows of coef, entries of intercepts */
    int64_t n_support;
    int64_t n_cols;          /* of the support vectors; without a kernel: the samples of the fit */
    const kc_kernel *kernel; /* NULL: kernel values were given, and will be */
    const kc_points *x;      /* the support vectors; NULL without a kernel */
    const int32_t *support;  /* n_support */
    const int32_t *class_counts; /* max(1, n_classes) */
    const double *coef;          /* n_coef_rows x n_support */
    const double *intercepts;    /* n_problems */
    const kc_labels *labels;     /* n_classes of them; NULL: none */
} kc_model_parts;
KC_API KC_MUST_CHECK kc_status kc_model_create(kc_context *ctx, const kc_model_parts *parts,
                                               kc_model **out, kc_error *err);

#ifdef __cplusplus
}
#endif

#include "kcore/perceptrons.h"
#include "kcore/stores.h"

#endif
