/* Merging two lists of k entries, by what it promises. */
#include <math.h>
#include <string.h>

#include "exec/memory.h"
#include "tests/support.h"

enum { INDICES = 60, MOST = 20, CASES = 3000 };

/* Small whole numbers: sums are exact, and many are equal in magnitude, or cancel to zero. */
static void draw(struct gw_random *random, size_t k, struct gw_entry *list) {
    size_t left = k;
    for (uint32_t index = 0; index < INDICES && left > 0; index++) {
        if (gw_random_below(random, INDICES - index) < left) {
            float value = (float)gw_random_below(random, 9) - 4;
            *list++ = (struct gw_entry){.value = value, .index = index};
            left--;
        }
    }
}

static void add(const struct gw_entry *list, size_t count, float *sums, int *times) {
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || list[i - 1].index < list[i].index);
        sums[list[i].index] += list[i].value;
        times[list[i].index]++;
    }
}

/* Every index of either list is in one of the two results, with its sum; kept ones come first. */
static void check(const struct gw_entry *a, const struct gw_entry *b, size_t k,
                  const struct gw_entry *kept, const struct gw_entry *pruned, size_t count) {
    float had[INDICES] = {0};
    float have[INDICES] = {0};
    int were[INDICES] = {0};
    int are[INDICES] = {0};
    add(a, k, had, were);
    add(b, k, had, were);
    add(kept, k, have, are);
    add(pruned, count, have, are);
    for (uint32_t i = 0; i < INDICES; i++) {
        assert_true(had[i] == have[i]);
        assert_int_equal(are[i], were[i] > 0 ? 1 : 0);
        assert_int_equal(gw_entries_have(kept, k, i) || gw_entries_have(pruned, count, i),
                         were[i] > 0);
    }
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < count; j++) {
            float inside = fabsf(kept[i].value);
            float outside = fabsf(pruned[j].value);
            assert_true(inside > outside || (inside == outside && kept[i].index < pruned[j].index));
        }
    }
}

static void merges_keep_the_largest_sums(void **state) {
    (void)state;
    struct gw_selection merged = {0};
    for (uint64_t seed = 0; seed < (uint64_t)gw_trials(CASES); seed++) {
        struct gw_random *random = NULL;
        struct gw_entry a[MOST];
        struct gw_entry b[MOST];
        struct gw_entry list[MOST];
        struct gw_entry pruned[MOST];
        size_t count = 0;
        assert_int_equal(gw_random_open(&random, seed, 0, NULL), GW_OK);
        size_t k = 1 + gw_random_below(random, MOST);
        draw(random, k, a);
        draw(random, k, b);
        memcpy(list, a, k * sizeof *a);
        assert_int_equal(gw_merge(list, b, k, &merged, pruned, NULL), GW_OK);
        while (count < k && pruned[count].index != GW_NO_INDEX) {
            count++;
        }
        for (size_t i = count; i < k; i++) {
            assert_true(pruned[i].index == GW_NO_INDEX && pruned[i].value == 0);
        }
        check(a, b, k, list, pruned, count);
        gw_random_close(random);
    }
    gw_selection_free(&merged);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(merges_keep_the_largest_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
