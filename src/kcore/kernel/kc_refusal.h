/* Samples that were packed, held to what the leaves of a kernel take (kc_base.refuses_negative). */
#ifndef KC_REFUSAL_H
#define KC_REFUSAL_H

#include "data/kc_packed.h"
#include "kernel/kc_kernel.h"

/* Whether a kernel takes not all numbers. */
bool kc_refuses_some(const kc_kernel *kernel);

/* The error names argument, row, column and value; sample i is the caller's row order[i], or i
 * where order is NULL.  Selections of columns have been packed. */
kc_status kc_refuse(kc_call *call, const kc_kernel *kernel, const int32_t *order,
                    const kc_packed *points);

/* The same for a kernel that reads all columns, without words. */
bool kc_refuses_few(const kc_kernel *kernel, const kc_packed *points);

#endif
