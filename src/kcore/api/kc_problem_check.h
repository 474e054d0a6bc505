/* What callers say of a problem on a store, read and checked; texts name the field, the entry and
 * the value. */
#ifndef KC_PROBLEM_CHECK_H
#define KC_PROBLEM_CHECK_H

#include "base/kc_call.h"

/* A copy of `from`, checked against a store of n_all samples; the samples are not. */
kc_status kc_problem_read(const kc_dual_problem *from, size_t n_all, kc_dual_problem *out,
                          kc_error *err);

/* Samples of a store of n_all, in memory of the call; *out is NULL where `rows` is.  `name` is what
 * messages call the list; is_distinct: no sample may be twice in it. */
kc_status kc_rows_read(kc_call *call, const char *name, const int64_t *rows, int64_t n,
                       size_t n_all, bool is_distinct, int32_t **out);

/* Every value is finite. */
kc_status kc_numbers_check(const char *name, const double *values, size_t n, kc_error *err);

#endif
