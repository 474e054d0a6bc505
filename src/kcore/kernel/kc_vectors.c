/* The records of the bases of numbers; see kc_vectors.h. */
#include "kernel/kc_vectors.h"

#include <string.h>

/* A visit to a nonzero, in multiply-adds of dense points. */
#define SPARSE_WORK ((size_t)4)

static size_t work_of_sums(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    (void)leaf;
    (void)x;
    return z->storage == KC_CSR ? SPARSE_WORK * kc_packed_mean_values(z) : z->d;
}

/* What only x has counts, too. */
static size_t work_of_l1(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    return work_of_sums(leaf, x, z) + (z->storage == KC_CSR ? SPARSE_WORK * kc_csr_places(x) : 0);
}

static size_t workspace(const kc_packed *x, const kc_packed *z, size_t n_rows)
{
    return z->storage == KC_CSR ? kc_csr_workspace(x) : kc_dense_workspace(z, n_rows);
}

static bool fill(kc_sum sum, const kc_node *leaf, const kc_block *block, void *workspace)
{
    if (block->z->storage == KC_CSR)
        kc_csr_block(sum, leaf, block, workspace);
    else
        kc_dense_block(sum, leaf, block, workspace);
    return true;
}

static bool fill_dot(const kc_node *leaf, const kc_block *block, void *workspace)
{
    return fill(KC_SUM_DOT, leaf, block, workspace);
}

static bool fill_sq_dist(const kc_node *leaf, const kc_block *block, void *workspace)
{
    return fill(KC_SUM_SQ_DIST, leaf, block, workspace);
}

static bool fill_l1(const kc_node *leaf, const kc_block *block, void *workspace)
{
    return fill(KC_SUM_L1, leaf, block, workspace);
}

/* x.x is at hand; a sample has no distance from itself. */
static bool norms(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                  void *out, void *workspace)
{
    (void)leaf;
    (void)workspace;
    memcpy(out, kc_at(x->sq_norms, row_begin, x->dtype), n_rows * kc_dtype_bytes(x->dtype));
    return true;
}

static bool zeros(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                  void *out, void *workspace)
{
    (void)leaf;
    (void)row_begin;
    (void)workspace;
    memset(out, 0, n_rows * kc_dtype_bytes(x->dtype));
    return true;
}

const kc_base kc_base_dot = {
    .name = "x.z",
    .takes = KC_TAKES_NUMBERS,
    .is_shared = true,
    .work = work_of_sums,
    .workspace = workspace,
    .block = fill_dot,
    .diag = norms,
};

const kc_base kc_base_sq_dist = {
    .name = "|x - z|^2",
    .takes = KC_TAKES_NUMBERS,
    .is_shared = true,
    .work = work_of_sums,
    .workspace = workspace,
    .block = fill_sq_dist,
    .diag = zeros,
};

const kc_base kc_base_l1 = {
    .name = "sum |x - z|",
    .takes = KC_TAKES_NUMBERS,
    .is_shared = true,
    .work = work_of_l1,
    .workspace = workspace,
    .block = fill_l1,
    .diag = zeros,
};
