/* Predictions beside measurements: a table, and the document "gradweave/validation@1". */
#include <math.h>
#include <string.h>

#include "report/report.h"

/* ---- percentiles ----------------------------------------------------------------------------- */

static const int ranks[] = {50, 95, 99};
enum { RANKS = sizeof ranks / sizeof *ranks };

/* Writes "iteration_percentiles_s": {"50": ..}, where enough iterations were observed. */
static void write_percentiles(struct gw_json_writer *writer, const struct gw_spread *spread,
                              size_t observed) {
    if (observed < gw_percentile_least(ranks[0])) {
        return;
    }
    gw_writer_object(writer, "iteration_percentiles_s");
    for (size_t i = 0; i < RANKS; i++) {
        double percentile_s = gw_spread_percentile(spread, observed, ranks[i]);
        char rank[16];
        (void)snprintf(rank, sizeof rank, "%d", ranks[i]);
        if (percentile_s > 0) {
            gw_writer_number(writer, rank, percentile_s);
        }
    }
    gw_writer_end(writer);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_device(const struct gw_validation_device *device) {
    if (device == NULL) {
        return;
    }
    gw_print("on %s; data travels by %s; computing is %s%s\n", device->gpu, device->transport,
             device->cublas == NULL ? "a kernel that waits" : "products of matrices by cuBLAS ",
             device->cublas == NULL ? "" : device->cublas);
    if (device->ranks_on_one > 1) {
        gw_print("%zu ranks share a GPU, which runs their kernels one after the other: all are "
                 "slower than with a GPU each\n",
                 device->ranks_on_one);
    }
    gw_print("\n");
}

/* Adds a row of the figures; `error`: the prediction's, or "". */
static void add_row(struct gw_table *table, const char *algorithm, const char *what,
                    const struct gw_result *result, const char *error) {
    const struct gw_breakdown *parts = &result->breakdown;
    gw_table_cells(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", algorithm, what,
                   GW_SECONDS(result->iteration_s), GW_SECONDS(parts->forward_s),
                   GW_SECONDS(parts->backward_s), GW_SECONDS(parts->compress_s),
                   GW_SECONDS(parts->exposed_comm_s), GW_SECONDS(parts->other_s),
                   GW_BYTES(result->bytes_per_worker), error);
}

/* Prints ", settled in 41 iterations of compression alone (1.2 s)". */
static void print_warm_up(const struct gw_warmed_up *warmed_up) {
    if (warmed_up->iterations == 0) {
        gw_print(", not settled before\n");
        return;
    }
    gw_print(", %s %s of compression alone (%s)",
             warmed_up->reached ? "settled in" : "not settled after",
             GW_COUNTED(warmed_up->iterations, "iteration"), GW_SECONDS(warmed_up->seconds));
    if (!warmed_up->reached) {
        gw_print(", %.3g in the last", warmed_up->ratio);
    }
    gw_print("\n");
}

/* Prints the predicted and the measured counts of pipelines whose counts depend on gradients. */
static void print_counts(const struct gw_validation *validation) {
    bool begun = false;
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_validation_pair *pair = &validation->pairs[i];
        if (!pair->counts_depend_on_data) {
            continue;
        }
        if (!begun) {
            gw_print("\n");
        }
        gw_print("%s: predicted with counts %s; measured %.3g times as much as asked",
                 pair->predicted.algorithm, pair->predicted.counts,
                 gw_validation_pair_selected_ratio(pair));
        print_warm_up(&pair->warmed_up);
        begun = true;
    }
}

/* Prints the pipelines whose choices were changed. */
static void print_changed(const struct gw_validation *validation) {
    bool begun = false;
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_result *result = &validation->pairs[i].predicted;
        char changed[GW_CHANGES_SIZE];
        if (gw_result_changes_text(result, changed)[0] != '\0') {
            if (!begun) {
                gw_print("\n");
            }
            gw_print("%s%s\n", result->algorithm, changed);
            begun = true;
        }
    }
}

static bool is_beyond(const struct gw_validation *validation, size_t pair) {
    return fabs(validation->pairs[pair].error) > validation->tolerance;
}

/* Prints percentiles of measured iterations if there are enough for the 95th. */
static void print_percentiles(const struct gw_validation *validation) {
    if (validation->iterations < gw_percentile_least(95)) {
        return;
    }
    gw_print("\n");
    struct gw_table *table = gw_table_open("llrrr", "algorithm\t\t50%%\t95%%\t99%%");
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_spread *spread = &validation->pairs[i].measured.spread;
        gw_table_cells(table, "%s\tmeasured", validation->pairs[i].predicted.algorithm);
        for (size_t r = 0; r < RANKS; r++) {
            double percentile_s = gw_spread_percentile(spread, spread->count, ranks[r]);
            gw_table_cells(table, "%s", percentile_s > 0 ? GW_SECONDS(percentile_s) : "");
        }
    }
    gw_table_print_and_close(table);
}

static void print_errors(const struct gw_validation *validation) {
    size_t fewest = validation->iterations;
    for (size_t i = 0; i < validation->count; i++) {
        size_t measured = validation->pairs[i].iterations;
        fewest = measured < fewest ? measured : fewest;
    }
    gw_print("\nmeasured: means of ");
    if (fewest < validation->iterations) {
        gw_print("%zu to ", fewest);
    }
    gw_print(
        "%s; mean error %.1f%%, largest %.1f%%\n", GW_COUNTED(validation->iterations, "iteration"),
        100 * gw_validation_mean_error(validation), 100 * gw_validation_largest_error(validation));
}

/* Prints how many measurements lie within their predictions' 95% intervals. */
static void print_intervals(const struct gw_validation *validation) {
    size_t known = 0;
    size_t inside = 0;
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_result *predicted = &validation->pairs[i].predicted;
        double measured_s = validation->pairs[i].measured.iteration_s;
        bool has = predicted->iteration_high_s > 0;
        known += has;
        inside += has && predicted->iteration_low_s <= measured_s &&
                  measured_s <= predicted->iteration_high_s;
    }
    if (known > 0) {
        gw_print("%zu of %zu are within their predictions' 95%% intervals\n", inside, known);
    }
}

/* Prints the reason for the exit status: "beyond --tolerance 0.1: omgs +23.1%". */
static void print_verdict(const struct gw_validation *validation) {
    const char *before = "";
    if (isinf(validation->tolerance)) {
        return;
    }
    if (gw_validation_largest_error(validation) <= validation->tolerance) {
        gw_print("all within --tolerance %g\n", validation->tolerance);
        return;
    }
    gw_print("beyond --tolerance %g: ", validation->tolerance);
    for (size_t i = 0; i < validation->count; i++) {
        char error[GW_UNITS_SIZE];
        if (is_beyond(validation, i)) {
            gw_print("%s%s %s", before, validation->pairs[i].predicted.algorithm,
                     gw_format_percent(validation->pairs[i].error, error));
            before = ", ";
        }
    }
    gw_print("; exit status 1\n");
}

/* Prints the doubts about the whole validation ahead of the figures. */
static void print_text(const struct gw_validation *validation) {
    struct gw_result all = {0};
    const char *sends = "dense";
    for (size_t i = 0; i < validation->count && sends != NULL; i++) {
        const char *one = gw_algorithm_sends(validation->pairs[i].pipeline.scenario.method);
        sends = one == NULL || strcmp(one, GW_MIXED) == 0 ? one : sends;
    }
    gw_print_heading(&validation->scenario, sends, NULL);
    print_device(validation->device);
    if (validation->timed_compression) {
        gw_print("compression is timed waiting, as long as its curves say\n\n");
    }
    for (size_t i = 0; i < validation->doubt_count; i++) {
        gw_print_wrapped("note: ", validation->doubts[i], gw_terminal_width());
        gw_print("\n");
    }
    struct gw_table *table = gw_table_open(
        "llrrrrrrrr",
        "algorithm\t\titeration\tforward\tbackward\tcompression\texposed\tother\tbytes\terror");
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_validation_pair *pair = &validation->pairs[i];
        add_row(table, pair->predicted.algorithm, "predicted", &pair->predicted,
                GW_PERCENT(pair->error));
        add_row(table, "", "measured", &pair->measured, "");
        gw_result_collect(&all, &pair->predicted);
    }
    gw_table_print_and_close(table);
    print_percentiles(validation);
    print_changed(validation);
    print_counts(validation);
    for (size_t i = 0; i < validation->infeasible_count; i++) {
        if (i == 0) {
            gw_print("\n");
        }
        gw_print("%s: left out: %s\n", validation->infeasible[i].algorithm,
                 validation->infeasible[i].why.message);
    }
    print_errors(validation);
    print_intervals(validation);
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_result *measured = &validation->pairs[i].measured;
        const struct gw_disturbance *disturbance = &measured->disturbance;
        if (gw_is_disturbed(disturbance)) {
            gw_print("%s was disturbed: meanwhile other processes took %.0f%% of a machine's "
                     "processors, and other virtual machines %.0f%%\n",
                     measured->algorithm, 100 * disturbance->others, 100 * disturbance->stolen);
        }
    }
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_validation_pair *pair = &validation->pairs[i];
        if (pair->difference != NULL) {
            gw_difference_print(pair->difference, pair->predicted.algorithm);
        }
    }
    print_verdict(validation);
    gw_print_collected_notes(&all);
}

/* ---- document -------------------------------------------------------------------------------- */

/* Writes the object `key` with the result's times; `counts`: also the origin of its counts. */
static void write_side(struct gw_json_writer *writer, const char *key,
                       const struct gw_validation_pair *pair, const struct gw_result *result,
                       size_t observed, bool counts) {
    gw_writer_object(writer, key);
    gw_result_write_times(result, writer);
    gw_writer_number(writer, "bytes_per_worker", result->bytes_per_worker);
    if (result->iterations <= 1) {
        gw_writer_number(writer, "iteration_sd_s", result->iteration_sd_s);
    }
    write_percentiles(writer, &result->spread, observed);
    if (gw_is_disturbed(&result->disturbance)) {
        gw_writer_object(writer, "disturbance");
        gw_writer_number(writer, "stolen", result->disturbance.stolen);
        gw_writer_number(writer, "others", result->disturbance.others);
        gw_writer_end(writer);
    }
    gw_result_write_uncertainty(result, writer);
    if (counts) {
        gw_result_write_counts(result, writer);
    } else if (pair->counts_depend_on_data) {
        gw_writer_number(writer, "selected_ratio", gw_validation_pair_selected_ratio(pair));
    }
    gw_writer_end(writer);
}

static void write_pair(struct gw_json_writer *writer, const struct gw_validation *validation,
                       const struct gw_validation_pair *pair) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "algorithm", pair->predicted.algorithm);
    gw_writer_changes(writer, pair->predicted.policy, pair->predicted.compressor,
                      pair->predicted.exchange);
    gw_writer_number(writer, "groups", (double)pair->predicted.groups);
    gw_writer_number(writer, "iterations", (double)pair->iterations);
    write_side(writer, "predicted", pair, &pair->predicted, gw_noise_iterations(&validation->noise),
               true);
    write_side(writer, "measured", pair, &pair->measured, pair->measured.spread.count, false);
    if (pair->counts_depend_on_data) {
        gw_writer_object(writer, "settling");
        gw_writer_number(writer, "iterations", (double)pair->warmed_up.iterations);
        gw_writer_number(writer, "settling_s", pair->warmed_up.seconds);
        if (pair->warmed_up.iterations > 0) {
            gw_writer_number(writer, "selected_ratio", pair->warmed_up.ratio);
        }
        gw_writer_flag(writer, "settled", pair->warmed_up.reached);
        gw_writer_end(writer);
    }
    gw_writer_number(writer, "error", pair->error);
    if (pair->difference != NULL) {
        gw_difference_write(pair->difference, writer);
    }
    gw_writer_end(writer);
}

static void write_device(struct gw_json_writer *writer, const struct gw_validation_device *device) {
    if (device == NULL) {
        return;
    }
    gw_writer_object(writer, "device");
    gw_writer_text(writer, "gpu", device->gpu);
    gw_writer_text(writer, "transport", device->transport);
    gw_writer_text(writer, "compute", device->compute);
    if (device->cublas != NULL) {
        gw_writer_text(writer, "cublas", device->cublas);
    }
    gw_writer_number(writer, "ranks_on_one_gpu", (double)device->ranks_on_one);
    gw_writer_end(writer);
}

static void write_verdict(struct gw_json_writer *writer, const struct gw_validation *validation) {
    if (isinf(validation->tolerance)) {
        return;
    }
    gw_writer_number(writer, "tolerance", validation->tolerance);
    gw_writer_array(writer, "beyond_tolerance");
    for (size_t i = 0; i < validation->count; i++) {
        if (is_beyond(validation, i)) {
            gw_writer_text(writer, NULL, validation->pairs[i].predicted.algorithm);
        }
    }
    gw_writer_end(writer);
}

static void write_unpredicted(struct gw_json_writer *writer,
                              const struct gw_validation *validation) {
    if (validation->unpredicted_count == 0) {
        return;
    }
    gw_writer_array(writer, "unpredicted");
    for (size_t i = 0; i < validation->unpredicted_count; i++) {
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "name", validation->unpredicted[i].name);
        gw_writer_number(writer, "iteration_s", validation->unpredicted[i].iteration_s);
        write_percentiles(writer, &validation->unpredicted[i].spread,
                          validation->unpredicted[i].spread.count);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static enum gw_status make_document(const struct gw_validation *validation, cJSON **out,
                                    struct gw_error *error) {
    const struct gw_scenario *scenario = &validation->scenario;
    struct gw_result all = {0};
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/validation@1");
    gw_writer_text(&writer, "model", scenario->model->name);
    gw_writer_text(&writer, "cluster", scenario->cluster->name);
    gw_writer_number(&writer, "workers", (double)scenario->workers);
    gw_writer_number(&writer, "density", scenario->density);
    gw_writer_number(&writer, "iterations", (double)validation->iterations);
    if (gw_noise_iterations(&validation->noise) > 0) {
        gw_writer_number(&writer, "noise_iterations",
                         (double)gw_noise_iterations(&validation->noise));
    }
    write_device(&writer, validation->device);
    if (validation->timed_compression) {
        gw_writer_text(&writer, "compression", "timed");
    }
    gw_writer_flag(&writer, "complete", true);
    gw_writer_array(&writer, "results");
    for (size_t i = 0; i < validation->count; i++) {
        write_pair(&writer, validation, &validation->pairs[i]);
        gw_result_collect(&all, &validation->pairs[i].predicted);
    }
    gw_writer_end(&writer);
    gw_writer_array(&writer, "infeasible");
    for (size_t i = 0; i < validation->infeasible_count; i++) {
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "algorithm", validation->infeasible[i].algorithm);
        gw_writer_text(&writer, "reason", validation->infeasible[i].why.message);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    write_unpredicted(&writer, validation);
    gw_writer_number(&writer, "mean_error", gw_validation_mean_error(validation));
    gw_writer_number(&writer, "largest_error", gw_validation_largest_error(validation));
    write_verdict(&writer, validation);
    if (validation->doubt_count + all.note_count > 0) {
        gw_writer_texts(&writer, "notes", validation->doubts, validation->doubt_count);
        gw_writer_reopen_array(&writer, "notes");
        for (size_t i = 0; i < all.note_count; i++) {
            gw_writer_text(&writer, NULL, all.notes[i]);
        }
        gw_writer_end(&writer);
    }
    return gw_writer_finish(&writer, out, error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum gw_status gw_print_validation(const struct gw_validation *validation, const char *path,
                                   bool json, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(path == NULL ? GW_OK : gw_validation_write(validation, path, error));
    if (!json) {
        print_text(validation);
        return GW_OK;
    }
    GW_TRY(make_document(validation, &document, error));
    return gw_print_document(document, error);
}

enum gw_status gw_validation_write(const struct gw_validation *validation, const char *path,
                                   struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(make_document(validation, &document, error));
    return gw_save_document(document, path, error);
}
