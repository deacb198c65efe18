/* Uncertainties of the curves that determine a schedule's times, and times with curves off. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/kernel_cost.h"
#include "sim/simulator.h"

/* ---- one ----------------------------------------------------------------------------------- */

/* Relative time by which a curve is below the least that messages take; 0: it is not. */
static double excess_at(const struct gw_simulator *simulator, const struct gw_collective_part *part,
                        double size) {
    double least_s = gw_cluster_least_s(simulator->cluster, part->name, part->ranks, size);
    return fmax(least_s / gw_curve_time(&part->nearest->curve, size) - 1, 0);
}

/* Relative error of a composed curve at a size: that of its startup, by its part of the time. */
static double composing_error(const struct gw_collective_part *part, double size) {
    const struct gw_curve *curve = &part->nearest->curve;
    return part->startup_error * fmin(gw_curve_startup(curve) / gw_curve_time(curve, size), 1);
}

/*
 * Relative margin of a parameter at a size: the largest of a collective's parts, or the kernel's at
 * the nearer density. A curve of unmeasured numbers of workers is off by its growth law and by the
 * margin of the nearest measured curve.
 */
static double margin_at(const struct gw_simulator *simulator, const struct gw_parameter *parameter,
                        double size, double share) {
    bool exchanges = parameter->kind == GW_COLLECTIVE_CURVE;
    double margin = 0;
    if (parameter->kind >= GW_MODEL_TIMES) {
        return parameter->relative;
    }
    if (!exchanges && parameter->margin_count > 1) {
        return gw_margins_at(parameter->margins[gw_is_denser(share)], size);
    }
    for (size_t i = 0; i < parameter->margin_count; i++) {
        const struct gw_margins *margins = parameter->margins[i];
        bool bounded = exchanges && !parameter->derived;
        double part = exchanges ? size * parameter->parts[i].share : size;
        double excess = bounded ? excess_at(simulator, &parameter->parts[i], part) : 0;
        double composing = exchanges ? composing_error(&parameter->parts[i], part) : 0;
        margin = fmax(margin, hypot(hypot(gw_margins_at(margins, part), excess), composing));
    }
    return parameter->derived ? hypot(parameter->law, margin) : margin;
}

double gw_parameter_factor(const struct gw_simulator *simulator, enum gw_parameter_kind kind,
                           const char *name, double size, double share) {
    const struct gw_parameter *off = simulator->deviating;
    if (off == NULL || off->kind != kind || (name != NULL && strcmp(off->name, name) != 0)) {
        return 1;
    }
    double margin = margin_at(simulator, off, size, share);
    double deviation = kind == GW_PASSES ? fmax(0, simulator->deviation) : simulator->deviation;
    return isnan(margin) ? 1 : pow(1 + margin, deviation);
}

/* ---- the list ------------------------------------------------------------------------------ */

/* Finds the parameter of that kind and name, or adds it. */
static struct gw_parameter *parameter_of(struct gw_simulator *simulator,
                                         enum gw_parameter_kind kind, const char *name,
                                         bool *is_new) {
    for (size_t i = 0; i < simulator->parameter_count; i++) {
        struct gw_parameter *one = &simulator->parameters[i];
        if (one->kind == kind && strcmp(one->name, name) == 0) {
            *is_new = false;
            return one;
        }
    }
    struct gw_parameter *added = &simulator->parameters[simulator->parameter_count++];
    *added = (struct gw_parameter){.kind = kind, .name = name};
    *is_new = true;
    return added;
}

static void find_collective_margins(const struct gw_simulator *simulator,
                                    const struct gw_leg_cost *leg, struct gw_parameter *parameter) {
    parameter->relative = parameter->law = leg->law;
    parameter->derived = parameter->law != 0;
    parameter->parts = leg->parts;
    if (!simulator->simulation.margins || simulator->simulation.workers < 2) {
        return;
    }
    parameter->margin_count = leg->part_count;
    for (size_t i = 0; i < parameter->margin_count; i++) {
        const struct gw_collective_cost *nearest = gw_needed(parameter->parts[i].nearest);
        parameter->margins[i] = &nearest->margins;
    }
}

/* Lists margins of the kernel's curves at both densities; `together`: those of the curves of all
 * ranks at once, where there are any. */
static void find_kernel_margins(const struct gw_kernel_cost *cost, bool together,
                                struct gw_parameter *parameter) {
    parameter->margin_count = cost->densities[1] > 0 ? 2 : 1;
    for (size_t i = 0; i < parameter->margin_count; i++) {
        const struct gw_curve *of_all = i == 1 ? &cost->denser_together : &cost->together;
        parameter->margins[i] = &cost->margins[i][together && gw_curve_costs(of_all)];
    }
}

static void meet_size(const struct gw_simulator *simulator, struct gw_parameter *parameter,
                      double size, double share) {
    bool is_first = parameter->largest == 0;
    parameter->smallest = is_first ? size : fmin(parameter->smallest, size);
    parameter->largest = fmax(parameter->largest, size);
    if (!isnan(parameter->relative)) {
        parameter->relative =
            fmax(parameter->relative, margin_at(simulator, parameter, size, share));
    }
}

static void add_compressor(struct gw_simulator *simulator, size_t index) {
    const struct gw_operation *operation = &simulator->schedule->operations[index];
    const struct gw_kernel_cost *cost = simulator->kernels[index];
    bool is_new = false;
    struct gw_parameter *parameter =
        parameter_of(simulator, GW_COMPRESSOR_CURVE, operation->method, &is_new);
    if (is_new) {
        bool together = simulator->interference.shares && gw_kernel_shares(cost);
        find_kernel_margins(cost, together, parameter);
    }
    const struct gw_schedule *schedule = simulator->schedule;
    double elements = (double)operation->elements;
    meet_size(simulator, parameter, elements,
              gw_schedule_share(schedule, operation, cost, elements));
}

static void add_led(struct gw_simulator *simulator, const struct gw_operation *operation) {
    const struct gw_kernel_cost *cost = gw_led_cost(simulator, operation);
    bool is_new = false;
    if (cost == NULL) {
        return;
    }
    struct gw_parameter *parameter =
        parameter_of(simulator, GW_AGGREGATOR_CURVE, cost->name, &is_new);
    if (is_new) {
        find_kernel_margins(cost, false, parameter);
    }
    meet_size(simulator, parameter, (double)operation->elements, 0);
}

static void add_aggregators(struct gw_simulator *simulator, size_t index) {
    const struct gw_schedule *schedule = simulator->schedule;
    double part = gw_shared_part(simulator);
    for (size_t i = 0; i < simulator->legs[index]->aggregator_count; i++) {
        const struct gw_aggregator_cost *one = gw_aggregator_behind(simulator, index, i);
        bool is_new = false;
        if (one == NULL) {
            continue;
        }
        struct gw_extent extent = gw_schedule_extent(schedule, schedule->operations[index].group);
        struct gw_aggregator_call call =
            gw_aggregator_call_of(simulator->legs[index]->leg, one, &extent);
        struct gw_parameter *parameter =
            parameter_of(simulator, gw_aggregator_curve(one->by), one->kernel->name, &is_new);
        if (is_new) {
            find_kernel_margins(one->kernel, gw_aggregator_shares(one, part), parameter);
        }
        meet_size(simulator, parameter, call.elements, call.share);
    }
}

/* Without margins, a parameter depends on no size: a collective is added once. */
static void add_operation(struct gw_simulator *simulator, size_t index) {
    const struct gw_operation *operation = &simulator->schedule->operations[index];
    bool measured = simulator->simulation.margins;
    bool is_new = false;
    if (operation->kind == GW_EXCHANGE) {
        struct gw_parameter *parameter =
            parameter_of(simulator, GW_COLLECTIVE_CURVE, operation->method, &is_new);
        if (is_new) {
            find_collective_margins(simulator, simulator->legs[index], parameter);
        }
        if (measured) {
            meet_size(simulator, parameter, (double)operation->bytes, 0);
            add_aggregators(simulator, index);
        }
    } else if (operation->kind == GW_COMPRESS && measured &&
               !simulator->simulation.timed_compression) {
        add_compressor(simulator, index);
        add_led(simulator, operation);
    }
}

static void add_compute_times(struct gw_simulator *simulator) {
    bool is_new = false;
    if (!simulator->simulation.margins) {
        return;
    }
    parameter_of(simulator, GW_MODEL_TIMES, GW_MODEL_TIMES_NAME, &is_new)->relative =
        simulator->schedule->uncertainty;
    if (simulator->simulation.workers > 1 && !simulator->interference.complete) {
        parameter_of(simulator, GW_PASSES, GW_PASSES_NAME, &is_new)->relative =
            simulator->cluster->passes_uncertainty;
    }
}

/* Warns that exchanges beyond a measured size are extrapolated, if that is uncertain by more than a
 * chosen share of their time. */
static void note_beyond(const char *name, const struct gw_margins *margins, const char *where,
                        double measured, double size, struct gw_result *result) {
    static const double much = 0.075;
    char note[GW_RESULT_NOTE_SIZE];
    char bytes[GW_UNITS_SIZE];
    if (gw_margins_distance(margins, size) > much) {
        (void)snprintf(note, sizeof note,
                       "%s: no size %s %s was measured; such exchanges are extrapolated, and the "
                       "interval grows with the distance",
                       name, where, gw_format_bytes(measured, bytes));
        gw_result_warn(result, note);
    }
}

static void note_extrapolated(const struct gw_parameter *parameter, struct gw_result *result) {
    for (size_t i = 0; i < parameter->margin_count && parameter->kind == GW_COLLECTIVE_CURVE; i++) {
        const struct gw_margins *margins = parameter->margins[i];
        const char *name = parameter->parts[i].name;
        double smallest = margins->count == 0 ? 0 : margins->medians[0].size;
        double largest = margins->count == 0 ? 0 : margins->medians[margins->count - 1].size;
        if (parameter->smallest < smallest) {
            note_beyond(name, margins, "below", smallest, parameter->smallest, result);
        }
        if (parameter->largest > largest) {
            note_beyond(name, margins, "above", largest, parameter->largest, result);
        }
    }
}

/* Warns that a collective was not measured, but assumed from another one on import. */
static void note_assumed(const struct gw_parameter *parameter, struct gw_result *result) {
    for (size_t i = 0; i < parameter->margin_count && parameter->kind == GW_COLLECTIVE_CURVE; i++) {
        const struct gw_collective_cost *cost = parameter->parts[i].nearest;
        const char *from = cost == NULL ? NULL : cost->assumed_from;
        if (from != NULL) {
            char note[GW_RESULT_NOTE_SIZE];
            (void)snprintf(note, sizeof note, "%s: assumed from %s, not measured", cost->name,
                           from);
            gw_result_warn(result, note);
        }
    }
}

enum gw_status gw_parameters_open(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error) {
    if (simulator->simulation.level != GW_LEVEL_CURVES) {
        return GW_OK;
    }
    size_t of_legs = (size_t)GW_MAX_LEGS * (1 + GW_MAX_AGGREGATIONS) * simulator->costs_count;
    size_t most =
        of_legs + simulator->cluster->compressors.count + 3; /* add_led's, the model's, passes */
    simulator->parameters = gw_arena_zeros(&simulator->arena, most, sizeof *simulator->parameters);
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    for (size_t i = 0; i < simulator->schedule->operation_count; i++) {
        add_operation(simulator, i);
    }
    add_compute_times(simulator);
    size_t uncertain = 0; /* others are known exactly, and dropped */
    for (size_t i = 0; i < simulator->parameter_count; i++) {
        struct gw_parameter *one = &simulator->parameters[uncertain];
        *one = simulator->parameters[i];
        uncertain += one->relative != 0;
        if (one->relative != 0 && result != NULL) {
            gw_result_uncertain(result, one->name, one->derived, one->relative);
            note_extrapolated(one, result);
            note_assumed(one, result);
        }
    }
    simulator->parameter_count = uncertain;
    return GW_OK;
}

const struct gw_parameter *gw_simulator_parameters(const struct gw_simulator *simulator,
                                                   size_t *count) {
    *count = simulator->parameter_count;
    return simulator->parameters;
}
