/* Compares the hosts of a job and the links between them, and warns of slow ones. */
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/report.h"

/* ---- hosts and links ----------------------------------------------------------------------- */

enum { MEMORY_ELEMENTS = 8 << 20, STEPS = 200000 };

/* Each step depends on the one before it: the clock rate determines the time. */
static enum gw_status compute_work(void *context, struct gw_error *error) {
    volatile double value = 0.5; /* unknown to the compiler, which would precompute the result */
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

/* Puts the writer's array into `source`. */
static enum gw_status put_array(struct gw_json_writer *writer, const char *key, cJSON *source,
                                struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_writer_finish(writer, &document, error));
    cJSON *array = cJSON_DetachItemFromObjectCaseSensitive(document, key);
    cJSON_Delete(document);
    return gw_json_put(source, key, array, error);
}

static enum gw_status compare_speeds(struct gw_communicator *communicator,
                                     const struct gw_clock *clock, struct gw_host_list *list,
                                     cJSON *source, struct gw_error *error) {
    struct gw_json_writer writer;
    struct gw_host_times *times = gw_arena_zeros(&list->arena, list->count, sizeof *times);
    GW_TRY(gw_arena_check(&list->arena, "comparing hosts", error));
    float *memory = malloc(MEMORY_ELEMENTS * sizeof *memory);
    if (memory == NULL) {
        return gw_fail_memory(error, "comparing hosts");
    }
    const struct gw_host_work work = {compute_work, read_memory, memory};
    for (size_t i = 0; i < MEMORY_ELEMENTS; i++) {
        memory[i] = 1;
    }
    enum gw_status status = gw_time_hosts(communicator, clock, list, &work, times, error);
    free(memory);
    GW_TRY(status);
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "speeds");
    for (size_t h = 0; h < list->count; h++) {
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "host", list->names[h]);
        gw_writer_number(&writer, "compute_s", times[h].compute_s);
        gw_writer_number(&writer, "compute_together_s", times[h].together_s);
        gw_writer_number(&writer, "memory_s", times[h].memory_s);
        gw_writer_number(&writer, "clock_s", times[h].clock_s);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    GW_TRY(put_array(&writer, "speeds", source, error));
    return gw_warn_of_times(times, list->names, list->count, source, error);
}

static enum gw_status compare_links(struct gw_communicator *communicator,
                                    const struct gw_clock *clock, struct gw_host_list *list,
                                    cJSON *source, struct gw_error *error) {
    struct gw_json_writer writer;
    size_t count = gw_link_count(list);
    struct gw_link_rate *rates = gw_arena_zeros(&list->arena, count, sizeof *rates);
    GW_TRY(gw_arena_check(&list->arena, "comparing links", error));
    GW_TRY(gw_time_links(communicator, clock, list, rates, error));
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "links");
    for (size_t i = 0; i < count; i++) {
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "from", rates[i].from);
        gw_writer_text(&writer, "to", rates[i].to);
        gw_writer_number(&writer, "bytes_per_s", rates[i].bytes_per_s);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    GW_TRY(put_array(&writer, "links", source, error));
    return gw_warn_of_links(rates, count, source, error);
}

enum gw_status gw_calibrate_hosts(struct gw_communicator *communicator,
                                  const struct gw_calibration *calibration,
                                  const struct gw_report *report, struct gw_cluster *cluster,
                                  struct gw_error *error) {
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    struct gw_host_list list;
    GW_TRY(gw_json_put(source, "warnings", cJSON_CreateArray(), error));
    GW_TRY(gw_warn_of_nodes(source, error));
    GW_TRY(gw_host_list_open(communicator, &list, error));
    gw_report_progress(report, 0, "hosts, beside each other");
    enum gw_status status = compare_speeds(communicator, calibration->clock, &list, source, error);
    if (status == GW_OK && gw_link_count(&list) > 0) {
        gw_report_progress(report, 0.5, "links, beside each other");
        status = compare_links(communicator, calibration->clock, &list, source, error);
    }
    gw_host_list_close(&list);
    return status;
}

/* ---- others ------------------------------------------------------------------------------ */

enum gw_status gw_calibrate_others(struct gw_communicator *communicator,
                                   const struct gw_host_ticks *before, struct gw_cluster *cluster,
                                   struct gw_error *error) {
    struct gw_host_ticks now;
    struct gw_host_list list;
    gw_host_ticks_read("", &now);
    double share = (now.taken - before->taken) / fmax(now.all - before->all, 1);
    GW_TRY(gw_host_list_open(communicator, &list, error));
    double *of_ranks = gw_arena_zeros(&list.arena, (size_t)communicator->size, sizeof *of_ranks);
    double *of_hosts = gw_arena_zeros(&list.arena, list.count, sizeof *of_hosts);
    enum gw_status status =
        gw_agree(communicator, gw_arena_check(&list.arena, "comparing hosts", error), error);
    if (status == GW_OK) {
        status = gw_allgather(communicator, &share, sizeof share, of_ranks, error);
    }
    for (size_t h = 0; h < list.count && status == GW_OK; h++) {
        of_hosts[h] = of_ranks[list.first_rank[h]];
    }
    if (status == GW_OK) {
        cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
        status = gw_warn_of_others(of_hosts, list.names, list.count, source, error);
    }
    gw_host_list_close(&list);
    return status;
}
