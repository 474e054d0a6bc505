/* What a model holds, out and in again. */
#include <math.h>
#include <string.h>

#include "base/kc_context.h"
#include "data/kc_points.h"
#include "function/kc_model.h"
#include "task/kc_form.h"

/* ---- Out ---------------------------------------------------------------------------------- */

kc_status kc_model_describe(const kc_model *model, kc_model_info *out, kc_error *err)
{
    if (model == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", model == NULL ? "the model" : "out");
    const kc_model_info info = {
        .type = model->type,
        .multiclass = model->multiclass,
        .n_classes = model->n_classes,
        .n_coef_rows = (int64_t)model->function.f.n_rows,
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

static size_t count_classes(const kc_model_parts *p)
{
    return p->n_classes > 0 ? (size_t)p->n_classes : 1;
}

static kc_status check_kind(const kc_model_parts *p, kc_error *err)
{
    const kc_form *form = kc_form_of(p->type);
    const bool has_classes = form != NULL && form->has_classes;

    if (form == NULL)
        return kc_fail(err, KC_ERR_ARG, "parts.type is %d, must be a kc_svm_type", (int)p->type);
    if (has_classes ? p->n_classes < 2 : p->n_classes != 0)
        return kc_fail(err, KC_ERR_ARG, "parts.n_classes is %d, must be %s", (int)p->n_classes,
                       has_classes ? "at least 2" : "0: this type has none");
    if (p->multiclass != KC_ONE_VS_ONE && p->multiclass != KC_ONE_VS_REST)
        return kc_fail(err, KC_ERR_ARG, "parts.multiclass is %d, must be a kc_multiclass",
                       (int)p->multiclass);
    if (p->dtype != KC_F32 && p->dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "parts.dtype is %d, must be KC_F32 or KC_F64",
                       (int)p->dtype);
    return KC_OK;
}

static kc_status check_sizes(const kc_model_parts *p, kc_error *err)
{
    const struct {
        const char *name;
        int64_t given, wanted;
    } sizes[] = {
        {"n_problems", p->n_problems, (int64_t)kc_problem_count(p->multiclass, p->n_classes)},
        {"n_coef_rows", p->n_coef_rows, (int64_t)kc_coef_rows(p->multiclass, p->n_classes)},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].given != sizes[i].wanted)
            return kc_fail(err, KC_ERR_SHAPE, "parts.%s is %lld, must be %lld for %d classes",
                           sizes[i].name, (long long)sizes[i].given, (long long)sizes[i].wanted,
                           (int)p->n_classes);
    if (p->n_support < 0 || p->n_support > INT32_MAX || p->n_cols < 1 || p->n_cols > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE,
                       "parts.n_support is %lld and parts.n_cols %lld, must be 0 and 1 at least",
                       (long long)p->n_support, (long long)p->n_cols);
    return KC_OK;
}

static kc_status check_points(const kc_model_parts *p, kc_error *err)
{
    if (p->kernel == NULL)
        return p->x == NULL ? KC_OK
                            : kc_fail(err, KC_ERR_ARG,
                                      "parts.x is given without parts.kernel, which its support "
                                      "vectors need: give both, or neither for kernel values");
    if (p->x == NULL && p->n_support > 0)
        return kc_fail(err, KC_ERR_ARG, "parts.x is NULL");
    return kc_function_check_points(p->kernel, p->x, p->n_support, p->n_cols, err);
}

static kc_status check_arrays(const kc_model_parts *p, kc_error *err)
{
    const struct {
        const char *name;
        bool is_missing;
    } arrays[] = {
        {"class_counts", p->class_counts == NULL},
        {"intercepts", p->intercepts == NULL},
        {"support", p->support == NULL && p->n_support > 0},
        {"coef", p->coef == NULL && p->n_support > 0},
    };

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (arrays[i].is_missing)
            return kc_fail(err, KC_ERR_ARG, "parts.%s is NULL", arrays[i].name);
    return KC_OK;
}

static kc_status check_counts(const kc_model_parts *p, kc_error *err)
{
    const bool is_given = p->kernel == NULL;
    int64_t total = 0;

    for (size_t c = 0; c < count_classes(p); c++) {
        if (p->class_counts[c] < 0)
            return kc_fail(err, KC_ERR_ARG, "parts.class_counts[%zu] is %d", c,
                           (int)p->class_counts[c]);
        total += p->class_counts[c];
    }
    if (total != p->n_support)
        return kc_fail(err, KC_ERR_SHAPE,
                       "parts.class_counts add up to %lld, there are %lld support vectors",
                       (long long)total, (long long)p->n_support);
    for (int64_t i = 0; i < p->n_support; i++)
        if (p->support[i] < 0 || (is_given && p->support[i] >= p->n_cols))
            return kc_fail(err, KC_ERR_INDEX, "parts.support[%lld] is %d", (long long)i,
                           (int)p->support[i]);
    return KC_OK;
}

static kc_status check_finite(const double *values, size_t n, const char *name, kc_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return kc_fail(err, KC_ERR_NONFINITE, "parts.%s has %g at position %zu", name,
                           values[i], i);
    return KC_OK;
}

static kc_status read_parts(const kc_model_parts *from, kc_model_parts *p, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "parts is NULL");
    KC_TRY(kc_struct_read(p, sizeof *p, from, "parts", err));
    KC_TRY(check_kind(p, err));
    KC_TRY(check_sizes(p, err));
    KC_TRY(kc_function_check_labels(p->labels, p->n_classes, err));
    KC_TRY(check_points(p, err));
    KC_TRY(check_arrays(p, err));
    KC_TRY(check_counts(p, err));
    KC_TRY(check_finite(p->coef, (size_t)p->n_coef_rows * (size_t)p->n_support, "coef", err));
    return check_finite(p->intercepts, (size_t)p->n_problems, "intercepts", err);
}

static kc_status make_model(kc_call *call, const kc_model_parts *p, kc_model **out)
{
    kc_packed points = {.dtype = p->dtype, .d = (size_t)p->n_cols};
    kc_model_spec spec = {
        .type = p->type,
        .multiclass = p->multiclass,
        .n_classes = p->n_classes,
        .is_detector = kc_form_of(p->type)->is_detector,
        .kernel = p->kernel,
        .dtype = p->dtype,
        .points = &points,
        .n_support = (size_t)p->n_support,
        .n_cols = (size_t)p->n_cols,
        .support = p->support,
        .class_counts = p->class_counts,
        .coef = p->coef,
        .intercepts = p->intercepts,
        .labels = p->labels,
    };
    kc_status status;

    if (p->x != NULL)
        KC_TRY(kc_function_pack(call, p->kernel, p->x, (size_t)p->n_support, p->dtype, &points));
    status = kc_model_make(call, &spec, out);
    kc_packed_free(call->ctx, &points); /* empty where the model has them */
    return status;
}

kc_status kc_model_create(kc_context *ctx, const kc_model_parts *from, kc_model **out,
                          kc_error *err)
{
    kc_model_parts parts;
    kc_call call;

    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(read_parts(from, &parts, err));
    KC_TRY(kc_call_begin(&call, ctx, NULL, "model", err));
    return kc_call_end(&call, make_model(&call, &parts, out));
}
