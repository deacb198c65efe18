/*
 * The largest messages of all collectives, with ranks as threads: what is asked for as far as it
 * fits into the memory that a machine's ranks share, and no byte beyond.
 */
#include "calibrate/measure/points.h"
#include "calibrate/measure/survey.h"
#include "tests/test.h"

#include "tests/ranks.h"

static const size_t mebi = 1 << 20;

/* ---- where ranks are ----------------------------------------------------------------------- */

/* Names that ranks give in place of their hosts' and their machines'; "": none. */
static char host_names[MOST_RANKS][GW_HOST_SIZE];
static char machine_names[MOST_RANKS][GW_HOST_SIZE];
static const struct gw_transport *plain;
static struct gw_transport moved;

/* Names travel in rooms of their own size: so does nothing else here. */
static enum gw_status collect_elsewhere(struct gw_communicator *communicator,
                                        const struct gw_collective_call *call,
                                        struct gw_error *error) {
    char host[GW_HOST_SIZE] = "";
    bool names = call->kind == GW_ALLGATHER && call->bytes == GW_HOST_SIZE;
    (void)gethostname(host, sizeof host - 1);
    GW_TRY(plain->collect(communicator, call, error));
    for (int r = 0; r < communicator->size && names; r++) {
        char *name = (char *)call->receive + (size_t)r * GW_HOST_SIZE;
        const char *said = strcmp(name, host) == 0 ? host_names[r] : machine_names[r];
        if (said[0] != '\0') {
            memcpy(name, said, GW_HOST_SIZE);
        }
    }
    return GW_OK;
}

/* ---- what is offered ----------------------------------------------------------------------- */

/* One rank's: what is asked for, and what it is offered. */
struct offered {
    size_t max_bytes;
    bool runs;
    size_t largest[8][2]; /* of each collective with two workers, and with all */
    bool of_fewer[2];     /* whether these are of fewer than there are */
};

static enum gw_status run_largest(struct gw_communicator *communicator, void *context,
                                  struct gw_error *error) {
    static const struct gw_compressor *const no_compressors[] = {NULL};
    struct offered *offered = context;
    struct gw_calibration calibration = gw_calibration_defaults();
    struct gw_point_survey survey;
    struct gw_communicator elsewhere = *communicator;
    elsewhere.transport = &moved;
    calibration.max_bytes = offered->max_bytes;
    calibration.compressors = no_compressors;
    calibration.aggregation = false;
    GW_TRY(gw_point_survey_open(&elsewhere, &calibration, &survey, error));
    for (size_t i = 0; i < survey.list.count; i++) {
        const struct gw_series *series = &survey.list.items[i];
        size_t which = 0;
        while (strcmp(gw_calibrated_collectives[which], series->subject.name) != 0) {
            which++;
        }
        if (series->workers == 2 || series->workers == communicator->size) {
            offered->largest[which][series->workers > 2] = series->subject.largest;
            offered->of_fewer[series->workers > 2] = series->of_fewer;
        }
        if (offered->runs && communicator->rank < series->workers) {
            GW_TRY(series->subject.prepare(series->subject.context, series->subject.largest / 8 * 8,
                                           error));
            GW_TRY(series->subject.run(series->subject.context, error));
            GW_TRY(series->subject.run(series->subject.context, error));
        }
    }
    gw_point_survey_close(&survey);
    return GW_OK;
}

/*
 * Checks that each rank is offered the same, with two workers and with all. `runs` also calibrates.
 */
static void check_offered(int ranks, size_t max_bytes, bool runs, const char *name, size_t of_two,
                          size_t of_all) {
    struct offered offered[MOST_RANKS] = {0};
    for (int r = 0; r < ranks; r++) {
        offered[r].max_bytes = max_bytes;
        offered[r].runs = runs;
    }
    struct gw_communicator alone;
    assert_ok(gw_communicators_open_local(1, &alone, NULL));
    plain = alone.transport;
    moved = *plain;
    moved.collect = collect_elsewhere;
    plain->close(&alone);
    run_ranks(ranks, run_largest, offered, sizeof *offered);
    size_t which = 0;
    while (strcmp(gw_calibrated_collectives[which], name) != 0) {
        which++;
    }
    for (int r = 0; r < ranks; r++) {
        assert_memory_equal(offered[r].largest, offered[0].largest, sizeof offered[r].largest);
        assert_int_equal(offered[r].largest[which][0], of_two);
        assert_int_equal(offered[r].largest[which][1], of_all);
        assert_true(offered[r].of_fewer[0] == (ranks > 2) && !offered[r].of_fewer[1]);
    }
}

/* Gigabytes that travel, for which the thread sanitizer takes minutes, are not for few trials. */
static bool runs_large(void) {
    return gw_trials(100) >= 10;
}

/* 8 ranks on one machine have 64 MiB each for what they send, and as much for what they receive. */
TEST(sizes_beyond_memory_are_left_out) {
    check_offered(8, 64 * mebi, runs_large(), "allgather", 32 * mebi, 8 * mebi);
}

/* Eight nodes as far as their names go: as many ranks as before, and the same memory. */
TEST(nodes_of_one_machine_share_its_memory) {
    for (int r = 0; r < 8; r++) {
        (void)snprintf(host_names[r], sizeof host_names[r], "node-%d", r);
    }
    check_offered(8, 64 * mebi, false, "allgather", 32 * mebi, 8 * mebi);
    memset(host_names, 0, sizeof host_names);
}

/* 7 ranks share one machine, the eighth has its own: 1 GiB / 14 for each pool, in whole lines. */
TEST(the_fullest_machine_counts) {
    for (int r = 0; r < 8; r++) {
        (void)strcpy(machine_names[r], r == 3 ? "one boot" : "another");
    }
    const size_t pool = 76695872;
    check_offered(8, 64 * mebi, false, "allgather", pool / 2, pool / 8);
    memset(machine_names, 0, sizeof machine_names);
}

TEST(sizes_within_memory_are_offered) {
    check_offered(3, 12345 * 8, true, "scatter", 12345 * 8, 12345 * 8);
    check_offered(8, 64 * mebi, false, "alltoall", 64 * mebi, 64 * mebi);
    check_offered(2, 64 * mebi, runs_large(), "sendrecv", 64 * mebi, 0);
}
