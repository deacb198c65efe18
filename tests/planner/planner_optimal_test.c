/*
 * The optimal plan against all plans, where there are few enough to try, and against every other
 * policy where there are not.
 */
#include "planner/planner.h"
#include "tests/test.h"

#include "tests/planner/planner_cases.h"

static void check_optimal(const struct planning_case *x, double best_s, int trial) {
    struct gw_plan plan;
    struct gw_error error = {0};
    assert_ok(gw_planner_plan(&x->costs, "optimal", &plan, &error));
    if (!(fabs(plan.iteration_s - best_s) <= 1e-12 * best_s)) {
        fail_msg("trial %d, %zu tensors: %.17g, but the best of all plans takes %.17g", trial,
                 x->model.tensor_count, plan.iteration_s, best_s);
    }
    assert_true(plan.lower_bound_s == plan.iteration_s);
    assert_int_equal(plan.note_count, 0);
    assert_ok(gw_plan_check(&plan, &x->model, "plan", &error));
    gw_plan_free(&plan);
}

/* Other plans have the optimum as their bound, if it is known. */
static void check_bound(const struct planning_case *x, double best_s) {
    struct gw_optimum optimum;
    assert_ok(gw_planner_optimum(&(struct gw_mix){.costs = &x->costs, .count = 1}, &optimum, NULL));
    for (int beside = 0; beside < 2; beside++) {
        struct gw_plan plan;
        assert_ok(
            gw_planner_plan_beside(&x->costs, "per-tensor", beside ? &optimum : NULL, &plan, NULL));
        assert_true(beside ? near(plan.lower_bound_s, best_s, 1e-12) : plan.lower_bound_s == 0);
        assert_true(plan.lower_bound_s <= plan.iteration_s);
        gw_plan_free(&plan);
    }
    gw_optimum_free(&optimum);
}

/* Every shape of the compressor's curve, and dense exchange, with every shape of the exchange's. */
TEST(optimal_plans_match_brute_force) {
    struct gw_random *random = random_stream(1);
    enum { shape_pairs = (shape_count + 1) * shape_count, trials = 100 * shape_pairs };
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct planning_case x;
        size_t tensor_count = 1 + gw_random_below(random, trial / shape_pairs % 10 == 0 ? 14 : 9);
        int compress = trial % shape_pairs / shape_count;
        int exchange = trial % shape_count;
        make_shaped_case(random, tensor_count, compress == shape_count, (enum shape)compress,
                         (enum shape)exchange, &x);
        double best_s = best_of_all_plans(&x);
        check_optimal(&x, best_s, trial);
        check_bound(&x, best_s);
    }
}

/* Ties are exact on the grid. */
TEST(optimal_plans_match_brute_force_on_the_grid) {
    struct gw_random *random = random_stream(4);
    for (int trial = 0; trial < gw_trials(2000); trial++) {
        struct planning_case x;
        size_t tensor_count = 1 + gw_random_below(random, trial % 10 == 0 ? 14 : 9);
        make_grid_case(random, tensor_count, trial % 2 == 0, &x);
        check_optimal(&x, best_of_all_plans(&x), trial);
    }
}

/* The fewest groups of all plans that take the least time; both exact on the grid. */
static size_t fewest_groups(const struct planning_case *x, double best_s) {
    size_t tensor_count = x->model.tensor_count;
    size_t fewest = tensor_count;
    for (size_t plan = 0; plan < (size_t)1 << tensor_count; plan += 2) {
        struct gw_group groups[most_tensors];
        size_t count = groups_of_number(plan, tensor_count, groups);
        if (count < fewest && gw_plan_iteration_s(&x->costs, groups, count) == best_s) {
            fewest = count;
        }
    }
    return fewest;
}

TEST(optimal_takes_the_fewest_groups_of_equal_plans) {
    struct gw_random *random = random_stream(5);
    for (int trial = 0; trial < gw_trials(3000); trial++) {
        struct planning_case x;
        struct gw_plan plan;
        size_t tensor_count = 1 + gw_random_below(random, trial % 10 == 0 ? 12 : 8);
        make_grid_case(random, tensor_count, trial % 2 == 0, &x);
        assert_ok(gw_planner_plan(&x.costs, "optimal", &plan, NULL));
        size_t fewest = fewest_groups(&x, plan.iteration_s);
        if (plan.group_count != fewest) {
            fail_msg("trial %d, %zu tensors: %zu groups, but %zu take no longer", trial,
                     tensor_count, plan.group_count, fewest);
        }
        gw_plan_free(&plan);
    }
}

TEST(optimal_is_at_least_as_fast_as_every_policy) {
    struct gw_random *random = random_stream(2);
    for (int trial = 0; trial < gw_trials(1000); trial++) {
        struct planning_case x;
        struct gw_optimum optimum;
        size_t largest = trial % 5 == 0 ? most_tensors : usual_tensors;
        make_case(random, 10 + gw_random_below(random, largest - 9), &x);
        assert_ok(
            gw_planner_optimum(&(struct gw_mix){.costs = &x.costs, .count = 1}, &optimum, NULL));
        for (size_t i = 0; gw_policies[i].name != NULL; i++) {
            char text[64];
            struct gw_plan plan;
            (void)snprintf(text, sizeof text, gw_policies[i].argument == NULL ? "%s" : "%s:1000",
                           gw_policies[i].name);
            assert_ok(gw_planner_plan_beside(&x.costs, text, NULL, &plan, NULL));
            if (!(optimum.iteration_s <= plan.iteration_s * (1 + 1e-12))) {
                fail_msg("trial %d: optimal takes %.17g, %s %.17g", trial, optimum.iteration_s,
                         text, plan.iteration_s);
            }
            gw_plan_free(&plan);
        }
        gw_optimum_free(&optimum);
    }
}

/*
 * The optimum by fronts that nothing prunes: at each position, every (compression so far,
 * communication clock) that no other is at least as good as. NAN when there are too many.
 */
struct state {
    double compress_s, clock_s;
};

enum { most_states = 4000 };

struct plain_front {
    size_t count;
    struct state states[most_states];
};

/* Returns whether there was room. */
static bool add_state(struct plain_front *front, struct state new) {
    size_t kept = 0;
    for (size_t i = 0; i < front->count; i++) {
        struct state old = front->states[i];
        if (old.compress_s <= new.compress_s && old.clock_s <= new.clock_s) {
            return true; /* nothing has been moved: what is dominated cannot dominate */
        }
    }
    for (size_t i = 0; i < front->count; i++) {
        struct state old = front->states[i];
        if (!(new.compress_s <= old.compress_s &&new.clock_s <= old.clock_s)) {
            front->states[kept++] = old;
        }
    }
    front->count = kept;
    if (kept == most_states) {
        return false;
    }
    front->states[front->count++] = new;
    return true;
}

static double optimum_by_plain_fronts(const struct planning_case *x, struct plain_front *fronts) {
    size_t count = x->model.tensor_count;
    double ready_s = x->model.forward_s;
    fronts[0] = (struct plain_front){.count = 1};
    for (size_t q = 1; q <= count; q++) {
        uint64_t n = 0;
        fronts[q].count = 0;
        ready_s += x->tensors[count - q].backward_s;
        for (size_t p = q; p-- > 0;) {
            n += x->tensors[count - 1 - p].elements;
            double compress_s = gw_costs_compress_s(&x->costs, n);
            double exchange_s =
                gw_costs_exchange_s(&x->costs, &(struct gw_size){.elements = n, .tensors = 1});
            for (size_t i = 0; i < fronts[p].count; i++) {
                struct state next = {.compress_s = fronts[p].states[i].compress_s + compress_s};
                next.clock_s =
                    exchange_s + fmax(fronts[p].states[i].clock_s, ready_s + next.compress_s);
                if (!add_state(&fronts[q], next)) {
                    return NAN;
                }
            }
        }
    }
    double best_s = INFINITY;
    for (size_t i = 0; i < fronts[count].count; i++) {
        best_s = fmin(best_s, fronts[count].states[i].clock_s);
    }
    return best_s + x->model.update_s;
}

TEST(fronts_without_pruning_agree) {
    enum { trials = 150, largest = 70 };
    struct gw_random *random = random_stream(6);
    struct plain_front *fronts = malloc((largest + 1) * sizeof *fronts);
    size_t compared = 0;
    assert_non_null(fronts);
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct planning_case x;
        make_case(random, 15 + gw_random_below(random, largest - 14), &x);
        double best_s = optimum_by_plain_fronts(&x, fronts);
        if (!isnan(best_s)) {
            check_optimal(&x, best_s, trial);
            compared++;
        }
    }
    print_message("compared with plain fronts in %zu of %d cases\n", compared, gw_trials(trials));
    assert_true((int)compared > gw_trials(trials) / 2);
    free(fronts);
}

/* OMGS paper, Theorem 1 claims the greedy plan to be the best; three tensors show that it is not.
 */
TEST(the_greedy_choice_can_miss) {
    struct gw_random *random = random_stream(3);
    size_t missed = 0;
    enum { trials = 1000 };
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct planning_case x;
        struct gw_plan optimal;
        struct gw_plan omgs;
        make_case(random, 3 + gw_random_below(random, 6), &x);
        assert_ok(gw_planner_plan(&x.costs, "optimal", &optimal, NULL));
        assert_ok(gw_planner_plan(&x.costs, "omgs", &omgs, NULL));
        missed += omgs.iteration_s > optimal.iteration_s * (1 + 1e-9);
        gw_plan_free(&optimal);
        gw_plan_free(&omgs);
    }
    print_message("Algorithm 1 misses the optimum in %zu of %d cases\n", missed, gw_trials(trials));
    assert_true((int)missed > gw_trials(trials) / 20);
}

TEST(extreme_inputs_are_planned) {
    struct gw_tensor tensors[50];
    struct gw_curve zero = {0};
    struct gw_curve startup = {.fixed_s = 1e6};
    struct gw_curve slope = {.per_unit_s = 1e-3};
    const struct gw_curve exchanges[] = {zero, startup, slope};
    const struct gw_curve compressors[] = {zero, zero, startup, slope};
    for (size_t i = 0; i < 50; i++) {
        tensors[i] = (struct gw_tensor){.elements = i == 7 ? UINT64_C(1) << 50 : 1,
                                        .backward_s = i % 3 == 0 ? 0 : 1e-3};
    }
    struct gw_model model = {
        .name = "extreme", .bytes_per_element = 4, .tensor_count = 50, .tensors = tensors};
    for (size_t c = 0; c < 4; c++) {
        for (size_t e = 0; e < 3; e++) {
            struct gw_costs costs = {.model = &model,
                                     .workers = 2,
                                     .way.compressor =
                                         c == 0 ? &gw_compressor_none : &gw_compressor_topk,
                                     .way.density = 0.001,
                                     .compress = compressors[c],
                                     .exchange = exchanges[e]};
            struct gw_plan plan;
            assert_ok(gw_planner_plan(&costs, "optimal", &plan, NULL));
            assert_true(isfinite(plan.iteration_s));
            assert_true(plan.lower_bound_s == plan.iteration_s);
            gw_plan_free(&plan);
        }
    }
}

/* Merging costs nothing here, in sums with rounding. */
TEST(groups_that_cost_no_more_are_merged) {
    struct gw_random *random = random_stream(6);
    for (int trial = 0; trial < gw_trials(2000); trial++) {
        struct planning_case x;
        struct gw_plan plan;
        make_shaped_case(random, 1 + gw_random_below(random, usual_tensors), false, shape_slope,
                         shape_free, &x);
        assert_ok(gw_planner_plan(&x.costs, "optimal", &plan, NULL));
        if (plan.group_count != 1) {
            fail_msg("trial %d: %zu groups of %zu tensors, where one takes no longer", trial,
                     plan.group_count, x.model.tensor_count);
        }
        gw_plan_free(&plan);
    }
}

/* A model of equal tensors, of which `burst` at a time are ready, every `period_s`. */
static struct gw_tensor *make_bursts(size_t tensor_count, size_t burst, double period_s) {
    struct gw_tensor *tensors = calloc(tensor_count, sizeof *tensors);
    assert_non_null(tensors);
    for (size_t p = 0; p < tensor_count; p++) {
        tensors[tensor_count - 1 - p] =
            (struct gw_tensor){.elements = 1000, .backward_s = p % burst == 0 ? period_s : 0};
    }
    return tensors;
}

/* The time of a plan of groups of so many tensors. */
static double groups_of_some_s(const struct gw_costs *costs, size_t size) {
    size_t tensor_count = costs->model->tensor_count;
    size_t count = 0;
    struct gw_group *groups = calloc(tensor_count, sizeof *groups);
    assert_non_null(groups);
    for (size_t end = tensor_count; end > 0;) {
        size_t last = end > size ? end - size : 0;
        groups[count++] = (struct gw_group){.first = end - 1, .last = last};
        end = last;
    }
    double time_s = gw_plan_iteration_s(costs, groups, count);
    free(groups);
    return time_s;
}

/* A network that is just busy all the time: thousands of groups none of which may be late. */
TEST(long_chains_are_exact) {
    enum { tensor_count = 100000 };
    struct gw_random *random = random_stream(7);
    for (int trial = 0; trial < 20; trial++) {
        size_t burst = 2 + gw_random_below(random, 3);
        double alpha_s = power_between(random, 1e-3, 0.1);
        double transfer_s = alpha_s * between(random, 0.05, 1.05);
        double late = 0.3 * (double)burst * transfer_s * gw_random_uniform(random) / tensor_count;
        struct gw_tensor *tensors =
            make_bursts(tensor_count, burst, alpha_s + (double)burst * transfer_s - late);
        struct gw_model model = {.name = "bursts",
                                 .bytes_per_element = 4,
                                 .tensor_count = tensor_count,
                                 .tensors = tensors};
        struct gw_curve exchange = {.fixed_s = alpha_s, .per_unit_s = transfer_s / 4000};
        struct gw_costs costs = {.model = &model,
                                 .workers = 4,
                                 .way.compressor = &gw_compressor_none,
                                 .exchange = exchange};
        struct gw_optimum optimum;
        assert_ok(
            gw_planner_optimum(&(struct gw_mix){.costs = &costs, .count = 1}, &optimum, NULL));
        assert_true(optimum.lower_bound_s == optimum.iteration_s);
        for (size_t size = 1; size <= 8 * burst; size++) {
            double time_s = groups_of_some_s(&costs, size);
            if (optimum.iteration_s > time_s * (1 + 1e-11)) {
                fail_msg("trial %d: %.17g, but groups of %zu take %.17g", trial,
                         optimum.iteration_s, size, time_s);
            }
        }
        gw_optimum_free(&optimum);
        free(tensors);
    }
}

/* With more tensors than are searched, the best of the other policies, and a note. */
TEST(a_search_cut_short_says_so) {
    enum { tensor_count = 50001 };
    struct gw_tensor *tensors = make_bursts(tensor_count, 3, 2e-5);
    struct gw_model model = {
        .name = "bursts", .bytes_per_element = 4, .tensor_count = tensor_count, .tensors = tensors};
    struct gw_curve compress = {.per_nlog2n_s = 2e-10};
    struct gw_curve exchange = {.fixed_s = 1e-3, .per_unit_s = 1e-9};
    struct gw_costs costs = {.model = &model,
                             .workers = 4,
                             .way.compressor = &gw_compressor_topk,
                             .way.density = 0.01,
                             .compress = compress,
                             .exchange = exchange};
    struct gw_optimum optimum;
    struct gw_plan plan;
    assert_ok(gw_planner_optimum(&(struct gw_mix){.costs = &costs, .count = 1}, &optimum, NULL));
    assert_true(optimum.lower_bound_s < optimum.iteration_s);
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        char text[64];
        bool numbered = gw_policies[i].argument != NULL;
        snprintf(text, sizeof text, numbered ? "%s:%llu" : "%s", gw_policies[i].name,
                 (unsigned long long)gw_policies[i].default_argument);
        assert_ok(gw_planner_plan_beside(&costs, text, &optimum, &plan, NULL));
        assert_true(plan.iteration_s >= optimum.iteration_s);
        assert_true(plan.lower_bound_s == optimum.lower_bound_s);
        assert_int_equal(plan.note_count, 1);
        const char *says = strstr(plan.notes[0], "cut short: it is at most ");
        assert_non_null(says);
        double percent = strtod(says + strlen("cut short: it is at most "), NULL);
        assert_true(near(percent, 100 * (1 - plan.lower_bound_s / plan.iteration_s), 0.01));
        gw_plan_free(&plan);
    }
    gw_optimum_free(&optimum);
    free(tensors);
}
