/*
 * Every policy on inputs at the limits of what a file can hold: as many tensors as a network may
 * come to have, ties everywhere, costs of nothing and beyond all bounds. There is no clock here,
 * but a policy that is quadratic in the tensors does not end within the time that CTest allows.
 */
#include "tests/test.h"

#include "tests/planner/planner_definition.h"

enum {
    whole_tensors = 200,    /* through gw_planner_plan, which finds the optimum each time */
    optimal_tensors = 1000, /* what the exact search is given */
    most_tensors = 1000000, /* what all others are given */
};

static struct gw_error error;

/* ---- networks ------------------------------------------------------------------------------ */

struct network {
    const char *name;
    uint64_t bytes_per_element;
    struct gw_tensor (*tensor)(size_t index, size_t count);
};

static struct gw_tensor all_equal(size_t index, size_t count) {
    (void)index;
    (void)count;
    return (struct gw_tensor){.elements = 4096, .backward_s = 0.0078125};
}

static struct gw_tensor no_times(size_t index, size_t count) {
    (void)count;
    return (struct gw_tensor){.elements = 1 + index * index % 10007};
}

static struct gw_tensor one_huge(size_t index, size_t count) {
    bool huge = index == count / 3;
    return (struct gw_tensor){.elements = huge ? UINT64_C(1) << 52 : 64,
                              .backward_s = huge ? 1e3 : 1e-6};
}

static struct gw_tensor tiny(size_t index, size_t count) {
    (void)count;
    return (struct gw_tensor){.elements = 1 + index % 3, .backward_s = 1e-9};
}

static struct gw_tensor long_and_short(size_t index, size_t count) {
    (void)count;
    return (struct gw_tensor){.elements = index % 2 == 0 ? 1 : 20000000,
                              .backward_s = index % 2 == 0 ? 1e300 : 1e-300};
}

/* Together 2^53 elements, and with 1,024 bytes for each of them 2^63 bytes. */
static struct gw_tensor largest(size_t index, size_t count) {
    uint64_t share = (UINT64_C(1) << 53) / count;
    return (struct gw_tensor){.elements = share + (index == 0 ? (UINT64_C(1) << 53) % count : 0),
                              .backward_s = 1e-3};
}

/* Gaps a little shorter and a little longer than the startup of the usual costs. */
static struct gw_tensor flipping(size_t index, size_t count) {
    (void)count;
    return (struct gw_tensor){.elements = 64, .backward_s = index % 2 == 0 ? 2.99e-3 : 3.01e-3};
}

static const struct network networks[] = {
    {"all equal", 4, all_equal},
    {"no times", 4, no_times},
    {"one huge", 8, one_huge},
    {"tiny", 1, tiny},
    {"largest", 1024, largest},
    {"flipping", 2, flipping},
    {"long and short", 4, long_and_short},
};
enum { network_count = sizeof networks / sizeof *networks };

/* ---- costs --------------------------------------------------------------------------------- */

static struct gw_curve_point zigzag[] = {{1, 3e-3}, {100, 0}, {1e4, 5e-3}, {1e6, 2e-3}};
static struct gw_curve_point falling[] = {{10, 1}, {1000, 0.5}, {1001, 1e-9}};
static struct gw_curve_point rising[] = {{1e3, 0}, {1e4, 1e-3}, {1e5, 1}};

struct costs {
    const char *name;
    double density;
    struct gw_curve compress, exchange;
};

static const struct costs all_costs[] = {
    {"usual", 0.001, {.per_nlog2n_s = 2.19e-10}, {.fixed_s = 3e-3, .per_unit_s = 2.72e-7}},
    {"free", 1, {.fixed_s = 0}, {.fixed_s = 0}},
    {"next to none kept", 1e-300, {.fixed_s = 1e-5}, {.fixed_s = 1e-5, .per_unit_s = 1e-8}},
    {"next to all kept", 1 - 0x1p-53, {.per_unit_s = 1e-9}, {.per_unit_s = 1e-8}},
    {"startup of 1e6 s", 0.001, {.per_unit_s = 1e-10}, {.fixed_s = 1e6, .per_unit_s = 1e-8}},
    {"startup of 1e300 s", 0.5, {.fixed_s = 1e300}, {.fixed_s = 1e300}},
    {"1e280 s a byte", 1, {.per_nlog2n_s = 1e280}, {.per_unit_s = 1e280}},
    {"1e-320 s", 0.1, {.fixed_s = 1e-320}, {.fixed_s = 1e-320, .per_unit_s = 1e-320}},
    {"zigzag", 0.01, {.point_count = 4, .points = zigzag}, {.point_count = 4, .points = zigzag}},
    {"falling", 0.1, {.point_count = 3, .points = falling}, {.point_count = 3, .points = falling}},
    {"rising", 0.001, {.point_count = 3, .points = rising}, {.point_count = 3, .points = rising}},
};
enum { costs_count = sizeof all_costs / sizeof *all_costs };

/* ---- checks -------------------------------------------------------------------------------- */

static const char *const policies[] = {
    "per-tensor", "single",          "threshold:1", "threshold:8192", "threshold:9007199254740992",
    "bucket:1",   "bucket:67108864", "ddp",         "mg-wfbp",        "omgs"};
enum { policy_count = sizeof policies / sizeof *policies };

/* A planning of its own memory, and the names for messages. */
struct problem {
    char name[96];
    struct gw_model model;
    struct gw_costs costs;
    long double compute_s; /* forward, backward and update: what no plan avoids */
};

static void make_problem(const struct network *network, const struct costs *costs, bool sparse,
                         size_t tensor_count, struct problem *out) {
    *out = (struct problem){.model = {.name = "adversarial",
                                      .bytes_per_element = network->bytes_per_element,
                                      .forward_s = 0.25,
                                      .update_s = 0.125,
                                      .tensor_count = tensor_count},
                            .compute_s = 0.375};
    (void)snprintf(out->name, sizeof out->name, "%s, %s, %s exchange", network->name, costs->name,
                   sparse ? "sparse" : "dense");
    out->model.tensors = calloc(tensor_count, sizeof *out->model.tensors);
    assert_non_null(out->model.tensors);
    for (size_t i = 0; i < tensor_count; i++) {
        out->model.tensors[i] = network->tensor(i, tensor_count);
        out->compute_s += out->model.tensors[i].backward_s;
    }
    out->costs =
        (struct gw_costs){.model = &out->model,
                          .workers = 16,
                          .way.compressor = sparse ? &gw_compressor_topk : &gw_compressor_none,
                          .way.density = costs->density,
                          .compress = costs->compress,
                          .exchange = costs->exchange};
}

static void assert_time(const struct problem *x, const char *policy, double iteration_s,
                        const bool *ends) {
    double expected_s = (double)iteration_by_definition(&x->costs, ends);
    if (!isfinite(iteration_s) || !near(iteration_s, expected_s, 1e-9)) {
        fail_msg("%s: %s takes %.17g, expected %.17g", x->name, policy, iteration_s, expected_s);
    }
    assert_true(iteration_s >= (double)x->compute_s * (1 - 1e-9));
}

/* Groups that cover every tensor once and in order; as marks. */
static void assert_whole(const struct gw_plan *plan, size_t tensor_count, bool *ends) {
    size_t next = tensor_count;
    memset(ends, 0, tensor_count * sizeof *ends);
    for (size_t g = 0; g < plan->group_count; g++) {
        assert_int_equal(plan->groups[g].first + 1, next);
        assert_true(plan->groups[g].last <= plan->groups[g].first);
        next = plan->groups[g].last;
        ends[next] = true;
    }
    assert_int_equal(next, 0);
}

/* Plans with a policy and checks the plan; returns its bound. */
static double check_plan(const struct problem *x, const char *policy) {
    struct gw_plan plan;
    bool *ends = calloc(x->model.tensor_count, sizeof *ends);
    assert_non_null(ends);
    if (gw_planner_plan(&x->costs, policy, &plan, &error) != GW_OK) {
        fail_msg("%s: %s: %s", x->name, policy, error.message);
    }
    double bound_s = plan.lower_bound_s;
    assert_whole(&plan, x->model.tensor_count, ends);
    assert_time(x, policy, plan.iteration_s, ends);
    if (!(bound_s >= (double)x->compute_s * (1 - 1e-9) && bound_s <= plan.iteration_s)) {
        fail_msg("%s: %s takes %.17g, with a bound of %.17g", x->name, policy, plan.iteration_s,
                 bound_s);
    }
    gw_plan_free(&plan);
    free(ends);
    return bound_s;
}

/* Lets a policy mark where groups end and checks the time that they take against a bound. */
static void check_marks(const struct problem *x, const char *text, double bound_s) {
    size_t tensor_count = x->model.tensor_count;
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    bool *ends = calloc(tensor_count, sizeof *ends);
    struct gw_group *groups = calloc(tensor_count, sizeof *groups);
    assert_non_null(ends);
    assert_non_null(groups);
    assert_ok(gw_policy_parse(text, &policy, &argument, &error));
    policy->mark(&x->costs, argument, ends);
    size_t count = groups_of(ends, tensor_count, groups);
    double iteration_s = gw_plan_iteration_s(&x->costs, groups, count);
    assert_time(x, text, iteration_s, ends);
    if (!(iteration_s >= bound_s * (1 - 1e-11))) {
        fail_msg("%s: %s takes %.17g, below the bound of %.17g", x->name, text, iteration_s,
                 bound_s);
    }
    free(ends);
    free(groups);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void on_every_problem(size_t tensor_count, void (*check)(const struct problem *x)) {
    for (size_t n = 0; n < network_count; n++) {
        for (size_t c = 0; c < costs_count; c++) {
            for (int sparse = 0; sparse < 2; sparse++) {
                struct problem x;
                make_problem(&networks[n], &all_costs[c], sparse == 1, tensor_count, &x);
                check(&x);
                free(x.model.tensors);
            }
        }
    }
}

static void plan_with_all(const struct problem *x) {
    for (size_t p = 0; p < policy_count; p++) {
        (void)check_plan(x, policies[p]);
    }
}

static void bound_all(const struct problem *x) {
    double bound_s = check_plan(x, "optimal");
    for (size_t p = 0; p < policy_count; p++) {
        check_marks(x, policies[p], bound_s);
    }
}

TEST(every_policy_plans) {
    const size_t sizes[] = {1, 2, 3, whole_tensors};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        on_every_problem(sizes[s], plan_with_all);
    }
}

TEST(policies_stay_above_the_bound_of_optimal) {
    const size_t sizes[] = {1, 2, 3, 100, optimal_tensors};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        on_every_problem(sizes[s], bound_all);
    }
}

/* Networks with costs that merge some, all and none, sparse and dense by turns. */
TEST(a_million_tensors_are_no_more_work_than_they_must_be) {
    const size_t costs[] = {0, 4, 8};
    enum { CASES = network_count * sizeof costs / sizeof *costs };
    for (size_t tried = 0; tried < (size_t)gw_trials(CASES); tried++) {
        size_t at = (seed + tried) % CASES;
        struct problem x;
        make_problem(&networks[at % network_count], &all_costs[costs[at / network_count]],
                     at % 2 == 0, most_tensors, &x);
        for (size_t p = 0; p < policy_count; p++) {
            check_marks(&x, policies[p], 0);
        }
        free(x.model.tensors);
    }
}

/* An update beside which all else is lost in rounding, as are the differences of plans: the search
 * for the optimum must see them all the same, or end. */
TEST(an_update_of_ages_does_not_stop_the_search) {
    const double updates_s[] = {1e6, 1e20, 4.97e33, 1e300};
    const struct gw_curve compress[] = {{.per_unit_s = 0.119, .per_nlog2n_s = 1.09e-7},
                                        {.point_count = 3, .points = rising}};
    const struct gw_curve exchange = {.fixed_s = 3.2e-4, .per_unit_s = 1249.9};
    for (size_t i = 0; i < 2 * sizeof updates_s / sizeof *updates_s; i++) {
        struct gw_tensor tensors[] = {{.elements = 300255, .backward_s = 0.0033},
                                      {.elements = 1439738, .backward_s = 378.6}};
        struct gw_model model = {.name = "ages",
                                 .bytes_per_element = 4,
                                 .update_s = updates_s[i / 2],
                                 .tensor_count = 1 + i % 2,
                                 .tensors = tensors};
        for (size_t c = 0; c < 2; c++) {
            const struct gw_costs costs = {.model = &model,
                                           .workers = 4,
                                           .way.compressor = &gw_compressor_topk,
                                           .way.density = 1,
                                           .compress = compress[c],
                                           .exchange = exchange};
            struct gw_optimum optimum;
            assert_ok(
                gw_planner_optimum(&(struct gw_mix){.costs = &costs, .count = 1}, &optimum, NULL));
            assert_true(optimum.lower_bound_s == optimum.iteration_s);
            gw_optimum_free(&optimum);
        }
    }
}
