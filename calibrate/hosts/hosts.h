/* The hosts of a job: the ranks of each, their parts, their speeds and the links' rates, and the
 * warnings that follow; private to this room. */
#ifndef GW_CALIBRATE_HOSTS_H
#define GW_CALIBRATE_HOSTS_H

#include "calibrate/calibrate.h"
#include "calibrate/report.h"
#include "transport/transport.h"

/* ---- which ranks share a host -------------------------------------------------------------- */

/* Hosts in the order of their first ranks. */
struct gw_host_list {
    size_t count;
    char (*names)[GW_HOST_SIZE]; /* [count] */
    int *first_rank;             /* [count] */
    size_t *rank_count;          /* [count]: its ranks */
    size_t *host_of;             /* [ranks] */
    struct gw_arena arena;       /* of all of these */
};

/* Lists the hosts of all ranks, on every rank: collective. */
enum gw_status gw_host_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                 struct gw_error *error);
/*
 * Lists machines in place of hosts: nodes that are containers or namespaces of one machine have
 * names of their own, and share its boot and its memory. `names` are the machines' boots or, if a
 * system does not tell, hosts' names.
 */
enum gw_status gw_machine_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                    struct gw_error *error);
void gw_host_list_close(struct gw_host_list *list);

/* The number of ranks of the host that has most. */
size_t gw_host_list_most_ranks(const struct gw_host_list *list);

/* ---- which ranks share processors ------------------------------------------------------------ */

/*
 * Finds the ranks of the machine that has most, the processors that any of them may run on, and how
 * many of them get equal time slices: with more ranks than processors, a multiple of the
 * processors. Of five ranks on two processors the last waits for two others if their work is short,
 * and for one and a half if the system has time to be fair; of four, for one. These ranks are on
 * the machine among the *first ranks of the job, a number that collectives are measured on too; all
 * ranks if there is no such number. Collective.
 */
enum gw_status gw_sharing_find(struct gw_communicator *communicator, struct gw_sharing *out,
                               int *first, struct gw_error *error);

/* ---- sets of processors, as Linux numbers and lists them ("0-3,8") ------------------------- */

enum { GW_MAX_CPUS = 8192, GW_CPUS_TEXT_SIZE = 256 };

struct gw_cpus {
    unsigned char has[GW_MAX_CPUS];
};

/* Returns false, with an empty set, if the text is no list of processors below GW_MAX_CPUS. */
bool gw_cpus_parse(const char *text, struct gw_cpus *out);

/* Ends in "..." if the list does not fit. */
void gw_cpus_print(const struct gw_cpus *cpus, char text[GW_CPUS_TEXT_SIZE]);

size_t gw_cpus_count(const struct gw_cpus *cpus);
bool gw_cpus_contain(const struct gw_cpus *outer, const struct gw_cpus *inner);

/* The processors that the calling thread may run on. */
void gw_cpus_usable(struct gw_cpus *out);

/* ---- facts of a host, from its kernel -------------------------------------------------------- */

/*
 * Files are read below the folder `root`: "" is the system itself. Files that are missing, or not
 * as the kernel would write them, are left out: a calibration does not fail for lack of provenance.
 */
enum { GW_FACT_SIZE = 160 };

/* The first line of <root>/<path>, trimmed, with '?' for bytes that are not printable ASCII; cut to
 * fit. */
bool gw_fact_read(const char *root, const char *path, char out[GW_FACT_SIZE]);

/* A number >= 0 that is alone in the first line. */
bool gw_fact_read_number(const char *root, const char *path, double *out);

/* The text after "<key>", spaces and ':' or '=' in the first line that begins so. */
bool gw_fact_find(const char *text, const char *key, char out[GW_FACT_SIZE]);

/* The file's text, which the caller frees, or NULL. */
char *gw_fact_text(const char *root, const char *path);

/* The boot's identifier: a new one after each boot of a machine, and equal on all hosts of it. */
bool gw_fact_boot(const char *root, char out[GW_FACT_SIZE]);

/*
 * Ticks of a host's processors since its boot: all, those that a hypervisor gave to other virtual
 * machines ("steal" of proc(5)), and those used by processes, the kernel's work for them included;
 * zeros if the kernel does not tell.
 */
struct gw_host_ticks {
    double all, taken, used;
};
void gw_host_ticks_read(const char *root, struct gw_host_ticks *out);

/* The present clock rate of a processor, in Hz. */
bool gw_cpu_frequency(const char *root, size_t cpu, double *hz);

/* The first thread of each core of these processors. */
void gw_cpus_cores(const char *root, const struct gw_cpus *cpus, struct gw_cpus *out);

/*
 * Writes into the open object: "cpu", "sockets", "cores", "threads", "numa_nodes", if they differ
 * "core_kinds", and "frequency" with governor, driver, turbo and the limits; "system", "kernel",
 * "memory_bytes", "clock_source", "cpu_quota" (processors a container has); and "interfaces", those
 * that are up, except the loopback. MPI does not tell which of them it uses.
 */
void gw_write_host_facts(struct gw_json_writer *writer, const char *root);

/* Writes those "NAME=value" strings, ended by NULL, that affect measurements and are no secrets. */
void gw_write_environment(struct gw_json_writer *writer, char *const *variables);

/*
 * Writes "gpus" as CUDA or, in a build without it, their driver names them, with their slots;
 * "gpu_driver"; and the constant facts of NVIDIA's management library, if present: of each GPU
 * "clocks" (those set for applications and the highest, Hz), "power_limit_w", "pcie" (the highest
 * generation and width), "nvlinks" (that are up), "persistence", "mig"; of the host "cuda_driver"
 * (the newest CUDA that it runs) and "gpu_paths": the connection of two GPUs, in the words of
 * `nvidia-smi topo`: PIX (one PCIe switch), PXB (several), PHB (a host bridge), NODE (a NUMA node),
 * SYS.
 */
void gw_write_gpu_facts(struct gw_json_writer *writer, const char *root);

/*
 * Write the management library's facts of the GPU at this address ("0000:3B:00.0"), and of a host.
 */
void gw_nvml_write_gpu(struct gw_json_writer *writer, const char *pci);
void gw_nvml_write_host(struct gw_json_writer *writer, const char *const *pcis, size_t count,
                        bool has_driver);

/* Writes the GPU's present state: "gpu_sm_hz", "gpu_memory_hz", "gpu_pcie_generation". */
void gw_nvml_write_now(struct gw_json_writer *writer, const char *pci);

/* ---- provenance ---------------------------------------------------------------------------- */

/*
 * Sets "source" of the cluster: date, command, versions, and the environment; "hosts" (names, in
 * the order of their first ranks), "nodes" (descriptions; equal hosts share one, with their names
 * as "hosts") and "ranks" (where each may run). Sets the cluster's workers_per_node.
 */
enum gw_status gw_put_provenance(struct gw_communicator *communicator,
                                 const struct gw_calibration *calibration,
                                 struct gw_cluster *cluster, struct gw_error *error);

/* ---- speeds -------------------------------------------------------------------------------- */

/* Compares the hosts and the links between them, within 2 s, and writes reasons of uncertainty to
 * "warnings" of the cluster's source, and the results to "speeds" and "links". */
enum gw_status gw_calibrate_hosts(struct gw_communicator *communicator,
                                  const struct gw_calibration *calibration,
                                  const struct gw_report *report, struct gw_cluster *cluster,
                                  struct gw_error *error);

/* Warns if other virtual machines took processors of a host since `before`, which is of this rank's
 * host. Collective. */
enum gw_status gw_calibrate_others(struct gw_communicator *communicator,
                                   const struct gw_host_ticks *before, struct gw_cluster *cluster,
                                   struct gw_error *error);

/* Times of fixed work on a host, in seconds; of its first rank unless said otherwise. */
struct gw_host_times {
    double compute_s, memory_s;           /* medians, with the other ranks asleep */
    double compute_low_s, compute_high_s; /* quartiles */
    double together_s;   /* compute's mean while all ranks do it: the slowest rank's */
    double clock_s;      /* reading the clock: the slowest rank's */
    double clock_step_s; /* smallest step of the clock; below 0: it went back */
};

/* Fixed work of about a millisecond (compute) and a few (memory). */
struct gw_host_work {
    gw_action *compute, *memory;
    void *context;
};

/*
 * Times all ranks at once, then the first rank of each host while the others sleep: not for
 * predictions, but to find hosts that are unlike the others. Equal on every rank: times[h] of host
 * h.
 */
enum gw_status gw_time_hosts(struct gw_communicator *communicator, const struct gw_clock *clock,
                             const struct gw_host_list *list, const struct gw_host_work *work,
                             struct gw_host_times *times, struct gw_error *error);

/* One direction between two hosts. */
struct gw_link_rate {
    const char *from, *to;
    double bytes_per_s;
};

/*
 * Measures the links from each host to the next one and back, the last one's next being the first:
 * rates[2 h] from host h, rates[2 h + 1] back; two for two hosts, none for one. Equal on every
 * rank.
 */
size_t gw_link_count(const struct gw_host_list *list);
enum gw_status gw_time_links(struct gw_communicator *communicator, const struct gw_clock *clock,
                             const struct gw_host_list *list, struct gw_link_rate *rates,
                             struct gw_error *error);

/* ---- warnings ------------------------------------------------------------------------------- */

/* Warns, by "nodes" and "ranks" (gw_put_provenance), of varying clock rates and of cores with
 * several ranks. */
enum gw_status gw_warn_of_nodes(cJSON *source, struct gw_error *error);

/* Warns of hosts that are slower than the median one, or unsteady, and of hindering ranks or
 * clocks. */
enum gw_status gw_warn_of_times(const struct gw_host_times *times, char (*hosts)[GW_HOST_SIZE],
                                size_t count, cJSON *source, struct gw_error *error);

/* Warns of the host that others took the largest share of processors from; shares[count] of all
 * hosts. */
enum gw_status gw_warn_of_others(const double *shares, char (*hosts)[GW_HOST_SIZE], size_t count,
                                 cJSON *source, struct gw_error *error);

/* Warns of a collective of which sizes below a fourth of the largest were measured only. */
enum gw_status gw_warn_of_sizes(const char *collective, double measured_bytes, double largest_bytes,
                                cJSON *source, struct gw_error *error);

/* Warns of links slower than the median one. */
enum gw_status gw_warn_of_links(const struct gw_link_rate *links, size_t count, cJSON *source,
                                struct gw_error *error);

#endif
