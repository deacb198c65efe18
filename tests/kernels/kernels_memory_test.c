/*
 * The memory of what was not sent, against arithmetic that the test does itself, and the gradients
 * that kernels work on. All follows from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include "kernels/memory.h"
#include "tests/kernels/kernels_support.h"

/* ---- memory -------------------------------------------------------------------------------- */

/* Sent elements are removed, others stay: both bit for bit as accumulated. */
static void check_conserved(const float *accumulated, const float *residual, size_t n,
                            const struct gw_entry *entries, size_t k) {
    size_t sent = 0;
    for (size_t i = 0; i < n; i++) {
        if (sent < k && entries[sent].index == i) {
            assert_true(bits_of(entries[sent].value) == bits_of(accumulated[i]));
            assert_true(bits_of(residual[i]) == 0);
            sent++;
        } else {
            assert_true(bits_of(residual[i]) == bits_of(accumulated[i]));
        }
    }
    assert_int_equal(sent, k); /* all found: the indices are distinct, ascending and in range */
}

TEST(nothing_is_lost) {
    enum { N = 20011, K = 200, ITERATIONS = 100 };
    struct gw_workspace workspace = {0};
    struct gw_selection selection = {0};
    float *gradient = allocate(N, sizeof *gradient);
    float *accumulated = allocate(N, sizeof *accumulated);
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        const struct gw_compressor *compressor = gw_compressors[c];
        float *residual = allocate(N, sizeof *residual);
        struct gw_task task = {.u = residual,
                               .gradient = gradient,
                               .n = N,
                               .k = K,
                               .seed = seed,
                               .threshold = 0.05,
                               .workspace = &workspace};
        assert_ok(gw_state_open(compressor, &task, &task.state, NULL));
        for (; task.iteration < ITERATIONS; task.iteration++) {
            assert_ok(gw_gradient_fill(gradient, N, 0.01, seed, 100 + task.iteration, NULL));
            for (size_t i = 0; i < N; i++) {
                accumulated[i] = residual[i] + gradient[i];
            }
            assert_ok(gw_compress(compressor, &task, &selection, NULL));
            check_conserved(accumulated, residual, N, selection.entries, selection.count);
            gw_state_observe(compressor, task.state, &selection.count);
        }
        gw_state_close(compressor, task.state);
        free(residual);
    }
    free(gradient);
    free(accumulated);
    gw_selection_free(&selection);
    gw_workspace_free(&workspace);
}

TEST(scatter_add_adds_in_order) {
    float dense[] = {0, 10, 20, 30};
    const struct gw_entry entries[] = {
        {.value = 1, .index = 3},  {.value = 0x1p60f, .index = 0}, {.value = -0x1p60f, .index = 0},
        {.value = 5, .index = 0}, /* 0, were it added before the one above */
        {.value = -2, .index = 1},
    };
    gw_scatter_add(entries, 5, dense);
    const float expected[] = {5, 8, 20, 31};
    assert_memory_equal(dense, expected, sizeof expected);
    gw_scatter_add(entries, 0, dense);
    assert_memory_equal(dense, expected, sizeof expected);
}

TEST(scatter_add_undoes_a_compression) {
    enum { N = 1000, K = 100 };
    float gradient[N];
    float residual[N] = {0};
    struct gw_workspace workspace = {0};
    struct gw_selection selection = {0};
    struct gw_task task = {
        .u = residual, .gradient = gradient, .n = N, .k = K, .workspace = &workspace};
    assert_ok(gw_gradient_fill(gradient, N, 1, seed, 7, NULL));
    assert_ok(gw_compress(&gw_compressor_topk, &task, &selection, NULL));
    assert_memory_not_equal(residual, gradient, sizeof gradient);
    gw_scatter_add(selection.entries, selection.count, residual);
    assert_memory_equal(residual, gradient, sizeof gradient);
    gw_selection_free(&selection);
    gw_workspace_free(&workspace);
}

TEST(nan_in_the_sum_is_bad_input) {
    float residual[] = {1, 2, INFINITY, 4};
    const float gradient[] = {1, 1, -INFINITY, 1};
    struct gw_workspace workspace = {0};
    struct gw_selection selection = {0};
    struct gw_error error = {0};
    struct gw_task task = {
        .u = residual, .gradient = gradient, .n = 4, .k = 2, .workspace = &workspace};
    assert_int_equal(gw_compress(&gw_compressor_topk, &task, &selection, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "element 2 of 4"));
    gw_selection_free(&selection);
    gw_workspace_free(&workspace);
}

/* ---- gradients ----------------------------------------------------------------------------- */

TEST(gradients_are_normal) {
    enum { N = 1000000 };
    const double sigma = 0.25;
    float *values = allocate(N, sizeof *values);
    assert_ok(gw_gradient_fill(values, N, sigma, seed, 8, NULL));
    struct gw_running running = {0};
    size_t within = 0;
    for (size_t i = 0; i < N; i++) {
        gw_running_add(&running, values[i]);
        within += fabs((double)values[i]) < sigma;
    }
    /* six standard deviations of each estimate */
    assert_true(fabs(running.mean) < 6 * sigma / sqrt(N));
    assert_true(fabs(gw_running_sd(&running) - sigma) < 6 * sigma / sqrt(2.0 * N));
    double share = erf(sqrt(0.5)); /* of a normal distribution within one sigma */
    assert_true(fabs((double)within / N - share) < 6 * sqrt(share * (1 - share) / N));
    free(values);
}

static size_t count_equal(const float *a, const float *b, size_t n) {
    size_t equal = 0;
    for (size_t i = 0; i < n; i++) {
        equal += bits_of(a[i]) == bits_of(b[i]);
    }
    return equal;
}

TEST(gradients_follow_from_seed_and_stream) {
    enum { N = 10000 };
    float a[N], b[N];
    assert_ok(gw_gradient_fill(a, N, 1, seed, 9, NULL));
    assert_ok(gw_gradient_fill(b, N, 1, seed, 9, NULL));
    assert_int_equal(count_equal(a, b, N), N);
    assert_ok(gw_gradient_fill(b, N, 1, seed, 10, NULL));
    assert_true(count_equal(a, b, N) < N / 100);
    assert_ok(gw_gradient_fill(b, N, 1, seed + 1, 9, NULL));
    assert_true(count_equal(a, b, N) < N / 100);
}

/* ---- merging two lists, by what it promises ------------------------------------------------ */

enum { INDICES = 60, MOST = 20, CASES = 3000 };

/* Small whole numbers: sums are exact, and many are equal in magnitude, or cancel to zero. */
static void draw_list(struct gw_random *random, size_t k, struct gw_entry *list) {
    size_t left = k;
    for (uint32_t index = 0; index < INDICES && left > 0; index++) {
        if (gw_random_below(random, INDICES - index) < left) {
            float value = (float)gw_random_below(random, 9) - 4;
            *list++ = (struct gw_entry){.value = value, .index = index};
            left--;
        }
    }
}

static void add_list(const struct gw_entry *list, size_t count, float *sums, int *times) {
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || list[i - 1].index < list[i].index);
        sums[list[i].index] += list[i].value;
        times[list[i].index]++;
    }
}

/* Every index of either list is in one of the two results, with its sum; kept ones come first. */
static void check_merge(const struct gw_entry *a, const struct gw_entry *b, size_t k,
                        const struct gw_entry *kept, const struct gw_entry *pruned, size_t count) {
    float had[INDICES] = {0};
    float have[INDICES] = {0};
    int were[INDICES] = {0};
    int are[INDICES] = {0};
    add_list(a, k, had, were);
    add_list(b, k, had, were);
    add_list(kept, k, have, are);
    add_list(pruned, count, have, are);
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

TEST(merges_keep_the_largest_sums) {
    struct gw_memory memory;
    assert_ok(gw_memory_open(&memory, NULL, NULL));
    for (uint64_t at = 0; at < (uint64_t)gw_trials(CASES); at++) {
        struct gw_random *random = open_random(at);
        struct gw_entry a[MOST];
        struct gw_entry b[MOST];
        struct gw_entry list[MOST];
        struct gw_entry pruned[MOST];
        size_t count = 0;
        size_t k = 1 + gw_random_below(random, MOST);
        draw_list(random, k, a);
        draw_list(random, k, b);
        memcpy(list, a, k * sizeof *a);
        assert_ok(memory.does->merge(&memory, list, b, k, pruned, NULL));
        while (count < k && pruned[count].index != GW_NO_INDEX) {
            count++;
        }
        for (size_t i = count; i < k; i++) {
            assert_true(pruned[i].index == GW_NO_INDEX && pruned[i].value == 0);
        }
        check_merge(a, b, k, list, pruned, count);
        gw_random_close(random);
    }
    gw_memory_close(&memory);
}
