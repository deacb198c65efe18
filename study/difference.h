/*
 * Explains the error of a prediction: compares the predicted and the measured timeline of a
 * schedule, operation by operation.
 *
 * An iteration takes as long as its critical path. The path is walked back from the operation that
 * ends last: from each operation to the one that it waited for, the one before it on its stream or
 * a dependency, whichever ended later; from an exchange to that of the worker that came to it last.
 * So iteration_s = sum of (wait + duration) over the path. A wait, the time from the end of the
 * awaited operation to an operation's start, is explained only by threads that are woken late.
 *
 * The path is that of the slower timeline, so that it has every operation that is too slow. An
 * operation on it contributes the difference, between the timelines, of its wait and duration;
 * other operations contribute nothing. In the other timeline operations of the path may wait for
 * some that are not on it. These waits are the rest:
 *
 *     measured - predicted = sum of contributions + elsewhere_s
 *
 * Each measured iteration is walked by itself, beside the prediction of it; figures are means.
 */
#ifndef GW_STUDY_DIFFERENCE_H
#define GW_STUDY_DIFFERENCE_H

#include "study/predict.h"

enum gw_side { GW_PREDICTED, GW_MEASURED, GW_SIDES };

/* A duration, and the wait before it. */
struct gw_stretch {
    double wait_s, duration_s;
};

struct gw_period {
    double start_s, end_s;
};

struct gw_operation_difference {
    const char *parameter; /* entry of a file from which its time is predicted */
    char *detail;          /* place in that entry: "at 2 MiB, between 1.4 MiB and 2.8 MiB"; "" */
    /*
     * Mean over the iterations whose path goes through it, on the path's worker; without any, over
     * all iterations, on its worst worker.
     */
    struct gw_stretch takes[GW_SIDES];
    double on_path;                  /* the share of iterations in which it is on the path */
    double contribution_s, waited_s; /* the latter: part of the contribution that is waiting */
    /* Worker on which it takes longest, of an exchange the last to come; in the measured mean. */
    size_t worst_worker;
    /* Times in the iteration, and on the worker, that are shown. */
    struct gw_period shown[GW_SIDES];
    bool shown_on_path[GW_SIDES]; /* each side's own */
};

/* Contribution of all operations whose times follow from one entry. */
struct gw_parameter_difference {
    const char *parameter;
    size_t operations; /* that contribute */
    double contribution_s;
};

struct gw_difference {
    const struct gw_schedule *schedule;
    size_t iterations;                          /* measured */
    double iteration_s[GW_SIDES];               /* means */
    enum gw_side path;                          /* whose is walked */
    struct gw_operation_difference *operations; /* [schedule->operation_count] */
    size_t *largest;     /* numbers of operations, by the magnitude of their contributions */
    size_t contributing; /* how many contribute anything: the first of `largest` */
    size_t parameter_count;
    struct gw_parameter_difference *parameters; /* by the magnitude of their contributions */
    double waited_s;                            /* part of contributions that is waiting */
    double elsewhere_s;
    /* The iteration nearest to the median, and the worker on which its path is longest. */
    size_t shown_iteration, shown_worker;
    double shown_s[GW_SIDES];
    struct gw_period *shown[GW_SIDES]; /* [worker][operation], of that iteration */
};

/* measured - predicted */
static inline double gw_difference_s(const struct gw_difference *difference) {
    return difference->iteration_s[GW_MEASURED] - difference->iteration_s[GW_PREDICTED];
}

/*
 * Compares timelines of iterations of the pipeline's schedule. Measured ones have a lane for each
 * worker, predicted ones too, or one for all; fewer predicted iterations than measured ones are
 * repeated. *out is in the arena and borrows the schedule. GW_FAILED if a timeline is not of it.
 */
enum gw_status gw_difference_find(const struct gw_pipeline *pipeline,
                                  const struct gw_timeline *predicted,
                                  const struct gw_timeline *measured, struct gw_arena *arena,
                                  struct gw_difference *out, struct gw_error *error);

/* The iteration that is shown, as predicted and as measured, for ui.perfetto.dev. */
enum gw_status gw_difference_write_trace(const struct gw_difference *difference, const char *path,
                                         struct gw_error *error);

/* ---- entries of predicted times (parameters.c) ----------------------------------------------- */

/* An operation whose time was predicted. */
struct gw_predicted_operation {
    size_t number;
    size_t tensor;            /* whose backward pass it is */
    double bytes, duration_s; /* means */
    /* Compressor or collective on the other stream at the same time; NULL: none. */
    const char *beside;
    bool interference; /* whether that could slow it, and compression takes turns */
};

/* Finds the entry of the cluster's or the model's file: "collectives.allgather[workers=4]". */
enum { GW_PARAMETER_SIZE = 192 };
void gw_parameter_find(const struct gw_costs *costs, const struct gw_schedule *schedule,
                       const struct gw_predicted_operation *predicted, char name[GW_PARAMETER_SIZE],
                       char detail[GW_PARAMETER_SIZE]);

#endif
