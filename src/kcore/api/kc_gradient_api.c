/* kc_kernel_gradient and its parameters: check, pack, run, release. */
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "kernel/kc_gradient.h"
#include "kernel/kc_kernel.h"
#include "kernel/kc_prepare.h"
#include "kernel/kc_tape.h"

/* ---- Parameters ----------------------------------------------------------------------------- */

int64_t kc_kernel_param_count(const kc_kernel *kernel)
{
    return kernel == NULL ? 0 : (int64_t)kc_tape_count(kernel);
}

kc_status kc_kernel_param_at(const kc_kernel *kernel, int64_t index, kc_kernel_param *out,
                             kc_error *err)
{
    kc_kernel_param found = {0};
    kc_tape_param param;

    if (kernel == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", kernel == NULL ? "kernel" : "out");
    KC_TRY(kc_struct_check(out, sizeof found, "out", err));
    if (index < 0 || index >= kc_kernel_param_count(kernel))
        return kc_fail(err, KC_ERR_ARG, "index is %lld, the kernel has %lld parameters",
                       (long long)index, (long long)kc_kernel_param_count(kernel));
    kc_tape_find_param(kernel, (size_t)index, &param);
    found.node = (int32_t)param.node;
    found.kernel = param.kernel;
    found.name = param.name;
    found.entry = param.entry;
    found.value = param.value;
    kc_struct_write(out, &found, sizeof found);
    return KC_OK;
}

/* ---- The gradient --------------------------------------------------------------------------- */

static kc_status check_weights(const kc_points *x, const kc_points *z, const kc_points *weights,
                               kc_error *err)
{
    if (weights == NULL)
        return kc_fail(err, KC_ERR_ARG, "weights is NULL");
    KC_TRY(kc_points_check_form(weights, err));
    KC_TRY(kc_points_check_numbers(weights, err));
    if (weights->storage != KC_DENSE)
        return kc_fail(err, KC_ERR_TYPE, "%s must be dense", kc_points_name(weights));
    if (weights->n_rows != x->n_rows || weights->n_cols != z->n_rows)
        return kc_fail(err, KC_ERR_SHAPE, "%s is %lld x %lld, must be %lld x %lld",
                       kc_points_name(weights), (long long)weights->n_rows,
                       (long long)weights->n_cols, (long long)x->n_rows, (long long)z->n_rows);
    return KC_OK;
}

static kc_status check_gradient(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                                const kc_points *weights, kc_dtype dtype, const double *out,
                                int64_t n_out, kc_error *err)
{
    if (kernel == NULL || x == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", kernel == NULL ? "kernel" : "x");
    if (dtype != KC_F32 && dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "dtype is %d, must be KC_F32 or KC_F64", (int)dtype);
    if (n_out != kc_kernel_param_count(kernel))
        return kc_fail(err, KC_ERR_SHAPE, "n_out is %lld, the kernel has %lld parameters",
                       (long long)n_out, (long long)kc_kernel_param_count(kernel));
    if (out == NULL && n_out > 0)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(kc_kernel_check(kernel, x, z, err));
    KC_TRY(check_weights(x, z, weights, err));
    return kc_tape_check(kernel, err);
}

static kc_status pack_and_fill(kc_call *call, const kc_kernel *kernel, const kc_points *x,
                               const kc_points *z, const kc_points *weights, kc_dtype dtype,
                               double *out)
{
    kc_packed packed_x, packed_z = {.dtype = dtype};
    kc_raw_columns *raw = NULL;
    kc_status status = kc_prepare(call, kernel, x, NULL, dtype, &packed_x);

    if (status == KC_OK && z != x)
        status = kc_prepare(call, kernel, z, NULL, dtype, &packed_z);
    if (status == KC_OK)
        status = kc_raw_columns_read(call, kernel, x, z, &raw);
    if (status == KC_OK) {
        const kc_plan plan = kc_plan_make(kernel, &packed_x, z == x ? &packed_x : &packed_z);

        status = kc_gradient_fill(call, &plan, raw, weights, out);
    }
    kc_packed_free(call->ctx, &packed_x);
    kc_packed_free(call->ctx, &packed_z);
    return status;
}

kc_status kc_kernel_gradient(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                             const kc_points *x, const kc_points *z, const kc_points *weights,
                             kc_dtype dtype, double *out, int64_t n_out, kc_error *err)
{
    const kc_points *columns = z != NULL ? z : x;
    kc_call call;

    KC_TRY(check_gradient(kernel, x, columns, weights, dtype, out, n_out, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "gradient", err));
    return kc_call_end(&call, pack_and_fill(&call, kernel, x, columns, weights, dtype, out));
}
