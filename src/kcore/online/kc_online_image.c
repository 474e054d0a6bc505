/* A learner as bytes: a header of counts, then every array as it lies in memory.  One walk over the
 * arrays serves for counting, writing and reading, so that the three cannot differ.
 *
 * For processes of one machine type (pickles, copies).  What is read is checked as far as memory
 * safety needs it: every count against the number of bytes, every index against what it points to.
 */
#include <string.h>

#include "online/kc_online.h"

#define MAGIC 0x326c6e6f636bu /* "kconl2", and the order of its bytes */

typedef struct header {
    uint64_t magic;
    uint64_t n_bytes; /* in all */
    int32_t dtype, n_parts, is_given, has_offset;
    int32_t n_classes, is_direct, is_averaged, is_voted;
    int32_t strategy, unused;
    uint64_t budget, n_cols;
    uint64_t n, n_updates_kept, n_factor;
    int64_t n_arrived, n_seen, n_updates;
} header;

/* Behind the header, n_parts times: a part of the points. */
typedef struct part {
    int32_t storage, unused;
    uint64_t n_cols, n_values;
} part;

/* All parts, as samples like these and as what the points hold. */
typedef struct part_list {
    part list[KC_MAX_PARTS];
    kc_points like[KC_MAX_PARTS];
    kc_value_counts counts;
} part_list;

static header describe(const kc_online *online)
{
    const kc_active *set = &online->set;

    return (header){
        .magic = MAGIC,
        .dtype = (int32_t)set->dtype,
        .n_parts = (int32_t)set->points.points.n_view_parts + 1,
        .is_given = set->kernel == NULL,
        .has_offset = set->offset != 0,
        .n_classes = online->n_classes,
        .is_direct = online->is_direct,
        .is_averaged = set->time_weighted != NULL,
        .is_voted = online->is_voted,
        .strategy = online->strategy,
        .budget = online->budget,
        .n_cols = set->n_cols,
        .n = set->n,
        .n_updates_kept = online->votes.n,
        .n_factor = online->projection.n,
        .n_arrived = set->n_arrived,
        .n_seen = online->n_seen,
        .n_updates = online->n_updates,
    };
}

/* ---- The walk ------------------------------------------------------------------------------ */

/* Both NULL: counts only. */
typedef struct stream {
    char *to;
    const char *from;
    size_t at;
} stream;

static void pass(stream *s, void *array, size_t count, size_t size)
{
    const size_t n_bytes = count * size;

    if (s->to != NULL && n_bytes > 0)
        memcpy(s->to + s->at, array, n_bytes);
    if (s->from != NULL && n_bytes > 0)
        memcpy(array, s->from + s->at, n_bytes);
    s->at += n_bytes;
}

static void pass_array(void *data, void *array, size_t count, size_t size)
{
    pass(data, array, count, size);
}

/* Field by field: a struct has bytes that no field owns. */
static void pass_update(stream *s, kc_perceptron_update *update)
{
    pass(s, &update->at, 1, sizeof update->at);
    pass(s, &update->sample, 1, sizeof update->sample);
    pass(s, &update->raised, 1, sizeof update->raised);
    pass(s, &update->lowered, 1, sizeof update->lowered);
    pass(s, &update->step, 1, sizeof update->step);
}

static void walk(kc_online *online, stream *s)
{
    kc_active *set = &online->set;
    kc_projection *p = &online->projection;

    pass(s, online->random, 4 * online->n_problems, sizeof *online->random);
    pass(s, set->intercepts, set->n_outputs, sizeof *set->intercepts);
    pass(s, set->time_weighted_intercepts, set->n_outputs, sizeof *set->time_weighted_intercepts);
    pass(s, set->n_steps, set->n_outputs, sizeof *set->n_steps);
    pass(s, set->sq_coef, set->n, sizeof *set->sq_coef);
    pass(s, set->diag, set->n, sizeof *set->diag);
    pass(s, set->ids, set->n, sizeof *set->ids);
    pass(s, set->arrived, set->n, sizeof *set->arrived);
    for (size_t o = 0; o < set->n_outputs && set->n > 0; o++) {
        pass(s, set->coef + o * set->capacity, set->n, sizeof *set->coef);
        if (set->time_weighted != NULL)
            pass(s, set->time_weighted + o * set->capacity, set->n, sizeof *set->time_weighted);
    }
    if (set->kernel != NULL)
        kc_growing_visit(&set->points, pass_array, s);
    for (size_t u = 0; u < online->votes.n; u++)
        pass_update(s, &online->votes.updates[u]);
    pass(s, p->place_of, p->n, sizeof *p->place_of);
    for (size_t r = 0; r < p->n; r++)
        pass(s, p->factor + r * p->capacity, r + 1, sizeof *p->factor);
}

static size_t header_bytes(size_t n_parts)
{
    return sizeof(header) + n_parts * sizeof(part);
}

size_t kc_online_image_bytes(const kc_online *online)
{
    stream s = {.at = header_bytes(online->set.points.points.n_view_parts + 1)};

    kc_growing_visit_rows((kc_growing *)&online->set.points, pass_array, &s);
    walk((kc_online *)online, &s);
    return s.at;
}

void kc_online_write(const kc_online *online, void *out)
{
    const kc_packed *points = &online->set.points.points;
    header h = describe(online);
    stream s = {.to = out};

    h.n_bytes = kc_online_image_bytes(online);
    pass(&s, &h, 1, sizeof h);
    for (size_t i = 0; i <= points->n_view_parts; i++) {
        const kc_packed *from = kc_packed_part(points, i);
        part p = {.storage = (int32_t)from->storage,
                  .n_cols = from->d,
                  .n_values = kc_packed_n_values(from)};

        pass(&s, &p, 1, sizeof p);
    }
    kc_growing_visit_rows((kc_growing *)&online->set.points, pass_array, &s);
    walk((kc_online *)online, &s);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static kc_status fail(kc_error *err, const char *what)
{
    return kc_fail(err, KC_ERR_ARG, "the bytes are not those of a learner: %s", what);
}

static bool is_count(int64_t count)
{
    return count >= 0 && count <= KC_COUNT_MAX;
}

static bool are_flags(const header *h)
{
    const int32_t flags[] = {h->is_given, h->has_offset, h->is_direct, h->is_averaged, h->is_voted};

    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k] != 0 && flags[k] != 1)
            return false;
    return h->unused == 0;
}

static kc_status check_header(const header *h, const kc_kernel *kernel, size_t n_bytes,
                              kc_error *err)
{
    const uint64_t counts[] = {h->n, h->n_updates_kept, h->n_factor, (uint64_t)h->n_classes};

    if (h->magic != MAGIC || h->n_bytes != n_bytes || h->n_parts < 1 ||
        h->n_parts > (h->is_given ? 1 : KC_MAX_PARTS) || header_bytes((size_t)h->n_parts) > n_bytes)
        return fail(err, "wrong beginning or length");
    if ((h->dtype != KC_F32 && h->dtype != KC_F64) || h->n_classes < 2 || h->n_cols < 1 ||
        h->n_cols > INT32_MAX || h->budget > INT32_MAX)
        return fail(err, "wrong type or number of classes or columns");
    if (!are_flags(h))
        return fail(err, "a flag that is neither 0 nor 1");
    if (h->is_given != (kernel == NULL))
        return fail(err, "the kernel is missing, or there was none");
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        if (counts[k] > n_bytes || counts[k] > INT32_MAX)
            return fail(err, "a count is larger than they are");
    if (!is_count(h->n_arrived) || h->n_arrived < (int64_t)h->n || !is_count(h->n_seen) ||
        !is_count(h->n_updates))
        return fail(err, "a count is negative, too large, or less than what is there");
    if (h->n_updates_kept > 0 && !h->is_voted)
        return fail(err, "updates of a learner that keeps none");
    if ((h->budget > 0 && (h->n > h->budget || h->strategy < KC_STRATEGY_OLDEST ||
                           h->strategy > KC_STRATEGY_MERGE || h->is_averaged || h->is_voted)) ||
        (h->is_given && h->budget > 0))
        return fail(err, "budget and points do not fit together");
    if (h->n_factor > (h->budget > 0 && h->strategy == KC_STRATEGY_PROJECTION ? h->n : 0))
        return fail(err, "factor and points do not fit together");
    return KC_OK;
}

static bool is_part(const header *h, const part *p)
{
    const bool is_ragged = p->storage == KC_CSR || p->storage == KC_STRINGS;

    return (is_ragged || p->storage == KC_DENSE) && (!is_ragged || !h->is_given) &&
           p->unused == 0 && p->n_cols >= 1 && p->n_cols <= INT32_MAX &&
           (p->storage != KC_STRINGS || p->n_cols == 1) &&
           p->n_values <= (is_ragged && h->n > 0 ? h->n_bytes : 0);
}

static kc_status read_parts(const header *h, const char *bytes, part_list *out, kc_error *err)
{
    uint64_t n_cols = 0;

    for (size_t i = 0; i < (size_t)h->n_parts; i++) {
        part *p = &out->list[i];

        memcpy(p, bytes + header_bytes(i), sizeof *p);
        if (!is_part(h, p))
            return fail(err, "a part of its points that cannot be");
        n_cols += p->n_cols;
        out->counts.of[i] = p->n_values;
        out->like[i] = (kc_points){
            .storage = (kc_storage)p->storage,
            .n_cols = (int64_t)p->n_cols,
            .next = i + 1 < (size_t)h->n_parts ? &out->like[i + 1] : NULL,
        };
    }
    return n_cols == h->n_cols ? KC_OK : fail(err, "columns of its points that are not their own");
}

/* How many bytes such a learner takes, in doubles, which cannot overflow; without offsets. */
static double estimate_bytes(const header *h, const part_list *parts, const kc_online *online)
{
    const double n = (double)h->n, outputs = (double)online->set.n_outputs;
    double bytes = (double)header_bytes((size_t)h->n_parts) + 32.0 * (double)online->n_problems +
                   24 * outputs + n * (32 + 8 * outputs * (h->is_averaged ? 2 : 1)) +
                   28.0 * (double)h->n_updates_kept + 4.0 * (double)h->n_factor +
                   4.0 * (double)h->n_factor * ((double)h->n_factor + 1);

    if (!h->is_given)
        bytes += kc_growing_bytes(&online->set.points, h->n, &parts->counts);
    return bytes;
}

/* Empty arrays of the right sizes. */
static kc_status make_room(kc_context *ctx, const header *h, const part_list *parts,
                           kc_online *online, kc_error *err)
{
    kc_active *set = &online->set;

    KC_TRY(kc_active_reserve(ctx, set, h->n, &parts->counts, err));
    KC_TRY(kc_vote_log_reserve(ctx, &online->votes, h->n_updates_kept, err));
    if (h->n_factor > 0)
        KC_TRY(kc_projection_reserve(ctx, &online->projection, h->n_factor + 1, err));
    set->n = h->n;
    set->points.points.n = h->is_given ? 0 : h->n;
    online->votes.n = h->n_updates_kept;
    online->projection.n = h->n_factor;
    set->n_arrived = h->n_arrived;
    online->n_seen = h->n_seen;
    online->n_updates = h->n_updates;
    return KC_OK;
}

static bool are_updates(const kc_online *online)
{
    const int64_t n = (int64_t)online->set.n, n_outputs = (int64_t)online->set.n_outputs;

    for (size_t u = 0; u < online->votes.n; u++) {
        const kc_perceptron_update *update = &online->votes.updates[u];

        if (update->sample < 0 || update->sample >= n || update->raised < 0 ||
            update->raised >= n_outputs || update->lowered < -1 || update->lowered >= n_outputs)
            return false;
    }
    return true;
}

/* No place stands twice. */
static bool are_places(const kc_projection *p, size_t n_points)
{
    for (size_t r = 0; r < p->n; r++) {
        if (p->place_of[r] < 0 || (size_t)p->place_of[r] >= n_points)
            return false;
        for (size_t other = 0; other < r; other++)
            if (p->place_of[other] == p->place_of[r])
                return false;
    }
    return true;
}

static bool are_ids(const kc_active *set)
{
    const bool is_given = set->kernel == NULL;

    for (size_t i = 0; i < set->n; i++)
        if (set->ids[i] < (is_given ? 0 : -1) ||
            (is_given && set->ids[i] >= (int64_t)set->n_cols) || set->arrived[i] < 0 ||
            set->arrived[i] > set->n_arrived)
            return false;
    return true;
}

/* Of each output the steps; of each problem the state of its order, which is never all zeros: there
 * would be no end to what is drawn with it. */
static bool are_states(const kc_online *online)
{
    for (size_t o = 0; o < online->set.n_outputs; o++)
        if (!is_count(online->set.n_steps[o]))
            return false;
    for (size_t k = 0; k < online->n_problems; k++) {
        const uint64_t *r = online->random + 4 * k;

        if ((r[0] | r[1] | r[2] | r[3]) == 0)
            return false;
    }
    return true;
}

/* Budgets divide by K(x, x) of an RBF. */
static bool are_lengths(const kc_online *online)
{
    const kc_active *set = &online->set;

    if (online->budget == 0 || !kc_kernel_is_rbf(set->kernel))
        return true;
    for (size_t i = 0; i < set->n; i++)
        if (!(set->diag[i] > 0))
            return false;
    return true;
}

static kc_status read_arrays(kc_context *ctx, const header *h, const part_list *parts,
                             const char *bytes, kc_online *online, kc_error *err)
{
    stream s = {.from = bytes, .at = header_bytes((size_t)h->n_parts)};

    if (estimate_bytes(h, parts, online) != (double)h->n_bytes)
        return fail(err, "wrong length");
    KC_TRY(make_room(ctx, h, parts, online, err));
    kc_growing_visit_rows(&online->set.points, pass_array, &s);
    if (!h->is_given && !kc_growing_has_rows(&online->set.points, &parts->counts))
        return fail(err, "wrong rows");
    walk(online, &s);
    if (!kc_growing_has_columns(&online->set.points) || !are_updates(online) ||
        !are_places(&online->projection, online->set.n) || !are_ids(&online->set))
        return fail(err, "an index that points nowhere");
    if (!are_states(online))
        return fail(err, "a state that no learner has");
    if (!kc_projection_is_factor(&online->projection) || !are_lengths(online))
        return fail(err, "lengths that no points have");
    return KC_OK;
}

/* The parts are stored as they are kept, and are made again as they are given. */
static bool are_kept_so(const part_list *parts, const kc_packed *points)
{
    for (size_t i = 0; i <= points->n_view_parts; i++)
        if (kc_packed_part(points, i)->storage != parts->like[i].storage)
            return false;
    return true;
}

static kc_status make_learner(kc_context *ctx, const header *h, const part_list *parts,
                              const kc_kernel *kernel, const char *bytes, kc_online **out,
                              kc_error *err)
{
    const kc_online_config config = {
        .kernel = kernel,
        .dtype = (kc_dtype)h->dtype,
        .n_cols = (int64_t)h->n_cols,
        .like = parts->like,
        .n_classes = h->n_classes,
        .is_direct = h->is_direct,
        .has_intercept = h->has_offset,
        .is_averaged = h->is_averaged,
        .is_voted = h->is_voted,
        .strategy = h->strategy,
        .budget = (int64_t)h->budget,
    };
    kc_online *online;
    kc_status status;

    if (kernel != NULL)
        KC_TRY(kc_kernel_check_parts(kernel, parts->like, err));
    KC_TRY(kc_online_make(ctx, &config, &online, err));
    status = are_kept_so(parts, &online->set.points.points)
                 ? read_arrays(ctx, h, parts, bytes, online, err)
                 : fail(err, "wrong storage");
    if (status != KC_OK) {
        kc_online_free(ctx, online);
        return status;
    }
    *out = online;
    return KC_OK;
}

kc_status kc_online_read(kc_context *ctx, const kc_kernel *kernel, const void *bytes,
                         size_t n_bytes, kc_online **out, kc_error *err)
{
    part_list parts;
    header h;

    if (n_bytes < sizeof h)
        return fail(err, "too few");
    memcpy(&h, bytes, sizeof h);
    KC_TRY(check_header(&h, kernel, n_bytes, err));
    KC_TRY(read_parts(&h, bytes, &parts, err));
    return make_learner(ctx, &h, &parts, kernel, bytes, out, err);
}
