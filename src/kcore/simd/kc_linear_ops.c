/* Which table of linear loops is in use: that of the instruction set chosen for everything. */
#include "simd/kc_linear_ops.h"

#include "base/kc_isa.h"

const kc_linear_ops *kc_linear_ops_of(kc_dtype dtype)
{
    const kc_linear_table *table = &kc_linear_generic;

#ifdef KC_HAVE_AVX2
    if (kc_isa_chosen() == KC_ISA_AVX2)
        table = &kc_linear_avx2;
#endif
    return dtype == KC_F64 ? &table->f64 : &table->f32;
}
