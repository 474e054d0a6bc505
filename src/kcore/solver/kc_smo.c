/* Pair steps over all points.  See kc_smo.h; the steps are in solver/kc_pairs.c. */
#include "solver/kc_smo.h"

#include <math.h>
#include <string.h>

#include "solver/kc_block.h"
#include "solver/kc_idle.h"
#include "solver/kc_pairs.h"
#include "solver/kc_watch.h"

/* Steps between two looks at what they gain, per point; and the least number of them. */
#define LOOK_PER_POINT 10
#define LOOK_STEPS 10000

/* After this many steps per point the gradient is computed anew before a solution is accepted: the
 * rounding of the steps is then gone from it, at a hundredth of their cost. */
#define FRESH_PER_POINT 20

/* Where so many steps per point were not enough, a part of the points is what keeps the others
 * busy: blocks of them go on. */
#define FOCUS_PER_POINT 3
#define LEAST_FOCUS_POINTS 400

/* Below, steps are cheap, and exact ones end nearer the solution than tol asks for. */
#define LEAST_RELAXED_POINTS 500

/* From so many points on, steps in single precision save more than the gradient costs that has to
 * be computed after them. */
#define LEAST_SINGLE_POINTS 200

typedef struct smo {
    kc_call *call;
    kc_store *store;
    const kc_dual *dual;
    bool *is_narrow; /* set where it breaks off; NULL: it never does */
    kc_pairs pairs;
    double *grad; /* of pairs */
    double *up[2], *low[2];
    char *copies;     /* two rows, where the problem's columns are not in one run */
    int64_t fresh_at; /* the step at which the gradient was computed from the rows */

    /* The same problem over the whole matrix in the arena, where there is one. */
    kc_store *whole;
    kc_dual whole_dual;
} smo;

static kc_status fetch(void *data, const size_t *positions, size_t n_rows, const void **out)
{
    smo *s = data;
    const kc_cols *cols = &s->dual->cols;
    size_t bytes = kc_dtype_bytes(s->pairs.dtype);
    size_t n_first = cols->span[0].end - cols->span[0].begin;
    int32_t points[2] = {0};

    for (size_t r = 0; r < n_rows; r++)
        points[r] = (int32_t)kc_cols_point(cols, positions[r]);
    KC_TRY(kc_store_get(s->call, s->store, cols, points, n_rows, out));
    for (size_t r = 0; r < n_rows; r++) {
        const char *row = (const char *)out[r] + cols->span[0].begin * bytes;
        out[r] = row;
        if (cols->n_spans == 2) {
            char *copy = s->copies + r * s->dual->n_points * bytes;
            memcpy(copy, row, n_first * bytes);
            memcpy(copy + n_first * bytes,
                   row + (cols->span[1].begin - cols->span[0].begin) * bytes,
                   (s->dual->n_points - n_first) * bytes);
            out[r] = copy;
        }
    }
    return KC_OK;
}

/* The given matrix, or the whole matrix in the arena if the budget has room, or the cache. */
static kc_status take_rows(smo *s)
{
    kc_pairs *pairs = &s->pairs;
    const kc_cols *cols = &s->dual->cols;
    size_t n = s->dual->n_points;
    size_t bytes = kc_dtype_bytes(pairs->dtype);
    const void *given = kc_store_matrix(s->store, &pairs->ld);

    if (given != NULL && cols->n_spans == 1) {
        pairs->gram = (const char *)given + cols->span[0].begin * (pairs->ld + 1) * bytes;
        return KC_OK;
    }
    pairs->ld = kc_round_up(n, KC_ALIGN / bytes);
    if (pairs->ld * bytes % 4096 == 0)
        pairs->ld += KC_ALIGN / bytes;
    if (pairs->ld * bytes <= kc_store_whole_bytes(s->store) / n) {
        void *gram = kc_call_take(s->call, n, pairs->ld * bytes);
        if (gram == NULL)
            return kc_fail_nomem(s->call->err);
        KC_TRY(kc_store_gram(s->call, s->store, cols, gram, pairs->ld));
        pairs->gram = gram;
        s->whole_dual.cols = (kc_cols){.span = {{0, n}}, .n_spans = 1};
        return kc_store_create_given(s->call, pairs->dtype, gram, n, pairs->ld, &s->whole);
    }
    pairs->fetch = fetch;
    pairs->fetch_data = s;
    if (cols->n_spans == 1)
        return KC_OK;
    s->copies = kc_call_take(s->call, 2 * n, bytes);
    return s->copies != NULL ? KC_OK : kc_fail_nomem(s->call->err);
}

static void reserve(void *data)
{
    const smo *s = data;

    kc_dual_reserve(s->call, s->store, s->dual, kc_dual_count_support(s->dual, s->pairs.beta[0]));
}

static kc_status take_arrays(smo *s, double *beta)
{
    const kc_dual *dual = s->dual;
    kc_pairs *pairs = &s->pairs;
    size_t n = dual->n_points;
    size_t n_padded = kc_round_up(n, KC_SMO_PAD);
    size_t bytes = kc_dtype_bytes(pairs->dtype);
    double *arrays =
        kc_call_take(s->call, n_padded * (1 + 2 * (size_t)dual->n_groups), sizeof(double));

    pairs->diag = kc_call_take(s->call, n_padded, bytes);
    if (arrays == NULL || pairs->diag == NULL)
        return kc_fail_nomem(s->call->err);
    pairs->lanes = KC_F64;
    pairs->grad = s->grad = arrays;
    for (int32_t g = 0; g < dual->n_groups; g++) {
        pairs->up[g] = s->up[g] = arrays + n_padded * (1 + 2 * (size_t)g);
        pairs->low[g] = s->low[g] = arrays + n_padded * (2 + 2 * (size_t)g);
        pairs->beta[g] = beta + (size_t)g * n;
        pairs->lo[g] = dual->lo + (size_t)g * n;
        pairs->hi[g] = dual->hi + (size_t)g * n;
    }
    for (size_t p = 0; p < n; p++)
        memcpy((char *)pairs->diag + p * bytes,
               (const char *)kc_store_diag(s->store) + kc_cols_point(&dual->cols, p) * bytes,
               bytes);
    return KC_OK;
}

/* Sums over rows are to be the same whether there is a whole matrix or not. */
static bool uses_whole(const smo *s)
{
    return s->whole != NULL && !kc_store_is_linear(s->store);
}

static kc_status recompute(smo *s, const double *beta, double *grad)
{
    return uses_whole(s) ? kc_dual_gradient(s->call, s->whole, &s->whole_dual, beta, grad)
                         : kc_dual_gradient(s->call, s->store, s->dual, beta, grad);
}

/* Through a second array, so that the gradient is whole where the call is stopped meanwhile. */
static kc_status freshen(smo *s, const double *beta)
{
    kc_arena_point point = kc_arena_mark(s->call->arena);
    double *grad = kc_call_take(s->call, s->dual->n_points, sizeof *grad);
    kc_status status = grad != NULL ? recompute(s, beta, grad) : kc_fail_nomem(s->call->err);

    if (status == KC_OK) {
        kc_pairs_start(&s->pairs, grad);
    }
    kc_arena_release(s->call->arena, point);
    return status;
}

/* Steps with a gradient of floats, at most max_steps; then the gradient of where they have come,
 * but at an end of time, after which kc_dual_solve computes it. */
static kc_status run_single(smo *s, const double *beta, int64_t max_steps, kc_stop *stop)
{
    kc_arena_point point = kc_arena_mark(s->call->arena);
    size_t n_padded = kc_round_up(s->dual->n_points, KC_SMO_PAD);
    size_t n_groups = (size_t)s->dual->n_groups;
    float *arrays = kc_call_take(s->call, n_padded * (1 + 2 * n_groups), sizeof *arrays);
    kc_pairs single = s->pairs;

    if (arrays == NULL)
        return kc_fail_nomem(s->call->err);
    single.lanes = KC_F32;
    single.grad = arrays;
    for (size_t g = 0; g < n_groups; g++) {
        single.up[g] = arrays + n_padded * (1 + 2 * g);
        single.low[g] = arrays + n_padded * (2 + 2 * g);
    }
    kc_pairs_start(&single, s->grad);
    KC_TRY(kc_pairs_run(s->call, &single, s->dual->tol, max_steps, stop));
    s->pairs.n_steps = single.n_steps;
    s->pairs.next_poll = single.next_poll;
    s->pairs.objective = single.objective;
    kc_arena_release(s->call->arena, point);
    return *stop == KC_STOP_TIME || *stop == KC_STOP_CALLER ? KC_OK : freshen(s, beta);
}

static bool suits_single(const smo *s)
{
    return s->pairs.n >= LEAST_SINGLE_POINTS &&
           kc_pairs_suit_single(s->pairs.dtype, s->grad, s->pairs.n, s->dual->tol);
}

static bool find_narrow(const smo *s, const double *beta)
{
    kc_idle idle = kc_idle_find(s->dual, beta, s->grad, NULL);

    return kc_idle_is_narrow(&idle, s->dual->n_points);
}

/* At most max_steps, in single precision until that finds no more to do, then in double. */
static kc_status run_some(smo *s, const double *beta, int64_t max_steps, bool *is_single,
                          kc_stop *stop)
{
    kc_pairs *pairs = &s->pairs;
    int64_t last = pairs->n_steps + max_steps;

    if (*is_single) {
        KC_TRY(run_single(s, beta, max_steps, stop));
        s->fresh_at = pairs->n_steps;
        if (*stop == KC_STOP_TIME || *stop == KC_STOP_CALLER || *stop == KC_STOP_MAX_ITER)
            return KC_OK;
        *is_single = false;
    }
    return kc_pairs_run(s->call, pairs, s->dual->tol, last - pairs->n_steps, stop);
}

/* Whether the solution can be taken: its gradient is fresh enough, or is so now. */
static kc_status accept(smo *s, const double *beta, bool *is_fresh)
{
    int64_t n_steps = s->pairs.n_steps;

    *is_fresh = n_steps - s->fresh_at < FRESH_PER_POINT * (int64_t)s->dual->n_points;
    if (*is_fresh)
        return KC_OK;
    KC_TRY(freshen(s, beta));
    s->fresh_at = n_steps;
    return KC_OK;
}

/* Runs to the end, with a look now and then; accepts only a solution whose gradient is fresh. */
static kc_status run(smo *s, double *beta, int64_t max_iter, kc_stop *stop)
{
    kc_pairs *pairs = &s->pairs;
    int64_t n = (int64_t)s->dual->n_points;
    int64_t look = LOOK_PER_POINT * n > LOOK_STEPS ? LOOK_PER_POINT * n : LOOK_STEPS;
    int64_t stride = s->is_narrow != NULL ? n : look;
    int64_t look_at = pairs->n_steps + look;
    kc_watch watch = kc_watch_start(s->dual, s->store);
    bool is_single = suits_single(s);

    s->fresh_at = pairs->n_steps;
    for (;;) {
        int64_t left = max_iter - pairs->n_steps;
        bool is_fresh = true;
        int32_t g;
        kc_status status = run_some(s, beta, left < stride ? left : stride, &is_single, stop);
        if (status == KC_OK && *stop == KC_STOP_CONVERGED)
            status = accept(s, beta, &is_fresh);
        if (kc_stop_of(status, stop))
            return KC_OK;
        KC_TRY(status);
        if (!is_fresh)
            continue;
        if (*stop == KC_STOP_MAX_ITER && pairs->n_steps >= max_iter) /* may be the end of both */
            return kc_pairs_run(s->call, pairs, s->dual->tol, 0, stop);
        if (*stop != KC_STOP_MAX_ITER)
            return KC_OK;
        if (s->is_narrow != NULL && find_narrow(s, beta)) {
            *s->is_narrow = true;
            return KC_OK;
        }
        if (pairs->n_steps < look_at)
            continue;
        look_at = pairs->n_steps + look;
        if (kc_watch_look(&watch, beta, s->grad, kc_pairs_violation(pairs, &g), stop))
            return KC_OK;
        if (kc_watch_stretch(&watch, beta, s->grad))
            kc_pairs_start(pairs, s->grad);
    }
}

/* Goes on by blocks from where the steps have come. */
static kc_status focus(smo *s, kc_solution *out)
{
    return uses_whole(s) ? kc_block_solve(s->call, s->whole, &s->whole_dual, out, NULL)
                         : kc_block_solve(s->call, s->store, s->dual, out, NULL);
}

static bool is_crowded(const smo *s)
{
    const kc_pairs *pairs = &s->pairs;
    size_t n_free = 0;

    for (int32_t g = 0; g < pairs->n_groups; g++)
        for (size_t p = 0; p < pairs->n; p++)
            n_free += s->up[g][p] == s->low[g][p];
    return kc_block_is_crowded(n_free, pairs->n);
}

/* Everything but memory: the arena is given back by the caller. */
static kc_status solve(smo *s, kc_solution *out)
{
    kc_pairs *pairs = &s->pairs;
    size_t n = s->dual->n_points;
    int64_t max_iter = kc_dual_max_iter(s->dual);
    int64_t most = FOCUS_PER_POINT * (int64_t)n;
    bool is_short = s->dual->method == KC_METHOD_AUTO && n >= LEAST_FOCUS_POINTS && most < max_iter;

    KC_TRY(take_arrays(s, out->beta));
    pairs->n_steps = out->n_iter;
    pairs->objective = kc_dual_objective(s->dual, out->beta, out->grad);
    kc_pairs_start(pairs, out->grad);
    kc_status status = take_rows(s);
    if (!kc_stop_of(status, &out->stop)) {
        KC_TRY(status);
        KC_TRY(run(s, out->beta, is_short ? most : max_iter, &out->stop));
        if (is_short && out->stop == KC_STOP_MAX_ITER && is_crowded(s)) {
            is_short = false;
            KC_TRY(run(s, out->beta, max_iter, &out->stop));
        }
    }
    memcpy(out->grad, s->grad, n * sizeof *out->grad);
    out->n_row_visits += 2 * (pairs->n_steps - out->n_iter);
    out->n_iter = pairs->n_steps;
    if (is_short && out->stop == KC_STOP_MAX_ITER)
        return focus(s, out);
    return KC_OK;
}

kc_status kc_smo_solve(kc_call *call, kc_store *store, const kc_dual *dual, kc_solution *out,
                       bool *is_narrow)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    smo s = {
        .call = call, .store = store, .dual = dual, .is_narrow = is_narrow, .whole_dual = *dual};

    s.pairs.n = dual->n_points;
    s.pairs.n_groups = dual->n_groups;
    s.pairs.epsilon = dual->epsilon;
    s.pairs.reserve = reserve;
    s.pairs.reserve_data = &s;
    s.pairs.exact_below =
        dual->n_points < LEAST_RELAXED_POINTS ? HUGE_VAL : KC_EXACT_TOLS * dual->tol;
    s.pairs.dtype = kc_store_dtype(store);
    kc_status status = solve(&s, out);
    kc_store_free(call->ctx, s.whole);
    kc_arena_release(call->arena, point);
    return status;
}
