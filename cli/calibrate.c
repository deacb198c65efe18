#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/calibrate_check.h"
#include "cli/calibrate_options.h"
#include "cli/calibrate_report.h"

/* ---- rank 0's files ------------------------------------------------------------------------ */

static enum gw_status write_and_print(const struct gw_cluster *cluster,
                                      const struct gw_calibrate_options *options,
                                      struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_cluster_document(cluster, &document, error));
    enum gw_status status = gw_json_write(document, options->out, error);
    if (status == GW_OK && options->calibration.journal != NULL) {
        (void)unlink(options->calibration.journal);
    }
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK) {
        gw_calibrate_print(cluster, document, &options->calibration, options->out);
    }
    cJSON_Delete(document);
    return status;
}

/* The cluster that curves are added to, which must be of the same hosts; on rank 0 it is read. */
static enum gw_status read_older(struct gw_communicator *communicator,
                                 const struct gw_calibrate_options *options,
                                 struct gw_cluster *older, struct gw_error *error) {
    enum gw_status status =
        communicator->rank == 0 ? gw_cluster_read(options->out, older, error) : GW_OK;
    GW_TRY(gw_agree(communicator, status, error));
    status = gw_calibration_require_same_hosts(communicator, older, error);
    if (status == GW_OK && communicator->rank == 0) {
        status = gw_calibrate_require_device(older, options, error);
    }
    status = gw_agree(communicator, status, error);
    if (status != GW_OK) {
        gw_cluster_free(older);
    }
    return status;
}

/* ---- on every rank ------------------------------------------------------------------------- */

static enum gw_status calibrate(struct gw_communicator *communicator,
                                const struct gw_calibrate_options *options,
                                struct gw_error *error) {
    struct gw_cluster cluster = {0};
    struct gw_cluster older = {0};
    GW_TRY(options->add ? read_older(communicator, options, &older, error) : GW_OK);
    enum gw_status status = gw_calibrate(communicator, &options->calibration, &cluster, error);
    if (status != GW_BAD_INPUT) { /* which all ranks know of */
        gw_job_require(communicator, status, error);
    }
    if (status == GW_OK && communicator->rank == 0 && options->add) {
        status = gw_calibration_add_older(&cluster, &older, error);
    }
    if (status == GW_OK && communicator->rank == 0) {
        status = write_and_print(&cluster, options, error);
    }
    gw_cluster_free(&cluster);
    gw_cluster_free(&older);
    return gw_agree(communicator, status, error);
}

static enum gw_status calibrate_or_check(struct gw_communicator *communicator,
                                         const struct gw_calibrate_options *options, int *verdict,
                                         struct gw_error *error) {
    enum gw_status status = GW_OK;
    if (options->check != NULL) {
        return gw_calibrate_recheck(communicator, options, verdict, error);
    }
    if (communicator->rank == 0) {
        status = gw_file_check_target(options->out, error);
    }
    GW_TRY(gw_agree(communicator, status, error));
    return calibrate(communicator, options, error);
}

/* The compressors asked for are on every rank the same, and so is what is missing of them. */
static enum gw_status calibrate_on_gpus(struct gw_communicator *communicator,
                                        struct gw_calibrate_options *options, int *verdict,
                                        struct gw_error *error) {
    struct gw_gpu_job job;
    struct gw_calibration *asked = &options->calibration;
    GW_TRY(gw_gpu_job_open(communicator, &options->device, options->transport, &job, error));
    asked->device = job.device;
    asked->gpu_communicator = &job.communicator;
    for (size_t i = 0; asked->compressors != options->compressors && i < GW_MOST_COMPRESSORS &&
                       (i == 0 || options->compressors[i - 1] != NULL);
         i++) {
        options->compressors[i] = asked->compressors[i];
    }
    asked->compressors = options->compressors;
    bool named = options->only != NULL || options->compressor != NULL;
    enum gw_status status = gw_keep_compressors_for_gpus(options->compressors, named, error);
    if (status == GW_OK) {
        status = calibrate_or_check(communicator, options, verdict, error);
    }
    gw_gpu_job_close(&job);
    return status;
}

/* Collectives of one rank on a GPU take time all the same: its library copies. */
static bool needs_two(const struct gw_calibrate_options *options) {
    const struct gw_calibration *asked = &options->calibration;
    bool named = options->only != NULL && (asked->network || asked->overlap);
    bool exchanges = asked->collectives[0] != NULL || asked->network || asked->overlap;
    return options->device.cuda ? named : exchanges;
}

static enum gw_status body(struct gw_communicator *communicator, void *context, int *verdict,
                           struct gw_error *error) {
    struct gw_calibrate_options *options = context;
    if (communicator->size < 2 && needs_two(options)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "calibrate: expected at least 2 ranks, as one exchanges nothing");
    }
    return options->device.cuda ? calibrate_on_gpus(communicator, options, verdict, error)
                                : calibrate_or_check(communicator, options, verdict, error);
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

/* Beside the file to come; none for devices and pipes, which have no such place. */
static char *journal_for(const char *path) {
    struct stat about;
    char *journal = NULL;
    bool is_special = stat(path, &about) == 0 && !S_ISREG(about.st_mode);
    return !is_special && asprintf(&journal, "%s.partial", path) >= 0 ? journal : NULL;
}

static int run(int argc, char **argv) {
    struct gw_calibrate_options options = {.calibration = gw_calibration_defaults(),
                                           .transport = GW_TRANSPORT_ANY};
    struct gw_error error = {0};
    /* Before parsing: argp moves the options to the front of argv. */
    char *command = join_command(argc, argv);
    gw_parse_options(&gw_verb_calibrate, argc, argv, &options);
    const char *file = options.check != NULL ? options.check : options.out;
    char *name = name_after(file);
    char *journal = options.check != NULL ? NULL : journal_for(file);
    options.calibration.command = command == NULL ? "" : command;
    options.calibration.version = GW_VERSION;
    options.calibration.journal = journal;
    options.calibration.name = options.name != NULL ? options.name : name == NULL ? "" : name;
    enum gw_status status = GW_OK;
    if (!gw_mpi_is_inside_job() && options.check == NULL) {
        status = gw_file_check_target(options.out, &error);
    }
    int exit_status =
        status == GW_OK ? gw_job_run(&options.job, argv, body, &options) : gw_cli_fail(&error);
    free(journal);
    free(name);
    free(command);
    return exit_status;
}

const struct gw_verb gw_verb_calibrate = {
    .name = "calibrate",
    .title = "what collectives, messages and compressors cost on this cluster",
    .usage = "--out CLUSTER.json [--nodes N]\n--check CLUSTER.json [--nodes N]",
    .about = "Measures what collectives, messages and compressors cost on this cluster, through "
             "the same functions that validate runs, and writes their cost curves and LogGP "
             "parameters.",
    .options = gw_calibrate_table,
    .rules = gw_calibrate_rules,
    .surplus = "expected options only, got",
    .check = gw_calibrate_settle,
    .run = run,
};
