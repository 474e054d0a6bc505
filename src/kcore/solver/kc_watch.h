/* What a solver looks at now and then, beside its steps: whether they still gain anything, and, for
 * hard margins, whether a margin exists at all. */
#ifndef KC_WATCH_H
#define KC_WATCH_H

#include "solver/kc_dual.h"

typedef struct kc_watch {
    const kc_dual *dual;
    double largest_diag; /* K(x, x) */
    bool is_hard;        /* some box is infinite */
    double objective;    /* the least seen, as is the violation */
    double violation;
    int32_t n_idle; /* looks in a row that saw no gain */
} kc_watch;

/* The largest |K(x, x)| of the points of a problem. */
double kc_largest_diag(const kc_dual *dual, const kc_store *store);

kc_watch kc_watch_start(const kc_dual *dual, const kc_store *store);

/* Sets *stop and returns true where it is of no use to go on.  Looks should be some n steps apart:
 * one costs a few passes over n. */
bool kc_watch_look(kc_watch *watch, const double *beta, const double *grad, double violation,
                   kc_stop *stop);

/* The minimum along the ray through beta, where boxes allow it: pair steps let beta grow slowly
 * where there is no hard margin.  Returns whether beta and grad changed. */
bool kc_watch_stretch(const kc_watch *watch, double *beta, double *grad);

#endif
