/*
 * A survey by which a reader can judge an advice: timelines of an iteration, and times with more
 * workers, on another network, at another density, on other GPUs.
 */
#ifndef GW_STUDY_SURVEY_H
#define GW_STUDY_SURVEY_H

#include "study/advice.h"

/* Pipelines that are looked at: the recommended one first, the next one, and the fastest of the
 * other kind, with or without compression; each once. */
enum { GW_SURVEY_SHOWN = 3 };

/* Times of all shown pipelines at one value of something; NAN: it cannot be predicted. */
struct gw_survey_times {
    double value;
    double iteration_s[GW_SURVEY_SHOWN];
};

/* Times of all shown pipelines if something, such as the bandwidth, is multiplied by `factor`. */
struct gw_survey_change {
    const char *name; /* "bandwidth" */
    double factor;
    double iteration_s[GW_SURVEY_SHOWN];
};

struct gw_survey {
    const struct gw_advice *advice;
    size_t shown_count, shown[GW_SURVEY_SHOWN]; /* places of the advice's pipelines */
    struct gw_timeline timelines[GW_SURVEY_SHOWN];
    size_t scaling_count;
    struct gw_survey_times *scaling; /* over numbers of workers, ascending */
    size_t change_count;
    struct gw_survey_change *changes;
    /*
     * The fastest of all that may be recommended, over bandwidths (factors of the cluster's) and
     * densities, both ascending: places in the ranking, SIZE_MAX: none can be predicted there.
     */
    size_t bandwidth_count, density_count;
    double *bandwidths, *densities;
    size_t *fastest;  /* [density][bandwidth] */
    double *speedups; /* [density][bandwidth]: of that over the fastest without compression */
    struct gw_arena arena;
};

/* The advice must outlive it; gw_survey_free in any case. */
enum gw_status gw_survey_make(const struct gw_advice *advice, struct gw_survey *out,
                              struct gw_error *error);
void gw_survey_free(struct gw_survey *survey);

#endif
