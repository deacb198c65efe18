/* From a question to an answer: model and cluster, then plan, schedule, simulation, result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/study.h"

/* ---- question ------------------------------------------------------------------------------ */

static enum gw_status read_model(const char *name, struct gw_model *out, struct gw_error *error) {
    char *path = NULL;
    GW_TRY(gw_data_resolve(GW_DATA_MODELS, name, &path, error));
    gw_log(GW_LOG_VERBOSE, "reading model %s", path);
    enum gw_status status = gw_model_read(path, out, error);
    free(path);
    return status;
}

static enum gw_status read_cluster(const char *name, struct gw_cluster *out,
                                   struct gw_error *error) {
    char *path = NULL;
    GW_TRY(gw_data_resolve(GW_DATA_CLUSTERS, name, &path, error));
    gw_log(GW_LOG_VERBOSE, "reading cluster %s", path);
    enum gw_status status = gw_cluster_read(path, out, error);
    free(path);
    return status;
}

enum gw_status gw_question_read(const char *model, const char *cluster, size_t workers,
                                double density, struct gw_question *out, struct gw_error *error) {
    *out = (struct gw_question){.density = density > 0 ? density : 0.001};
    GW_TRY(read_model(model, &out->model, error));
    enum gw_status status = read_cluster(cluster, &out->cluster, error);
    if (status != GW_OK) {
        gw_model_free(&out->model);
        return status;
    }
    out->workers = workers > 0 ? workers : out->cluster.workers;
    return GW_OK;
}

void gw_question_close(struct gw_question *question) {
    gw_model_free(&question->model);
    gw_cluster_free(&question->cluster);
}

static void free_collectives(struct gw_collective_cost *collectives, size_t count) {
    for (size_t i = 0; i < count; i++) {
        gw_curve_free(&collectives[i].curve);
    }
    free(collectives);
}

enum gw_status gw_question_set_bandwidth(struct gw_question *question, double factor,
                                         struct gw_error *error) {
    struct gw_cluster *cluster = &question->cluster;
    struct gw_collective_cost *scaled = calloc(cluster->collective_count + 1, sizeof *scaled);
    if (scaled == NULL) {
        return gw_fail_memory(error, "scaling a cluster");
    }
    for (size_t i = 0; i < cluster->collective_count; i++) {
        scaled[i] = cluster->collectives[i];
        enum gw_status status =
            gw_curve_scaled(&cluster->collectives[i].curve, 1, 1 / factor, &scaled[i].curve, error);
        if (status != GW_OK) {
            free_collectives(scaled, i);
            return status;
        }
    }
    cluster->collectives = scaled;
    return GW_OK;
}

void gw_question_end_bandwidth(struct gw_question *question, const struct gw_question *original) {
    if (question->cluster.collectives != original->cluster.collectives) {
        free_collectives(question->cluster.collectives, question->cluster.collective_count);
        question->cluster.collectives = original->cluster.collectives;
    }
}

const struct gw_values_rule gw_density_rule = {
    .maximum = 1, .suffix = "", .example = "1e-4:1e-1:log20"};
const struct gw_values_rule gw_workers_rule = {
    .maximum = 0x1p53, .whole = true, .suffix = "", .example = "2:32:log5"};
const struct gw_values_rule gw_bandwidth_rule = {
    .maximum = 1e6, .suffix = "x", .example = "0.1x:10x:log20"};

/* Times near the largest number that there is add up to more than any. */
static enum gw_status check_finite(const struct gw_question *question, double iteration_s,
                                   struct gw_error *error) {
    return isfinite(iteration_s)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s on %s: expected times that add up to a finite iteration, got %g s",
                         question->model.name, question->cluster.name, iteration_s);
}

/* ---- plan ---------------------------------------------------------------------------------- */

enum gw_status gw_exchange_choose(const char *compressor, const char *name,
                                  const struct gw_exchange_kind **out, struct gw_error *error) {
    if (name == NULL && strcmp(compressor, "none") != 0 && gw_compressor_find(compressor) == NULL) {
        return gw_exchange_find("allgather", out, error); /* one that only the cluster knows */
    }
    const struct gw_algorithm any = {
        .policy = "single", .compressor = "none", .exchange = "allreduce"};
    const struct gw_choice_changes chosen = {.compressor = compressor, .exchange = name};
    struct gw_algorithm checked;
    GW_TRY(gw_algorithm_change(&any, &chosen, &checked, error));
    return gw_exchange_find(checked.exchange, out, error);
}

static double exchange_s(const void *cost, uint64_t elements, size_t tensors) {
    return gw_exchange_cost_s(cost, elements, tensors);
}

enum gw_status gw_costs_open(const struct gw_question *question, const char *compressor,
                             const char *exchange, struct gw_costs *out, struct gw_error *error) {
    struct gw_exchange_question asked = {.compressor = compressor,
                                         .density = question->density,
                                         .model = &question->model,
                                         .workers = question->workers};
    *out = (struct gw_costs){.question = question,
                             .planning = {.model = &question->model,
                                          .workers = question->workers,
                                          .compressor = compressor,
                                          .density = question->density,
                                          .exchange = &out->exchange.curve}};
    GW_TRY(gw_exchange_choose(compressor, exchange, &asked.exchange, error));
    GW_TRY(gw_exchange_cost_open(&out->exchange, &asked, &question->cluster, error));
    if (!out->exchange.simple) {
        bool updates = out->exchange.update_s_per_element > 0;
        out->legs = (struct gw_planning_legs){.exchange_s = exchange_s,
                                              .context = &out->exchange,
                                              .startup_s = out->exchange.startup_s,
                                              .update_s = updates ? 0 : question->model.update_s};
        out->planning.legs = &out->legs;
    }
    enum gw_status status =
        strcmp(compressor, "none") == 0
            ? GW_OK
            : gw_cluster_compressor(&question->cluster, compressor, &out->planning.compress, error);
    if (status != GW_OK) {
        gw_costs_close(out);
    }
    return status;
}

void gw_costs_close(struct gw_costs *costs) {
    gw_exchange_cost_close(&costs->exchange);
    gw_optimum_free(&costs->optimum);
}

enum gw_status gw_costs_find_optimum(struct gw_costs *costs, struct gw_error *error) {
    return gw_planner_optimum(&costs->planning, &costs->optimum, error);
}

enum gw_status gw_costs_plan(const struct gw_costs *costs, const char *policy, struct gw_plan *out,
                             struct gw_error *error) {
    const struct gw_optimum *optimum = costs->optimum.ends == NULL ? NULL : &costs->optimum;
    GW_TRY(gw_planner_plan_beside(&costs->planning, policy, optimum, out, error));
    enum gw_status status = check_finite(costs->question, out->iteration_s, error);
    for (size_t i = 0; i < GW_MOST_LEGS && status == GW_OK; i++) {
        const char *derivation = costs->exchange.derivations[i];
        status = derivation[0] == '\0' ? GW_OK : gw_plan_note(out, derivation, error);
    }
    if (status != GW_OK) {
        gw_plan_free(out);
    }
    return status;
}

/* ---- pipeline ------------------------------------------------------------------------------ */

/* A server adds up what workers push: of a single one it would send back what it got. */
static enum gw_status check_server(const struct gw_question *question,
                                   const struct gw_algorithm *algorithm, struct gw_error *error) {
    const struct gw_exchange_kind *exchange = NULL;
    GW_TRY(gw_exchange_find(algorithm->exchange, &exchange, error));
    return !exchange->server || question->workers > 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "exchange %s: expected at least 2 workers beside the server, got %zu",
                         exchange->name, question->workers);
}

enum gw_status gw_pipeline_open(const struct gw_question *question,
                                const struct gw_algorithm *algorithm, const struct gw_plan *given,
                                struct gw_pipeline *out, struct gw_error *error) {
    *out = (struct gw_pipeline){.algorithm = algorithm, .plan = given};
    GW_TRY(check_server(question, algorithm, error));
    if (given == NULL) {
        struct gw_costs costs;
        GW_TRY(gw_costs_open(question, algorithm->compressor, algorithm->exchange, &costs, error));
        enum gw_status planned = gw_costs_plan(&costs, algorithm->policy, &out->own, error);
        gw_costs_close(&costs);
        GW_TRY(planned);
        out->plan = &out->own;
    }
    enum gw_status status =
        gw_algorithm_schedule(algorithm, &question->model, out->plan, &out->schedule, error);
    if (status != GW_OK) {
        gw_plan_free(&out->own);
        return status;
    }
    gw_log(GW_LOG_VERBOSE, "%s: %zu groups by policy %s, %zu operations", algorithm->name,
           out->plan->group_count, out->plan->policy, out->schedule.operation_count);
    return GW_OK;
}

void gw_pipeline_close(struct gw_pipeline *pipeline) {
    gw_schedule_free(&pipeline->schedule);
    gw_plan_free(&pipeline->own);
}

/* The choice, if it is not the preset's. */
static const char *changed(const char *choice, const char *preset) {
    return strcmp(choice, preset) == 0 ? NULL : choice;
}

void gw_result_name(struct gw_result *result, const struct gw_algorithm *algorithm) {
    const struct gw_algorithm *preset = algorithm;
    for (size_t i = 0; gw_algorithms[i] != NULL; i++) {
        preset = strcmp(gw_algorithms[i]->name, algorithm->name) == 0 ? gw_algorithms[i] : preset;
    }
    result->algorithm = algorithm->name;
    result->policy = changed(algorithm->policy, preset->policy);
    result->compressor = changed(algorithm->compressor, preset->compressor);
    result->exchange = changed(algorithm->exchange, preset->exchange);
}

struct gw_result gw_pipeline_result(const struct gw_question *question,
                                    const struct gw_pipeline *pipeline) {
    struct gw_result result = {
        .model = question->model.name,
        .workers = question->workers,
        .groups = pipeline->schedule.group_count,
        .density = pipeline->plan->density,
        .bytes_per_worker = gw_schedule_bytes_per_worker(&pipeline->schedule),
    };
    gw_result_name(&result, pipeline->algorithm);
    if (gw_algorithm_is_sparse(pipeline->algorithm)) {
        (void)snprintf(result.counts, sizeof result.counts, "as asked");
    }
    return result;
}

/* Means and spread of what the iterations measured. */
static enum gw_status summarise(const struct gw_question *question,
                                const struct gw_measure *measures, size_t iterations,
                                struct gw_result *out, struct gw_error *error) {
    double *iteration_s = calloc(iterations, sizeof *iteration_s);
    if (iteration_s == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t i = 0; i < iterations; i++) {
        iteration_s[i] = measures[i].iteration_s;
        gw_result_add(out, &measures[i]);
    }
    enum gw_status status = check_finite(question, out->iteration_s, error);
    if (status == GW_OK) {
        gw_spread_of(iteration_s, iterations, &out->spread);
    }
    free(iteration_s);
    return status;
}

static enum gw_status simulate(const struct gw_question *question,
                               const struct gw_simulator *simulator, size_t iterations,
                               struct gw_timeline *trace, struct gw_result *out,
                               struct gw_error *error) {
    struct gw_measure *measures = calloc(iterations, sizeof *measures);
    if (measures == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    enum gw_status status = gw_simulator_run(simulator, iterations, trace, measures, error);
    if (status == GW_OK) {
        status = summarise(question, measures, iterations, out, error);
    }
    free(measures);
    return status;
}

enum gw_status gw_pipeline_predict(const struct gw_question *question,
                                   const struct gw_pipeline *pipeline,
                                   const struct gw_simulation *simulation, size_t iterations,
                                   struct gw_timeline *trace, struct gw_result *out,
                                   struct gw_error *error) {
    *out = gw_pipeline_result(question, pipeline);
    struct gw_simulator *simulator = NULL;
    GW_TRY(gw_simulator_open(&simulator, &pipeline->schedule, &question->cluster, simulation, out,
                             error));
    enum gw_status status = trace == NULL ? GW_OK : gw_simulator_timeline(simulator, trace, error);
    if (status == GW_OK) {
        status = simulate(question, simulator, iterations, trace, out, error);
    }
    gw_simulator_close(simulator);
    return status;
}

enum gw_status gw_predict(const struct gw_question *question, const struct gw_algorithm *algorithm,
                          bool interference, struct gw_result *out, struct gw_error *error) {
    struct gw_pipeline pipeline;
    struct gw_simulation simulation = {.workers = question->workers, .interference = interference};
    GW_TRY(gw_pipeline_open(question, algorithm, NULL, &pipeline, error));
    enum gw_status status =
        gw_pipeline_predict(question, &pipeline, &simulation, 1, NULL, out, error);
    gw_pipeline_close(&pipeline);
    return status;
}

/* ---- names --------------------------------------------------------------------------------- */

const char *gw_policy_text(const struct gw_policy *policy, uint64_t argument,
                           char out[GW_POLICY_TEXT_SIZE]) {
    if (policy->argument == NULL) {
        snprintf(out, GW_POLICY_TEXT_SIZE, "%s", policy->name);
    } else {
        snprintf(out, GW_POLICY_TEXT_SIZE, "%s:%llu", policy->name, (unsigned long long)argument);
    }
    return out;
}

enum gw_status gw_algorithms_parse(const char *text, const struct gw_algorithm ***out,
                                   size_t *count, struct gw_error *error) {
    size_t capacity = 1;
    while (gw_algorithms[capacity - 1] != NULL) {
        capacity++;
    }
    capacity += strlen(text);
    const struct gw_algorithm **found = calloc(capacity, sizeof *found);
    char *names = strdup(text);
    enum gw_status status =
        found == NULL || names == NULL ? gw_fail_memory(error, "reading names") : GW_OK;
    *count = 0;
    if (status == GW_OK && strcmp(text, "all") == 0) {
        while (gw_algorithms[*count] != NULL) {
            found[*count] = gw_algorithms[*count];
            (*count)++;
        }
    } else if (status == GW_OK) {
        char *rest = names;
        for (char *name = strsep(&rest, ","); name != NULL && status == GW_OK;
             name = strsep(&rest, ",")) {
            status = gw_algorithm_find(name, &found[(*count)++], error);
        }
    }
    free(names);
    if (status != GW_OK) {
        free(found);
        return status;
    }
    *out = found;
    return GW_OK;
}
