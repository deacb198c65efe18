/*
 * The simulator against an evaluation of the contract's arithmetic that is written here, on random
 * models.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/schedule.h"
#include "tests/methods/exchange_definition.h"
#include "tests/sim/schedules.h"
#include "tests/sim/simulate.h"

enum { MOST_TENSORS = 40, MOST_WORKERS = 9, MOST_POINTS = 6 };

/* ---- random cases -------------------------------------------------------------------------- */

struct scene {
    struct gw_model model;
    struct gw_tensor tensors[MOST_TENSORS];
    char tensor_name[8];
    struct gw_cluster cluster;
    struct gw_plan plan;
    size_t workers;
    double slowdown[MOST_WORKERS];
};

static double random_time(struct gw_random *random) {
    return gw_random_below(random, 5) == 0 ? 0 : pow(10, -6 + 5 * gw_random_uniform(random));
}

static struct gw_curve random_curve(struct gw_random *random, double typical_size) {
    struct gw_curve curve = {0};
    if (gw_random_below(random, 2) == 0) {
        curve.fixed_s = random_time(random);
        curve.per_unit_s = random_time(random) / typical_size;
        curve.per_nlog2n_s =
            gw_random_below(random, 2) == 0 ? 0 : random_time(random) / typical_size / 10;
        return curve;
    }
    curve.point_count = 2 + (size_t)gw_random_below(random, MOST_POINTS - 1);
    curve.points = calloc(curve.point_count, sizeof *curve.points);
    double size = 1;
    for (size_t i = 0; i < curve.point_count; i++) {
        size += typical_size * gw_random_uniform(random) + 1;
        curve.points[i] = (struct gw_curve_point){.size = size, .time_s = random_time(random)};
    }
    return curve;
}

/* Measured just where it is needed: a server is one rank more, and a pair is always two. */
static const struct {
    const char *name;
    size_t server, pair; /* ranks are workers + server, or the pair */
} collectives[] = {{"allgather", 0, 0}, {"allreduce", 0, 0}, {"gather", 1, 0},
                   {"scatter", 1, 0},   {"broadcast", 0, 0}, {"sendrecv", 0, 2}};

/* Curves that others are derived from are straight only: those add up at every size. */
static void random_collectives(struct gw_random *random, struct scene *scene) {
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        struct gw_curve curve = {.fixed_s = random_time(random),
                                 .per_unit_s = random_time(random) / 1e5};
        if (i < 4) {
            curve = random_curve(random, 1e5);
        }
        size_t ranks =
            collectives[i].pair > 0 ? collectives[i].pair : scene->workers + collectives[i].server;
        assert_ok(gw_cluster_add_collective(&scene->cluster, collectives[i].name, ranks, curve,
                                            NULL, NULL));
    }
}

static void random_groups(struct gw_random *random, const struct gw_algorithm *algorithm,
                          struct scene *scene) {
    size_t count = scene->model.tensor_count;
    scene->plan.groups = calloc(count, sizeof *scene->plan.groups);
    size_t first = count - 1;
    for (size_t tensor = count; tensor-- > 0;) {
        if (tensor == 0 || (gw_algorithm_overlaps(algorithm) && gw_random_below(random, 3) == 0)) {
            scene->plan.groups[scene->plan.group_count++] =
                (struct gw_group){.first = first, .last = tensor};
            first = tensor - 1;
        }
    }
}

static void open_scene(struct scene *scene, struct gw_random *random,
                       const struct gw_algorithm *algorithm) {
    *scene = (struct scene){.tensor_name = "tensor"};
    size_t count = 1 + (size_t)gw_random_below(random, MOST_TENSORS);
    for (size_t i = 0; i < count; i++) {
        scene->tensors[i] = (struct gw_tensor){
            .name = scene->tensor_name,
            .elements = 1 + gw_random_below(random, 1 << gw_random_below(random, 24)),
            .backward_s = random_time(random)};
    }
    scene->model = (struct gw_model){.name = scene->tensor_name,
                                     .bytes_per_element = 4,
                                     .forward_s = random_time(random),
                                     .update_s = random_time(random),
                                     .micro_batches = (size_t)gw_random_below(random, 4),
                                     .tensor_count = count,
                                     .tensors = scene->tensors};
    scene->workers = 2 + (size_t)gw_random_below(random, MOST_WORKERS - 1);
    for (size_t w = 0; w < scene->workers; w++) {
        scene->slowdown[w] = gw_random_below(random, 2) == 0 ? 1 : 0.5 + gw_random_uniform(random);
    }
    assert_ok(gw_cluster_create(&scene->cluster, "random", scene->workers, 1, NULL));
    random_collectives(random, scene);
    if (gw_algorithm_compresses(algorithm)) {
        assert_ok(gw_kernel_costs_add(&scene->cluster.compressors, algorithm->compressor->name,
                                      random_curve(random, 1e6), NULL, NULL));
    }
    double density =
        gw_algorithm_compresses(algorithm) ? pow(10, -4 * gw_random_uniform(random)) : 1;
    assert_ok(gw_plan_create(&scene->plan, "random", "random", algorithm->compressor->name, density,
                             scene->workers, NULL));
    random_groups(random, algorithm, scene);
}

static void close_scene(struct scene *scene) {
    gw_cluster_free(&scene->cluster);
    gw_plan_free(&scene->plan);
}

/* ---- the arithmetic, once more ------------------------------------------------------------- */

/* Compute clocks C of all workers, a communication clock T that waits for the last of them. */
static double arithmetic(const struct scene *scene, const struct gw_algorithm *algorithm,
                         const double *slowdown) {
    bool sparse = gw_algorithm_compresses(algorithm);
    double compute[MOST_WORKERS];
    double communication = 0;
    double all = 0;
    double passes = fmax(1, (double)scene->model.micro_batches);
    double ahead_s = passes * scene->model.forward_s;
    for (size_t t = 0; t < scene->model.tensor_count; t++) {
        all += (double)scene->tensors[t].elements;
        ahead_s += (passes - 1) * scene->tensors[t].backward_s;
    }
    for (size_t w = 0; w < scene->workers; w++) {
        compute[w] = slowdown[w] * ahead_s;
    }
    for (size_t g = 0; g < scene->plan.group_count; g++) {
        double elements = 0;
        double backward = 0;
        for (size_t t = scene->plan.groups[g].last; t <= scene->plan.groups[g].first; t++) {
            elements += (double)scene->tensors[t].elements;
            backward += scene->tensors[t].backward_s;
        }
        double layers = (double)(scene->plan.groups[g].first - scene->plan.groups[g].last + 1);
        double compress =
            sparse ? value_of(&scene->cluster.compressors.list[0].curve, elements) : 0;
        double kept = fmax(1, floor(scene->plan.density * elements));
        for (size_t w = 0; w < scene->workers; w++) {
            compute[w] += slowdown[w] * (backward + compress);
            communication = fmax(communication, compute[w]);
        }
        communication +=
            exchange_by_definition(&scene->cluster, scene->workers, algorithm->exchange->name,
                                   elements, kept, layers, scene->model.update_s * elements / all);
    }
    double update_s = has_server_update(algorithm->exchange->name) ? 0 : scene->model.update_s;
    double end = 0;
    for (size_t w = 0; w < scene->workers; w++) {
        end = fmax(end, fmax(compute[w], communication) + slowdown[w] * update_s);
    }
    return end;
}

/* ---- running ------------------------------------------------------------------------------- */

static void assert_close(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)))) {
        fail_msg("expected %.17g, got %.17g", b, a);
    }
}

/* Parts are differences of the iteration: they agree to its rounding. */
static void assert_same_measure(const struct gw_measure *a, const struct gw_measure *b) {
    double slack = 1e-12 * b->iteration_s;
    assert_true(a->iteration_s == b->iteration_s);
    assert_true(fabs(a->breakdown.forward_s - b->breakdown.forward_s) <= slack);
    assert_true(fabs(a->breakdown.backward_s - b->breakdown.backward_s) <= slack);
    assert_true(fabs(a->breakdown.compress_s - b->breakdown.compress_s) <= slack);
    assert_true(fabs(a->breakdown.exposed_comm_s - b->breakdown.exposed_comm_s) <= slack);
    assert_true(fabs(a->breakdown.other_s - b->breakdown.other_s) <= 5 * slack);
    assert_true(fabs(a->comm_s - b->comm_s) <= slack);
}

static struct gw_measure simulate(const struct gw_schedule *schedule, const struct scene *scene,
                                  const struct gw_simulation *simulation) {
    struct gw_timeline timeline;
    struct gw_measure measure;
    run_simulation(schedule, &scene->cluster, simulation, 1, &timeline, &measure);
    struct gw_measure of_timeline = measure_timeline(&timeline);
    assert_same_measure(&measure, &of_timeline);
    gw_timeline_free(&timeline);
    return measure;
}

static double sum(const struct gw_breakdown *parts) {
    return parts->forward_s + parts->backward_s + parts->compress_s + parts->exposed_comm_s +
           parts->other_s;
}

static void check_scene(const struct gw_algorithm *algorithm, const struct scene *scene) {
    static const double alike[MOST_WORKERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct gw_schedule schedule;
    assert_ok(gw_algorithm_schedule(algorithm, &scene->model, &scene->plan, &schedule, NULL));
    struct gw_simulation simulation = {.workers = scene->workers};
    struct gw_measure one = simulate(&schedule, scene, &simulation);
    assert_close(one.iteration_s, arithmetic(scene, algorithm, alike));
    assert_close(sum(&one.breakdown), one.iteration_s);
    simulation.every_worker = true;
    struct gw_measure all = simulate(&schedule, scene, &simulation);
    assert_memory_equal(&all, &one, sizeof one);
    simulation.slowdown = scene->slowdown;
    struct gw_measure unequal = simulate(&schedule, scene, &simulation);
    assert_close(unequal.iteration_s, arithmetic(scene, algorithm, scene->slowdown));
    assert_close(sum(&unequal.breakdown), unequal.iteration_s);
    simulation.every_worker = false;
    struct gw_measure collapsed = simulate(&schedule, scene, &simulation);
    assert_memory_equal(&collapsed, &unequal, sizeof unequal);
    gw_schedule_free(&schedule);
}

TEST(equals_the_arithmetic) {
    struct gw_random *random = random_stream(1);
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        const struct gw_compressor *compressor = gw_algorithms[a].compressor;
        /* codes are in mixed_test, factors in costs_test and cli_pipelines_test */
        bool elsewhere = compressor->code.bits > 0 || compressor->rank > 0;
        for (int repeat = 0, repeats = gw_trials(1000); repeat < repeats && !elsewhere; repeat++) {
            struct scene scene;
            open_scene(&scene, random, &gw_algorithms[a]);
            check_scene(&gw_algorithms[a], &scene);
            close_scene(&scene);
        }
    }
}

/* ---- the engine ---------------------------------------------------------------------------- */

TEST(a_schedule_that_waits_for_itself_is_reported) {
    struct gw_schedule schedule = {0};
    struct gw_cluster cluster;
    struct simulation_run run;
    struct gw_error error = {0};
    size_t first = 0;
    struct gw_operation operation = {.kind = GW_BACKWARD, .stream = GW_STREAM_COMPUTE};
    append_operation(&schedule, operation, NULL, 0);
    append_operation(&schedule, operation, &first, 1);
    schedule.operations[0].first_dependency = schedule.operations[1].first_dependency;
    schedule.operations[0].dependency_count = 1;
    schedule.operations[1].dependency_count = 0;
    schedule.dependencies[schedule.operations[0].first_dependency] = 1;
    assert_ok(gw_cluster_create(&cluster, "empty", 1, 1, NULL));
    struct gw_simulation simulation = {.workers = 1};
    assert_int_equal(open_run(&run, &schedule, &cluster, &simulation, NULL, &error), GW_FAILED);
    assert_non_null(
        strstr(error.message, "operation 0: expected it to depend on operations before"));
    assert_non_null(strstr(error.message, "got 1: the schedule waits for itself"));
    gw_cluster_free(&cluster);
    gw_schedule_free(&schedule);
}
