/*
 * Schedules exported as GOAL, with every collective that there is: also those whose ranks take
 * whoever comes first, and those with servers. They end, and take what messages take.
 */
#include "collectives/collectives.h"
#include "tests/sim/scenes.h"

enum { EXCHANGES = 3 };

/* In nanoseconds. */
static const uint64_t latency = 3000, per_byte = 2;

/*
 * Each exchange after a part of the computation and beside the next one, and an update after the
 * first exchange and after the last.
 */
static void make_scene(struct message_scene *scene, const struct gw_collective *collective,
                       size_t workers, uint64_t bytes) {
    size_t exchanges[EXCHANGES];
    size_t last = 0;
    make_message_scene(scene, collective->operation, collective->name, workers,
                       (double)latency * 1e-9, (double)per_byte * 1e-9);
    for (size_t i = 0; i < EXCHANGES; i++) {
        last = append_operation(&scene->schedule,
                                (struct gw_operation){.kind = GW_BACKWARD,
                                                      .stream = GW_STREAM_COMPUTE,
                                                      .duration_s = 2e-5},
                                &last, i > 0);
        exchanges[i] = append_operation(&scene->schedule,
                                        (struct gw_operation){.kind = GW_EXCHANGE,
                                                              .stream = GW_STREAM_COMMUNICATION,
                                                              .method = collective->operation,
                                                              .bytes = bytes},
                                        &last, 1);
    }
    for (size_t i = 0; i < EXCHANGES; i += EXCHANGES - 1) {
        (void)append_operation(&scene->schedule,
                               (struct gw_operation){.kind = GW_UPDATE,
                                                     .stream = GW_STREAM_COMPUTE,
                                                     .duration_s = 1e-5},
                               &exchanges[i], 1);
    }
}

/* The bytes that an exchange sends in all; symmetric collectives share out whole numbers of words.
 */
static uint64_t collective_bytes(const struct gw_collective *collective, struct gw_call call) {
    uint64_t sum = 0;
    while (collective->shares == GW_SHARES && gw_collective_symmetric(collective, call.workers) &&
           call.bytes % (4 * call.workers) != 0) {
        call.bytes++;
    }
    for (uint32_t rank = 0; rank < gw_collective_ranks(collective, call.workers); rank++) {
        for (uint32_t i = 0; i < collective->steps(&call, rank); i++) {
            struct gw_step step;
            collective->step(&call, rank, i, &step);
            sum += step.to == GW_NOBODY ? 0 : step.send_bytes > 0 ? step.send_bytes : 1;
        }
    }
    return sum;
}

/* Finds the largest time that a rank's processor is busy with received messages, and the bytes that
 * LogGOPS charges less: one of each message. All bytes that are sent are received. */
static uint64_t count_bytes(const struct gw_goal *goal, double *receive_ns, double *byte_ns) {
    uint64_t sent = 0, received = 0;
    *receive_ns = *byte_ns = 0;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        uint64_t before = received;
        for (uint32_t i = 0; i < goal->ranks[rank].count; i++) {
            const struct gw_goal_operation *operation =
                &goal->operations[goal->ranks[rank].first + i];
            bool is_own = operation->peer == rank; /* time that its processors hand each other */
            sent += operation->kind == GW_GOAL_SEND && !is_own ? operation->size : 0;
            received += operation->kind == GW_GOAL_RECEIVE && !is_own ? operation->size : 0;
            *byte_ns += operation->kind == GW_GOAL_RECEIVE ? (double)per_byte : 0;
        }
        *receive_ns = fmax(*receive_ns, (double)((received - before) * per_byte));
    }
    assert_true(sent == received);
    return sent;
}

/* Carrying time between processors takes nothing here, but the last bytes come a latency later. */
static void check_scene(const char *folder, const struct gw_collective *collective,
                        uint32_t workers, uint64_t bytes) {
    struct message_scene scene;
    struct gw_result notes = {0};
    double receive_ns = 0;
    double byte_ns = 0;
    bool symmetric = gw_collective_symmetric(collective, workers);
    make_scene(&scene, collective, workers, bytes);
    struct gw_goal goal = exported_goal(&scene.schedule, &scene.cluster, &scene.simulation,
                                        path_in(folder, "f.goal"), &notes);
    assert_int_equal(goal.rank_count, gw_collective_ranks(collective, workers));
    assert_int_equal(notes.note_count > 0, !symmetric);
    const struct gw_call call = {.workers = workers, .bytes = bytes};
    uint64_t expected = bytes == 0 ? 0 : EXCHANGES * collective_bytes(collective, call);
    assert_int_equal(count_bytes(&goal, &receive_ns, &byte_ns), expected);
    double loggops = goal_finish_ns(&goal, latency, per_byte);
    double messages = 1e9 * message_scene_s(&scene);
    double most = (double)latency + byte_ns + (symmetric ? 0 : receive_ns);
    if (!(loggops <= messages + most && loggops >= messages - byte_ns)) {
        fail_msg("%s %s, %u workers, %llu bytes: %g ns, messages %g ns, expected up to %g more",
                 collective->operation, collective->name, workers, (unsigned long long)bytes,
                 loggops, messages, most);
    }
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
    struct message_scene scene;
    const struct gw_collective *ring = NULL;
    assert_ok(gw_collective_find("allreduce", "ring", &ring, NULL));
    make_scene(&scene, ring, 4, 40);
    scene.simulation.slowdown = slowdown;
    struct gw_result notes = {0};
    struct gw_goal goal = exported_goal(&scene.schedule, &scene.cluster, &scene.simulation,
                                        path_in(*state, "f.goal"), &notes);
    double loggops = goal_finish_ns(&goal, latency, per_byte);
    double messages = 1e9 * message_scene_s(&scene);
    assert_true(messages > 3 * (EXCHANGES * 2e4 + 1e4));
    assert_true(loggops >= messages - 100 && loggops <= messages + (double)latency + 100);
    gw_schedule_free(&scene.schedule);
}

TEST_IN_FOLDER(refuses_times_that_do_not_fit) {
    char loggp[GW_EXPORT_LOGGP_SIZE];
    struct message_scene scene;
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
