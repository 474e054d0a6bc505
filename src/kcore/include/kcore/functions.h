/* kcore: functions, what every learner leaves behind.
 *
 *     f_o(x) = sum over points i of coef[o][i] K(x_i, x) + intercepts[o]
 *
 * for one or many outputs o, and a decoder that reads classes from the outputs.  The function of a
 * model is kc_model_function, that of an online learner kc_online_function; any other is made of
 * its parts:
 *
 *   kc_function_parts parts = {
 *       .struct_size = sizeof parts,
 *       .kernel = kernel, .x = &centres, .dtype = KC_F64,
 *       .n_points = 2, .n_cols = 3, .n_outputs = 1,
 *       .coef = (double[]){1.0, -1.0}, .intercepts = (double[]){0.5},
 *       .decoder = KC_DECODE_SIGN, .n_classes = 2,
 *   };
 *   kc_function *f;
 *   if (kc_function_create(ctx, NULL, &parts, &f, &err) == KC_OK) {
 *       status = kc_function_predict(ctx, NULL, f, &samples, 0, classes, &err);
 *       kc_function_free(ctx, f);
 *   } */
#ifndef KCORE_FUNCTIONS_H
#define KCORE_FUNCTIONS_H

#include "kcore/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Functions ---------------------------------------------------------------------------- */

/* What the outputs mean. */
typedef enum kc_decoder {
    KC_DECODE_VALUES = 1, /* themselves: there are no classes */
    KC_DECODE_SIGN = 2,   /* one output, two classes: positive says class 1, negative class 0 */
    KC_DECODE_PAIRS = 3,  /* more than two classes, an output for each pair (i, j), i < j, in the
                             order (0, 1), (0, 2), ..., (1, 2), ...: positive says class i, else j;
                             the class with the most votes */
    KC_DECODE_LARGEST = 4 /* an output for each class: the class of the largest one */
} kc_decoder;

typedef struct kc_function_parts {
    size_t struct_size;      /* sizeof(kc_function_parts) */
    const kc_kernel *kernel; /* NULL: kernel values will be given in place of samples */
    const kc_points *x;      /* the points; NULL without a kernel.  Where n_points is 0: samples
                                like those to come, which may be none, or NULL: numbers */
    const int32_t *columns; /* without a kernel: n_points columns of the kernel matrix; else NULL */
    kc_dtype dtype;         /* of kernel values */
    int64_t n_points;       /* may be 0 */
    int64_t n_cols;         /* of the points; without a kernel: of the kernel matrix */
    int64_t n_outputs;      /* as the decoder wants; KC_DECODE_VALUES: any number */
    const double *coef;     /* n_outputs x n_points */
    const double *intercepts; /* n_outputs; NULL: all 0 */
    int32_t decoder;          /* kc_decoder */
    int32_t n_classes;        /* KC_DECODE_VALUES: 0 */
    int32_t class_of_zero;    /* KC_DECODE_SIGN: the class that the value 0 says, 0 or 1 */
    const kc_labels *labels;  /* n_classes of them, of any type: copied; NULL: none */
} kc_function_parts;

/* Immutable once made; owns all it needs. */
typedef struct kc_function kc_function;
KC_API KC_MUST_CHECK kc_status kc_function_create(kc_context *ctx, const kc_run *run,
                                                  const kc_function_parts *parts, kc_function **out,
                                                  kc_error *err);

/* Not for functions that are borrowed from a model. */
KC_API void kc_function_free(kc_context *ctx, kc_function *f);

/* What a function is, and how long the arrays below are. */
typedef struct kc_function_info {
    size_t struct_size; /* sizeof(kc_function_info), set by the caller */
    int32_t decoder;    /* kc_decoder */
    int32_t n_classes, class_of_zero;
    kc_dtype dtype;
    int32_t is_given;  /* no kernel, and no points but columns */
    int32_t is_linear; /* kc_function_weights has something to give */
    int64_t n_outputs, n_points, n_cols;
    int64_t n_parts;     /* of the points */
    int64_t label_bytes; /* of one label; 0: there are none */
} kc_function_info;
KC_API KC_MUST_CHECK kc_status kc_function_describe(const kc_function *f, kc_function_info *out,
                                                    kc_error *err);

/* Borrowed: as long as the function lives.  NULL where kernel values are given. */
KC_API const kc_kernel *kc_function_kernel(const kc_function *f);

/* Copies into the caller's arrays, whose lengths are said and must be right. */
KC_API KC_MUST_CHECK kc_status kc_function_coef(const kc_function *f, double *out, int64_t n,
                                                kc_error *err); /* n_outputs x n_points */
KC_API KC_MUST_CHECK kc_status kc_function_intercepts(const kc_function *f, double *out, int64_t n,
                                                      kc_error *err); /* n_outputs */
KC_API KC_MUST_CHECK kc_status kc_function_columns(const kc_function *f, int32_t *out, int64_t n,
                                                   kc_error *err); /* is_given: n_points */

/* One part of the points, 0 .. n_parts - 1. */
typedef struct kc_part_info {
    size_t struct_size; /* sizeof(kc_part_info), set by the caller */
    kc_storage storage;
    int64_t n_cols;   /* 1 of strings */
    int64_t n_values; /* CSR: nonzeros; strings: bytes */
} kc_part_info;
KC_API KC_MUST_CHECK kc_status kc_function_part(const kc_function *f, int64_t part,
                                                kc_part_info *out, kc_error *err);

/* Its points, by its storage.  Dense: n_points x n_cols, as doubles (exact, whatever the dtype).
 * CSR: n_points + 1, and n_values twice.  Strings: n_points + 1, and n_values. */
KC_API KC_MUST_CHECK kc_status kc_function_points(const kc_function *f, int64_t part, double *out,
                                                  int64_t n, kc_error *err);
KC_API KC_MUST_CHECK kc_status kc_function_points_csr(const kc_function *f, int64_t part,
                                                      int64_t *indptr, int64_t n_indptr,
                                                      int32_t *indices, double *values,
                                                      int64_t n_values, kc_error *err);
KC_API KC_MUST_CHECK kc_status kc_function_strings(const kc_function *f, int64_t part,
                                                   int64_t *indptr, int64_t n_indptr, char *bytes,
                                                   int64_t n_bytes, kc_error *err);

/* Linear kernel: n_outputs x n_cols, f_o(x) = w_o.x + intercepts[o]. */
KC_API KC_MUST_CHECK kc_status kc_function_weights(const kc_function *f, double *out, int64_t n,
                                                   kc_error *err);

/* The labels of the classes, one after the other: n_bytes is n_classes * label_bytes. */
KC_API KC_MUST_CHECK kc_status kc_function_labels(const kc_function *f, void *out, int64_t n_bytes,
                                                  kc_error *err);

/* ---- Prediction --------------------------------------------------------------------------- */

/* Where info.is_given, x is a matrix of kernel values between the samples to predict and all n_cols
 * samples, or the points alone, in their order. */

typedef enum kc_columns {
    KC_PER_OUTPUT = 1, /* a column for each output */
    KC_PER_CLASS = 2   /* KC_DECODE_PAIRS: a column for each class: votes, and sums of values
                          squeezed into (-1/3, 1/3) to break ties; else the same */
} kc_columns;

/* out[i * out_ld + k]; equal bits however the samples are cut into calls.  On failure out holds no
 * meaning. */
KC_API KC_MUST_CHECK kc_status kc_function_evaluate(kc_context *ctx, const kc_run *run,
                                                    const kc_function *f, const kc_points *x,
                                                    kc_columns columns, double *out, int64_t out_ld,
                                                    kc_error *err);

/* out[i] = the class of x_i, 0 .. n_classes - 1.  Votes: ties go to the lowest class, or with
 * break_ties to the largest value of KC_PER_CLASS.  KC_ERR_TYPE where there are no classes. */
KC_API KC_MUST_CHECK kc_status kc_function_predict(kc_context *ctx, const kc_run *run,
                                                   const kc_function *f, const kc_points *x,
                                                   int32_t break_ties, int32_t *out, kc_error *err);

/* Which points decided, and by how much.  For every sample and output, the `top` terms
 * coef[o][i] K(x_i, x) of largest absolute value, the largest first, equal ones by their points:
 * points[(sample * n_outputs + o) * top + k] is i, values[...] the term.  Points whose coefficient
 * is 0 have none; where there are less than `top`, the rest is -1 and 0.  All terms of an output
 * and its intercept sum to its value.  top >= 1. */
KC_API KC_MUST_CHECK kc_status kc_function_contributions(kc_context *ctx, const kc_run *run,
                                                         const kc_function *f, const kc_points *x,
                                                         int64_t top, int64_t *points,
                                                         double *values, kc_error *err);

/* ---- The space of a kernel ------------------------------------------------------------------ */

/* The functions f(.) = sum_i a_i K(x_i, .) of a positive kernel are a space with the inner product
 *
 *     <f, g> = sum_ij a_i b_j K(x_i, z_j),    so that <K(x, .), f> = f(x).
 *
 * The calls below take functions of one output with a kernel and without an intercept, such as
 * kc_function_output gives of a model: KC_ERR_SHAPE, KC_ERR_TYPE, KC_ERR_ARG for others.  What they
 * make is the caller's (kc_function_free). */

/* K(x, .): x is one sample. */
KC_API KC_MUST_CHECK kc_status kc_kernel_section(kc_context *ctx, const kc_run *run,
                                                 const kc_kernel *kernel, const kc_points *x,
                                                 kc_dtype dtype, kc_function **out, kc_error *err);

/* One output of any function with a kernel, without its intercept.  Of several outputs, points that
 * have no part in this one are left out; that of a single output has the same values, bit for
 * bit. */
KC_API KC_MUST_CHECK kc_status kc_function_output(kc_context *ctx, const kc_run *run,
                                                  const kc_function *f, int64_t output,
                                                  kc_function **out, kc_error *err);

/* a f + b g, computed in the wider type of the two; g NULL: a f.  KC_ERR_ARG where their kernels
 * are not the same expression, KC_ERR_SHAPE where their points have other columns, KC_ERR_RANGE
 * where a coefficient overflows. */
KC_API KC_MUST_CHECK kc_status kc_function_combine(kc_context *ctx, const kc_run *run, double a,
                                                   const kc_function *f, double b,
                                                   const kc_function *g, kc_function **out,
                                                   kc_error *err);

/* The same function with equal points put together: the coefficients of each are added, and points
 * whose sum is 0 are left out.  Points are in the order in which they first appear.  Values change
 * by rounding alone. */
KC_API KC_MUST_CHECK kc_status kc_function_merge(kc_context *ctx, const kc_run *run,
                                                 const kc_function *f, kc_function **out,
                                                 kc_error *err);

/* <f, g>, with kernel values of the wider type, summed in float64 tile by tile.  The same bits for
 * any number of threads, and for <g, f>.  Errors as of kc_function_combine. */
KC_API KC_MUST_CHECK kc_status kc_function_inner(kc_context *ctx, const kc_run *run,
                                                 const kc_function *f, const kc_function *g,
                                                 double *out, kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
