/* Pair steps: the engine of all methods (over all points in solver/kc_smo.c, inside a working set
 * in solver/kc_block_inner.c, among the worst few in solver/kc_microset.c).
 *
 * Holds a feasible point of the problem of solver/kc_dual.h with its gradient, and improves it two
 * variables of a group at a time: the first is the most violating one that can rise, the second
 * gains most by the second-order rule (Fan, Chen and Lin 2005, WSS 2).  Every step lowers the
 * objective and keeps boxes and sums.
 * Takes no memory; asks the caller between steps. */
#ifndef KC_PAIRS_H
#define KC_PAIRS_H

#include <math.h>

#include "base/kc_call.h"
#include "simd/kc_smo_ops.h"
#include "solver/kc_dual.h"
#include "solver/kc_tuning.h"

/* The rows of n_rows positions, valid until the next call; n_rows is 1 or 2. */
typedef kc_status kc_fetch_fn(void *data, const size_t *positions, size_t n_rows, const void **out);

/* Arrays marked + have room for padding (simd/kc_smo_ops.h), which kc_pairs_start fills. */
typedef struct kc_pairs {
    const kc_tuning *tuning;
    size_t n; /* positions */
    int32_t n_layers;
    double epsilon;
    double over;        /* what steps to the minimum are multiplied by; 0: by what rows share */
    double exact_below; /* violations below this are answered by exact steps */
    kc_dtype lanes;     /* of grad, up and low; KC_F32 only where kc_pairs_suit_floats */
    void *grad;         /* + */
    double *beta[2];
    const double *lo[2], *hi[2];
    void *up[2], *low[2]; /* + */
    kc_dtype dtype;       /* of rows and diag */
    void *diag;           /* + */
    double scale;         /* callers are told violations divided by it; 0: as they are */
    bool is_rounded;      /* rows are: callers are not told an objective that is by them */
    const void *gram;     /* row p at gram + p * ld entries; NULL: rows are fetched */
    size_t ld;
    kc_fetch_fn *fetch;
    void *fetch_data;
    void (*reserve)(void *data); /* sets time aside for the end: called before polls, where there is
                                    a time limit; NULL: nothing need be */
    void *reserve_data;

    /* Kept by the engine. */
    const kc_smo_step_ops *ops;
    size_t begin[2], end[2]; /* positions at which the group has variables, widened to KC_SMO_PAD */
    kc_peak peak[2];
    int64_t n_steps;   /* start it where the count of all runs stands */
    int64_t next_poll; /* the step after which the caller is asked again */
    double objective;  /* start it at its value; every step lowers it */
} kc_pairs;

/* Whether steps down to a violation of tol may be taken with a gradient of floats: it is then to be
 * computed anew from what they find.  Of n entries in `grad`, rows of type `dtype`. */
bool kc_pairs_suit_floats(const kc_pairs_tuning *tuning, kc_dtype dtype, const double *grad,
                          size_t n, double tol);

/* Takes the gradient from `grad`, fills padding, up and low from beta, and finds where the groups
 * are. */
void kc_pairs_start(kc_pairs *pairs, const double *grad);

/* The largest violation, and the group it is in, at the start or after a run. */
double kc_pairs_violation(const kc_pairs *pairs, int32_t *group);

/* What the values of group g agree on at the solution: the mean of its free variables, whose number
 * is *n_free, or the middle of its violation where there are none. */
double kc_pairs_mu(const kc_pairs *pairs, int32_t g, size_t *n_free);

/* Steps until the violation is below tol (CONVERGED), max_steps are done (MAX_ITER), no step moves
 * anything (STALLED), or the caller says stop (TIME, CALLER).  Fails only where fetch fails. */
kc_status kc_pairs_run(kc_call *call, kc_pairs *pairs, double tol, int64_t max_steps,
                       kc_stop *stop);

/* b_p: the sum of the variables at a position. */
KC_INLINE double kc_pairs_coefficient(const kc_pairs *pairs, size_t p)
{
    return pairs->n_layers == 2 ? pairs->beta[0][p] + pairs->beta[1][p] : pairs->beta[0][p];
}

#endif
