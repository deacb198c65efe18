#include "study/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "study/study.h"

/* ---- findings ------------------------------------------------------------------------------ */

/* A file that is being checked. */
struct check {
    struct gw_file_check *out;
    struct gw_arena *arena;
};

static void add(struct check *check, struct gw_findings *findings, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Texts are cut at a length at which nobody reads on. */
static void add(struct check *check, struct gw_findings *findings, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it began on the line above */
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (findings->count < GW_MOST_FINDINGS) {
        const char *copy = gw_arena_format(check->arena, "%s", text);
        findings->texts[findings->count] = copy;
        findings->count += copy != NULL;
    }
}

#define ODD(check, ...) add((check), &(check)->out->odd, __VA_ARGS__)
#define NOTE(check, ...) add((check), &(check)->out->notes, __VA_ARGS__)

/* A message without the file's name, which stands above all findings. */
static const char *without_path(const struct check *check, const char *message) {
    size_t length = strlen(check->out->path);
    bool named = strncmp(message, check->out->path, length) == 0 && message[length] == ':';
    return named ? message + length + 2 : message;
}

/* What readers warn of. */
static void take_warning(const char *message, void *context) {
    struct check *check = context;
    ODD(check, "%s", without_path(check, message));
}

static void take_bad(const char *message, void *context) {
    struct check *check = context;
    add(check, &check->out->bad, "%s", without_path(check, message));
}

/* What reading ended with, unless that is known already. */
static void take_error(struct check *check, const struct gw_error *error) {
    const struct gw_findings *bad = &check->out->bad;
    const char *message = without_path(check, error->message);
    if (bad->count == 0 || strcmp(bad->texts[bad->count - 1], message) != 0) {
        take_bad(message, check);
    }
}

/* ---- models -------------------------------------------------------------------------------- */

static const double long_s = 10;           /* hardly a part of an iteration */
static const double long_tensor_s = 0.5;   /* nor a tensor's, if it takes so much ... */
static const double long_element_s = 1e-5; /* ... for each element */

static void check_part(struct check *check, const char *key, double time_s) {
    if (time_s > long_s) {
        ODD(check, "%s: %g seconds is long for a part of an iteration: are these milliseconds?",
            key, time_s);
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(struct check *check, const struct gw_model *model) {
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

static void check_model(struct check *check, const struct gw_model *model) {
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
    NOTE(check, "%zu tensors, %llu elements, forward %g s, backward %g s", model->tensor_count,
         (unsigned long long)gw_model_elements(model), model->forward_s, backward_s);
}

/* ---- curves -------------------------------------------------------------------------------- */

/* What is faster than anything there is, and slower than what anyone would use. */
struct speeds {
    const char *unit, *faster;
    double least_s, most_s; /* for each byte or element */
};

static const struct speeds link_speeds = {"byte", "a link of 1 Tb/s", 8e-12, 1e-3};
static const struct speeds node_speeds = {"byte", "memory of 10 TB/s", 1e-13, 1e-3};
static const struct speeds memory_speeds = {"element", "memory of 10 TB/s", 4e-13, 1e-4};

/* Between the smallest and the largest size that were measured. */
static double slope_of(const struct gw_curve *curve) {
    if (curve->point_count == 0) {
        return curve->per_unit_s;
    }
    const struct gw_curve_point *first = &curve->points[0];
    const struct gw_curve_point *last = &curve->points[curve->point_count - 1];
    return (last->time_s - first->time_s) / (last->size - first->size);
}

static void check_falls(struct check *check, const char *place, const struct gw_curve *curve) {
    size_t falls = 0;
    for (size_t i = 1; i < curve->point_count; i++) {
        falls += curve->points[i].time_s < curve->points[i - 1].time_s;
    }
    if (falls > 0) {
        NOTE(check, "%s: %zu of its %zu points take less than the one before, within the noise",
             place, falls, curve->point_count);
    }
}

static void check_curve(struct check *check, const char *place, const struct gw_curve *curve,
                        const struct speeds *speeds) {
    const double large = 1e9;
    double slope_s = slope_of(curve);
    double startup_s = gw_curve_startup(curve);
    check_falls(check, place, curve);
    if (gw_curve_time(curve, large) == 0) {
        ODD(check, "%s: costs nothing, whatever its size", place);
        return;
    }
    if (slope_s < speeds->least_s && curve->per_nlog2n_s == 0) {
        ODD(check, "%s: %g seconds for each %s are faster than %s", place, slope_s, speeds->unit,
            speeds->faster);
    }
    if (slope_s > speeds->most_s || curve->per_nlog2n_s > speeds->most_s) {
        ODD(check, "%s: %g seconds for each %s are very slow: are these micro- or milliseconds?",
            place, slope_s > curve->per_nlog2n_s ? slope_s : curve->per_nlog2n_s, speeds->unit);
    }
    if (startup_s > 1) {
        ODD(check, "%s: a startup of %g seconds is long: are these milliseconds?", place,
            startup_s);
    }
}

/* ---- clusters ------------------------------------------------------------------------------ */

static void check_collectives(struct check *check, const struct gw_cluster *cluster) {
    size_t index = 0;
    bool own = false;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        bool same = i > 0 && strcmp(cluster->collectives[i - 1].name, cost->name) == 0;
        char place[128];
        index = same ? index + 1 : 0;
        (void)snprintf(place, sizeof place, "collectives.%.60s[%zu]", cost->name, index);
        if (cost->workers > 1) {
            check_curve(check, place, &cost->curve,
                        cost->workers <= cluster->workers_per_node ? &node_speeds : &link_speeds);
        }
        own = own || cost->workers == cluster->workers;
    }
    if (!own && cluster->workers > 1) {
        ODD(check, "collectives: none is measured among the cluster's own %zu workers",
            cluster->workers);
    }
}

static void check_kernels(struct check *check, const char *what,
                          const struct gw_kernel_costs *costs) {
    for (size_t i = 0; i < costs->count; i++) {
        const struct gw_kernel_cost *cost = &costs->list[i];
        char place[128];
        (void)snprintf(place, sizeof place, "%s.%.60s", what, cost->name);
        check_curve(check, place, &cost->curve, &memory_speeds);
    }
}

/* Of compressors with a name that is near to none, which readers take for the cluster's own. */
static void check_own(struct check *check, const struct gw_kernel_costs *compressors) {
    const char *names[GW_MOST_COMPRESSORS] = {NULL};
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        names[i] = gw_compressors[i]->name;
    }
    for (size_t i = 0; i < compressors->count; i++) {
        const char *name = compressors->list[i].name;
        if (gw_compressor_find(name) == NULL && gw_find_nearest(name, names) == NULL) {
            ODD(check, "compressors.%.60s: no pipeline uses it", name);
        }
    }
}

static void check_link(struct check *check, const char *place, const struct gw_loggp *link,
                       const struct speeds *speeds) {
    const struct gw_curve curve = {.fixed_s = link->latency_s, .per_unit_s = link->gap_s_per_byte};
    check_curve(check, place, &curve, speeds);
}

/* Why the pipeline cannot be predicted among the cluster's workers, in *why; or whether it can from
 * what was measured among just these (*derived). */
static bool can_predict(const struct gw_cluster *cluster, const struct gw_algorithm *algorithm,
                        bool *derived, struct gw_error *why) {
    const struct gw_kernel_cost *compress = NULL;
    *derived = false;
    if (gw_algorithm_is_sparse(algorithm) &&
        gw_cluster_compressor(cluster, algorithm->compressor->name, &compress, why) != GW_OK) {
        return false;
    }
    for (size_t i = 0; i < algorithm->exchange->leg_count; i++) {
        char derivation[GW_DERIVATION_SIZE];
        struct gw_curve curve = {0};
        if (gw_cluster_collective(cluster, algorithm->exchange->legs[i].collective,
                                  cluster->workers, &curve, derivation, why) != GW_OK) {
            return false;
        }
        *derived = *derived || strstr(derivation, "workers not measured") != NULL;
        gw_curve_free(&curve);
    }
    return true;
}

/* What stands before ": expected": "compressors.randk". */
static void find_missing(const char *message, char *out, size_t size) {
    const char *end = strstr(message, ": expected");
    const char *begin = end == NULL ? message : end;
    while (end != NULL && begin > message && begin[-1] != ' ') {
        begin--;
    }
    (void)snprintf(out, size, "%.*s", end == NULL ? (int)size - 1 : (int)(end - begin), begin);
}

enum { MISSING_SIZE = 96, NAMES_SIZE = 512, MOST_MISSING = 32 };

/* Curves that are missing, and the pipelines that need them. */
struct missing {
    size_t count;
    char curves[MOST_MISSING][MISSING_SIZE];
    char algorithms[MOST_MISSING][NAMES_SIZE];
};

static void add_missing(struct missing *missing, const char *message, const char *algorithm) {
    char curve[MISSING_SIZE];
    size_t i = 0;
    find_missing(message, curve, sizeof curve);
    while (i < missing->count && strcmp(missing->curves[i], curve) != 0) {
        i++;
    }
    if (i < MOST_MISSING) {
        missing->count = i == missing->count ? i + 1 : missing->count;
        memcpy(missing->curves[i], curve, sizeof curve);
        gw_list_name(missing->algorithms[i], sizeof missing->algorithms[i], algorithm);
    }
}

static void note_answers(struct check *check, const struct gw_cluster *cluster) {
    char predicted[NAMES_SIZE] = "";
    char derived[NAMES_SIZE] = "";
    struct missing missing = {0};
    for (size_t i = 0; gw_algorithms[i].name != NULL; i++) {
        struct gw_error why = {0};
        bool is_derived = false;
        if (can_predict(cluster, &gw_algorithms[i], &is_derived, &why)) {
            gw_list_name(is_derived ? derived : predicted, NAMES_SIZE, gw_algorithms[i].name);
        } else {
            add_missing(&missing, why.message, gw_algorithms[i].name);
        }
    }
    for (size_t i = 0; i < missing.count; i++) {
        NOTE(check, "cannot predict %s: no %s", missing.algorithms[i], missing.curves[i]);
    }
    if (predicted[0] != '\0') {
        NOTE(check, "predicts among %zu workers: %s", cluster->workers, predicted);
    }
    if (derived[0] != '\0') {
        NOTE(check, "predicts among %zu workers from other numbers of them: %s", cluster->workers,
             derived);
    }
    NOTE(check, "messages (--network messages): %s",
         cluster->network == NULL ? "by parameters derived from curves" : "by its network");
    NOTE(check, "overlap (--interference): %s",
         cluster->overlap == NULL ? "not measured" : "by its factors");
}

/* Of each collective, whose entries follow each other. */
static void note_workers(struct check *check, const struct gw_cluster *cluster) {
    size_t i = 0;
    while (i < cluster->collective_count) {
        const char *name = cluster->collectives[i].name;
        char numbers[128] = "";
        for (; i < cluster->collective_count && strcmp(cluster->collectives[i].name, name) == 0;
             i++) {
            char number[24];
            (void)snprintf(number, sizeof number, "%zu", cluster->collectives[i].workers);
            gw_list_name(numbers, sizeof numbers, number);
        }
        NOTE(check, "%.60s measured among %s workers", name, numbers);
    }
}

static double number_of(const cJSON *object, const char *key) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(number) ? number->valuedouble : -1;
}

/* Half of the 95% interval of a point's median, relative to it; negative: it does not say. */
static double half_interval(const cJSON *point) {
    double low_s = number_of(point, "median_low_s");
    double high_s = number_of(point, "median_high_s");
    double median_s = number_of(point, "median_s");
    return low_s > 0 && median_s >= low_s ? (high_s - low_s) / 2 / median_s : -1;
}

static const cJSON *points_of(const cJSON *entry) {
    return cJSON_GetObjectItemCaseSensitive(entry, "raw");
}

/*
 * How well medians are known, and how far off curves are at sizes that were held out: of curves'
 * entries as calibrate has written them. What else these may hold counts for nothing.
 */
static void note_precision(struct check *check, const char *what, const cJSON *const *entries,
                           size_t count) {
    size_t most = 0, points = 0, curves = 0;
    struct gw_summary summary;
    for (size_t i = 0; i < count; i++) {
        most += (size_t)cJSON_GetArraySize(points_of(entries[i]));
    }
    double *halves = gw_arena_zeros(check->arena, most + 1, sizeof *halves);
    double *held_out = gw_arena_zeros(check->arena, count + 1, sizeof *held_out);
    for (size_t i = 0; i < count && halves != NULL && held_out != NULL; i++) {
        const cJSON *point = NULL;
        cJSON_ArrayForEach(point, points_of(entries[i])) {
            halves[points] = half_interval(point);
            points += halves[points] >= 0;
        }
        const cJSON *fit = cJSON_GetObjectItemCaseSensitive(entries[i], "fit");
        held_out[curves] = number_of(fit, "held_out_error");
        curves += held_out[curves] >= 0;
    }
    if (points > 0) {
        gw_summarise(halves, points, &summary);
        NOTE(check,
             "medians of %s: half of their 95%% interval is %.1f%% in the median of %zu, %.1f%% at "
             "most",
             what, 100 * summary.median, points, 100 * halves[points - 1]); /* sorted now */
    }
    if (curves > 0) {
        gw_summarise(held_out, curves, &summary);
        NOTE(check,
             "curves of %s: sizes that were held out are %.1f%% off in the mean of %zu curves, "
             "%.1f to %.1f%%",
             what, 100 * summary.mean, curves, 100 * held_out[0], 100 * held_out[curves - 1]);
    }
}

static void note_kernels(struct check *check, const char *what,
                         const struct gw_kernel_costs *costs) {
    const cJSON **entries = gw_arena_zeros(check->arena, costs->count + 1, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < costs->count; i++) {
        entries[i] = costs->list[i].kept;
    }
    if (entries != NULL) {
        note_precision(check, what, entries, costs->count);
    }
}

/* Of files that were calibrated. */
static void note_measured(struct check *check, const struct gw_cluster *cluster) {
    size_t count = cluster->collective_count;
    const cJSON **entries = gw_arena_zeros(check->arena, count + 1, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < count; i++) {
        entries[i] = cluster->collectives[i].kept;
    }
    if (entries != NULL) {
        note_precision(check, "collectives", entries, count);
    }
    note_kernels(check, "compressors", &cluster->compressors);
    note_kernels(check, "aggregation", &cluster->aggregation);
}

static void check_cluster(struct check *check, const struct gw_cluster *cluster) {
    check_collectives(check, cluster);
    check_kernels(check, "compressors", &cluster->compressors);
    check_kernels(check, "aggregation", &cluster->aggregation);
    check_own(check, &cluster->compressors);
    if (cluster->network != NULL) {
        check_link(check, "network.within", &cluster->network->within, &node_speeds);
        check_link(check, "network.between", &cluster->network->between, &link_speeds);
    }
    note_workers(check, cluster);
    note_measured(check, cluster);
    note_answers(check, cluster);
}

/* ---- plans --------------------------------------------------------------------------------- */

static void check_plan(struct check *check, const struct gw_plan *plan) {
    struct gw_error why;
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    const struct gw_compressor *compressor = NULL;
    if (gw_policy_parse(plan->policy, &policy, &argument, &why) != GW_OK) {
        ODD(check, "policy: %s", why.message);
    }
    if (gw_compressor_choose(plan->compressor, &compressor, &why) != GW_OK) {
        ODD(check, "compressor: %s", why.message);
    }
    if (plan->iteration_s < plan->lower_bound_s) {
        ODD(check, "iteration_s: %g seconds is below lower_bound_s, %g", plan->iteration_s,
            plan->lower_bound_s);
    }
    NOTE(check, "%zu groups for model %s among %zu workers", plan->group_count, plan->model,
         plan->workers);
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
static void check_rank(struct check *check, const struct gw_noise *noise, size_t rank, double usual,
                       double *factors) {
    struct gw_summary summary = summarise_rank(noise, rank, factors);
    if (summary.median > 1.1 * usual) {
        ODD(check, "factors: rank %zu takes %.3g times as long as ranks do in the median", rank,
            summary.median / usual);
    }
    NOTE(check, "rank %zu: %.3g times the model's compute in the median, 90%% from %.3g to %.3g",
         rank, summary.median, summary.p5, summary.p95);
}

static void check_noise(struct check *check, const struct gw_noise *noise) {
    size_t iterations = gw_noise_iterations(noise);
    double *factors = gw_arena_zeros(check->arena, iterations + noise->ranks, sizeof *factors);
    struct gw_summary of_ranks;
    NOTE(check, "%zu iterations of %zu rank%s; percentiles: %s", iterations, noise->ranks,
         noise->ranks == 1 ? "" : "s",
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

/* ---- files --------------------------------------------------------------------------------- */

/* Documents that gradweave prints and nothing reads. */
static bool is_printed(const char *schema) {
    static const char *const printed[] = {"bench@1",       "calibration-check@1",
                                          "check@1",       "comparison@1",
                                          "crossovers@1",  "export@1",
                                          "goal-result@1", "infeasible@1",
                                          "list@1",        "plans@1",
                                          "plot@1",        "result@1",
                                          "sweep@1",       "timeline@1",
                                          "sweep-result@1"};
    const char *kind = strchr(schema, '/') + 1;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        if (strcmp(printed[i], kind) == 0) {
            return true;
        }
    }
    return false;
}

static void check_unread(struct check *check, const char *schema) {
    const char *nearest = gw_json_nearest_schema(schema);
    if (is_printed(schema)) {
        NOTE(check, "nothing reads %.60s: only its JSON was checked", schema);
    } else {
        ODD(check, "schema: nothing reads \"%.60s\", and only the JSON was checked%s%s%s", schema,
            nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "\"?");
    }
}

static enum gw_status check_text(struct check *check, const char *text, size_t length,
                                 const cJSON *document, struct gw_error *error) {
    const char *path = check->out->path;
    const char *schema = check->out->schema;
    struct gw_json root;
    enum gw_status status = GW_OK;
    if (strcmp(schema, "gradweave/model@1") == 0) {
        struct gw_model model;
        GW_TRY(gw_model_parse(text, length, path, &model, error));
        check_model(check, &model);
        gw_model_free(&model);
    } else if (strcmp(schema, "gradweave/cluster@1") == 0) {
        struct gw_cluster cluster;
        GW_TRY(gw_cluster_parse(text, length, path, &cluster, error));
        check_cluster(check, &cluster);
        gw_cluster_free(&cluster);
    } else if (strcmp(schema, "gradweave/plan@1") == 0) {
        struct gw_plan plan;
        GW_TRY(gw_plan_parse(text, length, path, &plan, error));
        check_plan(check, &plan);
        gw_plan_free(&plan);
    } else if (strcmp(schema, "gradweave/counts@1") == 0) {
        struct gw_counts counts;
        GW_TRY(gw_counts_parse(text, length, path, &counts, error));
        gw_counts_free(&counts);
    } else if (strcmp(schema, "gradweave/noise@1") == 0) {
        struct gw_noise noise;
        GW_TRY(gw_noise_parse(text, length, path, &noise, error));
        check_noise(check, &noise);
        gw_noise_free(&noise);
    } else if (gw_json_knows_schema(schema)) {
        status = gw_json_root(document, path, schema, &root, error);
    } else {
        check_unread(check, schema);
    }
    return status;
}

static enum gw_status check_document(struct check *check, const char *text, size_t length,
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
                                            : check_text(check, text, length, document, error);
    }
    cJSON_Delete(document);
    return status;
}

/* A file of that name, or a model or cluster that ships. */
static enum gw_status find_path(const char *name, struct check *check, struct gw_error *error) {
    char *path = NULL;
    if (!gw_file_exists(name) && gw_data_resolve(GW_DATA_CLUSTERS, name, &path, NULL) != GW_OK) {
        GW_TRY(gw_data_resolve(GW_DATA_MODELS, name, &path, error));
    }
    const char *copy = gw_arena_format(check->arena, "%s", path == NULL ? name : path);
    free(path);
    check->out->path = copy == NULL ? name : copy;
    return copy == NULL ? gw_fail_memory(error, "checking a file") : GW_OK;
}

static enum gw_status check_named(struct check *check, const char *name, struct gw_error *error) {
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
    struct check check = {.out = out, .arena = arena};
    *out = (struct gw_file_check){.path = name};
    enum gw_status status = check_named(&check, name, error);
    if (status != GW_OK) {
        take_error(&check, error);
    }
    return status;
}
