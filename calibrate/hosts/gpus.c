/* The GPUs of a host, as CUDA or their driver names them. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "device/device.h"

enum { MAX_GPUS = 16, PCI_SIZE = 64 };

/* PCI addresses of the GPUs that were written. */
struct pci_addresses {
    size_t count;
    char pcis[MAX_GPUS][PCI_SIZE];
};

/* Writes a GPU's memory node (-1 for a single one) and NVML's facts. */
static void write_slot(struct gw_json_writer *writer, const char *root, const char *pci,
                       struct pci_addresses *pci_addresses) {
    char path[128];
    double numa_node = 0;
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%.40s/numa_node", pci);
    for (char *c = path; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c); /* as the kernel names it; CUDA has "0000:3B:00.0" */
    }
    gw_writer_text(writer, "pci", pci);
    if (gw_fact_read_number(root, path, &numa_node)) {
        gw_writer_number(writer, "numa_node", numa_node);
    }
    if (root[0] == '\0') {
        gw_nvml_write_gpu(writer, pci);
    }
    (void)snprintf(pci_addresses->pcis[pci_addresses->count++], PCI_SIZE, "%s", pci);
}

static void write_cuda_gpus(struct gw_json_writer *writer, const struct gw_gpu *gpus, size_t count,
                            struct pci_addresses *pci_addresses) {
    for (size_t i = 0; i < count; i++) {
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "name", gpus[i].name);
        gw_writer_number(writer, "memory_bytes", gpus[i].memory_bytes);
        if (gpus[i].clock_hz > 0) {
            gw_writer_number(writer, "maximum_hz", gpus[i].clock_hz);
        }
        gw_writer_flag(writer, "ecc", gpus[i].ecc);
        write_slot(writer, "", gpus[i].pci, pci_addresses);
        gw_writer_end(writer);
    }
}

/* For a build without CUDA, or a process that may not open the GPUs. */
static void write_driver_gpus(struct gw_json_writer *writer, const char *root,
                              struct pci_addresses *pci_addresses) {
    char path[512];
    struct dirent **folders = NULL;
    (void)snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", root);
    int count = scandir(path, &folders, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char model[GW_FACT_SIZE];
        (void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.200s/information",
                       folders[i]->d_name);
        char *text = folders[i]->d_name[0] == '.' ? NULL : gw_fact_text(root, path);
        if (text != NULL && gw_fact_find(text, "Model", model) && pci_addresses->count < MAX_GPUS) {
            gw_writer_object(writer, NULL);
            gw_writer_text(writer, "name", model);
            write_slot(writer, root, folders[i]->d_name, pci_addresses);
            gw_writer_end(writer);
        }
        free(text);
        free(folders[i]);
    }
    free(folders);
}

/* Finds the word of digits and dots in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05
 * ...". */
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

void gw_write_gpu_facts(struct gw_json_writer *writer, const char *root) {
    char line[GW_FACT_SIZE];
    char driver[GW_FACT_SIZE];
    struct gw_gpu gpus[MAX_GPUS];
    struct pci_addresses pci_addresses = {0};
    const char *pcis[MAX_GPUS];
    size_t count = root[0] == '\0' ? gw_cuda_devices(gpus, MAX_GPUS) : 0;
    gw_writer_array(writer, "gpus");
    if (count > 0) {
        write_cuda_gpus(writer, gpus, count, &pci_addresses);
    } else {
        write_driver_gpus(writer, root, &pci_addresses);
    }
    gw_writer_end(writer);
    bool has_driver =
        gw_fact_read(root, "/proc/driver/nvidia/version", line) && find_driver(line, driver);
    if (has_driver) {
        gw_writer_text(writer, "gpu_driver", driver);
    }
    for (size_t i = 0; i < pci_addresses.count; i++) {
        pcis[i] = pci_addresses.pcis[i];
    }
    if (root[0] == '\0') {
        gw_nvml_write_host(writer, pcis, pci_addresses.count, has_driver);
    }
}
