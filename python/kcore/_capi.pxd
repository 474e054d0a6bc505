# The declarations of kcore/kcore.h and what it includes, in their order and in their words; those
# of kcore/perceptrons.h are in _capi_perceptrons.pxd, of kcore/stores.h in _capi_stores.pxd.
#
# tests/python/test_capi.py compares these files with the headers: every function with its argument
# types, every field of every struct, every value of every enumeration.

from libc.stdint cimport int32_t, int64_t


cdef extern from "kcore/kcore.h" nogil:
    const char *kc_version()
    const char *kc_isa_name()

    # ---- Status and errors

    ctypedef enum kc_status:
        KC_OK = 0
        KC_ERR_NOMEM = 1
        KC_ERR_CANCELLED = 2
        KC_ERR_TIME = 3
        KC_ERR_CALLBACK = 4
        KC_ERR_ARG = 10
        KC_ERR_SHAPE = 11
        KC_ERR_TYPE = 12
        KC_ERR_NONFINITE = 13
        KC_ERR_RANGE = 14
        KC_ERR_INDEX = 15
        KC_ERR_CLASSES = 30
        KC_ERR_NOT_SEPARABLE = 31
        KC_ERR_INFEASIBLE = 32
        KC_ERR_DEGENERATE = 33

    ctypedef struct kc_error:
        kc_status status
        char text[300]

    # ---- Context

    ctypedef struct kc_context:
        pass

    ctypedef struct kc_allocator:
        void *(*alloc)(void *data, size_t n_bytes, size_t alignment)
        void (*free)(void *data, void *ptr, size_t n_bytes)
        void *data

    ctypedef struct kc_context_config:
        size_t struct_size
        const kc_allocator *allocator
        size_t memory_limit
        int32_t n_threads

    kc_status kc_context_create(const kc_context_config *config, kc_context **out, kc_error *err)
    void kc_context_free(kc_context *ctx)
    int32_t kc_context_threads(const kc_context *ctx)
    void kc_context_set_threads(kc_context *ctx, int32_t n_threads)

    ctypedef struct kc_memory:
        size_t current
        size_t peak

    kc_memory kc_context_memory(const kc_context *ctx)
    void kc_context_trim(kc_context *ctx)
    int32_t kc_usable_cpus()

    # ---- One call: threads, progress, stopping

    ctypedef struct kc_cancel:
        pass

    kc_status kc_cancel_create(kc_context *ctx, kc_cancel **out, kc_error *err)
    void kc_cancel_set(kc_cancel *cancel)
    void kc_cancel_clear(kc_cancel *cancel)
    void kc_cancel_free(kc_context *ctx, kc_cancel *cancel)

    ctypedef struct kc_progress:
        const char *phase
        double seconds
        double fraction
        int64_t n_iter
        double objective
        double violation

    ctypedef enum kc_answer:
        KC_GO_ON = 0
        KC_CANCEL = 1
        KC_FINISH = 2

    ctypedef int kc_progress_fn(void *data, const kc_progress *progress)

    ctypedef struct kc_run:
        size_t struct_size
        int32_t n_threads
        double time_limit
        const kc_cancel *cancel
        kc_progress_fn *on_progress
        void *progress_data

    # ---- Samples

    ctypedef enum kc_dtype:
        KC_F32 = 1
        KC_F64 = 2

    ctypedef enum kc_storage:
        KC_DENSE = 1
        KC_CSR = 2
        KC_STRINGS = 3

    ctypedef struct kc_points:
        size_t struct_size
        kc_storage storage
        kc_dtype dtype
        int64_t n_rows
        int64_t n_cols
        const void *values
        int64_t row_stride
        int64_t col_stride
        const void *indices
        const void *indptr
        int32_t index_bytes
        int64_t n_values
        const char *name
        int64_t first_col
        const kc_points *next

    kc_status kc_check_points(
        kc_context *ctx, const kc_run *run, const kc_points *points, kc_error *err)
    kc_status kc_variance(
        kc_context *ctx, const kc_run *run, const kc_points *x, const double *weights,
        double *out, kc_error *err)
    kc_status kc_check_finite(
        kc_context *ctx, const kc_run *run, const kc_points *x, kc_error *err)

    # ---- Labels

    ctypedef struct kc_labels:
        const void *values
        int64_t n, n_bytes, stride

    kc_status kc_encode_labels(
        kc_context *ctx, const kc_run *run, const kc_labels *labels, int64_t most,
        int64_t *first, int32_t *codes, int64_t *n_found, kc_error *err)
    kc_status kc_balanced_weights(
        kc_context *ctx, const kc_run *run, const int32_t *classes, int64_t n,
        int32_t n_classes, const double *weights, double *out, kc_error *err)

    # ---- Settings

    ctypedef struct kc_setting:
        const char *name
        const char *type
        double default_value
        double min
        double max
        int32_t is_above_min
        const char *help

    # ---- Kernels

    ctypedef struct kc_kernel:
        pass

    void kc_kernel_free(kc_context *ctx, kc_kernel *kernel)

    ctypedef enum kc_definiteness:
        KC_INDEFINITE = 0
        KC_CONDITIONAL = 1
        KC_POSITIVE = 2

    kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel)

    # ---- Leaves

    ctypedef struct kc_leaf_info:
        const char *name
        const char *formula
        const kc_setting *params
        int32_t n_params

    int32_t kc_leaf_count()
    const kc_leaf_info *kc_leaf_at(int32_t index)
    kc_status kc_kernel_leaf(
        kc_context *ctx, const char *name, const double *params, int32_t n_params,
        kc_kernel **out, kc_error *err)

    ctypedef struct kc_sample:
        int64_t n
        const double *values
        const int32_t *columns
        const char *bytes
        int64_t n_cols

    ctypedef double kc_pair_fn(void *data, const kc_sample *x, const kc_sample *z)
    ctypedef void kc_block_fn(
        void *data, const kc_sample *x, int64_t n_x, const kc_sample *z, int64_t n_z,
        double *out, int64_t ld)

    ctypedef struct kc_kernel_function:
        size_t struct_size
        kc_pair_fn *pair
        kc_block_fn *block
        void *data
        kc_definiteness definiteness
        double work
        void *owner
        void (*retain)(void *owner)
        void (*release)(void *owner)

    kc_status kc_kernel_from_function(
        kc_context *ctx, const kc_kernel_function *function, kc_kernel **out, kc_error *err)

    int32_t kc_kernel_has_function(const kc_kernel *kernel)

    # ---- Combinations

    kc_status kc_kernel_sum(
        kc_context *ctx, const kc_kernel *const *kernels, int32_t n, kc_kernel **out,
        kc_error *err)
    kc_status kc_kernel_product(
        kc_context *ctx, const kc_kernel *const *kernels, int32_t n, kc_kernel **out,
        kc_error *err)
    kc_status kc_kernel_scaled(
        kc_context *ctx, const kc_kernel *kernel, double factor, kc_kernel **out, kc_error *err)
    kc_status kc_kernel_power(
        kc_context *ctx, const kc_kernel *kernel, int32_t degree, kc_kernel **out, kc_error *err)
    kc_status kc_kernel_series(
        kc_context *ctx, const kc_kernel *kernel, const double *coefs, int32_t n, kc_kernel **out,
        kc_error *err)
    kc_status kc_kernel_exp(
        kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err)

    kc_status kc_kernel_normalized(
        kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err)
    kc_status kc_kernel_on(
        kc_context *ctx, const kc_kernel *kernel, const int32_t *columns, int64_t n,
        kc_kernel **out, kc_error *err)
    kc_status kc_kernel_on_factors(
        kc_context *ctx, const kc_kernel *kernel, const double *factors, int64_t n,
        kc_kernel **out, kc_error *err)
    kc_status kc_kernel_on_map(
        kc_context *ctx, const kc_kernel *kernel, const double *matrix, int64_t n_rows,
        int64_t n_cols, kc_kernel **out, kc_error *err)
    kc_status kc_kernel_on_period(
        kc_context *ctx, const kc_kernel *kernel, const double *periods, int64_t n,
        kc_kernel **out, kc_error *err)

    # ---- Matrices

    kc_status kc_gram(
        kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
        const kc_points *z, kc_dtype out_dtype, void *out, int64_t out_ld, kc_error *err)
    kc_status kc_diag(
        kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
        kc_dtype out_dtype, void *out, kc_error *err)

    # ---- Gradients

    ctypedef struct kc_kernel_param:
        size_t struct_size
        int32_t node
        const char *kernel
        const char *name
        int64_t entry
        double value

    int64_t kc_kernel_param_count(const kc_kernel *kernel)
    kc_status kc_kernel_param_at(
        const kc_kernel *kernel, int64_t index, kc_kernel_param *out, kc_error *err)
    kc_status kc_kernel_gradient(
        kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
        const kc_points *z, const kc_points *weights, kc_dtype dtype, double *out, int64_t n_out,
        kc_error *err)

    # ---- Functions

    ctypedef enum kc_decoder:
        KC_DECODE_VALUES = 1
        KC_DECODE_SIGN = 2
        KC_DECODE_PAIRS = 3
        KC_DECODE_LARGEST = 4

    ctypedef struct kc_function_parts:
        size_t struct_size
        const kc_kernel *kernel
        const kc_points *x
        const int32_t *columns
        kc_dtype dtype
        int64_t n_points
        int64_t n_cols
        int64_t n_outputs
        const double *coef
        const double *intercepts
        int32_t decoder
        int32_t n_classes
        int32_t class_of_zero
        const kc_labels *labels

    ctypedef struct kc_function:
        pass

    kc_status kc_function_create(
        kc_context *ctx, const kc_run *run, const kc_function_parts *parts, kc_function **out,
        kc_error *err)
    void kc_function_free(kc_context *ctx, kc_function *f)

    ctypedef struct kc_function_info:
        size_t struct_size
        int32_t decoder
        int32_t n_classes
        int32_t class_of_zero
        kc_dtype dtype
        int32_t is_given
        int32_t is_linear
        int64_t n_outputs
        int64_t n_points
        int64_t n_cols
        int64_t n_parts
        int64_t label_bytes

    kc_status kc_function_describe(const kc_function *f, kc_function_info *out, kc_error *err)
    const kc_kernel *kc_function_kernel(const kc_function *f)
    kc_status kc_function_coef(const kc_function *f, double *out, int64_t n, kc_error *err)
    kc_status kc_function_intercepts(const kc_function *f, double *out, int64_t n, kc_error *err)
    kc_status kc_function_columns(const kc_function *f, int32_t *out, int64_t n, kc_error *err)

    ctypedef struct kc_part_info:
        size_t struct_size
        kc_storage storage
        int64_t n_cols
        int64_t n_values

    kc_status kc_function_part(
        const kc_function *f, int64_t part, kc_part_info *out, kc_error *err)
    kc_status kc_function_points(
        const kc_function *f, int64_t part, double *out, int64_t n, kc_error *err)
    kc_status kc_function_points_csr(
        const kc_function *f, int64_t part, int64_t *indptr, int64_t n_indptr, int32_t *indices,
        double *values, int64_t n_values, kc_error *err)
    kc_status kc_function_strings(
        const kc_function *f, int64_t part, int64_t *indptr, int64_t n_indptr, char *bytes,
        int64_t n_bytes, kc_error *err)
    kc_status kc_function_weights(const kc_function *f, double *out, int64_t n, kc_error *err)
    kc_status kc_function_labels(const kc_function *f, void *out, int64_t n_bytes, kc_error *err)

    # ---- Prediction

    ctypedef enum kc_columns:
        KC_PER_OUTPUT = 1
        KC_PER_CLASS = 2

    kc_status kc_function_evaluate(
        kc_context *ctx, const kc_run *run, const kc_function *f, const kc_points *x,
        kc_columns columns, double *out, int64_t out_ld, kc_error *err)
    kc_status kc_function_predict(
        kc_context *ctx, const kc_run *run, const kc_function *f, const kc_points *x,
        int32_t break_ties, int32_t *out, kc_error *err)

    kc_status kc_function_contributions(
        kc_context *ctx, const kc_run *run, const kc_function *f, const kc_points *x, int64_t top,
        int64_t *points, double *values, kc_error *err)

    # ---- The space of a kernel

    kc_status kc_kernel_section(
        kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
        kc_dtype dtype, kc_function **out, kc_error *err)
    kc_status kc_function_output(
        kc_context *ctx, const kc_run *run, const kc_function *f, int64_t output,
        kc_function **out, kc_error *err)
    kc_status kc_function_combine(
        kc_context *ctx, const kc_run *run, double a, const kc_function *f, double b,
        const kc_function *g, kc_function **out, kc_error *err)
    kc_status kc_function_merge(
        kc_context *ctx, const kc_run *run, const kc_function *f, kc_function **out,
        kc_error *err)
    kc_status kc_function_inner(
        kc_context *ctx, const kc_run *run, const kc_function *f, const kc_function *g,
        double *out, kc_error *err)

    # ---- Support vector machines: settings

    ctypedef enum kc_svm_type:
        KC_C_SVC = 1
        KC_NU_SVC = 2
        KC_EPS_SVR = 3
        KC_NU_SVR = 4
        KC_ONE_CLASS = 5

    ctypedef enum kc_multiclass:
        KC_ONE_VS_ONE = 1
        KC_ONE_VS_REST = 2

    ctypedef enum kc_precision:
        KC_PRECISION_AUTO = 0
        KC_PRECISION_F32 = 1
        KC_PRECISION_F64 = 2

    ctypedef struct kc_svm_settings:
        size_t struct_size
        int32_t type
        int32_t multiclass
        int32_t precision
        int32_t shrinking
        double C
        double nu
        double epsilon
        double tol
        int64_t cache_bytes
        int64_t max_iter
        int64_t seed

    void kc_svm_settings_init(kc_svm_settings *settings, size_t struct_size)

    int32_t kc_setting_count()
    const kc_setting *kc_setting_at(int32_t index)

    # ---- Support vector machines: fit

    ctypedef int kc_kernel_fn(
        void *data, const int64_t *rows, int64_t n_rows, const int64_t *cols, int64_t n_cols,
        double *out)

    ctypedef struct kc_svm_data:
        size_t struct_size
        const kc_points *x
        const int32_t *classes
        int32_t n_classes
        const double *targets
        const double *weights
        const double *class_weights
        const double *start
        kc_kernel_fn *kernel_fn
        void *kernel_data
        int64_t n_samples
        const kc_labels *labels

    ctypedef enum kc_stop:
        KC_STOP_CONVERGED = 0
        KC_STOP_MAX_ITER = 1
        KC_STOP_TIME = 2
        KC_STOP_CALLER = 3
        KC_STOP_STALLED = 4
        KC_STOP_UNBOUNDED = 5
        KC_STOP_NO_MARGIN = 6

    const char *kc_stop_name(kc_stop stop)

    ctypedef struct kc_fit_info:
        size_t struct_size
        kc_stop stop
        kc_dtype dtype
        double primal
        double dual
        double gap
        double violation
        double norm
        double epsilon
        int64_t n_iter
        int64_t n_sets
        int64_t n_rounds
        char path[64]
        int64_t n_support
        int64_t n_bounded
        int64_t rows_computed
        int64_t rows_hit
        int64_t rows_evicted
        int64_t values_computed
        int64_t cache_bytes_allowed
        int64_t cache_bytes_used
        int64_t peak_bytes
        double seconds
        double seconds_rows
        double seconds_pack
        double seconds_solve
        double seconds_model
        int64_t n_refined
        int64_t n_zero_samples

    ctypedef struct kc_model:
        pass

    int64_t kc_svm_problem_count(const kc_svm_settings *settings, int32_t n_classes)
    kc_status kc_svm_fit(
        kc_context *ctx, const kc_run *run, const kc_svm_settings *settings,
        const kc_kernel *kernel, const kc_svm_data *data, kc_model **out, kc_fit_info *info,
        kc_fit_info *problems, kc_error *err)
    void kc_model_free(kc_context *ctx, kc_model *model)

    # ---- Models

    ctypedef struct kc_model_info:
        size_t struct_size
        int32_t type
        int32_t multiclass
        int32_t n_classes
        int64_t n_coef_rows

    kc_status kc_model_describe(const kc_model *model, kc_model_info *out, kc_error *err)
    const kc_function *kc_model_function(const kc_model *model)
    kc_status kc_model_support(const kc_model *model, int32_t *out, int64_t n, kc_error *err)
    kc_status kc_model_class_counts(const kc_model *model, int32_t *out, int64_t n, kc_error *err)
    kc_status kc_model_coef(const kc_model *model, double *out, int64_t n, kc_error *err)

    ctypedef struct kc_model_parts:
        size_t struct_size
        int32_t type
        int32_t multiclass
        int32_t n_classes
        kc_dtype dtype
        int64_t n_coef_rows
        int64_t n_problems
        int64_t n_support
        int64_t n_cols
        const kc_kernel *kernel
        const kc_points *x
        const int32_t *support
        const int32_t *class_counts
        const double *coef
        const double *intercepts
        const kc_labels *labels

    kc_status kc_model_create(
        kc_context *ctx, const kc_model_parts *parts, kc_model **out, kc_error *err)
