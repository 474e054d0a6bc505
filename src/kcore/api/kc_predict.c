/* kc_model_decision and kc_model_predict: check, evaluate, store or vote. */
#include "data/kc_points.h"
#include "function/kc_vote.h"

#include <string.h>

typedef struct output {
    const kc_model *model;
    bool by_class;
    bool break_ties;
    double *values;
    size_t ld;
    int32_t *classes;
} output;

static void store_values(void *data, size_t row, const double *values)
{
    const output *to = data;

    if (to->by_class)
        kc_class_values(to->model, values, to->values + row * to->ld);
    else
        memcpy(to->values + row * to->ld, values, to->model->f.n_outputs * sizeof *values);
}

static void store_class(void *data, size_t row, const double *values)
{
    const output *to = data;

    to->classes[row] = kc_class_of(to->model, values, to->break_ties);
}

static kc_status check_input(const kc_model *model, const kc_points *x, const void *out,
                             kc_error *err)
{
    if (model == NULL || x == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL",
                       model == NULL ? "model"
                       : x == NULL   ? "x"
                                     : "out");
    if (x->storage == KC_STRINGS)
        return kc_fail(err, KC_ERR_TYPE, "%s holds strings, the model takes numbers",
                       kc_points_name(x));
    return KC_OK;
}

static kc_status evaluate(kc_context *ctx, const kc_run *run, const kc_model *model,
                          const kc_points *x, kc_values_fn *fn, output *to, kc_error *err)
{
    kc_call call;
    kc_run r;

    KC_TRY(kc_run_read(&r, run, err));
    if (ctx != NULL && r.cancel == NULL && r.time_limit == 0 &&
        kc_expansion_evaluate_few(&model->f, x, fn, to))
        return KC_OK;
    KC_TRY(kc_call_begin(&call, ctx, run, "predict", err));
    return kc_call_end(&call, kc_expansion_evaluate(&call, &model->f, x, fn, to));
}

kc_status kc_model_decision(kc_context *ctx, const kc_run *run, const kc_model *model,
                            const kc_points *x, kc_decision_shape shape, double *out,
                            int64_t out_ld, kc_error *err)
{
    output to = {.model = model, .values = out};
    size_t n_cols;

    KC_TRY(check_input(model, x, out, err));
    if (shape != KC_DECISION_PROBLEMS && shape != KC_DECISION_CLASSES)
        return kc_fail(err, KC_ERR_ARG,
                       "shape is %d, must be KC_DECISION_PROBLEMS or KC_DECISION_CLASSES",
                       (int)shape);
    to.by_class = shape == KC_DECISION_CLASSES;
    n_cols = to.by_class ? kc_class_columns(model) : model->f.n_outputs;
    if (out_ld < 0 || (size_t)out_ld < n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "out_ld is %lld, must be at least %zu", (long long)out_ld,
                       n_cols);
    to.ld = (size_t)out_ld;
    return evaluate(ctx, run, model, x, store_values, &to, err);
}

kc_status kc_model_predict(kc_context *ctx, const kc_run *run, const kc_model *model,
                           const kc_points *x, int32_t break_ties, int32_t *out, kc_error *err)
{
    output to = {.model = model, .classes = out, .break_ties = break_ties != 0};

    KC_TRY(check_input(model, x, out, err));
    if (model->n_classes == 0 && model->type != KC_ONE_CLASS)
        return kc_fail(err, KC_ERR_TYPE,
                       "a regression model has no classes: its prediction is the decision value");
    return evaluate(ctx, run, model, x, store_class, &to, err);
}
