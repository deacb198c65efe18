/* Options that several verbs have. */
#include <string.h>

#include "cli/cli.h"
#include "methods/methods.h"

const struct gw_option gw_output_table[] = {
    {"json", 0, NULL, GW_FLAG, offsetof(struct gw_output_options, json),
     .help = "Print one JSON document instead of text"},
    {"quiet", 'q', NULL, GW_SET, 0, .help = "Print no progress", .global = &gw_log_shown,
     .set = GW_LOG_QUIET},
    {"verbose", 'v', NULL, GW_SET, 0, .help = "Print what is being done", .global = &gw_log_shown,
     .set = GW_LOG_VERBOSE},
    {.kind = GW_INCLUDE, .table = gw_help_table},
    {0},
};

static const struct gw_option strict_table[] = {
    {"strict", 0, NULL, GW_FLAG, 0, .help = "Refuse files with unknown keys",
     .global = &gw_key_rules.strict},
    {0},
};

const struct gw_option gw_reading_table[] = {
    {.kind = GW_INCLUDE, .table = strict_table},
    {.kind = GW_INCLUDE, .table = gw_output_table},
    {0},
};

const struct gw_option gw_writing_table[] = {
    {.kind = GW_INCLUDE, .table = strict_table},
    {"force", 0, NULL, GW_FLAG, 0, .help = "Write over a file of another kind",
     .global = &gw_outputs_forced},
    {.kind = GW_INCLUDE, .table = gw_output_table},
    {0},
};

static const struct gw_option model_table[] = {
    {NULL, 0, "MODEL", GW_TEXT, offsetof(struct gw_scenario_options, model),
     .help = "Model file, or the name of one that ships", .names = GW_NAMES_MODELS},
    {0},
};

const struct gw_option gw_cluster_table[] = {
    {"cluster", 0, "CLUSTER", GW_TEXT, offsetof(struct gw_scenario_options, cluster),
     .help = "Cluster file, or the name of one that ships", .names = GW_NAMES_CLUSTERS},
    {"density", 0, "R", GW_POSITIVE, offsetof(struct gw_scenario_options, density),
     .help = "Share of elements that compressors keep", .maximum = 1,
     .otherwise = GW_USUAL_DENSITY_TEXT},
    {0},
};

const struct gw_option gw_workers_table[] = {
    {"workers", 0, "P", GW_COUNT, offsetof(struct gw_scenario_options, workers),
     .help = "Number of workers", .otherwise = "the cluster's",
     .several = "compare, sweep and plan --sweep"},
    {0},
};

const struct gw_option gw_accumulate_table[] = {
    {"accumulate", 0, "N", GW_COUNT, 0,
     .help = "Micro-batches of an iteration, each a forward and a backward pass; gradients travel "
             "with the last one's, as with DistributedDataParallel's no_sync",
     .otherwise = "1", .maximum = GW_MAX_MICRO_BATCHES},
    {0},
};

const struct gw_option gw_scenario_table[] = {
    {.kind = GW_INCLUDE, .table = model_table},
    {.kind = GW_INCLUDE, .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .table = gw_workers_table},
    {0},
};

const struct gw_option gw_interference_table[] = {
    {"no-interference", 0, NULL, GW_SET, 0,
     .help = "Predict without the slowdown of operations that run at once",
     .otherwise = "as the cluster's file says", .set = GW_INTERFERENCE_NONE},
    {"interference", 0, NULL, GW_SET, 0,
     .help = "Refuse a cluster without measured slowdowns of operations that run at once",
     .set = GW_INTERFERENCE_REQUIRED},
    {0},
};

const struct gw_option gw_changes_table[] = {
    {"policy", 'p', "POLICY", GW_TEXT, offsetof(struct gw_choice_changes, policy),
     .help = "Merge policy instead of the algorithm's own; several groups overlap with the "
             "backward pass",
     .names = GW_NAMES_POLICIES},
    {"compressor", 'c', "C", GW_TEXT, offsetof(struct gw_choice_changes, compressor),
     .help = "Compressor instead of the algorithm's own, or none; with its own exchange if the "
             "algorithm's cannot carry its output",
     .names = GW_NAMES_COMPRESSORS_OR_NONE},
    {"exchange", 0, "E", GW_TEXT, offsetof(struct gw_choice_changes, exchange),
     .help = "Exchange instead of the algorithm's own (see gradweave list exchanges)",
     .names = GW_NAMES_EXCHANGES},
    {0},
};

/* ---- exchanges as messages ------------------------------------------------------------------- */

/* Reads "OPERATION=NAME" into a struct gw_choices. */
static void read_collective(const char *argument, void *target) {
    static char *operations[GW_MAX_CHOICES]; /* kept until the program ends */
    struct gw_choices *choices = target;
    char *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument || equals[1] == '\0') {
        gw_refuse("--collective: expected OPERATION=NAME such as allreduce=halving-doubling, got "
                  "\"%s\"",
                  argument);
        return;
    }
    if (choices->count == GW_MAX_CHOICES) {
        gw_refuse("--collective: expected at most %d of them", GW_MAX_CHOICES);
        return;
    }
    char **operation = &operations[choices->count];
    *operation = strndup(argument, (size_t)(equals - argument));
    if (*operation == NULL) {
        gw_refuse("--collective: not enough memory");
        return;
    }
    choices->each[choices->count++] =
        (struct gw_collective_choice){.operation = *operation, .name = equals + 1};
}

const struct gw_option gw_choices_table[] = {
    {"collective", 0, "OPERATION=NAME", GW_CUSTOM, 0,
     .help = "Message algorithm of a collective (see gradweave list collectives); can be repeated",
     .names = GW_NAMES_COLLECTIVES, .read = read_collective},
    {0},
};

const struct gw_option gw_network_table[] = {
    {.kind = GW_INCLUDE,
     .offset = offsetof(struct gw_network_options, choices),
     .table = gw_choices_table},
    {"loggp", 0, "PARAMETERS", GW_TEXT, offsetof(struct gw_network_options, loggp),
     .help = "L=NS,o=NS,g=NS,O=NS,G=NS,S=BYTES instead of the cluster's, 0 where not given; O "
             "and G per byte, S for GOAL only"},
    {"workers-per-node", 0, "N", GW_COUNT, offsetof(struct gw_network_options, workers_per_node),
     .help = "Workers of a node, instead of the cluster's"},
    {"nodes-per-switch", 0, "N", GW_COUNT, offsetof(struct gw_network_options, nodes_per_switch),
     .help = "Nodes of a switch, instead of the cluster's"},
    {"oversubscription", 0, "FACTOR", GW_NOT_NEGATIVE,
     offsetof(struct gw_network_options, oversubscription),
     .help = "Oversubscription of switches' uplinks, instead of the cluster's", .minimum = 1,
     .maximum = GW_MAX_FACTOR, .expected = "a factor from 1 to 1e6"},
    {0},
};
