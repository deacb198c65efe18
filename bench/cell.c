#include "cell.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A network is planned again and again until it has taken that long, for the median to settle. */
static const double enough_cpu_s = 5e-3;
enum { most_repetitions = 25 };

struct outcome {
    double cpu_s, wall_s;
    bool proven;
};

/* Of the thread, the only one: under a limit, the clock of the process moves by whole ticks. */
static double cpu_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- in the child -------------------------------------------------------------------------- */

static enum gw_status plan_whole(const struct bench_cell *cell, const struct gw_planning *planning,
                                 bool *proven, struct gw_error *error) {
    struct gw_plan plan;
    GW_TRY(gw_planner_plan(planning, cell->policy, &plan, error));
    *proven = plan.lower_bound_s == plan.iteration_s;
    gw_plan_free(&plan);
    return GW_OK;
}

static enum gw_status mark(const struct bench_cell *cell, const struct gw_planning *planning,
                           struct gw_error *error) {
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    bool *ends = calloc(cell->tensors, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "planning");
    }
    enum gw_status status = gw_policy_parse(cell->policy, &policy, &argument, error);
    status = status == GW_OK ? policy->mark(planning, argument, ends, error) : status;
    free(ends);
    return status;
}

static enum gw_status repeat(const struct bench_cell *cell, const struct gw_planning *planning,
                             struct outcome *out, struct gw_error *error) {
    double cpu_s[most_repetitions];
    double wall_s[most_repetitions];
    double spent_s = 0;
    size_t count = 0;
    while (count < most_repetitions && spent_s < enough_cpu_s) {
        double cpu_start_s = cpu_now_s();
        double wall_start_s = gw_clock_now_s();
        GW_TRY(cell->whole ? plan_whole(cell, planning, &out->proven, error)
                           : mark(cell, planning, error));
        wall_s[count] = gw_clock_now_s() - wall_start_s;
        cpu_s[count] = cpu_now_s() - cpu_start_s;
        spent_s += cpu_s[count++];
    }
    struct gw_summary cpu;
    struct gw_summary wall;
    gw_summarise(cpu_s, count, &cpu);
    gw_summarise(wall_s, count, &wall);
    out->cpu_s = cpu.median;
    out->wall_s = wall.median;
    return GW_OK;
}

static enum gw_status make_network(const struct bench_cell *cell, size_t network,
                                   struct gw_model *model, struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, 1, network, error));
    struct bench_draft draft = {.random = random,
                                .startup_s = cell->startup_s,
                                .count = cell->tensors,
                                .tensors = model->tensors};
    enum gw_status status = bench_fill(cell->family, &draft, error);
    gw_random_close(random);
    for (size_t i = 0; i < cell->tensors; i++) {
        model->tensors[i].backward_s *= cell->compute_scale;
    }
    model->forward_s = gw_model_backward_s(model) / 2;
    return status;
}

static void limit_cpu(unsigned seconds) {
    rlim_t limit = (rlim_t)ceil(cpu_now_s()) + seconds;
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){.rlim_cur = limit, .rlim_max = limit});
}

/* The costs of the cluster that ships: its compressor, its bytes; the startup is the cell's. */
static enum gw_status plan_network(const struct bench_cell *cell, size_t network, unsigned limit_s,
                                   struct outcome *out, struct gw_error *error) {
    struct gw_tensor *tensors = calloc(cell->tensors, sizeof *tensors);
    if (tensors == NULL) {
        return gw_fail_memory(error, "making a network");
    }
    struct gw_model model = {.name = "network",
                             .bytes_per_element = 4,
                             .tensor_count = cell->tensors,
                             .tensors = tensors};
    struct gw_curve compress = {.per_nlog2n_s = 2.19e-10};
    struct gw_curve exchange = {.fixed_s = cell->startup_s,
                                .per_unit_s = cell->sparse ? 2.72e-7 : 1.87e-8};
    struct gw_planning planning = {.model = &model,
                                   .workers = 16,
                                   .compressor = cell->sparse ? "topk" : "none",
                                   .density = 0.001,
                                   .compress = cell->sparse ? &compress : NULL,
                                   .exchange = &exchange};
    enum gw_status status = make_network(cell, network, &model, error);
    limit_cpu(limit_s);
    status = status == GW_OK ? repeat(cell, &planning, out, error) : status;
    free(tensors);
    return status;
}

static _Noreturn void run_child(const struct bench_cell *cell, size_t network, unsigned limit_s,
                                int pipe_end) {
    struct outcome outcome = {0};
    struct gw_error error = {0};
    enum gw_status status = plan_network(cell, network, limit_s, &outcome, &error);
    if (status != GW_OK) {
        (void)fprintf(stderr, "planner: %s\n", error.message);
    } else if (write(pipe_end, &outcome, sizeof outcome) != (ssize_t)sizeof outcome) {
        status = GW_FAILED;
    }
    _exit((int)status);
}

/* ---- in the parent ------------------------------------------------------------------------- */

static _Noreturn void give_up(const struct bench_cell *cell, const char *what) {
    (void)fprintf(stderr, "planner: %s on %s, %zu tensors: %s\n", cell->policy, cell->family->name,
                  cell->tensors, what);
    exit(GW_FAILED);
}

/* Whether the network was planned within the limit. */
static bool measure_network(const struct bench_cell *cell, size_t network, unsigned limit_s,
                            struct outcome *outcome, double *peak_bytes) {
    int ends[2];
    struct rusage usage;
    int status = 0;
    (void)fflush(stdout);
    if (pipe(ends) != 0) {
        give_up(cell, strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        run_child(cell, network, limit_s, ends[1]);
    }
    (void)close(ends[1]);
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        give_up(cell, strerror(errno));
    }
    ssize_t received = read(ends[0], outcome, sizeof *outcome);
    (void)close(ends[0]);
    *peak_bytes = fmax(*peak_bytes, 1024 * (double)usage.ru_maxrss);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
        usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1 >= (time_t)limit_s) {
        return false;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != GW_OK || received != sizeof *outcome) {
        give_up(cell, "the process that planned it failed");
    }
    return true;
}

void bench_measure(const struct bench_cell *cell, const struct bench_effort *effort,
                   struct bench_result *out) {
    double *cpu_s = calloc(effort->networks, sizeof *cpu_s);
    double *wall_s = calloc(effort->networks, sizeof *wall_s);
    *out = (struct bench_result){INFINITY, INFINITY, INFINITY, INFINITY, 0, 0};
    if (cpu_s == NULL || wall_s == NULL) {
        give_up(cell, "out of memory");
    }
    size_t count = 0;
    struct outcome outcome;
    while (count < effort->networks &&
           measure_network(cell, count, effort->limit_s, &outcome, &out->peak_bytes)) {
        cpu_s[count] = outcome.cpu_s;
        wall_s[count++] = outcome.wall_s;
        out->proven += outcome.proven;
    }
    if (count == effort->networks) {
        struct gw_summary summary;
        gw_summarise(cpu_s, count, &summary);
        out->median_cpu_s = summary.median;
        out->worst_cpu_s = cpu_s[count - 1];
        gw_summarise(wall_s, count, &summary);
        out->median_wall_s = summary.median;
        out->worst_wall_s = wall_s[count - 1];
    }
    free(cpu_s);
    free(wall_s);
}

void bench_print_csv_head(void) {
    printf("policy,measured,exchange,family,startup_s,compute_scale,tensors,networks,proven,"
           "median_cpu_s,worst_cpu_s,median_wall_s,worst_wall_s,peak_bytes\n");
}

void bench_print_csv(const struct bench_cell *cell, const struct bench_effort *effort,
                     const struct bench_result *result) {
    printf("%s,%s,%s,%s,%g,%g,%zu,%zu,%zu,%.4g,%.4g,%.4g,%.4g,%.0f\n", cell->policy,
           cell->whole ? "plan" : "marks", cell->sparse ? "sparse" : "dense", cell->family->name,
           cell->startup_s, cell->compute_scale, cell->tensors, effort->networks, result->proven,
           result->median_cpu_s, result->worst_cpu_s, result->median_wall_s, result->worst_wall_s,
           result->peak_bytes);
    (void)fflush(stdout);
}
