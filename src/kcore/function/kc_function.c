/* Making functions: an expansion, a decoder, labels as bytes. */
#include "function/kc_function.h"

#include <string.h>

#include "base/kc_alloc.h"

/* ---- Labels ------------------------------------------------------------------------------- */

kc_status kc_function_check_labels(const kc_labels *labels, int32_t n_classes, kc_error *err)
{
    if (labels == NULL)
        return KC_OK;
    if (labels->n != n_classes)
        return kc_fail(err, KC_ERR_SHAPE, "there are %lld labels and %d classes",
                       (long long)labels->n, (int)n_classes);
    if (labels->values == NULL || labels->n_bytes < 1 || labels->n_bytes > INT32_MAX)
        return kc_fail(err, KC_ERR_ARG, "labels are NULL, or of %lld bytes each",
                       (long long)labels->n_bytes);
    return KC_OK;
}

static kc_status copy_labels(kc_call *call, const kc_labels *labels, kc_function *out)
{
    const size_t n_bytes = (size_t)labels->n_bytes;
    char *to = kc_alloc(call->ctx, (size_t)labels->n, n_bytes);

    if (to == NULL)
        return kc_fail_nomem(call->err);
    for (int64_t c = 0; c < labels->n; c++)
        memcpy(to + (size_t)c * n_bytes, (const char *)labels->values + c * labels->stride,
               n_bytes);
    out->labels = to;
    out->label_bytes = n_bytes;
    return KC_OK;
}

/* ---- Life --------------------------------------------------------------------------------- */

kc_status kc_function_fill(kc_call *call, kc_expansion *from, const kc_decoding *how,
                           const kc_labels *labels, kc_function *out)
{
    kc_status status = KC_OK;

    *out = (kc_function){.decoding = *how};
    if (labels != NULL && how->n_classes > 0)
        status = copy_labels(call, labels, out);
    if (status == KC_OK)
        status = kc_expansion_create(call, from, &out->f);
    if (status != KC_OK)
        kc_function_clear(call->ctx, out);
    return status;
}

void kc_function_clear(kc_context *ctx, kc_function *f)
{
    kc_expansion_free(ctx, &f->f);
    kc_free(ctx, f->labels);
    f->labels = NULL;
    f->label_bytes = 0;
}

kc_status kc_function_make(kc_call *call, kc_expansion *from, const kc_decoding *how,
                           const kc_labels *labels, kc_function **out)
{
    kc_function *f = kc_calloc(call->ctx, 1, sizeof *f);
    kc_status status =
        f != NULL ? kc_function_fill(call, from, how, labels, f) : kc_fail_nomem(call->err);

    if (status != KC_OK) {
        kc_free(call->ctx, f);
        return status;
    }
    *out = f;
    return KC_OK;
}

void kc_function_free(kc_context *ctx, kc_function *f)
{
    if (f == NULL)
        return;
    kc_function_clear(ctx, f);
    kc_free(ctx, f);
}

/* ---- Coefficients and points -------------------------------------------------------------- */

void kc_function_plain_coef(const kc_function *function, double *out)
{
    const kc_expansion *f = &function->f;

    memset(out, 0, f->n_outputs * f->n * sizeof *out);
    for (size_t s = 0; s < f->n_segments; s++)
        for (size_t r = 0; r < f->n_rows; r++) {
            double *row = out + (size_t)f->output_of[s * f->n_rows + r] * f->n;

            for (size_t i = f->bounds[s]; i < f->bounds[s + 1]; i++)
                row[i] = f->coef[r * f->n + i];
        }
}

kc_status kc_function_copy_points(kc_call *call, const kc_packed *from, kc_packed *out)
{
    int32_t *all = kc_call_take(call, kc_max(1, from->n), sizeof *all);

    if (all == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < from->n; i++)
        all[i] = (int32_t)i;
    return kc_packed_take(call, from, all, from->n, out);
}

kc_status kc_function_check_points(const kc_kernel *kernel, const kc_points *x, int64_t n_points,
                                   int64_t n_cols, kc_error *err)
{
    const kc_points numbers = {.storage = KC_DENSE, .n_cols = n_cols};

    if (x == NULL)
        return kc_kernel_check_parts(kernel, &numbers, err);
    KC_TRY(kc_points_check_parts(x, err));
    if (x->n_rows != n_points || kc_points_columns(x) != (size_t)n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "parts.x is %lld x %zu, must be %lld x %lld",
                       (long long)x->n_rows, kc_points_columns(x), (long long)n_points,
                       (long long)n_cols);
    return n_points > 0 ? kc_kernel_check(kernel, x, x, err)
                        : kc_kernel_check_parts(kernel, x, err);
}

kc_status kc_function_pack(kc_call *call, const kc_kernel *kernel, const kc_points *x, size_t n,
                           kc_dtype dtype, kc_packed *out)
{
    kc_packed borrowed;
    kc_status status;

    if (n == 0)
        return kc_packed_none(call, x, dtype, out);
    KC_TRY(kc_prepare(call, kernel, x, NULL, dtype, &borrowed));
    status = kc_function_copy_points(call, &borrowed, out);
    kc_packed_free(call->ctx, &borrowed);
    return status;
}
