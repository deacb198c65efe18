/* How many times as many iterations as dense exchange pipelines needed in recorded trainings. */
#ifndef GW_STUDY_LEARNING_H
#define GW_STUDY_LEARNING_H

#include "methods/methods.h"
#include "traces/traces.h"

/* Trainings of networks, from files of gradweave/accuracy@1. */
struct gw_learning {
    size_t count; /* of files; a network may have several, of longer and of shorter trainings */
    struct gw_accuracy *each;
};

/* Reads the files in a folder, one file, or (NULL) those that ship. gw_learning_close if it
 * succeeds. */
enum gw_status gw_learning_open(const char *path, struct gw_learning *out, struct gw_error *error);
void gw_learning_close(struct gw_learning *learning);

/*
 * Iterations to a goal, 90% of what dense exchange makes of a network, over those of dense
 * exchange. A network's factor is that of its median run. A run that never reached the goal needs
 * more iterations than any other, and so does a network of which half of the runs did not: medians
 * are those of right-censored data, and their censored end is INFINITY.
 */
struct gw_iterations_factor {
    /*
     * Median of the networks, INFINITY: half of them never; NAN: no trainings. The least and the
     * largest of the runs that reached the goal; NAN: none. Of n networks alike the range holds the
     * median of all such networks in 1 - 2^(1 - n) of cases, 94% of 5, and the factor of another
     * network in (n - 1) / (n + 1), 67% of 5 (order statistics of any distribution).
     */
    double low, median, high;
    size_t networks, runs, failed; /* numbers of them, and of runs that never reached the goal */
    double sent;    /* bytes that they sent, over those that compressors were asked to keep */
    double density; /* at which they were trained: the nearest one to that asked for */
    bool is_beyond; /* no training kept as little as is asked for: factors are unknown */
};

/* Whether the trainings are by one of DistributedDataParallel's own hooks, which nothing predicts.
 */
bool gw_trainings_are_by_hook(const struct gw_trainings *trainings);

/* Whether the compressor changes nothing that is learnt: a code of at least half of an element's
 * bits without a residual. */
bool gw_learns_as_dense(const struct gw_compressor *compressor);

/* Factors of such a code: those of DistributedDataParallel's hook that halves the bytes
 * ("torch-fp16"), or 1 without runs if that was not trained. */
void gw_learning_find_half(const struct gw_learning *learning, double density,
                           struct gw_iterations_factor *out);

/*
 * Factors of an algorithm; of a code that learns as dense exchange and was not trained itself,
 * those of gw_learning_find_half. False: none was trained so. Trainings stand for densities down to
 * a third of the least at which they were.
 */
bool gw_learning_find(const struct gw_learning *learning, const struct gw_algorithm *algorithm,
                      double density, struct gw_iterations_factor *out);

/* The least trained density above `above`; 1: there is none. */
double gw_learning_next_density(const struct gw_learning *learning, double above);

/* The density that an algorithm sends at if it was asked for `density`: as in trainings, where the
 * count depends on the gradients. */
double gw_learning_sent_density(const struct gw_learning *learning,
                                const struct gw_algorithm *algorithm, double density);

#endif
