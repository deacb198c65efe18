#include "kernels/gradients/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ------------------------------------------------------------------------------- */

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
    struct gw_arena *arena = &training->arena;
    worker->gradient = gw_arena_zeros(arena, training->elements, sizeof *worker->gradient);
    worker->task = (struct gw_task){.u = gw_arena_zeros(arena, training->elements, sizeof(float)),
                                    .gradient = worker->gradient,
                                    .n = training->elements,
                                    .k = spec->kept,
                                    .worker = index,
                                    .workers = training->workers,
                                    .seed = spec->gradients.seed,
                                    .threshold = spec->threshold,
                                    .layers = spec->gradients.sizes,
                                    .layer_count = spec->gradients.tensor_count,
                                    .workspace = &worker->workspace};
    GW_TRY(gw_arena_check(arena, "opening a training", error));
    return gw_state_open(training->compressor, &worker->task, &worker->task.state, error);
}

enum gw_status gw_training_open(struct gw_training *out, const struct gw_training_spec *spec,
                                struct gw_error *error) {
    *out = (struct gw_training){
        .compressor = spec->compressor,
        .elements = element_count(&spec->gradients),
        .batches = {.kind = spec->batch_spread > 0 ? GW_NOISE_LOGNORMAL : GW_NOISE_NONE,
                    .sigma = spec->batch_spread},
        .seed = spec->gradients.seed,
        .threads = spec->threads};
    out->each = gw_arena_zeros(&out->arena, spec->workers, sizeof *out->each);
    out->counts = gw_arena_zeros(&out->arena, spec->workers, sizeof *out->counts);
    out->marked = gw_arena_zeros(&out->arena, out->elements, sizeof *out->marked);
    GW_TRY(gw_arena_check(&out->arena, "opening a training", error));
    out->workers = spec->workers;
    for (size_t i = 0; i < spec->workers; i++) {
        GW_TRY(open_worker(out, i, spec, error));
    }
    return GW_OK;
}

void gw_training_close(struct gw_training *training) {
    for (size_t i = 0; i < training->workers; i++) {
        struct gw_training_worker *worker = &training->each[i];
        gw_state_close(training->compressor, worker->task.state);
        gw_gradients_close(worker->gradients);
        gw_selection_free(&worker->selection);
        gw_workspace_free(&worker->workspace);
    }
    gw_arena_free(&training->arena);
    *training = (struct gw_training){.workers = 0};
}

/* ---- steps --------------------------------------------------------------------------------- */

static void step_worker(size_t index, void *context) {
    struct gw_training *training = context;
    struct gw_training_worker *worker = &training->each[index];
    uint64_t batch = gw_noise_stream(training->seed, training->iteration, index);
    double factor = training->factor * gw_noise_factor(&training->batches, batch, 0);
    gw_gradients_fill(worker->gradients, training->iteration, worker->gradient);
    for (size_t i = 0; i < training->elements && factor != 1; i++) {
        worker->gradient[i] *= (float)factor;
    }
    worker->task.iteration = training->iteration;
    worker->status =
        gw_compress(training->compressor, &worker->task, &worker->selection, &worker->error);
    training->counts[index] = worker->selection.count;
}

enum gw_status gw_training_step(struct gw_training *training, double factor,
                                struct gw_error *error) {
    training->factor = factor;
    gw_parallel(training->workers, training->threads, step_worker, training);
    for (size_t i = 0; i < training->workers; i++) {
        const struct gw_training_worker *worker = &training->each[i];
        if (worker->status != GW_OK) {
            return gw_fail(error, worker->status, "%s", worker->error.message);
        }
    }
    /* Clear the elements that any worker selected in all residuals: all workers send them. */
    for (size_t from = 0; from < training->workers && training->compressor->joint; from++) {
        const struct gw_selection *selection = &training->each[from].selection;
        for (size_t to = 0; to < training->workers; to++) {
            for (size_t i = 0; i < selection->count; i++) {
                training->each[to].task.u[selection->entries[i].index] = 0;
            }
        }
    }
    for (size_t i = 0; i < training->workers; i++) {
        gw_state_observe(training->compressor, training->each[i].task.state, training->counts);
    }
    training->iteration++;
    return GW_OK;
}

size_t gw_training_selected(const struct gw_training *training) {
    size_t selected = 0;
    for (size_t i = 0; i < training->workers; i++) {
        const struct gw_selection *selection = &training->each[i].selection;
        for (size_t e = 0; e < selection->count; e++) {
            uint8_t *mark = &training->marked[selection->entries[e].index];
            selected += *mark == 0;
            *mark = 1;
        }
    }
    for (size_t i = 0; i < training->workers; i++) {
        const struct gw_selection *selection = &training->each[i].selection;
        for (size_t e = 0; e < selection->count; e++) {
            training->marked[selection->entries[e].index] = 0;
        }
    }
    return selected;
}

/* ---- a threshold for the whole run --------------------------------------------------------- */

enum gw_status gw_training_first_threshold(const struct gw_training_spec *spec, double *out,
                                           struct gw_error *error) {
    struct gw_training_spec first = *spec;
    struct gw_training training;
    first.compressor = &gw_compressor_topk;
    first.workers = 1;
    enum gw_status status = gw_training_open(&training, &first, error);
    status = status == GW_OK ? gw_training_step(&training, 1, error) : status;
    if (status == GW_OK) {
        const struct gw_selection *selection = &training.each[0].selection;
        *out = INFINITY;
        for (size_t i = 0; i < selection->count; i++) {
            *out = fmin(*out, fabs((double)selection->entries[i].value));
        }
    }
    gw_training_close(&training);
    return status;
}
