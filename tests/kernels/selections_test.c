/*
 * Compressors against their references, and on a GPU against the processor: the same indices, the
 * same bits, the same residuals, and nothing lost. Random cases follow from one seed, which is
 * printed; GRADWEAVE_SEED repeats a run.
 */
#include "kernels/gpu/parts.h" /* private: to let epochs begin again */
#include "tests/kernels/sides.h"

enum { ROOM = 150000, LAYERS = 300 };

/* ---- one step of error feedback on a side -------------------------------------------------- */

enum side { PROCESSOR, REFERENCE, ON_GPU, SIDES };
static const char *const side_names[SIDES] = {"processor", "reference", "GPU"};

/* The result of a step: the rest of u, and the selection. */
struct outcome {
    enum gw_status status;
    struct gw_error error;
    float *u; /* [n] */
    struct gw_selection selection;
};

static void clear_selected(struct outcome *out) {
    for (size_t i = 0; out->status == GW_OK && i < out->selection.count; i++) {
        out->u[out->selection.entries[i].index] = 0;
    }
}

/* u and gradient are parts of larger vectors there, that begin `offset` behind an aligned place. */
static void compress_on_gpu(const struct gw_compressor *compressor, struct gw_task task,
                            size_t offset, struct outcome *out) {
    struct gw_memory *gpu = gpu_memory();
    struct gw_gpu_selection selected = {0};
    size_t bytes = task.n * sizeof(float);
    void *vectors[2] = {NULL, NULL};
    const float *from[2] = {out->u, task.gradient};
    for (size_t i = 0; i < 2 && from[i] != NULL; i++) {
        assert_ok(
            gw_device_allocate(gpu->device, bytes + offset * sizeof(float), &vectors[i], NULL));
        assert_ok(gw_device_copy(gpu->stream, (float *)vectors[i] + offset, from[i], bytes, NULL));
    }
    task.u = (float *)vectors[0] + offset;
    task.gradient = task.gradient == NULL ? NULL : (float *)vectors[1] + offset;
    assert_ok(gw_gpu_selection_reserve(
        &selected, gpu->device, gw_gpu_selection_capacity(compressor, task.n, task.k), NULL));
    assert_ok(gw_gpu_compress(gw_gpu_kernel_of(compressor), &task, gpu->stream, gpu->gpu_workspace,
                              &selected, NULL));
    size_t count = 0;
    out->status = gw_gpu_selection_finish(&selected, gpu->stream, &count, &out->error);
    copy_from_device(gpu->stream, out->u, task.u, bytes);
    out->selection.count = count;
    if (out->status == GW_OK) {
        assert_ok(gw_selection_reserve(&out->selection, count, NULL));
        copy_from_device(gpu->stream, out->selection.entries, selected.entries,
                         count * sizeof(struct gw_entry));
    }
    gw_gpu_selection_free(&selected);
    gw_device_free(gpu->device, vectors[0]);
    gw_device_free(gpu->device, vectors[1]);
}

static void compress_on(enum side side, const struct gw_compressor *compressor, struct gw_task task,
                        size_t offset, struct outcome *out) {
    struct gw_workspace workspace = {0}; /* new each time: sanitizers see its bounds */
    task.u = out->u;
    task.workspace = &workspace;
    task.threads = side == PROCESSOR ? task.threads : 1;
    out->error = (struct gw_error){0};
    if (side == ON_GPU) {
        compress_on_gpu(compressor, task, offset, out);
    } else if (side == PROCESSOR) {
        out->status = gw_compress(compressor, &task, &out->selection, &out->error);
    } else {
        out->status = gw_reference_of(compressor)(&task, &out->selection, &out->error);
        clear_selected(out);
    }
    gw_workspace_free(&workspace);
}

/* ---- checks of each step -------------------------------------------------------------------- */

/* A step of a compressor on one side, for messages. */
struct step {
    const struct gw_compressor *compressor;
    const char *input;
    enum side side;
    struct gw_task task;
    size_t offset;
};

static void fail_step(const struct step *step, const char *what) {
    fail_msg("%s (%s), %s, n %zu, k %zu, threshold %g, iteration %zu, offset %zu%s: %s",
             step->compressor->name, side_names[step->side], step->input, step->task.n,
             step->task.k, step->task.threshold, (size_t)step->task.iteration, step->offset,
             step->task.gradient == NULL ? "" : ", gradient", what);
}

/* Selected elements are cleared, others stay: both bit for bit as accumulated. */
static void check_conserved(const struct step *step, const float *accumulated,
                            const struct outcome *out) {
    const struct gw_selection *selection = &out->selection;
    size_t sent = 0;
    if (out->status != GW_OK) {
        fail_step(step, out->error.message);
    }
    if (step->compressor->exact && selection->count != step->task.k) {
        fail_step(step, "other than k elements");
    }
    for (size_t i = 0; i < step->task.n; i++) {
        const struct gw_entry *entry = &selection->entries[sent];
        bool is_sent = sent < selection->count && entry->index == i;
        if (bits_of(is_sent ? entry->value : out->u[i]) != bits_of(accumulated[i]) ||
            (is_sent && bits_of(out->u[i]) != 0)) {
            fail_step(step, "an element is lost");
        }
        sent += is_sent;
    }
    if (sent != selection->count) { /* the indices are distinct, ascending and in range */
        fail_step(step, "an index is out of order");
    }
}

/*
 * Thresholds that come from sums differ by their rounding: what the reference selects and the
 * processor does not must lie on the threshold, which makes it as large as anything else of that
 * kind. A GPU selects just what the processor does.
 */
static void check_difference(const struct step *step, const float *accumulated,
                             const struct gw_selection *a, const struct gw_selection *b) {
    static const char *const summing[] = {"gaussiank", "redsync", "sidco"};
    double rounding = 0;
    double least = INFINITY;
    double most = 0;
    size_t differences = 0;
    for (size_t i = 0; i < sizeof summing / sizeof *summing; i++) {
        rounding = strcmp(step->compressor->name, summing[i]) == 0 ? 1e-6 : rounding;
    }
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        uint32_t left = i < a->count ? a->entries[i].index : UINT32_MAX;
        uint32_t right = j < b->count ? b->entries[j].index : UINT32_MAX;
        if (left != right) {
            double size = fabs((double)accumulated[left < right ? left : right]);
            least = fmin(least, size);
            most = fmax(most, size);
            differences++;
        }
        i += left <= right;
        j += right <= left;
    }
    if (differences > 0 && (step->side == ON_GPU || !(most <= least * (1 + rounding)))) {
        fail_step(step, "other elements than the processor");
    }
}

/* Some iterations of a task on the processor and another side; `task` has u and gradients. */
static void compare_sides(enum side other, const struct gw_compressor *compressor,
                          const char *input, const struct gw_task *first, size_t iterations,
                          struct gw_random *random) {
    const enum side both[2] = {PROCESSOR, other};
    struct outcome outcomes[2] = {{.status = GW_OK}, {.status = GW_OK}};
    void *states[2];
    size_t n = first->n;
    float *accumulated = allocate(n, sizeof *accumulated);
    float *gradient = allocate(n, sizeof *gradient);
    for (size_t s = 0; s < 2; s++) {
        outcomes[s].u = allocate(n, sizeof(float));
        memcpy(outcomes[s].u, first->u, n * sizeof(float));
        assert_ok(gw_state_open(compressor, first, &states[s], NULL));
    }
    struct gw_task task = *first;
    for (size_t t = 0; t < iterations; t++, task.iteration++) {
        size_t offset = between(random, 0, 2) == 0 ? between(random, 1, 7) : 0;
        size_t counts[3];
        if (t > 0) {
            fill_layers(gradient, n, random);
            task.gradient = gradient;
        }
        for (size_t i = 0; i < n; i++) {
            accumulated[i] = outcomes[0].u[i] + (task.gradient == NULL ? 0 : task.gradient[i]);
            accumulated[i] = task.gradient == NULL ? outcomes[0].u[i] : accumulated[i];
        }
        for (size_t worker = 0; worker < 3; worker++) {
            counts[worker] = between(random, 0, 2 * task.k - 1);
        }
        for (size_t s = 0; s < 2; s++) {
            task.state = states[s];
            const struct step step = {compressor, input, both[s], task, offset};
            compress_on(both[s], compressor, task, offset, &outcomes[s]);
            check_conserved(&step, accumulated, &outcomes[s]);
            check_difference(&step, accumulated, &outcomes[0].selection, &outcomes[s].selection);
            gw_state_observe(compressor, states[s], counts);
        }
    }
    for (size_t s = 0; s < 2; s++) {
        gw_state_close(compressor, states[s]);
        gw_selection_free(&outcomes[s].selection);
        free(outcomes[s].u);
    }
    free(accumulated);
    free(gradient);
}

/* ---- against references -------------------------------------------------------------------- */

static void check_against_reference(const struct gw_compressor *compressor, const char *input,
                                    float *u, const float *gradient, size_t n, size_t k,
                                    struct gw_random *random) {
    const struct gw_task task = {.u = u,
                                 .gradient = gradient,
                                 .n = n,
                                 .k = k,
                                 .worker = n % 3,
                                 .workers = 3,
                                 .seed = seed,
                                 .iteration = n + k,
                                 .threshold = fabs((double)u[k - 1]),
                                 .threads = n % 4};
    compare_sides(REFERENCE, compressor, input, &task, 1, random);
}

/* References that hash each element in each row, which their own test does for long vectors. */
static bool is_tested_elsewhere(const struct gw_compressor *compressor, size_t n) {
    return !gw_compressor_selects(compressor) ||
           (n > 100000 && strcmp(compressor->name, "count-sketch") == 0);
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
                                        ks[i], random);
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
    check_against_reference(&gw_compressor_topk, "normal", u, NULL, N, 1, random);
    check_against_reference(&gw_compressor_topk, "normal", u, NULL, N, N - 1, random);
    check_against_reference(&gw_compressor_topk, "normal", u, NULL, N, N, random);
    free(u);
}

/*
 * Ascending, so that all are found and the pass guesses; what the guess sees of the rest is large,
 * so that it is too high and the pass must say so. Without large ones, the guess is right.
 */
TEST(a_wrong_guess_of_the_threshold_is_corrected) {
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

/* ---- on a GPU ------------------------------------------------------------------------------ */

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

/* One task of at most so many elements, some iterations of error feedback long. */
static void compare_on_gpu(const struct gw_compressor *compressor, struct gw_random *random,
                           size_t input, size_t most) {
    size_t drawn = draw_size(random);
    size_t n = drawn <= most ? drawn : between(random, 1, most);
    size_t sizes[LAYERS];
    size_t layers = draw_layers(random, n, sizes);
    float *u = allocate(n, sizeof *u);
    float *gradient = allocate(n, sizeof *gradient);
    size_t workers = between(random, 1, 3);
    bool has_layers = between(random, 0, 3) > 0;
    inputs[input].fill(u, n, random);
    fill_layers(gradient, n, random);
    const struct gw_task task = {.u = u,
                                 .gradient = between(random, 0, 1) ? gradient : NULL,
                                 .n = n,
                                 .k = draw_k(random, n),
                                 .worker = between(random, 0, workers - 1),
                                 .workers = workers,
                                 .seed = gw_random_below(random, UINT64_MAX),
                                 .iteration = between(random, 0, 1) ? 98 : n % 5,
                                 .threshold = fabs((double)u[between(random, 0, n - 1)]),
                                 .layers = has_layers ? sizes : NULL,
                                 .layer_count = has_layers ? layers : 0};
    compare_sides(ON_GPU, compressor, inputs[input].name, &task,
                  between(random, 1, n < 5000 ? 7 : 2), random);
    free(u);
    free(gradient);
}

static void need_gpu(void) {
    if (gpu_memory() == NULL) {
        print_message("skipped: there is no GPU\n");
        skip();
    }
}

/* Lets the next sweep of tiles be of an epoch, of which none of their words may be. */
static void restart_epochs(unsigned long long epoch) {
    struct gw_gpu_workspace *workspace = gpu_memory()->gpu_workspace;
    size_t bytes = workspace->tile_capacity * 2 * sizeof(uint64_t);
    if (bytes > 0) {
        assert_ok(gw_device_clear(gpu_memory()->stream, workspace->tiles, bytes, NULL));
    }
    workspace->epoch = epoch;
}

TEST(a_gpu_selects_the_same) {
    size_t large = (size_t)gw_trials(2 * INPUTS); /* the others are small */
    bool few = gw_trials(100) < 10;
    size_t least = few ? 2 : INPUTS; /* races do not depend on inputs */
    need_gpu();
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        struct gw_random *random = random_stream(10 + c);
        if (gw_gpu_kernel_of(gw_compressors[c]) != NULL) {
            restart_epochs(GW_GPU_EPOCHS - 1 - between(random, 0, 39));
            size_t first = between(random, 0, INPUTS - 1);
            for (size_t at = 0; at < large || at < least; at++) {
                compare_on_gpu(gw_compressors[c], random, (first + at) % INPUTS,
                               at >= large ? 400
                               : few       ? ROOM / 3
                                           : ROOM);
            }
        }
    }
}

/* Top-k whose sample sees nothing but the largest elements, or the smallest: it looks again. */
TEST(samples_may_deceive) {
    enum { N = 40000 };
    static const size_t ks[] = {600, N - 1, 1, 2000};
    struct gw_random *random = random_stream(2);
    need_gpu();
    float *u = allocate(N, sizeof *u);
    size_t stride = gw_sample_stride(N);
    for (size_t turn = 0; turn < 2 + (size_t)gw_trials(6); turn++) {
        size_t k = ks[turn / 2];
        draw_gradient(GW_SHAPE_LAPLACE, 1, 2, seed + turn, N, u);
        for (size_t i = 0; i < N / stride; i++) {
            u[gw_sample_position(i, stride, 0)] *= turn % 2 ? 1e-6f : 1e6f;
        }
        const struct gw_task task = {.u = u, .n = N, .k = k - between(random, 0, k / 4)};
        compare_sides(ON_GPU, &gw_compressor_topk, "sample deceived", &task, 1, random);
    }
    free(u);
}

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
    need_gpu();
    if (n < TILE) {
        print_message("skipped: 2^31 bytes need a GPU of 32 GB\n");
        skip();
    }
    float *u = allocate(n, sizeof *u);
    for (size_t c = 0; c < sizeof large / sizeof *large; c++) {
        draw_gradient(GW_SHAPE_NORMAL, 1e-3, 2, seed + c, TILE, u);
        for (size_t i = TILE; i < n; i++) {
            u[i] = u[i - TILE] * 1.00001f;
        }
        const struct gw_task task = {
            .u = u, .n = n, .k = n / 1000, .workers = 1, .seed = seed, .threshold = 3.5e-3};
        compare_sides(ON_GPU, gw_compressor_find(large[c]), "large", &task, 1, random_stream(3));
    }
    free(u);
}

/* Elements are not negative, so the order of sums makes little difference. */
TEST(a_pass_of_reading_sums_all) {
    struct gw_random *random = random_stream(2);
    need_gpu();
    struct gw_device_stream *stream = gpu_memory()->stream;
    float *u = allocate(ROOM, sizeof *u);
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
    gw_device_free(gpu_memory()->device, on_gpu);
    gw_device_free(gpu_memory()->device, sum);
    free(u);
}

/* ---- NaN ----------------------------------------------------------------------------------- */

/* With a gradient, every sum is made, so that no compressor misses a NaN among them. u stays as it
 * was accumulated. */
static void check_nan(const float *gradient, size_t n, size_t k, size_t first, enum side last) {
    char place[64];
    char place_on_gpu[64];
    snprintf(place, sizeof place, "element %zu of %zu", first, n);
    snprintf(place_on_gpu, sizeof place_on_gpu, "element %zu:", first);
    float *zeros = allocate(n, sizeof *zeros);
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        for (enum side side = PROCESSOR; side <= last; side++) {
            if (!gw_compressor_selects(gw_compressors[c]) ||
                (side == ON_GPU && gw_gpu_kernel_of(gw_compressors[c]) == NULL)) {
                continue;
            }
            struct outcome out = {.u = allocate(n, sizeof(float))};
            struct gw_task task = {
                .u = zeros, .gradient = gradient, .n = n, .k = k, .threads = first % 3};
            assert_ok(gw_state_open(gw_compressors[c], &task, &task.state, NULL));
            compress_on(side, gw_compressors[c], task, 0, &out);
            assert_int_equal(out.status, GW_BAD_INPUT);
            if (strstr(out.error.message, side == ON_GPU ? place_on_gpu : place) == NULL) {
                fail_msg("%s (%s): expected \"%s\" in \"%s\"", gw_compressors[c]->name,
                         side_names[side], place, out.error.message);
            }
            for (size_t i = 0; i < n && side == ON_GPU; i++) {
                assert_true(out.u[i] == gradient[i] || (isnan(out.u[i]) && isnan(gradient[i])));
            }
            gw_state_close(gw_compressors[c], task.state);
            gw_selection_free(&out.selection);
            free(out.u);
        }
    }
    free(zeros);
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
        check_nan(u, n, 1, first, REFERENCE);
        check_nan(u, n, between(random, 1, n), first,
                  at % 50 == 1 && gpu_memory() != NULL ? ON_GPU : REFERENCE);
    }
    free(u);
}

/* A sample full of NaNs must not hide one that is smaller as a bit pattern. */
TEST(first_nan_is_named_among_many) {
    enum { N = 6400 };
    float u[N];
    for (size_t first = 0; first < N; first += 23) {
        for (size_t i = 0; i < N; i++) {
            u[i] = i < first ? 1 : float_of(i == first ? 0x7f800001u : 0x7fffffffu);
        }
        check_nan(u, N, 1, first, REFERENCE);
    }
}
