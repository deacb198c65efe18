/*
 * Uncertainty reasons: differences between a cluster's hosts, links and ranks and those of a job.
 */
#include <string.h>

#include "calibrate/calibrate.h"
#include "calibrate/hosts/hosts.h"

static const double other_link = 1.25; /* links differ if their rates differ by this factor */

struct reasons {
    const struct gw_cluster *cluster;
    const cJSON *source; /* of the cluster; or NULL */
    struct gw_arena *arena;
    char **texts;
    size_t count;
};

enum { MAX_REASONS = 4 }; /* besides gw_calibration_find_drift's */

static void add_reason(struct reasons *reasons, char *text) {
    reasons->texts[reasons->count++] = text;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void compare_hosts(struct reasons *reasons, const struct gw_host_list *list) {
    const cJSON *hosts = cJSON_GetObjectItemCaseSensitive(reasons->source, "hosts");
    const char *path = reasons->cluster->path;
    if (!cJSON_IsArray(hosts)) {
        add_reason(reasons,
                   gw_arena_format(reasons->arena,
                                   "%s was not calibrated on hosts that it names: predictions may "
                                   "be about another network than measurements",
                                   path));
        return;
    }
    size_t others = 0;
    const char *first = "";
    for (size_t h = 0; h < list->count; h++) {
        const cJSON *host = hosts->child;
        while (host != NULL && (!cJSON_IsString(host) || strncmp(host->valuestring, list->names[h],
                                                                 GW_HOST_SIZE - 1) != 0)) {
            host = host->next;
        }
        first = host == NULL && others == 0 ? list->names[h] : first;
        others += host == NULL;
    }
    if (others > 0) {
        add_reason(reasons,
                   gw_arena_format(reasons->arena,
                                   "%s was calibrated on other hosts than %zu of this job's %zu, "
                                   "such as %.64s: predictions may be about another network",
                                   path, others, list->count, first));
    }
}

/* ---- links ----------------------------------------------------------------------------------- */

/* The median rate of the file's links, in bytes per second; 0 if it has none. */
static double file_link_rate(const struct reasons *reasons) {
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(reasons->source, "links");
    size_t count = 0;
    double *rates =
        gw_arena_zeros(reasons->arena, (size_t)cJSON_GetArraySize(links) + 1, sizeof *rates);
    const cJSON *link = NULL;
    cJSON_ArrayForEach(link, links) {
        const cJSON *rate = cJSON_GetObjectItemCaseSensitive(link, "bytes_per_s");
        if (rates != NULL && cJSON_IsNumber(rate) && rate->valuedouble > 0) {
            rates[count++] = rate->valuedouble;
        }
    }
    struct gw_summary summary = {0};
    if (count > 0) {
        gw_summarise(rates, count, &summary);
    }
    return summary.median;
}

/* The median rate of this job's links, on every rank. */
static enum gw_status measure_link_rate(struct gw_communicator *communicator,
                                        struct gw_host_list *list, double *out,
                                        struct gw_error *error) {
    size_t count = gw_link_count(list);
    struct gw_link_rate *links = gw_arena_zeros(&list->arena, count, sizeof *links);
    double *rates = gw_arena_zeros(&list->arena, count, sizeof *rates);
    struct gw_summary summary;
    GW_TRY(gw_agree(communicator, gw_arena_check(&list->arena, "comparing links", error), error));
    GW_TRY(gw_time_links(communicator, &gw_machine_clock, list, links, error));
    for (size_t i = 0; i < count; i++) {
        rates[i] = links[i].bytes_per_s;
    }
    gw_summarise(rates, count, &summary);
    *out = summary.median;
    return GW_OK;
}

static enum gw_status compare_links(struct reasons *reasons, struct gw_communicator *communicator,
                                    struct gw_host_list *list, struct gw_error *error) {
    double then = file_link_rate(reasons);
    double now = then;
    if (then > 0 && gw_link_count(list) > 0) { /* equal on all ranks, as the file is */
        GW_TRY(measure_link_rate(communicator, list, &now, error));
    }
    if (then > 0 && (now > other_link * then || then > other_link * now)) {
        add_reason(reasons,
                   gw_arena_format(reasons->arena,
                                   "links carry %.4g MB/s now, in %s %.4g: calibrate --check says "
                                   "what else has changed",
                                   now / 1e6, reasons->cluster->path, then / 1e6));
    }
    return GW_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum gw_status gw_calibration_uncertainty_reasons(struct gw_communicator *communicator,
                                                  const struct gw_cluster *cluster,
                                                  struct gw_arena *arena, char ***out,
                                                  size_t *count, struct gw_error *error) {
    struct reasons reasons = {.cluster = cluster,
                              .source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source"),
                              .arena = arena,
                              .texts = gw_arena_zeros(arena, MAX_REASONS, sizeof *reasons.texts)};
    struct gw_host_list list;
    GW_TRY(gw_agree(communicator, gw_arena_check(arena, "comparing hosts", error), error));
    GW_TRY(gw_host_list_open(communicator, &list, error));
    compare_hosts(&reasons, &list);
    size_t then = cluster->workers_per_node;
    size_t now = gw_host_list_most_ranks(&list);
    if (then != now) {
        add_reason(&reasons,
                   gw_arena_format(arena, "%s has %zu worker%s on a node, this job up to %zu",
                                   cluster->path, then, then == 1 ? "" : "s", now));
    }
    enum gw_status status = compare_links(&reasons, communicator, &list, error);
    gw_host_list_close(&list);
    *out = reasons.texts;
    *count = reasons.count;
    return status == GW_OK ? gw_arena_check(arena, "comparing hosts", error) : status;
}
