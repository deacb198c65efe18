#include "sim/selecting.h"

#include <stdlib.h>
#include <string.h>

#include "sim/interference.h"

/* What an iteration changes is a copy, all else the original's. */
struct gw_selecting {
    struct gw_simulator simulator;
    struct gw_schedule schedule;
    struct gw_operation *operations;
    struct gw_slice *groups;
    double *seconds;
    struct gw_slowing *slowing; /* NULL without interference */
};

static void *copy_of(const void *list, size_t count, size_t size) {
    void *copy = calloc(count + 1, size);
    if (copy != NULL) {
        memcpy(copy, list, count * size);
    }
    return copy;
}

static enum gw_status copy(struct gw_selecting *out, const struct gw_simulator *of,
                           struct gw_error *error) {
    const struct gw_schedule *schedule = of->schedule;
    size_t operations = schedule->operation_count;
    out->operations = copy_of(schedule->operations, operations, sizeof *out->operations);
    out->groups = copy_of(schedule->groups, schedule->group_count, sizeof *out->groups);
    out->seconds = copy_of(of->seconds, operations, sizeof *out->seconds);
    size_t factors = operations * of->interference.class_count;
    if (factors > 0) {
        out->slowing = copy_of(of->interference.slowing, factors, sizeof *out->slowing);
    }
    if (out->operations == NULL || out->groups == NULL || out->seconds == NULL ||
        (factors > 0 && out->slowing == NULL)) {
        return gw_fail_memory(error, "simulating");
    }
    out->schedule = *schedule;
    out->schedule.operations = out->operations;
    out->schedule.groups = out->groups;
    out->simulator = *of;
    out->simulator.schedule = &out->schedule;
    out->simulator.seconds = out->seconds;
    out->simulator.interference.slowing = out->slowing;
    return GW_OK;
}

enum gw_status gw_selecting_open(struct gw_selecting **out, const struct gw_simulator *of,
                                 struct gw_error *error) {
    struct gw_selecting *selecting = calloc(1, sizeof *selecting);
    if (selecting == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    enum gw_status status = copy(selecting, of, error);
    if (status != GW_OK) {
        gw_selecting_close(selecting);
        return status;
    }
    *out = selecting;
    return GW_OK;
}

const struct gw_simulator *gw_selecting_simulator(const struct gw_selecting *selecting) {
    return &selecting->simulator;
}

void gw_selecting_take(struct gw_selecting *selecting, uint64_t iteration) {
    const struct gw_simulation *simulation = &selecting->simulator.simulation;
    size_t first = (size_t)(iteration % simulation->selected_count);
    gw_schedule_select(&selecting->schedule,
                       simulation->selected + first * selecting->schedule.group_count);
    gw_operation_costs_again(&selecting->simulator);
    if (selecting->slowing != NULL) {
        gw_interference_again(&selecting->simulator.interference, &selecting->schedule);
    }
}

void gw_selecting_close(struct gw_selecting *selecting) {
    if (selecting == NULL) {
        return;
    }
    free(selecting->operations);
    free(selecting->groups);
    free(selecting->seconds);
    free(selecting->slowing);
    free(selecting);
}
