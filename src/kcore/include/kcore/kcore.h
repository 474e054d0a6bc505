/* kcore: kernel machines in C.
 *
 * The whole public interface.  In reading order: status and errors, the context that owns
 * memory and threads, how one call runs and is stopped, views of samples, kernels, Gram matrices,
 * support vector machines, models, prediction; perceptrons in a file of their own, which is
 * included at the end.
 *
 * Rules that hold everywhere:
 *   - Functions that can fail return kc_status; results come through pointers, and only on success.
 *   - Inputs are borrowed for the duration of the call and never kept.
 *   - Whoever creates an object frees it; freeing NULL is legal.
 *   - Nothing is printed, nothing exits, no signal handler is installed.
 *   - A const object may be used by any number of threads at once.
 *   - Structs begin with struct_size, which the caller sets: fields that an older caller does not
 *     have are as if they were zero, and are not written. */
#ifndef KCORE_KCORE_H
#define KCORE_KCORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KC_API
#define KC_API
#endif
#if defined(__GNUC__)
#define KC_MUST_CHECK __attribute__((warn_unused_result))
#else
#define KC_MUST_CHECK
#endif

#define KC_VERSION_MAJOR 0
#define KC_VERSION_MINOR 1
#define KC_VERSION_PATCH 0

/* "0.1.0" */
KC_API const char *kc_version(void);

/* The instruction set in use: "generic", "avx2" or "avx512".  Chosen once, at the first use; the
 * environment variable KCORE_ISA forces one; kc_context_create refuses a name that is not one of
 * these, or that the CPU does not have. */
KC_API const char *kc_isa_name(void);

/* ---- Status and errors -------------------------------------------------------------------- */

/* Values are pinned: they never change meaning. */
typedef enum kc_status {
    KC_OK = 0,
    KC_ERR_NOMEM = 1,          /* the allocator returned NULL, or memory_limit was reached */
    KC_ERR_CANCELLED = 2,      /* stopped by the cancel token or by the progress callback */
    KC_ERR_TIME = 3,           /* time_limit passed in a call that has no partial result */
    KC_ERR_CALLBACK = 4,       /* a function of the caller's, such as a kernel, failed */
    KC_ERR_ARG = 10,           /* an argument outside its range */
    KC_ERR_SHAPE = 11,         /* sizes that do not fit together */
    KC_ERR_TYPE = 12,          /* a dtype or storage that is not taken here */
    KC_ERR_NONFINITE = 13,     /* NaN or infinity in the input */
    KC_ERR_RANGE = 14,         /* finite input whose kernel values overflow */
    KC_ERR_INDEX = 15,         /* CSR structure or string offsets out of order */
    KC_ERR_CLASSES = 30,       /* fewer than two classes, or one without a sample that counts */
    KC_ERR_NOT_SEPARABLE = 31, /* hard margin, and no boundary separates the classes */
    KC_ERR_INFEASIBLE = 32,    /* no solution for this nu, or no function in a hard tube */
    KC_ERR_DEGENERATE = 33     /* nu-SVC: the reduced hulls overlap, the margin is zero */
} kc_status;

/* Where a call says what went wrong, in the caller's terms.  May be NULL everywhere. */
typedef struct kc_error {
    kc_status status;
    char text[300];
} kc_error;

/* ---- Context ------------------------------------------------------------------------------ */

/* Memory, threads and reusable workspace.  Thread-safe; usable in a forked child. */
typedef struct kc_context kc_context;

/* alloc returns memory aligned to `alignment` (a power of two), or NULL; both functions may be
 * called from any thread. */
typedef struct kc_allocator {
    void *(*alloc)(void *data, size_t n_bytes, size_t alignment);
    void (*free)(void *data, void *ptr, size_t n_bytes);
    void *data;
} kc_allocator;

typedef struct kc_context_config {
    size_t struct_size;            /* sizeof(kc_context_config) */
    const kc_allocator *allocator; /* NULL: the C library's; copied */
    size_t memory_limit;           /* bytes; 0: none */
    int32_t n_threads; /* 0: KCORE_NUM_THREADS, else OMP_NUM_THREADS, else usable CPUs */
} kc_context_config;

/* config may be NULL. */
KC_API KC_MUST_CHECK kc_status kc_context_create(const kc_context_config *config, kc_context **out,
                                                 kc_error *err);
KC_API void kc_context_free(kc_context *ctx);

/* The number of threads a call with run.n_threads = 0 uses; set: 0 = back to the default. */
KC_API int32_t kc_context_threads(const kc_context *ctx);
KC_API void kc_context_set_threads(kc_context *ctx, int32_t n_threads);

/* Bytes held now, and the most ever held, through this context. */
typedef struct kc_memory {
    size_t current;
    size_t peak;
} kc_memory;
KC_API kc_memory kc_context_memory(const kc_context *ctx);

/* Gives back memory that is kept for the next call: workspace, and large blocks (a quarter of the
 * memory available, or 512 MiB, at the most; the system may take all but 256 MiB of them where it
 * is short of memory).  Not counted as held. */
KC_API void kc_context_trim(kc_context *ctx);

/* CPUs that this process may use: affinity mask and cgroup quota respected; at least 1. */
KC_API int32_t kc_usable_cpus(void);

/* ---- One call: threads, progress, stopping ------------------------------------------------ */

/* A flag that any thread may set to stop a running call. */
typedef struct kc_cancel kc_cancel;
KC_API KC_MUST_CHECK kc_status kc_cancel_create(kc_context *ctx, kc_cancel **out, kc_error *err);
KC_API void kc_cancel_set(kc_cancel *cancel);
KC_API void kc_cancel_clear(kc_cancel *cancel);
KC_API void kc_cancel_free(kc_context *ctx, kc_cancel *cancel);

typedef struct kc_progress {
    const char *phase; /* "gram", ... */
    double seconds;    /* since the call began */
    double fraction;   /* of the work done, or -1 where it cannot be known */
    int64_t n_iter;
    double objective; /* NaN where there is none */
    double violation; /* largest KKT violation, NaN where there is none */
} kc_progress;

typedef enum kc_answer {
    KC_GO_ON = 0,
    KC_CANCEL = 1, /* stop without a result: KC_ERR_CANCELLED; so does any other value */
    KC_FINISH = 2  /* stop as a time limit does, with what there is; KC_ERR_CANCELLED where that is
                      nothing yet */
} kc_answer;

/* Asked on the caller's thread at least every 50 ms of work; returns a kc_answer.  After KC_FINISH
 * it may be asked on while what there is is made whole: only KC_CANCEL is news then. */
typedef int kc_progress_fn(void *data, const kc_progress *progress);

typedef struct kc_run {
    size_t struct_size;          /* sizeof(kc_run) */
    int32_t n_threads;           /* 0: the context's */
    double time_limit;           /* seconds; 0: none */
    const kc_cancel *cancel;     /* may be NULL */
    kc_progress_fn *on_progress; /* may be NULL */
    void *progress_data;
} kc_run;

/* ---- Samples ------------------------------------------------------------------------------ */

typedef enum kc_dtype { KC_F32 = 1, KC_F64 = 2 } kc_dtype;
typedef enum kc_storage { KC_DENSE = 1, KC_CSR = 2, KC_STRINGS = 3 } kc_storage;

/* A view of samples in the caller's memory.
 *
 * KC_DENSE:   values points at element (0, 0); strides in bytes, of any sign (or zero), which are
 *             multiples of the element's size.
 * KC_CSR:     row i has values[indptr[i] .. indptr[i+1]) at columns indices[...]; columns may be
 *             unsorted, and repeated columns are summed.
 * KC_STRINGS: sample i is the bytes values[indptr[i] .. indptr[i+1]); index_bytes is 8. */
typedef struct kc_points {
    kc_storage storage;
    kc_dtype dtype; /* of values; ignored for strings */
    int64_t n_rows;
    int64_t n_cols; /* ignored for strings */
    const void *values;
    int64_t row_stride, col_stride; /* dense only */
    const void *indices;            /* CSR only */
    const void *indptr;             /* CSR and strings: n_rows + 1 entries */
    int32_t index_bytes;            /* of an entry of indices and indptr: 4 or 8, signed */
    int64_t n_values;               /* CSR: entries of values and indices; strings: bytes */
    const char *name;               /* what messages call it, such as "X"; may be NULL */
} kc_points;

/* Checks shape, strides and structure of a view as every call does; values are not read. */
KC_API KC_MUST_CHECK kc_status kc_check_points(kc_context *ctx, const kc_run *run,
                                               const kc_points *points, kc_error *err);

/* The variance of all entries of dense or CSR samples, each sample by its weight (n_rows entries >=
 * 0; NULL: all 1); zeros of CSR samples count.  1 / (n_cols * variance) is a usual gamma.  Summed
 * in float64: the same bits for any storage of the same entries in the same order, and any number
 * of threads.  KC_ERR_NONFINITE as below; KC_ERR_RANGE where it overflows. */
KC_API KC_MUST_CHECK kc_status kc_variance(kc_context *ctx, const kc_run *run, const kc_points *x,
                                           const double *weights, double *out, kc_error *err);

/* KC_ERR_NONFINITE, and row and column of the first one, where dense or CSR samples have a NaN or
 * an infinity. */
KC_API KC_MUST_CHECK kc_status kc_check_finite(kc_context *ctx, const kc_run *run,
                                               const kc_points *x, kc_error *err);

/* ---- Labels ------------------------------------------------------------------------------- */

/* Labels of any type, in the caller's memory: n of n_bytes each, `stride` bytes apart.  Equal
 * labels have equal bytes. */
typedef struct kc_labels {
    const void *values;
    int64_t n, n_bytes, stride;
} kc_labels;

/* Numbers labels in the order in which they first appear: codes[i] is the number of label i, and
 * label first[k] was the first with number k.  `first` has room for `most` numbers; *n_found is how
 * many there are, or most + 1 where there are more: the codes then mean nothing. */
KC_API KC_MUST_CHECK kc_status kc_encode_labels(kc_context *ctx, const kc_run *run,
                                                const kc_labels *labels, int64_t most,
                                                int64_t *first, int32_t *codes, int64_t *n_found,
                                                kc_error *err);

/* Weights of classes by which all weigh the same: out[c] = W / (n_classes W_c), W_c being the
 * number of samples of class c, or the sum of their `weights` (n entries >= 0; NULL: all 1), and W
 * that of all.  KC_ERR_CLASSES where a class has no sample. */
KC_API KC_MUST_CHECK kc_status kc_balanced_weights(kc_context *ctx, const kc_run *run,
                                                   const int32_t *classes, int64_t n,
                                                   int32_t n_classes, const double *weights,
                                                   double *out, kc_error *err);

/* ---- Kernels ------------------------------------------------------------------------------ */

/* A kernel is an expression in postfix order: leaves push, combining nodes pop. */
typedef enum kc_kernel_op {
    /* Leaves. */
    KC_LINEAR = 1,     /* x.z                              */
    KC_RBF = 2,        /* exp(-gamma |x - z|^2)            */
    KC_POLYNOMIAL = 3, /* (gamma x.z + coef0)^degree       */
    KC_SIGMOID = 4,    /* tanh(gamma x.z + coef0)          */
    KC_LAPLACIAN = 5,  /* exp(-gamma |x - z|_1)            */
    /* Combinations. */
    KC_ADD = 64,   /* K1 + K2    pops two                 */
    KC_MUL = 65,   /* K1 * K2    pops two                 */
    KC_SCALE = 66, /* gamma * K  pops one                 */
    KC_POW = 67,   /* K^degree   pops one                 */
    KC_EXP = 68    /* exp(K)     pops one                 */
} kc_kernel_op;

typedef struct kc_kernel_node {
    int32_t op;     /* kc_kernel_op */
    int32_t degree; /* polynomial, pow: 0 .. 1000 */
    double gamma;   /* leaves: >= 0; scale: >= 0 */
    double coef0;
} kc_kernel_node;

/* What is known of every Gram matrix of the kernel. */
typedef enum kc_definiteness {
    KC_INDEFINITE = 0, /* may have negative eigenvalues */
    KC_POSITIVE = 2    /* positive semi-definite for every set of points */
} kc_definiteness;

/* Immutable once made. */
typedef struct kc_kernel kc_kernel;
KC_API KC_MUST_CHECK kc_status kc_kernel_create(kc_context *ctx, const kc_kernel_node *nodes,
                                                size_t n_nodes, kc_kernel **out, kc_error *err);
KC_API void kc_kernel_free(kc_context *ctx, kc_kernel *kernel);
KC_API kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel);

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

/* One row of the table of settings: its defaults are those of kc_svm_settings_init, its ranges
 * those that kc_svm_fit checks. */
typedef struct kc_setting {
    const char *name;
    const char *type; /* "int" or "real", or the name of an enum above */
    double default_value;
    double min, max;
    int32_t is_above_min; /* min itself is not allowed */
    const char *help;
} kc_setting;

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
    kc_kernel_fn *kernel_fn; /* in place of a kernel and x: asked for values when they are needed;
                                rows are kept as any others; NULL: none */
    void *kernel_data;       /* its first argument */
    int64_t n_samples;       /* n, with kernel_fn; else not read */
} kc_svm_data;

/* Why a solver ended.  All but the first leave a feasible, usable solution that is not optimal. */
typedef enum kc_stop {
    KC_STOP_CONVERGED = 0, /* violation < tol */
    KC_STOP_MAX_ITER = 1,
    KC_STOP_TIME = 2,     /* the call's time limit */
    KC_STOP_CALLER = 3,   /* the progress callback: KC_FINISH */
    KC_STOP_STALLED = 4,  /* rounding lets no step move or gain any more */
    KC_STOP_UNBOUNDED = 5 /* infinite box, and no hard margin or hard tube exists */
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
    double violation;         /* of the optimality conditions, largest over all variables */
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
} kc_fit_info;

/* Immutable once made; owns all it needs for prediction. */
typedef struct kc_model kc_model;

/* How many problems a fit solves: 1, or as many as pairs of classes, or as classes. */
KC_API int64_t kc_svm_problem_count(const kc_svm_settings *settings, int32_t n_classes);

/* Solves the problems and makes a model of the samples with a coefficient.
 *
 * kernel NULL: data->x is the kernel matrix, or there is a data->kernel_fn; the model is then one
 * of given kernel values (kc_model_info.is_given).  info and problems may be NULL; problems has
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

/* What a model is, and how long the arrays below are.
 *
 * Two classes, or no classes: one problem.  A positive decision value says class 1, or "inside" for
 * one-class.  More classes, one-vs-one: problem of the pair (i, j), i < j, in the order (0, 1),
 * (0, 2), ..., (1, 2), ...; positive says class i.  One-vs-rest: problem k, positive says class k.
 */
typedef struct kc_model_info {
    size_t struct_size; /* sizeof(kc_model_info), set by the caller */
    int32_t type;       /* kc_svm_type */
    int32_t multiclass; /* kc_multiclass */
    int32_t n_classes;  /* 0 where there are none */
    kc_dtype dtype;     /* of kernel values and of the support vectors */
    kc_storage storage; /* of the support vectors */
    int32_t is_given; /* fitted to a kernel matrix, or by a kernel_fn: there are no support vectors,
                         only indices */
    int32_t is_linear; /* kc_model_linear has something to give */
    int64_t n_problems;
    int64_t n_coef_rows; /* 1; one-vs-one: n_classes - 1; one-vs-rest: n_classes */
    int64_t n_support;
    int64_t n_values; /* CSR: nonzeros of the support vectors */
    int64_t n_cols;   /* of the support vectors; of a kernel matrix: the samples of the fit */
} kc_model_info;

/* KC_ERR_ARG where struct_size is wrong. */
KC_API KC_MUST_CHECK kc_status kc_model_describe(const kc_model *model, kc_model_info *out,
                                                 kc_error *err);

/* Copies into the caller's arrays.  Support vectors are sorted by class, then by index. */
KC_API void kc_model_support(const kc_model *model, int32_t *out); /* n_support: sample indices */
KC_API void kc_model_class_counts(const kc_model *model,
                                  int32_t *out); /* max(1, n_classes): support vectors of each */
KC_API void kc_model_intercepts(const kc_model *model, double *out); /* n_problems */

/* n_coef_rows x n_support.  One-vs-one: for a support vector of class c, row r belongs to the
 * problem of c against the r-th of the other classes. */
KC_API void kc_model_coef(const kc_model *model, double *out);

/* The support vectors: dense, n_support x n_cols, as doubles (exact, whatever the dtype); CSR. */
KC_API KC_MUST_CHECK kc_status kc_model_vectors(const kc_model *model, double *out, kc_error *err);
KC_API KC_MUST_CHECK kc_status kc_model_vectors_csr(const kc_model *model, int64_t *indptr,
                                                    int32_t *indices, double *values,
                                                    kc_error *err);

/* Linear kernel: n_problems x n_cols, f(x) = w.x + intercept. */
KC_API KC_MUST_CHECK kc_status kc_model_linear(const kc_model *model, double *out, kc_error *err);

/* A model from what the functions above gave: the same bits of every decision value.
 * info->struct_size as always; x NULL where info->is_given. */
typedef struct kc_model_parts {
    size_t struct_size; /* sizeof(kc_model_parts) */
    const kc_model_info *info;
    const kc_kernel *kernel;     /* NULL where info->is_given */
    const kc_points *x;          /* the support vectors */
    const int32_t *support;      /* n_support */
    const int32_t *class_counts; /* max(1, n_classes) */
    const double *coef;          /* n_coef_rows x n_support */
    const double *intercepts;    /* n_problems */
} kc_model_parts;
KC_API KC_MUST_CHECK kc_status kc_model_create(kc_context *ctx, const kc_model_parts *parts,
                                               kc_model **out, kc_error *err);

/* ---- Prediction --------------------------------------------------------------------------- */

/* Where info->is_given, x is a matrix of kernel values between the samples to predict and all
 * samples of the fit, or the support vectors alone, in their order. */

typedef enum kc_decision_shape {
    KC_DECISION_PROBLEMS = 1, /* a column for each problem */
    KC_DECISION_CLASSES = 2   /* a column for each class, where there are more than two: votes, and
                                 sums of decision values squeezed into (-1/3, 1/3) to break ties */
} kc_decision_shape;

/* out[i * out_ld + k]; equal bits however the samples are cut into calls.  On failure out holds no
 * meaning. */
KC_API KC_MUST_CHECK kc_status kc_model_decision(kc_context *ctx, const kc_run *run,
                                                 const kc_model *model, const kc_points *x,
                                                 kc_decision_shape shape, double *out,
                                                 int64_t out_ld, kc_error *err);

/* out[i] = the class of x_i; one-class: 1 or -1.  Votes: ties go to the lowest class, or with
 * break_ties to the largest value of KC_DECISION_CLASSES.  The SVR types have no classes: their
 * prediction is the decision value. */
KC_API KC_MUST_CHECK kc_status kc_model_predict(kc_context *ctx, const kc_run *run,
                                                const kc_model *model, const kc_points *x,
                                                int32_t break_ties, int32_t *out, kc_error *err);

#ifdef __cplusplus
}
#endif

#include "kcore/perceptrons.h"

#endif
