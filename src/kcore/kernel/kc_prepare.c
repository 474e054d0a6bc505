/* Self-values are computed in the order of the expression: one normalization may stand inside of
 * another. */
#include "kernel/kc_prepare.h"

#include <math.h>

#include "kernel/kc_leaf.h"
#include "kernel/kc_plan.h"

bool kc_kernel_is_plain(const kc_kernel *kernel)
{
    return kernel->n_readings == 0 && kernel->n_scalars == 0;
}

/* ---- Self-values ---------------------------------------------------------------------------- */

/* Samples between two polls. */
#define POLL_SAMPLES ((size_t)1 << 14)

/* K(x, x) becomes K(x, x)^(-1/2), 0 stays: then so are all values of the sample. */
static kc_status invert_roots(const kc_packed *points, const int32_t *order, size_t begin,
                              size_t end, void *values, kc_error *err)
{
    for (size_t i = begin; i < end; i++) {
        const double value = kc_number_at(values, i, points->dtype);
        const double root = value > 0 ? 1 / sqrt(value) : 0;

        if (!(value >= 0))
            return kc_fail(err, KC_ERR_RANGE,
                           "normalized kernel: K(x, x) of %s row %zu is %g, must not be negative",
                           points->name, order != NULL ? (size_t)order[i] : i, value);
        if (points->dtype == KC_F64)
            ((double *)values)[i] = root;
        else
            ((float *)values)[i] = (float)root;
    }
    return KC_OK;
}

/* Of the operand of the normalization at `place`. */
static kc_status find_roots(kc_call *call, const kc_plan *plan, size_t place, const int32_t *order,
                            void *values, void *workspace)
{
    const size_t n = plan->x->n, first = kc_operand_first(plan->kernel, place);

    for (size_t begin = 0; begin < n; begin += POLL_SAMPLES) {
        const size_t end = kc_min(begin + POLL_SAMPLES, n);

        if (!kc_plan_diag_of(plan, first, place, begin, end - begin,
                             kc_at(values, begin, plan->x->dtype), workspace))
            return kc_fail(call->err, KC_ERR_RANGE,
                           "normalized kernel: K(x, x) of a row of %s overflows", plan->x->name);
        KC_TRY(invert_roots(plan->x, order, begin, end, values, call->err));
        if (kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

static kc_status find_scalars(kc_call *call, const kc_kernel *kernel, const int32_t *order,
                              kc_packed *points)
{
    kc_plan plan;
    void *workspace;

    KC_TRY(kc_packed_add_scalars(call, kernel->n_scalars, points));
    plan = kc_plan_make(kernel, points, points);
    workspace = kc_call_take(call, 1, kc_plan_workspace(&plan, 1));
    if (workspace == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < kernel->n_nodes; i++)
        if (kernel->nodes[i].op == &kc_operator_normalized)
            KC_TRY(find_roots(call, &plan, i, order,
                              kc_packed_scalars(points, (size_t)kernel->nodes[i].scalar),
                              workspace));
    return KC_OK;
}

/* ---- Sets of samples ------------------------------------------------------------------------ */

static kc_status add_parts(kc_call *call, const kc_kernel *kernel, const kc_points *points,
                           const int32_t *order, kc_packed *out)
{
    const kc_readings readings = kc_kernel_readings(kernel);

    if (readings.n > 0)
        KC_TRY(kc_packed_read(call, points, order, &readings, out));
    KC_TRY(kc_refuse(call, kernel, order, out));
    return kernel->n_scalars > 0 ? find_scalars(call, kernel, order, out) : KC_OK;
}

kc_status kc_prepare(kc_call *call, const kc_kernel *kernel, const kc_points *points,
                     const int32_t *order, kc_dtype dtype, kc_packed *out)
{
    kc_status status;

    if (kc_kernel_is_plain(kernel) && !kc_refuses_some(kernel))
        return kc_packed_create_ordered(call, points, order, dtype, out);
    *out = (kc_packed){.dtype = dtype};
    KC_TRY(kc_kernel_check(kernel, points, points, call->err)); /* its columns must be there */
    KC_TRY(kc_packed_create_ordered(call, points, order, dtype, out));
    status = add_parts(call, kernel, points, order, out);
    if (status != KC_OK)
        kc_packed_free(call->ctx, out);
    return status;
}

bool kc_prepare_few(const kc_kernel *kernel, const kc_points *points, kc_dtype dtype, char *memory,
                    size_t n_bytes, size_t *used, kc_packed *out)
{
    return kc_kernel_is_plain(kernel) &&
           kc_packed_place(points, dtype, memory, n_bytes, used, out) &&
           !kc_refuses_few(kernel, out);
}

kc_status kc_prepare_growing(kc_context *ctx, const kc_kernel *kernel, kc_dtype dtype,
                             const kc_points *like, kc_growing *out, kc_error *err)
{
    const kc_readings readings = kc_kernel_readings(kernel);

    return kc_growing_create(ctx, dtype, like, &readings, kernel->n_scalars, out, err);
}
