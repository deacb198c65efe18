/* Scenarios about an accepted model and cluster, and properties of the answers. */
#include <math.h>
#include <string.h>

#include "tests/fuzz/readers.h"

static bool is_time(double seconds) {
    return isfinite(seconds) && seconds >= 0;
}

static bool is_at_most(double less, double more) {
    return less <= more * (1 + 1e-9) + 1e-24;
}

/* ---- plans --------------------------------------------------------------------------------- */

void fuzz_explain(const struct gw_scenario *scenario, const struct gw_plan *plan) {
    struct gw_arena arena = {0};
    struct gw_explanation explanation;
    double before_s = 0;
    if (fuzz_accepted(gw_explain(scenario, plan, NULL, &arena, &explanation, &fuzz_error), "")) {
        for (size_t g = 0; g < plan->group_count; g++) {
            const struct gw_group_times *times = &explanation.groups[g];
            fuzz_expect(is_time(times->exchange_end_s) && times->ready_s <= times->compressed_s &&
                            times->compressed_s <= times->exchange_start_s &&
                            before_s <= times->exchange_start_s &&
                            times->exchange_start_s <= times->exchange_end_s,
                        "a group out of order");
            before_s = times->exchange_end_s;
        }
        fuzz_expect(explanation.critical_group < plan->group_count, "a critical group");
    }
    gw_arena_free(&arena);
}

static void plan_all(const struct gw_scenario *scenario, const char *compressor) {
    struct gw_plans plans = {0};
    if (fuzz_accepted(gw_plans_make(scenario, compressor, NULL, "all", &plans, &fuzz_error), "")) {
        for (size_t i = 0; i < plans.count; i++) {
            const struct gw_plan *plan = &plans.plans[i];
            fuzz_expect(is_time(plan->iteration_s) && is_time(plan->lower_bound_s),
                        "a plan's times");
            fuzz_expect(is_at_most(plan->lower_bound_s, plan->iteration_s), "a bound above");
            fuzz_expect(is_at_most(plans.plans[0].iteration_s, plan->iteration_s),
                        "plans that are not in order");
            fuzz_expect(gw_plan_check(plan, scenario->model, "f", &fuzz_error) == GW_OK,
                        "a plan for another model");
        }
        fuzz_explain(scenario, &plans.plans[0]);
        fuzz_write_plan(&plans.plans[0]);
    }
    gw_plans_free(&plans);
}

/* ---- predictions --------------------------------------------------------------------------- */

static void check_result(const struct gw_result *result) {
    const struct gw_breakdown *parts = &result->breakdown;
    double sum = parts->forward_s + parts->backward_s + parts->compress_s + parts->exposed_comm_s +
                 parts->other_s;
    fuzz_expect(is_time(result->iteration_s) && is_time(result->comm_s) &&
                    is_time(result->bytes_per_worker),
                "a prediction's times");
    fuzz_expect(fabs(sum - result->iteration_s) <= 1e-9 * result->iteration_s + 1e-24,
                "parts that do not add up");
    if (result->iteration_high_s > 0) {
        fuzz_expect(is_at_most(result->iteration_low_s, result->iteration_s) &&
                        is_at_most(result->iteration_s, result->iteration_high_s),
                    "a range beside the prediction");
    }
}

static void predict(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                    const struct gw_prediction_options *options) {
    struct gw_result result;
    if (fuzz_accepted(gw_predict(scenario, algorithm, options, &result, &fuzz_error), "")) {
        check_result(&result);
    }
}

void fuzz_ask(const struct gw_scenario *scenario, uint64_t choice) {
    enum { MOST_TENSORS = 24, MOST_RANKS = 8 };
    size_t count = 0;
    if (scenario->model->tensor_count > MOST_TENSORS) {
        return;
    }
    while (gw_algorithms[count].name != NULL) {
        count++;
    }
    const struct gw_algorithm *algorithm = &gw_algorithms[choice % count];
    plan_all(scenario, choice / count % 2 == 0 ? "none" : "topk");
    struct gw_prediction_options options = {.simulation = {.workers = scenario->workers},
                                            .interval = true};
    predict(scenario, algorithm, &options);
    struct gw_scenario apart = *scenario;
    apart.interference = GW_INTERFERENCE_NONE;
    options.interval = false;
    predict(&apart, algorithm, &options);
    if (scenario->workers <= MOST_RANKS) {
        options.simulation.level = GW_LEVEL_MESSAGES;
        predict(scenario, algorithm, &options);
    }
}
