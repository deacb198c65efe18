/* A GOAL schedule as a scenario, and a pipeline as a GOAL schedule. */
#include <stdlib.h>

#include "study/predict.h"
#include "study/scenario.h"

/* LogGOPSim's own, where neither the scenario nor the schedule has any. */
static const char *const DEFAULT_LOGGP = "L=2500,o=1500,g=1000,O=0,G=6,S=65535";

static enum gw_status parse_loggp(const char *loggp, struct gw_loggops *out,
                                  struct gw_error *error) {
    struct gw_loggp_text text;
    GW_TRY(gw_loggp_parse(loggp, &text, error));
    return gw_loggp_for_goal(&text, out, error);
}

/* Chooses parameters: the given ones, those of the schedule, or LogGOPSim's. */
static enum gw_status choose_loggp(const char *given, struct gw_goal_answer *answer,
                                   struct gw_loggops *out, struct gw_error *error) {
    bool named = given == NULL && answer->goal.loggp[0] != '\0';
    answer->loggp = given != NULL ? given : named ? answer->goal.loggp : DEFAULT_LOGGP;
    answer->loggp_source = given != NULL ? "option" : named ? "file" : "default";
    enum gw_status status = parse_loggp(answer->loggp, out, error);
    if (status != GW_OK && named) {
        gw_error_prefix(error, answer->path);
    }
    return status;
}

enum gw_status gw_goal_ask(const char *path, const char *loggp, struct gw_goal_answer *out,
                           struct gw_error *error) {
    struct gw_loggops parameters;
    double start_s = gw_clock_now_s();
    *out = (struct gw_goal_answer){.path = path};
    GW_TRY(loggp == NULL ? GW_OK : parse_loggp(loggp, &parameters, error));
    GW_TRY(gw_goal_read(path, &out->goal, error));
    out->read_s = gw_clock_now_s() - start_s;
    GW_TRY(choose_loggp(loggp, out, &parameters, error));
    return gw_goal_run(&out->goal, &parameters, path, &out->result, error);
}

void gw_goal_answer_free(struct gw_goal_answer *answer) {
    free(answer->result.finish_ns);
    gw_goal_free(&answer->goal);
}

/* ---- from a pipeline ------------------------------------------------------------------------- */

/* Notes that GOAL has one set of parameters, and no links that several ranks share. */
static void note_nodes(const struct gw_scenario *scenario, struct gw_result *notes) {
    size_t nodes = gw_cluster_nodes(scenario->cluster, scenario->workers);
    const struct gw_network *network = scenario->cluster->network;
    if (nodes < scenario->workers || (network != NULL && network->nodes_per_switch > 0)) {
        gw_result_note(notes, "GOAL has no nodes and switches: messages are as between nodes, and "
                              "wait for no one else's");
    }
}

static enum gw_status export_schedule(struct gw_goal_export *export,
                                      const struct gw_pipeline *pipeline, struct gw_error *error) {
    const struct gw_scenario *scenario = export->scenario;
    const struct gw_simulation simulation = {.workers = scenario->workers,
                                             .level = GW_LEVEL_MESSAGES,
                                             .choice_count = export->network.choices.count,
                                             .choices = export->network.choices.each};
    struct gw_simulator *simulator = NULL;
    GW_TRY(gw_simulator_open(&simulator, &pipeline->schedule, pipeline->costs, &simulation,
                             &export->notes, error));
    note_nodes(scenario, &export->notes);
    enum gw_status status =
        gw_simulator_export_goal(simulator, export->path, export->loggp, &export->notes, error);
    gw_simulator_close(simulator);
    return status;
}

enum gw_status gw_goal_export(struct gw_goal_export *export, struct gw_error *error) {
    struct gw_algorithm algorithm;
    struct gw_pipeline pipeline;
    export->network.level = GW_LEVEL_MESSAGES;
    GW_TRY(gw_network_apply(&export->network, export->scenario, error));
    const struct gw_plan *plan = export->scenario->plan;
    GW_TRY(gw_algorithm_choose(export->algorithm, &export->changes, plan, &algorithm, error));
    GW_TRY(gw_pipeline_open(export->scenario, &algorithm, plan, &pipeline, error));
    enum gw_status status = gw_pipeline_open_costs(true, &pipeline, error);
    status = status == GW_OK ? export_schedule(export, &pipeline, error) : status;
    gw_note_devices(export->scenario, &algorithm, &export->notes);
    gw_pipeline_close(&pipeline);
    return status;
}
