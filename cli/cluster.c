/* Makes clusters from published rates, imports them, and shows them. */
#include <string.h>

#include "cli/cli.h"
#include "cli/making.h"
#include "traces/imports.h"

enum action { MAKE, IMPORT, SHOW };
enum { MOST_FILES = 1000 };

struct options {
    struct gw_output_options output;
    enum action action;
    size_t count;
    const char *operands[MOST_FILES]; /* of import the tool first; of show the cluster */
    const char *name, *out, *communicator;
    size_t workers;
    struct gw_cluster_request request;
};

static const char *const actions[] = {[MAKE] = "make", [IMPORT] = "import", [SHOW] = "show", NULL};

static void read_operand(const char *argument, void *target) {
    struct options *options = target;
    if (options->count == MOST_FILES) {
        gw_refuse("expected at most %d files", MOST_FILES);
    }
    options->operands[options->count++] = argument;
}

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {NULL, 0, "ACTION", GW_CHOICE, IN(action), .help = "What to do", .choices = actions,
     .expected = "expected make, import or show, got"},
    {NULL, 0, "WHAT", GW_CUSTOM, 0,
     .help = "For import the program (nccl-tests, osu, nccl-inspector or ib_write_bw) and files "
             "with its output; for show a cluster file, or the name of one that ships",
     .names = GW_NAMES_DATA, .read = read_operand},
    {.kind = GW_INCLUDE, .offset = IN(request), .table = gw_cluster_making_table},
    {"gpu", 0, "GPU", GW_TEXT, IN(request.gpu),
     .help =
         "GPU by whose memory bandwidth compressors' costs are assumed (see gradweave list gpus)",
     .otherwise = "none: no compressors", .names = GW_NAMES_GPUS},
    {"workers", 0, "P", GW_COUNT, IN(workers),
     .help = "Number of ranks, if the text does not list them, as the OSU benchmarks never do"},
    {"communicator", 0, "ID", GW_TEXT, IN(communicator),
     .help = "Id or name of the communicator whose calls in nccl-inspector's logs are taken",
     .otherwise = "all, if they have different numbers of ranks"},
    {"name", 0, "NAME", GW_TEXT, IN(name), .help = "Name of the cluster",
     .otherwise = "what it is made of"},
    {"out", 'o', "CLUSTER.json", GW_TEXT, IN(out), .help = "Where to write the cluster",
     .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "ACTION", "expected make, import or show"},
    {"ACTION=make", GW_EXCLUDES, "WHAT workers communicator",
     "make: expected --nodes N and --network LINK, and no import"},
    {"ACTION=make", GW_NEEDS, "nodes", "make: expected --nodes N"},
    {"ACTION=import", GW_NEEDS, "WHAT",
     "import: expected nccl-tests, osu, nccl-inspector or ib_write_bw, and FILE.."},
    {"ACTION=import", GW_EXCLUDES, "network",
     "import: expected no --network: the import measures it"},
    {"ACTION=show", GW_NEEDS, "WHAT", "show: expected a CLUSTER: a file, or one that ships"},
    {"ACTION=show", GW_EXCLUDES, "nodes network intra gpu cards workers communicator name out",
     "show: expected without options that make a cluster"},
    {"ACTION=make", GW_NEEDS, "out json", "make: expected --out CLUSTER.json"},
    {"ACTION=import", GW_NEEDS, "out json", "import: expected --out CLUSTER.json"},
    {0},
};

/* ---- actions --------------------------------------------------------------------------------- */

static enum gw_status write_and_print(const struct options *options,
                                      const struct gw_cluster *cluster, struct gw_error *error) {
    cJSON *document = NULL;
    if (options->out != NULL) {
        GW_TRY(gw_file_check_target(options->out, GW_CLUSTER_START, error));
        GW_TRY(gw_cluster_write(cluster, options->out, error));
    }
    if (!options->output.json) {
        gw_print_cluster(cluster);
        return GW_OK;
    }
    GW_TRY(gw_cluster_document(cluster, &document, error));
    return gw_print_document(document, error);
}

/* Programs whose output can be imported, and the options that apply to each. */
enum tool { NCCL_TESTS, OSU, INSPECTOR, PERFTEST, TOOLS };
static const char *const tools[] = {[NCCL_TESTS] = "nccl-tests",
                                    [OSU] = "osu",
                                    [INSPECTOR] = "nccl-inspector",
                                    [PERFTEST] = "ib_write_bw"};
static const struct {
    const char *option, *names;
    bool of[TOOLS];
} options_of_tools[] = {
    {"workers", "nccl-tests or osu", {[NCCL_TESTS] = true, [OSU] = true}},
    {"communicator", "nccl-inspector", {[INSPECTOR] = true}},
    {"nodes", "ib_write_bw", {[PERFTEST] = true}},
    {"intra", "ib_write_bw", {[PERFTEST] = true}},
    {"cards", "ib_write_bw", {[PERFTEST] = true}},
};

static enum gw_status find_tool(const struct options *options, enum tool *out,
                                struct gw_error *error) {
    const char *name = options->operands[0];
    enum tool tool = 0;
    while (tool < TOOLS && strcmp(tools[tool], name) != 0) {
        tool++;
    }
    *out = tool;
    if (tool == TOOLS) {
        return gw_fail(error, GW_BAD_INPUT,
                       "import: expected nccl-tests, osu, nccl-inspector or ib_write_bw, got "
                       "\"%s\"",
                       name);
    }
    if (options->count == 1) {
        return gw_fail(error, GW_BAD_INPUT, "import: expected files that %s has printed", name);
    }
    for (size_t i = 0; i < sizeof options_of_tools / sizeof *options_of_tools; i++) {
        if (options_of_tools[i].of[tool] || !gw_option_is_given(options_of_tools[i].option)) {
            continue;
        }
        return gw_fail(error, GW_BAD_INPUT, "--%s: expected it with import %s alone, got %s",
                       options_of_tools[i].option, options_of_tools[i].names, name);
    }
    return GW_OK;
}

/* Refuses --workers if no imported curve has that number (the texts then listed their ranks). */
static enum gw_status check_workers(const struct options *options, const struct gw_cluster *cluster,
                                    struct gw_error *error) {
    bool is_used = options->workers == 0;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        is_used = is_used || cluster->collectives[i].workers == options->workers;
    }
    return is_used ? GW_OK
                   : gw_fail(error, GW_BAD_INPUT,
                             "--workers: expected %zu, as the text lists its ranks, got %zu",
                             cluster->workers, options->workers);
}

static enum gw_status import_all(const struct options *options, enum tool tool,
                                 const struct gw_import_paths *paths, struct gw_cluster *cluster,
                                 struct gw_error *error) {
    for (size_t i = 0; i < paths->count && tool != INSPECTOR; i++) {
        GW_TRY(tool == OSU
                   ? gw_import_osu(paths->list[i], options->workers, cluster, error)
                   : gw_import_nccl_tests(paths->list[i], options->workers, cluster, error));
    }
    GW_TRY(tool == INSPECTOR ? gw_import_inspector(paths, options->communicator, cluster, error)
                             : GW_OK);
    GW_TRY(gw_import_finish(cluster, error));
    GW_TRY(tool == NCCL_TESTS ? check_workers(options, cluster, error) : GW_OK);
    GW_TRY(gw_cluster_assume_passes(cluster, error));
    return options->request.gpu == NULL
               ? GW_OK
               : gw_cluster_assume_compressors(options->request.gpu, cluster, error);
}

static enum gw_status import_collectives(const struct options *options, enum tool tool,
                                         const struct gw_import_paths *paths,
                                         struct gw_error *error) {
    struct gw_cluster cluster;
    size_t per_node = gw_option_is_given("gpus-per-node") ? options->request.gpus_per_node : 0;
    GW_TRY(gw_cluster_create(&cluster, options->name != NULL ? options->name : "imported", 1,
                             per_node, error));
    enum gw_status status = import_all(options, tool, paths, &cluster, error);
    status = status == GW_OK ? write_and_print(options, &cluster, error) : status;
    gw_cluster_free(&cluster);
    return status;
}

/* Makes a cluster over the slowest measured link, which collectives wait for. */
static enum gw_status import_link(const struct options *options,
                                  const struct gw_import_paths *paths, struct gw_error *error) {
    struct gw_cluster_request request = options->request;
    struct gw_cluster cluster;
    request.name = options->name;
    if (!gw_option_is_given("nodes")) {
        return gw_fail(error, GW_BAD_INPUT, "import ib_write_bw: expected --nodes N");
    }
    for (size_t i = 0; i < paths->count; i++) {
        double bytes_per_s = 0;
        GW_TRY(gw_import_perftest(paths->list[i], &bytes_per_s, error));
        if (i == 0 || bytes_per_s < request.measured_bytes_per_s) {
            request.measured_bytes_per_s = bytes_per_s;
        }
    }
    GW_TRY(gw_cluster_make(&request, &cluster, error));
    enum gw_status status = gw_import_name_files(&cluster, paths, error);
    status = status == GW_OK ? write_and_print(options, &cluster, error) : status;
    gw_cluster_free(&cluster);
    return status;
}

static enum gw_status answer_cluster(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_cluster cluster;
    if (options->action == IMPORT) {
        const struct gw_import_paths paths = {.count = options->count - 1,
                                              .list = options->operands + 1};
        enum tool tool = TOOLS;
        GW_TRY(find_tool(options, &tool, error));
        return tool == PERFTEST ? import_link(options, &paths, error)
                                : import_collectives(options, tool, &paths, error);
    }
    if (options->action == MAKE) {
        struct gw_cluster_request request = options->request;
        request.name = options->name;
        GW_TRY(gw_cluster_make(&request, &cluster, error));
    } else if (options->count > 1) {
        return gw_fail(error, GW_BAD_INPUT, "show: expected one CLUSTER, got also \"%s\"",
                       options->operands[1]);
    } else {
        GW_TRY(gw_cluster_open(options->operands[0], &cluster, error));
    }
    enum gw_status status = write_and_print(options, &cluster, error);
    gw_cluster_free(&cluster);
    return status;
}

static struct options options;

const struct gw_verb gw_verb_cluster = {
    .name = "cluster",
    .title = "makes, imports or shows a cluster",
    .usage = "make --nodes N --network LINK --out CLUSTER.json\nimport nccl-tests FILE.. --out "
             "CLUSTER.json\nimport osu FILE.. --workers P --out CLUSTER.json\nimport "
             "nccl-inspector FILE.. --out CLUSTER.json\nimport ib_write_bw FILE.. --nodes N --out "
             "CLUSTER.json\nshow CLUSTER",
    .about = "Makes a cluster without calibrating it: of links' published rates, whose predictions "
             "have wide intervals, of what nccl-tests or the OSU benchmarks measured, of what NCCL "
             "logged in a job, or of a link's measured rate.\v"
             "A cluster that was calibrated (gradweave calibrate) is known better.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected no more arguments, got",
    .values = &options,
    .answer = answer_cluster,
};
