/* Pictures of measurements: validations, their explanations, trainings. */
#include "report/pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/charts.h"
#include "report/gnuplot.h"

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
        gw_chart_bars(bars, 2 * read->count, title, picture->out, picture->data, error);
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

/* Reads a name, which must be one of the list that `count` names make up. */
static enum gw_status read_name(const struct gw_json *object, const char *key,
                                const char *(*name_of)(unsigned number), unsigned count,
                                const char *expected, const char **out, struct gw_error *error) {
    struct gw_json place = gw_json_member(object, key);
    GW_TRY(gw_json_text(&place, out, error));
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(name_of(i), *out) == 0) {
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

/* Writes ",START,END,PATH": a side's period, and whether it is on that side's critical path. */
static enum gw_status put_side(const struct gw_json *operation, const char *period_key,
                               const char *path_key, FILE *table, struct gw_error *error) {
    struct gw_json period = gw_json_member(operation, period_key);
    struct gw_json path = gw_json_member(operation, path_key);
    double ends_s[2];
    GW_TRY(gw_json_array(&period, error));
    if (cJSON_GetArraySize(period.node) != 2) {
        return gw_json_expected(&period, "a start and an end", error);
    }
    for (int i = 0; i < 2; i++) {
        struct gw_json item = gw_json_item(&period, cJSON_GetArrayItem(period.node, i), (size_t)i);
        GW_TRY(gw_json_seconds(&item, &ends_s[i], error));
    }
    if (ends_s[1] < ends_s[0]) {
        return gw_json_expected(&period, "a start and an end", error);
    }
    if (!cJSON_IsBool(path.node)) {
        return gw_json_expected(&path, "true or false", error);
    }
    (void)fprintf(table, ",%.9g,%.9g,%d", ends_s[0], ends_s[1], cJSON_IsTrue(path.node));
    return GW_OK;
}

/* Writes an operation's row; group -1: it serves no group, rank 0: it is not numbered. */
static enum gw_status put_operation(const struct gw_json *operation, size_t rank, FILE *table,
                                    struct gw_error *error) {
    struct gw_json group = gw_json_member(operation, "group");
    const char *stream = NULL;
    const char *activity = NULL;
    uint64_t number = GW_NO_GROUP;
    GW_TRY(gw_json_object(operation, error));
    GW_TRY(read_name(operation, "stream", picture_stream_name, GW_STREAM_COUNT,
                     "the name of a stream", &stream, error));
    GW_TRY(read_name(operation, "activity", picture_activity_name, GW_ACTIVITY_COUNT,
                     "the name of an activity", &activity, error));
    if (group.node != NULL) {
        GW_TRY(gw_json_integer(&group, 0, &number, error));
    }
    (void)fprintf(table, "%s,%s,%lld,%zu", stream, activity,
                  number < GW_NO_GROUP ? (long long)number : -1, rank);
    GW_TRY(put_side(operation, "shown_predicted_s", "on_predicted_path", table, error));
    GW_TRY(put_side(operation, "shown_measured_s", "on_measured_path", table, error));
    (void)fputc('\n', table);
    return GW_OK;
}

/* Ranks, from 1, the operations that contribute most. */
static enum gw_status rank_largest(const struct gw_json *explanation, size_t *ranks, size_t count,
                                   struct gw_error *error) {
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
        ranks[number] = rank;
    }
    return GW_OK;
}

/* Writes both timelines of an iteration, and numbers the operations that contribute most. */
static enum gw_status put_explanation(const struct gw_json *explanation,
                                      const struct gw_drawing *drawing, struct gw_arena *arena,
                                      struct gw_error *error) {
    struct gw_json shown = gw_json_member(explanation, "shown");
    struct gw_json sides[] = {gw_json_member(&shown, "predicted_s"),
                              gw_json_member(&shown, "measured_s")};
    struct gw_json list = gw_json_member(explanation, "operations");
    double iteration_s[2];
    size_t number = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_seconds(&sides[0], &iteration_s[0], error));
    GW_TRY(gw_json_seconds(&sides[1], &iteration_s[1], error));
    GW_TRY(gw_json_array(&list, error));
    size_t count = (size_t)cJSON_GetArraySize(list.node);
    size_t *ranks = gw_arena_zeros(arena, count, sizeof *ranks);
    GW_TRY(gw_arena_check(arena, "plotting", error));
    GW_TRY(rank_largest(explanation, ranks, count, error));
    (void)fputs("#stream,activity,group,rank,predicted_start_s,predicted_end_s,on_predicted_path,"
                "measured_start_s,measured_end_s,on_measured_path\n",
                drawing->table);
    cJSON_ArrayForEach(node, list.node) {
        struct gw_json item = gw_json_item(&list, node, number);
        GW_TRY(put_operation(&item, ranks[number++], drawing->table, error));
    }
    (void)fprintf(drawing->settings, "predicted_s=%.9e; measured_s=%.9e", iteration_s[0],
                  iteration_s[1]);
    return GW_OK;
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
        struct gw_drawing drawing;
        char title[256];
        if (explanation.node == NULL) {
            continue;
        }
        GW_TRY(gw_json_text(&algorithm, &names[1], error));
        GW_TRY(gw_drawing_open(&drawing, error));
        enum gw_status status = put_explanation(&explanation, &drawing, arena, error);
        if (status != GW_OK) {
            gw_drawing_drop(&drawing);
            return status;
        }
        (void)snprintf(title, sizeof title, "%s, %s: an iteration as predicted and as measured",
                       names[0], names[1]);
        return gw_drawing_finish(&drawing, "difference.gp", title, picture->out, picture->data,
                                 error);
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

/* ---- trainings ------------------------------------------------------------------------------- */

static enum gw_status draw_trainings(const struct gw_picture *picture,
                                     const struct gw_accuracy *accuracy, struct gw_error *error) {
    struct gw_named_point *points = calloc(accuracy->count, sizeof *points);
    char title[256];
    if (points == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    (void)snprintf(title, sizeof title,
                   "%.80s: iterations to an accuracy of %g%%, median and range", accuracy->model,
                   100 * accuracy->goal);
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct gw_trainings *one = &accuracy->trainings[i];
        points[i] =
            (struct gw_named_point){.x = one->iterations,
                                    .low = one->low,
                                    .high = isfinite(one->high) ? one->high : one->iterations};
        (void)snprintf(points[i].name, sizeof points[i].name, "%.24s at %g among %llu%s",
                       one->algorithm, one->density, (unsigned long long)one->workers,
                       one->reached < one->count ? " (some never)" : "");
    }
    enum gw_status status = gw_chart_points(points, accuracy->count, title, "iterations",
                                            picture->out, picture->data, error);
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
