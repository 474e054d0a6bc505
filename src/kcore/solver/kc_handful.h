/* A handful of variables, the worst of a problem, and pair steps among them alone: what a round of
 * solver/kc_greedy.c finds.
 *
 * Steps go beyond the minimum of their line, as in successive over-relaxation, by a factor that is
 * tuned to the problem: where a variable that moves again mostly moves on, steps were too short,
 * and where it mostly turns back, too long. */
#ifndef KC_HANDFUL_H
#define KC_HANDFUL_H

#include "solver/kc_pairs.h"
#include "solver/kc_scout.h"
#include "solver/kc_state.h"

/* Moves whose rows are to be added to the gradient, or are being so, and where the variables of
 * each will then be. */
typedef struct kc_batch {
    size_t n;
    int64_t n_steps; /* up to those that led to it */
    double beta[2][KC_SCOUT_MOST];
    kc_move moves[KC_SCOUT_MOST];
} kc_batch;

typedef struct kc_handful {
    const kc_state *state;
    const char *gram; /* rows of the problem's points; NULL where the store has no such matrix */
    size_t ld;
    int64_t n_steps;  /* so far, and those of before */
    double objective; /* after the last of them */

    /* Who is in it: to be filled before it is solved. */
    size_t n;
    kc_violator members[KC_SCOUT_MOST];

    /* Their problem; arrays of kc_pairs. */
    kc_pairs pairs;
    double grad[KC_SCOUT_MOST], diag[KC_SCOUT_MOST];
    double inner_beta[2][KC_SCOUT_MOST], lo[2][KC_SCOUT_MOST], hi[2][KC_SCOUT_MOST];
    double up[2][KC_SCOUT_MOST], low[2][KC_SCOUT_MOST];
    double values[KC_SCOUT_MOST * KC_SCOUT_MOST]; /* of the type of the rows */
    double cross[KC_SCOUT_MOST * KC_SCOUT_MOST];  /* so too: a row for each that is pending */

    /* Over-relaxation. */
    double over;
    int8_t *sense;             /* of the last move of every point: 1, -1, or 0 for none */
    int64_t n_turned, n_again; /* moves since the last look at them */
} kc_handful;

/* For a problem as it stands.  Memory of the call. */
kc_status kc_handful_create(const kc_state *state, kc_handful *out);

/* Steps until a share of the members' violation is left, or n_steps are last_step: who has moved.
 * Values of members are of the gradient before the moves of `pending`, beta is that as well; none
 * of them is pending. */
kc_status kc_handful_solve(kc_handful *handful, const kc_batch *pending, int64_t last_step,
                           kc_batch *out);

#endif
