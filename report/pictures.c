/* Pictures of answers: predictions, validations, differences, calibrations, bounds and counts. */
#include "report/pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "plots/plots.h"
#include "study/study.h"

/* ---- predictions ---------------------------------------------------------------------------- */

/*
 * Predicts a bar for each algorithm. Unless algorithms were named, infeasible ones are skipped with
 * a message; fails if all are infeasible.
 */
static enum gw_status predict_bars(const struct gw_question *question,
                                   const struct gw_algorithm *const *algorithms, size_t count,
                                   bool named, struct gw_bar *bars, size_t *bar_count,
                                   struct gw_result *notes, struct gw_error *error) {
    const struct gw_prediction_options once = {.iterations = 1};
    *bar_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct gw_result result;
        enum gw_status status = gw_predict(question, algorithms[i], &once, &result, error);
        bool last = i + 1 == count;
        if (status == GW_BAD_INPUT && !named && (*bar_count > 0 || !last)) {
            gw_log(GW_LOG_NORMAL, "%s is left out: %s", algorithms[i]->name, error->message);
            continue;
        }
        GW_TRY(status);
        bars[(*bar_count)++] =
            (struct gw_bar){.label = algorithms[i]->name, .breakdown = result.breakdown};
        gw_result_collect(notes, &result);
    }
    return GW_OK;
}

static enum gw_status draw_prediction(const struct gw_picture *picture,
                                      const struct gw_question *question, struct gw_arena *arena,
                                      struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    bool named = strcmp(picture->algorithms, "all") != 0;
    char title[256];
    GW_TRY(gw_algorithms_parse(picture->algorithms, arena, &algorithms, &count, error));
    struct gw_bar *bars = gw_arena_zeros(arena, count, sizeof *bars);
    if (bars == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    GW_TRY(predict_bars(question, algorithms, count, named, bars, &count, picture->notes, error));
    snprintf(title, sizeof title, "%s on %s, %zu workers, density %g: predicted",
             question->model->name, question->cluster->name, question->workers, question->density);
    return gw_plot_breakdown(bars, count, title, picture->out, picture->data, error);
}

enum gw_status gw_draw_breakdown(const struct gw_picture *picture, struct gw_error *error) {
    const struct gw_question_options options = {.model = picture->subject,
                                                .cluster = picture->cluster,
                                                .workers = picture->workers,
                                                .density = picture->density};
    struct gw_question question;
    if (picture->cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "plot breakdown: expected --cluster CLUSTER");
    }
    GW_TRY(gw_question_open(&options, &question, error));
    struct gw_arena arena = {0};
    enum gw_status status = draw_prediction(picture, &question, &arena, error);
    gw_arena_free(&arena);
    gw_question_close(&question);
    return status;
}

/* ---- validations ---------------------------------------------------------------------------- */

static enum gw_status draw_results(const struct gw_picture *picture,
                                   const struct gw_validation_document *read,
                                   struct gw_error *error) {
    if (read->count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "%s: results: expected at least one result",
                       picture->subject);
    }
    struct gw_bar *bars = calloc(read->count, 2 * sizeof *bars);
    if (bars == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    for (size_t i = 0; i < read->count; i++) {
        const struct gw_validated *result = &read->results[i];
        bars[2 * i] =
            (struct gw_bar){.label = result->algorithm, .breakdown = result->predicted.breakdown};
        bars[2 * i + 1] = (struct gw_bar){
            .label = result->algorithm, .measured = true, .breakdown = result->measured.breakdown};
    }
    char title[256];
    snprintf(title, sizeof title, "%s, %llu workers: predicted (p) and measured (m)", read->model,
             (unsigned long long)read->workers);
    enum gw_status status =
        gw_plot_breakdown(bars, 2 * read->count, title, picture->out, picture->data, error);
    free(bars);
    return status;
}

enum gw_status gw_draw_validation(const struct gw_picture *picture, struct gw_error *error) {
    struct gw_validation_document read;
    GW_TRY(gw_validation_document_read(picture->subject, &read, error));
    enum gw_status status = draw_results(picture, &read, error);
    gw_validation_document_free(&read);
    return status;
}

/* ---- differences ---------------------------------------------------------------------------- */

/* Reads a name and returns its index in the list that `count` names make up. */
static enum gw_status read_name(const struct gw_json *object, const char *key,
                                const char *(*name_of)(unsigned number), unsigned count,
                                const char *expected, unsigned *out, struct gw_error *error) {
    struct gw_json place = gw_json_member(object, key);
    const char *name = NULL;
    GW_TRY(gw_json_text(&place, &name, error));
    for (*out = 0; *out < count; ++*out) {
        if (strcmp(name_of(*out), name) == 0) {
            return GW_OK;
        }
    }
    return gw_json_expected(&place, expected, error);
}

static const char *picture_stream_name(unsigned number) {
    return gw_stream_name((enum gw_stream)number);
}

static const char *picture_activity_name(unsigned number) {
    return gw_activity_name((enum gw_activity)number);
}

static enum gw_status read_period(const struct gw_json *operation, const char *key, double *start_s,
                                  double *end_s, struct gw_error *error) {
    struct gw_json place = gw_json_member(operation, key);
    double *const ends[] = {start_s, end_s};
    GW_TRY(gw_json_array(&place, error));
    if (cJSON_GetArraySize(place.node) != 2) {
        return gw_json_expected(&place, "a start and an end", error);
    }
    for (int i = 0; i < 2; i++) {
        struct gw_json item = gw_json_item(&place, cJSON_GetArrayItem(place.node, i), (size_t)i);
        GW_TRY(gw_json_seconds(&item, ends[i], error));
    }
    return *end_s < *start_s ? gw_json_expected(&place, "a start and an end", error) : GW_OK;
}

static enum gw_status read_aligned(const struct gw_json *operation, struct gw_aligned *out,
                                   struct gw_error *error) {
    static const char *const periods[] = {"shown_predicted_s", "shown_measured_s"};
    static const char *const paths[] = {"on_predicted_path", "on_measured_path"};
    struct gw_json group = gw_json_member(operation, "group");
    unsigned stream = 0;
    unsigned activity = 0;
    uint64_t number = GW_NO_GROUP;
    GW_TRY(gw_json_object(operation, error));
    GW_TRY(read_name(operation, "stream", picture_stream_name, GW_STREAM_COUNT,
                     "the name of a stream", &stream, error));
    GW_TRY(read_name(operation, "activity", picture_activity_name, GW_ACTIVITY_COUNT,
                     "the name of an activity", &activity, error));
    if (group.node != NULL) {
        GW_TRY(gw_json_integer(&group, 0, &number, error));
    }
    out->stream = (enum gw_stream)stream;
    out->activity = (enum gw_activity)activity;
    out->group = number < GW_NO_GROUP ? (uint32_t)number : GW_NO_GROUP;
    for (int side = 0; side < 2; side++) {
        struct gw_json path = gw_json_member(operation, paths[side]);
        GW_TRY(
            read_period(operation, periods[side], &out->start_s[side], &out->end_s[side], error));
        if (!cJSON_IsBool(path.node)) {
            return gw_json_expected(&path, "true or false", error);
        }
        out->on_path[side] = cJSON_IsTrue(path.node);
    }
    return GW_OK;
}

/* Ranks the operations that contribute most. */
static enum gw_status read_largest(const struct gw_json *explanation, struct gw_aligned *operations,
                                   size_t count, struct gw_error *error) {
    struct gw_json largest = gw_json_member(explanation, "largest");
    size_t rank = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(&largest, error));
    cJSON_ArrayForEach(node, largest.node) {
        struct gw_json item = gw_json_item(&largest, node, rank++);
        uint64_t number = 0;
        GW_TRY(gw_json_integer(&item, 0, &number, error));
        if (number >= count) {
            return gw_json_expected(&item, "the number of an operation", error);
        }
        operations[number].rank = rank;
    }
    return GW_OK;
}

static enum gw_status read_difference(const struct gw_json *explanation, struct gw_arena *arena,
                                      struct gw_difference_chart *out, struct gw_error *error) {
    struct gw_json shown = gw_json_member(explanation, "shown");
    struct gw_json sides[] = {gw_json_member(&shown, "predicted_s"),
                              gw_json_member(&shown, "measured_s")};
    struct gw_json list = gw_json_member(explanation, "operations");
    GW_TRY(gw_json_seconds(&sides[0], &out->iteration_s[0], error));
    GW_TRY(gw_json_seconds(&sides[1], &out->iteration_s[1], error));
    GW_TRY(gw_json_array(&list, error));
    size_t most = (size_t)cJSON_GetArraySize(list.node);
    struct gw_aligned *operations = gw_arena_zeros(arena, most + 1, sizeof *operations);
    if (operations == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, list.node) {
        struct gw_json item = gw_json_item(&list, node, out->count);
        GW_TRY(read_aligned(&item, &operations[out->count++], error));
    }
    out->operations = operations;
    return read_largest(explanation, operations, out->count, error);
}

/* Draws the first result that has an explanation. */
static enum gw_status draw_explained(const struct gw_picture *picture, const cJSON *document,
                                     struct gw_arena *arena, struct gw_error *error) {
    struct gw_json root;
    GW_TRY(
        gw_fields_root(&gw_validation_document_fields, document, picture->subject, &root, error));
    struct gw_json results = gw_json_member(&root, "results");
    struct gw_json model = gw_json_member(&root, "model");
    const char *names[2] = {NULL};
    size_t number = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(&results, error));
    GW_TRY(gw_json_text(&model, &names[0], error));
    cJSON_ArrayForEach(node, results.node) {
        struct gw_json result = gw_json_item(&results, node, number++);
        struct gw_json explanation = gw_json_member(&result, "explanation");
        struct gw_json algorithm = gw_json_member(&result, "algorithm");
        char title[256];
        struct gw_difference_chart chart = {.title = title};
        if (explanation.node != NULL) {
            GW_TRY(gw_json_text(&algorithm, &names[1], error));
            GW_TRY(read_difference(&explanation, arena, &chart, error));
            (void)snprintf(title, sizeof title, "%s, %s: an iteration as predicted and as measured",
                           names[0], names[1]);
            return gw_plot_difference(&chart, picture->out, picture->data, error);
        }
    }
    return gw_json_expected(&results, "one with an explanation, as of validate --explain", error);
}

enum gw_status gw_draw_difference(const struct gw_picture *picture, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_json_read(picture->subject, &document, error));
    struct gw_arena arena = {0};
    enum gw_status status = draw_explained(picture, document, &arena, error);
    gw_arena_free(&arena);
    cJSON_Delete(document);
    return status;
}

/* ---- calibrations --------------------------------------------------------------------------- */

enum gw_status gw_draw_calibration(const struct gw_picture *picture, struct gw_error *error) {
    char *path = NULL;
    struct gw_cluster cluster;
    GW_TRY(gw_data_resolve(GW_DATA_CLUSTERS, picture->subject, &path, error));
    enum gw_status status = gw_cluster_read(path, &cluster, error);
    free(path);
    GW_TRY(status);
    status = gw_plot_calibration(&cluster, picture->out, picture->data, error);
    gw_cluster_free(&cluster);
    return status;
}

/* ---- bounds --------------------------------------------------------------------------------- */

enum { BOUNDS_VALUES = 41 };

/* Spreads k from one element to all, evenly on a logarithmic scale; `shares` gets k / elements. */
static size_t spread_ks(size_t elements, size_t *ks, double *shares) {
    size_t count = 0;
    for (size_t i = 0; i < BOUNDS_VALUES; i++) {
        double exponent = (double)i / (BOUNDS_VALUES - 1);
        size_t k = (size_t)round(pow((double)elements, exponent));
        if (count == 0 || k > ks[count - 1]) {
            ks[count] = k;
            shares[count++] = (double)k / (double)elements;
        }
    }
    return count;
}

static enum gw_status draw_bound_lines(const struct gw_picture *picture, const float *u,
                                       struct gw_error *error) {
    enum { LINES = 3 };
    size_t ks[BOUNDS_VALUES] = {0};
    double shares[BOUNDS_VALUES];
    double heights[LINES][BOUNDS_VALUES];
    struct gw_bounds bounds[BOUNDS_VALUES];
    size_t count = spread_ks(picture->elements, ks, shares);
    GW_TRY(gw_find_bounds(u, picture->elements, ks, count, bounds, error));
    for (size_t i = 0; i < count; i++) {
        heights[0][i] = bounds[i].random;
        heights[1][i] = bounds[i].proven;
        heights[2][i] = bounds[i].topk;
    }
    const struct gw_line lines[LINES] = {
        {.label = "random-k: 1 - k/d", .colour = 0, .heights = heights[0]},
        {.label = "bound: (1 - k/d)^2", .colour = 1, .heights = heights[1]},
        {.label = "top-k", .colour = 2, .heights = heights[2]}};
    char title[128];
    char elements[GW_UNITS_SIZE];
    snprintf(title, sizeof title, "What k of d = %s elements leave behind (%s)",
             gw_format_count((double)picture->elements, elements), picture->shape);
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "k / d",
                                        .height_axis = "||u - selection||^2 / ||u||^2",
                                        .unit = 1,
                                        .value_count = count,
                                        .values = shares,
                                        .line_count = LINES,
                                        .lines = lines};
    return gw_plot_lines(&chart, picture->out, picture->data, error);
}

enum gw_status gw_draw_bounds(const struct gw_picture *picture, struct gw_error *error) {
    if (picture->elements < 2 || picture->elements > UINT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "--elements: expected 2 to 2^32 - 1, got %zu",
                       picture->elements);
    }
    float *u = malloc(picture->elements * sizeof *u);
    enum gw_status status =
        u == NULL ? gw_fail_memory(error, "plotting")
                  : gw_draw_gradient(picture->shape, picture->elements, 1, 0, u, error);
    if (status == GW_OK) {
        status = draw_bound_lines(picture, u, error);
    }
    free(u);
    return status;
}

/* ---- counts over iterations ----------------------------------------------------------------- */

/* A model as one group; its selected counts are drawn as means of windows of iterations. */
struct counts_plot {
    const struct gw_picture *picture;
    struct gw_model model;
    size_t workers;
    double density;
};

enum { MOST_WINDOWS = 200, DEFAULT_WORKERS = 16, DEFAULT_ITERATIONS = 2000 };

static size_t iterations_of(const struct counts_plot *plot) {
    return plot->picture->iterations > 0 ? plot->picture->iterations : DEFAULT_ITERATIONS;
}

static enum gw_status open_plot(const struct gw_picture *picture, struct counts_plot *out,
                                struct gw_error *error) {
    char *path = NULL;
    *out =
        (struct counts_plot){.picture = picture,
                             .workers = picture->workers > 0 ? picture->workers : DEFAULT_WORKERS,
                             .density = picture->density > 0 ? picture->density : GW_USUAL_DENSITY};
    GW_TRY(gw_data_resolve(GW_DATA_MODELS, picture->subject, &path, error));
    enum gw_status status = gw_model_read(path, &out->model, error);
    free(path);
    return status;
}

static void close_plot(struct counts_plot *plot) {
    gw_model_free(&plot->model);
}

static size_t window_of(const struct counts_plot *plot) {
    return (iterations_of(plot) - 1) / MOST_WINDOWS + 1;
}

static size_t count_windows(const struct counts_plot *plot) {
    return (iterations_of(plot) - 1) / window_of(plot) + 1;
}

static void average(const struct counts_plot *plot, const struct gw_counts *counts,
                    double (*of)(const struct gw_counts *counts, size_t iteration),
                    double *heights) {
    size_t window = window_of(plot);
    for (size_t w = 0; w < count_windows(plot); w++) {
        struct gw_running mean = {0};
        for (size_t i = w * window; i < (w + 1) * window && i < counts->iteration_count; i++) {
            gw_running_add(&mean, of(counts, i));
        }
        heights[w] = mean.mean;
    }
}

static enum gw_status train_windows(const struct counts_plot *plot,
                                    const struct gw_compressor *compressor,
                                    double (*of)(const struct gw_counts *counts, size_t iteration),
                                    double *heights, struct gw_error *error) {
    struct gw_group all = {.first = plot->model.tensor_count - 1, .last = 0};
    const struct gw_plan plan = {.model = plot->model.name,
                                 .density = plot->density,
                                 .workers = plot->workers,
                                 .group_count = 1,
                                 .groups = &all};
    const struct gw_picture *picture = plot->picture;
    const struct gw_gradient_emulation emulation = {.model = plot->model.name,
                                                    .algorithm = compressor->name,
                                                    .density = plot->density,
                                                    .iterations = iterations_of(plot),
                                                    .decay = picture->decay > 0 ? picture->decay
                                                                                : SIZE_MAX,
                                                    .elements = picture->elements,
                                                    .seed = 1,
                                                    .threads = gw_cores()};
    struct gw_schedule schedule;
    struct gw_counts counts;
    GW_TRY(gw_schedule_create(&schedule, &plot->model, &plan, compressor, error));
    enum gw_status status = gw_emulate_gradients(&schedule, &emulation, &counts, error);
    if (status == GW_OK) {
        gw_log(GW_LOG_VERBOSE, "%s: %s", compressor->name, counts.source);
        average(plot, &counts, of, heights);
        gw_counts_free(&counts);
    }
    gw_schedule_free(&schedule);
    return status;
}

static enum gw_status draw_windows(const struct counts_plot *plot, const char *title,
                                   const char *height_axis, const struct gw_line *lines,
                                   size_t line_count, struct gw_error *error) {
    double last[MOST_WINDOWS];
    size_t window = window_of(plot);
    for (size_t w = 0; w < count_windows(plot); w++) {
        size_t end = (w + 1) * window;
        last[w] = (double)(end < iterations_of(plot) ? end : iterations_of(plot));
    }
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "iteration",
                                        .height_axis = height_axis,
                                        .unit = 1,
                                        .value_count = count_windows(plot),
                                        .values = last,
                                        .line_count = line_count,
                                        .lines = lines};
    return gw_plot_lines(&chart, plot->picture->out, plot->picture->data, error);
}

struct density_plot {
    struct counts_plot counts;
    const struct gw_algorithm **algorithms;
    size_t count;
    double *heights; /* line * count_windows() + window; the last line is the density asked for */
};

/* Whether the update has every element that some worker selects; otherwise it has k elements. */
static bool sums_selections(const struct gw_algorithm *algorithm) {
    const struct gw_exchange_kind *exchange = algorithm->exchange;
    for (size_t i = 0; i < exchange->leg_count; i++) {
        const struct gw_leg *leg = &exchange->legs[i];
        bool entries =
            leg->payload == GW_SPARSE || leg->payload == GW_PADDED || leg->payload == GW_INDICES;
        if (leg->payload == GW_LAYERS || (entries && strcmp(leg->collective, "allgather") == 0)) {
            return true;
        }
    }
    return false;
}

static enum gw_status fill_line(const struct density_plot *plot, size_t line, double *heights,
                                struct gw_error *error) {
    const struct gw_algorithm *algorithm = line < plot->count ? plot->algorithms[line] : NULL;
    if (algorithm != NULL && !gw_algorithm_is_sparse(algorithm)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "plot density: expected algorithms that compress, got %s", algorithm->name);
    }
    if (algorithm != NULL && sums_selections(algorithm)) {
        return train_windows(&plot->counts, algorithm->compressor, gw_counts_density, heights,
                             error);
    }
    for (size_t w = 0; w < count_windows(&plot->counts); w++) {
        heights[w] = plot->counts.density;
    }
    return GW_OK;
}

static enum gw_status draw_densities(const struct density_plot *plot, struct gw_line *lines,
                                     struct gw_error *error) {
    char title[256];
    size_t windows = count_windows(&plot->counts);
    for (size_t line = 0; line <= plot->count; line++) {
        double *heights = plot->heights + line * windows;
        bool asked = line == plot->count;
        lines[line] = (struct gw_line){.label = asked ? "asked for" : plot->algorithms[line]->name,
                                       .colour = asked ? 4 : line % 4,
                                       .dashed = asked || line >= 4,
                                       .heights = heights};
        GW_TRY(fill_line(plot, line, heights, error));
    }
    snprintf(title, sizeof title, "%s on %zu workers: what some worker selects",
             plot->counts.model.name, plot->counts.workers);
    return draw_windows(&plot->counts, title, "actual density", lines, plot->count + 1, error);
}

static enum gw_status find_densities(const struct gw_picture *picture, struct density_plot *plot,
                                     struct gw_arena *arena, struct gw_error *error) {
    GW_TRY(gw_algorithms_parse(picture->algorithms, arena, &plot->algorithms, &plot->count, error));
    GW_TRY(open_plot(picture, &plot->counts, error));
    struct gw_line *lines = gw_arena_zeros(arena, plot->count + 1, sizeof *lines);
    plot->heights = gw_arena_zeros(arena, plot->count + 1, MOST_WINDOWS * sizeof *plot->heights);
    return lines == NULL || plot->heights == NULL ? gw_fail_memory(error, "plotting")
                                                  : draw_densities(plot, lines, error);
}

enum gw_status gw_draw_density(const struct gw_picture *picture, struct gw_error *error) {
    struct density_plot plot = {.count = 0};
    struct gw_arena arena = {0};
    enum gw_status status = find_densities(picture, &plot, &arena, error);
    close_plot(&plot.counts);
    gw_arena_free(&arena);
    return status;
}

static enum gw_status draw_paddings(const struct counts_plot *plot, struct gw_error *error) {
    enum { LINES = 2 };
    static const struct gw_compressor *const compressors[LINES] = {&gw_compressor_exdyna_static,
                                                                   &gw_compressor_exdyna};
    static const char *const labels[LINES] = {"partitions stay equal", "dynamic allocation"};
    double heights[LINES][MOST_WINDOWS];
    struct gw_line lines[LINES];
    char title[256];
    for (size_t i = 0; i < LINES; i++) {
        GW_TRY(train_windows(plot, compressors[i], gw_counts_padding, heights[i], error));
        lines[i] = (struct gw_line){.label = labels[i], .colour = i, .heights = heights[i]};
    }
    snprintf(title, sizeof title, "ExDyna, %s on %zu workers: what padding multiplies traffic by",
             plot->model.name, plot->workers);
    return draw_windows(plot, title, "f(t) = P max k / sum k", lines, LINES, error);
}

enum gw_status gw_draw_padding(const struct gw_picture *picture, struct gw_error *error) {
    struct counts_plot plot;
    GW_TRY(open_plot(picture, &plot, error));
    enum gw_status status = draw_paddings(&plot, error);
    close_plot(&plot);
    return status;
}
