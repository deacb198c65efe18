#include <stdlib.h>

#include "sim/simulator.h"

struct unlike {
    double slowdown;
    size_t worker;
};

static int compare_unlike(const void *left, const void *right) {
    const struct unlike *a = left;
    const struct unlike *b = right;
    if (a->slowdown != b->slowdown) {
        return a->slowdown < b->slowdown ? -1 : 1;
    }
    return a->worker < b->worker ? -1 : 1;
}

static int compare_lanes(const void *left, const void *right) {
    const struct gw_lane *a = left;
    const struct gw_lane *b = right;
    return a->worker < b->worker ? -1 : 1;
}

/* Lane 0 is of all that are as worker 0; the others, sorted, lie in runs of equal slowdown. */
static void group_unlike(struct unlike *unlike, size_t unlike_count, size_t workers,
                         struct gw_lane *lanes, size_t *count) {
    qsort(unlike, unlike_count, sizeof *unlike, compare_unlike);
    lanes[0] = (struct gw_lane){.worker = 0, .workers = workers - unlike_count};
    *count = 1;
    for (size_t i = 0; i < unlike_count; i++) {
        if (i == 0 || unlike[i].slowdown != unlike[i - 1].slowdown) {
            lanes[(*count)++] = (struct gw_lane){.worker = unlike[i].worker};
        }
        lanes[*count - 1].workers++;
    }
    qsort(lanes, *count, sizeof *lanes, compare_lanes);
}

static enum gw_status group_by_slowdown(const struct gw_simulation *simulation,
                                        struct gw_lane **lanes, size_t *count,
                                        struct gw_error *error) {
    const double *slowdown = simulation->slowdown;
    size_t unlike_count = 0;
    for (size_t worker = 1; slowdown != NULL && worker < simulation->workers; worker++) {
        unlike_count += slowdown[worker] != slowdown[0];
    }
    struct unlike *unlike = calloc(unlike_count + 1, sizeof *unlike);
    *lanes = calloc(unlike_count + 1, sizeof **lanes);
    if (unlike == NULL || *lanes == NULL) {
        free(unlike);
        return gw_fail_memory(error, "opening a simulation");
    }
    size_t found = 0;
    for (size_t worker = 1; found < unlike_count; worker++) {
        if (slowdown[worker] != slowdown[0]) {
            unlike[found++] = (struct unlike){.slowdown = slowdown[worker], .worker = worker};
        }
    }
    group_unlike(unlike, unlike_count, simulation->workers, *lanes, count);
    free(unlike);
    return GW_OK;
}

enum gw_status gw_lanes_open(const struct gw_simulation *simulation, struct gw_lane **lanes,
                             size_t *count, struct gw_error *error) {
    if (!simulation->every_worker && simulation->compute_noise.kind == GW_NOISE_NONE) {
        return group_by_slowdown(simulation, lanes, count, error);
    }
    *count = simulation->workers;
    *lanes = calloc(*count, sizeof **lanes);
    if (*lanes == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    for (size_t worker = 0; worker < *count; worker++) {
        (*lanes)[worker] = (struct gw_lane){.worker = worker, .workers = 1};
    }
    return GW_OK;
}
