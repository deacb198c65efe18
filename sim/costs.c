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

static const struct gw_price *find_price(const struct gw_prices *prices, const char *collective) {
    for (size_t i = 0; i < prices->count; i++) {
        if (strcmp(prices->list[i].collective, collective) == 0) {
            return &prices->list[i];
        }
    }
    return NULL;
}

static enum gw_status add_price(struct gw_simulator *simulator, const char *collective,
                                struct gw_result *result, struct gw_error *error) {
    struct gw_prices *prices = &simulator->prices;
    size_t workers = simulator->simulation.workers;
    struct gw_price *larger =
        gw_grow(prices->list, prices->count + 1, &prices->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    prices->list = larger;
    struct gw_price *added = &larger[prices->count];
    char derivation[GW_DERIVATION_SIZE];
    *added = (struct gw_price){.collective = collective};
    GW_TRY(gw_collective_curve(simulator->cluster, collective, workers, simulator->byte_factor,
                               &added->curve, derivation, error));
    prices->count++;
    if (result != NULL) {
        if (workers > 1) {
            gw_result_derive(result, collective, derivation);
        } else {
            gw_result_warn(result, derivation);
        }
    }
    return GW_OK;
}

static void release_prices(void *object) {
    struct gw_prices *prices = object;
    for (size_t i = 0; i < prices->count; i++) {
        gw_curve_free(&prices->list[i].curve);
    }
    free(prices->list);
}

static double server_aggregation_s(const struct gw_simulator *simulator,
                                   const struct gw_operation *operation) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_leg *leg = gw_schedule_leg(schedule, operation);
    if (leg == NULL || operation->group >= schedule->group_count) {
        return 0;
    }
    struct gw_extent extent = gw_schedule_extent(schedule, operation->group);
    const struct gw_aggregation_costs *costs =
        &simulator->aggregations[leg - schedule->exchange->legs];
    double seconds = 0;
    size_t workers = simulator->simulation.workers;
    struct gw_turns turns = {0};
    if (simulator->simulation.interference) {
        turns = gw_turns_behind(simulator->cluster, operation->method, workers,
                                simulator->byte_factor, (double)operation->bytes);
    }
    for (size_t i = 0; i < GW_MAX_AGGREGATIONS; i++) {
        if (costs->by[i] != NULL) {
            struct gw_aggregator_calls calls =
                gw_aggregator_calls_of(leg, costs, i, &extent, workers);
            seconds += gw_aggregator_s(leg, costs, i, &calls, &turns) *
                       gw_parameter_factor(simulator, GW_AGGREGATOR_CURVE, costs->by[i]->name,
                                           calls.elements, calls.share);
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

static double exchange_s(const struct gw_simulator *simulator,
                         const struct gw_operation *operation) {
    double seconds = server_aggregation_s(simulator, operation);
    if (simulator->simulation.level == GW_LEVEL_CURVES) {
        const struct gw_price *price = gw_needed(find_price(&simulator->prices, operation->method));
        double bytes = (double)operation->bytes;
        seconds += gw_curve_time(&price->curve, bytes) *
                   gw_parameter_factor(simulator, GW_COLLECTIVE_CURVE, price->collective, bytes, 0);
    }
    return seconds;
}

/* ---- compression --------------------------------------------------------------------------- */

static enum gw_status compress_cost(struct gw_simulator *simulator, size_t index,
                                    struct gw_error *error) {
    const struct gw_operation *operation = &simulator->schedule->operations[index];
    const struct gw_kernel_cost *cost = NULL;
    double elements = (double)operation->elements;
    GW_TRY(gw_cluster_compressor(simulator->cluster, operation->method, &cost, error));
    double share = gw_schedule_share(simulator->schedule, operation, cost, elements);
    simulator->seconds[index] =
        gw_kernel_s(cost, elements, share) *
        gw_parameter_factor(simulator, GW_COMPRESSOR_CURVE, operation->method, elements, share);
    return GW_OK;
}

void gw_led_costs(struct gw_simulator *simulator) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_kernel_cost *cost = gw_led_cost(simulator);
    double *led_s = simulator->interference.led_s;
    for (size_t i = 0; cost != NULL && led_s != NULL && i < schedule->operation_count; i++) {
        double elements = (double)schedule->operations[i].elements;
        led_s[i] = gw_kernel_s(cost, elements, 0) *
                   gw_parameter_factor(simulator, GW_AGGREGATOR_CURVE, cost->name, elements, 0);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Finds the costs of aggregating each leg; timed compression has no searches of sketches. */
static void find_aggregations(struct gw_simulator *simulator) {
    const struct gw_exchange_kind *exchange = simulator->schedule->exchange;
    for (size_t i = 0; exchange != NULL && i < exchange->leg_count; i++) {
        struct gw_aggregation_costs *costs = &simulator->aggregations[i];
        *costs = gw_aggregation_costs_of(&exchange->legs[i], simulator->cluster);
        for (size_t a = 0; a < GW_MAX_AGGREGATIONS; a++) {
            if (simulator->simulation.timed_compression &&
                exchange->legs[i].aggregations[a].by == GW_HEAVYMIX) {
                costs->by[a] = NULL;
            }
        }
    }
}

enum gw_status gw_operation_costs(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    if (gw_arena_own(&simulator->arena, &simulator->prices, release_prices) == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    if (simulator->simulation.level == GW_LEVEL_CURVES) {
        double factor = simulator->simulation.bandwidth_factor;
        double congestion = 1;
        GW_TRY(find_congestion(simulator->cluster, &simulator->simulation, &congestion, result,
                               error));
        simulator->byte_factor = congestion / (factor > 0 ? factor : 1);
    }
    find_aggregations(simulator);
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        simulator->seconds[i] = operation->duration_s; /* of computing, the model's own */
        if (operation->kind == GW_COMPRESS) {
            GW_TRY(compress_cost(simulator, i, error));
        } else if (operation->kind == GW_EXCHANGE &&
                   simulator->simulation.level == GW_LEVEL_CURVES &&
                   find_price(&simulator->prices, operation->method) == NULL) {
            GW_TRY(add_price(simulator, operation->method, result, error));
        }
    }
    GW_TRY(gw_parameters_open(simulator, result, error));
    gw_operation_costs_again(simulator);
    return GW_OK;
}

void gw_operation_costs_again(struct gw_simulator *simulator) {
    const struct gw_schedule *schedule = simulator->schedule;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (schedule->operations[i].kind == GW_EXCHANGE) {
            simulator->seconds[i] = exchange_s(simulator, &schedule->operations[i]);
        } else if (schedule->operations[i].kind == GW_COMPRESS) {
            (void)compress_cost(simulator, i, NULL); /* whose curve was found before */
        } else {
            enum gw_activity kind = schedule->operations[i].kind;
            double passes = kind == GW_FORWARD || kind == GW_BACKWARD
                                ? gw_parameter_factor(simulator, GW_PASSES, NULL, 0, 0)
                                : 1;
            simulator->seconds[i] = schedule->operations[i].duration_s * passes *
                                    gw_parameter_factor(simulator, GW_MODEL_TIMES, NULL, 0, 0);
        }
    }
    gw_led_costs(simulator);
}

void gw_simulator_deviate(struct gw_simulator *simulator, const struct gw_parameter *parameter,
                          double deviation) {
    simulator->deviating = parameter;
    simulator->deviation = deviation;
    gw_operation_costs_again(simulator);
}
