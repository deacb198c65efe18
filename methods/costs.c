#include "methods/costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/kernel_cost.h"

/* ---- aggregation ----------------------------------------------------------------------------- */

struct gw_aggregation_costs gw_aggregation_costs_of(const struct gw_leg *leg,
                                                    const struct gw_cluster *cluster) {
    struct gw_aggregation_costs costs = {{NULL}};
    for (size_t i = 0; i < GW_MAX_AGGREGATIONS; i++) {
        const struct gw_aggregation *aggregation = &leg->aggregations[i];
        if (aggregation->recurrence != GW_NEVER) {
            costs.by[i] =
                gw_kernel_cost_find(&cluster->aggregation, gw_aggregator_names[aggregation->by]);
        }
    }
    return costs;
}

/* Numbers of runs of the aggregator, and of contributions to each run. */
static void find_calls(enum gw_recurrence recurrence, size_t workers, double *calls,
                       double *contributions) {
    *calls = 1;
    *contributions = recurrence == GW_FOR_EACH_WORKER ? (double)workers : 1;
    if (recurrence == GW_IN_EACH_ROUND) {
        *calls = 0;
        for (size_t reached = 1; reached < workers; reached *= 2) {
            ++*calls;
        }
    }
}

struct gw_turns gw_turns_behind(const struct gw_cluster *cluster, const char *collective,
                                size_t workers, double byte_factor, double bytes) {
    double part = gw_sharing_part(&cluster->sharing, workers);
    return (struct gw_turns){
        .part = part,
        .ahead_s =
            part > 0 ? gw_cluster_skew_s(cluster, collective, workers, byte_factor, bytes) : 0};
}

bool gw_aggregation_shares(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                           size_t which, double part) {
    const struct gw_kernel_cost *cost = costs->by[which];
    return cost != NULL && part > 0 && leg->aggregations[which].where == GW_EVERYWHERE &&
           gw_kernel_shares(cost);
}

struct gw_aggregator_calls gw_aggregator_calls_of(const struct gw_leg *leg,
                                                  const struct gw_aggregation_costs *costs,
                                                  size_t which, const struct gw_extent *extent,
                                                  size_t workers) {
    const struct gw_aggregation *aggregation = &leg->aggregations[which];
    const struct gw_kernel_cost *cost = costs->by[which];
    struct gw_aggregator_calls calls = {0};
    if (cost == NULL) {
        return calls;
    }
    double contributions = 0;
    find_calls(aggregation->recurrence, workers, &calls.count, &contributions);
    double of_each = (double)gw_aggregation_elements(leg, aggregation->by, extent);
    calls.elements = contributions * of_each;
    if (gw_aggregator_scatters(aggregation->by)) {
        calls.share = gw_scatter_share(cost, of_each / (double)extent->elements);
    } else if (aggregation->by == GW_HEAVYMIX) {
        uint64_t columns = extent->sketch_cells / GW_SKETCH_ROWS;
        calls.share = gw_search_share(cost, calls.elements, (double)columns);
    }
    return calls;
}

/* Seconds of a call by one rank, and (together_s) by all ranks of a machine at once. */
static double alone_s(const struct gw_leg *leg, const struct gw_kernel_cost *cost, size_t which,
                      double elements, double share) {
    return gw_aggregator_scatters(leg->aggregations[which].by) ? gw_scatter_s(cost, elements, share)
                                                               : gw_kernel_s(cost, elements, share);
}

static double together_s(const struct gw_leg *leg, const struct gw_kernel_cost *cost, size_t which,
                         double elements, double share) {
    return gw_kernel_together_s(cost, elements, share, alone_s(leg, cost, which, elements, share));
}

/*
 * Leaves out of the time together that of a single element, which is the time to wake all ranks:
 * ranks that leave an exchange are awake. Leaves out turns of ranks that left the exchange earlier,
 * by up to ahead_s before the last one.
 */
double gw_aggregator_s(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                       size_t which, const struct gw_aggregator_calls *calls,
                       struct gw_turns *turns) {
    const struct gw_kernel_cost *cost = costs->by[which];
    double elements = calls->elements;
    if (cost == NULL || !(elements > 0)) {
        return 0;
    }
    double call_s = alone_s(leg, cost, which, elements, calls->share);
    if (gw_aggregation_shares(leg, costs, which, turns->part)) {
        double turns_s = together_s(leg, cost, which, elements, calls->share) -
                         together_s(leg, cost, which, 1, calls->share);
        double all_s = alone_s(leg, cost, which, 1, calls->share) + turns->part * turns_s;
        double others_s = fmax(0, all_s - call_s);
        double ahead_s = fmin(turns->ahead_s, others_s);
        turns->ahead_s -= ahead_s;
        call_s += others_s - ahead_s;
    }
    return calls->count * call_s;
}

double gw_aggregation_s(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                        const struct gw_extent *extent, size_t workers, struct gw_turns turns) {
    double seconds = 0;
    for (size_t i = 0; i < GW_MAX_AGGREGATIONS; i++) {
        if (costs->by[i] != NULL) {
            struct gw_aggregator_calls calls =
                gw_aggregator_calls_of(leg, costs, i, extent, workers);
            seconds += gw_aggregator_s(leg, costs, i, &calls, &turns);
        }
    }
    return seconds;
}

/* ---- a group ------------------------------------------------------------------------------- */

enum gw_status gw_collective_curve(const struct gw_cluster *cluster, const char *collective,
                                   size_t workers, double byte_factor, struct gw_curve *out,
                                   char derivation[GW_DERIVATION_SIZE], struct gw_error *error) {
    GW_TRY(gw_cluster_collective(cluster, collective, workers, out, derivation, error));
    if (byte_factor == 1) {
        return GW_OK;
    }
    struct gw_curve measured = *out;
    *out = (struct gw_curve){0};
    enum gw_status status = gw_curve_scaled(&measured, 1, byte_factor, out, error);
    gw_curve_free(&measured);
    return status;
}

static struct gw_extent extent_of(const struct gw_costs *costs, uint64_t n, size_t tensors) {
    uint64_t kept = gw_costs_compress(costs) ? gw_elements_kept(n, costs->density) : n;
    return (struct gw_extent){.elements = n,
                              .bytes_per_element = costs->model->bytes_per_element,
                              .layers = tensors,
                              .sketch_cells = gw_sketch_cells(costs->compressor, n, kept),
                              .selected =
                                  gw_selected_as_asked(costs->compressor, kept, costs->workers)};
}

uint64_t gw_costs_bytes(const struct gw_costs *costs, uint64_t n) {
    return gw_exchange_bytes(gw_costs_compress(costs), costs->model->bytes_per_element, n,
                             costs->density);
}

double gw_costs_compress_s(const struct gw_costs *costs, uint64_t n) {
    return gw_costs_compress(costs) ? gw_curve_time(&costs->compress, (double)n) : 0;
}

static double legs_s(const struct gw_costs *costs, uint64_t n, size_t tensors) {
    struct gw_extent extent = extent_of(costs, n, tensors);
    double seconds = costs->update_s_per_element * (double)n;
    for (size_t i = 0; i < costs->legs->leg_count; i++) {
        const struct gw_leg *leg = &costs->legs->legs[i];
        const struct gw_leg_cost *cost = &costs->leg_costs[i];
        seconds += gw_curve_time(&cost->curve, (double)gw_payload_bytes(leg->payload, &extent));
        seconds += gw_aggregation_s(leg, &cost->aggregation, &extent, costs->workers,
                                    (struct gw_turns){0});
    }
    return seconds;
}

double gw_costs_exchange_s(const struct gw_costs *costs, uint64_t n, size_t tensors) {
    return costs->legs != NULL ? legs_s(costs, n, tensors)
                               : gw_curve_time(&costs->exchange, (double)gw_costs_bytes(costs, n));
}

double gw_costs_startup_s(const struct gw_costs *costs) {
    double seconds = costs->legs == NULL ? gw_curve_startup(&costs->exchange) : 0;
    for (size_t i = 0; costs->legs != NULL && i < costs->legs->leg_count; i++) {
        seconds += gw_curve_startup(&costs->leg_costs[i].curve);
    }
    return seconds;
}

double gw_costs_update_s(const struct gw_costs *costs) {
    double update_s = costs->update_s_per_element > 0 ? 0 : costs->model->update_s;
    return update_s + costs->session_s;
}

/* ---- lower bounds ---------------------------------------------------------------------------- */

/*
 * Least bytes of a leg for each byte of the group's entries or dense gradient. A sketch has no
 * fewer columns than elements that it is to find, and 4 bytes a cell.
 */
static double least_share(enum gw_payload payload, const struct gw_costs *costs) {
    double workers = costs->compressor->joint ? (double)costs->workers : 1;
    switch (payload) {
    case GW_DENSE:
        return 1;
    case GW_SPARSE:
    case GW_PADDED:
        return 1 / workers;
    case GW_INDICES:
        return 0.5 / workers;
    case GW_VALUES:
    case GW_LAYERS:
    case GW_ALL_LAYERS:
        return 0.5;
    case GW_SKETCH:
        return 0.5 * GW_SKETCH_ROWS;
    case GW_COUNTS:
        break;
    }
    return 0;
}

/* Bytes of the entries or the dense gradient of groups: of the smallest tensor, of all together. */
struct byte_range {
    double low, high;
};

static struct byte_range range_of(const struct gw_costs *costs) {
    const struct gw_model *model = costs->model;
    uint64_t smallest = model->tensors[0].elements;
    for (size_t i = 1; i < model->tensor_count; i++) {
        smallest = model->tensors[i].elements < smallest ? model->tensors[i].elements : smallest;
    }
    return (struct byte_range){.low = (double)gw_costs_bytes(costs, smallest),
                               .high = (double)gw_costs_bytes(costs, gw_model_elements(model))};
}

/*
 * Copies a curve from share x low bytes to share x high bytes or beyond, with a point at the first,
 * and divides its sizes by `share`. Lowers times to the least of all later ones: straight lines
 * between the points are then nowhere above the curve, and do not fall.
 */
static enum gw_status lower_points(const struct gw_curve *curve, double share,
                                   struct byte_range range, struct gw_curve *out,
                                   struct gw_error *error) {
    size_t count = curve->point_count;
    double low = share * range.low;
    double high = share * (range.high > range.low ? range.high : 2 * range.low);
    bool falls = curve->points[count - 1].time_s < curve->points[count - 2].time_s;
    *out = (struct gw_curve){0};
    if (falls || !(gw_curve_time(curve, low) > 0)) {
        return GW_OK; /* no lower bound: the curve stays at zero */
    }
    struct gw_curve_point *points = calloc(count + 2, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "bounding a cost curve");
    }
    size_t used = 0;
    points[used++].size = low;
    for (size_t i = 0; i < count; i++) {
        if (curve->points[i].size > low) {
            points[used++].size = curve->points[i].size;
        }
    }
    if (points[used - 1].size < high) {
        points[used++].size = high;
    }
    double least = INFINITY;
    for (size_t i = used; i-- > 0;) {
        least = fmin(least, gw_curve_time(curve, points[i].size));
        points[i] = (struct gw_curve_point){points[i].size / share, least};
    }
    *out = (struct gw_curve){.point_count = used, .points = points};
    return GW_OK;
}

/* Lower bound of a leg that carries at least `share` bytes for each of the group's. */
static enum gw_status lower_curve(const struct gw_curve *curve, double share,
                                  struct byte_range range, struct gw_curve *out,
                                  struct gw_error *error) {
    if (share == 0) {
        *out = (struct gw_curve){.fixed_s = gw_curve_time(curve, sizeof(float))};
        return GW_OK;
    }
    if (curve->point_count > 0) {
        return lower_points(curve, share, range, out, error);
    }
    *out = (struct gw_curve){.fixed_s = curve->fixed_s, .per_unit_s = curve->per_unit_s * share};
    return GW_OK;
}

/* Adds `term`, which it frees, to the sum. */
static enum gw_status add_curve(struct gw_curve *sum, struct gw_curve *term,
                                struct gw_error *error) {
    struct gw_curve before = *sum;
    *sum = (struct gw_curve){0};
    enum gw_status status = gw_curve_sum(&before, term, sum, error);
    gw_curve_free(&before);
    gw_curve_free(term);
    return status;
}

/* Least elements of an aggregator for each byte of the group's entries or dense gradient. */
static double least_elements(const struct gw_costs *costs, enum gw_payload payload,
                             enum gw_aggregator by) {
    double bytes = payload == GW_DENSE ? (double)costs->model->bytes_per_element
                   : payload == GW_SPARSE || payload == GW_PADDED ? GW_ENTRY_BYTES
                                                                  : GW_NUMBER_BYTES;
    return by == GW_HEAVYMIX ? 1.0 / GW_ENTRY_BYTES : least_share(payload, costs) / bytes;
}

static enum gw_status bound_aggregation(struct gw_costs *costs, size_t which,
                                        struct byte_range range, struct gw_error *error) {
    const struct gw_leg *leg = &costs->legs->legs[which];
    for (size_t i = 0; i < GW_MAX_AGGREGATIONS; i++) {
        const struct gw_aggregation *aggregation = &leg->aggregations[i];
        const struct gw_kernel_cost *by = costs->leg_costs[which].aggregation.by[i];
        struct gw_curve once = {0};
        struct gw_curve lower = {0};
        double calls = 0;
        double contributions = 0;
        if (by == NULL) {
            continue;
        }
        find_calls(aggregation->recurrence, costs->workers, &calls, &contributions);
        double share = contributions * least_elements(costs, leg->payload, aggregation->by);
        bool two = by->densities[1] > 0;
        double least = two ? calls / 2 : calls;
        GW_TRY(
            lower_curve(two && gw_aggregator_scatters(aggregation->by) ? &by->denser : &by->curve,
                        share, range, &once, error));
        enum gw_status status = gw_curve_scaled(&once, least, least, &lower, error);
        gw_curve_free(&once);
        GW_TRY(status);
        GW_TRY(add_curve(&costs->exchange, &lower, error));
    }
    return GW_OK;
}

/* Leaves out a server's update of a sparse group, whose number of elements is not known. */
static enum gw_status bound_exchange(struct gw_costs *costs, struct gw_error *error) {
    struct byte_range range = range_of(costs);
    if (!gw_costs_compress(costs)) {
        costs->exchange.per_unit_s =
            costs->update_s_per_element / (double)costs->model->bytes_per_element;
    }
    for (size_t i = 0; i < costs->legs->leg_count; i++) {
        struct gw_curve lower = {0};
        double share = least_share(costs->legs->legs[i].payload, costs);
        GW_TRY(lower_curve(&costs->leg_costs[i].curve, share, range, &lower, error));
        GW_TRY(add_curve(&costs->exchange, &lower, error));
        GW_TRY(bound_aggregation(costs, i, range, error));
    }
    return GW_OK;
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status look_legs_up(const struct gw_scenario *scenario, struct gw_costs *costs,
                                   struct gw_error *error) {
    double elements = (double)gw_model_elements(costs->model);
    for (size_t i = 0; i < costs->legs->leg_count; i++) {
        const struct gw_leg *leg = &costs->legs->legs[i];
        struct gw_leg_cost *cost = &costs->leg_costs[i];
        GW_TRY(gw_collective_curve(scenario->cluster, leg->collective, costs->workers,
                                   1 / scenario->bandwidth, &cost->curve, cost->derivation, error));
        for (size_t before = 0; before < i; before++) {
            if (strcmp(costs->leg_costs[before].derivation, cost->derivation) == 0) {
                cost->derivation[0] = '\0';
            }
        }
        cost->aggregation = gw_aggregation_costs_of(leg, scenario->cluster);
        if (leg->updates) {
            costs->update_s_per_element += costs->model->update_s / elements;
        }
    }
    return GW_OK;
}

/* Whether the exchange is a single leg of entries or of the dense gradient, without aggregators. */
static bool is_simple(const struct gw_costs *costs) {
    const struct gw_leg *leg = &costs->legs->legs[0];
    bool aggregates = false;
    for (size_t i = 0; i < GW_MAX_AGGREGATIONS; i++) {
        aggregates = aggregates || costs->leg_costs[0].aggregation.by[i] != NULL;
    }
    return costs->legs->leg_count == 1 && !leg->updates && !aggregates &&
           (leg->payload == GW_DENSE || (leg->payload == GW_SPARSE && !costs->compressor->joint));
}

static enum gw_status find_compress(const struct gw_scenario *scenario, struct gw_costs *costs,
                                    struct gw_error *error) {
    const struct gw_cluster *cluster = scenario->cluster;
    const char *name = costs->compressor->name;
    const struct gw_kernel_cost *cost = gw_kernel_cost_find(&cluster->compressors, name);
    if (cost == NULL && gw_compressor_find(name) == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: compressors.%.60s: expected a measured curve of it, or one of the "
                       "compressors that gradweave list compressors shows, got neither",
                       cluster->path == NULL ? cluster->name : cluster->path, name);
    }
    GW_TRY(gw_cluster_compressor(cluster, name, &cost, error));
    return gw_compressor_curve(costs->compressor, cost, costs->density, &costs->compress, error);
}

static enum gw_status find_costs(const struct gw_scenario *scenario, struct gw_costs *costs,
                                 struct gw_error *error) {
    GW_TRY(look_legs_up(scenario, costs, error));
    if (is_simple(costs)) {
        costs->legs = NULL;
        costs->exchange = costs->leg_costs[0].curve;
        costs->leg_costs[0].curve = (struct gw_curve){0};
    } else {
        GW_TRY(bound_exchange(costs, error));
    }
    return gw_costs_compress(costs) ? find_compress(scenario, costs, error) : GW_OK;
}

enum gw_status gw_costs_open(const struct gw_scenario *scenario, struct gw_costs *out,
                             struct gw_error *error) {
    const struct gw_overlap *overlap = scenario->cluster->overlap;
    *out = (struct gw_costs){.model = scenario->model,
                             .workers = scenario->workers,
                             .compressor = scenario->method->compressor,
                             .density = scenario->density,
                             .legs = scenario->method->exchange,
                             .session_s = overlap == NULL ? 0 : overlap->session_s};
    enum gw_status status = find_costs(scenario, out, error);
    if (status != GW_OK) {
        gw_costs_close(out);
    }
    return status;
}

void gw_costs_close(struct gw_costs *costs) {
    for (size_t i = 0; i < GW_MAX_LEGS; i++) {
        gw_curve_free(&costs->leg_costs[i].curve);
    }
    gw_curve_free(&costs->exchange);
    gw_curve_free(&costs->compress);
}
