/* The one problem: feasibility, stopping names, certificate.  See kc_dual.h. */
#include "solver/kc_dual.h"

#include <math.h>

const char *kc_stop_name(kc_stop stop)
{
    switch (stop) {
    case KC_STOP_CONVERGED:
        return "converged";
    case KC_STOP_MAX_ITER:
        return "max_iter";
    case KC_STOP_TIME:
        return "time_limit";
    case KC_STOP_CALLER:
        return "stopped";
    case KC_STOP_STALLED:
        return "stalled";
    case KC_STOP_UNBOUNDED:
        return "unbounded";
    case KC_STOP_NO_MARGIN:
        return "no_margin";
    }
    return "unknown";
}

/* ---- Feasibility --------------------------------------------------------------------------- */

/* Moves variables towards their bounds until `missing` is gone; returns what is left. */
static double spend(const double *lo, const double *hi, double *beta, size_t n, bool only_free,
                    double missing)
{
    for (size_t p = 0; p < n && missing != 0; p++) {
        if (only_free && !(beta[p] > lo[p] && beta[p] < hi[p]))
            continue;
        double goal = missing > 0 ? hi[p] : lo[p];
        double room = goal - beta[p];
        if (fabs(room) <= fabs(missing)) {
            beta[p] = goal;
            missing -= room;
        } else {
            beta[p] += missing;
            missing = 0;
        }
    }
    return missing;
}

static kc_status repair_layer(const kc_dual *dual, int32_t g, double *beta, kc_error *err)
{
    size_t n = dual->n_points;
    const double *lo = dual->lo + (size_t)g * n;
    const double *hi = dual->hi + (size_t)g * n;
    double total = 0;
    double size = fabs(dual->sum[g]);

    for (size_t p = 0; p < n; p++) {
        beta[p] = fmin(fmax(beta[p], lo[p]), hi[p]);
        total += beta[p];
        size += fabs(beta[p]);
    }
    if (dual->is_box_only)
        return KC_OK;
    double missing = dual->sum[g] - total;
    /* A start that came from a solution is off by rounding only: leave its free variables. */
    if (fabs(missing) <= 1e-15 * (double)n * size)
        return KC_OK;
    missing = spend(lo, hi, beta, n, true, missing);
    missing = spend(lo, hi, beta, n, false, missing);
    if (fabs(missing) <= 1e-12 * (double)n * (size + fabs(missing)))
        return KC_OK;
    return kc_fail(err, KC_ERR_ARG,
                   "no feasible point: the bounds of group %d leave a sum of %g out of reach by %g",
                   g, dual->sum[g], missing);
}

/* The sum of a group in equal shares of the room that its boxes leave on that side. */
static void spread_evenly(const kc_dual *dual, int32_t g, double *beta)
{
    const double *bound = (dual->sum[g] > 0 ? dual->hi : dual->lo) + (size_t)g * dual->n_points;
    double room = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        room += bound[p];
    for (size_t p = 0; p < dual->n_points; p++)
        beta[p] = !dual->is_box_only && dual->sum[g] != 0 ? bound[p] * (dual->sum[g] / room) : 0;
}

void kc_dual_start_evenly(const kc_dual *dual, double *beta)
{
    for (int32_t g = 0; g < dual->n_layers; g++)
        spread_evenly(dual, g, beta + (size_t)g * dual->n_points);
}

kc_status kc_dual_repair(const kc_dual *dual, double *beta, kc_error *err)
{
    for (int32_t g = 0; g < dual->n_layers; g++)
        KC_TRY(repair_layer(dual, g, beta + (size_t)g * dual->n_points, err));
    return KC_OK;
}

/* ---- Residues ------------------------------------------------------------------------------ */

/* A step that ends where one variable meets its bound leaves the other an ulp or two of the sums of
 * all of them from its own. */
#define RESIDUE 1e-12

/* ... and where kernel values are large, such a distance may mean something: no value of the
 * gradient may change by more than this share of tol. */
#define RESIDUE_TOL_SHARE 1e-4

/* What the sum of a group may be off by, beside the sizes of its variables. */
#define ROUNDING_OF_SUM 1e-15

static double settle_one(double beta, double lo, double hi, double size, double most)
{
    const double width = kc_higher(isfinite(lo) ? fabs(lo) : size, isfinite(hi) ? fabs(hi) : size);
    const double near = kc_lower(RESIDUE * width, most);

    if (hi - beta <= near)
        return hi;
    if (beta - lo <= near)
        return lo;
    return fabs(beta) <= near && lo <= 0 && hi >= 0 ? 0 : beta;
}

/* What the variables of a group lack of their sum, added up with the rounding of every addition. */
static double find_missing(const double *beta, size_t n, double sum)
{
    double total = -sum, lost = 0;

    for (size_t p = 0; p < n; p++) {
        const double next = total + beta[p];
        const double added = next - total;

        lost += (total - (next - added)) + (beta[p] - added);
        total = next;
    }
    return -(total + lost);
}

/* Gives what is missing to the variable that has most room before a bound or a kink.  Where none
 * has so much, rounding is left as it is: a variable that it took off a bound would be a free one.
 */
static void restore_sum(const kc_dual *dual, int32_t g, double *beta)
{
    const size_t n = dual->n_points;
    const double *lo = dual->lo + (size_t)g * n, *hi = dual->hi + (size_t)g * n;
    const double missing = find_missing(beta, n, dual->sum[g]);
    double max_room = 0, size = fabs(dual->sum[g]);
    size_t roomiest = 0;

    for (size_t p = 0; p < n; p++) {
        const double to_bounds = kc_lower(hi[p] - beta[p], beta[p] - lo[p]);
        const double room = dual->epsilon > 0 ? kc_lower(to_bounds, fabs(beta[p])) : to_bounds;

        roomiest = room > max_room ? p : roomiest;
        max_room = kc_higher(room, max_room);
        size += fabs(beta[p]);
    }
    if (fabs(missing) < max_room)
        beta[roomiest] += missing;
    else if (fabs(missing) > ROUNDING_OF_SUM * size)
        spend(lo, hi, beta, n, false, spend(lo, hi, beta, n, true, missing));
}

void kc_dual_settle(const kc_dual *dual, double tol, double largest_diag, double *beta)
{
    const size_t n = dual->n_points;
    const double most = largest_diag != 0 ? RESIDUE_TOL_SHARE * tol / largest_diag : HUGE_VAL;

    for (int32_t g = 0; g < dual->n_layers; g++, beta += n) {
        const double *lo = dual->lo + (size_t)g * n, *hi = dual->hi + (size_t)g * n;
        double size = 0;

        for (size_t p = 0; p < n; p++)
            size = kc_higher(fabs(beta[p]), size);
        for (size_t p = 0; p < n; p++)
            beta[p] = settle_one(beta[p], lo[p], hi[p], size, most);
        if (!dual->is_box_only)
            restore_sum(dual, g, beta);
    }
}

/* ---- Certificate --------------------------------------------------------------------------- */

/* The largest up-value, the least low-value, and the mean value of the free variables. */
typedef struct summary {
    double max_up, min_low;
    double mu;
} summary;

static summary summarise(const kc_dual *dual, const double *all_beta, const double *grad, int32_t g)
{
    size_t n = dual->n_points;
    const double *lo = dual->lo + (size_t)g * n;
    const double *hi = dual->hi + (size_t)g * n;
    const double *beta = all_beta + (size_t)g * n;
    summary s = {-HUGE_VAL, HUGE_VAL, 0};
    double total = 0;
    size_t n_free = 0;

    for (size_t p = 0; p < n; p++) {
        double up = grad[p] + kc_rise(dual->epsilon, beta[p], hi[p]);
        double low = grad[p] + kc_fall(dual->epsilon, beta[p], lo[p]);
        s.max_up = kc_higher(up, s.max_up);
        s.min_low = kc_lower(low, s.min_low);
        if (kc_is_free(dual->epsilon, beta[p], lo[p], hi[p])) {
            total += up;
            n_free++;
        }
    }
    if (dual->is_box_only)
        return s;
    if (n_free > 0)
        s.mu = total / (double)n_free;
    else if (isfinite(s.max_up) && isfinite(s.min_low))
        s.mu = 0.5 * (s.max_up + s.min_low);
    else
        s.mu = isfinite(s.max_up) ? s.max_up : isfinite(s.min_low) ? s.min_low : 0;
    return s;
}

void kc_dual_multipliers(const kc_dual *dual, const double *beta, const double *grad, double *mu)
{
    for (int32_t g = 0; g < dual->n_layers; g++)
        mu[g] = summarise(dual, beta, grad, g).mu;
}

/* max over lo <= x <= hi of x v - epsilon |x|: at an end of the box or at the kink. */
static double best_in_box(double v, double lo, double hi, double epsilon)
{
    double at_lo = lo * v - epsilon * fabs(lo);
    double at_hi = hi * v - epsilon * fabs(hi);
    double best = fmax(at_lo, at_hi); /* 0 times infinity is none of them */

    return lo < 0 && hi > 0 ? fmax(best, 0) : best;
}

/* 1/2 b'K b, where K b = t - grad. */
static double half_norm(const kc_dual *dual, const double *beta, const double *grad)
{
    double total = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        total += kc_dual_coefficient(dual, beta, p) * (dual->t[p] - grad[p]);
    return 0.5 * total;
}

double kc_dual_norm_squared(const kc_dual *dual, const double *beta, const double *grad)
{
    double total = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        total -= kc_dual_coefficient(dual, beta, p) * grad[p];
    return total;
}

/* At the solution, |w|^2 = sum |b| r - sum of what bounded variables are beyond their margins.  A
 * part of a problem does not have all of w; it has a scale. */
double kc_dual_scale(const kc_dual *dual, const double *beta, const double *grad, const double *mu)
{
    if (!dual->is_scaled)
        return 1;
    const double r = (mu[1] - mu[0]) / 2;
    if (dual->n_whole > 0)
        return r;
    return kc_higher(r, kc_dual_norm_squared(dual, beta, grad) / (dual->sum[0] - dual->sum[1]));
}

double kc_dual_gap(const kc_dual *dual, const double *beta, const double *grad, const double *mu)
{
    double gap = 0;

    for (int32_t g = 0; g < dual->n_layers; g++)
        for (size_t p = 0; p < dual->n_points; p++) {
            const size_t v = (size_t)g * dual->n_points + p;
            const double value = grad[p] - mu[g];
            gap += best_in_box(value, dual->lo[v], dual->hi[v], dual->epsilon) - beta[v] * value +
                   dual->epsilon * fabs(beta[v]);
        }
    return gap;
}

/* t'b - sum of phi. */
static double linear_part(const kc_dual *dual, const double *beta)
{
    double total = 0;

    for (size_t p = 0; p < dual->n_points; p++) {
        total += kc_dual_coefficient(dual, beta, p) * dual->t[p] - dual->epsilon * fabs(beta[p]);
        if (dual->n_layers == 2)
            total -= dual->epsilon * fabs(beta[dual->n_points + p]);
    }
    return total;
}

double kc_dual_objective(const kc_dual *dual, const double *beta, const double *grad)
{
    return half_norm(dual, beta, grad) - linear_part(dual, beta) + dual->offset;
}

kc_status kc_dual_gradient(kc_call *call, kc_store *store, const kc_dual *dual, const double *beta,
                           double *grad)
{
    kc_arena_point point = kc_arena_mark(call->arena);
    int32_t *points = kc_call_take(call, dual->n_points, sizeof *points);
    double *delta = kc_call_take(call, dual->n_points, sizeof *delta);
    kc_status status;

    if (points == NULL || delta == NULL) {
        status = kc_fail_nomem(call->err);
    } else {
        kc_moved moved = {.points = points, .delta = delta};
        for (size_t p = 0; p < dual->n_points; p++) {
            double b = kc_dual_coefficient(dual, beta, p);
            if (b != 0) {
                points[moved.n] = (int32_t)kc_cols_point(&dual->cols, p);
                delta[moved.n++] = b;
            }
        }
        status = kc_store_apply(call, store, &dual->cols, &moved, dual->t, grad);
    }
    kc_arena_release(call->arena, point);
    return status;
}

/* Each term of the certificate is >= 0; their sum is the gap. */
static void certify_boxes(const kc_dual *dual, kc_solution *solution)
{
    size_t n = dual->n_points;
    double gap = 0;
    double slack = 0;

    for (int32_t g = 0; g < dual->n_layers; g++) {
        double mu = solution->intercept[g];
        for (size_t p = 0; p < n; p++) {
            size_t v = (size_t)g * n + p;
            double beta = solution->beta[v];
            double value = solution->grad[p] - mu;
            double best = best_in_box(value, dual->lo[v], dual->hi[v], dual->epsilon);
            gap += best - beta * value + dual->epsilon * fabs(beta);
            slack += best + mu * beta;
        }
    }
    solution->gap = fmax(gap, 0);
    solution->primal = half_norm(dual, solution->beta, solution->grad) + slack;
}

static bool has_infinite_box(const kc_dual *dual)
{
    for (size_t v = 0; v < (size_t)dual->n_layers * dual->n_points; v++)
        if (isinf(dual->lo[v]) || isinf(dual->hi[v]))
            return true;
    return false;
}

/* Hard margins: t = +-1, v = t - f.  Dividing f by the least margin among the points that allow no
 * slack makes it feasible; the others pay for what slack is left. */
static void certify_margins(const kc_dual *dual, kc_solution *solution)
{
    double mu = solution->intercept[0];
    double least = HUGE_VAL;
    double slack = 0;

    solution->gap = HUGE_VAL;
    solution->primal = HUGE_VAL;
    if (dual->n_layers != 1 || dual->epsilon != 0)
        return;
    for (size_t p = 0; p < dual->n_points; p++) {
        if (fabs(dual->t[p]) != 1)
            return;
        if (isinf(dual->lo[p]) || isinf(dual->hi[p]))
            least = fmin(least, 1 - dual->t[p] * (solution->grad[p] - mu));
    }
    if (!(least > 0 && least * least > 0))
        return;
    for (size_t p = 0; p < dual->n_points; p++) {
        double c = fmax(-dual->lo[p], dual->hi[p]);
        double margin = (1 - dual->t[p] * (solution->grad[p] - mu)) / least;
        if (isfinite(c))
            slack += c * fmax(0, 1 - margin);
    }
    solution->primal = half_norm(dual, solution->beta, solution->grad) / (least * least) + slack;
    solution->gap = fmax(solution->primal - solution->dual, 0);
}

double kc_dual_width(const kc_dual *dual, const kc_solution *solution)
{
    double widest = dual->epsilon;

    for (size_t p = 0; p < dual->n_points; p++)
        widest = kc_higher(fabs(solution->grad[p] - solution->intercept[0]), widest);
    return widest;
}

static bool is_hard_tube(const kc_dual *dual)
{
    for (size_t p = 0; p < dual->n_points; p++)
        if (!(isinf(dual->lo[p]) && isinf(dual->hi[p])))
            return false;
    return dual->n_layers == 1;
}

/* Hard tubes: f is feasible in the tube that it keeps, whose dual is less by what it is wider. */
static void certify_tube(const kc_dual *dual, kc_solution *solution)
{
    const double excess = kc_dual_width(dual, solution) - dual->epsilon;
    double size = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        size += fabs(solution->beta[p]);
    solution->dual -= excess * size;
    solution->primal = half_norm(dual, solution->beta, solution->grad);
    solution->gap = fmax(solution->primal - solution->dual, 0);
}

bool kc_dual_is_solved(const kc_dual *dual, const kc_solution *solution)
{
    const double scale = kc_dual_scale(dual, solution->beta, solution->grad, solution->intercept);

    return !(solution->violation >= dual->tol * scale);
}

void kc_dual_certify_at(const kc_dual *dual, kc_solution *solution)
{
    solution->dual = -kc_dual_objective(dual, solution->beta, solution->grad);
    if (is_hard_tube(dual))
        certify_tube(dual, solution);
    else if (has_infinite_box(dual))
        certify_margins(dual, solution);
    else
        certify_boxes(dual, solution);
}

void kc_dual_certify(const kc_dual *dual, kc_solution *solution)
{
    solution->violation = -HUGE_VAL;
    for (int32_t g = 0; g < dual->n_layers; g++) {
        summary s = summarise(dual, solution->beta, solution->grad, g);
        solution->intercept[g] = s.mu;
        const double violation =
            dual->is_box_only ? fmax(s.max_up, -s.min_low) : s.max_up - s.min_low;
        solution->violation = fmax(solution->violation, violation);
    }
    if (dual->n_layers == 1)
        solution->intercept[1] = 0;
    kc_dual_certify_at(dual, solution);
    if (!isfinite(solution->dual)) { /* sums of huge values: there is no certificate */
        solution->violation = solution->gap = HUGE_VAL;
        if (solution->stop == KC_STOP_CONVERGED)
            solution->stop = KC_STOP_STALLED;
    }
}
