/* kc_svm_fit: check, train, hand over what came of it. */
#include <string.h>

#include "api/kc_settings.h"
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "task/kc_form.h"
#include "task/kc_task.h"

int64_t kc_svm_problem_count(const kc_svm_settings *settings, int32_t n_classes)
{
    const kc_form *form = kc_form_of(settings->type);
    const bool has_classes = form != NULL && form->has_classes;

    return (int64_t)kc_problem_count(settings->multiclass, has_classes ? n_classes : 0);
}

static kc_status check_function(const kc_kernel *kernel, const kc_svm_data *data, kc_error *err)
{
    if (kernel != NULL || data->x != NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "data.kernel_fn and %s are both given: set one of them to NULL, since the "
                       "function computes the kernel values of the samples by their numbers alone",
                       kernel != NULL ? "kernel" : "data.x");
    if (data->n_samples < 1 || data->n_samples > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "data.n_samples is %lld, must be 1 to %d",
                       (long long)data->n_samples, (int)INT32_MAX);
    return KC_OK;
}

static kc_status read_data(const kc_kernel *kernel, const kc_svm_data *from, kc_svm_data *out,
                           kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "data is NULL");
    KC_TRY(kc_struct_read(out, sizeof *out, from, "data", err));
    KC_TRY(kc_function_check_labels(out->labels, out->n_classes, err));
    if (out->kernel_fn != NULL)
        return check_function(kernel, out, err);
    if (out->x == NULL)
        return kc_fail(err, KC_ERR_ARG, "data.x is NULL");
    KC_TRY(kc_points_check_form(out->x, err));
    out->n_samples = out->x->n_rows;
    return KC_OK;
}

/* Certificates are written at the end, as far as the caller's struct goes. */
static kc_status check_info(const kc_fit_info *info, const kc_fit_info *problems, kc_error *err)
{
    if (info == NULL && problems != NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "info is NULL and problems is not: give info, whose struct_size is that of "
                       "each problem");
    return info != NULL ? kc_struct_check(info, sizeof *info, "info", err) : KC_OK;
}

kc_status kc_svm_fit(kc_context *ctx, const kc_run *run, const kc_svm_settings *settings,
                     const kc_kernel *kernel, const kc_svm_data *data, kc_model **out,
                     kc_fit_info *info, kc_fit_info *problems, kc_error *err)
{
    kc_svm_settings checked;
    kc_svm_data input;
    kc_train_info train_info = {.each = problems};
    kc_model *model = NULL;
    kc_call call;
    kc_status status;

    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(kc_settings_read(settings, &checked, err));
    KC_TRY(read_data(kernel, data, &input, err));
    KC_TRY(check_info(info, problems, err));
    train_info.each_bytes = info != NULL ? info->struct_size : 0;
    KC_TRY(kc_call_begin(&call, ctx, run, "fit", err));
    status = kc_train(&call, &checked, kernel, &input, &model, &train_info);
    if (status == KC_OK) {
        *out = model;
        if (info != NULL)
            kc_struct_write(info, &train_info.total, sizeof *info);
    }
    return kc_call_end(&call, status);
}
