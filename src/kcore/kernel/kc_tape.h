/* The tape: an expression run forward on a tile, with the values of all its nodes kept, and then
 * backward, from the weights of its values to the weights of all that they are made of.
 *
 * Backward, a node has the weight w_ij = d sum / d value_ij of each of its values.  An operator
 * hands weights down to its operands; where a node has real parameters, w times the slope by a
 * parameter, added up over the tile, is what the tile adds to the gradient by it. */
#ifndef KC_TAPE_H
#define KC_TAPE_H

#include "kernel/kc_leaf.h"
#include "kernel/kc_plan.h"
#include "kernel/kc_vectors_slopes.h"

/* Rows of a tile: multiples of the row tile and of the lanes; columns at the most. */
#define KC_TAPE_ROWS ((size_t)48)
#define KC_TAPE_COLS ((size_t)256)

/* What is known of a node. */
typedef struct kc_tape_node {
    size_t operands[2]; /* an operator: the last nodes of its operands */
    size_t base;        /* a leaf: where the values of its base are kept, among tiles; or NO_BASE */
    size_t first_param; /* where its parameters are in the gradient */
} kc_tape_node;

typedef struct kc_tape {
    const kc_plan *plan; /* borrowed */
    kc_tape_node *nodes;
    const kc_raw_columns *raw; /* of the nodes; NULL: no leaf has weights of columns */
    size_t n_tiles;            /* of values that are kept */
    size_t n_params;
    size_t n_cols; /* of a tile: by the expression alone, and with them the order of sums */
} kc_tape;

/* Whether every part of the kernel has slopes: the error names one that has not. */
kc_status kc_tape_check(const kc_kernel *kernel, kc_error *err);

/* How many numbers a gradient has: those by parameters of the first node, by the weights of its
 * columns, of the second node, ...  Number k of them, false where there is none. */
typedef struct kc_tape_param {
    size_t node;
    const char *kernel, *name;
    int64_t entry; /* of weights of columns, of coefficients: which one; else -1 */
    double value;
} kc_tape_param;
size_t kc_tape_count(const kc_kernel *kernel);
bool kc_tape_find_param(const kc_kernel *kernel, size_t k, kc_tape_param *out);

/* `nodes`: one for each node of the kernel. */
kc_tape kc_tape_make(const kc_plan *plan, kc_tape_node *nodes, const kc_raw_columns *raw);
size_t kc_tape_workspace(const kc_tape *tape);

/* A tile: up to KC_TAPE_ROWS rows by n_cols columns; of samples with themselves, one row, its
 * columns the samples from col_begin on. */
typedef struct kc_tape_tile {
    bool is_diag;
    size_t row_begin, n_rows;
    size_t col_begin, n_cols; /* col_begin: a multiple of 16 */
    void *workspace;
} kc_tape_tile;

/* Where the backward run adds what it finds. */
typedef struct kc_tape_sums {
    double *params; /* of the tape's n_params */
    /* Of normalization s, sum_j w_ij K_ij of each row, and sum_i of each column: s * ld + sample.
     */
    double *rows, *cols;
    size_t row_ld, col_ld;
} kc_tape_sums;

/* Values of the nodes first .. last - 1.  False where one is not finite, or the call was stopped:
 * it is polled now and then. */
bool kc_tape_forward(const kc_tape *tape, size_t first, size_t last, const kc_tape_tile *tile,
                     kc_call *call);

/* The place in the tile of the first value of node last - 1 that is not finite; false: none. */
bool kc_tape_find_overflow(const kc_tape *tape, size_t last, const kc_tape_tile *tile, size_t *row,
                           size_t *col);

/* Where the weights of row r of the tile's values belong, before kc_tape_backward: n_cols. */
double *kc_tape_weights(const kc_tape *tape, const kc_tape_tile *tile, size_t r);

/* After a forward run over the same nodes. */
void kc_tape_backward(const kc_tape *tape, size_t first, size_t last, const kc_tape_tile *tile,
                      const kc_tape_sums *sums);

#endif
