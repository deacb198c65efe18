/*
 * Calibration with ranks as threads and in made-up time: what it measures, and what it writes
 * down.
 */
#include "calibrate/calibrate.h"
#include "kernels/kernels.h"
#include "tests/clusters.h"
#include "tests/test.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_time.h"

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
    assert_ok(gw_cluster_write(&calibrated[0].cluster, path, NULL));
    assert_ok(gw_cluster_read(path, out, NULL));
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
    assert_int_equal(cluster->collective_count, 6 * 3 + 1);
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

TEST(calibration_writes_a_complete_cluster) {
    struct gw_cluster cluster;
    const struct gw_calibration calibration = describe();
    measure(path_in(*state, "cluster.json"), 4, &calibration, &cluster);
    assert_string_equal(cluster.name, "threads");
    assert_int_equal(cluster.workers, 4);
    assert_int_equal(cluster.workers_per_node, 4);
    check_collectives(&cluster);
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        assert_true(i < cluster.compressors.count);
        assert_string_equal(cluster.compressors.list[i].name, gw_compressors[i]->name);
        const struct gw_kernel_cost *cost = &cluster.compressors.list[i];
        check_curve(&cost->curve, cost->kept, 5);
        if (!gw_compressor_selects(gw_compressors[i])) {
            bool ranked = gw_compressors[i]->rank > 0;
            assert_true(cost->densities[0] == (ranked ? 4 : 0));
            assert_true(cost->densities[1] == (ranked ? 16 : 0));
            assert_int_equal(gw_curve_costs(&cost->denser), ranked);
            continue;
        }
        check_curve(&cost->denser, cJSON_GetObjectItem(cost->kept, "denser"), 5);
        assert_true(cost->densities[0] == calibration.density);
        bool follows_asked = gw_compressors[i]->exact || gw_compressors[i]->steady;
        assert_true(cost->densities[1] ==
                    fmin((follows_asked ? 16 : 64) * calibration.density, 0.25));
        assert_int_equal(gw_curve_costs(&cost->denser_together),
                         !follows_asked || gw_compressors[i]->sketched);
    }
    assert_int_equal(cluster.aggregation.count, GW_AGGREGATOR_COUNT);
    for (size_t i = 0; i < GW_AGGREGATOR_COUNT; i++) {
        const struct gw_kernel_cost *cost = &cluster.aggregation.list[i];
        bool by_all = i != GW_SUM && i != GW_MERGE;
        bool has_densities = by_all && i < GW_DECODE;
        bool ranked = i == GW_FACTOR || i == GW_EXPAND;
        assert_string_equal(cost->name, gw_aggregator_names[i]);
        check_curve(&cost->curve, cost->kept, 5);
        assert_int_equal(gw_kernel_shares(cost), by_all);
        double times = !has_densities ? 0 : i == GW_HEAVYMIX ? 16 : 64;
        assert_true(cost->densities[1] == (ranked ? 16 : fmin(times * calibration.density, 0.25)));
        assert_int_equal(gw_curve_costs(&cost->denser_together), has_densities);
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

/* A compressor that sketches is measured without the search, and the search besides, whatever else
 * is asked for. */
TEST(compressors_that_sketch_also_measure_the_search) {
    static const struct gw_compressor *const sketch[] = {&gw_compressor_count_sketch, NULL};
    struct gw_cluster cluster;
    struct gw_calibration calibration = describe();
    calibration.collectives = no_collectives;
    calibration.compressors = sketch;
    calibration.aggregation = calibration.network = false;
    measure(path_in(*state, "sketch.json"), 2, &calibration, &cluster);
    assert_int_equal(cluster.compressors.count, 1);
    assert_int_equal(cluster.aggregation.count, 1);
    assert_string_equal(cluster.aggregation.list[0].name, "heavymix");
    gw_cluster_free(&cluster);
}

/* Margins of all curves are those of the file, some of them above 0. */
static void check_same_margins(const struct gw_kernel_costs *costs,
                               const struct gw_kernel_costs *read) {
    double sum = 0;
    assert_int_equal(costs->count, read->count);
    for (size_t i = 0; i < 4 * costs->count; i++) {
        size_t denser = i / 2 % 2;
        double margin = gw_margins_at(&costs->list[i / 4].margins[denser][i % 2], 5000);
        assert_true(margin == gw_margins_at(&read->list[i / 4].margins[denser][i % 2], 5000));
        sum += denser ? margin : 0;
    }
    assert_true(sum > 0);
}

TEST(curves_of_the_older_file_are_added) {
    struct gw_cluster older;
    struct gw_cluster cluster;
    const struct gw_curve *now = NULL;
    const struct gw_curve *then = NULL;
    struct gw_calibration calibration = describe();
    assert_ok(gw_cluster_read(path_in(*state, "older.json"), &older, NULL));
    calibration.collectives = allreduce_only;
    calibration.compressors = no_compressors;
    calibration.network = false;
    measure(path_in(*state, "cluster.json"), 2, &calibration, &cluster);
    assert_int_equal(cluster.collective_count, 1);
    assert_int_equal(cluster.compressors.count, 0);
    assert_int_equal(cluster.aggregation.count, GW_AGGREGATOR_COUNT - 1); /* no search */
    assert_null(cluster.network);
    assert_non_null(find_collective(&cluster, "allreduce", 2, &now));
    double measured_s = gw_curve_time(now, 5000);
    assert_ok(gw_json_put_text(older.kept, "rack", "third from the left", NULL));
    assert_ok(gw_calibration_add_older(&cluster, &older, NULL));
    assert_int_equal(cluster.collective_count, older.collective_count);
    /* Growth laws are of all curves; among two workers alone there are none. */
    assert_null(cJSON_GetObjectItemCaseSensitive(cluster.kept, "growth"));
    assert_int_equal(cluster.compressors.count, older.compressors.count);
    assert_int_equal(cluster.aggregation.count, GW_AGGREGATOR_COUNT);
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
    assert_ok(gw_cluster_write(&cluster, path, NULL));
    struct gw_cluster again;
    assert_ok(gw_cluster_read(path, &again, NULL));
    check_same_margins(&cluster.compressors, &again.compressors);
    check_same_margins(&cluster.aggregation, &again.aggregation);
    gw_cluster_free(&again);
    gw_cluster_free(&cluster);
}

TEST(parts_that_the_newer_file_lacks_whole_are_added) {
    struct gw_cluster older;
    struct gw_cluster cluster;
    assert_ok(gw_cluster_read(path_in(*state, "older.json"), &older, NULL));
    parse_cluster(
        &cluster,
        "'workers': 2, 'workers_per_node': 2, 'compressors': {}, 'collectives': {'allreduce': "
        "[{'workers': 2, 'alpha_s': 1e-5, 'beta_s_per_byte': 1e-9}]}");
    assert_int_equal(cluster.aggregation.count, 0);
    assert_ok(gw_calibration_add_older(&cluster, &older, NULL));
    assert_int_equal(cluster.aggregation.count, older.aggregation.count);
    assert_int_equal(cluster.compressors.count, older.compressors.count);
    assert_int_equal(cluster.collective_count, older.collective_count);
    gw_cluster_free(&older);
    gw_cluster_free(&cluster);
}

/* ---- looking at it again ------------------------------------------------------------------- */

struct checked {
    struct gw_calibration calibration;
    const struct gw_cluster *cluster;
    struct gw_check check;
};

static enum gw_status check_undoubted(struct gw_communicator *communicator,
                                      const struct gw_cluster *cluster, struct gw_error *error) {
    struct gw_arena arena = {0};
    char **doubts = NULL;
    size_t count = 1;
    GW_TRY(
        gw_calibration_uncertainty_reasons(communicator, cluster, &arena, &doubts, &count, error));
    assert_int_equal(count, 0);
    gw_arena_free(&arena);
    return GW_OK;
}

static enum gw_status check(struct gw_communicator *communicator, void *context,
                            struct gw_error *error) {
    struct checked *checked = context;
    checked->calibration.clock = &fake_self->clock;
    GW_TRY(gw_calibration_require_same_hosts(communicator, checked->cluster, false, error));
    GW_TRY(check_undoubted(communicator, checked->cluster, error));
    return gw_calibration_check(communicator, &checked->calibration, checked->cluster, 0.5,
                                &checked->check, error);
}

/* The file says of all sizes of a compressor that they took so many times what they took. */
static void pretend(const struct gw_cluster *cluster, const char *compressor, double factor) {
    const struct gw_kernel_cost *cost = gw_kernel_cost_find(&cluster->compressors, compressor);
    assert_non_null(cost);
    for (size_t i = 0; i < cost->raw.count; i++) {
        struct gw_raw_size *raw = &cost->raw.sizes[i];
        raw->median_s *= factor;
        raw->p5_s = 0.9 * raw->median_s;
        raw->p95_s = 1.1 * raw->median_s;
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

TEST(a_curve_that_moved_is_found) {
    struct gw_cluster cluster;
    struct gw_check check;
    double change = 0;
    assert_ok(gw_cluster_read(path_in(*state, "older.json"), &cluster, NULL));
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

/* ---- drift ----------------------------------------------------------------------------------- */

struct drifting {
    const struct gw_cluster *cluster;
    const char *const *names;
    char said[400];
};

static enum gw_status find_drift(struct gw_communicator *communicator, void *context,
                                 struct gw_error *error) {
    struct drifting *drifting = context;
    struct gw_arena arena = {0};
    char *said = NULL;
    GW_TRY(gw_calibration_find_drift(communicator, drifting->cluster, drifting->names, 2,
                                     &fake_self->clock, &arena, &said, error));
    (void)snprintf(drifting->said, sizeof drifting->said, "%s", said == NULL ? "" : said);
    gw_arena_free(&arena);
    return GW_OK;
}

static void assert_drift(const struct gw_cluster *cluster, const char *const *names,
                         const char *expected) {
    struct drifting ranks[2] = {{.cluster = cluster, .names = names},
                                {.cluster = cluster, .names = names}};
    run_fake_ranks(2, find_drift, ranks, sizeof *ranks, NULL);
    assert_string_equal(ranks[1].said, "");
    if (expected == NULL) {
        assert_string_equal(ranks[0].said, "");
    } else if (strstr(ranks[0].said, expected) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", expected, ranks[0].said);
    }
}

/* Only what is asked about is looked at. */
TEST(drift_is_of_what_was_asked_about) {
    static const char *const others[] = {"allreduce", "randk", NULL};
    static const char *const all[] = {"allgather", "topk", "allreduce", NULL};
    static const char *const none[] = {NULL};
    static const char *const unmeasured[] = {"gtopk", "push", NULL}; /* that files may have */
    struct gw_cluster cluster;
    assert_ok(gw_cluster_read(path_in(*state, "older.json"), &cluster, NULL));
    assert_drift(&cluster, all, NULL);
    pretend(&cluster, "topk", 0.5);
    assert_drift(&cluster, others, NULL);
    assert_drift(&cluster, none, NULL);
    assert_drift(&cluster, unmeasured, NULL);
    assert_drift(&cluster, all, "times have moved by more than 10%, most of all topk at ");
    gw_cluster_free(&cluster);
}

/* ---- what cannot be checked ------------------------------------------------------------------ */

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

TEST(medians_without_spread_are_no_use) {
    static const char *const spreads[] = {"", ",'p5_s':1", ",'p95_s':1", ",'p5_s':0,'p95_s':1",
                                          ",'p5_s':1,'p95_s':'1'"};
    (void)state;
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        struct gw_cluster cluster;
        struct checked ranks[2] = {0};
        parse_cluster(&cluster,
                      "'workers':2,'collectives':{},'compressors':{'topk':{'fixed_s':1,'raw':[{'"
                      "elements':1024,'median_s':1e-6%s}]}}",
                      spreads[i]);
        for (int r = 0; r < 2; r++) {
            ranks[r] = (struct checked){.calibration = describe(), .cluster = &cluster};
            ranks[r].calibration.collectives = no_collectives;
        }
        run_ranks(2, refuse_to_check, ranks, sizeof *ranks);
        gw_cluster_free(&cluster);
    }
}

/* A cluster of other hosts; `doubt`: what is to be said of it, besides how many ranks a node has.
 */
struct other_hosts {
    const char *source, *doubt;
    const struct gw_cluster *cluster;
};

static enum gw_status refuse(struct gw_communicator *communicator, void *context,
                             struct gw_error *error) {
    const struct other_hosts *other = context;
    struct gw_arena arena = {0};
    char **doubts = NULL;
    size_t count = 0;
    assert_int_equal(gw_calibration_require_same_hosts(communicator, other->cluster, false, error),
                     GW_BAD_INPUT);
    assert_non_null(strstr(error->message, "expected"));
    assert_ok(gw_calibration_uncertainty_reasons(communicator, other->cluster, &arena, &doubts,
                                                 &count, error));
    assert_int_equal(count, 2);
    assert_non_null(strstr(doubts[0], other->doubt));
    assert_string_equal(doubts[1], "c.json has 1 worker on a node, this job up to 2");
    gw_arena_free(&arena);
    return GW_OK;
}

TEST(other_hosts_are_refused_or_doubted) {
    static const struct other_hosts others[] = {
        {.source = "", .doubt = "c.json was not calibrated on hosts that it names"},
        {.source = ",'source':{'hosts':['some other host'],'links':["
                   "{'bytes_per_s':1e8},{'bytes_per_s':'?'}]}",
         .doubt = "c.json was calibrated on other hosts than 1 of this job's 1, such as "},
        {.source = ",'source':{'hosts':[]}", .doubt = "on other hosts than 1 of this job's 1"}};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct gw_cluster cluster;
        struct other_hosts ranks[2] = {others[i], others[i]};
        parse_cluster(&cluster, "'workers':2,'collectives':{},'compressors':{}%s",
                      others[i].source);
        ranks[0].cluster = ranks[1].cluster = &cluster;
        run_ranks(2, refuse, ranks, sizeof *ranks);
        gw_cluster_free(&cluster);
    }
}

FIXTURES(measure_older, remove_folder)
