/* An error dK of every kernel value moves a decision value, sum of beta K + b, by at most
 * dK * sum |beta|.  f32 will do where that is below a quarter of the stopping tolerance.
 *
 * dK is followed through the expression: a leaf's comes from the rounding of x.z and of the norms,
 * about max |x|^2 2^-24 each (docs/numerics.md), times the slope of the leaf's map. */
#include "task/kc_precision.h"

#include <math.h>

#define ROUNDING 0x1p-24

/* Deeper than any expression that kc_kernel_create takes. */
#define MAX_DEPTH 64

/* ---- How much the dual variables can add up to ---------------------------------------------- */

static double sum_weights(const kc_samples *samples, size_t begin, size_t end)
{
    double total = 0;

    for (size_t i = begin; i < end; i++)
        total += samples->weights[i];
    return total;
}

/* Both classes of a problem have the same sum: at most twice that of the second largest class
 * (one-vs-one), or of any class (against the rest). */
static double classes_load(const kc_samples *samples, bool is_pairwise)
{
    double largest = 0, second = 0;

    for (size_t c = 0; c < samples->n_segments; c++) {
        const double weight = sum_weights(samples, samples->bounds[c], samples->bounds[c + 1]);

        second = fmax(second, fmin(largest, weight));
        largest = fmax(largest, weight);
    }
    return 2 * (is_pairwise ? second : largest);
}

double kc_precision_load(const kc_svm_settings *settings, const kc_samples *samples)
{
    const double all = sum_weights(samples, 0, samples->n);
    const bool is_pairwise = settings->multiclass == KC_ONE_VS_ONE || samples->n_classes == 2;

    switch (settings->type) {
    case KC_C_SVC:
        return settings->C * fmin(all, classes_load(samples, is_pairwise));
    case KC_EPS_SVR:
        return settings->C * all;
    case KC_NU_SVR:
        return settings->C * settings->nu * all;
    default: /* nu-SVC and one-class: C is 1 */
        return settings->nu * all;
    }
}

/* ---- How far a kernel value can be off ------------------------------------------------------ */

/* Of a sub-expression: its largest absolute value and its error. */
typedef struct extent {
    double size, error;
} extent;

static extent power(extent base, int32_t degree)
{
    if (degree == 0)
        return (extent){1, 0};
    const double size = pow(base.size, degree);

    return (extent){size, degree * pow(base.size, degree - 1) * base.error + size * ROUNDING};
}

static extent leaf(const kc_kernel_node *node, double max_norm, size_t d)
{
    const extent product = {max_norm, max_norm * ROUNDING};
    const extent inner = {node->gamma * product.size + fabs(node->coef0),
                          node->gamma * product.error};

    switch (node->op) {
    case KC_LINEAR:
        return product;
    case KC_POLYNOMIAL:
        return power(inner, node->degree);
    case KC_SIGMOID:
        return (extent){1, inner.error + ROUNDING};
    case KC_LAPLACIAN:
        return (extent){1, node->gamma * 2 * sqrt((double)d * max_norm) * ROUNDING + ROUNDING};
    default: /* RBF: |x|^2 and |z|^2 */
        return (extent){1, 2 * inner.error + ROUNDING};
    }
}

static extent combine(const kc_kernel_node *node, extent a, extent b)
{
    switch (node->op) {
    case KC_ADD:
        return (extent){a.size + b.size, a.error + b.error};
    case KC_MUL:
        return (extent){a.size * b.size, a.size * b.error + b.size * a.error};
    case KC_SCALE:
        return (extent){node->gamma * a.size, node->gamma * a.error};
    case KC_POW:
        return power(a, node->degree);
    default: /* exp */
        return (extent){exp(a.size), exp(a.size) * (a.error + ROUNDING)};
    }
}

double kc_precision_error(const kc_kernel *kernel, double max_norm, size_t d)
{
    extent stack[MAX_DEPTH] = {{0, 0}};
    size_t depth = 0, n_nodes;
    const kc_kernel_node *nodes = kc_kernel_expression(kernel, &n_nodes);

    for (size_t i = 0; i < n_nodes; i++) {
        if (nodes[i].op < KC_ADD) {
            assert(depth < MAX_DEPTH);
            stack[depth++] = leaf(&nodes[i], max_norm, d);
            continue;
        }
        depth -= nodes[i].op == KC_ADD || nodes[i].op == KC_MUL;
        stack[depth - 1] = combine(&nodes[i], stack[depth - 1], stack[depth]);
    }
    return stack[0].error;
}

static double largest_norm(const kc_packed *points)
{
    double largest = 0;

    for (size_t i = 0; i < points->n; i++)
        largest =
            fmax(largest, points->dtype == KC_F64 ? ((const double *)points->sq_norms)[i]
                                                  : (double)((const float *)points->sq_norms)[i]);
    return largest;
}

bool kc_precision_needs_f64(const kc_svm_settings *settings, const kc_kernel *kernel,
                            const kc_packed *points, double load)
{
    const double error = kc_precision_error(kernel, largest_norm(points), points->d);

    return !(error * load <= settings->tol / 4); /* NaN and infinity too */
}
