/* Sums over dense columns: rows are gathered into tiles of six, which the inner loops run against
 * the columns' panels.
 *
 * The rows of a group are packed once and used for every panel of the block; a group is as large as
 * half a second-level cache allows, so that packing costs little beside the products. */
#include <string.h>

#include "kernel/kc_vectors.h"

#define GROUP_BYTES ((size_t)256 * 1024)
#define GROUP_ROWS ((size_t)96)

static size_t rows_per_group(size_t d, kc_dtype dtype, size_t n_rows)
{
    const size_t fit = GROUP_BYTES / kc_dtype_bytes(dtype) / d / KC_TILE_ROWS * KC_TILE_ROWS;
    const size_t most = kc_round_up(kc_min(n_rows, GROUP_ROWS), KC_TILE_ROWS);

    return kc_max(KC_TILE_ROWS, kc_min(most, fit));
}

static size_t norm_bytes(size_t group, kc_dtype dtype)
{
    return kc_aligned(group * kc_dtype_bytes(dtype));
}

size_t kc_dense_workspace(const kc_packed *z, size_t n_rows)
{
    const size_t group = rows_per_group(z->d, z->dtype, n_rows);

    return norm_bytes(group, z->dtype) + kc_aligned(group * z->d * kc_dtype_bytes(z->dtype));
}

#define KC_T float
#define KC_SUFFIX f32
#include "kernel/kc_tiles_body.inc"
#undef KC_T
#undef KC_SUFFIX
#define KC_T double
#define KC_SUFFIX f64
#include "kernel/kc_tiles_body.inc"
#undef KC_T
#undef KC_SUFFIX

/* Whether the loops apply the formula to sums in their registers. */
static bool is_fused(kc_sum sum, const kc_node *leaf, size_t d)
{
    return leaf != NULL && leaf->leaf->exp_factor != NULL &&
           (sum == KC_SUM_SQ_DIST || (sum == KC_SUM_L1 && !kc_sum_has_sums(sum, d)));
}

typedef void block_fn(const kc_dense_job *job);

static block_fn *choose_loop(kc_sum sum, bool is_exp, size_t d, const kc_ops *ops)
{
    const bool is_direct = d <= KC_DIRECT_DIFF_MAX, has_sums = kc_sum_has_sums(sum, d);

    switch (sum) {
    case KC_SUM_SQ_DIST:
        if (is_exp)
            return is_direct ? ops->rbf_diff_block : ops->rbf_block;
        return is_direct ? ops->sq_diff_block : ops->sq_dist_block;
    case KC_SUM_L1:
        if (has_sums)
            return ops->shared_l1_block;
        return is_exp ? ops->laplacian_block : ops->l1_block;
    case KC_SUM_MIN:
        return ops->min_block;
    case KC_SUM_MINMAX:
        return ops->minmax_block;
    case KC_SUM_CHI2:
        return has_sums ? ops->shared_chi2_block : ops->chi2_block;
    case KC_SUM_TANIMOTO:
        return ops->tanimoto_block;
    case KC_SUM_EQUAL:
        return ops->equal_block;
    case KC_SUM_ANOVA:
        return ops->anova_block;
    case KC_SUM_ANOVA_SLOPE:
        return ops->anova_slope_block;
    default:
        return ops->dot_block;
    }
}

void kc_dense_block(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace)
{
    const kc_packed *x = block->x, *z = block->z;
    const kc_dtype dtype = x->dtype;
    const size_t group = rows_per_group(z->d, dtype, block->n_rows);
    void *x_norms = workspace, *tiles = (char *)workspace + norm_bytes(group, dtype);
    const kc_ops *ops = kc_ops_of(dtype);
    const bool is_exp = is_fused(sum, leaf, z->d);
    const bool is_mapped_after = leaf != NULL && !is_exp && kc_leaf_has_formula(leaf);
    block_fn *run = choose_loop(sum, is_exp, z->d, ops);

    for (size_t i = 0; i < block->n_rows; i += group) {
        const kc_dense_job job = {
            .rows = tiles,
            .panels = kc_at(z->panels, block->col_begin * z->d, dtype),
            .d = z->d,
            .n_rows = kc_min(group, block->n_rows - i),
            .n_cols = block->n_cols,
            .x_norms = x_norms,
            .z_norms = kc_at(z->sq_norms, block->col_begin, dtype),
            .gamma = is_exp ? -leaf->leaf->exp_factor(leaf->params) : kc_sum_gamma(sum, leaf),
            .out = kc_at(block->out, i * block->ld, dtype),
            .ld = block->ld,
            .is_backward = block->is_backward,
            .is_upper = block->is_upper && !is_mapped_after, /* a map wants all columns */
            .diagonal = (ptrdiff_t)(block->row_begin + i) - (ptrdiff_t)block->col_begin,
        };

        if (dtype == KC_F64)
            gather_tiles_f64(block, i, job.n_rows, tiles, x_norms);
        else
            gather_tiles_f32(block, i, job.n_rows, tiles, x_norms);
        if (kc_sum_has_sums(sum, z->d))
            ops->tile_sums(tiles, kc_ceil_div(job.n_rows, KC_TILE_ROWS), z->d, x_norms);
        run(&job);
        for (size_t r = 0; is_mapped_after && r < job.n_rows; r++)
            kc_leaf_map(leaf, dtype, kc_at(job.out, r * job.ld, dtype), job.n_cols);
    }
}
