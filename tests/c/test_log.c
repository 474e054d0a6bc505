/* log(1 + x) and 1 / (1 + x) of simd/kc_ops_body.inc: f32 throughout its range, many f64. */
#include <float.h>

#include "base/kc_rng.h"
#include "guarded.h"
#include "ref_kernel.h"

#define BATCH 1024

static tier tiers[MAX_TIERS];
static size_t n_tiers;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

typedef void map_fn(void *k, size_t n, double factor);

static map_fn *log_of(size_t t, kc_dtype dtype)
{
    return ops_of(&tiers[t], dtype)->map_log1p;
}

/* The largest errors of a batch, in ulps; those of AVX2 and AVX-512 are the same bits. */
static void check_batch(const double *x, size_t n, kc_dtype dtype, double *worst)
{
    double y[MAX_TIERS][BATCH];

    for (size_t t = 0; t < n_tiers; t++) {
        for (size_t i = 0; i < n; i++)
            ref_put(y[t], i, dtype, x[i]);
        log_of(t, dtype)(y[t], n, 1.0);
        for (size_t i = 0; i < n; i++)
            worst[t] = fmax(worst[t], ref_ulps(ref_get(y[t], i, dtype), log1pl(x[i]), dtype));
        if (t > 1)
            CHECK(memcmp(y[t], y[t - 1], n * kc_dtype_bytes(dtype)) == 0);
    }
}

static void check_worst(const char *range, kc_dtype dtype, const double *worst)
{
    for (size_t t = 0; t < n_tiers; t++) {
        printf("     log(1 + x) %s %-7s %s: %.3f ulp\n", ref_dtype_name(dtype), tiers[t].name,
               range, worst[t]);
        CHECK(worst[t] <= 2);
    }
}

static void f32_are_within_two_ulps(void)
{
    const uint32_t step = IS_SANITIZED ? 99991 : 499;
    double worst[MAX_TIERS] = {0}, x[BATCH];
    size_t n = 0;

    for (uint32_t bits = 0x00800000; bits <= 0x7e000000; bits += step) { /* 2^-126 to 2^125 */
        float number;

        memcpy(&number, &bits, sizeof number);
        x[n++] = number;
        if (n == BATCH) {
            check_batch(x, n, KC_F32, worst);
            n = 0;
        }
    }
    check_batch(x, n, KC_F32, worst);
    check_worst("of every 499th", KC_F32, worst);
}

/* A third of them anywhere, a third around 1, where cancellation would show, a third next to powers
 * of two less 1. */
static double draw(kc_rng *rng)
{
    const double u = kc_rng_uniform(rng);

    switch (kc_rng_below(rng, 3)) {
    case 0:
        return ldexp(1 + u, (int)kc_rng_below(rng, 2040) - 1020);
    case 1:
        return ldexp(1 + u, (int)kc_rng_below(rng, 8) - 6);
    default:
        return (1 + (u - 0.5) * 0x1p-20) * ldexp(1, (int)kc_rng_below(rng, 60)) - 0.99;
    }
}

static void f64_are_within_two_ulps(void)
{
    kc_rng rng = kc_rng_seed(5);
    double worst[MAX_TIERS] = {0}, x[BATCH];

    for (size_t batch = 0; batch < (IS_SANITIZED ? 100 : 4000); batch++) {
        for (size_t i = 0; i < BATCH; i++)
            x[i] = draw(&rng);
        check_batch(x, BATCH, KC_F64, worst);
    }
    check_worst("at random", KC_F64, worst);
}

static double value_of(map_fn *map, kc_dtype dtype, double x, double factor)
{
    double k;

    ref_put(&k, 0, dtype, x);
    map(&k, 1, factor);
    return ref_get(&k, 0, dtype);
}

/* log(1 + x) of a tiny x is x; 0 gives 0, and 1 of the inverse. */
static void ends_of_the_range_are_exact(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t k = 0; k < 2; k++) {
            const kc_dtype dtype = dtypes[k];
            const double far = dtype == KC_F64 ? 0x1p1021 : 0x1p125;
            const double most = dtype == KC_F64 ? DBL_MAX : (double)FLT_MAX;
            map_fn *inverse = ops_of(&tiers[t], dtype)->map_inverse;

            CHECK(value_of(log_of(t, dtype), dtype, 0, 1) == 0);
            CHECK(value_of(inverse, dtype, 0, 1) == 1);
            CHECK(value_of(inverse, dtype, 1, 3) == 0.25);
            for (double tiny = dtype == KC_F64 ? DBL_MIN : (double)FLT_MIN; tiny < 1e-30; tiny *= 3)
                CHECK(value_of(log_of(t, dtype), dtype, dtype == KC_F64 ? tiny : (float)tiny, 1) ==
                      (dtype == KC_F64 ? tiny : (float)tiny));
            /* beyond an eighth of the largest number, as there */
            CHECK(value_of(log_of(t, dtype), dtype, most, most) ==
                  value_of(log_of(t, dtype), dtype, far, 1));
            CHECK(value_of(inverse, dtype, most, most) == 1 / far);
            CHECK(value_of(inverse, dtype, 1e300, 0) == 1 || dtype == KC_F32);
        }
}

/* Each length and place in a vector by the same instructions. */
static void a_value_does_not_depend_on_its_neighbours(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t k = 0; k < 2; k++)
            for (size_t n = 1; n < 40; n++) {
                guarded all = guarded_make(n, n % 5, dtypes[k]);

                for (size_t i = 0; i < n; i++)
                    ref_put(all.data, i, dtypes[k], 0.37 * (double)(i + 1));
                log_of(t, dtypes[k])(all.data, n, 1.7);
                CHECK(guarded_is_whole(&all, 1, n, n, dtypes[k]));
                for (size_t i = 0; i < n; i++)
                    CHECK(ref_get(all.data, i, dtypes[k]) ==
                          value_of(log_of(t, dtypes[k]), dtypes[k], 0.37 * (double)(i + 1), 1.7));
                guarded_free(&all);
            }
}

int main(void)
{
    n_tiers = list_tiers(tiers);
    RUN(f32_are_within_two_ulps);
    RUN(f64_are_within_two_ulps);
    RUN(ends_of_the_range_are_exact);
    RUN(a_value_does_not_depend_on_its_neighbours);
    return kc_test_end();
}
