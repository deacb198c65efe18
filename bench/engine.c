/*
 * How fast the simulation engine reads and runs GOAL schedules, and in how much memory; beside
 * LogGOPSim with --loggopsim. Every measurement is a process of its own. In each repeat gradweave,
 * txt2bin and LogGOPSim run one after the other, so that other load of the machine affects all of
 * them; ratios are those of one repeat.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "goal/goal.h"
#include "process.h"

static const char *const usage =
    "usage: engine [goal] [OPTION...]\n"
    "\n"
    "Reads and runs GOAL schedules, on one core, the last of those that are allowed.\n"
    "\n"
    "  --repeats COUNT      medians of so many (default: 5)\n"
    "  --loggopsim FOLDER   where your own txt2bin and LogGOPSim are, to compare with\n"
    "  --ranks N            at most so many ranks\n";

struct choice {
    size_t repeats, most_ranks; /* most_ranks 0: the usual */
    const char *loggopsim;      /* folder of its programs, or NULL */
};

/* LogGOPSim's own defaults. */
static const struct gw_loggops parameters = {
    .L = 2500, .o = 1500, .g = 1000, .G = 6, .O = 0, .S = 65535};

/* The results of a run; LogGOPSim prints each host's finish only for 16 hosts or fewer. */
enum { TOLD = 16 };
struct answer {
    uint64_t events;
    uint64_t last_ns;
    uint32_t told;
    uint64_t finish_ns[TOLD];
    double read_s, run_s; /* gradweave's */
};

/* The repeats of one schedule. */
struct samples {
    double *read_s, *run_s, *peak_bytes;
    double *speedup, *memory, *whole; /* over LogGOPSim's */
};
enum { SAMPLES = sizeof(struct samples) / sizeof(double *) };

/* A line of the table. */
struct row {
    uint32_t ranks;
    struct answer ours, theirs;
    struct samples samples;
};

static char folder[256];
static char text_path[sizeof folder + 16], binary_path[sizeof folder + 16],
    output_path[sizeof folder + 16];

/* ---- the folder ---------------------------------------------------------------------------- */

static void remove_folder(void) {
    (void)unlink(text_path);
    (void)unlink(binary_path);
    (void)unlink(output_path);
    (void)rmdir(folder);
}

/* ---- operations ---------------------------------------------------------------------------- */

enum { BYTES = 8 };

static uint32_t write_send(struct gw_goal_writer *writer, uint32_t to, uint32_t tag) {
    return gw_goal_write_operation(
        writer,
        &(struct gw_goal_operation){.kind = GW_GOAL_SEND, .size = BYTES, .peer = to, .tag = tag});
}

static uint32_t write_receive(struct gw_goal_writer *writer, uint32_t from, uint32_t tag) {
    return gw_goal_write_operation(
        writer, &(struct gw_goal_operation){
                    .kind = GW_GOAL_RECEIVE, .size = BYTES, .peer = from, .tag = tag});
}

static uint32_t calculate(struct gw_goal_writer *writer, uint64_t nanoseconds) {
    return gw_goal_write_operation(
        writer, &(struct gw_goal_operation){.kind = GW_GOAL_CALC, .size = nanoseconds});
}

/* Adds a dependency on `other`; 0: on no operation. */
static void write_requires(struct gw_goal_writer *writer, uint32_t label, uint32_t other) {
    if (other > 0) {
        gw_goal_write_requires(writer, label, other);
    }
}

/* ---- patterns ------------------------------------------------------------------------------ */

/* A barrier: in step i to the rank 2^i ahead, when the message of the step before has come. */
static enum gw_status write_dissemination(struct gw_goal_writer *writer, uint32_t ranks,
                                          struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t distance = 1; distance < ranks; distance *= 2) {
            uint32_t sent = write_send(writer, (rank + distance) % ranks, 0);
            uint32_t received = write_receive(writer, (rank + ranks - distance) % ranks, 0);
            write_requires(writer, sent, before);
            before = received;
        }
    }
    return GW_OK;
}

/* An allreduce: twice around, every step with a tag of its own. */
static enum gw_status write_ring(struct gw_goal_writer *writer, uint32_t ranks,
                                 struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t step = 0; step < 2 * (ranks - 1); step++) {
            uint32_t sent = write_send(writer, (rank + 1) % ranks, step);
            uint32_t received = write_receive(writer, (rank + ranks - 1) % ranks, step);
            write_requires(writer, sent, before);
            before = received;
        }
    }
    return GW_OK;
}

/* An allreduce: exchange with the rank 2^i away, then add. */
static enum gw_status write_recursive_doubling(struct gw_goal_writer *writer, uint32_t ranks,
                                               struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t distance = 1; distance < ranks; distance *= 2) {
            uint32_t sent = write_send(writer, rank ^ distance, distance);
            uint32_t received = write_receive(writer, rank ^ distance, distance);
            uint32_t added = calculate(writer, 12);
            write_requires(writer, added, received);
            write_requires(writer, added, sent);
            write_requires(writer, sent, before);
            write_requires(writer, received, before);
            before = added;
        }
    }
    return GW_OK;
}

/* Each rank sends to every other, without waiting. */
static enum gw_status write_all_to_all(struct gw_goal_writer *writer, uint32_t ranks,
                                       struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t distance = 1; distance < ranks; distance++) {
            (void)write_send(writer, (rank + distance) % ranks, 0);
            (void)write_receive(writer, (rank + ranks - distance) % ranks, 0);
        }
    }
    return GW_OK;
}

/* All ranks send to rank 0 at once. */
static enum gw_status write_incast(struct gw_goal_writer *writer, uint32_t ranks,
                                   struct gw_error *error) {
    GW_TRY(gw_goal_write_rank(writer, 0, error));
    for (uint32_t rank = 1; rank < ranks; rank++) {
        (void)write_receive(writer, rank, 0);
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        (void)write_send(writer, 0, 0);
    }
    return GW_OK;
}

/* A broadcast: a rank that has the message sends it on, to the farthest first. */
static enum gw_status write_binomial(struct gw_goal_writer *writer, uint32_t ranks,
                                     struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t lowest = rank == 0 ? UINT32_C(1) << 31 : rank & -rank;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        uint32_t received = rank == 0 ? 0 : write_receive(writer, rank - lowest, 0);
        for (uint32_t distance = lowest / 2; distance > 0; distance /= 2) {
            if (rank + distance < ranks) {
                write_requires(writer, write_send(writer, rank + distance, 0), received);
            }
        }
    }
    return GW_OK;
}

/* ---- layered ------------------------------------------------------------------------------- */

/*
 * In each of many layers a rank sends to a few others, which permutations choose, so that it also
 * knows its senders; sometimes it calculates. It waits for one or two operations of the layer
 * before. Numbers are pure functions of their places.
 */
enum { LAYERS = 32, DEGREE = 4 };

static uint64_t draw_below(uint32_t layer, uint32_t number, uint32_t rank, uint64_t limit) {
    return gw_random_mix(((uint64_t)layer << 40) ^ ((uint64_t)number << 32) ^ rank) % limit;
}

static void write_layer(struct gw_goal_writer *writer, uint32_t ranks, uint32_t rank,
                        uint32_t layer, uint32_t *before, uint32_t *before_count) {
    uint32_t now[2 * DEGREE + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < DEGREE; i++) {
        uint32_t distance = 1 + (uint32_t)draw_below(layer, i, UINT32_MAX, ranks - 1);
        if (draw_below(layer, i, rank, 3) > 0) {
            now[count++] = write_send(writer, (rank + distance) % ranks, layer);
        }
        uint32_t source = (rank + ranks - distance) % ranks;
        if (draw_below(layer, i, source, 3) > 0) {
            now[count++] = write_receive(writer, source, layer);
        }
    }
    now[count++] = calculate(writer, draw_below(layer, DEGREE, rank, 5000));
    for (uint32_t i = 0; i<count && * before_count> 0; i++) {
        uint32_t first = (uint32_t)draw_below(layer, DEGREE + 1 + i, rank, *before_count);
        write_requires(writer, now[i], before[first]);
        if (*before_count > 1 && i % 2 == 0) {
            write_requires(writer, now[i], before[(first + 1) % *before_count]);
        }
    }
    memcpy(before, now, count * sizeof *now);
    *before_count = count;
}

static enum gw_status write_layered(struct gw_goal_writer *writer, uint32_t ranks,
                                    struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before[2 * DEGREE + 1];
        uint32_t before_count = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t layer = 0; layer < LAYERS; layer++) {
            write_layer(writer, ranks, rank, layer, before, &before_count);
        }
    }
    return GW_OK;
}

/* ---- the list ------------------------------------------------------------------------------ */

static const struct pattern {
    const char *name;
    uint32_t ranks; /* that it is measured with */
    bool power_of_two;
    enum gw_status (*write)(struct gw_goal_writer *writer, uint32_t ranks, struct gw_error *error);
} patterns[] = {
    {"dissemination", 65536, false, write_dissemination},
    {"ring", 512, false, write_ring},
    {"recursive doubling", 16384, true, write_recursive_doubling},
    {"all-to-all", 256, false, write_all_to_all},
    {"incast", 2048, false, write_incast},
    {"binomial", 65536, false, write_binomial},
    {"layered, random", 4096, false, write_layered},
};

enum { PATTERNS = sizeof patterns / sizeof *patterns };

static enum gw_status write_pattern(const struct pattern *pattern, uint32_t ranks,
                                    struct gw_error *error) {
    struct gw_goal_writer *writer = NULL;
    GW_TRY(gw_goal_writer_open(&writer, text_path, ranks, error));
    enum gw_status status = pattern->write(writer, ranks, error);
    if (status != GW_OK) {
        gw_goal_writer_discard(writer);
        return status;
    }
    return gw_goal_writer_close(writer, error);
}

/* ---- ours ---------------------------------------------------------------------------------- */

static enum gw_status read_and_run(const void *context, void *result, struct gw_error *error) {
    (void)context;
    struct gw_goal goal;
    struct gw_goal_result run;
    struct answer *out = result;
    double start_s = gw_clock_now_s();
    GW_TRY(gw_goal_read(text_path, &goal, error));
    out->read_s = gw_clock_now_s() - start_s;
    GW_TRY(gw_goal_run(&goal, &parameters, text_path, &run, error));
    out->run_s = run.wall_s;
    out->events = run.events;
    out->told = goal.rank_count <= TOLD ? goal.rank_count : 0;
    for (uint32_t rank = 0; rank < goal.rank_count; rank++) {
        out->last_ns = run.finish_ns[rank] > out->last_ns ? run.finish_ns[rank] : out->last_ns;
        if (rank < out->told) {
            out->finish_ns[rank] = run.finish_ns[rank];
        }
    }
    free(run.finish_ns);
    gw_goal_free(&goal);
    return GW_OK;
}

/* ---- theirs -------------------------------------------------------------------------------- */

static void execute(const char *loggopsim, const char *program, const char *const *arguments,
                    struct bench_process *out) {
    char path[4096];
    const char *vector[8] = {path};
    (void)snprintf(path, sizeof path, "%s/%s", loggopsim, program);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        vector[i + 1] = arguments[i];
    }
    bench_execute(vector, output_path, out);
}

/* From lines that say "Events: N", "Maximum finishing time at host H: N" and "Host H: N". */
static void read_answer(struct answer *out) {
    char line[1024];
    *out = (struct answer){0};
    FILE *stream = fopen(output_path, "r");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        const char *events = strstr(line, "Events: ");
        const char *last = strstr(line, "Maximum finishing time at host ");
        const char *colon = strchr(line, ':');
        if (events != NULL) {
            out->events = strtoull(events + strlen("Events: "), NULL, 10);
        } else if (last != NULL && colon != NULL) {
            out->last_ns = strtoull(colon + 1, NULL, 10);
        } else if (strncmp(line, "Host ", strlen("Host ")) == 0 && colon != NULL &&
                   out->told < TOLD) {
            uint64_t finish_ns = strtoull(colon + 1, NULL, 10);
            out->last_ns = finish_ns > out->last_ns ? finish_ns : out->last_ns;
            out->finish_ns[out->told++] = finish_ns;
        }
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
}

static bool same(const struct answer *a, const struct answer *b) {
    return a->events == b->events && a->last_ns == b->last_ns && a->told == b->told &&
           memcmp(a->finish_ns, b->finish_ns, sizeof a->finish_ns) == 0;
}

/* ---- repeats ------------------------------------------------------------------------------- */

static void open_samples(struct samples *samples, size_t repeats) {
    double **each[] = {&samples->read_s,  &samples->run_s,  &samples->peak_bytes,
                       &samples->speedup, &samples->memory, &samples->whole};
    _Static_assert(sizeof each / sizeof *each == SAMPLES, "every sample is opened");
    double *numbers = calloc(SAMPLES * repeats, sizeof *numbers);
    if (numbers == NULL) {
        bench_give_up("measuring", "out of memory");
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        *each[i] = numbers + i * repeats;
    }
}

static void measure_repeat(const char *loggopsim, struct row *row, size_t i) {
    struct samples *samples = &row->samples;
    struct bench_process ours, converts, simulates;
    row->ours = (struct answer){0};
    bench_work_apart(read_and_run, NULL, &row->ours, sizeof row->ours, 0, &ours);
    samples->read_s[i] = row->ours.read_s;
    samples->run_s[i] = row->ours.run_s;
    samples->peak_bytes[i] = ours.peak_bytes;
    if (loggopsim == NULL) {
        return;
    }
    execute(loggopsim, "txt2bin", (const char *const[]){"-i", text_path, "-o", binary_path, NULL},
            &converts);
    execute(loggopsim, "LogGOPSim", (const char *const[]){"-f", binary_path, NULL}, &simulates);
    samples->speedup[i] = simulates.wall_s / row->ours.run_s;
    samples->memory[i] = ours.peak_bytes / simulates.peak_bytes;
    samples->whole[i] = ours.wall_s / (converts.wall_s + simulates.wall_s);
    read_answer(&row->theirs);
}

/* ---- tables -------------------------------------------------------------------------------- */

static void print_ours(const struct pattern *pattern, const struct row *row, size_t repeats) {
    double events = (double)row->ours.events;
    double run_s = bench_median(row->samples.run_s, repeats);
    double peak_bytes = bench_median(row->samples.peak_bytes, repeats);
    printf("| %s | %u | %s | %s | %s | %.1f | %s | %.0f |\n", pattern->name, row->ranks,
           GW_NUMBER(events), GW_SECONDS(bench_median(row->samples.read_s, repeats)),
           GW_SECONDS(run_s), 1e-6 * events / run_s, GW_BYTES(peak_bytes), peak_bytes / events);
}

static void print_ratios(const struct pattern *pattern, const struct row *row, size_t repeats) {
    const struct samples *samples = &row->samples;
    double speedup = bench_median(samples->speedup, repeats);
    printf("| %s | %u | %.1f | %.1f (%.1f to %.1f) | %.2f | %.2f | %s |\n", pattern->name,
           row->ranks, 1e-6 * (double)row->ours.events / bench_median(samples->run_s, repeats),
           speedup, samples->speedup[0], samples->speedup[repeats - 1],
           bench_median(samples->memory, repeats), bench_median(samples->whole, repeats),
           same(&row->ours, &row->theirs) ? "yes" : "NO");
}

static void measure(const struct choice *choice, const struct pattern *pattern, struct row *row) {
    struct gw_error error = {0};
    row->ranks = pattern->ranks;
    if (choice->most_ranks > 0 && choice->most_ranks < pattern->ranks) {
        row->ranks = (uint32_t)choice->most_ranks;
    }
    while (pattern->power_of_two && (row->ranks & (row->ranks - 1)) != 0) {
        row->ranks &= row->ranks - 1;
    }
    open_samples(&row->samples, choice->repeats);
    if (write_pattern(pattern, row->ranks, &error) != GW_OK) {
        bench_give_up("writing a schedule", error.message);
    }
    for (size_t i = 0; i < choice->repeats; i++) {
        measure_repeat(choice->loggopsim, row, i);
    }
}

/* ---- the program --------------------------------------------------------------------------- */

/* Keeps this process, and those that it starts, on the last of the cores that it may use. */
static void keep_to_one_core(void) {
    cpu_set_t allowed;
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        bench_give_up("cores", strerror(errno));
    }
    CPU_ZERO(&one);
    for (size_t core = CPU_SETSIZE; core > 0 && CPU_COUNT(&one) == 0; core--) {
        if (CPU_ISSET(core - 1, &allowed)) {
            CPU_SET(core - 1, &one);
        }
    }
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        bench_give_up("cores", strerror(errno));
    }
}

static void show_schedules(const struct choice *choice) {
    struct row rows[PATTERNS] = {0};
    const char *parent = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/engine-XXXXXX",
                          parent == NULL || parent[0] == '\0' ? "/tmp" : parent);
    if (length >= (int)sizeof folder || mkdtemp(folder) == NULL) {
        bench_give_up("making a temporary folder", strerror(errno));
    }
    (void)snprintf(text_path, sizeof text_path, "%s/schedule.goal", folder);
    (void)snprintf(binary_path, sizeof binary_path, "%s/schedule.bin", folder);
    (void)snprintf(output_path, sizeof output_path, "%s/output.txt", folder);
    (void)atexit(remove_folder);
    for (size_t p = 0; p < PATTERNS; p++) {
        measure(choice, &patterns[p], &rows[p]);
    }
    printf("Medians of %zu repeats on one core. Memory is the largest resident size of a process "
           "that reads the text and runs it.",
           choice->repeats);
    if (choice->loggopsim != NULL) {
        printf(" Ratios to LogGOPSim are medians of those of single repeats; the whole is reading "
               "and running over txt2bin and LogGOPSim. Equal: the number of events and the last "
               "finish time (of up to %d ranks, each).\n\n"
               "| schedule | ranks | M events/s | speed over LogGOPSim's | memory | whole | equal "
               "|\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
               TOLD);
    } else {
        printf("\n\n| schedule | ranks | events | read | run | million events/s | memory | "
               "bytes/event |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    }
    for (size_t p = 0; p < PATTERNS; p++) {
        (choice->loggopsim != NULL ? print_ratios : print_ours)(&patterns[p], &rows[p],
                                                                choice->repeats);
        free(rows[p].samples.read_s);
    }
}

int main(int argc, char **argv) {
    struct choice choice = {.repeats = 5};
    const struct bench_option options[] = {
        {"repeats", &choice.repeats, 1, 1000, .expected = "1 to 1000 repeats"},
        {"loggopsim", .text = &choice.loggopsim},
        {"ranks", &choice.most_ranks, 2, 1 << 24, .expected = "2 to 16777216 ranks"},
        {0}};
    int first = bench_options(argc, argv, options, usage);
    char program[4096];
    (void)snprintf(program, sizeof program, "%s/LogGOPSim",
                   choice.loggopsim == NULL ? "" : choice.loggopsim);
    if (choice.loggopsim != NULL && !gw_file_exists(program)) {
        bench_refuse("a folder that holds txt2bin and LogGOPSim", choice.loggopsim);
    }
    if (first < argc && (first + 1 < argc || strcmp(argv[first], "goal") != 0)) {
        bench_refuse("goal", argv[argc - 1]);
    }
    keep_to_one_core();
    show_schedules(&choice);
    return GW_OK;
}
