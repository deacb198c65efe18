#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibrate.h"
#include "cli/job.h"

struct options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_calibration calibration;
    const struct gw_compressor *compressors[GW_MOST_COMPRESSORS];
    const char *out;
};

enum {
    KEY_NAME = 2000,
    KEY_DENSITY,
    KEY_PRECISION,
    KEY_MAX_TIME,
    KEY_MAX_BYTES,
    KEY_MAX_ELEMENTS,
    KEY_NO_NETWORK
};

static const struct argp_option option_table[] = {
    {"out", 'o', "CLUSTER.json", 0, "Where to write the cluster (required)", 0},
    {"name", KEY_NAME, "NAME", 0, "The cluster's name (default: that of the file)", 0},
    {"density", KEY_DENSITY, "R", 0, "Share of elements that compressors keep (default 0.001)", 0},
    {"compressor", 'c', "A[,B..]|all", 0, "The compressors to measure (default all)", 0},
    {"no-network", KEY_NO_NETWORK, 0, 0, "Leave out messages between two ranks", 0},
    {"precision", KEY_PRECISION, "R", 0,
     "Repeat until a median is known to this share of it (default 0.02)", 0},
    {"max-time", KEY_MAX_TIME, "SECONDS", 0,
     "... or for at most this long at each size (default 0.5)", 0},
    {"max-bytes", KEY_MAX_BYTES, "BYTES", 0, "Largest message (default 16777216)", 0},
    {"max-elements", KEY_MAX_ELEMENTS, "N", 0, "Largest gradient to compress (default 16777216)",
     0},
    {0},
};

/* The largest size of a kind: sizes begin at 1,024, and two or more make a curve. */
static size_t parse_largest(const char *text, const char *option, size_t maximum,
                            struct argp_state *state) {
    size_t size = gw_parse_count(text, option, state);
    if (size < 4096 || size > maximum) {
        argp_error(state, "%s: expected 4096 to %zu, got \"%s\"", option, maximum, text);
    }
    return size;
}

static void choose_compressors(struct options *options, const char *text,
                               struct argp_state *state) {
    struct gw_error error;
    if (gw_compressors_parse(text, options->compressors, &error) != GW_OK) {
        argp_error(state, "%s", error.message);
    }
    options->calibration.compressors = options->compressors;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    struct gw_calibration *asked = &options->calibration;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->job;
        state->child_inputs[1] = &options->output;
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case KEY_NAME:
        asked->name = argument;
        return 0;
    case KEY_DENSITY:
        asked->density = gw_parse_positive(argument, "--density", 1, state);
        return 0;
    case 'c':
        choose_compressors(options, argument, state);
        return 0;
    case KEY_NO_NETWORK:
        asked->network = false;
        return 0;
    case KEY_PRECISION:
        asked->precision = gw_parse_positive(argument, "--precision", 1, state);
        return 0;
    case KEY_MAX_TIME:
        asked->max_s_per_point = gw_parse_positive(argument, "--max-time", INFINITY, state);
        return 0;
    case KEY_MAX_BYTES:
        asked->max_bytes = parse_largest(argument, "--max-bytes", 1 << 27, state);
        return 0;
    case KEY_MAX_ELEMENTS:
        asked->max_elements = parse_largest(argument, "--max-elements", 1 << 28, state);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "expected options only, got \"%s\"", argument);
        return 0;
    case ARGP_KEY_END:
        if (options->out == NULL) {
            argp_error(state, "expected --out CLUSTER.json");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&gw_job_argp, 0, NULL, 0}, {&gw_output_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "--out CLUSTER.json [--nodes N]",
    .doc = "Measures what collectives, messages and compressors cost on this cluster, through the "
           "same functions that validate runs, and writes their cost curves and LogGP parameters.",
    .children = children,
};

/* ---- on every rank ------------------------------------------------------------------------- */

/* How many medians there are, and how many of them are not known to the precision asked for. */
struct precision {
    size_t points, imprecise;
};

static struct precision judge(const cJSON *kept) {
    struct precision precision = {0};
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(kept, "raw")) {
        precision.points++;
        precision.imprecise +=
            cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(entry, "precise")) != 0;
    }
    return precision;
}

static void count(struct precision precision, struct precision *total) {
    total->points += precision.points;
    total->imprecise += precision.imprecise;
}

static void print_row(struct gw_table *table, const char *name, const struct gw_curve *curve,
                      double largest, const cJSON *kept, struct precision *total) {
    char text[GW_UNITS_SIZE];
    const cJSON *fit = cJSON_GetObjectItemCaseSensitive(kept, "fit");
    const cJSON *chosen = cJSON_GetObjectItemCaseSensitive(fit, "chosen");
    struct precision precision = judge(kept);
    count(precision, total);
    gw_table_cell(table, "%s", name);
    gw_table_cell(table, "%s", cJSON_IsString(chosen) ? chosen->valuestring : "");
    gw_table_cell(table, "%s", gw_format_seconds(gw_curve_startup(curve), text));
    gw_table_cell(table, "%s", gw_format_seconds(gw_curve_time(curve, 1024), text));
    gw_table_cell(table, "%s", gw_format_seconds(gw_curve_time(curve, largest), text));
    gw_table_cell(table, "%zu of %zu", precision.points - precision.imprecise, precision.points);
}

static void print_link(struct gw_table *table, const char *name, const struct gw_loggp *loggp,
                       const cJSON *network, struct precision *total) {
    char text[GW_UNITS_SIZE];
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(network, name);
    if (kept == NULL) {
        return;
    }
    const cJSON *fit = cJSON_GetObjectItemCaseSensitive(kept, "fit");
    const cJSON *off = cJSON_GetObjectItemCaseSensitive(fit, "median_relative_error");
    double per_s = 1 / loggp->gap_s_per_byte;
    struct precision precision = judge(kept);
    count(precision, total);
    gw_table_cell(table, "%s nodes", name);
    gw_table_cell(table, "%s", gw_format_seconds(loggp->latency_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(loggp->overhead_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(loggp->gap_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(loggp->overhead_s_per_byte * (1 << 20), text));
    gw_table_cell(table, "%s", gw_format_seconds(loggp->gap_s_per_byte * (1 << 20), text));
    gw_table_cell(table, isfinite(per_s) ? "%.3g GB/s" : "-", per_s / 1e9);
    gw_table_cell(table, "%.1f%%", 100 * (cJSON_IsNumber(off) ? off->valuedouble : 0));
    gw_table_cell(table, "%zu of %zu", precision.points - precision.imprecise, precision.points);
}

static void print_network(const struct gw_network *network, struct precision *total) {
    static const char *const headings[] = {"messages",         "latency",     "overhead",  "gap",
                                           "overhead per MiB", "gap per MiB", "bandwidth", "error",
                                           "precise"};
    struct gw_table *table = gw_table_open(headings, "lrrrrrrrr");
    printf("\n");
    print_link(table, "within", &network->within, network->kept, total);
    print_link(table, "between", &network->between, network->kept, total);
    gw_table_print_and_close(table);
}

static void print_text(const struct gw_cluster *cluster, const struct options *options) {
    static const char *const headings[] = {"measured", "curve",   "startup",
                                           "smallest", "largest", "precise"};
    const struct gw_calibration *calibration = &options->calibration;
    struct precision total = {0};
    printf("%s: %zu workers, %zu per node\n\n", cluster->name, cluster->workers,
           cluster->workers_per_node);
    struct gw_table *table = gw_table_open(headings, "llrrrr");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        print_row(table, cost->name, &cost->curve, (double)calibration->max_bytes, cost->kept,
                  &total);
    }
    for (size_t i = 0; i < cluster->compressor_count; i++) {
        const struct gw_compressor_cost *cost = &cluster->compressors[i];
        print_row(table, cost->name, &cost->curve, (double)calibration->max_elements, cost->kept,
                  &total);
    }
    gw_table_print_and_close(table);
    if (cluster->network != NULL) {
        print_network(cluster->network, &total);
    }
    char bytes[GW_UNITS_SIZE];
    char elements[GW_UNITS_SIZE];
    printf("\ncollectives from 1 KiB to %s, compressors from 1,024 to %s elements; written to %s\n",
           gw_format_bytes((double)calibration->max_bytes, bytes),
           gw_format_count((double)calibration->max_elements, elements), options->out);
    if (total.imprecise > 0) {
        char note[160];
        snprintf(note, sizeof note,
                 "%zu of %zu medians not known to %g%% in at most %g s of repeats; is the machine "
                 "busy?",
                 total.imprecise, total.points, 100 * calibration->precision,
                 calibration->max_s_per_point);
        gw_print_notes((const char *const[]){note}, 1);
    }
}

static enum gw_status write_and_print(const struct gw_cluster *cluster,
                                      const struct options *options, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_cluster_document(cluster, &document, error));
    enum gw_status status = gw_json_write(document, options->out, error);
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK) {
        print_text(cluster, options);
    }
    cJSON_Delete(document);
    return status;
}

static enum gw_status body(struct gw_communicator *communicator, void *context, int *verdict,
                           struct gw_error *error) {
    const struct options *options = context;
    struct gw_cluster cluster;
    enum gw_status status = GW_OK;
    (void)verdict;
    if (communicator->size < 2) {
        return gw_fail(error, GW_BAD_INPUT,
                       "calibrate: expected at least 2 ranks, as one exchanges nothing");
    }
    if (communicator->rank == 0) {
        status = gw_file_check_target(options->out, error);
    }
    GW_TRY(gw_agree(communicator, status, error));
    gw_job_require(communicator, gw_calibrate(communicator, &options->calibration, &cluster, error),
                   error);
    if (communicator->rank == 0) {
        status = write_and_print(&cluster, options, error);
    }
    gw_cluster_free(&cluster);
    return gw_agree(communicator, status, error);
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* "gradweave calibrate --nodes 2 ..." as a person would type it. */
static char *join_command(int argc, char **argv) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        return NULL;
    }
    (void)fprintf(stream, "gradweave");
    for (int i = 0; i < argc; i++) {
        (void)fprintf(stream, " %s", argv[i]);
    }
    return fclose(stream) == 0 ? text : NULL;
}

/* The file's name without folder and ending. */
static char *name_after(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash == NULL ? path : slash + 1);
    char *dot = name == NULL ? NULL : strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    return name;
}

static int run(int argc, char **argv) {
    struct options options = {.calibration = gw_calibration_defaults()};
    struct gw_error error = {0};
    options.calibration.name = NULL;
    options.calibration.version = GW_VERSION;
    /* Before parsing: argp moves the options to the front of argv. */
    char *command = join_command(argc, argv);
    gw_cli_parse(&argp, "calibrate", argc, argv, &options);
    char *name = name_after(options.out);
    options.calibration.command = command == NULL ? "" : command;
    if (options.calibration.name == NULL) {
        options.calibration.name = name == NULL ? "calibrated" : name;
    }
    enum gw_status status = GW_OK;
    if (!gw_mpi_is_inside_job()) {
        status = gw_file_check_target(options.out, &error);
    }
    int exit_status =
        status == GW_OK ? gw_job_run(&options.job, argv, body, &options) : gw_cli_fail(&error);
    free(name);
    free(command);
    return exit_status;
}

const struct gw_verb gw_verb_calibrate = {
    .name = "calibrate",
    .title = "what collectives, messages and compressors cost on this cluster",
    .run = run};
