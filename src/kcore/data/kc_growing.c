/* Dense points are lanes of panels: a place is written without touching the others.  CSR rows lie
 * side by side, as the loops read them: a row of another length moves those behind it, which costs
 * less than the kernel values that led to it. */
#include "data/kc_growing.h"

#include <float.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_points.h"

/* ---- Numbers of either type --------------------------------------------------------------- */

static double number_at(const void *array, size_t index, kc_dtype dtype)
{
    return dtype == KC_F64 ? ((const double *)array)[index] : (double)((const float *)array)[index];
}

static void set_number(void *array, size_t index, kc_dtype dtype, double value)
{
    if (dtype == KC_F64)
        ((double *)array)[index] = value;
    else
        ((float *)array)[index] = (float)value;
}

static void copy_number(void *to, size_t to_index, const void *from, size_t from_index,
                        kc_dtype dtype)
{
    const size_t bytes = kc_dtype_bytes(dtype);

    memcpy((char *)to + to_index * bytes, (const char *)from + from_index * bytes, bytes);
}

/* Where feature 0 of a dense point lies; feature t is t panel widths further. */
static size_t lane_of(const kc_packed *points, size_t place)
{
    const size_t width = kc_panel_width(points->dtype);

    return place / width * width * points->d + place % width;
}

/* ---- Entries of a row, from the last to the first ------------------------------------------ */

typedef struct cursor {
    const kc_packed *x;
    size_t row;
    size_t left; /* entries, or features of a dense point, not yet looked at */
    int32_t col; /* -1: no more */
    double value;
} cursor;

static void step_back(cursor *c)
{
    const kc_packed *x = c->x;

    while (c->left > 0) {
        c->left--;
        if (x->is_sparse) {
            const size_t k = (size_t)x->indptr[c->row] + c->left;

            c->col = x->cols[k];
            c->value = number_at(x->vals, k, x->dtype);
            return;
        }
        c->col = (int32_t)c->left;
        c->value =
            number_at(x->panels, lane_of(x, c->row) + c->left * kc_panel_width(x->dtype), x->dtype);
        if (c->value != 0)
            return;
    }
    c->col = -1;
}

static cursor last_entry(const kc_packed *x, size_t row)
{
    cursor c = {.x = x, .row = row, .left = x->d};

    if (x->is_sparse)
        c.left = (size_t)(x->indptr[row + 1] - x->indptr[row]);
    step_back(&c);
    return c;
}

/* ---- Room --------------------------------------------------------------------------------- */

/* `count` items of a new array, the first `used` from the old one, zeros behind. */
static bool enlarge(kc_context *ctx, void **array, size_t used, size_t count, size_t size)
{
    char *larger = kc_alloc(ctx, count, size);

    if (larger == NULL)
        return false;
    if (used > 0)
        memcpy(larger, *array, used * size);
    memset(larger + used * size, 0, (count - used) * size);
    kc_free(ctx, *array);
    *array = larger;
    return true;
}

/* What `points` shows of the arrays it owns. */
static void show(kc_packed *p)
{
    if (p->is_sparse) {
        p->indptr = p->owned[0];
        p->cols = p->owned[1];
        p->vals = p->owned[2];
    } else {
        p->panels = p->owned[0];
    }
    p->sq_norms = p->owned[3];
}

static bool enlarge_points(kc_context *ctx, kc_growing *g, size_t capacity)
{
    kc_packed *p = &g->points;
    const size_t width = kc_panel_width(p->dtype);
    const size_t n_panels = kc_ceil_div(capacity, width), n_used = kc_ceil_div(p->n, width);
    size_t panel_bytes;
    bool is_done;

    if (!kc_mul_size(p->d, KC_PANEL_BYTES, &panel_bytes))
        return false;
    is_done = enlarge(ctx, &p->owned[3], n_used, n_panels, KC_PANEL_BYTES);
    if (is_done && p->is_sparse)
        is_done = enlarge(ctx, &p->owned[0], p->indptr != NULL ? p->n + 1 : 0, n_panels * width + 1,
                          sizeof(int64_t));
    else if (is_done)
        is_done = enlarge(ctx, &p->owned[0], n_used, n_panels, panel_bytes);
    show(p);
    if (is_done)
        g->capacity = n_panels * width;
    return is_done;
}

static bool enlarge_values(kc_context *ctx, kc_growing *g, size_t nnz)
{
    kc_packed *p = &g->points;
    const size_t used = kc_growing_nnz(g);
    const bool is_done = enlarge(ctx, &p->owned[1], used, nnz, sizeof(int32_t)) &&
                         enlarge(ctx, &p->owned[2], used, nnz, kc_dtype_bytes(p->dtype));

    show(p);
    if (is_done)
        g->nnz_capacity = nnz;
    return is_done;
}

/* Each row of numbers gets longer. */
static bool enlarge_scalars(kc_context *ctx, kc_packed *p, size_t capacity)
{
    const size_t bytes = kc_dtype_bytes(p->dtype);
    char *larger = p->n_scalars > 0 ? kc_calloc(ctx, p->n_scalars, capacity * bytes) : NULL;

    if (p->n_scalars > 0 && larger == NULL)
        return false;
    for (size_t s = 0; s < p->n_scalars && p->n > 0; s++)
        memcpy(larger + s * capacity * bytes, kc_packed_scalars(p, s), p->n * bytes);
    kc_free(ctx, p->scalars);
    p->scalars = larger;
    p->scalar_ld = capacity;
    return true;
}

kc_status kc_growing_derive(kc_context *ctx, kc_growing *g, const size_t *n_cols, size_t n_derived,
                            size_t n_scalars, kc_error *err)
{
    assert(g->points.n == 0 && g->capacity == 0);
    g->points.n_scalars = n_scalars;
    if (n_derived == 0)
        return KC_OK;
    g->derived = kc_calloc(ctx, n_derived, sizeof *g->derived);
    g->points.derived = kc_calloc(ctx, n_derived, sizeof *g->points.derived);
    if (g->derived == NULL || g->points.derived == NULL)
        return kc_fail_nomem(err);
    g->points.n_derived = n_derived;
    for (size_t i = 0; i < n_derived; i++) {
        g->derived[i] = kc_growing_none(g->points.dtype, false, n_cols[i]);
        g->points.derived[i] = &g->derived[i].points;
    }
    return KC_OK;
}

kc_status kc_growing_reserve(kc_context *ctx, kc_growing *g, size_t n, size_t nnz, kc_error *err)
{
    const size_t capacity =
        kc_round_up(kc_max(n, g->capacity + g->capacity / 2), kc_panel_width(g->points.dtype));

    for (size_t i = 0; i < g->points.n_derived; i++)
        KC_TRY(kc_growing_reserve(ctx, &g->derived[i], n, 0, err));
    if (n > g->capacity &&
        (!enlarge_scalars(ctx, &g->points, capacity) || !enlarge_points(ctx, g, capacity)))
        return kc_fail_nomem(err);
    if (g->points.is_sparse && nnz > g->nnz_capacity &&
        !enlarge_values(ctx, g, kc_max(nnz, g->nnz_capacity + g->nnz_capacity / 2)))
        return kc_fail_nomem(err);
    return KC_OK;
}

void kc_growing_free(kc_context *ctx, kc_growing *g)
{
    for (size_t i = 0; i < g->points.n_derived; i++)
        kc_growing_free(ctx, &g->derived[i]);
    g->points.n_derived = 0; /* they are not the points' own */
    kc_free(ctx, g->derived);
    kc_packed_free(ctx, &g->points);
    *g = (kc_growing){.points = {.dtype = g->points.dtype}};
}

size_t kc_growing_nnz(const kc_growing *g)
{
    const kc_packed *p = &g->points;

    return p->is_sparse && p->indptr != NULL ? (size_t)p->indptr[p->n] : 0;
}

size_t kc_growing_row_nnz(const kc_growing *g, const kc_packed *from, size_t row)
{
    size_t nnz = 0;

    if (!g->points.is_sparse)
        return 0;
    if (from->is_sparse)
        return (size_t)(from->indptr[row + 1] - from->indptr[row]);
    for (cursor c = last_entry(from, row); c.col >= 0; step_back(&c))
        nnz++;
    return nnz;
}

/* ---- Rows --------------------------------------------------------------------------------- */

/* Row `place` gets room for nnz values; those it had stay at its beginning. */
static void resize_row(kc_growing *g, size_t place, size_t nnz)
{
    kc_packed *p = &g->points;
    const size_t bytes = kc_dtype_bytes(p->dtype);
    int64_t *indptr = p->owned[0];
    int32_t *cols = p->owned[1];
    char *vals = p->owned[2];
    const size_t begin = (size_t)indptr[place], end = (size_t)indptr[place + 1];
    const size_t behind = (size_t)indptr[p->n] - end;

    assert((size_t)indptr[p->n] - (end - begin) + nnz <= g->nnz_capacity);
    memmove(cols + begin + nnz, cols + end, behind * sizeof *cols);
    memmove(vals + (begin + nnz) * bytes, vals + end * bytes, behind * bytes);
    for (size_t i = place + 1; i <= p->n; i++)
        indptr[i] += (int64_t)nnz - (int64_t)(end - begin);
    p->max_row_nnz = kc_max(p->max_row_nnz, nnz);
}

static void put_sparse(kc_growing *g, size_t place, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;
    int32_t *cols = p->owned[1];
    size_t k;

    resize_row(g, place, kc_growing_row_nnz(g, from, row));
    k = (size_t)p->indptr[place + 1];
    for (cursor c = last_entry(from, row); c.col >= 0; step_back(&c)) {
        cols[--k] = c.col;
        set_number(p->owned[2], k, p->dtype, c.value);
    }
}

static void put_dense(kc_growing *g, size_t place, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;
    const size_t width = kc_panel_width(p->dtype), lane = lane_of(p, place);

    if (!from->is_sparse) {
        const size_t source = lane_of(from, row);

        for (size_t t = 0; t < p->d; t++)
            copy_number(p->panels, lane + t * width, from->panels, source + t * width, p->dtype);
        return;
    }
    for (size_t t = 0; t < p->d; t++)
        set_number(p->panels, lane + t * width, p->dtype, 0);
    for (cursor c = last_entry(from, row); c.col >= 0; step_back(&c))
        set_number(p->panels, lane + (size_t)c.col * width, p->dtype, c.value);
}

void kc_growing_put(kc_growing *g, size_t place, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;

    assert(from->dtype == p->dtype && from->d == p->d && place <= p->n);
    assert(from->n_derived == p->n_derived && from->n_scalars == p->n_scalars);
    if (place == p->n) {
        assert(p->n < g->capacity);
        p->n++;
        if (p->is_sparse)
            ((int64_t *)p->owned[0])[p->n] = p->indptr[p->n - 1];
    }
    if (p->is_sparse)
        put_sparse(g, place, from, row);
    else
        put_dense(g, place, from, row);
    copy_number(p->sq_norms, place, from->sq_norms, row, p->dtype);
    for (size_t i = 0; i < p->n_derived; i++)
        kc_growing_put(&g->derived[i], place, from->derived[i], row);
    for (size_t s = 0; s < p->n_scalars; s++)
        copy_number(kc_packed_scalars(p, s), place, kc_packed_scalars(from, s), row, p->dtype);
}

/* ---- Mixtures ----------------------------------------------------------------------------- */

static void mix_dense(kc_packed *p, size_t place, double h, const kc_packed *from, size_t row)
{
    const size_t width = kc_panel_width(p->dtype), lane = lane_of(p, place);
    cursor c = last_entry(from, row);

    for (size_t t = p->d; t-- > 0;) {
        double value = (1 - h) * number_at(p->panels, lane + t * width, p->dtype);

        if (c.col == (int32_t)t) {
            value += h * c.value;
            step_back(&c);
        }
        set_number(p->panels, lane + t * width, p->dtype, value);
    }
}

static size_t count_both(const kc_packed *p, size_t place, const kc_packed *from, size_t row)
{
    cursor a = last_entry(p, place), b = last_entry(from, row);
    size_t n = 0;

    for (; a.col >= 0 || b.col >= 0; n++) {
        const int32_t col = a.col > b.col ? a.col : b.col;

        if (a.col == col)
            step_back(&a);
        if (b.col == col)
            step_back(&b);
    }
    return n;
}

/* From the back, so that no entry is overwritten before it is read. */
static void mix_sparse(kc_growing *g, size_t place, double h, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;
    cursor a = last_entry(p, place), b = last_entry(from, row);
    int32_t *cols = p->owned[1];
    size_t k;

    resize_row(g, place, count_both(p, place, from, row));
    k = (size_t)p->indptr[place + 1];
    while (a.col >= 0 || b.col >= 0) {
        const int32_t col = a.col > b.col ? a.col : b.col;
        double value = 0;

        if (a.col == col) {
            value = (1 - h) * a.value;
            step_back(&a);
        }
        if (b.col == col) {
            value += h * b.value;
            step_back(&b);
        }
        cols[--k] = col;
        set_number(p->owned[2], k, p->dtype, value);
    }
}

void kc_growing_mix(kc_growing *g, size_t place, double h, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;
    const kc_ops *ops = kc_ops_of(p->dtype);
    const size_t bytes = kc_dtype_bytes(p->dtype), panel = place / kc_panel_width(p->dtype);

    if (p->is_sparse) {
        mix_sparse(g, place, h, from, row);
        ops->csr_norms(p->indptr + place, p->vals, 1, (char *)p->sq_norms + place * bytes);
    } else {
        mix_dense(p, place, h, from, row);
        ops->panel_norms((char *)p->panels + panel * p->d * KC_PANEL_BYTES, p->d,
                         (char *)p->sq_norms + panel * KC_PANEL_BYTES);
    }
}

/* ---- As arrays ---------------------------------------------------------------------------- */

void kc_growing_visit_rows(kc_growing *g, kc_array_fn *fn, void *data)
{
    kc_packed *p = &g->points;

    if (p->is_sparse && p->n > 0)
        fn(data, p->owned[0], p->n + 1, sizeof(int64_t));
}

void kc_growing_visit(kc_growing *g, kc_array_fn *fn, void *data)
{
    kc_packed *p = &g->points;
    const size_t n_panels = kc_ceil_div(p->n, kc_panel_width(p->dtype)), nnz = kc_growing_nnz(g);

    fn(data, p->owned[3], n_panels, KC_PANEL_BYTES);
    if (p->is_sparse) {
        fn(data, p->owned[1], nnz, sizeof(int32_t));
        fn(data, p->owned[2], nnz, kc_dtype_bytes(p->dtype));
    } else {
        fn(data, p->owned[0], n_panels, p->d * KC_PANEL_BYTES);
    }
    for (size_t i = 0; i < p->n_derived; i++) {
        p->derived[i]->n = p->n;
        kc_growing_visit(&g->derived[i], fn, data);
    }
    for (size_t s = 0; s < p->n_scalars && p->n > 0; s++)
        fn(data, kc_packed_scalars(p, s), p->n, kc_dtype_bytes(p->dtype));
}

double kc_growing_bytes(const kc_growing *g, size_t n, size_t nnz)
{
    const kc_packed *p = &g->points;
    const double panels = (double)kc_ceil_div(n, kc_panel_width(p->dtype)) * KC_PANEL_BYTES;
    double parts = (double)p->n_scalars * (double)n * (double)kc_dtype_bytes(p->dtype);

    for (size_t i = 0; i < p->n_derived; i++)
        parts += kc_growing_bytes(&g->derived[i], n, 0);
    if (!p->is_sparse)
        return parts + panels * (1 + (double)p->d);
    return parts + panels + (n > 0 ? 8.0 * ((double)n + 1) : 0) +
           (4 + (double)kc_dtype_bytes(p->dtype)) * (double)nnz;
}

bool kc_growing_has_rows(const kc_growing *g, size_t nnz)
{
    const kc_packed *p = &g->points;

    if (!p->is_sparse || p->n == 0)
        return true;
    if (p->indptr[0] != 0 || p->indptr[p->n] != (int64_t)nnz)
        return false;
    for (size_t i = 0; i < p->n; i++)
        if (p->indptr[i + 1] < p->indptr[i])
            return false;
    return true;
}

bool kc_growing_has_columns(kc_growing *g)
{
    kc_packed *p = &g->points;

    for (size_t i = 0; p->is_sparse && i < p->n; i++) {
        int32_t last = -1;

        for (int64_t k = p->indptr[i]; k < p->indptr[i + 1]; k++) {
            if (p->cols[k] <= last || (size_t)p->cols[k] >= p->d)
                return false;
            last = p->cols[k];
        }
        p->max_row_nnz = kc_max(p->max_row_nnz, (size_t)(p->indptr[i + 1] - p->indptr[i]));
    }
    return true;
}

/* ---- Views -------------------------------------------------------------------------------- */

/* Lane 0 of a panel from a dense row: one by one where it is of another type. */
static void read_dense(kc_packed *p, const kc_points *view, size_t row)
{
    const size_t width = kc_panel_width(p->dtype);
    const char *from = kc_dense_at(view, row, 0);
    const int64_t stride = view->col_stride;

    if (view->dtype != p->dtype) {
        for (size_t t = 0; t < p->d; t++)
            set_number(p->panels, t * width, p->dtype,
                       kc_value_at(view, kc_dense_at(view, row, t)));
    } else if (p->dtype == KC_F64) {
        for (size_t t = 0; t < p->d; t++)
            ((double *)p->panels)[t * width] = *(const double *)(from + (int64_t)t * stride);
    } else {
        for (size_t t = 0; t < p->d; t++)
            ((float *)p->panels)[t * width] = *(const float *)(from + (int64_t)t * stride);
    }
}

kc_status kc_growing_read(kc_growing *g, const kc_points *view, size_t row, kc_error *err)
{
    kc_packed *p = &g->points;
    const size_t width = kc_panel_width(p->dtype);
    const double most = p->dtype == KC_F64 ? DBL_MAX : (double)FLT_MAX;

    assert(!p->is_sparse && p->n == 1);
    if (view->storage == KC_DENSE) {
        read_dense(p, view, row);
    } else {
        size_t begin, end;

        kc_row_of(view, row, &begin, &end);
        for (size_t t = 0; t < p->d; t++)
            set_number(p->panels, t * width, p->dtype, 0);
        for (size_t k = begin; k < end; k++) {
            const size_t at = kc_column_at(view, k) * width;
            const double value = kc_value_at(view, kc_sparse_at(view, k));

            /* Each term is rounded first, as where whole views are packed. */
            set_number(p->panels, at, p->dtype,
                       number_at(p->panels, at, p->dtype) +
                           (p->dtype == KC_F64 ? value : (double)(float)value));
        }
    }
    kc_ops_of(p->dtype)->panel_norms(p->panels, p->d, p->sq_norms);
    if (!(number_at(p->sq_norms, 0, p->dtype) <= most / 4))
        return kc_points_fail_row(view, row, p->dtype, err);
    return KC_OK;
}
