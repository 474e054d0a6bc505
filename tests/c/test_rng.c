/* base/kc_rng.h: the published numbers, no bias, and the same order for the same seed. */
#include "base/kc_rng.h"

#include <string.h>

#include "kc_test.h"

static void the_generator_is_xoshiro256_starstar(void)
{
    /* The authors' program from the state 1, 2, 3, 4. */
    static const uint64_t expected[] = {
        11520,
        0,
        1509978240,
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    kc_rng rng = {{1, 2, 3, 4}};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK(kc_rng_next(&rng) == expected[i]);
}

static void the_seed_goes_through_splitmix64(void)
{
    static const uint64_t of_zero[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                                       UINT64_C(0x06c45d188009454f), UINT64_C(0xf88bb8a8724c81ec)};
    kc_rng rng = kc_rng_seed(0);

    for (size_t i = 0; i < 4; i++)
        CHECK(rng.state[i] == of_zero[i]);
}

static void equal_seeds_give_equal_numbers_and_others_do_not(void)
{
    kc_rng a = kc_rng_seed(42), b = kc_rng_seed(42), c = kc_rng_seed(43);
    int n_equal = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t x = kc_rng_next(&a);

        CHECK(x == kc_rng_next(&b));
        n_equal += x == kc_rng_next(&c);
    }
    CHECK(n_equal == 0);
}

static void uniform_numbers_fill_the_half_open_interval(void)
{
    kc_rng rng = kc_rng_seed(1);
    double sum = 0, least = 1, most = 0;
    const int n = 1000000;

    for (int i = 0; i < n; i++) {
        double u = kc_rng_uniform(&rng);

        sum += u;
        least = fmin(least, u);
        most = fmax(most, u);
    }
    CHECK(least >= 0 && least < 1e-4);
    CHECK(most < 1 && most > 1 - 1e-4);
    CHECK_NEAR(sum / n, 0.5, 5 * sqrt(1.0 / 12 / n)); /* five standard errors, seed fixed */
}

static void numbers_below_a_bound_are_equally_frequent(void)
{
    /* 3 * 2^62: without rejection, the lower third would come half of the time. */
    const uint64_t bounds[] = {1, 2, 3, 10, UINT64_C(3) << 62, UINT64_MAX};
    kc_rng rng = kc_rng_seed(7);

    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        const int n = 90000;
        int thirds[3] = {0, 0, 0};

        for (int i = 0; i < n; i++) {
            uint64_t x = kc_rng_below(&rng, bounds[k]);

            CHECK(x < bounds[k]);
            if (bounds[k] % 3 == 0)
                thirds[x / (bounds[k] / 3)]++;
        }
        for (int i = 0; i < 3 && bounds[k] % 3 == 0; i++)
            CHECK_NEAR(thirds[i], n / 3.0, 5 * sqrt(n * (2.0 / 9)));
    }
}

static void a_shuffle_is_a_permutation_and_all_are_equally_frequent(void)
{
    kc_rng rng = kc_rng_seed(3);
    int frequency[4 * 4 * 4] = {0};
    const int n = 60000;

    for (int i = 0; i < n; i++) {
        int32_t order[4] = {0, 1, 2, 3};
        int seen = 0;

        kc_rng_shuffle(&rng, order, 4);
        for (int k = 0; k < 4; k++)
            seen |= 1 << order[k];
        CHECK(seen == 15);
        frequency[order[0] * 16 + order[1] * 4 + order[2]]++;
    }
    int n_orders = 0;
    for (int i = 0; i < 64; i++) {
        n_orders += frequency[i] > 0;
        if (frequency[i] > 0)
            CHECK_NEAR(frequency[i], n / 24.0, 5 * sqrt(n / 24.0));
    }
    CHECK(n_orders == 24);
}

static void the_shortest_lists_can_be_shuffled(void)
{
    kc_rng rng = kc_rng_seed(3);
    int32_t one = 5;

    kc_rng_shuffle(&rng, NULL, 0);
    kc_rng_shuffle(&rng, &one, 1);
    CHECK(one == 5);
}

int main(void)
{
    RUN(the_generator_is_xoshiro256_starstar);
    RUN(the_seed_goes_through_splitmix64);
    RUN(equal_seeds_give_equal_numbers_and_others_do_not);
    RUN(uniform_numbers_fill_the_half_open_interval);
    RUN(numbers_below_a_bound_are_equally_frequent);
    RUN(a_shuffle_is_a_permutation_and_all_are_equally_frequent);
    RUN(the_shortest_lists_can_be_shuffled);
    return kc_test_end();
}
