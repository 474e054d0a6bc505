/* A seeded generator (xoshiro256**, seeded by splitmix64): the same numbers on every machine.
 * A value of the caller's, so that there is no hidden state. */
#ifndef KC_RNG_H
#define KC_RNG_H

#include "base/kc_base.h"

typedef struct kc_rng {
    uint64_t state[4];
} kc_rng;

kc_rng kc_rng_seed(uint64_t seed);
uint64_t kc_rng_next(kc_rng *rng);

/* Uniform in [0, 1) with 53 bits. */
double kc_rng_uniform(kc_rng *rng);

/* Uniform in 0 .. bound - 1, without bias; bound >= 1. */
uint64_t kc_rng_below(kc_rng *rng, uint64_t bound);

/* A random order of the n entries of `order`. */
void kc_rng_shuffle(kc_rng *rng, int32_t *order, size_t n);

#endif
