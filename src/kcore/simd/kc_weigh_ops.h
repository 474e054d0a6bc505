/* Kernel values times coefficients: the loop of every decision function.
 *
 * The sum over n values is taken in KC_WEIGH_LANES running sums of doubles (value j goes to sum
 * j mod KC_WEIGH_LANES), which are added up in a fixed order: it depends on the values, the
 * coefficients and n alone. */
#ifndef KC_WEIGH_OPS_H
#define KC_WEIGH_OPS_H

#include "base/kc_base.h"
#include "base/kc_isa.h"

#define KC_WEIGH_LANES 16

/* sums[c] = sum over j < n of k[j] * coef[c * ld + j], for c < n_coefs. */
typedef void kc_weigh_fn(const void *k, size_t n, const double *coef, size_t ld, size_t n_coefs,
                         double *sums);

typedef struct kc_weigh_ops {
    kc_weigh_fn *f32, *f64; /* by the type of k */
} kc_weigh_ops;

extern const kc_weigh_ops kc_weigh_ops_generic;
extern const kc_weigh_ops kc_weigh_ops_avx2;
extern const kc_weigh_ops kc_weigh_ops_avx512;

/* Of an instruction set; NULL where it is not compiled in. */
const kc_weigh_ops *kc_weigh_table_of(kc_isa isa);

/* Of the one in use. */
kc_weigh_fn *kc_weigh_of(kc_dtype dtype);

#endif
