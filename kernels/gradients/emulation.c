
#include "kernels/gradients/emulation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/training.h"
#include "kernels/kernels.h"

/* ---- emulation ----------------------------------------------------------------------------- */

static const double tensor_spread = 0.5;
static const double batch_spread = 0.1;
static const double decay_factor = 0.1;

/* elements of the pool that gradients are taken from */
enum { POOL_SIZE = 1 << 20 };

/* Elements times workers times iterations that one core handles in a few seconds. */
static const double affordable = 1 << 30;

/* Minimum numbers of kept elements: of a group, of a worker's share of it, and of a sample. With
 * fewer, one more or less would be too large a part. */
enum { MIN_KEPT = 16, MIN_KEPT_OF_A_WORKER = 4, MIN_SAMPLED = 4 };

/* Maximum of the bytes of all workers' gradients and residuals of a group. */
static const double most_memory = 4.0 * (1 << 30);

struct emulation {
    const struct gw_schedule *schedule;
    const struct gw_gradient_emulation *settings;
    struct gw_arena arena;
    struct gw_shrunk *shrunk; /* [group_count] */
    float *pool;              /* [POOL_SIZE] */
    struct gw_counts *counts;
};

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_trained(const struct gw_slice *group) {
    return gw_compressor_selects(group->way->compressor);
}

/* Elements of the groups that are trained. */
static double total_elements(const struct gw_schedule *schedule) {
    double elements = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        const struct gw_slice *group = &schedule->groups[g];
        elements += is_trained(group) ? (double)group->size.elements : 0;
    }
    return elements;
}

static enum gw_status fill_pool(struct emulation *emulation, struct gw_error *error) {
    size_t size = POOL_SIZE;
    struct gw_gradients *gradients = NULL;
    const struct gw_gradients_spec spec = {.shape = GW_SHAPE_NORMAL,
                                           .scale = 1,
                                           .drift = 1,
                                           .sizes = &size,
                                           .tensor_count = 1,
                                           .seed = emulation->settings->seed};
    emulation->pool = gw_arena_zeros(&emulation->arena, POOL_SIZE, sizeof *emulation->pool);
    GW_TRY(gw_arena_check(&emulation->arena, "emulation", error));
    GW_TRY(gw_gradients_open(&gradients, &spec, error));
    gw_gradients_fill(gradients, 0, emulation->pool);
    gw_gradients_close(gradients);
    return GW_OK;
}

static size_t min_kept(const struct emulation *emulation, const struct gw_slice *group) {
    size_t of_workers = MIN_KEPT_OF_A_WORKER * emulation->schedule->workers;
    return group->way->compressor->joint && of_workers > MIN_KEPT ? of_workers : MIN_KEPT;
}

/* Limits memory: the smaller the share that is kept, the more elements every worker needs for the
 * minimum. */
static enum gw_status check_memory(const struct emulation *emulation, size_t group,
                                   struct gw_error *error) {
    const struct gw_way *way = emulation->schedule->groups[group].way;
    size_t elements = emulation->shrunk[group].elements;
    size_t workers = emulation->schedule->workers;
    double bytes = 2 * sizeof(float) * (double)elements * (double)workers;
    return bytes <= most_memory
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "counts: expected a training of at most %.0f GiB, got %.1f GiB: %zu "
                         "workers of %zu elements each, of which %s keeps a share of %g (fewer "
                         "workers or a larger density need less)",
                         most_memory / (1 << 30), bytes / (1 << 30), workers, elements,
                         way->compressor->name, way->density);
}

/* Describes a group by its recorded samples. */
static enum gw_status sample_group(struct emulation *emulation, size_t group,
                                   struct gw_error *error) {
    const struct gw_gradient_emulation *settings = emulation->settings;
    const struct gw_slice *slice = &emulation->schedule->groups[group];
    struct gw_shrunk *out = &emulation->shrunk[group];
    out->layers = gw_arena_zeros(&emulation->arena, slice->size.tensors, sizeof *out->layers);
    GW_TRY(gw_arena_check(&emulation->arena, "emulation", error));
    for (size_t i = 0; i < slice->size.tensors; i++) {
        size_t tensor = settings->recorded_tensors[slice->first_layer + i];
        out->layers[i] = settings->recorded->tensors[tensor].sampled;
        out->elements += out->layers[i];
    }
    double kept = (double)out->elements * (double)slice->kept / (double)slice->size.elements;
    out->kept = (size_t)fmax(1, round(kept));
    return out->kept >= MIN_SAMPLED || out->elements >= slice->size.elements
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: group %zu: expected a sample of which %d elements are kept at least, "
                         "got %zu elements, of which density %g keeps %zu",
                         settings->recorded->path, group, MIN_SAMPLED, out->elements,
                         slice->way->density, out->kept);
}

static enum gw_status shrink_groups(struct emulation *emulation, struct gw_error *error) {
    const struct gw_schedule *schedule = emulation->schedule;
    const struct gw_gradient_emulation *settings = emulation->settings;
    bool recorded = settings->recorded != NULL;
    double steps = (double)schedule->workers * (double)(settings->warmup + settings->iterations);
    double elements =
        settings->elements > 0 ? (double)settings->elements : floor(affordable / steps);
    double reduction = fmax(1, total_elements(schedule) / fmax(1, elements));
    emulation->shrunk =
        gw_arena_zeros(&emulation->arena, schedule->group_count, sizeof *emulation->shrunk);
    GW_TRY(gw_arena_check(&emulation->arena, "emulation", error));
    for (size_t g = 0; g < schedule->group_count; g++) {
        const struct gw_slice *group = &schedule->groups[g];
        if (is_trained(group)) {
            GW_TRY(recorded
                       ? sample_group(emulation, g, error)
                       : gw_shrink(group, schedule->layers, reduction, min_kept(emulation, group),
                                   &emulation->arena, &emulation->shrunk[g], error));
            GW_TRY(check_memory(emulation, g, error));
        }
    }
    return GW_OK;
}

static enum gw_status create_counts(struct emulation *emulation, struct gw_error *error) {
    const struct gw_schedule *schedule = emulation->schedule;
    const struct gw_gradient_emulation *settings = emulation->settings;
    double left = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        left += (double)emulation->shrunk[g].elements;
    }
    char source[160];
    double reduction = total_elements(schedule) / left;
    if (settings->recorded == NULL) {
        (void)snprintf(source, sizeof source, "trained at 1/%.3g size over %zu iterations",
                       reduction, settings->iterations);
    } else {
        (void)snprintf(source, sizeof source,
                       "trained on gradients of %.80s at 1/%.3g size over %zu of %zu iterations",
                       settings->recorded->path, reduction, settings->iterations,
                       settings->recorded->iteration_count);
    }
    const struct gw_counts_about about = {.model = settings->model,
                                          .algorithm = settings->algorithm,
                                          .compressor = gw_schedule_compressor(schedule),
                                          .source = source,
                                          .density = settings->density,
                                          .iteration_count = settings->iterations};
    return gw_counts_for(schedule, &about, true, emulation->counts, error);
}

/* ---- a group ------------------------------------------------------------------------------- */

static enum gw_status specify_training(const struct emulation *emulation, size_t group,
                                       struct gw_training_spec *out, struct gw_error *error) {
    const struct gw_shrunk *shrunk = &emulation->shrunk[group];
    const struct gw_slice *slice = &emulation->schedule->groups[group];
    const struct gw_compressor *compressor = slice->way->compressor;
    const struct gw_recorded_gradients *recorded = emulation->settings->recorded;
    *out = (struct gw_training_spec){
        .compressor = compressor,
        .gradients = {.shape = GW_SHAPE_NORMAL,
                      .seed = gw_random_mix(emulation->settings->seed + group),
                      .spread = tensor_spread,
                      .drift = 1,
                      .sizes = shrunk->layers,
                      .tensor_count = slice->size.tensors,
                      .pool = emulation->pool,
                      .pool_size = POOL_SIZE,
                      .recorded = recorded},
        .kept = shrunk->kept,
        .workers = emulation->schedule->workers,
        .batch_spread = recorded == NULL ? batch_spread : 0,
        .threads = emulation->settings->threads};
    if (recorded != NULL) {
        out->gradients.recorded_tensors =
            emulation->settings->recorded_tensors + slice->first_layer;
    } else {
        /* Set the scale with which all tensors together have norm 1. */
        struct gw_gradients *gradients = NULL;
        double squares = 0;
        out->gradients.scale = 1;
        GW_TRY(gw_gradients_open(&gradients, &out->gradients, error));
        for (size_t t = 0; t < out->gradients.tensor_count; t++) {
            double scale = gw_gradients_scale(gradients, t, 0);
            squares += (double)out->gradients.sizes[t] * scale * scale;
        }
        gw_gradients_close(gradients);
        out->gradients.scale = 1 / sqrt(squares);
    }
    /* Normal gradients of norm 1 suit ExDyna's published first threshold. */
    bool found = recorded == NULL ? compressor->stateful : !compressor->thresholded;
    return found ? GW_OK : gw_training_first_threshold(out, &out->threshold, error);
}

static void record_counts(const struct emulation *emulation, const struct gw_training *training,
                          size_t iteration, size_t group) {
    const struct gw_slice *slice = &emulation->schedule->groups[group];
    const struct gw_shrunk *shrunk = &emulation->shrunk[group];
    size_t list = iteration * emulation->schedule->group_count + group;
    for (size_t w = 0; w < training->workers; w++) {
        emulation->counts->selected[list * training->workers + w] =
            gw_grown_count(slice, shrunk, training->counts[w]);
    }
    emulation->counts->distinct[list] =
        gw_grown_count(slice, shrunk, gw_training_selected(training));
}

static enum gw_status train_group(const struct emulation *emulation, struct gw_training *training,
                                  size_t group, struct gw_progress *progress,
                                  struct gw_error *error) {
    const struct gw_gradient_emulation *settings = emulation->settings;
    size_t all = settings->warmup + settings->iterations;
    for (size_t t = 0; t < all; t++) {
        bool decayed = t >= settings->warmup && t - settings->warmup >= settings->decay;
        GW_TRY(gw_training_step(training, decayed ? decay_factor : 1, error));
        if (t >= settings->warmup) {
            record_counts(emulation, training, t - settings->warmup, group);
        }
        double done = (double)group + (double)t / (double)all;
        gw_progress_update(progress, done / (double)emulation->schedule->group_count,
                           settings->algorithm);
    }
    return GW_OK;
}

/* Counts all elements of a group that travels whole. */
static void count_whole(const struct emulation *emulation, size_t group) {
    const struct gw_schedule *schedule = emulation->schedule;
    struct gw_counts *counts = emulation->counts;
    for (size_t t = 0; t < counts->iteration_count; t++) {
        size_t list = t * schedule->group_count + group;
        counts->distinct[list] = schedule->groups[group].size.elements;
        for (size_t w = 0; w < schedule->workers; w++) {
            counts->selected[list * schedule->workers + w] = counts->distinct[list];
        }
    }
}

static enum gw_status emulate_group(const struct emulation *emulation, size_t group,
                                    struct gw_progress *progress, struct gw_error *error) {
    struct gw_training_spec spec;
    struct gw_training training;
    if (!is_trained(&emulation->schedule->groups[group])) {
        count_whole(emulation, group);
        return GW_OK;
    }
    GW_TRY(specify_training(emulation, group, &spec, error));
    enum gw_status status = gw_training_open(&training, &spec, error);
    if (status == GW_OK) {
        status = train_group(emulation, &training, group, progress, error);
    }
    gw_training_close(&training);
    return status;
}

/* ---- the table of operations --------------------------------------------------------------- */

static enum gw_status emulate_groups(struct emulation *emulation, struct gw_error *error) {
    GW_TRY(emulation->settings->recorded == NULL ? fill_pool(emulation, error) : GW_OK);
    GW_TRY(shrink_groups(emulation, error));
    GW_TRY(create_counts(emulation, error));
    struct gw_progress progress = gw_progress_begin("emulate training", 1);
    enum gw_status status = GW_OK;
    for (size_t g = 0; g < emulation->schedule->group_count && status == GW_OK; g++) {
        status = emulate_group(emulation, g, &progress, error);
    }
    gw_progress_end(&progress);
    return status;
}

enum gw_status gw_emulate_gradients(const struct gw_schedule *schedule,
                                    const struct gw_gradient_emulation *settings,
                                    struct gw_counts *out, struct gw_error *error) {
    struct emulation emulation = {.schedule = schedule, .settings = settings, .counts = out};
    *out = (struct gw_counts){0};
    if (!gw_schedule_has(schedule, gw_compressor_selects)) {
        return gw_fail(error, GW_BAD_INPUT, "counts: expected a compressor, got \"%s\"",
                       gw_schedule_compressor(schedule));
    }
    enum gw_status status = emulate_groups(&emulation, error);
    gw_arena_free(&emulation.arena);
    if (status != GW_OK) {
        gw_counts_free(out);
    }
    return status;
}

/* ---- counts of a schedule ------------------------------------------------------------------ */

bool gw_counts_depend_on_data(const struct gw_compressor *compressor) {
    return !compressor->exact;
}

enum gw_status gw_counts_for(const struct gw_schedule *schedule,
                             const struct gw_counts_about *about, bool has_distinct,
                             struct gw_counts *out, struct gw_error *error) {
    struct gw_counts_about whole = *about;
    whole.workers = schedule->workers;
    whole.group_count = schedule->group_count;
    GW_TRY(gw_counts_create(out, &whole, has_distinct, error));
    for (size_t g = 0; g < schedule->group_count; g++) {
        out->groups[g] = (struct gw_counts_group){.tensors = schedule->groups[g].size.tensors,
                                                  .elements = schedule->groups[g].size.elements};
    }
    return GW_OK;
}

/* ---- checks of counts ---------------------------------------------------------------------- */

static enum gw_status check_text(const char *path, const char *key, const char *expected,
                                 const char *got, struct gw_error *error) {
    return strcmp(expected, got) == 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: %s: expected \"%s\", got \"%s\"", path, key,
                         expected, got);
}

static enum gw_status check_number(const char *path, const char *key, size_t expected, size_t got,
                                   struct gw_error *error) {
    return expected == got ? GW_OK
                           : gw_fail(error, GW_BAD_INPUT, "%s: %s: expected %zu, got %zu", path,
                                     key, expected, got);
}

static enum gw_status check_groups(const struct gw_counts *counts,
                                   const struct gw_schedule *schedule, const char *path,
                                   struct gw_error *error) {
    for (size_t g = 0; g < schedule->group_count; g++) {
        const struct gw_slice *slice = &schedule->groups[g];
        const struct gw_counts_group *group = &counts->groups[g];
        if (group->elements != slice->size.elements || group->tensors != slice->size.tensors) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: groups[%zu]: expected %zu tensors of %llu elements, as the plan "
                           "has, got %llu of %llu",
                           path, g, slice->size.tensors, (unsigned long long)slice->size.elements,
                           (unsigned long long)group->tensors, (unsigned long long)group->elements);
        }
    }
    return GW_OK;
}

enum gw_status gw_counts_check(const struct gw_counts *counts, const struct gw_schedule *schedule,
                               const struct gw_counts_about *expected, const char *path,
                               struct gw_error *error) {
    GW_TRY(check_text(path, "model", expected->model, counts->model, error));
    GW_TRY(check_text(path, "compressor", expected->compressor, counts->compressor, error));
    GW_TRY(check_number(path, "workers", schedule->workers, counts->workers, error));
    if (fabs(counts->density - expected->density) > 1e-9 * expected->density) {
        return gw_fail(error, GW_BAD_INPUT, "%s: density: expected %g, got %g", path,
                       expected->density, counts->density);
    }
    GW_TRY(
        check_number(path, "number of groups", schedule->group_count, counts->group_count, error));
    return check_groups(counts, schedule, path, error);
}

/* ---- counts for a simulation --------------------------------------------------------------- */

static struct gw_selected select_group(const struct gw_counts *counts, size_t iteration,
                                       size_t group, bool joint) {
    const uint64_t *each = gw_counts_at(counts, iteration, group);
    uint64_t most = 0;
    uint64_t sum = 0;
    for (size_t w = 0; w < counts->workers; w++) {
        most = each[w] > most ? each[w] : most;
        sum += each[w];
    }
    uint64_t elements = counts->groups[group].elements;
    uint64_t joined = joint ? (sum < elements ? sum : elements) : most;
    const uint64_t *distinct = counts->distinct;
    return (struct gw_selected){
        .most = most,
        .mean = gw_mean_selected(sum, counts->workers),
        .all = distinct == NULL ? joined : distinct[iteration * counts->group_count + group]};
}

enum gw_status gw_counts_selected(const struct gw_counts *counts,
                                  const struct gw_schedule *schedule, struct gw_selected **out,
                                  struct gw_error *error) {
    size_t count = counts->iteration_count * counts->group_count;
    *out = calloc(count, sizeof **out);
    if (*out == NULL) {
        return gw_fail_memory(error, "counting");
    }
    for (size_t i = 0; i < count; i++) {
        size_t group = i % counts->group_count;
        const struct gw_compressor *compressor = schedule->groups[group].way->compressor;
        (*out)[i] = gw_counts_depend_on_data(compressor)
                        ? select_group(counts, i / counts->group_count, group, compressor->joint)
                        : schedule->groups[group].selected;
    }
    return GW_OK;
}
