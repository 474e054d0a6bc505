/* Samples are read one by one as numbers (kc_packed_sample): nothing here knows how they lie. */
#include "data/kc_packed_join.h"

#include <string.h>

/* Samples between two polls. */
#define POLL_SAMPLES ((size_t)64)

bool kc_packed_are_alike(const kc_packed *x, const kc_packed *z)
{
    if (x->n_view_parts != z->n_view_parts)
        return false;
    for (size_t p = 0; p <= x->n_view_parts; p++) {
        const kc_packed *a = kc_packed_part(x, p), *b = kc_packed_part(z, p);

        if (a->d != b->d || (a->storage == KC_STRINGS) != (b->storage == KC_STRINGS))
            return false;
    }
    return true;
}

size_t kc_packed_room(const kc_packed *x)
{
    size_t most = 1;

    for (size_t p = 0; p <= x->n_view_parts; p++)
        most = kc_max(most, kc_packed_max_values(kc_packed_part(x, p)));
    return most;
}

/* ---- One part of all sets ------------------------------------------------------------------- */

typedef struct joining {
    kc_call *call;
    const kc_packed *const *sets;
    size_t n_sets;
    size_t part;
    size_t n_rows; /* of all sets */
    double *room;
} joining;

static const kc_packed *part_of(const joining *job, size_t set)
{
    return kc_packed_part(job->sets[set], job->part);
}

/* Gets the samples in their order: `row` counts through all sets. */
typedef void take_fn(void *data, size_t row, const kc_sample *sample);

static kc_status walk(const joining *job, take_fn *take, void *data)
{
    size_t row = 0;

    for (size_t s = 0; s < job->n_sets; s++) {
        const kc_packed *part = part_of(job, s);

        for (size_t i = 0; i < part->n; i++, row++) {
            const kc_sample sample = kc_packed_sample(part, i, job->room);

            take(data, row, &sample);
            if (row % POLL_SAMPLES == POLL_SAMPLES - 1 && kc_call_poll(job->call) != KC_OK)
                return kc_call_stop_error(job->call);
        }
    }
    return KC_OK;
}

typedef struct arrays {
    size_t d;
    double *values; /* dense, CSR */
    char *bytes;    /* strings */
    int64_t *indptr, *indices;
} arrays;

static void take_dense(void *data, size_t row, const kc_sample *sample)
{
    const arrays *to = data;

    memcpy(to->values + row * to->d, sample->values, to->d * sizeof *to->values);
}

static bool is_entry(const kc_sample *sample, size_t k)
{
    return sample->columns != NULL || sample->values[k] != 0;
}

static void count_entries(void *data, size_t row, const kc_sample *sample)
{
    const arrays *to = data;
    int64_t n = 0;

    if (sample->bytes != NULL)
        n = sample->n;
    else
        for (size_t k = 0; k < (size_t)sample->n; k++)
            n += is_entry(sample, k);
    to->indptr[row + 1] = to->indptr[row] + n;
}

static void take_entries(void *data, size_t row, const kc_sample *sample)
{
    const arrays *to = data;
    size_t at = (size_t)to->indptr[row];

    for (size_t k = 0; k < (size_t)sample->n; k++)
        if (is_entry(sample, k)) {
            to->indices[at] = sample->columns != NULL ? sample->columns[k] : (int64_t)k;
            to->values[at++] = sample->values[k];
        }
}

static void take_bytes(void *data, size_t row, const kc_sample *sample)
{
    const arrays *to = data;

    if (sample->n > 0)
        memcpy(to->bytes + to->indptr[row], sample->bytes, (size_t)sample->n);
}

/* ---- Parts as views ------------------------------------------------------------------------- */

static kc_status join_dense(const joining *job, kc_points *out)
{
    const size_t d = part_of(job, 0)->d;
    arrays to = {.d = d, .values = kc_call_take(job->call, kc_max(1, job->n_rows), d * 8)};

    if (to.values == NULL)
        return kc_fail_nomem(job->call->err);
    out->storage = KC_DENSE;
    out->values = to.values;
    out->row_stride = (int64_t)(d * sizeof(double));
    out->col_stride = (int64_t)sizeof(double);
    return walk(job, take_dense, &to);
}

/* CSR or strings. */
static kc_status join_rows(const joining *job, bool are_strings, kc_points *out)
{
    arrays to = {.indptr = kc_call_take(job->call, job->n_rows + 1, sizeof *to.indptr)};
    size_t n;

    if (to.indptr == NULL)
        return kc_fail_nomem(job->call->err);
    to.indptr[0] = 0;
    KC_TRY(walk(job, count_entries, &to));
    n = (size_t)to.indptr[job->n_rows];
    if (are_strings) {
        out->values = to.bytes = kc_call_take(job->call, kc_max(1, n), 1);
    } else {
        out->values = to.values = kc_call_take(job->call, kc_max(1, n), sizeof *to.values);
        out->indices = to.indices = kc_call_take(job->call, kc_max(1, n), sizeof *to.indices);
    }
    if (out->values == NULL || (!are_strings && out->indices == NULL))
        return kc_fail_nomem(job->call->err);
    out->storage = are_strings ? KC_STRINGS : KC_CSR;
    out->indptr = to.indptr;
    out->index_bytes = sizeof(int64_t);
    out->n_values = (int64_t)n;
    return walk(job, are_strings ? take_bytes : take_entries, &to);
}

static kc_status join_part(const joining *job, kc_points *out)
{
    bool is_sparse = false;

    *out = (kc_points){
        .struct_size = sizeof *out,
        .dtype = KC_F64,
        .n_rows = (int64_t)job->n_rows,
        .n_cols = (int64_t)part_of(job, 0)->d,
        .name = "points",
    };
    for (size_t s = 0; s < job->n_sets; s++)
        is_sparse |= !kc_packed_is_dense(part_of(job, s));
    return is_sparse ? join_rows(job, part_of(job, 0)->storage == KC_STRINGS, out)
                     : join_dense(job, out);
}

kc_status kc_packed_join(kc_call *call, const kc_packed *const *sets, size_t n_sets, kc_points *out)
{
    const size_t n_parts = sets[0]->n_view_parts + 1;
    kc_points *parts = kc_call_take(call, n_parts, sizeof *parts);
    joining job = {.call = call, .sets = sets, .n_sets = n_sets};
    size_t room = 1, n_columns = 0;

    for (size_t s = 0; s < n_sets; s++) {
        room = kc_max(room, kc_packed_room(sets[s]));
        job.n_rows += sets[s]->n;
    }
    job.room = kc_call_take(call, room, sizeof *job.room);
    if (parts == NULL || job.room == NULL)
        return kc_fail_nomem(call->err);
    for (job.part = 0; job.part < n_parts; job.part++) {
        KC_TRY(join_part(&job, &parts[job.part]));
        parts[job.part].first_col = (int64_t)n_columns;
        n_columns += kc_part_columns(&parts[job.part]);
        if (job.part > 0)
            parts[job.part - 1].next = &parts[job.part];
    }
    *out = parts[0];
    return KC_OK;
}

/* ---- Equal samples -------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_part(uint64_t hash, const kc_sample *sample)
{
    uint64_t bits;

    if (sample->bytes != NULL) {
        hash = mix(hash, (uint64_t)sample->n);
        for (size_t k = 0; k < (size_t)sample->n; k++)
            hash = mix(hash, (unsigned char)sample->bytes[k]);
        return hash;
    }
    for (size_t k = 0; k < (size_t)sample->n; k++)
        if (sample->values[k] != 0) {
            memcpy(&bits, &sample->values[k], sizeof bits);
            hash = mix(mix(hash, sample->columns != NULL ? (uint64_t)sample->columns[k] : k), bits);
        }
    return hash;
}

uint64_t kc_packed_hash(const kc_packed *x, size_t i, double *room)
{
    uint64_t hash = 1;

    for (size_t p = 0; p <= x->n_view_parts; p++) {
        const kc_sample sample = kc_packed_sample(kc_packed_part(x, p), i, room);

        hash = mix(hash_part(hash, &sample), p);
    }
    return hash;
}

/* The next entry from k on that is not zero, or n. */
static size_t next_entry(const kc_sample *sample, size_t k)
{
    while (k < (size_t)sample->n && sample->values[k] == 0)
        k++;
    return k;
}

static bool same_numbers(const kc_sample *a, const kc_sample *b)
{
    size_t k = next_entry(a, 0), l = next_entry(b, 0);

    while (k < (size_t)a->n && l < (size_t)b->n) {
        const size_t column = a->columns != NULL ? (size_t)a->columns[k] : k;

        if (column != (b->columns != NULL ? (size_t)b->columns[l] : l) ||
            a->values[k] != b->values[l])
            return false;
        k = next_entry(a, k + 1);
        l = next_entry(b, l + 1);
    }
    return k == (size_t)a->n && l == (size_t)b->n;
}

bool kc_packed_is_same(const kc_packed *x, size_t i, size_t j, double *room)
{
    double *other = room + kc_packed_room(x);

    for (size_t p = 0; p <= x->n_view_parts; p++) {
        const kc_packed *part = kc_packed_part(x, p);
        const kc_sample a = kc_packed_sample(part, i, room), b = kc_packed_sample(part, j, other);

        if (a.bytes != NULL ? a.n != b.n || memcmp(a.bytes, b.bytes, (size_t)a.n) != 0
                            : !same_numbers(&a, &b))
            return false;
    }
    return true;
}
