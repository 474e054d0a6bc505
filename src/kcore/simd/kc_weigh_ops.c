/* Which table of sums is in use: that of the instruction set chosen for everything. */
#include "simd/kc_weigh_ops.h"

static const kc_weigh_ops *const tables[KC_N_ISAS] = {
    [KC_ISA_GENERIC] = &kc_weigh_ops_generic,
#ifdef KC_HAVE_AVX2
    [KC_ISA_AVX2] = &kc_weigh_ops_avx2,
#endif
#ifdef KC_HAVE_AVX512
    [KC_ISA_AVX512] = &kc_weigh_ops_avx512,
#endif
};

const kc_weigh_ops *kc_weigh_table_of(kc_isa isa)
{
    return tables[isa];
}

kc_scale_weights_fn *kc_scale_weights_of(kc_dtype dtype)
{
    const kc_weigh_ops *table = tables[kc_isa_chosen()];

    return dtype == KC_F64 ? table->scale_f64 : table->scale_f32;
}

kc_add_weighed_fn *kc_add_weighed_of(kc_dtype dtype)
{
    const kc_weigh_ops *table = tables[kc_isa_chosen()];

    return dtype == KC_F64 ? table->add_f64 : table->add_f32;
}

void kc_add_squares(double *into, const double *x, double weight, size_t n)
{
    tables[kc_isa_chosen()]->add_squares(into, x, weight, n);
}

void kc_add_distances(double *into, const double *x, const double *z, size_t ld,
                      const double *weights, size_t n_rows, size_t n)
{
    tables[kc_isa_chosen()]->add_distances(into, x, z, ld, weights, n_rows, n);
}

kc_weigh_fn *kc_weigh_of(kc_dtype dtype)
{
    const kc_weigh_ops *table = tables[kc_isa_chosen()];

    return dtype == KC_F64 ? table->f64 : table->f32;
}
