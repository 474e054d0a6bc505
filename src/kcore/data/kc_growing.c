/* Dense points are lanes of panels: a place is written without touching the others.  Rows of CSR
 * and strings lie side by side, as the loops read them: a row of another length moves those behind
 * it, which costs less than the kernel values that led to it. */
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
        if (x->storage == KC_CSR) {
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

    if (x->storage == KC_CSR)
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
    if (kc_packed_is_dense(p)) {
        p->panels = p->owned[0];
    } else {
        p->indptr = p->owned[0];
        p->cols = p->owned[1];
        p->vals = p->owned[2];
    }
    p->sq_norms = p->owned[3];
}

static bool enlarge_points(kc_context *ctx, kc_growing *g, size_t capacity)
{
    kc_packed *p = &g->points;
    const size_t width = kc_panel_width(p->dtype);
    const size_t n_panels = kc_ceil_div(capacity, width), n_used = kc_ceil_div(p->n, width);
    size_t panel_bytes;
    bool is_done = true;

    if (!kc_mul_size(p->d, KC_PANEL_BYTES, &panel_bytes))
        return false;
    if (p->storage != KC_STRINGS)
        is_done = enlarge(ctx, &p->owned[3], n_used, n_panels, KC_PANEL_BYTES);
    if (is_done && kc_packed_is_dense(p))
        is_done = enlarge(ctx, &p->owned[0], n_used, n_panels, panel_bytes);
    else if (is_done)
        is_done = enlarge(ctx, &p->owned[0], p->indptr != NULL ? p->n + 1 : 0, n_panels * width + 1,
                          sizeof(int64_t));
    show(p);
    if (is_done)
        g->capacity = n_panels * width;
    return is_done;
}

static bool enlarge_values(kc_context *ctx, kc_growing *g, size_t n_values)
{
    kc_packed *p = &g->points;
    const size_t used = kc_packed_n_values(p);
    const bool is_done =
        (p->storage == KC_STRINGS || enlarge(ctx, &p->owned[1], used, n_values, sizeof(int32_t))) &&
        enlarge(ctx, &p->owned[2], used, n_values, kc_packed_value_bytes(p));

    show(p);
    if (is_done)
        g->value_capacity = n_values;
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

static bool reserve_part(kc_context *ctx, kc_growing *g, size_t n, size_t n_values)
{
    const size_t capacity =
        kc_round_up(kc_max(n, g->capacity + g->capacity / 2), kc_panel_width(g->points.dtype));

    if (n > g->capacity &&
        (!enlarge_scalars(ctx, &g->points, capacity) || !enlarge_points(ctx, g, capacity)))
        return false;
    return kc_packed_is_dense(&g->points) || n_values <= g->value_capacity ||
           enlarge_values(ctx, g, kc_max(n_values, g->value_capacity + g->value_capacity / 2));
}

/* ---- Life ----------------------------------------------------------------------------------- */

/* The parts of the view behind its first one. */
static size_t count_parts(const kc_points *like)
{
    size_t n = 0;

    while ((like = like->next) != NULL)
        n++;
    return n;
}

static void add_part(kc_growing *g, kc_storage storage, size_t d)
{
    const size_t i = g->points.n_parts++;

    g->parts[i] = kc_growing_none(g->points.dtype, storage, d);
    g->points.parts[i] = &g->parts[i].points;
}

/* Where the reading's numbers will be. */
static kc_status add_reading(kc_growing *g, const kc_points *like, const kc_step_list *reading,
                             int32_t *part, kc_error *err)
{
    size_t known = kc_reading_part(reading, like), n_cols;
    kc_storage storage;

    KC_TRY(kc_reading_check(reading, like, &storage, &n_cols, err));
    if (known == SIZE_MAX || kc_reading_rest(reading).n_bytes > 0) {
        add_part(g, KC_DENSE, n_cols);
        known = g->points.n_parts;
    }
    *part = (int32_t)known;
    return KC_OK;
}

kc_status kc_growing_create(kc_context *ctx, kc_dtype dtype, const kc_points *like,
                            const kc_readings *readings, size_t n_scalars, kc_growing *out,
                            kc_error *err)
{
    const size_t n_view = count_parts(like), n_parts = n_view + readings->n;
    kc_status status = KC_OK;

    assert(n_view < KC_MAX_PARTS);
    *out = kc_growing_none(dtype, like->storage, kc_part_columns(like));
    out->points.n_scalars = n_scalars;
    if (n_parts == 0)
        return KC_OK;
    out->parts = kc_calloc(ctx, n_parts, sizeof *out->parts);
    out->points.parts = kc_calloc(ctx, n_parts, sizeof *out->points.parts);
    out->points.readings = kc_alloc(ctx, kc_max(1, readings->n), sizeof *out->points.readings);
    if (out->parts == NULL || out->points.parts == NULL || out->points.readings == NULL) {
        kc_growing_free(ctx, out);
        return kc_fail_nomem(err);
    }
    for (const kc_points *part = like->next; part != NULL; part = part->next)
        add_part(out, part->storage, kc_part_columns(part));
    out->points.n_view_parts = n_view;
    out->points.n_readings = readings->n;
    for (size_t r = 0; r < readings->n && status == KC_OK; r++) {
        const kc_step_list reading = kc_reading_at(readings, r);

        status = add_reading(out, like, &reading, &out->points.readings[r], err);
    }
    if (status != KC_OK)
        kc_growing_free(ctx, out);
    return status;
}

kc_status kc_growing_reserve(kc_context *ctx, kc_growing *g, size_t n,
                             const kc_value_counts *counts, kc_error *err)
{
    const size_t n_view = g->points.n_view_parts;

    for (size_t i = 0; i < g->points.n_parts; i++)
        if (!reserve_part(ctx, &g->parts[i], n,
                          i < n_view && counts != NULL ? counts->of[i + 1] : 0))
            return kc_fail_nomem(err);
    return reserve_part(ctx, g, n, counts != NULL ? counts->of[0] : 0) ? KC_OK : kc_fail_nomem(err);
}

void kc_growing_free(kc_context *ctx, kc_growing *g)
{
    for (size_t i = 0; i < g->points.n_parts; i++)
        kc_growing_free(ctx, &g->parts[i]);
    g->points.n_parts = 0; /* they are not the points' own */
    kc_free(ctx, g->parts);
    kc_packed_free(ctx, &g->points);
    *g = (kc_growing){.points = {.dtype = g->points.dtype}};
}

/* Values that a row of other points takes: 0 where p is dense. */
static size_t row_values(const kc_packed *p, const kc_packed *from, size_t row)
{
    size_t n = 0;

    if (kc_packed_is_dense(p))
        return 0;
    if (!kc_packed_is_dense(from))
        return (size_t)(from->indptr[row + 1] - from->indptr[row]);
    for (cursor c = last_entry(from, row); c.col >= 0; step_back(&c))
        n++;
    return n;
}

void kc_growing_count(const kc_growing *g, kc_value_counts *counts)
{
    for (size_t i = 0; i <= g->points.n_view_parts; i++)
        counts->of[i] = kc_packed_n_values(kc_packed_part(&g->points, i));
}

void kc_growing_count_row(const kc_growing *g, const kc_packed *from, size_t row,
                          kc_value_counts *counts)
{
    for (size_t i = 0; i <= g->points.n_view_parts; i++)
        counts->of[i] += row_values(kc_packed_part(&g->points, i), kc_packed_part(from, i), row);
}

/* ---- Rows --------------------------------------------------------------------------------- */

/* Row `place` gets room for nnz values; those it had stay at its beginning. */
static void resize_row(kc_growing *g, size_t place, size_t nnz)
{
    kc_packed *p = &g->points;
    const size_t bytes = kc_packed_value_bytes(p);
    int64_t *indptr = p->owned[0];
    int32_t *cols = p->owned[1]; /* NULL: strings */
    char *vals = p->owned[2];
    const size_t begin = (size_t)indptr[place], end = (size_t)indptr[place + 1];
    const size_t behind = (size_t)indptr[p->n] - end;

    assert((size_t)indptr[p->n] - (end - begin) + nnz <= g->value_capacity);
    if (cols != NULL)
        memmove(cols + begin + nnz, cols + end, behind * sizeof *cols);
    if (behind > 0)
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

    resize_row(g, place, row_values(p, from, row));
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

    if (kc_packed_is_dense(from)) {
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

static void put_string(kc_growing *g, size_t place, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;
    size_t n_bytes;
    const char *bytes = kc_packed_string(from, row, &n_bytes);

    resize_row(g, place, n_bytes);
    if (n_bytes > 0)
        memcpy((char *)p->owned[2] + p->indptr[place], bytes, n_bytes);
}

static void put_part(kc_growing *g, size_t place, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;

    assert(from->dtype == p->dtype && from->d == p->d && place <= p->n);
    if (place == p->n) {
        assert(p->n < g->capacity);
        p->n++;
        if (!kc_packed_is_dense(p))
            ((int64_t *)p->owned[0])[p->n] = p->indptr[p->n - 1];
    }
    if (p->storage == KC_STRINGS)
        put_string(g, place, from, row);
    else if (p->storage == KC_CSR)
        put_sparse(g, place, from, row);
    else
        put_dense(g, place, from, row);
    if (p->storage != KC_STRINGS)
        copy_number(p->sq_norms, place, from->sq_norms, row, p->dtype);
}

void kc_growing_put(kc_growing *g, size_t place, const kc_packed *from, size_t row)
{
    kc_packed *p = &g->points;

    assert(from->n_parts == p->n_parts && from->n_scalars == p->n_scalars);
    put_part(g, place, from, row);
    for (size_t i = 0; i < p->n_parts; i++)
        put_part(&g->parts[i], place, from->parts[i], row);
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

    if (p->storage == KC_CSR) {
        mix_sparse(g, place, h, from, row);
        ops->csr_norms(p->indptr + place, p->vals, 1, (char *)p->sq_norms + place * bytes);
    } else {
        mix_dense(p, place, h, from, row);
        ops->panel_norms((char *)p->panels + panel * p->d * KC_PANEL_BYTES, p->d,
                         (char *)p->sq_norms + panel * KC_PANEL_BYTES);
    }
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

    assert(kc_packed_is_dense(p) && p->n == 1);
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
