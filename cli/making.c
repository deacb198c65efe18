#include "cli/making.h"

#include "cli/cli.h"

static void read_time(const char *option, const char *argument, double *target,
                      struct argp_state *state) {
    if (!gw_parse_seconds(argument, target)) {
        gw_refuse(state, "--%s: expected a time such as 45ms or 0.3s, got \"%s\"", option,
                  argument);
    }
}

static void read_backward(char *argument, void *target, struct argp_state *state) {
    read_time("backward", argument, target, state);
}

static void read_forward(char *argument, void *target, struct argp_state *state) {
    read_time("forward", argument, target, state);
}

const struct gw_option gw_model_making_table[] = {
    {"gpu", 0, "GPU", GW_TEXT, offsetof(struct gw_model_request, gpu),
     .help = "The workers' GPU, such as a100 (see gradweave list gpus)", .names = GW_NAMES_GPUS},
    {"precision", 0, NULL, GW_CHOICE, offsetof(struct gw_model_request, precision),
     .help = "Of products", .otherwise = "tf32, or fp32 where a GPU has no tf32",
     .choices = gw_precision_names},
    {"batch", 0, "SAMPLES", GW_POSITIVE, offsetof(struct gw_model_request, batch_size),
     .help = "Of a worker, in an iteration", .otherwise = "what is usual for the network",
     .maximum = 1e6},
    {"backward", 0, "TIME", GW_CUSTOM, offsetof(struct gw_model_request, backward_s),
     .help = "What the backward pass takes in all, such as 45ms, in place of what a GPU may take",
     .read = read_backward},
    {"forward", 0, "TIME", GW_CUSTOM, offsetof(struct gw_model_request, forward_s),
     .help = "The same of the forward pass", .otherwise = "half of it", .read = read_forward},
    {0},
};

const struct gw_option gw_cluster_making_table[] = {
    {"nodes", 0, "N", GW_COUNT, offsetof(struct gw_cluster_request, nodes),
     .help = "Number of machines", .maximum = 65536},
    {"gpus-per-node", 0, "G", GW_COUNT, offsetof(struct gw_cluster_request, gpus_per_node),
     .help = "In each, a worker for each", .value = "1", .maximum = 256},
    {"network", 0, "LINK", GW_TEXT, offsetof(struct gw_cluster_request, network),
     .help = "Between machines: a rate, such as 25gbit, or a name (see gradweave list links)",
     .otherwise = "none, of a single machine", .names = GW_NAMES_LINKS},
    {"cards", 0, "C", GW_COUNT, offsetof(struct gw_cluster_request, cards),
     .help = "Network cards of a machine, each with such a link, which its GPUs share",
     .value = "1", .maximum = 64},
    {"intra", 0, "LINK", GW_TEXT, offsetof(struct gw_cluster_request, within),
     .help = "Between the GPUs of a machine, such as nvlink3 or pcie4", .names = GW_NAMES_LINKS},
    {0},
};

/* ---- asking ---------------------------------------------------------------------------------- */

#define IN(member) offsetof(struct gw_asking_options, member)

const struct gw_option gw_asking_table[] = {
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
    {.kind = GW_INCLUDE, .offset = IN(interference), .table = gw_interference_table},
    {"accumulate", 0, "N", GW_COUNT, IN(micro_batches), .help = GW_ACCUMULATE_HELP,
     .otherwise = "1", .maximum = GW_MOST_MICRO_BATCHES},
    {"price", 0, "MONEY", GW_POSITIVE, IN(price),
     .help = "Of a worker's hour: also says what a million iterations cost"},
    {0},
};

/* Made where a GPU or a time is given, read otherwise: then these options would do nothing. */
static enum gw_status open_model(const struct gw_asking_options *options, struct gw_model *out,
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

static enum gw_status open_cluster(const struct gw_asking_options *options, struct gw_cluster *out,
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
static void warn_of_memory(const struct gw_asking_options *options, const struct gw_model *model,
                           char warning[GW_RESULT_NOTE_SIZE]) {
    enum { COPIES = 4, BYTES_PER_ELEMENT = 4 };
    const struct gw_published_gpu *gpu = NULL;
    double bytes = (double)gw_model_elements(model) * COPIES * BYTES_PER_ELEMENT;
    warning[0] = '\0';
    if (options->made_model.gpu != NULL &&
        gw_published_gpu_find(options->made_model.gpu, &gpu, NULL) == GW_OK &&
        bytes > gpu->memory_bytes) {
        (void)snprintf(
            warning, GW_RESULT_NOTE_SIZE,
            "One GPU cannot hold a replica: weights, gradients, momentum and what "
            "compression keeps back take %.3g GB without activations, one %s has %.3g GB",
            bytes / 1e9, gpu->name, gpu->memory_bytes / 1e9);
    }
}

static enum gw_status advise(const struct gw_asking_options *options,
                             const struct gw_question *question, struct gw_advice *advice,
                             struct gw_error *error) {
    char warning[GW_RESULT_NOTE_SIZE];
    warn_of_memory(options, &question->model, warning);
    enum gw_status status = gw_advise(question, warning, advice, error);
    if (status != GW_OK) {
        gw_advice_free(advice);
    }
    return status;
}

enum gw_status gw_asking_open(const struct gw_asking_options *options, struct gw_question *question,
                              struct gw_advice *advice, struct gw_error *error) {
    struct gw_model model;
    struct gw_cluster cluster = {0};
    GW_TRY(open_model(options, &model, error));
    enum gw_status status = open_cluster(options, &cluster, error);
    *question = gw_question_of(model, cluster);
    question->density = options->density;
    question->interference = options->interference;
    question->model.micro_batches = options->micro_batches;
    status =
        status == GW_OK ? gw_interference_check(options->interference, &cluster, error) : status;
    status = status == GW_OK ? advise(options, question, advice, error) : status;
    if (status != GW_OK) {
        gw_question_close(question);
    }
    return status;
}
