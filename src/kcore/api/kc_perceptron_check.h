/* What callers give to perceptrons, linear or with a kernel, checked: texts name the argument, the
 * place and the value. */
#ifndef KC_PERCEPTRON_CHECK_H
#define KC_PERCEPTRON_CHECK_H

#include "base/kc_status.h"

/* Its size, the rule and its numbers. */
kc_status kc_perceptron_check_settings(const kc_perceptron_settings *settings, kc_error *err);

/* The classes and weights of n samples. */
kc_status kc_perceptron_check_labels(const kc_perceptron_data *data, int64_t n, kc_error *err);

#endif
