/* Looks for the ends that are no optimum.  See kc_watch.h. */
#include "solver/kc_watch.h"

#include <float.h>
#include <math.h>

/* Looks without gain until a solver is said to be stalled. */
#define MAX_IDLE 3

/* The hulls of two classes meet where the distance of their nearest points is below this share of
 * the largest |x|. */
#define MEETING_SHARE 1e-7

double kc_largest_diag(const kc_dual *dual, const kc_store *store)
{
    const void *diag = kc_store_diag(store);
    double largest = 0;

    for (size_t p = 0; p < dual->n_points; p++) {
        size_t point = kc_cols_point(&dual->cols, p);
        double value = kc_store_dtype(store) == KC_F64 ? ((const double *)diag)[point]
                                                       : (double)((const float *)diag)[point];
        largest = kc_higher(fabs(value), largest);
    }
    return largest;
}

kc_watch kc_watch_start(const kc_dual *dual, const kc_store *store)
{
    kc_watch watch = {.dual = dual, .objective = HUGE_VAL, .violation = HUGE_VAL};

    watch.largest_diag = kc_largest_diag(dual, store);
    for (size_t v = 0; v < (size_t)dual->n_groups * dual->n_points; v++)
        watch.is_hard |= isinf(dual->lo[v]) || isinf(dual->hi[v]);
    return watch;
}

/* b'K b of one group, and the sum of |beta| of all. */
static double squared_norm(const kc_dual *dual, const double *beta, const double *grad)
{
    double total = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        total += beta[p] * (dual->t[p] - grad[p]);
    return total;
}

static double weight(const kc_dual *dual, const double *beta)
{
    double total = 0;

    for (size_t v = 0; v < (size_t)dual->n_groups * dual->n_points; v++)
        total += fabs(beta[v]);
    return total;
}

bool kc_watch_look(kc_watch *watch, const double *beta, const double *grad, double violation,
                   kc_stop *stop)
{
    double objective = kc_dual_objective(watch->dual, beta, grad);
    double size = weight(watch->dual, beta);

    /* |w| / sum |beta| is half the distance of the points of the hulls that beta stands for. */
    if (watch->is_hard && size > 0) {
        double norm = sqrt(fmax(squared_norm(watch->dual, beta, grad), 0));
        if (2 * norm < MEETING_SHARE * sqrt(watch->largest_diag) * size) {
            *stop = KC_STOP_UNBOUNDED;
            return true;
        }
    }
    /* Below the rounding of the gradient, violations come and go for ever. */
    bool is_noise = violation < 4 * DBL_EPSILON * size * watch->largest_diag;
    bool gains = watch->objective - objective > 1e-15 * fabs(objective);
    bool nears = violation < 0.99 * watch->violation;
    watch->n_idle = !is_noise && (gains || nears) ? 0 : watch->n_idle + 1;
    watch->objective = fmin(watch->objective, objective);
    watch->violation = fmin(watch->violation, violation);
    if (watch->n_idle < MAX_IDLE)
        return false;
    *stop = KC_STOP_STALLED;
    return true;
}

bool kc_watch_stretch(const kc_watch *watch, double *beta, double *grad)
{
    const kc_dual *dual = watch->dual;

    if (!watch->is_hard || dual->n_groups != 1 || dual->sum[0] != 0 || dual->epsilon != 0)
        return false;
    double along = 0;
    double most = HUGE_VAL;
    for (size_t p = 0; p < dual->n_points; p++) {
        along += beta[p] * dual->t[p];
        if (beta[p] != 0)
            most = fmin(most, (beta[p] > 0 ? dual->hi[p] : dual->lo[p]) / beta[p]);
    }
    double factor = fmin(along / fmax(squared_norm(dual, beta, grad), DBL_MIN), most);
    if (!(factor > 1.01) || !isfinite(factor))
        return false;
    for (size_t p = 0; p < dual->n_points; p++) {
        beta[p] = fmin(fmax(beta[p] * factor, dual->lo[p]), dual->hi[p]);
        grad[p] = dual->t[p] - factor * (dual->t[p] - grad[p]);
    }
    return true;
}
