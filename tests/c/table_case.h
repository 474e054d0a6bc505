/* Strings, and tables of numbers and strings, that tests share.
 *
 *   table t;
 *   table_make(&t, 1, 40, KC_F32, KC_F64);
 *   ... t.parts ...                          columns 0, 1 | 2: strings | 3, 4, 5
 *   table_free(&t); */
#ifndef TABLE_CASE_H
#define TABLE_CASE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "ref_points.h"

#define TABLE_LEFT ((size_t)2)
#define TABLE_RIGHT ((size_t)3)
#define TABLE_STRINGS ((int32_t)TABLE_LEFT) /* the column of strings */
#define TABLE_COLS ((int64_t)(TABLE_LEFT + 1 + TABLE_RIGHT))

/* Few different ones, so that many are equal: empty ones, beginnings of each other, bytes of 0. */
typedef struct table_strings {
    size_t n;
    int64_t *indptr;
    char *bytes;
    kc_points points;
} table_strings;

static inline table_strings table_strings_make(uint64_t seed, size_t n)
{
    kc_rng rng = kc_rng_seed(seed + 77);
    table_strings s = {.n = n, .indptr = malloc((n + 1) * sizeof *s.indptr)};
    size_t n_bytes = 0;

    s.bytes = malloc(4 * n + 1);
    s.indptr[0] = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint64_t left = kc_rng_below(&rng, 4); left > 0; left--)
            s.bytes[n_bytes++] = "a\0"[kc_rng_below(&rng, 2)];
        s.indptr[i + 1] = (int64_t)n_bytes;
    }
    s.points = (kc_points){.struct_size = sizeof(kc_points),
                           .storage = KC_STRINGS,
                           .n_rows = (int64_t)n,
                           .values = s.bytes,
                           .indptr = s.indptr,
                           .index_bytes = 8,
                           .n_values = (int64_t)n_bytes,
                           .name = "X"};
    return s;
}

static inline void table_strings_free(table_strings *s)
{
    free(s->indptr);
    free(s->bytes);
}

static inline bool table_strings_equal(const table_strings *a, size_t i, const table_strings *b,
                                       size_t j)
{
    const size_t n = (size_t)(a->indptr[i + 1] - a->indptr[i]);

    return n == (size_t)(b->indptr[j + 1] - b->indptr[j]) &&
           (n == 0 || memcmp(a->bytes + a->indptr[i], b->bytes + b->indptr[j], n) == 0);
}

typedef struct table {
    size_t n;
    ref_samples left, right;
    ref_view views[2];
    table_strings strings;
    kc_points parts[3];
    int32_t *classes;
    double *targets;
} table;

/* Classes that strings and numbers tell together, but for a few. */
static inline void table_label(table *t)
{
    t->classes = malloc(t->n * sizeof *t->classes);
    t->targets = malloc(t->n * sizeof *t->targets);
    for (size_t i = 0; i < t->n; i++) {
        const bool is_long = t->strings.indptr[i + 1] - t->strings.indptr[i] > 1;

        t->targets[i] = t->right.x[i * TABLE_RIGHT] + (is_long ? 1 : -1);
        t->classes[i] = i % 11 == 0 ? (int32_t)(i % 2) : t->targets[i] > 0;
    }
}

static inline void table_chain(table *t)
{
    for (size_t p = 0; p < 3; p++) {
        t->parts[p] = p == 1 ? t->strings.points : t->views[p / 2].points;
        t->parts[p].name = "X";
        t->parts[p].next = p < 2 ? &t->parts[p + 1] : NULL;
    }
    t->parts[1].first_col = (int64_t)TABLE_LEFT;
    t->parts[2].first_col = (int64_t)TABLE_LEFT + 1;
}

static inline void table_make(table *t, uint64_t seed, size_t n, kc_dtype left, kc_dtype right)
{
    *t = (table){.n = n};
    t->left = ref_random(seed, n, TABLE_LEFT, 1.0, left);
    t->right = ref_random(seed + 1, n, TABLE_RIGHT, 1.0, right);
    t->views[0] = ref_view_make(&t->left, REF_FORTRAN, left);
    t->views[1] = ref_view_make(&t->right, REF_DENSE, right);
    t->strings = table_strings_make(seed, n);
    table_chain(t);
    table_label(t);
}

static inline void table_free(table *t)
{
    ref_view_free(&t->views[0]);
    ref_view_free(&t->views[1]);
    ref_samples_free(&t->left);
    ref_samples_free(&t->right);
    table_strings_free(&t->strings);
    free(t->classes);
    free(t->targets);
}

/* rbf(1/4) on columns 0, 4 and 5, times delta on the strings, plus linear on column 3. */
static inline kc_kernel *table_kernel(kc_context *ctx)
{
    static const int32_t columns[][3] = {{0, 4, 5}, {TABLE_STRINGS}, {3}};
    static const int64_t n_columns[] = {3, 1, 1};
    static const char *const names[] = {"rbf", "delta", "linear"};
    const double gamma = 0.25;
    kc_kernel *parts[3] = {NULL}, *product = NULL, *sum = NULL;

    for (int k = 0; k < 3; k++) {
        kc_kernel *leaf = NULL;

        CHECK(kc_kernel_leaf(ctx, names[k], &gamma, k == 0, &leaf, NULL) == KC_OK);
        CHECK(kc_kernel_on(ctx, leaf, columns[k], n_columns[k], &parts[k], NULL) == KC_OK);
        kc_kernel_free(ctx, leaf);
    }
    CHECK(kc_kernel_product(ctx, (const kc_kernel *[]){parts[0], parts[1]}, 2, &product, NULL) ==
          KC_OK);
    CHECK(kc_kernel_sum(ctx, (const kc_kernel *[]){product, parts[2]}, 2, &sum, NULL) == KC_OK);
    for (int k = 0; k < 3; k++)
        kc_kernel_free(ctx, parts[k]);
    kc_kernel_free(ctx, product);
    return sum;
}

/* The same from its definition. */
static inline long double table_value(const table *x, size_t i, const table *z, size_t j)
{
    const double *a = x->right.x + i * TABLE_RIGHT, *b = z->right.x + j * TABLE_RIGHT;
    const long double apart[] = {
        (long double)x->left.x[i * TABLE_LEFT] - (long double)z->left.x[j * TABLE_LEFT],
        (long double)a[1] - (long double)b[1], (long double)a[2] - (long double)b[2]};
    long double square = 0;

    for (int t = 0; t < 3; t++)
        square += apart[t] * apart[t];
    return (table_strings_equal(&x->strings, i, &z->strings, j) ? expl(-square / 4) : 0) +
           (long double)a[0] * (long double)b[0];
}

static inline kc_kernel *delta_kernel(kc_context *ctx)
{
    kc_kernel *kernel = NULL;

    CHECK(kc_kernel_leaf(ctx, "delta", NULL, 0, &kernel, NULL) == KC_OK);
    return kernel;
}

#endif
