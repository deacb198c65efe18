/*
 * Times of messages between two ranks, for LogGP parameters.
 *
 * Overheads are timed as Kielmann, Bal and Verstoep do ("Fast measurement of LogP parameters for
 * message passing platforms", 2000): the sender's call, with nothing else under way, and the
 * receiver's call after a delay in which the message has come. Trains of messages with delays
 * between them (Hoefler et al., "Low-overhead LogGP parameter assessment for modern interconnection
 * networks", 2007) need no clock in the midst of an exchange, but take the overhead as a difference
 * of long times, in which a disturbance of the hosts is as large as the overhead itself; reading
 * the clock costs less, and what it costs is known. The gap comes from such trains, without delays.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>

#include "calibrate/fit/curves.h"
#include "calibrate/fit/loggp.h"
#include "calibrate/hosts/host_list.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/self_timed.h"
#include "calibrate/measure/subjects.h"

enum {
    LARGEST_BYTES = 4 << 20,
    LARGEST_BUFFERED = 2048, /* calls are timed up to here: libraries buffer such messages */
    LARGEST_FLOOD = 256 << 10,
    MOST_MESSAGES = 64,    /* of a flood ... */
    FLOOD_BYTES = 2 << 20, /* ... unless there would be more bytes */
    POOL_BYTES = 32 << 20,
    MOST_PROBES = 64
};
static const double longest_s = 0.1; /* at one size: seconds for 40 sizes of a pair */

struct link {
    struct gw_communicator *communicator; /* what messages go through ... */
    struct gw_communicator *world;        /* ... and what the ranks agree on the host by */
    int first, second;                    /* ranks; the first one's clock counts */
    struct gw_pool pool;                  /* each message sends or receives another part */
    size_t bytes, messages;
    double delay_s; /* after which an answer has surely come: twice a round trip */
    double clock_s; /* what reading the clock takes */
};

/* ---- exchanges ----------------------------------------------------------------------------- */

static enum gw_status send(struct link *link, int to, size_t bytes, struct gw_error *error) {
    return gw_send(link->communicator, to, gw_pool_next(&link->pool, bytes), bytes, error);
}

static enum gw_status receive(struct link *link, int from, size_t bytes, struct gw_error *error) {
    return gw_receive(link->communicator, from, gw_pool_next(&link->pool, bytes), bytes, error);
}

static enum gw_status answer(struct link *link, struct gw_error *error) {
    GW_TRY(receive(link, link->first, link->bytes, error));
    return send(link, link->first, link->bytes, error);
}

/* Others may need this core for the answer to come. */
static void idle(double seconds) {
    double end_s = gw_clock_now_s() + seconds;
    while (gw_clock_now_s() < end_s) {
        (void)sched_yield();
    }
}

static enum gw_status time_ping_pong(void *context, double *seconds, struct gw_error *error) {
    struct link *link = context;
    *seconds = 0;
    if (link->communicator->rank == link->second) {
        return answer(link, error);
    }
    if (link->communicator->rank == link->first) {
        double started_s = gw_clock_now_s();
        GW_TRY(send(link, link->second, link->bytes, error));
        GW_TRY(receive(link, link->second, link->bytes, error));
        *seconds = gw_clock_now_s() - started_s;
    }
    return GW_OK;
}

/* A call that takes no longer than the clock takes a nanosecond. */
static double since(const struct link *link, double started_s) {
    return fmax(gw_clock_now_s() - started_s - link->clock_s, 1e-9);
}

static enum gw_status time_send_call(void *context, double *seconds, struct gw_error *error) {
    struct link *link = context;
    *seconds = 0;
    if (link->communicator->rank == link->second) {
        return answer(link, error);
    }
    if (link->communicator->rank == link->first) {
        double started_s = gw_clock_now_s();
        GW_TRY(send(link, link->second, link->bytes, error));
        *seconds = since(link, started_s);
        idle(link->delay_s);
        return receive(link, link->second, link->bytes, error);
    }
    return GW_OK;
}

static enum gw_status time_receive_call(void *context, double *seconds, struct gw_error *error) {
    struct link *link = context;
    *seconds = 0;
    if (link->communicator->rank == link->second) {
        return answer(link, error);
    }
    if (link->communicator->rank == link->first) {
        GW_TRY(send(link, link->second, link->bytes, error));
        idle(link->delay_s);
        double started_s = gw_clock_now_s();
        GW_TRY(receive(link, link->second, link->bytes, error));
        *seconds = since(link, started_s);
    }
    return GW_OK;
}

/* Many messages one after the other, and a short answer to the last. */
static enum gw_status time_flood(void *context, double *seconds, struct gw_error *error) {
    struct link *link = context;
    struct gw_communicator *communicator = link->communicator;
    const struct gw_transport *transport = communicator->transport;
    struct gw_request requests[MOST_MESSAGES];
    bool sends = communicator->rank == link->first;
    *seconds = 0;
    if (!sends && communicator->rank != link->second) {
        return GW_OK;
    }
    double started_s = gw_clock_now_s();
    for (size_t i = 0; i < link->messages; i++) {
        void *part = gw_pool_next(&link->pool, link->bytes);
        GW_TRY(sends ? transport->start_send(communicator, link->second, part, link->bytes,
                                             &requests[i], error)
                     : transport->start_receive(communicator, link->first, part, link->bytes,
                                                &requests[i], error));
    }
    GW_TRY(transport->wait(communicator, requests, link->messages, error));
    GW_TRY(sends ? receive(link, link->second, 1, error) : send(link, link->first, 1, error));
    *seconds = sends ? gw_clock_now_s() - started_s : 0;
    return GW_OK;
}

static const struct {
    const char *name;
    enum gw_status (*time)(void *context, double *seconds, struct gw_error *error);
} kinds[GW_LOGGP_KINDS] = {{"ping-pong", time_ping_pong},
                           {"flood", time_flood},
                           {"send call", time_send_call},
                           {"receive call", time_receive_call}};

/* ---- what is measured ---------------------------------------------------------------------- */

struct probe {
    enum gw_loggp_kind kind;
    size_t bytes, messages;
    struct gw_measurement measurement; /* of a ping-pong: half of it */
};

struct probes {
    struct probe items[MOST_PROBES];
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
        add_probe(out, GW_FLOOD, bytes, fitting < MOST_MESSAGES ? fitting : MOST_MESSAGES);
    }
    for (size_t bytes = 1; bytes <= LARGEST_BUFFERED; bytes *= bytes < 256 ? 16 : 2) {
        add_probe(out, GW_SEND_CALL, bytes, 1);
        add_probe(out, GW_RECEIVE_CALL, bytes, 1);
    }
}

/*
 * In the same random order on every rank, so that what changes slowly, such as clock rates, does
 * not look like an effect of the size; ping-pongs first, as they say how long to delay.
 */
static enum gw_status choose_order(const struct probes *probes, size_t order[MOST_PROBES],
                                   struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, 1, 1, error));
    for (size_t i = 0; i < probes->count; i++) {
        order[i] = i;
    }
    gw_random_shuffle(random, order, probes->ping_pongs, sizeof *order);
    gw_random_shuffle(random, order + probes->ping_pongs, probes->count - probes->ping_pongs,
                      sizeof *order);
    gw_random_close(random);
    return GW_OK;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static void halve(struct gw_summary *summary) {
    double *values[] = {&summary->mean, &summary->sd,         &summary->median,     &summary->p5,
                        &summary->p95,  &summary->median_low, &summary->median_high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        *values[i] /= 2;
    }
}

static enum gw_status measure_probe(struct link *link, const struct gw_calibration *calibration,
                                    struct probe *probe, struct gw_error *error) {
    struct gw_self_timed timed = {.time = kinds[probe->kind].time, .context = link};
    struct gw_summary *summary = &probe->measurement.summary;
    bool is_call = probe->kind == GW_SEND_CALL || probe->kind == GW_RECEIVE_CALL;
    link->bytes = probe->bytes;
    link->messages = probe->messages;
    timed.around_s = is_call ? 2 * link->delay_s : 0; /* and a round trip */
    probe->measurement.size = (double)probe->bytes;
    GW_TRY(gw_measure_self_timed(link->world, calibration, &timed, &probe->measurement, error));
    if (probe->kind == GW_PING_PONG) {
        halve(summary);
        link->delay_s = probe->bytes == LARGEST_BUFFERED ? 4 * summary->median : link->delay_s;
    }
    return GW_OK;
}

static enum gw_status measure_probes(struct link *link, const struct gw_calibration *calibration,
                                     const struct gw_report *report, const char *name,
                                     struct probes *probes, struct gw_error *error) {
    struct gw_calibration quick = *calibration;
    size_t order[MOST_PROBES];
    quick.max_s_per_point = fmin(longest_s, calibration->max_s_per_point);
    GW_TRY(choose_order(probes, order, error));
    for (size_t i = 0; i < probes->count; i++) {
        struct probe *probe = &probes->items[order[i]];
        char number[GW_UNITS_SIZE];
        char what[96];
        snprintf(what, sizeof what, "%s nodes, %s of %s bytes", name, kinds[probe->kind].name,
                 gw_format_count((double)probe->bytes, number));
        report->tell(report->context,
                     report->offset + report->scale * (double)i / (double)probes->count, what);
        GW_TRY(measure_probe(link, &quick, probe, error));
    }
    return GW_OK;
}

/*
 * Of one message. From a flood's time that of its last message and of the answer is taken, which
 * overlap with nothing; if nothing is left, for want of precision, a flood's mean must do.
 */
static double time_of(const struct probes *probes, const struct probe *probe) {
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

static enum gw_status fit_probes(const struct probes *probes, struct gw_loggp_fit *out,
                                 struct gw_error *error) {
    struct gw_loggp_point points[MOST_PROBES];
    for (size_t i = 0; i < probes->count; i++) {
        const struct probe *probe = &probes->items[i];
        points[i] = (struct gw_loggp_point){
            .kind = probe->kind, .bytes = (double)probe->bytes, .time_s = time_of(probes, probe)};
    }
    return gw_loggp_fit(points, probes->count, out, error);
}

/* ---- writing down -------------------------------------------------------------------------- */

static enum gw_status put_error(const char *median_key, const char *max_key,
                                const struct gw_loggp_error *fit_error, cJSON *fit,
                                struct gw_error *error) {
    GW_TRY(gw_json_put_number(fit, median_key, fit_error->median, error));
    return gw_json_put_number(fit, max_key, fit_error->max, error);
}

static enum gw_status put_details(const struct link *link, const struct probes *probes,
                                  const struct gw_loggp_fit *fitted, cJSON *details,
                                  struct gw_error *error) {
    cJSON *raw = cJSON_CreateArray();
    cJSON *fit = cJSON_CreateObject();
    const int ranks[] = {link->first, link->second};
    GW_TRY(gw_json_put(details, "raw", raw, error));
    GW_TRY(gw_json_put(details, "fit", fit, error));
    GW_TRY(gw_json_put(details, "ranks", cJSON_CreateIntArray(ranks, 2), error));
    for (size_t i = 0; i < probes->count; i++) {
        const struct probe *probe = &probes->items[i];
        cJSON *entry = NULL;
        GW_TRY(gw_put_measurement(&probe->measurement, "bytes", raw, &entry, error));
        GW_TRY(gw_json_put_text(entry, "what", kinds[probe->kind].name, error));
        if (probe->kind == GW_FLOOD) {
            GW_TRY(gw_json_put_number(entry, "messages", (double)probe->messages, error));
        }
    }
    GW_TRY(
        put_error("median_relative_error", "max_relative_error", &fitted->ping_pong, fit, error));
    return put_error("flood_median_relative_error", "flood_max_relative_error", &fitted->flood, fit,
                     error);
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* The cost of reading the clock: the median of some. */
static double time_clock(void) {
    enum { READINGS = 101 };
    double seconds[READINGS];
    struct gw_summary summary;
    for (size_t i = 0; i < READINGS; i++) {
        double started_s = gw_clock_now_s();
        seconds[i] = gw_clock_now_s() - started_s;
    }
    gw_summarise(seconds, READINGS, &summary);
    return summary.median;
}

static enum gw_status measure_pair(struct link *link, const struct gw_calibration *calibration,
                                   const struct gw_report *report, const char *name,
                                   struct gw_loggp *out, cJSON *kept, struct gw_error *error) {
    struct probes probes;
    struct gw_loggp_fit fitted;
    cJSON *details = cJSON_CreateObject();
    GW_TRY(gw_json_put(kept, name, details, error));
    choose_probes(&probes, calibration->max_bytes);
    GW_TRY(measure_probes(link, calibration, report, name, &probes, error));
    GW_TRY(fit_probes(&probes, &fitted, error));
    *out = fitted.loggp;
    return put_details(link, &probes, &fitted, details, error);
}

/* The first two ranks, in their order, whose hosts are the same, or are not. */
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

static enum gw_status measure_pairs(struct link *link, const struct gw_calibration *calibration,
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

static enum gw_status measure_network(struct link *link, const struct gw_calibration *calibration,
                                      const struct gw_report *report, struct gw_network *out,
                                      struct gw_error *error) {
    struct gw_host_list list;
    if (out->kept == NULL) {
        return gw_fail_memory(error, "measuring the network");
    }
    GW_TRY(gw_pool_open(POOL_BYTES, calibration->device, &link->pool, error));
    GW_TRY(gw_pool_fill(&link->pool, POOL_BYTES, link->communicator->rank, error));
    GW_TRY(gw_host_list_open(link->world, &list, error));
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
    struct link link = {.communicator = gpus != NULL ? gpus : communicator,
                        .world = communicator,
                        .clock_s = time_clock()};
    enum gw_status status = measure_network(&link, calibration, report, &network, error);
    gw_pool_close(&link.pool);
    if (status != GW_OK) {
        cJSON_Delete(network.kept);
        return status;
    }
    return gw_cluster_set_network(cluster, network, error);
}
