/* Making kernels: the constructors of kcore/kernels.h.
 *
 * A kernel is an array of nodes in postfix order; combining kernels writes their nodes one after
 * the other, and the operators behind them. */
#include "kernel/kc_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "kernel/kc_leaf.h"

#define MAX_NODES 1000
#define MAX_DEPTH 32
#define MAX_DEGREE 1000

/* ---- What is known of an expression --------------------------------------------------------- */

static size_t operands_of(const kc_node *node)
{
    return node->leaf != NULL ? 0 : node->op->n_operands;
}

/* Runs the expression on definiteness instead of numbers: finds its depth too. */
static kc_status find_depth(kc_kernel *kernel, kc_error *err)
{
    kc_definiteness stack[MAX_DEPTH] = {KC_INDEFINITE};
    size_t depth = 0;

    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];

        depth -= operands_of(node);
        if (depth == MAX_DEPTH)
            return kc_fail(err, KC_ERR_ARG, "kernel: the expression is deeper than %d", MAX_DEPTH);
        stack[depth] = node->leaf != NULL ? node->leaf->definiteness(node)
                                          : node->op->definiteness(node->params, stack + depth);
        depth++;
        kernel->max_depth = kc_max(kernel->max_depth, depth);
    }
    assert(depth == 1);
    kernel->definiteness = stack[0];
    return KC_OK;
}

static bool shares_base(const kc_node *a, const kc_node *b)
{
    return a->leaf != NULL && b->leaf != NULL && a->leaf->base == b->leaf->base &&
           a->leaf->base->is_shared;
}

/* Leaves that read the same numbers share a tile of them; a leaf by itself writes its values at
 * once. */
static void find_tiles(kc_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_nodes; i++)
        kernel->nodes[i].tile = -1;
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        bool is_first = kernel->nodes[i].tile < 0;

        for (size_t j = i + 1; is_first && j < kernel->n_nodes; j++) {
            if (!shares_base(&kernel->nodes[i], &kernel->nodes[j]))
                continue;
            if (kernel->nodes[i].tile < 0 && kernel->n_tiles < KC_MAX_TILES)
                kernel->nodes[i].tile = (int32_t)kernel->n_tiles++;
            kernel->nodes[j].tile = kernel->nodes[i].tile;
        }
    }
}

/* ---- Putting nodes together ----------------------------------------------------------------- */

static kc_status check_arguments(const kc_context *ctx, const void *given, const char *name,
                                 kc_kernel **out, kc_error *err)
{
    if (ctx == NULL || given == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL",
                       ctx == NULL     ? "ctx"
                       : given == NULL ? name
                                       : "out");
    return KC_OK;
}

static kc_status make(kc_context *ctx, size_t n_nodes, kc_kernel **out, kc_error *err)
{
    if (n_nodes > MAX_NODES)
        return kc_fail(err, KC_ERR_ARG, "kernel has %zu nodes, must have at most %d", n_nodes,
                       MAX_NODES);
    *out = kc_calloc(ctx, 1, sizeof **out + n_nodes * sizeof(kc_node));
    return *out != NULL ? KC_OK : kc_fail_nomem(err);
}

/* The nodes are there: finds what is known of them, and gives the kernel out or frees it. */
static kc_status finish(kc_context *ctx, kc_kernel *made, kc_kernel **out, kc_error *err)
{
    const kc_status status = find_depth(made, err);

    made->takes = UINT32_MAX;
    for (size_t i = 0; i < made->n_nodes; i++)
        if (made->nodes[i].leaf != NULL)
            made->takes &= made->nodes[i].leaf->base->takes;
    find_tiles(made);
    if (status == KC_OK)
        *out = made;
    else
        kc_kernel_free(ctx, made);
    return status;
}

static void append(kc_kernel *kernel, const kc_kernel *operand)
{
    memcpy(kernel->nodes + kernel->n_nodes, operand->nodes,
           operand->n_nodes * sizeof *operand->nodes);
    kernel->n_nodes += operand->n_nodes;
}

static kc_status make_leaf(kc_context *ctx, const kc_node *node, kc_kernel **out, kc_error *err)
{
    kc_kernel *made;

    KC_TRY(make(ctx, 1, &made, err));
    made->nodes[0] = *node;
    made->n_nodes = 1;
    return finish(ctx, made, out, err);
}

/* An operator of two stands behind each operand but the first, one of one behind the only one. */
static bool has_operator(const kc_node *operator, int32_t i)
{
    return i > 0 || operator->op->n_operands == 1;
}

static kc_status combine(kc_context *ctx, const kc_kernel *const *kernels, int32_t n,
                         const kc_node *operator, kc_kernel ** out, kc_error *err)
{
    size_t n_nodes = 0;
    kc_kernel *made;

    KC_TRY(check_arguments(ctx, kernels, "kernels", out, err));
    if (n < 1)
        return kc_fail(err, KC_ERR_ARG, "n is %d, must be at least 1", (int)n);
    for (int32_t i = 0; i < n; i++) {
        if (kernels[i] == NULL)
            return kc_fail(err, KC_ERR_ARG, "kernel %d is NULL", (int)i);
        n_nodes += kernels[i]->n_nodes + has_operator(operator, i);
    }
    KC_TRY(make(ctx, n_nodes, &made, err));
    for (int32_t i = 0; i < n; i++) {
        append(made, kernels[i]);
        if (has_operator(operator, i))
            made->nodes[made->n_nodes++] = *operator;
    }
    return finish(ctx, made, out, err);
}

/* ---- Constructors --------------------------------------------------------------------------- */

static kc_status check_param(const kc_leaf *leaf, const kc_setting *param, double value,
                             kc_error *err)
{
    const bool is_integer = strcmp(param->type, "int") == 0;
    const char *name = leaf->info.name;

    if (isfinite(value) && value >= param->min && value <= param->max &&
        !(param->is_above_min && value == param->min) && !(is_integer && value != floor(value)))
        return KC_OK;
    if (is_integer)
        return kc_fail(err, KC_ERR_ARG, "%s: %s is %g, must be %g to %g", name, param->name, value,
                       param->min, param->max);
    if (param->min > -DBL_MAX)
        return kc_fail(err, KC_ERR_ARG, "%s: %s is %g, must be finite and %s %g", name, param->name,
                       value, param->is_above_min ? ">" : ">=", param->min);
    return kc_fail(err, KC_ERR_ARG, "%s: %s is %g, must be finite", name, param->name, value);
}

static const kc_leaf *find_leaf(const char *name)
{
    for (int32_t i = 0; i < kc_leaf_count(); i++)
        if (strcmp(kc_leaf_at(i)->name, name) == 0)
            return (const kc_leaf *)(const void *)kc_leaf_at(i);
    return NULL;
}

kc_status kc_kernel_leaf(kc_context *ctx, const char *name, const double *params, int32_t n_params,
                         kc_kernel **out, kc_error *err)
{
    kc_node node = {0};

    KC_TRY(check_arguments(ctx, name, "name", out, err));
    node.leaf = find_leaf(name);
    if (node.leaf == NULL)
        return kc_fail(err, KC_ERR_ARG, "there is no leaf '%.40s'", name);
    if (n_params < 0 || n_params > node.leaf->info.n_params || (n_params > 0 && params == NULL))
        return kc_fail(err, KC_ERR_ARG, "%s: %d parameters are given, there are %d", name,
                       params == NULL ? 0 : (int)n_params, (int)node.leaf->info.n_params);
    for (int32_t i = 0; i < node.leaf->info.n_params; i++) {
        const kc_setting *param = &node.leaf->info.params[i];

        node.params[i] = i < n_params ? params[i] : param->default_value;
        KC_TRY(check_param(node.leaf, param, node.params[i], err));
    }
    if (node.leaf->fault != NULL && node.leaf->fault(node.params) != NULL)
        return kc_fail(err, KC_ERR_ARG, "%s: %s", name, node.leaf->fault(node.params));
    return make_leaf(ctx, &node, out, err);
}

kc_status kc_kernel_from_function(kc_context *ctx, const kc_kernel_function *function,
                                  kc_kernel **out, kc_error *err)
{
    kc_node node = {.leaf = &kc_leaf_function};
    kc_kernel_function *to = &node.function;

    KC_TRY(check_arguments(ctx, function, "function", out, err));
    KC_TRY(kc_struct_read(to, sizeof *to, function, "function", err));
    if ((to->pair == NULL) == (to->block == NULL))
        return kc_fail(err, KC_ERR_ARG, "function: %s of pair and block are given, must be one",
                       to->pair == NULL ? "none" : "both");
    if (to->definiteness != KC_POSITIVE && to->definiteness != KC_INDEFINITE)
        return kc_fail(err, KC_ERR_ARG, "function.definiteness is %d, must be %d or %d",
                       (int)to->definiteness, KC_INDEFINITE, KC_POSITIVE);
    if (!(to->work >= 0) || !isfinite(to->work))
        return kc_fail(err, KC_ERR_ARG, "function.work is %g, must be finite and >= 0", to->work);
    return make_leaf(ctx, &node, out, err);
}

kc_status kc_kernel_sum(kc_context *ctx, const kc_kernel *const *kernels, int32_t n,
                        kc_kernel **out, kc_error *err)
{
    return combine(ctx, kernels, n, &(kc_node){.op = &kc_operator_sum}, out, err);
}

kc_status kc_kernel_product(kc_context *ctx, const kc_kernel *const *kernels, int32_t n,
                            kc_kernel **out, kc_error *err)
{
    return combine(ctx, kernels, n, &(kc_node){.op = &kc_operator_product}, out, err);
}

kc_status kc_kernel_scaled(kc_context *ctx, const kc_kernel *kernel, double factor, kc_kernel **out,
                           kc_error *err)
{
    const kc_node node = {.op = &kc_operator_scaled, .params = {factor}};

    if (!(factor >= 0) || !isfinite(factor))
        return kc_fail(err, KC_ERR_ARG, "factor is %g, must be finite and >= 0", factor);
    return combine(ctx, &kernel, 1, &node, out, err);
}

kc_status kc_kernel_power(kc_context *ctx, const kc_kernel *kernel, int32_t degree, kc_kernel **out,
                          kc_error *err)
{
    const kc_node node = {.op = &kc_operator_power, .params = {degree}};

    if (degree < 0 || degree > MAX_DEGREE)
        return kc_fail(err, KC_ERR_ARG, "degree is %d, must be 0 to %d", (int)degree, MAX_DEGREE);
    return combine(ctx, &kernel, 1, &node, out, err);
}

kc_status kc_kernel_exp(kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err)
{
    return combine(ctx, &kernel, 1, &(kc_node){.op = &kc_operator_exp}, out, err);
}

kc_status kc_kernel_copy(kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err)
{
    const size_t n_bytes = sizeof *kernel + kernel->n_nodes * sizeof *kernel->nodes;

    *out = kc_alloc(ctx, 1, n_bytes);
    if (*out == NULL)
        return kc_fail_nomem(err);
    memcpy(*out, kernel, n_bytes);
    return KC_OK;
}

void kc_kernel_free(kc_context *ctx, kc_kernel *kernel)
{
    kc_free(ctx, kernel);
}

/* ---- Questions ------------------------------------------------------------------------------ */

kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel)
{
    return kernel->definiteness;
}

bool kc_kernel_is(const kc_kernel *kernel, const kc_leaf *leaf)
{
    return kernel->n_nodes == 1 && kernel->nodes[0].leaf == leaf;
}

const double *kc_kernel_params(const kc_kernel *kernel)
{
    assert(kernel->n_nodes == 1);
    return kernel->nodes[0].params;
}

bool kc_kernel_is_linear(const kc_kernel *kernel)
{
    return kc_kernel_is(kernel, &kc_leaf_linear);
}

bool kc_kernel_is_rbf(const kc_kernel *kernel)
{
    return kc_kernel_is(kernel, &kc_leaf_rbf);
}

kc_status kc_kernel_check(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                          kc_error *err)
{
    const kc_points *sides[] = {x, z};

    for (size_t i = 0; i < 2; i++)
        if ((kernel->takes >> sides[i]->storage & 1) == 0)
            return kc_fail(err, KC_ERR_TYPE, "%s holds strings, the kernel takes numbers",
                           kc_points_name(sides[i]));
    if (x->n_cols != z->n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %lld columns, %s has %lld", kc_points_name(x),
                       (long long)x->n_cols, kc_points_name(z), (long long)z->n_cols);
    return KC_OK;
}
