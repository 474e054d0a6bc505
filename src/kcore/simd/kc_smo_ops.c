/* Which table of solver loops is in use: that of the instruction set chosen for everything. */
#include "simd/kc_smo_ops.h"

#include "base/kc_isa.h"

const kc_smo_ops *kc_smo_ops_chosen(void)
{
#ifdef KC_HAVE_AVX2
    if (kc_isa_chosen() == KC_ISA_AVX2)
        return &kc_smo_ops_avx2;
#endif
    return &kc_smo_ops_generic;
}
