#include "kernels/training.h"

#include <stdlib.h>
#include <string.h>

static size_t element_count(const struct gw_gradients_spec *gradients) {
    size_t elements = 0;
    for (size_t i = 0; i < gradients->tensor_count; i++) {
        elements += gradients->sizes[i];
    }
    return elements;
}

static enum gw_status open_worker(struct gw_training *training, size_t index,
                                  const struct gw_training_spec *spec, struct gw_error *error) {
    struct gw_training_worker *worker = &training->each[index];
    struct gw_gradients_spec gradients = spec->gradients;
    gradients.worker = (uint32_t)index;
    GW_TRY(gw_gradients_open(&worker->gradients, &gradients, error));
    worker->task = (struct gw_task){.u = calloc(training->elements, sizeof(float)),
                                    .gradient = training->gradient,
                                    .n = training->elements,
                                    .k = spec->kept,
                                    .worker = index,
                                    .workers = training->workers,
                                    .seed = spec->gradients.seed,
                                    .threshold = spec->threshold,
                                    .layers = spec->gradients.sizes,
                                    .layer_count = spec->gradients.tensor_count,
                                    .workspace = &training->workspace};
    if (worker->task.u == NULL) {
        return gw_fail_memory(error, "opening a training");
    }
    return training->compressor->open == NULL
               ? GW_OK
               : training->compressor->open(&worker->task, &worker->task.state, error);
}

enum gw_status gw_training_open(struct gw_training *out, const struct gw_training_spec *spec,
                                struct gw_error *error) {
    *out = (struct gw_training){.compressor = spec->compressor,
                                .elements = element_count(&spec->gradients)};
    out->gradient = calloc(out->elements, sizeof *out->gradient);
    out->each = calloc(spec->workers, sizeof *out->each);
    out->counts = calloc(spec->workers, sizeof *out->counts);
    if (out->gradient == NULL || out->each == NULL || out->counts == NULL) {
        return gw_fail_memory(error, "opening a training");
    }
    out->workers = spec->workers;
    for (size_t i = 0; i < spec->workers; i++) {
        GW_TRY(open_worker(out, i, spec, error));
    }
    return GW_OK;
}

void gw_training_close(struct gw_training *training) {
    for (size_t i = 0; i < training->workers; i++) {
        struct gw_training_worker *worker = &training->each[i];
        if (worker->task.state != NULL) {
            training->compressor->close(worker->task.state);
        }
        gw_gradients_close(worker->gradients);
        gw_selection_free(&worker->selection);
        free(worker->task.u);
    }
    free(training->each);
    free(training->counts);
    free(training->gradient);
    gw_workspace_free(&training->workspace);
    *training = (struct gw_training){.workers = 0};
}

static enum gw_status step_worker(struct gw_training *training, size_t index, double factor,
                                  struct gw_error *error) {
    struct gw_training_worker *worker = &training->each[index];
    gw_gradients_fill(worker->gradients, training->iteration, training->gradient);
    for (size_t i = 0; i < training->elements && factor != 1; i++) {
        training->gradient[i] *= (float)factor;
    }
    worker->task.iteration = training->iteration;
    GW_TRY(gw_compress(training->compressor, &worker->task, &worker->selection, error));
    training->counts[index] = worker->selection.count;
    return GW_OK;
}

/* Where all send what any of them selected, all have sent it. */
static void clear_jointly(struct gw_training *training) {
    for (size_t from = 0; from < training->workers; from++) {
        const struct gw_selection *selection = &training->each[from].selection;
        for (size_t to = 0; to < training->workers; to++) {
            for (size_t i = 0; i < selection->count; i++) {
                training->each[to].task.u[selection->entries[i].index] = 0;
            }
        }
    }
}

enum gw_status gw_training_step(struct gw_training *training, double factor,
                                struct gw_error *error) {
    for (size_t i = 0; i < training->workers; i++) {
        GW_TRY(step_worker(training, i, factor, error));
    }
    if (training->compressor->joint) {
        clear_jointly(training);
    }
    for (size_t i = 0; i < training->workers && training->compressor->observe != NULL; i++) {
        training->compressor->observe(training->each[i].task.state, training->counts);
    }
    training->iteration++;
    return GW_OK;
}

size_t gw_training_selected(const struct gw_training *training) {
    size_t selected = 0;
    memset(training->gradient, 0, training->elements * sizeof *training->gradient);
    for (size_t i = 0; i < training->workers; i++) {
        const struct gw_selection *selection = &training->each[i].selection;
        for (size_t e = 0; e < selection->count; e++) {
            float *mark = &training->gradient[selection->entries[e].index];
            selected += *mark == 0;
            *mark = 1;
        }
    }
    return selected;
}
