/*
 * Hosts and links beside each other, in made-up time: ranks are said to be on different hosts, and
 * work and messages take longer on one host and on one link.
 */
#include <malloc.h>

#include "calibrate/hosts/hosts.h"
#include "tests/test.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_time.h"

static const double message_rate = 20e6; /* bytes per second of links that are not slow */

struct rank {
    int rank, ranks_per_host;
    int slow_rank;          /* -1: none */
    int slow_from, slow_to; /* -1: none */
    struct gw_host_times times[MOST_RANKS];
    struct gw_host_list list; /* of the links' names */
    struct gw_link_rate links[2 * MOST_RANKS];
};

static enum gw_status list_hosts(struct gw_communicator *communicator, struct rank *rank,
                                 struct gw_error *error) {
    char hosts[MOST_RANKS][GW_HOST_SIZE] = {""};
    for (int r = 0; r < communicator->size; r++) {
        (void)snprintf(hosts[r], sizeof hosts[r], "node-%d", r / rank->ranks_per_host);
    }
    rank->rank = communicator->rank;
    return gw_host_list_of(hosts, communicator->size, &rank->list, error);
}

/* Runs it on all of them, which are like this one. */
static void run_like(int size, const struct rank *like, fake_run *run,
                     struct rank ranks[MOST_RANKS]) {
    for (int r = 0; r < size; r++) {
        ranks[r] = *like;
    }
    run_fake_ranks(size, run, ranks, sizeof *ranks, NULL);
}

static void close_lists(int size, struct rank *ranks) {
    for (int r = 0; r < size; r++) {
        gw_host_list_close(&ranks[r].list);
    }
}

/* ---- hosts --------------------------------------------------------------------------------- */

static enum gw_status compute(void *context, struct gw_error *error) {
    const struct rank *rank = context;
    (void)error;
    fake_work(rank->rank == rank->slow_rank ? 2e-3 : 1e-3);
    return GW_OK;
}

static enum gw_status read_memory(void *context, struct gw_error *error) {
    (void)context;
    (void)error;
    fake_work(2e-3);
    return GW_OK;
}

static enum gw_status time_hosts(struct gw_communicator *communicator, void *context,
                                 struct gw_error *error) {
    struct rank *rank = context;
    const struct gw_host_work work = {compute, read_memory, rank};
    GW_TRY(list_hosts(communicator, rank, error));
    return gw_time_hosts(communicator, &fake_self->clock, &rank->list, &work, rank->times, error);
}

static void check_hosts(int size, int ranks_per_host, int slow) {
    struct rank ranks[MOST_RANKS];
    const struct rank like = {.ranks_per_host = ranks_per_host, .slow_rank = slow};
    run_like(size, &like, time_hosts, ranks);
    assert_int_equal(ranks[0].list.count, size / ranks_per_host);
    for (size_t h = 0; h < ranks[0].list.count; h++) {
        const struct gw_host_times *times = &ranks[0].times[h];
        bool is_slow = slow >= 0 && (size_t)(slow / ranks_per_host) == h;
        double alone_s = is_slow && slow % ranks_per_host == 0 ? 2e-3 : 1e-3;
        assert_true(near(times->compute_s, alone_s, 1e-3));
        assert_true(near(times->compute_low_s, alone_s, 1e-3));
        assert_true(near(times->compute_high_s, alone_s, 1e-3));
        assert_true(near(times->together_s, is_slow ? 2e-3 : 1e-3, 1e-3));
        assert_true(near(times->memory_s, 2e-3, 1e-3));
        assert_true(near(times->clock_s, fake_reading_s, 1e-3));
        assert_true(near(times->clock_step_s, fake_reading_s, 1e-3));
        for (int r = 1; r < size; r++) {
            assert_memory_equal(&ranks[r].times[h], times, sizeof *times);
        }
    }
    close_lists(size, ranks);
}

TEST(hosts_take_what_their_first_ranks_take) {
    check_hosts(3, 1, -1);
    check_hosts(4, 1, 2);
    check_hosts(4, 2, 2);
    check_hosts(4, 2, 3);  /* slow only while all compute */
    check_hosts(20, 1, 7); /* more than take turns */
}

/* ---- links --------------------------------------------------------------------------------- */

static int slow_from, slow_to;

static double message_s(int from, int to, size_t bytes) {
    return (double)bytes / message_rate * (from == slow_from && to == slow_to ? 2 : 1);
}

static enum gw_status time_links(struct gw_communicator *communicator, void *context,
                                 struct gw_error *error) {
    struct rank *rank = context;
    GW_TRY(list_hosts(communicator, rank, error));
    return gw_time_links(communicator, &fake_self->clock, &rank->list, rank->links, error);
}

/* From and to: hosts of the slow link, from -1: none. */
static void check_links(int size, int ranks_per_host, int from, int to, size_t expected_count) {
    struct rank ranks[MOST_RANKS];
    const struct rank like = {.ranks_per_host = ranks_per_host};
    char name[2][GW_HOST_SIZE];
    size_t slow = 0;
    slow_from = from < 0 ? -1 : from * ranks_per_host;
    slow_to = to * ranks_per_host;
    fake_message_s = message_s;
    (void)snprintf(name[0], sizeof name[0], "node-%d", from);
    (void)snprintf(name[1], sizeof name[1], "node-%d", to);
    run_like(size, &like, time_links, ranks);
    assert_int_equal(gw_link_count(&ranks[0].list), expected_count);
    for (size_t i = 0; i < expected_count; i++) {
        const struct gw_link_rate *link = &ranks[0].links[i];
        bool is_slow = strcmp(link->from, name[0]) == 0 && strcmp(link->to, name[1]) == 0;
        assert_true(near(link->bytes_per_s, message_rate / (is_slow ? 2 : 1), 1e-3));
        assert_true(link->bytes_per_s == ranks[size - 1].links[i].bytes_per_s);
        slow += is_slow;
    }
    assert_int_equal(slow, from >= 0);
    close_lists(size, ranks);
}

TEST(links_carry_what_they_carry) {
    check_links(2, 2, -1, 0, 0);
    check_links(2, 1, -1, 0, 2);
    check_links(2, 1, 0, 1, 2);
    check_links(2, 1, 1, 0, 2);
    check_links(4, 2, 1, 0, 2);
    check_links(4, 1, 2, 3, 8);
    check_links(4, 1, 0, 3, 8);
    check_links(17, 1, 16, 0, 34); /* more than take turns, and odd */
}

/* ---- this machine -------------------------------------------------------------------------- */

/* Parts give back what they take by megabytes. `context`: bytes at first (0: these), or NULL. */
static void tell(void *context, double share, const char *what) {
    struct mallinfo2 heap = mallinfo2();
    size_t bytes = heap.uordblks + heap.hblkhd;
    size_t *first = context;
    (void)what;
    assert_true(share >= 0 && share <= 1);
    if (first != NULL) {
        *first = *first == 0 ? bytes : *first;
        assert_true(bytes < *first + (1 << 20));
    }
}

/* By the machine's clock; what it warns of here depends on the machine. */
static enum gw_status calibrate_hosts(struct gw_communicator *communicator, void *context,
                                      struct gw_error *error) {
    const struct gw_calibration calibration = gw_calibration_defaults();
    size_t first = 0;
    const struct gw_report report = {
        .tell = tell, .context = communicator->size == 1 ? &first : NULL, .scale = 1};
    struct gw_cluster cluster;
    (void)context;
    GW_TRY(gw_cluster_create(&cluster, "threads", (size_t)communicator->size, 1, error));
    GW_TRY(gw_put_provenance(communicator, &calibration, &cluster, error));
    GW_TRY(gw_calibrate_hosts(communicator, &calibration, &report, &cluster, error));
    const cJSON *source = cJSON_GetObjectItem(cluster.kept, "source");
    const cJSON *speeds = cJSON_GetObjectItem(source, "speeds");
    const cJSON *speed = cJSON_GetArrayItem(speeds, 0);
    assert_int_equal(cJSON_GetArraySize(speeds), 1);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(speed, "compute_s")) >
                1e-4); /* 200,000 steps */
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(speed, "memory_s")) > 1e-4); /* 32 MiB */
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(source, "warnings")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(source, "ranks")), communicator->size);
    gw_cluster_free(&cluster);
    return GW_OK;
}

TEST(one_host_is_compared_with_itself) {
    char nothing[MOST_RANKS];
    run_ranks(1, calibrate_hosts, nothing, 1);
    run_ranks(3, calibrate_hosts, nothing, 1);
}
