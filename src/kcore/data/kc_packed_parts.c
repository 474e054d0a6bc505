/* What packed points have beside their first part: the other parts of the view, readings, numbers
 * of each sample; and what samples look like one by one. */
#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_packed.h"

/* ---- Parts --------------------------------------------------------------------------------- */

kc_packed *kc_packed_add_part(kc_call *call, kc_packed *packed)
{
    kc_packed *part = kc_calloc(call->ctx, 1, sizeof *part);
    kc_packed **longer = kc_alloc(call->ctx, packed->n_parts + 1, sizeof *longer);

    if (part == NULL || longer == NULL) {
        kc_free(call->ctx, part);
        kc_free(call->ctx, longer);
        return NULL;
    }
    if (packed->n_parts > 0)
        memcpy(longer, packed->parts, packed->n_parts * sizeof(kc_packed *));
    kc_free(call->ctx, packed->parts);
    packed->parts = longer;
    longer[packed->n_parts++] = part;
    return part;
}

static kc_status pack_part(kc_call *call, const kc_points *view, const int32_t *order,
                           kc_packed *packed)
{
    kc_packed *part = kc_packed_add_part(call, packed);
    kc_points alone = *view;

    if (part == NULL)
        return kc_fail_nomem(call->err);
    alone.next = NULL;
    return kc_packed_create_ordered(call, &alone, order, packed->dtype, part);
}

kc_status kc_packed_create_parts(kc_call *call, const kc_points *points, const int32_t *order,
                                 kc_packed *out)
{
    while ((points = points->next) != NULL) {
        KC_TRY(pack_part(call, points, order, out));
        out->n_view_parts++;
    }
    return KC_OK;
}

size_t kc_packed_columns(const kc_packed *packed)
{
    size_t n = packed->d;

    for (size_t i = 0; i < packed->n_view_parts; i++)
        n += packed->parts[i]->d;
    return n;
}

bool kc_packed_are_numbers(const kc_packed *packed)
{
    return packed->n_view_parts == 0 && packed->storage != KC_STRINGS;
}

static kc_status fail_kind(const char *name, size_t col, bool held_strings, kc_error *err)
{
    return kc_fail(err, KC_ERR_TYPE, "%s: column %zu holds %s, in the fit it held %s", name, col,
                   held_strings ? "numbers" : "strings", held_strings ? "strings" : "numbers");
}

kc_status kc_packed_check_alike(const kc_packed *packed, const kc_points *points, kc_error *err)
{
    const char *name = kc_points_name(points);
    const size_t n_cols = kc_points_columns(points);
    size_t col = 0;

    if (n_cols != kc_packed_columns(packed))
        return kc_fail(err, KC_ERR_SHAPE, "%s has %zu columns, the model was fitted to %zu", name,
                       n_cols, kc_packed_columns(packed));
    for (size_t i = 0; points != NULL; i++, points = points->next) {
        const kc_packed *part = kc_packed_part(packed, i);
        const size_t d = kc_part_columns(points), least = kc_min(d, part->d);
        const bool held_strings = part->storage == KC_STRINGS;

        if (held_strings != (points->storage == KC_STRINGS))
            return fail_kind(name, col, held_strings, err);
        if (part->d < d && kc_packed_part(packed, i + 1)->storage == KC_STRINGS)
            return fail_kind(name, col + least, true, err);
        if (part->d > d && points->next->storage == KC_STRINGS)
            return fail_kind(name, col + least, false, err);
        if (part->d != d)
            return kc_fail(err, KC_ERR_SHAPE,
                           "%s: a part has %zu columns from column %zu on, in the fit it had %zu",
                           name, d, col, part->d);
        col += d;
    }
    return KC_OK;
}

static kc_status take_parts(kc_call *call, const kc_packed *from, const int32_t *rows,
                            kc_packed *out)
{
    for (size_t i = 0; i < from->n_parts; i++) {
        kc_packed *part = kc_packed_add_part(call, out);

        if (part == NULL)
            return kc_fail_nomem(call->err);
        KC_TRY(kc_packed_take(call, from->parts[i], rows, out->n, part));
    }
    out->n_view_parts = from->n_view_parts;
    return KC_OK;
}

static kc_status take_readings(kc_call *call, const kc_packed *from, kc_packed *out)
{
    out->readings = kc_alloc(call->ctx, from->n_readings, sizeof *out->readings);
    if (out->readings == NULL)
        return kc_fail_nomem(call->err);
    memcpy(out->readings, from->readings, from->n_readings * sizeof *out->readings);
    out->n_readings = from->n_readings;
    return KC_OK;
}

/* ---- Scalars -------------------------------------------------------------------------------- */

kc_status kc_packed_add_scalars(kc_call *call, size_t n, kc_packed *packed)
{
    packed->scalar_ld = kc_round_up(kc_max(1, packed->n), kc_panel_width(packed->dtype));
    packed->scalars = kc_calloc(call->ctx, n, packed->scalar_ld * kc_dtype_bytes(packed->dtype));
    if (packed->scalars == NULL)
        return kc_fail_nomem(call->err);
    packed->n_scalars = n;
    return KC_OK;
}

static kc_status take_scalars(kc_call *call, const kc_packed *from, const int32_t *rows,
                              kc_packed *out)
{
    const size_t bytes = kc_dtype_bytes(from->dtype);

    KC_TRY(kc_packed_add_scalars(call, from->n_scalars, out));
    for (size_t s = 0; s < from->n_scalars; s++) {
        const char *source = kc_packed_scalars(from, s);
        char *to = kc_packed_scalars(out, s);

        for (size_t i = 0; i < out->n; i++)
            memcpy(to + i * bytes, source + (size_t)rows[i] * bytes, bytes);
    }
    return KC_OK;
}

kc_status kc_packed_take_parts(kc_call *call, const kc_packed *from, const int32_t *rows,
                               kc_packed *out)
{
    if (from->n_parts > 0)
        KC_TRY(take_parts(call, from, rows, out));
    if (from->n_readings > 0)
        KC_TRY(take_readings(call, from, out));
    return from->n_scalars > 0 ? take_scalars(call, from, rows, out) : KC_OK;
}

/* ---- One of them --------------------------------------------------------------------------- */

size_t kc_packed_mean_values(const kc_packed *packed)
{
    if (kc_packed_is_dense(packed))
        return packed->d;
    return packed->n > 0 ? (size_t)packed->indptr[packed->n] / packed->n : 0;
}

size_t kc_packed_n_values(const kc_packed *packed)
{
    return !kc_packed_is_dense(packed) && packed->indptr != NULL ? (size_t)packed->indptr[packed->n]
                                                                 : 0;
}

static void copy_offsets(const kc_packed *packed, int64_t *indptr)
{
    indptr[0] = 0;
    if (packed->n > 0)
        memcpy(indptr, packed->indptr, (packed->n + 1) * sizeof *indptr);
}

void kc_packed_copy_csr(const kc_packed *packed, int64_t *indptr, int32_t *columns, double *values)
{
    const size_t nnz = kc_packed_n_values(packed);

    copy_offsets(packed, indptr);
    if (nnz > 0)
        memcpy(columns, packed->cols, nnz * sizeof *columns);
    for (size_t k = 0; k < nnz; k++)
        values[k] = kc_number_at(packed->vals, k, packed->dtype);
}

void kc_packed_copy_strings(const kc_packed *packed, int64_t *indptr, char *bytes)
{
    const size_t n_bytes = kc_packed_n_values(packed);

    copy_offsets(packed, indptr);
    if (n_bytes > 0)
        memcpy(bytes, packed->vals, n_bytes);
}

size_t kc_packed_max_values(const kc_packed *packed)
{
    return packed->storage == KC_CSR       ? packed->max_row_nnz
           : packed->storage == KC_STRINGS ? 0
                                           : packed->d;
}

static kc_sample sparse_sample(const kc_packed *packed, size_t i, double *room)
{
    const size_t begin = (size_t)packed->indptr[i];
    const kc_sample sample = {.n = packed->indptr[i + 1] - packed->indptr[i],
                              .values = room,
                              .columns = packed->cols + begin};

    for (size_t k = 0; k < (size_t)sample.n; k++)
        room[k] = kc_number_at(packed->vals, begin + k, packed->dtype);
    return sample;
}

kc_sample kc_packed_sample(const kc_packed *packed, size_t i, double *room)
{
    const size_t width = kc_panel_width(packed->dtype);
    const size_t lane = i / width * width * packed->d + i % width;
    size_t n_bytes;

    if (packed->storage == KC_CSR)
        return sparse_sample(packed, i, room);
    if (packed->storage == KC_STRINGS) {
        const char *bytes = kc_packed_string(packed, i, &n_bytes);

        return (kc_sample){.n = (int64_t)n_bytes, .bytes = bytes};
    }
    for (size_t t = 0; t < packed->d; t++)
        room[t] = kc_number_at(packed->panels, lane + t * width, packed->dtype);
    return (kc_sample){.n = (int64_t)packed->d, .values = room};
}
