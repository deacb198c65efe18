#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/growth.h"

/* ---- machines that ranks share --------------------------------------------------------------- */

double gw_sharing_turns(const struct gw_sharing *sharing, size_t ranks) {
    return sharing->processors == 0 ? 1 : fmax(1, (double)ranks / (double)sharing->processors);
}

double gw_sharing_part(const struct gw_sharing *sharing, size_t workers) {
    size_t ranks = workers < sharing->ranks ? workers : sharing->ranks;
    return ranks < 2
               ? 0
               : gw_sharing_turns(sharing, ranks) / gw_sharing_turns(sharing, sharing->together);
}

/* ---- composed collectives -------------------------------------------------------------------- */

/* A part of a composed collective among P workers. */
struct composed_part {
    const char *collective;
    bool each_round; /* once in each of the ceil(log2 P) rounds of a binary tree; otherwise once */
    bool server;     /* among P + 1 ranks */
    bool divided;    /* of a P-th of the bytes */
};

struct composed {
    const char *name;
    size_t part_count;
    struct composed_part parts[GW_COLLECTIVE_MAX_PARTS];
    double startup_error; /* relative, of composing it so */
};

/*
 * Up a tree, each round is a message between pairs (gTop-k: Shi et al. 2019, Algorithm 2; gs-SGD:
 * Dai et al. 2022, Fig. 1), and the root's result is broadcast. All workers push to a server at
 * once, and pull from it, which shares its link among them. Each worker of an alltoall sends a P-th
 * of its bytes to each other one, as in the steps of an allgather round a ring: measured in a box
 * (docs/results/calibration.md).
 */
static const struct composed all[] = {
    {.name = "gtopk",
     .part_count = 2,
     .parts = {{.collective = "sendrecv", .each_round = true}, {.collective = "broadcast"}}},
    {.name = "sketch",
     .part_count = 2,
     .parts = {{.collective = "sendrecv", .each_round = true}, {.collective = "broadcast"}}},
    {.name = "push", .part_count = 1, .parts = {{.collective = "gather", .server = true}}},
    {.name = "pull", .part_count = 1, .parts = {{.collective = "scatter", .server = true}}},
    {.name = "alltoall",
     .part_count = 1,
     .parts = {{.collective = "allgather", .divided = true}},
     .startup_error = 0.5}};

static size_t ranks_of(const struct composed_part *part, size_t workers) {
    return workers + part->server;
}

static size_t times_of(const struct composed_part *part, size_t workers) {
    size_t rounds = 0;
    while (rounds < 64 && ((workers - 1) >> rounds) > 0) {
        rounds++;
    }
    return part->each_round ? rounds : 1;
}

static double share_of(const struct composed_part *part, size_t workers) {
    return part->divided ? 1 / (double)workers : 1;
}

/*
 * Bytes that pass a node's link in an alltoall, over those in a ring of as many bytes a step: round
 * a ring only one of the G workers of a node sends to another node, and in an alltoall all do.
 */
static double crossing_of(const struct gw_cluster *cluster, const struct composed_part *part,
                          size_t workers) {
    double P = (double)workers;
    double G = (double)cluster->workers_per_node;
    return part->divided && P > G ? G * (P - G) / (P - 1) : 1;
}

static const char alone[] = "one worker exchanges nothing";

/* Appends to a derivation, as far as there is room. */
static void append_derivation(char derivation[GW_DERIVATION_SIZE], const char *text) {
    size_t length = strlen(derivation);
    (void)snprintf(derivation + length, GW_DERIVATION_SIZE - length, "%s", text);
}

/* Writes "gtopk: not measured; made up of 2 sendrecv + broadcast". */
static void describe_composed(const struct gw_cluster *cluster, const struct composed *composed,
                              size_t workers, char derivation[GW_DERIVATION_SIZE]) {
    (void)snprintf(derivation, GW_DERIVATION_SIZE, "%s: not measured; made up of", composed->name);
    for (size_t i = 0; i < composed->part_count; i++) {
        const struct composed_part *part = &composed->parts[i];
        size_t times = times_of(part, workers);
        char text[96];
        append_derivation(derivation, i == 0 ? " " : " + ");
        if (times > 1) {
            (void)snprintf(text, sizeof text, "%zu ", times);
            append_derivation(derivation, text);
        }
        append_derivation(derivation, part->collective);
        if (part->divided) {
            double crossing = crossing_of(cluster, part, workers);
            (void)snprintf(text, sizeof text, " of 1/%zu of the bytes", workers);
            append_derivation(derivation, text);
            (void)snprintf(text, sizeof text, ", of which %.3g times as many pass a node's link",
                           crossing);
            append_derivation(derivation, crossing > 1 ? text : "");
            (void)snprintf(text, sizeof text, "; startup %s",
                           gw_format_margin(composed->startup_error, 0, GW_UNITS_TEXT));
            append_derivation(derivation, text);
        }
        if (part->server) {
            (void)snprintf(text, sizeof text, " among %zu ranks, the server one of them",
                           ranks_of(part, workers));
            append_derivation(derivation, text);
        }
    }
}

/* Adds a part's curve, times its number of occurrences. */
static enum gw_status add_part(const struct gw_cluster *cluster, const struct composed_part *part,
                               size_t workers, struct gw_curve *curve,
                               char derivation[GW_DERIVATION_SIZE], struct gw_error *error) {
    char own[GW_DERIVATION_SIZE];
    double times = (double)times_of(part, workers);
    struct gw_curve once = {0};
    struct gw_curve often = {0};
    struct gw_curve sum = {0};
    GW_TRY(gw_cluster_collective(cluster, part->collective, ranks_of(part, workers), &once, own,
                                 error));
    enum gw_status status =
        gw_curve_scaled(&once, times, times * crossing_of(cluster, part, workers), &often, error);
    often.per_unit_s *= share_of(part, workers);
    for (size_t i = 0; i < often.point_count; i++) {
        often.points[i].size /= share_of(part, workers);
    }
    status = status == GW_OK ? gw_curve_sum(curve, &often, &sum, error) : status;
    gw_curve_free(&once);
    gw_curve_free(&often);
    GW_TRY(status);
    gw_curve_free(curve);
    *curve = sum;
    if (own[0] != '\0') {
        append_derivation(derivation, "; ");
        append_derivation(derivation, own);
    }
    return GW_OK;
}

static enum gw_status composed_curve(const struct gw_cluster *cluster,
                                     const struct composed *composed, size_t workers,
                                     struct gw_curve *curve, char derivation[GW_DERIVATION_SIZE],
                                     struct gw_error *error) {
    *curve = (struct gw_curve){0};
    if (workers == 1 && !composed->parts[0].server) {
        (void)snprintf(derivation, GW_DERIVATION_SIZE, "%s", alone);
        return GW_OK;
    }
    describe_composed(cluster, composed, workers, derivation);
    for (size_t i = 0; i < composed->part_count; i++) {
        enum gw_status status =
            add_part(cluster, &composed->parts[i], workers, curve, derivation, error);
        if (status != GW_OK) {
            gw_error_prefix(error, composed->name);
            gw_curve_free(curve);
            return status;
        }
    }
    return GW_OK;
}

/* ---- missing curves -------------------------------------------------------------------------- */

static enum gw_status missing_curve(const struct gw_cluster *cluster, const char *kind,
                                    const char *name, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: %s.%.60s: expected a measured curve, got nothing "
                   "(gradweave calibrate --only %.60s --add measures it)",
                   cluster->path == NULL ? cluster->name : cluster->path, kind, name, name);
}

/* ---- collectives --------------------------------------------------------------------------- */

const struct gw_collective_cost *gw_cluster_find_collective(const struct gw_cluster *cluster,
                                                            const char *name, size_t workers) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if ((workers == 0 || cost->workers == workers) && strcmp(cost->name, name) == 0) {
            return cost;
        }
    }
    return NULL;
}

/* Finds the entry that holds for `workers`: that for 2 if the collective does not grow. */
static const struct gw_collective_cost *find_holding(const struct gw_cluster *cluster,
                                                     const char *name, size_t workers) {
    const struct gw_collective_cost *measured = gw_cluster_find_collective(cluster, name, workers);
    const struct gw_growth_usual *usual = gw_growth_usual(name);
    bool grows = usual->startup != GW_GROWTH_CONSTANT || usual->slope != GW_GROWTH_CONSTANT;
    return measured != NULL || grows || workers < 2 ? measured
                                                    : gw_cluster_find_collective(cluster, name, 2);
}

/* Finds the entry of the nearest number of workers on a logarithmic scale; NULL: none. */
static const struct gw_collective_cost *find_nearest_cost(const struct gw_cluster *cluster,
                                                          const char *name, size_t workers) {
    const struct gw_collective_cost *nearest = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        double way = fabs(log((double)cost->workers / (double)workers));
        if (strcmp(cost->name, name) == 0 && way < least) {
            nearest = cost;
            least = way;
        }
    }
    return nearest;
}

static enum gw_status derive_from_one(const struct gw_growth *growth, size_t workers,
                                      struct gw_curve *curve, char derivation[GW_DERIVATION_SIZE],
                                      struct gw_error *error) {
    const struct gw_growth_sample *only = &growth->samples[0];
    const struct gw_growth_usual *usual = gw_growth_usual(growth->collective);
    (void)snprintf(derivation, GW_DERIVATION_SIZE,
                   "%s: %zu workers not measured; derived from %zu by the %s's growth law; how far "
                   "off is not known",
                   growth->collective, workers, only->workers, usual->algorithm);
    return gw_curve_scaled(
        only->curve, gw_growth_term_ratio(usual->startup, workers, only->workers),
        gw_growth_term_ratio(usual->slope, workers, only->workers), curve, error);
}

static void describe_growth(const struct gw_cluster *cluster, const struct gw_growth *growth,
                            size_t workers, char derivation[GW_DERIVATION_SIZE]) {
    char startup[GW_GROWTH_NAME_SIZE];
    char slope[GW_GROWTH_NAME_SIZE];
    static const double far = 2;
    char measured[48] = "";
    size_t length = 0;
    char beyond[48] = "";
    char half[GW_UNITS_SIZE];
    size_t largest = growth->samples[growth->count - 1].workers;
    for (size_t i = 0; i < growth->count && length < sizeof measured; i++) {
        length += (size_t)snprintf(measured + length, sizeof measured - length, "%s%zu",
                                   i == 0 ? "" : ", ", growth->samples[i].workers);
    }
    if (workers > largest) {
        (void)snprintf(beyond, sizeof beyond,
                       "%.3gx beyond the largest measured: ", (double)workers / (double)largest);
    }
    (void)snprintf(derivation, GW_DERIVATION_SIZE,
                   "%s: %zu workers not measured; from %s by growth laws %s (startup) and %s "
                   "(bandwidth), off by %.1f%% when each measured one is left out; %s%s%s",
                   growth->collective, workers, measured,
                   gw_growth_law_name(&growth->startup, startup),
                   gw_growth_law_name(&growth->slope, slope), 100 * growth->left_out_error, beyond,
                   gw_format_margin(gw_growth_uncertainty(growth, workers), 1, half),
                   cluster->network != NULL && (double)workers > far * (double)largest
                       ? "; use --network messages: it does not extrapolate"
                       : "");
}

/* Finds the composition of a collective without a curve of its own; NULL: none. */
static const struct composed *find_composed(const struct gw_cluster *cluster, const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, name) == 0 &&
            gw_cluster_find_collective(cluster, name, 0) == NULL) {
            return &all[i];
        }
    }
    return NULL;
}

enum gw_status gw_cluster_collective(const struct gw_cluster *cluster, const char *name,
                                     size_t workers, struct gw_curve *curve,
                                     char derivation[GW_DERIVATION_SIZE], struct gw_error *error) {
    const struct gw_collective_cost *measured = find_holding(cluster, name, workers);
    const struct composed *composed = find_composed(cluster, name);
    derivation[0] = '\0';
    if (measured != NULL) {
        return gw_curve_copy(&measured->curve, curve, error);
    }
    if (composed != NULL) {
        return composed_curve(cluster, composed, workers, curve, derivation, error);
    }
    const struct gw_growth *growth = gw_cluster_growth(cluster, name);
    if (growth == NULL) {
        return missing_curve(cluster, "collectives", name, error);
    }
    *curve = (struct gw_curve){0};
    if (workers == 1) {
        (void)snprintf(derivation, GW_DERIVATION_SIZE, "%s", alone);
        return GW_OK;
    }
    if (growth->count == 1) {
        return derive_from_one(growth, workers, curve, derivation, error);
    }
    describe_growth(cluster, growth, workers, derivation);
    return gw_growth_curve(growth, workers, curve, error);
}

size_t gw_cluster_collective_parts(const struct gw_cluster *cluster, const char *name,
                                   size_t workers,
                                   struct gw_collective_part out[GW_COLLECTIVE_MAX_PARTS]) {
    const struct composed *composed = find_composed(cluster, name);
    size_t count = composed == NULL ? 1 : composed->part_count;
    for (size_t i = 0; i < count; i++) {
        const char *part = composed == NULL ? name : composed->parts[i].collective;
        size_t ranks = composed == NULL ? workers : ranks_of(&composed->parts[i], workers);
        const struct gw_collective_cost *measured = find_holding(cluster, part, ranks);
        out[i] = (struct gw_collective_part){
            .name = part,
            .ranks = ranks,
            .share = composed == NULL ? 1 : share_of(&composed->parts[i], workers),
            .startup_error = composed == NULL ? 0 : composed->startup_error,
            .measured = measured,
            .nearest = measured == NULL ? find_nearest_cost(cluster, part, ranks) : measured};
    }
    return count;
}

double gw_cluster_least_s(const struct gw_cluster *cluster, const char *collective, size_t workers,
                          double bytes) {
    static const struct {
        const char *collective;
        bool each;    /* a worker's bytes go to, or come from, each of the others */
        double parts; /* of 1/P of the bytes go to, or come from, each of the others */
    } moved[] = {{"allgather", true, 0},      {"allgatherv", true, 0}, {"gather", true, 0},
                 {"scatter", true, 0},        {"allreduce", false, 2}, {"alltoall", false, 1},
                 {"reduce_scatter", false, 1}};
    const struct gw_network *network = cluster->network;
    double others = (double)workers - 1;
    double share = 1; /* of broadcast, reduce and sendrecv: all of it */
    if (network == NULL || network->between_assumed || cluster->workers_per_node > 1 ||
        workers < 2 || bytes < GW_MESSAGES_FEWEST_BYTES) {
        return 0;
    }
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        if (strcmp(moved[i].collective, collective) == 0) {
            share = moved[i].each ? others : moved[i].parts * others / (double)workers;
        }
    }
    return share * bytes * network->between.gap_s_per_byte;
}

bool gw_cluster_exceeds_messages(const struct gw_cluster *cluster,
                                 const struct gw_collective_cost *cost, char out[GW_EXCESS_SIZE]) {
    static const double alike = 1.05;
    static const double large = 1 << 28;
    char size[GW_UNITS_SIZE];
    char curve[GW_UNITS_SIZE];
    char messages[GW_UNITS_SIZE];
    double curve_s = gw_curve_time(&cost->curve, large);
    double least_s = gw_cluster_least_s(cluster, cost->name, cost->workers, large);
    (void)snprintf(out, GW_EXCESS_SIZE,
                   "%s among %zu: %s take %s, less than the %s that messages between two nodes "
                   "need for its bytes",
                   cost->name, cost->workers, gw_format_bytes(large, size),
                   gw_format_seconds(curve_s, curve), gw_format_seconds(least_s, messages));
    return least_s > alike * curve_s;
}

static double skew_at(const struct gw_collective_cost *cost, double bytes) {
    for (size_t i = 1; i < cost->skew_count; i++) {
        const struct gw_curve_point *low = &cost->skew[i - 1];
        const struct gw_curve_point *high = &cost->skew[i];
        if (bytes < high->size) {
            double way = fmax(bytes - low->size, 0) / (high->size - low->size);
            return low->time_s + way * (high->time_s - low->time_s);
        }
    }
    return cost->skew_count == 0 ? 0 : cost->skew[cost->skew_count - 1].time_s;
}

double gw_collective_skew_s(const struct gw_collective_cost *cost, double byte_factor,
                            double bytes) {
    double startup_s = gw_curve_startup(&cost->curve);
    double above_s = gw_curve_time(&cost->curve, bytes) - startup_s;
    return skew_at(cost, bytes) * fmax(startup_s + byte_factor * above_s, 0);
}

double gw_cluster_uncertainty(const struct gw_cluster *cluster, const char *name, size_t workers) {
    const struct composed *composed = find_composed(cluster, name);
    double largest = 0;
    for (size_t i = 0; composed != NULL && i < composed->part_count && !isnan(largest); i++) {
        const struct composed_part *part = &composed->parts[i];
        double own = gw_cluster_uncertainty(cluster, part->collective, ranks_of(part, workers));
        largest = isnan(own) || own > largest ? own : largest;
    }
    if (composed != NULL || workers == 1 || find_holding(cluster, name, workers) != NULL) {
        return largest;
    }
    const struct gw_growth *growth = gw_cluster_growth(cluster, name);
    return growth != NULL && growth->count >= 2 ? gw_growth_uncertainty(growth, workers) : NAN;
}

size_t gw_cluster_nodes(const struct gw_cluster *cluster, size_t workers) {
    return (workers - 1) / cluster->workers_per_node + 1;
}

/* ---- compressors --------------------------------------------------------------------------- */

enum gw_status gw_cluster_compressor(const struct gw_cluster *cluster, const char *name,
                                     const struct gw_kernel_cost **out, struct gw_error *error) {
    *out = gw_kernel_cost_find(&cluster->compressors, name);
    return *out == NULL ? missing_curve(cluster, "compressors", name, error) : GW_OK;
}
