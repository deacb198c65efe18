#include "traces/result.h"

#include <stdio.h>
#include <string.h>

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

void gw_result_note(struct gw_result *result, const char *note) {
    enum { capacity = sizeof result->notes / sizeof *result->notes };
    for (size_t i = 0; i < result->note_count; i++) {
        if (strcmp(result->notes[i], note) == 0) {
            return;
        }
    }
    if (note[0] != '\0' && result->note_count < capacity) {
        snprintf(result->notes[result->note_count++], GW_RESULT_NOTE_SIZE, "%s", note);
    }
}

void gw_result_uncertain(struct gw_result *result, const char *collective, double relative) {
    enum { capacity = sizeof result->uncertainties / sizeof *result->uncertainties };
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        if (strcmp(result->uncertainties[i].collective, collective) == 0) {
            return;
        }
    }
    if (relative > 0 && result->uncertainty_count < capacity) {
        struct gw_result_uncertainty *added = &result->uncertainties[result->uncertainty_count++];
        added->relative = relative;
        (void)snprintf(added->collective, sizeof added->collective, "%s", collective);
    }
}

enum gw_status gw_result_put_times(const struct gw_result *result, cJSON *object,
                                   struct gw_error *error) {
    GW_TRY(gw_json_put_number(object, "iteration_s", result->iteration_s, error));
    if (result->iterations > 1) {
        GW_TRY(gw_json_put_number(object, "iteration_sd_s", result->iteration_sd_s, error));
    }
    cJSON *breakdown = cJSON_CreateObject();
    GW_TRY(gw_json_put(object, "breakdown", breakdown, error));
    const struct gw_breakdown *parts = &result->breakdown;
    GW_TRY(gw_json_put_number(breakdown, "forward_s", parts->forward_s, error));
    GW_TRY(gw_json_put_number(breakdown, "backward_s", parts->backward_s, error));
    GW_TRY(gw_json_put_number(breakdown, "compress_s", parts->compress_s, error));
    GW_TRY(gw_json_put_number(breakdown, "exposed_comm_s", parts->exposed_comm_s, error));
    GW_TRY(gw_json_put_number(breakdown, "other_s", parts->other_s, error));
    return gw_json_put_number(object, "comm_s", result->comm_s, error);
}

/* "iteration_percentiles_s": {"5": ..} and so on, where there are several iterations. */
static enum gw_status put_spread(const struct gw_spread *spread, cJSON *document,
                                 struct gw_error *error) {
    if (spread->count < 2) {
        return GW_OK;
    }
    GW_TRY(gw_json_put_number(document, "iteration_min_s", spread->minimum, error));
    GW_TRY(gw_json_put_number(document, "iteration_max_s", spread->maximum, error));
    cJSON *percentiles = cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "iteration_percentiles_s", percentiles, error));
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        char rank[16];
        snprintf(rank, sizeof rank, "%d", gw_percentile_ranks[i]);
        GW_TRY(gw_json_put_number(percentiles, rank, spread->percentiles[i], error));
    }
    double interval[] = {spread->mean_low, spread->mean_high};
    return gw_json_put(document, "iteration_mean_ci95_s", cJSON_CreateDoubleArray(interval, 2),
                       error);
}

/* Where curves were derived: "uncertainty": {"allgather": 0.041}, and what that makes of the time.
 */
static enum gw_status put_uncertainty(const struct gw_result *result, cJSON *document,
                                      struct gw_error *error) {
    if (result->uncertainty_count == 0) {
        return GW_OK;
    }
    cJSON *uncertainty = cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "uncertainty", uncertainty, error));
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        const struct gw_result_uncertainty *one = &result->uncertainties[i];
        GW_TRY(gw_json_put_number(uncertainty, one->collective, one->relative, error));
    }
    if (result->iteration_high_s > 0) {
        GW_TRY(gw_json_put_number(document, "iteration_low_s", result->iteration_low_s, error));
        GW_TRY(gw_json_put_number(document, "iteration_high_s", result->iteration_high_s, error));
    }
    return GW_OK;
}

/* NAN is not known either. */
enum gw_status gw_result_put_counts(const struct gw_result *result, cJSON *document,
                                    struct gw_error *error) {
    if (result->counts[0] != '\0') {
        GW_TRY(gw_json_put_text(document, "counts", result->counts, error));
    }
    if (result->actual_density > 0) {
        GW_TRY(gw_json_put_number(document, "actual_density", result->actual_density, error));
    }
    if (result->padding > 0) {
        GW_TRY(gw_json_put_number(document, "padding", result->padding, error));
    }
    return GW_OK;
}

enum gw_status gw_result_put_changed(const struct gw_result *result, cJSON *document,
                                     struct gw_error *error) {
    const char *const names[] = {"policy", "compressor", "exchange"};
    const char *const values[] = {result->policy, result->compressor, result->exchange};
    cJSON *changed = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (values[i] != NULL && changed == NULL) {
            changed = cJSON_CreateObject();
            GW_TRY(gw_json_put(document, "changed", changed, error));
        }
        if (values[i] != NULL) {
            GW_TRY(gw_json_put_text(changed, names[i], values[i], error));
        }
    }
    return GW_OK;
}

static enum gw_status put_result(const struct gw_result *result, cJSON *document,
                                 struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/result@1", error));
    GW_TRY(gw_json_put_text(document, "model", result->model, error));
    GW_TRY(gw_json_put_text(document, "algorithm", result->algorithm, error));
    GW_TRY(gw_result_put_changed(result, document, error));
    GW_TRY(gw_json_put_number(document, "workers", (double)result->workers, error));
    GW_TRY(gw_json_put_number(document, "density", result->density, error));
    GW_TRY(gw_json_put_number(document, "iterations", (double)result->iterations, error));
    GW_TRY(gw_json_put_number(document, "groups", (double)result->groups, error));
    GW_TRY(gw_result_put_times(result, document, error));
    GW_TRY(put_spread(&result->spread, document, error));
    GW_TRY(put_uncertainty(result, document, error));
    GW_TRY(gw_json_put_number(document, "bytes_per_worker", result->bytes_per_worker, error));
    GW_TRY(gw_result_put_counts(result, document, error));
    char *notes[sizeof result->notes / sizeof *result->notes];
    for (size_t i = 0; i < result->note_count; i++) {
        notes[i] = (char *)result->notes[i];
    }
    return gw_json_put_texts(document, "notes", notes, result->note_count, error);
}

enum gw_status gw_result_document(const struct gw_result *result, cJSON **out,
                                  struct gw_error *error) {
    *out = cJSON_CreateObject();
    if (*out == NULL) {
        return gw_fail_memory(error, "writing a result");
    }
    enum gw_status status = put_result(result, *out, error);
    if (status != GW_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return status;
}
