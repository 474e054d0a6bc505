/* Which table of linear loops is in use: that of the instruction set chosen for everything. */
#include "simd/kc_linear_ops.h"

static const kc_linear_table *const tables[KC_N_ISAS] = {
    [KC_ISA_GENERIC] = &kc_linear_generic,
#ifdef KC_HAVE_AVX2
    [KC_ISA_AVX2] = &kc_linear_avx2,
#endif
#ifdef KC_HAVE_AVX512
    [KC_ISA_AVX512] = &kc_linear_avx512,
#endif
};

const kc_linear_table *kc_linear_table_of(kc_isa isa)
{
    return tables[isa];
}

const kc_linear_ops *kc_linear_ops_of(kc_dtype dtype)
{
    const kc_linear_table *table = tables[kc_isa_chosen()];

    return dtype == KC_F64 ? &table->f64 : &table->f32;
}
