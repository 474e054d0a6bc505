/* How many bytes a store of kernel rows may take. */
#ifndef KC_CACHE_H
#define KC_CACHE_H

#include "base/kc_call.h"

/* What is asked for, or where that is 0: the whole Gram matrix of n points if it fits in a quarter
 * of the memory there is, else that quarter; room for two rows in any case. */
size_t kc_cache_bytes(const kc_call *call, size_t requested, size_t n, kc_dtype dtype);

#endif
