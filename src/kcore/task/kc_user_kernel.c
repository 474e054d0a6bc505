/* Places become samples on the way out, values are checked on the way back. */
#include "task/kc_user_kernel.h"

#include <math.h>

static int64_t *find_samples(kc_call *call, const kc_user_kernel *user_kernel,
                             const int32_t *places, size_t n)
{
    int64_t *samples = kc_call_take(call, n, sizeof *samples);

    for (size_t k = 0; samples != NULL && k < n; k++)
        samples[k] = user_kernel->order != NULL ? user_kernel->order[places[k]] : places[k];
    return samples;
}

static kc_status check_values(const double *values, const int64_t *rows, size_t n_rows,
                              const int64_t *cols, size_t n_cols, kc_error *err)
{
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++)
            if (!isfinite(values[i * n_cols + j]))
                return kc_fail(err, KC_ERR_NONFINITE,
                               "the kernel function returned %g for samples %lld and %lld",
                               values[i * n_cols + j], (long long)rows[i], (long long)cols[j]);
    return KC_OK;
}

static kc_status call_function(kc_call *call, const kc_user_kernel *user_kernel,
                               const int32_t *rows, size_t n_rows, const int32_t *cols,
                               size_t n_cols, double *out)
{
    const int64_t *row_samples = find_samples(call, user_kernel, rows, n_rows);
    const int64_t *col_samples = find_samples(call, user_kernel, cols, n_cols);

    assert(pthread_equal(call->caller, pthread_self()));
    if (row_samples == NULL || col_samples == NULL)
        return kc_fail_nomem(call->err);
    if (user_kernel->fn(user_kernel->data, row_samples, (int64_t)n_rows, col_samples,
                        (int64_t)n_cols, out) != 0)
        return kc_fail(call->err, KC_ERR_CALLBACK,
                       "the kernel function failed for a block of %zu x %zu samples", n_rows,
                       n_cols);
    return check_values(out, row_samples, n_rows, col_samples, n_cols, call->err);
}

kc_status kc_user_kernel_values(void *data, kc_call *call, const int32_t *rows, size_t n_rows,
                                const int32_t *cols, size_t n_cols, double *out)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    const kc_status status = call_function(call, data, rows, n_rows, cols, n_cols, out);

    kc_arena_release(call->arena, point);
    return status;
}
