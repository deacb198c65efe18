#include "rehearsal/rehearsal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/training.h"
#include "rehearsal/shrink.h"

static const double tensor_spread = 0.5;
static const double batch_spread = 0.1;
static const double decay_factor = 0.1;

/* Elements that gradients are taken from. */
enum { POOL = 1 << 20 };

/* Elements times workers times iterations in a few seconds of one core. */
static const double affordable = 1 << 30;

/* Kept elements of a group, at least, also of the share of a worker: of fewer, one more or less is
 * too large a part. */
enum { LEAST_KEPT = 16, LEAST_KEPT_OF_A_WORKER = 4 };

/* Bytes of all workers' gradients and residuals of a group, at most. */
static const double most_memory = 4.0 * (1 << 30);

struct rehearsing {
    const struct gw_schedule *schedule;
    const struct gw_rehearsal *rehearsal;
    const struct gw_compressor *compressor;
    struct gw_shrunk *shrunk; /* [group_count] */
    float *pool;              /* [POOL] */
    struct gw_counts *counts;
};

/* ---- opening ------------------------------------------------------------------------------- */

static double total_elements(const struct gw_schedule *schedule) {
    double elements = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        elements += (double)schedule->groups[g].elements;
    }
    return elements;
}

static enum gw_status fill_pool(struct rehearsing *rehearsing, struct gw_error *error) {
    size_t size = POOL;
    struct gw_gradients *gradients = NULL;
    const struct gw_gradients_spec spec = {.shape = GW_SHAPE_NORMAL,
                                           .scale = 1,
                                           .drift = 1,
                                           .sizes = &size,
                                           .tensor_count = 1,
                                           .seed = rehearsing->rehearsal->seed};
    rehearsing->pool = calloc(POOL, sizeof *rehearsing->pool);
    if (rehearsing->pool == NULL) {
        return gw_fail_memory(error, "rehearsing");
    }
    GW_TRY(gw_gradients_open(&gradients, &spec, error));
    gw_gradients_fill(gradients, 0, rehearsing->pool);
    gw_gradients_close(gradients);
    return GW_OK;
}

static size_t least_kept(const struct rehearsing *rehearsing) {
    size_t of_workers = LEAST_KEPT_OF_A_WORKER * rehearsing->schedule->workers;
    return rehearsing->compressor->joint && of_workers > LEAST_KEPT ? of_workers : LEAST_KEPT;
}

/* What must be kept at least needs as many more elements as less is kept, on every worker. */
static enum gw_status check_memory(const struct rehearsing *rehearsing, size_t elements,
                                   struct gw_error *error) {
    size_t workers = rehearsing->schedule->workers;
    double bytes = 2 * sizeof(float) * (double)elements * (double)workers;
    return bytes <= most_memory
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "counts: expected a training of at most %.0f GiB, got %.1f GiB: %zu "
                         "workers of %zu elements each, of which %s keeps a share of %g (fewer "
                         "workers or a larger density need less)",
                         most_memory / (1 << 30), bytes / (1 << 30), workers, elements,
                         rehearsing->compressor->name, rehearsing->rehearsal->density);
}

static enum gw_status shrink_groups(struct rehearsing *rehearsing, struct gw_error *error) {
    const struct gw_schedule *schedule = rehearsing->schedule;
    const struct gw_rehearsal *rehearsal = rehearsing->rehearsal;
    double steps = (double)schedule->workers * (double)(rehearsal->warmup + rehearsal->iterations);
    double elements =
        rehearsal->elements > 0 ? (double)rehearsal->elements : floor(affordable / steps);
    double reduction = fmax(1, total_elements(schedule) / fmax(1, elements));
    rehearsing->shrunk = calloc(schedule->group_count, sizeof *rehearsing->shrunk);
    if (rehearsing->shrunk == NULL) {
        return gw_fail_memory(error, "rehearsing");
    }
    for (size_t g = 0; g < schedule->group_count; g++) {
        GW_TRY(gw_shrink(&schedule->groups[g], schedule->layers, reduction, least_kept(rehearsing),
                         &rehearsing->shrunk[g], error));
        GW_TRY(check_memory(rehearsing, rehearsing->shrunk[g].elements, error));
    }
    return GW_OK;
}

static enum gw_status create_counts(struct rehearsing *rehearsing, struct gw_error *error) {
    const struct gw_schedule *schedule = rehearsing->schedule;
    const struct gw_rehearsal *rehearsal = rehearsing->rehearsal;
    double left = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        left += (double)rehearsing->shrunk[g].elements;
    }
    char source[96];
    (void)snprintf(source, sizeof source, "trained at 1/%.3g size over %zu iterations",
                   total_elements(schedule) / left, rehearsal->iterations);
    const struct gw_counts_about about = {.model = rehearsal->model,
                                          .algorithm = rehearsal->algorithm,
                                          .compressor = rehearsal->compressor,
                                          .source = source,
                                          .density = rehearsal->density,
                                          .iteration_count = rehearsal->iterations};
    return gw_counts_for(schedule, &about, true, rehearsing->counts, error);
}

/* ---- a group ------------------------------------------------------------------------------- */

/* Sets the scale with which all tensors together have norm 1. */
static enum gw_status normalise(struct gw_gradients_spec *spec, struct gw_error *error) {
    struct gw_gradients *gradients = NULL;
    double squares = 0;
    spec->scale = 1;
    GW_TRY(gw_gradients_open(&gradients, spec, error));
    for (size_t t = 0; t < spec->tensor_count; t++) {
        double scale = gw_gradients_scale(gradients, t, 0);
        squares += (double)spec->sizes[t] * scale * scale;
    }
    gw_gradients_close(gradients);
    spec->scale = 1 / sqrt(squares);
    return GW_OK;
}

static enum gw_status specify(const struct rehearsing *rehearsing, size_t group,
                              struct gw_training_spec *out, struct gw_error *error) {
    const struct gw_shrunk *shrunk = &rehearsing->shrunk[group];
    *out = (struct gw_training_spec){
        .compressor = rehearsing->compressor,
        .gradients = {.shape = GW_SHAPE_NORMAL,
                      .seed = gw_random_mix(rehearsing->rehearsal->seed + group),
                      .spread = tensor_spread,
                      .drift = 1,
                      .sizes = shrunk->layers,
                      .tensor_count = rehearsing->schedule->groups[group].layer_count,
                      .pool = rehearsing->pool,
                      .pool_size = POOL},
        .kept = shrunk->kept,
        .workers = rehearsing->schedule->workers,
        .batch_spread = batch_spread,
        .threads = rehearsing->rehearsal->threads};
    GW_TRY(normalise(&out->gradients, error));
    /* A compressor with a state finds a threshold by itself. */
    return rehearsing->compressor->open == NULL
               ? gw_training_first_threshold(out, &out->threshold, error)
               : GW_OK;
}

static void count(const struct rehearsing *rehearsing, const struct gw_training *training,
                  size_t iteration, size_t group) {
    const struct gw_slice *slice = &rehearsing->schedule->groups[group];
    const struct gw_shrunk *shrunk = &rehearsing->shrunk[group];
    size_t list = iteration * rehearsing->schedule->group_count + group;
    for (size_t w = 0; w < training->workers; w++) {
        rehearsing->counts->selected[list * training->workers + w] =
            gw_grown_count(slice, shrunk, training->counts[w]);
    }
    rehearsing->counts->distinct[list] =
        gw_grown_count(slice, shrunk, gw_training_selected(training));
}

static enum gw_status train(const struct rehearsing *rehearsing, struct gw_training *training,
                            size_t group, struct gw_progress *progress, struct gw_error *error) {
    const struct gw_rehearsal *rehearsal = rehearsing->rehearsal;
    size_t all = rehearsal->warmup + rehearsal->iterations;
    for (size_t t = 0; t < all; t++) {
        bool decayed = t >= rehearsal->warmup && t - rehearsal->warmup >= rehearsal->decay;
        GW_TRY(gw_training_step(training, decayed ? decay_factor : 1, error));
        if (t >= rehearsal->warmup) {
            count(rehearsing, training, t - rehearsal->warmup, group);
        }
        double done = (double)group + (double)t / (double)all;
        gw_progress_update(progress, done / (double)rehearsing->schedule->group_count,
                           rehearsal->algorithm);
    }
    return GW_OK;
}

static enum gw_status rehearse_group(const struct rehearsing *rehearsing, size_t group,
                                     struct gw_progress *progress, struct gw_error *error) {
    struct gw_training_spec spec;
    struct gw_training training;
    GW_TRY(specify(rehearsing, group, &spec, error));
    enum gw_status status = gw_training_open(&training, &spec, error);
    if (status == GW_OK) {
        status = train(rehearsing, &training, group, progress, error);
    }
    gw_training_close(&training);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status rehearse_all(struct rehearsing *rehearsing, struct gw_error *error) {
    GW_TRY(fill_pool(rehearsing, error));
    GW_TRY(shrink_groups(rehearsing, error));
    GW_TRY(create_counts(rehearsing, error));
    struct gw_progress progress = gw_progress_begin("rehearse", 1);
    enum gw_status status = GW_OK;
    for (size_t g = 0; g < rehearsing->schedule->group_count && status == GW_OK; g++) {
        status = rehearse_group(rehearsing, g, &progress, error);
    }
    gw_progress_end(&progress);
    return status;
}

enum gw_status gw_rehearse(const struct gw_schedule *schedule, const struct gw_rehearsal *rehearsal,
                           struct gw_counts *out, struct gw_error *error) {
    struct rehearsing rehearsing = {.schedule = schedule,
                                    .rehearsal = rehearsal,
                                    .compressor = gw_compressor_find(rehearsal->compressor),
                                    .counts = out};
    *out = (struct gw_counts){0};
    if (rehearsing.compressor == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "counts: expected a compressor, got \"%s\"",
                       rehearsal->compressor);
    }
    enum gw_status status = rehearse_all(&rehearsing, error);
    for (size_t g = 0; g < schedule->group_count && rehearsing.shrunk != NULL; g++) {
        gw_shrunk_free(&rehearsing.shrunk[g]);
    }
    free(rehearsing.shrunk);
    free(rehearsing.pool);
    if (status != GW_OK) {
        gw_counts_free(out);
    }
    return status;
}
