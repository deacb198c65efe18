/* At which level exchanges are simulated, and the network that messages see: options. */
#include <string.h>

#include "cli/cli.h"
#include "cli/loggp.h"

/* ---- collectives --------------------------------------------------------------------------- */

enum { KEY_COLLECTIVE = 5000 };

static const struct argp_option choice_table[] = {
    {"collective", KEY_COLLECTIVE, "OPERATION=NAME", 0,
     "By which algorithm messages carry out a collective (see gradweave list collectives); can be "
     "repeated",
     0},
    {0},
};

/* Splits the argument, which is the program's own, at its "=". */
static void choose_collective(struct gw_choices *choices, char *argument,
                              struct argp_state *state) {
    char *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument || equals[1] == '\0') {
        argp_error(state,
                   "--collective: expected OPERATION=NAME such as allreduce=halving-doubling, got "
                   "\"%s\"",
                   argument);
        return;
    }
    if (choices->count == GW_MOST_CHOICES) {
        argp_error(state, "--collective: expected at most %d of them", GW_MOST_CHOICES);
    }
    *equals = '\0';
    choices->each[choices->count++] =
        (struct gw_collective_choice){.operation = argument, .name = equals + 1};
}

static error_t parse_choice(int key, char *argument, struct argp_state *state) {
    if (key != KEY_COLLECTIVE) {
        return ARGP_ERR_UNKNOWN;
    }
    choose_collective(state->input, argument, state);
    return 0;
}

const struct argp gw_choices_argp = {.options = choice_table, .parser = parse_choice};

enum gw_status gw_choices_check(const struct gw_choices *choices, struct gw_error *error) {
    for (size_t i = 0; i < choices->count; i++) {
        const struct gw_collective *found = NULL;
        GW_TRY(
            gw_collective_find(choices->each[i].operation, choices->each[i].name, &found, error));
    }
    return GW_OK;
}

/* ---- options ------------------------------------------------------------------------------- */

enum {
    KEY_NETWORK = 4000,
    KEY_LOGGP,
    KEY_WORKERS_PER_NODE,
    KEY_NODES_PER_SWITCH,
    KEY_OVERSUBSCRIPTION
};

static const struct argp_option option_table[] = {
    {"network", KEY_NETWORK, "LEVEL", 0,
     "How exchanges take their time: curves, as measured (default), or messages, which queue for "
     "links",
     0},
    {"loggp", KEY_LOGGP, "PARAMETERS", 0,
     "L=NS,o=NS,g=NS,O=NS,G=NS,S=BYTES instead of the cluster's; O and G per byte, S for GOAL only",
     0},
    {"workers-per-node", KEY_WORKERS_PER_NODE, "N", 0, "Instead of the cluster's", 0},
    {"nodes-per-switch", KEY_NODES_PER_SWITCH, "N", 0, "Instead of the cluster's", 0},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "FACTOR", 0,
     "Of switches' uplinks, instead of the cluster's", 0},
    {0},
};

static void choose_level(struct gw_network_options *options, const char *argument,
                         struct argp_state *state) {
    bool messages = strcmp(argument, "messages") == 0;
    if (!messages && strcmp(argument, "curves") != 0) {
        argp_error(state, "--network: expected curves or messages, got \"%s\"", argument);
    }
    options->level = messages ? GW_LEVEL_MESSAGES : GW_LEVEL_CURVES;
}

static double parse_oversubscription(const char *text, struct argp_state *state) {
    double factor = gw_parse_not_negative(text, "--oversubscription", state);
    if (factor < 1) {
        argp_error(state, "--oversubscription: expected a factor of at least 1, got \"%s\"", text);
    }
    return factor;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gw_network_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->choices;
        return 0;
    case KEY_NETWORK:
        choose_level(options, argument, state);
        return 0;
    case KEY_LOGGP:
        options->loggp = argument;
        return 0;
    case KEY_WORKERS_PER_NODE:
        options->workers_per_node = gw_parse_count(argument, "--workers-per-node", state);
        return 0;
    case KEY_NODES_PER_SWITCH:
        options->nodes_per_switch = gw_parse_count(argument, "--nodes-per-switch", state);
        return 0;
    case KEY_OVERSUBSCRIPTION:
        options->oversubscription = parse_oversubscription(argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gw_choices_argp, 0, NULL, 0}, {0}};

const struct argp gw_network_argp = {
    .options = option_table, .parser = parse, .children = children};

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
