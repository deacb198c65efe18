/*
 * Every merge policy against a direct transcription of its definition, on thousands of random
 * models. The transcriptions recompute everything after each merge, as the papers print it;
 */
#include "tests/test.h"

#include "tests/planner/planner_cases.h"

static struct gw_error error;

typedef void definition(const struct planning_case *x, uint64_t argument, bool *ends);

/* ---- definitions: which tensors close a group ---------------------------------------------- */

static void per_tensor(const struct planning_case *x, uint64_t argument, bool *ends) {
    (void)argument;
    for (size_t l = 0; l < x->model.tensor_count; l++) {
        ends[l] = true;
    }
}

static void single(const struct planning_case *x, uint64_t argument, bool *ends) {
    (void)x;
    (void)argument;
    ends[0] = true;
}

static void threshold(const struct planning_case *x, uint64_t argument, bool *ends) {
    uint64_t held = 0;
    for (size_t l = x->model.tensor_count; l-- > 0;) {
        held += x->tensors[l].elements;
        ends[l] = held >= argument;
        held = ends[l] ? 0 : held;
    }
}

static void bucket(const struct planning_case *x, uint64_t argument, bool *ends) {
    uint64_t held = 0;
    for (size_t l = x->model.tensor_count; l-- > 0;) {
        held += x->model.bytes_per_element * x->tensors[l].elements;
        ends[l] = held >= argument;
        held = ends[l] ? 0 : held;
    }
}

static void ddp(const struct planning_case *x, uint64_t argument, bool *ends) {
    uint64_t held = 0;
    bool first = true;
    for (size_t l = x->model.tensor_count; l-- > 0;) {
        held += x->model.bytes_per_element * x->tensors[l].elements;
        if (held >= (first ? 1048576 : argument)) {
            ends[l] = true;
            first = false;
            held = 0;
        }
    }
}

static void ddp_by_default(const struct planning_case *x, uint64_t argument, bool *ends) {
    (void)argument;
    ddp(x, 26214400, ends);
}

/* The papers' costs: what is merged into its neighbour has no elements, and costs nothing. */
static double compress_s(const struct planning_case *x, uint64_t d) {
    return d == 0 ? 0 : gw_costs_compress_s(&x->costs, d);
}

static double exchange_s(const struct planning_case *x, uint64_t d) {
    return d == 0 ? 0
                  : gw_costs_exchange_s(&x->costs, &(struct gw_size){.elements = d, .tensors = 1});
}

/*
 * When each tensor is ready, and when the exchange of what it
 * holds starts, for the present groups.
 */
static void recompute_starts(const struct planning_case *x, const uint64_t *d, double *ready_s,
                             double *start_s) {
    double compute = x->model.forward_s;
    double communication = 0;
    for (size_t l = x->model.tensor_count; l-- > 0;) {
        compute += x->tensors[l].backward_s;
        ready_s[l] = compute;
        compute += compress_s(x, d[l]);
        start_s[l] = fmax(compute, communication);
        if (d[l] > 0) {
            communication = start_s[l] + exchange_s(x, d[l]);
        }
    }
}

static void mg_wfbp(const struct planning_case *x, uint64_t argument, bool *ends) {
    (void)argument;
    uint64_t d[most_tensors] = {0};
    double ready_s[most_tensors] = {0};
    double start_s[most_tensors] = {0};
    double alpha = gw_curve_startup(&x->costs.exchange);
    for (size_t l = 0; l < x->model.tensor_count; l++) {
        d[l] = x->tensors[l].elements;
    }
    recompute_starts(x, d, ready_s, start_s);
    for (size_t l = x->model.tensor_count - 1; l > 0; l--) {
        double r = ready_s[l - 1];
        double s = start_s[l];
        ends[l] = !(r < s + exchange_s(x, d[l]) && r - s < alpha);
        if (!ends[l]) {
            d[l - 1] += d[l];
            d[l] = 0;
            recompute_starts(x, d, ready_s, start_s);
        }
    }
}

/* Algorithm 1 of the OMGS paper with its names, and its indices 1 .. L. */
struct listing {
    double tb[most_tensors + 1], tau_b[most_tensors + 1], tau_s[most_tensors + 1],
        ts[most_tensors + 1], tau_c[most_tensors + 1], tc[most_tensors + 1];
    uint64_t d[most_tensors + 1];
};

/* CalculateCompStart, lines 27-36, into tau_b, tau_s and ts of layers 1 .. L. */
static void ccps(const struct planning_case *x, struct listing *a, size_t L, double tau) {
    for (size_t l = L; l >= 1; l--) {
        a->ts[l] = compress_s(x, a->d[l]);
    }
    a->tau_b[L] = tau;
    a->tau_s[L] = a->tau_b[L] + a->tb[L];
    for (size_t l = L - 1; l >= 1; l--) {
        a->tau_b[l] = a->tau_s[l + 1] + a->ts[l + 1];
        a->tau_s[l] = a->tau_b[l] + a->tb[l];
    }
}

/* CalculateCommStart, lines 19-26. */
static void ccms(const struct planning_case *x, struct listing *a, size_t L) {
    for (size_t l = L; l >= 1; l--) {
        a->tc[l] = exchange_s(x, a->d[l]);
    }
    a->tau_c[L] = a->tau_s[L] + a->ts[L];
    for (size_t l = L - 1; l >= 1; l--) {
        a->tau_c[l] = fmax(a->tau_c[l + 1] + a->tc[l + 1], a->tau_s[l] + a->ts[l]);
    }
}

/* Lines 37-41. */
static void merge(const struct planning_case *x, struct listing *a, size_t l) {
    a->tb[l - 1] = a->tb[l - 1] + a->tb[l];
    a->tb[l] = 0;
    a->d[l - 1] = a->d[l - 1] + a->d[l];
    a->d[l] = 0;
    a->tc[l - 1] = exchange_s(x, a->d[l - 1]);
    a->tc[l] = 0;
    a->ts[l - 1] = compress_s(x, a->d[l - 1]);
    a->ts[l] = 0;
}

/* Lines 1-14; layer l is tensor l - 1. */
static void omgs(const struct planning_case *x, uint64_t argument, bool *ends) {
    (void)argument;
    struct listing a = {0};
    size_t L = x->model.tensor_count;
    double alpha = gw_curve_startup(&x->costs.exchange);
    for (size_t l = 1; l <= L; l++) {
        a.tb[l] = x->tensors[l - 1].backward_s;
        a.d[l] = x->tensors[l - 1].elements;
    }
    ccps(x, &a, L, x->model.forward_s);
    ccms(x, &a, L);
    for (size_t l = L; l >= 2; l--) {
        double mu = a.tau_b[l] + a.tb[l] + a.tb[l - 1];
        bool q3 = mu + compress_s(x, a.d[l]) + compress_s(x, a.d[l - 1]) <
                  a.tau_c[l] + exchange_s(x, a.d[l]);
        bool q5 = a.tau_c[l] + alpha > mu + compress_s(x, a.d[l] + a.d[l - 1]);
        ends[l - 1] = !(q3 && q5);
        if (q3 && q5) {
            merge(x, &a, l);
            ccps(x, &a, l, a.tau_b[l] + a.tb[l]);
            ccms(x, &a, L);
        }
    }
}

/* ---- plans against definitions ------------------------------------------------------------- */

static void assert_whole(const struct gw_plan *plan, const struct planning_case *x) {
    size_t next = x->model.tensor_count;
    for (size_t g = 0; g < plan->group_count; g++) {
        assert_int_equal(plan->groups[g].first, next - 1);
        assert_true(plan->groups[g].last <= plan->groups[g].first);
        next = plan->groups[g].last;
    }
    assert_int_equal(next, 0);
    assert_ok(gw_plan_check(plan, &x->model, "plan", &error));
}

static void assert_described(const struct gw_plan *plan, const struct planning_case *x,
                             const char *text) {
    bool dense = !gw_costs_compress(&x->costs);
    assert_string_equal(plan->model, x->model.name);
    assert_string_equal(plan->policy, text);
    assert_string_equal(plan->compressor, dense ? "none" : "topk");
    assert_true(plan->density == (dense ? 1 : x->costs.way.density));
    assert_int_equal(plan->workers, 16);
    assert_true(plan->iteration_s ==
                gw_plan_iteration_s(&x->costs, plan->groups, plan->group_count));
    assert_true(plan->lower_bound_s <= plan->iteration_s);
}

/*
 * How often the policy merged some but not all of three
 * tensors or more: without, a test is empty.
 */
static size_t compare(const char *name, definition *define, bool has_argument, uint64_t stream,
                      int trials) {
    size_t mixed = 0;
    struct gw_random *random = random_stream(stream);
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct planning_case x;
        bool ends[most_tensors] = {false};
        struct gw_group expected[most_tensors];
        struct gw_plan plan;
        char text[64];
        size_t largest = trial % 100 == 0 ? most_tensors : usual_tensors;
        make_case(random, 1 + gw_random_below(random, largest), &x);
        double most = 2 * (double)x.model.bytes_per_element * (double)gw_model_elements(&x.model);
        uint64_t argument = (uint64_t)power_between(random, 1, most);
        (void)snprintf(text, sizeof text, has_argument ? "%s:%llu" : "%s", name,
                       (unsigned long long)argument);
        define(&x, argument, ends);
        size_t count = groups_of(ends, x.model.tensor_count, expected);
        assert_ok(gw_planner_plan(&x.costs, text, &plan, &error));
        assert_whole(&plan, &x);
        assert_described(&plan, &x, text);
        if (plan.group_count != count ||
            memcmp(plan.groups, expected, count * sizeof *expected) != 0) {
            fail_msg("%s, trial %d: %zu groups, expected %zu", text, trial, plan.group_count,
                     count);
        }
        mixed += count > 1 && count < x.model.tensor_count;
        gw_plan_free(&plan);
    }
    return mixed;
}

TEST(plans_are_as_defined) {
    static const struct {
        const char *name;
        definition *define;
        bool has_argument;
        int trials, least_mixed;
    } table[] = {{"per-tensor", per_tensor, false, 200, -1},
                 {"single", single, false, 200, -1},
                 {"threshold", threshold, true, 2000, 200},
                 {"bucket", bucket, true, 2000, 200},
                 {"ddp", ddp, true, 2000, 200},
                 {"ddp", ddp_by_default, false, 2000, 200},
                 {"mg-wfbp", mg_wfbp, false, 20000, 2000},
                 {"omgs", omgs, false, 20000, 2000}};
    for (uint64_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t mixed =
            compare(table[i].name, table[i].define, table[i].has_argument, 1 + i, table[i].trials);
        assert_true(table[i].least_mixed < 0 || mixed > (size_t)gw_trials(table[i].least_mixed));
    }
}

/* ---- published group counts ---------------------------------------------------------------- */

/*
 * OMGS paper, Table V: MGS-SGD merges below 8192 elements,
 * LAGS-SGD not at all, TopK-SGD everything.
 */
TEST(group_counts_are_the_published_ones) {
    const char *policies[] = {"threshold:8192", "per-tensor", "single"};
    const struct {
        const char *path;
        size_t groups[3];
    } table[] = {{GW_TEST_DATA "/models/vgg16-cifar10.json", {13, 54, 1}},
                 {GW_TEST_DATA "/models/resnet50.json", {53, 161, 1}},
                 {GW_TEST_DATA "/models/inception-v4.json", {150, 449, 1}},
                 {GW_TEST_DATA "/models/lstm-ptb.json", {9, 11, 1}}};
    for (size_t i = 0; i < 4; i++) {
        struct gw_model model;
        struct gw_curve free_of_charge = {0};
        assert_ok(gw_model_read(table[i].path, &model, &error));
        struct gw_costs costs = {.model = &model,
                                 .workers = 16,
                                 .way.compressor = &gw_compressor_topk,
                                 .way.density = 0.001,
                                 .compress = free_of_charge,
                                 .exchange = free_of_charge};
        for (size_t p = 0; p < 3; p++) {
            struct gw_plan plan;
            assert_ok(gw_planner_plan(&costs, policies[p], &plan, &error));
            assert_int_equal(plan.group_count, table[i].groups[p]);
            gw_plan_free(&plan);
        }
        gw_model_free(&model);
    }
}
