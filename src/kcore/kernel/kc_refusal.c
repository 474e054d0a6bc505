/* Numbers that a kernel does not take: those of its leaves for counts and histograms must not be
 * negative.  Packed values are looked at, so that it costs one pass over memory that was written
 * just now. */
#include "kernel/kc_refusal.h"

#include "data/kc_packed_sign.h"
#include "kernel/kc_leaf.h"

/* Names the first one, by rows of the caller's. */
static kc_status fail_negative(const kc_packed *x, const kc_node *node, const kc_step_list *reading,
                               const int32_t *order, const char *name, kc_error *err)
{
    const kc_negative first = kc_packed_first_negative(x, order);
    const char *of = "";
    size_t column = first.col;
    kc_column_list columns;

    if (first.row == SIZE_MAX) /* another thread has changed values that are borrowed */
        return KC_OK;
    if (reading != NULL && kc_reading_rest(reading).n_bytes > 0)
        of = " of what the kernel reads";
    else if (reading != NULL && kc_reading_selects(reading, &columns))
        column = (size_t)columns.list[first.col];
    return kc_fail(err, KC_ERR_RANGE,
                   "%s: row %zu, column %zu%s is %g: the kernel %s takes no negative numbers", name,
                   first.row, column, of, first.value, node->leaf->info.name);
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
    const kc_readings readings = kc_kernel_readings(kernel);

    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];
        const kc_packed *part = kc_part_of(points, node);
        kc_step_list reading;
        bool is_stopped = false;

        if (!refuses_negative(node) || part->n == 0)
            continue;
        if (node->reading > 0)
            reading = kc_reading_at(&readings, (size_t)node->reading - 1);
        if (kc_packed_has_negative(call, part, &is_stopped))
            return fail_negative(part, node, node->reading > 0 ? &reading : NULL, order,
                                 points->name, call->err);
        if (is_stopped)
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

bool kc_refuses_few(const kc_kernel *kernel, const kc_packed *points)
{
    bool is_stopped = false;

    return kc_refuses_some(kernel) && kc_packed_has_negative(NULL, points, &is_stopped);
}
