/* Block steps.  See kc_block.h.
 *
 * The solution is whole between two outer steps: one that is cancelled half-way leaves what was
 * before it.  Of one that runs out of time the variables are taken, so that what its block found is
 * not lost, and the gradient is left as it was: kc_dual_solve computes another. */
#include "solver/kc_block.h"

#include <math.h>
#include <string.h>

#include "solver/kc_block_impl.h"
#include "solver/kc_outlook.h"

/* Members of a working set: SIZE_PER_FREE per free variable and some, within bounds.  Below the
 * number of free variables, every block undoes the work of the last. */
#define SIZE_PER_FREE 2.0
#define SIZE_EXTRA 128
#define LEAST_SIZE ((size_t)1024)
#define LEAST_SHARE 12 /* ... but no more than n / 12 */
#define MOST_SIZE ((size_t)2048)
#define MOST_SIZE_LARGE ((size_t)3072)
#define LARGE_POINTS ((size_t)50000)

/* Crowded by free variables for so many outer steps in a row is crowded, where those are more than
 * this share of the support vectors: others may still go to their bounds.  Where no set can hold
 * them, and violators are this few of them, it is as well: those that remain will be free. */
#define CROWDED_STEPS 2
#define CROWDED_SHARE 0.5
#define CROWDED_LATE 0.1

/* After so many outer steps, how many variables will be free is told from how far the last one has
 * come: blocks that are going to be crowded are given up then. */
#define FORESIGHT_STEPS 3

/* So many outer steps in a row that do not lower the least violation by this share: larger sets. */
#define STALL_STEPS 25
#define STALL_SHARE 0.95

/* ---- Life ---------------------------------------------------------------------------------- */

static size_t find_most_size(size_t n)
{
    return kc_min(n >= LARGE_POINTS ? MOST_SIZE_LARGE : MOST_SIZE, n);
}

static size_t size_for_free(size_t n_free)
{
    return (size_t)((double)n_free / KC_FREE_SHARE) + SIZE_EXTRA;
}

bool kc_block_is_crowded(size_t n_free, size_t n_points)
{
    return size_for_free(n_free) > kc_min(KC_BLOCK_UTMOST, n_points);
}

bool kc_block_is_too_full(const kc_blocks *s)
{
    return size_for_free(s->set.n_free) > s->utmost_size;
}

static kc_status take_arrays(kc_blocks *s)
{
    const kc_dual *dual = s->dual;
    size_t n_padded = kc_round_up(dual->n_points, KC_SMO_PAD);
    size_t n_groups = (size_t)dual->n_groups;
    size_t most = kc_round_up(kc_min(KC_BLOCK_UTMOST, dual->n_points), KC_SMO_PAD);
    double *arrays = kc_call_take(s->call, n_padded * (2 + 2 * n_groups), sizeof *arrays);

    s->inner = kc_call_take(s->call, most * (3 + 5 * n_groups), sizeof *s->inner);
    s->old_coefficient = kc_call_take(s->call, most, sizeof *s->old_coefficient);
    s->moved_points = kc_call_take(s->call, most, sizeof *s->moved_points);
    s->moved_delta = kc_call_take(s->call, most, sizeof *s->moved_delta);
    s->moved_keep = kc_call_take(s->call, most, sizeof *s->moved_keep);
    if (!arrays || !s->inner || !s->old_coefficient || !s->moved_points || !s->moved_delta ||
        !s->moved_keep)
        return kc_fail_nomem(s->call->err);
    s->grad = arrays;
    s->next_grad = arrays + n_padded;
    for (size_t g = 0; g < n_groups; g++) {
        s->up[g] = arrays + n_padded * (2 + 2 * g);
        s->low[g] = arrays + n_padded * (3 + 2 * g);
    }
    for (size_t p = dual->n_points; p < n_padded; p++) {
        s->grad[p] = s->next_grad[p] = 0;
        for (size_t g = 0; g < n_groups; g++) {
            s->up[g][p] = -HUGE_VAL;
            s->low[g][p] = HUGE_VAL;
        }
    }
    return KC_OK;
}

static kc_status start(kc_blocks *s, const kc_solution *from)
{
    const kc_dual *dual = s->dual;
    size_t n = dual->n_points;

    s->utmost_size = kc_min(kc_block_utmost(kc_store_dtype(s->store)), n);
    KC_TRY(take_arrays(s));
    KC_TRY(kc_workset_create(s->call, n, dual->n_groups, dual->seed, &s->set));
    KC_TRY(kc_subgram_create(s->call, s->store, &dual->cols, kc_min(KC_BLOCK_UTMOST, n), &s->sub));
    kc_subgram_retype(s->call->ctx, s->store, &s->sub, s->sub.dtype, s->utmost_size);
    memcpy(s->grad, from->grad, n * sizeof *s->grad);
    s->front = (kc_front){.n = n, .n_groups = dual->n_groups};
    for (size_t p = 0; p < n; p++) {
        kc_block_refresh(s, p);
        s->front.n_sv += kc_block_coefficient(s, p) != 0;
    }
    for (int32_t g = 0; g < dual->n_groups; g++) {
        s->front.up[g] = s->up[g];
        s->front.low[g] = s->low[g];
    }
    s->most_size = find_most_size(n);
    s->watch = kc_watch_start(dual, s->store);
    s->least_violation = HUGE_VAL;
    s->pairs.n_steps = s->first_step = from->n_iter;
    s->pairs.objective = kc_dual_objective(dual, s->beta, s->grad);
    return KC_OK;
}

/* ---- One outer step, part by part ---------------------------------------------------------- */

/* The peaks of the groups; returns the largest violation. */
static double look(kc_blocks *s)
{
    double violation = -HUGE_VAL;

    s->front.grad = s->grad;
    for (int32_t g = 0; g < s->dual->n_groups; g++) {
        kc_peak *peak = &s->front.peak[g];
        *peak = kc_smo_ops_chosen()->f64.scan(s->grad, s->up[g], s->low[g],
                                              kc_round_up(s->dual->n_points, KC_SMO_PAD));
        double here = peak->max_up - peak->min_low;
        violation = here > violation || isnan(here) ? here : violation;
    }
    return violation;
}

static size_t choose_size(kc_blocks *s, double violation)
{
    size_t n = s->dual->n_points;
    size_t least = kc_min(LEAST_SIZE, n / LEAST_SHARE);
    size_t size = (size_t)(SIZE_PER_FREE * (double)s->set.n_free) + SIZE_EXTRA;

    if (violation < STALL_SHARE * s->least_violation) {
        s->least_violation = violation;
        s->n_stalled = 0;
    } else if (++s->n_stalled >= STALL_STEPS) {
        s->most_size = kc_min(2 * s->most_size, s->utmost_size);
        s->least_violation = violation;
        s->n_stalled = 0;
    }
    size_t most = kc_min(size_for_free(s->set.n_free), s->utmost_size);

    most = kc_max(s->most_size, most);
    return kc_min(kc_round_up(kc_min(kc_max(size, least), most), 16), most);
}

/* A set of all points undoes no work, and has most of the advantages of smaller ones. */
static bool has_room_for_all(const kc_blocks *s)
{
    return s->dual->n_points <= (s->is_astray ? s->utmost_size : KC_BLOCK_UTMOST);
}

static bool is_crowded(const kc_blocks *s)
{
    const double n_free = (double)s->set.n_free;

    if (has_room_for_all(s))
        return false;
    if (s->set.n_free > s->utmost_size && (double)s->set.n_violators < CROWDED_LATE * n_free)
        return true;
    return kc_block_is_too_full(s) && n_free > CROWDED_SHARE * (double)s->front.n_sv;
}

/* Every violator less has made so many support vectors more; the free ones keep their share. */
static bool will_be_crowded(const kc_blocks *s)
{
    double n_sv = (double)s->front.n_sv;
    double n_violators = (double)s->set.n_violators;
    double n_fewer = (double)s->old_n_violators - n_violators;
    double n_more = n_sv - (double)s->old_n_sv;
    double yield = n_fewer > n_more ? fmax(n_more, 0) / n_fewer : 1;
    double free_share = (double)s->set.n_free / fmax(n_sv, 1);

    return s->n_outer == FORESIGHT_STEPS && !has_room_for_all(s) && free_share > CROWDED_SHARE &&
           kc_block_is_crowded((size_t)(free_share * (n_sv + yield * n_violators)),
                               s->dual->n_points);
}

/* After some blocks. */
static kc_block_end judge(const kc_blocks *s)
{
    const kc_census now = {.n_blocks = s->n_outer,
                           .n_steps = s->pairs.n_steps - s->first_step,
                           .n_slots = s->sub.n_slots,
                           .n_sv = s->front.n_sv,
                           .n_free = s->set.n_free,
                           .n_violators = s->set.n_violators,
                           .is_crowded = s->n_crowded >= CROWDED_STEPS};

    return kc_outlook_judge(s->store, s->dual, &now);
}

/* What the first block would end in, if it were applied. */
static kc_status foresee(kc_blocks *s, kc_block_end *end)
{
    const kc_block_view view = {.pairs = &s->pairs,
                                .position_of = s->sub.position_of,
                                .old_coefficient = s->old_coefficient,
                                .is_member = s->set.is_member,
                                .grad = s->grad,
                                .up = {s->up[0], s->up[1]},
                                .low = {s->low[0], s->low[1]}};

    *end = KC_BLOCK_TO_BLOCKS;
    if (s->n_outer > 0 || s->front.n_sv > 0)
        return KC_OK;
    kc_status status = kc_outlook_foresee(s->call, s->store, s->dual, &view,
                                          s->pairs.n_steps - s->first_step, end);
    return status == KC_ERR_TIME ? KC_OK : status; /* the block is still to be kept */
}

/* The next working set; returns how many members its matrix should have room for. */
static size_t choose_set(kc_blocks *s, double violation)
{
    kc_workset_look(&s->set, &s->front);
    size_t size = choose_size(s, violation);
    kc_workset_choose(&s->set, &s->front, size, s->n_outer == 0);
    s->n_crowded = is_crowded(s) ? s->n_crowded + 1 : 0;
    if (will_be_crowded(s))
        s->n_crowded = CROWDED_STEPS;
    s->old_n_sv = s->front.n_sv;
    s->old_n_violators = s->set.n_violators;
    return kc_max(size, s->set.n_members);
}

static kc_status step(kc_blocks *s, double violation, size_t size, int64_t max_iter,
                      bool *has_moved, kc_block_end *end)
{
    const int64_t n_steps = s->pairs.n_steps;
    const double objective = s->pairs.objective;
    bool is_taken = false;

    KC_TRY(kc_block_load(s, violation, size));
    KC_TRY(kc_block_run(s, max_iter, has_moved));
    if (end != NULL)
        KC_TRY(foresee(s, end));
    const bool is_given_up = end != NULL && *end != KC_BLOCK_TO_BLOCKS;
    if (*has_moved && !is_given_up)
        KC_TRY(kc_block_take(s, objective, &is_taken));
    if (!is_taken) { /* as if it had not been */
        s->pairs.n_steps = n_steps;
        s->pairs.objective = objective;
    }
    *has_moved |= !is_given_up && kc_block_go_exact(s, *has_moved); /* there may be more to find */
    return KC_OK;
}

/* ---- The driver ---------------------------------------------------------------------------- */

static void tell(kc_blocks *s, double violation)
{
    s->call->progress.n_iter = s->pairs.n_steps;
    s->call->progress.objective = s->pairs.objective;
    s->call->progress.violation = violation;
}

static bool is_over(kc_blocks *s, double violation, int64_t max_iter, kc_stop *stop)
{
    tell(s, violation);
    if (violation < s->dual->tol)
        *stop = KC_STOP_CONVERGED;
    else if (!isfinite(violation))
        *stop = KC_STOP_STALLED;
    else if (s->pairs.n_steps >= max_iter)
        *stop = KC_STOP_MAX_ITER;
    else
        return kc_stop_of(kc_call_poll(s->call), stop) ||
               kc_watch_look(&s->watch, s->beta, s->grad, violation, stop);
    return true;
}

static kc_status run(kc_blocks *s, kc_stop *stop, kc_block_end *end)
{
    int64_t max_iter = kc_dual_max_iter(s->dual);

    for (;;) {
        double violation = look(s);
        bool has_moved = false;
        if (is_over(s, violation, max_iter, stop))
            return KC_OK;
        size_t size = choose_set(s, violation);
        if (end != NULL && (*end = judge(s)) != KC_BLOCK_TO_BLOCKS)
            return KC_OK;
        kc_status status = step(s, violation, size, max_iter, &has_moved, end);
        if (kc_stop_of(status, stop))
            return KC_OK;
        KC_TRY(status);
        if (end != NULL && *end != KC_BLOCK_TO_BLOCKS)
            return KC_OK;
        if (!has_moved) {
            *stop = KC_STOP_STALLED;
            return KC_OK;
        }
        if (kc_watch_stretch(&s->watch, s->beta, s->grad))
            for (size_t p = 0; p < s->dual->n_points; p++)
                kc_block_refresh(s, p);
    }
}

static kc_status solve(kc_blocks *s, kc_solution *out, kc_block_end *end)
{
    kc_arena_point point = kc_arena_mark(s->call->arena);
    kc_status status = start(s, out);

    if (status == KC_OK)
        status = run(s, &out->stop, end);
    if (status == KC_OK) {
        memcpy(out->grad, s->grad, s->dual->n_points * sizeof *out->grad);
        out->n_iter = s->pairs.n_steps;
        out->n_outer += s->n_outer;
        out->n_row_visits += s->n_visits;
    }
    kc_subgram_free(s->call->ctx, s->store, &s->sub);
    kc_arena_release(s->call->arena, point);
    return status;
}

kc_status kc_block_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                         kc_block_end *end)
{
    kc_blocks s = {.call = call, .store = store, .dual = dual, .beta = out->beta};

    return solve(&s, out, end);
}
