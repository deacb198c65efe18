#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "report/sweep.h"

struct options {
    struct gw_output_options output;
    struct gw_grid_request request;
    struct outs {
        size_t count;
        const char *paths[GW_SWEEP_MOST_FILES];
    } outs;
    bool resume;
    size_t threads; /* 0: not given */
};

#define IN(member) offsetof(struct options, member)
#define AXIS(axis) offsetof(struct options, request.texts[GW_AXIS_##axis])

static void read_out(char *argument, void *target, struct argp_state *state) {
    struct outs *outs = target;
    if (outs->count == GW_SWEEP_MOST_FILES) {
        gw_refuse(state, "--out: expected at most %d of them", GW_SWEEP_MOST_FILES);
    }
    outs->paths[outs->count++] = argument;
}

static const struct gw_option option_table[] = {
    {NULL, 0, "JOB.json", GW_TEXT, IN(request.job), .help = "A file with these options' values",
     .names = GW_NAMES_FILES},
    {"model", 0, "M[,N..]", GW_TEXT, AXIS(MODEL),
     .help = "Models: files, or names of those that ship", .names = GW_NAMES_MODELS,
     .is_list = true},
    {"cluster", 0, "C[,D..]", GW_TEXT, AXIS(CLUSTER),
     .help = "Clusters: files, or names of those that ship", .names = GW_NAMES_CLUSTERS,
     .is_list = true},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, AXIS(ALGORITHM), .help = "Pipelines", .otherwise = "all",
     .names = GW_NAMES_ALGORITHMS, .is_list = true},
    {.kind = GW_INCLUDE, .offset = IN(request.changes), .table = gw_changes_table},
    {"workers", 0, "VALUES", GW_TEXT, AXIS(WORKERS),
     .help = "Numbers of workers, such as 2,4,8 or 2:64:log6", .otherwise = "the cluster's"},
    {"density", 0, "VALUES", GW_TEXT, AXIS(DENSITY),
     .help = "Shares of elements that compressors keep, such as 1e-4:1e-1:log10",
     .otherwise = "0.001"},
    {"bandwidth", 0, "VALUES", GW_TEXT, AXIS(BANDWIDTH),
     .help = "Bandwidths as factors of what was measured, such as 0.1x:10x:log5",
     .otherwise = "1x"},
    {"straggler", 0, "VALUES", GW_TEXT, AXIS(STRAGGLER),
     .help = "Factors on the compute times of worker 0, such as 1,1.5,2", .otherwise = "1"},
    {"noise", 0, "VALUES", GW_TEXT, AXIS(NOISE),
     .help = "Lognormal noise on every compute time, such as 0,0.05,0.1", .otherwise = "0"},
    {"iterations", 'n', "N", GW_COUNT, IN(request.iterations),
     .help = "Number of iterations of each point", .otherwise = "1"},
    {"seed", 's', "S", GW_INTEGER, IN(request.seed),
     .help = "Seed of the noise, for each point alike", .otherwise = "1"},
    {"out", 'o', "FILE.csv|.jsonl", GW_CUSTOM, IN(outs),
     .help = "Write a row for each point; can be repeated", .names = GW_NAMES_FILES,
     .read = read_out},
    {"resume", 0, NULL, GW_FLAG, IN(resume),
     .help = "Continue a sweep that was interrupted, where there is one"},
    {"threads", 0, "N", GW_COUNT, IN(threads), .help = "Threads",
     .otherwise = "the cores; in an MPI job 1 on each rank", .maximum = 1024},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "JOB.json model", "expected --model MODEL or a JOB.json"},
    {NULL, GW_NEEDS, "JOB.json cluster", "expected --cluster CLUSTER or a JOB.json"},
    {"resume", GW_NEEDS, "out", "--resume: expected --out FILE with it"},
    {0},
};

/* ---- on any thread of any rank ------------------------------------------------------------- */

struct sweep {
    const struct options *options;
    struct gw_grid grid;
    uint64_t done; /* points that an earlier sweep has left in the files, as rank 0 sees them */
    /* On rank 0 alone. */
    struct gw_sweep_files files;
    struct gw_sweep_table table; /* without files, for a person ... */
    cJSON *points;               /* ... or for programs */
    uint64_t infeasible;
    struct gw_progress progress;
};

/* What comes to rank 0 of a point, below its prediction, or its rows where there are files. */
struct answer {
    enum gw_status status; /* as a prediction's */
    size_t lengths[GW_SWEEP_MOST_FILES];
};

/* The point's row in each file, behind each other. */
static enum gw_status put_rows(const struct sweep *sweep, const struct gw_point *point,
                               const struct gw_prediction *prediction, struct answer *answer,
                               FILE *stream, struct gw_error *error) {
    const struct options *options = sweep->options;
    off_t begin = ftello(stream);
    for (size_t i = 0; i < options->outs.count; i++) {
        GW_TRY(gw_sweep_put_row(stream, options->outs.paths[i], &sweep->grid, point, prediction,
                                error));
        answer->lengths[i] = (size_t)(ftello(stream) - begin);
        begin += (off_t)answer->lengths[i];
    }
    return GW_OK;
}

/* An infeasible point is an answer; memory that ran out is not, and is not written as one. */
static enum gw_status answer_point(uint64_t number, FILE *stream, void *context,
                                   struct gw_error *error) {
    const struct sweep *sweep = context;
    struct gw_point point = gw_grid_point(&sweep->grid, number);
    struct gw_prediction prediction;
    struct answer answer = {0};
    gw_point_predict(&sweep->grid, &point, &prediction);
    answer.status = prediction.status;
    if (prediction.status != GW_OK && prediction.status != GW_BAD_INPUT) {
        return gw_fail(error, prediction.status, "point %" PRIu64 ": %.400s", number,
                       prediction.why.message);
    }
    if (sweep->options->outs.count == 0) {
        (void)fwrite(&prediction, sizeof prediction, 1, stream);
    }
    GW_TRY(put_rows(sweep, &point, &prediction, &answer, stream, error));
    (void)fwrite(&answer, sizeof answer, 1, stream);
    return GW_OK;
}

/* ---- on rank 0 ----------------------------------------------------------------------------- */

static enum gw_status add_document(struct sweep *sweep, const struct gw_point *point,
                                   const struct gw_prediction *prediction, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_sweep_document(&sweep->grid, point, prediction, &document, error));
    return gw_json_append(sweep->points, document, error);
}

static void show_progress(struct sweep *sweep, uint64_t done) {
    char texts[2][GW_UNITS_SIZE];
    char what[3 * GW_UNITS_SIZE];
    double all = (double)sweep->grid.point_count;
    snprintf(what, sizeof what, "%s of %s points", gw_format_count((double)done, texts[0]),
             gw_format_count(all, texts[1]));
    gw_progress_update(&sweep->progress, (double)done / all, what);
}

/* The prediction, with the names that it has on this rank. */
static struct gw_prediction read_prediction(const struct gw_grid *grid,
                                            const struct gw_point *point, const char *text) {
    struct gw_prediction prediction;
    memcpy(&prediction, text, sizeof prediction);
    prediction.result.model = grid->models[point->at[GW_AXIS_MODEL]].name;
    gw_result_name(&prediction.result, &grid->algorithms[point->at[GW_AXIS_ALGORITHM]]);
    return prediction;
}

static enum gw_status take_answer(uint64_t number, const char *text, size_t length, bool last,
                                  void *context, struct gw_error *error) {
    struct sweep *sweep = context;
    struct answer answer;
    memcpy(&answer, text + length - sizeof answer, sizeof answer);
    sweep->infeasible += answer.status != GW_OK;
    show_progress(sweep, number + 1);
    if (sweep->files.count > 0) {
        return gw_sweep_files_append(&sweep->files, text, answer.lengths, last, error);
    }
    struct gw_point point = gw_grid_point(&sweep->grid, number);
    struct gw_prediction prediction = read_prediction(&sweep->grid, &point, text);
    if (sweep->points != NULL) {
        return add_document(sweep, &point, &prediction, error);
    }
    gw_sweep_table_add(&sweep->table, &sweep->grid, &point, &prediction);
    return GW_OK;
}

/* Begins what rows go to: files, a list of documents or a table. */
static enum gw_status open_answer(struct sweep *sweep, struct gw_error *error) {
    enum { most_shown = 100000 };
    const struct options *options = sweep->options;
    if (options->outs.count > 0) {
        GW_TRY(gw_sweep_files_open(options->outs.paths, options->outs.count, &sweep->grid,
                                   options->resume, &sweep->files, error));
        sweep->infeasible = sweep->files.infeasible;
        sweep->done = sweep->files.done;
        return GW_OK;
    }
    if (sweep->grid.point_count > most_shown) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected --out FILE for %" PRIu64 " points, which are more than %d",
                       sweep->grid.point_count, most_shown);
    }
    if (options->output.json) {
        sweep->points = cJSON_CreateArray();
        return sweep->points == NULL ? gw_fail_memory(error, "sweeping") : GW_OK;
    }
    gw_sweep_table_open(&sweep->table, &sweep->grid);
    return GW_OK;
}

static enum gw_status put_answer(struct sweep *sweep, cJSON *document, struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/sweep-result@1", error));
    GW_TRY(gw_json_put_number(document, "point_count", (double)sweep->grid.point_count, error));
    GW_TRY(gw_json_put_number(document, "infeasible_count", (double)sweep->infeasible, error));
    GW_TRY(gw_json_put_number(document, "resumed_count", (double)sweep->done, error));
    if (sweep->points != NULL) {
        cJSON *points = sweep->points;
        sweep->points = NULL;
        return gw_json_put(document, "points", points, error);
    }
    return gw_json_put_texts(document, "files", (char *const *)(void *)sweep->options->outs.paths,
                             sweep->options->outs.count, error);
}

static void print_files(const struct sweep *sweep, double seconds) {
    char texts[2][GW_UNITS_SIZE];
    double simulated = (double)(sweep->grid.point_count - sweep->done);
    printf("%s points, %s of them infeasible, in ",
           gw_format_count((double)sweep->grid.point_count, texts[0]),
           gw_format_count((double)sweep->infeasible, texts[1]));
    for (size_t i = 0; i < sweep->files.count; i++) {
        printf("%s%s", i == 0 ? "" : ", ", sweep->files.files[i].path);
    }
    printf("\n%s simulated in %s", gw_format_count(simulated, texts[0]),
           gw_format_seconds(seconds, texts[1]));
    if (simulated > 0 && seconds > 0) {
        printf(", %s a second", gw_format_count(simulated / seconds, texts[0]));
    }
    printf("\n");
}

static enum gw_status present(struct sweep *sweep, double seconds, struct gw_error *error) {
    if (sweep->files.count > 0) {
        GW_TRY(gw_sweep_files_finish(&sweep->files, error));
    }
    if (sweep->options->output.json) {
        cJSON *document = cJSON_CreateObject();
        return gw_print_filled(document, put_answer(sweep, document, error), error);
    }
    if (sweep->files.count > 0) {
        print_files(sweep, seconds);
    } else {
        gw_sweep_table_print(&sweep->table, &sweep->grid);
    }
    return GW_OK;
}

/* ---- on every rank ------------------------------------------------------------------------- */

static enum gw_status sweep_all(struct sweep *sweep, struct gw_communicator *communicator,
                                struct gw_error *error) {
    size_t alone = communicator == NULL ? gw_cores() : 1;
    const struct gw_shared_points points = {
        .first = sweep->done,
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
    return status == GW_OK && first ? present(sweep, gw_clock_now_s() - start_s, error) : status;
}

static void close_sweep(struct sweep *sweep) {
    gw_sweep_files_close(&sweep->files);
    gw_table_close(sweep->table.table);
    cJSON_Delete(sweep->points);
    gw_grid_close(&sweep->grid);
}

/* All ranks compare their fingerprints: files of one name may differ between hosts. */
static enum gw_status check_alike(const struct gw_grid *grid, struct gw_communicator *communicator,
                                  struct gw_error *error) {
    enum { parts = 2 };
    const uint64_t own[parts] = {grid->request_fingerprint, grid->inputs_fingerprint};
    uint64_t *all = calloc((size_t)communicator->size, sizeof own);
    if (all == NULL) {
        return gw_fail_memory(error, "comparing ranks");
    }
    enum gw_status status =
        communicator->transport->allgather(communicator, own, sizeof own, all, error);
    for (int rank = 1; rank < communicator->size && status == GW_OK; rank++) {
        if (memcmp(all, all + parts * rank, sizeof own) != 0) {
            status = gw_fail(error, GW_BAD_INPUT,
                             "rank %d: expected the models, clusters and options that rank 0 has, "
                             "got others",
                             rank);
        }
    }
    free(all);
    return status;
}

/* What can be told without simulating anything, agreed on by all ranks. */
static enum gw_status open_sweep(struct sweep *sweep, struct gw_communicator *communicator,
                                 struct gw_error *error) {
    enum gw_status status = gw_grid_open(&sweep->options->request, &sweep->grid, error);
    if (communicator == NULL) {
        return status == GW_OK ? open_answer(sweep, error) : status;
    }
    GW_TRY(gw_agree(communicator, status, error));
    GW_TRY(gw_agree(communicator, check_alike(&sweep->grid, communicator, error), error));
    status = communicator->rank == 0 ? open_answer(sweep, error) : GW_OK;
    GW_TRY(gw_agree(communicator, status, error));
    return communicator->transport->broadcast(communicator, 0, &sweep->done, sizeof sweep->done,
                                              error);
}

static enum gw_status body(struct gw_communicator *communicator, void *context, int *verdict,
                           struct gw_error *error) {
    struct sweep sweep = {.options = context};
    (void)verdict;
    enum gw_status status = open_sweep(&sweep, communicator, error);
    if (status == GW_OK) {
        status = sweep_all(&sweep, communicator, error);
    }
    close_sweep(&sweep);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {0};
    struct gw_error error = {0};
    struct gw_job_options job = {0};
    int verdict = GW_OK;
    gw_parse_options(&gw_verb_sweep, argc, argv, &options);
    options.request.seeded = gw_option_is_given("seed");
    if (gw_mpi_is_inside_job()) {
        return gw_job_run(&job, argv, body, &options);
    }
    return body(NULL, &options, &verdict, &error) == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_sweep = {
    .name = "sweep",
    .title = "predicts many points of a grid, on all cores and ranks",
    .usage = "--model MODEL --cluster CLUSTER\nJOB.json",
    .about =
        "Predicts an iteration for every combination of models, clusters, pipelines and numbers, "
        "on all cores, and on all ranks of an MPI job it is started in.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one JOB.json, got also",
    .run = run,
};
