/*
 * Schedules exported as GOAL, with every collective that there is: also those whose ranks take
 * whoever comes first, and those with servers. They end, and take what messages take.
 */
#include "collectives/collectives.h"
#include "goal/goal.h"
#include "tests/sim/schedules.h"
#include "tests/sim/simulate.h"

enum { EXCHANGES = 3 };

/* In nanoseconds. */
static const uint64_t latency = 3000, per_byte = 2;

struct scene {
    struct gw_network network;
    struct gw_cluster cluster;
    struct gw_schedule schedule;
    struct gw_simulation simulation;
    struct gw_collective_choice choice;
};

static size_t add(struct scene *scene, struct gw_operation operation, const size_t *after,
                  size_t count) {
    operation.label = "";
    return append_operation(&scene->schedule, operation, after, count);
}

/*
 * Each exchange after a part of the computation and beside the next one, and an update after the
 * first exchange and after the last.
 */
static void make_scene(struct scene *scene, const struct gw_collective *collective, size_t workers,
                       uint64_t bytes) {
    struct gw_loggp loggp = {.latency_s = (double)latency * 1e-9,
                             .gap_s_per_byte = (double)per_byte * 1e-9};
    size_t exchanges[EXCHANGES];
    size_t last = 0;
    *scene = (struct scene){.choice = {collective->operation, collective->name}};
    scene->network = (struct gw_network){.within = loggp, .between = loggp, .oversubscription = 1};
    scene->cluster = (struct gw_cluster){
        .name = "scene", .workers = workers, .workers_per_node = 1, .network = &scene->network};
    scene->simulation = (struct gw_simulation){.workers = workers,
                                               .level = GW_LEVEL_MESSAGES,
                                               .choice_count = 1,
                                               .choices = &scene->choice};
    for (size_t i = 0; i < EXCHANGES; i++) {
        last = add(scene,
                   (struct gw_operation){
                       .kind = GW_BACKWARD, .stream = GW_STREAM_COMPUTE, .duration_s = 2e-5},
                   &last, i > 0);
        exchanges[i] = add(scene,
                           (struct gw_operation){.kind = GW_EXCHANGE,
                                                 .stream = GW_STREAM_COMMUNICATION,
                                                 .method = collective->operation,
                                                 .bytes = bytes},
                           &last, 1);
    }
    for (size_t i = 0; i < EXCHANGES; i += EXCHANGES - 1) {
        (void)add(scene,
                  (struct gw_operation){
                      .kind = GW_UPDATE, .stream = GW_STREAM_COMPUTE, .duration_s = 1e-5},
                  &exchanges[i], 1);
    }
}

static char loggp[GW_EXPORT_LOGGP_SIZE];

/* Whether it was noted that not all ranks are alike. */
static bool noted;

static struct gw_goal export(struct scene *scene, const char *path) {
    struct gw_result notes = {0};
    struct simulation_run run;
    open_simulator(&run, &scene->schedule, &scene->cluster, &scene->simulation);
    struct gw_error error = {0};
    struct gw_goal goal = {0};
    if (gw_simulator_export_goal(run.simulator, path, loggp, &notes, &error) != GW_OK ||
        gw_goal_read(path, &goal, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    noted = notes.note_count > 0;
    close_run(&run);
    return goal;
}

static double messages_ns(struct scene *scene) {
    struct gw_measure measure;
    run_simulation(&scene->schedule, &scene->cluster, &scene->simulation, 1, NULL, &measure);
    return measure.iteration_s * 1e9;
}

static double loggops_ns(struct gw_goal *goal) {
    struct gw_loggops parameters = {.L = latency, .G = per_byte, .S = UINT64_MAX};
    struct gw_goal_result result;
    struct gw_error error = {0};
    uint64_t last = 0;
    if (gw_goal_run(goal, &parameters, NULL, &result, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        last = result.finish_ns[rank] > last ? result.finish_ns[rank] : last;
    }
    free(result.finish_ns);
    return (double)last;
}

/* The largest time that a rank's processor is busy with received messages, and the bytes that
 * LogGOPS charges less: one of each message. */
static void count(const struct gw_goal *goal, double *receive_ns, double *byte_ns) {
    *receive_ns = *byte_ns = 0;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        double sum = 0;
        for (uint32_t i = 0; i < goal->ranks[rank].count; i++) {
            const struct gw_goal_operation *operation =
                &goal->operations[goal->ranks[rank].first + i];
            bool receive = operation->kind == GW_GOAL_RECEIVE;
            sum += receive ? (double)(operation->size * per_byte) : 0;
            *byte_ns += receive ? (double)per_byte : 0;
        }
        *receive_ns = fmax(*receive_ns, sum);
    }
}

/* Carrying time between processors takes nothing here, but the last bytes come a latency later. */
static void check_scene(const char *folder, const struct gw_collective *collective,
                        uint32_t workers, uint64_t bytes) {
    struct scene scene;
    double receive_ns = 0;
    double byte_ns = 0;
    make_scene(&scene, collective, workers, bytes);
    struct gw_goal goal = export(&scene, path_in(folder, "f.goal"));
    assert_int_equal(goal.rank_count, gw_collective_ranks(collective, workers));
    assert_int_equal(noted, !gw_collective_symmetric(collective, workers));
    count(&goal, &receive_ns, &byte_ns);
    double loggops = loggops_ns(&goal);
    double messages = messages_ns(&scene);
    double most =
        (double)latency + byte_ns + (gw_collective_symmetric(collective, workers) ? 0 : receive_ns);
    if (!(loggops <= messages + most && loggops >= messages - byte_ns)) {
        fail_msg("%s %s, %u workers, %llu bytes: %g ns, messages %g ns, expected up to %g more",
                 collective->operation, collective->name, workers, (unsigned long long)bytes,
                 loggops, messages, most);
    }
    gw_goal_free(&goal);
    gw_schedule_free(&scene.schedule);
}

TEST_IN_FOLDER(exports_every_collective) {
    static const uint64_t bytes[] = {0, 1, 40, 9996, 100000};
    for (size_t c = 0; gw_collectives[c] != NULL; c++) {
        for (uint32_t workers = 1; workers <= 9; workers++) {
            for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++) {
                check_scene(*state, gw_collectives[c], workers, bytes[b]);
            }
        }
    }
}

/* Slow workers compute longer, in the file as well. */
TEST_IN_FOLDER(exports_stragglers) {
    static const double slowdown[] = {1, 3, 1, 1};
    struct scene scene;
    const struct gw_collective *ring = NULL;
    assert_int_equal(gw_collective_find("allreduce", "ring", &ring, NULL), GW_OK);
    make_scene(&scene, ring, 4, 40);
    scene.simulation.slowdown = slowdown;
    struct gw_goal goal = export(&scene, path_in(*state, "f.goal"));
    double loggops = loggops_ns(&goal);
    double messages = messages_ns(&scene);
    assert_true(messages > 3 * (EXCHANGES * 2e4 + 1e4));
    assert_true(loggops >= messages - 100 && loggops <= messages + (double)latency + 100);
    gw_goal_free(&goal);
    gw_schedule_free(&scene.schedule);
}

TEST_IN_FOLDER(refuses_times_that_do_not_fit) {
    struct scene scene;
    struct gw_error error = {0};
    make_scene(&scene, gw_collectives[0], 2, 40);
    scene.schedule.operations[0].duration_s = 4.7e9; /* 2^62 ns are 4.61e9 s */
    struct simulation_run run;
    open_simulator(&run, &scene.schedule, &scene.cluster, &scene.simulation);
    assert_int_equal(
        gw_simulator_export_goal(run.simulator, path_in(*state, "f.goal"), loggp, NULL, &error),
        GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "expected operations of at most 2^62 ns"));
    assert_int_equal(count_entries(*state), 0);
    close_run(&run);
    gw_schedule_free(&scene.schedule);
}
