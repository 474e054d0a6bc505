/* Asked once by a fit that could use more memory than it needs, and when large blocks are freed. */
#include "base/kc_memory.h"

#include <math.h>

#include "base/kc_cgroup.h"
#include "base/kc_context.h"

/* Where the system does not say: what any machine of today can spare. */
#define UNKNOWN_BYTES 4e9

double kc_memory_available(const kc_context *ctx)
{
    const double system = fmin(kc_cgroup_memory(""), kc_machine_memory(""));
    const double limit = (double)ctx->memory_limit - (double)atomic_load(&ctx->current);
    const double most = ctx->memory_limit == SIZE_MAX ? INFINITY : fmax(limit, 0);
    const double least = fmin(system, most);

    return isfinite(least) ? least : UNKNOWN_BYTES;
}
