/* Iterations that trainings of each pipeline needed, over those of dense exchange. */
#include "study/iterations.h"

#include <math.h>
#include <string.h>

/* ---- measured trainings ---------------------------------------------------------------------- */

/*
 * Iterations to 90% of what dense pipelines learn, by 4 workers (docs/results/convergence.md, by
 * script/convergence). The columns are fnn3, LeNet-5, ResNet-20, an LSTM and a GPT.
 */
enum { NETWORKS = 5 };
static const unsigned runs[NETWORKS] = {3, 3, 3, 1, 1};

struct trained {
    const char *algorithm; /* "fp16": DDP's hook; "dense": all that compress nothing */
    double density;        /* 0: dense */
    double sent;           /* median of the networks: bytes over those asked for */
    struct {
        unsigned iterations, never; /* median of the runs that came there, and how many did not */
    } networks[NETWORKS];
};

/* Trainings of 200 iterations (ResNet-20: 120). */
static const struct trained short_trainings[] = {
    {"dense", 0, 1, {{40, 0}, {120, 0}, {60, 0}, {120, 0}, {80, 0}}},
    {"fp16", 0, 1, {{40, 0}, {140, 0}, {60, 0}, {120, 0}, {80, 0}}},
    {"topk", 0.01, 1, {{100, 0}, {200, 0}, {100, 0}, {160, 0}, {120, 0}}},
    {"lags", 0.01, 1, {{120, 0}, {0, 3}, {120, 0}, {200, 0}, {0, 1}}},
    {"mgs", 0.01, 1, {{100, 0}, {200, 2}, {100, 0}, {200, 0}, {0, 1}}},
    {"omgs", 0.01, 1, {{100, 0}, {200, 0}, {100, 0}, {0, 1}, {0, 1}}},
    {"omgs-optimal", 0.01, 1, {{100, 0}, {200, 0}, {100, 0}, {160, 0}, {80, 0}}},
    {"randk", 0.01, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"dgc", 0.01, 1.1, {{100, 0}, {200, 0}, {100, 0}, {140, 0}, {80, 0}}},
    {"redsync", 0.01, 3, {{80, 0}, {180, 0}, {110, 1}, {200, 0}, {0, 1}}},
    {"gaussiank", 0.01, 0.59, {{140, 0}, {0, 3}, {120, 0}, {0, 1}, {0, 1}}},
    {"gtopk", 0.01, 1, {{120, 0}, {200, 2}, {120, 0}, {200, 0}, {200, 0}}},
    {"sketched-sgd", 0.01, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"gs-sgd", 0.01, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"layer-drop", 0.01, 39, {{60, 0}, {0, 3}, {0, 3}, {120, 0}, {0, 1}}},
    {"hard-threshold", 0.01, 12, {{60, 0}, {140, 0}, {80, 0}, {120, 0}, {80, 0}}},
    {"sidco", 0.01, 1.2, {{120, 0}, {180, 0}, {100, 0}, {180, 0}, {160, 0}}},
    {"clt-k", 0.01, 1, {{120, 0}, {0, 3}, {120, 2}, {200, 0}, {200, 0}}},
    {"exdyna", 0.01, 7.8, {{60, 0}, {140, 0}, {120, 2}, {140, 0}, {200, 0}}},
    {"topk", 0.001, 1, {{160, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"lags", 0.001, 1, {{180, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"mgs", 0.001, 1, {{140, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"omgs", 0.001, 1, {{160, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"omgs-optimal", 0.001, 1, {{160, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"randk", 0.001, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"dgc", 0.001, 0.95, {{160, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"redsync", 0.001, 12, {{120, 0}, {0, 3}, {120, 1}, {0, 1}, {0, 1}}},
    {"gaussiank", 0.001, 0.4, {{160, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"gtopk", 0.001, 1, {{180, 0}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"sketched-sgd", 0.001, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"gs-sgd", 0.001, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"layer-drop", 0.001, 138, {{80, 0}, {200, 2}, {0, 3}, {0, 1}, {0, 1}}},
    {"hard-threshold", 0.001, 12, {{60, 0}, {160, 0}, {120, 1}, {160, 0}, {120, 0}}},
    {"sidco", 0.001, 1.2, {{140, 0}, {200, 2}, {0, 3}, {0, 1}, {0, 1}}},
    {"clt-k", 0.001, 1, {{0, 3}, {0, 3}, {0, 3}, {0, 1}, {0, 1}}},
    {"exdyna", 0.001, 6.5, {{100, 0}, {160, 0}, {0, 3}, {0, 1}, {0, 1}}},
};

/* Trainings of 1000 iterations, of two networks. */
enum { LONGER = 2 };
static const struct trained long_trainings[] = {
    {"dense", 0, 1, {{40, 0}, {140, 0}}},          {"topk", 0.001, 1, {{180, 0}, {340, 0}}},
    {"lags", 0.001, 1, {{180, 0}, {480, 0}}},      {"mgs", 0.001, 1, {{140, 0}, {520, 0}}},
    {"omgs", 0.001, 1, {{180, 0}, {340, 0}}},      {"dgc", 0.001, 1, {{180, 0}, {380, 0}}},
    {"gaussiank", 0.001, 1, {{200, 0}, {380, 0}}}, {"gtopk", 0.001, 1, {{180, 0}, {560, 0}}},
    {"gs-sgd", 0.001, 1, {{0, 3}, {0, 3}}},        {"layer-drop", 0.001, 1, {{80, 0}, {280, 0}}},
    {"exdyna", 0.001, 1, {{100, 0}, {180, 0}}},
};

/* ---- looking it up --------------------------------------------------------------------------- */

static const struct trained *find_trained(const struct trained *rows, size_t count,
                                          const char *algorithm, double density) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].algorithm, algorithm) == 0 &&
            (rows[i].density == 0 || rows[i].density == density)) {
            return &rows[i];
        }
    }
    return NULL;
}

#define FIND(rows, algorithm, density)                                                             \
    find_trained(rows, sizeof(rows) / sizeof *(rows), algorithm, density)

/* Finds the nearest trained density, by ratio. */
static double nearest_density(double asked) {
    double nearest = 0;
    for (size_t i = 0; i < sizeof short_trainings / sizeof *short_trainings; i++) {
        double density = short_trainings[i].density;
        if (density > 0 &&
            (nearest == 0 || fabs(log(density / asked)) < fabs(log(nearest / asked)))) {
            nearest = density;
        }
    }
    return nearest;
}

/* Trainings serve for densities down to this factor of theirs: chosen, half a step between trained
 * densities. */
static const double least_share = 1.0 / 3;

bool gw_iterations_find(const char *algorithm, double density, struct gw_iterations_factor *out) {
    *out = (struct gw_iterations_factor){
        .low = NAN, .median = NAN, .high = NAN, .density = nearest_density(density)};
    const struct trained *row = FIND(short_trainings, algorithm, out->density);
    const struct trained *longer = FIND(long_trainings, algorithm, out->density);
    out->is_beyond = density < least_share * out->density && (row == NULL || row->density > 0);
    row = out->is_beyond ? NULL : row;
    double factors[NETWORKS];
    size_t reached = 0;
    for (size_t i = 0; row != NULL && i < NETWORKS; i++) {
        bool is_longer = longer != NULL && i < LONGER;
        const struct trained *one = is_longer ? longer : row;
        const struct trained *dense = is_longer ? FIND(long_trainings, "dense", out->density)
                                                : FIND(short_trainings, "dense", out->density);
        out->runs += runs[i];
        out->failed += one->networks[i].never;
        if (one->networks[i].iterations > 0) {
            factors[reached++] =
                (double)one->networks[i].iterations / dense->networks[i].iterations;
        }
    }
    out->sent = row == NULL ? 1 : row->sent;
    if (reached > 0) {
        struct gw_summary summary;
        gw_summarise(factors, reached, &summary); /* sorts them */
        out->low = factors[0];
        out->median = summary.median;
        out->high = factors[reached - 1];
    }
    return row != NULL;
}
