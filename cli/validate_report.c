/* What validate writes and prints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/validate.h"

/* The predictions' notes, each once. */
struct notes {
    size_t count;
    char **texts; /* which are the predictions' */
};

static void add_note(struct notes *notes, char *text) {
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->texts[i], text) == 0) {
            return;
        }
    }
    notes->texts[notes->count++] = text;
}

static enum gw_status collect_notes(const struct gw_validation *validation, struct notes *out,
                                    struct gw_error *error) {
    *out = (struct notes){.texts =
                              calloc(validation->count * GW_RESULT_MOST_NOTES, sizeof *out->texts)};
    if (out->texts == NULL) {
        return gw_fail_memory(error, "validating");
    }
    for (size_t i = 0; i < validation->count; i++) {
        struct gw_result *predicted = &validation->comparisons[i].predicted;
        for (size_t n = 0; n < predicted->note_count; n++) {
            add_note(out, predicted->notes[n]);
        }
    }
    return GW_OK;
}

double gw_validation_largest_error(const struct gw_validation *validation) {
    double largest = 0;
    for (size_t i = 0; i < validation->count; i++) {
        largest = fmax(largest, fabs(validation->comparisons[i].error));
    }
    return largest;
}

static double mean_error(const struct gw_validation *validation) {
    double sum = 0;
    for (size_t i = 0; i < validation->count; i++) {
        sum += fabs(validation->comparisons[i].error);
    }
    return sum / (double)validation->count;
}

static void print_row(struct gw_table *table, const char *algorithm, const char *what,
                      const struct gw_result *result, const char *error) {
    const struct gw_breakdown *parts = &result->breakdown;
    const double times[] = {result->iteration_s, parts->forward_s,      parts->backward_s,
                            parts->compress_s,   parts->exposed_comm_s, parts->other_s};
    gw_table_cell(table, "%s", algorithm);
    gw_table_cell(table, "%s", what);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", gw_format_seconds(times[i], text));
    }
    char bytes[GW_UNITS_SIZE];
    gw_table_cell(table, "%s", gw_format_bytes(result->bytes_per_worker, bytes));
    gw_table_cell(table, "%s", error);
}

/* ", settled in 41 iterations (1.2 s)" */
static void print_settled(const struct gw_warmed_up *settled) {
    char text[GW_UNITS_SIZE];
    if (settled->iterations == 0) {
        printf(", not settled before\n");
        return;
    }
    printf(", %s %zu iteration%s of compression alone (%s)",
           settled->reached ? "settled in" : "not settled after", settled->iterations,
           settled->iterations == 1 ? "" : "s", gw_format_seconds(settled->seconds, text));
    if (!settled->reached) {
        printf(", %.3g in the last", settled->ratio);
    }
    printf("\n");
}

/* Of which pipelines, in the end, it depended on gradients how much was selected. */
static void print_counts(const struct gw_validation *validation) {
    const char *before = "\n";
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_validation_pair *comparison = &validation->comparisons[i];
        if (!comparison->counts_depend_on_data) {
            continue;
        }
        printf("%s%s: predicted with counts %s; measured %.3g times as much as asked", before,
               comparison->predicted.algorithm, comparison->predicted.counts,
               gw_validation_pair_selected_ratio(comparison));
        print_settled(&comparison->settled);
        before = "";
    }
}

/* Whose choices were changed. */
static void print_changed(const struct gw_validation *validation) {
    const char *before = "\n";
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_result *result = &validation->comparisons[i].predicted;
        char changed[GW_CHANGES_SIZE];
        if (gw_result_changes_text(result, changed)[0] != '\0') {
            printf("%s%s%s\n", before, result->algorithm, changed);
            before = "";
        }
    }
}

static void print_text(const struct gw_validation *validation, const struct notes *notes) {
    static const char *const headings[] = {
        "algorithm",   "",        "iteration", "forward", "backward",
        "compression", "exposed", "other",     "bytes",   "error"};
    gw_print_heading(&validation->question);
    gw_validation_print_gpu(validation);
    struct gw_table *table = gw_table_open(headings, "llrrrrrrrr");
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_validation_pair *comparison = &validation->comparisons[i];
        char error[GW_UNITS_SIZE];
        print_row(table, comparison->predicted.algorithm, "predicted", &comparison->predicted,
                  gw_format_percent(comparison->error, error));
        print_row(table, "", "measured", &comparison->measured, "");
    }
    gw_table_print_and_close(table);
    print_changed(validation);
    print_counts(validation);
    for (size_t i = 0; i < validation->left_out_count; i++) {
        printf("%s%s: left out: %s\n", i == 0 ? "\n" : "", validation->left_out[i].algorithm,
               validation->left_out[i].reason.message);
    }
    printf("\nmeasured: means of %zu iterations; mean error %.1f%%, largest %.1f%%\n",
           validation->options->iterations, 100 * mean_error(validation),
           100 * gw_validation_largest_error(validation));
    for (size_t i = 0; i < notes->count; i++) {
        const char *note = notes->texts[i];
        gw_print_notes(&note, 1);
    }
}

static enum gw_status put_side(cJSON *entry, const char *key, const struct gw_result *result,
                               struct gw_error *error) {
    cJSON *side = cJSON_CreateObject();
    GW_TRY(gw_json_put(entry, key, side, error));
    GW_TRY(gw_result_put_times(result, side, error));
    GW_TRY(gw_json_put_number(side, "bytes_per_worker", result->bytes_per_worker, error));
    return gw_json_put_number(side, "iteration_sd_s", result->iteration_sd_s, error);
}

static enum gw_status put_settled(const struct gw_warmed_up *settled, cJSON *entry,
                                  struct gw_error *error) {
    cJSON *settling = cJSON_CreateObject();
    GW_TRY(gw_json_put(entry, "settling", settling, error));
    GW_TRY(gw_json_put_number(settling, "iterations", (double)settled->iterations, error));
    GW_TRY(gw_json_put_number(settling, "settling_s", settled->seconds, error));
    if (settled->iterations > 0) {
        GW_TRY(gw_json_put_number(settling, "selected_ratio", settled->ratio, error));
    }
    return gw_json_put(settling, "settled", cJSON_CreateBool(settled->reached), error);
}

/* How much was selected, and what the prediction took of it. */
static enum gw_status put_counts(const struct gw_validation_pair *comparison, cJSON *entry,
                                 struct gw_error *error) {
    cJSON *predicted = cJSON_GetObjectItem(entry, "predicted");
    cJSON *measured = cJSON_GetObjectItem(entry, "measured");
    GW_TRY(gw_result_put_counts(&comparison->predicted, predicted, error));
    if (!comparison->counts_depend_on_data) {
        return GW_OK;
    }
    GW_TRY(gw_json_put_number(measured, "selected_ratio",
                              gw_validation_pair_selected_ratio(comparison), error));
    return put_settled(&comparison->settled, entry, error);
}

static enum gw_status put_comparison(const struct gw_validation_pair *comparison, cJSON *results,
                                     struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_append(results, entry, error));
    GW_TRY(gw_json_put_text(entry, "algorithm", comparison->predicted.algorithm, error));
    GW_TRY(gw_result_put_changed(&comparison->predicted, entry, error));
    GW_TRY(gw_json_put_number(entry, "groups", (double)comparison->predicted.groups, error));
    GW_TRY(put_side(entry, "predicted", &comparison->predicted, error));
    GW_TRY(put_side(entry, "measured", &comparison->measured, error));
    GW_TRY(put_counts(comparison, entry, error));
    return gw_json_put_number(entry, "error", comparison->error, error);
}

static enum gw_status put_left_out(const struct gw_validation *validation, cJSON *document,
                                   struct gw_error *error) {
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "infeasible", list, error));
    for (size_t i = 0; i < validation->left_out_count; i++) {
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(list, entry, error));
        GW_TRY(gw_json_put_text(entry, "algorithm", validation->left_out[i].algorithm, error));
        GW_TRY(gw_json_put_text(entry, "reason", validation->left_out[i].reason.message, error));
    }
    return GW_OK;
}

static enum gw_status put_document(const struct gw_validation *validation,
                                   const struct notes *notes, cJSON *document,
                                   struct gw_error *error) {
    const struct gw_question *question = &validation->question;
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/validation@1", error));
    GW_TRY(gw_json_put_text(document, "model", question->model.name, error));
    GW_TRY(gw_json_put_text(document, "cluster", question->cluster.name, error));
    GW_TRY(gw_json_put_number(document, "workers", (double)question->workers, error));
    GW_TRY(gw_json_put_number(document, "density", question->density, error));
    GW_TRY(
        gw_json_put_number(document, "iterations", (double)validation->options->iterations, error));
    GW_TRY(gw_validation_put_gpu(validation, document, error));
    GW_TRY(gw_json_put(document, "complete", cJSON_CreateTrue(), error));
    cJSON *results = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "results", results, error));
    for (size_t i = 0; i < validation->count; i++) {
        GW_TRY(put_comparison(&validation->comparisons[i], results, error));
    }
    GW_TRY(put_left_out(validation, document, error));
    GW_TRY(gw_json_put_number(document, "mean_error", mean_error(validation), error));
    GW_TRY(gw_json_put_number(document, "largest_error", gw_validation_largest_error(validation),
                              error));
    return gw_json_put_texts(document, "notes", notes->texts, notes->count, error);
}

static enum gw_status present(const struct gw_validation *validation, const struct notes *notes,
                              struct gw_error *error) {
    const struct gw_validate_options *options = validation->options;
    cJSON *document = cJSON_CreateObject();
    enum gw_status status = put_document(validation, notes, document, error);
    if (status == GW_OK && options->out != NULL) {
        status = gw_json_write(document, options->out, error);
    }
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK) {
        print_text(validation, notes);
    }
    cJSON_Delete(document);
    return status;
}

enum gw_status gw_validation_present(const struct gw_validation *validation,
                                     struct gw_error *error) {
    struct notes notes;
    GW_TRY(collect_notes(validation, &notes, error));
    enum gw_status status = present(validation, &notes, error);
    free(notes.texts);
    return status;
}
