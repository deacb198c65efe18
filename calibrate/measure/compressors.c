/* Compressors as exec runs them, on CPUs or on a GPU. */
#include <math.h>
#include <string.h>

#include "calibrate/measure/compressors.h"
#include "calibrate/measure/gpu_timer.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/survey.h"
#include "kernels/codes.h"
#include "kernels/sketch.h"

static const size_t smallest_elements = 1024;

/* Shorter work than waking ranks takes rarely overlaps on ranks that share cores. */
static const size_t min_concurrent = 1 << 18;

/*
 * In execution the thread that compresses has just waited for the accelerator, and its core is
 * cold. Without this pause, three validations of the sparse pipelines were 1 to 5% too fast; with
 * it, from 3% too fast to 2% too slow (ResNet-50, two ranks on two cores, then with 5 ms).
 * Processors reach their deepest sleep in less than 1 ms.
 */
static const double idle_s = 0.002;

/* The memory of all compressors, owned by the survey. */
struct compressor_memory {
    const struct gw_clock *clock;
    struct gw_vector_pools *vectors;
    size_t *layers; /* [2 / density]: of about k elements each, for layer-drop */
    double density;
    double longest_warm_up_s;
    struct gw_selecting selecting;
    struct gw_gpu_timer timer; /* on a GPU */
};

enum { MAX_SIZES = 64 };

struct measured_compression {
    struct compressor_memory *compressor_memory;
    const struct gw_compressor *compressor;
    double density;
    /*
     * One for each size. Their states live from visit to visit, and keep what they have adapted to.
     */
    struct gw_task tasks[MAX_SIZES];
    struct gw_sketch sketches[MAX_SIZES]; /* of a compressor that sketches */
    size_t task_count;
    struct gw_task *task; /* of the size that is measured */
    double seconds;       /* of the last run, on a GPU */
};

/* ---- selections ---------------------------------------------------------------------------- */

enum gw_status gw_selecting_open(struct gw_selecting *out, struct gw_device_stream *stream,
                                 size_t capacity, struct gw_error *error) {
    GW_TRY(gw_memory_open(&out->memory, stream, error));
    return stream == NULL
               ? GW_OK
               : gw_gpu_selection_reserve(&out->on_gpu, out->memory.device, capacity, error);
}

enum gw_status gw_selecting_compress(struct gw_selecting *selecting,
                                     const struct gw_compressor *compressor,
                                     const struct gw_task *task, bool takes,
                                     struct gw_error *error) {
    struct gw_memory *memory = &selecting->memory;
    if (compressor->rank > 0) {
        return memory->does->project(memory, task->state, task, &selecting->on_gpu, error);
    }
    if (compressor->code.bits == 0) {
        return gw_memory_select(memory, compressor, task, takes, &selecting->on_gpu, error);
    }
    size_t bytes = (size_t)gw_code_bytes(compressor, task->n);
    GW_TRY(gw_buffer_reserve(&selecting->codes, memory, bytes, error));
    const struct gw_codes codes = {.compressor = compressor,
                                   .payloads = 1,
                                   .elements = task->n,
                                   .bytes = selecting->codes.memory};
    return memory->does->encode(memory, task, takes, &codes, &selecting->on_gpu, error);
}

void gw_selecting_close(struct gw_selecting *selecting) {
    gw_buffer_free(&selecting->codes);
    gw_gpu_selection_free(&selecting->on_gpu);
    gw_memory_close(&selecting->memory);
}

enum gw_status gw_warm_up_compressor(const struct gw_compressor *compressor, struct gw_task *task,
                                     struct gw_selecting *selecting, const struct gw_clock *clock,
                                     double longest_s, struct gw_error *error) {
    enum { ROUNDS = 2000 }; /* ExDyna takes 1,400 to change its threshold a thousandfold */
    struct gw_warm_up warm_up = {.tolerance = 0.03}; /* the gradient is always the same */
    double end_s = gw_clock_read_s(clock) + longest_s;
    bool learns = gw_kernel_of(compressor)->observe != NULL;
    bool ends = false;
    for (size_t i = 0; i < ROUNDS && !ends; i++) {
        size_t count = 0;
        GW_TRY(gw_selecting_compress(selecting, compressor, task, false, error));
        GW_TRY(gw_memory_finish_select(&selecting->memory, &selecting->on_gpu, &count, error));
        gw_state_observe(compressor, task->state, &count);
        task->iteration++;
        gw_warm_up_add(&warm_up, (double)count, (double)task->k);
        ends = gw_warm_up_reached(&warm_up) || (!learns && gw_warm_up_unchanged(&warm_up)) ||
               gw_clock_read_s(clock) > end_s;
    }
    return GW_OK;
}

/* ---- one repeat ---------------------------------------------------------------------------- */

static enum gw_status compress_part(void *context, struct gw_error *error) {
    struct measured_compression *compression = context;
    struct gw_selecting *selecting = &compression->compressor_memory->selecting;
    const struct gw_task *task = compression->task;
    if (compression->compressor->sketched && selecting->memory.stream == NULL) {
        /* The search follows the sum of all workers' sketches, and is measured apart. */
        struct gw_sketch *into = &compression->sketches[task - compression->tasks];
        GW_TRY(gw_memory_on_host.add(NULL, task->u, task->gradient, 1, task->n, error));
        gw_sketch_clear(into);
        return gw_sketch_encode(into, task->u, 0, task->n, error);
    }
    return gw_selecting_compress(selecting, compression->compressor, task, true, error);
}

static void take_vectors(struct measured_compression *compression) {
    struct gw_vector_pools *vectors = compression->compressor_memory->vectors;
    struct gw_task *task = compression->task;
    task->u = gw_pool_next(&vectors->residual, task->n * sizeof(float));
    task->gradient = gw_pool_next(&vectors->gradient, task->n * sizeof(float));
}

static enum gw_status run_compressor(void *context, struct gw_error *error) {
    struct measured_compression *compression = context;
    struct gw_gpu_timer *timer = &compression->compressor_memory->timer;
    bool on_gpu = timer->device != NULL;
    take_vectors(compression);
    GW_TRY(on_gpu ? gw_gpu_timer_start(timer, error) : GW_OK);
    GW_TRY(compress_part(context, error));
    return on_gpu ? gw_gpu_timer_stop(timer, &compression->seconds, error) : GW_OK;
}

static double took_s(void *context) {
    const struct measured_compression *compression = context;
    return compression->seconds;
}

/* Lets a threshold follow the last selection; that of a GPU fails in the next run. */
static void learn_threshold(void *context) {
    struct measured_compression *compression = context;
    const struct gw_selecting *selecting = &compression->compressor_memory->selecting;
    struct gw_task *task = compression->task;
    size_t selected = 0;
    if (gw_memory_finish_select(&selecting->memory, &selecting->on_gpu, &selected, NULL) == GW_OK) {
        gw_state_observe(compression->compressor, task->state, &selected);
    }
    task->iteration++;
}

/* Resets residuals, which would grow over the repeats, and a fixed threshold would select many
 * times the wanted number. On a GPU the next run returns an error. */
static void restore_residual(void *context) {
    struct measured_compression *compression = context;
    struct gw_task *task = compression->task;
    size_t bytes = task->n * sizeof *task->u;
    const struct gw_memory *memory = &compression->compressor_memory->selecting.memory;
    (void)memory->does->clear(memory, task->u, bytes, NULL);
    learn_threshold(compression);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static void lay_out_layers(struct compressor_memory *compressor_memory, struct gw_task *task) {
    task->layer_count = task->n / task->k;
    task->layers = compressor_memory->layers;
    for (size_t i = 0; i < task->layer_count; i++) {
        compressor_memory->layers[i] = task->k + (i == 0 ? task->n % task->k : 0);
    }
}

static enum gw_status open_size(struct measured_compression *compression, struct gw_task *task,
                                size_t elements, struct gw_error *error) {
    const struct gw_compressor *compressor = compression->compressor;
    struct compressor_memory *compressor_memory = compression->compressor_memory;
    *task = gw_pool_task(elements, compression->density);
    task->memory = &compressor_memory->selecting.memory;
    lay_out_layers(compressor_memory, task);
    if (compressor->sketched && compressor_memory->timer.device == NULL) {
        size_t columns = gw_sketch_columns(task->n, task->k);
        GW_TRY(gw_sketch_open(&compression->sketches[compression->task_count++], GW_SKETCH_ROWS,
                              columns, task->seed, error));
        return GW_OK;
    }
    GW_TRY(gw_state_open(compressor, task, &task->state, error));
    compression->task_count++;
    task->u = compressor_memory->vectors->gradient.data;
    return compressor->stateful && gw_compressor_selects(compressor)
               ? gw_warm_up_compressor(compressor, task, &compressor_memory->selecting,
                                       compressor_memory->clock,
                                       compressor_memory->longest_warm_up_s, error)
               : GW_OK;
}

static enum gw_status prepare_gradient(void *context, size_t elements, struct gw_error *error) {
    struct measured_compression *compression = context;
    size_t i = 0;
    while (i < compression->task_count && compression->tasks[i].n != elements) {
        i++;
    }
    if (i == MAX_SIZES) {
        return gw_fail(error, GW_FAILED, "%s: expected at most %d sizes",
                       compression->compressor->name, MAX_SIZES);
    }
    compression->task = &compression->tasks[i];
    if (i == compression->task_count) {
        return open_size(compression, compression->task, elements, error);
    }
    lay_out_layers(compression->compressor_memory, compression->task);
    return GW_OK;
}

/* Clears memory before the ranks agree on a start: a rank that is done with compressing before the
 * others must leave the cores to them. */
static enum gw_status prepare_concurrent(void *context, size_t elements, struct gw_error *error) {
    struct measured_compression *compression = context;
    GW_TRY(prepare_gradient(context, elements, error));
    take_vectors(compression);
    memset(compression->task->u, 0, compression->task->n * sizeof *compression->task->u);
    return GW_OK;
}

static size_t before_step(const void *context, size_t smaller, size_t larger) {
    const struct measured_compression *compression = context;
    return gw_size_before_step(compression->density, smaller, larger);
}

static void close_sizes(void *object) {
    struct measured_compression *compression = object;
    for (size_t i = 0; i < compression->task_count; i++) {
        gw_state_close(compression->compressor, compression->tasks[i].state);
        gw_sketch_free(&compression->sketches[i]);
    }
}

/* ---- all aggregators ----------------------------------------------------------------------- */

static void close_all(void *object) {
    struct compressor_memory *compressor_memory = object;
    gw_selecting_close(&compressor_memory->selecting);
    gw_gpu_timer_close(&compressor_memory->timer);
}

static enum gw_status add_alone(struct gw_point_survey *survey,
                                struct compressor_memory *compressor_memory,
                                const struct gw_compressor *compressor, struct gw_series series,
                                double density, struct gw_error *error) {
    struct measured_compression *compression =
        gw_arena_zeros(&survey->arena, 1, sizeof *compression);
    (void)gw_arena_own(&survey->arena, compression, close_sizes);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating compressors", error));
    compression->compressor_memory = compressor_memory;
    compression->compressor = compressor;
    compression->density = density;
    series.subject.context = compression;
    return gw_series_list_add(&survey->list, series, error);
}

/* Adds the last series again, run by all ranks of a machine at once. */
static enum gw_status add_concurrent(struct gw_point_survey *survey, size_t max_elements,
                                     struct gw_error *error) {
    struct gw_series series = survey->list.items[survey->list.count - 1];
    series.workers = survey->sharers;
    series.together = true;
    series.subject.separate = false;
    series.subject.prepare = prepare_concurrent;
    series.subject.run = compress_part;
    series.subject.restore = learn_threshold;
    series.subject.smallest = gw_lesser(min_concurrent, max_elements / 4);
    return gw_series_list_add(&survey->list, series, error);
}

/*
 * On CPUs, also measures higher densities: a threshold selects many times the wanted number at
 * times, and sketches grow with it. Measures these two on concurrent ranks too, since caches hold
 * the smaller tables of several ranks, but not the larger ones, and ranks share the memory
 * bandwidth for entries. A GPU does not sort by comparing: its curves are never n log2 n.
 */
static enum gw_status add_compressor(struct gw_point_survey *survey,
                                     struct compressor_memory *compressor_memory,
                                     const struct gw_calibration *calibration,
                                     const struct gw_compressor *compressor,
                                     struct gw_error *error) {
    bool on_gpu = calibration->device != NULL;
    bool shares = !on_gpu && survey->communicator->size > 1;
    if (on_gpu && !gw_is_on_gpus(compressor)) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor with GPU code",
                       compressor->name);
    }
    struct gw_series series = {.workers = on_gpu ? survey->communicator->size : 1,
                               .subject = {.name = compressor->name,
                                           .size_key = "elements",
                                           .smallest = smallest_elements,
                                           .largest = calibration->max_elements,
                                           .before_step = compressor->sketched ? before_step : NULL,
                                           .prepare = prepare_gradient,
                                           .run = run_compressor,
                                           .restore = restore_residual,
                                           .took_s = on_gpu ? took_s : NULL,
                                           .separate = true,
                                           .idle_s = on_gpu ? 0 : idle_s,
                                           .sorts = !on_gpu && gw_compressor_selects(compressor)}};
    GW_TRY(add_alone(survey, compressor_memory, compressor, series, compressor_memory->density,
                     error));
    GW_TRY(shares ? add_concurrent(survey, calibration->max_elements, error) : GW_OK);
    if (compressor->rank > 0 && gw_series_make_ranked(&series, &survey->arena)) {
        return add_alone(survey, compressor_memory, gw_compressor_find(gw_second_rank), series,
                         compressor_memory->density, error);
    }
    bool follows_asked = compressor->exact || compressor->steady;
    double times = follows_asked ? GW_DENSER_TIMES : GW_OVERSHOT_TIMES;
    if (on_gpu || !gw_compressor_selects(compressor) ||
        !gw_series_make_denser(&series, compressor_memory->density, times, &survey->arena)) {
        return gw_arena_check(&survey->arena, "calibrating compressors", error);
    }
    GW_TRY(add_alone(survey, compressor_memory, compressor, series, series.densities[1], error));
    return shares && (!follows_asked || compressor->sketched)
               ? add_concurrent(survey, calibration->max_elements, error)
               : GW_OK;
}

enum gw_status gw_point_survey_add_compressors(struct gw_point_survey *survey,
                                               const struct gw_calibration *calibration,
                                               struct gw_error *error) {
    struct compressor_memory *compressor_memory =
        gw_arena_zeros(&survey->arena, 1, sizeof *compressor_memory);
    if (calibration->compressors[0] == NULL) {
        return GW_OK;
    }
    if (gw_arena_own(&survey->arena, compressor_memory, close_all) == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    compressor_memory->clock = calibration->clock;
    compressor_memory->density = calibration->density;
    compressor_memory->longest_warm_up_s = fmin(fmax(calibration->time_s / 300, 0.03), 0.5);
    /* n / k layers: k is at least half of density n, if that is 1 or more, and at least 1. */
    size_t layers = (size_t)fmin(2 / calibration->density, (double)calibration->max_elements) + 1;
    compressor_memory->layers =
        gw_arena_zeros(&survey->arena, layers, sizeof *compressor_memory->layers);
    if (compressor_memory->layers == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    compressor_memory->vectors = &survey->vectors;
    struct gw_device *device = calibration->device;
    if (device != NULL) {
        GW_TRY(gw_gpu_timer_open(device, &compressor_memory->timer, error));
    }
    GW_TRY(gw_selecting_open(&compressor_memory->selecting, compressor_memory->timer.stream,
                             calibration->max_elements, error));
    for (size_t i = 0; calibration->compressors[i] != NULL; i++) {
        GW_TRY(add_compressor(survey, compressor_memory, calibration, calibration->compressors[i],
                              error));
    }
    return GW_OK;
}
