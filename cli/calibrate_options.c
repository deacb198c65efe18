#include "cli/calibrate_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_NAME = 2000,
    KEY_DENSITY,
    KEY_ONLY,
    KEY_ADD,
    KEY_RESUME,
    KEY_CHECK,
    KEY_TOLERANCE,
    KEY_TIME,
    KEY_QUICK,
    KEY_THOROUGH,
    KEY_PRECISION,
    KEY_MAX_TIME,
    KEY_MAX_BYTES,
    KEY_MAX_ELEMENTS,
    KEY_NO_NETWORK,
    KEY_DEVICE,
    KEY_TRANSPORT
};

static const struct argp_option option_table[] = {
    {"out", 'o', "CLUSTER.json", 0, "Where to write the cluster (required without --check)", 0},
    {"name", KEY_NAME, "NAME", 0, "The cluster's name (default: that of the file)", 0},
    {"density", KEY_DENSITY, "R", 0, "Share of elements that compressors keep (default 0.001)", 0},
    {"only", KEY_ONLY, "WHAT[,WHAT..]", 0,
     "Measure these alone: collectives, compressors, network, overlap (default: everything)", 0},
    {"add", KEY_ADD, 0, 0, "Keep what CLUSTER.json has besides", 0},
    {"resume", KEY_RESUME, 0, 0, "Go on with a calibration that was interrupted", 0},
    {"check", KEY_CHECK, "CLUSTER.json", 0,
     "Measure some sizes again and say whether the file still describes the cluster", 0},
    {"tolerance", KEY_TOLERANCE, "R", 0, "... to this share of a time (default 0.1)", 0},
    {"time", KEY_TIME, "SECONDS", 0, "For everything (default 55; for --check 8)", 0},
    {"quick", KEY_QUICK, 0, 0, "Fewer and smaller sizes, in 10 s", 0},
    {"thorough", KEY_THOROUGH, 0, 0, "More and larger sizes, known to 1%, in 300 s", 0},
    {"compressor", 'c', "A[,B..]|all", 0, "The compressors to measure (default all)", 0},
    {"device", KEY_DEVICE, "cpu|cuda[:N]", 0,
     "What compresses, and whose memory is exchanged: cpu (default), each rank's own GPU, or GPU N "
     "of each host",
     0},
    {"transport", KEY_TRANSPORT, "nccl|mpi", 0,
     "What GPUs' memory travels by (default: nccl where each rank has a GPU to itself, else mpi)",
     0},
    {"no-network", KEY_NO_NETWORK, 0, 0, "Leave out messages between two ranks", 0},
    {"precision", KEY_PRECISION, "R", 0,
     "Repeat until a median is known to this share of it (default 0.02)", 0},
    {"max-time", KEY_MAX_TIME, "SECONDS", 0,
     "... or for at most this long at each size (default 10)", 0},
    {"max-bytes", KEY_MAX_BYTES, "BYTES", 0, "Largest message (default 16777216)", 0},
    {"max-elements", KEY_MAX_ELEMENTS, "N", 0, "Largest gradient to compress (default 16777216)",
     0},
    {0},
};

/* ---- parts --------------------------------------------------------------------------------- */

/* The largest size of a kind: sizes begin at 1,024, and two or more make a curve. */
static size_t parse_largest(const char *text, const char *option, size_t maximum,
                            struct argp_state *state) {
    size_t size = gw_parse_count(text, option, state);
    if (size < 4096 || size > maximum) {
        argp_error(state, "%s: expected 4096 to %zu, got \"%s\"", option, maximum, text);
    }
    return size;
}

static void choose_preset(struct gw_calibrate_options *options,
                          void (*preset)(struct gw_calibration *), struct argp_state *state) {
    if (options->preset != NULL && options->preset != preset) {
        argp_error(state, "expected --quick or --thorough, not both");
    }
    options->preset = preset;
}

static const char *find_collective(const char *name) {
    for (size_t i = 0; gw_calibrated_collectives[i] != NULL; i++) {
        if (strcmp(gw_calibrated_collectives[i], name) == 0) {
            return gw_calibrated_collectives[i];
        }
    }
    return NULL;
}

/* All that --only may name, with commas between; the program ends after it. */
static void refuse_unknown(const char *name, struct argp_state *state) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    for (size_t i = 0; stream != NULL && gw_calibrated_collectives[i] != NULL; i++) {
        (void)fprintf(stream, "%s, ", gw_calibrated_collectives[i]);
    }
    for (size_t i = 0; stream != NULL && gw_compressors[i] != NULL; i++) {
        (void)fprintf(stream, "%s, ", gw_compressors[i]->name);
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    argp_error(state, "--only: expected some of %snetwork, overlap, each once, got \"%s\"",
               text == NULL ? "" : text, name);
    free(text);
}

/* Adds what the name stands for; false if it is unknown or there already. */
static bool add_named(struct gw_calibrate_options *options, const char *name, size_t *collectives,
                      size_t *compressors) {
    struct gw_calibration *asked = &options->calibration;
    const char *collective = find_collective(name);
    const struct gw_compressor *compressor = gw_compressor_find(name);
    for (size_t i = 0; i < *collectives; i++) {
        if (options->collectives[i] == collective) {
            return false;
        }
    }
    for (size_t i = 0; i < *compressors; i++) {
        if (options->compressors[i] == compressor) {
            return false;
        }
    }
    if (collective != NULL) {
        options->collectives[(*collectives)++] = collective;
    } else if (compressor != NULL) {
        options->compressors[(*compressors)++] = compressor;
    } else if (strcmp(name, "network") == 0 && !asked->network) {
        asked->network = true;
    } else if (strcmp(name, "overlap") == 0 && !asked->overlap) {
        asked->overlap = true;
    } else {
        return false;
    }
    return true;
}

static void choose_only(struct gw_calibrate_options *options, struct argp_state *state) {
    size_t collectives = 0;
    size_t compressors = 0;
    options->calibration.network = false;
    options->calibration.overlap = false;
    for (const char *text = options->only; text != NULL;) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        if (!add_named(options, name, &collectives, &compressors)) {
            refuse_unknown(name, state);
        }
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    options->calibration.collectives = options->collectives;
    options->calibration.compressors = options->compressors;
}

static void choose_compressors(struct gw_calibrate_options *options, struct argp_state *state) {
    struct gw_error error;
    if (gw_compressors_parse(options->compressor, options->compressors, &error) != GW_OK) {
        argp_error(state, "%s", error.message);
    }
    options->calibration.compressors = options->compressors;
}

/* ---- together ------------------------------------------------------------------------------ */

static void require_sense(const struct gw_calibrate_options *options, struct argp_state *state) {
    if (options->out == NULL && options->check == NULL) {
        argp_error(state, "expected --out CLUSTER.json, or --check CLUSTER.json");
    }
    if (options->check != NULL &&
        (options->out != NULL || options->add || options->calibration.resume ||
         options->name != NULL || options->no_network)) {
        argp_error(state, "--check: expected none of --out, --name, --add, --resume, --no-network "
                          "with it, as it writes nothing");
    }
    if (options->tolerance > 0 && options->check == NULL) {
        argp_error(state, "--tolerance: expected --check with it");
    }
    if (options->transport != GW_TRANSPORT_ANY && !options->device.cuda) {
        argp_error(state, "--transport: expected --device cuda with it");
    }
    if (options->only != NULL && (options->compressor != NULL || options->no_network)) {
        argp_error(state, "--only: expected neither --compressor nor --no-network with it, as it "
                          "names all that is measured");
    }
}

/* Of messages and of overlap a file has no curve that a check could look at. */
static void require_curves(const struct gw_calibrate_options *options, struct argp_state *state) {
    if (options->check != NULL && (options->calibration.network || options->calibration.overlap)) {
        argp_error(state, "--check: expected only collectives and compressors in --only, "
                          "neither network nor overlap, as curves alone are measured again");
    }
}

/* What was given, over what the preset says, over what is usual. */
static void settle(struct gw_calibrate_options *options, struct argp_state *state) {
    struct gw_calibration *asked = &options->calibration;
    require_sense(options, state);
    if (options->preset != NULL) {
        options->preset(asked);
    } else if (options->check != NULL) {
        asked->time_s = 8;
    }
    asked->time_s = options->time_s > 0 ? options->time_s : asked->time_s;
    asked->precision = options->precision > 0 ? options->precision : asked->precision;
    asked->max_s_per_point =
        options->max_s_per_point > 0 ? options->max_s_per_point : asked->max_s_per_point;
    asked->max_bytes = options->max_bytes > 0 ? options->max_bytes : asked->max_bytes;
    asked->max_elements = options->max_elements > 0 ? options->max_elements : asked->max_elements;
    asked->network = !options->no_network;
    options->tolerance = options->tolerance > 0 ? options->tolerance : 0.1;
    if (options->only != NULL) {
        choose_only(options, state);
        require_curves(options, state);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gw_calibrate_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->job;
        state->child_inputs[1] = &options->output;
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case KEY_NAME:
        options->name = argument;
        return 0;
    case KEY_DENSITY:
        options->calibration.density = gw_parse_positive(argument, "--density", 1, state);
        return 0;
    case KEY_ONLY:
        options->only = argument;
        return 0;
    case KEY_ADD:
        options->add = true;
        return 0;
    case KEY_RESUME:
        options->calibration.resume = true;
        return 0;
    case KEY_CHECK:
        options->check = argument;
        return 0;
    case KEY_TOLERANCE:
        options->tolerance = gw_parse_positive(argument, "--tolerance", INFINITY, state);
        return 0;
    case KEY_TIME:
        options->time_s = gw_parse_positive(argument, "--time", 1e7, state);
        return 0;
    case KEY_QUICK:
        choose_preset(options, gw_calibration_make_quick, state);
        return 0;
    case KEY_THOROUGH:
        choose_preset(options, gw_calibration_make_thorough, state);
        return 0;
    case 'c':
        options->compressor = argument;
        choose_compressors(options, state);
        return 0;
    case KEY_DEVICE:
        options->device = gw_parse_device(argument, state);
        return 0;
    case KEY_TRANSPORT:
        options->transport = gw_parse_transport(argument, state);
        return 0;
    case KEY_NO_NETWORK:
        options->no_network = true;
        return 0;
    case KEY_PRECISION:
        options->precision = gw_parse_positive(argument, "--precision", 1, state);
        return 0;
    case KEY_MAX_TIME:
        options->max_s_per_point = gw_parse_positive(argument, "--max-time", INFINITY, state);
        return 0;
    case KEY_MAX_BYTES:
        options->max_bytes = parse_largest(argument, "--max-bytes", 1 << 27, state);
        return 0;
    case KEY_MAX_ELEMENTS:
        options->max_elements = parse_largest(argument, "--max-elements", 1 << 28, state);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "expected options only, got \"%s\"", argument);
        return 0;
    case ARGP_KEY_END:
        settle(options, state);
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
    .args_doc = "--out CLUSTER.json [--nodes N]\n--check CLUSTER.json [--nodes N]",
    .doc = "Measures what collectives, messages and compressors cost on this cluster, through the "
           "same functions that validate runs, and writes their cost curves and LogGP parameters.",
    .children = children,
};

void gw_calibrate_parse(int argc, char **argv, struct gw_calibrate_options *out) {
    *out = (struct gw_calibrate_options){.calibration = gw_calibration_defaults()};
    gw_cli_parse(&argp, "calibrate", argc, argv, out);
}
