/* Finds 95% intervals of predictions, and whether two predictions can be told apart. */
#include <math.h>
#include <string.h>

#include "study/predict.h"
#include "study/rank.h"

/* Most iterations that are simulated to find the effect of a curve's uncertainty. */
enum { MOST_ITERATIONS = 20 };

/* ---- uncertainties ------------------------------------------------------------------------- */

bool gw_uncertainty_only_lengthens(const struct gw_result_uncertainty *uncertainty) {
    return strcmp(uncertainty->name, GW_PASSES_NAME) == 0 ||
           strcmp(uncertainty->name, GW_LEFT_OUT) == 0;
}

const char *gw_uncertainty_command(const struct gw_result_uncertainty *uncertainty,
                                   const struct gw_cluster *cluster) {
    if (strcmp(uncertainty->name, GW_MODEL_TIMES_NAME) == 0) {
        return "python -m gradweave.torch record FILE.py:FUNCTION";
    }
    const char *transport = gw_cluster_source(cluster, "transport");
    bool is_of_trainer = transport != NULL && strcmp(transport, "group") == 0;
    return is_of_trainer || gw_uncertainty_only_lengthens(uncertainty)
               ? "python -m gradweave.torch calibrate --job FILE.py:FUNCTION"
               : "gradweave calibrate";
}

/* ---- intervals of one prediction ----------------------------------------------------------- */

static enum gw_status find_mean(const struct gw_simulator *simulator, size_t iterations,
                                double *out, struct gw_error *error) {
    struct gw_measure measures[MOST_ITERATIONS];
    GW_TRY(gw_simulator_run(simulator, iterations, NULL, measures, error));
    struct gw_running mean = {0};
    for (size_t i = 0; i < iterations; i++) {
        gw_running_add(&mean, measures[i].iteration_s);
    }
    *out = mean.mean;
    return GW_OK;
}

/* Number of the uncertainty with that name; uncertainty_count if the result has none. */
static size_t find_uncertainty(const struct gw_result *result, const char *name) {
    size_t i = 0;
    while (i < result->uncertainty_count && strcmp(result->uncertainties[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* Simulates again with each curve at both ends of its interval. */
static enum gw_status find_ends(struct gw_simulator *simulator, size_t iterations,
                                struct gw_result *result, struct gw_error *error) {
    size_t count = 0;
    const struct gw_parameter *parameters = gw_simulator_parameters(simulator, &count);
    double mean_s = 0;
    GW_TRY(find_mean(simulator, iterations, &mean_s, error));
    for (size_t i = 0; i < count; i++) {
        size_t which = find_uncertainty(result, parameters[i].name);
        struct gw_result_uncertainty *found = &result->uncertainties[which];
        double *const ends_s[] = {&found->low_s, &found->high_s};
        for (int end = 0; end < 2 && which < result->uncertainty_count; end++) {
            gw_simulator_deviate(simulator, &parameters[i], end == 0 ? -1 : 1);
            GW_TRY(find_mean(simulator, iterations, ends_s[end], error));
            *ends_s[end] += result->iteration_s - mean_s;
        }
    }
    gw_simulator_deviate(simulator, NULL, 0);
    return GW_OK;
}

/* Model error that no curve covers; 0 if all of the uncertainties are of derived curves. */
static double unexplained_s(const struct gw_result *result) {
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        if (!result->uncertainties[i].derived) {
            return GW_UNEXPLAINED * result->iteration_s;
        }
    }
    return 0;
}

/* Adds the interference that a prediction leaves out: it only makes the iteration longer, so it is
 * added to the upper end, not as an independent error. */
static enum gw_status add_left_out(const struct gw_simulator *simulator,
                                   const struct gw_simulator *slowed, size_t iterations,
                                   struct gw_result *result, struct gw_error *error) {
    double without_s = 0;
    double with_s = 0;
    size_t which = result->uncertainty_count;
    GW_TRY(find_mean(simulator, iterations, &without_s, error));
    GW_TRY(find_mean(slowed, iterations, &with_s, error));
    double more_s = with_s - without_s;
    if (!(more_s > GW_COMPARE_SAME * without_s)) {
        return GW_OK;
    }
    gw_result_uncertain(result, GW_LEFT_OUT, false, more_s / without_s);
    if (result->uncertainty_count > which) {
        struct gw_result_uncertainty *left_out = &result->uncertainties[which];
        left_out->low_s = result->iteration_s;
        left_out->high_s = result->iteration_s + more_s;
    }
    result->iteration_high_s += more_s;
    return GW_OK;
}

enum gw_status gw_interval_find(struct gw_simulator *simulator, const struct gw_simulator *slowed,
                                size_t iterations, struct gw_result *result,
                                struct gw_error *error) {
    if (result->uncertainty_count == 0 || gw_result_is_unknown(result)) {
        return GW_OK;
    }
    size_t few = iterations < MOST_ITERATIONS ? iterations : MOST_ITERATIONS;
    GW_TRY(find_ends(simulator, few, result, error));
    double below_s = unexplained_s(result);
    double above_s = below_s;
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        const struct gw_result_uncertainty *one = &result->uncertainties[i];
        double least_s = fmin(one->low_s, one->high_s);
        double most_s = fmax(one->low_s, one->high_s);
        below_s = hypot(below_s, fmax(0, result->iteration_s - least_s));
        above_s = hypot(above_s, fmax(0, most_s - result->iteration_s));
    }
    result->iteration_low_s = fmax(0, result->iteration_s - below_s);
    result->iteration_high_s = result->iteration_s + above_s;
    return slowed == NULL ? GW_OK : add_left_out(simulator, slowed, few, result, error);
}

/* ---- two predictions ----------------------------------------------------------------------- */

/* One of two results that are compared: its time for `iterations`, which are uncertain by
 * spread_s. */
struct side {
    const struct gw_result *result;
    double iterations, spread_s;
};

/* Seconds that a curve at one end of its interval (0: low, 1: high) adds to the iteration. */
static double added_s(const struct gw_result *result, const char *name, int end) {
    size_t i = find_uncertainty(result, name);
    const struct gw_result_uncertainty *one = &result->uncertainties[i];
    return i == result->uncertainty_count
               ? 0
               : (end == 0 ? one->low_s : one->high_s) - result->iteration_s;
}

/* Seconds that the second may gain on the first by the uncertainty of one curve of both. */
static double gained_s(const struct side sides[2], const char *name) {
    double gain_s = 0;
    for (int end = 0; end < 2; end++) {
        double first_s = sides[0].iterations * added_s(sides[0].result, name, end);
        double second_s = sides[1].iterations * added_s(sides[1].result, name, end);
        gain_s = fmax(gain_s, first_s - second_s);
    }
    return gain_s;
}

/*
 * Seconds that the second may gain on the first by curves of unknown uncertainty, such as those
 * derived from a single number of workers. Their times are assumed to be up to ten times as long,
 * or as short. An exchange that the backward pass hides counts if it may take longer, but not if it
 * may take less.
 */
static double gained_by_unknown_s(const struct side sides[2]) {
    static const double most = 10;
    const double shorter = 1 - 1 / most;
    double gains_s[2];
    for (size_t i = 0; i < 2; i++) {
        const struct gw_result *result = sides[i].result;
        double compress_s = result->breakdown.compress_s;
        double exposed_s = result->breakdown.exposed_comm_s;
        double gain_s = i == 0 ? (most - 1) * (compress_s + result->comm_s)
                               : shorter * compress_s + fmin(exposed_s, shorter * result->comm_s);
        gains_s[i] = gw_result_is_unknown(result) ? sides[i].iterations * gain_s : 0;
    }
    return gains_s[0] + gains_s[1];
}

static bool sides_meet(const struct side sides[2]) {
    const struct gw_result *first = sides[0].result;
    const struct gw_result *second = sides[1].result;
    double gain_s = hypot(sides[0].spread_s, sides[1].spread_s);
    if (first->uncertainty_count + second->uncertainty_count == 0 && gain_s == 0) {
        return false;
    }
    bool is_unknown = gw_result_is_unknown(first) || gw_result_is_unknown(second);
    gain_s = hypot(gain_s, gained_by_unknown_s(sides));
    for (size_t i = 0; i < 2; i++) {
        gain_s = hypot(gain_s, sides[i].iterations * unexplained_s(sides[i].result));
    }
    for (size_t i = 0; i < first->uncertainty_count && !is_unknown; i++) {
        gain_s = hypot(gain_s, gained_s(sides, first->uncertainties[i].name));
    }
    for (size_t i = 0; i < second->uncertainty_count && !is_unknown; i++) {
        const char *name = second->uncertainties[i].name;
        bool is_shared = find_uncertainty(first, name) < first->uncertainty_count;
        gain_s = is_shared ? gain_s : hypot(gain_s, gained_s(sides, name));
    }
    return sides[1].iterations * second->iteration_s - gain_s <=
           sides[0].iterations * first->iteration_s;
}

bool gw_results_meet(const struct gw_result *first, const struct gw_result *second) {
    return sides_meet((const struct side[]){{first, 1, 0}, {second, 1, 0}});
}

/* Factor of an end of one curve's interval on a result; 1 if the result does not use the curve. */
static double stretched_time(const struct gw_result *result, const char *name, int end) {
    return 1 + added_s(result, name, end) / result->iteration_s;
}

/* Sums of squared logarithms of independent factors that lessen, and that raise, the ratio. */
struct error_spread {
    double less, more;
};

static void widen_difference(const struct gw_result *first, const struct gw_result *second,
                             const char *name, struct error_spread *out) {
    double least = 0;
    double most = 0;
    for (int end = 0; end < 2; end++) {
        double change = log(stretched_time(first, name, end) / stretched_time(second, name, end));
        least = fmin(least, change);
        most = fmax(most, change);
    }
    out->less += least * least;
    out->more += most * most;
}

void gw_results_ratio(const struct gw_result *first, const struct gw_result *second, double *low,
                      double *high) {
    double ratio = first->iteration_s / second->iteration_s;
    const struct gw_result *const both[] = {first, second};
    struct error_spread spread = {0};
    *low = *high = NAN;
    if (gw_result_is_unknown(first) || gw_result_is_unknown(second)) {
        return;
    }
    for (size_t side = 0; side < 2; side++) {
        const struct gw_result *one = both[side];
        double unexplained = log1p(unexplained_s(one) / one->iteration_s);
        spread.less += unexplained * unexplained;
        spread.more += unexplained * unexplained;
        for (size_t i = 0; i < one->uncertainty_count; i++) {
            const char *name = one->uncertainties[i].name;
            bool was_first = side == 1 && find_uncertainty(first, name) < first->uncertainty_count;
            if (!was_first) {
                widen_difference(first, second, name, &spread);
            }
        }
    }
    *low = ratio * exp(-sqrt(spread.less));
    *high = ratio * exp(sqrt(spread.more));
}

bool gw_trainings_meet(const struct gw_result *first, const struct gw_trainings *of_first,
                       const struct gw_result *second, const struct gw_trainings *of_second) {
    bool same = of_first == of_second;
    double longer = same ? 0 : of_first->high - of_first->iterations;
    double shorter = same ? 0 : of_second->iterations - of_second->low;
    return sides_meet(
        (const struct side[]){{first, of_first->iterations, longer * first->iteration_s},
                              {second, of_second->iterations, shorter * second->iteration_s}});
}
