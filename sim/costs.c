#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/simulator.h"

/* ---- exchanges ----------------------------------------------------------------------------- */

/* What the network does to a byte's time: 1 on a quiet network of equal nodes. */
static enum gw_status find_congestion(const struct gw_cluster *cluster,
                                      const struct gw_simulation *simulation, double *out,
                                      struct gw_result *result, struct gw_error *error) {
    const double *bandwidth = simulation->bandwidth;
    double slowest = bandwidth == NULL ? 1 : bandwidth[0];
    size_t nodes = bandwidth == NULL ? 1 : gw_cluster_nodes(cluster, simulation->workers);
    for (size_t node = 1; node < nodes; node++) {
        slowest = fmin(slowest, bandwidth[node]);
    }
    *out = 1 / (slowest * (1 - simulation->background));
    if (!(isfinite(*out) && *out > 0)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "simulation: expected nodes and background traffic that leave some "
                       "bandwidth, got factor %g and a share of %g",
                       slowest, simulation->background);
    }
    if (result != NULL && *out != 1) {
        char note[GW_RESULT_NOTE_SIZE];
        snprintf(note, sizeof note,
                 "exchanges: per-byte part x %.4g (slowest node's bandwidth x %.4g, background "
                 "traffic %.4g)",
                 *out, slowest, simulation->background);
        gw_result_note(result, note);
    }
    return GW_OK;
}

/* The curve looked up last: a schedule names the same collective for every group. */
struct cached_curve {
    double congestion;
    const char *name;
    struct gw_curve curve;
};

static enum gw_status look_up(const char *name, const struct gw_cluster *cluster, size_t workers,
                              double congestion, struct gw_curve *out,
                              char derivation[GW_DERIVATION_SIZE], struct gw_error *error) {
    GW_TRY(gw_cluster_collective(cluster, name, workers, out, derivation, error));
    if (congestion == 1) {
        return GW_OK;
    }
    struct gw_curve quiet = *out;
    *out = (struct gw_curve){0};
    enum gw_status status = gw_curve_scaled(&quiet, 1, congestion, out, error);
    gw_curve_free(&quiet);
    return status;
}

static enum gw_status exchange_cost(const struct gw_operation *operation,
                                    const struct gw_cluster *cluster, size_t workers,
                                    struct cached_curve *cached, double *seconds,
                                    struct gw_result *result, struct gw_error *error) {
    if (cached->name == NULL || strcmp(cached->name, operation->method) != 0) {
        char derivation[GW_DERIVATION_SIZE];
        gw_curve_free(&cached->curve);
        cached->name = NULL;
        GW_TRY(look_up(operation->method, cluster, workers, cached->congestion, &cached->curve,
                       derivation, error));
        cached->name = operation->method;
        if (result != NULL) {
            gw_result_note(result, derivation);
        }
    }
    *seconds = gw_curve_time(&cached->curve, (double)operation->bytes);
    return GW_OK;
}

/* ---- compression --------------------------------------------------------------------------- */

static enum gw_status compress_cost(const struct gw_operation *operation,
                                    const struct gw_cluster *cluster, double *seconds,
                                    struct gw_error *error) {
    const struct gw_curve *curve = NULL;
    GW_TRY(gw_cluster_compressor(cluster, operation->method, &curve, error));
    *seconds = gw_curve_time(curve, (double)operation->elements);
    return GW_OK;
}

/* ---- all ----------------------------------------------------------------------------------- */

enum gw_status gw_operation_costs(const struct gw_schedule *schedule,
                                  const struct gw_cluster *cluster,
                                  const struct gw_simulation *simulation, double *seconds,
                                  struct gw_result *result, struct gw_error *error) {
    struct cached_curve cached = {0};
    bool curves = simulation->level == GW_LEVEL_CURVES;
    if (curves) {
        GW_TRY(find_congestion(cluster, simulation, &cached.congestion, result, error));
    }
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < schedule->operation_count && status == GW_OK; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        seconds[i] = operation->duration_s;
        if (operation->kind == GW_EXCHANGE && curves) {
            status = exchange_cost(operation, cluster, simulation->workers, &cached, &seconds[i],
                                   result, error);
        } else if (operation->kind == GW_COMPRESS) {
            status = compress_cost(operation, cluster, &seconds[i], error);
        }
    }
    gw_curve_free(&cached.curve);
    return status;
}
