/* The points that an online learner keeps, and its decision functions on them:
 *
 *     f_o(x) = sum over points i of coef[o][i] (K(x_i, x) + offset)
 *
 * offset is 1 with an intercept and 0 without; the sum of offset * coef is kept as the intercept.
 * All outputs share one set of points, so that a row of kernel values serves them all.  Points have
 * places 0 .. n - 1; one that is replaced leaves the others where they are.
 *
 * For the mean over time, `time_weighted` holds the sum of time * change of every coefficient: with
 * T steps made, the mean is ((T + 1) coef - time_weighted) / T.
 *
 * Only kc_active_reserve allocates.  Reading is for any number of threads, changing for one. */
#ifndef KC_ACTIVE_H
#define KC_ACTIVE_H

#include "data/kc_growing.h"
#include "function/kc_expansion.h"

typedef struct kc_active {
    kc_kernel *kernel; /* owned; NULL: kernel values are given, and points are columns of them */
    kc_dtype dtype;    /* of kernel values */
    double offset;
    size_t n_cols; /* features; without a kernel: the samples of the fit */
    size_t n_outputs;
    size_t n, capacity; /* places */
    kc_growing points;
    double *coef;                     /* n_outputs x capacity */
    double *time_weighted;            /* the same, or NULL: no mean */
    double *sq_coef;                  /* capacity: sum over the outputs of coef^2 */
    double *diag;                     /* capacity: K(x, x) + offset */
    int64_t *ids;                     /* capacity: number of the sample, -1: a mixture */
    int64_t *arrived;                 /* capacity: when, in points added before */
    int64_t n_arrived;                /* never less than n */
    double *intercepts;               /* n_outputs */
    double *time_weighted_intercepts; /* n_outputs */
    int64_t *n_steps;                 /* n_outputs: samples looked at */
} kc_active;

/* What a set is made of. */
typedef struct kc_active_spec {
    const kc_kernel *kernel; /* copied */
    kc_dtype dtype;
    const kc_points *like; /* what samples are: storages and columns; NULL without a kernel */
    bool has_offset, has_mean;
    size_t n_cols, n_outputs;
} kc_active_spec;

/* Empty; `out` is empty and freed on failure, too. */
kc_status kc_active_create(kc_context *ctx, const kc_active_spec *spec, kc_active *out,
                           kc_error *err);
void kc_active_free(kc_context *ctx, kc_active *set);

/* Room for n points and so many values in all, NULL: none. */
kc_status kc_active_reserve(kc_context *ctx, kc_active *set, size_t n,
                            const kc_value_counts *counts, kc_error *err);

/* A sample that has come: x[row] with its number; kernel values with the points of the set, of the
 * set's type; K(x, x) + offset; what the coefficient of each output changes by. */
typedef struct kc_candidate {
    const kc_packed *x; /* NULL without a kernel */
    size_t row;
    int64_t id;
    const void *k; /* n values */
    double diag;
    const double *steps; /* n_outputs */
} kc_candidate;

/* The candidate at `place`, which may be n; intercepts are moved by its steps.  What was there must
 * have been forgotten. */
void kc_active_put(kc_active *set, size_t place, const kc_candidate *x);

/* The steps of a sample that is in the set already. */
void kc_active_step(kc_active *set, size_t place, const double *steps);

/* A point's share in the functions is taken away; the place is still there. */
void kc_active_forget(kc_active *set, size_t place);

/* Coefficients as they are given, strides apart; time_weighted NULL: none.  Intercepts are not
 * moved. */
void kc_active_assign(kc_active *set, size_t place, const double *coef, const double *time_weighted,
                      size_t stride);

/* coef[o][place_of[r]] += shares[r] * amounts[o] for r < n, and the intercepts with them. */
void kc_active_spread(kc_active *set, const int32_t *place_of, const double *shares, size_t n,
                      const double *amounts);

/* A forgotten point becomes h x + (1 - h) point, with these coefficients. */
void kc_active_mix(kc_active *set, size_t place, double h, const kc_candidate *x,
                   const double *coef);

/* Where the sample with this number is; n: nowhere. */
size_t kc_active_find(const kc_active *set, int64_t id);

/* values[o] = f_o, from a row of kernel values; the same bits as an evaluation.  sums: n_outputs of
 * workspace. */
void kc_active_values(const kc_active *set, const void *k, double *sums, double *values);

/* The functions as they are, or their means: coefficients side by side (n_outputs x n). */
void kc_active_coef(const kc_active *set, bool is_mean, double *coef, double *intercepts);

/* ... and as an expansion that borrows the set; arrays lie in the call's arena. */
kc_status kc_active_expansion(kc_call *call, const kc_active *set, bool is_mean, kc_expansion *out);

#endif
