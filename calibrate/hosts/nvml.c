/* The library's functions and numbers are those of its documentation ("NVML API Reference"). */
#include "calibrate/hosts/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct device *handle;
typedef int to_initialise(void);
typedef int to_find(const char *pci, handle *out);
typedef int to_ask_text(char *out, unsigned size);
typedef int to_ask_integer(int *out);
typedef int to_ask(handle device, unsigned *out);
typedef int to_ask_of(handle device, unsigned which, unsigned *out);
typedef int to_ask_two(handle device, unsigned *now, unsigned *pending);
typedef int to_ask_pair(handle one, handle other, unsigned *out);

/* ---- the library --------------------------------------------------------------------------- */

static void *library; /* NULL: not there */

static void *symbol_of(const char *name) {
    return library == NULL ? NULL : dlsym(library, name);
}

/* `function` gets the function of that name, as POSIX asks for it; false: there is none. */
#define FIND(name, function)                                                                       \
    (memcpy(&(function), &(void *){symbol_of(name)}, sizeof(function)), (function) != NULL)

static void load(void) {
    to_initialise *initialise = NULL;
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL && (!FIND("nvmlInit_v2", initialise) || initialise() != 0)) {
        (void)dlclose(library);
        library = NULL;
    }
}

static bool is_there(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return library != NULL;
}

static bool find_gpu(const char *pci, handle *out) {
    to_find *find = NULL;
    return is_there() && FIND("nvmlDeviceGetHandleByPciBusId_v2", find) && find(pci, out) == 0;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool ask(handle gpu, const char *name, double *out) {
    to_ask *function = NULL;
    unsigned value = 0;
    bool told = FIND(name, function) && function(gpu, &value) == 0;
    *out = value;
    return told;
}

static bool ask_of(handle gpu, const char *name, unsigned which, double *out) {
    to_ask_of *function = NULL;
    unsigned value = 0;
    bool told = FIND(name, function) && function(gpu, which, &value) == 0;
    *out = value;
    return told;
}

static enum gw_status put(bool told, const char *key, double value, cJSON *object,
                          struct gw_error *error) {
    return told ? gw_json_put_number(object, key, value, error) : GW_OK;
}

static enum gw_status put_flag(bool told, const char *key, double value, cJSON *object,
                               struct gw_error *error) {
    return told ? gw_json_put(object, key, cJSON_CreateBool(value != 0), error) : GW_OK;
}

/* ---- one GPU ------------------------------------------------------------------------------- */

enum { SM_CLOCK = 1, MEMORY_CLOCK = 2, MOST_LINKS = 36 };

/* The library speaks of MHz. */
static enum gw_status put_clock(handle gpu, const char *name, unsigned which, const char *key,
                                cJSON *object, struct gw_error *error) {
    double mhz = 0;
    bool told = ask_of(gpu, name, which, &mhz) && mhz > 0;
    return put(told, key, 1e6 * mhz, object, error);
}

static enum gw_status put_clocks(handle gpu, cJSON *object, struct gw_error *error) {
    static const char application[] = "nvmlDeviceGetApplicationsClock";
    static const char highest[] = "nvmlDeviceGetMaxClockInfo";
    GW_TRY(put_clock(gpu, application, SM_CLOCK, "sm_application_hz", object, error));
    GW_TRY(put_clock(gpu, highest, SM_CLOCK, "sm_maximum_hz", object, error));
    GW_TRY(put_clock(gpu, application, MEMORY_CLOCK, "memory_application_hz", object, error));
    return put_clock(gpu, highest, MEMORY_CLOCK, "memory_maximum_hz", object, error);
}

static enum gw_status put_pcie(handle gpu, cJSON *object, struct gw_error *error) {
    double value = 0;
    bool told = ask(gpu, "nvmlDeviceGetMaxPcieLinkGeneration", &value);
    GW_TRY(put(told, "generation", value, object, error));
    told = ask(gpu, "nvmlDeviceGetMaxPcieLinkWidth", &value);
    return put(told, "width", value, object, error);
}

/* Fills a part of the GPU, and leaves it out if there is nothing in it. */
static enum gw_status put_part(handle gpu, const char *key,
                               enum gw_status (*fill)(handle, cJSON *, struct gw_error *),
                               cJSON *object, struct gw_error *error) {
    cJSON *part = cJSON_CreateObject();
    GW_TRY(gw_json_put(object, key, part, error));
    GW_TRY(fill(gpu, part, error));
    if (cJSON_GetArraySize(part) == 0) {
        cJSON_DeleteItemFromObject(object, key);
    }
    return GW_OK;
}

/* GPUs without any say so of the first; GPUs with some, of those beyond their last. */
static enum gw_status put_links(handle gpu, cJSON *object, struct gw_error *error) {
    double count = 0;
    double is_up = 0;
    unsigned link = 0;
    for (; link < MOST_LINKS && ask_of(gpu, "nvmlDeviceGetNvLinkState", link, &is_up); link++) {
        count += is_up != 0;
    }
    return put(link > 0, "nvlinks", count, object, error);
}

enum gw_status gw_nvml_put_gpu(const char *pci, cJSON *gpu, struct gw_error *error) {
    handle found = NULL;
    to_ask_two *mig = NULL;
    unsigned now = 0;
    unsigned pending = 0;
    double value = 0;
    if (!find_gpu(pci, &found)) {
        return GW_OK;
    }
    GW_TRY(put_part(found, "clocks", put_clocks, gpu, error));
    bool told = ask(found, "nvmlDeviceGetPowerManagementLimit", &value); /* milliwatts */
    GW_TRY(put(told, "power_limit_w", value / 1e3, gpu, error));
    GW_TRY(put_part(found, "pcie", put_pcie, gpu, error));
    GW_TRY(put_links(found, gpu, error));
    told = ask(found, "nvmlDeviceGetPersistenceMode", &value);
    GW_TRY(put_flag(told, "persistence", value, gpu, error));
    told = FIND("nvmlDeviceGetMigMode", mig) && mig(found, &now, &pending) == 0;
    return put_flag(told, "mig", now, gpu, error);
}

enum gw_status gw_nvml_put_now(const char *pci, cJSON *rank, struct gw_error *error) {
    static const char current[] = "nvmlDeviceGetClockInfo";
    handle found = NULL;
    double value = 0;
    if (!find_gpu(pci, &found)) {
        return GW_OK;
    }
    GW_TRY(put_clock(found, current, SM_CLOCK, "gpu_sm_hz", rank, error));
    GW_TRY(put_clock(found, current, MEMORY_CLOCK, "gpu_memory_hz", rank, error));
    bool told = ask(found, "nvmlDeviceGetCurrPcieLinkGeneration", &value);
    return put(told, "gpu_pcie_generation", value, rank, error);
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status put_versions(cJSON *node, struct gw_error *error) {
    to_ask_text *ask_driver = NULL;
    to_ask_integer *ask_cuda = NULL;
    char text[96] = "";
    int version = 0;
    if (cJSON_GetObjectItemCaseSensitive(node, "gpu_driver") == NULL &&
        FIND("nvmlSystemGetDriverVersion", ask_driver) && ask_driver(text, sizeof text) == 0) {
        GW_TRY(gw_json_put_text(node, "gpu_driver", text, error));
    }
    if (FIND("nvmlSystemGetCudaDriverVersion_v2", ask_cuda) && ask_cuda(&version) == 0) {
        (void)snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
        GW_TRY(gw_json_put_text(node, "cuda_driver", text, error));
    }
    return GW_OK;
}

/* NULL: on one board, or not known. */
static const char *path_between(const char *one_pci, const char *other_pci) {
    static const char *const words[] = {NULL, "PIX", "PXB", "PHB", "NODE", "SYS"};
    to_ask_pair *ask_pair = NULL;
    handle one = NULL;
    handle other = NULL;
    unsigned level = 0; /* 0, 10 .. 50 */
    bool told = find_gpu(one_pci, &one) && find_gpu(other_pci, &other) &&
                FIND("nvmlDeviceGetTopologyCommonAncestor", ask_pair) &&
                ask_pair(one, other, &level) == 0;
    return told && level / 10 < sizeof words / sizeof *words ? words[level / 10] : NULL;
}

static const char *pci_at(const cJSON *gpus, int i) {
    const cJSON *pci = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(gpus, i), "pci");
    return cJSON_IsString(pci) ? pci->valuestring : "";
}

static enum gw_status put_paths(const cJSON *gpus, cJSON *paths, struct gw_error *error) {
    int count = cJSON_GetArraySize(gpus);
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++) {
            const char *word = path_between(pci_at(gpus, i), pci_at(gpus, j));
            if (word != NULL) {
                cJSON *path = cJSON_CreateObject();
                GW_TRY(gw_json_append(paths, path, error));
                GW_TRY(gw_json_put(path, "gpus", cJSON_CreateIntArray((int[]){i, j}, 2), error));
                GW_TRY(gw_json_put_text(path, "path", word, error));
            }
        }
    }
    return GW_OK;
}

enum gw_status gw_nvml_put_node(const cJSON *gpus, cJSON *node, struct gw_error *error) {
    cJSON *paths = cJSON_CreateArray();
    GW_TRY(gw_json_put(node, "gpu_paths", paths, error));
    if (is_there()) {
        GW_TRY(put_versions(node, error));
        GW_TRY(put_paths(gpus, paths, error));
    }
    if (cJSON_GetArraySize(paths) == 0) {
        cJSON_DeleteItemFromObject(node, "gpu_paths");
    }
    return GW_OK;
}
