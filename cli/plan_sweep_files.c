/* A sweep for programs and for the eye: the document, the table as CSV, the picture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan_sweep.h"
#include "plots/plots.h"

/* ---- document ------------------------------------------------------------------------------ */

static enum gw_status put_plan(const struct gw_sweep *sweep, size_t exchange, size_t policy,
                               size_t value, cJSON *plan, struct gw_error *error) {
    const struct gw_sweep_cell *cell = &gw_sweep_row(sweep, exchange, policy)[value];
    GW_TRY(gw_json_put_text(plan, "policy", sweep->policies[policy], error));
    GW_TRY(gw_json_put_text(plan, "compressor", sweep->compressors[exchange], error));
    GW_TRY(gw_json_put_number(plan, "groups", (double)cell->groups, error));
    GW_TRY(gw_json_put_number(plan, "iteration_s", cell->iteration_s, error));
    return gw_json_put_number(plan, "lower_bound_s", cell->lower_bound_s, error);
}

static enum gw_status put_row(const struct gw_sweep *sweep, size_t value, cJSON *row,
                              struct gw_error *error) {
    cJSON *plans = cJSON_CreateArray();
    GW_TRY(gw_json_put_number(row, "value", sweep->values[value], error));
    GW_TRY(gw_json_put(row, "plans", plans, error));
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        for (size_t p = 0; p < sweep->policy_count; p++) {
            cJSON *plan = cJSON_CreateObject();
            GW_TRY(gw_json_append(plans, plan, error));
            GW_TRY(put_plan(sweep, e, p, value, plan, error));
        }
    }
    return GW_OK;
}

/* The exchange that is faster with its best plan; null if neither is. */
static enum gw_status put_faster(const struct gw_sweep *sweep, size_t value, const char *key,
                                 cJSON *crossing, struct gw_error *error) {
    int order = gw_sweep_compare(sweep, value);
    cJSON *name =
        order == 0 ? cJSON_CreateNull() : cJSON_CreateString(sweep->compressors[order > 0]);
    return gw_json_put(crossing, key, name, error);
}

/* The neighbouring values between which another exchange becomes the faster one. */
static enum gw_status put_crossings(const struct gw_sweep *sweep, cJSON *document,
                                    struct gw_error *error) {
    if (sweep->exchange_count < GW_SWEEP_MOST_EXCHANGES) {
        return GW_OK;
    }
    cJSON *crossings = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "crossings", crossings, error));
    for (size_t v = 1; v < sweep->value_count; v++) {
        if (gw_sweep_compare(sweep, v) != gw_sweep_compare(sweep, v - 1)) {
            cJSON *crossing = cJSON_CreateObject();
            GW_TRY(gw_json_append(crossings, crossing, error));
            GW_TRY(gw_json_put_number(crossing, "from", sweep->values[v - 1], error));
            GW_TRY(gw_json_put_number(crossing, "to", sweep->values[v], error));
            GW_TRY(put_faster(sweep, v - 1, "faster_at_from", crossing, error));
            GW_TRY(put_faster(sweep, v, "faster_at_to", crossing, error));
        }
    }
    return GW_OK;
}

static enum gw_status put_notes(const struct gw_sweep *sweep, cJSON *document,
                                struct gw_error *error) {
    if (sweep->note_count == 0) {
        return GW_OK;
    }
    cJSON *notes = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "notes", notes, error));
    for (size_t i = 0; i < sweep->note_count; i++) {
        char *text = NULL;
        GW_TRY(gw_sweep_note_text(sweep, &sweep->notes[i], &text, error));
        enum gw_status status = gw_json_append(notes, cJSON_CreateString(text), error);
        free(text);
        GW_TRY(status);
    }
    return GW_OK;
}

static enum gw_status put_document(const struct gw_sweep *sweep, cJSON *document,
                                   struct gw_error *error) {
    const struct gw_question *question = sweep->question;
    const char *swept = sweep->parameter->name;
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/sweep@1", error));
    GW_TRY(gw_json_put_text(document, "model", question->model.name, error));
    GW_TRY(gw_json_put_text(document, "cluster", question->cluster.name, error));
    if (strcmp(swept, "workers") != 0) {
        GW_TRY(gw_json_put_number(document, "workers", (double)question->workers, error));
    }
    if (strcmp(swept, "density") != 0) {
        GW_TRY(gw_json_put_number(document, "density", question->density, error));
    }
    GW_TRY(gw_json_put_text(document, "parameter", swept, error));
    cJSON *rows = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "rows", rows, error));
    for (size_t v = 0; v < sweep->value_count; v++) {
        cJSON *row = cJSON_CreateObject();
        GW_TRY(gw_json_append(rows, row, error));
        GW_TRY(put_row(sweep, v, row, error));
    }
    GW_TRY(put_crossings(sweep, document, error));
    return put_notes(sweep, document, error);
}

enum gw_status gw_sweep_document(const struct gw_sweep *sweep, cJSON **out,
                                 struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    if (document == NULL) {
        return gw_fail_memory(error, "writing a sweep");
    }
    enum gw_status status = put_document(sweep, document, error);
    if (status != GW_OK) {
        cJSON_Delete(document);
        return status;
    }
    *out = document;
    return GW_OK;
}

static enum gw_status write_document(const struct gw_sweep *sweep, const char *path,
                                     struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_sweep_document(sweep, &document, error));
    enum gw_status status = gw_json_write(document, path, error);
    cJSON_Delete(document);
    return status;
}

/* ---- table --------------------------------------------------------------------------------- */

static enum gw_status write_table(const struct gw_sweep *sweep, const char *path,
                                  struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        return gw_fail_memory(error, "writing a table");
    }
    (void)fputs("value,policy,compressor,groups,iteration_s\n", stream);
    size_t rows = sweep->exchange_count * sweep->policy_count;
    for (size_t i = 0; i < sweep->value_count * rows; i++) {
        size_t value = i / rows;
        size_t exchange = i % rows / sweep->policy_count;
        size_t policy = i % sweep->policy_count;
        const struct gw_sweep_cell *cell = &gw_sweep_row(sweep, exchange, policy)[value];
        gw_csv_number(stream, sweep->values[value]);
        (void)fprintf(stream, ",%s,", sweep->policies[policy]);
        gw_csv_text(stream, sweep->compressors[exchange]);
        (void)fprintf(stream, ",%zu,", cell->groups);
        gw_csv_number(stream, cell->iteration_s);
        (void)fputc('\n', stream);
    }
    enum gw_status status = fclose(stream) == 0 ? gw_file_write(path, text, length, error)
                                                : gw_fail_memory(error, "writing a table");
    free(text);
    return status;
}

/* ---- picture ------------------------------------------------------------------------------- */

/*
 * More lines than these cannot be told apart: what no plan beats, what the papers and PyTorch do,
 * and the two plans that need no thought. Those of one exchange have a policy each.
 */
static const char *const drawn_policies[] = {"optimal", "omgs", "ddp", "per-tensor", "single"};
enum { MOST_LINES = GW_SWEEP_MOST_EXCHANGES * (sizeof drawn_policies / sizeof *drawn_policies) };

struct lines {
    size_t count;
    struct gw_line lines[MOST_LINES];
    char labels[MOST_LINES][2 * GW_SWEEP_LABEL_SIZE + GW_POLICY_TEXT_SIZE];
};

static void add_line(const struct gw_sweep *sweep, size_t exchange, size_t policy, size_t colour,
                     double *times_s, struct lines *lines) {
    const struct gw_sweep_cell *row = gw_sweep_row(sweep, exchange, policy);
    char *label = lines->labels[lines->count];
    snprintf(label, sizeof lines->labels[0], "%s (%.*s)", sweep->policies[policy],
             GW_SWEEP_LABEL_SIZE, gw_sweep_exchange_name(sweep, exchange));
    for (size_t v = 0; v < sweep->value_count; v++) {
        times_s[v] = row[v].iteration_s;
    }
    lines->lines[lines->count++] =
        (struct gw_line){.label = label,
                         .colour = colour,
                         .dashed = strcmp(sweep->compressors[exchange], "none") == 0,
                         .heights = times_s};
}

/* `times_s` has room for all lines. */
static void add_lines(const struct gw_sweep *sweep, size_t exchange, double *times_s,
                      struct lines *lines) {
    size_t colours = sizeof drawn_policies / sizeof *drawn_policies;
    for (size_t c = 0; c < colours; c++) {
        for (size_t p = 0; p < sweep->policy_count; p++) {
            bool wanted = sweep->policy_count == 1
                              ? c == 0
                              : strcmp(sweep->policies[p], drawn_policies[c]) == 0;
            if (wanted) {
                add_line(sweep, exchange, p, c, &times_s[lines->count * sweep->value_count], lines);
            }
        }
    }
}

static enum gw_status draw(const struct gw_sweep *sweep, const char *path, struct gw_error *error) {
    const struct gw_question *question = sweep->question;
    struct lines lines = {0};
    double *times_s = calloc(MOST_LINES * sweep->value_count, sizeof *times_s);
    if (times_s == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        add_lines(sweep, e, times_s, &lines);
    }
    char title[256];
    bool sweeps_workers = strcmp(sweep->parameter->name, "workers") == 0;
    bool sweeps_density = strcmp(sweep->parameter->name, "density") == 0;
    char workers[64];
    char density[64];
    snprintf(workers, sizeof workers, ", %zu workers", question->workers);
    snprintf(density, sizeof density, ", density %g", question->density);
    snprintf(title, sizeof title, "%s on %s%s%s: predicted", question->model.name,
             question->cluster.name, sweeps_workers ? "" : workers, sweeps_density ? "" : density);
    struct gw_line_chart chart = {.title = title,
                                  .axis = sweep->parameter->axis,
                                  .height_axis = "iteration time (ms)",
                                  .unit = 1e-3,
                                  .value_count = sweep->value_count,
                                  .values = sweep->values,
                                  .line_count = lines.count,
                                  .lines = lines.lines};
    enum gw_status status = gw_plot_lines(&chart, path, NULL, error);
    free(times_s);
    return status;
}

/* ---- by the name's end --------------------------------------------------------------------- */

static const struct {
    const char *ending;
    enum gw_status (*write)(const struct gw_sweep *sweep, const char *path, struct gw_error *error);
} formats[] = {{".csv", write_table},
               {".json", write_document},
               {".png", draw},
               {".svg", draw},
               {".pdf", draw}};
enum { FORMATS = sizeof formats / sizeof *formats };

static size_t find_format(const char *path) {
    const char *dot = strrchr(path, '.');
    size_t i = 0;
    while (i < FORMATS && (dot == NULL || strcmp(dot, formats[i].ending) != 0)) {
        i++;
    }
    return i;
}

enum gw_status gw_sweep_check_out(const char *path, struct gw_error *error) {
    if (find_format(path) == FORMATS) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected the name of a sweep's table (.csv), document (.json) or "
                       "picture (.png, .svg or .pdf)",
                       path);
    }
    return gw_file_check_target(path, error);
}

enum gw_status gw_sweep_write(const struct gw_sweep *sweep, const char *path,
                              struct gw_error *error) {
    return formats[find_format(path)].write(sweep, path, error);
}
