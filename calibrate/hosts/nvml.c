/*
 * Facts of GPUs from NVIDIA's management library. The library comes with the driver and is loaded
 * when first needed. If it is missing, or a GPU does not answer, nothing is written. Its functions
 * and numbers are those of its documentation ("NVML API Reference").
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"

/* ---- the management library ---------------------------------------------------------------- */

typedef struct device *handle;
typedef int to_initialise(void);
typedef int to_find(const char *pci, handle *out);
typedef int to_ask_text(char *out, unsigned size);
typedef int to_ask_integer(int *out);
typedef int to_ask(handle device, unsigned *out);
typedef int to_ask_of(handle device, unsigned which, unsigned *out);
typedef int to_ask_two(handle device, unsigned *now, unsigned *pending);
typedef int to_ask_pair(handle one, handle other, unsigned *out);

static void *library; /* NULL: missing */

static void *symbol_of(const char *name) {
    return library == NULL ? NULL : dlsym(library, name);
}

/* Sets `function` to the function of that name, as POSIX requires; false: there is none. */
#define FIND(name, function)                                                                       \
    (memcpy(&(function), &(void *){symbol_of(name)}, sizeof(function)), (function) != NULL)

static void load_nvml(void) {
    to_initialise *initialise = NULL;
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL && (!FIND("nvmlInit_v2", initialise) || initialise() != 0)) {
        (void)dlclose(library);
        library = NULL;
    }
}

static bool is_there(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_nvml);
    return library != NULL;
}

static bool find_gpu(const char *pci, handle *out) {
    to_find *find = NULL;
    return is_there() && FIND("nvmlDeviceGetHandleByPciBusId_v2", find) && find(pci, out) == 0;
}

static bool read_value(handle gpu, const char *name, double *out) {
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

/* ---- facts of one GPU ---------------------------------------------------------------------- */

enum { SM_CLOCK = 1, MEMORY_CLOCK = 2, MAX_LINKS = 36 };

/* A query of a GPU, and the key of its answer. */
struct gpu_question {
    const char *key, *name;
    bool is_clock; /* of `which` clock; the library gives MHz, and 0 for none */
    unsigned which;
};

/* Writes the available answers, as an object if `part` is not NULL and there is one. */
static void write_answers(struct gw_json_writer *writer, handle gpu, const char *part,
                          const struct gpu_question *questions, size_t count) {
    bool opened = part == NULL;
    for (size_t i = 0; i < count; i++) {
        const struct gpu_question *question = &questions[i];
        double value = 0;
        bool told = question->is_clock
                        ? ask_of(gpu, question->name, question->which, &value) && value > 0
                        : read_value(gpu, question->name, &value);
        if (told && !opened) {
            gw_writer_object(writer, part);
            opened = true;
        }
        if (told) {
            gw_writer_number(writer, question->key, question->is_clock ? 1e6 * value : value);
        }
    }
    if (part != NULL && opened) {
        gw_writer_end(writer);
    }
}

#define COUNT(questions) (sizeof(questions) / sizeof *(questions))

void gw_nvml_write_gpu(struct gw_json_writer *writer, const char *pci) {
    static const char application[] = "nvmlDeviceGetApplicationsClock";
    static const char highest[] = "nvmlDeviceGetMaxClockInfo";
    static const struct gpu_question clocks[] = {
        {"sm_application_hz", application, true, SM_CLOCK},
        {"sm_maximum_hz", highest, true, SM_CLOCK},
        {"memory_application_hz", application, true, MEMORY_CLOCK},
        {"memory_maximum_hz", highest, true, MEMORY_CLOCK}};
    static const struct gpu_question pcie[] = {
        {"generation", "nvmlDeviceGetMaxPcieLinkGeneration", false, 0},
        {"width", "nvmlDeviceGetMaxPcieLinkWidth", false, 0}};
    handle gpu = NULL;
    to_ask_two *mig = NULL;
    unsigned now = 0;
    unsigned pending = 0;
    unsigned link = 0;
    double links = 0;
    double value = 0;
    if (!find_gpu(pci, &gpu)) {
        return;
    }
    write_answers(writer, gpu, "clocks", clocks, COUNT(clocks));
    if (read_value(gpu, "nvmlDeviceGetPowerManagementLimit", &value)) { /* milliwatts */
        gw_writer_number(writer, "power_limit_w", value / 1e3);
    }
    write_answers(writer, gpu, "pcie", pcie, COUNT(pcie));
    /* GPUs without links fail for the first; GPUs with some, beyond their last. */
    for (; link < MAX_LINKS && ask_of(gpu, "nvmlDeviceGetNvLinkState", link, &value); link++) {
        links += value != 0;
    }
    if (link > 0) {
        gw_writer_number(writer, "nvlinks", links);
    }
    if (read_value(gpu, "nvmlDeviceGetPersistenceMode", &value)) {
        gw_writer_flag(writer, "persistence", value != 0);
    }
    if (FIND("nvmlDeviceGetMigMode", mig) && mig(gpu, &now, &pending) == 0) {
        gw_writer_flag(writer, "mig", now != 0);
    }
}

void gw_nvml_write_now(struct gw_json_writer *writer, const char *pci) {
    static const char current[] = "nvmlDeviceGetClockInfo";
    static const struct gpu_question questions[] = {
        {"gpu_sm_hz", current, true, SM_CLOCK},
        {"gpu_memory_hz", current, true, MEMORY_CLOCK},
        {"gpu_pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", false, 0}};
    handle gpu = NULL;
    if (find_gpu(pci, &gpu)) {
        write_answers(writer, gpu, NULL, questions, COUNT(questions));
    }
}

/* ---- facts of a host ----------------------------------------------------------------------- */

static void write_versions(struct gw_json_writer *writer, bool has_driver) {
    to_ask_text *ask_driver = NULL;
    to_ask_integer *ask_cuda = NULL;
    char text[96] = "";
    int version = 0;
    if (!has_driver && FIND("nvmlSystemGetDriverVersion", ask_driver) &&
        ask_driver(text, sizeof text) == 0) {
        gw_writer_text(writer, "gpu_driver", text);
    }
    if (FIND("nvmlSystemGetCudaDriverVersion_v2", ask_cuda) && ask_cuda(&version) == 0) {
        (void)snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
        gw_writer_text(writer, "cuda_driver", text);
    }
}

/* NULL: on one board, or unknown. */
static const char *gpu_path(const char *one_pci, const char *other_pci) {
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

void gw_nvml_write_host(struct gw_json_writer *writer, const char *const *pcis, size_t count,
                        bool has_driver) {
    bool opened = false;
    if (!is_there()) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            const char *word = gpu_path(pcis[i], pcis[j]);
            if (word == NULL) {
                continue;
            }
            if (!opened) {
                gw_writer_array(writer, "gpu_paths");
                opened = true;
            }
            gw_writer_object(writer, NULL);
            gw_writer_numbers(writer, "gpus", (const double[]){(double)i, (double)j}, 2);
            gw_writer_text(writer, "path", word);
            gw_writer_end(writer);
        }
    }
    if (opened) {
        gw_writer_end(writer);
    }
    write_versions(writer, has_driver);
}
