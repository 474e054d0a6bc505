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
 * grad, up and low are arrays of the table's lanes: doubles, or floats for steps whose gradient is
 * computed anew afterwards.  They and `diag` have room for kc_round_up(n, KC_SMO_PAD) entries:
 * beyond n, up = -infinity, low = +infinity, and grad and diag are finite.  Rows have n entries and
 * are not read beyond.  Nothing needs alignment.  Ties go to the lowest index. */
#ifndef KC_SMO_OPS_H
#define KC_SMO_OPS_H

#include "base/kc_base.h"
#include "base/kc_isa.h"

#define KC_SMO_PAD 16

/* The loops remember the block of so many entries that raised an extreme, and search it once at the
 * end: this saves a compare and a blend per vector, and the first index wins by itself. */
#define KC_SMO_BLOCK 64

/* How far ahead of where they are the loops ask for a row, in bytes. */
#define KC_SMO_AHEAD 4096

/* Stands for curvatures below it (duplicates, kernels that are not definite). */
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

/* The most violating of every KC_SMO_WAYS-th variable, counted from each of the first; of equal
 * ones the first.  Indices are whole numbers; 0 where there is none. */
#define KC_SMO_WAYS 16

typedef struct kc_survey {
    _Alignas(KC_ALIGN) double max_up[KC_SMO_WAYS], min_low[KC_SMO_WAYS]; /* as in kc_peak */
    double max_up_at[KC_SMO_WAYS], min_low_at[KC_SMO_WAYS];
} kc_survey;

/* The loops of a step, for lanes and rows of one type each. */
typedef struct kc_smo_step_ops {
    kc_peak (*scan)(const void *grad, const void *up, const void *low, size_t n);

    /* grad -= d (row_i - row_j) */
    void (*shift)(void *grad, const void *row_i, const void *row_j, double d, size_t n);

    /* shift, and the top of the new gradient. */
    kc_top (*move)(void *grad, const void *row_i, const void *row_j, double d, const void *up,
                   size_t n);

    /* The first j with the largest (up_i - low_j)^2 / (K_ii + K_jj - 2 K_ij) among those with
     * low_j < up_i.  up_i, low_j: values; reach > 0: the size of the larger violations, to within
     * many powers of ten; diag: of the row type.  Gains of f32 rows may be compared in float.
     * Gains are compared by products, b^2 with the best gain times a: most blocks divide nothing.
     */
    kc_second (*pick)(const void *grad, const void *low, const void *row_i, const void *diag,
                      size_t n, double up_i, double reach, double diag_i);
} kc_smo_step_ops;

/* Of variables begin .. end - 1, lanes of doubles; begin is a multiple of KC_SMO_WAYS. */
typedef void kc_survey_fn(const double *grad, const double *up, const double *low, size_t begin,
                          size_t end, kc_survey *out);

/* out = grad - sum over r, in order, of delta[r] * rows[r]; out may be grad. */
typedef void kc_sweep_fn(const double *grad, double *out, const void *const *rows,
                         const double *delta, size_t n_rows, size_t n);

/* The same for n sparse rows against weights: out = grad less the sum over the entries of each. The
 * bits are those of a sweep over all columns, to which the missing ones would add nothing. */
typedef void kc_sweep_sparse_fn(const double *grad, double *out, const int64_t *indptr,
                                const int32_t *cols, const void *vals, const double *weights,
                                size_t n);

typedef struct kc_smo_ops {
    kc_smo_step_ops f32, f64; /* rows of this type, lanes of doubles */
    kc_smo_step_ops single;   /* rows and lanes of floats */
    kc_survey_fn *survey;
    kc_sweep_fn *sweep_f32, *sweep_f64;
    kc_sweep_sparse_fn *sweep_sparse_f32, *sweep_sparse_f64;
} kc_smo_ops;

extern const kc_smo_ops kc_smo_ops_generic;
extern const kc_smo_ops kc_smo_ops_avx2;
extern const kc_smo_ops kc_smo_ops_avx512;

/* Of an instruction set; NULL where it is not compiled in. */
const kc_smo_ops *kc_smo_table_of(kc_isa isa);

/* Of the one in use. */
const kc_smo_ops *kc_smo_ops_chosen(void);

/* For lanes of doubles. */
KC_INLINE const kc_smo_step_ops *kc_smo_steps(const kc_smo_ops *ops, kc_dtype rows)
{
    return rows == KC_F64 ? &ops->f64 : &ops->f32;
}

KC_INLINE kc_sweep_fn *kc_smo_sweep(kc_dtype rows)
{
    const kc_smo_ops *ops = kc_smo_ops_chosen();

    return rows == KC_F64 ? ops->sweep_f64 : ops->sweep_f32;
}

KC_INLINE kc_sweep_sparse_fn *kc_smo_sweep_sparse(kc_dtype rows)
{
    const kc_smo_ops *ops = kc_smo_ops_chosen();

    return rows == KC_F64 ? ops->sweep_sparse_f64 : ops->sweep_sparse_f32;
}

#endif
