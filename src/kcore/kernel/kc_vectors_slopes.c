#include "kernel/kc_vectors_slopes.h"

#include <math.h>
#include <string.h>

#include "simd/kc_weigh_ops.h"

#define MAX_ROWS ((size_t)48)
#define MAX_COLS ((size_t)256)
#define SLICE ((size_t)256) /* columns of the samples at a time; a multiple of the panel */
#define PANEL (KC_PANEL_BYTES / sizeof(double))
#define POLL_SAMPLES ((size_t)4096)

/* ---- Which there are ------------------------------------------------------------------------ */

static const kc_step *last_step(const kc_step_list *reading)
{
    const kc_step *last = NULL;

    KC_EACH_STEP(step, reading)
    last = step;
    return last;
}

/* The factors of a leaf, and the steps before them. */
static const kc_step *factors_of(const kc_kernel *kernel, const kc_node *node, kc_step_list *before)
{
    const kc_readings readings = kc_kernel_readings(kernel);
    kc_step_list reading;
    const kc_step *last;

    if (node->leaf == NULL || node->reading == 0)
        return NULL;
    reading = kc_reading_at(&readings, (size_t)node->reading - 1);
    last = last_step(&reading);
    if (last == NULL || last->kind != KC_STEP_SCALE)
        return NULL;
    *before = (kc_step_list){reading.steps, reading.n_bytes - last->n_bytes};
    return last;
}

size_t kc_weighted_columns(const kc_kernel *kernel, const kc_node *node)
{
    kc_step_list before;
    const kc_step *factors = factors_of(kernel, node, &before);

    return factors == NULL ? 0 : factors->n_out;
}

bool kc_has_column_slopes(const kc_node *node)
{
    const kc_base *base = node->leaf->base;

    return node->leaf->slope != NULL &&
           (base == &kc_base_dot || base == &kc_base_sq_dist || base == &kc_base_l1);
}

double kc_column_weight(const kc_kernel *kernel, const kc_node *node, size_t t)
{
    kc_step_list before;
    const double factor = kc_step_numbers(factors_of(kernel, node, &before))[t];

    return node->leaf->base == &kc_base_l1 ? fabs(factor) : factor * factor;
}

/* ---- Columns before the factors -------------------------------------------------------------- */

/* Rows of doubles of a part, zeros behind them. */
static kc_status lay_out(kc_call *call, const kc_packed *part, size_t ld, double *out)
{
    double *room = kc_call_take(call, kc_packed_max_values(part) + 1, sizeof *room);

    if (room == NULL)
        return kc_fail_nomem(call->err);
    memset(out, 0, part->n * ld * sizeof *out);
    for (size_t i = 0; i < part->n; i++) {
        const kc_sample sample = kc_packed_sample(part, i, room);

        if (i % POLL_SAMPLES == POLL_SAMPLES - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
        for (int64_t k = 0; k < sample.n; k++)
            out[i * ld + (size_t)(sample.columns != NULL ? sample.columns[k] : k)] =
                sample.values[k];
    }
    return KC_OK;
}

/* One side of one leaf. */
static kc_status read_side(kc_call *call, const kc_points *points, const kc_step_list *before,
                           size_t ld, double **out)
{
    const kc_reading_span span = {0, before->n_bytes};
    const kc_readings readings = {(const char *)before->steps, &span, before->n_bytes > 0};
    double *rows = kc_call_take(call, (size_t)points->n_rows, ld * sizeof *rows);
    kc_packed packed;
    kc_status status;

    *out = rows;
    if (rows == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_packed_create_ordered(call, points, NULL, KC_F64, &packed));
    status = readings.n > 0 ? kc_packed_read(call, points, NULL, &readings, &packed) : KC_OK;
    if (status == KC_OK)
        status =
            lay_out(call, kc_packed_part(&packed, readings.n > 0 ? (size_t)packed.readings[0] : 0),
                    ld, rows);
    kc_packed_free(call->ctx, &packed);
    return status;
}

static void shift(double *rows, size_t n, size_t ld, size_t n_cols, const double *by)
{
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < n_cols; t++)
            rows[i * ld + t] -= by[t];
}

/* Differences stay what they are where the mean is taken from all; what they are expanded to has
 * smaller terms then. */
static kc_status centre(kc_call *call, kc_raw_columns *raw, size_t n, size_t m)
{
    double *mean = kc_call_take(call, raw->ld, sizeof *mean);

    if (mean == NULL)
        return kc_fail_nomem(call->err);
    memset(mean, 0, raw->ld * sizeof *mean);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < raw->n_cols; t++)
            mean[t] += raw->x[i * raw->ld + t];
    kc_ops_of(KC_F64)->scale(mean, raw->ld, 1 / (double)n);
    shift(raw->x, n, raw->ld, raw->n_cols, mean);
    if (raw->z != raw->x)
        shift(raw->z, m, raw->ld, raw->n_cols, mean);
    return KC_OK;
}

kc_status kc_raw_columns_read(kc_call *call, const kc_kernel *kernel, const kc_points *x,
                              const kc_points *z, kc_raw_columns **out)
{
    kc_raw_columns *all = kc_call_take(call, kernel->n_nodes, sizeof *all);
    bool is_any = false;

    *out = NULL;
    if (all == NULL)
        return kc_fail_nomem(call->err);
    memset(all, 0, kernel->n_nodes * sizeof *all);
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];
        kc_step_list before;
        kc_raw_columns *raw = &all[i];

        if (factors_of(kernel, node, &before) == NULL)
            continue;
        is_any = true;
        raw->n_cols = kc_weighted_columns(kernel, node);
        raw->ld = kc_round_up(raw->n_cols, PANEL);
        KC_TRY(read_side(call, x, &before, raw->ld, &raw->x));
        raw->z = raw->x;
        if (z != x)
            KC_TRY(read_side(call, z, &before, raw->ld, &raw->z));
        if (node->leaf->base == &kc_base_sq_dist)
            KC_TRY(centre(call, raw, (size_t)x->n_rows, (size_t)z->n_rows));
    }
    *out = is_any ? all : NULL;
    return KC_OK;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

typedef struct rooms {
    double *tiles;    /* of weights: row tiles, [MAX_COLS][KC_TILE_ROWS] each */
    double *panels;   /* of columns: [MAX_COLS][PANEL] each */
    double *products; /* [MAX_ROWS][SLICE] */
    double *row_sums, *col_sums, *ones;
} rooms;

size_t kc_column_slopes_workspace(void)
{
    return (MAX_ROWS * MAX_COLS + MAX_COLS * SLICE + MAX_ROWS * SLICE + MAX_ROWS + 2 * MAX_COLS) *
           sizeof(double);
}

static rooms lay_rooms(void *workspace)
{
    rooms at = {.tiles = workspace};

    at.panels = at.tiles + MAX_ROWS * MAX_COLS;
    at.products = at.panels + MAX_COLS * SLICE;
    at.row_sums = at.products + MAX_ROWS * SLICE;
    at.col_sums = at.row_sums + MAX_ROWS;
    at.ones = at.col_sums + MAX_COLS;
    return at;
}

/* The weights, times a factor, as rows of a product over the tile's columns. */
static void lay_tiles(const kc_base_weights *weights, double factor, double *tiles)
{
    const kc_ops *ops = kc_ops_of(KC_F64);
    const size_t size = weights->n_cols * KC_TILE_ROWS;

    for (size_t r = 0; r < weights->n_rows; r += KC_TILE_ROWS) {
        const size_t n_rows = kc_min(KC_TILE_ROWS, weights->n_rows - r);
        double *tile = tiles + r * weights->n_cols;

        if (n_rows < KC_TILE_ROWS)
            memset(tile, 0, size * sizeof *tile);
        ops->transpose(tile, KC_TILE_ROWS, weights->w + r * weights->ld, weights->ld, n_rows,
                       weights->n_cols);
        if (factor != 1)
            ops->scale(tile, size, factor);
    }
}

static void sum_weights(const kc_base_weights *weights, const rooms *at)
{
    memset(at->col_sums, 0, weights->n_cols * sizeof *at->col_sums);
    for (size_t j = 0; j < weights->n_cols; j++)
        at->ones[j] = 1;
    for (size_t r = 0; r < weights->n_rows; r++) {
        const double *w = weights->w + r * weights->ld;

        kc_weigh_of(KC_F64)(at->ones, weights->n_cols, w, 0, 1, &at->row_sums[r]);
        kc_ops_of(KC_F64)->add(at->col_sums, w, weights->n_cols);
    }
}

/* products = factor W Z, for n columns of the samples from t on. */
static void multiply(const kc_raw_columns *raw, const kc_base_weights *weights, size_t t, size_t n,
                     const rooms *at)
{
    const kc_dense_job job = {
        .rows = at->tiles,
        .panels = at->panels,
        .d = weights->n_cols,
        .n_rows = weights->n_rows,
        .n_cols = n,
        .out = at->products,
        .ld = SLICE,
    };

    for (size_t p = 0; p < n; p += PANEL)
        for (size_t j = 0; j < weights->n_cols; j++)
            memcpy(at->panels + p * weights->n_cols + j * PANEL,
                   raw->z + (weights->col_begin + j) * raw->ld + t + p, KC_PANEL_BYTES);
    kc_ops_of(KC_F64)->dot_block(&job);
}

/* sum x_it w_ij z_jt; of distances -2 times that, and the squares. */
static void add_products(const kc_raw_columns *raw, const kc_base_weights *weights,
                         bool is_distance, const rooms *at, double *out)
{
    lay_tiles(weights, is_distance ? -2.0 : 1.0, at->tiles);
    sum_weights(weights, at);
    for (size_t t = 0; t < raw->n_cols; t += SLICE) {
        const size_t n = kc_min(SLICE, raw->n_cols - t);

        multiply(raw, weights, t, n, at);
        for (size_t r = 0; r < weights->n_rows; r++) {
            const double *x = raw->x + (weights->row_begin + r) * raw->ld + t;

            kc_add_weighed_of(KC_F64)(out + t, at->products + r * SLICE, x, n);
            if (is_distance)
                kc_add_squares(out + t, x, at->row_sums[r], n);
        }
        for (size_t j = 0; is_distance && j < weights->n_cols; j++)
            kc_add_squares(out + t, raw->z + (weights->col_begin + j) * raw->ld + t,
                           at->col_sums[j], n);
    }
}

static void add_distances(const kc_raw_columns *raw, const kc_base_weights *weights, double *out)
{
    for (size_t r = 0; r < weights->n_rows; r++)
        kc_add_distances(out, raw->x + (weights->row_begin + r) * raw->ld,
                         raw->z + weights->col_begin * raw->ld, raw->ld,
                         weights->w + r * weights->ld, weights->n_cols, raw->n_cols);
}

void kc_column_slopes_add(const kc_base *base, const kc_raw_columns *raw,
                          const kc_base_weights *weights, void *workspace, double *out)
{
    const rooms at = lay_rooms(workspace);

    if (!weights->is_diag && base == &kc_base_l1)
        add_distances(raw, weights, out);
    else if (!weights->is_diag)
        add_products(raw, weights, base == &kc_base_sq_dist, &at, out);
    else if (base == &kc_base_dot) /* no sample has a distance from itself */
        for (size_t j = 0; j < weights->n_cols; j++)
            kc_add_squares(out, raw->x + (weights->col_begin + j) * raw->ld, weights->w[j],
                           raw->n_cols);
}
