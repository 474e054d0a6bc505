/* Passes over all points of a problem, which add up the rows of those that have moved and find the
 * few worst violators of either side: on one thread, or shared by a crew.
 *
 * What they find does not depend on how they are cut into parts: every entry is summed up by
 * itself, in the order of the rows, and of equal values the one of the lower position is the
 * worse. */
#ifndef KC_SCOUT_H
#define KC_SCOUT_H

#include "base/kc_crew.h"
#include "simd/kc_smo_ops.h"
#include "solver/kc_dual.h"

/* The worst of a side that are found; sides are those of two groups: who is to rise and who to
 * fall, in turn. */
enum { KC_SCOUT_PER_SIDE = 8, KC_SCOUT_SIDES = 4, KC_SCOUT_MOST = 32 };

/* A point that has moved; a cache line, on which a thread finds all it needs. */
typedef struct kc_move {
    _Alignas(KC_ALIGN) const void *row; /* of the problem's points, in their order */
    double delta;                       /* of its coefficient */
    double up[2], low[2];               /* of its variables, now */
    int32_t at;
} kc_move;

/* The worst of a side, worst first; values with the sign that makes the worst the highest. */
typedef struct kc_worst {
    double value[KC_SCOUT_PER_SIDE];
    int32_t at[KC_SCOUT_PER_SIDE];
    size_t n;
} kc_worst;

/* Arrays as in simd/kc_smo_ops.h.  The caller fills grad, up and low, and may exchange grad for
 * another array, between two passes. */
typedef struct kc_scout {
    size_t n;
    int32_t n_groups;
    double *grad, *up[2], *low[2]; /* padded */
    size_t value_bytes;            /* of the rows */
    kc_sweep_fn *sweep;
    kc_survey_fn *survey;
    size_t lead_points, part_points;    /* of the crew's parts: the first, each other one */
    int32_t *listed_at[KC_SCOUT_SIDES]; /* by each part, from where it begins */
    double *listed_value[KC_SCOUT_SIDES];

    /* What changes with every pass; on other cache lines than what all threads read. */
    _Alignas(KC_ALIGN) kc_peak peak[2];
    double reach[KC_SCOUT_SIDES]; /* how far down lists go, as a share of the violation */
    kc_crew crew;
    kc_move moves[KC_SCOUT_MOST];
    struct {
        _Alignas(KC_ALIGN) kc_worst of[KC_SCOUT_SIDES];
    } worst[KC_CREW_MOST]; /* of each part */
} kc_scout;

/* Memory of the call; fills the padding. */
kc_status kc_scout_create(kc_call *call, size_t n, int32_t n_groups, kc_dtype rows, kc_scout *out);

/* To be called before passes, and kc_crew_dismiss(&scout->crew) after them.  is_alone: no others.
 */
void kc_scout_hire(kc_scout *scout, kc_call *call, bool is_alone);

/* A pass for the first n_moves of scout->moves: the gradient, up and low, peaks and the worst. */
void kc_scout_run(kc_scout *scout, size_t n_moves);

/* Distinct points: the worst of all sides, those of every group's worst pair among them; returns
 * how many.  Once after each pass. */
size_t kc_scout_members(kc_scout *scout, size_t *members);

#endif
