/* The public functions of stores (kcore/stores.h): check, run, release. */
#include <string.h>

#include "api/kc_problem_check.h"
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "kernel/kc_kernel.h"
#include "task/kc_dual_problem.h"
#include "task/kc_open_store.h"

/* ---- Life --------------------------------------------------------------------------------- */

static kc_status read_settings(const kc_store_settings *from, kc_store_settings *out, kc_error *err)
{
    KC_TRY(kc_struct_read(out, sizeof *out, from, "settings", err));
    if (out->dtype != 0 && out->dtype != KC_F32 && out->dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "settings.dtype is %d, must be KC_F32, KC_F64 or 0",
                       (int)out->dtype);
    if (out->cache_bytes < 0)
        return kc_fail(err, KC_ERR_ARG, "settings.cache_bytes is %lld, must be at least 0",
                       (long long)out->cache_bytes);
    return KC_OK;
}

static kc_status check_samples(const kc_kernel *kernel, const kc_points *x, kc_error *err)
{
    if (x == NULL)
        return kc_fail(err, KC_ERR_ARG, "x is NULL");
    if (kernel != NULL)
        return kc_kernel_check(kernel, x, x, err);
    return kc_points_check_form(x, err);
}

kc_status kc_store_create(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                          const kc_points *x, const kc_store_settings *settings, kc_store **out,
                          kc_error *err)
{
    kc_store_settings read;
    kc_store *store = NULL;
    kc_call call;
    kc_status status;

    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(read_settings(settings, &read, err));
    KC_TRY(check_samples(kernel, x, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "store", err));
    status = kc_store_open(&call, kernel, x, read.dtype, (size_t)read.cache_bytes, &store);
    if (status == KC_OK)
        *out = store;
    return kc_call_end(&call, status);
}

/* ---- What it is --------------------------------------------------------------------------- */

kc_status kc_store_describe(kc_store *store, kc_store_info *out, kc_error *err)
{
    kc_store_info info;
    kc_store_counters counters;
    size_t ld;

    if (store == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", store == NULL ? "store" : "out");
    KC_TRY(kc_struct_check(out, sizeof *out, "info", err));
    KC_TRY(kc_store_begin_use(NULL, store, err));
    counters = kc_store_count(store);
    info = (kc_store_info){
        .dtype = kc_store_dtype(store),
        .is_complete = kc_store_matrix(store, &ld) != NULL,
        .n_rows = (int64_t)kc_store_points(store),
        .rows_computed = counters.rows_computed,
        .rows_hit = counters.rows_hit,
        .rows_evicted = counters.rows_evicted,
        .values_computed = counters.values_computed,
        .cache_bytes_allowed = (int64_t)counters.bytes_allowed,
        .cache_bytes_used = (int64_t)counters.bytes_used,
        .seconds_rows = counters.seconds,
    };
    kc_store_end_use(store);
    kc_struct_write(out, &info, sizeof info);
    return KC_OK;
}

kc_status kc_store_diagonal(kc_store *store, double *out, int64_t n, kc_error *err)
{
    if (store == NULL)
        return kc_fail(err, KC_ERR_ARG, "store is NULL");
    KC_TRY(kc_check_length(out, n, kc_store_points(store), "the diagonal", err));
    for (size_t i = 0; i < (size_t)n; i++)
        out[i] = kc_number_at(kc_store_diag(store), i, kc_store_dtype(store));
    return KC_OK;
}

/* ---- One call with a store ----------------------------------------------------------------- */

static kc_status begin(kc_call *call, kc_context *ctx, const kc_run *run, kc_store *store,
                       const char *phase, kc_error *err)
{
    kc_status status;

    if (store == NULL)
        return kc_fail(err, KC_ERR_ARG, "store is NULL");
    KC_TRY(kc_call_begin(call, ctx, run, phase, err));
    status = kc_store_begin_use(ctx, store, err);
    return status == KC_OK ? KC_OK : kc_call_end(call, status);
}

static kc_status end(kc_call *call, kc_store *store, kc_status status)
{
    kc_store_end_use(store);
    return kc_call_end(call, status);
}

/* ---- K times vectors ----------------------------------------------------------------------- */

static kc_status read_product(const kc_product *from, size_t n_all, kc_product *out, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "product is NULL");
    KC_TRY(kc_struct_read(out, sizeof *out, from, "product", err));
    if (out->vectors == NULL)
        return kc_fail(err, KC_ERR_ARG, "product.vectors is NULL");
    if (out->n_vectors < 1 || out->n_vectors > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "product.n_vectors is %lld, must be 1 to %d",
                       (long long)out->n_vectors, INT32_MAX);
    if (out->columns != NULL ? out->n_columns < 0 || (uint64_t)out->n_columns > n_all
                             : out->n_columns != (int64_t)n_all)
        return kc_fail(err, KC_ERR_SHAPE, "product.n_columns is %lld, must be %s%zu",
                       (long long)out->n_columns, out->columns != NULL ? "0 to " : "", n_all);
    if (out->rows != NULL ? out->n_rows < 0 || out->n_rows > INT32_MAX
                          : out->n_rows != (int64_t)n_all)
        return kc_fail(err, KC_ERR_SHAPE, "product.n_rows is %lld, must be %s%zu",
                       (long long)out->n_rows, out->rows != NULL ? "0 or more, not " : "",
                       out->rows != NULL ? (size_t)INT32_MAX + 1 : n_all);
    return KC_OK;
}

static kc_status check_vectors(const kc_product *product, kc_error *err)
{
    const size_t n = (size_t)product->n_columns;

    for (size_t i = 0; i < (size_t)product->n_vectors * n; i++)
        if (!isfinite(product->vectors[i]))
            return kc_fail(err, KC_ERR_NONFINITE,
                           "product.vectors has %g in vector %zu, column %zu: must be finite",
                           product->vectors[i], i / n, i % n);
    return KC_OK;
}

static kc_status multiply(kc_call *call, kc_store *store, const kc_product *product, double *out)
{
    const size_t n_all = kc_store_points(store);
    const size_t n_out = (size_t)product->n_vectors * (size_t)product->n_rows;
    kc_store_sums sums = {.n_rows = (size_t)product->n_rows,
                          .n_cols = (size_t)product->n_columns,
                          .vectors = product->vectors,
                          .n_vectors = (size_t)product->n_vectors};
    int32_t *rows, *columns;
    double *found = kc_call_take(call, kc_max(n_out, 1), sizeof *found);

    if (found == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_rows_read(call, "product.columns", product->columns, product->n_columns, n_all, true,
                        &columns));
    KC_TRY(kc_rows_read(call, "product.rows", product->rows, product->n_rows, n_all, false, &rows));
    sums.rows = rows;
    sums.cols = columns;
    KC_TRY(kc_store_multiply_by(call, store, &sums, found));
    memcpy(out, found, n_out * sizeof *out);
    return KC_OK;
}

kc_status kc_store_multiply(kc_context *ctx, const kc_run *run, kc_store *store,
                            const kc_product *product, double *out, kc_error *err)
{
    kc_product read;
    kc_status status;
    kc_call call;

    KC_TRY(begin(&call, ctx, run, store, "multiply", err));
    status = out == NULL ? kc_fail(err, KC_ERR_ARG, "out is NULL")
                         : read_product(product, kc_store_points(store), &read, err);
    if (status == KC_OK)
        status = check_vectors(&read, err);
    if (status == KC_OK)
        status = multiply(&call, store, &read, out);
    return end(&call, store, status);
}

/* ---- Problems ------------------------------------------------------------------------------ */

static kc_status read_result(const kc_dual_result *from, kc_dual_result *out, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "result is NULL");
    KC_TRY(kc_struct_read(out, sizeof *out, from, "result", err));
    if (out->beta == NULL)
        return kc_fail(err, KC_ERR_ARG, "result.beta is NULL");
    *out = (kc_dual_result){
        .struct_size = out->struct_size, .beta = out->beta, .gradient = out->gradient};
    return KC_OK;
}

static kc_status solve(kc_call *call, kc_store *store, const kc_dual_problem *problem,
                       kc_dual_result *result)
{
    const size_t n_all = kc_store_points(store);
    kc_dual_problem read;
    kc_dual_result found;
    int32_t *rows;

    KC_TRY(kc_problem_read(problem, n_all, &read, call->err));
    KC_TRY(kc_rows_read(call, "problem.rows", read.rows, read.n, n_all, true, &rows));
    KC_TRY(read_result(result, &found, call->err));
    KC_TRY(kc_dual_problem_solve(call, store, &read, rows, &found));
    kc_struct_write(result, &found, sizeof found);
    return KC_OK;
}

kc_status kc_store_solve(kc_context *ctx, const kc_run *run, kc_store *store,
                         const kc_dual_problem *problem, kc_dual_result *result, kc_error *err)
{
    kc_call call;

    KC_TRY(begin(&call, ctx, run, store, "solve", err));
    return end(&call, store, solve(&call, store, problem, result));
}
