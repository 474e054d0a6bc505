/* Kernels of what is made of the samples' columns: a step more at the beginning of what every leaf
 * reads.  Readings are found by value: leaves that read the same share what is packed of it. */
#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_sort.h"
#include "kernel/kc_build.h"

/* ---- Readings of a kernel ------------------------------------------------------------------- */

static kc_reading_span *spans_of(const kc_kernel *kernel)
{
    return (kc_reading_span *)(void *)(kernel->nodes + kernel->max_nodes);
}

static char *bytes_of(const kc_kernel *kernel)
{
    return (char *)(spans_of(kernel) + kernel->max_nodes);
}

kc_readings kc_kernel_readings(const kc_kernel *kernel)
{
    return (kc_readings){bytes_of(kernel), spans_of(kernel), kernel->n_readings};
}

int32_t kc_build_reading(kc_kernel *made, const kc_step_list *reading)
{
    const kc_readings known = kc_kernel_readings(made);

    for (size_t r = 0; r < known.n; r++) {
        const kc_step_list one = kc_reading_at(&known, r);

        if (one.n_bytes == reading->n_bytes && memcmp(one.steps, reading->steps, one.n_bytes) == 0)
            return (int32_t)r + 1;
    }
    assert(made->n_readings < made->max_nodes);
    assert(made->n_bytes + reading->n_bytes <= made->max_bytes);
    memcpy(bytes_of(made) + made->n_bytes, reading->steps, reading->n_bytes);
    spans_of(made)[made->n_readings++] = (kc_reading_span){made->n_bytes, reading->n_bytes};
    made->n_bytes += reading->n_bytes;
    return (int32_t)made->n_readings;
}

/* ---- One step more -------------------------------------------------------------------------- */

/* What the leaf reads, behind the step; `room` has zeros for the bytes of both. */
static kc_status read_through(const kc_kernel *kernel, const kc_node *leaf, const kc_step *step,
                              kc_kernel *made, void *room, int32_t *out, kc_error *err)
{
    const kc_readings readings = kc_kernel_readings(kernel);
    const kc_step_list old = leaf->reading > 0 ? kc_reading_at(&readings, (size_t)leaf->reading - 1)
                                               : (kc_step_list){NULL, 0};
    kc_step_list joined = {room, 0};

    memset(room, 0, step->n_bytes + old.n_bytes);
    KC_TRY(kc_reading_join(step, &old, room, &joined.n_bytes, err));
    *out = kc_build_reading(made, &joined);
    return KC_OK;
}

static kc_status put_step(kc_context *ctx, const kc_kernel *kernel, const kc_step *step,
                          kc_kernel **out, kc_error *err)
{
    const size_t n_bytes = kernel->n_bytes + (kernel->n_readings + 1) * step->n_bytes;
    void *room = kc_alloc(ctx, 1, kernel->n_bytes + step->n_bytes);
    kc_status status = room != NULL ? KC_OK : kc_fail_nomem(err);
    kc_kernel *made = NULL;

    if (status == KC_OK)
        status = kc_build_begin(ctx, kernel->n_nodes, n_bytes, &made, err);
    for (size_t i = 0; i < kernel->n_nodes && status == KC_OK; i++) {
        kc_node *node = &made->nodes[made->n_nodes++];

        *node = kernel->nodes[i];
        if (node->leaf != NULL)
            status = read_through(kernel, &kernel->nodes[i], step, made, room, &node->reading, err);
    }
    kc_free(ctx, room);
    if (status == KC_OK)
        return kc_build_finish(ctx, made, out, err);
    kc_kernel_free(ctx, made);
    return status;
}

/* A step of `count` numbers or columns, which are copied. */
static kc_status put_values(kc_context *ctx, const kc_kernel *kernel, const kc_step *how,
                            const void *values, size_t count, kc_kernel **out, kc_error *err)
{
    const size_t size = how->kind == KC_STEP_SELECT ? sizeof(int32_t) : sizeof(double);
    kc_step *step = NULL;
    kc_status status;
    size_t n_bytes;

    if (kc_step_bytes((kc_step_kind)how->kind, count, &n_bytes))
        step = kc_calloc(ctx, 1, n_bytes);
    if (step == NULL)
        return kc_fail_nomem(err);
    *step = *how;
    step->n_bytes = n_bytes;
    memcpy(step + 1, values, count * size);
    status = put_step(ctx, kernel, step, out, err);
    kc_free(ctx, step);
    return status;
}

/* ---- Constructors --------------------------------------------------------------------------- */

static kc_status check_count(const char *name, int64_t n, kc_error *err)
{
    if (n < 1 || n > INT32_MAX)
        return kc_fail(err, KC_ERR_ARG, "%s is %lld, must be 1 to %d", name, (long long)n,
                       INT32_MAX);
    return KC_OK;
}

static kc_status check_columns(kc_context *ctx, const int32_t *columns, int64_t n, kc_error *err)
{
    kc_entry *sorted;
    kc_status status = KC_OK;

    KC_TRY(check_count("n", n, err));
    sorted = kc_calloc(ctx, (size_t)n, sizeof *sorted);
    if (sorted == NULL)
        return kc_fail_nomem(err);
    for (int64_t i = 0; i < n && status == KC_OK; i++) {
        sorted[i].col = columns[i];
        if (columns[i] < 0)
            status = kc_fail(err, KC_ERR_ARG, "columns[%lld] is %d, must not be negative",
                             (long long)i, (int)columns[i]);
    }
    if (status == KC_OK)
        kc_entries_sort(sorted, (size_t)n);
    for (int64_t i = 1; i < n && status == KC_OK; i++)
        if (sorted[i].col == sorted[i - 1].col)
            status = kc_fail(err, KC_ERR_ARG, "columns has %d twice", (int)sorted[i].col);
    kc_free(ctx, sorted);
    return status;
}

kc_status kc_kernel_on(kc_context *ctx, const kc_kernel *kernel, const int32_t *columns, int64_t n,
                       kc_kernel **out, kc_error *err)
{
    KC_TRY(kc_build_check(ctx, kernel, "kernel", out, err));
    KC_TRY(kc_build_check(ctx, columns, "columns", out, err));
    KC_TRY(check_columns(ctx, columns, n, err));
    return put_values(ctx, kernel, &(kc_step){.kind = KC_STEP_SELECT, .n_out = (size_t)n}, columns,
                      (size_t)n, out, err);
}

kc_status kc_kernel_on_factors(kc_context *ctx, const kc_kernel *kernel, const double *factors,
                               int64_t n, kc_kernel **out, kc_error *err)
{
    KC_TRY(kc_build_check(ctx, kernel, "kernel", out, err));
    KC_TRY(kc_build_check(ctx, factors, "factors", out, err));
    KC_TRY(check_count("n", n, err));
    for (int64_t t = 0; t < n; t++)
        if (!isfinite(factors[t]))
            return kc_fail(err, KC_ERR_ARG, "factors[%lld] is %g, must be finite", (long long)t,
                           factors[t]);
    return put_values(ctx, kernel,
                      &(kc_step){.kind = KC_STEP_SCALE, .n_in = (size_t)n, .n_out = (size_t)n},
                      factors, (size_t)n, out, err);
}

kc_status kc_kernel_on_map(kc_context *ctx, const kc_kernel *kernel, const double *matrix,
                           int64_t n_rows, int64_t n_cols, kc_kernel **out, kc_error *err)
{
    size_t count;

    KC_TRY(kc_build_check(ctx, kernel, "kernel", out, err));
    KC_TRY(kc_build_check(ctx, matrix, "matrix", out, err));
    KC_TRY(check_count("n_rows", n_rows, err));
    KC_TRY(check_count("n_cols", n_cols, err));
    if (!kc_mul_size((size_t)n_rows, (size_t)n_cols, &count))
        return kc_fail_nomem(err);
    for (size_t k = 0; k < count; k++)
        if (!isfinite(matrix[k]))
            return kc_fail(err, KC_ERR_ARG, "matrix: row %zu, column %zu is %g, must be finite",
                           k / (size_t)n_cols, k % (size_t)n_cols, matrix[k]);
    return put_values(
        ctx, kernel,
        &(kc_step){.kind = KC_STEP_MAP, .n_in = (size_t)n_cols, .n_out = (size_t)n_rows}, matrix,
        count, out, err);
}

kc_status kc_kernel_on_period(kc_context *ctx, const kc_kernel *kernel, const double *periods,
                              int64_t n, kc_kernel **out, kc_error *err)
{
    const size_t n_in = n > 1 ? (size_t)n : 0;

    KC_TRY(kc_build_check(ctx, kernel, "kernel", out, err));
    KC_TRY(kc_build_check(ctx, periods, "periods", out, err));
    KC_TRY(check_count("n", n, err));
    for (int64_t t = 0; t < n; t++)
        if (!(periods[t] > 0) || !isfinite(periods[t]))
            return kc_fail(err, KC_ERR_ARG, "periods[%lld] is %g, must be finite and > 0",
                           (long long)t, periods[t]);
    return put_values(ctx, kernel,
                      &(kc_step){.kind = KC_STEP_PERIOD, .n_in = n_in, .n_out = 2 * n_in}, periods,
                      (size_t)n, out, err);
}
