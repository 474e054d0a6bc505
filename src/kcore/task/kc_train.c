/* A fit, from samples to a model: sort, pack, open one store (kc_train_open.c), solve every problem
 * over it (kc_train_solve.c), keep the samples that carry a coefficient. */
#include <string.h>

#include "base/kc_clock.h"
#include "data/kc_points.h"
#include "task/kc_form.h"
#include "task/kc_problems.h"
#include "task/kc_train_impl.h"

/* ---- Model -------------------------------------------------------------------------------- */

/* The samples with a coefficient in some problem; their coefficients side by side. */
typedef struct support {
    int32_t *places;  /* n */
    int32_t *samples; /* n */
    int32_t *counts;  /* n_segments */
    double *coef;     /* n_coef_rows * n */
    size_t n;
} support;

static bool has_coefficient(const kc_training *t, size_t place)
{
    for (size_t r = 0; r < t->n_coef_rows; r++)
        if (t->coef[r * t->samples.n + place] != 0)
            return true;
    return false;
}

static kc_status find_support(kc_call *call, const kc_training *t, support *out)
{
    const kc_samples *samples = &t->samples;

    *out = (support){
        .places = kc_call_take(call, samples->n, sizeof *out->places),
        .samples = kc_call_take(call, samples->n, sizeof *out->samples),
        .counts = kc_call_take(call, samples->n_segments, sizeof *out->counts),
    };
    if (out->places == NULL || out->samples == NULL || out->counts == NULL)
        return kc_fail_nomem(call->err);
    for (size_t c = 0; c < samples->n_segments; c++) {
        const size_t before = out->n;

        for (size_t i = samples->bounds[c]; i < samples->bounds[c + 1]; i++)
            if (has_coefficient(t, i)) {
                out->places[out->n] = (int32_t)i;
                out->samples[out->n++] = samples->order[i];
            }
        out->counts[c] = (int32_t)(out->n - before);
    }
    out->coef = kc_call_take(call, t->n_coef_rows, out->n * sizeof *out->coef);
    if (out->coef == NULL)
        return kc_fail_nomem(call->err);
    for (size_t r = 0; r < t->n_coef_rows; r++)
        for (size_t k = 0; k < out->n; k++)
            out->coef[r * out->n + k] = t->coef[r * samples->n + (size_t)out->places[k]];
    return KC_OK;
}

/* Their points, of the type that decision values need. */
static kc_status take_support(kc_call *call, const kc_training *t, const support *found,
                              kc_packed *out)
{
    kc_points taken;

    if (!t->is_refined)
        return kc_packed_take(call, &t->points, found->places, found->n, out);
    KC_TRY(kc_points_take(call, t->data->x, found->samples, found->n, &taken));
    return kc_function_pack(call, t->kernel, &taken, found->n, KC_F64, out);
}

static kc_status make_model(kc_call *call, const kc_training *t, kc_model **out)
{
    kc_packed points = {.dtype = t->points.dtype};
    support found;
    kc_status status;

    KC_TRY(find_support(call, t, &found));
    if (t->kernel != NULL)
        KC_TRY(take_support(call, t, &found, &points));
    const kc_model_spec spec = {
        .type = t->settings->type,
        .multiclass = t->settings->multiclass,
        .n_classes = t->samples.n_classes,
        .is_detector = kc_form_of(t->settings->type)->is_detector,
        .kernel = t->kernel,
        .dtype = t->is_refined ? KC_F64 : kc_training_dtype(t),
        .points = t->kernel != NULL ? &points : NULL,
        .n_support = found.n,
        .n_cols = kc_training_has_user_kernel(t) ? t->samples.n_all : kc_points_columns(t->data->x),
        .support = found.samples,
        .class_counts = found.counts,
        .coef = found.coef,
        .intercepts = t->intercepts,
        .labels = t->data->labels,
    };
    status = kc_model_make(call, &spec, out);
    kc_packed_free(call->ctx, &points); /* empty where the model has them */
    t->info->total.n_support = (int64_t)found.n;
    return status;
}

/* ---- Fit ---------------------------------------------------------------------------------- */

static kc_status run_phases(kc_call *call, kc_training *t, kc_model **out)
{
    kc_fit_info *total = &t->info->total;
    double start = call->start, now;
    kc_status status;

    call->progress.phase = "pack";
    KC_TRY(kc_training_open(call, t));
    now = kc_clock();
    total->seconds_pack = now - start;
    start = now;
    call->progress.phase = "solve";
    call->progress.fraction = -1;
    KC_TRY(kc_training_solve(call, t));
    now = kc_clock();
    total->seconds_solve = now - start;
    start = now;
    kc_call_extend(call, INFINITY); /* what was found is handed over, late or not */
    status = make_model(call, t, out);
    kc_call_expire(call);
    KC_TRY(status);
    now = kc_clock();
    total->seconds_model = now - start;
    total->seconds = now - call->start;
    total->peak_bytes = (int64_t)kc_call_peak(call);
    total->n_zero_samples = (int64_t)kc_packed_count_zeros(&t->points);
    return KC_OK;
}

kc_status kc_train(kc_call *call, const kc_svm_settings *settings, const kc_kernel *kernel,
                   const kc_svm_data *data, kc_model **out, kc_train_info *info)
{
    kc_training t = {
        .settings = settings,
        .kernel = kernel,
        .data = data,
        .start = data->start,
        .points = {.dtype = KC_F64},
        .matrix = {.dtype = KC_F64},
        .info = info,
    };
    kc_status status;

    info->total = (kc_fit_info){.struct_size = sizeof info->total};
    status = run_phases(call, &t, out);
    kc_store_free(call->ctx, t.store);
    kc_packed_free(call->ctx, &t.points);
    kc_matrix_free(call->ctx, &t.matrix);
    return status;
}
