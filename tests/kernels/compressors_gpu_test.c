/*
 * What compressors select on a GPU, against what they select on the CPU: the same indices and the
 * same bits, and the same is left. All follows from one seed, which is printed; GRADWEAVE_SEED
 * repeats a run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "kernels/gpu/parts.h" /* private: to let epochs begin again */
#include "tests/kernels/selecting_gpu.h"

static uint64_t seed;

static const char *const names[] = {"topk",         "hard-threshold", "gaussiank", "sidco",
                                    "dgc",          "redsync",        "exdyna",    "exdyna-trend",
                                    "exdyna-static"};
enum { NAMES = sizeof names / sizeof *names, ROOM = 150000 };

/* The next number below `limit`. */
static size_t draw_below(uint64_t *lot, size_t limit) {
    *lot = *lot * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((*lot >> 33) % limit);
}

/* Values as gradients have them, and as nobody would wish them. */
enum { ZEROS = GW_SHAPES, TIES, OUTLIERS, INFINITIES, NANS, KINDS };

static void fill(int kind, uint64_t *lot, size_t n, float *out) {
    enum gw_shape shape = kind < GW_SHAPES ? (enum gw_shape)kind : GW_SHAPE_NORMAL;
    draw_gradient(shape, 1e-3, 2, *lot >> 3, n, out);
    (void)draw_below(lot, 2);
    size_t few = draw_below(lot, 5) + 1;
    for (size_t i = 0; i < n && kind == ZEROS; i++) {
        out[i] = i % 2 ? 0.0f : -0.0f;
    }
    for (size_t i = 0; i < n && kind == TIES; i++) {
        out[i] = (float)(int)(out[i] * 1500);
    }
    for (size_t i = 0; i < few && kind == OUTLIERS; i++) {
        out[draw_below(lot, n)] = 1e30f;
    }
    for (size_t i = 0; i < few && (kind == INFINITIES || kind == NANS); i++) {
        out[draw_below(lot, n)] = i % 2 ? INFINITY : -INFINITY;
    }
    if (kind == NANS) {
        out[draw_below(lot, n)] = NAN;
    }
}

static size_t draw_size(uint64_t *lot) {
    static const size_t edges[] = {1,    2,    3,    31,    1023,  1024,  1025,
                                   2048, 8191, 8192, 16385, 32768, 32769, 65537};
    size_t what = draw_below(lot, 8);
    return what == 0   ? ROOM - 8
           : what == 1 ? 1 + draw_below(lot, ROOM - 8)
           : what < 5  ? edges[draw_below(lot, sizeof edges / sizeof *edges)]
                       : 1 + draw_below(lot, 12000);
}

static size_t draw_k(uint64_t *lot, size_t n) {
    static const size_t shares[] = {1, 2, 10, 100, 1000};
    size_t k = n / shares[draw_below(lot, 5)] / (1 + draw_below(lot, 3));
    return k < 1 ? 1 : k;
}

/* One task from its gradients on, some iterations of error feedback long. */
static void contend(struct contest *contest, uint64_t *lot, int kind) {
    size_t n = draw_size(lot);
    float *u = allocate(n, sizeof *u);
    float *gradient = allocate(n, sizeof *gradient);
    struct gw_workspace *workspace = contest->task.workspace;
    contest->task = (struct gw_task){.u = u,
                                     .n = n,
                                     .k = draw_k(lot, n),
                                     .workers = 1 + draw_below(lot, 3),
                                     .seed = *lot,
                                     .iteration = draw_below(lot, 5),
                                     .threshold = 1e-3 * (double)draw_below(lot, 4),
                                     .workspace = workspace};
    contest->task.worker = draw_below(lot, contest->task.workers);
    size_t iterations = 1 + draw_below(lot, n < 5000 ? 7 : 2);
    fill(kind, lot, n, u);
    open_states(contest);
    for (size_t t = 0; t < iterations; t++) {
        size_t offset = draw_below(lot, 3) == 0 ? 1 + draw_below(lot, 7) : 0;
        contest->task.gradient = t > 0 || draw_below(lot, 2) == 0 ? gradient : NULL;
        fill(t % 2 ? kind : GW_SHAPE_NORMAL, lot, n, gradient);
        if (!same_selection(contest, offset)) {
            fail_msg("%s, kind %d, n %zu, k %zu, threshold %g, iteration %zu, offset %zu%s",
                     contest->compressor->name, kind, n, contest->task.k, contest->task.threshold,
                     t, offset, contest->task.gradient == NULL ? "" : ", gradient");
        }
        if (gw_kernel_of(contest->compressor)->observe != NULL) {
            size_t counts[3];
            for (size_t worker = 0; worker < 3; worker++) {
                counts[worker] = draw_below(lot, 2 * contest->task.k);
            }
            gw_state_observe(contest->compressor, contest->task.state, counts);
            gw_state_observe(contest->compressor, contest->gpu_state, counts);
        }
        contest->task.iteration++;
        if (kind == NANS) {
            break; /* what is left then is nobody's concern */
        }
    }
    close_states(contest);
    free(u);
    free(gradient);
}

static void both_select_the_same(void **state) {
    (void)state;
    enum { TURNS = 2 };
    struct gw_device *device = need_device();
    for (size_t c = 0; c < NAMES; c++) {
        struct contest contest = begin_contest(device, names[c], ROOM);
        uint64_t lot = seed + c;
        contest.workspace->epoch = GW_GPU_EPOCHS - 1 - draw_below(&lot, 40);
        for (int turn = 0; turn < TURNS * KINDS; turn++) {
            contend(&contest, &lot, turn % KINDS);
        }
        end_contest(&contest);
    }
    gw_device_close(device);
}

/* Top-k whose sample sees nothing but the largest elements, or the smallest: it looks again. */
static void samples_may_deceive(void **state) {
    (void)state;
    enum { N = 40000 };
    struct gw_device *device = need_device();
    struct contest contest = begin_contest(device, "topk", N);
    struct gw_workspace *workspace = contest.task.workspace;
    float *u = allocate(N, sizeof *u);
    uint64_t lot = seed;
    static const size_t ks[] = {1, 600, 2000, N - 1};
    for (size_t turn = 0; turn < 8; turn++) {
        draw_gradient(GW_SHAPE_LAPLACE, 1, 2, seed + turn, N, u);
        size_t stride = gw_sample_stride(N);
        for (size_t i = 0; i < N / stride; i++) {
            size_t place = gw_sample_position(i, stride, 0);
            u[place] = turn % 2 ? u[place] * 1e-6f : u[place] * 1e6f;
        }
        contest.task = (struct gw_task){.u = u,
                                        .n = N,
                                        .k = ks[turn / 2] - draw_below(&lot, ks[turn / 2]) / 4,
                                        .workspace = workspace};
        assert_true(same_selection(&contest, 0));
    }
    free(u);
    end_contest(&contest);
    gw_device_close(device);
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

static void large_vectors_are_no_different(void **state) {
    (void)state;
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
        struct contest contest = begin_contest(device, large[c], n);
        draw_gradient(GW_SHAPE_NORMAL, 1e-3, 2, seed + c, TILE, u);
        for (size_t i = TILE; i < n; i++) {
            u[i] = u[i - TILE] * 1.00001f;
        }
        contest.task = (struct gw_task){.u = u,
                                        .n = n,
                                        .k = n / 1000,
                                        .workers = 1,
                                        .seed = seed,
                                        .threshold = 3.5e-3,
                                        .workspace = contest.task.workspace};
        open_states(&contest);
        assert_true(same_selection(&contest, 0));
        close_states(&contest);
        end_contest(&contest);
    }
    free(u);
    gw_device_close(device);
}

/* Of elements that are not negative, so that an order of sums makes little difference. */
static void a_pass_of_reading_sums_all(void **state) {
    (void)state;
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    float *u = allocate(ROOM, sizeof *u);
    uint64_t lot = seed;
    draw_gradient(GW_SHAPE_NORMAL, 1, 2, seed, ROOM, u);
    float *on_gpu = copy_to_device(stream, u, ROOM * sizeof *u);
    float *sum = copy_to_device(stream, u, sizeof *sum);
    for (int turn = 0; turn < 20; turn++) {
        size_t first = draw_below(&lot, 9);
        size_t n = turn < 6 ? (size_t)turn : draw_below(&lot, ROOM - 9);
        float found = -1;
        assert_int_equal(gw_gpu_read_pass(on_gpu + first, n, stream, sum, NULL), GW_OK);
        copy_from_device(stream, &found, sum, sizeof found);
        assert_true(near(found, gw_read_pass(u + first, n), 1e-4));
    }
    gw_device_free(device, on_gpu);
    gw_device_free(device, sum);
    free(u);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_select_the_same),
        cmocka_unit_test(samples_may_deceive),
        cmocka_unit_test(large_vectors_are_no_different),
        cmocka_unit_test(a_pass_of_reading_sums_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
