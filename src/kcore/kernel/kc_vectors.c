/* The records of the bases of numbers; see kc_vectors.h. */
#include "kernel/kc_vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A visit to a nonzero, in multiply-adds of dense points. */
#define SPARSE_WORK ((size_t)4)

static size_t work_of_sums(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    (void)leaf;
    (void)x;
    return z->storage == KC_CSR ? SPARSE_WORK * kc_packed_mean_values(z) : z->d;
}

/* Where a sum takes what either sample has, what only x has counts, too. */
static size_t work_of_either(kc_sum sum, const kc_node *leaf, const kc_packed *x,
                             const kc_packed *z)
{
    const bool is_merged = z->storage == KC_CSR && kc_sum_is_of_either(sum, z->d);

    return work_of_sums(leaf, x, z) + (is_merged ? SPARSE_WORK * kc_csr_places(x) : 0);
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

static void put(void *array, size_t index, kc_dtype dtype, double value)
{
    if (dtype == KC_F64)
        ((double *)array)[index] = value;
    else
        ((float *)array)[index] = (float)value;
}

static bool ones(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace)
{
    (void)leaf;
    (void)row_begin;
    (void)workspace;
    for (size_t i = 0; i < n_rows; i++)
        put(out, i, x->dtype, 1);
    return true;
}

/* sum x, feature by feature. */
static bool sums(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace)
{
    const size_t width = kc_panel_width(x->dtype);

    (void)leaf;
    (void)workspace;
    for (size_t i = 0; i < n_rows; i++) {
        const size_t row = row_begin + i, n = x->storage == KC_CSR
                                                  ? (size_t)(x->indptr[row + 1] - x->indptr[row])
                                                  : x->d;
        const void *from =
            x->storage == KC_CSR
                ? kc_at((void *)x->vals, (size_t)x->indptr[row], x->dtype)
                : kc_at(x->panels, row / width * width * x->d + row % width, x->dtype);
        const size_t step = x->storage == KC_CSR ? 1 : width;
        double wide = 0;
        float narrow = 0;

        if (x->dtype == KC_F64)
            for (size_t t = 0; t < n; t++)
                wide += ((const double *)from)[t * step];
        else
            for (size_t t = 0; t < n; t++)
                narrow += ((const float *)from)[t * step];
        put(out, i, x->dtype, x->dtype == KC_F64 ? wide : (double)narrow);
    }
    return true;
}

/* A factor 2 for each feature. */
static bool powers_of_two(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                          void *out, void *workspace)
{
    const size_t most = x->dtype == KC_F64 ? DBL_MAX_EXP : FLT_MAX_EXP;
    const double value = x->d < most ? ldexp(1, (int)x->d) : INFINITY;

    (void)leaf;
    (void)row_begin;
    (void)workspace;
    for (size_t i = 0; i < n_rows; i++)
        put(out, i, x->dtype, value);
    return isfinite(value);
}

/* `cost`: of a term, in multiply-adds. */
#define DEFINE_BASE(base, sum, cost, diagonal, text, ...)                                          \
    static bool fill_##base(const kc_node *leaf, const kc_block *block, void *workspace)           \
    {                                                                                              \
        return fill(sum, leaf, block, workspace);                                                  \
    }                                                                                              \
                                                                                                   \
    static size_t work_##base(const kc_node *leaf, const kc_packed *x, const kc_packed *z)         \
    {                                                                                              \
        return (cost) * work_of_either(sum, leaf, x, z);                                           \
    }                                                                                              \
                                                                                                   \
    const kc_base kc_base_##base = {                                                               \
        .name = (text),                                                                            \
        .takes = KC_TAKES_NUMBERS,                                                                 \
        .work = work_##base,                                                                       \
        .workspace = workspace,                                                                    \
        .block = fill_##base,                                                                      \
        .diag = (diagonal),                                                                        \
        __VA_ARGS__,                                                                               \
    };

DEFINE_BASE(dot, KC_SUM_DOT, 1, norms, "x.z", .is_shared = true)
DEFINE_BASE(sq_dist, KC_SUM_SQ_DIST, 1, zeros, "|x - z|^2", .is_shared = true)
DEFINE_BASE(l1, KC_SUM_L1, 1, zeros, "sum |x - z|", .is_shared = true)
DEFINE_BASE(min, KC_SUM_MIN, 1, sums, "sum min(x, z)", .is_shared = true, .refuses_negative = true)
DEFINE_BASE(minmax, KC_SUM_MINMAX, 1, ones, "sum min(x, z) / sum max(x, z)", .is_shared = true,
            .refuses_negative = true)
DEFINE_BASE(chi2, KC_SUM_CHI2, 4, zeros, "sum (x - z)^2 / (x + z)", .is_shared = true,
            .refuses_negative = true)
DEFINE_BASE(tanimoto, KC_SUM_TANIMOTO, 1, ones, "x.z / (|x|^2 + |z|^2 - x.z)", .is_shared = true)
DEFINE_BASE(equal, KC_SUM_EQUAL, 1, ones, "the share of equal features", .is_shared = true)
DEFINE_BASE(anova, KC_SUM_ANOVA, 12, powers_of_two, "a product over the features",
            .is_shared = false)
DEFINE_BASE(anova_slope, KC_SUM_ANOVA_SLOPE, 12, zeros, "minus the slope of its logarithm by gamma",
            .is_shared = false)
