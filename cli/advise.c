/* Recommends a pipeline for a network on a cluster. */
#include "cli/cli.h"
#include "cli/making.h"

struct options {
    struct gw_output_options output;
    struct gw_asking_options asking;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(asking), .table = gw_asking_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_reading_table},
    {0},
};

static const struct gw_option_rule rules[] = {GW_ASKING_RULES, {0}};

static enum gw_status answer_advise(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_scenario scenario;
    struct gw_advice advice;
    GW_TRY(gw_asking_open(&options->asking, &scenario, &advice, error));
    enum gw_status status =
        gw_print_advice(&advice, options->asking.price, options->output.json, error);
    gw_advice_free(&advice);
    gw_scenario_close(&scenario);
    return status;
}

static struct options options = {.asking.made = GW_MAKING_NOTHING};

const struct gw_verb gw_verb_advise = {
    .name = "advise",
    .title = "says whether to compress, by which pipeline, and what to set in DDP",
    .usage = "NETWORK --gpu GPU --nodes N --network LINK\nMODEL --cluster CLUSTER",
    .about =
        "Says for a network and a cluster how much faster iterations are with compression, by "
        "which pipeline, in how many times as many iterations trainings learnt as much, how to "
        "set DistributedDataParallel's buckets, and how well that is known.\v"
        "What was not measured is assumed from published figures, with intervals as wide as "
        "that. Models that were recorded (python -m gradweave.torch record) and clusters that "
        "were calibrated narrow them.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one NETWORK, got also",
    .values = &options,
    .answer = answer_advise,
};
