/* Making expansions, and their weights where the kernel is linear. */
#include "function/kc_expansion.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_packed_sums.h"

/* Weights of sparse points are dense: not where they would take more than this. */
#define WEIGHTS_BYTES ((size_t)64 << 20)

/* What it takes to read a given kernel value, in multiply-adds. */
#define GIVEN_WORK ((size_t)16)

/* The next piece of *at gets a copy of an array. */
static const void *copy_array(char **at, const void *from, size_t n_bytes)
{
    void *to = *at;

    if (n_bytes > 0)
        memcpy(to, from, n_bytes);
    *at += kc_round_up(n_bytes, KC_ALIGN);
    return to;
}

/* All arrays in one block; their sizes cannot overflow, for `from` holds as much. */
static kc_status copy_arrays(kc_call *call, const kc_expansion *from, kc_expansion *out)
{
    const size_t n_coef = from->n_rows * from->n * sizeof *from->coef;
    const size_t n_intercepts = from->n_outputs * sizeof *from->intercepts;
    const size_t n_bounds = (from->n_segments + 1) * sizeof *from->bounds;
    const size_t n_output_of = from->n_segments * from->n_rows * sizeof *from->output_of;
    const size_t n_columns = from->kernel == NULL ? from->n * sizeof *from->columns : 0;
    char *at = kc_alloc(call->ctx, 1,
                        n_coef + n_intercepts + n_bounds + n_output_of + n_columns + 5 * KC_ALIGN);

    if (at == NULL)
        return kc_fail_nomem(call->err);
    out->owned[0] = at;
    out->coef = copy_array(&at, from->coef, n_coef);
    out->intercepts = copy_array(&at, from->intercepts, n_intercepts);
    out->bounds = copy_array(&at, from->bounds, n_bounds);
    out->output_of = copy_array(&at, from->output_of, n_output_of);
    out->columns = copy_array(&at, from->columns, n_columns);
    return KC_OK;
}

static kc_status copy_kernel(kc_call *call, const kc_expansion *from, kc_expansion *out)
{
    kc_kernel *kernel = NULL;

    KC_TRY(kc_kernel_copy(call->ctx, from->kernel, &kernel, call->err));
    out->kernel = out->owned[1] = kernel;
    return KC_OK;
}

bool kc_expansion_is_linear(const kc_expansion *f)
{
    return f->kernel != NULL && kc_kernel_is_linear(f->kernel);
}

/* Whether w.x is less work than the sum over the points, and worth its memory. */
static bool pays_to_collapse(const kc_expansion *f)
{
    const double bytes = (double)f->n_outputs * (double)f->n_cols * sizeof(double);

    return kc_expansion_is_linear(f) && f->n_outputs <= f->n &&
           (f->points.storage != KC_CSR || bytes <= (double)WEIGHTS_BYTES);
}

static kc_status collapse(kc_call *call, kc_expansion *f)
{
    double *weights = kc_alloc(call->ctx, f->n_outputs, f->n_cols * sizeof *weights);

    if (weights == NULL)
        return kc_fail_nomem(call->err);
    f->weights = f->owned[2] = weights;
    kc_expansion_weights(f, weights);
    return KC_OK;
}

kc_status kc_expansion_create(kc_call *call, kc_expansion *from, kc_expansion *out)
{
    kc_status status;

    *out = *from;
    out->weights = NULL;
    out->row_work = 0;
    memset(out->owned, 0, sizeof out->owned);
    status = copy_arrays(call, from, out);
    if (status == KC_OK && from->kernel != NULL)
        status = copy_kernel(call, from, out);
    if (status == KC_OK && pays_to_collapse(out))
        status = collapse(call, out);
    if (status == KC_OK) {
        out->row_work = kc_expansion_row_work(out);
        from->points = (kc_packed){.dtype = from->dtype};
        return KC_OK;
    }
    out->points = (kc_packed){.dtype = from->dtype}; /* still the caller's */
    kc_expansion_free(call->ctx, out);
    return status;
}

void kc_expansion_free(kc_context *ctx, kc_expansion *f)
{
    kc_free(ctx, f->owned[0]);
    kc_kernel_free(ctx, f->owned[1]);
    kc_free(ctx, f->owned[2]);
    kc_packed_free(ctx, &f->points);
    *f = (kc_expansion){.dtype = f->dtype};
}

/* ---- Work --------------------------------------------------------------------------------- */

double kc_expansion_row_work(const kc_expansion *f)
{
    if (f->row_work > 0)
        return f->row_work;
    if (f->weights != NULL)
        return (double)f->n_outputs * (double)f->n_cols;
    double per_point = (double)f->n_rows + (double)GIVEN_WORK;
    if (f->kernel != NULL && f->n > 0)
        per_point =
            (double)f->n_rows + (double)kc_plan_make(f->kernel, &f->points, &f->points).work;
    return (double)f->n * per_point;
}

/* ---- Weights ------------------------------------------------------------------------------ */

void kc_expansion_weights(const kc_expansion *f, double *w)
{
    memset(w, 0, f->n_outputs * f->n_cols * sizeof *w);
    for (size_t s = 0; s < f->n_segments; s++)
        for (size_t r = 0; r < f->n_rows; r++) {
            double *to = w + (size_t)f->output_of[s * f->n_rows + r] * f->n_cols;

            for (size_t i = f->bounds[s]; i < f->bounds[s + 1]; i++)
                if (f->coef[r * f->n + i] != 0)
                    kc_packed_add(&f->points, i, f->coef[r * f->n + i], to);
        }
}
