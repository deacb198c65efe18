/*
 * Prints crossovers: the fastest pipeline at each value, its changes, pipelines without an answer;
 * the document, and the picture with its table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/charts.h"
#include "report/gnuplot.h"
#include "report/sweep.h"

static const char *name_of(const struct gw_crossovers *crossovers, size_t algorithm) {
    return crossovers->comparison->algorithms[algorithm]->name;
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
                 "%sa factor of the measured bandwidth; startups do not change",
                 asked[0] == '\0' ? "bandwidth: " : asked);
    }
    return out;
}

/* ---- the table ------------------------------------------------------------------------------ */

static void put_row(struct gw_table *table, const struct gw_crossovers *crossovers, size_t value) {
    const double *times_s = gw_crossovers_times(crossovers, value);
    size_t fastest = crossovers->fastest[value];
    size_t next = gw_crossovers_next(crossovers, value);
    char text[GW_UNITS_SIZE];
    gw_table_cells(table, "%s",
                   gw_axis_text(crossovers->values, crossovers->values->values[value], text));
    if (fastest == GW_NO_ALGORITHM) {
        gw_table_cells(table, "none\t-\t-");
    } else {
        gw_table_cells(table, "%s%s\t%s", name_of(crossovers, fastest),
                       gw_crossovers_doubted(crossovers, value) ? " ?" : "",
                       gw_format_seconds(times_s[fastest], text));
        size_t place = value * crossovers->comparison->count + fastest;
        gw_table_interval(table, crossovers->lows_s[place], crossovers->highs_s[place]);
    }
    if (next == GW_NO_ALGORITHM) {
        gw_table_cells(table, "none\t-");
        return;
    }
    double margin = times_s[fastest] > 0 ? fmax(0, times_s[next] / times_s[fastest] - 1) : 0;
    gw_table_cells(table, "%s\t%s", name_of(crossovers, next), gw_format_percent(margin, text));
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
    if (gw_axis_varies(crossovers->values, GW_AXIS_WORKERS)) {
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

static void print_gaps(const struct gw_crossovers *crossovers) {
    bool begun = false;
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        const struct gw_gap *gap = &crossovers->gaps[i];
        char text[GW_UNITS_SIZE];
        char where[128] = "";
        if (gap->values == 0) {
            continue;
        }
        if (!begun) {
            gw_print("\n");
        }
        begun = true;
        if (gap->values < crossovers->values->count) {
            (void)snprintf(where, sizeof where, " at %zu of %zu values, the first %s", gap->values,
                           crossovers->values->count,
                           gw_axis_text(crossovers->values, gap->first, text));
        }
        gw_print_paragraph("infeasible: ", "%s%s: %s", name_of(crossovers, i), where,
                           gap->why.message);
    }
}

static void print_text(const struct gw_crossovers *crossovers) {
    const char *const note = crossovers->comparison->note;
    gw_print_heading(crossovers->comparison->scenario, NULL, crossovers->values);
    gw_print_changes(&crossovers->comparison->changes);
    struct gw_table *table =
        gw_table_open("rlrrlr", "%s\tfastest\titeration\t95%% interval\tnext\ttakes",
                      crossovers->values->kind->name);
    for (size_t v = 0; v < crossovers->values->count; v++) {
        put_row(table, crossovers, v);
    }
    gw_table_print_and_close(table);
    print_crossings(crossovers);
    size_t doubted = 0;
    for (size_t v = 0; v < crossovers->values->count; v++) {
        doubted += gw_crossovers_doubted(crossovers, v);
    }
    if (doubted > 0) {
        gw_print_paragraph(
            "",
            "at %zu of %zu values, marked with ?, the fastest can't be told apart from others: "
            "they differ by less than what is uncertain in 95%% of cases, or that is not known",
            doubted, crossovers->values->count);
    }
    print_gaps(crossovers);
    struct gw_counts_note counts = {{0}};
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        if (crossovers->gaps[i].values < crossovers->values->count) {
            gw_counts_note_add(&counts, crossovers->comparison, name_of(crossovers, i));
        }
    }
    gw_counts_note_print(&counts, crossovers->comparison);
    gw_print_notes(&note, note[0] == '\0' ? 0 : 1);
    if (crossovers->derived.derived_count > 1) {
        gw_print_collected_notes(&crossovers->derived);
    } else {
        gw_print_axis_notes(&crossovers->derivations, crossovers->values, GW_RESULT_MAX_NOTES);
    }
    gw_print_axis_notes(&crossovers->notes, crossovers->values, GW_RESULT_MAX_NOTES);
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

static void write_scenario(const struct gw_crossovers *crossovers, struct gw_json_writer *writer) {
    const struct gw_scenario *scenario = crossovers->comparison->scenario;
    const struct gw_choice_changes *changes = &crossovers->comparison->changes;
    gw_writer_text(writer, "model", scenario->model->name);
    gw_writer_text(writer, "cluster", scenario->cluster->name);
    if (!gw_axis_varies(crossovers->values, GW_AXIS_WORKERS)) {
        gw_writer_number(writer, "workers", (double)scenario->workers);
    }
    gw_writer_number(writer, "density", scenario->density);
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
    const char *note = crossovers->comparison->note;
    if (note[0] == '\0' && crossovers->derivations.count + crossovers->notes.count == 0) {
        return;
    }
    gw_writer_array(writer, "notes");
    if (note[0] != '\0') {
        gw_writer_text(writer, NULL, note);
    }
    gw_write_axis_notes(&crossovers->derivations, crossovers->values, writer);
    gw_write_axis_notes(&crossovers->notes, crossovers->values, writer);
    gw_writer_end(writer);
}

enum gw_status gw_crossovers_print(const struct gw_crossovers *crossovers, bool json,
                                   struct gw_error *error) {
    if (json) {
        struct gw_json_writer writer;
        gw_writer_begin(&writer);
        gw_writer_text(&writer, "schema", "gradweave/crossovers@1");
        write_scenario(crossovers, &writer);
        write_rows(crossovers, &writer);
        write_crossings(crossovers, &writer);
        write_gaps(crossovers, &writer);
        write_notes(crossovers, &writer);
        return gw_print_written(&writer, error);
    }
    print_text(crossovers);
    return GW_OK;
}

/* ---- picture -------------------------------------------------------------------------------- */

/* Largest number of values that fit below the axis as tics. */
enum { MOST_TICS = 12 };

/* Writes the value, the fastest pipeline there, and a column for each pipeline. */
static void put_times(const struct gw_crossovers *found, FILE *table) {
    size_t count = found->comparison->count;
    (void)fprintf(table, "#%s,fastest",
                  found->values->own_bit_per_s > 0 ? "bandwidth_bit_per_s"
                                                   : found->values->kind->name);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(table, ",%s", name_of(found, i));
    }
    (void)fputc('\n', table);
    for (size_t v = 0; v < found->values->count; v++) {
        size_t fastest = found->fastest[v];
        const double *times_s = gw_crossovers_times(found, v);
        (void)fprintf(table, "%.9g,%s", found->values->values[v],
                      fastest == GW_NO_ALGORITHM ? "" : name_of(found, fastest));
        for (size_t i = 0; i < count; i++) {
            (void)(isnan(times_s[i]) ? fprintf(table, ",NaN")
                                     : fprintf(table, ",%.9g", times_s[i]));
        }
        (void)fputc('\n', table);
    }
}

static bool is_ever_fastest(const struct gw_crossovers *found, size_t algorithm) {
    bool fastest = false;
    for (size_t v = 0; v < found->values->count; v++) {
        fastest = fastest || found->fastest[v] == algorithm;
    }
    for (size_t i = 0; i < found->crossing_count; i++) {
        fastest = fastest || found->crossings[i].after == algorithm;
    }
    return fastest;
}

/* Returns the pipeline's time at the last value that has one; NAN: it is never predicted. */
static double last_time(const struct gw_crossovers *found, size_t algorithm) {
    double last_s = NAN;
    for (size_t v = 0; v < found->values->count; v++) {
        double time_s = gw_crossovers_times(found, v)[algorithm];
        last_s = isnan(time_s) ? last_s : time_s;
    }
    return last_s;
}

/* Lists the pipelines that have a line, the one that ends highest first. Returns their count. */
static size_t order_lines(const struct gw_crossovers *found, size_t *order) {
    size_t count = 0;
    for (size_t i = 0; i < found->comparison->count; i++) {
        if (!isnan(last_time(found, i))) {
            size_t place = count++;
            for (; place > 0 && last_time(found, i) > last_time(found, order[place - 1]); place--) {
                order[place] = order[place - 1];
            }
            order[place] = i;
        }
    }
    return count;
}

/*
 * Writes the range of times shown, in milliseconds. The top is cut at a multiple of the fastest
 * pipelines' largest time, so that their lines stay apart; the bottom leaves room for names at the
 * marks.
 */
static void put_heights(const struct gw_crossovers *found, FILE *settings) {
    const double most_times_fastest = 5;
    const double widest_linear_range = 3;
    const double room_below = 0.5; /* in heights of the lines' range */
    size_t count = found->comparison->count;
    double least_s = INFINITY;
    double most_s = 0;
    double fastest_s = 0;
    for (size_t i = 0; i < found->values->count * count; i++) {
        double time_s = found->times_s[i];
        least_s = fmin(least_s, time_s);
        most_s = fmax(most_s, time_s);
        fastest_s = found->fastest[i / count] == i % count ? fmax(fastest_s, time_s) : fastest_s;
    }
    double top_s = 1.05 * fmin(most_s, most_times_fastest * fastest_s);
    bool logarithmic = least_s > 0 && top_s > widest_linear_range * least_s;
    double bottom_s = logarithmic ? least_s * pow(least_s / top_s, room_below) : 0;
    (void)fprintf(settings, "logy=%d; bottom=%.6g; top=%.6g; ", logarithmic, 1000 * bottom_s,
                  top_s > 0 ? 1000 * top_s : 1);
}

/*
 * Writes the axis of values, in a unit as a multiple of them, logarithmic if most neighbours are
 * multiples of each other rather than sums, with a tic for each value if they are few integers.
 */
static void put_axis(const struct gw_crossovers *found, double unit, FILE *settings) {
    const double *values = found->values->values;
    size_t count = found->values->count;
    bool whole = unit == 1;
    for (size_t v = 0; v < count; v++) {
        whole = whole && floor(values[v]) == values[v];
    }
    (void)fputs("tics='", settings);
    for (size_t v = 0; whole && count <= MOST_TICS && v < count; v++) {
        (void)fprintf(settings, "%s\"%.4g\" %.9g", v == 0 ? "" : ", ", values[v], values[v]);
    }
    (void)fputs("'; ", settings);
    gw_draw_setting(settings, "axis",
                    gw_axis_varies(found->values, GW_AXIS_WORKERS) ? "workers"
                    : unit != 1                                    ? "bandwidth (Gb/s)"
                                : "bandwidth as a factor of the cluster's own");
    (void)fprintf(settings, "unit=%g; logx=%d; ", unit,
                  count > 2 && values[count / 2] - values[0] < (values[count - 1] - values[0]) / 3);
}

/* Writes lists with a word for each line: its column, and whether it is the fastest anywhere. */
static void put_lines(const struct gw_crossovers *found, const size_t *order, size_t count,
                      FILE *settings) {
    (void)fprintf(settings, "lines=%zu; array labels[%zu] = [", count, count);
    for (size_t l = 0; l < count; l++) {
        (void)fputs(l == 0 ? "" : ", ", settings);
        gw_draw_quoted(settings, name_of(found, order[l]));
    }
    (void)fputs("]; columns='", settings);
    for (size_t l = 0; l < count; l++) {
        (void)fprintf(settings, "%zu ", order[l]);
    }
    (void)fputs("'; broad='", settings);
    for (size_t l = 0; l < count; l++) {
        (void)fprintf(settings, "%d ", is_ever_fastest(found, order[l]));
    }
    (void)fputs("'; ", settings);
}

/* Writes marks: the fastest at the first value, then at each crossover the next one. */
static void put_marks(const struct gw_crossovers *found, double unit, FILE *settings) {
    size_t first = 0;
    while (found->fastest[first] == GW_NO_ALGORITHM) {
        first++; /* up to one at which a pipeline is predicted (gw_crossovers_open) */
    }
    (void)fprintf(settings, "marks=%zu; places='%.9g ", found->crossing_count + 1,
                  found->values->values[first] / unit);
    for (size_t i = 0; i < found->crossing_count; i++) {
        (void)fprintf(settings, "%.9g ", found->crossings[i].to / unit);
    }
    (void)fprintf(settings, "'; holders='%zu ", found->fastest[first]);
    for (size_t i = 0; i < found->crossing_count; i++) {
        (void)fprintf(settings, "%zu ", found->crossings[i].after);
    }
    (void)fprintf(settings, "'; texts='%s ", name_of(found, found->fastest[first]));
    for (size_t i = 0; i < found->crossing_count; i++) {
        (void)fprintf(settings, "%s ", name_of(found, found->crossings[i].after));
    }
    (void)fputc('\'', settings);
}

enum gw_status gw_crossovers_draw(const struct gw_crossovers *crossovers, const char *path,
                                  const char *data_path, struct gw_error *error) {
    double unit = crossovers->values->own_bit_per_s > 0 ? 1e9 : 1;
    char title[GW_TITLE_SIZE];
    char what[GW_CHANGES_SIZE + 16];
    char changes[GW_CHANGES_SIZE];
    struct gw_drawing drawing;
    size_t *order = calloc(crossovers->comparison->count, sizeof *order);
    enum gw_status status =
        order == NULL ? gw_fail_memory(error, "plotting") : gw_drawing_open(&drawing, error);
    if (status == GW_OK) {
        put_times(crossovers, drawing.table);
        put_axis(crossovers, unit, drawing.settings);
        put_heights(crossovers, drawing.settings);
        put_lines(crossovers, order, order_lines(crossovers, order), drawing.settings);
        put_marks(crossovers, unit, drawing.settings);
        (void)snprintf(what, sizeof what, "predicted%s",
                       gw_changes_text(&crossovers->comparison->changes, changes));
        gw_picture_title(crossovers->comparison->scenario, crossovers->values, what, title);
        status = gw_drawing_finish(&drawing, "crossovers.gp", title, path, data_path, error);
    }
    free(order);
    return status;
}
