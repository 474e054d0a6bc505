/* The one optimisation problem of the SVM family, in signed form:
 *
 *     minimise    1/2 b'K b - t'b + sum_v phi(beta_v)        b_p = sum over layers l of beta_lp
 *     subject to  lo <= beta <= hi,   sum of beta in layer l = sum[l]
 *
 * with phi = 0 or epsilon |beta|.  K is the plain kernel matrix: labels are in t, lo and hi, not in
 * K, so that rows are shared between problems.  A layer has one variable at every position; a box
 * [0, 0] says that it has none there.  Variable v = l * n_points + p.  Layers whose sum is fixed
 * are called groups: all of them, or none, where the problem has boxes only.
 *
 *     C-SVC        1 group, t = y, box [0, C_p] or [-C_p, 0] by the sign of y, sum 0
 *     epsilon-SVR  1 group, t = targets, box [-C_p, C_p], epsilon, sum 0
 *     one-class    1 group, t = 0, box [0, w_p], sum nu * sum(w)
 *     nu-SVC       2 groups (one per class; [0, 0] at the other's), t = 0, box [0, w_p] and
 *                  [-w_p, 0], sums +- nu sum(w) / 2
 *     nu-SVR       2 groups, t = targets, boxes [0, C_p] and [-C_p, 0] at every position,
 *                  sums +- C nu n / 2
 *     boxes only   no group: mu is 0, and a variable violates by itself
 *
 * Bounds may be infinite (hard margin, hard tube).  grad_p = t_p - (K b)_p at all times.  A
 * variable below its upper bound can rise, at the up-value grad - phi'(beta+); one above its lower
 * bound can fall, at the low-value grad - phi'(beta-).  The violation of a group is max up-value -
 * min low-value, that of a layer without a sum the larger of max up-value and -(min low-value), and
 * the problem is solved when the largest violation is below tol: libsvm's rule, over all variables.
 * A scaled problem (nu-SVC) is solved when that is so after its solution is divided by the scale,
 * which libsvm's is not: solver/kc_scale.h.
 *
 * The certificate: with v = grad - mu_group,
 *
 *     gap = sum_v [ max over the box of (beta v - phi(beta)) - beta_v v + phi(beta_v) ] = P - D
 *
 * Infinite bounds allow no error, and a function that was found to tol makes small ones.  Of a hard
 * margin, the certificate is that of the function scaled until its margin is 1; of a hard tube,
 * that of the problem with the tube that the function keeps. */
#ifndef KC_DUAL_H
#define KC_DUAL_H

#include <math.h>

#include "base/kc_call.h"
#include "rows/kc_store.h"
#include "solver/kc_tuning.h"

typedef enum kc_method {
    KC_METHOD_AUTO = 0,        /* as the problem suggests: solver/kc_choose.h */
    KC_METHOD_PAIRS = 1,       /* pair steps over all points: solver/kc_smo.h */
    KC_METHOD_BLOCKS = 2,      /* pair steps inside working sets: solver/kc_block.h */
    KC_METHOD_GREEDY = 3,      /* steps on the worst few at a time: solver/kc_greedy.h */
    KC_METHOD_COORDINATES = 4, /* on one variable at a time: solver/kc_coordinate.h */
} kc_method;

/* All arrays are the caller's and are only read. */
typedef struct kc_dual {
    kc_cols cols;        /* the points, as columns of the store */
    size_t n_points;     /* kc_cols_count(&cols), >= 1 */
    int32_t n_layers;    /* 1 or 2 */
    bool is_box_only;    /* there are no groups */
    bool is_scaled;      /* nu-SVC: tol is that of the solution divided by kc_dual_scale */
    double sum[2];       /* of the groups */
    double epsilon;      /* >= 0 */
    const double *t;     /* n_points */
    const double *lo;    /* n_layers * n_points, lo <= hi */
    const double *hi;    /* n_layers * n_points */
    const double *start; /* n_layers * n_points, repaired to feasibility; NULL: zeros, repaired */
    double tol;          /* > 0 */
    int64_t max_iter;    /* pair steps; 0: max(10^7, 100 n_points) */
    uint64_t seed;       /* of the random working sets */
    kc_method method;
    const kc_tuning *tuning; /* NULL: kc_tuning_default */
    double offset;     /* added to the objective: what a part of a problem leaves out; mostly 0 */
    size_t n_whole;    /* points of the problem that this is a part of; 0: it is none */
    size_t n_outside;  /* support vectors of that problem which are not in the part */
    bool is_shrinking; /* pair steps leave shrunk points alone: solver/kc_shrink.h */
    const double *start_grad; /* the gradient at the start, which is feasible then; NULL: unknown */
} kc_dual;

/* The arrays beta and grad are the caller's (from the arena, say); the rest is filled. */
typedef struct kc_solution {
    double *beta;        /* n_layers * n_points; bounds are met exactly, sums to rounding */
    double *grad;        /* n_points: t - K b */
    double intercept[2]; /* mu of each layer: 0 without groups, else the mean value of its free
                            variables, or the middle of [max up-value, min low-value]; f(x) = sum_p
                            b_p K(x_p, x) + intercept where there is one layer */
    kc_stop stop;
    double violation;         /* largest over the layers; <= 0 possible where nothing violates */
    double primal, dual, gap; /* dual is to be maximised: -objective; primal = dual + gap */
    bool is_certified;        /* else the intercepts are the best known, the numbers above NaN */
    int64_t n_iter;           /* pair steps */
    int64_t n_sets;           /* working sets that were solved */
    int64_t n_rounds;         /* greedy rounds */
    int64_t n_row_visits;     /* rows that updated the gradient */
    char path[64];            /* the methods that ran: "blocks 3, greedy 412 rounds" */
} kc_solution;

/* b_p: the sum of the variables at a position. */
KC_INLINE double kc_dual_coefficient(const kc_dual *dual, const double *beta, size_t p)
{
    return dual->n_layers == 2 ? beta[p] + beta[dual->n_points + p] : beta[p];
}

/* What is added to the gradient for a variable that is to rise (fall): simd/kc_smo_ops.h. */
KC_INLINE double kc_rise(double epsilon, double beta, double hi)
{
    if (!(beta < hi))
        return -HUGE_VAL;
    return beta >= 0 ? -epsilon : epsilon;
}

KC_INLINE double kc_fall(double epsilon, double beta, double lo)
{
    if (!(beta > lo))
        return HUGE_VAL;
    return beta > 0 ? -epsilon : epsilon;
}

/* Inside its box and at no kink: its value must be mu at the solution. */
KC_INLINE bool kc_is_free(double epsilon, double beta, double lo, double hi)
{
    return beta > lo && beta < hi && (epsilon == 0 || beta != 0);
}

/* The stop that a status of a stopped call stands for; false for every other status. */
KC_INLINE bool kc_stop_of(kc_status status, kc_stop *stop)
{
    if (status == KC_ERR_TIME)
        *stop = KC_STOP_TIME;
    else if (status == KC_ERR_CANCELLED)
        *stop = KC_STOP_CALLER;
    else
        return false;
    return true;
}

/* Feasible from anything finite: clips to the boxes, then moves the missing sum, free variables
 * first and lowest positions first.  KC_ERR_ARG where no feasible point exists.  From zeros it
 * fills the first variables of a group, as libsvm's start of the nu forms does. */
kc_status kc_dual_repair(const kc_dual *dual, double *beta, kc_error *err);

/* Feasible, with every variable at the same share of its box: what the groups' sums say of the
 * samples before anything is known of the kernel. */
void kc_dual_start_evenly(const kc_dual *dual, double *beta);

/* Puts variables that rounding left beside a bound, or beside zero, on it, so that counts of
 * support vectors and free variables are what is meant (the gradient changes by a small part of
 * `tol`, given the largest K(x, x)); then restores the sums, from which the rounding of many steps
 * leads away. */
void kc_dual_settle(const kc_dual *dual, double tol, double largest_diag, double *beta);

/* The pair steps that the problem allows: its max_iter, or the default. */
int64_t kc_dual_max_iter(const kc_dual *dual);

/* Whether a part of the points, so many, is solved by pair steps, which take its whole matrix. */
bool kc_dual_suits_matrix(size_t n_points);

/* grad = t - K b, from nothing: as many rows as b has nonzeros. */
kc_status kc_dual_gradient(kc_call *call, kc_store *store, const kc_dual *dual, const double *beta,
                           double *grad);

/* The multipliers of the layers, as the certificate has them. */
void kc_dual_multipliers(const kc_dual *dual, const double *beta, const double *grad, double *mu);

/* |w|^2 = b'K b where t is 0, but for what a refinement adds to it; negative by rounding at most.
 */
double kc_dual_norm_squared(const kc_dual *dual, const double *beta, const double *grad);

/* What the solution is divided by: 1, or half the distance of the two multipliers, and at least
 * what it is at the solution of any problem with this |w|: |w|^2 / sum |b|. */
double kc_dual_scale(const kc_dual *dual, const double *beta, const double *grad, const double *mu);

/* The gap by these multipliers. */
double kc_dual_gap(const kc_dual *dual, const double *beta, const double *grad, const double *mu);

/* Half the width of the tube that a function with one layer keeps: epsilon, or its largest error
 * where that is more. */
double kc_dual_width(const kc_dual *dual, const kc_solution *solution);

/* The objective that is minimised, from beta and its gradient. */
double kc_dual_objective(const kc_dual *dual, const double *beta, const double *grad);

/* Solves; KC_OK also where it did not converge (see stop).  Errors are of memory and of kernel
 * values that are not finite, of a problem that has no feasible point, and KC_ERR_CANCELLED.
 *
 * Where it did not converge, or settling moved coefficients by more than their rounding, the
 * certificate is that of a gradient computed anew.  A time limit leaves time for that; where it
 * does not suffice, there is no certificate.  Where time is over
 * before the first step, or there is no store since it was over before that, the solution is the
 * start: the caller's; else zeros, or sums spread evenly with intercepts of 0.
 *
 * Equal bits for every number of threads and every cache size, but for time limits. */
kc_status kc_dual_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out);

/* Whether a certified solution keeps tol, after the division by its scale. */
bool kc_dual_is_solved(const kc_dual *dual, const kc_solution *solution);

/* From beta and grad: intercepts, violation, primal, dual and gap.  Where a box is infinite, the
 * primal point is the solution scaled until every margin holds; without such a scale the gap is
 * infinite. */
void kc_dual_certify(const kc_dual *dual, kc_solution *solution);

/* From beta, grad and intercepts of the caller's choice: primal, dual and gap. */
void kc_dual_certify_at(const kc_dual *dual, kc_solution *solution);

#endif
