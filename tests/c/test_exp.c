/* exp of simd/kc_vec.h, through map_exp with factor 1: every f32 of its range, and many f64. */
#include <float.h>
#include <pthread.h>

#include "base/kc_rng.h"
#include "guarded.h"
#include "ref_kernel.h"

#define N_THREADS 2
#define BATCH 1024

static tier tiers[MAX_TIERS];
static size_t n_tiers;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

static double exp_of(size_t t, kc_dtype dtype, double x)
{
    double k;

    ref_put(&k, 0, dtype, x);
    ops_of(&tiers[t], dtype)->map_exp(&k, 1, 1.0);
    return ref_get(&k, 0, dtype);
}

/* ---- f32: one number after the other ------------------------------------------------------ */

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

typedef struct sweep {
    uint32_t begin, end, step; /* bits of the arguments: away from zero */
    double worst[MAX_TIERS];   /* in ulps */
    size_t n_back[MAX_TIERS];  /* steps away from zero after which exp moved the other way */
} sweep;

/* The ulp of a normal f32; double has digits enough for the rest. */
static double error_in_ulps(float computed, double exact)
{
    const uint32_t exponent = bits_of((float)exact) & 0x7f800000;
    double ulp = (double)float_of(exponent) * FLT_EPSILON;

    if ((double)float_of(exponent) > exact) /* rounded up to the next power of 2 */
        ulp /= 2;
    return fabs((double)computed - exact) / ulp;
}

static void *run_sweep(void *data)
{
    sweep *s = data;
    const bool is_falling = float_of(s->begin) < 0;
    float last[MAX_TIERS];

    for (size_t t = 0; t < n_tiers; t++)
        last[t] = is_falling ? INFINITY : 0;
    for (uint64_t begin = s->begin; begin < s->end; begin += (uint64_t)BATCH * s->step) {
        const size_t n = kc_min(BATCH, kc_ceil_div(s->end - begin, s->step));
        double exact[BATCH];
        float y[BATCH];

        for (size_t i = 0; i < n; i++)
            exact[i] = exp((double)float_of((uint32_t)(begin + i * s->step)));
        for (size_t t = 0; t < n_tiers; t++) {
            for (size_t i = 0; i < n; i++)
                y[i] = float_of((uint32_t)(begin + i * s->step));
            tiers[t].table->f32.map_exp(y, n, 1.0);
            for (size_t i = 0; i < n; i++) {
                s->worst[t] = fmax(s->worst[t], error_in_ulps(y[i], exact[i]));
                s->n_back[t] += is_falling ? y[i] > last[t] : y[i] < last[t];
                last[t] = y[i];
            }
        }
    }
    return NULL;
}

/* Every step-th number from `from` to `to`, on all threads; the sum of what they saw. */
static sweep sweep_range(float from, float to, uint32_t step)
{
    const uint64_t n = (bits_of(to) - bits_of(from)) / step + 1;
    pthread_t threads[N_THREADS];
    sweep parts[N_THREADS], all = {.step = step};

    for (size_t i = 0; i < N_THREADS; i++) {
        parts[i] = (sweep){.begin = bits_of(from) + (uint32_t)(n * i / N_THREADS) * step,
                           .end = bits_of(from) + (uint32_t)(n * (i + 1) / N_THREADS) * step,
                           .step = step};
        CHECK(pthread_create(&threads[i], NULL, run_sweep, &parts[i]) == 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        for (size_t t = 0; t < n_tiers; t++) {
            all.worst[t] = fmax(all.worst[t], parts[i].worst[t]);
            all.n_back[t] += parts[i].n_back[t];
        }
    }
    return all;
}

static void report(const char *range, const sweep *s)
{
    for (size_t t = 0; t < n_tiers; t++)
        printf("     exp f32 %-7s %s: %.3f ulp, %zu steps back\n", tiers[t].name, range,
               s->worst[t], s->n_back[t]);
}

/* The exhaustive run is the release build's: sanitizers look at a thousandth of the numbers. */
static void every_f32_below_zero_is_within_one_ulp_and_exp_is_monotone(void)
{
    const sweep s = sweep_range(-0x1p-26f, -87.3f, IS_SANITIZED ? 997 : 1);

    report("of [-87.3, -2^-26]", &s);
    for (size_t t = 0; t < n_tiers; t++) {
        CHECK(s.worst[t] <= 1);
        CHECK(s.n_back[t] == 0);
    }
}

static void f32_above_zero_is_within_one_ulp(void)
{
    const sweep s = sweep_range(0x1p-26f, 0x1.62e42ep+6f, IS_SANITIZED ? 9973 : 97);

    report("of [2^-26, 88.72]", &s);
    for (size_t t = 0; t < n_tiers; t++)
        CHECK(s.worst[t] <= 1);
}

static void f32_next_to_zero_gives_one(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (float x = 0x1p-26f; x >= FLT_MIN; x /= 1.7f) {
            CHECK(exp_of(t, KC_F32, x) == 1);
            CHECK(exp_of(t, KC_F32, -x) == 1);
        }
}

/* ---- f64: samples ------------------------------------------------------------------------- */

typedef struct sampling {
    uint64_t seed;
    size_t n;
    double worst[MAX_TIERS], worst_at[MAX_TIERS];
} sampling;

static void check_batch(sampling *s, const double *x, size_t n)
{
    long double exact[BATCH];
    double y[BATCH];

    for (size_t i = 0; i < n; i++)
        exact[i] = expl(x[i]);
    for (size_t t = 0; t < n_tiers; t++) {
        memcpy(y, x, n * sizeof *y);
        tiers[t].table->f64.map_exp(y, n, 1.0);
        for (size_t i = 0; i < n; i++) {
            const double off = ref_ulps(y[i], exact[i], KC_F64);

            if (off > s->worst[t]) {
                s->worst[t] = off;
                s->worst_at[t] = x[i];
            }
        }
    }
}

/* Half of them uniform in [-708, 709.7], half with all exponents alike often. */
static double draw_argument(kc_rng *rng)
{
    double x;

    if (kc_rng_below(rng, 2) == 0)
        return -708 + 1417.7 * kc_rng_uniform(rng);
    x = ldexp(1 + kc_rng_uniform(rng), 9 - (int)kc_rng_below(rng, 64));
    if (kc_rng_below(rng, 4) == 0)
        return fmin(x, 709.7);
    return -fmin(x, 708);
}

static void *run_sampling(void *data)
{
    sampling *s = data;
    kc_rng rng = kc_rng_seed(s->seed);
    double x[BATCH];

    for (size_t begin = 0; begin < s->n; begin += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            x[i] = draw_argument(&rng);
        check_batch(s, x, BATCH);
    }
    return NULL;
}

static void random_f64_are_within_two_ulps(void)
{
    pthread_t threads[N_THREADS];
    sampling parts[N_THREADS];

    for (size_t i = 0; i < N_THREADS; i++) {
        parts[i] = (sampling){.seed = 11 + i, .n = (IS_SANITIZED ? 200000 : 20000000) / N_THREADS};
        CHECK(pthread_create(&threads[i], NULL, run_sampling, &parts[i]) == 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        for (size_t t = 0; t < n_tiers; t++) {
            printf("     exp f64 %-7s %.3f ulp at %.17g\n", tiers[t].name, parts[i].worst[t],
                   parts[i].worst_at[t]);
            CHECK(parts[i].worst[t] <= 2);
        }
    }
}

/* Where the integer part of x / ln 2 changes, and where it is exact, with their neighbours. */
static void structured_f64_are_within_two_ulps(void)
{
    sampling s = {0};

    for (int k = -2042; k <= 2046; k++) {
        double x[BATCH];
        size_t n = 0;
        double at = (double)(0.34657359027997265471L * k); /* k ln(2) / 2 */

        for (int i = 0; i < 50; i++)
            at = nextafter(at, -INFINITY);
        for (int i = 0; i < 100; i++, at = nextafter(at, INFINITY))
            if (at >= -708 && at <= 709.78)
                x[n++] = at;
        check_batch(&s, x, n);
    }
    for (size_t t = 0; t < n_tiers; t++) {
        printf("     exp f64 %-7s %.3f ulp at %.17g\n", tiers[t].name, s.worst[t], s.worst_at[t]);
        CHECK(s.worst[t] <= 2);
    }
}

/* ---- Ends of the range -------------------------------------------------------------------- */

static void exp_of_zero_is_one(void)
{
    for (size_t t = 0; t < n_tiers; t++)
        for (size_t d = 0; d < 2; d++) {
            CHECK(exp_of(t, dtypes[d], 0.0) == 1);
            CHECK(exp_of(t, dtypes[d], -0.0) == 1);
        }
}

static void exp_below_its_range_is_exactly_zero(void)
{
    for (size_t t = 0; t < n_tiers; t++) {
        CHECK(exp_of(t, KC_F32, -87.3f) >= FLT_MIN);
        CHECK(exp_of(t, KC_F32, nextafterf(-87.3f, -INFINITY)) == 0);
        CHECK(exp_of(t, KC_F64, -708) >= DBL_MIN);
        CHECK(exp_of(t, KC_F64, nextafter(-708, -INFINITY)) == 0);
        for (double x = -89; x >= -FLT_MAX; x *= 1.01)
            CHECK(exp_of(t, KC_F32, x) == 0 && !signbit(exp_of(t, KC_F32, x)));
        for (double x = -709; x >= -DBL_MAX; x *= 1.01)
            CHECK(exp_of(t, KC_F64, x) == 0 && !signbit(exp_of(t, KC_F64, x)));
        for (size_t d = 0; d < 2; d++)
            CHECK(exp_of(t, dtypes[d], -INFINITY) == 0);
    }
}

static void exp_above_its_range_is_infinite(void)
{
    const float max_f32 = 0x1.62e42ep+6f;
    const double max_f64 = 0x1.62e42fefa39efp+9;

    for (size_t t = 0; t < n_tiers; t++) {
        CHECK(isfinite(exp_of(t, KC_F32, max_f32)));
        CHECK(exp_of(t, KC_F32, nextafterf(max_f32, INFINITY)) == INFINITY);
        CHECK(isfinite(exp_of(t, KC_F64, max_f64)));
        CHECK(exp_of(t, KC_F64, nextafter(max_f64, INFINITY)) == INFINITY);
        for (double x = 89; x <= FLT_MAX; x *= 1.01)
            CHECK(exp_of(t, KC_F32, x) == INFINITY);
        for (double x = 710; x <= DBL_MAX; x *= 1.01)
            CHECK(exp_of(t, KC_F64, x) == INFINITY);
        for (size_t d = 0; d < 2; d++)
            CHECK(exp_of(t, dtypes[d], INFINITY) == INFINITY);
    }
}

int main(void)
{
    n_tiers = list_tiers(tiers);
    RUN(every_f32_below_zero_is_within_one_ulp_and_exp_is_monotone);
    RUN(f32_above_zero_is_within_one_ulp);
    RUN(f32_next_to_zero_gives_one);
    RUN(random_f64_are_within_two_ulps);
    RUN(structured_f64_are_within_two_ulps);
    RUN(exp_of_zero_is_one);
    RUN(exp_below_its_range_is_exactly_zero);
    RUN(exp_above_its_range_is_infinite);
    return kc_test_end();
}
