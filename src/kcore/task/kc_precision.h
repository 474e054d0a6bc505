/* f32 or f64 kernel values for a fit, where the caller leaves it open: f32 is tried where it may
 * do, and its effect on the solution is measured. */
#ifndef KC_PRECISION_H
#define KC_PRECISION_H

#include "kernel/kc_plan.h"
#include "kernel/kc_prepare.h"
#include "solver/kc_dual.h"
#include "task/kc_samples.h"

/* Up to here f64 costs no more than trying f32 and looking whether it did. */
#define KC_PRECISION_SMALL 600

/* Whether f32 is worth a try: with errors of one rounding, and few variables at their bounds, it
 * would do, or could be mended (kc_refine.h). */
bool kc_precision_may_do(const kc_svm_settings *settings, const kc_samples *samples);

/* What the errors of f32 kernel values did to a solution. */
typedef struct kc_precision_audit {
    const kc_kernel *kernel;
    const kc_points *x;   /* the caller's */
    const int32_t *order; /* point of the store -> row of x */
    kc_store *store;      /* of f32 values */
    const kc_dual *dual;  /* ... and a problem over it, solved */
    const double *beta;
    size_t n_problems; /* that are measured like this one: some samples of each will do */
} kc_precision_audit;

/* The largest difference of a decision value, sum of beta K, between the store's kernel values and
 * those of the caller's samples in f64, over some samples spread over the problem. */
kc_status kc_precision_measure(kc_call *call, const kc_precision_audit *audit, double *worst);

/* The caller's samples behind points of the store, in f64. */
kc_status kc_precision_pack(kc_call *call, const kc_precision_audit *audit, const int32_t *points,
                            size_t n, kc_packed *out);

/* Whether such a difference leaves a result to `tol` alone, and whether refining may do:
 * kc_refine.h. */
bool kc_precision_suffices(double tol, double worst);
bool kc_precision_is_mendable(double tol, double worst);

#endif
