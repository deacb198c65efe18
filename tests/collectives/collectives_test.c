/*
 * Collectives do what they are for: an interpreter runs the steps of all ranks on data that says
 * where it comes from, in a random order, and checks what each rank holds in the end. Sends go on
 * at once, or wait for their receives.
 */
#include "tests/collectives/collectives_support.h"
#include "tests/test.h"

/* ---- what operations are for ---------------------------------------------------------------- */

typedef bool holds(uint32_t workers, uint32_t rank, uint32_t block);

static bool workers_do(uint32_t workers, uint32_t rank, uint32_t block) {
    (void)block;
    return rank < workers;
}

static bool owner_does(uint32_t workers, uint32_t rank, uint32_t block) {
    (void)workers;
    return rank == block;
}

static bool root_does(uint32_t workers, uint32_t rank, uint32_t block) {
    (void)workers, (void)block;
    return rank == 0;
}

static bool server_does(uint32_t workers, uint32_t rank, uint32_t block) {
    (void)block;
    return rank == workers;
}

/* The contributors to a block, and the ranks that have all contributions in the end, each once. */
static const struct meaning {
    const char *operation;
    holds *before, *after;
} meanings[] = {
    {"allgather", owner_does, workers_do}, {"allreduce", workers_do, workers_do},
    {"broadcast", root_does, workers_do},  {"reduce", workers_do, root_does},
    {"gather", owner_does, root_does},     {"scatter", root_does, owner_does},
    {"ps", workers_do, workers_do},        {"push", workers_do, server_does},
    {"pull", server_does, workers_do},     {"gtopk", workers_do, workers_do},
    {"sketch", workers_do, workers_do},
};

enum { MEANING_COUNT = sizeof meanings / sizeof *meanings };

static const struct meaning *meaning_of(const struct gw_collective *collective) {
    for (size_t i = 0; i < MEANING_COUNT; i++) {
        if (strcmp(meanings[i].operation, collective->operation) == 0) {
            return &meanings[i];
        }
    }
    return NULL;
}

/* ---- the interpreter ------------------------------------------------------------------------ */

/* How many contributions, and the sum of their marks: random numbers that tell them apart. */
struct cell {
    uint64_t count, sum;
};

struct message {
    struct message *next;
    uint32_t from;
    struct gw_blocks blocks;
    uint64_t bytes;
    struct cell cells[];
};

struct rank {
    uint32_t index, steps;
    bool sent, queued;
    uint32_t waits_for; /* the rank that does not receive yet what this one sends; or itself */
    struct cell *held;
    struct message *inbox, **inbox_end;
};

struct run {
    const struct gw_collective *collective;
    struct gw_call call;
    bool sends_wait; /* for the receiver to be at the step that takes the message */
    uint32_t rank_count, block_count;
    struct rank *ranks;
    struct cell *cells;
    uint32_t *ready; /* ranks that may be able to go on */
    uint32_t ready_count;
    uint64_t bytes_out, bytes_in;
    struct gw_random *random;
};

static struct cell mark(uint32_t rank, uint32_t block) {
    uint64_t x = seed + rank * 0x9e3779b97f4a7c15ULL + block * 0xd1b54a32d192ed03ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return (struct cell){1, x ^ x >> 31};
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static void queue(struct run *run, uint32_t rank) {
    if (!run->ranks[rank].queued) {
        run->ranks[rank].queued = true;
        run->ready[run->ready_count++] = rank;
    }
}

static void start(struct run *run, const struct gw_collective *collective, struct gw_call call,
                  bool sends_wait) {
    uint32_t ranks = gw_collective_ranks(collective, call.workers);
    uint32_t blocks = count_blocks(collective, call.workers);
    *run = (struct run){.collective = collective,
                        .call = call,
                        .sends_wait = sends_wait,
                        .rank_count = ranks,
                        .block_count = blocks};
    run->ranks = allocate(ranks, sizeof *run->ranks);
    run->ready = allocate(ranks, sizeof *run->ready);
    run->cells = allocate((size_t)ranks * blocks, sizeof *run->cells);
    run->random = random_stream(call.workers);
    for (uint32_t r = 0; r < ranks; r++) {
        struct rank *rank = &run->ranks[r];
        rank->steps = collective->steps(&call, r);
        rank->waits_for = r;
        rank->held = run->cells + (size_t)r * blocks;
        rank->inbox_end = &rank->inbox;
        for (uint32_t b = 0; b < blocks; b++) {
            if (meaning_of(collective)->before(call.workers, r, b)) {
                rank->held[b] = mark(r, b);
            }
        }
        queue(run, r);
    }
}

static void stop(struct run *run) {
    free(run->cells);
    free(run->ready);
    free(run->ranks);
}

static void send(struct run *run, uint32_t from, const struct gw_step *step) {
    check(&run->call, run->collective, step->to < run->rank_count && step->to != from);
    check(&run->call, run->collective,
          step->send.first < run->block_count && step->send.count >= 1 &&
              step->send.count <= run->block_count);
    struct message *message = malloc(sizeof *message + step->send.count * sizeof(struct cell));
    assert_non_null(message);
    *message = (struct message){.from = from, .blocks = step->send, .bytes = step->send_bytes};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < step->send.count; i++) {
        uint32_t block = (step->send.first + i) % run->block_count;
        bytes += block_bytes(run->collective, &run->call, block);
        message->cells[i] = run->ranks[from].held[block];
    }
    check(&run->call, run->collective, bytes == step->send_bytes);
    run->bytes_out += bytes;
    struct rank *to = &run->ranks[step->to];
    *to->inbox_end = message;
    to->inbox_end = &message->next;
    queue(run, step->to);
}

/* The first message from whom the step receives, if it has come. */
static struct message *take(struct rank *rank, uint32_t from) {
    struct message **link = &rank->inbox;
    while (*link != NULL && from != GW_ANYBODY && (*link)->from != from) {
        link = &(*link)->next;
    }
    struct message *message = *link;
    if (message != NULL) {
        *link = message->next;
        if (*link == NULL) {
            rank->inbox_end = link;
        }
    }
    return message;
}

/* Blocks without bytes are nobody's concern: it is not said whether they are combined. */
static void apply(struct run *run, struct rank *rank, const struct gw_step *step,
                  const struct message *message) {
    check(&run->call, run->collective, message->bytes == step->receive_bytes);
    check(&run->call, run->collective, message->blocks.count == step->receive.count);
    check(&run->call, run->collective,
          step->from == GW_ANYBODY || message->blocks.first == step->receive.first);
    check(&run->call, run->collective,
          step->combined_bytes == 0 || step->combined_bytes == step->receive_bytes);
    for (uint32_t i = 0; i < message->blocks.count; i++) {
        uint32_t block = (message->blocks.first + i) % run->block_count;
        struct cell *held = &rank->held[block];
        if (step->combined_bytes > 0) {
            held->count += message->cells[i].count;
            held->sum += message->cells[i].sum;
        } else if (block_bytes(run->collective, &run->call, block) > 0) {
            /* nothing travels in vain */
            check(&run->call, run->collective,
                  message->cells[i].count > held->count || run->call.workers == 1);
            *held = message->cells[i];
        }
    }
    run->bytes_in += message->bytes;
}

/* Whether the rank is at a step that takes a message from `from`, and has not got one yet. */
static bool expects(const struct run *run, uint32_t number, uint32_t from) {
    const struct rank *rank = &run->ranks[number];
    if (rank->index == rank->steps || rank->inbox != NULL) {
        return false;
    }
    struct gw_step step = step_of(run->collective, &run->call, number, rank->index);
    return step.from == from || step.from == GW_ANYBODY;
}

static void advance(struct run *run, uint32_t number) {
    struct rank *rank = &run->ranks[number];
    if (rank->index == rank->steps) {
        return;
    }
    struct gw_step step = step_of(run->collective, &run->call, number, rank->index);
    if (step.to != GW_NOBODY && !rank->sent) {
        if (run->sends_wait && !expects(run, step.to, number)) {
            rank->waits_for = step.to;
            return;
        }
        send(run, number, &step);
        rank->sent = true;
    }
    if (step.from != GW_NOBODY) {
        struct message *message = take(rank, step.from);
        if (message == NULL) {
            return;
        }
        apply(run, rank, &step, message);
        free(message);
    } else {
        check(&run->call, run->collective, step.receive_bytes == 0 && step.to != GW_NOBODY);
    }
    rank->index++;
    rank->sent = false;
    queue(run, number);
    for (uint32_t r = 0; r < run->rank_count && run->sends_wait; r++) {
        if (run->ranks[r].waits_for == number) {
            queue(run, r);
        }
    }
}

static void check_end(const struct run *run) {
    const struct meaning *meaning = meaning_of(run->collective);
    check(&run->call, run->collective, run->bytes_in == run->bytes_out);
    for (uint32_t r = 0; r < run->rank_count; r++) {
        check(&run->call, run->collective, run->ranks[r].index == run->ranks[r].steps);
        check(&run->call, run->collective, run->ranks[r].inbox == NULL);
    }
    for (uint32_t b = 0; b < run->block_count; b++) {
        struct cell all = {0};
        for (uint32_t r = 0; r < run->rank_count; r++) {
            if (meaning->before(run->call.workers, r, b)) {
                all.count++;
                all.sum += mark(r, b).sum;
            }
        }
        for (uint32_t r = 0; r < run->rank_count; r++) {
            const struct cell *held = &run->ranks[r].held[b];
            check(&run->call, run->collective,
                  !meaning->after(run->call.workers, r, b) ||
                      block_bytes(run->collective, &run->call, b) == 0 ||
                      (held->count == all.count && held->sum == all.sum));
        }
    }
}

static void interpret(const struct gw_collective *collective, struct gw_call call,
                      bool sends_wait) {
    struct run run;
    start(&run, collective, call, sends_wait);
    while (run.ready_count > 0) {
        uint32_t chosen = (uint32_t)gw_random_below(run.random, run.ready_count);
        uint32_t rank = run.ready[chosen];
        run.ready[chosen] = run.ready[--run.ready_count];
        run.ranks[rank].queued = false;
        advance(&run, rank);
    }
    check_end(&run);
    stop(&run);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* All but sendrecv, which has no result to speak of, and alltoall, below. */
static void interpret_all(uint32_t workers, uint64_t bytes) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        if (meaning_of(gw_collectives[i]) != NULL) {
            interpret(gw_collectives[i], (struct gw_call){workers, bytes}, false);
            if (workers <= 64) { /* more take long */
                interpret(gw_collectives[i], (struct gw_call){workers, bytes}, true);
            }
        } else {
            const char *operation = gw_collectives[i]->operation;
            assert_true(strcmp(operation, "sendrecv") == 0 || strcmp(operation, "alltoall") == 0);
        }
    }
}

TEST(data_end_where_they_should) {
    for (uint32_t workers = 1; workers <= 64; workers++) {
        interpret_all(workers, 4ULL * workers * 64 + 4);
    }
}

TEST(collectives_are_right_with_many_workers) {
    static const uint32_t many[] = {100, 127, 128, 129, 255, 1000};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        interpret_all(many[i], 1 << 20);
    }
}

/* Shares that differ, that are not whole elements, and that are empty. */
TEST(collectives_are_right_with_any_number_of_bytes) {
    struct gw_random *random = random_stream(1);
    for (int i = 0, trials = gw_trials(200); i < trials; i++) {
        uint32_t workers = 1 + (uint32_t)gw_random_below(random, 48);
        interpret_all(workers, gw_random_below(random, 1ULL << gw_random_below(random, 12)));
    }
}

/*
 * Blocks of every rank for every rank go where the steps' ranks send them: pairwise, those of the
 * receiver; by Bruck, those whose way has bit k in round k.
 */
static void check_exchange(const struct gw_collective *collective, struct gw_call call) {
    uint32_t P = call.workers;
    bool pairwise = strcmp(collective->name, "pairwise") == 0;
    uint64_t part = (call.bytes + P - 1) / P;
    uint32_t *at = allocate((size_t)P * P, sizeof *at); /* of the block from, to */
    uint64_t *moved = allocate(P, sizeof *moved);
    for (uint32_t i = 0; i < P * P; i++) {
        at[i] = i / P;
    }
    for (uint32_t index = 0; index < collective->steps(&call, 0); index++) {
        memset(moved, 0, P * sizeof *moved);
        for (uint32_t i = 0; i < P * P; i++) {
            uint32_t holder = at[i];
            uint32_t way = (i % P + P - holder) % P;
            struct gw_step step = step_of(collective, &call, holder, index);
            if (pairwise ? i / P == holder && i % P == step.to : (way >> index & 1) == 1) {
                at[i] = step.to;
                moved[holder]++;
            }
        }
        for (uint32_t rank = 0; rank < P; rank++) {
            struct gw_step step = step_of(collective, &call, rank, index);
            check(&call, collective, step.send_bytes == moved[rank] * part);
            check(&call, collective, step.receive_bytes == step.send_bytes);
            check(&call, collective, step.combined_bytes == 0);
        }
    }
    for (uint32_t i = 0; i < P * P; i++) {
        check(&call, collective, at[i] == i % P);
    }
    free(at);
    free(moved);
}

TEST(blocks_of_all_reach_all) {
    for (uint32_t workers = 1; workers <= 33; workers++) {
        for (uint64_t bytes = 0; bytes < 3 * workers; bytes += workers / 2 + 1) {
            check_exchange(find("alltoall", "pairwise"), (struct gw_call){workers, bytes});
            check_exchange(find("alltoall", "bruck"), (struct gw_call){workers, bytes});
        }
    }
}

TEST(even_ranks_send_to_odd_ones) {
    const struct gw_collective *pairs = find("sendrecv", NULL);
    for (uint32_t workers = 1; workers <= 9; workers++) {
        const struct gw_call call = {workers, 100};
        for (uint32_t r = 0; r < workers; r++) {
            bool alone = r % 2 == 0 && r + 1 == workers;
            assert_int_equal(pairs->steps(&call, r), alone ? 0 : 1);
            if (!alone) {
                struct gw_step step = step_of(pairs, &call, r, 0);
                assert_int_equal(step.to, r % 2 == 0 ? r + 1 : GW_NOBODY);
                assert_int_equal(step.from, r % 2 == 1 ? r - 1 : GW_NOBODY);
                assert_int_equal(step.send_bytes, r % 2 == 0 ? 100 : 0);
                assert_int_equal(step.receive_bytes, r % 2 == 1 ? 100 : 0);
            }
        }
    }
}

TEST(stars_serve_ranks_in_order) {
    const struct gw_call call = {7, 100};
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(step_of(find("pull", NULL), &call, 7, i).to, i);
        assert_int_equal(step_of(find("ps", NULL), &call, 7, 7 + i).to, i);
        assert_int_equal(step_of(find("ps", NULL), &call, 7, i).from, GW_ANYBODY);
        assert_int_equal(step_of(find("push", NULL), &call, 7, i).from, GW_ANYBODY);
    }
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(step_of(find("scatter", "linear"), &call, 0, i).to, i + 1);
        assert_int_equal(step_of(find("gather", "linear"), &call, 0, i).from, GW_ANYBODY);
    }
}

TEST(one_worker_has_nothing_to_do) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const struct gw_call call = {1, 1000};
        bool served = gw_collective_ranks(gw_collectives[i], 1) == 2;
        check(&call, gw_collectives[i], (gw_collectives[i]->steps(&call, 0) > 0) == served);
        check(&call, gw_collectives[i], (gw_collectives[i]->cost(&call, 1, 1) > 0) == served);
    }
}

TEST(finds_algorithms_and_says_what_there_is) {
    struct gw_error error = {0};
    const struct gw_collective *found = NULL;
    assert_string_equal(find("allreduce", NULL)->name, "ring");
    assert_string_equal(find("allgather", "bruck")->name, "bruck");
    assert_int_equal(gw_collective_find("allgather", "tree", &found, &error), GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "allgather: expected one of ring, recursive-doubling, bruck; got \"tree\"");
    assert_int_equal(gw_collective_find("exscan", NULL, &found, &error), GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "collective: expected one of allgather, allreduce, broadcast, reduce, "
                        "gather, scatter, alltoall, ps, push, pull, gtopk, sketch, sendrecv; got "
                        "\"exscan\"");
}
