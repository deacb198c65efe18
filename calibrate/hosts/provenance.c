/*
 * Where a calibration comes from: what each rank says of its host, put together. Hosts that are
 * alike are described once.
 */
#include "calibrate/hosts/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/hosts/facts.h"
#include "calibrate/hosts/gathered.h"
#include "calibrate/hosts/nvml.h"
#include "calibrate/measure/subjects.h"
#include "device/device.h"

/* ---- what a rank says -------------------------------------------------------------------- */

static enum gw_status put_binding(cJSON *rank, struct gw_error *error) {
    struct gw_cpus cpus;
    struct gw_cpus cores;
    char text[GW_CPUS_TEXT_SIZE];
    double hz = 0;
    gw_cpus_usable(&cpus);
    gw_cpus_cores("", &cpus, &cores);
    gw_cpus_print(&cpus, text);
    GW_TRY(gw_json_put_text(rank, "cpus", text, error));
    gw_cpus_print(&cores, text);
    GW_TRY(gw_json_put_text(rank, "cores", text, error));
    const unsigned char *first = memchr(cpus.has, 1, GW_MOST_CPUS);
    if (first != NULL && gw_cpu_frequency("", (size_t)(first - cpus.has), &hz)) {
        GW_TRY(gw_json_put_number(rank, "cpu_hz", hz, error));
    }
    const char *devices = getenv("CUDA_VISIBLE_DEVICES");
    return devices == NULL ? GW_OK : gw_json_put_text(rank, "cuda_visible_devices", devices, error);
}

static enum gw_status put_node(cJSON *node, struct gw_error *error) {
    extern char **environ;
    GW_TRY(gw_put_cpu_facts("", node, error));
    GW_TRY(gw_put_system_facts("", node, error));
    GW_TRY(gw_put_interface_facts("", node, error));
    GW_TRY(gw_put_gpu_facts("", node, error));
    cJSON *environment = cJSON_CreateObject();
    GW_TRY(gw_json_put(node, "environment", environment, error));
    return gw_put_environment(environ, environment, error);
}

/* Which GPU the rank has, and how fast that is now; nothing without one. */
static enum gw_status put_gpu(const struct gw_device *device, cJSON *rank, struct gw_error *error) {
    char bus[GW_BUS_SIZE];
    if (device == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_device_bus(device, bus, error));
    GW_TRY(gw_json_put_text(rank, "gpu", bus, error));
    return gw_nvml_put_now(bus, rank, error);
}

/* {"rank": {...}, "node": {...}} as text, the caller's to free. */
static enum gw_status describe_self(const struct gw_communicator *communicator,
                                    const struct gw_device *device, char **text,
                                    struct gw_error *error) {
    char host[GW_HOST_SIZE] = "";
    cJSON *rank = cJSON_CreateObject();
    cJSON *node = cJSON_CreateObject();
    cJSON *self = cJSON_CreateObject();
    (void)gethostname(host, sizeof host - 1);
    enum gw_status status = gw_json_put(self, "rank", rank, error);
    enum gw_status node_status = gw_json_put(self, "node", node, error);
    status = status == GW_OK ? node_status : status;
    if (status == GW_OK) {
        status = gw_json_put_number(rank, "rank", communicator->rank, error);
    }
    if (status == GW_OK) {
        status = gw_json_put_text(rank, "host", host, error);
    }
    if (status == GW_OK) {
        status = put_binding(rank, error);
    }
    if (status == GW_OK) {
        status = put_gpu(device, rank, error);
    }
    if (status == GW_OK) {
        status = put_node(node, error);
    }
    if (status == GW_OK) {
        status = gw_json_print_compact(self, text, error);
    }
    cJSON_Delete(self);
    return status;
}

/* ---- put together ------------------------------------------------------------------------ */

/* But for its names. */
static bool is_alike(const cJSON *known, const cJSON *node) {
    const cJSON *fact = NULL;
    cJSON_ArrayForEach(fact, node) {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(known, fact->string);
        if (other == NULL || !cJSON_Compare(fact, other, 1)) {
            return false;
        }
    }
    return cJSON_GetArraySize(known) == cJSON_GetArraySize(node) + 1;
}

/* Joins a host to the nodes that are like it; takes `node`. */
static enum gw_status add_node(cJSON *nodes, const char *host, cJSON *node,
                               struct gw_error *error) {
    cJSON *known = NULL;
    cJSON_ArrayForEach(known, nodes) {
        if (is_alike(known, node)) {
            cJSON_Delete(node);
            return gw_json_append(cJSON_GetObjectItemCaseSensitive(known, "hosts"),
                                  cJSON_CreateString(host), error);
        }
    }
    cJSON *names = cJSON_CreateArray();
    GW_TRY(gw_json_append(nodes, node, error));
    GW_TRY(gw_json_put(node, "hosts", names, error));
    return gw_json_append(names, cJSON_CreateString(host), error);
}

/* Takes what a rank said apart: its own part, and its host's if it is the first to speak of it. */
static enum gw_status add_rank(cJSON *source, cJSON *said, const char *new_host,
                               struct gw_error *error) {
    cJSON *rank = cJSON_DetachItemFromObjectCaseSensitive(said, "rank");
    GW_TRY(gw_json_append(cJSON_GetObjectItemCaseSensitive(source, "ranks"), rank, error));
    if (new_host == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_append(cJSON_GetObjectItemCaseSensitive(source, "hosts"),
                          cJSON_CreateString(new_host), error));
    return add_node(cJSON_GetObjectItemCaseSensitive(source, "nodes"), new_host,
                    cJSON_DetachItemFromObjectCaseSensitive(said, "node"), error);
}

enum gw_status gw_put_hosts(const struct gw_gathered *gathered, const struct gw_host_list *list,
                            int size, cJSON *source, struct gw_error *error) {
    static const char *const arrays[] = {"hosts", "nodes", "ranks"};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        GW_TRY(gw_json_put(source, arrays[i], cJSON_CreateArray(), error));
    }
    for (int r = 0; r < size; r++) {
        const char *text = gw_gathered_text(gathered, r);
        size_t host = list->host_of[r];
        cJSON *said = NULL;
        GW_TRY(gw_json_parse(text, strlen(text), "provenance", &said, error));
        enum gw_status status =
            add_rank(source, said, list->first_rank[host] == r ? list->names[host] : NULL, error);
        cJSON_Delete(said);
        GW_TRY(status);
    }
    return GW_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

/* What files of before nodes were described have of the first host. */
static enum gw_status put_summary(cJSON *source, struct gw_error *error) {
    const cJSON *node = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(source, "nodes"), 0);
    const cJSON *cpu = cJSON_GetObjectItemCaseSensitive(node, "cpu");
    const cJSON *gpu = NULL;
    cJSON *names = cJSON_CreateArray();
    GW_TRY(gw_json_put(source, "gpus", names, error));
    cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(node, "gpus")) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(gpu, "name"));
        GW_TRY(gw_json_append(names, cJSON_CreateString(name), error));
    }
    GW_TRY(gw_json_put_text(source, "cpu", cJSON_GetStringValue(cpu), error));
    return gw_json_put_number(source, "cores_per_host", (double)sysconf(_SC_NPROCESSORS_ONLN),
                              error);
}

static enum gw_status put_versions(const struct gw_communicator *communicator,
                                   const struct gw_calibration *calibration, cJSON *source,
                                   struct gw_error *error) {
    const struct gw_communicator *gpus = calibration->gpu_communicator;
    const char *const texts[][2] = {{"device", calibration->device == NULL ? NULL : "cuda"},
                                    {"gpu_transport", gpus == NULL ? NULL : gpus->transport->name},
                                    {"transport", communicator->transport->name},
                                    {"mpi", gw_mpi_version()},
                                    {"nccl", gw_nccl_version()},
                                    {"cuda", gw_cuda_version()},
                                    {"instruction_set", gw_instruction_set()},
                                    {"gradweave", calibration->version},
                                    {"command", calibration->command}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i][1] != NULL) {
            GW_TRY(gw_json_put_text(source, texts[i][0], texts[i][1], error));
        }
    }
    return GW_OK;
}

static enum gw_status put_settings(const struct gw_calibration *calibration, cJSON *source,
                                   struct gw_error *error) {
    char date[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    GW_TRY(gw_json_put_text(source, "kind", "measured", error));
    GW_TRY(gw_json_put_text(source, "date", date, error));
    GW_TRY(gw_json_put_number(source, "density", calibration->density, error));
    GW_TRY(gw_json_put_number(source, "precision", calibration->precision, error));
    return gw_json_put_text(
        source, "note",
        "times are medians over repeats, from when the last rank begins to when "
        "the last one is done, by clocks in step",
        error);
}

static enum gw_status put_ranks(struct gw_communicator *communicator,
                                const struct gw_device *device, const struct gw_host_list *list,
                                cJSON *source, struct gw_error *error) {
    struct gw_gathered gathered = {0};
    char *text = NULL;
    GW_TRY(describe_self(communicator, device, &text, error));
    enum gw_status status = gw_gather_texts(communicator, text, &gathered, error);
    if (status == GW_OK) {
        status = gw_put_hosts(&gathered, list, communicator->size, source, error);
    }
    free(gathered.texts);
    free(text);
    return status;
}

enum gw_status gw_put_provenance(struct gw_communicator *communicator,
                                 const struct gw_calibration *calibration,
                                 struct gw_cluster *cluster, struct gw_error *error) {
    cJSON *source = cJSON_CreateObject();
    struct gw_host_list list;
    GW_TRY(gw_json_put(cluster->kept, "source", source, error));
    GW_TRY(put_settings(calibration, source, error));
    GW_TRY(put_versions(communicator, calibration, source, error));
    GW_TRY(gw_host_list_open(communicator, &list, error));
    cluster->workers_per_node = gw_host_list_most_ranks(&list);
    enum gw_status status = put_ranks(communicator, calibration->device, &list, source, error);
    gw_host_list_close(&list);
    return status == GW_OK ? put_summary(source, error) : status;
}
