/* Checks of a view's shape and structure.  Values are looked at where they are read anyway: while
 * packing. */
#include "data/kc_points.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_context.h"
#include "base/kc_thread.h"

const char *kc_points_name(const kc_points *points)
{
    return points->name != NULL ? points->name : "points";
}

/* Offsets between two polls. */
#define POLL_OFFSETS ((size_t)1 << 18)

/* Each offset is read once, checked, and kept in `copy`, unless that is NULL; the last one is
 * *n_values. */
static kc_status check_offsets(kc_call *call, const kc_points *points, int64_t *copy,
                               size_t *n_values)
{
    const char *name = kc_points_name(points);
    const size_t n_rows = (size_t)points->n_rows;
    int64_t last = kc_index_at(points->indptr, points->index_bytes, 0);

    if (last != 0)
        return kc_fail(call->err, KC_ERR_INDEX, "%s: indptr[0] is %lld, must be 0", name,
                       (long long)last);
    if (copy != NULL)
        copy[0] = 0;
    for (size_t i = 1; i <= n_rows; i++) {
        int64_t offset = kc_index_at(points->indptr, points->index_bytes, i);

        if (offset < last)
            return kc_fail(call->err, KC_ERR_INDEX,
                           "%s: indptr[%zu] is %lld, below indptr[%zu] = %lld", name, i,
                           (long long)offset, i - 1, (long long)last);
        last = offset;
        if (copy != NULL)
            copy[i] = offset;
        if (i % POLL_OFFSETS == 0 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    if (last > points->n_values)
        return kc_fail(call->err, KC_ERR_INDEX,
                       "%s: indptr ends at %lld, but there are %lld values", name, (long long)last,
                       (long long)points->n_values);
    *n_values = (size_t)last;
    return KC_OK;
}

/* Whether n columns are all in 0 .. n_cols - 1: then neither a column nor its distance from the
 * last one has a sign bit.  Written so that compilers make vectors of it; the rare bad column is
 * looked for afterwards. */
static bool are_columns(const void *indices, int32_t index_bytes, size_t begin, size_t end,
                        int64_t n_cols)
{
    const uint32_t last32 = (uint32_t)n_cols - 1;
    const uint64_t last64 = (uint64_t)n_cols - 1;
    uint32_t bits32 = 0;
    uint64_t bits64 = 0;

    if (index_bytes == 4)
        for (size_t k = begin; k < end; k++) {
            const uint32_t col = ((const uint32_t *)indices)[k];

            bits32 |= col | (last32 - col);
        }
    else
        for (size_t k = begin; k < end; k++) {
            const uint64_t col = ((const uint64_t *)indices)[k];

            bits64 |= col | (last64 - col);
        }
    return bits32 >> 31 == 0 && bits64 >> 63 == 0;
}

typedef struct columns_job {
    const kc_points *points;
    size_t n_values;
    int32_t *copy;     /* NULL: the columns are only looked at */
    atomic_size_t bad; /* the first chunk with a bad column, or SIZE_MAX */
} columns_job;

/* Columns copied, then checked while they are in the first-level cache. */
#define COPY_COLUMNS ((size_t)4096)

/* What does not fit into 32 bits becomes a column that there is not. */
static void copy_columns(const kc_points *points, size_t begin, size_t end, int32_t *copy)
{
    if (points->index_bytes == 4)
        memcpy(copy + begin, (const int32_t *)points->indices + begin,
               (end - begin) * sizeof *copy);
    else
        for (size_t k = begin; k < end; k++) {
            const uint64_t col = ((const uint64_t *)points->indices)[k];

            copy[k] = col <= INT32_MAX ? (int32_t)col : -1;
        }
}

static bool copy_chunk(const columns_job *job, size_t begin, size_t end)
{
    const kc_points *points = job->points;
    bool are_good = true;

    for (; begin < end; begin += COPY_COLUMNS) {
        const size_t stop = kc_min(begin + COPY_COLUMNS, end);

        copy_columns(points, begin, stop, job->copy);
        are_good &= are_columns(job->copy, sizeof *job->copy, begin, stop, points->n_cols);
    }
    return are_good;
}

static void check_chunk(void *data, size_t chunk, int32_t worker)
{
    columns_job *job = data;
    const kc_points *points = job->points;
    const size_t begin = chunk * KC_CHUNK_ENTRIES;
    const size_t end = kc_min(begin + KC_CHUNK_ENTRIES, job->n_values);
    size_t before = atomic_load(&job->bad);

    (void)worker;
    if (job->copy != NULL
            ? copy_chunk(job, begin, end)
            : are_columns(points->indices, points->index_bytes, begin, end, points->n_cols))
        return;
    while (chunk < before && !atomic_compare_exchange_weak(&job->bad, &before, chunk))
        ;
}

/* The row that value k stands in. */
static size_t find_row(const kc_points *points, size_t k)
{
    size_t low = 0, high = (size_t)points->n_rows;

    while (low + 1 < high) {
        const size_t middle = low + (high - low) / 2;

        if (kc_index_at(points->indptr, points->index_bytes, middle) <= (int64_t)k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first bad column of a chunk that has one, unless another thread has written a good one over
 * it since. */
static kc_status fail_column(const columns_job *job, size_t chunk, kc_error *err)
{
    const kc_points *points = job->points;
    const size_t begin = chunk * KC_CHUNK_ENTRIES;
    const size_t end = kc_min(begin + KC_CHUNK_ENTRIES, job->n_values);

    for (size_t k = begin; k < end; k++) {
        const int64_t col = kc_index_at(points->indices, points->index_bytes, k);

        if (col < 0 || col >= points->n_cols)
            return kc_fail(err, KC_ERR_INDEX,
                           "%s: row %zu has column index %lld at position %zu, must be 0 to %lld",
                           kc_points_name(points), find_row(points, k), (long long)col, k,
                           (long long)points->n_cols - 1);
    }
    return kc_fail(err, KC_ERR_INDEX, "%s: column indices change while they are read",
                   kc_points_name(points));
}

static kc_status check_columns(kc_call *call, const kc_points *points, size_t n_values,
                               int32_t *copy)
{
    columns_job job = {points, n_values, copy, SIZE_MAX};
    size_t bad;

    KC_TRY(kc_parallel_for(call, kc_ceil_div(n_values, KC_CHUNK_ENTRIES), check_chunk, &job));
    bad = atomic_load(&job.bad);
    return bad == SIZE_MAX ? KC_OK : fail_column(&job, bad, call->err);
}

/* ---- Shape --------------------------------------------------------------------------------- */

/* What a kernel must know of a part: its storage, and how many columns there are. */
static kc_status check_kind(const kc_points *points, kc_error *err)
{
    const char *name = kc_points_name(points);

    if (points->storage < KC_DENSE || points->storage > KC_STRINGS)
        return kc_fail(err, KC_ERR_TYPE, "%s: storage is %d, must be dense, CSR or strings", name,
                       (int)points->storage);
    if (points->storage == KC_STRINGS)
        return KC_OK;
    if (points->n_cols < 1)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld columns, must have at least 1", name,
                       (long long)points->n_cols);
    if (points->n_cols > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld columns, must have at most %d", name,
                       (long long)points->n_cols, INT32_MAX);
    return KC_OK;
}

static kc_status check_sizes(const kc_points *points, kc_error *err)
{
    const char *name = kc_points_name(points);

    if (points->n_rows < 1)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld rows, must have at least 1", name,
                       (long long)points->n_rows);
    if (points->n_rows > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld rows, must have at most %d", name,
                       (long long)points->n_rows, INT32_MAX);
    KC_TRY(check_kind(points, err));
    if (points->storage != KC_STRINGS && points->dtype != KC_F32 && points->dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "%s: dtype is %d, must be KC_F32 or KC_F64", name,
                       (int)points->dtype);
    return KC_OK;
}

/* `what` is there, and an array of numbers of n_bytes each may be read from it. */
static kc_status check_array(const kc_points *points, const char *what, const void *array,
                             size_t n_bytes, kc_error *err)
{
    if (array == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s: %s is NULL", kc_points_name(points), what);
    if ((uintptr_t)array % n_bytes != 0)
        return kc_fail(err, KC_ERR_ARG, "%s: %s is not aligned to %zu bytes",
                       kc_points_name(points), what, n_bytes);
    return KC_OK;
}

static kc_status check_stride(const kc_points *points, const char *what, int64_t stride, int64_t n,
                              kc_error *err)
{
    const int64_t n_bytes = (int64_t)kc_dtype_bytes(points->dtype);

    if (n > 1 && stride % n_bytes != 0)
        return kc_fail(err, KC_ERR_ARG, "%s: %s is %lld bytes, must be a multiple of %lld",
                       kc_points_name(points), what, (long long)stride, (long long)n_bytes);
    return KC_OK;
}

static kc_status check_dense(const kc_points *points, kc_error *err)
{
    KC_TRY(check_array(points, "values", points->values, kc_dtype_bytes(points->dtype), err));
    KC_TRY(check_stride(points, "row_stride", points->row_stride, points->n_rows, err));
    return check_stride(points, "col_stride", points->col_stride, points->n_cols, err);
}

static kc_status check_sparse(const kc_points *points, kc_error *err)
{
    const char *name = kc_points_name(points);
    const bool is_csr = points->storage == KC_CSR;
    const size_t index_bytes = (size_t)points->index_bytes;

    if (points->index_bytes != 8 && (points->index_bytes != 4 || !is_csr))
        return kc_fail(err, KC_ERR_TYPE, "%s: index_bytes is %d, must be %s", name,
                       (int)points->index_bytes, is_csr ? "4 or 8" : "8");
    if (points->n_values < 0)
        return kc_fail(err, KC_ERR_ARG, "%s: n_values is %lld, must be 0 or more", name,
                       (long long)points->n_values);
    KC_TRY(check_array(points, "indptr", points->indptr, index_bytes, err));
    if (points->n_values > 0)
        KC_TRY(check_array(points, "values", points->values,
                           is_csr ? kc_dtype_bytes(points->dtype) : 1, err));
    if (points->n_values > 0 && is_csr)
        KC_TRY(check_array(points, "indices", points->indices, index_bytes, err));
    return KC_OK;
}

/* One part by itself. */
static kc_status check_part(const kc_points *points, kc_error *err)
{
    KC_TRY(check_sizes(points, err));
    return points->storage == KC_DENSE ? check_dense(points, err) : check_sparse(points, err);
}

kc_status kc_points_check_parts(const kc_points *points, kc_error *err)
{
    size_t n_parts = 0, n_cols = 0;

    for (const kc_points *part = points; part != NULL; part = part->next) {
        KC_TRY(kc_struct_check_whole(part, sizeof *part, kc_points_name(points), err));
        if (++n_parts > KC_MAX_PARTS)
            return kc_fail(err, KC_ERR_SHAPE, "%s has more than %d parts", kc_points_name(points),
                           KC_MAX_PARTS);
        if (part->n_rows != points->n_rows)
            return kc_fail(err, KC_ERR_SHAPE, "part %zu of %s has %lld rows, part 0 has %lld",
                           n_parts - 1, kc_points_name(points), (long long)part->n_rows,
                           (long long)points->n_rows);
        KC_TRY(check_kind(part, err));
        n_cols += kc_part_columns(part);
        if (n_parts > 1 && n_cols > INT32_MAX)
            return kc_fail(err, KC_ERR_SHAPE, "%s has more than %d columns in all its parts",
                           kc_points_name(points), INT32_MAX);
    }
    return KC_OK;
}

kc_status kc_points_check_form(const kc_points *points, kc_error *err)
{
    KC_TRY(kc_points_check_parts(points, err));
    for (; points != NULL; points = points->next)
        KC_TRY(check_part(points, err));
    return KC_OK;
}

/* ---- Structure ----------------------------------------------------------------------------- */

static kc_status copy_structure(kc_call *call, const kc_points *points, kc_structure *out)
{
    size_t n_values = 0;

    out->indptr = kc_alloc(call->ctx, (size_t)points->n_rows + 1, sizeof *out->indptr);
    if (out->indptr == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(check_offsets(call, points, out->indptr, &n_values));
    if (points->storage == KC_STRINGS)
        return KC_OK;
    out->cols = kc_alloc(call->ctx, kc_max(1, n_values), sizeof *out->cols);
    if (out->cols == NULL)
        return kc_fail_nomem(call->err);
    return check_columns(call, points, n_values, out->cols);
}

kc_status kc_structure_copy(kc_call *call, const kc_points *points, kc_structure *out)
{
    kc_status status;

    *out = (kc_structure){0};
    KC_TRY(check_part(points, call->err));
    status = copy_structure(call, points, out);
    if (status != KC_OK)
        kc_structure_free(call->ctx, out);
    return status;
}

void kc_structure_free(kc_context *ctx, kc_structure *structure)
{
    kc_free(ctx, structure->indptr);
    kc_free(ctx, structure->cols);
    *structure = (kc_structure){0};
}

/* The first row that begins, counting one more for each row, at entry `place` or after it. */
static size_t first_row_from(const void *indptr, int32_t index_bytes, size_t n_rows, size_t place)
{
    size_t low = 0, high = n_rows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if ((size_t)kc_index_at(indptr, index_bytes, middle) + middle < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void kc_row_chunk(const void *indptr, int32_t index_bytes, size_t n_rows, size_t chunk,
                  size_t *begin, size_t *end)
{
    const size_t place = chunk * KC_CHUNK_ENTRIES;

    *begin = first_row_from(indptr, index_bytes, n_rows, place);
    *end = first_row_from(indptr, index_bytes, n_rows, place + KC_CHUNK_ENTRIES);
}

kc_status kc_points_check(kc_call *call, const kc_points *points)
{
    KC_TRY(kc_points_check_form(points, call->err));
    for (; points != NULL; points = points->next) {
        size_t n_values = 0;

        if (points->storage != KC_DENSE)
            KC_TRY(check_offsets(call, points, NULL, &n_values));
        if (points->storage == KC_CSR)
            KC_TRY(check_columns(call, points, n_values, NULL));
    }
    return KC_OK;
}

kc_status kc_points_check_late(kc_call *call, const kc_points *points)
{
    kc_status status;

    kc_call_extend(call, HUGE_VAL);
    status = kc_points_check(call, points);
    kc_call_expire(call);
    return status;
}

kc_status kc_points_fail_value(const kc_points *points, size_t row, size_t col, double value,
                               kc_error *err)
{
    return kc_fail(err, KC_ERR_NONFINITE, "%s: row %zu, column %lld is %s, must be finite",
                   kc_points_name(points), row, (long long)(points->first_col + (int64_t)col),
                   isnan(value)  ? "NaN"
                   : value > 0.0 ? "infinity"
                                 : "-infinity");
}

static kc_status fail_value(const kc_points *points, size_t row, int64_t col, double value,
                            kc_dtype dtype, kc_error *err)
{
    const char *name = kc_points_name(points);
    const double most = dtype == KC_F64 ? DBL_MAX : (double)FLT_MAX; /* as in data/kc_packed.c */

    if (!isfinite(value))
        return kc_points_fail_value(points, row, (size_t)col, value, err);
    return kc_fail(
        err, KC_ERR_RANGE, "%s: row %zu, column %lld is %g: %s %s; scale the data%s", name, row,
        (long long)(points->first_col + col), value,
        value * value > most / 4 ? "its square overflows" : "the row's sum of squares overflows",
        dtype == KC_F64 ? "float64" : "float32", dtype == KC_F64 ? "" : " or use float64");
}

kc_status kc_points_fail_row(const kc_points *points, size_t row, kc_dtype dtype, kc_error *err)
{
    const bool is_dense = points->storage == KC_DENSE;
    size_t begin = 0, end = (size_t)points->n_cols;
    int64_t worst_col = 0;
    double worst = 0.0;

    if (!is_dense)
        kc_row_of(points, row, &begin, &end);
    for (size_t k = begin; k < end; k++) {
        const int64_t col = (int64_t)(is_dense ? k : kc_column_at(points, k));
        const double value =
            kc_value_at(points, is_dense ? kc_dense_at(points, row, k) : kc_sparse_at(points, k));

        if (!isfinite(value))
            return fail_value(points, row, col, value, dtype, err);
        if (fabs(value) > fabs(worst)) {
            worst = value;
            worst_col = col;
        }
    }
    return fail_value(points, row, worst_col, worst, dtype, err);
}
