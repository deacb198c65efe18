#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/facts.h"

/* ---- system ------------------------------------------------------------------------------ */

/* 'NAME="Debian"' and 'NAME=Debian' are both usual. */
static void unquote(char *text) {
    size_t length = strlen(text);
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        memmove(text, text + 1, length - 2);
        text[length - 2] = '\0';
    }
}

static enum gw_status put_line(const char *root, const char *path, const char *key, cJSON *node,
                               struct gw_error *error) {
    char line[GW_FACT_SIZE];
    return gw_fact_read(root, path, line) ? gw_json_put_text(node, key, line, error) : GW_OK;
}

static enum gw_status put_distribution(const char *root, cJSON *node, struct gw_error *error) {
    char name[GW_FACT_SIZE];
    char *text = gw_fact_text(root, "/etc/os-release");
    bool found = text != NULL && gw_fact_find(text, "PRETTY_NAME", name);
    free(text);
    if (!found) {
        return GW_OK;
    }
    unquote(name);
    return gw_json_put_text(node, "system", name, error);
}

static enum gw_status put_memory(const char *root, cJSON *node, struct gw_error *error) {
    char line[GW_FACT_SIZE];
    char unit[4] = "";
    double kilobytes = 0;
    char *text = gw_fact_text(root, "/proc/meminfo");
    bool found = text != NULL && gw_fact_find(text, "MemTotal", line) &&
                 sscanf(line, "%15lf %3s", &kilobytes, unit) == 2 && strcmp(unit, "kB") == 0 &&
                 kilobytes > 0 && kilobytes < 1e15;
    free(text);
    return found ? gw_json_put_number(node, "memory_bytes", 1024 * kilobytes, error) : GW_OK;
}

/* Of a control group's "200000 100000": so many microseconds of processors in so many. */
static enum gw_status put_quota(const char *root, cJSON *node, struct gw_error *error) {
    char line[GW_FACT_SIZE];
    double quota = 0;
    double period = 0;
    bool limited = gw_fact_read(root, "/sys/fs/cgroup/cpu.max", line) &&
                   sscanf(line, "%15lf %15lf", &quota, &period) == 2 && quota > 0 && period > 0;
    return limited ? gw_json_put_number(node, "cpu_quota", quota / period, error) : GW_OK;
}

bool gw_fact_boot(const char *root, char out[GW_FACT_SIZE]) {
    return gw_fact_read(root, "/proc/sys/kernel/random/boot_id", out);
}

enum gw_status gw_put_system_facts(const char *root, cJSON *node, struct gw_error *error) {
    GW_TRY(put_distribution(root, node, error));
    GW_TRY(put_line(root, "/proc/sys/kernel/osrelease", "kernel", node, error));
    GW_TRY(put_memory(root, node, error));
    GW_TRY(put_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    "clock_source", node, error));
    return put_quota(root, node, error);
}
