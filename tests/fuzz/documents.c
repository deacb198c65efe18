/* Properties of JSON documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pictures.h"
#include "study/check.h"
#include "tests/fuzz/readers.h"

static const char *const file = "f"; /* as messages name what was given as text */

/* A refused document leaves nothing. */
static bool is_accepted(enum gw_status status, const void *out, size_t size) {
    static const char nothing[256];
    if (fuzz_accepted(status, file)) {
        return true;
    }
    fuzz_expect(size <= sizeof nothing && memcmp(out, nothing, size) == 0,
                "what was refused holds something");
    return false;
}

/* The document's text, the caller's. */
static char *print(enum gw_status status, cJSON **document) {
    char *text = NULL;
    fuzz_expect(status == GW_OK && gw_json_print(*document, &text, &fuzz_error) == GW_OK,
                "what was read cannot be written");
    cJSON_Delete(*document);
    return text;
}

static bool is_read(const struct gw_fields *fields, const char *text, size_t length, void *out) {
    return is_accepted(gw_fields_parse(fields, text, length, file, out, &fuzz_error), out,
                       fields->size);
}

/* Written and read again it is the same. */
static void check_again(const struct gw_fields *fields, const void *from) {
    void *again = calloc(1, fields->size);
    cJSON *document = NULL;
    char *text = print(gw_fields_document(fields, from, &document, &fuzz_error), &document);
    fuzz_expect(again != NULL && is_read(fields, text, strlen(text), again),
                "a document that cannot be read again");
    document = NULL;
    char *other = print(gw_fields_document(fields, again, &document, &fuzz_error), &document);
    fuzz_expect(strcmp(text, other) == 0, "another document at the second reading");
    gw_fields_free(fields, again);
    free(again);
    free(text);
    free(other);
}

/* ---- models -------------------------------------------------------------------------------- */

bool fuzz_model(const char *text, size_t length) {
    struct gw_model model;
    if (!is_read(&gw_model_fields, text, length, &model)) {
        return false;
    }
    fuzz_expect(model.name != NULL && model.tensor_count > 0 && model.bytes_per_element > 0,
                "a model without what it needs");
    for (size_t i = 0; i < model.tensor_count; i++) {
        const struct gw_tensor *tensor = &model.tensors[i];
        fuzz_expect(tensor->name != NULL && tensor->elements > 0 && tensor->backward_s >= 0 &&
                        tensor->backward_s <= GW_MAX_SECONDS,
                    "a tensor");
    }
    uint64_t choice = fuzz_choose(text, length);
    struct gw_scenario scenario = gw_scenario_of(&model, fuzz_usual_cluster());
    scenario.density = 0.01;
    scenario.workers = (size_t)2 << choice % 5;
    fuzz_ask(&scenario, choice / 5);
    gw_model_free(&model);
    return true;
}

/* ---- clusters ------------------------------------------------------------------------------ */

static char *print_cluster(const struct gw_cluster *cluster) {
    cJSON *document = NULL;
    return print(gw_cluster_document(cluster, &document, &fuzz_error), &document);
}

static void check_network(const struct gw_network *network, const struct gw_network *again) {
    const struct gw_loggp *links[] = {&network->within, &network->between};
    for (size_t i = 0; i < 2; i++) {
        const double values[] = {links[i]->latency_s, links[i]->overhead_s, links[i]->gap_s,
                                 links[i]->gap_s_per_byte, links[i]->overhead_s_per_byte};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            fuzz_expect(values[v] >= 0 && values[v] <= GW_MAX_SECONDS, "a parameter of a link");
        }
    }
    fuzz_expect(network->oversubscription >= 1 && network->oversubscription <= 1e6,
                "an oversubscription");
    fuzz_expect(again != NULL && memcmp(again, network, offsetof(struct gw_network, kept)) == 0,
                "another network at the second reading");
}

static bool slows(const struct gw_overlap_factor *factor) {
    return isfinite(factor->high) && factor->low > 0 && factor->low <= factor->factor &&
           factor->factor <= factor->high;
}

static void check_pair(const struct gw_overlap_pair *pair, const struct gw_overlap *again) {
    const struct gw_overlap_pair *other = gw_overlap_find(again, pair->collective, pair->compute);
    size_t bytes = pair->point_count * sizeof *pair->points;
    for (size_t i = 0; i < pair->point_count; i++) {
        const struct gw_overlap_point *point = &pair->points[i];
        fuzz_expect(point->bytes > (i == 0 ? 0 : pair->points[i - 1].bytes), "a size");
        fuzz_expect(slows(&point->compute) && slows(&point->communication), "a factor");
        struct gw_slowing slowing = gw_overlap_at(pair, 1.5 * point->bytes);
        fuzz_expect(isfinite(slowing.compute) && slowing.communication > 0, "a factor between");
    }
    fuzz_expect(pair->point_count > 0 && other != NULL && other->point_count == pair->point_count &&
                    memcmp(other->points, pair->points, bytes) == 0,
                "other factors at the second reading");
}

static void check_overlap(const struct gw_overlap *overlap, const struct gw_overlap *again) {
    fuzz_expect(again != NULL && again->pair_count == overlap->pair_count &&
                    again->workers == overlap->workers,
                "another overlap at the second reading");
    for (size_t i = 0; i < overlap->pair_count; i++) {
        check_pair(&overlap->pairs[i], again);
    }
}

/* Written and read again it is the same. */
static void check_written(const struct gw_cluster *cluster) {
    char *text = print_cluster(cluster);
    struct gw_cluster again;
    fuzz_expect(gw_cluster_parse(text, strlen(text), file, &again, &fuzz_error) == GW_OK,
                "a cluster that cannot be read again");
    char *other = print_cluster(&again);
    fuzz_expect(strcmp(text, other) == 0, "another cluster at the second reading");
    if (cluster->network != NULL) {
        check_network(cluster->network, again.network);
    }
    if (cluster->overlap != NULL) {
        check_overlap(cluster->overlap, again.overlap);
    }
    gw_cluster_free(&again);
    free(text);
    free(other);
}

/* More never takes less; but between points, which may fall by the noise of measuring. */
static void check_curve(const struct gw_curve *curve) {
    size_t count = curve->point_count;
    double last = count > 0 ? curve->points[count - 1].size : 0;
    double before = count > 0 ? curve->points[count - 1].time_s : 0;
    for (double size = 1; size < 0x1p60; size *= 5) {
        double now = gw_curve_time(curve, size);
        fuzz_expect(isfinite(now) && now >= 0, "a curve's time");
        fuzz_expect(size < last || now >= before * (1 - 1e-12), "a curve that falls");
        before = size < last ? before : now;
    }
    fuzz_expect(isfinite(gw_curve_startup(curve)), "a curve's startup");
}

static void ask_costs(const struct gw_cluster *cluster, const char *collective) {
    static const size_t workers[] = {1, 2, 3, 8, 1000, (size_t)1 << 53};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        char derivation[GW_DERIVATION_SIZE];
        struct gw_curve curve;
        if (fuzz_accepted(gw_cluster_collective(cluster, collective, workers[i], &curve, derivation,
                                                &fuzz_error),
                          file)) {
            check_curve(&curve);
            gw_curve_free(&curve);
            fuzz_expect(!(gw_cluster_uncertainty(cluster, collective, workers[i]) < 0),
                        "an uncertainty");
        }
    }
}

bool fuzz_cluster(const char *text, size_t length) {
    struct gw_cluster read;
    struct gw_cluster *cluster = &read;
    struct gw_network network;
    char derivation[GW_DERIVATION_SIZE];
    if (!is_accepted(gw_cluster_parse(text, length, file, cluster, &fuzz_error), cluster,
                     sizeof *cluster)) {
        return false;
    }
    uint64_t choice = fuzz_choose(text, length);
    check_written(cluster);
    for (size_t i = 0; i < cluster->compressors.count; i++) {
        check_curve(&cluster->compressors.list[i].curve);
    }
    if (cluster->collective_count > 0) {
        ask_costs(cluster, cluster->collectives[choice % cluster->collective_count].name);
        (void)fuzz_accepted(
            gw_cluster_derive_network(cluster, NULL, &network, derivation, &fuzz_error), file);
    }
    struct gw_scenario scenario = gw_scenario_of(fuzz_usual_model(), cluster);
    scenario.density = 0.01;
    scenario.workers = choice % 2 == 0 ? cluster->workers : 2 + choice / 2 % 6;
    fuzz_ask(&scenario, choice / 12);
    const struct gw_picture picture = {.subject = fuzz_write("cluster.json", text, length),
                                       .data = fuzz_path("calibration.csv")};
    (void)fuzz_accepted(gw_draw_calibration(&picture, &fuzz_error), "");
    gw_cluster_free(cluster);
    return true;
}

/* ---- plans --------------------------------------------------------------------------------- */

/* The groups as the document has them, read without the reader. */
static void check_coverage(const struct gw_plan *plan, const char *text, size_t length) {
    cJSON *document = cJSON_ParseWithLength(text, length);
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(document, "groups");
    const cJSON *group = NULL;
    const cJSON *tensor = NULL;
    size_t count = 0;
    double next = (double)plan->groups[0].first;
    cJSON_ArrayForEach(group, groups) {
        fuzz_expect(count < plan->group_count, "more groups in the document");
        fuzz_expect(cJSON_GetArraySize(group) > 0, "an empty group");
        fuzz_expect((double)plan->groups[count].first == next, "another first tensor");
        cJSON_ArrayForEach(tensor, group) {
            fuzz_expect(cJSON_IsNumber(tensor) && tensor->valuedouble == next,
                        "a tensor out of order");
            next--;
        }
        fuzz_expect((double)plan->groups[count++].last == next + 1, "another last tensor");
    }
    fuzz_expect(count == plan->group_count, "fewer groups in the document");
    fuzz_expect(next == -1, "an end before tensor 0");
    cJSON_Delete(document);
}

/* A model fits exactly if it has as many tensors. */
static void check_models(const struct gw_plan *plan) {
    struct gw_model model = {.name = plan->model};
    for (size_t change = 0; change < 3; change++) {
        model.tensor_count = plan->groups[0].first + change;
        enum gw_status expected = change == 1 ? GW_OK : GW_BAD_INPUT;
        fuzz_expect(gw_plan_check(plan, &model, file, &fuzz_error) == expected,
                    "a model that does not fit");
    }
}

void fuzz_write_plan(const struct gw_plan *plan) {
    check_again(&gw_plan_fields, plan);
}

bool fuzz_plan(const char *text, size_t length) {
    struct gw_plan plan;
    if (!is_read(&gw_plan_fields, text, length, &plan)) {
        return false;
    }
    fuzz_expect(plan.density > 0 && plan.density <= 1 && plan.workers > 0, "density and workers");
    fuzz_expect(isfinite(plan.iteration_s) && isfinite(plan.lower_bound_s), "a time");
    check_coverage(&plan, text, length);
    check_models(&plan);
    fuzz_write_plan(&plan);
    struct gw_scenario scenario = gw_scenario_of(fuzz_usual_model(), fuzz_usual_cluster());
    scenario.workers = plan.workers;
    scenario.density = plan.density;
    if (gw_plan_check(&plan, scenario.model, file, &fuzz_error) == GW_OK) {
        fuzz_explain(&scenario, &plan);
    }
    gw_plan_free(&plan);
    return true;
}

/* ---- counts -------------------------------------------------------------------------------- */

bool fuzz_counts(const char *text, size_t length) {
    struct gw_counts counts;
    if (!is_read(&gw_counts_fields, text, length, &counts)) {
        return false;
    }
    for (size_t i = 0; i < counts.iteration_count; i++) {
        double density = gw_counts_density(&counts, i);
        fuzz_expect(isnan(density) || (density >= 0 && density <= 1), "a density");
        fuzz_expect(gw_counts_padding(&counts, i) >= 1, "a padding");
    }
    check_again(&gw_counts_fields, &counts);
    gw_counts_free(&counts);
    return true;
}

/* ---- gradients ----------------------------------------------------------------------------- */

static void check_values(const struct gw_recorded_gradients *recorded, size_t list, size_t tensor,
                         float *values) {
    float most = (float)recorded->scales[list];
    gw_recorded_gradients_fill(recorded, list / recorded->workers, list % recorded->workers, tensor,
                               values);
    for (size_t i = 0; i < recorded->tensors[tensor].sampled; i++) {
        fuzz_expect(fabsf(values[i]) <= most, "a gradient");
    }
}

bool fuzz_gradients(const char *text, size_t length) {
    struct gw_recorded_gradients recorded;
    if (!is_read(&gw_recorded_gradients_fields, text, length, &recorded)) {
        return false;
    }
    float *values = malloc(recorded.sample * sizeof *values);
    fuzz_expect(values != NULL, "memory");
    for (size_t list = 0; list < recorded.iteration_count * recorded.workers; list++) {
        for (size_t t = 0; t < recorded.tensor_count; t++) {
            check_values(&recorded, list, t, values);
        }
    }
    fuzz_expect(gw_recorded_iterations(&recorded, recorded.workers) == recorded.iteration_count,
                "iterations");
    free(values);
    gw_recorded_gradients_free(&recorded);
    return true;
}

/* ---- trainings ----------------------------------------------------------------------------- */

bool fuzz_accuracy(const char *text, size_t length) {
    struct gw_accuracy accuracy;
    if (!is_read(&gw_accuracy_fields, text, length, &accuracy)) {
        return false;
    }
    fuzz_expect(accuracy.goal > 0 && accuracy.goal <= 1, "a goal");
    for (size_t i = 0; i < accuracy.count; i++) {
        const struct gw_trainings *one = &accuracy.trainings[i];
        fuzz_expect(one->reached <= one->count && one->count > 0, "a number of trainings");
        fuzz_expect(one->low <= one->iterations && one->iterations <= one->high, "a range");
        fuzz_expect(isfinite(one->high) == (one->reached == one->count), "an end");
    }
    gw_accuracy_free(&accuracy);
    return true;
}

/* ---- published tables ------------------------------------------------------------------------ */

bool fuzz_table(const char *text, size_t length) {
    struct gw_paper_table table;
    if (!is_read(&gw_paper_table_fields, text, length, &table)) {
        return false;
    }
    for (size_t i = 0; i < table.row_count; i++) {
        const struct gw_paper_row *row = &table.rows[i];
        fuzz_expect(row->density > 0 && row->density <= 1, "a density");
        fuzz_expect(row->elements == 0 || row->iterations > 0, "iterations of an emulation");
    }
    for (size_t i = 0; i < table.column_count; i++) {
        const struct gw_paper_column *column = &table.columns[i];
        bool ratio = column->quantity == GW_QUANTITY_RATIO;
        fuzz_expect(ratio ? column->over < i && column->under < i : column->algorithm != NULL,
                    "columns that come before, or an algorithm");
    }
    gw_paper_table_free(&table);
    return true;
}

/* ---- all documents, as `check` takes them -------------------------------------------------- */

bool fuzz_document(const char *text, size_t length) {
    const char *path = fuzz_write("document.json", text, length);
    struct gw_arena arena = {0};
    struct gw_file_check check;
    bool accepted = fuzz_accepted(gw_check_file(path, &arena, &check, &fuzz_error), path);
    fuzz_expect(!accepted || (check.odd.count <= GW_MAX_FINDINGS && check.schema != NULL),
                "findings");
    gw_arena_free(&arena);
    return accepted;
}

/* ---- validations, as pictures take them ---------------------------------------------------- */

bool fuzz_validation(const char *text, size_t length) {
    const struct gw_picture picture = {.subject = fuzz_write("validation.json", text, length),
                                       .data = fuzz_path("validation.csv")};
    return fuzz_accepted(gw_draw_validation(&picture, &fuzz_error), picture.subject);
}

bool fuzz_difference(const char *text, size_t length) {
    const struct gw_picture picture = {.subject = fuzz_write("difference.json", text, length),
                                       .data = fuzz_path("difference.csv")};
    return fuzz_accepted(gw_draw_difference(&picture, &fuzz_error), picture.subject);
}
