/* Aggregators: the work on received data, as exec does it on CPUs. */
#include <math.h>
#include <string.h>

#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/survey.h"
#include "kernels/codes.h"
#include "kernels/low_rank.h"
#include "kernels/memory.h"
#include "kernels/sketch.h"
#include "methods/methods.h"

static const size_t smallest_elements = 1024;

/* Shorter work than waking ranks takes rarely overlaps on ranks that share cores. */
static const size_t min_concurrent = 1 << 13;

/*
 * In a job, hundreds of milliseconds have passed since an aggregate was touched, and its thread has
 * waited for the network. Measured without a pause, exchanges of two workers were predicted up to
 * 3% too fast; with this one, 0.2% (docs/calibration.md).
 */
static const double idle_s = 0.002;
static const size_t evicted_bytes = 64 << 20;

/* The second density of entries that are close together, relative to the first. For even denser
 * ones, vectors beyond any cache would hold so many that the line through both is used. */
static const double close_times = 64;

/* The memory of all aggregators, owned by the survey. Entries and values are zero: vectors do not
 * change. */
struct aggregation_memory {
    struct gw_vector_pools *vectors;
    struct gw_memory memory;
    double density;
    bool delivers; /* a trainer's session copies decoded gradients to the trainer's memory */
    size_t workers, max_elements;
    size_t evicted_bytes;
    double evict_s;           /* duration of an eviction */
    struct gw_entry *entries; /* as received */
    struct gw_entry *merged;  /* a list; its second half holds the pruned entries */
    uint32_t *indices;
    float *values;
};

enum { MAX_SIZES = 64 };

struct measured_aggregation {
    struct aggregation_memory *aggregation_memory;
    enum gw_aggregator by;
    const struct gw_compressor *compressor; /* with the rank of FACTOR and EXPAND */
    double density;
    size_t elements; /* of the size that is measured */
    size_t range;    /* elements of the vector that they are part of */
    size_t *counts;  /* [workers]: entries of each */
    /* HEAVYMIX: a sketch for each size, and the indices found. */
    struct gw_sketch sketches[MAX_SIZES];
    size_t sizes[MAX_SIZES], size_count, which;
    struct gw_task factored; /* of the size that is measured; its state: its factors */
};

/* The largest number of elements; for aggregators of a selection, that of the selected ones. At
 * least two sizes make a curve. */
static size_t max_elements(const struct aggregation_memory *aggregation_memory,
                           enum gw_aggregator by) {
    static const size_t parts[] = {
        [GW_SCATTER_ADD] = 4, [GW_MERGE] = 32,   [GW_GIVE_BACK] = 32, [GW_TAKE_AND_PUT] = 4,
        [GW_SUM] = 1,         [GW_HEAVYMIX] = 1, [GW_DECODE] = 1,     [GW_DECODE_ADD] = 1,
        [GW_FACTOR] = 1,      [GW_EXPAND] = 1};
    size_t part = aggregation_memory->max_elements / parts[by];
    return part > 4 * smallest_elements ? part : 4 * smallest_elements;
}

/* The entries of the longest calibrated vector at that density; more would be closer together. */
static size_t max_entries(const struct aggregation_memory *aggregation_memory,
                          enum gw_aggregator by, double density) {
    enum { MIN_ENTRIES = 256 };
    size_t lists = by == GW_SCATTER_ADD ? aggregation_memory->workers : 1;
    size_t entries = lists * gw_elements_kept(aggregation_memory->max_elements, density);
    size_t most = max_elements(aggregation_memory, by);
    return !gw_aggregator_scatters(by) ? most
           : entries > MIN_ENTRIES     ? gw_lesser(entries, most)
                                       : MIN_ENTRIES;
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* Spreads indices, ascending, about as far apart as selected elements of a vector. */
static void spread_indices(const struct measured_aggregation *aggregation, size_t list,
                           size_t count) {
    const struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    double apart = (double)aggregation->range / (double)count;
    uint32_t noise = (uint32_t)list + 1;
    for (size_t i = 0; i < count; i++) {
        noise = noise * 1664525u + 1013904223u;
        double within = (double)(noise >> 8) / (1 << 24);
        size_t at = (size_t)(((double)i + within) * apart);
        aggregation_memory->indices[i] = (uint32_t)gw_lesser(at, aggregation->range - 1);
    }
}

/* Lists the entries of each of `lists` lists. If a vector of this density would be longer than the
 * longest calibrated one, uses that vector at a higher density. */
static void list_entries(struct measured_aggregation *aggregation, size_t lists) {
    const struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    struct gw_entry *entry = aggregation_memory->entries;
    double each = (double)aggregation->elements / (double)lists;
    aggregation->range =
        (size_t)fmin(each / aggregation->density, (double)aggregation_memory->max_elements);
    for (size_t list = 0; list < lists; list++) {
        size_t count = aggregation->elements / lists + (list < aggregation->elements % lists);
        aggregation->counts[list] = count;
        spread_indices(aggregation, list, count);
        for (size_t i = 0; i < count; i++) {
            *entry++ = (struct gw_entry){.index = aggregation_memory->indices[i]};
        }
    }
}

/* Lists as many other entries. */
static void list_others(const struct measured_aggregation *aggregation, size_t list,
                        struct gw_entry *out) {
    const struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    spread_indices(aggregation, list, aggregation->elements);
    for (size_t i = 0; i < aggregation->elements; i++) {
        out[i] = (struct gw_entry){.index = aggregation_memory->indices[i]};
    }
}

static struct gw_entry *pruned_of(const struct aggregation_memory *aggregation_memory) {
    return aggregation_memory->merged + max_elements(aggregation_memory, GW_MERGE);
}

/* Two lists of different elements, with drawn values. */
static enum gw_status fill_merged(struct measured_aggregation *aggregation,
                                  struct gw_error *error) {
    struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    const float *drawn = gw_pool_next(&aggregation_memory->vectors->gradient,
                                      aggregation->elements * 2 * sizeof *drawn);
    list_others(aggregation, 7, aggregation_memory->merged);
    for (size_t i = 0; i < aggregation->elements; i++) {
        aggregation_memory->merged[i].value = drawn[i];
        aggregation_memory->entries[i].value = drawn[aggregation->elements + i];
    }
    return aggregation_memory->memory.does->prepare_merge(&aggregation_memory->memory,
                                                          aggregation->elements, error);
}

static enum gw_status open_sketch(struct measured_aggregation *aggregation,
                                  struct gw_error *error) {
    struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    size_t n = aggregation->elements;
    size_t i = 0;
    while (i < aggregation->size_count && aggregation->sizes[i] != n) {
        i++;
    }
    aggregation->which = i;
    if (i < aggregation->size_count) {
        return GW_OK;
    }
    if (i == MAX_SIZES) {
        return gw_fail(error, GW_FAILED, "heavymix: expected at most %d sizes", MAX_SIZES);
    }
    struct gw_sketch *sketch = &aggregation->sketches[i];
    size_t columns = gw_sketch_columns(n, gw_elements_kept(n, aggregation->density));
    GW_TRY(gw_sketch_open(sketch, GW_SKETCH_ROWS, columns, 1, error));
    aggregation->sizes[aggregation->size_count++] = n;
    return gw_sketch_encode(sketch,
                            gw_pool_next(&aggregation_memory->vectors->gradient, n * sizeof(float)),
                            0, n, error);
}

/* Returns a vector that is not in any cache, as an aggregate that was last touched an iteration
 * ago. */
static float *next_vector(const struct measured_aggregation *aggregation, size_t elements) {
    return gw_pool_next(&aggregation->aggregation_memory->vectors->residual,
                        elements * sizeof(float));
}

/* Opens a matrix as square as can be, with factors of some gradient. */
static enum gw_status open_factors(struct measured_aggregation *aggregation,
                                   struct gw_error *error) {
    const struct gw_compressor *compressor = aggregation->compressor;
    struct gw_task *task = &aggregation->factored;
    gw_state_close(compressor, task->state);
    *task = (struct gw_task){.n = aggregation->elements,
                             .workspace = &aggregation->aggregation_memory->memory.workspace};
    GW_TRY(gw_state_open(compressor, task, &task->state, error));
    task->u = next_vector(aggregation, task->n);
    return gw_low_rank_project(task->state, task, error);
}

static enum gw_status prepare_entries(void *context, size_t elements, struct gw_error *error) {
    struct measured_aggregation *aggregation = context;
    aggregation->elements = elements;
    switch (aggregation->by) {
    case GW_SCATTER_ADD:
        list_entries(aggregation, aggregation->aggregation_memory->workers);
        break;
    case GW_MERGE:
        list_entries(aggregation, 1);
        return fill_merged(aggregation, error);
    case GW_GIVE_BACK:
        list_entries(aggregation, 1);
        list_others(aggregation, 7, aggregation->aggregation_memory->merged);
        list_others(aggregation, 13, pruned_of(aggregation->aggregation_memory));
        break;
    case GW_TAKE_AND_PUT:
        list_entries(aggregation, 1);
        break;
    case GW_HEAVYMIX:
        return open_sketch(aggregation, error);
    case GW_FACTOR:
    case GW_EXPAND:
        return open_factors(aggregation, error);
    case GW_DECODE:
    case GW_DECODE_ADD:
    case GW_SUM:
    case GW_AGGREGATOR_COUNT:
        break;
    }
    return GW_OK;
}

static size_t before_step(const void *context, size_t smaller, size_t larger) {
    const struct measured_aggregation *aggregation = context;
    return gw_size_before_step(aggregation->density, smaller, larger);
}

static void close_aggregation(void *object) {
    struct measured_aggregation *aggregation = object;
    gw_state_close(aggregation->compressor, aggregation->factored.state);
    for (size_t i = 0; i < aggregation->size_count; i++) {
        gw_sketch_free(&aggregation->sketches[i]);
    }
}

/* ---- one repeat ---------------------------------------------------------------------------- */

/* Codes that have just come, as int8, which is between the others in bytes and in time: of one
 * worker, or of a part of each. Their values are those of any floats, read as codes. */
static struct gw_codes next_codes(const struct measured_aggregation *aggregation) {
    const struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    bool adds = aggregation->by == GW_DECODE_ADD;
    struct gw_codes codes = {.compressor = &gw_compressor_int8,
                             .payloads = adds ? aggregation_memory->workers : 1};
    codes.elements = gw_part_elements(aggregation->elements, codes.payloads);
    codes.bytes =
        gw_pool_next(&aggregation_memory->vectors->gradient,
                     codes.payloads * (size_t)gw_code_bytes(codes.compressor, codes.elements));
    return codes;
}

/* Decodes codes of a worker, or sums those of a part of all. */
static enum gw_status run_decoder(const struct measured_aggregation *aggregation,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &aggregation->aggregation_memory->memory;
    const struct gw_codes codes = next_codes(aggregation);
    bool adds = aggregation->by == GW_DECODE_ADD;
    float *to = next_vector(aggregation, codes.elements);
    size_t bytes = codes.elements * sizeof *to;
    GW_TRY(adds ? memory->does->clear(memory, to, bytes, error) : GW_OK);
    GW_TRY(memory->does->decode(memory, &codes, codes.elements, 1, adds, to, error));
    return !adds && aggregation->aggregation_memory->delivers
               ? memory->does->copy(memory, next_vector(aggregation, codes.elements), to, bytes,
                                    error)
               : GW_OK;
}

static enum gw_status run_aggregator(void *context, struct gw_error *error) {
    struct measured_aggregation *aggregation = context;
    struct aggregation_memory *aggregation_memory = aggregation->aggregation_memory;
    struct gw_memory *memory = &aggregation_memory->memory;
    const struct gw_memory_operations *does = memory->does;
    size_t elements = aggregation->elements;
    switch (aggregation->by) {
    case GW_SCATTER_ADD:
        return does->scatter_add(memory, aggregation_memory->entries, aggregation->counts,
                                 aggregation_memory->workers,
                                 next_vector(aggregation, aggregation->range), error);
    case GW_MERGE:
        return does->merge(memory, aggregation_memory->merged, aggregation_memory->entries,
                           elements, pruned_of(aggregation_memory), error);
    case GW_GIVE_BACK: { /* own entries of each of P workers, pruned ones of P - 1 merges */
        float *u = next_vector(aggregation, aggregation->range);
        GW_TRY(does->scatter_add_where(memory, aggregation_memory->entries, elements,
                                       aggregation_memory->merged, elements, false, u, error));
        return does->scatter_add_where(memory, pruned_of(aggregation_memory), elements,
                                       aggregation_memory->merged, elements, true, u, error);
    }
    case GW_TAKE_AND_PUT: {
        float *u = next_vector(aggregation, aggregation->range);
        float *aggregate = next_vector(aggregation, aggregation->range);
        GW_TRY(does->take(memory, u, aggregation_memory->indices, elements,
                          aggregation_memory->values, error));
        return does->put(memory, aggregate, aggregation_memory->indices, elements,
                         aggregation_memory->values, error);
    }
    case GW_SUM: {
        float *sums = next_vector(aggregation, elements);
        return does->add(memory, sums, next_vector(aggregation, elements), 1, elements, error);
    }
    case GW_DECODE:
    case GW_DECODE_ADD:
        return run_decoder(aggregation, error);
    case GW_FACTOR:
    case GW_EXPAND: {
        struct gw_task *task = &aggregation->factored;
        task->u = next_vector(aggregation, elements);
        if (aggregation->by == GW_FACTOR) {
            gw_low_rank_factor(task->state, task);
        } else {
            gw_low_rank_expand(task->state, task, 1, next_vector(aggregation, elements));
        }
        return GW_OK;
    }
    case GW_HEAVYMIX:
        return gw_sketch_heavymix(&aggregation->sketches[aggregation->which], elements,
                                  gw_elements_kept(elements, aggregation->density), 0,
                                  &aggregation_memory->memory.workspace,
                                  aggregation_memory->indices, NULL, error);
    case GW_AGGREGATOR_COUNT:
        break;
    }
    return GW_OK;
}

static void evict_cache(const struct aggregation_memory *aggregation_memory) {
    gw_pool_evict(&aggregation_memory->vectors->gradient, aggregation_memory->evicted_bytes);
}

/* Restores the list that a merge has changed. */
static void restore_list(void *context) {
    struct measured_aggregation *aggregation = context;
    struct gw_error error;
    if (aggregation->by == GW_MERGE) {
        (void)fill_merged(aggregation, &error);
    }
}

static void restore_and_evict(void *context) {
    const struct measured_aggregation *aggregation = context;
    restore_list(context);
    evict_cache(aggregation->aggregation_memory);
}

/*
 * Evicts before the ranks agree on a start: a rank that is done must leave the cores to the others.
 */
static enum gw_status evict_and_prepare(void *context, size_t elements, struct gw_error *error) {
    const struct measured_aggregation *aggregation = context;
    evict_cache(aggregation->aggregation_memory);
    return prepare_entries(context, elements, error);
}

/* ---- all aggregators ----------------------------------------------------------------------- */

static void close_memory(void *object) {
    gw_memory_close(object);
}

/* Evicts less if there is little time, as with --quick, since every repeat evicts. */
static enum gw_status open_workspace(struct gw_point_survey *survey,
                                     const struct gw_calibration *calibration,
                                     struct aggregation_memory *aggregation_memory,
                                     struct gw_error *error) {
    static const double usual_time_s = 50;
    size_t workers = (size_t)survey->communicator->size;
    double share = fmin(1, calibration->time_s / usual_time_s);
    *aggregation_memory =
        (struct aggregation_memory){.vectors = &survey->vectors,
                                    .density = calibration->density,
                                    .delivers = calibration->backward != NULL,
                                    .workers = workers,
                                    .max_elements = calibration->max_elements,
                                    .evicted_bytes = (size_t)(share * (double)evicted_bytes)};
    if (gw_arena_own(&survey->arena, &aggregation_memory->memory, close_memory) == NULL) {
        return gw_fail_memory(error, "calibrating aggregation");
    }
    size_t found = gw_elements_kept(aggregation_memory->max_elements,
                                    fmin(GW_DENSER_TIMES * aggregation_memory->density, 1));
    size_t most = max_elements(aggregation_memory, GW_SCATTER_ADD);
    most = most > found ? most : found;
    aggregation_memory->entries =
        gw_arena_zeros(&survey->arena, most, sizeof *aggregation_memory->entries);
    aggregation_memory->merged =
        gw_arena_zeros(&survey->arena, 2 * max_elements(aggregation_memory, GW_MERGE),
                       sizeof *aggregation_memory->merged);
    aggregation_memory->indices =
        gw_arena_zeros(&survey->arena, most, sizeof *aggregation_memory->indices);
    aggregation_memory->values =
        gw_arena_zeros(&survey->arena, most, sizeof *aggregation_memory->values);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating aggregation", error));
    double start_s = gw_clock_read_s(calibration->clock);
    evict_cache(aggregation_memory);
    aggregation_memory->evict_s = gw_clock_read_s(calibration->clock) - start_s;
    return gw_memory_open(&aggregation_memory->memory, NULL, error);
}

static bool is_everywhere(enum gw_aggregator by) {
    bool everywhere = false;
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        for (size_t leg = 0; leg < gw_exchange_kinds[i]->leg_count; leg++) {
            for (size_t a = 0; a < GW_MAX_AGGREGATIONS; a++) {
                const struct gw_aggregation *one = &gw_exchange_kinds[i]->legs[leg].aggregations[a];
                everywhere = everywhere || (one->recurrence != GW_NEVER && one->by == by &&
                                            one->where == GW_EVERYWHERE);
            }
        }
    }
    return everywhere;
}

static enum gw_status add_alone(struct gw_point_survey *survey,
                                struct aggregation_memory *aggregation_memory,
                                enum gw_aggregator by, struct gw_series series,
                                const struct gw_compressor *compressor, double density,
                                struct gw_error *error) {
    struct measured_aggregation *aggregation =
        gw_arena_zeros(&survey->arena, 1, sizeof *aggregation);
    (void)gw_arena_own(&survey->arena, aggregation, close_aggregation);
    size_t *counts = gw_arena_zeros(&survey->arena, aggregation_memory->workers, sizeof *counts);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating aggregation", error));
    *aggregation = (struct measured_aggregation){.aggregation_memory = aggregation_memory,
                                                 .by = by,
                                                 .compressor = compressor,
                                                 .density = density,
                                                 .counts = counts};
    series.subject.context = aggregation;
    series.subject.largest = max_entries(aggregation_memory, by, density);
    series.subject.smallest = gw_lesser(smallest_elements, series.subject.largest / 16);
    return gw_series_list_add(&survey->list, series, error);
}

/* Adds the last series again, run by all ranks of a machine at once. */
static enum gw_status add_concurrent(struct gw_point_survey *survey, struct gw_error *error) {
    struct gw_series series = survey->list.items[survey->list.count - 1];
    series.workers = survey->sharers;
    series.together = true;
    series.subject.separate = false;
    series.subject.prepare = evict_and_prepare;
    series.subject.restore = restore_list;
    series.subject.smallest = gw_lesser(min_concurrent, series.subject.largest / 4);
    return gw_series_list_add(&survey->list, series, error);
}

/*
 * Measures all but sums, merges and decoders at a second density too, or at a second rank. Tables
 * of sketches are larger the more elements are wanted; entries close together are prefetched, and
 * then the ranks' shared memory bandwidth counts.
 */
static enum gw_status add_aggregator(struct gw_point_survey *survey,
                                     struct aggregation_memory *aggregation_memory,
                                     enum gw_aggregator by, struct gw_error *error) {
    bool sketched = by == GW_HEAVYMIX;
    bool shares = survey->communicator->size > 1 && is_everywhere(by);
    struct gw_series series = {.workers = 1,
                               .aggregates = true,
                               .subject = {.name = gw_aggregator_names[by],
                                           .size_key = "elements",
                                           .before_step = sketched ? before_step : NULL,
                                           .prepare = prepare_entries,
                                           .run = run_aggregator,
                                           .restore = restore_and_evict,
                                           .separate = true,
                                           .idle_s = idle_s,
                                           .evict_s = aggregation_memory->evict_s}};
    const struct gw_compressor *usual = &gw_compressor_powersgd;
    GW_TRY(add_alone(survey, aggregation_memory, by, series, usual, aggregation_memory->density,
                     error));
    GW_TRY(shares ? add_concurrent(survey, error) : GW_OK);
    if ((by == GW_FACTOR || by == GW_EXPAND) && gw_series_make_ranked(&series, &survey->arena)) {
        return add_alone(survey, aggregation_memory, by, series, gw_compressor_find(gw_second_rank),
                         aggregation_memory->density, error);
    }
    double times = sketched ? GW_DENSER_TIMES : close_times;
    if (!(sketched || gw_aggregator_scatters(by)) ||
        !gw_series_make_denser(&series, aggregation_memory->density, times, &survey->arena)) {
        return gw_arena_check(&survey->arena, "calibrating aggregation", error);
    }
    GW_TRY(add_alone(survey, aggregation_memory, by, series, usual, series.densities[1], error));
    return shares ? add_concurrent(survey, error) : GW_OK;
}

bool gw_calibrates(const struct gw_calibration *calibration, enum gw_aggregator by) {
    bool sketches = false;
    for (size_t i = 0; calibration->compressors[i] != NULL; i++) {
        sketches = sketches || calibration->compressors[i]->sketched;
    }
    bool asked = by == GW_HEAVYMIX ? sketches : calibration->aggregation;
    return asked && calibration->device == NULL;
}

enum gw_status gw_point_survey_add_aggregators(struct gw_point_survey *survey,
                                               const struct gw_calibration *calibration,
                                               struct gw_error *error) {
    if (!gw_calibrates(calibration, GW_SUM) && !gw_calibrates(calibration, GW_HEAVYMIX)) {
        return GW_OK;
    }
    struct aggregation_memory *aggregation_memory =
        gw_arena_zeros(&survey->arena, 1, sizeof *aggregation_memory);
    if (aggregation_memory == NULL) {
        return gw_fail_memory(error, "calibrating aggregation");
    }
    GW_TRY(open_workspace(survey, calibration, aggregation_memory, error));
    for (int by = 0; by < GW_AGGREGATOR_COUNT; by++) {
        GW_TRY(gw_calibrates(calibration, (enum gw_aggregator)by)
                   ? add_aggregator(survey, aggregation_memory, (enum gw_aggregator)by, error)
                   : GW_OK);
    }
    return GW_OK;
}
