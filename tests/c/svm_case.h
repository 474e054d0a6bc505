/* Small SVM problems for tests: data by a seed, fits through the public interface, and an audit of
 * the optimality conditions from their definition, in double, with reference kernel values. */
#ifndef SVM_CASE_H
#define SVM_CASE_H

#include "kcore/kcore.h"
#include "ref_expr.h"

/* Tests of every type go from KC_C_SVC to this one. */
#define SVM_LAST_TYPE KC_ONE_CLASS

typedef struct svm_case {
    size_t n, d;
    int32_t n_classes;
    double *x;        /* n * d */
    int32_t *classes; /* n, each class at least once */
    double *targets;  /* n */
    double *weights;  /* n: all 1 */
    kc_points points; /* a view of x */
} svm_case;

/* Samples around centres of their classes, so that classes overlap a little; targets are a smooth
 * function with noise. */
svm_case svm_case_make(uint64_t seed, size_t n, size_t d, int32_t n_classes);
void svm_case_free(svm_case *c);

/* A view of n x d doubles. */
kc_points svm_view(const double *values, size_t n, size_t d);

/* All of it, for settings->type. */
kc_svm_data svm_data(const svm_case *c);

kc_svm_settings svm_settings(kc_svm_type type);

/* What a fit gave; failures leave model NULL. */
typedef struct svm_fit {
    kc_status status;
    kc_error err;
    kc_model *model;
    kc_model_info info;
    kc_function_info function;
    kc_fit_info total;
    kc_fit_info *problems;
    int32_t *support, *counts;
    double *coef, *intercepts;
} svm_fit;

svm_fit svm_fit_make(kc_context *ctx, const kc_run *run, const kc_svm_settings *settings,
                     const kc_kernel *kernel, const kc_svm_data *data);
void svm_fit_free(kc_context *ctx, svm_fit *fit);

/* Whether two fits agree to the bit in all that defines the model. */
int svm_fit_equal(const svm_fit *a, const svm_fit *b);

/* How far a fit with one problem is from its optimality conditions: by decision values recomputed
 * from the coefficients. */
typedef struct svm_audit {
    double out_of_box;  /* largest excess over the bounds */
    double off_sum;     /* of the sum constraints */
    double violation;   /* largest, of the conditions on y - f, y f or f */
    double off_value;   /* largest |decision value - recomputed|, relative to sum |coef| + 1 */
    double coef_weight; /* sum |coef| */
} svm_audit;
svm_audit svm_fit_audit(kc_context *ctx, const svm_fit *fit, const svm_case *c,
                        const kc_svm_settings *settings, const ref_node *node);

#endif
