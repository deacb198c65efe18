/* From a scenario to a prediction: a plan, a schedule, a simulation, a result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "methods/kernel_cost.h"
#include "study/counts.h"
#include "study/plans.h"
#include "study/predict.h"
#include "study/scenario.h"

/* ---- devices -------------------------------------------------------------------------------- */

static bool is_processor(const char *device) {
    return strcasecmp(device, "cpu") == 0;
}

/* Compression that was timed on one kind of device, beside computing that was on another one; "":
 * there is nothing to say. */
static void describe_devices(const struct gw_scenario *scenario, char note[GW_RESULT_NOTE_SIZE]) {
    const char *computes = scenario->model->device;
    const char *compresses = gw_cluster_device(scenario->cluster);
    note[0] = '\0';
    if (computes == NULL || compresses == NULL ||
        is_processor(computes) == is_processor(compresses)) {
        return;
    }
    (void)snprintf(note, GW_RESULT_NOTE_SIZE,
                   "compression was timed on %.64s (%.64s), computing on %.64s (%.64s): on one of "
                   "the two the other takes another time",
                   is_processor(compresses) ? "processors" : compresses, scenario->cluster->name,
                   is_processor(computes) ? "processors" : computes, scenario->model->name);
}

void gw_note_devices(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                     struct gw_result *result) {
    char note[GW_RESULT_NOTE_SIZE];
    if (gw_algorithm_compresses(algorithm)) {
        describe_devices(scenario, note);
        gw_result_warn(result, note);
    }
}

/* ---- plan ---------------------------------------------------------------------------------- */

/* Fails if times add up to more than the largest double. */
static enum gw_status check_finite(const struct gw_scenario *scenario, double iteration_s,
                                   struct gw_error *error) {
    return isfinite(iteration_s)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s on %s: expected times that add up to a finite iteration, got %g s",
                         scenario->model->name, scenario->cluster->name, iteration_s);
}

enum gw_status gw_exchange_choose(const char *compressor, const char *name,
                                  const struct gw_exchange_kind **out, struct gw_error *error) {
    if (name == NULL && strcmp(compressor, "none") != 0 && gw_compressor_find(compressor) == NULL) {
        *out = &gw_exchange_allgather; /* one that only the cluster knows */
        return GW_OK;
    }
    const struct gw_algorithm any = {
        .policy = "single", .compressor = &gw_compressor_none, .exchange = &gw_exchange_allreduce};
    const struct gw_choice_changes chosen = {.compressor = compressor, .exchange = name};
    struct gw_algorithm checked;
    GW_TRY(gw_algorithm_change(&any, &chosen, &checked, error));
    *out = checked.exchange;
    return GW_OK;
}

enum gw_status gw_planning_open(const struct gw_scenario *scenario, const char *compressor,
                                const char *exchange, struct gw_planning *out,
                                struct gw_error *error) {
    struct gw_algorithm method = {.name = compressor};
    *out =
        (struct gw_planning){.scenario = scenario, .unlisted = {.name = compressor, .exact = true}};
    GW_TRY(gw_exchange_choose(compressor, exchange, &method.exchange, error));
    if (gw_compressor_choose(compressor, &method.compressor, NULL) != GW_OK) {
        method.compressor = &out->unlisted;
    }
    struct gw_scenario asked = *scenario;
    asked.method = &method;
    return gw_costs_open(&asked, &out->costs, error);
}

void gw_planning_close(struct gw_planning *planning) {
    gw_costs_close(&planning->costs);
    gw_optimum_free(&planning->optimum);
}

enum gw_status gw_planning_find_optimum(struct gw_planning *planning, struct gw_error *error) {
    return gw_planner_optimum(&(struct gw_mix){.costs = &planning->costs, .count = 1},
                              &planning->optimum, error);
}

static enum gw_status note_plan_devices(const struct gw_planning *planning, struct gw_plan *plan,
                                        struct gw_error *error) {
    char note[GW_RESULT_NOTE_SIZE] = "";
    if (gw_costs_compress(&planning->costs)) {
        describe_devices(planning->scenario, note);
    }
    return note[0] == '\0' ? GW_OK : gw_plan_note(plan, note, error);
}

enum gw_status gw_planning_plan(const struct gw_planning *planning, const char *policy,
                                struct gw_plan *out, struct gw_error *error) {
    const struct gw_optimum *optimum = planning->optimum.marks == NULL ? NULL : &planning->optimum;
    GW_TRY(gw_planner_plan_beside(&planning->costs, policy, optimum, out, error));
    enum gw_status status = check_finite(planning->scenario, out->iteration_s, error);
    for (size_t i = 0; i < GW_MAX_LEGS && status == GW_OK; i++) {
        const char *derivation = planning->costs.legs[i].derivation;
        status = derivation[0] == '\0' ? GW_OK : gw_plan_note(out, derivation, error);
    }
    status = status == GW_OK ? note_plan_devices(planning, out, error) : status;
    if (status != GW_OK) {
        gw_plan_free(out);
    }
    return status;
}

/* ---- pipeline ------------------------------------------------------------------------------ */

enum gw_status gw_pipeline_open_costs(bool messages, struct gw_pipeline *pipeline,
                                      struct gw_error *error) {
    size_t count = pipeline->schedule.way_count;
    pipeline->scenario.messages = messages;
    if (pipeline->costs != NULL) {
        return GW_OK;
    }
    pipeline->costs = calloc(count > 0 ? count : 1, sizeof *pipeline->costs);
    if (pipeline->costs == NULL) {
        return gw_fail_memory(error, "finding costs");
    }
    if (count == 0) { /* costs to plan by */
        return gw_costs_open(&pipeline->scenario, pipeline->costs, error);
    }
    for (size_t i = 0; i < count; i++) {
        const struct gw_way *way = &pipeline->schedule.ways[i];
        const struct gw_algorithm method = {.compressor = way->compressor,
                                            .exchange = way->exchange};
        struct gw_scenario asked = pipeline->scenario;
        asked.method = &method;
        asked.density = way->density;
        asked.sent_density = way->sent_density;
        GW_TRY(gw_costs_open(&asked, &pipeline->costs[i], error));
    }
    return GW_OK;
}

static void close_costs(struct gw_pipeline *pipeline) {
    size_t count = pipeline->costs == NULL            ? 0
                   : pipeline->schedule.way_count > 0 ? pipeline->schedule.way_count
                                                      : 1;
    for (size_t i = 0; i < count; i++) {
        gw_costs_close(&pipeline->costs[i]);
    }
    free(pipeline->costs);
    pipeline->costs = NULL;
}

enum gw_status gw_pipeline_open(const struct gw_scenario *scenario,
                                const struct gw_algorithm *algorithm, const struct gw_plan *given,
                                struct gw_pipeline *out, struct gw_error *error) {
    *out = (struct gw_pipeline){.scenario = *scenario, .plan = given};
    out->scenario.method = algorithm;
    if (algorithm->exchange->server && scenario->workers < 2) {
        return gw_fail(error, GW_BAD_INPUT,
                       "exchange %s: expected at least 2 workers beside the server, got %zu",
                       algorithm->exchange->name, scenario->workers);
    }
    enum gw_status status = GW_OK;
    if (given == NULL) {
        status = gw_pipeline_open_costs(false, out, error);
        if (status == GW_OK) {
            const struct gw_planning planning = {.scenario = scenario, .costs = *out->costs};
            status = gw_planning_plan(&planning, algorithm->policy, &out->own, error);
        }
        out->plan = &out->own;
    }
    if (status == GW_OK) {
        status =
            gw_algorithm_schedule(algorithm, scenario->model, out->plan, &out->schedule, error);
    }
    if (status != GW_OK) {
        gw_plan_free(&out->own);
        close_costs(out);
        return status;
    }
    if (scenario->cluster->overlap != NULL) {
        gw_schedule_add_session(&out->schedule, scenario->cluster->overlap->session_s);
    }
    gw_log(GW_LOG_VERBOSE, "%s: %zu groups by policy %s, %zu operations", algorithm->name,
           out->plan->group_count, out->plan->policy, out->schedule.operation_count);
    return GW_OK;
}

void gw_pipeline_close(struct gw_pipeline *pipeline) {
    close_costs(pipeline);
    gw_schedule_free(&pipeline->schedule);
    gw_plan_free(&pipeline->own);
}

enum gw_status gw_pipeline_time_compression(struct gw_pipeline *pipeline, struct gw_error *error) {
    for (size_t i = 0; i < pipeline->schedule.operation_count; i++) {
        struct gw_operation *operation = &pipeline->schedule.operations[i];
        const struct gw_kernel_cost *cost = NULL;
        if (operation->kind == GW_COMPRESS) {
            GW_TRY(
                gw_cluster_compressor(pipeline->scenario.cluster, operation->method, &cost, error));
            double elements = (double)operation->elements;
            double share = gw_schedule_share(&pipeline->schedule, operation, cost, elements);
            operation->duration_s = gw_kernel_s(cost, elements, share);
        }
    }
    return GW_OK;
}

/* The choice, if it is not the preset's. */
static const char *changed_choice(const char *choice, const char *preset) {
    return strcmp(choice, preset) == 0 ? NULL : choice;
}

void gw_result_name(struct gw_result *result, const struct gw_algorithm *algorithm) {
    const struct gw_algorithm *preset = algorithm;
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        preset = strcmp(row->name, algorithm->name) == 0 ? row : preset;
    }
    result->algorithm = algorithm->name;
    result->policy = changed_choice(algorithm->policy, preset->policy);
    result->compressor = changed_choice(algorithm->compressor->name, preset->compressor->name);
    result->exchange = changed_choice(algorithm->exchange->name, preset->exchange->name);
}

struct gw_result gw_pipeline_result(const struct gw_pipeline *pipeline) {
    struct gw_result result = {
        .model = pipeline->scenario.model->name,
        .workers = pipeline->scenario.workers,
        .micro_batches = pipeline->scenario.model->micro_batches,
        .groups = pipeline->schedule.group_count,
        .density = pipeline->plan->density,
        .bytes_per_worker = gw_schedule_bytes_per_worker(&pipeline->schedule),
    };
    gw_result_name(&result, pipeline->scenario.method);
    if (gw_schedule_has(&pipeline->schedule, gw_compressor_selects)) {
        (void)snprintf(result.counts, sizeof result.counts, "%s",
                       gw_counts_expected(&pipeline->schedule));
    }
    return result;
}

/* ---- prediction ------------------------------------------------------------------------------ */

/* Notes that noise was recorded in too few iterations for the percentiles of the result. */
static void note_noise(const struct gw_noise *noise, size_t iterations, struct gw_result *result) {
    size_t recorded = gw_noise_iterations(noise);
    size_t for_95 = gw_percentile_least(95);
    size_t for_99 = gw_percentile_least(99);
    if (iterations < 2 || recorded == 0 || recorded >= for_99) {
        return;
    }
    char note[GW_RESULT_NOTE_SIZE];
    (void)snprintf(note, sizeof note,
                   "noise was recorded in %s: of these a 95th percentile wants %zu, a 99th %zu",
                   GW_COUNTED(recorded, "iteration"), for_95, for_99);
    gw_result_note(result, note);
}

/* Simulates iterations; fills their means and their spread. */
static enum gw_status simulate_pipeline(const struct gw_pipeline *pipeline,
                                        const struct gw_simulator *simulator, size_t iterations,
                                        struct gw_timeline *trace, struct gw_result *out,
                                        struct gw_error *error) {
    struct gw_arena arena = {0};
    struct gw_measure *measures = gw_arena_zeros(&arena, iterations, sizeof *measures);
    double *iteration_s = gw_arena_zeros(&arena, iterations, sizeof *iteration_s);
    enum gw_status status = gw_arena_check(&arena, "simulating", error);
    if (status == GW_OK) {
        status = gw_simulator_run(simulator, iterations, trace, measures, error);
    }
    for (size_t i = 0; i < iterations && status == GW_OK; i++) {
        iteration_s[i] = measures[i].iteration_s;
        gw_result_add(out, &measures[i]);
    }
    if (status == GW_OK) {
        status = check_finite(&pipeline->scenario, out->iteration_s, error);
    }
    if (status == GW_OK) {
        gw_spread_of(iteration_s, iterations, &out->spread);
    }
    gw_arena_free(&arena);
    return status;
}

/*
 * Slowdown of an exchange and of computing beside it at an interval's upper end, for clusters
 * without factors: a GPU's matrix products take 30 to 40% longer beside a collective
 * (pytorch#179937), and three PyTorch jobs on processors took up to 20% longer than predicted
 * without interference, by all pipelines that exchange during the backward pass. For the exchange
 * the same slowdown is an assumption.
 */
static const struct gw_slowing unmeasured = {.compute = 1.4, .communication = 1.4};

/* Warns that interference is not in the cluster's file, with the command that measures it. */
static void warn_of_left_out(const struct gw_scenario *scenario, struct gw_result *result) {
    char note[GW_RESULT_NOTE_SIZE];
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        if (scenario->interference != GW_INTERFERENCE_NONE &&
            strcmp(result->uncertainties[i].name, GW_LEFT_OUT) == 0) {
            (void)snprintf(note, sizeof note,
                           "interference of exchanges and concurrent work was not measured: the "
                           "longer end has both at 1/1.4 of their pace; %s measures "
                           "it",
                           gw_uncertainty_command(&result->uncertainties[i], scenario->cluster));
            gw_result_warn(result, note);
        }
    }
}

/* Opens the same simulation with all interference that it leaves out; NULL: it leaves none out. */
static enum gw_status open_slowed(const struct gw_pipeline *pipeline,
                                  const struct gw_simulator *simulator,
                                  const struct gw_simulation *simulation, struct gw_simulator **out,
                                  struct gw_error *error) {
    struct gw_simulation slowed = *simulation;
    bool in_passes = pipeline->scenario.cluster->passes_uncertainty > 0;
    bool complete = in_passes || gw_simulator_counts_overlap(simulator);
    slowed.interference = true;
    slowed.unmeasured = unmeasured;
    *out = NULL;
    return simulation->level != GW_LEVEL_CURVES || simulation->workers < 2 ||
                   (complete && gw_simulator_turns_left_out(simulator) <= 1)
               ? GW_OK
               : gw_simulator_open(out, &pipeline->schedule, pipeline->costs, &slowed, NULL, error);
}

static enum gw_status predict_once(const struct gw_pipeline *pipeline,
                                   const struct gw_simulation *simulation, size_t iterations,
                                   bool interval, struct gw_timeline *trace, struct gw_result *out,
                                   struct gw_error *error) {
    *out = gw_pipeline_result(pipeline);
    struct gw_simulator *simulator = NULL;
    GW_TRY(gw_simulator_open(&simulator, &pipeline->schedule, pipeline->costs, simulation, out,
                             error));
    enum gw_status status = trace == NULL ? GW_OK : gw_simulator_timeline(simulator, trace, error);
    if (status == GW_OK) {
        status = simulate_pipeline(pipeline, simulator, iterations, trace, out, error);
    }
    if (status == GW_OK && interval) {
        struct gw_simulator *slowed = NULL;
        status = open_slowed(pipeline, simulator, simulation, &slowed, error);
        if (status == GW_OK) {
            status = gw_interval_find(simulator, slowed, iterations, out, error);
            warn_of_left_out(&pipeline->scenario, out);
        }
        gw_simulator_close(slowed);
    }
    gw_simulator_close(simulator);
    return status;
}

enum gw_status gw_pipeline_predict(struct gw_pipeline *pipeline,
                                   const struct gw_prediction_options *options,
                                   struct gw_timeline *trace, struct gw_result *out,
                                   struct gw_error *error) {
    struct gw_taken_counts counts = {.counts = NULL};
    struct gw_simulation simulation = options->simulation;
    size_t iterations = options->iterations == 0 ? 1 : options->iterations;
    const struct gw_scenario *scenario = &pipeline->scenario;
    simulation.workers = scenario->workers;
    /* Overlap factors are of whole collectives, not of messages, for which the simulator refuses
     * them where they are required. */
    simulation.interference =
        gw_scenario_counts_interference(scenario) &&
        (simulation.level == GW_LEVEL_CURVES || scenario->interference == GW_INTERFERENCE_REQUIRED);
    simulation.margins = options->interval;
    if (options->counts.name != NULL && strcmp(options->counts.name, "asked") == 0) {
        gw_schedule_select_as_asked(&pipeline->schedule);
    }
    GW_TRY(gw_pipeline_open_costs(simulation.level == GW_LEVEL_MESSAGES, pipeline, error));
    enum gw_status status =
        gw_taken_counts_open(&options->counts, pipeline, iterations, &simulation, &counts, error);
    if (status == GW_OK) {
        status =
            predict_once(pipeline, &simulation, iterations, options->interval, trace, out, error);
    }
    if (status == GW_OK) {
        note_noise(&simulation.compute_noise, iterations, out);
    }
    if (status == GW_OK && gw_schedule_has(&pipeline->schedule, gw_compressor_selects)) {
        gw_taken_counts_describe(&counts, &pipeline->schedule, out);
    }
    if (status == GW_OK) {
        gw_note_devices(scenario, pipeline->scenario.method, out);
    }
    gw_taken_counts_free(&counts);
    return status;
}

enum gw_status gw_predict(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                          const struct gw_prediction_options *options, struct gw_result *out,
                          struct gw_error *error) {
    struct gw_pipeline pipeline;
    GW_TRY(gw_pipeline_open(scenario, algorithm, NULL, &pipeline, error));
    enum gw_status status = gw_pipeline_predict(&pipeline, options, NULL, out, error);
    gw_pipeline_close(&pipeline);
    return status;
}
