/* The table of readers, and what their judges share. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/readers.h"

/* ---- the table ----------------------------------------------------------------------------- */

static const char *const goal_words[] = {"send ",
                                         "recv ",
                                         "calc ",
                                         " requires ",
                                         " irequires ",
                                         "rank ",
                                         "num_ranks ",
                                         "{",
                                         "}",
                                         "\n",
                                         ":",
                                         "-1",
                                         "b to ",
                                         "b from ",
                                         " tag ",
                                         " cpu ",
                                         " nic ",
                                         "//",
                                         "/*",
                                         "*/",
                                         "l0",
                                         "l1: calc 1",
                                         "\r",
                                         "0",
                                         "256",
                                         "\xff",
                                         "_",
                                         "4294967295",
                                         "18446744073709551616",
                                         "// loggp L=",
                                         NULL};

static const char *const row_words[] = {"\n", ",", "\"", "\"\n", ",\"reason\":", NULL};

static const char *const value_words[] = {
    ",",    ":",    ":log", ":lin", "x",  "kbit", "gbit", "Mbit/s", "gbps", "GiB/s", "GB", "KiB",
    "1e-4", "1e-1", "2",    "1e6",  "0x", "inf",  "nan",  "L=",     "o=",   ",G=",   "S=", NULL};

static const char *const name_words[] = {
    "all",     ",",         "omgs",      "optimal", "threshold:", "mg-wfbp",  "topk",
    "none",    "gs-sgd",    "allgather", "dense",   "normal:",    "uniform:", "lognormal:",
    "student", "p-sgd,all", "0.05",      "1e999",   "-1",         NULL};

static const char *const fact_words[] = {
    "-",           ",",       "\n",           "0-3",        "65535",   "model name\t: ",
    "CPU part : ", "cpu\t: ", "PRETTY_NAME=", "MemTotal: ", "1024 kB", NULL};

static const char *const benchmark_words[] = {"#",
                                              "\n",
                                              " 1024 ",
                                              " 0.00 ",
                                              " N/A ",
                                              " nan ",
                                              " -1 ",
                                              "1e999",
                                              " float ",
                                              "# Rank 0 ",
                                              "all_gather_perf",
                                              "all_reduce_perf",
                                              "Out of bounds values : 1 FAILED",
                                              "# OSU MPI Allgather Latency Test v7.4\n",
                                              "# Size Avg Latency(us)\n",
                                              "\r",
                                              "{",
                                              "\"size\": ",
                                              "[1,0]<stdout>: ",
                                              "a:1:1 [0] NCCL INFO x\n",
                                              "NCCL_ALGO=Ring ",
                                              "\x1b[1m",
                                              "numCycle,collective,gpus",
                                              "\"busBw\": 1",
                                              "1,048,576",
                                              " torch.Size([",
                                              "running_mean",
                                              "18446744073709551616",
                                              "\"coll_perf\": {",
                                              "\"n_ranks\": ",
                                              "RDMA_Write BW Test\n",
                                              "BW average[Gb/sec]",
                                              NULL};

const struct fuzz_reader fuzz_readers[] = {
    {"model", fuzz_model, true, fuzz_oddities},
    {"cluster", fuzz_cluster, true, fuzz_oddities},
    {"plan", fuzz_plan, true, fuzz_oddities},
    {"counts", fuzz_counts, true, fuzz_oddities},
    {"accuracy", fuzz_accuracy, true, fuzz_oddities},
    {"table", fuzz_table, true, fuzz_oddities},
    {"gradients", fuzz_gradients, true, fuzz_oddities},
    {"document", fuzz_document, true, fuzz_oddities},
    {"validation", fuzz_validation, true, fuzz_oddities},
    {"difference", fuzz_difference, true, fuzz_oddities},
    {"job", fuzz_job, true, value_words},
    {"goal", fuzz_goal, false, goal_words},
    {"partial", fuzz_partial, false, row_words},
    {"journal", fuzz_journal, false, fuzz_oddities},
    {"sample", fuzz_sample, false, fuzz_oddities},
    {"facts", fuzz_facts, false, fact_words},
    {"benchmark", fuzz_benchmark, false, benchmark_words},
    {"values", fuzz_values, false, value_words},
    {"names", fuzz_names, false, name_words},
    {0},
};

const struct fuzz_reader *fuzz_find(const char *name) {
    const struct fuzz_reader *reader = fuzz_readers;
    while (reader->name != NULL && strcmp(reader->name, name) != 0) {
        reader++;
    }
    return reader->name == NULL ? NULL : reader;
}

/* ---- judging ------------------------------------------------------------------------------- */

struct gw_error fuzz_error;

static const char *subject;
static size_t subject_length;

/* Nobody listens to them, but they are made. */
static void drop_warning(const char *message, void *context) {
    (void)context;
    fuzz_expect(strchr(message, ':') != NULL, "a warning without a place");
}

/* With a zero behind it. */
static char *copy_of(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

bool fuzz_judge_bytes(const struct fuzz_reader *reader, const char *text, size_t length) {
    char *copy = copy_of(text, length);
    subject = text;
    subject_length = length;
    fuzz_error = (struct gw_error){0};
    gw_key_rules.warn = drop_warning;
    bool accepted = reader->judge(copy, length);
    free(copy);
    return accepted;
}

void fuzz_expect(bool truth, const char *what) {
    if (!truth) {
        (void)fprintf(stderr, "%s\nthe error: %s\nthe %zu bytes:\n%.*s\n", what, fuzz_error.message,
                      subject_length, (int)subject_length, subject);
        abort();
    }
}

bool fuzz_accepted(enum gw_status status, const char *place) {
    size_t length = strlen(place);
    if (status == GW_OK) {
        return true;
    }
    fuzz_expect(status == GW_BAD_INPUT && fuzz_error.status == status, "another status");
    fuzz_expect(strncmp(fuzz_error.message, place, length) == 0 &&
                    (length == 0 || fuzz_error.message[length] == ':'),
                "a message that names no place");
    fuzz_expect(strstr(fuzz_error.message, "expected ") != NULL ||
                    strstr(fuzz_error.message, "cannot be read") != NULL,
                "a message that does not help");
    return false;
}

uint64_t fuzz_choose(const char *text, size_t length) {
    return gw_fingerprint_add(gw_fingerprint_start, text, length) >> 8;
}

/* ---- files --------------------------------------------------------------------------------- */

static char folder[64];

static void remove_files(void) {
    DIR *entries = opendir(folder);
    const struct dirent *entry = NULL;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    (void)rmdir(folder);
}

/* In memory, where there is such a place: a fuzzer writes thousands each second. */
static void make_files(void) {
    (void)snprintf(folder, sizeof folder, "%s/gradweave-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || atexit(remove_files) != 0) {
        abort();
    }
}

const char *fuzz_path(const char *name) {
    static char paths[4][128];
    static size_t turn;
    if (folder[0] == '\0') {
        make_files();
    }
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *fuzz_write(const char *name, const char *text, size_t length) {
    const char *path = fuzz_path(name);
    FILE *stream = fopen(path, "we");
    if (stream == NULL || fwrite(text, 1, length, stream) != length || fclose(stream) != 0) {
        abort();
    }
    return path;
}

char *fuzz_read(const char *path, size_t *length) {
    char *text = NULL;
    fuzz_expect(gw_file_read(path, &text, length, &fuzz_error) == GW_OK, "no file to read");
    return text;
}

/* ---- the usual ----------------------------------------------------------------------------- */

const struct gw_model *fuzz_usual_model(void) {
    static struct gw_model model;
    if (model.name == NULL && gw_model_read(GW_FUZZ_SEEDS "/model/tiny.json", &model, NULL) != 0) {
        abort();
    }
    return &model;
}

const struct gw_cluster *fuzz_usual_cluster(void) {
    static struct gw_cluster cluster;
    if (cluster.name == NULL &&
        gw_cluster_read(GW_FUZZ_SEEDS "/cluster/everything.json", &cluster, NULL) != 0) {
        abort();
    }
    return &cluster;
}
