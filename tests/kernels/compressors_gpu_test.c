/*
 * Selections of compressors on a GPU, compared with those on the CPU: the same indices, the same
 * bits, and the same residuals. All follows from one seed, which is printed; GRADWEAVE_SEED repeats
 * a run.
 */
#include "kernels/gpu/parts.h" /* private: to let epochs begin again */
#include "tests/device/device_support.h"
#include "tests/kernels/inputs.h"

enum { ROOM = 150000, LAYERS = 300 };

/* ---- one task on both sides ---------------------------------------------------------------- */

/* A compressor on both sides, and their common gradients. */
struct comparison {
    const struct gw_compressor *compressor;
    const struct gw_gpu_kernel *on_gpu;
    struct gw_task task; /* with u and gradient of the host, and its workspace and state */
    void *gpu_state;
    struct gw_device_stream *stream;
    struct gw_gpu_workspace *workspace;
    struct gw_gpu_selection selected;
    struct gw_selection expected;
    float *u, *gradient; /* GPU */
    size_t room;         /* of both, in elements */
};

/* Parts of larger vectors: they begin `offset` elements behind an aligned place. */
static void put(struct comparison *comparison, size_t offset) {
    size_t bytes = comparison->task.n * sizeof(float);
    assert_true(comparison->task.n + offset <= comparison->room);
    assert_ok(gw_device_copy(comparison->stream, comparison->u + offset, comparison->task.u, bytes,
                             NULL));
    if (comparison->task.gradient != NULL) {
        assert_ok(gw_device_copy(comparison->stream, comparison->gradient + offset,
                                 comparison->task.gradient, bytes, NULL));
    }
}

/* Whether both sides select the same, and leave the same in u, where `offset` says on the GPU. */
static bool same_selection(struct comparison *comparison, size_t offset) {
    struct gw_task task = comparison->task;
    size_t count = 0;
    struct gw_error error = {0};
    put(comparison, offset);
    task.u = comparison->u + offset;
    task.gradient = task.gradient == NULL ? NULL : comparison->gradient + offset;
    task.state = comparison->gpu_state;
    assert_ok(gw_gpu_selection_reserve(
        &comparison->selected, gw_device_stream_device(comparison->stream),
        gw_gpu_selection_capacity(comparison->compressor, task.n, task.k), NULL));
    assert_ok(gw_gpu_compress(comparison->on_gpu, &task, comparison->stream, comparison->workspace,
                              &comparison->selected, NULL));
    enum gw_status status =
        gw_gpu_selection_finish(&comparison->selected, comparison->stream, &count, &error);
    enum gw_status expected =
        gw_compress(comparison->compressor, &comparison->task, &comparison->expected, NULL);
    if (status != expected || (status == GW_OK && count != comparison->expected.count)) {
        print_error("status %d of %d, %zu selected of %zu\n", (int)status, (int)expected, count,
                    comparison->expected.count);
        return false;
    }
    if (status != GW_OK) {
        return strstr(error.message, "NaN") != NULL;
    }
    struct gw_entry *entries = allocate(count + 1, sizeof *entries);
    float *left = allocate(task.n, sizeof *left);
    copy_from_device(comparison->stream, entries, comparison->selected.entries,
                     count * sizeof *entries);
    copy_from_device(comparison->stream, left, task.u, task.n * sizeof *left);
    size_t bytes = count * sizeof *entries;
    bool same = (bytes == 0 || memcmp(entries, comparison->expected.entries, bytes) == 0) &&
                memcmp(left, comparison->task.u, task.n * sizeof *left) == 0;
    for (size_t i = 0; i < count && !same; i++) {
        if (memcmp(&entries[i], &comparison->expected.entries[i], sizeof *entries) != 0) {
            print_error("entry %zu of %zu: %u %.9g, expected %u %.9g\n", i, count, entries[i].index,
                        (double)entries[i].value, comparison->expected.entries[i].index,
                        (double)comparison->expected.entries[i].value);
            break;
        }
    }
    free(entries);
    free(left);
    return same;
}

static struct comparison begin_comparison(struct gw_device *device, const char *name, size_t room) {
    const struct gw_compressor *compressor = gw_compressor_find(name);
    struct comparison comparison = {.compressor = compressor,
                                    .on_gpu = gw_gpu_kernel_of(compressor),
                                    .stream = open_stream(device),
                                    .room = room};
    assert_non_null(comparison.on_gpu);
    comparison.task.workspace = allocate(1, sizeof *comparison.task.workspace);
    assert_ok(gw_gpu_workspace_open(device, &comparison.workspace, NULL));
    assert_ok(gw_device_allocate(device, room * sizeof(float), (void **)&comparison.u, NULL));
    assert_ok(
        gw_device_allocate(device, room * sizeof(float), (void **)&comparison.gradient, NULL));
    return comparison;
}

/* States for the task as it is, of both sides, where the compressor has one. */
static void open_states(struct comparison *comparison) {
    const struct gw_task *task = &comparison->task;
    assert_ok(gw_state_open(comparison->compressor, task, &comparison->task.state, NULL));
    assert_ok(gw_state_open(comparison->compressor, task, &comparison->gpu_state, NULL));
}

static void close_states(struct comparison *comparison) {
    gw_state_close(comparison->compressor, comparison->task.state);
    gw_state_close(comparison->compressor, comparison->gpu_state);
}

static void end_comparison(struct comparison *comparison) {
    struct gw_device *device = gw_device_stream_device(comparison->stream);
    gw_gpu_selection_free(&comparison->selected);
    gw_gpu_workspace_close(comparison->workspace);
    gw_selection_free(&comparison->expected);
    gw_workspace_free(comparison->task.workspace);
    free(comparison->task.workspace);
    gw_device_free(device, comparison->u);
    gw_device_free(device, comparison->gradient);
    gw_device_stream_close(comparison->stream);
}

/* ---- inputs of all kinds ------------------------------------------------------------------- */

static size_t draw_size(struct gw_random *random) {
    static const size_t edges[] = {1,    2,    3,    31,   33,   127,   128,   129,   1023,  1024,
                                   1025, 2048, 4099, 8191, 8192, 16385, 30011, 32768, 32769, 65537};
    size_t what = between(random, 0, 7);
    return what == 0   ? ROOM - 8
           : what == 1 ? between(random, 1, ROOM - 8)
           : what < 5  ? edges[between(random, 0, sizeof edges / sizeof *edges - 1)]
                       : between(random, 1, 12000);
}

static size_t draw_k(struct gw_random *random, size_t n) {
    static const size_t shares[] = {1, 2, 10, 100, 1000};
    size_t k = n / shares[between(random, 0, 4)] / between(random, 1, 3);
    return k < 1 ? 1 : k;
}

/* Parts of n elements, of any size from 1 on; how many. */
static size_t draw_layers(struct gw_random *random, size_t n, size_t *sizes) {
    size_t count = 0;
    while (n > 0) {
        size_t most = between(random, 0, 2) > 0 && n > 100 ? n / 10 : n;
        sizes[count] = count == LAYERS - 1 ? n : between(random, 1, most);
        n -= sizes[count++];
    }
    return count;
}

/* One task of at most so many elements from its gradients on, some iterations of error feedback
 * long. */
static void compare(struct comparison *comparison, struct gw_random *random, size_t input,
                    size_t most) {
    size_t drawn = draw_size(random);
    size_t n = drawn <= most ? drawn : between(random, 1, most);
    size_t sizes[LAYERS];
    size_t layers = draw_layers(random, n, sizes);
    float *u = allocate(n, sizeof *u);
    float *gradient = allocate(n, sizeof *gradient);
    size_t workers = between(random, 1, 3);
    bool has_layers = between(random, 0, 3) > 0;
    inputs[input].fill(u, n, random);
    comparison->task = (struct gw_task){.u = u,
                                        .n = n,
                                        .k = draw_k(random, n),
                                        .worker = between(random, 0, workers - 1),
                                        .workers = workers,
                                        .seed = gw_random_below(random, UINT64_MAX),
                                        .iteration = between(random, 0, 1) ? 98 : n % 5,
                                        .threshold = fabs((double)u[between(random, 0, n - 1)]),
                                        .layers = has_layers ? sizes : NULL,
                                        .layer_count = has_layers ? layers : 0,
                                        .workspace = comparison->task.workspace};
    size_t iterations = between(random, 1, n < 5000 ? 7 : 2);
    open_states(comparison);
    for (size_t t = 0; t < iterations; t++) {
        size_t offset = between(random, 0, 2) == 0 ? between(random, 1, 7) : 0;
        comparison->task.gradient = t > 0 || between(random, 0, 1) ? gradient : NULL;
        fill_layers(gradient, n, random);
        if (!same_selection(comparison, offset)) {
            fail_msg("%s, %s, n %zu, k %zu, threshold %g, iteration %zu, offset %zu%s",
                     comparison->compressor->name, inputs[input].name, n, comparison->task.k,
                     comparison->task.threshold, t, offset,
                     comparison->task.gradient == NULL ? "" : ", gradient");
        }
        size_t counts[3];
        for (size_t worker = 0; worker < 3; worker++) {
            counts[worker] = between(random, 0, 2 * comparison->task.k - 1);
        }
        gw_state_observe(comparison->compressor, comparison->task.state, counts);
        gw_state_observe(comparison->compressor, comparison->gpu_state, counts);
        comparison->task.iteration++;
    }
    close_states(comparison);
    free(u);
    free(gradient);
}

TEST(both_select_the_same) {
    struct gw_device *device = need_device();
    size_t large = (size_t)gw_trials(2 * INPUTS);    /* the others are small */
    size_t least = gw_trials(100) < 10 ? 2 : INPUTS; /* races do not depend on inputs */
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        struct gw_random *random = open_random(10 + c);
        if (gw_gpu_kernel_of(gw_compressors[c]) != NULL) {
            struct comparison comparison = begin_comparison(device, gw_compressors[c]->name, ROOM);
            comparison.workspace->epoch = GW_GPU_EPOCHS - 1 - between(random, 0, 39);
            size_t first = between(random, 0, INPUTS - 1);
            for (size_t at = 0; at < large || at < least; at++) {
                compare(&comparison, random, (first + at) % INPUTS, at < large ? ROOM : 400);
            }
            end_comparison(&comparison);
        }
        gw_random_close(random);
    }
    gw_device_close(device);
}

/* Top-k whose sample sees nothing but the largest elements, or the smallest: it looks again. */
TEST(samples_may_deceive) {
    enum { N = 40000 };
    static const size_t ks[] = {600, N - 1, 1, 2000};
    struct gw_device *device = need_device();
    struct gw_random *random = open_random(2);
    struct comparison comparison = begin_comparison(device, "topk", N);
    float *u = allocate(N, sizeof *u);
    size_t stride = gw_sample_stride(N);
    comparison.task.u = u;
    comparison.task.n = N;
    for (size_t turn = 0; turn < 2 + (size_t)gw_trials(6); turn++) {
        size_t k = ks[turn / 2];
        draw_gradient(GW_SHAPE_LAPLACE, 1, 2, seed + turn, N, u);
        for (size_t i = 0; i < N / stride; i++) {
            u[gw_sample_position(i, stride, 0)] *= turn % 2 ? 1e-6f : 1e6f;
        }
        comparison.task.k = k - between(random, 0, k / 4);
        assert_true(same_selection(&comparison, 0));
    }
    free(u);
    end_comparison(&comparison);
    gw_random_close(random);
    gw_device_close(device);
}

/* ---- NaNs ---------------------------------------------------------------------------------- */

static const char *const names[] = {"topk",       "randk",         "dgc",          "redsync",
                                    "sidco",      "gaussiank",     "count-sketch", "exdyna",
                                    "layer-drop", "hard-threshold"};
enum { NAMES = sizeof names / sizeof *names };

/* NaNs in u, or in a sum with the gradient. Without a gradient, randk only sees its selection:
 * everything, here. */
TEST(nan_is_bad_input) {
    struct gw_device *device = need_device();
    struct gw_random *random = random_stream(3);
    for (size_t at = 0; at < 4 * NAMES; at++) {
        struct comparison comparison = begin_comparison(device, names[at % NAMES], ROOM);
        size_t n = between(random, 1, 3000);
        size_t bad = between(random, 0, n - 1);
        float *u = allocate(n, sizeof *u);
        float *gradient = allocate(n, sizeof *gradient);
        fill_normal(u, n, random);
        fill_normal(gradient, n, random);
        comparison.task.u = u;
        comparison.task.gradient = at / NAMES % 2 ? gradient : NULL;
        comparison.task.n = n;
        comparison.task.k = comparison.task.gradient == NULL ? n : between(random, 1, n);
        u[bad] = at / NAMES % 2 ? INFINITY : NAN;
        gradient[bad] = -INFINITY;
        u[between(random, bad, n - 1)] = NAN;
        open_states(&comparison);
        assert_true(same_selection(&comparison, 0)); /* both refuse */
        assert_int_equal(comparison.selected.on_host->first_nan, bad);
        float *left = allocate(n, sizeof *left);
        copy_from_device(comparison.stream, left, comparison.u, n * sizeof *left);
        for (size_t i = 0; i < n; i++) { /* the CPU has added, too, and neither has cleared any */
            assert_true(bits_of(left[i]) == bits_of(u[i]) || (isnan(left[i]) && isnan(u[i])));
        }
        free(left);
        close_states(&comparison);
        end_comparison(&comparison);
        free(u);
        free(gradient);
    }
    gw_device_close(device);
}

/* ---- large vectors, and reading ------------------------------------------------------------ */

/* More than 2^31 bytes, of a GPU that has room for that and is none on the CPU, where it takes too
 * long; or as many elements as GRADWEAVE_LARGE says. */
static size_t large_elements(void) {
    const char *asked = getenv("GRADWEAVE_LARGE");
    struct gw_gpu gpu = {.memory_bytes = 0};
    bool fits = gw_cuda_devices(&gpu, 1) > 0 && gpu.memory_bytes > 32e9;
    bool emulated = gw_cuda_version() == NULL || strcmp(gw_cuda_version(), "emulated") == 0;
    return asked != NULL       ? strtoul(asked, NULL, 10)
           : fits && !emulated ? ((size_t)1 << 29) + 4099
                               : 0;
}

TEST(large_vectors_are_no_different) {
    static const char *const large[] = {"topk", "hard-threshold", "gaussiank", "dgc"};
    enum { TILE = 1000003 };
    size_t n = large_elements();
    struct gw_device *device = need_device();
    if (n < TILE) {
        gw_device_close(device);
        print_message("skipped: 2^31 bytes need a GPU of 32 GB\n");
        skip();
    }
    float *u = allocate(n, sizeof *u);
    for (size_t c = 0; c < sizeof large / sizeof *large; c++) {
        struct comparison comparison = begin_comparison(device, large[c], n);
        draw_gradient(GW_SHAPE_NORMAL, 1e-3, 2, seed + c, TILE, u);
        for (size_t i = TILE; i < n; i++) {
            u[i] = u[i - TILE] * 1.00001f;
        }
        comparison.task = (struct gw_task){.u = u,
                                           .n = n,
                                           .k = n / 1000,
                                           .workers = 1,
                                           .seed = seed,
                                           .threshold = 3.5e-3,
                                           .workspace = comparison.task.workspace};
        open_states(&comparison);
        assert_true(same_selection(&comparison, 0));
        close_states(&comparison);
        end_comparison(&comparison);
    }
    free(u);
    gw_device_close(device);
}

/* Elements are not negative, so the order of sums makes little difference. */
TEST(a_pass_of_reading_sums_all) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    float *u = allocate(ROOM, sizeof *u);
    struct gw_random *random = random_stream(2);
    draw_gradient(GW_SHAPE_NORMAL, 1, 2, seed, ROOM, u);
    float *on_gpu = copy_to_device(stream, u, ROOM * sizeof *u);
    float *sum = copy_to_device(stream, u, sizeof *sum);
    for (int turn = 0; turn < 20; turn++) {
        size_t first = between(random, 0, 8);
        size_t n = turn < 6 ? (size_t)turn : between(random, 0, ROOM - 10);
        float found = -1;
        assert_ok(gw_gpu_read_pass(on_gpu + first, n, stream, sum, NULL));
        copy_from_device(stream, &found, sum, sizeof found);
        assert_true(near(found, gw_read_pass(u + first, n), 1e-4));
    }
    gw_device_free(device, on_gpu);
    gw_device_free(device, sum);
    free(u);
    gw_device_stream_close(stream);
    gw_device_close(device);
}
