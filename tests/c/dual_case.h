/* Dual problems as tests solve them: on given matrices, or on rows that are computed. */
#ifndef DUAL_CASE_H
#define DUAL_CASE_H

#include "ref_qp.h"

typedef struct result {
    kc_status status;
    kc_solution solution;
} result;

/* On the matrix of p. */
result solve_given(kc_context *ctx, const ref_problem *p, kc_dual dual, kc_dtype dtype);
result solve_given_in(kc_context *ctx, const kc_run *run, const ref_problem *p, kc_dual dual,
                      kc_dtype dtype);
void drop(result *r);

/* Wherever it ended: feasible, with its own gradient. */
void check_feasible(const ref_problem *p, const result *r);

/* It ends after dual.max_iter steps to the step, at such a point. */
void check_max_iter(kc_context *ctx, const ref_problem *p, kc_dual dual);

/* Converged, feasible, with its own gradient and certificate, from the definition. */
void check_solution(const ref_problem *p, const result *r, double tol);

typedef struct sample {
    size_t n, d;
    double *x, *t, *lo, *hi;
} sample;

/* Two noisy classes sorted by class, or a regression. */
sample make_sample(size_t n, size_t d, bool is_regression, double c);
void free_sample(sample *s);

typedef struct setting {
    int32_t n_threads;
    size_t n_cached_rows;
    kc_dtype dtype;
    double epsilon;
    kc_method method;
    bool is_linear;
    bool is_shrinking;
    bool is_split; /* two runs: the points between are left out */
    int64_t max_iter;
    kc_progress_fn *on_progress;
    void *progress_data;
} setting;

/* By a kernel of the points; *count: what the store has done. */
result solve_computed(kc_context *ctx, const sample *s, const setting *set,
                      kc_store_counters *count);

bool are_equal(const sample *s, const result *a, const result *b);

/* With 1 to 4 threads and caches of few rows to all, where `base` has one thread and two rows. */
void check_equal_bits(kc_context *ctx, const sample *s, setting base);

#endif
