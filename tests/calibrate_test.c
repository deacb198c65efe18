/*
 * Calibration with ranks as threads of this process: what it
 * measures, how it fits, what it writes down.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <pthread.h>

#include "calibrate/calibrate.h"
#include "calibrate/curves.h"
#include "calibrate/measure.h"
#include "kernels/kernels.h"
#include "tests/support.h"

enum { MOST_RANKS = 4 };

static uint64_t seed;

/* ---- ranks --------------------------------------------------------------------------------- */

struct rank {
    struct gw_communicator communicator;
    struct gw_calibration calibration;
    struct gw_measurement measurement;
    struct gw_cluster cluster;
    enum gw_status status;
};

static void run_ranks(struct rank *ranks, int size, void *(*run)(void *)) {
    struct gw_communicator communicators[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){.communicator = communicators[r],
                                 .calibration = gw_calibration_defaults()};
        assert_int_equal(pthread_create(&threads[r], NULL, run, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        communicators[r].transport->close(&communicators[r]);
        assert_int_equal(ranks[r].status, GW_OK);
    }
}

/* ---- measuring ----------------------------------------------------------------------------- */

/*
 * Rank 1 needs 3 ms, the others 1 ms; and rank 2 comes to each
 * barrier late, which is not to count.
 */
static enum gw_status sleep_by_rank(void *context, struct gw_error *error) {
    const struct rank *rank = context;
    (void)error;
    double start_s = gw_clock_now_s();
    gw_clock_sleep_until_s(start_s + (rank->communicator.rank == 1 ? 3e-3 : 1e-3));
    return GW_OK;
}

static const struct gw_transport *punctual;

static enum gw_status late_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    if (communicator->rank == 2) {
        gw_clock_sleep_until_s(gw_clock_now_s() + 5e-3);
    }
    return punctual->barrier(communicator, error);
}

static void *measure_sleep(void *argument) {
    struct rank *rank = argument;
    struct gw_transport late = *rank->communicator.transport;
    late.barrier = late_barrier;
    rank->communicator.transport = &late;
    rank->calibration.max_s_per_point = 0.1;
    struct gw_subject subject = {.run = sleep_by_rank, .context = rank};
    rank->status =
        gw_measure(&rank->communicator, &rank->calibration, &subject, &rank->measurement, NULL);
    return NULL;
}

static void the_slowest_rank_counts_and_a_late_one_does_not(void **state) {
    (void)state;
    struct rank ranks[3];
    struct gw_communicator communicator;
    assert_int_equal(gw_communicators_open_local(1, &communicator, NULL), GW_OK);
    punctual = communicator.transport;
    punctual->close(&communicator);
    run_ranks(ranks, 3, measure_sleep);
    for (int r = 0; r < 3; r++) {
        const struct gw_summary *summary = &ranks[r].measurement.summary;
        assert_true(summary->median >= 3e-3);
        assert_true(summary->median < 4.5e-3);
        assert_true(summary->median == ranks[0].measurement.summary.median);
        assert_int_equal(summary->count, ranks[0].measurement.summary.count);
    }
}

/* ---- fitting ------------------------------------------------------------------------------- */

static const enum gw_curve_shape shapes[] = {GW_STRAIGHT, GW_NLOG2N};
static const struct gw_subject subject = {.size_key = "bytes", .shapes = shapes, .shape_count = 2};

static void make_measurements(struct gw_measurement *out, size_t count, double startup,
                              double per_unit, double kink, double noise) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, seed, 1, NULL), GW_OK);
    for (size_t i = 0; i < count; i++) {
        double size = 1024.0 * (double)(1u << i);
        double time = startup + per_unit * size + (size > 65536 ? kink : 0);
        out[i] = (struct gw_measurement){
            .size = size,
            .summary = {.count = 20, .median = time * (1 + gw_random_normal(random, noise))}};
    }
    gw_random_close(random);
}

static void a_straight_cost_becomes_a_line(void **state) {
    (void)state;
    struct gw_measurement measurements[15];
    struct gw_curve curve;
    cJSON *details = NULL;
    make_measurements(measurements, 15, 1e-4, 2e-9, 0, 0.005);
    assert_int_equal(gw_choose_curve(&subject, measurements, 15, &curve, &details, NULL), GW_OK);
    assert_int_equal(curve.point_count, 0);
    assert_true(near(curve.fixed_s, 1e-4, 0.02));
    assert_true(near(curve.per_unit_s, 2e-9, 0.02));
    const cJSON *fit = cJSON_GetObjectItem(details, "fit");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(fit, "chosen")), "straight");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(details, "raw")), 15);
    cJSON_Delete(details);
}

static void a_kinked_cost_stays_points(void **state) {
    (void)state;
    struct gw_measurement measurements[15];
    struct gw_curve curve;
    cJSON *details = NULL;
    make_measurements(measurements, 15, 1e-4, 2e-9, 5e-4, 0);
    assert_int_equal(gw_choose_curve(&subject, measurements, 15, &curve, &details, NULL), GW_OK);
    assert_int_equal(curve.point_count, 15);
    for (size_t i = 0; i < 15; i++) {
        assert_true(near(gw_curve_time(&curve, measurements[i].size),
                         measurements[i].summary.median, 1e-12));
    }
    gw_curve_free(&curve);
    cJSON_Delete(details);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void *calibrate(void *argument) {
    struct rank *rank = argument;
    rank->calibration.name = "threads";
    rank->calibration.command = "by hand";
    rank->calibration.max_bytes = 1 << 16;
    rank->calibration.max_elements = 1 << 14;
    rank->calibration.max_s_per_point = 0.005;
    rank->status = gw_calibrate(&rank->communicator, &rank->calibration, &rank->cluster, NULL);
    return NULL;
}

static void check_curve(const struct gw_curve *curve, const cJSON *kept, size_t points) {
    assert_true(gw_curve_time(curve, 4096) > 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(kept, "raw")), points);
}

static void calibration_writes_a_complete_cluster(void **state) {
    struct rank ranks[2];
    struct gw_cluster cluster;
    run_ranks(ranks, 2, calibrate);
    const char *path = path_in(*state, "cluster.json");
    assert_int_equal(gw_cluster_write(&ranks[0].cluster, path, NULL), GW_OK);
    assert_int_equal(gw_cluster_read(path, &cluster, NULL), GW_OK);
    assert_string_equal(cluster.name, "threads");
    assert_int_equal(cluster.workers, 2);
    assert_int_equal(cluster.workers_per_node, 2);
    assert_int_equal(cluster.collective_count, 2);
    assert_string_equal(cluster.collectives[0].name, "allgather");
    assert_string_equal(cluster.collectives[1].name, "allreduce");
    for (size_t i = 0; i < 2; i++) {
        check_curve(&cluster.collectives[i].curve, cluster.collectives[i].kept, 7);
    }
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        assert_true(i < cluster.compressor_count);
        assert_string_equal(cluster.compressors[i].name, gw_compressors[i]->name);
        check_curve(&cluster.compressors[i].curve, cluster.compressors[i].kept, 5);
    }
    assert_non_null(cluster.network);
    assert_memory_equal(cluster.network, ranks[1].cluster.network,
                        offsetof(struct gw_network, kept));
    const cJSON *source = cJSON_GetObjectItem(cluster.kept, "source");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(source, "kind")), "measured");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(source, "command")), "by hand");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(source, "hosts")), 1);
    gw_cluster_free(&cluster);
    gw_cluster_free(&ranks[0].cluster);
    gw_cluster_free(&ranks[1].cluster);
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_rank_counts_and_a_late_one_does_not),
        cmocka_unit_test(a_straight_cost_becomes_a_line),
        cmocka_unit_test(a_kinked_cost_stays_points),
        cmocka_unit_test_setup_teardown(calibration_writes_a_complete_cluster, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
