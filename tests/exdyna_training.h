/*
 * What ExDyna makes of a training with error feedback, of which tests and benchmarks see how many
 * elements are selected: workers one after the other, each with a residual of its own, of which all
 * clear what any of them selected.
 */
#ifndef GW_TESTS_EXDYNA_TRAINING_H
#define GW_TESTS_EXDYNA_TRAINING_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/exdyna_state.h"
#include "kernels/kernels.h"

enum { EXDYNA_MOST_WORKERS = 64 };

struct exdyna_training {
    size_t elements, workers;
    struct gw_exdyna_layout layout;
    size_t blocks_of[EXDYNA_MOST_WORKERS], counts[EXDYNA_MOST_WORKERS];
    struct gw_gradients *gradients[EXDYNA_MOST_WORKERS];
    float *u; /* of all workers, one after the other */
    float *gradient;
    bool *selected;
};

static inline void exdyna_training_close(struct exdyna_training *training) {
    for (size_t r = 0; r < training->workers; r++) {
        gw_gradients_close(training->gradients[r]);
    }
    free(training->u);
    free(training->gradient);
    free(training->selected);
    *training = (struct exdyna_training){.workers = 0};
}

/* Of one tensor; spec->worker does not matter. */
static inline enum gw_status exdyna_training_open(struct exdyna_training *training,
                                                  const struct gw_gradients_spec *spec,
                                                  size_t workers, struct gw_error *error) {
    size_t n = spec->sizes[0];
    *training = (struct exdyna_training){
        .elements = n,
        .workers = workers,
        .layout = gw_exdyna_layout(n, workers),
        .u = calloc(n * workers, sizeof *training->u),
        .gradient = calloc(n, sizeof *training->gradient),
        .selected = calloc(n, sizeof *training->selected),
    };
    gw_exdyna_topology(&training->layout, training->blocks_of);
    enum gw_status status = GW_OK;
    if (training->u == NULL || training->gradient == NULL || training->selected == NULL) {
        status = gw_fail_memory(error, "making workers");
    }
    for (size_t r = 0; status == GW_OK && r < workers; r++) {
        struct gw_gradients_spec own = *spec;
        own.worker = (uint32_t)r;
        status = gw_gradients_open(&training->gradients[r], &own, error);
    }
    if (status != GW_OK) {
        exdyna_training_close(training);
    }
    return status;
}

/* Algorithm 4, for one worker. */
static inline size_t exdyna_select(struct exdyna_training *training, size_t r, uint32_t t,
                                   double threshold) {
    const float *u = training->u + r * training->elements;
    size_t partition = gw_exdyna_partition(t, r, training->workers);
    struct gw_exdyna_range range =
        gw_exdyna_range(&training->layout, training->blocks_of, partition);
    size_t count = 0;
    for (size_t i = range.begin; i < range.end; i++) {
        training->selected[i] = fabs((double)u[i]) >= threshold;
        count += training->selected[i];
    }
    if (count == 0) {
        training->selected[gw_exdyna_lone_index(range, t)] = true;
        return 1;
    }
    return count;
}

/* One iteration with gradients `factor` times as large as at first; returns k', the selected. */
static inline size_t exdyna_train(struct exdyna_training *training, uint32_t t, double factor,
                                  double threshold) {
    size_t n = training->elements;
    if (t > 0) {
        gw_exdyna_allocate(&training->layout, t - 1, training->counts, training->blocks_of);
    }
    size_t total = 0;
    for (size_t r = 0; r < training->workers; r++) {
        float *u = training->u + r * n;
        gw_gradients_fill(training->gradients[r], t, training->gradient);
        for (size_t i = 0; i < n; i++) {
            u[i] += (float)factor * training->gradient[i];
        }
        training->counts[r] = exdyna_select(training, r, t, threshold);
        total += training->counts[r];
    }
    for (size_t r = 0; r < training->workers; r++) {
        float *u = training->u + r * n;
        for (size_t i = 0; i < n; i++) {
            u[i] = training->selected[i] ? 0 : u[i];
        }
    }
    return total;
}

#endif
