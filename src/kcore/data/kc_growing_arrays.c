/* Growing points as arrays, which are written and read again by one walk; what is read is checked
 * as far as memory safety needs it. */
#include "data/kc_growing.h"

/* Part i of g: 0 is the first. */
static kc_growing *part_of(kc_growing *g, size_t i)
{
    return i == 0 ? g : &g->parts[i - 1];
}

void kc_growing_visit_rows(kc_growing *g, kc_array_fn *fn, void *data)
{
    for (size_t i = 0; i <= g->points.n_view_parts; i++) {
        kc_packed *p = &part_of(g, i)->points;

        if (!kc_packed_is_dense(p) && g->points.n > 0)
            fn(data, p->owned[0], g->points.n + 1, sizeof(int64_t));
    }
}

static void visit_part(kc_packed *p, kc_array_fn *fn, void *data)
{
    const size_t n_panels = kc_ceil_div(p->n, kc_panel_width(p->dtype));
    const size_t n_values = kc_packed_n_values(p);

    if (p->storage != KC_STRINGS)
        fn(data, p->owned[3], n_panels, KC_PANEL_BYTES);
    if (kc_packed_is_dense(p))
        fn(data, p->owned[0], n_panels, p->d * KC_PANEL_BYTES);
    if (p->storage == KC_CSR)
        fn(data, p->owned[1], n_values, sizeof(int32_t));
    if (!kc_packed_is_dense(p))
        fn(data, p->owned[2], n_values, kc_packed_value_bytes(p));
}

void kc_growing_visit(kc_growing *g, kc_array_fn *fn, void *data)
{
    kc_packed *p = &g->points;

    visit_part(p, fn, data);
    for (size_t i = 0; i < p->n_parts; i++) {
        g->parts[i].points.n = p->n;
        visit_part(&g->parts[i].points, fn, data);
    }
    for (size_t s = 0; s < p->n_scalars && p->n > 0; s++)
        fn(data, kc_packed_scalars(p, s), p->n, kc_dtype_bytes(p->dtype));
}

static double part_bytes(const kc_packed *p, double n_panels, size_t n, size_t n_values)
{
    const double norms = n_panels * KC_PANEL_BYTES, offsets = n > 0 ? 8.0 * ((double)n + 1) : 0;

    if (kc_packed_is_dense(p))
        return norms * (1 + (double)p->d);
    if (p->storage == KC_STRINGS)
        return offsets + (double)n_values;
    return norms + offsets + (4 + (double)kc_dtype_bytes(p->dtype)) * (double)n_values;
}

double kc_growing_bytes(const kc_growing *g, size_t n, const kc_value_counts *counts)
{
    const kc_packed *p = &g->points;
    const double n_panels = (double)kc_ceil_div(n, kc_panel_width(p->dtype));
    double bytes = (double)p->n_scalars * (double)n * (double)kc_dtype_bytes(p->dtype);

    for (size_t i = 0; i <= p->n_parts; i++)
        bytes +=
            part_bytes(kc_packed_part(p, i), n_panels, n, i <= p->n_view_parts ? counts->of[i] : 0);
    return bytes;
}

static bool has_rows(const kc_packed *p, size_t n, size_t n_values)
{
    if (kc_packed_is_dense(p) || n == 0)
        return n_values == 0;
    if (p->indptr[0] != 0 || p->indptr[n] != (int64_t)n_values)
        return false;
    for (size_t i = 0; i < n; i++)
        if (p->indptr[i + 1] < p->indptr[i])
            return false;
    return true;
}

bool kc_growing_has_rows(const kc_growing *g, const kc_value_counts *counts)
{
    for (size_t i = 0; i <= g->points.n_view_parts; i++)
        if (!has_rows(kc_packed_part(&g->points, i), g->points.n, counts->of[i]))
            return false;
    return true;
}

/* Finds the longest row on the way. */
static bool has_columns(kc_packed *p)
{
    for (size_t i = 0; !kc_packed_is_dense(p) && i < p->n; i++) {
        int32_t last = -1;

        for (int64_t k = p->indptr[i]; p->storage == KC_CSR && k < p->indptr[i + 1]; k++) {
            if (p->cols[k] <= last || (size_t)p->cols[k] >= p->d)
                return false;
            last = p->cols[k];
        }
        p->max_row_nnz = kc_max(p->max_row_nnz, (size_t)(p->indptr[i + 1] - p->indptr[i]));
    }
    return true;
}

bool kc_growing_has_columns(kc_growing *g)
{
    for (size_t i = 0; i <= g->points.n_view_parts; i++)
        if (!has_columns(&part_of(g, i)->points))
            return false;
    return true;
}
