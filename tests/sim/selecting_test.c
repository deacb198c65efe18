/*
 * Iterations that differ in what was selected: each as if all were like it, to the bit, by curves,
 * with interference and by messages, with noise and with any number of threads.
 */
#include <math.h>
#include <string.h>

#include "methods/schedule.h"
#include "tests/sim/scenes.h"

static struct gw_cluster cluster; /* for all tests: reading it takes longer than they */

enum { TENSORS = 3, GROUPS = 2, WORKERS = 4, TABLE = 3, ITERATIONS = 8 };

struct scene {
    struct gw_model model;
    struct gw_tensor tensors[TENSORS];
    struct gw_plan plan;
    struct gw_group groups[GROUPS];
    struct gw_schedule schedule;
    struct gw_selected selected[TABLE * GROUPS];
};

/* Up to a tenth of all elements is selected, so that exchanges take longer than the compute that
 * hides them. */
static void scene_open(struct scene *scene, struct gw_random *random) {
    static char names[TENSORS][2] = {"a", "b", "c"};
    *scene = (struct scene){.model = {.name = (char *)"tiny",
                                      .forward_s = 0.001,
                                      .bytes_per_element = 4,
                                      .tensor_count = TENSORS,
                                      .tensors = scene->tensors}};
    for (size_t t = 0; t < TENSORS; t++) {
        scene->tensors[t] = (struct gw_tensor){.name = names[t],
                                               .elements = 1 + gw_random_below(random, 1 << 22),
                                               .backward_s = 0.01 * gw_random_uniform(random)};
    }
    scene->groups[0] = (struct gw_group){.first = 2, .last = 1};
    scene->plan = (struct gw_plan){.compressor = (char *)"topk",
                                   .density = 0.001,
                                   .workers = WORKERS,
                                   .group_count = GROUPS,
                                   .groups = scene->groups};
    /* Uses top-k, since the cluster has overlap factors of several sizes of it. */
    struct gw_algorithm algorithm = {.name = "any",
                                     .policy = "per-tensor",
                                     .compressor = &gw_compressor_topk,
                                     .exchange = &gw_exchange_allgather_padded};
    assert_ok(
        gw_algorithm_schedule(&algorithm, &scene->model, &scene->plan, &scene->schedule, NULL));
    for (size_t i = 0; i < (size_t)TABLE * GROUPS; i++) {
        uint64_t most = scene->schedule.groups[i % GROUPS].size.elements / 10;
        scene->selected[i].most = gw_random_below(random, most + 1);
        scene->selected[i].all = scene->selected[i].most;
    }
}

static void scene_close(struct scene *scene) {
    gw_schedule_free(&scene->schedule);
}

static void simulate(const struct scene *scene, const struct gw_simulation *simulation,
                     struct gw_timeline *timeline, struct gw_measure *measures) {
    run_simulation(&scene->schedule, &cluster, simulation, ITERATIONS, timeline, measures);
}

/* The reference has one selection for all iterations, of which it takes those that have it. */
static void check_equal(struct scene *scene, struct gw_simulation simulation) {
    struct gw_measure actual[ITERATIONS], expected[ITERATIONS];
    simulation.selected = scene->selected;
    simulation.selected_count = TABLE;
    simulate(scene, &simulation, NULL, actual);
    simulation.selected = NULL;
    simulation.threads = 1;
    for (size_t row = 0; row < TABLE; row++) {
        gw_schedule_select(&scene->schedule, scene->selected + row * GROUPS);
        simulate(scene, &simulation, NULL, expected);
        for (size_t i = row; i < ITERATIONS; i += TABLE) {
            assert_memory_equal(&actual[i], &expected[i], sizeof *actual);
        }
        assert_true(row + 1 == TABLE || actual[row].iteration_s != actual[row + 1].iteration_s);
    }
}

TEST(iterations_are_as_if_all_were_alike) {
    struct gw_random *random = random_stream(0);
    for (unsigned i = 0; i < 48; i++) {
        struct scene scene;
        scene_open(&scene, random);
        bool messages = i % 3 == 1;
        struct gw_noise noise = {.kind = i % 2 == 0 ? GW_NOISE_LOGNORMAL : GW_NOISE_NONE,
                                 .sigma = 0.1};
        struct gw_simulation simulation = {.workers = WORKERS,
                                           .compute_noise = noise,
                                           .network_noise = noise,
                                           .level = messages ? GW_LEVEL_MESSAGES : GW_LEVEL_CURVES,
                                           .interference = i % 3 == 2,
                                           .seed = seed + i,
                                           .every_worker = i % 4 < 2,
                                           .threads = 1 + i % 3};
        check_equal(&scene, simulation);
        scene_close(&scene);
    }
}

/* In each iteration the second leg of a group has 8 bytes for each that the fullest worker sends.
 */
TEST(timelines_have_the_bytes_of_their_iteration) {
    struct scene scene;
    struct gw_timeline timeline;
    struct gw_measure measures[ITERATIONS];
    struct gw_random *random = random_stream(1);
    scene_open(&scene, random);
    const struct gw_simulation simulation = {
        .workers = WORKERS, .selected = scene.selected, .selected_count = TABLE};
    simulate(&scene, &simulation, &timeline, measures);
    size_t seen[GROUPS] = {0};
    for (size_t i = 0; i < timeline.span_count; i++) {
        const struct gw_span *span = &timeline.spans[i];
        if (span->activity == GW_EXCHANGE && span->lane == 0) {
            size_t leg = seen[span->group] % 2;
            size_t row = seen[span->group]++ / 2 % TABLE;
            uint64_t entries = scene.selected[row * GROUPS + span->group].most;
            assert_int_equal(span->bytes, leg == 0 ? 4 : 8 * entries);
        }
    }
    assert_int_equal(seen[0], 2 * ITERATIONS);
    gw_timeline_free(&timeline);
    scene_close(&scene);
}

/* The number of selected elements counts in compression too: sixteen times as many take twice as
 * long. */
static int read_cluster(void **state) {
    (void)state;
    const struct gw_kernel_curve alone = {.densities = {0.001, 0.016}};
    const struct gw_kernel_curve together = {true, {0.001, 0.016}};
    struct gw_curve denser;
    assert_ok(gw_cluster_read(GW_TEST_DATA "/clusters/box-4x1gbit.json", &cluster, NULL));
    const struct gw_kernel_cost *topk = gw_kernel_cost_find(&cluster.compressors, "topk");
    assert_non_null(topk);
    assert_ok(gw_curve_scaled(&topk->curve, 2, 2, &denser, NULL));
    assert_ok(gw_kernel_costs_add_curve(&cluster.compressors, "topk", alone, denser,
                                        cJSON_CreateObject(), NULL));
    assert_ok(gw_curve_scaled(&topk->together, 6, 6, &denser, NULL));
    return (int)gw_kernel_costs_add_curve(&cluster.compressors, "topk", together, denser,
                                          cJSON_CreateObject(), NULL);
}

/* Without anything beside it: a group's compression, by what the fullest worker selects of it. */
TEST(compression_takes_longer_where_more_is_selected) {
    struct scene scene;
    struct gw_measure measures[ITERATIONS];
    struct gw_random *random = random_stream(2);
    scene_open(&scene, random);
    const struct gw_simulation simulation = {
        .workers = WORKERS, .selected = scene.selected, .selected_count = TABLE};
    const struct gw_kernel_cost *topk = gw_kernel_cost_find(&cluster.compressors, "topk");
    simulate(&scene, &simulation, NULL, measures);
    for (size_t i = 0; i < ITERATIONS; i++) {
        double expected_s = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double elements = (double)scene.schedule.groups[g].size.elements;
            double selected = (double)scene.selected[i % TABLE * GROUPS + g].most;
            double times_as_asked = selected / fmax(1, floor(0.001 * elements));
            double alone_s = gw_curve_time(&topk->curve, elements);
            expected_s += alone_s * fmax(0.5, 1 + (times_as_asked - 1) / 15);
        }
        assert_true(fabs(measures[i].breakdown.compress_s / expected_s - 1) < 1e-9);
    }
    scene_close(&scene);
}

/* Top-k in a nanosecond an element, alone; of four together so, and in three at the second density.
 */
static void crowd(struct gw_cluster *crowded) {
    const struct gw_kernel_curve alone = {.densities = {0.001, 0.016}};
    const struct gw_kernel_curve together = {true, {0.001, 0.016}};
    static const struct gw_curve nanosecond = {.per_unit_s = 1e-9};
    static const struct gw_curve three = {.per_unit_s = 3e-9};
    struct gw_kernel_costs *costs = &crowded->compressors;
    assert_ok(gw_cluster_create(crowded, "crowded", WORKERS, 1, NULL));
    assert_ok(gw_cluster_add_collective(crowded, "allgather", WORKERS, nanosecond, NULL, NULL));
    assert_ok(gw_kernel_costs_add(costs, "topk", nanosecond, cJSON_CreateObject(), NULL));
    assert_ok(gw_kernel_costs_add_curve(costs, "topk", (struct gw_kernel_curve){.together = true},
                                        nanosecond, cJSON_CreateObject(), NULL));
    assert_ok(
        gw_kernel_costs_add_curve(costs, "topk", alone, nanosecond, cJSON_CreateObject(), NULL));
    assert_ok(
        gw_kernel_costs_add_curve(costs, "topk", together, three, cJSON_CreateObject(), NULL));
    crowded->sharing = (struct gw_sharing){WORKERS, WORKERS, WORKERS};
    set_no_slowing(crowded, WORKERS);
}

/* The wanted number, sixteen times as many, and halfway between. */
TEST(contention_follows_the_number_of_selected_elements) {
    static const struct { double asked, times; } rows[TABLE] = {{1, 1}, {16, 3}, {8.5, 2}};
    struct scene scene;
    struct gw_cluster crowded;
    struct gw_measure measures[ITERATIONS];
    struct gw_random *random = random_stream(3);
    double alone_s = 0;
    scene_open(&scene, random);
    crowd(&crowded);
    for (size_t g = 0; g < GROUPS; g++) {
        const struct gw_slice *group = &scene.schedule.groups[g];
        alone_s += 1e-9 * (double)group->size.elements;
        for (size_t row = 0; row < TABLE; row++) {
            double most = rows[row].asked * (double)group->kept;
            scene.selected[row * GROUPS + g] = (struct gw_selected){.most = (uint64_t)most};
        }
    }
    const struct gw_simulation simulation = {.workers = WORKERS,
                                             .interference = true,
                                             .selected = scene.selected,
                                             .selected_count = TABLE};
    run_simulation(&scene.schedule, &crowded, &simulation, ITERATIONS, NULL, measures);
    for (size_t i = 0; i < ITERATIONS; i++) {
        double times = measures[i].breakdown.compress_s / alone_s;
        assert_true(fabs(times / rows[i % TABLE].times - 1) < 1e-3);
    }
    gw_cluster_free(&crowded);
    scene_close(&scene);
}

static int free_cluster(void **state) {
    (void)state;
    gw_cluster_free(&cluster);
    return 0;
}

FIXTURES(read_cluster, free_cluster)
