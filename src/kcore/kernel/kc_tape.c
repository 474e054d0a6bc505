#include "kernel/kc_tape.h"

#include <string.h>

#include "simd/kc_weigh_ops.h"

#define NO_BASE SIZE_MAX

/* Tiles of an expression, all together: so many numbers fit the second-level cache, unless the
 * expression has more nodes than that. */
#define CACHED_NUMBERS ((size_t)96 * 1024)
#define MIN_COLS ((size_t)64)

/* Multiply-adds between two polls. */
#define POLL_WORK ((size_t)32 << 20)

/* ---- Parameters ----------------------------------------------------------------------------- */

/* Of a leaf. */
static bool has_param(const kc_node *node, size_t k)
{
    return k < (size_t)node->leaf->info.n_params && kc_leaf_is_smooth(node->leaf, (int32_t)k);
}

static size_t count_params(const kc_node *node)
{
    size_t n = 0;

    if (node->leaf == NULL)
        return node->op->real_param == NULL ? 0 : kc_max(1, node->n_numbers);
    for (size_t k = 0; k < KC_MAX_PARAMS; k++)
        n += has_param(node, k);
    return n;
}

static size_t count_numbers(const kc_kernel *kernel, const kc_node *node)
{
    return count_params(node) + kc_weighted_columns(kernel, node);
}

size_t kc_tape_count(const kc_kernel *kernel)
{
    size_t n = 0;

    for (size_t i = 0; i < kernel->n_nodes; i++)
        n += count_numbers(kernel, &kernel->nodes[i]);
    return n;
}

/* Number k of the gradient by what a leaf, or an operator, has. */
static kc_tape_param describe_leaf(const kc_kernel *kernel, const kc_node *node, size_t k)
{
    const kc_leaf_info *leaf = &node->leaf->info;
    kc_tape_param found = {.kernel = leaf->name, .entry = -1};
    size_t param = 0;

    while (param < KC_MAX_PARAMS && (!has_param(node, param) || k-- > 0))
        param++;
    if (param == KC_MAX_PARAMS) {
        found.entry = (int64_t)k;
        found.name = "column";
        found.value = kc_column_weight(kernel, node, k);
    } else {
        found.name = leaf->params[param].name;
        found.value = node->params[param];
    }
    return found;
}

static kc_tape_param describe_operator(const kc_kernel *kernel, const kc_node *node, size_t k)
{
    return (kc_tape_param){
        .kernel = node->op->name,
        .name = node->op->real_param,
        .entry = node->n_numbers > 0 ? (int64_t)k : -1,
        .value = kc_kernel_numbers(kernel, node).values[k],
    };
}

bool kc_tape_find_param(const kc_kernel *kernel, size_t k, kc_tape_param *out)
{
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];
        const size_t n = count_numbers(kernel, node);

        if (k < n) {
            *out = node->leaf != NULL ? describe_leaf(kernel, node, k)
                                      : describe_operator(kernel, node, k);
            out->node = i;
            return true;
        }
        k -= n;
    }
    return false;
}

/* A sum and a normalization are known to the tape itself. */
static bool has_slope(const kc_node *node)
{
    if (node->leaf != NULL)
        return node->leaf->slope != NULL || count_params(node) == 0;
    return node->op == &kc_operator_sum || node->op == &kc_operator_normalized ||
           node->op->slope != NULL;
}

kc_status kc_tape_check(const kc_kernel *kernel, kc_error *err)
{
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];

        if (!has_slope(node))
            return kc_fail(err, KC_ERR_ARG, "the kernel %s has no gradient by its parameters",
                           node->leaf != NULL ? node->leaf->info.name : node->op->name);
        if (kc_weighted_columns(kernel, node) > 0 && !kc_has_column_slopes(node))
            return kc_fail(err, KC_ERR_ARG, "the kernel %s has no gradient by factors of columns",
                           node->leaf->info.name);
    }
    return KC_OK;
}

/* ---- Layout: weights, one value of them for each operand that waits; tiles ------------------- */

/* Nodes that have bases of their own come behind those that share one. */
kc_tape kc_tape_make(const kc_plan *plan, kc_tape_node *nodes, const kc_raw_columns *raw)
{
    const kc_kernel *kernel = plan->kernel;
    kc_tape tape = {
        .plan = plan, .nodes = nodes, .raw = raw, .n_tiles = kernel->n_nodes + kernel->n_tiles};
    size_t numbers;

    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];

        nodes[i] = (kc_tape_node){.base = NO_BASE, .first_param = tape.n_params};
        tape.n_params += count_numbers(kernel, node);
        if (node->leaf == NULL) {
            const size_t n = node->op->n_operands;

            nodes[i].operands[n - 1] = i - 1;
            if (n > 1)
                nodes[i].operands[0] = kc_operand_first(kernel, i) - 1;
        } else if (node->tile >= 0) {
            nodes[i].base = kernel->n_nodes + (size_t)node->tile;
        } else if (node->leaf->base->is_shared || node->leaf->slope_base != NULL) {
            nodes[i].base = tape.n_tiles++;
        }
    }
    numbers = (tape.n_tiles + 2 * kernel->max_depth) * KC_TAPE_ROWS;
    tape.n_cols = CACHED_NUMBERS / numbers / MIN_COLS * MIN_COLS;
    tape.n_cols = kc_max(MIN_COLS, kc_min(KC_TAPE_COLS, tape.n_cols));
    return tape;
}

static size_t weight_bytes(const kc_tape *tape)
{
    return KC_TAPE_ROWS * tape->n_cols * sizeof(double);
}

static size_t tile_bytes(const kc_tape *tape)
{
    return KC_TAPE_ROWS * tape->n_cols * kc_dtype_bytes(tape->plan->x->dtype);
}

static size_t kept_bytes(const kc_tape *tape)
{
    return tape->plan->kernel->max_depth * weight_bytes(tape) + tape->n_tiles * tile_bytes(tape);
}

/* Bases forward, weights of columns backward. */
static size_t base_bytes(const kc_tape *tape)
{
    return kc_max(kc_plan_workspace(tape->plan, KC_TAPE_ROWS),
                  tape->raw != NULL ? kc_column_slopes_workspace() : 0);
}

size_t kc_tape_workspace(const kc_tape *tape)
{
    return kc_aligned(kept_bytes(tape) + base_bytes(tape));
}

static void *tile_row(const kc_tape *tape, const kc_tape_tile *tile, size_t place, size_t r)
{
    char *tiles = (char *)tile->workspace + tape->plan->kernel->max_depth * weight_bytes(tape);

    return kc_at(tiles + place * tile_bytes(tape), r * tape->n_cols, tape->plan->x->dtype);
}

static double *weight_row(const kc_tape *tape, const kc_tape_tile *tile, size_t depth, size_t r)
{
    char *weights = (char *)tile->workspace + depth * weight_bytes(tape);

    return (double *)(void *)weights + r * tape->n_cols;
}

double *kc_tape_weights(const kc_tape *tape, const kc_tape_tile *tile, size_t r)
{
    return weight_row(tape, tile, 0, r);
}

/* ---- Forward -------------------------------------------------------------------------------- */

/* Values of a base of a leaf, so many columns at a time that a call is not kept waiting. */
static bool fill_base(const kc_tape *tape, const kc_node *node, const kc_base *base,
                      const kc_tape_tile *tile, size_t place, kc_call *call)
{
    const kc_plan *plan = tape->plan;
    const kc_node *asked = base->is_shared ? NULL : node;
    const kc_packed *x = kc_part_of(plan->x, node), *z = kc_part_of(plan->z, node);
    char *workspace = (char *)tile->workspace + kept_bytes(tape);
    const size_t some = kc_max(16, POLL_WORK / KC_TAPE_ROWS / kc_max(1, plan->work) / 16 * 16);
    void *out = tile_row(tape, tile, place, 0);
    bool is_finite = true;

    if (tile->is_diag)
        return base->diag(asked, x, tile->col_begin, tile->n_cols, out, workspace);
    for (size_t j = 0; j < tile->n_cols; j += some) {
        const kc_block block = {
            .x = x,
            .z = z,
            .row_begin = tile->row_begin,
            .n_rows = tile->n_rows,
            .col_begin = tile->col_begin + j,
            .n_cols = kc_min(some, tile->n_cols - j),
            .out = kc_at(out, j, x->dtype),
            .ld = tape->n_cols,
        };

        if (j > 0 && kc_call_poll(call) != KC_OK)
            return false;
        is_finite &= base->block(asked, &block, workspace);
    }
    return is_finite;
}

static bool run_leaf(const kc_tape *tape, size_t i, size_t first, const kc_tape_tile *tile,
                     kc_call *call)
{
    const kc_node *nodes = tape->plan->kernel->nodes, *node = &nodes[i];
    const kc_dtype dtype = tape->plan->x->dtype;
    const size_t base = tape->nodes[i].base;
    bool is_there = false, is_finite = true;

    if (node->leaf->slope_base != NULL)
        is_finite = fill_base(tape, node, node->leaf->slope_base, tile, base, call);
    if (base == NO_BASE || node->leaf->slope_base != NULL)
        return fill_base(tape, node, node->leaf->base, tile, i, call) && is_finite;
    for (size_t other = first; other < i; other++)
        is_there |= nodes[other].leaf != NULL && tape->nodes[other].base == base;
    if (!is_there)
        is_finite = fill_base(tape, node, node->leaf->base, tile, base, call);
    for (size_t r = 0; r < tile->n_rows; r++) {
        void *k = tile_row(tape, tile, i, r);

        memcpy(k, tile_row(tape, tile, base, r), tile->n_cols * kc_dtype_bytes(dtype));
        kc_leaf_map(node, dtype, k, tile->n_cols);
    }
    return is_finite;
}

static void run_operator(const kc_tape *tape, size_t i, const kc_tape_tile *tile)
{
    const kc_plan *plan = tape->plan;
    const kc_node *node = &plan->kernel->nodes[i];
    const kc_tape_node *known = &tape->nodes[i];
    const kc_numbers given = kc_kernel_numbers(plan->kernel, node);
    const kc_dtype dtype = plan->x->dtype;

    for (size_t r = 0; r < tile->n_rows; r++) {
        void *k = tile_row(tape, tile, i, r);

        memcpy(k, tile_row(tape, tile, known->operands[0], r),
               tile->n_cols * kc_dtype_bytes(dtype));
        if (node->op == &kc_operator_normalized && tile->is_diag)
            kc_plan_normalize_diag(plan, (size_t)node->scalar, tile->col_begin, k, tile->n_cols);
        else if (node->op == &kc_operator_normalized)
            kc_plan_normalize(plan, (size_t)node->scalar, tile->row_begin + r, tile->col_begin, k,
                              tile->n_cols);
        else
            node->op->apply(given, kc_ops_of(dtype), k, tile_row(tape, tile, known->operands[1], r),
                            tile->n_cols);
    }
}

static bool is_finite_row(const kc_tape *tape, const kc_tape_tile *tile, size_t i, size_t r)
{
    return kc_ops_of(tape->plan->x->dtype)->all_finite(tile_row(tape, tile, i, r), tile->n_cols);
}

bool kc_tape_forward(const kc_tape *tape, size_t first, size_t last, const kc_tape_tile *tile,
                     kc_call *call)
{
    const kc_kernel *kernel = tape->plan->kernel;
    bool is_finite = true;

    for (size_t i = first; i < last; i++) {
        if (kernel->nodes[i].leaf != NULL)
            is_finite &= run_leaf(tape, i, first, tile, call);
        else
            run_operator(tape, i, tile);
        for (size_t r = 0; r < tile->n_rows && kc_may_overflow(&kernel->nodes[i]); r++)
            is_finite &= is_finite_row(tape, tile, i, r);
    }
    return is_finite;
}

bool kc_tape_find_overflow(const kc_tape *tape, size_t last, const kc_tape_tile *tile, size_t *row,
                           size_t *col)
{
    const kc_dtype dtype = tape->plan->x->dtype;

    for (*row = 0; *row < tile->n_rows; (*row)++)
        for (*col = 0; *col < tile->n_cols; (*col)++)
            if (!kc_ops_of(dtype)->all_finite(
                    kc_at(tile_row(tape, tile, last - 1, *row), *col, dtype), 1))
                return true;
    return false;
}

/* ---- Backward ------------------------------------------------------------------------------- */

/* A run over the nodes from the last one on.  The weights of a node stand on top of a stack: an
 * operator puts those of its operands in their place, the last operand on top. */
typedef struct backward {
    const kc_tape *tape;
    const kc_tape_tile *tile;
    const kc_tape_sums *sums;
    size_t depth;                                   /* of the weights of the node at hand */
    _Alignas(KC_ALIGN) double slopes[KC_TAPE_COLS]; /* of a row, of either type */
} backward;

static kc_row_values row_values(const backward *run, size_t i, size_t r)
{
    const kc_tape *tape = run->tape;
    const size_t n = tape->plan->kernel->nodes[i].op->n_operands;
    kc_row_values row = {.dtype = tape->plan->x->dtype};

    for (size_t o = 0; o < n; o++)
        row.operands[o] = tile_row(tape, run->tile, tape->nodes[i].operands[o], r);
    row.result = tile_row(tape, run->tile, i, r);
    return row;
}

/* What a row adds to the gradient by a parameter. */
static void add_param(backward *run, size_t place, size_t r)
{
    const double *weights = weight_row(run->tape, run->tile, run->depth, r);
    double sum;

    kc_weigh_of(run->tape->plan->x->dtype)(run->slopes, run->tile->n_cols, weights, 0, 1, &sum);
    run->sums->params[place] += sum;
}

/* The weights of the leaf's values become those of its base. */
static void add_columns(backward *run, size_t i, size_t place)
{
    const kc_tape *tape = run->tape;
    const kc_tape_tile *tile = run->tile;
    const kc_node *node = &tape->plan->kernel->nodes[i];
    const kc_dtype dtype = tape->plan->x->dtype;
    const kc_base_weights weights = {
        .w = weight_row(tape, tile, run->depth, 0),
        .ld = tape->n_cols,
        .row_begin = tile->row_begin,
        .n_rows = tile->n_rows,
        .col_begin = tile->col_begin,
        .n_cols = tile->n_cols,
        .is_diag = tile->is_diag,
    };

    for (size_t r = 0; r < tile->n_rows; r++) {
        node->leaf->slope(node->params, KC_OF_BASE, dtype,
                          tile_row(tape, tile, tape->nodes[i].base, r), tile_row(tape, tile, i, r),
                          run->slopes, tile->n_cols);
        kc_scale_weights_of(dtype)(weight_row(tape, tile, run->depth, r), run->slopes,
                                   tile->n_cols);
    }
    kc_column_slopes_add(node->leaf->base, &tape->raw[i], &weights,
                         (char *)tile->workspace + kept_bytes(tape), run->sums->params + place);
}

static void leave_leaf(backward *run, size_t i)
{
    const kc_tape *tape = run->tape;
    const kc_node *node = &tape->plan->kernel->nodes[i];
    const size_t base = tape->nodes[i].base;
    size_t place = tape->nodes[i].first_param;

    for (size_t k = 0; k < KC_MAX_PARAMS; k++) {
        if (!has_param(node, k))
            continue;
        for (size_t r = 0; r < run->tile->n_rows; r++) {
            const void *value = tile_row(tape, run->tile, i, r);

            node->leaf->slope(node->params, (int32_t)k, tape->plan->x->dtype,
                              base == NO_BASE ? value : tile_row(tape, run->tile, base, r), value,
                              run->slopes, run->tile->n_cols);
            add_param(run, place, r);
        }
        place++;
    }
    if (tape->raw != NULL && tape->raw[i].n_cols > 0)
        add_columns(run, i, place);
}

static void copy_weights(const backward *run, size_t r)
{
    memcpy(weight_row(run->tape, run->tile, run->depth + 1, r),
           weight_row(run->tape, run->tile, run->depth, r), run->tile->n_cols * sizeof(double));
}

static void leave_operator(backward *run, size_t i)
{
    const kc_tape *tape = run->tape;
    const kc_node *node = &tape->plan->kernel->nodes[i];
    const kc_operator *op = node->op;
    const kc_numbers given = kc_kernel_numbers(tape->plan->kernel, node);
    const kc_ops *ops = kc_ops_of(tape->plan->x->dtype);
    const size_t n = run->tile->n_cols, n_params = count_params(node);

    for (size_t r = 0; r < run->tile->n_rows; r++) {
        const kc_row_values row = row_values(run, i, r);

        for (size_t k = 0; k < n_params; k++) {
            op->param_slope(given, ops, k, &row, run->slopes, n);
            add_param(run, tape->nodes[i].first_param + k, r);
        }
        if (op->n_operands > 1)
            copy_weights(run, r);
        for (size_t o = 0; o < op->n_operands && op->slope != NULL; o++) {
            op->slope(given, ops, o, &row, run->slopes, n);
            kc_scale_weights_of(row.dtype)(weight_row(tape, run->tile, run->depth + o, r),
                                           run->slopes, n);
        }
    }
}

/* K_ij = k_ij s_i s_j with s = k_ii^(-1/2).  By k_ij it has the slope s_i s_j; by k_ii, which the
 * whole row shares, -K_ij s_i^2 / 2: the sums of w_ij K_ij are kept for that.  K_ii is 1, or 0,
 * whatever the kernel is. */
static void leave_normalized(backward *run, size_t i)
{
    const kc_tape *tape = run->tape;
    const kc_plan *plan = tape->plan;
    const kc_tape_tile *tile = run->tile;
    const size_t s = (size_t)plan->kernel->nodes[i].scalar, n = tile->n_cols;
    const kc_dtype dtype = plan->x->dtype;
    const void *x = kc_packed_scalars(plan->x, s);
    const void *z = kc_at(kc_packed_scalars(plan->z, s), tile->col_begin, dtype);

    for (size_t r = 0; r < tile->n_rows; r++) {
        double *weights = weight_row(tape, tile, run->depth, r), sum;
        const void *values = tile_row(tape, tile, i, r);

        if (tile->is_diag) {
            memset(weights, 0, n * sizeof *weights);
            continue;
        }
        kc_weigh_of(dtype)(values, n, weights, 0, 1, &sum);
        run->sums->rows[s * run->sums->row_ld + tile->row_begin + r] += sum;
        kc_add_weighed_of(dtype)(run->sums->cols + s * run->sums->col_ld + tile->col_begin, values,
                                 weights, n);
        kc_scale_weights_of(dtype)(weights, z, n);
        kc_ops_of(KC_F64)->scale(weights, n, kc_number_at(x, tile->row_begin + r, dtype));
    }
}

void kc_tape_backward(const kc_tape *tape, size_t first, size_t last, const kc_tape_tile *tile,
                      const kc_tape_sums *sums)
{
    const kc_kernel *kernel = tape->plan->kernel;
    backward run = {.tape = tape, .tile = tile, .sums = sums};

    for (size_t i = last; i-- > first;) {
        const kc_node *node = &kernel->nodes[i];

        if (node->leaf != NULL)
            leave_leaf(&run, i);
        else if (node->op == &kc_operator_normalized)
            leave_normalized(&run, i);
        else
            leave_operator(&run, i);
        run.depth += node->leaf != NULL ? 0 : node->op->n_operands;
        run.depth -= i > first; /* its own place; below the last leaf nothing waits */
    }
}
