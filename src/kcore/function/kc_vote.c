/* Votes are counted class by class, over its pairs, so that no workspace is needed. */
#include "function/kc_vote.h"

#include <math.h>

size_t kc_class_columns(const kc_model *model)
{
    return model->n_classes > 2 ? (size_t)model->n_classes : 1;
}

/* The decision value of class c against the other one: positive says c. */
static double value_for(const kc_model *model, const double *values, size_t c, size_t other)
{
    const size_t n = (size_t)model->n_classes;

    return c < other ? values[kc_pair_index(n, c, other)] : -values[kc_pair_index(n, other, c)];
}

/* scikit-learn's transformation: a decision value of zero is a vote for the lower class. */
static double pairwise_value(const kc_model *model, const double *values, size_t c)
{
    double votes = 0, sum = 0;

    for (size_t other = 0; other < (size_t)model->n_classes; other++) {
        if (other == c)
            continue;
        const double value = value_for(model, values, c, other);

        votes += c < other ? value >= 0 : value > 0;
        sum += value;
    }
    return votes + sum / (3 * (fabs(sum) + 1));
}

/* libsvm's count: a decision value of zero is a vote for the higher class. */
static int32_t votes_for(const kc_model *model, const double *values, size_t c)
{
    int32_t votes = 0;

    for (size_t other = 0; other < (size_t)model->n_classes; other++) {
        if (other == c)
            continue;
        const double value = value_for(model, values, c, other);

        votes += c < other ? value > 0 : value >= 0;
    }
    return votes;
}

void kc_class_values(const kc_model *model, const double *values, double *out)
{
    const bool is_pairwise = kc_is_pairwise(model->multiclass, model->n_classes);

    for (size_t c = 0; c < kc_class_columns(model); c++)
        out[c] = is_pairwise ? pairwise_value(model, values, c) : values[c];
}

static int32_t most_votes(const kc_model *model, const double *values)
{
    int32_t best = 0, most = -1;

    for (int32_t c = 0; c < model->n_classes; c++) {
        const int32_t votes = votes_for(model, values, (size_t)c);

        if (votes > most) {
            most = votes;
            best = c;
        }
    }
    return best;
}

static int32_t largest_value(const kc_model *model, const double *values)
{
    const bool is_pairwise = kc_is_pairwise(model->multiclass, model->n_classes);
    int32_t best = 0;
    double largest = -INFINITY;

    for (int32_t c = 0; c < model->n_classes; c++) {
        const double value = is_pairwise ? pairwise_value(model, values, (size_t)c) : values[c];

        if (value > largest) {
            largest = value;
            best = c;
        }
    }
    return best;
}

int32_t kc_class_of(const kc_model *model, const double *values, bool break_ties)
{
    if (model->type == KC_ONE_CLASS)
        return values[0] > 0 ? 1 : -1;
    if (model->n_classes == 2)
        return values[0] >= 0;
    if (kc_is_pairwise(model->multiclass, model->n_classes) && !break_ties)
        return most_votes(model, values);
    return largest_value(model, values);
}
