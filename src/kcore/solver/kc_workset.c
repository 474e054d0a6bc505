/* The choice of a working set.  See kc_workset.h.
 *
 * No sorting: the best k of a list are found by a histogram of their keys, in index order within
 * the last bin.  All gates are counts, so that the choice depends on the problem alone. */
#include "solver/kc_workset.h"

#include <math.h>
#include <string.h>

#define N_BINS 1024

kc_status kc_workset_create(kc_call *call, const kc_block_tuning *tuning, size_t n,
                            int32_t n_layers, uint64_t seed, kc_workset *out)
{
    *out = (kc_workset){.tuning = tuning, .rng = kc_rng_seed(seed)};
    out->members = kc_call_take(call, n, sizeof *out->members);
    out->is_member = kc_call_take(call, n, sizeof *out->is_member);
    out->free = kc_call_take(call, n, sizeof *out->free);
    out->keys = kc_call_take(call, n, sizeof *out->keys);
    for (int32_t s = 0; s < 2 * n_layers; s++)
        out->side[s] = kc_call_take(call, n, sizeof *out->side[s]);
    bool has_sides = out->side[2 * n_layers - 1] != NULL && out->side[0] != NULL;
    if (!out->members || !out->is_member || !out->free || !out->keys || !has_sides)
        return kc_fail_nomem(call->err);
    memset(out->is_member, 0, n * sizeof *out->is_member);
    return KC_OK;
}

/* ---- Looking ------------------------------------------------------------------------------- */

/* A variable is free where it can rise and fall at the same value. */
static bool is_free(const kc_front *front, int32_t g, size_t p)
{
    return front->up[g][p] == front->low[g][p];
}

static double find_mid(const kc_front *front, int32_t g)
{
    const kc_peak *peak = &front->peak[g];
    double total = 0;
    size_t n_free = 0;

    for (size_t p = 0; p < front->n; p++)
        if (is_free(front, g, p)) {
            total += front->grad[p] + front->up[g][p];
            n_free++;
        }
    if (n_free > 0)
        return total / (double)n_free;
    if (isfinite(peak->max_up) && isfinite(peak->min_low))
        return 0.5 * (peak->max_up + peak->min_low);
    return isfinite(peak->max_up) ? peak->max_up : isfinite(peak->min_low) ? peak->min_low : 0;
}

void kc_workset_look(kc_workset *set, kc_front *front)
{
    size_t n_free = 0;

    for (int32_t g = 0; g < front->n_layers; g++)
        front->mid[g] = find_mid(front, g);
    for (size_t p = 0; p < front->n; p++) {
        bool is_any = is_free(front, 0, p) || (front->n_layers == 2 && is_free(front, 1, p));
        set->free[n_free] = (int32_t)p;
        n_free += is_any;
    }
    set->n_free = n_free;
}

/* The variables of a group that are not free and violate, those to rise and those to fall. */
static void find_violators(kc_workset *set, const kc_front *front, int32_t g)
{
    const double *up = front->up[g];
    const double *low = front->low[g];
    int32_t *rising = set->side[2 * g];
    int32_t *falling = set->side[2 * g + 1];
    double mid = front->mid[g];
    size_t n_rising = 0;
    size_t n_falling = 0;

    for (size_t p = 0; p < front->n; p++) {
        double grad = front->grad[p];
        bool is_held = up[p] != low[p];
        rising[n_rising] = (int32_t)p;
        falling[n_falling] = (int32_t)p;
        n_rising += is_held & (grad + up[p] > mid);
        n_falling += is_held & (grad + low[p] < mid);
    }
    set->n_side[2 * g] = n_rising;
    set->n_side[2 * g + 1] = n_falling;
}

/* ---- Choosing ------------------------------------------------------------------------------ */

static void add(kc_workset *set, size_t p)
{
    if (!set->is_member[p]) {
        set->is_member[p] = 1;
        set->members[set->n_members++] = (int32_t)p;
    }
}

/* The positions of the `count` largest keys; keys[k] >= 0 belongs to list[k]. */
static void add_largest(kc_workset *set, const int32_t *list, size_t n, size_t count)
{
    size_t bins[N_BINS] = {0};
    double largest = 0;

    for (size_t k = 0; k < n; k++)
        largest = kc_higher(set->keys[k], largest);
    double scale = largest > 0 ? (N_BINS - 1) / largest : 0;
    if (!isfinite(scale))
        scale = 0;
    for (size_t k = 0; k < n; k++)
        bins[(size_t)(set->keys[k] * scale)]++;
    size_t last = N_BINS;
    size_t above = 0; /* keys in higher bins than `last` */
    while (last > 0 && above + bins[last - 1] <= count)
        above += bins[--last];
    size_t n_last = count - above; /* of bin last - 1 */
    for (size_t k = 0; k < n; k++) {
        size_t bin = (size_t)(set->keys[k] * scale);
        if (bin >= last || (bin + 1 == last && n_last > 0)) {
            n_last -= bin < last;
            add(set, (size_t)list[k]);
        }
    }
}

/* `count` members drawn from the list, without those that are members already. */
static void add_random(kc_workset *set, int32_t *list, size_t n, size_t count)
{
    size_t goal = set->n_members + count;

    for (size_t k = 0; k < n && set->n_members < goal; k++) {
        size_t other = k + (size_t)kc_rng_below(&set->rng, n - k);
        int32_t drawn = list[other];
        list[other] = list[k];
        list[k] = drawn;
        add(set, (size_t)drawn);
    }
}

static void add_free(kc_workset *set, const kc_front *front, size_t count)
{
    if (set->n_free <= count) {
        for (size_t k = 0; k < set->n_free; k++)
            add(set, (size_t)set->free[k]);
        return;
    }
    /* Those nearest the middle: they will stay free. */
    double farthest = 0;
    for (size_t k = 0; k < set->n_free; k++) {
        size_t p = (size_t)set->free[k];
        int32_t g = is_free(front, 0, p) ? 0 : 1;
        set->keys[k] = fabs(front->grad[p] + front->up[g][p] - front->mid[g]);
        farthest = kc_higher(set->keys[k], farthest);
    }
    for (size_t k = 0; k < set->n_free; k++)
        set->keys[k] = farthest - set->keys[k];
    add_largest(set, set->free, set->n_free, count);
}

static void add_violators(kc_workset *set, const kc_front *front, int32_t s, size_t count,
                          bool is_random)
{
    int32_t g = s / 2;
    size_t n = set->n_side[s];

    if (is_random && n > count) {
        add_random(set, set->side[s], n, count);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        size_t p = (size_t)set->side[s][k];
        set->keys[k] = s % 2 == 0 ? front->grad[p] + front->up[g][p] - front->mid[g]
                                  : front->mid[g] - front->grad[p] - front->low[g][p];
    }
    add_largest(set, set->side[s], n, kc_min(count, n));
}

static void add_worst(kc_workset *set, const kc_front *front, int32_t g)
{
    const kc_peak *peak = &front->peak[g];

    if (!(peak->max_up > peak->min_low))
        return;
    add(set, peak->at);
    size_t p = 0;
    while (front->grad[p] + front->low[g][p] != peak->min_low)
        p++;
    add(set, p);
}

/* The sides in ascending order of length, so that what a short one leaves goes to the others. */
static void order_sides(const kc_workset *set, int32_t n_sides, int32_t *order)
{
    for (int32_t s = 0; s < n_sides; s++) {
        int32_t at = s;
        while (at > 0 && set->n_side[order[at - 1]] > set->n_side[s]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = s;
    }
}

static void dismiss(kc_workset *set)
{
    for (size_t k = 0; k < set->n_members; k++)
        set->is_member[set->members[k]] = 0;
    set->n_members = 0;
}

void kc_workset_choose(kc_workset *set, const kc_front *front, size_t size, bool is_first)
{
    int32_t n_sides = 2 * front->n_layers;
    int32_t order[4];

    dismiss(set);
    set->n_violators = 0;
    for (int32_t g = 0; g < front->n_layers; g++) {
        find_violators(set, front, g);
        set->n_violators += set->n_side[2 * g] + set->n_side[2 * g + 1];
        add_worst(set, front, g);
    }
    add_free(set, front, (size_t)(set->tuning->free_share * (double)size));
    bool is_random =
        is_first || (set->n_violators >= size &&
                     (double)set->n_free <= set->tuning->random_free_share * (double)front->n_sv);
    order_sides(set, n_sides, order);
    for (int32_t k = 0; k < n_sides && set->n_members < size; k++)
        add_violators(set, front, order[k], (size - set->n_members) / (size_t)(n_sides - k),
                      is_random);
}
