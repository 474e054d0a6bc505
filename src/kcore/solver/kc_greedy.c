/* Rounds on the worst few.  See kc_greedy.h; who they are is found by solver/kc_scout.c.
 *
 * Rounds overlap.  While the rows of one are added up, the next one is solved: by the gradient
 * before that pass, of whose rows only the values at its members are needed.  Who is moving is left
 * out of it.  It takes no more visits than rounds one after the other, and nobody waits.
 *
 * The bits do not depend on where rows come from: sums run in the order of the moves.  The solution
 * is whole: beta changes when a pass is ended, and one that is stopped half-way leaves what was
 * before it. */
#include "solver/kc_greedy.h"

#include <math.h>
#include <string.h>

#include "solver/kc_handful.h"
#include "solver/kc_watch.h"

/* Between two polls, passes go over about this many entries of rows: less than a millisecond. */
#define POLL_ENTRIES ((size_t)1 << 22)
#define ROWS_PER_ROUND 8 /* about */

/* After this many visits per point the gradient is computed anew before a solution is accepted: the
 * rounding of the sums is then gone from it, at a fraction of their cost. */
#define FRESH_PER_POINT 40

typedef struct solver {
    kc_call *call;
    kc_store *store;
    const kc_dual *dual;
    double *beta;
    kc_scout scout;
    double *next_grad; /* padded */
    kc_handful handful;
    kc_batch batches[2];        /* in turn */
    size_t n_solved, n_applied; /* so many of them; one at the most is not applied for long */
    bool has_matrix;            /* else rows are added up by the store */

    kc_watch watch;
    int64_t n_rounds, n_visits;
    int64_t n_steps;                 /* up to the batch that was applied last */
    int64_t next_poll;               /* round */
    int64_t next_look, next_stretch; /* visit */
    int64_t fresh_at;                /* visit at which the gradient was computed from the rows */
} solver;

/* ---- Life ---------------------------------------------------------------------------------- */

static void refresh(solver *s, size_t p)
{
    for (int32_t g = 0; g < s->dual->n_groups; g++) {
        size_t v = (size_t)g * s->dual->n_points + p;
        s->scout.up[g][p] = kc_rise(s->dual->epsilon, s->beta[v], s->dual->hi[v]);
        s->scout.low[g][p] = kc_fall(s->dual->epsilon, s->beta[v], s->dual->lo[v]);
    }
}

static kc_status start(solver *s, const kc_solution *from)
{
    const kc_dual *dual = s->dual;
    const size_t n = dual->n_points;
    const size_t n_padded = kc_round_up(n, KC_SMO_PAD);

    KC_TRY(kc_scout_create(s->call, n, dual->n_groups, kc_store_dtype(s->store), &s->scout));
    s->next_grad = kc_call_take(s->call, n_padded, sizeof *s->next_grad);
    if (s->next_grad == NULL)
        return kc_fail_nomem(s->call->err);
    memset(s->next_grad + n, 0, (n_padded - n) * sizeof *s->next_grad);
    KC_TRY(kc_handful_create(s->call, s->store, dual, from, &s->handful));
    s->has_matrix = s->handful.gram != NULL;
    memcpy(s->scout.grad, from->grad, n * sizeof *s->scout.grad);
    for (size_t p = 0; p < n; p++)
        refresh(s, p);
    s->watch = kc_watch_start(dual, s->store);
    s->n_steps = from->n_iter;
    return KC_OK;
}

/* ---- Passes -------------------------------------------------------------------------------- */

/* A row is wanted again while its variable can both rise and fall. */
static bool is_free(const solver *s, const kc_move *m)
{
    bool is_any = false;

    for (int32_t g = 0; g < s->dual->n_groups; g++)
        is_any |= m->up[g] == m->low[g];
    return is_any;
}

/* The gradient after the moves, by the store. */
static kc_status add_rows(solver *s, const kc_batch *b)
{
    int32_t points[KC_SCOUT_MOST];
    double delta[KC_SCOUT_MOST];
    uint8_t keep[KC_SCOUT_MOST];
    kc_moved moved = {.points = points, .delta = delta, .keep = keep, .n = b->n};

    for (size_t k = 0; k < b->n; k++) {
        points[k] = (int32_t)kc_cols_point(&s->dual->cols, (size_t)b->moves[k].at);
        delta[k] = b->moves[k].delta;
        keep[k] = (uint8_t)(is_free(s, &b->moves[k]) ? KC_KEEP_HIGH : KC_KEEP_NOT);
    }
    KC_TRY(kc_store_apply(s->call, s->store, &s->dual->cols, &moved, s->scout.grad, s->next_grad));
    double *grad = s->scout.grad;
    s->scout.grad = s->next_grad;
    s->next_grad = grad;
    for (size_t k = 0; k < b->n; k++)
        for (int32_t g = 0; g < s->dual->n_groups; g++) {
            s->scout.up[g][b->moves[k].at] = b->moves[k].up[g];
            s->scout.low[g][b->moves[k].at] = b->moves[k].low[g];
        }
    return KC_OK;
}

/* A pass for no moves: who is worst. */
static void look_around(solver *s)
{
    kc_scout_begin(&s->scout, NULL, 0);
    kc_scout_end(&s->scout);
}

/* Others begin with the rows of the batch that was solved last. */
static void begin_pass(solver *s)
{
    const kc_batch *b = &s->batches[s->n_solved++ % 2];

    if (s->has_matrix)
        kc_scout_begin(&s->scout, b->moves, b->n);
}

/* Brings the rows of the earliest batch that is not applied into the gradient, and its variables to
 * where they belong. */
static kc_status end_pass(solver *s)
{
    const kc_batch *b = &s->batches[s->n_applied % 2];

    if (!s->has_matrix)
        KC_TRY(add_rows(s, b));
    for (size_t k = 0; k < b->n; k++)
        for (int32_t g = 0; g < s->dual->n_groups; g++)
            s->beta[(size_t)g * s->dual->n_points + (size_t)b->moves[k].at] = b->beta[g][k];
    s->n_applied++;
    s->n_steps = b->n_steps;
    if (s->has_matrix)
        kc_scout_end(&s->scout);
    else
        look_around(s);
    return KC_OK;
}

static bool is_settled(const solver *s)
{
    return s->n_applied == s->n_solved;
}

static kc_status settle(solver *s)
{
    while (!is_settled(s))
        KC_TRY(end_pass(s));
    return KC_OK;
}

/* ---- A round ------------------------------------------------------------------------------- */

/* The batch whose rows are not in the gradient yet; it may be empty. */
static const kc_batch *find_pending(const solver *s)
{
    static const kc_batch none = {.n = 0};

    return is_settled(s) ? &none : &s->batches[s->n_applied % 2];
}

/* Solves for the next batch, while the rows of the one before are added up. */
static kc_status run_round(solver *s, int64_t max_iter, bool *has_moved)
{
    const bool was_settled = is_settled(s);
    const kc_batch *pending = find_pending(s);
    kc_batch *found = &s->batches[s->n_solved % 2];
    kc_handful *h = &s->handful;

    h->n = kc_scout_violators(&s->scout, pending->moves, pending->n, h->members);
    KC_TRY(kc_handful_solve(s->call, h, pending, max_iter, found));
    *has_moved = found->n > 0;
    if (*has_moved)
        begin_pass(s);
    s->n_visits += (int64_t)found->n;
    s->n_rounds++;
    return was_settled ? KC_OK : end_pass(s);
}

/* ---- The driver ---------------------------------------------------------------------------- */

static bool is_over(solver *s, double violation, int64_t max_iter, kc_stop *stop)
{
    if (violation < s->dual->tol)
        *stop = KC_STOP_CONVERGED;
    else if (!isfinite(violation))
        *stop = KC_STOP_STALLED;
    else if (s->handful.n_steps >= max_iter)
        *stop = KC_STOP_MAX_ITER;
    else
        return false;
    return true;
}

/* Whether something is due that has to do with the gradient of the solution as it stands, or that
 * may take long: an end, a poll, a look. */
static bool is_due(const solver *s, int64_t max_iter)
{
    const double violation = kc_scout_violation(&s->scout);

    return !(violation >= s->dual->tol) || !isfinite(violation) || s->handful.n_steps >= max_iter ||
           s->n_rounds >= s->next_poll || s->n_visits >= s->next_look ||
           s->n_visits >= s->next_stretch;
}

/* Asks the caller, now and then. */
static bool is_stopped(solver *s, double violation, kc_stop *stop)
{
    if (s->n_rounds < s->next_poll)
        return false;
    s->next_poll = s->n_rounds + (int64_t)(POLL_ENTRIES / ROWS_PER_ROUND / s->dual->n_points) + 1;
    s->call->progress.n_iter = s->handful.n_steps;
    s->call->progress.objective = s->handful.objective;
    s->call->progress.violation = violation;
    if (kc_call_is_limited(s->call))
        kc_dual_reserve(s->call, s->store, s->dual, kc_dual_count_support(s->dual, s->beta));
    if (kc_stop_of(kc_call_poll(s->call), stop))
        return true;
    kc_crew_muster(&s->scout.crew);
    return false;
}

/* What kc_watch looks for, once for about n visits. */
static bool is_useless(solver *s, double violation, kc_stop *stop)
{
    if (s->n_visits < s->next_look)
        return false;
    s->next_look = s->n_visits + (int64_t)s->dual->n_points;
    return kc_watch_look(&s->watch, s->beta, s->scout.grad, violation, stop);
}

/* As often: whether all variables have been stretched, so that the violation is another one now. */
static bool has_stretched(solver *s)
{
    if (s->n_visits < s->next_stretch)
        return false;
    s->next_stretch = s->n_visits + (int64_t)s->dual->n_points;
    if (!kc_watch_stretch(&s->watch, s->beta, s->scout.grad))
        return false;
    for (size_t p = 0; p < s->dual->n_points; p++)
        refresh(s, p);
    look_around(s);
    return true;
}

/* Rounds until there is an end to them, of whatever kind. */
static kc_status run_rounds(solver *s, int64_t max_iter, kc_stop *stop)
{
    look_around(s);
    for (;;) {
        bool has_moved = false;
        if (is_due(s, max_iter)) {
            KC_TRY(settle(s));
            const double violation = kc_scout_violation(&s->scout);
            if (is_over(s, violation, max_iter, stop) || is_stopped(s, violation, stop) ||
                is_useless(s, violation, stop))
                return KC_OK;
            if (has_stretched(s))
                continue;
        }
        const bool was_settled = is_settled(s);
        KC_TRY(run_round(s, max_iter, &has_moved));
        if (!has_moved && was_settled) {
            *stop = KC_STOP_STALLED;
            return KC_OK;
        }
    }
}

/* What could not be applied is no part of the solution, nor of the counts. */
static void forget(solver *s)
{
    if (!is_settled(s))
        s->handful.n_steps = s->n_steps;
    for (; !is_settled(s); s->n_applied++)
        s->n_visits -= (int64_t)s->batches[s->n_applied % 2].n;
}

/* ... and the gradient is that of the solution. */
static kc_status run_crew(solver *s, int64_t max_iter, kc_stop *stop)
{
    /* Whoever computes rows wants all threads for that. */
    kc_scout_hire(&s->scout, s->call, !s->has_matrix);
    kc_status status = run_rounds(s, max_iter, stop);
    if (s->has_matrix)
        settle(s);
    forget(s);
    kc_crew_dismiss(&s->scout.crew);
    if (kc_stop_of(status, stop))
        return KC_OK;
    return status;
}

/* Whether the solution can be taken: its gradient is fresh enough, or is so now. */
static kc_status accept(solver *s, bool *is_fresh)
{
    const int64_t most = FRESH_PER_POINT * (int64_t)s->dual->n_points;

    *is_fresh = s->n_visits - s->fresh_at < most;
    if (*is_fresh)
        return KC_OK;
    KC_TRY(kc_dual_gradient(s->call, s->store, s->dual, s->beta, s->next_grad));
    memcpy(s->scout.grad, s->next_grad, s->dual->n_points * sizeof *s->scout.grad);
    s->fresh_at = s->n_visits;
    return KC_OK;
}

static kc_status run(solver *s, kc_stop *stop)
{
    const int64_t max_iter = kc_dual_max_iter(s->dual);

    for (bool is_fresh = false; !is_fresh;) {
        kc_status status = KC_OK;
        KC_TRY(run_crew(s, max_iter, stop));
        is_fresh = true;
        if (*stop == KC_STOP_CONVERGED)
            status = accept(s, &is_fresh);
        if (kc_stop_of(status, stop))
            return KC_OK;
        KC_TRY(status);
    }
    return KC_OK;
}

/* The whole matrix, where the store has room for it, and where there is time for it and then some.
 */
static kc_status complete(kc_call *call, kc_store *store, const kc_dual *dual)
{
    const size_t n = dual->n_points;
    size_t ld;

    if (kc_store_matrix(store, &ld) != NULL || kc_store_is_linear(store) ||
        n < kc_store_points(store) || kc_store_apply_seconds(store, n, n) > kc_call_left(call))
        return KC_OK;
    kc_store_clear(call->ctx, store);
    return kc_store_complete(call, store);
}

kc_status kc_greedy_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    kc_status status = complete(call, store, dual);

    if (kc_stop_of(status, &out->stop))
        return KC_OK;
    KC_TRY(status);
    solver *s = kc_call_take(call, 1, sizeof *s);
    if (s == NULL)
        return kc_fail_nomem(call->err);
    *s = (solver){.call = call, .store = store, .dual = dual, .beta = out->beta};
    status = start(s, out);
    if (status == KC_OK)
        status = run(s, &out->stop);
    if (status == KC_OK) {
        memcpy(out->grad, s->scout.grad, dual->n_points * sizeof *out->grad);
        out->n_iter = s->handful.n_steps;
        out->n_outer += s->n_rounds;
        out->n_row_visits += s->n_visits;
    }
    kc_arena_release(call->arena, point);
    return status;
}
