/* A sort that allocates nothing: the C library's may, behind the allocator's back. */
#ifndef KC_SORT_H
#define KC_SORT_H

#include "base/kc_base.h"

/* An entry of a sparse row on its way to a packed one. */
typedef struct kc_entry {
    int64_t col;
    size_t place; /* so that equal columns keep their order */
    double value;
} kc_entry;

/* By column, then by place: O(n log n) whatever the order, O(n) where they are in order already. */
void kc_entries_sort(kc_entry *entries, size_t n);

#endif
