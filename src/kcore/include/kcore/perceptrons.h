/* Perceptrons, linear and in the space of a kernel: a part of kcore.h, which includes it. */
#ifndef KCORE_PERCEPTRONS_H
#define KCORE_PERCEPTRONS_H

#include "kcore/kcore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Perceptrons -------------------------------------------------------------------------- */

/* In augmented coordinates y = z (1, x), z = +1 or -1 by the class, a sample is a mistake of a
 * where a.y <= margin. */
typedef enum kc_perceptron_rule {
    KC_RULE_SINGLE = 1, /* sample by sample: a += eta(k) y at each mistake */
    KC_RULE_BATCH = 2   /* pass by pass: a += eta(k) sum of y over the mistakes */
} kc_perceptron_rule;

typedef struct kc_perceptron_settings {
    size_t struct_size;    /* sizeof(kc_perceptron_settings) */
    int32_t rule;          /* kc_perceptron_rule */
    int32_t is_direct;     /* more than two classes: one weight vector each, trained together: a
                              mistake adds y to its class and takes it from the best other one */
    int32_t has_intercept; /* 0: x in place of (1, x) */
    int32_t is_shuffled;   /* a new order for every pass */
    double margin;         /* >= 0 */
    double theta;          /* batch: ends after a step with |eta(k) sum of y| < theta */
    int64_t n_passes;      /* at the most */
    const double *eta;     /* n_passes entries: eta(k) of pass k, > 0 */
} kc_perceptron_settings;

typedef struct kc_perceptron_data {
    size_t struct_size; /* sizeof(kc_perceptron_data) */
    const kc_points *x;
    const int32_t *classes; /* n entries in 0 .. n_classes - 1 */
    int32_t n_classes;
    const double *weights;   /* n entries >= 0 that multiply eta; NULL: all 1 */
    kc_kernel_fn *kernel_fn; /* kc_online_fit of a learner without a kernel: in place of x, called
                                for values when they are needed; NULL: none */
    void *kernel_data;       /* its first argument */
    int64_t n_samples;       /* n, with kernel_fn; else not read */
} kc_perceptron_data;

/* One update, for a prediction by votes. */
typedef struct kc_perceptron_update {
    int64_t at; /* n_steps when it was made, counting its own sample */
    int32_t sample;
    int32_t raised;  /* the output that y was added to */
    int32_t lowered; /* direct: the one it was taken from; else -1 */
    double step;     /* what multiplied x, with its sign */
} kc_perceptron_update;

/* A perceptron while it learns.  The arrays are the caller's; learning goes on from what they hold.
 */
typedef struct kc_perceptron_state {
    size_t struct_size;    /* sizeof(kc_perceptron_state) */
    int32_t positive;      /* the class with z = +1, all others being -1; not used if direct */
    double *weights;       /* n_outputs x n_cols: direct n_classes outputs, else 1 */
    double *intercepts;    /* n_outputs */
    double *time_weighted; /* the same shapes, sums of n_steps times the update: with T = n_steps,
                             ((T + 1) weights - time_weighted) / T is the mean over all steps, if
                             time_weighted began as weights.  Single rule; NULL: not wanted */
    double *time_weighted_intercepts;
    int64_t n_steps;    /* samples looked at by the single rule */
    int64_t n_updates;  /* mistakes corrected; batch: passes that moved a */
    uint64_t random[4]; /* of the order: any start but four zeros */
    int64_t *mistakes;  /* n_passes: mistakes of each pass */
    double *criterion;  /* n_passes: sum of weight (margin - a.y) over them, a being that of the
                           moment; batch with margin 0: the perceptron criterion J_p(a) */
    kc_perceptron_update *log; /* room for n samples x n_passes; NULL: not wanted */
    int64_t n_log;
    int64_t n_done;       /* passes begun and ended */
    int32_t is_converged; /* a whole pass without a mistake, or the step below theta */
    int32_t has_best;     /* whether the pocket holds anything */
    double *best_weights; /* the pocket, shapes as weights and intercepts: of the vectors that were
                             rated, the one with the least weight of samples with a.y <= 0, the
                             first of equals.  Rated are those at the ends of passes and (single
                             rule) those that are to be corrected after a run of right samples that
                             was no shorter than that of the pocket's, of them 1 + 8 p / n while p
                             of n samples of a pass were looked at.  What it holds before is
                             compared on the same samples.  NULL: not wanted */
    double *best_intercepts;
    double best_loss;      /* that weight */
    int64_t best_mistakes; /* number of those samples */
    int64_t best_run;      /* with the pocket: samples that its vector had been right for, one after
                              the other, when it was rated */
    int64_t changed_at;    /* with the pocket: n_steps at the last correction */
} kc_perceptron_state;

/* Runs every problem of `states` until it converges, n_passes are done, or the time limit is
 * reached (the state is then that of the last sample).  Samples of weight zero are not there.
 * KC_ERR_CANCELLED where it was stopped, KC_ERR_RANGE where the weights overflow, and the error of
 * a value that is not finite or too large, which may be found on the way: the arrays hold no
 * meaning then. */
KC_API KC_MUST_CHECK kc_status kc_perceptron_run(kc_context *ctx, const kc_run *run,
                                                 const kc_perceptron_settings *settings,
                                                 const kc_perceptron_data *data,
                                                 kc_perceptron_state *states, int32_t n_states,
                                                 kc_error *err);

/* out[i * n_outputs + k] = weights[k].x_i + intercepts[k], row by row the same bits, which are
 * those that learning saw.  As a kc_function (kc_function_create), weight vectors are the points of
 * a linear kernel, one for each output, with coefficients 1 and 0: its kc_function_weights are the
 * same bits, its values the same but for rounding. */
KC_API KC_MUST_CHECK kc_status kc_linear_decision(kc_context *ctx, const kc_run *run,
                                                  const kc_points *x, const double *weights,
                                                  const double *intercepts, int32_t n_outputs,
                                                  double *out, kc_error *err);

/* How weight vectors came to be, for a prediction by votes of all that there were: the next one is
 * the last one plus step * x of an update, the first one is zero. */
typedef struct kc_perceptron_history {
    size_t struct_size;                  /* sizeof(kc_perceptron_history) */
    const kc_points *x;                  /* samples of the updates; NULL where there is no update */
    const kc_perceptron_update *updates; /* as kc_perceptron_state.log has them, one run after the
                                            other; `sample` is a row of x */
    int64_t n_updates;
    int64_t n_steps;       /* of the state at the end */
    int32_t n_outputs;     /* 1; direct: n_classes */
    int32_t has_intercept; /* as in the settings */
} kc_perceptron_history;

/* out[i * out_ld + o]: every vector votes on x_i, as often as there were samples that it survived.
 * One output: votes for less votes against; more: those that output o won against the others.  Row
 * by row the same bits. */
KC_API KC_MUST_CHECK kc_status kc_perceptron_votes(kc_context *ctx, const kc_run *run,
                                                   const kc_perceptron_history *history,
                                                   const kc_points *x, double *out, int64_t out_ld,
                                                   kc_error *err);

/* What the convergence bound needs: max |x|^2, and min and count of y.a over the samples. */
typedef struct kc_perceptron_margin {
    size_t struct_size; /* sizeof(kc_perceptron_margin), set by the caller */
    double max_sq_norm; /* of x, without the 1 of the intercept */
    double min_value;   /* of z (a.x + intercept) */
    int64_t n_mistakes; /* samples where that is <= 0 */
} kc_perceptron_margin;
KC_API KC_MUST_CHECK kc_status kc_perceptron_measure(kc_context *ctx, const kc_run *run,
                                                     const kc_perceptron_data *data,
                                                     int32_t positive, const double *weights,
                                                     double intercept, kc_perceptron_margin *out,
                                                     kc_error *err);

/* ---- Kernel perceptrons ------------------------------------------------------------------- */

/* How a learner keeps within its budget when a sample comes that is one too many.  K stands for
 * K + 1 where there is an intercept. */
typedef enum kc_strategy {
    KC_STRATEGY_OLDEST = 1,     /* it takes the place of the point that came first */
    KC_STRATEGY_SMALLEST = 2,   /* ... of the point with the least sum of coef^2 K(x, x) */
    KC_STRATEGY_PROJECTION = 3, /* of it and that point, the one that lies closer to the span of
                                   the others is replaced by its projection onto them */
    KC_STRATEGY_MERGE = 4       /* it is merged with the point of its sign where that loses least,
                                   unless replacing the smallest point loses no more.  Both are
                                   meant for positive kernels: where the kernel is not positive on
                                   the points, the candidate replaces the smallest one */
} kc_strategy;

/* What a decision value is read from. */
typedef enum kc_reading {
    KC_READING_LAST = 1, /* the functions as they are now */
    KC_READING_MEAN = 2, /* their mean over all samples looked at */
    KC_READING_VOTES = 3 /* all functions there were, each by its sign, for the samples it survived:
                            votes for less votes against; direct rule: votes won */
} kc_reading;

typedef struct kc_online_config {
    size_t struct_size;      /* sizeof(kc_online_config) */
    const kc_kernel *kernel; /* copied; NULL: kernel matrices are given to kc_online_fit,
                                or functions */
    kc_dtype dtype;          /* of kernel values and of the points kept */
    int64_t n_cols;          /* of the samples; without a kernel: of the kernel matrix, n */
    int32_t is_sparse;       /* points of more than 128 columns are kept in CSR */
    int32_t n_classes;       /* at least 2 */
    int32_t is_direct;       /* more than two classes: as in kc_perceptron_settings */
    int32_t has_intercept;   /* K + 1 in place of K */
    int32_t is_averaged;     /* keeps what KC_READING_MEAN needs; no budget */
    int32_t is_voted;        /* keeps what KC_READING_VOTES needs; no budget; memory grows with
                                every update */
    int32_t strategy;        /* kc_strategy; where there is a budget */
    int64_t budget;          /* points kept at the most; 0: no bound */
    const uint64_t *random;  /* of the orders: four numbers for each problem, not all zero */
    const kc_points *like;   /* samples like those to come, which may be none: strings, or several
                                parts; in place of is_sparse; NULL: one part of numbers, or no
                                kernel */
} kc_online_config;

/* A perceptron in the feature space of a kernel.  It keeps the samples it corrected its mistakes
 * with, and nothing else of what it has seen:
 *
 *     f_o(x) = sum over points i of coef[o][i] (K(x_i, x) + 1)
 *
 * One problem and one output for two classes (positive says class 1); one problem for each class
 * against the rest, or one problem for all with the direct rule, for more.  All share one set of
 * points.  Used by one thread at a time while it learns. */
typedef struct kc_online kc_online;
KC_API KC_MUST_CHECK kc_status kc_online_create(kc_context *ctx, const kc_online_config *config,
                                                kc_online **out, kc_error *err);
KC_API void kc_online_free(kc_context *ctx, kc_online *online);

/* Room for so many points: until there are more, learning from one dense sample at a time allocates
 * nothing. */
KC_API KC_MUST_CHECK kc_status kc_online_reserve(kc_context *ctx, kc_online *online,
                                                 int64_t n_points, kc_error *err);

/* What a call did. */
typedef struct kc_online_report {
    size_t struct_size;   /* sizeof(kc_online_report), set by the caller, as are the arrays */
    int64_t *mistakes;    /* n_passes: of each pass, over all problems */
    double *criterion;    /* n_passes: sum of margin - a.y over them */
    int64_t n_done;       /* passes begun and ended, the most of any problem */
    int64_t n_updates;    /* of this call, over all problems */
    int32_t is_converged; /* all problems; as in kc_perceptron_state */
    /* kc_online_fit only: */
    double min_value, sq_norm, max_diag; /* two classes: min a.y, |a|^2 and max |y|^2, of which the
                                            bound is made; else NaN */
    int64_t rows_computed, rows_hit, rows_evicted; /* kernel rows */
    int64_t cache_bytes_allowed, cache_bytes_used;
} kc_online_report;

/* Learns from samples one after the other, n_passes times at the most.  A sample costs one row of
 * kernel values with the points kept.  Single rule; is_direct and has_intercept of the settings are
 * those of the learner.
 *
 * Samples are numbered from `first` on, or where first is -1, from the number seen so far; a
 * mistake on a sample that is in the set moves its coefficients.  Every sample is learnt from
 * wholly or not at all: after a time limit (KC_OK) or an error the learner is that of the last
 * sample, and of no sample where a value of x is not finite. */
KC_API KC_MUST_CHECK kc_status kc_online_learn(kc_context *ctx, const kc_run *run,
                                               kc_online *online,
                                               const kc_perceptron_settings *settings,
                                               const kc_perceptron_data *data, int64_t first,
                                               kc_online_report *report, kc_error *err);

/* Learns from samples that can be held all at once, in dual form: the value at every sample is
 * kept, and a mistake adds one row of the kernel matrix to them; rows are kept in cache_bytes, 0:
 * chosen from the memory available.  Either rule; no budget.  Numbers of samples as for
 * kc_online_learn; without a kernel, first is 0 (or -1, if nothing was learnt).  On failure the
 * learner is as it was. */
KC_API KC_MUST_CHECK kc_status kc_online_fit(kc_context *ctx, const kc_run *run, kc_online *online,
                                             const kc_perceptron_settings *settings,
                                             const kc_perceptron_data *data, int64_t first,
                                             int64_t cache_bytes, kc_online_report *report,
                                             kc_error *err);

/* out[i * n_outputs + o]; equal bits however the samples are cut into calls.  On failure out holds
 * no meaning. */
KC_API KC_MUST_CHECK kc_status kc_online_decision(kc_context *ctx, const kc_run *run,
                                                  const kc_online *online, const kc_points *x,
                                                  kc_reading reading, double *out, kc_error *err);

typedef struct kc_online_info {
    size_t struct_size; /* sizeof(kc_online_info), set by the caller */
    kc_dtype dtype;
    int32_t is_given; /* no kernel, and no points but numbers of samples */
    int64_t n_points;
    int64_t n_cols;
    int64_t n_outputs;
    int64_t n_seen;    /* samples so far: the next one has this number */
    int64_t n_updates; /* mistakes corrected so far, over all problems */
    int64_t n_bytes;   /* of kc_online_save */
} kc_online_info;
KC_API KC_MUST_CHECK kc_status kc_online_describe(const kc_online *online, kc_online_info *out,
                                                  kc_error *err);

/* Copies into the caller's arrays, whose lengths are said and must be right. */
KC_API KC_MUST_CHECK kc_status kc_online_ids(const kc_online *online, int64_t *out, int64_t n,
                                             kc_error *err); /* n_points; -1: a merged point */
KC_API KC_MUST_CHECK kc_status
kc_online_coef(const kc_online *online, kc_reading reading, double *coef, int64_t n_coef,
               double *intercepts, int64_t n_intercepts,
               kc_error *err); /* n_outputs x n_points, n_outputs; not for KC_READING_VOTES */

/* The functions as they are now, or their means, as one that the learner's further steps do not
 * change: the same bits of every value.  Two classes: a value of 0 says class 0.  labels: of the
 * classes; NULL: none.  Freed by the caller. */
KC_API KC_MUST_CHECK kc_status kc_online_function(kc_context *ctx, const kc_run *run,
                                                  const kc_online *online, kc_reading reading,
                                                  const kc_labels *labels, kc_function **out,
                                                  kc_error *err);

/* All of a learner as n_bytes bytes, and a learner from them: it goes on to the bit.  The kernel is
 * not among them: give the same one, or NULL where there was none.  Bytes that no learner wrote are
 * refused, or give a learner that is safe to use. */
KC_API KC_MUST_CHECK kc_status kc_online_save(const kc_online *online, void *out, int64_t n_bytes,
                                              kc_error *err);
KC_API KC_MUST_CHECK kc_status kc_online_load(kc_context *ctx, const kc_kernel *kernel,
                                              const void *bytes, int64_t n_bytes, kc_online **out,
                                              kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
