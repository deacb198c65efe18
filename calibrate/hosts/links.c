/*
 * Rates of links between hosts, each way. One rank leads: its clock counts, and it says how long
 * the messages are, so that slow and fast links take about as long.
 */
#include "calibrate/hosts/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_BYTES = 64 << 10, LARGEST_BYTES = 4 << 20, WARM_UPS = 3, MOST_ROUNDS = 5 };
static const double message_s = 0.004; /* what a message is to take: much longer than it takes to
                                          start one, and a few of them within a turn */
static const double turn_s = 0.06;     /* of a link that goes alone */
static const double shared_turn_s = 0.15;
static const double rounds_share = 0.4; /* of a turn: a last message may take longer */

struct link {
    struct gw_communicator *communicator;
    int leader, follower;
    char *data; /* [LARGEST_BYTES] */
    double turn_s;
};

/* ---- one link ---------------------------------------------------------------------------- */

static enum gw_status lead_round(const struct link *link, uint64_t bytes, double seconds[2],
                                 struct gw_error *error) {
    struct gw_communicator *communicator = link->communicator;
    char signal = 0;
    GW_TRY(gw_send(communicator, link->follower, &bytes, sizeof bytes, error));
    GW_TRY(gw_receive(communicator, link->follower, &signal, 1, error));
    double started_s = gw_clock_now_s();
    GW_TRY(gw_send(communicator, link->follower, link->data, bytes, error));
    GW_TRY(gw_receive(communicator, link->follower, &signal, 1, error));
    double half_s = gw_clock_now_s();
    GW_TRY(gw_send(communicator, link->follower, &signal, 1, error));
    GW_TRY(gw_receive(communicator, link->follower, link->data, bytes, error));
    seconds[0] = half_s - started_s;
    seconds[1] = gw_clock_now_s() - half_s;
    return GW_OK;
}

/* Until the leader says 0 bytes. */
static enum gw_status follow(const struct link *link, struct gw_error *error) {
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

/* Of several rounds the fastest, there and back: what else goes on only adds to times. */
static enum gw_status lead_rounds(const struct link *link, uint64_t bytes, size_t fewest,
                                  double end_s, double best_s[2], struct gw_error *error) {
    best_s[0] = best_s[1] = INFINITY;
    for (size_t i = 0; i < fewest || (i < MOST_ROUNDS && gw_clock_now_s() < end_s); i++) {
        double seconds[2];
        GW_TRY(lead_round(link, bytes, seconds, error));
        best_s[0] = fmin(best_s[0], seconds[0]);
        best_s[1] = fmin(best_s[1], seconds[1]);
    }
    return GW_OK;
}

/* Bytes per second there and back. */
static enum gw_status lead(const struct link *link, double rates[2], struct gw_error *error) {
    double best_s[2];
    GW_TRY(lead_rounds(link, SHORT_BYTES, WARM_UPS, 0, best_s, error)); /* the first connects */
    double fitting = message_s / fmax(fmin(best_s[0], best_s[1]), 1e-9) * SHORT_BYTES;
    uint64_t bytes =
        fitting >= LARGEST_BYTES ? LARGEST_BYTES : (uint64_t)fmax(fitting, SHORT_BYTES);
    GW_TRY(
        lead_rounds(link, bytes, 1, gw_clock_now_s() + rounds_share * link->turn_s, best_s, error));
    for (int way = 0; way < 2; way++) {
        rates[way] = (double)bytes / fmax(best_s[way], 1e-9);
    }
    bytes = 0;
    return gw_send(link->communicator, link->follower, &bytes, sizeof bytes, error);
}

/* ---- all links --------------------------------------------------------------------------- */

/* From how many hosts links lead to the next one. */
static size_t leader_count(const struct gw_host_list *list) {
    return list->count < 2 ? 0 : list->count == 2 ? 1 : list->count;
}

size_t gw_link_count(const struct gw_host_list *list) {
    return 2 * leader_count(list);
}

/*
 * When the link from a host to the next one has its turn. Of many, those of even and of odd hosts,
 * and that of the last one if their number is odd: a host is in one link at a time.
 */
static size_t turn_of(const struct gw_host_list *list, size_t host) {
    if (list->count <= GW_MOST_TURNS) {
        return host;
    }
    return list->count % 2 == 1 && host + 1 == list->count ? 2 : host % 2;
}

static double turn_length(const struct gw_host_list *list) {
    return list->count <= GW_MOST_TURNS ? turn_s : shared_turn_s;
}

/* This rank's part in the link from `host`; it has none if it is not the first of a host. */
static enum gw_status take_part(struct gw_communicator *communicator,
                                const struct gw_host_list *list, size_t host, double started_s,
                                char *data, double rates[2], struct gw_error *error) {
    struct link link = {.communicator = communicator,
                        .leader = list->first_rank[host],
                        .follower = list->first_rank[(host + 1) % list->count],
                        .data = data,
                        .turn_s = turn_length(list)};
    if (communicator->rank != link.leader && communicator->rank != link.follower) {
        return GW_OK;
    }
    gw_clock_sleep_until_s(started_s + link.turn_s * (double)turn_of(list, host));
    return communicator->rank == link.leader ? lead(&link, rates, error) : follow(&link, error);
}

static enum gw_status take_turns(struct gw_communicator *communicator,
                                 const struct gw_host_list *list, char *data, double rates[2],
                                 struct gw_error *error) {
    double started_s = gw_clock_now_s();
    size_t last = 0;
    for (size_t h = 0; h < leader_count(list); h++) {
        last = turn_of(list, h) > last ? turn_of(list, h) : last;
    }
    for (size_t turn = 0; turn <= last; turn++) {
        for (size_t h = 0; h < leader_count(list); h++) {
            if (turn_of(list, h) == turn) {
                GW_TRY(take_part(communicator, list, h, started_s, data, rates, error));
            }
        }
    }
    gw_clock_sleep_until_s(started_s + turn_length(list) * (double)(last + 1));
    return GW_OK;
}

enum gw_status gw_time_links(struct gw_communicator *communicator, const struct gw_host_list *list,
                             struct gw_link_rate *rates, struct gw_error *error) {
    double own[2] = {0};
    double(*all)[2] = calloc((size_t)communicator->size, sizeof *all);
    char *data = calloc(1, LARGEST_BYTES);
    enum gw_status status = GW_OK;
    if (all == NULL || data == NULL) {
        status = gw_fail_memory(error, "comparing links");
    } else {
        memset(data, 1, LARGEST_BYTES);
        status = communicator->transport->barrier(communicator, error);
    }
    if (status == GW_OK) {
        status = take_turns(communicator, list, data, own, error);
    }
    if (status == GW_OK) {
        status = communicator->transport->allgather(communicator, own, sizeof own, all, error);
    }
    for (size_t h = 0; h < leader_count(list) && status == GW_OK; h++) {
        const char *next = list->names[(h + 1) % list->count];
        const double *found = all[list->first_rank[h]];
        rates[2 * h] = (struct gw_link_rate){list->names[h], next, found[0]};
        rates[2 * h + 1] = (struct gw_link_rate){next, list->names[h], found[1]};
    }
    free(data);
    free(all);
    return status;
}
