#include <math.h>
#include <stdio.h>
#include <string.h>

#include "traces/composed.h"

/*
 * The rounds up a tree are messages between pairs (gTop-k: Shi et al. 2019, Algorithm 2; gs-SGD:
 * Dai et al. 2022, Fig. 1), and what comes out at its root goes down as a broadcast does. All
 * workers push to a server at once, and pull from it, which shares its link among them.
 */
static const struct gw_composed all[] = {
    {"gtopk", 2, {{"sendrecv", true, false}, {"broadcast", false, false}}},
    {"sketch", 2, {{"sendrecv", true, false}, {"broadcast", false, false}}},
    {"push", 1, {{"gather", false, true}}},
    {"pull", 1, {{"scatter", false, true}}}};

const struct gw_composed *gw_composed_find(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

static size_t ranks_of(const struct gw_composed_part *part, size_t workers) {
    return workers + part->server;
}

static size_t times_of(const struct gw_composed_part *part, size_t workers) {
    size_t rounds = 0;
    while (rounds < 64 && ((workers - 1) >> rounds) > 0) {
        rounds++;
    }
    return part->each_round ? rounds : 1;
}

/* Appends to a derivation, as far as there is room. */
static void append(char derivation[GW_DERIVATION_SIZE], const char *text) {
    size_t length = strlen(derivation);
    (void)snprintf(derivation + length, GW_DERIVATION_SIZE - length, "%s", text);
}

/* "gtopk: not measured; made up of 2 sendrecv + broadcast" */
static void describe(const struct gw_composed *composed, size_t workers,
                     char derivation[GW_DERIVATION_SIZE]) {
    (void)snprintf(derivation, GW_DERIVATION_SIZE, "%s: not measured; made up of", composed->name);
    for (size_t i = 0; i < composed->part_count; i++) {
        const struct gw_composed_part *part = &composed->parts[i];
        size_t times = times_of(part, workers);
        char text[96];
        append(derivation, i == 0 ? " " : " + ");
        if (times > 1) {
            (void)snprintf(text, sizeof text, "%zu ", times);
            append(derivation, text);
        }
        append(derivation, part->collective);
        if (part->server) {
            (void)snprintf(text, sizeof text, " among %zu ranks, the server one of them",
                           ranks_of(part, workers));
            append(derivation, text);
        }
    }
}

/* Adds a part, as often as it occurs, to the curve. */
static enum gw_status add_part(const struct gw_cluster *cluster,
                               const struct gw_composed_part *part, size_t workers,
                               struct gw_curve *curve, char derivation[GW_DERIVATION_SIZE],
                               struct gw_error *error) {
    char own[GW_DERIVATION_SIZE];
    double times = (double)times_of(part, workers);
    struct gw_curve once = {0};
    struct gw_curve often = {0};
    struct gw_curve sum = {0};
    GW_TRY(gw_cluster_collective(cluster, part->collective, ranks_of(part, workers), &once, own,
                                 error));
    enum gw_status status = gw_curve_scaled(&once, times, times, &often, error);
    status = status == GW_OK ? gw_curve_sum(curve, &often, &sum, error) : status;
    gw_curve_free(&once);
    gw_curve_free(&often);
    GW_TRY(status);
    gw_curve_free(curve);
    *curve = sum;
    if (own[0] != '\0') {
        append(derivation, "; ");
        append(derivation, own);
    }
    return GW_OK;
}

enum gw_status gw_composed_curve(const struct gw_cluster *cluster,
                                 const struct gw_composed *composed, size_t workers,
                                 struct gw_curve *curve, char derivation[GW_DERIVATION_SIZE],
                                 struct gw_error *error) {
    *curve = (struct gw_curve){0};
    if (workers == 1 && !composed->parts[0].server) {
        (void)snprintf(derivation, GW_DERIVATION_SIZE, "%s: one worker exchanges nothing",
                       composed->name);
        return GW_OK;
    }
    describe(composed, workers, derivation);
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

/* NAN, where one of the parts is: not known. */
enum gw_status gw_composed_uncertainty(const struct gw_cluster *cluster,
                                       const struct gw_composed *composed, size_t workers,
                                       double *out, struct gw_error *error) {
    *out = 0;
    for (size_t i = 0; i < composed->part_count; i++) {
        const struct gw_composed_part *part = &composed->parts[i];
        double own = 0;
        GW_TRY(gw_cluster_uncertainty(cluster, part->collective, ranks_of(part, workers), &own,
                                      error));
        *out = isnan(own) || own > *out ? own : *out;
        if (isnan(own)) {
            return GW_OK;
        }
    }
    return GW_OK;
}
