/* What a model holds, out and in again. */
#include <math.h>
#include <string.h>

#include "base/kc_context.h"
#include "data/kc_points.h"
#include "function/kc_model.h"

/* ---- Out ---------------------------------------------------------------------------------- */

kc_status kc_model_describe(const kc_model *model, kc_model_info *out, kc_error *err)
{
    kc_function_info f = {.struct_size = sizeof f};

    KC_TRY(kc_function_describe(&model->function, &f, err));
    const kc_model_info info = {
        .type = model->type,
        .multiclass = model->multiclass,
        .n_classes = model->n_classes,
        .dtype = f.dtype,
        .is_given = f.is_given,
        .is_linear = f.is_linear,
        .n_problems = f.n_outputs,
        .n_coef_rows = (int64_t)model->function.f.n_rows,
        .n_support = f.n_points,
        .n_cols = f.n_cols,
    };
    KC_TRY(kc_struct_check(out, sizeof *out, "info", err));
    kc_struct_write(out, &info, sizeof info);
    return KC_OK;
}

const kc_function *kc_model_function(const kc_model *model)
{
    return &model->function;
}

static kc_status copy_out(void *to, int64_t n, const void *from, size_t wanted, size_t size,
                          const char *name, kc_error *err)
{
    KC_TRY(kc_check_length(to, n, wanted, name, err));
    if (wanted > 0)
        memcpy(to, from, wanted * size);
    return KC_OK;
}

kc_status kc_model_support(const kc_model *model, int32_t *out, int64_t n, kc_error *err)
{
    return copy_out(out, n, model->support, model->function.f.n, sizeof *out, "support indices",
                    err);
}

kc_status kc_model_class_counts(const kc_model *model, int32_t *out, int64_t n, kc_error *err)
{
    return copy_out(out, n, model->class_counts,
                    model->n_classes > 0 ? (size_t)model->n_classes : 1, sizeof *out,
                    "class counts", err);
}

kc_status kc_model_coef(const kc_model *model, double *out, int64_t n, kc_error *err)
{
    const kc_expansion *f = &model->function.f;

    return copy_out(out, n, f->coef, f->n_rows * f->n, sizeof *out, "coefficients", err);
}

/* ---- In ----------------------------------------------------------------------------------- */

/* A caller's parts, read; info and parts may be of another version's size. */
typedef struct parts {
    kc_model_parts p;
    kc_model_info info;
    size_t n_counts;
} parts;

static kc_status check_kind(const kc_model_info *info, kc_error *err)
{
    const bool has_classes = info->type == KC_C_SVC || info->type == KC_NU_SVC;

    if (info->type < KC_C_SVC || info->type > KC_ONE_CLASS)
        return kc_fail(err, KC_ERR_ARG, "info.type is %d, must be a kc_svm_type", (int)info->type);
    if (has_classes ? info->n_classes < 2 : info->n_classes != 0)
        return kc_fail(err, KC_ERR_ARG, "info.n_classes is %d, must be %s", (int)info->n_classes,
                       has_classes ? "at least 2" : "0: this type has none");
    if (info->multiclass != KC_ONE_VS_ONE && info->multiclass != KC_ONE_VS_REST)
        return kc_fail(err, KC_ERR_ARG, "info.multiclass is %d, must be a kc_multiclass",
                       (int)info->multiclass);
    if (info->dtype != KC_F32 && info->dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "info.dtype is %d, must be KC_F32 or KC_F64",
                       (int)info->dtype);
    return KC_OK;
}

static kc_status check_sizes(const kc_model_info *info, kc_error *err)
{
    const struct {
        const char *name;
        int64_t given, wanted;
    } sizes[] = {
        {"n_problems", info->n_problems,
         (int64_t)kc_problem_count(info->multiclass, info->n_classes)},
        {"n_coef_rows", info->n_coef_rows,
         (int64_t)kc_coef_rows(info->multiclass, info->n_classes)},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].given != sizes[i].wanted)
            return kc_fail(err, KC_ERR_SHAPE, "info.%s is %lld, must be %lld for %d classes",
                           sizes[i].name, (long long)sizes[i].given, (long long)sizes[i].wanted,
                           (int)info->n_classes);
    if (info->n_support < 0 || info->n_support > INT32_MAX || info->n_cols < 1 ||
        info->n_cols > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "info.n_support is %lld and info.n_cols %lld",
                       (long long)info->n_support, (long long)info->n_cols);
    return KC_OK;
}

static kc_status check_points(const parts *in, kc_error *err)
{
    const kc_points *x = in->p.x;

    if (in->info.is_given)
        return in->p.kernel == NULL && x == NULL
                   ? KC_OK
                   : kc_fail(err, KC_ERR_ARG, "a kernel or points beside info.is_given");
    if (in->p.kernel == NULL)
        return kc_fail(err, KC_ERR_ARG, "parts.kernel is NULL");
    if (x == NULL && in->info.n_support > 0)
        return kc_fail(err, KC_ERR_ARG, "parts.x is NULL");
    return kc_function_check_points(in->p.kernel, x, in->info.n_support, in->info.n_cols, err);
}

static kc_status check_counts(const parts *in, kc_error *err)
{
    const int64_t n_support = in->info.n_support;
    int64_t total = 0;

    if (in->p.class_counts == NULL || in->p.intercepts == NULL ||
        (n_support > 0 && (in->p.support == NULL || in->p.coef == NULL)))
        return kc_fail(err, KC_ERR_ARG, "parts: an array is NULL");
    for (size_t c = 0; c < in->n_counts; c++) {
        if (in->p.class_counts[c] < 0)
            return kc_fail(err, KC_ERR_ARG, "class_counts[%zu] is %d", c,
                           (int)in->p.class_counts[c]);
        total += in->p.class_counts[c];
    }
    if (total != n_support)
        return kc_fail(err, KC_ERR_SHAPE,
                       "class_counts add up to %lld, there are %lld support "
                       "vectors",
                       (long long)total, (long long)n_support);
    for (int64_t i = 0; i < n_support; i++)
        if (in->p.support[i] < 0 || (in->info.is_given && in->p.support[i] >= in->info.n_cols))
            return kc_fail(err, KC_ERR_INDEX, "support[%lld] is %d", (long long)i,
                           (int)in->p.support[i]);
    return KC_OK;
}

static kc_status check_finite(const double *values, size_t n, const char *name, kc_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return kc_fail(err, KC_ERR_NONFINITE, "%s has %g at position %zu", name, values[i], i);
    return KC_OK;
}

static kc_status read_parts(const kc_model_parts *from, parts *in, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "parts is NULL");
    KC_TRY(kc_struct_read(&in->p, sizeof in->p, from, "parts", err));
    if (in->p.info == NULL)
        return kc_fail(err, KC_ERR_ARG, "parts.info is NULL");
    KC_TRY(kc_struct_read(&in->info, sizeof in->info, in->p.info, "info", err));
    in->n_counts = in->info.n_classes > 0 ? (size_t)in->info.n_classes : 1;
    KC_TRY(check_kind(&in->info, err));
    KC_TRY(kc_function_check_labels(in->p.labels, in->info.n_classes, err));
    KC_TRY(check_sizes(&in->info, err));
    KC_TRY(check_points(in, err));
    KC_TRY(check_counts(in, err));
    KC_TRY(check_finite(in->p.coef, (size_t)in->info.n_coef_rows * (size_t)in->info.n_support,
                        "coef", err));
    return check_finite(in->p.intercepts, (size_t)in->info.n_problems, "intercepts", err);
}

static kc_status make_model(kc_call *call, const parts *in, kc_model **out)
{
    kc_packed points = {.dtype = in->info.dtype, .d = (size_t)in->info.n_cols};
    kc_model_spec spec = {
        .type = in->info.type,
        .multiclass = in->info.multiclass,
        .n_classes = in->info.n_classes,
        .kernel = in->p.kernel,
        .dtype = in->info.dtype,
        .points = &points,
        .n_support = (size_t)in->info.n_support,
        .n_cols = (size_t)in->info.n_cols,
        .support = in->p.support,
        .class_counts = in->p.class_counts,
        .coef = in->p.coef,
        .intercepts = in->p.intercepts,
        .labels = in->p.labels,
    };
    kc_status status;

    if (in->p.x != NULL)
        KC_TRY(kc_function_pack(call, in->p.kernel, in->p.x, (size_t)in->info.n_support,
                                in->info.dtype, &points));
    status = kc_model_make(call, &spec, out);
    kc_packed_free(call->ctx, &points); /* empty where the model has them */
    return status;
}

kc_status kc_model_create(kc_context *ctx, const kc_model_parts *from, kc_model **out,
                          kc_error *err)
{
    parts in;
    kc_call call;

    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(read_parts(from, &in, err));
    KC_TRY(kc_call_begin(&call, ctx, NULL, "model", err));
    return kc_call_end(&call, make_model(&call, &in, out));
}
