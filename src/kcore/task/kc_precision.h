/* f32 or f64 kernel values for a fit, where the caller leaves it open. */
#ifndef KC_PRECISION_H
#define KC_PRECISION_H

#include "kernel/kc_kernel.h"
#include "task/kc_samples.h"

/* Up to here f64 costs next to nothing. */
#define KC_PRECISION_SMALL 2048

/* A bound for the sum of |beta| in any one problem of the fit. */
double kc_precision_load(const kc_svm_settings *settings, const kc_samples *samples);

/* About how far an f32 kernel value can be off, for points with x.x <= max_norm and d features. */
double kc_precision_error(const kc_kernel *kernel, double max_norm, size_t d);

/* Whether errors of f32 kernel values could move a decision value by more than tol / 4. */
bool kc_precision_needs_f64(const kc_svm_settings *settings, const kc_kernel *kernel,
                            const kc_packed *points, double load);

#endif
