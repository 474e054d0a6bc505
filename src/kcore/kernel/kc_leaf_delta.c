/* The delta kernel of strings: 1 where two strings are the same bytes, else 0. */
#include <string.h>

#include "kernel/kc_leaf.h"

/* Bytes compared in the time of a multiply-add. */
#define BYTES_PER_WORK ((size_t)16)

static size_t work(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    (void)leaf;
    (void)x;
    return 2 + kc_packed_mean_values(z) / BYTES_PER_WORK;
}

static size_t workspace(const kc_packed *x, const kc_packed *z, size_t n_rows)
{
    (void)x;
    (void)z;
    (void)n_rows;
    return 0;
}

/* Strings without a byte may be nowhere in memory. */
static bool are_equal(const char *string, size_t n, const char *other, size_t n_other)
{
    return n == n_other && (n == 0 || memcmp(string, other, n) == 0);
}

static void put(void *array, size_t index, kc_dtype dtype, bool value)
{
    if (dtype == KC_F64)
        ((double *)array)[index] = value ? 1.0 : 0.0;
    else
        ((float *)array)[index] = value ? 1.0f : 0.0f;
}

static bool block(const kc_node *leaf, const kc_block *block, void *workspace)
{
    const kc_dtype dtype = block->x->dtype;

    (void)leaf;
    (void)workspace;
    for (size_t i = 0; i < block->n_rows; i++) {
        size_t n, n_other;
        const char *string = kc_packed_string(block->x, kc_block_row(block, i), &n);
        void *row = kc_at(block->out, i * block->ld, dtype);

        for (size_t j = 0; j < block->n_cols; j++) {
            const char *other = kc_packed_string(block->z, block->col_begin + j, &n_other);

            put(row, j, dtype, are_equal(string, n, other, n_other));
        }
    }
    return true;
}

static bool diag(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace)
{
    (void)leaf;
    (void)row_begin;
    (void)workspace;
    for (size_t i = 0; i < n_rows; i++)
        put(out, i, x->dtype, true);
    return true;
}

const kc_base kc_base_same_string = {
    .name = "x = z",
    .takes = KC_TAKES_STRINGS,
    .is_shared = true,
    .work = work,
    .workspace = workspace,
    .block = block,
    .diag = diag,
};

const kc_leaf kc_leaf_delta = {
    .info = {"delta", "1 where x = z, else 0", NULL, 0},
    .base = &kc_base_same_string,
    .is_bounded = true,
    .definiteness = kc_always_positive,
};
