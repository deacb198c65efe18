/* Finds the entry of a model's or a cluster's file from which a time is predicted. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "methods/costs.h"
#include "methods/kernel_cost.h"
#include "study/difference.h"
#include "study/scenario.h"

/* Relative difference that is rounding between an operation's time alone and beside others. */
static const double rounding = 1e-3;

/* Appends as much of the text as there is room for. */
static void append_text(char text[GW_PARAMETER_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append_text(char text[GW_PARAMETER_SIZE], const char *format, ...) {
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + length, GW_PARAMETER_SIZE - length, format, arguments);
    va_end(arguments);
}

/* ---- between which measured sizes ------------------------------------------------------------ */

struct near {
    double below, above; /* measured sizes next to it; 0: none */
};

/* Finds them among measured sizes or, where the file has none, among the curve's points. */
static struct near find_near(double size, const struct gw_margins *margins,
                             const struct gw_curve *curve) {
    struct near near = {0};
    bool measured = margins->first_s > 0;
    const struct gw_curve_point *points = measured ? margins->medians : curve->points;
    size_t count = measured ? margins->count : curve->point_count;
    for (size_t i = 0; i < count; i++) {
        if (points[i].size <= size && points[i].size > near.below) {
            near.below = points[i].size;
        }
        if (points[i].size >= size && (near.above == 0 || points[i].size < near.above)) {
            near.above = points[i].size;
        }
    }
    return near;
}

/* "at 1.9 MiB, between 1.45 MiB and 2 MiB" */
static void describe_size(double size, struct near near,
                          const char *(*format)(double, char[GW_UNITS_SIZE]),
                          char out[GW_PARAMETER_SIZE]) {
    char at[GW_UNITS_SIZE], below[GW_UNITS_SIZE], above[GW_UNITS_SIZE];
    append_text(out, "at %s", format(size, at));
    if (near.below > 0 && near.below == near.above) {
        append_text(out, ", as measured");
    } else if (near.below > 0 && near.above > 0) {
        append_text(out, ", between %s and %s", format(near.below, below),
                    format(near.above, above));
    } else if (near.below > 0) {
        append_text(out, ", above the largest measured, %s", format(near.below, below));
    } else if (near.above > 0) {
        append_text(out, ", below the smallest measured, %s", format(near.above, above));
    }
}

/* ---- names of entries ------------------------------------------------------------------------ */

static bool is_slowed(const struct gw_predicted_operation *operation, double alone_s) {
    return operation->interference && operation->duration_s > (1 + rounding) * alone_s;
}

/* Appends ".denser.together", the names of a kernel's curve at the nearer density. */
static void append_curve(char text[GW_PARAMETER_SIZE], const struct gw_kernel_cost *cost,
                         double share, bool together) {
    bool denser = gw_is_denser(share);
    bool known = !denser || gw_curve_costs(&cost->denser_together);
    append_text(text, "%s%s", denser ? ".denser" : "", together && known ? ".together" : "");
}

/* Finds the names of entries for aggregating the exchange's data. Returns their time in seconds. */
static double find_aggregation(const struct gw_costs *costs, const struct gw_leg_cost *leg,
                               const struct gw_schedule *schedule,
                               const struct gw_predicted_operation *predicted,
                               char names[GW_PARAMETER_SIZE]) {
    struct gw_turns turns = {0};
    if (predicted->interference) {
        turns = gw_turns_behind(costs, leg, 1, predicted->bytes);
    }
    struct gw_extent extent =
        gw_schedule_extent(schedule, schedule->operations[predicted->number].group);
    double seconds = 0;
    names[0] = '\0';
    for (size_t i = 0; i < leg->aggregator_count; i++) {
        const struct gw_aggregator_cost *one = &leg->aggregators[i];
        struct gw_aggregator_call call = gw_aggregator_call_of(leg->leg, one, &extent);
        append_text(names, " + %s.%s", one->by == GW_ENCODE ? "compressors" : "aggregation",
                    one->kernel->name);
        append_curve(names, one->kernel, call.share, gw_aggregator_shares(one, turns.part));
        seconds += gw_aggregator_s(one, call, &turns);
    }
    return seconds;
}

/* "collectives.sendrecv + broadcast[workers=4] + aggregation.merge" */
static void find_collective(const struct gw_costs *costs, const struct gw_schedule *schedule,
                            const struct gw_predicted_operation *predicted,
                            char name[GW_PARAMETER_SIZE], char detail[GW_PARAMETER_SIZE]) {
    const struct gw_operation *operation = &schedule->operations[predicted->number];
    const char *method = operation->method;
    const struct gw_leg_cost *leg =
        gw_needed(gw_costs_find_leg(costs, gw_schedule_leg(schedule, operation), method));
    const struct gw_collective_part *parts = leg->parts;
    char aggregation[GW_PARAMETER_SIZE];
    double aggregation_s = find_aggregation(costs, leg, schedule, predicted, aggregation);
    if (predicted->beside != NULL &&
        is_slowed(predicted, gw_curve_time(&leg->curve, predicted->bytes) + aggregation_s)) {
        append_text(name, "overlap.factors.%s.%s", method, predicted->beside);
    } else {
        for (size_t i = 0; i < leg->part_count; i++) {
            append_text(name, "%s%s[workers=%zu]", i == 0 ? "collectives." : " + ", parts[i].name,
                        parts[i].measured == NULL ? parts[i].ranks : parts[i].measured->workers);
        }
        append_text(name, "%s", aggregation);
    }
    struct near near = {0};
    if (parts[0].measured != NULL) {
        near = find_near(predicted->bytes * parts[0].share, &parts[0].measured->margins,
                         &parts[0].measured->curve);
    }
    describe_size(predicted->bytes, near, gw_format_bytes, detail);
    if (parts[0].measured == NULL) {
        append_text(detail, ", derived from other numbers of workers");
    }
}

static void find_compressor(const struct gw_costs *costs, const struct gw_schedule *schedule,
                            const struct gw_predicted_operation *predicted,
                            char name[GW_PARAMETER_SIZE], char detail[GW_PARAMETER_SIZE]) {
    const struct gw_cluster *cluster = costs->cluster;
    const struct gw_operation *operation = &schedule->operations[predicted->number];
    const struct gw_kernel_cost *cost =
        gw_kernel_cost_find(&cluster->compressors, operation->method);
    double elements = (double)operation->elements;
    if (cost == NULL) {
        return;
    }
    double share = gw_schedule_share(schedule, operation, cost, elements);
    bool slowed = is_slowed(predicted, gw_kernel_s(cost, elements, share));
    bool turns = gw_kernel_shares(cost) && cluster->sharing.ranks > cluster->sharing.processors;
    if (slowed && !turns && predicted->beside != NULL) {
        append_text(name, "overlap.factors.%s.%s", predicted->beside, operation->method);
    } else {
        append_text(name, "compressors.%s", operation->method);
        append_curve(name, cost, share, slowed && turns);
    }
    bool denser = gw_is_denser(share);
    struct near near =
        find_near(elements, &cost->margins[denser][0], denser ? &cost->denser : &cost->curve);
    describe_size(elements, near, gw_format_count, detail);
    append_text(detail, " elements");
}

static void find_pass(const struct gw_costs *costs, const struct gw_schedule *schedule,
                      const struct gw_predicted_operation *predicted, char name[GW_PARAMETER_SIZE],
                      char detail[GW_PARAMETER_SIZE]) {
    static const char *const keys[GW_ACTIVITY_COUNT] = {
        [GW_FORWARD] = "forward_s", [GW_BACKWARD] = "tensors.backward_s", [GW_UPDATE] = "update_s"};
    const struct gw_operation *operation = &schedule->operations[predicted->number];
    const struct gw_overlap *overlap = costs->cluster->overlap;
    if (operation->kind == GW_BACKWARD) {
        append_text(detail, "tensors[%zu]", predicted->tensor);
    }
    if (overlap == NULL || predicted->beside == NULL ||
        !is_slowed(predicted, operation->duration_s)) {
        append_text(name, "%s", keys[operation->kind]);
        return;
    }
    bool backward = gw_overlap_find(overlap, predicted->beside, GW_OVERLAP_BACKWARD) != NULL;
    append_text(name, "overlap.factors.%s.%s", predicted->beside,
                backward ? GW_OVERLAP_BACKWARD : GW_OVERLAP_TIMED);
}

void gw_parameter_find(const struct gw_costs *costs, const struct gw_schedule *schedule,
                       const struct gw_predicted_operation *predicted, char name[GW_PARAMETER_SIZE],
                       char detail[GW_PARAMETER_SIZE]) {
    enum gw_activity kind = schedule->operations[predicted->number].kind;
    name[0] = detail[0] = '\0';
    (kind == GW_EXCHANGE   ? find_collective
     : kind == GW_COMPRESS ? find_compressor
                           : find_pass)(costs, schedule, predicted, name, detail);
}
