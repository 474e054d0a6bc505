/* Votes are counted class by class, over its pairs, so that no workspace is needed. */
#include "function/kc_decode.h"

#include <math.h>

/* The value of class c against the other one: positive says c. */
static double value_for(const kc_decoding *how, const double *values, size_t c, size_t other)
{
    const size_t n = (size_t)how->n_classes;

    return c < other ? values[kc_pair_index(n, c, other)] : -values[kc_pair_index(n, other, c)];
}

/* scikit-learn's transformation: a decision value of zero is a vote for the lower class. */
static double pairwise_value(const kc_decoding *how, const double *values, size_t c)
{
    double votes = 0, sum = 0;

    for (size_t other = 0; other < (size_t)how->n_classes; other++) {
        if (other == c)
            continue;
        const double value = value_for(how, values, c, other);

        votes += c < other ? value >= 0 : value > 0;
        sum += value;
    }
    return votes + sum / (3 * (fabs(sum) + 1));
}

/* libsvm's count: a decision value of zero is a vote for the higher class. */
static int32_t votes_for(const kc_decoding *how, const double *values, size_t c)
{
    int32_t votes = 0;

    for (size_t other = 0; other < (size_t)how->n_classes; other++) {
        if (other == c)
            continue;
        const double value = value_for(how, values, c, other);

        votes += c < other ? value > 0 : value >= 0;
    }
    return votes;
}

void kc_class_values(const kc_decoding *how, size_t n_outputs, const double *values, double *out)
{
    for (size_t c = 0; c < kc_class_columns(how, n_outputs); c++)
        out[c] = how->decoder == KC_DECODE_PAIRS ? pairwise_value(how, values, c) : values[c];
}

static int32_t most_votes(const kc_decoding *how, const double *values)
{
    int32_t best = 0, most = -1;

    for (int32_t c = 0; c < how->n_classes; c++) {
        const int32_t votes = votes_for(how, values, (size_t)c);

        if (votes > most) {
            most = votes;
            best = c;
        }
    }
    return best;
}

static int32_t largest_value(const kc_decoding *how, const double *values)
{
    int32_t best = 0;
    double largest = -INFINITY;

    for (int32_t c = 0; c < how->n_classes; c++) {
        const double value =
            how->decoder == KC_DECODE_PAIRS ? pairwise_value(how, values, (size_t)c) : values[c];

        if (value > largest) {
            largest = value;
            best = c;
        }
    }
    return best;
}

int32_t kc_class_of(const kc_decoding *how, const double *values, bool break_ties)
{
    if (how->decoder == KC_DECODE_SIGN)
        return values[0] == 0 ? how->class_of_zero : values[0] > 0;
    return how->decoder == KC_DECODE_PAIRS && !break_ties ? most_votes(how, values)
                                                          : largest_value(how, values);
}
