/* The numbers of selected elements that a prediction takes; private to study. */
#ifndef GW_STUDY_COUNTS_H
#define GW_STUDY_COUNTS_H

#include "study/predict.h"
#include "study/scenario.h"

/*
 * Finds the recorded tensor of each of the model's, which a schedule has from the last to the
 * first: out[i] is that of tensor_count - 1 - i. Fails where one was not recorded.
 */
enum gw_status gw_recorded_gradients_match(const struct gw_recorded_gradients *recorded,
                                           const struct gw_model *model, size_t *out,
                                           struct gw_error *error);

/* Counts that a prediction uses, and their description for its result. */
struct gw_taken_counts {
    struct gw_counts own;           /* read or trained */
    const struct gw_counts *counts; /* `own`, or those recorded; NULL: as the schedule has them */
    struct gw_selected *selected;   /* of each group in each iteration */
    char source[GW_RESULT_NOTE_SIZE];
    char note[GW_RESULT_NOTE_SIZE];
};

/* The source of a schedule's counts before any others are taken. */
const char *gw_counts_expected(const struct gw_schedule *schedule);

/*
 * Reads or trains counts of `iterations`, and gives them to the simulation. *out, all 0 before, is
 * to be freed in any case.
 */
enum gw_status gw_taken_counts_open(const struct gw_counts_source *source,
                                    const struct gw_pipeline *pipeline, size_t iterations,
                                    struct gw_simulation *simulation, struct gw_taken_counts *out,
                                    struct gw_error *error);
void gw_taken_counts_free(struct gw_taken_counts *counts);

/* Describes the counts in the result; sets its bytes to their mean over the iterations. */
void gw_taken_counts_describe(const struct gw_taken_counts *taken, struct gw_schedule *schedule,
                              struct gw_result *result);

#endif
