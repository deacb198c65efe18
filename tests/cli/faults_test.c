/*
 * Whatever fails, the answer is right or there is none: in every verb that starts no job each
 * request for memory or for a thread, and each open, read, write, sync, rename, close and look at
 * what a file is, is made to fail in turn (fault_shim.c). The program then says so and ends with 3,
 * and files are as before; or it could do without, and the answer and its files are those of a run
 * without failure.
 *
 * In a job one rank's requests for memory fail, of the program's own: all ranks end, and say so.
 *
 * Without GRADWEAVE_TRIALS, or where it is 1, all of them fail, which takes long; else some that
 * are drawn, others for each commit.
 */
#include <sys/stat.h>

#include "core/arena.h"
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define TINY "tiny.json --cluster small.json"
#define SIDE                                                                                       \
    "{'iteration_s': 0.010, 'comm_s': 0.004, 'breakdown': {'forward_s': 0.002, 'backward_s': "     \
    "0.004, 'compress_s': 0.001, 'exposed_comm_s': 0.003, 'other_s': 0}}"

/* A stream of GRADWEAVE_SEED, or of the commit that script/test says. */
static struct gw_random *failure_stream(uint64_t stream) {
    static bool said;
    const char *commit = getenv("GRADWEAVE_COMMIT");
    if (commit == NULL || getenv("GRADWEAVE_SEED") != NULL) {
        return random_stream(stream);
    }
    char digits[9];
    (void)snprintf(digits, sizeof digits, "%s", commit);
    unsigned long long from = strtoull(digits, NULL, 16);
    if (!said) {
        print_message("failures are those of GRADWEAVE_SEED=%llu\n", from);
        said = true;
    }
    return random_stream_from(from, stream);
}

static const struct command {
    const char *words;
    enum { PLAIN, VARIES, DRAWS } trait; /* it prints how long it took; it needs gnuplot */
} commands[] = {
    {"--version", VARIES},
    {"plan --help", PLAIN},
    {"completion bash", PLAIN},
    {"simulate tiny --cluster small --algo dense", PLAIN},
    {"list", PLAIN},
    {"list models --json", PLAIN},
    {"check tiny.json small.json --json", PLAIN},
    {"plan " TINY " --explain --out p.json", PLAIN},
    {"plan " TINY " --policy optimal --json", PLAIN},
    {"plan " TINY " --sweep density=0.1,0.2 --out s.csv", PLAIN},
    {"plan " TINY " --out p.svg", DRAWS},
    {"simulate " TINY " --algo omgs --trace t.json", PLAIN},
    {"simulate " TINY " --algo omgs --plan plan.json --json", PLAIN},
    {"simulate " TINY " --algo dense -n 5 --noise 0.1 --threads 2 --json", PLAIN},
    {"simulate " TINY " --algo omgs --network messages --json", PLAIN},
    {"simulate idle-model.json --cluster idle-cluster.json --algo hard-threshold --counts trained "
     "--counts-out c.json -n 2",
     PLAIN},
    {"simulate --goal schedule.goal --json", VARIES},
    {"compare " TINY " --algo dense,topk", PLAIN},
    {"compare " TINY " --algo dense,topk --workers 2,4 --data d.csv --json", PLAIN},
    {"compare tiny.json --cluster shared.json --algo topk --json", PLAIN},
    {"compare " TINY " --algo dense,topk --workers 2,4 --data d.csv --out d.svg", DRAWS},
    {"sweep --model " TINY " --algo dense,topk --workers 2,4 --threads 2 --out s.csv --out s.jsonl",
     VARIES},
    {"sweep --model tiny.json --cluster small.json --algo topk --noise 0:0.1:lin3 --json", PLAIN},
    {"export goal " TINY " --algo p-sgd --loggp L=1000,o=100,g=10,G=0.1 --out s.goal", PLAIN},
    {"plot breakdown " TINY " --algo dense,topk --out b.png --data b.csv", DRAWS},
    {"plot validation validation.json --out v.svg", DRAWS},
    {"plot difference validation.json --out v.svg --data v.csv", DRAWS},
    {"plot calibration small.json --out c.svg --data c.csv", DRAWS},
    {"plot bounds --elements 100 --out b.svg --json", DRAWS},
    {"plot density tiny.json --elements 500 -n 2 --out d.svg", DRAWS},
    {"plot padding tiny.json --elements 500 -n 2 --out d.svg", DRAWS},
    {"bench compressors --elements 2000 --repeats 1", VARIES},
};

/* ---- folders -------------------------------------------------------------------------------- */

enum { MOST_FILES = 24 };

/* All files of a folder with what is in them; the arena's. */
struct contents {
    size_t count;
    struct file {
        const char *name;
        const unsigned char *bytes;
        size_t length;
    } files[MOST_FILES];
};

static struct file read_file(const char *folder, const char *name, struct gw_arena *arena) {
    struct file file = {.name = gw_arena_text(arena, name)};
    FILE *stream = fopen(path_in(folder, name), "rbe");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    file.length = (size_t)ftell(stream);
    rewind(stream);
    unsigned char *bytes = gw_arena_zeros(arena, file.length + 1, 1);
    assert_true(bytes != NULL && fread(bytes, 1, file.length, stream) == file.length);
    (void)fclose(stream);
    file.bytes = bytes;
    return file;
}

static struct contents read_folder(const char *folder, struct gw_arena *arena) {
    struct contents contents = {0};
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    const struct dirent *entry = NULL;
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_true(contents.count < MOST_FILES);
            contents.files[contents.count++] = read_file(folder, entry->d_name, arena);
        }
    }
    (void)closedir(entries);
    return contents;
}

static const struct file *find_file(const struct contents *contents, const char *name) {
    for (size_t i = 0; i < contents->count; i++) {
        if (strcmp(contents->files[i].name, name) == 0) {
            return &contents->files[i];
        }
    }
    return NULL;
}

static bool same_file(const struct file *a, const struct file *b) {
    return a != NULL && b != NULL && a->length == b->length &&
           memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* The first file that is not as it should be; NULL if all are. */
static const char *find_difference(const struct contents *found, const struct contents *expected) {
    for (size_t i = 0; i < expected->count; i++) {
        const struct file *file = &expected->files[i];
        if (!same_file(file, find_file(found, file->name))) {
            return file->name;
        }
    }
    for (size_t i = 0; i < found->count; i++) {
        if (find_file(expected, found->files[i].name) == NULL) {
            return found->files[i].name;
        }
    }
    return NULL;
}

static void write_file(const char *folder, const struct file *file) {
    FILE *stream = fopen(path_in(folder, file->name), "wbe");
    assert_non_null(stream);
    assert_int_equal(fwrite(file->bytes, 1, file->length, stream), file->length);
    assert_int_equal(fclose(stream), 0);
}

/* Makes the folder hold just these; `found` is what it holds. */
static void restore(const char *folder, const struct contents *found,
                    const struct contents *expected) {
    for (size_t i = 0; i < found->count; i++) {
        if (find_file(expected, found->files[i].name) == NULL) {
            assert_int_equal(unlink(path_in(folder, found->files[i].name)), 0);
        }
    }
    for (size_t i = 0; i < expected->count; i++) {
        const struct file *file = &expected->files[i];
        if (!same_file(file, find_file(found, file->name))) {
            write_file(folder, file);
        }
    }
}

/* ---- faults --------------------------------------------------------------------------------- */

static const char *const kinds[] = {"memory", "task", "open",  "read", "write",
                                    "sync",   "name", "close", "look"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A command, what it does where nothing fails, and what it is to find. */
struct trial {
    const char *folder, *data; /* what ships: a model and a cluster, not dozens of them */
    const struct command *command;
    const char *out;
    struct contents before, after;
};

#define SHIMMED "env GRADWEAVE_DATA=%s LD_PRELOAD=" GW_FAULT_SHIM
#define FAULTY SHIMMED " GW_FAULT=%s gradweave %s"
#define COUNTED SHIMMED " GW_FAULT_COUNTS=counts gradweave %s"

/* A sweep may leave what it had done, with which it can go on. */
static bool goes_on(const struct trial *trial, struct gw_arena *arena) {
    if (strncmp(trial->command->words, "sweep", 5) != 0) {
        return false;
    }
    struct answer answer = ask(trial->folder, "gradweave %s --resume", trial->command->words);
    struct contents found = read_folder(trial->folder, arena);
    return answer.status == 0 && find_difference(&found, &trial->after) == NULL;
}

/* The fault of an answer, or NULL. */
static const char *judge(const struct trial *trial, const struct answer *answer,
                         const struct contents *found) {
    bool failed = answer->status == 3;
    if (answer->status != 0 && !failed) {
        return "it is neither 0 nor 3";
    }
    if (failed && (answer->err[0] == '\0' || answer->out[0] != '\0')) {
        return answer->err[0] == '\0' ? "nothing is said" : "there is something in stdout";
    }
    if (!failed && trial->command->trait != VARIES && strcmp(answer->out, trial->out) != 0) {
        return "another answer";
    }
    return find_difference(found, failed ? &trial->before : &trial->after);
}

/* Whether a command does as it must when this fails. The folder is as before then. */
static bool survives(const struct trial *trial, const char *kind, long number) {
    char fault[64];
    struct gw_arena arena = {0};
    (void)snprintf(fault, sizeof fault, "%s:%ld", kind, number);
    struct answer answer = ask(trial->folder, FAULTY, trial->data, fault, trial->command->words);
    struct contents found = read_folder(trial->folder, &arena);
    const char *wrong = judge(trial, &answer, &found);
    if (wrong != NULL && strstr(wrong, ".partial") != NULL && goes_on(trial, &arena)) {
        wrong = NULL;
    }
    if (wrong != NULL) {
        print_error("GW_FAULT=%s gradweave %s\n  status %d, %s; stderr: %s\n", fault,
                    trial->command->words, answer.status, wrong, answer.err);
    }
    found = read_folder(trial->folder, &arena);
    restore(trial->folder, &found, &trial->before);
    gw_arena_free(&arena);
    forget_answers();
    return wrong == NULL;
}

static bool tries_all(void) {
    return gw_trials(100) == 100;
}

/* How many of a kind to try, of `count` that there are. Pictures take long. */
static long choose_sample(const struct trial *trial, struct gw_random *random, size_t kind,
                          long count) {
    enum { OF_MEMORY = 12, OF_OTHERS = 2 };
    bool draws = trial->command->trait == DRAWS;
    long sample = gw_trials(kind == 0 ? OF_MEMORY : OF_OTHERS);
    if (tries_all()) {
        return count;
    }
    sample = !draws ? sample : gw_random_below(random, KINDS / 2) == 0;
    return sample < count ? sample : count;
}

static int try_all(const struct trial *trial, struct gw_random *random, const char *counts) {
    int failures = 0;
    for (size_t kind = 0; kind < KINDS; kind++) {
        const char *line = strstr(counts, kinds[kind]);
        assert_non_null(line);
        long count = strtol(line + strlen(kinds[kind]), NULL, 10);
        long tried = choose_sample(trial, random, kind, count);
        for (long i = 1; i <= tried; i++) {
            long number = tries_all() ? i : 1 + (long)gw_random_below(random, (uint64_t)count);
            failures += !survives(trial, kinds[kind], number);
        }
    }
    return failures;
}

/* A newline more behind what is new. */
static struct contents make_older(const struct contents *before, const struct contents *after,
                                  struct gw_arena *arena) {
    struct contents older = *after;
    for (size_t i = 0; i < older.count; i++) {
        struct file *file = &older.files[i];
        if (find_file(before, file->name) == NULL) {
            unsigned char *longer = gw_arena_zeros(arena, file->length + 1, 1);
            assert_non_null(longer);
            memcpy(longer, file->bytes, file->length);
            longer[file->length++] = '\n';
            file->bytes = longer;
        }
    }
    return older;
}

/* With outputs that are not there yet, and with ones that are replaced. */
static int try_command(const char *folder, const char *data, const struct command *command,
                       struct gw_random *random) {
    struct gw_arena arena = {0};
    struct trial trial = {
        .folder = folder, .data = data, .command = command, .before = read_folder(folder, &arena)};
    const struct contents before = trial.before;
    struct answer answer = ask(folder, COUNTED, data, command->words);
    if (answer.status != 0) {
        print_error("gradweave %s: %s\n", command->words, answer.err);
        fail();
    }
    char *counts = gw_arena_text(&arena, read_text(folder, "counts"));
    assert_int_equal(unlink(path_in(folder, "counts")), 0);
    trial.out = gw_arena_text(&arena, answer.out);
    trial.after = read_folder(folder, &arena);
    bool writes = find_difference(&trial.after, &before) != NULL;
    bool replaces = writes && gw_random_below(random, 2) == 0;
    int failures = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == (int)replaces || (tries_all() && writes)) {
            trial.before = pass == 0 ? before : make_older(&before, &trial.after, &arena);
            restore(folder, &trial.after, &trial.before);
            failures += try_all(&trial, random, counts);
        }
    }
    const struct contents found = read_folder(folder, &arena);
    restore(folder, &found, &before);
    gw_arena_free(&arena);
    return failures;
}

static const char validation[] =
    "{'schema': 'gradweave/validation@1', 'model': 'tiny', 'workers': 2, 'complete': true, "
    "'results': [{'algorithm': 'omgs', 'error': 0, 'predicted': " SIDE ", 'measured': " SIDE ", "
    "'explanation': {'shown': {'predicted_s': 1, 'measured_s': 1}, 'largest': [0], 'operations': "
    "[{'stream': 'compute', 'activity': 'forward', 'shown_predicted_s': [0, 1], "
    "'shown_measured_s': [0, 1], 'on_predicted_path': true, 'on_measured_path': true}]}}]}";

/* Whose workers share processors, by curves that are known so well: intervals count turns. */
static const char shared_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'shared', 'workers': 4, 'sharing': {'ranks': 4, "
    "'processors': 2, 'together': 4}, 'collectives': {'allgather': [{'workers': 4, 'alpha_s': "
    "0.0005, 'beta_s_per_byte': 3e-8}]}, 'compressors': {'topk': {'points': [[65536, 0.001], "
    "[131072, 0.002]], 'raw': [{'elements': 65536, 'median_s': 0.001, 'median_low_s': 0.0009, "
    "'median_high_s': 0.0011}], 'together': {'fixed_s': 0.001, 'per_element_s': 4e-8}}}}";

/* A folder for GRADWEAVE_DATA, as installed. */
static void make_data(void **data) {
    assert_int_equal(make_folder(data), 0);
    assert_int_equal(mkdir(path_in(*data, "models"), 0777), 0);
    assert_int_equal(mkdir(path_in(*data, "clusters"), 0777), 0);
    assert_int_equal(mkdir(path_in(*data, "tables"), 0777), 0);
    assert_int_equal(symlink(GW_SOURCE "/report/plots", path_in(*data, "plots")), 0);
    write_text(*data, "models/tiny.json", tiny_model);
    write_text(*data, "clusters/small.json", small_cluster);
}

static void remove_data(void **data) {
    assert_int_equal(unlink(path_in(*data, "models/tiny.json")), 0);
    assert_int_equal(unlink(path_in(*data, "clusters/small.json")), 0);
    assert_int_equal(remove_folder(data), 0);
}

TEST_WITH(injected_failures_leave_a_right_answer_or_none, make_inputs, remove_folder) {
    bool draws = have_program("gnuplot");
    int failures = 0;
    void *data = NULL;
    make_data(&data);
    write_text(*state, "validation.json", validation);
    write_text(*state, "shared.json", shared_cluster);
    (void)check_says(*state, "gradweave plan " TINY " --out plan.json", NULL);
    (void)check_says(*state, "gradweave export goal " TINY " --algo dense --out schedule.goal",
                     NULL);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (draws || commands[i].trait != DRAWS) {
            failures += try_command(*state, data, &commands[i], failure_stream(i));
        }
    }
    remove_data(&data);
    assert_int_equal(failures, 0);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

#define IN_JOB                                                                                     \
    "mpirun %s -q --oversubscribe --mca odls_base_sigkill_timeout 0 -n 3 -x "                      \
    "LD_PRELOAD=" GW_FAULT_SHIM " -x GW_FAULT_RANK=%d -x %s=%s gradweave %s"

static struct answer ask_job(const char *folder, int rank, const char *name, const char *value,
                             const char *words) {
    const char *root = geteuid() == 0 ? "--allow-run-as-root" : "";
    return ask(folder, IN_JOB, root, rank, name, value, words);
}

/* The fault of a job's answer, or NULL; it measures, so no two answers are equal. */
static const char *judge_job(const struct answer *answer, bool as_before) {
    if (answer->status == 0) {
        return answer->out[0] == '\0' ? "no answer" : NULL;
    }
    return answer->status != 3                          ? "it is neither 0 nor 3"
           : answer->out[0] != '\0'                     ? "there is something in stdout"
           : strstr(answer->err, "gradweave: ") == NULL ? "nothing is said"
           : !as_before                                 ? "files are not as before"
                                                        : NULL;
}

/* How many of `tried` requests for memory of a rank end its job in another way than they must. */
static int fail_in_job(const char *folder, const char *words, int rank, long tried,
                       struct gw_random *random) {
    struct answer whole = ask_job(folder, rank, "GW_FAULT_COUNTS", "counts", words);
    assert_int_equal(whole.status, 0);
    long count = strtol(strstr(read_text(folder, "counts"), "memory") + 6, NULL, 10);
    assert_true(count > 100);
    assert_int_equal(unlink(path_in(folder, "counts")), 0);
    (void)unlink(path_in(folder, "made.json"));
    char *before = list_files(folder);
    int failures = 0;
    for (long i = 1; i <= tried; i++) {
        char fault[64];
        (void)snprintf(fault, sizeof fault, "memory:%ld",
                       1 + (long)gw_random_below(random, (uint64_t)count));
        struct answer answer = ask_job(folder, rank, "GW_FAULT", fault, words);
        (void)unlink(path_in(folder, "made.json.partial")); /* to go on with */
        const char *wrong = judge_job(&answer, strcmp(before, list_files(folder)) == 0);
        if (wrong != NULL) {
            print_error("GW_FAULT_RANK=%d GW_FAULT=%s gradweave %s\n  status %d, %s; stderr: %s\n",
                        rank, fault, words, answer.status, wrong, answer.err);
            failures++;
        }
        (void)unlink(path_in(folder, "made.json"));
    }
    return failures;
}

TEST_WITH(a_job_whose_rank_lacks_memory_ends_and_says_so, make_inputs, remove_folder) {
    need_mpi();
    static const char *const jobs[] = {
        "validate " TINY
        " --workers 2 --algo dense,topk,ps --iterations 2 --check-time 0 --timeout "
        "5 --explain topk --out made.json",
        "calibrate --max-bytes 4096 --max-elements 4096 --max-time 0.02 --time 1 --timeout 5 --out "
        "made.json"};
    int failures = 0;
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        for (int rank = 0; rank < 3; rank += 1 + (int)j) {
            failures += fail_in_job(*state, jobs[j], rank, gw_trials(100) / 20 + 1,
                                    failure_stream(1000 + 3 * j + (uint64_t)rank));
        }
    }
    assert_int_equal(failures, 0);
}
