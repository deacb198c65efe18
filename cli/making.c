#include "cli/making.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const struct gw_option gw_model_making_table[] = {
    {"gpu", 0, "GPU", GW_TEXT, offsetof(struct gw_model_request, gpu),
     .help = "The workers' GPU, such as a100 (see gradweave list gpus)", .names = GW_NAMES_GPUS},
    {"precision", 0, NULL, GW_CHOICE, offsetof(struct gw_model_request, precision),
     .help = "Number format of matrix products",
     .otherwise = "tf32, or fp32 where a GPU has no tf32", .choices = gw_precision_names},
    {"batch", 0, "SAMPLES", GW_POSITIVE, offsetof(struct gw_model_request, batch_size),
     .help = "Samples of a worker in an iteration", .otherwise = "what is usual for the network",
     .maximum = 1e6},
    {"backward", 0, "TIME", GW_SECONDS, offsetof(struct gw_model_request, backward_s),
     .help = "Time of the whole backward pass, such as 45ms, instead of an estimate by the GPU"},
    {"forward", 0, "TIME", GW_SECONDS, offsetof(struct gw_model_request, forward_s),
     .help = "Time of the whole forward pass", .otherwise = "half of the backward pass"},
    {0},
};

/* --nodes, --gpus-per-node, --intra, --cards. */
static const struct gw_option node_making_table[] = {
    {"nodes", 0, "N", GW_COUNT, offsetof(struct gw_cluster_request, nodes),
     .help = "Number of machines", .maximum = 65536},
    {"gpus-per-node", 0, "G", GW_COUNT, offsetof(struct gw_cluster_request, gpus_per_node),
     .help = "GPUs of each machine, with a worker on each", .otherwise = "1", .maximum = 256},
    {"cards", 0, "C", GW_COUNT, offsetof(struct gw_cluster_request, cards),
     .help = "Network cards of each machine, each with the link of --network; its GPUs share them",
     .otherwise = "1", .maximum = 64},
    {"intra", 0, "LINK", GW_TEXT, offsetof(struct gw_cluster_request, within),
     .help = "Link between the GPUs of a machine, such as nvlink3 or pcie4",
     .otherwise = "as is usual for the GPU", .names = GW_NAMES_LINKS},
    {0},
};

const struct gw_option gw_cluster_making_table[] = {
    {.kind = GW_INCLUDE, .table = node_making_table},
    {"network", 0, "LINK", GW_TEXT, offsetof(struct gw_cluster_request, network),
     .help = "Link between machines: a rate, such as 25gbit, or a name (see gradweave list links)",
     .otherwise = "none for a single machine", .names = GW_NAMES_LINKS},
    {0},
};

/* ---- models and clusters --------------------------------------------------------------------- */

const struct gw_option gw_any_model_table[] = {
    {NULL, 0, "MODEL", GW_TEXT, offsetof(struct gw_scenario_options, model),
     .help =
         "A model file, the name of one that ships, or with --gpu a network (see gradweave list "
         "networks)",
     .names = GW_NAMES_NETWORKS},
    {0},
};

#define MADE(member) offsetof(struct gw_making_options, member)

const struct gw_option gw_making_but_network_table[] = {
    {.kind = GW_INCLUDE, .offset = MADE(model), .table = gw_model_making_table},
    {.kind = GW_INCLUDE, .offset = MADE(cluster), .table = node_making_table},
    {0},
};

const struct gw_option gw_making_table[] = {
    {.kind = GW_INCLUDE, .offset = MADE(model), .table = gw_model_making_table},
    {.kind = GW_INCLUDE, .offset = MADE(cluster), .table = gw_cluster_making_table},
    {0},
};

/* Whether the network's model is made, rather than read. */
static bool is_made(const struct gw_making_options *made, const char *name) {
    const struct gw_architecture *architecture = NULL;
    bool is_timed = made->model.gpu != NULL || made->model.backward_s > 0;
    return is_timed && gw_architecture_find(name, &architecture, NULL) == GW_OK;
}

static enum gw_status make_model(const struct gw_making_options *made, const char *name,
                                 cJSON **out, struct gw_error *error) {
    struct gw_model_request request = made->model;
    request.architecture = name;
    return gw_model_make(&request, out, error);
}

/* Fails with the lists of names that a model may have, or how to record a PyTorch job. */
static enum gw_status fail_no_model(const char *name, struct gw_error *error) {
    return strstr(name, ".py:") != NULL
               ? gw_fail(error, GW_BAD_INPUT,
                         "%s: expected a model; of a PyTorch job python -m gradweave.torch record "
                         "%s makes one",
                         name, name)
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected a file, a model that ships (gradweave list models), or with "
                         "--gpu a network (gradweave list networks), found none of them",
                         name);
}

/* Fails if a model to be read does not exist, or options for making one are given. */
static enum gw_status check_read(const struct gw_making_options *made, const char *name,
                                 struct gw_error *error) {
    const struct {
        const char *option;
        bool is_given;
    } options[] = {{"backward", made->model.backward_s > 0},
                   {"batch", made->model.batch_size > 0},
                   {"precision", made->model.precision != GW_PRECISIONS}};
    const struct gw_architecture *architecture = NULL;
    char *path = NULL;
    enum gw_status status = gw_data_resolve(GW_DATA_MODELS, name, &path, error);
    free(path);
    if (status == GW_BAD_INPUT && gw_architecture_find(name, &architecture, NULL) == GW_OK) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected --gpu GPU or --backward TIME with it, as no model of that "
                       "name ships",
                       name);
    }
    GW_TRY(status == GW_BAD_INPUT ? fail_no_model(name, error) : status);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].is_given) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--%s: expected a network that a model is made of (gradweave list "
                           "networks), got model %s, which has its own times",
                           options[i].option, name);
        }
    }
    return GW_OK;
}

static enum gw_status open_model(const struct gw_making_options *made, const char *name,
                                 struct gw_model *out, struct gw_error *error) {
    cJSON *document = NULL;
    if (is_made(made, name)) {
        GW_TRY(make_model(made, name, &document, error));
        return gw_model_take(document, name, out, error);
    }
    GW_TRY(check_read(made, name, error));
    return gw_model_open(name, out, error);
}

enum gw_status gw_cluster_open_or_make(const struct gw_making_options *made, const char *name,
                                       struct gw_cluster *out, struct gw_error *error) {
    struct gw_cluster_request request = made->cluster;
    request.gpu = made->model.gpu;
    if (name == NULL) {
        return gw_cluster_make(&request, out, error);
    }
    GW_TRY(gw_cluster_open(name, out, error));
    return request.gpu == NULL ? GW_OK : gw_cluster_assume_compressors(request.gpu, out, error);
}

enum gw_status gw_scenario_make(const struct gw_scenario_options *asked,
                                const struct gw_making_options *made, struct gw_scenario *out,
                                struct gw_error *error) {
    struct gw_model model;
    struct gw_cluster cluster;
    GW_TRY(open_model(made, asked->model, &model, error));
    enum gw_status status = gw_cluster_open_or_make(made, asked->cluster, &cluster, error);
    if (status != GW_OK) {
        gw_model_free(&model);
        return status;
    }
    return gw_scenario_ask(asked, model, cluster, out, error);
}

static enum gw_status document_cluster(const struct gw_making_options *made, const char *name,
                                       cJSON **out, struct gw_error *error) {
    struct gw_cluster cluster;
    if (made->made != NULL) {
        return gw_cluster_document(made->made, out, error);
    }
    GW_TRY(gw_cluster_open_or_make(made, name, &cluster, error));
    enum gw_status status = gw_cluster_document(&cluster, out, error);
    gw_cluster_free(&cluster);
    return status;
}

enum gw_status gw_make_for_grid(const void *context, enum gw_axis axis, const char *name,
                                cJSON **out, struct gw_error *error) {
    const struct gw_making_options *made = context;
    *out = NULL;
    if (axis == GW_AXIS_CLUSTER) {
        bool is_changed = made->made != NULL || made->model.gpu != NULL;
        return is_changed ? document_cluster(made, name, out, error) : GW_OK;
    }
    return is_made(made, name) ? make_model(made, name, out, error) : check_read(made, name, error);
}

/* ---- advice ---------------------------------------------------------------------------------- */

#define IN(member) offsetof(struct gw_asking_options, member)

const char *const gw_goal_names[] = {"learning", "iteration", NULL};

const struct gw_option gw_learning_table[] = {
    {"learning", 0, "PATH", GW_TEXT, offsetof(struct gw_goal_options, learning),
     .help =
         "A file of trainings, or a folder of such, that say how many iterations pipelines need",
     .otherwise = "those that ship, of five small networks", .names = GW_NAMES_FILES},
    {0},
};

const struct gw_option gw_asking_table[] = {
    {NULL, 0, "NETWORK", GW_TEXT, IN(scenario.model),
     .help = "A network (see gradweave list networks), a model file, or the name of one that ships",
     .names = GW_NAMES_NETWORKS},
    {.kind = GW_INCLUDE, .offset = IN(made), .table = gw_making_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario.micro_batches), .table = gw_accumulate_table},
    {"price", 0, "MONEY", GW_POSITIVE, IN(price),
     .help = "Price of a worker's hour; also prints the cost of a million iterations"},
    {"goal", 0, NULL, GW_CHOICE, IN(goal.goal),
     .help = "Recommend by the time until as much is learnt, or by the iteration alone",
     .value = "learning", .choices = gw_goal_names},
    {.kind = GW_INCLUDE, .offset = IN(goal), .table = gw_learning_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario.interference), .table = gw_interference_table},
    {0},
};

static enum gw_status advise_scenario(const struct gw_asking_options *options,
                                      struct gw_scenario *scenario, struct gw_advice *advice,
                                      struct gw_error *error) {
    enum { COPIES = 4, BYTES_PER_ELEMENT = 4 };
    char warning[GW_RESULT_NOTE_SIZE] = "";
    const struct gw_published_gpu *gpu = NULL;
    double bytes = (double)gw_model_elements(scenario->model) * COPIES * BYTES_PER_ELEMENT;
    if (options->made.model.gpu != NULL) {
        GW_TRY(gw_published_gpu_find(options->made.model.gpu, &gpu, error));
    }
    if (gpu != NULL && bytes > gpu->memory_bytes) {
        (void)snprintf(warning, sizeof warning,
                       "One GPU cannot hold a replica: weights, gradients, momentum and residuals "
                       "of compression take %.3g GB without activations, one %s has %.3g GB",
                       bytes / 1e9, gpu->name, gpu->memory_bytes / 1e9);
    }
    const struct gw_advice_options asked = {.warning = warning,
                                            .learning = options->goal.learning,
                                            .by_iteration =
                                                options->goal.goal == GW_BY_ITERATION};
    if (options->scenario.density == 0 && !asked.by_iteration) {
        GW_TRY(gw_advise_density(scenario, &asked, error));
    }
    enum gw_status status = gw_advise(scenario, &asked, advice, error);
    advice->gpu = gpu == NULL ? NULL : gpu->title;
    if (status != GW_OK) {
        gw_advice_free(advice);
    }
    return status;
}

enum gw_status gw_asking_open(const struct gw_asking_options *options, struct gw_scenario *scenario,
                              struct gw_advice *advice, struct gw_error *error) {
    GW_TRY(gw_scenario_make(&options->scenario, &options->made, scenario, error));
    enum gw_status status = advise_scenario(options, scenario, advice, error);
    if (status != GW_OK) {
        gw_scenario_close(scenario);
    }
    return status;
}
