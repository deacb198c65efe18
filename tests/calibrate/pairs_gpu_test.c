/* Calibration of pairs with memory of GPUs: messages between two ranks, and compression besides
 * collectives. Ranks are threads; their GPUs may be emulated. */
#include "calibrate/measure/messages.h"
#include "calibrate/measure/overlap.h"
#include "calibrate/report.h"
#include "tests/test.h"
#include "tests/transport/promises.h"

enum { RANKS = 2 };

/* The cluster of each rank, for all to compare. */
static struct gw_cluster clusters[RANKS];

static const struct gw_report report = {.scale = 1};

/* ---- what goes between GPUs ---------------------------------------------------------------- */

/* The time that a message takes its sender before it leaves. */
static const double message_s = 5e-4;
static const double byte_s = 5e-8;
static const struct gw_transport *under[RANKS];
static size_t gathered[RANKS], reduced[RANKS];

static enum gw_status send_slowly(struct gw_communicator *communicator,
                                  const struct gw_message *message, struct gw_request *out,
                                  struct gw_error *error) {
    if (!message->receives) {
        gw_clock_sleep_until_s(gw_clock_now_s() + message_s + (double)message->bytes * byte_s);
    }
    return under[communicator->rank]->start(communicator, message, out, error);
}

static enum gw_status count_collective(struct gw_communicator *communicator,
                                       const struct gw_collective_call *call,
                                       struct gw_error *error) {
    gathered[communicator->rank] += call->kind == GW_ALLGATHER;
    reduced[communicator->rank] += call->kind == GW_ALLREDUCE;
    return under[communicator->rank]->collect(communicator, call, error);
}

/* The same between GPUs, with these costs and counts. */
static struct gw_communicator watch(const struct gw_communicator *gpus, struct gw_transport *made) {
    int rank = gpus->rank;
    under[rank] = gpus->transport;
    gathered[rank] = reduced[rank] = 0;
    *made = *gpus->transport;
    made->start = send_slowly;
    made->collect = count_collective;
    return (struct gw_communicator){
        .transport = made, .rank = rank, .size = gpus->size, .state = gpus->state};
}

/* The host's communicators, which those of GPUs are beside. */
static struct gw_communicator parents[RANKS];

static const char *keep_parent(struct gw_communicator *parent) {
    parents[parent->rank] = *parent;
    return NULL;
}

static struct gw_calibration calibration_of(struct gw_communicator *gpus) {
    struct gw_calibration calibration = gw_calibration_defaults();
    calibration.device = gw_device_stream_device(stream_of(gpus));
    calibration.gpu_communicator = gpus;
    calibration.max_bytes = 1 << 16;
    calibration.max_elements = 256; /* an emulated GPU is slow */
    calibration.max_s_per_point = 0.005;
    calibration.time_s = 3;
    return calibration;
}

/* Compares both ranks' results, once both are there. */
static const char *compare(struct gw_communicator *parent, bool (*same)(void), const char *why) {
    bool right = parent->transport->barrier(parent, NULL) == GW_OK && same();
    return parent->transport->barrier(parent, NULL) == GW_OK && right ? NULL : why;
}

/* ---- messages ------------------------------------------------------------------------------ */

static bool networks_are_the_same(void) {
    return memcmp(clusters[0].network, clusters[1].network, offsetof(struct gw_network, kept)) == 0;
}

/* Bounds are those of loggp_test, of which this is the host's part. */
static bool is_known(const struct gw_loggp *found) {
    double short_s = 2 * found->overhead_s + found->gap_s + found->latency_s;
    double long_s = found->gap_s_per_byte + found->overhead_s_per_byte;
    bool right = short_s >= message_s && short_s <= 1.95 * message_s && long_s >= 0.7 * byte_s &&
                 long_s <= 1.95 * byte_s && found->latency_s >= 0 && found->overhead_s > 0 &&
                 found->gap_s >= 0;
    if (!right) {
        print_error("a message took %g s, expected %g; a byte %g, expected %g\n", short_s,
                    message_s, long_s, byte_s);
    }
    return right;
}

static bool has_raw(const struct gw_network *network, const char *what) {
    const cJSON *within = cJSON_GetObjectItem(network->kept, "within");
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItem(within, "raw")) {
        if (strcmp(cJSON_GetObjectItem(entry, "what")->valuestring, what) == 0 &&
            cJSON_GetObjectItem(entry, "median_s")->valuedouble > 0) {
            return true;
        }
    }
    return false;
}

/* Measures, and compares what the ranks have; then `right` says whether that is right. */
static const char *measure(struct gw_communicator *gpus,
                           enum gw_status (*calibrate)(struct gw_communicator *communicator,
                                                       const struct gw_calibration *calibration,
                                                       const struct gw_report *report,
                                                       struct gw_cluster *cluster,
                                                       struct gw_error *error),
                           bool (*same)(void), bool (*right)(int rank), const char *complaint) {
    struct gw_communicator *parent = &parents[gpus->rank];
    struct gw_cluster *cluster = &clusters[gpus->rank];
    struct gw_transport transport;
    struct gw_communicator watched = watch(gpus, &transport);
    struct gw_calibration calibration = calibration_of(&watched);
    struct gw_error error = {0};
    if (gw_cluster_create(cluster, "c", RANKS, RANKS, NULL) != GW_OK ||
        calibrate(parent, &calibration, &report, cluster, &error) != GW_OK) {
        print_error("%s\n", error.message);
        return "not measured";
    }
    const char *differ = compare(parent, same, "ranks differ, or have not all");
    bool is_right = right(gpus->rank);
    gw_cluster_free(cluster);
    return differ != NULL ? differ : is_right ? NULL : complaint;
}

static bool has_network(int rank) {
    const struct gw_network *network = clusters[rank].network;
    return is_known(&network->within) && has_raw(network, "ping-pong") &&
           has_raw(network, "flood") && has_raw(network, "send call") &&
           has_raw(network, "receive call");
}

static const char *messages_are_measured(struct gw_communicator *gpus) {
    return measure(gpus, gw_calibrate_network, networks_are_the_same, has_network,
                   "messages: not what they cost");
}

/* ---- overlap ------------------------------------------------------------------------------- */

static const char *const collectives[] = {"allgather", "allreduce", "alltoall"};

static bool is_factor(const struct gw_overlap_factor *factor) {
    return factor->low > 0 && factor->low <= factor->factor && factor->factor <= factor->high &&
           isfinite(factor->high);
}

/* And as many exchanges on both. */
static bool pairs_are_whole(void) {
    if (gathered[0] != gathered[1] || reduced[0] != reduced[1]) {
        return false;
    }
    for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++) {
        const struct gw_overlap_pair *pairs[RANKS];
        for (int rank = 0; rank < RANKS; rank++) {
            pairs[rank] = gw_overlap_find(clusters[rank].overlap, collectives[c], "topk");
        }
        if (pairs[0] == NULL || pairs[1] == NULL || pairs[0]->point_count == 0 ||
            pairs[0]->point_count != pairs[1]->point_count ||
            memcmp(pairs[0]->points, pairs[1]->points,
                   pairs[0]->point_count * sizeof *pairs[0]->points) != 0) {
            return false;
        }
        for (size_t i = 0; i < pairs[0]->point_count; i++) {
            const struct gw_overlap_point *point = &pairs[0]->points[i];
            if (!is_factor(&point->compute) || !is_factor(&point->communication)) {
                return false;
            }
        }
    }
    return true;
}

static bool has_details(int rank) {
    const cJSON *kept = clusters[rank].overlap->kept;
    return cJSON_GetObjectItem(kept, "elements")->valuedouble == 256 && gathered[rank] > 10 &&
           reduced[rank] > 10;
}

static const char *overlap_is_measured(struct gw_communicator *gpus) {
    return measure(gpus, gw_calibrate_overlap, pairs_are_whole, has_details,
                   "overlap: details are missing");
}

/* ---- a load -------------------------------------------------------------------------------- */

/* A series leaves a residual of zeros, and took no longer than it was waited for. */
static const char *check_load(struct gw_overlap_load *load,
                              const struct gw_compressor *compressor) {
    struct gw_error error = {0};
    load->compressor = compressor;
    for (int i = 0; i < 3; i++) {
        size_t selected = 0;
        double started_s = gw_clock_now_s();
        if (gw_overlap_load_run(load, &error) != GW_OK) {
            print_error("%s\n", error.message);
            return "a load fails";
        }
        double passed_s = gw_clock_now_s() - started_s;
        double took_s = gw_overlap_load_took_s(load);
        if (!(took_s > 0 && took_s <= 2 * passed_s)) {
            return "a load says another time than it took";
        }
        if (gw_gpu_selection_finish(&load->selecting.on_gpu, load->stream, &selected, NULL) !=
                GW_OK ||
            selected == 0 || selected > load->elements / 10) {
            return "a load selects nothing, or all";
        }
    }
    float *residual = malloc(load->residual.bytes);
    bool clear = residual != NULL;
    copy_from_device(load->stream, residual, load->residual.data, load->residual.bytes);
    for (size_t i = 0; i < load->residual.bytes / sizeof *residual; i++) {
        clear = clear && residual[i] == 0;
    }
    free(residual);
    return clear ? NULL : "a load leaves a residual";
}

TEST(a_load_compresses_series) {
    struct gw_overlap_load load;
    struct gw_calibration calibration = gw_calibration_defaults();
    calibration.device = need_device();
    calibration.max_elements = 4096;
    calibration.density = 0.01;
    assert_ok(gw_overlap_load_open(&load, &calibration, 0, NULL));
    assert_int_equal(load.elements, 4096);
    assert_true(load.gradient.bytes >= 4 * gw_device_cache_bytes(calibration.device));
    const char *complaint = check_load(&load, &gw_compressor_hard_threshold);
    complaint = complaint == NULL ? check_load(&load, &gw_compressor_topk) : complaint;
    gw_overlap_load_close(&load);
    gw_device_close(calibration.device);
    if (complaint != NULL) {
        fail_msg("%s", complaint);
    }
}

/* The halves of its largest group are other values. */
TEST(a_group_is_drawn_as_a_whole) {
    struct gw_overlap_load load;
    struct gw_calibration calibration = gw_calibration_defaults();
    calibration.device = need_device();
    calibration.max_elements = 1 << 24;
    assert_ok(gw_overlap_load_open(&load, &calibration, 0, NULL));
    assert_int_equal(load.elements, 1 << 22);
    size_t bytes = load.elements * sizeof(float);
    char *group = malloc(bytes);
    assert_non_null(group);
    copy_from_device(load.stream, group, load.gradient.data, bytes);
    assert_memory_not_equal(group, group + bytes / 2, bytes / 2);
    free(group);
    gw_overlap_load_close(&load);
    gw_device_close(calibration.device);
}

/* ---- between threads ----------------------------------------------------------------------- */

static check *const measurements[] = {messages_are_measured, overlap_is_measured, NULL};

static const char *measures_over_host(struct gw_communicator *parent) {
    return check_beside(parent, NULL, GW_GPU_MPI, 0, measurements);
}

static const char *measures_over_nccl(struct gw_communicator *parent) {
    return check_beside(parent, NULL, GW_GPU_NCCL, 20, measurements);
}

static void run_threads(check *measures) {
    check *const checks[] = {keep_parent, measures, NULL};
    check_among(RANKS, checks);
}

TEST(pairs_are_measured_through_the_host) {
    gw_device_close(need_device());
    run_threads(measures_over_host);
}

TEST(pairs_are_measured_over_nccl) {
    struct gw_gpu gpus[RANKS];
    struct gw_error error = {0};
    gw_device_close(need_device());
    if (gw_nccl_need(&error) != GW_OK || gw_cuda_devices(gpus, RANKS) < RANKS) {
        print_message("skipped: expected NCCL and two GPUs: %s\n", error.message);
        skip();
    }
    run_threads(measures_over_nccl);
}

static int emulate_two(void **state) {
    (void)state;
    return setenv("GW_EMULATED_GPUS", "2", 1);
}

FIXTURES(emulate_two, NULL)
