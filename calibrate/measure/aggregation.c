/* What is done with what exchanges bring, as exec does it on CPUs. */
#include <math.h>
#include <string.h>

#include "calibrate/measure/measure.h"
#include "kernels/memory.h"
#include "kernels/sketch.h"
#include "methods/methods.h"

static const size_t smallest_elements = 1024;

/* What is shorter than it takes to wake ranks that share cores hardly meets. */
static const size_t smallest_together = 1 << 13;

/*
 * In a job hundreds of milliseconds have passed since an aggregate was touched, and its thread has
 * waited for the network. Measured right after each other, exchanges of two workers were predicted
 * up to 3% too fast, with this 0.2% (docs/calibration.md).
 */
static const double idle_s = 0.002;
static const size_t evicted_bytes = 64 << 20;

/*
 * So many times as dense as the first density are entries that lie close together. Denser ones
 * would be so many in vectors that no cache holds that they are left to the line through both.
 */
static const double close_times = 64;

/* What aggregators share; the survey's. Entries and values are zero: vectors stay as they are. */
struct all {
    struct gw_vector_pools *vectors;
    struct gw_memory memory;
    double density;
    size_t workers, max_elements;
    size_t evicted_bytes;
    double evict_s;           /* that it takes */
    struct gw_entry *entries; /* that come */
    struct gw_entry *merged;  /* a list, and from the middle on what was pruned of it */
    uint32_t *indices;
    float *values;
};

enum { MOST_SIZES = 64 };

struct aggregation {
    struct all *all;
    enum gw_aggregator by;
    double density;
    size_t elements; /* of the size that is measured */
    size_t range;    /* elements of the vector that they are some of */
    size_t *counts;  /* [workers], of the entries of each */
    /* HEAVYMIX: a sketch for each size, and which elements are found. */
    struct gw_sketch sketches[MOST_SIZES];
    size_t sizes[MOST_SIZES], size_count, which;
};

/* Elements: of vectors of which a part is selected, that part; two sizes at least make a curve. */
static size_t room_for(const struct all *all, enum gw_aggregator by) {
    static const size_t parts[] = {[GW_SCATTER_ADD] = 4,  [GW_MERGE] = 32, [GW_GIVE_BACK] = 32,
                                   [GW_TAKE_AND_PUT] = 4, [GW_SUM] = 1,    [GW_HEAVYMIX] = 1};
    size_t part = all->max_elements / parts[by];
    return part > 4 * smallest_elements ? part : 4 * smallest_elements;
}

/* As many entries as the longest calibrated vector has at that density: more would lie closer. */
static size_t largest_of(const struct all *all, enum gw_aggregator by, double density) {
    enum { LEAST = 256 };
    size_t lists = by == GW_SCATTER_ADD ? all->workers : 1;
    size_t entries = lists * gw_elements_kept(all->max_elements, density);
    size_t most = room_for(all, by);
    return !gw_aggregator_scatters(by) ? most : entries > LEAST ? gw_lesser(entries, most) : LEAST;
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* Ascending, and about as far apart as elements of a vector of so many that were selected. */
static void spread(const struct aggregation *aggregation, size_t list, size_t count) {
    const struct all *all = aggregation->all;
    double apart = (double)aggregation->range / (double)count;
    uint32_t noise = (uint32_t)list + 1;
    for (size_t i = 0; i < count; i++) {
        noise = noise * 1664525u + 1013904223u;
        double within = (double)(noise >> 8) / (1 << 24);
        size_t at = (size_t)(((double)i + within) * apart);
        all->indices[i] = (uint32_t)gw_lesser(at, aggregation->range - 1);
    }
}

/*
 * Each of `lists` has its share of the elements. Where a vector of the density would be longer than
 * the longest that is calibrated, as of a short one, more of that one were selected.
 */
static void list_entries(struct aggregation *aggregation, size_t lists) {
    const struct all *all = aggregation->all;
    struct gw_entry *entry = all->entries;
    double each = (double)aggregation->elements / (double)lists;
    aggregation->range = (size_t)fmin(each / aggregation->density, (double)all->max_elements);
    for (size_t list = 0; list < lists; list++) {
        size_t count = aggregation->elements / lists + (list < aggregation->elements % lists);
        aggregation->counts[list] = count;
        spread(aggregation, list, count);
        for (size_t i = 0; i < count; i++) {
            *entry++ = (struct gw_entry){.index = all->indices[i]};
        }
    }
}

/* As many others as there are entries. */
static void list_others(const struct aggregation *aggregation, size_t list, struct gw_entry *out) {
    const struct all *all = aggregation->all;
    spread(aggregation, list, aggregation->elements);
    for (size_t i = 0; i < aggregation->elements; i++) {
        out[i] = (struct gw_entry){.index = all->indices[i]};
    }
}

static struct gw_entry *pruned_of(const struct all *all) {
    return all->merged + room_for(all, GW_MERGE);
}

/* Two lists of other elements each, of values that are drawn. */
static enum gw_status fill_merged(struct aggregation *aggregation, struct gw_error *error) {
    struct all *all = aggregation->all;
    const float *drawn =
        gw_pool_next(&all->vectors->gradient, aggregation->elements * 2 * sizeof *drawn);
    list_others(aggregation, 7, all->merged);
    for (size_t i = 0; i < aggregation->elements; i++) {
        all->merged[i].value = drawn[i];
        all->entries[i].value = drawn[aggregation->elements + i];
    }
    return all->memory.does->prepare_merge(&all->memory, aggregation->elements, error);
}

static enum gw_status open_sketch(struct aggregation *aggregation, struct gw_error *error) {
    struct all *all = aggregation->all;
    size_t n = aggregation->elements;
    size_t i = 0;
    while (i < aggregation->size_count && aggregation->sizes[i] != n) {
        i++;
    }
    aggregation->which = i;
    if (i < aggregation->size_count) {
        return GW_OK;
    }
    if (i == MOST_SIZES) {
        return gw_fail(error, GW_FAILED, "heavymix: expected at most %d sizes", MOST_SIZES);
    }
    struct gw_sketch *sketch = &aggregation->sketches[i];
    size_t columns = gw_sketch_columns(n, gw_elements_kept(n, aggregation->density));
    GW_TRY(gw_sketch_open(sketch, GW_SKETCH_ROWS, columns, 1, error));
    aggregation->sizes[aggregation->size_count++] = n;
    return gw_sketch_encode(sketch, gw_pool_next(&all->vectors->gradient, n * sizeof(float)), 0, n,
                            error);
}

static enum gw_status prepare(void *context, size_t elements, struct gw_error *error) {
    struct aggregation *aggregation = context;
    aggregation->elements = elements;
    switch (aggregation->by) {
    case GW_SCATTER_ADD:
        list_entries(aggregation, aggregation->all->workers);
        break;
    case GW_MERGE:
        list_entries(aggregation, 1);
        return fill_merged(aggregation, error);
    case GW_GIVE_BACK:
        list_entries(aggregation, 1);
        list_others(aggregation, 7, aggregation->all->merged);
        list_others(aggregation, 13, pruned_of(aggregation->all));
        break;
    case GW_TAKE_AND_PUT:
        list_entries(aggregation, 1);
        break;
    case GW_HEAVYMIX:
        return open_sketch(aggregation, error);
    case GW_SUM:
    case GW_AGGREGATOR_COUNT:
        break;
    }
    return GW_OK;
}

static size_t before_step(const void *context, size_t smaller, size_t larger) {
    const struct aggregation *aggregation = context;
    return gw_size_before_step(aggregation->density, smaller, larger);
}

static void close_sketches(void *object) {
    struct aggregation *aggregation = object;
    for (size_t i = 0; i < aggregation->size_count; i++) {
        gw_sketch_free(&aggregation->sketches[i]);
    }
}

/* ---- one repeat ---------------------------------------------------------------------------- */

/* A vector that no cache holds: nobody has touched an aggregate for an iteration. */
static float *next_vector(const struct aggregation *aggregation, size_t elements) {
    return gw_pool_next(&aggregation->all->vectors->residual, elements * sizeof(float));
}

/* Of P workers all give back their own entries, and P - 1 times one what it has pruned. */
static enum gw_status give_back(struct aggregation *aggregation, struct gw_error *error) {
    struct all *all = aggregation->all;
    const struct gw_memory_operations *does = all->memory.does;
    size_t k = aggregation->elements;
    float *u = next_vector(aggregation, aggregation->range);
    GW_TRY(does->scatter_add_where(&all->memory, all->entries, k, all->merged, k, false, u, error));
    return does->scatter_add_where(&all->memory, pruned_of(all), k, all->merged, k, true, u, error);
}

static enum gw_status take_and_put(struct aggregation *aggregation, struct gw_error *error) {
    struct all *all = aggregation->all;
    const struct gw_memory_operations *does = all->memory.does;
    size_t count = aggregation->elements;
    float *u = next_vector(aggregation, aggregation->range);
    float *aggregate = next_vector(aggregation, aggregation->range);
    GW_TRY(does->take(&all->memory, u, all->indices, count, all->values, error));
    return does->put(&all->memory, aggregate, all->indices, count, all->values, error);
}

static enum gw_status run(void *context, struct gw_error *error) {
    struct aggregation *aggregation = context;
    struct all *all = aggregation->all;
    const struct gw_memory_operations *does = all->memory.does;
    size_t elements = aggregation->elements;
    switch (aggregation->by) {
    case GW_SCATTER_ADD:
        return does->scatter_add(&all->memory, all->entries, aggregation->counts, all->workers,
                                 next_vector(aggregation, aggregation->range), error);
    case GW_MERGE:
        return does->merge(&all->memory, all->merged, all->entries, elements, pruned_of(all),
                           error);
    case GW_GIVE_BACK:
        return give_back(aggregation, error);
    case GW_TAKE_AND_PUT:
        return take_and_put(aggregation, error);
    case GW_SUM: {
        float *sums = next_vector(aggregation, elements);
        return does->add(&all->memory, sums, next_vector(aggregation, elements), 1, elements,
                         error);
    }
    case GW_HEAVYMIX:
        return gw_sketch_heavymix(&aggregation->sketches[aggregation->which], elements,
                                  gw_elements_kept(elements, aggregation->density), 0,
                                  &all->memory.workspace, all->indices, NULL, error);
    case GW_AGGREGATOR_COUNT:
        break;
    }
    return GW_OK;
}

static void evict(const struct all *all) {
    gw_pool_evict(&all->vectors->gradient, all->evicted_bytes);
}

/* The list that a merge has changed. */
static void restore(void *context) {
    struct aggregation *aggregation = context;
    struct gw_error error;
    if (aggregation->by == GW_MERGE) {
        (void)fill_merged(aggregation, &error);
    }
}

static void restore_and_evict(void *context) {
    const struct aggregation *aggregation = context;
    restore(context);
    evict(aggregation->all);
}

/* Before the ranks agree on when to begin: who is done must leave the cores to the others. */
static enum gw_status evict_and_prepare(void *context, size_t elements, struct gw_error *error) {
    const struct aggregation *aggregation = context;
    evict(aggregation->all);
    return prepare(context, elements, error);
}

/* ---- all ----------------------------------------------------------------------------------- */

static void close_memory(void *object) {
    gw_memory_close(object);
}

/* Where there is little time, as with --quick, less is evicted: each repeat takes as long. */
static enum gw_status open_all(struct gw_survey *survey, const struct gw_calibration *calibration,
                               struct all *all, struct gw_error *error) {
    static const double usual_time_s = 50;
    size_t workers = (size_t)survey->communicator->size;
    double share = fmin(1, calibration->time_s / usual_time_s);
    *all = (struct all){.vectors = &survey->vectors,
                        .density = calibration->density,
                        .workers = workers,
                        .max_elements = calibration->max_elements,
                        .evicted_bytes = (size_t)(share * (double)evicted_bytes)};
    if (gw_arena_own(&survey->arena, &all->memory, close_memory) == NULL) {
        return gw_fail_memory(error, "calibrating aggregation");
    }
    size_t found = gw_elements_kept(all->max_elements, fmin(GW_DENSER_TIMES * all->density, 1));
    size_t most = room_for(all, GW_SCATTER_ADD);
    most = most > found ? most : found;
    all->entries = gw_arena_zeros(&survey->arena, most, sizeof *all->entries);
    all->merged = gw_arena_zeros(&survey->arena, 2 * room_for(all, GW_MERGE), sizeof *all->merged);
    all->indices = gw_arena_zeros(&survey->arena, most, sizeof *all->indices);
    all->values = gw_arena_zeros(&survey->arena, most, sizeof *all->values);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating aggregation", error));
    double start_s = gw_clock_read_s(calibration->clock);
    evict(all);
    all->evict_s = gw_clock_read_s(calibration->clock) - start_s;
    return gw_memory_open(&all->memory, NULL, error);
}

static bool is_everywhere(enum gw_aggregator by) {
    bool everywhere = false;
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        for (size_t leg = 0; leg < gw_exchange_kinds[i]->leg_count; leg++) {
            for (size_t a = 0; a < GW_MOST_AGGREGATIONS; a++) {
                const struct gw_aggregation *one = &gw_exchange_kinds[i]->legs[leg].aggregations[a];
                everywhere = everywhere || (one->recurrence != GW_NEVER && one->by == by &&
                                            one->where == GW_EVERYWHERE);
            }
        }
    }
    return everywhere;
}

static enum gw_status add_alone(struct gw_survey *survey, struct all *all, enum gw_aggregator by,
                                struct gw_series series, double density, struct gw_error *error) {
    struct aggregation *aggregation = gw_arena_zeros(&survey->arena, 1, sizeof *aggregation);
    (void)gw_arena_own(&survey->arena, aggregation, close_sketches);
    size_t *counts = gw_arena_zeros(&survey->arena, all->workers, sizeof *counts);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating aggregation", error));
    *aggregation = (struct aggregation){.all = all, .by = by, .density = density, .counts = counts};
    series.subject.context = aggregation;
    series.subject.largest = largest_of(all, by, density);
    series.subject.smallest = gw_lesser(smallest_elements, series.subject.largest / 16);
    return gw_series_list_add(&survey->list, series, error);
}

/* The last one added, as ranks of a machine run it at once. */
static enum gw_status add_together(struct gw_survey *survey, struct gw_error *error) {
    struct gw_series series = survey->list.items[survey->list.count - 1];
    series.workers = survey->sharers;
    series.together = true;
    series.subject.separate = false;
    series.subject.prepare = evict_and_prepare;
    series.subject.restore = restore;
    series.subject.smallest = gw_lesser(smallest_together, series.subject.largest / 4);
    return gw_series_list_add(&survey->list, series, error);
}

/*
 * All but sums and merges are measured at a second density as well. Tables of sketches are the
 * larger, the more is looked for; entries that lie close are found ahead of their use, and then it
 * is how much memory ranks share that counts.
 */
static enum gw_status add(struct gw_survey *survey, struct all *all, enum gw_aggregator by,
                          struct gw_error *error) {
    bool sketched = by == GW_HEAVYMIX;
    bool shares = survey->communicator->size > 1 && is_everywhere(by);
    struct gw_series series = {.workers = 1,
                               .aggregates = true,
                               .subject = {.name = gw_aggregator_names[by],
                                           .size_key = "elements",
                                           .before_step = sketched ? before_step : NULL,
                                           .prepare = prepare,
                                           .run = run,
                                           .restore = restore_and_evict,
                                           .separate = true,
                                           .idle_s = idle_s,
                                           .evict_s = all->evict_s}};
    GW_TRY(add_alone(survey, all, by, series, all->density, error));
    GW_TRY(shares ? add_together(survey, error) : GW_OK);
    double times = sketched ? GW_DENSER_TIMES : close_times;
    if (!(sketched || gw_aggregator_scatters(by)) ||
        !gw_series_make_denser(&series, all->density, times, &survey->arena)) {
        return gw_arena_check(&survey->arena, "calibrating aggregation", error);
    }
    GW_TRY(add_alone(survey, all, by, series, series.densities[1], error));
    return shares ? add_together(survey, error) : GW_OK;
}

bool gw_calibrates(const struct gw_calibration *calibration, enum gw_aggregator by) {
    bool sketches = false;
    for (size_t i = 0; calibration->compressors[i] != NULL; i++) {
        sketches = sketches || calibration->compressors[i]->sketched;
    }
    bool asked = by == GW_HEAVYMIX ? sketches : calibration->aggregation;
    return asked && calibration->device == NULL;
}

enum gw_status gw_survey_add_aggregators(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error) {
    if (!gw_calibrates(calibration, GW_SUM) && !gw_calibrates(calibration, GW_HEAVYMIX)) {
        return GW_OK;
    }
    struct all *all = gw_arena_zeros(&survey->arena, 1, sizeof *all);
    if (all == NULL) {
        return gw_fail_memory(error, "calibrating aggregation");
    }
    GW_TRY(open_all(survey, calibration, all, error));
    for (int by = 0; by < GW_AGGREGATOR_COUNT; by++) {
        GW_TRY(gw_calibrates(calibration, (enum gw_aggregator)by)
                   ? add(survey, all, (enum gw_aggregator)by, error)
                   : GW_OK);
    }
    return GW_OK;
}
