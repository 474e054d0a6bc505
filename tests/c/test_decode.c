/* Classes, and values per class, from values that are given. */
#include "function/kc_decode.h"

#include <string.h>

#include "kc_test.h"

static void two_classes_are_told_by_the_sign(void)
{
    const kc_decoding how = {KC_DECODE_SIGN, .n_classes = 2, .class_of_zero = 1};
    double value;

    value = 0.1;
    CHECK(kc_class_of(&how, &value, false) == 1);
    value = -0.1;
    CHECK(kc_class_of(&how, &value, false) == 0);
    value = 0; /* libsvm: the value of the pair (0, 1) is not positive, the vote is for 1 */
    CHECK(kc_class_of(&how, &value, false) == 1);
    CHECK(kc_class_columns(&how, 1) == 1);
}

static void zero_says_the_class_that_it_shall(void)
{
    const kc_decoding how = {KC_DECODE_SIGN, .n_classes = 2, .class_of_zero = 0};
    double value = 1e-9;

    CHECK(kc_class_of(&how, &value, false) == 1);
    value = 0;
    CHECK(kc_class_of(&how, &value, false) == 0);
    value = -0.0;
    CHECK(kc_class_of(&how, &value, false) == 0);
    value = NAN;
    CHECK(kc_class_of(&how, &value, false) == 0);
}

static void pairs_are_numbered_in_order(void)
{
    size_t index = 0;

    for (size_t i = 0; i < 7; i++)
        for (size_t j = i + 1; j < 7; j++)
            CHECK(kc_pair_index(7, i, j) == index++);
    CHECK(index == 7 * 6 / 2);
}

static void most_votes_win_and_ties_go_to_the_lowest_class(void)
{
    const kc_decoding how = {KC_DECODE_PAIRS, .n_classes = 3};
    const double second[] = {-1, 1, 1};  /* 1 beats 0, 0 beats 2, 1 beats 2 */
    const double circle[] = {1, -5, 1};  /* 0 beats 1, 2 beats 0, 1 beats 2 */
    const double all_zero[] = {0, 0, 0}; /* each zero is a vote for the higher class */

    CHECK(kc_class_of(&how, second, false) == 1);
    CHECK(kc_class_of(&how, circle, false) == 0);
    CHECK(kc_class_of(&how, circle, true) == 2); /* sums: -4, 0, 4 */
    CHECK(kc_class_of(&how, all_zero, false) == 2);
}

static void values_of_classes_are_votes_and_squeezed_sums(void)
{
    const kc_decoding how = {KC_DECODE_PAIRS, .n_classes = 3};
    const double values[] = {1, -5, 1}, zeros[] = {0, 0, 0};
    double out[3];

    kc_class_values(&how, sizeof values / sizeof values[0], values, out);
    CHECK_NEAR(out[0], 1 - 4.0 / 15, 1e-15);
    CHECK_NEAR(out[1], 1, 1e-15);
    CHECK_NEAR(out[2], 1 + 4.0 / 15, 1e-15);
    kc_class_values(&how, 3, zeros, out); /* here each zero is a vote for the lower class */
    CHECK(out[0] == 2 && out[1] == 1 && out[2] == 0);
    CHECK(kc_class_columns(&how, 3) == 3);
}

static void against_the_rest_the_largest_value_wins(void)
{
    const kc_decoding how = {KC_DECODE_LARGEST, .n_classes = 4};
    const double values[] = {-3, -1, -2, -1};
    double out[4];

    CHECK(kc_class_of(&how, values, false) == 1);
    kc_class_values(&how, sizeof values / sizeof values[0], values, out);
    CHECK(memcmp(values, out, sizeof out) == 0);
}

int main(void)
{
    RUN(two_classes_are_told_by_the_sign);
    RUN(zero_says_the_class_that_it_shall);
    RUN(pairs_are_numbered_in_order);
    RUN(most_votes_win_and_ties_go_to_the_lowest_class);
    RUN(values_of_classes_are_votes_and_squeezed_sums);
    RUN(against_the_rest_the_largest_value_wins);
    return kc_test_end();
}
