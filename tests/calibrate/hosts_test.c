/*
 * Hosts and links beside each other, in made-up time: ranks are said to be on different hosts, and
 * work and messages take longer on one host and on one link.
 */
#include <malloc.h>

#include "tests/test.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_hosts.h"

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
    communicator->transport = &fake_hosts_transport;
    rank->rank = communicator->rank;
    return gw_host_list_open(communicator, &rank->list, error);
}

/* Runs it on `size` ranks like this one, on hosts "a", "b", .. in turn. */
static void run_like(int size, const struct rank *like, fake_run *run,
                     struct rank ranks[MOST_RANKS]) {
    char letters[MOST_RANKS + 1] = "";
    for (int r = 0; r < size; r++) {
        letters[r] = (char)('a' + r / like->ranks_per_host);
        ranks[r] = *like;
    }
    run_on_fake_hosts(letters, run, ranks, sizeof *ranks);
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
    const char name[2][2] = {{(char)('a' + from)}, {(char)('a' + to)}};
    size_t slow = 0;
    slow_from = from < 0 ? -1 : from * ranks_per_host;
    slow_to = to * ranks_per_host;
    fake_message_s = message_s;
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

/* Uses the machine's clock; the warnings depend on the machine. */
static enum gw_status calibrate_hosts(struct gw_communicator *communicator, void *context,
                                      struct gw_error *error) {
    const struct gw_calibration calibration = gw_calibration_defaults();
    size_t first = 0;
    const struct gw_report report = {
        .on_progress = tell, .context = communicator->size == 1 ? &first : NULL, .scale = 1};
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

/* ---- sharing and provenance ---------------------------------------------------------------- */

struct sharing {
    struct gw_sharing sharing;
    int first;
};

static enum gw_status find_sharing(struct gw_communicator *communicator, void *context,
                                   struct gw_error *error) {
    struct sharing *found = context;
    communicator->transport = &fake_hosts_transport;
    return gw_sharing_find(communicator, &found->sharing, &found->first, error);
}

/* A letter for each rank's machine; the fullest is the first one's. */
TEST(calibration_compresses_on_as_many_ranks_as_share_processors_alike) {
    static const struct {
        const char *machines;
        size_t processors, together;
        int first;
    } cases[] = {{"aaaaa", 2, 4, 4},
                 {"aaaa", 2, 4, 4},
                 {"aaaaaaa", 2, 6, 6},
                 {"aaaaaaaaaaa", 2, 8, 8},
                 {"aaaaaaaaaa", 2, 10, 10},
                 {"aaaaaaa", 3, 6, 6},
                 {"aa", 4, 2, 2},
                 {"aaa", 2, 3, 3},
                 {"aaaaaaaaaaa", 5, 11, 11},
                 {"ababababab", 2, 4, 8},
                 {"aaaaabbbbb", 2, 4, 4},
                 {"aaaabbbb", 2, 4, 8},
                 {"aaaaaaaaaaaaa", 4, 12, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sharing found[MOST_RANKS] = {0};
        fake_processors = cases[i].processors;
        run_on_fake_hosts(cases[i].machines, find_sharing, found, sizeof *found);
        for (size_t r = 0; cases[i].machines[r] != '\0'; r++) {
            assert_int_equal(found[r].sharing.processors, cases[i].processors);
            assert_int_equal(found[r].sharing.together, cases[i].together);
            assert_int_equal(found[r].first, cases[i].first);
        }
    }
}

/* Hosts a and c have another kernel than b and d. */
static void change_kernel(int rank, char *text) {
    static const char key[] = "\"kernel\":";
    char *kernel = strstr(text, key);
    assert_non_null(kernel);
    strchr(kernel + strlen(key), '"')[1] = fake_hosts[rank][0] % 2 == 0 ? 'x' : 'y';
}

static enum gw_status put_provenance(struct gw_communicator *communicator, void *context,
                                     struct gw_error *error) {
    struct gw_cluster *cluster = context;
    const struct gw_calibration calibration = gw_calibration_defaults();
    communicator->transport = &fake_hosts_transport;
    GW_TRY(gw_cluster_create(cluster, "c", (size_t)communicator->size, 1, error));
    return gw_put_provenance(communicator, &calibration, cluster, error);
}

static void check_names(const cJSON *names, const char *expected) {
    assert_int_equal(cJSON_GetArraySize(names), strlen(expected));
    for (int i = 0; expected[i] != '\0'; i++) {
        const char letter[] = {expected[i], '\0'};
        assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(names, i)), letter);
    }
}

TEST(like_hosts_are_described_once) {
    struct gw_cluster clusters[MOST_RANKS];
    fake_change_facts = change_kernel;
    run_on_fake_hosts("bacad", put_provenance, clusters, sizeof *clusters);
    fake_change_facts = NULL;
    for (int r = 0; r < 5; r++) {
        const cJSON *source = cJSON_GetObjectItem(clusters[r].kept, "source");
        const cJSON *nodes = cJSON_GetObjectItem(source, "nodes");
        const cJSON *ranks = cJSON_GetObjectItem(source, "ranks");
        check_names(cJSON_GetObjectItem(source, "hosts"), "bacd");
        assert_int_equal(cJSON_GetArraySize(nodes), 2);
        check_names(cJSON_GetObjectItem(cJSON_GetArrayItem(nodes, 0), "hosts"), "bd");
        check_names(cJSON_GetObjectItem(cJSON_GetArrayItem(nodes, 1), "hosts"), "ac");
        assert_int_equal(clusters[r].workers_per_node, 2);
        for (int i = 0; i < 5; i++) {
            const cJSON *rank = cJSON_GetObjectItem(cJSON_GetArrayItem(ranks, i), "rank");
            assert_int_equal(cJSON_GetNumberValue(rank), i);
        }
        gw_cluster_free(&clusters[r]);
    }
}
