/* Heap sort, with insertion for rows that are short. */
#include "data/kc_sort.h"

/* Up to this length insertion is faster. */
#define SHORT_ROW ((size_t)24)

static bool is_before(const kc_entry *a, const kc_entry *b)
{
    return a->col != b->col ? a->col < b->col : a->place < b->place;
}

static void insert_each(kc_entry *entries, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const kc_entry entry = entries[i];
        size_t at = i;

        for (; at > 0 && is_before(&entry, &entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* Lets entry i sink below those of its children that come after it. */
static void sink(kc_entry *entries, size_t i, size_t n)
{
    const kc_entry entry = entries[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(&entries[child], &entries[child + 1]))
            child++;
        if (!is_before(&entry, &entries[child]))
            break;
        entries[i] = entries[child];
    }
    entries[i] = entry;
}

static bool is_sorted(const kc_entry *entries, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (is_before(&entries[i], &entries[i - 1]))
            return false;
    return true;
}

void kc_entries_sort(kc_entry *entries, size_t n)
{
    if (n <= SHORT_ROW) {
        insert_each(entries, n);
        return;
    }
    if (is_sorted(entries, n))
        return;
    for (size_t i = n / 2; i-- > 0;)
        sink(entries, i, n);
    for (size_t end = n - 1; end > 0; end--) {
        const kc_entry last = entries[end];

        entries[end] = entries[0];
        entries[0] = last;
        sink(entries, 0, end);
    }
}
