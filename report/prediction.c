/* Prints a predicted iteration: its parts, its interval, the sources of its uncertainty. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "report/report.h"

static void print_part(struct gw_table *table, const char *name, double seconds, double whole) {
    gw_table_cells(table, "%s\t%s\t%.1f%%", name, GW_SECONDS(seconds),
                   whole > 0 ? 100 * seconds / whole : 0);
}

static void print_spread(const struct gw_spread *spread) {
    gw_print(
        "\nmean of %zu iterations, standard deviation %s; 95%% interval of the mean %s to %s\n\n",
        spread->count, GW_SECONDS(spread->sd), GW_SECONDS(spread->mean_low),
        GW_SECONDS(spread->mean_high));
    struct gw_table *table =
        gw_table_open("rrrrrrrr", "min\t5%%\t25%%\t50%%\t75%%\t95%%\t99%%\tmax");
    gw_table_cells(table, "%s", GW_SECONDS(spread->minimum));
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        gw_table_cells(table, "%s", GW_SECONDS(spread->percentiles[i]));
    }
    gw_table_cells(table, "%s", GW_SECONDS(spread->maximum));
    gw_table_print_and_close(table);
}

enum { MOST_CURVES = 3 }; /* the number of main uncertainties that are printed */

/* Returns the width that the uncertainty adds to the iteration's interval; infinite if unknown. */
static double adds_s(const struct gw_result_uncertainty *uncertainty) {
    return isnan(uncertainty->relative) ? INFINITY : fabs(uncertainty->high_s - uncertainty->low_s);
}

static int compare_added(const void *a, const void *b) {
    double first_s = adds_s(a);
    double second_s = adds_s(b);
    return (first_s < second_s) - (first_s > second_s);
}

const char *gw_format_uncertainty(const struct gw_result_uncertainty *uncertainty, int decimals,
                                  char out[GW_UNITS_SIZE]) {
    return gw_uncertainty_only_lengthens(uncertainty)
               ? gw_format_percent(uncertainty->relative, out)
               : gw_format_margin(uncertainty->relative, decimals, out);
}

/* Prints the iteration's interval and its main uncertainties. */
static void print_interval(const struct gw_result *result) {
    struct gw_result sorted = *result;
    if (result->uncertainty_count == 0) {
        return;
    }
    if (gw_result_is_unknown(result)) {
        gw_print("\nhow far off the iteration is, is not known, as of");
    } else {
        gw_print("\niteration %s to %s in 95%% of cases, as uncertain as",
                 GW_SECONDS(result->iteration_low_s), GW_SECONDS(result->iteration_high_s));
    }
    qsort(sorted.uncertainties, sorted.uncertainty_count, sizeof *sorted.uncertainties,
          compare_added);
    for (size_t i = 0; i < sorted.uncertainty_count && i < MOST_CURVES; i++) {
        const struct gw_result_uncertainty *uncertainty = &sorted.uncertainties[i];
        gw_print("%s %s", i == 0 ? "" : ",", uncertainty->name);
        if (!isnan(uncertainty->relative)) {
            char off[GW_UNITS_SIZE];
            gw_print(" %s", gw_format_uncertainty(uncertainty, 1, off));
        }
    }
    gw_print("\n");
}

static void print_text(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                       const struct gw_result *result) {
    char changed[GW_CHANGES_SIZE];
    gw_print_heading(scenario, gw_algorithm_sends(algorithm), NULL);
    struct gw_table *table = gw_table_open("lrr", "part\ttime\tshare");
    const struct gw_breakdown *parts = &result->breakdown;
    print_part(table, "forward", parts->forward_s, result->iteration_s);
    print_part(table, "backward", parts->backward_s, result->iteration_s);
    print_part(table, "compression", parts->compress_s, result->iteration_s);
    print_part(table, "exposed communication", parts->exposed_comm_s, result->iteration_s);
    print_part(table, "other", parts->other_s, result->iteration_s);
    print_part(table, "iteration", result->iteration_s, result->iteration_s);
    gw_table_print_and_close(table);
    print_interval(result);
    if (result->iterations > 1) {
        print_spread(&result->spread);
    }
    gw_print("\n%s%s: %s", result->algorithm, gw_result_changes_text(result, changed),
             GW_COUNTED(result->groups, "group"));
    gw_print(", %s from each worker", GW_BYTES(result->bytes_per_worker));
    gw_print(", network busy %s\n", GW_SECONDS(result->comm_s));
    bool depends = gw_counts_depend_on_data(algorithm->compressor);
    if (depends || (result->counts[0] != '\0' && strcmp(result->counts, "as asked") != 0)) {
        gw_print("counts %s", result->counts);
        if (result->padding > 0) {
            gw_print(": padding x %.3f", result->padding);
        }
        if (result->actual_density > 0) {
            gw_print(", actual density %.4g, %.4g times as asked", result->actual_density,
                     result->actual_density / result->density);
        }
        gw_print("\n");
    }
    gw_print_result_notes(result);
}

enum gw_status gw_print_prediction(const struct gw_scenario *scenario,
                                   const struct gw_algorithm *algorithm,
                                   const struct gw_result *result, bool json,
                                   struct gw_error *error) {
    if (!json) {
        print_text(scenario, algorithm, result);
        return GW_OK;
    }
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_result_write(result, &writer);
    return gw_print_written(&writer, error);
}

/* ---- GOAL schedules -------------------------------------------------------------------------- */

static enum gw_status print_goal_json(const struct gw_goal_answer *answer, struct gw_error *error) {
    const struct gw_goal_result *result = &answer->result;
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/goal-result@1");
    gw_writer_array(&writer, "finish_ns");
    for (uint32_t rank = 0; rank < answer->goal.rank_count; rank++) {
        gw_writer_number(&writer, NULL, (double)result->finish_ns[rank]);
    }
    gw_writer_end(&writer);
    gw_writer_number(&writer, "events", (double)result->events);
    gw_writer_number(&writer, "wall_s", result->wall_s);
    gw_writer_text(&writer, "loggp", answer->loggp);
    gw_writer_text(&writer, "loggp_source", answer->loggp_source);
    return gw_print_written(&writer, error);
}

static void print_goal_table(const struct gw_goal_answer *answer) {
    enum { SHOWN = 16 };
    const struct gw_goal *goal = &answer->goal;
    const struct gw_goal_result *result = &answer->result;
    uint32_t last = 0;
    for (uint32_t rank = 1; rank < goal->rank_count; rank++) {
        last = result->finish_ns[rank] > result->finish_ns[last] ? rank : last;
    }
    gw_print("%s: %u ranks, %u operations\n", answer->path, goal->rank_count,
             goal->operation_count);
    gw_print("LogGOPS parameters %s, %s\n\n", answer->loggp,
             strcmp(answer->loggp_source, "option") == 0 ? "as given, 0 for the others"
             : strcmp(answer->loggp_source, "file") == 0
                 ? "which the schedule names"
                 : "LogGOPSim's own, as the schedule names none (--loggp)");
    if (goal->rank_count <= SHOWN) {
        struct gw_table *table = gw_table_open("rr", "rank\tfinishes");
        for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
            gw_table_cells(table, "%u\t%s", rank,
                           GW_SECONDS((double)result->finish_ns[rank] * 1e-9));
        }
        gw_table_print_and_close(table);
        gw_print("\n");
    }
    gw_print("the last rank, %u, finishes at %s\n", last,
             GW_SECONDS((double)result->finish_ns[last] * 1e-9));
    gw_print("%llu events", (unsigned long long)result->events);
    gw_print(" in %s", GW_SECONDS(result->wall_s));
    gw_print(" (%.1f million per second), read in %s\n",
             (double)result->events / (result->wall_s > 0 ? result->wall_s : 1e-9) / 1e6,
             GW_SECONDS(answer->read_s));
}

enum gw_status gw_print_goal(const struct gw_goal_answer *answer, bool json,
                             struct gw_error *error) {
    if (json) {
        return print_goal_json(answer, error);
    }
    print_goal_table(answer);
    return GW_OK;
}

enum gw_status gw_print_export(const struct gw_goal_export *export, bool json,
                               struct gw_error *error) {
    char changed[GW_CHANGES_SIZE];
    const struct gw_choice_changes *changes = &export->changes;
    if (!json) {
        gw_print("%s: %s%s, %s; for --loggp %s\n", export->path, export->algorithm,
                 gw_changes_text(changes, changed), GW_COUNTED(export->scenario->workers, "worker"),
                 export->loggp);
        gw_print_result_notes(&export->notes);
        return GW_OK;
    }
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/export@1");
    gw_writer_text(&writer, "file", export->path);
    gw_writer_text(&writer, "algorithm", export->algorithm);
    gw_writer_changes(&writer, changes->policy, changes->compressor, changes->exchange);
    gw_writer_number(&writer, "workers", (double)export->scenario->workers);
    gw_writer_text(&writer, "loggp", export->loggp);
    gw_result_write_notes(&export->notes, &writer);
    return gw_print_written(&writer, error);
}
