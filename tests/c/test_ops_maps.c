/* simd/kc_ops.h: maps, the finite check and transposition, for every instruction set, length and
 * alignment.  The whole range of exp: test_exp.c. */
#include "base/kc_rng.h"
#include "guarded.h"
#include "ref_kernel.h"

#define N_MAX 70

static tier tiers[MAX_TIERS];
static size_t n_tiers;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* ---- Maps --------------------------------------------------------------------------------- */

typedef enum map_kind { EXP, TANH, POWER, SERIES, SCALE, ADD, MULTIPLY, RBF, N_MAPS } map_kind;

typedef struct map_case {
    map_kind kind;
    kc_dtype dtype;
    double gamma, coef0;
    int32_t degree;
    double k[N_MAX], other[N_MAX]; /* operands; for RBF, x.z and |z|^2 */
    double row_norm;               /* RBF: |x|^2 */
} map_case;

static map_case make_case(map_kind kind, int32_t degree, kc_dtype dtype)
{
    map_case c = {.kind = kind, .dtype = dtype, .gamma = 0.3, .coef0 = -0.7, .degree = degree};
    kc_rng rng = kc_rng_seed(1000 + (uint64_t)kind);

    c.row_norm = dtype == KC_F64 ? 2.3 : (double)2.3f;
    for (size_t i = 0; i < N_MAX; i++) {
        c.k[i] = 6 * kc_rng_uniform(&rng) - 3;
        c.other[i] = kind == RBF ? 4 + kc_rng_uniform(&rng) : 2 * kc_rng_uniform(&rng) - 1;
        if (dtype == KC_F32) {
            c.k[i] = (float)c.k[i];
            c.other[i] = (float)c.other[i];
        }
    }
    return c;
}

/* n of the case's numbers from `first` on, mapped in place. */
static void run_map(const kc_ops *ops, const map_case *c, size_t first, size_t n, guarded *k,
                    guarded *other)
{
    double norm;

    for (size_t i = 0; i < n; i++) {
        ref_put(k->data, i, c->dtype, c->k[first + i]);
        ref_put(other->data, i, c->dtype, c->other[first + i]);
    }
    switch (c->kind) {
    case EXP:
        ops->map_exp(k->data, n, c->gamma);
        break;
    case TANH:
        ops->map_tanh(k->data, n, c->gamma, c->coef0);
        break;
    case POWER:
        ops->map_power(k->data, n, c->gamma, c->coef0, c->degree);
        break;
    case SERIES:
        ops->map_series(k->data, n, (const double[]){c->gamma, c->coef0, 0.5}, 3);
        break;
    case SCALE:
        ops->scale(k->data, n, c->gamma);
        break;
    case ADD:
        ops->add(k->data, other->data, n);
        break;
    case MULTIPLY:
        ops->multiply(k->data, other->data, n);
        break;
    default:
        ref_put(&norm, 0, c->dtype, c->row_norm);
        ops->map_rbf(k->data, 1, n, &norm, other->data, c->gamma);
    }
}

static ref_value map_value(const map_case *c, size_t i)
{
    const ref_value k = ref_exact(c->k[i]), other = ref_exact(c->other[i]);
    ref_value norms, distance, sum;

    switch (c->kind) {
    case EXP:
        return ref_exp(k, c->gamma, c->dtype);
    case TANH:
        return ref_tanh(ref_affine(k, c->gamma, c->coef0, c->dtype), c->dtype);
    case POWER:
        return ref_power(ref_affine(k, c->gamma, c->coef0, c->dtype), c->degree, c->dtype);
    case SERIES:
        sum = ref_multiply(ref_affine(k, 0.5, c->coef0, c->dtype), k, c->dtype);
        return ref_affine(sum, 1, c->gamma, c->dtype);
    case SCALE:
        return ref_affine(k, c->gamma, 0, c->dtype);
    case ADD:
        return ref_add(k, other, c->dtype);
    case MULTIPLY:
        return ref_multiply(k, other, c->dtype);
    default:
        norms = ref_add(ref_exact(c->row_norm), other, c->dtype);
        distance = ref_add(norms, ref_exact(-2 * c->k[i]), c->dtype);
        if (distance.value < 0)
            distance.value = 0;
        return ref_exp(distance, -c->gamma, c->dtype);
    }
}

/* Within the bound; the bits of the same number mapped alone; nothing else written. */
static void check_map(const tier *t, const map_case *c, size_t n, size_t shift)
{
    const kc_ops *ops = ops_of(t, c->dtype);
    guarded k = guarded_make(n, shift, c->dtype), other = guarded_make(n, shift + 2, c->dtype);
    guarded one = guarded_make(1, 0, c->dtype), its_other = guarded_make(1, 0, c->dtype);
    double excess = 0;
    size_t n_other = 0;

    run_map(ops, c, 0, n, &k, &other);
    CHECK(guarded_is_whole(&k, 1, n, n, c->dtype));
    for (size_t i = 0; i < n; i++) {
        const double value = ref_get(k.data, i, c->dtype);

        excess = fmax(excess, ref_excess(value, map_value(c, i)));
        CHECK(ref_get(other.data, i, c->dtype) == c->other[i]);
        run_map(ops, c, i, 1, &one, &its_other);
        n_other += value != ref_get(one.data, 0, c->dtype);
    }
    CHECK(excess <= 1);
    CHECK(n_other == 0);
    guarded_free(&k);
    guarded_free(&other);
    guarded_free(&one);
    guarded_free(&its_other);
}

static void maps_are_within_their_bounds_for_every_length_and_alignment(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++)
            for (int kind = EXP; kind < N_MAPS; kind++) {
                const map_case c = make_case((map_kind)kind, 3, dtypes[d]);

                for (size_t n = 1; n <= N_MAX; n++)
                    check_map(&tiers[t], &c, n, n % 9);
            }
}

static void powers_are_within_their_bounds_for_every_degree(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++)
            for (int32_t degree = 0; degree <= 1000; degree = degree < 20 ? degree + 1 : 5 * degree)
                for (size_t n = 1; n <= 19; n++) {
                    map_case c = make_case(POWER, degree, dtypes[d]);

                    if (degree > 100)
                        c.coef0 = 0.1; /* bases below 1: no overflow */
                    check_map(&tiers[t], &c, n, n % 3);
                }
}

static void the_zeroth_power_of_anything_is_one(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            double k[3];

            for (size_t i = 0; i < 3; i++)
                ref_put(k, i, dtypes[d], i == 0 ? 0.0 : i == 1 ? -INFINITY : 1e30);
            ops_of(&tiers[t], dtypes[d])->map_power(k, 3, 1e10, 0.0, 0);
            for (size_t i = 0; i < 3; i++)
                CHECK(ref_get(k, i, dtypes[d]) == 1);
        }
}

static void map_rbf_takes_a_norm_per_row_and_one_per_column(void)
{
    enum { N_ROWS = 3, N = 11 };

    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            const kc_ops *ops = ops_of(&tiers[t], dtypes[d]);
            map_case c = make_case(RBF, 0, dtypes[d]);
            guarded k = guarded_make(N_ROWS * N, 1, dtypes[d]);
            guarded k2 = guarded_make(N_ROWS * N, 1, dtypes[d]);
            double row_norms[N_ROWS], norms[N];

            for (size_t i = 0; i < N_ROWS; i++)
                ref_put(row_norms, i, dtypes[d], c.row_norm + (double)i);
            for (size_t j = 0; j < N; j++)
                ref_put(norms, j, dtypes[d], c.other[j]);
            for (size_t i = 0; i < N_ROWS * N; i++)
                ref_put(k.data, i, dtypes[d], c.k[i % N]);
            ops->map_rbf(k.data, N_ROWS, N, row_norms, norms, c.gamma);
            CHECK(guarded_is_whole(&k, 1, N_ROWS * N, N_ROWS * N, dtypes[d]));
            for (size_t i = 0; i < N_ROWS * N; i++)
                ref_put(k2.data, i, dtypes[d], c.k[i % N]);
            ops->map_sq_dist(k2.data, N_ROWS, N, row_norms, norms);
            ops->map_exp(k2.data, N_ROWS * N, -c.gamma);
            CHECK(memcmp(k.data, k2.data, N_ROWS * N * kc_dtype_bytes(dtypes[d])) == 0);
            for (size_t i = 0; i < N_ROWS; i++) {
                c.row_norm = ref_get(row_norms, i, dtypes[d]);
                for (size_t j = 0; j < N; j++)
                    CHECK(ref_excess(ref_get(k.data, i * N + j, dtypes[d]), map_value(&c, j)) <= 1);
            }
            guarded_free(&k2);
            guarded_free(&k);
        }
}

static void rbf_of_a_distance_that_rounding_made_negative_is_one(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            double k, row_norm, norm;

            ref_put(&k, 0, dtypes[d], 5.000001);
            ref_put(&row_norm, 0, dtypes[d], 5);
            ref_put(&norm, 0, dtypes[d], 5);
            ops_of(&tiers[t], dtypes[d])->map_rbf(&k, 1, 1, &row_norm, &norm, 1e6);
            CHECK(ref_get(&k, 0, dtypes[d]) == 1);
        }
}

/* Of a bounded map, a parameter beyond the largest f32 is taken as that: infinity times 0 would be
 * NaN. */
static void huge_parameters_of_bounded_maps_make_no_nan(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            const kc_ops *ops = ops_of(&tiers[t], dtypes[d]);
            double k, norm;

            ref_put(&k, 0, dtypes[d], 0.0);
            ops->map_exp(&k, 1, -1e308);
            CHECK(ref_get(&k, 0, dtypes[d]) == 1);
            ref_put(&k, 0, dtypes[d], 1e30);
            ops->map_tanh(&k, 1, 1e308, -1e308);
            CHECK(ref_get(&k, 0, dtypes[d]) == 1);
            ref_put(&k, 0, dtypes[d], 2.0);
            ref_put(&norm, 0, dtypes[d], 2.0);
            ops->map_rbf(&k, 1, 1, &norm, &norm, 1e308);
            CHECK(ref_get(&k, 0, dtypes[d]) == 1);
        }
}

/* Of others it is infinite, so that the overflow shows. */
static void huge_parameters_of_other_maps_overflow(void)
{
    for (size_t t = 0; t < n_tiers; t++) {
        const kc_ops *ops = ops_of(&tiers[t], KC_F32);
        float k[] = {0.5f, -2.0f, 0.5f};

        ops->map_power(&k[0], 1, 1e300, 0.0, 1);
        ops->map_power(&k[1], 1, 1.0, -1e300, 1);
        ops->scale(&k[2], 1, 1e39);
        CHECK(k[0] == INFINITY && k[1] == -INFINITY && k[2] == INFINITY);
    }
}

/* ---- tanh over its range ------------------------------------------------------------------ */

#define BATCH 1024

/* The largest error of tanh over arguments of the type, and that it is odd to the bit. */
static double worst_tanh(const kc_ops *ops, const double *x, size_t n, kc_dtype dtype)
{
    double plus[BATCH], minus[BATCH], worst = 0;

    for (size_t i = 0; i < n; i++) {
        ref_put(plus, i, dtype, x[i]);
        ref_put(minus, i, dtype, -x[i]);
    }
    ops->map_tanh(plus, n, 1.0, 0.0);
    ops->map_tanh(minus, n, 1.0, 0.0);
    for (size_t i = 0; i < n; i++) {
        const double y = ref_get(plus, i, dtype);

        worst = fmax(worst, ref_ulps(y, tanhl(x[i]), dtype));
        CHECK(y == -ref_get(minus, i, dtype));
        CHECK(y >= 0 && y <= 1);
    }
    return worst;
}

/* A number in (0, 32) with every exponent down to 2^-30 (f32: 2^-20) alike often. */
static double draw_argument(kc_rng *rng, kc_dtype dtype)
{
    const int exponent = (int)kc_rng_below(rng, dtype == KC_F64 ? 35 : 25);
    const double value = ldexp(1 + kc_rng_uniform(rng), 4 - exponent);

    return dtype == KC_F64 ? value : (double)(float)value;
}

static void tanh_is_odd_and_within_four_ulps(void)
{
    const size_t n_batches = IS_SANITIZED ? 20 : 1000;

    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            kc_rng rng = kc_rng_seed(5);
            double x[BATCH], worst = 0;

            for (size_t b = 0; b < n_batches; b++) {
                for (size_t i = 0; i < BATCH; i++)
                    x[i] = draw_argument(&rng, dtypes[d]);
                worst = fmax(worst, worst_tanh(ops_of(&tiers[t], dtypes[d]), x, BATCH, dtypes[d]));
            }
            printf("     tanh %s %-7s %.3f ulp\n", ref_dtype_name(dtypes[d]), tiers[t].name, worst);
            CHECK(worst <= 4);
        }
}

static void tanh_keeps_zeros_small_numbers_and_signs(void)
{
    static const double x[] = {0.0, 1e-30, 1e-20, 9.0, 22.0, 23.0, 1e10, 1e38, INFINITY};

    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++)
            for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
                const kc_ops *ops = ops_of(&tiers[t], dtypes[d]);
                const double argument = dtypes[d] == KC_F64 ? x[i] : (double)(float)x[i];
                double k[2];

                ref_put(k, 0, dtypes[d], argument);
                ref_put(k, 1, dtypes[d], -argument);
                ops->map_tanh(k, 2, 1.0, -0.0); /* -0: so that -0 stays what it is */
                CHECK(ref_ulps(ref_get(k, 0, dtypes[d]), tanhl(argument), dtypes[d]) <= 1);
                CHECK(ref_get(k, 1, dtypes[d]) == -ref_get(k, 0, dtypes[d]));
                CHECK(signbit(ref_get(k, 1, dtypes[d])));
            }
}

/* ---- Finite ------------------------------------------------------------------------------- */

static void one_number_that_is_not_finite_is_found_at_every_place(void)
{
    const double bad[] = {NAN, -NAN, INFINITY, -INFINITY};

    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++)
            for (size_t n = 0; n <= N_MAX; n++) {
                const kc_ops *ops = ops_of(&tiers[t], dtypes[d]);
                const double most = dtypes[d] == KC_F64 ? 1.7e308 : 3.4e38;
                guarded k = guarded_make(n, n % 5, dtypes[d]);

                for (size_t i = 0; i < n; i++)
                    ref_put(k.data, i, dtypes[d], i % 3 == 0 ? most : i % 3 == 1 ? -most : 1e-44);
                CHECK(ops->all_finite(k.data, n));
                for (size_t i = 0; i < n; i++)
                    for (size_t b = 0; b < 4; b++) {
                        const double good = ref_get(k.data, i, dtypes[d]);

                        ref_put(k.data, i, dtypes[d], bad[b]);
                        CHECK(!ops->all_finite(k.data, n));
                        ref_put(k.data, i, dtypes[d], good);
                    }
                guarded_free(&k);
            }
}

/* ---- Transposition ------------------------------------------------------------------------ */

/* `shift`: of the result, from where a line of the cache begins. */
static void check_transpose_to(const kc_ops *ops, bool is_far, size_t shift, size_t n_rows,
                               size_t n_cols, kc_dtype dtype)
{
    const size_t src_ld = n_cols + n_rows % 3, dst_ld = n_rows + n_cols % 4;
    guarded src = guarded_make((n_rows - 1) * src_ld + n_cols, 1, dtype);
    guarded dst = guarded_make((n_cols - 1) * dst_ld + n_rows, shift, dtype);
    size_t n_other = 0;

    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++)
            ref_put(src.data, i * src_ld + j, dtype, (double)(i * n_cols + j));
    (is_far ? ops->transpose_far : ops->transpose)(dst.data, dst_ld, src.data, src_ld, n_rows,
                                                   n_cols);
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++)
            n_other += ref_get(dst.data, j * dst_ld + i, dtype) != (double)(i * n_cols + j);
    CHECK(n_other == 0);
    CHECK(guarded_is_whole(&dst, n_cols, n_rows, dst_ld, dtype));
    guarded_free(&src);
    guarded_free(&dst);
}

static void check_transpose(const kc_ops *ops, size_t n_rows, size_t n_cols, kc_dtype dtype)
{
    check_transpose_to(ops, false, 3, n_rows, n_cols, dtype);
    check_transpose_to(ops, true, 0, n_rows, n_cols, dtype);
}

static void every_shape_is_transposed(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            const kc_ops *ops = ops_of(&tiers[t], dtypes[d]);

            for (size_t n_rows = 1; n_rows <= 36; n_rows++)
                for (size_t n_cols = 1; n_cols <= 36; n_cols++)
                    check_transpose(ops, n_rows, n_cols, dtypes[d]);
            check_transpose(ops, 1, 70, dtypes[d]);
            check_transpose(ops, 70, 1, dtypes[d]);
            check_transpose(ops, 96, 130, dtypes[d]);
            check_transpose(ops, 64, 48, dtypes[d]); /* whole lines of the cache, side by side */
        }
}

int main(void)
{
    n_tiers = list_tiers(tiers);
    RUN(maps_are_within_their_bounds_for_every_length_and_alignment);
    RUN(powers_are_within_their_bounds_for_every_degree);
    RUN(the_zeroth_power_of_anything_is_one);
    RUN(map_rbf_takes_a_norm_per_row_and_one_per_column);
    RUN(rbf_of_a_distance_that_rounding_made_negative_is_one);
    RUN(huge_parameters_of_bounded_maps_make_no_nan);
    RUN(huge_parameters_of_other_maps_overflow);
    RUN(tanh_is_odd_and_within_four_ulps);
    RUN(tanh_keeps_zeros_small_numbers_and_signs);
    RUN(one_number_that_is_not_finite_is_found_at_every_place);
    RUN(every_shape_is_transposed);
    return kc_test_end();
}
