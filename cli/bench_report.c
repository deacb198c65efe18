#include "cli/bench.h"

#include <string.h>

#include "cli/cli.h"

/* ---- targets ------------------------------------------------------------------------------- */

/* Of an H100, in passes; 0: none. */
static const struct target {
    const char *compressor;
    double select, compress;
} targets[] = {{"hard-threshold", 1.3, 0}, {"topk", 2, 4}, {"gaussiank", 3, 0}};

static struct target target_of(const struct gw_bench_row *row) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(targets[i].compressor, row->compressor->name) == 0) {
            return targets[i];
        }
    }
    return (struct target){0};
}

static void print_target(struct gw_table *table, double passes, double target) {
    if (target > 0) {
        gw_table_cell(table, "%g: %s", target, passes <= target ? "met" : "missed");
    } else {
        gw_table_cell(table, "%s", "");
    }
}

/* ---- a table ------------------------------------------------------------------------------- */

static void print_quality(struct gw_table *table, const struct gw_bench_row *row) {
    gw_table_cell(table, "%.3f", row->count_ratio);
    gw_table_cell(table, "%.3f", row->energy_ratio);
}

static void print_cpu(const struct gw_bench_request *request,
                      const struct gw_bench_result *result) {
    static const char *const headings[] = {"compressor",   "median", "passes", "with residual",
                                           "selected / k", "energy", NULL};
    char pass[GW_UNITS_SIZE];
    printf("%zu thread%s, %s; one pass of reading takes %s\n\n", request->threads,
           request->threads == 1 ? "" : "s", gw_instruction_set(),
           gw_format_seconds(result->read_pass_s.median, pass));
    struct gw_table *table = gw_table_open(headings, "lrrrrr");
    for (size_t i = 0; i < result->count; i++) {
        const struct gw_bench_row *row = &result->rows[i];
        char median[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", row->compressor->name);
        gw_table_cell(table, "%s", gw_format_seconds(row->select_s.median, median));
        gw_table_cell(table, "%.2f", row->passes);
        gw_table_cell(table, "%.2f", row->compress_passes);
        print_quality(table, row);
    }
    gw_table_print_and_close(table);
    printf("\npasses: medians of %zu repeats over that of one pass of reading; with residual: the "
           "gradient added,\nwhat is sent cleared; energy: of what is selected over that of exact "
           "top-k\n",
           request->repeats);
}

/* Bytes of the vector a second; copies have moved twice as many. */
static double bandwidth(const struct gw_bench_request *request, double seconds) {
    return (double)request->elements * sizeof(float) / seconds;
}

static void print_gpu_row(const struct gw_bench_request *request, const struct gw_bench_row *row,
                          struct gw_table *table) {
    struct target target = target_of(row);
    char median[GW_UNITS_SIZE];
    gw_table_cell(table, "%s%s", row->compressor->name, row->waits ? " *" : "");
    gw_table_cell(table, "%s", gw_format_seconds(row->select_s.median, median));
    gw_table_cell(table, "%+.0f%% %+.0f%%", 100 * (row->select_s.p5 / row->select_s.median - 1),
                  100 * (row->select_s.p95 / row->select_s.median - 1));
    gw_table_cell(table, "%.3g", bandwidth(request, row->select_s.median) / 1e9);
    gw_table_cell(table, "%.2f", row->passes);
    print_target(table, row->passes, target.select);
    gw_table_cell(table, "%.2f", row->compress_passes);
    print_target(table, row->compress_passes, target.compress);
    print_quality(table, row);
}

static void print_gpu(const struct gw_bench_request *request,
                      const struct gw_bench_result *result) {
    static const char *const headings[] = {
        "compressor",    "median", "p5, p95",      "GB/s",   "passes", "target",
        "with residual", "target", "selected / k", "energy", NULL};
    double copy_s = result->copy_s.median;
    char pass[GW_UNITS_SIZE];
    char read[GW_UNITS_SIZE];
    printf("%s; copies move %.3g GB/s, so that one pass takes %s; reading and summing takes %s\n\n",
           request->gpu->name, 2 * bandwidth(request, copy_s) / 1e9,
           gw_format_seconds(copy_s / 2, pass),
           gw_format_seconds(result->read_pass_s.median, read));
    struct gw_table *table = gw_table_open(headings, "lrrrrrrrrr");
    for (size_t i = 0; i < result->count; i++) {
        print_gpu_row(request, &result->rows[i], table);
    }
    gw_table_print_and_close(table);
    printf("\npasses: medians of %zu repeats over that of half a copy within the GPU's memory, by "
           "the GPU's clock, with a\ncache that holds none of it; targets: an H100's; GB/s: the "
           "vector's bytes; with residual: the gradient added,\nwhat is sent cleared; energy: of "
           "what is selected over that of exact top-k; *: waits for a count in between\n",
           request->repeats);
}

void gw_bench_print(const struct gw_bench_request *request, const struct gw_bench_result *result) {
    char elements[GW_UNITS_SIZE];
    printf("%s elements (%s), density %g, ", gw_format_count((double)request->elements, elements),
           request->shape, request->density);
    if (request->gpu == NULL) {
        print_cpu(request, result);
    } else {
        print_gpu(request, result);
    }
}

/* ---- a document ---------------------------------------------------------------------------- */

static enum gw_status put_target(double passes, double target, const char *key, const char *met,
                                 cJSON *object, struct gw_error *error) {
    if (target <= 0) {
        return GW_OK;
    }
    GW_TRY(gw_json_put_number(object, key, target, error));
    return gw_json_put(object, met, cJSON_CreateBool(passes <= target), error);
}

static enum gw_status put_gpu_row(const struct gw_bench_request *request,
                                  const struct gw_bench_row *row, cJSON *object,
                                  struct gw_error *error) {
    struct target target = target_of(row);
    GW_TRY(gw_json_put_number(object, "with_residual_p5_s", row->compress_s.p5, error));
    GW_TRY(gw_json_put_number(object, "with_residual_p95_s", row->compress_s.p95, error));
    GW_TRY(
        gw_json_put_number(object, "bytes_per_s", bandwidth(request, row->select_s.median), error));
    GW_TRY(gw_json_put(object, "waits", cJSON_CreateBool(row->waits), error));
    GW_TRY(put_target(row->passes, target.select, "target_passes", "met", object, error));
    return put_target(row->compress_passes, target.compress, "with_residual_target_passes",
                      "with_residual_met", object, error);
}

static enum gw_status put_row(const struct gw_bench_request *request,
                              const struct gw_bench_row *row, cJSON *rows, struct gw_error *error) {
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_append(rows, object, error));
    GW_TRY(gw_json_put_text(object, "compressor", row->compressor->name, error));
    GW_TRY(gw_json_put_number(object, "median_s", row->select_s.median, error));
    GW_TRY(gw_json_put_number(object, "p5_s", row->select_s.p5, error));
    GW_TRY(gw_json_put_number(object, "p95_s", row->select_s.p95, error));
    GW_TRY(gw_json_put_number(object, "passes", row->passes, error));
    GW_TRY(gw_json_put_number(object, "with_residual_s", row->compress_s.median, error));
    GW_TRY(gw_json_put_number(object, "with_residual_passes", row->compress_passes, error));
    GW_TRY(gw_json_put_number(object, "count_ratio", row->count_ratio, error));
    GW_TRY(gw_json_put_number(object, "energy_ratio", row->energy_ratio, error));
    return request->gpu == NULL ? GW_OK : put_gpu_row(request, row, object, error);
}

static enum gw_status put_device(const struct gw_bench_request *request,
                                 const struct gw_bench_result *result, cJSON *document,
                                 struct gw_error *error) {
    if (request->gpu == NULL) {
        GW_TRY(gw_json_put_number(document, "threads", (double)request->threads, error));
        return gw_json_put_text(document, "instruction_set", gw_instruction_set(), error);
    }
    GW_TRY(gw_json_put_text(document, "device", "cuda", error));
    GW_TRY(gw_json_put_text(document, "gpu", request->gpu->name, error));
    GW_TRY(gw_json_put_text(document, "cuda", gw_cuda_version(), error));
    GW_TRY(gw_json_put(document, "ecc", cJSON_CreateBool(request->gpu->ecc), error));
    GW_TRY(gw_json_put_number(document, "copy_s", result->copy_s.median, error));
    return gw_json_put_number(document, "copy_bytes_per_s",
                              2 * bandwidth(request, result->copy_s.median), error);
}

static enum gw_status put_document(const struct gw_bench_request *request,
                                   const struct gw_bench_result *result, cJSON *document,
                                   struct gw_error *error) {
    cJSON *rows = cJSON_CreateArray();
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/bench@1", error));
    GW_TRY(gw_json_put_number(document, "elements", (double)request->elements, error));
    GW_TRY(gw_json_put_number(document, "density", request->density, error));
    GW_TRY(gw_json_put_text(document, "shape", request->shape, error));
    GW_TRY(put_device(request, result, document, error));
    GW_TRY(gw_json_put_number(document, "read_pass_s", result->read_pass_s.median, error));
    GW_TRY(gw_json_put(document, "compressors", rows, error));
    for (size_t i = 0; i < result->count; i++) {
        GW_TRY(put_row(request, &result->rows[i], rows, error));
    }
    return GW_OK;
}

enum gw_status gw_bench_print_json(const struct gw_bench_request *request,
                                   const struct gw_bench_result *result, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    return gw_print_filled(document, put_document(request, result, document, error), error);
}
