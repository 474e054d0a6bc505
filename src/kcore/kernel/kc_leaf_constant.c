/* K(x, z) = value, whatever the samples are. */
#include <float.h>

#include "kernel/kc_leaf.h"

static const kc_setting params[] = {
    {"value", "real", 1.0, 0.0, DBL_MAX, 0, "the value of every pair"},
};

static size_t work(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    (void)leaf;
    (void)x;
    (void)z;
    return 0;
}

static size_t workspace(const kc_packed *x, const kc_packed *z, size_t n_rows)
{
    (void)x;
    (void)z;
    (void)n_rows;
    return 0;
}

static void fill(double value, kc_dtype dtype, size_t n, void *out)
{
    for (size_t j = 0; j < n; j++)
        if (dtype == KC_F64)
            ((double *)out)[j] = value;
        else
            ((float *)out)[j] = (float)value;
}

static bool block(const kc_node *leaf, const kc_block *block, void *workspace)
{
    const kc_dtype dtype = block->x->dtype;

    (void)workspace;
    for (size_t i = 0; i < block->n_rows; i++)
        fill(leaf->params[0], dtype, block->n_cols, kc_at(block->out, i * block->ld, dtype));
    return true;
}

static bool diag(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace)
{
    (void)row_begin;
    (void)workspace;
    fill(leaf->params[0], x->dtype, n_rows, out);
    return true;
}

static const kc_base base_constant = {
    .name = "constant",
    .takes = KC_TAKES_NUMBERS | KC_TAKES_STRINGS | KC_TAKES_TABLES,
    .work = work,
    .workspace = workspace,
    .block = block,
    .diag = diag,
};

static void slope(const double *p, int32_t k, kc_dtype dtype, const void *base, const void *value,
                  void *out, size_t n)
{
    (void)p;
    (void)base;
    (void)value;
    fill(k == KC_OF_BASE ? 0 : 1, dtype, n, out);
}

const kc_leaf kc_leaf_constant = {
    .info = {"constant", "value", params, 1},
    .base = &base_constant,
    .slope = slope,
    .definiteness = kc_always_positive,
};
