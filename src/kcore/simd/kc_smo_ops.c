/* Which table of solver loops is in use: that of the instruction set chosen for everything. */
#include "simd/kc_smo_ops.h"

static const kc_smo_ops *const tables[KC_N_ISAS] = {
    [KC_ISA_GENERIC] = &kc_smo_ops_generic,
#ifdef KC_HAVE_AVX2
    [KC_ISA_AVX2] = &kc_smo_ops_avx2,
#endif
#ifdef KC_HAVE_AVX512
    [KC_ISA_AVX512] = &kc_smo_ops_avx512,
#endif
};

const kc_smo_ops *kc_smo_table_of(kc_isa isa)
{
    return tables[isa];
}

const kc_smo_ops *kc_smo_ops_chosen(void)
{
    return tables[kc_isa_chosen()];
}
