/* Which points are idle: see solver/kc_shrink.h. */
#ifndef KC_IDLE_H
#define KC_IDLE_H

#include "solver/kc_dual.h"

typedef struct kc_idle {
    size_t n_active;  /* points that are not idle */
    double violation; /* the largest of all groups */
} kc_idle;

/* By beta and its gradient; active has room for all positions and gets those that are not idle,
 * ascending.  NULL: they are only counted. */
kc_idle kc_idle_find(const kc_dual *dual, const double *beta, const double *grad, int32_t *active);

/* Whether so few are active that they are worth a problem of their own. */
bool kc_idle_is_narrow(const kc_idle *idle, size_t n_points);

#endif
