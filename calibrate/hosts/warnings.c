#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"

static const double slower_host = 1.1; /* than the median one */
static const double slower_link = 0.8; /* of the median one's rate */
static const double hindered = 1.3;    /* by other ranks of the host */
static const double unsteady = 1.1;    /* third quartile over the first */
static const double slow_clock_s = 5e-7;
static const double coarse_clock_s = 1e-6;
static const double taken = 0.02; /* of a host's processors, by others */

/* Appends to "warnings" of the cluster's source, once each. */
static enum gw_status __attribute__((format(printf, 3, 4)))
add_warning(cJSON *source, struct gw_error *error, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cJSON *list = cJSON_GetObjectItemCaseSensitive(source, "warnings");
    if (list == NULL) {
        list = cJSON_CreateArray();
        GW_TRY(gw_json_put(source, "warnings", list, error));
    }
    const cJSON *known = NULL;
    cJSON_ArrayForEach(known, list) {
        if (strcmp(known->valuestring, text) == 0) {
            return GW_OK;
        }
    }
    return gw_json_append(list, cJSON_CreateString(text), error);
}

/* ---- times ------------------------------------------------------------------------------- */

/* The lower of two middle values: the slower of two hosts is slower than the other. */
static double lower_median(double *values, size_t count) {
    gsl_sort(values, 1, count);
    return values[(count - 1) / 2];
}

static double median_of(const struct gw_host_times *times, size_t count, size_t field,
                        double *values) {
    for (size_t i = 0; i < count; i++) {
        memcpy(&values[i], (const char *)&times[i] + field, sizeof *values);
    }
    return lower_median(values, count);
}

static enum gw_status warn_of_slow(const struct gw_host_times *times, const char *host,
                                   double compute_s, double memory_s, cJSON *source,
                                   struct gw_error *error) {
    double compute = times->compute_s / compute_s;
    double memory = times->memory_s / memory_s;
    if (compute > slower_host) {
        GW_TRY(add_warning(source, error,
                           "%s computes %.2f times slower than the median host, and collectives "
                           "wait for it: look for other load, heat or a lower clock rate there",
                           host, compute));
    }
    if (memory > slower_host) {
        GW_TRY(add_warning(source, error,
                           "%s reads memory %.2f times slower than the median host: look for "
                           "other load or missing memory modules there",
                           host, memory));
    }
    return GW_OK;
}

static enum gw_status warn_of_unsteady(const struct gw_host_times *times, const char *host,
                                       cJSON *source, struct gw_error *error) {
    char low[GW_UNITS_SIZE];
    char high[GW_UNITS_SIZE];
    if (times->compute_high_s > unsteady * times->compute_low_s) {
        GW_TRY(add_warning(source, error,
                           "%s needs %s to %s for the same work: its clock rate changes (fix it, "
                           "without turbo), or something else runs there",
                           host, gw_format_seconds(times->compute_low_s, low),
                           gw_format_seconds(times->compute_high_s, high)));
    }
    if (times->together_s > hindered * times->compute_s) {
        GW_TRY(add_warning(source, error,
                           "%s computes %.2f times slower while all ranks compute: they share "
                           "cores or a clock rate; give each rank cores of its own",
                           host, times->together_s / times->compute_s));
    }
    return GW_OK;
}

static enum gw_status warn_of_clock(const struct gw_host_times *times, const char *host,
                                    cJSON *source, struct gw_error *error) {
    char text[GW_UNITS_SIZE];
    if (times->clock_step_s < 0) {
        return add_warning(source, error,
                           "%s has a clock that went back: no time measured there can be "
                           "trusted; see its kernel's log on the clock source",
                           host);
    }
    if (times->clock_step_s > coarse_clock_s) {
        return add_warning(source, error,
                           "%s has a clock with steps of %s, too coarse for short messages: "
                           "boot with clocksource=tsc if it has one",
                           host, gw_format_seconds(times->clock_step_s, text));
    }
    if (times->clock_s > slow_clock_s) {
        return add_warning(source, error,
                           "%s needs %s to read its clock, which short times contain: boot with "
                           "clocksource=tsc if it has one",
                           host, gw_format_seconds(times->clock_s, text));
    }
    return GW_OK;
}

enum gw_status gw_warn_of_times(const struct gw_host_times *times, char (*hosts)[GW_HOST_SIZE],
                                size_t count, cJSON *source, struct gw_error *error) {
    double *values = calloc(count + 1, sizeof *values);
    if (values == NULL) {
        return gw_fail_memory(error, "comparing hosts");
    }
    double compute_s = median_of(times, count, offsetof(struct gw_host_times, compute_s), values);
    double memory_s = median_of(times, count, offsetof(struct gw_host_times, memory_s), values);
    free(values);
    for (size_t i = 0; i < count; i++) {
        GW_TRY(warn_of_slow(&times[i], hosts[i], compute_s, memory_s, source, error));
        GW_TRY(warn_of_unsteady(&times[i], hosts[i], source, error));
        GW_TRY(warn_of_clock(&times[i], hosts[i], source, error));
    }
    return GW_OK;
}

/* ---- links ------------------------------------------------------------------------------- */

enum gw_status gw_warn_of_links(const struct gw_link_rate *links, size_t count, cJSON *source,
                                struct gw_error *error) {
    double *per_byte_s = calloc(count + 1, sizeof *per_byte_s);
    if (per_byte_s == NULL) {
        return gw_fail_memory(error, "comparing links");
    }
    for (size_t i = 0; i < count; i++) {
        per_byte_s[i] = 1 / links[i].bytes_per_s;
    }
    double usual = count == 0 ? 0 : 1 / lower_median(per_byte_s, count);
    free(per_byte_s);
    for (size_t i = 0; i < count; i++) {
        const struct gw_link_rate *link = &links[i];
        if (link->bytes_per_s < slower_link * usual) {
            GW_TRY(add_warning(source, error,
                               "%s -> %s carries %.4g MB/s, %.2f of the median link's %.4g: check "
                               "cable, negotiated speed and other traffic there",
                               link->from, link->to, link->bytes_per_s / 1e6,
                               link->bytes_per_s / usual, usual / 1e6));
        }
    }
    return GW_OK;
}

enum gw_status gw_warn_of_sizes(const char *collective, double measured_bytes, double largest_bytes,
                                cJSON *source, struct gw_error *error) {
    char measured[GW_UNITS_SIZE], largest[GW_UNITS_SIZE];
    return 4 * measured_bytes >= largest_bytes
               ? GW_OK
               : add_warning(source, error,
                             "%s was measured up to %s of %s, as larger sizes took more than their "
                             "share of the time: its curve goes on straight from there; give "
                             "--time more",
                             collective, gw_format_bytes(measured_bytes, measured),
                             gw_format_bytes(largest_bytes, largest));
}

enum gw_status gw_warn_of_others(const double *shares, char (*hosts)[GW_HOST_SIZE], size_t count,
                                 cJSON *source, struct gw_error *error) {
    size_t most = 0;
    for (size_t i = 1; i < count; i++) {
        most = shares[i] > shares[most] ? i : most;
    }
    if (shares[most] <= taken) {
        return GW_OK;
    }
    return add_warning(source, error,
                       "other virtual machines took %.0f%% of %s's processors meanwhile, so times "
                       "are too long: calibrate again when its machine is quiet",
                       100 * shares[most], hosts[most]);
}

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
    return add_warning(source, error,
                       "%s: the clock rate follows the load (governor %s), and times with it: set "
                       "it with `cpupower frequency-set -g performance`",
                       list_names(cJSON_GetObjectItemCaseSensitive(node, "hosts"), names),
                       governor);
}

/* ---- cores ------------------------------------------------------------------------------- */

/* The ranks of one host, and where they may run. */
struct bound {
    int count;
    struct gw_cpus *cores; /* [count] */
};

/* The number of ranks that have no other cores. */
static size_t count_within(const struct bound *bound, const struct gw_cpus *cores) {
    size_t count = 0;
    for (int i = 0; i < bound->count; i++) {
        count += gw_cpus_contain(cores, &bound->cores[i]);
    }
    return count;
}

/* Warns of the smallest set of cores with more ranks in it than cores, and of no other. */
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
    return add_warning(
        source, error,
        "%s: %s share %s (%.60s): start fewer ranks there, or bind each to cores of its own", host,
        GW_COUNTED(count_within(bound, &bound->cores[worst]), "rank"), GW_COUNTED(cores, "core"),
        text);
}

enum gw_status gw_warn_of_nodes(cJSON *source, struct gw_error *error) {
    size_t ranks = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(source, "ranks"));
    struct bound bound = {.cores = calloc(ranks + 1, sizeof *bound.cores)};
    enum gw_status status = bound.cores == NULL ? gw_fail_memory(error, "comparing ranks") : GW_OK;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(source, "nodes")) {
        const cJSON *host = NULL;
        const cJSON *quota =
            cJSON_GetObjectItemCaseSensitive(node, "cpu_quota"); /* a container's */
        status = status == GW_OK ? warn_of_governor(node, source, error) : status;
        cJSON_ArrayForEach(host, cJSON_GetObjectItemCaseSensitive(node, "hosts")) {
            const cJSON *rank = NULL;
            bound.count = 0;
            cJSON_ArrayForEach(rank, cJSON_GetObjectItemCaseSensitive(source, "ranks")) {
                bound.count += strcmp(text_of(rank, "host"), host->valuestring) == 0 &&
                               gw_cpus_parse(text_of(rank, "cores"), &bound.cores[bound.count]);
            }
            if (status == GW_OK) {
                status = warn_of_shared(&bound, host->valuestring, source, error);
            }
            if (status == GW_OK && cJSON_IsNumber(quota) && quota->valuedouble < bound.count) {
                status = add_warning(source, error,
                                     "%s: %d ranks may use %.3g processors in all (a control "
                                     "group's limit): start fewer ranks there, or raise the limit",
                                     host->valuestring, bound.count, quota->valuedouble);
            }
        }
    }
    free(bound.cores);
    return status;
}
