/* The worst few variables of a problem, and pair steps among them alone: what a round of
 * solver/kc_greedy.c finds.
 *
 * Steps go beyond the minimum of their line, as in successive over-relaxation, by a factor that is
 * tuned to the problem: where a variable that moves again mostly moves on, steps were too short,
 * and where it mostly turns back, too long. */
#ifndef KC_MICROSET_H
#define KC_MICROSET_H

#include "solver/kc_pairs.h"
#include "solver/kc_state.h"
#include "solver/kc_violator_scan.h"

/* Moves whose rows are to be added to the gradient, or are being so, and where the variables of
 * each will then be. */
typedef struct kc_step_set {
    size_t n;
    int64_t n_steps; /* up to those that led to it */
    double beta[2][KC_SCAN_MAX];
    kc_move moves[KC_SCAN_MAX];
} kc_step_set;

typedef struct kc_microset {
    const kc_state *state;
    const char *gram; /* rows of the problem's points; NULL where the store has no such matrix */
    size_t ld;
    int64_t n_steps;  /* so far, and those of before */
    double objective; /* after the last of them */

    /* Its members: to be filled before it is solved. */
    size_t n;
    kc_violator members[KC_SCAN_MAX];

    /* Their problem; arrays of kc_pairs. */
    kc_pairs pairs;
    double grad[KC_SCAN_MAX], diag[KC_SCAN_MAX];
    double inner_beta[2][KC_SCAN_MAX], lo[2][KC_SCAN_MAX], hi[2][KC_SCAN_MAX];
    double up[2][KC_SCAN_MAX], low[2][KC_SCAN_MAX];
    double values[KC_SCAN_MAX * KC_SCAN_MAX]; /* of the type of the rows */
    double cross[KC_SCAN_MAX * KC_SCAN_MAX];  /* so too: a row for each that is pending */

    /* Over-relaxation. */
    double over;
    int8_t *sense;             /* of the last move of every point: 1, -1, or 0 for none */
    int64_t n_turned, n_again; /* moves since the last look at them */
} kc_microset;

/* For a problem as it stands.  Memory of the call. */
kc_status kc_microset_create(const kc_state *state, kc_microset *out);

/* Steps until a share of the members' violation is left, or n_steps are last_step; out: the
 * variables that moved. Values of members are of the gradient before the moves of `pending`, beta
 * is that as well; none of them is pending. */
kc_status kc_microset_solve(kc_microset *microset, const kc_step_set *pending, int64_t last_step,
                            kc_step_set *out);

#endif
