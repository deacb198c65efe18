#include <math.h>
#include <stdio.h>

#include "engine.h"
#include "pipelines.h"
#include "sim/sim.h"

static const char *const algorithms[] = {"p-sgd", "omgs", "dense"};

static const struct way {
    const char *name;
    bool every_worker;
    double sigma; /* of the noise on all times */
} ways[] = {{"equal workers, collapsed", false, 0},
            {"equal workers, each simulated", true, 0},
            {"compute and network noise", false, 0.1}};

struct question {
    const char *algorithm;
    const struct way *way;
    size_t workers;
};

static enum gw_status simulate(const struct question *question,
                               const struct bench_pipeline *pipeline, struct gw_error *error) {
    double sigma = question->way->sigma;
    struct gw_noise noise = {.kind = sigma > 0 ? GW_NOISE_LOGNORMAL : GW_NOISE_NONE,
                             .sigma = sigma};
    struct gw_simulation simulation = {.workers = question->workers,
                                       .compute_noise = noise,
                                       .network_noise = noise,
                                       .seed = 1,
                                       .every_worker = question->way->every_worker,
                                       .threads = 1};
    struct gw_simulator *simulator = NULL;
    struct gw_measure measure;
    GW_TRY(gw_simulator_open(&simulator, &pipeline->schedule, &pipeline->cluster, &simulation, NULL,
                             error));
    enum gw_status status = gw_simulator_run(simulator, 1, NULL, &measure, error);
    gw_simulator_close(simulator);
    return status;
}

/* The seconds that opening and running the simulation take. */
static enum gw_status answer(const void *context, void *result, struct gw_error *error) {
    const struct question *question = context;
    struct bench_pipeline pipeline;
    double *seconds = result;
    enum gw_status status =
        bench_pipeline_open(&pipeline, question->algorithm, question->workers, error);
    if (status == GW_OK) {
        double start_s = gw_clock_now_s();
        status = simulate(question, &pipeline, error);
        *seconds = gw_clock_now_s() - start_s;
    }
    bench_pipeline_close(&pipeline);
    return status;
}

/* The median time; *peak_bytes: the largest memory. INFINITY: a repeat was stopped. */
static double measure(const struct bench_engine_choice *choice, const struct question *question,
                      double *peak_bytes) {
    enum { MOST = 1000 };
    double times_s[MOST];
    *peak_bytes = 0;
    for (size_t i = 0; i < choice->repeats; i++) {
        struct bench_process process;
        bench_work_apart(answer, question, &times_s[i], sizeof times_s[i], choice->limit_s,
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

static void measure_row(const struct bench_engine_choice *choice, struct question *question) {
    double time_s = 0;
    double before_s = 0;
    double peak_bytes = 0;
    char text[GW_UNITS_SIZE];
    printf("| %s | %s |", question->algorithm, question->way->name);
    for (size_t i = 0; i < SIZES; i++) {
        if ((choice->most > 0 && sizes[i] > choice->most) || isinf(time_s)) {
            printf(" |");
            continue;
        }
        question->workers = sizes[i];
        before_s = time_s;
        time_s = measure(choice, question, &peak_bytes);
        if (isinf(time_s)) {
            printf(" > %u s |", choice->limit_s);
        } else {
            printf(" %s |", gw_format_seconds(time_s, text));
        }
        (void)fflush(stdout);
    }
    printf(" %s |", gw_format_bytes(peak_bytes, text));
    if (before_s > 0 && isfinite(time_s)) {
        printf(" P^%.2f |\n", log(time_s / before_s) / log(4));
    } else {
        printf(" |\n");
    }
}

void bench_engine_curves(const struct bench_engine_choice *choice) {
    printf("### Own schedules by cost curves\n\nOne iteration of ResNet-50 on one core, with "
           "opening the simulation; medians of %zu. Target: 1,048,576 workers in 10 s and 4 GiB. "
           "Memory (the largest resident size) and growth are those of the last number of "
           "workers.\n\n| algorithm | workers |",
           choice->repeats);
    for (size_t i = 0; i < SIZES; i++) {
        char text[GW_UNITS_SIZE];
        printf(" %s |", gw_format_count((double)sizes[i], text));
    }
    printf(" memory | growth |\n| --- | --- |");
    for (size_t i = 0; i < SIZES + 2; i++) {
        printf(" ---: |");
    }
    printf("\n");
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            struct question question = {.algorithm = algorithms[a], .way = &ways[w]};
            measure_row(choice, &question);
        }
    }
}
