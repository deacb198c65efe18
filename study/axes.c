/* Axes along which a scenario is varied, their values, and notes at them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/axes.h"
#include "study/scenario.h"

/* ---- the axes ------------------------------------------------------------------------------- */

void gw_scenario_change(struct gw_scenario *scenario, enum gw_axis axis, double value) {
    switch (axis) {
    case GW_AXIS_WORKERS:
        scenario->workers = (size_t)value;
        break;
    case GW_AXIS_DENSITY:
        scenario->density = value;
        break;
    case GW_AXIS_BANDWIDTH:
        scenario->bandwidth *= value;
        break;
    case GW_AXIS_STRAGGLER:
        scenario->straggler = value;
        break;
    case GW_AXIS_NOISE:
        scenario->noise = value;
        break;
    default:
        break;
    }
}

static const struct gw_values_rule workers_rule = {
    .maximum = 0x1p53, .whole = true, .suffix = "", .example = "2:256:log8", .plain = "2:256"};
static const struct gw_values_rule density_rule = {
    .maximum = 1, .suffix = "", .example = "1e-4:1e-1:log20", .plain = "1e-4:1e-1"};
static const struct gw_values_rule bandwidth_rule = {.minimum = GW_MIN_FACTOR,
                                                     .maximum = GW_MAX_FACTOR,
                                                     .suffix = "x",
                                                     .example = "0.1x:10x:log20",
                                                     .plain = "0.1x:10x"};
static const struct gw_values_rule straggler_rule = {
    .minimum = GW_MIN_FACTOR, .maximum = GW_MAX_FACTOR, .suffix = "", .example = "1,1.5,2"};
static const struct gw_values_rule noise_rule = {
    .maximum = GW_NOISE_MAX_SIGMA, .zero = true, .suffix = "", .example = "0,0.05,0.1"};

const struct gw_axis_kind gw_axis_kinds[GW_AXES] = {
    [GW_AXIS_MODEL] = {.name = "model", .option = "model", .key = "models"},
    [GW_AXIS_CLUSTER] = {.name = "cluster", .option = "cluster", .key = "clusters"},
    [GW_AXIS_WORKERS] = {"workers", "workers", "workers", .label = "workers",
                         .rule = &workers_rule},
    [GW_AXIS_DENSITY] = {"density", "density", "density", .label = "density", .rule = &density_rule,
                         .fallback = GW_USUAL_DENSITY, .sparse_only = true},
    [GW_AXIS_BANDWIDTH] = {"bandwidth", "bandwidth", "bandwidth",
                           .label = "bandwidth as a factor of the measured one",
                           .rule = &bandwidth_rule, .fallback = 1},
    [GW_AXIS_STRAGGLER] = {"straggler", "straggler", "straggler", .rule = &straggler_rule,
                           .fallback = 1},
    [GW_AXIS_NOISE] = {"noise", "noise", "noise", .rule = &noise_rule},
    [GW_AXIS_ALGORITHM] = {.name = "algorithm", .option = "algo", .key = "algorithms"},
};

/* ---- values --------------------------------------------------------------------------------- */

enum { DIGITS = 4, MOST_DIGITS = 17 };

static enum gw_status parse_axis(enum gw_axis axis, const struct gw_values_rule *rule,
                                 const char *text, const char *place, struct gw_axis_values *out,
                                 struct gw_error *error) {
    *out = (struct gw_axis_values){.kind = &gw_axis_kinds[axis], .digits = DIGITS};
    enum gw_status status = gw_values_parse(text, rule, &out->values, &out->count, error);
    if (status != GW_OK) {
        gw_error_prefix(error, place);
    }
    return status;
}

static const struct gw_values_unit factors[] = {{"x", 1}, {NULL, 0}};
static const struct gw_values_unit rates[] = {{"bit", 1},    {"kbit", 1e3},  {"mbit", 1e6},
                                              {"gbit", 1e9}, {"tbit", 1e12}, {NULL, 0}};

/* Finds the cluster's own bandwidth from its network between nodes, or from its collectives. */
enum gw_status gw_axis_find_own_bandwidth(const struct gw_cluster *cluster,
                                          struct gw_axis_values *out, struct gw_error *error) {
    const double bits_per_byte = 8;
    struct gw_network derived;
    double s_per_byte = cluster->network == NULL ? 0 : cluster->network->between.gap_s_per_byte;
    snprintf(out->derivation, sizeof out->derivation, "as its messages were measured");
    if (!(s_per_byte > 0)) {
        GW_TRY(gw_cluster_derive_network(cluster, NULL, &derived, out->derivation, error));
        s_per_byte = derived.between.gap_s_per_byte;
    }
    out->own_bit_per_s = bits_per_byte / s_per_byte;
    return isfinite(out->own_bit_per_s) && out->own_bit_per_s > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "expected a cluster whose bytes take time for bandwidths in bits, got %s "
                         "(factors such as 0.1x:10x do not need one)",
                         cluster->path == NULL ? cluster->name : cluster->path);
}

/* Parses rates as the axis' values, and finds the cluster's own rate. */
static enum gw_status parse_bandwidths(const char *text, const char *place,
                                       const struct gw_cluster *cluster, struct gw_axis_values *out,
                                       struct gw_error *error) {
    static const struct gw_values_rule rules[] = {{.minimum = GW_MIN_FACTOR,
                                                   .maximum = GW_MAX_FACTOR,
                                                   .suffix = "",
                                                   .example = "",
                                                   .units = factors,
                                                   .plain = "0.1x:10x"},
                                                  {.minimum = 1,
                                                   .maximum = 1e18,
                                                   .suffix = "",
                                                   .example = "",
                                                   .rates = true,
                                                   .plain = "1gbit:100gbit"}};
    enum { most_shown = 60 };
    enum gw_status status = parse_axis(GW_AXIS_BANDWIDTH, &rules[0], text, place, out, error);
    if (status == GW_BAD_INPUT) {
        status = parse_axis(GW_AXIS_BANDWIDTH, &rules[1], text, place, out, error);
        if (status == GW_BAD_INPUT) {
            return gw_fail(
                error, GW_BAD_INPUT,
                "%s: expected ascending rates such as 1gbit:100gbit, "
                "1gbit:100gbit:log20, 500mbit,1.25GB/s or 10Gb/s, from 1bit to 1e18bit, or factors "
                "of the cluster's own such as 0.1x:10x, from %gx to %gx, got \"%.*s\"",
                place, GW_MIN_FACTOR, GW_MAX_FACTOR, most_shown, text);
        }
        if (status == GW_OK) {
            status = gw_axis_find_own_bandwidth(cluster, out, error);
            if (status != GW_OK) {
                gw_error_prefix(error, place);
            }
        }
    }
    return status;
}

enum gw_status gw_axis_parse(enum gw_axis axis, const char *text, const char *place,
                             const struct gw_cluster *cluster, struct gw_axis_values *out,
                             struct gw_error *error) {
    return axis == GW_AXIS_BANDWIDTH
               ? parse_bandwidths(text, place, cluster, out, error)
               : parse_axis(axis, gw_axis_kinds[axis].rule, text, place, out, error);
}

void gw_axis_tell_apart(struct gw_axis_values *values) {
    for (size_t v = 1; v < values->count; v++) {
        char texts[2][GW_UNITS_SIZE];
        do {
            snprintf(texts[0], sizeof texts[0], "%.*g", values->digits, values->values[v - 1]);
            snprintf(texts[1], sizeof texts[1], "%.*g", values->digits, values->values[v]);
        } while (strcmp(texts[0], texts[1]) == 0 && values->digits++ < MOST_DIGITS);
    }
}

const char *gw_axis_text(const struct gw_axis_values *values, double value,
                         char out[GW_UNITS_SIZE]) {
    const struct gw_values_rule *rule = values->kind->rule;
    if (values->own_bit_per_s > 0) {
        const struct gw_values_unit *unit = rates;
        const double least = 0.99995; /* of a unit: what four digits round to 1 */
        while (unit[1].name != NULL && value >= least * unit[1].size) {
            unit++;
        }
        snprintf(out, GW_UNITS_SIZE, "%.*g %s", values->digits, value / unit->size, unit->name);
    } else {
        snprintf(out, GW_UNITS_SIZE, "%.*g%s", rule->whole ? MOST_DIGITS : values->digits, value,
                 rule->suffix);
    }
    return out;
}

struct gw_scenario gw_axis_ask(const struct gw_axis_values *values, double value,
                               const struct gw_scenario *scenario) {
    struct gw_scenario changed = *scenario;
    double relative = values->own_bit_per_s > 0 ? value / values->own_bit_per_s : value;
    gw_scenario_change(&changed, (enum gw_axis)(values->kind - gw_axis_kinds), relative);
    return changed;
}

/* ---- notes ---------------------------------------------------------------------------------- */

/* Whether two texts differ only in numbers. */
static bool are_alike(const char *a, const char *b) {
    static const char number[] = "0123456789.";
    a += strspn(a, number);
    b += strspn(b, number);
    while (*a == *b && *a != '\0') {
        a++;
        b++;
        a += strspn(a, number);
        b += strspn(b, number);
    }
    return *a == *b;
}

enum gw_status gw_axis_note_add(struct gw_axis_notes *notes, const char *text, size_t value,
                                struct gw_error *error) {
    for (size_t i = 0; i < notes->count; i++) {
        struct gw_axis_note *known = &notes->notes[i];
        if (are_alike(known->text, text)) {
            bool is_new = value > known->last;
            known->others += is_new;
            known->last = is_new ? value : known->last;
            known->differs = known->differs || strcmp(known->text, text) != 0;
            return GW_OK;
        }
    }
    struct gw_axis_note *grown =
        gw_grow(notes->notes, notes->count + 1, &notes->capacity, sizeof *grown);
    const char *copy = gw_arena_text(&notes->arena, text);
    notes->notes = grown == NULL ? notes->notes : grown;
    if (grown == NULL || copy == NULL) {
        return gw_fail_memory(error, "noting something in a sweep");
    }
    grown[notes->count++] = (struct gw_axis_note){.text = copy, .first = value, .last = value};
    return GW_OK;
}

const char *gw_axis_note_text(const struct gw_axis_note *note, const struct gw_axis_values *values,
                              char out[GW_AXIS_NOTE_SIZE]) {
    bool everywhere =
        note->first == GW_EVERYWHERE || (note->others + 1 == values->count && !note->differs);
    int used = 0;
    if (!everywhere) {
        char value[GW_UNITS_SIZE];
        gw_axis_text(values, values->values[note->first], value);
        used = snprintf(out, GW_AXIS_NOTE_SIZE, "%s %s: ", values->kind->name, value);
    }
    used += snprintf(out + used, GW_AXIS_NOTE_SIZE - (size_t)used, "%.900s", note->text);
    if (!everywhere && note->others > 0) {
        (void)snprintf(out + used, GW_AXIS_NOTE_SIZE - (size_t)used, "; likewise at %s",
                       GW_COUNTED(note->others, "other value"));
    }
    return out;
}

void gw_axis_notes_free(struct gw_axis_notes *notes) {
    free(notes->notes);
    gw_arena_free(&notes->arena);
    *notes = (struct gw_axis_notes){0};
}

enum gw_status gw_axis_ask_bandwidth(const char *text, enum gw_network_level level,
                                     const struct gw_scenario *scenario,
                                     struct gw_axis_values *values, struct gw_scenario *out,
                                     struct gw_error *error) {
    if (level == GW_LEVEL_MESSAGES) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--bandwidth: expected NODE:FACTOR with --network messages, or --loggp for "
                       "the whole network, got \"%s\"",
                       text);
    }
    GW_TRY(gw_axis_parse(GW_AXIS_BANDWIDTH, text, "--bandwidth", scenario->cluster, values, error));
    if (values->count > 1) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--bandwidth: expected one value, got %zu (compare, sweep and plan "
                       "--sweep take several values)",
                       values->count);
    }
    *out = gw_axis_ask(values, values->values[0], scenario);
    return GW_OK;
}
