#include "store_case.h"

#include <math.h>
#include <stdlib.h>

#include "kc_test.h"
#include "ref_kernel.h"

static const ref_node rbf = {.op = OP_RBF, .gamma = 0.2};

kc_store *store_case_again(const store_case *c, kc_dtype dtype, int64_t cache_bytes)
{
    const kc_store_settings settings = {
        .struct_size = sizeof settings, .dtype = dtype, .cache_bytes = cache_bytes};
    kc_store *store = NULL;
    kc_error err = {0};

    if (kc_store_create(c->ctx, NULL, c->kernel, &c->data.points, &settings, &store, &err) != KC_OK)
        printf("    %s\n", err.text);
    return store;
}

store_case store_case_make(kc_context *ctx, size_t n, size_t d, kc_dtype dtype, int64_t cache_bytes)
{
    store_case c = {.ctx = ctx, .data = svm_case_make(5, n, d, 2)};

    CHECK(ref_kernel_make(ctx, &rbf, 1, &c.kernel, NULL) == KC_OK);
    c.gram = malloc(n * n * sizeof *c.gram);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            c.gram[i * n + j] =
                ref_kernel(&rbf, 1, c.data.x + i * d, c.data.x + j * d, d, KC_F64).value;
    c.store = store_case_again(&c, dtype, cache_bytes);
    return c;
}

void store_case_free(store_case *c)
{
    kc_store_free(c->ctx, c->store);
    kc_kernel_free(c->ctx, c->kernel);
    svm_case_free(&c->data);
    free(c->gram);
}

/* ---- Audit -------------------------------------------------------------------------------- */

static size_t row_of(const kc_dual_problem *p, size_t k)
{
    return p->rows != NULL ? (size_t)p->rows[k] : k;
}

static long double best_in_box(const kc_dual_problem *p, size_t k, long double v)
{
    const long double low = p->lower[k] * v - (long double)p->epsilon * fabs(p->lower[k]);
    const long double high = p->upper[k] * v - (long double)p->epsilon * fabs(p->upper[k]);

    return p->lower[k] < 0 && p->upper[k] > 0 ? fmaxl(fmaxl(low, high), 0) : fmaxl(low, high);
}

typedef struct group_state {
    double up, low;
    long double sum;
} group_state;

static void look_at(const kc_dual_problem *p, const kc_dual_result *r, size_t k, double v,
                    group_state *g)
{
    const double b = r->beta[k];

    if (b < p->upper[k])
        g->up = fmax(g->up, v + (b >= 0 ? -p->epsilon : p->epsilon));
    if (b > p->lower[k])
        g->low = fmin(g->low, v + (b > 0 ? -p->epsilon : p->epsilon));
    g->sum += b;
}

problem_audit store_case_audit(const store_case *c, const kc_dual_problem *p,
                               const kc_dual_result *r)
{
    const size_t n = p->rows != NULL ? (size_t)p->n : c->data.n;
    problem_audit a = {0};
    group_state group[2] = {{-HUGE_VAL, HUGE_VAL, 0}, {-HUGE_VAL, HUGE_VAL, 0}};
    long double norm = 0, linear = 0, slack = 0;

    for (size_t k = 0; k < n; k++) {
        const int32_t g = p->group != NULL ? p->group[k] : 0;
        const double b = r->beta[k], mu = r->multipliers[g];
        const long double t = p->t != NULL ? p->t[k] : 0;
        long double v = t;

        for (size_t j = 0; j < n; j++)
            v -= c->gram[row_of(p, k) * c->data.n + row_of(p, j)] * r->beta[j];
        if (r->gradient != NULL)
            a.off_grad = fmax(a.off_grad, fabs((double)v - r->gradient[k]));
        a.out_of_box = fmax(a.out_of_box, fmax(p->lower[k] - b, b - p->upper[k]));
        look_at(p, r, k, (double)v, &group[g]);
        norm += b * (t - v);
        linear += b * t - (long double)p->epsilon * fabs(b);
        slack += best_in_box(p, k, v - mu) + (long double)mu * b;
        a.size += fabs(b);
    }
    a.violation = -HUGE_VAL;
    for (int32_t g = 0; g < (p->n_groups == 2 ? 2 : 1); g++) {
        const double of_pairs = group[g].up - group[g].low;

        a.violation =
            fmax(a.violation, p->n_groups == 0 ? fmax(group[g].up, -group[g].low) : of_pairs);
        if (p->n_groups > 0 && (p->sums != NULL || p->start == NULL))
            a.off_sum =
                fmax(a.off_sum, fabs((double)group[g].sum - (p->sums != NULL ? p->sums[g] : 0)));
    }
    a.primal = (double)(norm / 2 + slack);
    a.dual = (double)(linear - norm / 2);
    return a;
}

void store_case_check(const store_case *c, const kc_dual_problem *p, const kc_dual_result *r,
                      double noise)
{
    const problem_audit a = store_case_audit(c, p, r);
    const double narrow = noise * (1 + a.size), wide = narrow * (1 + a.size);

    CHECK(r->stop == KC_STOP_CONVERGED);
    CHECK(a.out_of_box <= 0);
    CHECK(a.off_sum <= 1e-12 * (1 + a.size));
    CHECK(a.off_grad <= narrow);
    CHECK(a.violation < p->tol + narrow);
    CHECK(r->violation < p->tol && r->violation >= 0 && r->gap >= 0);
    CHECK_NEAR(r->violation, fmax(a.violation, 0), 2 * narrow);
    CHECK_NEAR(r->primal, a.primal, wide);
    CHECK_NEAR(r->dual, a.dual, wide);
    CHECK_NEAR(r->gap, a.primal - a.dual, wide);
    CHECK(r->path[0] != 0);
    for (int32_t g = p->n_groups; g < 2; g++)
        CHECK(r->multipliers[g] == 0);
}
