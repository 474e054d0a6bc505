/* A pass over values that were packed just now: whether one is negative is asked of all of them,
 * which one only where the answer is yes. */
#include "data/kc_packed_sign.h"

/* Values between two polls. */
#define POLL_VALUES ((size_t)1 << 20)

/* What fills up the last panel is 0. */
bool kc_packed_has_negative(kc_call *call, const kc_packed *x, bool *is_stopped)
{
    const bool is_sparse = x->storage == KC_CSR;
    const size_t n_values =
        is_sparse ? (size_t)x->indptr[x->n] : kc_round_up(x->n, kc_panel_width(x->dtype)) * x->d;
    const char *values = is_sparse ? x->vals : x->panels;
    const kc_ops *ops = kc_ops_of(x->dtype);

    *is_stopped = false;
    for (size_t k = 0; k < n_values; k += POLL_VALUES) {
        if (ops->has_negative(values + k * kc_dtype_bytes(x->dtype),
                              kc_min(POLL_VALUES, n_values - k)))
            return true;
        *is_stopped = call != NULL && kc_call_poll(call) != KC_OK;
        if (*is_stopped)
            return false;
    }
    return false;
}

/* Value t of sample i: of a feature where it is dense, else of an entry; and its column. */
static double value_at(const kc_packed *x, size_t i, size_t t, size_t *col)
{
    const size_t width = kc_panel_width(x->dtype);

    *col = t;
    if (x->storage != KC_CSR)
        return kc_number_at(x->panels, i / width * width * x->d + t * width + i % width, x->dtype);
    *col = (size_t)x->cols[(size_t)x->indptr[i] + t];
    return kc_number_at(x->vals, (size_t)x->indptr[i] + t, x->dtype);
}

kc_negative kc_packed_first_negative(const kc_packed *x, const int32_t *order)
{
    kc_negative first = {.row = SIZE_MAX, .col = SIZE_MAX};

    for (size_t i = 0; i < x->n; i++) {
        const size_t row = order != NULL ? (size_t)order[i] : i;
        const size_t n = x->storage == KC_CSR ? (size_t)(x->indptr[i + 1] - x->indptr[i]) : x->d;

        for (size_t t = 0; t < n && row < first.row; t++) {
            size_t col;
            const double value = value_at(x, i, t, &col);

            if (value < 0)
                first = (kc_negative){.row = row, .col = col, .value = value};
        }
    }
    return first;
}
