/* kcore: stores and the problems solved on them, a part of kcore.h, which includes it.
 *
 * A store is samples, a kernel, and those rows of their Gram matrix K that are worth keeping.  It
 * outlives a call, so that many problems share the rows: folds, pairs of classes, a path of C, a
 * solution to start from.  A problem names some samples of the store and says what is asked of
 * their coefficients:
 *
 *     minimise    1/2 b'K b - t'b + epsilon sum |b|
 *     subject to  lower <= b <= upper, and the sum of b fixed in each of 0, 1 or 2 groups
 *
 *   kc_store_settings settings = {.struct_size = sizeof settings, .dtype = KC_F64};
 *   kc_store *store;
 *   if (kc_store_create(ctx, NULL, kernel, &samples, &settings, &store, &err) == KC_OK) {
 *       kc_dual_problem problem = {
 *           .struct_size = sizeof problem,
 *           .t = y, .lower = lower, .upper = upper, .n_groups = 1, .tol = 1e-3,
 *       };
 *       kc_dual_result result = {.struct_size = sizeof result, .beta = beta};
 *       status = kc_store_solve(ctx, NULL, store, &problem, &result, &err);
 *       kc_store_free(ctx, store);
 *   }
 *
 * A call that fails or is cancelled leaves store and results as they were, but for rows that it
 * computed: those may stay. */
#ifndef KCORE_STORES_H
#define KCORE_STORES_H

#include "kcore/kcore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Stores ------------------------------------------------------------------------------- */

/* Belongs to the context it was made in, which every call with it must name.  One call at a time
 * uses it: a second one is KC_ERR_ARG. */
typedef struct kc_store kc_store;

typedef struct kc_store_settings {
    size_t struct_size;  /* sizeof(kc_store_settings) */
    kc_dtype dtype;      /* of kernel values; 0: KC_F64, or that of a given matrix */
    int64_t cache_bytes; /* of kernel rows; 0: chosen from the memory available */
} kc_store_settings;

/* Copies the kernel, and the samples in the form that kernels read.  kernel NULL: x is the n x n
 * matrix of kernel values, symmetric, and copied too.  settings may be NULL.  cache_bytes must have
 * room for two rows, and is of no influence on results. */
KC_API KC_MUST_CHECK kc_status kc_store_create(kc_context *ctx, const kc_run *run,
                                               const kc_kernel *kernel, const kc_points *x,
                                               const kc_store_settings *settings, kc_store **out,
                                               kc_error *err);
KC_API void kc_store_free(kc_context *ctx, kc_store *store);

/* What a store is, and what it has done since it was made. */
typedef struct kc_store_info {
    size_t struct_size; /* sizeof(kc_store_info), set by the caller */
    kc_dtype dtype;
    int32_t is_complete; /* all of K is there: given, or computed as a whole */
    int64_t n_rows;      /* samples */
    int64_t rows_computed, rows_hit, rows_evicted; /* one by one; hit: found among those kept */
    int64_t values_computed;                       /* kernel values in all */
    int64_t cache_bytes_allowed, cache_bytes_used;
    double seconds_rows; /* computing kernel values, adding rows up */
} kc_store_info;

/* KC_ERR_ARG where struct_size is wrong, or a call is using the store. */
KC_API KC_MUST_CHECK kc_status kc_store_describe(kc_store *store, kc_store_info *out,
                                                 kc_error *err);

/* out[i] = K(x_i, x_i), as the store computes it; n must be n_rows. */
KC_API KC_MUST_CHECK kc_status kc_store_diagonal(kc_store *store, double *out, int64_t n,
                                                 kc_error *err);

/* ---- K times vectors ---------------------------------------------------------------------- */

/* Sums over some columns of K, wanted at some of its rows. */
typedef struct kc_product {
    size_t struct_size;     /* sizeof(kc_product) */
    const int64_t *columns; /* n_columns samples, distinct, in any order; NULL: all */
    int64_t n_columns;      /* of one vector */
    const double *vectors;  /* n_vectors x n_columns, finite */
    int64_t n_vectors;
    const int64_t *rows; /* n_rows samples, in any order; NULL: all */
    int64_t n_rows;      /* of the result */
} kc_product;

/* out[k * n_rows + r] = sum over j of vectors[k * n_columns + j] K(x[rows[r]], x[columns[j]]):
 * K times vectors, or the values of functions at some samples.  n_columns and n_rows are the
 * store's where their lists are NULL.  Summed in float64 in the order of the columns: equal bits
 * for every number of threads and every cache.  out is written on success only. */
KC_API KC_MUST_CHECK kc_status kc_store_multiply(kc_context *ctx, const kc_run *run,
                                                 kc_store *store, const kc_product *product,
                                                 double *out, kc_error *err);

/* ---- Problems ----------------------------------------------------------------------------- */

/* Arrays have an entry for each of the n samples; all are the caller's and are read only. */
typedef struct kc_dual_problem {
    size_t struct_size;   /* sizeof(kc_dual_problem) */
    const int64_t *rows;  /* n samples of the store, distinct, in any order; NULL: all */
    int64_t n;            /* with rows; else not read */
    const double *t;      /* NULL: zeros */
    const double *lower;  /* may be -infinity */
    const double *upper;  /* may be infinity; lower <= upper */
    double epsilon;       /* >= 0 */
    int32_t n_groups;     /* 0: no sum is fixed */
    const int32_t *group; /* two groups: 0 or 1; one or none: NULL */
    const double *sums;   /* n_groups; NULL: those of the start, which without one are 0 */
    const double *start;  /* feasible: within the bounds, and to rounding of the sums; NULL: none */
    double tol;           /* > 0: of the largest violation of the optimality conditions */
    int64_t max_iter;     /* steps; 0: max(10^7, 100 n) */
    int64_t seed;         /* of the random choice of working sets */
} kc_dual_problem;

/* The solution, and its certificate from float64 sums over kernel values of the store's type. */
typedef struct kc_dual_result {
    size_t struct_size; /* sizeof(kc_dual_result), set by the caller */
    double *beta;       /* n entries, the caller's */
    double *gradient;   /* the same, of t - K beta; NULL: not wanted */
    kc_stop stop;
    double multipliers[2];    /* of the groups: free coefficients have gradient - multiplier =
                                 +-epsilon */
    double primal, dual, gap; /* gap = primal - dual */
    double violation;
    int64_t n_iter, n_sets, n_rounds; /* steps; working sets; rounds of steps on the worst few */
    char path[64];                    /* the methods that ran */
    int64_t rows_computed, rows_hit, rows_evicted;
    int64_t values_computed;
    double seconds;
} kc_dual_result;

/* A problem that does not converge still has a result: result->stop says why.  So has one that
 * reaches run->time_limit, or that the callback answers with KC_FINISH.  Where there was no time
 * for the certificate, primal, dual, gap, violation and gradient are NaN.
 *
 * Rows stay in the store where the problem has at least half of its samples.  For one of fewer,
 * columns of those alone are computed, unless all of K is there; rows that were kept are then given
 * up.  Equal bits for every order of rows, every number of threads and every cache; time limits
 * aside.
 *
 * KC_ERR_ARG where no coefficients within the bounds have the sums, or where the start is not
 * feasible: the text names the entry. */
KC_API KC_MUST_CHECK kc_status kc_store_solve(kc_context *ctx, const kc_run *run, kc_store *store,
                                              const kc_dual_problem *problem,
                                              kc_dual_result *result, kc_error *err);

#ifdef __cplusplus
}
#endif

#endif
