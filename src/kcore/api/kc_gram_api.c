/* kc_gram and kc_diag: check, pack, compute, release. */
#include "base/kc_thread.h"
#include "data/kc_points.h"
#include "kernel/kc_gram.h"
#include "kernel/kc_kernel.h"
#include "kernel/kc_prepare.h"

static kc_status check_input(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                             kc_error *err)
{
    if (kernel == NULL || x == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", kernel == NULL ? "kernel" : "x");
    return kc_kernel_check(kernel, x, z, err);
}

static kc_status check_output(const kc_points *z, kc_dtype out_dtype, const void *out,
                              int64_t out_ld, kc_error *err)
{
    if (out_dtype != KC_F32 && out_dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "out_dtype is %d, must be KC_F32 or KC_F64",
                       (int)out_dtype);
    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    if (out_ld < z->n_rows)
        return kc_fail(err, KC_ERR_SHAPE, "out_ld is %lld, must be at least %lld",
                       (long long)out_ld, (long long)z->n_rows);
    return KC_OK;
}

static kc_status pack_and_fill(kc_call *call, const kc_kernel *kernel, const kc_points *x,
                               const kc_points *z, kc_dtype dtype, void *out, size_t ld)
{
    kc_packed packed_x, packed_z = {.dtype = dtype};
    kc_status status = kc_prepare(call, kernel, x, NULL, dtype, &packed_x);

    if (status == KC_OK && z != x)
        status = kc_prepare(call, kernel, z, NULL, dtype, &packed_z);
    if (status == KC_OK) /* a chunk may write to very many rows: their mirror images */
        status =
            kc_touch_rows(call, out, (size_t)x->n_rows, (size_t)z->n_rows * kc_dtype_bytes(dtype),
                          ld * kc_dtype_bytes(dtype));
    if (status == KC_OK) {
        const kc_plan plan = kc_plan_make(kernel, &packed_x, z == x ? &packed_x : &packed_z);

        status = kc_gram_fill(call, &plan, out, ld);
    }
    kc_packed_free(call->ctx, &packed_x);
    kc_packed_free(call->ctx, &packed_z);
    return status;
}

kc_status kc_gram(kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
                  const kc_points *z, kc_dtype out_dtype, void *out, int64_t out_ld, kc_error *err)
{
    const kc_points *columns = z != NULL ? z : x;
    kc_call call;

    KC_TRY(check_input(kernel, x, columns, err));
    KC_TRY(check_output(columns, out_dtype, out, out_ld, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "gram", err));
    return kc_call_end(&call,
                       pack_and_fill(&call, kernel, x, columns, out_dtype, out, (size_t)out_ld));
}

kc_status kc_diag(kc_context *ctx, const kc_run *run, const kc_kernel *kernel, const kc_points *x,
                  kc_dtype out_dtype, void *out, kc_error *err)
{
    kc_packed packed;
    kc_call call;
    kc_status status;

    KC_TRY(check_input(kernel, x, x, err));
    KC_TRY(check_output(x, out_dtype, out, INT64_MAX, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "diag", err));
    status = kc_prepare(&call, kernel, x, NULL, out_dtype, &packed);
    if (status == KC_OK) {
        const kc_plan plan = kc_plan_make(kernel, &packed, &packed);

        status = kc_gram_diag(&call, &plan, out);
    }
    kc_packed_free(ctx, &packed);
    return kc_call_end(&call, status);
}
