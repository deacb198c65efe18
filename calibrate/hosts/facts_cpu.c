#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/facts.h"

/* ---- names ------------------------------------------------------------------------------- */

/* x86 names its processors, POWER and RISC-V in other words, ARM only by numbers. */
static bool find_model(const char *cpuinfo, char out[GW_FACT_SIZE]) {
    static const char *const keys[] = {"model name", "cpu model", "cpu", "uarch", "Processor"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (gw_fact_find(cpuinfo, keys[i], out)) {
            return true;
        }
    }
    char implementer[GW_FACT_SIZE];
    char part[GW_FACT_SIZE];
    if (!gw_fact_find(cpuinfo, "CPU implementer", implementer) ||
        !gw_fact_find(cpuinfo, "CPU part", part)) {
        return false;
    }
    (void)snprintf(out, GW_FACT_SIZE, "implementer %.40s, part %.40s", implementer, part);
    return true;
}

static enum gw_status put_model(const char *root, cJSON *node, struct gw_error *error) {
    char model[GW_FACT_SIZE];
    char *cpuinfo = gw_fact_text(root, "/proc/cpuinfo");
    bool found = cpuinfo != NULL && find_model(cpuinfo, model);
    free(cpuinfo);
    return gw_json_put_text(node, "cpu", found ? model : "unknown", error);
}

/* ---- topology ---------------------------------------------------------------------------- */

static bool read_cpus(const char *root, const char *path, struct gw_cpus *out) {
    char *text = gw_fact_text(root, path);
    bool sound = text != NULL && gw_cpus_parse(text, out);
    free(text);
    return sound;
}

static bool is_first(const struct gw_cpus *cpus, size_t cpu) {
    return memchr(cpus->has, 1, cpu) == NULL;
}

/* The processors that share a core or a socket with this one. */
static bool read_siblings(const char *root, size_t cpu, const char *name, struct gw_cpus *out) {
    char path[128];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, name);
    return read_cpus(root, path, out) && out->has[cpu];
}

void gw_cpus_cores(const char *root, const struct gw_cpus *cpus, struct gw_cpus *out) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < GW_MOST_CPUS; i++) {
        struct gw_cpus siblings;
        if (!cpus->has[i]) {
            continue;
        }
        if (read_siblings(root, i, "thread_siblings_list", &siblings)) {
            const unsigned char *first = memchr(siblings.has, 1, GW_MOST_CPUS);
            out->has[first - siblings.has] = 1;
        } else {
            out->has[i] = 1;
        }
    }
}

static enum gw_status put_topology(const char *root, cJSON *node, struct gw_error *error) {
    struct gw_cpus online;
    struct gw_cpus siblings;
    struct gw_cpus nodes;
    size_t sockets = 0;
    size_t cores = 0;
    bool known = true;
    if (!read_cpus(root, "/sys/devices/system/cpu/online", &online)) {
        return GW_OK;
    }
    for (size_t i = 0; i < GW_MOST_CPUS && known; i++) {
        if (online.has[i]) {
            known = read_siblings(root, i, "thread_siblings_list", &siblings);
            cores += known && is_first(&siblings, i);
            known = known && read_siblings(root, i, "core_siblings_list", &siblings);
            sockets += known && is_first(&siblings, i);
        }
    }
    if (known) {
        GW_TRY(gw_json_put_number(node, "sockets", (double)sockets, error));
        GW_TRY(gw_json_put_number(node, "cores", (double)cores, error));
    }
    GW_TRY(gw_json_put_number(node, "threads", (double)gw_cpus_count(&online), error));
    if (read_cpus(root, "/sys/devices/system/node/online", &nodes)) {
        return gw_json_put_number(node, "numa_nodes", (double)gw_cpus_count(&nodes), error);
    }
    return GW_OK;
}

/* Of processors that have fast and slow cores, which are which. */
static enum gw_status put_core_kinds(const char *root, cJSON *node, struct gw_error *error) {
    static const char *const kinds[][2] = {{"performance", "/sys/devices/cpu_core/cpus"},
                                           {"efficiency", "/sys/devices/cpu_atom/cpus"}};
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_put(node, "core_kinds", object, error));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct gw_cpus cpus;
        char text[GW_CPUS_TEXT_SIZE];
        if (read_cpus(root, kinds[i][1], &cpus)) {
            gw_cpus_print(&cpus, text);
            GW_TRY(gw_json_put_text(object, kinds[i][0], text, error));
        }
    }
    if (cJSON_GetArraySize(object) < 2) {
        cJSON_DeleteItemFromObject(node, "core_kinds");
    }
    return GW_OK;
}

/* ---- frequency --------------------------------------------------------------------------- */

static const char frequency_folder[] = "/sys/devices/system/cpu/cpu%zu/cpufreq/%s";

static bool read_frequency_text(const char *root, size_t cpu, const char *name,
                                char out[GW_FACT_SIZE]) {
    char path[128];
    (void)snprintf(path, sizeof path, frequency_folder, cpu, name);
    return gw_fact_read(root, path, out);
}

/* The kernel speaks of kHz. */
static bool read_frequency(const char *root, size_t cpu, const char *name, double *hz) {
    char path[128];
    (void)snprintf(path, sizeof path, frequency_folder, cpu, name);
    bool sound = gw_fact_read_number(root, path, hz);
    *hz = sound ? 1e3 * *hz : 0;
    return sound;
}

bool gw_cpu_frequency(const char *root, size_t cpu, double *hz) {
    return read_frequency(root, cpu, "scaling_cur_freq", hz);
}

/* The governors of all processors, each once, with commas between. */
static void list_governors(const char *root, const struct gw_cpus *online, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < GW_MOST_CPUS; i++) {
        char governor[GW_FACT_SIZE];
        if (!online->has[i] || !read_frequency_text(root, i, "scaling_governor", governor) ||
            strstr(out, governor) != NULL || used + strlen(governor) + 3 > size) {
            continue;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", used == 0 ? "" : ", ", governor);
    }
}

/* "on" or "off", or NULL where nobody says. */
static const char *find_turbo(const char *root) {
    double value = 0;
    if (gw_fact_read_number(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", &value)) {
        return value == 0 ? "on" : "off";
    }
    if (gw_fact_read_number(root, "/sys/devices/system/cpu/cpufreq/boost", &value)) {
        return value == 0 ? "off" : "on";
    }
    return NULL;
}

static enum gw_status put_frequency(const char *root, cJSON *node, struct gw_error *error) {
    struct gw_cpus online;
    char text[GW_FACT_SIZE];
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_put(node, "frequency", object, error));
    if (read_cpus(root, "/sys/devices/system/cpu/online", &online)) {
        list_governors(root, &online, text, sizeof text);
        GW_TRY(text[0] == '\0' ? GW_OK : gw_json_put_text(object, "governor", text, error));
    }
    if (read_frequency_text(root, 0, "scaling_driver", text)) {
        GW_TRY(gw_json_put_text(object, "driver", text, error));
    }
    const char *turbo = find_turbo(root);
    if (turbo != NULL) {
        GW_TRY(gw_json_put_text(object, "turbo", turbo, error));
    }
    static const char *const limits[][2] = {{"cpuinfo_min_freq", "minimum_hz"},
                                            {"scaling_max_freq", "limit_hz"},
                                            {"cpuinfo_max_freq", "maximum_hz"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        double hz = 0;
        if (read_frequency(root, 0, limits[i][0], &hz)) {
            GW_TRY(gw_json_put_number(object, limits[i][1], hz, error));
        }
    }
    if (cJSON_GetArraySize(object) == 0) {
        cJSON_DeleteItemFromObject(node, "frequency");
    }
    return GW_OK;
}

enum gw_status gw_put_cpu_facts(const char *root, cJSON *node, struct gw_error *error) {
    GW_TRY(put_model(root, node, error));
    GW_TRY(put_topology(root, node, error));
    GW_TRY(put_core_kinds(root, node, error));
    return put_frequency(root, node, error);
}
