/* gradweave's own schedules for ResNet-50: as messages, and by cost curves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "sim/simulator.h"
#include "study/study.h"

/* ---- pipelines ----------------------------------------------------------------------------- */

/* On a cluster that ships, whose nodes have one worker each; its network is 10 Gb/s and 5 us. */
struct bench_pipeline {
    struct gw_scenario scenario;
    struct gw_pipeline own;
};

/* Nobody closes it: each is of a process that ends with its answer. */
static enum gw_status open_pipeline(struct bench_pipeline *out, const char *name, size_t workers,
                                    struct gw_error *error) {
    const struct gw_loggp links = {
        .latency_s = 5e-6, .overhead_s = 1e-6, .gap_s = 1e-6, .gap_s_per_byte = 0.8e-9};
    const struct gw_network network = {.within = links, .between = links, .oversubscription = 1};
    const struct gw_algorithm *algorithm = NULL;
    GW_TRY(gw_algorithm_find(name, &algorithm, error));
    const struct gw_scenario_options asked = {
        .model = "resnet50", .cluster = "p102-1gbe-16", .workers = workers};
    GW_TRY(gw_scenario_open(&asked, &out->scenario, error));
    GW_TRY(gw_pipeline_open(&out->scenario, algorithm, NULL, &out->own, error));
    return gw_cluster_set_network(&out->scenario.inputs->cluster, network, error);
}

/* ---- as messages --------------------------------------------------------------------------- */

static const struct row {
    const char *algorithm, *operation, *collective;
} rows[] = {
    {"p-sgd", "allreduce", "ring"},
    {"p-sgd", "allreduce", "halving-doubling"},
    {"p-sgd", "allreduce", "recursive-doubling"},
    {"p-sgd", "allreduce", "tree"},
    {"dense", "allreduce", "ring"},
    {"dense", "allreduce", "halving-doubling"},
    {"dense", "allreduce", "recursive-doubling"},
    {"dense", "allreduce", "tree"},
    {"omgs", "allgather", "ring"},
    {"omgs", "allgather", "recursive-doubling"},
    {"omgs", "allgather", "bruck"},
};

/* A run is repeated until so much time is spent, for the median to settle. */
static const double enough_s = 1;
enum { MAX_REPEATS = 25 };

struct message_scenario {
    const struct row *row;
    size_t workers;
    bool every_worker;
};

struct message_answer {
    size_t lanes;
    uint64_t events; /* of one iteration */
    double open_s, run_s;
    double iteration_s; /* the prediction */
};

static enum gw_status repeat(void *state, struct message_answer *out, struct gw_error *error) {
    double times_s[MAX_REPEATS];
    double spent_s = 0;
    size_t count = 0;
    do {
        struct gw_measure measure;
        double start_s = gw_clock_now_s();
        GW_TRY(gw_runner_messages.iterate(state, 0, 1, NULL, 0, &measure, error));
        times_s[count] = gw_clock_now_s() - start_s;
        spent_s += times_s[count++];
        out->iteration_s = measure.iteration_s;
    } while (count < MAX_REPEATS && spent_s < enough_s);
    out->events = gw_messages_events(state) / count;
    out->run_s = bench_median(times_s, count);
    return GW_OK;
}

static enum gw_status simulate_messages(const void *context, void *result, struct gw_error *error) {
    const struct message_scenario *scenario = context;
    struct message_answer *out = result;
    struct bench_pipeline pipeline = {0};
    struct gw_collective_choice choice = {scenario->row->operation, scenario->row->collective};
    struct gw_simulation simulation = {.workers = scenario->workers,
                                       .level = GW_LEVEL_MESSAGES,
                                       .choice_count = 1,
                                       .choices = &choice,
                                       .every_worker = scenario->every_worker};
    struct gw_simulator *simulator = NULL;
    struct gw_arena arena = {0};
    void *state = NULL;
    *out = (struct message_answer){0};
    GW_TRY(open_pipeline(&pipeline, scenario->row->algorithm, scenario->workers, error));
    double start_s = gw_clock_now_s();
    GW_TRY(gw_simulator_open(&simulator, &pipeline.own.schedule, &pipeline.own.costs, &simulation,
                             NULL, error));
    out->lanes = simulator->lane_count;
    GW_TRY(gw_runner_messages.open(&state, simulator, &arena, error));
    out->open_s = gw_clock_now_s() - start_s;
    return repeat(state, out, error);
}

static void print_every(const struct message_answer *all, const struct bench_process *process,
                        double before_s) {
    double events = (double)all->events;
    printf(" %s | %s | %.1f | %s | %.3g |", GW_NUMBER(events), GW_SECONDS(all->run_s),
           1e-6 * events / all->run_s, GW_BYTES(process->peak_bytes), process->peak_bytes / events);
    if (before_s > 0) {
        printf(" P^%.2f |", log(all->run_s / before_s) / log(4));
    } else {
        printf(" |");
    }
}

/* `all` NULL: it was not run, so there is nothing to compare with. */
static void print_collapsed(const struct message_answer *one, const struct message_answer *all) {
    if (one->lanes > 1) {
        printf(" | | not symmetric |\n");
        return;
    }
    printf(" %s | %s | %s |\n", GW_NUMBER(one->events), GW_SECONDS(one->open_s + one->run_s),
           all == NULL                            ? ""
           : one->iteration_s == all->iteration_s ? "yes"
                                                  : "NO");
}

/* Once a number of workers took too long, larger ones are only tried collapsed. */
static void measure_messages(const struct bench_engine_choice *choice, const struct row *row) {
    bool within = true;
    double before_s = 0;
    size_t most = choice->most > 0 ? choice->most : 4096;
    for (size_t workers = 16; workers <= most; workers *= 4) {
        struct message_answer all;
        struct message_answer one = {0};
        struct bench_process process;
        struct message_scenario scenario = {.row = row, .workers = workers, .every_worker = true};
        printf("| %s | %s | %zu |", row->algorithm, row->collective, workers);
        if (within) {
            bench_work_apart(simulate_messages, &scenario, &all, sizeof all, choice->limit_s,
                             &process);
            within = process.within;
        }
        if (within) {
            print_every(&all, &process, before_s);
            before_s = all.run_s;
        } else {
            printf(" | > %zu s | | | | |", choice->limit_s);
        }
        scenario.every_worker = false;
        bench_work_apart(simulate_messages, &scenario, &one, sizeof one, choice->limit_s, &process);
        if (process.within) {
            print_collapsed(&one, within ? &all : NULL);
        } else {
            printf(" | > %zu s | |\n", choice->limit_s);
        }
        (void)fflush(stdout);
    }
}

void bench_engine_messages(const void *chosen) {
    const struct bench_engine_choice *choice = chosen;
    printf("### Own schedules as messages\n\nOne iteration of ResNet-50 on one core; every worker "
           "simulated, and collapsed: one for all, with opening the simulation. Target: 20 million "
           "events/s; p-sgd with 1,024 workers in 10 s. Memory is the largest resident size. "
           "Growth is from the row above.\n\n"
           "| algorithm | collective | workers | events | time | million events/s | memory | "
           "bytes/event | growth | collapsed: events | time | equal bits |\n"
           "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (choice->collective == NULL || strcmp(choice->collective, rows[i].collective) == 0) {
            measure_messages(choice, &rows[i]);
        }
    }
}

/* ---- by cost curves ------------------------------------------------------------------------ */

static const char *const algorithms[] = {"p-sgd", "omgs", "dense"};

static const struct way {
    const char *name;
    bool every_worker;
    double sigma; /* of the noise on all times */
} ways[] = {{"equal workers, collapsed", false, 0},
            {"equal workers, each simulated", true, 0},
            {"compute and network noise", false, 0.1}};

struct curve_scenario {
    const char *algorithm;
    const struct way *way;
    size_t workers;
};

/* The seconds that opening and running the simulation take. */
static enum gw_status simulate_curves(const void *context, void *result, struct gw_error *error) {
    const struct curve_scenario *scenario = context;
    double sigma = scenario->way->sigma;
    struct gw_noise noise = {.kind = sigma > 0 ? GW_NOISE_LOGNORMAL : GW_NOISE_NONE,
                             .sigma = sigma};
    struct gw_simulation simulation = {.workers = scenario->workers,
                                       .compute_noise = noise,
                                       .network_noise = noise,
                                       .seed = 1,
                                       .every_worker = scenario->way->every_worker,
                                       .threads = 1};
    struct bench_pipeline pipeline = {0};
    struct gw_simulator *simulator = NULL;
    struct gw_measure measure;
    double *seconds = result;
    GW_TRY(open_pipeline(&pipeline, scenario->algorithm, scenario->workers, error));
    double start_s = gw_clock_now_s();
    GW_TRY(gw_simulator_open(&simulator, &pipeline.own.schedule, &pipeline.own.costs, &simulation,
                             NULL, error));
    GW_TRY(gw_simulator_run(simulator, 1, NULL, &measure, error));
    gw_simulator_close(simulator);
    *seconds = gw_clock_now_s() - start_s;
    return GW_OK;
}

/* The median time; *peak_bytes: the largest memory. INFINITY: a repeat was stopped. */
static double time_curves(const struct bench_engine_choice *choice,
                          const struct curve_scenario *scenario, double *peak_bytes) {
    enum { MAX_TIMES = 1000 };
    double times_s[MAX_TIMES];
    *peak_bytes = 0;
    for (size_t i = 0; i < choice->repeats; i++) {
        struct bench_process process;
        bench_work_apart(simulate_curves, scenario, &times_s[i], sizeof times_s[i], choice->limit_s,
                         &process);
        if (!process.within) {
            return INFINITY;
        }
        *peak_bytes = fmax(*peak_bytes, process.peak_bytes);
    }
    return bench_median(times_s, choice->repeats);
}

static const size_t sizes[] = {1024, 4096, 16384, 65536, 262144, 1048576};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void measure_curves(const struct bench_engine_choice *choice,
                           struct curve_scenario *scenario) {
    double time_s = 0;
    double before_s = 0;
    double peak_bytes = 0;
    printf("| %s | %s |", scenario->algorithm, scenario->way->name);
    for (size_t i = 0; i < SIZES; i++) {
        if ((choice->most > 0 && sizes[i] > choice->most) || isinf(time_s)) {
            printf(" |");
            continue;
        }
        scenario->workers = sizes[i];
        before_s = time_s;
        time_s = time_curves(choice, scenario, &peak_bytes);
        if (isinf(time_s)) {
            printf(" > %zu s |", choice->limit_s);
        } else {
            printf(" %s |", GW_SECONDS(time_s));
        }
        (void)fflush(stdout);
    }
    printf(" %s |", GW_BYTES(peak_bytes));
    if (before_s > 0 && isfinite(time_s)) {
        printf(" P^%.2f |\n", log(time_s / before_s) / log(4));
    } else {
        printf(" |\n");
    }
}

void bench_engine_curves(const void *chosen) {
    const struct bench_engine_choice *choice = chosen;
    printf("### Own schedules by cost curves\n\nOne iteration of ResNet-50 on one core, with "
           "opening the simulation; medians of %zu. Target: 1,048,576 workers in 10 s and 4 GiB. "
           "Memory (the largest resident size) and growth are those of the last number of "
           "workers.\n\n| algorithm | workers |",
           choice->repeats);
    for (size_t i = 0; i < SIZES; i++) {
        printf(" %s |", GW_NUMBER(sizes[i]));
    }
    printf(" memory | growth |\n| --- | --- |");
    for (size_t i = 0; i < SIZES + 2; i++) {
        printf(" ---: |");
    }
    printf("\n");
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            struct curve_scenario scenario = {.algorithm = algorithms[a], .way = &ways[w]};
            measure_curves(choice, &scenario);
        }
    }
}
