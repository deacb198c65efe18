#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate/calibrate.h"
#include "cli/job.h"
#include "core/names.h"
#include "kernels/gpu.h"
#include "methods/methods.h"
#include "report/measurements.h"

/* ---- options ------------------------------------------------------------------------------- */

struct options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_calibration calibration; /* made of what follows */
    const char *name;                  /* NULL: after the file */
    const char *out;                   /* NULL with `check` */
    const char *check;                 /* the cluster to look at again, or NULL */
    double tolerance;                  /* of the check */
    bool add;                          /* to the cluster that `out` has */
    struct gw_device_choice device;
    enum gw_transport_choice transport;

    struct gw_calibration_choice chosen; /* lists that `calibration` points to */
    /* Values given on the command line; 0 or NULL: not given. */
    double time_s, density, precision, max_s_per_point;
    size_t max_bytes, max_elements;
    const char *only, *compressor;
    bool quick, thorough, resume, no_network;
};

/* `target` is the struct of all options. */
static void read_compressors(const char *argument, void *target) {
    struct options *options = target;
    struct gw_error error;
    options->compressor = argument;
    if (gw_compressors_parse(argument, options->chosen.compressors, &error) != GW_OK) {
        gw_refuse("--%s", error.message);
    }
}

#define IN(member) offsetof(struct options, member)

/* Sizes begin at 1024 and a curve needs two: hence the minima of the largest sizes. */
static const struct gw_option option_table[] = {
    {"out", 'o', "CLUSTER.json", GW_TEXT, IN(out),
     .help = "Where to write the cluster (required without --check)", .names = GW_NAMES_FILES,
     .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(job), .table = gw_job_table},
    {"name", 0, "NAME", GW_TEXT, IN(name), .help = "The cluster's name",
     .otherwise = "that of the file, without folder and ending"},
    {"quick", 0, NULL, GW_FLAG, IN(quick),
     .help = "Sizes in steps of four, up to 1 MiB and 1048576 elements, in 10 s"},
    {"thorough", 0, NULL, GW_FLAG, IN(thorough),
     .help =
         "Two sizes to each doubling, up to 64 MiB and 33554432 elements, until known to 1%, or "
         "300 s"},
    {"time", 0, "SECONDS", GW_POSITIVE, IN(time_s), .help = "Time for all measurements",
     .otherwise = "55, for --check 8", .maximum = 1e7},
    {"only", 0, "WHAT[,WHAT..]", GW_TEXT, IN(only), .help = "Measure these alone",
     .otherwise = "everything", .names = GW_NAMES_CALIBRATED, .is_list = true},
    {"add", 0, NULL, GW_FLAG, IN(add), .help = "Keep the other measurements of CLUSTER.json"},
    {"resume", 0, NULL, GW_FLAG, IN(resume),
     .help = "Continue an interrupted calibration, if there is one"},
    {"check", 0, "CLUSTER.json", GW_TEXT, IN(check),
     .help = "Measure some sizes again and say whether the file still describes the cluster",
     .names = GW_NAMES_CLUSTERS},
    {"tolerance", 0, "R", GW_POSITIVE, IN(tolerance),
     .help = "Largest relative difference of a time for --check", .value = "0.1"},
    {"density", 0, "R", GW_POSITIVE, IN(density), .help = "Share of elements that compressors keep",
     .maximum = 1, .otherwise = GW_USUAL_DENSITY_TEXT ", for --check the file's"},
    {"compressor", 'c', "A[,B..]|all", GW_CUSTOM, 0,
     .help = "The compressors to measure, with everything else", .otherwise = "all",
     .names = GW_NAMES_COMPRESSORS, .is_list = true, .read = read_compressors},
    {"precision", 0, "R", GW_POSITIVE, IN(precision),
     .help = "Repeat until a median is known to this relative precision", .maximum = 1,
     .otherwise = "0.02"},
    {"max-time", 0, "SECONDS", GW_POSITIVE, IN(max_s_per_point),
     .help = "Maximum time for one size", .otherwise = "10, for --thorough 30",
     .maximum = GW_MAX_SECONDS},
    {"max-bytes", 0, "BYTES", GW_SIZE, IN(max_bytes), .help = "Largest message, such as 16MiB",
     .otherwise = "16777216", .minimum = 4096, .maximum = 1 << 27},
    {"max-elements", 0, "N", GW_COUNT, IN(max_elements), .help = "Largest gradient to compress",
     .otherwise = "16777216", .minimum = 4096, .maximum = 1 << 28},
    {"device", 0, "cpu|cuda[:N]", GW_CUSTOM, IN(device),
     .help =
         "Device that compresses and whose memory is exchanged: this machine's processors, each "
         "rank's own GPU, or GPU N of each host",
     .value = "cpu", .choices = gw_device_kinds, .read = gw_read_device},
    {"transport", 0, NULL, GW_CHOICE, IN(transport), .help = "Transport between GPUs",
     .otherwise = "nccl where each rank has a GPU to itself, otherwise mpi",
     .choices = gw_transport_choices},
    {"no-network", 0, NULL, GW_FLAG, IN(no_network),
     .help = "Leave out messages between two ranks"},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
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
     "--only: expected neither --compressor nor --no-network with it, as it lists everything to "
     "measure"},
    {0},
};

/* ---- request --------------------------------------------------------------------------------- */

/* Completes the request: options override the preset (--quick, ..), which overrides defaults. */
static void complete_options(void *input) {
    struct options *options = input;
    struct gw_calibration *asked = &options->calibration;
    *asked = gw_calibration_defaults();
    if (options->quick) {
        gw_calibration_make_quick(asked);
    } else if (options->thorough) {
        gw_calibration_make_thorough(asked);
    } else if (options->check != NULL) {
        asked->time_s = 8;
    }
    if (options->check != NULL) { /* sizes that do not take long */
        asked->max_bytes = asked->max_elements = 4 << 20;
    }
    asked->time_s = options->time_s > 0 ? options->time_s : asked->time_s;
    asked->density = options->density > 0 ? options->density : asked->density;
    asked->precision = options->precision > 0 ? options->precision : asked->precision;
    asked->max_s_per_point =
        options->max_s_per_point > 0 ? options->max_s_per_point : asked->max_s_per_point;
    asked->max_bytes = options->max_bytes > 0 ? options->max_bytes : asked->max_bytes;
    asked->max_elements = options->max_elements > 0 ? options->max_elements : asked->max_elements;
    asked->compressors =
        options->compressor != NULL ? options->chosen.compressors : asked->compressors;
    asked->network = !options->no_network;
    asked->resume = options->resume;
    struct gw_error error;
    if (options->only != NULL &&
        gw_calibration_choose(options->only, &options->chosen, asked, &error) != GW_OK) {
        gw_refuse("--%s", error.message);
    }
    /* A check measures curves again; messages and overlap have none. */
    if (options->only != NULL && options->check != NULL && (asked->network || asked->overlap)) {
        gw_refuse("--check: expected only collectives and compressors in --only, neither "
                  "network nor overlap, as curves alone are measured again");
    }
}

/* ---- --check ------------------------------------------------------------------------------- */

static enum gw_status check_measured(struct gw_communicator *communicator,
                                     const struct options *options, int *verdict,
                                     struct gw_error *error) {
    struct gw_cluster cluster;
    GW_TRY(gw_calibration_read(communicator, options->check, &cluster, error));
    struct gw_check check = {0};
    enum gw_status status =
        gw_calibration_require_same_hosts(communicator, &cluster, options->device.cuda, error);
    if (status == GW_OK) {
        status = gw_calibration_check(communicator, &options->calibration, &cluster,
                                      options->tolerance, &check, error);
    }
    if (status != GW_BAD_INPUT) { /* all ranks know of bad input */
        gw_job_require(communicator, status, error);
        *verdict = communicator->rank == 0 && !check.describes;
    }
    if (status == GW_OK && communicator->rank == 0 && options->output.json) {
        status = gw_check_print_json(&check, cluster.name, options->tolerance, error);
    } else if (status == GW_OK && communicator->rank == 0) {
        gw_check_print(&check, options->check, options->tolerance);
    }
    gw_check_free(&check);
    gw_cluster_free(&cluster);
    return gw_agree(communicator, status, error);
}

/* ---- rank 0's files ------------------------------------------------------------------------ */

static enum gw_status write_and_print(const struct gw_cluster *cluster,
                                      const struct options *options, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_cluster_document(cluster, &document, error));
    enum gw_status status = gw_json_write(document, options->out, error);
    if (status == GW_OK && options->calibration.journal != NULL) {
        gw_outputs_remove(options->calibration.journal);
    }
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK) {
        gw_calibration_print(cluster, document, &options->calibration, options->out);
    }
    cJSON_Delete(document);
    return status;
}

/* ---- progress ----------------------------------------------------------------------------- */

struct calibration_bar {
    struct gw_progress progress;
    bool speaks; /* rank 0 */
};

static void draw_progress(void *context, double share, const char *what) {
    struct calibration_bar *bar = context;
    gw_progress_update(&bar->progress, share, what);
    if (bar->speaks) {
        gw_log(GW_LOG_VERBOSE, "measuring %s", what);
    }
}

static enum gw_status measure_cluster(struct gw_communicator *communicator,
                                      const struct gw_calibration *asked, struct gw_cluster *out,
                                      struct gw_error *error) {
    bool speaks = communicator->rank == 0;
    struct calibration_bar bar = {.progress = gw_progress_begin("calibrate", speaks),
                                  .speaks = speaks};
    struct gw_calibration calibration = *asked;
    calibration.on_progress = draw_progress;
    calibration.progress_context = &bar;
    enum gw_status status = gw_calibrate(communicator, &calibration, out, error);
    gw_progress_end(&bar.progress);
    return status;
}

/* ---- on every rank ------------------------------------------------------------------------- */

static enum gw_status calibrate_job(struct gw_communicator *communicator,
                                    const struct options *options, struct gw_error *error) {
    struct gw_cluster cluster = {0};
    struct gw_cluster older = {0};
    struct gw_calibration calibration = options->calibration;
    enum gw_status status = GW_OK;
    if (options->add) {
        status = gw_calibration_read_older(communicator, options->out, options->device.cuda, &older,
                                           error);
        calibration.older = &older;
    }
    if (status == GW_OK) {
        status = measure_cluster(communicator, &calibration, &cluster, error);
    }
    if (status != GW_BAD_INPUT) { /* which all ranks know of */
        gw_job_require(communicator, status, error);
    }
    if (status == GW_OK && communicator->rank == 0) {
        status = write_and_print(&cluster, options, error);
    }
    gw_cluster_free(&cluster);
    gw_cluster_free(&older);
    return gw_agree(communicator, status, error);
}

static enum gw_status calibrate_or_check(struct gw_communicator *communicator,
                                         const struct options *options, int *verdict,
                                         struct gw_error *error) {
    enum gw_status status = GW_OK;
    if (options->check != NULL) {
        return check_measured(communicator, options, verdict, error);
    }
    if (communicator->rank == 0) {
        status = gw_file_check_target(options->out, GW_CLUSTER_START, error);
    }
    GW_TRY(gw_agree(communicator, status, error));
    return calibrate_job(communicator, options, error);
}

/* All ranks keep the same compressors for GPUs, so that a missing one fails on all alike. */
static enum gw_status calibrate_on_gpus(struct gw_communicator *communicator,
                                        struct options *options, int *verdict,
                                        struct gw_error *error) {
    struct gw_gpu_job job;
    struct gw_calibration *asked = &options->calibration;
    GW_TRY(gw_gpu_job_open(communicator, &options->device, options->transport, &job, error));
    asked->device = job.device;
    asked->gpu_communicator = &job.communicator;
    const struct gw_compressor **compressors = options->chosen.compressors;
    for (size_t i = 0; asked->compressors != compressors && i < GW_MAX_COMPRESSORS &&
                       (i == 0 || compressors[i - 1] != NULL);
         i++) {
        compressors[i] = asked->compressors[i];
    }
    asked->compressors = compressors;
    bool named = options->only != NULL || options->compressor != NULL;
    enum gw_status status = gw_keep_compressors_for_gpus(compressors, named, error);
    if (status == GW_OK) {
        status = calibrate_or_check(communicator, options, verdict, error);
    }
    gw_gpu_job_close(&job);
    return status;
}

static enum gw_status calibrate_on_rank(struct gw_communicator *communicator, void *context,
                                        int *verdict, struct gw_error *error) {
    struct options *options = context;
    const struct gw_calibration *asked = &options->calibration;
    /* On a GPU a single rank's collectives take time too: copies. */
    bool needs_two = options->device.cuda
                         ? options->only != NULL && (asked->network || asked->overlap)
                         : gw_calibration_exchanges(asked);
    if (communicator->size < 2 && needs_two) {
        return gw_fail(error, GW_BAD_INPUT,
                       "calibrate: expected at least 2 ranks, as one rank has no exchange");
    }
    return options->device.cuda ? calibrate_on_gpus(communicator, options, verdict, error)
                                : calibrate_or_check(communicator, options, verdict, error);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int run_calibrate(void *values, char **argv) {
    struct options *options = values;
    struct gw_error error = {0};
    struct gw_text command;
    FILE *stream = gw_text_open(&command);
    for (size_t i = 0; stream != NULL && argv[i] != NULL; i++) {
        (void)fprintf(stream, "%s %s", i == 0 ? "gradweave" : "", argv[i]);
    }
    (void)gw_text_close(&command, "", NULL);
    const char *file = options->check != NULL ? options->check : options->out;
    char *name = gw_name_after(file);
    char *journal = NULL; /* beside the output, unless that is a device or a pipe */
    struct stat about;
    bool is_special = stat(file, &about) == 0 && !S_ISREG(about.st_mode);
    if (options->check == NULL && !is_special && asprintf(&journal, "%s.partial", file) < 0) {
        journal = NULL;
    }
    options->calibration.command = command.text;
    options->calibration.version = GW_VERSION;
    options->calibration.journal = journal;
    options->calibration.name = options->name != NULL ? options->name : name;
    options->job.outs[0] = options->out;
    enum gw_status status =
        command.text == NULL || name == NULL ? gw_fail_memory(&error, "calibrating") : GW_OK;
    if (status == GW_OK && !gw_mpi_is_inside_job() && options->check == NULL) {
        status = gw_file_check_target(options->out, GW_CLUSTER_START, &error);
    }
    int exit_status = status == GW_OK ? gw_job_run(&options->job, argv, calibrate_on_rank, options)
                                      : gw_cli_fail(&error);
    free(journal);
    free(name);
    free(command.text);
    return exit_status;
}

static struct options options = {.transport = GW_TRANSPORT_ANY};

const struct gw_verb gw_verb_calibrate = {
    .name = "calibrate",
    .title = "measures collectives, messages and compressors on this cluster",
    .usage = "--out CLUSTER.json [--nodes N]\n--check CLUSTER.json [--nodes N]",
    .about = "Measures collectives, messages and compressors on this cluster, through "
             "the same functions that validate runs, and writes their cost curves and LogGP "
             "parameters.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected options only, got",
    .check = complete_options,
    .values = &options,
    .run = run_calibrate,
};
