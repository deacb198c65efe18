#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/facts.h"
#include "calibrate/hosts/nvml.h"
#include "device/device.h"

enum { MOST_GPUS = 16 };

/* ---- one GPU ----------------------------------------------------------------------------- */

/* Of its slot: the kernel's memory node, -1 where there is only one, and all that NVML says. */
static enum gw_status put_slot(const char *root, const char *pci, cJSON *entry,
                               struct gw_error *error) {
    char path[128];
    double numa_node = 0;
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%.40s/numa_node", pci);
    for (char *c = path; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c); /* as the kernel names it; CUDA has "0000:3B:00.0" */
    }
    GW_TRY(gw_json_put_text(entry, "pci", pci, error));
    if (gw_fact_read_number(root, path, &numa_node)) {
        GW_TRY(gw_json_put_number(entry, "numa_node", numa_node, error));
    }
    return root[0] == '\0' ? gw_nvml_put_gpu(pci, entry, error) : GW_OK;
}

/* ---- all of them ------------------------------------------------------------------------- */

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
        GW_TRY(put_slot("", gpus[i].pci, entry, error));
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
            status = status == GW_OK ? put_slot(root, folders[i]->d_name, entry, error) : status;
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
    return root[0] == '\0' ? gw_nvml_put_node(list, node, error) : GW_OK;
}
