/* Judgement and foresight.  See kc_outlook.h. */
#include "solver/kc_outlook.h"

/* Where so large a share of all points are support vectors or would be, after the first blocks,
 * most rows will be asked for: half of the matrix takes fewer values.  Not where less than this
 * share of the last set has become support vectors: who violates then need not be one. */
#define DENSE_SHARE 0.85
#define DENSE_SET_SHARE 0.85
#define DENSE_BLOCKS 2

/* After the first blocks few points have a say, and only a share of nearly all support vectors
 * tells that free variables will be too many for a block. */
#define ALL_FREE_SHARE 0.95

/* Dense problems go on greedily (solver/kc_greedy.h), which reads the whole matrix, where values
 * cost so much, in multiply-adds; and where they cost less, but the first blocks took few steps per
 * member: the greedy visit rows with every step, blocks only when they are done.  These would not
 * need a matrix, so that it must not be larger than memory that is kept from call to call: fresh
 * memory takes longer than is saved.  Where all support vectors are free, what takes the place of
 * blocks is pair steps, with a matrix as well, and rows far away decide. */
#define GREEDY_WORK ((size_t)100)
#define GREEDY_LEAST_WORK ((size_t)40)
#define GREEDY_STEPS_PER_MEMBER 0.6
#define GREEDY_CHEAP_BYTES ((size_t)512 << 20)
#define GREEDY_FAR_POINTS ((size_t)8192)

/* From so many points on, a sample of them is looked at. */
#define FORESEEN_POINTS ((size_t)4096)
#define SAMPLE_POINTS ((size_t)256)

/* ---- Judgement ----------------------------------------------------------------------------- */

/* Nearly all points are support vectors, or will be. */
static bool is_dense(const kc_dual *dual, const kc_census *c)
{
    return c->n_blocks > 0 && c->n_blocks <= DENSE_BLOCKS &&
           (double)c->n_sv >= DENSE_SET_SHARE * (double)c->n_slots &&
           (double)(c->n_sv + c->n_violators) >= DENSE_SHARE * (double)dual->n_points;
}

/* Someone who has to be asked is asked for no more than is needed; and sums through w need no
 * matrix. */
static bool can_be_greedy(const kc_store *store, const kc_dual *dual)
{
    return !kc_store_is_linear(store) && kc_store_can_part(store) &&
           dual->n_points == kc_store_points(store);
}

/* Whether a dense problem should go on greedily rather than by blocks; or by pairs, where all its
 * support vectors are free. */
static bool suits_greedy(const kc_store *store, const kc_dual *dual, const kc_census *c,
                         bool is_free)
{
    size_t work = kc_store_work(store);
    double n_members = (double)(c->n_blocks * (int64_t)c->n_slots);
    bool takes_few = (double)c->n_steps <= GREEDY_STEPS_PER_MEMBER * n_members;
    bool is_small = dual->n_points * kc_store_row_bytes(store) <= GREEDY_CHEAP_BYTES;

    if (!can_be_greedy(store, dual))
        return false;
    if (work >= GREEDY_WORK)
        return true;
    return is_free ? dual->n_points >= GREEDY_FAR_POINTS
                   : work >= GREEDY_LEAST_WORK && takes_few && is_small;
}

kc_block_end kc_outlook_judge(const kc_store *store, const kc_dual *dual, const kc_census *census)
{
    size_t n = dual->n_points;
    bool is_free = (double)census->n_free > ALL_FREE_SHARE * (double)census->n_sv &&
                   kc_block_is_crowded(kc_store_dtype(store), n, n);

    if (!is_dense(dual, census))
        return KC_BLOCK_WAS_FINE;
    if (suits_greedy(store, dual, census, is_free))
        return KC_BLOCK_WAS_DENSE;
    return is_free ? KC_BLOCK_WAS_CROWDED : KC_BLOCK_WAS_FINE;
}

/* ---- Foresight ----------------------------------------------------------------------------- */

/* Support vectors and free variables among the members, and the mean value of the latter, group by
 * group. */
static void count_members(const kc_pairs *pairs, kc_census *c, double *mid)
{
    for (int32_t g = 0; g < pairs->n_groups; g++) {
        double total = 0;
        size_t n_free = 0;
        for (size_t k = 0; k < pairs->n; k++)
            if (kc_is_free(pairs->epsilon, pairs->beta[g][k], pairs->lo[g][k], pairs->hi[g][k])) {
                total += kc_value_at(pairs->lanes, pairs->grad, k) +
                         kc_value_at(pairs->lanes, pairs->up[g], k);
                n_free++;
            }
        mid[g] = n_free > 0 ? total / (double)n_free
                            : 0.5 * (pairs->peak[g].max_up + pairs->peak[g].min_low);
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

    *end = KC_BLOCK_WAS_FINE;
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
