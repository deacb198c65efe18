/*
 * A management library of two GPUs, under NVIDIA's name: one that tells everything, and one that
 * tells nothing but what is between them.
 */
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, LINKS = 4 };

struct device {
    const char *pci;
};
static struct device devices[] = {{"0000:3B:00.0"}, {"0000:86:00.0"}};

#define FAKE __attribute__((visibility("default")))

/* NVIDIA's header is not needed: here are the declarations that the warnings ask for. */
FAKE int nvmlInit_v2(void);
FAKE int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct device **out);
FAKE int nvmlDeviceGetApplicationsClock(struct device *device, unsigned which, unsigned *mhz);
FAKE int nvmlDeviceGetMaxClockInfo(struct device *device, unsigned which, unsigned *mhz);
FAKE int nvmlDeviceGetClockInfo(struct device *device, unsigned which, unsigned *mhz);
FAKE int nvmlDeviceGetPowerManagementLimit(struct device *device, unsigned *milliwatts);
FAKE int nvmlDeviceGetMaxPcieLinkGeneration(struct device *device, unsigned *out);
FAKE int nvmlDeviceGetMaxPcieLinkWidth(struct device *device, unsigned *out);
FAKE int nvmlDeviceGetCurrPcieLinkGeneration(struct device *device, unsigned *out);
FAKE int nvmlDeviceGetNvLinkState(struct device *device, unsigned link, unsigned *out);
FAKE int nvmlDeviceGetMigMode(struct device *device, unsigned *now, unsigned *pending);
FAKE int nvmlSystemGetDriverVersion(char *out, unsigned size);
FAKE int nvmlSystemGetCudaDriverVersion_v2(int *out);
FAKE int nvmlDeviceGetTopologyCommonAncestor(struct device *one, struct device *other,
                                             unsigned *out);

static int tell(const struct device *device, unsigned value, unsigned *out) {
    *out = value;
    return device == &devices[0] ? SUCCESS : NOT_SUPPORTED;
}

int nvmlInit_v2(void) {
    return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct device **out) {
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(devices[i].pci, pci) == 0) {
            *out = &devices[i];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetApplicationsClock(struct device *device, unsigned which, unsigned *mhz) {
    return tell(device, which == 1 ? 1410 : 2619, mhz);
}

int nvmlDeviceGetMaxClockInfo(struct device *device, unsigned which, unsigned *mhz) {
    return tell(device, which == 1 ? 1980 : 2619, mhz);
}

int nvmlDeviceGetClockInfo(struct device *device, unsigned which, unsigned *mhz) {
    return tell(device, which == 1 ? 345 : 2619, mhz);
}

int nvmlDeviceGetPowerManagementLimit(struct device *device, unsigned *milliwatts) {
    return tell(device, 700000, milliwatts);
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct device *device, unsigned *out) {
    return tell(device, 5, out);
}

int nvmlDeviceGetMaxPcieLinkWidth(struct device *device, unsigned *out) {
    return tell(device, 16, out);
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct device *device, unsigned *out) {
    return tell(device, 1, out);
}

int nvmlDeviceGetNvLinkState(struct device *device, unsigned link, unsigned *out) {
    return link < LINKS ? tell(device, link != 2, out) : NOT_SUPPORTED;
}

int nvmlDeviceGetMigMode(struct device *device, unsigned *now, unsigned *pending) {
    *pending = 1;
    return tell(device, 0, now);
}

int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    strncpy(out, "580.159.03", size);
    return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *out) {
    *out = 13010;
    return SUCCESS;
}

int nvmlDeviceGetTopologyCommonAncestor(struct device *one, struct device *other, unsigned *out) {
    *out = 50;
    return one != other ? SUCCESS : NOT_SUPPORTED;
}
