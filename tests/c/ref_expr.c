/* A stack of kernels, as the expression asks for it. */
#include "ref_expr.h"

#include <stdlib.h>

static kc_status make_leaf(kc_context *ctx, const ref_node *node, kc_kernel **out, kc_error *err)
{
    const double polynomial[] = {node->degree, node->gamma, node->coef0};
    const double matern[] = {node->degree + 0.5, node->gamma};
    const double others[] = {node->gamma, node->coef0};

    switch (node->op) {
    case OP_RBF:
        return kc_kernel_leaf(ctx, "rbf", others, 1, out, err);
    case OP_POLYNOMIAL:
        return kc_kernel_leaf(ctx, "polynomial", polynomial, 3, out, err);
    case OP_SIGMOID:
        return kc_kernel_leaf(ctx, "sigmoid", others, 2, out, err);
    case OP_LAPLACIAN:
        return kc_kernel_leaf(ctx, "laplacian", others, 1, out, err);
    case OP_MATERN:
        return kc_kernel_leaf(ctx, "matern", matern, 2, out, err);
    case OP_RATIONAL:
        return kc_kernel_leaf(ctx, "rational_quadratic", others, 2, out, err);
    case OP_CHI2:
        return kc_kernel_leaf(ctx, "chi2", others, 1, out, err);
    case OP_ADDITIVE_CHI2:
        return kc_kernel_leaf(ctx, "additive_chi2", NULL, 0, out, err);
    case OP_INTERSECTION:
        return kc_kernel_leaf(ctx, "histogram_intersection", NULL, 0, out, err);
    case OP_MINMAX:
        return kc_kernel_leaf(ctx, "minmax", NULL, 0, out, err);
    case OP_TANIMOTO:
        return kc_kernel_leaf(ctx, "tanimoto", NULL, 0, out, err);
    case OP_HAMMING:
        return kc_kernel_leaf(ctx, "hamming", NULL, 0, out, err);
    case OP_ANOVA:
        return kc_kernel_leaf(ctx, "anova", others, 1, out, err);
    case OP_CONSTANT:
        return kc_kernel_leaf(ctx, "constant", others, 1, out, err);
    default:
        return kc_kernel_leaf(ctx, "linear", NULL, 0, out, err);
    }
}

static kc_status combine(kc_context *ctx, const ref_node *node, const kc_kernel *const *operands,
                         kc_kernel **out, kc_error *err)
{
    switch (node->op) {
    case OP_ADD:
        return kc_kernel_sum(ctx, operands, 2, out, err);
    case OP_MUL:
        return kc_kernel_product(ctx, operands, 2, out, err);
    case OP_SCALE:
        return kc_kernel_scaled(ctx, operands[0], node->gamma, out, err);
    case OP_POW:
        return kc_kernel_power(ctx, operands[0], node->degree, out, err);
    default:
        return kc_kernel_exp(ctx, operands[0], out, err);
    }
}

kc_status ref_kernel_make(kc_context *ctx, const ref_node *nodes, size_t n_nodes, kc_kernel **out,
                          kc_error *err)
{
    kc_kernel **stack = calloc(n_nodes, sizeof *stack);
    kc_status status = KC_OK;
    size_t depth = 0;

    if (stack == NULL)
        abort();
    for (size_t i = 0; i < n_nodes && status == KC_OK; i++) {
        const ref_node *node = &nodes[i];
        const size_t n = node->op < OP_ADD ? 0 : node->op <= OP_MUL ? 2 : 1;
        const kc_kernel *operands[2] = {NULL};
        kc_kernel *made = NULL;

        for (size_t k = 0; k < n; k++)
            operands[k] = stack[depth - n + k];
        status =
            n == 0 ? make_leaf(ctx, node, &made, err) : combine(ctx, node, operands, &made, err);
        if (status != KC_OK)
            break;
        for (size_t k = 0; k < n; k++)
            kc_kernel_free(ctx, stack[--depth]);
        stack[depth++] = made;
    }
    *out = status == KC_OK ? stack[--depth] : NULL;
    while (depth > 0)
        kc_kernel_free(ctx, stack[--depth]);
    free(stack);
    return status;
}
