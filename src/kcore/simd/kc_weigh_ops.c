/* Which table is in use: that of the instruction set chosen for everything. */
#include "simd/kc_weigh_ops.h"

#include "base/kc_isa.h"

kc_weigh_fn *kc_weigh_of(kc_dtype dtype)
{
    const kc_weigh_ops *ops = &kc_weigh_ops_generic;

#ifdef KC_HAVE_AVX2
    if (kc_isa_chosen() == KC_ISA_AVX2)
        ops = &kc_weigh_ops_avx2;
#endif
    return dtype == KC_F64 ? ops->f64 : ops->f32;
}
