/*
 * Prints plans along an axis: tables, then their findings in words; the document, the table as CSV,
 * the picture.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/charts.h"
#include "report/sweep.h"

enum { LABEL_SIZE = 48 };

/* "0.0001438", "16", "0.5x". Returns `out`. */
static const char *value_text(const struct gw_plan_sweep *sweep, size_t value,
                              char out[GW_UNITS_SIZE]) {
    return gw_axis_text(&sweep->values, sweep->values.values[value], out);
}

/* ---- tables -------------------------------------------------------------------------------- */

static double best_s(const struct gw_plan_sweep *sweep, size_t exchange, size_t value) {
    size_t best = gw_plan_sweep_best(sweep, exchange, value);
    return gw_plan_sweep_cell(sweep, exchange, best, value)->iteration_s;
}

/* Prints the best plan of each exchange, and the faster exchange with the factor by which the other
 * takes longer: "topk 6.09x". */
static void print_best(const struct gw_plan_sweep *sweep) {
    bool both = sweep->exchange_count == GW_PLAN_SWEEP_EXCHANGES;
    struct gw_table *table =
        gw_table_open(both ? "rlrrlrrl" : "rlrr", "%s", sweep->values.kind->name);
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        gw_table_cells(table, "%.32s plan\tgroups\titeration", gw_plan_sweep_exchange(sweep, e));
    }
    if (both) {
        gw_table_cells(table, "faster");
    }
    for (size_t v = 0; v < sweep->values.count; v++) {
        char text[GW_UNITS_SIZE];
        gw_table_cells(table, "%s", value_text(sweep, v, text));
        for (size_t e = 0; e < sweep->exchange_count; e++) {
            size_t best = gw_plan_sweep_best(sweep, e, v);
            const struct gw_plan_cell *cell = gw_plan_sweep_cell(sweep, e, best, v);
            gw_table_cells(table, "%s\t%zu\t%s", sweep->policies[best], cell->groups,
                           GW_SECONDS(cell->iteration_s));
        }
        int order = both ? gw_plan_sweep_compare(sweep, v) : 0;
        if (both && order == 0) {
            gw_table_cells(table, "equal");
        } else if (both) {
            size_t faster = order > 0;
            double ratio = best_s(sweep, 1 - faster, v) / best_s(sweep, faster, v);
            gw_table_cells(table, "%s %.*fx", gw_plan_sweep_exchange(sweep, faster),
                           ratio < 99.5 ? 2 : 0, ratio);
        }
    }
    gw_table_print_and_close(table);
}

/* Chooses one unit for a whole table, in which its least time has four digits. */
struct scale {
    double unit_s;
    const char *name;
    int decimals;
};

static struct scale choose_scale(double least_s) {
    static const struct scale units[] = {
        {1, "s", 3}, {1e-3, "ms", 3}, {1e-6, "us", 3}, {1e-9, "ns", 3}};
    size_t u = 0;
    while (u + 1 < sizeof units / sizeof *units && least_s > 0 && least_s < units[u].unit_s) {
        u++;
    }
    struct scale scale = units[u];
    for (double limit = 10; scale.decimals > 0 && least_s >= limit * scale.unit_s; limit *= 10) {
        scale.decimals--;
    }
    return scale;
}

/* Prints an exchange's times and groups by every policy; one row if values make no difference. */
static void print_policies(const struct gw_plan_sweep *sweep, size_t exchange) {
    static const char alignment[] = "rrrrrrrrrrrrrrrr";
    size_t most = sizeof alignment - 2; /* policies that fit beside the value */
    size_t count = sweep->policy_count < most ? sweep->policy_count : most;
    bool same = gw_plan_sweep_is_constant(sweep, exchange);
    double least_s = INFINITY;
    for (size_t v = 0; v < sweep->values.count; v++) {
        least_s = fmin(least_s, best_s(sweep, exchange, v));
    }
    struct scale scale = choose_scale(least_s);
    struct gw_table *table =
        gw_table_open(alignment + most - count, "%s", sweep->values.kind->name);
    for (size_t p = 0; p < count; p++) {
        gw_table_cells(table, "%s", sweep->policies[p]);
    }
    for (size_t v = 0; v < (same ? 1 : sweep->values.count); v++) {
        char text[GW_UNITS_SIZE];
        gw_table_cells(table, "%s", same ? "any" : value_text(sweep, v, text));
        for (size_t p = 0; p < count; p++) {
            const struct gw_plan_cell *cell = gw_plan_sweep_cell(sweep, exchange, p, v);
            gw_table_cells(table, "%.*f/%zu", scale.decimals, cell->iteration_s / scale.unit_s,
                           cell->groups);
        }
    }
    gw_print("\n%s exchange: iteration in %s/groups\n\n", gw_plan_sweep_exchange(sweep, exchange),
             scale.name);
    gw_table_print_and_close(table);
}

/* ---- findings ------------------------------------------------------------------------------ */

/* " from 0.01 to 0.1": the run of values number `first` to `last`. */
static void print_run(const struct gw_plan_sweep *sweep, size_t first, size_t last) {
    char texts[2][GW_UNITS_SIZE];
    bool to_the_end = last + 1 == sweep->values.count;
    value_text(sweep, first, texts[0]);
    value_text(sweep, last, texts[1]);
    if (first == 0 && to_the_end) {
        gw_print(" throughout");
    } else if (first == 0) {
        gw_print(" up to %s", texts[1]);
    } else if (to_the_end) {
        gw_print(" from %s on", texts[0]);
    } else if (first == last) {
        gw_print(" at %s", texts[0]);
    } else {
        gw_print(" from %s to %s", texts[0], texts[1]);
    }
}

/* " up to 0.01 and from 0.1 on": the values with this state; " nowhere" if there are none. */
static void print_runs(const struct gw_plan_sweep *sweep, const int *states, int state) {
    bool begun = false;
    for (size_t first = 0; first < sweep->values.count; first++) {
        size_t last = first;
        while (last + 1 < sweep->values.count && states[last + 1] == state) {
            last++;
        }
        if (states[first] == state) {
            gw_print("%s", begun ? " and" : "");
            print_run(sweep, first, last);
            begun = true;
            first = last;
        }
    }
    if (!begun) {
        gw_print(" nowhere");
    }
}

/* Prints the values at which each exchange is faster, and those between which that changes. */
static void print_faster(const struct gw_plan_sweep *sweep, int *states) {
    const struct {
        int state;
        const char *who;
    } sides[] = {{-1, gw_plan_sweep_exchange(sweep, 0)}, {1, "dense"}, {0, "neither"}};
    const char *before = ": ";
    for (size_t v = 0; v < sweep->values.count; v++) {
        states[v] = gw_plan_sweep_compare(sweep, v);
    }
    gw_print("\nfaster with its best plan");
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        bool has_any = false;
        for (size_t v = 0; v < sweep->values.count; v++) {
            has_any = has_any || states[v] == sides[i].state;
        }
        if (has_any) {
            gw_print("%s%s", before, sides[i].who);
            print_runs(sweep, states, sides[i].state);
            before = ", ";
        }
    }
    before = "; they cross between ";
    for (size_t v = 1; v < sweep->values.count; v++) {
        if (states[v] != states[v - 1]) {
            char texts[2][GW_UNITS_SIZE];
            gw_print("%s%s and %s", before, value_text(sweep, v - 1, texts[0]),
                     value_text(sweep, v, texts[1]));
            before = ", ";
        }
    }
    gw_print("\n");
}

/* Returns the policy's number; the policies' count if it is none of them. */
static size_t find_policy(const struct gw_plan_sweep *sweep, const char *policy) {
    size_t p = 0;
    while (p < sweep->policy_count && strcmp(sweep->policies[p], policy) != 0) {
        p++;
    }
    return p;
}

/* Prints the values at which the best plan saves time over the better of per-tensor and single. */
static void print_merging(const struct gw_plan_sweep *sweep, int *states) {
    static const double worth = 0.01;
    size_t apart = find_policy(sweep, "per-tensor");
    size_t merged = find_policy(sweep, "single");
    if (apart == sweep->policy_count || merged == sweep->policy_count) {
        return;
    }
    gw_print("\nmerging well saves %g%% or more of the better of per-tensor and single",
             100 * worth);
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        for (size_t v = 0; v < sweep->values.count; v++) {
            double plain_s = fmin(gw_plan_sweep_cell(sweep, e, apart, v)->iteration_s,
                                  gw_plan_sweep_cell(sweep, e, merged, v)->iteration_s);
            states[v] = plain_s > 0 && plain_s - best_s(sweep, e, v) >= worth * plain_s;
        }
        gw_print("%s%s", e == 0 ? ": " : ", ", gw_plan_sweep_exchange(sweep, e));
        print_runs(sweep, states, 1);
    }
    gw_print("\n");
}

static enum gw_status print_text(const struct gw_plan_sweep *sweep, struct gw_error *error) {
    int *states = calloc(sweep->values.count, sizeof *states);
    if (states == NULL) {
        return gw_fail_memory(error, "printing a sweep");
    }
    bool dense = sweep->exchange_count == 1 && strcmp(sweep->compressors[0], "none") == 0;
    gw_print_heading(sweep->scenario, dense ? "dense" : NULL, &sweep->values);
    print_best(sweep);
    for (size_t e = 0; e < sweep->exchange_count && sweep->policy_count > 1; e++) {
        print_policies(sweep, e);
    }
    if (sweep->exchange_count == GW_PLAN_SWEEP_EXCHANGES) {
        print_faster(sweep, states);
    }
    print_merging(sweep, states);
    gw_print_axis_notes(&sweep->notes, &sweep->values, SIZE_MAX);
    free(states);
    return GW_OK;
}

/* ---- document ------------------------------------------------------------------------------- */

static void write_plan(const struct gw_plan_sweep *sweep, size_t exchange, size_t policy,
                       size_t value, struct gw_json_writer *writer) {
    const struct gw_plan_cell *cell = gw_plan_sweep_cell(sweep, exchange, policy, value);
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "policy", sweep->policies[policy]);
    gw_writer_text(writer, "compressor", sweep->compressors[exchange]);
    gw_writer_number(writer, "groups", (double)cell->groups);
    gw_writer_number(writer, "iteration_s", cell->iteration_s);
    gw_writer_number(writer, "lower_bound_s", cell->lower_bound_s);
    gw_writer_end(writer);
}

static void write_rows(const struct gw_plan_sweep *sweep, struct gw_json_writer *writer) {
    gw_writer_array(writer, "rows");
    for (size_t v = 0; v < sweep->values.count; v++) {
        gw_writer_object(writer, NULL);
        gw_writer_number(writer, "value", sweep->values.values[v]);
        gw_writer_array(writer, "plans");
        for (size_t e = 0; e < sweep->exchange_count; e++) {
            for (size_t p = 0; p < sweep->policy_count; p++) {
                write_plan(sweep, e, p, v, writer);
            }
        }
        gw_writer_end(writer);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

/* The exchange that is faster with its best plan; null if neither is. */
static void write_faster(const struct gw_plan_sweep *sweep, size_t value, const char *key,
                         struct gw_json_writer *writer) {
    int order = gw_plan_sweep_compare(sweep, value);
    if (order == 0) {
        gw_writer_null(writer, key);
    } else {
        gw_writer_text(writer, key, sweep->compressors[order > 0]);
    }
}

/* The neighbouring values between which another exchange becomes the faster one. */
static void write_crossings(const struct gw_plan_sweep *sweep, struct gw_json_writer *writer) {
    gw_writer_array(writer, "crossings");
    for (size_t v = 1; v < sweep->values.count; v++) {
        if (gw_plan_sweep_compare(sweep, v) != gw_plan_sweep_compare(sweep, v - 1)) {
            gw_writer_object(writer, NULL);
            gw_writer_number(writer, "from", sweep->values.values[v - 1]);
            gw_writer_number(writer, "to", sweep->values.values[v]);
            write_faster(sweep, v - 1, "faster_at_from", writer);
            write_faster(sweep, v, "faster_at_to", writer);
            gw_writer_end(writer);
        }
    }
    gw_writer_end(writer);
}

static enum gw_status make_document(const struct gw_plan_sweep *sweep, cJSON **out,
                                    struct gw_error *error) {
    const struct gw_scenario *scenario = sweep->scenario;
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/sweep@1");
    gw_writer_text(&writer, "model", scenario->model->name);
    gw_writer_text(&writer, "cluster", scenario->cluster->name);
    if (!gw_axis_varies(&sweep->values, GW_AXIS_WORKERS)) {
        gw_writer_number(&writer, "workers", (double)scenario->workers);
    }
    if (!gw_axis_varies(&sweep->values, GW_AXIS_DENSITY)) {
        gw_writer_number(&writer, "density", scenario->density);
    }
    gw_writer_text(&writer, "parameter", sweep->values.kind->name);
    write_rows(sweep, &writer);
    if (sweep->exchange_count == GW_PLAN_SWEEP_EXCHANGES) {
        write_crossings(sweep, &writer);
    }
    if (sweep->notes.count > 0) {
        gw_writer_array(&writer, "notes");
        gw_write_axis_notes(&sweep->notes, &sweep->values, &writer);
        gw_writer_end(&writer);
    }
    return gw_writer_finish(&writer, out, error);
}

static enum gw_status write_document(const struct gw_plan_sweep *sweep, const char *path,
                                     struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(make_document(sweep, &document, error));
    return gw_save_document(document, path, error);
}

enum gw_status gw_plan_sweep_print(const struct gw_plan_sweep *sweep, bool json,
                                   struct gw_error *error) {
    cJSON *document = NULL;
    if (!json) {
        return print_text(sweep, error);
    }
    GW_TRY(make_document(sweep, &document, error));
    return gw_print_document(document, error);
}

/* ---- table --------------------------------------------------------------------------------- */

static void print_rows(const struct gw_plan_sweep *sweep, FILE *stream) {
    (void)fputs("value,policy,compressor,groups,iteration_s\n", stream);
    size_t rows = sweep->exchange_count * sweep->policy_count;
    for (size_t i = 0; i < sweep->values.count * rows; i++) {
        size_t value = i / rows;
        size_t exchange = i % rows / sweep->policy_count;
        size_t policy = i % sweep->policy_count;
        const struct gw_plan_cell *cell = gw_plan_sweep_cell(sweep, exchange, policy, value);
        gw_csv_number(stream, sweep->values.values[value]);
        (void)fprintf(stream, ",%s,", sweep->policies[policy]);
        gw_csv_text(stream, sweep->compressors[exchange]);
        (void)fprintf(stream, ",%zu,", cell->groups);
        gw_csv_number(stream, cell->iteration_s);
        (void)fputc('\n', stream);
    }
}

static enum gw_status write_table(const struct gw_plan_sweep *sweep, const char *path,
                                  struct gw_error *error) {
    struct gw_text table;
    FILE *stream = gw_text_open(&table);
    if (stream != NULL) {
        print_rows(sweep, stream);
    }
    GW_TRY(gw_text_close(&table, "writing a table", error));
    enum gw_status status = gw_file_write(path, table.text, table.length, error);
    free(table.text);
    return status;
}

/* ---- picture ------------------------------------------------------------------------------- */

/*
 * Policies that are drawn, as more lines cannot be told apart: the optimum, those of the papers and
 * of PyTorch, per-tensor and single. Each line of an exchange is one policy.
 */
static const char *const drawn_policies[] = {"optimal", "omgs", "ddp", "per-tensor", "single"};
enum { MOST_LINES = GW_PLAN_SWEEP_EXCHANGES * (sizeof drawn_policies / sizeof *drawn_policies) };

struct plotted_lines {
    size_t count;
    struct gw_line lines[MOST_LINES];
    char labels[MOST_LINES][2 * LABEL_SIZE + GW_POLICY_TEXT_SIZE];
};

static void add_line(const struct gw_plan_sweep *sweep, size_t exchange, size_t policy,
                     size_t colour, double *times_s, struct plotted_lines *lines) {
    char *label = lines->labels[lines->count];
    snprintf(label, sizeof lines->labels[0], "%s (%.*s)", sweep->policies[policy], LABEL_SIZE,
             gw_plan_sweep_exchange(sweep, exchange));
    for (size_t v = 0; v < sweep->values.count; v++) {
        times_s[v] = gw_plan_sweep_cell(sweep, exchange, policy, v)->iteration_s;
    }
    lines->lines[lines->count++] =
        (struct gw_line){.label = label,
                         .colour = colour,
                         .dashed = strcmp(sweep->compressors[exchange], "none") == 0,
                         .heights = times_s};
}

/* `times_s` has room for all lines. */
static void add_lines(const struct gw_plan_sweep *sweep, size_t exchange, double *times_s,
                      struct plotted_lines *lines) {
    size_t colours = sizeof drawn_policies / sizeof *drawn_policies;
    for (size_t c = 0; c < colours; c++) {
        for (size_t p = 0; p < sweep->policy_count; p++) {
            bool wanted = sweep->policy_count == 1
                              ? c == 0
                              : strcmp(sweep->policies[p], drawn_policies[c]) == 0;
            if (wanted) {
                add_line(sweep, exchange, p, c, &times_s[lines->count * sweep->values.count],
                         lines);
            }
        }
    }
}

static enum gw_status draw_plan_sweep(const struct gw_plan_sweep *sweep, const char *path,
                                      struct gw_error *error) {
    struct plotted_lines lines = {0};
    double *times_s = calloc(MOST_LINES * sweep->values.count, sizeof *times_s);
    if (times_s == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        add_lines(sweep, e, times_s, &lines);
    }
    char title[GW_TITLE_SIZE];
    struct gw_line_chart chart = {
        .title = gw_picture_title(sweep->scenario, &sweep->values, "predicted", title),
        .axis = sweep->values.own_bit_per_s > 0 ? "bandwidth (bit/s)" : sweep->values.kind->label,
        .height_axis = "iteration time (ms)",
        .unit = 1e-3,
        .value_count = sweep->values.count,
        .values = sweep->values.values,
        .line_count = lines.count,
        .lines = lines.lines};
    enum gw_status status = gw_chart_lines(&chart, path, NULL, error);
    free(times_s);
    return status;
}

/* ---- by the name's end --------------------------------------------------------------------- */

static const struct {
    const char *ending;
    enum gw_status (*write)(const struct gw_plan_sweep *sweep, const char *path,
                            struct gw_error *error);
} formats[] = {{".csv", write_table},
               {".json", write_document},
               {".png", draw_plan_sweep},
               {".svg", draw_plan_sweep},
               {".pdf", draw_plan_sweep}};
enum { FORMATS = sizeof formats / sizeof *formats };

static size_t find_output_format(const char *path) {
    const char *dot = strrchr(path, '.');
    size_t i = 0;
    while (i < FORMATS && (dot == NULL || strcmp(dot, formats[i].ending) != 0)) {
        i++;
    }
    return i;
}

enum gw_status gw_plan_sweep_check_out(const char *path, struct gw_error *error) {
    if (find_output_format(path) == FORMATS) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected the name of a sweep's table (.csv), document (.json) or "
                       "picture (.png, .svg or .pdf)",
                       path);
    }
    return gw_file_check_target(path, NULL, error);
}

enum gw_status gw_plan_sweep_write(const struct gw_plan_sweep *sweep, const char *path,
                                   struct gw_error *error) {
    return formats[find_output_format(path)].write(sweep, path, error);
}
