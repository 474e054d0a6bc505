/* From the values of all outputs at one sample to classes: signs, libsvm's votes of pairs and the
 * values per class that scikit-learn makes of them, the largest value. */
#ifndef KC_DECODE_H
#define KC_DECODE_H

#include "base/kc_base.h"

/* As in kc_function_parts; checked. */
typedef struct kc_decoding {
    kc_decoder decoder;
    int32_t n_classes;     /* 0 where there are none */
    int32_t class_of_zero; /* KC_DECODE_SIGN */
} kc_decoding;

/* The output of the pair of classes i < j. */
KC_INLINE size_t kc_pair_index(size_t n_classes, size_t i, size_t j)
{
    return i * (2 * n_classes - i - 1) / 2 + (j - i - 1);
}

/* How many columns kc_class_values has: a class each for pairs, else an output each. */
KC_INLINE size_t kc_class_columns(const kc_decoding *how, size_t n_outputs)
{
    return how->decoder == KC_DECODE_PAIRS ? (size_t)how->n_classes : n_outputs;
}

/* A value for each class.  Pairs: votes, plus the sum of the values for the class squeezed into
 * (-1/3, 1/3), so that it can break ties but not overrule a vote. */
void kc_class_values(const kc_decoding *how, size_t n_outputs, const double *values, double *out);

/* The class; there are classes.  Pairs: most votes, ties to the lowest class or, with break_ties,
 * to the largest of kc_class_values. */
int32_t kc_class_of(const kc_decoding *how, const double *values, bool break_ties);

#endif
