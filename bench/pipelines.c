#include "pipelines.h"

#include <stdlib.h>
#include <string.h>

#include "methods/exchange_cost.h"
#include "planner/planner.h"

static const char *const model_name = "resnet50";
static const char *const cluster_name = "p102-1gbe-16";

/* 10 Gb/s. */
static const struct gw_loggp links = {
    .latency_s = 5e-6, .overhead_s = 1e-6, .gap_s = 1e-6, .gap_s_per_byte = 0.8e-9};

static enum gw_status read_inputs(struct bench_pipeline *pipeline, struct gw_error *error) {
    char *path = NULL;
    GW_TRY(gw_data_resolve(GW_DATA_MODELS, model_name, &path, error));
    enum gw_status status = gw_model_read(path, &pipeline->model, error);
    free(path);
    GW_TRY(status);
    GW_TRY(gw_data_resolve(GW_DATA_CLUSTERS, cluster_name, &path, error));
    status = gw_cluster_read(path, &pipeline->cluster, error);
    free(path);
    return status;
}

static double exchange_s(const void *cost, uint64_t elements, size_t tensors) {
    return gw_exchange_cost_s(cost, elements, tensors);
}

static enum gw_status plan(struct bench_pipeline *pipeline, const struct gw_algorithm *algorithm,
                           size_t workers, struct gw_error *error) {
    struct gw_exchange_question question = {.exchange = algorithm->exchange,
                                            .compressor = algorithm->compressor,
                                            .density = 0.001,
                                            .model = &pipeline->model,
                                            .workers = workers};
    struct gw_exchange_cost exchange;
    struct gw_planning planning = {.model = &pipeline->model,
                                   .workers = workers,
                                   .compressor = algorithm->compressor->name,
                                   .density = 0.001,
                                   .exchange = &exchange.curve};
    if (gw_algorithm_is_sparse(algorithm)) {
        GW_TRY(gw_cluster_compressor(&pipeline->cluster, algorithm->compressor->name,
                                     &planning.compress, error));
    }
    GW_TRY(gw_exchange_cost_open(&exchange, &question, &pipeline->cluster, error));
    const struct gw_planning_legs legs = {
        .exchange_s = exchange_s,
        .context = &exchange,
        .startup_s = exchange.startup_s,
        .update_s = exchange.update_s_per_element > 0 ? 0 : pipeline->model.update_s};
    planning.legs = exchange.simple ? NULL : &legs;
    enum gw_status status =
        gw_planner_plan_beside(&planning, algorithm->policy, NULL, &pipeline->plan, error);
    gw_exchange_cost_close(&exchange);
    return status;
}

enum gw_status bench_pipeline_open(struct bench_pipeline *out, const char *algorithm,
                                   size_t workers, struct gw_error *error) {
    const struct gw_algorithm *found = NULL;
    *out = (struct bench_pipeline){
        .network = {.within = links, .between = links, .oversubscription = 1}};
    GW_TRY(gw_algorithm_find(algorithm, &found, error));
    GW_TRY(read_inputs(out, error));
    GW_TRY(plan(out, found, workers, error));
    GW_TRY(gw_cluster_set_network(&out->cluster, out->network, error));
    return gw_algorithm_schedule(found, &out->model, &out->plan, &out->schedule, error);
}

void bench_pipeline_close(struct bench_pipeline *pipeline) {
    gw_schedule_free(&pipeline->schedule);
    gw_plan_free(&pipeline->plan);
    gw_cluster_free(&pipeline->cluster);
    gw_model_free(&pipeline->model);
}
