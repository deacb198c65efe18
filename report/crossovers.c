/*
 * Prints crossovers: the fastest pipeline at each value, its changes, pipelines without an answer;
 * the document, and the picture with its table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/plots.h"
#include "report/sweep.h"

static const char *name_of(const struct gw_crossovers *crossovers, size_t algorithm) {
    return crossovers->comparison->algorithms[algorithm]->name;
}

static bool varies_workers(const struct gw_crossovers *crossovers) {
    return crossovers->values->kind == &gw_axis_kinds[GW_AXIS_WORKERS];
}

const char *gw_bandwidth_note(const struct gw_axis_values *bandwidths,
                              char out[GW_RESULT_NOTE_SIZE]) {
    char value[GW_UNITS_SIZE];
    char asked[GW_UNITS_SIZE + 32] = "";
    out[0] = '\0';
    if (bandwidths->count == 1) {
        snprintf(asked, sizeof asked, "bandwidth %s; ",
                 gw_axis_text(bandwidths, bandwidths->values[0], value));
    }
    if (bandwidths->own_bit_per_s > 0) {
        snprintf(out, GW_RESULT_NOTE_SIZE,
                 "%sthe cluster's own bandwidth is %s (%.120s); startups stay at any bandwidth",
                 asked, gw_axis_text(bandwidths, bandwidths->own_bit_per_s, value),
                 bandwidths->derivation);
    } else if (bandwidths->count > 0) {
        snprintf(out, GW_RESULT_NOTE_SIZE,
                 "%sa factor of what was measured; startups stay at any bandwidth",
                 asked[0] == '\0' ? "bandwidth: " : asked);
    }
    return out;
}

/* ---- the table ------------------------------------------------------------------------------ */

static void print_crossovers_heading(const struct gw_crossovers *crossovers) {
    const struct gw_question *question = crossovers->comparison->question;
    const struct gw_axis_values *values = crossovers->values;
    char texts[3][GW_UNITS_SIZE];
    gw_print("%s (%zu tensors, %s elements), ", question->model->name,
             question->model->tensor_count,
             gw_format_count((double)gw_model_elements(question->model), texts[0]));
    if (!varies_workers(crossovers)) {
        gw_print("%zu worker%s, ", question->workers, question->workers == 1 ? "" : "s");
    }
    gw_print("cluster %s, density %g; %s from %s to %s\n\n", question->cluster->name,
             question->density, values->kind->name,
             gw_axis_text(values, values->values[0], texts[1]),
             gw_axis_text(values, values->values[values->count - 1], texts[2]));
}

static void put_interval(struct gw_table *table, const struct gw_crossovers *crossovers,
                         size_t value, size_t algorithm) {
    size_t place = value * crossovers->comparison->count + algorithm;
    gw_table_interval(table, crossovers->lows_s[place], crossovers->highs_s[place]);
}

static void put_row(struct gw_table *table, const struct gw_crossovers *crossovers, size_t value) {
    const double *times_s = gw_crossovers_times(crossovers, value);
    size_t fastest = crossovers->fastest[value];
    size_t next = gw_crossovers_next(crossovers, value);
    char text[GW_UNITS_SIZE];
    gw_table_cell(table, "%s",
                  gw_axis_text(crossovers->values, crossovers->values->values[value], text));
    if (fastest == GW_NO_ALGORITHM) {
        gw_table_cell(table, "none");
        gw_table_cell(table, "-");
        gw_table_cell(table, "-");
    } else {
        gw_table_cell(table, "%s%s", name_of(crossovers, fastest),
                      gw_crossovers_doubted(crossovers, value) ? " ?" : "");
        gw_table_cell(table, "%s", gw_format_seconds(times_s[fastest], text));
        put_interval(table, crossovers, value, fastest);
    }
    if (next == GW_NO_ALGORITHM) {
        gw_table_cell(table, "none");
        gw_table_cell(table, "-");
        return;
    }
    double margin = times_s[fastest] > 0 ? fmax(0, times_s[next] / times_s[fastest] - 1) : 0;
    gw_table_cell(table, "%s", name_of(crossovers, next));
    gw_table_cell(table, "%s", gw_format_percent(margin, text));
}

static void print_table(const struct gw_crossovers *crossovers) {
    const char *const headings[] = {
        crossovers->values->kind->name, "fastest", "iteration", "95% interval", "next", "takes"};
    struct gw_table *table = gw_table_open(headings, "rlrrlr");
    for (size_t v = 0; v < crossovers->values->count; v++) {
        put_row(table, crossovers, v);
    }
    gw_table_print_and_close(table);
}

/* ---- in words ------------------------------------------------------------------------------- */

static void print_crossing(const struct gw_crossovers *crossovers,
                           const struct gw_crossing *crossing) {
    char texts[3][GW_UNITS_SIZE];
    const char *before = name_of(crossovers, crossing->before);
    const char *after = name_of(crossovers, crossing->after);
    const char *doubt = crossing->doubted ? "; they can't be told apart there" : "";
    gw_axis_text(crossovers->values, crossing->from, texts[0]);
    gw_axis_text(crossovers->values, crossing->to, texts[1]);
    gw_format_seconds(crossing->iteration_s, texts[2]);
    if (varies_workers(crossovers)) {
        gw_print("%s is fastest up to %s worker%s, from %s on %s, which takes %s there%s\n", before,
                 texts[0], crossing->from == 1 ? "" : "s", texts[1], after, texts[2], doubt);
    } else {
        gw_print("%s is fastest up to %s, then %s, which takes %s there%s\n", before, texts[0],
                 after, texts[2], doubt);
    }
}

static void print_crossings(const struct gw_crossovers *crossovers) {
    gw_print("\n");
    for (size_t i = 0; i < crossovers->crossing_count; i++) {
        print_crossing(crossovers, &crossovers->crossings[i]);
    }
    if (crossovers->crossing_count == 0) {
        size_t v = 0;
        while (crossovers->fastest[v] == GW_NO_ALGORITHM) {
            v++;
        }
        gw_print("%s is fastest throughout\n", name_of(crossovers, crossovers->fastest[v]));
    }
}

/* Prints the number of values at which the fastest pipeline cannot be told apart from others. */
static void print_doubts(const struct gw_crossovers *crossovers) {
    size_t doubted = 0;
    for (size_t v = 0; v < crossovers->values->count; v++) {
        doubted += gw_crossovers_doubted(crossovers, v);
    }
    if (doubted > 0) {
        gw_print(
            "at %zu of %zu values, marked with ?, the fastest can't be told apart from others: "
            "they differ by less than what is uncertain in 95%% of cases, or that is not known\n",
            doubted, crossovers->values->count);
    }
}

static void print_gaps(const struct gw_crossovers *crossovers) {
    bool begun = false;
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        const struct gw_gap *gap = &crossovers->gaps[i];
        char text[GW_UNITS_SIZE];
        if (gap->values == 0) {
            continue;
        }
        if (!begun) {
            gw_print("\n");
        }
        gw_print("infeasible: %s", name_of(crossovers, i));
        begun = true;
        if (gap->values < crossovers->values->count) {
            gw_print(" at %zu of %zu values, the first %s", gap->values, crossovers->values->count,
                     gw_axis_text(crossovers->values, gap->first, text));
        }
        gw_print(": %s\n", gap->why.message);
    }
}

enum { PLACE_SIZE = GW_UNITS_SIZE + 32 };

/* Writes a note's place, "at 64 workers: ". Returns `out`. */
static const char *place_of(const struct gw_crossovers *crossovers, const struct gw_axis_note *note,
                            char out[PLACE_SIZE]) {
    double at = crossovers->values->values[note->first];
    const char *unit = !varies_workers(crossovers) ? "" : at == 1 ? " worker" : " workers";
    char text[GW_UNITS_SIZE];
    (void)snprintf(out, PLACE_SIZE, "at %s%s: ", gw_axis_text(crossovers->values, at, text), unit);
    return out;
}

/* Prints the first notes; a note of one value holds for others likewise. */
static void print_crossover_notes(const struct gw_crossovers *crossovers,
                                  const struct gw_axis_notes *notes) {
    for (size_t i = 0; i < notes->count && i < GW_RESULT_MAX_NOTES; i++) {
        const struct gw_axis_note *note = &notes->notes[i];
        char place[PLACE_SIZE];
        char first[PLACE_SIZE + 8];
        (void)snprintf(first, sizeof first, "note %s", place_of(crossovers, note, place));
        gw_print_note(first, "%s", note->text);
    }
}

/* Prints the note on counts of the pipelines that can be predicted at some value. */
static void print_counts(const struct gw_crossovers *crossovers) {
    struct gw_counts_note counts = {{0}};
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        if (crossovers->gaps[i].values < crossovers->values->count) {
            gw_counts_note_add(&counts, crossovers->comparison, name_of(crossovers, i));
        }
    }
    gw_counts_note_print(&counts, crossovers->comparison);
}

static void print_text(const struct gw_crossovers *crossovers) {
    const char *const note = crossovers->comparison->note;
    print_crossovers_heading(crossovers);
    gw_print_changes(&crossovers->comparison->changes);
    print_table(crossovers);
    print_crossings(crossovers);
    print_doubts(crossovers);
    print_gaps(crossovers);
    print_counts(crossovers);
    gw_print_notes(&note, note[0] == '\0' ? 0 : 1);
    if (crossovers->derived.derived_count > 1) {
        gw_print_collected_notes(&crossovers->derived);
    } else {
        print_crossover_notes(crossovers, &crossovers->derivations);
    }
    print_crossover_notes(crossovers, &crossovers->notes);
}

/* ---- document ------------------------------------------------------------------------------- */

static void write_name(const struct gw_crossovers *crossovers, const char *key, size_t algorithm,
                       struct gw_json_writer *writer) {
    if (algorithm == GW_NO_ALGORITHM) {
        gw_writer_null(writer, key);
    } else {
        gw_writer_text(writer, key, name_of(crossovers, algorithm));
    }
}

static void write_question(const struct gw_crossovers *crossovers, struct gw_json_writer *writer) {
    const struct gw_question *question = crossovers->comparison->question;
    const struct gw_choice_changes *changes = &crossovers->comparison->changes;
    gw_writer_text(writer, "model", question->model->name);
    gw_writer_text(writer, "cluster", question->cluster->name);
    if (!varies_workers(crossovers)) {
        gw_writer_number(writer, "workers", (double)question->workers);
    }
    gw_writer_number(writer, "density", question->density);
    gw_writer_changes(writer, changes->policy, changes->compressor, changes->exchange);
    gw_writer_text(writer, "parameter", crossovers->values->kind->name);
    if (crossovers->values->own_bit_per_s > 0) {
        gw_writer_number(writer, "own_bandwidth_bit_per_s", crossovers->values->own_bit_per_s);
    }
}

/* Writes the times of pipelines that can be predicted. */
static void write_times(const struct gw_crossovers *crossovers, const char *key,
                        const double *times_s, struct gw_json_writer *writer) {
    gw_writer_object(writer, key);
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        if (!isnan(times_s[i])) {
            gw_writer_number(writer, name_of(crossovers, i), times_s[i]);
        }
    }
    gw_writer_end(writer);
}

static void write_rows(const struct gw_crossovers *crossovers, struct gw_json_writer *writer) {
    gw_writer_array(writer, "rows");
    for (size_t v = 0; v < crossovers->values->count; v++) {
        size_t first = v * crossovers->comparison->count;
        gw_writer_object(writer, NULL);
        gw_writer_number(writer, "value", crossovers->values->values[v]);
        write_name(crossovers, "fastest", crossovers->fastest[v], writer);
        write_name(crossovers, "next", gw_crossovers_next(crossovers, v), writer);
        gw_writer_array(writer, "not_told_apart");
        for (size_t i = 0; i < crossovers->comparison->count; i++) {
            if (crossovers->meets[first + i]) {
                gw_writer_text(writer, NULL, name_of(crossovers, i));
            }
        }
        gw_writer_end(writer);
        write_times(crossovers, "iteration_s", &crossovers->times_s[first], writer);
        write_times(crossovers, "iteration_low_s", &crossovers->lows_s[first], writer);
        write_times(crossovers, "iteration_high_s", &crossovers->highs_s[first], writer);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static void write_crossings(const struct gw_crossovers *crossovers, struct gw_json_writer *writer) {
    gw_writer_array(writer, "crossovers");
    for (size_t i = 0; i < crossovers->crossing_count; i++) {
        const struct gw_crossing *crossing = &crossovers->crossings[i];
        gw_writer_object(writer, NULL);
        gw_writer_number(writer, "from", crossing->from);
        gw_writer_number(writer, "to", crossing->to);
        write_name(crossovers, "fastest_at_from", crossing->before, writer);
        write_name(crossovers, "fastest_at_to", crossing->after, writer);
        gw_writer_number(writer, "iteration_s", crossing->iteration_s);
        gw_writer_flag(writer, "told_apart", !crossing->doubted);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static void write_gaps(const struct gw_crossovers *crossovers, struct gw_json_writer *writer) {
    gw_writer_array(writer, "infeasible");
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        const struct gw_gap *gap = &crossovers->gaps[i];
        if (gap->values > 0) {
            gw_writer_object(writer, NULL);
            gw_writer_text(writer, "algorithm", name_of(crossovers, i));
            gw_writer_number(writer, "values", (double)gap->values);
            gw_writer_number(writer, "first", gap->first);
            gw_writer_text(writer, "reason", gap->why.message);
            gw_writer_end(writer);
        }
    }
    gw_writer_end(writer);
}

/* Writes all notes; the text shows only some of them. */
static void write_notes(const struct gw_crossovers *crossovers, struct gw_json_writer *writer) {
    const struct gw_axis_notes *const lists[] = {&crossovers->derivations, &crossovers->notes};
    const char *note = crossovers->comparison->note;
    if (note[0] == '\0' && lists[0]->count + lists[1]->count == 0) {
        return;
    }
    gw_writer_array(writer, "notes");
    if (note[0] != '\0') {
        gw_writer_text(writer, NULL, note);
    }
    for (size_t i = 0; i < lists[0]->count + lists[1]->count; i++) {
        const struct gw_axis_note *one =
            i < lists[0]->count ? &lists[0]->notes[i] : &lists[1]->notes[i - lists[0]->count];
        char place[PLACE_SIZE];
        char text[PLACE_SIZE + GW_RESULT_NOTE_SIZE];
        (void)snprintf(text, sizeof text, "%s%s", place_of(crossovers, one, place), one->text);
        gw_writer_text(writer, NULL, text);
    }
    gw_writer_end(writer);
}

static enum gw_status print_crossovers_document(const struct gw_crossovers *crossovers,
                                                struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/crossovers@1");
    write_question(crossovers, &writer);
    write_rows(crossovers, &writer);
    write_crossings(crossovers, &writer);
    write_gaps(crossovers, &writer);
    write_notes(crossovers, &writer);
    return gw_print_written(&writer, error);
}

enum gw_status gw_crossovers_print(const struct gw_crossovers *crossovers, bool json,
                                   struct gw_error *error) {
    if (json) {
        return print_crossovers_document(crossovers, error);
    }
    print_text(crossovers);
    return GW_OK;
}

/* ---- picture -------------------------------------------------------------------------------- */

static void print_title(const struct gw_crossovers *crossovers, char *title, size_t size) {
    const struct gw_question *question = crossovers->comparison->question;
    char workers[64] = "";
    char changes[GW_CHANGES_SIZE];
    if (!varies_workers(crossovers)) {
        snprintf(workers, sizeof workers, ", %zu workers", question->workers);
    }
    snprintf(title, size, "%.80s on %.80s%s, density %g%s: predicted", question->model->name,
             question->cluster->name, workers, question->density,
             gw_changes_text(&crossovers->comparison->changes, changes));
}

/* `names` and `marks` have room for the pipelines and the crossings. */
static enum gw_status draw_crossovers(const struct gw_crossovers *found, const char **names,
                                      struct gw_crossover *marks, const char *path,
                                      const char *data_path, struct gw_error *error) {
    bool workers = varies_workers(found);
    bool rates = found->values->own_bit_per_s > 0;
    char title[384];
    print_title(found, title, sizeof title);
    for (size_t i = 0; i < found->comparison->count; i++) {
        names[i] = name_of(found, i);
    }
    for (size_t i = 0; i < found->crossing_count; i++) {
        const struct gw_crossing *crossing = &found->crossings[i];
        marks[i] = (struct gw_crossover){
            .at = crossing->to, .before = crossing->before, .after = crossing->after};
    }
    const struct gw_crossover_chart chart = {
        .title = title,
        .axis = workers ? "workers"
                : rates ? "bandwidth (Gb/s)"
                        : "bandwidth as a factor of the cluster's own",
        .unit = rates ? 1e9 : 1,
        .value_name = workers ? "workers"
                      : rates ? "bandwidth_bit_per_s"
                              : "bandwidth",
        .value_count = found->values->count,
        .values = found->values->values,
        .name_count = found->comparison->count,
        .names = names,
        .times_s = found->times_s,
        .fastest = found->fastest,
        .crossover_count = found->crossing_count,
        .crossovers = marks};
    return gw_plot_crossovers(&chart, path, data_path, error);
}

enum gw_status gw_crossovers_draw(const struct gw_crossovers *crossovers, const char *path,
                                  const char *data_path, struct gw_error *error) {
    struct gw_arena arena = {0};
    const char **names = gw_arena_zeros(&arena, crossovers->comparison->count, sizeof *names);
    struct gw_crossover *marks =
        gw_arena_zeros(&arena, crossovers->crossing_count + 1, sizeof *marks);
    enum gw_status status = names == NULL || marks == NULL
                                ? gw_fail_memory(error, "plotting")
                                : draw_crossovers(crossovers, names, marks, path, data_path, error);
    gw_arena_free(&arena);
    return status;
}
