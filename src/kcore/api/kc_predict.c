/* kc_function_evaluate and kc_function_predict: check, evaluate, store or decode. */
#include "data/kc_points.h"
#include "function/kc_function.h"

#include <string.h>

typedef struct output {
    const kc_function *function;
    bool by_class;
    bool break_ties;
    double *values;
    size_t ld;
    int32_t *classes;
} output;

static void store_values(void *data, size_t row, const double *values)
{
    const output *to = data;
    const size_t n_outputs = to->function->f.n_outputs;

    if (to->by_class)
        kc_class_values(&to->function->decoding, n_outputs, values, to->values + row * to->ld);
    else
        memcpy(to->values + row * to->ld, values, n_outputs * sizeof *values);
}

static void store_class(void *data, size_t row, const double *values)
{
    const output *to = data;

    to->classes[row] = kc_class_of(&to->function->decoding, values, to->break_ties);
}

static kc_status check_input(const kc_function *f, const kc_points *x, const void *out,
                             kc_error *err)
{
    if (f == NULL || x == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL",
                       f == NULL   ? "the function"
                       : x == NULL ? "x"
                                   : "out");
    return KC_OK;
}

static kc_status evaluate(kc_context *ctx, const kc_run *run, const kc_points *x, kc_values_fn *fn,
                          output *to, kc_error *err)
{
    const kc_expansion *f = &to->function->f;
    kc_call call;
    kc_run r;

    KC_TRY(kc_run_read(&r, run, err));
    if (ctx != NULL && r.cancel == NULL && r.time_limit == 0 &&
        kc_expansion_evaluate_few(f, x, fn, to))
        return KC_OK;
    KC_TRY(kc_call_begin(&call, ctx, run, "predict", err));
    return kc_call_end(&call, kc_expansion_evaluate(&call, f, x, fn, to));
}

kc_status kc_function_evaluate(kc_context *ctx, const kc_run *run, const kc_function *f,
                               const kc_points *x, kc_columns columns, double *out, int64_t out_ld,
                               kc_error *err)
{
    output to = {.function = f, .values = out};
    size_t n_cols;

    KC_TRY(check_input(f, x, out, err));
    if (columns != KC_PER_OUTPUT && columns != KC_PER_CLASS)
        return kc_fail(err, KC_ERR_ARG, "columns is %d, must be KC_PER_OUTPUT or KC_PER_CLASS",
                       (int)columns);
    to.by_class = columns == KC_PER_CLASS;
    n_cols = to.by_class ? kc_class_columns(&f->decoding, f->f.n_outputs) : f->f.n_outputs;
    if (out_ld < 0 || (size_t)out_ld < n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "out_ld is %lld, must be at least %zu", (long long)out_ld,
                       n_cols);
    to.ld = (size_t)out_ld;
    return evaluate(ctx, run, x, store_values, &to, err);
}

kc_status kc_function_predict(kc_context *ctx, const kc_run *run, const kc_function *f,
                              const kc_points *x, int32_t break_ties, int32_t *out, kc_error *err)
{
    output to = {.function = f, .classes = out, .break_ties = break_ties != 0};

    KC_TRY(check_input(f, x, out, err));
    if (f->decoding.decoder == KC_DECODE_VALUES)
        return kc_fail(err, KC_ERR_TYPE,
                       "the function has no classes: its prediction is its values");
    return evaluate(ctx, run, x, store_class, &to, err);
}
