/* From the decision values of all problems at one sample to classes: libsvm's votes, and the values
 * per class that scikit-learn makes of them. */
#ifndef KC_VOTE_H
#define KC_VOTE_H

#include "function/kc_model.h"

/* How many columns kc_class_values has: n_classes where there are more than two, else 1. */
size_t kc_class_columns(const kc_model *model);

/* A value for each class.  One-vs-one: votes, plus the sum of the decision values for the class
 * squeezed into (-1/3, 1/3), so that it can break ties but not overrule a vote. */
void kc_class_values(const kc_model *model, const double *values, double *out);

/* The class; one-class: 1 or -1.  One-vs-one: most votes, ties to the lowest class or, with
 * break_ties, to the largest of kc_class_values. */
int32_t kc_class_of(const kc_model *model, const double *values, bool break_ties);

#endif
