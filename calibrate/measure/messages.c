/*
 * Times of messages between two ranks, for LogGP parameters.
 *
 * Overheads are timed as Kielmann, Bal and Verstoep do ("Fast measurement of LogP parameters for
 * message passing platforms", 2000): the sender's call, with no other messages, and the receiver's
 * call after a delay in which the message has arrived. Trains of messages with delays between them
 * (Hoefler et al., "Low-overhead LogGP parameter assessment for modern interconnection networks",
 * 2007) need no clock within an exchange, but compute the overhead as a difference of long times,
 * in which a disturbance of the hosts is as large as the overhead itself; reading the clock costs
 * less, and its cost is known. The gap comes from such trains, without delays.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/fit/fit.h"
#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/clocks.h"
#include "calibrate/measure/messages.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/timing.h"
#include "calibrate/report.h"

enum {
    LARGEST_BYTES = 4 << 20,
    LARGEST_BUFFERED = 2048, /* the largest size of timed calls: libraries buffer such messages */
    LARGEST_FLOOD = 256 << 10,
    MAX_MESSAGES = 64,     /* of a flood ... */
    FLOOD_BYTES = 2 << 20, /* ... unless they have more bytes */
    POOL_BYTES = 32 << 20,
    MAX_PROBES = 64
};
static const double longest_s = 0.1; /* at one size: seconds for 40 sizes of a pair */

struct measured_link {
    struct gw_communicator *communicator; /* of the messages */
    struct gw_timer timer;                /* of the host's, by which all ranks agree */
    const struct gw_clock *clock;
    int first, second;   /* ranks; the first one's clock counts */
    struct gw_pool pool; /* each message uses another part */
    enum gw_loggp_kind kind;
    size_t bytes, messages;
    double delay_s; /* time after which an answer has arrived: twice a round trip */
    double clock_s; /* cost of reading the clock */
    double took_s;  /* the last exchange, on the first rank; 0 on others */
};

/* ---- exchanges ----------------------------------------------------------------------------- */

static enum gw_status send_part(struct measured_link *link, int to, size_t bytes,
                                struct gw_error *error) {
    return gw_send(link->communicator, to, gw_pool_next(&link->pool, bytes), bytes, error);
}

static enum gw_status receive_part(struct measured_link *link, int from, size_t bytes,
                                   struct gw_error *error) {
    return gw_receive(link->communicator, from, gw_pool_next(&link->pool, bytes), bytes, error);
}

static double took_s(void *context) {
    const struct measured_link *link = context;
    return link->took_s;
}

/*
 * A message there and one back. The measured part is all of it (a ping-pong), the call that sends,
 * or the call that receives; before a rank receives, it waits until the answer has arrived, so that
 * a call has no other messages. A call that is no longer than reading the clock counts as a
 * nanosecond.
 */
static enum gw_status run_exchange(void *context, struct gw_error *error) {
    struct measured_link *link = context;
    enum gw_loggp_kind kind = link->kind;
    const struct gw_clock *clock = link->clock;
    link->took_s = 0;
    if (link->communicator->rank == link->second) {
        GW_TRY(receive_part(link, link->first, link->bytes, error));
        return send_part(link, link->first, link->bytes, error);
    }
    if (link->communicator->rank != link->first) {
        return GW_OK;
    }
    double started_s = gw_clock_read_s(clock);
    GW_TRY(send_part(link, link->second, link->bytes, error));
    if (kind == GW_SEND_CALL) {
        link->took_s = fmax(gw_clock_read_s(clock) - started_s - link->clock_s, 1e-9);
    }
    if (kind != GW_PING_PONG) {
        gw_clock_wait_until_s(clock, gw_clock_read_s(clock) + link->delay_s);
    }
    started_s = kind == GW_RECEIVE_CALL ? gw_clock_read_s(clock) + link->clock_s : started_s;
    GW_TRY(receive_part(link, link->second, link->bytes, error));
    if (kind != GW_SEND_CALL) {
        link->took_s = fmax(gw_clock_read_s(clock) - started_s, 1e-9);
    }
    return GW_OK;
}

/* Many messages one after the other, and a short answer to the last. */
static enum gw_status run_flood(void *context, struct gw_error *error) {
    struct measured_link *link = context;
    struct gw_communicator *communicator = link->communicator;
    const struct gw_transport *transport = communicator->transport;
    struct gw_request requests[MAX_MESSAGES];
    bool sends = communicator->rank == link->first;
    link->took_s = 0;
    if (!sends && communicator->rank != link->second) {
        return GW_OK;
    }
    double started_s = gw_clock_read_s(link->clock);
    for (size_t i = 0; i < link->messages; i++) {
        void *part = gw_pool_next(&link->pool, link->bytes);
        GW_TRY(sends ? gw_start_send(communicator, link->second, part, link->bytes, &requests[i],
                                     error)
                     : gw_start_receive(communicator, link->first, part, link->bytes, &requests[i],
                                        error));
    }
    GW_TRY(transport->wait(communicator, requests, link->messages, error));
    GW_TRY(sends ? receive_part(link, link->second, 1, error)
                 : send_part(link, link->first, 1, error));
    link->took_s = sends ? gw_clock_read_s(link->clock) - started_s : 0;
    return GW_OK;
}

/* ---- probes -------------------------------------------------------------------------------- */

struct probe {
    enum gw_loggp_kind kind;
    size_t bytes, messages;
    struct gw_measurement measurement; /* of a ping-pong: half of it */
};

struct probes {
    struct probe items[MAX_PROBES];
    size_t count, ping_pongs; /* these come first, from 1 byte upwards */
};

static void add_probe(struct probes *probes, enum gw_loggp_kind kind, size_t bytes,
                      size_t messages) {
    probes->items[probes->count++] =
        (struct probe){.kind = kind, .bytes = bytes, .messages = messages};
}

static void choose_probes(struct probes *out, size_t max_bytes) {
    *out = (struct probes){0};
    for (size_t bytes = 1; bytes <= LARGEST_BYTES && bytes <= max_bytes;
         bytes *= bytes < 1024 ? 4 : 2) {
        add_probe(out, GW_PING_PONG, bytes, 1);
    }
    out->ping_pongs = out->count;
    for (size_t bytes = 1; bytes <= LARGEST_FLOOD && bytes <= max_bytes;
         bytes *= bytes < 65536 ? 16 : 4) {
        size_t fitting = FLOOD_BYTES / bytes;
        add_probe(out, GW_FLOOD, bytes, fitting < MAX_MESSAGES ? fitting : MAX_MESSAGES);
    }
    for (size_t bytes = 1; bytes <= LARGEST_BUFFERED; bytes *= bytes < 256 ? 16 : 2) {
        add_probe(out, GW_SEND_CALL, bytes, 1);
        add_probe(out, GW_RECEIVE_CALL, bytes, 1);
    }
}

/* ---- measuring ----------------------------------------------------------------------------- */

static enum gw_status measure_probe(struct measured_link *link, const struct gw_stop_rule *rule,
                                    struct probe *probe, struct gw_error *error) {
    const struct gw_subject subject = {.run = probe->kind == GW_FLOOD ? run_flood : run_exchange,
                                       .took_s = took_s,
                                       .context = link,
                                       .separate = true};
    struct gw_measured_point point = {.size = probe->bytes, .error = INFINITY};
    bool is_call = probe->kind == GW_SEND_CALL || probe->kind == GW_RECEIVE_CALL;
    double around_s = is_call ? 2 * link->delay_s : 0; /* and a round trip */
    link->kind = probe->kind;
    link->bytes = probe->bytes;
    link->messages = probe->messages;
    enum gw_status status = gw_time_point(&link->timer, &subject, around_s, rule, &point, error);
    if (status == GW_OK) {
        status = gw_point_measurement(&point, rule, &probe->measurement, error);
    }
    free(point.seconds);
    if (status == GW_OK && probe->kind == GW_PING_PONG) {
        struct gw_summary *summary = &probe->measurement.summary;
        double *values[] = {&summary->mean,       &summary->sd,  &summary->median,
                            &summary->p5,         &summary->p95, &summary->median_low,
                            &summary->median_high};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            *values[i] /= 2;
        }
        link->delay_s = probe->bytes == LARGEST_BUFFERED ? 4 * summary->median : link->delay_s;
    }
    return status;
}

static enum gw_status measure_probes(struct measured_link *link,
                                     const struct gw_calibration *calibration,
                                     const struct gw_report *report, const char *name,
                                     struct probes *probes, struct gw_error *error) {
    const struct gw_stop_rule rule = {.precision = calibration->precision,
                                      .max_s_per_point =
                                          fmin(longest_s, calibration->max_s_per_point),
                                      .fewest_visits = 1,
                                      .seed = calibration->seed};
    size_t order[MAX_PROBES];
    struct gw_random *random = NULL;
    /* The same random order on every rank, so that slow changes, such as of clock rates, do not
     * look like an effect of the size; ping-pongs first, since delays follow from them. */
    GW_TRY(gw_random_open(&random, 1, 1, error));
    for (size_t i = 0; i < probes->count; i++) {
        order[i] = i;
    }
    gw_random_shuffle(random, order, probes->ping_pongs, sizeof *order);
    gw_random_shuffle(random, order + probes->ping_pongs, probes->count - probes->ping_pongs,
                      sizeof *order);
    gw_random_close(random);
    for (size_t i = 0; i < probes->count; i++) {
        struct probe *probe = &probes->items[order[i]];
        char number[GW_UNITS_SIZE];
        char what[96];
        snprintf(what, sizeof what, "%s nodes, %s of %s bytes", name, gw_loggp_names[probe->kind],
                 gw_format_count((double)probe->bytes, number));
        gw_report_progress(report, (double)i / (double)probes->count, what);
        GW_TRY(measure_probe(link, &rule, probe, error));
    }
    return GW_OK;
}

/*
 * The time of one message. A flood's time is reduced by that of its last message and of the answer,
 * which overlap with nothing; if nothing remains, for lack of precision, the flood's mean is used.
 */
static double message_time(const struct probes *probes, const struct probe *probe) {
    double whole_s = probe->measurement.summary.median;
    if (probe->kind != GW_FLOOD) {
        return whole_s;
    }
    double rest_s = whole_s - probes->items[0].measurement.summary.median;
    for (size_t i = 0; i < probes->ping_pongs; i++) {
        const struct probe *single = &probes->items[i];
        rest_s -= single->bytes == probe->bytes ? single->measurement.summary.median : 0;
    }
    return rest_s > 0 ? rest_s / (double)(probe->messages - 1) : whole_s / (double)probe->messages;
}

static enum gw_status describe_link(const struct measured_link *link, const struct probes *probes,
                                    const struct gw_loggp_fit *fitted, cJSON **out,
                                    struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "raw");
    for (size_t i = 0; i < probes->count; i++) {
        const struct probe *probe = &probes->items[i];
        gw_writer_object(&writer, NULL);
        gw_write_measurement(&writer, &probe->measurement, "bytes");
        gw_writer_text(&writer, "what", gw_loggp_names[probe->kind]);
        if (probe->kind == GW_FLOOD) {
            gw_writer_number(&writer, "messages", (double)probe->messages);
        }
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_writer_object(&writer, "fit");
    gw_writer_number(&writer, "median_relative_error", fitted->ping_pong.median);
    gw_writer_number(&writer, "max_relative_error", fitted->ping_pong.max);
    gw_writer_number(&writer, "flood_median_relative_error", fitted->flood.median);
    gw_writer_number(&writer, "flood_max_relative_error", fitted->flood.max);
    gw_writer_end(&writer);
    gw_writer_numbers(&writer, "ranks", (const double[]){link->first, link->second}, 2);
    return gw_writer_finish(&writer, out, error);
}

/* ---- pairs --------------------------------------------------------------------------------- */

static enum gw_status measure_pair(struct measured_link *link,
                                   const struct gw_calibration *calibration,
                                   const struct gw_report *report, const char *name,
                                   struct gw_loggp *out, cJSON *kept, struct gw_error *error) {
    struct probes probes;
    struct gw_loggp_fit fitted;
    cJSON *details = NULL;
    choose_probes(&probes, calibration->max_bytes);
    GW_TRY(measure_probes(link, calibration, report, name, &probes, error));
    struct gw_loggp_point points[MAX_PROBES];
    for (size_t i = 0; i < probes.count; i++) {
        const struct probe *probe = &probes.items[i];
        points[i] = (struct gw_loggp_point){.kind = probe->kind,
                                            .bytes = (double)probe->bytes,
                                            .time_s = message_time(&probes, probe)};
    }
    GW_TRY(gw_loggp_fit(points, probes.count, &fitted, error));
    *out = fitted.loggp;
    GW_TRY(describe_link(link, &probes, &fitted, &details, error));
    return gw_json_put(kept, name, details, error);
}

/* Finds the first two ranks, in order, whose hosts are the same, or differ. */
static bool find_pair(const struct gw_host_list *list, int size, bool same, int *first,
                      int *second) {
    for (*first = 0; *first < size; (*first)++) {
        for (*second = *first + 1; *second < size; (*second)++) {
            if ((list->host_of[*first] == list->host_of[*second]) == same) {
                return true;
            }
        }
    }
    return false;
}

static enum gw_status measure_pairs(struct measured_link *link,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, const struct gw_host_list *list,
                                    struct gw_network *out, struct gw_error *error) {
    int size = link->communicator->size;
    struct gw_report part = *report;
    part.scale = report->scale / 2;
    bool has_within = find_pair(list, size, true, &link->first, &link->second);
    if (has_within) {
        GW_TRY(measure_pair(link, calibration, &part, "within", &out->within, out->kept, error));
        out->between = out->within;
    }
    part.offset += part.scale;
    if (find_pair(list, size, false, &link->first, &link->second)) {
        GW_TRY(measure_pair(link, calibration, &part, "between", &out->between, out->kept, error));
        out->within = has_within ? out->within : out->between;
    }
    return GW_OK;
}

static enum gw_status measure_network(struct measured_link *link,
                                      const struct gw_calibration *calibration,
                                      const struct gw_report *report, struct gw_network *out,
                                      struct gw_error *error) {
    struct gw_communicator *world = link->timer.communicator;
    struct gw_host_list list;
    struct gw_clock_cost reading;
    if (out->kept == NULL) {
        return gw_fail_memory(error, "measuring the network");
    }
    gw_time_clock(link->clock, &reading);
    link->clock_s = reading.median_s;
    GW_TRY(gw_clocks_open(world, link->clock, link->timer.clocks, error));
    GW_TRY(gw_clocks_ask(link->timer.clocks, world, error));
    GW_TRY(gw_pool_open(POOL_BYTES, calibration->device, &link->pool, error));
    GW_TRY(gw_pool_fill(&link->pool, POOL_BYTES, link->communicator->rank, error));
    GW_TRY(gw_host_list_open(world, &list, error));
    enum gw_status status = measure_pairs(link, calibration, report, &list, out, error);
    gw_host_list_close(&list);
    return status;
}

enum gw_status gw_calibrate_network(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    struct gw_network network = {.oversubscription = 1, .kept = cJSON_CreateObject()};
    struct gw_communicator *gpus = calibration->gpu_communicator;
    struct gw_clocks clocks;
    struct measured_link link = {.communicator = gpus != NULL ? gpus : communicator,
                                 .timer = {.communicator = communicator, .clocks = &clocks},
                                 .clock = calibration->clock};
    enum gw_status status = measure_network(&link, calibration, report, &network, error);
    gw_pool_close(&link.pool);
    if (status != GW_OK) {
        cJSON_Delete(network.kept);
        return status;
    }
    return gw_cluster_set_network(cluster, network, error);
}
