/* The loops of the linear learners: a weight vector of doubles against samples of either type,
 * dense or sparse.
 *
 * Weights are doubles whatever the samples are: a perceptron adds many samples to one vector.  A
 * product is made of partial sums that are added up in a fixed order, the same in every loop, so it
 * depends on its operands alone. */
#ifndef KC_LINEAR_OPS_H
#define KC_LINEAR_OPS_H

#include "base/kc_base.h"
#include "base/kc_isa.h"

/* Samples in rows, runs of d numbers or runs of (column, value), and their classes. */
typedef struct kc_linear_samples {
    const char *values;     /* dense: row 0; sparse: all values, NULL where all are 1 */
    int64_t row_bytes;      /* dense: from one row to the next */
    size_t d;               /* columns */
    const int64_t *indptr;  /* sparse: where each row begins, and where the last one ends; dense:
                               NULL */
    const int32_t *cols;    /* sparse: of each value, in 0 .. d - 1, in any order */
    const int32_t *classes; /* z = +1 for the class `positive`, -1 for all others */
    int32_t positive;
    const int32_t *order; /* the sample at each place; NULL: 0, 1, 2, ... */
} kc_linear_samples;

/* One weight vector that the fixed-increment rule corrects, and what is kept of the corrections. */
typedef struct kc_linear_learner {
    double margin, eta;
    const double *sample_weights; /* NULL: all 1 */
    bool has_intercept;
    double *a;                 /* d weights */
    double b;                  /* the intercept */
    double *time_weighted_a;   /* NULL, or d sums of step number times step */
    double time_weighted_b;    /* the same for the intercept */
    int64_t n_before;          /* the sample at place p is step n_before + p + 1 */
    kc_perceptron_update *log; /* NULL, or where the next correction goes */
    int64_t n_mistakes;
    double criterion; /* sum of weight (margin - a.y) over the mistakes */
} kc_linear_learner;

typedef struct kc_linear_ops {
    /* a.x, x.x, and a += s x */
    double (*dot)(const double *a, const void *x, size_t d);
    double (*square)(const void *x, size_t d);
    void (*add)(double *a, double s, const void *x, size_t d);

    /* a.x + b, by the chain of scan and learn. */
    double (*value)(const double *a, double b, const void *x, size_t d);

    /* The same for a sparse sample of nnz values. */
    double (*sparse_value)(const double *a, double b, const int32_t *cols, const void *vals,
                           size_t nnz);
    void (*sparse_add)(double *a, double s, const int32_t *cols, const void *vals, size_t nnz);

    /* Whether all of n values are 1. */
    bool (*are_ones)(const void *vals, size_t n);

    /* The first place in begin .. end - 1 whose sample has not z (a.x + b) > margin, and that
     * value; `end` where there is none. */
    size_t (*scan)(const kc_linear_samples *samples, const double *a, double b, double margin,
                   size_t begin, size_t end, double *value);

    /* Looks at begin .. end - 1 in turn and corrects every mistake.  Returns `end`, or the place
     * where the value is not a number. */
    size_t (*learn)(const kc_linear_samples *samples, kc_linear_learner *l, size_t begin,
                    size_t end);
} kc_linear_ops;

typedef struct kc_linear_table {
    kc_linear_ops f32, f64;
} kc_linear_table;

extern const kc_linear_table kc_linear_generic;
extern const kc_linear_table kc_linear_avx2;
extern const kc_linear_table kc_linear_avx512;

/* Of an instruction set; NULL where it is not compiled in. */
const kc_linear_table *kc_linear_table_of(kc_isa isa);

/* Of the one in use. */
const kc_linear_ops *kc_linear_ops_of(kc_dtype dtype);

#endif
