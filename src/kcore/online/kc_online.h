/* The online learner behind kc_online (kcore.h): an active set, the perceptron's rule, a budget.
 *
 *     online/kc_online.c        making one, reading it
 *     online/kc_online_pass.c   learning sample by sample
 *     online/kc_online_fit.c    learning from a matrix of samples in dual form
 *     online/kc_online_image.c  a learner as bytes
 *     online/kc_budget.c        which points stay */
#ifndef KC_ONLINE_H
#define KC_ONLINE_H

#include "online/kc_active.h"
#include "online/kc_projection.h"
#include "online/kc_vote_log.h"

struct kc_online {
    int32_t n_classes;
    bool is_direct, is_voted;
    int32_t strategy;
    size_t budget; /* 0: none */
    size_t n_problems;
    uint64_t *random; /* 4 * n_problems */
    int64_t n_seen, n_updates;
    kc_active set;
    kc_vote_log votes;        /* where is_voted */
    kc_projection projection; /* where the strategy needs it */

    /* For one sample at a time. */
    bool is_learning; /* a callback must not make it learn */
    kc_growing probe; /* the sample; dense sets only */
    size_t k_capacity;
    void *k; /* its kernel values */
    void *workspace;
    double *room; /* 3 * n_outputs */
};

/* Whether a sample by itself can be read into the probe: dense numbers, as the kernel reads them.
 */
KC_INLINE bool kc_online_takes_probes(const kc_online *online)
{
    const kc_packed *points = &online->set.points.points;

    return kc_packed_is_dense(points) && points->n_view_parts == 0 &&
           kc_kernel_is_plain(online->set.kernel);
}

/* The class that a positive value of output o says. */
KC_INLINE int32_t kc_online_positive(const kc_online *online, size_t o)
{
    return online->set.n_outputs == 1 ? 1 : (int32_t)o;
}

/* Checked by the caller; random may be NULL where it is written later. */
kc_status kc_online_make(kc_context *ctx, const kc_online_config *config, kc_online **out,
                         kc_error *err);
kc_status kc_online_make_room(kc_context *ctx, kc_online *online, size_t n_points, kc_error *err);

/* Room for points (and so many values of them in all, NULL: none), updates and rows of the factor,
 * so that learning cannot fail half way; and for the sample, kernel values and workspace of one
 * sample at a time. */
kc_status kc_online_prepare(kc_context *ctx, kc_online *online, size_t n_more,
                            const kc_value_counts *counts, kc_error *err);
kc_status kc_online_prepare_probe(kc_context *ctx, kc_online *online, kc_error *err);

/* What a call of learn or fit is given; settings and classes are checked. */
typedef struct kc_training_input {
    const kc_perceptron_settings *settings;
    const kc_perceptron_data *data;
    int64_t first;
    size_t cache_bytes; /* fit only */
} kc_training_input;

KC_INLINE size_t kc_training_input_samples(const kc_training_input *input)
{
    const kc_perceptron_data *data = input->data;

    return (size_t)(data->kernel_fn != NULL ? data->n_samples : data->x->n_rows);
}

/* Whether the learner can learn from these samples now. */
kc_status kc_online_check(kc_call *call, const kc_online *online, const kc_perceptron_data *data);

kc_status kc_online_run_passes(kc_call *call, kc_online *online, const kc_training_input *input,
                               kc_online_report *report);
kc_status kc_online_solve(kc_call *call, kc_online *online, const kc_training_input *input,
                          kc_online_report *report);

kc_status kc_online_decide(kc_call *call, const kc_online *online, const kc_points *x,
                           kc_reading reading, double *out);

/* ---- Budgets (online/kc_budget.c) ----------------------------------------------------------- */

#define KC_NOWHERE ((size_t)-1)

/* Lets the candidate into the set, or what the strategy makes of it.  Returns the place that has
 * another point now, KC_NOWHERE where only coefficients moved.  There is room for one point more,
 * and for the candidate's values. */
size_t kc_budget_admit(kc_online *online, const kc_candidate *x);

/* ---- Bytes (online/kc_online_image.c) ------------------------------------------------------- */

size_t kc_online_image_bytes(const kc_online *online);
void kc_online_write(const kc_online *online, void *out);
kc_status kc_online_read(kc_context *ctx, const kc_kernel *kernel, const void *bytes,
                         size_t n_bytes, kc_online **out, kc_error *err);

#endif
