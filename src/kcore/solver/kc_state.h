/* Where the solution of one dual problem stands: what every method starts from and leaves behind.
 *
 * The solution is whole whenever no method runs: beta is feasible, grad is its gradient, up and low
 * say where its variables can go.  A method that is stopped half-way leaves what was before its
 * last step, or, where time is over, variables without a gradient of their own: kc_dual_solve
 * computes it. */
#ifndef KC_STATE_H
#define KC_STATE_H

#include "simd/kc_smo_ops.h"
#include "solver/kc_dual.h"
#include "solver/kc_tuning.h"

/* One method after the other, as they ran. */
enum { KC_MAX_STAGES = 4 };

typedef struct kc_stage {
    kc_method method;
    bool is_shrunk;
    int64_t count; /* working sets, or greedy rounds */
} kc_stage;

typedef struct kc_state {
    kc_call *call;
    kc_store *store; /* where rows come from: the problem's, or its whole matrix */
    kc_dual dual;    /* the problem; its columns are those of that store */
    const kc_tuning *tuning;
    double scale;    /* of the solution as it was read last: solver/kc_scale.h; mostly 1 */
    double tol;      /* of the dual, times the scale: what violations of grad are held against */
    bool has_margin; /* scaled problems: it is known that the solution has one */
    int64_t plain_steps; /* scaled problems: steps after which tol was met without the scale, for a
                            kernel with values up to 1; -1: it was not yet */
    double largest_diag; /* |K(x, x)| */
    bool is_hard;        /* some box is infinite */
    bool is_tube;        /* ... on both sides: a regression without errors beyond epsilon */

    double *beta;             /* n_layers * n_points */
    double *grad, *next_grad; /* padded: simd/kc_smo_ops.h; the second is workspace */
    double *up[2], *low[2];   /* padded: what is added to grad for a variable to rise, to fall */
    kc_stop stop;             /* of the method that ran last */
    int64_t n_steps;          /* on two variables, or Newton's */
    int64_t n_sets, n_rounds; /* working sets; greedy rounds */
    int64_t n_visits;         /* rows that updated the gradient */
    double fresh_size;        /* sum of |beta| when the gradient was computed from all rows last */
    double fresh_length;      /* ... and of |beta| |x| */
    kc_stage stages[KC_MAX_STAGES]; /* the first ones */
    int32_t n_stages;

    /* The whole matrix, once pair steps have asked for it: row p at gram + p * ld entries. */
    const void *gram;
    size_t ld;
    kc_store *matrix; /* made of it; NULL: none, or given by the caller */
    kc_store *source; /* what `store` was before */
    kc_cols source_cols;
} kc_state;

/* For a feasible beta, which stays where it is; its gradient is not known yet.  Memory of the call.
 */
kc_status kc_state_open(kc_call *call, kc_store *store, const kc_dual *dual,
                        const kc_tuning *tuning, double *beta, kc_state *out);

/* Gives up the matrix, if there is one. */
void kc_state_close(kc_state *s);

/* Takes the whole matrix of the problem where the store has it, or room for it; else gram stays
 * NULL, and rows come through the store. */
kc_status kc_state_take_matrix(kc_state *s);

/* The gradient from nothing: as many rows as beta has nonzeros.  Untouched on failure. */
kc_status kc_state_freshen(kc_state *s);

/* By what a coefficient of 1 moves values of the gradient at samples of length 1, at the most: |x|.
 */
double kc_state_length_at(const kc_state *s, size_t p);

/* next_grad has become the gradient. */
KC_INLINE void kc_state_swap(kc_state *s)
{
    double *grad = s->grad;

    s->grad = s->next_grad;
    s->next_grad = grad;
}

/* up and low from beta. */
void kc_state_refresh(kc_state *s);

KC_INLINE void kc_state_refresh_at(kc_state *s, size_t p)
{
    for (int32_t g = 0; g < s->dual.n_layers; g++) {
        const size_t v = (size_t)g * s->dual.n_points + p;

        s->up[g][p] = kc_rise(s->dual.epsilon, s->beta[v], s->dual.hi[v]);
        s->low[g][p] = kc_fall(s->dual.epsilon, s->beta[v], s->dual.lo[v]);
    }
}

/* Where there is a time limit: sets time aside for the gradient at the end, of a solution with so
 * many support vectors.  To be called whenever they may have become more, before a poll. */
void kc_state_reserve(const kc_state *s, size_t n_support);

/* How many points have a coefficient. */
size_t kc_state_count_support(const kc_state *s);

/* Tells the caller how far it has come, at the next poll. */
void kc_state_tell(const kc_state *s, double objective, double violation);

/* ---- Ends that are no optimum -------------------------------------------------------------- */

/* What is looked at now and then, beside the steps: whether they still gain anything, and, for hard
 * margins and hard tubes, whether one exists at all. */
typedef struct kc_stall {
    double objective; /* the least seen, as is the violation */
    double violation;
    int32_t n_gainless; /* looks in a row that saw no gain */
} kc_stall;

kc_stall kc_stall_start(void);

/* Whether it is of no use to go on; sets s->stop then.  Looks should be some n steps apart: one
 * costs a few passes over n. */
bool kc_stall_look(kc_stall *stall, kc_state *s, double violation);

/* The minimum along the ray through beta, where boxes allow it: pair steps let beta grow slowly
 * where there is no hard margin or tube.  Returns whether beta and its gradient changed. */
bool kc_state_scale_along_ray(kc_state *s);

#endif
