/* Judgement and foresight.  See kc_outlook.h. */
#include "solver/kc_outlook.h"

/* Where so large a share of all points are support vectors or would be, after the first blocks,
 * most rows will be asked for: half of the matrix takes fewer values.  Not where less than this
 * share of the last set has become support vectors: who violates then need not be one. */
#define DENSE_SHARE 0.85
#define DENSE_SET_SHARE 0.8
#define DENSE_BLOCKS 2

/* After the first blocks few points have a say, and only a share of nearly all support vectors
 * tells that free variables will be too many for a block. */
#define ALL_FREE_SHARE 0.95

/* Dense problems go on greedily (solver/kc_greedy.h), which reads the whole matrix, where values
 * cost so much, in multiply-adds; and where they cost less, but the first blocks took few steps per
 * member: the greedy visit rows with every step, blocks only when they are done.  These would not
 * need a matrix, so that it must not be too large: fresh memory takes longer than is saved. */
#define GREEDY_WORK ((size_t)100)
#define GREEDY_LEAST_WORK ((size_t)40)
#define GREEDY_STEPS_PER_MEMBER 0.6
#define GREEDY_CHEAP_BYTES ((size_t)4 << 30)

/* Crowded problems of so many points go on greedily where GREEDY_CROWD_SHARE of them are support
 * vectors or would be, or no more than GREEDY_FREE_SHARE of the support vectors are free: pair
 * steps run on one thread, and rows are far away, but they leave out who has settled.  So do all
 * beyond MOST_PAIRS_POINTS: their matrix would take 4 GiB and more, and without it rows are best
 * visited in batches. */
#define GREEDY_FAR_POINTS ((size_t)4096)
#define GREEDY_CROWD_SHARE 0.75
#define GREEDY_FREE_SHARE 0.5
#define MOST_PAIRS_POINTS ((size_t)32768)

/* From so many points on, a sample of them is looked at. */
#define FORESEEN_POINTS ((size_t)4096)
#define SAMPLE_POINTS ((size_t)256)

/* ---- Judgement ----------------------------------------------------------------------------- */

/* How many points are support vectors, or would be. */
static double share_of_points(const kc_dual *dual, const kc_census *c)
{
    return (double)(c->n_sv + c->n_violators) / (double)dual->n_points;
}

/* Nearly all points are support vectors, or will be. */
static bool is_dense(const kc_dual *dual, const kc_census *c)
{
    return c->n_blocks > 0 && c->n_blocks <= DENSE_BLOCKS &&
           (double)c->n_sv >= DENSE_SET_SHARE * (double)c->n_slots &&
           share_of_points(dual, c) >= DENSE_SHARE;
}

/* All support vectors are free, and they will be too many. */
static bool will_be_crowded(const kc_dual *dual, const kc_census *c)
{
    size_t n = dual->n_points;

    return (double)c->n_free > ALL_FREE_SHARE * (double)c->n_sv && kc_block_is_crowded(n, n);
}

/* Someone who has to be asked is asked for no more than is needed; and sums through w need no
 * matrix. */
static bool can_be_greedy(const kc_store *store, const kc_dual *dual)
{
    return !kc_store_is_linear(store) && kc_store_can_part(store) &&
           dual->n_points == kc_store_points(store);
}

/* Whether a dense problem should go on greedily rather than by blocks, cheap as its values are. */
static bool suits_cheap(const kc_store *store, const kc_dual *dual, const kc_census *c)
{
    double n_members = (double)(c->n_blocks * (int64_t)c->n_slots);
    bool takes_few = (double)c->n_steps <= GREEDY_STEPS_PER_MEMBER * n_members;
    bool is_small = dual->n_points * kc_store_row_bytes(store) <= GREEDY_CHEAP_BYTES;

    return can_be_greedy(store, dual) && kc_store_work(store) >= GREEDY_LEAST_WORK && takes_few &&
           is_small;
}

/* Whether a crowded one should, rather than by pairs. */
static bool suits_crowd(const kc_store *store, const kc_dual *dual, const kc_census *c)
{
    bool is_large = dual->n_points > MOST_PAIRS_POINTS && kc_store_can_part(store);
    bool is_full = share_of_points(dual, c) >= GREEDY_CROWD_SHARE ||
                   (double)c->n_free <= GREEDY_FREE_SHARE * (double)c->n_sv;

    return is_large ||
           (is_full && dual->n_points >= GREEDY_FAR_POINTS && can_be_greedy(store, dual));
}

kc_block_end kc_outlook_judge(const kc_store *store, const kc_dual *dual, const kc_census *census)
{
    const bool is_full = is_dense(dual, census);

    if (is_full && can_be_greedy(store, dual) && kc_store_work(store) >= GREEDY_WORK)
        return KC_BLOCK_TO_GREEDY;
    if (census->is_crowded || (is_full && will_be_crowded(dual, census)))
        return suits_crowd(store, dual, census) ? KC_BLOCK_TO_GREEDY : KC_BLOCK_TO_PAIRS;
    return is_full && suits_cheap(store, dual, census) ? KC_BLOCK_TO_GREEDY : KC_BLOCK_TO_BLOCKS;
}

/* ---- Foresight ----------------------------------------------------------------------------- */

/* Support vectors and free variables among the members, and the mean value of the latter, group by
 * group. */
static void count_members(const kc_pairs *pairs, kc_census *c, double *mid)
{
    for (int32_t g = 0; g < pairs->n_groups; g++) {
        size_t n_free;
        mid[g] = kc_pairs_mu(pairs, g, &n_free);
        c->n_free += n_free;
    }
    for (size_t k = 0; k < pairs->n; k++)
        c->n_sv += kc_pairs_coefficient(pairs, k) != 0;
}

static bool is_violator(const kc_block_view *view, size_t p, double grad, const double *mid)
{
    bool is_any = false;

    for (int32_t g = 0; g < view->pairs->n_groups; g++)
        is_any |= view->up[g][p] != view->low[g][p] &&
                  (grad + view->up[g][p] > mid[g] || grad + view->low[g][p] < mid[g]);
    return is_any;
}

static size_t sampled(const kc_dual *dual, size_t i)
{
    return i * dual->n_points / SAMPLE_POINTS;
}

/* Values of the sample against the members. */
static kc_status gather(kc_call *call, kc_store *store, const kc_dual *dual,
                        const kc_block_view *view, void **out)
{
    const size_t n = view->pairs->n;
    int32_t *points = kc_call_take(call, SAMPLE_POINTS + n, sizeof *points);

    *out = kc_call_take(call, SAMPLE_POINTS * n, kc_dtype_bytes(kc_store_dtype(store)));
    if (points == NULL || *out == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < SAMPLE_POINTS; i++)
        points[i] = (int32_t)kc_cols_point(&dual->cols, sampled(dual, i));
    for (size_t k = 0; k < n; k++)
        points[SAMPLE_POINTS + k] =
            (int32_t)kc_cols_point(&dual->cols, (size_t)view->position_of[k]);
    return kc_store_gather(call, store, points, SAMPLE_POINTS, points + SAMPLE_POINTS, n, *out, n);
}

/* How many of the points outside of the block will violate. */
static kc_status count_violators(kc_call *call, kc_store *store, const kc_dual *dual,
                                 const kc_block_view *view, const double *mid, size_t *count)
{
    const size_t n = view->pairs->n;
    void *values;
    size_t n_found = 0;

    KC_TRY(gather(call, store, dual, view, &values));
    for (size_t i = 0; i < SAMPLE_POINTS; i++) {
        const size_t p = sampled(dual, i);
        double grad = view->grad[p];
        for (size_t k = 0; k < n; k++)
            grad -= (kc_pairs_coefficient(view->pairs, k) - view->old_coefficient[k]) *
                    kc_value_at(kc_store_dtype(store), values, i * n + k);
        n_found += !view->is_member[p] && is_violator(view, p, grad, mid);
    }
    *count = n_found * dual->n_points / SAMPLE_POINTS;
    return KC_OK;
}

kc_status kc_outlook_foresee(kc_call *call, kc_store *store, const kc_dual *dual,
                             const kc_block_view *view, int64_t n_steps, kc_block_end *end)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    kc_census then = {.n_blocks = 1, .n_steps = n_steps, .n_slots = view->pairs->n};
    double mid[2];

    *end = KC_BLOCK_TO_BLOCKS;
    if (dual->n_points < FORESEEN_POINTS || !can_be_greedy(store, dual) ||
        kc_store_work(store) < GREEDY_LEAST_WORK)
        return KC_OK;
    count_members(view->pairs, &then, mid);
    if ((double)then.n_sv < DENSE_SET_SHARE * (double)then.n_slots)
        return KC_OK;
    kc_status status = count_violators(call, store, dual, view, mid, &then.n_violators);
    kc_arena_release(call->arena, point);
    if (status == KC_OK)
        *end = kc_outlook_judge(store, dual, &then);
    return status;
}
