/* The network of a scenario as it was asked for: LogGP parameters and collectives. */
#include <math.h>
#include <stdlib.h>

#include "collectives/collectives.h"
#include "goal/goal.h"
#include "study/scenario.h"

/* ---- LogGP parameters ------------------------------------------------------------------------ */

static const double PER_NS = 1e-9;
static const double MOST = 1e15;

static double *loggp_parameter(struct gw_loggp_text *text, char name) {
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
        double *value = *at == '\0' || at[1] != '=' ? NULL : loggp_parameter(out, *at);
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

static enum gw_status whole_number(const char *name, double value, uint64_t *out,
                                   struct gw_error *error) {
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
    GW_TRY(whole_number("L", text->L, &out->L, error));
    GW_TRY(whole_number("o", text->o, &out->o, error));
    GW_TRY(whole_number("g", text->g, &out->g, error));
    out->O = (uint64_t)text->O;
    out->G = (uint64_t)text->G;
    out->O_part = text->O - floor(text->O);
    out->G_part = text->G - floor(text->G);
    return isinf(text->S) ? GW_OK : whole_number("S", text->S, &out->S, error);
}

/* ---- the network ----------------------------------------------------------------------------- */

/* Replaces the cluster's LogGP parameters by those on the command line. */
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
    network.within = network.between = (struct gw_loggp){.latency_s = text.L * PER_NS,
                                                         .overhead_s = text.o * PER_NS,
                                                         .gap_s = text.g * PER_NS,
                                                         .gap_s_per_byte = text.G * PER_NS,
                                                         .overhead_s_per_byte = text.O * PER_NS};
    return gw_cluster_set_network(cluster, network, error);
}

enum gw_status gw_network_apply(const struct gw_network_options *options,
                                struct gw_scenario *scenario, struct gw_error *error) {
    const char *given = options->loggp != NULL          ? "--loggp"
                        : options->choices.count > 0    ? "--collective"
                        : options->nodes_per_switch > 0 ? "--nodes-per-switch"
                        : options->oversubscription > 0 ? "--oversubscription"
                                                        : NULL;
    if (options->level != GW_LEVEL_MESSAGES && given != NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected --network messages with it", given);
    }
    for (size_t i = 0; i < options->choices.count; i++) {
        const struct gw_collective *found = NULL;
        GW_TRY(gw_collective_find(options->choices.each[i].operation, options->choices.each[i].name,
                                  &found, error));
    }
    if (options->workers_per_node > 0) {
        scenario->inputs->cluster.workers_per_node = options->workers_per_node;
    }
    return options->loggp == NULL
               ? GW_OK
               : change_parameters(options->loggp, &scenario->inputs->cluster, error);
}

void gw_network_simulate(const struct gw_network_options *options, struct gw_simulation *out) {
    out->level = options->level;
    out->nodes_per_switch = options->nodes_per_switch;
    out->oversubscription = options->oversubscription;
    out->choice_count = options->choices.count;
    out->choices = options->choices.each;
}
