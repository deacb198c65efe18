/*
 * Advice on the buckets of DistributedDataParallel: the optimal plan, one cap, or its defaults,
 * which stay unless others are faster wherever the links and the passes may be.
 */
#include "study/buckets.h"
#include "study/plans.h"
#include "study/predict.h"
#include "study/scenario.h"

#include <math.h>

/*
 * Assumed time of a bucket besides its exchange, on all GPUs: launches, hooks, multiprocessors that
 * a collective has while it runs. On 8 V100s ResNet-50 takes 2.6% longer with bucket_cap_mb=1 than
 * with 25, in 35 buckets and in 5, ResNet-101 3.5%, in 86 and in 8 (75th percentiles of PyTorch's
 * benchmarks/distributed/ddp/README.md, bf69c149), though by exchanges alone they take as long: 96
 * and 81 us a bucket. On 16 V100s it is 150 us for ResNet-50.
 */
const double gw_bucket_besides_s = 100e-6;

/* Least share of an iteration that is worth a setting: chosen. */
static const double least_gain = 0.01;

/* ---- iterations within intervals ------------------------------------------------------------- */

/* Number of steps in which a curve, or the bandwidth, moves from one end of its interval to the
 * other. */
enum { STEPS = 8, MOST_TIMES = 16 * (STEPS + 1) * (STEPS + 1) };

/* Iterations of one plan at all places within intervals, the usual one first, with
 * gw_bucket_besides_s for each bucket. */
struct times {
    size_t count;
    double seconds[MOST_TIMES];
};

static enum gw_status add_time(const struct gw_simulator *simulator, double besides_s,
                               struct times *out, struct gw_error *error) {
    struct gw_measure measure;
    GW_TRY(gw_simulator_run(simulator, 1, NULL, &measure, error));
    out->seconds[out->count++] = measure.iteration_s + besides_s;
    return GW_OK;
}

/* -1 and 1 are the ends. */
static double place_of(int step) {
    return 2.0 * step / STEPS - 1;
}

/* Adds times without deviations, and with each parameter at all of its places; `collectives`: also
 * with these. */
static enum gw_status add_deviations(struct gw_simulator *simulator, bool collectives,
                                     double besides_s, struct times *out, struct gw_error *error) {
    size_t count = 0;
    const struct gw_parameter *parameters = gw_simulator_parameters(simulator, &count);
    GW_TRY(add_time(simulator, besides_s, out, error));
    for (size_t i = 0; i < count; i++) {
        bool deviates = collectives || parameters[i].kind != GW_COLLECTIVE_CURVE;
        for (int step = 0; deviates && step <= STEPS && out->count < MOST_TIMES; step++) {
            gw_simulator_deviate(simulator, &parameters[i], place_of(step));
            GW_TRY(add_time(simulator, besides_s, out, error));
        }
    }
    return GW_OK;
}

enum deviating { NO_PARAMETER, ALL_BUT_COLLECTIVES, ALL_PARAMETERS };

/* Adds times at `bandwidth` times the cluster's, also those with some parameters off. */
static enum gw_status add_times(const struct gw_advice *advice, const struct gw_plan *plan,
                                double bandwidth, enum deviating deviating, struct times *out,
                                struct gw_error *error) {
    struct gw_scenario scenario = *advice->scenario;
    scenario.bandwidth = bandwidth;
    const struct gw_simulation simulation = {.workers = scenario.workers,
                                             .margins = true,
                                             .interference =
                                                 gw_scenario_counts_interference(&scenario)};
    struct gw_pipeline pipeline = {0};
    struct gw_simulator *simulator = NULL;
    enum gw_status status =
        gw_pipeline_open(&scenario, &advice->planned_ddp, plan, &pipeline, error);
    if (status == GW_OK) {
        status = gw_pipeline_open_costs(false, &pipeline, error);
    }
    if (status == GW_OK) {
        status = gw_simulator_open(&simulator, &pipeline.schedule, pipeline.costs, &simulation,
                                   NULL, error);
    }
    double besides_s = gw_bucket_besides_s * (double)plan->group_count;
    if (status == GW_OK) {
        status = deviating == NO_PARAMETER ? add_time(simulator, besides_s, out, error)
                                           : add_deviations(simulator, deviating == ALL_PARAMETERS,
                                                            besides_s, out, error);
    }
    gw_simulator_close(simulator);
    gw_pipeline_close(&pipeline);
    return status;
}

/*
 * Finds a plan's times at all places: each curve off alone, and the bandwidth together with the
 * compute times, whose ratio says what is hidden. `margin`: relative uncertainty of an allreduce of
 * the whole gradient.
 */
static enum gw_status find_times(const struct gw_advice *advice, const struct gw_plan *plan,
                                 double margin, struct times *out, struct gw_error *error) {
    out->count = 0;
    GW_TRY(add_times(advice, plan, 1, ALL_PARAMETERS, out, error));
    for (int step = 0; step <= STEPS && out->count < MOST_TIMES; step++) {
        GW_TRY(add_times(advice, plan, pow(1 + margin, place_of(step)), ALL_BUT_COLLECTIVES, out,
                         error));
    }
    return GW_OK;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* The defaults that candidates are held to. */
struct rival {
    struct gw_advice *advice;
    const struct gw_planning *planning;
    double margin;
    struct times times; /* of DDP's defaults */
};

/* Whether a plan is faster than the rival at all places, in *out; `usual_s` gets its time at the
 * usual place. A plan that takes `limit_s` or more there is not looked at further. */
static enum gw_status hold_buckets(const struct rival *rival, const struct gw_plan *plan,
                                   double limit_s, double *usual_s, bool *out,
                                   struct gw_error *error) {
    struct times times = {.count = 0};
    *out = false;
    GW_TRY(add_times(rival->advice, plan, 1, NO_PARAMETER, &times, error));
    *usual_s = times.seconds[0];
    if (*usual_s >= limit_s) {
        return GW_OK;
    }
    GW_TRY(find_times(rival->advice, plan, rival->margin, &times, error));
    *out = times.count == rival->times.count;
    for (size_t i = 0; *out && i < times.count; i++) {
        *out = times.seconds[i] < rival->times.seconds[i];
    }
    return GW_OK;
}

/* Caps that people set, in MiB. */
static const unsigned caps_mib[] = {1,  2,  3,  4,   6,   8,   12,  16,  25,  32,
                                    48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};

/* Tries one cap, at which DDP closes every bucket, the first one too; `limit_s` gets what it takes
 * if that is the least so far. */
static enum gw_status try_cap(const struct rival *rival, unsigned mib, double *limit_s,
                              struct gw_error *error) {
    struct gw_advice *advice = rival->advice;
    char policy[GW_POLICY_TEXT_SIZE];
    struct gw_plan plan = {0};
    double usual_s = 0;
    bool holds = false;
    (void)snprintf(policy, sizeof policy, "bucket:%llu", (unsigned long long)mib << 20);
    GW_TRY(gw_planning_plan(rival->planning, policy, &plan, error));
    enum gw_status status = hold_buckets(rival, &plan, *limit_s, &usual_s, &holds, error);
    if (holds) {
        advice->cap_mib = mib;
        advice->cap_iteration_s = *limit_s = usual_s;
    }
    gw_plan_free(&plan);
    return status;
}

/* Finds the relative uncertainty of an allreduce of the whole gradient; 0: unknown. */
static enum gw_status find_margin(const struct gw_advice *advice, double *out,
                                  struct gw_error *error) {
    const struct gw_algorithm *dense = NULL;
    const struct gw_prediction_options options = {.interval = true};
    struct gw_result result;
    *out = 0;
    GW_TRY(gw_algorithm_find("dense", &dense, error));
    GW_TRY(gw_predict(advice->scenario, dense, &options, &result, error));
    for (size_t i = 0; i < result.uncertainty_count; i++) {
        const struct gw_result_uncertainty *one = &result.uncertainties[i];
        if (strcmp(one->name, "allreduce") == 0 && isfinite(one->relative)) {
            *out = one->relative;
        }
    }
    return GW_OK;
}

static enum gw_status try_all(struct gw_advice *advice, const struct gw_planning *planning,
                              struct gw_error *error) {
    struct rival rival = {.advice = advice, .planning = planning};
    struct gw_plan by_default = {0};
    GW_TRY(find_margin(advice, &rival.margin, error));
    GW_TRY(gw_planning_plan(planning, "ddp", &by_default, error));
    enum gw_status status = find_times(advice, &by_default, rival.margin, &rival.times, error);
    gw_plan_free(&by_default);
    GW_TRY(status);
    advice->default_iteration_s = rival.times.seconds[0];
    double limit_s = (1 - least_gain) * advice->default_iteration_s;
    GW_TRY(hold_buckets(&rival, &advice->buckets, limit_s, &advice->buckets_iteration_s,
                        &advice->buckets_hold, error));
    for (size_t i = 0; i < sizeof caps_mib / sizeof *caps_mib; i++) {
        GW_TRY(try_cap(&rival, caps_mib[i], &limit_s, error));
    }
    return GW_OK;
}

enum gw_status gw_advise_buckets(struct gw_advice *advice, struct gw_error *error) {
    struct gw_planning planning;
    GW_TRY(gw_planning_open(advice->scenario, "none", NULL, &planning, error));
    enum gw_status status = gw_planning_find_optimum(&planning, error);
    status =
        status == GW_OK ? gw_planning_plan(&planning, "optimal", &advice->buckets, error) : status;
    status = status == GW_OK ? try_all(advice, &planning, error) : status;
    gw_planning_close(&planning);
    return status;
}

/* ---- as DDP takes them ----------------------------------------------------------------------- */

const char *gw_advice_bucket_text(const struct gw_advice *advice, size_t group,
                                  char out[GW_BUCKET_TEXT_SIZE]) {
    static const double mib = 1 << 20;
    const struct gw_model *model = advice->scenario->model;
    double element = (double)model->bytes_per_element;
    double bytes = element * (double)gw_group_elements(&advice->buckets.groups[group], model);
    for (int digits = 3; digits <= 17; digits++) {
        (void)snprintf(out, GW_BUCKET_TEXT_SIZE, "%.*g", digits, bytes / mib);
        double closes_at = floor(strtod(out, NULL) * mib);
        if (closes_at <= bytes && closes_at > bytes - element) {
            break;
        }
    }
    return out;
}
