/* The provenance of a calibration: the descriptions of all ranks' hosts, joined. Equal hosts are
 * described once. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/hosts/hosts.h"
#include "device/device.h"

/* ---- one rank ------------------------------------------------------------------------------ */

/* Writes where the rank may run, and its GPU with its present clocks, if it has one. */
static void write_rank(struct gw_json_writer *writer, const struct gw_communicator *communicator,
                       const char *bus) {
    char host[GW_HOST_SIZE] = "";
    struct gw_cpus cpus;
    struct gw_cpus cores;
    char text[GW_CPUS_TEXT_SIZE];
    double hz = 0;
    (void)gethostname(host, sizeof host - 1);
    gw_cpus_usable(&cpus);
    gw_cpus_cores("", &cpus, &cores);
    gw_writer_number(writer, "rank", communicator->rank);
    gw_writer_text(writer, "host", host);
    gw_cpus_print(&cpus, text);
    gw_writer_text(writer, "cpus", text);
    gw_cpus_print(&cores, text);
    gw_writer_text(writer, "cores", text);
    const unsigned char *first = memchr(cpus.has, 1, GW_MAX_CPUS);
    if (first != NULL && gw_cpu_frequency("", (size_t)(first - cpus.has), &hz)) {
        gw_writer_number(writer, "cpu_hz", hz);
    }
    const char *devices = getenv("CUDA_VISIBLE_DEVICES");
    if (devices != NULL) {
        gw_writer_text(writer, "cuda_visible_devices", devices);
    }
    if (bus != NULL) {
        gw_writer_text(writer, "gpu", bus);
        gw_nvml_write_now(writer, bus);
    }
}

/* Writes {"rank": {...}, "node": {...}} as text, which the caller frees. */
static enum gw_status describe_self(const struct gw_communicator *communicator,
                                    const struct gw_device *device, char **text,
                                    struct gw_error *error) {
    struct gw_json_writer writer;
    char bus[GW_BUS_SIZE];
    GW_TRY(device == NULL ? GW_OK : gw_device_bus(device, bus, error));
    gw_writer_begin(&writer);
    gw_writer_object(&writer, "rank");
    write_rank(&writer, communicator, device == NULL ? NULL : bus);
    gw_writer_end(&writer);
    gw_writer_object(&writer, "node");
    gw_write_host_facts(&writer, "");
    gw_write_gpu_facts(&writer, "");
    gw_writer_object(&writer, "environment");
    gw_write_environment(&writer, environ);
    gw_writer_end(&writer);
    gw_writer_end(&writer);
    return gw_writer_finish_text(&writer, text, error);
}

/* ---- joining ------------------------------------------------------------------------------- */

/* Compares two nodes without their names. */
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

/* Joins a host to the nodes that are equal to it; takes `node`. */
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

/* Puts "hosts", "nodes" and "ranks" into `source`. Each rank's text, of `stride` bytes, is {"rank":
 * {"rank", "host", ...}, "node": {...}}. */
static enum gw_status put_hosts(const char *texts, size_t stride, const struct gw_host_list *list,
                                int size, cJSON *source, struct gw_error *error) {
    static const char *const arrays[] = {"hosts", "nodes", "ranks"};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        GW_TRY(gw_json_put(source, arrays[i], cJSON_CreateArray(), error));
    }
    for (int r = 0; r < size; r++) {
        const char *text = texts + (size_t)r * stride;
        size_t host = list->host_of[r];
        cJSON *said = NULL;
        GW_TRY(gw_json_parse(text, strlen(text), "provenance", &said, error));
        cJSON *rank = cJSON_DetachItemFromObjectCaseSensitive(said, "rank");
        cJSON *node = cJSON_DetachItemFromObjectCaseSensitive(said, "node");
        cJSON_Delete(said);
        enum gw_status status =
            gw_json_append(cJSON_GetObjectItemCaseSensitive(source, "ranks"), rank, error);
        if (status != GW_OK || list->first_rank[host] != r) {
            cJSON_Delete(node);
            GW_TRY(status);
            continue;
        }
        GW_TRY(add_node(cJSON_GetObjectItemCaseSensitive(source, "nodes"), list->names[host], node,
                        error));
        GW_TRY(gw_json_append(cJSON_GetObjectItemCaseSensitive(source, "hosts"),
                              cJSON_CreateString(list->names[host]), error));
    }
    return GW_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

static enum gw_status put_settings(const struct gw_communicator *communicator,
                                   const struct gw_calibration *calibration, cJSON **source,
                                   struct gw_error *error) {
    const struct gw_communicator *gpus = calibration->gpu_communicator;
    const struct gw_transport *transport = communicator->transport;
    const char *const texts[][2] = {
        {"device", calibration->device == NULL ? "cpu" : "cuda"},
        {"gpu_transport", gpus == NULL ? NULL : gpus->transport->name},
        {"transport", transport->name},
        {transport->name, transport->version == NULL ? NULL : transport->version(communicator)},
        {"nccl", gw_nccl_version()},
        {"cuda", gw_cuda_version()},
        {"instruction_set", gw_instruction_set()},
        {"gradweave", calibration->version},
        {"command", calibration->command}};
    struct gw_json_writer writer;
    char date[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "kind", "measured");
    gw_writer_text(&writer, "date", date);
    gw_writer_number(&writer, "density", calibration->density);
    gw_writer_number(&writer, "precision", calibration->precision);
    gw_writer_text(&writer, "note",
                   "times are medians over repeats, from when the last rank begins to when "
                   "the last one is done, by clocks in step");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i][1] != NULL) {
            gw_writer_text(&writer, texts[i][0], texts[i][1]);
        }
    }
    return gw_writer_finish(&writer, source, error);
}

/* Gathers texts of all ranks, of different lengths, on every rank. */
static enum gw_status gather_texts(struct gw_communicator *communicator, const char *text,
                                   struct gw_arena *arena, const char **texts, size_t *stride,
                                   struct gw_error *error) {
    double longest = (double)strlen(text) + 1;
    GW_TRY(gw_agree_maximum(communicator, &longest, 1, error));
    *stride = (size_t)longest;
    char *mine = gw_arena_zeros(arena, *stride, 1);
    char *all = gw_arena_zeros(arena, (size_t)communicator->size, *stride);
    GW_TRY(gw_arena_check(arena, "gathering facts about hosts", error));
    memcpy(mine, text, strlen(text) + 1);
    *texts = all;
    return gw_allgather(communicator, mine, *stride, all, error);
}

static enum gw_status put_ranks(struct gw_communicator *communicator,
                                const struct gw_device *device, const struct gw_host_list *list,
                                cJSON *source, struct gw_error *error) {
    struct gw_arena arena = {0};
    const char *texts = NULL;
    size_t stride = 0;
    char *text = NULL;
    GW_TRY(describe_self(communicator, device, &text, error));
    enum gw_status status = gather_texts(communicator, text, &arena, &texts, &stride, error);
    free(text);
    if (status == GW_OK) {
        status = put_hosts(texts, stride, list, communicator->size, source, error);
    }
    gw_arena_free(&arena);
    return status;
}

/* Writes the first host's facts as files had them before nodes were described. */
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

enum gw_status gw_put_provenance(struct gw_communicator *communicator,
                                 const struct gw_calibration *calibration,
                                 struct gw_cluster *cluster, struct gw_error *error) {
    cJSON *source = NULL;
    struct gw_host_list list;
    GW_TRY(put_settings(communicator, calibration, &source, error));
    GW_TRY(gw_json_put(cluster->kept, "source", source, error));
    GW_TRY(gw_host_list_open(communicator, &list, error));
    cluster->workers_per_node = gw_host_list_most_ranks(&list);
    enum gw_status status = put_ranks(communicator, calibration->device, &list, source, error);
    gw_host_list_close(&list);
    return status == GW_OK ? put_summary(source, error) : status;
}
