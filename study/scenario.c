/* Scenarios: a model on a cluster. */
#include <stdlib.h>
#include <string.h>

#include "study/predict.h"
#include "study/scenario.h"

enum gw_status gw_model_open(const char *name, struct gw_model *out, struct gw_error *error) {
    return gw_data_open(GW_DATA_MODELS, name, out, error);
}

enum gw_status gw_cluster_open(const char *name, struct gw_cluster *out, struct gw_error *error) {
    return gw_data_open(GW_DATA_CLUSTERS, name, out, error);
}

struct gw_scenario gw_scenario_of(const struct gw_model *model, const struct gw_cluster *cluster) {
    return (struct gw_scenario){.model = model,
                                .cluster = cluster,
                                .workers = cluster->workers,
                                .density = GW_USUAL_DENSITY,
                                .bandwidth = 1,
                                .straggler = 1};
}

bool gw_scenario_counts_interference(const struct gw_scenario *scenario) {
    return scenario->interference != GW_INTERFERENCE_NONE &&
           gw_cluster_interferes(scenario->cluster);
}

enum gw_status gw_interference_check(enum gw_interference_rule interference,
                                     const struct gw_cluster *cluster, struct gw_error *error) {
    return interference != GW_INTERFERENCE_REQUIRED || gw_cluster_interferes(cluster)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: overlap: expected measured factors for interference, got nothing "
                         "(gradweave calibrate --only overlap --add measures them)",
                         cluster->path == NULL ? cluster->name : cluster->path);
}

/* Refuses other choices beside a mixed plan, and another plan without an algorithm. */
static enum gw_status check_choices(const struct gw_plan *plan,
                                    const struct gw_plan_options *options, double density,
                                    struct gw_error *error) {
    const struct gw_choice_changes *changes = options->changes;
    if (plan->ways == NULL) {
        return options->algorithm != NULL
                   ? GW_OK
                   : gw_fail(error, GW_BAD_INPUT,
                             "%s: expected --algo ALGORITHM (gradweave list algorithms) beside a "
                             "plan that is not mixed",
                             options->path);
    }
    if (density > 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--density: expected none beside %s, whose groups have densities of their "
                       "own",
                       options->path);
    }
    return options->algorithm == NULL && changes->policy == NULL && changes->compressor == NULL &&
                   changes->exchange == NULL
               ? GW_OK
               : gw_fail(
                     error, GW_BAD_INPUT,
                     "%s: expected none of --algo, --policy, --compressor and --exchange beside "
                     "a mixed plan, whose groups have ways of their own",
                     options->path);
}

static enum gw_status read_plan(const struct gw_scenario_options *options, struct gw_plan *plan,
                                struct gw_scenario *scenario, struct gw_error *error) {
    const char *path = options->plan.path;
    GW_TRY(gw_plan_read(path, plan, error));
    bool sparse = strcmp(plan->compressor, "none") != 0;
    bool beside = options->plan.beside && options->plan.algorithm != NULL && plan->ways != NULL;
    GW_TRY(beside ? GW_OK : check_choices(plan, &options->plan, options->density, error));
    if (options->density > 0 && sparse && plan->ways == NULL) {
        plan->density = options->density;
    } else if (sparse && !beside) {
        scenario->density = plan->density;
    }
    scenario->workers = options->workers > 0 ? options->workers : plan->workers;
    plan->workers = scenario->workers;
    scenario->plan = plan;
    return gw_plan_check(plan, scenario->model, path, error);
}

enum gw_status gw_scenario_ask(const struct gw_scenario_options *options, struct gw_model model,
                               struct gw_cluster cluster, struct gw_scenario *out,
                               struct gw_error *error) {
    model.micro_batches = options->micro_batches;
    enum gw_status status = gw_interference_check(options->interference, &cluster, error);
    struct gw_scenario_inputs *inputs = status == GW_OK ? malloc(sizeof *inputs) : NULL;
    if (inputs == NULL) {
        gw_model_free(&model);
        gw_cluster_free(&cluster);
        return status == GW_OK ? gw_fail_memory(error, "asking about a model") : status;
    }
    *inputs = (struct gw_scenario_inputs){.model = model, .cluster = cluster};
    struct gw_scenario scenario = gw_scenario_of(&inputs->model, &inputs->cluster);
    scenario.inputs = inputs;
    scenario.interference = options->interference;
    scenario.density = options->density > 0 ? options->density : scenario.density;
    scenario.workers = options->workers > 0 ? options->workers : scenario.workers;
    if (options->plan.path != NULL &&
        read_plan(options, &inputs->plan, &scenario, error) != GW_OK) {
        gw_scenario_close(&scenario);
        return error->status;
    }
    *out = scenario;
    return GW_OK;
}

enum gw_status gw_scenario_open(const struct gw_scenario_options *options, struct gw_scenario *out,
                                struct gw_error *error) {
    struct gw_model model;
    struct gw_cluster cluster;
    GW_TRY(gw_model_open(options->model, &model, error));
    enum gw_status status = gw_cluster_open(options->cluster, &cluster, error);
    if (status != GW_OK) {
        gw_model_free(&model);
        return status;
    }
    return gw_scenario_ask(options, model, cluster, out, error);
}

void gw_scenario_close(struct gw_scenario *scenario) {
    if (scenario->inputs != NULL) {
        gw_model_free(&scenario->inputs->model);
        gw_cluster_free(&scenario->inputs->cluster);
        gw_plan_free(&scenario->inputs->plan);
        free(scenario->inputs);
    }
}

/* ---- a heterogeneous cluster -------------------------------------------------------------- */

/* A factor for each of `count`, 1 where none is given, or NULL if none is given at all. */
static enum gw_status spread_factors(const struct gw_numbered_factors *factors, const char *option,
                                     const char *what, size_t count, struct gw_arena *arena,
                                     const double **out, struct gw_error *error) {
    *out = NULL;
    if (factors->count == 0) {
        return GW_OK;
    }
    for (size_t i = 0; i < factors->count; i++) {
        if (factors->each[i].number >= count) {
            return gw_fail(error, GW_BAD_INPUT, "%s: expected a %s from 0 to %zu, got %zu", option,
                           what, count - 1, factors->each[i].number);
        }
    }
    GW_TRY(gw_simulation_check_lanes(count, error));
    double *each = gw_arena_zeros(arena, count, sizeof *each);
    if (each == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t i = 0; i < count; i++) {
        each[i] = 1;
    }
    for (size_t i = 0; i < factors->count; i++) {
        each[factors->each[i].number] = factors->each[i].factor;
    }
    *out = each;
    return GW_OK;
}

static enum gw_status read_noise(const char *text, const char *option, struct gw_arena *arena,
                                 struct gw_noise *out, struct gw_error *error) {
    if (text == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_noise_read(text, option, out, error));
    return out->sample == NULL || gw_arena_own(arena, out->sample, free) != NULL
               ? GW_OK
               : gw_fail_memory(error, "simulating");
}

enum gw_status gw_heterogeneity_simulation(const struct gw_heterogeneity *heterogeneity,
                                           const struct gw_scenario *scenario,
                                           struct gw_arena *arena, struct gw_simulation *out,
                                           struct gw_error *error) {
    size_t nodes = gw_cluster_nodes(scenario->cluster, scenario->workers);
    *out = (struct gw_simulation){.workers = scenario->workers,
                                  .background = heterogeneity->background,
                                  .seed = heterogeneity->seed,
                                  .threads = heterogeneity->threads};
    GW_TRY(spread_factors(&heterogeneity->stragglers, "--straggler", "worker", scenario->workers,
                          arena, &out->slowdown, error));
    GW_TRY(spread_factors(&heterogeneity->bandwidths, "--bandwidth", "node", nodes, arena,
                          &out->bandwidth, error));
    GW_TRY(read_noise(heterogeneity->noise, "--noise", arena, &out->compute_noise, error));
    GW_TRY(read_noise(heterogeneity->network_noise, "--network-noise", arena, &out->network_noise,
                      error));
    return out->network_noise.kind != GW_NOISE_RECORDED
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "--network-noise: expected numbers, a JSON array or one on each line, got "
                         "computing times of ranks, %s",
                         heterogeneity->network_noise);
}
