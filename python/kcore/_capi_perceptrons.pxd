# The declarations of kcore/perceptrons.h, as _capi.pxd has the others.

from libc.stdint cimport int32_t, int64_t, uint64_t

from kcore._capi cimport (
    kc_context, kc_dtype, kc_error, kc_function, kc_kernel, kc_kernel_fn, kc_labels, kc_points,
    kc_run, kc_status, kc_storage,
)


cdef extern from "kcore/perceptrons.h" nogil:
    # ---- Perceptrons

    ctypedef enum kc_perceptron_rule:
        KC_RULE_SINGLE = 1
        KC_RULE_BATCH = 2

    ctypedef struct kc_perceptron_settings:
        size_t struct_size
        int32_t rule
        int32_t is_direct
        int32_t has_intercept
        int32_t is_shuffled
        double margin
        double theta
        int64_t n_passes
        const double *eta

    ctypedef struct kc_perceptron_data:
        size_t struct_size
        const kc_points *x
        const int32_t *classes
        int32_t n_classes
        const double *weights
        kc_kernel_fn *kernel_fn
        void *kernel_data
        int64_t n_samples

    ctypedef struct kc_perceptron_update:
        int64_t at
        int32_t sample
        int32_t raised
        int32_t lowered
        double step

    ctypedef struct kc_perceptron_state:
        size_t struct_size
        int32_t positive
        double *weights
        double *intercepts
        double *time_weighted
        double *time_weighted_intercepts
        int64_t n_steps
        int64_t n_updates
        uint64_t random[4]
        int64_t *mistakes
        double *criterion
        kc_perceptron_update *log
        int64_t n_log
        int64_t n_done
        int32_t is_converged
        int32_t has_best
        double *best_weights
        double *best_intercepts
        double best_loss
        int64_t best_mistakes
        int64_t best_run
        int64_t changed_at

    kc_status kc_perceptron_run(
        kc_context *ctx, const kc_run *run, const kc_perceptron_settings *settings,
        const kc_perceptron_data *data, kc_perceptron_state *states, int32_t n_states,
        kc_error *err)
    kc_status kc_linear_decision(
        kc_context *ctx, const kc_run *run, const kc_points *x, const double *weights,
        const double *intercepts, int32_t n_outputs, double *out, kc_error *err)

    ctypedef struct kc_perceptron_history:
        size_t struct_size
        const kc_points *x
        const kc_perceptron_update *updates
        int64_t n_updates
        int64_t n_steps
        int32_t n_outputs
        int32_t has_intercept

    kc_status kc_perceptron_votes(
        kc_context *ctx, const kc_run *run, const kc_perceptron_history *history,
        const kc_points *x, double *out, int64_t out_ld, kc_error *err)

    ctypedef struct kc_perceptron_margin:
        size_t struct_size
        double max_sq_norm
        double min_value
        int64_t n_mistakes

    kc_status kc_perceptron_measure(
        kc_context *ctx, const kc_run *run, const kc_perceptron_data *data, int32_t positive,
        const double *weights, double intercept, kc_perceptron_margin *out, kc_error *err)

    # ---- Kernel perceptrons

    ctypedef enum kc_strategy:
        KC_STRATEGY_OLDEST = 1
        KC_STRATEGY_SMALLEST = 2
        KC_STRATEGY_PROJECTION = 3
        KC_STRATEGY_MERGE = 4

    ctypedef enum kc_reading:
        KC_READING_LAST = 1
        KC_READING_MEAN = 2
        KC_READING_VOTES = 3

    ctypedef struct kc_online_config:
        size_t struct_size
        const kc_kernel *kernel
        kc_dtype dtype
        int64_t n_cols
        int32_t is_sparse
        int32_t n_classes
        int32_t is_direct
        int32_t has_intercept
        int32_t is_averaged
        int32_t is_voted
        int32_t strategy
        int64_t budget
        const uint64_t *random
        const kc_points *like

    ctypedef struct kc_online:
        pass

    kc_status kc_online_create(
        kc_context *ctx, const kc_online_config *config, kc_online **out, kc_error *err)
    void kc_online_free(kc_context *ctx, kc_online *online)
    kc_status kc_online_reserve(
        kc_context *ctx, kc_online *online, int64_t n_points, kc_error *err)

    ctypedef struct kc_online_report:
        size_t struct_size
        int64_t *mistakes
        double *criterion
        int64_t n_done
        int64_t n_updates
        int32_t is_converged
        double min_value
        double sq_norm
        double max_diag
        int64_t rows_computed
        int64_t rows_hit
        int64_t rows_evicted
        int64_t cache_bytes_allowed
        int64_t cache_bytes_used

    kc_status kc_online_learn(
        kc_context *ctx, const kc_run *run, kc_online *online,
        const kc_perceptron_settings *settings, const kc_perceptron_data *data, int64_t first,
        kc_online_report *report, kc_error *err)
    kc_status kc_online_fit(
        kc_context *ctx, const kc_run *run, kc_online *online,
        const kc_perceptron_settings *settings, const kc_perceptron_data *data, int64_t first,
        int64_t cache_bytes, kc_online_report *report, kc_error *err)
    kc_status kc_online_decision(
        kc_context *ctx, const kc_run *run, const kc_online *online, const kc_points *x,
        kc_reading reading, double *out, kc_error *err)

    ctypedef struct kc_online_info:
        size_t struct_size
        kc_dtype dtype
        int32_t is_given
        int64_t n_points
        int64_t n_cols
        int64_t n_outputs
        int64_t n_seen
        int64_t n_updates
        int64_t n_bytes

    kc_status kc_online_describe(const kc_online *online, kc_online_info *out, kc_error *err)
    kc_status kc_online_ids(const kc_online *online, int64_t *out, int64_t n, kc_error *err)
    kc_status kc_online_coef(
        const kc_online *online, kc_reading reading, double *coef, int64_t n_coef,
        double *intercepts, int64_t n_intercepts, kc_error *err)
    kc_status kc_online_function(
        kc_context *ctx, const kc_run *run, const kc_online *online, kc_reading reading,
        const kc_labels *labels, kc_function **out, kc_error *err)
    kc_status kc_online_save(const kc_online *online, void *out, int64_t n_bytes, kc_error *err)
    kc_status kc_online_load(
        kc_context *ctx, const kc_kernel *kernel, const void *bytes, int64_t n_bytes,
        kc_online **out, kc_error *err)
