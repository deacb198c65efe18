/* Axes of sweeps: their values, and notes at these. */
#ifndef GW_STUDY_AXES_H
#define GW_STUDY_AXES_H

#include "study/scenario.h"

/* ---- axes -------------------------------------------------------------------------------------
 */

/* Axes, from the one that changes least often from point to point to the one that always does. */
enum gw_axis {
    GW_AXIS_MODEL,
    GW_AXIS_CLUSTER,
    GW_AXIS_WORKERS,
    GW_AXIS_DENSITY,
    GW_AXIS_BANDWIDTH, /* a factor of the measured one */
    GW_AXIS_STRAGGLER, /* a factor on the compute times of worker 0 */
    GW_AXIS_NOISE,     /* standard deviation of the logarithm of each compute time */
    GW_AXIS_ALGORITHM,
    GW_AXES
};

struct gw_axis_kind {
    const char *name;                  /* of one value, in output */
    const char *option, *key;          /* on the command line, in a job file */
    const char *label;                 /* of a picture's axis; NULL: not drawn */
    const struct gw_values_rule *rule; /* NULL: its values are names */
    /* Value if none is asked for; 0 workers: the cluster's. */
    double fallback;
    bool sparse_only; /* dense exchange does not depend on it */
};
extern const struct gw_axis_kind gw_axis_kinds[GW_AXES];

/* Sets the scenario's value on an axis of numbers; a bandwidth multiplies the one it has. */
void gw_scenario_change(struct gw_scenario *scenario, enum gw_axis axis, double value);

/* Values of an axis of numbers, ascending. */
struct gw_axis_values {
    const struct gw_axis_kind *kind;
    size_t count;
    double *values;
    int digits; /* of a value as text */
    /* With values in bits per second: the cluster's own bandwidth, and its origin. */
    double own_bit_per_s; /* 0: they are factors of it */
    char derivation[GW_DERIVATION_SIZE];
};

/*
 * Lists and ranges (core/values.h), also "2:256" of workers, doubled from value to value,
 * "2:256:STEP", and "0.1x:10x" and "1e-4:1e-1", five values to a decade. Bandwidths are factors or
 * rates ("1gbit:100gbit", "500mbit,1.25GB/s") of a cluster whose own one can be told. `place`
 * stands before a message. The caller frees out->values.
 */
enum gw_status gw_axis_parse(enum gw_axis axis, const char *text, const char *place,
                             const struct gw_cluster *cluster, struct gw_axis_values *out,
                             struct gw_error *error);

/* Whether the values (or NULL) are of that axis. */
static inline bool gw_axis_varies(const struct gw_axis_values *values, enum gw_axis axis) {
    return values != NULL && values->kind == &gw_axis_kinds[axis];
}

/* Sets own_bit_per_s and derivation. */
enum gw_status gw_axis_find_own_bandwidth(const struct gw_cluster *cluster,
                                          struct gw_axis_values *out, struct gw_error *error);

/* Gives the values' texts so many digits that no two neighbours look the same. */
void gw_axis_tell_apart(struct gw_axis_values *values);

/* "16", "2.5 gbit", "0.5x". Returns `out`. */
const char *gw_axis_text(const struct gw_axis_values *values, double value,
                         char out[GW_UNITS_SIZE]);

/*
 * Parses the one bandwidth of the whole network that --bandwidth gives into `values`, which the
 * caller frees, and asks the scenario at it, by curves: `out` borrows from the scenario.
 */
enum gw_status gw_axis_ask_bandwidth(const char *text, enum gw_network_level level,
                                     const struct gw_scenario *scenario,
                                     struct gw_axis_values *values, struct gw_scenario *out,
                                     struct gw_error *error);

/* The scenario at a value; borrows from the scenario. */
struct gw_scenario gw_axis_ask(const struct gw_axis_values *values, double value,
                               const struct gw_scenario *scenario);

/* ---- notes ------------------------------------------------------------------------------------
 */

/* A note on results at values of an axis; notes that differ only in numbers are one. */
struct gw_axis_note {
    const char *text;   /* as it was at value number `first` */
    size_t first, last; /* GW_EVERYWHERE: it is of no value, but of all */
    size_t others;      /* further values with one like it ... */
    bool differs;       /* ... of which one at least reads otherwise */
};
#define GW_EVERYWHERE SIZE_MAX

/* Notes along an axis; zero-initialise. */
struct gw_axis_notes {
    size_t count, capacity;
    struct gw_axis_note *notes;
    struct gw_arena arena; /* of the texts */
};

/* Adds a note, or counts its value with one like it. Values ascend, or do so once more. */
enum gw_status gw_axis_note_add(struct gw_axis_notes *notes, const char *text, size_t value,
                                struct gw_error *error);
void gw_axis_notes_free(struct gw_axis_notes *notes);

/* Formats "density 0.001: the note; likewise at 3 other values". Returns `out`. */
enum { GW_AXIS_NOTE_SIZE = 1024 };
const char *gw_axis_note_text(const struct gw_axis_note *note, const struct gw_axis_values *values,
                              char out[GW_AXIS_NOTE_SIZE]);

#endif
