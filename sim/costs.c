#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/kernel_cost.h"
#include "sim/simulator.h"

/* ---- exchanges ----------------------------------------------------------------------------- */

/* Finds the factor on a byte's time by slow nodes and background traffic; 1: none of them. */
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

static double find_aggregation_s(const struct gw_simulator *simulator, size_t index) {
    const struct gw_operation *operation = &simulator->schedule->operations[index];
    const struct gw_leg_cost *leg = simulator->legs[index];
    struct gw_turns turns = {0};
    double seconds = 0;
    if (simulator->simulation.interference && leg->aggregator_count > 0) {
        turns = gw_turns_behind(gw_costs_of(simulator, operation), leg, simulator->congestion,
                                (double)operation->bytes);
    }
    for (size_t i = 0; i < leg->aggregator_count; i++) {
        const struct gw_aggregator_cost *one = gw_aggregator_behind(simulator, index, i);
        if (one != NULL) {
            struct gw_extent extent = gw_schedule_extent(simulator->schedule, operation->group);
            struct gw_aggregator_call call = gw_aggregator_call_of(leg->leg, one, &extent);
            seconds += gw_aggregator_s(one, call, &turns) *
                       gw_parameter_factor(simulator, gw_aggregator_curve(one->by),
                                           one->kernel->name, call.elements, call.share);
        }
    }
    return seconds;
}

bool gw_server_aggregates(const struct gw_schedule *schedule,
                          const struct gw_operation *operation) {
    const struct gw_leg *leg =
        operation->kind == GW_EXCHANGE ? gw_schedule_leg(schedule, operation) : NULL;
    return leg != NULL && leg->aggregations[0].recurrence != GW_NEVER &&
           leg->aggregations[0].where == GW_AT_SERVER;
}

static double exchange_s(const struct gw_simulator *simulator, size_t index) {
    double seconds = find_aggregation_s(simulator, index);
    if (simulator->simulation.level == GW_LEVEL_CURVES) {
        const struct gw_operation *operation = &simulator->schedule->operations[index];
        const struct gw_leg_cost *leg = simulator->legs[index];
        const struct gw_costs *costs = gw_costs_of(simulator, operation);
        size_t number =
            (size_t)(costs - simulator->costs) * GW_MAX_LEGS + (size_t)(leg - costs->legs);
        const struct gw_curve *curve =
            simulator->congestion == 1 ? &leg->curve : &simulator->congested[number];
        double bytes = (double)operation->bytes;
        seconds += gw_curve_time(curve, bytes) *
                   gw_parameter_factor(simulator, GW_COLLECTIVE_CURVE, operation->method, bytes, 0);
    }
    return seconds;
}

/* ---- compression --------------------------------------------------------------------------- */

static double compress_s(const struct gw_simulator *simulator, size_t index) {
    const struct gw_operation *operation = &simulator->schedule->operations[index];
    const struct gw_kernel_cost *cost = simulator->kernels[index];
    double elements = (double)operation->elements;
    double share = gw_schedule_share(simulator->schedule, operation, cost, elements);
    return gw_kernel_s(cost, elements, share) *
           gw_parameter_factor(simulator, GW_COMPRESSOR_CURVE, operation->method, elements, share);
}

static void find_led_costs(struct gw_simulator *simulator) {
    const struct gw_schedule *schedule = simulator->schedule;
    double *led_s = simulator->interference.led_s;
    for (size_t i = 0; led_s != NULL && i < schedule->operation_count; i++) {
        const struct gw_kernel_cost *cost = gw_led_cost(simulator, &schedule->operations[i]);
        double elements = (double)schedule->operations[i].elements;
        led_s[i] = cost == NULL ? -1
                                : gw_kernel_s(cost, elements, 0) *
                                      gw_parameter_factor(simulator, GW_AGGREGATOR_CURVE,
                                                          cost->name, elements, 0);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Finds the leg of an exchange, by its payload and its collective, or by its collective alone. */
static enum gw_status find_leg(struct gw_simulator *simulator, size_t index,
                               struct gw_error *error) {
    const struct gw_operation *operation = &simulator->schedule->operations[index];
    const struct gw_leg_cost *found =
        gw_costs_find_leg(gw_costs_of(simulator, operation),
                          gw_schedule_leg(simulator->schedule, operation), operation->method);
    simulator->legs[index] = found;
    if (found == NULL) {
        return gw_fail(error, GW_FAILED,
                       "simulation: operation %zu: expected costs of %s, got none", index,
                       operation->method);
    }
    return GW_OK;
}

enum gw_status gw_operation_sources(struct gw_simulator *simulator, struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_kernel_cost *kernel = NULL;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const char *method = schedule->operations[i].method;
        if (schedule->operations[i].kind == GW_EXCHANGE) {
            GW_TRY(find_leg(simulator, i, error));
        } else if (schedule->operations[i].kind == GW_COMPRESS) {
            if (kernel == NULL || strcmp(kernel->name, method) != 0) {
                GW_TRY(gw_cluster_compressor(simulator->cluster, method, &kernel, error));
            }
            simulator->kernels[i] = kernel;
        }
    }
    return GW_OK;
}

/* Notes how curves of the schedule's exchanges were derived. */
static void note_derivations(const struct gw_simulator *simulator, struct gw_result *result) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_leg_cost *before = NULL;
    bool counted = result != NULL && simulator->simulation.level == GW_LEVEL_CURVES;
    for (size_t i = 0; counted && i < schedule->operation_count; i++) {
        const struct gw_leg_cost *leg = simulator->legs[i];
        if (leg == NULL || leg == before || leg->derivation[0] == '\0') {
            continue;
        }
        before = leg;
        if (simulator->costs->workers > 1) {
            gw_result_derive(result, leg->leg->collective, leg->derivation);
        } else {
            gw_result_warn(result, leg->derivation);
        }
    }
}

enum gw_status gw_operation_costs(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error) {
    simulator->congestion = 1;
    if (simulator->simulation.level == GW_LEVEL_CURVES) {
        GW_TRY(find_congestion(simulator->cluster, &simulator->simulation, &simulator->congestion,
                               result, error));
        size_t count = simulator->congestion == 1 ? 0 : simulator->costs_count * GW_MAX_LEGS;
        for (size_t i = 0; i < count; i++) {
            const struct gw_costs *costs = &simulator->costs[i / GW_MAX_LEGS];
            GW_TRY(gw_curve_scaled(&costs->legs[i % GW_MAX_LEGS].curve, 1, simulator->congestion,
                                   &simulator->congested[i], error));
        }
    }
    note_derivations(simulator, result);
    GW_TRY(gw_parameters_open(simulator, result, error));
    gw_operation_costs_again(simulator);
    return GW_OK;
}

void gw_operation_costs_again(struct gw_simulator *simulator) {
    const struct gw_schedule *schedule = simulator->schedule;
    double model = gw_parameter_factor(simulator, GW_MODEL_TIMES, NULL, 0, 0);
    double passes = gw_parameter_factor(simulator, GW_PASSES, NULL, 0, 0);
    for (size_t i = 0; i < schedule->operation_count; i++) {
        enum gw_activity kind = schedule->operations[i].kind;
        bool is_pass = kind == GW_FORWARD || kind == GW_BACKWARD;
        simulator->seconds[i] = kind == GW_EXCHANGE   ? exchange_s(simulator, i)
                                : kind == GW_COMPRESS ? compress_s(simulator, i)
                                                      : schedule->operations[i].duration_s *
                                                            (is_pass ? passes : 1) * model;
    }
    find_led_costs(simulator);
}

void gw_simulator_deviate(struct gw_simulator *simulator, const struct gw_parameter *parameter,
                          double deviation) {
    simulator->deviating = parameter;
    simulator->deviation = deviation;
    gw_operation_costs_again(simulator);
}
