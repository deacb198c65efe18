/* The parts of a host, from the files of its kernel. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "calibrate/hosts/hosts.h"

/* ---- files ----------------------------------------------------------------------------------- */

char *gw_fact_text(const char *root, const char *path) {
    char whole[512];
    char *text = NULL;
    size_t length = 0;
    int needed = snprintf(whole, sizeof whole, "%s%s", root, path);
    if (needed < 0 || (size_t)needed >= sizeof whole ||
        gw_file_read(whole, &text, &length, NULL) != GW_OK) {
        return NULL;
    }
    return text;
}

/* Copies the line at `text`, without spaces at its ends. */
static void copy_line(const char *text, char out[GW_FACT_SIZE]) {
    size_t used = 0;
    text += strspn(text, " \t");
    for (; *text != '\0' && *text != '\n' && used + 1 < GW_FACT_SIZE; text++) {
        out[used] = *text;
        if (*text == '\t') {
            out[used] = ' ';
        } else if (*text < ' ' || *text > '~') {
            out[used] = '?';
        }
        used++;
    }
    while (used > 0 && out[used - 1] == ' ') {
        used--;
    }
    out[used] = '\0';
}

bool gw_fact_read(const char *root, const char *path, char out[GW_FACT_SIZE]) {
    char *text = gw_fact_text(root, path);
    out[0] = '\0';
    if (text != NULL) {
        copy_line(text, out);
    }
    free(text);
    return out[0] != '\0';
}

bool gw_fact_read_number(const char *root, const char *path, double *out) {
    char line[GW_FACT_SIZE];
    char *end = line;
    if (!gw_fact_read(root, path, line)) {
        return false;
    }
    double value = strtod(line, &end);
    if (end == line || *end != '\0' || !isfinite(value) || value < 0) {
        return false;
    }
    *out = value;
    return true;
}

bool gw_fact_find(const char *text, const char *key, char out[GW_FACT_SIZE]) {
    size_t length = strlen(key);
    out[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0' && out[0] == '\0';) {
        const char *rest = line + length;
        if (strncmp(line, key, length) == 0) {
            rest += strspn(rest, " \t");
            if (*rest == ':' || *rest == '=') {
                copy_line(rest + 1, out);
            }
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return out[0] != '\0';
}

/* Writes nothing for NULL. */
static void write_known(struct gw_json_writer *writer, const char *key, const char *text) {
    if (text != NULL) {
        gw_writer_text(writer, key, text);
    }
}

/* ---- processors ------------------------------------------------------------------------------ */

/* x86 names its processors, POWER and RISC-V use other keys, ARM has numbers only. */
static bool find_model(const char *cpuinfo, char out[GW_FACT_SIZE]) {
    static const char *const keys[] = {"model name", "cpu model", "cpu", "uarch", "Processor"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (gw_fact_find(cpuinfo, keys[i], out)) {
            return true;
        }
    }
    char implementer[GW_FACT_SIZE];
    char part[GW_FACT_SIZE];
    if (!gw_fact_find(cpuinfo, "CPU implementer", implementer) ||
        !gw_fact_find(cpuinfo, "CPU part", part)) {
        return false;
    }
    (void)snprintf(out, GW_FACT_SIZE, "implementer %.40s, part %.40s", implementer, part);
    return true;
}

static bool read_cpus(const char *root, const char *path, struct gw_cpus *out) {
    char *text = gw_fact_text(root, path);
    bool sound = text != NULL && gw_cpus_parse(text, out);
    free(text);
    return sound;
}

static bool is_first(const struct gw_cpus *cpus, size_t cpu) {
    return memchr(cpus->has, 1, cpu) == NULL;
}

/* Reads the processors that share a core or a socket with this one. */
static bool read_siblings(const char *root, size_t cpu, const char *name, struct gw_cpus *out) {
    char path[128];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, name);
    return read_cpus(root, path, out) && out->has[cpu];
}

void gw_cpus_cores(const char *root, const struct gw_cpus *cpus, struct gw_cpus *out) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < GW_MAX_CPUS; i++) {
        struct gw_cpus siblings;
        if (!cpus->has[i]) {
            continue;
        }
        if (read_siblings(root, i, "thread_siblings_list", &siblings)) {
            const unsigned char *first = memchr(siblings.has, 1, GW_MAX_CPUS);
            out->has[first - siblings.has] = 1;
        } else {
            out->has[i] = 1;
        }
    }
}

static void write_topology(struct gw_json_writer *writer, const char *root,
                           const struct gw_cpus *online) {
    struct gw_cpus siblings;
    struct gw_cpus nodes;
    size_t sockets = 0;
    size_t cores = 0;
    bool known = true;
    for (size_t i = 0; i < GW_MAX_CPUS && known; i++) {
        if (online->has[i]) {
            known = read_siblings(root, i, "thread_siblings_list", &siblings);
            cores += known && is_first(&siblings, i);
            known = known && read_siblings(root, i, "core_siblings_list", &siblings);
            sockets += known && is_first(&siblings, i);
        }
    }
    if (known) {
        gw_writer_number(writer, "sockets", (double)sockets);
        gw_writer_number(writer, "cores", (double)cores);
    }
    gw_writer_number(writer, "threads", (double)gw_cpus_count(online));
    if (read_cpus(root, "/sys/devices/system/node/online", &nodes)) {
        gw_writer_number(writer, "numa_nodes", (double)gw_cpus_count(&nodes));
    }
}

/* Writes the kinds of processors with fast and slow cores. */
static void write_core_kinds(struct gw_json_writer *writer, const char *root) {
    struct gw_cpus cpus;
    char fast[GW_CPUS_TEXT_SIZE];
    char slow[GW_CPUS_TEXT_SIZE];
    if (!read_cpus(root, "/sys/devices/cpu_core/cpus", &cpus)) {
        return;
    }
    gw_cpus_print(&cpus, fast);
    if (!read_cpus(root, "/sys/devices/cpu_atom/cpus", &cpus)) {
        return;
    }
    gw_cpus_print(&cpus, slow);
    gw_writer_object(writer, "core_kinds");
    gw_writer_text(writer, "performance", fast);
    gw_writer_text(writer, "efficiency", slow);
    gw_writer_end(writer);
}

static const char frequency_folder[] = "/sys/devices/system/cpu/cpu%zu/cpufreq/%s";

static bool read_frequency_text(const char *root, size_t cpu, const char *name,
                                char out[GW_FACT_SIZE]) {
    char path[128];
    (void)snprintf(path, sizeof path, frequency_folder, cpu, name);
    return gw_fact_read(root, path, out);
}

/* Reads a frequency, which the kernel gives in kHz. */
static bool read_frequency(const char *root, size_t cpu, const char *name, double *hz) {
    char path[128];
    (void)snprintf(path, sizeof path, frequency_folder, cpu, name);
    bool sound = gw_fact_read_number(root, path, hz);
    *hz = sound ? 1e3 * *hz : 0;
    return sound;
}

bool gw_cpu_frequency(const char *root, size_t cpu, double *hz) {
    return read_frequency(root, cpu, "scaling_cur_freq", hz);
}

void gw_host_ticks_read(const char *root, struct gw_host_ticks *out) {
    enum { PROCESSES = 3, TAKEN = 7, COLUMNS = 8 }; /* later columns are part of the first two */
    static const char all_processors[] = "cpu ";
    char line[GW_FACT_SIZE];
    *out = (struct gw_host_ticks){0};
    if (!gw_fact_read(root, "/proc/stat", line) ||
        strncmp(line, all_processors, strlen(all_processors)) != 0) {
        return;
    }
    char *next = line + strlen(all_processors);
    for (int column = 0; column < COLUMNS; column++) {
        double ticks = strtod(next, &next);
        out->all += ticks;
        out->taken += column == TAKEN ? ticks : 0;
        out->used += column < PROCESSES ? ticks : 0;
    }
}

/* Lists the governors of all processors, each once, separated by commas. */
static void list_governors(const char *root, const struct gw_cpus *online, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < GW_MAX_CPUS; i++) {
        char governor[GW_FACT_SIZE];
        if (!online->has[i] || !read_frequency_text(root, i, "scaling_governor", governor) ||
            strstr(out, governor) != NULL || used + strlen(governor) + 3 > size) {
            continue;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", used == 0 ? "" : ", ", governor);
    }
}

static void write_frequency(struct gw_json_writer *writer, const char *root,
                            const struct gw_cpus *online) {
    static const char *const limits[][2] = {{"cpuinfo_min_freq", "minimum_hz"},
                                            {"scaling_max_freq", "limit_hz"},
                                            {"cpuinfo_max_freq", "maximum_hz"}};
    enum { LIMITS = sizeof limits / sizeof *limits };
    char governors[GW_FACT_SIZE];
    char driver[GW_FACT_SIZE];
    double hz[LIMITS];
    list_governors(root, online, governors, sizeof governors);
    double off = 0;
    double on = 0;
    const char *turbo =
        gw_fact_read_number(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", &off)
            ? (off == 0 ? "on" : "off")
        : gw_fact_read_number(root, "/sys/devices/system/cpu/cpufreq/boost", &on)
            ? (on == 0 ? "off" : "on")
            : NULL;
    bool has_driver = read_frequency_text(root, 0, "scaling_driver", driver);
    bool any = governors[0] != '\0' || has_driver || turbo != NULL;
    for (size_t i = 0; i < LIMITS; i++) {
        hz[i] = read_frequency(root, 0, limits[i][0], &hz[i]) ? hz[i] : -1;
        any = any || hz[i] >= 0;
    }
    if (!any) {
        return;
    }
    gw_writer_object(writer, "frequency");
    write_known(writer, "governor", governors[0] != '\0' ? governors : NULL);
    write_known(writer, "driver", has_driver ? driver : NULL);
    write_known(writer, "turbo", turbo);
    for (size_t i = 0; i < LIMITS; i++) {
        if (hz[i] >= 0) {
            gw_writer_number(writer, limits[i][1], hz[i]);
        }
    }
    gw_writer_end(writer);
}

/* ---- system ---------------------------------------------------------------------------------- */

static void write_line(struct gw_json_writer *writer, const char *root, const char *path,
                       const char *key) {
    char line[GW_FACT_SIZE];
    write_known(writer, key, gw_fact_read(root, path, line) ? line : NULL);
}

bool gw_fact_boot(const char *root, char out[GW_FACT_SIZE]) {
    return gw_fact_read(root, "/proc/sys/kernel/random/boot_id", out);
}

/* ---- interfaces ------------------------------------------------------------------------------ */

enum { LOOPBACK = 772, LONGEST_NAME = 64 }; /* ARPHRD_LOOPBACK */

static bool read_number(const char *root, const char *interface, const char *name, double *out) {
    char path[320];
    (void)snprintf(path, sizeof path, "/sys/class/net/%s/%s", interface, name);
    return gw_fact_read_number(root, path, out);
}

/* True if the interface is in the process's namespace: /proc/net shows that one, /sys the one of
 * the process that mounted it. `known` is /proc/net's text, or NULL. */
static bool is_own_interface(const char *known, const char *interface) {
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

static void write_interface(struct gw_json_writer *writer, const char *root,
                            const char *interface) {
    double value = 0;
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "name", interface);
    /* in Mb/s; -1 for an interface without a rate */
    if (read_number(root, interface, "speed", &value) && value > 0 && value < 4e9) {
        gw_writer_number(writer, "bits_per_s", 1e6 * value);
    }
    if (read_number(root, interface, "mtu", &value)) {
        gw_writer_number(writer, "mtu_bytes", value);
    }
    gw_writer_end(writer);
}

static void write_interfaces(struct gw_json_writer *writer, const char *root) {
    char path[512];
    struct dirent **folders = NULL;
    char *known = gw_fact_text(root, "/proc/net/dev");
    (void)snprintf(path, sizeof path, "%s/sys/class/net", root);
    int count = scandir(path, &folders, NULL, alphasort);
    gw_writer_array(writer, "interfaces");
    for (int i = 0; i < count; i++) {
        const char *name = folders[i]->d_name;
        char state[GW_FACT_SIZE] = "";
        double type = 0;
        (void)snprintf(path, sizeof path, "/sys/class/net/%.64s/operstate", name);
        /* Drivers that cannot tell, such as those of virtual machines, say "unknown". */
        bool is_up = gw_fact_read(root, path, state) &&
                     (strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0) &&
                     !(read_number(root, name, "type", &type) && type == LOOPBACK);
        if (name[0] != '.' && strlen(name) < LONGEST_NAME && is_own_interface(known, name) &&
            is_up) {
            write_interface(writer, root, name);
        }
        free(folders[i]);
    }
    gw_writer_end(writer);
    free(folders);
    free(known);
}

/* ---- the environment ------------------------------------------------------------------------- */

enum { LONGEST_VALUE = 200 };

/* Prefixes of names. Of Open MPI's parameters, those of sending, computing and binding; the
 * launcher's own hold addresses and keys of the job, and differ from run to run. */
/* clang-format off */
static const char *const wanted[] = {
    "OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_coll", "OMPI_MCA_mpi_",
    "OMPI_MCA_bml", "OMPI_MCA_hwloc", "OMPI_MCA_rmaps", "OMPI_MCA_mpool", "OMPI_MCA_rcache",
    "OMPI_MCA_osc", "OMPI_MCA_op", "OMP_", "GOMP_", "KMP_", "NCCL_", "UCX_", "FI_", "MPICH_",
    "I_MPI_", "GRADWEAVE_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_", "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING", "CUDA_MPS_", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_NODELIST", "SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION", "SLURM_JOB_PARTITION", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD",
};
/* clang-format on */

/* Parts of names, in any case, whose values are never written. */
static const char *const secret[] = {"SECRET", "PASSW", "TOKEN", "CREDENTIAL", "_KEY", "COOKIE"};

static bool is_secret(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
        size_t part = strlen(secret[i]);
        for (size_t at = 0; at + part <= length; at++) {
            if (strncasecmp(name + at, secret[i], part) == 0) {
                return true;
            }
        }
    }
    return false;
}

void gw_write_environment(struct gw_json_writer *writer, char *const *variables) {
    for (; *variables != NULL; variables++) {
        char name[64];
        char value[LONGEST_VALUE + 1];
        const char *equals = strchr(*variables, '=');
        size_t length = equals == NULL ? 0 : (size_t)(equals - *variables);
        bool is_wanted = false;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            is_wanted = is_wanted || strncmp(*variables, wanted[i], strlen(wanted[i])) == 0;
        }
        if (length == 0 || length >= sizeof name || !is_wanted || is_secret(*variables, length)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s", (int)length, *variables);
        (void)snprintf(value, sizeof value, "%s", equals + 1);
        for (char *c = value; *c != '\0'; c++) {
            if (*c < ' ' || *c > '~') {
                *c = '?';
            }
        }
        gw_writer_text(writer, name, value);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

void gw_write_host_facts(struct gw_json_writer *writer, const char *root) {
    char line[GW_FACT_SIZE];
    struct gw_cpus online = {0};
    double quota = 0; /* microseconds of processors per period, "200000 100000" */
    double period = 0;
    double kilobytes = 0;
    char unit[4] = "";
    char *text = gw_fact_text(root, "/proc/cpuinfo");
    gw_writer_text(writer, "cpu", text != NULL && find_model(text, line) ? line : "unknown");
    free(text);
    if (read_cpus(root, "/sys/devices/system/cpu/online", &online)) {
        write_topology(writer, root, &online);
    }
    write_core_kinds(writer, root);
    write_frequency(writer, root, &online);
    text = gw_fact_text(root, "/etc/os-release");
    if (text != NULL && gw_fact_find(text, "PRETTY_NAME", line)) {
        size_t last = strlen(line) - 1; /* 'NAME="Debian"' and 'NAME=Debian' are both common */
        bool quoted = last > 0 && line[0] == '"' && line[last] == '"';
        line[last + !quoted] = '\0';
        gw_writer_text(writer, "system", line + quoted);
    }
    free(text);
    write_line(writer, root, "/proc/sys/kernel/osrelease", "kernel");
    text = gw_fact_text(root, "/proc/meminfo");
    if (text != NULL && gw_fact_find(text, "MemTotal", line) &&
        sscanf(line, "%15lf %3s", &kilobytes, unit) == 2 && strcmp(unit, "kB") == 0 &&
        kilobytes > 0 && kilobytes < 1e15) {
        gw_writer_number(writer, "memory_bytes", 1024 * kilobytes);
    }
    free(text);
    write_line(writer, root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
               "clock_source");
    if (gw_fact_read(root, "/sys/fs/cgroup/cpu.max", line) &&
        sscanf(line, "%15lf %15lf", &quota, &period) == 2 && quota > 0 && period > 0) {
        gw_writer_number(writer, "cpu_quota", quota / period);
    }
    write_interfaces(writer, root);
}
