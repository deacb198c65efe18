#include "study/survey.h"

#include <math.h>
#include <string.h>

#include "study/points.h"
#include "study/predict.h"
#include "study/rank.h"
#include "study/scenario.h"

/* ---- predicting some of the ranking ---------------------------------------------------------- */

/* iteration_s[scenario][place]: times of the pipelines in these places of the ranking; NAN: it
 * cannot be predicted. */
static enum gw_status find_times(const struct gw_survey *survey,
                                 const struct gw_scenario *scenarios, size_t scenario_count,
                                 const size_t *places, size_t count, double *iteration_s,
                                 struct gw_error *error) {
    struct gw_arena arena = {0};
    size_t points = scenario_count * count;
    const struct gw_algorithm **algorithms = gw_arena_zeros(&arena, count, sizeof *algorithms);
    struct gw_prediction *predictions = gw_arena_zeros(&arena, points, sizeof *predictions);
    enum gw_status status = gw_arena_check(&arena, "surveying", error);
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        algorithms[i] = gw_advice_algorithm(survey->advice, places[i]);
    }
    const struct gw_comparison comparison = {.algorithms = algorithms,
                                             .count = count,
                                             .learning =
                                                 survey->advice->ranking.comparison->learning};
    if (status == GW_OK) {
        status = gw_answer_points(&comparison, scenarios, scenario_count, predictions, error);
    }
    for (size_t i = 0; i < points && status == GW_OK; i++) {
        bool known = predictions[i].status == GW_OK;
        iteration_s[i] = known ? predictions[i].result.iteration_s : NAN;
    }
    gw_arena_free(&arena);
    return status;
}

static enum gw_status predict_shown(const struct gw_survey *survey,
                                    const struct gw_scenario *scenario,
                                    double iteration_s[GW_SURVEY_SHOWN], struct gw_error *error) {
    return find_times(survey, scenario, 1, survey->shown, survey->shown_count, iteration_s, error);
}

/* ---- shown pipelines ------------------------------------------------------------------------- */

static void show_pipeline(struct gw_survey *survey, size_t place) {
    for (size_t i = 0; i < survey->shown_count; i++) {
        if (survey->shown[i] == place) {
            return;
        }
    }
    if (survey->shown_count < GW_SURVEY_SHOWN) {
        survey->shown[survey->shown_count++] = place;
    }
}

static enum gw_status trace_shown(struct gw_survey *survey, struct gw_error *error) {
    const struct gw_prediction_options options = {0};
    for (size_t i = 0; i < survey->shown_count; i++) {
        const struct gw_scenario *scenario = &survey->advice->scenarios[survey->shown[i]];
        struct gw_pipeline pipeline;
        struct gw_result result;
        GW_TRY(gw_pipeline_open(scenario, gw_advice_algorithm(survey->advice, survey->shown[i]),
                                NULL, &pipeline, error));
        enum gw_status status =
            gw_pipeline_predict(&pipeline, &options, &survey->timelines[i], &result, error);
        gw_pipeline_close(&pipeline);
        GW_TRY(status);
    }
    return GW_OK;
}

/* ---- scaling --------------------------------------------------------------------------------- */

enum { MOST_WORKERS = 256, MOST_COUNTS = 16 };

/* Lists powers of two up to 256 or, if that is more, `asked`; and `asked`. Returns their number. */
static size_t list_workers(size_t asked, size_t out[MOST_COUNTS]) {
    size_t count = 0;
    size_t last = 1;
    for (size_t workers = 2;
         count < MOST_COUNTS - 1 && (workers <= MOST_WORKERS || workers <= asked); workers *= 2) {
        if (last < asked && asked < workers) {
            out[count++] = asked;
        }
        last = workers;
        out[count++] = workers;
    }
    if (count < MOST_COUNTS && last < asked) {
        out[count++] = asked;
    }
    return count;
}

/* Leaves out values at which no pipeline can be predicted, such as more workers than a single node
 * has. */
static enum gw_status find_scaling(struct gw_survey *survey, struct gw_error *error) {
    size_t workers[MOST_COUNTS];
    size_t count = list_workers(survey->advice->scenario->workers, workers);
    survey->scaling = gw_arena_zeros(&survey->arena, count, sizeof *survey->scaling);
    GW_TRY(gw_arena_check(&survey->arena, "surveying", error));
    for (size_t i = 0; i < count; i++) {
        struct gw_survey_times *times = &survey->scaling[survey->scaling_count];
        struct gw_scenario scenario = *survey->advice->scenario;
        bool known = false;
        scenario.workers = workers[i];
        times->value = (double)workers[i];
        GW_TRY(predict_shown(survey, &scenario, times->iteration_s, error));
        for (size_t k = 0; k < survey->shown_count; k++) {
            known = known || !isnan(times->iteration_s[k]);
        }
        survey->scaling_count += known;
    }
    return GW_OK;
}

/* ---- changed scenarios ----------------------------------------------------------------------- */

/* Asks about a copy of the model, in the survey's arena, whose passes take so many times as long.
 */
static enum gw_status slow_down(struct gw_survey *survey, double factor,
                                struct gw_scenario *scenario, struct gw_error *error) {
    struct gw_model *model = gw_arena_zeros(&survey->arena, 1, sizeof *model);
    struct gw_tensor *tensors =
        gw_arena_zeros(&survey->arena, scenario->model->tensor_count, sizeof *tensors);
    GW_TRY(gw_arena_check(&survey->arena, "surveying", error));
    *model = *scenario->model;
    for (size_t i = 0; i < model->tensor_count; i++) {
        tensors[i] = model->tensors[i];
        tensors[i].backward_s *= factor;
    }
    model->tensors = tensors;
    model->forward_s *= factor;
    model->update_s *= factor;
    scenario->model = model;
    return GW_OK;
}

static enum gw_status change_bandwidth(struct gw_survey *survey, double factor,
                                       struct gw_scenario *scenario, struct gw_error *error) {
    (void)survey, (void)error;
    scenario->bandwidth *= factor;
    return GW_OK;
}

static enum gw_status change_density(struct gw_survey *survey, double factor,
                                     struct gw_scenario *scenario, struct gw_error *error) {
    (void)survey, (void)error;
    scenario->density = fmin(scenario->density * factor, 1);
    return GW_OK;
}

static const struct {
    const char *name;
    double factor;
    enum gw_status (*change)(struct gw_survey *survey, double factor, struct gw_scenario *scenario,
                             struct gw_error *error);
} changes[] = {
    {"bandwidth", 0.5, change_bandwidth}, {"bandwidth", 2, change_bandwidth},
    {"compute times", 0.5, slow_down},    {"compute times", 2, slow_down},
    {"density", 0.1, change_density},     {"density", 10, change_density},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static enum gw_status find_changes(struct gw_survey *survey, struct gw_error *error) {
    survey->changes = gw_arena_zeros(&survey->arena, CHANGES, sizeof *survey->changes);
    GW_TRY(gw_arena_check(&survey->arena, "surveying", error));
    survey->change_count = CHANGES;
    for (size_t i = 0; i < CHANGES; i++) {
        struct gw_survey_change *found = &survey->changes[i];
        struct gw_scenario scenario = *survey->advice->scenario;
        found->name = changes[i].name;
        found->factor = changes[i].factor;
        enum gw_status status = changes[i].change(survey, found->factor, &scenario, error);
        status =
            status == GW_OK ? predict_shown(survey, &scenario, found->iteration_s, error) : status;
        GW_TRY(status);
    }
    return GW_OK;
}

/* ---- bandwidth and density ------------------------------------------------------------------- */

/* Six and two values to a decade, a tenth to ten times the bandwidth. */
enum { BANDWIDTHS = 13, DENSITIES = 7, CELLS = BANDWIDTHS * DENSITIES };

/* Finds the fastest of the places, and its speedup over the fastest dense one. */
static void judge_cell(struct gw_survey *survey, const size_t *places, size_t count,
                       const double *iteration_s, size_t cell) {
    double fastest_s = INFINITY;
    double dense_s = INFINITY;
    survey->fastest[cell] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        bool sparse = gw_algorithm_compresses(gw_advice_algorithm(survey->advice, places[i]));
        if (!isnan(iteration_s[i]) && iteration_s[i] < fastest_s) {
            fastest_s = iteration_s[i];
            survey->fastest[cell] = places[i];
        }
        dense_s = !isnan(iteration_s[i]) && !sparse ? fmin(dense_s, iteration_s[i]) : dense_s;
    }
    survey->speedups[cell] = dense_s / fastest_s;
}

static enum gw_status find_map(struct gw_survey *survey, struct gw_error *error) {
    struct gw_arena *arena = &survey->arena;
    const struct gw_advice *advice = survey->advice;
    size_t count = 0;
    size_t *places = gw_arena_zeros(arena, advice->ranking.count, sizeof *places);
    double *iteration_s = gw_arena_zeros(arena, CELLS * advice->ranking.count, sizeof *iteration_s);
    struct gw_scenario *scenarios = gw_arena_zeros(arena, CELLS, sizeof *scenarios);
    survey->bandwidths = gw_arena_zeros(arena, BANDWIDTHS, sizeof *survey->bandwidths);
    survey->densities = gw_arena_zeros(arena, DENSITIES, sizeof *survey->densities);
    survey->fastest = gw_arena_zeros(arena, CELLS, sizeof *survey->fastest);
    survey->speedups = gw_arena_zeros(arena, CELLS, sizeof *survey->speedups);
    GW_TRY(gw_arena_check(arena, "surveying", error));
    survey->bandwidth_count = BANDWIDTHS;
    survey->density_count = DENSITIES;
    for (size_t i = 0; i < advice->ranking.count; i++) {
        if (gw_advice_objection(advice, i) == GW_NO_OBJECTION) {
            places[count++] = i;
        }
    }
    for (size_t i = 0; i < DENSITIES; i++) {
        survey->densities[i] = pow(10, (double)i / 2 - 4);
    }
    for (size_t i = 0; i < BANDWIDTHS; i++) {
        survey->bandwidths[i] = pow(10, (double)i / 6 - 1);
    }
    for (size_t i = 0; i < CELLS; i++) {
        scenarios[i] = *advice->scenario;
        scenarios[i].density = survey->densities[i / BANDWIDTHS];
        scenarios[i].bandwidth *= survey->bandwidths[i % BANDWIDTHS];
    }
    GW_TRY(find_times(survey, scenarios, CELLS, places, count, iteration_s, error));
    for (size_t i = 0; i < CELLS; i++) {
        judge_cell(survey, places, count, &iteration_s[i * count], i);
    }
    return GW_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum gw_status gw_survey_make(const struct gw_advice *advice, struct gw_survey *out,
                              struct gw_error *error) {
    *out = (struct gw_survey){.advice = advice};
    size_t next = 0; /* the first that may be recommended, but is not the recommended one */
    while (next < advice->ranking.count && (next == advice->chosen->place ||
                                            gw_advice_objection(advice, next) != GW_NO_OBJECTION)) {
        next++;
    }
    bool is_compressed = gw_algorithm_compresses(advice->pipeline.scenario.method);
    show_pipeline(out, advice->chosen->place);
    if (next < advice->ranking.count) {
        show_pipeline(out, next);
    }
    show_pipeline(out, is_compressed ? advice->dense : advice->compressed);
    GW_TRY(trace_shown(out, error));
    GW_TRY(find_scaling(out, error));
    GW_TRY(find_changes(out, error));
    return find_map(out, error);
}

void gw_survey_free(struct gw_survey *survey) {
    for (size_t i = 0; i < GW_SURVEY_SHOWN; i++) {
        gw_timeline_free(&survey->timelines[i]);
    }
    gw_arena_free(&survey->arena);
}
