/* One answer for a network and a cluster, made from what a user has at hand. */
#include "study/advice.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/making.h"
#include "report/advice.h"

struct options {
    struct gw_output_options output;
    const char *model, *cluster;
    double density, price;
    struct gw_model_request made_model;
    struct gw_cluster_request made_cluster;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {NULL, 0, "NETWORK", GW_TEXT, IN(model),
     .help = "A network (see gradweave list networks), a model file, or the name of one that ships",
     .names = GW_NAMES_NETWORKS},
    {.kind = GW_INCLUDE, .offset = IN(made_model), .table = gw_model_making_table},
    {.kind = GW_INCLUDE, .offset = IN(made_cluster), .table = gw_cluster_making_table},
    {"cluster", 0, "CLUSTER", GW_TEXT, IN(cluster),
     .help = "A cluster file, or the name of one that ships, in place of --nodes and --network",
     .names = GW_NAMES_CLUSTERS},
    {"density", 0, "R", GW_POSITIVE, IN(density), .help = "Share of elements that compressors keep",
     .maximum = 1, .value = "0.001"},
    {"price", 0, "MONEY", GW_POSITIVE, IN(price),
     .help = "Of a worker's hour: also says what a million iterations cost"},
    {.kind = GW_INCLUDE, .table = gw_strict_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "NETWORK", "expected a NETWORK, such as resnet50 (gradweave list networks)"},
    {"batch", GW_NEEDS, "gpu backward", "--batch: expected --gpu GPU or --backward TIME with it"},
    {"precision", GW_NEEDS, "gpu", "--precision: expected --gpu GPU with it"},
    {NULL, GW_NEEDS, "cluster nodes", "expected --nodes N --network LINK, or --cluster CLUSTER"},
    {"cluster", GW_EXCLUDES, "nodes network intra gpus-per-node cards",
     "--cluster: expected no option by which clusters are made with it"},
    {"forward", GW_NEEDS, "backward", "--forward: expected --backward with it"},
    {"nodes", GW_NEEDS, "gpu",
     "--nodes: expected --gpu GPU with it, by whose memory compression is assumed"},
    {0},
};

/* Made where a GPU or a time is given, read otherwise: then these options would do nothing. */
static enum gw_status open_model(const struct options *options, struct gw_model *out,
                                 struct gw_error *error) {
    static const char *const making[] = {"backward", "batch", "precision"};
    struct gw_model_request request = options->made_model;
    const struct gw_architecture *architecture = NULL;
    cJSON *document = NULL;
    request.architecture = options->model;
    bool known = gw_architecture_find(options->model, &architecture, NULL) == GW_OK;
    bool timed = request.gpu != NULL || request.backward_s > 0;
    if (known && timed) {
        GW_TRY(gw_model_make(&request, &document, error));
        return gw_model_take(document, options->model, out, error);
    }
    GW_TRY(gw_model_open(options->model, out, error));
    for (size_t i = 0; i < sizeof making / sizeof *making; i++) {
        if (gw_option_is_given(making[i])) {
            gw_model_free(out);
            return gw_fail(error, GW_BAD_INPUT,
                           "--%s: expected a network that a model is made of (gradweave list "
                           "networks), got model %s, which has its own times",
                           making[i], options->model);
        }
    }
    return GW_OK;
}

static enum gw_status open_cluster(const struct options *options, struct gw_cluster *out,
                                   struct gw_error *error) {
    struct gw_cluster_request request = options->made_cluster;
    request.gpu = options->made_model.gpu;
    if (options->cluster == NULL) {
        return gw_cluster_make(&request, out, error);
    }
    GW_TRY(gw_cluster_open(options->cluster, out, error));
    return request.gpu == NULL ? GW_OK : gw_cluster_assume_compressors(request.gpu, out, error);
}

/* What training keeps besides activations: weights, gradients, momentum and what is kept back. */
static void note_memory(const struct options *options, const struct gw_model *model,
                        char note[GW_RESULT_NOTE_SIZE]) {
    enum { COPIES = 4, BYTES_PER_ELEMENT = 4 };
    const struct gw_published_gpu *gpu = NULL;
    double bytes = (double)gw_model_elements(model) * COPIES * BYTES_PER_ELEMENT;
    note[0] = '\0';
    if (options->made_model.gpu != NULL &&
        gw_published_gpu_find(options->made_model.gpu, &gpu, NULL) == GW_OK &&
        bytes > gpu->memory_bytes) {
        (void)snprintf(note, GW_RESULT_NOTE_SIZE,
                       "weights, gradients, momentum and what compression keeps back take %.3g GB "
                       "without activations, a %s has %.3g GB: one GPU cannot hold a replica",
                       bytes / 1e9, gpu->name, gpu->memory_bytes / 1e9);
    }
}

static enum gw_status advise(const struct options *options, const struct gw_question *question,
                             struct gw_error *error) {
    struct gw_advice advice;
    char note[GW_RESULT_NOTE_SIZE];
    note_memory(options, &question->model, note);
    enum gw_status status = gw_advise(question, note, &advice, error);
    status = status == GW_OK ? gw_print_advice(&advice, options->price, options->output.json, error)
                             : status;
    gw_advice_free(&advice);
    return status;
}

static enum gw_status answer(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_question question = {.density = options->density};
    GW_TRY(open_model(options, &question.model, error));
    enum gw_status status = open_cluster(options, &question.cluster, error);
    question.workers = question.cluster.workers;
    status = status == GW_OK ? advise(options, &question, error) : status;
    gw_question_close(&question);
    return status;
}

static struct options options = {.made_model.precision = GW_PRECISIONS};

const struct gw_verb gw_verb_advise = {
    .name = "advise",
    .title = "whether to compress, by which pipeline, and what to set in DDP",
    .usage = "NETWORK --gpu GPU --nodes N --network LINK\nMODEL --cluster CLUSTER",
    .about = "Says for a network and a cluster whether compression is worth it, which pipeline is "
             "the fastest of those that send enough of the gradients, how to set "
             "DistributedDataParallel's buckets, and how well that is known.\v"
             "What was not measured is assumed from published figures, with intervals as wide as "
             "that. Models that were recorded (python -m gradweave.torch record) and clusters that "
             "were calibrated narrow them.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one NETWORK, got also",
    .values = &options,
    .answer = answer,
};
