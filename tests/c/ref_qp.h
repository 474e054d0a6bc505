/* The dual problem of solver/kc_dual.h, stated and solved in the slow, obvious way, in double, from
 * the whole matrix; and random problems of the five forms.
 *
 * Everything is computed from the definition each time it is asked: nothing is updated, nothing is
 * shared with the solvers. */
#ifndef REF_QP_H
#define REF_QP_H

#include "base/kc_rng.h"
#include "solver/kc_dual.h"

typedef enum ref_form { REF_CSVC, REF_SVR, REF_ONECLASS, REF_NUSVC, REF_NUSVR } ref_form;
#define REF_FORMS 5

typedef enum ref_matrix {
    REF_RBF,        /* mostly well conditioned */
    REF_LINEAR,     /* of low rank */
    REF_DUPLICATES, /* every point twice or more: zero curvature */
    REF_INDEFINITE, /* symmetric, with negative eigenvalues */
} ref_matrix;
#define REF_MATRICES 4

typedef struct ref_problem {
    ref_form form;
    size_t n;
    int32_t n_layers;
    double epsilon;
    double sum[2];
    double *k;  /* n * n */
    float *k32; /* the same, rounded; k holds the rounded values too where is_f32 */
    double *t, *lo, *hi, *start;
} ref_problem;

/* Random, feasible, with unequal boxes; is_f32: the matrix is exact in float. */
ref_problem ref_random_problem(kc_rng *rng, ref_form form, ref_matrix matrix, size_t n, double c,
                               bool is_f32);
void ref_free(ref_problem *problem);

/* The same as the solver takes it; start is left NULL. */
kc_dual ref_dual(const ref_problem *problem, double tol);

/* To a violation below tol, by exact steps of the most violating pair. */
void ref_solve(const ref_problem *problem, double tol, double *beta);

double ref_objective(const ref_problem *problem, const double *beta);

/* What is wrong with a solution, from the definition. */
typedef struct ref_audit {
    double out_of_box;  /* largest */
    double off_sum;     /* largest, relative to the sum of |beta| */
    double off_grad;    /* largest difference to t - K b */
    double violation;   /* of the true gradient */
    double primal;      /* of the machine's own loss, with the solution's intercepts */
    double dual;        /* minus the objective */
    double beta_weight; /* sum of |beta| */
    double scale;       /* sum of the sizes of all terms of the objective */
} ref_audit;
ref_audit ref_check(const ref_problem *problem, const kc_solution *solution);

#endif
