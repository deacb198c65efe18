/*
 * The executor on a GPU: every compressor that there is for GPUs, by every exchange that can carry
 * it, against the sequential reference, bit for bit; and how events are mapped to the host's time.
 * Ranks are threads that share the GPU or, over NCCL, have one each.
 */
#include "exec/accelerator.h"
#include "kernels/gpu.h"
#include "tests/device/device_support.h"
#include "tests/exec/exec_pairs.h"
#include "tests/test.h"

/* Emulates as many GPUs as ranks over NCCL. */
static int emulate_gpus(void **state) {
    (void)state;
    return setenv("GW_EMULATED_GPUS", "3", 1);
}
FIXTURES(emulate_gpus, NULL)

/* ---- pairs --------------------------------------------------------------------------------- */

static size_t run_on_gpu;

/* The iterations of each job; with few random cases, its residuals need not return. */
static size_t iterations(void) {
    return (size_t)gw_trials(2);
}

/* Three workers with one group each, two with several, and one that keeps everything. */
static void run_pair(const struct gw_algorithm *algorithm) {
    run_on_gpu++;
    if (is_tried(run_on_gpu, 0)) {
        run_scenario(algorithm, gw_algorithm_overlaps(algorithm) ? 2 : 3, 0.01, iterations(), 0);
    }
    if (!gw_algorithm_overlaps(algorithm)) {
        run_scenario(algorithm, 1, 1, 1, 0);
    }
}

TEST(every_pair_computes_the_reference) {
    session_options.device = need_device();
    session_options.transport = GW_GPU_MPI;
    for_each_pair(run_pair);
    print_message("%zu pairs on the GPU\n", run_on_gpu);
    assert_true(run_on_gpu > 0);
    gw_device_close(session_options.device);
    session_options.device = NULL;
}

/*
 * Threads report gradients on the trainer's stream; after one iteration another session goes on.
 */
static void train_pair(const struct gw_algorithm *algorithm) {
    static size_t pair;
    session_options.average = ++pair % 4 < 2;
    if (is_tried(pair, 1)) {
        run_scenario(algorithm, gw_algorithm_overlaps(algorithm) ? 2 : 3, 0.01, 1 + iterations(),
                     0);
    }
}

TEST(trainers_get_the_reference) {
    session_options.device = need_device();
    session_options.transport = GW_GPU_MPI;
    session_options.compute = GW_COMPUTE_TRAINER;
    restart_after = 1;
    for_each_pair(train_pair);
    restart_after = 0;
    gw_device_close(session_options.device);
    session_options = (struct gw_session_options){.seed = SEED};
}

/* ---- pairs over NCCL ----------------------------------------------------------------------- */

enum { NCCL_RANKS = 3 };

static void need_gpu_for_each_rank(void) {
    struct gw_gpu gpus[NCCL_RANKS];
    struct gw_error error = {0};
    gw_device_close(need_device());
    size_t count = gw_cuda_devices(gpus, NCCL_RANKS);
    if (count < NCCL_RANKS) {
        print_message("skipped: expected a GPU for each of %d ranks, got %zu\n", NCCL_RANKS, count);
        skip();
    }
    if (gw_nccl_need(&error) != GW_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
}

/* Two workers with several groups, or where a server has a GPU too; else three. */
static void run_pair_over_nccl(const struct gw_algorithm *algorithm) {
    static size_t pair;
    if (!is_tried(++pair, 0)) {
        return;
    }
    bool fewer = algorithm->exchange->server || gw_algorithm_overlaps(algorithm);
    run_scenario(algorithm, fewer ? NCCL_RANKS - 1 : NCCL_RANKS, 0.01, iterations(), 0);
}

TEST(every_pair_computes_the_reference_over_nccl) {
    need_gpu_for_each_rank();
    session_options.transport = GW_GPU_NCCL;
    for (size_t rank = 0; rank < NCCL_RANKS; rank++) {
        assert_ok(gw_device_open(&rank_devices[rank], rank, NULL));
    }
    for_each_pair(run_pair_over_nccl);
    for (size_t rank = 0; rank < NCCL_RANKS; rank++) {
        gw_device_close(rank_devices[rank]);
        rank_devices[rank] = NULL;
    }
}

/* ---- warming up ---------------------------------------------------------------------------- */

enum { WARM_UPS = 12 };

/* A rank's residual after some iterations of compression alone, and its number of selected
 * elements. */
struct warmed_up_rank {
    const struct scenario *scenario;
    struct gw_warmed_up warmed_up;
    float residual[MOST_ELEMENTS];
};

static void warm_up_rank(struct gw_communicator *communicator, void *context) {
    static const struct gw_warm_up_limits limits = {.iterations = WARM_UPS};
    struct warmed_up_rank *warmed_up = context;
    struct rank rank = {.scenario = warmed_up->scenario, .communicator = communicator};
    struct gw_error error = {0};
    open_rank(&rank, &error);
    warmed_up->warmed_up = warm_up(&rank, limits);
    require_ok(&rank, gw_session_copy(rank.executor, GW_RESIDUAL, warmed_up->residual, &error),
               &error);
    close_rank(&rank);
}

TEST(warming_up_is_the_hosts) {
    static const char *const names[] = {"hard-threshold", "sidco", "exdyna"};
    static struct warmed_up_rank ranks[2][2]; /* of the host, of a GPU */
    struct gw_device *device = need_device();
    session_options.transport = GW_GPU_MPI;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct scenario scenario;
        open_named(&scenario, names[i], 2, 0.01);
        for (int gpu = 0; gpu < 2; gpu++) {
            session_options.device = gpu ? device : NULL;
            ranks[gpu][0].scenario = ranks[gpu][1].scenario = &scenario;
            run_local_ranks(2, warm_up_rank, ranks[gpu], sizeof ranks[gpu][0]);
        }
        for (int r = 0; r < 2; r++) {
            assert_int_equal(ranks[1][r].warmed_up.iterations, WARM_UPS);
            assert_true(ranks[1][r].warmed_up.ratio == ranks[0][r].warmed_up.ratio);
            assert_memory_equal(ranks[1][r].residual, ranks[0][r].residual,
                                sizeof ranks[0][r].residual);
        }
        close_scenario(&scenario);
    }
    session_options = (struct gw_session_options){.seed = SEED};
    gw_device_close(device);
}

/* ---- times --------------------------------------------------------------------------------- */

enum { EVENTS = 7 };

/* Events are where the host was when it put them on the stream and when they were reached. */
TEST(times_of_events_are_the_hosts) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    struct gw_device_event *events[EVENTS];
    struct gw_gpu_clock clock;
    struct gw_error error = {0};
    double before_s[EVENTS];
    double after_s[EVENTS];
    assert_ok(gw_gpu_clock_open(&clock, device, NULL));
    for (int i = 0; i < EVENTS; i++) {
        assert_ok(gw_device_event_open(device, true, &events[i], NULL));
    }
    /* One that was never recorded was at no time. */
    double never_s = 0;
    assert_ok(gw_gpu_clock_begin(&clock, stream, NULL));
    assert_int_equal(gw_gpu_clock_time_s(&clock, events[0], &never_s, &error), GW_FAILED);
    assert_non_null(strstr(error.message, "cudaEventElapsedTime"));
    for (int round = 0; round < 3; round++) {
        assert_ok(gw_gpu_clock_begin(&clock, stream, NULL));
        for (int i = 0; i < EVENTS; i++) {
            gw_clock_sleep_until_s(gw_clock_now_s() + 1e-4 * i * round);
            before_s[i] = gw_clock_now_s();
            assert_ok(gw_device_event_record(events[i], stream, NULL));
            assert_ok(gw_device_event_finish(events[i], NULL));
            after_s[i] = gw_clock_now_s();
        }
        assert_ok(gw_gpu_clock_end(&clock, stream, NULL));
        double slack_s = fmax(clock.before.width_s, clock.after.width_s) + 1e-6;
        double last_s = clock.before.at_s;
        for (int i = 0; i < EVENTS; i++) {
            double time_s = 0;
            assert_ok(gw_gpu_clock_time_s(&clock, events[i], &time_s, NULL));
            assert_true(time_s >= last_s);
            assert_true(time_s >= before_s[i] - slack_s && time_s <= after_s[i] + slack_s);
            last_s = time_s;
        }
    }
    for (int i = 0; i < EVENTS; i++) {
        gw_device_event_close(events[i]);
    }
    gw_gpu_clock_close(&clock);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* ---- what cannot be ------------------------------------------------------------------------ */

static void open_where_gpus_are_shared(struct gw_communicator *communicator, void *context) {
    const struct scenario *scenario = context;
    struct gw_session *executor = NULL;
    struct gw_error error = {0};
    enum gw_status status =
        gw_session_open(&executor, &scenario->schedule, communicator, &session_options, &error);
    if (status != GW_BAD_INPUT || error.message[0] == '\0') {
        (void)fprintf(stderr, "NCCL with two ranks on a GPU: status %d: %s\n", (int)status,
                      error.message);
        _exit(1);
    }
}

TEST(nccl_does_not_share_a_gpu) {
    session_options.device = need_device();
    session_options.transport = GW_GPU_NCCL;
    struct scenario scenario;
    open_named(&scenario, "p-sgd", 2, 0.01);
    run_local_ranks(2, open_where_gpus_are_shared, &scenario, 0);
    close_scenario(&scenario);
    gw_device_close(session_options.device);
    session_options.device = NULL;
}
