/* Stores for tests, with their Gram matrix from the definition in long double, and audits of
 * solutions by it. */
#ifndef STORE_CASE_H
#define STORE_CASE_H

#include "svm_case.h"

typedef struct store_case {
    kc_context *ctx;
    svm_case data;
    kc_kernel *kernel;
    long double *gram; /* n x n */
    kc_store *store;
} store_case;

/* Of an RBF kernel on the samples of svm_case_make; cache_bytes 0: as the library chooses. */
store_case store_case_make(kc_context *ctx, size_t n, size_t d, kc_dtype dtype,
                           int64_t cache_bytes);
void store_case_free(store_case *c);

/* One more store of the same samples; NULL where it could not be made. */
kc_store *store_case_again(const store_case *c, kc_dtype dtype, int64_t cache_bytes);

/* How far a result is from the definition of its problem: largest deviations. */
typedef struct problem_audit {
    double out_of_box, off_sum, off_grad;
    double violation, primal, dual; /* recomputed; the primal with the result's multipliers */
    double size;                    /* sum of |beta| */
} problem_audit;
problem_audit store_case_audit(const store_case *c, const kc_dual_problem *p,
                               const kc_dual_result *result);

/* Converged, feasible, and with the certificate that the definition gives; kernel values may be off
 * by `noise` each. */
void store_case_check(const store_case *c, const kc_dual_problem *p, const kc_dual_result *result,
                      double noise);

#endif
