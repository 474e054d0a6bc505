/* The inner loops: everything that touches n or d numbers at a time.
 *
 * One table of functions per instruction set and type; arrays are `void *` of the table's type, so
 * that code above is written once.  Nothing here allocates, knows where data came from or what a
 * kernel is called.  Each result is a fixed sequence of operations per output number: it does not
 * depend on the position in the array, the alignment or the neighbours.
 *
 * Layouts: a *panel* holds 64 bytes of samples per feature (16 f32 or 8 f64), a *row tile* holds
 * KC_TILE_ROWS samples per feature, *lanes* hold 128 bytes of samples per feature. */
#ifndef KC_OPS_H
#define KC_OPS_H

#include "base/kc_base.h"
#include "base/kc_isa.h"

#define KC_PANEL_BYTES 64
#define KC_LANE_BYTES 128
#define KC_TILE_ROWS 6

/* Of the first-level data cache: what every core in question has. */
#define KC_L1_BYTES ((size_t)32 * 1024)

/* Row tiles against panels: out[i * ld + j] for i < n_rows, j < n_cols. */
typedef struct kc_dense_job {
    const void *rows;    /* row tiles one after the other, each [d][KC_TILE_ROWS] */
    const void *panels;  /* panels one after the other, each [d][panel width] */
    size_t d;            /* features */
    size_t n_rows;       /* the last tile is padded */
    size_t n_cols;       /* the last panel is padded */
    const void *x_norms; /* squared norms of the rows and columns, padded; of the rows sums of |x|,
                            where the values are made of those */
    const void *z_norms;
    double gamma;
    void *out;
    size_t ld;
    bool is_backward; /* a single row: it meets the last panels first */
    bool
        is_upper; /* row i needs the columns from i + diagonal on; of others, panels are left out */
    ptrdiff_t diagonal;
} kc_dense_job;

/* CSR rows against lanes: out[j * lane width + lane] for j < n, row j being row first + j. */
typedef struct kc_csr_job {
    const int64_t *indptr;
    const int32_t *cols; /* ascending in each row */
    const void *vals;
    size_t first, n;
    const void *lanes;        /* [n_lane_cols][lane width] */
    const int32_t *lane_of;   /* column -> its place in lanes; NULL: the column itself */
    const int32_t *lane_cols; /* place -> column, ascending; for sums over the union only */
    size_t n_lane_cols;
    const void *lane_sums; /* of |x| of each lane; its nonzeros, for csr_equal */
    size_t d;
    double gamma;
    void *out;
} kc_csr_job;

typedef struct kc_ops {
    /* x.z by one chain of fused multiply-adds over the features. */
    void (*dot_block)(const kc_dense_job *job);
    /* max(0, |x|^2 + |z|^2 - 2 x.z), sum (x - z)^2, sum |x - z| */
    void (*sq_dist_block)(const kc_dense_job *job);
    void (*sq_diff_block)(const kc_dense_job *job);
    void (*l1_block)(const kc_dense_job *job);
    /* exp(-gamma ...) of these, in the registers: the same bits as map_exp of what they store. */
    void (*rbf_block)(const kc_dense_job *job);
    void (*rbf_diff_block)(const kc_dense_job *job);
    void (*laplacian_block)(const kc_dense_job *job);

    /* sum min(x, z), and that / sum max(x, z); sum |x - z| from sums of |x|, |z| and of what both
     * have; sum (x - z)^2 / (x + z), and the same from sums; x.z / (|x|^2 + |z|^2 - x.z); the share
     * of equal features; the product of 1 + exp(-gamma (x - z)^2).  A ratio 0 / 0 is 1. */
    void (*min_block)(const kc_dense_job *job);
    void (*minmax_block)(const kc_dense_job *job);
    void (*shared_l1_block)(const kc_dense_job *job);
    void (*chi2_block)(const kc_dense_job *job);
    void (*shared_chi2_block)(const kc_dense_job *job);
    void (*tanimoto_block)(const kc_dense_job *job);
    void (*equal_block)(const kc_dense_job *job);
    void (*anova_block)(const kc_dense_job *job);
    /* sum (x - z)^2 e / (1 + e) with e = exp(-gamma (x - z)^2) */
    void (*anova_slope_block)(const kc_dense_job *job);
    /* sum |x| of the rows of n_tiles tiles, padded. */
    void (*tile_sums)(const void *tiles, size_t n_tiles, size_t d, void *sums);

    /* The same chains over sparse rows. */
    void (*csr_dot)(const kc_csr_job *job);
    void (*csr_min)(const kc_csr_job *job);
    void (*csr_minmax)(const kc_csr_job *job);
    void (*csr_l1)(const kc_csr_job *job);
    void (*csr_shared_l1)(const kc_csr_job *job);
    void (*csr_chi2)(const kc_csr_job *job);
    void (*csr_shared_chi2)(const kc_csr_job *job);
    void (*csr_equal)(const kc_csr_job *job);
    void (*csr_anova)(const kc_csr_job *job);
    void (*csr_anova_slope)(const kc_csr_job *job);

    /* x.x of the samples of one panel, and of n CSR rows. */
    void (*panel_norms)(const void *panel, size_t d, void *norms);
    void (*csr_norms)(const int64_t *indptr, const void *vals, size_t n, void *norms);

    /* Maps in place over n numbers. */
    void (*map_rbf)(void *k, size_t n_rows, size_t n, const void *row_norms, const void *norms,
                    double gamma); /* [n_rows][n] dot products to RBF values */
    void (*map_sq_dist)(void *k, size_t n_rows, size_t n, const void *row_norms,
                        const void *norms); /* ... to squared distances */
    void (*map_tanimoto)(void *k, size_t n_rows, size_t n, const void *row_norms,
                         const void *norms);               /* ... to x.z / (|x|^2 + |z|^2 - x.z) */
    void (*map_exp)(void *k, size_t n, double factor);     /* exp(factor k) */
    void (*map_log1p)(void *k, size_t n, double factor);   /* log(1 + factor k), >= 0 both */
    void (*map_inverse)(void *k, size_t n, double factor); /* 1 / (1 + factor k) */
    void (*map_tanh)(void *k, size_t n, double gamma, double coef0);
    void (*map_power)(void *k, size_t n, double gamma, double coef0, int32_t degree);
    void (*map_series)(void *k, size_t n, const double *coefs, size_t n_coefs); /* sum c_i k^i */
    void (*scale)(void *k, size_t n, double factor);
    void (*add)(void *k, const void *other, size_t n);
    void (*multiply)(void *k, const void *other, size_t n);
    bool (*all_finite)(const void *k, size_t n);
    bool (*has_negative)(const void *k, size_t n);

    /* dst[j * dst_ld + i] = src[i * src_ld + j] for i < n_rows, j < n_cols. */
    void (*transpose)(void *dst, size_t dst_ld, const void *src, size_t src_ld, size_t n_rows,
                      size_t n_cols);

    /* The same, for a dst that is not read soon and too large for the cache. */
    void (*transpose_far)(void *dst, size_t dst_ld, const void *src, size_t src_ld, size_t n_rows,
                          size_t n_cols);
} kc_ops;

typedef struct kc_ops_table {
    kc_ops f32, f64;
} kc_ops_table;

extern const kc_ops_table kc_ops_generic;
extern const kc_ops_table kc_ops_avx2;
extern const kc_ops_table kc_ops_avx512;

/* The table of an instruction set; NULL where it is not compiled in. */
const kc_ops_table *kc_ops_table_of(kc_isa isa);

/* Of the one in use. */
const kc_ops *kc_ops_of(kc_dtype dtype);

#endif
