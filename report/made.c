/* Prints models and clusters, measured or made. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/imports.h"

/* ---- a model --------------------------------------------------------------------------------- */

enum { MOST_TENSORS = 10 };

/* Finds the places of the largest tensors, largest first. Returns their count. */
static size_t find_largest(const struct gw_model *model, size_t places[MOST_TENSORS]) {
    size_t count = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        size_t place = count < MOST_TENSORS ? count++ : MOST_TENSORS;
        while (place > 0 &&
               model->tensors[places[place - 1]].elements < model->tensors[i].elements) {
            if (place < MOST_TENSORS) {
                places[place] = places[place - 1];
            }
            place--;
        }
        if (place < MOST_TENSORS) {
            places[place] = i;
        }
    }
    return count;
}

void gw_print_model(const struct gw_model *model) {
    size_t places[MOST_TENSORS];
    size_t count = find_largest(model, places);
    gw_print("%s: %s, %s elements, %s of gradients", model->name,
             GW_COUNTED(model->tensor_count, "tensor"), GW_NUMBER(gw_model_elements(model)),
             GW_BYTES((double)(gw_model_elements(model) * model->bytes_per_element)));
    if (model->batch_size > 0) {
        gw_print(", %g samples a worker", model->batch_size);
    }
    gw_print("\nforward %s", GW_SECONDS(model->forward_s));
    gw_print(", backward %s", GW_SECONDS(gw_model_backward_s(model)));
    gw_print(", update %s", GW_SECONDS(model->update_s));
    if (model->device != NULL) {
        gw_print(", on %s", model->device);
    }
    if (model->uncertainty > 0) {
        gw_print(", 1/%.2f to %.2f times that in 95%% of cases", 1 + model->uncertainty,
                 1 + model->uncertainty);
    }
    gw_print("\n\n");
    struct gw_table *table = gw_table_open("rlrrr", "number\ttensor\telements\tshare\tbackward");
    for (size_t i = 0; i < count; i++) {
        const struct gw_tensor *tensor = &model->tensors[places[i]];
        double elements = (double)tensor->elements;
        gw_table_cells(table, "%zu\t%s\t%s\t%.1f%%\t%s", places[i], tensor->name,
                       GW_NUMBER(elements), 100 * elements / (double)gw_model_elements(model),
                       GW_SECONDS(tensor->backward_s));
    }
    gw_table_print_and_close(table);
    if (model->tensor_count > count) {
        gw_print("and %zu smaller ones\n", model->tensor_count - count);
    }
}

/* ---- a cluster ------------------------------------------------------------------------------- */

/* The table's columns: bytes contributed per worker, or elements compressed. */
static const double shown_bytes[] = {1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28};
static const double shown_elements[] = {1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28};
enum { SHOWN = sizeof shown_bytes / sizeof *shown_bytes };

/* Adds times at the sizes and the range of margins there: "+-30%", or "+-4% to +-30%". */
static void add_times(struct gw_table *table, const struct gw_curve *curve,
                      const struct gw_margins *margins, const double *sizes) {
    double least = INFINITY;
    double most = 0;
    char text[2][GW_UNITS_SIZE];
    for (size_t i = 0; i < SHOWN; i++) {
        double margin = gw_margins_at(margins, sizes[i]);
        least = fmin(least, margin);
        most = fmax(most, margin);
        gw_table_cells(table, "%s", gw_format_seconds(gw_curve_time(curve, sizes[i]), text[0]));
    }
    gw_format_margin(least, 0, text[0]);
    gw_format_margin(most, 0, text[1]);
    bool is_one = strcmp(text[0], text[1]) == 0;
    gw_table_cells(table, "%s%s%s", most > 0 ? text[0] : "not known", is_one ? "" : " to ",
                   is_one ? "" : text[1]);
}

/* If a cluster has more collectives, only those among its own workers are shown. */
enum { MOST_ROWS = 24 };

static bool is_shown(const struct gw_cluster *cluster, const struct gw_collective_cost *cost) {
    return cluster->collective_count <= MOST_ROWS || cost->workers == cluster->workers ||
           gw_cluster_find_collective(cluster, cost->name, cluster->workers) == NULL;
}

/* Prints the numbers of workers that have no row, each once. */
static void print_others(const struct gw_cluster *cluster, struct gw_arena *arena) {
    char names[256] = "";
    size_t last = 0;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (!is_shown(cluster, cost) && cost->workers > last) {
            gw_list_name(names, sizeof names, gw_arena_format(arena, "%zu", cost->workers));
            last = cost->workers;
        }
    }
    if (last > 0) {
        gw_print_note("", "The cluster has curves among %s workers as well (--json).", names);
    }
}

/* Prints "allreduce among 16: no size above 256 B was measured" for extrapolated curves. */
static void print_short(const struct gw_cluster *cluster) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        double largest_short = gw_margins_largest_short(&cost->margins);
        if (is_shown(cluster, cost) && largest_short > 0) {
            gw_print_note("",
                          "%s among %zu: no size above %s was measured; times of larger ones are "
                          "extrapolated.",
                          cost->name, cost->workers, GW_BYTES(largest_short));
        }
    }
}

static void print_collectives(const struct gw_cluster *cluster, struct gw_arena *arena) {
    struct gw_table *table = gw_table_open(
        "lrrrrrrl", "collective\tworkers\t1 KiB\t64 KiB\t1 MiB\t16 MiB\t256 MiB\toff by");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (is_shown(cluster, cost)) {
            gw_table_cells(table, "%s\t%zu", cost->name, cost->workers);
            add_times(table, &cost->curve, &cost->margins, shown_bytes);
        }
    }
    gw_table_print_and_close(table);
    print_others(cluster, arena);
    print_short(cluster);
}

static void print_kernels(const struct gw_kernel_costs *costs, const char *what) {
    if (costs->count == 0) {
        return;
    }
    gw_print("\n");
    struct gw_table *table = gw_table_open(
        "lrrrrrl", "%s\t4,096\t65,536\t1,048,576\t16,777,216\t268,435,456\toff by", what);
    for (size_t i = 0; i < costs->count; i++) {
        const struct gw_kernel_cost *cost = &costs->list[i];
        gw_table_cells(table, "%s", cost->name);
        add_times(table, &cost->curve, &cost->margins[0][0], shown_elements);
    }
    gw_table_print_and_close(table);
}

void gw_print_cluster(const struct gw_cluster *cluster) {
    struct gw_arena arena = {0};
    char assumed[GW_ASSUMED_SIZE];
    const char *reach = gw_cluster_source(cluster, GW_CLUSTER_NETWORK_REACH);
    const char *const notes[] = {gw_cluster_source(cluster, "note"),
                                 gw_cluster_source(cluster, GW_CLUSTER_ASSUMED_COMPRESSORS)};
    gw_print("%s: %s, %zu a node, %s\n", cluster->name, GW_COUNTED(cluster->workers, "worker"),
             cluster->workers_per_node, gw_cluster_origin(cluster));
    if (reach != NULL) {
        gw_print("network: %s\n", reach);
    }
    gw_print("\n");
    print_collectives(cluster, &arena);
    print_kernels(&cluster->compressors, "compressor, elements");
    print_kernels(&cluster->aggregation, "aggregation, elements");
    for (size_t i = 0; gw_import_passed_over(cluster, i) != NULL; i++) {
        gw_print_note("passed over: ", "%s", gw_import_passed_over(cluster, i));
    }
    if (notes[0] != NULL) {
        gw_print_note("", "%s", notes[0]);
    }
    gw_cluster_name_assumed(cluster, assumed);
    if (assumed[0] != '\0') {
        gw_print_note("", "Not measured: %s.", assumed);
    }
    if (notes[1] != NULL) {
        gw_print_note("", "Compressors are assumed: %s.", notes[1]);
    }
    if (cluster->passes_uncertainty > 0) {
        gw_print_note("", "Forward and backward passes may take up to %.0f%% longer than alone.",
                      100 * cluster->passes_uncertainty);
    }
    gw_arena_free(&arena);
}
