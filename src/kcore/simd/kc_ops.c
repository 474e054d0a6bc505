/* Which table of kernel loops is in use: that of the instruction set chosen for everything. */
#include "simd/kc_ops.h"

static const kc_ops_table *const tables[KC_N_ISAS] = {
    [KC_ISA_GENERIC] = &kc_ops_generic,
#ifdef KC_HAVE_AVX2
    [KC_ISA_AVX2] = &kc_ops_avx2,
#endif
#ifdef KC_HAVE_AVX512
    [KC_ISA_AVX512] = &kc_ops_avx512,
#endif
};

const kc_ops_table *kc_ops_table_of(kc_isa isa)
{
    return tables[isa];
}

const kc_ops *kc_ops_of(kc_dtype dtype)
{
    const kc_ops_table *table = tables[kc_isa_chosen()];

    return dtype == KC_F64 ? &table->f64 : &table->f32;
}
