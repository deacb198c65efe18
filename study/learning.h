/* How many times as many iterations as dense exchange pipelines needed in recorded trainings. */
#ifndef GW_STUDY_LEARNING_H
#define GW_STUDY_LEARNING_H

#include "methods/methods.h"
#include "traces/traces.h"

/* Trainings of networks, from files of gradweave/accuracy@1. */
struct gw_learning {
    size_t count; /* of files; a network may have several, with other optimizers or of longer and
                     shorter trainings */
    struct gw_accuracy *each;
};

/* Reads the files in a folder, one file, or (NULL) those that ship, if any do. gw_learning_close if
 * it succeeds. */
enum gw_status gw_learning_open(const char *path, struct gw_learning *out, struct gw_error *error);
void gw_learning_close(struct gw_learning *learning);

/*
 * Iterations to a goal, 90% of what dense exchange makes of a network, over those of dense
 * exchange, in setups: networks, each with an optimizer. A setup's factor is that of its median
 * run. A run that never reached the goal needs more iterations than any other, and so does a setup
 * of which half of the runs did not: medians are those of right-censored data, and their censored
 * end is INFINITY.
 */
struct gw_iterations_factor {
    /*
     * Median of the setups, INFINITY: half of them never; NAN: no trainings. The least and the
     * largest of the runs that reached the goal; NAN: none. Of n setups alike the range holds the
     * median of all such setups in 1 - 2^(1 - n) of cases, 94% of 5, and the factor of another
     * one in (n - 1) / (n + 1), 67% of 5 (order statistics of any distribution).
     */
    double low, median, high;
    size_t networks, setups;
    size_t runs, failed; /* numbers of them, and of those that never reached the goal */
    double sent;         /* bytes that they sent, over those that compressors were asked to keep */
    double density;      /* at which they were trained: the nearest one to that asked for */
    bool is_beyond;      /* no training kept as little as is asked for: factors are unknown */
};

/* Whether the trainings are by one of DistributedDataParallel's own hooks, which nothing predicts.
 */
bool gw_trainings_are_by_hook(const struct gw_trainings *trainings);

/* Whether the compressor changes nothing that is learnt: a code of at least half of an element's
 * bits without a residual. */
bool gw_learns_as_dense(const struct gw_compressor *compressor);

/*
 * Factors of an algorithm; of a code that learns as dense exchange and was not trained itself,
 * those of DistributedDataParallel's hook that halves the bytes ("torch-fp16"), or 1 without runs
 * if that was not trained either. False: none was trained so. Trainings stand for densities down to
 * a third of the least at which they were.
 */
bool gw_learning_find(const struct gw_learning *learning, const struct gw_algorithm *algorithm,
                      double density, struct gw_iterations_factor *out);

/*
 * Expected seconds of training for each iteration that dense exchange needs, at iteration_s an
 * iteration and the median of factors: a run that never gets to the goal is repeated without
 * compression, at dense_s an iteration.
 */
double gw_learning_expected_s(const struct gw_iterations_factor *factor, double iteration_s,
                              double dense_s);

/* How many times as fast as dense ones iterations must be so that this is sooner than by dense
 * exchange; INFINITY: it never is. */
double gw_learning_break_even(const struct gw_iterations_factor *factor);

/* The least trained density above `above`; 1: there is none. */
double gw_learning_next_density(const struct gw_learning *learning, double above);

/* The density that an algorithm sends at in trainings if it was asked for `density`; 0: as asked.
 */
double gw_learning_sent_density(const struct gw_learning *learning,
                                const struct gw_algorithm *algorithm, double density);

#endif
