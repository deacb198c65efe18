/* Pictures of an advice, of its survey (study/survey.h), and of trainings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/plots.h"
#include "report/advice.h"
#include "report/pictures.h"
#include "study/survey.h"

/* ---- a question ------------------------------------------------------------------------------ */

static enum gw_status open_question(const struct gw_picture *picture, const char *kind,
                                    struct gw_question *out, struct gw_error *error) {
    const struct gw_question_options options = {.model = picture->subject,
                                                .cluster = picture->cluster,
                                                .workers = picture->workers,
                                                .density = picture->density};
    if (picture->cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "plot %s: expected --cluster CLUSTER", kind);
    }
    return gw_question_open(&options, out, error);
}

enum { TITLE_SIZE = 320, NAME_SIZE = 96 };

static void write_title(const struct gw_question *question, const char *what,
                        char title[TITLE_SIZE]) {
    (void)snprintf(title, TITLE_SIZE, "%.80s on %.80s, %zu workers, density %g: %s",
                   question->model->name, question->cluster->name, question->workers,
                   question->density, what);
}

/* ---- one pipeline: its timeline, and its plan ------------------------------------------------ */

/* Finds the lower bound of all plans with that compressor and exchange; 0: unknown. */
static double find_bound(const struct gw_question *question, const struct gw_algorithm *algorithm) {
    struct gw_planning planning;
    struct gw_plan plan = {0};
    double bound_s = 0;
    if (gw_planning_open(question, algorithm->compressor->name, algorithm->exchange->name,
                         &planning, NULL) != GW_OK) {
        return 0;
    }
    if (gw_planning_find_optimum(&planning, NULL) == GW_OK &&
        gw_planning_plan(&planning, "optimal", &plan, NULL) == GW_OK) {
        bound_s = plan.lower_bound_s;
    }
    gw_plan_free(&plan);
    gw_planning_close(&planning);
    return bound_s;
}

static enum gw_status draw_timeline_picture(const struct gw_picture *picture,
                                            const struct gw_question *question,
                                            const struct gw_pipeline *pipeline,
                                            struct gw_error *error) {
    struct gw_arena arena = {0};
    struct gw_explanation explanation;
    struct gw_timeline timeline = {0};
    char title[TITLE_SIZE];
    write_title(question, pipeline->algorithm->name, title);
    enum gw_status status = gw_explain(
        question, pipeline->plan, pipeline->algorithm->exchange->name, &arena, &explanation, error);
    status = status == GW_OK ? gw_timeline_create(&timeline, 1, error) : status;
    status = status == GW_OK ? gw_explanation_timeline(&explanation, &timeline, error) : status;
    status = status == GW_OK ? gw_plot_streams(&timeline, find_bound(question, pipeline->algorithm),
                                               title, picture->out, picture->data, error)
                             : status;
    gw_timeline_free(&timeline);
    gw_arena_free(&arena);
    return status;
}

static enum gw_status draw_tensors(const struct gw_picture *picture,
                                   const struct gw_question *question,
                                   const struct gw_pipeline *pipeline, struct gw_error *error) {
    char title[TITLE_SIZE];
    write_title(question, pipeline->algorithm->name, title);
    const struct gw_tensors_chart chart = {
        .title = title, .model = question->model, .plan = pipeline->plan};
    return gw_plot_tensors(&chart, picture->out, picture->data, error);
}

/* Draws the one pipeline asked for. */
static enum gw_status draw_pipeline(const struct gw_picture *picture, const char *kind,
                                    enum gw_status (*draw)(const struct gw_picture *picture,
                                                           const struct gw_question *question,
                                                           const struct gw_pipeline *pipeline,
                                                           struct gw_error *error),
                                    struct gw_error *error) {
    const struct gw_algorithm *algorithm = NULL;
    struct gw_question question;
    struct gw_pipeline pipeline;
    GW_TRY(gw_algorithm_find(picture->algorithms, &algorithm, error));
    GW_TRY(open_question(picture, kind, &question, error));
    enum gw_status status = gw_pipeline_open(&question, algorithm, NULL, &pipeline, error);
    if (status == GW_OK) {
        status = draw(picture, &question, &pipeline, error);
        gw_pipeline_close(&pipeline);
    }
    gw_question_close(&question);
    return status;
}

enum gw_status gw_draw_timeline(const struct gw_picture *picture, struct gw_error *error) {
    return draw_pipeline(picture, "timeline", draw_timeline_picture, error);
}

enum gw_status gw_draw_plan(const struct gw_picture *picture, struct gw_error *error) {
    return draw_pipeline(picture, "plan", draw_tensors, error);
}

/* ---- a survey: scaling, the map, the front --------------------------------------------------- */

static enum gw_status draw_scaling_picture(const struct gw_picture *picture,
                                           const struct gw_survey *survey, struct gw_error *error) {
    const struct gw_model *model = survey->advice->question->model;
    double alone_s = gw_model_alone_s(model);
    size_t count = survey->scaling_count;
    double *values = calloc(count + 1, sizeof *values);
    double *heights = calloc(GW_SURVEY_SHOWN * (count + 1), sizeof *heights);
    struct gw_line lines[GW_SURVEY_SHOWN];
    char names[GW_SURVEY_SHOWN][GW_ADVICE_NAME_SIZE];
    char title[TITLE_SIZE];
    write_title(survey->advice->question, "what one worker alone takes, over an iteration", title);
    for (size_t k = 0; k < survey->shown_count && values != NULL && heights != NULL; k++) {
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
    enum gw_status status = values == NULL || heights == NULL
                                ? gw_fail_memory(error, "plotting")
                                : gw_plot_lines(&chart, picture->out, picture->data, error);
    free(heights);
    free(values);
    return status;
}

static enum gw_status draw_map_picture(const struct gw_picture *picture,
                                       const struct gw_survey *survey, struct gw_error *error) {
    size_t cells = survey->bandwidth_count * survey->density_count;
    const char **names = calloc(cells, sizeof *names);
    char title[TITLE_SIZE];
    (void)snprintf(
        title, sizeof title,
        "%.80s on %.80s, %zu workers: the fastest, and how many times as fast as without "
        "compression",
        survey->advice->question->model->name, survey->advice->question->cluster->name,
        survey->advice->question->workers);
    if (names == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    for (size_t i = 0; i < cells; i++) {
        size_t place = survey->fastest[i];
        names[i] = place == SIZE_MAX ? NULL : survey->advice->ranking.results[place].algorithm;
    }
    const struct gw_map_chart chart = {.title = title,
                                       .bandwidth_count = survey->bandwidth_count,
                                       .density_count = survey->density_count,
                                       .bandwidths = survey->bandwidths,
                                       .densities = survey->densities,
                                       .names = names,
                                       .speedups = survey->speedups};
    enum gw_status status = gw_plot_map(&chart, picture->out, picture->data, error);
    free(names);
    return status;
}

/* Whether no faster pipeline keeps as much of the gradient energy. */
static bool is_on_front(const struct gw_advice *advice, size_t place) {
    for (size_t i = 0; i < place; i++) {
        if (advice->energy[i] >= advice->energy[place]) {
            return false;
        }
    }
    return true;
}

static enum gw_status draw_front_picture(const struct gw_picture *picture,
                                         const struct gw_survey *survey, struct gw_error *error) {
    static const double ms_per_s = 1e3;
    const struct gw_advice *advice = survey->advice;
    struct gw_named_point *points = calloc(advice->ranking.count + 1, sizeof *points);
    char(*names)[NAME_SIZE] = calloc(advice->ranking.count + 1, sizeof *names);
    char title[TITLE_SIZE];
    write_title(advice->question, "energy sent; red: none is faster and sends more", title);
    for (size_t i = 0; i < advice->ranking.count && points != NULL && names != NULL; i++) {
        const struct gw_result *result = &advice->ranking.results[i];
        (void)snprintf(names[i], NAME_SIZE, "%.24s  %.1f%%", result->algorithm,
                       100 * advice->energy[i]);
        points[i] = (struct gw_named_point){.name = names[i],
                                            .x = ms_per_s * result->iteration_s,
                                            .low = ms_per_s * result->iteration_low_s,
                                            .high = ms_per_s * result->iteration_high_s,
                                            .marked = is_on_front(advice, i)};
    }
    const struct gw_point_chart chart = {.title = title,
                                         .axis = "iteration time (ms), where it is in 95% of cases",
                                         .count = advice->ranking.count,
                                         .points = points};
    enum gw_status status = points == NULL || names == NULL
                                ? gw_fail_memory(error, "plotting")
                                : gw_plot_points(&chart, picture->out, picture->data, error);
    free(names);
    free(points);
    return status;
}

static enum gw_status draw_survey(const struct gw_picture *picture, const char *kind,
                                  enum gw_status (*draw)(const struct gw_picture *picture,
                                                         const struct gw_survey *survey,
                                                         struct gw_error *error),
                                  struct gw_error *error) {
    struct gw_question question;
    struct gw_advice advice;
    struct gw_survey survey = {0};
    GW_TRY(open_question(picture, kind, &question, error));
    enum gw_status status = gw_advise(&question, "", &advice, error);
    status = status == GW_OK ? gw_survey_make(&advice, &survey, error) : status;
    status = status == GW_OK ? draw(picture, &survey, error) : status;
    gw_survey_free(&survey);
    gw_advice_free(&advice);
    gw_question_close(&question);
    return status;
}

enum gw_status gw_draw_scaling(const struct gw_picture *picture, struct gw_error *error) {
    return draw_survey(picture, "scaling", draw_scaling_picture, error);
}

enum gw_status gw_draw_map(const struct gw_picture *picture, struct gw_error *error) {
    return draw_survey(picture, "crossover", draw_map_picture, error);
}

enum gw_status gw_draw_front(const struct gw_picture *picture, struct gw_error *error) {
    return draw_survey(picture, "front", draw_front_picture, error);
}

/* ---- trainings ------------------------------------------------------------------------------- */

static enum gw_status draw_trainings(const struct gw_picture *picture,
                                     const struct gw_accuracy *accuracy, struct gw_error *error) {
    struct gw_named_point *points = calloc(accuracy->count + 1, sizeof *points);
    char(*names)[NAME_SIZE] = calloc(accuracy->count + 1, sizeof *names);
    char title[TITLE_SIZE];
    (void)snprintf(title, sizeof title,
                   "%.80s: iterations to an accuracy of %g%%, median and range", accuracy->model,
                   100 * accuracy->goal);
    for (size_t i = 0; i < accuracy->count && points != NULL && names != NULL; i++) {
        const struct gw_trainings *one = &accuracy->trainings[i];
        (void)snprintf(names[i], NAME_SIZE, "%.24s at %g among %llu%s", one->algorithm,
                       one->density, (unsigned long long)one->workers,
                       one->reached < one->count ? " (some never)" : "");
        points[i] = (struct gw_named_point){
            .name = names[i],
            .x = one->iterations,
            .low = one->low,
            .high = isfinite(one->high) ? one->high : one->iterations,
        };
    }
    const struct gw_point_chart chart = {
        .title = title, .axis = "iterations", .count = accuracy->count, .points = points};
    enum gw_status status = points == NULL || names == NULL
                                ? gw_fail_memory(error, "plotting")
                                : gw_plot_points(&chart, picture->out, picture->data, error);
    free(names);
    free(points);
    return status;
}

enum gw_status gw_draw_convergence(const struct gw_picture *picture, struct gw_error *error) {
    struct gw_accuracy accuracy;
    GW_TRY(gw_accuracy_read(picture->subject, &accuracy, error));
    enum gw_status status =
        accuracy.count > 0
            ? draw_trainings(picture, &accuracy, error)
            : gw_fail(error, GW_BAD_INPUT, "%s: trainings: expected one or more", picture->subject);
    gw_accuracy_free(&accuracy);
    return status;
}
