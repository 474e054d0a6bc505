/* From samples to a model: the one door of this layer.
 *
 *   samples      which samples count, sorted by class                      kc_samples.c
 *   precision    f32 or f64 kernel values                                  kc_precision.c
 *   store        their kernel rows, shared by all problems                 kc_train_open.c
 *   problems     pairs of classes, classes against the rest, or one        kc_problems.c
 *   parallel     several of them at once                                   kc_parallel.c
 *   form         each as a dual problem, and its solution as a function    kc_form.h
 *   model        the samples that carry a coefficient                      kc_train.c
 */
#ifndef KC_TASK_H
#define KC_TASK_H

#include "base/kc_call.h"
#include "function/kc_model.h"

/* Where the certificates of single problems go: `each` is an array of structs of `each_bytes`
 * bytes, or NULL. */
typedef struct kc_train_info {
    kc_fit_info total;
    void *each;
    size_t each_bytes;
} kc_train_info;

/* `settings` and the structs of `data` are checked (api/kc_fit.c), the arrays are not. */
kc_status kc_train(kc_call *call, const kc_svm_settings *settings, const kc_kernel *kernel,
                   const kc_svm_data *data, kc_model **out, kc_train_info *info);

#endif
