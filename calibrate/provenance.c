#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/subjects.h"
#include "kernels/kernels.h"

static void cpu_model(char *out, size_t size) {
    snprintf(out, size, "unknown");
    char *text = NULL;
    size_t length = 0;
    if (gw_file_read("/proc/cpuinfo", &text, &length, NULL) != GW_OK) {
        return;
    }
    const char *line = strstr(text, "model name");
    const char *colon = line == NULL ? NULL : strchr(line, ':');
    if (colon != NULL) {
        snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    free(text);
}

static enum gw_status put_hosts(struct gw_communicator *communicator, struct gw_cluster *cluster,
                                cJSON *source, struct gw_error *error) {
    size_t size = (size_t)communicator->size;
    char(*hosts)[GW_HOST_SIZE] = calloc(size, sizeof *hosts);
    cJSON *list = cJSON_CreateArray();
    enum gw_status status = gw_json_put(source, "hosts", list, error);
    if (hosts == NULL && status == GW_OK) {
        status = gw_fail_memory(error, "listing hosts");
    }
    if (status == GW_OK) {
        status = gw_gather_hosts(communicator, hosts, error);
    }
    for (size_t rank = 0; rank < size && status == GW_OK; rank++) {
        size_t sharing = 0;
        bool first = true;
        for (size_t other = 0; other < size; other++) {
            bool same = strcmp(hosts[rank], hosts[other]) == 0;
            sharing += same;
            first = first && !(same && other < rank);
        }
        if (first) {
            status = gw_json_append(list, cJSON_CreateString(hosts[rank]), error);
        }
        if (sharing > cluster->workers_per_node) {
            cluster->workers_per_node = sharing;
        }
    }
    free(hosts);
    return status;
}

static enum gw_status put_gpus(cJSON *source, struct gw_error *error) {
    char names[8][GW_GPU_NAME_SIZE];
    size_t count = gw_cuda_devices(names, 8);
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(source, "gpus", list, error));
    for (size_t i = 0; i < count; i++) {
        GW_TRY(gw_json_append(list, cJSON_CreateString(names[i]), error));
    }
    return GW_OK;
}

enum gw_status gw_put_provenance(struct gw_communicator *communicator,
                                 const struct gw_calibration *calibration,
                                 struct gw_cluster *cluster, struct gw_error *error) {
    char date[32];
    char cpu[128];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    cpu_model(cpu, sizeof cpu);
    const char *mpi = gw_mpi_version();
    cJSON *source = cJSON_CreateObject();
    GW_TRY(gw_json_put(cluster->kept, "source", source, error));
    GW_TRY(gw_json_put_text(source, "kind", "measured", error));
    GW_TRY(gw_json_put_text(source, "date", date, error));
    GW_TRY(put_hosts(communicator, cluster, source, error));
    GW_TRY(gw_json_put_text(source, "cpu", cpu, error));
    GW_TRY(
        gw_json_put_number(source, "cores_per_host", (double)sysconf(_SC_NPROCESSORS_ONLN), error));
    GW_TRY(put_gpus(source, error));
    GW_TRY(gw_json_put_text(source, "transport", communicator->transport->name, error));
    if (mpi != NULL) {
        GW_TRY(gw_json_put_text(source, "mpi", mpi, error));
    }
    GW_TRY(gw_json_put_text(source, "gradweave", calibration->version, error));
    GW_TRY(gw_json_put_number(source, "density", calibration->density, error));
    GW_TRY(gw_json_put_text(source, "command", calibration->command, error));
    return gw_json_put_text(source, "note",
                            "times are medians over repeats of the slowest rank's time, with a "
                            "barrier before each repeat",
                            error);
}
