/*
 * What a host is made of, as its kernel says, for the provenance; private to this room.
 *
 * Files are read below the folder `root`: "" is the system itself. What is not there, or is not
 * what the kernel would write, is left out: a calibration does not fail for want of provenance.
 */
#ifndef GW_CALIBRATE_FACTS_H
#define GW_CALIBRATE_FACTS_H

#include "calibrate/hosts/cpus.h"
#include "core/core.h"

/* ---- files ------------------------------------------------------------------------------- */

enum { GW_FACT_SIZE = 160 };

/* The first line of <root>/<path>, trimmed, with '?' for what is not printable ASCII; cut to fit.
 */
bool gw_fact_read(const char *root, const char *path, char out[GW_FACT_SIZE]);

/* A number >= 0 that stands alone in the first line. */
bool gw_fact_read_number(const char *root, const char *path, double *out);

/* What stands behind "<key>", spaces and ':' or '=' in the first line that begins so. */
bool gw_fact_find(const char *text, const char *key, char out[GW_FACT_SIZE]);

/* The file's text, the caller's to free, or NULL. */
char *gw_fact_text(const char *root, const char *path);

/* ---- subjects ---------------------------------------------------------------------------- */

/*
 * "cpu", "sockets", "cores", "threads", where they differ "core_kinds", "numa_nodes", and
 * "frequency" with governor, driver, turbo and the limits.
 */
enum gw_status gw_put_cpu_facts(const char *root, cJSON *node, struct gw_error *error);

/* "system", "kernel", "memory_bytes", "clock_source", "cpu_quota" (processors a container has). */
enum gw_status gw_put_system_facts(const char *root, cJSON *node, struct gw_error *error);

/* "interfaces": those that are up, but for the loopback. Which of them MPI uses it keeps to itself.
 */
enum gw_status gw_put_interface_facts(const char *root, cJSON *node, struct gw_error *error);

/*
 * "gpus" as CUDA or, in a build without it, their driver names them, with their slots;
 * "gpu_driver"; and what nvml.h adds.
 */
enum gw_status gw_put_gpu_facts(const char *root, cJSON *node, struct gw_error *error);

/* Of "NAME=value" strings, ended by NULL, those that change what is measured and are no secrets. */
enum gw_status gw_put_environment(char *const *variables, cJSON *object, struct gw_error *error);

/* What is another one after each boot of a machine, and one on all hosts that are part of it. */
bool gw_fact_boot(const char *root, char out[GW_FACT_SIZE]);

/* The present clock rate of a processor, in Hz. */
bool gw_cpu_frequency(const char *root, size_t cpu, double *hz);

/* Of each of the processors, the first thread of its core. */
void gw_cpus_cores(const char *root, const struct gw_cpus *cpus, struct gw_cpus *out);

#endif
