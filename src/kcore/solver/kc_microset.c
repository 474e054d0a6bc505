/* The worst few.  See kc_microset.h. */
#include "solver/kc_microset.h"

#include <math.h>
#include <string.h>

enum { MAX_MEMBERS = KC_SCAN_MAX };

/* The matrix, if rows of it are runs of the problem's points: through w, sums are others. */
static void find_matrix(kc_microset *h)
{
    const kc_store *store = h->state->store;
    const kc_cols *cols = &h->state->dual.cols;
    const char *gram = kc_store_matrix(store, &h->ld);

    if (gram == NULL || cols->n_spans == 2 || kc_store_is_linear(store))
        return;
    h->gram = gram + cols->span[0].begin * (h->ld + 1) * kc_dtype_bytes(kc_store_dtype(store));
}

kc_status kc_microset_create(const kc_state *state, kc_microset *out)
{
    const size_t n = state->dual.n_points;

    *out = (kc_microset){.state = state,
                         .n_steps = state->n_steps,
                         .objective = kc_dual_objective(&state->dual, state->beta, state->grad),
                         .over = state->tuning->greedy.over_first,
                         .sense = kc_call_take(state->call, n, sizeof *out->sense)};
    if (out->sense == NULL)
        return kc_fail_nomem(state->call->err);
    memset(out->sense, 0, n * sizeof *out->sense);
    find_matrix(out);
    return KC_OK;
}

/* ---- The problem of the members ------------------------------------------------------------ */

static size_t member(const kc_microset *h, size_t k)
{
    return (size_t)h->members[k].at;
}

/* Where the matrix has the value of a and b. */
static const char *value_of(const kc_microset *h, size_t a, size_t b)
{
    return h->gram + (a * h->ld + b) * kc_dtype_bytes(kc_store_dtype(h->state->store));
}

/* Values among the members, and of those pending against them, out of the matrix: all are asked for
 * before the first is read. */
static void pick_values(kc_microset *h, const kc_step_set *pending)
{
    const size_t bytes = kc_dtype_bytes(kc_store_dtype(h->state->store));
    const size_t n = h->n;
    char *out = (char *)h->values;
    char *cross = (char *)h->cross;

    for (size_t a = 0; a < n; a++)
        for (size_t b = a; b < n; b++)
            __builtin_prefetch(value_of(h, member(h, a), member(h, b)));
    for (size_t k = 0; k < pending->n; k++)
        for (size_t b = 0; b < n; b++)
            __builtin_prefetch(value_of(h, (size_t)pending->moves[k].at, member(h, b)));
    for (size_t a = 0; a < n; a++)
        for (size_t b = a; b < n; b++) {
            const char *value = value_of(h, member(h, a), member(h, b));
            memcpy(out + (a * MAX_MEMBERS + b) * bytes, value, bytes);
            memcpy(out + (b * MAX_MEMBERS + a) * bytes, value, bytes);
        }
    for (size_t k = 0; k < pending->n; k++)
        for (size_t b = 0; b < n; b++)
            memcpy(cross + (k * MAX_MEMBERS + b) * bytes,
                   value_of(h, (size_t)pending->moves[k].at, member(h, b)), bytes);
}

static kc_status gather_values(kc_microset *h, const kc_step_set *pending)
{
    const kc_state *state = h->state;
    int32_t points[MAX_MEMBERS];
    int32_t others[MAX_MEMBERS];

    if (h->gram != NULL) {
        pick_values(h, pending);
        return KC_OK;
    }
    for (size_t k = 0; k < h->n; k++)
        points[k] = (int32_t)kc_cols_point(&state->dual.cols, member(h, k));
    for (size_t k = 0; k < pending->n; k++)
        others[k] = (int32_t)kc_cols_point(&state->dual.cols, (size_t)pending->moves[k].at);
    KC_TRY(kc_store_gather(state->call, state->store, points, h->n, points, h->n, h->values,
                           MAX_MEMBERS));
    if (pending->n == 0)
        return KC_OK;
    return kc_store_gather(state->call, state->store, others, pending->n, points, h->n, h->cross,
                           MAX_MEMBERS);
}

/* The gradient at a member, before what is pending: its value, less what was added to that. */
static double member_grad(const kc_microset *h, size_t k)
{
    const kc_violator *m = &h->members[k];
    const kc_dual *dual = &h->state->dual;
    const size_t v = (size_t)(m->side / 2) * dual->n_points + (size_t)m->at;
    const double beta = h->state->beta[v];

    return m->value - (m->side % 2 == 0 ? kc_rise(dual->epsilon, beta, dual->hi[v])
                                        : kc_fall(dual->epsilon, beta, dual->lo[v]));
}

static void load(kc_microset *h, const kc_step_set *pending)
{
    const kc_dual *dual = &h->state->dual;
    const kc_dtype dtype = kc_store_dtype(h->state->store);
    const size_t bytes = kc_dtype_bytes(dtype);

    h->pairs = (kc_pairs){.tuning = h->state->tuning,
                          .n = h->n,
                          .n_layers = dual->n_layers,
                          .epsilon = dual->epsilon,
                          .over = h->over,
                          .exact_below = h->state->tuning->pairs.exact_tols * h->state->tol,
                          .lanes = KC_F64,
                          .grad = h->grad,
                          .dtype = dtype,
                          .diag = h->diag,
                          .gram = h->values,
                          .ld = MAX_MEMBERS,
                          .scale = h->state->scale,
                          .n_steps = h->n_steps,
                          .objective = h->objective};
    for (int32_t g = 0; g < dual->n_layers; g++) {
        h->pairs.beta[g] = h->inner_beta[g];
        h->pairs.lo[g] = h->lo[g];
        h->pairs.hi[g] = h->hi[g];
        h->pairs.up[g] = h->up[g];
        h->pairs.low[g] = h->low[g];
    }
    for (size_t k = 0; k < h->n; k++) {
        h->grad[k] = member_grad(h, k);
        for (size_t i = 0; i < pending->n; i++)
            h->grad[k] -=
                pending->moves[i].delta * kc_number_at(h->cross, i * MAX_MEMBERS + k, dtype);
        memcpy((char *)h->diag + k * bytes, (const char *)h->values + k * (MAX_MEMBERS + 1) * bytes,
               bytes);
        for (int32_t g = 0; g < dual->n_layers; g++) {
            size_t v = (size_t)g * dual->n_points + member(h, k);
            h->inner_beta[g][k] = h->state->beta[v];
            h->lo[g][k] = dual->lo[v];
            h->hi[g][k] = dual->hi[v];
        }
    }
    kc_pairs_start(&h->pairs, h->grad);
}

/* ---- What comes of it ---------------------------------------------------------------------- */

/* The members that have moved, and how. */
static void list_moves(const kc_microset *h, kc_step_set *out)
{
    const kc_dual *dual = &h->state->dual;

    for (size_t k = 0; k < h->n; k++) {
        const size_t p = member(h, k);
        bool has_moved = false;
        kc_move m = {.at = (int32_t)p, .row = h->gram != NULL ? value_of(h, p, 0) : NULL};
        for (int32_t g = 0; g < dual->n_layers; g++) {
            double before = h->state->beta[(size_t)g * dual->n_points + p];
            has_moved |= h->inner_beta[g][k] != before;
            m.delta += h->inner_beta[g][k] - before;
            m.up[g] = h->up[g][k];
            m.low[g] = h->low[g][k];
            out->beta[g][out->n] = h->inner_beta[g][k];
        }
        out->moves[out->n] = m;
        out->n += has_moved;
    }
}

/* The fewest visits of rows are needed where a certain share of moves turns back. */
static void tune(kc_microset *h, const kc_step_set *b)
{
    const kc_greedy_tuning *tuning = &h->state->tuning->greedy;

    for (size_t k = 0; k < b->n; k++) {
        int8_t *sense = &h->sense[b->moves[k].at];
        const int8_t now = (int8_t)(b->moves[k].delta > 0 ? 1 : -1);
        h->n_again += *sense != 0;
        h->n_turned += *sense == -now;
        *sense = now;
    }
    if (h->n_again * tuning->looks_per_point <= (int64_t)h->state->dual.n_points)
        return;
    const double share = (double)h->n_turned / (double)h->n_again;
    h->over += tuning->over_gain * (tuning->turns_share - share);
    h->over = kc_lower(kc_higher(h->over, tuning->over_min), tuning->over_max);
    h->n_again = h->n_turned = 0;
}

kc_status kc_microset_solve(kc_microset *h, const kc_step_set *pending, int64_t last_step,
                            kc_step_set *out)
{
    const kc_greedy_tuning *tuning = &h->state->tuning->greedy;
    const int64_t left = last_step - h->n_steps;
    const int64_t limit = tuning->inner_steps_per_member * (int64_t)h->n;
    int32_t g;
    kc_stop stop;

    out->n = 0;
    out->n_steps = h->n_steps;
    if (h->n < 2)
        return KC_OK;
    KC_TRY(gather_values(h, pending));
    load(h, pending);
    const double tol = fmax(tuning->inner_tol_share * h->state->tol,
                            tuning->inner_share * kc_pairs_violation(&h->pairs, &g));
    KC_TRY(kc_pairs_run(h->state->call, &h->pairs, tol, left < limit ? left : limit, &stop));
    out->n_steps = h->n_steps = h->pairs.n_steps;
    h->objective = h->pairs.objective;
    list_moves(h, out);
    tune(h, out);
    return KC_OK;
}
