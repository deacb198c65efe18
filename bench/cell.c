#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "planning.h"
#include "process.h"

/* A network is planned again and again until it has taken that long, for the median to settle. */
static const double enough_s = 5e-3;
enum { most_repetitions = 25 };

struct cell_question {
    const struct bench_cell *cell;
    size_t network;
};

struct cell_outcome {
    double cpu_s;
    double gap; /* between the plan and the bound of all plans, as a share of its time */
};

/* CPU time of the thread, the only one: under a limit, the clock of the process moves by whole
 * ticks. */
static double cpu_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Choices of mixed plans, first those that planning with few of them has. */
static const struct way {
    double kept; /* bytes that travel / 8 bytes an element */
    double lost; /* share of the energy */
    struct gw_curve compress;
    double per_byte_s;
} ways[BENCH_MOST_CHOICES] = {
    {.kept = 0.5, .per_byte_s = 1.87e-8},                           /* dense */
    {0.25, 1e-6, {.per_unit_s = 4e-11}, 1.87e-8},                   /* bf16 */
    {0.01, 0.3, {.per_nlog2n_s = 2.19e-10}, 2.72e-7},               /* topk:0.01 */
    {0.125, 1e-4, {.per_unit_s = 1e-10}, 1.9e-8},                   /* int8 */
    {1.0 / 64, 0.35, {.per_unit_s = 2e-10}, 1.9e-8},                /* onebit */
    {0.005, 0.2, {.fixed_s = 1e-4, .per_unit_s = 6e-10}, 1.87e-8},  /* powersgd:4 */
    {0.001, 0.6, {.per_nlog2n_s = 2.19e-10}, 2.72e-7},              /* topk:0.001 */
    {0.05, 0.12, {.per_nlog2n_s = 2.19e-10}, 2.72e-7},              /* topk:0.05 */
    {0.001, 0.65, {.fixed_s = 2e-5, .per_unit_s = 3e-10}, 2.72e-7}, /* gaussiank:0.001 */
    {0.002, 0.55, {.fixed_s = 2e-5, .per_unit_s = 4e-10}, 2.72e-7}, /* dgc:0.002 */
};

/* Loses of each tensor the way's share, a little more of small ones. */
static void lose_energy(const struct gw_model *model, size_t count, double *lost) {
    double elements = (double)gw_model_elements(model);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < model->tensor_count; i++) {
            double n = (double)model->tensors[i].elements;
            lost[k * model->tensor_count + i] =
                n / elements * pow(ways[k].lost, 1 - 1 / (1 + log2(n + 1)));
        }
    }
}

static enum gw_status plan_mixed(const struct bench_cell *cell, const struct gw_costs *costs,
                                 double *gap, struct gw_error *error) {
    struct gw_costs each[BENCH_MOST_CHOICES];
    struct gw_optimum optimum;
    double *lost = calloc(cell->choices * cell->tensors, sizeof *lost);
    if (lost == NULL) {
        return gw_fail_memory(error, "planning");
    }
    for (size_t k = 0; k < cell->choices; k++) {
        each[k] = *costs;
        each[k].way.compressor = k == 0 ? &gw_compressor_none : &gw_compressor_topk;
        each[k].way.density = ways[k].kept;
        each[k].compress = ways[k].compress;
        each[k].exchange.per_unit_s = ways[k].per_byte_s;
    }
    lose_energy(costs->model, cell->choices, lost);
    const struct gw_mix mix = {each, cell->choices, lost, cell->most_lost};
    enum gw_status status = gw_planner_optimum(&mix, &optimum, error);
    free(lost);
    GW_TRY(status);
    *gap = 1 - optimum.lower_bound_s / optimum.iteration_s;
    gw_optimum_free(&optimum);
    return GW_OK;
}

static enum gw_status plan_whole(const struct bench_cell *cell, const struct gw_costs *costs,
                                 double *gap, struct gw_error *error) {
    struct gw_plan plan;
    if (cell->choices > 1) {
        return plan_mixed(cell, costs, gap, error);
    }
    GW_TRY(gw_planner_plan(costs, cell->policy, &plan, error));
    *gap = 1 - plan.lower_bound_s / plan.iteration_s;
    gw_plan_free(&plan);
    return GW_OK;
}

static enum gw_status mark_groups(const struct bench_cell *cell, const struct gw_costs *costs,
                                  struct gw_error *error) {
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    bool *ends = calloc(cell->tensors, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "planning");
    }
    enum gw_status status = gw_policy_parse(cell->policy, &policy, &argument, error);
    if (status == GW_OK) {
        policy->mark(costs, argument, ends);
    }
    free(ends);
    return status;
}

static enum gw_status repeat(const struct bench_cell *cell, const struct gw_costs *costs,
                             struct cell_outcome *out, struct gw_error *error) {
    double times_s[most_repetitions];
    double spent_s = 0;
    size_t count = 0;
    while (count < most_repetitions && spent_s < enough_s) {
        double start_s = cpu_now_s();
        GW_TRY(cell->whole ? plan_whole(cell, costs, &out->gap, error)
                           : mark_groups(cell, costs, error));
        times_s[count] = cpu_now_s() - start_s;
        spent_s += times_s[count++];
    }
    out->cpu_s = bench_median(times_s, count);
    return GW_OK;
}

static enum gw_status make_network(const struct cell_question *question, struct gw_model *model,
                                   struct gw_error *error) {
    const struct bench_cell *cell = question->cell;
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, 1, question->network, error));
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

/* The costs of the cluster that ships: its compressor, its bytes; the startup is the cell's. */
static enum gw_status plan_network(const void *context, void *result, struct gw_error *error) {
    const struct cell_question *question = context;
    const struct bench_cell *cell = question->cell;
    struct cell_outcome *out = result;
    *out = (struct cell_outcome){0};
    struct gw_model model = {.name = "network",
                             .bytes_per_element = 4,
                             .tensor_count = cell->tensors,
                             .tensors = calloc(cell->tensors, sizeof *model.tensors)};
    struct gw_curve compress = {.per_nlog2n_s = 2.19e-10};
    struct gw_curve exchange = {.fixed_s = cell->startup_s,
                                .per_unit_s = cell->sparse ? 2.72e-7 : 1.87e-8};
    struct gw_costs costs = {.model = &model,
                             .workers = 16,
                             .way.compressor =
                                 cell->sparse ? &gw_compressor_topk : &gw_compressor_none,
                             .way.density = 0.001,
                             .compress = compress,
                             .exchange = exchange};
    if (model.tensors == NULL) {
        return gw_fail_memory(error, "making a network");
    }
    enum gw_status status = make_network(question, &model, error);
    status = status == GW_OK ? repeat(cell, &costs, out, error) : status;
    free(model.tensors);
    return status;
}

void bench_measure(const struct bench_cell *cell, const struct bench_choice *choice,
                   struct bench_planning_times *out) {
    enum { MAX_NETWORKS = 1000 };
    double times_s[MAX_NETWORKS];
    *out = (struct bench_planning_times){INFINITY, INFINITY, 0, 0, 0};
    for (size_t i = 0; i < choice->networks; i++) {
        const struct cell_question question = {cell, i};
        struct cell_outcome outcome;
        struct bench_process process;
        bench_work_apart(plan_network, &question, &outcome, sizeof outcome, choice->limit_s,
                         &process);
        out->peak_bytes = fmax(out->peak_bytes, process.peak_bytes);
        if (!process.within) {
            return;
        }
        times_s[i] = outcome.cpu_s;
        out->proven += outcome.gap == 0;
        out->gap = fmax(out->gap, outcome.gap);
    }
    out->median_s = bench_median(times_s, choice->networks);
    out->worst_s = times_s[choice->networks - 1];
}
