/* A label is known by its bytes.  Mostly there are two of them: these are told apart without a
 * branch that depends on their order; others are found in a table by a hash of their bytes. */
#include "data/kc_labels.h"

#include <math.h>
#include <string.h>

/* Labels between two polls. */
#define POLL_LABELS ((size_t)1 << 18)

/* Slots of the table when it is new, and when it is more than these; it is kept at most half full.
 */
#define FIRST_SLOTS ((size_t)16)
#define NEXT_SLOTS ((size_t)256)

#define EMPTY (-1)

typedef struct encoding {
    kc_call *call;
    const char *values;
    int64_t stride;
    size_t n_bytes; /* of a label */
    int64_t most, n_found;
    int64_t *first;
    int32_t *slots; /* the number of a label, or EMPTY */
    size_t n_slots; /* a power of two */
    int32_t first_slots[FIRST_SLOTS];
} encoding;

static const char *label_at(const encoding *e, int64_t i)
{
    return e->values + i * e->stride;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const encoding *e, const char *label)
{
    uint64_t hash = e->n_bytes, word;
    size_t k = 0;

    for (; k + sizeof word <= e->n_bytes; k += sizeof word) {
        memcpy(&word, label + k, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, label + k, e->n_bytes - k);
    return mix(hash, word);
}

static bool is_same(const encoding *e, const char *label, int64_t number)
{
    return memcmp(label, label_at(e, e->first[number]), e->n_bytes) == 0;
}

/* The slot of a label, or the empty one that it would have. */
static size_t find_slot(const encoding *e, const char *label)
{
    size_t slot = hash_of(e, label) & (e->n_slots - 1);

    while (e->slots[slot] != EMPTY && !is_same(e, label, e->slots[slot]))
        slot = (slot + 1) & (e->n_slots - 1);
    return slot;
}

static kc_status grow_table(encoding *e)
{
    if (e->slots == NULL) {
        e->n_slots = FIRST_SLOTS;
        e->slots = e->first_slots;
    } else {
        e->n_slots = kc_max(4 * e->n_slots, NEXT_SLOTS);
        e->slots = kc_call_take(e->call, e->n_slots, sizeof *e->slots);
        if (e->slots == NULL)
            return kc_fail_nomem(e->call->err);
    }
    memset(e->slots, 0xff, e->n_slots * sizeof *e->slots); /* EMPTY */
    for (int64_t k = 0; k < e->n_found; k++)
        e->slots[find_slot(e, label_at(e, e->first[k]))] = (int32_t)k;
    return KC_OK;
}

/* Numbers label i, or counts it as one too many. */
static kc_status number(encoding *e, int64_t i, int32_t *code)
{
    size_t slot;

    if ((size_t)e->n_found >= e->n_slots / 2)
        KC_TRY(grow_table(e));
    slot = find_slot(e, label_at(e, i));
    if (e->slots[slot] == EMPTY && e->n_found < e->most) {
        e->first[e->n_found] = i;
        e->slots[slot] = (int32_t)e->n_found++;
    } else if (e->slots[slot] == EMPTY) {
        e->n_found = e->most + 1;
    }
    *code = e->slots[slot];
    return KC_OK;
}

/* As many labels from i on as are one of the first two; returns where they end. */
#define DEFINE_RUN_OF_TWO(T)                                                                       \
    static int64_t run_of_two_##T(const encoding *e, int64_t i, int64_t end, int32_t *codes)       \
    {                                                                                              \
        T word, one, other;                                                                        \
                                                                                                   \
        memcpy(&one, label_at(e, e->first[0]), sizeof one);                                        \
        memcpy(&other, label_at(e, e->first[1]), sizeof other);                                    \
        for (; i < end; i++) {                                                                     \
            memcpy(&word, label_at(e, i), sizeof word);                                            \
            if ((word != one) & (word != other))                                                   \
                return i;                                                                          \
            codes[i] = word == other;                                                              \
        }                                                                                          \
        return end;                                                                                \
    }
DEFINE_RUN_OF_TWO(uint8_t)
DEFINE_RUN_OF_TWO(uint32_t)
DEFINE_RUN_OF_TWO(uint64_t)

static int64_t run_of_two(const encoding *e, int64_t i, int64_t end, int32_t *codes)
{
    if (e->n_found < 2)
        return i;
    switch (e->n_bytes) {
    case 1:
        return run_of_two_uint8_t(e, i, end, codes);
    case 4:
        return run_of_two_uint32_t(e, i, end, codes);
    case 8:
        return run_of_two_uint64_t(e, i, end, codes);
    default:
        return i;
    }
}

kc_status kc_labels_encode(kc_call *call, const kc_labels *labels, int64_t most, int64_t *first,
                           int32_t *codes, int64_t *n_found)
{
    encoding e = {.call = call,
                  .values = labels->values,
                  .stride = labels->stride,
                  .n_bytes = (size_t)labels->n_bytes,
                  .most = most,
                  .first = first};

    for (int64_t begin = 0; begin < labels->n; begin += (int64_t)POLL_LABELS) {
        const int64_t end = begin + (int64_t)kc_min(POLL_LABELS, (size_t)(labels->n - begin));

        if (begin > 0 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
        for (int64_t i = begin; i < end && e.n_found <= most;) {
            i = run_of_two(&e, i, end, codes);
            /* Then one that is not, or some: more than two are mostly many. */
            for (int64_t some = i + (e.n_found > 2 ? 16 : 1);
                 i < end && i < some && e.n_found <= most; i++)
                KC_TRY(number(&e, i, &codes[i]));
        }
        if (e.n_found > most)
            break;
    }
    *n_found = e.n_found;
    return KC_OK;
}

kc_status kc_labels_balance(kc_call *call, const int32_t *classes, size_t n, int32_t n_classes,
                            const double *weights, double *out)
{
    double total = 0;

    memset(out, 0, (size_t)n_classes * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const double weight = weights != NULL ? weights[i] : 1;

        if (classes[i] < 0 || classes[i] >= n_classes)
            return kc_fail(call->err, KC_ERR_ARG, "the class of sample %zu is %d, must be 0 to %d",
                           i, (int)classes[i], (int)n_classes - 1);
        if (!(weight >= 0) || !isfinite(weight))
            return kc_fail(call->err, isnan(weight) ? KC_ERR_NONFINITE : KC_ERR_ARG,
                           "the weight of sample %zu is %g, must be finite and not negative", i,
                           weight);
        out[classes[i]] += weight;
        if (i % POLL_LABELS == POLL_LABELS - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    for (int32_t c = 0; c < n_classes; c++) {
        if (!(out[c] > 0))
            return kc_fail(call->err, KC_ERR_CLASSES, "class %d has no sample of positive weight",
                           (int)c);
        total += out[c];
    }
    for (int32_t c = 0; c < n_classes; c++)
        out[c] = total / (n_classes * out[c]);
    return KC_OK;
}
