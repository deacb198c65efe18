/* What an iteration costs, predicted or measured (contract, "Result"). */
#ifndef GW_TRACES_RESULT_H
#define GW_TRACES_RESULT_H

#include "core/core.h"
#include "traces/timeline.h"

enum { GW_RESULT_NOTE_SIZE = 128 };

struct gw_result {
    const char *model, *algorithm; /* live longer than the result */
    size_t workers, groups, iterations;
    double density;
    double iteration_s, iteration_sd_s; /* mean and standard deviation over the iterations */
    struct gw_breakdown breakdown;      /* means; the parts add up to iteration_s */
    double comm_s;
    double bytes_per_worker;
    char notes[4][GW_RESULT_NOTE_SIZE];
    size_t note_count;
    struct gw_running running; /* of iteration_s */
    struct gw_spread spread;   /* of iteration_s; all 0: not worked out */
};

/* Counts one more measured iteration into the means. */
void gw_result_add(struct gw_result *result, const struct gw_measure *measure);

/* Adds a remark for the reader, once; silently full after four. "" adds nothing. */
void gw_result_note(struct gw_result *result, const char *note);

/* The result as a document, the caller's; and the part that predictions and measurements share. */
enum gw_status gw_result_document(const struct gw_result *result, cJSON **out,
                                  struct gw_error *error);
enum gw_status gw_result_put_times(const struct gw_result *result, cJSON *object,
                                   struct gw_error *error);

#endif
