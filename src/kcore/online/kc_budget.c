/* Which points stay.  All of it happens in the feature space of K + offset, so that the intercept,
 * the sum of offset * coef, follows the points.
 *
 * A point stands in n_outputs functions at once; where a text has a coefficient, there is a vector
 * of them here: |a| for its size, a.b > 0 for two of the same sign.
 *
 * Projections and mergers are those of a space with lengths.  Where a kernel shows that it has none
 * (K(x, x) <= 0, or K(x, z)^2 > K(x, x) K(z, z)), what they give could be of any size, and a point
 * takes the place of the smallest one instead. */
#include <math.h>
#include <string.h>

#include "online/kc_online.h"

/* A point closer to the span of the others than this, relative to its own length, adds nothing but
 * rounding. */
#define MIN_DISTANCE_F32 1e-5
#define MIN_DISTANCE_F64 1e-10

/* K(x, z)^2 may be larger than K(x, x) K(z, z) by so much of it: kernel values are rounded. */
#define ROUNDING_F32 1e-3
#define ROUNDING_F64 1e-9

/* Golden section: 0.618^24 is below 1e-5, and what is lost at the best point is flat. */
#define GOLDEN_STEPS 24
#define GOLDEN 0.61803398874989485

/* Points that are compared together; of most of these strips only the least number is found, in as
 * many minima as run side by side. */
#define STRIP ((size_t)64)
#define LANES ((size_t)8)

/* ---- Removal ------------------------------------------------------------------------------ */

static size_t append(kc_active *set, const kc_candidate *x)
{
    kc_active_put(set, set->n, x);
    return set->n - 1;
}

static size_t replace(kc_active *set, size_t place, const kc_candidate *x)
{
    kc_active_forget(set, place);
    kc_active_put(set, place, x);
    return place;
}

/* Where each candidate took the place of the oldest point, the n last ones are there, in turn. */
static size_t find_oldest(const kc_active *set)
{
    const int64_t n = (int64_t)set->n, first = set->n_arrived - n;
    size_t oldest = (size_t)(first % n);

    if (set->arrived[oldest] == first)
        return oldest;
    for (size_t i = 0; i < set->n; i++)
        if (set->arrived[i] < set->arrived[oldest])
            oldest = i;
    return oldest;
}

static double weight_of(const kc_active *set, size_t place)
{
    return set->sq_coef[place] * set->diag[place];
}

/* The least of the first n numbers, n being whole lanes. */
static double min_of(const double *x, size_t n)
{
    double lane[LANES], least;

    memcpy(lane, x, sizeof lane);
    for (size_t i = LANES; i < n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] = x[i + k] < lane[k] ? x[i + k] : lane[k];
    least = lane[0];
    for (size_t k = 1; k < LANES; k++)
        least = lane[k] < least ? lane[k] : least;
    return least;
}

/* The least sum of coef^2 K(x, x), and between which places it is found. */
typedef struct lightest {
    double weight;
    size_t from, to;
} lightest;

static lightest find_lightest(const kc_active *set)
{
    lightest found = {.weight = INFINITY, .to = set->n};

    for (size_t begin = 0; begin < set->n; begin += STRIP) {
        const size_t n = kc_min(STRIP, set->n - begin);
        double weights[STRIP], least;

        for (size_t i = 0; i < n; i++)
            weights[i] = weight_of(set, begin + i);
        for (size_t i = n; i < STRIP; i++)
            weights[i] = INFINITY;
        least = min_of(weights, STRIP);
        if (least < found.weight)
            found = (lightest){.weight = least, .from = begin};
        if (least <= found.weight)
            found.to = begin + n;
    }
    return found;
}

/* Of equals, the oldest. */
static size_t choose_lightest(const kc_active *set, const lightest *found)
{
    int64_t first = INT64_MAX;
    size_t place = 0;

    for (size_t i = found->from; i < found->to; i++)
        if (weight_of(set, i) == found->weight && set->arrived[i] < first) {
            first = set->arrived[i];
            place = i;
        }
    return place;
}

static size_t find_smallest(const kc_active *set)
{
    const lightest found = find_lightest(set);

    return choose_lightest(set, &found);
}

static double square_of(const double *a, size_t n)
{
    double sum = 0;

    for (size_t o = 0; o < n; o++)
        sum += a[o] * a[o];
    return sum;
}

/* A point of length zero: the functions are the same with and without it. */
static bool is_nothing(const kc_active *set, const kc_candidate *x)
{
    return !(x->diag > 0) && kc_kernel_definiteness(set->kernel) == KC_POSITIVE;
}

/* ---- Projection --------------------------------------------------------------------------- */

/* The old point leaves the span to the others, of which the candidate, joined already, is one. */
static size_t project_old(kc_online *online, size_t place, size_t row, const kc_candidate *x)
{
    kc_active *set = &online->set;
    kc_projection *p = &online->projection;
    const size_t last = p->n - 1;
    double *coef = online->room, *steps = online->room + set->n_outputs;
    kc_candidate changed = *x;

    for (size_t o = 0; o < set->n_outputs; o++) {
        coef[o] = set->coef[o * set->capacity + place];
        steps[o] = x->steps[o] + p->shares[last] * coef[o];
    }
    kc_active_spread(set, p->place_of, p->shares, last, coef);
    kc_projection_leave(p, row);
    p->place_of[p->n - 1] = (int32_t)place;
    changed.steps = steps;
    return replace(set, place, &changed);
}

static size_t project_new(kc_online *online, const kc_candidate *x)
{
    kc_projection *p = &online->projection;

    kc_projection_share(p);
    kc_active_spread(&online->set, p->place_of, p->shares, p->n, x->steps);
    return KC_NOWHERE;
}

/* The candidate has no place in the factor: it stands for itself alone, in the place of the
 * smallest point where the set is full. */
static size_t admit_alone(kc_online *online, const kc_candidate *x)
{
    kc_active *set = &online->set;
    kc_projection *p = &online->projection;

    if (set->n < online->budget)
        return append(set, x);
    const size_t place = find_smallest(set), row = kc_projection_row(p, place);

    if (row < p->n)
        kc_projection_leave(p, row);
    return replace(set, place, x);
}

static size_t admit_projected(kc_online *online, const kc_candidate *x)
{
    kc_active *set = &online->set;
    kc_projection *p = &online->projection;
    const double least = set->dtype == KC_F64 ? MIN_DISTANCE_F64 : MIN_DISTANCE_F32;
    const double distance = kc_projection_distance(p, x->k, set->dtype, set->offset, x->diag);
    const double loss_new = square_of(x->steps, set->n_outputs) * distance;

    if (is_nothing(set, x))
        return KC_NOWHERE;
    /* A projection is no longer than the point; rounding does not make its square twice that. */
    if (!(x->diag > 0 && distance >= -x->diag))
        return admit_alone(online, x);
    if (!(distance > least * x->diag))
        return project_new(online, x);
    if (set->n < online->budget) {
        kc_projection_join(p, set->n, distance);
        return append(set, x);
    }
    const size_t place = find_smallest(set), row = kc_projection_row(p, place);

    if (row == p->n) { /* a point that stands for itself */
        kc_projection_join(p, place, distance);
        return replace(set, place, x);
    }
    kc_projection_join(p, set->n, distance);
    if (set->sq_coef[place] * kc_projection_share_row(p, row) < loss_new)
        return project_old(online, place, row, x);
    p->n--;
    return project_new(online, x);
}

/* ---- Merging ------------------------------------------------------------------------------ */

/* Two points and what comes in their place: h x + (1 - h) partner, with coefficients
 * (p steps + q coef) / K(z, z), where p = K(x, z) and q = K(partner, z). */
typedef struct merger {
    bool is_rbf;        /* K(z, z) is the same for all z, and there is a line to search */
    size_t place;       /* of the partner */
    double sq_x, sq_p;  /* |steps|^2, |coef|^2 */
    double dot;         /* steps . coef */
    double k;           /* K(x, partner) */
    double dx, dp;      /* K(x, x), K(partner, partner) */
    double h, p, q, dz; /* what comes */
} merger;

/* |what the two are|^2 - |what comes|^2: what is lost. */
static double loss_of(const merger *m)
{
    const double kept = m->p * m->p * m->sq_x + m->q * m->q * m->sq_p + 2 * m->p * m->q * m->dot;
    const double all = m->dx * m->sq_x + m->dp * m->sq_p + 2 * m->k * m->dot;

    return all - kept / m->dz;
}

/* The better of keeping one of the two points. */
static void keep_one(merger *m)
{
    merger keep_x = *m;

    keep_x.h = 1;
    keep_x.p = keep_x.dz = m->dx;
    keep_x.q = m->k;
    m->h = 0;
    m->p = m->k;
    m->q = m->dz = m->dp;
    if (loss_of(&keep_x) < loss_of(m))
        *m = keep_x;
}

/* RBF: z on the line between the two has K(x, z) = kappa^((1-h)^2), K(partner, z) = kappa^(h^2). */
static void place_on_line(merger *m, double offset, double log_kappa, double h)
{
    m->h = h;
    m->p = exp((1 - h) * (1 - h) * log_kappa) + offset;
    m->q = exp(h * h * log_kappa) + offset;
    m->dz = m->dx;
}

static double loss_on_line(merger *m, double offset, double log_kappa, double h)
{
    place_on_line(m, offset, log_kappa, h);
    return loss_of(m);
}

static void search_line(merger *m, double offset)
{
    const double log_kappa = log(m->k - offset);
    merger best = *m, trial = *m;
    double low = 0, high = 1;
    double a = 1 - GOLDEN, b = GOLDEN;

    if (!isfinite(log_kappa))
        return;
    double loss_a = loss_on_line(&trial, offset, log_kappa, a);
    double loss_b = loss_on_line(&trial, offset, log_kappa, b);
    for (int step = 0; step < GOLDEN_STEPS; step++) {
        if (loss_a < loss_b) {
            high = b;
            b = a;
            loss_b = loss_a;
            a = high - GOLDEN * (high - low);
            loss_a = loss_on_line(&trial, offset, log_kappa, a);
        } else {
            low = a;
            a = b;
            loss_a = loss_b;
            b = low + GOLDEN * (high - low);
            loss_b = loss_on_line(&trial, offset, log_kappa, b);
        }
    }
    if (loss_on_line(&trial, offset, log_kappa, (low + high) / 2) < loss_of(&best))
        *m = trial;
}

static double product_of(const kc_active *set, const double *steps, size_t place)
{
    double dot = 0;

    for (size_t o = 0; o < set->n_outputs; o++)
        dot += steps[o] * set->coef[o * set->capacity + place];
    return dot;
}

/* Kernel values of points from `begin` on, and steps . coef of each. */
static void read_strip(const kc_active *set, const kc_candidate *x, size_t begin, size_t n,
                       double *k, double *dots)
{
    bool is_first = true;

    for (size_t i = 0; i < n; i++)
        k[i] = kc_number_at(x->k, begin + i, set->dtype) + set->offset;
    for (size_t o = 0; o < set->n_outputs; o++) {
        const double *coef = set->coef + o * set->capacity + begin;
        const double step = x->steps[o];

        if (step == 0)
            continue;
        for (size_t i = 0; i < n; i++)
            dots[i] = is_first ? step * coef[i] : dots[i] + step * coef[i];
        is_first = false;
    }
    for (size_t i = 0; is_first && i < n; i++) /* steps that are too small for a number */
        dots[i] = 0;
}

/* What is lost where the candidate or the point is kept for both; infinite for other signs, and
 * where the kernel is not positive on the two: what is divided by is then of no account, if it is
 * not 0.  No branches: signs come in no order that one could follow.  is_level: K(z, z) is that of
 * x for all points, and nothing is divided. */
KC_INLINE void find_losses_of(const kc_active *set, const merger *m, size_t begin, size_t n,
                              const double *k, bool is_level, double *losses)
{
    const double share = 1 / m->dx;
    const double most = m->dx * (1 + (set->dtype == KC_F64 ? ROUNDING_F64 : ROUNDING_F32));
    const double *diag = set->diag + begin, *sq_coef = set->sq_coef + begin;

    for (size_t i = 0; i < n; i++) {
        const double square = k[i] * k[i];
        const double part = is_level ? square * share : square / (diag[i] > 0 ? diag[i] : 1);
        const double loss_x = m->sq_x * (m->dx - part);
        const double loss_p = sq_coef[i] * (diag[i] - square * share);
        const double loss = loss_x < loss_p ? loss_x : loss_p;
        const bool is_positive = is_level || square < most * diag[i];

        losses[i] = (is_positive & (losses[i] > 0)) ? loss : INFINITY; /* steps . coef up to here */
    }
    for (size_t i = n; i < STRIP; i++)
        losses[i] = INFINITY;
}

static void find_losses(const kc_active *set, const merger *m, size_t begin, size_t n,
                        const double *k, double *losses)
{
    if (m->is_rbf)
        find_losses_of(set, m, begin, n, k, true, losses);
    else
        find_losses_of(set, m, begin, n, k, false, losses);
}

/* The partner of the same sign that loses least where one of the two is kept; false: none. */
static bool find_partner(const kc_active *set, const kc_candidate *x, merger *m)
{
    double least = INFINITY;

    m->sq_x = square_of(x->steps, set->n_outputs);
    m->dx = x->diag;
    if (!(m->dx > 0))
        return false;
    for (size_t begin = 0; begin < set->n; begin += STRIP) {
        const size_t n = kc_min(STRIP, set->n - begin);
        double k[STRIP], losses[STRIP];

        read_strip(set, x, begin, n, k, losses);
        find_losses(set, m, begin, n, k, losses);
        if (!(min_of(losses, STRIP) < least))
            continue;
        for (size_t i = 0; i < n; i++)
            if (losses[i] < least) {
                least = losses[i];
                m->place = begin + i;
                m->k = k[i];
            }
    }
    if (least == INFINITY)
        return false;
    m->sq_p = set->sq_coef[m->place];
    m->dp = set->diag[m->place];
    m->dot = product_of(set, x->steps, m->place);
    keep_one(m);
    return true;
}

static size_t admit_merged(kc_online *online, const kc_candidate *x)
{
    kc_active *set = &online->set;
    const lightest smallest = find_lightest(set);
    double *coef = online->room;
    kc_candidate changed = *x;
    merger m = {.is_rbf = kc_kernel_is_rbf(set->kernel)};

    if (is_nothing(set, x))
        return KC_NOWHERE;
    if (!find_partner(set, x, &m))
        return replace(set, choose_lightest(set, &smallest), x);
    if (m.is_rbf)
        search_line(&m, set->offset);
    if (!(loss_of(&m) < smallest.weight))
        return replace(set, choose_lightest(set, &smallest), x);
    for (size_t o = 0; o < set->n_outputs; o++)
        coef[o] = (m.p * x->steps[o] + m.q * set->coef[o * set->capacity + m.place]) / m.dz;
    kc_active_forget(set, m.place);
    if (m.h == 0) {
        kc_active_step(set, m.place, coef);
        return KC_NOWHERE;
    }
    changed.steps = coef;
    if (m.h == 1)
        kc_active_put(set, m.place, &changed);
    else
        kc_active_mix(set, m.place, m.h, &changed, coef);
    return m.place;
}

/* ---- Choice ------------------------------------------------------------------------------- */

size_t kc_budget_admit(kc_online *online, const kc_candidate *x)
{
    kc_active *set = &online->set;

    if (online->budget > 0 && online->strategy == KC_STRATEGY_PROJECTION)
        return admit_projected(online, x);
    if (online->budget == 0 || set->n < online->budget)
        return append(set, x);
    if (online->strategy == KC_STRATEGY_MERGE)
        return admit_merged(online, x);
    return replace(
        set, online->strategy == KC_STRATEGY_OLDEST ? find_oldest(set) : find_smallest(set), x);
}
