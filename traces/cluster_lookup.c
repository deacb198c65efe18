#include <math.h>
#include <stdio.h>
#include <string.h>

#include "traces/cluster.h"
#include "traces/composed.h"
#include "traces/growth.h"

static enum gw_status missing(const struct gw_cluster *cluster, const char *kind, const char *name,
                              struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: %s.%s: expected a measured curve, got nothing "
                   "(gradweave calibrate --only %s --add measures it)",
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

/* The entry that holds for `workers`: one for two does where others have no part in it. */
static const struct gw_collective_cost *find_holding(const struct gw_cluster *cluster,
                                                     const char *name, size_t workers) {
    const struct gw_collective_cost *measured = gw_cluster_find_collective(cluster, name, workers);
    const struct gw_growth_usual *usual = gw_growth_usual(name);
    bool grows = usual->startup != GW_GROWTH_CONSTANT || usual->slope != GW_GROWTH_CONSTANT;
    return measured != NULL || grows || workers < 2 ? measured
                                                    : gw_cluster_find_collective(cluster, name, 2);
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

static void list_measured(const struct gw_growth *growth, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < growth->count && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%zu", i == 0 ? "" : ", ",
                                   growth->samples[i].workers);
    }
}

static void describe(const struct gw_growth *growth, size_t workers,
                     char derivation[GW_DERIVATION_SIZE]) {
    char startup[GW_GROWTH_NAME_SIZE];
    char slope[GW_GROWTH_NAME_SIZE];
    char measured[48];
    char beyond[48] = "";
    size_t largest = growth->samples[growth->count - 1].workers;
    list_measured(growth, measured, sizeof measured);
    if (workers > largest) {
        (void)snprintf(beyond, sizeof beyond,
                       "%.3gx beyond the largest measured: ", (double)workers / (double)largest);
    }
    (void)snprintf(derivation, GW_DERIVATION_SIZE,
                   "%s: %zu workers not measured; from %s by growth laws %s (startup) and %s "
                   "(bandwidth), off by %.1f%% when each measured one is left out; %s+-%.1f%%",
                   growth->collective, workers, measured,
                   gw_growth_law_name(&growth->startup, startup),
                   gw_growth_law_name(&growth->slope, slope), 100 * growth->left_out_error, beyond,
                   100 * gw_growth_uncertainty(growth, workers));
}

/* How a collective without any curve of its own is made up of others; NULL: it is not. */
static const struct gw_composed *find_composed(const struct gw_cluster *cluster, const char *name) {
    return gw_cluster_find_collective(cluster, name, 0) == NULL ? gw_composed_find(name) : NULL;
}

enum gw_status gw_cluster_collective(const struct gw_cluster *cluster, const char *name,
                                     size_t workers, struct gw_curve *curve,
                                     char derivation[GW_DERIVATION_SIZE], struct gw_error *error) {
    const struct gw_collective_cost *measured = find_holding(cluster, name, workers);
    const struct gw_composed *composed = find_composed(cluster, name);
    derivation[0] = '\0';
    if (measured != NULL) {
        return gw_curve_copy(&measured->curve, curve, error);
    }
    if (composed != NULL) {
        return gw_composed_curve(cluster, composed, workers, curve, derivation, error);
    }
    struct gw_growth growth;
    GW_TRY(gw_growth_find(cluster, name, &growth, error));
    if (growth.count == 0) {
        return missing(cluster, "collectives", name, error);
    }
    *curve = (struct gw_curve){0};
    if (workers == 1) {
        (void)snprintf(derivation, GW_DERIVATION_SIZE, "%s: one worker exchanges nothing", name);
        return GW_OK;
    }
    if (growth.count == 1) {
        return derive_from_one(&growth, workers, curve, derivation, error);
    }
    describe(&growth, workers, derivation);
    return gw_growth_curve(&growth, workers, curve, error);
}

enum gw_status gw_cluster_uncertainty(const struct gw_cluster *cluster, const char *name,
                                      size_t workers, double *out, struct gw_error *error) {
    struct gw_growth growth;
    const struct gw_composed *composed = find_composed(cluster, name);
    *out = 0;
    if (composed != NULL) {
        return gw_composed_uncertainty(cluster, composed, workers, out, error);
    }
    if (workers == 1 || find_holding(cluster, name, workers) != NULL) {
        return GW_OK;
    }
    GW_TRY(gw_growth_find(cluster, name, &growth, error));
    *out = growth.count >= 2 ? gw_growth_uncertainty(&growth, workers) : NAN;
    return GW_OK;
}

size_t gw_cluster_nodes(const struct gw_cluster *cluster, size_t workers) {
    return (workers - 1) / cluster->workers_per_node + 1;
}

/* ---- compressors --------------------------------------------------------------------------- */

const struct gw_compressor_cost *gw_cluster_find_compressor(const struct gw_cluster *cluster,
                                                            const char *name) {
    for (size_t i = 0; i < cluster->compressor_count; i++) {
        if (strcmp(cluster->compressors[i].name, name) == 0) {
            return &cluster->compressors[i];
        }
    }
    return NULL;
}

enum gw_status gw_cluster_compressor(const struct gw_cluster *cluster, const char *name,
                                     const struct gw_curve **curve, struct gw_error *error) {
    const struct gw_compressor_cost *cost = gw_cluster_find_compressor(cluster, name);
    if (cost == NULL) {
        return missing(cluster, "compressors", name, error);
    }
    *curve = &cost->curve;
    return GW_OK;
}
