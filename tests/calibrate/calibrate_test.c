/*
 * Calibration with ranks as threads and in made-up time: what it measures, how it fits, what it
 * writes down.
 */
#include "calibrate/calibrate.h"
#include "calibrate/fit/fit.h"
#include "kernels/kernels.h"
#include "tests/support.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_time.h"

static uint64_t seed;

/* ---- fitting ------------------------------------------------------------------------------- */

static const struct gw_subject subject = {.size_key = "bytes", .sorts = true};

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

static double number_in(const cJSON *object, const char *key) {
    const cJSON *value = cJSON_GetObjectItem(object, key);
    assert_true(cJSON_IsNumber(value));
    return value->valuedouble;
}

/* With two sizes nothing can be held out, with three one. */
static void an_error_is_of_sizes_that_were_held_out(void **state) {
    (void)state;
    for (size_t count = 2; count <= 3; count++) {
        struct gw_measurement measurements[3];
        struct gw_curve curve;
        cJSON *details = NULL;
        make_measurements(measurements, count, 1e-4, 2e-9, 0, 0.005);
        assert_int_equal(gw_choose_curve(&subject, measurements, count, &curve, &details, NULL),
                         GW_OK);
        const cJSON *fit = cJSON_GetObjectItem(details, "fit");
        const cJSON *line = cJSON_GetObjectItem(fit, "straight");
        assert_int_equal(cJSON_HasObjectItem(fit, "held_out_error"), count > 2);
        assert_int_equal(cJSON_HasObjectItem(line, "held_out_mean_error"), count > 2);
        assert_int_equal(cJSON_HasObjectItem(line, "held_out_max_error"), count > 2);
        gw_curve_free(&curve);
        cJSON_Delete(details);
    }
}

static void a_line_comes_with_its_intervals(void **state) {
    (void)state;
    struct gw_measurement measurements[15];
    struct gw_curve curve;
    cJSON *details = NULL;
    make_measurements(measurements, 15, 1e-4, 2e-9, 0, 0.02);
    assert_int_equal(gw_choose_curve(&subject, measurements, 15, &curve, &details, NULL), GW_OK);
    const cJSON *fit = cJSON_GetObjectItem(details, "fit");
    const cJSON *line = cJSON_GetObjectItem(fit, "straight");
    assert_true(number_in(line, "startup_low_s") < number_in(line, "startup_s"));
    assert_true(number_in(line, "startup_s") < number_in(line, "startup_high_s"));
    assert_true(number_in(line, "per_unit_low_s") < number_in(line, "per_unit_s"));
    assert_true(number_in(line, "per_unit_s") < number_in(line, "per_unit_high_s"));
    assert_true(number_in(line, "startup_high_s") < 1.1 * number_in(line, "startup_low_s"));
    line = cJSON_GetObjectItem(fit, "nlog2n");
    assert_true(number_in(line, "per_nlog2n_low_s") < number_in(line, "per_nlog2n_high_s"));
    cJSON_Delete(details);
    gw_curve_free(&curve);
}

static void a_jump_becomes_two_segments(void **state) {
    (void)state;
    struct gw_measurement measurements[15];
    struct gw_curve curve;
    cJSON *details = NULL;
    make_measurements(measurements, 15, 1e-4, 2e-9, 5e-4, 0);
    assert_int_equal(gw_choose_curve(&subject, measurements, 15, &curve, &details, NULL), GW_OK);
    assert_int_equal(curve.point_count, 4);
    for (size_t i = 0; i < 15; i++) {
        assert_true(near(gw_curve_time(&curve, measurements[i].size),
                         measurements[i].summary.median, 1e-9));
    }
    const cJSON *fit = cJSON_GetObjectItem(details, "fit");
    const cJSON *two = cJSON_GetObjectItem(fit, "two-segment");
    const cJSON *segments = cJSON_GetObjectItem(two, "segments");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(fit, "chosen")), "two-segment");
    assert_true(near(number_in(two, "break_bytes"), 65536, 0));
    assert_int_equal(cJSON_GetArraySize(segments), 2);
    assert_true(near(number_in(cJSON_GetArrayItem(segments, 0), "startup_s"), 1e-4, 1e-6));
    assert_true(near(number_in(cJSON_GetArrayItem(segments, 1), "startup_s"), 6e-4, 1e-6));
    gw_curve_free(&curve);
    cJSON_Delete(details);
}

static void a_curved_cost_stays_points(void **state) {
    (void)state;
    struct gw_measurement measurements[15];
    struct gw_curve curve;
    cJSON *details = NULL;
    make_measurements(measurements, 15, 1e-4, 2e-9, 0, 0);
    for (int i = 0; i < 15; i++) {
        measurements[i].summary.median = 1e-6 * pow(measurements[i].size, 0.6);
    }
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

struct calibrated {
    struct gw_calibration calibration;
    struct gw_cluster cluster;
};

static enum gw_status calibrate(struct gw_communicator *communicator, void *context,
                                struct gw_error *error) {
    struct calibrated *calibrated = context;
    calibrated->calibration.clock = &fake_self->clock;
    return gw_calibrate(communicator, &calibrated->calibration, &calibrated->cluster, error);
}

static double message_s(int from, int to, size_t bytes) {
    (void)from;
    (void)to;
    return 1e-6 + 1e-9 * (double)bytes;
}

static double collective_s(size_t bytes, int ranks) {
    return 1e-5 * ranks + 1e-8 * (double)bytes;
}

/* Five sizes of each curve. Compressors take no time but that of reading the clock. */
static struct gw_calibration describe(void) {
    struct gw_calibration calibration = gw_calibration_defaults();
    calibration.name = "threads";
    calibration.command = "by hand";
    calibration.max_bytes = 1 << 18;
    calibration.max_elements = 1 << 14;
    calibration.per_factor_four = 1;
    calibration.pool_bytes = 4 << 20;
    calibration.max_s_per_point = 1e-4;
    calibration.overlap = false; /* what threads do to each other takes real time */
    return calibration;
}

/* The cluster as a file has it, from rank 0; the others' is forgotten. */
static void measure(const char *path, int ranks, const struct gw_calibration *calibration,
                    struct gw_cluster *out) {
    struct calibrated calibrated[MOST_RANKS] = {0};
    for (int r = 0; r < ranks; r++) {
        calibrated[r].calibration = *calibration;
    }
    fake_message_s = message_s;
    fake_collective_s = collective_s;
    run_fake_ranks(ranks, calibrate, calibrated, sizeof *calibrated, NULL);
    assert_int_equal(gw_cluster_write(&calibrated[0].cluster, path, NULL), GW_OK);
    assert_int_equal(gw_cluster_read(path, out, NULL), GW_OK);
    if (out->network != NULL) {
        assert_memory_equal(calibrated[0].cluster.network, calibrated[1].cluster.network,
                            offsetof(struct gw_network, kept));
    }
    for (int r = 0; r < ranks; r++) {
        gw_cluster_free(&calibrated[r].cluster);
    }
}

static void check_curve(const struct gw_curve *curve, const cJSON *kept, size_t points) {
    assert_true(gw_curve_time(curve, 4096) > 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(kept, "raw")), points);
}

static const cJSON *find_collective(const struct gw_cluster *cluster, const char *name,
                                    size_t workers, const struct gw_curve **curve) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (cost->workers == workers && strcmp(cost->name, name) == 0) {
            *curve = &cost->curve;
            return cost->kept;
        }
    }
    return NULL;
}

/* Each collective among 2, 3 and 4 of 4 workers, one message among 2 alone. */
static void check_collectives(const struct gw_cluster *cluster) {
    assert_int_equal(cluster->collective_count, 7 * 3 + 1);
    for (size_t i = 0; gw_calibrated_collectives[i] != NULL; i++) {
        bool of_two = strcmp(gw_calibrated_collectives[i], "sendrecv") == 0;
        for (size_t workers = 2; workers <= (of_two ? 2 : 4); workers++) {
            const struct gw_curve *curve = NULL;
            const cJSON *kept =
                find_collective(cluster, gw_calibrated_collectives[i], workers, &curve);
            assert_non_null(kept);
            check_curve(curve, kept, 5);
        }
    }
}

static void calibration_writes_a_complete_cluster(void **state) {
    struct gw_cluster cluster;
    const struct gw_calibration calibration = describe();
    measure(path_in(*state, "cluster.json"), 4, &calibration, &cluster);
    assert_string_equal(cluster.name, "threads");
    assert_int_equal(cluster.workers, 4);
    assert_int_equal(cluster.workers_per_node, 4);
    check_collectives(&cluster);
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        assert_true(i < cluster.compressor_count);
        assert_string_equal(cluster.compressors[i].name, gw_compressors[i]->name);
        check_curve(&cluster.compressors[i].curve, cluster.compressors[i].kept, 5);
    }
    assert_non_null(cluster.network);
    const cJSON *source = cJSON_GetObjectItem(cluster.kept, "source");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(source, "kind")), "measured");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(source, "command")), "by hand");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(source, "hosts")), 1);
    gw_cluster_free(&cluster);
}

/* ---- an older cluster ---------------------------------------------------------------------- */

static const char *const allreduce_only[] = {"allreduce", NULL};
static const char *const no_collectives[] = {NULL};
static const struct gw_compressor *const no_compressors[] = {NULL};

/* A folder with a calibration of two ranks in older.json: for several tests. */
static int measure_older(void **state) {
    struct gw_cluster cluster;
    const struct gw_calibration calibration = describe();
    assert_int_equal(make_folder(state), 0);
    measure(path_in(*state, "older.json"), 2, &calibration, &cluster);
    gw_cluster_free(&cluster);
    return 0;
}

static void what_only_the_older_has_is_added(void **state) {
    struct gw_cluster older;
    struct gw_cluster cluster;
    const struct gw_curve *now = NULL;
    const struct gw_curve *then = NULL;
    struct gw_calibration calibration = describe();
    assert_int_equal(gw_cluster_read(path_in(*state, "older.json"), &older, NULL), GW_OK);
    calibration.collectives = allreduce_only;
    calibration.compressors = no_compressors;
    calibration.network = false;
    measure(path_in(*state, "cluster.json"), 2, &calibration, &cluster);
    assert_int_equal(cluster.collective_count, 1);
    assert_int_equal(cluster.compressor_count, 0);
    assert_null(cluster.network);
    assert_non_null(find_collective(&cluster, "allreduce", 2, &now));
    double measured_s = gw_curve_time(now, 5000);
    assert_int_equal(gw_json_put_text(older.kept, "rack", "third from the left", NULL), GW_OK);
    assert_int_equal(gw_calibration_add_older(&cluster, &older, NULL), GW_OK);
    assert_int_equal(cluster.collective_count, older.collective_count);
    /* Growth laws are of all curves; among two workers alone there are none. */
    assert_null(cJSON_GetObjectItemCaseSensitive(cluster.kept, "growth"));
    assert_int_equal(cluster.compressor_count, older.compressor_count);
    assert_non_null(find_collective(&cluster, "allreduce", 2, &now));
    assert_true(gw_curve_time(now, 5000) == measured_s);
    assert_non_null(find_collective(&cluster, "gather", 2, &now));
    assert_non_null(find_collective(&older, "gather", 2, &then));
    assert_true(gw_curve_time(now, 5000) == gw_curve_time(then, 5000));
    assert_memory_equal(cluster.network, older.network, offsetof(struct gw_network, kept));
    assert_non_null(cJSON_GetObjectItem(cluster.kept, "rack"));
    const cJSON *source = cJSON_GetObjectItem(cluster.kept, "source");
    assert_true(cJSON_Compare(cJSON_GetObjectItem(source, "earlier"),
                              cJSON_GetObjectItem(older.kept, "source"), 1));
    gw_cluster_free(&older);
    const char *path = path_in(*state, "both.json");
    assert_int_equal(gw_cluster_write(&cluster, path, NULL), GW_OK);
    gw_cluster_free(&cluster);
    assert_int_equal(gw_cluster_read(path, &cluster, NULL), GW_OK);
    gw_cluster_free(&cluster);
}

/* ---- looking at it again ------------------------------------------------------------------- */

struct checked {
    struct gw_calibration calibration;
    const struct gw_cluster *cluster;
    struct gw_check check;
};

static enum gw_status check(struct gw_communicator *communicator, void *context,
                            struct gw_error *error) {
    struct checked *checked = context;
    checked->calibration.clock = &fake_self->clock;
    GW_TRY(gw_calibration_require_same_hosts(communicator, checked->cluster, false, error));
    return gw_calibration_check(communicator, &checked->calibration, checked->cluster, 0.5,
                                &checked->check, error);
}

/* The file says of all sizes of a compressor that they took so many times what they took. */
static void pretend(const struct gw_cluster *cluster, const char *compressor, double factor) {
    static const char *const keys[] = {"median_s", "p5_s", "p95_s"};
    static const double spread[] = {1, 0.9, 1.1};
    const struct gw_compressor_cost *cost = gw_cluster_find_compressor(cluster, compressor);
    cJSON *raw = NULL;
    assert_non_null(cost);
    cJSON_ArrayForEach(raw, cJSON_GetObjectItem(cost->kept, "raw")) {
        double median_s = cJSON_GetObjectItem(raw, keys[0])->valuedouble * factor;
        for (size_t k = 0; k < 3; k++) {
            cJSON_SetNumberValue(cJSON_GetObjectItem(raw, keys[k]), median_s * spread[k]);
        }
    }
}

static void check_again(const struct gw_cluster *cluster, struct gw_check *out) {
    struct checked ranks[2] = {0};
    for (int r = 0; r < 2; r++) {
        ranks[r] = (struct checked){.calibration = describe(), .cluster = cluster};
    }
    run_fake_ranks(2, check, ranks, sizeof *ranks, NULL);
    gw_check_free(&ranks[1].check);
    *out = ranks[0].check;
}

/* How many sizes of a compressor moved, and by how much its first one changed. */
static size_t count_moved(const struct gw_check *check, const char *compressor, double *change) {
    size_t rows = 0;
    size_t moved = 0;
    for (size_t i = 0; i < check->count; i++) {
        const struct gw_check_row *row = &check->rows[i];
        assert_true(row->size > 0 && row->now_s.count > 0 && row->file_s > 0);
        if (strcmp(row->name, compressor) == 0) {
            *change = rows++ == 0 ? row->change : *change;
            moved += row->moved;
        }
    }
    return moved;
}

static void a_curve_that_moved_is_found(void **state) {
    struct gw_cluster cluster;
    struct gw_check check;
    double change = 0;
    assert_int_equal(gw_cluster_read(path_in(*state, "older.json"), &cluster, NULL), GW_OK);
    pretend(&cluster, "topk", 0.02);
    pretend(&cluster, "hard-threshold", 100);
    check_again(&cluster, &check);
    assert_true(check.count > 20 && check.moved == 6 && check.moved_curves == 2);
    assert_int_equal(count_moved(&check, "topk", &change), 3);
    assert_true(change > 5);
    assert_int_equal(count_moved(&check, "hard-threshold", &change), 3);
    assert_true(change < -0.8);
    assert_false(check.describes);
    gw_check_free(&check);
    gw_cluster_free(&cluster);
}

/* Without a spread of then nothing can be said to have moved out of it. */
static enum gw_status refuse_to_check(struct gw_communicator *communicator, void *context,
                                      struct gw_error *error) {
    struct checked *checked = context;
    assert_int_equal(gw_calibration_check(communicator, &checked->calibration, checked->cluster,
                                          0.5, &checked->check, error),
                     GW_BAD_INPUT);
    assert_non_null(strstr(error->message, "got none that can be measured again"));
    return GW_OK;
}

static void medians_without_spread_are_no_use(void **state) {
    static const char *const spreads[] = {"", ",\"p5_s\":1", ",\"p95_s\":1",
                                          ",\"p5_s\":0,\"p95_s\":1", ",\"p5_s\":1,\"p95_s\":\"1\""};
    (void)state;
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        char text[400];
        struct gw_cluster cluster;
        struct checked ranks[2] = {0};
        (void)snprintf(text, sizeof text,
                       "{\"schema\":\"gradweave/cluster@1\",\"name\":\"a\",\"workers\":2,"
                       "\"collectives\":{},\"compressors\":{\"topk\":{\"fixed_s\":1,\"raw\":["
                       "{\"elements\":1024,\"median_s\":1e-6%s}]}}}",
                       spreads[i]);
        assert_int_equal(gw_cluster_parse(text, strlen(text), "a.json", &cluster, NULL), GW_OK);
        for (int r = 0; r < 2; r++) {
            ranks[r] = (struct checked){.calibration = describe(), .cluster = &cluster};
            ranks[r].calibration.collectives = no_collectives;
        }
        run_ranks(2, refuse_to_check, ranks, sizeof *ranks);
        gw_cluster_free(&cluster);
    }
}

static enum gw_status refuse(struct gw_communicator *communicator, void *context,
                             struct gw_error *error) {
    const struct checked *checked = context;
    assert_int_equal(
        gw_calibration_require_same_hosts(communicator, checked->cluster, false, error),
        GW_BAD_INPUT);
    assert_non_null(strstr(error->message, "expected"));
    return GW_OK;
}

static void other_hosts_are_refused(void **state) {
    static const char *const clusters[] = {
        "{\"schema\":\"gradweave/cluster@1\",\"name\":\"a\",\"workers\":2,\"collectives\":{},"
        "\"compressors\":{}}",
        "{\"schema\":\"gradweave/cluster@1\",\"name\":\"a\",\"workers\":2,\"collectives\":{},"
        "\"compressors\":{},\"source\":{\"hosts\":[\"some other host\"]}}",
        "{\"schema\":\"gradweave/cluster@1\",\"name\":\"a\",\"workers\":2,\"collectives\":{},"
        "\"compressors\":{},\"source\":{\"hosts\":[]}}"};
    (void)state;
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        struct gw_cluster cluster;
        struct checked ranks[2] = {0};
        assert_int_equal(
            gw_cluster_parse(clusters[i], strlen(clusters[i]), "a.json", &cluster, NULL), GW_OK);
        ranks[0].cluster = ranks[1].cluster = &cluster;
        run_ranks(2, refuse, ranks, sizeof *ranks);
        gw_cluster_free(&cluster);
    }
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_cost_becomes_a_line),
        cmocka_unit_test(an_error_is_of_sizes_that_were_held_out),
        cmocka_unit_test(a_line_comes_with_its_intervals),
        cmocka_unit_test(a_jump_becomes_two_segments),
        cmocka_unit_test(a_curved_cost_stays_points),
        cmocka_unit_test(calibration_writes_a_complete_cluster),
        cmocka_unit_test(what_only_the_older_has_is_added),
        cmocka_unit_test(a_curve_that_moved_is_found),
        cmocka_unit_test(medians_without_spread_are_no_use),
        cmocka_unit_test(other_hosts_are_refused),
    };
    return cmocka_run_group_tests(tests, measure_older, remove_folder);
}
