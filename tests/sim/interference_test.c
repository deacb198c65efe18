/*
 * Operations that slow each other, against a simulation that is written here: all that runs is
 * moved on from one change to the next, each at its pace. Random schedules.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/schedule.h"
#include "tests/sim/scenes.h"

enum { MOST_OPERATIONS = 60, MOST_WORKERS = 6, CASES = 3000 };

static struct gw_error error;

/* ---- random schedules ---------------------------------------------------------------------- */

static const char *const collectives[] = {"allgather", "allreduce", "alltoall"};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

struct scene {
    struct gw_schedule schedule;
    struct gw_cluster cluster;
    size_t workers;
    double slowdown[MOST_WORKERS];
    bool timed;    /* what is timed slows and is slowed, too ... */
    bool backward; /* ... or, in place of that, by factors of a backward pass */
    bool waits;    /* compression is timed waiting */
    double
        crowding; /* where workers share machines: of two that compress at once; 0: they do not */
};

/* The scene's times of an element, of one that is summed, and of a byte. */
static const double element_s = 1e-6;
static const double sum_s = 2e-7;
static const double byte_s = 1e-9;

static void add_operation(struct scene *scene, struct gw_random *random) {
    size_t count = scene->schedule.operation_count;
    struct gw_operation operation = {.label = "", .stream = GW_STREAM_COMPUTE};
    size_t after[3];
    size_t dependency_count = count == 0 ? 0 : (size_t)gw_random_below(random, 4);
    bool nothing = gw_random_below(random, 8) == 0;
    uint64_t size = nothing ? 0 : 1 + gw_random_below(random, 1000000);
    switch (gw_random_below(random, 3)) {
    case 0:
        operation.kind = gw_random_below(random, 2) == 0 ? GW_FORWARD : GW_BACKWARD;
        operation.duration_s = 1e-9 * (double)(gw_random_below(random, 2) == 0 ? size : size / 50);
        break;
    case 1:
        operation.kind = GW_COMPRESS;
        operation.method = gw_random_below(random, 2) == 0 ? "topk" : "scan";
        operation.elements = size / 1000;
        break;
    default:
        operation.kind = GW_EXCHANGE;
        operation.stream = GW_STREAM_COMMUNICATION;
        operation.method = collectives[gw_random_below(random, COLLECTIVES)];
        operation.bytes = size;
    }
    for (size_t d = 0; d < dependency_count; d++) {
        after[d] = (size_t)gw_random_below(random, count);
    }
    append_operation(&scene->schedule, operation, after, dependency_count);
}

static double draw_factor(struct gw_random *random, double least, double most) {
    return least * exp(log(most / least) * gw_random_uniform(random));
}

/* Factors up to `most`, of one size for each pair: which is then of all sizes. */
static void set_factors(struct scene *scene, struct gw_random *random, double most) {
    const char *const computes[] = {"topk", "scan", scene->timed ? GW_OVERLAP_TIMED : NULL,
                                    scene->backward ? GW_OVERLAP_BACKWARD : NULL};
    struct gw_overlap *overlap = new_overlap(scene->workers);
    for (size_t c = 0; c < COLLECTIVES; c++) {
        for (size_t m = 0; m < sizeof computes / sizeof *computes; m++) {
            bool beside_pass = m == 3; /* where an exchange may be the faster */
            double of_compute = draw_factor(random, 1, most);
            double of_communication = draw_factor(random, beside_pass && most > 1 ? 0.5 : 1, most);
            if (computes[m] != NULL) {
                add_factors(overlap, collectives[c], computes[m], of_compute, of_communication);
            }
        }
    }
    gw_cluster_set_overlap(&scene->cluster, overlap);
}

static void open_scene(struct scene *scene, struct gw_random *random, double most) {
    *scene = (struct scene){.workers = 2 + (size_t)gw_random_below(random, MOST_WORKERS - 1),
                            .timed = gw_random_below(random, 2) == 0,
                            .backward = gw_random_below(random, 3) == 0};
    size_t count = 1 + (size_t)gw_random_below(random, MOST_OPERATIONS);
    for (size_t i = 0; i < count; i++) {
        add_operation(scene, random);
    }
    for (size_t w = 0; w < scene->workers; w++) {
        scene->slowdown[w] = gw_random_below(random, 2) == 0 ? 1 : 0.5 + gw_random_uniform(random);
    }
    assert_ok(gw_cluster_create(&scene->cluster, "random", scene->workers, 1, &error));
    const struct gw_curve per_byte = {.per_unit_s = byte_s};
    const struct gw_curve per_element = {.per_unit_s = element_s};
    for (size_t c = 0; c < COLLECTIVES; c++) {
        assert_ok(gw_cluster_add_collective(&scene->cluster, collectives[c], scene->workers,
                                            per_byte, NULL, &error));
    }
    for (size_t c = 0; c < 2; c++) {
        assert_ok(gw_kernel_costs_add(&scene->cluster.compressors, c == 0 ? "topk" : "scan",
                                      per_element, NULL, &error));
    }
    assert_ok(gw_cluster_find_growth(&scene->cluster, &error));
    set_factors(scene, random, most);
}

/* Lets one worker select for all in group 0, which is that of all operations. */
static void lead_selections(struct gw_schedule *schedule) {
    schedule->way_count = schedule->group_count = 1;
    schedule->ways = calloc(1, sizeof *schedule->ways);
    schedule->groups = calloc(1, sizeof *schedule->groups);
    assert_true(schedule->ways != NULL && schedule->groups != NULL);
    schedule->ways[0] = (struct gw_way){&gw_compressor_topk, &gw_exchange_leader, 1, 0};
    schedule->groups[0].way = schedule->ways;
}

/* Machines of some workers with some processors, on which all take turns. */
static void share_machines(struct scene *scene, struct gw_random *random) {
    struct gw_sharing *sharing = &scene->cluster.sharing;
    scene->crowding = 1 + gw_random_uniform(random);
    sharing->ranks = 2 + (size_t)gw_random_below(random, scene->workers);
    sharing->processors = 1 + (size_t)gw_random_below(random, 3);
    sharing->together = 1 + (size_t)gw_random_below(random, sharing->ranks);
    double turns = fmax(1, (double)sharing->together / (double)sharing->processors);
    if (gw_random_below(random, 3) == 0) {
        const struct gw_curve sum = {.per_unit_s = sum_s};
        lead_selections(&scene->schedule);
        assert_ok(gw_kernel_costs_add(&scene->cluster.aggregation, "sum", sum, NULL, &error));
    }
    const struct gw_curve together = {.per_unit_s = turns * scene->crowding * element_s,
                                      .fixed_s = 1e-3};
    for (size_t c = 0; c < scene->cluster.compressors.count; c++) {
        scene->cluster.compressors.list[c].together = together;
    }
}

static void close_scene(struct scene *scene) {
    gw_schedule_free(&scene->schedule);
    gw_cluster_free(&scene->cluster);
}

/* ---- the same once more -------------------------------------------------------------------- */

struct running {
    const struct gw_operation *operation; /* NULL: nothing */
    double left_s, factor;
    bool waits; /* for a processor, since then */
    double since_s;
    bool holds; /* one, also while it waits for no more than a moment */
};

struct reference {
    const struct scene *scene;
    bool done[MOST_WORKERS][MOST_OPERATIONS];
    struct running compute[MOST_WORKERS], exchange; /* of the exchange, a round */
    size_t rounds_left;
    double asked_s; /* when the round wanted a processor of each machine */
    bool served[MOST_WORKERS];
    double late_s[MOST_WORKERS]; /* what an accelerator makes good of waiting for processors */
};

static bool is_ready(const struct reference *reference, size_t worker, size_t index) {
    const struct gw_schedule *schedule = &reference->scene->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    bool ready = !reference->done[worker][index];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        ready = ready &&
                reference->done[worker][schedule->dependencies[operation->first_dependency + d]];
    }
    for (size_t i = 0; i < index; i++) {
        bool same = schedule->operations[i].stream == operation->stream;
        ready = ready && (!same || reference->done[worker][i]);
    }
    return ready;
}

static bool all_ready(const struct reference *reference, size_t index) {
    for (size_t w = 0; w < reference->scene->workers; w++) {
        if (!is_ready(reference, w, index)) {
            return false;
        }
    }
    return true;
}

/* Round a ring all have come by all others after so many, and a piece of 56 KiB is passed on in
 * each; 1 where no processor is scarce. */
static size_t rounds_of(const struct scene *scene, const struct gw_operation *operation) {
    const struct gw_sharing *sharing = &scene->cluster.sharing;
    bool scarce = scene->crowding > 0 && sharing->ranks > sharing->processors;
    double rounds = fmax((double)scene->workers - 1, floor((double)operation->bytes / 57344));
    return scarce ? (size_t)rounds : 1;
}

static void begin_round(struct reference *reference, const struct gw_operation *operation,
                        double now_s) {
    double seconds =
        byte_s * (double)operation->bytes / (double)rounds_of(reference->scene, operation);
    reference->exchange = (struct running){.operation = operation, .left_s = seconds};
    reference->asked_s = now_s;
    for (size_t w = 0; w < MOST_WORKERS; w++) {
        reference->served[w] = false;
    }
}

/* Begins whatever can begin. */
static void begin_some(struct reference *reference, double now_s) {
    const struct scene *scene = reference->scene;
    for (size_t i = 0; i < scene->schedule.operation_count; i++) {
        const struct gw_operation *operation = &scene->schedule.operations[i];
        if (operation->kind == GW_EXCHANGE && reference->exchange.operation == NULL &&
            all_ready(reference, i)) {
            reference->rounds_left = rounds_of(scene, operation) - 1;
            begin_round(reference, operation, now_s);
        }
        for (size_t w = 0; w < scene->workers && operation->kind != GW_EXCHANGE; w++) {
            if (reference->compute[w].operation == NULL && is_ready(reference, w, i)) {
                bool is_led = scene->crowding > 0 && scene->schedule.way_count > 0 && w > 0;
                double seconds = operation->kind == GW_COMPRESS
                                     ? (is_led ? sum_s : element_s) * (double)operation->elements
                                     : operation->duration_s;
                double late_s = operation->dependency_count > 0 ? 0 : reference->late_s[w];
                double left_s = scene->slowdown[w] * seconds;
                if (operation->kind != GW_COMPRESS) {
                    reference->late_s[w] = fmax(0, late_s - left_s);
                    left_s = fmax(0, left_s - late_s);
                }
                bool holds = reference->compute[w].holds;
                bool needs = scene->crowding > 0 && operation->kind == GW_COMPRESS && seconds > 0;
                reference->compute[w] = (struct running){.operation = operation,
                                                         .left_s = left_s,
                                                         .waits = needs && !holds,
                                                         .since_s = now_s,
                                                         .holds = holds};
            }
        }
    }
}

static bool compresses(const struct running *running) {
    return running->operation != NULL && running->operation->kind == GW_COMPRESS &&
           running->operation->elements > 0;
}

/* Whoever does something else, unless that takes but a moment. */
static void leave_processors(struct reference *reference) {
    static const double moment_s = 20e-6;
    for (size_t w = 0; w < reference->scene->workers; w++) {
        struct running *running = &reference->compute[w];
        bool pauses = running->operation == NULL ||
                      (!compresses(running) && running->left_s * running->factor >= moment_s);
        running->holds = running->holds && !pauses;
    }
}

/* How many have processors of a worker's machine; with `waiting` the one to be next, too. */
static size_t count_compressing(struct reference *reference, size_t worker,
                                struct running **waiting) {
    size_t ranks = reference->scene->cluster.sharing.ranks;
    size_t count = 0;
    *waiting = NULL;
    for (size_t w = 0; w < reference->scene->workers; w++) {
        struct running *other = &reference->compute[w];
        if (w / ranks == worker / ranks) {
            count += other->holds;
            if (other->operation != NULL && other->waits &&
                (*waiting == NULL || other->since_s < (*waiting)->since_s)) {
                *waiting = other;
            }
        }
    }
    return count;
}

/* First come, first served, and a round takes no time of its processor. */
static void give_processors(struct reference *reference, double now_s) {
    const struct scene *scene = reference->scene;
    const struct gw_sharing *sharing = &scene->cluster.sharing;
    for (size_t w = 0; w < scene->workers && scene->crowding > 0; w++) {
        bool *served = &reference->served[w / sharing->ranks];
        struct running *next = NULL;
        while (count_compressing(reference, w, &next) < sharing->processors && next != NULL) {
            next->waits = false;
            next->holds = true;
            reference->late_s[next - reference->compute] +=
                scene->backward ? 0 : now_s - next->since_s;
            *served = *served || next->since_s > reference->asked_s;
        }
        *served = *served || count_compressing(reference, w, &next) < sharing->processors;
    }
}

static double crowding_of(struct reference *reference, size_t worker) {
    struct running *next = NULL;
    return reference->scene->crowding > 0 && compresses(&reference->compute[worker]) &&
                   count_compressing(reference, worker, &next) > 1
               ? reference->scene->crowding
               : 1;
}

/* Until its round was served on each machine whose workers share processors. */
static bool exchange_stands_still(const struct reference *reference) {
    const struct scene *scene = reference->scene;
    const struct gw_sharing *sharing = &scene->cluster.sharing;
    bool scarce = scene->crowding > 0 && sharing->ranks > sharing->processors;
    bool stands = false;
    for (size_t w = 0; w < scene->workers && scarce; w++) {
        stands = stands || !reference->served[w / sharing->ranks];
    }
    return stands;
}

static void set_paces(struct reference *reference) {
    const struct gw_overlap *overlap = reference->scene->cluster.overlap;
    const char *passes = reference->scene->backward ? GW_OVERLAP_BACKWARD : GW_OVERLAP_TIMED;
    double slowest = 0;
    for (size_t w = 0; w < reference->scene->workers; w++) {
        struct running *compute = &reference->compute[w];
        const struct gw_overlap_pair *pair = NULL;
        const struct gw_sharing *sharing = &reference->scene->cluster.sharing;
        bool timed = compute->operation != NULL && compute->operation->kind != GW_COMPRESS;
        bool turns = reference->scene->crowding > 0 && sharing->ranks > sharing->processors;
        if (compute->operation != NULL && !compute->waits &&
            (timed || (!turns && !reference->scene->waits)) &&
            reference->exchange.operation != NULL) {
            pair = gw_overlap_find(overlap, reference->exchange.operation->method,
                                   timed ? passes : compute->operation->method);
        }
        compute->factor =
            (pair == NULL ? 1 : pair->points[0].compute.factor) * crowding_of(reference, w);
        slowest = fmax(slowest, pair == NULL ? 1 : pair->points[0].communication.factor);
    }
    reference->exchange.factor = exchange_stands_still(reference) ? INFINITY : slowest;
}

static double time_left(const struct running *running) {
    bool still = running->operation == NULL || running->waits;
    return still ? INFINITY : running->left_s > 0 ? running->left_s * running->factor : 0;
}

/* Moves it on; true if it is done, which rounding must not hide. */
static bool move_on(struct running *running, double seconds) {
    if (running->operation == NULL || running->waits) {
        return false;
    }
    running->left_s -= seconds / running->factor;
    return running->left_s <= 1e-15;
}

static void end(struct reference *reference, struct running *running, size_t worker) {
    size_t index = (size_t)(running->operation - reference->scene->schedule.operations);
    reference->done[worker][index] = true;
}

static double next_end(const struct reference *reference) {
    double step_s = time_left(&reference->exchange);
    for (size_t w = 0; w < reference->scene->workers; w++) {
        step_s = fmin(step_s, time_left(&reference->compute[w]));
    }
    return step_s;
}

/* Work of no time is done before processors are assigned and paces set. */
static double run_reference(const struct scene *scene) {
    struct reference reference = {.scene = scene};
    double now_s = 0;
    for (;;) {
        begin_some(&reference, now_s);
        set_paces(&reference);
        double step_s = next_end(&reference);
        if (step_s > 0) {
            leave_processors(&reference);
            give_processors(&reference, now_s);
            set_paces(&reference);
            step_s = next_end(&reference);
        }
        if (isinf(step_s)) {
            return now_s;
        }
        now_s += step_s;
        for (size_t w = 0; w < scene->workers; w++) {
            if (move_on(&reference.compute[w], step_s)) {
                end(&reference, &reference.compute[w], w);
                reference.compute[w].operation = NULL;
            }
        }
        bool round_ends = move_on(&reference.exchange, step_s);
        if (round_ends && reference.rounds_left > 0) {
            reference.rounds_left--;
            begin_round(&reference, reference.exchange.operation, now_s);
        } else if (round_ends) {
            for (size_t w = 0; w < scene->workers; w++) {
                end(&reference, &reference.exchange, w);
            }
            reference.exchange.operation = NULL;
        }
    }
}

/* ---- running ------------------------------------------------------------------------------- */

static struct gw_measure simulate(const struct scene *scene,
                                  const struct gw_simulation *simulation) {
    struct simulation_run run;
    open_simulator(&run, &scene->schedule, &scene->cluster, simulation);
    struct gw_timeline timeline;
    struct gw_measure measures[2];
    assert_ok(gw_simulator_timeline(run.simulator, &timeline, &error));
    assert_ok(gw_simulator_run(run.simulator, 1, &timeline, &measures[0], &error));
    struct gw_measure of_timeline = measure_timeline(&timeline);
    assert_true(of_timeline.iteration_s == measures[0].iteration_s);
    double slack = 1e-9 * of_timeline.iteration_s;
    assert_true(fabs(of_timeline.breakdown.compress_s - measures[0].breakdown.compress_s) <= slack);
    assert_true(fabs(of_timeline.breakdown.exposed_comm_s - measures[0].breakdown.exposed_comm_s) <=
                slack);
    assert_true(fabs(of_timeline.comm_s - measures[0].comm_s) <= slack);
    assert_ok(gw_simulator_run(run.simulator, 2, NULL, measures, &error));
    if (simulation->network_noise.kind == GW_NOISE_NONE &&
        simulation->compute_noise.kind == GW_NOISE_NONE) {
        assert_memory_equal(&measures[0], &measures[1], sizeof measures[0]);
    }
    gw_timeline_free(&timeline);
    close_run(&run);
    return measures[0];
}

static void for_each_scene(double most, uint64_t stream,
                           void (*check)(struct scene *scene, struct gw_random *random)) {
    struct gw_random *random = random_stream(stream);
    for (int i = 0, cases = gw_trials(CASES); i < cases; i++) {
        struct scene scene;
        open_scene(&scene, random, most);
        check(&scene, random);
        close_scene(&scene);
    }
}

static void check_reference(struct scene *scene, struct gw_random *random) {
    (void)random;
    struct gw_simulation simulation = {.workers = scene->workers,
                                       .slowdown = scene->slowdown,
                                       .interference = true,
                                       .timed_compression = scene->waits};
    struct gw_measure measure = simulate(scene, &simulation);
    assert_true(near(measure.iteration_s, run_reference(scene), 1e-9));
}

TEST(random_schedules_take_what_the_reference_says) {
    for_each_scene(8, 1, check_reference);
}

/* All workers unlike: two that come to the same time on other ways are one first by rounding. */
static void check_sharing(struct scene *scene, struct gw_random *random) {
    share_machines(scene, random);
    for (size_t w = 0; w < scene->workers; w++) {
        scene->slowdown[w] = 0.5 + gw_random_uniform(random);
    }
    check_reference(scene, random);
}

TEST(workers_of_a_machine_take_turns) {
    for_each_scene(8, 5, check_sharing);
}

/* It occupies no processor: the reference is that of machines which nobody shares. */
static void check_waiting(struct scene *scene, struct gw_random *random) {
    share_machines(scene, random);
    scene->crowding = 0;
    scene->waits = true;
    check_reference(scene, random);
}

TEST(compression_that_waits_slows_nothing) {
    for_each_scene(8, 6, check_waiting);
}

/* ---- invariants ---------------------------------------------------------------------------- */

static void check_undisturbed(struct scene *scene, struct gw_random *random) {
    for (size_t p = 0; p < scene->cluster.overlap->pair_count; p++) {
        struct gw_overlap_point *point = &scene->cluster.overlap->pairs[p].points[0];
        point->compute.factor = 1 - 0.5 * gw_random_uniform(random);
    }
    struct gw_simulation simulation = {.workers = scene->workers, .seed = seed};
    simulation.slowdown = gw_random_below(random, 2) == 0 ? scene->slowdown : NULL;
    simulation.every_worker = gw_random_below(random, 2) == 0;
    if (gw_random_below(random, 2) == 0) {
        simulation.compute_noise = (struct gw_noise){.kind = GW_NOISE_LOGNORMAL, .sigma = 0.2};
        simulation.network_noise = (struct gw_noise){.kind = GW_NOISE_NORMAL, .sigma = 0.9};
    }
    struct gw_measure by_clocks = simulate(scene, &simulation);
    simulation.interference = true;
    struct gw_measure by_paces = simulate(scene, &simulation);
    assert_memory_equal(&by_paces, &by_clocks, sizeof by_clocks);
}

TEST(factors_of_1_or_less_change_no_bit) {
    for_each_scene(1, 2, check_undisturbed);
}

static void check_collapse(struct scene *scene, struct gw_random *random) {
    (void)random;
    struct gw_simulation simulation = {.workers = scene->workers, .interference = true};
    for (int heterogeneous = 0; heterogeneous < 2; heterogeneous++) {
        simulation.slowdown = heterogeneous ? scene->slowdown : NULL;
        simulation.every_worker = false;
        struct gw_measure collapsed = simulate(scene, &simulation);
        simulation.every_worker = true;
        struct gw_measure each = simulate(scene, &simulation);
        assert_memory_equal(&each, &collapsed, sizeof each);
    }
}

TEST(equal_workers_share_a_lane_to_the_bit) {
    for_each_scene(8, 3, check_collapse);
}

/* Machines that are alike take the same turns: the first, the second and what is left stand for
 * all. Means over workers differ by rounding, as lanes do. */
static void check_machines(struct scene *scene, struct gw_random *random) {
    share_machines(scene, random);
    struct gw_simulation simulation = {.interference = true};
    simulation.workers = scene->cluster.sharing.ranks * (1 + gw_random_below(random, 5)) +
                         gw_random_below(random, scene->cluster.sharing.ranks);
    struct gw_measure collapsed = simulate(scene, &simulation);
    simulation.every_worker = true;
    struct gw_measure each = simulate(scene, &simulation);
    assert_memory_equal(&each.iteration_s, &collapsed.iteration_s, sizeof each.iteration_s);
    assert_true(near(each.breakdown.compress_s, collapsed.breakdown.compress_s, 1e-12));
    assert_true(near(each.breakdown.exposed_comm_s, collapsed.breakdown.exposed_comm_s, 1e-12));
}

TEST(machines_that_are_alike_share_lanes) {
    for_each_scene(8, 7, check_machines);
}
