/* Kernels' costs in a cluster file: alone and together, at one density or two. */
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_densities(const struct gw_json *denser, double out[2],
                                     struct gw_error *error) {
    struct gw_json place = gw_json_member(denser, "densities");
    GW_TRY(gw_json_array(&place, error));
    size_t count = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place.node) {
        bool is_share = cJSON_IsNumber(node) && node->valuedouble >= 1e-9 && node->valuedouble <= 1;
        if (count < 2 && is_share) {
            out[count] = node->valuedouble;
        }
        count += is_share ? 1 : 3;
    }
    return count == 2 && (out[1] >= 1.5 * out[0] || out[0] >= 1.5 * out[1])
               ? GW_OK
               : gw_json_expected(
                     &place, "two densities from 1e-9 to 1, one half as much again as the other",
                     error);
}

/* Reads the curve's margins from its entry. */
static enum gw_status read_margins(const cJSON *entry, const struct gw_curve *curve,
                                   struct gw_margins *out, struct gw_error *error) {
    gw_margins_free(out);
    return gw_margins_read(entry, "elements", curve, GW_KERNEL_MARGIN, out, error);
}

static enum gw_status read_together(const struct gw_json *place, struct gw_curve *out,
                                    struct gw_margins *margins, struct gw_error *error) {
    struct gw_json together = gw_json_member(place, "together");
    if (together.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&together, error));
    GW_TRY(gw_curve_read(&together, GW_KERNEL_NAMES, out, error));
    return read_margins(together.node, out, margins, error);
}

/* Reads the curves of all ranks together, and those at the second density. */
static enum gw_status read_more(const struct gw_json *place, struct gw_kernel_cost *cost,
                                struct gw_error *error) {
    struct gw_json denser = gw_json_member(place, "denser");
    GW_TRY(read_together(place, &cost->together, &cost->margins[0][1], error));
    if (denser.node != NULL) {
        GW_TRY(gw_json_object(&denser, error));
        GW_TRY(read_densities(&denser, cost->densities, error));
        GW_TRY(gw_curve_read(&denser, GW_KERNEL_NAMES, &cost->denser, error));
        GW_TRY(read_margins(denser.node, &cost->denser, &cost->margins[1][0], error));
        GW_TRY(read_together(&denser, &cost->denser_together, &cost->margins[1][1], error));
    }
    return GW_OK;
}

static enum gw_status read_kernel(const struct gw_json *place, const char *name,
                                  struct gw_kernel_costs *costs, struct gw_error *error) {
    struct gw_curve curve = {0};
    GW_TRY(gw_json_object(place, error));
    GW_TRY(gw_curve_read(place, GW_KERNEL_NAMES, &curve, error));
    cJSON *kept = NULL;
    enum gw_status status = gw_json_copy(place->node, &kept, error);
    if (status != GW_OK) {
        gw_curve_free(&curve);
        return status;
    }
    GW_TRY(gw_kernel_costs_add(costs, name, curve, kept, error));
    return read_more(place, &costs->list[costs->count - 1], error);
}

enum gw_status gw_kernel_costs_read(const struct gw_json *kernels, struct gw_kernel_costs *costs,
                                    struct gw_error *error) {
    GW_TRY(gw_json_object(kernels, error));
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, kernels->node) {
        struct gw_json place = gw_json_child(kernels, node);
        GW_TRY(gw_read_on(read_kernel(&place, node->string, costs, error), error));
    }
    return GW_OK;
}

/* ---- finding ------------------------------------------------------------------------------- */

static struct gw_kernel_cost *find(const struct gw_kernel_costs *costs, const char *name) {
    for (size_t i = 0; i < costs->count; i++) {
        if (strcmp(costs->list[i].name, name) == 0) {
            return &costs->list[i];
        }
    }
    return NULL;
}

const struct gw_kernel_cost *gw_kernel_cost_find(const struct gw_kernel_costs *costs,
                                                 const char *name) {
    return find(costs, name);
}

/* ---- building ------------------------------------------------------------------------------ */

enum gw_status gw_kernel_costs_add(struct gw_kernel_costs *costs, const char *name,
                                   struct gw_curve curve, cJSON *details, struct gw_error *error) {
    struct gw_kernel_cost *larger =
        gw_grow(costs->list, costs->count + 1, &costs->capacity, sizeof *larger);
    char *copy = strdup(name);
    enum gw_status status = GW_OK;
    if (larger != NULL) {
        costs->list = larger;
    }
    if (larger == NULL || copy == NULL) {
        status = gw_fail_memory(error, "adding costs to a cluster");
    }
    status = status == GW_OK ? gw_curve_make_rise(&curve, details, error) : status;
    if (status != GW_OK) {
        free(copy);
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return status;
    }
    struct gw_kernel_cost *added = &larger[costs->count++];
    *added = (struct gw_kernel_cost){.name = copy, .curve = curve, .kept = details};
    return read_margins(details, &curve, &added->margins[0][0], error);
}

/*
 * Adds a curve to a kernel, and its details to the kernel's entry or to the entry's object
 * `within`; both are taken over, also on failure.
 */
static enum gw_status add_more(struct gw_kernel_cost *cost, const char *within, const char *key,
                               struct gw_curve curve, cJSON *details, struct gw_curve *out,
                               struct gw_margins *margins, struct gw_error *error) {
    cJSON *entry =
        within == NULL ? cost->kept : cJSON_GetObjectItemCaseSensitive(cost->kept, within);
    enum gw_status status = gw_curve_make_rise(&curve, details, error);
    if (status != GW_OK) {
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return status;
    }
    gw_curve_free(out);
    *out = curve;
    status = read_margins(details, out, margins, error);
    enum gw_status put = gw_json_put(entry, key, details, error);
    return status == GW_OK ? put : status;
}

/* Finds a kernel; if there is none, frees the curve and the details and returns NULL. */
static struct gw_kernel_cost *find_measured(struct gw_kernel_costs *costs, const char *name,
                                            struct gw_curve *curve, cJSON *details,
                                            struct gw_error *error) {
    struct gw_kernel_cost *cost = find(costs, name);
    if (cost == NULL) {
        gw_curve_free(curve);
        cJSON_Delete(details);
        (void)gw_fail(error, GW_FAILED, "%s: expected what it takes alone before", name);
    }
    return cost;
}

enum gw_status gw_kernel_costs_add_together(struct gw_kernel_costs *costs, const char *name,
                                            bool denser, struct gw_curve curve, cJSON *details,
                                            struct gw_error *error) {
    struct gw_kernel_cost *cost = find_measured(costs, name, &curve, details, error);
    return cost == NULL ? GW_FAILED
                        : add_more(cost, denser ? "denser" : NULL, "together", curve, details,
                                   denser ? &cost->denser_together : &cost->together,
                                   &cost->margins[denser][1], error);
}

enum gw_status gw_kernel_costs_add_denser(struct gw_kernel_costs *costs, const char *name,
                                          const double densities[2], struct gw_curve curve,
                                          cJSON *details, struct gw_error *error) {
    struct gw_kernel_cost *cost = find_measured(costs, name, &curve, details, error);
    if (cost == NULL) {
        return GW_FAILED;
    }
    memcpy(cost->densities, densities, sizeof cost->densities);
    return add_more(cost, NULL, "denser", curve, details, &cost->denser, &cost->margins[1][0],
                    error);
}

void gw_kernel_costs_free(struct gw_kernel_costs *costs) {
    for (size_t i = 0; i < costs->count; i++) {
        free(costs->list[i].name);
        gw_curve_free(&costs->list[i].curve);
        gw_curve_free(&costs->list[i].together);
        gw_curve_free(&costs->list[i].denser);
        gw_curve_free(&costs->list[i].denser_together);
        for (size_t m = 0; m < 4; m++) {
            gw_margins_free(&costs->list[i].margins[m / 2][m % 2]);
        }
        cJSON_Delete(costs->list[i].kept);
    }
    free(costs->list);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_together(struct gw_json_writer *writer, const struct gw_curve *together) {
    if (gw_curve_costs(together)) {
        gw_writer_reopen_object(writer, "together", 0);
        gw_curve_write(writer, together, GW_KERNEL_NAMES);
        gw_writer_end(writer);
    }
}

void gw_kernel_costs_write(struct gw_json_writer *writer, const char *key,
                           const struct gw_kernel_costs *costs) {
    gw_writer_object(writer, key);
    for (size_t i = 0; i < costs->count; i++) {
        const struct gw_kernel_cost *cost = &costs->list[i];
        gw_writer_open(writer, cost->name, gw_entry_object(cost->kept));
        gw_curve_write(writer, &cost->curve, GW_KERNEL_NAMES);
        write_together(writer, &cost->together);
        if (cost->densities[0] != cost->densities[1]) {
            gw_writer_reopen_object(writer, "denser", 0);
            gw_writer_numbers(writer, "densities", cost->densities, 2);
            gw_curve_write(writer, &cost->denser, GW_KERNEL_NAMES);
            write_together(writer, &cost->denser_together);
            gw_writer_end(writer);
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}
