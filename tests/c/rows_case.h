/* A store over points whose whole matrix is known. */
#ifndef ROWS_CASE_H
#define ROWS_CASE_H

#include "base/kc_rng.h"
#include "kernel/kc_gram.h"
#include "ref_expr.h"
#include "rows/kc_store.h"

#define N 700 /* two strips, the second one not full */
#define D 20  /* features enough for rows to be worth keeping */

/* Points, their whole matrix, and a store over them. */
typedef struct world {
    kc_context *ctx;
    kc_error err;
    kc_call call;
    kc_kernel *kernel;
    kc_packed points;
    kc_dtype dtype;
    void *gram;
    size_t row_bytes;
    kc_store *store;
} world;

/* What the next worlds are made of. */
extern ref_node node;
extern bool is_sparse; /* few of very many features */

/* Whether the store asks for what the matrix holds, and after how many answers there is none. */
extern bool is_asking;
extern int n_answers;

bool open_world(world *w, const kc_context_config *config, const kc_run *run, kc_dtype dtype);
kc_status open_store(world *w, size_t n_rows);
void close_world(world *w);

/* Entry k of an array of the world's type. */
double entry(const world *w, const void *array, size_t k);

/* Whether the row of a point holds what the matrix does, at these columns. */
bool row_is_right(const world *w, const kc_cols *cols, int32_t point, const void *row);

/* Columns: the segments end at 100, 333 and N. */
static const kc_cols all = {.span = {{0, N}}, .n_spans = 1};
static const kc_cols pair = {.span = {{0, 100}, {333, N}}, .n_spans = 2};
static const kc_cols middle = {.span = {{100, 333}}, .n_spans = 1};

#endif
