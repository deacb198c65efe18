/* Files of counts: what is written is read again, what is wrong is named, and what follows. */
#include <string.h>

#include "core/core.h"
#include "tests/test.h"
#include "traces/counts.h"

static void draw_counts(struct gw_random *random, bool has_distinct, struct gw_counts *out) {
    const struct gw_counts_about about = {.model = "tiny",
                                          .algorithm = "exdyna",
                                          .compressor = "exdyna",
                                          .source = "drawn \"by lot\"",
                                          .density = 0.001 + 0.9 * gw_random_uniform(random),
                                          .workers = 1 + (size_t)gw_random_below(random, 5),
                                          .group_count = 1 + (size_t)gw_random_below(random, 4),
                                          .iteration_count =
                                              1 + (size_t)gw_random_below(random, 6)};
    assert_ok(gw_counts_create(out, &about, has_distinct, NULL));
    for (size_t g = 0; g < out->group_count; g++) {
        out->groups[g] = (struct gw_counts_group){.tensors = 1 + gw_random_below(random, 9),
                                                  .elements = 1 + gw_random_below(random, 1 << 30)};
    }
    for (size_t i = 0; i < out->iteration_count * out->group_count; i++) {
        uint64_t n = out->groups[i % out->group_count].elements;
        for (size_t w = 0; w < out->workers; w++) {
            out->selected[i * out->workers + w] = gw_random_below(random, n + 1);
        }
        if (has_distinct) {
            out->distinct[i] = n;
        }
    }
}

TEST_IN_FOLDER(written_counts_are_read_back) {
    const char *path = path_in(*state, "counts.json");
    struct gw_random *random = random_stream(0);
    for (int round = 0, rounds = gw_trials(50); round < rounds; round++) {
        struct gw_counts written, read;
        draw_counts(random, round % 2 == 0, &written);
        assert_ok(gw_counts_write(&written, path, NULL));
        assert_ok(gw_counts_read(path, &read, NULL));
        size_t lists = written.iteration_count * written.group_count;
        assert_string_equal(read.model, written.model);
        assert_string_equal(read.algorithm, written.algorithm);
        assert_string_equal(read.compressor, written.compressor);
        assert_string_equal(read.source, written.source);
        assert_true(read.density == written.density);
        assert_int_equal(read.workers, written.workers);
        assert_int_equal(read.group_count, written.group_count);
        assert_int_equal(read.iteration_count, written.iteration_count);
        assert_memory_equal(read.groups, written.groups,
                            written.group_count * sizeof *written.groups);
        assert_memory_equal(read.selected, written.selected,
                            lists * written.workers * sizeof *written.selected);
        assert_true((read.distinct == NULL) == (written.distinct == NULL));
        if (written.distinct != NULL) {
            assert_memory_equal(read.distinct, written.distinct, lists * sizeof *read.distinct);
        }
        gw_counts_free(&written);
        gw_counts_free(&read);
    }
}

/* Iteration by iteration is as all at once. */
TEST(iterations_can_be_appended) {
    struct gw_random *random = random_stream(1);
    for (int round = 0, rounds = gw_trials(20); round < rounds; round++) {
        bool has_distinct = round % 2 == 0;
        struct gw_counts all, grown;
        draw_counts(random, has_distinct, &all);
        const struct gw_counts_about about = {.model = "tiny",
                                              .algorithm = "exdyna",
                                              .compressor = "exdyna",
                                              .source = "s",
                                              .density = all.density,
                                              .workers = all.workers,
                                              .group_count = all.group_count};
        assert_ok(gw_counts_create(&grown, &about, has_distinct, NULL));
        for (size_t i = 0; i < all.iteration_count; i++) {
            const uint64_t *distinct = has_distinct ? all.distinct + i * all.group_count : NULL;
            assert_ok(gw_counts_append(&grown, gw_counts_at(&all, i, 0), distinct, NULL));
        }
        size_t lists = all.iteration_count * all.group_count;
        assert_int_equal(grown.iteration_count, all.iteration_count);
        assert_memory_equal(grown.selected, all.selected,
                            lists * all.workers * sizeof *all.selected);
        if (has_distinct) {
            assert_memory_equal(grown.distinct, all.distinct, lists * sizeof *all.distinct);
        }
        gw_counts_free(&all);
        gw_counts_free(&grown);
    }
}

/* Two groups of 10 and 30 elements, two workers: 2 (3 + 5) over 3 + 1 + 4 + 5. */
TEST(density_and_padding_follow) {
    static const char *const text =
        "{\"schema\": \"gradweave/counts@1\", \"model\": \"m\", \"algorithm\": \"a\", "
        "\"compressor\": \"c\", \"source\": \"s\", \"density\": 0.1, \"workers\": 2, \"groups\": "
        "[{\"tensors\": 1, \"elements\": 10}, {\"tensors\": 2, \"elements\": 30}], \"iterations\": "
        "[{\"selected\": [[3, 1], [4, 5]], \"distinct\": [4, 6]}, "
        "{\"selected\": [[0, 0], [0, 0]], \"distinct\": [0, 0]}]}";
    struct gw_counts counts;
    assert_ok(gw_counts_parse(text, strlen(text), "c.json", &counts, NULL));
    assert_int_equal(gw_counts_at(&counts, 0, 1)[1], 5);
    assert_true(near(gw_counts_density(&counts, 0), 10.0 / 40, 1e-15));
    assert_true(near(gw_counts_padding(&counts, 0), 16.0 / 13, 1e-15));
    assert_true(gw_counts_density(&counts, 1) == 0);
    assert_true(gw_counts_padding(&counts, 1) == 1);
    gw_counts_free(&counts);
}
