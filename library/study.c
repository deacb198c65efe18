/* Answers questions for programs that embed the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/library.h"
#include "study/advice.h"
#include "study/axes.h"
#include "study/grid.h"
#include "study/points.h"

static const struct gw_algorithm *find_algorithm(size_t i) {
    for (size_t known = 0; gw_algorithms[known].name != NULL; known++) {
        if (known == i) {
            return &gw_algorithms[i];
        }
    }
    return NULL;
}

const char *gradweave_algorithm_name(size_t i) {
    const struct gw_algorithm *algorithm = find_algorithm(i);
    return algorithm == NULL ? NULL : algorithm->name;
}

int gradweave_algorithm_has_server(size_t i) {
    const struct gw_algorithm *algorithm = find_algorithm(i);
    return algorithm != NULL && algorithm->exchange->server;
}

int gradweave_algorithm_is_sparse(size_t i) {
    const struct gw_algorithm *algorithm = find_algorithm(i);
    return algorithm != NULL && gw_algorithm_selects(algorithm);
}

static enum gw_status check_micro_batches(size_t count, struct gw_error *error) {
    return count <= GW_MAX_MICRO_BATCHES
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "accumulate: expected at most %d micro-batches, got %zu",
                         GW_MAX_MICRO_BATCHES, count);
}

enum gw_status gw_library_ask(const struct gradweave_question *question, struct gw_scenario *out,
                              struct gw_error *error) {
    if (question->model == NULL || question->cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a name or the path of a file, got NULL",
                       question->model == NULL ? "model" : "cluster");
    }
    if (!(question->density >= 0) || question->density > 1) {
        return gw_fail(error, GW_BAD_INPUT, "density: expected a number in (0, 1], or 0, got %g",
                       question->density);
    }
    GW_TRY(check_micro_batches(question->accumulate, error));
    const struct gw_scenario_options options = {.model = question->model,
                                                .cluster = question->cluster,
                                                .workers = question->workers,
                                                .density = question->density,
                                                .micro_batches = question->accumulate,
                                                .interference = question->no_interference != 0
                                                                    ? GW_INTERFERENCE_NONE
                                                                    : GW_INTERFERENCE_KNOWN};
    return gw_scenario_open(&options, out, error);
}

struct gradweave_prediction gw_library_prediction(const struct gw_result *result) {
    const struct gw_breakdown *parts = &result->breakdown;
    return (struct gradweave_prediction){.algorithm = result->algorithm,
                                         .iteration_s = result->iteration_s,
                                         .forward_s = parts->forward_s,
                                         .backward_s = parts->backward_s,
                                         .compress_s = parts->compress_s,
                                         .exposed_comm_s = parts->exposed_comm_s,
                                         .other_s = parts->other_s,
                                         .comm_s = result->comm_s,
                                         .bytes_per_worker = result->bytes_per_worker,
                                         .group_count = result->groups};
}

/* ---- models ---------------------------------------------------------------------------------- */

enum gradweave_status gradweave_model_tensors(const char *model, struct gradweave_tensor *tensors,
                                              size_t *count, struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gw_model read;
    enum gw_status status = model == NULL
                                ? gw_fail(&failure, GW_BAD_INPUT,
                                          "model: expected a name or the path of a file, got NULL")
                                : gw_model_open(model, &read, &failure);
    if (status != GW_OK) {
        return gw_library_finish(status, &failure, error);
    }
    for (size_t i = 0; i < read.tensor_count && i < *count; i++) {
        tensors[i] = (struct gradweave_tensor){
            .elements = read.tensors[i].elements,
            .bytes = read.bytes_per_element * read.tensors[i].elements,
        };
        (void)snprintf(tensors[i].name, sizeof tensors[i].name, "%s", read.tensors[i].name);
    }
    *count = read.tensor_count;
    gw_model_free(&read);
    return gw_library_finish(GW_OK, &failure, error);
}

/* ---- predict --------------------------------------------------------------------------------- */

static enum gw_status predict_question(const struct gradweave_question *question, const char *name,
                                       struct gw_result *out, struct gw_error *error) {
    const struct gw_algorithm *algorithm = NULL;
    const struct gw_prediction_options options = {0};
    struct gw_scenario read;
    GW_TRY(gw_algorithm_find(name == NULL ? "" : name, &algorithm, error));
    GW_TRY(gw_library_ask(question, &read, error));
    enum gw_status status = gw_predict(&read, algorithm, &options, out, error);
    gw_scenario_close(&read);
    return status;
}

enum gradweave_status gradweave_predict(const struct gradweave_question *question,
                                        const char *algorithm,
                                        struct gradweave_prediction *prediction,
                                        struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gw_result result;
    enum gw_status status = predict_question(question, algorithm, &result, &failure);
    if (status == GW_OK) {
        *prediction = gw_library_prediction(&result);
    }
    return gw_library_finish(status, &failure, error);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static enum gw_status copy_plan(const struct gw_plan *plan, struct gradweave_group *groups,
                                size_t *count, struct gradweave_plan *out, struct gw_error *error) {
    if (plan->group_count > *count) {
        return gw_fail(error, GW_BAD_INPUT, "count: expected room for %s, got %zu",
                       GW_COUNTED(plan->group_count, "group"), *count);
    }
    *count = plan->group_count;
    for (size_t g = 0; g < plan->group_count; g++) {
        groups[g] =
            (struct gradweave_group){.first = plan->groups[g].first, .last = plan->groups[g].last};
    }
    *out = (struct gradweave_plan){.group_count = plan->group_count,
                                   .iteration_s = plan->iteration_s,
                                   .lower_bound_s = plan->lower_bound_s};
    return GW_OK;
}

static enum gw_status plan_pipeline(const struct gradweave_question *question, const char *name,
                                    const char *policy, const char *path,
                                    struct gradweave_group *groups, size_t *count,
                                    struct gradweave_plan *out, struct gw_error *error) {
    const struct gw_algorithm *algorithm = NULL;
    struct gw_scenario read;
    struct gw_plans plans = {0};
    GW_TRY(gw_algorithm_find(name == NULL ? "" : name, &algorithm, error));
    GW_TRY(gw_library_ask(question, &read, error));
    enum gw_status status =
        gw_plans_make(&read, algorithm->compressor->name, algorithm->exchange->name,
                      policy == NULL ? algorithm->policy : policy, &plans, error);
    if (status == GW_OK) {
        status = copy_plan(&plans.plans[0], groups, count, out, error);
    }
    if (status == GW_OK && path != NULL) {
        status = gw_plan_write(&plans.plans[0], path, error);
    }
    gw_plans_free(&plans);
    gw_scenario_close(&read);
    return status;
}

enum gradweave_status gradweave_plan_pipeline(const struct gradweave_question *question,
                                              const char *algorithm, const char *policy,
                                              const char *path, struct gradweave_group *groups,
                                              size_t *count, struct gradweave_plan *plan,
                                              struct gradweave_error *error) {
    struct gw_error failure = {0};
    enum gw_status status =
        plan_pipeline(question, algorithm, policy, path, groups, count, plan, &failure);
    return gw_library_finish(status, &failure, error);
}

/* The number of a choice in a list with commas between. */
static size_t number_of_choice(const char *list, const char *choice) {
    size_t number = 0;
    size_t length = strlen(choice);
    while (strncmp(list, choice, length) != 0 || (list[length] != '\0' && list[length] != ',')) {
        list += strcspn(list, ",") + 1;
        number++;
    }
    return number;
}

static enum gw_status plan_mixed(const struct gradweave_question *question,
                                 const struct gw_mixed_request *request, const char *path,
                                 struct gradweave_group *groups, size_t *ways, size_t *count,
                                 struct gradweave_plan *out, struct gw_error *error) {
    struct gw_scenario read;
    struct gw_plans plans = {0};
    GW_TRY(gw_library_ask(question, &read, error));
    enum gw_status status = gw_plans_make_mixed(&read, request, &plans, error);
    if (status == GW_OK) {
        status = copy_plan(&plans.plans[0], groups, count, out, error);
    }
    for (size_t g = 0; status == GW_OK && g < *count; g++) {
        ways[g] = number_of_choice(request->choices, plans.plans[0].ways[g].choice);
    }
    if (status == GW_OK && path != NULL) {
        status = gw_plan_write(&plans.plans[0], path, error);
    }
    gw_plans_free(&plans);
    gw_scenario_close(&read);
    return status;
}

enum gradweave_status gradweave_plan_mixed(const struct gradweave_question *question,
                                           const char *choices, double keep, const char *path,
                                           struct gradweave_group *groups, size_t *ways,
                                           size_t *count, struct gradweave_plan *plan,
                                           struct gradweave_error *error) {
    struct gw_error failure = {0};
    const struct gw_mixed_request request = {.choices = choices == NULL ? "" : choices,
                                             .keep = keep};
    enum gw_status status =
        keep >= 0 && keep <= 1
            ? plan_mixed(question, &request, path, groups, ways, count, plan, &failure)
            : gw_fail(&failure, GW_BAD_INPUT, "keep: expected a share from 0 to 1, got %g", keep);
    return gw_library_finish(status, &failure, error);
}

/* ---- rank ------------------------------------------------------------------------------------ */

static enum gw_status rank_comparison(const struct gw_comparison *comparison,
                                      struct gradweave_prediction *predictions, size_t *count,
                                      struct gw_error *error) {
    struct gw_ranking ranking;
    enum gw_status status = gw_rank(comparison, &ranking, error);
    if (status == GW_OK) {
        for (size_t i = 0; i < ranking.count && i < *count; i++) {
            predictions[i] = gw_library_prediction(&ranking.results[i]);
        }
        *count = ranking.count;
    }
    gw_ranking_free(&ranking);
    return status;
}

static enum gw_status rank_all(const struct gradweave_question *question,
                               struct gradweave_prediction *predictions, size_t *count,
                               struct gw_error *error) {
    struct gw_scenario read;
    const struct gw_algorithm **algorithms = NULL;
    struct gw_arena arena = {0};
    struct gw_comparison comparison = {.scenario = &read};
    GW_TRY(gw_library_ask(question, &read, error));
    enum gw_status status =
        gw_algorithms_parse("all", &arena, &algorithms, &comparison.count, error);
    if (status == GW_OK) {
        comparison.algorithms = algorithms;
        status = rank_comparison(&comparison, predictions, count, error);
    }
    gw_arena_free(&arena);
    gw_scenario_close(&read);
    return status;
}

enum gradweave_status gradweave_rank(const struct gradweave_question *question,
                                     struct gradweave_prediction *predictions, size_t *count,
                                     struct gradweave_error *error) {
    struct gw_error failure = {0};
    enum gw_status status = rank_all(question, predictions, count, &failure);
    return gw_library_finish(status, &failure, error);
}

/* ---- advise ---------------------------------------------------------------------------------- */

static enum gw_status advise_question(const struct gradweave_question *question,
                                      struct gradweave_advised *advised, size_t *count,
                                      struct gw_error *error) {
    struct gw_scenario read;
    struct gw_advice advice;
    GW_TRY(gw_library_ask(question, &read, error));
    enum gw_status status = question->density == 0 ? gw_advise_density(&read, NULL, error) : GW_OK;
    if (status != GW_OK) {
        gw_scenario_close(&read);
        return status;
    }
    status = gw_advise(&read, NULL, &advice, error);
    if (status == GW_OK) {
        for (size_t i = 0; i < advice.recommendation_count && i < *count; i++) {
            const struct gw_recommendation *one = &advice.recommendations[i];
            advised[i] = (struct gradweave_advised){.algorithm = one->result->algorithm,
                                                    .density = read.density,
                                                    .iteration_s = one->result->iteration_s,
                                                    .expected_s = one->expected_s,
                                                    .least = one->iterations.low,
                                                    .median = one->iterations.median,
                                                    .most = one->iterations.high};
        }
        *count = advice.recommendation_count;
    }
    gw_advice_free(&advice);
    gw_scenario_close(&read);
    return status;
}

enum gradweave_status gradweave_advise(const struct gradweave_question *question,
                                       struct gradweave_advised *advised, size_t *count,
                                       struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(advise_question(question, advised, count, &failure), &failure, error);
}

/* ---- explain --------------------------------------------------------------------------------- */

static enum gw_status copy_groups(const struct gw_explanation *explanation,
                                  struct gradweave_group_times *groups, size_t *count,
                                  struct gw_error *error) {
    const struct gw_plan *plan = explanation->plan;
    if (plan->group_count > *count) {
        return gw_fail(error, GW_BAD_INPUT, "count: expected room for %s, got %zu",
                       GW_COUNTED(plan->group_count, "group"), *count);
    }
    *count = plan->group_count;
    for (size_t g = 0; g < plan->group_count; g++) {
        const struct gw_group_times *times = &explanation->groups[g];
        groups[g] = (struct gradweave_group_times){
            .tensors = {.first = plan->groups[g].first, .last = plan->groups[g].last},
            .ready_s = times->ready_s,
            .compressed_s = times->compressed_s,
            .exchange_start_s = times->exchange_start_s,
            .exchange_end_s = times->exchange_end_s};
    }
    return GW_OK;
}

static enum gw_status explain_question(const struct gw_scenario *question, const char *policy,
                                       const char *compressor, struct gw_plans *plans,
                                       struct gradweave_group_times *groups, size_t *count,
                                       struct gradweave_explanation *out, struct gw_error *error) {
    struct gw_explanation explanation;
    const struct gw_policy *one = NULL;
    uint64_t argument = 0;
    policy = policy == NULL ? "" : policy;
    GW_TRY(gw_policy_parse(policy, &one, &argument, error)); /* "all" are several plans */
    if (compressor == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "compressor: expected a name, got NULL");
    }
    GW_TRY(gw_plans_make(question, compressor, NULL, policy, plans, error));
    const struct gw_plan *plan = &plans->plans[0];
    GW_TRY(gw_explain(question, plan, NULL, &plans->arena, &explanation, error));
    GW_TRY(copy_groups(&explanation, groups, count, error));
    size_t critical = explanation.critical_group;
    double compute_s = groups[critical].compressed_s;
    *out =
        (struct gradweave_explanation){.iteration_s = plan->iteration_s,
                                       .lower_bound_s = plan->lower_bound_s,
                                       .critical_group = critical,
                                       .compute_s = compute_s,
                                       .exchange_s = groups[*count - 1].exchange_end_s - compute_s,
                                       .update_s = explanation.update_s,
                                       .comm_s = explanation.comm_s,
                                       .exposed_comm_s = explanation.exposed_comm_s};
    return GW_OK;
}

enum gradweave_status gradweave_explain(const struct gradweave_question *question,
                                        const char *policy, const char *compressor,
                                        struct gradweave_group_times *groups, size_t *count,
                                        struct gradweave_explanation *explanation,
                                        struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gw_scenario read;
    struct gw_plans plans = {0};
    enum gw_status status = gw_library_ask(question, &read, &failure);
    if (status == GW_OK) {
        status = explain_question(&read, policy, compressor, &plans, groups, count, explanation,
                                  &failure);
        gw_plans_free(&plans);
        gw_scenario_close(&read);
    }
    return gw_library_finish(status, &failure, error);
}

/* ---- sweep ----------------------------------------------------------------------------------- */

struct sweep {
    struct gw_grid grid;
    gradweave_take_point *take;
    void *context;
    bool stopped;
};

/* A point's answer, passed from the predicting thread to the caller's thread. */
struct answer {
    bool feasible;
    size_t workers;
    struct gradweave_prediction prediction;
    struct gw_error why;
};

/* Predicts a point; an infeasible one is an answer, but running out of memory fails. */
static enum gw_status answer_point(uint64_t number, FILE *stream, void *context,
                                   struct gw_error *error) {
    const struct sweep *sweep = context;
    const struct gw_point point = gw_grid_point(&sweep->grid, number);
    struct gw_prediction found;
    gw_point_predict(&sweep->grid, &point, &found);
    if (found.status != GW_OK && found.status != GW_BAD_INPUT) {
        return gw_fail(error, found.status, "%s", found.why.message);
    }
    struct answer answer = {.feasible = found.status == GW_OK, .why = found.why};
    if (answer.feasible) {
        answer.workers = found.result.workers;
        answer.prediction = gw_library_prediction(&found.result);
    }
    return fwrite(&answer, sizeof answer, 1, stream) == 1 ? GW_OK
                                                          : gw_fail_memory(error, "sweeping");
}

static enum gw_status take_answer(uint64_t number, const char *text, size_t length, bool last,
                                  void *context, struct gw_error *error) {
    struct sweep *sweep = context;
    const struct gw_grid *grid = &sweep->grid;
    const struct gw_point point = gw_grid_point(grid, number);
    struct answer answer;
    (void)length;
    (void)last;
    memcpy(&answer, text, sizeof answer);
    const struct gradweave_sweep_point given = {
        .number = number,
        .count = grid->point_count,
        .model = gw_point_name(grid, &point, GW_AXIS_MODEL),
        .cluster = gw_point_name(grid, &point, GW_AXIS_CLUSTER),
        .algorithm = gw_point_name(grid, &point, GW_AXIS_ALGORITHM),
        .workers = answer.feasible ? answer.workers
                                   : (size_t)gw_point_value(grid, &point, GW_AXIS_WORKERS),
        .density = gw_point_value(grid, &point, GW_AXIS_DENSITY),
        .bandwidth = gw_point_value(grid, &point, GW_AXIS_BANDWIDTH),
        .straggler = gw_point_value(grid, &point, GW_AXIS_STRAGGLER),
        .noise = gw_point_value(grid, &point, GW_AXIS_NOISE),
        .prediction = answer.feasible ? &answer.prediction : NULL,
        .why = answer.feasible ? NULL : answer.why.message};
    sweep->stopped = sweep->take(&given, sweep->context) != 0;
    return sweep->stopped ? gw_fail(error, GW_FAILED, "stopped by the caller") : GW_OK;
}

static enum gw_status sweep_points(const struct gradweave_grid *grid, struct sweep *sweep,
                                   struct gw_error *error) {
    const struct gw_grid_request request = {.texts = {[GW_AXIS_MODEL] = grid->model,
                                                      [GW_AXIS_CLUSTER] = grid->cluster,
                                                      [GW_AXIS_WORKERS] = grid->workers,
                                                      [GW_AXIS_DENSITY] = grid->density,
                                                      [GW_AXIS_BANDWIDTH] = grid->bandwidth,
                                                      [GW_AXIS_STRAGGLER] = grid->straggler,
                                                      [GW_AXIS_NOISE] = grid->noise,
                                                      [GW_AXIS_ALGORITHM] = grid->algorithm},
                                            .micro_batches = grid->accumulate,
                                            .iterations = grid->iterations,
                                            .seeded = true,
                                            .seed = grid->seed};
    if (grid->model == NULL || grid->cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a name or the path of a file, got NULL",
                       grid->model == NULL ? "model" : "cluster");
    }
    GW_TRY(check_micro_batches(grid->accumulate, error));
    enum gw_status status = gw_grid_open(&request, &sweep->grid, error);
    if (status == GW_OK) {
        const struct gw_shared_points points = {.count = sweep->grid.point_count,
                                                .threads =
                                                    grid->threads == 0 ? gw_cores() : grid->threads,
                                                .context = sweep,
                                                .answer = answer_point,
                                                .take = take_answer};
        status = gw_share_points(&points, NULL, error);
    }
    gw_grid_close(&sweep->grid);
    return sweep->stopped ? GW_OK : status;
}

enum gradweave_status gradweave_sweep(const struct gradweave_grid *grid, gradweave_take_point *take,
                                      void *context, struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct sweep sweep = {.take = take, .context = context};
    return gw_library_finish(sweep_points(grid, &sweep, &failure), &failure, error);
}
