/*
 * Iterations in which a network learnt with each pipeline: "schema": "gradweave/accuracy@1".
 *
 *     {"schema": "gradweave/accuracy@1", "model": "lenet5", "goal": 0.9, "judged_every": 20,
 *      "source": {}, "trainings": [{"algorithm": "topk", "density": 0.01, "workers": 4,
 *      "iterations": [120, 140, null]}]}
 *
 * "model" names the network: files of one may differ by their "optimizer", and by how long it
 * "trained". "goal" is the accuracy to be reached; "iterations" has for each training the first judgement at
 * which it was reached, or null if it never was; "judged_every" is the number of iterations between
 * judgements. Dense pipelines need no "density", nor do PyTorch's own hooks, "torch-fp16" and
 * "torch-powersgd".
 */
#ifndef GW_TRACES_ACCURACY_H
#define GW_TRACES_ACCURACY_H

#include "core/core.h"

/* Trainings that differ only in their seeds. */
struct gw_trainings {
    char *algorithm;
    double density; /* that was asked for, (0, 1] */
    uint64_t workers;
    size_t count, reached; /* of how many, at least 1, the goal was */
    /* Iterations to the goal: median and range; INFINITY: never. Above 0, but `low` may be 0. */
    double iterations, low, high;
    double first, last; /* judgements at which the earliest and the latest reached it; INFINITY */
    double sent;        /* bytes over those that were asked for; 0: not known */
};

struct gw_accuracy {
    char *path;
    char *model;
    char *optimizer;       /* its kind, rate, warm-up, clipping; NULL: not known */
    double goal;           /* (0, 1] */
    uint64_t judged_every; /* iterations between judgements */
    uint64_t trained;      /* iterations of a training; 0: not known */
    size_t count;
    struct gw_trainings *trainings; /* no two alike */
};

GW_DOCUMENT(gw_accuracy)

#endif
