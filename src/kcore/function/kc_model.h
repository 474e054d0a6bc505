/* A fitted SVM: a function, and what only an SVM has (kc_model_info, kcore.h).
 *
 * Immutable once made; holds no pointer into the data it was fitted to. */
#ifndef KC_MODEL_H
#define KC_MODEL_H

#include "base/kc_call.h"
#include "function/kc_function.h"

struct kc_model {
    int32_t type, multiclass;
    int32_t n_classes; /* 0 where there are none */
    kc_function function;
    int32_t *support;      /* a sample of the fit for each point */
    int32_t *class_counts; /* max(1, n_classes) */
};

/* Everything borrowed but `points`, which is moved; checked by the caller. */
typedef struct kc_model_spec {
    int32_t type, multiclass, n_classes;
    bool is_detector;        /* its decision values say outside or inside */
    const kc_kernel *kernel; /* NULL: fitted to a kernel matrix */
    kc_dtype dtype;
    kc_packed *points; /* NULL without a kernel */
    size_t n_support, n_cols;
    const int32_t *support, *class_counts;
    const double *coef;       /* kc_coef_rows() x n_support */
    const double *intercepts; /* kc_problem_count() */
    const kc_labels *labels;  /* of the classes; NULL: none */
} kc_model_spec;

kc_status kc_model_make(kc_call *call, const kc_model_spec *spec, kc_model **out);

/* One problem for two classes or none; one-vs-one is then no different from one-vs-rest. */
KC_INLINE bool kc_is_pairwise(int32_t multiclass, int32_t n_classes)
{
    return n_classes > 2 && multiclass == KC_ONE_VS_ONE;
}

KC_INLINE size_t kc_problem_count(int32_t multiclass, int32_t n_classes)
{
    const size_t k = n_classes > 2 ? (size_t)n_classes : 1;

    return kc_is_pairwise(multiclass, n_classes) ? k * (k - 1) / 2 : k;
}

KC_INLINE size_t kc_coef_rows(int32_t multiclass, int32_t n_classes)
{
    return kc_is_pairwise(multiclass, n_classes) ? (size_t)n_classes - 1
                                                 : kc_problem_count(multiclass, n_classes);
}

#endif
