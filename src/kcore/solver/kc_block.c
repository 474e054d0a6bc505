/* Block steps.  See kc_block.h.
 *
 * The solution is whole between two outer steps: one that is cancelled half-way leaves what was
 * before it.  One that runs out of time is still brought to its end, so that what its block found
 * is not lost: that costs one visit of the rows that moved. */
#include "solver/kc_block.h"

#include <math.h>
#include <string.h>

#include "solver/kc_outlook.h"
#include "solver/kc_pairs.h"
#include "solver/kc_subgram.h"
#include "solver/kc_watch.h"
#include "solver/kc_workset.h"

/* Members of a working set: SIZE_PER_FREE per free variable and some, within bounds.  Below the
 * number of free variables, every block undoes the work of the last. */
#define SIZE_PER_FREE 2.0
#define SIZE_EXTRA 128
#define LEAST_SIZE ((size_t)1024)
#define LEAST_SHARE 12 /* ... but no more than n / 12 */
#define MOST_SIZE ((size_t)2048)
#define MOST_SIZE_LARGE ((size_t)3072)
#define LARGE_POINTS ((size_t)50000)
#define UTMOST_SIZE_F32 ((size_t)4096) /* ... unless more are free, or nothing else helps: */
#define UTMOST_SIZE_F64 ((size_t)2896) /* a matrix of 64 MiB */

/* Crowded by free variables for so many outer steps in a row is crowded, where those are more than
 * this share of the support vectors: others may still go to their bounds.  Where no set can hold
 * them, and violators are this few of them, it is as well: those that remain will be free. */
#define CROWDED_STEPS 2
#define CROWDED_SHARE 0.5
#define CROWDED_LATE 0.1

/* After so many outer steps, how many variables will be free is told from how far the last one has
 * come: blocks that are going to be crowded are given up then. */
#define FORESIGHT_STEPS 3

/* A block is solved to this share of the violation, and not below this share of tol. */
#define INNER_SHARE 0.1
#define INNER_TOL_SHARE 0.9

/* ... but to this share, where the last block left less than LEFT_BY_BLOCK times its tolerance: it
 * is the blocks that leave violations then, not variables outside, and with every block all free
 * variables move. */
#define INNER_SHARE_LATE 0.01
#define LEFT_BY_BLOCK 4.0
#define INNER_STEPS_PER_MEMBER 100

/* So many outer steps in a row that do not lower the least violation by this share: larger sets. */
#define STALL_STEPS 25
#define STALL_SHARE 0.95

typedef struct solver {
    kc_call *call;
    kc_store *store;
    const kc_dual *dual;
    double *grad, *next_grad; /* padded */
    double *beta;
    double *up[2], *low[2]; /* padded */
    kc_front front;
    kc_workset set;
    kc_subgram sub;
    size_t most_size, utmost_size;
    kc_watch watch;
    double inner_tol;       /* of the last block */
    double least_violation; /* when the set last grew or the violation fell */
    int32_t n_stalled;
    int32_t n_crowded;                /* outer steps in a row */
    size_t old_n_sv, old_n_violators; /* before the last outer step */

    /* Of the working set; padded. */
    kc_pairs pairs;
    double *inner; /* the gradient, then all arrays of pairs */
    double *old_coefficient;
    int32_t *moved_points;
    double *moved_delta;
    uint8_t *moved_keep;

    int64_t n_outer, n_visits;
    int64_t first_step; /* what the count of steps began with */
} solver;

/* ---- Life ---------------------------------------------------------------------------------- */

static size_t find_most_size(size_t n)
{
    return kc_min(n >= LARGE_POINTS ? MOST_SIZE_LARGE : MOST_SIZE, n);
}

static size_t size_for_free(size_t n_free)
{
    return (size_t)((double)n_free / KC_FREE_SHARE) + SIZE_EXTRA;
}

/* Of n points: the largest set there may be. */
static size_t find_utmost_size(kc_dtype dtype, size_t n)
{
    return kc_min(dtype == KC_F64 ? UTMOST_SIZE_F64 : UTMOST_SIZE_F32, n);
}

bool kc_block_is_crowded(kc_dtype dtype, size_t n_free, size_t n_points)
{
    return size_for_free(n_free) > find_utmost_size(dtype, n_points);
}

static void refresh(solver *s, size_t p)
{
    for (int32_t g = 0; g < s->dual->n_groups; g++) {
        size_t v = (size_t)g * s->dual->n_points + p;
        s->up[g][p] = kc_rise(s->dual->epsilon, s->beta[v], s->dual->hi[v]);
        s->low[g][p] = kc_fall(s->dual->epsilon, s->beta[v], s->dual->lo[v]);
    }
}

static double coefficient(const solver *s, size_t p)
{
    return s->dual->n_groups == 2 ? s->beta[p] + s->beta[s->dual->n_points + p] : s->beta[p];
}

static kc_status take_arrays(solver *s)
{
    const kc_dual *dual = s->dual;
    size_t n_padded = kc_round_up(dual->n_points, KC_SMO_PAD);
    size_t n_groups = (size_t)dual->n_groups;
    size_t most = kc_round_up(s->utmost_size, KC_SMO_PAD);
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

static kc_status start(solver *s, const kc_solution *from)
{
    const kc_dual *dual = s->dual;
    size_t n = dual->n_points;

    s->utmost_size = find_utmost_size(kc_store_dtype(s->store), n);
    KC_TRY(take_arrays(s));
    KC_TRY(kc_workset_create(s->call, n, dual->n_groups, dual->seed, &s->set));
    KC_TRY(kc_subgram_create(s->call, s->store, &dual->cols, s->utmost_size, &s->sub));
    memcpy(s->grad, from->grad, n * sizeof *s->grad);
    s->front = (kc_front){.n = n, .n_groups = dual->n_groups};
    for (size_t p = 0; p < n; p++) {
        refresh(s, p);
        s->front.n_sv += coefficient(s, p) != 0;
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
static double look(solver *s)
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

static size_t choose_size(solver *s, double violation)
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

/* Copies of everything that belongs to the members, in the order of their slots. */
static void load_block(solver *s)
{
    const kc_dual *dual = s->dual;
    kc_pairs *pairs = &s->pairs;
    size_t w = s->sub.n_slots;
    size_t stride = kc_round_up(w, KC_SMO_PAD);
    double *grad = s->inner;
    double *next = grad;
    size_t bytes = kc_dtype_bytes(s->sub.dtype);
    double *lo[2] = {NULL, NULL};
    double *hi[2] = {NULL, NULL};

    *pairs = (kc_pairs){.n = w,
                        .n_groups = dual->n_groups,
                        .epsilon = dual->epsilon,
                        .exact_below = KC_EXACT_TOLS * dual->tol,
                        .dtype = s->sub.dtype,
                        .gram = s->sub.values,
                        .ld = s->sub.ld,
                        .n_steps = pairs->n_steps,
                        .objective = pairs->objective};
    pairs->grad = next += stride;
    pairs->diag = next += stride;
    for (int32_t g = 0; g < dual->n_groups; g++) {
        pairs->beta[g] = next += stride;
        pairs->lo[g] = lo[g] = next += stride;
        pairs->hi[g] = hi[g] = next += stride;
        pairs->up[g] = next += stride;
        pairs->low[g] = next += stride;
    }
    for (size_t k = 0; k < w; k++) {
        size_t p = (size_t)s->sub.position_of[k];
        grad[k] = s->grad[p];
        memcpy((char *)pairs->diag + k * bytes,
               (const char *)s->sub.values + k * (s->sub.ld + 1) * bytes, bytes);
        for (int32_t g = 0; g < dual->n_groups; g++) {
            size_t v = (size_t)g * dual->n_points + p;
            pairs->beta[g][k] = s->beta[v];
            lo[g][k] = dual->lo[v];
            hi[g][k] = dual->hi[v];
        }
        s->old_coefficient[k] = coefficient(s, p);
    }
    /* Floats do: the gradient of all points is computed from what the block finds, in doubles. */
    pairs->lanes = kc_pairs_suit_single(pairs->dtype, grad, w, s->inner_tol) ? KC_F32 : KC_F64;
    kc_pairs_start(pairs, grad);
}

/* A row is wanted again while its variable is free: it will move again. */
static kc_keep find_keep(const kc_pairs *pairs, size_t k)
{
    for (int32_t g = 0; g < pairs->n_groups; g++)
        if (kc_is_free(pairs->epsilon, pairs->beta[g][k], pairs->lo[g][k], pairs->hi[g][k]))
            return KC_KEEP_HIGH;
    return KC_KEEP_NOT;
}

/* The gradient after the block, into next_grad. */
static kc_status apply_block(solver *s)
{
    const kc_pairs *pairs = &s->pairs;
    kc_moved moved = {.points = s->moved_points, .delta = s->moved_delta, .keep = s->moved_keep};

    for (size_t k = 0; k < pairs->n; k++) {
        double delta = kc_pairs_coefficient(pairs, k) - s->old_coefficient[k];
        if (delta == 0)
            continue;
        s->moved_points[moved.n] =
            (int32_t)kc_cols_point(&s->dual->cols, (size_t)s->sub.position_of[k]);
        s->moved_delta[moved.n] = delta;
        s->moved_keep[moved.n++] = (uint8_t)find_keep(pairs, k);
    }
    kc_status status =
        kc_store_apply(s->call, s->store, &s->dual->cols, &moved, s->grad, s->next_grad);
    if (status == KC_ERR_TIME) { /* once more, now that there is time for nothing else */
        kc_call_extend(s->call);
        status = kc_store_apply(s->call, s->store, &s->dual->cols, &moved, s->grad, s->next_grad);
        kc_call_expire(s->call);
    }
    s->n_visits += (int64_t)moved.n;
    return status;
}

/* Takes over what the block found, now that its gradient is known. */
static void store_block(solver *s)
{
    const kc_pairs *pairs = &s->pairs;
    double *grad = s->grad;

    s->grad = s->next_grad;
    s->next_grad = grad;
    for (size_t k = 0; k < pairs->n; k++) {
        size_t p = (size_t)s->sub.position_of[k];
        for (int32_t g = 0; g < pairs->n_groups; g++)
            s->beta[(size_t)g * s->dual->n_points + p] = pairs->beta[g][k];
        s->front.n_sv += coefficient(s, p) != 0;
        s->front.n_sv -= s->old_coefficient[k] != 0;
        refresh(s, p);
    }
}

static double choose_inner_tol(const solver *s, double violation)
{
    bool is_late = violation < LEFT_BY_BLOCK * s->inner_tol &&
                   !kc_block_is_crowded(s->sub.dtype, s->set.n_free, s->dual->n_points);

    return fmax(INNER_TOL_SHARE * s->dual->tol,
                (is_late ? INNER_SHARE_LATE : INNER_SHARE) * violation);
}

/* The problem of the working set alone. */
static kc_status solve_block(solver *s, double violation, int64_t max_iter, bool *has_moved)
{
    kc_stop inner_stop;

    s->inner_tol = choose_inner_tol(s, violation);
    load_block(s);
    int64_t before = s->pairs.n_steps;
    int64_t limit = INNER_STEPS_PER_MEMBER * (int64_t)s->pairs.n;
    int64_t left = max_iter - before;
    KC_TRY(
        kc_pairs_run(s->call, &s->pairs, s->inner_tol, left < limit ? left : limit, &inner_stop));
    *has_moved = s->pairs.n_steps > before;
    return KC_OK;
}

static bool is_crowded(const solver *s)
{
    const double n_free = (double)s->set.n_free;

    if (s->set.n_free > s->utmost_size && (double)s->set.n_violators < CROWDED_LATE * n_free)
        return true;
    return kc_block_is_crowded(s->sub.dtype, s->set.n_free, s->dual->n_points) &&
           n_free > CROWDED_SHARE * (double)s->front.n_sv;
}

/* Every violator less has made so many support vectors more; the free ones keep their share. */
static bool will_be_crowded(const solver *s)
{
    double n_sv = (double)s->front.n_sv;
    double n_violators = (double)s->set.n_violators;
    double n_fewer = (double)s->old_n_violators - n_violators;
    double n_more = n_sv - (double)s->old_n_sv;
    double yield = n_fewer > n_more ? fmax(n_more, 0) / n_fewer : 1;
    double free_share = (double)s->set.n_free / fmax(n_sv, 1);

    return s->n_outer == FORESIGHT_STEPS && free_share > CROWDED_SHARE &&
           kc_block_is_crowded(s->sub.dtype, (size_t)(free_share * (n_sv + yield * n_violators)),
                               s->dual->n_points);
}

/* After some blocks. */
static kc_block_end judge(const solver *s)
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
static kc_status foresee(solver *s, kc_block_end *end)
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
static size_t choose_set(solver *s, double violation)
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

static kc_status step(solver *s, double violation, size_t size, int64_t max_iter, bool *has_moved,
                      kc_block_end *end)
{
    const double objective = s->pairs.objective;

    KC_TRY(kc_subgram_change(s->call, s->store, &s->sub, s->set.members, s->set.n_members, size));
    KC_TRY(solve_block(s, violation, max_iter, has_moved));
    if (end != NULL)
        KC_TRY(foresee(s, end));
    if (end != NULL && *end != KC_BLOCK_TO_BLOCKS) { /* as if it had not been */
        s->pairs.n_steps = s->first_step;
        s->pairs.objective = objective;
        return KC_OK;
    }
    KC_TRY(apply_block(s));
    store_block(s);
    s->n_outer++;
    return KC_OK;
}

/* ---- The driver ---------------------------------------------------------------------------- */

static void tell(solver *s, double violation)
{
    s->call->progress.n_iter = s->pairs.n_steps;
    s->call->progress.objective = s->pairs.objective;
    s->call->progress.violation = violation;
}

static bool is_over(solver *s, double violation, int64_t max_iter, kc_stop *stop)
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

static kc_status run(solver *s, kc_stop *stop, kc_block_end *end)
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
                refresh(s, p);
    }
}

static kc_status solve(solver *s, kc_solution *out, kc_block_end *end)
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
    solver s = {.call = call, .store = store, .dual = dual, .beta = out->beta};

    return solve(&s, out, end);
}
