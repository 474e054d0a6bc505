/* Making models: which coefficient belongs to which problem. */
#include "function/kc_model.h"

#include <string.h>

#include "base/kc_alloc.h"

static void *copy_array(kc_call *call, const void *from, size_t count, size_t size)
{
    void *to = kc_alloc(call->ctx, count, size);

    if (to != NULL && count > 0)
        memcpy(to, from, count * size);
    return to;
}

/* One-vs-one: a segment for each class; row r of class c belongs to the pair of c and the r-th of
 * the others.  Else: one segment, a row for each problem. */
static kc_status lay_out(kc_call *call, const kc_model_spec *spec, kc_expansion *f)
{
    const bool is_pairwise = kc_is_pairwise(spec->multiclass, spec->n_classes);
    const size_t n_segments = is_pairwise ? (size_t)spec->n_classes : 1;
    size_t *bounds = kc_call_take(call, n_segments + 1, sizeof *bounds);
    int32_t *output_of = kc_call_take(call, n_segments, f->n_rows * sizeof *output_of);

    if (bounds == NULL || output_of == NULL)
        return kc_fail_nomem(call->err);
    bounds[0] = 0;
    for (size_t c = 0; c < n_segments; c++) {
        bounds[c + 1] = is_pairwise ? bounds[c] + (size_t)spec->class_counts[c] : f->n;
        for (size_t r = 0; r < f->n_rows; r++) {
            size_t output = r;

            if (is_pairwise)
                output =
                    r < c ? kc_pair_index(n_segments, r, c) : kc_pair_index(n_segments, c, r + 1);
            output_of[c * f->n_rows + r] = (int32_t)output;
        }
    }
    assert(bounds[n_segments] == f->n);
    f->n_segments = n_segments;
    f->bounds = bounds;
    f->output_of = output_of;
    return KC_OK;
}

/* What the problems' decision values say; libsvm's rule for zeros. */
static kc_decoding decoding_of(const kc_model_spec *spec)
{
    if (spec->is_detector) /* outside, inside */
        return (kc_decoding){KC_DECODE_SIGN, .n_classes = 2, .class_of_zero = 0};
    if (spec->n_classes == 0)
        return (kc_decoding){KC_DECODE_VALUES, 0, 0};
    if (spec->n_classes == 2)
        return (kc_decoding){KC_DECODE_SIGN, .n_classes = 2, .class_of_zero = 1};
    return (kc_decoding){
        kc_is_pairwise(spec->multiclass, spec->n_classes) ? KC_DECODE_PAIRS : KC_DECODE_LARGEST,
        .n_classes = spec->n_classes,
    };
}

static kc_status fill_model(kc_call *call, const kc_model_spec *spec, kc_model *model)
{
    static const int32_t sides[] = {-1, 1};
    const kc_labels outside_inside = {sides, 2, sizeof *sides, sizeof *sides};
    const kc_decoding how = decoding_of(spec);
    kc_expansion from = {
        .kernel = spec->kernel,
        .dtype = spec->dtype,
        .n = spec->n_support,
        .n_cols = spec->n_cols,
        .columns = spec->kernel == NULL ? spec->support : NULL,
        .n_outputs = kc_problem_count(spec->multiclass, spec->n_classes),
        .n_rows = kc_coef_rows(spec->multiclass, spec->n_classes),
        .coef = spec->coef,
        .intercepts = spec->intercepts,
    };

    model->type = spec->type;
    model->multiclass = spec->multiclass;
    model->n_classes = spec->n_classes;
    model->support = copy_array(call, spec->support, spec->n_support, sizeof *spec->support);
    model->class_counts =
        copy_array(call, spec->class_counts, spec->n_classes > 0 ? (size_t)spec->n_classes : 1,
                   sizeof *spec->class_counts);
    if (model->support == NULL || model->class_counts == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(lay_out(call, spec, &from));
    if (spec->points != NULL)
        from.points = *spec->points;
    KC_TRY(kc_function_fill(call, &from, &how, spec->is_detector ? &outside_inside : spec->labels,
                            &model->function));
    if (spec->points != NULL)
        *spec->points = from.points;
    return KC_OK;
}

kc_status kc_model_make(kc_call *call, const kc_model_spec *spec, kc_model **out)
{
    kc_model *model = kc_calloc(call->ctx, 1, sizeof *model);
    kc_status status = model != NULL ? fill_model(call, spec, model) : kc_fail_nomem(call->err);

    if (status != KC_OK) {
        kc_model_free(call->ctx, model);
        return status;
    }
    *out = model;
    return KC_OK;
}

void kc_model_free(kc_context *ctx, kc_model *model)
{
    if (model == NULL)
        return;
    kc_function_clear(ctx, &model->function);
    kc_free(ctx, model->support);
    kc_free(ctx, model->class_counts);
    kc_free(ctx, model);
}
