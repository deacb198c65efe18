/* Costs of exchanges of several legs, and plans for them: compared with formulas, with all
 * groupings of small models, and with the simulator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/costs.h"
#include "methods/kernel_cost.h"
#include "methods/methods.h"
#include "planner/planner.h"
#include "tests/methods/exchange_definition.h"
#include "tests/sim/simulate.h"

static struct gw_error error;

enum { MOST_TENSORS = 9, MOST_POINTS = 8 };

static const char *const aggregators[] = {"scatter-add", "merge",    "give-back", "take-and-put",
                                          "sum",         "heavymix", "decode",    "decode-add",
                                          "factor",      "expand"};

static const char *const measured[] = {"allgather", "allreduce", "gather",
                                       "scatter",   "broadcast", "sendrecv"};

/* Every pair that there is, of compressors that cost the same or not. */
static const struct {
    const char *compressor, *exchange;
} pairs[] = {{"none", "allreduce"},
             {"none", "server"},
             {"topk", "allgather"},
             {"topk", "allgather-padded"},
             {"topk", "gtopk"},
             {"topk", "leader"},
             {"randk", "common-values"},
             {"gaussiank", "allgather-padded"},
             {"dgc", "allgather-padded"},
             {"hard-threshold", "allgather-padded"},
             {"count-sketch", "sketch-tree"},
             {"count-sketch", "sketch-server"},
             {"layer-drop", "layer-server"},
             {"exdyna", "union"},
             {"exdyna", "allgather-padded"}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* ---- random cases -------------------------------------------------------------------------- */

struct scene {
    struct gw_model model;
    struct gw_tensor tensors[MOST_TENSORS];
    struct gw_cluster cluster;
    struct gw_algorithm method;
    struct gw_scenario scenario;
    struct gw_costs costs;
};

static double power_between(struct gw_random *random, double low, double high) {
    return low * pow(high / low, gw_random_uniform(random));
}

/* Points rise, or do as they like; straight ones rise. */
static struct gw_curve random_curve(struct gw_random *random, bool straight, double largest) {
    struct gw_curve curve = {.fixed_s = power_between(random, 1e-4, 1e-1),
                             .per_unit_s = power_between(random, 1e-2, 1) / largest};
    if (straight) {
        return curve;
    }
    bool rising = gw_random_below(random, 2) == 0;
    size_t count = 2 + (size_t)gw_random_below(random, MOST_POINTS - 1);
    struct gw_curve_point *points = calloc(count, sizeof *points);
    double size = power_between(random, 1, largest);
    double time_s = curve.fixed_s;
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct gw_curve_point){size, rising ? time_s
                                                         : time_s * power_between(random, 0.1, 10)};
        double next = size * (1.01 + gw_random_uniform(random));
        time_s += (next - size) * curve.per_unit_s * power_between(random, 0.1, 10);
        size = next;
    }
    return (struct gw_curve){.point_count = count, .points = points};
}

static void open_model(struct scene *scene, struct gw_random *random) {
    size_t count = 1 + (size_t)gw_random_below(random, MOST_TENSORS);
    double largest = power_between(random, 4, 1e6);
    for (size_t i = 0; i < count; i++) {
        scene->tensors[i] =
            (struct gw_tensor){.name = "tensor",
                               .elements = (uint64_t)power_between(random, 1, largest),
                               .backward_s = power_between(random, 1e-4, 1)};
    }
    scene->model = (struct gw_model){.name = "random",
                                     .bytes_per_element = 4,
                                     .forward_s = gw_random_uniform(random),
                                     .update_s = gw_random_below(random, 2) == 0 ? 0 : 0.25,
                                     .tensor_count = count,
                                     .tensors = scene->tensors};
}

/* At some density sixteen times as much takes up to four times as long, or a share of it. */
static void add_denser(struct gw_kernel_costs *costs, size_t which, bool longer,
                       struct gw_random *random) {
    struct gw_kernel_cost *cost = &costs->list[which];
    double density = power_between(random, 1e-4, 0.06);
    const struct gw_kernel_curve at = {.densities = {density, 16 * density}};
    double times = longer ? 1 + 3 * gw_random_uniform(random) : power_between(random, 0.05, 1.2);
    struct gw_curve denser;
    assert_ok(gw_curve_scaled(&cost->curve, times, times, &denser, &error));
    assert_ok(
        gw_kernel_costs_add_curve(costs, cost->name, at, denser, cJSON_CreateObject(), &error));
}

static void open_scene(struct scene *scene, struct gw_random *random, size_t pair) {
    static const size_t counts[] = {2, 3, 4, 5, 8};
    size_t workers = counts[gw_random_below(random, 5)];
    *scene = (struct scene){.scenario = {.model = &scene->model,
                                         .cluster = &scene->cluster,
                                         .method = &scene->method,
                                         .workers = workers,
                                         .bandwidth = 1}};
    open_model(scene, random);
    assert_ok(gw_compressor_choose(pairs[pair].compressor, &scene->method.compressor, &error));
    scene->scenario.density = power_between(random, 1e-4, 1);
    assert_ok(gw_exchange_find(pairs[pair].exchange, &scene->method.exchange, &error));
    assert_ok(gw_cluster_create(&scene->cluster, "random", workers, 1, &error));
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    assert_non_null(overlap);
    overlap->session_s = gw_random_below(random, 2) == 0 ? 0 : 0.375;
    gw_cluster_set_overlap(&scene->cluster, overlap);
    double all = (double)gw_model_elements(&scene->model);
    bool sparse = strcmp(pairs[pair].compressor, "none") != 0;
    double largest =
        8 * fmax((double)scene->model.tensor_count, sparse ? all * scene->scenario.density : all);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        size_t ranks = i == 5 ? 2 : i == 2 || i == 3 ? workers + 1 : workers;
        struct gw_curve curve =
            random_curve(random, i >= 4 || gw_random_below(random, 2) == 0, largest);
        assert_ok(
            gw_cluster_add_collective(&scene->cluster, measured[i], ranks, curve, NULL, &error));
    }
    if (sparse) {
        struct gw_curve curve = random_curve(random, gw_random_below(random, 2) == 0, all);
        assert_ok(gw_kernel_costs_add(&scene->cluster.compressors, pairs[pair].compressor, curve,
                                      cJSON_CreateObject(), &error));
        if (gw_random_below(random, 2) == 0) {
            add_denser(&scene->cluster.compressors, 0, true, random);
        }
    }
    bool searches = scene->method.compressor->sketched && gw_random_below(random, 2) == 0;
    for (size_t i = 0; i < GW_AGGREGATOR_COUNT && (searches || gw_random_below(random, 2) == 0);
         i++) {
        struct gw_curve curve = random_curve(random, gw_random_below(random, 2) == 0, all);
        assert_ok(gw_kernel_costs_add(&scene->cluster.aggregation, aggregators[i], curve,
                                      cJSON_CreateObject(), &error));
        if (i != GW_SUM && i < GW_DECODE && (i == GW_HEAVYMIX || gw_random_below(random, 2) == 0)) {
            add_denser(&scene->cluster.aggregation, i, i == GW_HEAVYMIX, random);
        }
    }
    assert_ok(gw_costs_open(&scene->scenario, &scene->costs, &error));
}

static void close_scene(struct scene *scene) {
    gw_costs_close(&scene->costs);
    gw_cluster_free(&scene->cluster);
}

static void for_all_pairs(uint64_t stream, int repeats, void (*check)(struct scene *scene)) {
    struct gw_random *random = random_stream(stream);
    for (size_t pair = 0; pair < PAIRS; pair++) {
        for (int repeat = 0; repeat < repeats; repeat++) {
            struct scene scene;
            open_scene(&scene, random, pair);
            check(&scene);
            close_scene(&scene);
        }
    }
}

/* ---- costs --------------------------------------------------------------------------------- */

static double definition(const struct scene *scene, double elements, double layers) {
    double whole = (double)gw_model_elements(&scene->model);
    double kept = fmax(1, floor(scene->scenario.density * elements));
    const char *exchange = scene->method.exchange->name;
    if (strcmp(exchange, "allgather-padded") == 0 &&
        scene->method.compressor == &gw_compressor_exdyna) {
        kept = ceil(kept / (double)scene->scenario.workers);
    }
    return exchange_by_definition(&scene->cluster, scene->scenario.workers, exchange, elements,
                                  kept, layers, scene->model.update_s * elements / whole);
}

/*
 * Checks every group that neighbours can form: exactly the formula's cost, and at least the bound.
 */
static void check_costs(struct scene *scene) {
    double last = 0;
    for (size_t first = 0; first < scene->model.tensor_count; first++) {
        uint64_t elements = 0;
        last = 0;
        for (size_t end = first; end < scene->model.tensor_count; end++) {
            size_t tensors = end - first + 1;
            elements += scene->tensors[end].elements;
            double cost_s = gw_costs_exchange_s(
                &scene->costs, &(struct gw_size){.elements = elements, .tensors = tensors});
            double least_s = gw_curve_time(&scene->costs.exchange,
                                           (double)gw_costs_bytes(&scene->costs, elements));
            assert_true(near(cost_s, definition(scene, (double)elements, (double)tensors), 1e-9));
            assert_true(cost_s >= least_s * (1 - 1e-12));
            assert_true(!scene->costs.by_legs || least_s >= last);
            last = least_s;
        }
    }
}

TEST(costs_are_their_legs) {
    for_all_pairs(1, 1000, check_costs);
}

/* A bound of nothing would pass above: on lines, without updates, it is near what it bounds. */
TEST(bounds_are_of_use) {
    struct gw_random *random = random_stream(2);
    for (size_t pair = 0; pair < PAIRS; pair++) {
        struct scene scene;
        open_scene(&scene, random, pair);
        gw_costs_close(&scene.costs);
        scene.model.update_s = 0;
        for (size_t i = 0; i < scene.cluster.collective_count; i++) {
            gw_curve_free(&scene.cluster.collectives[i].curve);
            scene.cluster.collectives[i].curve =
                (struct gw_curve){.fixed_s = 1e-3, .per_unit_s = 1e-8};
        }
        for (size_t i = 0; i < scene.cluster.aggregation.count; i++) {
            struct gw_kernel_cost *cost = &scene.cluster.aggregation.list[i];
            gw_curve_free(&cost->curve);
            gw_curve_free(&cost->denser);
            cost->curve = (struct gw_curve){.fixed_s = 1e-4, .per_unit_s = 1e-9};
            cost->denser = cost->curve;
        }
        assert_ok(gw_costs_open(&scene.scenario, &scene.costs, &error));
        uint64_t all = gw_model_elements(&scene.model);
        double cost_s = gw_costs_exchange_s(
            &scene.costs, &(struct gw_size){.elements = all, .tensors = scene.model.tensor_count});
        double bytes = (double)gw_costs_bytes(&scene.costs, all);
        double share = strstr(pairs[pair].exchange, "sketch") != NULL ? 0.02 : 0.3;
        assert_true(gw_curve_time(&scene.costs.exchange, bytes) > share * cost_s);
        close_scene(&scene);
    }
}

/* ---- plans --------------------------------------------------------------------------------- */

static double compress_s(const struct scene *scene, double elements) {
    return gw_costs_compress(&scene->costs) ? value_of(&scene->costs.compress, elements) : 0;
}

/* An iteration whose groups end with the tensors at the ones of `number`, by the contract. */
static double iteration_of(const struct scene *scene, size_t number) {
    double compute = scene->model.forward_s;
    double communication = 0;
    double elements = 0;
    double layers = 0;
    for (size_t l = scene->model.tensor_count; l-- > 0;) {
        compute += scene->tensors[l].backward_s;
        elements += (double)scene->tensors[l].elements;
        layers++;
        if (l > 0 && (number >> l & 1) == 0) {
            continue;
        }
        compute += compress_s(scene, elements);
        communication = fmax(compute, communication) + definition(scene, elements, layers);
        elements = 0;
        layers = 0;
    }
    return communication + scene->cluster.overlap->session_s +
           (has_server_update(scene->method.exchange->name) ? 0 : scene->model.update_s);
}

/* Decides whether the open group, ready at `ready` before compression, takes in the next tensor:
 * OMGS's Q3 and Q5, or MG-WFBP's rule. `clock`: when the exchange before it ends. */
static bool joins(const struct scene *scene, bool omgs, double ready, double clock, double elements,
                  double layers, size_t next) {
    double alpha = startup_by_definition(&scene->cluster, scene->scenario.workers,
                                         scene->method.exchange->name);
    double n = (double)scene->tensors[next].elements;
    double backward = scene->tensors[next].backward_s;
    double compressed = ready + compress_s(scene, elements);
    double start = fmax(compressed, clock);
    double end = start + definition(scene, elements, layers);
    if (omgs) {
        double both = ready + backward + compress_s(scene, elements + n);
        return compressed + backward + compress_s(scene, n) < end && start + alpha > both;
    }
    return compressed + backward < end && compressed + backward - start < alpha;
}

/* A greedy policy's groups, as the ones of a number. */
static size_t greedy(const struct scene *scene, bool omgs) {
    size_t number = 0;
    double ready = scene->model.forward_s;
    double clock = 0;
    double elements = 0;
    double layers = 0;
    for (size_t l = scene->model.tensor_count; l-- > 0;) {
        ready += scene->tensors[l].backward_s;
        elements += (double)scene->tensors[l].elements;
        layers++;
        if (l == 0 || !joins(scene, omgs, ready, clock, elements, layers, l - 1)) {
            number |= (size_t)1 << l;
            ready += compress_s(scene, elements);
            clock = fmax(ready, clock) + definition(scene, elements, layers);
            elements = 0;
            layers = 0;
        }
    }
    return number;
}

static size_t number_of(const struct gw_plan *plan) {
    size_t number = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        number |= (size_t)1 << plan->groups[g].last;
    }
    return number;
}

/* The optimum is the least of all groupings; no policy is below it; each is what it says. */
static void check_plans(struct scene *scene) {
    double least_s = INFINITY;
    struct gw_optimum optimum;
    for (size_t number = 0; number < (size_t)1 << scene->model.tensor_count; number += 2) {
        least_s = fmin(least_s, iteration_of(scene, number));
    }
    assert_ok(
        gw_planner_optimum(&(struct gw_mix){.costs = &scene->costs, .count = 1}, &optimum, &error));
    assert_true(near(optimum.iteration_s, least_s, 1e-9));
    assert_true(near(optimum.lower_bound_s, least_s, 1e-9));
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        char text[64];
        struct gw_plan plan;
        (void)snprintf(text, sizeof text, gw_policies[i].argument == NULL ? "%s" : "%s:1000",
                       gw_policies[i].name);
        assert_ok(gw_planner_plan_beside(&scene->costs, text, &optimum, &plan, &error));
        assert_true(near(plan.iteration_s, iteration_of(scene, number_of(&plan)), 1e-9));
        if (strcmp(text, "omgs") == 0 || strcmp(text, "mg-wfbp") == 0) {
            assert_int_equal(number_of(&plan), greedy(scene, strcmp(text, "omgs") == 0));
        }
        assert_true(plan.iteration_s >= least_s * (1 - 1e-9));
        gw_plan_free(&plan);
    }
    gw_optimum_free(&optimum);
}

TEST(the_optimum_is_the_least_of_all) {
    for_all_pairs(3, 150, check_plans);
}

/* ---- the simulator ------------------------------------------------------------------------- */

static void check_simulation(struct scene *scene) {
    static const char *const policies[] = {"optimal", "per-tensor", "single", "omgs", "mg-wfbp"};
    const struct gw_algorithm preset = {.name = "any",
                                        .policy = "single",
                                        .compressor = &gw_compressor_none,
                                        .exchange = &gw_exchange_allreduce};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        const struct gw_choice_changes changes = {.policy = policies[i],
                                                  .compressor = scene->method.compressor->name,
                                                  .exchange = scene->method.exchange->name};
        struct gw_algorithm algorithm;
        struct gw_plan plan;
        struct gw_schedule schedule;
        struct gw_measure measure;
        struct gw_simulation simulation = {.workers = scene->scenario.workers};
        assert_ok(gw_algorithm_change(&preset, &changes, &algorithm, &error));
        assert_ok(gw_planner_plan_beside(&scene->costs, policies[i], NULL, &plan, &error));
        assert_ok(gw_algorithm_schedule(&algorithm, &scene->model, &plan, &schedule, &error));
        gw_schedule_add_session(&schedule, scene->cluster.overlap->session_s);
        run_simulation(&schedule, &scene->cluster, &simulation, 1, NULL, &measure);
        assert_true(near(measure.iteration_s, plan.iteration_s, 1e-9));
        gw_schedule_free(&schedule);
        gw_plan_free(&plan);
    }
}

TEST(plans_take_what_they_say) {
    for_all_pairs(4, 150, check_simulation);
}

/* ---- factors ------------------------------------------------------------------------------- */

/* A matrix is worth two factors if these are less than half of it. */
static bool is_factored(const struct gw_tensor *tensor, double rank) {
    double rows = tensor->dimensions < 2 ? 0 : (double)tensor->shape[0];
    double elements = (double)tensor->elements;
    return tensor->dimensions > 1 && 2 * rank * (rows + elements / rows) < elements;
}

/* The exchange of tensors last to first, by the contract, with both aggregators. */
static double factors_by_definition(const struct scene *scene, size_t last, size_t first,
                                    double rank) {
    double numbers[3] = {0};
    double factored = 0;
    double seconds = 0;
    for (size_t i = last; i <= first; i++) {
        const struct gw_tensor *tensor = &scene->tensors[i];
        double elements = (double)tensor->elements;
        if (!is_factored(tensor, rank)) {
            numbers[0] += elements;
            continue;
        }
        numbers[1] += rank * (double)tensor->shape[0];
        numbers[2] += rank * elements / (double)tensor->shape[0];
        factored += elements;
    }
    for (size_t leg = 0; leg < 3; leg++) {
        seconds +=
            numbers[leg] > 0 ? collective_s(&scene->cluster, "allreduce", 4 * numbers[leg]) : 0;
    }
    return factored > 0 ? seconds + kernel_s(&scene->cluster, "factor", factored) +
                              kernel_s(&scene->cluster, "expand", factored)
                        : seconds;
}

static void give_shapes(struct scene *scene, struct gw_random *random,
                        uint64_t shapes[MOST_TENSORS][2]) {
    for (size_t i = 0; i < scene->model.tensor_count; i++) {
        struct gw_tensor *tensor = &scene->tensors[i];
        tensor->shape = shapes[i];
        tensor->dimensions = 1 + (size_t)gw_random_below(random, 2);
        shapes[i][0] = tensor->elements;
        if (tensor->dimensions == 2) {
            shapes[i][0] = (uint64_t)power_between(random, 1, (double)tensor->elements + 1);
            shapes[i][1] = tensor->elements / shapes[i][0];
            tensor->elements = shapes[i][0] * shapes[i][1];
        }
    }
}

/* Costs of every range of tensors, their bound, and the best of all groupings. */
static void check_factors(struct scene *scene, double rank) {
    size_t count = scene->model.tensor_count;
    double least_s = INFINITY;
    for (size_t last = 0; last < count; last++) {
        struct gw_size size = {0};
        double before_s = 0;
        for (size_t first = last; first < count; first++) {
            gw_costs_add_tensor(&scene->costs, first, &size);
            double cost_s = gw_costs_exchange_s(&scene->costs, &size);
            double bytes = (double)gw_costs_bytes(&scene->costs, size.elements);
            assert_true(near(cost_s, factors_by_definition(scene, last, first, rank), 1e-9));
            assert_true(gw_curve_time(&scene->costs.exchange, bytes) <= cost_s * (1 + 1e-12));
            assert_true(cost_s >= before_s);
            before_s = cost_s;
        }
    }
    for (size_t number = 0; number < (size_t)1 << count; number += 2) {
        double compute = scene->model.forward_s;
        double clock = 0;
        double elements = 0;
        for (size_t l = count, first = count - 1; l-- > 0;) {
            compute += scene->tensors[l].backward_s;
            elements += (double)scene->tensors[l].elements;
            if (l == 0 || (number >> l & 1) > 0) {
                compute += compress_s(scene, elements);
                clock = fmax(compute, clock) + factors_by_definition(scene, l, first, rank);
                elements = 0;
                first = l - 1;
            }
        }
        least_s = fmin(least_s, clock + scene->model.update_s);
    }
    struct gw_optimum optimum;
    assert_ok(
        gw_planner_optimum(&(struct gw_mix){.costs = &scene->costs, .count = 1}, &optimum, &error));
    assert_true(near(optimum.iteration_s, least_s, 1e-9));
    assert_true(near(optimum.lower_bound_s, least_s, 1e-9));
    gw_optimum_free(&optimum);
}

TEST(factors_cost_what_the_shapes_of_a_range_of_tensors_say) {
    static const char *const names[] = {"powersgd", "powersgd:1", "powersgd:4", "powersgd:32"};
    static const double ranks[] = {4, 1, 4, 32};
    struct gw_random *random = random_stream(7);
    for (int round = 0; round < gw_trials(400) + 8; round++) {
        struct scene scene = {.scenario = {.model = &scene.model,
                                           .cluster = &scene.cluster,
                                           .method = &scene.method,
                                           .workers = 4,
                                           .density = 1,
                                           .bandwidth = 1},
                              .method.exchange = &gw_exchange_low_rank};
        uint64_t shapes[MOST_TENSORS][2];
        open_model(&scene, random);
        give_shapes(&scene, random, shapes);
        double all = 4 * (double)gw_model_elements(&scene.model);
        assert_ok(gw_compressor_choose(names[round % 4], &scene.method.compressor, &error));
        assert_ok(gw_cluster_create(&scene.cluster, "random", 4, 1, &error));
        bool straight = gw_random_below(random, 2) == 0;
        struct gw_curve curve = random_curve(random, straight, all);
        for (size_t i = 1; i < curve.point_count; i++) { /* as files must have it */
            curve.points[i].time_s = fmax(curve.points[i].time_s, curve.points[i - 1].time_s);
        }
        assert_ok(gw_cluster_add_collective(&scene.cluster, "allreduce", 4, curve, NULL, &error));
        assert_ok(gw_kernel_costs_add(&scene.cluster.compressors, "powersgd",
                                      random_curve(random, true, all), cJSON_CreateObject(),
                                      &error));
        for (size_t i = GW_FACTOR; i <= GW_EXPAND && straight; i++) {
            assert_ok(gw_kernel_costs_add(&scene.cluster.aggregation, aggregators[i],
                                          random_curve(random, true, all), cJSON_CreateObject(),
                                          &error));
        }
        assert_ok(gw_costs_open(&scene.scenario, &scene.costs, &error));
        check_factors(&scene, ranks[round % 4]);
        close_scene(&scene);
    }
}

TEST(a_model_without_shapes_has_no_factors) {
    struct gw_tensor tensor = {.name = "weight", .elements = 10000};
    const struct gw_model model = {.name = "flat", .tensor_count = 1, .tensors = &tensor};
    assert_int_equal(gw_model_check_shapes(&model, &gw_compressor_powersgd, &error), GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "flat: tensors[0] (weight): expected a shape, of which powersgd makes "
                        "factors; no tensor of the model has one");
    assert_null(gw_compressor_find("powersgd:0"));
    assert_null(gw_compressor_find("powersgd:33"));
    assert_ptr_equal(gw_compressor_find("powersgd:4"), &gw_compressor_powersgd);
}

/* Executed, each part has scales and whole bytes of its own. */
TEST(parts_of_codes_are_at_most_5_bytes_a_worker_more_than_codes_of_all) {
    static const char *const names[] = {"bf16", "fp16", "int8", "fp8", "onebit", "qsgd"};
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gw_compressor *compressor = gw_compressor_find(names[i]);
        for (size_t workers = 1; workers <= 17; workers++) {
            for (uint64_t n = 1; n <= 10000; n = n < 1100 ? n + 1 : n + 97) {
                uint64_t all = gw_code_bytes(compressor, n);
                uint64_t parts = workers * gw_code_bytes(compressor, gw_part_elements(n, workers));
                assert_in_range(parts, all, all + 5 * (workers - 1));
                most = parts - all > most ? parts - all : most;
            }
        }
    }
    assert_int_equal(most, 5 * 16);
}
