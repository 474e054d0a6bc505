/* simd/kc_ops.h: products of tiles and of sparse rows, against long double, for every instruction
 * set.  Maps and transposition: test_ops_maps.c. */
#include "simd/kc_ops.h"

#include "base/kc_rng.h"
#include "guarded.h"
#include "ref_kernel.h"

static tier tiers[MAX_TIERS];
static size_t n_tiers;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- Dense tiles -------------------------------------------------------------------------- */

/* Two sets of points in the layouts of a kc_dense_job, everything beyond them NaN. */
typedef struct dense_case {
    kc_dtype dtype;
    ref_samples x, z;
    void *rows, *panels, *x_norms, *z_norms;
    double gamma;
} dense_case;

static void *make_layout(const ref_samples *s, size_t group, kc_dtype dtype)
{
    const size_t n_groups = kc_ceil_div(s->n, group), bytes = kc_dtype_bytes(dtype);
    void *layout = malloc(n_groups * group * s->d * bytes);

    memset(layout, 0xff, n_groups * group * s->d * bytes); /* NaN: nothing may come of it */
    for (size_t i = 0; i < s->n; i++)
        for (size_t t = 0; t < s->d; t++)
            ref_put(layout, (i / group * s->d + t) * group + i % group, dtype, s->x[i * s->d + t]);
    return layout;
}

/* By the loops under test: rbf_block is promised norms that are made like its products. */
static void *make_norms(const kc_ops *ops, const ref_samples *s, size_t group, kc_dtype dtype)
{
    const size_t bytes = kc_dtype_bytes(dtype), width = KC_PANEL_BYTES / bytes;
    void *panels = make_layout(s, width, dtype);
    char *norms = malloc(kc_round_up(s->n, group * width) * bytes);

    for (size_t p = 0; p < kc_ceil_div(s->n, width); p++)
        ops->panel_norms((char *)panels + p * s->d * KC_PANEL_BYTES, s->d,
                         norms + p * KC_PANEL_BYTES);
    free(panels);
    return norms;
}

static dense_case make_case(const kc_ops *ops, size_t n_rows, size_t n_cols, size_t d,
                            kc_dtype dtype)
{
    const size_t width = KC_PANEL_BYTES / kc_dtype_bytes(dtype);
    dense_case c = {.dtype = dtype, .gamma = 0.7 / (double)d};

    c.x = ref_random(100 * n_rows + d, n_rows, d, 1.0, dtype);
    c.z = ref_random(200 * n_cols + d, n_cols, d, 1.0, dtype);
    c.rows = make_layout(&c.x, KC_TILE_ROWS, dtype);
    c.panels = make_layout(&c.z, width, dtype);
    c.x_norms = make_norms(ops, &c.x, KC_TILE_ROWS, dtype);
    c.z_norms = make_norms(ops, &c.z, 1, dtype);
    return c;
}

static void free_case(dense_case *c)
{
    ref_samples_free(&c->x);
    ref_samples_free(&c->z);
    free(c->rows);
    free(c->panels);
    free(c->x_norms);
    free(c->z_norms);
}

typedef enum block_kind { DOT, SQ_DIST, SQ_DIFF, L1, RBF, RBF_DIFF, LAPLACIAN, N_KINDS } block_kind;

static void run_block(const kc_ops *ops, block_kind kind, const dense_case *c, void *out, size_t ld)
{
    void (*const blocks[])(const kc_dense_job *) = {
        ops->dot_block, ops->sq_dist_block,  ops->sq_diff_block,   ops->l1_block,
        ops->rbf_block, ops->rbf_diff_block, ops->laplacian_block,
    };
    const bool has_norms = kind == RBF || kind == SQ_DIST;
    const kc_dense_job job = {
        .rows = c->rows,
        .panels = c->panels,
        .d = c->x.d,
        .n_rows = c->x.n,
        .n_cols = c->z.n,
        .x_norms = has_norms ? c->x_norms : NULL,
        .z_norms = has_norms ? c->z_norms : NULL,
        .gamma = c->gamma,
        .out = out,
        .ld = ld,
    };

    blocks[kind](&job);
}

static ref_value block_value(block_kind kind, const dense_case *c, size_t i, size_t j)
{
    const size_t d = c->x.d;
    const double *x = c->x.x + i * d, *z = c->z.x + j * d;

    switch (kind) {
    case DOT:
        return ref_dot(x, z, d, c->dtype);
    case SQ_DIST:
    case SQ_DIFF:
        return ref_sq_dist(x, z, d, kind == SQ_DIFF, c->dtype);
    case L1:
        return ref_l1(x, z, d, c->dtype);
    case LAPLACIAN:
        return ref_exp(ref_l1(x, z, d, c->dtype), -c->gamma, c->dtype);
    default:
        return ref_exp(ref_sq_dist(x, z, d, kind == RBF_DIFF, c->dtype), -c->gamma, c->dtype);
    }
}

/* exp in the registers is exp of what the plain sums are, to the bit. */
static void check_fused(block_kind sum, block_kind fused, size_t d, kc_dtype dtype)
{
    const size_t n_rows = 7, n_cols = 37, n = n_rows * n_cols;

    for (size_t t = 0; t < n_tiers; t++) {
        const kc_ops *ops = ops_of(&tiers[t], dtype);
        dense_case c = make_case(ops, n_rows, n_cols, d, dtype);
        guarded sums = guarded_make(n, 0, dtype), values = guarded_make(n, 0, dtype);

        run_block(ops, sum, &c, sums.data, n_cols);
        run_block(ops, fused, &c, values.data, n_cols);
        ops->map_exp(sums.data, n, -c.gamma);
        CHECK(memcmp(sums.data, values.data, n * kc_dtype_bytes(dtype)) == 0);
        guarded_free(&sums);
        guarded_free(&values);
        free_case(&c);
    }
}

static void exp_in_the_registers_is_exp_of_the_sums(void)
{
    for (size_t k = 0; k < 2; k++) {
        check_fused(SQ_DIST, RBF, 90, dtypes[k]);
        check_fused(SQ_DIFF, RBF_DIFF, 30, dtypes[k]);
        check_fused(L1, LAPLACIAN, 30, dtypes[k]);
    }
}

/* Every value within its bound, the tiers within twice that of each other, nothing else written. */
static void check_block(block_kind kind, size_t n_rows, size_t n_cols, size_t d, kc_dtype dtype)
{
    const size_t ld = n_cols + 3, n = (n_rows - 1) * ld + n_cols;
    double excess = 0, apart = 0;
    guarded out[MAX_TIERS];

    for (size_t t = 0; t < n_tiers; t++) {
        const kc_ops *ops = ops_of(&tiers[t], dtype);
        dense_case c = make_case(ops, n_rows, n_cols, d, dtype);

        out[t] = guarded_make(n, 1 + d % 7, dtype);
        run_block(ops, kind, &c, out[t].data, ld);
        CHECK(guarded_is_whole(&out[t], n_rows, n_cols, ld, dtype));
        for (size_t i = 0; i < n_rows; i++)
            for (size_t j = 0; j < n_cols; j++) {
                const ref_value ref = block_value(kind, &c, i, j);
                const double value = ref_get(out[t].data, i * ld + j, dtype);
                const double other = ref_get(out[0].data, i * ld + j, dtype);

                excess = fmax(excess, ref_excess(value, ref));
                apart = fmax(apart, ref_excess(value - other, (ref_value){0, 2 * ref.bound}));
            }
        free_case(&c);
    }
    CHECK(excess <= 1);
    CHECK(apart <= 1);
    for (size_t t = 0; t < n_tiers; t++)
        guarded_free(&out[t]);
}

static void blocks_are_within_their_bounds_for_every_number_of_features(void)
{
    for (size_t k = 0; k < 2; k++)
        for (int kind = DOT; kind < N_KINDS; kind++)
            for (size_t d = 1; d <= 70; d++)
                check_block((block_kind)kind, 7, 19, d, dtypes[k]);
}

static void blocks_are_within_their_bounds_for_every_number_of_rows_and_columns(void)
{
    for (size_t k = 0; k < 2; k++)
        for (int kind = DOT; kind < N_KINDS; kind++)
            for (size_t n = 1; n <= 70; n++) {
                check_block((block_kind)kind, n, 71 - n, 3, dtypes[k]);
                check_block((block_kind)kind, 1 + n % 7, n, 2, dtypes[k]);
            }
}

static void copy_rows(ref_samples *to, const ref_samples *from, size_t i, size_t n)
{
    *to = (ref_samples){.n = n, .d = from->d, .x = malloc(n * from->d * sizeof *to->x)};
    memcpy(to->x, from->x + i * from->d, n * from->d * sizeof *to->x);
}

/* Row i against the columns from j on, as a block of its own. */
static void run_row(const kc_ops *ops, block_kind kind, const dense_case *c, size_t i, size_t j,
                    size_t n_cols, void *out)
{
    const size_t width = KC_PANEL_BYTES / kc_dtype_bytes(c->dtype);
    dense_case row = {.dtype = c->dtype, .gamma = c->gamma};

    copy_rows(&row.x, &c->x, i, 1);
    copy_rows(&row.z, &c->z, j, n_cols);
    row.rows = make_layout(&row.x, KC_TILE_ROWS, c->dtype);
    row.panels = make_layout(&row.z, width, c->dtype);
    row.x_norms = make_norms(ops, &row.x, KC_TILE_ROWS, c->dtype);
    row.z_norms = make_norms(ops, &row.z, 1, c->dtype);
    run_block(ops, kind, &row, out, n_cols);
    free_case(&row);
}

static void a_value_does_not_depend_on_its_place_or_its_neighbours(void)
{
    enum { N_ROWS = 13, N_COLS = 150, D = 33 };
    static double all[N_ROWS * N_COLS], out[N_COLS];

    for (size_t t = 0; t < n_tiers; t++)
        for (size_t k = 0; k < 2; k++)
            for (int kind = DOT; kind < N_KINDS; kind++) {
                const kc_ops *ops = ops_of(&tiers[t], dtypes[k]);
                dense_case c = make_case(ops, N_ROWS, N_COLS, D, dtypes[k]);
                size_t n_other = 0;

                run_block(ops, (block_kind)kind, &c, all, N_COLS);
                for (size_t i = 0; i < N_ROWS; i++)
                    for (size_t j = 0; j < N_COLS; j += 1 + (i + j) % 7) {
                        const size_t n_cols = i % 2 ? N_COLS - j : 1;

                        run_row(ops, (block_kind)kind, &c, i, j, n_cols, out);
                        for (size_t l = 0; l < n_cols; l++)
                            n_other += ref_get(all, i * N_COLS + j + l, dtypes[k]) !=
                                       ref_get(out, l, dtypes[k]);
                    }
                CHECK(n_other == 0);
                free_case(&c);
            }
}

/* ---- Sparse rows -------------------------------------------------------------------------- */

#define N_SPARSE 21

typedef struct sparse_case {
    kc_dtype dtype;
    size_t width, n_places;
    ref_samples z, x; /* CSR rows, and as many samples as there are lanes */
    ref_view csr;
    int64_t indptr[N_SPARSE + 1];
    void *lanes;        /* [d][width] */
    void *packed_lanes; /* [n_places + 1][width], only columns that some lane has */
    int32_t *lane_of, *lane_cols, *all_cols;
} sparse_case;

static sparse_case make_sparse(size_t d, double density, kc_dtype dtype)
{
    sparse_case c = {.dtype = dtype, .width = KC_LANE_BYTES / kc_dtype_bytes(dtype)};
    const size_t lane_bytes = KC_LANE_BYTES;

    c.z = ref_random(7 * d, N_SPARSE, d, density, dtype);
    c.x = ref_random(9 * d, c.width, d, density, dtype);
    for (size_t i = 0; i < c.width; i++)
        for (size_t t = 0; t < d; t++)
            c.x.x[i * d + t] *= t % 3 != 0; /* columns that no lane has */
    c.csr = ref_view_make(&c.z, REF_CSR, dtype);
    for (size_t i = 0; i <= N_SPARSE; i++)
        c.indptr[i] = ((const int32_t *)c.csr.points.indptr)[i];
    c.lanes = calloc(d, lane_bytes);
    c.packed_lanes = calloc(d + 1, lane_bytes);
    c.lane_of = malloc(d * sizeof *c.lane_of);
    c.lane_cols = malloc(d * sizeof *c.lane_cols);
    c.all_cols = malloc(d * sizeof *c.all_cols);
    for (size_t t = 0; t < d; t++) {
        bool is_used = false;

        c.all_cols[t] = (int32_t)t;
        for (size_t i = 0; i < c.width; i++) {
            const double value = c.x.x[i * d + t];

            ref_put(c.lanes, t * c.width + i, dtype, value);
            ref_put(c.packed_lanes, c.n_places * c.width + i, dtype, value);
            is_used |= value != 0;
        }
        c.lane_of[t] = is_used ? (int32_t)c.n_places : -1;
        c.lane_cols[c.n_places] = (int32_t)t;
        c.n_places += is_used;
    }
    for (size_t t = 0; t < d; t++)
        if (c.lane_of[t] < 0)
            c.lane_of[t] = (int32_t)c.n_places; /* zeros: the last column written there was empty */
    memset((char *)c.packed_lanes + c.n_places * lane_bytes, 0, lane_bytes);
    return c;
}

static void free_sparse(sparse_case *c)
{
    ref_samples_free(&c->x);
    ref_samples_free(&c->z);
    ref_view_free(&c->csr);
    free(c->lanes);
    free(c->packed_lanes);
    free(c->lane_of);
    free(c->lane_cols);
    free(c->all_cols);
}

static void run_sparse(const kc_ops *ops, const sparse_case *c, bool is_l1, bool is_mapped,
                       size_t first, size_t n, void *out)
{
    const kc_csr_job job = {
        .indptr = c->indptr,
        .cols = c->csr.points.indices,
        .vals = c->csr.points.values,
        .first = first,
        .n = n,
        .lanes = is_mapped ? c->packed_lanes : c->lanes,
        .lane_of = is_mapped ? c->lane_of : NULL,
        .lane_cols = is_mapped ? c->lane_cols : c->all_cols,
        .n_lane_cols = is_mapped ? c->n_places : c->z.d,
        .out = out,
    };

    if (is_l1)
        ops->csr_l1(&job);
    else
        ops->csr_dot(&job);
}

static void check_sparse(const kc_ops *ops, const sparse_case *c, bool is_l1, size_t first,
                         size_t n)
{
    guarded direct = guarded_make(n * c->width, 1, c->dtype);
    guarded mapped = guarded_make(n * c->width, 3, c->dtype);
    double excess = 0;

    run_sparse(ops, c, is_l1, false, first, n, direct.data);
    run_sparse(ops, c, is_l1, true, first, n, mapped.data);
    CHECK(guarded_is_whole(&direct, n, c->width, c->width, c->dtype));
    CHECK(guarded_is_whole(&mapped, n, c->width, c->width, c->dtype));
    CHECK(memcmp(direct.data, mapped.data, n * KC_LANE_BYTES) == 0);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < c->width; i++) {
            const double *x = c->x.x + i * c->x.d, *z = c->z.x + (first + j) * c->z.d;
            const ref_value ref =
                is_l1 ? ref_l1(x, z, c->z.d, c->dtype) : ref_dot(x, z, c->z.d, c->dtype);

            excess =
                fmax(excess, ref_excess(ref_get(direct.data, j * c->width + i, c->dtype), ref));
        }
    CHECK(excess <= 1);
    guarded_free(&direct);
    guarded_free(&mapped);
}

static void sparse_rows_are_within_their_bounds_with_and_without_a_map(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t k = 0; k < 2; k++)
            for (size_t d = 1; d <= 70; d++) {
                sparse_case c = make_sparse(d, d % 3 == 0 ? 1.0 : 0.3, dtypes[k]);

                for (int is_l1 = 0; is_l1 < 2; is_l1++) {
                    check_sparse(ops_of(&tiers[t], dtypes[k]), &c, is_l1, 0, N_SPARSE);
                    check_sparse(ops_of(&tiers[t], dtypes[k]), &c, is_l1, d % N_SPARSE, 1);
                }
                free_sparse(&c);
            }
}

/* ---- Norms -------------------------------------------------------------------------------- */

/* Of dense panels, of CSR rows, and x.x by dot_block: the same chain, so the same bits. */
static void check_norms(const kc_ops *ops, size_t d, kc_dtype dtype)
{
    const size_t bytes = kc_dtype_bytes(dtype), width = KC_PANEL_BYTES / bytes;
    ref_samples s = ref_random(d, width, d, d % 2 ? 1.0 : 0.5, dtype);
    ref_view csr = ref_view_make(&s, REF_CSR_64, dtype);
    void *panel = make_layout(&s, width, dtype), *rows = make_layout(&s, KC_TILE_ROWS, dtype);
    guarded norms = guarded_make(width, 1, dtype), sparse = guarded_make(width, 0, dtype);
    void *products = malloc(width * width * bytes);
    const kc_dense_job job = {.rows = rows,
                              .panels = panel,
                              .d = d,
                              .n_rows = width,
                              .n_cols = width,
                              .out = products,
                              .ld = width};

    ops->panel_norms(panel, d, norms.data);
    ops->csr_norms(csr.points.indptr, csr.points.values, width, sparse.data);
    ops->dot_block(&job);
    CHECK(guarded_is_whole(&norms, 1, width, width, dtype));
    CHECK(guarded_is_whole(&sparse, 1, width, width, dtype));
    CHECK(memcmp(norms.data, sparse.data, width * bytes) == 0);
    for (size_t i = 0; i < width; i++) {
        const ref_value ref = ref_dot(s.x + i * d, s.x + i * d, d, dtype);

        CHECK(ref_excess(ref_get(norms.data, i, dtype), ref) <= 1);
        CHECK(ref_get(norms.data, i, dtype) == ref_get(products, i * width + i, dtype));
    }
    guarded_free(&norms);
    guarded_free(&sparse);
    ref_view_free(&csr);
    ref_samples_free(&s);
    free(panel);
    free(rows);
    free(products);
}

static void norms_are_the_bits_of_products_of_points_with_themselves(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t k = 0; k < 2; k++)
            for (size_t d = 1; d <= 70; d++)
                check_norms(ops_of(&tiers[t], dtypes[k]), d, dtypes[k]);
}

/* x.z = -0 where a tiny negative product rounds to zero: it must not matter what follows it. */
static void a_product_that_vanishes_is_plus_zero_in_every_layout(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t k = 0; k < 2; k++) {
            const kc_ops *ops = ops_of(&tiers[t], dtypes[k]);
            const double small = dtypes[k] == KC_F64 ? 1e-200 : 1e-30;
            dense_case c = make_case(ops, 1, 1, 1, dtypes[k]);
            sparse_case s = make_sparse(1, 1.0, dtypes[k]);
            double out[N_SPARSE * 32];

            ref_put(c.rows, 0, dtypes[k], small);
            ref_put(c.panels, 0, dtypes[k], -small);
            run_block(ops, DOT, &c, out, 1);
            CHECK(ref_get(out, 0, dtypes[k]) == 0 && !signbit(ref_get(out, 0, dtypes[k])));
            ref_put(s.lanes, 0, dtypes[k], small);
            ref_put(s.csr.owned[0], 0, dtypes[k], -small);
            run_sparse(ops, &s, false, false, 0, 1, out);
            CHECK(ref_get(out, 0, dtypes[k]) == 0 && !signbit(ref_get(out, 0, dtypes[k])));
            free_sparse(&s);
            free_case(&c);
        }
}

int main(void)
{
    n_tiers = list_tiers(tiers);
    RUN(exp_in_the_registers_is_exp_of_the_sums);
    RUN(blocks_are_within_their_bounds_for_every_number_of_features);
    RUN(blocks_are_within_their_bounds_for_every_number_of_rows_and_columns);
    RUN(a_value_does_not_depend_on_its_place_or_its_neighbours);
    RUN(sparse_rows_are_within_their_bounds_with_and_without_a_map);
    RUN(norms_are_the_bits_of_products_of_points_with_themselves);
    RUN(a_product_that_vanishes_is_plus_zero_in_every_layout);
    return kc_test_end();
}
