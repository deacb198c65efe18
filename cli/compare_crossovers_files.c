/* Crossovers for programs and for the eye: the document, the picture, the table behind it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "plots/plots.h"

/* ---- document ------------------------------------------------------------------------------ */

static const char *name_of(const struct gw_crossovers *crossovers, size_t algorithm) {
    return crossovers->comparison->algorithms[algorithm]->name;
}

static enum gw_status put_name(const struct gw_crossovers *crossovers, cJSON *object,
                               const char *key, size_t algorithm, struct gw_error *error) {
    cJSON *name = algorithm == GW_NO_ALGORITHM ? cJSON_CreateNull()
                                               : cJSON_CreateString(name_of(crossovers, algorithm));
    return gw_json_put(object, key, name, error);
}

static enum gw_status put_row(const struct gw_crossovers *crossovers, size_t value, cJSON *row,
                              struct gw_error *error) {
    const double *times_s = gw_crossovers_times(crossovers, value);
    size_t next = gw_crossovers_next(crossovers, value);
    cJSON *times = cJSON_CreateObject();
    GW_TRY(gw_json_put_number(row, "value", crossovers->variation->values[value], error));
    GW_TRY(put_name(crossovers, row, "fastest", crossovers->fastest[value], error));
    GW_TRY(put_name(crossovers, row, "next", next, error));
    GW_TRY(gw_json_put(row, "iteration_s", times, error));
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        if (!isnan(times_s[i])) {
            GW_TRY(gw_json_put_number(times, name_of(crossovers, i), times_s[i], error));
        }
    }
    return GW_OK;
}

static enum gw_status put_rows(const struct gw_crossovers *crossovers, cJSON *document,
                               struct gw_error *error) {
    cJSON *rows = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "rows", rows, error));
    for (size_t v = 0; v < crossovers->variation->count; v++) {
        cJSON *row = cJSON_CreateObject();
        GW_TRY(gw_json_append(rows, row, error));
        GW_TRY(put_row(crossovers, v, row, error));
    }
    return GW_OK;
}

static enum gw_status put_crossings(const struct gw_crossovers *crossovers, cJSON *document,
                                    struct gw_error *error) {
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "crossovers", list, error));
    for (size_t i = 0; i < crossovers->crossing_count; i++) {
        const struct gw_crossing *crossing = &crossovers->crossings[i];
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(list, entry, error));
        GW_TRY(gw_json_put_number(entry, "from", crossing->from, error));
        GW_TRY(gw_json_put_number(entry, "to", crossing->to, error));
        GW_TRY(put_name(crossovers, entry, "fastest_at_from", crossing->before, error));
        GW_TRY(put_name(crossovers, entry, "fastest_at_to", crossing->after, error));
        GW_TRY(gw_json_put_number(entry, "iteration_s", crossing->iteration_s, error));
    }
    return GW_OK;
}

static enum gw_status put_infeasible(const struct gw_crossovers *crossovers, cJSON *document,
                                     struct gw_error *error) {
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "infeasible", list, error));
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        const struct gw_gap *gap = &crossovers->gaps[i];
        if (gap->values > 0) {
            cJSON *entry = cJSON_CreateObject();
            GW_TRY(gw_json_append(list, entry, error));
            GW_TRY(gw_json_put_text(entry, "algorithm", name_of(crossovers, i), error));
            GW_TRY(gw_json_put_number(entry, "values", (double)gap->values, error));
            GW_TRY(gw_json_put_number(entry, "first", gap->first, error));
            GW_TRY(gw_json_put_text(entry, "reason", gap->why.message, error));
        }
    }
    return GW_OK;
}

static enum gw_status put_question(const struct gw_crossovers *crossovers, cJSON *document,
                                   struct gw_error *error) {
    const struct gw_question *question = crossovers->comparison->question;
    const struct gw_variation *variation = crossovers->variation;
    const struct gw_choice_changes *changes = &crossovers->comparison->changes;
    const struct gw_result changed = {.policy = changes->policy,
                                      .compressor = changes->compressor,
                                      .exchange = changes->exchange};
    GW_TRY(gw_json_put_text(document, "model", question->model.name, error));
    GW_TRY(gw_json_put_text(document, "cluster", question->cluster.name, error));
    if (!variation->whole) {
        GW_TRY(gw_json_put_number(document, "workers", (double)question->workers, error));
    }
    GW_TRY(gw_json_put_number(document, "density", question->density, error));
    GW_TRY(gw_result_put_changed(&changed, document, error));
    GW_TRY(gw_json_put_text(document, "parameter", variation->name, error));
    return variation->own_bit_per_s == 0 ? GW_OK
                                         : gw_json_put_number(document, "own_bandwidth_bit_per_s",
                                                              variation->own_bit_per_s, error);
}

static enum gw_status put_document(const struct gw_crossovers *crossovers, cJSON *document,
                                   struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/crossovers@1", error));
    GW_TRY(put_question(crossovers, document, error));
    GW_TRY(put_rows(crossovers, document, error));
    GW_TRY(put_crossings(crossovers, document, error));
    GW_TRY(put_infeasible(crossovers, document, error));
    char *notes[] = {(char *)crossovers->comparison->note};
    return gw_json_put_texts(document, "notes", notes, notes[0][0] == '\0' ? 0 : 1, error);
}

enum gw_status gw_crossovers_print_json(const struct gw_crossovers *crossovers,
                                        struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    return gw_print_filled(document, put_document(crossovers, document, error), error);
}

/* ---- picture ------------------------------------------------------------------------------- */

/* What the picture's parts are made of, besides the crossovers themselves. */
struct parts {
    const char **names;
    struct gw_crossover *crossovers;
    char title[384];
};

static void fill_parts(const struct gw_crossovers *found, struct parts *parts) {
    const struct gw_question *question = found->comparison->question;
    char workers[64] = "";
    char changes[GW_CHANGES_SIZE];
    if (!found->variation->whole) {
        snprintf(workers, sizeof workers, ", %zu workers", question->workers);
    }
    snprintf(parts->title, sizeof parts->title, "%.80s on %.80s%s, density %g%s: predicted",
             question->model.name, question->cluster.name, workers, question->density,
             gw_changes_text(&found->comparison->changes, changes));
    for (size_t i = 0; i < found->comparison->count; i++) {
        parts->names[i] = name_of(found, i);
    }
    for (size_t i = 0; i < found->crossing_count; i++) {
        const struct gw_crossing *crossing = &found->crossings[i];
        parts->crossovers[i] = (struct gw_crossover){
            .at = crossing->to, .before = crossing->before, .after = crossing->after};
    }
}

static enum gw_status draw(const struct gw_crossovers *found, const struct parts *parts,
                           const char *path, const char *data_path, struct gw_error *error) {
    const struct gw_variation *variation = found->variation;
    bool rates = variation->own_bit_per_s > 0;
    const struct gw_crossover_chart chart = {
        .title = parts->title,
        .axis = variation->whole ? "workers"
                : rates          ? "bandwidth (Gb/s)"
                                 : "bandwidth as a factor of the cluster's own",
        .unit = rates ? 1e9 : 1,
        .value_name = variation->whole ? "workers"
                      : rates          ? "bandwidth_bit_per_s"
                                       : "bandwidth",
        .value_count = variation->count,
        .values = variation->values,
        .name_count = found->comparison->count,
        .names = parts->names,
        .times_s = found->times_s,
        .fastest = found->fastest,
        .crossover_count = found->crossing_count,
        .crossovers = parts->crossovers};
    return gw_plot_crossovers(&chart, path, data_path, error);
}

enum gw_status gw_crossovers_draw(const struct gw_crossovers *crossovers, const char *path,
                                  const char *data_path, struct gw_error *error) {
    struct parts parts = {.names = calloc(crossovers->comparison->count, sizeof *parts.names),
                          .crossovers =
                              calloc(crossovers->crossing_count + 1, sizeof *parts.crossovers)};
    enum gw_status status = GW_OK;
    if (parts.names == NULL || parts.crossovers == NULL) {
        status = gw_fail_memory(error, "plotting");
    } else {
        fill_parts(crossovers, &parts);
        status = draw(crossovers, &parts, path, data_path, error);
    }
    free(parts.names);
    free(parts.crossovers);
    return status;
}
