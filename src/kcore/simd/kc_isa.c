/* Detection of the CPU.  The choice is the same for every thread and every
 * time it is made, so a race to make it first is harmless. */
#include "simd/kc_isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_base.h"

static const char *const isa_names[] = {[KC_ISA_GENERIC] = "generic", [KC_ISA_AVX2] = "avx2"};

static bool cpu_has(kc_isa isa)
{
    if (isa == KC_ISA_GENERIC)
        return true;
#ifdef KC_HAVE_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static kc_isa choose(void)
{
    const char *wanted = getenv("KCORE_ISA");

    for (int isa = KC_ISA_GENERIC; wanted != NULL && isa <= KC_ISA_AVX2; isa++)
        if (strcmp(wanted, isa_names[isa]) == 0 && cpu_has((kc_isa)isa))
            return (kc_isa)isa;
    return cpu_has(KC_ISA_AVX2) ? KC_ISA_AVX2 : KC_ISA_GENERIC;
}

kc_isa kc_isa_chosen(void)
{
    static atomic_int chosen = -1;
    int isa = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (isa < 0) {
        isa = (int)choose();
        atomic_store_explicit(&chosen, isa, memory_order_relaxed);
    }
    return (kc_isa)isa;
}

const char *kc_isa_name(void)
{
    return isa_names[kc_isa_chosen()];
}
