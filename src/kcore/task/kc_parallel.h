/* Several problems of a fit at once, each on one thread. */
#ifndef KC_PARALLEL_H
#define KC_PARALLEL_H

#include "base/kc_call.h"

/* Solves problem `index`; may be called by several threads at once, each with a call and a number
 * of its own: worker < kc_workers(). */
typedef kc_status kc_solve_fn(void *data, kc_call *call, size_t index, int32_t worker,
                              kc_fit_info *info);

/* Problems begin .. begin + n - 1, dealt in the order begin + order[0], begin + order[1], ...
 * (NULL: as they are numbered); infos has n entries, is_done n zeros.  On failure the error is that
 * of the first problem that failed, whatever the number of threads.  KC_ERR_TIME and
 * KC_ERR_CANCELLED where the call was stopped: is_done says which problems were solved before. */
kc_status kc_solve_parallel(kc_call *call, size_t begin, size_t n, const size_t *order,
                            kc_solve_fn *solve, void *data, kc_fit_info *infos, bool *is_done);

#endif
