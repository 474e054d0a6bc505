/* Values of a kernel that only the caller of the library can compute.
 *
 * The caller's function runs on the thread that uses the store, for whole blocks, since every call
 * costs something (in Python, the interpreter's lock and more); its rows are kept as any others. */
#include <math.h>
#include <string.h>

#include "rows/kc_store_impl.h"

/* Bytes of one block at the most, as doubles: how long the call cannot be stopped. */
#define BLOCK_BYTES ((size_t)4 << 20)

/* The diagonal is taken from squares of so many points: few calls, and few values in vain. */
#define DIAG_POINTS ((size_t)16)

size_t kc_store_user_max_rows(size_t n_cols)
{
    return kc_max(BLOCK_BYTES / sizeof(double) / n_cols, 1);
}

/* Doubles to floats, in place. */
static bool narrow(void *values, size_t n)
{
    float check = 0;

    for (size_t k = 0; k < n; k++) {
        double wide;
        memcpy(&wide, (const char *)values + k * sizeof wide, sizeof wide);
        float value = (float)wide;
        memcpy((char *)values + k * sizeof value, &value, sizeof value);
        check += value - value; /* NaN where a value is too large */
    }
    return check == 0;
}

kc_status kc_store_user_values(kc_call *call, kc_store *store, const int32_t *rows, size_t n_rows,
                               const int32_t *cols, size_t n_cols, void *out)
{
    if (kc_call_poll(call) != KC_OK)
        return kc_call_stop_error(call);
    KC_TRY(store->user_fn(store->user_data, call, rows, n_rows, cols, n_cols, out));
    if (store->dtype == KC_F32 && !narrow(out, n_rows * n_cols))
        return kc_store_fail_overflow(call);
    return KC_OK;
}

kc_status kc_store_user_rows(kc_call *call, kc_store *store, const kc_cols *cols,
                             const int32_t *rows, size_t n_rows, void *out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    size_t n_cols = kc_cols_count(cols);
    int32_t *points = kc_call_take(call, n_cols, sizeof *points);
    kc_status status = points != NULL ? KC_OK : kc_fail_nomem(call->err);

    for (size_t p = 0; status == KC_OK && p < n_cols; p++)
        points[p] = (int32_t)kc_cols_point(cols, p);
    if (status == KC_OK)
        status = kc_store_user_values(call, store, rows, n_rows, points, n_cols, out);
    kc_arena_release(call->arena, point);
    return status;
}

kc_status kc_store_user_diag(kc_call *call, kc_store *store, void *out)
{
    double square[DIAG_POINTS * DIAG_POINTS];
    int32_t points[DIAG_POINTS];

    for (size_t begin = 0; begin < store->n; begin += DIAG_POINTS) {
        size_t n = kc_min(DIAG_POINTS, store->n - begin);
        for (size_t k = 0; k < n; k++)
            points[k] = (int32_t)(begin + k);
        KC_TRY(kc_store_user_values(call, store, points, n, points, n, square));
        for (size_t k = 0; k < n; k++)
            memcpy((char *)out + (begin + k) * store->value_bytes,
                   (const char *)square + k * (n + 1) * store->value_bytes, store->value_bytes);
        store->values_computed += (int64_t)(n * n);
    }
    return KC_OK;
}

/* Blocks of rows, each through the arena. */
static kc_status gather_blocks(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                               const int32_t *others, size_t n_cols, char *out, size_t ld)
{
    size_t most = kc_min(kc_store_user_max_rows(n_cols), n_rows);
    size_t bytes = store->value_bytes;
    char *block = kc_call_take(call, most, n_cols * sizeof(double));

    if (block == NULL)
        return kc_fail_nomem(call->err);
    for (size_t begin = 0; begin < n_rows; begin += most) {
        size_t n = kc_min(most, n_rows - begin);
        KC_TRY(kc_store_user_values(call, store, points + begin, n, others, n_cols, block));
        for (size_t i = 0; i < n; i++)
            memcpy(out + (begin + i) * ld * bytes, block + i * n_cols * bytes, n_cols * bytes);
        store->values_computed += (int64_t)(n * n_cols);
    }
    return KC_OK;
}

kc_status kc_store_user_gather(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                               const int32_t *others, size_t n_cols, void *out, size_t ld)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status = gather_blocks(call, store, points, n_rows, others, n_cols, out, ld);

    kc_arena_release(call->arena, point);
    return status;
}
