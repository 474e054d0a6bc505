/* Passes over all points of a problem, which add up the rows of those that have moved and find the
 * worst violators of either side: on one thread, or shared by a team.  While a pass is under way,
 * the caller can think of the next one.
 *
 * The worst are those of KC_SMO_WAYS classes, every so many points: the very worst is among them,
 * and one of the next few is as good as another.  So what passes find does not depend on how they
 * are cut into parts; every entry is summed up by itself, in the order of the rows. */
#ifndef KC_VIOLATOR_SCAN_H
#define KC_VIOLATOR_SCAN_H

#include "base/kc_spin_team.h"
#include "simd/kc_smo_ops.h"
#include "solver/kc_state.h"

/* Of a side, so many are taken at the most; a group has two sides, variables
 * that are to rise and variables that are to fall. */
enum { KC_SCAN_TAKEN = 8, KC_SCAN_SIDES = 4, KC_SCAN_MAX = 32 };

/* A point that has moved; a cache line, on which a thread finds all it needs. */
typedef struct kc_move {
    _Alignas(KC_ALIGN) const void *row; /* of the problem's points, in their order */
    double delta;                       /* of its coefficient */
    double up[2], low[2];               /* of its variables, now */
    int32_t at;
} kc_move;

/* One of the worst: an up-value of its group, or a low-value. */
typedef struct kc_violator {
    double value;
    int32_t at;
    int32_t side;
} kc_violator;

/* Reads and writes grad, up and low of a state, which the caller may change, and exchange, while no
 * pass is under way. */
typedef struct kc_scan {
    kc_state *state;
    size_t n;
    int32_t n_layers;
    size_t value_bytes; /* of the rows */
    kc_sweep_fn *sweep;
    kc_survey_fn *survey;
    size_t lead_points, part_points; /* of the team's parts: the first, each other one */

    /* What changes with every pass; on other cache lines than what all threads read. */
    _Alignas(KC_ALIGN) uint32_t n_begun, n_ended; /* passes */
    kc_survey found[2];                           /* by the pass that was ended last: groups */
    kc_survey part_found[KC_SPIN_ROUNDS][KC_SPIN_MAX_PARTS][2]; /* by the last ones, in turn */
    kc_spin_team team;
} kc_scan;

void kc_scan_open(kc_state *state, kc_dtype rows, kc_scan *out);

/* To be called before passes, and kc_spin_team_close(&scan->team) after them.  is_alone: on
 * the caller's thread. */
void kc_scan_hire(kc_scan *scan, bool is_alone);

/* A pass for n moves, which are read until it is ended: the gradient, up and low, and the worst.
 * One more may be begun while one is under way. */
void kc_scan_begin(kc_scan *scan, const kc_move *moves, size_t n_moves);
void kc_scan_end(kc_scan *scan);

/* Of the pass that was ended last: the largest violation of any group. */
double kc_scan_violation(const kc_scan *scan);

/* ... and the worst of all sides, each point once, those of `pending` left out; returns how many.
 * Where nothing is pending, the worst pair of every group is among them. */
size_t kc_scan_violators(const kc_scan *scan, const kc_move *pending, size_t n_pending,
                         kc_violator *out);

#endif
