#include <inttypes.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "cli/making.h"
#include "methods/methods.h"
#include "report/sweep.h"
#include "study/points.h"

struct options {
    struct gw_output_options output;
    struct gw_grid_request request;
    struct gw_making_options made;
    struct outs {
        size_t count;
        const char *paths[GW_SWEEP_MAX_FILES];
    } outs;
    bool resume;
    size_t threads; /* 0: not given */
    struct gw_job_options job;
};

#define IN(member) offsetof(struct options, member)
#define AXIS(axis) offsetof(struct options, request.texts[GW_AXIS_##axis])

static void read_out(const char *argument, void *target) {
    struct outs *outs = target;
    if (outs->count == GW_SWEEP_MAX_FILES) {
        gw_refuse("--out: expected at most %d of them", GW_SWEEP_MAX_FILES);
    }
    outs->paths[outs->count++] = argument;
}

static const struct gw_option option_table[] = {
    {NULL, 0, "JOB.json", GW_TEXT, IN(request.job), .help = "A file with these options' values",
     .names = GW_NAMES_FILES},
    {"model", 0, "M[,N..]", GW_TEXT, AXIS(MODEL),
     .help =
         "Models: files, or names of those that ship, or of networks that are made (see gradweave "
         "list networks)",
     .names = GW_NAMES_NETWORKS, .is_list = true},
    {"cluster", 0, "C[,D..]", GW_TEXT, AXIS(CLUSTER),
     .help = "Clusters: files, or names of those that ship", .names = GW_NAMES_CLUSTERS,
     .is_list = true},
    {.kind = GW_INCLUDE, .offset = IN(made), .table = gw_making_table},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, AXIS(ALGORITHM), .help = "Pipelines", .otherwise = "all",
     .names = GW_NAMES_ALGORITHMS, .is_list = true},
    {.kind = GW_INCLUDE, .offset = IN(request.changes), .table = gw_changes_table},
    {.kind = GW_INCLUDE, .offset = IN(request.interference), .table = gw_interference_table},
    {"workers", 0, "VALUES", GW_TEXT, AXIS(WORKERS),
     .help = "Numbers of workers, such as 2,4,8, 2:64 (each twice the one before) or 2:64:log6",
     .otherwise = "the cluster's"},
    {"density", 0, "VALUES", GW_TEXT, AXIS(DENSITY),
     .help = "Shares of elements that compressors keep, such as 1e-4:1e-1:log10",
     .otherwise = GW_USUAL_DENSITY_TEXT},
    {"bandwidth", 0, "VALUES", GW_TEXT, AXIS(BANDWIDTH),
     .help = "Bandwidths, such as 1gbit:100gbit, or factors on the measured one: 0.1x:10x:log5",
     .otherwise = "1x"},
    {"straggler", 0, "VALUES", GW_TEXT, AXIS(STRAGGLER),
     .help = "Factors on the compute times of worker 0, such as 1,1.5,2", .otherwise = "1"},
    {"noise", 0, "VALUES", GW_TEXT, AXIS(NOISE),
     .help = "Lognormal noise on every compute time, such as 0,0.05,0.1", .otherwise = "0"},
    {.kind = GW_INCLUDE, .offset = IN(request.micro_batches), .table = gw_accumulate_table},
    {"iterations", 'n', "N", GW_COUNT, IN(request.iterations),
     .help = "Number of iterations of each point", .otherwise = "1"},
    {"seed", 's', "S", GW_INTEGER, IN(request.seed),
     .help = "Seed of the noise, for each point alike", .otherwise = "1"},
    {"out", 'o', "FILE.csv|.jsonl", GW_CUSTOM, IN(outs),
     .help = "Write a row for each point; can be repeated", .names = GW_NAMES_FILES, .writes = true,
     .read = read_out},
    {"resume", 0, NULL, GW_FLAG, IN(resume),
     .help = "Continue an interrupted sweep, if there is one"},
    {"threads", 0, "N", GW_COUNT, IN(threads), .help = "Threads",
     .otherwise = "the cores; in an MPI job 1 on each rank", .maximum = GW_MAX_THREADS},
    {.kind = GW_INCLUDE, .offset = IN(job), .table = gw_watch_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "JOB.json model", "expected --model MODEL or a JOB.json"},
    {NULL, GW_NEEDS, "JOB.json cluster nodes",
     "expected --cluster CLUSTER or a JOB.json; or --nodes N --network LINK --gpu GPU"},
    GW_MAKING_RULES(" network"),
    {"resume", GW_NEEDS, "out", "--resume: expected --out FILE with it"},
    {0},
};

/* ---- on any thread of any rank --------------------------------------------------------------- */

struct sweep {
    const struct options *options;
    struct gw_grid grid;
    struct gw_sweep_output output;
    struct gw_progress progress;
};

/* Encodes a point's answer: a prediction, or that it is infeasible. Fails if memory ran out. */
static enum gw_status answer_point(uint64_t number, FILE *stream, void *context,
                                   struct gw_error *error) {
    const struct sweep *sweep = context;
    struct gw_point point = gw_grid_point(&sweep->grid, number);
    struct gw_prediction prediction;
    gw_point_predict(&sweep->grid, &point, &prediction);
    if (prediction.status != GW_OK && prediction.status != GW_BAD_INPUT) {
        return gw_fail(error, prediction.status, "point %" PRIu64 ": %.400s", number,
                       prediction.why.message);
    }
    return gw_sweep_encode(&sweep->output, &point, &prediction, stream, error);
}

/* ---- on rank 0 ------------------------------------------------------------------------------- */

static enum gw_status take_answer(uint64_t number, const char *text, size_t length, bool last,
                                  void *context, struct gw_error *error) {
    struct sweep *sweep = context;
    char what[3 * GW_UNITS_SIZE];
    double done = (double)number + 1;
    double all = (double)sweep->grid.point_count;
    (void)snprintf(what, sizeof what, "%s of %s points", GW_NUMBER(done), GW_NUMBER(all));
    gw_progress_update(&sweep->progress, done / all, what);
    return gw_sweep_output_take(&sweep->output, number, text, length, last, error);
}

/* ---- on every rank ------------------------------------------------------------------------- */

static enum gw_status sweep_all(struct sweep *sweep, struct gw_communicator *communicator,
                                struct gw_error *error) {
    size_t alone = communicator == NULL ? gw_cores() : 1;
    const struct gw_shared_points points = {
        .first = sweep->output.done,
        .count = sweep->grid.point_count,
        .threads = sweep->options->threads > 0 ? sweep->options->threads : alone,
        .context = sweep,
        .answer = answer_point,
        .take = take_answer};
    double start_s = gw_clock_now_s();
    bool first = communicator == NULL || communicator->rank == 0;
    sweep->progress = gw_progress_begin("sweep", first);
    sweep->progress.first_share = (double)points.first / (double)points.count;
    enum gw_status status = gw_share_points(&points, communicator, error);
    gw_progress_end(&sweep->progress);
    return status == GW_OK && first
               ? gw_sweep_output_print(&sweep->output, gw_clock_now_s() - start_s, error)
               : status;
}

/* Opens the grid and, on rank 0, the output; any rank's failure fails all. */
static enum gw_status open_sweep(struct sweep *sweep, struct gw_communicator *communicator,
                                 struct gw_error *error) {
    enum gw_status status = gw_grid_open(&sweep->options->request, &sweep->grid, error);
    if (communicator == NULL) {
        return status == GW_OK ? gw_sweep_output_open(&sweep->output, sweep->options->resume, error)
                               : status;
    }
    GW_TRY(gw_agree(communicator, status, error));
    GW_TRY(gw_agree(communicator, gw_grid_require_alike(&sweep->grid, communicator, error), error));
    status = communicator->rank == 0
                 ? gw_sweep_output_open(&sweep->output, sweep->options->resume, error)
                 : GW_OK;
    GW_TRY(gw_agree(communicator, status, error));
    return gw_broadcast(communicator, 0, &sweep->output.done, sizeof sweep->output.done, error);
}

static enum gw_status sweep_on_rank(struct gw_communicator *communicator, void *context,
                                    int *verdict, struct gw_error *error) {
    const struct options *options = context;
    struct sweep sweep = {.options = options,
                          .output = {.paths = options->outs.paths,
                                     .path_count = options->outs.count,
                                     .json = options->output.json}};
    sweep.output.grid = &sweep.grid;
    (void)verdict;
    enum gw_status status = open_sweep(&sweep, communicator, error);
    if (status == GW_OK) {
        status = sweep_all(&sweep, communicator, error);
    }
    gw_sweep_output_close(&sweep.output);
    gw_grid_close(&sweep.grid);
    return status;
}

static int run(void *values, char **argv) {
    struct options *options = values;
    struct gw_error error = {0};
    struct gw_cluster cluster = {0};
    int verdict = GW_OK;
    options->request.make = gw_make_for_grid;
    options->request.making = &options->made;
    if (options->made.cluster.nodes > 0) {
        if (gw_cluster_open_or_make(&options->made, NULL, &cluster, &error) != GW_OK) {
            return gw_cli_fail(&error);
        }
        options->made.made = &cluster;
        options->request.texts[GW_AXIS_CLUSTER] = cluster.name;
    }
    options->request.seeded = gw_option_is_given("seed");
    int exit_status =
        gw_mpi_is_inside_job() ? gw_job_run(&options->job, argv, sweep_on_rank, options)
        : sweep_on_rank(NULL, options, &verdict, &error) == GW_OK ? GW_OK
                                                                  : gw_cli_fail(&error);
    gw_cluster_free(&cluster);
    return exit_status;
}

static struct options options = {.made = GW_MAKING_NOTHING};

const struct gw_verb gw_verb_sweep = {
    .name = "sweep",
    .title = "predicts many points of a grid, on all cores and ranks",
    .usage = "--model MODEL --cluster CLUSTER\n--model NETWORK --gpu GPU --nodes N --network "
             "LINK\nJOB.json",
    .about =
        "Predicts an iteration for every combination of models, clusters, pipelines and numbers, "
        "on all cores, and on all ranks of an MPI job that starts it.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one JOB.json, got also",
    .values = &options,
    .run = run,
};
