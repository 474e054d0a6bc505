/* The public functions of the kernel perceptrons: check, run, release. */
#include <math.h>
#include <string.h>

#include "api/kc_perceptron_check.h"
#include "base/kc_context.h"
#include "data/kc_points.h"
#include "function/kc_function.h"
#include "online/kc_online.h"

/* ---- Checks -------------------------------------------------------------------------------- */

static kc_status check_random(const kc_online_config *config, kc_error *err)
{
    const size_t n_problems =
        config->n_classes == 2 || config->is_direct ? 1 : (size_t)config->n_classes;

    for (size_t p = 0; p < n_problems; p++) {
        const uint64_t *r = config->random != NULL ? config->random + 4 * p : NULL;

        if (r == NULL || (r[0] | r[1] | r[2] | r[3]) == 0)
            return kc_fail(
                err, KC_ERR_ARG,
                "config.random has no number but 0 for problem %zu: it takes four for each", p);
    }
    return KC_OK;
}

static kc_status check_budget(const kc_online_config *config, kc_error *err)
{
    if (config->budget < 0 || config->budget > INT32_MAX)
        return kc_fail(err, KC_ERR_ARG, "budget is %lld, must be 0 to %d",
                       (long long)config->budget, INT32_MAX);
    if (config->budget == 0)
        return KC_OK;
    if (config->strategy < KC_STRATEGY_OLDEST || config->strategy > KC_STRATEGY_MERGE)
        return kc_fail(err, KC_ERR_ARG, "strategy is %d, must be %d to %d", config->strategy,
                       KC_STRATEGY_OLDEST, KC_STRATEGY_MERGE);
    if (config->is_averaged || config->is_voted)
        return kc_fail(err, KC_ERR_ARG,
                       "config.budget is %lld, must be 0 with is_averaged or is_voted: means and "
                       "votes keep all points",
                       (long long)config->budget);
    if (config->kernel == NULL)
        return kc_fail(err, KC_ERR_ARG, "config.budget is %lld, must be 0 without config.kernel",
                       (long long)config->budget);
    return KC_OK;
}

/* Whether the kernel takes what is to come. */
static kc_status check_like(const kc_online_config *config, kc_error *err)
{
    const kc_points numbers = {.storage = config->is_sparse ? KC_CSR : KC_DENSE,
                               .n_cols = config->n_cols};

    if (config->like == NULL)
        return kc_kernel_check_parts(config->kernel, &numbers, err);
    KC_TRY(kc_points_check_parts(config->like, err));
    if (kc_points_columns(config->like) != (size_t)config->n_cols)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %zu columns, n_cols is %lld",
                       kc_points_name(config->like), kc_points_columns(config->like),
                       (long long)config->n_cols);
    return kc_kernel_check_parts(config->kernel, config->like, err);
}

static kc_status check_config(const kc_online_config *config, kc_error *err)
{
    if (config->dtype != KC_F32 && config->dtype != KC_F64)
        return kc_fail(err, KC_ERR_TYPE, "dtype is %d, must be KC_F32 or KC_F64",
                       (int)config->dtype);
    if (config->n_cols < 1 || config->n_cols > INT32_MAX)
        return kc_fail(err, KC_ERR_ARG, "n_cols is %lld, must be 1 to %d",
                       (long long)config->n_cols, INT32_MAX);
    if (config->n_classes < 2)
        return kc_fail(err, KC_ERR_ARG, "there are %d classes, must be at least 2",
                       config->n_classes);
    KC_TRY(check_random(config, err));
    KC_TRY(check_budget(config, err));
    if (config->kernel == NULL && config->like != NULL)
        return kc_fail(err, KC_ERR_ARG, "like is of samples: without a kernel there are none");
    return config->kernel != NULL ? check_like(config, err) : KC_OK;
}

/* The settings with what is the learner's own. */
static kc_status read_settings(const kc_online *online, const kc_perceptron_settings *from,
                               kc_perceptron_settings *settings, kc_error *err)
{
    KC_TRY(kc_perceptron_read_settings(from, settings, err));
    settings->is_direct = online->is_direct;
    settings->has_intercept = online->set.offset != 0;
    if (settings->rule == KC_RULE_BATCH && (online->set.time_weighted != NULL || online->is_voted))
        return kc_fail(err, KC_ERR_ARG,
                       "settings.rule is batch, must be single: the learner keeps means or votes");
    return KC_OK;
}

static kc_status check_function(const kc_online *online, const kc_perceptron_data *data,
                                kc_error *err)
{
    if (online->set.kernel != NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "data.kernel_fn is given to a learner that has a kernel: set it to NULL, or "
                       "make the learner with config.kernel NULL");
    if (data->x != NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "data.kernel_fn and data.x are both given: set one of them to NULL");
    if (data->n_samples < 1 || data->n_samples > INT32_MAX)
        return kc_fail(err, KC_ERR_SHAPE, "data.n_samples is %lld, must be 1 to %d",
                       (long long)data->n_samples, (int)INT32_MAX);
    return KC_OK;
}

static kc_status read_data(const kc_online *online, const kc_perceptron_data *from,
                           kc_perceptron_data *data, kc_error *err)
{
    KC_TRY(kc_struct_read(data, sizeof *data, from, "data", err));
    if (data->kernel_fn != NULL)
        KC_TRY(check_function(online, data, err));
    if (data->x == NULL && data->kernel_fn == NULL)
        return kc_fail(err, KC_ERR_ARG, "data.x is NULL");
    if (data->classes == NULL)
        return kc_fail(err, KC_ERR_ARG, "data.classes is NULL");
    if (data->n_classes != online->n_classes)
        return kc_fail(err, KC_ERR_ARG, "there are %d classes, the learner has %d", data->n_classes,
                       online->n_classes);
    return KC_OK;
}

static kc_status read_report(const kc_online_report *from, int64_t n_passes, kc_online_report *out,
                             kc_error *err)
{
    KC_TRY(kc_struct_read(out, sizeof *out, from, "report", err));
    if (out->mistakes == NULL || out->criterion == NULL)
        return kc_fail(err, KC_ERR_ARG, "report.%s is NULL",
                       out->mistakes == NULL ? "mistakes" : "criterion");
    *out = (kc_online_report){
        .struct_size = out->struct_size,
        .mistakes = out->mistakes,
        .criterion = out->criterion,
        .min_value = NAN,
        .sq_norm = NAN,
        .max_diag = NAN,
    };
    memset(out->mistakes, 0, (size_t)n_passes * sizeof *out->mistakes);
    for (int64_t k = 0; k < n_passes; k++)
        out->criterion[k] = 0.0;
    return KC_OK;
}

/* What a call learns from, in structs of this version. */
typedef struct input {
    kc_perceptron_settings settings;
    kc_perceptron_data data;
    kc_online_report report;
    kc_training_input input;
} input;

static kc_status read_input(const kc_online *online, const kc_perceptron_settings *settings,
                            const kc_perceptron_data *data, int64_t first,
                            const kc_online_report *report, input *out, kc_error *err)
{
    if (online == NULL || settings == NULL || data == NULL || report == NULL)
        return kc_fail(err, KC_ERR_ARG, "online, settings, data or report is NULL");
    KC_TRY(read_settings(online, settings, &out->settings, err));
    KC_TRY(read_data(online, data, &out->data, err));
    out->input =
        (kc_training_input){.settings = &out->settings, .data = &out->data, .first = first};
    KC_TRY(kc_perceptron_check_labels(&out->data, (int64_t)kc_training_input_samples(&out->input),
                                      err));
    if (first < -1)
        return kc_fail(err, KC_ERR_ARG, "first is %lld, must be -1 or more", (long long)first);
    if (first > KC_COUNT_MAX)
        return kc_fail(err, KC_ERR_ARG, "first is %lld, must be at most %lld", (long long)first,
                       (long long)KC_COUNT_MAX);
    return read_report(report, out->settings.n_passes, &out->report, err);
}

/* ---- Life ---------------------------------------------------------------------------------- */

kc_status kc_online_create(kc_context *ctx, const kc_online_config *config, kc_online **out,
                           kc_error *err)
{
    kc_online_config read;

    if (ctx == NULL || config == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "ctx, config or out is NULL");
    KC_TRY(kc_struct_read(&read, sizeof read, config, "config", err));
    KC_TRY(check_config(&read, err));
    return kc_online_make(ctx, &read, out, err);
}

kc_status kc_online_reserve(kc_context *ctx, kc_online *online, int64_t n_points, kc_error *err)
{
    if (ctx == NULL || online == NULL)
        return kc_fail(err, KC_ERR_ARG, "%s is NULL", ctx == NULL ? "ctx" : "online");
    if (n_points < 0 || n_points > INT32_MAX)
        return kc_fail(err, KC_ERR_ARG, "n_points is %lld, must be 0 to %d", (long long)n_points,
                       INT32_MAX);
    if (online->is_learning)
        return kc_fail(err, KC_ERR_ARG, "the learner is learning: a callback can only read it");
    return kc_online_make_room(ctx, online, (size_t)n_points, err);
}

kc_status kc_online_save(const kc_online *online, void *out, int64_t n_bytes, kc_error *err)
{
    KC_TRY(kc_check_length(out, n_bytes, kc_online_image_bytes(online), "the bytes", err));
    kc_online_write(online, out);
    return KC_OK;
}

kc_status kc_online_load(kc_context *ctx, const kc_kernel *kernel, const void *bytes,
                         int64_t n_bytes, kc_online **out, kc_error *err)
{
    if (ctx == NULL || bytes == NULL || n_bytes < 0 || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "ctx, bytes or out is NULL, or n_bytes is negative");
    return kc_online_read(ctx, kernel, bytes, (size_t)n_bytes, out, err);
}

/* ---- Learning ------------------------------------------------------------------------------ */

kc_status kc_online_learn(kc_context *ctx, const kc_run *run, kc_online *online,
                          const kc_perceptron_settings *settings, const kc_perceptron_data *data,
                          int64_t first, kc_online_report *report, kc_error *err)
{
    input in;
    kc_call call;
    kc_status status;

    KC_TRY(read_input(online, settings, data, first, report, &in, err));
    if (in.settings.rule == KC_RULE_BATCH)
        return kc_fail(
            err, KC_ERR_ARG,
            "settings.rule is batch, must be single: samples are learnt from one by one");
    if (online->set.kernel == NULL)
        return kc_fail(err, KC_ERR_ARG,
                       "the learner has no kernel: fit it to a kernel matrix by kc_online_fit");
    KC_TRY(kc_call_begin(&call, ctx, run, "learn", err));
    status = kc_call_end(&call, kc_online_run_passes(&call, online, &in.input, &in.report));
    kc_struct_write(report, &in.report, sizeof in.report);
    return status;
}

kc_status kc_online_fit(kc_context *ctx, const kc_run *run, kc_online *online,
                        const kc_perceptron_settings *settings, const kc_perceptron_data *data,
                        int64_t first, int64_t cache_bytes, kc_online_report *report, kc_error *err)
{
    input in;
    kc_call call;
    kc_status status;

    KC_TRY(read_input(online, settings, data, first, report, &in, err));
    if (online->budget > 0)
        return kc_fail(err, KC_ERR_ARG,
                       "the learner has a budget (%zu): it learns by kc_online_learn only",
                       online->budget);
    if (cache_bytes < 0)
        return kc_fail(err, KC_ERR_ARG, "cache_bytes is %lld, must be 0 or more",
                       (long long)cache_bytes);
    in.input.cache_bytes = (size_t)cache_bytes;
    KC_TRY(kc_call_begin(&call, ctx, run, "fit", err));
    status = kc_call_end(&call, kc_online_solve(&call, online, &in.input, &in.report));
    kc_struct_write(report, &in.report, sizeof in.report);
    return status;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static kc_status check_reading(const kc_online *online, kc_reading reading, kc_error *err)
{
    if (reading < KC_READING_LAST || reading > KC_READING_VOTES)
        return kc_fail(err, KC_ERR_ARG, "reading is %d, must be %d to %d", (int)reading,
                       KC_READING_LAST, KC_READING_VOTES);
    if ((reading == KC_READING_MEAN && online->set.time_weighted == NULL) ||
        (reading == KC_READING_VOTES && !online->is_voted))
        return kc_fail(err, KC_ERR_ARG, "the learner keeps no %s: make it with config.%s",
                       reading == KC_READING_MEAN ? "mean" : "votes",
                       reading == KC_READING_MEAN ? "is_averaged" : "is_voted");
    return KC_OK;
}

/* Of one function: its last state, or the mean. */
static kc_status check_reading_of_one(const kc_online *online, kc_reading reading, kc_error *err)
{
    KC_TRY(check_reading(online, reading, err));
    return reading != KC_READING_VOTES
               ? KC_OK
               : kc_fail(err, KC_ERR_ARG,
                         "reading is KC_READING_VOTES, must be last or mean: many functions vote");
}

kc_status kc_online_decision(kc_context *ctx, const kc_run *run, const kc_online *online,
                             const kc_points *x, kc_reading reading, double *out, kc_error *err)
{
    kc_call call;

    if (online == NULL || x == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "online, x or out is NULL");
    KC_TRY(check_reading(online, reading, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "decision", err));
    return kc_call_end(&call, kc_online_decide(&call, online, x, reading, out));
}

kc_status kc_online_describe(const kc_online *online, kc_online_info *out, kc_error *err)
{
    const kc_active *set;

    if (online == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "online or out is NULL");
    KC_TRY(kc_struct_check(out, sizeof *out, "info", err));
    set = &online->set;
    const kc_online_info info = {
        .dtype = set->dtype,
        .is_given = set->kernel == NULL,
        .n_points = (int64_t)set->n,
        .n_cols = (int64_t)set->n_cols,
        .n_outputs = (int64_t)set->n_outputs,
        .n_seen = online->n_seen,
        .n_updates = online->n_updates,
        .n_bytes = (int64_t)kc_online_image_bytes(online),
    };
    kc_struct_write(out, &info, sizeof info);
    return KC_OK;
}

kc_status kc_online_ids(const kc_online *online, int64_t *out, int64_t n, kc_error *err)
{
    KC_TRY(kc_check_length(out, n, online->set.n, "ids", err));
    if (n > 0)
        memcpy(out, online->set.ids, online->set.n * sizeof *out);
    return KC_OK;
}

kc_status kc_online_coef(const kc_online *online, kc_reading reading, double *coef, int64_t n_coef,
                         double *intercepts, int64_t n_intercepts, kc_error *err)
{
    const kc_active *set = &online->set;

    KC_TRY(check_reading_of_one(online, reading, err));
    KC_TRY(kc_check_length(coef, n_coef, set->n_outputs * set->n, "coefficients", err));
    KC_TRY(kc_check_length(intercepts, n_intercepts, set->n_outputs, "intercepts", err));
    kc_active_coef(set, reading == KC_READING_MEAN, coef, intercepts);
    return KC_OK;
}

/* ---- As a function -------------------------------------------------------------------------- */

static kc_status make_function(kc_call *call, const kc_online *online, kc_reading reading,
                               const kc_labels *labels, kc_function **out)
{
    const kc_active *set = &online->set;
    const kc_decoding how = {set->n_outputs == 1 ? KC_DECODE_SIGN : KC_DECODE_LARGEST,
                             online->n_classes, .class_of_zero = 0};
    kc_packed points = {.dtype = set->dtype};
    kc_expansion f;
    kc_status status;

    KC_TRY(kc_active_expansion(call, set, reading == KC_READING_MEAN, &f));
    if (set->kernel != NULL)
        KC_TRY(kc_function_copy_points(call, &set->points.points, &points));
    f.points = points;
    status = kc_function_make(call, &f, &how, labels, out);
    kc_packed_free(call->ctx, &f.points); /* empty where the function has them */
    return status;
}

kc_status kc_online_function(kc_context *ctx, const kc_run *run, const kc_online *online,
                             kc_reading reading, const kc_labels *labels, kc_function **out,
                             kc_error *err)
{
    kc_call call;

    if (online == NULL || out == NULL)
        return kc_fail(err, KC_ERR_ARG, "online or out is NULL");
    KC_TRY(check_reading_of_one(online, reading, err));
    KC_TRY(kc_function_check_labels(labels, online->n_classes, err));
    KC_TRY(kc_call_begin(&call, ctx, run, "function", err));
    return kc_call_end(&call, make_function(&call, online, reading, labels, out));
}
