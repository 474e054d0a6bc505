/* Evaluation: the nodes of an expression are run as a stack machine over sub-blocks that stay in
 * the second-level cache.
 *
 * The bottom of the stack is the caller's `out` itself, so a single leaf writes its values where
 * they belong and an expression needs workspace only for its other operands, and for the tiles of
 * base values that several leaves read. */
#include "kernel/kc_plan.h"

#include <string.h>

#include "kernel/kc_leaf.h"

/* A sub-block of an expression: 24 kB of f32 per operand, two tiles of rows.  Blocks of 32 rows,
 * which are no multiple of a tile, took a tenth longer. */
#define EXPR_ROWS 12
#define EXPR_COLS 512

/* What a node costs a value beyond its base, in multiply-adds: exp and the like. */
#define NODE_WORK ((size_t)16)

/* Multiples of the row tile and the panels. */
#define DENSE_STEP ((size_t)12)

/* ---- Cost ----------------------------------------------------------------------------------- */

/* A shared tile is paid for by the first leaf that reads it. */
static bool pays_for_base(const kc_kernel *kernel, size_t i)
{
    const int32_t tile = kernel->nodes[i].tile;

    for (size_t j = 0; tile >= 0 && j < i; j++)
        if (kernel->nodes[j].leaf != NULL && kernel->nodes[j].tile == tile)
            return false;
    return kernel->nodes[i].leaf != NULL;
}

kc_plan kc_plan_make(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z)
{
    kc_plan plan = {.kernel = kernel, .x = x, .z = z};

    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];

        plan.work += NODE_WORK + node->n_numbers;
        if (pays_for_base(kernel, i))
            plan.work += node->leaf->base->work(node, kc_part_of(x, node), kc_part_of(z, node));
    }
    return plan;
}

size_t kc_plan_row_step(const kc_plan *plan)
{
    return plan->x->storage == KC_CSR ? KC_LANE_BYTES / kc_dtype_bytes(plan->x->dtype) : DENSE_STEP;
}

/* ---- Workspace: what bases need, shared tiles, operands ------------------------------------- */

static size_t operand_bytes(const kc_plan *plan)
{
    return EXPR_ROWS * EXPR_COLS * kc_dtype_bytes(plan->x->dtype);
}

/* One after the other, leaves use the same memory. */
static size_t base_workspace(const kc_plan *plan, size_t n_rows)
{
    size_t most = 0;

    for (size_t i = 0; i < plan->kernel->n_nodes; i++) {
        const kc_node *node = &plan->kernel->nodes[i];

        if (node->leaf != NULL)
            most = kc_max(most, node->leaf->base->workspace(kc_part_of(plan->x, node),
                                                            kc_part_of(plan->z, node), n_rows));
    }
    return kc_aligned(most);
}

size_t kc_plan_workspace(const kc_plan *plan, size_t n_rows)
{
    return base_workspace(plan, n_rows) +
           (plan->kernel->n_tiles + plan->kernel->max_depth - 1) * operand_bytes(plan);
}

/* ---- Sub-blocks ----------------------------------------------------------------------------- */

/* Where the parts of the workspace begin. */
typedef struct room {
    void *workspace; /* of a base */
    char *tiles, *operands;
    bool *has_tile; /* n_tiles: whether it was computed for this sub-block */
} room;

static bool run_leaf(const kc_plan *plan, const kc_node *node, const kc_block *top, const room *at)
{
    const kc_dtype dtype = plan->x->dtype;
    kc_block tile = *top;
    bool is_finite = true;

    tile.x = kc_part_of(plan->x, node);
    tile.z = kc_part_of(plan->z, node);
    if (node->tile < 0)
        return node->leaf->base->block(node, &tile, at->workspace);
    tile.out = at->tiles + (size_t)node->tile * operand_bytes(plan);
    tile.ld = EXPR_COLS;
    if (!at->has_tile[node->tile])
        is_finite = node->leaf->base->block(NULL, &tile, at->workspace);
    at->has_tile[node->tile] = true;
    for (size_t r = 0; r < top->n_rows; r++) {
        void *k = kc_at(top->out, r * top->ld, dtype);

        memcpy(k, kc_at(tile.out, r * EXPR_COLS, dtype), top->n_cols * kc_dtype_bytes(dtype));
        kc_leaf_map(node, dtype, k, top->n_cols);
    }
    return is_finite;
}

/* k *= x[row] z[j] with the numbers of both sides: a product of which either factor may come first.
 */
static void scale_row(const void *x, size_t row, const void *z, size_t col_begin, kc_dtype dtype,
                      void *k, size_t n)
{
    if (dtype == KC_F64) {
        const double own = ((const double *)x)[row], *others = (const double *)z + col_begin;

        for (size_t j = 0; j < n; j++)
            ((double *)k)[j] *= own * others[j];
    } else {
        const float own = ((const float *)x)[row], *others = (const float *)z + col_begin;

        for (size_t j = 0; j < n; j++)
            ((float *)k)[j] *= own * others[j];
    }
}

void kc_plan_normalize(const kc_plan *plan, size_t scalar, size_t row, size_t col_begin, void *k,
                       size_t n)
{
    scale_row(kc_packed_scalars(plan->x, scalar), row, kc_packed_scalars(plan->z, scalar),
              col_begin, plan->x->dtype, k, n);
}

static void normalize(const kc_plan *plan, const kc_node *node, const kc_block *top)
{
    for (size_t r = 0; r < top->n_rows; r++)
        kc_plan_normalize(plan, (size_t)node->scalar, kc_block_row(top, r), top->col_begin,
                          kc_at(top->out, r * top->ld, plan->x->dtype), top->n_cols);
}

/* The other operand, if there is one, lies above the first: at `depth` of the operands. */
static void run_operator(const kc_plan *plan, const kc_node *node, const kc_block *top,
                         size_t depth, const room *at)
{
    const kc_dtype dtype = plan->x->dtype;
    const kc_ops *ops = kc_ops_of(dtype);
    const kc_numbers given = kc_kernel_numbers(plan->kernel, node);
    void *others = at->operands + depth * operand_bytes(plan);

    for (size_t r = 0; r < top->n_rows; r++)
        node->op->apply(given, ops, kc_at(top->out, r * top->ld, dtype),
                        kc_at(others, r * EXPR_COLS, dtype), top->n_cols);
}

static bool are_finite(const kc_block *top)
{
    const kc_dtype dtype = top->x->dtype;
    const kc_ops *ops = kc_ops_of(dtype);
    bool is_finite = true;

    for (size_t r = 0; r < top->n_rows; r++)
        is_finite &= ops->all_finite(kc_at(top->out, r * top->ld, dtype), top->n_cols);
    return is_finite;
}

/* The stack machine on a sub-block.  Operand 0 lies in the block's `out`. */
static bool run_nodes(const kc_plan *plan, const kc_block *block, const room *at)
{
    const kc_kernel *kernel = plan->kernel;
    bool is_finite = true;
    size_t depth = 0;

    memset(at->has_tile, 0, kernel->n_tiles * sizeof *at->has_tile);
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];
        kc_block top = *block;

        depth -= node->leaf != NULL ? 0 : node->op->n_operands;
        if (depth > 0) {
            top.out = at->operands + (depth - 1) * operand_bytes(plan);
            top.ld = EXPR_COLS;
        }
        if (node->leaf != NULL)
            is_finite &= run_leaf(plan, node, &top, at);
        else if (node->op == &kc_operator_normalized)
            normalize(plan, node, &top);
        else
            run_operator(plan, node, &top, depth, at);
        if (kc_may_overflow(node))
            is_finite &= are_finite(&top);
        depth++;
    }
    return is_finite;
}

static bool run_expression(const kc_plan *plan, const kc_block *block, void *workspace)
{
    const size_t n_tiles = plan->kernel->n_tiles;
    bool has_tile[KC_MAX_TILES];
    room at = {.workspace = workspace, .has_tile = has_tile};
    bool is_finite = true;

    at.tiles = (char *)workspace + base_workspace(plan, block->n_rows);
    at.operands = at.tiles + n_tiles * operand_bytes(plan);
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
            is_finite &= run_nodes(plan, &part, &at);
        }
    return is_finite;
}

bool kc_plan_block(const kc_plan *plan, const kc_block *requested, void *workspace)
{
    const kc_node *first = &plan->kernel->nodes[0];
    kc_block block = *requested;

    assert(requested->col_begin % 16 == 0);
    block.x = plan->x;
    block.z = plan->z;
    if (plan->kernel->n_nodes > 1 || kc_may_overflow(first))
        return run_expression(plan, &block, workspace);
    block.x = kc_part_of(plan->x, first);
    block.z = kc_part_of(plan->z, first);
    return first->leaf->base->block(first, &block, workspace);
}

/* ---- The diagonal --------------------------------------------------------------------------- */

void kc_plan_normalize_diag(const kc_plan *plan, size_t scalar, size_t row_begin, void *k, size_t n)
{
    const void *x = kc_packed_scalars(plan->x, scalar);
    const kc_dtype dtype = plan->x->dtype;

    for (size_t i = 0; i < n; i++)
        scale_row(x, row_begin + i, x, row_begin + i, dtype, kc_at(k, i, dtype), 1);
}

/* The stack machine on n samples with themselves, for the nodes first .. last - 1. */
static bool run_diag(const kc_plan *plan, size_t first, size_t last, size_t row_begin, size_t n,
                     void *out, char *operands, void *workspace)
{
    const kc_dtype dtype = plan->x->dtype;
    const kc_ops *ops = kc_ops_of(dtype);
    bool is_finite = true;
    size_t depth = 0;

    for (size_t i = first; i < last; i++) {
        const kc_node *node = &plan->kernel->nodes[i];
        void *k;

        depth -= node->leaf != NULL ? 0 : node->op->n_operands;
        k = depth == 0 ? out : kc_at(operands, (depth - 1) * EXPR_COLS, dtype);
        if (node->leaf != NULL) {
            is_finite &=
                node->leaf->base->diag(node, kc_part_of(plan->x, node), row_begin, n, k, workspace);
            kc_leaf_map(node, dtype, k, n);
        } else if (node->op == &kc_operator_normalized) {
            kc_plan_normalize_diag(plan, (size_t)node->scalar, row_begin, k, n);
        } else {
            node->op->apply(kc_kernel_numbers(plan->kernel, node), ops, k,
                            kc_at(operands, depth * EXPR_COLS, dtype), n);
        }
        if (kc_may_overflow(node))
            is_finite &= ops->all_finite(k, n);
        depth++;
    }
    return is_finite;
}

bool kc_plan_diag(const kc_plan *plan, size_t row_begin, size_t n_rows, void *out, void *workspace)
{
    return kc_plan_diag_of(plan, 0, plan->kernel->n_nodes, row_begin, n_rows, out, workspace);
}

bool kc_plan_diag_of(const kc_plan *plan, size_t first, size_t last, size_t row_begin,
                     size_t n_rows, void *out, void *workspace)
{
    char *operands = (char *)workspace + base_workspace(plan, 1);
    bool is_finite = true;

    for (size_t begin = 0; begin < n_rows; begin += EXPR_COLS)
        is_finite &=
            run_diag(plan, first, last, row_begin + begin, kc_min(EXPR_COLS, n_rows - begin),
                     kc_at(out, begin, plan->x->dtype), operands, workspace);
    return is_finite;
}
