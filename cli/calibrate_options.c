#include "cli/calibrate_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `target` is the struct of all options. */
static void read_compressors(char *argument, void *target, struct argp_state *state) {
    struct gw_calibrate_options *options = target;
    struct gw_error error;
    options->compressor = argument;
    if (gw_compressors_parse(argument, options->compressors, &error) != GW_OK) {
        gw_refuse(state, "%s", error.message);
    }
    options->calibration.compressors = options->compressors;
}

#define IN(member) offsetof(struct gw_calibrate_options, member)

/* Sizes begin at 1024, and two or more make a curve. */
const struct gw_option gw_calibrate_table[] = {
    {"out", 'o', "CLUSTER.json", GW_TEXT, IN(out),
     .help = "Where to write the cluster (required without --check)", .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = IN(job), .table = gw_job_table},
    {"name", 0, "NAME", GW_TEXT, IN(name), .help = "The cluster's name",
     .otherwise = "that of the file, without folder and ending"},
    {"quick", 0, NULL, GW_FLAG, IN(quick),
     .help = "Sizes in steps of four, up to 1 MiB and 1048576 elements, in 10 s"},
    {"thorough", 0, NULL, GW_FLAG, IN(thorough),
     .help = "Two sizes to each doubling, up to 64 MiB and 33554432 elements, known to 1%, in "
             "300 s"},
    {"time", 0, "SECONDS", GW_POSITIVE, IN(time_s), .help = "For everything but starting the job",
     .otherwise = "55, for --check 8", .maximum = 1e7},
    {"only", 0, "WHAT[,WHAT..]", GW_TEXT, IN(only),
     .help = "Measure these alone: names of collectives and compressors, network, overlap",
     .otherwise = "everything", .names = GW_NAMES_COMPRESSORS, .is_list = true},
    {"add", 0, NULL, GW_FLAG, IN(add), .help = "Keep what CLUSTER.json has besides"},
    {"resume", 0, NULL, GW_FLAG, IN(calibration.resume),
     .help = "Go on with a calibration that was interrupted, where there is one"},
    {"check", 0, "CLUSTER.json", GW_TEXT, IN(check),
     .help = "Measure some sizes again and say whether the file still describes the cluster",
     .names = GW_NAMES_CLUSTERS},
    {"tolerance", 0, "R", GW_POSITIVE, IN(tolerance),
     .help = "By which share of it a time may differ for --check", .value = "0.1"},
    {"density", 0, "R", GW_POSITIVE, IN(calibration.density),
     .help = "Share of elements that compressors keep", .maximum = 1,
     .otherwise = "0.001, for --check the file's"},
    {"compressor", 'c', "A[,B..]|all", GW_CUSTOM, 0,
     .help = "The compressors to measure, with everything else", .otherwise = "all",
     .names = GW_NAMES_COMPRESSORS, .is_list = true, .read = read_compressors},
    {"precision", 0, "R", GW_POSITIVE, IN(precision),
     .help = "Repeat until a median is known to this share of it", .maximum = 1,
     .otherwise = "0.02"},
    {"max-time", 0, "SECONDS", GW_POSITIVE, IN(max_s_per_point),
     .help = "Most time to measure at one size", .otherwise = "10, for --thorough 30"},
    {"max-bytes", 0, "BYTES", GW_COUNT, IN(max_bytes), .help = "Largest message",
     .otherwise = "16777216", .minimum = 4096, .maximum = 1 << 27},
    {"max-elements", 0, "N", GW_COUNT, IN(max_elements), .help = "Largest gradient to compress",
     .otherwise = "16777216", .minimum = 4096, .maximum = 1 << 28},
    {"device", 0, "cpu|cuda[:N]", GW_CUSTOM, IN(device),
     .help = "What compresses, and whose memory is exchanged: this machine's processors, each "
             "rank's own GPU, or GPU N of each host",
     .value = "cpu", .read = gw_read_device},
    {"transport", 0, NULL, GW_CHOICE, IN(transport), .help = "What GPUs' memory travels by",
     .otherwise = "nccl where each rank has a GPU to itself, otherwise mpi",
     .choices = gw_transport_choices},
    {"no-network", 0, NULL, GW_FLAG, IN(no_network),
     .help = "Leave out messages between two ranks"},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

const struct gw_option_rule gw_calibrate_rules[] = {
    GW_NEEDS_JOB,
    GW_HOSTFILE_NEEDS_NODES,
    {"quick", GW_EXCLUDES, "thorough", "expected --quick or --thorough, not both"},
    {NULL, GW_NEEDS, "out check", "expected --out CLUSTER.json, or --check CLUSTER.json"},
    {"check", GW_EXCLUDES, "out name add resume no-network",
     "--check: expected none of --out, --name, --add, --resume, --no-network with it, as it writes "
     "nothing"},
    {"tolerance", GW_NEEDS, "check", "--tolerance: expected --check with it"},
    {"transport", GW_NEEDS, "device=cuda", "--transport: expected --device cuda with it"},
    {"only", GW_EXCLUDES, "compressor no-network",
     "--only: expected neither --compressor nor --no-network with it, as it names all that is "
     "measured"},
    {0},
};

/* ---- parts --------------------------------------------------------------------------------- */

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
    gw_refuse(state, "--only: expected some of %snetwork, overlap, each once, got \"%s\"",
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

/* ---- together ------------------------------------------------------------------------------ */

/* What was given, over what the preset says, over what is usual. */
void gw_calibrate_settle(void *input, struct argp_state *state) {
    struct gw_calibrate_options *options = input;
    struct gw_calibration *asked = &options->calibration;
    if (options->quick) {
        gw_calibration_make_quick(asked);
    } else if (options->thorough) {
        gw_calibration_make_thorough(asked);
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
    if (options->only != NULL) {
        choose_only(options, state);
    }
    /* Of messages and of overlap a file has no curve that a check could look at. */
    if (options->only != NULL && options->check != NULL && (asked->network || asked->overlap)) {
        gw_refuse(state, "--check: expected only collectives and compressors in --only, neither "
                         "network nor overlap, as curves alone are measured again");
    }
}
