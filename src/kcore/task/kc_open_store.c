/* Making a store of copies, so that nothing of the caller's is needed after the call. */
#include "task/kc_open_store.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "function/kc_function.h"
#include "kernel/kc_kernel.h"
#include "task/kc_cache.h"
#include "task/kc_matrix.h"

/* The matrix of more samples is not computed as a whole: problems look at a part of it. */
#define MAX_WHOLE_POINTS ((size_t)16384)

/* ---- Of a matrix --------------------------------------------------------------------------- */

/* All samples, in their own order. */
static kc_status take_all(kc_call *call, size_t n, kc_samples *out)
{
    *out = (kc_samples){.n_all = n, .n = n, .is_identity = true};
    out->order = kc_call_take(call, n, sizeof *out->order);
    if (out->order == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < n; i++)
        out->order[i] = (int32_t)i;
    return KC_OK;
}

/* A matrix that was borrowed becomes one of the library's. */
static kc_status own_matrix(kc_call *call, size_t n, kc_matrix *matrix)
{
    const size_t bytes = kc_dtype_bytes(matrix->dtype);
    char *values;

    if (matrix->owned != NULL)
        return KC_OK;
    values = kc_alloc(call->ctx, n, n * bytes);
    if (values == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < n; i++)
        memcpy(values + i * n * bytes, (const char *)matrix->values + i * matrix->ld * bytes,
               n * bytes);
    *matrix = (kc_matrix){matrix->dtype, values, n, values};
    return KC_OK;
}

static kc_status open_given(kc_call *call, const kc_points *x, kc_dtype dtype, kc_store **out)
{
    kc_samples samples;
    kc_matrix matrix;
    kc_status status;

    KC_TRY(take_all(call, (size_t)x->n_rows, &samples));
    KC_TRY(kc_matrix_create(call, x, &samples, dtype != 0 ? dtype : x->dtype, &matrix));
    status = own_matrix(call, samples.n, &matrix);
    if (status == KC_OK)
        status = kc_store_make_given(call, matrix.dtype, matrix.values, samples.n, matrix.ld, out);
    if (status != KC_OK) {
        kc_matrix_free(call->ctx, &matrix);
        return status;
    }
    kc_store_adopt(*out, NULL, NULL, matrix.owned);
    return KC_OK;
}

/* ---- Of samples ---------------------------------------------------------------------------- */

static kc_status open_computed(kc_call *call, const kc_kernel *kernel, const kc_points *x,
                               kc_dtype dtype, size_t cache_bytes, kc_store **out)
{
    kc_packed points;
    kc_kernel *own = NULL;
    kc_store_config config = {.points = &points};
    kc_status status;

    KC_TRY(kc_function_pack(call, kernel, x, (size_t)x->n_rows, dtype, &points));
    config.cache_bytes = kc_cache_bytes(call, cache_bytes, points.n, dtype);
    status = kc_kernel_copy(call->ctx, kernel, &own, call->err);
    config.kernel = own;
    if (status == KC_OK)
        status = kc_store_make(call, &config, out);
    if (status != KC_OK) {
        kc_kernel_free(call->ctx, own);
        kc_packed_free(call->ctx, &points);
        return status;
    }
    points.name = "x"; /* the caller's is not for later */
    kc_store_adopt(*out, own, &points, NULL);
    return KC_OK;
}

kc_status kc_store_open(kc_call *call, const kc_kernel *kernel, const kc_points *x, kc_dtype dtype,
                        size_t cache_bytes, kc_store **out)
{
    if (kernel == NULL)
        return open_given(call, x, dtype, out);
    return open_computed(call, kernel, x, dtype != 0 ? dtype : KC_F64, cache_bytes, out);
}

kc_status kc_store_prepare(kc_call *call, kc_store *store)
{
    const size_t n = kc_store_points(store);
    kc_status status;

    if (!kc_store_keeps_rows(store) || kc_store_is_linear(store) || n > MAX_WHOLE_POINTS ||
        n * kc_store_row_bytes(store) > kc_store_whole_bytes(store) ||
        kc_store_apply_seconds(store, n, n) > kc_call_left(call))
        return KC_OK;
    kc_store_clear(call->ctx, store);
    status = kc_store_complete(call, store);
    return status == KC_ERR_TIME ? KC_OK : status;
}
