/* Numbers that a kernel does not take: those of its leaves for counts and histograms must not be
 * negative.  Packed values are looked at, so that it costs one pass over memory that was written
 * just now. */
#include "kernel/kc_refusal.h"

#include "kernel/kc_leaf.h"

/* Values between two polls. */
#define POLL_VALUES ((size_t)1 << 20)

/* Value t of sample i: of a feature where it is dense, else of an entry; and its column. */
static double value_at(const kc_packed *x, size_t i, size_t t, size_t *col)
{
    const size_t width = kc_panel_width(x->dtype);

    *col = t;
    if (x->storage != KC_CSR)
        return kc_number_at(x->panels, i / width * width * x->d + t * width + i % width, x->dtype);
    *col = (size_t)x->cols[(size_t)x->indptr[i] + t];
    return kc_number_at(x->vals, (size_t)x->indptr[i] + t, x->dtype);
}

/* Whether one is below 0.  What fills up the last panel is 0. */
static bool has_negative(kc_call *call, const kc_packed *x, bool *is_stopped)
{
    const bool is_sparse = x->storage == KC_CSR;
    const size_t n_values =
        is_sparse ? (size_t)x->indptr[x->n] : kc_round_up(x->n, kc_panel_width(x->dtype)) * x->d;
    const char *values = is_sparse ? x->vals : x->panels;
    const kc_ops *ops = kc_ops_of(x->dtype);

    for (size_t k = 0; k < n_values; k += POLL_VALUES) {
        if (ops->has_negative(values + k * kc_dtype_bytes(x->dtype),
                              kc_min(POLL_VALUES, n_values - k)))
            return true;
        *is_stopped = call != NULL && kc_call_poll(call) != KC_OK;
        if (*is_stopped)
            return false;
    }
    return false;
}

/* Names the first one, by rows of the caller's. */
static kc_status fail_negative(const kc_packed *x, const kc_node *node,
                               const kc_column_list *columns, const int32_t *order,
                               const char *name, kc_error *err)
{
    size_t worst_row = SIZE_MAX, worst_col = 0;
    double worst = 0;

    for (size_t i = 0; i < x->n; i++) {
        const size_t row = order != NULL ? (size_t)order[i] : i;
        const size_t n = x->storage == KC_CSR ? (size_t)(x->indptr[i + 1] - x->indptr[i]) : x->d;

        for (size_t t = 0; t < n && row < worst_row; t++) {
            size_t col;
            const double value = value_at(x, i, t, &col);

            if (value < 0) {
                worst_row = row;
                worst_col = columns != NULL ? (size_t)columns->list[col] : col;
                worst = value;
            }
        }
    }
    return kc_fail(err, KC_ERR_RANGE,
                   "%s: row %zu, column %zu is %g: the kernel %s takes no negative numbers", name,
                   worst_row, worst_col, worst, node->leaf->info.name);
}

static bool refuses_negative(const kc_node *node)
{
    return node->leaf != NULL && node->leaf->base->refuses_negative;
}

bool kc_refuses_some(const kc_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_nodes; i++)
        if (refuses_negative(&kernel->nodes[i]))
            return true;
    return false;
}

kc_status kc_refuse(kc_call *call, const kc_kernel *kernel, const int32_t *order,
                    const kc_packed *points)
{
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];
        const kc_packed *part = kc_part_of(points, node);
        kc_column_list columns;
        bool is_stopped = false;

        if (!refuses_negative(node) || part->n == 0)
            continue;
        if (node->reading > 0)
            columns = kc_kernel_columns(kernel, (size_t)node->reading - 1);
        if (has_negative(call, part, &is_stopped))
            return fail_negative(part, node, node->reading > 0 ? &columns : NULL, order,
                                 points->name, call->err);
        if (is_stopped)
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

bool kc_refuses_few(const kc_kernel *kernel, const kc_packed *points)
{
    bool is_stopped = false;

    return kc_refuses_some(kernel) && has_negative(NULL, points, &is_stopped);
}
