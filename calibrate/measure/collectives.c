#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/survey.h"
#include "calibrate/measure/timing.h"
#include "calibrate/measure/worker_counts.h"

static const size_t smallest_bytes = 1024;
static const size_t machine_pools = 1 << 30; /* of all its ranks together, but see pool_share */
static const size_t tile = 4 << 20;          /* drawing all of a pool would take a second */
static const size_t min_pool = 1 << 20;      /* fits on any machine */

/* The memory of all collectives, owned by the survey. */
struct collective_memory {
    struct gw_pool send, receive;
    size_t largest_pool; /* equal on every rank: no message may be longer */
};

/* One collective among the first ranks, at one size. */
struct measured_exchange {
    struct gw_communicator *communicator;
    struct collective_memory *collective_memory;
    size_t which; /* of the collectives */
    size_t bytes; /* of one worker */
};

/* ---- the collectives ----------------------------------------------------------------------- */

enum { SENDRECV = 6, COLLECTIVES };

const char *const gw_calibrated_collectives[] = {"allgather", "allreduce", "broadcast", "gather",
                                                 "scatter",   "alltoall",  "sendrecv",  NULL};

/*
 * Small exchanges are run in rows. Many of them in a row take less than as many after a pause:
 * after a pause ranks come from waiting, some late for lack of a core, and links have saved up a
 * burst. A single one after a pause hardly counts, being small. Rows have this many bytes of a
 * rank, for collectives that end on all ranks together, so that no rank can run ahead into the
 * next.
 */
static const size_t row_bytes = 64 << 10;

/* Dense gradients that jobs send: a bucket of DDP, and all of a ResNet-50. */
static const size_t asked_bytes[GW_MAX_ASKED] = {25 << 20, 100 << 20};

/* The parts of the pools that ranks use: those that are not the root, and the root, which is rank
 * 0. */
enum share { NOTHING, ONE_PART, ALL_PARTS };
static const struct {
    enum gw_collective_kind kind;
    enum share sends[2], receives[2];
    bool in_rows;
} collectives[COLLECTIVES] = {
    {GW_ALLGATHER, {ONE_PART, ONE_PART}, {ALL_PARTS, ALL_PARTS}, true},
    {GW_ALLREDUCE, {ONE_PART, ONE_PART}, {ONE_PART, ONE_PART}, true},
    {GW_BROADCAST, {NOTHING, ONE_PART}, {ONE_PART, NOTHING}, false},
    {GW_GATHER, {ONE_PART, ONE_PART}, {NOTHING, ALL_PARTS}, false},
    {GW_SCATTER, {NOTHING, ALL_PARTS}, {ONE_PART, ONE_PART}, false},
    {GW_ALLTOALL, {ONE_PART, ONE_PART}, {ONE_PART, ONE_PART}, true},
    [SENDRECV] = {.sends = {NOTHING, ONE_PART}, .receives = {ONE_PART, NOTHING}}};

static void *take_memory(struct gw_pool *pool, enum share share, size_t part, size_t whole) {
    return share == NOTHING ? NULL : gw_pool_next(pool, share == ONE_PART ? part : whole);
}

/* Messages go one way, so the clocks of both ranks must agree. */
static enum gw_status run_collective(void *context, struct gw_error *error) {
    const struct measured_exchange *exchange = context;
    struct gw_communicator *communicator = exchange->communicator;
    struct collective_memory *collective_memory = exchange->collective_memory;
    size_t which = exchange->which;
    bool is_root = communicator->rank == 0;
    struct gw_collective_call call = {.kind = collectives[which].kind, .bytes = exchange->bytes};
    size_t whole = exchange->bytes * (size_t)communicator->size;
    call.send = take_memory(&collective_memory->send, collectives[which].sends[is_root],
                            exchange->bytes, whole);
    call.receive = take_memory(&collective_memory->receive, collectives[which].receives[is_root],
                               exchange->bytes, whole);
    if (call.kind == GW_ALLTOALL) { /* bytes: that a worker sends in all */
        call.bytes /= (size_t)communicator->size;
    }
    if (which != SENDRECV) {
        return communicator->transport->collect(communicator, &call, error);
    }
    return is_root ? gw_send(communicator, 1, call.send, call.bytes, error)
                   : gw_receive(communicator, 0, call.receive, call.bytes, error);
}

/* ---- pools --------------------------------------------------------------------------------- */

/* The bytes of one of two pools: all of their pages are touched, and so really used. */
static size_t pool_share(size_t sharing, size_t ranks, const struct gw_calibration *calibration) {
    size_t max_bytes = calibration->max_bytes;
    size_t share = machine_pools / (2 * sharing);
    size_t needed = gw_greater(calibration->pool_bytes, max_bytes * ranks);
    size_t least = gw_lesser(min_pool, max_bytes) * ranks;
    return gw_whole_lines(gw_greater(gw_lesser(needed, share), least));
}

/* A server sends or receives as many messages as there are workers, other ranks at most two. */
static enum gw_status open_pools(struct collective_memory *collective_memory,
                                 struct gw_communicator *world,
                                 const struct gw_calibration *calibration, struct gw_error *error) {
    struct gw_host_list machines;
    GW_TRY(gw_machine_list_open(world, &machines, error));
    collective_memory->largest_pool =
        pool_share(gw_host_list_most_ranks(&machines), (size_t)world->size, calibration);
    gw_host_list_close(&machines);
    size_t needed = gw_whole_lines(gw_greater(calibration->pool_bytes, 2 * calibration->max_bytes));
    size_t sent = world->rank == 0 ? collective_memory->largest_pool
                                   : gw_lesser(collective_memory->largest_pool, needed);
    GW_TRY(gw_pool_open(collective_memory->largest_pool, calibration->device,
                        &collective_memory->receive, error));
    GW_TRY(gw_pool_open(sent, calibration->device, &collective_memory->send, error));
    return gw_pool_fill(&collective_memory->send, tile, world->rank, error);
}

static void close_pools(void *object) {
    struct collective_memory *collective_memory = object;
    gw_pool_close(&collective_memory->send);
    gw_pool_close(&collective_memory->receive);
}

/* ---- all aggregators ----------------------------------------------------------------------- */

static enum gw_status prepare_messages(void *context, size_t bytes, struct gw_error *error) {
    struct measured_exchange *exchange = context;
    (void)error;
    exchange->bytes = bytes;
    return GW_OK;
}

/* Adds a series; leaves out sizes that do not fit into the pools. */
static enum gw_status add_collective(struct gw_point_survey *survey,
                                     struct collective_memory *collective_memory, size_t which,
                                     size_t at, size_t max_bytes, struct gw_error *error) {
    struct gw_worker_counts *counts = &survey->worker_counts;
    struct measured_exchange *exchange = gw_arena_zeros(&survey->arena, 1, sizeof *exchange);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating collectives", error));
    *exchange = (struct measured_exchange){.communicator = gw_worker_counts_data(counts, at),
                                           .collective_memory = collective_memory,
                                           .which = which};
    int workers = counts->workers[at];
    bool holds_all = collectives[which].sends[1] == ALL_PARTS || /* in a pool of some rank */
                     collectives[which].receives[1] == ALL_PARTS;
    size_t fits = collective_memory->largest_pool / (holds_all ? (size_t)workers : 1);
    struct gw_series series = {.workers = workers,
                               .of_fewer = workers < counts->world->size,
                               .subject = {.name = gw_calibrated_collectives[which],
                                           .size_key = "bytes",
                                           .ends_straight = true,
                                           .row_size = collectives[which].in_rows ? row_bytes : 0,
                                           .smallest = smallest_bytes,
                                           .largest = gw_lesser(fits, max_bytes),
                                           .prepare = prepare_messages,
                                           .run = run_collective,
                                           .context = exchange}};
    bool is_dense = collectives[which].kind == GW_ALLREDUCE && which != SENDRECV;
    for (size_t i = 0, count = 0; i < GW_MAX_ASKED && is_dense && !series.of_fewer; i++) {
        if (asked_bytes[i] > series.subject.largest && asked_bytes[i] <= fits) {
            series.subject.asked[count++] = asked_bytes[i];
        }
    }
    return gw_series_list_add(&survey->list, series, error);
}

enum gw_status gw_point_survey_add_collectives(struct gw_point_survey *survey,
                                               const struct gw_calibration *calibration,
                                               struct gw_error *error) {
    struct gw_communicator *world = survey->communicator;
    struct collective_memory *collective_memory =
        gw_arena_zeros(&survey->arena, 1, sizeof *collective_memory);
    if (calibration->collectives[0] == NULL) {
        return GW_OK;
    }
    (void)gw_arena_own(&survey->arena, collective_memory, close_pools);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating collectives", error));
    GW_TRY(open_pools(collective_memory, world, calibration, error));
    for (size_t which = 0; which < COLLECTIVES; which++) {
        for (size_t at = 0; at < survey->worker_counts.count; at++) {
            int workers = survey->worker_counts.workers[at];
            bool fits = which == SENDRECV ? workers == 2 : workers > 1 || world->size == 1;
            if (fits && gw_calibrates_collective(calibration, gw_calibrated_collectives[which])) {
                GW_TRY(add_collective(survey, collective_memory, which, at, calibration->max_bytes,
                                      error));
            }
        }
    }
    return GW_OK;
}
