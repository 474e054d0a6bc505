/* Linear learners on the caller's samples: the perceptron's problems, decision values, votes,
 * margins. */
#ifndef KC_LINEAR_H
#define KC_LINEAR_H

#include "base/kc_call.h"

kc_status kc_linear_learn(kc_call *call, const kc_perceptron_settings *settings,
                          const kc_perceptron_data *data, kc_perceptron_state *states,
                          size_t n_states);

kc_status kc_linear_decide(kc_call *call, const kc_points *x, const double *weights,
                           const double *intercepts, size_t n_outputs, double *out);

/* out[i * ld + o]: the votes of all vectors that there were (function/kc_voted.h). */
kc_status kc_linear_vote(kc_call *call, const kc_perceptron_history *history, const kc_points *x,
                         double *out, size_t ld);

kc_status kc_linear_measure(kc_call *call, const kc_perceptron_data *data, int32_t positive,
                            const double *weights, double intercept, kc_perceptron_margin *out);

#endif
