/* What an iteration costs, predicted or measured (contract, "Result"). */
#ifndef GW_TRACES_RESULT_H
#define GW_TRACES_RESULT_H

#include "core/core.h"
#include "traces/timeline.h"

enum { GW_RESULT_NOTE_SIZE = 384, GW_RESULT_MOST_NOTES = 10, GW_RESULT_NAME_SIZE = 24 };

/* A collective, compressor or aggregator whose curve is not exactly known. */
struct gw_result_uncertainty {
    char name[GW_RESULT_NAME_SIZE];
    bool derived;         /* not measured among so many workers */
    double relative;      /* to its times: how far off it may be, in 95% of cases; NAN: unknown */
    double low_s, high_s; /* iteration_s were it that much faster or slower; 0: not worked out */
};

/*
 * What others did on a machine while something was measured, as shares of the time of its
 * processors: other virtual machines, as a hypervisor says, and other processes.
 */
struct gw_disturbance {
    double stolen, others;
};

/* Whether that makes a difference: more than 2% stolen, or 5% in all. */
bool gw_is_disturbed(const struct gw_disturbance *disturbance);

struct gw_result {
    const char *model, *algorithm; /* live longer than the result */
    /* Of its four choices those that were changed; NULL: as they are. They live longer too. */
    const char *policy, *compressor, *exchange;
    size_t workers, groups, iterations;
    size_t micro_batches; /* of an iteration; 0 is as 1 */
    double density;
    double iteration_s, iteration_sd_s; /* mean and standard deviation over the iterations */
    struct gw_breakdown breakdown;      /* means; the parts add up to iteration_s */
    double comm_s;
    double bytes_per_worker; /* mean */
    char
        counts[GW_RESULT_NOTE_SIZE]; /* where numbers of selected elements come from; "": nowhere */
    double actual_density, padding;  /* means of iterations (traces/counts.h); 0: not known */
    char notes[GW_RESULT_MOST_NOTES][GW_RESULT_NOTE_SIZE];
    size_t note_count;
    /* Of the first notes: warnings; and of those the first: how each of `derived` was. */
    size_t warning_count, derived_count;
    char derived[GW_RESULT_MOST_NOTES][GW_RESULT_NAME_SIZE]; /* collectives */
    struct gw_result_uncertainty uncertainties[12];
    size_t uncertainty_count;
    /* Where iteration_s is in 95% of cases; 0: not worked out. */
    double iteration_low_s, iteration_high_s;
    struct gw_disturbance disturbance; /* of measured ones */
    struct gw_running running;         /* of iteration_s */
    struct gw_spread spread;           /* of iteration_s; all 0: not worked out */
};

/* Counts one more measured iteration into the means. */
void gw_result_add(struct gw_result *result, const struct gw_measure *measure);

/*
 * Adds a remark for the reader, once; "" adds nothing. Of more than GW_RESULT_MOST_NOTES the last
 * ones are lost.
 */
void gw_result_note(struct gw_result *result, const char *note);

/* The same before all that are no warnings: that a number rests on what nobody measured. */
void gw_result_warn(struct gw_result *result, const char *warning);

/* The same before all others: how a collective's curve was derived, once for each. */
void gw_result_derive(struct gw_result *result, const char *collective, const char *derivation);

/*
 * The same for how uncertain a curve is, NAN where that is not known; 0 adds nothing, and of
 * several the worst counts.
 */
void gw_result_uncertain(struct gw_result *result, const char *name, bool derived, double relative);

/*
 * Adds a result's notes, and what was derived and is uncertain, to those of `all`, which says of
 * each collective how the most uncertain of its curves was derived.
 */
void gw_result_collect(struct gw_result *all, const struct gw_result *result);

/* Whether it may be off by what nobody knows, so that it has no interval. */
bool gw_result_is_unknown(const struct gw_result *result);

/* Writes "changed": {"policy": "optimal"}, where choices were changed; NULL: as they are. */
void gw_writer_changes(struct gw_json_writer *writer, const char *policy, const char *compressor,
                       const char *exchange);

/* Writes the members of the result's document; of those alone its times, how well they are known,
 * its counts, or its notes. */
void gw_result_write(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_times(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_uncertainty(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_counts(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_notes(const struct gw_result *result, struct gw_json_writer *writer);

#endif
