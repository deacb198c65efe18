/*
 * The arithmetic against the contract's text, and what a user may write as a policy.
 */
#include <float.h>

#include "tests/test.h"

#include "tests/planner/planner_cases.h"

static struct gw_error error;

/* ---- the arithmetic ------------------------------------------------------------------------ */

/*
 * The rounding error of a time between or beyond points: those of steep curves are 1e15 apart, and
 * a line between two of them has lost as many digits near its lower end. Points are at least 10%
 * apart and sizes up to some ten times beyond, so that slopes weigh up to a hundredfold.
 */
static double rounding_of(const struct gw_curve *curve) {
    double most_s = 0;
    for (size_t i = 0; i < curve->point_count; i++) {
        most_s = fmax(most_s, curve->points[i].time_s);
    }
    return 100 * DBL_EPSILON * most_s;
}

TEST(the_arithmetic_is_the_contracts) {
    struct gw_random *random = random_stream(1);
    for (int trial = 0; trial < gw_trials(10000); trial++) {
        struct planning_case x;
        bool ends[usual_tensors];
        struct gw_group groups[usual_tensors];
        make_case(random, 1 + gw_random_below(random, usual_tensors), &x);
        uint64_t chance = 1 + gw_random_below(random, 10);
        for (size_t l = 0; l < usual_tensors; l++) {
            ends[l] = gw_random_below(random, chance) == 0;
        }
        size_t count = groups_of(ends, x.model.tensor_count, groups);
        double predicted = gw_plan_iteration_s(&x.costs, groups, count);
        double expected = (double)iteration_by_definition(&x.costs, ends);
        double lost =
            (double)count * (rounding_of(&x.costs.compress) + rounding_of(&x.costs.exchange));
        assert_true(fabs(predicted - expected) <= lost || near(predicted, expected, 1e-11));
    }
}

/* Numbers small enough to follow: tensors of 3, 2 and 1 elements, the last ready first. */
TEST(the_arithmetic_by_hand) {
    struct gw_tensor tensors[] = {{.name = "a", .elements = 3, .backward_s = 1},
                                  {.name = "b", .elements = 2, .backward_s = 0.5},
                                  {.name = "c", .elements = 1, .backward_s = 0.25}};
    struct gw_model model = {.name = "m",
                             .bytes_per_element = 4,
                             .forward_s = 2,
                             .update_s = 0.125,
                             .tensor_count = 3,
                             .tensors = tensors};
    struct gw_curve compress = {.fixed_s = 0.5, .per_unit_s = 0.25};
    struct gw_curve exchange = {.fixed_s = 1, .per_unit_s = 0.125};
    struct gw_costs dense = {.model = &model,
                             .way.compressor = &gw_compressor_none,
                             .exchange = exchange,
                             .way.density = 0.5};
    struct gw_costs sparse = dense;
    sparse.way.compressor = &gw_compressor_topk;
    sparse.compress = compress;
    const struct gw_group pairs[] = {{2, 1}, {0, 0}};
    const struct gw_group alone[] = {{2, 2}, {1, 1}, {0, 0}};
    const struct gw_group all[] = {{2, 0}};
    assert_int_equal(gw_costs_bytes(&dense, 3), 12);
    assert_int_equal(gw_costs_bytes(&sparse, 3), 8);
    assert_int_equal(gw_costs_bytes(&sparse, 6), 24);
    assert_true(near(gw_costs_compress_s(&dense, 6), 0, 0));
    /* dense: C = 2.75, T = 2.75 + 2.5; C = 3.75, T = 5.25 + 2.5 */
    assert_true(near(gw_plan_iteration_s(&dense, pairs, 2), 7.75 + 0.125, 0));
    assert_true(near(gw_plan_iteration_s(&dense, all, 1), 3.75 + 4 + 0.125, 0));
    /* sparse: C = 2.25 + 0.75, T = 5; C = 3.5 + 1, T = 7; C = 5.5 + 1.25, T = 9 */
    assert_true(near(gw_plan_iteration_s(&sparse, alone, 3), 9 + 0.125, 0));
    /* sparse: C = 3.75 + 2, T = 5.75 + 1 + 3 */
    assert_true(near(gw_plan_iteration_s(&sparse, all, 1), 9.75 + 0.125, 0));
}

/* ---- policies as a user writes them -------------------------------------------------------- */

TEST(good_policies_are_parsed) {
    const struct {
        const char *text, *name;
        uint64_t argument;
    } table[] = {{"per-tensor", "per-tensor", 0},
                 {"single", "single", 0},
                 {"threshold:8192", "threshold", 8192},
                 {"threshold:1", "threshold", 1},
                 {"threshold:8k", "threshold", 8000},
                 {"threshold:8Ki", "threshold", 8192},
                 {"bucket:8k", "bucket", 8000},
                 {"bucket:1.5MiB", "bucket", 3 << 19},
                 {"bucket:00010", "bucket", 10},
                 {"bucket:9007199254740992", "bucket", UINT64_C(1) << 53},
                 {"ddp", "ddp", 25 << 20},
                 {"ddp:35MiB", "ddp", 35 << 20},
                 {"mg-wfbp", "mg-wfbp", 0},
                 {"omgs", "omgs", 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct gw_policy *policy = NULL;
        uint64_t argument = 0;
        assert_ok(gw_policy_parse(table[i].text, &policy, &argument, &error));
        assert_string_equal(policy->name, table[i].name);
        assert_true(argument == table[i].argument);
    }
}

TEST(bad_policies_are_refused) {
    const char *elements = "threshold:N with N a positive number of elements, such as 8192 or 8k";
    const char *bytes = "bucket:N with N a positive number of bytes, such as 25MiB";
    const char *cap = "ddp or ddp:N with N a positive number of bytes, such as 25MiB";
    const char *table[][2] = {{"threshold", elements},
                              {"threshold:", elements},
                              {"threshold:0", elements},
                              {"threshold:-1", elements},
                              {"threshold:+1", elements},
                              {"threshold: 1", elements},
                              {"threshold:1kB", elements},
                              {"threshold:1.5", elements},
                              {"threshold:8192:2", elements},
                              {"threshold:9007199254740993", elements},
                              {"bucket:18446744073709551617", bytes},
                              {"bucket", bytes},
                              {"omgs:3", "omgs without a number"},
                              {"ddp:", cap},
                              {"ddp:0", cap},
                              {"ddp:25MB/s", cap},
                              {"", NULL},
                              {":", NULL},
                              {"omg", NULL},
                              {"omgss", NULL},
                              {"OMGS", NULL},
                              {" omgs", NULL},
                              {"thres:1", NULL}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct gw_policy *policy = NULL;
        uint64_t argument = 0;
        char message[sizeof error.message];
        char names[256] = "one of ";
        for (size_t p = 0; gw_policies[p].name != NULL; p++) {
            char form[GW_POLICY_FORM_SIZE];
            (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                           p == 0 ? "" : ", ", gw_policy_form(&gw_policies[p], form));
        }
        (void)snprintf(message, sizeof message, "policy: expected %s; got \"%s\"",
                       table[i][1] == NULL ? names : table[i][1], table[i][0]);
        assert_int_equal(gw_policy_parse(table[i][0], &policy, &argument, &error), GW_BAD_INPUT);
        assert_string_equal(error.message, message);
    }
}

TEST(huge_tensors_do_not_overflow) {
    struct planning_case x = {
        .tensors = {{"a", UINT64_C(1) << 50, 0}, {"b", UINT64_C(1) << 50, 1}}};
    x.model = (struct gw_model){
        .name = "huge", .bytes_per_element = 4, .tensor_count = 2, .tensors = x.tensors};
    x.costs = (struct gw_costs){.model = &x.model,
                                .workers = 2,
                                .way.density = 1,
                                .compress = {.per_unit_s = 0x1p-50},
                                .exchange = {.fixed_s = 1, .per_unit_s = 0x1p-50}};
    for (size_t i = 0; i < 10; i++) {
        static const char *const policies[] = {"per-tensor", "threshold:1125899906842624", "single",
                                               "threshold:1125899906842625", "optimal"};
        const double expected[2][2] = {{1 + 5 + 5, 1 + 9}, {2 + 9 + 9, 3 + 17}};
        size_t sparse = i % 2;
        struct gw_plan made;
        x.costs.way.compressor = sparse ? &gw_compressor_topk : &gw_compressor_none;
        assert_ok(gw_planner_plan(&x.costs, policies[i / 2], &made, &error));
        assert_true(near(made.iteration_s, expected[sparse][i >= 4], 0));
        assert_true(i >= 8 || made.group_count == (i < 4 ? 2 : 1));
        assert_true(made.lower_bound_s <= expected[sparse][1]);
        gw_plan_free(&made);
    }
}
