#include "cli/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/answer.h"
#include "core/core.h"

/* ---- ranks ---------------------------------------------------------------------------------- */

const struct gw_option gw_watch_table[] = {
    {"timeout", 0, "S", GW_POSITIVE, offsetof(struct gw_job_options, timeout_s),
     .help = "Seconds without a sign of life from a rank after which the job is ended; at least 10 "
             "until all ranks have begun",
     .value = "60", .maximum = GW_MAX_SECONDS},
    {0},
};

const struct gw_option gw_job_table[] = {
    {"nodes", 0, "N", GW_COUNT, offsetof(struct gw_job_options, nodes),
     .help = "Start an MPI job of N ranks (not needed inside one)", .maximum = GW_MAX_RANKS},
    {"hostfile", 0, "FILE", GW_TEXT, offsetof(struct gw_job_options, hostfile),
     .help = "Hosts for --nodes, passed to mpirun",
     .otherwise = "the Slurm allocation's, or this one", .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .table = gw_watch_table},
    {0},
};

void gw_job_require(struct gw_communicator *communicator, enum gw_status status,
                    const struct gw_error *error) {
    if (status != GW_OK) {
        char host[GW_HOST_SIZE] = "";
        (void)gethostname(host, sizeof host - 1);
        gw_print_to(stderr, "gradweave: rank %d on %s: %s\n", communicator->rank, host,
                    error->message);
        (void)fflush(stderr);
        gw_outputs_discard();
        communicator->transport->abort(communicator, (int)status);
    }
}

/* Aborts the job of a silent rank, from the watch's thread. */
static void end_job(void *context, int rank, const char *host, double silent_s) {
    struct gw_communicator *communicator = context;
    char phase[GW_PHASE_SIZE];
    gw_progress_phase(phase);
    (void)fprintf(stderr, "gradweave: rank %d on %s has not answered for %.0f s%s%s\n", rank, host,
                  silent_s, phase[0] == '\0' ? "" : ", during ", phase);
    (void)fflush(stderr);
    communicator->transport->abort(communicator, GW_FAILED);
}

/* Ends this rank before MPI has begun; its launcher then ends the job. */
static void give_up(void *context, double seconds) {
    (void)context;
    char host[GW_HOST_SIZE] = "";
    (void)gethostname(host, sizeof host - 1);
    (void)fprintf(stderr,
                  "gradweave: rank %d on %s: expected all ranks of the job to begin within %g s\n",
                  gw_mpi_job_rank(), host, seconds);
    (void)fflush(stderr);
    gw_mpi_job_ends();
    _exit(GW_FAILED);
}

/* Shortest time limit for ranks to start, whatever --timeout, in seconds. */
static const double shortest_start_s = 10;

static double start_s(const struct gw_job_options *options) {
    return fmax(options->timeout_s, shortest_start_s);
}

/* Opens MPI under an alarm, and the watch that takes over from it. */
static enum gw_status begin_job(const struct gw_job_options *options,
                                struct gw_communicator *communicator, struct gw_watch **watch,
                                struct gw_error *error) {
    struct gw_alarm *alarm = NULL;
    gw_mpi_rank_begins();
    GW_TRY(gw_alarm_open(start_s(options), give_up, NULL, &alarm, error));
    enum gw_status status = gw_communicator_open_mpi(communicator, error);
    if (status != GW_OK) {
        *communicator = (struct gw_communicator){0};
    } else {
        status =
            gw_watch_open(communicator, options->timeout_s, end_job, communicator, watch, error);
    }
    gw_alarm_close(alarm);
    return status;
}

static int run_rank(const struct gw_job_options *options, gw_job_body *body, void *context) {
    struct gw_error error = {0};
    struct gw_communicator communicator = {0};
    struct gw_watch *watch = NULL;
    int verdict = GW_OK;
    enum gw_status status = begin_job(options, &communicator, &watch, &error);
    if (communicator.transport == NULL) {
        bool all_see_it = status == GW_BAD_INPUT;
        bool speaks = gw_mpi_job_rank() == 0 || !all_see_it;
        return gw_mpi_exit_status(speaks ? gw_cli_fail(&error) : (int)status);
    }
    if (status == GW_OK && options->nodes > 0 && options->nodes != (size_t)communicator.size) {
        status = gw_fail(&error, GW_BAD_INPUT,
                         "--nodes: expected %d, the size of the MPI job it was started in, got %zu",
                         communicator.size, options->nodes);
    }
    if (status == GW_OK) {
        status = body(&communicator, context, &verdict, &error);
    }
    /* Rank 0 alone reports a status: launchers kill the others as soon as one rank fails. */
    bool speaks = communicator.rank == 0;
    if (status != GW_OK && speaks) {
        verdict = gw_cli_fail(&error);
    }
    communicator.transport->close(&communicator);
    gw_watch_close(watch); /* MPI ends when all ranks are done */
    return speaks ? gw_mpi_exit_status(verdict) : GW_OK;
}

int gw_job_run(const struct gw_job_options *options, char **argv, gw_job_body *body,
               void *context) {
    if (gw_mpi_is_inside_job()) {
        return run_rank(options, body, context);
    }
    struct gw_error error = {0};
    struct gw_launch launch = {.ranks = (int)options->nodes,
                               .hostfile = options->hostfile,
                               .arguments = argv,
                               .start_s = start_s(options)};
    int exit_status = GW_OK;
    enum gw_status status = gw_answer_open(&launch.answer, &error);
    status = status == GW_OK ? gw_launch_mpi(&launch, &exit_status, &error) : status;
    status = status == GW_OK ? gw_answer_print(launch.answer, &error) : status;
    for (size_t i = 0; i < sizeof options->outs / sizeof *options->outs; i++) {
        gw_answer_keep(options->outs[i]); /* which rank 0 has put in place */
    }
    return status == GW_OK ? exit_status : gw_cli_fail(&error);
}

/* ---- --device ------------------------------------------------------------------------------- */

enum { MOST_GPUS = 64 };

const char *const gw_device_kinds[] = {"cpu", "cuda", NULL};

void gw_read_device(const char *argument, void *target) {
    struct gw_device_choice choice = {0};
    static const char cuda[] = "cuda";
    const char *number = argument + strlen(cuda);
    bool is_whole = strcmp(argument, "cpu") == 0;
    if (strncmp(argument, cuda, strlen(cuda)) == 0) {
        choice.cuda = true;
        choice.chosen = *number == ':';
        size_t digits = choice.chosen ? strspn(number + 1, "0123456789") : 0;
        is_whole = choice.chosen ? digits > 0 && digits < 4 && number[1 + digits] == '\0'
                                 : *number == '\0';
    }
    if (!is_whole) {
        gw_refuse("--device: expected cpu, cuda or cuda:N, got \"%s\"", argument);
    }
    choice.ordinal = choice.chosen ? strtoul(number + 1, NULL, 10) : 0;
    *(struct gw_device_choice *)target = choice;
}

enum gw_status gw_device_choice_open(const struct gw_device_choice *choice, size_t local_rank,
                                     struct gw_device **out, struct gw_gpu *described,
                                     struct gw_error *error) {
    struct gw_gpu gpus[MOST_GPUS];
    size_t count = gw_cuda_devices(gpus, MOST_GPUS);
    size_t ordinal = choice->chosen || count == 0 ? choice->ordinal : local_rank % count;
    GW_TRY(gw_device_open(out, ordinal, error));
    if (described != NULL) {
        *described = ordinal < count ? gpus[ordinal] : (struct gw_gpu){0};
    }
    return GW_OK;
}

/* ---- GPUs of ranks -------------------------------------------------------------------------- */

const char *const gw_transport_choices[] = {
    [GW_TRANSPORT_NCCL] = "nccl", [GW_TRANSPORT_MPI] = "mpi", NULL};

static enum gw_status open_communicator(struct gw_gpu_job *job, struct gw_communicator *ranks,
                                        enum gw_transport_choice transport,
                                        struct gw_error *error) {
    struct gw_gpu_settings settings = {.transport = transport == GW_TRANSPORT_NCCL ? GW_GPU_NCCL
                                                                                   : GW_GPU_MPI,
                                       .stream = job->stream};
    if (transport == GW_TRANSPORT_ANY) {
        size_t sharing = 0;
        GW_TRY(gw_gpu_transport_choose(ranks, job->device, &settings.transport, &sharing, error));
    }
    return gw_communicator_open_gpu(&job->communicator, ranks, &settings, error);
}

enum gw_status gw_gpu_job_open(struct gw_communicator *ranks, const struct gw_device_choice *device,
                               enum gw_transport_choice transport, struct gw_gpu_job *out,
                               struct gw_error *error) {
    size_t local_rank = 0;
    *out = (struct gw_gpu_job){0};
    GW_TRY(gw_find_local_rank(ranks, &local_rank, error));
    enum gw_status status =
        gw_device_choice_open(device, local_rank, &out->device, &out->gpu, error);
    if (status == GW_OK) {
        status = gw_device_stream_open(out->device, true, &out->stream, error);
    }
    status = gw_agree(ranks, status, error);
    if (status == GW_OK) {
        status = open_communicator(out, ranks, transport, error);
    }
    if (status != GW_OK) {
        gw_gpu_job_close(out);
    }
    return status;
}

void gw_gpu_job_close(struct gw_gpu_job *job) {
    if (job->communicator.transport != NULL) {
        job->communicator.transport->close(&job->communicator);
    }
    gw_device_stream_close(job->stream);
    gw_device_close(job->device);
    *job = (struct gw_gpu_job){0};
}
