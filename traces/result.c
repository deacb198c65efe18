#include "traces/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool gw_is_disturbed(const struct gw_disturbance *disturbance) {
    return disturbance->stolen > 0.02 || disturbance->stolen + disturbance->others > 0.05;
}

void gw_result_add(struct gw_result *result, const struct gw_measure *measure) {
    gw_running_add(&result->running, measure->iteration_s);
    result->iterations = result->running.count;
    result->iteration_s = result->running.mean;
    result->iteration_sd_s = gw_running_sd(&result->running);
    double weight = 1 / (double)result->iterations;
    struct gw_breakdown *mean = &result->breakdown;
    const struct gw_breakdown *one = &measure->breakdown;
    mean->forward_s += weight * (one->forward_s - mean->forward_s);
    mean->backward_s += weight * (one->backward_s - mean->backward_s);
    mean->compress_s += weight * (one->compress_s - mean->compress_s);
    mean->exposed_comm_s += weight * (one->exposed_comm_s - mean->exposed_comm_s);
    mean->other_s += weight * (one->other_s - mean->other_s);
    result->comm_s += weight * (measure->comm_s - result->comm_s);
}

static bool add_note(struct gw_result *result, const char *note, size_t place) {
    enum { capacity = sizeof result->notes / sizeof *result->notes };
    for (size_t i = 0; i < result->note_count; i++) {
        if (strcmp(result->notes[i], note) == 0) {
            return false;
        }
    }
    if (note[0] == '\0' || place == capacity) {
        return false;
    }
    bool is_full = result->note_count == capacity;
    result->warning_count -= is_full && result->warning_count == capacity;
    result->note_count -= is_full;
    memmove(result->notes[place + 1], result->notes[place],
            (result->note_count++ - place) * sizeof *result->notes);
    snprintf(result->notes[place], GW_RESULT_NOTE_SIZE, "%s", note);
    return true;
}

void gw_result_note(struct gw_result *result, const char *note) {
    (void)add_note(result, note, result->note_count);
}

void gw_result_warn(struct gw_result *result, const char *warning) {
    result->warning_count += add_note(result, warning, result->warning_count);
}

/* Finds the number of a collective's derivation; their count if it has none. */
static size_t find_derivation(const struct gw_result *result, const char *collective) {
    size_t i = 0;
    while (i < result->derived_count && strcmp(result->derived[i], collective) != 0) {
        i++;
    }
    return i;
}

void gw_result_derive(struct gw_result *result, const char *collective, const char *derivation) {
    size_t place = result->derived_count;
    if (find_derivation(result, collective) == place && add_note(result, derivation, place)) {
        (void)snprintf(result->derived[place], GW_RESULT_NAME_SIZE, "%s", collective);
        result->derived_count++;
        result->warning_count++;
    }
}

/* Adds an uncertainty, or worsens the known one; returns whether it was worsened. */
static bool worsen_uncertainty(struct gw_result *result,
                               const struct gw_result_uncertainty *found) {
    enum { capacity = sizeof result->uncertainties / sizeof *result->uncertainties };
    double relative = found->relative;
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        struct gw_result_uncertainty *known = &result->uncertainties[i];
        if (strcmp(known->name, found->name) == 0) {
            bool is_worse = isnan(relative) ? !isnan(known->relative) : relative > known->relative;
            known->relative = is_worse ? relative : known->relative;
            return is_worse;
        }
    }
    if (relative != 0 && result->uncertainty_count < capacity) {
        result->uncertainties[result->uncertainty_count++] = *found;
    }
    return false;
}

void gw_result_uncertain(struct gw_result *result, const char *name, bool derived,
                         double relative) {
    struct gw_result_uncertainty found = {.derived = derived, .relative = relative};
    (void)snprintf(found.name, sizeof found.name, "%s", name);
    (void)worsen_uncertainty(result, &found);
}

void gw_result_collect(struct gw_result *all, const struct gw_result *result) {
    for (size_t i = 0; i < result->derived_count; i++) {
        gw_result_derive(all, result->derived[i], result->notes[i]);
    }
    for (size_t i = result->derived_count; i < result->note_count; i++) {
        (i < result->warning_count ? gw_result_warn : gw_result_note)(all, result->notes[i]);
    }
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        const struct gw_result_uncertainty *one = &result->uncertainties[i];
        size_t own = find_derivation(all, one->name);
        size_t other = find_derivation(result, one->name);
        if (one->derived && worsen_uncertainty(all, one) && own < all->derived_count &&
            other < result->derived_count) {
            memcpy(all->notes[own], result->notes[other], sizeof all->notes[own]);
        }
    }
}

bool gw_result_is_unknown(const struct gw_result *result) {
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        if (isnan(result->uncertainties[i].relative)) {
            return true;
        }
    }
    return false;
}

/* ---- documents ------------------------------------------------------------------------------ */

void gw_result_write_times(const struct gw_result *result, struct gw_json_writer *writer) {
    const struct gw_breakdown *parts = &result->breakdown;
    gw_writer_number(writer, "iteration_s", result->iteration_s);
    if (result->iterations > 1) {
        gw_writer_number(writer, "iteration_sd_s", result->iteration_sd_s);
    }
    gw_writer_object(writer, "breakdown");
    gw_writer_number(writer, "forward_s", parts->forward_s);
    gw_writer_number(writer, "backward_s", parts->backward_s);
    gw_writer_number(writer, "compress_s", parts->compress_s);
    gw_writer_number(writer, "exposed_comm_s", parts->exposed_comm_s);
    gw_writer_number(writer, "other_s", parts->other_s);
    gw_writer_end(writer);
    gw_writer_number(writer, "comm_s", result->comm_s);
}

/* Writes "iteration_percentiles_s": {"5": ..}, if there are several iterations. */
static void write_spread(const struct gw_spread *spread, struct gw_json_writer *writer) {
    const double interval[] = {spread->mean_low, spread->mean_high};
    if (spread->count < 2) {
        return;
    }
    gw_writer_number(writer, "iteration_min_s", spread->minimum);
    gw_writer_number(writer, "iteration_max_s", spread->maximum);
    gw_writer_object(writer, "iteration_percentiles_s");
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        char rank[16];
        snprintf(rank, sizeof rank, "%d", gw_percentile_ranks[i]);
        gw_writer_number(writer, rank, spread->percentiles[i]);
    }
    gw_writer_end(writer);
    gw_writer_numbers(writer, "iteration_mean_ci95_s", interval, 2);
}

/* Writes "uncertainty": {"allgather": 0.041}, null if unknown, and the iteration's interval. */
void gw_result_write_uncertainty(const struct gw_result *result, struct gw_json_writer *writer) {
    if (result->uncertainty_count == 0) {
        return;
    }
    gw_writer_object(writer, "uncertainty");
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        const struct gw_result_uncertainty *uncertainty = &result->uncertainties[i];
        if (isnan(uncertainty->relative)) {
            gw_writer_null(writer, uncertainty->name);
        } else {
            gw_writer_number(writer, uncertainty->name, uncertainty->relative);
        }
    }
    gw_writer_end(writer);
    if (result->iteration_high_s > 0) {
        gw_writer_number(writer, "iteration_low_s", result->iteration_low_s);
        gw_writer_number(writer, "iteration_high_s", result->iteration_high_s);
    }
}

void gw_writer_changes(struct gw_json_writer *writer, const char *policy, const char *compressor,
                       const char *exchange) {
    const char *const names[] = {"policy", "compressor", "exchange"};
    const char *const values[] = {policy, compressor, exchange};
    if (policy == NULL && compressor == NULL && exchange == NULL) {
        return;
    }
    gw_writer_object(writer, "changed");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (values[i] != NULL) {
            gw_writer_text(writer, names[i], values[i]);
        }
    }
    gw_writer_end(writer);
}

/* Writes the counts, density and padding that are known: 0 and NAN are not. */
void gw_result_write_counts(const struct gw_result *result, struct gw_json_writer *writer) {
    if (result->counts[0] != '\0') {
        gw_writer_text(writer, "counts", result->counts);
    }
    if (result->actual_density > 0) {
        gw_writer_number(writer, "actual_density", result->actual_density);
    }
    if (result->padding > 0) {
        gw_writer_number(writer, "padding", result->padding);
    }
}

void gw_result_write_notes(const struct gw_result *result, struct gw_json_writer *writer) {
    if (result->note_count > 0) {
        gw_writer_array(writer, "notes");
        for (size_t i = 0; i < result->note_count; i++) {
            gw_writer_text(writer, NULL, result->notes[i]);
        }
        gw_writer_end(writer);
    }
}

void gw_result_write(const struct gw_result *result, struct gw_json_writer *writer) {
    gw_writer_text(writer, "schema", "gradweave/result@1");
    gw_writer_text(writer, "model", result->model);
    gw_writer_text(writer, "algorithm", result->algorithm);
    gw_writer_changes(writer, result->policy, result->compressor, result->exchange);
    gw_writer_number(writer, "workers", (double)result->workers);
    gw_writer_number(writer, "density", result->density);
    gw_writer_number(writer, "iterations", (double)result->iterations);
    gw_writer_number(writer, "groups", (double)result->groups);
    if (result->micro_batches > 1) {
        gw_writer_number(writer, "micro_batches", (double)result->micro_batches);
    }
    gw_result_write_times(result, writer);
    write_spread(&result->spread, writer);
    gw_result_write_uncertainty(result, writer);
    gw_writer_number(writer, "bytes_per_worker", result->bytes_per_worker);
    gw_result_write_counts(result, writer);
    gw_result_write_notes(result, writer);
}
