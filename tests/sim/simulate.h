/* Runs of the simulator, for tests. */
#ifndef GW_TESTS_SIM_SIMULATE_H
#define GW_TESTS_SIM_SIMULATE_H

#include "sim/sim.h"
#include "tests/test.h"
#include "tests/timeline_order.h"

static inline struct gw_simulator *open_simulator(const struct gw_schedule *schedule,
                                                  const struct gw_cluster *cluster,
                                                  const struct gw_simulation *simulation) {
    struct gw_simulator *simulator = NULL;
    struct gw_error error = {0};
    if (gw_simulator_open(&simulator, schedule, cluster, simulation, NULL, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    return simulator;
}

/* Measures so many repetitions; `timeline` (or NULL) is the caller's to free. */
static inline void run_simulation(const struct gw_schedule *schedule,
                                  const struct gw_cluster *cluster,
                                  const struct gw_simulation *simulation, size_t iterations,
                                  struct gw_timeline *timeline, struct gw_measure *measures) {
    struct gw_error error = {0};
    struct gw_simulator *simulator = open_simulator(schedule, cluster, simulation);
    if (timeline != NULL) {
        assert_int_equal(gw_simulator_timeline(simulator, timeline, NULL), GW_OK);
    }
    if (gw_simulator_run(simulator, iterations, timeline, measures, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    gw_simulator_close(simulator);
}

/* Measures a timeline, which must be valid. */
static inline struct gw_measure measure_timeline(const struct gw_timeline *timeline) {
    struct gw_measure measure;
    assert_true(spans_are_ordered(timeline));
    assert_int_equal(gw_timeline_measure(timeline, &measure, NULL), GW_OK);
    return measure;
}

#endif
