#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/cpus.h"
#include "calibrate/hosts/warnings.h"

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text == NULL ? "" : text;
}

/* ---- clock rates ------------------------------------------------------------------------- */

enum { NAMES_SIZE = 128 };

/* "a, b and 5 more". */
static const char *list_names(const cJSON *names, char out[NAMES_SIZE]) {
    size_t used = 0;
    int listed = 0;
    int count = cJSON_GetArraySize(names);
    const cJSON *name = NULL;
    out[0] = '\0';
    cJSON_ArrayForEach(name, names) {
        if (used + strlen(name->valuestring) + sizeof ", and 1000000 more" > NAMES_SIZE) {
            (void)snprintf(out + used, NAMES_SIZE - used, " and %d more", count - listed);
            break;
        }
        used += (size_t)snprintf(out + used, NAMES_SIZE - used, "%s%s", listed == 0 ? "" : ", ",
                                 name->valuestring);
        listed++;
    }
    return out;
}

static enum gw_status warn_of_governor(const cJSON *node, cJSON *source, struct gw_error *error) {
    char names[NAMES_SIZE];
    const cJSON *frequency = cJSON_GetObjectItemCaseSensitive(node, "frequency");
    const char *governor = text_of(frequency, "governor");
    if (governor[0] == '\0' || strcmp(governor, "performance") == 0) {
        return GW_OK;
    }
    return gw_put_warning(
        source, error,
        "%s: the clock rate follows the load (governor %s), and times with it: set "
        "it with `cpupower frequency-set -g performance`",
        list_names(cJSON_GetObjectItemCaseSensitive(node, "hosts"), names), governor);
}

/* ---- cores ------------------------------------------------------------------------------- */

/* The ranks of one host, and where they may run. */
struct bound {
    int count;
    struct gw_cpus *cores; /* [count] */
};

static int collect_bound(const cJSON *source, const char *host, struct bound *bound) {
    const cJSON *rank = NULL;
    bound->count = 0;
    cJSON_ArrayForEach(rank, cJSON_GetObjectItemCaseSensitive(source, "ranks")) {
        if (strcmp(text_of(rank, "host"), host) == 0 &&
            gw_cpus_parse(text_of(rank, "cores"), &bound->cores[bound->count])) {
            bound->count++;
        }
    }
    return bound->count;
}

/* Ranks that have nothing beyond these cores. */
static size_t count_within(const struct bound *bound, const struct gw_cpus *cores) {
    size_t count = 0;
    for (int i = 0; i < bound->count; i++) {
        count += gw_cpus_contain(cores, &bound->cores[i]);
    }
    return count;
}

/* The smallest set of cores with more ranks in it than cores is told of, and no further one. */
static enum gw_status warn_of_shared(const struct bound *bound, const char *host, cJSON *source,
                                     struct gw_error *error) {
    char text[GW_CPUS_TEXT_SIZE];
    int worst = -1;
    size_t cores = 0;
    for (int i = 0; i < bound->count; i++) {
        size_t count = gw_cpus_count(&bound->cores[i]);
        if (count_within(bound, &bound->cores[i]) > count && (worst < 0 || count < cores)) {
            worst = i;
            cores = count;
        }
    }
    if (worst < 0) {
        return GW_OK;
    }
    gw_cpus_print(&bound->cores[worst], text);
    return gw_put_warning(
        source, error,
        "%s: %zu ranks share %zu core%s (%.60s): start fewer ranks there, or bind "
        "each to cores of its own",
        host, count_within(bound, &bound->cores[worst]), cores, cores == 1 ? "" : "s", text);
}

/* Of a container that has a share of its host's processors. */
static enum gw_status warn_of_quota(const cJSON *node, const struct bound *bound, const char *host,
                                    cJSON *source, struct gw_error *error) {
    const cJSON *quota = cJSON_GetObjectItemCaseSensitive(node, "cpu_quota");
    if (!cJSON_IsNumber(quota) || quota->valuedouble >= bound->count) {
        return GW_OK;
    }
    return gw_put_warning(source, error,
                          "%s: %d ranks may use %.3g processors in all (a control group's limit): "
                          "start fewer ranks there, or raise the limit",
                          host, bound->count, quota->valuedouble);
}

enum gw_status gw_warn_of_nodes(cJSON *source, struct gw_error *error) {
    size_t ranks = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(source, "ranks"));
    struct bound bound = {.cores = calloc(ranks + 1, sizeof *bound.cores)};
    enum gw_status status = bound.cores == NULL ? gw_fail_memory(error, "comparing ranks") : GW_OK;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(source, "nodes")) {
        const cJSON *host = NULL;
        status = status == GW_OK ? warn_of_governor(node, source, error) : status;
        cJSON_ArrayForEach(host, cJSON_GetObjectItemCaseSensitive(node, "hosts")) {
            if (status == GW_OK && collect_bound(source, host->valuestring, &bound) > 0) {
                status = warn_of_shared(&bound, host->valuestring, source, error);
            }
            if (status == GW_OK) {
                status = warn_of_quota(node, &bound, host->valuestring, source, error);
            }
        }
    }
    free(bound.cores);
    return status;
}
