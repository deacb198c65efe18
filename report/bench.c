/* Prints and writes the times and the quality of compressors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/measurements.h"

/* ---- targets ------------------------------------------------------------------------------- */

/* Target times on an H100, in passes over the vector; 0: no target. */
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
        gw_table_cells(table, "%g: %s", target, passes <= target ? "met" : "missed");
    } else {
        gw_table_cells(table, "%s", "");
    }
}

/* ---- a table ------------------------------------------------------------------------------- */

/* Prints the distances of the 5th and 95th percentile from the median; of a single time, blank. */
static void print_range(struct gw_table *table, const struct gw_summary *times) {
    if (times->count < 2) {
        gw_table_cells(table, "%s", "");
        return;
    }
    gw_table_cells(table, "%+.0f%% %+.0f%%", 100 * (times->p5 / times->median - 1),
                   100 * (times->p95 / times->median - 1));
}

static void print_cpu(const struct gw_bench_request *request,
                      const struct gw_bench_result *result) {
    gw_print("%s, %s; one pass of reading takes %s\n\n", GW_COUNTED(request->threads, "thread"),
             gw_instruction_set(), GW_SECONDS(result->read_pass_s.median));
    struct gw_table *table = gw_table_open(
        "lrrrrrr", "compressor\tmedian\tp5, p95\tpasses\twith residual\tselected / k\tenergy");
    for (size_t i = 0; i < result->count; i++) {
        const struct gw_bench_row *row = &result->rows[i];
        char median[GW_UNITS_SIZE];
        gw_table_cells(table, "%s\t%s", row->compressor->name,
                       gw_format_seconds(row->select_s.median, median));
        print_range(table, &row->select_s);
        gw_table_cells(table, "%.2f\t%.2f", row->passes, row->compress_passes);
        gw_table_cells(table, "%.3f\t%.3f", row->count_ratio, row->energy_ratio);
    }
    gw_table_print_and_close(table);
    gw_print(
        "\np5, p95: how far off the median; passes: medians of %zu repeats over that of one pass "
        "of reading; with\nresidual: the gradient added, what is sent cleared; energy: of what is "
        "selected over that of "
        "exact\ntop-k\n",
        request->repeats);
}

/* Returns the vector's bytes per second (a copy moves twice as many). */
static double bench_bandwidth(const struct gw_bench_request *request, double seconds) {
    return (double)request->elements * sizeof(float) / seconds;
}

static void print_gpu_row(const struct gw_bench_request *request, const struct gw_bench_row *row,
                          struct gw_table *table) {
    struct target target = target_of(row);
    char median[GW_UNITS_SIZE];
    gw_table_cells(table, "%s%s\t%s", row->compressor->name, row->waits ? " *" : "",
                   gw_format_seconds(row->select_s.median, median));
    print_range(table, &row->select_s);
    gw_table_cells(table, "%.3g\t%.2f", bench_bandwidth(request, row->select_s.median) / 1e9,
                   row->passes);
    print_target(table, row->passes, target.select);
    gw_table_cells(table, "%.2f", row->compress_passes);
    print_target(table, row->compress_passes, target.compress);
    gw_table_cells(table, "%.3f\t%.3f", row->count_ratio, row->energy_ratio);
}

static void print_gpu(const struct gw_bench_request *request,
                      const struct gw_bench_result *result) {
    double copy_s = result->copy_s.median;
    gw_print(
        "%s; copies move %.3g GB/s, so that one pass takes %s; reading and summing takes %s\n\n",
        request->gpu->name, 2 * bench_bandwidth(request, copy_s) / 1e9, GW_SECONDS(copy_s / 2),
        GW_SECONDS(result->read_pass_s.median));
    struct gw_table *table =
        gw_table_open("lrrrrrrrrr", "compressor\tmedian\tp5, p95\tGB/s\tpasses\ttarget\twith "
                                    "residual\ttarget\tselected / k\tenergy");
    for (size_t i = 0; i < result->count; i++) {
        print_gpu_row(request, &result->rows[i], table);
    }
    gw_table_print_and_close(table);
    gw_print(
        "\npasses: medians of %zu repeats over that of half a copy within the GPU's memory, by "
        "the GPU's clock, with a\ncache that holds none of it; targets: an H100's; GB/s: the "
        "vector's bytes; with residual: the gradient added,\nwhat is sent cleared; energy: of "
        "what is selected over that of exact top-k; *: waits for a count in between\n",
        request->repeats);
}

static void warn_of_outliers(const struct gw_bench_request *request,
                             const struct gw_bench_result *result) {
    char names[GW_MAX_COMPRESSORS * 48] = "";
    for (size_t i = 0; i < result->count; i++) {
        const struct gw_bench_row *row = &result->rows[i];
        size_t outliers =
            row->outliers > row->compress_outliers ? row->outliers : row->compress_outliers;
        char name[96];
        (void)snprintf(name, sizeof name, "%s (%zu of %zu)", row->compressor->name, outliers,
                       request->repeats);
        if (outliers > 0) {
            gw_list_name(names, sizeof names, name);
        }
    }
    if (names[0] != '\0') {
        gw_print_note("note: ",
                      "repeats far off the median: %s; something else may have run: measure again "
                      "on a quiet machine, or with more --repeats",
                      names);
    }
}

void gw_bench_print(const struct gw_bench_request *request, const struct gw_bench_result *result) {
    char elements[GW_UNITS_SIZE];
    gw_print("%s elements (%s), density %g, ", gw_format_count((double)request->elements, elements),
             request->shape, request->density);
    if (request->gpu == NULL) {
        print_cpu(request, result);
    } else {
        print_gpu(request, result);
    }
    warn_of_outliers(request, result);
}

/* ---- a document ---------------------------------------------------------------------------- */

static void write_target(struct gw_json_writer *writer, double passes, double target,
                         const char *key, const char *met) {
    if (target > 0) {
        gw_writer_number(writer, key, target);
        gw_writer_flag(writer, met, passes <= target);
    }
}

static void write_row(struct gw_json_writer *writer, const struct gw_bench_request *request,
                      const struct gw_bench_row *row) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "compressor", row->compressor->name);
    gw_writer_number(writer, "median_s", row->select_s.median);
    gw_writer_number(writer, "p5_s", row->select_s.p5);
    gw_writer_number(writer, "p95_s", row->select_s.p95);
    gw_writer_number(writer, "outliers", (double)row->outliers);
    gw_writer_number(writer, "passes", row->passes);
    gw_writer_number(writer, "with_residual_s", row->compress_s.median);
    gw_writer_number(writer, "with_residual_outliers", (double)row->compress_outliers);
    gw_writer_number(writer, "with_residual_passes", row->compress_passes);
    gw_writer_number(writer, "count_ratio", row->count_ratio);
    gw_writer_number(writer, "energy_ratio", row->energy_ratio);
    if (request->gpu != NULL) {
        struct target target = target_of(row);
        gw_writer_number(writer, "with_residual_p5_s", row->compress_s.p5);
        gw_writer_number(writer, "with_residual_p95_s", row->compress_s.p95);
        gw_writer_number(writer, "bytes_per_s", bench_bandwidth(request, row->select_s.median));
        gw_writer_flag(writer, "waits", row->waits);
        write_target(writer, row->passes, target.select, "target_passes", "met");
        write_target(writer, row->compress_passes, target.compress, "with_residual_target_passes",
                     "with_residual_met");
    }
    gw_writer_end(writer);
}

static void write_device(struct gw_json_writer *writer, const struct gw_bench_request *request,
                         const struct gw_bench_result *result) {
    if (request->gpu == NULL) {
        gw_writer_number(writer, "threads", (double)request->threads);
        gw_writer_text(writer, "instruction_set", gw_instruction_set());
        return;
    }
    gw_writer_text(writer, "device", "cuda");
    gw_writer_text(writer, "gpu", request->gpu->name);
    gw_writer_text(writer, "cuda", gw_cuda_version());
    gw_writer_flag(writer, "ecc", request->gpu->ecc);
    gw_writer_number(writer, "copy_s", result->copy_s.median);
    gw_writer_number(writer, "copy_bytes_per_s",
                     2 * bench_bandwidth(request, result->copy_s.median));
}

enum gw_status gw_bench_print_json(const struct gw_bench_request *request,
                                   const struct gw_bench_result *result, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/bench@1");
    gw_writer_number(&writer, "elements", (double)request->elements);
    gw_writer_number(&writer, "density", request->density);
    gw_writer_text(&writer, "shape", request->shape);
    write_device(&writer, request, result);
    gw_writer_number(&writer, "read_pass_s", result->read_pass_s.median);
    gw_writer_array(&writer, "compressors");
    for (size_t i = 0; i < result->count; i++) {
        write_row(&writer, request, &result->rows[i]);
    }
    gw_writer_end(&writer);
    return gw_print_written(&writer, error);
}
