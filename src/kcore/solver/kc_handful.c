/* The worst few.  See kc_handful.h. */
#include "solver/kc_handful.h"

#include <math.h>
#include <string.h>

/* They are solved to this share of the violation: beyond it, they would undo what others are going
 * to do. */
#define INNER_SHARE 0.7
#define INNER_TOL_SHARE 0.9
#define INNER_STEPS_PER_MEMBER 100

/* The fewest visits of rows are needed where about this share of moves turns back.  It is looked at
 * so often per point, since what a factor does shows when most have moved again. */
#define TURNS_SHARE 0.42
#define LOOKS_PER_POINT 4
#define OVER_FIRST 1.2
#define OVER_LEAST 1.0
#define OVER_MOST 1.5
#define OVER_GAIN 0.3

enum { MOST = KC_SCOUT_MOST };

/* The matrix, if rows of it are runs of the problem's points: through w, sums are others. */
static void find_matrix(kc_handful *h)
{
    const kc_cols *cols = &h->dual->cols;
    const char *gram = kc_store_matrix(h->store, &h->ld);

    if (gram == NULL || cols->n_spans == 2 || kc_store_is_linear(h->store))
        return;
    h->gram = gram + cols->span[0].begin * (h->ld + 1) * kc_dtype_bytes(kc_store_dtype(h->store));
}

kc_status kc_handful_create(kc_call *call, kc_store *store, const kc_dual *dual,
                            const kc_solution *from, kc_handful *out)
{
    *out = (kc_handful){.store = store,
                        .dual = dual,
                        .beta = from->beta,
                        .n_steps = from->n_iter,
                        .objective = kc_dual_objective(dual, from->beta, from->grad),
                        .over = OVER_FIRST,
                        .sense = kc_call_take(call, dual->n_points, sizeof *out->sense)};
    if (out->sense == NULL)
        return kc_fail_nomem(call->err);
    memset(out->sense, 0, dual->n_points * sizeof *out->sense);
    find_matrix(out);
    return KC_OK;
}

/* ---- The problem of the members ------------------------------------------------------------ */

static size_t member(const kc_handful *h, size_t k)
{
    return (size_t)h->members[k].at;
}

/* Where the matrix has the value of a and b. */
static const char *value_of(const kc_handful *h, size_t a, size_t b)
{
    return h->gram + (a * h->ld + b) * kc_dtype_bytes(kc_store_dtype(h->store));
}

/* Values among the members, and of those pending against them, out of the matrix: all are asked for
 * before the first is read. */
static void pick_values(kc_handful *h, const kc_batch *pending)
{
    const size_t bytes = kc_dtype_bytes(kc_store_dtype(h->store));
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
            memcpy(out + (a * MOST + b) * bytes, value, bytes);
            memcpy(out + (b * MOST + a) * bytes, value, bytes);
        }
    for (size_t k = 0; k < pending->n; k++)
        for (size_t b = 0; b < n; b++)
            memcpy(cross + (k * MOST + b) * bytes,
                   value_of(h, (size_t)pending->moves[k].at, member(h, b)), bytes);
}

static kc_status gather_values(kc_call *call, kc_handful *h, const kc_batch *pending)
{
    int32_t points[MOST];
    int32_t others[MOST];

    if (h->gram != NULL) {
        pick_values(h, pending);
        return KC_OK;
    }
    for (size_t k = 0; k < h->n; k++)
        points[k] = (int32_t)kc_cols_point(&h->dual->cols, member(h, k));
    for (size_t k = 0; k < pending->n; k++)
        others[k] = (int32_t)kc_cols_point(&h->dual->cols, (size_t)pending->moves[k].at);
    KC_TRY(kc_store_gather(call, h->store, points, h->n, points, h->n, h->values, MOST));
    if (pending->n == 0)
        return KC_OK;
    return kc_store_gather(call, h->store, others, pending->n, points, h->n, h->cross, MOST);
}

/* The gradient at a member, before what is pending: its value, less what was added to that. */
static double member_grad(const kc_handful *h, size_t k)
{
    const kc_violator *m = &h->members[k];
    const size_t v = (size_t)(m->side / 2) * h->dual->n_points + (size_t)m->at;
    const double beta = h->beta[v];

    return m->value - (m->side % 2 == 0 ? kc_rise(h->dual->epsilon, beta, h->dual->hi[v])
                                        : kc_fall(h->dual->epsilon, beta, h->dual->lo[v]));
}

static void load(kc_handful *h, const kc_batch *pending)
{
    const kc_dual *dual = h->dual;
    const kc_dtype dtype = kc_store_dtype(h->store);
    const size_t bytes = kc_dtype_bytes(dtype);

    h->pairs = (kc_pairs){.n = h->n,
                          .n_groups = dual->n_groups,
                          .epsilon = dual->epsilon,
                          .over = h->over,
                          .exact_below = KC_EXACT_TOLS * dual->tol,
                          .lanes = KC_F64,
                          .grad = h->grad,
                          .dtype = dtype,
                          .diag = h->diag,
                          .gram = h->values,
                          .ld = MOST,
                          .n_steps = h->n_steps,
                          .objective = h->objective};
    for (int32_t g = 0; g < dual->n_groups; g++) {
        h->pairs.beta[g] = h->inner_beta[g];
        h->pairs.lo[g] = h->lo[g];
        h->pairs.hi[g] = h->hi[g];
        h->pairs.up[g] = h->up[g];
        h->pairs.low[g] = h->low[g];
    }
    for (size_t k = 0; k < h->n; k++) {
        h->grad[k] = member_grad(h, k);
        for (size_t i = 0; i < pending->n; i++)
            h->grad[k] -= pending->moves[i].delta * kc_value_at(dtype, h->cross, i * MOST + k);
        memcpy((char *)h->diag + k * bytes, (const char *)h->values + k * (MOST + 1) * bytes,
               bytes);
        for (int32_t g = 0; g < dual->n_groups; g++) {
            size_t v = (size_t)g * dual->n_points + member(h, k);
            h->inner_beta[g][k] = h->beta[v];
            h->lo[g][k] = dual->lo[v];
            h->hi[g][k] = dual->hi[v];
        }
    }
    kc_pairs_start(&h->pairs, h->grad);
}

/* ---- What comes of it ---------------------------------------------------------------------- */

/* Who of the members has moved, and how. */
static void list_moves(const kc_handful *h, kc_batch *out)
{
    for (size_t k = 0; k < h->n; k++) {
        const size_t p = member(h, k);
        bool has_moved = false;
        kc_move m = {.at = (int32_t)p, .row = h->gram != NULL ? value_of(h, p, 0) : NULL};
        for (int32_t g = 0; g < h->dual->n_groups; g++) {
            double before = h->beta[(size_t)g * h->dual->n_points + p];
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

static void tune(kc_handful *h, const kc_batch *b)
{
    for (size_t k = 0; k < b->n; k++) {
        int8_t *sense = &h->sense[b->moves[k].at];
        const int8_t now = (int8_t)(b->moves[k].delta > 0 ? 1 : -1);
        h->n_again += *sense != 0;
        h->n_turned += *sense == -now;
        *sense = now;
    }
    if (h->n_again * LOOKS_PER_POINT <= (int64_t)h->dual->n_points)
        return;
    const double share = (double)h->n_turned / (double)h->n_again;
    h->over += OVER_GAIN * (TURNS_SHARE - share);
    h->over = kc_lower(kc_higher(h->over, OVER_LEAST), OVER_MOST);
    h->n_again = h->n_turned = 0;
}

kc_status kc_handful_solve(kc_call *call, kc_handful *h, const kc_batch *pending, int64_t max_iter,
                           kc_batch *out)
{
    const int64_t left = max_iter - h->n_steps;
    const int64_t limit = INNER_STEPS_PER_MEMBER * (int64_t)h->n;
    int32_t g;
    kc_stop stop;

    out->n = 0;
    out->n_steps = h->n_steps;
    if (h->n < 2)
        return KC_OK;
    KC_TRY(gather_values(call, h, pending));
    load(h, pending);
    const double tol =
        fmax(INNER_TOL_SHARE * h->dual->tol, INNER_SHARE * kc_pairs_violation(&h->pairs, &g));
    KC_TRY(kc_pairs_run(call, &h->pairs, tol, left < limit ? left : limit, &stop));
    out->n_steps = h->n_steps = h->pairs.n_steps;
    h->objective = h->pairs.objective;
    list_moves(h, out);
    tune(h, out);
    return KC_OK;
}
