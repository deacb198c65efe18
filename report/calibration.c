/* Prints what calibrate and its check have found. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/measurements.h"

static const cJSON *find_member(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_at(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(find_member(object, key));
    return text == NULL ? "" : text;
}

/* ---- precision of medians ------------------------------------------------------------------ */

/* Reasons for which medians of this calibration missed the precision asked for. */
struct verdict {
    size_t points;
    size_t out_of_time, capped, out_of_repeats;
};

static void judge_medians(const cJSON *entry, struct verdict *verdict) {
    verdict->points++;
    if (!cJSON_IsFalse(find_member(entry, "precise"))) {
        return;
    }
    const char *cause = text_at(entry, "stopped_by");
    if (strcmp(cause, "max-time") == 0) {
        verdict->capped++;
    } else if (strcmp(cause, "repeats") == 0) {
        verdict->out_of_repeats++;
    } else {
        verdict->out_of_time++;
    }
}

/* Prints "18 of 20" medians precise; `verdict` (or NULL) gets the reasons for the others. */
static void print_precision(struct gw_table *table, const cJSON *kept, struct verdict *verdict) {
    size_t points = 0;
    size_t precise = 0;
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, find_member(kept, "raw")) {
        points++;
        precise += !cJSON_IsFalse(find_member(entry, "precise"));
        if (verdict != NULL) {
            judge_medians(entry, verdict);
        }
    }
    gw_table_cells(table, "%zu of %zu", precise, points);
}

/* ---- curves -------------------------------------------------------------------------------- */

/* A curve of a collective or a compressor. */
struct row {
    const char *name;
    size_t workers; /* 0: a compressor's */
    const struct gw_curve *curve;
    const struct gw_raw *raw;
    const cJSON *kept;
    double largest; /* largest size asked for */
};

static double number_at(const cJSON *object, const char *key) {
    return cJSON_GetNumberValue(find_member(object, key));
}

/* Returns the time per byte or element between an eighth of the largest measured size (without
 * measurements, of the largest that was asked for) and that size. */
static double slope_of(const struct row *row) {
    double measured = 0;
    for (size_t i = 0; i < row->raw->count; i++) {
        measured = fmax(measured, row->raw->sizes[i].size);
    }
    double largest = measured > 0 ? measured : row->largest;
    double added_s = gw_curve_time(row->curve, largest) - gw_curve_time(row->curve, largest / 8);
    return fmax(added_s, 0) / (largest * 7 / 8);
}

/*
 * Returns the fitted line of the startup (which = 0) or the slope (1): with two segments the first
 * one has the startup, the second one the slope.
 */
static const cJSON *line_of(const cJSON *kept, int which) {
    const cJSON *fit = find_member(kept, "fit");
    const char *chosen = text_at(fit, "chosen");
    const cJSON *line = find_member(fit, chosen);
    const cJSON *segments = find_member(line, "segments");
    return segments == NULL ? line : cJSON_GetArrayItem(segments, which);
}

/* Prints half of the 95% interval over the value; blank if the fit has no interval. */
static void print_interval(struct gw_table *table, const cJSON *line, const char *key) {
    char low_key[48];
    char high_key[48];
    char value_key[48];
    (void)snprintf(low_key, sizeof low_key, "%s_low_s", key);
    (void)snprintf(high_key, sizeof high_key, "%s_high_s", key);
    (void)snprintf(value_key, sizeof value_key, "%s_s", key);
    double value = number_at(line, value_key);
    double half = (number_at(line, high_key) - number_at(line, low_key)) / 2 / value;
    if (!isfinite(half) || value <= 0) {
        gw_table_cells(table, "-");
    } else {
        gw_table_cells(table, half < 9.995 ? "%.1f%%" : ">999%%", 100 * half);
    }
}

static void print_rate(struct gw_table *table, double per_unit_s, bool bytes) {
    double rate = 1 / per_unit_s;
    if (!isfinite(rate)) {
        gw_table_cells(table, "-");
    } else {
        gw_table_cells(table, bytes ? "%.4g %sB/s" : "%.4g %s/s",
                       rate >= 1e9 ? rate / 1e9 : rate / 1e6, rate >= 1e9 ? "G" : "M");
    }
}

static void print_share(struct gw_table *table, double share) {
    if (isfinite(share)) {
        gw_table_cells(table, "%.1f%%", 100 * share);
    } else {
        gw_table_cells(table, "-");
    }
}

static void print_row(struct gw_table *table, const struct row *row, struct verdict *verdict) {
    const cJSON *fit = find_member(row->kept, "fit");
    const char *chosen = text_at(fit, "chosen");
    double slope_s = slope_of(row);
    const cJSON *last = line_of(row->kept, 1);
    gw_table_cells(table, "%s", row->name);
    if (row->workers > 0) {
        gw_table_cells(table, "%zu", row->workers);
    }
    gw_table_cells(table, "%s\t%s", chosen, GW_SECONDS(gw_curve_startup(row->curve)));
    print_interval(table, line_of(row->kept, 0), "startup");
    gw_table_cells(table, "%s", GW_SECONDS(slope_s));
    print_interval(table, last, row->curve->per_nlog2n_s > 0 ? "per_nlog2n" : "per_unit");
    print_rate(table, slope_s, row->workers > 0);
    print_share(table, number_at(fit, "held_out_error"));
    print_precision(table, row->kept, verdict);
}

static void print_collectives(const struct gw_cluster *cluster,
                              const struct gw_calibration *calibration, struct verdict *verdict) {
    struct gw_table *table = gw_table_open(
        "lrlrrrrrrr", "collective\tP\tcurve\tstartup\t+-\tper byte\t+-\tbandwidth\terror\tprecise");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        const struct row row = {.name = cost->name,
                                .workers = cost->workers,
                                .curve = &cost->curve,
                                .raw = &cost->raw,
                                .kept = cost->kept,
                                .largest = (double)calibration->max_bytes};
        print_row(table, &row, gw_calibrates_collective(calibration, cost->name) ? verdict : NULL);
    }
    gw_table_print_and_close(table);
}

/* Prints the cluster's compressors or aggregators. */
static void print_kernels(const char *what, const struct gw_kernel_costs *costs,
                          const struct gw_cluster *cluster,
                          const struct gw_calibration *calibration, struct verdict *verdict) {
    struct gw_table *table = gw_table_open(
        "llrrrrrrr", "%s\tcurve\tstartup\t+-\tper element\t+-\telements\terror\tprecise", what);
    gw_print("\n");
    for (size_t i = 0; i < costs->count; i++) {
        const struct gw_kernel_cost *cost = &costs->list[i];
        const struct row row = {.name = cost->name,
                                .curve = &cost->curve,
                                .raw = &cost->raw,
                                .kept = cost->kept,
                                .largest = (double)calibration->max_elements};
        bool asked = false;
        for (int by = 0; costs == &cluster->aggregation && by < GW_AGGREGATOR_COUNT; by++) {
            asked = asked || (strcmp(gw_aggregator_names[by], cost->name) == 0 &&
                              gw_calibrates(calibration, (enum gw_aggregator)by));
        }
        for (size_t k = 0; costs == &cluster->compressors && calibration->compressors[k] != NULL;
             k++) {
            asked = asked || strcmp(calibration->compressors[k]->name, cost->name) == 0;
        }
        print_row(table, &row, asked ? verdict : NULL);
    }
    gw_table_print_and_close(table);
}

/* ---- messages ------------------------------------------------------------------------------ */

static void print_link(struct gw_table *table, const char *name, const struct gw_loggp *loggp,
                       const cJSON *network, struct verdict *verdict) {
    const cJSON *kept = find_member(network, name);
    if (kept == NULL) {
        return;
    }
    double off = number_at(find_member(kept, "fit"), "median_relative_error");
    gw_table_cells(table, "%s nodes\t%s\t%s\t%s\t%s\t%s", name, GW_SECONDS(loggp->latency_s),
                   GW_SECONDS(loggp->overhead_s), GW_SECONDS(loggp->gap_s),
                   GW_SECONDS(loggp->overhead_s_per_byte * (1 << 20)),
                   GW_SECONDS(loggp->gap_s_per_byte * (1 << 20)));
    print_rate(table, loggp->gap_s_per_byte, true);
    gw_table_cells(table, "%.1f%%", isfinite(off) ? 100 * off : 0);
    print_precision(table, kept, verdict);
}

/* ---- growth -------------------------------------------------------------------------------- */

/* Prints "2, 3, 4", cut off by "..." if too long. */
static void print_numbers(struct gw_table *table, const cJSON *array) {
    char text[48];
    size_t used = 0;
    const cJSON *number = NULL;
    text[0] = '\0';
    cJSON_ArrayForEach(number, array) {
        int length = snprintf(text + used, sizeof text - used, "%s%.6g", used == 0 ? "" : ", ",
                              cJSON_GetNumberValue(number));
        if (length < 0 || used + (size_t)length + sizeof "..." > sizeof text) {
            (void)snprintf(text + used, sizeof text - used, "...");
            break;
        }
        used += (size_t)length;
    }
    gw_table_cells(table, "%s", text);
}

static void print_growth(const cJSON *document) {
    const cJSON *growth = find_member(document, "growth");
    if (!cJSON_IsObject(growth) || cJSON_GetArraySize(growth) == 0) {
        return;
    }
    struct gw_table *table = gw_table_open(
        "lllrrr", "growth with P\tstartup\tper byte\tmeasured at P\tleft out P\tlargest left out");
    const cJSON *law = NULL;
    cJSON_ArrayForEach(law, growth) {
        gw_table_cells(table, "%s\t%s\t%s", law->string,
                       text_at(find_member(law, "startup"), "law"),
                       text_at(find_member(law, "bandwidth"), "law"));
        print_numbers(table, find_member(law, "workers"));
        print_share(table, cJSON_GetNumberValue(find_member(law, "left_out_error")));
        print_share(table, cJSON_GetNumberValue(find_member(law, "largest_left_out_error")));
    }
    gw_print("\n");
    gw_table_print_and_close(table);
}

/* ---- overlap ------------------------------------------------------------------------------- */

/* Largest factor printed as a slowdown; above it, one operation waited for the other's end. */
static const double most_slowed = 100;

static void print_factor(struct gw_table *table, const cJSON *factor) {
    double value = cJSON_GetNumberValue(find_member(factor, "factor"));
    double low = cJSON_GetNumberValue(find_member(factor, "low"));
    double high = cJSON_GetNumberValue(find_member(factor, "high"));
    if (!isfinite(value)) {
        gw_table_cells(table, "-");
    } else if (value > most_slowed) {
        gw_table_cells(table, "stopped");
    } else if (isfinite(low) && isfinite(high)) {
        char end[GW_UNITS_SIZE] = "stopped";
        if (high <= most_slowed) {
            (void)snprintf(end, sizeof end, "%.2f", high);
        }
        gw_table_cells(table, "%.2f (%.2f to %s)", value, low, end);
    } else {
        gw_table_cells(table, "%.2f", value);
    }
}

static void print_overlap(const cJSON *document) {
    const cJSON *factors = find_member(find_member(document, "overlap"), "factors");
    if (!cJSON_IsObject(factors) || cJSON_GetArraySize(factors) == 0) {
        return;
    }
    struct gw_table *table =
        gw_table_open("llrrr", "at once\tand\tbytes\tcompute takes\texchange takes");
    const cJSON *collective = NULL;
    cJSON_ArrayForEach(collective, factors) {
        const cJSON *pair = NULL;
        cJSON_ArrayForEach(pair, collective) {
            const cJSON *point = NULL;
            cJSON_ArrayForEach(point, pair) {
                gw_table_cells(table, "%s\t%s\t%s", collective->string, pair->string,
                               GW_BYTES(cJSON_GetNumberValue(find_member(point, "bytes"))));
                print_factor(table, find_member(point, "compute"));
                print_factor(table, find_member(point, "communication"));
            }
        }
    }
    gw_print("\n");
    gw_table_print_and_close(table);
    gw_print("Factors on the time that each takes alone: medians of rounds (95%% intervals; of 5 "
             "or fewer, "
             "ranges);\nstopped: it waits for a processor until the other one ends (more than %g "
             "times as long).\n",
             most_slowed);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Prints the reasons for which medians missed the precision, and the options that help. */
static void print_verdict(const struct verdict *verdict, const struct gw_calibration *calibration) {
    double percent = 100 * calibration->precision;
    if (verdict->out_of_time > 0) {
        gw_print_note("note: ",
                      "%zu of %zu medians not known to %g%% in the %g s there were (--time, "
                      "--thorough give more)",
                      verdict->out_of_time, verdict->points, percent, calibration->time_s);
    }
    if (verdict->capped > 0) {
        gw_print_note("note: ",
                      "%zu of %zu medians not known to %g%% in %g s of repeats each (--max-time "
                      "gives more)",
                      verdict->capped, verdict->points, percent, calibration->max_s_per_point);
    }
    if (verdict->out_of_repeats > 0) {
        gw_print_note("note: ",
                      "%zu of %zu medians not known to %g%% in the largest number of repeats; is "
                      "the machine busy?",
                      verdict->out_of_repeats, verdict->points, percent);
    }
}

void gw_calibration_print(const struct gw_cluster *cluster, const cJSON *document,
                          const struct gw_calibration *calibration, const char *out) {
    enum { COLUMNS = 100 };
    struct verdict verdict = {0};
    gw_print("%s: %s, %zu per node\n\n", cluster->name, GW_COUNTED(cluster->workers, "worker"),
             cluster->workers_per_node);
    if (cluster->collective_count > 0) {
        print_collectives(cluster, calibration, &verdict);
    }
    if (cluster->compressors.count > 0) {
        print_kernels("compressor", &cluster->compressors, cluster, calibration, &verdict);
    }
    if (cluster->aggregation.count > 0) {
        print_kernels("aggregation", &cluster->aggregation, cluster, calibration, &verdict);
    }
    if (cluster->network != NULL) {
        const struct gw_network *network = cluster->network;
        struct verdict *own = calibration->network ? &verdict : NULL;
        struct gw_table *table = gw_table_open(
            "lrrrrrrrr", "messages\tlatency (L)\toverhead (o)\tgap (g)\tO per MiB\tG per MiB\t"
                         "bandwidth\terror\tprecise");
        gw_print("\n");
        print_link(table, "within", &network->within, network->kept, own);
        print_link(table, "between", &network->between, network->kept, own);
        gw_table_print_and_close(table);
    }
    print_growth(document);
    print_overlap(document);
    gw_print(
        "\nP: workers. startup: the curve's value at size zero. per byte, per element: time of one "
        "more\namong large sizes; bandwidth: bytes that a worker contributes, over that "
        "time. +-: half of the 95%%\ninterval. error: of sizes held out from the fit, in the "
        "mean. precise: medians known to %g%%.\n",
        100 * calibration->precision);
    gw_print(
        "Collectives from 1 KiB to %s, compressors from 1,024 to %s elements; written to\n%s\n",
        GW_BYTES((double)calibration->max_bytes), GW_NUMBER(calibration->max_elements), out);
    const cJSON *warnings = find_member(find_member(document, "source"), "warnings");
    const cJSON *warning = NULL;
    if (cJSON_GetArraySize(warnings) > 0) {
        gw_print("\n");
    }
    cJSON_ArrayForEach(warning, warnings) {
        if (cJSON_IsString(warning)) {
            gw_print_wrapped("warning: ", warning->valuestring, COLUMNS);
        }
    }
    for (size_t i = 0; i < cluster->collective_count; i++) {
        char excess[GW_EXCESS_SIZE];
        if (gw_cluster_exceeds_messages(cluster, &cluster->collectives[i], excess)) {
            gw_print_note("note: ", "%s; one of the two is off, and intervals count that", excess);
        }
    }
    print_verdict(&verdict, calibration);
}

/* ---- a check ------------------------------------------------------------------------------- */

static void print_check_table(const struct gw_check *check) {
    struct gw_table *table =
        gw_table_open("lrrrrrrl", "measured\tworkers\tsize\tthen\tusually\tnow\tchange\t");
    char text[GW_UNITS_SIZE];
    char other[GW_UNITS_SIZE];
    for (size_t i = 0; i < check->count; i++) {
        const struct gw_check_row *row = &check->rows[i];
        bool begins =
            i == 0 || row->workers != row[-1].workers || strcmp(row->name, row[-1].name) != 0;
        gw_table_cells(table, "%s", begins ? row->name : "");
        (void)snprintf(other, sizeof other, "%zu", row->workers);
        gw_table_cells(table, "%s", begins ? other : "");
        gw_table_cells(table, "%s",
                       row->is_compressor ? gw_format_count(row->size, text)
                                          : gw_format_bytes(row->size, text));
        gw_table_cells(table, "%s", gw_format_seconds(row->file_s, text));
        gw_table_cells(table, "%s to %s", gw_format_seconds(row->file_p5_s, text),
                       gw_format_seconds(row->file_p95_s, other));
        gw_table_cells(table, "%s\t%+.1f%%\t%s", gw_format_seconds(row->now_s.median, text),
                       100 * row->change, row->moved ? "moved" : "");
    }
    gw_table_print_and_close(table);
}

void gw_check_print(const struct gw_check *check, const char *name, double tolerance) {
    print_check_table(check);
    gw_print(
        "\n%s %s: %zu of %zu sizes moved by more than %g%% and out of their usual spread, in %zu "
        "of %zu curves two or more%s\n",
        name,
        check->describes ? "still describes this cluster"
                         : "does not describe this cluster any more",
        check->moved, check->count, 100 * tolerance, check->moved_curves, check->curves,
        check->describes ? "" : "; exit status 1");
}

static void write_check_row(struct gw_json_writer *writer, const struct gw_check_row *row) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer,
                   row->aggregates      ? "aggregation"
                   : row->is_compressor ? "compressor"
                                        : "collective",
                   row->name);
    if (!row->is_compressor) {
        gw_writer_number(writer, "workers", (double)row->workers);
    }
    gw_writer_number(writer, row->is_compressor ? "elements" : "bytes", row->size);
    gw_writer_number(writer, "then_s", row->file_s);
    gw_writer_number(writer, "then_p5_s", row->file_p5_s);
    gw_writer_number(writer, "then_p95_s", row->file_p95_s);
    gw_writer_number(writer, "now_s", row->now_s.median);
    gw_writer_number(writer, "now_low_s", row->now_s.median_low);
    gw_writer_number(writer, "now_high_s", row->now_s.median_high);
    gw_writer_number(writer, "repeats", (double)row->now_s.count);
    gw_writer_number(writer, "change", row->change);
    gw_writer_flag(writer, "moved", row->moved);
    gw_writer_end(writer);
}

enum gw_status gw_check_print_json(const struct gw_check *check, const char *cluster,
                                   double tolerance, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/calibration-check@1");
    gw_writer_text(&writer, "cluster", cluster);
    gw_writer_number(&writer, "tolerance", tolerance);
    gw_writer_flag(&writer, "describes", check->describes);
    gw_writer_array(&writer, "results");
    for (size_t i = 0; i < check->count; i++) {
        write_check_row(&writer, &check->rows[i]);
    }
    gw_writer_end(&writer);
    return gw_print_written(&writer, error);
}
