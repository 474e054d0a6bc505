/* Gradients by the weights of columns.  A leaf that reads columns times factors f_t has the base
 *
 *     sum_t w_t x_t z_t,    sum_t w_t (x_t - z_t)^2,    sum_t w_t |x_t - z_t|
 *
 * of the columns as they are before that, with the weights w_t = f_t^2, or |f_t| for the last one.
 * By w_t it has the slope x_t z_t, (x_t - z_t)^2, |x_t - z_t|, which is there for w_t = 0, too. */
#ifndef KC_VECTORS_SLOPES_H
#define KC_VECTORS_SLOPES_H

#include "base/kc_call.h"
#include "kernel/kc_leaf.h"

/* Columns of both sides before the factors, in rows of doubles; n_cols 0: the leaf has no factors.
 */
typedef struct kc_raw_columns {
    double *x, *z;
    size_t n_cols, ld;
} kc_raw_columns;

/* How many columns with weights a node reads: those of factors that are the last step of what it
 * reads; 0 for operators.  Whether there are slopes by them; weight t. */
size_t kc_weighted_columns(const kc_kernel *kernel, const kc_node *node);
bool kc_has_column_slopes(const kc_node *node);
double kc_column_weight(const kc_kernel *kernel, const kc_node *node, size_t t);

/* Of every node, in memory of the call: NULL where no leaf has weights.  z == x: those of one side.
 */
kc_status kc_raw_columns_read(kc_call *call, const kc_kernel *kernel, const kc_points *x,
                              const kc_points *z, kc_raw_columns **out);

/* Weights of the base values of a tile, rows ld apart. */
typedef struct kc_base_weights {
    const double *w;
    size_t ld;
    size_t row_begin, n_rows, col_begin, n_cols; /* n_rows <= 48, n_cols <= 256 */
    bool is_diag; /* one row: samples with themselves, from col_begin on */
} kc_base_weights;

/* out[t] += sum_ij w_ij d base_ij / d w_t */
void kc_column_slopes_add(const kc_base *base, const kc_raw_columns *raw,
                          const kc_base_weights *weights, void *workspace, double *out);
size_t kc_column_slopes_workspace(void);

#endif
