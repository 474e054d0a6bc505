/* data/kc_packed_sign.h: whether packed samples have a negative number, and which is the first. */
#include "data/kc_packed_sign.h"

#include "kernel_case.h"

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};
static const ref_form forms[] = {REF_DENSE, REF_CSR};

/* Samples without a negative number but -0, wide enough to stay CSR. */
static ref_samples make(size_t n, size_t d, kc_dtype dtype)
{
    ref_samples s = ref_random(7, n, d, 0.1, dtype);

    for (size_t i = 0; i < n * d; i++)
        s.x[i] = i % 5 == 0 ? -0.0 : fabs(s.x[i]);
    return s;
}

static void one_negative_number_is_found_wherever_it_is(void)
{
    static const size_t rows[] = {0, 1, 15, 16, 22}, cols[] = {0, 3, 98};

    for (size_t k = 0; k < 2 * COUNT(forms) * COUNT(rows) * COUNT(cols); k++) {
        const kc_dtype dtype = dtypes[k % 2];
        const size_t row = rows[k / 4 % COUNT(rows)], col = cols[k / 4 / COUNT(rows)];
        ref_samples s = make(23, 99, dtype);
        ref_view views[2];
        kc_packed none = pack_samples(ctx, &s, forms[k / 2 % 2], dtype, &views[0]), some;
        kc_negative first;
        bool is_stopped = true;

        CHECK(!kc_packed_has_negative(NULL, &none, &is_stopped) && !is_stopped);
        CHECK(kc_packed_first_negative(&none, NULL).row == SIZE_MAX);
        s.x[row * 99 + col] = -0.5;
        some = pack_samples(ctx, &s, forms[k / 2 % 2], dtype, &views[1]);
        CHECK(kc_packed_has_negative(NULL, &some, &is_stopped) && !is_stopped);
        first = kc_packed_first_negative(&some, NULL);
        CHECK(first.row == row && first.col == col && first.value == -0.5);
        kc_packed_free(ctx, &none);
        kc_packed_free(ctx, &some);
        ref_view_free(&views[0]);
        ref_view_free(&views[1]);
        ref_samples_free(&s);
    }
}

static void the_first_one_is_that_of_the_callers_rows(void)
{
    static const int32_t order[] = {2, 0, 1};
    ref_samples s = make(3, 70, KC_F64);
    ref_view view;
    kc_packed x;
    kc_negative first;

    s.x[0 * 70 + 9] = -1; /* the caller's row 2 */
    s.x[2 * 70 + 4] = -2; /* the caller's row 1 */
    s.x[2 * 70 + 6] = -3;
    x = pack_samples(ctx, &s, REF_CSR, KC_F64, &view);
    first = kc_packed_first_negative(&x, order);
    CHECK(first.row == 1 && first.col == 4 && first.value == -2);
    kc_packed_free(ctx, &x);
    ref_view_free(&view);
    ref_samples_free(&s);
}

int main(void)
{
    ctx = new_context();
    RUN(one_negative_number_is_found_wherever_it_is);
    RUN(the_first_one_is_that_of_the_callers_rows);
    kc_context_free(ctx);
    return kc_test_end();
}
