#include "cli/calibrate_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ------------------------------------------------------------------------------ */

static enum gw_status read_text(const char *name, char **text, size_t *length,
                                struct gw_error *error) {
    char *path = NULL;
    GW_TRY(gw_data_resolve(GW_DATA_CLUSTERS, name, &path, error));
    enum gw_status status = gw_file_read(path, text, length, error);
    free(path);
    return status;
}

/* Rank 0 reads it, as other hosts may not have it; all of them know it then. */
static enum gw_status read_everywhere(struct gw_communicator *communicator, const char *name,
                                      struct gw_cluster *out, struct gw_error *error) {
    const struct gw_transport *transport = communicator->transport;
    char *text = NULL;
    size_t length = 0;
    enum gw_status status =
        communicator->rank == 0 ? read_text(name, &text, &length, error) : GW_OK;
    GW_TRY(gw_agree(communicator, status, error));
    status = transport->broadcast(communicator, 0, &length, sizeof length, error);
    if (status == GW_OK && communicator->rank != 0) {
        text = calloc(length + 1, 1);
        status = text == NULL ? gw_fail_memory(error, "reading a cluster") : GW_OK;
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = transport->broadcast(communicator, 0, text, length, error);
    }
    if (status == GW_OK) {
        status = gw_cluster_parse(text, length, name, out, error);
    }
    free(text);
    return gw_agree(communicator, status, error);
}

/* What was asked for and the file has, measured as it was then; sizes that do not take long. */
struct narrowed {
    struct gw_calibration calibration;
    const char *collectives[GW_MOST_COLLECTIVES];
    const struct gw_compressor *compressors[GW_MOST_COMPRESSORS];
};

static void narrow(const struct gw_calibrate_options *options, const struct gw_cluster *cluster,
                   struct narrowed *out) {
    const size_t largest = 4 << 20;
    const struct gw_calibration *asked = &options->calibration;
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    const cJSON *density = cJSON_GetObjectItemCaseSensitive(source, "density");
    size_t count = 0;
    *out = (struct narrowed){.calibration = *asked};
    for (size_t i = 0; asked->collectives[i] != NULL; i++) {
        if (gw_cluster_find_collective(cluster, asked->collectives[i], 0) != NULL) {
            out->collectives[count++] = asked->collectives[i];
        }
    }
    count = 0;
    for (size_t i = 0; asked->compressors[i] != NULL; i++) {
        if (gw_cluster_find_compressor(cluster, asked->compressors[i]->name) != NULL) {
            out->compressors[count++] = asked->compressors[i];
        }
    }
    out->calibration.collectives = out->collectives;
    out->calibration.compressors = out->compressors;
    out->calibration.max_bytes = options->max_bytes > 0 ? options->max_bytes : largest;
    out->calibration.max_elements = options->max_elements > 0 ? options->max_elements : largest;
    if (cJSON_IsNumber(density) && density->valuedouble > 0 && density->valuedouble <= 1) {
        out->calibration.density = density->valuedouble;
    }
}

/* ---- the answer ---------------------------------------------------------------------------- */

static bool same_curve(const struct gw_check_row *a, const struct gw_check_row *b) {
    return a->workers == b->workers && strcmp(a->name, b->name) == 0;
}

static void put_size(const struct gw_check_row *row, char out[GW_UNITS_SIZE]) {
    (void)(row->is_compressor ? gw_format_count(row->size, out) : gw_format_bytes(row->size, out));
}

static void print_table(const struct gw_check *check) {
    static const char *const headings[] = {"measured", "workers", "size",   "then",
                                           "usually",  "now",     "change", ""};
    struct gw_table *table = gw_table_open(headings, "lrrrrrrl");
    char text[GW_UNITS_SIZE];
    char other[GW_UNITS_SIZE];
    for (size_t i = 0; i < check->count; i++) {
        const struct gw_check_row *row = &check->rows[i];
        bool begins = i == 0 || !same_curve(row, row - 1);
        gw_table_cell(table, "%s", begins ? row->name : "");
        (void)snprintf(other, sizeof other, "%zu", row->workers);
        gw_table_cell(table, "%s", begins ? other : "");
        put_size(row, text);
        gw_table_cell(table, "%s", text);
        gw_table_cell(table, "%s", gw_format_seconds(row->file_s, text));
        gw_table_cell(table, "%s to %s", gw_format_seconds(row->file_p5_s, text),
                      gw_format_seconds(row->file_p95_s, other));
        gw_table_cell(table, "%s", gw_format_seconds(row->now_s.median, text));
        gw_table_cell(table, "%+.1f%%", 100 * row->change);
        gw_table_cell(table, "%s", row->moved ? "moved" : "");
    }
    gw_table_print_and_close(table);
}

static void print(const struct gw_check *check, const struct gw_calibrate_options *options) {
    print_table(check);
    printf(
        "\n%s %s: %zu of %zu sizes moved by more than %g%% and out of their usual spread, in %zu "
        "of %zu curves two or more\n",
        options->check,
        check->describes ? "still describes this cluster"
                         : "does not describe this cluster any more",
        check->moved, check->count, 100 * options->tolerance, check->moved_curves, check->curves);
}

static enum gw_status put_row(const struct gw_check_row *row, cJSON *rows, struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_append(rows, entry, error));
    GW_TRY(gw_json_put_text(entry, row->is_compressor ? "compressor" : "collective", row->name,
                            error));
    if (!row->is_compressor) {
        GW_TRY(gw_json_put_number(entry, "workers", (double)row->workers, error));
    }
    GW_TRY(gw_json_put_number(entry, row->is_compressor ? "elements" : "bytes", row->size, error));
    GW_TRY(gw_json_put_number(entry, "then_s", row->file_s, error));
    GW_TRY(gw_json_put_number(entry, "then_p5_s", row->file_p5_s, error));
    GW_TRY(gw_json_put_number(entry, "then_p95_s", row->file_p95_s, error));
    GW_TRY(gw_json_put_number(entry, "now_s", row->now_s.median, error));
    GW_TRY(gw_json_put_number(entry, "now_low_s", row->now_s.median_low, error));
    GW_TRY(gw_json_put_number(entry, "now_high_s", row->now_s.median_high, error));
    GW_TRY(gw_json_put_number(entry, "repeats", (double)row->now_s.count, error));
    GW_TRY(gw_json_put_number(entry, "change", row->change, error));
    return gw_json_put(entry, "moved", cJSON_CreateBool(row->moved), error);
}

static enum gw_status put_check(const struct gw_check *check, const struct gw_cluster *cluster,
                                double tolerance, cJSON *document, struct gw_error *error) {
    cJSON *rows = cJSON_CreateArray();
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/calibration-check@1", error));
    GW_TRY(gw_json_put_text(document, "cluster", cluster->name, error));
    GW_TRY(gw_json_put_number(document, "tolerance", tolerance, error));
    GW_TRY(gw_json_put(document, "describes", cJSON_CreateBool(check->describes), error));
    GW_TRY(gw_json_put(document, "results", rows, error));
    for (size_t i = 0; i < check->count; i++) {
        GW_TRY(put_row(&check->rows[i], rows, error));
    }
    return GW_OK;
}

static enum gw_status print_json(const struct gw_check *check, const struct gw_cluster *cluster,
                                 double tolerance, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    enum gw_status status = put_check(check, cluster, tolerance, document, error);
    if (status == GW_OK) {
        return gw_print_document(document, error);
    }
    cJSON_Delete(document);
    return status;
}

/* ---- on every rank ------------------------------------------------------------------------- */

enum gw_status gw_calibrate_require_device(const struct gw_cluster *cluster,
                                           const struct gw_calibrate_options *options,
                                           struct gw_error *error) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    const char *device = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "device"));
    bool cuda = device != NULL && strcmp(device, "cuda") == 0;
    return cuda == options->device.cuda
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "--device: expected %s, which cluster %s was calibrated with",
                         cuda ? "cuda" : "cpu", cluster->name);
}

static enum gw_status recheck(struct gw_communicator *communicator,
                              const struct gw_calibrate_options *options,
                              const struct gw_cluster *cluster, int *verdict,
                              struct gw_error *error) {
    struct narrowed narrowed;
    struct gw_check check;
    GW_TRY(gw_calibration_require_same_hosts(communicator, cluster, error));
    GW_TRY(gw_calibrate_require_device(cluster, options, error));
    narrow(options, cluster, &narrowed);
    enum gw_status status = gw_calibration_check(communicator, &narrowed.calibration, cluster,
                                                 options->tolerance, &check, error);
    if (status == GW_BAD_INPUT) { /* which all ranks know of */
        return status;
    }
    gw_job_require(communicator, status, error);
    *verdict = communicator->rank == 0 && !check.describes;
    if (communicator->rank == 0 && options->output.json) {
        status = print_json(&check, cluster, options->tolerance, error);
    } else if (communicator->rank == 0) {
        print(&check, options);
    }
    gw_check_free(&check);
    return gw_agree(communicator, status, error);
}

enum gw_status gw_calibrate_recheck(struct gw_communicator *communicator,
                                    const struct gw_calibrate_options *options, int *verdict,
                                    struct gw_error *error) {
    struct gw_cluster cluster;
    GW_TRY(read_everywhere(communicator, options->check, &cluster, error));
    enum gw_status status = recheck(communicator, options, &cluster, verdict, error);
    gw_cluster_free(&cluster);
    return status;
}
