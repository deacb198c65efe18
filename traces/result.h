/* The time of an iteration and its parts, predicted or measured. */
#ifndef GW_TRACES_RESULT_H
#define GW_TRACES_RESULT_H

#include "core/core.h"
#include "traces/timeline.h"

enum { GW_RESULT_NOTE_SIZE = 384, GW_RESULT_MAX_NOTES = 12, GW_RESULT_NAME_SIZE = 24 };

/* A collective, compressor or aggregator whose curve is not exactly known. */
struct gw_result_uncertainty {
    char name[GW_RESULT_NAME_SIZE];
    bool derived;         /* not measured among so many workers */
    double relative;      /* to its times: how far off it may be, in 95% of cases; NAN: unknown */
    double low_s, high_s; /* iteration_s were it that much faster or slower; 0: not worked out */
};

/*
 * Shares of a machine's processor time that others took during a measurement: other virtual
 * machines, by the hypervisor's account, and other processes.
 */
struct gw_disturbance {
    double stolen, others;
};

/* Whether a disturbance counts: more than 2% stolen, or 5% in all. */
bool gw_is_disturbed(const struct gw_disturbance *disturbance);

struct gw_result {
    const char *model, *algorithm; /* live longer than the result */
    /* Changed choices of the algorithm; NULL: unchanged. They outlive the result too. */
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
    char notes[GW_RESULT_MAX_NOTES][GW_RESULT_NOTE_SIZE];
    size_t note_count;
    /* The first notes are warnings; the first of these have the derivations of `derived`. */
    size_t warning_count, derived_count;
    char derived[GW_RESULT_MAX_NOTES][GW_RESULT_NAME_SIZE]; /* collectives */
    struct gw_result_uncertainty uncertainties[12];
    size_t uncertainty_count;
    /* 95% interval of iteration_s; 0: not computed. */
    double iteration_low_s, iteration_high_s;
    struct gw_disturbance disturbance; /* of measured ones */
    struct gw_running running;         /* of iteration_s */
    struct gw_spread spread;           /* of iteration_s; all 0: not worked out */
};

/* Adds a measured iteration to the means. */
void gw_result_add(struct gw_result *result, const struct gw_measure *measure);

/* Adds a note once; "" is ignored. Beyond GW_RESULT_MAX_NOTES the last ones are lost. */
void gw_result_note(struct gw_result *result, const char *note);

/* Adds a warning, before the other notes: a number rests on data that was not measured. */
void gw_result_warn(struct gw_result *result, const char *warning);

/* Adds the derivation of a collective's curve, before all other notes, once for each collective. */
void gw_result_derive(struct gw_result *result, const char *collective, const char *derivation);

/*
 * Adds a curve's relative uncertainty, NAN if unknown; 0 is ignored, and the worst of several kept.
 */
void gw_result_uncertain(struct gw_result *result, const char *name, bool derived, double relative);

/*
 * Adds a result's notes, derivations and uncertainties to those of `all`, which keeps for each
 * collective the derivation of its most uncertain curve.
 */
void gw_result_collect(struct gw_result *all, const struct gw_result *result);

/* Whether an uncertainty is unknown, so that the iteration has no interval. */
bool gw_result_is_unknown(const struct gw_result *result);

/* Writes "changed": {"policy": "optimal"} with the changed choices; NULL: unchanged. */
void gw_writer_changes(struct gw_json_writer *writer, const char *policy, const char *compressor,
                       const char *exchange);

/* Write members of the result's document: all, times, uncertainties, counts or notes. */
void gw_result_write(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_times(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_uncertainty(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_counts(const struct gw_result *result, struct gw_json_writer *writer);
void gw_result_write_notes(const struct gw_result *result, struct gw_json_writer *writer);

#endif
