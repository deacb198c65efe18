#include "calibrate/hosts/hosts.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/hosts/links.h"
#include "calibrate/measure/subjects.h"
#include "kernels/kernels.h"

/* ---- work -------------------------------------------------------------------------------- */

enum {
    TOGETHER_REPEATS = 40, /* some 30 ms: longer than the kernel lets one of two have a core */
    COMPUTE_REPEATS = 15,
    MEMORY_REPEATS = 5,
    FEWEST_REPEATS = 3
};
static const double turn_s = 0.04;
static const double longest_s = 0.015; /* of compute, and of memory, in a turn */

static enum gw_status time_together(const struct gw_host_work *work, double *mean_s,
                                    struct gw_error *error) {
    double started_s = gw_clock_now_s();
    for (int i = 0; i < TOGETHER_REPEATS; i++) {
        GW_TRY(work->compute(work->context, error));
    }
    *mean_s = (gw_clock_now_s() - started_s) / TOGETHER_REPEATS;
    return GW_OK;
}

static enum gw_status time_action(gw_action *action, void *context, size_t most,
                                  struct gw_spread *out, struct gw_error *error) {
    double seconds[COMPUTE_REPEATS];
    size_t count = 0;
    double end_s = gw_clock_now_s() + longest_s;
    while (count < most && (count < FEWEST_REPEATS || gw_clock_now_s() < end_s)) {
        double started_s = gw_clock_now_s();
        GW_TRY(action(context, error));
        seconds[count++] = gw_clock_now_s() - started_s;
    }
    gw_spread_of(seconds, count, out);
    return GW_OK;
}

static enum gw_status time_alone(const struct gw_host_work *work, struct gw_host_times *out,
                                 struct gw_error *error) {
    struct gw_spread spread;
    GW_TRY(time_action(work->compute, work->context, COMPUTE_REPEATS, &spread, error));
    out->compute_low_s = spread.percentiles[1];
    out->compute_s = spread.percentiles[2];
    out->compute_high_s = spread.percentiles[3];
    GW_TRY(time_action(work->memory, work->context, MEMORY_REPEATS, &spread, error));
    out->memory_s = spread.percentiles[2];
    return GW_OK;
}

static void time_clock(struct gw_host_times *out) {
    enum { READINGS = 1001 };
    double seconds[READINGS];
    struct gw_spread spread;
    out->clock_step_s = INFINITY;
    for (size_t i = 0; i < READINGS; i++) {
        double before_s = gw_clock_now_s();
        seconds[i] = gw_clock_now_s() - before_s;
        if (seconds[i] != 0) {
            out->clock_step_s = fmin(out->clock_step_s, seconds[i]);
        }
    }
    gw_spread_of(seconds, READINGS, &spread);
    out->clock_s = spread.mean;
}

/* ---- turns ------------------------------------------------------------------------------- */

/* What a host's further ranks add to what its first rank found. */
static void add_rank(const struct gw_host_times *rank, struct gw_host_times *host) {
    host->together_s = fmax(host->together_s, rank->together_s);
    host->clock_s = fmax(host->clock_s, rank->clock_s);
    if (rank->clock_step_s < 0 || host->clock_step_s < 0) {
        host->clock_step_s = fmin(rank->clock_step_s, host->clock_step_s);
    } else {
        host->clock_step_s = fmax(rank->clock_step_s, host->clock_step_s);
    }
}

static enum gw_status combine(struct gw_communicator *communicator, const struct gw_host_list *list,
                              const struct gw_host_times *own, struct gw_host_times *times,
                              struct gw_error *error) {
    struct gw_host_times *all = calloc((size_t)communicator->size, sizeof *all);
    if (all == NULL) {
        return gw_fail_memory(error, "comparing hosts");
    }
    enum gw_status status =
        communicator->transport->allgather(communicator, own, sizeof *own, all, error);
    for (size_t h = 0; h < list->count; h++) {
        times[h] = all[list->first_rank[h]];
    }
    for (int r = 0; r < communicator->size; r++) {
        add_rank(&all[r], &times[list->host_of[r]]);
    }
    free(all);
    return status;
}

enum gw_status gw_time_hosts(struct gw_communicator *communicator, const struct gw_host_list *list,
                             const struct gw_host_work *work, struct gw_host_times *times,
                             struct gw_error *error) {
    struct gw_host_times own = {0};
    size_t host = list->host_of[communicator->rank];
    size_t turns = list->count <= GW_MOST_TURNS ? list->count : 1;
    GW_TRY(work->compute(work->context, error));
    GW_TRY(communicator->transport->barrier(communicator, error));
    GW_TRY(time_together(work, &own.together_s, error));
    time_clock(&own);
    GW_TRY(communicator->transport->barrier(communicator, error));
    double started_s = gw_clock_now_s();
    if (list->first_rank[host] == communicator->rank) {
        gw_clock_sleep_until_s(started_s + turn_s * (turns == 1 ? 0 : (double)host));
        GW_TRY(time_alone(work, &own, error));
    }
    /* Whoever waited in a collective would take a core from those who measure. */
    gw_clock_sleep_until_s(started_s + turn_s * (double)turns);
    return combine(communicator, list, &own, times, error);
}

/* ---- the subject ------------------------------------------------------------------------- */

enum { MEMORY_ELEMENTS = 8 << 20, STEPS = 200000 };

/* Each step waits for the one before it: what counts is the clock rate. */
static enum gw_status compute(void *context, struct gw_error *error) {
    volatile double value = 0.5; /* not known to the compiler, which would do the work */
    double x = value;
    (void)context;
    (void)error;
    for (int i = 0; i < STEPS; i++) {
        x = x * 0.999999 + 1e-7;
    }
    value = x;
    return GW_OK;
}

static enum gw_status read_memory(void *context, struct gw_error *error) {
    volatile float sink;
    (void)error;
    sink = gw_read_pass(context, MEMORY_ELEMENTS);
    (void)sink;
    return GW_OK;
}

static enum gw_status put_times(const struct gw_host_times *times, const struct gw_host_list *list,
                                cJSON *source, struct gw_error *error) {
    cJSON *array = cJSON_CreateArray();
    GW_TRY(gw_json_put(source, "speeds", array, error));
    for (size_t h = 0; h < list->count; h++) {
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(array, entry, error));
        GW_TRY(gw_json_put_text(entry, "host", list->names[h], error));
        GW_TRY(gw_json_put_number(entry, "compute_s", times[h].compute_s, error));
        GW_TRY(gw_json_put_number(entry, "compute_together_s", times[h].together_s, error));
        GW_TRY(gw_json_put_number(entry, "memory_s", times[h].memory_s, error));
        GW_TRY(gw_json_put_number(entry, "clock_s", times[h].clock_s, error));
    }
    return GW_OK;
}

static enum gw_status put_links(const struct gw_link_rate *rates, size_t count, cJSON *source,
                                struct gw_error *error) {
    cJSON *array = cJSON_CreateArray();
    GW_TRY(gw_json_put(source, "links", array, error));
    for (size_t i = 0; i < count; i++) {
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(array, entry, error));
        GW_TRY(gw_json_put_text(entry, "from", rates[i].from, error));
        GW_TRY(gw_json_put_text(entry, "to", rates[i].to, error));
        GW_TRY(gw_json_put_number(entry, "bytes_per_s", rates[i].bytes_per_s, error));
    }
    return GW_OK;
}

static enum gw_status check_speeds(struct gw_communicator *communicator,
                                   const struct gw_host_list *list, cJSON *source,
                                   struct gw_error *error) {
    struct gw_host_times *times = calloc(list->count, sizeof *times);
    float *memory = malloc(MEMORY_ELEMENTS * sizeof *memory);
    enum gw_status status = GW_OK;
    if (times == NULL || memory == NULL) {
        status = gw_fail_memory(error, "comparing hosts");
    } else {
        struct gw_host_work work = {compute, read_memory, memory};
        for (size_t i = 0; i < MEMORY_ELEMENTS; i++) {
            memory[i] = 1;
        }
        status = gw_time_hosts(communicator, list, &work, times, error);
    }
    if (status == GW_OK) {
        status = put_times(times, list, source, error);
    }
    if (status == GW_OK) {
        status = gw_warn_of_times(times, list->names, list->count, source, error);
    }
    free(memory);
    free(times);
    return status;
}

static enum gw_status check_links(struct gw_communicator *communicator,
                                  const struct gw_host_list *list, cJSON *source,
                                  struct gw_error *error) {
    size_t count = gw_link_count(list);
    struct gw_link_rate *rates = calloc(count + 1, sizeof *rates);
    enum gw_status status = rates == NULL ? gw_fail_memory(error, "comparing links")
                                          : gw_time_links(communicator, list, rates, error);
    if (status == GW_OK) {
        status = put_links(rates, count, source, error);
    }
    if (status == GW_OK) {
        status = gw_warn_of_links(rates, count, source, error);
    }
    free(rates);
    return status;
}

static enum gw_status check(struct gw_communicator *communicator, const struct gw_report *report,
                            const struct gw_host_list *list, cJSON *source,
                            struct gw_error *error) {
    report->tell(report->context, report->offset, "hosts, beside each other");
    GW_TRY(gw_warn_of_nodes(source, error));
    GW_TRY(check_speeds(communicator, list, source, error));
    report->tell(report->context, report->offset + report->scale / 2, "links, beside each other");
    return gw_link_count(list) == 0 ? GW_OK : check_links(communicator, list, source, error);
}

enum gw_status gw_calibrate_hosts(struct gw_communicator *communicator,
                                  const struct gw_calibration *calibration,
                                  const struct gw_report *report, struct gw_cluster *cluster,
                                  struct gw_error *error) {
    (void)calibration; /* what is compared does not depend on what is asked for */
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    struct gw_host_list list;
    GW_TRY(gw_json_put(source, "warnings", cJSON_CreateArray(), error));
    GW_TRY(gw_host_list_open(communicator, &list, error));
    enum gw_status status = check(communicator, report, &list, source, error);
    gw_host_list_close(&list);
    return status;
}
