/*
 * `plan --sweep`: plans at many densities, numbers of workers or bandwidths, for sparse and for
 * dense exchange, to see where one loses to the other and where merging stops mattering.
 */
#ifndef GW_CLI_PLAN_SWEEP_H
#define GW_CLI_PLAN_SWEEP_H

#include "cli/cli.h"

/* What `plan` was asked for. */
struct gw_sweep_options {
    const char *text; /* PARAMETER=VALUES */
    const char *policy, *compressor;
    const char *exchange; /* of the compressor; NULL: its own */
    const char *out;      /* or NULL */
    bool json;
    const struct gw_question_options *given;
};

/* Plans, writes and prints. */
enum gw_status gw_plan_sweep(const struct gw_sweep_options *options,
                             const struct gw_question *question, struct gw_error *error);

/* ---- what was planned ---------------------------------------------------------------------- */

struct gw_sweep_parameter {
    const char *name;
    const char *axis; /* for a picture */
    const struct gw_values_rule *rule;
    /* Changes a copy of the sweep's question, which stays as it is. */
    enum gw_status (*set)(struct gw_question *question, double value, struct gw_error *error);
    bool sparse_only; /* dense exchange does not depend on it */
};

struct gw_sweep_cell {
    size_t groups;
    double iteration_s, lower_bound_s;
};

/* Notes that differ in nothing but their numbers are one. */
struct gw_sweep_note {
    char *text; /* as it was at value number `first` */
    size_t first;
    size_t others;                   /* further values with one like it ... */
    bool differs;                    /* ... of which one at least reads otherwise */
    const struct gw_sweep_cell *row; /* that it is counted in; NULL: of the sweep as a whole */
};

enum { GW_SWEEP_MOST_EXCHANGES = 2, GW_SWEEP_LABEL_SIZE = 48 };

struct gw_sweep {
    const struct gw_question *question;
    const struct gw_sweep_parameter *parameter;
    size_t value_count;
    double *values; /* ascending */
    int digits;     /* that tell neighbouring values apart */
    size_t exchange_count;
    const char *compressors[GW_SWEEP_MOST_EXCHANGES]; /* of each exchange; "none": dense */
    const char *exchanges[GW_SWEEP_MOST_EXCHANGES];   /* NULL: the compressor's own */
    size_t policy_count;
    char (*policies)[GW_POLICY_TEXT_SIZE];
    struct gw_sweep_cell *cells; /* [exchange][policy][value] */
    size_t note_count, note_capacity;
    struct gw_sweep_note *notes;
};

/* The cells of a policy, one for each value. */
struct gw_sweep_cell *gw_sweep_row(const struct gw_sweep *sweep, size_t exchange, size_t policy);

/* Whether an exchange's plans are the same at all values: dense ones at all densities. */
bool gw_sweep_is_constant(const struct gw_sweep *sweep, size_t exchange);

/* The number of the policy with the best plan; of equals the one with the fewest groups. */
size_t gw_sweep_best(const struct gw_sweep *sweep, size_t exchange, size_t value);

/* "topk", "dense". */
const char *gw_sweep_exchange_name(const struct gw_sweep *sweep, size_t exchange);

/* "0.0001438", "16", "0.5x". Returns `out`. */
const char *gw_sweep_value(const struct gw_sweep *sweep, size_t value, char out[GW_UNITS_SIZE]);

/* Of two exchanges, each with its best plan: -1 if the first is faster, 0, 1. */
int gw_sweep_compare(const struct gw_sweep *sweep, size_t value);

/* "density 0.001: the note; likewise at 3 other values", the caller's to free. */
enum gw_status gw_sweep_note_text(const struct gw_sweep *sweep, const struct gw_sweep_note *note,
                                  char **text, struct gw_error *error);

/* ---- what is shown of it ------------------------------------------------------------------- */

/* For a person: tables, findings, notes. */
enum gw_status gw_sweep_print(const struct gw_sweep *sweep, struct gw_error *error);

/* The document "gradweave/sweep@1", the caller's. */
enum gw_status gw_sweep_document(const struct gw_sweep *sweep, cJSON **out, struct gw_error *error);

/* A table, document or picture, as the end of the name says; refuses others before any work. */
enum gw_status gw_sweep_check_out(const char *path, struct gw_error *error);
enum gw_status gw_sweep_write(const struct gw_sweep *sweep, const char *path,
                              struct gw_error *error);

#endif
