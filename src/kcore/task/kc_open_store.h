/* Stores that outlive a call: what callers own (kcore/stores.h). */
#ifndef KC_OPEN_STORE_H
#define KC_OPEN_STORE_H

#include "rows/kc_store.h"

/* Of copies of kernel and samples, which fit together (kc_kernel_check); kernel NULL: of a copy of
 * the kernel matrix x.  dtype 0: that of a matrix, else f64; cache_bytes 0: by the memory there is.
 */
kc_status kc_store_open(kc_call *call, const kc_kernel *kernel, const kc_points *x, kc_dtype dtype,
                        size_t cache_bytes, kc_store **out);

/* Computes the whole matrix where problems will read it again, the cache has room and the call has
 * time for it. */
kc_status kc_store_prepare(kc_call *call, kc_store *store);

#endif
