/* Rounds on the worst few variables.  See kc_greedy.h; solver/kc_violator_scan.c finds them.
 *
 * Rounds overlap.  While the rows of one are added up, the next one is solved: by the gradient
 * before that pass, of which only the values at its members are needed.  Variables whose rows are
 * being added are left out of it.  It takes no more visits than rounds one after the other, and no
 * thread waits.
 *
 * The bits do not depend on where rows come from: sums run in the order of the moves.  The solution
 * is whole: beta changes when a pass is ended, and one that is stopped half-way leaves what was
 * before it. */
#include "solver/kc_greedy.h"

#include <math.h>
#include <string.h>

#include "solver/kc_microset.h"
#include "solver/kc_scale.h"

typedef struct greedy {
    kc_state *state;
    kc_scan scan;
    kc_microset microset;
    kc_step_set batches[2];     /* in turn */
    size_t n_solved, n_applied; /* so many of them; one at the most is not applied for long */
    bool has_matrix;            /* else rows are added up by the store */

    kc_stall stall;
    int64_t n_rounds, n_visits;
    int64_t next_poll;               /* round */
    int64_t next_look, next_scaling; /* visit */
    int64_t fresh_at;                /* visit at which the gradient was computed from the rows */
} greedy;

/* ---- Passes -------------------------------------------------------------------------------- */

/* A row is wanted again while its variable can both rise and fall. */
static bool is_free(const greedy *s, const kc_move *m)
{
    bool is_any = false;

    for (int32_t g = 0; g < s->state->dual.n_layers; g++)
        is_any |= m->up[g] == m->low[g];
    return is_any;
}

/* The gradient after the moves, by the store. */
static kc_status add_rows(greedy *s, const kc_step_set *b)
{
    kc_state *state = s->state;
    int32_t points[KC_SCAN_MAX];
    double delta[KC_SCAN_MAX];
    uint8_t keep[KC_SCAN_MAX];
    kc_moved moved = {.points = points, .delta = delta, .keep = keep, .n = b->n};

    for (size_t k = 0; k < b->n; k++) {
        points[k] = (int32_t)kc_cols_point(&state->dual.cols, (size_t)b->moves[k].at);
        delta[k] = b->moves[k].delta;
        keep[k] = (uint8_t)(is_free(s, &b->moves[k]) ? KC_KEEP_HIGH : KC_KEEP_NOT);
    }
    KC_TRY(kc_store_apply(state->call, state->store, &state->dual.cols, &moved, state->grad,
                          state->next_grad));
    kc_state_swap(state);
    for (size_t k = 0; k < b->n; k++)
        for (int32_t g = 0; g < state->dual.n_layers; g++) {
            state->up[g][b->moves[k].at] = b->moves[k].up[g];
            state->low[g][b->moves[k].at] = b->moves[k].low[g];
        }
    return KC_OK;
}

/* A pass for no moves: finds the worst violators. */
static void look_around(greedy *s)
{
    kc_scan_begin(&s->scan, NULL, 0);
    kc_scan_end(&s->scan);
}

/* Others begin with the rows of the batch that was solved last. */
static void begin_pass(greedy *s)
{
    const kc_step_set *b = &s->batches[s->n_solved++ % 2];

    if (s->has_matrix)
        kc_scan_begin(&s->scan, b->moves, b->n);
}

/* Brings the rows of the earliest batch that is not applied into the gradient, and its variables to
 * where they belong. */
static kc_status end_pass(greedy *s)
{
    kc_state *state = s->state;
    const kc_step_set *b = &s->batches[s->n_applied % 2];

    if (!s->has_matrix)
        KC_TRY(add_rows(s, b));
    for (size_t k = 0; k < b->n; k++)
        for (int32_t g = 0; g < state->dual.n_layers; g++)
            state->beta[(size_t)g * state->dual.n_points + (size_t)b->moves[k].at] = b->beta[g][k];
    s->n_applied++;
    state->n_steps = b->n_steps;
    if (s->has_matrix)
        kc_scan_end(&s->scan);
    else
        look_around(s);
    return KC_OK;
}

static bool is_settled(const greedy *s)
{
    return s->n_applied == s->n_solved;
}

static kc_status settle(greedy *s)
{
    while (!is_settled(s))
        KC_TRY(end_pass(s));
    return KC_OK;
}

/* ---- A round ------------------------------------------------------------------------------- */

/* The batch whose rows are not in the gradient yet; it may be empty. */
static const kc_step_set *find_pending(const greedy *s)
{
    static const kc_step_set none = {.n = 0};

    return is_settled(s) ? &none : &s->batches[s->n_applied % 2];
}

/* Solves for the next batch, while the rows of the one before are added up. */
static kc_status run_round(greedy *s, int64_t last_step, bool *has_moved)
{
    const bool was_settled = is_settled(s);
    const kc_step_set *pending = find_pending(s);
    kc_step_set *found = &s->batches[s->n_solved % 2];
    kc_microset *h = &s->microset;

    h->n = kc_scan_violators(&s->scan, pending->moves, pending->n, h->members);
    KC_TRY(kc_microset_solve(h, pending, last_step, found));
    *has_moved = found->n > 0;
    if (*has_moved)
        begin_pass(s);
    s->n_visits += (int64_t)found->n;
    s->n_rounds++;
    return was_settled ? KC_OK : end_pass(s);
}

/* ---- What is looked at now and then -------------------------------------------------------- */

/* Whether something is due that has to do with the gradient of the solution as it stands, or that
 * may take long: an end, a poll, a look. */
static bool is_due(const greedy *s, int64_t last_step)
{
    const double violation = kc_scan_violation(&s->scan);

    return !(violation >= s->state->tol) || !isfinite(violation) ||
           s->microset.n_steps >= last_step || s->n_rounds >= s->next_poll ||
           s->n_visits >= s->next_look || s->n_visits >= s->next_scaling;
}

static bool are_rounds_over(greedy *s, double violation, int64_t last_step)
{
    if (kc_scale_is_solved(s->state, violation))
        s->state->stop = KC_STOP_CONVERGED;
    else if (!isfinite(violation))
        s->state->stop = KC_STOP_STALLED;
    else if (s->microset.n_steps >= last_step)
        s->state->stop = KC_STOP_MAX_ITER;
    else
        return false;
    return true;
}

/* Asks the caller, now and then. */
static bool is_stopped(greedy *s, double violation)
{
    kc_state *state = s->state;
    const kc_greedy_tuning *tuning = &state->tuning->greedy;
    const size_t rounds = tuning->poll_entries / tuning->rows_per_round / state->dual.n_points + 1;

    if (s->n_rounds < s->next_poll)
        return false;
    s->next_poll = s->n_rounds + (int64_t)rounds;
    kc_state_tell(state, s->microset.objective, violation);
    if (kc_call_is_limited(state->call))
        kc_state_reserve(state, kc_state_count_support(state));
    if (kc_stop_of(kc_call_poll(state->call), &state->stop))
        return true;
    kc_spin_team_wake(&s->scan.team);
    return false;
}

/* Once for about n visits. */
static bool are_rounds_useless(greedy *s, double violation)
{
    if (s->n_visits < s->next_look)
        return false;
    s->next_look = s->n_visits + (int64_t)s->state->dual.n_points;
    return kc_stall_look(&s->stall, s->state, violation);
}

/* As often: whether all variables have been stretched, so that the violation is another one now. */
static bool has_scaled(greedy *s)
{
    if (s->n_visits < s->next_scaling)
        return false;
    s->next_scaling = s->n_visits + (int64_t)s->state->dual.n_points;
    if (!kc_state_scale_along_ray(s->state))
        return false;
    look_around(s);
    return true;
}

/* ---- The driver ---------------------------------------------------------------------------- */

/* Rounds until there is an end to them, of whatever kind. */
static kc_status run_rounds(greedy *s, int64_t last_step)
{
    look_around(s);
    for (;;) {
        bool has_moved = false;
        if (is_due(s, last_step)) {
            KC_TRY(settle(s));
            const double violation = kc_scan_violation(&s->scan);
            if (are_rounds_over(s, violation, last_step) || is_stopped(s, violation) ||
                are_rounds_useless(s, violation))
                return KC_OK;
            if (has_scaled(s))
                continue;
        }
        const bool was_settled = is_settled(s);
        KC_TRY(run_round(s, last_step, &has_moved));
        if (!has_moved && was_settled) {
            s->state->stop = KC_STOP_STALLED;
            return KC_OK;
        }
    }
}

/* What could not be applied is no part of the solution, nor of the counts. */
static void forget(greedy *s)
{
    if (!is_settled(s))
        s->microset.n_steps = s->state->n_steps;
    for (; !is_settled(s); s->n_applied++)
        s->n_visits -= (int64_t)s->batches[s->n_applied % 2].n;
}

/* ... and the gradient is that of the solution. */
static kc_status run_team(greedy *s, int64_t last_step)
{
    /* Where rows are computed, that takes all threads. */
    kc_scan_hire(&s->scan, !s->has_matrix);
    kc_status status = run_rounds(s, last_step);
    if (s->has_matrix)
        settle(s);
    forget(s);
    kc_spin_team_close(&s->scan.team);
    return kc_stop_of(status, &s->state->stop) ? KC_OK : status;
}

/* Whether the solution can be taken: its gradient is fresh enough, or is so now. */
static kc_status accept_greedy(greedy *s, bool *is_fresh)
{
    const int64_t most =
        s->state->tuning->greedy.fresh_visits_per_point * (int64_t)s->state->dual.n_points;

    *is_fresh = s->n_visits - s->fresh_at < most;
    if (*is_fresh)
        return KC_OK;
    KC_TRY(kc_state_freshen(s->state));
    s->fresh_at = s->n_visits;
    return KC_OK;
}

static kc_status run_greedy(greedy *s)
{
    kc_state *state = s->state;
    const int64_t last_step = kc_dual_max_iter(&state->dual);

    for (bool is_fresh = false; !is_fresh;) {
        kc_status status = KC_OK;
        KC_TRY(run_team(s, last_step));
        is_fresh = true;
        if (state->stop == KC_STOP_CONVERGED)
            status = accept_greedy(s, &is_fresh);
        if (kc_stop_of(status, &state->stop))
            return KC_OK;
        KC_TRY(status);
    }
    return KC_OK;
}

/* The whole matrix, where the store has room for it, and where there is time for it and then some.
 */
static kc_status complete(kc_state *s)
{
    const size_t n = s->dual.n_points;
    size_t ld;

    if (kc_store_matrix(s->store, &ld) != NULL || kc_store_is_linear(s->store) ||
        n < kc_store_points(s->store) ||
        kc_store_apply_seconds(s->store, n, n) > kc_call_left(s->call))
        return KC_OK;
    kc_store_clear(s->call->ctx, s->store);
    return kc_store_complete(s->call, s->store);
}

static kc_status start_greedy(kc_state *state, greedy **out)
{
    greedy *s = kc_call_take(state->call, 1, sizeof *s);

    if (s == NULL)
        return kc_fail_nomem(state->call->err);
    *s = (greedy){.state = state, .stall = kc_stall_start()};
    kc_scan_open(state, kc_store_dtype(state->store), &s->scan);
    KC_TRY(kc_microset_create(state, &s->microset));
    s->has_matrix = s->microset.gram != NULL;
    kc_state_refresh(state);
    *out = s;
    return KC_OK;
}

kc_status kc_greedy_run(kc_state *state)
{
    const kc_arena_point point = kc_arena_mark(state->call->arena);
    kc_status status = complete(state);
    greedy *s = NULL;

    if (kc_stop_of(status, &state->stop))
        return KC_OK;
    KC_TRY(status);
    KC_TRY(start_greedy(state, &s));
    status = run_greedy(s);
    state->n_steps = s->microset.n_steps;
    state->n_rounds += s->n_rounds;
    state->n_visits += s->n_visits;
    kc_arena_release(state->call->arena, point);
    return status;
}
