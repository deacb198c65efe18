/* Facts of a host, from folders that look like its /proc and /sys: of several kinds of machines,
 * with files missing, and with garbage in them. GRADWEAVE_SEED repeats a run. */
#include <sys/stat.h>

#include "calibrate/hosts/hosts.h"
#include "tests/test.h"

static struct gw_error error;

/* ---- machines made of files ---------------------------------------------------------------- */

static void put(const char *root, const char *path, const void *text, size_t length) {
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(whole, 0777);
        *slash = '/';
    }
    assert_ok(gw_file_write(whole, text, length, &error));
}

static void put_text(const char *root, const char *path, const char *text) {
    put(root, path, text, strlen(text));
}

static int remove_tree(void **state) {
    char command[600];
    (void)snprintf(command, sizeof command, "rm -r '%s'", (char *)*state);
    int status = system(command);
    free(*state);
    return status;
}

struct file {
    const char *path, *text;
};

static void build(const char *root, const struct file *files, size_t count) {
    for (size_t i = 0; i < count; i++) {
        put_text(root, files[i].path, files[i].text);
    }
}

#define BUILD(root, files) build(root, files, sizeof(files) / sizeof *(files))
#define CPU "/sys/devices/system/cpu/"
#define NET "/sys/class/net/"

/* Two sockets with two cores of two threads each; the threads of core c are c and c + 4. */
static const struct file server[] = {
    {"/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\n"
                      "model name\t: Some Xeon @ 2.50GHz\n\nprocessor\t: 1\n"},
    {CPU "online", "0-7\n"},
    {CPU "cpu0/topology/thread_siblings_list", "0,4\n"},
    {CPU "cpu1/topology/thread_siblings_list", "1,5\n"},
    {CPU "cpu2/topology/thread_siblings_list", "2,6\n"},
    {CPU "cpu3/topology/thread_siblings_list", "3,7\n"},
    {CPU "cpu4/topology/thread_siblings_list", "0,4\n"},
    {CPU "cpu5/topology/thread_siblings_list", "1,5\n"},
    {CPU "cpu6/topology/thread_siblings_list", "2,6\n"},
    {CPU "cpu7/topology/thread_siblings_list", "3,7\n"},
    {CPU "cpu0/topology/core_siblings_list", "0-1,4-5\n"},
    {CPU "cpu1/topology/core_siblings_list", "0-1,4-5\n"},
    {CPU "cpu2/topology/core_siblings_list", "2-3,6-7\n"},
    {CPU "cpu3/topology/core_siblings_list", "2-3,6-7\n"},
    {CPU "cpu4/topology/core_siblings_list", "0-1,4-5\n"},
    {CPU "cpu5/topology/core_siblings_list", "0-1,4-5\n"},
    {CPU "cpu6/topology/core_siblings_list", "2-3,6-7\n"},
    {CPU "cpu7/topology/core_siblings_list", "2-3,6-7\n"},
    {"/sys/devices/system/node/online", "0-1\n"},
    {CPU "cpu0/cpufreq/scaling_governor", "powersave\n"},
    {CPU "cpu1/cpufreq/scaling_governor", "performance\n"},
    {CPU "cpu2/cpufreq/scaling_governor", "powersave\n"},
    {CPU "cpu0/cpufreq/scaling_driver", "intel_pstate\n"},
    {CPU "cpu0/cpufreq/cpuinfo_max_freq", "3500000\n"},
    {CPU "cpu0/cpufreq/cpuinfo_min_freq", "800000\n"},
    {CPU "cpu0/cpufreq/scaling_cur_freq", "1234567\n"},
    {CPU "intel_pstate/no_turbo", "0\n"},
    {"/etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Some Linux 12\"\n"},
    {"/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n"},
    {"/proc/meminfo", "MemTotal:       24684084 kB\nMemFree: 1 kB\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    {"/sys/fs/cgroup/cpu.max", "250000 100000\n"},
    {"/proc/driver/nvidia/version",
     "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"},
    {"/proc/driver/nvidia/gpus/0000:01:00.0/information",
     "Model: \t\t NVIDIA A100\nIRQ:   \t\t 16\n"},
    {"/proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA A40\n"},
    {"/sys/bus/pci/devices/0000:01:00.0/numa_node", "1\n"},
    {"/sys/bus/pci/devices/0000:02:00.0/numa_node", "-1\n"},
    {"/proc/net/dev", "Inter-|   Receive\n face |bytes\n    lo: 1 2\n  eth0: 3 4\neth1:5 6\n"
                      "   ib0: 7\nbad: 8\n"},
    {NET "lo/operstate", "unknown\n"},
    {NET "lo/type", "772\n"},
    {NET "lo/mtu", "65536\n"},
    {NET "eth0/operstate", "up\n"},
    {NET "eth0/type", "1\n"},
    {NET "eth0/speed", "10000\n"},
    {NET "eth0/mtu", "9000\n"},
    {NET "eth1/operstate", "down\n"},
    {NET "eth1/speed", "1000\n"},
    {NET "ib0/operstate", "up\n"},
    {NET "ib0/speed", "-1\n"},
    {NET "ib0/mtu", "2044\n"},
    {NET "eth/operstate", "up\n"}, /* another namespace's */
    {NET "docker0/operstate", "up\n"},
};

static cJSON *describe(const char *root) {
    struct gw_json_writer writer;
    cJSON *node = NULL;
    gw_writer_begin(&writer);
    gw_write_host_facts(&writer, root);
    gw_write_gpu_facts(&writer, root);
    assert_ok(gw_writer_finish(&writer, &node, &error));
    return node;
}

static void assert_described(const char *root, const char *expected) {
    char *text = NULL;
    cJSON *node = describe(root);
    assert_ok(gw_json_print_compact(node, &text, &error));
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, expected);
    free(text);
    cJSON_Delete(node);
}

TEST_WITH(a_server_is_described, make_folder, remove_tree) {
    const char *root = *state;
    struct gw_cpus cpus;
    struct gw_cpus cores;
    char text[GW_CPUS_TEXT_SIZE];
    char boot[GW_FACT_SIZE];
    struct gw_host_ticks ticks;
    double hz = 0;
    BUILD(root, server);
    assert_described(
        root, "{\"cpu\":\"Some Xeon @ 2.50GHz\",\"sockets\":2,\"cores\":4,\"threads\":8,"
              "\"numa_nodes\":2,\"frequency\":{\"governor\":\"powersave, performance\","
              "\"driver\":\"intel_pstate\",\"turbo\":\"on\",\"minimum_hz\":800000000,"
              "\"maximum_hz\":3500000000},\"system\":\"Some Linux 12\","
              "\"kernel\":\"6.1.0-13-amd64\",\"memory_bytes\":25276502016,"
              "\"clock_source\":\"tsc\",\"cpu_quota\":2.5,\"interfaces\":["
              "{\"name\":\"eth0\",\"bits_per_s\":10000000000,\"mtu_bytes\":9000},"
              "{\"name\":\"ib0\",\"mtu_bytes\":2044}],\"gpus\":[{\"name\":\"NVIDIA A100\","
              "\"pci\":\"0000:01:00.0\",\"numa_node\":1},"
              "{\"name\":\"NVIDIA A40\",\"pci\":\"0000:02:00.0\"}],\"gpu_driver\":\"535.104.05\"}");
    assert_true(gw_cpu_frequency(root, 0, &hz));
    assert_true(near(hz, 1.234567e9, 1e-12));
    assert_true(gw_cpus_parse("1-2,5", &cpus));
    gw_cpus_cores(root, &cpus, &cores);
    gw_cpus_print(&cores, text);
    assert_string_equal(text, "1-2");
    gw_host_ticks_read(root, &ticks);
    assert_true(ticks.all == 0 && ticks.taken == 0);
    put_text(root, "/proc/stat", "cpu  100 20 30 400 5 6 7 80 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
    gw_host_ticks_read(root, &ticks);
    assert_true(ticks.all == 648 && ticks.taken == 80 && ticks.used == 150);
    put_text(root, "/proc/stat", "cpu0 100 20 30 400 5 6 7 80 9 10\n");
    gw_host_ticks_read(root, &ticks);
    assert_true(ticks.all == 0);
    assert_false(gw_fact_boot(root, boot));
    put_text(root, "/proc/sys/kernel/random/boot_id", "2b6f7a10-f1b4-4a3c-9a2e-0d1c2b3a4f50\n");
    assert_true(gw_fact_boot(root, boot));
    assert_string_equal(boot, "2b6f7a10-f1b4-4a3c-9a2e-0d1c2b3a4f50");
}

TEST_WITH(other_machines_are_described, make_folder, remove_tree) {
    const char *root = *state;
    assert_described(root, "{\"cpu\":\"unknown\",\"interfaces\":[],\"gpus\":[]}");
    put_text(root, "/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
    put_text(root, CPU "online", "0-1\n");
    put_text(root, CPU "cpufreq/boost", "0\n");
    put_text(root, "/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_described(root, "{\"cpu\":\"implementer 0x41, part 0xd0c\",\"threads\":2,"
                           "\"frequency\":{\"turbo\":\"off\"},\"interfaces\":[],\"gpus\":[]}");
    put_text(root, "/proc/cpuinfo", "processor : 0\ncpu : POWER9, altivec supported\n");
    put_text(root, CPU "cpufreq/boost", "");
    put_text(root, "/sys/devices/cpu_core/cpus", "0-15\n");
    put_text(root, "/sys/devices/cpu_atom/cpus", "16-23\n");
    assert_described(root, "{\"cpu\":\"POWER9, altivec supported\",\"threads\":2,\"core_kinds\":{"
                           "\"performance\":\"0-15\",\"efficiency\":\"16-23\"},\"interfaces\":[],"
                           "\"gpus\":[]}");
}

/* Whatever stands in the files, what comes out is JSON in ASCII. */
TEST_WITH(garbage_is_survived, make_folder, remove_tree) {
    const char *root = *state;
    enum { FILES = sizeof server / sizeof *server, MOST_BYTES = 300, ROUNDS = 25 };
    struct gw_random *random = open_random(1);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < FILES; i++) {
            char bytes[MOST_BYTES];
            size_t length = strlen(server[i].text);
            memcpy(bytes, server[i].text, length);
            size_t changes = (size_t)gw_random_below(random, 4);
            for (size_t c = 0; c < changes; c++) {
                bytes[gw_random_below(random, length)] = (char)gw_random_below(random, 256);
            }
            size_t kept =
                gw_random_below(random, 4) == 0 ? gw_random_below(random, length + 1) : length;
            put(root, server[i].path, bytes, kept);
        }
        char *text = NULL;
        cJSON *node = describe(root);
        assert_ok(gw_json_print_compact(node, &text, &error));
        for (const char *c = text; *c != '\0'; c++) {
            assert_true((*c >= ' ' && *c <= '~') || *c == '\n');
        }
        cJSON_Delete(node);
        assert_ok(gw_json_parse(text, strlen(text), "described", &node, &error));
        cJSON_Delete(node);
        free(text);
    }
    gw_random_close(random);
}

/* ---- the environment ----------------------------------------------------------------------- */

TEST(the_environment_is_sifted) {
    char *const variables[] = {(char *)"OMPI_MCA_btl_tcp_if_include=eth0",
                               (char *)"OMPI_MCA_orte_precondition_transports=0123-4567",
                               (char *)"OMPI_MCA_ess_base_jobid=7",
                               (char *)"OMP_NUM_THREADS=4",
                               (char *)"NCCL_DEBUG=a\x01\xff",
                               (char *)"UCX_TLS=",
                               (char *)"UCX_AUTH_TOKEN=hidden",
                               (char *)"NCCL_secret=hidden",
                               (char *)"HOME=/root",
                               (char *)"CUDA_VISIBLE_DEVICES=0,1",
                               (char *)"OMP_without_equals",
                               (char *)"=strange",
                               NULL};
    char *text = NULL;
    struct gw_json_writer writer;
    cJSON *object = NULL;
    gw_writer_begin(&writer);
    gw_write_environment(&writer, variables);
    assert_ok(gw_writer_finish(&writer, &object, &error));
    assert_ok(gw_json_print_compact(object, &text, &error));
    assert_string_equal(text, "{\"OMPI_MCA_btl_tcp_if_include\":\"eth0\",\"OMP_NUM_THREADS\":\"4\","
                              "\"NCCL_DEBUG\":\"a??\",\"UCX_TLS\":\"\","
                              "\"CUDA_VISIBLE_DEVICES\":\"0,1\"}\n");
    free(text);
    cJSON_Delete(object);
}
