/* Kernel values times coefficients: the loops of every decision function and of gradients.
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

/* coef[j] *= k[j]; into[j] += k[j] coef[j]: for j < n. */
typedef void kc_scale_weights_fn(double *coef, const void *k, size_t n);
typedef void kc_add_weighed_fn(double *into, const void *k, const double *coef, size_t n);

typedef struct kc_weigh_ops {
    kc_weigh_fn *f32, *f64; /* by the type of k */
    kc_scale_weights_fn *scale_f32, *scale_f64;
    kc_add_weighed_fn *add_f32, *add_f64;
    /* into[t] += weight x[t]^2 for t < n; into[t] += sum_j weights[j] |x[t] - z[j * ld + t]| for
     * t < n, j < n_rows, where rows have whole panels of doubles. */
    void (*add_squares)(double *into, const double *x, double weight, size_t n);
    void (*add_distances)(double *into, const double *x, const double *z, size_t ld,
                          const double *weights, size_t n_rows, size_t n);
} kc_weigh_ops;

extern const kc_weigh_ops kc_weigh_ops_generic;
extern const kc_weigh_ops kc_weigh_ops_avx2;
extern const kc_weigh_ops kc_weigh_ops_avx512;

/* Of an instruction set; NULL where it is not compiled in. */
const kc_weigh_ops *kc_weigh_table_of(kc_isa isa);

/* Of the one in use. */
kc_weigh_fn *kc_weigh_of(kc_dtype dtype);
kc_scale_weights_fn *kc_scale_weights_of(kc_dtype dtype);
kc_add_weighed_fn *kc_add_weighed_of(kc_dtype dtype);
void kc_add_squares(double *into, const double *x, double weight, size_t n);
void kc_add_distances(double *into, const double *x, const double *z, size_t ld,
                      const double *weights, size_t n_rows, size_t n);

#endif
