/* Refuses the allocations of one operation one after the other: memory.py draws which operation.
 *
 *   attack_refuse what=fit type=1 n=40 d=3 ... first=1 step=1
 *
 * The n-th allocation fails, once or with all that follow, for n = first, first + step, ... until
 * the operation makes fewer.  Each time it must end with NOMEM, or do without and have the bits
 * that it has when undisturbed; nothing may be left behind; and the next undisturbed run on the
 * same context must have these bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kc_context.h"
#include "fault.h"
#include "kc_test.h"
#include "online_case.h"
#include "ref_points.h"
#include "svm_case.h"

enum { FIT, DECISION, GRAM, LEARN };

/* The choices of a case, in the order of `names`. */
typedef struct regime {
    int64_t what, type, n, d, classes, kernel, form, dtype, precision, cache_rows, threads;
    int64_t max_iter, strategy, mode, seed, first, step;
} regime;

static const char *const names[] = {
    "what",     "type",  "n",         "d",          "classes", "kernel",
    "form",     "dtype", "precision", "cache_rows", "threads", "max_iter",
    "strategy", "mode",  "seed",      "first",      "step",
};

static regime read_arguments(int n_args, char **args)
{
    regime r = {0};

    for (int i = 1; i < n_args; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const size_t length = strlen(names[k]);

            if (strncmp(args[i], names[k], length) == 0 && args[i][length] == '=')
                ((int64_t *)&r)[k] = strtoll(args[i] + length + 1, NULL, 10);
        }
    return r;
}

/* What an operation works on, made outside of the allocator that refuses. */
typedef struct stage {
    regime r;
    svm_case svm;
    online_case online;
    ref_view view;
    double *out;
    size_t n_out;
} stage;

static void set_up(stage *s)
{
    const regime *r = &s->r;
    const size_t n = (size_t)r->n, d = (size_t)r->d;

    s->svm = svm_case_make((uint64_t)r->seed, n, d, (int32_t)r->classes);
    s->online = online_case_make(n, d, (int32_t)r->classes, (kc_dtype)r->dtype);
    s->view = ref_view_make(&(ref_samples){n, d, s->svm.x}, (ref_form)r->form, (kc_dtype)r->dtype);
    s->n_out = n * n + n * (size_t)(r->classes * r->classes) + 64;
    s->out = malloc(s->n_out * sizeof *s->out);
}

static void tear_down(stage *s)
{
    svm_case_free(&s->svm);
    online_case_free(&s->online);
    ref_view_free(&s->view);
    free(s->out);
}

static ref_node node_of(const regime *r)
{
    return (ref_node){
        .op = (ref_op)r->kernel, .gamma = 0.3, .coef0 = 0.5, .degree = r->kernel == OP_POLYNOMIAL};
}

/* ---- Operations --------------------------------------------------------------------------- */

/* 0.2, or what classes of these sizes allow: twice the share of the smaller one of a pair. */
static double feasible_nu(const svm_case *c, const regime *r)
{
    double smallest = HUGE_VAL, largest = 0;

    for (int32_t k = 0; k < r->classes; k++) {
        double count = 0;

        for (size_t i = 0; i < c->n; i++)
            count += c->classes[i] == k;
        smallest = fmin(smallest, count);
        largest = fmax(largest, count);
    }
    return fmin(0.2, 2 * smallest / (smallest + largest));
}

static kc_status fit(kc_context *ctx, const kc_run *run, const stage *s, const kc_kernel *kernel,
                     kc_model **model, kc_error *err)
{
    const regime *r = &s->r;
    kc_svm_settings settings = svm_settings((kc_svm_type)r->type);
    kc_svm_data data = svm_data(&s->svm);

    data.x = &s->view.points;
    settings.nu = feasible_nu(&s->svm, r);
    settings.precision = (int32_t)r->precision;
    settings.max_iter = r->max_iter;
    settings.cache_bytes = r->cache_rows * (r->n * (int64_t)sizeof(double) + 192);
    return kc_svm_fit(ctx, run, &settings, kernel, &data, model, NULL, NULL, err);
}

static void read_model(const kc_model *model, double *out)
{
    const kc_function *f = kc_model_function(model);
    kc_model_info info = {.struct_size = sizeof info};
    kc_function_info function = {.struct_size = sizeof function};

    if (kc_model_describe(model, &info, NULL) != KC_OK ||
        kc_function_describe(f, &function, NULL) != KC_OK ||
        kc_function_intercepts(f, out, function.n_outputs, NULL) != KC_OK ||
        kc_model_coef(model, out + function.n_outputs, info.n_coef_rows * function.n_points,
                      NULL) != KC_OK)
        abort(); /* nothing here allocates */
}

static kc_status learn(kc_context *ctx, const kc_run *run, const stage *s, double *out,
                       kc_error *err)
{
    const regime *r = &s->r;
    const online_options options = {
        .kernel = node_of(r),
        .is_sparse = r->form >= REF_CSR,
        .budget = r->strategy > 0 ? 9 : 0,
        .strategy = (int32_t)r->strategy,
    };
    online_call call = {.form = (ref_form)r->form, .first = -1, .run = run};
    ref_view view = ref_view_make(&s->online.samples, REF_DENSE, s->online.dtype);
    kc_online *online = NULL;
    kc_status status = online_create(ctx, &s->online, &options, &online, err);

    if (status == KC_OK)
        status = online_run(ctx, online, &s->online, &call, false);
    if (status == KC_OK)
        status = kc_online_decision(ctx, run, online, &view.points, KC_READING_LAST, out, err);
    else if (call.err.status != KC_OK)
        *err = call.err;
    kc_online_free(ctx, online);
    ref_view_free(&view);
    return status;
}

static kc_status operate(kc_context *ctx, stage *s, const kc_model *ready, kc_error *err)
{
    const regime *r = &s->r;
    const kc_run run = {.struct_size = sizeof run, .n_threads = (int32_t)r->threads};
    const ref_node node = node_of(r);
    kc_kernel *kernel = NULL;
    kc_model *model = NULL;
    kc_status status = KC_OK;

    memset(s->out, 0, s->n_out * sizeof *s->out);
    if (r->what == LEARN)
        return learn(ctx, &run, s, s->out, err);
    if (r->what == DECISION)
        return kc_function_evaluate(ctx, &run, kc_model_function(ready), &s->view.points,
                                    KC_PER_OUTPUT, s->out,
                                    r->classes > 2 ? r->classes * (r->classes - 1) / 2 : 1, err);
    status = ref_kernel_make(ctx, &node, 1, &kernel, err);
    if (status == KC_OK && r->what == GRAM)
        status = kc_gram(ctx, &run, kernel, &s->view.points, NULL, (kc_dtype)r->dtype, s->out, r->n,
                         err);
    else if (status == KC_OK)
        status = fit(ctx, &run, s, kernel, &model, err);
    if (model != NULL)
        read_model(model, s->out);
    kc_model_free(ctx, model);
    kc_kernel_free(ctx, kernel);
    return status;
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static kc_model *make_ready(kc_context *ctx, stage *s)
{
    const ref_node node = node_of(&s->r);
    kc_kernel *kernel = NULL;
    kc_model *model = NULL;

    if (s->r.what != DECISION)
        return NULL;
    CHECK(ref_kernel_make(ctx, &node, 1, &kernel, NULL) == KC_OK);
    (void)!fit(ctx, NULL, s, kernel, &model, NULL);
    kc_kernel_free(ctx, kernel);
    return model;
}

/* Refuses the n-th allocation; false where the operation makes fewer. */
static bool refuse(stage *s, size_t n, const double *expected, kc_status usual, size_t *n_served)
{
    const size_t n_bytes = s->n_out * sizeof *expected;
    kc_error err = {.status = KC_OK};
    kc_fault fault;
    kc_context *ctx =
        kc_fault_context((kc_context_config){.n_threads = (int32_t)s->r.threads}, &fault);
    kc_model *ready = make_ready(ctx, s);

    kc_context_drop_spare(ctx);
    kc_fault_arm(&fault, n, (kc_fault_mode)s->r.mode);
    const kc_status status = operate(ctx, s, ready, &err);
    const bool was_refused = kc_fault_disarm(&fault);

    CHECK(status == usual || (was_refused && status == KC_ERR_NOMEM));
    CHECK(status == KC_OK || err.text[0] != '\0');
    CHECK(status != KC_OK || memcmp(s->out, expected, n_bytes) == 0);
    *n_served += was_refused && status == usual;
    CHECK(operate(ctx, s, ready, &err) == usual);
    CHECK(usual != KC_OK || memcmp(s->out, expected, n_bytes) == 0);
    kc_model_free(ctx, ready);
    kc_context_free(ctx);
    CHECK(kc_fault_is_clean(&fault));
    return was_refused;
}

int main(int n_args, char **args)
{
    stage s = {.r = read_arguments(n_args, args)};
    kc_context *ctx = kc_fault_context((kc_context_config){0}, NULL);
    size_t n_served = 0, n_refused = 0;
    kc_error err = {.status = KC_OK};

    set_up(&s);
    kc_model *ready = make_ready(ctx, &s);
    const bool is_possible = s.r.what != DECISION || ready != NULL;
    const kc_status usual = is_possible ? operate(ctx, &s, ready, &err) : KC_ERR_DEGENERATE;
    double *expected = malloc(s.n_out * sizeof *expected);

    memcpy(expected, s.out, s.n_out * sizeof *expected);
    if (usual != KC_OK)
        printf("without a refusal: status %d, %s\n", (int)usual, err.text);
    CHECK(usual == KC_OK || usual == KC_ERR_DEGENERATE || usual == KC_ERR_RANGE);
    for (size_t n = (size_t)s.r.first; is_possible && atomic_load(&kc_test_faults) == 0;
         n_refused++) {
        if (!refuse(&s, n, expected, usual, &n_served))
            break;
        n += (size_t)s.r.step;
    }
    printf("%zu refused, %zu done without\n", n_refused, n_served);
    free(expected);
    kc_model_free(ctx, ready);
    kc_context_free(ctx);
    tear_down(&s);
    return atomic_load(&kc_test_faults) != 0;
}
