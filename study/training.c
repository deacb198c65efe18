/* Times of pipelines to a goal: numbers of iterations in trainings, times an iteration. */
#include <math.h>
#include <string.h>

#include "study/predict.h"
#include "study/scenario.h"

enum gw_status gw_accuracy_check(const struct gw_accuracy *accuracy, struct gw_error *error) {
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct gw_algorithm *known = NULL;
        struct gw_error why;
        const struct gw_trainings *one = &accuracy->trainings[i];
        if (!gw_trainings_are_by_hook(one) &&
            gw_algorithm_find(one->algorithm, &known, &why) != GW_OK) {
            return gw_fail(error, GW_BAD_INPUT, "%s: %.400s", accuracy->path, why.message);
        }
    }
    return GW_OK;
}

/* ---- finding trainings ---------------------------------------------------------------------- */

/* Whether the algorithm is dense: all dense ones are taken to need as many iterations. */
static bool is_dense(const char *algorithm) {
    const struct gw_algorithm *known = NULL;
    return gw_algorithm_find(algorithm, &known, NULL) == GW_OK && !gw_algorithm_compresses(known);
}

/* Distance between numbers of workers: absolute logarithm of their ratio. */
static double workers_distance(const struct gw_trainings *trainings, size_t workers) {
    return fabs(log((double)trainings->workers / (double)workers));
}

/* Finds trainings of the algorithm, or else of another dense one, with the nearest number of
 * workers; NULL: none. */
static const struct gw_trainings *find_trainings(const struct gw_accuracy *accuracy,
                                                 const char *algorithm,
                                                 const struct gw_scenario *scenario) {
    const struct gw_trainings *found = NULL;
    bool dense = is_dense(algorithm);
    bool is_own = false;
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct gw_trainings *one = &accuracy->trainings[i];
        bool own = strcmp(one->algorithm, algorithm) == 0;
        bool fits =
            own ? dense || fabs(one->density - scenario->density) <= 1e-9 * scenario->density
                : dense && is_dense(one->algorithm);
        bool nearer = found == NULL || workers_distance(one, scenario->workers) <
                                           workers_distance(found, scenario->workers);
        if (fits && (own > is_own || (own == is_own && nearer))) {
            found = one;
            is_own = own;
        }
    }
    return found;
}

static void note_differences(const struct gw_trainings *trainings, const char *algorithm,
                             const struct gw_scenario *scenario, struct gw_result *notes) {
    char note[GW_RESULT_NOTE_SIZE];
    if (trainings->workers != scenario->workers) {
        (void)snprintf(note, sizeof note,
                       "iterations to the goal are those of %llu workers: %zu may need others",
                       (unsigned long long)trainings->workers, scenario->workers);
        gw_result_note(notes, note);
    }
    if (strcmp(trainings->algorithm, algorithm) != 0) {
        (void)snprintf(note, sizeof note,
                       "pipelines without compression learn alike: those without trainings of "
                       "their own have the iterations of %s",
                       trainings->algorithm);
        gw_result_note(notes, note);
    }
    if (trainings->count == 1) {
        gw_result_note(notes,
                       "one training alone does not show how far iterations to the goal vary");
    }
}

/* ---- to the goal ---------------------------------------------------------------------------- */

/* Finds seconds of trainings, and their range by both iterations and their times. */
static void find_seconds(const struct gw_result *result, struct gw_to_goal *out) {
    const struct gw_trainings *trainings = out->trainings;
    double iteration_s = result->iteration_s;
    double iterations = trainings->iterations;
    out->seconds = iterations * iteration_s;
    if (gw_result_is_unknown(result) || isinf(iterations)) {
        return;
    }
    bool known = result->uncertainty_count > 0;
    double below_s = known ? iteration_s - result->iteration_low_s : 0;
    double above_s = known ? result->iteration_high_s - iteration_s : 0;
    out->low_s =
        out->seconds - hypot(iterations * below_s, (iterations - trainings->low) * iteration_s);
    out->low_s = fmax(0, out->low_s);
    out->high_s =
        out->seconds + hypot(iterations * above_s, (trainings->high - iterations) * iteration_s);
}

void gw_to_goal_find(const struct gw_accuracy *accuracy, const struct gw_scenario *scenario,
                     const struct gw_result *result, struct gw_to_goal *out,
                     struct gw_result *notes) {
    const struct gw_trainings *trainings = find_trainings(accuracy, result->algorithm, scenario);
    *out = (struct gw_to_goal){.trainings = trainings, .seconds = NAN};
    if (trainings == NULL) {
        return;
    }
    note_differences(trainings, result->algorithm, scenario, notes);
    find_seconds(result, out);
}

void gw_to_goal_learn(const struct gw_learning *learning, const struct gw_scenario *scenario,
                      const struct gw_result *result, double dense_s,
                      struct gw_trainings *trainings, struct gw_to_goal *out) {
    struct gw_iterations_factor factor;
    const struct gw_algorithm *algorithm = NULL;
    bool is_known = gw_algorithm_find(result->algorithm, &algorithm, NULL) == GW_OK &&
                    gw_learning_find(learning, algorithm, scenario->density, &factor);
    if (!is_known) {
        *out = (struct gw_to_goal){.seconds = NAN};
        return;
    }
    *trainings = (struct gw_trainings){
        .count = factor.runs,
        .reached = factor.runs - factor.failed,
        .iterations = GW_DENSE_ITERATIONS * factor.median,
        .low = GW_DENSE_ITERATIONS * factor.low,
        .high = factor.failed > 0 ? INFINITY : GW_DENSE_ITERATIONS * factor.high};
    *out = (struct gw_to_goal){.trainings = trainings};
    find_seconds(result, out);
    out->seconds =
        GW_DENSE_ITERATIONS * gw_learning_expected_s(&factor, result->iteration_s, dense_s);
}

bool gw_to_goal_is_before(const struct gw_to_goal *a, const struct gw_to_goal *b) {
    bool last_a = isnan(a->seconds);
    bool last_b = isnan(b->seconds);
    return last_a || last_b ? !last_a : a->seconds < b->seconds;
}
