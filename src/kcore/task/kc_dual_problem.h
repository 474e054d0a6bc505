/* Problems as callers pose them on some samples of a store (kcore/stores.h), and their solutions.
 */
#ifndef KC_DUAL_PROBLEM_H
#define KC_DUAL_PROBLEM_H

#include "rows/kc_store.h"

/* Everything of the problem is checked; rows: its n samples, NULL where they are all of the store.
 * The arrays of *result are written, with all else, on success only. */
kc_status kc_dual_problem_solve(kc_call *call, kc_store *store, const kc_dual_problem *problem,
                                const int32_t *rows, kc_dual_result *result);

#endif
