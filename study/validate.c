/* Compares predictions with measurements: numbers of selected elements, errors, their causes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "study/difference.h"
#include "study/predict.h"
#include "study/validate.h"

/* ---- checks before any run ----------------------------------------------------------------- */

static bool takes_source(const struct gw_validation *validation, const char *source) {
    return strcmp(validation->counts, source) == 0;
}

static enum gw_status check_single(const struct gw_validation *validation, const char *option,
                                   struct gw_error *error) {
    size_t algorithms = validation->count + validation->infeasible_count;
    if (algorithms != 1) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a single algorithm with it, got %zu",
                       option, algorithms);
    }
    const struct gw_validation_pair *pair = validation->pairs;
    return pair->counts_depend_on_data ? GW_OK
                                       : gw_fail(error, GW_BAD_INPUT,
                                                 "%s: expected an algorithm whose number of "
                                                 "selected elements depends on gradients, got %s",
                                                 option, pair->pipeline.scenario.method->name);
}

enum gw_status gw_validation_check_counts(const struct gw_validation *validation,
                                          struct gw_error *error) {
    if (validation->counts_out != NULL) {
        GW_TRY(check_single(validation, "--counts-out", error));
    }
    if (takes_source(validation, "recorded") || takes_source(validation, "asked") ||
        takes_source(validation, "trained")) {
        return GW_OK;
    }
    GW_TRY(check_single(validation, "--counts FILE", error));
    return gw_pipeline_check_counts(&validation->pairs->pipeline, validation->counts, error);
}

/* ---- recording ----------------------------------------------------------------------------- */

enum gw_status gw_validation_pair_open_counts(const struct gw_validation *validation,
                                              struct gw_validation_pair *pair,
                                              struct gw_error *error) {
    const struct gw_algorithm *algorithm = pair->pipeline.scenario.method;
    const struct gw_schedule *schedule = &pair->pipeline.schedule;
    bool has_distinct = false;
    for (size_t i = 0; i < schedule->way_count; i++) {
        const struct gw_compressor *compressor = schedule->ways[i].compressor;
        pair->counts_depend_on_data =
            pair->counts_depend_on_data ||
            (gw_counts_depend_on_data(compressor) && !validation->timed_compression);
        has_distinct = has_distinct || compressor->joint || compressor->layered;
    }
    if (!pair->counts_depend_on_data) {
        return GW_OK;
    }
    char source[GW_RESULT_NOTE_SIZE];
    (void)snprintf(source, sizeof source, "%s executed, with seed %llu",
                   GW_COUNTED(pair->iterations, "iteration"), (unsigned long long)validation->seed);
    const struct gw_counts_about about = {.model = validation->scenario.model->name,
                                          .algorithm = algorithm->name,
                                          .compressor = gw_schedule_compressor(schedule),
                                          .source = source,
                                          .density = pair->pipeline.plan->density};
    pair->extents = calloc(schedule->group_count, sizeof(uint64_t));
    return pair->extents == NULL
               ? gw_fail_memory(error, "validating")
               : gw_counts_for(schedule, &about, has_distinct, &pair->recorded, error);
}

void gw_validation_pair_close_counts(struct gw_validation_pair *pair) {
    gw_counts_free(&pair->recorded);
    free(pair->extents);
}

double gw_validation_pair_selected_ratio(const struct gw_validation_pair *pair) {
    const struct gw_counts *counts = &pair->recorded;
    double selected = 0;
    double asked = 0;
    for (size_t i = 0; i < counts->iteration_count * counts->group_count; i++) {
        const struct gw_slice *group = &pair->pipeline.schedule.groups[i % counts->group_count];
        const struct gw_compressor *compressor = group->way->compressor;
        if (gw_counts_depend_on_data(compressor)) {
            const uint64_t *each = counts->selected + i * counts->workers;
            for (size_t w = 0; w < counts->workers; w++) {
                selected += (double)each[w];
            }
            asked += (double)group->kept * (compressor->joint ? 1 : (double)counts->workers);
        }
    }
    return selected / asked;
}

/* ---- predicting ---------------------------------------------------------------------------- */

/* One iteration, with counts as planned. */
static struct gw_prediction_options once_options(const struct gw_validation *validation) {
    return (struct gw_prediction_options){
        .interval = true,
        .simulation = {.timed_compression = validation->timed_compression,
                       .timed_passes = validation->device == NULL}};
}

enum gw_status gw_validation_predict(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair, struct gw_error *error) {
    const struct gw_prediction_options options = once_options(validation);
    if (validation->timed_compression || takes_source(validation, "asked")) {
        gw_schedule_select_as_asked(&pair->pipeline.schedule);
    }
    GW_TRY(validation->timed_compression ? gw_pipeline_time_compression(&pair->pipeline, error)
                                         : GW_OK);
    return gw_pipeline_predict(&pair->pipeline, &options, NULL, &pair->predicted, error);
}

/* Whether a pair is predicted with counts other than those planned or asked for. */
static bool takes_counts(const struct gw_validation *validation,
                         const struct gw_validation_pair *pair) {
    return pair->counts_depend_on_data && !takes_source(validation, "asked");
}

/* Predicts one iteration, or with counts one for each measured iteration. */
static enum gw_status predict_algorithm(const struct gw_validation *validation,
                                        struct gw_validation_pair *pair, struct gw_timeline *trace,
                                        struct gw_result *out, struct gw_error *error) {
    bool recorded = takes_source(validation, "recorded");
    struct gw_prediction_options options = once_options(validation);
    options.simulation.every_worker = trace != NULL;
    if (takes_counts(validation, pair)) {
        options.simulation.seed = validation->seed;
        options.simulation.threads = gw_cores();
        options.iterations = pair->iterations;
        options.counts = (struct gw_counts_source){.name = validation->counts,
                                                   .recorded = recorded ? &pair->recorded : NULL};
    }
    return gw_pipeline_predict(&pair->pipeline, &options, trace, out, error);
}

static size_t count_fitting(double time_s, double iteration_s, size_t least, size_t most) {
    double fitting = fmax(floor(time_s / iteration_s), (double)least);
    return time_s == 0 || fitting >= (double)most ? most : (size_t)fitting;
}

void gw_validation_choose_iterations(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair) {
    double time_s = validation->time_s, iteration_s = pair->predicted.iteration_s;
    pair->iterations = count_fitting(time_s, iteration_s, 2, validation->iterations);
    pair->warm_up = count_fitting(time_s / 2, iteration_s, 1, validation->warm_up);
}

enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error) {
    for (size_t i = 0; i < validation->count; i++) {
        struct gw_validation_pair *pair = &validation->pairs[i];
        if (takes_counts(validation, pair)) {
            GW_TRY(predict_algorithm(validation, pair, NULL, &pair->predicted, error));
        }
        pair->error = pair->predicted.iteration_s / pair->measured.iteration_s - 1;
    }
    const char *out = validation->counts_out;
    return out == NULL ? GW_OK : gw_counts_write(&validation->pairs->recorded, out, error);
}

/* ---- costs of the pairs ---------------------------------------------------------------------- */

enum { MOST_COSTS = 128 }; /* more than there are collectives and compressors */

static void add_once(const char *names[MOST_COSTS + 1], const char *name) {
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0) {
        i++;
    }
    if (i < MOST_COSTS) {
        names[i] = name;
    }
}

/* Adds names of the compressor, unless that is timed, and of the collectives that cost something.
 */
static void add_names(const char *names[MOST_COSTS + 1], const struct gw_costs *costs, bool timed) {
    if (gw_costs_compress(costs) && !timed) {
        add_once(names, costs->way.compressor->name);
    }
    for (size_t leg = 0; leg < costs->leg_count; leg++) {
        for (size_t part = 0; part < costs->legs[leg].part_count; part++) {
            add_once(names, costs->legs[leg].parts[part].name);
        }
    }
}

enum gw_status gw_validation_costs(const struct gw_validation *validation, struct gw_arena *arena,
                                   const char *const **out, struct gw_error *error) {
    const char **names = gw_arena_zeros(arena, MOST_COSTS + 1, sizeof *names);
    GW_TRY(gw_arena_check(arena, "validating", error));
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_pipeline *pipeline = &validation->pairs[i].pipeline;
        for (size_t way = 0; way < pipeline->schedule.way_count; way++) {
            add_names(names, &pipeline->costs[way], validation->timed_compression);
        }
    }
    *out = names;
    return GW_OK;
}

/* ---- explaining ---------------------------------------------------------------------------- */

enum gw_status gw_validation_find_pair(const struct gw_validation *validation,
                                       const char *algorithm, struct gw_validation_pair **out,
                                       struct gw_error *error) {
    const struct gw_algorithm *known = NULL;
    for (size_t i = 0; i < validation->count; i++) {
        if (strcmp(validation->pairs[i].pipeline.scenario.method->name, algorithm) == 0) {
            *out = &validation->pairs[i];
            return GW_OK;
        }
    }
    for (size_t i = 0; i < validation->infeasible_count; i++) {
        if (strcmp(validation->infeasible[i].algorithm, algorithm) == 0) {
            return gw_fail(error, GW_BAD_INPUT, "--explain %s: %s", algorithm,
                           validation->infeasible[i].why.message);
        }
    }
    GW_TRY(gw_algorithm_find(algorithm, &known, error));
    return gw_fail(error, GW_BAD_INPUT,
                   "--explain: expected one of the algorithms that are run, got %s", algorithm);
}

enum gw_status gw_validation_explain(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair,
                                     const struct gw_timeline *measured, struct gw_arena *arena,
                                     const char *trace, struct gw_error *error) {
    struct gw_timeline predicted = {0};
    struct gw_result result;
    struct gw_difference *difference = gw_arena_zeros(arena, 1, sizeof *difference);
    GW_TRY(gw_arena_check(arena, "comparing timelines", error));
    enum gw_status status = predict_algorithm(validation, pair, &predicted, &result, error);
    if (status == GW_OK) {
        status =
            gw_difference_find(&pair->pipeline, &predicted, measured, arena, difference, error);
    }
    if (status == GW_OK && trace != NULL) {
        status = gw_difference_write_trace(difference, trace, error);
    }
    gw_timeline_free(&predicted);
    pair->difference = difference;
    return status;
}

/* ---- errors -------------------------------------------------------------------------------- */

double gw_validation_largest_error(const struct gw_validation *validation) {
    double largest = 0;
    for (size_t i = 0; i < validation->count; i++) {
        largest = fmax(largest, fabs(validation->pairs[i].error));
    }
    return largest;
}

double gw_validation_mean_error(const struct gw_validation *validation) {
    double sum = 0;
    for (size_t i = 0; i < validation->count; i++) {
        sum += fabs(validation->pairs[i].error);
    }
    return sum / (double)validation->count;
}
