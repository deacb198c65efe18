#include "sim/costs.h"

#include <string.h>

/* The curve looked up last: a schedule names the same collective for every group. */
struct cached_curve {
    const char *name;
    struct gw_curve curve;
};

static enum gw_status exchange_cost(const struct gw_operation *operation,
                                    const struct gw_cluster *cluster, size_t workers,
                                    struct cached_curve *cached, double *seconds,
                                    struct gw_result *result, struct gw_error *error) {
    if (cached->name == NULL || strcmp(cached->name, operation->method) != 0) {
        char derivation[GW_DERIVATION_SIZE];
        gw_curve_free(&cached->curve);
        cached->name = NULL;
        GW_TRY(gw_cluster_collective(cluster, operation->method, workers, &cached->curve,
                                     derivation, error));
        cached->name = operation->method;
        if (result != NULL) {
            gw_result_note(result, derivation);
        }
    }
    *seconds = gw_curve_time(&cached->curve, (double)operation->bytes);
    return GW_OK;
}

static enum gw_status compress_cost(const struct gw_operation *operation,
                                    const struct gw_cluster *cluster, double *seconds,
                                    struct gw_error *error) {
    const struct gw_curve *curve = NULL;
    GW_TRY(gw_cluster_compressor(cluster, operation->method, &curve, error));
    *seconds = gw_curve_time(curve, (double)operation->elements);
    return GW_OK;
}

enum gw_status gw_operation_costs(const struct gw_schedule *schedule,
                                  const struct gw_cluster *cluster, size_t workers, double *seconds,
                                  struct gw_result *result, struct gw_error *error) {
    struct cached_curve cached = {0};
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < schedule->operation_count && status == GW_OK; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        seconds[i] = operation->duration_s;
        if (operation->kind == GW_EXCHANGE) {
            status =
                exchange_cost(operation, cluster, workers, &cached, &seconds[i], result, error);
        } else if (operation->kind == GW_COMPRESS) {
            status = compress_cost(operation, cluster, &seconds[i], error);
        }
    }
    gw_curve_free(&cached.curve);
    return status;
}
