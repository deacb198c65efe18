/* Aggregation of received data by workers, in all three ways of simulating it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "tests/methods/exchange_definition.h"
#include "tests/sim/scenes.h"

static struct gw_error error;

enum { WORKERS = 4, ELEMENTS = 1000000 };

static const char *const algorithms[] = {"topk", "gtopk", "gs-sgd", "sketched-sgd", "randk",
                                         "ps",   "dense", "exdyna", "gaussiank"};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* One tensor, all by itself, on a cluster whose exchanges take as long as their bytes. */
struct scene {
    struct gw_tensor tensor;
    struct gw_model model;
    struct gw_cluster cluster;
    const struct gw_algorithm *algorithm;
    struct gw_plan plan;
    struct gw_schedule schedule;
    struct gw_simulation simulation;
};

static void add_aggregation(struct gw_cluster *cluster, double together) {
    for (size_t i = 0; i < GW_AGGREGATOR_COUNT; i++) {
        struct gw_curve curve = {.fixed_s = 1e-5, .per_unit_s = 1e-9 * (double)(i + 1)};
        struct gw_curve all = {.fixed_s = together * curve.fixed_s,
                               .per_unit_s = together * curve.per_unit_s};
        assert_ok(gw_kernel_costs_add(&cluster->aggregation, gw_aggregator_names[i], curve,
                                      cJSON_CreateObject(), &error));
        cluster->aggregation.list[i].together = all;
    }
}

static void open_scene(struct scene *scene, const char *algorithm) {
    static const char *const collectives[] = {"allgather", "allreduce", "gather",
                                              "scatter",   "broadcast", "sendrecv"};
    struct gw_network network = flat_network(1e-5, 1e-9);
    *scene = (struct scene){.tensor = {.name = "t", .elements = ELEMENTS, .backward_s = 1e-3},
                            .simulation = {.workers = WORKERS}};
    scene->model = (struct gw_model){.name = "one",
                                     .bytes_per_element = 4,
                                     .forward_s = 1e-3,
                                     .tensor_count = 1,
                                     .tensors = &scene->tensor};
    assert_ok(gw_algorithm_find(algorithm, &scene->algorithm, &error));
    assert_ok(gw_cluster_create(&scene->cluster, "c", WORKERS, 1, &error));
    network.kept = cJSON_CreateObject();
    assert_ok(gw_cluster_set_network(&scene->cluster, network, &error));
    for (size_t i = 0; i < 6; i++) {
        struct gw_curve curve = {.fixed_s = 1e-4, .per_unit_s = 1e-9};
        size_t ranks = i == 5 ? 2 : i == 2 || i == 3 ? WORKERS + 1 : WORKERS;
        assert_ok(
            gw_cluster_add_collective(&scene->cluster, collectives[i], ranks, curve, NULL, &error));
    }
    const char *compressor = scene->algorithm->compressor->name;
    struct gw_curve compress = {.per_unit_s = 1e-9};
    assert_ok(gw_kernel_costs_add(&scene->cluster.compressors, compressor, compress, NULL, &error));
    const struct gw_costs costs = {.model = &scene->model,
                                   .workers = WORKERS,
                                   .way.compressor = scene->algorithm->compressor,
                                   .way.density = 0.01,
                                   .compress = compress,
                                   .exchange = scene->cluster.collectives[0].curve};
    assert_ok(gw_planner_plan(&costs, "single", &scene->plan, &error));
    assert_ok(gw_algorithm_schedule(scene->algorithm, &scene->model, &scene->plan, &scene->schedule,
                                    &error));
}

static void close_scene(struct scene *scene) {
    gw_schedule_free(&scene->schedule);
    gw_plan_free(&scene->plan);
    gw_cluster_free(&scene->cluster);
}

static double iteration_s(const struct scene *scene) {
    struct gw_measure measure;
    run_simulation(&scene->schedule, &scene->cluster, &scene->simulation, 1, NULL, &measure);
    return measure.iteration_s;
}

static double defined_s(const struct scene *scene, double kept) {
    return aggregation_by_definition(&scene->cluster, WORKERS, scene->algorithm->exchange->name,
                                     ELEMENTS, kept);
}

TEST(aggregation_comes_on_top_by_curves_and_by_messages) {
    for (size_t i = 0; i < ALGORITHMS; i++) {
        for (int messages = 0; messages < 2; messages++) {
            struct scene scene;
            open_scene(&scene, algorithms[i]);
            scene.simulation.level = messages ? GW_LEVEL_MESSAGES : GW_LEVEL_CURVES;
            double without_s = iteration_s(&scene);
            add_aggregation(&scene.cluster, 3);
            double with_s = iteration_s(&scene);
            if (fabs(with_s - without_s - defined_s(&scene, 10000)) > 1e-10) {
                fail_msg("%s, %s: %.12g s more, expected %.12g", algorithms[i],
                         messages ? "messages" : "curves", with_s - without_s,
                         defined_s(&scene, 10000));
            }
            assert_int_equal(with_s > without_s, strcmp(algorithms[i], "dense") != 0);
            close_scene(&scene);
        }
    }
}

/*
 * Work that all ranks do at once takes its concurrent time, but only if ranks share a machine; with
 * fewer workers than ranks, as many of its time slices as they need. Each call starts as alone: the
 * start of all includes waking them.
 */
TEST(workers_of_a_machine_aggregate_together) {
    static const double entries_s = 1e-9 * (WORKERS * 10000 - 1); /* but the first */
    static const struct {
        struct gw_sharing sharing;
        double times; /* as long as alone, where all together take six times as long */
    } cases[] = {{{1, WORKERS, 1}, 1},
                 {{WORKERS, 0, WORKERS}, 6},
                 {{WORKERS, 2, WORKERS}, 6},
                 {{5, 2, 5}, 4.8},
                 {{9, 4, 9}, 6 / 2.25},
                 {{64, 2, 64}, 1},
                 {{5, 2, WORKERS}, 6},
                 {{5, 2, 2}, 12},
                 {{8, 2, 6}, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        open_scene(&scene, "topk");
        add_aggregation(&scene.cluster, 6);
        scene.cluster.compressors.list[0].together = (struct gw_curve){.per_unit_s = 1e-9};
        scene.cluster.sharing = cases[i].sharing;
        scene.simulation.timed_compression = true;
        double alone_s = iteration_s(&scene);
        set_no_slowing(&scene.cluster, WORKERS);
        scene.simulation.interference = true;
        double more_s = (cases[i].times - 1) * entries_s;
        assert_true(fabs(iteration_s(&scene) - alone_s - more_s) < 1e-10);
        close_scene(&scene);
    }
}

/* Those that come from the exchange before the last one take their turns before that. */
TEST(first_ranks_take_their_turns_before_the_last) {
    static const double turns_s = (6 - 1) * 1e-9 * (WORKERS * 10000 - 1);
    static const double exchange_s = 1e-4 + 1e-9 * 80000;
    static const double shares[] = {0, 0.25, 0.5, 1};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct scene scene;
        open_scene(&scene, "topk");
        add_aggregation(&scene.cluster, 6);
        scene.cluster.compressors.list[0].together = (struct gw_curve){.per_unit_s = 1e-9};
        scene.cluster.sharing = (struct gw_sharing){WORKERS, 2, WORKERS};
        scene.simulation.timed_compression = true;
        double alone_s = iteration_s(&scene);
        set_no_slowing(&scene.cluster, WORKERS);
        struct gw_collective_cost *exchange = &scene.cluster.collectives[0];
        exchange->skew = calloc(1, sizeof *exchange->skew);
        exchange->skew[exchange->skew_count++] = (struct gw_curve_point){1, shares[i]};
        scene.simulation.interference = true;
        double expected_s = fmax(turns_s - shares[i] * exchange_s, 0);
        assert_true(fabs(iteration_s(&scene) - alone_s - expected_s) < 1e-10);
        close_scene(&scene);
    }
}

TEST(adding_nothing_takes_nothing) {
    struct scene scene;
    struct gw_selected selected = {.most = 0, .all = 0};
    open_scene(&scene, "gaussiank");
    scene.simulation.selected = &selected;
    scene.simulation.selected_count = 1;
    scene.simulation.timed_compression = true;
    scene.simulation.interference = true;
    scene.cluster.sharing = (struct gw_sharing){64, 2, 64}; /* of whose turns four need few */
    scene.cluster.compressors.list[0].together = (struct gw_curve){.per_unit_s = 1e-9};
    set_no_slowing(&scene.cluster, WORKERS);
    double without_s = iteration_s(&scene);
    add_aggregation(&scene.cluster, 1);
    assert_true(iteration_s(&scene) == without_s);
    close_scene(&scene);
}

/* Whose compression is timed waiting, looks for nothing. */
TEST(sketches_that_are_waited_for_hold_nothing) {
    struct scene scene;
    open_scene(&scene, "gs-sgd");
    scene.simulation.timed_compression = true;
    double without_s = iteration_s(&scene);
    add_aggregation(&scene.cluster, 3);
    double search_s = 1e-5 + 1e-9 * (GW_HEAVYMIX + 1) * ELEMENTS;
    assert_true(fabs(iteration_s(&scene) - without_s - defined_s(&scene, 10000) + search_s) <
                1e-10);
    close_scene(&scene);
}

TEST(larger_selections_take_longer) {
    struct scene scene;
    struct gw_selected selected = {.most = 30000, .all = 0};
    open_scene(&scene, "gaussiank");
    scene.simulation.selected = &selected;
    scene.simulation.selected_count = 1;
    double without_s = iteration_s(&scene);
    add_aggregation(&scene.cluster, 3);
    assert_true(fabs(iteration_s(&scene) - without_s - defined_s(&scene, 30000)) < 1e-10);
    close_scene(&scene);
}

static double finish_ns(const struct scene *scene, const char *path) {
    struct gw_result notes = {0};
    struct gw_goal goal =
        exported_goal(&scene->schedule, &scene->cluster, &scene->simulation, path, &notes);
    return goal_finish_ns(&goal, 10000, 1);
}

TEST_IN_FOLDER(exported_schedules_aggregate) {
    const char *path = path_in(*state, "s.goal");
    for (size_t i = 0; i < ALGORITHMS; i++) {
        struct scene scene;
        open_scene(&scene, algorithms[i]);
        scene.simulation.level = GW_LEVEL_MESSAGES;
        double without_ns = finish_ns(&scene, path);
        add_aggregation(&scene.cluster, 3);
        double more_ns = 1e9 * defined_s(&scene, 10000);
        double found_ns = finish_ns(&scene, path) - without_ns;
        if (fabs(found_ns - more_ns) > 4) {
            fail_msg("%s: %g ns more, expected %g", algorithms[i], found_ns, more_ns);
        }
        close_scene(&scene);
    }
}
