/* Pictures of a scenario: its pipelines, and a survey of them (study/survey.h). */
#include "report/pictures.h"

#include <math.h>
#include <string.h>

#include "report/charts.h"
#include "report/gnuplot.h"
#include "report/report.h"
#include "study/points.h"
#include "study/survey.h"

static enum gw_status open_scenario(const struct gw_picture *picture, const char *kind,
                                    struct gw_scenario *out, struct gw_error *error) {
    const struct gw_scenario_options options = {.model = picture->subject,
                                                .cluster = picture->cluster,
                                                .workers = picture->workers,
                                                .density = picture->density};
    if (picture->cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "plot %s: expected --cluster CLUSTER", kind);
    }
    return gw_scenario_open(&options, out, error);
}

/* ---- breakdown ------------------------------------------------------------------------------- */

/*
 * Draws a bar for each algorithm. Unless algorithms were named, infeasible ones are skipped with a
 * message; fails if all are infeasible.
 */
static enum gw_status draw_bars(const struct gw_picture *picture,
                                const struct gw_scenario *scenario, struct gw_arena *arena,
                                struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    struct gw_comparison comparison = {.scenario = scenario};
    bool named = strcmp(picture->algorithms, "all") != 0;
    size_t bar_count = 0;
    char title[GW_TITLE_SIZE];
    GW_TRY(gw_algorithms_parse(picture->algorithms, arena, &algorithms, &comparison.count, error));
    comparison.algorithms = algorithms;
    struct gw_bar *bars = gw_arena_zeros(arena, comparison.count, sizeof *bars);
    struct gw_prediction *found = gw_arena_zeros(arena, comparison.count, sizeof *found);
    GW_TRY(gw_arena_check(arena, "plotting", error));
    GW_TRY(gw_answer_points(&comparison, scenario, 1, found, error));
    for (size_t i = 0; i < comparison.count; i++) {
        const char *name = algorithms[i]->name;
        bool last = i + 1 == comparison.count;
        if (found[i].status == GW_OK) {
            bars[bar_count++] =
                (struct gw_bar){.label = name, .breakdown = found[i].result.breakdown};
            gw_result_collect(picture->notes, &found[i].result);
        } else if (!named && (bar_count > 0 || !last)) {
            gw_log(GW_LOG_NORMAL, "%s is left out: %s", name, found[i].why.message);
        } else {
            return gw_fail(error, found[i].status, "%s", found[i].why.message);
        }
    }
    gw_picture_title(scenario, NULL, "predicted", title);
    return gw_chart_bars(bars, bar_count, title, picture->out, picture->data, error);
}

enum gw_status gw_draw_breakdown(const struct gw_picture *picture, struct gw_error *error) {
    struct gw_scenario scenario;
    struct gw_arena arena = {0};
    GW_TRY(open_scenario(picture, "breakdown", &scenario, error));
    enum gw_status status = draw_bars(picture, &scenario, &arena, error);
    gw_arena_free(&arena);
    gw_scenario_close(&scenario);
    return status;
}

/* ---- one pipeline: its timeline, and its plan ------------------------------------------------ */

static enum gw_status draw_streams(const struct gw_picture *picture,
                                   const struct gw_pipeline *pipeline, struct gw_error *error) {
    const struct gw_scenario *scenario = &pipeline->scenario;
    const struct gw_algorithm *algorithm = pipeline->scenario.method;
    struct gw_arena arena = {0};
    struct gw_explanation explanation;
    char title[GW_TITLE_SIZE];
    struct gw_plans plans = {0}; /* of the optimum, whose lower bound is drawn if it is known */
    gw_picture_title(scenario, NULL, algorithm->name, title);
    (void)gw_plans_make(scenario, algorithm->compressor->name, algorithm->exchange->name, "optimal",
                        &plans, NULL);
    double bound_s = plans.count == 0 ? 0 : plans.plans[0].lower_bound_s;
    enum gw_status status = gw_explain(scenario, pipeline->plan, algorithm->exchange->name, &arena,
                                       &explanation, error);
    if (status == GW_OK) {
        status = gw_chart_streams(&explanation, bound_s, title, picture->out, picture->data, error);
    }
    gw_plans_free(&plans);
    gw_arena_free(&arena);
    return status;
}

/* Draws tensors in the order in which they are ready, by the groups in which they travel. */
static enum gw_status draw_tensors(const struct gw_picture *picture,
                                   const struct gw_pipeline *pipeline, struct gw_error *error) {
    const struct gw_scenario *scenario = &pipeline->scenario;
    const struct gw_plan *plan = pipeline->plan;
    struct gw_drawing drawing;
    char title[GW_TITLE_SIZE];
    size_t place = 0;
    gw_picture_title(scenario, NULL, pipeline->scenario.method->name, title);
    GW_TRY(gw_drawing_open(&drawing, error));
    (void)fputs("#place,group,tensor,elements,backward_s\n", drawing.table);
    for (size_t g = 0; g < plan->group_count; g++) {
        for (size_t i = plan->groups[g].first + 1; i > plan->groups[g].last; i--) {
            const struct gw_tensor *tensor = &scenario->model->tensors[i - 1];
            (void)fprintf(drawing.table, "%zu,%zu,", place++, g);
            gw_csv_text(drawing.table, tensor->name);
            (void)fprintf(drawing.table, ",%llu,%.9g\n", (unsigned long long)tensor->elements,
                          tensor->backward_s);
        }
    }
    (void)fprintf(drawing.settings, "tensors=%zu; groups=%zu", scenario->model->tensor_count,
                  plan->group_count);
    return gw_drawing_finish(&drawing, "tensors.gp", title, picture->out, picture->data, error);
}

/* Draws the one pipeline asked for. */
static enum gw_status draw_pipeline(const struct gw_picture *picture, const char *kind,
                                    enum gw_status (*draw)(const struct gw_picture *picture,
                                                           const struct gw_pipeline *pipeline,
                                                           struct gw_error *error),
                                    struct gw_error *error) {
    const struct gw_algorithm *algorithm = NULL;
    struct gw_scenario scenario;
    struct gw_pipeline pipeline;
    GW_TRY(gw_algorithm_find(picture->algorithms, &algorithm, error));
    GW_TRY(open_scenario(picture, kind, &scenario, error));
    enum gw_status status = gw_pipeline_open(&scenario, algorithm, NULL, &pipeline, error);
    if (status == GW_OK) {
        status = draw(picture, &pipeline, error);
        gw_pipeline_close(&pipeline);
    }
    gw_scenario_close(&scenario);
    return status;
}

enum gw_status gw_draw_timeline(const struct gw_picture *picture, struct gw_error *error) {
    return draw_pipeline(picture, "timeline", draw_streams, error);
}

enum gw_status gw_draw_plan(const struct gw_picture *picture, struct gw_error *error) {
    return draw_pipeline(picture, "plan", draw_tensors, error);
}

/* ---- a survey: scaling, the map, the front --------------------------------------------------- */

static enum gw_status draw_efficiencies(const struct gw_picture *picture, struct gw_survey *survey,
                                        struct gw_error *error) {
    double alone_s = gw_model_alone_s(survey->advice->scenario->model);
    size_t count = survey->scaling_count;
    double *values = gw_arena_zeros(&survey->arena, count, sizeof *values);
    double *heights = gw_arena_zeros(&survey->arena, GW_SURVEY_SHOWN * count, sizeof *heights);
    struct gw_line lines[GW_SURVEY_SHOWN];
    char names[GW_SURVEY_SHOWN][GW_ADVICE_NAME_SIZE];
    char title[GW_TITLE_SIZE];
    GW_TRY(gw_arena_check(&survey->arena, "plotting", error));
    gw_picture_title(survey->advice->scenario, NULL,
                     "what one worker alone takes, over an iteration", title);
    for (size_t k = 0; k < survey->shown_count; k++) {
        double *own = &heights[k * count];
        for (size_t i = 0; i < count; i++) {
            values[i] = survey->scaling[i].value;
            own[i] = alone_s / survey->scaling[i].iteration_s[k];
        }
        lines[k] =
            (struct gw_line){.label = gw_advice_name(survey->advice, survey->shown[k], names[k]),
                             .colour = k,
                             .dashed = k > 0,
                             .heights = own};
    }
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "workers",
                                        .height_axis = "efficiency (%)",
                                        .unit = 0.01,
                                        .value_count = count,
                                        .values = values,
                                        .line_count = survey->shown_count,
                                        .lines = lines};
    return gw_chart_lines(&chart, picture->out, picture->data, error);
}

/* Draws the fastest pipelines over bandwidths and densities, numbered as they first appear. */
static enum gw_status draw_cells(const struct gw_picture *picture, struct gw_survey *survey,
                                 struct gw_error *error) {
    const struct gw_ranking *ranking = &survey->advice->ranking;
    const struct gw_scenario *scenario = survey->advice->scenario;
    size_t *places = gw_arena_zeros(&survey->arena, ranking->count, sizeof *places);
    size_t count = 0;
    struct gw_drawing drawing;
    char title[GW_TITLE_SIZE];
    (void)snprintf(
        title, sizeof title,
        "%.80s on %.80s, %s: the fastest, and how many times as fast as without compression",
        scenario->model->name, scenario->cluster->name, GW_COUNTED(scenario->workers, "worker"));
    GW_TRY(gw_arena_check(&survey->arena, "plotting", error));
    GW_TRY(gw_drawing_open(&drawing, error));
    (void)fputs("#bandwidth,density,number,fastest,speedup\n", drawing.table);
    (void)fputs("names='", drawing.settings);
    for (size_t i = 0; i < survey->bandwidth_count * survey->density_count; i++) {
        size_t place = survey->fastest[i];
        size_t number = 0;
        if (place == SIZE_MAX) {
            continue;
        }
        const char *name = ranking->results[place].algorithm;
        while (number < count && strcmp(ranking->results[places[number]].algorithm, name) != 0) {
            number++;
        }
        if (number == count) {
            places[count++] = place;
            (void)fprintf(drawing.settings, "%s ", name);
        }
        (void)fprintf(drawing.table, "%.9g,%.9g,%zu,%s,%.9g\n",
                      survey->bandwidths[i % survey->bandwidth_count],
                      survey->densities[i / survey->bandwidth_count], number, name,
                      survey->speedups[i]);
    }
    (void)fprintf(drawing.settings, "'; columns=%zu; rows=%zu", survey->bandwidth_count,
                  survey->density_count);
    return gw_drawing_finish(&drawing, "map.gp", title, picture->out, picture->data, error);
}

/* Draws all pipelines; those are marked than which no faster one keeps as much gradient energy. */
static enum gw_status draw_energies(const struct gw_picture *picture, struct gw_survey *survey,
                                    struct gw_error *error) {
    static const double ms_per_s = 1e3;
    const struct gw_advice *advice = survey->advice;
    size_t count = advice->ranking.count;
    struct gw_named_point *points = gw_arena_zeros(&survey->arena, count, sizeof *points);
    double most = -1;
    char title[GW_TITLE_SIZE];
    GW_TRY(gw_arena_check(&survey->arena, "plotting", error));
    gw_picture_title(advice->scenario, NULL, "energy sent; red: none is faster and sends more",
                     title);
    for (size_t i = 0; i < count; i++) {
        const struct gw_result *result = &advice->ranking.results[i];
        points[i] = (struct gw_named_point){.x = ms_per_s * result->iteration_s,
                                            .low = ms_per_s * result->iteration_low_s,
                                            .high = ms_per_s * result->iteration_high_s,
                                            .marked = advice->energy[i] > most};
        (void)snprintf(points[i].name, sizeof points[i].name, "%.24s  %.1f%%", result->algorithm,
                       100 * advice->energy[i]);
        most = fmax(most, advice->energy[i]);
    }
    return gw_chart_points(points, count, title, "iteration time (ms), where it is in 95% of cases",
                           picture->out, picture->data, error);
}

static enum gw_status draw_survey(const struct gw_picture *picture, const char *kind,
                                  enum gw_status (*draw)(const struct gw_picture *picture,
                                                         struct gw_survey *survey,
                                                         struct gw_error *error),
                                  struct gw_error *error) {
    struct gw_scenario scenario;
    struct gw_advice advice;
    struct gw_survey survey = {0};
    GW_TRY(open_scenario(picture, kind, &scenario, error));
    enum gw_status status =
        picture->density == 0 ? gw_advise_density(&scenario, NULL, error) : GW_OK;
    if (status != GW_OK) {
        gw_scenario_close(&scenario);
        return status;
    }
    status = gw_advise(&scenario, NULL, &advice, error);
    status = status == GW_OK ? gw_survey_make(&advice, &survey, error) : status;
    status = status == GW_OK ? draw(picture, &survey, error) : status;
    gw_survey_free(&survey);
    gw_advice_free(&advice);
    gw_scenario_close(&scenario);
    return status;
}

enum gw_status gw_draw_scaling(const struct gw_picture *picture, struct gw_error *error) {
    return draw_survey(picture, "scaling", draw_efficiencies, error);
}

enum gw_status gw_draw_map(const struct gw_picture *picture, struct gw_error *error) {
    return draw_survey(picture, "crossover", draw_cells, error);
}

/* ---- front of mixed plans ------------------------------------------------------------------ */

enum { MIXED_POINTS = 24 };

/* The fastest plans that keep at least so much energy, from the fastest of all on. */
struct mixed_front {
    size_t count;
    double kept[MIXED_POINTS + 1]; /* ascending */
    double iteration_s[MIXED_POINTS + 1], bound_s[MIXED_POINTS + 1];
};

/* Finds plans for limits in equal steps up to all energy, or to the most that the choices keep. */
static enum gw_status find_mixed_front(const struct gw_picture *picture,
                                       const struct gw_scenario *scenario,
                                       struct gw_progress *progress, struct mixed_front *out,
                                       struct gw_error *error) {
    struct gw_mixed_request request = {.choices = picture->choices,
                                       .gradients = picture->gradients,
                                       .has_density = picture->density > 0};
    for (size_t i = 0; i <= MIXED_POINTS; i++) {
        if (i > 0) {
            request.keep = out->kept[0] + (1 - out->kept[0]) * (double)i / MIXED_POINTS;
        }
        if (i > 0 && request.keep <= out->kept[out->count - 1]) {
            continue; /* the last plan is the fastest of these, too */
        }
        struct gw_plans plans = {0};
        gw_progress_update(progress, (double)i / (MIXED_POINTS + 1), scenario->model->name);
        enum gw_status status = gw_plans_make_mixed(scenario, &request, &plans, error);
        if (status == GW_OK) {
            out->kept[out->count] = plans.energy_kept;
            out->iteration_s[out->count] = plans.plans[0].iteration_s;
            out->bound_s[out->count++] = plans.plans[0].lower_bound_s;
        }
        gw_plans_free(&plans);
        if (status == GW_BAD_INPUT && i > 0) {
            return GW_OK; /* no plan keeps as much */
        }
        GW_TRY(status);
    }
    return GW_OK;
}

static enum gw_status draw_mixed(const struct gw_picture *picture, struct gw_error *error) {
    struct gw_scenario scenario;
    struct mixed_front front = {0};
    char title[GW_TITLE_SIZE];
    GW_TRY(open_scenario(picture, "front", &scenario, error));
    scenario.interference = GW_INTERFERENCE_NONE; /* the bound is of plans without */
    struct gw_progress progress = gw_progress_begin("plan", 1);
    enum gw_status status = find_mixed_front(picture, &scenario, &progress, &front, error);
    gw_progress_end(&progress);
    scenario.density = 0; /* each choice has its own */
    gw_picture_title(&scenario, NULL, "fastest mixed plans", title);
    gw_scenario_close(&scenario);
    GW_TRY(status);
    const struct gw_line lines[] = {
        {.label = "fastest plan", .heights = front.iteration_s},
        {.label = "lower bound", .colour = 1, .dashed = true, .heights = front.bound_s}};
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "share of gradient energy kept",
                                        .height_axis = "iteration (ms)",
                                        .unit = 1e-3,
                                        .value_count = front.count,
                                        .values = front.kept,
                                        .line_count = 2,
                                        .lines = lines};
    return gw_chart_lines(&chart, picture->out, picture->data, error);
}

enum gw_status gw_draw_front(const struct gw_picture *picture, struct gw_error *error) {
    return picture->choices != NULL ? draw_mixed(picture, error)
                                    : draw_survey(picture, "front", draw_energies, error);
}
