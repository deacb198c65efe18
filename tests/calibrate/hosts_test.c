/*
 * Hosts and links beside each other, with ranks as threads of this process that are said to be on
 * different hosts. Work and messages sleep for set times, longer on one host and on one link.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <pthread.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/hosts/links.h"
#include "calibrate/measure/subjects.h"
#include "tests/local_transport.h"
#include "tests/support.h"

enum { MOST_RANKS = 20 };

/* What is wrong with the cluster of a test; -1: nothing. */
static int slow_rank;
static double slow_factor;
static int slow_from, slow_to;
static const double message_rate = 20e6; /* bytes per second of the other links: copies are faster,
                                           under sanitizers too */
static char hosts[MOST_RANKS][GW_HOST_SIZE];

struct rank {
    struct gw_communicator communicator;
    struct gw_host_times times[MOST_RANKS];
    struct gw_host_list list; /* of the links' names */
    struct gw_link_rate links[2 * MOST_RANKS];
    size_t host_count, link_count;
    enum gw_status status;
};

static void sleep_s(double seconds) {
    gw_clock_sleep_until_s(gw_clock_now_s() + seconds);
}

/* ---- ranks --------------------------------------------------------------------------------- */

static const struct gw_transport *plain;
static struct gw_transport shaped;

static enum gw_status send_at_rate(struct gw_communicator *communicator, int to, const void *data,
                                   size_t bytes, struct gw_request *out, struct gw_error *error) {
    bool slow = communicator->rank == slow_from && to == slow_to;
    if (bytes > 1000) {
        sleep_s((double)bytes / message_rate * (slow ? 2 : 1));
    }
    return plain->start_send(communicator, to, data, bytes, out, error);
}

static void run_ranks(struct rank *ranks, int size, void *(*run)(void *)) {
    struct gw_communicator communicators[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    plain = communicators[0].transport;
    shaped = *plain;
    shaped.start_send = send_at_rate;
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){.communicator = communicators[r]};
        ranks[r].communicator.transport = &shaped;
        assert_int_equal(pthread_create(&threads[r], NULL, run, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        plain->close(&communicators[r]);
        assert_int_equal(ranks[r].status, GW_OK);
    }
}

static void place(int size, int ranks_per_host) {
    slow_rank = slow_from = slow_to = -1;
    for (int r = 0; r < size; r++) {
        (void)snprintf(hosts[r], sizeof hosts[r], "node-%d", r / ranks_per_host);
    }
}

/* ---- hosts --------------------------------------------------------------------------------- */

static enum gw_status sleep_as_compute(void *context, struct gw_error *error) {
    const struct rank *rank = context;
    (void)error;
    sleep_s(rank->communicator.rank == slow_rank ? slow_factor * 1e-3 : 1e-3);
    return GW_OK;
}

static enum gw_status sleep_as_memory(void *context, struct gw_error *error) {
    (void)context;
    (void)error;
    sleep_s(2e-3);
    return GW_OK;
}

static void *time_hosts(void *argument) {
    struct rank *rank = argument;
    struct gw_host_list list;
    struct gw_host_work work = {sleep_as_compute, sleep_as_memory, rank};
    rank->status = gw_host_list_of(hosts, rank->communicator.size, &list, NULL);
    rank->host_count = list.count;
    if (rank->status == GW_OK) {
        rank->status = gw_time_hosts(&rank->communicator, &list, &work, rank->times, NULL);
        gw_host_list_close(&list);
    }
    return NULL;
}

/* What else runs on this machine makes some measurements wrong, but not all of them. */
enum { ATTEMPTS = 10 };

static bool is_about(double seconds, double expected_s) {
    return seconds >= expected_s && seconds < 1.4 * expected_s;
}

/* Ranks agree always; whether they are right is what is returned. */
static bool hosts_are_right(int size, int ranks_per_host, int slow) {
    struct rank ranks[MOST_RANKS];
    bool right = true;
    slow_rank = slow;
    slow_factor = 2;
    run_ranks(ranks, size, time_hosts);
    assert_int_equal(ranks[0].host_count, size / ranks_per_host);
    for (size_t h = 0; h < ranks[0].host_count; h++) {
        const struct gw_host_times *times = &ranks[0].times[h];
        bool is_slow = slow >= 0 && (size_t)(slow / ranks_per_host) == h;
        bool is_first = is_slow && slow % ranks_per_host == 0;
        right = right && is_about(times->compute_s, is_first ? 2e-3 : 1e-3) &&
                is_about(times->together_s, is_slow ? 2e-3 : 1e-3) &&
                is_about(times->memory_s, 2e-3);
        assert_true(times->compute_low_s <= times->compute_s);
        assert_true(times->compute_high_s >= times->compute_s);
        assert_true(times->clock_s > 0 && times->clock_step_s > 0);
        for (int r = 1; r < size; r++) {
            assert_memory_equal(&ranks[r].times[h], times, sizeof *times);
        }
    }
    return right;
}

static void check_hosts(int size, int ranks_per_host, int slow) {
    bool right = false;
    place(size, ranks_per_host);
    for (int i = 0; i < ATTEMPTS && !right; i++) {
        right = hosts_are_right(size, ranks_per_host, slow);
    }
    assert_true(right);
}

static void hosts_take_what_their_first_ranks_take(void **state) {
    (void)state;
    check_hosts(3, 1, -1);
    check_hosts(4, 1, 2);
    check_hosts(4, 2, 2);
    check_hosts(4, 2, 3);  /* slow only while all compute */
    check_hosts(20, 1, 7); /* more than take turns */
}

/* ---- links --------------------------------------------------------------------------------- */

static void *time_links(void *argument) {
    struct rank *rank = argument;
    rank->status = gw_host_list_of(hosts, rank->communicator.size, &rank->list, NULL);
    if (rank->status == GW_OK) {
        rank->link_count = gw_link_count(&rank->list);
        rank->status = gw_time_links(&rank->communicator, &rank->list, rank->links, NULL);
    }
    return NULL;
}

/* From and to: hosts of the slow link, from -1: none. */
static bool links_are_right(int size, int from, int to, size_t expected_count) {
    struct rank ranks[MOST_RANKS];
    char name[2][GW_HOST_SIZE];
    size_t slow = 0;
    bool right = true;
    (void)snprintf(name[0], sizeof name[0], "node-%d", from);
    (void)snprintf(name[1], sizeof name[1], "node-%d", to);
    run_ranks(ranks, size, time_links);
    assert_int_equal(ranks[0].link_count, expected_count);
    for (size_t i = 0; i < expected_count; i++) {
        const struct gw_link_rate *link = &ranks[0].links[i];
        bool is_slow = strcmp(link->from, name[0]) == 0 && strcmp(link->to, name[1]) == 0;
        double expected = message_rate / (is_slow ? 2 : 1);
        assert_true(link->bytes_per_s <= expected); /* nothing is faster than its sleep */
        right = right && link->bytes_per_s > 0.7 * expected;
        assert_true(link->bytes_per_s == ranks[size - 1].links[i].bytes_per_s);
        slow += is_slow;
    }
    assert_int_equal(slow, from >= 0);
    for (int r = 0; r < size; r++) {
        gw_host_list_close(&ranks[r].list);
    }
    return right;
}

static void check_links(int size, int ranks_per_host, int from, int to, size_t expected_count) {
    bool right = false;
    place(size, ranks_per_host);
    slow_from = from < 0 ? -1 : from * ranks_per_host;
    slow_to = to * ranks_per_host;
    for (int i = 0; i < ATTEMPTS && !right; i++) {
        right = links_are_right(size, from, to, expected_count);
    }
    assert_true(right);
}

static void links_carry_what_they_carry(void **state) {
    (void)state;
    check_links(2, 2, -1, 0, 0);
    check_links(2, 1, -1, 0, 2);
    check_links(2, 1, 0, 1, 2);
    check_links(2, 1, 1, 0, 2);
    check_links(4, 2, 1, 0, 2);
    check_links(4, 1, 2, 3, 8);
    check_links(4, 1, 0, 3, 8);
    check_links(17, 1, 16, 0, 34); /* more than take turns, and odd */
}

/* ---- the subject --------------------------------------------------------------------------- */

static void tell(void *context, double share, const char *what) {
    (void)context;
    (void)what;
    assert_true(share >= 0 && share <= 1);
}

static void *calibrate_hosts(void *argument) {
    struct rank *rank = argument;
    struct gw_calibration calibration = gw_calibration_defaults();
    struct gw_report report = {.tell = tell, .scale = 1};
    struct gw_cluster cluster;
    rank->status = gw_cluster_create(&cluster, "threads", (size_t)rank->communicator.size, 1, NULL);
    if (rank->status == GW_OK) {
        rank->status = gw_put_provenance(&rank->communicator, &calibration, &cluster, NULL);
    }
    if (rank->status == GW_OK) {
        rank->status =
            gw_calibrate_hosts(&rank->communicator, &calibration, &report, &cluster, NULL);
    }
    const cJSON *source = cJSON_GetObjectItem(cluster.kept, "source");
    const cJSON *speed = cJSON_GetArrayItem(cJSON_GetObjectItem(source, "speeds"), 0);
    rank->times[0].compute_s = cJSON_GetNumberValue(cJSON_GetObjectItem(speed, "compute_s"));
    rank->times[0].memory_s = cJSON_GetNumberValue(cJSON_GetObjectItem(speed, "memory_s"));
    rank->host_count = (size_t)cJSON_GetArraySize(cJSON_GetObjectItem(source, "speeds"));
    rank->link_count = (size_t)cJSON_IsArray(cJSON_GetObjectItem(source, "warnings"));
    gw_cluster_free(&cluster);
    return NULL;
}

/* What it warns of here depends on the machine. */
static void one_host_is_compared_with_itself(void **state) {
    (void)state;
    struct rank ranks[3];
    place(3, 3);
    for (int size = 1; size <= 3; size++) {
        run_ranks(ranks, size, calibrate_hosts);
        assert_int_equal(ranks[size - 1].host_count, 1);
        assert_true(ranks[0].times[0].compute_s > 1e-4); /* 200,000 steps of some cycles */
        assert_true(ranks[0].times[0].memory_s > 1e-4);  /* 32 MiB */
        assert_int_equal(ranks[size - 1].link_count, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_take_what_their_first_ranks_take),
        cmocka_unit_test(links_carry_what_they_carry),
        cmocka_unit_test(one_host_is_compared_with_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
