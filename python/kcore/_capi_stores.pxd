# The declarations of kcore/stores.h, as _capi.pxd has the others.

from libc.stdint cimport int32_t, int64_t

from kcore._capi cimport (
    kc_context, kc_dtype, kc_error, kc_kernel, kc_points, kc_run, kc_status, kc_stop,
)


cdef extern from "kcore/stores.h" nogil:
    # ---- Stores

    ctypedef struct kc_store:
        pass

    ctypedef struct kc_store_settings:
        size_t struct_size
        kc_dtype dtype
        int64_t cache_bytes

    kc_status kc_store_create(
        kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
        const kc_store_settings *settings, kc_store **out, kc_error *err)
    void kc_store_free(kc_context *ctx, kc_store *store)

    ctypedef struct kc_store_info:
        size_t struct_size
        kc_dtype dtype
        int32_t is_complete
        int64_t n_rows
        int64_t rows_computed
        int64_t rows_hit
        int64_t rows_evicted
        int64_t values_computed
        int64_t cache_bytes_allowed
        int64_t cache_bytes_used
        double seconds_rows

    kc_status kc_store_describe(kc_store *store, kc_store_info *out, kc_error *err)
    kc_status kc_store_diagonal(kc_store *store, double *out, int64_t n, kc_error *err)

    # ---- K times vectors

    ctypedef struct kc_product:
        size_t struct_size
        const int64_t *columns
        int64_t n_columns
        const double *vectors
        int64_t n_vectors
        const int64_t *rows
        int64_t n_rows

    kc_status kc_store_multiply(
        kc_context *ctx, const kc_run *run, kc_store *store, const kc_product *product,
        double *out, kc_error *err)

    # ---- Problems

    ctypedef struct kc_dual_problem:
        size_t struct_size
        const int64_t *rows
        int64_t n
        const double *t
        const double *lower
        const double *upper
        double epsilon
        int32_t n_groups
        const int32_t *group
        const double *sums
        const double *start
        double tol
        int64_t max_iter
        int64_t seed

    ctypedef struct kc_dual_result:
        size_t struct_size
        double *beta
        double *gradient
        kc_stop stop
        double multipliers[2]
        double primal
        double dual
        double gap
        double violation
        int64_t n_iter
        int64_t n_sets
        int64_t n_rounds
        char path[64]
        int64_t rows_computed
        int64_t rows_hit
        int64_t rows_evicted
        int64_t values_computed
        double seconds

    kc_status kc_store_solve(
        kc_context *ctx, const kc_run *run, kc_store *store, const kc_dual_problem *problem,
        kc_dual_result *result, kc_error *err)
