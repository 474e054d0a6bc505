/* data/kc_sort.h: every order of columns ends sorted, equal ones in their own order. */
#include "data/kc_sort.h"

#include <stdlib.h>

#include "base/kc_rng.h"
#include "kc_test.h"

enum { MAX_ENTRIES = 3000 };

/* Entry `place` is worth its place, so that none can be lost or made up. */
static void check_sorted(kc_entry *entries, size_t n)
{
    uint8_t is_seen[MAX_ENTRIES] = {0};

    kc_entries_sort(entries, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(entries[i].place < n && !is_seen[entries[i].place]);
        is_seen[entries[i].place % MAX_ENTRIES] = 1;
        CHECK(entries[i].value == (double)entries[i].place + 0.5);
        if (i > 0)
            CHECK(entries[i - 1].col < entries[i].col || (entries[i - 1].col == entries[i].col &&
                                                          entries[i - 1].place < entries[i].place));
    }
}

static void rows_of_every_length_are_sorted(void)
{
    static kc_entry entries[MAX_ENTRIES];
    kc_rng rng = kc_rng_seed(1);

    for (size_t n = 0; n <= MAX_ENTRIES; n += n < 60 ? 1 : 490)
        for (size_t n_cols = 1; n_cols <= 100000; n_cols *= 10) {
            for (size_t i = 0; i < n; i++)
                entries[i] = (kc_entry){(int64_t)kc_rng_below(&rng, n_cols), i, (double)i + 0.5};
            check_sorted(entries, n);
        }
}

static void rows_in_order_or_in_reverse_are_sorted(void)
{
    static kc_entry entries[MAX_ENTRIES];

    for (int64_t step = -1; step <= 1; step++) {
        for (size_t i = 0; i < MAX_ENTRIES; i++)
            entries[i] = (kc_entry){step * (int64_t)i, i, (double)i + 0.5};
        check_sorted(entries, MAX_ENTRIES);
    }
}

int main(void)
{
    RUN(rows_of_every_length_are_sorted);
    RUN(rows_in_order_or_in_reverse_are_sorted);
    return kc_test_end();
}
