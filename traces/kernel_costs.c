/* Kernels' costs in a cluster file: alone and together, at one density or two. */
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

/* ---- finding ------------------------------------------------------------------------------- */

static struct gw_kernel_cost *find_kernel_cost(const struct gw_kernel_costs *costs,
                                               const char *name) {
    for (size_t i = 0; i < costs->count; i++) {
        if (strcmp(costs->list[i].name, name) == 0) {
            return &costs->list[i];
        }
    }
    return NULL;
}

const struct gw_kernel_cost *gw_kernel_cost_find(const struct gw_kernel_costs *costs,
                                                 const char *name) {
    const struct gw_kernel_cost *found = find_kernel_cost(costs, name);
    size_t length = strcspn(name, ":");
    for (size_t i = 0; i < costs->count && found == NULL; i++) {
        const char *other = costs->list[i].name;
        found = strncmp(other, name, length) == 0 && other[length] == '\0' ? &costs->list[i] : NULL;
    }
    return found;
}

/* ---- building ------------------------------------------------------------------------------ */

/* Returns a kernel's curve: alone or together, at the first density or the second. */
static struct gw_curve *curve_of(struct gw_kernel_cost *cost, bool denser, bool together) {
    return denser     ? together ? &cost->denser_together : &cost->denser
           : together ? &cost->together
                      : &cost->curve;
}

/* Sets a curve, which is taken over also on failure, and the margins that its entry states. */
static enum gw_status set_curve(struct gw_kernel_cost *cost, bool denser, bool together,
                                struct gw_curve curve, const cJSON *entry, struct gw_error *error) {
    struct gw_curve *out = curve_of(cost, denser, together);
    struct gw_margins *margins = &cost->margins[denser][together];
    struct gw_raw raw = {0};
    gw_curve_free(out);
    gw_margins_free(margins);
    *out = curve;
    enum gw_status status = gw_raw_read(entry, &raw, error);
    status = status == GW_OK ? gw_curve_make_rise(out, &raw, error) : status;
    status = status == GW_OK ? gw_margins_read(entry, &raw, out, GW_KERNEL_MARGIN, margins, error)
                             : status;
    if (denser || together) {
        free(raw.sizes);
    } else {
        cost->raw = raw;
    }
    return status;
}

/* Adds a kernel without curves; its entry is taken over, also on failure. */
static enum gw_status add_kernel(struct gw_kernel_costs *costs, const char *name, cJSON *entry,
                                 struct gw_kernel_cost **out, struct gw_error *error) {
    struct gw_kernel_cost *larger =
        gw_grow(costs->list, costs->count + 1, &costs->capacity, sizeof *larger);
    char *copy = strdup(name);
    costs->list = larger == NULL ? costs->list : larger;
    if (larger == NULL || copy == NULL) {
        free(copy);
        cJSON_Delete(entry);
        return gw_fail_memory(error, "adding costs to a cluster");
    }
    *out = &larger[costs->count++];
    **out = (struct gw_kernel_cost){.name = copy, .kept = entry};
    return GW_OK;
}

enum gw_status gw_kernel_costs_add(struct gw_kernel_costs *costs, const char *name,
                                   struct gw_curve curve, cJSON *details, struct gw_error *error) {
    struct gw_kernel_cost *added = NULL;
    enum gw_status status = add_kernel(costs, name, details, &added, error);
    if (status != GW_OK) {
        gw_curve_free(&curve);
        return status;
    }
    return set_curve(added, false, false, curve, details, error);
}

enum gw_status gw_kernel_costs_add_curve(struct gw_kernel_costs *costs, const char *name,
                                         struct gw_kernel_curve which, struct gw_curve curve,
                                         cJSON *details, struct gw_error *error) {
    struct gw_kernel_cost *cost = find_kernel_cost(costs, name);
    bool denser = which.densities[1] > 0;
    if (cost == NULL) {
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return gw_fail(error, GW_FAILED, "%s: expected the time alone before", name);
    }
    cJSON *entry = cost->kept;
    if (denser && which.together) {
        entry = cJSON_GetObjectItemCaseSensitive(entry, "denser");
    } else if (denser) {
        memcpy(cost->densities, which.densities, sizeof cost->densities);
    }
    enum gw_status status = set_curve(cost, denser, which.together, curve, details, error);
    enum gw_status put = gw_json_put(entry, which.together ? "together" : "denser", details, error);
    return status == GW_OK ? put : status;
}

void gw_kernel_costs_free(struct gw_kernel_costs *costs) {
    for (size_t i = 0; i < costs->count; i++) {
        struct gw_kernel_cost *cost = &costs->list[i];
        free(cost->name);
        free(cost->raw.sizes);
        for (size_t c = 0; c < 4; c++) {
            gw_curve_free(curve_of(cost, c / 2, c % 2));
            gw_margins_free(&cost->margins[c / 2][c % 2]);
        }
        cJSON_Delete(cost->kept);
    }
    free(costs->list);
}

/* ---- reading ------------------------------------------------------------------------------- */

enum { MOST_RANK = 32 }; /* of PowerSGD, as methods have it */

static enum gw_status read_densities(const struct gw_json *denser, double out[2],
                                     struct gw_error *error) {
    const bool ranks = gw_json_member(denser, "ranks").node != NULL;
    const struct gw_json place = gw_json_member(denser, ranks ? "ranks" : "densities");
    double least = ranks ? 1 : 1e-9;
    double most = ranks ? MOST_RANK : 1;
    GW_TRY(gw_json_array(&place, error));
    size_t count = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place.node) {
        bool fits = cJSON_IsNumber(node) && node->valuedouble >= least && node->valuedouble <= most;
        if (count < 2 && fits) {
            out[count] = node->valuedouble;
        }
        count += fits ? 1 : 3;
    }
    return count == 2 && (out[1] >= 1.5 * out[0] || out[0] >= 1.5 * out[1])
               ? GW_OK
               : gw_json_expected(
                     &place,
                     ranks ? "two ranks from 1 to 32, one half as much again as the other"
                           : "two densities from 1e-9 to 1, one half as much again as the other",
                     error);
}

/* Reads a kernel's own curve, and those together and at the second density that it has. */
static enum gw_status read_kernel(const struct gw_json *place, const char *name,
                                  struct gw_kernel_costs *costs, struct gw_error *error) {
    struct gw_kernel_cost *cost = NULL;
    cJSON *kept = NULL;
    GW_TRY(gw_json_object(place, error));
    GW_TRY(gw_json_copy(place->node, &kept, error));
    GW_TRY(add_kernel(costs, name, kept, &cost, error));
    for (size_t c = 0; c < 4; c++) {
        bool denser = c / 2, together = c % 2;
        struct gw_json entry = denser ? gw_json_member(place, "denser") : *place;
        struct gw_curve curve = {0};
        entry = together ? gw_json_member(&entry, "together") : entry;
        if (entry.node == NULL) {
            continue;
        }
        GW_TRY(gw_json_object(&entry, error));
        GW_TRY(denser && !together ? read_densities(&entry, cost->densities, error) : GW_OK);
        GW_TRY(gw_curve_read(&entry, GW_KERNEL_NAMES, &curve, error));
        GW_TRY(set_curve(cost, denser, together, curve, entry.node, error));
    }
    return GW_OK;
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
            gw_writer_numbers(writer, cost->densities[1] > 1 ? "ranks" : "densities",
                              cost->densities, 2);
            gw_curve_write(writer, &cost->denser, GW_KERNEL_NAMES);
            write_together(writer, &cost->denser_together);
            gw_writer_end(writer);
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}
