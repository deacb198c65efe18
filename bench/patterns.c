#include "patterns.h"

#include <string.h>

enum { BYTES = 8 };

/* ---- operations ---------------------------------------------------------------------------- */

static uint32_t send(struct gw_goal_writer *writer, uint32_t to, uint32_t tag) {
    return gw_goal_write_operation(
        writer,
        &(struct gw_goal_operation){.kind = GW_GOAL_SEND, .size = BYTES, .peer = to, .tag = tag});
}

static uint32_t receive(struct gw_goal_writer *writer, uint32_t from, uint32_t tag) {
    return gw_goal_write_operation(
        writer, &(struct gw_goal_operation){
                    .kind = GW_GOAL_RECEIVE, .size = BYTES, .peer = from, .tag = tag});
}

static uint32_t calculate(struct gw_goal_writer *writer, uint64_t nanoseconds) {
    return gw_goal_write_operation(
        writer, &(struct gw_goal_operation){.kind = GW_GOAL_CALC, .size = nanoseconds});
}

/* `other` 0: on nothing. */
static void depend(struct gw_goal_writer *writer, uint32_t label, uint32_t other) {
    if (other > 0) {
        gw_goal_write_requires(writer, label, other);
    }
}

/* ---- patterns ------------------------------------------------------------------------------ */

/* A barrier: in step i to the rank 2^i ahead, when the message of the step before has come. */
static enum gw_status write_dissemination(struct gw_goal_writer *writer, uint32_t ranks,
                                          struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t distance = 1; distance < ranks; distance *= 2) {
            uint32_t sent = send(writer, (rank + distance) % ranks, 0);
            uint32_t received = receive(writer, (rank + ranks - distance) % ranks, 0);
            depend(writer, sent, before);
            before = received;
        }
    }
    return GW_OK;
}

/* An allreduce: twice around, every step with a tag of its own. */
static enum gw_status write_ring(struct gw_goal_writer *writer, uint32_t ranks,
                                 struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t step = 0; step < 2 * (ranks - 1); step++) {
            uint32_t sent = send(writer, (rank + 1) % ranks, step);
            uint32_t received = receive(writer, (rank + ranks - 1) % ranks, step);
            depend(writer, sent, before);
            before = received;
        }
    }
    return GW_OK;
}

/* An allreduce: exchange with the rank 2^i away, then add. */
static enum gw_status write_recursive_doubling(struct gw_goal_writer *writer, uint32_t ranks,
                                               struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t distance = 1; distance < ranks; distance *= 2) {
            uint32_t sent = send(writer, rank ^ distance, distance);
            uint32_t received = receive(writer, rank ^ distance, distance);
            uint32_t added = calculate(writer, 12);
            depend(writer, added, received);
            depend(writer, added, sent);
            depend(writer, sent, before);
            depend(writer, received, before);
            before = added;
        }
    }
    return GW_OK;
}

/* Everybody sends to everybody, nobody waits. */
static enum gw_status write_all_to_all(struct gw_goal_writer *writer, uint32_t ranks,
                                       struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t distance = 1; distance < ranks; distance++) {
            (void)send(writer, (rank + distance) % ranks, 0);
            (void)receive(writer, (rank + ranks - distance) % ranks, 0);
        }
    }
    return GW_OK;
}

/* Everybody sends to rank 0 at once. */
static enum gw_status write_incast(struct gw_goal_writer *writer, uint32_t ranks,
                                   struct gw_error *error) {
    GW_TRY(gw_goal_write_rank(writer, 0, error));
    for (uint32_t rank = 1; rank < ranks; rank++) {
        (void)receive(writer, rank, 0);
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        (void)send(writer, 0, 0);
    }
    return GW_OK;
}

/* A broadcast: who has it, sends it on, to the farthest first. */
static enum gw_status write_binomial(struct gw_goal_writer *writer, uint32_t ranks,
                                     struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t lowest = rank == 0 ? UINT32_C(1) << 31 : rank & -rank;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        uint32_t received = rank == 0 ? 0 : receive(writer, rank - lowest, 0);
        for (uint32_t distance = lowest / 2; distance > 0; distance /= 2) {
            if (rank + distance < ranks) {
                depend(writer, send(writer, rank + distance, 0), received);
            }
        }
    }
    return GW_OK;
}

/* ---- layered ------------------------------------------------------------------------------- */

/*
 * In each of many layers a rank sends to a few others, which permutations choose, so that it also
 * knows whom it receives from; sometimes it calculates. It waits for one or two operations of the
 * layer before. Numbers are pure functions of where they belong.
 */
enum { LAYERS = 32, DEGREE = 4 };

static uint64_t draw(uint32_t layer, uint32_t number, uint32_t rank, uint64_t limit) {
    return gw_random_mix(((uint64_t)layer << 40) ^ ((uint64_t)number << 32) ^ rank) % limit;
}

static void write_layer(struct gw_goal_writer *writer, uint32_t ranks, uint32_t rank,
                        uint32_t layer, uint32_t *before, uint32_t *before_count) {
    uint32_t now[2 * DEGREE + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < DEGREE; i++) {
        uint32_t distance = 1 + (uint32_t)draw(layer, i, UINT32_MAX, ranks - 1);
        if (draw(layer, i, rank, 3) > 0) {
            now[count++] = send(writer, (rank + distance) % ranks, layer);
        }
        uint32_t source = (rank + ranks - distance) % ranks;
        if (draw(layer, i, source, 3) > 0) {
            now[count++] = receive(writer, source, layer);
        }
    }
    now[count++] = calculate(writer, draw(layer, DEGREE, rank, 5000));
    for (uint32_t i = 0; i<count && * before_count> 0; i++) {
        uint32_t first = (uint32_t)draw(layer, DEGREE + 1 + i, rank, *before_count);
        depend(writer, now[i], before[first]);
        if (*before_count > 1 && i % 2 == 0) {
            depend(writer, now[i], before[(first + 1) % *before_count]);
        }
    }
    memcpy(before, now, count * sizeof *now);
    *before_count = count;
}

static enum gw_status write_layered(struct gw_goal_writer *writer, uint32_t ranks,
                                    struct gw_error *error) {
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t before[2 * DEGREE + 1];
        uint32_t before_count = 0;
        GW_TRY(gw_goal_write_rank(writer, rank, error));
        for (uint32_t layer = 0; layer < LAYERS; layer++) {
            write_layer(writer, ranks, rank, layer, before, &before_count);
        }
    }
    return GW_OK;
}

/* ---- the list ------------------------------------------------------------------------------ */

const struct bench_pattern bench_patterns[] = {
    {"dissemination", 65536, false, write_dissemination},
    {"ring", 512, false, write_ring},
    {"recursive doubling", 16384, true, write_recursive_doubling},
    {"all-to-all", 256, false, write_all_to_all},
    {"incast", 2048, false, write_incast},
    {"binomial", 65536, false, write_binomial},
    {"layered, random", 4096, false, write_layered},
    {0},
};

uint32_t bench_pattern_ranks(const struct bench_pattern *pattern, uint32_t ranks) {
    while (pattern->power_of_two && (ranks & (ranks - 1)) != 0) {
        ranks &= ranks - 1;
    }
    return ranks;
}

enum gw_status bench_pattern_write(const struct bench_pattern *pattern, uint32_t ranks,
                                   const char *path, struct gw_error *error) {
    struct gw_goal_writer *writer = NULL;
    GW_TRY(gw_goal_writer_open(&writer, path, ranks, error));
    enum gw_status status = pattern->write(writer, ranks, error);
    if (status != GW_OK) {
        gw_goal_writer_discard(writer);
        return status;
    }
    return gw_goal_writer_close(writer, error);
}
