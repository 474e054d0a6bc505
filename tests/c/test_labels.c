/* data/kc_labels.h, through kc_encode_labels and kc_balanced_weights of the public header. */
#include "data/kc_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"

#define N 20000

static kc_context *ctx;
static kc_error err;
static char values[N * 40];
static int32_t codes[N];
static int64_t first[N];

/* Random labels of n_bytes, n_distinct of them, each `stride` after the one before. */
static kc_labels make_labels(int64_t n_bytes, int64_t stride, uint64_t n_distinct)
{
    kc_rng rng = kc_rng_seed(n_distinct + (uint64_t)n_bytes);

    for (size_t i = 0; i < N; i++) {
        char *label = values + i * (size_t)(stride < 0 ? -stride : stride);
        const uint64_t word = kc_rng_below(&rng, n_distinct) * 0x10001;

        memset(label, 'x', (size_t)n_bytes);
        memcpy(label, &word, n_bytes < 4 ? (size_t)n_bytes : 4);
    }
    return (kc_labels){stride < 0 ? values + (N - 1) * -stride : values, N, n_bytes, stride};
}

static const char *label_at(const kc_labels *labels, int64_t i)
{
    return (const char *)labels->values + i * labels->stride;
}

/* Codes rise by one at each label that was not there before, and equal codes are equal labels. */
static void check_codes(const kc_labels *labels, int64_t n_found)
{
    int64_t next = 0, n_wrong = 0;

    for (int64_t i = 0; i < N; i++) {
        if (codes[i] == next)
            n_wrong += first[next++] != i;
        n_wrong += codes[i] < 0 || codes[i] >= next ||
                   memcmp(label_at(labels, i), label_at(labels, first[codes[i]]),
                          (size_t)labels->n_bytes) != 0;
    }
    for (int64_t a = 1; a < next && a < 50; a++)
        for (int64_t b = 0; b < a; b++)
            n_wrong += memcmp(label_at(labels, first[a]), label_at(labels, first[b]),
                              (size_t)labels->n_bytes) == 0;
    CHECK(n_wrong == 0 && next == n_found);
}

static void labels_of_every_size_are_numbered_as_they_appear(void)
{
    static const int64_t sizes[] = {1, 2, 4, 8, 12, 40};
    static const uint64_t counts[] = {1, 2, 3, 60, 5000};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const kc_labels labels = make_labels(sizes[s], 40 * sign, counts[c]);
                int64_t n_found = 0;

                REQUIRE(kc_encode_labels(ctx, NULL, &labels, N, first, codes, &n_found, &err) ==
                        KC_OK);
                CHECK(n_found <= (int64_t)counts[c] && n_found >= 1);
                check_codes(&labels, n_found);
            }
}

static void more_labels_than_there_is_room_for_are_told_of(void)
{
    const kc_labels labels = make_labels(8, 8, 300);
    int64_t n_found = 0;

    for (int64_t most = 1; most < 300; most += 149) {
        memset(first, 0xee, sizeof first);
        REQUIRE(kc_encode_labels(ctx, NULL, &labels, most, first, codes, &n_found, &err) == KC_OK);
        CHECK(n_found == most + 1);
        CHECK(first[most] == (int64_t)0xeeeeeeeeeeeeeeee); /* nothing was written there */
    }
}

static void many_labels_can_be_stopped(void)
{
    kc_labels labels = {values, INT32_MAX, 8, 0};
    const kc_run run = {.struct_size = sizeof run, .time_limit = 1e-9};
    const size_t many = (size_t)1 << 20;
    int32_t *many_codes = calloc(many, sizeof *many_codes);
    int64_t n_found;
    double out[1];

    REQUIRE(many_codes != NULL);
    labels.n = (int64_t)many;
    CHECK(kc_encode_labels(ctx, &run, &labels, 2, first, many_codes, &n_found, &err) ==
          KC_ERR_TIME);
    memset(many_codes, 0, many * sizeof *many_codes);
    CHECK(kc_balanced_weights(ctx, &run, many_codes, (int64_t)many, 1, NULL, out, &err) ==
          KC_ERR_TIME);
    free(many_codes);
}

static void balanced_classes_weigh_the_same(void)
{
    const int32_t classes[] = {0, 2, 2, 1, 2, 0};
    const double weights[] = {1, 0.5, 2, 4, 0, 3};
    double out[3];

    REQUIRE(kc_balanced_weights(ctx, NULL, classes, 6, 3, NULL, out, &err) == KC_OK);
    CHECK_NEAR(out[0], 1.0, 1e-15);
    CHECK_NEAR(out[1], 2.0, 1e-15);
    CHECK_NEAR(out[2], 2.0 / 3, 1e-15);
    REQUIRE(kc_balanced_weights(ctx, NULL, classes, 6, 3, weights, out, &err) == KC_OK);
    CHECK_NEAR(out[0] * 4, 10.5 / 3, 1e-14);
    CHECK_NEAR(out[1] * 4, 10.5 / 3, 1e-14);
    CHECK_NEAR(out[2] * 2.5, 10.5 / 3, 1e-14);
}

static void bad_classes_and_weights_are_named(void)
{
    const int32_t classes[] = {0, 1, 5};
    const double weights[] = {1, -1, 1}, lost[] = {1, 0, 1};
    double out[6];

    CHECK(kc_balanced_weights(ctx, NULL, classes, 3, 3, NULL, out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "the class of sample 2 is 5, must be 0 to 2") == 0);
    CHECK(kc_balanced_weights(ctx, NULL, classes, 2, 2, weights, out, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "the weight of sample 1 is -1, must be finite and not negative") == 0);
    CHECK(kc_balanced_weights(ctx, NULL, classes, 2, 2, lost, out, &err) == KC_ERR_CLASSES);
    CHECK(kc_balanced_weights(ctx, NULL, classes, 0, 2, NULL, out, &err) == KC_ERR_SHAPE);
    CHECK(kc_balanced_weights(ctx, NULL, NULL, 2, 2, NULL, out, &err) == KC_ERR_ARG);
    CHECK(kc_encode_labels(ctx, NULL, NULL, 2, first, codes, first, &err) == KC_ERR_ARG);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(labels_of_every_size_are_numbered_as_they_appear);
    RUN(more_labels_than_there_is_room_for_are_told_of);
    RUN(many_labels_can_be_stopped);
    RUN(balanced_classes_weigh_the_same);
    RUN(bad_classes_and_weights_are_named);
    kc_context_free(ctx);
    return kc_test_end();
}
