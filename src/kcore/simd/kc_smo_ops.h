/* The loops over n of the dual solvers, for each row type: contract of simd/kc_smo_*.
 *
 * Two loops make one pair step: `move` takes the step in the gradient and finds the next first
 * index in the same pass; `pick` finds the second index.  Whether a variable may rise or fall, and
 * the kink of epsilon |beta|, are numbers added to the gradient (up, low), so that the loops have
 * neither masks nor branches:
 *
 *     up-value  = grad + up      up  = -phi'(beta+), or -infinity where beta cannot rise
 *     low-value = grad + low     low = -phi'(beta-), or +infinity where beta cannot fall
 *
 * Arrays of doubles (grad, up, low) and `diag` have room for kc_round_up(n, KC_SMO_PAD) entries:
 * beyond n, up = -infinity, low = +infinity, and grad and diag are finite.  Rows have n entries and
 * are not read beyond.  Nothing needs alignment.  Ties go to the lowest index. */
#ifndef KC_SMO_OPS_H
#define KC_SMO_OPS_H

#include "base/kc_base.h"

#define KC_SMO_PAD 8

/* The loops remember the block of so many entries that raised an extreme, and search it once at the
 * end: this saves a compare and a blend per vector, and the first index wins by itself. */
#define KC_SMO_BLOCK 64

/* Stands for a curvature that is not positive (duplicates, kernels that are not definite). */
#define KC_SMO_TAU 1e-12

#define KC_SMO_NONE ((size_t)-1)

/* The most violating variables of one group. */
typedef struct kc_peak {
    double max_up; /* -infinity where none can rise */
    size_t at;     /* the first variable with it; 0 where there is none */
    double min_low;
} kc_peak;

/* The first variable with the largest up-value. */
typedef struct kc_top {
    double max_up;
    size_t at;
} kc_top;

/* The second variable of a pair, and the least low-value, seen on the way. */
typedef struct kc_second {
    size_t at; /* KC_SMO_NONE where no low-value is below up_i */
    double min_low;
} kc_second;

/* For rows of one type. */
typedef struct kc_smo_row_ops {
    /* grad -= d (row_i - row_j) */
    void (*shift)(double *grad, const void *row_i, const void *row_j, double d, size_t n);

    /* shift, and the top of the new gradient. */
    kc_top (*move)(double *grad, const void *row_i, const void *row_j, double d, const double *up,
                   size_t n);

    /* The first j with the largest (up_i - low_j)^2 / (K_ii + K_jj - 2 K_ij) among those with
     * low_j < up_i.  up_i, low_j: values; reach > 0: the size of the larger violations, to within
     * many powers of ten; diag: of the row type.  Gains of f32 rows may be compared in float. */
    kc_second (*pick)(const double *grad, const double *low, const void *row_i, const void *diag,
                      size_t n, double up_i, double reach, double diag_i);

    /* out = grad - sum over r, in order, of delta[r] * rows[r]; out may be grad. */
    void (*sweep)(const double *grad, double *out, const void *const *rows, const double *delta,
                  size_t n_rows, size_t n);
} kc_smo_row_ops;

typedef struct kc_smo_ops {
    kc_peak (*scan)(const double *grad, const double *up, const double *low, size_t n);
    kc_smo_row_ops f32, f64;
} kc_smo_ops;

extern const kc_smo_ops kc_smo_ops_generic;
extern const kc_smo_ops kc_smo_ops_avx2;

/* The table of the instruction set in use. */
const kc_smo_ops *kc_smo_ops_chosen(void);

KC_INLINE const kc_smo_row_ops *kc_smo_rows(const kc_smo_ops *ops, kc_dtype dtype)
{
    return dtype == KC_F64 ? &ops->f64 : &ops->f32;
}

#endif
