/* The problems that a fit is made of, over samples sorted by class: one alone, one for each pair of
 * classes, or one for each class against the rest. */
#ifndef KC_PROBLEMS_H
#define KC_PROBLEMS_H

#include "rows/kc_store.h"
#include "task/kc_samples.h"

/* Places begin .. end - 1 of one problem, one after the other: they have the label y, and their
 * coefficients are in row coef_row. */
typedef struct kc_problem_run {
    size_t begin, end;
    double y;
    size_t coef_row;
} kc_problem_run;

typedef struct kc_problem {
    kc_cols cols;
    size_t n; /* positions: those of the runs in order */
    kc_problem_run runs[3];
    size_t n_runs;
    char name[64]; /* how messages begin: "classes 0 and 3: ", or "" */
} kc_problem;

/* Problem `index` of kc_problem_count(). */
void kc_problem_make(const kc_samples *samples, int32_t multiclass, size_t index, kc_problem *out);

/* y of every position. */
void kc_problem_labels(const kc_problem *problem, double *y);

/* The entries of an array by place, by position. */
void kc_problem_gather(const kc_problem *problem, const double *by_place, double *out);

/* Coefficients by position, from and to a matrix with n columns, one for each place.  From: column
 * order[place] of a matrix with one column for each sample. */
void kc_problem_store(const kc_problem *problem, const double *coef, size_t n, double *matrix);
void kc_problem_load(const kc_problem *problem, const double *matrix, size_t n_all,
                     const int32_t *order, double *coef);

#endif
