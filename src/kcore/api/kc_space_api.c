/* The space of a kernel: check, run, release.  And the terms of values. */
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "function/kc_contributions.h"
#include "function/kc_space.h"

static kc_status check_given(const void *f, const char *name, const void *out, kc_error *err)
{
    if (f == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", f == NULL ? name : "out");
    return KC_OK;
}

kc_status kc_kernel_section(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                            const kc_points *x, kc_dtype dtype, kc_function **out, kc_error *err)
{
    static const double one[] = {1};

    KC_TRY(check_given(kernel, "kernel", out, err));
    if (x == NULL)
        return kc_fail(err, KC_ERR_ARG, "x is NULL");
    KC_TRY(kc_points_check_parts(x, err));
    if (x->n_rows != 1)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld rows, must be one sample", kc_points_name(x),
                       (long long)x->n_rows);
    const kc_function_parts parts = {
        .struct_size = sizeof parts,
        .kernel = kernel,
        .x = x,
        .dtype = dtype,
        .n_points = 1,
        .n_cols = (int64_t)kc_points_columns(x),
        .n_outputs = 1,
        .coef = one,
        .decoder = KC_DECODE_VALUES,
    };
    return kc_function_create(ctx, run, &parts, out, err);
}

kc_status kc_function_output(kc_context *ctx, const kc_run *run, const kc_function *f,
                             int64_t output, kc_function **out, kc_error *err)
{
    kc_call call;

    KC_TRY(check_given(f, "f", out, err));
    if (f->f.kernel == NULL)
        return kc_fail(err, KC_ERR_TYPE, "f has no kernel, only given kernel values");
    if (output < 0 || (size_t)output >= f->f.n_outputs)
        return kc_fail(err, KC_ERR_ARG, "output is %lld, must be 0 to %zu", (long long)output,
                       f->f.n_outputs - 1);
    KC_TRY(kc_call_begin(&call, ctx, run, "function", err));
    return kc_call_end(&call, kc_space_output(&call, f, (size_t)output, out));
}

kc_status kc_function_combine(kc_context *ctx, const kc_run *run, double a, const kc_function *f,
                              double b, const kc_function *g, kc_function **out, kc_error *err)
{
    kc_call call;

    KC_TRY(check_given(f, "f", out, err));
    KC_TRY(g != NULL ? kc_space_check_pair(f, g, err) : kc_space_check(f, "f", err));
    KC_TRY(kc_call_begin(&call, ctx, run, "function", err));
    return kc_call_end(&call, kc_space_combine(&call, a, f, b, g, out));
}

kc_status kc_function_merge(kc_context *ctx, const kc_run *run, const kc_function *f,
                            kc_function **out, kc_error *err)
{
    kc_call call;

    KC_TRY(check_given(f, "f", out, err));
    KC_TRY(kc_space_check(f, "f", err));
    KC_TRY(kc_call_begin(&call, ctx, run, "merge", err));
    return kc_call_end(&call, kc_space_merge(&call, f, out));
}

kc_status kc_function_inner(kc_context *ctx, const kc_run *run, const kc_function *f,
                            const kc_function *g, double *out, kc_error *err)
{
    kc_call call;

    KC_TRY(check_given(f, "f", out, err));
    KC_TRY(check_given(g, "g", out, err));
    KC_TRY(kc_space_check_pair(f, g, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "inner", err));
    return kc_call_end(&call, kc_space_inner(&call, f, g, out));
}

kc_status kc_function_contributions(kc_context *ctx, const kc_run *run, const kc_function *f,
                                    const kc_points *x, int64_t top, int64_t *points,
                                    double *values, kc_error *err)
{
    kc_call call;

    KC_TRY(check_given(f, "f", points, err));
    KC_TRY(check_given(x, "x", values, err));
    if (top < 1 || top > INT32_MAX)
        return kc_fail(err, KC_ERR_ARG, "top is %lld, must be positive", (long long)top);
    KC_TRY(kc_call_begin(&call, ctx, run, "contributions", err));
    return kc_call_end(&call, kc_contributions_find(&call, &f->f, x, (size_t)top, points, values));
}
