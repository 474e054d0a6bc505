/* Which classes meet, and which of them is positive: two classes, the second; one-vs-one, the first
 * of the pair; one-vs-rest, the one. */
#include "task/kc_problems.h"

#include <stdio.h>

#include "function/kc_model.h"

static void add_run(kc_problem *problem, size_t begin, size_t end, double y, size_t coef_row)
{
    if (begin < end)
        problem->runs[problem->n_runs++] = (kc_problem_run){begin, end, y, coef_row};
    problem->n += end - begin;
}

static void look_at_all(const kc_samples *samples, kc_problem *problem)
{
    problem->cols = (kc_cols){.span = {{0, samples->n}}, .n_spans = 1};
}

/* The pair that has the index: pairs of the first class come first, then those of the second. */
static void make_pair(const kc_samples *samples, size_t index, kc_problem *problem)
{
    const size_t *bounds = samples->bounds;
    size_t i = 0, n_others = (size_t)samples->n_classes - 1;

    for (; index >= n_others; n_others--, i++)
        index -= n_others;
    const size_t j = i + 1 + index;

    problem->cols = (kc_cols){
        .span = {{bounds[i], bounds[i + 1]}, {bounds[j], bounds[j + 1]}},
        .n_spans = 2,
    };
    add_run(problem, bounds[i], bounds[i + 1], 1, j - 1);
    add_run(problem, bounds[j], bounds[j + 1], -1, i);
    snprintf(problem->name, sizeof problem->name, "classes %zu and %zu: ", i, j);
}

static void make_one_against_rest(const kc_samples *samples, size_t c, kc_problem *problem)
{
    const size_t *bounds = samples->bounds;

    look_at_all(samples, problem);
    add_run(problem, 0, bounds[c], -1, c);
    add_run(problem, bounds[c], bounds[c + 1], 1, c);
    add_run(problem, bounds[c + 1], samples->n, -1, c);
    snprintf(problem->name, sizeof problem->name, "class %zu against the rest: ", c);
}

void kc_problem_make(const kc_samples *samples, int32_t multiclass, size_t index, kc_problem *out)
{
    *out = (kc_problem){.n = 0};
    if (kc_is_pairwise(multiclass, samples->n_classes)) {
        make_pair(samples, index, out);
    } else if (samples->n_classes > 2) {
        make_one_against_rest(samples, index, out);
    } else {
        look_at_all(samples, out);
        if (samples->n_classes == 2)
            add_run(out, 0, samples->bounds[1], -1, 0);
        add_run(out, out->n, samples->n, 1, 0);
    }
    assert(out->n == kc_cols_count(&out->cols));
}

void kc_problem_labels(const kc_problem *problem, double *y)
{
    for (size_t r = 0; r < problem->n_runs; r++)
        for (size_t i = problem->runs[r].begin; i < problem->runs[r].end; i++)
            *y++ = problem->runs[r].y;
}

void kc_problem_gather(const kc_problem *problem, const double *by_place, double *out)
{
    for (size_t r = 0; r < problem->n_runs; r++)
        for (size_t i = problem->runs[r].begin; i < problem->runs[r].end; i++)
            *out++ = by_place[i];
}

void kc_problem_store(const kc_problem *problem, const double *coef, size_t n, double *matrix)
{
    for (size_t r = 0; r < problem->n_runs; r++) {
        const kc_problem_run *run = &problem->runs[r];

        for (size_t i = run->begin; i < run->end; i++)
            matrix[run->coef_row * n + i] = *coef++;
    }
}

void kc_problem_load(const kc_problem *problem, const double *matrix, size_t n_all,
                     const int32_t *order, double *coef)
{
    for (size_t r = 0; r < problem->n_runs; r++) {
        const kc_problem_run *run = &problem->runs[r];

        for (size_t i = run->begin; i < run->end; i++)
            *coef++ = matrix[run->coef_row * n_all + (size_t)order[i]];
    }
}
