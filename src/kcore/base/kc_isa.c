/* Detection of the CPU.  The choice is the same for every thread and every
 * time it is made, so a race to make it first is harmless. */
#include "base/kc_isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_base.h"

static const char *const isa_names[KC_N_ISAS] = {
    [KC_ISA_GENERIC] = "generic",
    [KC_ISA_AVX2] = "avx2",
    [KC_ISA_AVX512] = "avx512",
};

bool kc_isa_is_there(kc_isa isa)
{
    switch (isa) {
    case KC_ISA_GENERIC:
        return true;
#ifdef KC_HAVE_AVX2
    case KC_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#ifdef KC_HAVE_AVX512
    case KC_ISA_AVX512: /* those of every such server and desktop since 2017 */
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    default:
        return false;
    }
}

const char *kc_isa_name_of(kc_isa isa)
{
    return isa_names[isa];
}

/* What KCORE_ISA asks for, or NULL. */
static const char *find_wanted(void)
{
    const char *wanted = getenv("KCORE_ISA");

    return wanted != NULL && wanted[0] != '\0' ? wanted : NULL;
}

/* Sets *out and returns true where there is one of this name. */
static bool find_isa(const char *name, kc_isa *out)
{
    for (int isa = 0; isa < KC_N_ISAS; isa++)
        if (strcmp(name, isa_names[isa]) == 0) {
            *out = (kc_isa)isa;
            return true;
        }
    return false;
}

kc_status kc_isa_check(kc_error *err)
{
    const char *wanted = find_wanted();
    kc_isa isa;

    if (wanted == NULL)
        return KC_OK;
    if (!find_isa(wanted, &isa))
        return kc_fail(err, KC_ERR_ARG,
                       "the environment variable KCORE_ISA is '%.40s', must be generic, avx2 or "
                       "avx512",
                       wanted);
    if (!kc_isa_is_there(isa))
        return kc_fail(err, KC_ERR_ARG,
                       "the environment variable KCORE_ISA is '%s', which this CPU or this build "
                       "does not have",
                       wanted);
    return KC_OK;
}

static kc_isa choose(void)
{
    const char *wanted = find_wanted();
    kc_isa isa;

    if (wanted != NULL && find_isa(wanted, &isa) && kc_isa_is_there(isa))
        return isa;
    isa = KC_N_ISAS - 1;
    while (!kc_isa_is_there(isa))
        isa--;
    return isa;
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
