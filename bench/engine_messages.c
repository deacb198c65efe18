#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/collectives.h"
#include "engine.h"
#include "pipelines.h"
#include "sim/messages.h"

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
enum { MOST_REPEATS = 25 };

struct question {
    const struct row *row;
    size_t workers;
    bool every_worker;
};

struct answer {
    size_t lanes;
    uint64_t events; /* of one iteration */
    double open_s, run_s;
    double iteration_s; /* the prediction */
};

static enum gw_status repeat(void *state, struct answer *out, struct gw_error *error) {
    double times_s[MOST_REPEATS];
    double spent_s = 0;
    size_t count = 0;
    while (count < MOST_REPEATS && spent_s < enough_s) {
        struct gw_measure measure;
        double start_s = gw_clock_now_s();
        GW_TRY(gw_runner_messages.iterate(state, 0, 1, NULL, 0, &measure, error));
        times_s[count] = gw_clock_now_s() - start_s;
        spent_s += times_s[count++];
        out->iteration_s = measure.iteration_s;
    }
    out->events = gw_messages_events(state) / count;
    out->run_s = bench_median(times_s, count);
    return GW_OK;
}

static enum gw_status simulate(const struct question *question,
                               const struct bench_pipeline *pipeline, struct answer *out,
                               struct gw_error *error) {
    struct gw_collective_choice choice = {question->row->operation, question->row->collective};
    struct gw_simulation simulation = {.workers = question->workers,
                                       .level = GW_LEVEL_MESSAGES,
                                       .choice_count = 1,
                                       .choices = &choice,
                                       .every_worker = question->every_worker};
    struct gw_simulator *simulator = NULL;
    struct gw_arena arena = {0};
    void *state = NULL;
    double start_s = gw_clock_now_s();
    GW_TRY(gw_simulator_open(&simulator, &pipeline->schedule, &pipeline->cluster, &simulation, NULL,
                             error));
    out->lanes = simulator->lane_count;
    enum gw_status status = gw_runner_messages.open(&state, simulator, &arena, error);
    out->open_s = gw_clock_now_s() - start_s;
    if (status == GW_OK) {
        status = repeat(state, out, error);
    }
    gw_arena_free(&arena);
    gw_simulator_close(simulator);
    return status;
}

static enum gw_status answer(const void *context, void *result, struct gw_error *error) {
    const struct question *question = context;
    struct bench_pipeline pipeline;
    *(struct answer *)result = (struct answer){0};
    enum gw_status status =
        bench_pipeline_open(&pipeline, question->row->algorithm, question->workers, error);
    status = status == GW_OK ? simulate(question, &pipeline, result, error) : status;
    bench_pipeline_close(&pipeline);
    return status;
}

/* ---- the table ----------------------------------------------------------------------------- */

static void print_every(const struct answer *all, const struct bench_process *process,
                        double before_s) {
    char texts[3][GW_UNITS_SIZE];
    double events = (double)all->events;
    printf(" %s | %s | %.1f | %s | %.3g |", gw_format_count(events, texts[0]),
           gw_format_seconds(all->run_s, texts[1]), 1e-6 * events / all->run_s,
           gw_format_bytes(process->peak_bytes, texts[2]), process->peak_bytes / events);
    if (before_s > 0) {
        printf(" P^%.2f |", log(all->run_s / before_s) / log(4));
    } else {
        printf(" |");
    }
}

/* `all` NULL: it was not run, so there is nothing to compare with. */
static void print_collapsed(const struct answer *one, const struct answer *all) {
    char texts[2][GW_UNITS_SIZE];
    if (one->lanes > 1) {
        printf(" | | not symmetric |\n");
        return;
    }
    printf(" %s | %s | %s |\n", gw_format_count((double)one->events, texts[0]),
           gw_format_seconds(one->open_s + one->run_s, texts[1]),
           all == NULL                            ? ""
           : one->iteration_s == all->iteration_s ? "yes"
                                                  : "NO");
}

/* Once a number of workers took too long, larger ones are only tried collapsed. */
static void measure_row(const struct bench_engine_choice *choice, const struct row *row) {
    bool within = true;
    double before_s = 0;
    size_t most = choice->most > 0 ? choice->most : 4096;
    for (size_t workers = 16; workers <= most; workers *= 4) {
        struct answer all;
        struct answer one = {0};
        struct bench_process process;
        struct question question = {.row = row, .workers = workers, .every_worker = true};
        printf("| %s | %s | %zu |", row->algorithm, row->collective, workers);
        if (within) {
            bench_work_apart(answer, &question, &all, sizeof all, choice->limit_s, &process);
            within = process.within;
        }
        if (within) {
            print_every(&all, &process, before_s);
            before_s = all.run_s;
        } else {
            printf(" | > %u s | | | | |", choice->limit_s);
        }
        question.every_worker = false;
        bench_work_apart(answer, &question, &one, sizeof one, choice->limit_s, &process);
        if (process.within) {
            print_collapsed(&one, within ? &all : NULL);
        } else {
            printf(" | > %u s | |\n", choice->limit_s);
        }
        (void)fflush(stdout);
    }
}

void bench_engine_messages(const struct bench_engine_choice *choice) {
    printf("### Own schedules as messages\n\nOne iteration of ResNet-50 on one core; every worker "
           "simulated, and collapsed: one for all, with opening the simulation. Target: 20 million "
           "events/s; p-sgd with 1,024 workers in 10 s. Memory is the largest resident size. "
           "Growth is from the row above.\n\n"
           "| algorithm | collective | workers | events | time | million events/s | memory | "
           "bytes/event | growth | collapsed: events | time | equal bits |\n"
           "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (choice->collective == NULL || strcmp(choice->collective, rows[i].collective) == 0) {
            measure_row(choice, &rows[i]);
        }
    }
}
