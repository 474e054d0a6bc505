/* Idle points.  See kc_idle.h. */
#include "solver/kc_idle.h"

#include <math.h>

#include "solver/kc_pairs.h"

/* All violations lie between the least low-value and the largest up-value of a group.  Idle is what
 * lies outside by more than this share of their distance: both ends still move. */
#define SLACK_SHARE 0.5

/* Setting up a problem of their own pays for this share of the points, and for so many at least. */
#define NARROW_SHARE 0.5
#define LEAST_POINTS 64

/* Up-values below `low` and low-values above `high` are idle. */
typedef struct window {
    double low, high;
} window;

static window find_window(const kc_dual *dual, int32_t g, const double *beta, const double *grad,
                          double *violation)
{
    const double *lo = dual->lo + (size_t)g * dual->n_points;
    const double *hi = dual->hi + (size_t)g * dual->n_points;
    double max_up = -HUGE_VAL;
    double min_low = HUGE_VAL;

    for (size_t p = 0; p < dual->n_points; p++) {
        max_up = kc_higher(grad[p] + kc_rise(dual->epsilon, beta[p], hi[p]), max_up);
        min_low = kc_lower(grad[p] + kc_fall(dual->epsilon, beta[p], lo[p]), min_low);
    }
    *violation = max_up - min_low;
    double slack = isfinite(*violation) ? SLACK_SHARE * fmax(*violation, 0) : HUGE_VAL;
    return (window){min_low - slack, max_up + slack};
}

kc_idle kc_idle_find(const kc_dual *dual, const double *beta, const double *grad, int32_t *active)
{
    size_t n = dual->n_points;
    kc_idle idle = {0, -HUGE_VAL};
    window windows[2];

    for (int32_t g = 0; g < dual->n_groups; g++) {
        double violation;
        windows[g] = find_window(dual, g, beta + (size_t)g * n, grad, &violation);
        idle.violation = fmax(idle.violation, violation);
    }
    for (size_t p = 0; p < n; p++) {
        bool is_idle = true;
        for (int32_t g = 0; g < dual->n_groups; g++) {
            size_t v = (size_t)g * n + p;
            is_idle &= grad[p] + kc_rise(dual->epsilon, beta[v], dual->hi[v]) < windows[g].low &&
                       grad[p] + kc_fall(dual->epsilon, beta[v], dual->lo[v]) > windows[g].high;
        }
        if (active != NULL)
            active[idle.n_active] = (int32_t)p; /* overwritten if it is idle */
        idle.n_active += !is_idle;
    }
    return idle;
}

bool kc_idle_is_narrow(const kc_idle *idle, size_t n_points)
{
    return n_points >= LEAST_POINTS && idle->n_active > 0 &&
           (double)idle->n_active <= NARROW_SHARE * (double)n_points;
}
