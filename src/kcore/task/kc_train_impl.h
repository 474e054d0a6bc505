/* What the files of a fit share: everything it holds from samples to model. */
#ifndef KC_TRAIN_IMPL_H
#define KC_TRAIN_IMPL_H

#include <stdatomic.h>

#include "task/kc_matrix.h"
#include "task/kc_samples.h"
#include "task/kc_task.h"
#include "task/kc_user_kernel.h"

typedef struct kc_training {
    const kc_svm_settings *settings;
    const kc_kernel *kernel; /* NULL: a matrix is given, or a function */
    const kc_svm_data *data;
    kc_samples samples;
    kc_packed points;           /* by place; empty without a kernel */
    kc_matrix matrix;           /* where it is given */
    kc_user_kernel user_kernel; /* where there is a kernel function */
    kc_store *store;            /* NULL: time was over before there was one */
    kc_store_counters counted;  /* by stores that are no more */
    bool is_f32_tried;          /* kernel values are f32 as long as that does */
    atomic_bool is_f64_needed;  /* it did not */
    atomic_bool is_refined;     /* it did, with f64 for some: so decision values are f64 */
    const double *start;
    double max_diag;
    size_t n_problems, n_coef_rows;
    double *coef; /* n_coef_rows * n */
    double *intercepts;
    kc_train_info *info;
} kc_training;

KC_INLINE bool kc_training_has_user_kernel(const kc_training *t)
{
    return t->data->kernel_fn != NULL;
}

/* Of the kernel values that were computed first. */
KC_INLINE kc_dtype kc_training_dtype(const kc_training *t)
{
    return t->store != NULL ? kc_store_dtype(t->store) : t->points.dtype;
}

/* Checks and packs the samples, or the matrix, and opens the store: kc_train_open.c.  Where the
 * time is over there is no store, and no samples unless a start has coefficients for them. */
kc_status kc_training_open(kc_call *call, kc_training *t);

/* The same once more, in f64. */
kc_status kc_training_reopen(kc_call *call, kc_training *t);

/* Samples of the largest problem, at the most. */
size_t kc_training_largest(const kc_training *t);

/* A store of all samples with 1 / n_shares of the cache. */
kc_status kc_training_create_store(kc_call *call, kc_training *t, size_t n_shares, kc_store **out);

/* Solves all problems, in the cheapest precision that their solutions allow: kc_train_solve.c. */
kc_status kc_training_solve(kc_call *call, kc_training *t);

#endif
