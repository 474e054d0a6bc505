/* Leaves, bases and operators: what a kernel expression is made of.  Each is a record; adding a
 * kernel is writing one and naming it in the table of kc_leaves.c.
 *
 * A leaf is a formula of a *base*, the one number that it needs to know of two samples: x.z, a
 * squared distance.  Leaves of the same base share its tiles (kc_plan.c). */
#ifndef KC_LEAF_H
#define KC_LEAF_H

#include "kernel/kc_kernel.h"
#include "kernel/kc_plan.h"
#include "simd/kc_ops.h"

#define KC_MAX_PARAMS 4
#define KC_MAX_DEGREE 1000 /* of powers and series */
#define KC_MAX_TILES 16    /* of base values that several leaves read */

/* What a base takes: parts of numbers, of strings, samples of several parts. */
#define KC_TAKES_NUMBERS (1u << KC_DENSE | 1u << KC_CSR)
#define KC_TAKES_STRINGS (1u << KC_STRINGS)
#define KC_TAKES_TABLES (1u << 31)

typedef struct kc_leaf kc_leaf;
typedef struct kc_operator kc_operator;

/* One place of an expression in postfix order: a leaf pushes a value, an operator takes its
 * operands from the stack and leaves one. */
typedef struct kc_node {
    const kc_leaf *leaf; /* NULL: an operator */
    const kc_operator *op;
    double params[KC_MAX_PARAMS];
    kc_kernel_function function; /* of a function leaf */
    int32_t reading; /* of a leaf: 0 reads all columns, r is the reading r - 1 of the kernel */
    int32_t scalar;  /* of a normalization: which number of each sample is K(x, x)^(-1/2) */
    int32_t tile;    /* leaf: which shared tile of base values it reads, -1: none */
    size_t first, n_numbers; /* of a series: its coefficients, behind the nodes */
} kc_node;

/* A number of two samples.  Blocks are of the points' type; `leaf` is the node whose formula is
 * applied to what is stored (kc_leaf_map), where the tile still lies in the nearest cache: NULL
 * leaves the values of the base. */
typedef struct kc_base {
    const char *name;
    uint32_t takes;        /* KC_TAKES_... */
    bool is_shared;        /* its values do not depend on the leaf */
    bool refuses_negative; /* numbers below 0, which kc_prepare looks for */

    /* Of one value, in multiply-adds, in the mean over the pairs. */
    size_t (*work)(const kc_node *leaf, const kc_packed *x, const kc_packed *z);
    /* Bytes for blocks of up to n_rows rows. */
    size_t (*workspace)(const kc_packed *x, const kc_packed *z, size_t n_rows);
    bool (*block)(const kc_node *leaf, const kc_block *block, void *workspace);
    /* The values of samples with themselves, before the leaf's formula: the same bits as block. */
    bool (*diag)(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace);
} kc_base;

struct kc_leaf {
    kc_leaf_info info;
    const kc_base *base;
    bool is_bounded; /* finite for all samples that are taken: no look for overflow */
    kc_definiteness (*definiteness)(const kc_node *leaf);

    /* From base values to values of the kernel, in place: exp(exp_factor * base), which loops may
     * apply to sums in their registers, or a map.  Neither: the base values are those of the
     * kernel. */
    double (*exp_factor)(const double *params);
    void (*map)(const double *params, kc_dtype dtype, void *k, size_t n);

    /* out = d value / d parameter k of n pairs, or with k = KC_OF_BASE d value / d base, 0 where
     * that has no limit; base and value are what block and formula gave.  Every leaf with real
     * parameters needs it to take part in a gradient; without it, it is refused there. */
    void (*slope)(const double *params, int32_t k, kc_dtype dtype, const void *base,
                  const void *value, void *out, size_t n);
    const kc_base *slope_base; /* what `slope` is given as base, where values of the leaf's own are
                                  not enough; it reads what that reads, in no more workspace */
    uint32_t choices; /* bit k: parameter k takes some values only, there is no slope by it */

    /* What the parameters must be, where that is more than a range of each; NULL where they are. */
    const char *(*fault)(const double *params);
};

extern const kc_leaf kc_leaf_linear, kc_leaf_polynomial, kc_leaf_sigmoid;
extern const kc_leaf kc_leaf_rbf, kc_leaf_laplacian, kc_leaf_matern;
extern const kc_leaf kc_leaf_rational_quadratic, kc_leaf_chi2, kc_leaf_additive_chi2;
extern const kc_leaf kc_leaf_histogram_intersection, kc_leaf_minmax, kc_leaf_tanimoto;
extern const kc_leaf kc_leaf_hamming, kc_leaf_anova;
extern const kc_leaf kc_leaf_constant, kc_leaf_delta;
extern const kc_leaf kc_leaf_function; /* has no row in the table: it needs more than numbers */

extern const kc_base kc_base_dot, kc_base_sq_dist, kc_base_l1, kc_base_min, kc_base_minmax;
extern const kc_base kc_base_chi2, kc_base_tanimoto, kc_base_equal, kc_base_anova;
extern const kc_base kc_base_anova_slope, kc_base_same_string;

kc_definiteness kc_always_positive(const kc_node *leaf);

/* Whether its values are other than those of its base. */
KC_INLINE bool kc_leaf_has_formula(const kc_node *leaf)
{
    return leaf->leaf->exp_factor != NULL || leaf->leaf->map != NULL;
}

/* For kc_leaf.slope: by what the leaf reads. */
#define KC_OF_BASE (-1)

/* The slope of exp(-gamma base): -base K by gamma, the first parameter, and -gamma K by the base.
 */
void kc_exp_slope(const double *params, int32_t k, kc_dtype dtype, const void *base,
                  const void *value, void *out, size_t n);

/* Whether the leaf's value has a slope by parameter k: all real ones but choices. */
bool kc_leaf_is_smooth(const kc_leaf *leaf, int32_t k);

/* The leaf's formula, on n base values of that type. */
void kc_leaf_map(const kc_node *leaf, kc_dtype dtype, void *k, size_t n);

/* What an operator is given beside its operands: parameters, or the coefficients of a series. */
typedef struct kc_numbers {
    const double *values;
    size_t n;
} kc_numbers;

/* Values of a row: of the operands (the second one NULL where there is none) and of the result. */
typedef struct kc_row_values {
    const void *operands[2];
    const void *result;
    kc_dtype dtype;
} kc_row_values;

struct kc_operator {
    const char *name;
    size_t n_operands;
    kc_definiteness (*definiteness)(kc_numbers given, const kc_definiteness *operands);
    /* On n values of one row: `k` is the first operand and the result, `other` the second. */
    void (*apply)(kc_numbers given, const kc_ops *ops, void *k, const void *other, size_t n);

    /* What a gradient needs (kc_tape.c), of n values of one row.  factors = d value / d operand
     * `which`, found of the values of both operands and of the result; a sum passes on what it
     * gets, a normalization needs more than a row.  Without it, others are refused. */
    void (*slope)(kc_numbers given, const kc_ops *ops, size_t which, const kc_row_values *row,
                  void *factors, size_t n);
    const char *real_param; /* the name of what it has a slope by: its one parameter, or each
                               coefficient of a series; NULL: nothing */
    /* out = d value / d given.values[k] */
    void (*param_slope)(kc_numbers given, const kc_ops *ops, size_t k, const kc_row_values *row,
                        void *out, size_t n);
};

extern const kc_operator kc_operator_sum, kc_operator_product, kc_operator_scaled;
extern const kc_operator kc_operator_power, kc_operator_exp, kc_operator_series;
extern const kc_operator kc_operator_normalized;

struct kc_kernel {
    size_t n_nodes;
    size_t max_depth; /* of the stack that evaluates it */
    size_t n_tiles;   /* shared tiles of base values */
    size_t n_scalars; /* numbers kept of each sample: one for each normalization */
    kc_definiteness definiteness;
    size_t n_readings;
    size_t max_nodes; /* there is room for; behind it numbers, as many spans, bytes of readings */
    size_t n_bytes, max_bytes;
    size_t n_numbers, max_numbers; /* of all series together */
    bool holds_owners;             /* of the functions in it: kc_kernel_free releases them */
    kc_node nodes[];
};

/* The numbers of an operator. */
kc_numbers kc_kernel_numbers(const kc_kernel *kernel, const kc_node *node);

/* The first node of the operand that ends before node `last`. */
size_t kc_operand_first(const kc_kernel *kernel, size_t last);

/* Distinct readings of its leaves. */
kc_readings kc_kernel_readings(const kc_kernel *kernel);

/* What a node reads of a set of points. */
KC_INLINE const kc_packed *kc_part_of(const kc_packed *points, const kc_node *node)
{
    return node->reading == 0 || points->n_readings == 0 /* none of the samples of a kind */
               ? points
               : kc_packed_part(points, (size_t)points->readings[node->reading - 1]);
}

/* Values that only finite operands can have made need no look; operators may overflow, each of
 * them: the factors of a normalization do where self-values are tiny. */
KC_INLINE bool kc_may_overflow(const kc_node *node)
{
    return node->leaf == NULL || !node->leaf->is_bounded;
}

#endif
