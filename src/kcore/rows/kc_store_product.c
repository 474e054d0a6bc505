/* The matrix times vectors.  See kc_store.h.
 *
 * Where many rows of the result are wanted, whole rows of the matrix are added up, so that those
 * that are kept serve; where few are, only their values at the columns are computed.  Which of the
 * two is chosen depends on counts alone. */
#include <string.h>

#include "base/kc_thread.h"
#include "rows/kc_store_impl.h"

/* Whole rows are added up where at least 1 / this of them all are wanted. */
#define WHOLE_DIVISOR ((size_t)4)

/* Values that are computed at once for few rows, in bytes. */
#define BLOCK_BYTES ((size_t)16 << 20)

/* Rows of a chunk of parallel sums. */
#define CHUNK_ROWS ((size_t)16)

/* The columns on which some vector is not zero, in order. */
typedef struct factors {
    int32_t *cols;
    double *values; /* n_vectors * n */
    size_t n;
} factors;

static bool is_zero(const kc_store_sums *product, size_t j)
{
    for (size_t k = 0; k < product->n_vectors; k++)
        if (product->vectors[k * product->n_cols + j] != 0)
            return false;
    return true;
}

static kc_status take_factors(kc_call *call, const kc_store_sums *product, factors *out)
{
    size_t n = 0;

    out->cols = kc_call_take(call, kc_max(product->n_cols, 1), sizeof *out->cols);
    out->values =
        kc_call_take(call, product->n_vectors, kc_max(product->n_cols, 1) * sizeof *out->values);
    if (out->cols == NULL || out->values == NULL)
        return kc_fail_nomem(call->err);
    for (size_t j = 0; j < product->n_cols; j++)
        if (!is_zero(product, j))
            out->cols[n++] = (int32_t)j; /* its number among the columns, for now */
    for (size_t k = 0; k < product->n_vectors; k++)
        for (size_t i = 0; i < n; i++)
            out->values[k * n + i] = product->vectors[k * product->n_cols + (size_t)out->cols[i]];
    for (size_t i = 0; product->cols != NULL && i < n; i++)
        out->cols[i] = product->cols[out->cols[i]];
    out->n = n;
    return KC_OK;
}

/* ---- Whole rows ---------------------------------------------------------------------------- */

static kc_status multiply_whole(kc_call *call, kc_store *store, const kc_store_sums *product,
                                const factors *by, double *out)
{
    const kc_cols all = {.span = {{0, store->n}}, .n_spans = 1};
    const size_t n = store->n, n_vectors = product->n_vectors;
    const kc_moved moved = {.points = by->cols, .delta = by->values, .n = by->n};
    double *sums = kc_call_take(call, n_vectors, n * sizeof *sums);

    if (sums == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < n_vectors * by->n; i++) /* apply subtracts */
        by->values[i] = -by->values[i];
    memset(sums, 0, n_vectors * n * sizeof *sums);
    KC_TRY(kc_store_apply_vectors(call, store, &all, &moved, n_vectors, sums, sums));
    for (size_t k = 0; k < n_vectors; k++)
        for (size_t r = 0; r < product->n_rows; r++)
            out[k * product->n_rows + r] =
                sums[k * n + (product->rows != NULL ? (size_t)product->rows[r] : r)];
    return KC_OK;
}

/* ---- Few rows ------------------------------------------------------------------------------ */

typedef struct summing {
    const kc_store_sums *product;
    const factors *by;
    const void *values; /* of the rows begin .. end - 1, by->n each */
    kc_dtype dtype;
    size_t begin, end;
    double *out;
} summing;

static double sum_row(const summing *s, size_t row, const double *vector)
{
    const size_t n = s->by->n;
    double total = 0;

    if (s->dtype == KC_F64)
        for (size_t j = 0; j < n; j++)
            total += vector[j] * ((const double *)s->values)[row * n + j];
    else
        for (size_t j = 0; j < n; j++)
            total += vector[j] * (double)((const float *)s->values)[row * n + j];
    return total;
}

static void sum_chunk(void *data, size_t chunk, int32_t worker)
{
    const summing *s = data;
    const size_t first = s->begin + chunk * CHUNK_ROWS;
    const size_t last = kc_min(first + CHUNK_ROWS, s->end);

    (void)worker;
    for (size_t k = 0; k < s->product->n_vectors; k++)
        for (size_t r = first; r < last; r++)
            s->out[k * s->product->n_rows + r] =
                sum_row(s, r - s->begin, s->by->values + k * s->by->n);
}

static kc_status sum_rows(kc_call *call, summing *s)
{
    const size_t work = (s->end - s->begin) * s->by->n * s->product->n_vectors;
    const int32_t n_threads = call->n_threads;
    kc_status status;

    if (work < KC_PARALLEL_WORK)
        call->n_threads = 1;
    status = kc_parallel_for(call, kc_ceil_div(s->end - s->begin, CHUNK_ROWS), sum_chunk, s);
    call->n_threads = n_threads;
    return status;
}

static kc_status multiply_few(kc_call *call, kc_store *store, const kc_store_sums *product,
                              const factors *by, double *out)
{
    const size_t most =
        kc_min(kc_max(BLOCK_BYTES / (by->n * store->value_bytes), 1), product->n_rows);
    void *values = kc_call_take(call, most, by->n * store->value_bytes);
    summing s = {.product = product, .by = by, .values = values, .dtype = store->dtype, .out = out};

    if (values == NULL)
        return kc_fail_nomem(call->err);
    for (; s.begin < product->n_rows; s.begin = s.end) {
        s.end = kc_min(s.begin + most, product->n_rows);
        KC_TRY(kc_store_gather(call, store, product->rows + s.begin, s.end - s.begin, by->cols,
                               by->n, values, by->n));
        KC_TRY(sum_rows(call, &s));
    }
    return KC_OK;
}

/* ---- The choice ---------------------------------------------------------------------------- */

kc_status kc_store_multiply_by(kc_call *call, kc_store *store, const kc_store_sums *product,
                               double *out)
{
    const kc_arena_point point = kc_arena_mark(call->arena);
    const bool is_whole = product->rows == NULL || kc_store_is_linear(store) ||
                          product->n_rows >= kc_ceil_div(store->n, WHOLE_DIVISOR);
    factors by;
    kc_status status = take_factors(call, product, &by);

    if (status == KC_OK && (by.n == 0 || product->n_rows == 0))
        memset(out, 0, product->n_vectors * product->n_rows * sizeof *out);
    else if (status == KC_OK)
        status = is_whole ? multiply_whole(call, store, product, &by, out)
                          : multiply_few(call, store, product, &by, out);
    kc_arena_release(call->arena, point);
    return status;
}
