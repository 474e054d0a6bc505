/* Rounds of steps on one variable at a time.  See kc_coordinate.h.
 *
 * The solution is whole after each round: beta changes when the rows of the round have been added
 * to the gradient, and a round that is stopped leaves what was before it. */
#include "solver/kc_coordinate.h"

#include <math.h>
#include <string.h>

/* A candidate: a variable and by how much it violates. */
typedef struct violator {
    double violation;
    int32_t at; /* position */
} violator;

/* The members of a round by their number among them; the matrix is of the store's type. */
typedef struct coordinates {
    kc_state *state;
    const kc_coordinate_tuning *tuning;
    size_t n, n_max;
    violator *members;
    uint8_t *is_member; /* of every position */
    int32_t *points;
    double *beta, *grad, *delta;
    uint8_t *keep;
    char *gram;
    int64_t n_steps;
    bool is_unbounded; /* a variable can go on for ever */
    int64_t fresh_at;  /* visit at which the gradient was computed from the rows */
} coordinates;

/* ---- Members ------------------------------------------------------------------------------- */

static double violation_of(double grad, double up, double low)
{
    return kc_higher(grad + up, -(grad + low));
}

/* Whether a is the better one to leave out: it violates less, or as much at a later position. */
static bool is_lesser(const violator *a, const violator *b)
{
    return a->violation < b->violation || (a->violation == b->violation && a->at > b->at);
}

/* A heap whose first entry is the least of the members. */
static void sift_down(violator *heap, size_t n, violator entry)
{
    size_t at = 0;

    for (size_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_lesser(&heap[child + 1], &heap[child]))
            child++;
        if (!is_lesser(&heap[child], &entry))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void sift_up(violator *heap, size_t at, violator entry)
{
    for (; at > 0 && is_lesser(&entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
}

/* Free variables that violate join the worst, as far as there is room: a round without them undoes
 * what the last one did. */
static void add_free(coordinates *s)
{
    const kc_state *state = s->state;

    memset(s->is_member, 0, state->dual.n_points);
    for (size_t k = 0; k < s->n; k++)
        s->is_member[s->members[k].at] = 1;
    for (size_t p = 0; p < state->dual.n_points && s->n < s->n_max; p++) {
        const double violation = violation_of(state->grad[p], state->up[0][p], state->low[0][p]);

        if (state->up[0][p] == state->low[0][p] && violation > 0 && !s->is_member[p])
            s->members[s->n++] = (violator){violation, (int32_t)p};
    }
}

/* The worst violators and free variables; returns the largest violation. */
static double choose_members(coordinates *s)
{
    const kc_state *state = s->state;
    const size_t n_worst = kc_max((size_t)(s->tuning->worst_share * (double)s->n_max), 1);
    double worst = -HUGE_VAL;

    s->n = 0;
    for (size_t p = 0; p < state->dual.n_points; p++) {
        const violator entry = {violation_of(state->grad[p], state->up[0][p], state->low[0][p]),
                                (int32_t)p};

        worst = kc_higher(entry.violation, worst);
        if (!(entry.violation > 0))
            continue;
        if (s->n < n_worst)
            sift_up(s->members, s->n++, entry);
        else if (is_lesser(&s->members[0], &entry))
            sift_down(s->members, s->n, entry);
    }
    add_free(s);
    return worst;
}

static kc_status gather_members(coordinates *s)
{
    kc_state *state = s->state;

    for (size_t k = 0; k < s->n; k++) {
        const size_t p = (size_t)s->members[k].at;

        s->points[k] = (int32_t)kc_cols_point(&state->dual.cols, p);
        s->beta[k] = state->beta[p];
        s->grad[k] = state->grad[p];
    }
    return kc_store_gather(state->call, state->store, s->points, s->n, s->points, s->n, s->gram,
                           s->n);
}

/* ---- Steps --------------------------------------------------------------------------------- */

static double diag_of(const coordinates *s, size_t k)
{
    return kc_number_at(s->gram, k * (s->n + 1), kc_store_dtype(s->state->store));
}

/* The value to which a step takes variable k, which may be infinite; *gain: by how much the
 * objective falls. */
static double find_goal(const coordinates *s, size_t k, double *gain)
{
    const kc_dual *dual = &s->state->dual;
    const size_t p = (size_t)s->members[k].at;
    const double beta = s->beta[k], curvature = diag_of(s, k);
    const double up = s->grad[k] + kc_rise(dual->epsilon, beta, dual->hi[p]);
    const double low = s->grad[k] + kc_fall(dual->epsilon, beta, dual->lo[p]);
    const bool rises = up > 0;
    const double slope = rises ? up : low;
    double end = rises ? dual->hi[p] : dual->lo[p];
    double step;

    *gain = 0;
    if (!rises && !(low < 0))
        return beta;
    if (dual->epsilon > 0 && (rises ? beta < 0 : beta > 0)) /* beyond the kink the slope differs */
        end = rises ? kc_lower(end, 0) : kc_higher(end, 0);
    step = slope / curvature;
    if (!(curvature > 0) || fabs(step) >= fabs(end - beta))
        step = end - beta;
    *gain = isinf(step) ? HUGE_VAL : step * (slope - 0.5 * curvature * step);
    return step == end - beta ? end : beta + step;
}

static void move(coordinates *s, size_t k, double goal)
{
    const kc_dtype dtype = kc_store_dtype(s->state->store);
    const double step = goal - s->beta[k];

    if (dtype == KC_F64) {
        const double *row = (const double *)(const void *)s->gram + k * s->n;
        for (size_t j = 0; j < s->n; j++)
            s->grad[j] -= step * row[j];
    } else {
        const float *row = (const float *)(const void *)s->gram + k * s->n;
        for (size_t j = 0; j < s->n; j++)
            s->grad[j] -= step * (double)row[j];
    }
    s->beta[k] = goal;
    s->n_steps++;
}

/* The largest violation among the members, and the one whose step gains most. */
static double look_at_members(const coordinates *s, size_t *best, double *goal)
{
    const kc_dual *dual = &s->state->dual;
    double worst = -HUGE_VAL, most = -1;

    for (size_t k = 0; k < s->n; k++) {
        const size_t p = (size_t)s->members[k].at;
        const double up = kc_rise(dual->epsilon, s->beta[k], dual->hi[p]);
        const double low = kc_fall(dual->epsilon, s->beta[k], dual->lo[p]);
        const double violation = violation_of(s->grad[k], up, low);
        double gain;

        worst = kc_higher(violation, worst);
        if (!(violation > 0))
            continue;
        const double to = find_goal(s, k, &gain);
        if (gain > most) {
            most = gain;
            *best = k;
            *goal = to;
        }
    }
    return worst;
}

static kc_status poll(kc_state *state, double violation)
{
    if (kc_call_is_limited(state->call))
        kc_state_reserve(state, kc_state_count_support(state));
    kc_state_tell(state, NAN, violation);
    return kc_call_poll(state->call);
}

/* Until a share of the violation is left, or so many steps are made. */
static kc_status solve_members(coordinates *s, double violation, int64_t last_step)
{
    const kc_dual *dual = &s->state->dual;
    const bool is_all = s->n == dual->n_points;
    const double least = s->tuning->inner_tol_share * dual->tol;
    const double goal_violation =
        is_all ? least : kc_higher(s->tuning->inner_share * violation, least);
    const int64_t stride = (int64_t)(s->tuning->poll_entries / s->n) + 1;
    const int64_t first = s->n_steps;
    const int64_t most = first + s->tuning->inner_steps_per_member * (int64_t)s->n;

    while (s->n_steps < most && s->n_steps < last_step) {
        double goal = 0;
        size_t best = s->n;

        if ((s->n_steps - first) % stride == stride - 1)
            KC_TRY(poll(s->state, violation));
        if (look_at_members(s, &best, &goal) < goal_violation || best == s->n)
            return KC_OK;
        s->is_unbounded = isinf(goal);
        if (s->is_unbounded || goal == s->beta[best])
            return KC_OK;
        move(s, best, goal);
    }
    return KC_OK;
}

/* ---- Rounds -------------------------------------------------------------------------------- */

/* Brings the rows of the members that moved into the gradient; *has_moved: any. */
static kc_status apply_members(coordinates *s, bool *has_moved)
{
    kc_state *state = s->state;
    const kc_dual *dual = &state->dual;
    kc_moved moved = {.points = s->points, .delta = s->delta, .keep = s->keep};

    for (size_t k = 0; k < s->n; k++) {
        const size_t p = (size_t)s->members[k].at;
        const double delta = s->beta[k] - state->beta[p];
        const bool is_free = s->beta[k] > dual->lo[p] && s->beta[k] < dual->hi[p];

        if (delta == 0)
            continue;
        s->members[moved.n] = s->members[k];
        s->beta[moved.n] = s->beta[k];
        s->points[moved.n] = s->points[k];
        s->keep[moved.n] = (uint8_t)(is_free ? KC_KEEP_HIGH : KC_KEEP_LOW);
        s->delta[moved.n++] = delta;
    }
    *has_moved = moved.n > 0;
    KC_TRY(kc_store_apply(state->call, state->store, &dual->cols, &moved, state->grad,
                          state->next_grad));
    kc_state_swap(state);
    for (size_t k = 0; k < moved.n; k++) {
        state->beta[s->members[k].at] = s->beta[k];
        kc_state_refresh_at(state, (size_t)s->members[k].at);
    }
    state->n_visits += (int64_t)moved.n;
    state->n_steps = s->n_steps;
    state->n_rounds++;
    return KC_OK;
}

/* An end of the rounds before the next one, of whatever kind. */
static bool is_over(coordinates *s, kc_stall *stall, double violation, int64_t last_step)
{
    kc_state *state = s->state;

    if (violation < state->dual.tol)
        state->stop = KC_STOP_CONVERGED;
    else if (!isfinite(violation))
        state->stop = KC_STOP_STALLED;
    else if (s->n_steps >= last_step)
        state->stop = KC_STOP_MAX_ITER;
    else
        return kc_stall_look(stall, state, violation);
    return true;
}

static kc_status run_rounds(coordinates *s)
{
    kc_state *state = s->state;
    const int64_t last_step = kc_dual_max_iter(&state->dual);
    kc_stall stall = kc_stall_start();

    for (;;) {
        const double violation = choose_members(s);
        bool has_moved;

        if (is_over(s, &stall, violation, last_step))
            return KC_OK;
        KC_TRY(poll(state, violation));
        KC_TRY(gather_members(s));
        KC_TRY(solve_members(s, violation, last_step));
        if (s->is_unbounded) {
            s->n_steps = state->n_steps;
            state->stop = KC_STOP_UNBOUNDED;
            return KC_OK;
        }
        KC_TRY(apply_members(s, &has_moved));
        if (!has_moved) {
            state->stop = KC_STOP_STALLED;
            return KC_OK;
        }
    }
}

static kc_status take_members(coordinates *s)
{
    kc_call *call = s->state->call;
    const size_t n = s->n_max;

    s->members = kc_call_take(call, n, sizeof *s->members);
    s->is_member = kc_call_take(call, s->state->dual.n_points, 1);
    s->points = kc_call_take(call, n, sizeof *s->points);
    s->beta = kc_call_take(call, n, sizeof *s->beta);
    s->grad = kc_call_take(call, n, sizeof *s->grad);
    s->delta = kc_call_take(call, n, sizeof *s->delta);
    s->keep = kc_call_take(call, n, sizeof *s->keep);
    s->gram = kc_call_take(call, n * n, kc_dtype_bytes(kc_store_dtype(s->state->store)));
    if (s->members == NULL || s->is_member == NULL || s->points == NULL || s->beta == NULL ||
        s->grad == NULL || s->delta == NULL || s->keep == NULL || s->gram == NULL)
        return kc_fail_nomem(call->err);
    return KC_OK;
}

/* A solution is accepted only if its gradient has not drifted for long. */
static kc_status run_to_the_end(coordinates *s)
{
    kc_state *state = s->state;
    const int64_t most = s->tuning->fresh_visits_per_point * (int64_t)state->dual.n_points;

    for (;;) {
        KC_TRY(run_rounds(s));
        if (state->stop != KC_STOP_CONVERGED || state->n_visits - s->fresh_at < most)
            return KC_OK;
        KC_TRY(kc_state_freshen(state));
        s->fresh_at = state->n_visits;
    }
}

kc_status kc_coordinate_run(kc_state *state)
{
    const kc_arena_point point = kc_arena_mark(state->call->arena);
    const kc_coordinate_tuning *tuning = &state->tuning->coordinate;
    coordinates s = {.state = state,
                     .tuning = tuning,
                     .n_max = kc_min(tuning->members_max, state->dual.n_points),
                     .fresh_at = state->n_visits,
                     .n_steps = state->n_steps};

    assert(state->dual.is_box_only && state->dual.n_layers == 1);
    KC_TRY(take_members(&s));
    kc_state_refresh(state);
    const kc_status status = run_to_the_end(&s);
    kc_arena_release(state->call->arena, point);
    return kc_stop_of(status, &state->stop) ? KC_OK : status;
}
