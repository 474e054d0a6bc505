/* Slow and obvious.  See ref_qp.h. */
#include "ref_qp.h"

#include <math.h>
#include <stdlib.h>

/* ---- Random problems ----------------------------------------------------------------------- */

static double normal(kc_rng *rng)
{
    double total = 0;

    for (int i = 0; i < 12; i++)
        total += kc_rng_uniform(rng);
    return total - 6;
}

static void fill_matrix(ref_problem *p, kc_rng *rng, ref_matrix matrix, double *x, size_t d)
{
    double gamma = pow(10, 1.5 * kc_rng_uniform(rng) - 1);

    for (size_t i = 0; i < p->n; i++)
        for (size_t t = 0; t < d; t++)
            x[i * d + t] =
                matrix == REF_DUPLICATES && i >= p->n / 2 ? x[(i - p->n / 2) * d + t] : normal(rng);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j <= i; j++) {
            double dot = 0;
            double distance = 0;
            for (size_t t = 0; t < d; t++) {
                double diff = x[i * d + t] - x[j * d + t];
                dot += x[i * d + t] * x[j * d + t];
                distance += diff * diff;
            }
            double value = matrix == REF_LINEAR ? dot : exp(-gamma * distance);
            if (matrix == REF_INDEFINITE)
                value = normal(rng);
            p->k[i * p->n + j] = p->k[j * p->n + i] = value;
        }
}

static void fill_variables(ref_problem *p, kc_rng *rng, const double *x, size_t d, double c)
{
    size_t n = p->n;
    double nu = 0.1 + 0.8 * kc_rng_uniform(rng);
    double total[2] = {0, 0};

    for (size_t i = 0; i < n; i++) {
        double weight = c * (kc_rng_below(rng, 4) == 0 ? 2 * kc_rng_uniform(rng) : 1);
        bool is_positive = i == 0 || (i > 1 && x[i * d] + 0.5 * normal(rng) > 0);
        bool is_nu = p->form == REF_NUSVC || p->form == REF_NUSVR;
        double target = sin(2 * x[i * d]) + 0.2 * normal(rng);
        p->t[i] = p->form == REF_CSVC                          ? (is_positive ? 1 : -1)
                  : p->form == REF_SVR || p->form == REF_NUSVR ? target
                                                               : 0;
        p->hi[i] = p->form == REF_CSVC && !is_positive ? 0 : weight;
        p->lo[i] = p->form == REF_SVR || (p->form == REF_CSVC && !is_positive) ? -weight : 0;
        if (is_nu) {
            bool in_first = p->form == REF_NUSVR || is_positive;
            bool in_second = p->form == REF_NUSVR || !is_positive;
            p->hi[i] = in_first ? weight : 0;
            p->lo[n + i] = in_second ? -weight : 0;
            p->hi[n + i] = 0;
            total[1] -= p->lo[n + i];
        }
        total[0] += p->hi[i];
    }
    if (p->form == REF_ONECLASS)
        p->sum[0] = nu * total[0];
    if (p->n_layers == 2) {
        p->sum[0] = nu * fmin(total[0], total[1]);
        p->sum[1] = -p->sum[0];
    }
}

ref_problem ref_random_problem(kc_rng *rng, ref_form form, ref_matrix matrix, size_t n, double c,
                               bool is_f32)
{
    size_t d = 2 + kc_rng_below(rng, 4);
    double *x = malloc(n * d * sizeof *x);
    ref_problem p = {.form = form, .n = n};

    p.n_layers = form == REF_NUSVC || form == REF_NUSVR ? 2 : 1;
    p.epsilon = form == REF_SVR ? 0.3 * kc_rng_uniform(rng) : 0;
    p.k = malloc(n * n * sizeof *p.k);
    p.k32 = malloc(n * n * sizeof *p.k32);
    p.t = calloc(n, sizeof *p.t);
    p.lo = calloc(2 * n, sizeof *p.lo);
    p.hi = calloc(2 * n, sizeof *p.hi);
    p.start = calloc(2 * n, sizeof *p.start);
    fill_matrix(&p, rng, matrix, x, d);
    for (size_t i = 0; i < n * n; i++) {
        p.k32[i] = (float)p.k[i];
        if (is_f32)
            p.k[i] = (double)p.k32[i];
    }
    fill_variables(&p, rng, x, d, c);
    for (size_t v = 0; v < (size_t)p.n_layers * n; v++)
        p.start[v] = c * normal(rng);
    free(x);
    return p;
}

void ref_free(ref_problem *p)
{
    free(p->k);
    free(p->k32);
    free(p->t);
    free(p->lo);
    free(p->hi);
    free(p->start);
}

kc_dual ref_dual(const ref_problem *p, double tol)
{
    return (kc_dual){
        .cols = {.span = {{0, p->n}}, .n_spans = 1},
        .n_points = p->n,
        .n_layers = p->n_layers,
        .sum = {p->sum[0], p->sum[1]},
        .epsilon = p->epsilon,
        .t = p->t,
        .lo = p->lo,
        .hi = p->hi,
        .tol = tol,
    };
}

/* ---- The definition ------------------------------------------------------------------------ */

static double coefficient(const ref_problem *p, const double *beta, size_t i)
{
    return p->n_layers == 2 ? beta[i] + beta[p->n + i] : beta[i];
}

/* (K b)_i */
static double output(const ref_problem *p, const double *beta, size_t i)
{
    double total = 0;

    for (size_t j = 0; j < p->n; j++)
        total += p->k[i * p->n + j] * coefficient(p, beta, j);
    return total;
}

double ref_objective(const ref_problem *p, const double *beta)
{
    double total = 0;

    for (size_t i = 0; i < p->n; i++)
        total += coefficient(p, beta, i) * (0.5 * output(p, beta, i) - p->t[i]);
    for (size_t v = 0; v < (size_t)p->n_layers * p->n; v++)
        total += p->epsilon * fabs(beta[v]);
    return total;
}

/* By how much the objective falls per unit when variable v of gradient `grad` rises (falls). */
static double up_value(const ref_problem *p, double grad, const double *beta, size_t v)
{
    if (beta[v] >= p->hi[v])
        return -HUGE_VAL;
    return beta[v] >= 0 ? grad - p->epsilon : grad + p->epsilon;
}

static double low_value(const ref_problem *p, double grad, const double *beta, size_t v)
{
    if (beta[v] <= p->lo[v])
        return HUGE_VAL;
    return beta[v] > 0 ? grad - p->epsilon : grad + p->epsilon;
}

typedef struct worst_pair {
    size_t i, j;
    double violation;
} worst_pair;

static worst_pair find_worst(const ref_problem *p, const double *grad, const double *beta)
{
    worst_pair worst = {0, 0, -HUGE_VAL};

    for (int32_t g = 0; g < p->n_layers; g++) {
        size_t first = (size_t)g * p->n;
        size_t i = first;
        size_t j = first;
        for (size_t v = first; v < first + p->n; v++) {
            if (up_value(p, grad[v - first], beta, v) > up_value(p, grad[i - first], beta, i))
                i = v;
            if (low_value(p, grad[v - first], beta, v) < low_value(p, grad[j - first], beta, j))
                j = v;
        }
        double violation =
            up_value(p, grad[i - first], beta, i) - low_value(p, grad[j - first], beta, j);
        if (violation > worst.violation)
            worst = (worst_pair){i, j, violation};
    }
    return worst;
}

/* ---- The slow solver ----------------------------------------------------------------------- */

/* The change of the objective when variable i rises by s and variable j falls by s. */
static double change(const ref_problem *p, const double *beta, const worst_pair *pair, double slope,
                     double curvature, double s)
{
    double phi = p->epsilon * (fabs(beta[pair->i] + s) - fabs(beta[pair->i]) +
                               fabs(beta[pair->j] - s) - fabs(beta[pair->j]));
    return 0.5 * curvature * s * s - slope * s + phi;
}

/* The best of all candidates: the breakpoints, and the vertex of every possible slope. */
static double best_step(const ref_problem *p, const double *beta, const worst_pair *pair,
                        double slope, double curvature)
{
    double room = fmin(p->hi[pair->i] - beta[pair->i], beta[pair->j] - p->lo[pair->j]);
    double candidates[6] = {room, -beta[pair->i], beta[pair->j]};
    double best = 0;

    for (int k = 0; k < 3; k++)
        candidates[3 + k] = curvature > 0 ? (slope + (k - 1) * 2 * p->epsilon) / curvature : 0;
    for (int k = 0; k < 6; k++) {
        double s = fmin(fmax(candidates[k], 0), room);
        if (change(p, beta, pair, slope, curvature, s) <
            change(p, beta, pair, slope, curvature, best))
            best = s;
    }
    return best;
}

void ref_solve(const ref_problem *p, double tol, double *beta)
{
    double *grad = calloc(p->n, sizeof *grad);
    kc_dual dual = ref_dual(p, tol);

    for (size_t v = 0; v < (size_t)p->n_layers * p->n; v++)
        beta[v] = 0;
    if (kc_dual_repair(&dual, beta, NULL) != KC_OK)
        abort();
    for (size_t i = 0; i < p->n; i++)
        grad[i] = p->t[i] - output(p, beta, i);
    for (int64_t step = 0; step < 2000000; step++) {
        worst_pair pair = find_worst(p, grad, beta);
        size_t i = pair.i % p->n;
        size_t j = pair.j % p->n;
        if (pair.violation < tol)
            break;
        double curvature = p->k[i * p->n + i] + p->k[j * p->n + j] - 2 * p->k[i * p->n + j];
        double s = best_step(p, beta, &pair, grad[i] - grad[j], curvature);
        beta[pair.i] = fmin(beta[pair.i] + s, p->hi[pair.i]);
        beta[pair.j] = fmax(beta[pair.j] - s, p->lo[pair.j]);
        for (size_t k = 0; k < p->n; k++)
            grad[k] -= s * (p->k[k * p->n + i] - p->k[k * p->n + j]);
    }
    free(grad);
}

/* ---- Audit --------------------------------------------------------------------------------- */

/* Half the squared norm plus the losses, as the textbooks write them for each machine. */
static double primal_of(const ref_problem *p, const kc_solution *s)
{
    double norm = 0;
    double loss = 0;
    double fixed = 0;

    for (size_t i = 0; i < p->n; i++) {
        double b = coefficient(p, s->beta, i);
        double f = output(p, s->beta, i);
        norm += b * f;
        switch (p->form) {
        case REF_CSVC: /* C hinge(y (f + b)) */
            loss += fmax(p->hi[i], -p->lo[i]) * fmax(0, 1 - p->t[i] * (f + s->intercept[0]));
            break;
        case REF_SVR: /* C (|y - f - b| - epsilon)+ */
            loss += p->hi[i] * fmax(0, fabs(p->t[i] - f - s->intercept[0]) - p->epsilon);
            break;
        case REF_ONECLASS: /* w (rho - f)+ - sum rho, rho = -intercept */
            loss += p->hi[i] * fmax(0, -s->intercept[0] - f);
            break;
        case REF_NUSVC: /* w (rho - y (f + b))+ - 2 sum rho; groups: b - rho and b + rho */
            loss += p->hi[i] * fmax(0, -(f + s->intercept[0]));
            loss += -p->lo[p->n + i] * fmax(0, f + s->intercept[1]);
            break;
        case REF_NUSVR: /* C (|y - f - b| - epsilon)+ + 2 sum epsilon, epsilon free */
            loss += p->hi[i] * fmax(0, p->t[i] - f - s->intercept[0]);
            loss += -p->lo[p->n + i] * fmax(0, f + s->intercept[1] - p->t[i]);
            break;
        }
    }
    for (int32_t g = 0; g < p->n_layers; g++)
        fixed += p->sum[g] * s->intercept[g];
    return 0.5 * norm + loss + fixed;
}

ref_audit ref_check(const ref_problem *p, const kc_solution *s)
{
    double *grad = calloc(p->n, sizeof *grad);
    ref_audit audit = {0};

    for (size_t i = 0; i < p->n; i++) {
        grad[i] = p->t[i] - output(p, s->beta, i);
        audit.off_grad = fmax(audit.off_grad, fabs(grad[i] - s->grad[i]));
        for (size_t j = 0; j < p->n; j++)
            audit.scale += 0.5 * fabs(coefficient(p, s->beta, i) * p->k[i * p->n + j] *
                                      coefficient(p, s->beta, j));
        audit.scale += fabs(p->t[i] * coefficient(p, s->beta, i));
    }
    for (size_t v = 0; v < (size_t)p->n_layers * p->n; v++) {
        audit.out_of_box =
            fmax(audit.out_of_box, fmax(p->lo[v] - s->beta[v], s->beta[v] - p->hi[v]));
        audit.beta_weight += fabs(s->beta[v]);
    }
    for (int32_t g = 0; g < p->n_layers; g++) {
        double total = 0;
        for (size_t i = 0; i < p->n; i++)
            total += s->beta[(size_t)g * p->n + i];
        audit.off_sum =
            fmax(audit.off_sum, fabs(total - p->sum[g]) / fmax(audit.beta_weight, 1e-300));
    }
    audit.violation = find_worst(p, grad, s->beta).violation;
    audit.primal = primal_of(p, s);
    audit.dual = -ref_objective(p, s->beta);
    free(grad);
    return audit;
}
