/* Making kernels: what an expression may be, what is known of it, and its evaluation over a block.
 *
 * The nodes are run as a stack machine over sub-blocks that stay in the second-level cache.  The
 * bottom of the stack is the caller's `out` itself, so a single leaf writes its values where they
 * belong and an expression needs workspace only for its other operands. */
#include "kernel/kc_kernel.h"

#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "data/kc_points.h"
#include "kernel/kc_kernel_impl.h"

#define MAX_NODES 1000
#define MAX_DEPTH 32
#define MAX_DEGREE 1000

/* A sub-block of an expression: 64 kB of f32 per operand. */
#define EXPR_ROWS 32
#define EXPR_COLS 512

/* ---- Creation ----------------------------------------------------------------------------- */

static size_t operands_of(int32_t op)
{
    return kc_is_leaf(op) ? 0 : op == KC_ADD || op == KC_MUL ? 2 : 1;
}

static bool has_gamma(int32_t op)
{
    return op == KC_RBF || op == KC_POLYNOMIAL || op == KC_SIGMOID || op == KC_LAPLACIAN ||
           op == KC_SCALE;
}

static bool is_known(int32_t op)
{
    return (op >= KC_LINEAR && op <= KC_LAPLACIAN) || (op >= KC_ADD && op <= KC_EXP);
}

static kc_status check_node(const kc_kernel_node *node, size_t place, kc_error *err)
{
    if (!is_known(node->op))
        return kc_fail(err, KC_ERR_ARG, "kernel node %zu: op %d is not known", place, node->op);
    if (has_gamma(node->op) && !(node->gamma >= 0.0 && isfinite(node->gamma)))
        return kc_fail(err, KC_ERR_ARG, "kernel node %zu: gamma is %g, must be finite and >= 0",
                       place, node->gamma);
    if ((node->op == KC_POLYNOMIAL || node->op == KC_SIGMOID) && !isfinite(node->coef0))
        return kc_fail(err, KC_ERR_ARG, "kernel node %zu: coef0 is %g, must be finite", place,
                       node->coef0);
    if ((node->op == KC_POLYNOMIAL || node->op == KC_POW) &&
        (node->degree < 0 || node->degree > MAX_DEGREE))
        return kc_fail(err, KC_ERR_ARG, "kernel node %zu: degree is %d, must be 0 to %d", place,
                       node->degree, MAX_DEGREE);
    return KC_OK;
}

/* Schoenberg and Schur: sums, products, powers and exponentials of kernels are kernels. */
static kc_definiteness definiteness_of(const kc_kernel_node *node, const kc_definiteness *operands)
{
    switch (node->op) {
    case KC_SIGMOID:
        return KC_INDEFINITE;
    case KC_POLYNOMIAL:
        return node->coef0 >= 0.0 || node->degree == 0 ? KC_POSITIVE : KC_INDEFINITE;
    case KC_ADD:
    case KC_MUL:
        return operands[0] < operands[1] ? operands[0] : operands[1];
    case KC_POW:
        return node->degree == 0 ? KC_POSITIVE : operands[0];
    case KC_SCALE:
        return node->gamma == 0.0 ? KC_POSITIVE : operands[0];
    case KC_EXP:
        return operands[0];
    default:
        return KC_POSITIVE;
    }
}

/* Runs the expression on definiteness instead of numbers: finds its depth, and that one value is
 * left. */
static kc_status check_expression(const kc_kernel_node *nodes, size_t n_nodes, size_t *max_depth,
                                  kc_definiteness *result, kc_error *err)
{
    kc_definiteness stack[MAX_DEPTH];
    size_t depth = 0;

    *max_depth = 0;
    for (size_t i = 0; i < n_nodes; i++) {
        size_t n_operands;

        KC_TRY(check_node(&nodes[i], i, err));
        n_operands = operands_of(nodes[i].op);
        if (depth < n_operands)
            return kc_fail(err, KC_ERR_ARG, "kernel node %zu: needs %zu operands, has %zu", i,
                           n_operands, depth);
        depth -= n_operands;
        if (depth == MAX_DEPTH)
            return kc_fail(err, KC_ERR_ARG, "kernel node %zu: expression deeper than %d", i,
                           MAX_DEPTH);
        stack[depth] = definiteness_of(&nodes[i], stack + depth);
        depth++;
        *max_depth = kc_max(*max_depth, depth);
    }
    if (depth != 1)
        return kc_fail(err, KC_ERR_ARG, "kernel expression leaves %zu values, must leave 1", depth);
    *result = stack[0];
    return KC_OK;
}

kc_status kc_kernel_create(kc_context *ctx, const kc_kernel_node *nodes, size_t n_nodes,
                           kc_kernel **out, kc_error *err)
{
    kc_definiteness definiteness = KC_INDEFINITE;
    size_t max_depth = 0;
    kc_kernel *kernel;

    if (ctx == NULL || nodes == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL",
                       ctx == NULL     ? "ctx"
                       : nodes == NULL ? "nodes"
                                       : "out");
    if (n_nodes < 1 || n_nodes > MAX_NODES)
        return kc_fail(err, KC_ERR_ARG, "kernel has %zu nodes, must have 1 to %d", n_nodes,
                       MAX_NODES);
    KC_TRY(check_expression(nodes, n_nodes, &max_depth, &definiteness, err));
    kernel = kc_alloc(ctx, 1, sizeof *kernel + n_nodes * sizeof *nodes);
    if (kernel == NULL)
        return kc_fail_nomem(err);
    kernel->n_nodes = n_nodes;
    kernel->max_depth = max_depth;
    kernel->definiteness = definiteness;
    memcpy(kernel->nodes, nodes, n_nodes * sizeof *nodes);
    *out = kernel;
    return KC_OK;
}

void kc_kernel_free(kc_context *ctx, kc_kernel *kernel)
{
    kc_free(ctx, kernel);
}

kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel)
{
    return kernel->definiteness;
}

const kc_kernel_node *kc_kernel_expression(const kc_kernel *kernel, size_t *n_nodes)
{
    *n_nodes = kernel->n_nodes;
    return kernel->nodes;
}

kc_status kc_kernel_check(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                          kc_error *err)
{
    const kc_points *sides[] = {x, z};

    (void)kernel; /* every leaf so far takes numbers */
    for (size_t i = 0; i < 2; i++)
        if (sides[i]->storage == KC_STRINGS)
            return kc_fail(err, KC_ERR_TYPE, "%s holds strings, the kernel takes numbers",
                           kc_points_name(sides[i]));
    if (x->n_cols != z->n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld columns, %s has %lld", kc_points_name(x),
                       (long long)x->n_cols, kc_points_name(z), (long long)z->n_cols);
    return KC_OK;
}

/* ---- Evaluation --------------------------------------------------------------------------- */

/* Values that only finite operands can have made: bounded leaves need no look. */
static bool may_overflow(int32_t op)
{
    return op != KC_RBF && op != KC_LAPLACIAN && op != KC_SIGMOID && op != KC_LINEAR;
}

void kc_map_leaf(const kc_kernel_node *leaf, const kc_ops *ops, void *k, size_t n)
{
    if (leaf->op == KC_POLYNOMIAL)
        ops->map_power(k, n, leaf->gamma, leaf->coef0, leaf->degree);
    else if (leaf->op == KC_SIGMOID)
        ops->map_tanh(k, n, leaf->gamma, leaf->coef0);
}

/* One operation on the values of one row: `k` is the first operand and the result. */
static void combine(const kc_kernel_node *node, const kc_ops *ops, void *k, const void *other,
                    size_t n)
{
    switch (node->op) {
    case KC_ADD:
        ops->add(k, other, n);
        break;
    case KC_MUL:
        ops->multiply(k, other, n);
        break;
    case KC_SCALE:
        ops->scale(k, n, node->gamma);
        break;
    case KC_POW:
        ops->map_power(k, n, 1.0, 0.0, node->degree);
        break;
    default:
        ops->map_exp(k, n, 1.0);
    }
}

static size_t leaf_workspace(const kc_packed *x, const kc_packed *z, size_t n_rows)
{
    return kc_aligned(z->is_sparse ? kc_csr_workspace(x, z) : kc_dense_workspace(x, z, n_rows));
}

static void evaluate_leaf(const kc_kernel_node *leaf, const kc_block *block, void *workspace)
{
    if (block->z->is_sparse)
        kc_csr_leaf(leaf, block, workspace);
    else
        kc_dense_leaf(leaf, block, workspace);
}

size_t kc_kernel_workspace_for(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z,
                               size_t n_rows)
{
    const size_t operand = EXPR_ROWS * EXPR_COLS * kc_dtype_bytes(x->dtype);

    return leaf_workspace(x, z, n_rows) + (kernel->max_depth - 1) * operand;
}

size_t kc_kernel_workspace(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z)
{
    return kc_kernel_workspace_for(kernel, x, z, SIZE_MAX);
}

/* The stack machine on a sub-block.  Operand 0 lies in the block's `out`, the others in `operands`.
 */
static bool evaluate_nodes(const kc_kernel *kernel, const kc_block *block, char *operands,
                           void *workspace)
{
    const kc_dtype dtype = block->x->dtype;
    const kc_ops *ops = kc_ops_of(dtype);
    const size_t operand_bytes = EXPR_ROWS * EXPR_COLS * kc_dtype_bytes(dtype);
    bool is_finite = true;
    size_t depth = 0;

    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_kernel_node *node = &kernel->nodes[i];
        kc_block top = *block;

        depth -= operands_of(node->op);
        if (depth > 0) {
            top.out = operands + (depth - 1) * operand_bytes;
            top.ld = EXPR_COLS;
        }
        if (kc_is_leaf(node->op))
            evaluate_leaf(node, &top, workspace);
        for (size_t r = 0; r < block->n_rows; r++) {
            void *k = kc_at(top.out, r * top.ld, dtype);

            if (!kc_is_leaf(node->op)) /* the other operand lies above the first */
                combine(node, ops, k,
                        kc_at(operands, depth * EXPR_ROWS * EXPR_COLS + r * EXPR_COLS, dtype),
                        block->n_cols);
            if (may_overflow(node->op))
                is_finite &= ops->all_finite(k, block->n_cols);
        }
        depth++;
    }
    return is_finite;
}

static bool evaluate_expression(const kc_kernel *kernel, const kc_block *block, void *workspace)
{
    char *operands = (char *)workspace + leaf_workspace(block->x, block->z, block->n_rows);
    bool is_finite = true;

    for (size_t i = 0; i < block->n_rows; i += EXPR_ROWS)
        for (size_t j = 0; j < block->n_cols; j += EXPR_COLS) {
            kc_block part = *block;

            part.n_rows = kc_min(EXPR_ROWS, block->n_rows - i);
            part.n_cols = kc_min(EXPR_COLS, block->n_cols - j);
            part.row_begin += i;
            part.rows = block->rows != NULL ? block->rows + i : NULL;
            part.col_begin += j;
            part.is_upper = false; /* what is left out could look like an overflow */
            part.out = kc_at(block->out, i * block->ld + j, block->x->dtype);
            is_finite &= evaluate_nodes(kernel, &part, operands, workspace);
        }
    return is_finite;
}

bool kc_kernel_block(const kc_kernel *kernel, const kc_block *block, void *workspace)
{
    assert(block->col_begin % 16 == 0);
    if (kernel->n_nodes > 1 || may_overflow(kernel->nodes[0].op))
        return evaluate_expression(kernel, block, workspace);
    evaluate_leaf(&kernel->nodes[0], block, workspace);
    return true;
}

/* K(x, x) of one leaf: x.x is at hand, and a distance from a point to itself is 0. */
static void leaf_diag(const kc_kernel_node *leaf, const kc_ops *ops, const kc_packed *x,
                      size_t row_begin, size_t n_rows, void *k)
{
    memcpy(k, kc_at(x->sq_norms, row_begin, x->dtype), n_rows * kc_dtype_bytes(x->dtype));
    if (leaf->op == KC_RBF || leaf->op == KC_LAPLACIAN) {
        memset(k, 0, n_rows * kc_dtype_bytes(x->dtype));
        ops->map_exp(k, n_rows, 1.0);
    }
    kc_map_leaf(leaf, ops, k, n_rows);
}

bool kc_kernel_diag(const kc_kernel *kernel, const kc_packed *x, size_t row_begin, size_t n_rows,
                    void *out, void *workspace)
{
    const kc_ops *ops = kc_ops_of(x->dtype);
    bool is_finite = true;

    for (size_t begin = 0; begin < n_rows; begin += EXPR_COLS) {
        const size_t n = kc_min(EXPR_COLS, n_rows - begin);
        size_t depth = 0;

        for (size_t i = 0; i < kernel->n_nodes; i++) {
            const kc_kernel_node *node = &kernel->nodes[i];
            void *k;

            depth -= operands_of(node->op);
            k = depth == 0 ? kc_at(out, begin, x->dtype)
                           : kc_at(workspace, (depth - 1) * EXPR_COLS, x->dtype);
            if (kc_is_leaf(node->op))
                leaf_diag(node, ops, x, row_begin + begin, n, k);
            else
                combine(node, ops, k, kc_at(workspace, depth * EXPR_COLS, x->dtype), n);
            if (may_overflow(node->op))
                is_finite &= ops->all_finite(k, n);
            depth++;
        }
    }
    return is_finite;
}
