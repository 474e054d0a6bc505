/* Which table of kernel loops is in use: that of the instruction set chosen for everything. */
#include "simd/kc_ops.h"

#include "base/kc_isa.h"

const kc_ops *kc_ops_of(kc_dtype dtype)
{
    const kc_ops_table *table = &kc_ops_generic;

#ifdef KC_HAVE_AVX2
    if (kc_isa_chosen() == KC_ISA_AVX2)
        table = &kc_ops_avx2;
#endif
    return dtype == KC_F64 ? &table->f64 : &table->f32;
}
