/* A solution found with f32 kernel values is mended with f64 ones: of those rows and columns alone
 * that can matter, which are few. */
#ifndef KC_REFINE_H
#define KC_REFINE_H

#include "task/kc_precision.h"

/* Goes on from a solution that converged, and whose decision values the audit found to be off by
 * `worst`, until another audit finds no more than rounding that leaves the result alone.
 *
 * *is_mended: it did; the solution is then that of the problem in f64, certificate included.  Else
 * it is left where it got to, or where the limit ended it (solution->stop). */
kc_status kc_refine(kc_call *call, const kc_precision_audit *audit, double worst,
                    kc_solution *solution, bool *is_mended);

#endif
