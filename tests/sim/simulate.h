/* Runs of the simulator, for tests. */
#ifndef GW_TESTS_SIM_SIMULATE_H
#define GW_TESTS_SIM_SIMULATE_H

#include <string.h>

#include "sim/sim.h"
#include "tests/test.h"
#include "tests/timeline_order.h"

/* A simulator with the costs that it borrows. */
struct simulation_run {
    struct gw_model model;
    struct gw_tensor tensor;
    struct gw_exchange_kind exchange;
    struct gw_algorithm method;
    struct gw_costs costs;
    struct gw_simulator *simulator;
};

/*
 * Opens a simulator with costs of the schedule's own exchange, if its operations are legs of it, or
 * of a leg for each of their collectives.
 */
static inline enum gw_status open_run(struct simulation_run *run,
                                      const struct gw_schedule *schedule,
                                      const struct gw_cluster *cluster,
                                      const struct gw_simulation *simulation,
                                      struct gw_result *result, struct gw_error *error) {
    *run = (struct simulation_run){.tensor = {.name = "t", .elements = 1},
                                   .method = {.compressor = &gw_compressor_none}};
    run->model = (struct gw_model){
        .name = "m", .bytes_per_element = 4, .tensor_count = 1, .tensors = &run->tensor};
    run->method.exchange = &run->exchange;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        size_t leg = 0;
        if (operation->kind != GW_EXCHANGE) {
            continue;
        }
        if (gw_schedule_leg(schedule, operation) != NULL) {
            run->method.exchange = gw_schedule_way(schedule, operation)->exchange;
        }
        while (leg < run->exchange.leg_count &&
               strcmp(run->exchange.legs[leg].collective, operation->method) != 0) {
            leg++;
        }
        assert_true(leg < GW_MAX_LEGS);
        run->exchange.legs[leg].collective = operation->method;
        run->exchange.leg_count += leg == run->exchange.leg_count;
    }
    const struct gw_scenario scenario = {.model = &run->model,
                                         .cluster = cluster,
                                         .method = &run->method,
                                         .workers = simulation->workers,
                                         .density = 1,
                                         .bandwidth = 1,
                                         .messages = simulation->level == GW_LEVEL_MESSAGES ||
                                                     run->method.exchange->leg_count == 0};
    GW_TRY(gw_costs_open(&scenario, &run->costs, error));
    enum gw_status status =
        gw_simulator_open(&run->simulator, schedule, &run->costs, simulation, result, error);
    if (status != GW_OK) {
        gw_costs_close(&run->costs);
    }
    return status;
}

static inline void close_run(struct simulation_run *run) {
    gw_simulator_close(run->simulator);
    gw_costs_close(&run->costs);
}

static inline void open_simulator(struct simulation_run *run, const struct gw_schedule *schedule,
                                  const struct gw_cluster *cluster,
                                  const struct gw_simulation *simulation) {
    struct gw_error error = {0};
    if (open_run(run, schedule, cluster, simulation, NULL, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
}

/* Measures so many repetitions; `timeline` (or NULL) is the caller's to free. */
static inline void run_simulation(const struct gw_schedule *schedule,
                                  const struct gw_cluster *cluster,
                                  const struct gw_simulation *simulation, size_t iterations,
                                  struct gw_timeline *timeline, struct gw_measure *measures) {
    struct gw_error error = {0};
    struct simulation_run run;
    open_simulator(&run, schedule, cluster, simulation);
    if (timeline != NULL) {
        assert_ok(gw_simulator_timeline(run.simulator, timeline, NULL));
    }
    if (gw_simulator_run(run.simulator, iterations, timeline, measures, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    close_run(&run);
}

/* Measures a timeline, which must be valid. */
static inline struct gw_measure measure_timeline(const struct gw_timeline *timeline) {
    struct gw_measure measure;
    assert_true(spans_are_ordered(timeline));
    assert_ok(gw_timeline_measure(timeline, &measure, NULL));
    return measure;
}

#endif
