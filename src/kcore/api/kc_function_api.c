/* What a function holds, in and out again. */
#include <math.h>
#include <string.h>

#include "base/kc_context.h"
#include "data/kc_packed_sums.h"
#include "data/kc_points.h"
#include "function/kc_function.h"

/* ---- In ----------------------------------------------------------------------------------- */

static kc_status check_decoder(const kc_function_parts *p, kc_error *err)
{
    const int64_t k = p->n_classes;
    int64_t n_outputs = 1;

    if (p->decoder < KC_DECODE_VALUES || p->decoder > KC_DECODE_LARGEST)
        return kc_fail(err, KC_ERR_ARG, "parts.decoder is %d, must be a kc_decoder",
                       (int)p->decoder);
    if (p->decoder == KC_DECODE_VALUES ? k != 0
        : p->decoder == KC_DECODE_SIGN ? k != 2
                                       : k < (p->decoder == KC_DECODE_PAIRS ? 3 : 2))
        return kc_fail(err, KC_ERR_ARG,
                       "parts.n_classes is %d, which the decoder (%d) does not take",
                       (int)p->n_classes, (int)p->decoder);
    if (p->class_of_zero < 0 || p->class_of_zero > 1)
        return kc_fail(err, KC_ERR_ARG, "parts.class_of_zero is %d, must be 0 or 1",
                       (int)p->class_of_zero);
    if (p->decoder == KC_DECODE_VALUES)
        n_outputs = p->n_outputs;
    else if (p->decoder != KC_DECODE_SIGN)
        n_outputs = p->decoder == KC_DECODE_PAIRS ? k * (k - 1) / 2 : k;
    if (p->n_outputs < 1 || p->n_outputs > INT32_MAX || p->n_outputs != n_outputs)
        return kc_fail(err, KC_ERR_SHAPE, "parts.n_outputs is %lld, must be %lld",
                       (long long)p->n_outputs, (long long)kc_max(1, (size_t)n_outputs));
    return kc_function_check_labels(p->labels, p->n_classes, err);
}

static kc_status check_given(const kc_function_parts *p, kc_error *err)
{
    if (p->x != NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "parts.x is given without parts.kernel: give both, or parts.columns alone");
    if (p->columns == NULL && p->n_points > 0)
        return kc_fail(err, KC_ERR_ARG,
                       "parts.columns is NULL, must say which columns of the kernel matrix count: "
                       "there is no parts.kernel");
    for (int64_t i = 0; i < p->n_points; i++)
        if (p->columns[i] < 0 || p->columns[i] >= p->n_cols)
            return kc_fail(err, KC_ERR_INDEX, "parts.columns[%lld] is %d, must be 0 to %lld",
                           (long long)i, (int)p->columns[i], (long long)p->n_cols - 1);
    return KC_OK;
}

static kc_status check_points(const kc_function_parts *p, kc_error *err)
{
    if (p->dtype != KC_F32 && p->dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "parts.dtype is %d, must be KC_F32 or KC_F64",
                       (int)p->dtype);
    if (p->n_points < 0 || p->n_points > INT32_MAX || p->n_cols < 1 || p->n_cols > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE,
                       "parts.n_points is %lld and parts.n_cols %lld, must be 0 and 1 at least",
                       (long long)p->n_points, (long long)p->n_cols);
    if (p->kernel == NULL)
        return check_given(p, err);
    if (p->columns != NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "parts.columns is given beside parts.kernel: set one of them to NULL");
    if (p->x == NULL && p->n_points > 0)
        return kc_fail(err, KC_ERR_ARG, "parts.x is NULL and parts.n_points %lld",
                       (long long)p->n_points);
    return kc_function_check_points(p->kernel, p->x, p->n_points, p->n_cols, err);
}

static kc_status check_numbers(const double *values, size_t n, const char *name, kc_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return kc_fail(err, KC_ERR_NONFINITE, "parts.%s has %g at position %zu", name,
                           values[i], i);
    return KC_OK;
}

static kc_status read_parts(const kc_function_parts *from, kc_function_parts *p, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "parts is NULL");
    KC_TRY(kc_struct_read(p, sizeof *p, from, "parts", err));
    KC_TRY(check_decoder(p, err));
    KC_TRY(check_points(p, err));
    if (p->coef == NULL && p->n_points > 0)
        return kc_fail(err, KC_ERR_ARG, "parts.coef is NULL");
    KC_TRY(check_numbers(p->coef, (size_t)p->n_outputs * (size_t)p->n_points, "coef", err));
    return p->intercepts != NULL
               ? check_numbers(p->intercepts, (size_t)p->n_outputs, "intercepts", err)
               : KC_OK;
}

/* One segment, and a row of coefficients for each output; memory of the call. */
static kc_status lay_out(kc_call *call, const kc_function_parts *p, kc_expansion *f)
{
    size_t *bounds = kc_call_take(call, 2, sizeof *bounds);
    int32_t *output_of = kc_call_take(call, f->n_outputs, sizeof *output_of);
    double *zeros = kc_call_take(call, f->n_outputs, sizeof *zeros);

    if (bounds == NULL || output_of == NULL || zeros == NULL)
        return kc_fail_nomem(call->err);
    bounds[0] = 0;
    bounds[1] = f->n;
    for (size_t o = 0; o < f->n_outputs; o++) {
        output_of[o] = (int32_t)o;
        zeros[o] = 0;
    }
    f->n_segments = 1;
    f->bounds = bounds;
    f->output_of = output_of;
    f->intercepts = p->intercepts != NULL ? p->intercepts : zeros;
    return KC_OK;
}

static kc_status make_function(kc_call *call, const kc_function_parts *p, kc_function **out)
{
    const kc_decoding how = {(kc_decoder)p->decoder, p->n_classes, p->class_of_zero};
    kc_expansion f = {
        .kernel = p->kernel,
        .dtype = p->dtype,
        .points = {.dtype = p->dtype, .d = (size_t)p->n_cols},
        .n = (size_t)p->n_points,
        .n_cols = (size_t)p->n_cols,
        .columns = p->columns,
        .n_outputs = (size_t)p->n_outputs,
        .n_rows = (size_t)p->n_outputs,
        .coef = p->coef,
    };
    kc_status status;

    KC_TRY(lay_out(call, p, &f));
    if (p->kernel != NULL && p->x != NULL)
        KC_TRY(kc_function_pack(call, p->kernel, p->x, (size_t)p->n_points, p->dtype, &f.points));
    status = kc_function_make(call, &f, &how, p->labels, out);
    kc_packed_free(call->ctx, &f.points); /* empty where the function has them */
    return status;
}

kc_status kc_function_create(kc_context *ctx, const kc_run *run, const kc_function_parts *parts,
                             kc_function **out, kc_error *err)
{
    kc_function_parts p;
    kc_call call;

    if (out == NULL)
        return kc_fail(err, KC_ERR_ARG, "out is NULL");
    KC_TRY(read_parts(parts, &p, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "function", err));
    return kc_call_end(&call, make_function(&call, &p, out));
}

/* ---- Out ---------------------------------------------------------------------------------- */

kc_status kc_function_describe(const kc_function *f, kc_function_info *out, kc_error *err)
{
    if (f == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", f == NULL ? "the function" : "out");
    const kc_function_info info = {
        .decoder = (int32_t)f->decoding.decoder,
        .n_classes = f->decoding.n_classes,
        .class_of_zero = f->decoding.class_of_zero,
        .dtype = f->f.dtype,
        .is_given = f->f.kernel == NULL,
        .is_linear = kc_expansion_is_linear(&f->f),
        .n_outputs = (int64_t)f->f.n_outputs,
        .n_points = (int64_t)f->f.n,
        .n_cols = (int64_t)f->f.n_cols,
        .n_parts = f->f.kernel != NULL ? (int64_t)f->f.points.n_view_parts + 1 : 0,
        .label_bytes = (int64_t)f->label_bytes,
    };
    KC_TRY(kc_struct_check(out, sizeof *out, "info", err));
    kc_struct_write(out, &info, sizeof info);
    return KC_OK;
}

const kc_kernel *kc_function_kernel(const kc_function *f)
{
    return f->f.kernel;
}

static void copy_out(void *to, const void *from, size_t n_bytes)
{
    if (n_bytes > 0)
        memcpy(to, from, n_bytes);
}

kc_status kc_function_coef(const kc_function *f, double *out, int64_t n, kc_error *err)
{
    KC_TRY(kc_check_length(out, n, f->f.n_outputs * f->f.n, "coefficients", err));
    if (n > 0)
        kc_function_plain_coef(f, out);
    return KC_OK;
}

kc_status kc_function_intercepts(const kc_function *f, double *out, int64_t n, kc_error *err)
{
    KC_TRY(kc_check_length(out, n, f->f.n_outputs, "intercepts", err));
    copy_out(out, f->f.intercepts, f->f.n_outputs * sizeof *out);
    return KC_OK;
}

kc_status kc_function_columns(const kc_function *f, int32_t *out, int64_t n, kc_error *err)
{
    if (f->f.kernel != NULL)
        return kc_fail(err, KC_ERR_TYPE, "a function with a kernel has points, not columns");
    KC_TRY(kc_check_length(out, n, f->f.n, "columns", err));
    copy_out(out, f->f.columns, f->f.n * sizeof *out);
    return KC_OK;
}

/* ---- Points out ---------------------------------------------------------------------------- */

static kc_status find_part(const kc_function *f, int64_t number, const kc_packed **out,
                           kc_error *err)
{
    const kc_packed *points = &f->f.points;

    if (f->f.kernel == NULL)
        return kc_fail(err, KC_ERR_TYPE,
                       "a function of given kernel values has no points, only columns");
    if (number < 0 || number > (int64_t)points->n_view_parts)
        return kc_fail(err, KC_ERR_ARG, "part is %lld, must be 0 to %zu", (long long)number,
                       points->n_view_parts);
    *out = kc_packed_part(points, (size_t)number);
    return KC_OK;
}

static kc_storage storage_of(const kc_packed *part)
{
    return kc_packed_is_dense(part) ? KC_DENSE : part->storage;
}

/* The part, where it has this storage. */
static kc_status find_stored(const kc_function *f, int64_t number, kc_storage wanted,
                             const kc_packed **out, kc_error *err)
{
    static const char *const names[] = {
        [KC_DENSE] = "dense", [KC_CSR] = "CSR", [KC_STRINGS] = "strings"};

    KC_TRY(find_part(f, number, out, err));
    if (storage_of(*out) != wanted)
        return kc_fail(err, KC_ERR_TYPE, "the points of part %lld are %s, not %s",
                       (long long)number, names[storage_of(*out)], names[wanted]);
    return KC_OK;
}

kc_status kc_function_part(const kc_function *f, int64_t number, kc_part_info *out, kc_error *err)
{
    const kc_packed *part = NULL;

    if (f == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", f == NULL ? "the function" : "out");
    KC_TRY(find_part(f, number, &part, err));
    const kc_part_info info = {
        .storage = storage_of(part),
        .n_cols = (int64_t)part->d,
        .n_values = (int64_t)kc_packed_n_values(part),
    };
    KC_TRY(kc_struct_check(out, sizeof *out, "info", err));
    kc_struct_write(out, &info, sizeof info);
    return KC_OK;
}

kc_status kc_function_points(const kc_function *f, int64_t number, double *out, int64_t n,
                             kc_error *err)
{
    const kc_packed *part = NULL;

    KC_TRY(find_stored(f, number, KC_DENSE, &part, err));
    KC_TRY(kc_check_length(out, n, f->f.n * part->d, "points", err));
    if (n > 0)
        memset(out, 0, (size_t)n * sizeof *out);
    for (size_t i = 0; i < f->f.n; i++)
        kc_packed_add(part, i, 1, out + i * part->d);
    return KC_OK;
}

kc_status kc_function_points_csr(const kc_function *f, int64_t number, int64_t *indptr,
                                 int64_t n_indptr, int32_t *indices, double *values,
                                 int64_t n_values, kc_error *err)
{
    const kc_packed *part = NULL;

    KC_TRY(find_stored(f, number, KC_CSR, &part, err));
    KC_TRY(kc_check_length(indptr, n_indptr, part->n + 1, "indptr", err));
    KC_TRY(kc_check_length(indices, n_values, kc_packed_n_values(part), "indices", err));
    KC_TRY(kc_check_length(values, n_values, kc_packed_n_values(part), "values", err));
    kc_packed_copy_csr(part, indptr, indices, values);
    return KC_OK;
}

kc_status kc_function_strings(const kc_function *f, int64_t number, int64_t *indptr,
                              int64_t n_indptr, char *bytes, int64_t n_bytes, kc_error *err)
{
    const kc_packed *part = NULL;

    KC_TRY(find_stored(f, number, KC_STRINGS, &part, err));
    KC_TRY(kc_check_length(indptr, n_indptr, part->n + 1, "indptr", err));
    KC_TRY(kc_check_length(bytes, n_bytes, kc_packed_n_values(part), "bytes", err));
    kc_packed_copy_strings(part, indptr, bytes);
    return KC_OK;
}

kc_status kc_function_weights(const kc_function *f, double *out, int64_t n, kc_error *err)
{
    if (!kc_expansion_is_linear(&f->f))
        return kc_fail(err, KC_ERR_TYPE, "only a linear kernel has weights");
    KC_TRY(kc_check_length(out, n, f->f.n_outputs * f->f.n_cols, "weights", err));
    kc_expansion_weights(&f->f, out);
    return KC_OK;
}

kc_status kc_function_labels(const kc_function *f, void *out, int64_t n_bytes, kc_error *err)
{
    const size_t wanted = f->label_bytes * (size_t)f->decoding.n_classes;

    if (f->label_bytes == 0)
        return kc_fail(err, KC_ERR_TYPE, "the function has no labels, only numbers of classes");
    KC_TRY(kc_check_length(out, n_bytes, wanted, "labels", err));
    copy_out(out, f->labels, wanted);
    return KC_OK;
}
