#include "study/check.h"

#include <stdlib.h>
#include <string.h>

#include "study/check_parts.h"
#include "study/grid.h"
#include "study/learning.h"

/* ---- findings ------------------------------------------------------------------------------ */

/* A message without the file's name, which stands above all findings. */
static const char *without_path(const struct gw_checking *check, const char *message) {
    size_t length = strlen(check->out->path);
    bool named = strncmp(message, check->out->path, length) == 0 && message[length] == ':';
    return named ? message + length + 2 : message;
}

/* Takes a warning of a reader. */
static void take_warning(const char *message, void *context) {
    struct gw_checking *check = context;
    ODD(check, "%s", without_path(check, message));
}

static void take_bad(const char *message, void *context) {
    struct gw_checking *check = context;
    gw_check_add(check, &check->out->bad, "%s", without_path(check, message));
}

/* ---- models -------------------------------------------------------------------------------- */

static const double long_s = 10;           /* hardly a part of an iteration */
static const double long_tensor_s = 0.5;   /* nor a tensor's, if it takes so much ... */
static const double long_element_s = 1e-5; /* ... for each element */

static void check_part(struct gw_checking *check, const char *key, double time_s) {
    if (time_s > long_s) {
        ODD(check, "%s: %g seconds is long for a part of an iteration: are these milliseconds?",
            key, time_s);
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(struct gw_checking *check, const struct gw_model *model) {
    const char **names = gw_arena_zeros(check->arena, model->tensor_count, sizeof *names);
    for (size_t i = 0; names != NULL && i < model->tensor_count; i++) {
        names[i] = model->tensors[i].name;
    }
    if (names != NULL) {
        qsort(names, model->tensor_count, sizeof *names, by_name);
    }
    for (size_t i = 1; names != NULL && i < model->tensor_count; i++) {
        bool first = i < 2 || strcmp(names[i - 2], names[i]) != 0;
        if (first && strcmp(names[i - 1], names[i]) == 0) {
            ODD(check, "tensors: several are called \"%.60s\"", names[i]);
        }
    }
}

static void check_model(struct gw_checking *check, const void *read) {
    const struct gw_model *model = read;
    double backward_s = gw_model_backward_s(model);
    check_part(check, "forward_s", model->forward_s);
    check_part(check, "update_s", model->update_s);
    if (model->bytes_per_element != 1 && model->bytes_per_element != 2 &&
        model->bytes_per_element != 4 && model->bytes_per_element != 8) {
        ODD(check, "bytes_per_element: %llu is no usual size of a number",
            (unsigned long long)model->bytes_per_element);
    }
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct gw_tensor *tensor = &model->tensors[i];
        if (tensor->backward_s > long_tensor_s &&
            tensor->backward_s > long_element_s * (double)tensor->elements) {
            ODD(check,
                "tensors[%zu].backward_s: %g seconds is long for %llu elements: are these "
                "milliseconds?",
                i, tensor->backward_s, (unsigned long long)tensor->elements);
        }
    }
    if (model->forward_s == 0 || backward_s == 0) {
        ODD(check, "%s: computing takes no time", model->forward_s == 0 ? "forward_s" : "tensors");
    }
    check_names(check, model);
    NOTE(check, "%s, %llu elements, forward %g s, backward %g s",
         GW_COUNTED(model->tensor_count, "tensor"), (unsigned long long)gw_model_elements(model),
         model->forward_s, backward_s);
}

/* ---- plans --------------------------------------------------------------------------------- */

static void check_plan(struct gw_checking *check, const void *read) {
    const struct gw_plan *plan = read;
    struct gw_error why;
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    const struct gw_compressor *compressor = NULL;
    if (gw_policy_parse(plan->policy, &policy, &argument, &why) != GW_OK) {
        ODD(check, "policy: %s", why.message);
    }
    if (plan->ways == NULL && gw_compressor_choose(plan->compressor, &compressor, &why) != GW_OK) {
        ODD(check, "compressor: %s", why.message);
    }
    for (size_t g = 0; plan->ways != NULL && g < plan->way_count; g++) {
        const struct gw_plan_way *way = &plan->ways[g];
        const struct gw_exchange_kind *exchange = NULL;
        if (gw_compressor_choose(way->compressor, &compressor, &why) != GW_OK ||
            gw_exchange_find(way->exchange, &exchange, &why) != GW_OK) {
            ODD(check, "ways[%zu]: %s", g, why.message);
        }
    }
    if (plan->iteration_s < plan->lower_bound_s) {
        ODD(check, "iteration_s: %g seconds is below lower_bound_s, %g", plan->iteration_s,
            plan->lower_bound_s);
    }
    NOTE(check, "%s for model %s among %s", GW_COUNTED(plan->group_count, "group"), plan->model,
         GW_COUNTED(plan->workers, "worker"));
}

/* ---- noise --------------------------------------------------------------------------------- */

static struct gw_summary summarise_rank(const struct gw_noise *noise, size_t rank,
                                        double *factors) {
    struct gw_summary summary;
    for (size_t i = 0; i < gw_noise_iterations(noise); i++) {
        factors[i] = noise->sample[i * noise->ranks + rank];
    }
    gw_summarise(factors, gw_noise_iterations(noise), &summary);
    return summary;
}

/* A rank that takes a tenth longer than `usual`, the median of ranks, is a straggler. */
static void check_rank(struct gw_checking *check, const struct gw_noise *noise, size_t rank,
                       double usual, double *factors) {
    struct gw_summary summary = summarise_rank(noise, rank, factors);
    if (summary.median > 1.1 * usual) {
        ODD(check, "factors: rank %zu takes %.3g times as long as ranks do in the median", rank,
            summary.median / usual);
    }
    NOTE(check, "rank %zu: %.3g times the model's compute in the median, 90%% from %.3g to %.3g",
         rank, summary.median, summary.p5, summary.p95);
}

static void check_noise(struct gw_checking *check, const void *read) {
    const struct gw_noise *noise = read;
    size_t iterations = gw_noise_iterations(noise);
    double *factors = gw_arena_zeros(check->arena, iterations + noise->ranks, sizeof *factors);
    struct gw_summary of_ranks;
    NOTE(check, "%s of %s; percentiles: %s", GW_COUNTED(iterations, "iteration"),
         GW_COUNTED(noise->ranks, "rank"),
         iterations < gw_percentile_least(95)   ? "too few but for the 50th"
         : iterations < gw_percentile_least(99) ? "the 50th and 95th, too few for the 99th"
                                                : "the 50th, 95th and 99th");
    if (factors == NULL) {
        return;
    }
    double *medians = factors + iterations;
    for (size_t rank = 0; rank < noise->ranks; rank++) {
        medians[rank] = summarise_rank(noise, rank, factors).median;
    }
    gw_summarise(medians, noise->ranks, &of_ranks);
    for (size_t rank = 0; rank < noise->ranks; rank++) {
        check_rank(check, noise, rank, of_ranks.median, factors);
    }
}

/* ---- sweep jobs ---------------------------------------------------------------------------- */

/* Opens the sweep with the files that the job names; keys that it lacks may be options. */
static enum gw_status check_sweep_job(struct gw_checking *check, const cJSON *document,
                                      struct gw_error *error) {
    const struct gw_grid_request request = {.job = check->out->path};
    struct gw_json root;
    struct gw_grid grid;
    GW_TRY(gw_fields_root(&gw_sweep_job_fields, document, check->out->path, &root, error));
    if (gw_json_member(&root, "models").node == NULL ||
        gw_json_member(&root, "clusters").node == NULL) {
        NOTE(check, "without models or clusters of its own: only its keys were checked");
        return GW_OK;
    }
    enum gw_status status = gw_grid_open(&request, &grid, error);
    if (status == GW_OK) {
        NOTE(check, "%llu point%s", (unsigned long long)grid.point_count,
             grid.point_count == 1 ? "" : "s");
    }
    gw_grid_close(&grid);
    return status;
}

/* ---- validations --------------------------------------------------------------------------- */

static void check_validation(struct gw_checking *check, const void *read) {
    const struct gw_validation_document *validation = read;
    for (size_t i = 0; i < validation->count; i++) {
        const struct gw_validated *one = &validation->results[i];
        double error = one->predicted.iteration_s / one->measured.iteration_s - 1;
        if (one->measured.iteration_s == 0) {
            ODD(check, "results[%zu].measured.iteration_s: nothing was measured", i);
        } else {
            NOTE(check, "%s: %+.1f%%", one->algorithm, 100 * error);
        }
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

static void check_gradients(struct gw_checking *check, const void *read) {
    const struct gw_recorded_gradients *recorded = read;
    uint64_t elements = 0;
    for (size_t i = 0; i < recorded->tensor_count; i++) {
        elements += recorded->tensors[i].elements;
    }
    for (size_t i = 0; i < recorded->iteration_count * recorded->workers; i++) {
        if (recorded->scales[i] == 0) {
            ODD(check, "scales[%zu][%zu]: a gradient of zeros", i / recorded->workers,
                i % recorded->workers);
        }
    }
    NOTE(check, "%zu of %llu elements of %s, %s of %s", recorded->sample,
         (unsigned long long)elements, GW_COUNTED(recorded->tensor_count, "tensor"),
         GW_COUNTED(recorded->iteration_count, "iteration"),
         GW_COUNTED(recorded->workers, "worker"));
}

/* ---- trainings ------------------------------------------------------------------------------ */

static void check_accuracy(struct gw_checking *check, const void *read) {
    const struct gw_accuracy *accuracy = read;
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct gw_trainings *one = &accuracy->trainings[i];
        struct gw_error why;
        const struct gw_algorithm *known = NULL;
        if (gw_trainings_are_by_hook(one)) {
            known = NULL;
        } else if (gw_algorithm_find(one->algorithm, &known, &why) != GW_OK) {
            ODD(check, "trainings[%zu]: %s", i, why.message);
        } else if (gw_algorithm_selects(known) && one->density == 1) {
            ODD(check, "trainings[%zu].density: %s compresses, and keeps all", i, one->algorithm);
        }
        NOTE(check, "%s at density %g among %llu workers: %zu of %zu trainings reach %g%%",
             one->algorithm, one->density, (unsigned long long)one->workers, one->reached,
             one->count, 100 * accuracy->goal);
    }
}

/* ---- files --------------------------------------------------------------------------------- */

/* Documents that gradweave reads. */
static const struct kind {
    const struct gw_fields *fields;
    void (*check)(struct gw_checking *check, const void *read); /* NULL: reading it is enough */
} kinds[] = {
    {&gw_model_fields, check_model},
    {&gw_cluster_fields, gw_check_cluster},
    {&gw_plan_fields, check_plan},
    {&gw_counts_fields, NULL},
    {&gw_noise_fields, check_noise},
    {&gw_accuracy_fields, check_accuracy},
    {&gw_recorded_gradients_fields, check_gradients},
    {&gw_validation_document_fields, check_validation},
    {&gw_sweep_job_fields, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *kind_of(const char *schema) {
    return strchr(schema, '/') + 1;
}

/* Documents that gradweave prints, but does not read. */
static bool is_printed(const char *schema) {
    static const char *const printed[] = {"bench@1",       "calibration-check@1",
                                          "check@1",       "comparison@1",
                                          "crossovers@1",  "export@1",
                                          "goal-result@1", "infeasible@1",
                                          "list@1",        "plans@1",
                                          "plot@1",        "result@1",
                                          "sweep@1",       "timeline@1",
                                          "sweep-result@1"};
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        if (strcmp(printed[i], kind_of(schema)) == 0) {
            return true;
        }
    }
    return false;
}

static void check_unread(struct gw_checking *check, const char *schema) {
    const char *names[KINDS + 1] = {NULL};
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = kind_of(kinds[i].fields->schema);
    }
    const char *nearest = gw_find_nearest(kind_of(schema), names);
    if (is_printed(schema)) {
        NOTE(check, "unknown file %.60s: only its JSON was checked", schema);
    } else {
        ODD(check, "schema: nothing reads \"%.60s\", and only the JSON was checked%s%s%s", schema,
            nearest == NULL ? "" : "; did you mean \"gradweave/", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "\"?");
    }
}

static enum gw_status check_kind(struct gw_checking *check, const struct kind *kind,
                                 const cJSON *document, struct gw_error *error) {
    void *read = calloc(1, kind->fields->size);
    enum gw_status status =
        read == NULL ? gw_fail_memory(error, "checking a file")
                     : gw_fields_decode(kind->fields, document, check->out->path, read, error);
    if (status == GW_OK && kind->check != NULL) {
        kind->check(check, read);
    }
    if (status == GW_OK) {
        gw_fields_free(kind->fields, read);
    }
    free(read);
    return status;
}

static enum gw_status check_text(struct gw_checking *check, const cJSON *document,
                                 struct gw_error *error) {
    const char *schema = check->out->schema;
    if (strcmp(schema, gw_sweep_job_fields.schema) == 0) {
        return check_sweep_job(check, document, error);
    }
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(schema, kinds[i].fields->schema) == 0) {
            return check_kind(check, &kinds[i], document, error);
        }
    }
    check_unread(check, schema);
    return GW_OK;
}

static enum gw_status check_document(struct gw_checking *check, const char *text, size_t length,
                                     struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_json_parse(text, length, check->out->path, &document, error));
    struct gw_json root = {.node = document, .file = check->out->path};
    struct gw_json schema = gw_json_member(&root, "schema");
    const char *name = cJSON_GetStringValue(schema.node);
    enum gw_status status = gw_json_object(&root, error);
    if (status == GW_OK && (name == NULL || strncmp(name, "gradweave/", 10) != 0)) {
        status =
            gw_json_expected(&schema, "one of gradweave's, such as \"gradweave/model@1\"", error);
    }
    if (status == GW_OK) {
        check->out->schema = gw_arena_format(check->arena, "%s", name);
        status = check->out->schema == NULL ? gw_fail_memory(error, "checking a file")
                                            : check_text(check, document, error);
    }
    cJSON_Delete(document);
    return status;
}

/* A file of that name, or a model or cluster that ships. */
static enum gw_status find_path(const char *name, struct gw_checking *check,
                                struct gw_error *error) {
    char *path = NULL;
    if (!gw_file_exists(name) && gw_data_resolve(GW_DATA_CLUSTERS, name, &path, NULL) != GW_OK) {
        GW_TRY(gw_data_resolve(GW_DATA_MODELS, name, &path, error));
    }
    const char *copy = gw_arena_format(check->arena, "%s", path == NULL ? name : path);
    free(path);
    check->out->path = copy == NULL ? name : copy;
    return copy == NULL ? gw_fail_memory(error, "checking a file") : GW_OK;
}

static enum gw_status check_named(struct gw_checking *check, const char *name,
                                  struct gw_error *error) {
    const struct gw_key_rules rules = gw_key_rules;
    char *text = NULL;
    size_t length = 0;
    GW_TRY(find_path(name, check, error));
    GW_TRY(gw_file_read(check->out->path, &text, &length, error));
    gw_key_rules.warn = take_warning;
    gw_key_rules.context = check;
    gw_key_rules.all = true;
    gw_key_rules.bad = take_bad;
    enum gw_status status = check_document(check, text, length, error);
    gw_key_rules = rules;
    free(text);
    return status == GW_OK ? gw_arena_check(check->arena, "checking a file", error) : status;
}

enum gw_status gw_check_file(const char *name, struct gw_arena *arena, struct gw_file_check *out,
                             struct gw_error *error) {
    struct gw_checking check = {.out = out, .arena = arena};
    *out = (struct gw_file_check){.path = name};
    enum gw_status status = check_named(&check, name, error);
    if (status != GW_OK) {
        const struct gw_findings *bad = &check.out->bad;
        const char *message = without_path(&check, error->message);
        if (bad->count == 0 || strcmp(bad->texts[bad->count - 1], message) != 0) {
            take_bad(message, &check);
        }
    }
    return status;
}
