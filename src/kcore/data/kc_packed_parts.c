/* What packed points have beside the samples themselves: derived points, numbers of each sample;
 * and what they look like one by one. */
#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_packed.h"

/* ---- Derived points and scalars ------------------------------------------------------------ */

/* One part more, empty; NULL where there is no memory for it.  There is a place for it. */
static kc_packed *add_derived(kc_call *call, kc_packed *packed)
{
    kc_packed *part = kc_calloc(call->ctx, 1, sizeof *part);

    if (part != NULL)
        packed->derived[packed->n_derived++] = part;
    return part;
}

static kc_status make_derived(kc_call *call, size_t n, kc_packed *packed)
{
    packed->derived = kc_calloc(call->ctx, n, sizeof(kc_packed *));
    return packed->derived != NULL ? KC_OK : kc_fail_nomem(call->err);
}

static kc_status take_derived(kc_call *call, const kc_packed *from, const int32_t *rows,
                              kc_packed *out)
{
    KC_TRY(make_derived(call, from->n_derived, out));
    for (size_t i = 0; i < from->n_derived; i++) {
        kc_packed *part = add_derived(call, out);

        if (part == NULL)
            return kc_fail_nomem(call->err);
        KC_TRY(kc_packed_take(call, from->derived[i], rows, out->n, part));
    }
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

kc_status kc_packed_derive(kc_call *call, const kc_points *points, const int32_t *order,
                           const kc_column_list *columns, size_t n, kc_packed *packed)
{
    KC_TRY(make_derived(call, n, packed));
    for (size_t i = 0; i < n; i++) {
        kc_packed *part = add_derived(call, packed);
        kc_points selected;

        if (part == NULL)
            return kc_fail_nomem(call->err);
        KC_TRY(kc_points_select(call, points, &columns[i], &selected));
        KC_TRY(kc_packed_create_ordered(call, &selected, order, packed->dtype, part));
    }
    return KC_OK;
}

kc_status kc_packed_add_scalars(kc_call *call, size_t n, kc_packed *packed)
{
    packed->scalar_ld = kc_round_up(kc_max(1, packed->n), kc_panel_width(packed->dtype));
    packed->scalars = kc_calloc(call->ctx, n, packed->scalar_ld * kc_dtype_bytes(packed->dtype));
    if (packed->scalars == NULL)
        return kc_fail_nomem(call->err);
    packed->n_scalars = n;
    return KC_OK;
}

kc_status kc_packed_take_parts(kc_call *call, const kc_packed *from, const int32_t *rows,
                               kc_packed *out)
{
    if (from->n_derived > 0)
        KC_TRY(take_derived(call, from, rows, out));
    return from->n_scalars > 0 ? take_scalars(call, from, rows, out) : KC_OK;
}

/* ---- One of them --------------------------------------------------------------------------- */

size_t kc_packed_mean_values(const kc_packed *packed)
{
    if (!packed->is_sparse)
        return packed->d;
    return packed->n > 0 ? (size_t)packed->indptr[packed->n] / packed->n : 0;
}

size_t kc_packed_n_values(const kc_packed *packed)
{
    return packed->is_sparse && packed->indptr != NULL ? (size_t)packed->indptr[packed->n] : 0;
}

void kc_packed_copy_csr(const kc_packed *packed, int64_t *indptr, int32_t *columns, double *values)
{
    const size_t nnz = kc_packed_n_values(packed);

    indptr[0] = 0;
    if (packed->n > 0)
        memcpy(indptr, packed->indptr, (packed->n + 1) * sizeof *indptr);
    if (nnz > 0)
        memcpy(columns, packed->cols, nnz * sizeof *columns);
    for (size_t k = 0; k < nnz; k++)
        values[k] = kc_number_at(packed->vals, k, packed->dtype);
}

size_t kc_packed_max_values(const kc_packed *packed)
{
    return packed->is_sparse ? packed->max_row_nnz : packed->d;
}

kc_sample kc_packed_sample(const kc_packed *packed, size_t i, double *room)
{
    const size_t width = kc_panel_width(packed->dtype);
    const size_t lane = i / width * width * packed->d + i % width;
    kc_sample sample = {.n = (int64_t)packed->d, .values = room};

    if (packed->is_sparse) {
        const size_t begin = (size_t)packed->indptr[i];

        sample.n = packed->indptr[i + 1] - packed->indptr[i];
        sample.columns = packed->cols + begin;
        for (size_t k = 0; k < (size_t)sample.n; k++)
            room[k] = kc_number_at(packed->vals, begin + k, packed->dtype);
        return sample;
    }
    for (size_t t = 0; t < packed->d; t++)
        room[t] = kc_number_at(packed->panels, lane + t * width, packed->dtype);
    return sample;
}
