/* xoshiro256** of Blackman and Vigna, seeded by splitmix64 as they advise: 64 bits in a few cycles,
 * period 2^256 - 1.  Integer arithmetic only, and no 128-bit type, so that every machine and
 * compiler gives the same numbers. */
#include "base/kc_rng.h"

static uint64_t rotate_left(uint64_t x, int n)
{
    return (x << n) | (x >> (64 - n));
}

static uint64_t step_splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

kc_rng kc_rng_seed(uint64_t seed)
{
    kc_rng rng;

    /* splitmix64 maps distinct states to distinct words: at most one of the four is zero, so that
     * the all-zero state, which xoshiro never leaves, cannot arise. */
    for (size_t i = 0; i < 4; i++)
        rng.state[i] = step_splitmix(&seed);
    return rng;
}

uint64_t kc_rng_next(kc_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double kc_rng_uniform(kc_rng *rng)
{
    return (double)(kc_rng_next(rng) >> 11) * 0x1p-53;
}

uint64_t kc_rng_below(kc_rng *rng, uint64_t bound)
{
    assert(bound >= 1);
    /* 2^64 mod bound: the numbers below it are the surplus that would favour small results. */
    uint64_t surplus = (UINT64_C(0) - bound) % bound;
    uint64_t x;

    do {
        x = kc_rng_next(rng);
    } while (x < surplus);
    return x % bound;
}

void kc_rng_shuffle(kc_rng *rng, int32_t *order, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)kc_rng_below(rng, i);
        int32_t moved = order[i - 1];

        order[i - 1] = order[j];
        order[j] = moved;
    }
}
