/* The five formulations: each says what dual problem a set of samples asks for, and what function
 * its solution is.
 *
 *     build   samples, settings  ->  t, boxes, groups, start of a kc_dual
 *     read    kc_solution        ->  coefficients, intercept, certificate */
#ifndef KC_FORM_H
#define KC_FORM_H

#include "base/kc_call.h"
#include "solver/kc_dual.h"

/* The samples of one problem, by position. */
typedef struct kc_form_input {
    const kc_svm_settings *settings;
    kc_store *store;
    kc_cols cols; /* of the store */
    size_t n;
    const double *y; /* +-1, or targets; one-class: NULL */
    const double *weights;
    const double *own_weights; /* without those of the classes */
    const double *start;       /* coefficients, or NULL */
    double max_diag;           /* largest K(x, x) of the store */
    const char *name;          /* how messages begin: "classes 0 and 3: ", or "" */
} kc_form_input;

/* f(x) = sum of coef_p K(x_p, x) + intercept. */
typedef struct kc_form_output {
    double *coef; /* n, the caller's */
    double intercept;
    double scale;      /* of the coefficients, beside those of the solution */
    kc_fit_info *info; /* certificate and counts; what costs is filled by others */
    bool is_tentative; /* given: no problem is refused by f32 values, which f64 may follow */
    bool is_refused;   /* it would have been */
} kc_form_output;

/* All that other files need to know of a type of machine. */
typedef struct kc_form {
    bool has_classes;   /* of each sample there is a class, */
    bool has_targets;   /* or a target; else neither */
    bool is_detector;   /* decision values say whether a sample is outside or inside */
    bool has_C;         /* boxes are C times the weights, else the weights */
    bool may_be_hard;   /* C may be infinite */
    bool is_never_zero; /* sums are not 0: a start has coefficients */

    /* Arrays of the dual are taken from the call's arena. */
    kc_status (*build)(kc_call *call, const kc_form_input *in, kc_dual *dual);
    /* Errors are of problems that have no model: see KC_ERR_NOT_SEPARABLE and those after it. */
    kc_status (*read)(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                      const kc_solution *solution, kc_form_output *out);
} kc_form;

extern const kc_form kc_form_csvc, kc_form_nusvc, kc_form_eps_svr, kc_form_nu_svr,
    kc_form_one_class;

/* By kc_svm_type; NULL where there is no such type. */
const kc_form *kc_form_of(int32_t type);

/* ---- Shared by the formulations ----------------------------------------------------------- */

/* Room for t, lo, hi and, where the input has one, a start of n_layers * n. */
typedef struct kc_form_arrays {
    double *t, *lo, *hi, *start;
} kc_form_arrays;
kc_status kc_form_take(kc_call *call, const kc_form_input *in, int32_t n_layers,
                       kc_form_arrays *out, kc_dual *dual);

/* Coefficients = sums over the groups, times `scale`; certificate and counts are those of the
 * function that has them. */
void kc_form_finish(const kc_form_input *in, const kc_dual *dual, const kc_solution *solution,
                    double scale, kc_form_output *out);

/* Whether two hulls meet: the distance of their nearest points, 2 |w| / sum |b|, is nothing beside
 * the size of the samples in feature space. */
bool kc_form_hulls_meet(const kc_form_input *in, const kc_dual *dual, const kc_solution *solution);

#endif
