/*
 * Plans whose groups each travel by one of several choices: against all merges x choices, where
 * there are few enough to try, and against labels that nothing prunes but dominance beyond.
 */
#include "planner/planner.h"
#include "tests/test.h"

#include "tests/planner/planner_cases.h"

enum { most_choices = 4 };

/* Choices that share the first one's model. */
struct mixed_case {
    struct planning_case cases[most_choices];
    struct gw_costs costs[most_choices];
    double lost[most_choices * most_tensors];
    struct gw_mix choices;
};

/* Every tensor loses some of its share of the energy, which is even or left to chance. */
static void lose_energy(struct gw_random *random, struct mixed_case *out) {
    size_t count = out->cases[0].model.tensor_count;
    bool even = gw_random_below(random, 2) == 0;
    for (size_t k = 0; k < out->choices.count; k++) {
        double share = k == 0 ? 0 : gw_random_uniform(random);
        for (size_t i = 0; i < count; i++) {
            double part = even ? share : share * gw_random_uniform(random);
            out->lost[k * count + i] = part / (double)count;
        }
    }
    out->choices.lost = out->lost;
}

/* Makes a choice's costs like the first one's, the more compression the less exchange. */
static void trade_costs(struct gw_random *random, const struct planning_case *first,
                        struct planning_case *out) {
    double factor = power_between(random, 0.03, 1);
    double elements = (double)gw_model_elements(&first->model);
    double exchange_s = gw_costs_exchange_s(
        &first->costs,
        &(struct gw_size){.elements = gw_model_elements(&first->model), .tensors = 1});
    double bytes = (double)gw_costs_bytes(&out->costs, gw_model_elements(&first->model));
    out->costs.exchange =
        (struct gw_curve){.fixed_s = 0.01 * exchange_s * gw_random_uniform(random),
                          .per_unit_s = factor * exchange_s / bytes};
    out->costs.compress = (struct gw_curve){.per_unit_s = (1 - factor) * exchange_s *
                                                          gw_random_uniform(random) / elements};
}

static void make_mixed_case(struct gw_random *random, size_t tensor_count, size_t choice_count,
                            struct mixed_case *out) {
    out->choices =
        (struct gw_mix){.costs = out->costs, .count = choice_count, .most_lost = INFINITY};
    bool on_grid = gw_random_below(random, 4) == 0;
    bool near = gw_random_below(random, 2) == 0;
    for (size_t k = 0; k < choice_count; k++) {
        struct planning_case *x = &out->cases[k];
        bool dense = gw_random_below(random, 3) == 0;
        if (on_grid) {
            make_grid_case(random, tensor_count, dense, x);
        } else {
            enum shape compress = (enum shape)gw_random_below(random, shape_any_points);
            enum shape exchange = (enum shape)gw_random_below(random, shape_count);
            make_shaped_case(random, tensor_count, dense, compress, exchange, x);
        }
        if (near && k > 0) {
            trade_costs(random, &out->cases[0], x);
        }
        out->costs[k] = x->costs;
        out->costs[k].model = &out->cases[0].model;
    }
    lose_energy(random, out);
}

/* ---- all merges x choices ------------------------------------------------------------------ */

struct best {
    double exchanged_s, lost;
};

/* Costs of the groups between two positions by each choice, [from][to][choice]. */
struct table {
    const struct mixed_case *x;
    double ready_s[most_tensors + 1];
    double compress_s[10][10][most_choices], exchange_s[10][10][most_choices];
    double lost[10][10][most_choices];
};

static void fill_table(const struct mixed_case *x, struct table *out) {
    size_t count = x->cases[0].model.tensor_count;
    out->x = x;
    out->ready_s[0] = x->cases[0].model.forward_s;
    for (size_t p = 0; p < count; p++) {
        uint64_t n = 0;
        double lost[most_choices] = {0};
        out->ready_s[p + 1] = out->ready_s[p] + x->cases[0].tensors[count - 1 - p].backward_s;
        for (size_t q = p + 1; q <= count; q++) {
            n += x->cases[0].tensors[count - q].elements;
            for (size_t k = 0; k < x->choices.count; k++) {
                lost[k] += x->lost[k * count + count - q];
                out->compress_s[p][q][k] = gw_costs_compress_s(&x->costs[k], n);
                out->exchange_s[p][q][k] = gw_costs_exchange_s(
                    &x->costs[k], &(struct gw_size){.elements = n, .tensors = q - p});
                out->lost[p][q][k] = lost[k];
            }
        }
    }
}

/* Goes on with every group by every choice. `slack`: share by which times count as equal. */
static void try_all(const struct table *x, size_t from, double compress_s, double clock_s,
                    double lost, double slack, double most_lost, struct best *best) {
    size_t count = x->x->cases[0].model.tensor_count;
    if (from == count) {
        double limit = best->exchanged_s;
        if (lost <= most_lost && (clock_s < limit * (1 - slack) ||
                                  (clock_s <= limit * (1 + slack) && lost < best->lost))) {
            *best = (struct best){fmin(clock_s, limit), lost};
        }
        return;
    }
    for (size_t to = from + 1; to <= count; to++) {
        for (size_t k = 0; k < x->x->choices.count; k++) {
            double compressed_s = compress_s + x->compress_s[from][to][k];
            double ended_s =
                fmax(clock_s, x->ready_s[to] + compressed_s) + x->exchange_s[from][to][k];
            if (ended_s <= best->exchanged_s * (1 + slack)) {
                try_all(x, to, compressed_s, ended_s, lost + x->lost[from][to][k], slack, most_lost,
                        best);
            }
        }
    }
}

/* The time and the energy lost of the marked plan, by the definition. */
static void check_marks(const struct mixed_case *x, const struct gw_optimum *found) {
    size_t count = x->cases[0].model.tensor_count;
    long double compute_s = x->cases[0].model.forward_s;
    long double clock_s = 0;
    double lost = 0;
    assert_true(found->marks[0] > 0);
    for (size_t first = count; first-- > 0;) {
        uint64_t n = 0;
        size_t last = first;
        for (;; last--) {
            n += x->cases[0].tensors[last].elements;
            compute_s += x->cases[0].tensors[last].backward_s;
            if (found->marks[last] > 0) {
                break;
            }
        }
        size_t k = found->marks[last] - 1;
        assert_true(k < x->choices.count);
        compute_s += gw_costs_compress_s(&x->costs[k], n);
        clock_s = fmaxl(clock_s, compute_s) +
                  gw_costs_exchange_s(
                      &x->costs[k], &(struct gw_size){.elements = n, .tensors = first - last + 1});
        for (size_t i = last; i <= first; i++) {
            lost += x->lost[k * count + i];
        }
        first = last;
    }
    assert_true(near(found->iteration_s, (double)clock_s + x->cases[0].model.update_s, 1e-12));
    assert_true(fabs(found->lost - lost) <= 1e-12);
}

/* Share by which a small plan may miss the best where the labels' smallest cells leave a gap, and
 * by which it may miss its bound. */
static const double largest_miss = 1e-5;
static const double largest_gap = 1e-2;

/* The bound holds for the best plan, and the plan found is near both. */
static void check_optimum(int trial, const struct gw_optimum *found, double best_s) {
    if (!(found->lower_bound_s <= best_s * (1 + 2e-9) &&
          found->iteration_s >= best_s * (1 - 2e-9) &&
          found->iteration_s <= best_s * (1 + largest_miss) &&
          found->iteration_s <= found->lower_bound_s * (1 + largest_gap))) {
        fail_msg("trial %d: %.17g with the bound %.17g, but the best takes %.17g", trial,
                 found->iteration_s, found->lower_bound_s, best_s);
    }
}

static size_t number_of_choices(int trial) {
    return 1 + (size_t)trial % most_choices;
}

TEST(mixed_plans_match_brute_force) {
    struct gw_random *random = random_stream(11);
    static struct mixed_case x;
    static struct table table;
    size_t mixed = 0;
    for (int trial = 0; trial < gw_trials(8000); trial++) {
        size_t choices = number_of_choices(trial);
        size_t tensor_count = 1 + gw_random_below(random, trial % 40 == 0 ? 9 : 6);
        make_mixed_case(random, tensor_count, choices, &x);
        fill_table(&x, &table);
        struct best best = {INFINITY, INFINITY};
        struct gw_optimum found;
        try_all(&table, 0, 0, 0, 0, 1e-13, INFINITY, &best);
        assert_ok(gw_planner_optimum(&x.choices, &found, NULL));
        double update_s = x.cases[0].model.update_s;
        if (!(fabs(found.iteration_s - best.exchanged_s - update_s) <=
              2e-9 * (best.exchanged_s + update_s))) {
            fail_msg("trial %d, %zu tensors, %zu choices: %.17g, but the best takes %.17g", trial,
                     tensor_count, choices, found.iteration_s, best.exchanged_s + update_s);
        }
        if (!(found.lost <= best.lost + 1e-4)) {
            fail_msg("trial %d, %zu tensors, %zu choices: loses %.9g, where %.9g takes no longer",
                     trial, tensor_count, choices, found.lost, best.lost);
        }
        assert_true(found.lower_bound_s == found.iteration_s);
        check_marks(&x, &found);
        for (size_t i = 1; i < tensor_count; i++) {
            mixed += found.marks[i] > 0 && found.marks[i] != found.marks[0];
        }
        gw_optimum_free(&found);
    }
    print_message("%zu groups travel otherwise than their plan's last one\n", mixed);
    assert_true(mixed > 0);
}

/* A budget between what the least and the most lossy plan lose. */
TEST(budgets_match_brute_force) {
    struct gw_random *random = random_stream(13);
    static struct mixed_case x;
    static struct table table;
    int refused = 0;
    for (int trial = 0; trial < gw_trials(4000); trial++) {
        struct best best = {INFINITY, INFINITY};
        struct gw_optimum found;
        struct gw_error error = {0};
        size_t tensor_count = 1 + gw_random_below(random, trial % 40 == 0 ? 9 : 6);
        make_mixed_case(random, tensor_count, 2 + (size_t)trial % 3, &x);
        fill_table(&x, &table);
        x.choices.most_lost = power_between(random, 1e-3, 0.5);
        bool lossless = gw_random_below(random, 2) == 0;
        for (size_t i = 0; !lossless && i < tensor_count; i++) {
            x.lost[i] = gw_random_uniform(random) / (double)tensor_count;
        }
        fill_table(&x, &table);
        try_all(&table, 0, 0, 0, 0, 1e-13, x.choices.most_lost, &best);
        enum gw_status status = gw_planner_optimum(&x.choices, &found, &error);
        if (isinf(best.exchanged_s)) {
            assert_int_equal(status, GW_BAD_INPUT);
            assert_non_null(strstr(error.message, "energy kept: expected at most"));
            refused++;
            continue;
        }
        assert_ok(status);
        double best_s = best.exchanged_s + x.cases[0].model.update_s;
        check_marks(&x, &found);
        assert_true(found.lost <= x.choices.most_lost);
        check_optimum(trial, &found, best_s);
        gw_optimum_free(&found);
    }
    print_message("%d of %d cases have a plan within their budget\n", gw_trials(4000) - refused,
                  gw_trials(4000));
}

/* ---- dominance alone ----------------------------------------------------------------------- */

enum { most_labels = 3000, most_positions = 45 };

struct label {
    double compress_s, clock_s;
    double lost; /* 0: plans may lose any */
};

struct labels {
    size_t count;
    struct label at[most_labels];
};

/* Returns whether there was room. */
static bool add_label(struct labels *labels, struct label new) {
    size_t kept = 0;
    for (size_t i = 0; i < labels->count; i++) {
        if (labels->at[i].compress_s <= new.compress_s && labels->at[i].clock_s <= new.clock_s &&
            labels->at[i].lost <= new.lost) {
            return true; /* nothing has been moved: what is dominated cannot dominate */
        }
    }
    for (size_t i = 0; i < labels->count; i++) {
        if (labels->at[i].compress_s < new.compress_s || labels->at[i].clock_s < new.clock_s ||
            labels->at[i].lost < new.lost) {
            labels->at[kept++] = labels->at[i];
        }
    }
    labels->count = kept;
    if (kept == most_labels) {
        return false;
    }
    labels->at[labels->count++] = new;
    return true;
}

/* NAN where there were too many labels. */
static double optimum_by_labels(const struct mixed_case *x, struct labels *labels) {
    size_t count = x->cases[0].model.tensor_count;
    double ready_s = x->cases[0].model.forward_s;
    labels[0] = (struct labels){.count = 1};
    for (size_t q = 1; q <= count; q++) {
        uint64_t n = 0;
        double lost[most_choices] = {0};
        labels[q].count = 0;
        ready_s += x->cases[0].tensors[count - q].backward_s;
        for (size_t p = q; p-- > 0;) {
            n += x->cases[0].tensors[count - 1 - p].elements;
            for (size_t k = 0; k < x->choices.count; k++) {
                double compress_s = gw_costs_compress_s(&x->costs[k], n);
                double exchange_s = gw_costs_exchange_s(
                    &x->costs[k], &(struct gw_size){.elements = n, .tensors = q - p});
                lost[k] += isinf(x->choices.most_lost) ? 0 : x->lost[k * count + count - 1 - p];
                for (size_t i = 0; i < labels[p].count; i++) {
                    struct label next = {.compress_s = labels[p].at[i].compress_s + compress_s,
                                         .lost = labels[p].at[i].lost + lost[k]};
                    next.clock_s =
                        exchange_s + fmax(labels[p].at[i].clock_s, ready_s + next.compress_s);
                    if (next.lost <= x->choices.most_lost && !add_label(&labels[q], next)) {
                        return NAN;
                    }
                }
            }
        }
    }
    double best_s = INFINITY;
    for (size_t i = 0; i < labels[count].count; i++) {
        best_s = fmin(best_s, labels[count].at[i].clock_s);
    }
    return best_s + x->cases[0].model.update_s;
}

/* Compares `trials` plans of 10 to `longest` tensors; `budget`: they may not lose any energy. */
static void compare_with_labels(uint64_t stream, int trials, size_t longest, bool budget) {
    struct gw_random *random = random_stream(stream);
    static struct mixed_case x;
    struct labels *labels = malloc((most_positions + 1) * sizeof *labels);
    size_t compared = 0;
    assert_non_null(labels);
    for (int trial = 0; trial < trials; trial++) {
        size_t tensor_count = 10 + gw_random_below(random, longest - 9);
        make_mixed_case(random, tensor_count, 2 + (size_t)trial % 3, &x);
        if (budget) {
            x.choices.most_lost = power_between(random, 1e-2, 0.5);
        }
        double best_s = optimum_by_labels(&x, labels);
        struct gw_optimum found;
        assert_ok(gw_planner_optimum(&x.choices, &found, NULL));
        check_marks(&x, &found);
        assert_true(found.lost <= x.choices.most_lost);
        if (!isnan(best_s)) {
            compared++;
            check_optimum(trial, &found, best_s);
            assert_true(budget || found.lower_bound_s == found.iteration_s);
        }
        gw_optimum_free(&found);
    }
    print_message("compared with labels in %zu of %d cases\n", compared, trials);
    assert_true((int)compared > trials / 2);
    free(labels);
}

TEST(mixed_plans_match_labels_without_bounds) {
    compare_with_labels(12, gw_trials(200), most_positions, false);
}

TEST(budgets_match_labels_without_bounds) {
    compare_with_labels(14, gw_trials(200), 20, true);
}
