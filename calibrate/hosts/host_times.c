/* Times of fixed work on each host, and rates of the links between hosts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/timing.h"

enum { MAX_TURNS = 16 }; /* hosts or links are measured in turn; with more hosts, many at once */

/* ---- hosts ------------------------------------------------------------------------------- */

enum {
    CONCURRENT_REPEATS = 40, /* some 30 ms: longer than a time slice */
    COMPUTE_REPEATS = 15,
    MEMORY_REPEATS = 5,
    MIN_REPEATS = 3
};
static const double turn_s = 0.04;
static const double longest_s = 0.015; /* of compute, and of memory, in a turn */

static enum gw_status time_action(const struct gw_clock *clock, gw_action *action, void *context,
                                  struct gw_repeats repeats, struct gw_spread *out,
                                  struct gw_error *error) {
    const struct gw_subject subject = {.run = action, .context = context};
    double seconds[CONCURRENT_REPEATS];
    size_t count = 0;
    GW_TRY(gw_time_alone(clock, &subject, repeats, seconds, &count, error));
    gw_spread_of(seconds, count, out);
    return GW_OK;
}

static enum gw_status time_host_alone(const struct gw_clock *clock, const struct gw_host_work *work,
                                      struct gw_host_times *out, struct gw_error *error) {
    const struct gw_repeats compute = {
        .fewest = MIN_REPEATS, .most = COMPUTE_REPEATS, .longest_s = longest_s};
    const struct gw_repeats memory = {
        .fewest = MIN_REPEATS, .most = MEMORY_REPEATS, .longest_s = longest_s};
    struct gw_spread spread;
    GW_TRY(time_action(clock, work->compute, work->context, compute, &spread, error));
    out->compute_low_s = spread.percentiles[1];
    out->compute_s = spread.percentiles[2];
    out->compute_high_s = spread.percentiles[3];
    GW_TRY(time_action(clock, work->memory, work->context, memory, &spread, error));
    out->memory_s = spread.percentiles[2];
    return GW_OK;
}

static enum gw_status combine_host_times(struct gw_communicator *communicator,
                                         const struct gw_host_list *list,
                                         const struct gw_host_times *own,
                                         struct gw_host_times *times, struct gw_error *error) {
    void *gathered = NULL;
    GW_TRY(gw_gather_all(communicator, own, sizeof *own, "comparing hosts", &gathered, error));
    const struct gw_host_times *all = gathered;
    for (size_t h = 0; h < list->count; h++) {
        times[h] = all[list->first_rank[h]];
    }
    for (int r = 0; r < communicator->size; r++) {
        struct gw_host_times *host = &times[list->host_of[r]];
        bool went_back = all[r].clock_step_s < 0 || host->clock_step_s < 0;
        host->together_s = fmax(host->together_s, all[r].together_s);
        host->clock_s = fmax(host->clock_s, all[r].clock_s);
        host->clock_step_s = (went_back ? fmin : fmax)(host->clock_step_s, all[r].clock_step_s);
    }
    free(gathered);
    return GW_OK;
}

enum gw_status gw_time_hosts(struct gw_communicator *communicator, const struct gw_clock *clock,
                             const struct gw_host_list *list, const struct gw_host_work *work,
                             struct gw_host_times *times, struct gw_error *error) {
    const struct gw_repeats concurrent = {.fewest = CONCURRENT_REPEATS, .most = CONCURRENT_REPEATS};
    struct gw_host_times own = {0};
    struct gw_clock_cost cost;
    struct gw_spread spread;
    size_t host = list->host_of[communicator->rank];
    size_t turns = list->count <= MAX_TURNS ? list->count : 1;
    GW_TRY(work->compute(work->context, error));
    GW_TRY(communicator->transport->barrier(communicator, error));
    GW_TRY(time_action(clock, work->compute, work->context, concurrent, &spread, error));
    gw_time_clock(clock, &cost);
    own.together_s = spread.mean;
    own.clock_s = cost.mean_s;
    own.clock_step_s = cost.step_s;
    GW_TRY(communicator->transport->barrier(communicator, error));
    double started_s = gw_clock_read_s(clock);
    if (list->first_rank[host] == communicator->rank) {
        gw_clock_wait_until_s(clock, started_s + turn_s * (turns == 1 ? 0 : (double)host));
        GW_TRY(time_host_alone(clock, work, &own, error));
    }
    /* A rank that waited in a collective would take a core from those that measure. */
    gw_clock_wait_until_s(clock, started_s + turn_s * (double)turns);
    return combine_host_times(communicator, list, &own, times, error);
}

/* ---- links ------------------------------------------------------------------------------- */

/* Rates of links each way. One rank leads: its clock counts, and it sets the length of messages, so
 * that slow and fast links take about as long. */
enum { SHORT_BYTES = 64 << 10, LARGEST_BYTES = 4 << 20, WARM_UPS = 3, MAX_ROUNDS = 5 };
static const double message_s = 0.004;  /* the time of a message: much longer than its startup, and
                                         * a few of them within a turn */
static const double link_turn_s = 0.06; /* of a link that is measured alone */
static const double shared_turn_s = 0.15;
static const double rounds_share = 0.4; /* of a turn: a last message may take longer */

struct timed_link {
    struct gw_communicator *communicator;
    const struct gw_clock *clock;
    int leader, follower;
    char *data; /* [LARGEST_BYTES] */
    double turn_s;
    uint64_t bytes;   /* of a message */
    double best_s[2]; /* there and back: the fastest of several rounds, since disturbances only add
                       * time */
};

static enum gw_status lead_round(void *context, struct gw_error *error) {
    struct timed_link *link = context;
    struct gw_communicator *communicator = link->communicator;
    char signal = 0;
    GW_TRY(gw_send(communicator, link->follower, &link->bytes, sizeof link->bytes, error));
    GW_TRY(gw_receive(communicator, link->follower, &signal, 1, error));
    double started_s = gw_clock_read_s(link->clock);
    GW_TRY(gw_send(communicator, link->follower, link->data, link->bytes, error));
    GW_TRY(gw_receive(communicator, link->follower, &signal, 1, error));
    double half_s = gw_clock_read_s(link->clock);
    GW_TRY(gw_send(communicator, link->follower, &signal, 1, error));
    GW_TRY(gw_receive(communicator, link->follower, link->data, link->bytes, error));
    link->best_s[0] = fmin(link->best_s[0], half_s - started_s);
    link->best_s[1] = fmin(link->best_s[1], gw_clock_read_s(link->clock) - half_s);
    return GW_OK;
}

/* Follows the leader until it sends 0 bytes. */
static enum gw_status follow_leader(const struct timed_link *link, struct gw_error *error) {
    struct gw_communicator *communicator = link->communicator;
    for (;;) {
        uint64_t bytes = 0;
        char signal = 0;
        GW_TRY(gw_receive(communicator, link->leader, &bytes, sizeof bytes, error));
        if (bytes == 0) {
            return GW_OK;
        }
        GW_TRY(gw_send(communicator, link->leader, &signal, 1, error));
        GW_TRY(gw_receive(communicator, link->leader, link->data, bytes, error));
        GW_TRY(gw_send(communicator, link->leader, &signal, 1, error));
        GW_TRY(gw_receive(communicator, link->leader, &signal, 1, error));
        GW_TRY(gw_send(communicator, link->leader, link->data, bytes, error));
    }
}

static enum gw_status lead_rounds(struct timed_link *link, uint64_t bytes, struct gw_repeats rounds,
                                  struct gw_error *error) {
    const struct gw_subject subject = {.run = lead_round, .context = link};
    double seconds[MAX_ROUNDS];
    size_t count = 0;
    link->bytes = bytes;
    link->best_s[0] = link->best_s[1] = INFINITY;
    return gw_time_alone(link->clock, &subject, rounds, seconds, &count, error);
}

/* Measures bytes per second there and back. */
static enum gw_status lead_link(struct timed_link *link, double rates[2], struct gw_error *error) {
    const struct gw_repeats warm_ups = {.fewest = WARM_UPS, .most = WARM_UPS}; /* connects */
    const struct gw_repeats rounds = {
        .fewest = 1, .most = MAX_ROUNDS, .longest_s = rounds_share * link->turn_s};
    GW_TRY(lead_rounds(link, SHORT_BYTES, warm_ups, error));
    double fitting = message_s / fmax(fmin(link->best_s[0], link->best_s[1]), 1e-9) * SHORT_BYTES;
    uint64_t bytes =
        fitting >= LARGEST_BYTES ? LARGEST_BYTES : (uint64_t)fmax(fitting, SHORT_BYTES);
    GW_TRY(lead_rounds(link, bytes, rounds, error));
    for (int way = 0; way < 2; way++) {
        rates[way] = (double)bytes / fmax(link->best_s[way], 1e-9);
    }
    bytes = 0;
    return gw_send(link->communicator, link->follower, &bytes, sizeof bytes, error);
}

/* The number of hosts that lead a link to the next one. */
static size_t leader_count(const struct gw_host_list *list) {
    return list->count < 2 ? 0 : list->count == 2 ? 1 : list->count;
}

size_t gw_link_count(const struct gw_host_list *list) {
    return 2 * leader_count(list);
}

/* The turn of the link from a host to the next one. With many hosts: links of even hosts, of odd
 * hosts, and of the last one if their number is odd, so that a host is in one link at a time. */
static size_t link_turn(const struct gw_host_list *list, size_t host) {
    if (list->count <= MAX_TURNS) {
        return host;
    }
    return list->count % 2 == 1 && host + 1 == list->count ? 2 : host % 2;
}

static double turn_length(const struct gw_host_list *list) {
    return list->count <= MAX_TURNS ? link_turn_s : shared_turn_s;
}

/* Measures this rank's part of the link from `host`; none if it is not the first rank of a host. */
static enum gw_status measure_link(struct gw_communicator *communicator,
                                   const struct gw_clock *clock, const struct gw_host_list *list,
                                   size_t host, double started_s, char *data, double rates[2],
                                   struct gw_error *error) {
    struct timed_link link = {.communicator = communicator,
                              .clock = clock,
                              .leader = list->first_rank[host],
                              .follower = list->first_rank[(host + 1) % list->count],
                              .data = data,
                              .turn_s = turn_length(list)};
    if (communicator->rank != link.leader && communicator->rank != link.follower) {
        return GW_OK;
    }
    gw_clock_wait_until_s(clock, started_s + link.turn_s * (double)link_turn(list, host));
    return communicator->rank == link.leader ? lead_link(&link, rates, error)
                                             : follow_leader(&link, error);
}

static enum gw_status take_turns(struct gw_communicator *communicator, const struct gw_clock *clock,
                                 const struct gw_host_list *list, char *data, double rates[2],
                                 struct gw_error *error) {
    double started_s = gw_clock_read_s(clock);
    size_t last = 0;
    for (size_t h = 0; h < leader_count(list); h++) {
        last = link_turn(list, h) > last ? link_turn(list, h) : last;
    }
    for (size_t turn = 0; turn <= last; turn++) {
        for (size_t h = 0; h < leader_count(list); h++) {
            if (link_turn(list, h) == turn) {
                GW_TRY(measure_link(communicator, clock, list, h, started_s, data, rates, error));
            }
        }
    }
    gw_clock_wait_until_s(clock, started_s + turn_length(list) * (double)(last + 1));
    return GW_OK;
}

enum gw_status gw_time_links(struct gw_communicator *communicator, const struct gw_clock *clock,
                             const struct gw_host_list *list, struct gw_link_rate *rates,
                             struct gw_error *error) {
    struct gw_arena arena = {0};
    double own[2] = {0};
    double(*all)[2] = gw_arena_zeros(&arena, (size_t)communicator->size, sizeof *all);
    char *data = gw_arena_zeros(&arena, LARGEST_BYTES, 1);
    enum gw_status status = GW_OK;
    if (all == NULL || data == NULL) {
        status = gw_fail_memory(error, "comparing links");
    } else {
        memset(data, 1, LARGEST_BYTES);
        status = communicator->transport->barrier(communicator, error);
    }
    if (status == GW_OK) {
        status = take_turns(communicator, clock, list, data, own, error);
    }
    if (status == GW_OK) {
        status = gw_allgather(communicator, own, sizeof own, all, error);
    }
    for (size_t h = 0; h < leader_count(list) && status == GW_OK; h++) {
        const char *next = list->names[(h + 1) % list->count];
        const double *found = all[list->first_rank[h]];
        rates[2 * h] = (struct gw_link_rate){list->names[h], next, found[0]};
        rates[2 * h + 1] = (struct gw_link_rate){next, list->names[h], found[1]};
    }
    gw_arena_free(&arena);
    return status;
}
