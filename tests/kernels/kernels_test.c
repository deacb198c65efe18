/*
 * Compressors against their references. Random cases follow from one seed, which is printed;
 * GRADWEAVE_SEED repeats a run.
 */
#include "tests/kernels/inputs.h"
#include "tests/kernels/references.h"

/* ---- selections ---------------------------------------------------------------------------- */

/* One task, for the fast version and for the reference: u and the gradient, and what came of it. */
struct pair {
    const struct gw_compressor *compressor;
    const char *input;
    struct gw_task task;
    float *u[2];
    struct gw_selection selections[2];
};

static void check_selection(const struct pair *pair, size_t which) {
    const struct gw_selection *selection = &pair->selections[which];
    const char *version = which == 0 ? "fast" : "reference";
    size_t n = pair->task.n;
    if (pair->compressor->exact && selection->count != pair->task.k) {
        fail_msg("%s (%s), %s, n %zu: expected %zu entries, got %zu", pair->compressor->name,
                 version, pair->input, n, pair->task.k, selection->count);
    }
    for (size_t i = 0; i < selection->count; i++) {
        const struct gw_entry *entry = &selection->entries[i];
        if (entry->index >= n || (i > 0 && entry->index <= entry[-1].index) ||
            bits_of(entry->value) != bits_of(pair->u[which][entry->index])) {
            fail_msg("%s (%s), %s, n %zu, k %zu: entry %zu is %g at %u", pair->compressor->name,
                     version, pair->input, n, pair->task.k, i, (double)entry->value, entry->index);
        }
    }
}

/*
 * Thresholds that come from sums differ by their rounding: what one version selects and the other
 * does not must lie on the threshold, which makes it as large as anything else of that kind.
 */
static void check_difference(const struct pair *pair, double rounding) {
    const struct gw_selection *a = &pair->selections[0];
    const struct gw_selection *b = &pair->selections[1];
    double least = INFINITY;
    double most = 0;
    size_t differences = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        uint32_t left = i < a->count ? a->entries[i].index : UINT32_MAX;
        uint32_t right = j < b->count ? b->entries[j].index : UINT32_MAX;
        if (left != right) {
            double size = fabs((double)pair->u[0][left < right ? left : right]);
            least = fmin(least, size);
            most = fmax(most, size);
            differences++;
        }
        i += left <= right;
        j += right <= left;
    }
    if (differences > 0 && !(most <= least * (1 + rounding))) {
        fail_msg("%s, %s, n %zu, k %zu: %zu and %zu selected, %zu in one version only, of %g to %g",
                 pair->compressor->name, pair->input, pair->task.n, pair->task.k, a->count,
                 b->count, differences, least, most);
    }
}

/* Names of compressors whose thresholds come from sums over u. */
static double rounding_of(const struct gw_compressor *compressor) {
    static const char *const names[] = {"gaussiank", "redsync", "sidco"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(compressor->name, names[i]) == 0) {
            return 1e-6;
        }
    }
    return 0;
}

static void check_against_reference(const struct gw_compressor *compressor, const char *input,
                                    const float *u, const float *gradient, size_t n, size_t k) {
    struct pair pair = {.compressor = compressor, .input = input};
    for (size_t which = 0; which < 2; which++) {
        struct gw_workspace workspace = {0}; /* new each time: sanitizers see its bounds */
        struct gw_error error = {0};
        pair.u[which] = allocate(n, sizeof *u);
        memcpy(pair.u[which], u, n * sizeof *u);
        pair.task = (struct gw_task){.u = pair.u[which],
                                     .gradient = gradient,
                                     .n = n,
                                     .k = k,
                                     .worker = n % 3,
                                     .workers = 3,
                                     .seed = seed,
                                     .iteration = n + k,
                                     .threshold = fabs((double)u[k - 1]),
                                     .threads = which == 0 ? n % 4 : 1,
                                     .workspace = &workspace};
        assert_ok(gw_state_open(compressor, &pair.task, &pair.task.state, NULL));
        const struct gw_kernel *kernel = gw_kernel_of(compressor);
        gw_select *select = which == 0 ? kernel->select : gw_reference_of(compressor);
        enum gw_status status = select(&pair.task, &pair.selections[which], &error);
        if (status != GW_OK) {
            fail_msg("%s, %s, n %zu, k %zu: %s", compressor->name, input, n, k, error.message);
        }
        check_selection(&pair, which);
        gw_state_close(compressor, pair.task.state);
        gw_workspace_free(&workspace);
    }
    assert_memory_equal(pair.u[0], pair.u[1], n * sizeof *u);
    check_difference(&pair, rounding_of(compressor));
    for (size_t which = 0; which < 2; which++) {
        gw_selection_free(&pair.selections[which]);
        free(pair.u[which]);
    }
}

/* References that hash each element in each row, which their own test does for long vectors. */
static bool is_tested_elsewhere(const struct gw_compressor *compressor, size_t n) {
    return n > 100000 && strcmp(compressor->name, "count-sketch") == 0;
}

/* `sizes` sizes of every input; small ones also at k = 1 and k = n. */
static void check_inputs(size_t low, size_t high, size_t sizes, uint64_t stream) {
    struct gw_random *random = random_stream(stream);
    float *u = allocate(high, sizeof *u);
    float *gradient = allocate(high, sizeof *gradient);
    fill_normal(gradient, high, random);
    for (size_t at = 0; at < sizes * INPUTS; at++) {
        size_t n = between(random, low, high);
        size_t any = (size_t)exp(gw_random_uniform(random) * log((double)n + 1));
        size_t ks[] = {any < 1 ? 1 : any > n ? n : any, 1, n, between(random, 1, n)};
        inputs[at % INPUTS].fill(u, n, random);
        size_t tries = n > 5000 ? 1 : sizeof ks / sizeof *ks; /* the reference sorts all of u */
        for (size_t i = 0; i < tries; i++) {
            for (size_t c = 0; gw_compressors[c] != NULL; c++) {
                if (is_tested_elsewhere(gw_compressors[c], n)) {
                    continue;
                }
                const float *added = at % 3 == 0 ? gradient : NULL;
                check_against_reference(gw_compressors[c], inputs[at % INPUTS].name, u, added, n,
                                        ks[i]);
            }
        }
    }
    free(u);
    free(gradient);
}

TEST(selections_of_few_elements) {
    check_inputs(1, 5000, (size_t)gw_trials(40), 1);
    check_inputs(1, 130, (size_t)gw_trials(40), 2);
}

TEST(selections_of_many_elements) {
    check_inputs(70000, 200000, 2, 3);
}

TEST(selections_of_half_a_million_elements) {
    check_inputs(450000, 550000, 1, 4);
}

TEST(selection_of_one_and_of_all_in_a_million) {
    enum { N = 1000003 };
    struct gw_random *random = random_stream(5);
    float *u = allocate(N, sizeof *u);
    fill_normal(u, N, random);
    check_against_reference(&gw_compressor_topk, "normal", u, NULL, N, 1);
    check_against_reference(&gw_compressor_topk, "normal", u, NULL, N, N - 1);
    check_against_reference(&gw_compressor_topk, "normal", u, NULL, N, N);
    free(u);
}

/*
 * Ascending, so that all are found and the pass guesses; what the guess sees of the rest is large,
 * so that it is too high and the pass must say so. Without large ones, the guess is right.
 */
TEST(a_wrong_guess_is_seen_and_mended) {
    enum { N = 1 << 20, K = 1000, CHUNK = 1 << 14 };
    const uint64_t key = 12345;
    float *u = allocate(N, sizeof *u);
    for (int deceived = 0; deceived < 2; deceived++) {
        for (size_t i = 0; i < N; i++) {
            u[i] = (float)i;
        }
        /* K and 65,536 to spare are exceeded with the fifth chunk */
        size_t begin = 5 * (size_t)CHUNK;
        size_t stride = gw_sample_stride(N - begin);
        for (size_t i = 0; deceived && i < 500; i++) {
            u[begin + gw_sample_position(i, stride, key)] = 1e9f;
        }
        struct gw_workspace workspace = {0};
        struct gw_selection selection = {0};
        const struct gw_task task = {.u = u, .n = N, .k = K, .workspace = &workspace};
        struct gw_collection pass = {.end = N, .best = K, .guessing = true, .key = key};
        assert_ok(gw_collect(&task, &pass, &selection, NULL));
        assert_true(pass.dropped);
        assert_int_equal(pass.guessed_wrong, deceived);
        struct gw_selection expected = {0};
        pass = (struct gw_collection){.key = key};
        assert_ok(gw_collect_best(&task, &pass, K, &selection, NULL));
        assert_true(pass.dropped);
        (void)gw_keep_largest(&selection, K);
        assert_ok(gw_reference_of(&gw_compressor_topk)(&task, &expected, NULL));
        assert_memory_equal(selection.entries, expected.entries, K * sizeof *expected.entries);
        gw_selection_free(&expected);
        gw_selection_free(&selection);
        gw_workspace_free(&workspace);
    }
    free(u);
}

TEST(ties_go_to_the_lower_index) {
    float u[] = {1, -2, 0, 2, -3, 2, -2, 1};
    const uint32_t expected[][4] = {{4}, {1, 4}, {1, 3, 4}, {1, 3, 4, 5}};
    const struct gw_kernel *topk = gw_kernel_of(&gw_compressor_topk);
    gw_select *const selects[] = {topk->select, gw_reference_of(&gw_compressor_topk)};
    struct gw_workspace workspace = {0};
    struct gw_selection selection = {0};
    for (size_t s = 0; s < 2; s++) {
        for (size_t k = 1; k <= 4; k++) {
            struct gw_task task = {.u = u, .n = 8, .k = k, .workspace = &workspace};
            assert_ok(selects[s](&task, &selection, NULL));
            assert_int_equal(selection.count, k);
            for (size_t i = 0; i < k; i++) {
                const struct gw_entry *entry = &selection.entries[i];
                assert_int_equal(entry->index, expected[k - 1][i]);
                assert_true(bits_of(entry->value) == bits_of(u[entry->index]));
            }
        }
    }
    gw_selection_free(&selection);
    gw_workspace_free(&workspace);
}

/* ---- NaN ----------------------------------------------------------------------------------- */

/* With a gradient, every sum is made, so that no compressor misses a NaN among them. */
static void check_nan(const float *gradient, size_t n, size_t k, size_t first) {
    char place[64];
    snprintf(place, sizeof place, "element %zu of %zu", first, n);
    float *u = allocate(n, sizeof *u);
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        const struct gw_kernel *kernel = gw_kernel_of(gw_compressors[c]);
        gw_select *const selects[] = {kernel->select, gw_reference_of(gw_compressors[c])};
        for (size_t s = 0; s < 2; s++) {
            struct gw_workspace workspace = {0};
            struct gw_selection selection = {0};
            struct gw_error error = {0};
            memset(u, 0, n * sizeof *u);
            struct gw_task task = {.u = u,
                                   .gradient = gradient,
                                   .n = n,
                                   .k = k,
                                   .threads = first % 3,
                                   .workspace = &workspace};
            assert_ok(gw_state_open(gw_compressors[c], &task, &task.state, NULL));
            assert_int_equal(selects[s](&task, &selection, &error), GW_BAD_INPUT);
            assert_int_equal(error.status, GW_BAD_INPUT);
            if (strstr(error.message, place) == NULL) {
                fail_msg("%s: expected \"%s\" in \"%s\"", gw_compressors[c]->name, place,
                         error.message);
            }
            gw_state_close(gw_compressors[c], task.state);
            gw_selection_free(&selection);
            gw_workspace_free(&workspace);
        }
    }
    free(u);
}

TEST(nan_is_bad_input) {
    const uint32_t nans[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu};
    struct gw_random *random = random_stream(6);
    float *u = allocate(200000, sizeof *u);
    for (size_t at = 0; at < 200; at++) {
        size_t n = between(random, 1, at % 50 == 0 ? 200000 : 2000);
        inputs[at % INPUTS].fill(u, n, random);
        size_t first = at % 3 == 0 ? n - 1 : between(random, 0, n - 1);
        u[first] = float_of(nans[at % 4]);
        for (size_t i = first; at % 2 == 1 && i < n; i++) {
            u[i] = float_of(nans[(at + i) % 4]); /* nothing else from the first one on */
        }
        check_nan(u, n, 1, first);
        check_nan(u, n, between(random, 1, n), first);
    }
    free(u);
}

/* A sample full of NaNs must not hide one that is smaller as a bit pattern. */
TEST(first_nan_is_named_among_many) {
    enum { N = 6400 };
    float u[N];
    for (size_t first = 0; first < N; first += 7) {
        for (size_t i = 0; i < N; i++) {
            u[i] = i < first ? 1 : float_of(i == first ? 0x7f800001u : 0x7fffffffu);
        }
        check_nan(u, N, 1, first);
    }
}

/* ---- the rest ------------------------------------------------------------------------------ */

TEST(compressors_are_found_by_name) {
    assert_ptr_equal(gw_compressor_find("topk"), &gw_compressor_topk);
    assert_null(gw_compressor_find("top"));
    assert_null(gw_compressor_find(""));
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        assert_ptr_equal(gw_compressor_find(gw_compressors[c]->name), gw_compressors[c]);
        assert_true(strlen(gw_compressors[c]->title) > 0 && strlen(gw_compressors[c]->paper) > 0);
    }
}

TEST(scratch_can_be_freed_and_used_again) {
    float u[] = {1, 3, 2};
    struct gw_workspace workspace = {0};
    struct gw_selection selection = {0};
    for (size_t round = 0; round < 2; round++) {
        struct gw_task task = {.u = u, .n = 3, .k = 1, .workspace = &workspace};
        assert_ok(gw_kernel_of(&gw_compressor_topk)->select(&task, &selection, NULL));
        assert_int_equal(selection.entries[0].index, 1);
        for (size_t twice = 0; twice < 2; twice++) {
            gw_workspace_free(&workspace);
            gw_selection_free(&selection);
        }
        assert_null(workspace.memory);
        assert_null(workspace.parts);
        assert_null(selection.entries);
    }
}
