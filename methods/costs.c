#include "methods/costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/kernel_cost.h"

/* ---- aggregation ----------------------------------------------------------------------------- */

/* Adds the aggregator's cost, if it was measured, its runs and the contributions to each. */
static void add_aggregator(const struct gw_aggregation *aggregation, const struct gw_costs *costs,
                           struct gw_leg_cost *out) {
    const struct gw_cluster *cluster = costs->cluster;
    size_t workers = costs->workers;
    struct gw_aggregator_cost found = {
        .kernel =
            aggregation->by == GW_ENCODE
                ? gw_kernel_cost_find(&cluster->compressors, costs->way.compressor->name)
                : gw_kernel_cost_find(&cluster->aggregation, gw_aggregator_names[aggregation->by]),
        .by = aggregation->by,
        .everywhere = aggregation->where == GW_EVERYWHERE,
        .calls = 1,
        .contributions = 1};
    if (aggregation->recurrence == GW_NEVER || found.kernel == NULL) {
        return;
    }
    if (aggregation->recurrence == GW_FOR_EACH_WORKER) {
        found.contributions = (double)workers;
    } else if (aggregation->recurrence == GW_IN_EACH_ROUND) {
        found.calls = 0;
        for (size_t reached = 1; reached < workers; reached *= 2) {
            found.calls++;
        }
    }
    out->aggregators[out->aggregator_count++] = found;
}

struct gw_turns gw_turns_behind(const struct gw_costs *costs, const struct gw_leg_cost *leg,
                                double congestion, double bytes) {
    double part = gw_sharing_part(&costs->cluster->sharing, costs->workers);
    const struct gw_collective_part *part_of_leg = &leg->parts[leg->part_count - 1];
    const struct gw_collective_cost *last = part_of_leg->measured;
    return (struct gw_turns){.part = part,
                             .ahead_s =
                                 part > 0 && last != NULL
                                     ? gw_collective_skew_s(last, congestion / costs->bandwidth,
                                                            bytes * part_of_leg->share)
                                     : 0};
}

bool gw_aggregator_shares(const struct gw_aggregator_cost *aggregator, double part) {
    return part > 0 && aggregator->everywhere && gw_kernel_shares(aggregator->kernel);
}

/* Time by a curve; `near` NULL: of a single look-up. */
static inline double time_near(const struct gw_curve *curve, double n,
                               struct gw_curve_segment *near) {
    return near == NULL ? gw_curve_time(curve, n) : gw_curve_time_near(curve, n, near);
}

/* Seconds of a call by one rank, and (together_s) by all ranks of a machine at once. `near`: of the
 * kernel's curves at both densities, or NULL. */
static inline double alone_s(const struct gw_aggregator_cost *aggregator, double elements,
                             double share, struct gw_curve_segment *near) {
    const struct gw_kernel_cost *kernel = aggregator->kernel;
    return gw_aggregator_scatters(aggregator->by)
               ? gw_scatter_s(time_near(&kernel->curve, elements, near),
                              time_near(&kernel->denser, elements, near == NULL ? NULL : near + 1),
                              share)
               : gw_kernel_s(kernel, elements, share);
}

static double together_s(const struct gw_aggregator_cost *aggregator, double elements,
                         double share) {
    return gw_kernel_together_s(aggregator->kernel, elements, share,
                                alone_s(aggregator, elements, share, NULL));
}

/*
 * Leaves out of the time together that of a single element, which is the time to wake all ranks:
 * ranks that leave an exchange are awake. Leaves out turns of ranks that left the exchange earlier,
 * by up to ahead_s before the last one.
 */
double gw_aggregator_s(const struct gw_aggregator_cost *aggregator, struct gw_aggregator_call call,
                       struct gw_turns *turns) {
    if (!(call.elements > 0)) {
        return 0;
    }
    double call_s = alone_s(aggregator, call.elements, call.share, NULL);
    if (gw_aggregator_shares(aggregator, turns->part)) {
        double turns_s = together_s(aggregator, call.elements, call.share) -
                         together_s(aggregator, 1, call.share);
        double all_s = alone_s(aggregator, 1, call.share, NULL) + turns->part * turns_s;
        double others_s = fmax(0, all_s - call_s);
        double ahead_s = fmin(turns->ahead_s, others_s);
        turns->ahead_s -= ahead_s;
        call_s += others_s - ahead_s;
    }
    return aggregator->calls * call_s;
}

/* ---- a group ------------------------------------------------------------------------------- */

static struct gw_extent extent_of(const struct gw_costs *costs, const struct gw_size *size) {
    const struct gw_compressor *compressor = costs->way.compressor;
    uint64_t kept = gw_way_kept(&costs->way, size->elements);
    uint64_t sent = gw_way_sent(&costs->way, size->elements);
    return (struct gw_extent){.size = *size,
                              .bytes_per_element = costs->model->bytes_per_element,
                              .sketch_cells = gw_sketch_cells(compressor, size->elements, kept),
                              .selected = gw_selected_as_asked(compressor, sent, costs->workers),
                              .compressor = compressor,
                              .workers = costs->workers};
}

uint64_t gw_costs_bytes(const struct gw_costs *costs, uint64_t n) {
    return gw_exchange_bytes(gw_compressor_selects(costs->way.compressor),
                             costs->model->bytes_per_element, n, gw_way_sent_density(&costs->way));
}

/* Adds seconds in which workers aggregate a leg's data of each group, without turns. */
static void add_aggregation(const struct gw_leg *leg, const struct gw_aggregator_cost *aggregator,
                            const struct gw_extent *extents, size_t count,
                            struct gw_curve_segment *near, double *seconds) {
    const struct gw_aggregator_cost one = *aggregator; /* of which no `seconds` is a part */
    for (size_t i = 0; i < count; i++) {
        struct gw_aggregator_call call = gw_aggregator_call_of(leg, &one, &extents[i]);
        seconds[i] +=
            call.elements > 0 ? one.calls * alone_s(&one, call.elements, call.share, near) : 0;
    }
}

/* Sets the sums of the legs' costs of at most GW_COSTS_ROW groups; `near` NULL: of a single one. */
static void find_legs_s(const struct gw_costs *costs, const struct gw_size *sizes, size_t count,
                        struct gw_costs_near *near, double *seconds) {
    struct gw_extent extents[GW_COSTS_ROW];
    for (size_t i = 0; i < count; i++) {
        extents[i] = extent_of(costs, &sizes[i]);
        seconds[i] = costs->update_s_per_element * (double)sizes[i].elements;
    }
    for (size_t l = 0; l < costs->leg_count; l++) {
        const struct gw_leg_cost *leg = &costs->legs[l];
        double aggregation_s[GW_COSTS_ROW] = {0};
        for (size_t k = 0; k < leg->aggregator_count; k++) {
            add_aggregation(leg->leg, &leg->aggregators[k], extents, count,
                            near == NULL ? NULL : near->kernels[l][k], aggregation_s);
        }
        for (size_t i = 0; i < count; i++) {
            double bytes = (double)gw_payload_bytes(leg->leg->payload, &extents[i]);
            seconds[i] += time_near(&leg->curve, bytes, near == NULL ? NULL : &near->legs[l]);
            seconds[i] += aggregation_s[i];
        }
    }
}

double gw_costs_compress_s(const struct gw_costs *costs, uint64_t n) {
    return gw_costs_compress(costs) ? gw_curve_time(&costs->compress, (double)n) : 0;
}

double gw_costs_exchange_s(const struct gw_costs *costs, const struct gw_size *size) {
    double seconds = 0;
    if (!costs->by_legs) {
        return gw_curve_time(&costs->exchange, (double)gw_costs_bytes(costs, size->elements));
    }
    find_legs_s(costs, size, 1, NULL, &seconds);
    return seconds;
}

void gw_costs_row(const struct gw_costs *costs, const struct gw_size *sizes, size_t count,
                  struct gw_costs_near *near, double *compress_s, double *exchange_s) {
    bool compresses = gw_costs_compress(costs);
    for (size_t i = 0; i < count; i++) {
        double n = (double)sizes[i].elements;
        compress_s[i] = compresses ? gw_curve_time_near(&costs->compress, n, &near->compress) : 0;
    }
    if (costs->by_legs) {
        find_legs_s(costs, sizes, count, near, exchange_s);
    }
    for (size_t i = 0; i < count && !costs->by_legs; i++) {
        double bytes = (double)gw_costs_bytes(costs, sizes[i].elements);
        exchange_s[i] = gw_curve_time_near(&costs->exchange, bytes, &near->exchange);
    }
}

double gw_costs_startup_s(const struct gw_costs *costs) {
    double seconds = costs->by_legs ? 0 : gw_curve_startup(&costs->exchange);
    for (size_t i = 0; costs->by_legs && i < costs->leg_count; i++) {
        seconds += gw_curve_startup(&costs->legs[i].curve);
    }
    return seconds;
}

const struct gw_leg_cost *gw_costs_find_leg(const struct gw_costs *costs, const struct gw_leg *leg,
                                            const char *collective) {
    if (leg != NULL) {
        return &costs->legs[leg - costs->way.exchange->legs];
    }
    for (size_t i = 0; i < costs->leg_count; i++) {
        if (strcmp(costs->legs[i].leg->collective, collective) == 0) {
            return &costs->legs[i];
        }
    }
    return NULL;
}

double gw_costs_update_s(const struct gw_costs *costs) {
    double update_s = costs->update_s_per_element > 0 ? 0 : costs->model->update_s;
    return update_s + costs->session_s;
}

/* ---- lower bounds ---------------------------------------------------------------------------- */

/*
 * Least bytes of a leg for each byte of the group's entries or dense gradient. A sketch has no
 * fewer columns than elements that it is to find, and 4 bytes a cell; codes are counted without
 * their scales.
 */
static double least_share(enum gw_payload payload, const struct gw_costs *costs) {
    double workers = costs->way.compressor->joint ? (double)costs->workers : 1;
    double code =
        costs->way.compressor->code.bits / (8.0 * (double)costs->model->bytes_per_element);
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
    case GW_CODES:
        return code;
    case GW_CODES_PART:
        return code / (double)costs->workers;
    case GW_RAW:
    case GW_FACTOR_P:
    case GW_FACTOR_Q:
    case GW_COUNTS:
        break;
    }
    return 0;
}

/* Bytes of the entries or the dense gradient of groups: of the smallest tensor, of all together. */
struct byte_range {
    double low, high;
};

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
    if (costs->way.compressor->code.bits > 0) { /* of a part, if the exchange divides the group */
        double parts = by == GW_DECODE && payload == GW_CODES ? 1 : (double)costs->workers;
        return 1 / (parts * (double)costs->model->bytes_per_element);
    }
    double bytes = payload == GW_DENSE ? (double)costs->model->bytes_per_element
                   : payload == GW_SPARSE || payload == GW_PADDED ? GW_ENTRY_BYTES
                                                                  : GW_NUMBER_BYTES;
    return by == GW_HEAVYMIX ? 1.0 / GW_ENTRY_BYTES : least_share(payload, costs) / bytes;
}

static enum gw_status bound_aggregation(struct gw_costs *costs, const struct gw_leg_cost *leg,
                                        struct byte_range range, struct gw_error *error) {
    for (size_t i = 0; i < leg->aggregator_count; i++) {
        const struct gw_aggregator_cost *aggregator = &leg->aggregators[i];
        const struct gw_kernel_cost *by = aggregator->kernel;
        struct gw_curve once = {0};
        struct gw_curve lower = {0};
        double share =
            aggregator->contributions * least_elements(costs, leg->leg->payload, aggregator->by);
        bool two = by->densities[1] > 0;
        double least = two ? aggregator->calls / 2 : aggregator->calls;
        GW_TRY(lower_curve(two && gw_aggregator_scatters(aggregator->by) ? &by->denser : &by->curve,
                           share, range, &once, error));
        enum gw_status status = gw_curve_scaled(&once, least, least, &lower, error);
        gw_curve_free(&once);
        GW_TRY(status);
        GW_TRY(add_curve(&costs->exchange, &lower, error));
    }
    return GW_OK;
}

/* Least bytes of all legs of factors together, for each byte of the dense gradient of any tensor.
 */
static double least_factors(const struct gw_costs *costs) {
    double least = 1;
    for (size_t i = 0; i < costs->model->tensor_count; i++) {
        struct gw_size size = {0};
        gw_costs_add_tensor(costs, i, &size);
        double numbers =
            (double)(size.raw + costs->way.compressor->rank * (size.rows + size.columns));
        least = fmin(least, numbers / (double)size.elements);
    }
    return least * GW_NUMBER_BYTES / (double)costs->model->bytes_per_element;
}

/* Each tensor sends by one leg or by two, and all legs are allreduces: the one that carries most
 * has a third of the bytes, or more. */
static enum gw_status bound_factors(struct gw_costs *costs, struct byte_range range,
                                    struct gw_error *error) {
    const struct gw_curve *curve = &costs->legs[0].curve;
    struct gw_curve lower = {0};
    GW_TRY(lower_curve(curve, least_factors(costs) / 3, range, &lower, error));
    return add_curve(&costs->exchange, &lower, error);
}

/* Leaves out a server's update of a sparse group, whose number of elements is not known. */
static enum gw_status bound_exchange(struct gw_costs *costs, struct gw_error *error) {
    const struct byte_range range = {
        .low = (double)gw_costs_bytes(costs, gw_model_smallest(costs->model)),
        .high = (double)gw_costs_bytes(costs, gw_model_elements(costs->model))};
    if (!gw_compressor_selects(costs->way.compressor)) {
        costs->exchange.per_unit_s =
            costs->update_s_per_element / (double)costs->model->bytes_per_element;
    }
    if (costs->way.compressor->rank > 0) {
        return bound_factors(costs, range, error);
    }
    for (size_t i = 0; i < costs->leg_count; i++) {
        const struct gw_leg_cost *leg = &costs->legs[i];
        struct gw_curve lower = {0};
        GW_TRY(
            lower_curve(&leg->curve, least_share(leg->leg->payload, costs), range, &lower, error));
        GW_TRY(add_curve(&costs->exchange, &lower, error));
        GW_TRY(bound_aggregation(costs, leg, range, error));
    }
    return GW_OK;
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status find_leg(const struct gw_scenario *scenario, const struct gw_costs *costs,
                               struct gw_leg_cost *cost, struct gw_error *error) {
    const struct gw_cluster *cluster = scenario->cluster;
    const char *collective = cost->leg->collective;
    for (size_t i = 0; i < GW_MAX_AGGREGATIONS; i++) {
        add_aggregator(&cost->leg->aggregations[i], costs, cost);
    }
    if (scenario->messages) {
        return GW_OK;
    }
    GW_TRY(gw_cluster_collective(cluster, collective, scenario->workers, &cost->curve,
                                 cost->derivation, error));
    if (scenario->bandwidth != 1) {
        struct gw_curve measured = cost->curve;
        cost->curve = (struct gw_curve){0};
        enum gw_status status =
            gw_curve_scaled(&measured, 1, 1 / scenario->bandwidth, &cost->curve, error);
        gw_curve_free(&measured);
        GW_TRY(status);
    }
    cost->part_count =
        gw_cluster_collective_parts(cluster, collective, scenario->workers, cost->parts);
    cost->law = gw_cluster_uncertainty(cluster, collective, scenario->workers);
    return GW_OK;
}

static enum gw_status find_legs(const struct gw_scenario *scenario, struct gw_costs *costs,
                                struct gw_error *error) {
    const struct gw_exchange_kind *exchange = costs->way.exchange;
    double elements = (double)gw_model_elements(costs->model);
    for (size_t i = 0; i < exchange->leg_count; i++) {
        struct gw_leg_cost *cost = &costs->legs[costs->leg_count++];
        cost->leg = &exchange->legs[i];
        GW_TRY(find_leg(scenario, costs, cost, error));
        for (size_t before = 0; before < i; before++) {
            if (strcmp(costs->legs[before].derivation, cost->derivation) == 0) {
                cost->derivation[0] = '\0';
            }
        }
        if (cost->leg->updates) {
            costs->update_s_per_element += costs->model->update_s / elements;
        }
    }
    return GW_OK;
}

/* Whether the exchange is a single leg of entries or of the dense gradient, without aggregators. */
static bool is_simple(const struct gw_costs *costs) {
    const struct gw_leg *leg = costs->legs[0].leg;
    return costs->leg_count == 1 && !leg->updates && costs->legs[0].aggregator_count == 0 &&
           (leg->payload == GW_DENSE ||
            (leg->payload == GW_SPARSE && !costs->way.compressor->joint));
}

static enum gw_status find_compress(const struct gw_scenario *scenario, struct gw_costs *costs,
                                    struct gw_error *error) {
    const struct gw_cluster *cluster = scenario->cluster;
    const char *name = costs->way.compressor->name;
    const struct gw_kernel_cost *cost = gw_kernel_cost_find(&cluster->compressors, name);
    if (cost == NULL && gw_compressor_find(name) == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: compressors.%.60s: expected a measured curve of it, or one of the "
                       "compressors that gradweave list compressors shows, got neither",
                       cluster->path == NULL ? cluster->name : cluster->path, name);
    }
    GW_TRY(gw_cluster_compressor(cluster, name, &cost, error));
    double density = gw_way_sent_density(&costs->way);
    costs->borrow_compress = scenario->curves != NULL;
    return scenario->curves != NULL
               ? gw_compressor_curves_find(scenario->curves, costs->way.compressor, cost, density,
                                           &costs->compress, error)
               : gw_compressor_curve(costs->way.compressor, cost, density, &costs->compress, error);
}

static enum gw_status find_costs(const struct gw_scenario *scenario, struct gw_costs *costs,
                                 struct gw_error *error) {
    GW_TRY(find_legs(scenario, costs, error));
    if (scenario->messages) {
        return GW_OK;
    }
    costs->by_legs = !is_simple(costs);
    if (costs->by_legs) {
        GW_TRY(bound_exchange(costs, error));
    } else {
        costs->exchange = costs->legs[0].curve;
    }
    return gw_costs_compress(costs) ? find_compress(scenario, costs, error) : GW_OK;
}

enum gw_status gw_costs_open(const struct gw_scenario *scenario, struct gw_costs *out,
                             struct gw_error *error) {
    const struct gw_overlap *overlap = scenario->cluster->overlap;
    bool selects = gw_compressor_selects(scenario->method->compressor);
    *out = (struct gw_costs){.model = scenario->model,
                             .cluster = scenario->cluster,
                             .workers = scenario->workers,
                             .bandwidth = scenario->bandwidth,
                             .way = {scenario->method->compressor, scenario->method->exchange,
                                     selects ? scenario->density : 1,
                                     selects ? scenario->sent_density : 0},
                             .session_s = overlap == NULL ? 0 : overlap->session_s};
    enum gw_status status = gw_model_check_shapes(scenario->model, out->way.compressor, error);
    status = status == GW_OK ? find_costs(scenario, out, error) : status;
    if (status != GW_OK) {
        gw_costs_close(out);
    }
    return status;
}

void gw_costs_close(struct gw_costs *costs) {
    for (size_t i = 0; i < GW_MAX_LEGS; i++) {
        gw_curve_free(&costs->legs[i].curve);
    }
    if (costs->by_legs) {
        gw_curve_free(&costs->exchange); /* otherwise that of the leg */
    }
    if (!costs->borrow_compress) {
        gw_curve_free(&costs->compress);
    }
}
