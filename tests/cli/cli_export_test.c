/*
 * Pipelines exported as GOAL: every message is sent and received, the bytes are the collectives',
 * and run under LogGOPS they take what simulate says of messages with the same parameters, as far
 * as the two models agree.
 */
#include "collectives/collectives.h"
#include "goal/goal.h"
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

/* Nanoseconds. Of O LogGOPS charges the larger of it and G, where messages are charged both. */
static const uint64_t L = 5000, o = 1000, g = 700, G = 10;
#define LOGGP "L=5000,o=1000,g=700,G=10"

/* ---- cases --------------------------------------------------------------------------------- */

struct export_case {
    const char *algorithm, *operation, *collective;
    uint32_t workers;
    char options[256]; /* what export and simulate are both given */
};

/* For every algorithm of the table, number of workers, and algorithm of its collective. */
static void for_all_cases(const char *folder,
                          void (*check)(const char *folder, const struct export_case *subject)) {
    static const char *const algorithms[][2] = {{"p-sgd", "allreduce"},
                                                {"dense", "allreduce"},
                                                {"omgs", "allgather"},
                                                {"topk", "allgather"}};
    static const uint32_t workers[] = {2, 3, 4, 5, 8};
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            for (size_t c = 0; gw_collectives[c] != NULL; c++) {
                struct export_case subject = {.algorithm = algorithms[a][0],
                                              .operation = algorithms[a][1],
                                              .collective = gw_collectives[c]->name,
                                              .workers = workers[w]};
                if (strcmp(gw_collectives[c]->operation, subject.operation) == 0) {
                    (void)snprintf(subject.options, sizeof subject.options,
                                   "tiny.json --cluster small.json --density 0.05 --algo %s "
                                   "--workers %u --collective %s=%s",
                                   subject.algorithm, subject.workers, subject.operation,
                                   subject.collective);
                    check(folder, &subject);
                }
            }
        }
    }
}

static struct gw_goal export(const char *folder, const struct export_case *subject) {
    char command[512];
    struct gw_goal goal = {0};
    struct gw_error error = {0};
    (void)snprintf(command, sizeof command, "gradweave export goal %s --out f.goal",
                   subject->options);
    struct answer answer = ask(folder, command);
    if (answer.status != 0 || gw_goal_read(path_in(folder, "f.goal"), &goal, &error) != GW_OK) {
        fail_msg("%s: %s%s", command, answer.err, error.message);
    }
    return goal;
}

/* ---- what is sent -------------------------------------------------------------------------- */

/* Sends minus receives, of one sender, receiver, tag and size. */
static int balance(const struct gw_goal *goal, uint32_t from, uint32_t to,
                   const struct gw_goal_operation *like) {
    int sum = 0;
    for (uint32_t i = 0; i < goal->ranks[from].count; i++) {
        const struct gw_goal_operation *send = &goal->operations[goal->ranks[from].first + i];
        sum += send->kind == GW_GOAL_SEND && send->peer == to && send->tag == like->tag &&
               send->size == like->size;
    }
    for (uint32_t i = 0; i < goal->ranks[to].count; i++) {
        const struct gw_goal_operation *receive = &goal->operations[goal->ranks[to].first + i];
        sum -= receive->kind == GW_GOAL_RECEIVE && receive->peer == from &&
               receive->tag == like->tag && receive->size == like->size;
    }
    return sum;
}

/* The bytes that an exchange sends in all, by its collective; shares are made equal if possible. */
static uint64_t collective_bytes(const struct export_case *subject, uint64_t bytes) {
    const struct gw_collective *collective = NULL;
    uint64_t sum = 0;
    struct gw_call call = {.workers = subject->workers, .bytes = bytes};
    assert_ok(gw_collective_find(subject->operation, subject->collective, &collective, NULL));
    while (collective->shares && gw_collective_symmetric(collective, call.workers) &&
           call.bytes % (4 * call.workers) != 0) {
        call.bytes++;
    }
    for (uint32_t rank = 0; rank < call.workers; rank++) {
        for (uint32_t i = 0; i < collective->steps(&call, rank); i++) {
            struct gw_step step;
            collective->step(&call, rank, i, &step);
            sum += step.to == GW_NOBODY ? 0 : step.send_bytes;
        }
    }
    return sum;
}

/* The model's groups in exchange order, as bytes of a worker: dense, or 5% of 8 bytes each. */
static uint64_t expected_bytes(const struct export_case *subject) {
    static const uint64_t tensors[] = {100, 50000, 3000, 20000};
    uint64_t sum = 0;
    if (strcmp(subject->algorithm, "p-sgd") == 0) {
        for (size_t i = 0; i < 4; i++) {
            sum += collective_bytes(subject, 4 * tensors[i]);
        }
        return sum;
    }
    return collective_bytes(subject,
                            strcmp(subject->algorithm, "dense") == 0 ? 4 * 73100 : 8 * 3655);
}

static void check_messages(const char *folder, const struct export_case *subject) {
    struct gw_goal goal = export(folder, subject);
    uint64_t bytes = 0;
    assert_int_equal(goal.rank_count, subject->workers);
    for (uint32_t rank = 0; rank < goal.rank_count; rank++) {
        for (uint32_t i = 0; i < goal.ranks[rank].count; i++) {
            const struct gw_goal_operation *operation =
                &goal.operations[goal.ranks[rank].first + i];
            bool send = operation->kind == GW_GOAL_SEND;
            if (operation->kind == GW_GOAL_CALC) {
                continue;
            }
            uint32_t from = send ? rank : operation->peer;
            uint32_t to = send ? operation->peer : rank;
            bool token = from == to; /* which carries time from one processor to the other */
            assert_int_equal(balance(&goal, from, to, operation), 0);
            assert_true(!token || operation->size == 1);
            bytes += send && !token ? operation->size : 0;
        }
    }
    if (strcmp(subject->algorithm, "omgs") != 0 && bytes != expected_bytes(subject)) {
        fail_msg("%s: %llu bytes, expected %llu", subject->options, (unsigned long long)bytes,
                 (unsigned long long)expected_bytes(subject));
    }
    gw_goal_free(&goal);
}

TEST(every_message_is_sent_and_received) {
    for_all_cases(*state, check_messages);
}

/* ---- how long it takes --------------------------------------------------------------------- */

static double messages_ns(const char *folder, const struct export_case *subject) {
    cJSON *result =
        ask_result(folder, "gradweave simulate %s --network messages --loggp " LOGGP " --json",
                   subject->options);
    double iteration_ns = number_at(result, "iteration_s") * 1e9;
    return iteration_ns;
}

static double loggops_ns(struct gw_goal *goal) {
    struct gw_loggops parameters = {.L = L, .o = o, .g = g, .G = G, .S = UINT64_MAX};
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

struct margins {
    double tokens_ns;  /* carrying time from one processor to the other, and the last arrivals */
    double bytes_ns;   /* the byte less that LogGOPS charges a message, and rounding */
    double receive_ns; /* what the busiest rank receives: its processor is busy with it */
};

/* Before the run, which uses the schedule up. */
static struct margins margins_of(const struct gw_goal *goal) {
    struct margins margins = {0};
    for (uint32_t worker = 0; worker < goal->rank_count; worker++) {
        const struct gw_goal_rank *rank = &goal->ranks[worker];
        double tokens = 0;
        double receive_ns = 0;
        for (uint32_t i = rank->first; i < rank->first + rank->count; i++) {
            const struct gw_goal_operation *operation = &goal->operations[i];
            bool receive = operation->kind == GW_GOAL_RECEIVE;
            bool token = receive && operation->peer == worker;
            tokens += token;
            receive_ns += receive && !token ? (double)(o + operation->size * G) : 0;
        }
        double operations = rank->count;
        margins.tokens_ns =
            fmax(margins.tokens_ns, tokens * (double)(2 * o + g) + (double)(L + 2 * o));
        margins.bytes_ns = fmax(margins.bytes_ns, operations * (double)(G + 1));
        margins.receive_ns = fmax(margins.receive_ns, receive_ns);
    }
    return margins;
}

/*
 * A message takes o + L + n G + o in the one model and o + L + o + (n - 1) G in the other, whose
 * receiver is busy for the last two: it sends nothing meanwhile. That is no matter where all ranks
 * take their steps at the same time. Elsewhere a rank may be late with what it sends, by no more
 * than all that it receives.
 */
static void check_times_agree(const char *folder, const struct export_case *subject) {
    const struct gw_collective *collective = NULL;
    struct gw_goal goal = export(folder, subject);
    struct margins margins = margins_of(&goal);
    double difference_ns = loggops_ns(&goal) - messages_ns(folder, subject);
    gw_goal_free(&goal);
    assert_ok(gw_collective_find(subject->operation, subject->collective, &collective, NULL));
    double most_ns = margins.tokens_ns + margins.bytes_ns;
    if (!gw_collective_symmetric(collective, subject->workers)) {
        most_ns += margins.receive_ns;
    }
    if (!(difference_ns <= most_ns && difference_ns >= -margins.bytes_ns)) {
        fail_msg("%s: LogGOPS takes %g ns more, expected %g to %g", subject->options, difference_ns,
                 -margins.bytes_ns, most_ns);
    }
}

TEST(takes_as_long_as_messages) {
    for_all_cases(*state, check_times_agree);
}

/* ---- there and back ------------------------------------------------------------------------- */

static double finish_of(const char *folder, const char *options) {
    cJSON *result = ask_for(folder, "gradweave/goal-result@1",
                            "gradweave simulate --goal round.goal --json%s", options);
    const cJSON *rank = NULL;
    double last_ns = 0;
    cJSON_ArrayForEach(rank, item_at(result, "finish_ns")) {
        last_ns = fmax(last_ns, rank->valuedouble);
    }
    return last_ns;
}

/* Every operation of a rank may be rounded by half a nanosecond. */
static void check_round_trip(const char *folder, const char *question) {
    cJSON *messages =
        ask_result(folder, "gradweave simulate %s --network messages --json", question);
    struct answer written =
        ask(folder, "gradweave export goal %s --out round.goal --json", question);
    struct gw_goal goal = {0};
    assert_int_equal(written.status, 0);
    assert_ok(gw_goal_read(path_in(folder, "round.goal"), &goal, NULL));
    double rounding_ns = 1 + 0.5 * goal.ranks[0].count;
    gw_goal_free(&goal);
    double finish_ns = finish_of(folder, "");
    double expected_ns = 1e9 * number_at(messages, "iteration_s");
    if (!(fabs(finish_ns - expected_ns) <= rounding_ns)) {
        fail_msg("%s: %.1f ns by the schedule, %.1f ns by messages, expected at most %g between",
                 question, finish_ns, expected_ns, rounding_ns);
    }
}

static void make_random_model(const char *folder, struct gw_random *random, char *text,
                              size_t size) {
    size_t tensors = 1 + gw_random_below(random, 12);
    size_t used = (size_t)snprintf(
        text, size,
        "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': %.9f, "
        "'update_s': %.9f, 'tensors': [",
        1e-3 * gw_random_uniform(random), (double)gw_random_below(random, 2) * 1e-5);
    for (size_t i = 0; i < tensors; i++) {
        used += (size_t)snprintf(
            text + used, size - used, "%s{'name': 't%zu', 'elements': %d, 'backward_s': %.9f}",
            i == 0 ? "" : ", ", i, (int)(100 + gw_random_below(random, 100000)),
            1e-4 * gw_random_uniform(random));
    }
    (void)snprintf(text + used, size - used, "]}");
    write_text(folder, "random.json", text);
}

/*
 * For ranks that are all alike; with overheads and gaps too, and bytes of fractions of nanoseconds.
 */
TEST(a_schedule_takes_what_messages_take) {
    static const char *const pipelines[] = {"p-sgd",
                                            "dense",
                                            "mg-wfbp",
                                            "ddp --policy optimal",
                                            "omgs",
                                            "topk --policy threshold:5000",
                                            "dgc --policy per-tensor",
                                            "p-sgd --policy optimal"};
    static const char *const parameters[] = {"", " --loggp L=5000,G=0.008", " --loggp L=700,G=10",
                                             " --loggp L=5000,o=700,g=2500,O=0.125,G=0.8"};
    struct gw_random *random = NULL;
    char text[4096];
    assert_ok(gw_random_open(&random, choose_seed(), 0, NULL));
    for (int trial = gw_trials(60); trial > 0; trial--) {
        char question[256];
        make_random_model(*state, random, text, sizeof text);
        (void)snprintf(question, sizeof question,
                       "random.json --cluster small.json --workers %d --algo %s%s",
                       (int)(2 + gw_random_below(random, 7)), pipelines[gw_random_below(random, 8)],
                       parameters[gw_random_below(random, 4)]);
        check_round_trip(*state, question);
    }
    gw_random_close(random);
}

FIXTURES(make_inputs, remove_folder)
