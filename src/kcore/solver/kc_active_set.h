/* Which points still matter to a solution: the active set of shrinking.
 *
 * A point is shrinkable, and not active, where its variables are at their bounds (or at a kink) and
 * far enough from wanting to leave them: its values lie outside of the interval in which all
 * violations are, by a share of its length.  (Joachims 1999; Fan, Chen and Lin 2005, section 4.) */
#ifndef KC_ACTIVE_SET_H
#define KC_ACTIVE_SET_H

#include "solver/kc_state.h"

typedef struct kc_active_set {
    size_t n;         /* points that are not shrinkable */
    double violation; /* the largest of all groups */
} kc_active_set;

/* By beta and its gradient; positions has room for all and gets the active ones, ascending.  NULL:
 * they are only counted. */
kc_active_set kc_active_set_find(const kc_state *s, int32_t *positions);

/* Whether so few are active that they are worth a problem of their own. */
bool kc_active_set_is_worth_shrinking(const kc_shrink_tuning *tuning, const kc_active_set *active,
                                      size_t n_points);

#endif
