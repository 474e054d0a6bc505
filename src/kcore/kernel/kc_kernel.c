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
#include "kernel/kc_build.h"

#define MAX_NODES 1000
#define MAX_DEPTH 32

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
        stack[depth] = node->leaf != NULL
                           ? node->leaf->definiteness(node)
                           : node->op->definiteness(kc_kernel_numbers(kernel, node), stack + depth);
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
           a->reading == b->reading && a->leaf->base->is_shared;
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

kc_status kc_build_check(const kc_context *ctx, const void *given, const char *name,
                         kc_kernel **out, kc_error *err)
{
    if (ctx == NULL || given == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL",
                       ctx == NULL     ? "ctx"
                       : given == NULL ? name
                                       : "out");
    return KC_OK;
}

static size_t size_of(size_t n_nodes, size_t n_bytes, size_t n_numbers)
{
    return sizeof(kc_kernel) + n_nodes * (sizeof(kc_node) + sizeof(kc_reading_span)) +
           n_numbers * sizeof(double) + n_bytes;
}

kc_status kc_build_begin(kc_context *ctx, size_t n_nodes, size_t n_bytes, size_t n_numbers,
                         kc_kernel **out, kc_error *err)
{
    if (n_nodes > MAX_NODES)
        return kc_fail(err, KC_ERR_ARG, "kernel has %zu nodes, must have at most %d", n_nodes,
                       MAX_NODES);
    *out = kc_calloc(ctx, 1, size_of(n_nodes, n_bytes, n_numbers));
    if (*out == NULL)
        return kc_fail_nomem(err);
    (*out)->max_nodes = n_nodes;
    (*out)->max_bytes = n_bytes;
    (*out)->max_numbers = n_numbers;
    return KC_OK;
}

/* ---- Numbers of series ---------------------------------------------------------------------- */

kc_numbers kc_kernel_numbers(const kc_kernel *kernel, const kc_node *node)
{
    if (node->n_numbers == 0)
        return (kc_numbers){node->params, KC_MAX_PARAMS};
    return (kc_numbers){kc_build_numbers(kernel) + node->first, node->n_numbers};
}

void kc_build_put_numbers(kc_kernel *kernel, kc_node *node, const double *numbers)
{
    node->first = kernel->n_numbers;
    assert(node->first + node->n_numbers <= kernel->max_numbers);
    memcpy(kc_build_numbers(kernel) + node->first, numbers, node->n_numbers * sizeof *numbers);
    kernel->n_numbers += node->n_numbers;
}

/* The nodes of an operand behind those there are. */
static void append(kc_kernel *kernel, const kc_kernel *operand)
{
    const kc_readings readings = kc_kernel_readings(operand);

    for (size_t i = 0; i < operand->n_nodes; i++) {
        kc_node *node = &kernel->nodes[kernel->n_nodes++];

        *node = operand->nodes[i];
        if (node->n_numbers > 0)
            kc_build_put_numbers(kernel, node, kc_kernel_numbers(operand, node).values);
        if (node->reading > 0) {
            const kc_step_list reading = kc_reading_at(&readings, (size_t)node->reading - 1);

            node->reading = kc_build_reading(kernel, &reading);
        }
    }
}

/* What functions of the caller's belong to lives as long as the kernels that call them. */
static void hold_owners(kc_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_nodes; i++)
        if (kernel->nodes[i].function.retain != NULL)
            kernel->nodes[i].function.retain(kernel->nodes[i].function.owner);
    kernel->holds_owners = true;
}

static void drop_owners(const kc_kernel *kernel)
{
    const size_t n_held = kernel != NULL && kernel->holds_owners ? kernel->n_nodes : 0;

    for (size_t i = 0; i < n_held; i++)
        if (kernel->nodes[i].function.release != NULL)
            kernel->nodes[i].function.release(kernel->nodes[i].function.owner);
}

kc_status kc_build_finish(kc_context *ctx, kc_kernel *made, kc_kernel **out, kc_error *err)
{
    const kc_status status = find_depth(made, err);

    hold_owners(made);
    for (size_t i = 0; i < made->n_nodes; i++) {
        kc_node *node = &made->nodes[i];

        if (node->op == &kc_operator_normalized)
            node->scalar = (int32_t)made->n_scalars++;
    }
    find_tiles(made);
    if (status == KC_OK)
        *out = made;
    else
        kc_kernel_free(ctx, made);
    return status;
}

static kc_status make_leaf(kc_context *ctx, const kc_node *node, kc_kernel **out, kc_error *err)
{
    kc_kernel *made;

    KC_TRY(kc_build_begin(ctx, 1, 0, 0, &made, err));
    made->nodes[0] = *node;
    made->n_nodes = 1;
    return kc_build_finish(ctx, made, out, err);
}

/* An operator of two stands behind each operand but the first, one of one behind the only one. */
static bool has_operator(const kc_node *operator, int32_t i)
{
    return i > 0 || operator->op->n_operands == 1;
}

static kc_status combine(kc_context *ctx, const kc_kernel *const *kernels, int32_t n,
                         const kc_node *operator, const double * numbers, kc_kernel **out,
                         kc_error *err)
{
    size_t n_nodes = 0, n_bytes = 0, n_numbers = operator->n_numbers;
    kc_kernel *made;

    KC_TRY(kc_build_check(ctx, kernels, "kernels", out, err));
    if (n < 1)
        return kc_fail(err, KC_ERR_ARG, "n is %d, must be at least 1", (int)n);
    for (int32_t i = 0; i < n; i++) {
        if (kernels[i] == NULL)
            return kc_fail(err, KC_ERR_ARG, "kernel %d is NULL", (int)i);
        n_nodes += kernels[i]->n_nodes + has_operator(operator, i);
        n_bytes += kernels[i]->n_bytes;
        n_numbers += kernels[i]->n_numbers;
    }
    KC_TRY(kc_build_begin(ctx, n_nodes, n_bytes, n_numbers, &made, err));
    for (int32_t i = 0; i < n; i++) {
        append(made, kernels[i]);
        if (has_operator(operator, i))
            made->nodes[made->n_nodes++] = *operator;
        if (operator->n_numbers> 0)
            kc_build_put_numbers(made, &made->nodes[made->n_nodes - 1], numbers);
    }
    return kc_build_finish(ctx, made, out, err);
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

    KC_TRY(kc_build_check(ctx, name, "name", out, err));
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

    KC_TRY(kc_build_check(ctx, function, "function", out, err));
    KC_TRY(kc_struct_read(to, sizeof *to, function, "function", err));
    if ((to->pair == NULL) == (to->block == NULL))
        return kc_fail(err, KC_ERR_ARG, "function: %s of pair and block are given, must be one",
                       to->pair == NULL ? "none" : "both");
    if ((int)to->definiteness < KC_INDEFINITE || (int)to->definiteness > KC_POSITIVE)
        return kc_fail(err, KC_ERR_ARG, "function.definiteness is %d, must be %d to %d",
                       (int)to->definiteness, KC_INDEFINITE, KC_POSITIVE);
    if ((to->retain == NULL) != (to->release == NULL))
        return kc_fail(err, KC_ERR_ARG, "function has one of retain and release, must have both");
    if (!(to->work >= 0) || !isfinite(to->work))
        return kc_fail(err, KC_ERR_ARG, "function.work is %g, must be finite and >= 0", to->work);
    return make_leaf(ctx, &node, out, err);
}

kc_status kc_kernel_sum(kc_context *ctx, const kc_kernel *const *kernels, int32_t n,
                        kc_kernel **out, kc_error *err)
{
    return combine(ctx, kernels, n, &(kc_node){.op = &kc_operator_sum}, NULL, out, err);
}

kc_status kc_kernel_product(kc_context *ctx, const kc_kernel *const *kernels, int32_t n,
                            kc_kernel **out, kc_error *err)
{
    return combine(ctx, kernels, n, &(kc_node){.op = &kc_operator_product}, NULL, out, err);
}

kc_status kc_kernel_scaled(kc_context *ctx, const kc_kernel *kernel, double factor, kc_kernel **out,
                           kc_error *err)
{
    const kc_node node = {.op = &kc_operator_scaled, .params = {factor}};

    if (!isfinite(factor))
        return kc_fail(err, KC_ERR_ARG, "factor is %g, must be finite", factor);
    return combine(ctx, &kernel, 1, &node, NULL, out, err);
}

kc_status kc_kernel_power(kc_context *ctx, const kc_kernel *kernel, int32_t degree, kc_kernel **out,
                          kc_error *err)
{
    const kc_node node = {.op = &kc_operator_power, .params = {degree}};

    if (degree < 0 || degree > KC_MAX_DEGREE)
        return kc_fail(err, KC_ERR_ARG, "degree is %d, must be 0 to %d", (int)degree,
                       KC_MAX_DEGREE);
    return combine(ctx, &kernel, 1, &node, NULL, out, err);
}

kc_status kc_kernel_exp(kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err)
{
    return combine(ctx, &kernel, 1, &(kc_node){.op = &kc_operator_exp}, NULL, out, err);
}

static kc_status check_coefficients(const double *coefs, int32_t n, kc_error *err)
{
    if (n < 1 || n > KC_MAX_DEGREE + 1)
        return kc_fail(err, KC_ERR_ARG, "n is %d, must be 1 to %d", (int)n, KC_MAX_DEGREE + 1);
    for (int32_t i = 0; i < n; i++)
        if (!isfinite(coefs[i]))
            return kc_fail(err, KC_ERR_ARG, "coefs[%d] is %g, must be finite", (int)i, coefs[i]);
    return KC_OK;
}

kc_status kc_kernel_series(kc_context *ctx, const kc_kernel *kernel, const double *coefs, int32_t n,
                           kc_kernel **out, kc_error *err)
{
    const kc_node node = {.op = &kc_operator_series, .n_numbers = (size_t)n};

    KC_TRY(kc_build_check(ctx, coefs, "coefs", out, err));
    KC_TRY(check_coefficients(coefs, n, err));
    return combine(ctx, &kernel, 1, &node, coefs, out, err);
}

kc_status kc_kernel_normalized(kc_context *ctx, const kc_kernel *kernel, kc_kernel **out,
                               kc_error *err)
{
    return combine(ctx, &kernel, 1, &(kc_node){.op = &kc_operator_normalized}, NULL, out, err);
}

kc_status kc_kernel_copy(kc_context *ctx, const kc_kernel *kernel, kc_kernel **out, kc_error *err)
{
    const size_t n_bytes = size_of(kernel->max_nodes, kernel->max_bytes, kernel->max_numbers);

    *out = kc_alloc(ctx, 1, n_bytes);
    if (*out == NULL)
        return kc_fail_nomem(err);
    memcpy(*out, kernel, n_bytes);
    hold_owners(*out);
    return KC_OK;
}

void kc_kernel_free(kc_context *ctx, kc_kernel *kernel)
{
    drop_owners(kernel);
    kc_free(ctx, kernel);
}

/* ---- Questions ------------------------------------------------------------------------------ */

kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel)
{
    return kernel->definiteness;
}

static bool is_same_reading(const kc_kernel *a, int32_t reading_a, const kc_kernel *b,
                            int32_t reading_b)
{
    if (reading_a == 0 || reading_b == 0)
        return reading_a == reading_b;
    const kc_readings readings_a = kc_kernel_readings(a), readings_b = kc_kernel_readings(b);
    const kc_step_list x = kc_reading_at(&readings_a, (size_t)reading_a - 1);
    const kc_step_list z = kc_reading_at(&readings_b, (size_t)reading_b - 1);

    return x.n_bytes == z.n_bytes && memcmp(x.steps, z.steps, x.n_bytes) == 0;
}

/* Parameters, or the coefficients of a series. */
static bool has_same_numbers(const kc_kernel *a, const kc_node *x, const kc_kernel *b,
                             const kc_node *z)
{
    const kc_numbers p = kc_kernel_numbers(a, x), q = kc_kernel_numbers(b, z);
    bool is_same = p.n == q.n;

    for (size_t k = 0; is_same && k < p.n; k++)
        is_same = p.values[k] == q.values[k];
    return is_same;
}

bool kc_kernel_is_equal(const kc_kernel *a, const kc_kernel *b)
{
    bool is_equal = a->n_nodes == b->n_nodes;

    for (size_t i = 0; is_equal && i < a->n_nodes; i++) {
        const kc_node *x = &a->nodes[i], *z = &b->nodes[i];

        is_equal = x->leaf == z->leaf && x->op == z->op && x->function.pair == z->function.pair &&
                   x->function.block == z->function.block && x->function.data == z->function.data &&
                   is_same_reading(a, x->reading, b, z->reading) && has_same_numbers(a, x, b, z);
    }
    return is_equal;
}

bool kc_kernel_is(const kc_kernel *kernel, const kc_leaf *leaf)
{
    return kernel->n_nodes == 1 && kernel->nodes[0].leaf == leaf && kernel->nodes[0].reading == 0;
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

static const char *kind_of(kc_storage storage)
{
    return storage == KC_STRINGS ? "strings" : "numbers";
}

static const char *next_step(kc_storage storage)
{
    return storage == KC_STRINGS ? "take a kernel of strings, such as delta"
                                 : "take a kernel of numbers, such as rbf";
}

/* A leaf that reads all columns takes one part, unless it looks at none of them. */
static kc_status check_whole(const kc_leaf *leaf, const kc_points *x, kc_error *err)
{
    const bool takes_tables = (leaf->base->takes & KC_TAKES_TABLES) != 0;
    const bool takes_strings = (leaf->base->takes & KC_TAKES_STRINGS) != 0;

    if (x->next != NULL)
        return takes_tables ? KC_OK
                            : kc_fail(err, KC_ERR_TYPE,
                                      "the kernel %s reads all columns of %s, which has several "
                                      "parts of numbers or strings: say on which columns it is",
                                      leaf->info.name, kc_points_name(x));
    if ((leaf->base->takes >> x->storage & 1) == 0)
        return kc_fail(err, KC_ERR_TYPE, "%s holds %s, the kernel %s takes %s: %s",
                       kc_points_name(x), kind_of(x->storage), leaf->info.name,
                       takes_strings ? "strings" : "numbers", next_step(x->storage));
    return KC_OK;
}

static kc_status check_read(const kc_kernel *kernel, const kc_node *node, const kc_points *x,
                            kc_error *err)
{
    const kc_readings readings = kc_kernel_readings(kernel);
    const kc_step_list reading = kc_reading_at(&readings, (size_t)node->reading - 1);
    const kc_leaf *leaf = node->leaf;
    kc_column_list columns = {NULL, 0};
    kc_storage storage;
    size_t n_cols;

    KC_TRY(kc_reading_check(&reading, x, &storage, &n_cols, err));
    if ((leaf->base->takes >> storage & 1) != 0)
        return KC_OK;
    if (!kc_reading_selects(&reading, &columns) || kc_reading_rest(&reading).n_bytes > 0)
        return kc_fail(err, KC_ERR_TYPE,
                       "the kernel %s takes strings, it reads numbers that are made of %s",
                       leaf->info.name, kc_points_name(x));
    return kc_fail(err, KC_ERR_TYPE, "column %d of %s holds %s, the kernel %s takes %s: %s",
                   (int)columns.list[0], kc_points_name(x), kind_of(storage), leaf->info.name,
                   storage == KC_STRINGS ? "numbers" : "strings", next_step(storage));
}

kc_status kc_kernel_check_parts(const kc_kernel *kernel, const kc_points *points, kc_error *err)
{
    for (size_t i = 0; i < kernel->n_nodes; i++) {
        const kc_node *node = &kernel->nodes[i];

        if (node->leaf != NULL)
            KC_TRY(node->reading == 0 ? check_whole(node->leaf, points, err)
                                      : check_read(kernel, node, points, err));
    }
    return KC_OK;
}

kc_status kc_kernel_check(const kc_kernel *kernel, const kc_points *x, const kc_points *z,
                          kc_error *err)
{
    KC_TRY(kc_points_check_parts(x, err));
    KC_TRY(kc_kernel_check_parts(kernel, x, err));
    if (z == x)
        return KC_OK;
    KC_TRY(kc_points_check_parts(z, err));
    KC_TRY(kc_kernel_check_parts(kernel, z, err));
    return kc_points_check_alike(x, z, err);
}
