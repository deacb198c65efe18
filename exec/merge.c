#include "exec/merge.h"

#include <string.h>

/* All sums, ascending; returns how many. */
static size_t add_up(const struct gw_entry *a, const struct gw_entry *b, size_t k,
                     struct gw_entry *out) {
    size_t i = 0;
    size_t j = 0;
    size_t count = 0;
    while (i < k || j < k) {
        bool of_a = i < k && (j == k || a[i].index <= b[j].index);
        bool of_b = j < k && (i == k || b[j].index <= a[i].index);
        struct gw_entry sum = of_a ? a[i] : b[j];
        if (of_a && of_b) {
            sum.value += b[j].value;
        }
        i += of_a;
        j += of_b;
        out[count++] = sum;
    }
    return count;
}

/* What of `all` is not among the k of `kept`, which are some of them in the same order. */
static size_t leave(const struct gw_entry *all, size_t count, const struct gw_entry *kept, size_t k,
                    struct gw_entry *out) {
    size_t passed = 0;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (passed < k && kept[passed].index == all[i].index) {
            passed++;
        } else {
            out[left++] = all[i];
        }
    }
    return left;
}

enum gw_status gw_merge(struct gw_entry *list, const struct gw_entry *came, size_t k,
                        struct gw_selection *merged, struct gw_entry *pruned,
                        struct gw_error *error) {
    /* All sums in the first half, of which copies in the second become the k largest. */
    GW_TRY(gw_selection_reserve(merged, 4 * k, error));
    struct gw_entry *all = merged->entries;
    size_t sums = add_up(list, came, k, all);
    struct gw_selection largest = {.count = sums, .capacity = 2 * k, .entries = all + 2 * k};
    memcpy(largest.entries, all, sums * sizeof *all);
    (void)gw_keep_largest(&largest, k);
    for (size_t i = leave(all, sums, largest.entries, k, pruned); i < k; i++) {
        pruned[i] = (struct gw_entry){.index = GW_NO_INDEX};
    }
    memcpy(list, largest.entries, k * sizeof *list);
    return GW_OK;
}
