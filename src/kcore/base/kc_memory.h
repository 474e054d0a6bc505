/* How much memory a call may still take without harm. */
#ifndef KC_MEMORY_H
#define KC_MEMORY_H

#include "base/kc_base.h"

/* Bytes: the least of what the machine has available, what the control groups of this process
 * leave, and what the context's memory_limit leaves.  Reads files: some 50 us. */
double kc_memory_available(const kc_context *ctx);

#endif
