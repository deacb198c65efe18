#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/facts.h"
#include "device/device.h"

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

/* ---- GPUs -------------------------------------------------------------------------------- */

enum { MOST_GPUS = 16 };

static enum gw_status put_cuda_gpus(cJSON *list, struct gw_error *error) {
    struct gw_gpu gpus[MOST_GPUS];
    size_t count = gw_cuda_devices(gpus, MOST_GPUS);
    for (size_t i = 0; i < count; i++) {
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(list, entry, error));
        GW_TRY(gw_json_put_text(entry, "name", gpus[i].name, error));
        GW_TRY(gw_json_put_number(entry, "memory_bytes", gpus[i].memory_bytes, error));
        if (gpus[i].clock_hz > 0) {
            GW_TRY(gw_json_put_number(entry, "maximum_hz", gpus[i].clock_hz, error));
        }
        GW_TRY(gw_json_put(entry, "ecc", cJSON_CreateBool(gpus[i].ecc), error));
    }
    return GW_OK;
}

/* Of a build without CUDA, or a process that may not open them. */
static enum gw_status put_driver_gpus(const char *root, cJSON *list, struct gw_error *error) {
    char path[512];
    struct dirent **folders = NULL;
    (void)snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", root);
    int count = scandir(path, &folders, NULL, alphasort);
    enum gw_status status = GW_OK;
    for (int i = 0; i < count; i++) {
        char model[GW_FACT_SIZE];
        (void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.200s/information",
                       folders[i]->d_name);
        char *text = folders[i]->d_name[0] == '.' ? NULL : gw_fact_text(root, path);
        if (status == GW_OK && text != NULL && gw_fact_find(text, "Model", model)) {
            cJSON *entry = cJSON_CreateObject();
            status = gw_json_append(list, entry, error);
            status = status == GW_OK ? gw_json_put_text(entry, "name", model, error) : status;
        }
        free(text);
        free(folders[i]);
    }
    free(folders);
    return status;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  ...": the word of digits and dots.
 */
static bool find_driver(const char *line, char out[GW_FACT_SIZE]) {
    for (const char *word = line; *word != '\0'; word += strcspn(word, " ")) {
        word += strspn(word, " ");
        size_t length = strspn(word, "0123456789.");
        if (length >= 3 && (word[length] == ' ' || word[length] == '\0') &&
            memchr(word, '.', length) != NULL) {
            (void)snprintf(out, GW_FACT_SIZE, "%.*s", (int)length, word);
            return true;
        }
    }
    return false;
}

enum gw_status gw_put_gpu_facts(const char *root, cJSON *node, struct gw_error *error) {
    char line[GW_FACT_SIZE];
    char driver[GW_FACT_SIZE];
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(node, "gpus", list, error));
    if (root[0] == '\0') {
        GW_TRY(put_cuda_gpus(list, error));
    }
    if (cJSON_GetArraySize(list) == 0) {
        GW_TRY(put_driver_gpus(root, list, error));
    }
    if (gw_fact_read(root, "/proc/driver/nvidia/version", line) && find_driver(line, driver)) {
        GW_TRY(gw_json_put_text(node, "gpu_driver", driver, error));
    }
    return GW_OK;
}
