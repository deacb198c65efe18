/* Compressors as exec runs them, on CPUs or on a GPU. */
#include <math.h>
#include <string.h>

#include "calibrate/measure/gpu_timer.h"
#include "calibrate/measure/measure.h"
#include "kernels/gpu.h"
#include "kernels/memory.h"
#include "kernels/sketch.h"

static const size_t smallest_elements = 1024;

/* Of ranks that share cores: what is shorter than it takes to wake them hardly meets. */
static const size_t smallest_together = 1 << 18;

/*
 * In execution the thread that compresses has just waited for the accelerator, and finds its core
 * cold. Without this, three validations of the sparse pipelines were 1 to 5% too fast; with it,
 * from 3% too fast to 2% too slow (ResNet-50, two ranks on two cores, then with 5 ms). Processors
 * go to their deepest sleep in less than 1 ms.
 */
static const double idle_s = 0.002;

/* What compressors share; the survey's. */
struct all {
    const struct gw_clock *clock;
    struct gw_vector_pools *vectors;
    size_t *layers; /* [2 / density]: of about k elements each, for layer-drop to choose from */
    double density;
    double longest_warm_up_s;
    struct gw_device *device; /* NULL: on CPUs */
    /* On CPUs: */
    struct gw_workspace workspace;
    struct gw_selection selection;
    /* On a GPU: */
    struct gw_gpu_timer timer;
    struct gw_gpu_workspace *gpu_workspace;
    struct gw_gpu_selection gpu_selection;
};

enum { MOST_SIZES = 64 };

struct compression {
    struct all *all;
    const struct gw_compressor *compressor;
    const struct gw_gpu_kernel *gpu; /* NULL: on CPUs */
    double density;
    /* One for each size. Their states live from visit to visit: what they have learnt, stays. */
    struct gw_task tasks[MOST_SIZES];
    struct gw_sketch sketches[MOST_SIZES]; /* of one that sketches */
    size_t task_count;
    struct gw_task *task; /* of the size that is measured */
    size_t selected;      /* by the last run */
    double seconds;       /* that it took, on a GPU */
};

/* ---- warming up ---------------------------------------------------------------------------- */

enum gw_status gw_warm_up_compressor(const struct gw_compressor *compressor, struct gw_task *task,
                                     const struct gw_selecting *selecting,
                                     const struct gw_clock *clock, double longest_s,
                                     struct gw_error *error) {
    enum { ROUNDS = 2000 }; /* ExDyna takes 1,400 to change its threshold a thousandfold */
    struct gw_warm_up warm_up = {.tolerance = 0.03}; /* the gradient is always the same */
    double end_s = gw_clock_read_s(clock) + longest_s;
    bool learns = gw_kernel_of(compressor)->observe != NULL;
    bool ends = false;
    for (size_t i = 0; i < ROUNDS && !ends; i++) {
        size_t count = 0;
        GW_TRY(selecting->select(selecting->context, task, &count, error));
        gw_state_observe(compressor, task->state, &count);
        task->iteration++;
        gw_warm_up_add(&warm_up, (double)count, (double)task->k);
        ends = gw_warm_up_reached(&warm_up) || (!learns && gw_warm_up_unchanged(&warm_up)) ||
               gw_clock_read_s(clock) > end_s;
    }
    return GW_OK;
}

/* One selection, on either. */
static enum gw_status select_once(void *context, const struct gw_task *task, size_t *count,
                                  struct gw_error *error) {
    struct compression *compression = context;
    struct all *all = compression->all;
    if (compression->gpu == NULL) {
        GW_TRY(gw_kernel_of(compression->compressor)->select(task, &all->selection, error));
        *count = all->selection.count;
        return GW_OK;
    }
    GW_TRY(compression->gpu->select(task, all->timer.stream, all->gpu_workspace,
                                    &all->gpu_selection, error));
    return gw_gpu_selection_finish(&all->gpu_selection, all->timer.stream, count, error);
}

/* ---- one repeat ---------------------------------------------------------------------------- */

static enum gw_status run_on_gpu(struct compression *compression, struct gw_error *error) {
    struct all *all = compression->all;
    struct gw_gpu_timer *timer = &all->timer;
    GW_TRY(gw_gpu_timer_start(timer, error));
    GW_TRY(gw_gpu_compress(compression->gpu, compression->task, timer->stream, all->gpu_workspace,
                           &all->gpu_selection, error));
    GW_TRY(gw_gpu_timer_stop(timer, &compression->seconds, error));
    return gw_gpu_selection_finish(&all->gpu_selection, timer->stream, &compression->selected,
                                   error);
}

/* What is in a sketch is looked for once those of all workers have been added up. */
static enum gw_status sketch(struct compression *compression, struct gw_error *error) {
    const struct gw_task *task = compression->task;
    struct gw_sketch *into = &compression->sketches[task - compression->tasks];
    GW_TRY(gw_memory_on_host.add(NULL, task->u, task->gradient, 1, task->n, error));
    gw_sketch_clear(into);
    return gw_sketch_encode(into, task->u, 0, task->n, error);
}

static enum gw_status compress(void *context, struct gw_error *error) {
    struct compression *compression = context;
    struct all *all = compression->all;
    if (compression->compressor->sketched) {
        return sketch(compression, error);
    }
    GW_TRY(gw_compress(compression->compressor, compression->task, &all->selection, error));
    compression->selected = all->selection.count;
    return GW_OK;
}

static enum gw_status run(void *context, struct gw_error *error) {
    struct compression *compression = context;
    struct all *all = compression->all;
    struct gw_task *task = compression->task;
    task->u = gw_pool_next(&all->vectors->residual, task->n * sizeof(float));
    task->gradient = gw_pool_next(&all->vectors->gradient, task->n * sizeof(float));
    if (compression->gpu != NULL) {
        return run_on_gpu(compression, error);
    }
    return compress(context, error);
}

static double took_s(void *context) {
    const struct compression *compression = context;
    return compression->seconds;
}

static void learn(void *context) {
    struct compression *compression = context;
    struct gw_task *task = compression->task;
    gw_state_observe(compression->compressor, task->state, &compression->selected);
    task->iteration++;
}

/*
 * Residuals would grow over the repeats, and with them what a fixed threshold selects, to many
 * times what was asked for. On a GPU an error comes out with the next run.
 */
static void restore(void *context) {
    struct compression *compression = context;
    struct gw_task *task = compression->task;
    size_t bytes = task->n * sizeof *task->u;
    if (compression->gpu != NULL) {
        (void)gw_device_clear(compression->all->timer.stream, task->u, bytes, NULL);
    } else {
        memset(task->u, 0, bytes);
    }
    learn(compression);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static void lay_out_layers(struct all *all, struct gw_task *task) {
    task->layer_count = task->n / task->k;
    task->layers = all->layers;
    for (size_t i = 0; i < task->layer_count; i++) {
        all->layers[i] = task->k + (i == 0 ? task->n % task->k : 0);
    }
}

static enum gw_status open_size(struct compression *compression, struct gw_task *task,
                                size_t elements, struct gw_error *error) {
    const struct gw_selecting selecting = {.select = select_once, .context = compression};
    const struct gw_compressor *compressor = compression->compressor;
    struct all *all = compression->all;
    *task = gw_pool_task(elements, compression->density, &all->workspace);
    lay_out_layers(all, task);
    if (compressor->sketched && compression->gpu == NULL) {
        size_t columns = gw_sketch_columns(task->n, task->k);
        GW_TRY(gw_sketch_open(&compression->sketches[compression->task_count++], GW_SKETCH_ROWS,
                              columns, task->seed, error));
        return GW_OK;
    }
    GW_TRY(gw_state_open(compressor, task, &task->state, error));
    compression->task_count++;
    task->u = all->vectors->gradient.data;
    return compressor->stateful ? gw_warm_up_compressor(compressor, task, &selecting, all->clock,
                                                        all->longest_warm_up_s, error)
                                : GW_OK;
}

static enum gw_status prepare(void *context, size_t elements, struct gw_error *error) {
    struct compression *compression = context;
    size_t i = 0;
    while (i < compression->task_count && compression->tasks[i].n != elements) {
        i++;
    }
    if (i == MOST_SIZES) {
        return gw_fail(error, GW_FAILED, "%s: expected at most %d sizes",
                       compression->compressor->name, MOST_SIZES);
    }
    compression->task = &compression->tasks[i];
    if (i == compression->task_count) {
        return open_size(compression, compression->task, elements, error);
    }
    lay_out_layers(compression->all, compression->task);
    return GW_OK;
}

/* Clears what is to be cleared before the ranks agree on when to begin: who is done with
 * compressing before the others must leave the cores to them.
 */
static enum gw_status prepare_together(void *context, size_t elements, struct gw_error *error) {
    struct compression *compression = context;
    struct all *all = compression->all;
    GW_TRY(prepare(context, elements, error));
    struct gw_task *task = compression->task;
    task->u = gw_pool_next(&all->vectors->residual, task->n * sizeof(float));
    task->gradient = gw_pool_next(&all->vectors->gradient, task->n * sizeof(float));
    memset(task->u, 0, task->n * sizeof *task->u);
    return GW_OK;
}

static size_t before_step(const void *context, size_t smaller, size_t larger) {
    const struct compression *compression = context;
    return gw_size_before_step(compression->density, smaller, larger);
}

static void close_sizes(void *object) {
    struct compression *compression = object;
    for (size_t i = 0; i < compression->task_count; i++) {
        gw_state_close(compression->compressor, compression->tasks[i].state);
        gw_sketch_free(&compression->sketches[i]);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static void close_all(void *object) {
    struct all *all = object;
    gw_gpu_selection_free(&all->gpu_selection);
    gw_gpu_workspace_close(all->gpu_workspace);
    gw_gpu_timer_close(&all->timer);
    gw_selection_free(&all->selection);
    gw_workspace_free(&all->workspace);
}

static enum gw_status open_all(struct all *all, const struct gw_calibration *calibration,
                               struct gw_error *error) {
    struct gw_device *device = all->device;
    if (device != NULL) {
        GW_TRY(gw_gpu_timer_open(device, &all->timer, error));
        GW_TRY(gw_gpu_workspace_open(device, &all->gpu_workspace, error));
        GW_TRY(gw_gpu_selection_reserve(&all->gpu_selection, device, calibration->max_elements,
                                        error));
    }
    return GW_OK;
}

static enum gw_status open_compression(struct gw_survey *survey, struct all *all,
                                       const struct gw_compressor *compressor, double density,
                                       struct compression **out, struct gw_error *error) {
    struct compression *compression = gw_arena_zeros(&survey->arena, 1, sizeof *compression);
    (void)gw_arena_own(&survey->arena, compression, close_sizes);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating compressors", error));
    compression->all = all;
    compression->compressor = compressor;
    compression->density = density;
    *out = compression;
    return GW_OK;
}

static enum gw_status add_alone(struct gw_survey *survey, struct all *all,
                                const struct gw_compressor *compressor, struct gw_series series,
                                double density, struct gw_error *error) {
    struct compression *compression = NULL;
    GW_TRY(open_compression(survey, all, compressor, density, &compression, error));
    compression->gpu = all->device != NULL ? gw_gpu_kernel_of(compressor) : NULL;
    series.subject.context = compression;
    return gw_series_list_add(&survey->list, series, error);
}

/* The last one added, as ranks of a machine run it at once. */
static enum gw_status add_together(struct gw_survey *survey, size_t max_elements,
                                   struct gw_error *error) {
    struct gw_series series = survey->list.items[survey->list.count - 1];
    series.workers = survey->sharers;
    series.together = true;
    series.subject.separate = false;
    series.subject.prepare = prepare_together;
    series.subject.run = compress;
    series.subject.restore = learn;
    series.subject.smallest = gw_lesser(smallest_together, max_elements / 4);
    return gw_series_list_add(&survey->list, series, error);
}

/*
 * On CPUs also where more is selected: what a threshold selects is many times what it is asked for
 * at times, and sketches grow with what is asked for. These two also together there, as caches hold
 * the smaller tables of several ranks, but not the larger ones, and ranks share what writes
 * entries. A GPU sorts nothing by comparing: its curves are never of n log2 n.
 */
static enum gw_status add(struct gw_survey *survey, struct all *all,
                          const struct gw_calibration *calibration,
                          const struct gw_compressor *compressor, struct gw_error *error) {
    bool on_gpu = calibration->device != NULL;
    bool shares = !on_gpu && survey->communicator->size > 1;
    if (on_gpu && gw_gpu_kernel_of(compressor) == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor that there is for GPUs",
                       compressor->name);
    }
    struct gw_series series = {.workers = on_gpu ? survey->communicator->size : 1,
                               .subject = {.name = compressor->name,
                                           .size_key = "elements",
                                           .smallest = smallest_elements,
                                           .largest = calibration->max_elements,
                                           .before_step = compressor->sketched ? before_step : NULL,
                                           .prepare = prepare,
                                           .run = run,
                                           .restore = restore,
                                           .took_s = on_gpu ? took_s : NULL,
                                           .separate = true,
                                           .idle_s = on_gpu ? 0 : idle_s,
                                           .sorts = !on_gpu}};
    GW_TRY(add_alone(survey, all, compressor, series, all->density, error));
    GW_TRY(shares ? add_together(survey, calibration->max_elements, error) : GW_OK);
    bool follows_asked = compressor->exact || compressor->steady;
    double times = follows_asked ? GW_DENSER_TIMES : GW_OVERSHOT_TIMES;
    if (on_gpu || !gw_series_make_denser(&series, all->density, times, &survey->arena)) {
        return gw_arena_check(&survey->arena, "calibrating compressors", error);
    }
    GW_TRY(add_alone(survey, all, compressor, series, series.densities[1], error));
    return shares && (!follows_asked || compressor->sketched)
               ? add_together(survey, calibration->max_elements, error)
               : GW_OK;
}

/* n / k: k is at least half of density n, if that is 1 or more, and at least 1. */
static size_t most_layers(const struct gw_calibration *calibration) {
    return (size_t)fmin(2 / calibration->density, (double)calibration->max_elements) + 1;
}

enum gw_status gw_survey_add_compressors(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error) {
    struct all *all = gw_arena_zeros(&survey->arena, 1, sizeof *all);
    if (calibration->compressors[0] == NULL) {
        return GW_OK;
    }
    if (gw_arena_own(&survey->arena, all, close_all) == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    all->clock = calibration->clock;
    all->density = calibration->density;
    all->device = calibration->device;
    all->longest_warm_up_s = fmin(fmax(calibration->time_s / 300, 0.03), 0.5);
    all->layers = gw_arena_zeros(&survey->arena, most_layers(calibration), sizeof *all->layers);
    if (all->layers == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    all->vectors = &survey->vectors;
    GW_TRY(open_all(all, calibration, error));
    for (size_t i = 0; calibration->compressors[i] != NULL; i++) {
        GW_TRY(add(survey, all, calibration, calibration->compressors[i], error));
    }
    return GW_OK;
}
