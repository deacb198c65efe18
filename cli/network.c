/* At which level exchanges are simulated, and the network that messages see: options. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- collectives --------------------------------------------------------------------------- */

/* "OPERATION=NAME"; `target` is a struct gw_choices. */
static void read_collective(char *argument, void *target, struct argp_state *state) {
    struct gw_choices *choices = target;
    char *operation = strdup(argument); /* kept until the program ends */
    char *equals = operation == NULL ? NULL : strchr(operation, '=');
    if (equals == NULL || equals == operation || equals[1] == '\0') {
        gw_refuse(state,
                  "--collective: expected OPERATION=NAME such as allreduce=halving-doubling, got "
                  "\"%s\"",
                  argument);
        return;
    }
    if (choices->count == GW_MOST_CHOICES) {
        gw_refuse(state, "--collective: expected at most %d of them", GW_MOST_CHOICES);
    }
    *equals = '\0';
    choices->each[choices->count++] =
        (struct gw_collective_choice){.operation = operation, .name = equals + 1};
}

const struct gw_option gw_choices_table[] = {
    {"collective", 0, "OPERATION=NAME", GW_CUSTOM, 0,
     .help = "By which algorithm messages carry out a collective (see gradweave list collectives); "
             "can be repeated",
     .names = GW_NAMES_COLLECTIVES, .read = read_collective},
    {0},
};

enum gw_status gw_choices_check(const struct gw_choices *choices, struct gw_error *error) {
    for (size_t i = 0; i < choices->count; i++) {
        const struct gw_collective *found = NULL;
        GW_TRY(
            gw_collective_find(choices->each[i].operation, choices->each[i].name, &found, error));
    }
    return GW_OK;
}

/* ---- options ------------------------------------------------------------------------------- */

static const char *const levels[] = {
    [GW_LEVEL_CURVES] = "curves", [GW_LEVEL_MESSAGES] = "messages", NULL};

const struct gw_option gw_network_table[] = {
    {"network", 0, "LEVEL", GW_CHOICE, offsetof(struct gw_network_options, level),
     .help = "How exchanges take their time: curves, as measured, or messages, which queue for "
             "links",
     .value = "curves", .choices = levels},
    {.kind = GW_INCLUDE,
     .offset = offsetof(struct gw_network_options, choices),
     .table = gw_choices_table},
    {"loggp", 0, "PARAMETERS", GW_TEXT, offsetof(struct gw_network_options, loggp),
     .help = "L=NS,o=NS,g=NS,O=NS,G=NS,S=BYTES instead of the cluster's; O and G per byte, S for "
             "GOAL only"},
    {"workers-per-node", 0, "N", GW_COUNT, offsetof(struct gw_network_options, workers_per_node),
     .help = "Instead of the cluster's"},
    {"nodes-per-switch", 0, "N", GW_COUNT, offsetof(struct gw_network_options, nodes_per_switch),
     .help = "Instead of the cluster's"},
    {"oversubscription", 0, "FACTOR", GW_NOT_NEGATIVE,
     offsetof(struct gw_network_options, oversubscription),
     .help = "Of switches' uplinks, instead of the cluster's", .minimum = 1,
     .expected = "a factor of at least 1"},
    {0},
};

/* ---- LogGP parameters ------------------------------------------------------------------------ */

static const double PER_NS = 1e-9;
static const double MOST = 1e15;

static double *parameter(struct gw_loggp_text *text, char name) {
    switch (name) {
    case 'L':
        return &text->L;
    case 'o':
        return &text->o;
    case 'g':
        return &text->g;
    case 'O':
        return &text->O;
    case 'G':
        return &text->G;
    case 'S':
        return &text->S;
    default:
        return NULL;
    }
}

enum gw_status gw_loggp_parse(const char *text, struct gw_loggp_text *out, struct gw_error *error) {
    *out = (struct gw_loggp_text){.S = INFINITY};
    const char *at = text;
    for (;;) {
        double *value = *at == '\0' || at[1] != '=' ? NULL : parameter(out, *at);
        char *end = NULL;
        double given = value == NULL ? -1 : strtod(at + 2, &end);
        if (value == NULL || end == at + 2 || !(given >= 0 && given <= MOST) ||
            (*end != ',' && *end != '\0')) {
            return gw_fail(
                error, GW_BAD_INPUT,
                "--loggp: expected L=NS,o=NS,g=NS,O=NS,G=NS,S=BYTES, each from 0 to 1e15, "
                "got \"%s\"",
                text);
        }
        *value = given;
        if (*end == '\0') {
            return GW_OK;
        }
        at = end + 1;
    }
}

static enum gw_status whole(const char *name, double value, uint64_t *out, struct gw_error *error) {
    if (value != floor(value)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--loggp: %s: expected a whole number for a GOAL schedule, got %g", name,
                       value);
    }
    *out = (uint64_t)value;
    return GW_OK;
}

enum gw_status gw_loggp_for_goal(const struct gw_loggp_text *text, struct gw_loggops *out,
                                 struct gw_error *error) {
    *out = (struct gw_loggops){.S = UINT64_MAX};
    GW_TRY(whole("L", text->L, &out->L, error));
    GW_TRY(whole("o", text->o, &out->o, error));
    GW_TRY(whole("g", text->g, &out->g, error));
    GW_TRY(whole("O", text->O, &out->O, error));
    GW_TRY(whole("G", text->G, &out->G, error));
    return isinf(text->S) ? GW_OK : whole("S", text->S, &out->S, error);
}

struct gw_loggp gw_loggp_for_network(const struct gw_loggp_text *text) {
    return (struct gw_loggp){.latency_s = text->L * PER_NS,
                             .overhead_s = text->o * PER_NS,
                             .gap_s = text->g * PER_NS,
                             .gap_s_per_byte = text->G * PER_NS,
                             .overhead_s_per_byte = text->O * PER_NS};
}

/* ---- the network --------------------------------------------------------------------------- */

/* LogGP parameters on the command line take the place of the cluster's. */
static enum gw_status change_parameters(const char *loggp, struct gw_cluster *cluster,
                                        struct gw_error *error) {
    struct gw_network network = {.oversubscription = 1};
    struct gw_loggp_text text;
    GW_TRY(gw_loggp_parse(loggp, &text, error));
    if (cluster->network != NULL) {
        network = *cluster->network;
        network.kept = NULL;
        network.between_assumed = false;
    }
    network.within = network.between = gw_loggp_for_network(&text);
    return gw_cluster_set_network(cluster, network, error);
}

/* The first option that only messages look at, or NULL. */
static const char *find_for_messages(const struct gw_network_options *options) {
    return options->loggp != NULL          ? "--loggp"
           : options->choices.count > 0    ? "--collective"
           : options->nodes_per_switch > 0 ? "--nodes-per-switch"
           : options->oversubscription > 0 ? "--oversubscription"
                                           : NULL;
}

enum gw_status gw_network_apply(const struct gw_network_options *options,
                                struct gw_question *question, struct gw_error *error) {
    const char *given = find_for_messages(options);
    if (options->level != GW_LEVEL_MESSAGES && given != NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected --network messages with it", given);
    }
    GW_TRY(gw_choices_check(&options->choices, error));
    if (options->workers_per_node > 0) {
        question->cluster.workers_per_node = options->workers_per_node;
    }
    return options->loggp == NULL ? GW_OK
                                  : change_parameters(options->loggp, &question->cluster, error);
}
