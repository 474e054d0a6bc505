/* Parts of views, and views of some of their rows and columns: copies in the call's arena.  Numbers
 * are copied as they are; what they are is looked at while they are packed. */
#include <string.h>

#include "data/kc_points.h"

/* ---- Parts ---------------------------------------------------------------------------------- */

size_t kc_points_columns(const kc_points *points)
{
    size_t n = 0;

    for (; points != NULL; points = points->next)
        n += kc_part_columns(points);
    return n;
}

bool kc_points_are_numbers(const kc_points *points)
{
    return points->next == NULL && points->storage != KC_STRINGS;
}

kc_status kc_points_check_numbers(const kc_points *points, kc_error *err)
{
    KC_TRY(kc_points_check_parts(points, err));
    if (points->storage == KC_STRINGS)
        return kc_fail(err, KC_ERR_TYPE, "%s holds strings, numbers are needed",
                       kc_points_name(points));
    if (points->next != NULL)
        return kc_fail(err, KC_ERR_TYPE, "%s has several parts, numbers of one part are needed",
                       kc_points_name(points));
    return KC_OK;
}

static const char *const kinds[] = {"numbers", "strings"};

static const char *kind_of(const kc_points *part)
{
    return kinds[part->storage == KC_STRINGS];
}

static kc_status fail_kind(const kc_points *x, const char *x_name, const kc_points *z,
                           const char *z_name, size_t col, kc_error *err)
{
    return kc_fail(err, KC_ERR_TYPE, "column %zu of %s holds %s, that of %s %s", col, x_name,
                   kind_of(x), z_name, kind_of(z));
}

kc_status kc_points_check_alike(const kc_points *x, const kc_points *z, kc_error *err)
{
    const char *x_name = kc_points_name(x), *z_name = kc_points_name(z);
    const size_t n_x = kc_points_columns(x), n_z = kc_points_columns(z);
    size_t col = 0;

    if (n_x != n_z)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %zu columns, %s has %zu", x_name, n_x, z_name,
                       n_z);
    for (; x != NULL && z != NULL; col += kc_part_columns(x), x = x->next, z = z->next) {
        const size_t d = kc_min(kc_part_columns(x), kc_part_columns(z));
        const kc_points *after_x = kc_part_columns(x) > d ? x : x->next;
        const kc_points *after_z = kc_part_columns(z) > d ? z : z->next;

        if (kind_of(x) != kind_of(z))
            return fail_kind(x, x_name, z, z_name, col, err);
        if (kc_part_columns(x) == kc_part_columns(z))
            continue;
        if (kind_of(after_x) != kind_of(after_z))
            return fail_kind(after_x, x_name, after_z, z_name, col + d, err);
        return kc_fail(err, KC_ERR_SHAPE,
                       "the part of %s from column %zu on has %zu columns, that of %s %zu", x_name,
                       col, kc_part_columns(x), z_name, kc_part_columns(z));
    }
    return KC_OK;
}

/* ---- Some rows ------------------------------------------------------------------------------ */

static size_t value_bytes(const kc_points *points)
{
    return points->storage == KC_STRINGS ? 1 : kc_dtype_bytes(points->dtype);
}

static kc_status take_dense(kc_call *call, const kc_points *points, const int32_t *rows,
                            kc_points *out)
{
    const size_t bytes = kc_dtype_bytes(points->dtype);
    const size_t n_cols = (size_t)points->n_cols, n_rows = (size_t)out->n_rows;
    char *values = kc_call_take(call, n_rows, n_cols * bytes);

    if (values == NULL)
        return kc_fail_nomem(call->err);
    const size_t run = points->col_stride == (int64_t)bytes ? n_cols : 1; /* columns in a row */
    for (size_t i = 0; i < n_rows; i++)
        for (size_t t = 0; t < n_cols; t += run)
            memcpy(values + (i * n_cols + t) * bytes, kc_dense_at(points, (size_t)rows[i], t),
                   run * bytes);
    out->values = values;
    out->row_stride = (int64_t)(n_cols * bytes);
    out->col_stride = (int64_t)bytes;
    return KC_OK;
}

/* Row by row of CSR or strings, which is longer or shorter now where another thread has changed
 * it: as much as there was room made for. */
static void copy_rows(const kc_points *points, const int32_t *rows, const int64_t *indptr,
                      size_t n_rows, int64_t *indices, char *values)
{
    const size_t bytes = value_bytes(points);
    size_t begin, end;

    for (size_t i = 0; i < n_rows; i++) {
        const size_t to = (size_t)indptr[i], room = (size_t)indptr[i + 1] - to;

        kc_row_of(points, (size_t)rows[i], &begin, &end);
        end = kc_min(end, begin + room);
        for (size_t k = begin; indices != NULL && k < end; k++)
            indices[to + k - begin] = (int64_t)kc_column_at(points, k);
        if (end > begin)
            memcpy(values + to * bytes, (const char *)points->values + begin * bytes,
                   (end - begin) * bytes);
    }
}

static kc_status take_rows(kc_call *call, const kc_points *points, const int32_t *rows,
                           kc_points *out)
{
    const size_t n_rows = (size_t)out->n_rows;
    int64_t *indptr = kc_call_take(call, n_rows + 1, sizeof *indptr), *indices = NULL;
    size_t begin, end, most;
    char *values;

    if (indptr == NULL)
        return kc_fail_nomem(call->err);
    indptr[0] = 0;
    for (size_t i = 0; i < n_rows; i++) {
        kc_row_of(points, (size_t)rows[i], &begin, &end);
        indptr[i + 1] = indptr[i] + (int64_t)(end - begin);
    }
    out->n_values = indptr[n_rows];
    most = kc_max(1, (size_t)out->n_values);
    values = kc_call_take(call, most, value_bytes(points));
    if (points->storage == KC_CSR)
        indices = kc_call_take(call, most, sizeof *indices);
    if (values == NULL || (points->storage == KC_CSR && indices == NULL))
        return kc_fail_nomem(call->err);
    memset(values, 0, most * value_bytes(points));
    if (indices != NULL)
        memset(indices, 0, most * sizeof *indices);
    copy_rows(points, rows, indptr, n_rows, indices, values);
    out->indptr = indptr;
    out->indices = indices;
    out->values = values;
    out->index_bytes = 8;
    return KC_OK;
}

static kc_status take_part(kc_call *call, const kc_points *points, const int32_t *rows,
                           size_t n_rows, kc_points *out)
{
    *out = *points;
    out->n_rows = (int64_t)n_rows;
    return points->storage == KC_DENSE ? take_dense(call, points, rows, out)
                                       : take_rows(call, points, rows, out);
}

kc_status kc_points_take(kc_call *call, const kc_points *points, const int32_t *rows, size_t n_rows,
                         kc_points *out)
{
    KC_TRY(take_part(call, points, rows, n_rows, out));
    for (points = points->next; points != NULL; points = points->next) {
        kc_points *part = kc_call_take(call, 1, sizeof *part);

        if (part == NULL)
            return kc_fail_nomem(call->err);
        KC_TRY(take_part(call, points, rows, n_rows, part));
        out->next = part;
        out = part;
    }
    return KC_OK;
}

/* ---- Some columns -------------------------------------------------------------------------- */

/* Rows copied between two polls. */
#define SELECTED_ROWS ((size_t)256)

/* The part that column `col` lies in, and the number of its first column; NULL: there is none. */
static const kc_points *part_with(const kc_points *points, int32_t col, size_t *first)
{
    *first = 0;
    while (points != NULL && (size_t)col - *first >= kc_part_columns(points)) {
        *first += kc_part_columns(points);
        points = points->next;
    }
    return points;
}

/* A column of a dense part, as it is copied. */
typedef struct source {
    const kc_points *part;
    size_t col;
} source;

static void copy_number(const source *from, size_t row, kc_dtype dtype, char *to)
{
    const void *value = kc_dense_at(from->part, row, from->col);

    if (from->part->dtype == dtype)
        memcpy(to, value, kc_dtype_bytes(dtype));
    else /* the wider type is that of the result */
        *(double *)(void *)to = kc_value_at(from->part, value);
}

/* float64 where one of the parts is. */
static const source *find_sources(kc_call *call, const kc_points *points,
                                  const kc_column_list *columns, kc_dtype *dtype)
{
    source *sources = kc_call_take(call, columns->n, sizeof *sources);
    size_t first;

    *dtype = KC_F32;
    for (size_t c = 0; sources != NULL && c < columns->n; c++) {
        sources[c].part = part_with(points, columns->list[c], &first);
        sources[c].col = (size_t)columns->list[c] - first;
        if (sources[c].part->dtype == KC_F64)
            *dtype = KC_F64;
    }
    return sources;
}

static kc_status select_dense(kc_call *call, const kc_points *points, const kc_column_list *columns,
                              kc_points *out)
{
    const source *sources = find_sources(call, points, columns, &out->dtype);
    const size_t bytes = kc_dtype_bytes(out->dtype), n = (size_t)points->n_rows;
    size_t row_bytes;
    char *to;

    if (sources == NULL || !kc_mul_size(columns->n, bytes, &row_bytes))
        return kc_fail_nomem(call->err);
    out->values = to = kc_call_take(call, kc_max(1, n), row_bytes);
    if (to == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < columns->n; c++, to += bytes)
            copy_number(&sources[c], i, out->dtype, to);
        if (i % SELECTED_ROWS == 0 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    out->row_stride = (int64_t)row_bytes;
    out->col_stride = (int64_t)bytes;
    return KC_OK;
}

/* Where the columns go: -1 for those that are left out. */
static int32_t *places_of(kc_call *call, const kc_points *points, const kc_column_list *columns)
{
    const size_t d = (size_t)points->n_cols;
    int32_t *places = kc_call_take(call, d, sizeof *places);

    for (size_t t = 0; places != NULL && t < d; t++)
        places[t] = -1;
    for (size_t c = 0; places != NULL && c < columns->n; c++)
        places[columns->list[c]] = (int32_t)c;
    return places;
}

static kc_status select_csr(kc_call *call, const kc_points *points, const kc_column_list *columns,
                            kc_points *out)
{
    const size_t bytes = kc_dtype_bytes(points->dtype), n = (size_t)points->n_rows;
    const size_t most = kc_max(1, (size_t)points->n_values);
    const int32_t *places = places_of(call, points, columns);
    int64_t *indptr = kc_call_take(call, n + 1, sizeof *indptr);
    int64_t *indices = kc_call_take(call, most, sizeof *indices);
    char *values = kc_call_take(call, most, bytes);
    size_t filled = 0, begin, end;

    if (places == NULL || indptr == NULL || indices == NULL || values == NULL)
        return kc_fail_nomem(call->err);
    indptr[0] = 0;
    for (size_t i = 0; i < n; i++) {
        kc_row_of(points, i, &begin, &end);
        for (size_t k = begin; k < end && filled < most; k++) {
            const int32_t place = places[kc_column_at(points, k)];

            if (place < 0)
                continue;
            indices[filled] = place;
            memcpy(values + filled++ * bytes, kc_sparse_at(points, k), bytes);
        }
        indptr[i + 1] = (int64_t)filled;
        if (i % SELECTED_ROWS == 0 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    out->values = values;
    out->indices = indices;
    out->indptr = indptr;
    out->index_bytes = 8;
    out->n_values = (int64_t)filled;
    return KC_OK;
}

kc_status kc_points_check_columns(const kc_points *points, const kc_column_list *columns,
                                  kc_storage *storage, kc_error *err)
{
    const char *name = kc_points_name(points);
    const kc_points *one = NULL;
    bool are_dense = true, are_several = false;
    size_t first;

    for (size_t c = 0; c < columns->n; c++) {
        const kc_points *part = part_with(points, columns->list[c], &first);

        if (part == NULL)
            return kc_fail(err, KC_ERR_SHAPE, "the kernel reads column %d, %s has %zu columns",
                           (int)columns->list[c], name, kc_points_columns(points));
        are_several |= one != NULL && part != one;
        are_dense &= part->storage == KC_DENSE;
        if (are_several && !are_dense)
            return kc_fail(err, KC_ERR_TYPE,
                           "the kernel reads columns %d and %d of %s together, of which one holds "
                           "%s",
                           (int)columns->list[0], (int)columns->list[c], name,
                           part->storage == KC_STRINGS || one->storage == KC_STRINGS
                               ? "strings"
                               : "sparse numbers");
        one = part;
    }
    *storage = one->storage;
    return KC_OK;
}

size_t kc_points_whole_part(const kc_points *points, const kc_column_list *columns)
{
    size_t first = 0;

    for (size_t part = 0; points != NULL; part++, points = points->next) {
        const size_t n = kc_part_columns(points);
        size_t c = 0;

        while (n == columns->n && c < n && (size_t)columns->list[c] == first + c)
            c++;
        if (c == n)
            return part;
        first += n;
    }
    return SIZE_MAX;
}

/* The same columns, counted from the beginning of their part. */
static kc_status count_from(kc_call *call, const kc_column_list *columns, size_t first,
                            kc_column_list *out)
{
    int32_t *list;

    *out = *columns;
    if (first == 0)
        return KC_OK;
    out->list = list = kc_call_take(call, columns->n, sizeof *list);
    if (list == NULL)
        return kc_fail_nomem(call->err);
    for (size_t c = 0; c < columns->n; c++)
        list[c] = columns->list[c] - (int32_t)first;
    return KC_OK;
}

kc_status kc_points_select(kc_call *call, const kc_points *points, const kc_column_list *columns,
                           kc_points *out)
{
    size_t first;
    const kc_points *part = part_with(points, columns->list[0], &first);
    kc_column_list own;

    *out = *part;
    out->name = points->name;
    out->first_col = 0;
    out->next = NULL;
    if (part->storage == KC_STRINGS)
        return KC_OK;
    out->n_cols = (int64_t)columns->n;
    if (part->storage == KC_DENSE)
        return select_dense(call, points, columns, out);
    KC_TRY(count_from(call, columns, first, &own));
    return select_csr(call, part, &own, out);
}
