#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/facts.h"

enum { LOOPBACK = 772, LONGEST_NAME = 64 }; /* ARPHRD_LOOPBACK */

static bool read_text(const char *root, const char *interface, const char *name,
                      char out[GW_FACT_SIZE]) {
    char path[192];
    (void)snprintf(path, sizeof path, "/sys/class/net/%s/%s", interface, name);
    return gw_fact_read(root, path, out);
}

static bool read_number(const char *root, const char *interface, const char *name, double *out) {
    char path[192];
    (void)snprintf(path, sizeof path, "/sys/class/net/%s/%s", interface, name);
    return gw_fact_read_number(root, path, out);
}

/*
 * /proc/net shows the namespace of the process, /sys that of whoever mounted it: what is only in
 * the latter is somebody else's. `known` is the former, or NULL.
 */
static bool is_ours(const char *known, const char *interface) {
    size_t length = strlen(interface);
    for (const char *at = known; at != NULL; at = at == NULL ? NULL : at + 1) {
        at = strstr(at, interface);
        if (at == NULL) {
            return false;
        }
        if ((at == known || strchr(" \n", at[-1]) != NULL) && at[length] == ':') {
            return true;
        }
    }
    return known == NULL;
}

/* Drivers that cannot tell, such as those of virtual machines, have no "operstate" but "unknown".
 */
static bool is_up(const char *root, const char *interface) {
    char state[GW_FACT_SIZE];
    double type = 0;
    bool loops = read_number(root, interface, "type", &type) && type == LOOPBACK;
    return !loops && read_text(root, interface, "operstate", state) &&
           (strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0);
}

static enum gw_status put_interface(const char *root, const char *interface, cJSON *list,
                                    struct gw_error *error) {
    double value = 0;
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_append(list, entry, error));
    GW_TRY(gw_json_put_text(entry, "name", interface, error));
    /* In Mb/s; -1 of one that has no rate of its own, which is no number here. */
    if (read_number(root, interface, "speed", &value) && value > 0 && value < 4e9) {
        GW_TRY(gw_json_put_number(entry, "bits_per_s", 1e6 * value, error));
    }
    if (read_number(root, interface, "mtu", &value)) {
        GW_TRY(gw_json_put_number(entry, "mtu_bytes", value, error));
    }
    return GW_OK;
}

enum gw_status gw_put_interface_facts(const char *root, cJSON *node, struct gw_error *error) {
    char path[512];
    struct dirent **folders = NULL;
    char *known = gw_fact_text(root, "/proc/net/dev");
    cJSON *list = cJSON_CreateArray();
    enum gw_status status = gw_json_put(node, "interfaces", list, error);
    (void)snprintf(path, sizeof path, "%s/sys/class/net", root);
    int count = status == GW_OK ? scandir(path, &folders, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        const char *name = folders[i]->d_name;
        if (status == GW_OK && name[0] != '.' && strlen(name) < LONGEST_NAME &&
            is_ours(known, name) && is_up(root, name)) {
            status = put_interface(root, name, list, error);
        }
        free(folders[i]);
    }
    free(folders);
    free(known);
    return status;
}
