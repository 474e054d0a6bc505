/* Sums over sparse columns: a batch of rows is spread out over lanes, one per row, and the columns'
 * nonzeros stream past them: each nonzero is one multiply-add for all rows of the batch.
 *
 * Lanes are addressed by the column itself while all columns fit the second-level cache, else
 * through a map from the column to its place among the columns that the batch has; columns that it
 * lacks map to a place of zeros, which saves a branch per nonzero. */
#include <string.h>

#include "kernel/kc_vectors.h"

#define DIRECT_BYTES ((size_t)256 * 1024)

/* Columns of the block that one pass computes: their values stay in the first-level cache. */
#define STRIP_COLS ((size_t)128)

typedef struct lanes {
    bool is_direct;
    size_t width;
    size_t n_places;   /* places filled */
    size_t zeros;      /* the place of all zeros, where there is a map */
    void *values;      /* [zeros + 1][width] */
    int32_t *place_of; /* column -> place; with a map only */
    int32_t *cols;     /* place -> column */
    void *norms;       /* squared norms of the batch's rows, or what kc_csr_job has for sums */
    void *strip;       /* [STRIP_COLS][width] */
} lanes;

static size_t lane_width(kc_dtype dtype)
{
    return KC_LANE_BYTES / kc_dtype_bytes(dtype);
}

/* Dense rows have every column: a map would gain nothing. */
static bool is_direct(const kc_packed *x)
{
    return x->storage != KC_CSR || x->d * KC_LANE_BYTES <= DIRECT_BYTES;
}

size_t kc_csr_places(const kc_packed *x)
{
    size_t filled;

    if (is_direct(x) || !kc_mul_size(x->max_row_nnz, lane_width(x->dtype), &filled))
        return x->d;
    return kc_min(x->d, filled);
}

size_t kc_csr_workspace(const kc_packed *x)
{
    const size_t places = kc_csr_places(x);

    return (places + 2) * KC_LANE_BYTES + STRIP_COLS * KC_LANE_BYTES +
           kc_aligned(places * sizeof(int32_t)) +
           (is_direct(x) ? 0 : kc_aligned(x->d * sizeof(int32_t)));
}

static lanes lay_out(const kc_packed *x, char *workspace)
{
    const size_t places = kc_csr_places(x);
    lanes lane = {.is_direct = is_direct(x), .width = lane_width(x->dtype), .zeros = places};

    lane.strip = workspace;
    lane.norms = workspace + STRIP_COLS * KC_LANE_BYTES;
    lane.values = (char *)lane.norms + KC_LANE_BYTES;
    lane.cols = (int32_t *)((char *)lane.values + (places + 1) * KC_LANE_BYTES);
    if (!lane.is_direct)
        lane.place_of = (int32_t *)((char *)lane.cols + kc_aligned(places * sizeof(int32_t)));
    return lane;
}

/* Places of the columns that the rows i .. i + n - 1 of the block have between them, as they come.
 */
static void find_places(lanes *lane, const kc_block *block, size_t i, size_t n)
{
    const kc_packed *x = block->x;
    const int32_t none = (int32_t)lane->zeros;

    lane->n_places = 0;
    for (size_t c = 0; c < x->d; c++)
        lane->place_of[c] = none;
    for (size_t r = 0; r < n; r++) {
        const size_t row = kc_block_row(block, i + r);

        for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++) {
            const int32_t col = x->cols[k];

            if (lane->place_of[col] != none)
                continue;
            lane->place_of[col] = (int32_t)lane->n_places;
            lane->cols[lane->n_places++] = col;
        }
    }
}

/* Places in the order of the columns. */
static void order_places(lanes *lane, size_t d)
{
    const int32_t none = (int32_t)lane->zeros;

    lane->n_places = 0;
    for (size_t c = 0; c < d; c++) {
        if (lane->is_direct || lane->place_of[c] != none) {
            if (!lane->is_direct)
                lane->place_of[c] = (int32_t)lane->n_places;
            lane->cols[lane->n_places++] = (int32_t)c;
        }
    }
}

#define KC_T float
#define KC_SUFFIX f32
#include "kernel/kc_lanes_body.inc"
#undef KC_T
#undef KC_SUFFIX
#define KC_T double
#define KC_SUFFIX f64
#include "kernel/kc_lanes_body.inc"
#undef KC_T
#undef KC_SUFFIX

/* Sums over what either side has go by the order of the columns; those over both need none. */
static void spread(lanes *lane, kc_sum sum, const kc_block *block, size_t i, size_t n)
{
    const size_t d = block->x->d;
    char *zeros = (char *)lane->values + lane->zeros * KC_LANE_BYTES;

    if (!lane->is_direct)
        find_places(lane, block, i, n);
    if (kc_sum_is_of_either(sum, d))
        order_places(lane, d);
    memset(lane->norms, 0, KC_LANE_BYTES);
    memset(lane->values, 0, (lane->is_direct ? d : lane->n_places) * KC_LANE_BYTES);
    memset(zeros, 0, KC_LANE_BYTES);
    for (size_t r = 0; r < n; r++) {
        const size_t row = kc_block_row(block, i + r);

        if (block->x->dtype == KC_F64)
            spread_row_f64(lane, sum, block->x, row, r);
        else
            spread_row_f32(lane, sum, block->x, row, r);
    }
}

/* Products in the strip become distances, and those values of the leaf, before they leave the
 * first-level cache. */
static void map_strip(kc_sum sum, const kc_node *leaf, const kc_ops *ops, const lanes *lane,
                      const kc_packed *z, size_t first, size_t n)
{
    const void *norms = kc_at(z->sq_norms, first, z->dtype);

    if (sum == KC_SUM_SQ_DIST && leaf != NULL && leaf->leaf->exp_factor != NULL) {
        ops->map_rbf(lane->strip, n, lane->width, norms, lane->norms,
                     -leaf->leaf->exp_factor(leaf->params));
        return;
    }
    if (sum == KC_SUM_SQ_DIST)
        ops->map_sq_dist(lane->strip, n, lane->width, norms, lane->norms);
    if (sum == KC_SUM_TANIMOTO)
        ops->map_tanimoto(lane->strip, n, lane->width, norms, lane->norms);
    if (leaf != NULL)
        kc_leaf_map(leaf, z->dtype, lane->strip, n * lane->width);
}

typedef void sum_fn(const kc_csr_job *job);

static sum_fn *choose_loop(kc_sum sum, size_t d, const kc_ops *ops)
{
    const bool has_sums = kc_sum_has_sums(sum, d);

    switch (sum) {
    case KC_SUM_L1:
        return has_sums ? ops->csr_shared_l1 : ops->csr_l1;
    case KC_SUM_MIN:
        return ops->csr_min;
    case KC_SUM_MINMAX:
        return ops->csr_minmax;
    case KC_SUM_CHI2:
        return has_sums ? ops->csr_shared_chi2 : ops->csr_chi2;
    case KC_SUM_EQUAL:
        return ops->csr_equal;
    case KC_SUM_ANOVA:
        return ops->csr_anova;
    case KC_SUM_ANOVA_SLOPE:
        return ops->csr_anova_slope;
    default: /* x.z, and what is made of it by norms */
        return ops->csr_dot;
    }
}

void kc_csr_block(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace)
{
    const kc_packed *z = block->z;
    const kc_ops *ops = kc_ops_of(z->dtype);
    sum_fn *run = choose_loop(sum, z->d, ops);
    lanes lane = lay_out(block->x, workspace);

    for (size_t i = 0; i < block->n_rows; i += lane.width) {
        const size_t n_rows = kc_min(lane.width, block->n_rows - i);

        spread(&lane, sum, block, i, n_rows);
        for (size_t j = 0; j < block->n_cols; j += STRIP_COLS) {
            const kc_csr_job job = {
                .indptr = z->indptr,
                .cols = z->cols,
                .vals = z->vals,
                .first = block->col_begin + j,
                .n = kc_min(STRIP_COLS, block->n_cols - j),
                .lanes = lane.values,
                .lane_of = lane.place_of,
                .lane_cols = lane.cols,
                .n_lane_cols = lane.n_places,
                .lane_sums = lane.norms,
                .d = z->d,
                .gamma = kc_sum_gamma(sum, leaf),
                .out = lane.strip,
            };
            void *out = kc_at(block->out, i * block->ld + j, z->dtype);

            run(&job);
            map_strip(sum, leaf, ops, &lane, z, job.first, job.n);
            ops->transpose(out, block->ld, lane.strip, lane.width, job.n, n_rows);
        }
    }
}
