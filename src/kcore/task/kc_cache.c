/* The memory there is takes some 50 us to find out: small matrices do not ask. */
#include "task/kc_cache.h"

#include <math.h>

#include "base/kc_memory.h"

/* A whole Gram matrix up to this size is taken without asking how much memory there is. */
#define SMALL_BYTES ((size_t)64 << 20)

size_t kc_cache_bytes(const kc_call *call, size_t requested, size_t n, kc_dtype dtype)
{
    const double row_bytes = (double)n * (double)kc_dtype_bytes(dtype) + 2 * KC_ALIGN;
    const double whole = row_bytes * (double)n;

    if (requested > 0)
        return requested;
    if (whole <= (double)SMALL_BYTES)
        return (size_t)fmax(whole, 2 * row_bytes);
    return (size_t)fmax(fmin(whole, kc_memory_available(call->ctx) / 4), 2 * row_bytes);
}
