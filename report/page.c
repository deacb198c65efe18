#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* The files of report/page/, which the build embeds as zero-terminated arrays. */
extern const char gw_page_html[], gw_page_css[], gw_page_js[];

/* ---- the document ---------------------------------------------------------------------------- */

static void write_text_if(struct gw_json_writer *writer, const char *key, const char *text) {
    if (text != NULL) {
        gw_writer_text(writer, key, text);
    }
}

/* Writes the model and the cluster asked about, tensors in forward order. */
static void write_scenario(const struct gw_scenario *scenario, struct gw_json_writer *writer) {
    const struct gw_model *model = scenario->model;
    const struct gw_cluster *cluster = scenario->cluster;
    gw_writer_object(writer, "model");
    gw_writer_text(writer, "name", model->name);
    write_text_if(writer, "kind", model->kind);
    write_text_if(writer, "device", model->device);
    gw_writer_number(writer, "batch_size", model->batch_size);
    gw_writer_number(writer, "bytes_per_element", (double)model->bytes_per_element);
    gw_writer_number(writer, "forward_s", model->forward_s);
    gw_writer_number(writer, "backward_s", gw_model_backward_s(model));
    gw_writer_number(writer, "update_s", model->update_s);
    gw_writer_number(writer, "uncertainty", model->uncertainty);
    gw_writer_array(writer, "tensors");
    for (size_t i = 0; i < model->tensor_count; i++) {
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "name", model->tensors[i].name);
        gw_writer_number(writer, "elements", (double)model->tensors[i].elements);
        gw_writer_number(writer, "backward_s", model->tensors[i].backward_s);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
    gw_writer_object(writer, "cluster");
    gw_writer_text(writer, "name", cluster->name);
    write_text_if(writer, "kind", gw_cluster_source(cluster, "kind"));
    write_text_if(writer, "note", gw_cluster_source(cluster, "note"));
    write_text_if(writer, "assumed_compressors",
                  gw_cluster_source(cluster, GW_CLUSTER_ASSUMED_COMPRESSORS));
    write_text_if(writer, "reach", gw_cluster_source(cluster, GW_CLUSTER_NETWORK_REACH));
    write_text_if(writer, "within", gw_cluster_source(cluster, "within"));
    gw_writer_number(writer, "workers", (double)cluster->workers);
    gw_writer_number(writer, "workers_per_node", (double)cluster->workers_per_node);
    gw_writer_end(writer);
}

/* Writes each group's tensors, first .. last; the groups begin with the model's last tensor. */
static void write_plan(const struct gw_advice *advice, struct gw_json_writer *writer) {
    const struct gw_plan *plan = advice->pipeline.plan;
    const struct gw_explanation *explanation = &advice->explanation;
    gw_writer_object(writer, "plan");
    gw_writer_text(writer, "policy", plan->policy);
    gw_writer_array(writer, "groups");
    for (size_t g = 0; g < plan->group_count; g++) {
        const struct gw_group *group = &plan->groups[g];
        gw_writer_object(writer, NULL);
        gw_writer_number(writer, "first", (double)group->first);
        gw_writer_number(writer, "last", (double)group->last);
        gw_writer_number(writer, "elements",
                         (double)gw_group_elements(group, advice->scenario->model));
        gw_writer_number(writer, "exchange_end_s", explanation->groups[g].exchange_end_s);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}

static void write_span(const struct gw_span *span, struct gw_json_writer *writer) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "stream", gw_stream_name(span->stream));
    gw_writer_text(writer, "activity", gw_activity_name(span->activity));
    write_text_if(writer, "label", span->label);
    if (span->group != GW_NO_GROUP) {
        gw_writer_number(writer, "group", (double)span->group);
    }
    if (span->bytes > 0) {
        gw_writer_number(writer, "bytes", (double)span->bytes);
    }
    if (span->elements > 0) {
        gw_writer_number(writer, "elements", (double)span->elements);
    }
    gw_writer_number(writer, "start_s", span->start_s);
    gw_writer_number(writer, "end_s", span->end_s);
    gw_writer_end(writer);
}

/* Writes the first lane of each timeline: all workers behave alike here. */
static void write_timelines(const struct gw_survey *survey, struct gw_json_writer *writer) {
    gw_writer_array(writer, "timelines");
    for (size_t i = 0; i < survey->shown_count; i++) {
        const struct gw_timeline *timeline = &survey->timelines[i];
        gw_writer_object(writer, NULL);
        gw_writer_number(writer, "place", (double)survey->shown[i]);
        gw_writer_array(writer, "spans");
        for (size_t k = 0; k < timeline->span_count; k++) {
            if (timeline->spans[k].lane == 0) {
                write_span(&timeline->spans[k], writer);
            }
        }
        gw_writer_end(writer);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static void write_what_if(const struct gw_survey *survey, struct gw_json_writer *writer) {
    gw_writer_array(writer, "scaling");
    for (size_t i = 0; i < survey->scaling_count; i++) {
        gw_writer_object(writer, NULL);
        gw_writer_number(writer, "workers", survey->scaling[i].value);
        gw_writer_numbers(writer, "iteration_s", survey->scaling[i].iteration_s,
                          survey->shown_count);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    gw_writer_array(writer, "changes");
    for (size_t i = 0; i < survey->change_count; i++) {
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "name", survey->changes[i].name);
        gw_writer_number(writer, "factor", survey->changes[i].factor);
        gw_writer_numbers(writer, "iteration_s", survey->changes[i].iteration_s,
                          survey->shown_count);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

/* Writes "fastest": for each density a list over bandwidths of places in the results, or null. */
static void write_map(const struct gw_survey *survey, struct gw_json_writer *writer) {
    gw_writer_object(writer, "map");
    gw_writer_numbers(writer, "bandwidths", survey->bandwidths, survey->bandwidth_count);
    gw_writer_numbers(writer, "densities", survey->densities, survey->density_count);
    gw_writer_array(writer, "fastest");
    for (size_t d = 0; d < survey->density_count; d++) {
        gw_writer_array(writer, NULL);
        for (size_t b = 0; b < survey->bandwidth_count; b++) {
            size_t place = survey->fastest[d * survey->bandwidth_count + b];
            gw_writer_number(writer, NULL, place == SIZE_MAX ? NAN : (double)place);
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    gw_writer_array(writer, "speedups");
    for (size_t d = 0; d < survey->density_count; d++) {
        gw_writer_numbers(writer, NULL, &survey->speedups[d * survey->bandwidth_count],
                          survey->bandwidth_count);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}

/* Writes "measurements": the pipelines measured and predicted as the fastest. */
static void write_measurements(const struct gw_advice *advice, struct gw_json_writer *writer) {
    const struct gw_measurements *found = &advice->measurements;
    if (found->count == 0) {
        return;
    }
    gw_writer_object(writer, "measurements");
    gw_writer_number(writer, "count", (double)found->count);
    gw_writer_number(writer, "first", (double)found->first);
    gw_writer_number(writer, "first_s", found->first_s);
    gw_writer_number(writer, "predicted", (double)found->predicted);
    gw_writer_number(writer, "predicted_s", found->predicted_s);
    gw_writer_flag(writer, "told_apart", found->is_told_apart);
    gw_writer_end(writer);
}

/* Sets the predictions in the validation's results to the page's own, where it has them. */
static enum gw_status put_predictions(const struct gw_advice *advice,
                                      const struct gw_validation_document *measured,
                                      cJSON *validation, struct gw_error *error) {
    cJSON *pair = cJSON_GetObjectItemCaseSensitive(validation, "results")->child;
    for (size_t i = 0; i < measured->count; i++, pair = pair->next) {
        size_t place = gw_advice_find(advice, &measured->results[i]);
        const struct gw_result *result = &advice->ranking.results[place];
        double measured_s = measured->results[i].measured.iteration_s;
        struct gw_json_writer writer;
        cJSON *predicted = NULL;
        if (place == advice->ranking.count) {
            continue;
        }
        gw_writer_begin(&writer);
        gw_result_write(result, &writer);
        GW_TRY(gw_writer_finish(&writer, &predicted, error));
        GW_TRY(gw_json_put(pair, "predicted", predicted, error));
        if (measured_s > 0) {
            GW_TRY(gw_json_put_number(pair, "error", result->iteration_s / measured_s - 1, error));
        }
    }
    return GW_OK;
}

static void write_accuracy(const struct gw_accuracy *accuracy, struct gw_json_writer *writer) {
    gw_writer_object(writer, "accuracy");
    gw_writer_text(writer, "model", accuracy->model);
    gw_writer_number(writer, "goal", accuracy->goal);
    gw_writer_array(writer, "trainings");
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct gw_trainings *trainings = &accuracy->trainings[i];
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "algorithm", trainings->algorithm);
        gw_writer_number(writer, "density", trainings->density);
        gw_writer_number(writer, "workers", (double)trainings->workers);
        gw_writer_number(writer, "count", (double)trainings->count);
        gw_writer_number(writer, "reached", (double)trainings->reached);
        gw_writer_number(writer, "iterations", trainings->iterations);
        gw_writer_number(writer, "low", trainings->low);
        gw_writer_number(writer, "high", trainings->high);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}

static enum gw_status write_document(const struct gw_page *page, const char *why, cJSON **out,
                                     struct gw_error *error) {
    const struct gw_survey *survey = page->survey;
    struct gw_json_writer writer;
    cJSON *validation = NULL;
    GW_TRY(gw_json_copy(page->validation, &validation, error));
    if (page->measured != NULL) {
        enum gw_status status = put_predictions(survey->advice, page->measured, validation, error);
        if (status != GW_OK) {
            cJSON_Delete(validation);
            return status;
        }
    }
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/report@1");
    write_scenario(survey->advice->scenario, &writer);
    gw_writer_object(&writer, "advice");
    gw_advice_write(survey->advice, page->price, &writer);
    gw_writer_end(&writer);
    gw_writer_text(&writer, "why", why);
    write_plan(survey->advice, &writer);
    write_timelines(survey, &writer);
    write_what_if(survey, &writer);
    write_map(survey, &writer);
    write_measurements(survey->advice, &writer);
    if (validation != NULL) {
        gw_writer_part(&writer, "validation", validation);
    }
    if (page->accuracy != NULL) {
        write_accuracy(page->accuracy, &writer);
    }
    gw_writer_array(&writer, "commands");
    for (const char *const *command = page->commands; *command != NULL; command++) {
        gw_writer_text(&writer, NULL, *command);
    }
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, out, error);
}

enum gw_status gw_page_document(const struct gw_page *page, cJSON **out, struct gw_error *error) {
    struct gw_arena arena = {0};
    const char *why = "";
    enum gw_status status = gw_ranking_explain(&page->survey->advice->ranking, &arena, &why, error);
    status = status == GW_OK ? write_document(page, why, out, error) : status;
    gw_arena_free(&arena);
    return status;
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Prints the HTML page with each "{{name}}" replaced by the part of that name; "<" in the data is
 * escaped, so that no text in it can end the script element. */
static void print_page(const char *data, FILE *stream) {
    const char *rest = gw_page_html;
    for (const char *mark = strstr(rest, "{{"); mark != NULL; mark = strstr(rest, "{{")) {
        (void)fwrite(rest, 1, (size_t)(mark - rest), stream);
        if (strncmp(mark, "{{style}}", 9) == 0) {
            (void)fputs(gw_page_css, stream);
        } else if (strncmp(mark, "{{script}}", 10) == 0) {
            (void)fputs(gw_page_js, stream);
        } else {
            for (const char *c = data; *c != '\0'; c++) {
                (void)(*c == '<' ? fputs("\\u003c", stream) : fputc(*c, stream));
            }
        }
        rest = strstr(mark, "}}") + 2;
    }
    (void)fputs(rest, stream);
}

enum gw_status gw_page_write(const struct gw_page *page, const char *path, struct gw_error *error) {
    cJSON *document = NULL;
    char *data = NULL;
    struct gw_text text;
    GW_TRY(gw_page_document(page, &document, error));
    enum gw_status status = gw_json_print_compact(document, &data, error);
    cJSON_Delete(document);
    GW_TRY(status);
    FILE *stream = gw_text_open(&text);
    if (stream != NULL) {
        print_page(data, stream);
    }
    free(data);
    GW_TRY(gw_text_close(&text, "writing a page", error));
    status = gw_file_write(path, text.text, text.length, error);
    free(text.text);
    return status;
}
