/* Prints and writes the parts of a validation's error. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>

enum { LARGEST = 10 };

static const char *const side_names[GW_SIDES] = {"predicted", "measured"};

static size_t count_largest(const struct gw_difference *difference) {
    return difference->contributing < LARGEST ? difference->contributing : LARGEST;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Adds a cell such as "+1.2 ms". */
static void add_signed(struct gw_table *table, double seconds) {
    gw_table_cells(table, "%s%s", seconds < 0 ? "-" : "+", GW_SECONDS(fabs(seconds)));
}

static void add_share(struct gw_table *table, const struct gw_difference *difference,
                      double seconds) {
    double whole_s = gw_difference_s(difference);
    if (whole_s == 0) {
        gw_table_cells(table, "%s", "");
    } else {
        gw_table_cells(table, "%.0f%%", 100 * seconds / whole_s);
    }
}

static void print_difference_heading(const struct gw_difference *difference,
                                     const char *algorithm) {
    char times[GW_SIDES][GW_UNITS_SIZE];
    double whole_s = gw_difference_s(difference);
    for (int side = 0; side < GW_SIDES; side++) {
        gw_format_seconds(difference->iteration_s[side], times[side]);
    }
    gw_print("\n%s explained: measured %s, predicted %s: %s %s, along the %s critical path (means "
             "of %s)\n\n",
             algorithm, times[GW_MEASURED], times[GW_PREDICTED], GW_SECONDS(fabs(whole_s)),
             whole_s < 0 ? "less" : "more", side_names[difference->path],
             GW_COUNTED(difference->iterations, "iteration"));
}

static void add_operation(struct gw_table *table, const struct gw_difference *difference,
                          size_t number) {
    const struct gw_operation *operation = &difference->schedule->operations[number];
    const struct gw_operation_difference *own = &difference->operations[number];
    gw_table_cells(table, "%s\t%s %s", gw_stream_name(operation->stream),
                   gw_activity_name(operation->kind), operation->label);
    if (operation->group == GW_NO_GROUP) {
        gw_table_cells(table, "%s", "");
    } else {
        gw_table_cells(table, "%u", operation->group);
    }
    gw_table_cells(table, "%zu", own->worst_worker);
    for (int side = 0; side < GW_SIDES; side++) {
        gw_table_cells(table, "%s", GW_SECONDS(own->takes[side].duration_s));
    }
    gw_table_cells(table, "%s\t%.0f%%", GW_SECONDS(own->takes[GW_MEASURED].wait_s),
                   100 * own->on_path);
    add_signed(table, own->contribution_s);
    add_share(table, difference, own->contribution_s);
    gw_table_cells(table, "%s%s%s", own->parameter, own->detail[0] == '\0' ? "" : " ", own->detail);
}

/* Adds a row for `seconds` of the difference; `operations`: count of operations, or "". */
static void add_sum(struct gw_table *table, const struct gw_difference *difference,
                    const char *what, const char *operations, double seconds) {
    gw_table_cells(table, "%s\t%s", what, operations);
    add_signed(table, seconds);
    add_share(table, difference, seconds);
}

/* Prints a table of all parameters and remainders; its rows add up to the difference. */
static void print_parameters(const struct gw_difference *difference) {
    struct gw_table *table = gw_table_open("lrrr", "what it hangs on\toperations\tadds\tshare");
    for (size_t i = 0; i < difference->parameter_count; i++) {
        const struct gw_parameter_difference *parameter = &difference->parameters[i];
        if (parameter->operations > 0) {
            char number[GW_UNITS_SIZE];
            gw_format_count((double)parameter->operations, number);
            add_sum(table, difference, parameter->parameter, number, parameter->contribution_s);
        }
    }
    add_sum(table, difference, "waits, for which no entry stands", "", difference->waited_s);
    add_sum(table, difference,
            difference->path == GW_MEASURED ? "slack of the predicted path"
                                            : "measured operations beside the path",
            "", difference->elsewhere_s);
    add_sum(table, difference, "together", "", gw_difference_s(difference));
    gw_table_print_and_close(table);
}

void gw_difference_print(const struct gw_difference *difference, const char *algorithm) {
    print_difference_heading(difference, algorithm);
    if (difference->contributing > 0) {
        struct gw_table *table = gw_table_open(
            "llrrrrrrrrl", "stream\toperation\tgroup\tworker\tpredicted\tmeasured\twait\t"
                           "on path\tadds\tshare\thangs on");
        for (size_t i = 0; i < count_largest(difference); i++) {
            add_operation(table, difference, difference->largest[i]);
        }
        gw_table_print_and_close(table);
        gw_print("\n");
    }
    print_parameters(difference);
}

/* ---- document -------------------------------------------------------------------------------- */

static void write_period(struct gw_json_writer *writer, const char *key, struct gw_period period) {
    const double ends[] = {period.start_s, period.end_s};
    gw_writer_numbers(writer, key, ends, 2);
}

static void write_operation(struct gw_json_writer *writer, const struct gw_difference *difference,
                            size_t number) {
    const struct gw_operation *operation = &difference->schedule->operations[number];
    const struct gw_operation_difference *own = &difference->operations[number];
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "stream", gw_stream_name(operation->stream));
    gw_writer_text(writer, "activity", gw_activity_name(operation->kind));
    gw_writer_text(writer, "label", operation->label);
    if (operation->group != GW_NO_GROUP) {
        gw_writer_number(writer, "group", operation->group);
    }
    gw_writer_text(writer, "parameter", own->parameter);
    gw_writer_text(writer, "detail", own->detail);
    gw_writer_number(writer, "worst_worker", (double)own->worst_worker);
    gw_writer_number(writer, "predicted_s", own->takes[GW_PREDICTED].duration_s);
    gw_writer_number(writer, "measured_s", own->takes[GW_MEASURED].duration_s);
    gw_writer_number(writer, "predicted_wait_s", own->takes[GW_PREDICTED].wait_s);
    gw_writer_number(writer, "measured_wait_s", own->takes[GW_MEASURED].wait_s);
    gw_writer_number(writer, "on_path", own->on_path);
    gw_writer_number(writer, "contribution_s", own->contribution_s);
    write_period(writer, "shown_predicted_s", own->shown[GW_PREDICTED]);
    write_period(writer, "shown_measured_s", own->shown[GW_MEASURED]);
    gw_writer_flag(writer, "on_predicted_path", own->shown_on_path[GW_PREDICTED]);
    gw_writer_flag(writer, "on_measured_path", own->shown_on_path[GW_MEASURED]);
    gw_writer_end(writer);
}

static void write_parameters(struct gw_json_writer *writer,
                             const struct gw_difference *difference) {
    gw_writer_array(writer, "parameters");
    for (size_t i = 0; i < difference->parameter_count; i++) {
        const struct gw_parameter_difference *parameter = &difference->parameters[i];
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "parameter", parameter->parameter);
        gw_writer_number(writer, "operations", (double)parameter->operations);
        gw_writer_number(writer, "contribution_s", parameter->contribution_s);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

void gw_difference_write(const struct gw_difference *difference, struct gw_json_writer *writer) {
    gw_writer_object(writer, "explanation");
    gw_writer_text(writer, "path", side_names[difference->path]);
    gw_writer_number(writer, "difference_s", gw_difference_s(difference));
    gw_writer_number(writer, "waited_s", difference->waited_s);
    gw_writer_number(writer, "elsewhere_s", difference->elsewhere_s);
    write_parameters(writer, difference);
    gw_writer_array(writer, "largest");
    for (size_t i = 0; i < count_largest(difference); i++) {
        gw_writer_number(writer, NULL, (double)difference->largest[i]);
    }
    gw_writer_end(writer);
    gw_writer_object(writer, "shown");
    gw_writer_number(writer, "iteration", (double)difference->shown_iteration);
    gw_writer_number(writer, "worker", (double)difference->shown_worker);
    gw_writer_number(writer, "predicted_s", difference->shown_s[GW_PREDICTED]);
    gw_writer_number(writer, "measured_s", difference->shown_s[GW_MEASURED]);
    gw_writer_end(writer);
    gw_writer_array(writer, "operations");
    for (size_t i = 0; i < difference->schedule->operation_count; i++) {
        write_operation(writer, difference, i);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}
