/* What callers give to perceptrons, linear or with a kernel, checked: texts name the argument, the
 * place and the value. */
#ifndef KC_PERCEPTRON_CHECK_H
#define KC_PERCEPTRON_CHECK_H

#include "base/kc_status.h"

/* The rule and its numbers, into *out. */
kc_status kc_perceptron_read_settings(const kc_perceptron_settings *from,
                                      kc_perceptron_settings *out, kc_error *err);

/* The classes and weights of n samples. */
kc_status kc_perceptron_check_labels(const kc_perceptron_data *data, int64_t n, kc_error *err);

#endif
